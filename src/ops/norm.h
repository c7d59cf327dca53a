/* What the rows of the norms and the CPU kernels behind them share, and helpers of the composites around them. */
#ifndef KNI_OPS_NORM_H
#define KNI_OPS_NORM_H

#include "ops/infer.h"
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

/* The cotangent (operand 0) is of x's (operand 1) shape and dtype, as a tape gives it: kernels would round one to the other's. */
static inline kn_status kni_infer_cotangent(const kni_infer *c)
{
    const kni_type *dy = c->in[0], *x = c->in[1];
    if (!kni_same_dims(dy, x))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "the gradient %S and x %S differ", dy, x);
    if (dy->dtype == x->dtype) return KN_OK;
    return kni_infer_fail(c, KN_ERROR_DTYPE, "the gradient is %T and x is %T: cast one of them",
                          (int)dy->dtype, (int)x->dtype);
}

#endif
