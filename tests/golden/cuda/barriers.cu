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

struct kn_barriers_params {
    int64_t u_limit;
};

extern "C" __global__ void __launch_bounds__(16) kn_barriers(const float *__restrict__ u_x, float *__restrict__ u_y, struct kn_barriers_params p)
{
    __shared__ float u_shared[16];
    float u_own[3];
    const int64_t group = blockIdx.x;
    const int32_t member = (int32_t)threadIdx.x;
    if (group >= p.u_limit) {
        return;
    }
    const int64_t t1 = group * 16 + (int64_t)member;
    float v1 = u_x[t1];
    for (int32_t i1 = 0; i1 < 3; i1++) {
        u_own[i1] = v1 * (float)i1;
    }
    int64_t v2 = 0;
    for (; v2 < 6; v2 = v2 + 1) {
        if (v2 == 1) {
            continue;
        }
        u_shared[member] = v1;
        __syncthreads();
        v1 = u_shared[member ^ 5] * 0.5f + v1;
        __syncthreads();
        if (v2 == group + 2) {
            break;
        }
    }
    float v3 = v1;
    for (int32_t i2 = 0; i2 < 3; i2++) {
        u_shared[member] = u_own[i2];
        __syncthreads();
        if (member < 15) {
            v3 = v3 + u_shared[member + 1];
        }
        __syncthreads();
    }
    if (member == 3) {
        return;
    }
    u_y[t1] = v3;
}
