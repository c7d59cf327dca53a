/* Generated from src/ops/kernels/loss.kn by tools/gen/kernels.py; do not edit. */
#ifndef KNI_LOSS_KERNELS_H
#define KNI_LOSS_KERNELS_H

#include "ops/kernel.h"

extern const kni_kernel kni_kernel_ctc_loss;
extern const kni_kernel kni_kernel_ctc_loss_grad;

#endif
