/* What a tier exports to the pooling entries. Internal to pool_run.c and tier/pool_*. */
#ifndef KNI_BACKEND_CPU_POOL_KERNELS_H
#define KNI_BACKEND_CPU_POOL_KERNELS_H

#include "backend/cpu/tier.h"
#include <stdint.h>

enum { KNI_POOL_STRIP = 2048 /* elements of a row of windows that are worked on at once */ };

/* Planes [sx0, sx1, sx2] pooled to [sy0, sy1, sy2]; absent axes are 1. */
typedef struct kni_pool_plan {
    int64_t sx[3], sy[3], window[3], stride[3], padding[3], end[3], dilation[3];
    int64_t counted, divisor; /* of means, as in the reference kernel */
    const void *columns;      /* of means: how many columns count for each position on the last axis of y */
    int place_bytes;          /* of a position: 2, 4 or 8 */
} kni_pool_plan;

/* Rows begin .. end - 1 of y (sy0 * sy1 of them in a plane); at: positions, for kni_pool_at only. */
typedef void kni_pool_fn(const kni_pool_plan *p, const void *plane, void *y, void *at, int64_t begin,
                         int64_t end);

#define KNI_POOL_DECLARE(name)                                                                               \
    KNI_TIER_DECLARE(                                                                                        \
        void, name,                                                                                          \
        (const kni_pool_plan *p, const void *plane, void *y, void *at, int64_t begin, int64_t end))
KNI_POOL_DECLARE(kni_pool_max_f32);
KNI_POOL_DECLARE(kni_pool_max_f64);
KNI_POOL_DECLARE(kni_pool_mean_f32);
KNI_POOL_DECLARE(kni_pool_mean_f64);
KNI_POOL_DECLARE(kni_pool_at_f32);
KNI_POOL_DECLARE(kni_pool_at_f64);

#endif
