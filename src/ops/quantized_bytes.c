/* Elementwise ops on tensors of bytes with one scale and one zero point each: there, back, any function of one byte by its table, sums and
   products. Their lowerings are the same steps one by one, in f32. */
#include "ops/quantized_bytes.h"
#include "ops/infer.h"
#include "ops/native.h"
#include <kn/elementwise.h>
#include <kn/indexing.h>
#include <kn/quantize.h>
#include <kn/tensor.h>

extern const kni_native kni_cpu_quantize_bytes, kni_cpu_dequantize_bytes, kni_cpu_byte_table,
    kni_cpu_quantized_sum, kni_cpu_quantized_product;

#define BYTES (KNI_BIT(KN_I8) | KNI_BIT(KN_U8))

/* A scale and a zero point of one element each, rank 0; the latter of x's dtype where x is given. */
static kn_status check_scaling(const kni_infer *c, int scale, int zero, const kni_type *x)
{
    kn_status s = kni_infer_dtype(c, scale, KNI_BIT(KN_F32));
    if (s == KN_OK) s = kni_infer_dtype(c, zero, x ? KNI_BIT(x->dtype) : BYTES);
    for (int i = scale; i <= zero && s == KN_OK; i++)
        if (c->in[i]->rank != 0)
            s = kni_infer_fail(c, KN_ERROR_SHAPE, "operand %d must have rank 0, not the shape %S", i,
                               c->in[i]);
    return s;
}

static kn_status infer_quantize_bytes(kni_infer *c)
{
    kn_status s = kni_infer_dtype(c, 0, KNI_BIT(KN_F32));
    if (s == KN_OK) s = check_scaling(c, 1, 2, NULL);
    if (s) return s;
    *c->out[0] = *c->in[0];
    c->out[0]->weak = 0;
    c->out[0]->dtype = c->in[2]->dtype;
    return KN_OK;
}

static kn_status lower_quantize_bytes(kni_lowering *l)
{
    l->out[0] = kn_quantize(l->in[0], l->in[1], l->in[2], NULL);
    return KN_OK;
}

OP(quantize_bytes, .doc = "round(x / scale) + zero within the range of zero's dtype, i8 or u8", .min_in = 3,
   .max_in = 3, .n_out = 1, .kind = KNI_COMPOSITE, .dtypes = KNI_BIT(KN_F32), .flags = KNI_FLAG_NO_GRADIENT,
   .infer = infer_quantize_bytes, .lower = lower_quantize_bytes, .native = &kni_cpu_quantize_bytes)

static kn_status infer_dequantize_bytes(kni_infer *c)
{
    kn_status s = kni_infer_dtype(c, 0, BYTES);
    if (s == KN_OK) s = check_scaling(c, 1, 2, c->in[0]);
    if (s) return s;
    *c->out[0] = *c->in[0];
    c->out[0]->weak = 0;
    c->out[0]->dtype = KN_F32;
    return KN_OK;
}

static kn_status lower_dequantize_bytes(kni_lowering *l)
{
    l->out[0] = kn_dequantize(l->in[0], l->in[1], l->in[2], NULL);
    return KN_OK;
}

OP(dequantize_bytes, .doc = "(x - zero) scale in f32 of i8 and u8", .min_in = 3, .max_in = 3, .n_out = 1,
   .kind = KNI_COMPOSITE, .dtypes = BYTES, .flags = KNI_FLAG_NO_GRADIENT, .infer = infer_dequantize_bytes,
   .lower = lower_dequantize_bytes, .native = &kni_cpu_dequantize_bytes)

static kn_status infer_byte_table(kni_infer *c)
{
    kn_status s = kni_infer_dtype(c, 0, BYTES);
    if (s == KN_OK) s = kni_infer_dtype(c, 1, BYTES);
    if (s) return s;
    if (c->in[1]->rank != 1 || !kni_dims_agree(c->in[1]->dims[0], 256))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "the table must be [256], not %S", c->in[1]);
    *c->out[0] = *c->in[0];
    c->out[0]->weak = 0;
    c->out[0]->dtype = c->in[1]->dtype;
    return KN_OK;
}

static kn_status lower_byte_table(kni_lowering *l)
{
    const bool is_signed = kn_dtype_of(l->in[0]) == KN_I8;
    kn_tensor at = kn_cast(l->in[0], KN_I64);
    if (is_signed) at = kn_add_scalar(at, 128);
    l->out[0] = kn_index_take(l->in[1], 0, at);
    return KN_OK;
}

OP(byte_table, .doc = "table[x - the least number of x's dtype], x and table of i8 or u8", .min_in = 2,
   .max_in = 2, .n_out = 1, .kind = KNI_COMPOSITE, .dtypes = BYTES, .flags = KNI_FLAG_NO_GRADIENT,
   .infer = infer_byte_table, .lower = lower_byte_table, .native = &kni_cpu_byte_table)

/* ---- two operands, which broadcast */

static kn_status infer_binary(kni_infer *c)
{
    const kni_type *a = c->in[KNI_BYTES_A], *b = c->in[KNI_BYTES_B];
    kn_status s = kni_infer_dtype(c, KNI_BYTES_A, BYTES);
    if (s == KN_OK) s = kni_infer_dtype(c, KNI_BYTES_B, BYTES);
    if (s == KN_OK) s = check_scaling(c, KNI_BYTES_A_SCALE, KNI_BYTES_A_ZERO, a);
    if (s == KN_OK) s = check_scaling(c, KNI_BYTES_B_SCALE, KNI_BYTES_B_ZERO, b);
    if (s == KN_OK) s = check_scaling(c, KNI_BYTES_Y_SCALE, KNI_BYTES_Y_ZERO, NULL);
    if (s) return s;
    kni_type y = {.rank = a->rank > b->rank ? a->rank : b->rank, .dtype = c->in[KNI_BYTES_Y_ZERO]->dtype};
    for (int i = 1; i <= y.rank; i++) {
        const kn_dim da = i <= a->rank ? a->dims[a->rank - i] : 1,
                     db = i <= b->rank ? b->dims[b->rank - i] : 1;
        if (da != 1 && db != 1 && !kni_dims_agree(da, db))
            return kni_infer_fail(c, KN_ERROR_SHAPE, "%S and %S do not broadcast", a, b);
        y.dims[y.rank - i] = da == 1 ? db : db == 1 ? da : kni_infer_joined(da, db);
    }
    *c->out[0] = y;
    return KN_OK;
}

static kn_status lower_binary(kni_lowering *l, kn_tensor (*op)(kn_tensor, kn_tensor))
{
    const kn_tensor *in = l->in;
    kn_tensor a = kn_dequantize(in[KNI_BYTES_A], in[KNI_BYTES_A_SCALE], in[KNI_BYTES_A_ZERO], NULL);
    kn_tensor b = kn_dequantize(in[KNI_BYTES_B], in[KNI_BYTES_B_SCALE], in[KNI_BYTES_B_ZERO], NULL);
    l->out[0] = kn_quantize(op(a, b), in[KNI_BYTES_Y_SCALE], in[KNI_BYTES_Y_ZERO], NULL);
    return KN_OK;
}

static kn_status lower_quantized_sum(kni_lowering *l) { return lower_binary(l, (kn_add)); }
static kn_status lower_quantized_product(kni_lowering *l) { return lower_binary(l, (kn_mul)); }

#define BINARY(name, text)                                                                                   \
    OP(name, .doc = text, .min_in = KNI_BYTES_OPERANDS, .max_in = KNI_BYTES_OPERANDS, .n_out = 1,            \
       .kind = KNI_COMPOSITE, .dtypes = BYTES, .flags = KNI_FLAG_NO_GRADIENT, .infer = infer_binary,         \
       .lower = lower_##name, .native = &kni_cpu_##name)
BINARY(quantized_sum, "round(((a - a_zero) a_scale + (b - b_zero) b_scale) / y_scale) + y_zero in i8 or u8")
BINARY(quantized_product, "round((a - a_zero) a_scale (b - b_zero) b_scale / y_scale) + y_zero in i8 or u8")
