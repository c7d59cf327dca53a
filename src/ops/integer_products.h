/* What the rows of integer products and the CPU's natives share. */
#ifndef KNI_OPS_INTEGER_PRODUCTS_H
#define KNI_OPS_INTEGER_PRODUCTS_H

#include "ops/op.h"

/* The operands: a and b, or x and w, then the zero point of each, a bias, and the scale and zero point of the result. */
enum {
    KNI_INTEGER_A,
    KNI_INTEGER_B,
    KNI_INTEGER_A_ZERO,
    KNI_INTEGER_B_ZERO,
    KNI_INTEGER_BIAS,
    KNI_INTEGER_SCALE,
    KNI_INTEGER_Y_ZERO,
    KNI_INTEGER_OPERANDS
};

#endif
