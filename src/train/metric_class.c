/* Metrics of classification that count hits: accuracy, top-k accuracy, Hamming score, perplexity. */
#include "support/failure.h"
#include "support/scalar_math.h"
#include "train/metric_ratio.h"
#include "train/metric_scores.h"
#include <kn/elementwise.h>
#include <kn/indexing.h>
#include <kn/reduce.h>
#include <kn/shape.h>
#include <kn/sort.h>
#include <kn/tensor.h>
#include <stdio.h>

enum { NO_TARGET = -1 };

/* The number of true elements. */
static double count_true(kn_tensor t) { return (double)kn_item_int(kn_count_nonzero(t, KN_AXES_ALL, false)); }

/* Counts hits where the target is not the one to ignore. */
static kn_status count_hits(kn_tensor hits, const kni_classes *c, int64_t ignore, double *numerator,
                            double *denominator)
{
    *denominator = (double)kn_count(c->targets);
    if (ignore != NO_TARGET) {
        kn_tensor counts = kn_keep(kn_not_equal_scalar(c->targets, (double)ignore));
        *denominator = count_true(counts);
        hits = kn_logical_and(hits, counts);
    }
    kn_status status = kni_failure_of(hits);
    if (status == KN_OK) *numerator = count_true(hits);
    return status;
}

static kn_tensor decided(kn_tensor scores, double threshold)
{
    return kn_cast(kn_greater_scalar(scores, threshold), KN_I64);
}

/* integers[0]: the target to ignore; integers[1]: how many of the best count. */
static kn_status measure_accuracy(kni_ratio *r, const kn_step_output *output,
                                  const kn_metric_context *context, double *numerator, double *denominator)
{
    (void)context;
    kni_classes c;
    int64_t k = r->integers[1];
    kn_status status = kni_classes_of(output, r->name, &c);
    if (status) return status;
    kn_tensor hits;
    if (c.labelled)
        hits = kn_equal(decided(c.scores, 0.5), c.targets);
    else if (k == 1)
        hits = kn_equal(kn_argmax(c.scores, 1, false), c.targets);
    else {
        kn_tensor best = kn_argtopk(c.scores, k < c.count ? k : c.count, 1, NULL);
        hits = kn_any(kn_equal(best, kn_unsqueeze(c.targets, 1)), KN_AXES(1), false);
    }
    return count_hits(hits, &c, r->integers[0], numerator, denominator);
}

static kn_status measure_hamming(kni_ratio *r, const kn_step_output *output, const kn_metric_context *context,
                                 double *numerator, double *denominator)
{
    (void)context;
    kni_classes c;
    kn_status status = kni_classes_of(output, r->name, &c);
    if (status) return status;
    if (!c.labelled)
        return kni_failure(KN_ERROR_SHAPE,
                           "metric %s: targets want the shape of scores, 0 or 1 for each class", r->name);
    return count_hits(kn_equal(decided(c.scores, r->real), c.targets), &c, NO_TARGET, numerator, denominator);
}

/* numerator: the sum of -log softmax(scores)[target]. */
static kn_status measure_perplexity(kni_ratio *r, const kn_step_output *output,
                                    const kn_metric_context *context, double *numerator, double *denominator)
{
    (void)context;
    kni_classes c;
    kn_status status = kni_classes_of(output, r->name, &c);
    if (status) return status;
    if (c.labelled) return kni_failure(KN_ERROR_SHAPE, "metric %s: scores have no axis of classes", r->name);
    kn_tensor scores = kn_keep(kn_cast(c.scores, KN_F64));
    kn_tensor counts = kn_keep(kn_not_equal_scalar(c.targets, (double)r->integers[0]));
    if (r->integers[0] == NO_TARGET) counts = kn_keep(kn_greater_equal_scalar(c.targets, 0));
    kn_tensor safe = kn_mask_fill(c.targets, kn_logical_not(counts), 0);
    kn_tensor chosen = kn_squeeze(kn_gather(scores, 1, kn_unsqueeze(safe, 1)), 1);
    kn_tensor losses = kn_sub(kn_logsumexp(scores, KN_AXES(1), false), chosen);
    kn_tensor sum = kn_keep(kn_sum(kn_mask_fill(losses, kn_logical_not(counts), 0), KN_AXES_ALL, false));
    if ((status = kni_failure_of(sum))) return status;
    *numerator = kn_item(sum);
    *denominator = count_true(counts);
    return KN_OK;
}

static const kni_ratio_kind accuracy_kind = {
    .name = "accuracy", .higher_is_better = true, .text = KNI_RATIO_PERCENT, .measure = measure_accuracy};
static const kni_ratio_kind hamming_kind = {
    .name = "hamming", .higher_is_better = true, .text = KNI_RATIO_PERCENT, .measure = measure_hamming};
static const kni_ratio_kind perplexity_kind = {
    .name = "perplexity", .measure = measure_perplexity, .finish = kni_exp};

kn_metric kn_metric_accuracy(int64_t ignore) { return kni_ratio_make(&accuracy_kind, NULL, 0, ignore, 1); }

kn_metric kn_metric_top_k_accuracy(int32_t k, int64_t ignore)
{
    char name[48];
    if (k < 1) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_metric_top_k_accuracy: k is %d; at least 1", (int)k);
        return NULL;
    }
    snprintf(name, sizeof name, "top_%d_accuracy", (int)k);
    return kni_ratio_make(&accuracy_kind, name, 0, ignore, k);
}

kn_metric kn_metric_hamming(double threshold)
{
    double at = kn_real_or(threshold, 0.5);
    return kni_ratio_make(&hamming_kind, NULL, at, 0, 0);
}

kn_metric kn_metric_perplexity(int64_t ignore)
{
    return kni_ratio_make(&perplexity_kind, NULL, 0, ignore, 0);
}
