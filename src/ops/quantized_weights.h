/* What the row linear_quantized and the CPU's native share. */
#ifndef KNI_OPS_QUANTIZED_WEIGHTS_H
#define KNI_OPS_QUANTIZED_WEIGHTS_H

#include "ops/op.h"

enum {
    KNI_WEIGHTS_X,
    KNI_WEIGHTS_W,
    KNI_WEIGHTS_SCALE,
    KNI_WEIGHTS_ZERO,
    KNI_WEIGHTS_BIAS,
    KNI_WEIGHTS_OPERANDS
};

/* block: how many neighbours of a row have one scale; 0: all of them. bits: 2 or 4 where bytes of u8 hold several weights; 0: 8. */
typedef struct kni_weights_attributes {
    int64_t block, bits;
} kni_weights_attributes;

#endif
