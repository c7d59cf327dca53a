/* Rounding to integers, square roots, and the remainders. Exact on every input, without libm: the magic number
   2^52 (2^23) rounds to an integer, and the sign is put back so that -0.3 becomes -0. */
#ifndef KNI_MATH_ROUND_FUNCTIONS_H
#define KNI_MATH_ROUND_FUNCTIONS_H

#include "core/math/bits.h"

/* To the nearest integer, halves to even. */
KNI_INLINE double kni_round_even_f64(double x)
{
    double a = kni_abs_f64(x);
    double r = (a + 0x1p52) - 0x1p52;
    return a < 0x1p52 ? kni_copysign_f64(r, x) : x;
}

KNI_INLINE float kni_round_even_f32(float x)
{
    float a = kni_abs_f32(x);
    float r = (a + 0x1p23f) - 0x1p23f;
    return a < 0x1p23f ? kni_copysign_f32(r, x) : x;
}

KNI_INLINE double kni_trunc_f64(double x)
{
    double a = kni_abs_f64(x);
    double r = (a + 0x1p52) - 0x1p52;
    r = r > a ? r - 1.0 : r;
    return a < 0x1p52 ? kni_copysign_f64(r, x) : x;
}

KNI_INLINE float kni_trunc_f32(float x)
{
    float a = kni_abs_f32(x);
    float r = (a + 0x1p23f) - 0x1p23f;
    r = r > a ? r - 1.0f : r;
    return a < 0x1p23f ? kni_copysign_f32(r, x) : x;
}

KNI_INLINE double kni_floor_f64(double x)
{
    double r = kni_round_even_f64(x);
    r = r > x ? r - 1.0 : r;
    return kni_abs_f64(x) < 0x1p52 ? kni_copysign_f64(r, x) : x;
}

KNI_INLINE float kni_floor_f32(float x)
{
    float r = kni_round_even_f32(x);
    r = r > x ? r - 1.0f : r;
    return kni_abs_f32(x) < 0x1p23f ? kni_copysign_f32(r, x) : x;
}

KNI_INLINE double kni_ceil_f64(double x)
{
    double r = kni_round_even_f64(x);
    r = r < x ? r + 1.0 : r;
    return kni_abs_f64(x) < 0x1p52 ? kni_copysign_f64(r, x) : x;
}

KNI_INLINE float kni_ceil_f32(float x)
{
    float r = kni_round_even_f32(x);
    r = r < x ? r + 1.0f : r;
    return kni_abs_f32(x) < 0x1p23f ? kni_copysign_f32(r, x) : x;
}

/* The part of a nonzero finite double that remainders work on: |x| = significand 2^exponent. */
typedef struct {
    uint64_t significand;
    int exponent;
} kni_unpacked;

static inline kni_unpacked kni_unpack_f64(double x)
{
    uint64_t u = kni_bits_f64(x) & ~KNI_SIGN_F64;
    int e = (int)(u >> 52);
    uint64_t m = u & 0x000fffffffffffffu;
    if (e) return (kni_unpacked){m | 0x0010000000000000u, e - 1075};
    int shift = __builtin_clzll(m) - 11;
    return (kni_unpacked){m << shift, -1074 - shift};
}

/* x - trunc(x/y) y, exactly, with the sign of x: C's fmod. Eleven quotient bits at a time. */
static inline double kni_fmod_f64(double x, double y)
{
    double ax = kni_abs_f64(x), ay = kni_abs_f64(y);
    if (!(ax < KNI_INF_F64) || !(ay > 0.0)) return KNI_NAN_F64;
    if (ax < ay) return x;
    kni_unpacked a = kni_unpack_f64(ax), b = kni_unpack_f64(ay);
    uint64_t m = a.significand % b.significand;
    for (int left = a.exponent - b.exponent; left > 0 && m;) {
        int step = left < 11 ? left : 11;
        m = (m << step) % b.significand;
        left -= step;
    }
    return kni_copysign_f64(kni_scale_f64((double)m, (double)b.exponent), x);
}

/* Forty quotient bits at a time: at most seven rounds. */
static inline float kni_fmod_f32(float x, float y)
{
    double ax = kni_abs_f64((double)x), ay = kni_abs_f64((double)y);
    if (!(ax < KNI_INF_F64) || !(ay > 0.0)) return KNI_NAN_F32;
    if (ax < ay) return x;
    kni_unpacked a = kni_unpack_f64(ax), b = kni_unpack_f64(ay);
    uint64_t divisor = b.significand >> 29;
    uint64_t m = (a.significand >> 29) % divisor;
    for (int left = a.exponent - b.exponent; left > 0 && m;) {
        int step = left < 40 ? left : 40;
        m = (m << step) % divisor;
        left -= step;
    }
    return kni_copysign_f32((float)kni_scale_f64((double)m, (double)(b.exponent + 29)), x);
}

/* x - floor(x/y) y with the sign of y, as Python's % and torch.remainder. */
static inline double kni_remainder_floor_f64(double x, double y)
{
    double r = kni_fmod_f64(x, y);
    return r != 0.0 && (r < 0.0) != (y < 0.0) ? r + y : r;
}

static inline float kni_remainder_floor_f32(float x, float y)
{
    float r = kni_fmod_f32(x, y);
    return r != 0.0f && (r < 0.0f) != (y < 0.0f) ? r + y : r;
}

#endif
