/* Binary cross entropy of probabilities, a row because its gradient is not that of its formula near 0 and 1, and of
   logits. */
#include "ops/infer.h"
#include "ops/loss.h"
#include "ops/norm.h"
#include "ops/scalar_row.h"
#include "ops/wide.h"

/* Half types are computed in f32 and rounded once. */
static kn_status lower_binary_cross_entropy(kni_lowering *l)
{
    const kni_tensor *in[2] = {kni_peek(l->in[0]), kni_peek(l->in[1])};
    const kni_type *types[2] = {in[0] ? &in[0]->type : NULL, in[1] ? &in[1]->type : NULL};
    int dtype = kni_promote_types(types, 0, 2);
    /* A bool has no difference, and an integer no logarithm in another dtype than the result's. */
    kn_tensor x = kn_keep(kni_widen(kni_as(l->in[0], dtype))),
              t = kn_keep(kni_widen(kni_as(l->in[1], dtype)));
    kn_tensor on = kn_mul(t, kn_clamp_min(kn_log(x), -100));
    kn_tensor off = kn_mul(kn_rsub_scalar(t, 1), kn_clamp_min(kn_log1p(kn_neg(x)), -100));
    l->out[0] = kni_as(kn_neg(kn_add(on, off)), dtype);
    return KN_OK;
}

BODY(binary_cross_entropy, "y = -(t * max(log(x), -100) + (1 - t) * max(log1p(-x), -100))")
OP(binary_cross_entropy, .doc = "-(t log x + (1 - t) log(1 - x)), logarithms not below -100", .min_in = 2,
   .max_in = 2, .n_out = 1, .kind = KNI_ELEMENTWISE, .rule = KNI_RULE_PROMOTE, .autocast = KNI_AUTOCAST_WIDEN,
   .dtypes = KNI_FLOATS, .flags = KNI_FLAG_WIDE, .wide = &kni_wide, .tolerance = {8, 0},
   .infer = kni_infer_elementwise, .lower = lower_binary_cross_entropy, .in = "x t",
   .body = &kni_body_binary_cross_entropy)

/* By x: (x - t) / max(x (1 - x), 1e-12), finite also at 0 and 1. By t: log(1 - x) - log x. */
GRADIENT(binary_cross_entropy)
{
    kn_tensor x = kni_vjp_in(v, 0), dy = v->dy[0];
    if (kni_vjp_needs(v, 0)) {
        kn_tensor divisor = kn_clamp_min(kn_mul(x, kn_rsub_scalar(x, 1)), 1e-12);
        kni_vjp_set(v, 0, kn_div(kn_mul(dy, kn_sub(x, kni_vjp_in(v, 1))), divisor));
    }
    if (kni_vjp_needs(v, 1)) {
        kn_tensor off = kn_clamp_min(kn_log1p(kn_neg(x)), -100), on = kn_clamp_min(kn_log(x), -100);
        kni_vjp_set(v, 1, kn_mul(dy, kn_sub(off, on)));
    }
    return KN_OK;
}

static kn_tensor finish(kni_call call, kn_tensor loss, const kn_binary_cross_entropy_args *a, int dtype)
{
    if (a->weight.bits) loss = kn_mul(loss, a->weight);
    return kni_call_end(call, kni_loss_reduce(loss, a->reduction, dtype));
}

/* KN_NONE, or the answer of the call when x and target differ in shape: broadcasting them is a mistake, as in PyTorch. */
static kn_tensor wrong_target(kni_call call, kn_tensor x, kn_tensor target)
{
    const kni_tensor *a = kni_peek(x), *t = kni_peek(target);
    if (!a || !t || kni_same_dims(&a->type, &t->type)) return KN_NONE;
    return kni_call_fail(call, KN_ERROR_SHAPE, "the target %S must have the shape of x %S", &t->type,
                         &a->type);
}

kn_tensor kn_binary_cross_entropy(kn_tensor x, kn_tensor target, const kn_binary_cross_entropy_args *args)
{
    kni_call call = kni_call_begin("binary_cross_entropy");
    kn_binary_cross_entropy_args a = args ? *args : (kn_binary_cross_entropy_args){0};
    if (a.pos_weight.bits)
        return kni_call_fail(call, KN_ERROR_ARGUMENT,
                             "pos_weight is for logits: use kn_binary_cross_entropy_with_logits()");
    int dtype;
    kn_tensor failed = wrong_target(call, x, target);
    if (failed.bits || !kni_loss_begin(call, &x, &target, &dtype, &failed)) return failed;
    return finish(call, kni_binary(&kni_op_binary_cross_entropy, x, target), &a, dtype);
}

kn_tensor kn_binary_cross_entropy_with_logits(kn_tensor x, kn_tensor target,
                                              const kn_binary_cross_entropy_args *args)
{
    kni_call call = kni_call_begin("binary_cross_entropy_with_logits");
    kn_binary_cross_entropy_args a = args ? *args : (kn_binary_cross_entropy_args){0};
    int dtype;
    kn_tensor failed = wrong_target(call, x, target);
    if (failed.bits || !kni_loss_begin(call, &x, &target, &dtype, &failed)) return failed;
    kn_tensor soft = kn_neg(kn_log_sigmoid(x));
    if (a.pos_weight.bits) {
        kn_tensor extra = kn_sub_scalar(kni_widen(a.pos_weight), 1);
        soft = kn_mul(soft, kn_add_scalar(kn_mul(extra, target), 1));
    }
    return finish(call, kn_add(kn_mul(kn_rsub_scalar(target, 1), x), soft), &a, dtype);
}
