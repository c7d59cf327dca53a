/* What the entries of softmax and of its gradient share. */
#ifndef KNI_BACKEND_CPU_SOFTMAX_RUN_H
#define KNI_BACKEND_CPU_SOFTMAX_RUN_H

#include "backend/cpu/norm_drive.h"

typedef struct kni_softmax_context {
    const void *kernels; /* kni_softmax_kernels or kni_softmax_grad_kernels */
    int64_t axis;
    bool logarithm, quiet;
} kni_softmax_context;

/* Runs a record of one or two operands with these kernels; NULL kernels: KN_ERROR_UNSUPPORTED. */
kn_status kni_softmax_run(const kn_record *r, const void *kernels, bool logarithm, kni_norm_job job);

#endif
