/* What the math tests share: counting, a small generator of test inputs, and errors in units in the last place.
   References come from the C library in long double; that is why only tests include its header. */
#ifndef KN_TESTS_MATH_CHECK_H
#define KN_TESTS_MATH_CHECK_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "core/math/math.h"

static int checks_passed, checks_failed;

static inline void check_count(int good)
{
    if (good)
        checks_passed++;
    else
        checks_failed++;
}

static inline int check_report(void)
{
    printf("%d passed, %d failed\n", checks_passed, checks_failed);
    return checks_failed ? 1 : 0;
}

static inline uint64_t check_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* In [a, b]: evenly spread, or evenly in the logarithm of the magnitude where both have the same sign and the
   ratio is large. */
static inline double check_sample(uint64_t *state, double a, double b)
{
    double u = (double)(check_random(state) >> 11) * 0x1p-53;
    if (a * b <= 0.0 || fmax(b / a, a / b) < 64.0) return a + (b - a) * u;
    return copysign(exp(log(fabs(a)) * (1.0 - u) + log(fabs(b)) * u), a);
}

/* |got - reference| in ulps of a format with the given digits and least exponent; 0 where both are the same
   special value, huge where only one is. */
static inline double check_ulps(long double got, long double reference, int digits, int least,
                                long double max)
{
    if (isnan(reference) || isnan(got)) return isnan(reference) && isnan(got) ? 0.0 : 1e30;
    if (isinf(got) && fabsl(reference) <= max * 1.0000001L && fabsl(reference) > max * 0.9999999L) return 1.0;
    if (isinf(got) || isinf(reference) || fabsl(reference) > max) {
        if (isinf(got) && fabsl(reference) > max) return (got > 0) == (reference > 0) ? 0.0 : 1e30;
        return fabsl(got - copysignl(max, reference)) == 0.0L ? 1.0 : 1e30;
    }
    int e = 0;
    frexpl(reference, &e);
    if (e < least || reference == 0.0L) e = least;
    return (double)(fabsl(got - reference) / ldexpl(1.0L, e - digits));
}

static inline double check_ulps_f64(double got, long double reference)
{
    return check_ulps((long double)got, reference, 53, -1021, (long double)DBL_MAX);
}

static inline double check_ulps_f32(float got, double reference)
{
    return check_ulps((long double)got, (long double)reference, 24, -125, (long double)FLT_MAX);
}

#endif
