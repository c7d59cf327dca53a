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

/* sum += left * right; a warp holds 16 x 16 of each. */
KNI_FUNCTION void kni_tile_multiply_bf16(float *sum, const uint16_t *left, const uint16_t *right)
{
    uint32_t a[4], b[4];
    for (int32_t n = 0; n < 4; n++) {
        a[n] = left[2 * n] | (uint32_t)left[2 * n + 1] << 16;
        b[n] = right[2 * n] | (uint32_t)right[2 * n + 1] << 16;
    }
    for (int32_t n = 0; n < 2; n++) {
        float *c = sum + 4 * n;
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[2 * n]), "r"(b[2 * n + 1]));
    }
}

struct kn_tiles_bf16_params {
    int64_t u_depth;
};

extern "C" __global__ void __launch_bounds__(32) kn_tiles_bf16(const uint16_t *__restrict__ u_x, const uint16_t *__restrict__ u_y, float *__restrict__ u_z, struct kn_tiles_bf16_params p)
{
    const int64_t group = blockIdx.x;
    const int32_t member = (int32_t)threadIdx.x;
    const int32_t lane = (int32_t)threadIdx.x & 31;
    if (member / 32 == 0) {
        uint16_t v1[8];
        uint16_t v2[8];
        float v3[8];
        for (int32_t n = 0; n < 8; n++) v3[n] = 1.0f;
        const int64_t t1 = group * 16 * p.u_depth;
        for (int64_t i1 = 0; i1 < p.u_depth; i1 += 16) {
            const int64_t t2 = t1 + i1;
            #pragma unroll
            for (int32_t n = 0; n < 8; n++) {
                const int32_t row = (lane >> 2) + (n >> 1 & 1) * 8, column = (lane & 3) * 2 + (n & 1) + (n >> 2) * 8;
                v1[n] = u_x[t2 + row * p.u_depth + column];
            }
            const int64_t t3 = i1 * 16;
            #pragma unroll
            for (int32_t n = 0; n < 8; n++) {
                const int32_t row = (lane & 3) * 2 + (n & 1) + (n >> 1 & 1) * 8, column = (lane >> 2) + (n >> 2) * 8;
                v2[n] = u_y[t3 + row * 16 + column];
            }
            kni_tile_multiply_bf16(v3, v1, v2);
        }
        const int64_t t4 = group * 256;
        #pragma unroll
        for (int32_t n = 0; n < 8; n++) {
            const int32_t row = (lane >> 2) + (n >> 1 & 1) * 8, column = (lane & 3) * 2 + (n & 1) + (n >> 2) * 8;
            u_z[t4 + row * 16 + column] = v3[n];
        }
    }
}
