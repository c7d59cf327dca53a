/* The operands of quantized_sum and quantized_product, which the CPU's natives read too. */
#ifndef KNI_OPS_QUANTIZED_BYTES_H
#define KNI_OPS_QUANTIZED_BYTES_H

#include "ops/op.h"

enum {
    KNI_BYTES_A,
    KNI_BYTES_A_SCALE,
    KNI_BYTES_A_ZERO,
    KNI_BYTES_B,
    KNI_BYTES_B_SCALE,
    KNI_BYTES_B_ZERO,
    KNI_BYTES_Y_SCALE,
    KNI_BYTES_Y_ZERO,
    KNI_BYTES_OPERANDS
};

#endif
