/* What a tier exports to the cross entropy entries. x is a row of `n` logits, or a block of at most
   KNI_NORM_WIDTH columns whose elements are `stride` apart. Internal to loss_*.c and tier/loss_*. */
#ifndef KNI_BACKEND_CPU_LOSS_KERNELS_H
#define KNI_BACKEND_CPU_LOSS_KERNELS_H

#include "backend/cpu/tier.h"
#include <stdint.h>

/* g_k = factor (all exp(x_k - lse) - smooth weight_k - on [k = target]); weight NULL counts as ones. */
typedef struct kni_loss_gradient {
    double factor, all, smooth, on, lse;
    int64_t target; /* -1: ignored, the gradient is zero */
} kni_loss_gradient;

typedef struct kni_loss_kernels {
    /* log sum exp(x) */
    double (*lse_row)(const void *x, int64_t n);
    /* sum weight (lse - x) */
    double (*smooth_row)(const void *x, const void *weight, double lse, int64_t n);
    void (*grad_row)(void *dx, const void *x, const void *weight, const kni_loss_gradient *g, int64_t n);
    void (*lse_columns)(double *lse, const void *x, int64_t n, int64_t width, int64_t stride);
    void (*smooth_columns)(double *sum, const void *x, const void *weight, const double *lse, int64_t n,
                           int64_t width, int64_t stride);
    void (*grad_columns)(void *dx, const void *x, const void *weight, const kni_loss_gradient *g, int64_t n,
                         int64_t width, int64_t stride);
} kni_loss_kernels;

KNI_TIER_DECLARE(extern const kni_loss_kernels, kni_loss_f32, );
KNI_TIER_DECLARE(extern const kni_loss_kernels, kni_loss_f64, );

#endif
