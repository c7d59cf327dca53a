/* Generated from src/ops/kernels/contraction.kn by tools/gen/kernels.py; do not edit. */
#ifndef KNI_CONTRACTION_KERNELS_H
#define KNI_CONTRACTION_KERNELS_H

#include "ops/kernel.h"

extern const kni_kernel kni_kernel_matmul;
extern const kni_kernel kni_kernel_linear;

#endif
