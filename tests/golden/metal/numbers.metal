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
KNI_INLINE float kni_abs_f32(float x) { return kni_from_bits_f32(kni_bits_f32(x) & ~0x80000000u); }
KNI_INLINE float kni_fma_f32(float a, float b, float c) { return metal::fma(a, b, c); }
KNI_INLINE float kni_sqrt_f32(float x)
{
    return KNI_SQRT_F32(x);
}
KNI_INLINE float kni_word_abs_f32(float a) { return (float)(kni_abs_f32(a)); }
KNI_INLINE float kni_word_sqrt_f32(float a) { return (float)(kni_sqrt_f32(a)); }

typedef struct __attribute__((aligned(8))) kni_u32x2 {
    uint32_t s0, s1;
} kni_u32x2;

struct kn_numbers_params {
    uint32_t u_words[20];
};

KNI_FUNCTION uint32_t user_kni_soft_upper_product(uint32_t a1, uint32_t a2)
{
    const uint32_t t1 = a1 & 65535u;
    const uint32_t t2 = a1 >> 16u;
    const uint32_t t3 = a2 & 65535u;
    const uint32_t t4 = a2 >> 16u;
    const uint32_t t5 = t2 * t3 + (t1 * t3 >> 16u);
    return t2 * t4 + (t5 >> 16u) + (t1 * t4 + (t5 & 65535u) >> 16u);
}

KNI_FUNCTION uint32_t user_kni_soft_philox(uint32_t a1, uint32_t a2, uint32_t a3, uint32_t a4, uint32_t a5)
{
    uint32_t v1 = a1;
    uint32_t v2 = a2;
    uint32_t v3 = a3;
    uint32_t v4 = a4;
    uint32_t v5 = 0u;
    uint32_t v6 = 0u;
    int32_t v7 = 0;
    for (; v7 < 10; v7 = v7 + 1) {
        const uint32_t t1 = v3;
        const uint32_t t2 = v5;
        const uint32_t t3 = v1;
        v3 = user_kni_soft_upper_product(t2, 3449720151u) ^ v4 ^ t3;
        v4 = t2 * 3449720151u;
        const uint32_t t4 = v2;
        v5 = user_kni_soft_upper_product(t1, 3528531795u) ^ v6 ^ t4;
        v6 = t1 * 3528531795u;
        v1 = t3 + 2654435769u;
        v2 = t4 + 3144134277u;
    }
    const int t5 = !((a5 & 2u) == 0u);
    return !((a5 & 1u) == 0u) ? (t5 ? v6 : v4) : t5 ? v5 : v3;
}

KNI_FUNCTION int32_t user_kni_soft_exponent(uint32_t a1, uint32_t a2)
{
    return (int32_t)(a2 >> 20u & 2047u);
}

KNI_FUNCTION int32_t user_kni_soft_leading_zeros(uint32_t a1, uint32_t a2)
{
    const int t1 = a2 == 0u;
    const uint32_t t2 = t1 ? a1 : a2;
    const int t3 = t2 < 65536u;
    const uint32_t t4 = t3 ? t2 << 16u : t2;
    const int t5 = t4 < 16777216u;
    const uint32_t t6 = t5 ? t4 << 8u : t4;
    const int t7 = t6 < 268435456u;
    const uint32_t t8 = t7 ? t6 << 4u : t6;
    const int t9 = t8 < 1073741824u;
    const int32_t t10 = (int32_t)((uint32_t)(int32_t)((uint32_t)(int32_t)((uint32_t)(int32_t)((uint32_t)(int32_t)((uint32_t)(t1 ? 32 : 0) + (uint32_t)(t3 ? 16 : 0)) + (uint32_t)(t5 ? 8 : 0)) + (uint32_t)(t7 ? 4 : 0)) + (uint32_t)(t9 ? 2 : 0)) + (uint32_t)((t9 ? t8 << 2u : t8) < 2147483648u ? 1 : 0));
    return t10;
}

KNI_FUNCTION kni_u32x2 user_kni_soft_significand(uint32_t a1, uint32_t a2)
{
    const uint32_t t1 = a1 & 4294967295u;
    const uint32_t t2 = a2 & 1048575u;
    if (!(user_kni_soft_exponent(a1, a2) == 0)) {
        return KNI_MAKE(kni_u32x2){t1 << 11u, (t2 | 1048576u) << 11u | t1 >> 21u};
    }
    const int32_t t3 = user_kni_soft_leading_zeros(t1, t2);
    const uint32_t t4 = (uint32_t)t3;
    const uint32_t t5 = t4 & 31u;
    const uint32_t t6 = t1 << t5;
    const int t7 = t4 >= 32u;
    const int t8 = t4 < 64u && (uint32_t)(t3 >> 31) == 0u;
    const kni_u32x2 t9 = KNI_MAKE(kni_u32x2){t8 ? (t7 ? 0u : t6) : 0u, t8 ? (t7 ? t6 : t2 << t5 | t1 >> 1u >> 31u - t5) : 0u};
    return t9;
}

KNI_FUNCTION int32_t user_kni_soft_power(uint32_t a1, uint32_t a2)
{
    const int32_t t1 = user_kni_soft_exponent(a1, a2);
    if (!(t1 == 0)) {
        return (int32_t)((uint32_t)t1 - (uint32_t)1023);
    }
    return (int32_t)((uint32_t)(-1011) - (uint32_t)user_kni_soft_leading_zeros(a1 & 4294967295u, a2 & 1048575u));
}

KNI_FUNCTION kni_u32x2 user_kni_soft_shift_sticky(uint32_t a1, uint32_t a2, int32_t a3)
{
    if (63 < a3) {
        const int32_t t1 = a1 == 0u && a2 == 0u ? 0 : 1;
        return KNI_MAKE(kni_u32x2){(uint32_t)t1, (uint32_t)(t1 >> 31)};
    }
    const uint32_t t2 = (uint32_t)a3;
    const uint32_t t3 = t2 & 31u;
    const uint32_t t4 = 31u - t3;
    const uint32_t t5 = a2 >> t3;
    const int t6 = t2 >= 32u;
    const int t7 = t2 < 64u && (uint32_t)(a3 >> 31) == 0u;
    const uint32_t t8 = t7 ? (t6 ? t5 : a1 >> t3 | a2 << 1u << t4) : 0u;
    const uint32_t t9 = t7 ? (t6 ? 0u : t5) : 0u;
    const uint32_t t10 = t8 << t3;
    const uint32_t t11 = (t7 ? (t6 ? 0u : t10) : 0u) == a1 && (t7 ? (t6 ? t10 : t9 << t3 | t8 >> 1u >> t4) : 0u) == a2 ? t8 : t8 | 1u;
    return KNI_MAKE(kni_u32x2){t11, t9};
}

KNI_FUNCTION kni_u32x2 user_kni_soft_pack(uint32_t a1, uint32_t a2, int32_t a3, uint32_t a4, uint32_t a5)
{
    uint32_t v1 = a4;
    uint32_t v2 = a5;
    const int32_t t1 = (int32_t)((uint32_t)a3 + (uint32_t)1023);
    int32_t v3 = t1;
    if (2046 < t1) {
        return KNI_MAKE(kni_u32x2){a1, a2 | 2146435072u};
    }
    if (t1 < 1) {
        const kni_u32x2 t2 = user_kni_soft_shift_sticky(a4, a5, (int32_t)((uint32_t)1 - (uint32_t)t1));
        v1 = t2.s0;
        v2 = t2.s1;
        v3 = 1;
    }
    const uint32_t t3 = v1 & 1023u;
    const uint32_t t4 = v2 >> 10u;
    const uint32_t t5 = v1 >> 10u | v2 << 22u;
    uint32_t v4 = t5;
    uint32_t v5 = t4;
    if (512u < t3 || t3 == 512u && !((t5 & 1u) == 0u)) {
        const uint32_t t6 = t5 + 1u;
        v4 = t6;
        v5 = t4 + (t6 < t5 ? 1u : 0u);
    }
    const uint32_t t7 = ((uint32_t)(v5 >> 20u == 0u ? 0 : (int32_t)((uint32_t)v3 - (uint32_t)1)) << 20u) + v5 + (v4 < 0u ? 1u : 0u);
    return KNI_MAKE(kni_u32x2){a1 | v4, a2 | t7};
}

KNI_FUNCTION kni_u32x2 user_kni_soft_pack_any(uint32_t a1, uint32_t a2, int32_t a3, uint32_t a4, uint32_t a5)
{
    if (!(a5 >> 31u == 0u)) {
        const kni_u32x2 t1 = user_kni_soft_pack(a1, a2, (int32_t)((uint32_t)a3 + (uint32_t)1), a4 >> 1u | a5 << 31u | a4 & 1u, a5 >> 1u);
        return t1;
    }
    const int32_t t2 = (int32_t)((uint32_t)user_kni_soft_leading_zeros(a4, a5) - (uint32_t)1);
    const uint32_t t3 = (uint32_t)t2;
    const uint32_t t4 = t3 & 31u;
    const uint32_t t5 = a4 << t4;
    const int t6 = t3 >= 32u;
    const int t7 = t3 < 64u && (uint32_t)(t2 >> 31) == 0u;
    const kni_u32x2 t8 = user_kni_soft_pack(a1, a2, (int32_t)((uint32_t)a3 - (uint32_t)t2), t7 ? (t6 ? 0u : t5) : 0u, t7 ? (t6 ? t5 : a5 << t4 | a4 >> 1u >> 31u - t4) : 0u);
    return t8;
}

KNI_FUNCTION kni_u32x2 user_kni_soft_mul_f64(uint32_t a1, uint32_t a2, uint32_t a3, uint32_t a4)
{
    const uint32_t t1 = (a2 ^ a4) & 2147483648u;
    const uint32_t t2 = a1 & 4294967295u;
    const uint32_t t3 = a2 & 2147483647u;
    const uint32_t t4 = a3 & 4294967295u;
    const uint32_t t5 = a4 & 2147483647u;
    const int t6 = t3 == 2146435072u;
    const int t7 = t5 == 2146435072u;
    if (2146435072u < t3 || t6 && 0u < t2 || (2146435072u < t5 || t7 && 0u < t4)) {
        return KNI_MAKE(kni_u32x2){0u, 2146959360u};
    }
    const int t8 = t2 == 0u;
    const int t9 = t4 == 0u;
    if (t8 && t6 || t9 && t7) {
        const kni_u32x2 t10 = KNI_MAKE(kni_u32x2){0u, t8 && t3 == 0u || t9 && t5 == 0u ? 2146959360u : t1 | 2146435072u};
        return t10;
    }
    if (t8 && t3 == 0u || t9 && t5 == 0u) {
        return KNI_MAKE(kni_u32x2){0u, t1};
    }
    const kni_u32x2 t11 = user_kni_soft_significand(t2, t3);
    const uint32_t t12 = t11.s0;
    const uint32_t t13 = t11.s1;
    const kni_u32x2 t14 = user_kni_soft_significand(t4, t5);
    const uint32_t t15 = t14.s0;
    const uint32_t t16 = t14.s1;
    const uint32_t t17 = t13 * t15;
    const uint32_t t18 = t17 + user_kni_soft_upper_product(t12, t15);
    const uint32_t t19 = t12 * t16;
    const uint32_t t20 = t19 + (t18 & 4294967295u);
    const uint32_t t21 = t13 * t16;
    const uint32_t t22 = t21 + (user_kni_soft_upper_product(t13, t15) + (t18 < t17 ? 1u : 0u));
    const uint32_t t23 = t22 + (user_kni_soft_upper_product(t12, t16) + (t20 < t19 ? 1u : 0u));
    const uint32_t t24 = user_kni_soft_upper_product(t13, t16) + (t22 < t21 ? 1u : 0u) + (t23 < t22 ? 1u : 0u);
    uint32_t v1 = t23;
    uint32_t v2 = t24;
    if (!(t20 == 0u) || !(t12 * t15 == 0u)) {
        v1 = t23 | 1u;
        v2 = t24;
    }
    const kni_u32x2 t25 = user_kni_soft_pack_any(0u, t1, (int32_t)((uint32_t)user_kni_soft_power(t2, t3) + (uint32_t)user_kni_soft_power(t4, t5)), v1, v2);
    return t25;
}

KNI_FUNCTION kni_u32x2 user_kni_soft_whole_f64(uint32_t a1, uint32_t a2)
{
    const int32_t t1 = (int32_t)((uint32_t)user_kni_soft_exponent(a1, a2) - (uint32_t)1023);
    const uint32_t t2 = a1 & 4294967295u;
    const uint32_t t3 = a2 & 1048575u | 1048576u;
    if (t1 < 0) {
        return KNI_MAKE(kni_u32x2){0u, 0u};
    }
    const int t4 = t1 < 52;
    const int32_t t5 = (int32_t)((uint32_t)52 - (uint32_t)t1);
    const uint32_t t6 = (uint32_t)t5;
    const uint32_t t7 = t6 & 31u;
    const uint32_t t8 = t3 >> t7;
    const int t9 = t6 >= 32u;
    const int t10 = t6 < 64u && (uint32_t)(t5 >> 31) == 0u;
    const int32_t t11 = (int32_t)((uint32_t)t1 - (uint32_t)52);
    const uint32_t t12 = (uint32_t)t11;
    const uint32_t t13 = t12 & 31u;
    const uint32_t t14 = t2 << t13;
    const int t15 = t12 >= 32u;
    const int t16 = t12 < 64u && (uint32_t)(t11 >> 31) == 0u;
    const kni_u32x2 t17 = KNI_MAKE(kni_u32x2){t4 ? (t10 ? (t9 ? t8 : t2 >> t7 | t3 << 1u << 31u - t7) : 0u) : t16 ? (t15 ? 0u : t14) : 0u, t4 ? (t10 ? (t9 ? 0u : t8) : 0u) : t16 ? (t15 ? t14 : t3 << t13 | t2 >> 1u >> 31u - t13) : 0u};
    return t17;
}

KNI_FUNCTION kni_u32x2 user_kni_soft_i64_f64(uint32_t a1, uint32_t a2)
{
    const uint32_t t1 = a1 & 4294967295u;
    const uint32_t t2 = a2 & 2147483647u;
    if (2146435072u < t2 || t2 == 2146435072u && 0u < t1) {
        return KNI_MAKE(kni_u32x2){0u, 0u};
    }
    if (1138753536u < t2 || t2 == 1138753536u && 0u <= t1) {
        const int t3 = !(a2 >> 31u == 0u);
        return KNI_MAKE(kni_u32x2){t3 ? 0u : 4294967295u, t3 ? 2147483648u : 2147483647u};
    }
    const kni_u32x2 t4 = user_kni_soft_whole_f64(t1, t2);
    const uint32_t t5 = t4.s0;
    const uint32_t t6 = t4.s1;
    const int t7 = !(a2 >> 31u == 0u);
    const kni_u32x2 t8 = KNI_MAKE(kni_u32x2){t7 ? 0u - t5 : t5, t7 ? 0u - t6 - (0u < t5 ? 1u : 0u) : t6};
    return t8;
}

KNI_FUNCTION uint32_t user_kni_soft_f32_f64(uint32_t a1, uint32_t a2)
{
    const uint32_t t1 = a2 & 2147483648u;
    const uint32_t t2 = a1 & 4294967295u;
    const uint32_t t3 = a2 & 2147483647u;
    if (2146435072u < t3 || t3 == 2146435072u && 0u < t2) {
        return 2143289344u;
    }
    if (1206910976u < t3 || t3 == 1206910976u && 0u <= t2) {
        return t1 | 2139095040u;
    }
    const int32_t t4 = (int32_t)((uint32_t)(int32_t)((uint32_t)user_kni_soft_exponent(t2, t3) - (uint32_t)1023) + (uint32_t)127);
    int32_t v1 = t4;
    if (t4 < -30) {
        return t1;
    }
    const uint32_t t5 = t2 & 4294967295u;
    const uint32_t t6 = t3 & 1048575u | 1048576u;
    uint32_t v2 = t5;
    uint32_t v3 = t6;
    if (t4 < 1) {
        const kni_u32x2 t7 = user_kni_soft_shift_sticky(t5, t6, (int32_t)((uint32_t)1 - (uint32_t)t4));
        v2 = t7.s0;
        v3 = t7.s1;
        v1 = 1;
    }
    const uint32_t t8 = v2 & 536870911u;
    const uint32_t t9 = v2 >> 29u | v3 << 3u;
    uint32_t v4 = t9;
    if (268435456u < t8 || t8 == 268435456u && !((t9 & 1u) == 0u)) {
        v4 = t9 + 1u;
    }
    return t1 | ((uint32_t)(v4 >> 23u == 0u ? 0 : (int32_t)((uint32_t)v1 - (uint32_t)1)) << 23u) + v4;
}

KNI_FUNCTION int32_t user_kni_word_rem_i32(int32_t a1, int32_t a2)
{
    const int t1 = a2 == 0;
    const int t2 = t1 || (int32_t)((uint32_t)a2 + (uint32_t)1) == 0;
    int32_t v1;
    if (t2) {
        v1 = 0;
    } else {
        const int t3 = t1 || a2 == -1;
        v1 = t3 ? 0 : a1 % (t3 ? 1 : a2);
    }
    const int32_t t4 = v1;
    int32_t v2;
    if (t2) {
        v2 = 0;
    } else {
        const int t5 = t1 || a2 == -1;
        v2 = t5 ? 0 : a1 % (t5 ? 1 : a2);
    }
    const int t6 = a1 < 0;
    const int t7 = a2 < 0;
    return (int32_t)((uint32_t)t4 + (uint32_t)(!(v2 == 0) && (t6 && !t7 || !t6 && t7) ? a2 : 0));
}

kernel void kn_numbers(device const uint32_t *u_x [[buffer(0)]], device const uint8_t *u_u [[buffer(1)]], device const int32_t *u_i [[buffer(2)]], device uint32_t *u_y [[buffer(3)]], device uint16_t *u_h [[buffer(4)]], device float *u_f [[buffer(5)]], device uint32_t *u_w [[buffer(6)]], constant kn_numbers_params &p [[buffer(7)]], uint3 kni_group [[threadgroup_position_in_grid]], uint3 kni_member [[thread_position_in_threadgroup]], uint3 kni_members [[threads_per_threadgroup]])
{
    const uint32_t item = (uint32_t)((int64_t)kni_group.x * kni_members.x + kni_member.x);
    if (item >= p.u_words[0u]) {
        return;
    }
    const uint32_t t1 = item + p.u_words[2u] << 1u;
    const uint32_t t2 = u_x[t1];
    const uint32_t t3 = u_x[t1 | 1u];
    const int32_t t4 = u_i[item + p.u_words[6u]];
    const uint32_t t5 = (uint32_t)(int32_t)(uint32_t)u_u[item + p.u_words[4u]];
    const int32_t t6 = (int32_t)((uint32_t)(int32_t)((uint32_t)t4 + (uint32_t)2147483647) * (uint32_t)(int32_t)(0 - (uint32_t)t4));
    const int32_t t7 = t4 & 7;
    const int32_t t8 = (uint32_t)t7 < 32u ? t6 << (t7 & 31) : 0;
    const kni_u32x2 t9 = user_kni_soft_mul_f64(t2, t3, 1733216256u, 1135329645u);
    const kni_u32x2 t10 = user_kni_soft_i64_f64(t9.s0, t9.s1);
    const uint32_t t11 = t10.s0;
    const uint32_t t12 = t11 + user_kni_soft_philox((uint32_t)t4, (uint32_t)(t4 >> 31), item, 0u, 2u);
    const uint32_t t13 = t12 + (uint32_t)t8;
    const uint32_t t14 = t10.s1 + (t12 < t11 ? 1u : 0u) + (uint32_t)(t8 >> 31) + (t13 < t12 ? 1u : 0u) - 2147483648u - (t13 < 0u ? 1u : 0u);
    const uint32_t t15 = item + p.u_words[8u] << 1u;
    u_y[t15] = t13;
    u_y[t15 | 1u] = t14;
    const kni_u32x2 t16 = user_kni_soft_mul_f64(t2, t3, 3367254360u, 1086856406u);
    const kni_u32x2 t17 = user_kni_soft_i64_f64(t16.s0, t16.s1);
    u_h[item + p.u_words[10u]] = (uint16_t)(t17.s0 & 65535u);
    const float t18 = kni_from_bits_f32(kni_bits_f32(kni_fma_f32(kni_from_bits_f32(user_kni_soft_f32_f64(t2, t3)), (float)t5, 0.0000001f)) ^ t5);
    u_f[item + p.u_words[12u]] = (t5 != 0u ? kni_word_sqrt_f32(kni_word_abs_f32(t18)) : t18) / (float)(int32_t)p.u_words[(uint32_t)user_kni_word_rem_i32(t4, 3) + 16u];
    const uint32_t t19 = t5 | 1u;
    const int t20 = t19 == 0u;
    u_w[item + p.u_words[14u]] = t20 ? 0u : ((uint32_t)t6 >> 3u) / (t20 ? 1u : t19);
}
