/* What a tier exports to the softmax entries. Rows are contiguous; a block of columns has `width` columns (at most
   KNI_SOFTMAX_WIDTH), whose elements along the axis are `stride` apart. Results may be written over operands.
   Internal to softmax_*.c and tier/softmax_*. */
#ifndef KNI_BACKEND_CPU_SOFTMAX_KERNELS_H
#define KNI_BACKEND_CPU_SOFTMAX_KERNELS_H

#include "backend/cpu/tier.h"
#include <stdbool.h>
#include <stdint.h>

enum { KNI_SOFTMAX_WIDTH = 64 };

typedef struct kni_softmax_kernels {
    void (*row)(void *y, const void *x, int64_t n, bool logarithm, bool quiet);
    void (*columns)(void *y, const void *x, int64_t n, int64_t width, int64_t stride, bool logarithm,
                    bool quiet);
} kni_softmax_kernels;

/* Apart, so that a program that only infers links none of them. */
typedef struct kni_softmax_grad_kernels {
    void (*row)(void *dx, const void *dy, const void *y, int64_t n, bool logarithm);
    void (*columns)(void *dx, const void *dy, const void *y, int64_t n, int64_t width, int64_t stride,
                    bool logarithm);
} kni_softmax_grad_kernels;

KNI_TIER_DECLARE(extern const kni_softmax_kernels, kni_softmax_f32, );
KNI_TIER_DECLARE(extern const kni_softmax_kernels, kni_softmax_f64, );
KNI_TIER_DECLARE(extern const kni_softmax_grad_kernels, kni_softmax_grad_f32, );
KNI_TIER_DECLARE(extern const kni_softmax_grad_kernels, kni_softmax_grad_f64, );

#endif
