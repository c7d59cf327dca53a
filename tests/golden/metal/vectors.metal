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
KNI_INLINE uint16_t kni_f32_to_bf16(float x)
{
    uint32_t u = kni_bits_f32(x);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    uint32_t quiet = (u >> 16) | 0x40u;
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}
KNI_INLINE uint16_t kni_cast_bf16_f32(float x) { return (uint16_t)(kni_f32_to_bf16(x)); }
KNI_INLINE float kni_cast_f32_f16(uint16_t x) { return (float)(kni_f16_to_f32(x)); }

typedef struct __attribute__((aligned(16))) kni_f32x4 {
    float s0, s1, s2, s3;
} kni_f32x4;
typedef struct __attribute__((aligned(16))) kni_f32x8 {
    float s0, s1, s2, s3, s4, s5, s6, s7;
} kni_f32x8;
typedef struct __attribute__((aligned(16))) kni_u16x8 {
    uint16_t s0, s1, s2, s3, s4, s5, s6, s7;
} kni_u16x8;

struct kn_vectors_params {
    int64_t u_items;
    int64_t u_offset_x;
    int64_t u_offset_h;
    int64_t u_offset_y;
    int64_t u_offset_g;
    int64_t u_n;
};

kernel void kn_vectors(device const float *u_x [[buffer(0)]], device const uint16_t *u_h [[buffer(1)]], device float *u_y [[buffer(2)]], device uint16_t *u_g [[buffer(3)]], constant kn_vectors_params &p [[buffer(4)]], uint3 kni_group [[threadgroup_position_in_grid]], uint3 kni_member [[thread_position_in_threadgroup]], uint3 kni_members [[threads_per_threadgroup]])
{
    const int64_t item = (int64_t)kni_group.x * kni_members.x + kni_member.x;
    if (item >= p.u_items) return;
    const int64_t t1 = item * 4;
    const int t2 = t1 < p.u_n;
    const int64_t t3 = t1 + p.u_offset_x;
    kni_f32x4 t4 = KNI_MAKE(kni_f32x4){1.0f, 1.0f, 1.0f, 1.0f};
    if (t2) {
        t4 = *(device const kni_f32x4 *)(u_x + t3);
    }
    const kni_f32x4 t5 = KNI_MAKE(kni_f32x4){t4.s0 * t4.s0 + 0.25f, t4.s1 * t4.s1 + 0.25f, t4.s2 * t4.s2 + 0.25f, t4.s3 * t4.s3 + 0.25f};
    const int64_t t6 = t1 + p.u_offset_y;
    if (t2) *(device kni_f32x4 *)(u_y + t6) = KNI_MAKE(kni_f32x4){t4.s0 < 0.0f ? -t5.s0 : t5.s0, t4.s1 < 0.0f ? -t5.s1 : t5.s1, t4.s2 < 0.0f ? -t5.s2 : t5.s2, t4.s3 < 0.0f ? -t5.s3 : t5.s3};
    const int64_t t7 = item * 8;
    const int64_t t8 = t7 + p.u_offset_h;
    const kni_u16x8 t9_raw = *(device const kni_u16x8 *)(u_h + t8);
    const kni_f32x8 t9 = KNI_MAKE(kni_f32x8){kni_cast_f32_f16(t9_raw.s0), kni_cast_f32_f16(t9_raw.s1), kni_cast_f32_f16(t9_raw.s2), kni_cast_f32_f16(t9_raw.s3), kni_cast_f32_f16(t9_raw.s4), kni_cast_f32_f16(t9_raw.s5), kni_cast_f32_f16(t9_raw.s6), kni_cast_f32_f16(t9_raw.s7)};
    const kni_f32x8 t10 = KNI_MAKE(kni_f32x8){t9.s0 * t9.s7, t9.s1 * t9.s6, t9.s2 * t9.s5, t9.s3 * t9.s4, t9.s4 * t9.s3, t9.s5 * t9.s2, t9.s6 * t9.s1, t9.s7 * t9.s0};
    const int64_t t11 = t7 + p.u_offset_g;
    *(device kni_u16x8 *)(u_g + t11) = KNI_MAKE(kni_u16x8){kni_cast_bf16_f32(t10.s0), kni_cast_bf16_f32(t10.s1), kni_cast_bf16_f32(t10.s2), kni_cast_bf16_f32(t10.s3), kni_cast_bf16_f32(t10.s4), kni_cast_bf16_f32(t10.s5), kni_cast_bf16_f32(t10.s6), kni_cast_bf16_f32(t10.s7)};
}
