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
KNI_INLINE float kni_f16_to_f32(uint16_t x)
{
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
    return y;
}
#if __CUDA_ARCH__ >= 800
KNI_INLINE uint16_t kni_f32_to_bf16(float x)
{
    uint16_t y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
}
#else
KNI_INLINE uint16_t kni_f32_to_bf16(float x)
{
    uint32_t u = kni_bits_f32(x);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    uint32_t quiet = (u >> 16) | 0x40u;
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}
#endif
KNI_INLINE uint16_t kni_cast_bf16_f32(float x) { return (uint16_t)(kni_f32_to_bf16(x)); }
KNI_INLINE float kni_cast_f32_f16(uint16_t x) { return (float)(kni_f16_to_f32(x)); }

typedef struct __align__(16) kni_f32x4 {
    float s0, s1, s2, s3;
} kni_f32x4;
typedef struct __align__(16) kni_f32x8 {
    float s0, s1, s2, s3, s4, s5, s6, s7;
} kni_f32x8;
typedef struct __align__(16) kni_u16x8 {
    uint16_t s0, s1, s2, s3, s4, s5, s6, s7;
} kni_u16x8;

struct kn_vectors_params {
    int64_t u_items;
    int64_t u_offset_x;
    int64_t u_offset_h;
    int64_t u_offset_y;
    int64_t u_offset_g;
    int64_t u_n;
};

extern "C" __global__ void kn_vectors(const float *__restrict__ u_x, const uint16_t *__restrict__ u_h, float *__restrict__ u_y, uint16_t *__restrict__ u_g, struct kn_vectors_params p)
{
    const int64_t item = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= p.u_items) return;
    const int64_t t1 = item * 4;
    const int t2 = t1 < p.u_n;
    const int64_t t3 = t1 + p.u_offset_x;
    kni_f32x4 t4 = KNI_MAKE(kni_f32x4){1.0f, 1.0f, 1.0f, 1.0f};
    if (t2) {
        t4 = *(const kni_f32x4 *)(u_x + t3);
    }
    const kni_f32x4 t5 = KNI_MAKE(kni_f32x4){t4.s0 * t4.s0 + 0.25f, t4.s1 * t4.s1 + 0.25f, t4.s2 * t4.s2 + 0.25f, t4.s3 * t4.s3 + 0.25f};
    const int64_t t6 = t1 + p.u_offset_y;
    if (t2) *(kni_f32x4 *)(u_y + t6) = KNI_MAKE(kni_f32x4){t4.s0 < 0.0f ? -t5.s0 : t5.s0, t4.s1 < 0.0f ? -t5.s1 : t5.s1, t4.s2 < 0.0f ? -t5.s2 : t5.s2, t4.s3 < 0.0f ? -t5.s3 : t5.s3};
    const int64_t t7 = item * 8;
    const int64_t t8 = t7 + p.u_offset_h;
    const kni_u16x8 t9_raw = *(const kni_u16x8 *)(u_h + t8);
    const kni_f32x8 t9 = KNI_MAKE(kni_f32x8){kni_cast_f32_f16(t9_raw.s0), kni_cast_f32_f16(t9_raw.s1), kni_cast_f32_f16(t9_raw.s2), kni_cast_f32_f16(t9_raw.s3), kni_cast_f32_f16(t9_raw.s4), kni_cast_f32_f16(t9_raw.s5), kni_cast_f32_f16(t9_raw.s6), kni_cast_f32_f16(t9_raw.s7)};
    const kni_f32x8 t10 = KNI_MAKE(kni_f32x8){t9.s0 * t9.s7, t9.s1 * t9.s6, t9.s2 * t9.s5, t9.s3 * t9.s4, t9.s4 * t9.s3, t9.s5 * t9.s2, t9.s6 * t9.s1, t9.s7 * t9.s0};
    const int64_t t11 = t7 + p.u_offset_g;
    *(kni_u16x8 *)(u_g + t11) = KNI_MAKE(kni_u16x8){kni_cast_bf16_f32(t10.s0), kni_cast_bf16_f32(t10.s1), kni_cast_bf16_f32(t10.s2), kni_cast_bf16_f32(t10.s3), kni_cast_bf16_f32(t10.s4), kni_cast_bf16_f32(t10.s5), kni_cast_bf16_f32(t10.s6), kni_cast_bf16_f32(t10.s7)};
}
