/* The register tiles of convolutions of one tier and type. */
#ifndef KNI_BACKEND_CPU_TIER_CONV_TILE_H
#define KNI_BACKEND_CPU_TIER_CONV_TILE_H

#include "backend/cpu/conv_kernels.h"
#include "backend/cpu/tier/conv_lone.h"
#include "backend/cpu/tier/conv_move.h"
#include "backend/cpu/tier/conv_turned_tile.h"
#include "backend/cpu/tier/conv_window_tile.h"
#include "backend/cpu/tier/gemm_simd.h"

#if defined(KNI_TIER_V4)
enum { CONV_ROWS = 8, CONV_VECTORS = 3 };
#elif defined(KNI_TIER_V3)
enum { CONV_ROWS = 4, CONV_VECTORS = 3 };
#elif defined(KNI_TIER_NEON)
enum { CONV_ROWS = 8, CONV_VECTORS = 2 };
#else
enum { CONV_ROWS = 4, CONV_VECTORS = 2 };
#endif

/* Loops with constant bounds, unrolled so that the sums stay in registers. */
#define UNROLL _Pragma("GCC unroll 16")
#define INLINE static inline __attribute__((always_inline))

/* `rows`, `vectors` and `separate` are constants in every instance. */
INLINE void product_of(const kni_conv_product *p, const int rows, const int vectors, const int separate)
{
    const real *w = p->w, *x = p->x;
    const int64_t *offsets = p->offsets;
    real *y = p->y;
    int64_t left = p->depth;
    for (int first = 1; first || left > 0; first = 0) {
        vec sum[CONV_ROWS][CONV_VECTORS];
        UNROLL for (int r = 0; r < rows; r++) UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = vec_all(0);
        int64_t now = left < KNI_CONV_DEPTH ? left : KNI_CONV_DEPTH;
        for (int64_t k = 0; k < now; k++) {
            const real *from = x + offsets[k];
            vec xv[CONV_VECTORS];
            UNROLL for (int v = 0; v < vectors; v++) xv[v] = vec_load(from + v * LANES);
            UNROLL for (int r = 0; r < rows; r++)
            {
                const vec wv = vec_all(w[r]);
                UNROLL for (int v = 0; v < vectors; v++) sum[r][v] =
                    vec_multiply_add(wv, xv[v], sum[r][v], separate);
            }
            w += rows;
        }
        offsets += now;
        left -= now;
        UNROLL for (int r = 0; r < rows; r++) UNROLL for (int v = 0; v < vectors; v++)
        {
            real *to = y + r * p->y_row + v * LANES;
            vec_store(to, first ? sum[r][v] : vec_load(to) + sum[r][v]);
        }
    }
}

INLINE void gradient_of(const kni_conv_gradient *g, const int rows, const int vectors, const int separate)
{
    const real *x[CONV_ROWS], *dy = g->dy;
    const int64_t dy_vector = g->dy_vector;
    real *sums = g->sums;
    vec sum[CONV_ROWS][CONV_VECTORS];
    UNROLL for (int r = 0; r < rows; r++)
    {
        x[r] = (const real *)g->x + g->offsets[r];
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = vec_all(0);
    }
    for (int64_t i = 0; i < g->outer; i++) {
        const real *d = dy + i * g->dy_step * LANES;
        for (int64_t j = 0; j < g->inner; j++, d += LANES) {
            vec dv[CONV_VECTORS];
            UNROLL for (int v = 0; v < vectors; v++) dv[v] = vec_load(d + v * dy_vector);
            UNROLL for (int r = 0; r < rows; r++)
            {
                const vec xv = vec_all(x[r][j]);
                UNROLL for (int v = 0; v < vectors; v++) sum[r][v] =
                    vec_multiply_add(xv, dv[v], sum[r][v], separate);
            }
        }
        UNROLL for (int r = 0; r < rows; r++) x[r] += g->x_step;
    }
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int v = 0; v < vectors; v++)
    {
        real *to = sums + r * g->sums_row + v * LANES;
        vec_store(to, vec_load(to) + sum[r][v]);
    }
}

/* Instances for rows 1, 2, 4 and 8 and all numbers of vectors. */
#if defined(KNI_TIER_V4)
#define FOR_TILES(X)                                                                                         \
    X(1, 1) X(1, 2) X(1, 3) X(2, 1) X(2, 2) X(2, 3) X(4, 1) X(4, 2) X(4, 3) X(8, 1) X(8, 2) X(8, 3)
#elif defined(KNI_TIER_V3)
#define FOR_TILES(X) X(1, 1) X(1, 2) X(1, 3) X(2, 1) X(2, 2) X(2, 3) X(4, 1) X(4, 2) X(4, 3)
#elif defined(KNI_TIER_NEON)
#define FOR_TILES(X) X(1, 1) X(1, 2) X(2, 1) X(2, 2) X(4, 1) X(4, 2) X(8, 1) X(8, 2)
#else
#define FOR_TILES(X) X(1, 1) X(1, 2) X(2, 1) X(2, 2) X(4, 1) X(4, 2)
#endif

typedef void product_fn(const kni_conv_product *p);
typedef void gradient_fn(const kni_conv_gradient *g);

#define DEFINE_FUSED(r, v)                                                                                   \
    static void product_##r##_##v(const kni_conv_product *p) { product_of(p, r, v, 0); }                     \
    static void gradient_##r##_##v(const kni_conv_gradient *g) { gradient_of(g, r, v, 0); }
#define DEFINE_SEPARATE(r, v)                                                                                \
    static void product_separate_##r##_##v(const kni_conv_product *p) { product_of(p, r, v, 1); }            \
    static void gradient_separate_##r##_##v(const kni_conv_gradient *g) { gradient_of(g, r, v, 1); }

FOR_TILES(DEFINE_FUSED)
#if KNI_GEMM_FUSED
FOR_TILES(DEFINE_SEPARATE)
#define SEPARATE(name, r, v) name##_separate_##r##_##v
#else
#define SEPARATE(name, r, v) name##_##r##_##v
#endif

#define PRODUCT_ENTRY(r, v) [0][r][v] = product_##r##_##v, [1][r][v] = SEPARATE(product, r, v),
#define GRADIENT_ENTRY(r, v) [0][r][v] = gradient_##r##_##v, [1][r][v] = SEPARATE(gradient, r, v),
static product_fn *const products[2][CONV_ROWS + 1][CONV_VECTORS + 1] = {FOR_TILES(PRODUCT_ENTRY)};
static gradient_fn *const gradients[2][CONV_ROWS + 1][CONV_VECTORS + 1] = {FOR_TILES(GRADIENT_ENTRY)};

static void conv_product(const kni_conv_product *p) { products[p->separate][p->rows][p->vectors](p); }
static void conv_gradient(const kni_conv_gradient *g) { gradients[g->separate][g->rows][g->vectors](g); }

/* Sixteen sums, by the inner position. */
enum { DOT_LANES = 16, DOT_VECTORS = DOT_LANES / LANES };

/* A row's tail reads whole vectors; what lies past its end is cut off, not multiplied by zero: it may be infinite. */
#if defined(KNI_TIER_SCALAR)
INLINE vec vec_cut(vec x, int lane, int64_t n) { return lane < n ? x : 0; }
#else
#ifdef KNI_GEMM_REAL_F64
typedef int64_t mask_word;
#else
typedef int32_t mask_word;
#endif
typedef mask_word mask_vec __attribute__((vector_size(VECTOR_BYTES)));
typedef mask_word mask_in_memory
    __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(mask_word)), may_alias));
static const mask_word cut_masks[2 * DOT_LANES] = {-1, -1, -1, -1, -1, -1, -1, -1,
                                                   -1, -1, -1, -1, -1, -1, -1, -1};

INLINE vec vec_cut(vec x, int lane, int64_t n)
{
    return (vec)((mask_vec)x & *(const mask_in_memory *)(cut_masks + DOT_LANES - n + lane));
}
#endif

INLINE void dot_of(const kni_conv_gradient *g, const real *x, real *result, const int separate)
{
    vec sum[DOT_VECTORS];
    UNROLL for (int v = 0; v < DOT_VECTORS; v++) sum[v] = vec_all(0);
    for (int64_t i = 0; i < g->outer; i++, x += g->x_step) {
        const real *d = (const real *)g->dy + i * g->dy_step;
        int64_t j = 0;
        for (; j + DOT_LANES <= g->inner; j += DOT_LANES)
            UNROLL for (int v = 0; v < DOT_VECTORS; v++) sum[v] =
                vec_multiply_add(vec_load(x + j + v * LANES), vec_load(d + j + v * LANES), sum[v], separate);
        const int64_t left = g->inner - j;
        if (left > 0)
            UNROLL for (int v = 0; v < DOT_VECTORS; v++) sum[v] =
                vec_multiply_add(vec_cut(vec_load(x + j + v * LANES), v * LANES, left),
                                 vec_cut(vec_load(d + j + v * LANES), v * LANES, left), sum[v], separate);
    }
    real lanes[DOT_LANES];
    UNROLL for (int v = 0; v < DOT_VECTORS; v++) vec_store(lanes + v * LANES, sum[v]);
    for (int half = DOT_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++) lanes[l] += lanes[l + half];
    *result += lanes[0];
}

static void conv_dots(const kni_conv_gradient *g)
{
    for (int r = 0; r < g->rows; r++) {
        const real *x = (const real *)g->x + g->offsets[r];
        real *result = (real *)g->sums + r * g->sums_row;
        if (g->separate)
            dot_of(g, x, result, 1);
        else
            dot_of(g, x, result, 0);
    }
}

static void conv_finish(void *results, int64_t n, const kni_finish *f)
{
    real *y = results;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vec v = vec_load(y + i);
        if (f->mean) v = map_vector(v, f, 0);
        vec_store(y + i, finish_vector(v, f, f->kind));
    }
    for (; i < n; i++) {
        const real mapped =
            f->mean ? (y[i] - (real)f->mean[0]) * (real)f->scale[0] + (real)f->shift[0] : y[i];
        y[i] = finish_real(mapped, f, f->kind);
    }
}

#define CONV_KERNELS                                                                                         \
    {                                                                                                        \
        .lanes = LANES, .rows = CONV_ROWS, .vectors = CONV_VECTORS, .size = (int)sizeof(real),               \
        .run = TURNED_RUN, .product = conv_product, .turned = conv_turned,                                   \
        .turned_store = conv_turned_store, .finish = conv_finish, .lone = conv_lone, .window = conv_window,  \
        .fill = conv_fill, .gradient = conv_gradient, .dots = conv_dots                                      \
    }

#endif
