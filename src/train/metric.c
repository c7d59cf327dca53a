/* The object of a metric: a table of functions, what they work on and the value of the updates so far. */
#include "core/objects.h"
#include "support/argument.h"
#include "support/failure.h"
#include "train/metric_ratio.h"
#include <kn/autodiff.h>
#include <kn/tensor.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct kni_metric {
    const kn_metric_type *type;
    void *self;
    double mean;
} kni_metric;

static double none(void) { return (double)__builtin_nan(""); }

static void destroy_metric(void *object)
{
    kni_metric *m = object;
    if (m->type->close) m->type->close(m->self);
    free(m);
}

const kni_object_kind kni_kind_metric = {"kn_metric", "metric", "freed", destroy_metric};

kn_metric kn_metric_make(const kn_metric_type *type, void *self)
{
    bool whole = type && type->name && type->update;
    kni_metric *m = whole ? malloc(sizeof *m) : NULL;
    if (m) {
        *m = (kni_metric){type, self, none()};
        return kni_object_make(&kni_kind_metric, m, __func__);
    }
    if (!whole)
        kni_failure(KN_ERROR_ARGUMENT, "kn_metric_make: a type needs a name and an update");
    else
        kni_failure_memory("kn_metric_make");
    if (type && type->close) type->close(self);
    return NULL;
}

void kn_metric_free(kn_metric metric) { kni_object_free(metric, &kni_kind_metric, __func__); }

const char *kn_metric_name(kn_metric metric)
{
    KNI_USE(metric, m, metric);
    return m ? m->type->name : "";
}

bool kn_metric_higher_is_better(kn_metric metric)
{
    KNI_USE(metric, m, metric);
    return m && m->type->higher_is_better;
}

static kn_status told(const kni_metric *m, kni_failure_mark before, kn_status status)
{
    char who[96];
    snprintf(who, sizeof who, "metric %.80s", m->type->name);
    return kni_failure_since(before, status, who);
}

static kn_tensor borrowed(kn_tensor t) { return t.bits ? kn_keep(kn_alias(t)) : t; }

kn_status kn_metric_update(kn_metric metric, const kn_step_output *output, const kn_metric_context *context,
                           double *value, double *mean)
{
    double step_value = none();
    KNI_USE(metric, m, metric);
    if (!m) return KNI_NO_OBJECT(metric);
    if (!output) return kni_failure(KN_ERROR_ARGUMENT, "kn_metric_update: the output is NULL");
    static const kn_metric_context no_context;
    if (!context) context = &no_context;
    kn_scope scope = kn_scope_begin();
    kn_no_grad_begin();
    kn_step_output kept = {borrowed(output->loss), borrowed(output->scores), borrowed(output->targets),
                           output->items};
    kni_failure_mark before = kni_failure_mark_now();
    kn_status status = m->type->update(m->self, &kept, context, &step_value, &m->mean);
    status = told(m, before, status);
    kn_no_grad_end();
    kn_scope_end(scope, KN_NONE);
    if (value) *value = step_value;
    if (mean) *mean = m->mean;
    return status;
}

static void reset(kni_metric *m)
{
    if (m->type->reset) m->type->reset(m->self);
    m->mean = none();
}

void kn_metric_reset(kn_metric metric)
{
    KNI_USE(metric, m, metric);
    if (m) reset(m);
}

double kn_metric_value(kn_metric metric)
{
    KNI_USE(metric, m, metric);
    if (!m) return none();
    return m->type->total ? m->type->total(m->self) : m->mean;
}

size_t kn_metric_format(kn_metric metric, double value, char *buffer, size_t n)
{
    KNI_USE(metric, m, metric);
    if (n && kni_given(buffer, __func__, "buffer") != KN_OK) return 0;
    if (m && m->type->format) return m->type->format(m->self, value, buffer, n);
    return kni_metric_text(value, KNI_RATIO_PLAIN, NULL, buffer, n);
}

kn_status kn_metric_save(kn_metric metric, kn_state state, const char *prefix)
{
    KNI_USE(metric, m, metric);
    if (!m) return KNI_NO_OBJECT(metric);
    KNI_USE_OTHER(state, there, state);
    if (!there) return KNI_NO_OBJECT(state);
    kn_status status = kn_state_put_real(state, prefix, "mean", m->mean);
    if (status || !m->type->save) return status;
    kni_failure_mark before = kni_failure_mark_now();
    return told(m, before, m->type->save(m->self, state, prefix));
}

kn_status kn_metric_load(kn_metric metric, kn_state state, const char *prefix)
{
    KNI_USE(metric, m, metric);
    if (!m) return KNI_NO_OBJECT(metric);
    KNI_USE_OTHER(state, there, state);
    if (!there) return KNI_NO_OBJECT(state);
    double mean;
    if (!kn_state_get_real(state, prefix, "mean", &mean))
        return kni_failure(KN_ERROR_ARGUMENT, "kn_metric_load: the state has no metric under '%s'",
                           prefix ? prefix : "");
    reset(m);
    kni_failure_mark before = kni_failure_mark_now();
    kn_status status = m->type->load ? told(m, before, m->type->load(m->self, state, prefix)) : KN_OK;
    if (status == KN_OK) m->mean = mean;
    return status;
}
