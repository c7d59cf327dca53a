/* Generated from src/ops/kernels/normalise.kn by tools/gen/kernels.py; do not edit. */
#ifndef KNI_NORMALISE_KERNELS_H
#define KNI_NORMALISE_KERNELS_H

#include "ops/kernel.h"

extern const kni_kernel kni_kernel_embedding;
extern const kni_kernel kni_kernel_embedding_grad;
extern const kni_kernel kni_kernel_rope;

#endif
