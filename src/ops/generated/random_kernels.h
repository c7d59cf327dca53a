/* Generated from src/ops/kernels/random.kn by tools/gen/kernels.py; do not edit. */
#ifndef KNI_RANDOM_KERNELS_H
#define KNI_RANDOM_KERNELS_H

#include "ops/kernel.h"

extern const kni_kernel kni_kernel_random_bits;
extern const kni_kernel kni_kernel_random_uniform;
extern const kni_kernel kni_kernel_random_normal;
extern const kni_kernel kni_kernel_random_bernoulli;
extern const kni_kernel kni_kernel_random_integer;
extern const kni_kernel kni_kernel_categorical;

#endif
