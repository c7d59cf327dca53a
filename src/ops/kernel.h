/* Compiled reference kernels: what the generator makes of the texts in src/ops/kernels. */
#ifndef KNI_KERNEL_H
#define KNI_KERNEL_H

#include <stdint.h>

typedef struct kni_kernel_call {
    const void *const *inputs;
    void *const *outputs, *const *temps;
    const int64_t *ints; /* index parameters in order, arrays laid out in place */
    const double *reals;
    int64_t *error; /* [0] set by report(value), [1] the value */
} kni_kernel_call;

/* Runs the items begin .. end - 1. */
typedef void (*kni_kernel_fn)(const kni_kernel_call *call, int64_t begin, int64_t end);

/* buffers: one letter for each buffer in order in, out, temp: T the element type, i index, r real.
   instances: T = f64, i64, u64; all the same where no buffer is a T. */
typedef struct kni_kernel {
    const char *name, *buffers;
    int n_in, n_out, n_temp;
    kni_kernel_fn instances[3];
} kni_kernel;

#endif
