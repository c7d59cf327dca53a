/* exp, exp2, expm1, log, log2, log10 and log1p in double precision, free of branches and tables. */
#ifndef KNI_MATH_EXP_LOG_H
#define KNI_MATH_EXP_LOG_H

#include "core/math/bits.h"

#define KNI_LOG2E 1.4426950408889634
#define KNI_LN2 0.69314718055994531
/* ln 2 in two parts; the first has 42 bits after the point, so that its product with an exponent is exact. */
#define KNI_LN2_HI 0x1.62e42fefa3800p-1
#define KNI_LN2_LO 0x1.ef35793c76730p-45

/* e^r - 1 - r for |r| <= 0.347. */
KNI_INLINE double kni_exp_kernel_f64(double r)
{
    double q = 2.5118715250396611e-08;
    q = kni_horner4_f64(q, r, 2.7631469478769146e-07, 2.7557213515552566e-06, 2.4801489454252924e-05,
                        0.00019841269920558628);
    q = kni_horner4_f64(q, r, 0.0013888888947440174, 0.0083333333333057563, 0.041666666666514009,
                        0.16666666666666702);
    q = q * r + 0.50000000000000133;
    return r * r * q;
}

/* The parts of e^(hi + lo) = 2^k (1 + r + rest), for |hi| below 2^40 and |lo| far below 1. */
typedef struct {
    double r, rest, k;
} kni_exp_parts;

KNI_INLINE kni_exp_parts kni_exp_split_f64(double hi, double lo)
{
    double k = (hi * KNI_LOG2E + KNI_MAGIC_F64) - KNI_MAGIC_F64;
    double a = hi - k * KNI_LN2_HI, b = k * KNI_LN2_LO - lo;
    double r = a - b;
    double error = (a - r) - b;
    return (kni_exp_parts){r, kni_exp_kernel_f64(r) + error, k};
}

/* 1 + r + rest with one rounding that counts. */
KNI_INLINE double kni_exp_join_f64(double r, double rest)
{
    kni_double2 s = kni_fast_two_sum(1.0, r);
    return s.hi + (s.lo + rest);
}

/* 2^shift e^x; the shift keeps halves of a huge exponential finite. */
KNI_INLINE double kni_exp_shifted_f64(double x, double shift)
{
    double c = x < -760.0 ? -760.0 : x;
    c = c > 720.0 ? 720.0 : c;
    kni_exp_parts e = kni_exp_split_f64(c, 0.0);
    return kni_scale_f64(kni_exp_join_f64(e.r, e.rest), e.k + shift);
}

KNI_INLINE double kni_exp_f64(double x) { return kni_exp_shifted_f64(x, 0.0); }

KNI_INLINE double kni_exp2_f64(double x)
{
    double c = x < -1100.0 ? -1100.0 : x;
    c = c > 1030.0 ? 1030.0 : c;
    double k = (c + KNI_MAGIC_F64) - KNI_MAGIC_F64;
    double r = (c - k) * KNI_LN2;
    return kni_scale_f64(kni_exp_join_f64(r, kni_exp_kernel_f64(r)), k);
}

/* e^x - 1 = 2 (s (1 + r + rest) - 1/2) with s = 2^(k-1), which is finite for every finite result. */
KNI_INLINE double kni_expm1_f64(double x)
{
    double c = x < -60.0 ? -60.0 : x;
    c = c > 720.0 ? 720.0 : c;
    kni_exp_parts e = kni_exp_split_f64(c, 0.0);
    double s = kni_power_of_two_f64((e.k > 1024.0 ? 1024.0 : e.k) - 1.0);
    double y = 2.0 * ((s * e.r + (s - 0.5)) + s * e.rest);
    y = x > 709.9 ? KNI_INF_F64 : y;
    return kni_abs_f64(x) < 0x1p-54 ? x : y;
}

/* x = 2^k m with m in [sqrt(1/2), sqrt(2)), for positive finite x. */
typedef struct {
    double m, k;
} kni_log_parts;

KNI_INLINE kni_log_parts kni_log_split_f64(double x)
{
    double scaled = x < 0x1p-1022 ? x * 0x1p54 : x;
    double bias = x < 0x1p-1022 ? 0x1p52 + (1023.0 + 54.0) : 0x1p52 + 1023.0;
    uint64_t u = kni_bits_f64(scaled) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
    double m = kni_from_bits_f64((u & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu);
    double k = kni_from_bits_f64((u >> 52) | 0x4330000000000000u) - bias;
    return (kni_log_parts){m, k};
}

/* log(1 + f) = f - f^2/2 + remainder; returns the remainder, for f in [-0.293, 0.415]. */
KNI_INLINE double kni_log_kernel_f64(double f)
{
    double s = f / (2.0 + f);
    double z = s * s;
    double p = 0.14797324638076564;
    p = kni_horner4_f64(p, z, 0.15313925511726614, 0.18183568702056821, 0.22222198499251233,
                        0.28571428743006583);
    p = p * z + 0.39999999999412339;
    p = p * z + 0.66666666666667351;
    return s * (0.5 * f * f + z * p);
}

/* y where x is positive and finite, else what a logarithm gives there. */
KNI_INLINE double kni_log_specials_f64(double x, double y)
{
    double special = x == 0.0 ? -KNI_INF_F64 : KNI_NAN_F64;
    y = x > 0.0 ? y : special;
    return x < KNI_INF_F64 ? y : x;
}

KNI_INLINE double kni_log_f64(double x)
{
    kni_log_parts v = kni_log_split_f64(x);
    double f = v.m - 1.0;
    double y = v.k * KNI_LN2_HI - ((0.5 * f * f - (kni_log_kernel_f64(f) + v.k * KNI_LN2_LO)) - f);
    return kni_log_specials_f64(x, y);
}

/* log(x) inverse + k whole, with inverse = 1/log(base) and whole = log_base(2) in two parts each. */
KNI_INLINE double kni_log_base_f64(double x, kni_double2 inverse, kni_double2 whole)
{
    kni_log_parts v = kni_log_split_f64(x);
    double f = v.m - 1.0;
    double half = 0.5 * f * f;
    double hi = kni_from_bits_f64(kni_bits_f64(f - half) & 0xffffffff00000000u);
    double lo = ((f - hi) - half) + kni_log_kernel_f64(f);
    double part = hi * inverse.hi;
    double rest = (lo + hi) * inverse.lo + lo * inverse.hi + v.k * whole.lo;
    kni_double2 sum = kni_two_sum(v.k * whole.hi, part);
    return kni_log_specials_f64(x, sum.hi + (sum.lo + rest));
}

KNI_INLINE double kni_log2_f64(double x)
{
    return kni_log_base_f64(x, (kni_double2){0x1.7154700000000p+0, 0x1.94ae0bf85ddf4p-22},
                            (kni_double2){1.0, 0.0});
}

KNI_INLINE double kni_log10_f64(double x)
{
    return kni_log_base_f64(x, (kni_double2){0x1.bcb7b00000000p-2, 0x1.526e50e32a6abp-26},
                            (kni_double2){0x1.34413509f7000p-2, 0x1.3fde623e2566bp-43});
}

/* log(1 + x): the rounding error of 1 + x goes back in as a first-order term. */
KNI_INLINE double kni_log1p_f64(double x)
{
    double u = 1.0 + x;
    kni_log_parts v = kni_log_split_f64(u);
    double error = x < 1.0 ? x - (u - 1.0) : 1.0 - (u - x);
    int direct = (x > -0.2928) & (x < 0.4142);
    double f = direct ? x : v.m - 1.0;
    double k = direct ? 0.0 : v.k;
    double c = direct ? 0.0 : error / u;
    double y = k * KNI_LN2_HI - ((0.5 * f * f - (kni_log_kernel_f64(f) + (k * KNI_LN2_LO + c))) - f);
    y = kni_log_specials_f64(u, y);
    return kni_abs_f64(x) < 0x1p-54 ? x : y;
}

#endif
