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
KNI_INLINE float kni_bf16_to_f32(uint16_t half_) { return kni_from_bits_f32((uint32_t)half_ << 16); }
KNI_INLINE float kni_cast_f32_bf16(uint16_t x) { return (float)(kni_bf16_to_f32(x)); }

struct kn_tiles_bf16_params {
    int64_t u_depth;
};

[[max_total_threads_per_threadgroup(32)]]
kernel void kn_tiles_bf16(device const uint16_t *u_x [[buffer(0)]], device const uint16_t *u_y [[buffer(1)]], device float *u_z [[buffer(2)]], constant kn_tiles_bf16_params &p [[buffer(3)]], uint3 kni_group [[threadgroup_position_in_grid]], uint3 kni_member [[thread_position_in_threadgroup]], uint kni_lane [[thread_index_in_simdgroup]])
{
    float u_tile_f32[16];
    float u_tile_f32_1[128];
    float u_tile_f32_2[8];
    const int64_t group = kni_group.x;
    const int32_t member = (int32_t)kni_member.x;
    const int32_t lane = (int32_t)kni_lane;
    if (member / 32 == 0) {
        for (int64_t i1 = 0; i1 < 8; i1++) {
            u_tile_f32_2[i1] = 1.0f;
        }
        const int64_t t1 = group * 16 * p.u_depth;
        for (int64_t i2 = 0; i2 < p.u_depth; i2 += 16) {
            const int64_t t2 = t1 + i2;
            const int64_t t3 = (int64_t)lane / 2 * 1;
            for (int64_t i3 = 0; i3 < 1; i3++) {
                for (int64_t i4 = 0; i4 < 16; i4++) {
                    u_tile_f32[i3 * 16 + i4] = kni_cast_f32_bf16(u_x[t2 + (t3 + i3) * p.u_depth + i4]);
                }
            }
            const int64_t t4 = i2 * 16;
            const int64_t t5 = (int64_t)lane % 2 * 8;
            for (int64_t i5 = 0; i5 < 16; i5++) {
                for (int64_t i6 = 0; i6 < 8; i6++) {
                    u_tile_f32_1[i5 * 8 + i6] = kni_cast_f32_bf16(u_y[t4 + i5 * 16 + (t5 + i6)]);
                }
            }
            for (int64_t i7 = 0; i7 < 1; i7++) {
                for (int64_t i8 = 0; i8 < 8; i8++) {
                    const int64_t t6 = i7 * 8 + i8;
                    float v1 = u_tile_f32_2[t6];
                    for (int64_t i9 = 0; i9 < 16; i9++) {
                        v1 = v1 + u_tile_f32[i7 * 16 + i9] * u_tile_f32_1[i9 * 8 + i8];
                    }
                    u_tile_f32_2[t6] = v1;
                }
            }
        }
        const int64_t t7 = group * 256;
        const int64_t t8 = (int64_t)lane;
        const int64_t t9 = t8 / 2 * 1;
        const int64_t t10 = t8 % 2 * 8;
        for (int64_t i10 = 0; i10 < 1; i10++) {
            for (int64_t i11 = 0; i11 < 8; i11++) {
                u_z[t7 + (t9 + i10) * 16 + (t10 + i11)] = u_tile_f32_2[i10 * 8 + i11];
            }
        }
    }
}
