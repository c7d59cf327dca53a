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

struct kn_masked_params {
    uint32_t u_words[10];
};

KNI_FUNCTION uint2 user_kni_soft_i64_f32(uint32_t a1)
{
    const uint32_t t1 = a1 & 2147483647u;
    const int32_t t2 = (int32_t)((uint32_t)(int32_t)(t1 >> 23u) - (uint32_t)127);
    const uint32_t t3 = t1 & 8388607u | 8388608u;
    if (2139095040u < t1 || t2 < 0) {
        return (uint2)(0u, 0u);
    }
    if (62 < t2) {
        const int t4 = !(a1 >> 31u == 0u);
        return (uint2)(t4 ? 0u : 4294967295u, t4 ? 2147483648u : 2147483647u);
    }
    const int t5 = t2 < 23;
    const int32_t t6 = (int32_t)((uint32_t)23 - (uint32_t)t2);
    const uint32_t t7 = (uint32_t)t6;
    const uint32_t t8 = t7 & 31u;
    const uint32_t t9 = 0u >> t8;
    const int t10 = t7 >= 32u;
    const int t11 = t7 < 64u && (uint32_t)(t6 >> 31) == 0u;
    const int32_t t12 = (int32_t)((uint32_t)t2 - (uint32_t)23);
    const uint32_t t13 = (uint32_t)t12;
    const uint32_t t14 = t13 & 31u;
    const uint32_t t15 = t3 << t14;
    const int t16 = t13 >= 32u;
    const int t17 = t13 < 64u && (uint32_t)(t12 >> 31) == 0u;
    const uint32_t t18 = t5 ? (t11 ? (t10 ? t9 : t3 >> t8 | 0u << 31u - t8) : 0u) : t17 ? (t16 ? 0u : t15) : 0u;
    const uint32_t t19 = t5 ? (t11 ? (t10 ? 0u : t9) : 0u) : t17 ? (t16 ? t15 : 0u << t14 | t3 >> 1u >> 31u - t14) : 0u;
    const int t20 = !(a1 >> 31u == 0u);
    const uint2 t21 = (uint2)(t20 ? 0u - t18 : t18, t20 ? 0u - t19 - (0u < t18 ? 1u : 0u) : t19);
    return t21;
}

KNI_FUNCTION uint32_t user_kni_soft_upper_product(uint32_t a1, uint32_t a2)
{
    const uint32_t t1 = a1 & 65535u;
    const uint32_t t2 = a1 >> 16u;
    const uint32_t t3 = a2 & 65535u;
    const uint32_t t4 = a2 >> 16u;
    const uint32_t t5 = t2 * t3 + (t1 * t3 >> 16u);
    return t2 * t4 + (t5 >> 16u) + (t1 * t4 + (t5 & 65535u) >> 16u);
}

__kernel void kn_masked(__global const float *restrict u_x, __global float *restrict u_y, __global uint32_t *restrict u_z, struct kn_masked_params p)
{
    const uint32_t item = (uint32_t)((int64_t)get_global_id(0));
    if (item >= p.u_words[0u]) {
        return;
    }
    const uint32_t t1 = p.u_words[8u];
    const uint32_t t2 = p.u_words[9u];
    const uint32_t t3 = item - 3u;
    const uint32_t t4 = 0u - (item < 3u ? 1u : 0u);
    const int32_t t5 = (int32_t)t4;
    const int32_t t6 = (int32_t)t2;
    const uint32_t t7 = p.u_words[2u];
    const uint32_t t8 = t3 + t7;
    float v1 = -1.0f;
    if ((0 < t5 || t4 == 0u && 0u <= t3) && (t5 < t6 || t4 == t2 && t3 < t1)) {
        v1 = u_x[t8];
    }
    const float t9 = v1;
    const uint32_t t10 = item + p.u_words[6u];
    if (t9 != -1.0f) {
        const uint2 t11 = user_kni_soft_i64_f32(kni_bits_f32(t9));
        const uint32_t t12 = (t10 & 3u) * 8u;
        const uint32_t t13 = t10 >> 2u;
        const uint32_t t14 = (t11.s0 & 255u) << t12;
        uint32_t v2 = u_z[t13];
        const uint32_t t15 = ~(255u << t12);
        while (1) {
            const uint32_t t16 = v2;
            const uint32_t t17 = kni_atomic_compare_u32_global(&u_z[t13], t16 & t15 | t14, t16);
            if (t17 == t16) {
                break;
            }
            v2 = t17;
        }
    }
    const uint32_t t18 = user_kni_soft_upper_product(item, 4u);
    const uint32_t t19 = item * 4u;
    const int t20 = (int32_t)t18 < t6 || t18 == t2 && t19 < t1;
    const uint32_t t21 = t19 + 1u;
    const uint32_t t22 = t18 + (t21 < t19 ? 1u : 0u);
    const int t23 = (int32_t)t22 < t6 || t22 == t2 && t21 < t1;
    const uint32_t t24 = t19 + 2u;
    const uint32_t t25 = t18 + (t24 < t19 ? 1u : 0u);
    const int t26 = (int32_t)t25 < t6 || t25 == t2 && t24 < t1;
    const uint32_t t27 = t19 + 3u;
    const uint32_t t28 = t18 + (t27 < t19 ? 1u : 0u);
    const int t29 = (int32_t)t28 < t6 || t28 == t2 && t27 < t1;
    const uint32_t t30 = t19 + t7;
    float v3 = t9;
    if (t20) {
        v3 = u_x[t30];
    }
    const float t31 = v3;
    float v4 = t9;
    if (t23) {
        v4 = u_x[t30 + 1u];
    }
    const float t32 = v4;
    float v5 = t9;
    if (t26) {
        v5 = u_x[t30 + 2u];
    }
    const float t33 = v5;
    float v6 = t9;
    if (t29) {
        v6 = u_x[t30 + 3u];
    }
    const float t34 = t31 * 2.0f;
    const float t35 = t32 * 2.0f;
    const float t36 = t33 * 2.0f;
    const float t37 = v6 * 2.0f;
    const uint32_t t38 = t19 + p.u_words[4u];
    if (t20) {
        u_y[t38] = t34;
    }
    if (t23) {
        u_y[t38 + 1u] = t35;
    }
    if (t26) {
        u_y[t38 + 2u] = t36;
    }
    if (t29) {
        u_y[t38 + 3u] = t37;
    }
}
