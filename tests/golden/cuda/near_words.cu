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
KNI_INLINE float kni_near_exp2_f32(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
KNI_INLINE float kni_near_div_f32(float a, float b)
{
    float y;
    asm("div.approx.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
}

struct kn_near_words_params {
    int64_t u_items;
    int64_t u_offset_x;
    int64_t u_offset_y;
};

extern "C" __global__ void kn_near_words(const float *__restrict__ u_x, float *__restrict__ u_y, struct kn_near_words_params p)
{
    const int64_t item = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= p.u_items) return;
    u_y[item + p.u_offset_y] = kni_near_div_f32(1.0f, 1.0f + kni_near_exp2_f32(u_x[item + p.u_offset_x]));
}
