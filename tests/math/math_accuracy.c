/* Measures the largest error of every math function in ulps over dense samples of its domain, against the C
   library's long double functions, and fails where it is above the bound the library promises. */
/* For the Bessel functions in long double. */
#define _GNU_SOURCE
#include "math/math_check.h"
#include "math/math_list.h"

typedef struct {
    double from, to;
} range;

typedef struct {
    const char *name;
    double (*f64)(double);
    float (*f32)(float);
    long double (*reference)(long double);
    double bound_f64, bound_f32; /* ulps */
    double floor;                /* an absolute error below this is accepted as well (near zeros) */
    range ranges[6];             /* ends at the first empty one */
} function;

static long double reference_exp2(long double x) { return exp2l(x); }
static long double reference_rsqrt(long double x) { return 1.0L / sqrtl(x); }
static long double reference_sigmoid(long double x) { return 1.0L / (1.0L + expl(-x)); }

/* Shifted far up, where four terms of the asymptotic series are beyond long double. */
static long double reference_digamma(long double x)
{
    const long double pi = 3.14159265358979323846264338327950288L;
    if (x < 0.0L && x == roundl(x)) return (long double)NAN;
    if (x < 0.0L) return reference_digamma(1.0L - x) - pi / tanl(pi * (x - roundl(x)));
    long double sum = 0.0L;
    while (x < 300.0L) {
        sum += 1.0L / x;
        x += 1.0L;
    }
    long double z = 1.0L / (x * x);
    return logl(x) - 0.5L / x - z * (1.0L / 12 - z * (1.0L / 120 - z * (1.0L / 252 - z / 240))) - sum;
}

/* Newton's method on erf or erfc. */
static long double reference_erfinv(long double x)
{
    long double a = fabsl(x), y = (long double)kni_erfinv_f64((double)a);
    for (int i = 0; i < 3 && !isinf(y); i++) {
        long double residual = y < 0.5L ? erfl(y) - a : (1.0L - a) - erfcl(y);
        y -= residual * 0.886226925452758013649083741670572591L * expl(y * y);
    }
    return copysignl(y, x);
}

/* The mean over half a turn of e^(x (cos t - 1)) times cos t to the power of `order`. It takes one point for each Fourier term that counts.
   Far out by the asymptotic series. */
static long double reference_scaled_i(long double x, int order)
{
    const long double pi = 3.14159265358979323846264338327950288L;
    long double sum = 0.0L, term = 1.0L;
    if (x > 60.0L) {
        for (int k = 1; k < 60 && fabsl(term) > 1e-24L; k++) {
            sum += term;
            term *= -(4.0L * order - (2 * k - 1) * (2.0L * k - 1)) / (8.0L * k * x);
        }
        return sum / sqrtl(2.0L * pi * x);
    }
    if (order && x < 1.0L) {
        for (int k = 0; k < 20; k++) {
            sum += term;
            term *= 0.25L * x * x / ((k + 1.0L) * (k + 2.0L));
        }
        return 0.5L * x * sum * expl(-x);
    }
    enum { POINTS = 200 };
    for (int i = 0; i <= POINTS; i++) {
        long double c = cosl(pi * i / POINTS), value = expl(x * (c - 1.0L)) * (order ? c : 1.0L);
        sum += i == 0 || i == POINTS ? 0.5L * value : value;
    }
    return sum / POINTS;
}

static long double reference_i0e(long double x) { return reference_scaled_i(fabsl(x), 0); }
static long double reference_i1e(long double x) { return copysignl(reference_scaled_i(fabsl(x), 1), x); }
static long double reference_i0(long double x) { return reference_i0e(x) * expl(fabsl(x)); }
static long double reference_i1(long double x) { return reference_i1e(x) * expl(fabsl(x)); }

/* The integral over t > 0 of e^(-x (cosh t - 1)) cosh(order t), by steps that halve its error twice as often as they are. Near 0
   by the first terms of the series. */
static long double reference_scaled_k(long double x, int order)
{
    const long double euler = 0.577215664901532860606512090082402431L;
    if (x == 0.0L) return (long double)INFINITY;
    if (x < 1e-6L) {
        long double l = logl(0.5L * x);
        return expl(x) * (order ? 1.0L / x + 0.5L * x * (l + euler - 0.5L)
                                : -(l + euler) + 0.25L * x * x * (1.0L - l - euler));
    }
    long double sum = 0.5L, step = 1.0L / 32;
    if (x > 60.0L) step /= 8;
    for (int i = 1; i < 4000; i++) {
        long double c = coshl(i * step), value = expl(-x * (c - 1.0L)) * (order ? c : 1.0L);
        sum += value;
        if (value < 1e-22L * sum) break;
    }
    return sum * step;
}

static long double reference_k0e(long double x) { return reference_scaled_k(x, 0); }
static long double reference_k1e(long double x) { return reference_scaled_k(x, 1); }
static long double reference_k0(long double x) { return reference_scaled_k(x, 0) * expl(-x); }
static long double reference_k1(long double x) { return reference_scaled_k(x, 1) * expl(-x); }

static long double reference_erfcx(long double x)
{
    if (x < 5.0L) return expl(x * x) * erfcl(x);
    long double f = x;
    for (int k = 120; k > 0; k--) f = x + 0.5L * k / f;
    return 0.564189583547756286948079451560772586L / f;
}

/* Measured on fewer points, because their references are slow. J and Y are as good as their envelope, which is below 1. */
static const function slow_functions[] = {
    {MATH_FUNCTION(erfcx), reference_erfcx, 4.0, 2.0, 0, {{-5, 5}, {-26, 0}, {0.5, 40}, {1, 1e300}}},
    {MATH_FUNCTION(i0), reference_i0, 6.0, 2.0, 0, {{-15, 15}, {1e-300, 1}, {-90, 90}, {10, 713}}},
    {MATH_FUNCTION(i0e), reference_i0e, 6.0, 2.0, 0, {{-15, 15}, {1e-300, 1}, {10, 100}, {60, 1e300}}},
    {MATH_FUNCTION(i1), reference_i1, 6.0, 2.0, 0, {{-15, 15}, {1e-300, 1}, {-90, 90}, {10, 713}}},
    {MATH_FUNCTION(i1e), reference_i1e, 6.0, 2.0, 0, {{-15, 15}, {1e-300, 1}, {10, 100}, {60, 1e300}}},
    {MATH_FUNCTION(bessel_k0), reference_k0, 10.0, 2.0, 0, {{1e-300, 1}, {0.01, 3}, {1, 100}, {100, 700}}},
    {MATH_FUNCTION(bessel_k1), reference_k1, 10.0, 2.0, 0, {{1e-300, 1}, {0.01, 3}, {1, 100}, {100, 700}}},
    {MATH_FUNCTION(bessel_k0e), reference_k0e, 10.0, 2.0, 0, {{1e-300, 1}, {0.01, 3}, {1, 100}, {100, 1e4}}},
    {MATH_FUNCTION(bessel_k1e), reference_k1e, 10.0, 2.0, 0, {{1e-300, 1}, {0.01, 3}, {1, 100}, {100, 1e4}}},
    {MATH_FUNCTION(bessel_j0), j0l, 6.0, 2.0, 6e-16, {{-8, 8}, {8, 100}, {1e-300, 1}, {100, 1e5}}},
    {MATH_FUNCTION(bessel_j1), j1l, 6.0, 2.0, 6e-16, {{-8, 8}, {8, 100}, {1e-300, 1}, {100, 1e5}}},
    {MATH_FUNCTION(bessel_y0), y0l, 8.0, 2.0, 8e-16, {{0.01, 8}, {8, 100}, {1e-300, 1}, {100, 1e5}}},
    {MATH_FUNCTION(bessel_y1), y1l, 8.0, 2.0, 8e-16, {{0.01, 8}, {8, 100}, {1e-300, 1}, {100, 1e5}}},
};

static const function functions[] = {
    {MATH_FUNCTION(exp), expl, 2.0, 2.0, 0, {{-750, 712}, {-1, 1}, {1e-20, 1}, {-110, 90}}},
    {MATH_FUNCTION(exp2), reference_exp2, 2.0, 2.0, 0, {{-1080, 1026}, {-1, 1}, {-152, 130}}},
    {MATH_FUNCTION(expm1), expm1l, 2.0, 2.0, 0, {{-60, 712}, {-1, 1}, {1e-300, 1}, {-1, -1e-300}, {-5, 5}}},
    {MATH_FUNCTION(log), logl, 1.0, 2.0, 0, {{5e-324, 1.7e308}, {0.5, 2}, {0.99, 1.01}, {1e-45, 1e38}}},
    {MATH_FUNCTION(log2), log2l, 2.0, 2.0, 0, {{5e-324, 1.7e308}, {0.5, 2}, {0.99, 1.01}, {1e-45, 1e38}}},
    {MATH_FUNCTION(log10), log10l, 2.0, 2.0, 0, {{5e-324, 1.7e308}, {0.5, 2}, {0.99, 1.01}, {1e-45, 1e38}}},
    {MATH_FUNCTION(log1p),
     log1pl,
     2.0,
     2.0,
     0,
     {{-0.9999999, 3}, {1e-320, 1e300}, {-0.9, -1e-310}, {-0.5, 1}}},
    {MATH_FUNCTION(sqrt), sqrtl, 0.5001, 0.5001, 0, {{5e-324, 1.7e308}, {0.5, 4}}},
    {MATH_FUNCTION(sqrt_soft), sqrtl, 0.5001, 0.5001, 0, {{5e-324, 1.7e308}, {0.5, 4}}},
    {MATH_FUNCTION(rsqrt), reference_rsqrt, 1.51, 1.51, 0, {{5e-324, 1.7e308}, {0.5, 4}}},
    {MATH_FUNCTION(sin),
     sinl,
     1.0,
     2.0,
     0,
     {{-10, 10}, {-1e5, 1e5}, {1e-300, 1.7e308}, {1e-30, 3e38}, {1e5, 1e10}}},
    {MATH_FUNCTION(cos),
     cosl,
     1.0,
     2.0,
     0,
     {{-10, 10}, {-1e5, 1e5}, {1e-300, 1.7e308}, {1e-30, 3e38}, {1e5, 1e10}}},
    {MATH_FUNCTION(tan),
     tanl,
     2.0,
     2.0,
     0,
     {{-10, 10}, {-1e5, 1e5}, {1e-300, 1.7e308}, {1e-30, 3e38}, {1e5, 1e10}}},
    {MATH_FUNCTION(asin), asinl, 2.0, 2.0, 0, {{-1, 1}, {1e-300, 1}, {0.99, 1}, {0.49, 0.51}}},
    {MATH_FUNCTION(acos), acosl, 2.0, 2.0, 0, {{-1, 1}, {1e-300, 1}, {0.99, 1}, {-1, -0.99}}},
    {MATH_FUNCTION(atan), atanl, 2.0, 2.0, 0, {{-4, 4}, {1e-310, 1e300}, {-1e10, -1e-10}}},
    {MATH_FUNCTION(sinh), sinhl, 3.0, 2.0, 0, {{-3, 3}, {-712, 712}, {1e-310, 10}, {-90, 90}}},
    {MATH_FUNCTION(cosh), coshl, 3.0, 2.0, 0, {{-3, 3}, {-712, 712}, {-90, 90}}},
    {MATH_FUNCTION(tanh), tanhl, 3.0, 2.0, 0, {{-1, 1}, {-22, 22}, {1e-310, 1}, {-0.2, 0.2}}},
    {MATH_FUNCTION(asinh), asinhl, 3.0, 2.0, 0, {{-3, 3}, {1e-310, 1e308}, {-100, 100}}},
    {MATH_FUNCTION(acosh), acoshl, 3.0, 2.0, 0, {{1, 3}, {1, 1.001}, {1, 1e308}}},
    {MATH_FUNCTION(atanh), atanhl, 3.0, 2.0, 0, {{-1, 1}, {1e-310, 1}, {0.9, 1}}},
    {MATH_FUNCTION(erf), erfl, 3.0, 2.0, 0, {{-1, 1}, {-6, 6}, {1e-300, 1}, {0.4, 1.2}}},
    {MATH_FUNCTION(erfc), erfcl, 3.0, 2.0, 0, {{-1, 1}, {-6, 27.5}, {0.4, 1.2}, {0, 10}}},
    {MATH_FUNCTION(erfinv), reference_erfinv, 3.0, 2.0, 0, {{-1, 1}, {1e-300, 1}, {0.99, 1}, {0.9999999, 1}}},
    {MATH_FUNCTION(lgamma),
     lgammal,
     8.0,
     2.0,
     4e-15,
     {{0, 10}, {1e-300, 1e300}, {0.9, 1.1}, {1.9, 2.1}, {-20, 0}, {5, 60}}},
    {MATH_FUNCTION(digamma),
     reference_digamma,
     10.0,
     2.0,
     4e-15,
     {{0, 12}, {1e-30, 1e30}, {1.3, 1.6}, {-20, 0}}},
    {MATH_FUNCTION(sigmoid), reference_sigmoid, 2.0, 2.0, 0, {{-4, 4}, {-740, 40}, {-104, 20}}},
    {MATH_FUNCTION(floor), floorl, 0.0, 0.0, 0, {{-10, 10}, {0.1, 1e20}, {-1e20, -0.1}}},
    {MATH_FUNCTION(ceil), ceill, 0.0, 0.0, 0, {{-10, 10}, {0.1, 1e20}, {-1e20, -0.1}}},
    {MATH_FUNCTION(trunc), truncl, 0.0, 0.0, 0, {{-10, 10}, {0.1, 1e20}, {-1e20, -0.1}}},
    {MATH_FUNCTION(round_even), rintl, 0.0, 0.0, 0, {{-10, 10}, {0.1, 1e20}, {-1e20, -0.1}}},
};

typedef struct {
    double ulps, at, at2;
} worst;

static void note(worst *w, double ulps, double at, double at2)
{
    if (ulps > w->ulps) *w = (worst){ulps, at, at2};
}

static void report(const char *name, const char *type, const worst *w, double bound)
{
    printf("%-16s %s  max %.3f ulp  at %.17g %.17g%s\n", name, type, w->ulps, w->at, w->at2,
           w->ulps > bound ? "  TOO LARGE" : "");
    check_count(w->ulps <= bound);
}

static void measure(const function *f, int samples)
{
    worst w64 = {0}, w32 = {0};
    uint64_t state = 1;
    for (int r = 0; r < 6 && f->ranges[r].from != f->ranges[r].to; r++) {
        for (int i = 0; i < samples; i++) {
            double x = check_sample(&state, f->ranges[r].from, f->ranges[r].to);
            double y = f->f64(x);
            long double reference = f->reference((long double)x);
            double difference = (double)fabsl((long double)y - reference);
            note(&w64, difference < f->floor ? 0.0 : check_ulps_f64(y, reference), x, 0.0);
            float xf = (float)x;
            if (isinf(xf)) continue;
            double exact = (double)f->reference((long double)xf);
            float yf = f->f32(xf);
            double difference32 = fabs((double)yf - exact);
            note(&w32, difference32 < f->floor ? 0.0 : check_ulps_f32(yf, exact), (double)xf, 0.0);
        }
    }
    report(f->name, "f64", &w64, f->bound_f64);
    report(f->name, "f32", &w32, f->bound_f32);
}

/* Functions of two arguments: x and y are sampled from their own ranges. */
typedef struct {
    const char *name;
    double (*f64)(double, double);
    float (*f32)(float, float);
    long double (*reference)(long double, long double);
    double bound_f64, bound_f32;
    range x[4], y[4];
} function2;

static long double reference_remainder_floor(long double x, long double y)
{
    long double r = fmodl(x, y);
    return r != 0.0L && (r < 0.0L) != (y < 0.0L) ? r + y : r;
}

/* P by its series or 1 - Q by the continued fraction, with what they have in common. */
static long double reference_gamma_part(long double a, long double x, int upper)
{
    if (x == 0.0L) return upper ? 1.0L : 0.0L;
    long double front = expl(a * logl(x) - x - lgammal(a + 1.0L)), sum = 1.0L, term = 1.0L;
    if (x < a + 1.0L) {
        for (int n = 1; n < 5000 && term > 1e-22L * sum; n++) sum += term *= x / (a + n);
        return upper ? 1.0L - front * sum : front * sum;
    }
    long double f = 0.0L;
    for (int i = 2000; i > 0; i--) f = i * (i - a) / (x + 1.0L - a + 2.0L * i - f);
    long double q = front * a / (x + 1.0L - a - f);
    return upper ? q : 1.0L - q;
}

static long double reference_igamma(long double a, long double x) { return reference_gamma_part(a, x, 0); }
static long double reference_igammac(long double a, long double x) { return reference_gamma_part(a, x, 1); }

/* Measured on fewer points. */
static const function2 slow_functions2[] = {
    {MATH_FUNCTION(igamma),
     reference_igamma,
     12.0,
     2.0,
     {{0.1, 20}, {0.01, 2}, {20, 60}, {20, 200}},
     {{0.01, 20}, {0.01, 3}, {10, 100}, {20, 300}}},
    {MATH_FUNCTION(igammac),
     reference_igammac,
     16.0,
     2.0,
     {{0.1, 20}, {0.5, 2}, {20, 60}, {20, 200}},
     {{0.1, 20}, {0.5, 3}, {10, 100}, {20, 300}}},
};

static const function2 functions2[] = {
    {MATH_FUNCTION(pow),
     powl,
     1.0,
     2.0,
     {{0, 4}, {1e-300, 1e300}, {0.9, 1.1}, {1e-38, 1e38}},
     {{-50, 50}, {-2, 2}, {-5000, 5000}, {-3, 3}}},
    {MATH_FUNCTION(atan2),
     atan2l,
     2.0,
     2.0,
     {{-4, 4}, {1e-300, 1e300}, {-1e10, -1e-10}, {1e-30, 1e30}},
     {{-4, 4}, {1e-300, 1e300}, {1e-10, 1e10}, {-1e30, -1e-30}}},
    {MATH_FUNCTION(hypot),
     hypotl,
     1.0,
     2.0,
     {{-4, 4}, {1e-320, 1e308}, {-1e10, -1e-10}, {1e-30, 1e30}},
     {{-4, 4}, {1e-320, 1e308}, {1e-10, 1e10}, {-1e30, -1e-30}}},
    {MATH_FUNCTION(fmod),
     fmodl,
     0.0,
     0.0,
     {{-100, 100}, {1e-320, 1e308}, {1, 1e10}, {1e-40, 1e38}},
     {{-3, 3}, {1e-320, 1e308}, {1e-10, 1}, {-1e30, -1e-40}}},
    {MATH_FUNCTION(remainder_floor),
     reference_remainder_floor,
     0.5,
     0.5,
     {{-100, 100}, {1e-320, 1e308}, {1, 1e10}, {1e-40, 1e38}},
     {{-3, 3}, {1e-320, 1e308}, {1e-10, 1}, {-1e30, -1e-40}}},
};

static void measure2(const function2 *f, int samples)
{
    worst w64 = {0}, w32 = {0};
    uint64_t state = 2;
    for (int r = 0; r < 4; r++) {
        for (int i = 0; i < samples; i++) {
            double x = check_sample(&state, f->x[r].from, f->x[r].to);
            double y = check_sample(&state, f->y[r].from, f->y[r].to);
            note(&w64, check_ulps_f64(f->f64(x, y), f->reference((long double)x, (long double)y)), x, y);
            float xf = (float)x, yf = (float)y;
            if (isinf(xf) || isinf(yf)) continue;
            double exact = (double)f->reference((long double)xf, (long double)yf);
            note(&w32, check_ulps_f32(f->f32(xf, yf), exact), (double)xf, (double)yf);
        }
    }
    report(f->name, "f64", &w64, f->bound_f64);
    report(f->name, "f32", &w32, f->bound_f32);
}

int main(void)
{
    for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++) measure(&functions[i], 40000);
    for (unsigned i = 0; i < sizeof functions2 / sizeof *functions2; i++) measure2(&functions2[i], 40000);
    for (unsigned i = 0; i < sizeof slow_functions / sizeof *slow_functions; i++)
        measure(&slow_functions[i], 2000);
    for (unsigned i = 0; i < sizeof slow_functions2 / sizeof *slow_functions2; i++)
        measure2(&slow_functions2[i], 500);
    return check_report();
}
