/* The f32 convolution kernels of one tier; also serves f16 and bf16 operands. */
#include "backend/cpu/tier/conv_tile.h"

const kni_conv_kernels KNI_TIER_FN(kni_conv_f32) = CONV_KERNELS;
