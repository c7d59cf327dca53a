/* Compiled reference kernels: what the generator makes of the texts in src/ops/kernels. */
#ifndef KNI_KERNEL_H
#define KNI_KERNEL_H

#include <stddef.h>
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
   instances: T = f64, i64, u64, NULL where no row takes such; all the same where no buffer is a T. */
typedef struct kni_kernel {
    const char *name, *buffers;
    int n_in, n_out, n_temp;
    kni_kernel_fn instances[3];
} kni_kernel;

/* A kernel whose text is known at run time: a user's. Devices that compile kernels parse it; the CPU interprets it.
   The kni_kernel of its launch has one letter more: a dot where the text says the dtype. Its buffers are `in`, then
   `inout` and `out`, then `temp`; n_in counts the first alone, n_out the two in the middle. An `inout` buffer is a
   result that begins as a copy of an operand: the row's operands are the `in` buffers, then one for each `inout`. */
typedef struct kni_kernel_source {
    const char *text, *file, *name; /* file: for messages; name: which kernel of the text */
    size_t bytes;
    int n_inout;        /* operand n_in + i of the row is copied to result i before the kernel runs */
    int element;        /* what T is where no buffer says it; else the dtype of the first buffer of T */
    uint32_t workgroup; /* not 0: items of the launch are workgroups */
} kni_kernel_source;

/* How report(value) of a user's kernel is told on every device: its name, the value, a place or nothing. */
#define KNI_KERNEL_REPORTED "kernel %s reported %D%s"

#endif
