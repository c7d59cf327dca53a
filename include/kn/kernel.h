/* Kernels of your own: written once, in the subset of C that docs/kernel-language.md describes, run on every device. A
   kernel runs alone (kn_kernel_run) or becomes an op with a gradient (kn_kernel_op). */
#ifndef KN_KERNEL_H
#define KN_KERNEL_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kn_kernel kn_kernel;

/* How a kernel is compiled; NULL or zeros: the defaults. */
typedef struct kn_kernel_options {
    const char *name; /* the kernel of the text to take; NULL: the only one */
    const char *file; /* named in messages; NULL: "kernel" */
    kn_dtype element; /* what T means when no operand says it; 0: by the first T buffer given at run time */
} kn_kernel_options;

/* Checks and compiles the text. NULL on a mistake: kn_last_error() names line and column. */
KN_API kn_kernel *kn_kernel_compile(const char *source, const kn_kernel_options *options);
KN_API void kn_kernel_free(kn_kernel *kernel);

/* Numbers for the kernel's parameters, in the order in which it declares them. */
typedef struct kn_kernel_number {
    double real;   /* of a real parameter */
    int64_t whole; /* of an index parameter */
} kn_kernel_number;

typedef struct kn_kernel_run_args {
    int64_t items;                   /* how often it runs; 0: once for each element of the first result */
    const kn_kernel_number *numbers; /* as many as the kernel declares, arrays laid out in place */
    int32_t n_numbers;
    const kn_shape *shapes; /* of the `out` buffers; NULL: all like the first operand */
    const kn_dtype
        *dtypes; /* of the `out` buffers; NULL: T buffers as the first T operand, index i64, real f32 */
} kn_kernel_run_args;

/* Runs it on the device of the operands: `in` buffers from `in`, `out` buffers as new tensors. Failures poison the
   results. Takes temporaries, as every op does. */
KN_API void kn_kernel_run(kn_kernel *kernel, const kn_tensor *in, int32_t n_in,
                          const kn_kernel_run_args *args, kn_tensor *out, int32_t n_out);

/* The same on the CPU in an interpreter that checks every index against its buffer and finds items that write one
   element or read what another writes. KN_OK when it found nothing; the text names line, column, item and element. */
KN_API kn_status kn_kernel_debug(kn_kernel *kernel, const kn_tensor *in, int32_t n_in,
                                 const kn_kernel_run_args *args, kn_tensor *out, int32_t n_out);

/* The source that a target gets: "c", "cuda", "opencl", or "ir" for the kernel in Kiln's own form. Returns the length
   without the closing zero, as snprintf does; -1 with the failure told. */
KN_API int64_t kn_kernel_text(kn_kernel *kernel, const char *target, char *buffer, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
