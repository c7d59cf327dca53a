/* What the softmax, norm and loss kernels of a tier are made of: sums over 16 virtual lanes that are joined by a
   fixed tree, so that a result does not depend on the width of the vectors. The including file chooses the type
   `real` with KNI_NORM_F64. */
#ifndef KNI_BACKEND_CPU_TIER_NORM_LANES_H
#define KNI_BACKEND_CPU_TIER_NORM_LANES_H

#include "backend/cpu/tier/norm_loops.h"
#include "core/math/math.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#ifdef KNI_TIER_V4
#include <immintrin.h>
#endif

#ifdef KNI_NORM_F64
typedef double real;
typedef int64_t real_bits;
#define INLINE_M(name) kni_##name##_f64
#define REAL_INFINITY KNI_INF_F64
#else
typedef float real;
typedef int32_t real_bits;
#define INLINE_M(name) kni_##name##_f32
#define REAL_INFINITY KNI_INF_F32
#endif

#ifdef KN_FREESTANDING
/* Microcontrollers count their flash: each is there once. */
static __attribute__((noinline, unused)) real once_exp(real x) { return INLINE_M(exp)(x); }
static __attribute__((noinline, unused)) real once_log(real x) { return INLINE_M(log)(x); }
#define once_sqrt INLINE_M(sqrt)
#define M(name) once_##name
#else
#define M(name) INLINE_M(name)
#endif

#if defined(KNI_TIER_V4)
#define VECTOR_BYTES 64
#elif defined(KNI_TIER_V3)
#define VECTOR_BYTES 32
#elif defined(KNI_TIER_V2) || defined(KNI_TIER_NEON) || defined(KNI_TIER_SIMD128)
#define VECTOR_BYTES 16
#endif

#ifdef VECTOR_BYTES
typedef real vec __attribute__((vector_size(VECTOR_BYTES)));
typedef real vec_in_memory __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(real)), may_alias));
typedef real_bits vec_bits __attribute__((vector_size(VECTOR_BYTES)));
#else
typedef real vec;
typedef real vec_in_memory;
#endif

enum { LANES = 16, VECTORS = LANES * (int)sizeof(real) / (int)sizeof(vec), STRIP = 256 };

typedef struct lanes {
    vec part[VECTORS];
} lanes;

static inline vec load(const real *p, int part) { return ((const vec_in_memory *)p)[part]; }

/* a > b ? a : b */
static inline vec larger(vec a, vec b)
{
#if defined(KNI_TIER_V4) && defined(KNI_NORM_F64)
    return (vec)_mm512_max_pd((__m512d)a, (__m512d)b);
#elif defined(KNI_TIER_V4)
    return (vec)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(VECTOR_BYTES)
    vec_bits mask = (vec_bits)(a > b);
    return (vec)(((vec_bits)a & mask) | ((vec_bits)b & ~mask));
#else
    return a > b ? a : b;
#endif
}

#if defined(KNI_TIER_V4) && !defined(KNI_NORM_F64)
/* All lanes are one vector: halves are joined in registers, in the order of the loops below. */
#define JOIN_LANES(name, wide, half, one)                                                                    \
    static inline float name(__m512 all)                                                                     \
    {                                                                                                        \
        const __m256 eight = wide(_mm512_extractf32x8_ps(all, 1), _mm512_castps512_ps256(all));              \
        __m128 four = half(_mm256_extractf128_ps(eight, 1), _mm256_castps256_ps128(eight));                  \
        four = half(_mm_movehl_ps(four, four), four);                                                        \
        return _mm_cvtss_f32(one(_mm_shuffle_ps(four, four, 1), four));                                      \
    }
JOIN_LANES(join_sums, _mm256_add_ps, _mm_add_ps, _mm_add_ss)
JOIN_LANES(join_largest, _mm256_max_ps, _mm_max_ps, _mm_max_ss)
#undef JOIN_LANES

static inline real lanes_total(const lanes *sums, const real *tail, int64_t n)
{
    const __mmask16 last = (__mmask16)((1 << n) - 1);
    const __m512 all = (__m512)sums->part[0];
    return join_sums(_mm512_mask_add_ps(all, last, all, _mm512_maskz_loadu_ps(last, tail)));
}

static inline real lanes_largest(const lanes *top) { return join_largest((__m512)top->part[0]); }
#else
/* The sum of the lanes, after the last n < LANES terms went to the first lanes. */
static inline real lanes_total(const lanes *sums, const real *tail, int64_t n)
{
    real lane[LANES];
    memcpy(lane, sums, sizeof lane);
    for (int64_t l = 0; l < n; l++) lane[l] += tail[l];
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int l = 0; l < width; l++) lane[l] += lane[l + width];
    return lane[0];
}

static inline real lanes_largest(const lanes *top)
{
    real lane[LANES];
    memcpy(lane, top, sizeof lane);
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int l = 0; l < width; l++) lane[l] = lane[l + width] > lane[l] ? lane[l + width] : lane[l];
    return lane[0];
}
#endif

/* ---- sums in double: the same lanes, whatever `real` is */

#if defined(VECTOR_BYTES) && !defined(KNI_NORM_F64)
typedef double wide_vec __attribute__((vector_size(VECTOR_BYTES)));
typedef float narrow_vec __attribute__((vector_size(VECTOR_BYTES / 2), aligned(sizeof(float)), may_alias));
static inline wide_vec load_wide(const real *p, int part)
{
    return __builtin_convertvector(((const narrow_vec *)p)[part], wide_vec);
}
#else
#ifdef VECTOR_BYTES
typedef vec wide_vec;
#else
typedef double wide_vec;
#endif
static inline wide_vec load_wide(const real *p, int part) { return load(p, part); }
#endif

enum { WIDE_VECTORS = LANES * (int)sizeof(double) / (int)sizeof(wide_vec) };

typedef struct wide_lanes {
    wide_vec part[WIDE_VECTORS];
} wide_lanes;

static inline double wide_total(const wide_lanes *sums, const double *tail, int64_t n)
{
    double lane[LANES];
    memcpy(lane, sums, sizeof lane);
    for (int64_t l = 0; l < n; l++) lane[l] += tail[l];
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int l = 0; l < width; l++) lane[l] += lane[l + width];
    return lane[0];
}

/* The largest element, -inf for none; NaN is passed over. */
static inline real row_max(const real *x, int64_t n)
{
    real most = -REAL_INFINITY;
    int64_t k = 0;
    if (n >= LANES) {
        lanes top;
        for (int v = 0; v < VECTORS; v++) top.part[v] = larger(load(x, v), (vec){0} - REAL_INFINITY);
        for (k = LANES; k + LANES <= n; k += LANES)
            for (int v = 0; v < VECTORS; v++) top.part[v] = larger(load(x + k, v), top.part[v]);
        most = lanes_largest(&top);
    }
    for (; k < n; k++) most = x[k] > most ? x[k] : most;
    return most;
}

static inline real row_sum(const real *x, int64_t n)
{
    lanes sums = {.part = {(vec){0}}};
    int64_t k = 0;
    for (; k + LANES <= n; k += LANES)
        for (int v = 0; v < VECTORS; v++) sums.part[v] += load(x + k, v);
    return lanes_total(&sums, x + k, n - k);
}

static inline real row_dot(const real *x, const real *y, int64_t n)
{
    lanes sums = {.part = {(vec){0}}};
    real tail[LANES];
    int64_t k = 0;
    for (; k + LANES <= n; k += LANES)
        for (int v = 0; v < VECTORS; v++) sums.part[v] += load(x + k, v) * load(y + k, v);
    for (int64_t l = 0; k + l < n; l++) tail[l] = x[k + l] * y[k + l];
    return lanes_total(&sums, tail, n - k);
}

/* sum of (x - mean)^2 */
static inline real row_squares(const real *x, real mean, int64_t n)
{
    lanes sums = {.part = {(vec){0}}};
    real tail[LANES];
    int64_t k = 0;
    for (; k + LANES <= n; k += LANES)
        for (int v = 0; v < VECTORS; v++) {
            vec d = load(x + k, v) - mean;
            sums.part[v] += d * d;
        }
    for (int64_t l = 0; k + l < n; l++) tail[l] = (x[k + l] - mean) * (x[k + l] - mean);
    return lanes_total(&sums, tail, n - k);
}

/* sum of exp(x - most), through a buffer so that the exponentials are vectorised whatever x is. */
static inline real row_exp_sum(const real *x, real most, int64_t n)
{
    lanes sums = {.part = {(vec){0}}};
    real buffer[STRIP];
    for (int64_t at = 0;; at += STRIP) {
        int64_t count = n - at < STRIP ? n - at : STRIP, k = 0;
        for (int64_t i = 0; i < count; i++) buffer[i] = M(exp)(x[at + i] - most);
        for (; k + LANES <= count; k += LANES)
            for (int v = 0; v < VECTORS; v++) sums.part[v] += load(buffer + k, v);
        if (at + count == n) return lanes_total(&sums, buffer + k, count - k);
    }
}

#endif
