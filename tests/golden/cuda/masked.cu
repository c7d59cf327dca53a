typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#define KNI_FUNCTION static __device__
#define KNI_INLINE static __device__ __forceinline__
#define KNI_TABLE static __device__ const
#define KNI_MAKE(type) type
#define KNI_INF_F32 __uint_as_float(0x7f800000u)
#define KNI_NAN_F32 __uint_as_float(0x7fc00000u)
#define KNI_INF_F64 __longlong_as_double(0x7ff0000000000000ll)
#define KNI_NAN_F64 __longlong_as_double(0x7ff8000000000000ll)
#define KNI_SQRT_F32(x) __fsqrt_rn(x)
#define KNI_SQRT_F64(x) __dsqrt_rn(x)
#define KNI_LEADING_ZEROS(x) __clzll((long long)(x))
KNI_INLINE uint32_t kni_bits_f32(float x) { return __float_as_uint(x); }
KNI_INLINE float kni_from_bits_f32(uint32_t u) { return __uint_as_float(u); }
KNI_INLINE uint64_t kni_bits_f64(double x) { return (uint64_t)__double_as_longlong(x); }
KNI_INLINE double kni_from_bits_f64(uint64_t u) { return __longlong_as_double((long long)u); }
KNI_FUNCTION int64_t kni_f32_to_i64(float v) { if (!(v >= (float)-9223372036854775808.0)) return v != v ? 0 : (-0x7fffffffffffffff - 1); return v >= (float)9223372036854775808.0 ? 0x7fffffffffffffff : (int64_t)v; }
KNI_INLINE int8_t kni_cast_i8_f32(float x) { return (int8_t)(kni_f32_to_i64(x)); }

typedef struct __align__(16) kni_f32x4 {
    float s0, s1, s2, s3;
} kni_f32x4;
typedef struct __align__(16) kni_i32x4 {
    int32_t s0, s1, s2, s3;
} kni_i32x4;

struct kn_masked_params {
    int64_t u_items;
    int64_t u_offset_x;
    int64_t u_offset_y;
    int64_t u_offset_z;
    int64_t u_n;
};

extern "C" __global__ void kn_masked(const float *__restrict__ u_x, float *__restrict__ u_y, int8_t *__restrict__ u_z, struct kn_masked_params p)
{
    const int64_t item = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= p.u_items) return;
    const int64_t t1 = item - 3;
    const float t2 = t1 >= 0 && t1 < p.u_n ? u_x[t1 + p.u_offset_x] : -1.0f;
    if (t2 != -1.0f) u_z[item + p.u_offset_z] = kni_cast_i8_f32(t2);
    const int64_t t3 = item * 4;
    const kni_i32x4 t4 = KNI_MAKE(kni_i32x4){t3 + 0 < p.u_n, t3 + 1 < p.u_n, t3 + 2 < p.u_n, t3 + 3 < p.u_n};
    const int64_t t5 = t3 + p.u_offset_x;
    const kni_f32x4 t6 = KNI_MAKE(kni_f32x4){t4.s0 ? u_x[t5] : t2, t4.s1 ? u_x[t5 + 1] : t2, t4.s2 ? u_x[t5 + 2] : t2, t4.s3 ? u_x[t5 + 3] : t2};
    const int64_t t7 = t3 + p.u_offset_y;
    if (t4.s0) u_y[t7] = t6.s0 * 2.0f;
    if (t4.s1) u_y[t7 + 1] = t6.s1 * 2.0f;
    if (t4.s2) u_y[t7 + 2] = t6.s2 * 2.0f;
    if (t4.s3) u_y[t7 + 3] = t6.s3 * 2.0f;
}
