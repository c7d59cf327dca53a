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
KNI_INLINE uint16_t kni_f32_to_bf16(float x)
{
    uint32_t u = kni_bits_f32(x);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    uint32_t quiet = (u >> 16) | 0x40u;
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}
KNI_INLINE uint16_t kni_cast_bf16_f32(float x) { return (uint16_t)(kni_f32_to_bf16(x)); }
KNI_INLINE float kni_cast_f32_f16(uint16_t x) { return (float)(kni_f16_to_f32(x)); }

struct kn_vectors_params {
    int64_t u_items;
    int64_t u_offset_x;
    int64_t u_offset_h;
    int64_t u_offset_y;
    int64_t u_offset_g;
    int64_t u_n;
};

__kernel void kn_vectors(__global const float *restrict u_x, __global const uint16_t *restrict u_h, __global float *restrict u_y, __global uint16_t *restrict u_g, struct kn_vectors_params p)
{
    const int64_t item = (int64_t)get_global_id(0);
    if (item >= p.u_items) return;
    const int64_t t1 = item * 4;
    const int t2 = t1 < p.u_n;
    const int64_t t3 = t1 + p.u_offset_x;
    float4 t4 = (float4)(1.0f, 1.0f, 1.0f, 1.0f);
    if (t2) {
        t4 = *(__global const float4 *)(u_x + t3);
    }
    const float4 t5 = (float4)(t4.s0 * t4.s0 + 0.25f, t4.s1 * t4.s1 + 0.25f, t4.s2 * t4.s2 + 0.25f, t4.s3 * t4.s3 + 0.25f);
    const int64_t t6 = t1 + p.u_offset_y;
    if (t2) *(__global float4 *)(u_y + t6) = (float4)(t4.s0 < 0.0f ? -t5.s0 : t5.s0, t4.s1 < 0.0f ? -t5.s1 : t5.s1, t4.s2 < 0.0f ? -t5.s2 : t5.s2, t4.s3 < 0.0f ? -t5.s3 : t5.s3);
    const int64_t t7 = item * 8;
    const int64_t t8 = t7 + p.u_offset_h;
    const ushort8 t9_raw = *(__global const ushort8 *)(u_h + t8);
    const float8 t9 = (float8)(kni_cast_f32_f16(t9_raw.s0), kni_cast_f32_f16(t9_raw.s1), kni_cast_f32_f16(t9_raw.s2), kni_cast_f32_f16(t9_raw.s3), kni_cast_f32_f16(t9_raw.s4), kni_cast_f32_f16(t9_raw.s5), kni_cast_f32_f16(t9_raw.s6), kni_cast_f32_f16(t9_raw.s7));
    const float8 t10 = (float8)(t9.s0 * t9.s7, t9.s1 * t9.s6, t9.s2 * t9.s5, t9.s3 * t9.s4, t9.s4 * t9.s3, t9.s5 * t9.s2, t9.s6 * t9.s1, t9.s7 * t9.s0);
    const int64_t t11 = t7 + p.u_offset_g;
    *(__global ushort8 *)(u_g + t11) = (ushort8)(kni_cast_bf16_f32(t10.s0), kni_cast_bf16_f32(t10.s1), kni_cast_bf16_f32(t10.s2), kni_cast_bf16_f32(t10.s3), kni_cast_bf16_f32(t10.s4), kni_cast_bf16_f32(t10.s5), kni_cast_bf16_f32(t10.s6), kni_cast_bf16_f32(t10.s7));
}
