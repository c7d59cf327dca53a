/* Drives kernels that work along one axis of tensors seen as [outer, axis, inner]: over contiguous rows where inner
   is 1, over blocks of columns elsewhere, on all threads; half types pass through f32. */
#ifndef KNI_BACKEND_CPU_NORM_DRIVE_H
#define KNI_BACKEND_CPU_NORM_DRIVE_H

#include "backend/host/host.h"

enum { KNI_NORM_WIDTH = 64, KNI_NORM_MAX_IN = 3 };

typedef struct kni_norm_job {
    int64_t outer, axis, inner;
    int dtype; /* of in and out in memory, contiguous */
    int n_in;
    const void *in[KNI_NORM_MAX_IN];
    void *out; /* NULL: the kernel writes its results elsewhere */
    void *context;
    /* The row at `position` of outer. */
    void (*row)(void *context, int64_t position, const void *const *in, void *out);
    /* `width` columns from `position` of outer * inner on; elements of a column are `stride` apart. NULL where
       inner is always 1. */
    void (*columns)(void *context, int64_t position, int64_t width, int64_t stride, const void *const *in,
                    void *out);
} kni_norm_job;

/* The type that kernels see: KN_F32 or KN_F64. */
static inline int kni_norm_dtype(int dtype) { return dtype == KN_F64 ? KN_F64 : KN_F32; }

kn_status kni_norm_run(const kni_norm_job *job);

/* kni_parallel_for, or one after the other where the work (in elements) is too small to share. */
void kni_norm_share(int64_t work, int64_t tasks, void (*fn)(void *arg, int64_t task, int worker), void *arg);

#endif
