/* What the rows of the norms and the CPU kernels behind them share, and helpers of the composites around them. */
#ifndef KNI_OPS_NORM_H
#define KNI_OPS_NORM_H

#include "ops/wide.h"

struct kni_native;

typedef struct kni_layer_norm_attributes {
    int64_t n_axes;
    double eps;
} kni_layer_norm_attributes;

typedef struct kni_batch_norm_attributes {
    double eps;
} kni_batch_norm_attributes;

/* x seen as [rows, n]: the last n_axes axes are one. */
typedef struct kni_norm_view {
    int64_t rows, n;
} kni_norm_view;
kni_norm_view kni_norm_view_of(const kni_type *x, int64_t n_axes);

/* x [batch, channels, ...] seen as [outer, channels, inner]. */
typedef struct kni_channel_view {
    int64_t outer, channels, inner;
} kni_channel_view;
kni_channel_view kni_channel_view_of(const kni_type *x);

/* A vector [channels] as [channels, 1, ...], so that it broadcasts along axis 1 of a tensor of `rank`. */
kn_tensor kni_along_channels(kn_tensor vector, int rank);
/* Every axis of a tensor of `rank` but axis 1. */
kn_ints kni_axes_but_channels(int rank);
kn_ints kni_last_axes(int rank, int64_t n);

extern const struct kni_native kni_cpu_layer_norm, kni_cpu_layer_norm_grad, kni_cpu_layer_norm_affine_grad,
    kni_cpu_rms_norm, kni_cpu_rms_norm_grad, kni_cpu_rms_norm_affine_grad, kni_cpu_batch_norm,
    kni_cpu_batch_norm_train, kni_cpu_batch_norm_train_grad;

#endif
