/* The ground of Kiln's own math functions: bit casts, constants and the few arithmetic helpers they share.
   Results are the same bits on every target, because only correctly rounded operations are used; compile with
   -ffp-contract=off -fno-math-errno -fno-trapping-math. The sign and payload of a NaN result are not fixed. */
#ifndef KNI_MATH_BITS_H
#define KNI_MATH_BITS_H

#include <stdint.h>

/* Functions are inlined by force: a call left in a loop would keep the loop from being vectorised. */
#define KNI_INLINE static inline __attribute__((always_inline))

#define KNI_INF_F64 __builtin_inf()
#define KNI_INF_F32 __builtin_inff()
#define KNI_NAN_F64 __builtin_nan("")
#define KNI_NAN_F32 __builtin_nanf("")

/* Adding one of these rounds a small float to an integer (to even), which then stands in the low bits. */
#define KNI_MAGIC_F64 0x1.8p52
#define KNI_MAGIC_F32 0x1.8p23f

#define KNI_SIGN_F64 0x8000000000000000u
#define KNI_SIGN_F32 0x80000000u

KNI_INLINE uint64_t kni_bits_f64(double x)
{
    uint64_t u;
    __builtin_memcpy(&u, &x, sizeof u);
    return u;
}

KNI_INLINE double kni_from_bits_f64(uint64_t u)
{
    double x;
    __builtin_memcpy(&x, &u, sizeof x);
    return x;
}

KNI_INLINE uint32_t kni_bits_f32(float x)
{
    uint32_t u;
    __builtin_memcpy(&u, &x, sizeof u);
    return u;
}

KNI_INLINE float kni_from_bits_f32(uint32_t u)
{
    float x;
    __builtin_memcpy(&x, &u, sizeof x);
    return x;
}

KNI_INLINE double kni_abs_f64(double x) { return kni_from_bits_f64(kni_bits_f64(x) & ~KNI_SIGN_F64); }

KNI_INLINE float kni_abs_f32(float x) { return kni_from_bits_f32(kni_bits_f32(x) & ~KNI_SIGN_F32); }

/* |magnitude| with the sign of sign. */
KNI_INLINE double kni_copysign_f64(double magnitude, double sign)
{
    return kni_from_bits_f64((kni_bits_f64(magnitude) & ~KNI_SIGN_F64) | (kni_bits_f64(sign) & KNI_SIGN_F64));
}

KNI_INLINE float kni_copysign_f32(float magnitude, float sign)
{
    return kni_from_bits_f32((kni_bits_f32(magnitude) & ~KNI_SIGN_F32) | (kni_bits_f32(sign) & KNI_SIGN_F32));
}

/* x with its sign flipped where sign is negative. */
KNI_INLINE double kni_flip_sign_f64(double x, double sign)
{
    return kni_from_bits_f64(kni_bits_f64(x) ^ (kni_bits_f64(sign) & KNI_SIGN_F64));
}

KNI_INLINE double kni_horner4_f64(double p, double x, double c3, double c2, double c1, double c0)
{
    return (((p * x + c3) * x + c2) * x + c1) * x + c0;
}

KNI_INLINE float kni_horner4_f32(float p, float x, float c3, float c2, float c1, float c0)
{
    return (((p * x + c3) * x + c2) * x + c1) * x + c0;
}

/* y 2^k for an integer-valued k in [-1400, 1400]; two factors, so that subnormal and infinite results come out
   of one rounding of y. */
KNI_INLINE double kni_scale_f64(double y, double k)
{
    const double magic = KNI_MAGIC_F64 + 1023.0;
    double first = k * 0.5 + magic;
    double second = (k - (first - magic)) + magic;
    return y * kni_from_bits_f64(kni_bits_f64(first) << 52) * kni_from_bits_f64(kni_bits_f64(second) << 52);
}

/* The same for k in [-250, 250]. */
KNI_INLINE float kni_scale_f32(float y, float k)
{
    const float magic = KNI_MAGIC_F32 + 127.0f;
    float first = k * 0.5f + magic;
    float second = (k - (first - magic)) + magic;
    return y * kni_from_bits_f32(kni_bits_f32(first) << 23) * kni_from_bits_f32(kni_bits_f32(second) << 23);
}

/* 2^k for a normal result. */
KNI_INLINE double kni_power_of_two_f64(double k)
{
    return kni_from_bits_f64(kni_bits_f64(k + (KNI_MAGIC_F64 + 1023.0)) << 52);
}

KNI_INLINE float kni_power_of_two_f32(float k)
{
    return kni_from_bits_f32(kni_bits_f32(k + (KNI_MAGIC_F32 + 127.0f)) << 23);
}

/* An unevaluated sum hi + lo with |lo| far below |hi|: about 106 bits. */
typedef struct {
    double hi, lo;
} kni_double2;

/* a + b without error. */
KNI_INLINE kni_double2 kni_two_sum(double a, double b)
{
    double s = a + b;
    double t = s - a;
    return (kni_double2){s, (a - (s - t)) + (b - t)};
}

/* a + b without error where |a| >= |b| or a is 0. */
KNI_INLINE kni_double2 kni_fast_two_sum(double a, double b)
{
    double s = a + b;
    return (kni_double2){s, (a - s) + b};
}

/* x with the low 27 bits of its significand cleared, so that products of two such numbers are exact. */
KNI_INLINE double kni_upper_half_f64(double x)
{
    return kni_from_bits_f64(kni_bits_f64(x) & 0xfffffffff8000000u);
}

/* a b with an error far below 2^-100 of the product. */
KNI_INLINE kni_double2 kni_two_product(double a, double b)
{
    double ah = kni_upper_half_f64(a), al = a - ah;
    double bh = kni_upper_half_f64(b), bl = b - bh;
    double p = a * b;
    return (kni_double2){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

#endif
