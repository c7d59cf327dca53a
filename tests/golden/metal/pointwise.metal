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
KNI_INLINE int64_t kni_word_rem_i64(int64_t a, int64_t b) { return (int64_t)((((b) == 0 || ((b) + 1 == 0 && (int64_t)-1 < 0) ? 0 : (a) % (b)) + (((b) == 0 || ((b) + 1 == 0 && (int64_t)-1 < 0) ? 0 : (a) % (b)) != 0 && ((a) < 0) != ((b) < 0) ? (b) : 0))); }

struct kn_pointwise_params {
    int64_t u_items;
    int64_t u_offset_x;
    int64_t u_offset_bias;
    int64_t u_offset_y;
    float u_scale;
    int64_t u_columns;
};

kernel void kn_pointwise(device const float *u_x [[buffer(0)]], device const float *u_bias [[buffer(1)]], device float *u_y [[buffer(2)]], constant kn_pointwise_params &p [[buffer(3)]], uint3 kni_group [[threadgroup_position_in_grid]], uint3 kni_member [[thread_position_in_threadgroup]], uint3 kni_members [[threads_per_threadgroup]])
{
    const int64_t item = (int64_t)kni_group.x * kni_members.x + kni_member.x;
    if (item >= p.u_items) return;
    u_y[item + p.u_offset_y] = kni_word_max_f32(u_x[item + p.u_offset_x] * p.u_scale + u_bias[kni_word_rem_i64(item, p.u_columns) + p.u_offset_bias], 0.0f) / 3.0f;
}
