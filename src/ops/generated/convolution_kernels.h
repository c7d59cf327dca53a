/* Generated from src/ops/kernels/convolution.kn by tools/gen/kernels.py; do not edit. */
#ifndef KNI_CONVOLUTION_KERNELS_H
#define KNI_CONVOLUTION_KERNELS_H

#include "ops/kernel.h"

extern const kni_kernel kni_kernel_conv;
extern const kni_kernel kni_kernel_conv_transpose;
extern const kni_kernel kni_kernel_conv_weight_grad;
extern const kni_kernel kni_kernel_deform_sample;
extern const kni_kernel kni_kernel_deform_sample_grad;

#endif
