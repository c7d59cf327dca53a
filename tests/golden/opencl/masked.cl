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
KNI_INLINE int8_t kni_cast_i8_f32(float x) { return (int8_t)(kni_f32_to_i64(x)); }

struct kn_masked_params {
    int64_t u_items;
    int64_t u_offset_x;
    int64_t u_offset_y;
    int64_t u_offset_z;
    int64_t u_n;
};

__kernel void kn_masked(__global const float *restrict u_x, __global float *restrict u_y, __global int8_t *restrict u_z, struct kn_masked_params p)
{
    const int64_t item = (int64_t)get_global_id(0);
    if (item >= p.u_items) return;
    const int64_t t1 = item - 3;
    const float t2 = t1 >= 0 && t1 < p.u_n ? u_x[t1 + p.u_offset_x] : -1.0f;
    if (t2 != -1.0f) u_z[item + p.u_offset_z] = kni_cast_i8_f32(t2);
    const int64_t t3 = item * 4;
    const int4 t4 = (int4)(t3 + 0 < p.u_n, t3 + 1 < p.u_n, t3 + 2 < p.u_n, t3 + 3 < p.u_n);
    const int64_t t5 = t3 + p.u_offset_x;
    const float4 t6 = (float4)(t4.s0 ? u_x[t5] : t2, t4.s1 ? u_x[t5 + 1] : t2, t4.s2 ? u_x[t5 + 2] : t2, t4.s3 ? u_x[t5 + 3] : t2);
    const int64_t t7 = t3 + p.u_offset_y;
    if (t4.s0) u_y[t7] = t6.s0 * 2.0f;
    if (t4.s1) u_y[t7 + 1] = t6.s1 * 2.0f;
    if (t4.s2) u_y[t7 + 2] = t6.s2 * 2.0f;
    if (t4.s3) u_y[t7 + 3] = t6.s3 * 2.0f;
}
