/* What a tier exports to the driver of resampling. Internal to resample_drive.c and tier/resample_*. */
#ifndef KNI_BACKEND_CPU_RESAMPLE_PASS_H
#define KNI_BACKEND_CPU_RESAMPLE_PASS_H

#include "backend/cpu/tier.h"
#include <stdint.h>

/* The taps of one axis: those of element o of the result are first[o] .. first[o + 1] - 1. */
typedef struct kni_taps {
    int64_t in, out;
    int64_t width; /* how many all elements have, 0 where they differ */
    const int64_t *first;
    const int32_t *positions;
    const void *weights; /* of the element type */
} kni_taps;

/* Blocks [rows, inner] to blocks [end - begin, inner], elements begin .. end - 1 of the axis. Row 0 of a block is position `shift`. */
typedef struct kni_resample_pass {
    const kni_taps *taps;
    int64_t blocks, rows, shift, inner, begin, end;
} kni_resample_pass;

typedef void kni_resample_fn(const kni_resample_pass *p, const void *from, void *to);
#define KNI_RESAMPLE_DECLARE(name)                                                                           \
    KNI_TIER_DECLARE(void, name, (const kni_resample_pass *p, const void *from, void *to))
KNI_RESAMPLE_DECLARE(kni_resample_f32);
KNI_RESAMPLE_DECLARE(kni_resample_f64);

#endif
