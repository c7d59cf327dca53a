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
KNI_FUNCTION float kni_larger_f32(float a, float b) { float m = a > b ? a : b; return a != a ? a : m; }
KNI_INLINE float kni_word_max_f32(float a, float b) { return (float)(kni_larger_f32(a, b)); }

[[max_total_threads_per_threadgroup(64)]]
kernel void kn_subgroups(device const float *u_x [[buffer(0)]], device float *u_y [[buffer(1)]], uint3 kni_group [[threadgroup_position_in_grid]], uint3 kni_groups [[threadgroups_per_grid]], uint3 kni_member [[thread_position_in_threadgroup]], uint kni_lane [[thread_index_in_simdgroup]])
{
    const int64_t group = kni_group.x;
    const int64_t group1 = kni_group.y;
    const int64_t groups = kni_groups.x;
    const int32_t member = (int32_t)kni_member.x;
    const int32_t lane = (int32_t)kni_lane;
    const int64_t t1 = (group1 * groups + group) * 64 + (int64_t)member;
    const float t2 = u_x[t1];
    const float t3 = kni_shuffle(t2, (uint32_t)16);
    const float t4 = t2 + t3;
    const float t5 = kni_shuffle(t4, (uint32_t)8);
    const float t6 = t4 + t5;
    const float t7 = kni_shuffle(t6, (uint32_t)4);
    const float t8 = t6 + t7;
    const float t9 = kni_shuffle(t8, (uint32_t)2);
    const float t10 = t8 + t9;
    const float t11 = kni_shuffle(t10, (uint32_t)1);
    float v1 = t10 + t11;
    const float t12 = kni_shuffle(t2, (uint32_t)16);
    const float t13 = kni_word_max_f32(t2, t12);
    const float t14 = kni_shuffle(t13, (uint32_t)8);
    const float t15 = kni_word_max_f32(t13, t14);
    const float t16 = kni_shuffle(t15, (uint32_t)4);
    const float t17 = kni_word_max_f32(t15, t16);
    const float t18 = kni_shuffle(t17, (uint32_t)2);
    const float t19 = kni_word_max_f32(t17, t18);
    const float t20 = kni_shuffle(t19, (uint32_t)1);
    float v2 = kni_word_max_f32(t19, t20);
    const float t21 = kni_shuffle(t2, (uint32_t)1);
    u_y[t1] = v1 - v2 + t21 * (float)lane;
}
