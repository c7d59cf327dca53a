/* Functions of one double by reduction to a small range and a short series. */
#include "support/scalar_math.h"
#include <stdint.h>
#include <string.h>

static const double LN2_HIGH = 6.93147180369123816490e-01, LN2_LOW = 1.90821492927058770002e-10;

static double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* x 2^n, in two steps so that neither factor overflows. */
static double scale(double x, int n)
{
    int half = n / 2, rest = n - half;
    return x * from_bits((uint64_t)(half + 1023) << 52) * from_bits((uint64_t)(rest + 1023) << 52);
}

double kni_floor(double x)
{
    if (!(x > -0x1p52 && x < 0x1p52)) return x;
    double whole = (double)(int64_t)x;
    return whole > x ? whole - 1 : whole;
}

double kni_round(double x)
{
    double low = kni_floor(x), gap = x - low;
    if (!(x > -0x1p52 && x < 0x1p52)) return x;
    if (gap == 0.5) return kni_floor(low / 2) * 2 == low ? low : low + 1;
    return gap < 0.5 ? low : low + 1;
}

/* Newton's method for 1 / sqrt(x) on 1 <= x < 4, then one correction of the root itself. */
double kni_sqrt(double x)
{
    if (x == 0 || x != x || x == __builtin_inf()) return x;
    if (x < 0) return __builtin_nan("");
    int shift = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p108;
        shift = -54;
    }
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023, odd = exponent & 1;
    double m = from_bits((bits & UINT64_C(0xFFFFFFFFFFFFF)) | (uint64_t)(1023 + odd) << 52);
    double y = odd ? 0.61 : 0.85;
    for (int i = 0; i < 6; i++) y *= 1.5 - 0.5 * m * y * y;
    double root = m * y;
    root = 0.5 * (root + m / root);
    return scale(root, (exponent - odd) / 2 + shift);
}

double kni_exp(double x)
{
    if (x != x) return x;
    if (x > 709.8) return __builtin_inf();
    if (x < -745.2) return 0;
    double k = kni_floor(x * 1.44269504088896340736 + 0.5);
    double high = x - k * LN2_HIGH, r = high - k * LN2_LOW, sum = 1;
    for (int i = 14; i > 0; i--) sum = 1 + sum * r / i;
    return scale(sum, (int)k);
}

/* log(m) = 2 atanh((m - 1) / (m + 1)) for m near 1. */
double kni_ln(double x)
{
    if (x != x || x == __builtin_inf()) return x;
    if (x < 0) return __builtin_nan("");
    if (x == 0) return -__builtin_inf();
    int shift = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        shift = -54;
    }
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023;
    double m = from_bits((bits & UINT64_C(0xFFFFFFFFFFFFF)) | UINT64_C(1023) << 52);
    if (m > 1.41421356237309504880) {
        m *= 0.5;
        exponent++;
    }
    double s = (m - 1) / (m + 1), square = s * s, sum = 0, k = exponent + shift;
    for (int i = 25; i >= 3; i -= 2) sum = (sum + 1.0 / i) * square;
    return k * LN2_HIGH + (2 * s + (2 * s * sum + k * LN2_LOW));
}

double kni_pow(double base, double exponent)
{
    if (exponent == 0 || base == 1) return 1;
    if (exponent == 1) return base;
    if (exponent == 2) return base * base;
    if (exponent == 0.5 && base >= 0) return kni_sqrt(base);
    if (base == 0) return exponent > 0 ? 0 : __builtin_inf();
    if (base > 0) return kni_exp(exponent * kni_ln(base));
    if (kni_floor(exponent) != exponent) return __builtin_nan("");
    double size = kni_exp(exponent * kni_ln(-base)), half = exponent / 2;
    return kni_floor(half) == half ? size : -size;
}

/* sin or cos on |r| <= pi / 4, starting with the term r^first / first!. */
static double series(double r, int first)
{
    double sum = 1;
    for (int i = 18 + first; i > first; i -= 2) sum = 1 - sum * r * r / ((double)i * (i - 1));
    return first ? sum * r : sum;
}

/* sin(x + quarters pi / 2) */
static double turned(double x, int64_t quarters)
{
    if (!(x > -1e15 && x < 1e15)) return __builtin_nan("");
    double k = kni_floor(x * 0.63661977236758134308 + 0.5);
    double r = x - k * 1.57079632673412561417e+00; /* pi / 2 in three parts of 33 bits */
    r = r - k * 6.07710050630396597660e-11;
    r = r - k * 2.02226624879595063154e-21;
    int64_t turn = ((int64_t)k + quarters) & 3;
    double value = series(r, turn & 1 ? 0 : 1);
    return turn & 2 ? -value : value;
}

double kni_sin(double x) { return turned(x, 0); }
double kni_cos(double x) { return turned(x, 1); }
