/* The list of math functions the tests go through, and a plain function for each, since the library's own are
   meant to be inlined and have no address worth taking. */
#ifndef KN_TESTS_MATH_LIST_H
#define KN_TESTS_MATH_LIST_H

#include "core/math/bessel.h"
#include "core/math/incomplete_gamma.h"
#include "core/math/math.h"

/* clang-format off */
#define MATH_UNARY(X)                                                                                             \
    X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sqrt) X(rsqrt) X(sin) X(cos) X(tan) X(asin)        \
    X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(erf) X(erfc) X(erfinv) X(lgamma)         \
    X(digamma) X(sigmoid) X(floor) X(ceil) X(trunc) X(round_even) X(erfcx) X(i0) X(i0e) X(i1) X(i1e)              \
    X(bessel_j0) X(bessel_j1) X(bessel_y0) X(bessel_y1) X(bessel_k0) X(bessel_k1) X(bessel_k0e) X(bessel_k1e)
#define MATH_BINARY(X) X(pow) X(atan2) X(hypot) X(fmod) X(remainder_floor) X(igamma) X(igammac)

#define MATH_PLAIN(name)                                                                                          \
    static inline double name##_f64(double x) { return kni_##name##_f64(x); }                                     \
    static inline float name##_f32(float x) { return kni_##name##_f32(x); }
#define MATH_PLAIN2(name)                                                                                         \
    static inline double name##_f64(double x, double y) { return kni_##name##_f64(x, y); }                        \
    static inline float name##_f32(float x, float y) { return kni_##name##_f32(x, y); }

MATH_UNARY(MATH_PLAIN)
MATH_PLAIN(sqrt_soft)
MATH_PLAIN(abs)
MATH_BINARY(MATH_PLAIN2)
MATH_PLAIN2(copysign)
/* clang-format on */

#define MATH_FUNCTION(name) #name, name##_f64, name##_f32

#endif
