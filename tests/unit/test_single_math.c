/* The f32-only forms of math (core/math/single.h) against the functions in f64, and arithmetic of f64 on bits (core/math/soft.h)
   against the hardware. A part of the f32 values is taken; KN_EVERY=1 takes all 2^32 of them for each function (an hour). */
#include "../support/check.h"
#include "core/math/single.h"
#include "core/math/soft.h"
#include <stdlib.h>
#include <string.h>

static float single_of(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static double double_of(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static uint64_t bits_of(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static uint64_t state = 88172645463325252u;
static uint64_t random_bits(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* How far y is from w in steps of 2^-23 of w; a result that is too small for a normal number may be 0. */
static double distance(float y, double w)
{
    const double smallest = 0x1p-126, largest = 0x1.fffffep127;
    double size = kni_abs_f64(w);
    if (w != w || y != y) return (w != w) == (y != y) ? 0 : 1e30;
    if (size > largest) return kni_abs_f32(y) >= 0x1.fffff8p127f && (y > 0) == (w > 0) ? 0 : 1e30;
    if (kni_abs_f32(y) == KNI_INF_F32) return size > largest * (1 - 0x1p-21) ? 0 : 1e30;
    return kni_abs_f64((double)y - w) / ((size < smallest ? smallest : size) * 0x1p-23);
}

/* most: half a unit less than the tolerance of the op, in the same steps. */
static const struct {
    const char *name;
    float (*single)(float);
    double (*wide)(double);
    double most;
} functions[] = {{"sin", kni_single_sin_f32, kni_sin_f64, 1.5},
                 {"cos", kni_single_cos_f32, kni_cos_f64, 1.5},
                 {"tan", kni_single_tan_f32, kni_tan_f64, 1.5},
                 {"log", kni_single_log_f32, kni_log_f64, 1.5},
                 {"log2", kni_single_log2_f32, kni_log2_f64, 1.5},
                 {"log10", kni_single_log10_f32, kni_log10_f64, 1.5},
                 {"log1p", kni_single_log1p_f32, kni_log1p_f64, 1.5},
                 {"expm1", kni_single_expm1_f32, kni_expm1_f64, 1.5},
                 {"sinh", kni_single_sinh_f32, kni_sinh_f64, 1.5},
                 {"cosh", kni_single_cosh_f32, kni_cosh_f64, 1.5},
                 {"asinh", kni_single_asinh_f32, kni_asinh_f64, 1.5},
                 {"acosh", kni_single_acosh_f32, kni_acosh_f64, 1.5},
                 {"atanh", kni_single_atanh_f32, kni_atanh_f64, 1.5},
                 {"atan", kni_single_atan_f32, kni_atan_f64, 1.5},
                 {"asin", kni_single_asin_f32, kni_asin_f64, 1.5},
                 {"acos", kni_single_acos_f32, kni_acos_f64, 1.5},
                 {"erfinv", kni_single_erfinv_f32, kni_erfinv_f64, 3.5}};

static void unary(uint64_t step)
{
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        double worst = 0;
        float at = 0;
        for (uint64_t u = 0; u < UINT64_C(1) << 32; u += step) {
            float x = single_of((uint32_t)u);
            double gap = distance(functions[f].single(x), functions[f].wide((double)x));
            if (gap > worst) worst = gap, at = x;
        }
        if (!CHECK(worst <= functions[f].most) || step == 1)
            printf("%s: %g at %a\n", functions[f].name, worst, (double)at);
    }
}

/* Two operands: of any size, of moderate size, and special ones. */
static void draw(int i, float *x, float *y)
{
    static const float special[] = {0,
                                    -0.0f,
                                    1,
                                    -1,
                                    2,
                                    -2,
                                    0.5f,
                                    3,
                                    -3,
                                    1e30f,
                                    1e-30f,
                                    7.5f,
                                    0x1p-149f,
                                    0x1p24f,
                                    __builtin_inff(),
                                    -__builtin_inff()};
    uint64_t r = random_bits();
    *x = single_of((uint32_t)r);
    *y = single_of((uint32_t)(r >> 32));
    if (i % 3 == 1) {
        *x = single_of(((uint32_t)r & 0x80ffffffu) + 0x3f000000u);
        *y = single_of(((uint32_t)(r >> 32) & 0x83ffffffu) + 0x40000000u);
    }
    if (i % 3 == 2) *y = (float)((int64_t)(r >> 40) % 20000) / 97;
    if (i % 5 == 4) *x = special[r % 16];
    if (i % 7 == 6) *y = special[(r >> 8) % 16];
}

static void two_operands(void)
{
    double pow_gap = 0, hypot_gap = 0, atan2_gap = 0;
    int other = 0;
    for (int i = 0; i < 2000000; i++) {
        float x, y;
        draw(i, &x, &y);
        double a = (double)x, b = (double)y, gap = distance(kni_single_pow_f32(x, y), kni_pow_f64(a, b));
        if (gap > pow_gap) pow_gap = gap;
        gap = distance(kni_single_hypot_f32(x, y), kni_hypot_f64(a, b));
        if (gap > hypot_gap) hypot_gap = gap;
        gap = distance(kni_single_atan2_f32(x, y), kni_atan2_f64(a, b));
        if (gap > atan2_gap) atan2_gap = gap;
        float got[] = {kni_single_fmod_f32(x, y), kni_single_rem_f32(x, y)};
        float want[] = {kni_fmod_f32(x, y), kni_remainder_floor_f32(x, y)};
        for (int k = 0; k < 2; k++)
            other += memcmp(&got[k], &want[k], 4) != 0 && !(got[k] != got[k] && want[k] != want[k]);
    }
    if (!CHECK(pow_gap <= 1.5 && hypot_gap <= 1.5 && atan2_gap <= 1.75 && other == 0))
        printf("pow %g, hypot %g, atan2 %g, %d remainders\n", pow_gap, hypot_gap, atan2_gap, other);
}

/* ---- f64 on bits */

static uint64_t draw_bits(void)
{
    static const uint64_t special[] = {0,
                                       UINT64_C(1) << 63,
                                       UINT64_C(0x7ff0000000000000),
                                       UINT64_C(0xfff0000000000000),
                                       UINT64_C(0x7ff8000000000000),
                                       1,
                                       UINT64_C(0x000fffffffffffff),
                                       UINT64_C(0x0010000000000000),
                                       UINT64_C(0x7fefffffffffffff),
                                       UINT64_C(0x3ff0000000000000)};
    uint64_t r = random_bits(), fraction = r & UINT64_C(0x800fffffffffffff);
    switch (random_bits() % 6) {
    case 0:
        return fraction;
    case 1:
        return bits_of((double)((int64_t)(r % 2001) - 1000));
    case 2:
        return fraction | (1023 - 30 + random_bits() % 60) << 52;
    case 3:
        return special[r % 10];
    case 4:
        return fraction | (random_bits() % 60) << 52;
    default:
        return r;
    }
}

static int differs(uint64_t got, double want)
{
    return want != want ? got != UINT64_C(0x7ff8000000000000) : got != bits_of(want);
}

static void soft_numbers(void)
{
    int wrong[8] = {0};
    for (int i = 0; i < 1000000; i++) {
        uint64_t a = draw_bits(), b = draw_bits(), k = a >> random_bits() % 64;
        double x = double_of(a), y = double_of(b);
        wrong[0] += differs(kni_soft_add_f64(a, b), x + y) + differs(kni_soft_sub_f64(a, b), x - y);
        wrong[1] += differs(kni_soft_mul_f64(a, b), x * y);
        wrong[2] += differs(kni_soft_div_f64(a, b), x / y);
        wrong[3] += differs(kni_soft_sqrt_f64(a), kni_sqrt_f64(x));
        wrong[4] += kni_soft_lt_f64(a, b) != (x < y) || kni_soft_le_f64(a, b) != (x <= y) ||
                    kni_soft_eq_f64(a, b) != (x == y);
        float single = (float)x;
        uint32_t u;
        memcpy(&u, &single, sizeof u);
        wrong[5] += x == x && kni_soft_f32_f64(a) != u;
        wrong[5] += differs(kni_soft_f64_f32((uint32_t)a), (double)single_of((uint32_t)a));
        wrong[6] += differs(kni_soft_f64_u64(k), (double)k) +
                    differs(kni_soft_f64_i64((int64_t)a), (double)(int64_t)a);
        wrong[7] += b != 0 && (kni_soft_divide_u64(a, b) != a / b ||
                               kni_soft_rest_u64(a, b >> 40 | 1) != a % (b >> 40 | 1));
    }
    for (int i = 0; i < 8; i++)
        if (!CHECK(wrong[i] == 0)) printf("kind %d: %d wrong\n", i, wrong[i]);
}

/* 16-bit floats: all of them one way, and what rounds to them the other. */
static void halves(void)
{
    int wrong = 0;
    for (uint32_t h = 0; h < 0x10000; h++) {
        float x = kni_f16_to_f32((uint16_t)h), y = single_of(kni_soft_f32_f16(h));
        wrong += memcmp(&x, &y, 4) != 0 && !(x != x && y != y);
    }
    for (uint64_t u = 0; u < UINT64_C(1) << 32; u += 997) {
        float x = single_of((uint32_t)u);
        wrong += x == x && (kni_soft_f16_f32((uint32_t)u) != kni_f32_to_f16(x) ||
                            kni_soft_bf16_f32((uint32_t)u) != kni_f32_to_bf16(x));
    }
    CHECK(wrong == 0);
}

static void random_words(void)
{
    int wrong = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t key = random_bits(), counter = random_bits();
        uint32_t words[4];
        kni_philox(key, counter, words);
        for (uint32_t w = 0; w < 4; w++)
            wrong += kni_soft_philox((uint32_t)key, (uint32_t)(key >> 32), (uint32_t)counter,
                                     (uint32_t)(counter >> 32), w) != words[w];
    }
    CHECK(wrong == 0);
}

int main(void)
{
    const char *every = getenv("KN_EVERY");
    unary(every && *every == '1' ? 1 : 9973);
    two_operands();
    soft_numbers();
    halves();
    random_words();
    return check_report();
}
