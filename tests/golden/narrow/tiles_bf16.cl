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

struct kn_tiles_bf16_params {
    uint32_t u_words[2];
};

KNI_FUNCTION uint2 user_kni_soft_divide_u64(uint32_t a1, uint32_t a2, uint32_t a3, uint32_t a4)
{
    uint32_t v1 = a1;
    uint32_t v2 = a2;
    if ((a2 | a4) == 0u) {
        const int t1 = a3 == 0u;
        uint32_t v3;
        if (t1) {
            v3 = 0u;
        } else {
            v3 = t1 ? 0u : a1 / (t1 ? 1u : a3);
        }
        return (uint2)(v3, 0u);
    }
    if (a3 == 0u && a4 == 0u) {
        return (uint2)(0u, 0u);
    }
    uint32_t v4 = 0u;
    uint32_t v5 = 0u;
    uint32_t v6 = 0u;
    uint32_t v7 = 0u;
    int32_t v8 = 0;
    for (; v8 < 64; v8 = v8 + 1) {
        const uint32_t t2 = v7;
        const uint32_t t3 = t2 << 1u | v6 >> 31u;
        const uint32_t t4 = v1;
        const uint32_t t5 = v2;
        const uint32_t t6 = v6 << 1u | t5 >> 31u;
        v6 = t6;
        v7 = t3;
        v1 = t4 << 1u;
        v2 = t5 << 1u | t4 >> 31u;
        const uint32_t t7 = v4 << 1u;
        const uint32_t t8 = v5 << 1u | v4 >> 31u;
        v4 = t7;
        v5 = t8;
        if (!(t2 >> 31u == 0u) || (a4 < t3 || a4 == t3 && a3 <= t6)) {
            v6 = t6 - a3;
            v7 = t3 - a4 - (t6 < a3 ? 1u : 0u);
            v4 = t7 | 1u;
            v5 = t8;
        }
    }
    return (uint2)(v4, v5);
}

KNI_FUNCTION uint2 user_kni_soft_divide_i64(uint32_t a1, uint32_t a2, uint32_t a3, uint32_t a4)
{
    const int t1 = (int32_t)a2 < 0 || a2 == 0u && a1 < 0u;
    const int t2 = (int32_t)a4 < 0 || a4 == 0u && a3 < 0u;
    const uint2 t3 = user_kni_soft_divide_u64(t1 ? 0u - a1 : a1, t1 ? 0u - a2 - (0u < a1 ? 1u : 0u) : a2, t2 ? 0u - a3 : a3, t2 ? 0u - a4 - (0u < a3 ? 1u : 0u) : a4);
    const uint32_t t4 = t3.s0;
    const uint32_t t5 = t3.s1;
    const int t6 = t1 && !t2 || !t1 && t2;
    const uint2 t7 = (uint2)(t6 ? 0u - t4 : t4, t6 ? 0u - t5 - (0u < t4 ? 1u : 0u) : t5);
    return t7;
}

KNI_FUNCTION uint32_t user_kni_soft_upper_product(uint32_t a1, uint32_t a2)
{
    const uint32_t t1 = a1 & 65535u;
    const uint32_t t2 = a1 >> 16u;
    const uint32_t t3 = a2 & 65535u;
    const uint32_t t4 = a2 >> 16u;
    const uint32_t t5 = t2 * t3 + (t1 * t3 >> 16u);
    return t2 * t4 + (t5 >> 16u) + (t1 * t4 + (t5 & 65535u) >> 16u);
}

KNI_FUNCTION uint2 user_kni_soft_rest_u64(uint32_t a1, uint32_t a2, uint32_t a3, uint32_t a4)
{
    if ((a2 | a4) == 0u) {
        const int t1 = a3 == 0u;
        uint32_t v1;
        if (t1) {
            v1 = 0u;
        } else {
            v1 = t1 ? 0u : a1 % (t1 ? 1u : a3);
        }
        return (uint2)(v1, 0u);
    }
    uint32_t v2;
    uint32_t v3;
    if (a3 == 0u && a4 == 0u) {
        v2 = 0u;
        v3 = 0u;
    } else {
        const uint2 t2 = user_kni_soft_divide_u64(a1, a2, a3, a4);
        const uint32_t t3 = t2.s0;
        const uint32_t t4 = t3 * a3;
        v2 = a1 - t4;
        v3 = a2 - (user_kni_soft_upper_product(t3, a3) + (t3 * a4 + t2.s1 * a3)) - (a1 < t4 ? 1u : 0u);
    }
    return (uint2)(v2, v3);
}

KNI_FUNCTION uint2 user_kni_soft_rest_i64(uint32_t a1, uint32_t a2, uint32_t a3, uint32_t a4)
{
    const int t1 = (int32_t)a2 < 0 || a2 == 0u && a1 < 0u;
    const int t2 = (int32_t)a4 < 0 || a4 == 0u && a3 < 0u;
    const uint2 t3 = user_kni_soft_rest_u64(t1 ? 0u - a1 : a1, t1 ? 0u - a2 - (0u < a1 ? 1u : 0u) : a2, t2 ? 0u - a3 : a3, t2 ? 0u - a4 - (0u < a3 ? 1u : 0u) : a4);
    const uint32_t t4 = t3.s0;
    const uint32_t t5 = t3.s1;
    const uint2 t6 = (uint2)(t1 ? 0u - t4 : t4, t1 ? 0u - t5 - (0u < t4 ? 1u : 0u) : t5);
    return t6;
}

__kernel void kn_tiles_bf16(__global const uint32_t *restrict u_x, __global const uint32_t *restrict u_y, __global float *restrict u_z, struct kn_tiles_bf16_params p)
{
    float u_tile_f32[256];
    float u_tile_f32_1[256];
    float u_tile_f32_2[256];
    const uint32_t group = get_group_id(0);
    const uint32_t member = (int32_t)get_local_id(0);
    const uint32_t t1 = p.u_words[0u];
    const uint32_t t2 = p.u_words[1u];
    if ((int32_t)member == 0) {
        uint32_t v1 = 0u;
        uint32_t v2 = 0u;
        for (;;) {
            if (!((int32_t)v2 < 0 || v2 == 0u && v1 < 256u)) break;
            u_tile_f32_2[v1] = 1.0f;
            const uint32_t t3 = v1;
            const uint32_t t4 = v2;
            const uint32_t t5 = t3 + 1u;
            v1 = t5;
            v2 = t4 + (t5 < t3 ? 1u : 0u);
        }
        const uint32_t t6 = group * 16u * t1;
        uint32_t v3 = 0u;
        uint32_t v4 = 0u;
        const int32_t t7 = (int32_t)t2;
        for (;;) {
            if (!((int32_t)v4 < t7 || v4 == t2 && v3 < t1)) break;
            const uint32_t t8 = v3;
            const uint32_t t9 = t6 + t8;
            const uint2 t10 = user_kni_soft_divide_i64(0u, 0u, 1u, 0u);
            const uint32_t t11 = t10.s0 * 16u;
            const uint2 t12 = user_kni_soft_rest_i64(0u, 0u, 1u, 0u);
            const uint32_t t13 = t12.s0 * 16u;
            uint32_t v5 = 0u;
            uint32_t v6 = 0u;
            for (;;) {
                if (!((int32_t)v6 < 0 || v6 == 0u && v5 < 16u)) break;
                uint32_t v7 = 0u;
                uint32_t v8 = 0u;
                const uint32_t t14 = t9 + (t11 + v5) * t1;
                const uint32_t t15 = v5 * 16u;
                for (;;) {
                    if (!((int32_t)v8 < 0 || v8 == 0u && v7 < 16u)) break;
                    const uint32_t t16 = t14 + v7;
                    u_tile_f32[t15 + v7] = kni_from_bits_f32((u_x[t16 >> 1u] >> (t16 & 1u) * 16u & 65535u) << 16u);
                    const uint32_t t17 = v7;
                    const uint32_t t18 = v8;
                    const uint32_t t19 = t17 + 1u;
                    v7 = t19;
                    v8 = t18 + (t19 < t17 ? 1u : 0u);
                }
                const uint32_t t20 = v5;
                const uint32_t t21 = v6;
                const uint32_t t22 = t20 + 1u;
                v5 = t22;
                v6 = t21 + (t22 < t20 ? 1u : 0u);
            }
            const uint32_t t23 = t8 * 16u;
            uint32_t v9 = 0u;
            uint32_t v10 = 0u;
            for (;;) {
                if (!((int32_t)v10 < 0 || v10 == 0u && v9 < 16u)) break;
                uint32_t v11 = 0u;
                uint32_t v12 = 0u;
                const uint32_t t24 = v9 * 16u;
                const uint32_t t25 = t23 + t24;
                for (;;) {
                    if (!((int32_t)v12 < 0 || v12 == 0u && v11 < 16u)) break;
                    const uint32_t t26 = t25 + (t13 + v11);
                    u_tile_f32_1[t24 + v11] = kni_from_bits_f32((u_y[t26 >> 1u] >> (t26 & 1u) * 16u & 65535u) << 16u);
                    const uint32_t t27 = v11;
                    const uint32_t t28 = v12;
                    const uint32_t t29 = t27 + 1u;
                    v11 = t29;
                    v12 = t28 + (t29 < t27 ? 1u : 0u);
                }
                const uint32_t t30 = v9;
                const uint32_t t31 = v10;
                const uint32_t t32 = t30 + 1u;
                v9 = t32;
                v10 = t31 + (t32 < t30 ? 1u : 0u);
            }
            uint32_t v13 = 0u;
            uint32_t v14 = 0u;
            for (;;) {
                if (!((int32_t)v14 < 0 || v14 == 0u && v13 < 16u)) break;
                uint32_t v15 = 0u;
                uint32_t v16 = 0u;
                const uint32_t t33 = v13 * 16u;
                for (;;) {
                    if (!((int32_t)v16 < 0 || v16 == 0u && v15 < 16u)) break;
                    const uint32_t t34 = v15;
                    const uint32_t t35 = t33 + t34;
                    float v17 = u_tile_f32_2[t35];
                    uint32_t v18 = 0u;
                    uint32_t v19 = 0u;
                    for (;;) {
                        if (!((int32_t)v19 < 0 || v19 == 0u && v18 < 16u)) break;
                        v17 = v17 + u_tile_f32[t33 + v18] * u_tile_f32_1[v18 * 16u + t34];
                        const uint32_t t36 = v18;
                        const uint32_t t37 = v19;
                        const uint32_t t38 = t36 + 1u;
                        v18 = t38;
                        v19 = t37 + (t38 < t36 ? 1u : 0u);
                    }
                    u_tile_f32_2[t35] = v17;
                    const uint32_t t39 = v15;
                    const uint32_t t40 = v16;
                    const uint32_t t41 = t39 + 1u;
                    v15 = t41;
                    v16 = t40 + (t41 < t39 ? 1u : 0u);
                }
                const uint32_t t42 = v13;
                const uint32_t t43 = v14;
                const uint32_t t44 = t42 + 1u;
                v13 = t44;
                v14 = t43 + (t44 < t42 ? 1u : 0u);
            }
            const uint32_t t45 = v3;
            const uint32_t t46 = v4;
            const uint32_t t47 = t45 + 16u;
            v3 = t47;
            v4 = t46 + (t47 < t45 ? 1u : 0u);
        }
        const uint32_t t48 = group * 256u;
        const uint2 t49 = user_kni_soft_divide_i64(0u, 0u, 1u, 0u);
        const uint32_t t50 = t49.s0 * 16u;
        const uint2 t51 = user_kni_soft_rest_i64(0u, 0u, 1u, 0u);
        const uint32_t t52 = t51.s0 * 16u;
        uint32_t v20 = 0u;
        uint32_t v21 = 0u;
        for (;;) {
            if (!((int32_t)v21 < 0 || v21 == 0u && v20 < 16u)) break;
            uint32_t v22 = 0u;
            uint32_t v23 = 0u;
            const uint32_t t53 = t48 + (t50 + v20) * 16u;
            const uint32_t t54 = v20 * 16u;
            for (;;) {
                if (!((int32_t)v23 < 0 || v23 == 0u && v22 < 16u)) break;
                u_z[t53 + (t52 + v22)] = u_tile_f32_2[t54 + v22];
                const uint32_t t55 = v22;
                const uint32_t t56 = v23;
                const uint32_t t57 = t55 + 1u;
                v22 = t57;
                v23 = t56 + (t57 < t55 ? 1u : 0u);
            }
            const uint32_t t58 = v20;
            const uint32_t t59 = v21;
            const uint32_t t60 = t58 + 1u;
            v20 = t60;
            v21 = t59 + (t60 < t58 ? 1u : 0u);
        }
    }
}
