/* sin, cos and tan in single precision for every finite argument, free of branches: the quotient by pi is
   formed exactly in double precision from the bits of 1/pi that matter at the size of the argument. */
#ifndef KNI_MATH_FLOAT_TRIG_H
#define KNI_MATH_FLOAT_TRIG_H

#include "core/math/bits.h"

/* x/pi modulo 2 as an unevaluated sum. The first two terms are exact products of 24 and 29 bits. */
typedef struct {
    double first, second, third;
} kni_turns;

KNI_INLINE kni_turns kni_half_turns_f32(float x)
{
    /* Where |x| >= 2^e, bits of 1/pi worth 2^(24-e) and more only add multiples of 2 and are left out. */
    double d = (double)x;
    double a = kni_abs_f64(d);
    double c0 = 0x1.45f306dp-2, c1 = 0x1.9391054p-31, c2 = 0x1.4fe13abe8fa9ap-60;
    c0 = a >= 0x1p32 ? 0x1.f306dc8p-10 : c0;
    c1 = a >= 0x1p32 ? 0x1.c882a53p-38 : c1;
    c2 = a >= 0x1p32 ? 0x1.f09d5f47d4d37p-67 : c2;
    c0 = a >= 0x1p56 ? 0x1.3910548p-35 : c0;
    c1 = a >= 0x1p56 ? 0x1.3f84eafp-62 : c1;
    c2 = a >= 0x1p56 ? 0x1.47d4d377036d9p-91 : c2;
    c0 = a >= 0x1p80 ? 0x1.29fc275p-57 : c0;
    c1 = a >= 0x1p80 ? 0x1.f47d4d2p-87 : c1;
    c2 = a >= 0x1p80 ? 0x1.77036d8a5664fp-115 : c2;
    c0 = a >= 0x1p104 ? 0x1.57d1f53p-81 : c0;
    c1 = a >= 0x1p104 ? 0x1.377036cp-111 : c1;
    c2 = a >= 0x1p104 ? 0x1.8a5664f10e410p-139 : c2;
    return (kni_turns){d * c0, d * c1, d * c2};
}

/* sin(pi (t + offset)) for an offset of 0 or 1/2: with the nearest integer n taken off, what is left is at
   most 1/2 and the sign is the parity of n. */
KNI_INLINE double kni_sin_turns(kni_turns t, double offset)
{
    double shifted = (t.first + t.second + offset) + KNI_MAGIC_F64;
    double n = (shifted - KNI_MAGIC_F64) - offset;
    double r = ((t.first - n) + t.second) + t.third;
    double z = r * r;
    double p = -0.007021469918354009;
    p = kni_horner4_f64(p, z, 0.082046079072329414, -0.59925125003108026, 2.5501632338228331,
                        -5.1677127619329175);
    p = p * z + 3.1415926535225331;
    return kni_from_bits_f64(kni_bits_f64(r * p) ^ kni_bits_f64(shifted) << 63);
}

KNI_INLINE float kni_sin_f32(float x)
{
    float y = (float)kni_sin_turns(kni_half_turns_f32(x), 0.0);
    return x == 0.0f ? x : y;
}

KNI_INLINE float kni_cos_f32(float x) { return (float)kni_sin_turns(kni_half_turns_f32(x), 0.5); }

KNI_INLINE float kni_tan_f32(float x)
{
    kni_turns t = kni_half_turns_f32(x);
    float y = (float)(kni_sin_turns(t, 0.0) / kni_sin_turns(t, 0.5));
    return x == 0.0f ? x : y;
}

#endif
