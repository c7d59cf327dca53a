/* erf, erfc and the inverse of erf. */
#ifndef KNI_MATH_ERROR_FUNCTION_H
#define KNI_MATH_ERROR_FUNCTION_H

#include "core/math/float_exp_log.h"
#include "core/math/roots.h"

/* erf(x) for |x| <= 1/2. */
KNI_INLINE double kni_erf_kernel_f64(double x)
{
    double z = x * x;
    double p = -1.4621112923386238e-07;
    p = kni_horner4_f64(p, z, 1.6371261008121684e-06, -1.4923004808361972e-05, 0.00012055286243325919,
                        -0.00085483265114060577);
    p = kni_horner4_f64(p, z, 0.0052239776220234608, -0.026866170645000069, 0.11283791670954869,
                        -0.37612638903183748);
    p = p * z + 0.12837916709551259;
    return x + x * p;
}

/* erfc(x) for x in [1/2, 1], from its value at 3/4. */
KNI_INLINE double kni_erfc_middle_f64(double x)
{
    double u = x - 0.75;
    double p = -2.1315875231990779e-05;
    p = kni_horner4_f64(p, u, 7.418665786019561e-05, 0.00010610413030321284, -0.00062384960186090096,
                        -0.00018602809863741779);
    p = kni_horner4_f64(p, u, 0.0039682547199026861, -0.0023017884201172109, -0.018435235052278044,
                        0.026872509534449859);
    p = kni_horner4_f64(p, u, 0.053242729166415266, -0.15068696934263759, -0.026788794549795159,
                        0.4821983018964055);
    p = p * u - 0.64293106919520737;
    return 0x1.27c6d14000000p-2 + (u * p + 0x1.8bc6824ebcd0dp-31);
}

/* G(t) = x e^(x^2) erfc(x) for 1 <= x <= 28 with t = (x - 2)/(x + 2), which is nearly flat. */
KNI_INLINE double kni_erfc_flat_f64(double x)
{
    double t = (x - 2.0) / (x + 2.0);
    double g = -2.9438280133842149e-07;
    g = kni_horner4_f64(g, t, 1.8797820182535176e-06, -4.0160895931187398e-06, 2.4649844121030741e-06,
                        5.9266239197616969e-07);
    g = kni_horner4_f64(g, t, 1.9682070132077666e-06, 1.8059395406797469e-06, -8.6232719856045744e-06,
                        -1.9014784755177865e-05);
    g = kni_horner4_f64(g, t, 6.2517039223137895e-06, 8.9318158262486071e-05, 8.9417356658109175e-05,
                        -0.00031435124786972365);
    g = kni_horner4_f64(g, t, -0.00075018453734517051, 0.0011266579915578012, 0.0047848985550771805,
                        -0.0075157384104012175);
    g = kni_horner4_f64(g, t, -0.028976446698040993, 0.12151493052458033, -0.2038442959288789,
                        0.16721101041410621);
    g = g * t + 0.5107913526210115;
    return g;
}

/* erfc(a) for a >= 1, as e^(-a^2) G(t)/a. */
KNI_INLINE double kni_erfc_tail_f64(double a)
{
    double x = a > 28.0 ? 28.0 : a;
    double g = kni_erfc_flat_f64(x);
    double upper = kni_upper_half_f64(x);
    kni_exp_parts e = kni_exp_split_f64(-(upper * upper), -((x - upper) * (x + upper)));
    double v = g / x;
    return kni_scale_f64(v + v * (e.r + e.rest), e.k);
}

/* erfc(a) for a >= 1/2. */
KNI_INLINE double kni_erfc_kernel_f64(double a)
{
    double middle = kni_erfc_middle_f64(a);
    double tail = kni_erfc_tail_f64(a < 1.0 ? 1.0 : a);
    return a < 1.0 ? middle : tail;
}

KNI_INLINE double kni_erf_f64(double x)
{
    double a = kni_abs_f64(x);
    double far = 1.0 - kni_erfc_kernel_f64(a);
    return kni_copysign_f64(a < 0.5 ? kni_erf_kernel_f64(a) : far, x);
}

KNI_INLINE double kni_erfc_f64(double x)
{
    double a = kni_abs_f64(x);
    double far = kni_erfc_kernel_f64(a);
    far = x < 0.0 ? 2.0 - far : far;
    return a < 0.5 ? 1.0 - kni_erf_kernel_f64(x) : far;
}

/* x P(x^2) below 1, 1 - e^Q(x) above, where e^Q is small enough for its errors not to count. */
KNI_INLINE float kni_erf_f32(float x)
{
    float a = kni_abs_f32(x);
    float z = a * a;
    float p = 7.8891193e-05f;
    p = kni_horner4_f32(p, z, -0.000802084571f, 0.00518953661f, -0.0268544462f, 0.112836003f);
    p = p * z - 0.37612626f;
    p = p * z + 0.128379166f;
    float near_zero = a + a * p;
    float c = a > 4.0f ? 4.0f : a;
    float q = -2.16973476e-05f;
    q = kni_horner4_f32(q, c, 0.00044146931f, -0.00420526741f, 0.0252102911f, -0.108422019f);
    q = q * c - 0.6332165f;
    q = q * c - 1.12958026f;
    q = q * c + 0.000188458856f;
    float far = 1.0f - kni_exp_normal_f32(q);
    return kni_copysign_f32(a < 1.0f ? near_zero : far, x);
}

KNI_INLINE float kni_erfc_f32(float x) { return (float)kni_erfc_f64((double)x); }

/* erfinv to about 2^-36 by polynomials for erfinv(x)/x in w = -log(1 - x^2) or its root. */
KNI_INLINE double kni_erfinv_start(double x)
{
    double w = -kni_log_f64((1.0 - x) * (1.0 + x));
    double root = kni_sqrt_f64(w);
    double u = w - 2.5, v = root - 3.125, s = root - 5.0;
    double central = -4.7927001763228353e-15;
    central = kni_horner4_f64(central, u, -3.6015197184952851e-14, 5.5089508882400162e-13,
                              5.0830362323166419e-13, -3.1176754177646099e-11);
    central = kni_horner4_f64(central, u, 1.2184855840610291e-10, 9.07526266105957e-10,
                              -1.0868387653589551e-08, 1.3416391335092765e-08);
    central = kni_horner4_f64(central, u, 4.7873851852292609e-07, -3.4166191465467443e-06,
                              -4.9960926533881967e-06, 0.00021825026408335023);
    central = kni_horner4_f64(central, u, -0.0012527079020438253, -0.0041773177243210023, 0.24664027674342309,
                              1.5014093511107893);
    double middle = -6.795560915403223e-07;
    middle = kni_horner4_f64(middle, v, -3.6932613591709156e-06, 1.3500065690404828e-05,
                             -9.2048948049342568e-07, -6.0358004862727144e-05);
    middle = kni_horner4_f64(middle, v, 0.00013796780047568372, -8.8947238133281256e-05,
                             -0.00032925680413418794, 0.0012605365927374926);
    middle = kni_horner4_f64(middle, v, -0.002519785541549426, 0.0037944344742191841, -0.0053010175940162241,
                             0.0070478838172422674);
    middle = middle * v + 1.0037186919429804;
    middle = middle * v + 2.9583201502445857;
    double tail = 1.0945837201505459e-08;
    tail = kni_horner4_f64(tail, s, -2.999918828074556e-08, 2.7463338693580228e-08, -4.668990832516012e-08,
                           2.2791281193976639e-07);
    tail = kni_horner4_f64(tail, s, -1.0068761409694854e-06, 4.5273329592847094e-06, -1.9677322411943319e-05,
                           7.5994900624336316e-05);
    tail = kni_horner4_f64(tail, s, -0.00021503073331411164, -0.00013871928375355606, 1.0103004648888143,
                           4.8499064014081172);
    double r = w < 5.0 ? central : (root < 4.0 ? middle : tail);
    double a = kni_abs_f64(x);
    double y = x * r;
    y = a == 1.0 ? kni_copysign_f64(KNI_INF_F64, x) : y;
    return a > 1.0 ? KNI_NAN_F64 : y;
}

/* One Halley step; the residual is taken on erfc where erf is close to 1. */
KNI_INLINE double kni_erfinv_f64(double x)
{
    double a = kni_abs_f64(x);
    double y = kni_erfinv_start(a);
    double c = y < 6.5 ? y : 6.5;
    double residual = c < 0.5 ? kni_erf_kernel_f64(c) - a : (1.0 - a) - kni_erfc_kernel_f64(c);
    double step = residual * 0.88622692545275801 * kni_exp_f64(c * c);
    double refined = c - step / (1.0 + c * step);
    y = a < 1.0 ? refined : y;
    return kni_copysign_f64(y, x);
}

KNI_INLINE float kni_erfinv_f32(float x) { return (float)kni_erfinv_start((double)x); }

/* e^(x^2), with what rounding the square loses put back. */
KNI_INLINE double kni_exp_square_f64(double x)
{
    double c = x > 27.0 ? 27.0 : x < -27.0 ? -27.0 : x;
    kni_double2 z = kni_two_product(c, c);
    kni_exp_parts e = kni_exp_split_f64(z.hi, z.lo);
    return kni_scale_f64(kni_exp_join_f64(e.r, e.rest), e.k);
}

/* e^(x^2) erfc(x): below 1 from erfc, above from its tail, past 28 by the asymptotic series. */
static inline double kni_erfcx_f64(double x)
{
    if (x < 1.0) return x < -26.7 ? KNI_INF_F64 : kni_exp_square_f64(x) * kni_erfc_f64(x);
    if (x <= 28.0) return kni_erfc_flat_f64(x) / x;
    double u = 1.0 / x, z = u * u;
    double p = 6.5625 - z * (29.53125 - z * 162.421875);
    return 0.56418958354775629 * u * (1.0 - z * (0.5 - z * (0.75 - z * (1.875 - z * p))));
}

static inline float kni_erfcx_f32(float x) { return (float)kni_erfcx_f64((double)x); }

#endif
