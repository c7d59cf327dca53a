/* What a tier exports for integer matrix products. Internal to gemm_int_rows.c and tier/gemm_int.c. */
#ifndef KNI_BACKEND_CPU_GEMM_INT_KERNELS_H
#define KNI_BACKEND_CPU_GEMM_INT_KERNELS_H

#include "backend/cpu/gemm.h"
#include "backend/cpu/tier.h"

typedef void kni_gemm_int_fn(const kni_gemm_int_args *args);

KNI_TIER_DECLARE(void, kni_gemm_rows_i32, (const kni_gemm_int_args *args));
KNI_TIER_DECLARE(void, kni_gemm_rows_i64, (const kni_gemm_int_args *args));

#endif
