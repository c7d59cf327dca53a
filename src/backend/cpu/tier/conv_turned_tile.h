/* Convolutions with vectors along output channels, of one tier: no column of padding is multiplied, and narrow images fill whole tiles. */
#ifndef KNI_BACKEND_CPU_TIER_CONV_TURNED_TILE_H
#define KNI_BACKEND_CPU_TIER_CONV_TURNED_TILE_H

#include "backend/cpu/conv_kernels.h"
#include "backend/cpu/tier/finish.h"
#include "backend/cpu/tier/gemm_turn.h"

/* Tiers with registers for 28 sums beside a vector of each operand. */
#if defined(KNI_TIER_V4) && !defined(KNI_GEMM_REAL_F64)
enum { TURNED_RUN = 7, TURNED_VECTORS = 2 };

#define TURNED_UNROLL _Pragma("GCC unroll 16")

/* `count`, `runs`, `vectors` and `separate` are constants in every instance. */
static inline __attribute__((always_inline)) void
turned_of(const kni_conv_turned *p, const int count, const int runs, const int vectors, const int separate)
{
    const real *w = p->w, *x = p->x[0];
    const int64_t *offsets = p->offsets, *end = offsets + p->depth;
    const int64_t second = runs == 2 ? (const real *)p->x[1] - x : 0;
    vec sum[2 * TURNED_RUN][TURNED_VECTORS];
    TURNED_UNROLL for (int i = 0; i < runs * count; i++) TURNED_UNROLL for (int v = 0; v < vectors; v++)
        sum[i][v] = vec_all(0);
    const char *ahead = p->ahead;
    const int64_t ahead_step = p->ahead_step;
    for (; offsets < end; offsets++, w += vectors * LANES, ahead += ahead_step) {
        __builtin_prefetch(ahead, 0, 2);
        const real *from = x + *offsets;
        vec wv[TURNED_VECTORS];
        TURNED_UNROLL for (int v = 0; v < vectors; v++) wv[v] = vec_load(w + v * LANES);
        TURNED_UNROLL for (int i = 0; i < runs * count; i++)
        {
            const vec xv = vec_all(i < count ? from[i] : (from + second)[i - count]);
            TURNED_UNROLL for (int v = 0; v < vectors; v++) sum[i][v] =
                vec_multiply_add(wv[v], xv, sum[i][v], separate);
        }
    }
    TURNED_UNROLL for (int i = 0; i < runs * count; i++)
    {
        real *to = i < count ? (real *)p->sums[0] + i * vectors * LANES
                             : (real *)p->sums[1] + (i - count) * vectors * LANES;
        TURNED_UNROLL for (int v = 0; v < vectors; v++)
            vec_store(to + v * LANES, p->adds ? vec_load(to + v * LANES) + sum[i][v] : sum[i][v]);
    }
}

typedef void turned_fn(const kni_conv_turned *p);

#define FOR_COUNTS(X, r, v) X(1, r, v) X(2, r, v) X(3, r, v) X(4, r, v) X(5, r, v) X(6, r, v) X(7, r, v)
#define FOR_TURNED(X) FOR_COUNTS(X, 1, 1) FOR_COUNTS(X, 1, 2) FOR_COUNTS(X, 2, 1) FOR_COUNTS(X, 2, 2)
#define DEFINE_TURNED(c, r, v)                                                                               \
    static void turned_##c##_##r##_##v(const kni_conv_turned *p) { turned_of(p, c, r, v, 0); }               \
    static void turned_separate_##c##_##r##_##v(const kni_conv_turned *p) { turned_of(p, c, r, v, 1); }
#define LIST_TURNED(c, r, v)                                                                                 \
    [0][r - 1][v - 1][c - 1] = turned_##c##_##r##_##v,                                                       \
                          [1][r - 1][v - 1][c - 1] = turned_separate_##c##_##r##_##v,
FOR_TURNED(DEFINE_TURNED)
static turned_fn *const turned_tiles[2][2][TURNED_VECTORS][TURNED_RUN] = {FOR_TURNED(LIST_TURNED)};

static void conv_turned(const kni_conv_turned *p)
{
    turned_tiles[p->separate][p->runs - 1][p->vectors - 1][p->count - 1](p);
}

static inline line finish_line(line sum, const kni_finish *f, int64_t c)
{
    if (f->mean) sum = (sum - f->mean[c]) * f->scale[c] + f->shift[c];
    __m256 x = (__m256)sum;
    const __m256 nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
    if (f->kind == KNI_FINISH_NONE) return sum;
    x = _mm256_blendv_ps(_mm256_max_ps(x, _mm256_set1_ps(f->low)), x, nan);
    if (f->kind == KNI_FINISH_BOTH) x = _mm256_blendv_ps(_mm256_min_ps(x, _mm256_set1_ps(f->high)), x, nan);
    return (line)x;
}

/* Up to a square of lines from `at` on, for which there are enough positions. */
static inline void store_turned_square(const kni_conv_turned_store *s, int64_t at, int64_t out)
{
    const int64_t outs = s->outs - out < SQUARE ? s->outs - out : SQUARE;
    const real *bias = s->bias ? (const real *)s->bias + out : NULL;
    real *y = (real *)s->y + out * s->y_channel + at;
    line turned[SQUARE];
    load_turned(turned, (const real *)s->sums + at * s->sums_row + out, s->sums_row);
    for (int64_t j = 0; j < outs; j++, y += s->y_channel)
        line_store(y, finish_line(bias ? turned[j] + bias[j] : turned[j], &s->finish, out + j));
}

static void conv_turned_store(const kni_conv_turned_store *s)
{
    const real *bias = s->bias;
    if (s->positions >= SQUARE) {
        for (int64_t o = 0; o < s->outs; o += SQUARE)
            for (int64_t i = 0; i < s->positions; i += SQUARE)
                store_turned_square(s, i + SQUARE <= s->positions ? i : s->positions - SQUARE, o);
        return;
    }
    for (int64_t o = 0; o < s->outs; o++)
        for (int64_t i = 0; i < s->positions; i++) {
            real sum = ((const real *)s->sums)[i * s->sums_row + o];
            if (bias) sum += bias[o];
            if (s->finish.mean) sum = (sum - s->finish.mean[o]) * s->finish.scale[o] + s->finish.shift[o];
            ((real *)s->y)[o * s->y_channel + i] = finish_real(sum, &s->finish, s->finish.kind);
        }
}

#else
enum { TURNED_RUN = 0 };
#define conv_turned NULL
#define conv_turned_store NULL
#endif

#endif
