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
    uint32_t u_words[6];
};

KNI_FUNCTION uint32_t user_kni_soft_upper_product(uint32_t a1, uint32_t a2)
{
    const uint32_t t1 = a1 & 65535u;
    const uint32_t t2 = a1 >> 16u;
    const uint32_t t3 = a2 & 65535u;
    const uint32_t t4 = a2 >> 16u;
    const uint32_t t5 = t2 * t3 + (t1 * t3 >> 16u);
    return t2 * t4 + (t5 >> 16u) + (t1 * t4 + (t5 & 65535u) >> 16u);
}

__kernel void kn_loops(__global const int32_t *restrict u_x, __global uint32_t *restrict u_y, struct kn_loops_params p)
{
    const uint32_t item = (uint32_t)((int64_t)get_global_id(0));
    if (item >= p.u_words[0u]) {
        return;
    }
    const int32_t t1 = u_x[item + p.u_words[2u]];
    uint32_t v1 = 0u;
    uint32_t v2 = 0u;
    uint32_t v3 = 0u;
    uint32_t v4 = 0u;
    for (;;) {
        if (!((int32_t)v2 < 0 || v2 == 0u && v1 < 20u)) break;
        {
            const uint32_t t2 = v1;
            const uint32_t t3 = v2;
            if ((t2 & 3u) == 1u) {
                goto next1;
            }
            if (t1 < (int32_t)t2) {
                break;
            }
            const uint32_t t4 = v3;
            const uint32_t t5 = v4;
            const uint32_t t6 = t4 + t2;
            v3 = t6;
            v4 = t5 + t3 + (t6 < t4 ? 1u : 0u);
        }
next1:;
        const uint32_t t7 = v1;
        const uint32_t t8 = v2;
        const uint32_t t9 = t7 + 1u;
        v1 = t9;
        v2 = t8 + (t9 < t7 ? 1u : 0u);
    }
    for (;;) {
        const uint32_t t10 = user_kni_soft_upper_product(v1, v1) + (v1 * v2 + v2 * v1);
        const int t11 = (0 < (int32_t)v2 || v2 == 0u && 0u < v1) && ((int32_t)t10 < 0 || t10 == 0u && v1 * v1 < 1000u);
        if (!t11) break;
        {
            const uint32_t t12 = v1;
            const uint32_t t13 = v2;
            uint32_t v5 = 0u;
            uint32_t v6 = 0u;
            const int32_t t14 = (int32_t)t13;
            for (;;) {
                if (!((int32_t)v6 < t14 || v6 == t13 && v5 < t12)) break;
                {
                    const uint32_t t15 = v5;
                    const uint32_t t16 = v6;
                    if (t15 == 4u && t16 == 0u) {
                        goto next3;
                    }
                    const uint32_t t17 = v3;
                    const uint32_t t18 = v4;
                    if (0 < (int32_t)t18 || t18 == 0u && 5000u < t17) {
                        const uint32_t t19 = item + p.u_words[4u] << 1u;
                        u_y[t19] = 4294967295u;
                        u_y[t19 | 1u] = 4294967295u;
                        return;
                    }
                    const uint32_t t20 = t17 + t15;
                    v3 = t20;
                    v4 = t18 + t16 + (t20 < t17 ? 1u : 0u);
                }
next3:;
                const uint32_t t21 = v5;
                const uint32_t t22 = v6;
                const uint32_t t23 = t21 + 2u;
                v5 = t23;
                v6 = t22 + (t23 < t21 ? 1u : 0u);
            }
            if (t12 == 7u && t13 == 0u) {
                goto next2;
            }
            const uint32_t t24 = v3;
            const uint32_t t25 = v4;
            const uint32_t t26 = t24 + 100u;
            v3 = t26;
            v4 = t25 + (t26 < t24 ? 1u : 0u);
        }
next2:;
        const uint32_t t27 = v1;
        const uint32_t t28 = v2;
        if (0 < (int32_t)t28 || t28 == 0u && 10u < t27) {
            v1 = t27 - 3u;
            v2 = t28 - (t27 < 3u ? 1u : 0u);
        } else {
            v1 = t27 - 1u;
            v2 = t28 - (t27 < 1u ? 1u : 0u);
        }
    }
    const uint32_t t29 = v4;
    const uint32_t t30 = item + p.u_words[4u] << 1u;
    u_y[t30] = v3;
    u_y[t30 | 1u] = t29;
}
