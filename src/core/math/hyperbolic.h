/* Hyperbolic functions and their inverses, from expm1 and log1p. */
#ifndef KNI_MATH_HYPERBOLIC_H
#define KNI_MATH_HYPERBOLIC_H

#include "core/math/float_exp_log.h"
#include "core/math/roots.h"

/* With t = e^|x| - 1: (t + t/(t + 1))/2; beyond 22 only e^|x|/2 is left. */
KNI_INLINE double kni_sinh_f64(double x)
{
    double a = kni_abs_f64(x);
    double t = kni_expm1_f64(a > 22.0 ? 22.0 : a);
    double near_zero = 0.5 * (t + t / (t + 1.0));
    double far = kni_exp_shifted_f64(a, -1.0);
    double y = a > 22.0 ? far : near_zero;
    return a < 0x1p-28 ? x : kni_copysign_f64(y, x);
}

/* h + 1/(4h) with h = e^|x|/2. */
KNI_INLINE double kni_cosh_f64(double x)
{
    double h = kni_exp_shifted_f64(kni_abs_f64(x), -1.0);
    return h + 0.25 / h;
}

/* With t = e^2|x| - 1: t/(t + 2), or 1 - 2/(t + 2) where that cancels less. */
KNI_INLINE double kni_tanh_f64(double x)
{
    double a = kni_abs_f64(x);
    double c = a > 22.0 ? 22.0 : a;
    double t = kni_expm1_f64(c + c);
    double q = (a > 0.55 ? 2.0 : t) / (t + 2.0);
    double y = a > 0.55 ? 1.0 - q : q;
    return a < 0x1p-28 ? x : kni_copysign_f64(y, x);
}

/* log(|x| + sqrt(x^2 + 1)), written for log1p. */
KNI_INLINE double kni_asinh_f64(double x)
{
    double a = kni_abs_f64(x);
    int huge = a > 0x1p28;
    double c = huge ? 1.0 : a;
    double argument = c + c * c / (kni_sqrt_f64(c * c + 1.0) + 1.0);
    double y = kni_log1p_f64(huge ? a - 1.0 : argument) + (huge ? KNI_LN2 : 0.0);
    return a < 0x1p-28 ? x : kni_copysign_f64(y, x);
}

/* With t = x - 1: log1p(t + sqrt(t (t + 2))); NaN below 1. */
KNI_INLINE double kni_acosh_f64(double x)
{
    int huge = x > 0x1p28;
    double t = (huge ? 2.0 : x) - 1.0;
    double argument = t + kni_sqrt_f64(t * (t + 2.0));
    double y = kni_log1p_f64(huge ? x - 1.0 : argument) + (huge ? KNI_LN2 : 0.0);
    return x < 1.0 ? KNI_NAN_F64 : y;
}

/* log1p(2x/(1 - x))/2 */
KNI_INLINE double kni_atanh_f64(double x)
{
    double a = kni_abs_f64(x);
    double y = 0.5 * kni_log1p_f64((a + a) / (1.0 - a));
    y = a > 1.0 ? KNI_NAN_F64 : y;
    return a < 0x1p-28 ? x : kni_copysign_f64(y, x);
}

KNI_INLINE float kni_sinh_f32(float x) { return (float)kni_sinh_f64((double)x); }

KNI_INLINE float kni_cosh_f32(float x) { return (float)kni_cosh_f64((double)x); }

KNI_INLINE float kni_asinh_f32(float x) { return (float)kni_asinh_f64((double)x); }

KNI_INLINE float kni_acosh_f32(float x) { return (float)kni_acosh_f64((double)x); }

KNI_INLINE float kni_atanh_f32(float x) { return (float)kni_atanh_f64((double)x); }

#endif
