/* Quantizing f32 by one tier: extremes, bytes and back. All tiers give the same bits. */
#include "backend/cpu/quantize_kernels.h"
#include <string.h>

enum { LANES = 64 };

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

const kni_quantize_kernels KNI_TIER_FN(kni_quantize_f32) = {range,   to_bytes, to_reals,
                                                            combine, look_up,  permute};
