#pragma OPENCL FP_CONTRACT OFF
typedef char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef uchar uint8_t;
typedef ushort uint16_t;
typedef uint uint32_t;
typedef ulong uint64_t;
#define KNI_FUNCTION static
#define KNI_INLINE static inline
#define KNI_TABLE __constant
#define KNI_MAKE(type) (type)
#define KNI_INF_F32 as_float(0x7f800000u)
#define KNI_NAN_F32 as_float(0x7fc00000u)
#define KNI_SQRT_F32(x) sqrt(x)
#define KNI_LEADING_ZEROS(x) ((int)clz(x))
KNI_INLINE uint32_t kni_bits_f32(float x) { return as_uint(x); }
KNI_INLINE float kni_from_bits_f32(uint32_t u) { return as_float(u); }
#if defined(cl_khr_fp64) || defined(__opencl_c_fp64)
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define KNI_INF_F64 as_double(0x7ff0000000000000ul)
#define KNI_NAN_F64 as_double(0x7ff8000000000000ul)
#define KNI_SQRT_F64(x) sqrt(x)
KNI_INLINE uint64_t kni_bits_f64(double x) { return as_ulong(x); }
KNI_INLINE double kni_from_bits_f64(uint64_t u) { return as_double(u); }
#endif

struct kn_tiles_f32_params {
    int64_t u_depth;
};

__kernel void kn_tiles_f32(__global const float *restrict u_x, __global const float *restrict u_y, __global float *restrict u_z, struct kn_tiles_f32_params p)
{
    float u_tile_f32[256];
    float u_tile_f32_1[256];
    float u_tile_f32_2[256];
    const int64_t group = get_group_id(0);
    const int32_t member = (int32_t)get_local_id(0);
    if (member / 1 == 0) {
        for (int64_t i1 = 0; i1 < 256; i1++) {
            u_tile_f32_2[i1] = 1.0f;
        }
        const int64_t t1 = group * 16 * p.u_depth;
        for (int64_t i2 = 0; i2 < p.u_depth; i2 += 16) {
            const int64_t t2 = t1 + i2;
            const int64_t t3 = (int64_t)0 / 1 * 16;
            for (int64_t i3 = 0; i3 < 16; i3++) {
                for (int64_t i4 = 0; i4 < 16; i4++) {
                    u_tile_f32[i3 * 16 + i4] = u_x[t2 + (t3 + i3) * p.u_depth + i4];
                }
            }
            const int64_t t4 = i2 * 16;
            const int64_t t5 = (int64_t)0 % 1 * 16;
            for (int64_t i5 = 0; i5 < 16; i5++) {
                for (int64_t i6 = 0; i6 < 16; i6++) {
                    u_tile_f32_1[i5 * 16 + i6] = u_y[t4 + i5 * 16 + (t5 + i6)];
                }
            }
            for (int64_t i7 = 0; i7 < 16; i7++) {
                for (int64_t i8 = 0; i8 < 16; i8++) {
                    const int64_t t6 = i7 * 16 + i8;
                    float v1 = u_tile_f32_2[t6];
                    for (int64_t i9 = 0; i9 < 16; i9++) {
                        v1 = v1 + u_tile_f32[i7 * 16 + i9] * u_tile_f32_1[i9 * 16 + i8];
                    }
                    u_tile_f32_2[t6] = v1;
                }
            }
        }
        const int64_t t7 = group * 256;
        const int64_t t8 = (int64_t)0;
        const int64_t t9 = t8 / 1 * 16;
        const int64_t t10 = t8 % 1 * 16;
        for (int64_t i10 = 0; i10 < 16; i10++) {
            for (int64_t i11 = 0; i11 < 16; i11++) {
                u_z[t7 + (t9 + i10) * 16 + (t10 + i11)] = u_tile_f32_2[i10 * 16 + i11];
            }
        }
    }
}
