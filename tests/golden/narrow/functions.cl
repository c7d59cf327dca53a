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

struct kn_functions_params {
    uint32_t u_words[6];
};

KNI_FUNCTION float user_polynomial(float a1, int32_t a2)
{
    float u_powers[4];
    u_powers[0u] = 1.0f;
    for (int32_t i1 = 1; i1 < 4; i1++) {
        u_powers[(uint32_t)i1] = u_powers[(uint32_t)(i1 - 1)] * a1;
    }
    float v1 = 0.0f;
    for (int32_t i2 = 0; i2 < a2; i2++) {
        v1 = v1 + u_powers[(uint32_t)i2];
    }
    return v1;
}

KNI_FUNCTION float user_clipped(float a1)
{
    if (a1 > 1.5f) {
        return 1.5f;
    }
    return user_polynomial(a1, 4);
}

__kernel void kn_functions(__global const float *restrict u_x, __global float *restrict u_y, struct kn_functions_params p)
{
    const uint32_t item = (uint32_t)((int64_t)get_global_id(0));
    if (item >= p.u_words[0u]) {
        return;
    }
    const float t1 = u_x[item + p.u_words[2u]];
    u_y[item + p.u_words[4u]] = user_clipped(t1) - user_polynomial(t1, 2);
}
