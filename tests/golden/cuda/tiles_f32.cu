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

struct kn_tiles_f32_params {
    int64_t u_depth;
};

extern "C" __global__ void __launch_bounds__(32) kn_tiles_f32(const float *__restrict__ u_x, const float *__restrict__ u_y, float *__restrict__ u_z, struct kn_tiles_f32_params p)
{
    float u_tile_f32[16];
    float u_tile_f32_1[128];
    float u_tile_f32_2[8];
    const int64_t group = blockIdx.x;
    const int32_t member = (int32_t)threadIdx.x;
    const int32_t lane = (int32_t)threadIdx.x & 31;
    if (member / 32 == 0) {
        for (int64_t i1 = 0; i1 < 8; i1++) {
            u_tile_f32_2[i1] = 1.0f;
        }
        const int64_t t1 = group * 16 * p.u_depth;
        for (int64_t i2 = 0; i2 < p.u_depth; i2 += 16) {
            const int64_t t2 = t1 + i2;
            const int64_t t3 = (int64_t)lane / 2 * 1;
            for (int64_t i3 = 0; i3 < 1; i3++) {
                for (int64_t i4 = 0; i4 < 16; i4++) {
                    u_tile_f32[i3 * 16 + i4] = u_x[t2 + (t3 + i3) * p.u_depth + i4];
                }
            }
            const int64_t t4 = i2 * 16;
            const int64_t t5 = (int64_t)lane % 2 * 8;
            for (int64_t i5 = 0; i5 < 16; i5++) {
                for (int64_t i6 = 0; i6 < 8; i6++) {
                    u_tile_f32_1[i5 * 8 + i6] = u_y[t4 + i5 * 16 + (t5 + i6)];
                }
            }
            for (int64_t i7 = 0; i7 < 1; i7++) {
                for (int64_t i8 = 0; i8 < 8; i8++) {
                    const int64_t t6 = i7 * 8 + i8;
                    float v1 = u_tile_f32_2[t6];
                    for (int64_t i9 = 0; i9 < 16; i9++) {
                        v1 = v1 + u_tile_f32[i7 * 16 + i9] * u_tile_f32_1[i9 * 8 + i8];
                    }
                    u_tile_f32_2[t6] = v1;
                }
            }
        }
        const int64_t t7 = group * 256;
        const int64_t t8 = (int64_t)lane;
        const int64_t t9 = t8 / 2 * 1;
        const int64_t t10 = t8 % 2 * 8;
        for (int64_t i10 = 0; i10 < 1; i10++) {
            for (int64_t i11 = 0; i11 < 8; i11++) {
                u_z[t7 + (t9 + i10) * 16 + (t10 + i11)] = u_tile_f32_2[i10 * 8 + i11];
            }
        }
    }
}
