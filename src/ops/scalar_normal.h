/* The normal distribution erfc(-x / sqrt(2)) / 2, for gelu. A function of its own, because the rounding of x / sqrt(2)
   would be magnified x^2 times in the lower tail. */
#ifndef KNI_SCALAR_NORMAL_H
#define KNI_SCALAR_NORMAL_H

#include "core/math/math.h"

/* What rounding a = x / sqrt(2) changed of a^2 is put back: erfc(a) goes like e^(-a^2). */
KNI_INLINE double kni_normal_cdf_f64(double x)
{
    double c = x < -40.0 ? -40.0 : x > 40.0 ? 40.0 : x;
    double a = c * -0.70710678118654752;
    kni_double2 exact = kni_two_product(c, c), taken = kni_two_product(a, a);
    double lost = (0.5 * exact.hi - taken.hi) + (0.5 * exact.lo - taken.lo);
    double p = 0.5 * kni_erfc_f64(a);
    return c < -1.0 ? p - p * lost : p;
}

/* Below 0.7 by the series of erf, above e^(-a^2) t P(t) / 2 with a = |x| / sqrt(2) and t = 1/(1 + a/2). */
KNI_INLINE float kni_normal_cdf_f32(float x)
{
    float a = kni_abs_f32(x);
    float z = 0.5f * (a * a);
    float p = 7.8891193e-05f;
    p = kni_horner4_f32(p, z, -0.000802084571f, 0.00518953661f, -0.0268544462f, 0.112836003f);
    p = p * z - 0.37612626f;
    p = p * z + 1.128379166f;
    float near_zero = 0.5f + x * 0.353553391f * p;
    float c = a > 14.5f ? 14.5f : a;
    float t = 1.0f / (1.0f + 0.353553391f * c);
    float u = t - 0.4f;
    float q = -0.0298611155f;
    q = kni_horner4_f32(q, u, -0.0425448427f, 0.101885816f, 0.0407973452f, -0.147004933f);
    q = kni_horner4_f32(q, u, -0.107894168f, 0.202486226f, 0.506060284f, 0.580375961f);
    q = (q * u + 0.447502877f) * (0.5f * t);
    float upper = kni_from_bits_f32(kni_bits_f32(c) & 0xfffff000u);
    float k = (c * c * -0.72134752f + KNI_MAGIC_F32) - KNI_MAGIC_F32;
    float r = (-0.5f * (upper * upper) - k * KNI_LN2_HI_F32) - k * KNI_LN2_LO_F32;
    r = r - 0.5f * ((c - upper) * (c + upper));
    float far = kni_scale_f32(kni_exp_kernel_f32(r) * q, k);
    far = x > 0.0f ? 1.0f - far : far;
    return a < 0.7f ? near_zero : far;
}

/* The x below which the normal distribution has probability p. Below 1/4 by Newton's method on its logarithm, which starts from
   Hastings' approximation, good to 5e-4. */
static inline double kni_normal_quantile_f64(double p)
{
    if (!(p > 0.0 && p < 1.0)) return p == 0.0 ? -KNI_INF_F64 : p == 1.0 ? KNI_INF_F64 : KNI_NAN_F64;
    if (p >= 0.25 && p <= 0.75) return 1.4142135623730951 * kni_erfinv_f64(2.0 * p - 1.0);
    double q = p < 0.5 ? p : 1.0 - p, log_q = kni_log_f64(q);
    double t = kni_sqrt_f64(-2.0 * log_q);
    double x = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                       (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    for (int i = 0; i < 3; i++) {
        double scaled = kni_erfcx_f64(x * 0.70710678118654752);
        double excess = (kni_log_f64(0.5 * scaled) - log_q) - 0.5 * x * x;
        x += excess * scaled * 1.2533141373155003;
    }
    return p < 0.5 ? -x : x;
}

static inline float kni_normal_quantile_f32(float p) { return (float)kni_normal_quantile_f64((double)p); }

#endif
