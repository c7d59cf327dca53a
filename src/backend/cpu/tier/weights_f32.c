/* Products of f32 with quantized weights by one tier: each weight becomes a real once for several rows. Vectors of weights have one scale
   where blocks are whole vectors; other blocks take their time. */
#include "backend/cpu/weights_kernels.h"

#if defined(KNI_TIER_V3) || defined(KNI_TIER_V4)
#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

#if defined(KNI_TIER_V4)
typedef __m512 vec;
enum { LANES = 16 };
INLINE vec vec_zero(void) { return _mm512_setzero_ps(); }
INLINE vec vec_load(const float *p) { return _mm512_loadu_ps(p); }
INLINE void vec_store(float *p, vec v) { _mm512_storeu_ps(p, v); }
INLINE vec vec_add(vec a, vec b) { return _mm512_add_ps(a, b); }
INLINE vec vec_fused(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }
INLINE float vec_total(vec v) { return _mm512_reduce_add_ps(v); }
INLINE vec vec_weights(const uint8_t *p, bool is_signed, float zero, float scale)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i *)p);
    const vec w = _mm512_cvtepi32_ps(is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes));
    return _mm512_mul_ps(_mm512_sub_ps(w, _mm512_set1_ps(zero)), _mm512_set1_ps(scale));
}
#else
typedef __m256 vec;
enum { LANES = 8 };
INLINE vec vec_zero(void) { return _mm256_setzero_ps(); }
INLINE vec vec_load(const float *p) { return _mm256_loadu_ps(p); }
INLINE void vec_store(float *p, vec v) { _mm256_storeu_ps(p, v); }
INLINE vec vec_add(vec a, vec b) { return _mm256_add_ps(a, b); }
INLINE vec vec_fused(vec a, vec b, vec c) { return _mm256_fmadd_ps(a, b, c); }
INLINE float vec_total(vec v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}
INLINE vec vec_weights(const uint8_t *p, bool is_signed, float zero, float scale)
{
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)p);
    const vec w = _mm256_cvtepi32_ps(is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes));
    return _mm256_mul_ps(_mm256_sub_ps(w, _mm256_set1_ps(zero)), _mm256_set1_ps(scale));
}
#endif
#define VECTORS 1
#else
enum { LANES = 16 };
#define VECTORS 0
#endif

static float weight(const kni_weights_row *r, int64_t i)
{
    const int64_t b = i / r->block;
    const float w = r->is_signed ? (float)(int8_t)r->w[i] : (float)r->w[i];
    return (w - r->zeros[b * r->zero_step]) * r->scales[b * r->scale_step];
}

/* ---- by whole blocks */

static void reals_of_blocks(float *restrict y, const kni_weights_row *r)
{
    const int8_t *restrict v = (const int8_t *)r->w;
    for (int64_t b = 0, from = 0; from < r->k; b++, from += r->block) {
        const int64_t end = from + r->block < r->k ? from + r->block : r->k;
        const float zero = r->zeros[b * r->zero_step], scale = r->scales[b * r->scale_step];
        if (r->is_signed)
            for (int64_t i = from; i < end; i++) y[i] = ((float)v[i] - zero) * scale;
        else
            for (int64_t i = from; i < end; i++) y[i] = ((float)r->w[i] - zero) * scale;
    }
}

static float dot_of_blocks(const float *restrict x, const kni_weights_row *r)
{
    float s[LANES] = {0};
    const int8_t *restrict v = (const int8_t *)r->w;
    const uint8_t *restrict w = r->w;
    for (int64_t b = 0, from = 0; from < r->k; b++, from += r->block) {
        const int64_t end = from + r->block < r->k ? from + r->block : r->k;
        const float zero = r->zeros[b * r->zero_step], scale = r->scales[b * r->scale_step];
        float t[LANES] = {0};
        int64_t i = from;
        if (r->is_signed)
            for (; i + LANES <= end; i += LANES)
                for (int l = 0; l < LANES; l++) t[l] += x[i + l] * ((float)v[i + l] - zero);
        else
            for (; i + LANES <= end; i += LANES)
                for (int l = 0; l < LANES; l++) t[l] += x[i + l] * ((float)w[i + l] - zero);
        for (int l = 0; l < LANES; l++) s[l] += scale * t[l];
        for (; i < end; i++) s[0] += x[i] * weight(r, i);
    }
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++) s[l] += s[l + half];
    return s[0];
}

/* ---- by vectors */

#if VECTORS

enum { AT_ONCE = 4 };

/* By how much a position is shifted for the number of its block; -1: a vector may see several blocks. */
static int shift_of(const kni_weights_row *r)
{
    if (r->block >= r->k) return 62;
    if (r->block < LANES || r->block & (r->block - 1)) return -1;
    return __builtin_ctzll((unsigned long long)r->block);
}

INLINE vec weights_at(const kni_weights_row *r, int64_t i, int shift, bool is_signed)
{
    const int64_t b = i >> shift;
    return vec_weights(r->w + i, is_signed, r->zeros[b * r->zero_step], r->scales[b * r->scale_step]);
}

/* Few rows have several sums each, which do not wait for each other. */
INLINE void multiply_rows(float *sums, const float *x, int64_t x_row, const kni_weights_row *r, int shift,
                          bool is_signed, const int rows)
{
    const int chains = rows == 1 ? 4 : rows < 5 ? 2 : 1;
    vec s[KNI_WEIGHTS_ROWS][AT_ONCE];
    int64_t i = 0;
    UNROLL
    for (int j = 0; j < rows; j++) UNROLL
    for (int c = 0; c < chains; c++) s[j][c] = vec_zero();
    for (; i + AT_ONCE * LANES <= r->k; i += AT_ONCE * LANES) {
        UNROLL
        for (int c = 0; c < AT_ONCE; c++) {
            const vec w = weights_at(r, i + c * LANES, shift, is_signed);
            UNROLL
            for (int j = 0; j < rows; j++)
                s[j][c % chains] = vec_fused(vec_load(x + j * x_row + i + c * LANES), w, s[j][c % chains]);
        }
    }
    for (; i + LANES <= r->k; i += LANES) {
        const vec w = weights_at(r, i, shift, is_signed);
        UNROLL
        for (int j = 0; j < rows; j++) s[j][0] = vec_fused(vec_load(x + j * x_row + i), w, s[j][0]);
    }
    UNROLL
    for (int j = 0; j < rows; j++) {
        if (chains == 4) s[j][0] = vec_add(vec_add(s[j][0], s[j][2]), s[j][3]);
        if (chains > 1) s[j][0] = vec_add(s[j][0], s[j][1]);
        sums[j] = vec_total(s[j][0]);
    }
    for (; i < r->k; i++) {
        const float w = weight(r, i);
        for (int j = 0; j < rows; j++) sums[j] += x[j * x_row + i] * w;
    }
}

#define ROWS(n)                                                                                              \
    case n:                                                                                                  \
        if (r->is_signed)                                                                                    \
            multiply_rows(sums, x, x_row, r, shift, true, n);                                                \
        else                                                                                                 \
            multiply_rows(sums, x, x_row, r, shift, false, n);                                               \
        return;

static void multiply_vectors(float *sums, const float *x, int64_t x_row, int rows, const kni_weights_row *r,
                             int shift)
{
    switch (rows) {
        ROWS(1)
        ROWS(2)
        ROWS(3)
        ROWS(4)
        ROWS(5)
        ROWS(6)
        ROWS(7)
    default:
        ROWS(8)
    }
}

static void reals_of_vectors(float *y, const kni_weights_row *r, int shift)
{
    int64_t i = 0;
    if (r->is_signed)
        for (; i + LANES <= r->k; i += LANES) vec_store(y + i, weights_at(r, i, shift, true));
    else
        for (; i + LANES <= r->k; i += LANES) vec_store(y + i, weights_at(r, i, shift, false));
    for (; i < r->k; i++) y[i] = weight(r, i);
}

#endif

static void multiply(float *sums, const float *x, int64_t x_row, int rows, const kni_weights_row *r)
{
#if VECTORS
    const int shift = shift_of(r);
    if (shift >= 0) {
        multiply_vectors(sums, x, x_row, rows, r, shift);
        return;
    }
#endif
    for (int j = 0; j < rows; j++) sums[j] = dot_of_blocks(x + j * x_row, r);
}

static void to_reals(float *y, const kni_weights_row *r)
{
#if VECTORS
    const int shift = shift_of(r);
    if (shift >= 0) {
        reals_of_vectors(y, r, shift);
        return;
    }
#endif
    reals_of_blocks(y, r);
}

const kni_weights_kernels KNI_TIER_FN(kni_weights_f32) = {multiply, to_reals};
