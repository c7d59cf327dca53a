/* Sums, products, extremes and positions along a line, once for each wide type. Sums are added in pairs, so that long ones keep
   their digits. */
#include "ops/body_reduce.h"

enum { IN_ORDER = 8 };

#define DEFINE_EXTREMES(S, T, F, HIGHEST, LOWEST)                                                            \
    static T highest_##S(const kni_cell *x, int64_t n)                                                       \
    {                                                                                                        \
        T y = n ? x[0].F : LOWEST;                                                                           \
        for (int64_t k = 1; k < n; k++)                                                                      \
            if (x[k].F > y || x[k].F != x[k].F) y = x[k].F;                                                  \
        return y;                                                                                            \
    }                                                                                                        \
    static T lowest_##S(const kni_cell *x, int64_t n)                                                        \
    {                                                                                                        \
        T y = n ? x[0].F : HIGHEST;                                                                          \
        for (int64_t k = 1; k < n; k++)                                                                      \
            if (x[k].F < y || x[k].F != x[k].F) y = x[k].F;                                                  \
        return y;                                                                                            \
    }                                                                                                        \
    /* NaN is passed over. */                                                                                \
    static T top_##S(const kni_cell *x, int64_t n)                                                           \
    {                                                                                                        \
        T y = LOWEST;                                                                                        \
        for (int64_t k = 0; k < n; k++)                                                                      \
            if (x[k].F > y) y = x[k].F;                                                                      \
        return y;                                                                                            \
    }                                                                                                        \
    /* The first place of the highest or lowest, or of the first NaN. */                                     \
    static int64_t place_##S(const kni_cell *x, int64_t n, bool low)                                         \
    {                                                                                                        \
        int64_t at = 0;                                                                                      \
        for (int64_t k = 1; k < n; k++) {                                                                    \
            T v = x[k].F, best = x[at].F;                                                                    \
            if ((low ? v < best : v > best) || (v != v && best == best)) at = k;                             \
        }                                                                                                    \
        return at;                                                                                           \
    }                                                                                                        \
    static kni_cell extreme_##S(int word, const kni_cell *x, int64_t n)                                      \
    {                                                                                                        \
        switch (word) {                                                                                      \
        case KNI_LINE_HIGHEST:                                                                               \
            return (kni_cell){.F = highest_##S(x, n)};                                                       \
        case KNI_LINE_LOWEST:                                                                                \
            return (kni_cell){.F = lowest_##S(x, n)};                                                        \
        case KNI_LINE_TOP:                                                                                   \
            return (kni_cell){.F = top_##S(x, n)};                                                           \
        default:                                                                                             \
            return (kni_cell){.i = place_##S(x, n, word == KNI_LINE_ARGMIN)};                                \
        }                                                                                                    \
    }

DEFINE_EXTREMES(f64, double, f, __builtin_inf(), -__builtin_inf())
DEFINE_EXTREMES(i64, int64_t, i, INT64_MAX, INT64_MIN)
DEFINE_EXTREMES(u64, uint64_t, u, UINT64_MAX, 0)

static double sum_f64(const kni_cell *x, int64_t n)
{
    double y = 0;
    if (n > IN_ORDER) return sum_f64(x, n / 2) + sum_f64(x + n / 2, n - n / 2);
    for (int64_t k = 0; k < n; k++) y += x[k].f;
    return y;
}

/* A product of finite numbers is 0 where one of them is, also where those before it overflow. */
static double product_f64(const kni_cell *x, int64_t n)
{
    double y = 1;
    bool zero = false, finite = true;
    for (int64_t k = 0; k < n; k++) {
        y *= x[k].f;
        zero |= x[k].f == 0;
        finite &= x[k].f - x[k].f == 0;
    }
    return zero && finite ? 0 : y;
}

/* Integers wrap, signed ones as unsigned. */
static uint64_t product_u64(const kni_cell *x, int64_t n)
{
    uint64_t y = 1;
    for (int64_t k = 0; k < n; k++) y *= x[k].u;
    return y;
}

static uint64_t sum_u64(const kni_cell *x, int64_t n)
{
    uint64_t y = 0;
    for (int64_t k = 0; k < n; k++) y += x[k].u;
    return y;
}

static int64_t count_true(const kni_cell *x, int64_t n)
{
    int64_t y = 0;
    for (int64_t k = 0; k < n; k++) y += x[k].i != 0;
    return y;
}

kni_cell kni_body_reduce(int word, int wide, const kni_cell *x, int64_t n)
{
    bool real = wide == KNI_COMPUTE_F64;
    switch (word) {
    case KNI_LINE_ANY:
        return (kni_cell){.i = count_true(x, n) > 0};
    case KNI_LINE_ALL:
        return (kni_cell){.i = count_true(x, n) == n};
    case KNI_LINE_SUM:
        return real ? (kni_cell){.f = sum_f64(x, n)} : (kni_cell){.u = sum_u64(x, n)};
    case KNI_LINE_MEAN:
        return (kni_cell){.f = sum_f64(x, n) / (double)n};
    case KNI_LINE_PROD:
        return real ? (kni_cell){.f = product_f64(x, n)} : (kni_cell){.u = product_u64(x, n)};
    default:
        return real                      ? extreme_f64(word, x, n)
               : wide == KNI_COMPUTE_I64 ? extreme_i64(word, x, n)
                                         : extreme_u64(word, x, n);
    }
}
