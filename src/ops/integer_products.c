/* Exact products of 8-bit integers less their zero points, which may be scaled to 8 bits again: the rows matmul_integer and conv_integer
   and the public functions. */
#include "ops/integer_products.h"
#include "core/axis_entry.h"
#include "ops/conv.h"
#include "ops/generated/integer_kernels.h"
#include "ops/infer.h"
#include "ops/matmul_operands.h"
#include "ops/native.h"
#include <kn/contraction.h>
#include <kn/elementwise.h>

extern const kni_native kni_cpu_matmul_integer, kni_cpu_matmul_dequantized, kni_cpu_conv_integer;

#define BYTES (KNI_BIT(KN_I8) | KNI_BIT(KN_U8))

static const kni_type *operand(const kni_infer *c, int i) { return i < c->n_in ? c->in[i] : NULL; }

static kn_status check_bytes(const kni_infer *c)
{
    static const int bytes[] = {KNI_INTEGER_A, KNI_INTEGER_B, KNI_INTEGER_A_ZERO, KNI_INTEGER_B_ZERO,
                                KNI_INTEGER_Y_ZERO};
    for (int k = 0; k < (int)KNI_COUNT(bytes); k++) {
        const int i = bytes[k];
        const kni_type *t = operand(c, i);
        if (!t || BYTES & KNI_BIT(t->dtype)) continue;
        return kni_infer_fail(c, KN_ERROR_DTYPE, "operand %d is %T; these are products of i8 and u8", i,
                              (int)t->dtype);
    }
    for (int i = 0; i < 2; i++) {
        const kni_type *zero = operand(c, i + 2);
        if (zero && zero->dtype != c->in[i]->dtype)
            return kni_infer_fail(c, KN_ERROR_DTYPE,
                                  "operand %d is %T and its zero point %T: they must agree", i,
                                  (int)c->in[i]->dtype, (int)zero->dtype);
    }
    return KN_OK;
}

/* ---- what becomes of the sums: bias and scale have one element, or one for each column or output channel */

static kn_status check_each(const kni_infer *c, int i, const char *what, int dtype, kn_dim channels)
{
    const kni_type *t = operand(c, i);
    if (!t) return KN_OK;
    if (t->dtype != dtype)
        return kni_infer_fail(c, KN_ERROR_DTYPE, "%s must be %T, not %T", what, dtype, (int)t->dtype);
    const bool one = t->rank == 0 || (t->rank == 1 && t->dims[0] == 1);
    if ((one && i != KNI_INTEGER_BIAS) ||
        (t->rank == 1 && channels != 1 && kni_dims_agree(t->dims[0], channels)) ||
        (t->rank == 1 && channels == 1 && one))
        return KN_OK;
    return kni_infer_fail(c, KN_ERROR_SHAPE, "%s must be [%D], not %S", what, channels, t);
}

/* Gives the result its dtype. */
static kn_status finish_type(const kni_infer *c, kni_type *y, kn_dim channels)
{
    const kni_type *zero = operand(c, KNI_INTEGER_Y_ZERO), *scale = operand(c, KNI_INTEGER_SCALE);
    kn_status s = check_each(c, KNI_INTEGER_BIAS, "the bias", KN_I32, channels);
    if (s == KN_OK) s = check_each(c, KNI_INTEGER_SCALE, "the scale", KN_F32, channels);
    if (s == KN_OK && zero) s = check_each(c, KNI_INTEGER_Y_ZERO, "the result's zero point", zero->dtype, 1);
    if (s == KN_OK && zero && !scale)
        s = kni_infer_fail(c, KN_ERROR_ARGUMENT, "a zero point of the result needs its scale");
    y->dtype = (uint8_t)(!scale ? KN_I32 : zero ? zero->dtype : KN_U8);
    return s;
}

static void push_finish(kni_launch *l)
{
    const kni_type *given[KNI_INTEGER_OPERANDS] = {NULL};
    const bool is_signed = kni_dtypes[l->out[0]->dtype].kind == KNI_KIND_SIGNED;
    for (int i = 0; i < l->n_in; i++) given[i] = l->in[i];
    const kni_type *scale = given[KNI_INTEGER_SCALE];
    kni_launch_int(l, given[KNI_INTEGER_BIAS] != NULL);
    kni_launch_int(l, scale != NULL);
    kni_launch_int(l, scale && scale->rank == 1 && scale->dims[0] != 1);
    kni_launch_int(l, given[KNI_INTEGER_Y_ZERO] != NULL);
    kni_launch_int(l, is_signed ? INT8_MIN : 0);
    kni_launch_int(l, is_signed ? INT8_MAX : UINT8_MAX);
}

/* ---- matmul_integer */

/* Whether a zero point spreads over `of`, along whose axis `summed` (from the end) all elements have the same. */
static kn_status check_zero(const kni_infer *c, int i, const kni_type *of, int summed)
{
    const kni_type *zero = operand(c, i);
    bool fits = !zero || zero->rank <= of->rank;
    for (int a = 1; fits && zero && a <= zero->rank; a++) {
        const kn_dim d = zero->dims[zero->rank - a];
        fits = d == 1 || (a != summed && kni_dims_agree(d, of->dims[of->rank - a]));
    }
    if (fits) return KN_OK;
    return kni_infer_fail(
        c, KN_ERROR_SHAPE,
        "the zero point %S of %S must have one element, or one for each %s, with 1 along the "
        "summed axis",
        zero, of, summed == 1 ? "row" : "column");
}

/* The shape of the product, with checks of what is multiplied. */
static kn_status infer_product(kni_infer *c)
{
    const kni_type *a = c->in[0], *b = c->in[1];
    kni_type *y = c->out[0];
    kn_status s = check_bytes(c);
    for (int i = 0; i < 2 && s == KN_OK; i++) s = kni_infer_rank(c, i, 2, KN_MAX_RANK);
    if (s) return s;
    if (!kni_dims_agree(a->dims[a->rank - 1], b->dims[b->rank - 2]))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "inner sizes differ: a %S x b %S (%D != %D)", a, b,
                              a->dims[a->rank - 1], b->dims[b->rank - 2]);
    s = kni_matmul_infer_batch(c, y);
    if (s == KN_OK) s = check_zero(c, KNI_INTEGER_A_ZERO, a, 1);
    if (s == KN_OK) s = check_zero(c, KNI_INTEGER_B_ZERO, b, 2);
    y->dims[y->rank++] = a->dims[a->rank - 2];
    y->dims[y->rank++] = b->dims[b->rank - 1];
    return s;
}

static kn_dim columns_of(const kni_infer *c) { return c->in[1]->dims[c->in[1]->rank - 1]; }

static kn_status infer_matmul_integer(kni_infer *c)
{
    kn_status s = infer_product(c);
    return s ? s : finish_type(c, c->out[0], columns_of(c));
}

/* The steps of an operand through the batch axes of the result, and that along its axis `inner` from the end. */
static int64_t push_steps(kni_launch *l, const kni_type *t, int rank, int inner)
{
    int64_t steps[KN_MAX_RANK] = {0}, step = 1, along = 0;
    for (int a = 1; t && a <= t->rank; a++) {
        const int64_t size = t->dims[t->rank - a];
        if (a == inner && size != 1) along = step;
        if (a > 2 && size != 1) steps[rank - (a - 2)] = step;
        step *= size;
    }
    kni_launch_ints(l, steps, KN_MAX_RANK);
    return along;
}

static kn_status launch_matmul_integer(kni_launch *l)
{
    const kni_type *a = l->in[0], *b = l->in[1], *y = l->out[0];
    const kni_type *a_zero = l->n_in > 2 ? l->in[2] : NULL, *b_zero = l->n_in > 3 ? l->in[3] : NULL;
    const int rank = y->rank - 2;
    int64_t dims[KN_MAX_RANK] = {0};
    for (int i = 0; i < rank; i++) dims[i] = y->dims[i];
    l->kernel = &kni_kernel_matmul_integer;
    l->items = kni_count(y);
    kni_launch_int(l, a->dims[a->rank - 2]);
    kni_launch_int(l, b->dims[b->rank - 1]);
    kni_launch_int(l, a->dims[a->rank - 1]);
    kni_launch_int(l, rank);
    kni_launch_ints(l, dims, KN_MAX_RANK);
    push_steps(l, a, rank, 2);
    push_steps(l, b, rank, 1);
    const int64_t row = push_steps(l, a_zero, rank, 2), column = push_steps(l, b_zero, rank, 1);
    kni_launch_int(l, row);
    kni_launch_int(l, column);
    kni_launch_int(l, a_zero != NULL);
    kni_launch_int(l, b_zero != NULL);
    push_finish(l);
    return KN_OK;
}

OP(matmul_integer,
   .doc = "y[..., i, j] = sum over k of (a[..., i, k] - a_zero[..., i]) (b[..., k, j] - b_zero[..., j]) + "
          "bias[j] in i32, or round(that scale[j]) + y_zero in 8 bits",
   .min_in = 2, .max_in = KNI_INTEGER_OPERANDS, .n_out = 1, .kind = KNI_CONTRACTION, .dtypes = BYTES,
   .flags = KNI_FLAG_NO_GRADIENT, .infer = infer_matmul_integer, .launch = launch_matmul_integer,
   .native = &kni_cpu_matmul_integer)

kn_tensor kn_matmul_integer(kn_tensor a, kn_tensor b, kn_tensor a_zero, kn_tensor b_zero)
{
    kn_tensor in[4] = {a, b, a_zero, b_zero};
    return kni_apply(&kni_op_matmul_integer, in, 4, NULL);
}

kn_tensor kn_matmul_requantized(kn_tensor a, kn_tensor b, kn_tensor a_zero, kn_tensor b_zero, kn_tensor bias,
                                kn_tensor scale, kn_tensor zero)
{
    kn_tensor in[KNI_INTEGER_OPERANDS] = {a, b, a_zero, b_zero, bias, scale, zero};
    return kni_apply(&kni_op_matmul_integer, in, KNI_INTEGER_OPERANDS, NULL);
}

/* ---- matmul_dequantized: the sums as reals, with one rounding each for scale and bias */

static kn_status infer_matmul_dequantized(kni_infer *c)
{
    kn_status s = infer_product(c);
    if (s) return s;
    if (!operand(c, KNI_INTEGER_SCALE))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "operand %d, the scale, is missing",
                              (int)KNI_INTEGER_SCALE);
    s = check_each(c, KNI_INTEGER_BIAS, "the bias", KN_F32, columns_of(c));
    if (s == KN_OK) s = check_each(c, KNI_INTEGER_SCALE, "the scale", KN_F32, columns_of(c));
    c->out[0]->dtype = KN_F32;
    return s;
}

static kn_status lower_matmul_dequantized(kni_lowering *l)
{
    const kn_tensor *in = l->in;
    kn_tensor sums = kn_matmul_integer(in[KNI_INTEGER_A], in[KNI_INTEGER_B], in[KNI_INTEGER_A_ZERO],
                                       in[KNI_INTEGER_B_ZERO]);
    kn_tensor y = kn_mul(kn_cast(sums, KN_F32), in[KNI_INTEGER_SCALE]);
    l->out[0] = in[KNI_INTEGER_BIAS].bits ? kn_add(y, in[KNI_INTEGER_BIAS]) : y;
    return KN_OK;
}

OP(matmul_dequantized,
   .doc = "y[..., i, j] = scale[j] (sum over k of (a[..., i, k] - a_zero[..., i]) (b[..., k, j] - "
          "b_zero[..., j])) + "
          "bias[j] in f32; the sums are exact",
   .min_in = 2, .max_in = KNI_INTEGER_SCALE + 1, .n_out = 1, .kind = KNI_CONTRACTION, .dtypes = BYTES,
   .flags = KNI_FLAG_NO_GRADIENT, .infer = infer_matmul_dequantized, .lower = lower_matmul_dequantized,
   .native = &kni_cpu_matmul_dequantized)

/* ---- conv_integer */

static const kn_attribute conv_integer_schema[] = {
    KNI_ATTR(kni_conv_attributes, stride, KNI_ATTR_INTS, KNI_STATIC),
    KNI_ATTR(kni_conv_attributes, padding, KNI_ATTR_INTS, KNI_STATIC),
    KNI_ATTR(kni_conv_attributes, padding_end, KNI_ATTR_INTS, KNI_STATIC),
    KNI_ATTR(kni_conv_attributes, dilation, KNI_ATTR_INTS, KNI_STATIC),
    KNI_ATTR(kni_conv_attributes, groups, KNI_ATTR_INT, KNI_STATIC),
    {0}};

/* One element; of the weight also one for each output channel. */
static kn_status check_channel_zero(const kni_infer *c, int i, kn_dim channels)
{
    const kni_type *zero = operand(c, i);
    if (!zero || zero->rank == 0) return KN_OK;
    if (zero->rank == 1 && (zero->dims[0] == 1 || (channels != 1 && kni_dims_agree(zero->dims[0], channels))))
        return KN_OK;
    return kni_infer_fail(
        c, KN_ERROR_SHAPE, "the zero point of operand %d must have %s, not %S", i - 2,
        i == KNI_INTEGER_A_ZERO ? "one element" : "one element, or one for each output channel", zero);
}

static kn_status infer_conv_integer(kni_infer *c)
{
    kn_status s = check_bytes(c);
    if (s == KN_OK) s = kni_conv_check(c, c->in[0], c->in[1]);
    if (s == KN_OK) s = check_channel_zero(c, KNI_INTEGER_A_ZERO, 1);
    if (s == KN_OK) s = check_channel_zero(c, KNI_INTEGER_B_ZERO, c->in[1]->dims[0]);
    if (s == KN_OK) s = kni_conv_infer(c, c->out[0]);
    return s ? s : finish_type(c, c->out[0], c->in[1]->dims[0]);
}

static kn_status launch_conv_integer(kni_launch *l)
{
    const kni_conv_attributes *a = l->attributes;
    const kni_type *w_zero = l->n_in > 3 ? l->in[3] : NULL;
    l->kernel = &kni_kernel_conv_integer;
    l->items = kni_count(l->out[0]);
    kni_launch_int(l, a->groups);
    kni_launch_int(l, l->in[0]->dims[1] / a->groups);
    kni_launch_int(l, l->out[0]->dims[1] / a->groups);
    kni_conv_push_geometry(l, l->in[0], l->in[1], l->out[0]);
    kni_launch_int(l, l->n_in > 2 && l->in[2]);
    kni_launch_int(l, w_zero != NULL);
    kni_launch_int(l, w_zero && w_zero->rank == 1 && w_zero->dims[0] != 1);
    push_finish(l);
    return KN_OK;
}

OP(conv_integer,
   .doc = "y[n, o, p] = sum over c, k of (x[n, c, p stride + k dilation - padding] - x_zero) (w[o, c, k] - "
          "w_zero[o]) + bias[o] in i32, or round(that scale[o]) + y_zero in 8 bits",
   .min_in = 2, .max_in = KNI_INTEGER_OPERANDS, .n_out = 1, .kind = KNI_CONTRACTION, .dtypes = BYTES,
   .flags = KNI_FLAG_NO_GRADIENT, .schema = conv_integer_schema,
   .attribute_bytes = sizeof(kni_conv_attributes), .infer = infer_conv_integer, .launch = launch_conv_integer,
   .native = &kni_cpu_conv_integer)

static kn_tensor run_conv(const kn_tensor *in, int n_in, const kn_conv_integer_args *args)
{
    kni_conv_attributes a = {.groups = args ? args->groups : 0};
    const kni_tensor *t = kni_peek(in[0]);
    const int n = args && t && t->type.rank > 2 && t->type.rank < 6 ? t->type.rank - 2 : 0;
    a.stride.rank = a.dilation.rank = a.padding.rank = a.padding_end.rank = n;
    for (int i = 0; i < n; i++) {
        a.stride.dims[i] = kn_int_or(kni_axis_entry(args->stride, i), 1);
        a.dilation.dims[i] = kn_int_or(kni_axis_entry(args->dilation, i), 1);
        a.padding.dims[i] = kn_int_or(args->padding[i], 0);
        a.padding_end.dims[i] = kn_int_or(args->padding_end[i], a.padding.dims[i]);
    }
    return kni_apply(&kni_op_conv_integer, in, n_in, &a);
}

kn_tensor kn_conv_integer(kn_tensor x, kn_tensor w, kn_tensor x_zero, kn_tensor w_zero,
                          const kn_conv_integer_args *args)
{
    kn_tensor in[4] = {x, w, x_zero, w_zero};
    return run_conv(in, 4, args);
}

kn_tensor kn_conv_requantized(kn_tensor x, kn_tensor w, kn_tensor x_zero, kn_tensor w_zero, kn_tensor bias,
                              kn_tensor scale, kn_tensor zero, const kn_conv_integer_args *args)
{
    kn_tensor in[KNI_INTEGER_OPERANDS] = {x, w, x_zero, w_zero, bias, scale, zero};
    return run_conv(in, KNI_INTEGER_OPERANDS, args);
}
