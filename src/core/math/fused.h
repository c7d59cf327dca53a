/* a * b + c rounded once, without the machine's instruction, which not every target has. */
#ifndef KNI_MATH_FUSED_H
#define KNI_MATH_FUSED_H

#include "core/math/bits.h"

/* The product is exact in double; the sum is rounded to odd, so that the second rounding sees what the first lost. */
KNI_INLINE float kni_fma_f32(float a, float b, float c)
{
    double p = (double)a * (double)b, s = p + (double)c;
    if (!(s - s == 0)) return (float)s;
    double t = s - p, lost = (p - (s - t)) + ((double)c - t);
    uint64_t bits = kni_bits_f64(s);
    if (lost != 0 && !(bits & 1)) bits = (lost > 0) == (s > 0) ? bits + 1 : bits - 1;
    return (float)kni_from_bits_f64(bits);
}

/* Whole numbers of 256 bits, the lowest word first. */
typedef struct {
    uint64_t w[4];
} kni_wide256;

KNI_INLINE kni_wide256 kni_wide_shift(kni_wide256 x, int by)
{
    kni_wide256 y = {{0, 0, 0, 0}};
    int words = by / 64, bits = by % 64;
    for (int i = 3; i >= words; i--) {
        y.w[i] = x.w[i - words] << bits;
        if (bits && i > words) y.w[i] |= x.w[i - words - 1] >> (64 - bits);
    }
    return y;
}

/* The 106 bits of a product of two significands. */
KNI_INLINE kni_wide256 kni_wide_product(uint64_t a, uint64_t b)
{
    uint64_t al = a & 0xffffffffu, ah = a >> 32, bl = b & 0xffffffffu, bh = b >> 32;
    uint64_t low = al * bl, middle = ah * bl + (low >> 32), other = al * bh + (middle & 0xffffffffu);
    return (kni_wide256){{(low & 0xffffffffu) | other << 32, ah * bh + (middle >> 32) + (other >> 32), 0, 0}};
}

/* x + y, or |x - y| with *flipped told where y was the larger. */
KNI_INLINE kni_wide256 kni_wide_combine(kni_wide256 x, kni_wide256 y, int subtract, int *flipped)
{
    int smaller = 0;
    for (int i = 3; i >= 0; i--)
        if (x.w[i] != y.w[i]) {
            smaller = x.w[i] < y.w[i];
            break;
        }
    *flipped = subtract && smaller;
    if (*flipped) {
        kni_wide256 t = x;
        x = y;
        y = t;
    }
    uint64_t carry = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t from = x.w[i], by = y.w[i];
        uint64_t r = subtract ? from - by : from + by;
        uint64_t next = subtract ? from < by : r < from;
        uint64_t done = subtract ? r - carry : r + carry;
        next |= subtract ? r < carry : done < r;
        x.w[i] = done;
        carry = next;
    }
    return x;
}

/* The value x 2^exponent to the nearest double, ties to even; sign in the top bit. */
KNI_INLINE double kni_wide_round(kni_wide256 x, int exponent, uint64_t sign)
{
    int top = 255;
    while (top >= 0 && !(x.w[top / 64] >> (top % 64) & 1)) top--;
    if (top < 0) return 0;
    int lowest = top - 52 > -1074 - exponent ? top - 52 : -1074 - exponent;
    if (lowest > top + 1) return kni_from_bits_f64(sign);
    uint64_t significand = 0, half = 0, rest = 0;
    for (int i = top; i >= 0; i--) {
        uint64_t bit = x.w[i / 64] >> (i % 64) & 1;
        if (i >= lowest)
            significand = significand << 1 | bit;
        else if (i == lowest - 1)
            half = bit;
        else
            rest |= bit;
    }
    if (lowest < 0) significand <<= -lowest;
    significand += half & (rest | (significand & 1));
    int biased = exponent + lowest + 1075;
    if (biased >= 2047) return kni_from_bits_f64(sign | (uint64_t)0x7ff << 52);
    uint64_t bits = ((uint64_t)(biased - 1) << 52) + significand;
    if (bits >> 52 >= 2047) bits = (uint64_t)0x7ff << 52;
    return kni_from_bits_f64(sign | bits);
}

/* |x| = *significand 2^exponent, which is the result. */
KNI_INLINE int kni_take_apart_f64(double x, uint64_t *significand)
{
    uint64_t bits = kni_bits_f64(x);
    int e = (int)(bits >> 52 & 0x7ff);
    *significand = bits & 0xfffffffffffffu;
    if (e) *significand |= (uint64_t)1 << 52;
    return (e ? e : 1) - 1075;
}

KNI_INLINE double kni_fma_f64(double a, double b, double c)
{
    if (!(a - a == 0) || !(b - b == 0) || a == 0 || b == 0) return a * b + c;
    if (!(c - c == 0) || c == 0) return c == 0 ? a * b : c;
    uint64_t ma, mb, mc, top = (uint64_t)1 << 63;
    int exponent = kni_take_apart_f64(a, &ma) + kni_take_apart_f64(b, &mb);
    int gap = kni_take_apart_f64(c, &mc) - exponent;
    uint64_t product_sign = (kni_bits_f64(a) ^ kni_bits_f64(b)) & top, sign = kni_bits_f64(c) & top;
    kni_wide256 p = kni_wide_product(ma, mb), q = {{mc, 0, 0, 0}};
    /* What lies far below the other counts only as not being zero: its bits may stand anywhere below the last that is kept. */
    if (gap > 200) {
        q = kni_wide_shift(q, 200);
        exponent += gap - 200;
    } else if (gap >= 0) {
        q = kni_wide_shift(q, gap);
    } else if (gap >= -140) {
        p = kni_wide_shift(p, -gap);
        exponent += gap;
    } else {
        p = kni_wide_shift(p, 140);
        exponent -= 140;
    }
    int flipped;
    kni_wide256 sum = kni_wide_combine(p, q, product_sign != sign, &flipped);
    return kni_wide_round(sum, exponent, flipped ? sign : product_sign);
}

#endif
