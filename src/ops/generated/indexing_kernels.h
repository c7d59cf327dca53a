/* Generated from src/ops/kernels/indexing.kn by tools/gen/kernels.py; do not edit. */
#ifndef KNI_INDEXING_KERNELS_H
#define KNI_INDEXING_KERNELS_H

#include "ops/kernel.h"

extern const kni_kernel kni_kernel_take;
extern const kni_kernel kni_kernel_gather;
extern const kni_kernel kni_kernel_gather_nd;
extern const kni_kernel kni_kernel_select_assign;
extern const kni_kernel kni_kernel_scatter;
extern const kni_kernel kni_kernel_scatter_nd;
extern const kni_kernel kni_kernel_nonzero;

#endif
