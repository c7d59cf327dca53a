/* Conversion between the 16-bit floats and f32 while a GEMM packs its operands and stores its result: exact
   upwards, to nearest even downwards, the same on all tiers. */
#ifndef KNI_BACKEND_CPU_TIER_GEMM_HALF_H
#define KNI_BACKEND_CPU_TIER_GEMM_HALF_H

#include "backend/cpu/gemm.h"

#include <string.h>
#if defined(__F16C__)
#include <immintrin.h>
#endif

static inline float bits_to_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t float_to_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float float_from_bf16(uint16_t h) { return bits_to_float((uint32_t)h << 16); }

static inline uint16_t bf16_from_float(float x)
{
    const uint32_t bits = float_to_bits(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40); /* stays a NaN */
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float float_from_f16(uint16_t h)
{
#if defined(__F16C__)
    return _cvtsh_ss(h);
#else
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = h & 0x7fff;
    if (magnitude > 0x7c00) return bits_to_float(sign | 0x7fc00000u | magnitude << 13);
    if (magnitude == 0x7c00) return bits_to_float(sign | 0x7f800000u);
    /* Moving the exponent into place by a multiplication also serves the subnormal numbers. */
    const float scaled = bits_to_float(magnitude << 13) * 0x1p112f;
    return bits_to_float(sign | float_to_bits(scaled));
#endif
}

static inline uint16_t f16_from_float(float x)
{
#if defined(__F16C__)
    return (uint16_t)_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT);
#else
    const uint32_t bits = float_to_bits(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= 0x477ff000u) return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x38800000u) { /* subnormal: an addition rounds at the last bit of the result */
        const uint32_t rounded = float_to_bits(bits_to_float(magnitude) + 0.5f);
        return (uint16_t)(sign | (rounded - 0x3f000000u));
    }
    return (uint16_t)(sign | ((magnitude - 0x38000000u + 0xfff + (magnitude >> 13 & 1)) >> 13));
#endif
}

/* dst[j] = src[j * step] for n elements. */
static inline void floats_from(float *dst, const void *src, kni_gemm_type type, int64_t step, int64_t n)
{
    const uint16_t *half = src;
    int64_t j = 0;
    if (type == KNI_GEMM_BF16) {
        if (step == 1)
            for (; j < n; j++) dst[j] = float_from_bf16(half[j]);
        for (; j < n; j++) dst[j] = float_from_bf16(half[j * step]);
        return;
    }
#if defined(__F16C__)
    for (; step == 1 && j + 8 <= n; j += 8)
        _mm256_storeu_ps(dst + j,
                         _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(half + j))));
#endif
    for (; j < n; j++) dst[j] = float_from_f16(half[j * step]);
}

/* dst[j * step] = src[j] for n elements. */
static inline void floats_to(void *dst, const float *src, kni_gemm_type type, int64_t step, int64_t n)
{
    uint16_t *half = dst;
    int64_t j = 0;
    if (type == KNI_GEMM_BF16) {
        if (step == 1)
            for (; j < n; j++) half[j] = bf16_from_float(src[j]);
        for (; j < n; j++) half[j * step] = bf16_from_float(src[j]);
        return;
    }
#if defined(__F16C__)
    for (; step == 1 && j + 8 <= n; j += 8)
        _mm_storeu_si128((__m128i *)(void *)(half + j),
                         _mm256_cvtps_ph(_mm256_loadu_ps(src + j), _MM_FROUND_TO_NEAREST_INT));
#endif
    for (; j < n; j++) half[j * step] = f16_from_float(src[j]);
}

#endif
