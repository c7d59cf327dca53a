/* Windows over single planes (depthwise convolutions) of one tier, straight from the source: what lies outside is masked. */
#ifndef KNI_BACKEND_CPU_TIER_CONV_WINDOW_TILE_H
#define KNI_BACKEND_CPU_TIER_CONV_WINDOW_TILE_H

#include "backend/cpu/conv_kernels.h"
#include "backend/cpu/tier/finish.h"

#if defined(KNI_TIER_V4) && !defined(KNI_GEMM_REAL_F64)

#define WINDOW_UNROLL _Pragma("GCC unroll 16")
enum { WINDOW_TAPS = 7, WINDOW_ROWS = 4 };

/* Lanes i for which at + i lies in 0 .. size - 1. */
static inline __mmask16 lanes_inside(int64_t at, int64_t size)
{
    const int64_t low = at < 0 ? -at : 0, high = size - at;
    if (low >= LANES || high <= 0) return 0;
    return (__mmask16)((0xffffu << low) & (high >= LANES ? 0xffffu : (1u << high) - 1));
}

/* The masks of one column of vectors: by tap, or for each pair of taps the two vectors that hold their elements. */
typedef struct {
    __mmask16 inside[2 * WINDOW_TAPS];
} window_masks;

static inline __attribute__((always_inline)) void find_masks(window_masks *m, const kni_conv_window *w,
                                                             int64_t first, const int taps, const int stride)
{
    for (int b = 0; b < taps && stride == 1; b++) m->inside[b] = lanes_inside(first + b, w->x_columns);
    for (int b = 0; b < taps && stride == 2; b += 2) {
        m->inside[b] = lanes_inside(first + b, w->x_columns);
        m->inside[b + 1] = lanes_inside(first + b + LANES, w->x_columns);
    }
}

/* The elements of a row of x that each tap reads; `row` may begin outside of it. */
static inline __attribute__((always_inline)) void load_taps(vec *x, const float *row, const window_masks *m,
                                                            const int taps, const int stride)
{
    if (stride == 1) {
        WINDOW_UNROLL for (int b = 0; b < taps; b++) x[b] = (vec)_mm512_maskz_loadu_ps(m->inside[b], row + b);
        return;
    }
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    WINDOW_UNROLL for (int b = 0; b < taps; b += 2)
    {
        const __m512 low = _mm512_maskz_loadu_ps(m->inside[b], row + b);
        const __m512 high = _mm512_maskz_loadu_ps(m->inside[b + 1], row + b + LANES);
        x[b] = (vec)_mm512_permutex2var_ps(low, even, high);
        if (b + 1 < taps) x[b + 1] = (vec)_mm512_permutex2var_ps(low, odd, high);
    }
}

/* `rows` results from row i on, in the vector that begins with column j. All but w, i, j and m is constant in every instance. */
static inline __attribute__((always_inline)) void window_of(const kni_conv_window *w, int64_t i, int64_t j,
                                                            const window_masks *m, const int taps,
                                                            const int stride, const int rows,
                                                            const int separate)
{
    const float *x = w->x + (j * stride - w->padding[1]);
    const int64_t first = i * stride - w->padding[0];
    vec sum[WINDOW_ROWS], from[WINDOW_TAPS + 1];
    WINDOW_UNROLL for (int r = 0; r < rows; r++) sum[r] = vec_all(0);
    WINDOW_UNROLL for (int u = 0; u < (rows - 1) * stride + taps; u++)
    {
        if ((uint64_t)(first + u) >= (uint64_t)w->x_rows) continue;
        load_taps(from, x + (first + u) * w->x_row, m, taps, stride);
        WINDOW_UNROLL for (int r = 0; r < rows; r++)
        {
            const int a = u - r * stride;
            if (a < 0 || a >= taps) continue;
            WINDOW_UNROLL for (int b = 0; b < taps; b++) sum[r] =
                vec_multiply_add(vec_all(w->w[a * taps + b]), from[b], sum[r], separate);
        }
    }
    const int64_t left = w->columns - j;
    const __mmask16 there = left >= LANES ? 0xffff : (__mmask16)((1u << left) - 1);
    WINDOW_UNROLL for (int r = 0; r < rows; r++)
    {
        vec value = w->bias ? sum[r] + vec_all(*w->bias) : sum[r];
        if (w->finish.mean) value = map_vector(value, &w->finish, 0);
        _mm512_mask_storeu_ps(w->y + (i + r) * w->y_row + j, there,
                              (__m512)finish_vector(value, &w->finish, w->finish.kind));
    }
}

static inline __attribute__((always_inline)) void window_plane(const kni_conv_window *w, const int taps,
                                                               const int stride, const int separate)
{
    for (int64_t j = 0; j < w->columns; j += LANES) {
        window_masks m;
        int64_t i = 0;
        find_masks(&m, w, j * stride - w->padding[1], taps, stride);
        for (; i + WINDOW_ROWS <= w->rows; i += WINDOW_ROWS)
            window_of(w, i, j, &m, taps, stride, WINDOW_ROWS, separate);
        if (i + 2 <= w->rows) {
            window_of(w, i, j, &m, taps, stride, 2, separate);
            i += 2;
        }
        if (i < w->rows) window_of(w, i, j, &m, taps, stride, 1, separate);
    }
}

#define FOR_WINDOWS(X) X(3, 1) X(3, 2) X(5, 1) X(5, 2) X(7, 1)
#define DEFINE_WINDOW(t, s)                                                                                  \
    static __attribute__((noinline)) void window_##t##_##s(const kni_conv_window *w)                         \
    {                                                                                                        \
        window_plane(w, t, s, 0);                                                                            \
    }                                                                                                        \
    static __attribute__((noinline)) void window_separate_##t##_##s(const kni_conv_window *w)                \
    {                                                                                                        \
        window_plane(w, t, s, 1);                                                                            \
    }
FOR_WINDOWS(DEFINE_WINDOW)

static bool conv_window(const kni_conv_window *w)
{
#define TRY_WINDOW(t, s)                                                                                     \
    if (w->taps == t && w->stride == s) {                                                                    \
        (w->separate ? window_separate_##t##_##s : window_##t##_##s)(w);                                     \
        return true;                                                                                         \
    }
    FOR_WINDOWS(TRY_WINDOW)
    return false;
}

#else
#define conv_window NULL
#endif

#endif
