/* Generated from src/ops/kernels/update.kn by tools/gen/kernels.py; do not edit. */
#ifndef KNI_UPDATE_KERNELS_H
#define KNI_UPDATE_KERNELS_H

#include "ops/kernel.h"

extern const kni_kernel kni_kernel_sgd_update;
extern const kni_kernel kni_kernel_adam_update;
extern const kni_kernel kni_kernel_rmsprop_update;
extern const kni_kernel kni_kernel_adagrad_update;
extern const kni_kernel kni_kernel_adan_update;

#endif
