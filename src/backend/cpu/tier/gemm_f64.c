/* The f64 GEMM kernels of one tier. */
#define KNI_GEMM_REAL_F64
#include "backend/cpu/tier/gemm_block.h"

const kni_gemm_kernels KNI_TIER_FN(kni_gemm_f64) = GEMM_KERNELS;
