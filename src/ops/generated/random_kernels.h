/* Generated from src/ops/kernels/random.kn by tools/gen/kernels.py; do not edit. */
#ifndef KNI_RANDOM_KERNELS_H
#define KNI_RANDOM_KERNELS_H

#include "ops/kernel.h"

extern const kni_kernel kni_kernel_categorical;

#endif
