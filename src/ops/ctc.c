/* Connectionist temporal classification by the forward-backward algorithm. The forward variables are a second
   result of the row, for the gradient. */
#include "core/math/bits.h"
#include "ops/generated/loss_kernels.h"
#include "ops/infer.h"
#include "ops/loss.h"
#include "ops/norm.h"

typedef struct ctc_attributes {
    int64_t blank, zero_infinity, longest; /* longest: labels of one target */
} ctc_attributes;

static const kn_attribute ctc_schema[] = {KNI_ATTR(ctc_attributes, blank, KNI_ATTR_INT, KNI_STATIC),
                                          KNI_ATTR(ctc_attributes, zero_infinity, KNI_ATTR_INT, KNI_STATIC),
                                          KNI_ATTR(ctc_attributes, longest, KNI_ATTR_INT, KNI_STATIC),
                                          {0}};

/* Operands from `first` on: log_probs, targets, input lengths, target lengths. */
static kn_status infer_ctc_operands(const kni_infer *c, int first)
{
    const ctc_attributes *a = c->attributes;
    kn_status s = kni_infer_dtype(c, first, KNI_FLOATS);
    if (s == KN_OK) s = kni_infer_rank(c, first, 3, 3);
    if (s == KN_OK) s = kni_infer_rank(c, first + 1, 1, 2);
    for (int i = 1; i < 4 && s == KN_OK; i++) s = kni_infer_integer(c, first + i);
    for (int i = 2; i < 4 && s == KN_OK; i++) s = kni_infer_rank(c, first + i, 1, 1);
    if (s) return s;
    const kni_type *p = c->in[first], *t = c->in[first + 1];
    for (int i = 2; i < 4; i++)
        if (!kni_dims_agree(c->in[first + i]->dims[0], p->dims[1]))
            return kni_infer_fail(c, KN_ERROR_SHAPE,
                                  "lengths %S must have one element for each of the batch of %S",
                                  c->in[first + i], p);
    if (t->rank == 2 && !kni_dims_agree(t->dims[0], p->dims[1]))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "targets %S must be [batch, longest] for log_probs %S", t,
                              p);
    if (a->blank < 0 || (p->dims[2] >= 0 && a->blank >= p->dims[2]))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "blank is class %D, but log_probs are %S", a->blank, p);
    if (a->longest < 0) return kni_infer_fail(c, KN_ERROR_ARGUMENT, "targets of %D labels", a->longest);
    return KN_OK;
}

static kn_dim places_of(const ctc_attributes *a) { return kni_dim_add(kni_dim_mul(a->longest, 2), 1); }

static kn_status infer_ctc_loss(kni_infer *c)
{
    ctc_attributes *a = c->attributes;
    if (c->in[1]->rank == 2) a->longest = c->in[1]->dims[1];
    kn_status s = infer_ctc_operands(c, 0);
    if (s) return s;
    const kni_type *p = c->in[0];
    uint8_t dtype = (uint8_t)kni_sum_dtype(p->dtype);
    *c->out[0] = (kni_type){.dtype = dtype, .rank = 1, .dims = {p->dims[1]}};
    *c->out[1] = (kni_type){.dtype = dtype, .rank = 3, .dims = {p->dims[1], p->dims[0], places_of(a)}};
    return KN_OK;
}

static kn_status infer_ctc_loss_grad(kni_infer *c)
{
    ctc_attributes *a = c->attributes;
    if (c->in[2]->rank == 2) a->longest = c->in[2]->dims[1];
    kn_status s = infer_ctc_operands(c, 1);
    if (s == KN_OK) s = kni_infer_dtype(c, 0, KNI_FLOATS);
    for (int i = 5; i < 7 && s == KN_OK; i++) s = kni_infer_dtype(c, i, KNI_FLOATS);
    if (s) return s;
    const kni_type *dy = c->in[0], *p = c->in[1], *loss = c->in[5], *alpha = c->in[6];
    bool agrees = dy->rank == 1 && loss->rank == 1 && alpha->rank == 3;
    agrees = agrees && kni_dims_agree(dy->dims[0], p->dims[1]) && kni_dims_agree(loss->dims[0], p->dims[1]) &&
             kni_dims_agree(alpha->dims[0], p->dims[1]) && kni_dims_agree(alpha->dims[1], p->dims[0]) &&
             kni_dims_agree(alpha->dims[2], places_of(a));
    if (!agrees)
        return kni_infer_fail(
            c, KN_ERROR_SHAPE,
            "the gradient %S, loss %S and forward variables %S do not belong to log_probs %S", dy, loss,
            alpha, p);
    *c->out[0] = *c->in[1];
    c->out[0]->weak = 0;
    return KN_OK;
}

static void launch_sizes(kni_launch *l, const kni_type *p, const kni_type *targets)
{
    const ctc_attributes *a = l->attributes;
    l->items = p->dims[1];
    kni_launch_int(l, p->dims[0]);
    kni_launch_int(l, p->dims[1]);
    kni_launch_int(l, p->dims[2]);
    kni_launch_int(l, targets->rank == 2 ? targets->dims[1] : 0);
    kni_launch_int(l, places_of(a));
    kni_launch_int(l, targets->rank == 1);
}

static kn_status launch_ctc_loss(kni_launch *l)
{
    const ctc_attributes *a = l->attributes;
    l->kernel = &kni_kernel_ctc_loss;
    launch_sizes(l, l->in[0], l->in[1]);
    kni_launch_int(l, kni_count(l->in[1]));
    kni_launch_int(l, a->blank);
    return KN_OK;
}

static kn_status launch_ctc_loss_grad(kni_launch *l)
{
    const ctc_attributes *a = l->attributes;
    l->kernel = &kni_kernel_ctc_loss_grad;
    launch_sizes(l, l->in[1], l->in[2]);
    kni_launch_int(l, kni_count(l->in[2]));
    kni_launch_int(l, a->blank);
    kni_launch_int(l, a->zero_infinity);
    l->temps[l->n_temps++] = l->in[1]->dims[1] * 2 * places_of(a);
    return KN_OK;
}

OP(ctc_loss,
   .doc = "-log(sum over alignments of exp(sum of log_probs along them)), and the forward variables",
   .min_in = 4, .max_in = 4, .n_out = 2, .kind = KNI_COMPOSITE, .autocast = KNI_AUTOCAST_WIDEN,
   .dtypes = KNI_FLOATS, .tolerance = {16, 4}, .schema = ctc_schema,
   .attribute_bytes = sizeof(ctc_attributes), .infer = infer_ctc_loss, .launch = launch_ctc_loss)

OP(ctc_loss_grad, .doc = "-dy times the probability of each class at each step", .min_in = 7, .max_in = 7,
   .n_out = 1, .kind = KNI_COMPOSITE, .flags = KNI_FLAG_NOT_DIFFERENTIABLE, .dtypes = KNI_FLOATS,
   .tolerance = {16, 4}, .schema = ctc_schema, .attribute_bytes = sizeof(ctc_attributes),
   .infer = infer_ctc_loss_grad, .launch = launch_ctc_loss_grad)

/* Nothing flows through the forward variables: they are not handed out. */
GRADIENT(ctc_loss)
{
    if (!v->dy[0].bits || !kni_vjp_needs(v, 0)) return KN_OK;
    kn_tensor in[7] = {v->dy[0],         kni_vjp_in(v, 0),  kni_vjp_in(v, 1), kni_vjp_in(v, 2),
                       kni_vjp_in(v, 3), kni_vjp_out(v, 0), kni_vjp_out(v, 1)};
    kni_vjp_set(v, 0, kni_apply(&kni_op_ctc_loss_grad, in, 7, v->attributes));
    return KN_OK;
}

kn_tensor kn_ctc_loss(kn_tensor log_probs, kn_tensor targets, kn_tensor input_lengths,
                      kn_tensor target_lengths, const kn_ctc_args *args)
{
    kni_call call = kni_call_begin("ctc_loss");
    kn_ctc_args a = args ? *args : (kn_ctc_args){0};
    const kni_tensor *p = kni_peek(log_probs), *t = kni_peek(targets);
    ctc_attributes attributes = {a.blank, a.zero_infinity, 0};
    int dtype = p ? p->type.dtype : KN_F32;
    target_lengths = kn_keep(target_lengths);
    /* Packed targets do not tell how long the longest is; reading it waits for the device. */
    if (t && t->type.rank == 1 && kn_ok(target_lengths) && kn_count(target_lengths) > 0) {
        attributes.longest = kn_item_int(kn_max(target_lengths, KN_AXES_ALL, false));
        if (attributes.longest < 0) attributes.longest = 0;
    }
    kn_tensor in[4] = {log_probs, targets, input_lengths, target_lengths}, out[2];
    kni_apply_many(&kni_op_ctc_loss, in, 4, &attributes, out, 2);
    kn_drop(out[1]);
    kn_tensor loss = kn_keep(out[0]);
    if (a.zero_infinity && kn_ok(loss))
        loss = kn_where(kn_equal_scalar(loss, KNI_INF_F64), kn_zeros_like(loss), loss);
    if (a.reduction == KN_REDUCTION_MEAN && kn_ok(loss)) {
        kn_tensor lengths = kn_maximum_scalar(kn_cast(target_lengths, kn_dtype_of(loss)), 1);
        loss = kn_div(loss, lengths);
    }
    return kni_call_end(call, kni_loss_reduce(loss, a.reduction, dtype));
}
