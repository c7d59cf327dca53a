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
KNI_INLINE float kni_f16_to_f32(uint16_t half_)
{
    uint32_t magnitude = ((uint32_t)half_ & 0x7fffu) << 13;
    uint32_t sign = ((uint32_t)half_ & 0x8000u) << 16;
    uint32_t finite = kni_bits_f32(kni_from_bits_f32(magnitude) * 0x1p112f);
    uint32_t special = magnitude | 0x7f800000u;
    return kni_from_bits_f32((magnitude >= 0x0f800000u ? special : finite) | sign);
}
KNI_INLINE uint16_t kni_f32_to_f16(float x)
{
    uint32_t u = kni_bits_f32(x);
    uint32_t magnitude = u & 0x7fffffffu;
    uint32_t sign = (u >> 16) & 0x8000u;
    uint32_t capped = magnitude > 0x47800000u ? 0x47800000u : magnitude;
    uint32_t exponent = capped & 0x7f800000u;
    exponent = exponent < 0x38800000u ? 0x38800000u : exponent;
    uint32_t power = exponent + (13u << 23);
    uint32_t rounded = kni_bits_f32(kni_from_bits_f32(capped) + kni_from_bits_f32(power)) - power;
    uint32_t half_ = rounded + ((exponent - 0x38800000u) >> 13);
    half_ = half_ > 0x7c00u ? 0x7c00u : half_;
    half_ = magnitude > 0x7f800000u ? 0x7e00u : half_;
    return (uint16_t)(half_ | sign);
}
KNI_INLINE uint16_t kni_f32_to_bf16(float x)
{
    uint32_t u = kni_bits_f32(x);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    uint32_t quiet = (u >> 16) | 0x40u;
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}
KNI_INLINE uint16_t kni_cast_f16_f32(float x) { return (uint16_t)(kni_f32_to_f16(x)); }
KNI_INLINE uint16_t kni_cast_bf16_f32(float x) { return (uint16_t)(kni_f32_to_bf16(x)); }
KNI_INLINE float kni_cast_f32_f16(uint16_t x) { return (float)(kni_f16_to_f32(x)); }

struct kn_halves_params {
    int64_t u_items;
    int64_t u_offset_x;
    int64_t u_offset_s;
    int64_t u_offset_y;
    int64_t u_offset_t;
};

__kernel void kn_halves(__global const uint16_t *restrict u_x, __global const float *restrict u_s, __global uint16_t *restrict u_y, __global uint8_t *restrict u_t, struct kn_halves_params p)
{
    const int64_t item = (int64_t)get_global_id(0);
    if (item >= p.u_items) return;
    const float t1 = kni_cast_f32_f16(kni_cast_f16_f32(kni_cast_f32_f16(u_x[item + p.u_offset_x]) * u_s[item + p.u_offset_s]));
    u_y[item + p.u_offset_y] = kni_cast_bf16_f32(t1);
    u_t[item + p.u_offset_t] = (uint8_t)(t1 > 0.5f);
}
