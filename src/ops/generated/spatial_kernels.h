/* Generated from src/ops/kernels/spatial.kn by tools/gen/kernels.py; do not edit. */
#ifndef KNI_SPATIAL_KERNELS_H
#define KNI_SPATIAL_KERNELS_H

#include "ops/kernel.h"

extern const kni_kernel kni_kernel_interpolate_taps;
extern const kni_kernel kni_kernel_interpolate;
extern const kni_kernel kni_kernel_interpolate_grad;
extern const kni_kernel kni_kernel_grid_sample;
extern const kni_kernel kni_kernel_grid_sample_grad;
extern const kni_kernel kni_kernel_grid_sample_taps;

#endif
