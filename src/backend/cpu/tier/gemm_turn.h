/* Turning of small squares, by tier: what runs along the depth in memory is wanted across it in registers. */
#ifndef KNI_BACKEND_CPU_TIER_GEMM_TURN_H
#define KNI_BACKEND_CPU_TIER_GEMM_TURN_H

#include "backend/cpu/tier/gemm_simd.h"

#if defined(KNI_TIER_V3) || defined(KNI_TIER_V4)
enum { SQUARE = 32 / (int)sizeof(real), SMALL_SQUARE = 16 / (int)sizeof(real) };
#else
enum { SQUARE = 16 / (int)sizeof(real), SMALL_SQUARE = SQUARE };
#endif

/* One line of a square; may be narrower than the tier's vectors, because turning wide ones costs more. */
typedef real line __attribute__((vector_size(SQUARE * sizeof(real))));
typedef real line_in_memory
    __attribute__((vector_size(SQUARE * sizeof(real)), aligned(sizeof(real)), may_alias));

static inline line line_load(const real *p) { return *(const line_in_memory *)p; }
static inline void line_store(real *p, line x) { *(line_in_memory *)p = x; }

/* x * y + sum in every lane, as vec_multiply_add does it. */
static inline __attribute__((always_inline)) line line_multiply_add(real x, line y, line sum, int separate)
{
#if (defined(KNI_TIER_V3) || defined(KNI_TIER_V4)) && defined(KNI_GEMM_REAL_F64)
    if (!separate) return (line)_mm256_fmadd_pd(_mm256_set1_pd(x), (__m256d)y, (__m256d)sum);
#elif defined(KNI_TIER_V3) || defined(KNI_TIER_V4)
    if (!separate) return (line)_mm256_fmadd_ps(_mm256_set1_ps(x), (__m256)y, (__m256)sum);
#elif defined(KNI_TIER_NEON)
    return (line)vec_multiply_add(vec_all(x), (vec)y, (vec)sum, separate);
#endif
    (void)separate;
    return x * y + sum;
}

/* out[j][i] = src[i * src_row + j]: the columns of a square whose rows lie src_row apart. */
static inline __attribute__((always_inline)) void load_turned(line out[SQUARE], const real *src,
                                                              int64_t src_row)
{
#if (defined(KNI_TIER_V3) || defined(KNI_TIER_V4)) && defined(KNI_GEMM_REAL_F64)
#define HALVES(i, j)                                                                                         \
    _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(src + i * src_row + j)),                        \
                         _mm_loadu_pd(src + (i + 2) * src_row + j), 1)
    const __m256d r0 = HALVES(0, 0), r1 = HALVES(1, 0), r2 = HALVES(0, 2), r3 = HALVES(1, 2);
    out[0] = (line)_mm256_unpacklo_pd(r0, r1);
    out[1] = (line)_mm256_unpackhi_pd(r0, r1);
    out[2] = (line)_mm256_unpacklo_pd(r2, r3);
    out[3] = (line)_mm256_unpackhi_pd(r2, r3);
#undef HALVES
#elif defined(KNI_TIER_V3) || defined(KNI_TIER_V4)
#define QUARTERS(i, j)                                                                                       \
    _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(src + i * src_row + j)),                        \
                         _mm_loadu_ps(src + (i + 4) * src_row + j), 1)
#define HALF_SQUARE(j)                                                                                       \
    {                                                                                                        \
        const __m256 r0 = QUARTERS(0, j), r1 = QUARTERS(1, j), r2 = QUARTERS(2, j), r3 = QUARTERS(3, j);     \
        const __m256 t0 = _mm256_unpacklo_ps(r0, r1), t1 = _mm256_unpackhi_ps(r0, r1);                       \
        const __m256 t2 = _mm256_unpacklo_ps(r2, r3), t3 = _mm256_unpackhi_ps(r2, r3);                       \
        out[j] = (line)_mm256_shuffle_ps(t0, t2, 0x44);                                                      \
        out[j + 1] = (line)_mm256_shuffle_ps(t0, t2, 0xee);                                                  \
        out[j + 2] = (line)_mm256_shuffle_ps(t1, t3, 0x44);                                                  \
        out[j + 3] = (line)_mm256_shuffle_ps(t1, t3, 0xee);                                                  \
    }
    HALF_SQUARE(0)
    HALF_SQUARE(4)
#undef HALF_SQUARE
#undef QUARTERS
#elif defined(KNI_TIER_V2) && defined(KNI_GEMM_REAL_F64)
    const __m128d r0 = _mm_loadu_pd(src), r1 = _mm_loadu_pd(src + src_row);
    out[0] = (line)_mm_unpacklo_pd(r0, r1);
    out[1] = (line)_mm_unpackhi_pd(r0, r1);
#elif defined(KNI_TIER_V2)
    __m128 r0 = _mm_loadu_ps(src), r1 = _mm_loadu_ps(src + src_row);
    __m128 r2 = _mm_loadu_ps(src + 2 * src_row), r3 = _mm_loadu_ps(src + 3 * src_row);
    _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
    out[0] = (line)r0;
    out[1] = (line)r1;
    out[2] = (line)r2;
    out[3] = (line)r3;
#elif defined(KNI_TIER_NEON) && defined(KNI_GEMM_REAL_F64)
    const float64x2_t r0 = vld1q_f64(src), r1 = vld1q_f64(src + src_row);
    out[0] = (line)vzip1q_f64(r0, r1);
    out[1] = (line)vzip2q_f64(r0, r1);
#elif defined(KNI_TIER_NEON)
    const float32x4_t r0 = vld1q_f32(src), r1 = vld1q_f32(src + src_row);
    const float32x4_t r2 = vld1q_f32(src + 2 * src_row), r3 = vld1q_f32(src + 3 * src_row);
    const float64x2_t t0 = vreinterpretq_f64_f32(vtrn1q_f32(r0, r1)),
                      t1 = vreinterpretq_f64_f32(vtrn2q_f32(r0, r1));
    const float64x2_t t2 = vreinterpretq_f64_f32(vtrn1q_f32(r2, r3)),
                      t3 = vreinterpretq_f64_f32(vtrn2q_f32(r2, r3));
    out[0] = (line)vzip1q_f64(t0, t2);
    out[1] = (line)vzip1q_f64(t1, t3);
    out[2] = (line)vzip2q_f64(t0, t2);
    out[3] = (line)vzip2q_f64(t1, t3);
#else
    for (int j = 0; j < SQUARE; j++) {
        real column[SQUARE];
        for (int i = 0; i < SQUARE; i++) column[i] = src[i * src_row + j];
        out[j] = line_load(column);
    }
#endif
}

/* dst[j * dst_row + i] = src[i * src_row + j] for a square. */
static inline void transpose_square(real *dst, int64_t dst_row, const real *src, int64_t src_row)
{
    line turned[SQUARE];
    load_turned(turned, src, src_row);
    for (int j = 0; j < SQUARE; j++) line_store(dst + j * dst_row, turned[j]);
}

/* The same for a small square, where there are not enough rows for a whole one. */
static inline void transpose_small(real *dst, int64_t dst_row, const real *src, int64_t src_row)
{
#if (defined(KNI_TIER_V3) || defined(KNI_TIER_V4)) && defined(KNI_GEMM_REAL_F64)
    const __m128d r0 = _mm_loadu_pd(src), r1 = _mm_loadu_pd(src + src_row);
    _mm_storeu_pd(dst, _mm_unpacklo_pd(r0, r1));
    _mm_storeu_pd(dst + dst_row, _mm_unpackhi_pd(r0, r1));
#elif defined(KNI_TIER_V3) || defined(KNI_TIER_V4)
    __m128 r0 = _mm_loadu_ps(src), r1 = _mm_loadu_ps(src + src_row);
    __m128 r2 = _mm_loadu_ps(src + 2 * src_row), r3 = _mm_loadu_ps(src + 3 * src_row);
    _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
    _mm_storeu_ps(dst, r0);
    _mm_storeu_ps(dst + dst_row, r1);
    _mm_storeu_ps(dst + 2 * dst_row, r2);
    _mm_storeu_ps(dst + 3 * dst_row, r3);
#else
    transpose_square(dst, dst_row, src, src_row);
#endif
}

#endif
