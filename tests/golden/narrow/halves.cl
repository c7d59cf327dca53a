#pragma OPENCL FP_CONTRACT OFF
typedef char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef uchar uint8_t;
typedef ushort uint16_t;
typedef uint uint32_t;
typedef ulong uint64_t;
#define KNI_FUNCTION static
#define KNI_INLINE static inline
#define KNI_TABLE __constant
#define KNI_MAKE(type) (type)
#define KNI_INF_F32 as_float(0x7f800000u)
#define KNI_NAN_F32 as_float(0x7fc00000u)
#define KNI_SQRT_F32(x) sqrt(x)
#define KNI_LEADING_ZEROS(x) ((int)clz(x))
KNI_INLINE uint32_t kni_bits_f32(float x) { return as_uint(x); }
KNI_INLINE float kni_from_bits_f32(uint32_t u) { return as_float(u); }
#if defined(cl_khr_fp64) || defined(__opencl_c_fp64)
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define KNI_INF_F64 as_double(0x7ff0000000000000ul)
#define KNI_NAN_F64 as_double(0x7ff8000000000000ul)
#define KNI_SQRT_F64(x) sqrt(x)
KNI_INLINE uint64_t kni_bits_f64(double x) { return as_ulong(x); }
KNI_INLINE double kni_from_bits_f64(uint64_t u) { return as_double(u); }
#endif

KNI_FUNCTION uint32_t kni_atomic_compare_u32_global(__global uint32_t *element, uint32_t value, uint32_t expected)
{
    volatile __global uint32_t *word = (volatile __global uint32_t *)element;
    uint32_t seen = (uint32_t)expected, next = (uint32_t)value;
    uint32_t old = atomic_cmpxchg(word, seen, next);
    return (uint32_t)old;
}

struct kn_halves_params {
    uint32_t u_words[10];
};

KNI_FUNCTION uint32_t user_kni_soft_f32_f16(uint32_t a1)
{
    const uint32_t t1 = (a1 & 32768u) << 16u;
    const uint32_t t2 = a1 & 32767u;
    if (31744u <= t2) {
        return t1 | 2139095040u | (t2 & 1023u) << 13u;
    }
    if (1024u <= t2) {
        return t1 | (t2 << 13u) + 939524096u;
    }
    uint32_t v1 = t2;
    uint32_t v2 = 947912704u;
    if (t2 == 0u) {
        return t1;
    }
    int32_t v3 = 0;
    for (; v3 < 10 && v1 < 1024u; v3 = v3 + 1) {
        v1 = v1 << 1u;
        v2 = v2 - 8388608u;
    }
    return t1 | v2 + ((v1 & 1023u) << 13u);
}

KNI_FUNCTION uint32_t user_kni_soft_f16_f32(uint32_t a1)
{
    const uint32_t t1 = a1 >> 16u & 32768u;
    const uint32_t t2 = a1 & 2147483647u;
    if (2139095040u < t2) {
        return t1 | 32256u;
    }
    if (1199570944u <= t2) {
        return t1 | 31744u;
    }
    if (t2 < 855638016u) {
        return t1;
    }
    const uint32_t t3 = t2 & 8388607u | 8388608u;
    uint32_t v1 = 13u;
    const int t4 = t2 < 947912704u;
    if (t4) {
        v1 = 113u - (t2 >> 23u) + 13u;
    }
    const int t5 = v1 < 32u;
    const uint32_t t6 = v1 & 31u;
    const uint32_t t7 = t5 ? t3 >> t6 : 0u;
    uint32_t v2 = t7;
    const uint32_t t8 = t3 & (t5 ? 1u << t6 : 0u) - 1u;
    const uint32_t t9 = v1 - 1u;
    const uint32_t t10 = t9 < 32u ? 1u << (t9 & 31u) : 0u;
    if (t10 < t8 || t8 == t10 && !((t7 & 1u) == 0u)) {
        v2 = t7 + 1u;
    }
    return t1 | (t4 ? v2 : v2 + ((t2 >> 23u) - 113u << 10u));
}

KNI_FUNCTION uint32_t user_kni_soft_bf16_f32(uint32_t a1)
{
    if (2139095040u < (a1 & 2147483647u)) {
        return a1 >> 16u | 64u;
    }
    return a1 + 32767u + (a1 >> 16u & 1u) >> 16u;
}

__kernel void kn_halves(__global const uint32_t *restrict u_x, __global const float *restrict u_s, __global uint32_t *restrict u_y, __global uint32_t *restrict u_t, struct kn_halves_params p)
{
    const uint32_t item = (uint32_t)((int64_t)get_global_id(0));
    if (item >= p.u_words[0u]) {
        return;
    }
    const uint32_t t1 = item + p.u_words[2u];
    const uint32_t t2 = kni_bits_f32(kni_from_bits_f32(user_kni_soft_f32_f16(u_x[t1 >> 1u] >> (t1 & 1u) * 16u & 65535u)) * u_s[item + p.u_words[4u]]);
    const float t3 = kni_from_bits_f32(user_kni_soft_f32_f16(user_kni_soft_f16_f32(t2)));
    const uint32_t t4 = item + p.u_words[6u];
    const uint32_t t5 = (t4 & 1u) * 16u;
    const uint32_t t6 = t4 >> 1u;
    const uint32_t t7 = user_kni_soft_bf16_f32(kni_bits_f32(t3)) << t5;
    uint32_t v1 = u_y[t6];
    const uint32_t t8 = ~(65535u << t5);
    while (1) {
        const uint32_t t9 = v1;
        const uint32_t t10 = kni_atomic_compare_u32_global(&u_y[t6], t9 & t8 | t7, t9);
        if (t10 == t9) {
            break;
        }
        v1 = t10;
    }
    const uint32_t t11 = item + p.u_words[8u];
    const uint32_t t12 = (t11 & 3u) * 8u;
    const uint32_t t13 = t11 >> 2u;
    const uint32_t t14 = (t3 > 0.5f ? 1u : 0u) << t12;
    uint32_t v2 = u_t[t13];
    const uint32_t t15 = ~(255u << t12);
    while (1) {
        const uint32_t t16 = v2;
        const uint32_t t17 = kni_atomic_compare_u32_global(&u_t[t13], t16 & t15 | t14, t16);
        if (t17 == t16) {
            break;
        }
        v2 = t17;
    }
}
