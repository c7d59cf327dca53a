/* Metrics: numbers that tell how well a model does, updated from what a step returns. */
#ifndef KN_TRAIN_METRIC_H
#define KN_TRAIN_METRIC_H

#include <kn/base.h>
#include <kn/state.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a train or valid step hands back; all tensors are temporaries or kept, and KN_NONE where the step has none. */
typedef struct kn_step_output {
    kn_tensor loss;    /* a mean over the batch, one element */
    kn_tensor scores;  /* predictions: class scores [batch, classes], values ... */
    kn_tensor targets; /* what they should be */
    int64_t items;     /* samples in the batch; 0: size of axis 0 of scores, or the loader's batch */
} kn_step_output;

/* What else a metric may look at. */
typedef struct kn_metric_context {
    double lr;
    double seconds; /* of this step */
    int64_t step, epoch, items;
    double grad_norm; /* NaN where it was not computed */
} kn_metric_context;

typedef struct kn_metric_object *kn_metric;

/* A metric of your own. */
typedef struct kn_metric_type {
    const char *name;
    bool higher_is_better;
    /* Adds a step; value and mean of the epoch so far go to *value and *mean. */
    kn_status (*update)(void *self, const kn_step_output *output, const kn_metric_context *context,
                        double *value, double *mean);
    void (*reset)(void *self); /* at the start of each epoch and split */
    /* The text of a value; NULL: four digits. */
    size_t (*format)(void *self, double value, char *buffer, size_t n);
    void (*close)(void *self);
} kn_metric_type;
KN_API kn_metric kn_metric_make(const kn_metric_type *type, void *self);
KN_API void kn_metric_free(kn_metric metric);
KN_API const char *kn_metric_name(kn_metric metric);
KN_API bool kn_metric_higher_is_better(kn_metric metric);
KN_API KN_MUST_CHECK kn_status kn_metric_update(kn_metric metric, const kn_step_output *output,
                                                const kn_metric_context *context, double *value,
                                                double *mean);
KN_API void kn_metric_reset(kn_metric metric);
/* The value of all updates since the reset. */
KN_API double kn_metric_value(kn_metric metric);

#ifdef __cplusplus
}
#endif
#endif
