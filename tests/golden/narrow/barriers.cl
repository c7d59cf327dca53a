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

struct kn_barriers_params {
    uint32_t u_words[2];
};

__kernel void kn_barriers(__global const float *restrict u_x, __global float *restrict u_y, struct kn_barriers_params p)
{
    __local float u_shared[16];
    float u_own[3];
    const uint32_t group = get_group_id(0);
    const uint32_t member = (int32_t)get_local_id(0);
    const int32_t t1 = (int32_t)member;
    const uint32_t t2 = p.u_words[1u];
    if ((int32_t)t2 < 0 || t2 == 0u && p.u_words[0u] <= group) {
        return;
    }
    const uint32_t t3 = (uint32_t)t1;
    const uint32_t t4 = group * 16u + t3;
    const float t5 = u_x[t4];
    float v1 = t5;
    for (int32_t i1 = 0; i1 < 3; i1++) {
        u_own[(uint32_t)i1] = t5 * (float)i1;
    }
    uint32_t v2 = 0u;
    uint32_t v3 = 0u;
    const uint32_t t6 = (uint32_t)(t1 ^ 5);
    const uint32_t t7 = group + 2u;
    const uint32_t t8 = t7 < group ? 1u : 0u;
    for (;;) {
        if (!((int32_t)v3 < 0 || v3 == 0u && v2 < 6u)) break;
        {
            const uint32_t t9 = v2;
            const uint32_t t10 = v3;
            if (t9 == 1u && t10 == 0u) {
                goto next1;
            }
            const float t11 = v1;
            u_shared[t3] = t11;
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            v1 = u_shared[t6] * 0.5f + t11;
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            if (t9 == t7 && t10 == t8) {
                break;
            }
        }
next1:;
        const uint32_t t12 = v2;
        const uint32_t t13 = v3;
        const uint32_t t14 = t12 + 1u;
        v2 = t14;
        v3 = t13 + (t14 < t12 ? 1u : 0u);
    }
    float v4 = v1;
    const int t15 = t1 < 15;
    for (int32_t i2 = 0; i2 < 3; i2++) {
        u_shared[t3] = u_own[(uint32_t)i2];
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        if (t15) {
            v4 = v4 + u_shared[(uint32_t)(int32_t)((uint32_t)t1 + (uint32_t)1)];
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
    if (t1 == 3) {
        return;
    }
    u_y[t4] = v4;
}
