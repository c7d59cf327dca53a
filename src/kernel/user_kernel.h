/* A user's kernel: its text, how it is called, and the row that runs it. */
#ifndef KNI_USER_KERNEL_H
#define KNI_USER_KERNEL_H

#include "core/objects.h"
#include "core/platform.h"
#include "ir/parse.h"
#include "ir/run.h"
#include "ops/op.h"
#include <kn/kernels.h>

enum { KNI_KERNEL_OPERANDS = 16 /* a host backend's most */ };

/* The text compiled for some dtypes, for the CPU. */
typedef struct kni_kernel_variant kni_kernel_variant;
struct kni_kernel_variant {
    uint8_t element, storage[KNI_IR_MAX_SIGNATURE];
    kni_ir *ir;
    kni_ir_program *program;
    kni_kernel_variant *next;
};

/* Its rows find it by their source. */
typedef struct kni_user_kernel {
    kn_op row, checked; /* the second runs on the CPU with all checks */
    kni_kernel kernel;
    kni_kernel_source source;
    kni_ir_signature signature;
    int n_operands, n_results, n_ints, n_reals;
    char letters[KNI_IR_MAX_SIGNATURE + 1];
    char *text, file[64], name[32];
    kni_mutex lock; /* of the variants */
    kni_kernel_variant *variants;
    struct kni_user_kernel *next; /* of all that were compiled */
    void *handle;                 /* the user's, NULL: none now; under the lock of the list */
    int64_t handles;              /* how often it was given out and not yet freed */
} kni_user_kernel;

/* What a record carries: this, then the numbers of the kernel, each 8 bytes. */
typedef struct kni_kernel_attributes {
    int64_t items; /* 0: by the first result */
    int64_t temps[KNI_MAX_KERNEL_TEMPS];
    int64_t dtypes[KNI_KERNEL_OPERANDS]; /* of results; 0: the default */
    int64_t shaped;                      /* 0: results are like the first operand */
    kn_shape shapes[KNI_KERNEL_OPERANDS];
} kni_kernel_attributes;

static inline const kni_user_kernel *kni_kernel_of_row(const kn_op *row)
{
    return (const kni_user_kernel *)((const char *)row->source - offsetof(kni_user_kernel, source));
}
static inline kn_kernel_number *kni_kernel_numbers(void *attributes)
{
    return (kn_kernel_number *)((char *)attributes + sizeof(kni_kernel_attributes));
}

/* The row's functions. */
kn_status kni_kernel_infer(kni_infer *c);
kn_status kni_kernel_launch(kni_launch *l);
kn_status kni_kernel_run_host(const kn_op *row, const void *attributes, const kni_span *in,
                              const kni_span *out);
kn_status kni_kernel_run_checked(const kn_op *row, const void *attributes, const kni_span *in,
                                 const kni_span *out);

/* kn_kernel_run of a kernel that is known to be good. */
kn_status kni_user_kernel_run(const kni_user_kernel *k, const kn_tensor *in, int32_t n_in,
                              const kn_kernel_run_args *args, kn_tensor *out, int32_t n_out);

/* Fills attributes of row.attribute_bytes, zeroed before; false after a failure. */
bool kni_kernel_fill(const kni_user_kernel *k, const char *function, const kn_kernel_run_args *args,
                     void *attributes);

/* The dtype T has for these operands and results (dtype 0: not known), 0 when no buffer is a T. */
int kni_kernel_element(const kni_user_kernel *k, const int *in_dtypes, const int *out_dtypes);
/* The dtype of result i where nothing else says it. */
int kni_kernel_default_dtype(const kni_user_kernel *k, int result, int element);
/* IR for T computed as for the element; storage by buffer. NULL after a failure. */
kni_ir *kni_kernel_ir(const kni_user_kernel *k, int element, const uint8_t *storage);

#endif
