/* sin, cos and tan for every finite argument. In float they are free of branches. In double the reduction of
   huge arguments needs a branch, which keeps a loop scalar; the *_bounded functions have none. */
#ifndef KNI_MATH_TRIG_H
#define KNI_MATH_TRIG_H

#include "core/math/bits.h"

/* The largest |x| the bounded functions take: the quotient by pi/2 then has 20 bits. */
#define KNI_TRIG_BOUND 0x1p20

/* x = quadrant pi/2 + hi + lo with |hi| <= pi/4; only the low two bits of quadrant count. */
typedef struct {
    double hi, lo;
    uint64_t quadrant;
} kni_angle;

/* Takes off a multiple of pi/2, held in three parts of 33 bits (whose products are exact) and a rest. */
KNI_INLINE kni_angle kni_reduce_bounded(double x)
{
    double shifted = x * 0.63661977236758134 + KNI_MAGIC_F64;
    double n = shifted - KNI_MAGIC_F64;
    double a = x - n * 0x1.921fb544p+0;
    kni_double2 b = kni_two_sum(a, -(n * 0x1.0b4611a6p-34));
    kni_double2 c = kni_two_sum(b.hi, -(n * 0x1.3198a2ep-69));
    double low = (b.lo + c.lo) - n * 0x1.b839a252049c1p-104;
    double hi = c.hi + low;
    return (kni_angle){hi, (c.hi - hi) + low, kni_bits_f64(shifted)};
}

/* The same for any |x| >= 2 by multiplying its significand with the 192 bits of 2/pi that matter: higher ones
   only add whole turns, lower ones are below the precision (Payne and Hanek). */
static inline kni_angle kni_reduce_huge(double x)
{
    static const uint32_t two_over_pi[40] = {
        0x00000000, 0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041,
        0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
        0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b,
        0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d,
        0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab};
    uint64_t u = kni_bits_f64(x) & ~KNI_SIGN_F64;
    uint64_t m = (u & 0x000fffffffffffffu) | 0x0010000000000000u;
    unsigned skip = (unsigned)(u >> 52) - 1075 - 2 + 64;
    uint32_t window[6], product[6];
    for (unsigned i = 0; i < 6; i++) {
        unsigned at = (skip >> 5) + i;
        uint64_t pair = (uint64_t)two_over_pi[at] << 32 | two_over_pi[at + 1];
        window[i] = (uint32_t)(pair >> (32 - (skip & 31)));
    }
    uint64_t carry = 0;
    for (int i = 5; i >= 0; i--) {
        carry += (m & 0xffffffffu) * window[i];
        product[i] = (uint32_t)carry;
        carry >>= 32;
    }
    carry = 0;
    for (int i = 4; i >= 0; i--) {
        carry += (m >> 32) * window[i + 1] + product[i];
        product[i] = (uint32_t)carry;
        carry >>= 32;
    }
    /* The top two bits are the quadrant; the rest, moved up and taken as signed, is the fraction. */
    uint64_t quadrant = (uint64_t)(product[0] >> 30) + ((product[0] >> 29) & 1);
    uint32_t negative = (product[0] >> 29) & 1 ? 0xffffffffu : 0;
    kni_double2 f = {0.0, 0.0};
    double unit = 0x1p-32;
    for (int i = 0; i < 6; i++) {
        uint32_t word = (product[i] << 2 | (i < 5 ? product[i + 1] >> 30 : 0)) ^ negative;
        kni_double2 s = kni_two_sum(f.hi, (double)word * unit);
        f = (kni_double2){s.hi, f.lo + s.lo};
        unit *= 0x1p-32;
    }
    kni_double2 r = kni_two_product(f.hi, 0x1.921fb54442d18p+0);
    r.lo += f.hi * 0x1.1a62633145c07p-54 + f.lo * 0x1.921fb54442d18p+0;
    double hi = r.hi + r.lo, lo = (r.hi - hi) + r.lo;
    int flip = (negative != 0) != (x < 0.0);
    return (kni_angle){flip ? -hi : hi, flip ? -lo : lo, x < 0.0 ? 0 - quadrant : quadrant};
}

/* sin(hi + lo) = hi + rest, |hi| <= pi/4. */
KNI_INLINE double kni_sin_rest_f64(double hi, double lo)
{
    double z = hi * hi;
    double p = 1.5896423616542607e-10;
    p = kni_horner4_f64(p, z, -2.5050751981950539e-08, 2.7557313654784896e-06, -0.00019841269829707373,
                        0.0083333333333222969);
    double v = z * hi;
    return v * -0.16666666666666632 - (z * (0.5 * lo - v * p) - lo);
}

/* cos(hi + lo) = (1 - hi^2/2, rounded) + rest. */
KNI_INLINE kni_double2 kni_cos_kernel_f64(double hi, double lo)
{
    double z = hi * hi;
    double p = -1.1359382702019237e-11;
    p = kni_horner4_f64(p, z, 2.087571835507214e-09, -2.755731431780442e-07, 2.4801587289369133e-05,
                        -0.0013888888888873956);
    p = p * z + 0.041666666666666602;
    double half = 0.5 * z;
    double w = 1.0 - half;
    return (kni_double2){w, ((1.0 - w) - half) + (z * z * p - hi * lo)};
}

KNI_INLINE double kni_sin_angle_f64(kni_angle a)
{
    kni_double2 c = kni_cos_kernel_f64(a.hi, a.lo);
    double s = a.hi + kni_sin_rest_f64(a.hi, a.lo);
    double y = (a.quadrant & 1) == 0 ? s : c.hi + c.lo;
    return kni_from_bits_f64(kni_bits_f64(y) ^ (a.quadrant & 2) << 62);
}

/* s/c with the rounding errors of both put back. */
KNI_INLINE double kni_tan_angle_f64(kni_angle a)
{
    kni_double2 cosine = kni_cos_kernel_f64(a.hi, a.lo);
    cosine = kni_fast_two_sum(cosine.hi, cosine.lo);
    kni_double2 sine = kni_fast_two_sum(a.hi, kni_sin_rest_f64(a.hi, a.lo));
    int odd = (a.quadrant & 1) != 0;
    double top = odd ? -cosine.hi : sine.hi, top_lo = odd ? -cosine.lo : sine.lo;
    double bottom = odd ? sine.hi : cosine.hi, bottom_lo = odd ? sine.lo : cosine.lo;
    double q = top / bottom;
    kni_double2 back = kni_two_product(q, bottom);
    return q + (((top - back.hi) - back.lo) + (top_lo - q * bottom_lo)) / bottom;
}

KNI_INLINE double kni_sin_bounded_f64(double x)
{
    double y = kni_sin_angle_f64(kni_reduce_bounded(x));
    return kni_abs_f64(x) < 0x1p-27 ? x : y;
}

KNI_INLINE double kni_cos_bounded_f64(double x)
{
    kni_angle a = kni_reduce_bounded(x);
    a.quadrant += 1;
    return kni_sin_angle_f64(a);
}

KNI_INLINE double kni_tan_bounded_f64(double x)
{
    double y = kni_tan_angle_f64(kni_reduce_bounded(x));
    return kni_abs_f64(x) < 0x1p-27 ? x : y;
}

/* Whether the bounded functions serve x; infinities and NaN go the other way. */
KNI_INLINE int kni_is_bounded_angle(double x) { return kni_abs_f64(x) <= KNI_TRIG_BOUND; }

static inline double kni_sin_f64(double x)
{
    if (kni_is_bounded_angle(x)) return kni_sin_bounded_f64(x);
    if (!(kni_abs_f64(x) < KNI_INF_F64)) return KNI_NAN_F64;
    return kni_sin_angle_f64(kni_reduce_huge(x));
}

static inline double kni_cos_f64(double x)
{
    if (kni_is_bounded_angle(x)) return kni_cos_bounded_f64(x);
    if (!(kni_abs_f64(x) < KNI_INF_F64)) return KNI_NAN_F64;
    kni_angle a = kni_reduce_huge(x);
    a.quadrant += 1;
    return kni_sin_angle_f64(a);
}

static inline double kni_tan_f64(double x)
{
    if (kni_is_bounded_angle(x)) return kni_tan_bounded_f64(x);
    if (!(kni_abs_f64(x) < KNI_INF_F64)) return KNI_NAN_F64;
    return kni_tan_angle_f64(kni_reduce_huge(x));
}

#endif
