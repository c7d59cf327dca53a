/* linear_quantized: products of reals with weights of 8 bits, which have a scale and a zero point for all, for each output, or for blocks of
   each output's inputs. */
#include "ops/quantized_weights.h"
#include "ops/infer.h"
#include "ops/native.h"
#include <kn/contraction.h>
#include <kn/quantize.h>

extern const kni_native kni_cpu_linear_quantized;

static const kn_attribute weights_schema[] = {
    KNI_ATTR(kni_weights_attributes, block, KNI_ATTR_INT, KNI_STATIC), {0}};

/* One element, one for each output, or one for each block of each output. */
static kn_status check_scaling(const kni_infer *c, const kni_type *t, const char *what)
{
    const kni_type *w = c->in[KNI_WEIGHTS_W];
    const int64_t block = ((const kni_weights_attributes *)c->attributes)->block;
    const bool one = t->rank == 0 || (t->rank == 1 && t->dims[0] == 1);
    bool fits = one || (t->rank == 1 && kni_dims_agree(t->dims[0], w->dims[0]));
    if (t->rank == 2 && block > 0) {
        const kn_dim blocks = kni_dim_floor_div(kni_dim_add(w->dims[1], block - 1), block);
        fits = kni_dims_agree(t->dims[0], w->dims[0]) && kni_dims_agree(t->dims[1], blocks);
    }
    if (fits) return KN_OK;
    return kni_infer_fail(
        c, KN_ERROR_SHAPE,
        "%s must have one element, one for each output or, with blocks, one for each block of "
        "each output: %S does not fit weight %S with blocks of %D",
        what, t, w, block);
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
    if (s) return s;
    if (x->rank < 1 || w->rank != 2 || !kni_dims_agree(x->dims[x->rank - 1], w->dims[1]))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "x %S does not fit a weight [out, in] of %S", x, w);
    s = check_scaling(c, scale, "the scale");
    if (s == KN_OK && zero) s = check_scaling(c, zero, "the zero point");
    if (s) return s;
    if (bias && (bias->rank != 1 || !kni_dims_agree(bias->dims[0], w->dims[0])))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "the bias must be [%D], not %S", w->dims[0], bias);
    *c->out[0] = *x;
    c->out[0]->weak = 0;
    c->out[0]->dims[x->rank - 1] = w->dims[0];
    return KN_OK;
}

static kn_status lower_linear_quantized(kni_lowering *l)
{
    const int64_t block = ((const kni_weights_attributes *)l->attributes)->block;
    const kn_tensor scale = l->in[KNI_WEIGHTS_SCALE];
    const bool blocks = kn_rank(scale) == 2;
    const kn_tensor zero = l->n_in > KNI_WEIGHTS_ZERO ? l->in[KNI_WEIGHTS_ZERO] : KN_NONE;
    const kn_tensor bias = l->n_in > KNI_WEIGHTS_BIAS ? l->in[KNI_WEIGHTS_BIAS] : KN_NONE;
    const kn_quantize_args args = {.axis = blocks ? 1 : 0, .block = blocks ? block : 0};
    l->out[0] =
        kn_linear(l->in[KNI_WEIGHTS_X], kn_dequantize(l->in[KNI_WEIGHTS_W], scale, zero, &args), bias);
    return KN_OK;
}

OP(linear_quantized,
   .doc = "y = x w' + bias over the last axis, w [out, in] = (weight - zero) scale of 8-bit weights; scale "
          "and zero have "
          "one element, one for each output, or one for each block of each output",
   .min_in = 3, .max_in = KNI_WEIGHTS_OPERANDS, .n_out = 1, .kind = KNI_CONTRACTION,
   .layout = KNI_LAYOUT_WANTS, .dtypes = KNI_BIT(KN_F32), .tolerance = {4, 1}, .schema = weights_schema,
   .attribute_bytes = sizeof(kni_weights_attributes), .infer = infer_linear_quantized,
   .lower = lower_linear_quantized, .native = &kni_cpu_linear_quantized)
