/* The few vector operations that the GEMM kernels need, by tier, for the type `real` that the including file
   chooses with KNI_GEMM_REAL_F64. A vector is a compiler vector type, so + and * are written as such. */
#ifndef KNI_BACKEND_CPU_TIER_GEMM_SIMD_H
#define KNI_BACKEND_CPU_TIER_GEMM_SIMD_H

#include <stdint.h>
#include <string.h>

#if defined(KNI_TIER_V2) || defined(KNI_TIER_V3) || defined(KNI_TIER_V4)
#include <immintrin.h>
#elif defined(KNI_TIER_NEON)
#include <arm_neon.h>
#elif defined(KNI_TIER_SIMD128)
#include <wasm_simd128.h>
#endif

#ifdef KNI_GEMM_REAL_F64
typedef double real;
#else
typedef float real;
#endif

/* The register tile is TILE_ROWS x TILE_VECTORS vectors: as many sums as fit beside the operands. */
#if defined(KNI_TIER_V4)
enum { VECTOR_BYTES = 64, TILE_ROWS = 14, TILE_VECTORS = 2, BLOCK_PANELS = 8, BLOCK_STRIPS = 8 };
#elif defined(KNI_TIER_V3)
enum { VECTOR_BYTES = 32, TILE_ROWS = 6, TILE_VECTORS = 2, BLOCK_PANELS = 16, BLOCK_STRIPS = 16 };
#elif defined(KNI_TIER_V2) || defined(KNI_TIER_SIMD128)
enum { VECTOR_BYTES = 16, TILE_ROWS = 4, TILE_VECTORS = 2, BLOCK_PANELS = 16, BLOCK_STRIPS = 16 };
#elif defined(KNI_TIER_NEON)
enum { VECTOR_BYTES = 16, TILE_ROWS = 8, TILE_VECTORS = 2, BLOCK_PANELS = 12, BLOCK_STRIPS = 16 };
#else
enum {
    VECTOR_BYTES = (int)sizeof(real),
    TILE_ROWS = 4,
    TILE_VECTORS = 4,
    BLOCK_PANELS = 16,
    BLOCK_STRIPS = 16
};
#endif

enum { LANES = VECTOR_BYTES / (int)sizeof(real), TILE_COLUMNS = LANES * TILE_VECTORS };

#if defined(KNI_TIER_V2) || defined(KNI_TIER_V3) || defined(KNI_TIER_V4) || defined(KNI_TIER_NEON) ||        \
    defined(KNI_TIER_SIMD128)
typedef real vec __attribute__((vector_size(VECTOR_BYTES)));
typedef real vec_in_memory __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(real)), may_alias));
#else
typedef real vec;
typedef real vec_in_memory;
#endif

static inline vec vec_load(const real *p) { return *(const vec_in_memory *)p; }
static inline void vec_store(real *p, vec v) { *(vec_in_memory *)p = v; }

static inline vec vec_all(real x)
{
#if defined(KNI_TIER_V4) && defined(KNI_GEMM_REAL_F64)
    return (vec)_mm512_set1_pd(x);
#elif defined(KNI_TIER_V4)
    return (vec)_mm512_set1_ps(x);
#elif defined(KNI_TIER_V3) && defined(KNI_GEMM_REAL_F64)
    return (vec)_mm256_set1_pd(x);
#elif defined(KNI_TIER_V3)
    return (vec)_mm256_set1_ps(x);
#elif defined(KNI_TIER_V2) && defined(KNI_GEMM_REAL_F64)
    return (vec)_mm_set1_pd(x);
#elif defined(KNI_TIER_V2)
    return (vec)_mm_set1_ps(x);
#elif defined(KNI_TIER_NEON) && defined(KNI_GEMM_REAL_F64)
    return (vec)vdupq_n_f64(x);
#elif defined(KNI_TIER_NEON)
    return (vec)vdupq_n_f32(x);
#elif defined(KNI_TIER_SIMD128) && defined(KNI_GEMM_REAL_F64)
    return (vec)wasm_f64x2_splat(x);
#elif defined(KNI_TIER_SIMD128)
    return (vec)wasm_f32x4_splat(x);
#else
    return x;
#endif
}

/* a * b + c in one rounding where the tier has it; else, and where `separate`, in two. */
static inline __attribute__((always_inline)) vec vec_multiply_add(vec a, vec b, vec c, int separate)
{
    if (separate) return a * b + c;
#if defined(KNI_TIER_V4) && defined(KNI_GEMM_REAL_F64)
    return (vec)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(KNI_TIER_V4)
    return (vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(KNI_TIER_V3) && defined(KNI_GEMM_REAL_F64)
    return (vec)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(KNI_TIER_V3)
    return (vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(KNI_TIER_NEON) && defined(KNI_GEMM_REAL_F64)
    return (vec)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#elif defined(KNI_TIER_NEON)
    return (vec)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}

/* Whether the tier has a fused multiply-add, so that the separate kernels differ from the others. */
#if defined(KNI_TIER_V3) || defined(KNI_TIER_V4) || defined(KNI_TIER_NEON)
#define KNI_GEMM_FUSED 1
#else
#define KNI_GEMM_FUSED 0
#endif

#endif
