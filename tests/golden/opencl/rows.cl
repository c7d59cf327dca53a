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
KNI_FUNCTION float kni_larger_f32(float a, float b) { float m = a > b ? a : b; return a != a ? a : m; }
KNI_INLINE float kni_word_max_f32(float a, float b) { return (float)(kni_larger_f32(a, b)); }

struct kn_rows_params {
    int64_t u_columns;
};

__kernel void kn_rows(__global const float *restrict u_x, __global float *restrict u_y, struct kn_rows_params p)
{
    __local float u_scratch_f32[64];
    const int64_t group = get_group_id(0);
    const int32_t member = (int32_t)get_local_id(0);
    const int64_t t1 = (int64_t)member;
    const int64_t t2 = group * p.u_columns;
    float v1 = -KNI_INF_F32;
    float v2 = 0.0f;
    for (int64_t i1 = t1; i1 < p.u_columns; i1 += 64) {
        const float t3 = u_x[t2 + i1];
        v1 = kni_word_max_f32(v1, t3);
        v2 = v2 + t3;
    }
    u_scratch_f32[member] = v1;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if ((member & 31) < 16) {
        u_scratch_f32[member] = kni_word_max_f32(u_scratch_f32[member], u_scratch_f32[member + 16]);
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if ((member & 31) < 8) {
        u_scratch_f32[member] = kni_word_max_f32(u_scratch_f32[member], u_scratch_f32[member + 8]);
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if ((member & 31) < 4) {
        u_scratch_f32[member] = kni_word_max_f32(u_scratch_f32[member], u_scratch_f32[member + 4]);
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if ((member & 31) < 2) {
        u_scratch_f32[member] = kni_word_max_f32(u_scratch_f32[member], u_scratch_f32[member + 2]);
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if ((member & 31) < 1) {
        u_scratch_f32[member] = kni_word_max_f32(u_scratch_f32[member], u_scratch_f32[member + 1]);
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (member < 1) {
        const int32_t t4 = member * 32;
        u_scratch_f32[t4] = kni_word_max_f32(u_scratch_f32[t4], u_scratch_f32[t4 + 32]);
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    float v3 = u_scratch_f32[0];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    float v4 = v3;
    const float t5 = v4;
    u_scratch_f32[member] = v2;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if ((member & 31) < 16) {
        u_scratch_f32[member] = u_scratch_f32[member] + u_scratch_f32[member + 16];
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if ((member & 31) < 8) {
        u_scratch_f32[member] = u_scratch_f32[member] + u_scratch_f32[member + 8];
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if ((member & 31) < 4) {
        u_scratch_f32[member] = u_scratch_f32[member] + u_scratch_f32[member + 4];
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if ((member & 31) < 2) {
        u_scratch_f32[member] = u_scratch_f32[member] + u_scratch_f32[member + 2];
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if ((member & 31) < 1) {
        u_scratch_f32[member] = u_scratch_f32[member] + u_scratch_f32[member + 1];
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (member < 1) {
        const int32_t t6 = member * 32;
        u_scratch_f32[t6] = u_scratch_f32[t6] + u_scratch_f32[t6 + 32];
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    float v5 = u_scratch_f32[0];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    float v6 = v5;
    const float t7 = v6;
    for (int64_t i2 = t1; i2 < p.u_columns; i2 += 64) {
        const int64_t t8 = t2 + i2;
        u_y[t8] = (u_x[t8] - t5) / t7;
    }
}
