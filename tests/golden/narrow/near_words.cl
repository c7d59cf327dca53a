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

struct kn_near_words_params {
    uint32_t u_words[6];
};

KNI_FUNCTION float user_kni_horner4_f32(float a1, float a2, float a3, float a4, float a5, float a6)
{
    return (((a1 * a2 + a3) * a2 + a4) * a2 + a5) * a2 + a6;
}

KNI_FUNCTION float user_kni_exp_kernel_f32(float a1)
{
    const float t1 = 1.0f + a1;
    return t1 + (1.0f - t1 + a1 + a1 * a1 * user_kni_horner4_f32(0.001395056489855051f, a1, 0.008368986658751965f, 0.04166620597243309f, 0.166665181517601f, 0.5f));
}

KNI_FUNCTION float user_kni_scale_f32(float a1, float a2)
{
    const float t1 = a2 * 0.5f + 12583039.0f;
    return a1 * kni_from_bits_f32(kni_bits_f32(t1) << 23u) * kni_from_bits_f32(kni_bits_f32(a2 - (t1 - 12583039.0f) + 12583039.0f) << 23u);
}

KNI_FUNCTION float user_kni_exp2_f32(float a1)
{
    const float t1 = a1 < -160.0f ? -160.0f : a1;
    const float t2 = t1 > 130.0f ? 130.0f : t1;
    const float t3 = t2 + 12582912.0f - 12582912.0f;
    return user_kni_scale_f32(user_kni_exp_kernel_f32((t2 - t3) * 0.6931472f), t3);
}

KNI_FUNCTION float user_kni_word_exp2_f32(float a1)
{
    return user_kni_exp2_f32(a1);
}

__kernel void kn_near_words(__global const float *restrict u_x, __global float *restrict u_y, struct kn_near_words_params p)
{
    const uint32_t item = (uint32_t)((int64_t)get_global_id(0));
    if (item >= p.u_words[0u]) {
        return;
    }
    u_y[item + p.u_words[4u]] = 1.0f / (1.0f + user_kni_word_exp2_f32(u_x[item + p.u_words[2u]]));
}
