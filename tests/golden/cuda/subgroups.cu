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
KNI_FUNCTION float kni_larger_f32(float a, float b) { float m = a > b ? a : b; return a != a ? a : m; }
KNI_INLINE float kni_word_max_f32(float a, float b) { return (float)(kni_larger_f32(a, b)); }

extern "C" __global__ void __launch_bounds__(64) kn_subgroups(const float *__restrict__ u_x, float *__restrict__ u_y)
{
    const int64_t group = blockIdx.x;
    const int64_t group1 = blockIdx.y;
    const int64_t groups = gridDim.x;
    const int32_t member = (int32_t)threadIdx.x;
    const int32_t lane = (int32_t)threadIdx.x & 31;
    const int64_t t1 = (group1 * groups + group) * 64 + (int64_t)member;
    const float t2 = u_x[t1];
    const float t3 = __shfl_xor_sync(0xffffffffu, t2, 16);
    const float t4 = t2 + t3;
    const float t5 = __shfl_xor_sync(0xffffffffu, t4, 8);
    const float t6 = t4 + t5;
    const float t7 = __shfl_xor_sync(0xffffffffu, t6, 4);
    const float t8 = t6 + t7;
    const float t9 = __shfl_xor_sync(0xffffffffu, t8, 2);
    const float t10 = t8 + t9;
    const float t11 = __shfl_xor_sync(0xffffffffu, t10, 1);
    float v1 = t10 + t11;
    const float t12 = __shfl_xor_sync(0xffffffffu, t2, 16);
    const float t13 = kni_word_max_f32(t2, t12);
    const float t14 = __shfl_xor_sync(0xffffffffu, t13, 8);
    const float t15 = kni_word_max_f32(t13, t14);
    const float t16 = __shfl_xor_sync(0xffffffffu, t15, 4);
    const float t17 = kni_word_max_f32(t15, t16);
    const float t18 = __shfl_xor_sync(0xffffffffu, t17, 2);
    const float t19 = kni_word_max_f32(t17, t18);
    const float t20 = __shfl_xor_sync(0xffffffffu, t19, 1);
    float v2 = kni_word_max_f32(t19, t20);
    const float t21 = __shfl_xor_sync(0xffffffffu, t2, 1);
    u_y[t1] = v1 - v2 + t21 * (float)lane;
}
