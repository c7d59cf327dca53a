/* Losses of samples that have several labels. Half types are computed in f32 and rounded once. */
#include "ops/loss.h"
#include "ops/movement_rows.h"
#include "ops/norm.h"

/* -(t log sigmoid(x) + (1 - t) log sigmoid(-x)), the mean of the classes. */
kn_tensor kn_multilabel_soft_margin_loss(kn_tensor x, kn_tensor target, kn_tensor weight,
                                         kn_reduction reduction)
{
    kni_call call = kni_call_begin("multilabel_soft_margin_loss");
    int dtype;
    kn_tensor failed;
    if (!kni_loss_begin(call, &x, &target, &dtype, &failed)) return failed;
    const kni_type *a = kni_type_of(x), *b = kni_type_of(target);
    if (!a || !b) return kni_call_end(call, kn_sub(x, target)); /* which tells what is wrong with them */
    if (a->rank < 1 || !kni_same_dims(a, b))
        return kni_call_fail(call, KN_ERROR_SHAPE,
                             "x and target must be [..., classes] of one shape: x %S, target %S", a, b);
    kn_tensor yes = kn_mul(target, kn_log_sigmoid(x));
    kn_tensor no = kn_mul(kn_rsub_scalar(target, 1), kn_log_sigmoid(kn_neg(x)));
    kn_tensor loss = kn_neg(kn_add(yes, no));
    if (weight.bits) loss = kn_mul(loss, kni_widen(weight));
    return kni_call_end(call, kni_loss_reduce(kn_mean(loss, KN_AXES(-1), false), reduction, dtype));
}

/* The labels in front of the first negative one: bool, the shape of target. */
static kn_tensor labels_that_count(kn_tensor target)
{
    return kn_cast(kn_cumprod(kn_cast(kn_greater_equal_scalar(target, 0), KN_I64), -1), KN_BOOL);
}

/* sum over labels t and over classes c that are no label of max(0, 1 - x[t] + x[c]) / classes, for each sample. */
static kn_tensor margins(kn_tensor x, kn_tensor target, int64_t classes)
{
    kn_tensor counts = kn_keep(labels_that_count(target));
    kn_tensor labels = kn_keep(kn_where(counts, target, kni_number(target, 0)));
    kn_tensor own = kn_keep(kn_unsqueeze(kn_gather(x, -1, labels), -1));
    if (!kn_ok(own)) return own; /* a label is no class: told once */
    kn_tensor is_label = kn_cast(
        kn_scatter(kn_zeros_like(target), -1, labels, kn_cast(counts, KN_I64), KN_UPDATE_MAX), KN_BOOL);
    kn_tensor gaps = kn_relu(kn_add_scalar(kn_sub(kn_unsqueeze(x, -2), own), 1));
    kn_tensor taken = kn_logical_and(kn_unsqueeze(counts, -1), kn_logical_not(kn_unsqueeze(is_label, -2)));
    gaps = kn_where(taken, gaps, kni_number(x, 0));
    return kn_div_scalar(kn_sum(gaps, KN_AXES(-2, -1), false), (double)classes);
}

kn_tensor kn_multilabel_margin_loss(kn_tensor x, kn_tensor target, kn_reduction reduction)
{
    kni_call call = kni_call_begin("multilabel_margin_loss");
    const kni_type *a = kni_type_of(x), *b = kni_type_of(target);
    if (!a || !b) return kni_call_end(call, kn_add(x, target));
    if (!kn_dtype_is_float((kn_dtype)a->dtype))
        return kni_call_fail(call, KN_ERROR_DTYPE, "x must be a float, not %T: convert with kn_cast()",
                             (int)a->dtype);
    if (!kn_dtype_is_integer((kn_dtype)b->dtype))
        return kni_call_fail(call, KN_ERROR_DTYPE,
                             "the target holds class indices and must be an integer, not %T: "
                             "kn_multilabel_soft_margin_loss takes truths",
                             (int)b->dtype);
    if (a->rank < 1 || a->rank > 2 || !kni_same_dims(a, b))
        return kni_call_fail(
            call, KN_ERROR_SHAPE,
            "x and target must be [batch, classes] or [classes] of one shape: x %S, target %S", a, b);
    int dtype = kni_loss_dtype(a->dtype);
    int64_t classes = a->dims[a->rank - 1];
    x = kn_keep(kni_widen(x));
    target = kn_keep(kni_as(target, KN_I64));
    kn_tensor loss = classes ? margins(x, target, classes) : kn_sum(x, KN_AXES(-1), false);
    return kni_call_end(call, kni_loss_reduce(loss, reduction, dtype));
}
