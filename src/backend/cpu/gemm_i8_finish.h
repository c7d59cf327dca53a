/* What the rows of integer products make of their sums: the operands from the bias on. */
#ifndef KNI_BACKEND_CPU_GEMM_I8_FINISH_H
#define KNI_BACKEND_CPU_GEMM_I8_FINISH_H

#include "backend/cpu/gemm_i8.h"
#include "backend/host/host.h"

typedef struct kni_gemm_i8_finish {
    kni_borrowed bias, scale;
    kni_gemm_i8_scaling scaling;
    bool scales, of_rows, reals; /* reals: the result is f32, and the bias is its shift */
} kni_gemm_i8_finish;

/* channels: how many columns or, with of_rows, output channels there are. False without memory; end it all the same. */
bool kni_gemm_i8_finish_start(kni_gemm_i8_finish *f, const kn_record *r, int64_t channels, bool of_rows);
void kni_gemm_i8_finish_end(kni_gemm_i8_finish *f);
/* Where the product goes: `at` elements into the result. */
void kni_gemm_i8_finish_place(const kni_gemm_i8_finish *f, kni_gemm_i8_args *g, void *result, int64_t at);

#endif
