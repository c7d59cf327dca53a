/* Batch norm: with given statistics (inference), and with those of the batch, which come back beside the result. */
#include "ops/infer.h"
#include "ops/native.h"
#include "ops/norm.h"
#include "ops/scalar_row.h"

static const kn_attribute batch_norm_schema[] = {
    KNI_ATTR(kni_batch_norm_attributes, eps, KNI_ATTR_REAL, KNI_STATIC), {0}};

kni_channel_view kni_channel_view_of(const kni_type *x)
{
    kni_channel_view v = {x->dims[0], x->dims[1], 1};
    for (int a = 2; a < x->rank; a++) v.inner *= x->dims[a];
    return v;
}

/* Operands first .. last - 1, where they are there, are vectors with an element for each channel of operand x. */
static kn_status infer_channels(const kni_infer *c, int x, int first, int last)
{
    const kni_batch_norm_attributes *attributes = c->attributes;
    kn_status s = kni_infer_dtype(c, x, KNI_FLOATS);
    if (s == KN_OK) s = kni_infer_at_least(c, "eps", attributes->eps, 0);
    if (s) return s;
    if (c->in[x]->rank < 2)
        return kni_infer_fail(c, KN_ERROR_SHAPE, "x must be [batch, channels, ...], not %S", c->in[x]);
    for (int i = first; i < last && i < c->n_in; i++) {
        if (!c->in[i]) continue;
        s = kni_infer_dtype(c, i, KNI_FLOATS);
        if (s) return s;
        if (c->in[i]->rank != 1 || !kni_dims_agree(c->in[i]->dims[0], c->in[x]->dims[1]))
            return kni_infer_fail(c, KN_ERROR_SHAPE,
                                  "operand %d has shape %S, but x %S needs one element a channel", i,
                                  c->in[i], c->in[x]);
    }
    return KN_OK;
}

static void set_like(kni_type *y, const kni_type *x)
{
    *y = *x;
    y->weak = 0;
}

static void set_channels(kni_type *y, const kni_type *x)
{
    y->dtype = (uint8_t)kni_sum_dtype(x->dtype);
    y->rank = 1;
    y->dims[0] = x->dims[1];
}

static kn_status infer_batch_norm(kni_infer *c)
{
    kn_status s = infer_channels(c, 0, 1, 5);
    if (s == KN_OK) set_like(c->out[0], c->in[0]);
    return s;
}

static kn_status infer_batch_norm_train(kni_infer *c)
{
    kn_status s = infer_channels(c, 0, 1, 3);
    if (s) return s;
    set_like(c->out[0], c->in[0]);
    set_channels(c->out[1], c->in[0]);
    set_channels(c->out[2], c->in[0]);
    return KN_OK;
}

static kn_status infer_batch_norm_train_grad(kni_infer *c)
{
    kn_status s = infer_channels(c, 1, 2, 5);
    if (s) return s;
    s = kni_infer_cotangent(c);
    if (s) return s;
    set_like(c->out[0], c->in[1]);
    set_channels(c->out[1], c->in[1]);
    set_channels(c->out[2], c->in[1]);
    return KN_OK;
}

/* The statistics are computed from x again: those handed in are the same numbers, and gradients of this gradient
   have to flow through them to x. */
static kn_status lower_batch_norm_train_grad(kni_lowering *l)
{
    const kni_batch_norm_attributes *a = l->attributes;
    int rank = kn_rank(l->in[1]), dtype = kn_dtype_of(l->in[1]);
    kn_ints axes = kni_axes_but_channels(rank);
    kn_tensor x = kn_keep(kni_widen(l->in[1])), dy = kn_keep(kni_widen(l->in[0]));
    /* On a tape mean and variance are functions of x, through which second derivatives flow; else they are what is given. */
    bool taped = kni_peek(l->in[1])->node != NULL;
    kn_tensor mean = taped ? kn_mean(x, axes, true) : kni_along_channels(kni_widen(l->in[2]), rank);
    kn_tensor d = kn_keep(kn_sub(x, mean));
    kn_tensor variance =
        taped ? kn_mean(kn_square(d), axes, true) : kni_along_channels(kni_widen(l->in[3]), rank);
    kn_tensor scale = kn_keep(kn_rdiv_scalar(kn_sqrt(kn_add_scalar(variance, a->eps)), 1));
    kn_tensor h = kn_keep(kn_mul(d, scale)), product = kn_keep(kn_mul(dy, h));
    kn_tensor inside = kn_sub(kn_sub(dy, kn_mean(dy, axes, true)), kn_mul(h, kn_mean(product, axes, true)));
    kn_tensor dx = kn_mul(inside, scale);
    if (l->n_in > 4 && l->in[4].bits) dx = kn_mul(dx, kni_along_channels(l->in[4], rank));
    l->out[0] = kni_as(dx, dtype);
    l->out[1] = kni_as(kn_sum(product, axes, false), kni_sum_dtype(dtype));
    l->out[2] = kni_as(kn_sum(dy, axes, false), kni_sum_dtype(dtype));
    return KN_OK;
}

BODY(batch_norm, "y = (x - mean) * (1 / sqrt(variance + eps) * weight) + bias")
OP(batch_norm, .doc = "(x - mean) / sqrt(variance + eps) * weight + bias by channel (axis 1)", .min_in = 3,
   .max_in = 5, .n_out = 1, .kind = KNI_COMPOSITE, .layout = KNI_LAYOUT_KEEPS, .dtypes = KNI_FLOATS,
   .tolerance = {8, 1}, .schema = batch_norm_schema, .attribute_bytes = sizeof(kni_batch_norm_attributes),
   .in = "x mean@line variance@line weight@line?1 bias@line?0", .body = &kni_body_batch_norm,
   .line = {KNI_LINE_CHANNEL, 0, KNI_PER_POINT, 0}, .infer = infer_batch_norm, .native = &kni_cpu_batch_norm)

BODY(batch_norm_train, "m = mean(x); d = x - m; v = mean(d * d); y = d * (1 / sqrt(v + eps) * weight) + "
                       "bias; mean = m; variance = v")
OP(batch_norm_train, .doc = "the same with mean and variance of the batch, which are results too",
   .min_in = 1, .max_in = 3, .n_out = 3, .kind = KNI_COMPOSITE, .layout = KNI_LAYOUT_KEEPS,
   .dtypes = KNI_FLOATS, .tolerance = {8, 2}, .schema = batch_norm_schema,
   .attribute_bytes = sizeof(kni_batch_norm_attributes), .in = "x weight@line?1 bias@line?0",
   .out = "y mean@line variance@line", .body = &kni_body_batch_norm_train,
   .line = {KNI_LINE_CHANNEL, 0, KNI_PER_SEVERAL, 0}, .infer = infer_batch_norm_train,
   .native = &kni_cpu_batch_norm_train)

BODY(batch_norm_train_grad, "s = 1 / sqrt(variance + eps); h = (x - mean) * s; b = sum(dy); g = sum(dy * h); "
                            "dx = s * weight * (dy - b / n - h * (g / n)); dweight = g; dbias = b")
OP(batch_norm_train_grad,
   .doc =
       "weight scale (dy - mean(dy) - h mean(dy h)), sum(dy h) and sum(dy) by channel, h = (x - mean) scale",
   .min_in = 4, .max_in = 5, .n_out = 3, .kind = KNI_COMPOSITE, .layout = KNI_LAYOUT_KEEPS, .follows = 2,
   .dtypes = KNI_FLOATS, .tolerance = {16, 2}, .schema = batch_norm_schema,
   .attribute_bytes = sizeof(kni_batch_norm_attributes), .in = "dy x mean@line variance@line weight@line?1",
   .out = "dx dweight@line dbias@line", .body = &kni_body_batch_norm_train_grad,
   .line = {KNI_LINE_CHANNEL, 0, KNI_PER_SEVERAL, 0}, .infer = infer_batch_norm_train_grad,
   .lower = lower_batch_norm_train_grad, .native = &kni_cpu_batch_norm_train_grad)

static bool given(const kni_vjp *v, int i) { return i < v->n_in && v->in_types[i].dtype; }
static bool wanted(const kni_vjp *v, int i) { return i < v->n_in && kni_vjp_needs(v, i); }

GRADIENT(batch_norm)
{
    const kni_batch_norm_attributes *a = v->attributes;
    int rank = v->in_types[0].rank;
    kn_ints axes = kni_axes_but_channels(rank);
    kn_tensor dy = kn_keep(kni_widen(v->dy[0]));
    if (wanted(v, 4)) kni_vjp_set(v, 4, kn_sum(dy, axes, false));
    bool by_x = kni_vjp_needs(v, 0) || kni_vjp_needs(v, 1), by_h = kni_vjp_needs(v, 2) || wanted(v, 3);
    if (!by_x && !by_h) return KN_OK;
    kn_tensor variance = kn_add_scalar(kni_widen(kni_vjp_in(v, 2)), a->eps);
    kn_tensor scale = kn_keep(kn_rdiv_scalar(kn_sqrt(variance), 1)), gain = scale;
    if (given(v, 3)) gain = kn_keep(kn_mul(scale, kni_vjp_in(v, 3)));
    if (kni_vjp_needs(v, 0)) kni_vjp_set(v, 0, kn_mul(dy, kni_along_channels(gain, rank)));
    if (kni_vjp_needs(v, 1)) kni_vjp_set(v, 1, kn_neg(kn_mul(kn_sum(dy, axes, false), gain)));
    if (!by_h) return KN_OK;
    kn_tensor mean = kni_along_channels(kni_vjp_in(v, 1), rank);
    kn_tensor d = kn_sub(kni_widen(kni_vjp_in(v, 0)), mean);
    kn_tensor along = kn_keep(kn_mul(kn_sum(kn_mul(dy, d), axes, false), scale));
    if (wanted(v, 3)) kni_vjp_set(v, 3, along);
    if (kni_vjp_needs(v, 2)) kni_vjp_set(v, 2, kn_mul_scalar(kn_mul(along, kn_mul(scale, gain)), -0.5));
    return KN_OK;
}

GRADIENT(batch_norm_train)
{
    int rank = v->in_types[0].rank;
    kn_ints axes = kni_axes_but_channels(rank);
    kni_channel_view view = kni_channel_view_of(&v->in_types[0]);
    double count = (double)(view.outer * view.inner);
    if (v->dy[0].bits) {
        if (kni_vjp_needs(v, 0) || wanted(v, 1)) {
            kn_tensor out[3],
                in[5] = {v->dy[0], kni_vjp_in(v, 0), kni_vjp_out(v, 1), kni_vjp_out(v, 2), KN_NONE};
            if (given(v, 1)) in[4] = kni_vjp_in(v, 1);
            kni_apply_many(&kni_op_batch_norm_train_grad, in, 5, v->attributes, out, 3);
            for (int i = 0; i < 3; i++) {
                if (i < v->n_in && kni_vjp_needs(v, i))
                    kni_vjp_set(v, i, out[i]);
                else
                    kn_drop(out[i]);
            }
        } else if (wanted(v, 2)) {
            kni_vjp_set(v, 2, kn_sum(kni_widen(v->dy[0]), axes, false));
        }
    }
    if (!kni_vjp_needs(v, 0)) return KN_OK;
    kn_shape shape = kni_vjp_shape(v, 0);
    if (v->dy[1].bits)
        kni_vjp_set(v, 0, kn_expand(kni_along_channels(kn_div_scalar(v->dy[1], count), rank), shape));
    if (v->dy[2].bits) {
        kn_tensor mean = kni_along_channels(kni_vjp_out(v, 1), rank);
        kn_tensor slope = kni_along_channels(kn_mul_scalar(v->dy[2], 2 / count), rank);
        kni_vjp_set(v, 0, kn_mul(kn_sub(kni_vjp_in(v, 0), mean), slope));
    }
    return KN_OK;
}

kn_tensor kn_batch_norm(kn_tensor x, kn_tensor mean, kn_tensor variance, kn_tensor weight, kn_tensor bias,
                        double eps)
{
    kni_batch_norm_attributes a = {eps};
    kn_tensor in[5] = {x, mean, variance, weight, bias};
    return kni_apply(&kni_op_batch_norm, in, 5, &a);
}

kn_batch_norm_result kn_batch_norm_train(kn_tensor x, kn_tensor weight, kn_tensor bias, double eps)
{
    kni_batch_norm_attributes a = {eps};
    kn_tensor in[3] = {x, weight, bias}, out[3];
    kni_apply_many(&kni_op_batch_norm_train, in, 3, &a, out, 3);
    return (kn_batch_norm_result){out[0], out[1], out[2]};
}
