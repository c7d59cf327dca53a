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
KNI_INLINE float kni_horner4_f32(float p, float x, float c3, float c2, float c1, float c0)
{
    return (((p * x + c3) * x + c2) * x + c1) * x + c0;
}
KNI_INLINE float kni_scale_f32(float y, float k)
{
    const float magic = 0x1.8p23f + 127.0f;
    float first = k * 0.5f + magic;
    float second = (k - (first - magic)) + magic;
    return y * kni_from_bits_f32(kni_bits_f32(first) << 23) * kni_from_bits_f32(kni_bits_f32(second) << 23);
}
KNI_INLINE float kni_exp_kernel_f32(float r)
{
    float q = 0.00139505649f;
    q = kni_horner4_f32(q, r, 0.00836898666f, 0.041666206f, 0.166665182f, 0.5f);
    float s = 1.0f + r;
    return s + (((1.0f - s) + r) + r * r * q);
}
KNI_INLINE float kni_exp2_f32(float x)
{
    float c = x < -160.0f ? -160.0f : x;
    c = c > 130.0f ? 130.0f : c;
    float k = (c + 0x1.8p23f) - 0x1.8p23f;
    return kni_scale_f32(kni_exp_kernel_f32((c - k) * 0.693147182f), k);
}
KNI_INLINE float kni_word_exp2_f32(float a) { return (float)(kni_exp2_f32(a)); }

struct kn_near_words_params {
    int64_t u_items;
    int64_t u_offset_x;
    int64_t u_offset_y;
};

kernel void kn_near_words(device const float *u_x [[buffer(0)]], device float *u_y [[buffer(1)]], constant kn_near_words_params &p [[buffer(2)]], uint3 kni_group [[threadgroup_position_in_grid]], uint3 kni_member [[thread_position_in_threadgroup]], uint3 kni_members [[threads_per_threadgroup]])
{
    const int64_t item = (int64_t)kni_group.x * kni_members.x + kni_member.x;
    if (item >= p.u_items) return;
    u_y[item + p.u_offset_y] = 1.0f / (1.0f + kni_word_exp2_f32(u_x[item + p.u_offset_x]));
}
