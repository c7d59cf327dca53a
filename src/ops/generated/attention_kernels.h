/* Generated from src/ops/kernels/attention.kn by tools/gen/kernels.py; do not edit. */
#ifndef KNI_ATTENTION_KERNELS_H
#define KNI_ATTENTION_KERNELS_H

#include "ops/kernel.h"

extern const kni_kernel kni_kernel_attention;
extern const kni_kernel kni_kernel_attention_at;

#endif
