/* The register kernels of one tier and type: tile_<rows>_<vectors> for every size up to the full tile, with
   fused and, where that differs, with separate multiply and add. Both operands are read with strides, so the
   same kernels serve packed panels and matrices in place. */
#ifndef KNI_BACKEND_CPU_TIER_GEMM_TILE_H
#define KNI_BACKEND_CPU_TIER_GEMM_TILE_H

#include "backend/cpu/tier/gemm_simd.h"

typedef struct {
    int64_t depth;
    const real *a;
    int64_t a_row, a_col;
    const real *b;
    int64_t b_row; /* the columns of b are contiguous */
    real *c;
    int64_t c_row, c_col;
    real alpha, beta;
    int cols; /* how many columns of the tile exist in C */
} tile_job;

/* C = alpha S + beta C for a tile of sums in memory. One multiplication and one addition each, never fused,
   so that all tiers agree. */
static __attribute__((noinline)) void update_tile(const tile_job *job, const real *sums, int64_t sums_row,
                                                  int rows, int64_t cols)
{
    const real alpha = job->alpha, beta = job->beta;
    const int64_t step = job->c_col;
    for (int i = 0; i < rows; i++) {
        real *c = job->c + i * job->c_row;
        const real *s = sums + i * sums_row;
        if (beta == 0 && step == 1)
            for (int64_t j = 0; j < cols; j++) c[j] = alpha * s[j];
        else if (beta == 0)
            for (int64_t j = 0; j < cols; j++) c[j * step] = alpha * s[j];
        else if (beta == 1 && step == 1)
            for (int64_t j = 0; j < cols; j++) c[j] += alpha * s[j];
        else
            for (int64_t j = 0; j < cols; j++) c[j * step] = beta * c[j * step] + alpha * s[j];
    }
}

/* Written out with constant indices, so that every compiler keeps the sums in registers; what lies beyond the
   constants `rows` and `vectors` of an instance is dead code. */
#define IF_ROW(X, i)                                                                                         \
    if (i < rows) {                                                                                          \
        X(i)                                                                                                 \
    }
#define FOR_ROWS(X)                                                                                          \
    IF_ROW(X, 0)                                                                                             \
    IF_ROW(X, 1)                                                                                             \
    IF_ROW(X, 2)                                                                                             \
    IF_ROW(X, 3)                                                                                             \
    IF_ROW(X, 4)                                                                                             \
    IF_ROW(X, 5)                                                                                             \
    IF_ROW(X, 6)                                                                                             \
    IF_ROW(X, 7) IF_ROW(X, 8) IF_ROW(X, 9) IF_ROW(X, 10) IF_ROW(X, 11) IF_ROW(X, 12) IF_ROW(X, 13)
#define FOR_VECTORS(X, i) X(i, 0) if (vectors > 1) X(i, 1) if (vectors > 2) X(i, 2) if (vectors > 3) X(i, 3)

#define CLEAR_ONE(i, v) sum[i][v] = vec_all(0);
#define CLEAR_ROW(i)                                                                                         \
    FOR_VECTORS(CLEAR_ONE, i)                                                                                \
    __builtin_prefetch(c + i * c_row, 1);                                                                    \
    __builtin_prefetch(c + i * c_row + (vectors * LANES - 1), 1);
#define LOAD_ONE(i, v) bv[v] = vec_load(b + v * LANES);
#define MULTIPLY_ONE(i, v) sum[i][v] = vec_multiply_add(av, bv[v], sum[i][v], separate);
#define MULTIPLY_ROW(i)                                                                                      \
    const vec av = vec_all((i < 4 ? a0 : i < 8 ? a4 : i < 12 ? a8 : a12)[(i & 3) * a_row]);                  \
    FOR_VECTORS(MULTIPLY_ONE, i)
#define SPILL_ONE(i, v) vec_store(sums + i * TILE_COLUMNS + v * LANES, sum[i][v]);
#define SPILL_ROW(i) FOR_VECTORS(SPILL_ONE, i)
#define STORE_ONE(i, v) vec_store(c + i * c_row + v * LANES, alpha * sum[i][v]);
#define STORE_ROW(i) FOR_VECTORS(STORE_ONE, i)
#define ADD_ONE(i, v)                                                                                        \
    vec_store(c + i * c_row + v * LANES, vec_load(c + i * c_row + v * LANES) + alpha * sum[i][v]);
#define ADD_ROW(i) FOR_VECTORS(ADD_ONE, i)

/* `rows`, `vectors` and `separate` are constants in every instance. */
static inline __attribute__((always_inline)) void tile_of(const tile_job *job, const int rows,
                                                          const int vectors, const int separate)
{
    const int64_t a_row = job->a_row, b_row = job->b_row, c_row = job->c_row;
    int64_t a_col = job->a_col;
    __asm__("" : "+r"(a_col)); /* keeps the compiler from a second copy of the loop for a stride of 1 */
    const real *a0 = job->a, *a4 = a0 + 4 * a_row, *a8 = a0 + 8 * a_row, *a12 = a0 + 12 * a_row;
    const real *b = job->b;
    real *const c = job->c;
    vec sum[14][4], bv[4];

    FOR_ROWS(CLEAR_ROW)
    for (int64_t k = job->depth; k > 0; k--) {
        FOR_VECTORS(LOAD_ONE, 0)
        FOR_ROWS(MULTIPLY_ROW)
        b += b_row;
        a0 += a_col;
        if (rows > 4) a4 += a_col;
        if (rows > 8) a8 += a_col;
        if (rows > 12) a12 += a_col;
    }

    const vec alpha = vec_all(job->alpha);
    if (job->cols < vectors * LANES || job->c_col != 1 || (job->beta != 0 && job->beta != 1)) {
        real sums[TILE_ROWS * TILE_COLUMNS];
        FOR_ROWS(SPILL_ROW)
        update_tile(job, sums, TILE_COLUMNS, rows, job->cols);
    } else if (job->beta == 0) {
        FOR_ROWS(STORE_ROW)
    } else {
        FOR_ROWS(ADD_ROW)
    }
}

typedef void tile_fn(const tile_job *job);

/* The tables of kernels list all heights of one width, then of the next. */
static inline int tile_index(int64_t rows, int vectors) { return (vectors - 1) * TILE_ROWS + (int)rows - 1; }

#define ROWS_TO_4(X, v) X(1, v) X(2, v) X(3, v) X(4, v)
#define ROWS_TO_6(X, v) ROWS_TO_4(X, v) X(5, v) X(6, v)
#define ROWS_TO_8(X, v) ROWS_TO_6(X, v) X(7, v) X(8, v)
#define ROWS_TO_14(X, v) ROWS_TO_8(X, v) X(9, v) X(10, v) X(11, v) X(12, v) X(13, v) X(14, v)

#if defined(KNI_TIER_V4)
#define ALL_TILES(X) ROWS_TO_14(X, 1) ROWS_TO_14(X, 2)
#elif defined(KNI_TIER_V3)
#define ALL_TILES(X) ROWS_TO_6(X, 1) ROWS_TO_6(X, 2)
#elif defined(KNI_TIER_NEON)
#define ALL_TILES(X) ROWS_TO_8(X, 1) ROWS_TO_8(X, 2)
#elif defined(KNI_TIER_V2) || defined(KNI_TIER_SIMD128)
#define ALL_TILES(X) ROWS_TO_4(X, 1) ROWS_TO_4(X, 2)
#else
#define ALL_TILES(X) ROWS_TO_4(X, 1) ROWS_TO_4(X, 2) ROWS_TO_4(X, 3) ROWS_TO_4(X, 4)
#endif

#define DEFINE_TILE(rows, vectors)                                                                           \
    static void separate_##rows##_##vectors(const tile_job *job) { tile_of(job, rows, vectors, 1); }
#define LIST_TILE(rows, vectors) separate_##rows##_##vectors,
ALL_TILES(DEFINE_TILE)
static tile_fn *const separate_tiles[TILE_VECTORS * TILE_ROWS] = {ALL_TILES(LIST_TILE)};
#undef DEFINE_TILE
#undef LIST_TILE

#if KNI_GEMM_FUSED
#define DEFINE_TILE(rows, vectors)                                                                           \
    static void fused_##rows##_##vectors(const tile_job *job) { tile_of(job, rows, vectors, 0); }
#define LIST_TILE(rows, vectors) fused_##rows##_##vectors,
ALL_TILES(DEFINE_TILE)
static tile_fn *const fused_tiles[TILE_VECTORS * TILE_ROWS] = {ALL_TILES(LIST_TILE)};
#undef DEFINE_TILE
#undef LIST_TILE
#else
#define fused_tiles separate_tiles
#endif

#endif
