/* What the CPU's contractions share: gemm types by dtype and the message for no memory. */
#ifndef KNI_BACKEND_CPU_MATMUL_RUN_H
#define KNI_BACKEND_CPU_MATMUL_RUN_H

#include "backend/cpu/gemm.h"
#include "core/reproducible.h"
#include <kn/base.h>

/* The gemm type of a float dtype. */
kni_gemm_type kni_gemm_type_of(int dtype);

/* Fails with the op's message for no memory. */
kn_status kni_gemm_no_memory(const char *op_name);

/* Whether the GEMM of this build takes a float dtype. */
static inline bool kni_gemm_takes(int dtype) { return kni_gemm_has(kni_gemm_type_of(dtype)); }

#endif
