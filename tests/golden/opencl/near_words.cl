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
KNI_INLINE float kni_horner4_f32(float p, float x, float c3, float c2, float c1, float c0)
{
    return (((p * x + c3) * x + c2) * x + c1) * x + c0;
}
KNI_INLINE float kni_scale_f32(float y, float k)
{
    const float magic = 0x1.8p23f + 127.0f;
    float first = k * 0.5f + magic;
    float second = (k - (first - magic)) + magic;
    return y * kni_from_bits_f32(kni_bits_f32(first) << 23) * kni_from_bits_f32(kni_bits_f32(second) << 23);
}
KNI_INLINE float kni_exp_kernel_f32(float r)
{
    float q = 0.00139505649f;
    q = kni_horner4_f32(q, r, 0.00836898666f, 0.041666206f, 0.166665182f, 0.5f);
    float s = 1.0f + r;
    return s + (((1.0f - s) + r) + r * r * q);
}
KNI_INLINE float kni_exp2_f32(float x)
{
    float c = x < -160.0f ? -160.0f : x;
    c = c > 130.0f ? 130.0f : c;
    float k = (c + 0x1.8p23f) - 0x1.8p23f;
    return kni_scale_f32(kni_exp_kernel_f32((c - k) * 0.693147182f), k);
}
KNI_INLINE float kni_word_exp2_f32(float a) { return (float)(kni_exp2_f32(a)); }

struct kn_near_words_params {
    int64_t u_items;
    int64_t u_offset_x;
    int64_t u_offset_y;
};

__kernel void kn_near_words(__global const float *restrict u_x, __global float *restrict u_y, struct kn_near_words_params p)
{
    const int64_t item = (int64_t)get_global_id(0);
    if (item >= p.u_items) return;
    u_y[item + p.u_offset_y] = 1.0f / (1.0f + kni_word_exp2_f32(u_x[item + p.u_offset_x]));
}
