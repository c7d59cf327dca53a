/* Cross entropy of logits against class indices as a row with a fused gradient, and the losses around it. */
#include "ops/infer.h"
#include "ops/loss.h"
#include "ops/native.h"
#include "ops/norm.h"
#include "ops/scalar_row.h"

static const kn_attribute cross_entropy_schema[] = {
    KNI_ATTR(kni_cross_entropy_attributes, ignore_index, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_cross_entropy_attributes, smoothing, KNI_ATTR_REAL, KNI_STATIC),
    {0}};

kni_class_view kni_class_view_of(const kni_type *x)
{
    kni_class_view v = {1, x->dims[0], 1};
    if (x->rank > 1) {
        v.outer = x->dims[0];
        v.classes = x->dims[1];
    }
    for (int a = 2; a < x->rank; a++) v.inner *= x->dims[a];
    return v;
}

static int class_axis(int rank) { return rank > 1 ? 1 : 0; }

/* target, and lse and dy where there are such, have x's shape without the classes. */
static kn_status infer_positions(const kni_infer *c, int i, const kni_type *x)
{
    const kni_type *t = c->in[i];
    bool agrees = t->rank == x->rank - 1;
    for (int a = 0, b = 0; b < x->rank && agrees; b++)
        if (b != class_axis(x->rank)) agrees = kni_dims_agree(t->dims[a++], x->dims[b]);
    if (agrees) return KN_OK;
    return kni_infer_fail(c, KN_ERROR_SHAPE,
                          "operand %d %S does not fit logits %S: give [batch, ...] for "
                          "[batch, classes, ...]",
                          i, t, x);
}

static kn_status infer_logits(const kni_infer *c, int x, int target, int weight)
{
    const kni_cross_entropy_attributes *a = c->attributes;
    kn_status s = kni_infer_dtype(c, x, KNI_FLOATS);
    if (s == KN_OK) s = kni_infer_rank(c, x, 1, KN_MAX_RANK);
    if (s == KN_OK) s = kni_infer_integer(c, target);
    if (s == KN_OK) s = infer_positions(c, target, c->in[x]);
    if (s) return s;
    if (!(a->smoothing >= 0 && a->smoothing <= 1))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "label_smoothing is %g: it must be 0 to 1", a->smoothing);
    const kni_type *w = weight < c->n_in ? c->in[weight] : NULL;
    if (!w) return KN_OK;
    s = kni_infer_dtype(c, weight, KNI_FLOATS);
    if (s) return s;
    if (w->rank != 1 || !kni_dims_agree(w->dims[0], c->in[x]->dims[class_axis(c->in[x]->rank)]))
        return kni_infer_fail(c, KN_ERROR_SHAPE,
                              "weight %S must have one element for each class of logits %S", w, c->in[x]);
    return KN_OK;
}

static kn_status infer_cross_entropy(kni_infer *c)
{
    kn_status s = infer_logits(c, 0, 1, 2);
    if (s) return s;
    for (int k = 0; k < c->n_out; k++) {
        *c->out[k] = *c->in[1];
        c->out[k]->dtype = (uint8_t)kni_sum_dtype(c->in[0]->dtype);
        c->out[k]->weak = 0;
    }
    return KN_OK;
}

static kn_status infer_cross_entropy_grad(kni_infer *c)
{
    kn_status s = infer_logits(c, 1, 2, 4);
    if (s == KN_OK) s = kni_infer_dtype(c, 0, KNI_FLOATS);
    if (s == KN_OK) s = kni_infer_dtype(c, 3, KNI_FLOATS);
    if (s == KN_OK) s = infer_positions(c, 0, c->in[1]);
    if (s == KN_OK) s = infer_positions(c, 3, c->in[1]);
    *c->out[0] = *c->in[1];
    c->out[0]->weak = 0;
    return s;
}

/* dy ((softmax(x) sum q) - q), with q the weighted and smoothed target distribution, 0 where ignored. On a tape lse is left out: it is
   a function of x, through which second derivatives have to flow. */
static kn_status lower_cross_entropy_grad(kni_lowering *l)
{
    const kni_cross_entropy_attributes *a = l->attributes;
    kn_tensor x = kn_keep(kni_widen(l->in[1])), target = l->in[2];
    int rank = kn_rank(x), axis = class_axis(rank), dtype = kn_dtype_of(x);
    int64_t classes = kn_size(x, axis);
    if (classes ==
        0) { /* there is no result, but targets that are no class are reported as those of the loss are */
        kn_tensor in[3] = {x, target, KN_NONE}, out[3];
        kni_apply_many(&kni_op_cross_entropy, in, 3, a, out, 3);
        l->out[0] = kni_as(kn_mul(x, kn_unsqueeze(out[0], axis)), kn_dtype_of(l->in[1]));
        return KN_OK;
    }
    kn_tensor ignored = kn_keep(kn_equal_scalar(target, (double)a->ignore_index));
    target = kn_where(ignored, kn_zeros_like(target), target);
    kn_tensor q = kn_mul_scalar(kn_one_hot(target, classes, (kn_dtype)dtype), 1 - a->smoothing);
    kn_tensor spread = kni_number(x, a->smoothing / (double)classes);
    bool weighted = l->n_in > 4 && l->in[4].bits;
    /* one_hot has the classes last: [batch, ..., classes]. */
    kn_tensor weight = weighted ? kn_keep(kni_widen(l->in[4])) : KN_NONE;
    if (weighted) q = kn_mul(q, weight);
    q = kn_add(q, weighted ? kn_mul(weight, spread) : spread);
    kn_tensor blank = kn_unsqueeze(ignored, -1);
    q = kn_keep(q);
    q = kn_where(blank, kn_zeros_like(q), q);
    if (axis == 1) q = kn_movedim(q, KN_AXES(-1), KN_AXES(1));
    q = kn_keep(q);
    bool taped = kni_peek(l->in[1])->node != NULL;
    kn_tensor share =
        taped ? kn_softmax(x, axis) : kn_exp(kn_sub(x, kn_unsqueeze(kni_widen(l->in[3]), axis)));
    kn_tensor inside = kn_sub(kn_mul(share, kn_sum(q, KN_AXES(axis), true)), q);
    kn_tensor dx = kn_mul(kn_unsqueeze(l->in[0], axis), inside);
    l->out[0] = kni_as(dx, kn_dtype_of(l->in[1]));
    return KN_OK;
}

/* Targets that are ignored are no error and do not count. */
BODY(cross_entropy,
     "inside = target < n && target >= 0; "
     "counts = require(inside || target == ignore_index, target) != ignore_index && inside; "
     "m = top(x); lse = m + log(sum(expn(x - m))); w = at(weight, target); one = w * (lse - at(x, target)); "
     "loss = counts ? (smoothing > 0 ? (1 - smoothing) * one + smoothing / n * sum(weight * (lse - x)) : "
     "one) : 0; "
     "share = counts ? w : 0")
OP(cross_entropy,
   .doc = "weight[t] (lse - x[t]) along the classes (axis 1), lse = log(sum(exp(x))), and the weight met",
   .min_in = 2, .max_in = 3, .n_out = 3, .kind = KNI_COMPOSITE, .dtypes = KNI_FLOATS, .tolerance = {8, 1},
   .schema = cross_entropy_schema, .attribute_bytes = sizeof(kni_cross_entropy_attributes),
   .in = "x target@line:index weight@place?1", .out = "loss@line lse@line share@line",
   .body = &kni_body_cross_entropy, .line = {KNI_LINE_CLASSES, 0, KNI_PER_LINE, 0},
   .infer = infer_cross_entropy, .native = &kni_cpu_cross_entropy)

BODY(
    cross_entropy_grad,
    "inside = target < n && target >= 0; "
    "counts = require(inside || target == ignore_index, target) != ignore_index && inside; "
    "w = at(weight, target); on = smoothing > 0 ? (1 - smoothing) * w : w; "
    "all = smoothing > 0 ? on + smoothing / n * sum(weight) : on; g = all * expn(x - lse); "
    "h = smoothing > 0 ? g - smoothing / n * weight : g; dx = counts ? dy * (h - (k == target ? on : 0)) : 0")
OP(cross_entropy_grad, .doc = "dy (softmax(x) sum(q) - q), q the weighted and smoothed target", .min_in = 4,
   .max_in = 5, .n_out = 1, .kind = KNI_COMPOSITE, .dtypes = KNI_FLOATS, .tolerance = {8, 1},
   .schema = cross_entropy_schema, .attribute_bytes = sizeof(kni_cross_entropy_attributes),
   .in = "dy@line x target@line:index lse@line weight@place?1", .out = "dx",
   .body = &kni_body_cross_entropy_grad, .line = {KNI_LINE_CLASSES, 1, KNI_PER_ELEMENT, 0},
   .infer = infer_cross_entropy_grad, .lower = lower_cross_entropy_grad,
   .native = &kni_cpu_cross_entropy_grad)

GRADIENT(cross_entropy)
{
    if (!kni_vjp_needs(v, 0)) return KN_OK;
    kn_tensor x = kni_vjp_in(v, 0);
    if (v->dy[0].bits) {
        kn_tensor in[5] = {v->dy[0], x, kni_vjp_in(v, 1), kni_vjp_out(v, 1), KN_NONE};
        if (v->n_in > 2 && v->in_types[2].dtype) in[4] = kni_vjp_in(v, 2);
        kni_vjp_set(v, 0, kni_apply(&kni_op_cross_entropy_grad, in, 5, v->attributes));
    }
    if (v->dy[1].bits) {
        int axis = class_axis(v->in_types[0].rank);
        kni_vjp_set(v, 0, kn_mul(kn_softmax(x, axis), kn_unsqueeze(v->dy[1], axis)));
    }
    return KN_OK;
}

kn_tensor kni_loss_reduce(kn_tensor loss, kn_reduction reduction, int dtype)
{
    if ((unsigned)reduction > KN_REDUCTION_NONE) {
        kni_fail(KN_ERROR_ARGUMENT, "there is no reduction %d: KN_REDUCTION_MEAN, _SUM or _NONE",
                 (int)reduction);
        return kni_poison_latest();
    }
    if (reduction == KN_REDUCTION_MEAN)
        loss = kn_mean(loss, KN_AXES_ALL, false);
    else if (reduction == KN_REDUCTION_SUM)
        loss = kn_sum(loss, KN_AXES_ALL, false);
    return kni_as(loss, dtype);
}

/* Against probabilities: -sum w p log_softmax(x); the mean is over positions. */
static kn_tensor against_probabilities(kn_tensor x, kn_tensor target, const kn_cross_entropy_args *a,
                                       int dtype)
{
    int rank = kn_rank(x), axis = class_axis(rank);
    double classes = (double)kn_size(x, axis);
    kn_tensor logp = kn_log_softmax(kni_widen(x), axis);
    target = kni_widen(target);
    if (a->label_smoothing > 0)
        target = kn_add_scalar(kn_mul_scalar(target, 1 - a->label_smoothing), a->label_smoothing / classes);
    if (a->weight.bits) target = kn_mul(target, axis ? kni_along_channels(a->weight, rank) : a->weight);
    kn_tensor loss = kn_neg(kn_sum(kn_mul(logp, target), KN_AXES(axis), false));
    return kni_loss_reduce(loss, a->reduction, dtype);
}

static kn_cross_entropy_args defaults(const kn_cross_entropy_args *args)
{
    kn_cross_entropy_args a = args ? *args : (kn_cross_entropy_args){0};
    a.ignore_index = kn_int_or(a.ignore_index, -100);
    a.label_smoothing = kn_real_or(a.label_smoothing, 0);
    return a;
}

/* KN_NONE, or the answer of the call when weight is not [classes] for x. */
static kn_tensor wrong_weight(kni_call call, kn_tensor weight, const kni_type *x)
{
    const kni_tensor *w = kni_peek(weight);
    if (!w) return KN_NONE; /* there is none, or the op that reads it tells why */
    if (w->type.rank == 1 && kni_dims_agree(w->type.dims[0], x->dims[class_axis(x->rank)])) return KN_NONE;
    return kni_call_fail(call, KN_ERROR_SHAPE, "weight %S must have one element for each class of x %S",
                         &w->type, x);
}

kn_tensor kn_cross_entropy(kn_tensor logits, kn_tensor target, const kn_cross_entropy_args *args)
{
    kni_call call = kni_call_begin("cross_entropy");
    kn_cross_entropy_args a = defaults(args);
    const kni_tensor *x = kni_peek(logits), *t = kni_peek(target);
    if (x && t && kn_dtype_is_float((kn_dtype)t->type.dtype)) {
        if (!kn_dtype_is_float((kn_dtype)x->type.dtype))
            return kni_call_fail(call, KN_ERROR_DTYPE, "logits must be a float, not %T", (int)x->type.dtype);
        if (x->type.rank < 1 || !kni_same_dims(&x->type, &t->type))
            return kni_call_fail(
                call, KN_ERROR_SHAPE,
                "probabilities %S must have the shape of the logits %S (class indices are integers)",
                &t->type, &x->type);
        if (!(a.label_smoothing >= 0 && a.label_smoothing <= 1))
            return kni_call_fail(call, KN_ERROR_ARGUMENT, "label_smoothing is %g: it must be 0 to 1",
                                 a.label_smoothing);
        kn_tensor bad = wrong_weight(call, a.weight, &x->type);
        if (bad.bits) return bad;
        return kni_call_end(call, against_probabilities(logits, target, &a, kni_loss_dtype(x->type.dtype)));
    }
    int dtype = x ? kni_loss_dtype(x->type.dtype) : KN_F32;
    kni_cross_entropy_attributes attributes = {a.ignore_index, a.label_smoothing};
    kn_tensor in[3] = {logits, target, a.weight}, out[3];
    kni_apply_many(&kni_op_cross_entropy, in, 3, &attributes, out, 3);
    if (a.reduction != KN_REDUCTION_MEAN)
        return kni_call_end(call, kni_loss_reduce(out[0], a.reduction, dtype));
    kn_tensor total = kn_sum(out[2], KN_AXES_ALL, false);
    return kni_call_end(call, kni_as(kn_div(kn_sum(out[0], KN_AXES_ALL, false), total), dtype));
}

kn_tensor kn_cross_entropy_probabilities(kn_tensor logits, kn_tensor probabilities)
{
    kni_call call = kni_call_begin("cross_entropy_probabilities");
    const kni_tensor *x = kni_peek(logits), *t = kni_peek(probabilities);
    if (x && t && (x->type.rank < 2 || !kni_same_dims(&x->type, &t->type)))
        return kni_call_fail(call, KN_ERROR_SHAPE,
                             "logits %S and probabilities %S must have one shape, [batch, classes, ...]",
                             &x->type, &t->type);
    int dtype = kn_ok(logits) ? kni_loss_dtype((int)kn_dtype_of(logits)) : KN_F32;
    kn_tensor logp = kn_log_softmax(kni_widen(logits), 1);
    kn_tensor loss = kn_neg(kn_sum(kn_mul(logp, kni_widen(probabilities)), KN_AXES(1), false));
    return kni_call_end(call, kni_loss_reduce(loss, KN_REDUCTION_MEAN, dtype));
}

kn_tensor kn_nll_loss(kn_tensor x, kn_tensor target, const kn_cross_entropy_args *args)
{
    kni_call call = kni_call_begin("nll_loss");
    kn_cross_entropy_args a = defaults(args);
    const kni_tensor *p = kni_peek(x), *t = kni_peek(target);
    if (!p || !t) return kni_call_end(call, kn_mul(x, target));
    if (a.label_smoothing != 0)
        return kni_call_fail(
            call, KN_ERROR_ARGUMENT,
            "label_smoothing is %g: log probabilities are not smoothed, use kn_cross_entropy()",
            a.label_smoothing);
    int dtype = p->type.dtype, rank = p->type.rank, axis = class_axis(rank);
    if (!kn_dtype_is_float((kn_dtype)dtype) || !(KNI_INTS >> t->type.dtype & 1))
        return kni_call_fail(call, KN_ERROR_DTYPE,
                             "x must be a float and the target an integer, not %T and %T", dtype,
                             (int)t->type.dtype);
    bool fits = rank >= 1 && t->type.rank == rank - 1;
    for (int i = 0, k = 0; fits && i < rank; i++)
        if (i != axis) fits = kni_dims_agree(t->type.dims[k++], p->type.dims[i]);
    if (!fits)
        return kni_call_fail(call, KN_ERROR_SHAPE,
                             "target %S does not fit x %S: give [batch, ...] for [batch, classes, ...]",
                             &t->type, &p->type);
    kn_tensor bad = wrong_weight(call, a.weight, &p->type);
    if (bad.bits) return bad;
    dtype = kni_loss_dtype(dtype);
    x = kn_keep(kni_widen(x));
    target = kn_keep(target);
    kn_tensor ignored = kn_keep(kn_equal_scalar(target, (double)a.ignore_index));
    kn_tensor index = kn_keep(kn_where(ignored, kn_zeros_like(target), target));
    kn_tensor picked = kn_squeeze(kn_gather(x, axis, kn_unsqueeze(index, axis)), axis);
    kn_tensor share =
        a.weight.bits ? kn_index_take(kni_widen(a.weight), 0, index) : kn_ones_like(picked = kn_keep(picked));
    share = kn_keep(share);
    share = kn_keep(kn_where(ignored, kn_zeros_like(share), share));
    kn_tensor loss = kn_keep(kn_neg(kn_mul(picked, share)));
    loss = kn_where(ignored, kn_zeros_like(loss), loss);
    if (a.reduction != KN_REDUCTION_MEAN)
        return kni_call_end(call, kni_loss_reduce(loss, a.reduction, dtype));
    kn_tensor mean = kn_div(kn_sum(loss, KN_AXES_ALL, false), kn_sum(share, KN_AXES_ALL, false));
    return kni_call_end(call, kni_as(mean, dtype));
}
