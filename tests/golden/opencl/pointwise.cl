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
KNI_INLINE int64_t kni_word_rem_i64(int64_t a, int64_t b) { return (int64_t)((((b) == 0 || ((b) + 1 == 0 && (int64_t)-1 < 0) ? 0 : (a) % (b)) + (((b) == 0 || ((b) + 1 == 0 && (int64_t)-1 < 0) ? 0 : (a) % (b)) != 0 && ((a) < 0) != ((b) < 0) ? (b) : 0))); }

struct kn_pointwise_params {
    int64_t u_items;
    int64_t u_offset_x;
    int64_t u_offset_bias;
    int64_t u_offset_y;
    float u_scale;
    int64_t u_columns;
};

__kernel void kn_pointwise(__global const float *restrict u_x, __global const float *restrict u_bias, __global float *restrict u_y, struct kn_pointwise_params p)
{
    const int64_t item = (int64_t)get_global_id(0);
    if (item >= p.u_items) return;
    u_y[item + p.u_offset_y] = kni_word_max_f32(u_x[item + p.u_offset_x] * p.u_scale + u_bias[kni_word_rem_i64(item, p.u_columns) + p.u_offset_bias], 0.0f) / 3.0f;
}
