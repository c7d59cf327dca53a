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

struct kn_loops_params {
    int64_t u_items;
    int64_t u_offset_x;
    int64_t u_offset_y;
};

__kernel void kn_loops(__global const int32_t *restrict u_x, __global int64_t *restrict u_y, struct kn_loops_params p)
{
    const int64_t item = (int64_t)get_global_id(0);
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
