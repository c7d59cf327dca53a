/* linear_quantized: products of reals with weights of 8 bits or fewer, which have a scale and a zero point for all, for each output, or for
   blocks of each output's inputs. */
#include "ops/quantized_weights.h"
#include "ops/generated/integer_kernels.h"
#include "ops/infer.h"
#include "ops/native.h"
#include <kn/contraction.h>
#include <kn/elementwise.h>
#include <kn/quantize.h>
#include <kn/shape.h>
#include <kn/tensor.h>

extern const kni_native kni_cpu_linear_quantized;

static const kn_attribute weights_schema[] = {
    KNI_ATTR(kni_weights_attributes, block, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_weights_attributes, bits, KNI_ATTR_INT, KNI_STATIC),
    {0}};

static const kni_weights_attributes *attributes_of(const void *attributes) { return attributes; }

static int64_t bits_of(const void *attributes)
{
    const int64_t bits = attributes_of(attributes)->bits;
    return bits ? bits : 8;
}

/* One element, one for each output, or one for each block of each output. */
static kn_status check_scaling(const kni_infer *c, const kni_type *t, const char *what)
{
    const kni_type *x = c->in[KNI_WEIGHTS_X], *w = c->in[KNI_WEIGHTS_W];
    const int64_t block = attributes_of(c->attributes)->block;
    const bool one = t->rank == 0 || (t->rank == 1 && t->dims[0] == 1);
    bool fits = one || (t->rank == 1 && kni_dims_agree(t->dims[0], w->dims[0]));
    if (t->rank == 2 && block > 0) {
        const kn_dim blocks = kni_dim_floor_div(kni_dim_add(x->dims[x->rank - 1], block - 1), block);
        fits = kni_dims_agree(t->dims[0], w->dims[0]) && kni_dims_agree(t->dims[1], blocks);
    }
    if (fits) return KN_OK;
    return kni_infer_fail(
        c, KN_ERROR_SHAPE,
        "%s must have one element, one for each output or, with blocks, one for each block of "
        "each output: %S does not fit weight %S with blocks of %D",
        what, t, w, block);
}

/* Whether rows of the weight hold as many numbers as x; packed ones may end with some that nobody reads. */
static kn_status check_weight(const kni_infer *c)
{
    const kni_type *x = c->in[KNI_WEIGHTS_X], *w = c->in[KNI_WEIGHTS_W];
    const int64_t bits = bits_of(c->attributes);
    if (bits != 8 && bits != 4 && bits != 2)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "bits are %D; they must be 8, 4 or 2", bits);
    if (bits < 8 && w->dtype != KN_U8)
        return kni_infer_fail(c, KN_ERROR_DTYPE, "bytes of several weights must be u8, not %T",
                              (int)w->dtype);
    bool fits = x->rank > 0 && w->rank == 2;
    if (fits && bits == 8) fits = kni_dims_agree(x->dims[x->rank - 1], w->dims[1]);
    if (fits && bits < 8)
        fits = kni_dim_low(kni_dim_sub(x->dims[x->rank - 1], kni_dim_mul(w->dims[1], 8 / bits))) <= 0;
    if (fits) return KN_OK;
    return kni_infer_fail(c, KN_ERROR_SHAPE, "x %S does not fit a weight [out, in] of %S", x, w);
}

static kn_status infer_linear_quantized(kni_infer *c)
{
    const kni_type *x = c->in[KNI_WEIGHTS_X], *w = c->in[KNI_WEIGHTS_W], *scale = c->in[KNI_WEIGHTS_SCALE];
    const kni_type *zero = c->n_in > KNI_WEIGHTS_ZERO ? c->in[KNI_WEIGHTS_ZERO] : NULL;
    const kni_type *bias = c->n_in > KNI_WEIGHTS_BIAS ? c->in[KNI_WEIGHTS_BIAS] : NULL;
    kn_status s = kni_infer_dtype(c, KNI_WEIGHTS_X, KNI_BIT(KN_F32));
    if (s == KN_OK) s = kni_infer_dtype(c, KNI_WEIGHTS_W, KNI_BIT(KN_I8) | KNI_BIT(KN_U8));
    if (s == KN_OK) s = kni_infer_dtype(c, KNI_WEIGHTS_SCALE, KNI_BIT(KN_F32));
    if (s == KN_OK && zero) s = kni_infer_dtype(c, KNI_WEIGHTS_ZERO, KNI_BIT(KN_F32) | KNI_BIT(w->dtype));
    if (s == KN_OK && bias) s = kni_infer_dtype(c, KNI_WEIGHTS_BIAS, KNI_BIT(KN_F32));
    if (s == KN_OK) s = check_weight(c);
    if (s == KN_OK) s = check_scaling(c, scale, "the scale");
    if (s == KN_OK && zero) s = check_scaling(c, zero, "the zero point");
    if (s) return s;
    if (bias && (bias->rank != 1 || !kni_dims_agree(bias->dims[0], w->dims[0])))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "the bias must be [%D], not %S", w->dims[0], bias);
    *c->out[0] = *x;
    c->out[0]->weak = 0;
    c->out[0]->dims[x->rank - 1] = w->dims[0];
    return KN_OK;
}

/* How scales or zero points lie: steps from row to row and from block to block. */
static void push_steps(kni_launch *l, const kni_type *t)
{
    const bool one = !t || kni_count(t) == 1;
    kni_launch_int(l, one ? 0 : t->rank == 2 ? t->dims[1] : 1);
    kni_launch_int(l, !one && t->rank == 2);
}

static kn_status launch_linear_quantized(kni_launch *l)
{
    const kni_type *x = l->in[KNI_WEIGHTS_X], *w = l->in[KNI_WEIGHTS_W];
    const kni_type *zero = l->n_in > KNI_WEIGHTS_ZERO ? l->in[KNI_WEIGHTS_ZERO] : NULL;
    const kni_type *bias = l->n_in > KNI_WEIGHTS_BIAS ? l->in[KNI_WEIGHTS_BIAS] : NULL;
    const int64_t block = attributes_of(l->attributes)->block, ins = x->dims[x->rank - 1];
    l->kernel = &kni_kernel_linear_quantized;
    l->items = kni_count(l->out[0]);
    kni_launch_int(l, w->dims[0]);
    kni_launch_int(l, ins);
    kni_launch_int(l, w->dims[1]);
    kni_launch_int(l, bits_of(l->attributes));
    kni_launch_int(l, block > 0 ? block : INT32_MAX);
    push_steps(l, l->in[KNI_WEIGHTS_SCALE]);
    push_steps(l, zero);
    kni_launch_int(l, zero != NULL);
    kni_launch_int(l, bias != NULL);
    return KN_OK;
}

/* The numbers of packed bytes, [out, ins], one in each byte. Takes and gives temporaries. */
static kn_tensor unpacked(kn_tensor w, int64_t bits, int64_t ins)
{
    kn_tensor parts[4];
    const int64_t rows = kn_size(w, 0), bytes = kn_size(w, 1), fields = 8 / bits;
    for (int64_t i = 0; i < fields; i++) {
        kn_tensor part = kn_bitwise_right_shift(w, kn_scalar_int(i * bits, KN_U8));
        part = kn_bitwise_and(part, kn_scalar_int((1 << bits) - 1, KN_U8));
        parts[i] = kn_reshape(part, KN_SHAPE(rows, bytes, 1));
    }
    return kn_slice(kn_reshape(kn_concat(parts, (int32_t)fields, 2), KN_SHAPE(rows, bytes * fields)), 1, 0,
                    ins, 1);
}

static kn_status lower_linear_quantized(kni_lowering *l)
{
    const int64_t block = attributes_of(l->attributes)->block, bits = bits_of(l->attributes);
    const kn_tensor scale = l->in[KNI_WEIGHTS_SCALE];
    const bool blocks = kn_rank(scale) == 2;
    const kn_tensor zero = l->n_in > KNI_WEIGHTS_ZERO ? l->in[KNI_WEIGHTS_ZERO] : KN_NONE;
    const kn_tensor bias = l->n_in > KNI_WEIGHTS_BIAS ? l->in[KNI_WEIGHTS_BIAS] : KN_NONE;
    const kn_quantize_args args = {.axis = blocks ? 1 : 0, .block = blocks ? block : 0};
    kn_tensor w = l->in[KNI_WEIGHTS_W];
    if (bits < 8) {
        /* As bytes they have a kernel of their own on the CPU. */
        w = unpacked(w, bits, kn_size(l->in[KNI_WEIGHTS_X], -1));
        l->out[0] = kn_linear_quantized(l->in[KNI_WEIGHTS_X], w, scale, zero, bias,
                                        &(kn_linear_quantized_args){.block = block});
        return KN_OK;
    }
    l->out[0] = kn_linear(l->in[KNI_WEIGHTS_X], kn_dequantize(w, scale, zero, &args), bias);
    return KN_OK;
}

OP(linear_quantized,
   .doc = "y = x w' + bias over the last axis, w [out, in] = (weight - zero) scale of 8-bit weights; scale "
          "and zero have "
          "one element, one for each output, or one for each block of each output; bits 4 or 2: bytes hold "
          "several weights, the first in the lowest bits",
   .min_in = 3, .max_in = KNI_WEIGHTS_OPERANDS, .n_out = 1, .kind = KNI_CONTRACTION,
   .dtypes = KNI_BIT(KN_F32), .tolerance = {4, 1}, .schema = weights_schema,
   .attribute_bytes = sizeof(kni_weights_attributes), .infer = infer_linear_quantized,
   .launch = launch_linear_quantized, .lower = lower_linear_quantized, .native = &kni_cpu_linear_quantized)

kn_tensor kn_linear_quantized(kn_tensor x, kn_tensor weight, kn_tensor scale, kn_tensor zero, kn_tensor bias,
                              const kn_linear_quantized_args *args)
{
    kn_tensor in[KNI_WEIGHTS_OPERANDS] = {x, weight, scale, zero, bias};
    const kni_weights_attributes a = {args ? args->block : 0, args ? args->bits : 0};
    return kni_apply(&kni_op_linear_quantized, in, KNI_WEIGHTS_OPERANDS, &a);
}
