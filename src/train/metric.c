/* The object of a metric: a table of functions, what they work on and the value of the updates so far. */
#include "support/failure.h"
#include "train/metric_ratio.h"
#include <kn/autodiff.h>
#include <kn/tensor.h>
#include <stdlib.h>

struct kn_metric_object {
    const kn_metric_type *type;
    void *self;
    double mean;
};

static double none(void) { return (double)__builtin_nan(""); }

kn_metric kn_metric_make(const kn_metric_type *type, void *self)
{
    bool whole = type && type->name && type->update;
    kn_metric m = whole ? malloc(sizeof *m) : NULL;
    if (m) {
        *m = (struct kn_metric_object){type, self, none()};
        return m;
    }
    if (!whole)
        kni_failure(KN_ERROR_ARGUMENT, "kn_metric_make: a type needs a name and an update");
    else
        kni_failure_memory("kn_metric_make");
    if (type && type->close) type->close(self);
    return NULL;
}

void kn_metric_free(kn_metric metric)
{
    if (!metric) return;
    if (metric->type->close) metric->type->close(metric->self);
    free(metric);
}

const char *kn_metric_name(kn_metric metric) { return metric ? metric->type->name : ""; }

bool kn_metric_higher_is_better(kn_metric metric) { return metric && metric->type->higher_is_better; }

static kn_tensor borrowed(kn_tensor t) { return t.bits ? kn_keep(kn_alias(t)) : t; }

kn_status kn_metric_update(kn_metric metric, const kn_step_output *output, const kn_metric_context *context,
                           double *value, double *mean)
{
    double step_value = none();
    if (!metric || !output)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_metric_update: the metric or the output is NULL");
    static const kn_metric_context no_context;
    if (!context) context = &no_context;
    kn_scope scope = kn_scope_begin();
    kn_no_grad_begin();
    kn_step_output kept = {borrowed(output->loss), borrowed(output->scores), borrowed(output->targets),
                           output->items};
    kn_status status = metric->type->update(metric->self, &kept, context, &step_value, &metric->mean);
    kn_no_grad_end();
    kn_scope_end(scope, KN_NONE);
    if (value) *value = step_value;
    if (mean) *mean = metric->mean;
    return status;
}

void kn_metric_reset(kn_metric metric)
{
    if (!metric) return;
    if (metric->type->reset) metric->type->reset(metric->self);
    metric->mean = none();
}

double kn_metric_value(kn_metric metric)
{
    if (!metric) return none();
    return metric->type->total ? metric->type->total(metric->self) : metric->mean;
}

size_t kn_metric_format(kn_metric metric, double value, char *buffer, size_t n)
{
    if (metric && metric->type->format) return metric->type->format(metric->self, value, buffer, n);
    return kni_metric_text(value, KNI_RATIO_PLAIN, NULL, buffer, n);
}

kn_status kn_metric_save(kn_metric metric, kn_state state, const char *prefix)
{
    kn_status status = kn_state_put_real(state, prefix, "mean", metric->mean);
    if (status || !metric->type->save) return status;
    return metric->type->save(metric->self, state, prefix);
}

kn_status kn_metric_load(kn_metric metric, kn_state state, const char *prefix)
{
    double mean;
    if (!kn_state_get_real(state, prefix, "mean", &mean))
        return kni_failure(KN_ERROR_ARGUMENT, "kn_metric_load: the state has no metric under '%s'", prefix);
    kn_metric_reset(metric);
    kn_status status = metric->type->load ? metric->type->load(metric->self, state, prefix) : KN_OK;
    if (status == KN_OK) metric->mean = mean;
    return status;
}
