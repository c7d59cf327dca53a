/* Metrics that are a ratio of two sums. */
#include "train/metric_ratio.h"
#include "support/failure.h"
#include <kn/tensor.h>
#include <stdio.h>
#include <stdlib.h>

static double quotient(const kni_ratio *r, double numerator, double denominator)
{
    double ratio = numerator / denominator;
    return r->kind->finish ? r->kind->finish(ratio) : ratio;
}

static kn_status ratio_update(void *self, const kn_step_output *output, const kn_metric_context *context,
                              double *value, double *mean)
{
    kni_ratio *r = self;
    double numerator = 0, denominator = 0;
    kn_status status = r->kind->measure(r, output, context, &numerator, &denominator);
    if (status) return status;
    *value = quotient(r, numerator, denominator);
    bool known = !r->kind->may_be_unknown || (numerator == numerator && denominator == denominator);
    if (known && r->kind->latest) {
        r->numerator = numerator;
        r->denominator = denominator;
    } else if (known) {
        r->numerator += numerator;
        r->denominator += denominator;
    }
    *mean = quotient(r, r->numerator, r->denominator);
    return KN_OK;
}

static void ratio_reset(void *self)
{
    kni_ratio *r = self;
    r->numerator = r->denominator = 0;
}

static kn_status ratio_save(void *self, kn_state state, const char *prefix)
{
    kni_ratio *r = self;
    kn_status status = kn_state_put_real(state, prefix, "numerator", r->numerator);
    return status ? status : kn_state_put_real(state, prefix, "denominator", r->denominator);
}

static kn_status ratio_load(void *self, kn_state state, const char *prefix)
{
    kni_ratio *r = self;
    if (kn_state_get_real(state, prefix, "numerator", &r->numerator) &&
        kn_state_get_real(state, prefix, "denominator", &r->denominator))
        return KN_OK;
    return kni_failure(KN_ERROR_ARGUMENT, "the state has no sums of the metric %s", r->name);
}

static size_t ratio_format(void *self, double value, char *buffer, size_t n)
{
    kni_ratio *r = self;
    return kni_metric_text(value, r->kind->text, r->kind->unit, buffer, n);
}

kn_metric kni_ratio_make(const kni_ratio_kind *kind, const char *name, double real, int64_t first,
                         int64_t second)
{
    kni_ratio *r = calloc(1, sizeof *r);
    if (!r) {
        kni_failure_memory("kn_metric");
        return NULL;
    }
    snprintf(r->name, sizeof r->name, "%s", name ? name : kind->name);
    r->kind = kind;
    r->real = real;
    r->integers[0] = first;
    r->integers[1] = second;
    r->type = (kn_metric_type){.name = r->name,
                               .higher_is_better = kind->higher_is_better,
                               .update = ratio_update,
                               .reset = ratio_reset,
                               .format = ratio_format,
                               .close = free,
                               .save = ratio_save,
                               .load = ratio_load};
    return kn_metric_make(&r->type, r);
}

size_t kni_metric_text(double value, kni_ratio_text text, const char *unit, char *buffer, size_t n)
{
    int length = value != value              ? snprintf(buffer, n, "-")
                 : text == KNI_RATIO_PERCENT ? snprintf(buffer, n, "%.2f %%", 100 * value)
                 : unit                      ? snprintf(buffer, n, "%.4g %s", value, unit)
                                             : snprintf(buffer, n, "%.4g", value);
    return length < 0 ? 0 : (size_t)length;
}

size_t kni_metric_percent(void *self, double value, char *buffer, size_t n)
{
    (void)self;
    return kni_metric_text(value, KNI_RATIO_PERCENT, NULL, buffer, n);
}
