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

struct kn_rows_params {
    int64_t u_columns;
};

[[max_total_threads_per_threadgroup(64)]]
kernel void kn_rows(device const float *u_x [[buffer(0)]], device float *u_y [[buffer(1)]], constant kn_rows_params &p [[buffer(2)]], uint3 kni_group [[threadgroup_position_in_grid]], uint3 kni_member [[thread_position_in_threadgroup]], uint kni_lane [[thread_index_in_simdgroup]])
{
    threadgroup float u_scratch_f32[64];
    const int64_t group = kni_group.x;
    const int32_t member = (int32_t)kni_member.x;
    const int32_t lane = (int32_t)kni_lane;
    const int64_t t1 = (int64_t)member;
    const int64_t t2 = group * p.u_columns;
    float v1 = -KNI_INF_F32;
    float v2 = 0.0f;
    for (int64_t i1 = t1; i1 < p.u_columns; i1 += 64) {
        const float t3 = u_x[t2 + i1];
        v1 = kni_word_max_f32(v1, t3);
        v2 = v2 + t3;
    }
    const float t4 = kni_shuffle(v1, (uint32_t)16);
    const float t5 = kni_word_max_f32(v1, t4);
    const float t6 = kni_shuffle(t5, (uint32_t)8);
    const float t7 = kni_word_max_f32(t5, t6);
    const float t8 = kni_shuffle(t7, (uint32_t)4);
    const float t9 = kni_word_max_f32(t7, t8);
    const float t10 = kni_shuffle(t9, (uint32_t)2);
    const float t11 = kni_word_max_f32(t9, t10);
    const float t12 = kni_shuffle(t11, (uint32_t)1);
    if (lane == 0) u_scratch_f32[member / 32] = kni_word_max_f32(t11, t12);
    metal::threadgroup_barrier(metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup);
    float v3 = u_scratch_f32[lane & 1];
    metal::threadgroup_barrier(metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup);
    const float t13 = kni_shuffle(v3, (uint32_t)1);
    float v4 = kni_word_max_f32(v3, t13);
    const float t14 = v4;
    const float t15 = kni_shuffle(v2, (uint32_t)16);
    const float t16 = v2 + t15;
    const float t17 = kni_shuffle(t16, (uint32_t)8);
    const float t18 = t16 + t17;
    const float t19 = kni_shuffle(t18, (uint32_t)4);
    const float t20 = t18 + t19;
    const float t21 = kni_shuffle(t20, (uint32_t)2);
    const float t22 = t20 + t21;
    const float t23 = kni_shuffle(t22, (uint32_t)1);
    if (lane == 0) u_scratch_f32[member / 32] = t22 + t23;
    metal::threadgroup_barrier(metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup);
    float v5 = u_scratch_f32[lane & 1];
    metal::threadgroup_barrier(metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup);
    const float t24 = kni_shuffle(v5, (uint32_t)1);
    float v6 = v5 + t24;
    const float t25 = v6;
    for (int64_t i2 = t1; i2 < p.u_columns; i2 += 64) {
        const int64_t t26 = t2 + i2;
        u_y[t26] = (u_x[t26] - t14) / t25;
    }
}
