/* Hurwitz's zeta function, and the derivatives of digamma: n! times it. */
#ifndef KNI_SCALAR_POLYGAMMA_H
#define KNI_SCALAR_POLYGAMMA_H

#include "core/math/math.h"

/* The sum over k >= 0 of (q + k)^-s for s > 1: some terms, then Euler and Maclaurin's series. */
static inline double kni_hurwitz_f64(double s, double q)
{
    /* B(2j) / (2j)! */
    static const double ratio[] = {8.3333333333333329e-02,  -1.3888888888888889e-03, 3.3068783068783071e-05,
                                   -8.2671957671957675e-07, 2.0876756987868100e-08,  -5.2841901386874932e-10,
                                   1.3382536530684679e-11,  -3.3896802963225827e-13, 8.5860620562778445e-15,
                                   -2.1748686985580617e-16, 5.5090028283602297e-18,  -1.3954464685812523e-19};
    double sum = 0;
    for (; q < 12 + s; q += 1) {
        double term = kni_pow_f64(q, -s);
        sum += term;
        if (q > 0 && kni_abs_f64(term) <= 1e-20 * kni_abs_f64(sum))
            return sum; /* also where all terms are 0 */
    }
    if (q == KNI_INF_F64) return sum;
    double power = kni_pow_f64(q, -s);
    sum += power * q / (s - 1) + 0.5 * power;
    double factor = s;
    for (int j = 0; j < 12; j++) {
        power /= q;
        double term = ratio[j] * factor * power;
        sum += term;
        if (kni_abs_f64(term) < 1e-18 * kni_abs_f64(sum)) break;
        factor *= (s + 2 * j + 1) * (s + 2 * j + 2);
        power /= q;
    }
    return sum;
}

static inline double kni_polygamma_f64(double n, double x)
{
    if (!(n >= 1 && n <= 170) || x != x) return KNI_NAN_F64;
    if (x <= 0 && kni_floor_f64(x) == x) return (int)n & 1 ? KNI_INF_F64 : -KNI_INF_F64;
    if (x == KNI_INF_F64) return 0;
    /* Steps up from the far left would take for ever; the first derivative is reflected. */
    if (n == 1 && x < 0.5) {
        double s = kni_sin_pi_f64(x) / KNI_PI;
        return 1 / (s * s) - kni_hurwitz_f64(2, 1 - x);
    }
    if (x < -1e6) return KNI_NAN_F64;
    double factorial = 1;
    for (double k = 2; k <= n; k += 1) factorial *= k;
    double y = factorial * kni_hurwitz_f64(n + 1, x);
    return (int)n & 1 ? y : -y;
}

static inline float kni_polygamma_f32(float n, float x)
{
    return (float)kni_polygamma_f64((double)n, (double)x);
}

/* Infinite at q = 0, -1, ... and at s = 1; NaN for s < 1 and where a negative q has a power that is no real number. The terms of
   negative numbers are those of positive ones up to the sign: a difference of two sums. */
static inline double kni_zeta_f64(double s, double q)
{
    if (!(s > 1) || q != q) return s == 1 ? KNI_INF_F64 : KNI_NAN_F64;
    double below = kni_floor_f64(q);
    if (q <= 0 && below == q) return KNI_INF_F64;
    if (q < 0 && kni_floor_f64(s) != s) return KNI_NAN_F64;
    if (s == KNI_INF_F64) return q > 1 ? 0.0 : q == 1 ? 1.0 : KNI_INF_F64;
    if (q > 0) return kni_hurwitz_f64(s, q);
    double mirrored = kni_hurwitz_f64(s, 1 - (q - below)) - kni_hurwitz_f64(s, 1 - q);
    double half = 0.5 * s;
    return kni_hurwitz_f64(s, q - below) + (kni_floor_f64(half) == half ? mirrored : -mirrored);
}

static inline float kni_zeta_f32(float s, float q) { return (float)kni_zeta_f64((double)s, (double)q); }

#endif
