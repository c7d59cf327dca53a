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

struct kn_loops_params {
    int64_t u_items;
    int64_t u_offset_x;
    int64_t u_offset_y;
};

extern "C" __global__ void kn_loops(const int32_t *__restrict__ u_x, int64_t *__restrict__ u_y, struct kn_loops_params p)
{
    const int64_t item = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= p.u_items) return;
    const int32_t t1 = u_x[item + p.u_offset_x];
    int64_t v1 = 0;
    int64_t v2 = 0;
    for (; v1 < 20; v1 = v1 + 1) {
        const int64_t t2 = v1;
        if ((t2 & 3) == 1) {
            continue;
        }
        if ((int32_t)t2 > t1) {
            break;
        }
        v2 = v2 + t2;
    }
    for (;;) {
        if (!(v1 > 0 && v1 * v1 < 1000)) break;
        {
            for (int64_t i1 = 0; i1 < v1; i1 += 2) {
                if (i1 == 4) {
                    continue;
                }
                if (v2 > 5000) {
                    u_y[item + p.u_offset_y] = -1;
                    return;
                }
                v2 = v2 + i1;
            }
            if (v1 == 7) {
                goto next1;
            }
            v2 = v2 + 100;
        }
next1:;
        if (v1 > 10) {
            v1 = v1 - 3;
        } else {
            v1 = v1 - 1;
        }
    }
    u_y[item + p.u_offset_y] = v2;
}
