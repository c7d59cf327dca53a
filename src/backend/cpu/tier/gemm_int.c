/* The integer matrix product of one tier, for i32 and i64 that wrap around. Plain loops over blocks that the
   compiler vectorises; unsigned arithmetic, so that overflow is defined. */
#include "backend/cpu/gemm_int_kernels.h"
#include "backend/cpu/tier.h"

enum { STRIP = 32, DEPTH = 32 };

/* A strip of at most STRIP columns of B is copied so that its rows are contiguous, then each row of A adds its
   multiples of them. */
#define DEFINE_GEMM_INT(name, word)                                                                          \
    static void name##_strip(const kni_gemm_int_args *g, int64_t col, int64_t cols, int64_t first,           \
                             int64_t depth, bool add)                                                        \
    {                                                                                                        \
        word strip[DEPTH * STRIP], sums[STRIP];                                                              \
        for (int64_t k = 0; k < depth; k++)                                                                  \
            for (int64_t j = 0; j < STRIP; j++)                                                              \
                strip[k * STRIP + j] =                                                                       \
                    j < cols ? ((const word *)g->b)[(first + k) * g->b_row + (col + j) * g->b_col] : 0;      \
        for (int64_t i = 0; i < g->m; i++) {                                                                 \
            const word *a = (const word *)g->a + i * g->a_row + first * g->a_col;                            \
            word *c = (word *)g->c + i * g->c_row + col * g->c_col;                                          \
            for (int j = 0; j < STRIP; j++) sums[j] = 0;                                                     \
            for (int64_t k = 0; k < depth; k++) {                                                            \
                const word x = a[k * g->a_col];                                                              \
                for (int j = 0; j < STRIP; j++) sums[j] += x * strip[k * STRIP + j];                         \
            }                                                                                                \
            for (int64_t j = 0; j < cols; j++) c[j * g->c_col] = (add ? c[j * g->c_col] : 0) + sums[j];      \
        }                                                                                                    \
    }                                                                                                        \
    void KNI_TIER_FN(name)(const kni_gemm_int_args *g)                                                       \
    {                                                                                                        \
        for (int64_t col = 0; col < g->n; col += STRIP)                                                      \
            for (int64_t first = 0; first == 0 || first < g->k; first += DEPTH)                              \
                name##_strip(g, col, g->n - col < STRIP ? g->n - col : STRIP, first,                         \
                             g->k - first < DEPTH ? g->k - first : DEPTH, g->accumulate || first > 0);       \
    }

DEFINE_GEMM_INT(kni_gemm_rows_i32, uint32_t)
DEFINE_GEMM_INT(kni_gemm_rows_i64, uint64_t)
