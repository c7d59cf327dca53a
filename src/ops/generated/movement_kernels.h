/* Generated from src/ops/kernels/movement.kn by tools/gen/kernels.py; do not edit. */
#ifndef KNI_MOVEMENT_KERNELS_H
#define KNI_MOVEMENT_KERNELS_H

#include "ops/kernel.h"

extern const kni_kernel kni_kernel_update_slice;
extern const kni_kernel kni_kernel_slice_at;
extern const kni_kernel kni_kernel_update_at;
extern const kni_kernel kni_kernel_window_grad;
extern const kni_kernel kni_kernel_pad;
extern const kni_kernel kni_kernel_pad_grad;

#endif
