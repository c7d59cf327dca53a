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

struct kn_vectors_params {
    uint32_t u_words[12];
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

KNI_FUNCTION uint32_t user_kni_soft_bf16_f32(uint32_t a1)
{
    if (2139095040u < (a1 & 2147483647u)) {
        return a1 >> 16u | 64u;
    }
    return a1 + 32767u + (a1 >> 16u & 1u) >> 16u;
}

__kernel void kn_vectors(__global const float *restrict u_x, __global const uint32_t *restrict u_h, __global float *restrict u_y, __global uint32_t *restrict u_g, struct kn_vectors_params p)
{
    const uint32_t item = (uint32_t)((int64_t)get_global_id(0));
    if (item >= p.u_words[0u]) {
        return;
    }
    const uint32_t t1 = user_kni_soft_upper_product(item, 4u);
    const uint32_t t2 = item * 4u;
    const uint32_t t3 = p.u_words[11u];
    const int t4 = (int32_t)t1 < (int32_t)t3 || t1 == t3 && t2 < p.u_words[10u];
    const uint32_t t5 = t2 + p.u_words[2u];
    float v1 = 1.0f;
    float v2 = 1.0f;
    float v3 = 1.0f;
    float v4 = 1.0f;
    if (t4) {
        v1 = u_x[t5];
        v2 = u_x[t5 + 1u];
        v3 = u_x[t5 + 2u];
        v4 = u_x[t5 + 3u];
    }
    const float t6 = v1 * v1 + 0.25f;
    const float t7 = v2 * v2 + 0.25f;
    const float t8 = v3 * v3 + 0.25f;
    const float t9 = v4 * v4 + 0.25f;
    const float t10 = v1 < 0.0f ? -t6 : t6;
    const float t11 = v2 < 0.0f ? -t7 : t7;
    const float t12 = v3 < 0.0f ? -t8 : t8;
    const float t13 = v4 < 0.0f ? -t9 : t9;
    const uint32_t t14 = t2 + p.u_words[6u];
    if (t4) {
        u_y[t14] = t10;
        u_y[t14 + 1u] = t11;
        u_y[t14 + 2u] = t12;
        u_y[t14 + 3u] = t13;
    }
    const uint32_t t15 = item * 8u;
    const uint32_t t16 = t15 + p.u_words[4u] >> 1u;
    const uint32_t t17 = u_h[t16];
    const float t18 = kni_from_bits_f32(user_kni_soft_f32_f16(t17 & 65535u));
    const float t19 = kni_from_bits_f32(user_kni_soft_f32_f16(t17 >> 16u & 65535u));
    const uint32_t t20 = u_h[t16 + 1u];
    const float t21 = kni_from_bits_f32(user_kni_soft_f32_f16(t20 & 65535u));
    const float t22 = kni_from_bits_f32(user_kni_soft_f32_f16(t20 >> 16u & 65535u));
    const uint32_t t23 = u_h[t16 + 2u];
    const float t24 = kni_from_bits_f32(user_kni_soft_f32_f16(t23 & 65535u));
    const float t25 = kni_from_bits_f32(user_kni_soft_f32_f16(t23 >> 16u & 65535u));
    const uint32_t t26 = u_h[t16 + 3u];
    const float t27 = kni_from_bits_f32(user_kni_soft_f32_f16(t26 & 65535u));
    const float t28 = kni_from_bits_f32(user_kni_soft_f32_f16(t26 >> 16u & 65535u));
    const uint32_t t29 = t15 + p.u_words[8u] >> 1u;
    u_g[t29] = user_kni_soft_bf16_f32(kni_bits_f32(t18 * t28)) | user_kni_soft_bf16_f32(kni_bits_f32(t19 * t27)) << 16u;
    u_g[t29 + 1u] = user_kni_soft_bf16_f32(kni_bits_f32(t21 * t25)) | user_kni_soft_bf16_f32(kni_bits_f32(t22 * t24)) << 16u;
    u_g[t29 + 2u] = user_kni_soft_bf16_f32(kni_bits_f32(t24 * t22)) | user_kni_soft_bf16_f32(kni_bits_f32(t25 * t21)) << 16u;
    u_g[t29 + 3u] = user_kni_soft_bf16_f32(kni_bits_f32(t27 * t19)) | user_kni_soft_bf16_f32(kni_bits_f32(t28 * t18)) << 16u;
}
