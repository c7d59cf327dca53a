/* Arithmetic of f64 and of 64-bit integers for devices that have neither: on bit patterns, rounded as the hardware
   does, to the last bit. The text is also what kernels in the narrow form are made of (ir/narrow.h), so it keeps to what
   ir/math_source.c reads. NaN comes out as one quiet NaN. */
#ifndef KNI_MATH_SOFT_H
#define KNI_MATH_SOFT_H

#include <stdint.h>

/* The upper 32 bits of a product of 32 by 32. */
static inline uint32_t kni_soft_upper_product(uint32_t a, uint32_t b)
{
    uint32_t al = a & 0xffffu, ah = a >> 16, bl = b & 0xffffu, bh = b >> 16;
    uint32_t low = al * bl, middle = ah * bl + (low >> 16);
    uint32_t other = al * bh + (middle & 0xffffu);
    return ah * bh + (middle >> 16) + (other >> 16);
}

/* a / b; 0 where b is 0. Short operands, the usual ones, take one division. */
static inline uint64_t kni_soft_divide_u64(uint64_t a, uint64_t b)
{
    if (((a | b) >> 32) == 0) return (uint64_t)((uint32_t)b == 0 ? 0u : (uint32_t)a / (uint32_t)b);
    if (b == 0) return 0;
    uint64_t quotient = 0, rest = 0;
    for (int i = 0; i < 64; i++) {
        uint32_t out = (uint32_t)(rest >> 63);
        rest = rest << 1 | a >> 63;
        a = a << 1;
        quotient = quotient << 1;
        if (out != 0u || rest >= b) {
            rest -= b;
            quotient = quotient | 1;
        }
    }
    return quotient;
}

static inline uint64_t kni_soft_rest_u64(uint64_t a, uint64_t b)
{
    if (((a | b) >> 32) == 0) return (uint64_t)((uint32_t)b == 0 ? 0u : (uint32_t)a % (uint32_t)b);
    return b == 0 ? 0 : a - kni_soft_divide_u64(a, b) * b;
}

static inline int64_t kni_soft_divide_i64(int64_t a, int64_t b)
{
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    uint64_t q = kni_soft_divide_u64(x, y);
    return (int64_t)((a < 0) != (b < 0) ? 0 - q : q);
}

static inline int64_t kni_soft_rest_i64(int64_t a, int64_t b)
{
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    uint64_t r = kni_soft_rest_u64(x, y);
    return (int64_t)(a < 0 ? 0 - r : r);
}

/* How far the highest bit is from bit 63; 63 of 0 and of 1. */
static inline int kni_soft_leading_zeros(uint64_t m)
{
    uint32_t hi = (uint32_t)(m >> 32);
    int n = hi == 0u ? 32 : 0;
    uint32_t w = hi == 0u ? (uint32_t)m : hi;
    n += w < 0x10000u ? 16 : 0;
    w = w < 0x10000u ? w << 16 : w;
    n += w < 0x1000000u ? 8 : 0;
    w = w < 0x1000000u ? w << 8 : w;
    n += w < 0x10000000u ? 4 : 0;
    w = w < 0x10000000u ? w << 4 : w;
    n += w < 0x40000000u ? 2 : 0;
    w = w < 0x40000000u ? w << 2 : w;
    n += w < 0x80000000u ? 1 : 0;
    return n;
}

/* m >> n where what is lost sets the last bit; n from 0 on. */
static inline uint64_t kni_soft_shift_sticky(uint64_t m, int n)
{
    if (n > 63) return m == 0 ? 0 : 1;
    uint64_t kept = m >> n;
    return kept << n == m ? kept : kept | 1;
}

/* The f64 nearest m 2^(e - 62); bit 62 is the highest of m. */
static inline uint64_t kni_soft_pack(uint64_t sign, int e, uint64_t m)
{
    int biased = e + 1023;
    if (biased > 2046) return sign | 0x7ff0000000000000u;
    if (biased < 1) {
        m = kni_soft_shift_sticky(m, 1 - biased);
        biased = 1;
    }
    uint32_t lost = (uint32_t)m & 0x3ffu;
    uint64_t r = m >> 10;
    if (lost > 0x200u || (lost == 0x200u && ((uint32_t)r & 1u) != 0u)) r += 1;
    return sign | (((uint64_t)(uint32_t)(r >> 52 == 0 ? 0 : biased - 1) << 52) + r);
}

/* The same of any m that is not 0. */
static inline uint64_t kni_soft_pack_any(uint64_t sign, int e, uint64_t m)
{
    if (m >> 63 != 0) return kni_soft_pack(sign, e + 1, m >> 1 | (m & 1));
    int shift = kni_soft_leading_zeros(m) - 1;
    return kni_soft_pack(sign, e - shift, m << shift);
}

static inline int kni_soft_exponent(uint64_t a) { return (int)((uint32_t)(a >> 52) & 0x7ffu); }

static inline uint64_t kni_soft_add_f64(uint64_t x, uint64_t y)
{
    uint64_t xa = x & 0x7fffffffffffffffu, ya = y & 0x7fffffffffffffffu;
    uint64_t a = xa < ya ? y : x, b = xa < ya ? x : y;
    uint64_t sign = a & 0x8000000000000000u;
    int ea = kni_soft_exponent(a), eb = kni_soft_exponent(b);
    uint64_t ma = a & 0x000fffffffffffffu, mb = b & 0x000fffffffffffffu;
    int apart = (a ^ b) >> 63 != 0;
    if (ea == 2047) {
        if (ma != 0 || (apart && eb == 2047)) return 0x7ff8000000000000u;
        return a;
    }
    ma = ma << 10 | (ea == 0 ? 0 : 0x4000000000000000u);
    mb = mb << 10 | (eb == 0 ? 0 : 0x4000000000000000u);
    ea = ea == 0 ? 1 : ea;
    eb = eb == 0 ? 1 : eb;
    mb = kni_soft_shift_sticky(mb, ea - eb);
    uint64_t m = apart ? ma - mb : ma + mb;
    if (m == 0) return apart ? 0 : sign;
    return kni_soft_pack_any(sign, ea - 1023, m);
}

static inline uint64_t kni_soft_sub_f64(uint64_t x, uint64_t y)
{
    return kni_soft_add_f64(x, y ^ 0x8000000000000000u);
}

/* The significand with its highest bit at 63, of a finite number that is not 0. */
static inline uint64_t kni_soft_significand(uint64_t a)
{
    uint64_t m = a & 0x000fffffffffffffu;
    if (kni_soft_exponent(a) != 0) return (m | 0x0010000000000000u) << 11;
    return m << kni_soft_leading_zeros(m);
}

/* The exponent of that bit. */
static inline int kni_soft_power(uint64_t a)
{
    int e = kni_soft_exponent(a);
    if (e != 0) return e - 1023;
    return -1011 - kni_soft_leading_zeros(a & 0x000fffffffffffffu);
}

static inline uint64_t kni_soft_mul_f64(uint64_t x, uint64_t y)
{
    uint64_t sign = (x ^ y) & 0x8000000000000000u;
    uint64_t a = x & 0x7fffffffffffffffu, b = y & 0x7fffffffffffffffu;
    if (a > 0x7ff0000000000000u || b > 0x7ff0000000000000u) return 0x7ff8000000000000u;
    if (a == 0x7ff0000000000000u || b == 0x7ff0000000000000u)
        return a == 0 || b == 0 ? 0x7ff8000000000000u : sign | 0x7ff0000000000000u;
    if (a == 0 || b == 0) return sign;
    uint64_t ma = kni_soft_significand(a), mb = kni_soft_significand(b);
    uint32_t al = (uint32_t)ma, ah = (uint32_t)(ma >> 32), bl = (uint32_t)mb, bh = (uint32_t)(mb >> 32);
    uint64_t low = (uint64_t)al * (uint64_t)bl, middle = (uint64_t)ah * (uint64_t)bl + (low >> 32);
    uint64_t other = (uint64_t)al * (uint64_t)bh + (middle & 0xffffffffu);
    uint64_t m = (uint64_t)ah * (uint64_t)bh + (middle >> 32) + (other >> 32);
    if ((uint32_t)other != 0u || (uint32_t)low != 0u) m = m | 1;
    return kni_soft_pack_any(sign, kni_soft_power(a) + kni_soft_power(b), m);
}

static inline uint64_t kni_soft_div_f64(uint64_t x, uint64_t y)
{
    uint64_t sign = (x ^ y) & 0x8000000000000000u;
    uint64_t a = x & 0x7fffffffffffffffu, b = y & 0x7fffffffffffffffu;
    if (a > 0x7ff0000000000000u || b > 0x7ff0000000000000u) return 0x7ff8000000000000u;
    if (a == 0x7ff0000000000000u)
        return b == 0x7ff0000000000000u ? 0x7ff8000000000000u : sign | 0x7ff0000000000000u;
    if (b == 0x7ff0000000000000u) return sign;
    if (b == 0) return a == 0 ? 0x7ff8000000000000u : sign | 0x7ff0000000000000u;
    if (a == 0) return sign;
    uint64_t rest = kni_soft_significand(a) >> 1, by = kni_soft_significand(b) >> 1, m = 0;
    for (int i = 0; i < 58; i++) {
        m = m << 1;
        if (rest >= by) {
            rest -= by;
            m = m | 1;
        }
        rest = rest << 1;
    }
    if (rest != 0) m = m | 1;
    return kni_soft_pack_any(sign, kni_soft_power(a) - kni_soft_power(b) + 5, m);
}

static inline uint64_t kni_soft_sqrt_f64(uint64_t x)
{
    uint64_t a = x & 0x7fffffffffffffffu;
    if (a == 0 || x == 0x7ff0000000000000u) return x;
    if (x >> 63 != 0 || a > 0x7ff0000000000000u) return 0x7ff8000000000000u;
    int e = kni_soft_power(a);
    uint64_t rest = kni_soft_significand(a) >> 11;
    if ((e & 1) != 0) rest = rest << 1;
    e = (e & 1) != 0 ? (e - 1) / 2 : e / 2;
    rest = rest << 1;
    uint64_t root = 0, twice = 0, bit = 0x0020000000000000u;
    for (int i = 0; i < 54; i++) {
        uint64_t next = twice + bit;
        if (next <= rest) {
            twice = next + bit;
            rest -= next;
            root += bit;
        }
        rest = rest << 1;
        bit = bit >> 1;
    }
    if (rest != 0)
        root = root << 1 | 1;
    else
        root = root << 1;
    return kni_soft_pack_any(0, e + 8, root);
}

static inline int kni_soft_isnan_f64(uint64_t a) { return (a & 0x7fffffffffffffffu) > 0x7ff0000000000000u; }

static inline int kni_soft_eq_f64(uint64_t a, uint64_t b)
{
    if (kni_soft_isnan_f64(a) || kni_soft_isnan_f64(b)) return 0;
    return a == b || ((a | b) & 0x7fffffffffffffffu) == 0;
}

static inline int kni_soft_lt_f64(uint64_t a, uint64_t b)
{
    if (kni_soft_isnan_f64(a) || kni_soft_isnan_f64(b)) return 0;
    if (((a | b) & 0x7fffffffffffffffu) == 0) return 0;
    if ((a ^ b) >> 63 != 0) return a >> 63 != 0;
    return a >> 63 != 0 ? b < a : a < b;
}

static inline int kni_soft_le_f64(uint64_t a, uint64_t b)
{
    return kni_soft_lt_f64(a, b) || kni_soft_eq_f64(a, b);
}

/* ---- conversions; of f32 by its bits too. A float that no integer holds becomes the nearest, NaN 0. */

static inline uint64_t kni_soft_f64_u64(uint64_t a) { return a == 0 ? 0 : kni_soft_pack_any(0, 62, a); }

static inline uint64_t kni_soft_f64_i64(int64_t a)
{
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
    return x == 0 ? 0 : kni_soft_pack_any(a < 0 ? 0x8000000000000000u : 0, 62, x);
}

static inline uint64_t kni_soft_f64_f32(uint32_t u)
{
    uint64_t sign = (uint64_t)(u & 0x80000000u) << 32;
    uint32_t a = u & 0x7fffffffu;
    if (a > 0x7f800000u) return 0x7ff8000000000000u;
    if (a == 0x7f800000u) return sign | 0x7ff0000000000000u;
    if (a >= 0x800000u) return sign | (((uint64_t)a << 29) + 0x3800000000000000u);
    return a == 0u ? sign : kni_soft_pack_any(sign, 62 - 149, (uint64_t)a);
}

static inline uint32_t kni_soft_f32_f64(uint64_t x)
{
    uint32_t sign = (uint32_t)(x >> 32) & 0x80000000u;
    uint64_t a = x & 0x7fffffffffffffffu;
    if (a > 0x7ff0000000000000u) return 0x7fc00000u;
    if (a >= 0x47f0000000000000u) return sign | 0x7f800000u;
    int e = kni_soft_exponent(a) - 1023 + 127;
    if (e < -30) return sign;
    uint64_t m = (a & 0x000fffffffffffffu) | 0x0010000000000000u;
    if (e < 1) {
        m = kni_soft_shift_sticky(m, 1 - e);
        e = 1;
    }
    uint32_t lost = (uint32_t)m & 0x1fffffffu, r = (uint32_t)(m >> 29);
    if (lost > 0x10000000u || (lost == 0x10000000u && (r & 1u) != 0u)) r += 1u;
    return sign | (((uint32_t)(r >> 23 == 0u ? 0 : e - 1) << 23) + r);
}

/* Towards zero, with the last bit set where something was lost: rounding it once more gives what rounding x would. */
static inline uint32_t kni_soft_f32_odd_f64(uint64_t x)
{
    uint32_t sign = (uint32_t)(x >> 32) & 0x80000000u;
    uint64_t a = x & 0x7fffffffffffffffu;
    if (a > 0x7ff0000000000000u) return 0x7fc00000u;
    if (a == 0x7ff0000000000000u) return sign | 0x7f800000u;
    if (a >= 0x47f0000000000000u) return sign | 0x7f7fffffu;
    int e = kni_soft_exponent(a) - 1023 + 127;
    if (a == 0) return sign;
    if (e < 1)
        return sign |
               (uint32_t)kni_soft_shift_sticky((a & 0x000fffffffffffffu) | 0x0010000000000000u, 30 - e);
    return sign | ((uint32_t)e << 23) | (uint32_t)kni_soft_shift_sticky(a & 0x000fffffffffffffu, 29);
}

static inline uint32_t kni_soft_f32_u64(uint64_t a)
{
    if (a == 0) return 0u;
    int shift = kni_soft_leading_zeros(a);
    uint64_t m = a << shift;
    uint32_t r = (uint32_t)(m >> 40), rest = (uint32_t)(m >> 8) & 0xffffffffu;
    if (((uint32_t)m & 0xffu) != 0u) rest = rest | 1u;
    uint32_t up = rest > 0x80000000u || (rest == 0x80000000u && (r & 1u) != 0u) ? 1u : 0u;
    return ((uint32_t)(127 + 63 - shift - 1) << 23) + r + up;
}

static inline uint32_t kni_soft_f32_i64(int64_t a)
{
    if (a < 0) return kni_soft_f32_u64(0 - (uint64_t)a) | 0x80000000u;
    return kni_soft_f32_u64((uint64_t)a);
}

/* The whole part of the magnitude, of what is below 2^64. */
static inline uint64_t kni_soft_whole_f64(uint64_t a)
{
    int e = kni_soft_exponent(a) - 1023;
    uint64_t m = (a & 0x000fffffffffffffu) | 0x0010000000000000u;
    if (e < 0) return 0;
    return e < 52 ? m >> (52 - e) : m << (e - 52);
}

static inline int64_t kni_soft_i64_f64(uint64_t x)
{
    uint64_t a = x & 0x7fffffffffffffffu;
    if (a > 0x7ff0000000000000u) return 0;
    if (a >= 0x43e0000000000000u) return (int64_t)(x >> 63 != 0 ? 0x8000000000000000u : 0x7fffffffffffffffu);
    uint64_t whole = kni_soft_whole_f64(a);
    return (int64_t)(x >> 63 != 0 ? 0 - whole : whole);
}

/* Below 0 as the i64 does. */
static inline uint64_t kni_soft_u64_f64(uint64_t x)
{
    if (x >> 63 != 0) return (uint64_t)kni_soft_i64_f64(x);
    if (x > 0x7ff0000000000000u) return 0;
    return x >= 0x43f0000000000000u ? 0xffffffffffffffffu : kni_soft_whole_f64(x);
}

static inline int64_t kni_soft_i64_f32(uint32_t u)
{
    uint32_t a = u & 0x7fffffffu;
    int e = (int)(a >> 23) - 127;
    uint64_t m = (uint64_t)((a & 0x7fffffu) | 0x800000u);
    if (a > 0x7f800000u || e < 0) return 0;
    if (e > 62) return (int64_t)(u >> 31 != 0u ? 0x8000000000000000u : 0x7fffffffffffffffu);
    m = e < 23 ? m >> (23 - e) : m << (e - 23);
    return (int64_t)(u >> 31 != 0u ? 0 - m : m);
}

static inline uint64_t kni_soft_u64_f32(uint32_t u)
{
    if (u >> 31 != 0u || u > 0x7f800000u) return (uint64_t)kni_soft_i64_f32(u);
    if (u >= 0x5f800000u) return 0xffffffffffffffffu;
    return u >= 0x5f000000u ? (uint64_t)((u & 0x7fffffu) | 0x800000u) << 40 : (uint64_t)kni_soft_i64_f32(u);
}

/* ---- 16-bit floats, without numbers below the normal ones on the way */

static inline uint32_t kni_soft_f32_f16(uint32_t half_)
{
    uint32_t sign = (half_ & 0x8000u) << 16, a = half_ & 0x7fffu;
    if (a >= 0x7c00u) return sign | 0x7f800000u | (a & 0x3ffu) << 13;
    if (a >= 0x400u) return sign | ((a << 13) + 0x38000000u);
    uint32_t m = a, e = 0x38800000u;
    if (a == 0u) return sign;
    for (int i = 0; i < 10 && m < 0x400u; i++) {
        m = m << 1;
        e -= 0x800000u;
    }
    return sign | (e + ((m & 0x3ffu) << 13));
}

static inline uint32_t kni_soft_f16_f32(uint32_t u)
{
    uint32_t sign = u >> 16 & 0x8000u, a = u & 0x7fffffffu;
    if (a > 0x7f800000u) return sign | 0x7e00u;
    if (a >= 0x47800000u) return sign | 0x7c00u;
    if (a < 0x33000000u) return sign;
    uint32_t m = (a & 0x7fffffu) | 0x800000u, shift = 13u;
    if (a < 0x38800000u) shift = 13u + (0x71u - (a >> 23));
    uint32_t r = m >> shift, lost = m & ((1u << shift) - 1u), middle = 1u << (shift - 1u);
    if (lost > middle || (lost == middle && (r & 1u) != 0u)) r += 1u;
    return sign | (a < 0x38800000u ? r : r + (((a >> 23) - 0x71u) << 10));
}

static inline uint32_t kni_soft_bf16_f32(uint32_t u)
{
    if ((u & 0x7fffffffu) > 0x7f800000u) return u >> 16 | 0x40u;
    return (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
}

/* Word `word` of the four that philox gives for a key and a counter of two words. */
static inline uint32_t kni_soft_philox(uint32_t key0, uint32_t key1, uint32_t low, uint32_t high,
                                       uint32_t word)
{
    uint32_t c0 = low, c1 = high, c2 = 0u, c3 = 0u;
    for (int i = 0; i < 10; i++) {
        uint32_t upper0 = kni_soft_upper_product(c0, 0xd2511f53u), lower0 = c0 * 0xd2511f53u;
        uint32_t upper2 = kni_soft_upper_product(c2, 0xcd9e8d57u), lower2 = c2 * 0xcd9e8d57u;
        c0 = upper2 ^ c1 ^ key0;
        c1 = lower2;
        c2 = upper0 ^ c3 ^ key1;
        c3 = lower0;
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    uint32_t even = (word & 2u) != 0u ? c2 : c0, odd = (word & 2u) != 0u ? c3 : c1;
    return (word & 1u) != 0u ? odd : even;
}

#endif
