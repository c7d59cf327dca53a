/* Generated from src/ops/kernels/scan.kn by tools/gen/kernels.py; do not edit. */
#ifndef KNI_SCAN_KERNELS_H
#define KNI_SCAN_KERNELS_H

#include "ops/kernel.h"

extern const kni_kernel kni_kernel_scan_sum;
extern const kni_kernel kni_kernel_scan_prod;
extern const kni_kernel kni_kernel_scan_max;
extern const kni_kernel kni_kernel_scan_min;
extern const kni_kernel kni_kernel_scan_logsumexp;
extern const kni_kernel kni_kernel_scan_linear;

#endif
