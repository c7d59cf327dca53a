/* Exponentials, logarithms and the activations made of them in single precision. exp, exp2, log, tanh and
   sigmoid work in float, because they are hot; the others round the double result. */
#ifndef KNI_MATH_FLOAT_EXP_LOG_H
#define KNI_MATH_FLOAT_EXP_LOG_H

#include "core/math/exp_log.h"

#define KNI_LN2_HI_F32 0x1.62e4p-1f
#define KNI_LN2_LO_F32 1.42860682e-06f

/* e^r for |r| <= 0.347 with one rounding that counts. */
KNI_INLINE float kni_exp_kernel_f32(float r)
{
    float q = 0.00139505649f;
    q = kni_horner4_f32(q, r, 0.00836898666f, 0.041666206f, 0.166665182f, 0.5f);
    float s = 1.0f + r;
    return s + (((1.0f - s) + r) + r * r * q);
}

/* The parts of e^x = 2^k y, for |x| below 2^14. */
typedef struct {
    float y, k;
} kni_exp_parts_f32;

KNI_INLINE kni_exp_parts_f32 kni_exp_split_f32(float x)
{
    float k = (x * 1.44269504f + KNI_MAGIC_F32) - KNI_MAGIC_F32;
    float r = (x - k * KNI_LN2_HI_F32) - k * KNI_LN2_LO_F32;
    return (kni_exp_parts_f32){kni_exp_kernel_f32(r), k};
}

KNI_INLINE float kni_exp_f32(float x)
{
    float c = x < -110.0f ? -110.0f : x;
    c = c > 90.0f ? 90.0f : c;
    kni_exp_parts_f32 e = kni_exp_split_f32(c);
    return kni_scale_f32(e.y, e.k);
}

/* e^x where the result is a normal number: |x| <= 87. */
KNI_INLINE float kni_exp_normal_f32(float x)
{
    kni_exp_parts_f32 e = kni_exp_split_f32(x);
    return e.y * kni_power_of_two_f32(e.k);
}

KNI_INLINE float kni_exp2_f32(float x)
{
    float c = x < -160.0f ? -160.0f : x;
    c = c > 130.0f ? 130.0f : c;
    float k = (c + KNI_MAGIC_F32) - KNI_MAGIC_F32;
    return kni_scale_f32(kni_exp_kernel_f32((c - k) * 0.693147182f), k);
}

KNI_INLINE float kni_log_f32(float x)
{
    float scaled = x < 0x1p-126f ? x * 0x1p24f : x;
    float bias = x < 0x1p-126f ? 127.0f + 24.0f : 127.0f;
    uint32_t u = kni_bits_f32(scaled) + (0x3f800000u - 0x3f3504f3u);
    float f = kni_from_bits_f32((u & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    float k = (float)(int32_t)(u >> 23) - bias;
    float z = f * f;
    float p = 0.0692214146f;
    p = kni_horner4_f32(p, f, -0.117954947f, 0.118728623f, -0.123834014f, 0.142185777f);
    p = kni_horner4_f32(p, f, -0.166693017f, 0.20002231f, -0.249999851f, 0.333333105f);
    float y = f + ((f * z * p + k * KNI_LN2_LO_F32) - 0.5f * z);
    y = k * KNI_LN2_HI_F32 + y;
    float special = x == 0.0f ? -KNI_INF_F32 : KNI_NAN_F32;
    y = x > 0.0f ? y : special;
    return x < KNI_INF_F32 ? y : x;
}

/* 1/(1 + e^-x), with the exponential of -|x| so that neither tail loses its digits. The rounding error of the
   divisor is put back with 1/d taken as (3 - d)/2, which is near enough for d in [1, 2]. */
KNI_INLINE float kni_sigmoid_f32(float x)
{
    float z = kni_exp_f32(-kni_abs_f32(x));
    float d = 1.0f + z;
    float q = (x < 0.0f ? z : 1.0f) / d;
    return q - q * ((1.0f - d) + z) * (1.5f - 0.5f * d);
}

KNI_INLINE double kni_sigmoid_f64(double x)
{
    double z = kni_exp_f64(-kni_abs_f64(x));
    double d = 1.0 + z;
    double q = (x < 0.0 ? z : 1.0) / d;
    return q - q * ((1.0 - d) + z) * (1.5 - 0.5 * d);
}

/* A polynomial near zero, 1 - 2/(e^2|x| + 1) elsewhere. */
KNI_INLINE float kni_tanh_f32(float x)
{
    float a = kni_abs_f32(x);
    float z = a * a;
    float p = 0.00214744476f;
    p = kni_horner4_f32(p, z, -0.00818263274f, 0.0217029806f, -0.053947214f, 0.133332103f);
    p = p * z - 0.333333313f;
    float near_zero = a + a * z * p;
    float c = a > 10.0f ? 10.0f : a;
    float far = 1.0f - 2.0f / (kni_exp_normal_f32(c + c) + 1.0f);
    return kni_copysign_f32(a < 0.625f ? near_zero : far, x);
}

/* log(x) for a positive normal x to 2^-36 of its value: enough for what is rounded to float. */
KNI_INLINE double kni_log_wide_f32(double x)
{
    uint64_t u = kni_bits_f64(x) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
    double m = kni_from_bits_f64((u & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu);
    double k = kni_from_bits_f64((u >> 52) | 0x4330000000000000u) - (0x1p52 + 1023.0);
    double s = (m - 1.0) / (m + 1.0);
    double z = s * s;
    double p = 0.23583444500223286;
    p = p * z + 0.28537248522357106;
    p = p * z + 0.40000335983778601;
    p = p * z + 0.66666665642625467;
    return k * KNI_LN2 + s * (2.0 + z * p);
}

/* The parts of e^x = 2^k (1 + p) to 2^-33, for |x| below 2^20. */
KNI_INLINE kni_double2 kni_exp_wide_f32(double x)
{
    double k = (x * KNI_LOG2E + KNI_MAGIC_F64) - KNI_MAGIC_F64;
    double r = x - k * KNI_LN2;
    double q = 0.0001991870327509264;
    q = kni_horner4_f64(q, r, 0.0013946225392142959, 0.0083332637135174782, 0.041666267862637413,
                        0.16666666863916094);
    q = q * r + 0.50000000784927512;
    return (kni_double2){k, r + r * r * q};
}

KNI_INLINE float kni_log_specials_f32(float x, double y)
{
    float special = x == 0.0f ? -KNI_INF_F32 : KNI_NAN_F32;
    float r = x > 0.0f ? (float)y : special;
    return x < KNI_INF_F32 ? r : x;
}

KNI_INLINE float kni_log2_f32(float x)
{
    return kni_log_specials_f32(x, kni_log_wide_f32((double)x) * KNI_LOG2E);
}

KNI_INLINE float kni_log10_f32(float x)
{
    return kni_log_specials_f32(x, kni_log_wide_f32((double)x) * 0.43429448190325182);
}

/* The error of 1 + x in double is all of x where x is small, and goes back in. */
KNI_INLINE float kni_log1p_f32(float x)
{
    double d = (double)x;
    double u = 1.0 + d;
    double y = kni_log_wide_f32(u) + (d < 1.0 ? d - (u - 1.0) : 0.0);
    float r = kni_log_specials_f32((float)u, y);
    r = x < -1.0f ? KNI_NAN_F32 : r;
    return x == 0.0f ? x : r;
}

KNI_INLINE float kni_expm1_f32(float x)
{
    float c = x < -60.0f ? -60.0f : x;
    c = c > 90.0f ? 90.0f : c;
    kni_double2 e = kni_exp_wide_f32((double)c);
    double s = kni_power_of_two_f64(e.hi);
    return x == 0.0f ? x : (float)(s * e.lo + (s - 1.0));
}

#endif
