/* What the layers share: checking sizes, defaults, and making all params or none. */
#ifndef KNI_NN_LAYER_H
#define KNI_NN_LAYER_H

#include "core/named_call.h"
#include "support/failure.h"
#include <kn/nn/init.h>
#include <kn/nn/module.h>

static inline kn_dtype kni_dtype_or_f32(kn_dtype dtype) { return dtype == KN_DTYPE_NONE ? KN_F32 : dtype; }

/* An error when the value is below 1. */
kn_status kni_layer_positive(const char *function, const char *name, int64_t value);
#define KNI_ANY 1.7976931348623157e308
/* An error when the number is outside low .. high; NaN is. */
kn_status kni_layer_range(const char *function, const char *name, double value, double low, double high);
/* An error when the axis lies beyond what axes can be, which a cast to 32 bits would turn into another axis. */
kn_status kni_layer_axis(const char *function, int64_t axis);
/* Leaves zeros where an init failed, so that dropping or saving the struct follows no garbage. Returns the status. */
kn_status kni_layer_clear(void *place, size_t bytes, kn_status status);
/* The module that was made moves to its place, or on failure its params are dropped and the place is cleared. */
kn_status kni_layer_finish_as(const char *function, kn_module made, void *place, kn_status status);
/* What failed inside an init, such as drawing its weights, fails under the init's name. */
#define kni_layer_finish(...) kni_layer_finish_as(__func__, __VA_ARGS__)

/* Whether a layer is NULL or was never initialised: all of its bytes are 0. */
bool kni_layer_unset(const void *layer, size_t bytes);
/* The error of a forward function: the layer is NULL, was never initialised, or has a param that ended. */
kn_tensor kni_layer_forgotten(const void *layer, const char *name, const kn_module_type *type);

/* A field whose memory holds what it cannot be, such as a handle of nothing, and the module around it. field: NULL for none. */
typedef struct kni_unfit {
    const kn_module_type *type;
    const char *self;
    const kn_field *field;
} kni_unfit;
/* The first such field of the module and of the modules inside its memory: it was never initialised, or a param has ended. The
   handle of a failure fits: what uses it tells the failure. No pointer is followed. */
kni_unfit kni_module_unfit(const kn_module_type *type, const void *self);
/* Whether the field's param has ended, and why. False for memory that was never set. */
enum { KNI_WHY = KNI_FAILURE_TEXT }; /* the one place that cuts is the failure */
bool kni_unfit_ended(const kni_unfit *unfit, char why[KNI_WHY]);
/* Begins a forward function, and returns from it with the error when the layer's init was forgotten. */
#define KNI_NEEDS_INIT(layer, m)                                                                             \
    KNI_NAMED_CALL;                                                                                          \
    if (kni_layer_unset(m, sizeof *(m)) || kni_module_unfit(&layer##_type, m).field)                         \
    return kni_layer_forgotten(m, #layer, &layer##_type)

/* The same for a layer whose zeros mean something. */
#define KNI_NEEDS_SENSE(layer, m)                                                                            \
    KNI_NAMED_CALL;                                                                                          \
    if (!(m) || kni_module_unfit(&layer##_type, m).field) return kni_layer_forgotten(m, #layer, &layer##_type)

/* A param that starts as `initializer` says, or as `fallback` where that is zeroed. */
kn_status kni_layer_param(kn_param *param, const kn_initializer *initializer, kn_initializer fallback,
                          kn_shape shape, kn_dtype dtype, int64_t fan_in);
/* Running averages of a normalisation layer. */
typedef struct kni_running {
    kn_param mean, variance, count;
    double momentum;
    bool cumulative; /* plain means over all batches instead */
} kni_running;
/* The buffers of the averages: zeros, ones and 0. */
kn_status kni_running_make(kn_param *mean, kn_param *variance, kn_param *count, int64_t channels,
                           kn_dtype dtype);
/* Moves them by the statistics of a batch, the variance being the biased one of n elements. No gradient. */
kn_status kni_running_move(const kni_running *r, kn_tensor mean, kn_tensor variance, double n);
/* A buffer full of one value: never trained. */
kn_status kni_layer_buffer(kn_param *param, double value, kn_shape shape, kn_dtype dtype);

#endif
