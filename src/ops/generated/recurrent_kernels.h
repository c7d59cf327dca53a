/* Generated from src/ops/kernels/recurrent.kn by tools/gen/kernels.py; do not edit. */
#ifndef KNI_RECURRENT_KERNELS_H
#define KNI_RECURRENT_KERNELS_H

#include "ops/kernel.h"

extern const kni_kernel kni_kernel_lstm;
extern const kni_kernel kni_kernel_gru;
extern const kni_kernel kni_kernel_rnn;

#endif
