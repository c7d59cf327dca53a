/* What the rows of the softmax family and the CPU kernels behind them share. */
#ifndef KNI_OPS_SOFTMAX_H
#define KNI_OPS_SOFTMAX_H

#include "core/type.h"

struct kni_native;

typedef struct kni_softmax_attributes {
    int64_t axis, quiet;
} kni_softmax_attributes;

/* x seen as [outer, axis, inner]. */
typedef struct kni_softmax_view {
    int64_t outer, axis, inner;
} kni_softmax_view;
kni_softmax_view kni_softmax_view_of(const kni_type *x, int64_t axis);

extern const struct kni_native kni_cpu_softmax, kni_cpu_log_softmax, kni_cpu_softmax_grad,
    kni_cpu_log_softmax_grad;

#endif
