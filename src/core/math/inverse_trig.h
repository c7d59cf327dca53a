/* asin, acos, atan and atan2. */
#ifndef KNI_MATH_INVERSE_TRIG_H
#define KNI_MATH_INVERSE_TRIG_H

#include "core/math/roots.h"

#define KNI_PI_2_HI 0x1.921fb54442d18p+0
#define KNI_PI_2_LO 0x1.1a62633145c07p-54
#define KNI_PI_HI 0x1.921fb54442d18p+1
#define KNI_PI_LO 0x1.1a62633145c07p-53

/* atan(a) for a >= 0 = atan(c) + atan((a - c)/(1 + c a)), with c one of 0, 1/2, 1, 3/2 and infinity. */
KNI_INLINE double kni_atan_positive_f64(double a)
{
    double top = a, bottom = 1.0, hi = 0.0, lo = 0.0;
    top = a >= 0.4375 ? 2.0 * a - 1.0 : top;
    bottom = a >= 0.4375 ? 2.0 + a : bottom;
    hi = a >= 0.4375 ? 0x1.dac670561bb4fp-2 : hi;
    lo = a >= 0.4375 ? 0x1.a2b7f222f65e2p-56 : lo;
    top = a >= 0.6875 ? a - 1.0 : top;
    bottom = a >= 0.6875 ? a + 1.0 : bottom;
    hi = a >= 0.6875 ? 0x1.921fb54442d18p-1 : hi;
    lo = a >= 0.6875 ? 0x1.1a62633145c07p-55 : lo;
    top = a >= 1.1875 ? a - 1.5 : top;
    bottom = a >= 1.1875 ? 1.0 + 1.5 * a : bottom;
    hi = a >= 1.1875 ? 0x1.f730bd281f69bp-1 : hi;
    lo = a >= 1.1875 ? 0x1.007887af0cbbdp-56 : lo;
    top = a >= 2.4375 ? -1.0 : top;
    bottom = a >= 2.4375 ? a : bottom;
    hi = a >= 2.4375 ? KNI_PI_2_HI : hi;
    lo = a >= 2.4375 ? KNI_PI_2_LO : lo;
    double t = top / bottom;
    double z = t * t;
    double p = -0.01627728882038236;
    p = kni_horner4_f64(p, z, 0.036522967831419333, -0.049765038639572927, 0.058334783806130906,
                        -0.066610591926497612);
    p = kni_horner4_f64(p, z, 0.076918748463796871, -0.090908870485933727, 0.11111110402165819,
                        -0.14285714272428923);
    p = p * z + 0.19999999999875626;
    p = p * z - 0.33333333333332926;
    return hi + (t + (t * z * p + lo));
}

KNI_INLINE double kni_atan_f64(double x)
{
    return kni_copysign_f64(kni_atan_positive_f64(kni_abs_f64(x)), x);
}

/* The angle of the point (x, y), with C99's answers for zeros and infinities. */
KNI_INLINE double kni_atan2_f64(double y, double x)
{
    double ax = kni_abs_f64(x), ay = kni_abs_f64(y);
    double ratio = ay / ax;
    ratio = ay == 0.0 && ax == 0.0 ? 0.0 : ratio;
    ratio = ay == KNI_INF_F64 && ax == KNI_INF_F64 ? 1.0 : ratio;
    double angle = kni_atan_positive_f64(ratio);
    double reflected = ratio == KNI_INF_F64 ? angle : KNI_PI_HI - (angle - KNI_PI_LO);
    angle = (kni_bits_f64(x) & KNI_SIGN_F64) != 0 ? reflected : angle;
    return kni_copysign_f64(angle, y);
}

/* What asin and acos share: asin(s) = s + s r, where s is |x| below 1/2, else sqrt((1 - |x|)/2) = hi + lo. */
typedef struct {
    double r, s, hi, lo;
} kni_asin_parts;

KNI_INLINE kni_asin_parts kni_asin_split_f64(double a)
{
    double z = a < 0.5 ? a * a : (1.0 - a) * 0.5;
    double p = 0.032695152692348045;
    p = kni_horner4_f64(p, z, -0.021104907024715423, 0.021781892439177438, 0.0036759381836254899,
                        0.010788291521710963);
    p = kni_horner4_f64(p, z, 0.011397481911498161, 0.013980995033933083, 0.017351597471690582,
                        0.022372215797312089);
    p = kni_horner4_f64(p, z, 0.030381942679003394, 0.044642857175214039, 0.074999999999701625,
                        0.16666666666666763);
    double s = kni_sqrt_f64(z);
    double hi = kni_upper_half_f64(s);
    double lo = (z - hi * hi) / (s + hi);
    return (kni_asin_parts){z * p, s, hi, z == 0.0 ? 0.0 : lo};
}

/* Above 1/2: pi/2 - 2 asin(sqrt((1 - x)/2)). */
KNI_INLINE double kni_asin_f64(double x)
{
    const double quarter = 0.5 * KNI_PI_2_HI;
    double a = kni_abs_f64(x);
    kni_asin_parts v = kni_asin_split_f64(a);
    double near_one = quarter - ((2.0 * v.s * v.r - (KNI_PI_2_LO - 2.0 * v.lo)) - (quarter - 2.0 * v.hi));
    double y = a < 0.5 ? a + a * v.r : near_one;
    return kni_copysign_f64(a > 1.0 ? KNI_NAN_F64 : y, x);
}

KNI_INLINE double kni_acos_f64(double x)
{
    double a = kni_abs_f64(x);
    kni_asin_parts v = kni_asin_split_f64(a);
    double middle = KNI_PI_2_HI - (x - (KNI_PI_2_LO - x * v.r));
    double near_one = 2.0 * (v.hi + (v.r * v.s + v.lo));
    double near_minus_one = 2.0 * (KNI_PI_2_HI - (v.s + (v.r * v.s - KNI_PI_2_LO)));
    double y = x < 0.0 ? near_minus_one : near_one;
    y = a < 0.5 ? middle : y;
    return a > 1.0 ? KNI_NAN_F64 : y;
}

KNI_INLINE float kni_asin_f32(float x) { return (float)kni_asin_f64((double)x); }

KNI_INLINE float kni_acos_f32(float x) { return (float)kni_acos_f64((double)x); }

KNI_INLINE float kni_atan_f32(float x) { return (float)kni_atan_f64((double)x); }

KNI_INLINE float kni_atan2_f32(float y, float x) { return (float)kni_atan2_f64((double)y, (double)x); }

#endif
