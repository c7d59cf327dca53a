/* Special values of the math functions: zeros, infinities, NaN, ends of domains and exact results, bit by bit, in
   double and float; and arguments that are hard to reduce. */
#include "math/math_check.h"
#include "math/math_list.h"

#define INF INFINITY
#define QNAN NAN
#define PI 3.14159265358979323846
#define TINY 4.9406564584124654e-324

typedef struct {
    const char *name;
    double (*f64)(double);
    float (*f32)(float);
    struct {
        double x, y;
    } cases[14];
    int count;
} special;

static const special specials[] = {
    {MATH_FUNCTION(exp),
     {{0, 1}, {-0.0, 1}, {INF, INF}, {-INF, 0}, {QNAN, QNAN}, {1000, INF}, {-1000, 0}},
     7},
    {MATH_FUNCTION(exp2),
     {{0, 1},
      {-0.0, 1},
      {INF, INF},
      {-INF, 0},
      {QNAN, QNAN},
      {10, 1024},
      {-3, 0.125},
      {2000, INF},
      {-2000, 0}},
     9},
    {MATH_FUNCTION(expm1),
     {{0, 0}, {-0.0, -0.0}, {INF, INF}, {-INF, -1}, {QNAN, QNAN}, {-100, -1}, {1000, INF}},
     7},
    {MATH_FUNCTION(log),
     {{0, -INF}, {-0.0, -INF}, {1, 0}, {INF, INF}, {-1, QNAN}, {-INF, QNAN}, {QNAN, QNAN}},
     7},
    {MATH_FUNCTION(log2),
     {{0, -INF},
      {-0.0, -INF},
      {1, 0},
      {INF, INF},
      {-1, QNAN},
      {-INF, QNAN},
      {QNAN, QNAN},
      {8, 3},
      {0.25, -2},
      {0x1p-149, -149}},
     10},
    {MATH_FUNCTION(log10),
     {{0, -INF},
      {-0.0, -INF},
      {1, 0},
      {INF, INF},
      {-1, QNAN},
      {-INF, QNAN},
      {QNAN, QNAN},
      {1000, 3},
      {100000, 5}},
     9},
    {MATH_FUNCTION(log1p),
     {{0, 0}, {-0.0, -0.0}, {-1, -INF}, {INF, INF}, {-2, QNAN}, {-INF, QNAN}, {QNAN, QNAN}},
     7},
    {MATH_FUNCTION(sqrt),
     {{0, 0}, {-0.0, -0.0}, {INF, INF}, {-1, QNAN}, {-INF, QNAN}, {QNAN, QNAN}, {4, 2}},
     7},
    {MATH_FUNCTION(sqrt_soft),
     {{0, 0}, {-0.0, -0.0}, {INF, INF}, {-1, QNAN}, {-INF, QNAN}, {QNAN, QNAN}, {4, 2}},
     7},
    {MATH_FUNCTION(rsqrt), {{0, INF}, {-0.0, -INF}, {INF, 0}, {-1, QNAN}, {QNAN, QNAN}, {4, 0.5}}, 6},
    {MATH_FUNCTION(sin), {{0, 0}, {-0.0, -0.0}, {INF, QNAN}, {-INF, QNAN}, {QNAN, QNAN}}, 5},
    {MATH_FUNCTION(cos), {{0, 1}, {-0.0, 1}, {INF, QNAN}, {-INF, QNAN}, {QNAN, QNAN}}, 5},
    {MATH_FUNCTION(tan), {{0, 0}, {-0.0, -0.0}, {INF, QNAN}, {-INF, QNAN}, {QNAN, QNAN}}, 5},
    {MATH_FUNCTION(asin),
     {{0, 0}, {-0.0, -0.0}, {1, PI / 2}, {-1, -PI / 2}, {2, QNAN}, {-INF, QNAN}, {QNAN, QNAN}},
     7},
    {MATH_FUNCTION(acos),
     {{1, 0}, {-1, PI}, {0, PI / 2}, {1.5, QNAN}, {-2, QNAN}, {INF, QNAN}, {QNAN, QNAN}},
     7},
    {MATH_FUNCTION(atan),
     {{0, 0}, {-0.0, -0.0}, {INF, PI / 2}, {-INF, -PI / 2}, {1, PI / 4}, {QNAN, QNAN}},
     6},
    {MATH_FUNCTION(sinh), {{0, 0}, {-0.0, -0.0}, {INF, INF}, {-INF, -INF}, {1000, INF}, {QNAN, QNAN}}, 6},
    {MATH_FUNCTION(cosh), {{0, 1}, {-0.0, 1}, {INF, INF}, {-INF, INF}, {-1000, INF}, {QNAN, QNAN}}, 6},
    {MATH_FUNCTION(tanh), {{0, 0}, {-0.0, -0.0}, {INF, 1}, {-INF, -1}, {50, 1}, {-50, -1}, {QNAN, QNAN}}, 7},
    {MATH_FUNCTION(asinh), {{0, 0}, {-0.0, -0.0}, {INF, INF}, {-INF, -INF}, {QNAN, QNAN}}, 5},
    {MATH_FUNCTION(acosh), {{1, 0}, {INF, INF}, {0.5, QNAN}, {-INF, QNAN}, {QNAN, QNAN}}, 5},
    {MATH_FUNCTION(atanh),
     {{0, 0}, {-0.0, -0.0}, {1, INF}, {-1, -INF}, {1.5, QNAN}, {-INF, QNAN}, {QNAN, QNAN}},
     7},
    {MATH_FUNCTION(erf), {{0, 0}, {-0.0, -0.0}, {INF, 1}, {-INF, -1}, {10, 1}, {-10, -1}, {QNAN, QNAN}}, 7},
    {MATH_FUNCTION(erfc), {{0, 1}, {-0.0, 1}, {INF, 0}, {-INF, 2}, {30, 0}, {-30, 2}, {QNAN, QNAN}}, 7},
    {MATH_FUNCTION(erfinv),
     {{0, 0}, {-0.0, -0.0}, {1, INF}, {-1, -INF}, {1.5, QNAN}, {-INF, QNAN}, {QNAN, QNAN}},
     7},
    {MATH_FUNCTION(lgamma),
     {{0, INF}, {-0.0, INF}, {1, 0}, {2, 0}, {-1, INF}, {-7, INF}, {INF, INF}, {-INF, INF}, {QNAN, QNAN}},
     9},
    {MATH_FUNCTION(digamma),
     {{0, -INF}, {-0.0, INF}, {-1, QNAN}, {-5, QNAN}, {INF, INF}, {-INF, QNAN}, {QNAN, QNAN}},
     7},
    {MATH_FUNCTION(sigmoid),
     {{0, 0.5}, {-0.0, 0.5}, {INF, 1}, {-INF, 0}, {100, 1}, {-1000, 0}, {QNAN, QNAN}},
     7},
    {MATH_FUNCTION(floor),
     {{0, 0},
      {-0.0, -0.0},
      {INF, INF},
      {-INF, -INF},
      {QNAN, QNAN},
      {0.5, 0},
      {-0.5, -1},
      {1.75, 1},
      {-2, -2},
      {8388607.5, 8388607},
      {-8388607.5, -8388608},
      {1e30, 1e30}},
     12},
    {MATH_FUNCTION(ceil),
     {{0, 0},
      {-0.0, -0.0},
      {INF, INF},
      {-INF, -INF},
      {QNAN, QNAN},
      {0.5, 1},
      {-0.5, -0.0},
      {1.25, 2},
      {-2, -2},
      {8388607.5, 8388608},
      {-8388607.5, -8388607}},
     11},
    {MATH_FUNCTION(trunc),
     {{0, 0},
      {-0.0, -0.0},
      {INF, INF},
      {-INF, -INF},
      {QNAN, QNAN},
      {0.75, 0},
      {-0.75, -0.0},
      {1.75, 1},
      {-2.5, -2},
      {8388607.5, 8388607},
      {-8388607.5, -8388607}},
     11},
    {MATH_FUNCTION(round_even),
     {{0, 0},
      {-0.0, -0.0},
      {INF, INF},
      {-INF, -INF},
      {QNAN, QNAN},
      {0.5, 0},
      {-0.5, -0.0},
      {1.5, 2},
      {2.5, 2},
      {-1.5, -2},
      {8388607.5, 8388608},
      {-3.25, -3}},
     12},
    {MATH_FUNCTION(abs), {{-0.0, 0}, {-INF, INF}, {-3, 3}, {QNAN, QNAN}}, 4},
};

typedef struct {
    const char *name;
    double (*f64)(double, double);
    float (*f32)(float, float);
    struct {
        double x, y, r;
    } cases[40];
    int count;
} special2;

static const special2 specials2[] = {
    {MATH_FUNCTION(pow),
     {{0, 3, 0},        {-0.0, 3, -0.0},     {0, 2, 0},        {-0.0, 2, 0},      {0, -3, INF},
      {-0.0, -3, -INF}, {-0.0, -2, INF},     {-0.0, 0.5, 0},   {-0.0, -0.5, INF}, {-1, INF, 1},
      {-1, -INF, 1},    {1, QNAN, 1},        {1, INF, 1},      {QNAN, 0, 1},      {QNAN, -0.0, 1},
      {INF, 0, 1},      {-8, 1.0 / 3, QNAN}, {0.5, -INF, INF}, {2, -INF, 0},      {0.5, INF, 0},
      {2, INF, INF},    {-2, INF, INF},      {-0.5, INF, 0},   {-INF, -3, -0.0},  {-INF, -2, 0},
      {-INF, -0.5, 0},  {-INF, 3, -INF},     {-INF, 2, INF},   {-INF, 0.5, INF},  {INF, -1, 0},
      {INF, 1, INF},    {QNAN, 1, QNAN},     {2, QNAN, QNAN},  {-2, 3, -8},       {-2, 2, 4},
      {0, INF, 0},      {0, -INF, INF},      {-INF, INF, INF}, {-2, -3, -0.125},  {3, 4, 81}},
     40},
    {MATH_FUNCTION(pow),
     {{-2, 1e300, INF},
      {-0.5, 1e300, 0},
      {-3, 5, -243},
      {-1, 16777215, -1},
      {-1, 16777216, 1},
      {10, 5, 100000},
      {2, -149, 0x1p-149},
      {2, 2000, INF},
      {2, -2000, 0}},
     9},
    {MATH_FUNCTION(atan2),
     {{0, 1, 0},
      {-0.0, 1, -0.0},
      {0, -1, PI},
      {-0.0, -1, -PI},
      {0, 0, 0},
      {-0.0, 0, -0.0},
      {0, -0.0, PI},
      {-0.0, -0.0, -PI},
      {1, 0, PI / 2},
      {-1, 0, -PI / 2},
      {1, -0.0, PI / 2},
      {1, INF, 0},
      {-1, INF, -0.0},
      {1, -INF, PI},
      {-1, -INF, -PI},
      {INF, 1, PI / 2},
      {-INF, 1, -PI / 2},
      {INF, INF, PI / 4},
      {INF, -INF, 3 * PI / 4},
      {-INF, -INF, -3 * PI / 4},
      {QNAN, 1, QNAN},
      {1, QNAN, QNAN},
      {1, 1, PI / 4}},
     23},
    {MATH_FUNCTION(hypot),
     {{3, 4, 5},
      {0, 0, 0},
      {-0.0, -0.0, 0},
      {-3, 0, 3},
      {INF, QNAN, INF},
      {QNAN, -INF, INF},
      {QNAN, 1, QNAN},
      {1, QNAN, QNAN},
      {3e37, 4e37, 5e37}},
     8},
    {MATH_FUNCTION(fmod),
     {{5, 3, 2},
      {-5, 3, -2},
      {5, -3, 2},
      {6, 3, 0},
      {-6, 3, -0.0},
      {0, 3, 0},
      {-0.0, 3, -0.0},
      {1, INF, 1},
      {-1, INF, -1},
      {1, 0, QNAN},
      {INF, 1, QNAN},
      {QNAN, 1, QNAN},
      {1, QNAN, QNAN},
      {0x1p120, 3, 1},
      {0x1p121, 3, 2}},
     15},
    {MATH_FUNCTION(remainder_floor),
     {{5, 3, 2},
      {-5, 3, 1},
      {5, -3, -1},
      {-5, -3, -2},
      {6, 3, 0},
      {-6, 3, -0.0},
      {6, -3, 0},
      {1, 0, QNAN},
      {INF, 1, QNAN},
      {1, INF, 1},
      {-1, INF, INF},
      {QNAN, 1, QNAN}},
     12},
    {MATH_FUNCTION(copysign), {{1, -0.0, -1}, {-3, 2, 3}, {0, -1, -0.0}, {INF, -2, -INF}}, 4},
};

static void expect_f64(const char *name, double x, double x2, double got, double expected)
{
    int good = expected != expected ? got != got : kni_bits_f64(got) == kni_bits_f64(expected);
    if (!good) printf("%s_f64(%.17g, %.17g) = %.17g, expected %.17g\n", name, x, x2, got, expected);
    check_count(good);
}

static void expect_f32(const char *name, float x, float x2, float got, float expected)
{
    int good = expected != expected ? got != got : kni_bits_f32(got) == kni_bits_f32(expected);
    if (!good)
        printf("%s_f32(%.9g, %.9g) = %.9g, expected %.9g\n", name, (double)x, (double)x2, (double)got,
               (double)expected);
    check_count(good);
}

/* Subnormals pass through the functions that are x + O(x^2) near zero. */
static void check_subnormals(void)
{
    double (*const f64[])(double) = {expm1_f64, log1p_f64, sin_f64,  tan_f64,   asin_f64,
                                     atan_f64,  sinh_f64,  tanh_f64, asinh_f64, atanh_f64};
    float (*const f32[])(float) = {expm1_f32, log1p_f32, sin_f32,  tan_f32,   asin_f32,
                                   atan_f32,  sinh_f32,  tanh_f32, asinh_f32, atanh_f32};
    for (unsigned i = 0; i < sizeof f64 / sizeof *f64; i++) {
        expect_f64("identity", TINY, i, f64[i](TINY), TINY);
        expect_f64("identity", -3e-310, i, f64[i](-3e-310), -3e-310);
        expect_f32("identity", 0x1p-149f, (float)i, f32[i](0x1p-149f), 0x1p-149f);
        expect_f32("identity", -1e-40f, (float)i, f32[i](-1e-40f), -1e-40f);
    }
    expect_f64("exp", -745.0, 0, kni_exp_f64(-745.0), TINY);
    expect_f64("log", TINY, 0, kni_log_f64(TINY), -744.4400719213812);
    expect_f64("sqrt", TINY, 0, kni_sqrt_soft_f64(TINY), 0x1p-537);
    expect_f64("fmod", TINY * 7, 0, kni_fmod_f64(TINY * 7, TINY * 4), TINY * 3);
    expect_f64("fmod", 1e308, 0, kni_fmod_f64(1e308, TINY), 0.0);
    expect_f64("hypot", TINY, 0, kni_hypot_f64(TINY * 3, TINY * 4), TINY * 5);
    expect_f64("hypot", 1e308, 0, kni_hypot_f64(0x1.8p1023, 0x1.8p1023), INF);
}

/* Arguments near multiples of pi/2: the last one is the nearest of all doubles. */
static void check_reduction(void)
{
    const double x[] = {3.1415926535897931,
                        6.2831853071795862,
                        1e22,
                        0x1.6ac5b262ca1ffp849,
                        1048576.5,
                        1e300,
                        11.0,
                        355.0,
                        52174.0,
                        103993.0 / 2.0,
                        0x1p1023};
    for (unsigned i = 0; i < sizeof x / sizeof *x; i++) {
        check_count(check_ulps_f64(kni_sin_f64(x[i]), sinl((long double)x[i])) < 1.0);
        check_count(check_ulps_f64(kni_cos_f64(x[i]), cosl((long double)x[i])) < 1.0);
        check_count(check_ulps_f64(kni_tan_f64(x[i]), tanl((long double)x[i])) < 1.0);
        check_count(check_ulps_f64(kni_sin_f64(-x[i]), -sinl((long double)x[i])) < 1.0);
        check_count(check_ulps_f64(kni_cos_f64(-x[i]), cosl((long double)x[i])) < 1.0);
    }
}

int main(void)
{
    for (unsigned i = 0; i < sizeof specials / sizeof *specials; i++) {
        const special *s = &specials[i];
        for (int j = 0; j < s->count; j++) {
            double x = s->cases[j].x, y = s->cases[j].y;
            expect_f64(s->name, x, 0, s->f64(x), y);
            expect_f32(s->name, (float)x, 0, s->f32((float)x), (float)y);
        }
    }
    for (unsigned i = 0; i < sizeof specials2 / sizeof *specials2; i++) {
        const special2 *s = &specials2[i];
        for (int j = 0; j < s->count; j++) {
            double x = s->cases[j].x, y = s->cases[j].y, r = s->cases[j].r;
            expect_f64(s->name, x, y, s->f64(x, y), r);
            expect_f32(s->name, (float)x, (float)y, s->f32((float)x, (float)y), (float)r);
        }
    }
    check_subnormals();
    check_reduction();
    return check_report();
}
