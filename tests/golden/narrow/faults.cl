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

struct kn_faults_params {
    uint32_t u_words[10];
};

__kernel void kn_faults(__global const uint32_t *restrict u_kernel, __global const float *restrict u_float4, __global float *u_t1, __global uint32_t *restrict u_fault, struct kn_faults_params p)
{
    const uint32_t item = (uint32_t)((int64_t)get_global_id(0));
    if (item >= p.u_words[0u]) {
        return;
    }
    const uint32_t t1 = item + p.u_words[2u] << 1u;
    const uint32_t t2 = u_kernel[t1];
    const uint32_t t3 = u_kernel[t1 | 1u];
    const uint32_t t4 = p.u_words[9u];
    const int32_t t5 = (int32_t)t3;
    const int t6 = (0 < t5 || t3 == 0u && 0u <= t2) && (t5 < (int32_t)t4 || t3 == t4 && t2 < p.u_words[8u]);
    if (t6) {
        u_t1[item + p.u_words[6u]] = u_float4[t2 + p.u_words[4u]];
    } else {
        if (u_fault[0u] == 0u) {
            u_fault[2u] = t2;
            u_fault[3u] = t3;
            u_fault[0u] = 1u;
        }
    }
}
