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
KNI_INLINE float kni_f16_to_f32(uint16_t x) { return (float)as_type<half>(x); }
KNI_INLINE uint16_t kni_f32_to_f16(float x) { return as_type<uint16_t>((half)x); }
KNI_INLINE uint16_t kni_f32_to_bf16(float x)
{
    uint32_t u = kni_bits_f32(x);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    uint32_t quiet = (u >> 16) | 0x40u;
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}
KNI_INLINE uint16_t kni_cast_f16_f32(float x) { return (uint16_t)(kni_f32_to_f16(x)); }
KNI_INLINE uint16_t kni_cast_bf16_f32(float x) { return (uint16_t)(kni_f32_to_bf16(x)); }
KNI_INLINE float kni_cast_f32_f16(uint16_t x) { return (float)(kni_f16_to_f32(x)); }

struct kn_halves_params {
    int64_t u_items;
    int64_t u_offset_x;
    int64_t u_offset_s;
    int64_t u_offset_y;
    int64_t u_offset_t;
};

kernel void kn_halves(device const uint16_t *u_x [[buffer(0)]], device const float *u_s [[buffer(1)]], device uint16_t *u_y [[buffer(2)]], device uint8_t *u_t [[buffer(3)]], constant kn_halves_params &p [[buffer(4)]], uint3 kni_group [[threadgroup_position_in_grid]], uint3 kni_member [[thread_position_in_threadgroup]], uint3 kni_members [[threads_per_threadgroup]])
{
    const int64_t item = (int64_t)kni_group.x * kni_members.x + kni_member.x;
    if (item >= p.u_items) return;
    const float t1 = kni_cast_f32_f16(kni_cast_f16_f32(kni_cast_f32_f16(u_x[item + p.u_offset_x]) * u_s[item + p.u_offset_s]));
    u_y[item + p.u_offset_y] = kni_cast_bf16_f32(t1);
    u_t[item + p.u_offset_t] = (uint8_t)(t1 > 0.5f);
}
