/* Metrics of the run itself: loss, learning rate, gradient norm, speed. */
#include "support/failure.h"
#include "train/metric_ratio.h"
#include <kn/tensor.h>

static kn_status measure_loss(kni_ratio *r, const kn_step_output *output, const kn_metric_context *context,
                              double *numerator, double *denominator)
{
    if (!output->loss.bits)
        return kni_failure(KN_ERROR_ARGUMENT, "metric %s: the step returned no loss", r->name);
    kn_status status = kni_failure_of(output->loss);
    if (status) return status;
    if (kn_count(output->loss) != 1)
        return kni_failure(KN_ERROR_SHAPE, "metric %s: the loss has %lld elements instead of one", r->name,
                           (long long)kn_count(output->loss));
    *denominator = context->items > 0 ? (double)context->items : 1;
    *numerator = kn_item(output->loss) * *denominator;
    return KN_OK;
}

static kn_status measure_rate(kni_ratio *r, const kn_step_output *output, const kn_metric_context *context,
                              double *numerator, double *denominator)
{
    (void)r;
    (void)output;
    *numerator = context->lr;
    *denominator = 1;
    return KN_OK;
}

static kn_status measure_norm(kni_ratio *r, const kn_step_output *output, const kn_metric_context *context,
                              double *numerator, double *denominator)
{
    (void)r;
    (void)output;
    *numerator = context->grad_norm;
    *denominator = 1;
    return KN_OK;
}

static kn_status measure_speed(kni_ratio *r, const kn_step_output *output, const kn_metric_context *context,
                               double *numerator, double *denominator)
{
    (void)r;
    (void)output;
    *numerator = 1;
    *denominator = context->seconds;
    return KN_OK;
}

static const kni_ratio_kind loss_kind = {.name = "loss", .measure = measure_loss};
static const kni_ratio_kind rate_kind = {.name = "learning_rate", .latest = true, .measure = measure_rate};
static const kni_ratio_kind norm_kind = {
    .name = "grad_norm", .may_be_unknown = true, .measure = measure_norm};
static const kni_ratio_kind speed_kind = {
    .name = "iteration_speed", .higher_is_better = true, .unit = "steps/s", .measure = measure_speed};

kn_metric kn_metric_loss(void) { return kni_ratio_make(&loss_kind, NULL, 0, 0, 0); }
kn_metric kn_metric_learning_rate(void) { return kni_ratio_make(&rate_kind, NULL, 0, 0, 0); }
kn_metric kn_metric_grad_norm(void) { return kni_ratio_make(&norm_kind, NULL, 0, 0, 0); }
kn_metric kn_metric_iteration_speed(void) { return kni_ratio_make(&speed_kind, NULL, 0, 0, 0); }
