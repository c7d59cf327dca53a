#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#else
#pragma STDC FP_CONTRACT OFF
#endif
#define KNI_FUNCTION static inline
#define KNI_INLINE static inline __attribute__((always_inline))
#define KNI_TABLE constant
#define KNI_MAKE(type) type
#define KNI_INF_F32 as_type<float>(0x7f800000u)
#define KNI_NAN_F32 as_type<float>(0x7fc00000u)
#define KNI_SQRT_F32(x) metal::precise::sqrt(x)
#define KNI_LEADING_ZEROS(x) kni_leading_zeros(x)
KNI_INLINE uint32_t kni_bits_f32(float x) { return as_type<uint32_t>(x); }
KNI_INLINE float kni_from_bits_f32(uint32_t u) { return as_type<float>(u); }
KNI_INLINE int kni_leading_zeros(uint64_t x)
{
    uint32_t high = (uint32_t)(x >> 32);
    return (int)(high ? metal::clz(high) : 32 + metal::clz((uint32_t)x));
}
KNI_INLINE uint32_t kni_compare(volatile device uint32_t *word, uint32_t seen, uint32_t next)
{
    uint32_t old = seen;
    while (!metal::atomic_compare_exchange_weak_explicit((volatile device metal::atomic_uint *)word, &old, next,
        metal::memory_order_relaxed, metal::memory_order_relaxed) && old == seen) {}
    return old;
}
KNI_INLINE uint32_t kni_compare(volatile threadgroup uint32_t *word, uint32_t seen, uint32_t next)
{
    uint32_t old = seen;
    while (!metal::atomic_compare_exchange_weak_explicit((volatile threadgroup metal::atomic_uint *)word, &old, next,
        metal::memory_order_relaxed, metal::memory_order_relaxed) && old == seen) {}
    return old;
}
KNI_INLINE float kni_shuffle(float x, uint32_t by) { return metal::simd_shuffle_xor(x, (ushort)by); }
KNI_INLINE int32_t kni_shuffle(int32_t x, uint32_t by) { return metal::simd_shuffle_xor(x, (ushort)by); }
KNI_INLINE uint32_t kni_shuffle(uint32_t x, uint32_t by) { return metal::simd_shuffle_xor(x, (ushort)by); }
KNI_INLINE uint64_t kni_shuffle(uint64_t x, uint32_t by)
{
    return kni_shuffle((uint32_t)x, by) | (uint64_t)kni_shuffle((uint32_t)(x >> 32), by) << 32;
}
KNI_INLINE int64_t kni_shuffle(int64_t x, uint32_t by) { return (int64_t)kni_shuffle((uint64_t)x, by); }
KNI_FUNCTION int64_t kni_f32_to_i64(float v) { if (!(v >= (float)-9223372036854775808.0)) return v != v ? 0 : (-0x7fffffffffffffff - 1); return v >= (float)9223372036854775808.0 ? 0x7fffffffffffffff : (int64_t)v; }
KNI_INLINE int8_t kni_cast_i8_f32(float x) { return (int8_t)(kni_f32_to_i64(x)); }

typedef struct __attribute__((aligned(16))) kni_f32x4 {
    float s0, s1, s2, s3;
} kni_f32x4;
typedef struct __attribute__((aligned(16))) kni_i32x4 {
    int32_t s0, s1, s2, s3;
} kni_i32x4;

struct kn_masked_params {
    int64_t u_items;
    int64_t u_offset_x;
    int64_t u_offset_y;
    int64_t u_offset_z;
    int64_t u_n;
};

kernel void kn_masked(device const float *u_x [[buffer(0)]], device float *u_y [[buffer(1)]], device int8_t *u_z [[buffer(2)]], constant kn_masked_params &p [[buffer(3)]], uint3 kni_group [[threadgroup_position_in_grid]], uint3 kni_member [[thread_position_in_threadgroup]], uint3 kni_members [[threads_per_threadgroup]])
{
    const int64_t item = (int64_t)kni_group.x * kni_members.x + kni_member.x;
    if (item >= p.u_items) return;
    const int64_t t1 = item - 3;
    const float t2 = t1 >= 0 && t1 < p.u_n ? u_x[t1 + p.u_offset_x] : -1.0f;
    if (t2 != -1.0f) u_z[item + p.u_offset_z] = kni_cast_i8_f32(t2);
    const int64_t t3 = item * 4;
    const kni_i32x4 t4 = KNI_MAKE(kni_i32x4){t3 + 0 < p.u_n, t3 + 1 < p.u_n, t3 + 2 < p.u_n, t3 + 3 < p.u_n};
    const int64_t t5 = t3 + p.u_offset_x;
    const kni_f32x4 t6 = KNI_MAKE(kni_f32x4){t4.s0 ? u_x[t5] : t2, t4.s1 ? u_x[t5 + 1] : t2, t4.s2 ? u_x[t5 + 2] : t2, t4.s3 ? u_x[t5 + 3] : t2};
    const int64_t t7 = t3 + p.u_offset_y;
    if (t4.s0) u_y[t7] = t6.s0 * 2.0f;
    if (t4.s1) u_y[t7 + 1] = t6.s1 * 2.0f;
    if (t4.s2) u_y[t7 + 2] = t6.s2 * 2.0f;
    if (t4.s3) u_y[t7 + 3] = t6.s3 * 2.0f;
}
