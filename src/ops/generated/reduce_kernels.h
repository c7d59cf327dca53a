/* Generated from src/ops/kernels/reduce.kn by tools/gen/kernels.py; do not edit. */
#ifndef KNI_REDUCE_KERNELS_H
#define KNI_REDUCE_KERNELS_H

#include "ops/kernel.h"

extern const kni_kernel kni_kernel_reduce_sum;
extern const kni_kernel kni_kernel_reduce_prod;
extern const kni_kernel kni_kernel_reduce_mean;
extern const kni_kernel kni_kernel_reduce_max;
extern const kni_kernel kni_kernel_reduce_min;
extern const kni_kernel kni_kernel_reduce_any;
extern const kni_kernel kni_kernel_reduce_all;
extern const kni_kernel kni_kernel_reduce_argmax;
extern const kni_kernel kni_kernel_reduce_argmin;

#endif
