/* Generated from src/ops/kernels/integer.kn by tools/gen/kernels.py; do not edit. */
#ifndef KNI_INTEGER_KERNELS_H
#define KNI_INTEGER_KERNELS_H

#include "ops/kernel.h"

extern const kni_kernel kni_kernel_matmul_integer;
extern const kni_kernel kni_kernel_conv_integer;
extern const kni_kernel kni_kernel_linear_quantized;

#endif
