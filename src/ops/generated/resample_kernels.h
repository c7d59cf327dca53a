/* Generated from src/ops/kernels/resample.kn by tools/gen/kernels.py; do not edit. */
#ifndef KNI_RESAMPLE_KERNELS_H
#define KNI_RESAMPLE_KERNELS_H

#include "ops/kernel.h"

extern const kni_kernel kni_kernel_resample_taps;
extern const kni_kernel kni_kernel_resample;
extern const kni_kernel kni_kernel_resample_grad;

#endif
