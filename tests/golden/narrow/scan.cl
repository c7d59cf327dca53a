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

__kernel void kn_scan(__global const float *restrict u_x, __global float *restrict u_y, __global uint32_t *restrict u_z)
{
    __local float u_scratch_f32[48];
    __local float u_scratch_other_f32[48];
    __local uint32_t u_scratch_i64[96];
    __local uint32_t u_scratch_other_i64[96];
    const uint32_t group = get_group_id(0);
    const uint32_t member = (int32_t)get_local_id(0);
    const int32_t t1 = (int32_t)member;
    const uint32_t t2 = (uint32_t)t1;
    const uint32_t t3 = group * 48u + t2;
    const float t4 = u_x[t3];
    u_scratch_f32[t2] = t4;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int t5 = 1 <= t1;
    const uint32_t t6 = (uint32_t)(int32_t)((uint32_t)t1 - (uint32_t)1);
    float v1 = t4;
    if (t5) {
        v1 = u_scratch_f32[t6];
    }
    const float t7 = t5 ? v1 + t4 : t4;
    u_scratch_other_f32[t2] = t7;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int t8 = 2 <= t1;
    const uint32_t t9 = (uint32_t)(int32_t)((uint32_t)t1 - (uint32_t)2);
    float v2 = t7;
    if (t8) {
        v2 = u_scratch_other_f32[t9];
    }
    const float t10 = t8 ? v2 + t7 : t7;
    u_scratch_f32[t2] = t10;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int t11 = 4 <= t1;
    const uint32_t t12 = (uint32_t)(int32_t)((uint32_t)t1 - (uint32_t)4);
    float v3 = t10;
    if (t11) {
        v3 = u_scratch_f32[t12];
    }
    const float t13 = t11 ? v3 + t10 : t10;
    u_scratch_other_f32[t2] = t13;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int t14 = 8 <= t1;
    const uint32_t t15 = (uint32_t)(int32_t)((uint32_t)t1 - (uint32_t)8);
    float v4 = t13;
    if (t14) {
        v4 = u_scratch_other_f32[t15];
    }
    const float t16 = t14 ? v4 + t13 : t13;
    u_scratch_f32[t2] = t16;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int t17 = 16 <= t1;
    const uint32_t t18 = (uint32_t)(int32_t)((uint32_t)t1 - (uint32_t)16);
    float v5 = t16;
    if (t17) {
        v5 = u_scratch_f32[t18];
    }
    const float t19 = t17 ? v5 + t16 : t16;
    u_scratch_other_f32[t2] = t19;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int t20 = 32 <= t1;
    const uint32_t t21 = (uint32_t)(int32_t)((uint32_t)t1 - (uint32_t)32);
    float v6 = t19;
    if (t20) {
        v6 = u_scratch_other_f32[t21];
    }
    const float t22 = t20 ? v6 + t19 : t19;
    u_scratch_f32[t2] = t22;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    u_y[t3] = t22;
    const uint2 t23 = user_kni_soft_i64_f32(kni_bits_f32(t4));
    const uint32_t t24 = t23.s0;
    const uint32_t t25 = t23.s1;
    const uint32_t t26 = t2 << 1u;
    u_scratch_i64[t26] = t24;
    const uint32_t t27 = t26 | 1u;
    u_scratch_i64[t27] = t25;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    uint32_t v7 = t24;
    uint32_t v8 = t25;
    if (t5) {
        const uint32_t t28 = t6 << 1u;
        const uint32_t t29 = u_scratch_i64[t28 | 1u];
        v7 = u_scratch_i64[t28];
        v8 = t29;
    }
    const uint32_t t30 = t5 ? v7 * t24 : t24;
    const uint32_t t31 = t5 ? user_kni_soft_upper_product(v7, t24) + (v7 * t25 + v8 * t24) : t25;
    u_scratch_other_i64[t26] = t30;
    u_scratch_other_i64[t27] = t31;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    uint32_t v9 = t30;
    uint32_t v10 = t31;
    if (t8) {
        const uint32_t t32 = t9 << 1u;
        const uint32_t t33 = u_scratch_other_i64[t32 | 1u];
        v9 = u_scratch_other_i64[t32];
        v10 = t33;
    }
    const uint32_t t34 = t8 ? v9 * t30 : t30;
    const uint32_t t35 = t8 ? user_kni_soft_upper_product(v9, t30) + (v9 * t31 + v10 * t30) : t31;
    u_scratch_i64[t26] = t34;
    u_scratch_i64[t27] = t35;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    uint32_t v11 = t34;
    uint32_t v12 = t35;
    if (t11) {
        const uint32_t t36 = t12 << 1u;
        const uint32_t t37 = u_scratch_i64[t36 | 1u];
        v11 = u_scratch_i64[t36];
        v12 = t37;
    }
    const uint32_t t38 = t11 ? v11 * t34 : t34;
    const uint32_t t39 = t11 ? user_kni_soft_upper_product(v11, t34) + (v11 * t35 + v12 * t34) : t35;
    u_scratch_other_i64[t26] = t38;
    u_scratch_other_i64[t27] = t39;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    uint32_t v13 = t38;
    uint32_t v14 = t39;
    if (t14) {
        const uint32_t t40 = t15 << 1u;
        const uint32_t t41 = u_scratch_other_i64[t40 | 1u];
        v13 = u_scratch_other_i64[t40];
        v14 = t41;
    }
    const uint32_t t42 = t14 ? v13 * t38 : t38;
    const uint32_t t43 = t14 ? user_kni_soft_upper_product(v13, t38) + (v13 * t39 + v14 * t38) : t39;
    u_scratch_i64[t26] = t42;
    u_scratch_i64[t27] = t43;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    uint32_t v15 = t42;
    uint32_t v16 = t43;
    if (t17) {
        const uint32_t t44 = t18 << 1u;
        const uint32_t t45 = u_scratch_i64[t44 | 1u];
        v15 = u_scratch_i64[t44];
        v16 = t45;
    }
    const uint32_t t46 = t17 ? v15 * t42 : t42;
    const uint32_t t47 = t17 ? user_kni_soft_upper_product(v15, t42) + (v15 * t43 + v16 * t42) : t43;
    u_scratch_other_i64[t26] = t46;
    u_scratch_other_i64[t27] = t47;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    uint32_t v17 = t46;
    uint32_t v18 = t47;
    if (t20) {
        const uint32_t t48 = t21 << 1u;
        const uint32_t t49 = u_scratch_other_i64[t48 | 1u];
        v17 = u_scratch_other_i64[t48];
        v18 = t49;
    }
    const uint32_t t50 = t20 ? v17 * t46 : t46;
    const uint32_t t51 = t20 ? user_kni_soft_upper_product(v17, t46) + (v17 * t47 + v18 * t46) : t47;
    u_scratch_i64[t26] = t50;
    u_scratch_i64[t27] = t51;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const uint32_t t52 = t3 << 1u;
    u_z[t52] = t50;
    u_z[t52 | 1u] = t51;
}
