/* Conversions between float, double, IEEE half precision (f16) and bfloat16, by integer arithmetic and exact
   scaling only; halves travel as uint16_t. Rounding is to nearest even, once. */
#ifndef KNI_MATH_HALF_H
#define KNI_MATH_HALF_H

#include "core/math/bits.h"

/* The exponent and fraction move into place; a multiplication corrects the bias and makes subnormals normal. */
KNI_INLINE float kni_f16_to_f32(uint16_t half)
{
    uint32_t magnitude = ((uint32_t)half & 0x7fffu) << 13;
    uint32_t sign = ((uint32_t)half & 0x8000u) << 16;
    uint32_t finite = kni_bits_f32(kni_from_bits_f32(magnitude) * 0x1p112f);
    uint32_t special = magnitude | 0x7f800000u;
    return kni_from_bits_f32((magnitude >= 0x0f800000u ? special : finite) | sign);
}

/* Adding a power of two 13 places above the last kept bit makes the adder do the rounding. */
KNI_INLINE uint16_t kni_f32_to_f16(float x)
{
    uint32_t u = kni_bits_f32(x);
    uint32_t magnitude = u & 0x7fffffffu;
    uint32_t sign = (u >> 16) & 0x8000u;
    uint32_t capped = magnitude > 0x47800000u ? 0x47800000u : magnitude;
    uint32_t exponent = capped & 0x7f800000u;
    exponent = exponent < 0x38800000u ? 0x38800000u : exponent;
    uint32_t power = exponent + (13u << 23);
    uint32_t rounded = kni_bits_f32(kni_from_bits_f32(capped) + kni_from_bits_f32(power)) - power;
    /* What stands above the fraction is the carry into the exponent, or the leading bit itself. */
    uint32_t half = rounded + ((exponent - 0x38800000u) >> 13);
    half = half > 0x7c00u ? 0x7c00u : half;
    half = magnitude > 0x7f800000u ? 0x7e00u : half;
    return (uint16_t)(half | sign);
}

KNI_INLINE float kni_bf16_to_f32(uint16_t half) { return kni_from_bits_f32((uint32_t)half << 16); }

KNI_INLINE uint16_t kni_f32_to_bf16(float x)
{
    uint32_t u = kni_bits_f32(x);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    uint32_t quiet = (u >> 16) | 0x40u;
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

/* x cut to a float, its last bit set if anything was lost (rounding to odd): a later rounding to fewer bits
   then gives what rounding x at once would. */
KNI_INLINE float kni_f64_to_f32_odd(double x)
{
    float nearest = (float)x;
    double a = kni_abs_f64(x), b = kni_abs_f64((double)nearest);
    uint32_t u = kni_bits_f32(nearest);
    u -= b > a ? 1u : 0u;
    u |= b != a ? 1u : 0u;
    return x != x ? nearest : kni_from_bits_f32(u);
}

KNI_INLINE uint16_t kni_f64_to_f16(double x) { return kni_f32_to_f16(kni_f64_to_f32_odd(x)); }

KNI_INLINE uint16_t kni_f64_to_bf16(double x) { return kni_f32_to_bf16(kni_f64_to_f32_odd(x)); }

#endif
