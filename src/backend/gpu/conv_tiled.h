/* Convolutions as products whose operands are gathered while they are fetched: what a kernel depends on, its numbers and its places.
   With g groups the batch of the product is the groups; images lie along its columns, or along its terms for the gradient of the
   weight, where parts of the terms may be matrices of the batch too. */
#ifndef KNI_CONV_TILED_H
#define KNI_CONV_TILED_H

#include "backend/gpu/gpu_conv.h"
#include "backend/gpu/product_kernel.h"
#include "ops/conv.h"

/* The kernel's numbers, and its arrays with an entry for each spatial axis. K is of one matrix, TERMS of all its parts. */
enum {
    KNI_CONV_M,
    KNI_CONV_N,
    KNI_CONV_K,
    KNI_CONV_GROUPS,
    KNI_CONV_CHANNELS,
    KNI_CONV_OUTS,
    KNI_CONV_IMAGES,
    KNI_CONV_TAPS,
    KNI_CONV_POSITIONS,
    KNI_CONV_PLANE,
    KNI_CONV_BATCHES,
    KNI_CONV_TERMS,
    KNI_CONV_NUMBERS
};
enum {
    KNI_CONV_X_SIZE,
    KNI_CONV_KERNEL,
    KNI_CONV_Y_SIZE,
    KNI_CONV_STRIDE,
    KNI_CONV_PADDING,
    KNI_CONV_DILATION,
    KNI_CONV_ARRAYS
};

/* Kernels: the product itself, and what mends a library's results. */
enum {
    KNI_CONV_PRODUCT = 'v',
    KNI_CONV_MENDING = 'p',  /* by channels, whose weights are looked at */
    KNI_CONV_ELEMENTS = 'e', /* all results are looked at */
    KNI_CONV_MENDERS = 256   /* invocations of a workgroup of theirs */
};
typedef struct kni_conv_signature {
    char kind;
    uint8_t what, dtype, axes, has_bias, wide, leaves_out;
    uint8_t parted;             /* the terms are cut, and sums are left unrounded */
    uint8_t x_last, y_last;     /* of what is mended: channels lie last in x, in y */
    uint8_t adds, relu, padded; /* likewise: what followed the sum */
    uint8_t transformed;        /* the library made it by way of tiles */
    uint8_t lanes;              /* results that are looked at together */
    uint8_t finishes;           /* what follows the sum is still to be done */
    kni_tiled_shape shape;
} kni_conv_signature;

/* What the places know beside the product. */
typedef struct kni_conv {
    kni_tiled tiled; /* first, so that the product's address is this one's */
    int what, axes;
    bool parted, x_last, y_last;
    uint32_t added; /* binding */
    uint32_t numbers[KNI_CONV_NUMBERS], arrays[KNI_CONV_ARRAYS];
} kni_conv;

/* Declares what both kernels have: operands, results, numbers, places. */
bool kni_conv_declare(kni_conv *c, const kni_conv_signature *s, kni_ir_builder *b, const kni_gpu_tail *tail,
                      const kni_sched_target *target);
kni_ir_id kni_conv_number(kni_tiled *t, int which);
/* high * size + low */
kni_ir_id kni_conv_join(kni_tiled *t, kni_ir_id high, kni_ir_id size, kni_ir_id low);
/* value = *high * size + the result */
kni_ir_id kni_conv_split(kni_tiled *t, kni_ir_id value, kni_ir_id size, kni_ir_id *high);

/* The makers of launches. */
kni_ir *kni_conv_build(const void *key, const kni_gpu_tail *tail, const kni_sched_target *target);
kni_ir *kni_conv_build_mending(const void *key, const kni_gpu_tail *tail, const kni_sched_target *target);
kni_ir *kni_conv_build_elements(const void *key, const kni_gpu_tail *tail, const kni_sched_target *target);

#endif
