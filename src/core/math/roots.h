/* Square roots and hypot. The square root is the target's instruction, and a correctly rounded integer routine
   where the target has none, so the bits are the same. */
#ifndef KNI_MATH_ROOTS_H
#define KNI_MATH_ROOTS_H

#include "core/math/bits.h"

#if defined(__SSE2__) || defined(__aarch64__) || defined(__wasm__) ||                                        \
    (defined(__ARM_FP) && (__ARM_FP & 8)) || (defined(__riscv_flen) && __riscv_flen >= 64) ||                \
    defined(__CUDA_ARCH__)
#define KNI_HAS_SQRT_F64 1
#endif
#if defined(KNI_HAS_SQRT_F64) || (defined(__ARM_FP) && (__ARM_FP & 4)) ||                                    \
    (defined(__riscv_flen) && __riscv_flen >= 32)
#define KNI_HAS_SQRT_F32 1
#endif

/* One result bit a round; the remainder decides the last rounding, which can never be a tie. */
static inline double kni_sqrt_soft_f64(double x)
{
    if (!(x > 0.0) || !(x < KNI_INF_F64)) return x < 0.0 ? KNI_NAN_F64 : x + x;
    uint64_t u = kni_bits_f64(x);
    int e = (int)(u >> 52);
    uint64_t m = u & 0x000fffffffffffffu;
    if (e) {
        m |= 0x0010000000000000u;
    } else {
        int shift = __builtin_clzll(m) - 11;
        m <<= shift;
        e = 1 - shift;
    }
    e -= 1023;
    if (e & 1) m <<= 1;
    e = (e - (e & 1)) / 2;
    uint64_t root = 0, rest = 0;
    m <<= 10;
    for (int i = 0; i < 54; i++) {
        rest = (rest << 2) | (m >> 62);
        m <<= 2;
        uint64_t trial = (root << 2) | 1;
        root <<= 1;
        if (rest >= trial) {
            rest -= trial;
            root |= 1;
        }
    }
    return kni_from_bits_f64((root >> 1) + (root & 1) + ((uint64_t)(e + 1022) << 52));
}

static inline float kni_sqrt_soft_f32(float x)
{
    /* Twice the digits and two more: rounding the double root again gives the float root. */
    return (float)kni_sqrt_soft_f64((double)x);
}

KNI_INLINE double kni_sqrt_f64(double x)
{
#ifdef KNI_HAS_SQRT_F64
    return __builtin_sqrt(x);
#else
    return kni_sqrt_soft_f64(x);
#endif
}

KNI_INLINE float kni_sqrt_f32(float x)
{
#ifdef KNI_HAS_SQRT_F32
    return __builtin_sqrtf(x);
#else
    return kni_sqrt_soft_f32(x);
#endif
}

/* 1/sqrt(x) */
KNI_INLINE double kni_rsqrt_f64(double x) { return 1.0 / kni_sqrt_f64(x); }

KNI_INLINE float kni_rsqrt_f32(float x) { return 1.0f / kni_sqrt_f32(x); }

/* sqrt(x^2 + y^2) without overflow on the way; infinite where either is, even beside a NaN. */
KNI_INLINE double kni_hypot_f64(double x, double y)
{
    double ax = kni_abs_f64(x), ay = kni_abs_f64(y);
    double a = ax > ay ? ax : ay, b = ax > ay ? ay : ax;
    double scale = a > 0x1p500 ? 0x1p-600 : (a < 0x1p-400 ? 0x1p700 : 1.0);
    double back = a > 0x1p500 ? 0x1p600 : (a < 0x1p-400 ? 0x1p-700 : 1.0);
    double as = a * scale, bs = b * scale;
    /* The rounding errors of the squares go back in: the root then rounds almost exactly. */
    kni_double2 a2 = kni_two_product(as, as);
    kni_double2 sum = kni_fast_two_sum(a2.hi, bs * bs);
    double r = kni_sqrt_f64(sum.hi + (sum.lo + a2.lo)) * back;
    return ax == KNI_INF_F64 || ay == KNI_INF_F64 ? KNI_INF_F64 : (b == 0.0 ? a : r);
}

KNI_INLINE float kni_hypot_f32(float x, float y)
{
    double a = (double)x, b = (double)y;
    float r = (float)kni_sqrt_f64(a * a + b * b);
    return kni_abs_f32(x) == KNI_INF_F32 || kni_abs_f32(y) == KNI_INF_F32 ? KNI_INF_F32 : r;
}

#endif
