/* Generated from src/ops/kernels/signal.kn by tools/gen/kernels.py; do not edit. */
#ifndef KNI_SIGNAL_KERNELS_H
#define KNI_SIGNAL_KERNELS_H

#include "ops/kernel.h"

extern const kni_kernel kni_kernel_fft;

#endif
