/* What a tier exports to the interpolation entries. Internal to interpolate_run.c and tier/interpolate_*. */
#ifndef KNI_BACKEND_CPU_INTERPOLATE_KERNELS_H
#define KNI_BACKEND_CPU_INTERPOLATE_KERNELS_H

#include "backend/cpu/tier.h"
#include <stdbool.h>
#include <stdint.h>

/* Planes [sx0, sx1, sx2] resized to [sy0, sy1, sy2]; for each axis a table of width taps a position. */
typedef struct kni_resize_plan {
    int64_t sx[3], sy[3], width[3];
    const int64_t *positions[3];
    const void *weights[3]; /* of the element type */
    bool ragged[3];         /* some results have fewer taps: their positions end with -1 */
} kni_resize_plan;

/* Lines begin .. end - 1 of y (sy0 * sy1 in a plane); row: room for sx2 elements. */
#define KNI_RESIZE_DECLARE(name)                                                                             \
    KNI_TIER_DECLARE(                                                                                        \
        void, name,                                                                                          \
        (const kni_resize_plan *p, const void *from, void *to, void *row, int64_t begin, int64_t end))
typedef void kni_resize_fn(const kni_resize_plan *p, const void *from, void *to, void *row, int64_t begin,
                           int64_t end);
KNI_RESIZE_DECLARE(kni_resize_f32);
KNI_RESIZE_DECLARE(kni_resize_f64);
/* The transpose: adds lines of dy to a plane of dx, which is zero at first. */
KNI_RESIZE_DECLARE(kni_resize_back_f32);
KNI_RESIZE_DECLARE(kni_resize_back_f64);

#endif
