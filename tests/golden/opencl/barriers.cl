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
    int64_t u_limit;
};

__kernel void kn_barriers(__global const float *restrict u_x, __global float *restrict u_y, struct kn_barriers_params p)
{
    __local float u_shared[16];
    float u_own[3];
    const int64_t group = get_group_id(0);
    const int32_t member = (int32_t)get_local_id(0);
    if (group >= p.u_limit) {
        return;
    }
    const int64_t t1 = group * 16 + (int64_t)member;
    float v1 = u_x[t1];
    for (int32_t i1 = 0; i1 < 3; i1++) {
        u_own[i1] = v1 * (float)i1;
    }
    int64_t v2 = 0;
    for (; v2 < 6; v2 = v2 + 1) {
        if (v2 == 1) {
            continue;
        }
        u_shared[member] = v1;
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        v1 = u_shared[member ^ 5] * 0.5f + v1;
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        if (v2 == group + 2) {
            break;
        }
    }
    float v3 = v1;
    for (int32_t i2 = 0; i2 < 3; i2++) {
        u_shared[member] = u_own[i2];
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        if (member < 15) {
            v3 = v3 + u_shared[member + 1];
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
    if (member == 3) {
        return;
    }
    u_y[t1] = v3;
}
