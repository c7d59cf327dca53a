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

struct kn_rows_params {
    uint32_t u_words[2];
};

__kernel void kn_rows(__global const float *restrict u_x, __global float *restrict u_y, struct kn_rows_params p)
{
    __local float u_scratch_f32[64];
    const uint32_t group = get_group_id(0);
    const uint32_t member = (int32_t)get_local_id(0);
    const uint32_t t1 = p.u_words[0u];
    const uint32_t t2 = p.u_words[1u];
    const int32_t t3 = (int32_t)member;
    const uint32_t t4 = (uint32_t)(t3 >> 31);
    const uint32_t t5 = (uint32_t)t3;
    const uint32_t t6 = group * t1;
    float v1 = -KNI_INF_F32;
    float v2 = 0.0f;
    uint32_t v3 = t5;
    uint32_t v4 = t4;
    const int32_t t7 = (int32_t)t2;
    for (;;) {
        if (!((int32_t)v4 < t7 || v4 == t2 && v3 < t1)) break;
        const float t8 = u_x[t6 + v3];
        const float t9 = (kni_bits_f32(v1) & 2147483647u) > 2139095040u ? v1 : (kni_bits_f32(t8) & 2147483647u) > 2139095040u ? t8 : v1 > t8 ? v1 : t8;
        v1 = t9;
        v2 = v2 + t8;
        const uint32_t t10 = v3;
        const uint32_t t11 = v4;
        const uint32_t t12 = t10 + 64u;
        v3 = t12;
        v4 = t11 + (t12 < t10 ? 1u : 0u);
    }
    u_scratch_f32[t5] = v1;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int32_t t13 = t3 & 31;
    const int t14 = t13 < 16;
    if (t14) {
        const float t15 = u_scratch_f32[t5];
        const float t16 = u_scratch_f32[(uint32_t)(int32_t)((uint32_t)t3 + (uint32_t)16)];
        u_scratch_f32[t5] = (kni_bits_f32(t15) & 2147483647u) > 2139095040u ? t15 : (kni_bits_f32(t16) & 2147483647u) > 2139095040u ? t16 : t15 > t16 ? t15 : t16;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int t17 = t13 < 8;
    if (t17) {
        const float t18 = u_scratch_f32[t5];
        const float t19 = u_scratch_f32[(uint32_t)(int32_t)((uint32_t)t3 + (uint32_t)8)];
        u_scratch_f32[t5] = (kni_bits_f32(t18) & 2147483647u) > 2139095040u ? t18 : (kni_bits_f32(t19) & 2147483647u) > 2139095040u ? t19 : t18 > t19 ? t18 : t19;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int t20 = t13 < 4;
    if (t20) {
        const float t21 = u_scratch_f32[t5];
        const float t22 = u_scratch_f32[(uint32_t)(int32_t)((uint32_t)t3 + (uint32_t)4)];
        u_scratch_f32[t5] = (kni_bits_f32(t21) & 2147483647u) > 2139095040u ? t21 : (kni_bits_f32(t22) & 2147483647u) > 2139095040u ? t22 : t21 > t22 ? t21 : t22;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int t23 = t13 < 2;
    if (t23) {
        const float t24 = u_scratch_f32[t5];
        const float t25 = u_scratch_f32[(uint32_t)(int32_t)((uint32_t)t3 + (uint32_t)2)];
        u_scratch_f32[t5] = (kni_bits_f32(t24) & 2147483647u) > 2139095040u ? t24 : (kni_bits_f32(t25) & 2147483647u) > 2139095040u ? t25 : t24 > t25 ? t24 : t25;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int t26 = t13 < 1;
    if (t26) {
        const float t27 = u_scratch_f32[t5];
        const float t28 = u_scratch_f32[(uint32_t)(int32_t)((uint32_t)t3 + (uint32_t)1)];
        u_scratch_f32[t5] = (kni_bits_f32(t27) & 2147483647u) > 2139095040u ? t27 : (kni_bits_f32(t28) & 2147483647u) > 2139095040u ? t28 : t27 > t28 ? t27 : t28;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int t29 = t3 < 1;
    if (t29) {
        const int32_t t30 = (int32_t)((uint32_t)t3 * (uint32_t)32);
        const uint32_t t31 = (uint32_t)t30;
        const float t32 = u_scratch_f32[t31];
        const float t33 = u_scratch_f32[(uint32_t)(int32_t)((uint32_t)t30 + (uint32_t)32)];
        u_scratch_f32[t31] = (kni_bits_f32(t32) & 2147483647u) > 2139095040u ? t32 : (kni_bits_f32(t33) & 2147483647u) > 2139095040u ? t33 : t32 > t33 ? t32 : t33;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const float t34 = u_scratch_f32[0u];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    u_scratch_f32[t5] = v2;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (t14) {
        u_scratch_f32[t5] = u_scratch_f32[t5] + u_scratch_f32[(uint32_t)(int32_t)((uint32_t)t3 + (uint32_t)16)];
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (t17) {
        u_scratch_f32[t5] = u_scratch_f32[t5] + u_scratch_f32[(uint32_t)(int32_t)((uint32_t)t3 + (uint32_t)8)];
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (t20) {
        u_scratch_f32[t5] = u_scratch_f32[t5] + u_scratch_f32[(uint32_t)(int32_t)((uint32_t)t3 + (uint32_t)4)];
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (t23) {
        u_scratch_f32[t5] = u_scratch_f32[t5] + u_scratch_f32[(uint32_t)(int32_t)((uint32_t)t3 + (uint32_t)2)];
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (t26) {
        u_scratch_f32[t5] = u_scratch_f32[t5] + u_scratch_f32[(uint32_t)(int32_t)((uint32_t)t3 + (uint32_t)1)];
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (t29) {
        const int32_t t35 = (int32_t)((uint32_t)t3 * (uint32_t)32);
        const uint32_t t36 = (uint32_t)t35;
        u_scratch_f32[t36] = u_scratch_f32[t36] + u_scratch_f32[(uint32_t)(int32_t)((uint32_t)t35 + (uint32_t)32)];
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const float t37 = u_scratch_f32[0u];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    uint32_t v5 = t5;
    uint32_t v6 = t4;
    for (;;) {
        if (!((int32_t)v6 < t7 || v6 == t2 && v5 < t1)) break;
        const uint32_t t38 = t6 + v5;
        u_y[t38] = (u_x[t38] - t34) / t37;
        const uint32_t t39 = v5;
        const uint32_t t40 = v6;
        const uint32_t t41 = t39 + 64u;
        v5 = t41;
        v6 = t40 + (t41 < t39 ? 1u : 0u);
    }
}
