/* Generated from src/ops/kernels/window.kn by tools/gen/kernels.py; do not edit. */
#ifndef KNI_WINDOW_KERNELS_H
#define KNI_WINDOW_KERNELS_H

#include "ops/kernel.h"

extern const kni_kernel kni_kernel_max_pool;
extern const kni_kernel kni_kernel_max_pool_values;
extern const kni_kernel kni_kernel_max_pool_grad;
extern const kni_kernel kni_kernel_avg_pool;
extern const kni_kernel kni_kernel_avg_pool_grad;
extern const kni_kernel kni_kernel_adaptive_avg_pool;
extern const kni_kernel kni_kernel_adaptive_avg_pool_grad;
extern const kni_kernel kni_kernel_adaptive_max_pool;
extern const kni_kernel kni_kernel_adaptive_max_pool_grad;
extern const kni_kernel kni_kernel_unfold4d;
extern const kni_kernel kni_kernel_fold4d;
extern const kni_kernel kni_kernel_im2col;
extern const kni_kernel kni_kernel_col2im;

#endif
