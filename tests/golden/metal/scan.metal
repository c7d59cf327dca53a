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
KNI_INLINE int64_t kni_cast_i64_f32(float x) { return (int64_t)(kni_f32_to_i64(x)); }

[[max_total_threads_per_threadgroup(48)]]
kernel void kn_scan(device const float *u_x [[buffer(0)]], device float *u_y [[buffer(1)]], device int64_t *u_z [[buffer(2)]], uint3 kni_group [[threadgroup_position_in_grid]], uint3 kni_member [[thread_position_in_threadgroup]])
{
    threadgroup float u_scratch_f32[48];
    threadgroup float u_scratch_other_f32[48];
    threadgroup int64_t u_scratch_i64[48];
    threadgroup int64_t u_scratch_other_i64[48];
    const int64_t group = kni_group.x;
    const int32_t member = (int32_t)kni_member.x;
    const int64_t t1 = group * 48 + (int64_t)member;
    const float t2 = u_x[t1];
    u_scratch_f32[member] = t2;
    metal::threadgroup_barrier(metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup);
    const int t3 = member >= 1;
    float v1 = t3 ? (t3 ? u_scratch_f32[member - 1] : t2) + t2 : t2;
    const float t4 = v1;
    u_scratch_other_f32[member] = t4;
    metal::threadgroup_barrier(metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup);
    const int t5 = member >= 2;
    float v2 = t5 ? (t5 ? u_scratch_other_f32[member - 2] : t4) + t4 : t4;
    const float t6 = v2;
    u_scratch_f32[member] = t6;
    metal::threadgroup_barrier(metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup);
    const int t7 = member >= 4;
    float v3 = t7 ? (t7 ? u_scratch_f32[member - 4] : t6) + t6 : t6;
    const float t8 = v3;
    u_scratch_other_f32[member] = t8;
    metal::threadgroup_barrier(metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup);
    const int t9 = member >= 8;
    float v4 = t9 ? (t9 ? u_scratch_other_f32[member - 8] : t8) + t8 : t8;
    const float t10 = v4;
    u_scratch_f32[member] = t10;
    metal::threadgroup_barrier(metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup);
    const int t11 = member >= 16;
    float v5 = t11 ? (t11 ? u_scratch_f32[member - 16] : t10) + t10 : t10;
    const float t12 = v5;
    u_scratch_other_f32[member] = t12;
    metal::threadgroup_barrier(metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup);
    const int t13 = member >= 32;
    float v6 = t13 ? (t13 ? u_scratch_other_f32[member - 32] : t12) + t12 : t12;
    const float t14 = v6;
    u_scratch_f32[member] = t14;
    metal::threadgroup_barrier(metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup);
    float v7 = t14;
    u_y[t1] = v7;
    const int64_t t15 = kni_cast_i64_f32(t2);
    u_scratch_i64[member] = t15;
    metal::threadgroup_barrier(metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup);
    const int t16 = member >= 1;
    int64_t v8 = t16 ? (int64_t)((uint64_t)(t16 ? u_scratch_i64[member - 1] : t15) * (uint64_t)t15) : t15;
    const int64_t t17 = v8;
    u_scratch_other_i64[member] = t17;
    metal::threadgroup_barrier(metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup);
    const int t18 = member >= 2;
    int64_t v9 = t18 ? (int64_t)((uint64_t)(t18 ? u_scratch_other_i64[member - 2] : t17) * (uint64_t)t17) : t17;
    const int64_t t19 = v9;
    u_scratch_i64[member] = t19;
    metal::threadgroup_barrier(metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup);
    const int t20 = member >= 4;
    int64_t v10 = t20 ? (int64_t)((uint64_t)(t20 ? u_scratch_i64[member - 4] : t19) * (uint64_t)t19) : t19;
    const int64_t t21 = v10;
    u_scratch_other_i64[member] = t21;
    metal::threadgroup_barrier(metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup);
    const int t22 = member >= 8;
    int64_t v11 = t22 ? (int64_t)((uint64_t)(t22 ? u_scratch_other_i64[member - 8] : t21) * (uint64_t)t21) : t21;
    const int64_t t23 = v11;
    u_scratch_i64[member] = t23;
    metal::threadgroup_barrier(metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup);
    const int t24 = member >= 16;
    int64_t v12 = t24 ? (int64_t)((uint64_t)(t24 ? u_scratch_i64[member - 16] : t23) * (uint64_t)t23) : t23;
    const int64_t t25 = v12;
    u_scratch_other_i64[member] = t25;
    metal::threadgroup_barrier(metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup);
    const int t26 = member >= 32;
    int64_t v13 = t26 ? (int64_t)((uint64_t)(t26 ? u_scratch_other_i64[member - 32] : t25) * (uint64_t)t25) : t25;
    const int64_t t27 = v13;
    u_scratch_i64[member] = t27;
    metal::threadgroup_barrier(metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup);
    int64_t v14 = t27;
    u_z[t1] = v14;
}
