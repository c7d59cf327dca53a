/* Softmax and its logarithm, with their gradients as rows of their own. */
#include "ops/softmax.h"
#include "ops/defined.h"
#include "ops/infer.h"
#include "ops/native.h"
#include "ops/scalar_row.h"
#include "ops/wide.h"

static const kn_attribute softmax_schema[] = {
    KNI_ATTR(kni_softmax_attributes, axis, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_softmax_attributes, quiet, KNI_ATTR_INT, KNI_STATIC),
    {0}};

kni_softmax_view kni_softmax_view_of(const kni_type *x, int64_t axis)
{
    kni_softmax_view v = {1, 1, 1};
    for (int a = 0; a < x->rank; a++) {
        if (a < axis)
            v.outer *= x->dims[a];
        else if (a == axis)
            v.axis = x->dims[a];
        else
            v.inner *= x->dims[a];
    }
    return v;
}

/* Rank 0 counts as one element on axis 0. */
static kn_status infer_softmax(kni_infer *c)
{
    kni_softmax_attributes *a = c->attributes;
    kn_status s = kni_infer_dtype(c, 0, KNI_FLOATS);
    if (s == KN_OK) s = kni_infer_axis_or_rank_0(c, &a->axis, c->in[0]->rank);
    return s ? s : kni_infer_same(c);
}

static kn_status infer_softmax_grad(kni_infer *c)
{
    kn_status s = infer_softmax(c);
    if (s) return s;
    if (c->in[1]->dtype != c->in[0]->dtype || !kni_same_dims(c->in[0], c->in[1]))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "the gradient %S and the result %S differ", c->in[0],
                              c->in[1]);
    return KN_OK;
}

BODY(softmax, "t = quiet != 0 ? max(top(x), 0) : top(x); e = expn(x - t); s = quiet != 0 ? sum(e) + exp(-t) "
              ": sum(e); y = e / s")
OP(softmax, .doc = "exp(x) / sum(exp(x)) over axis; quiet: exp(x) / (1 + sum(exp(x)))", .min_in = 1,
   .max_in = 1, .n_out = 1, .kind = KNI_COMPOSITE, .layout = KNI_LAYOUT_KEEPS, .dtypes = KNI_FLOATS,
   .tolerance = {8, 0.5f}, .schema = softmax_schema, .attribute_bytes = sizeof(kni_softmax_attributes),
   .in = "x", .body = &kni_body_softmax, .line = KNI_ALONG(AXIS, 0, ELEMENT, kni_softmax_attributes, axis),
   .infer = infer_softmax, .native = &kni_cpu_softmax)

BODY(log_softmax, "t = quiet != 0 ? max(top(x), 0) : top(x); d = x - t; e = expn(d); s = quiet != 0 ? sum(e) "
                  "+ exp(-t) : sum(e); y = d - log(s)")
OP(log_softmax, .doc = "x - log(sum(exp(x))) over axis", .min_in = 1, .max_in = 1, .n_out = 1,
   .kind = KNI_COMPOSITE, .autocast = KNI_AUTOCAST_WIDEN, .layout = KNI_LAYOUT_KEEPS, .dtypes = KNI_FLOATS,
   .tolerance = {8, 0.5f}, .schema = softmax_schema, .attribute_bytes = sizeof(kni_softmax_attributes),
   .in = "x", .body = &kni_body_log_softmax,
   .line = KNI_ALONG(AXIS, 0, ELEMENT, kni_softmax_attributes, axis), .infer = infer_softmax,
   .native = &kni_cpu_log_softmax)

BODY(softmax_grad, "dx = y * (dy - sum(dy * y))")
OP(softmax_grad, .doc = "y (dy - sum(dy y)) over axis", .min_in = 2, .max_in = 2, .n_out = 1,
   .kind = KNI_COMPOSITE, .flags = KNI_FLAG_WIDE, .wide = &kni_wide, .layout = KNI_LAYOUT_KEEPS,
   .dtypes = KNI_FLOATS, .tolerance = {8, 1}, .schema = softmax_schema,
   .attribute_bytes = sizeof(kni_softmax_attributes), .in = "dy y", .out = "dx",
   .body = &kni_body_softmax_grad, .line = KNI_ALONG(AXIS, 0, ELEMENT, kni_softmax_attributes, axis),
   .infer = infer_softmax_grad, .lower = kni_defined_lower, .native = &kni_cpu_softmax_grad)

BODY(log_softmax_grad, "dx = dy - expn(y) * sum(dy)")
OP(log_softmax_grad, .doc = "dy - exp(y) sum(dy) over axis", .min_in = 2, .max_in = 2, .n_out = 1,
   .kind = KNI_COMPOSITE, .flags = KNI_FLAG_WIDE, .wide = &kni_wide, .layout = KNI_LAYOUT_KEEPS,
   .dtypes = KNI_FLOATS, .tolerance = {8, 1}, .schema = softmax_schema,
   .attribute_bytes = sizeof(kni_softmax_attributes), .in = "dy y", .out = "dx",
   .body = &kni_body_log_softmax_grad, .line = KNI_ALONG(AXIS, 0, ELEMENT, kni_softmax_attributes, axis),
   .infer = infer_softmax_grad, .lower = kni_defined_lower, .native = &kni_cpu_log_softmax_grad)

static kn_status gradient(kni_vjp *v, const kn_op *row)
{
    kn_tensor in[2] = {v->dy[0], kni_vjp_out(v, 0)};
    kni_vjp_set(v, 0, kni_apply(row, in, 2, v->attributes));
    return KN_OK;
}

/* The extra term of the quiet form is a constant logit, so one formula serves both. */
GRADIENT(softmax) { return gradient(v, &kni_op_softmax_grad); }
GRADIENT(log_softmax) { return gradient(v, &kni_op_log_softmax_grad); }

static kn_tensor apply(const kn_op *row, kn_tensor x, int32_t axis, bool quiet)
{
    kni_softmax_attributes a = {axis, quiet};
    return kni_apply(row, &x, 1, &a);
}

kn_tensor kn_softmax(kn_tensor x, int32_t axis) { return apply(&kni_op_softmax, x, axis, false); }
kn_tensor kn_log_softmax(kn_tensor x, int32_t axis) { return apply(&kni_op_log_softmax, x, axis, false); }

kn_tensor kn_quiet_softmax(kn_tensor x, int32_t axis)
{
    kni_call call = kni_call_begin("quiet_softmax");
    return kni_call_end(call, apply(&kni_op_softmax, x, axis, true));
}

kn_tensor kn_softmin(kn_tensor x, int32_t axis)
{
    kni_call call = kni_call_begin("softmin");
    return kni_call_end(call, kn_softmax(kn_neg(x), axis));
}
