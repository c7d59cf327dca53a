/* Right sides of products that never change, such as the weights of a loaded model: packed once. */
#ifndef KNI_BACKEND_CPU_GEMM_LASTING_H
#define KNI_BACKEND_CPU_GEMM_LASTING_H

#include "backend/cpu/gemm.h"
#include "core/table.h"

/* The packed form of b [k, n], which lies in the memory of x: found or made. False where that is not lasting, or without memory for it: then
   the product reads b as it is. */
bool kni_gemm_lasting_b(kni_gemm_packed *packed, kni_tensor *x, const void *b, kni_gemm_type type, int64_t k,
                        int64_t n, int64_t b_row, int64_t b_col);

#endif
