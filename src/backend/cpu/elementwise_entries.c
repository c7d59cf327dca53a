/* The CPU entries of rows with a body: their strips by tier and type. Each is an object of its own, so that a
   program links the kernels of the rows it uses. */
#include "backend/cpu/elementwise_types.h"
#include "backend/cpu/tier.h"
#include "ops/native.h"
#include "ops/op.h"

#define DECLARE(fn)                                                                                          \
    KNI_TIER_DECLARE(void, fn, (int64_t n, void *y, const void *const *in, const double *params))
#define DECLARE_STRIP(name, S) DECLARE(kni_strip_##name##_##S);
#define DECLARE_NO(name, S)
#define USE_STRIP(entry, name, S) entry(kni_strip_##name##_##S)
#define USE_NO(entry, name, S) NULL

#ifdef KNI_ONLY_F32_I32
#define DECLARE_WIDE_STRIP DECLARE_NO
#define USE_WIDE_STRIP USE_NO
#else
#define DECLARE_WIDE_STRIP DECLARE_STRIP
#define USE_WIDE_STRIP USE_STRIP
#endif

#define TYPES(entry, name, F32, F64, I32, I64, U64)                                                          \
    {                                                                                                        \
        [KNI_COMPUTE_F32] = USE_##F32(entry, name, f32), [KNI_COMPUTE_F64] = USE_##F64(entry, name, f64),    \
        [KNI_COMPUTE_I32] = USE_##I32(entry, name, i32), [KNI_COMPUTE_I64] = USE_##I64(entry, name, i64),    \
        [KNI_COMPUTE_U64] = USE_##U64(entry, name, u64)                                                      \
    }

#define ENTRY(name, F32, F64, I32, I64, U64)                                                                 \
    DECLARE_##F32(name, f32) DECLARE_##F64(name, f64) DECLARE_##I32(name, i32) DECLARE_##I64(name, i64)      \
        DECLARE_##U64(name,                                                                                  \
                      u64) static const kni_strip_fn strips_##name[KNI_ISA_COUNT][KNI_COMPUTE_COUNT] = {     \
            [KNI_ISA_SCALAR] = TYPES(KNI_TIER_ENTRY_SCALAR, name, F32, F64, I32, I64, U64),                  \
            [KNI_ISA_V2] = TYPES(KNI_TIER_ENTRY_V2, name, F32, F64, I32, I64, U64),                          \
            [KNI_ISA_V3] = TYPES(KNI_TIER_ENTRY_V3, name, F32, F64, I32, I64, U64),                          \
            [KNI_ISA_V4] = TYPES(KNI_TIER_ENTRY_V4, name, F32, F64, I32, I64, U64),                          \
            [KNI_ISA_NEON] = TYPES(KNI_TIER_ENTRY_NEON, name, F32, F64, I32, I64, U64),                      \
            [KNI_ISA_SIMD128] = TYPES(KNI_TIER_ENTRY_SIMD128, name, F32, F64, I32, I64, U64)};               \
    extern const kni_native kni_cpu_##name;                                                                  \
    const kni_native kni_cpu_##name = {.strips = strips_##name};

#include "backend/cpu/generated/elementwise_entries.inc"
