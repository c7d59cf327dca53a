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

struct kn_functions_params {
    int64_t u_items;
    int64_t u_offset_x;
    int64_t u_offset_y;
};

KNI_FUNCTION float user_polynomial(float a1, int32_t a2)
{
    float u_powers[4];
    u_powers[0] = 1.0f;
    for (int32_t i1 = 1; i1 < 4; i1++) {
        u_powers[i1] = u_powers[i1 - 1] * a1;
    }
    float v1 = 0.0f;
    for (int32_t i2 = 0; i2 < a2; i2++) {
        v1 = v1 + u_powers[i2];
    }
    return v1;
}

KNI_FUNCTION float user_clipped(float a1)
{
    if (a1 > 1.5f) {
        return 1.5f;
    }
    return user_polynomial(a1, 4);
}

kernel void kn_functions(device const float *u_x [[buffer(0)]], device float *u_y [[buffer(1)]], constant kn_functions_params &p [[buffer(2)]], uint3 kni_group [[threadgroup_position_in_grid]], uint3 kni_member [[thread_position_in_threadgroup]], uint3 kni_members [[threads_per_threadgroup]])
{
    const int64_t item = (int64_t)kni_group.x * kni_members.x + kni_member.x;
    if (item >= p.u_items) return;
    const float t1 = u_x[item + p.u_offset_x];
    u_y[item + p.u_offset_y] = user_clipped(t1) - user_polynomial(t1, 2);
}
