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

/* The sum with `whole` has no fraction, and its lowest bits are those of the number. */
static void to_bytes(uint8_t *restrict y, const float *restrict x, int64_t n, float scale, float zero)
{
    const float whole = 0x1.8p23f;
    for (int64_t i = 0; i < n; i++) {
        float v = (x[i] / scale + whole) - whole + zero;
        v = v > 0 ? v : 0;
        v = v < 255 ? v : 255;
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

const kni_quantize_kernels KNI_TIER_FN(kni_quantize_f32) = {range, to_bytes, dot, to_reals};
