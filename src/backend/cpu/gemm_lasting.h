/* Right sides of products that stay as they are, such as the weights of a model: packed once. */
#ifndef KNI_BACKEND_CPU_GEMM_LASTING_H
#define KNI_BACKEND_CPU_GEMM_LASTING_H

#include "backend/cpu/gemm.h"
#include "core/table.h"

/* Whether a product of so many rows may keep a form of the memory of x. Many rows repay packing in each call, and a form takes as much
   memory again: they keep one of what is lasting alone. Others count as a use. */
bool kni_gemm_keeps_b(kni_tensor *x, int64_t rows);
/* The packed form of b [k, n], which lies in the memory of x: found or made. False where none is kept of it, or without memory: then the
   product reads b as it is. */
bool kni_gemm_lasting_b(kni_gemm_packed *packed, kni_tensor *x, const void *b, kni_gemm_type type, int64_t k,
                        int64_t n, int64_t b_row, int64_t b_col);

#endif
