/* The instruction-set tiers of the CPU kernels. Every file under tier/ is compiled once per tier, with
   KNI_TIER_SUFFIX naming the tier and KNI_TIER_<NAME> set to 1; the library knows by KNI_HAVE_TIER_<NAME>
   which tiers were built. This header names functions by tier and collects them into tables. */
#ifndef KNI_BACKEND_CPU_TIER_H
#define KNI_BACKEND_CPU_TIER_H

#include <stddef.h>

/* From the plainest to the widest; a tier stands for all below it on its architecture. The names differ from
   the KNI_TIER_<NAME> that the build defines. */
typedef enum kni_tier {
    KNI_ISA_SCALAR,
    KNI_ISA_V2,
    KNI_ISA_V3,
    KNI_ISA_V4,
    KNI_ISA_NEON,
    KNI_ISA_SIMD128,
    KNI_ISA_COUNT
} kni_tier;

#define KNI_TIER_PASTE(name, suffix) name##_##suffix
#define KNI_TIER_EXPAND(name, suffix) KNI_TIER_PASTE(name, suffix)

/* Inside a file of tier/: the name of this tier's version of `name`. */
#define KNI_TIER_FN(name) KNI_TIER_EXPAND(name, KNI_TIER_SUFFIX)

#ifdef KNI_HAVE_TIER_SCALAR
#define KNI_TIER_ENTRY_SCALAR(fn) fn##_scalar
#else
#define KNI_TIER_ENTRY_SCALAR(fn) NULL
#endif
#ifdef KNI_HAVE_TIER_V2
#define KNI_TIER_ENTRY_V2(fn) fn##_v2
#else
#define KNI_TIER_ENTRY_V2(fn) NULL
#endif
#ifdef KNI_HAVE_TIER_V3
#define KNI_TIER_ENTRY_V3(fn) fn##_v3
#else
#define KNI_TIER_ENTRY_V3(fn) NULL
#endif
#ifdef KNI_HAVE_TIER_V4
#define KNI_TIER_ENTRY_V4(fn) fn##_v4
#else
#define KNI_TIER_ENTRY_V4(fn) NULL
#endif
#ifdef KNI_HAVE_TIER_NEON
#define KNI_TIER_ENTRY_NEON(fn) fn##_neon
#else
#define KNI_TIER_ENTRY_NEON(fn) NULL
#endif
#ifdef KNI_HAVE_TIER_SIMD128
#define KNI_TIER_ENTRY_SIMD128(fn) fn##_simd128
#else
#define KNI_TIER_ENTRY_SIMD128(fn) NULL
#endif

/* The initialiser of an array indexed by kni_tier: the function (or, with a leading &, the object) of each
   tier, NULL where the tier was not built. `static fn_type *const table[] = KNI_TIER_TABLE(kni_sum);` */
#define KNI_TIER_TABLE(fn)                                                                                   \
    {                                                                                                        \
        [KNI_ISA_SCALAR] = KNI_TIER_ENTRY_SCALAR(fn), [KNI_ISA_V2] = KNI_TIER_ENTRY_V2(fn),                  \
        [KNI_ISA_V3] = KNI_TIER_ENTRY_V3(fn), [KNI_ISA_V4] = KNI_TIER_ENTRY_V4(fn),                          \
        [KNI_ISA_NEON] = KNI_TIER_ENTRY_NEON(fn), [KNI_ISA_SIMD128] = KNI_TIER_ENTRY_SIMD128(fn)             \
    }

/* Declares `name` of every tier: KNI_TIER_DECLARE(extern const kni_kernels, kni_table, ) for an object,
   KNI_TIER_DECLARE(float, kni_sum, (const float *x, int64_t n)) for a function. */
#define KNI_TIER_DECLARE(type, name, params)                                                                 \
    type name##_scalar params;                                                                               \
    type name##_v2 params;                                                                                   \
    type name##_v3 params;                                                                                   \
    type name##_v4 params;                                                                                   \
    type name##_neon params;                                                                                 \
    type name##_simd128 params

#endif
