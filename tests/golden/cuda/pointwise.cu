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
KNI_INLINE int64_t kni_word_rem_i64(int64_t a, int64_t b) { return (int64_t)((((b) == 0 || ((b) + 1 == 0 && (int64_t)-1 < 0) ? 0 : (a) % (b)) + (((b) == 0 || ((b) + 1 == 0 && (int64_t)-1 < 0) ? 0 : (a) % (b)) != 0 && ((a) < 0) != ((b) < 0) ? (b) : 0))); }

struct kn_pointwise_params {
    int64_t u_items;
    int64_t u_offset_x;
    int64_t u_offset_bias;
    int64_t u_offset_y;
    float u_scale;
    int64_t u_columns;
};

extern "C" __global__ void kn_pointwise(const float *__restrict__ u_x, const float *__restrict__ u_bias, float *__restrict__ u_y, struct kn_pointwise_params p)
{
    const int64_t item = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= p.u_items) return;
    u_y[item + p.u_offset_y] = kni_word_max_f32(u_x[item + p.u_offset_x] * p.u_scale + u_bias[kni_word_rem_i64(item, p.u_columns) + p.u_offset_bias], 0.0f) / 3.0f;
}
