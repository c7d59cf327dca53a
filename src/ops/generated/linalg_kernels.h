/* Generated from src/ops/kernels/linalg.kn by tools/gen/kernels.py; do not edit. */
#ifndef KNI_LINALG_KERNELS_H
#define KNI_LINALG_KERNELS_H

#include "ops/kernel.h"

extern const kni_kernel kni_kernel_cholesky;
extern const kni_kernel kni_kernel_triangular_solve;
extern const kni_kernel kni_kernel_lu;
extern const kni_kernel kni_kernel_det;
extern const kni_kernel kni_kernel_cofactor;
extern const kni_kernel kni_kernel_qr;
extern const kni_kernel kni_kernel_eigh;
extern const kni_kernel kni_kernel_svd;

#endif
