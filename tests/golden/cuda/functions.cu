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

struct kn_functions_params {
    int64_t u_items;
    int64_t u_offset_x;
    int64_t u_offset_y;
};

KNI_FUNCTION float user_polynomial(float a1, int32_t a2)
{
    float u_powers[4];
    u_powers[0] = 1.0f;
    for (int32_t i1 = 1; i1 < 4; i1++) {
        u_powers[i1] = u_powers[i1 - 1] * a1;
    }
    float v1 = 0.0f;
    for (int32_t i2 = 0; i2 < a2; i2++) {
        v1 = v1 + u_powers[i2];
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

extern "C" __global__ void kn_functions(const float *__restrict__ u_x, float *__restrict__ u_y, struct kn_functions_params p)
{
    const int64_t item = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= p.u_items) return;
    const float t1 = u_x[item + p.u_offset_x];
    u_y[item + p.u_offset_y] = user_clipped(t1) - user_polynomial(t1, 2);
}
