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
    int index; /* what index is: KN_I64 (or 0), or KN_I32 where all whole numbers of a launch fit */
} kni_ir_parse_options;

/* NULL after a failure: "scale.kn:4:17: 'y' is no buffer". Hostile text is an error, never a fault. */
kni_ir *kni_ir_parse(const char *text, size_t bytes, const kni_ir_parse_options *options);

/* ---- what a kernel is called with */

enum { KNI_IR_MAX_SIGNATURE = 64 };
typedef enum kni_ir_role { KNI_IR_IN, KNI_IR_INOUT, KNI_IR_OUT, KNI_IR_TEMP } kni_ir_role;

typedef struct kni_ir_signature {
    char name[32];
    uint32_t workgroup; /* 0: it runs once for each item */
    int n_buffers, n_numbers, by_role[4];
    struct {
        char name[32];
        uint8_t role;
        char letter;   /* T, i (index), r (real), or a dot: the dtype is in the text */
        uint8_t dtype; /* in memory where the letter is a dot, else 0 */
    } buffers[KNI_IR_MAX_SIGNATURE];
    struct {
        char name[32];
        uint8_t dtype;  /* of the param: never BOOL, truths travel as I64 */
        uint32_t count; /* 0: a number; else an array of so many */
    } numbers[KNI_IR_MAX_SIGNATURE];
} kni_ir_signature;

/* Parses the whole text and answers how the kernel is called; false after a failure. */
bool kni_ir_parse_signature(const char *text, size_t bytes, const kni_ir_parse_options *options,
                            kni_ir_signature *signature);

#endif
