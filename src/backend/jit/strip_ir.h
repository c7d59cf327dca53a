/* A program of strips as a kernel: one loop over the elements of a row, everything that does not change before it, plain
   indices inside it, so that a C compiler makes vectors of it. It does what the strips do, with the same roundings. */
#ifndef KNI_STRIP_IR_H
#define KNI_STRIP_IR_H

#include "backend/cpu/group_strips.h"
#include "ir/ir.h"

/* What a param of the kernel is, in the order of the params. */
typedef enum kni_strip_number_kind {
    KNI_NUMBER_ROW,    /* elements of a row: the innermost axis */
    KNI_NUMBER_BLOCK,  /* how many of them one item takes */
    KNI_NUMBER_BLOCKS, /* items of one row */
    KNI_NUMBER_DIM,    /* size of axis `b` */
    KNI_NUMBER_STRIDE, /* of input `a` along axis `b` */
    KNI_NUMBER_RECORD  /* number `b` of record `a` */
} kni_strip_number_kind;

typedef struct kni_strip_number {
    uint8_t kind, dtype;
    int16_t a, b;
    uint32_t offset; /* in the block of params */
} kni_strip_number;

typedef struct kni_strip_kernel {
    kni_ir *ir; /* bindings: the inputs, then the results; an item is a block of a row */
    int32_t n_numbers;
    kni_strip_number numbers[KNI_IR_MAX_PARAMS];
} kni_strip_kernel;

/* False where it cannot be said in IR, or without memory. */
bool kni_strip_kernel_make(const kni_group *g, const kni_strip_program *p, kni_strip_kernel *kernel);

#endif
