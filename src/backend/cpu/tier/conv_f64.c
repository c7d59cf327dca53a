/* The f64 convolution kernels of one tier. */
#define KNI_GEMM_REAL_F64 1
#include "backend/cpu/tier/conv_tile.h"

const kni_conv_kernels KNI_TIER_FN(kni_conv_f64) = CONV_KERNELS;
