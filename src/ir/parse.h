/* The front end: kernels written in the subset of C of docs/kernel-language.md become IR. */
#ifndef KNI_IR_PARSE_H
#define KNI_IR_PARSE_H

#include "ir/ir.h"

typedef struct kni_ir_parse_options {
    const char *file;   /* for messages; NULL: "kernel" */
    const char *kernel; /* which kernel of the text; NULL: the only one */
    int element;        /* what T is computed in: KN_F32, F64, I32, I64 or U64 */
    int real;           /* what real is: KN_F64, or KN_F32 where a target has no f64 */
    /* In memory, by buffer in the order of the parameters; 0 (or NULL): as T, index and real are computed. */
    const uint8_t *storage;
} kni_ir_parse_options;

/* NULL with the failure told: "scale.kn:4:17: 'y' is no buffer". Hostile text is an error, never a fault. */
kni_ir *kni_ir_parse(const char *text, size_t bytes, const kni_ir_parse_options *options);

#endif
