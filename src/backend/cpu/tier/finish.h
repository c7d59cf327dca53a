/* What becomes of finished sums, by tier, with the bits of the elementwise rows. */
#ifndef KNI_BACKEND_CPU_TIER_FINISH_H
#define KNI_BACKEND_CPU_TIER_FINISH_H

#include "backend/cpu/finish_kind.h"
#include "backend/cpu/tier/gemm_simd.h"

/* a > b ? a : b and a < b ? a : b, but NaN where a is. */
#if defined(KNI_TIER_V4) && !defined(KNI_GEMM_REAL_F64)
static inline vec vec_larger(vec a, vec b)
{
    const __m512 x = (__m512)a;
    return (vec)_mm512_mask_mov_ps(_mm512_max_ps(x, (__m512)b), _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), x);
}

static inline vec vec_smaller(vec a, vec b)
{
    const __m512 x = (__m512)a;
    return (vec)_mm512_mask_mov_ps(_mm512_min_ps(x, (__m512)b), _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), x);
}
#elif defined(KNI_TIER_SCALAR)
static inline vec vec_larger(vec a, vec b) { return a != a || a > b ? a : b; }
static inline vec vec_smaller(vec a, vec b) { return a != a || a < b ? a : b; }
#else
#ifdef KNI_GEMM_REAL_F64
typedef int64_t choice __attribute__((vector_size(VECTOR_BYTES)));
#else
typedef int32_t choice __attribute__((vector_size(VECTOR_BYTES)));
#endif
static inline vec vec_choose(choice first, vec a, vec b)
{
    return (vec)((first & (choice)a) | (~first & (choice)b));
}
static inline vec vec_larger(vec a, vec b) { return vec_choose((choice)(a != a) | (choice)(a > b), a, b); }
static inline vec vec_smaller(vec a, vec b) { return vec_choose((choice)(a != a) | (choice)(a < b), a, b); }
#endif

static inline __attribute__((always_inline)) vec finish_vector(vec sum, const kni_finish *f,
                                                               const kni_finish_kind kind)
{
    if (kind >= KNI_FINISH_LOW) sum = vec_larger(sum, vec_all((real)f->low));
    if (kind == KNI_FINISH_BOTH) sum = vec_smaller(sum, vec_all((real)f->high));
    return sum;
}

/* (sum - mean) * scale + shift */
static inline vec map_vector(vec sum, const kni_finish *f, int64_t c)
{
    return (sum - vec_all((real)f->mean[c])) * vec_all((real)f->scale[c]) + vec_all((real)f->shift[c]);
}

static inline real finish_real(real sum, const kni_finish *f, const kni_finish_kind kind)
{
    const real low = (real)f->low, high = (real)f->high;
    if (kind >= KNI_FINISH_LOW) sum = sum != sum || sum > low ? sum : low;
    if (kind == KNI_FINISH_BOTH) sum = sum != sum || sum < high ? sum : high;
    return sum;
}

#endif
