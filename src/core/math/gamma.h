/* lgamma and digamma. Both are reflected for negative arguments; their errors near zeros are absolute. */
#ifndef KNI_MATH_GAMMA_H
#define KNI_MATH_GAMMA_H

#include "core/math/exp_log.h"
#include "core/math/round_functions.h"

#define KNI_PI 3.1415926535897931

/* sin(2 pi b) for |b| <= 1/4; 6.28125 of the leading 2 pi is added last. */
KNI_INLINE double kni_sin_turn_f64(double b)
{
    double z = b * b;
    double p = -0.011678685816843986;
    p = kni_horner4_f64(p, z, 0.10418185560378534, -0.71811877720996731, 3.8199524257217732,
                        -15.094642572364773);
    p = kni_horner4_f64(p, z, 42.058693944821393, -76.705859753060636, 81.605249276075057,
                        -41.341702240399762);
    p = p * z + 0.0019353071795864769;
    return b * 6.28125 + b * p;
}

/* sin(pi x) and cos(pi x), up to a common sign. */
KNI_INLINE double kni_sin_pi_f64(double x) { return kni_sin_turn_f64(0.5 * (x - kni_round_even_f64(x))); }

KNI_INLINE double kni_cos_pi_f64(double x)
{
    return kni_sin_turn_f64(0.25 - 0.5 * kni_abs_f64(x - kni_round_even_f64(x)));
}

/* log(gamma(2 + w)) / w for -0.5 <= w <= 0.6. */
KNI_INLINE double kni_lgamma_near_two_f64(double w)
{
    double p = -9.155195090040214e-08;
    p = kni_horner4_f64(p, w, 2.7361245697093019e-07, -4.8003107854213469e-07, 9.2544812987555547e-07,
                        -2.0206631585160162e-06);
    p = kni_horner4_f64(p, w, 4.3823881100690027e-06, -9.4448772456738023e-06, 2.0506111996251387e-05,
                        -4.4925356188258936e-05);
    p = kni_horner4_f64(p, w, 9.9457607868428912e-05, -0.00022315484180950032, 0.00050966951999806102,
                        -0.0011927539072952807);
    p = kni_horner4_f64(p, w, 0.0028905103308701973, -0.0073855510287905105, 0.020580808427782878,
                        -0.067352301053196909);
    p = p * w + 0.3224670334241132;
    p = p * w + 0.42278433509846713;
    return p;
}

/* a (log(gamma(a)) - (a - 1/2) log(a) + a - log(2 pi) / 2) with z = 1 / a^2, for a >= 8: the rest of Stirling's series. */
KNI_INLINE double kni_stirling_rest_f64(double z)
{
    double s = 0.0050692653923526494;
    s = kni_horner4_f64(s, z, -0.0018905408298981376, 0.00084147286693802615, -0.00059523660711623962,
                        0.00079365078983555852);
    s = s * z - 0.0027777777777741003;
    s = s * z + 0.083333333333333329;
    return s;
}

/* log of gamma for a >= 0. Below 8 the argument is moved into [1.5, 2.6], where log gamma is w P(w) with
   w = a - 2, at the price of one logarithm of a product; above, Stirling's series. */
KNI_INLINE double kni_lgamma_positive_f64(double a)
{
    double c = a < 8.0 ? a : 2.0;
    double n = kni_floor_f64(c - 1.5);
    n = n > 0.0 ? n : 0.0;
    double product = 1.0;
    product *= n >= 1.0 ? c - 1.0 : 1.0;
    product *= n >= 2.0 ? c - 2.0 : 1.0;
    product *= n >= 3.0 ? c - 3.0 : 1.0;
    product *= n >= 4.0 ? c - 4.0 : 1.0;
    product *= n >= 5.0 ? c - 5.0 : 1.0;
    product *= n >= 6.0 ? c - 6.0 : 1.0;
    product = c < 1.5 ? c : product;
    product = c < 0.6 ? c * (c + 1.0) : product;
    double w = c < 1.5 ? c - 1.0 : (c - n) - 2.0;
    w = c < 0.6 ? c : w;
    double p = kni_lgamma_near_two_f64(w);
    double logarithm = kni_log_f64(a < 8.0 ? product : a);
    double small = w * p + (c < 1.5 ? -logarithm : logarithm);

    double inverse = 1.0 / a;
    double z = inverse * inverse;
    double s = kni_stirling_rest_f64(z);
    double large = (a - 0.5) * (logarithm - 1.0) + (0.41893853320467274 + s * inverse);
    return a < 8.0 ? small : large;
}

/* log|gamma(x)|: infinite at 0, -1, -2, ... */
KNI_INLINE double kni_lgamma_f64(double x)
{
    double a = kni_abs_f64(x);
    double y = kni_lgamma_positive_f64(a);
    double sine = kni_abs_f64(kni_sin_pi_f64(a));
    double reflected = kni_log_f64(KNI_PI / (a * sine)) - y;
    reflected = sine == 0.0 ? KNI_INF_F64 : reflected; /* far out both terms are infinite */
    y = x < -0x1p-60 ? reflected : y;
    return a == KNI_INF_F64 ? a : y;
}

/* The derivative of log gamma: moved up to 10 by psi(x) = psi(x + 1) - 1/x, then the asymptotic series.
   NaN at negative integers, infinite with the opposite sign at zeros. */
KNI_INLINE double kni_digamma_f64(double x)
{
    double a = x < 0.0 ? 1.0 - x : x;
    double b = a < 10.0 ? a : 10.0;
    double n = 10.0 - kni_floor_f64(b);
    double sum = 0.0;
    sum += n >= 10.0 ? 1.0 / (a + 9.0) : 0.0;
    sum += n >= 9.0 ? 1.0 / (a + 8.0) : 0.0;
    sum += n >= 8.0 ? 1.0 / (a + 7.0) : 0.0;
    sum += n >= 7.0 ? 1.0 / (a + 6.0) : 0.0;
    sum += n >= 6.0 ? 1.0 / (a + 5.0) : 0.0;
    sum += n >= 5.0 ? 1.0 / (a + 4.0) : 0.0;
    sum += n >= 4.0 ? 1.0 / (a + 3.0) : 0.0;
    sum += n >= 3.0 ? 1.0 / (a + 2.0) : 0.0;
    sum += n >= 2.0 ? 1.0 / (a + 1.0) : 0.0;
    sum += n >= 1.0 ? 1.0 / a : 0.0;
    double c = a + n;
    double inverse = 1.0 / c;
    double z = inverse * inverse;
    double p = 1.0 / 12.0;
    p = kni_horner4_f64(p, z, -691.0 / 32760.0, 1.0 / 132.0, -1.0 / 240.0, 1.0 / 252.0);
    p = (p * z - 1.0 / 120.0) * z + 1.0 / 12.0;
    double y = ((kni_log_f64(c) - 0.5 * inverse) - z * p) - sum;
    double fraction = x - kni_round_even_f64(x);
    double cotangent = kni_cos_pi_f64(x) / kni_sin_turn_f64(0.5 * fraction);
    y = x < 0.0 ? y - KNI_PI * cotangent : y;
    y = x < 0.0 ? (fraction == 0.0 ? KNI_NAN_F64 : y) : y;
    y = x == -KNI_INF_F64 ? KNI_NAN_F64 : y;
    return x == 0.0 ? kni_copysign_f64(KNI_INF_F64, -x) : y;
}

KNI_INLINE float kni_lgamma_f32(float x) { return (float)kni_lgamma_f64((double)x); }

KNI_INLINE float kni_digamma_f32(float x) { return (float)kni_digamma_f64((double)x); }

#endif
