/* Quantizing f32 by one tier: extremes, bytes, and products of reals with bytes. All but the products give the same bits on all tiers. */
#include "backend/cpu/quantize_kernels.h"
#include <string.h>

enum { LANES = 64, DOT_LANES = 32 };

static bool range(const float *x, int64_t n, float bounds[2])
{
    float low[LANES], high[LANES];
    int32_t odd[LANES] = {0};
    int64_t i = 0;
    for (int l = 0; l < LANES; l++) low[l] = bounds[0], high[l] = bounds[1];
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++) {
            const float v = x[i + l];
            low[l] = v < low[l] ? v : low[l];
            high[l] = v > high[l] ? v : high[l];
            odd[l] |= !(v - v == 0);
        }
    for (int l = 0; i < n; i++, l++) {
        low[l] = x[i] < low[l] ? x[i] : low[l];
        high[l] = x[i] > high[l] ? x[i] : high[l];
        odd[l] |= !(x[i] - x[i] == 0);
    }
    bool finite = true;
    for (int l = 0; l < LANES; l++) {
        bounds[0] = low[l] < bounds[0] ? low[l] : bounds[0];
        bounds[1] = high[l] > bounds[1] ? high[l] : bounds[1];
        finite &= !odd[l];
    }
    return finite;
}

/* What is far outside of the range comes nearer first, so that the sum with `whole` has no fraction. */
static void to_bytes(uint8_t *restrict y, const float *restrict x, int64_t n, bool is_signed, float scale,
                     float zero)
{
    const float whole = 0x1.8p23f, low = is_signed ? -128 : 0, high = low + 255;
    for (int64_t i = 0; i < n; i++) {
        float v = x[i] / scale;
        v = v > -1024 ? v : -1024;
        v = v < 1024 ? v : 1024;
        v = (v + whole) - whole + zero;
        v = v > low ? v : low;
        v = v < high ? v : high;
        y[i] = (uint8_t)(int32_t)v;
    }
}

#define DEFINE_DOT(name, type)                                                                               \
    static float name(const float *restrict x, const type *restrict w, int64_t k, float zero)                \
    {                                                                                                        \
        float s[DOT_LANES] = {0}, sum = 0;                                                                   \
        int64_t i = 0;                                                                                       \
        for (; i + DOT_LANES <= k; i += DOT_LANES)                                                           \
            for (int l = 0; l < DOT_LANES; l++) s[l] += x[i + l] * ((float)w[i + l] - zero);                 \
        for (int half = DOT_LANES / 2; half > 0; half /= 2)                                                  \
            for (int l = 0; l < half; l++) s[l] += s[l + half];                                              \
        for (; i < k; i++) sum += x[i] * ((float)w[i] - zero);                                               \
        return s[0] + sum;                                                                                   \
    }
DEFINE_DOT(dot_unsigned, uint8_t)
DEFINE_DOT(dot_signed, int8_t)

enum { BLOCK_LANES = 16 };

/* What a block sums is scaled lane by lane. */
#define DEFINE_BLOCKS(name, type)                                                                            \
    static float name(const float *restrict x, const type *restrict w, int64_t k, int64_t block,             \
                      const float *restrict scales, const float *restrict zeros, int64_t zero_step)          \
    {                                                                                                        \
        float s[BLOCK_LANES] = {0};                                                                          \
        for (int64_t b = 0, from = 0; from < k; b++, from += block) {                                        \
            const int64_t end = from + block < k ? from + block : k;                                         \
            const float zero = zeros[b * zero_step], scale = scales[b];                                      \
            float t[BLOCK_LANES] = {0};                                                                      \
            int64_t i = from;                                                                                \
            for (; i + BLOCK_LANES <= end; i += BLOCK_LANES)                                                 \
                for (int l = 0; l < BLOCK_LANES; l++) t[l] += x[i + l] * ((float)w[i + l] - zero);           \
            for (int l = 0; i < end; i++, l++) t[l] += x[i] * ((float)w[i] - zero);                          \
            for (int l = 0; l < BLOCK_LANES; l++) s[l] += scale * t[l];                                      \
        }                                                                                                    \
        for (int half = BLOCK_LANES / 2; half > 0; half /= 2)                                                \
            for (int l = 0; l < half; l++) s[l] += s[l + half];                                              \
        return s[0];                                                                                         \
    }
DEFINE_BLOCKS(blocks_unsigned, uint8_t)
DEFINE_BLOCKS(blocks_signed, int8_t)

static float dot_blocks(const float *x, const uint8_t *w, int64_t k, int64_t block, bool is_signed,
                        const float *scales, const float *zeros, int64_t zero_step)
{
    if (is_signed) return blocks_signed(x, (const int8_t *)w, k, block, scales, zeros, zero_step);
    return blocks_unsigned(x, w, k, block, scales, zeros, zero_step);
}

static float dot(const float *x, const uint8_t *w, int64_t k, bool is_signed, float zero)
{
    return is_signed ? dot_signed(x, (const int8_t *)w, k, zero) : dot_unsigned(x, w, k, zero);
}

static void to_reals(float *restrict y, const uint8_t *restrict w, int64_t k, bool is_signed, float zero,
                     float scale)
{
    const int8_t *restrict v = (const int8_t *)w;
    if (is_signed)
        for (int64_t i = 0; i < k; i++) y[i] = ((float)v[i] - zero) * scale;
    else
        for (int64_t i = 0; i < k; i++) y[i] = ((float)w[i] - zero) * scale;
}

static void combine(float *restrict a, const float *restrict b, int64_t n, bool multiplies)
{
    if (multiplies)
        for (int64_t i = 0; i < n; i++) a[i] *= b[i];
    else
        for (int64_t i = 0; i < n; i++) a[i] += b[i];
}

static void look_up(uint8_t *y, const uint8_t *x, int64_t n, uint8_t flip, const uint8_t *table)
{
    for (int64_t i = 0; i < n; i++) y[i] = table[x[i] ^ flip];
}

#if defined(KNI_TIER_V4)
#include <immintrin.h>

/* The highest bit of a byte chooses between two tables of 128. */
__attribute__((target("avx512vbmi"))) static void permute(uint8_t *y, const uint8_t *x, int64_t n,
                                                          uint8_t flip, const uint8_t *table)
{
    const __m512i flips = _mm512_set1_epi8((char)flip);
    __m512i t[4];
    for (int i = 0; i < 4; i++) t[i] = _mm512_loadu_si512(table + 64 * i);
    for (int64_t i = 0; i < n; i += 64) {
        const __mmask64 left = n - i < 64 ? ((__mmask64)1 << (n - i)) - 1 : ~(__mmask64)0;
        const __m512i at = _mm512_xor_si512(_mm512_maskz_loadu_epi8(left, x + i), flips);
        const __m512i low = _mm512_permutex2var_epi8(t[0], at, t[1]),
                      high = _mm512_permutex2var_epi8(t[2], at, t[3]);
        _mm512_mask_storeu_epi8(y + i, left, _mm512_mask_blend_epi8(_mm512_movepi8_mask(at), low, high));
    }
}
#else
#define permute NULL
#endif

const kni_quantize_kernels KNI_TIER_FN(kni_quantize_f32) = {range,    to_bytes, dot,     dot_blocks,
                                                            to_reals, combine,  look_up, permute};
