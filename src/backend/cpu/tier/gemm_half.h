/* Lines of 16-bit floats to and from f32, while a GEMM packs its operands and stores its result. The same values
   on all tiers. */
#ifndef KNI_BACKEND_CPU_TIER_GEMM_HALF_H
#define KNI_BACKEND_CPU_TIER_GEMM_HALF_H

#include "backend/cpu/gemm.h"
#include "core/math/half.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

/* dst[j] = src[j * step] for n elements. */
static inline void floats_from(float *dst, const void *src, kni_gemm_type type, int64_t step, int64_t n)
{
    const uint16_t *half = src;
    int64_t j = 0;
    if (type == KNI_GEMM_BF16) {
        if (step == 1)
            for (; j < n; j++) dst[j] = kni_bf16_to_f32(half[j]);
        for (; j < n; j++) dst[j] = kni_bf16_to_f32(half[j * step]);
        return;
    }
#if defined(__F16C__)
    for (; step == 1 && j + 8 <= n; j += 8)
        _mm256_storeu_ps(dst + j,
                         _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(half + j))));
#endif
    for (; j < n; j++) dst[j] = kni_f16_to_f32(half[j * step]);
}

/* dst[j * step] = src[j] for n elements. */
static inline void floats_to(void *dst, const float *src, kni_gemm_type type, int64_t step, int64_t n)
{
    uint16_t *half = dst;
    int64_t j = 0;
    if (type == KNI_GEMM_BF16) {
        if (step == 1)
            for (; j < n; j++) half[j] = kni_f32_to_bf16(src[j]);
        for (; j < n; j++) half[j * step] = kni_f32_to_bf16(src[j]);
        return;
    }
#if defined(__F16C__)
    for (; step == 1 && j + 8 <= n; j += 8)
        _mm_storeu_si128((__m128i *)(void *)(half + j),
                         _mm256_cvtps_ph(_mm256_loadu_ps(src + j), _MM_FROUND_TO_NEAREST_INT));
#endif
    for (; j < n; j++) half[j * step] = kni_f32_to_f16(src[j]);
}

#endif
