/* Layer norm and RMS norm: both see x as rows, the second without the mean. Their gradients are rows that compute
   the statistics again, so that the tape keeps nothing but x. */
#include "ops/defined.h"
#include "ops/infer.h"
#include "ops/native.h"
#include "ops/norm.h"
#include "ops/scalar_row.h"
#include "ops/wide.h"

static const kn_attribute layer_norm_schema[] = {
    KNI_ATTR(kni_layer_norm_attributes, n_axes, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_layer_norm_attributes, eps, KNI_ATTR_REAL, KNI_STATIC),
    {0}};

/* Operand i, where there is one, has the shape of the last n axes of operand x. */
static kn_status infer_last_axes(const kni_infer *c, int i, int x, int64_t n)
{
    const kni_type *w = i < c->n_in ? c->in[i] : NULL, *t = c->in[x];
    if (!w) return KN_OK;
    kn_status s = kni_infer_dtype(c, i, KNI_FLOATS);
    if (s) return s;
    bool agrees = w->rank == n;
    for (int a = 0; a < n && agrees; a++) agrees = kni_dims_agree(w->dims[a], t->dims[t->rank - n + a]);
    if (agrees) return KN_OK;
    return kni_infer_fail(c, KN_ERROR_SHAPE,
                          "weight or bias %S does not have the shape of the last %d axes of %S", w, (int)n,
                          t);
}

static kn_status infer_axes_count(const kni_infer *c, int x)
{
    const kni_layer_norm_attributes *a = c->attributes;
    kn_status s = kni_infer_dtype(c, x, KNI_FLOATS);
    if (s == KN_OK) s = kni_infer_at_least(c, "eps", a->eps, 0);
    if (s) return s;
    if (a->n_axes >= 1 && a->n_axes <= c->in[x]->rank) return KN_OK;
    if (c->in[x]->rank == 0)
        return kni_infer_fail(c, KN_ERROR_SHAPE, "a tensor of rank 0 has no axes to normalise");
    return kni_infer_fail(c, KN_ERROR_ARGUMENT, "cannot normalise the last %D axes of %S; give 1 to %d",
                          a->n_axes, c->in[x], (int)c->in[x]->rank);
}

static kn_status infer_layer_norm(kni_infer *c)
{
    const kni_layer_norm_attributes *a = c->attributes;
    kn_status s = infer_axes_count(c, 0);
    for (int i = 1; i < 3 && s == KN_OK; i++) s = infer_last_axes(c, i, 0, a->n_axes);
    return s ? s : kni_infer_same(c);
}

static kn_status infer_gradient_pair(const kni_infer *c)
{
    kn_status s = infer_axes_count(c, 1);
    if (s) return s;
    return kni_infer_cotangent(c);
}

static kn_status infer_layer_norm_grad(kni_infer *c)
{
    const kni_layer_norm_attributes *a = c->attributes;
    kn_status s = infer_gradient_pair(c);
    if (s == KN_OK) s = infer_last_axes(c, 2, 1, a->n_axes);
    *c->out[0] = *c->in[1];
    c->out[0]->weak = 0;
    return s;
}

static kn_status infer_affine_grad(kni_infer *c)
{
    const kni_layer_norm_attributes *a = c->attributes;
    kn_status s = infer_gradient_pair(c);
    if (s) return s;
    const kni_type *x = c->in[1];
    for (int k = 0; k < c->n_out; k++) {
        kni_type *y = c->out[k];
        y->dtype = (uint8_t)kni_sum_dtype(x->dtype);
        y->rank = (uint8_t)a->n_axes;
        for (int i = 0; i < y->rank; i++) y->dims[i] = x->dims[x->rank - a->n_axes + i];
    }
    return KN_OK;
}

kni_norm_view kni_norm_view_of(const kni_type *x, int64_t n_axes)
{
    kni_norm_view v = {1, 1};
    for (int a = 0; a < x->rank; a++) {
        if (a < x->rank - n_axes)
            v.rows *= x->dims[a];
        else
            v.n *= x->dims[a];
    }
    return v;
}

BODY(layer_norm, "d = x - mean(x); s = 1 / sqrt(mean(d * d) + eps); y = d * s * weight + bias")
OP(layer_norm, .doc = "(x - mean) / sqrt(variance + eps) * weight + bias over the last n_axes axes",
   .min_in = 1, .max_in = 3, .n_out = 1, .kind = KNI_COMPOSITE, .dtypes = KNI_FLOATS, .tolerance = {8, 2},
   .schema = layer_norm_schema, .attribute_bytes = sizeof(kni_layer_norm_attributes),
   .in = "x weight@place?1 bias@place?0", .body = &kni_body_layer_norm,
   .line = KNI_ALONG(LAST, 0, ELEMENT, kni_layer_norm_attributes, n_axes), .infer = infer_layer_norm,
   .native = &kni_cpu_layer_norm)

BODY(rms_norm, "s = 1 / sqrt(mean(x * x) + eps); y = x * s * weight")
OP(rms_norm, .doc = "x / sqrt(mean(x^2) + eps) * weight over the last n_axes axes", .min_in = 1, .max_in = 2,
   .n_out = 1, .kind = KNI_COMPOSITE, .dtypes = KNI_FLOATS, .tolerance = {8, 1}, .schema = layer_norm_schema,
   .attribute_bytes = sizeof(kni_layer_norm_attributes), .in = "x weight@place?1", .body = &kni_body_rms_norm,
   .line = KNI_ALONG(LAST, 0, ELEMENT, kni_layer_norm_attributes, n_axes), .infer = infer_layer_norm,
   .native = &kni_cpu_rms_norm)

BODY(layer_norm_grad, "d = x - mean(x); s = 1 / sqrt(mean(d * d) + eps); g = dy * weight; dx = s * (g - "
                      "mean(g) - d * s * (mean(g * d) * s))")
OP(layer_norm_grad, .doc = "scale (g - mean(g) - h mean(g h)), g = dy weight, h = (x - mean) scale",
   .min_in = 2, .max_in = 3, .n_out = 1, .kind = KNI_COMPOSITE, .flags = KNI_FLAG_WIDE, .wide = &kni_wide,
   .dtypes = KNI_FLOATS, .tolerance = {16, 2}, .schema = layer_norm_schema,
   .attribute_bytes = sizeof(kni_layer_norm_attributes), .in = "dy x weight@place?1", .out = "dx",
   .body = &kni_body_layer_norm_grad, .line = KNI_ALONG(LAST, 1, ELEMENT, kni_layer_norm_attributes, n_axes),
   .infer = infer_layer_norm_grad, .lower = kni_defined_lower, .native = &kni_cpu_layer_norm_grad)

BODY(rms_norm_grad,
     "s = 1 / sqrt(mean(x * x) + eps); g = dy * weight; dx = s * (g - x * s * (mean(g * x) * s))")
OP(rms_norm_grad, .doc = "scale (g - h mean(g h)), g = dy weight, h = x scale", .min_in = 2, .max_in = 3,
   .n_out = 1, .kind = KNI_COMPOSITE, .flags = KNI_FLAG_WIDE, .wide = &kni_wide, .dtypes = KNI_FLOATS,
   .tolerance = {16, 2}, .schema = layer_norm_schema, .attribute_bytes = sizeof(kni_layer_norm_attributes),
   .in = "dy x weight@place?1", .out = "dx", .body = &kni_body_rms_norm_grad,
   .line = KNI_ALONG(LAST, 1, ELEMENT, kni_layer_norm_attributes, n_axes), .infer = infer_layer_norm_grad,
   .lower = kni_defined_lower, .native = &kni_cpu_rms_norm_grad)

BODY(layer_norm_affine_grad,
     "d = x - mean(x); s = 1 / sqrt(mean(d * d) + eps); dweight = down(dy * (d * s)); dbias = down(dy)")
OP(layer_norm_affine_grad, .doc = "sum(dy h) and sum(dy) over the leading axes, h = (x - mean) scale",
   .min_in = 2, .max_in = 2, .n_out = 2, .kind = KNI_COMPOSITE, .flags = KNI_FLAG_WIDE, .wide = &kni_wide,
   .dtypes = KNI_FLOATS, .tolerance = {16, 2}, .schema = layer_norm_schema,
   .attribute_bytes = sizeof(kni_layer_norm_attributes), .in = "dy x", .out = "dweight@place dbias@place",
   .body = &kni_body_layer_norm_affine_grad,
   .line = KNI_ALONG(LAST, 1, PLACE, kni_layer_norm_attributes, n_axes), .infer = infer_affine_grad,
   .lower = kni_defined_lower, .native = &kni_cpu_layer_norm_affine_grad)

BODY(rms_norm_affine_grad, "s = 1 / sqrt(mean(x * x) + eps); dweight = down(dy * (x * s))")
OP(rms_norm_affine_grad, .doc = "sum(dy h) over the leading axes, h = x scale", .min_in = 2, .max_in = 2,
   .n_out = 1, .kind = KNI_COMPOSITE, .flags = KNI_FLAG_WIDE, .wide = &kni_wide, .dtypes = KNI_FLOATS,
   .tolerance = {16, 2}, .schema = layer_norm_schema, .attribute_bytes = sizeof(kni_layer_norm_attributes),
   .in = "dy x", .out = "dweight@place", .body = &kni_body_rms_norm_affine_grad,
   .line = KNI_ALONG(LAST, 1, PLACE, kni_layer_norm_attributes, n_axes), .infer = infer_affine_grad,
   .lower = kni_defined_lower, .native = &kni_cpu_rms_norm_affine_grad)

static void gradient_of_x(kni_vjp *v, const kn_op *row)
{
    if (!kni_vjp_needs(v, 0)) return;
    kn_tensor in[3] = {v->dy[0], kni_vjp_in(v, 0), KN_NONE};
    if (v->n_in > 1 && v->in_types[1].dtype) in[2] = kni_vjp_in(v, 1);
    kni_vjp_set(v, 0, kni_apply(row, in, 3, v->attributes));
}

GRADIENT(layer_norm)
{
    gradient_of_x(v, &kni_op_layer_norm_grad);
    if (v->n_in > 1 && kni_vjp_needs(v, 1)) {
        kn_tensor in[2] = {v->dy[0], kni_vjp_in(v, 0)}, out[2];
        kni_apply_many(&kni_op_layer_norm_affine_grad, in, 2, v->attributes, out, 2);
        kni_vjp_set(v, 1, out[0]);
        if (v->n_in > 2 && kni_vjp_needs(v, 2))
            kni_vjp_set(v, 2, out[1]);
        else
            kn_drop(out[1]);
    } else if (v->n_in > 2 && kni_vjp_needs(v, 2)) {
        kni_vjp_set(v, 2, v->dy[0]);
    }
    return KN_OK;
}

GRADIENT(rms_norm)
{
    gradient_of_x(v, &kni_op_rms_norm_grad);
    if (v->n_in > 1 && kni_vjp_needs(v, 1)) {
        kn_tensor in[2] = {v->dy[0], kni_vjp_in(v, 0)};
        kni_vjp_set(v, 1, kni_apply(&kni_op_rms_norm_affine_grad, in, 2, v->attributes));
    }
    return KN_OK;
}

kn_tensor kn_layer_norm(kn_tensor x, kn_tensor weight, kn_tensor bias, int32_t n_axes, double eps)
{
    kni_layer_norm_attributes a = {n_axes, eps};
    kn_tensor in[3] = {x, weight, bias};
    return kni_apply(&kni_op_layer_norm, in, 3, &a);
}

kn_tensor kn_rms_norm(kn_tensor x, kn_tensor weight, int32_t n_axes, double eps)
{
    kni_layer_norm_attributes a = {n_axes, eps};
    kn_tensor in[2] = {x, weight};
    return kni_apply(&kni_op_rms_norm, in, 2, &a);
}
