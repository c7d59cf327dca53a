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

struct kn_rows_params {
    int64_t u_columns;
};

extern "C" __global__ void __launch_bounds__(64) kn_rows(const float *__restrict__ u_x, float *__restrict__ u_y, struct kn_rows_params p)
{
    __shared__ float u_scratch_f32[64];
    const int64_t group = blockIdx.x;
    const int32_t member = (int32_t)threadIdx.x;
    const int32_t lane = (int32_t)threadIdx.x & 31;
    const int64_t t1 = (int64_t)member;
    const int64_t t2 = group * p.u_columns;
    float v1 = -KNI_INF_F32;
    float v2 = 0.0f;
    for (int64_t i1 = t1; i1 < p.u_columns; i1 += 64) {
        const float t3 = u_x[t2 + i1];
        v1 = kni_word_max_f32(v1, t3);
        v2 = v2 + t3;
    }
    const float t4 = __shfl_xor_sync(0xffffffffu, v1, 16);
    const float t5 = kni_word_max_f32(v1, t4);
    const float t6 = __shfl_xor_sync(0xffffffffu, t5, 8);
    const float t7 = kni_word_max_f32(t5, t6);
    const float t8 = __shfl_xor_sync(0xffffffffu, t7, 4);
    const float t9 = kni_word_max_f32(t7, t8);
    const float t10 = __shfl_xor_sync(0xffffffffu, t9, 2);
    const float t11 = kni_word_max_f32(t9, t10);
    const float t12 = __shfl_xor_sync(0xffffffffu, t11, 1);
    if (lane == 0) u_scratch_f32[member / 32] = kni_word_max_f32(t11, t12);
    __syncthreads();
    float v3 = u_scratch_f32[lane & 1];
    __syncthreads();
    const float t13 = __shfl_xor_sync(0xffffffffu, v3, 1);
    float v4 = kni_word_max_f32(v3, t13);
    const float t14 = v4;
    const float t15 = __shfl_xor_sync(0xffffffffu, v2, 16);
    const float t16 = v2 + t15;
    const float t17 = __shfl_xor_sync(0xffffffffu, t16, 8);
    const float t18 = t16 + t17;
    const float t19 = __shfl_xor_sync(0xffffffffu, t18, 4);
    const float t20 = t18 + t19;
    const float t21 = __shfl_xor_sync(0xffffffffu, t20, 2);
    const float t22 = t20 + t21;
    const float t23 = __shfl_xor_sync(0xffffffffu, t22, 1);
    if (lane == 0) u_scratch_f32[member / 32] = t22 + t23;
    __syncthreads();
    float v5 = u_scratch_f32[lane & 1];
    __syncthreads();
    const float t24 = __shfl_xor_sync(0xffffffffu, v5, 1);
    float v6 = v5 + t24;
    const float t25 = v6;
    for (int64_t i2 = t1; i2 < p.u_columns; i2 += 64) {
        const int64_t t26 = t2 + i2;
        u_y[t26] = (u_x[t26] - t14) / t25;
    }
}
