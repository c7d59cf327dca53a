/* pow, with the logarithm held in two doubles so that the result is good to less than 1 ulp. */
#ifndef KNI_MATH_POWER_H
#define KNI_MATH_POWER_H

#include "core/math/float_exp_log.h"
#include "core/math/round_functions.h"

/* log(x) for positive finite x to about 2^-66 of its value. With b near m and s = (m - b)/(m + b):
   log(m) = log(b) + 2 s + s z (2/3 + z P(z)), z = s^2. */
KNI_INLINE kni_double2 kni_log_double2(double x)
{
    kni_log_parts v = kni_log_split_f64(x);
    int low = v.m<0.866, high = v.m> 1.2247;
    double b = low ? 0.75 : (high ? 1.5 : 1.0);
    double b_hi = low ? -0x1.269621134e000p-2 : (high ? 0x1.9f323ecbf9000p-2 : 0.0);
    double b_lo = low ? 0x1.1b61f10522625p-44 : (high ? 0x1.097e56d1aecdfp-43 : 0.0);

    double f = v.m - b, d = v.m + b, d_lo = v.m - (d - b);
    double s = f / d;
    kni_double2 back = kni_two_product(s, d);
    double s_lo = (((f - back.hi) - back.lo) - s * d_lo) / d;

    kni_double2 z = kni_two_product(s, s);
    z.lo += 2.0 * s * s_lo;
    double y = z.hi;
    double p = 0.12248054148581335;
    p = kni_horner4_f64(p, y, 0.13324342425364361, 0.15384703618163609, 0.18181817692127794,
                        0.22222222223739821);
    p = p * y + 0.28571428571426183;
    p = p * y + 0.40000000000000002;
    kni_double2 t = kni_two_product(z.hi, 0x1.5555555555555p-1);
    t.lo += z.hi * 0x1.5555555555555p-55 + z.lo * 0x1.5555555555555p-1;
    kni_double2 u = kni_fast_two_sum(t.hi, y * y * p);
    u.lo += t.lo;
    kni_double2 w = kni_two_product(s, u.hi);
    w.lo += s * u.lo + s_lo * u.hi;

    kni_double2 first = kni_two_sum(v.k * KNI_LN2_HI + b_hi, 2.0 * s);
    kni_double2 second = kni_two_sum(first.hi, w.hi);
    double rest = ((first.lo + second.lo) + (2.0 * s_lo + w.lo)) + (v.k * KNI_LN2_LO + b_lo);
    return kni_fast_two_sum(second.hi, rest);
}

/* x^y for x > 0, finite x and y not NaN; |y| is cut to 2^66, beyond which nothing changes unless x is 1. */
KNI_INLINE double kni_pow_positive_f64(double x, double y)
{
    double c = y > 0x1p66 ? 0x1p66 : y;
    c = c < -0x1p66 ? -0x1p66 : c;
    kni_double2 l = kni_log_double2(x);
    kni_double2 e = kni_two_product(c, l.hi);
    e.lo += c * l.lo;
    int extreme = kni_abs_f64(e.hi) > 760.0;
    double hi = extreme ? (e.hi > 0.0 ? 760.0 : -760.0) : e.hi;
    double lo = extreme ? 0.0 : e.lo;
    kni_exp_parts parts = kni_exp_split_f64(hi, lo);
    return kni_scale_f64(kni_exp_join_f64(parts.r, parts.rest), parts.k);
}

/* C99's special cases around a magnitude computed from |x|. */
KNI_INLINE double kni_pow_specials_f64(double x, double y, double magnitude)
{
    double a = kni_abs_f64(x), b = kni_abs_f64(y);
    double half = y * 0.5;
    double fraction = y - kni_round_even_f64(y);
    double parity = half - kni_round_even_f64(half);
    /* -1 for a negative base and an odd exponent, NaN for a fractional one, else 1. */
    double sign = parity != 0.0 ? -1.0 : 1.0;
    double invalid = (a == 0.0 || a == KNI_INF_F64) ? 1.0 : KNI_NAN_F64;
    sign = fraction != 0.0 ? invalid : sign;
    sign = b == KNI_INF_F64 ? 1.0 : sign;
    sign = (kni_bits_f64(x) & KNI_SIGN_F64) != 0 ? sign : 1.0;

    double grown = y > 0.0 ? KNI_INF_F64 : 0.0;
    double shrunk = y > 0.0 ? 0.0 : KNI_INF_F64;
    double at_infinity = a > 1.0 ? grown : shrunk;
    at_infinity = a == 1.0 ? 1.0 : at_infinity;
    double r = a == 0.0 ? shrunk : magnitude;
    r = a == KNI_INF_F64 ? grown : r;
    r = b == KNI_INF_F64 ? at_infinity : r;
    r *= sign;
    r = x != x ? x : r;
    r = y != y ? y : r;
    r = x == 1.0 ? 1.0 : r;
    return y == 0.0 ? 1.0 : r;
}

KNI_INLINE double kni_pow_f64(double x, double y)
{
    return kni_pow_specials_f64(x, y, kni_pow_positive_f64(kni_abs_f64(x), y));
}

/* The logarithm and exponential are those of a float: their errors stay below 2^-28. */
KNI_INLINE float kni_pow_f32(float x, float y)
{
    double e = (double)y * kni_log_wide_f32(kni_abs_f64((double)x));
    e = e < -200.0 ? -200.0 : e;
    e = e > 200.0 ? 200.0 : e;
    kni_double2 parts = kni_exp_wide_f32(e);
    double s = kni_power_of_two_f64(parts.hi);
    return (float)kni_pow_specials_f64((double)x, (double)y, s + s * parts.lo);
}

#endif
