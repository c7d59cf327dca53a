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

struct kn_pointwise_params {
    uint32_t u_words[12];
};

KNI_FUNCTION uint2 user_kni_soft_divide_u64(uint32_t a1, uint32_t a2, uint32_t a3, uint32_t a4)
{
    uint32_t v1 = a1;
    uint32_t v2 = a2;
    if ((a2 | a4) == 0u) {
        const int t1 = a3 == 0u;
        uint32_t v3;
        if (t1) {
            v3 = 0u;
        } else {
            v3 = t1 ? 0u : a1 / (t1 ? 1u : a3);
        }
        return (uint2)(v3, 0u);
    }
    if (a3 == 0u && a4 == 0u) {
        return (uint2)(0u, 0u);
    }
    uint32_t v4 = 0u;
    uint32_t v5 = 0u;
    uint32_t v6 = 0u;
    uint32_t v7 = 0u;
    int32_t v8 = 0;
    for (; v8 < 64; v8 = v8 + 1) {
        const uint32_t t2 = v7;
        const uint32_t t3 = t2 << 1u | v6 >> 31u;
        const uint32_t t4 = v1;
        const uint32_t t5 = v2;
        const uint32_t t6 = v6 << 1u | t5 >> 31u;
        v6 = t6;
        v7 = t3;
        v1 = t4 << 1u;
        v2 = t5 << 1u | t4 >> 31u;
        const uint32_t t7 = v4 << 1u;
        const uint32_t t8 = v5 << 1u | v4 >> 31u;
        v4 = t7;
        v5 = t8;
        if (!(t2 >> 31u == 0u) || (a4 < t3 || a4 == t3 && a3 <= t6)) {
            v6 = t6 - a3;
            v7 = t3 - a4 - (t6 < a3 ? 1u : 0u);
            v4 = t7 | 1u;
            v5 = t8;
        }
    }
    return (uint2)(v4, v5);
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

KNI_FUNCTION uint2 user_kni_soft_rest_u64(uint32_t a1, uint32_t a2, uint32_t a3, uint32_t a4)
{
    if ((a2 | a4) == 0u) {
        const int t1 = a3 == 0u;
        uint32_t v1;
        if (t1) {
            v1 = 0u;
        } else {
            v1 = t1 ? 0u : a1 % (t1 ? 1u : a3);
        }
        return (uint2)(v1, 0u);
    }
    uint32_t v2;
    uint32_t v3;
    if (a3 == 0u && a4 == 0u) {
        v2 = 0u;
        v3 = 0u;
    } else {
        const uint2 t2 = user_kni_soft_divide_u64(a1, a2, a3, a4);
        const uint32_t t3 = t2.s0;
        const uint32_t t4 = t3 * a3;
        v2 = a1 - t4;
        v3 = a2 - (user_kni_soft_upper_product(t3, a3) + (t3 * a4 + t2.s1 * a3)) - (a1 < t4 ? 1u : 0u);
    }
    return (uint2)(v2, v3);
}

KNI_FUNCTION uint2 user_kni_soft_rest_i64(uint32_t a1, uint32_t a2, uint32_t a3, uint32_t a4)
{
    const int t1 = (int32_t)a2 < 0 || a2 == 0u && a1 < 0u;
    const int t2 = (int32_t)a4 < 0 || a4 == 0u && a3 < 0u;
    const uint2 t3 = user_kni_soft_rest_u64(t1 ? 0u - a1 : a1, t1 ? 0u - a2 - (0u < a1 ? 1u : 0u) : a2, t2 ? 0u - a3 : a3, t2 ? 0u - a4 - (0u < a3 ? 1u : 0u) : a4);
    const uint32_t t4 = t3.s0;
    const uint32_t t5 = t3.s1;
    const uint2 t6 = (uint2)(t1 ? 0u - t4 : t4, t1 ? 0u - t5 - (0u < t4 ? 1u : 0u) : t5);
    return t6;
}

KNI_FUNCTION uint2 user_kni_word_rem_i64(uint32_t a1, uint32_t a2, uint32_t a3, uint32_t a4)
{
    const int t1 = a4 == 0u;
    const int t2 = a3 == 0u && t1;
    int v1 = t2;
    const int t3 = !t2;
    if (t3) {
        const uint32_t t4 = a3 + 1u;
        v1 = t4 == 0u && a4 + (t4 < a3 ? 1u : 0u) == 0u;
    }
    uint32_t v2;
    uint32_t v3;
    if (v1) {
        v2 = 0u;
        v3 = 0u;
    } else {
        const uint2 t5 = user_kni_soft_rest_i64(a1, a2, a3, a4);
        v2 = t5.s0;
        v3 = t5.s1;
    }
    const uint32_t t6 = v2;
    const uint32_t t7 = v3;
    int v4 = t2;
    if (t3) {
        const uint32_t t8 = a3 + 1u;
        v4 = t8 == 0u && a4 + (t8 < a3 ? 1u : 0u) == 0u;
    }
    uint32_t v5;
    uint32_t v6;
    if (v4) {
        v5 = 0u;
        v6 = 0u;
    } else {
        const uint2 t9 = user_kni_soft_rest_i64(a1, a2, a3, a4);
        v5 = t9.s0;
        v6 = t9.s1;
    }
    const int t10 = !(v5 == 0u && v6 == 0u);
    int v7 = t10;
    if (t10) {
        const int t11 = (int32_t)a2 < 0 || a2 == 0u && a1 < 0u;
        const int t12 = (int32_t)a4 < 0 || t1 && a3 < 0u;
        v7 = t11 && !t12 || !t11 && t12;
    }
    const uint32_t t13 = t6 + (v7 ? a3 : 0u);
    const uint2 t14 = (uint2)(t13, t7 + (v7 ? a4 : 0u) + (t13 < t6 ? 1u : 0u));
    return t14;
}

__kernel void kn_pointwise(__global const float *restrict u_x, __global const float *restrict u_bias, __global float *restrict u_y, struct kn_pointwise_params p)
{
    const uint32_t item = (uint32_t)((int64_t)get_global_id(0));
    if (item >= p.u_words[0u]) {
        return;
    }
    const uint2 t1 = user_kni_word_rem_i64(item, 0u, p.u_words[10u], p.u_words[11u]);
    const float t2 = u_x[item + p.u_words[2u]] * kni_from_bits_f32(p.u_words[8u]) + u_bias[t1.s0 + p.u_words[4u]];
    u_y[item + p.u_words[6u]] = ((kni_bits_f32(t2) & 2147483647u) > 2139095040u ? t2 : t2 > 0.0f ? t2 : 0.0f) / 3.0f;
}
