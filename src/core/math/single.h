/* Math of f32 that keeps to f32 and u32, for devices without f64: forms of those functions whose usual form computes in
   f64. They are a few units in the last place off (tests/math/test_single.c says how many) where the usual ones are exact to
   half a unit. Numbers below the normal ones may be taken as 0. The text keeps to what ir/math_source.c reads. */
#ifndef KNI_MATH_SINGLE_H
#define KNI_MATH_SINGLE_H

#include "core/math/math.h"
#include "core/math/soft.h"

/* A number and what it lacks. */
typedef struct kni_single2 {
    float hi, lo;
} kni_single2;

static inline kni_single2 kni_single_fast_sum(float a, float b)
{
    float s = a + b;
    return (kni_single2){s, (a - s) + b};
}

static inline kni_single2 kni_single_sum(float a, float b)
{
    float s = a + b;
    float t = s - a;
    return (kni_single2){s, (a - (s - t)) + (b - t)};
}

static inline float kni_single_upper(float x) { return kni_from_bits_f32(kni_bits_f32(x) & 0xfffff000u); }

static inline kni_single2 kni_single_product(float a, float b)
{
    float ah = kni_single_upper(a), al = a - ah;
    float bh = kni_single_upper(b), bl = b - bh;
    float p = a * b;
    return (kni_single2){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

static inline int kni_single_isnan(float x) { return (kni_bits_f32(x) & 0x7fffffffu) > 0x7f800000u; }

/* ---- remainders: exact */

static inline float kni_single_fmod_f32(float x, float y)
{
    uint32_t a = kni_bits_f32(x) & 0x7fffffffu, b = kni_bits_f32(y) & 0x7fffffffu;
    uint32_t sign = kni_bits_f32(x) & 0x80000000u;
    if (a >= 0x7f800000u || b > 0x7f800000u || b == 0u) return KNI_NAN_F32;
    if (a < b) return x;
    int ea = (int)(a >> 23), eb = (int)(b >> 23);
    uint32_t m = (a & 0x7fffffu) | (ea > 0 ? 0x800000u : 0u), d = (b & 0x7fffffu) | (eb > 0 ? 0x800000u : 0u);
    int left = (ea > 0 ? ea : 1) - (eb > 0 ? eb : 1), e = eb > 0 ? eb : 1;
    m = m % d;
    for (; left > 0 && m != 0u;) {
        int step = left < 8 ? left : 8;
        m = (m << step) % d;
        left -= step;
    }
    if (m == 0u) return kni_from_bits_f32(sign);
    for (; m < 0x800000u && e > 1;) {
        m = m << 1;
        e -= 1;
    }
    uint32_t bits = m < 0x800000u ? m : ((uint32_t)e << 23) + (m - 0x800000u);
    return kni_from_bits_f32(sign | bits);
}

static inline float kni_single_rem_f32(float x, float y)
{
    float r = kni_single_fmod_f32(x, y);
    return r != 0.0f && (r < 0.0f) != (y < 0.0f) ? r + y : r;
}

static inline float kni_single_floordiv_f32(float a, float b)
{
    float r = kni_single_fmod_f32(a, b), q = (a - r) / b;
    q = r != 0.0f && (b < 0.0f) != (r < 0.0f) ? q - 1.0f : q;
    q = q != 0.0f ? kni_round_even_f32(q) : kni_copysign_f32(0.0f, a / b);
    return b == 0.0f ? a / b : q;
}

/* ---- logarithms. x is m 2^k with m from sqrt(1/2) to sqrt(2). */

static inline float kni_single_log_kernel(float f)
{
    float z = f * f;
    float p = 0.0692214146f;
    p = kni_horner4_f32(p, f, -0.117954947f, 0.118728623f, -0.123834014f, 0.142185777f);
    p = kni_horner4_f32(p, f, -0.166693017f, 0.20002231f, -0.249999851f, 0.333333105f);
    return f * z * p - 0.5f * z;
}

/* hi: m - 1, lo: k. Numbers below the normal ones by their bits: a device may take them as 0 elsewhere. */
static inline kni_single2 kni_single_log_split(float x)
{
    uint32_t u = kni_bits_f32(x);
    float bias = 127.0f;
    if (u < 0x800000u) {
        u = kni_bits_f32((float)(int)u);
        bias = 127.0f + 149.0f;
    }
    u += 0x3f800000u - 0x3f3504f3u;
    float m = kni_from_bits_f32((u & 0x007fffffu) + 0x3f3504f3u);
    return (kni_single2){m - 1.0f, (float)(int)(u >> 23) - bias};
}

static inline float kni_single_log_specials(float x, float y)
{
    float special = (kni_bits_f32(x) & 0x7fffffffu) == 0u ? -KNI_INF_F32 : KNI_NAN_F32;
    y = kni_bits_f32(x) - 1u < 0x7f800000u ? y : special;
    return kni_bits_f32(x) == 0x7f800000u || kni_single_isnan(x) ? x : y;
}

/* y(m) = c ln m with c in two parts, then k times a constant in two parts. */
static inline float kni_single_log_scaled(float x, float c_hi, float c_lo, float k_hi, float k_lo)
{
    kni_single2 v = kni_single_log_split(x);
    kni_single2 l = kni_single_fast_sum(v.hi, kni_single_log_kernel(v.hi));
    kni_single2 p = kni_single_product(l.hi, c_hi);
    p.lo += l.hi * c_lo + l.lo * c_hi;
    kni_single2 s = kni_single_sum(v.lo * k_hi, p.hi);
    return kni_single_log_specials(x, s.hi + (s.lo + (p.lo + v.lo * k_lo)));
}

static inline float kni_single_log2_f32(float x)
{
    return kni_single_log_scaled(x, 1.44269502f, 1.92596299e-8f, 1.0f, 0.0f);
}

static inline float kni_single_log10_f32(float x)
{
    return kni_single_log_scaled(x, 0.434294492f, -1.01004315e-8f, 0.301025390625f, 4.60503846e-6f);
}

static inline float kni_single_log_f32(float x)
{
    kni_single2 v = kni_single_log_split(x);
    float y = v.hi + (kni_single_log_kernel(v.hi) + v.lo * 1.42860682e-06f);
    return kni_single_log_specials(x, v.lo * 0x1.62e4p-1f + y);
}

static inline float kni_single_log1p_f32(float x)
{
    float u = 1.0f + x;
    kni_single2 v = kni_single_log_split(u);
    float lost = x < 1.0f ? x - (u - 1.0f) : 1.0f - (u - x);
    int direct = x > -0.2928f && x < 0.4142f;
    float f = direct ? x : v.hi, k = direct ? 0.0f : v.lo;
    float c = direct ? 0.0f : lost / u;
    float y = f + (kni_single_log_kernel(f) + (k * 1.42860682e-06f + c));
    y = kni_single_log_specials(u, k * 0x1.62e4p-1f + y);
    return kni_abs_f32(x) < 0x1p-24f ? x : y;
}

/* ---- exponentials */

static inline float kni_single_expm1_f32(float x)
{
    float c = x < -30.0f ? -30.0f : x;
    c = c > 90.0f ? 90.0f : c;
    float k = kni_round_even_f32(c * 1.44269504f);
    kni_single2 a = kni_single_fast_sum(c - k * 0x1.62e4p-1f, -(k * 1.42860682e-06f));
    float r = a.hi;
    float q = 0.000198527617f;
    q = kni_horner4_f32(q, r, 0.00139304355f, 0.00833336059f, 0.0416664853f, 0.166666672f);
    q = q * r + 0.5f;
    float rest = r * r * q + a.lo;
    float s = kni_power_of_two_f32((k > 128.0f ? 128.0f : k) - 1.0f);
    float y = 2.0f * ((s * r + (s - 0.5f)) + s * rest);
    y = k == 0.0f ? r + rest : y;
    y = x > 88.8f ? KNI_INF_F32 : y;
    return kni_abs_f32(x) < 0x1p-25f || kni_single_isnan(x) ? x : y;
}

static inline float kni_single_sinh_f32(float x)
{
    float a = kni_abs_f32(x);
    float t = kni_single_expm1_f32(a < 88.0f ? a : 88.0f);
    float y = 0.5f * (t + t / (t + 1.0f));
    float z = kni_exp_f32(0.5f * a);
    float large = 0.5f * z * z;
    y = a < 88.0f ? y : large;
    return kni_single_isnan(x) || a < 0x1p-13f ? x : kni_copysign_f32(y, x);
}

static inline float kni_single_cosh_f32(float x)
{
    float a = kni_abs_f32(x);
    float t = kni_exp_f32(a < 88.0f ? a : 88.0f);
    float z = kni_exp_f32(0.5f * a);
    float large = 0.5f * z * z;
    float y = a < 88.0f ? 0.5f * t + 0.5f / t : large;
    return kni_single_isnan(x) ? x : y;
}

static inline float kni_single_asinh_f32(float x)
{
    float a = kni_abs_f32(x);
    float b = a < 0x1p30f ? a : 1.0f;
    float square = b * b;
    float y = kni_single_log1p_f32(b + square / (1.0f + kni_sqrt_f32(square + 1.0f)));
    float large = kni_single_log_f32(a) + 0.693147182f;
    y = a < 0x1p30f ? y : large;
    return kni_single_isnan(x) || a < 0x1p-13f ? x : kni_copysign_f32(y, x);
}

static inline float kni_single_acosh_f32(float x)
{
    float t = (x < 0x1p30f ? x : 1.0f) - 1.0f;
    float y = kni_single_log1p_f32(t + kni_sqrt_f32(2.0f * t + t * t));
    float large = kni_single_log_f32(x) + 0.693147182f;
    y = x < 0x1p30f ? y : large;
    return x >= 1.0f ? y : KNI_NAN_F32;
}

static inline float kni_single_atanh_f32(float x)
{
    float a = kni_abs_f32(x);
    float y = 0.5f * kni_single_log1p_f32((a + a) / (1.0f - a));
    y = a < 1.0f ? y : KNI_NAN_F32;
    y = a == 1.0f ? KNI_INF_F32 : y;
    return kni_single_isnan(x) || a < 0x1p-13f ? x : kni_copysign_f32(y, x);
}

/* ---- powers: the logarithm to base 2 in two parts, good to 2^-34 */

static inline kni_single2 kni_single_log2_parts(float x)
{
    kni_single2 v = kni_single_log_split(x);
    float f = v.hi;
    kni_single2 d = kni_single_fast_sum(2.0f, f);
    float s = f / d.hi;
    kni_single2 back = kni_single_product(s, d.hi);
    float s_lo = (((f - back.hi) - back.lo) - s * d.lo) / d.hi;
    kni_single2 z = kni_single_product(s, s);
    z.lo += 2.0f * s * s_lo;
    float y = z.hi;
    float p = 0.153846154f;
    p = kni_horner4_f32(p, y, 0.181818187f, 0.222222224f, 0.285714298f, 0.4f);
    kni_single2 t = kni_single_product(z.hi, 0.666666687f);
    t.lo += z.hi * -1.98682151e-8f + z.lo * 0.666666687f;
    kni_single2 u = kni_single_fast_sum(t.hi, y * y * p);
    u.lo += t.lo;
    kni_single2 w = kni_single_product(s, u.hi);
    w.lo += s * u.lo + s_lo * u.hi;
    kni_single2 n = kni_single_fast_sum(2.0f * s, w.hi);
    n.lo += 2.0f * s_lo + w.lo;
    n = kni_single_fast_sum(n.hi, n.lo);
    kni_single2 l = kni_single_product(n.hi, 1.44269502f);
    l.lo += n.hi * 1.92596299e-8f + n.lo * 1.44269502f;
    kni_single2 all = kni_single_sum(v.lo, l.hi);
    return kni_single_fast_sum(all.hi, all.lo + l.lo);
}

static inline float kni_single_pow_specials(float x, float y, float magnitude)
{
    float a = kni_abs_f32(x), b = kni_abs_f32(y);
    float half_ = y * 0.5f;
    int whole = b == KNI_INF_F32 || y == kni_round_even_f32(y);
    int odd = whole && half_ != kni_round_even_f32(half_) && b < 0x1p25f;
    int negative = (kni_bits_f32(x) & 0x80000000u) != 0u && b < KNI_INF_F32;
    float grown = y > 0.0f ? KNI_INF_F32 : 0.0f;
    float shrunk = y > 0.0f ? 0.0f : KNI_INF_F32;
    float at_infinity = a > 1.0f ? grown : shrunk;
    at_infinity = a == 1.0f ? 1.0f : at_infinity;
    float r = a == 0.0f ? shrunk : magnitude;
    r = a == KNI_INF_F32 ? grown : r;
    r = b == KNI_INF_F32 ? at_infinity : r;
    r = negative && odd ? -r : r;
    r = negative && !whole && a != 0.0f && a != KNI_INF_F32 ? KNI_NAN_F32 : r;
    r = kni_single_isnan(x) ? x : r;
    r = kni_single_isnan(y) ? y : r;
    r = x == 1.0f ? 1.0f : r;
    return y == 0.0f ? 1.0f : r;
}

static inline float kni_single_pow_f32(float x, float y)
{
    float c = y > 0x1p40f ? 0x1p40f : y;
    c = c < -0x1p40f ? -0x1p40f : c;
    kni_single2 l = kni_single_log2_parts(kni_abs_f32(x));
    kni_single2 e = kni_single_product(c, l.hi);
    e.lo += c * l.lo;
    int extreme = kni_abs_f32(e.hi) > 200.0f;
    float hi = extreme ? (e.hi > 0.0f ? 200.0f : -200.0f) : e.hi;
    float lo = extreme ? 0.0f : e.lo;
    float k = kni_round_even_f32(hi);
    float r = (hi - k) + lo;
    kni_single2 n = kni_single_product(r, 0.693147182f);
    n.lo += r * -1.90465421e-9f;
    float t = n.hi;
    float q = 0.000198527617f;
    q = kni_horner4_f32(q, t, 0.00139304355f, 0.00833336059f, 0.0416664853f, 0.166666672f);
    q = q * t + 0.5f;
    kni_single2 s = kni_single_fast_sum(1.0f, t);
    float power = s.hi + (s.lo + (t * t * q + n.lo));
    return kni_single_pow_specials(x, y, kni_scale_f32(power, k));
}

static inline float kni_single_hypot_f32(float x, float y)
{
    float a = kni_abs_f32(x), b = kni_abs_f32(y);
    float large = a > b ? a : b, small = a > b ? b : a;
    float down = large > 0x1p60f ? 0x1p-70f : (large < 0x1p-60f ? 0x1p70f : 1.0f);
    float up = large > 0x1p60f ? 0x1p70f : (large < 0x1p-60f ? 0x1p-70f : 1.0f);
    float p = large * down, q = small * down;
    kni_single2 pp = kni_single_product(p, p), qq = kni_single_product(q, q);
    kni_single2 s = kni_single_fast_sum(pp.hi, qq.hi);
    float rest = s.lo + (pp.lo + qq.lo);
    float root = kni_sqrt_f32(s.hi);
    kni_single2 back = kni_single_product(root, root);
    float r = root == 0.0f ? 0.0f : root + 0.5f * (((s.hi - back.hi) - back.lo) + rest) / root;
    r = r * up;
    r = kni_single_isnan(x) ? x : (kni_single_isnan(y) ? y : r);
    return a == KNI_INF_F32 || b == KNI_INF_F32 ? KNI_INF_F32 : r;
}

/* ---- angles: x is the quadrant and hi + lo, found in 96 bits of 2/pi whatever the size of x */

typedef struct kni_single_angle {
    float hi, lo;
    uint32_t quadrant;
} kni_single_angle;

static inline float kni_single_power(int e) { return kni_from_bits_f32((uint32_t)(e + 127) << 23); }

static inline uint32_t kni_single_two_over_pi(int at)
{
    static const uint32_t words[10] = {0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                       0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a};
    return words[at];
}

/* 32 bits from bit `skip` on; shifts of 32 are made of two. */
static inline uint32_t kni_single_window(int at, uint32_t by)
{
    return kni_single_two_over_pi(at) << by | kni_single_two_over_pi(at + 1) >> 1 >> (31u - by);
}

static inline kni_single_angle kni_single_reduce(float x)
{
    uint32_t u = kni_bits_f32(x), e = u >> 23 & 0xffu, m = (u & 0x7fffffu) | 0x800000u;
    uint32_t skip = e - 120u;
    int at = (int)(skip >> 5);
    uint32_t by = skip & 31u;
    uint32_t w0 = kni_single_window(at, by), w1 = kni_single_window(at + 1, by),
             w2 = kni_single_window(at + 2, by);
    uint32_t low = m * w2, upper = kni_soft_upper_product(m, w2);
    uint32_t middle = m * w1 + upper;
    uint32_t over = kni_soft_upper_product(m, w1) + (middle < upper ? 1u : 0u);
    uint32_t top = m * w0 + over;
    uint32_t quadrant = top >> 30;
    uint32_t f0 = top << 2 | middle >> 30, f1 = middle << 2 | low >> 30;
    uint32_t turned = f0 >> 31;
    f1 = turned != 0u ? 0u - f1 : f1;
    f0 = turned != 0u ? ~f0 + (f1 == 0u ? 1u : 0u) : f0;
    quadrant += turned;
    int shift = 0;
    for (; shift < 40 && f0 < 0x80000000u;) {
        f0 = f0 << 1 | f1 >> 31;
        f1 = f1 << 1;
        shift += 1;
    }
    float a = (float)(int)(f0 >> 8) * kni_single_power(-24 - shift);
    float b = (float)(int)((f0 << 16 | f1 >> 16) & 0xffffffu) * kni_single_power(-48 - shift);
    kni_single2 r = kni_single_product(a, 1.57079637f);
    r.lo += a * -4.37113883e-8f + b * 1.57079637f;
    kni_single2 s = kni_single_fast_sum(r.hi, r.lo);
    int flip = (turned != 0u) != (u >> 31 != 0u);
    return (kni_single_angle){flip ? -s.hi : s.hi, flip ? -s.lo : s.lo,
                              u >> 31 != 0u ? 0u - quadrant : quadrant};
}

/* Small ones are their own angle. */
static inline kni_single_angle kni_single_angle_of(float x)
{
    if (kni_abs_f32(x) < 0.785398f) return (kni_single_angle){x, 0.0f, 0u};
    return kni_single_reduce(x);
}

static inline float kni_single_sine(float hi, float lo)
{
    float z = hi * hi;
    float p = 2.7181216e-06f;
    p = p * z - 0.000198393347f;
    p = p * z + 0.00833329f;
    p = p * z - 0.166666657f;
    return hi + (hi * z * p + lo);
}

static inline float kni_single_cosine(float hi, float lo)
{
    float z = hi * hi;
    float p = 2.44384038e-05f;
    p = p * z - 0.00138878601f;
    p = p * z + 0.0416666456f;
    float half_ = 0.5f * z, w = 1.0f - half_;
    return w + (((1.0f - w) - half_) + (z * z * p - hi * lo));
}

static inline float kni_single_wave(float hi, float lo, uint32_t quadrant)
{
    float s = kni_single_sine(hi, lo), c = kni_single_cosine(hi, lo);
    float y = (quadrant & 1u) == 0u ? s : c;
    return kni_from_bits_f32(kni_bits_f32(y) ^ (quadrant & 2u) << 30);
}

static inline float kni_single_sin_f32(float x)
{
    uint32_t u = kni_bits_f32(x) & 0x7fffffffu;
    if (u >= 0x7f800000u) return KNI_NAN_F32;
    if (u < 0x39800000u) return x;
    if (u < 0x3f490fdbu) return kni_single_sine(x, 0.0f);
    kni_single_angle a = kni_single_reduce(x);
    return kni_single_wave(a.hi, a.lo, a.quadrant);
}

static inline float kni_single_cos_f32(float x)
{
    uint32_t u = kni_bits_f32(x) & 0x7fffffffu;
    if (u >= 0x7f800000u) return KNI_NAN_F32;
    if (u < 0x3f490fdbu) return kni_single_cosine(x, 0.0f);
    kni_single_angle a = kni_single_reduce(x);
    return kni_single_wave(a.hi, a.lo, a.quadrant + 1u);
}

static inline float kni_single_tangent(float hi, float lo, uint32_t quadrant)
{
    float z = hi * hi;
    float p = 2.7181216e-06f;
    p = p * z - 0.000198393347f;
    p = p * z + 0.00833329f;
    p = p * z - 0.166666657f;
    kni_single2 s = kni_single_fast_sum(hi, hi * z * p + lo);
    float q = 2.44384038e-05f;
    q = q * z - 0.00138878601f;
    q = q * z + 0.0416666456f;
    float half_ = 0.5f * z, w = 1.0f - half_;
    kni_single2 c = kni_single_fast_sum(w, ((1.0f - w) - half_) + (z * z * q - hi * lo));
    int even = (quadrant & 1u) == 0u;
    float n = even ? s.hi : -c.hi, n_lo = even ? s.lo : -c.lo;
    float d = even ? c.hi : s.hi, d_lo = even ? c.lo : s.lo;
    float y = n / d;
    kni_single2 back = kni_single_product(y, d);
    return y + (((n - back.hi) - back.lo) + (n_lo - y * d_lo)) / d;
}

static inline float kni_single_tan_f32(float x)
{
    uint32_t u = kni_bits_f32(x) & 0x7fffffffu;
    if (u >= 0x7f800000u) return KNI_NAN_F32;
    if (u < 0x39800000u) return x;
    if (u < 0x3f490fdbu) return kni_single_tangent(x, 0.0f, 0u);
    kni_single_angle a = kni_single_reduce(x);
    return kni_single_tangent(a.hi, a.lo, a.quadrant);
}

/* ---- inverse: arcs of quotients from 0 to 1 */

static inline float kni_single_arc(float t)
{
    int far_ = t > 0.414213568f;
    float q = far_ ? (t - 1.0f) / (t + 1.0f) : t;
    float z = q * q;
    float p = 0.0805374458f;
    p = p * z - 0.138776854f;
    p = p * z + 0.199777111f;
    p = p * z - 0.333329499f;
    float y = p * z * q + q;
    return far_ ? 0.785398185f + (y - 2.18556941e-8f) : y;
}

static inline float kni_single_atan_f32(float x)
{
    float a = kni_abs_f32(x);
    float y = kni_single_arc(a > 1.0f ? 1.0f / a : a);
    y = a > 1.0f ? 1.57079637f - (y + 4.37113883e-8f) : y;
    return kni_single_isnan(x) || a < 0x1p-13f ? x : kni_copysign_f32(y, x);
}

static inline float kni_single_atan2_f32(float y, float x)
{
    float a = kni_abs_f32(x), b = kni_abs_f32(y);
    float large = a > b ? a : b, small = a > b ? b : a;
    float scale = large > 0x1p100f ? 0x1p-30f : (large < 0x1p-90f ? 0x1p30f : 1.0f);
    float t = (small * scale) / (large * scale);
    t = large == 0.0f ? 0.0f : (a == KNI_INF_F32 && b == KNI_INF_F32 ? 1.0f : t);
    t = large == KNI_INF_F32 && small < KNI_INF_F32 ? 0.0f : t;
    float r = kni_single_arc(t);
    r = b > a ? 1.57079637f - (r + 4.37113883e-8f) : r;
    r = (kni_bits_f32(x) & 0x80000000u) != 0u ? 3.14159274f - (r + 8.74227766e-8f) : r;
    r = kni_copysign_f32(r, y);
    return kni_single_isnan(x) ? x : (kni_single_isnan(y) ? y : r);
}

/* (asin t - t) / t of t from 0 to 1/2, by z = t t. */
static inline float kni_single_asin_kernel(float z)
{
    float p = 0.042163191f;
    p = kni_horner4_f32(p, z, 0.0241816975f, 0.0454700254f, 0.0749530149f, 0.166667521f);
    return p * z;
}

static inline float kni_single_asin_f32(float x)
{
    float a = kni_abs_f32(x);
    int far_ = a > 0.5f;
    float z = far_ ? 0.5f * (1.0f - a) : a * a;
    float t = far_ ? kni_sqrt_f32(z) : a;
    float rest = t * kni_single_asin_kernel(z);
    kni_single2 back = kni_single_product(t, t);
    float lost = t == 0.0f ? 0.0f : ((z - back.hi) - back.lo) / (t + t);
    kni_single2 turned = kni_single_fast_sum(1.57079637f, -2.0f * t);
    float y = far_ ? turned.hi + (turned.lo - (2.0f * (rest + lost) + 4.37113883e-8f)) : t + rest;
    y = a <= 1.0f ? y : KNI_NAN_F32;
    return a < 0x1p-13f ? x : kni_copysign_f32(y, x);
}

static inline float kni_single_acos_f32(float x)
{
    float a = kni_abs_f32(x);
    int far_ = a > 0.5f;
    float z = far_ ? 0.5f * (1.0f - a) : a * a;
    float t = far_ ? kni_sqrt_f32(z) : a;
    float rest = t * kni_single_asin_kernel(z);
    float near_one = x > 0.0f ? 2.0f * (t + rest) : 3.14159274f - (2.0f * (t + rest) + 8.74227766e-8f);
    float middle = 1.57079637f - (kni_copysign_f32(t, x) + (kni_copysign_f32(rest, x) + 4.37113883e-8f));
    float y = far_ ? near_one : middle;
    return a <= 1.0f ? y : KNI_NAN_F32;
}

/* Giles' approximation of the inverse of erf, by the logarithm of (1 - x) (1 + x). */
static inline float kni_single_erfinv_f32(float x)
{
    float a = kni_abs_f32(x);
    float w = -kni_single_log_f32((1.0f - a) * (1.0f + a));
    float u = w - 2.5f;
    float central = 2.81022636e-08f;
    central = kni_horner4_f32(central, u, 3.43273939e-07f, -3.5233877e-06f, -4.39150654e-06f, 0.00021858087f);
    central = kni_horner4_f32(central, u, -0.00125372503f, -0.00417768164f, 0.246640727f, 1.50140941f);
    float v = kni_sqrt_f32(w < 5.0f ? 5.0f : w) - 3.0f;
    float tail = -0.000200214257f;
    tail = kni_horner4_f32(tail, v, 0.000100950558f, 0.00134934322f, -0.00367342844f, 0.00573950773f);
    tail = kni_horner4_f32(tail, v, -0.0076224613f, 0.00943887047f, 1.00167406f, 2.83297682f);
    float y = x * (w < 5.0f ? central : tail);
    y = a == 1.0f ? kni_copysign_f32(KNI_INF_F32, x) : y;
    return a > 1.0f ? KNI_NAN_F32 : y;
}

#endif
