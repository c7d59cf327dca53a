/* Convolutions with one channel in and one out (depthwise) of one tier: rows of results straight from the planes. */
#ifndef KNI_BACKEND_CPU_TIER_CONV_LONE_H
#define KNI_BACKEND_CPU_TIER_CONV_LONE_H

#include "backend/cpu/conv_kernels.h"
#include "backend/cpu/tier/gemm_simd.h"

#define LONE_UNROLL _Pragma("GCC unroll 16")

enum { LONE_ROWS = 8, LONE_VECTORS = 4 };

static inline void vec_store_part(real *p, vec v, int64_t n)
{
    real lanes[LANES];
    if (n >= LANES) {
        vec_store(p, v);
        return;
    }
#if defined(KNI_TIER_V4) && !defined(KNI_GEMM_REAL_F64)
    (void)lanes;
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)v);
#else
    vec_store(lanes, v);
    for (int64_t i = 0; i < n; i++) p[i] = lanes[i];
#endif
}

/* `rows`, `vectors` and `separate` are constants in every instance; the results begin at column `at` of row `row`. */
static inline __attribute__((always_inline)) void lone_of(const kni_conv_lone *l, int64_t row, int64_t at,
                                                          const int rows, const int vectors,
                                                          const int separate)
{
    const real *w = l->w, *x = (const real *)l->x + row * l->x_row + at, *bias = l->bias;
    real *y = (real *)l->y + row * l->y_row + at;
    vec sum[LONE_ROWS][LONE_VECTORS];
    LONE_UNROLL for (int r = 0; r < rows; r++) LONE_UNROLL for (int v = 0; v < vectors; v++) sum[r][v] =
        vec_all(0);
    for (int64_t k = 0; k < l->depth; k++) {
        const vec wv = vec_all(w[k]);
        const real *from = x + l->offsets[k];
        LONE_UNROLL for (int r = 0; r < rows; r++) LONE_UNROLL for (int v = 0; v < vectors; v++) sum[r][v] =
            vec_multiply_add(wv, vec_load(from + r * l->x_row + v * LANES), sum[r][v], separate);
    }
    LONE_UNROLL for (int r = 0; r < rows; r++) LONE_UNROLL for (int v = 0; v < vectors; v++)
    {
        const vec value = bias ? sum[r][v] + vec_all(*bias) : sum[r][v];
        vec_store_part(y + r * l->y_row + v * LANES, value, l->columns - at - v * LANES);
    }
}

typedef void lone_fn(const kni_conv_lone *l, int64_t row, int64_t at);

/* As many rows together as keep the sums in registers and hide how long one takes, then fewer for the rest. */
#define FOR_LONE(X) X(8, 1) X(4, 1) X(2, 1) X(1, 1) X(4, 2) X(2, 2) X(1, 2) X(2, 3) X(1, 3) X(2, 4) X(1, 4)
#define DEFINE_LONE(r, v)                                                                                    \
    static void lone_##r##_##v(const kni_conv_lone *l, int64_t row, int64_t at)                              \
    {                                                                                                        \
        if (l->separate)                                                                                     \
            lone_of(l, row, at, r, v, 1);                                                                    \
        else                                                                                                 \
            lone_of(l, row, at, r, v, 0);                                                                    \
    }
#define LIST_LONE(r, v) [v][r] = lone_##r##_##v,
FOR_LONE(DEFINE_LONE)
static lone_fn *const lone_tiles[LONE_VECTORS + 1][LONE_ROWS + 1] = {FOR_LONE(LIST_LONE)};
static const int lone_rows[LONE_VECTORS + 1] = {0, 8, 4, 2, 2};

static void conv_lone(const kni_conv_lone *l)
{
    for (int64_t at = 0; at < l->columns; at += LONE_VECTORS * LANES) {
        const int64_t left = (l->columns - at + LANES - 1) / LANES;
        const int vectors = left < LONE_VECTORS ? (int)left : LONE_VECTORS;
        for (int64_t row = 0; row < l->rows;) {
            int rows = lone_rows[vectors];
            while (rows > l->rows - row) rows /= 2;
            lone_tiles[vectors][rows](l, row, at);
            row += rows;
        }
    }
}

#endif
