/* Generated from src/ops/kernels/creation.kn by tools/gen/kernels.py; do not edit. */
#ifndef KNI_CREATION_KERNELS_H
#define KNI_CREATION_KERNELS_H

#include "ops/kernel.h"

extern const kni_kernel kni_kernel_full;
extern const kni_kernel kni_kernel_iota;
extern const kni_kernel kni_kernel_linspace;

#endif
