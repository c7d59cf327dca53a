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
KNI_FUNCTION int64_t kni_f32_to_i64(float v) { if (!(v >= (float)-9223372036854775808.0)) return v != v ? 0 : (-0x7fffffffffffffff - 1); return v >= (float)9223372036854775808.0 ? 0x7fffffffffffffff : (int64_t)v; }
KNI_INLINE int64_t kni_cast_i64_f32(float x) { return (int64_t)(kni_f32_to_i64(x)); }

__kernel void kn_scan(__global const float *restrict u_x, __global float *restrict u_y, __global int64_t *restrict u_z)
{
    __local float u_scratch_f32[48];
    __local float u_scratch_other_f32[48];
    __local int64_t u_scratch_i64[48];
    __local int64_t u_scratch_other_i64[48];
    const int64_t group = get_group_id(0);
    const int32_t member = (int32_t)get_local_id(0);
    const int64_t t1 = group * 48 + (int64_t)member;
    const float t2 = u_x[t1];
    u_scratch_f32[member] = t2;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int t3 = member >= 1;
    float v1 = t3 ? (t3 ? u_scratch_f32[member - 1] : t2) + t2 : t2;
    const float t4 = v1;
    u_scratch_other_f32[member] = t4;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int t5 = member >= 2;
    float v2 = t5 ? (t5 ? u_scratch_other_f32[member - 2] : t4) + t4 : t4;
    const float t6 = v2;
    u_scratch_f32[member] = t6;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int t7 = member >= 4;
    float v3 = t7 ? (t7 ? u_scratch_f32[member - 4] : t6) + t6 : t6;
    const float t8 = v3;
    u_scratch_other_f32[member] = t8;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int t9 = member >= 8;
    float v4 = t9 ? (t9 ? u_scratch_other_f32[member - 8] : t8) + t8 : t8;
    const float t10 = v4;
    u_scratch_f32[member] = t10;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int t11 = member >= 16;
    float v5 = t11 ? (t11 ? u_scratch_f32[member - 16] : t10) + t10 : t10;
    const float t12 = v5;
    u_scratch_other_f32[member] = t12;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int t13 = member >= 32;
    float v6 = t13 ? (t13 ? u_scratch_other_f32[member - 32] : t12) + t12 : t12;
    const float t14 = v6;
    u_scratch_f32[member] = t14;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    float v7 = t14;
    u_y[t1] = v7;
    const int64_t t15 = kni_cast_i64_f32(t2);
    u_scratch_i64[member] = t15;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int t16 = member >= 1;
    int64_t v8 = t16 ? (int64_t)((uint64_t)(t16 ? u_scratch_i64[member - 1] : t15) * (uint64_t)t15) : t15;
    const int64_t t17 = v8;
    u_scratch_other_i64[member] = t17;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int t18 = member >= 2;
    int64_t v9 = t18 ? (int64_t)((uint64_t)(t18 ? u_scratch_other_i64[member - 2] : t17) * (uint64_t)t17) : t17;
    const int64_t t19 = v9;
    u_scratch_i64[member] = t19;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int t20 = member >= 4;
    int64_t v10 = t20 ? (int64_t)((uint64_t)(t20 ? u_scratch_i64[member - 4] : t19) * (uint64_t)t19) : t19;
    const int64_t t21 = v10;
    u_scratch_other_i64[member] = t21;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int t22 = member >= 8;
    int64_t v11 = t22 ? (int64_t)((uint64_t)(t22 ? u_scratch_other_i64[member - 8] : t21) * (uint64_t)t21) : t21;
    const int64_t t23 = v11;
    u_scratch_i64[member] = t23;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int t24 = member >= 16;
    int64_t v12 = t24 ? (int64_t)((uint64_t)(t24 ? u_scratch_i64[member - 16] : t23) * (uint64_t)t23) : t23;
    const int64_t t25 = v12;
    u_scratch_other_i64[member] = t25;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int t26 = member >= 32;
    int64_t v13 = t26 ? (int64_t)((uint64_t)(t26 ? u_scratch_other_i64[member - 32] : t25) * (uint64_t)t25) : t25;
    const int64_t t27 = v13;
    u_scratch_i64[member] = t27;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    int64_t v14 = t27;
    u_z[t1] = v14;
}
