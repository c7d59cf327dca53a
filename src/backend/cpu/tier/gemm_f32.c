/* The f32 GEMM kernels of one tier; also serves f16 and bf16 operands. */
#include "backend/cpu/tier/gemm_block.h"

const kni_gemm_kernels KNI_TIER_FN(kni_gemm_f32) = GEMM_KERNELS;
