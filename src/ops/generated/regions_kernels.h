/* Generated from src/ops/kernels/regions.kn by tools/gen/kernels.py; do not edit. */
#ifndef KNI_REGIONS_KERNELS_H
#define KNI_REGIONS_KERNELS_H

#include "ops/kernel.h"

extern const kni_kernel kni_kernel_roi_align;
extern const kni_kernel kni_kernel_roi_align_grad;
extern const kni_kernel kni_kernel_roi_align_taps;
extern const kni_kernel kni_kernel_max_roi_pool;
extern const kni_kernel kni_kernel_nms;

#endif
