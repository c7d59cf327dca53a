/* Generated from src/ops/kernels/elementwise.kn by tools/gen/kernels.py; do not edit. */
#ifndef KNI_ELEMENTWISE_KERNELS_H
#define KNI_ELEMENTWISE_KERNELS_H

#include "ops/kernel.h"

extern const kni_kernel kni_kernel_elementwise_copy;

#endif
