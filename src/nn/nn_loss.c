/* The losses that are no ops: made of ops, with the reductions of all losses. */
#include "core/dtype.h"
#include "nn/layer.h"
#include "support/failure.h"
#include <kn/activation.h>
#include <kn/contraction.h>
#include <kn/creation.h>
#include <kn/elementwise.h>
#include <kn/indexing.h>
#include <kn/nn/losses.h>
#include <kn/reduce.h>
#include <kn/shape.h>
#include <kn/tensor.h>
#include <string.h>

/* The half types are computed in f32 and rounded once, at the end, to the dtype that comes back here. */
static kn_dtype widen(kn_tensor *x)
{
    kn_dtype dtype = kn_ok(*x) ? kn_dtype_of(*x) : KN_F32;
    if (kni_is_half(dtype)) *x = kn_cast(*x, KN_F32);
    return dtype;
}

static kn_tensor rounded(kn_tensor x, kn_dtype dtype) { return kni_is_half(dtype) ? kn_cast(x, dtype) : x; }

kn_tensor kn_reduce_loss(kn_tensor losses, kn_reduction reduction)
{
    KNI_NAMED_CALL;
    if (reduction == KN_REDUCTION_NONE) return kn_reshape(losses, kn_shape_of_tensor(losses));
    if (reduction == KN_REDUCTION_MEAN) return kn_mean(losses, KN_AXES_ALL, false);
    if (reduction != KN_REDUCTION_SUM && reduction != KN_REDUCTION_BATCH_MEAN)
        return kni_poisoned(KN_ERROR_ARGUMENT, "kn_reduce_loss: there is no reduction %d", (int)reduction);
    int64_t batch = kn_ok(losses) && kn_rank(losses) > 0 ? kn_size(losses, 0) : 1;
    if (reduction == KN_REDUCTION_SUM) return kn_sum(losses, KN_AXES_ALL, false);
    kn_dtype dtype = widen(&losses);
    return rounded(kn_div_scalar(kn_sum(losses, KN_AXES_ALL, false), (double)batch), dtype);
}

/* Broadcasting in a loss is nearly always a mistake, so both must have one shape. KN_NONE when they have. */
static kn_tensor differ(const char *function, kn_tensor x, kn_tensor target)
{
    if (!kn_ok(x) || !kn_ok(target)) return KN_NONE; /* the ops report it */
    kn_shape a = kn_shape_of_tensor(x), b = kn_shape_of_tensor(target);
    bool same = a.rank == b.rank;
    for (int i = 0; same && i < a.rank; i++) same = a.dims[i] == b.dims[i];
    if (same) return KN_NONE;
    return kni_poisoned(
        KN_ERROR_SHAPE,
        "%s: x has rank %d and %lld elements, the target rank %d and %lld; they need one shape", function,
        (int)a.rank, (long long)kn_count(x), (int)b.rank, (long long)kn_count(target));
}

kn_tensor kn_lp_loss(kn_tensor x, kn_tensor target, double p, kn_reduction reduction)
{
    KNI_NAMED_CALL;
    if (!(p > 0))
        return kni_poisoned(KN_ERROR_ARGUMENT, "kn_lp_loss: p is %s; it must be above 0", KNI_NUMBER(p));
    kn_tensor bad = differ("kn_lp_loss", x, target);
    if (bad.bits) return bad;
    kn_scope scope = kn_scope_begin();
    x = kn_keep(x);
    kn_dtype dtype = widen(&x);
    kn_tensor gap = kn_abs(kn_sub(x, target));
    kn_tensor loss = p == 1 ? gap : p == 2 ? kn_square(gap) : kn_pow_scalar(gap, p);
    return kn_scope_end(scope, rounded(kn_reduce_loss(loss, reduction), dtype));
}

kn_tensor kn_soft_margin_loss(kn_tensor x, kn_tensor target, kn_reduction reduction)
{
    KNI_NAMED_CALL;
    kn_tensor bad = differ("kn_soft_margin_loss", x, target);
    if (bad.bits) return bad;
    kn_scope scope = kn_scope_begin();
    x = kn_keep(x);
    kn_dtype dtype = widen(&x);
    kn_tensor loss = kn_reduce_loss(kn_neg(kn_log_sigmoid(kn_mul(x, target))), reduction);
    return kn_scope_end(scope, rounded(loss, dtype));
}

kn_tensor kn_multi_margin_loss(kn_tensor x, kn_tensor target, const kn_multi_margin_args *args)
{
    KNI_NAMED_CALL;
    static const kn_multi_margin_args usual = KN_MULTI_MARGIN_ARGS_DEFAULTS;
    if (!args) args = &usual;
    int32_t rank = kn_ok(x) ? kn_rank(x) : 2;
    if (args->p < 0 || args->p > 2)
        return kni_poisoned(KN_ERROR_ARGUMENT, "kn_multi_margin_loss: p is %d; it must be 1 or 2",
                            (int)args->p);
    if (kn_ok(target) && !kn_dtype_is_integer(kn_dtype_of(target)))
        return kni_poisoned(
            KN_ERROR_DTYPE,
            "kn_multi_margin_loss: the target holds class indices and must be an integer, not %s",
            kn_dtype_name(kn_dtype_of(target)));
    if (kn_ok(x) && !kn_dtype_is_float(kn_dtype_of(x)))
        return kni_poisoned(KN_ERROR_DTYPE, "kn_multi_margin_loss: x must be a float, not %s",
                            kn_dtype_name(kn_dtype_of(x)));
    if (rank < 1 || rank > 2 || (kn_ok(target) && kn_rank(target) != rank - 1))
        return kni_poisoned(KN_ERROR_SHAPE,
                            "kn_multi_margin_loss: x must be [batch, classes] with target [batch], or "
                            "[classes] with a single target; their ranks are %d and %d",
                            (int)rank, (int)kn_rank(target));
    if (rank == 2 && kn_ok(x) && kn_ok(target) && kn_size(target, 0) != kn_size(x, 0))
        return kni_poisoned(
            KN_ERROR_SHAPE,
            "kn_multi_margin_loss: %lld targets for a batch of %lld; there must be one for each",
            (long long)kn_size(target, 0), (long long)kn_size(x, 0));
    int64_t classes = kn_ok(x) ? kn_size(x, -1) : 1;
    if (kn_ok(x) && kn_ok(args->weight) &&
        (kn_rank(args->weight) != 1 || kn_size(args->weight, 0) != classes))
        return kni_poisoned(KN_ERROR_SHAPE, "kn_multi_margin_loss: weight must be [%lld], one for each class",
                            (long long)classes);
    kn_scope scope = kn_scope_begin();
    kn_dtype dtype = widen(&x);
    x = kn_keep(x);
    target = kn_keep(kn_cast(target, KN_I64));
    kn_tensor own = kn_gather(x, -1, kn_unsqueeze(target, -1));
    kn_tensor gaps = kn_relu(kn_add_scalar(kn_sub(x, own), kn_real_or(args->margin, usual.margin)));
    if (args->p == 2) gaps = kn_square(gaps);
    gaps = kn_mask_fill(gaps, kn_one_hot(target, classes, KN_BOOL), 0);
    kn_tensor losses = kn_div_scalar(kn_sum(gaps, KN_AXES(-1), false), (double)classes);
    if (args->weight.bits) losses = kn_mul(losses, kn_index_take(args->weight, 0, target));
    return kn_scope_end(scope, rounded(kn_reduce_loss(losses, args->reduction), dtype));
}

/* Targets that are pad tokens become the index that kn_cross_entropy ignores. */
static kn_tensor without_pads(kn_tensor target, const int64_t *pads, int32_t n)
{
    if (n <= 0) return target;
    kn_tensor t = kn_keep(kn_cast(target, KN_I64)), result = t;
    for (int32_t i = 0; i < n; i++)
        result = kn_mask_fill(result, kn_equal(t, kn_scalar_int(pads[i], KN_I64)), -100);
    return result;
}

kn_tensor kn_cross_entropy_tokens(kn_tensor x, kn_tensor target, const kn_cross_entropy_tokens_args *args)
{
    KNI_NAMED_CALL;
    static const kn_cross_entropy_tokens_args usual = KN_CROSS_ENTROPY_TOKENS_ARGS_DEFAULTS;
    if (!args) args = &usual;
    bool batch_mean = args->reduction == KN_REDUCTION_BATCH_MEAN;
    if (args->n_pad_tokens < 0 || (args->n_pad_tokens > 0 && !args->pad_tokens))
        return kni_poisoned(KN_ERROR_ARGUMENT, "kn_cross_entropy_tokens: n_pad_tokens is %d%s",
                            (int)args->n_pad_tokens,
                            args->n_pad_tokens < 0 ? "; it must be 0 or more" : ", but pad_tokens is NULL");
    if (kn_ok(target) && !kn_dtype_is_integer(kn_dtype_of(target)))
        return kni_poisoned(
            KN_ERROR_DTYPE,
            "kn_cross_entropy_tokens: the target holds class indices and must be an integer, not "
            "%s; kn_cross_entropy takes probabilities",
            kn_dtype_name(kn_dtype_of(target)));
    kn_cross_entropy_args inner = {.weight = args->weight, .label_smoothing = args->smoothing};
    inner.reduction = batch_mean ? KN_REDUCTION_NONE : args->reduction;
    kn_scope scope = kn_scope_begin();
    if (args->probabilities) { /* the softmax of a logarithm only divides by the sum, which is 1 */
        double least = kn_ok(x) ? kn_dtype_limits(kn_dtype_of(x)).smallest_normal : 0;
        x = kn_log(kn_clamp_min(x, least));
    }
    kn_tensor loss = kn_cross_entropy(x, without_pads(target, args->pad_tokens, args->n_pad_tokens), &inner);
    return kn_scope_end(scope, batch_mean ? kn_reduce_loss(loss, args->reduction) : loss);
}

kn_tensor kn_binary_cross_entropy_loss(kn_tensor x, kn_tensor target,
                                       const kn_binary_cross_entropy_loss_args *args)
{
    KNI_NAMED_CALL;
    static const kn_binary_cross_entropy_loss_args usual = KN_BINARY_CROSS_ENTROPY_LOSS_ARGS_DEFAULTS;
    if (!args) args = &usual;
    bool batch_mean = args->reduction == KN_REDUCTION_BATCH_MEAN;
    kn_tensor bad = differ("kn_binary_cross_entropy_loss", x, target);
    if (bad.bits) return bad;
    double smoothing = kn_real_or(args->smoothing, 0);
    if (!(smoothing >= 0 && smoothing <= 1))
        return kni_poisoned(KN_ERROR_ARGUMENT,
                            "kn_binary_cross_entropy_loss: the smoothing %s is outside 0 .. 1",
                            KNI_NUMBER(smoothing));
    kn_scope scope = kn_scope_begin();
    kn_binary_cross_entropy_args inner = {.weight = args->weight, .pos_weight = args->pos_weight};
    inner.reduction = batch_mean ? KN_REDUCTION_NONE : args->reduction;
    kn_tensor t = kn_ok(x) && kn_ok(target) ? kn_cast(target, kn_dtype_of(x)) : target;
    if (smoothing > 0) t = kn_add_scalar(kn_mul_scalar(t, 1 - smoothing), smoothing / 2);
    kn_tensor loss = args->logits ? kn_binary_cross_entropy_with_logits(x, t, &inner)
                                  : kn_binary_cross_entropy(x, t, &inner);
    return kn_scope_end(scope, batch_mean ? kn_reduce_loss(loss, args->reduction) : loss);
}

kn_tensor kn_gram_matrix(kn_tensor x)
{
    KNI_NAMED_CALL;
    if (kn_ok(x) && kn_rank(x) < 3)
        return kni_poisoned(KN_ERROR_SHAPE,
                            "kn_gram_matrix: x has rank %d; it needs [..., channels, height, width]",
                            (int)kn_rank(x));
    double n = kn_ok(x) ? (double)kn_size(x, -1) * (double)kn_size(x, -2) * (double)kn_size(x, -3) : 1;
    kn_scope scope = kn_scope_begin();
    kn_dtype dtype = widen(&x);
    kn_tensor features = kn_keep(kn_flatten(x, -2, -1));
    return kn_scope_end(scope, rounded(kn_div_scalar(kn_matmul(features, kn_t(features)), n), dtype));
}

kn_tensor kn_gram_matrix_loss(kn_tensor x, kn_tensor target, kn_reduction reduction)
{
    KNI_NAMED_CALL;
    kn_scope scope = kn_scope_begin();
    kn_tensor loss = kn_lp_loss(kn_gram_matrix(x), kn_gram_matrix(target), 2, reduction);
    return kn_scope_end(scope, loss);
}

kn_tensor kn_cross_entropy_loss(kn_tensor x, kn_tensor target, const kn_cross_entropy_tokens_args *args)
{
    KNI_NAMED_CALL;
    return kn_cross_entropy_tokens(x, target, args);
}
