/* Generated from src/ops/kernels/reduce.kn by tools/gen/kernels.py; do not edit. */
#ifndef KNI_REDUCE_KERNELS_H
#define KNI_REDUCE_KERNELS_H

#include "ops/kernel.h"

extern const kni_kernel kni_kernel_reduce_sum;

#endif
