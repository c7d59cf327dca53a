/* Kernels of your own: written once, in the subset of C that docs/kernel-language.md describes, run on every device. A
   kernel runs alone (kn_kernel_run) or becomes an op with a gradient (kn_kernel_op). */
#ifndef KN_KERNELS_H
#define KN_KERNELS_H

#include <kn/base.h>
#include <kn/custom_op.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kn_kernel kn_kernel;

/* How a kernel is compiled; NULL or zeros: the defaults. */
typedef struct kn_kernel_options {
    const char *name; /* the kernel of the text to take; NULL: the only one */
    const char *file; /* named in messages; NULL: "kernel" */
    kn_dtype element; /* what T is when no buffer says it; 0: f32, i64 where the text suits integers alone */
} kn_kernel_options;
#define KN_KERNEL_OPTIONS_DEFAULTS KN_ZEROED

/* Checks and compiles the text. NULL on a mistake: kn_last_error() names line and column. The same text with the same
   options is compiled once. */
KN_API kn_kernel *kn_kernel_compile(const char *source, const kn_kernel_options *options);
/* The kernel is not used any more: one call for each kn_kernel_compile. Ops made of it and work that still waits keep
   what they need. */
KN_API void kn_kernel_free(kn_kernel *kernel);

/* Numbers for the kernel's parameters, in the order in which it declares them. */
typedef struct kn_kernel_number {
    double real;   /* of a real, f32 or f64 parameter */
    int64_t whole; /* of any other */
} kn_kernel_number;

typedef struct kn_kernel_run_args {
    int64_t
        items; /* how often it runs, in workgroups where it has them; 0: as often as the first result needs when
                      each item (or invocation of a workgroup) makes one element */
    const kn_kernel_number *numbers; /* as many as the kernel declares, arrays laid out in place */
    int32_t n_numbers;
    const kn_shape *shapes; /* of the `out` buffers; NULL: all like the first operand */
    const kn_dtype *dtypes; /* of the `out` buffers; NULL: T as the first T operand, index i64, real f32 */
    const int64_t *temps;   /* elements of each `temp` buffer */
} kn_kernel_run_args;
#define KN_KERNEL_RUN_ARGS_DEFAULTS KN_ZEROED

/* Runs it on the device of the operands: first those of the `in` buffers, then those that `inout` buffers begin as;
   results are the `inout` and then the `out` buffers, as new tensors. Failures poison the results. Takes temporaries,
   as every op does. args may be NULL. */
KN_API kn_status kn_kernel_run(kn_kernel *kernel, const kn_tensor *in, int32_t n_in,
                               const kn_kernel_run_args *args, kn_tensor *out, int32_t n_out);

/* The same on the CPU in an interpreter that checks every index against its buffer and finds items that write one
   element or read what another writes, reads of what was never written, elements of `out` buffers that nobody writes
   and loops that do not end. Other devices check none of this: run it first. KN_OK when it found nothing; else the
   text names line, column, item and element. The results, on the CPU, are good only with KN_OK. */
KN_API kn_status kn_kernel_debug(kn_kernel *kernel, const kn_tensor *in, int32_t n_in,
                                 const kn_kernel_run_args *args, kn_tensor *out, int32_t n_out);

/* The source that a target gets (kn_kernel_target names them), or "ir" for the kernel in Kiln's own form, for the options'
   element. Returns the length without the closing zero, as snprintf does; -1 with the failure told. */
KN_API int64_t kn_kernel_text(kn_kernel *kernel, const char *target, char *buffer, size_t bytes);
/* The i-th target: "c", "cuda" ...; NULL past the last one. */
KN_API const char *kn_kernel_target(int32_t i);

typedef enum kn_kernel_role {
    KN_KERNEL_IN = 0,
    KN_KERNEL_INOUT = 1,
    KN_KERNEL_OUT = 2,
    KN_KERNEL_TEMP = 3,
    KN_KERNEL_NUMBER = 4
} kn_kernel_role;
/* One parameter. The name lives as long as the process. */
typedef struct kn_kernel_parameter_info {
    const char *name;
    kn_kernel_role role;
    char
        type; /* of a buffer: 'T', 'i' (any integer), 'r' (any float), or '.' for the dtype below; of a number '.' */
    kn_dtype dtype; /* KN_DTYPE_NONE: what the operands say */
    int32_t count;  /* of a number: 0, or the elements of an array */
} kn_kernel_parameter_info;
/* The i-th parameter in the order of the text's buffers, then its numbers; false past the last one, and on failure. */
KN_API bool kn_kernel_parameter(kn_kernel *kernel, int32_t i, kn_kernel_parameter_info *info);

/* ---- a kernel as an op */

/* What a run of an op's kernel needs beside its operands. */
typedef struct kn_kernel_sizes {
    int64_t items;             /* as in kn_kernel_run_args */
    kn_kernel_number *numbers; /* room for as many as the kernel declares; holds the op's own, else zeros */
    int64_t *temps;            /* room for as many as it has `temp` buffers */
} kn_kernel_sizes;

/* Fills the types of the results (they hold the defaults of kn_kernel_run) and the sizes, from the operands' types.
   Returns a status after kn_custom_fail() when they do not fit. */
typedef kn_status (*kn_kernel_prepare)(void *context, const kn_type *in, kn_type *out,
                                       kn_kernel_sizes *sizes);

typedef struct kn_kernel_op_options {
    const char *name; /* unique among all ops */
    kn_kernel *kernel;
    const kn_kernel_number *numbers; /* fixed ones; NULL where there are none or `prepare` fills them */
    int32_t n_numbers;
    kn_kernel_prepare prepare; /* NULL: results like the first operand, items by the first result */
    /* The gradient, at most one of the two. A function is a custom op's (kn/custom_op.h). A kernel is bound by the
       names of its buffers: an `in` buffer called as one of the op's operands or results holds it, one called d_y the
       cotangent of result y, and an `out` buffer called d_x is the gradient of operand x. It gets the op's numbers when
       it declares any, and `prepare_gradient`, with the types of its own operands, may change them. */
    kn_status (*gradient)(void *context, const kn_tensor *in, const kn_tensor *out, const kn_tensor *dy,
                          kn_tensor *grads);
    kn_kernel *gradient_kernel;
    kn_kernel_prepare prepare_gradient;
    void *context; /* passed to each; lives as long as the op is used */
} kn_kernel_op_options;
#define KN_KERNEL_OP_OPTIONS_DEFAULTS KN_ZEROED

/* A registered op, run by kn_custom_call(); NULL with kn_last_error(). Gradients by a kernel cannot be differentiated
   again, those by a function can. */
KN_API kn_op_handle kn_kernel_op(const kn_kernel_op_options *options);

#ifdef __cplusplus
}
#endif
#endif
