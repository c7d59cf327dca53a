/* Conversions of f16 and bf16 against rounding by exact arithmetic, the published answers of Philox 4x32-10, and
   the moments of the uniform and normal numbers made from it. */
#include "math/math_check.h"
#include "math/math_random_numbers.h"

/* x to a format of the given digits and least exponent, to nearest even, by scaling to integers. */
static double round_to(double x, int digits, int least, double max)
{
    int e = 0;
    frexp(x, &e);
    double unit = ldexp(1.0, (e < least ? least : e) - digits);
    double r = rint(x / unit) * unit;
    return fabs(r) > max ? copysign(INFINITY, x) : r;
}

static double f16_value(uint16_t h)
{
    int e = (h >> 10) & 31;
    double m = h & 1023;
    double v =
        e == 31 ? (m != 0 ? (double)NAN : (double)INFINITY) : (e ? ldexp(1024.0 + m, e - 25) : ldexp(m, -24));
    return h & 0x8000 ? -v : v;
}

static void check_f16_all(void)
{
    int wide = 0, back = 0, narrow = 0;
    for (unsigned h = 0; h < 65536; h++) {
        float x = kni_f16_to_f32((uint16_t)h);
        double v = f16_value((uint16_t)h);
        wide += v != v ? x == x : (double)x != v || (signbit(x) != 0) != (h >= 0x8000);
        uint16_t again = kni_f32_to_f16(x);
        back += v != v ? (again & 0x7fff) <= 0x7c00 : again != h;
        narrow += v != v ? (kni_f64_to_f16(v) & 0x7fff) <= 0x7c00 : kni_f64_to_f16(v) != h;
        float b = kni_bf16_to_f32((uint16_t)h);
        uint16_t b_again = kni_f32_to_bf16(b);
        back += b != b ? (b_again & 0x7fff) <= 0x7f80 : b_again != h;
        narrow += b != b ? (kni_f64_to_bf16((double)b) & 0x7fff) <= 0x7f80 : kni_f64_to_bf16((double)b) != h;
    }
    printf("f16 to f32: %d wrong, round trips: %d wrong, from f64: %d wrong\n", wide, back, narrow);
    check_count(wide == 0);
    check_count(back == 0);
    check_count(narrow == 0);
}

/* Values on, just below and just above the ties of both formats, and random ones. */
static double rounding_sample(uint64_t *state, int i)
{
    uint64_t bits = check_random(state);
    float f = kni_from_bits_f32((uint32_t)bits);
    if (f != f || isinf(f)) f = 1.5f;
    double d = i & 1 ? (double)f : ldexp(1.0 + (double)(bits >> 12) * 0x1p-52, (int)(bits % 60) - 40);
    if (i % 4 == 2) d = (double)kni_from_bits_f32((uint32_t)bits & 0x7f7ff000u) * (bits & 1 ? 1.0 : -1.0);
    if (i % 4 == 3) d = (double)kni_from_bits_f32((uint32_t)bits & 0x7f7f8000u);
    if (i % 3 == 1) d = nextafter(d, INFINITY);
    if (i % 3 == 2) d = nextafter(d, 0.0);
    return d;
}

static void check_rounding(void)
{
    uint64_t state = 5;
    int wrong[4] = {0};
    for (int i = 0; i < 2000000; i++) {
        double d = rounding_sample(&state, i);
        float f = (float)d;
        if (isinf(f)) f = 1.0f;
        wrong[0] += f16_value(kni_f32_to_f16(f)) != round_to((double)f, 11, -13, 65504.0);
        wrong[1] += f16_value(kni_f64_to_f16(d)) != round_to(d, 11, -13, 65504.0);
        wrong[2] += (double)kni_bf16_to_f32(kni_f32_to_bf16(f)) != round_to((double)f, 8, -125, 0x1.fep127);
        wrong[3] += (double)kni_bf16_to_f32(kni_f64_to_bf16(d)) != round_to(d, 8, -125, 0x1.fep127);
    }
    printf("wrong roundings: f32->f16 %d, f64->f16 %d, f32->bf16 %d, f64->bf16 %d\n", wrong[0], wrong[1],
           wrong[2], wrong[3]);
    for (int i = 0; i < 4; i++) check_count(wrong[i] == 0);
    check_count(kni_f64_to_f16(1e300) == 0x7c00 && kni_f64_to_f16(-1e300) == 0xfc00);
    check_count(kni_f64_to_bf16(1e300) == 0x7f80 && kni_f64_to_f16(1e-300) == 0 &&
                kni_f64_to_bf16(-1e-300) == 0x8000);
    check_count(kni_f32_to_f16(65519.996f) == 0x7bff && kni_f32_to_f16(65520.0f) == 0x7c00);
    check_count(kni_f64_to_f16((double)INFINITY) == 0x7c00 && kni_f64_to_bf16(-(double)INFINITY) == 0xff80);
    check_count((kni_f64_to_f16((double)NAN) & 0x7fff) > 0x7c00 &&
                (kni_f64_to_bf16((double)NAN) & 0x7fff) > 0x7f80);
}

static void check_philox(void)
{
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (int i = 0; i < 3; i++) {
        uint32_t out[4];
        kni_philox_words(known[i].key[0], known[i].key[1], known[i].counter, out);
        for (int j = 0; j < 4; j++) check_count(out[j] == known[i].out[j]);
    }
    uint32_t words[4], full[4];
    kni_philox(0x123456789abcdef0u, 0xfedcba9876543210u, words);
    kni_philox_words(0x9abcdef0u, 0x12345678u, (const uint32_t[4]){0x76543210u, 0xfedcba98u, 0, 0}, full);
    for (int j = 0; j < 4; j++) check_count(words[j] == full[j]);
}

/* mean, variance and fourth moment of 4 million normals within five standard errors. */
static void check_distributions(void)
{
    const int blocks = 1000000;
    double u = 0, m1[2] = {0}, m2[2] = {0}, m4[2] = {0};
    for (int i = 0; i < blocks; i++) {
        uint32_t w[4];
        kni_philox(42, (uint64_t)i, w);
        u += (double)kni_uniform_f32(w[0]) + kni_uniform_f64(w[2], w[3]);
        double z[2] = {(double)kni_normal_f32(w[0], w[1]), kni_normal_f64(w[0], w[1], w[2], w[3])};
        for (int t = 0; t < 2; t++) {
            m1[t] += z[t];
            m2[t] += z[t] * z[t];
            m4[t] += z[t] * z[t] * z[t] * z[t];
        }
    }
    printf("uniform mean %.6f", u / (2.0 * blocks));
    check_count(fabs(u / (2.0 * blocks) - 0.5) < 0.0015);
    for (int t = 0; t < 2; t++) {
        double mean = m1[t] / blocks, variance = m2[t] / blocks, fourth = m4[t] / blocks;
        printf(", normal %s: mean %.5f variance %.5f fourth %.4f", t ? "f64" : "f32", mean, variance, fourth);
        check_count(fabs(mean) < 0.005 && fabs(variance - 1.0) < 0.0075 && fabs(fourth - 3.0) < 0.05);
    }
    printf("\n");
    check_count(kni_uniform_f32(0) == 0.0f && kni_uniform_f32(0xffffffffu) == 1.0f - 0x1p-24f);
    check_count(kni_uniform_f64(0, 0) == 0.0 && kni_uniform_f64(0xffffffffu, 0xffffffffu) == 1.0 - 0x1p-53);
    check_count(kni_uniform_f64(0x80000001u, 0x00000800u) == 0.5 + 0x1p-32 + 0x1p-53);
    check_count(kni_normal_f32(0, 0) > 5.7f && kni_normal_f32(0xffffffffu, 0) == 0.0f);
}

static void check_normal_accuracy(void)
{
    uint64_t state = 9;
    double worst32 = 0, worst64 = 0;
    for (int i = 0; i < 300000; i++) {
        uint64_t a = check_random(&state), b = check_random(&state);
        double u1 = (double)((a >> 40) + 1) * 0x1p-24, u2 = (double)((uint32_t)b >> 8) * 0x1p-24;
        double exact = (double)(sqrtl(-2.0L * logl((long double)u1)) *
                                cosl(6.28318530717958647692528676655900577L * (long double)u2));
        double ulps = check_ulps_f32(kni_normal_f32((uint32_t)(a >> 32), (uint32_t)b), exact);
        worst32 = ulps > worst32 ? ulps : worst32;
        long double v1 = (long double)((a >> 11) + 1) * 0x1p-53L, v2 = (long double)(b >> 11) * 0x1p-53L;
        /* The cosine is taken as a sine of the exact distance to its zero. */
        long double exact64 = sqrtl(-2.0L * logl(v1)) *
                              sinl(6.28318530717958647692528676655900577L * (fabsl(v2 - 0.5L) - 0.25L));
        ulps = check_ulps_f64(
            kni_normal_f64((uint32_t)(a >> 32), (uint32_t)a, (uint32_t)(b >> 32), (uint32_t)b), exact64);
        worst64 = ulps > worst64 ? ulps : worst64;
    }
    printf("normal f32 max %.3f ulp, f64 max %.3f ulp\n", worst32, worst64);
    check_count(worst32 < 4.0 && worst64 < 4.0);
}

int main(void)
{
    check_f16_all();
    check_rounding();
    check_philox();
    check_distributions();
    check_normal_accuracy();
    return check_report();
}
