/* Elementwise ops: arithmetic, comparison, math functions, activations. All broadcast and promote as PyTorch
   does, take temporaries and poison on shapes or dtypes that do not fit. */
#ifndef KN_ELEMENTWISE_H
#define KN_ELEMENTWISE_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- arithmetic. Bool operands count as 0 and 1. Two of them give a bool in add (or), mul (and), maximum, minimum,
   f32 in div, atan2, copysign; the others refuse two, and kn_sub one. On `cpu` and `ref` operands of different dtypes are
   rounded to the common one before the op, numbers are not. In kn_floor_div, kn_trunc_div,
   kn_remainder and kn_fmod an integer element divided by an element 0 gives 0, because ops do not look at values
   before they run (PyTorch raises); the forms with a number refuse an integer tensor divided by 0. */

KN_API kn_tensor kn_add(kn_tensor a, kn_tensor b);       /* a + b */
KN_API kn_tensor kn_sub(kn_tensor a, kn_tensor b);       /* a - b */
KN_API kn_tensor kn_mul(kn_tensor a, kn_tensor b);       /* a * b */
KN_API kn_tensor kn_div(kn_tensor a, kn_tensor b);       /* a / b; integers give f32 */
KN_API kn_tensor kn_floor_div(kn_tensor a, kn_tensor b); /* floor(a / b) */
KN_API kn_tensor kn_remainder(kn_tensor a, kn_tensor b); /* a - floor(a / b) b, with the sign of b */
KN_API kn_tensor kn_fmod(kn_tensor a, kn_tensor b);      /* a - trunc(a / b) b, with the sign of a */
KN_API kn_tensor kn_pow(kn_tensor a, kn_tensor b);       /* a to the power of b */
KN_API kn_tensor kn_atan2(kn_tensor a, kn_tensor b);     /* the angle of the point (b, a), -pi to pi */
KN_API kn_tensor kn_hypot(kn_tensor a, kn_tensor b);     /* sqrt(a^2 + b^2) without overflow */
KN_API kn_tensor kn_maximum(kn_tensor a, kn_tensor b);   /* the larger; NaN if either is */
KN_API kn_tensor kn_minimum(kn_tensor a, kn_tensor b);   /* the smaller; NaN if either is */
KN_API kn_tensor kn_copysign(kn_tensor a, kn_tensor b);  /* |a| with the sign of b */
KN_API kn_tensor kn_trunc_div(kn_tensor a, kn_tensor b); /* trunc(a / b); two integers give an integer */
KN_API kn_tensor kn_fmax(kn_tensor a, kn_tensor b);      /* the larger; where one is NaN, the other */
KN_API kn_tensor kn_fmin(kn_tensor a, kn_tensor b);      /* the smaller; where one is NaN, the other */
KN_API kn_tensor kn_gcd(kn_tensor a, kn_tensor b); /* greatest common divisor of integers; 0 of 0 and 0 */
KN_API kn_tensor kn_lcm(kn_tensor a, kn_tensor b); /* least common multiple of integers; 0 where one is 0 */
/* a to the power of b in f64, whatever the operands' dtypes. */
KN_API kn_tensor kn_float_power(kn_tensor a, kn_tensor b);
KN_API kn_tensor kn_float_power_scalar(kn_tensor x, double exponent);
/* The next float after a in the direction of b; both of one float dtype. The gradient flows to a, but not where a == b. */
KN_API kn_tensor kn_nextafter(kn_tensor a, kn_tensor b);
/* x 2^exponent, without overflow where the result has none. Has the dtype of x where exponent is integers; two of integers give f32. */
KN_API kn_tensor kn_ldexp(kn_tensor x, kn_tensor exponent);

/* ---- with a number. A whole number keeps an integer tensor's dtype, a fraction (and NaN, infinity) gives f32; a
   float tensor keeps its dtype. A whole number that the dtype does not hold is computed with as it is: comparisons
   are exact, arithmetic wraps as it does between tensors, maximum and minimum end at the dtype's range. Where such a
   number would be stored (kn_full, fills, kn_pad, kn_threshold) it is an error. */

KN_API kn_tensor kn_add_scalar(kn_tensor x, double value);
KN_API kn_tensor kn_sub_scalar(kn_tensor x, double value);
KN_API kn_tensor kn_rsub_scalar(kn_tensor x, double value); /* value - x */
KN_API kn_tensor kn_mul_scalar(kn_tensor x, double value);
KN_API kn_tensor kn_div_scalar(kn_tensor x, double value);
KN_API kn_tensor kn_rdiv_scalar(kn_tensor x, double value); /* value / x */
KN_API kn_tensor kn_floor_div_scalar(kn_tensor x, double value);
KN_API kn_tensor kn_trunc_div_scalar(kn_tensor x, double value);
KN_API kn_tensor kn_remainder_scalar(kn_tensor x, double value);
KN_API kn_tensor kn_fmod_scalar(kn_tensor x, double value);
KN_API kn_tensor kn_pow_scalar(kn_tensor x, double exponent);
KN_API kn_tensor kn_rpow_scalar(kn_tensor x, double base); /* base to the power of x */
KN_API kn_tensor kn_maximum_scalar(kn_tensor x, double value);
KN_API kn_tensor kn_minimum_scalar(kn_tensor x, double value);
KN_API kn_tensor kn_equal_scalar(kn_tensor x, double value);
KN_API kn_tensor kn_not_equal_scalar(kn_tensor x, double value);
KN_API kn_tensor kn_less_scalar(kn_tensor x, double value);
KN_API kn_tensor kn_less_equal_scalar(kn_tensor x, double value);
KN_API kn_tensor kn_greater_scalar(kn_tensor x, double value);
KN_API kn_tensor kn_greater_equal_scalar(kn_tensor x, double value);

/* ---- functions of one tensor. Integers and bool give f32 unless the comment says otherwise. */

KN_API kn_tensor kn_neg(kn_tensor x);    /* -x; keeps the dtype */
KN_API kn_tensor kn_abs(kn_tensor x);    /* |x|; keeps the dtype */
KN_API kn_tensor kn_sign(kn_tensor x);   /* -1, 0 or 1; NaN gives 0; keeps the dtype */
KN_API kn_tensor kn_square(kn_tensor x); /* x^2; keeps the dtype, refuses bool */
KN_API kn_tensor
kn_round(kn_tensor x); /* the nearest whole number, halves to the even one; keeps the dtype */
KN_API kn_tensor kn_floor(kn_tensor x); /* the largest whole number that is at most x; keeps the dtype */
KN_API kn_tensor kn_ceil(kn_tensor x);  /* the smallest whole number that is at least x; keeps the dtype */
KN_API kn_tensor kn_trunc(kn_tensor x); /* x without its fraction; keeps the dtype */
KN_API kn_tensor kn_frac(kn_tensor x);  /* x - trunc(x); floats only */
/* x rounded to so many digits after the point, or before it where decimals < 0: round(x 10^decimals) / 10^decimals, halves
   to even. Halves compute in f32. Integers take decimals >= 0, which leave them as they are. */
KN_API kn_tensor kn_round_decimals(kn_tensor x, int32_t decimals);
typedef struct kn_mantissa_exponent {
    kn_tensor mantissa; /* 1/2 <= |mantissa| < 1; x itself where it is 0, infinite or NaN */
    kn_tensor exponent; /* i32 */
} kn_mantissa_exponent;
/* x = mantissa 2^exponent; floats only. */
KN_API kn_mantissa_exponent kn_frexp(kn_tensor x);
KN_API kn_tensor kn_reciprocal(kn_tensor x); /* 1 / x */
KN_API kn_tensor kn_exp(kn_tensor x);        /* e^x */
KN_API kn_tensor kn_exp2(kn_tensor x);       /* 2^x */
KN_API kn_tensor kn_expm1(kn_tensor x);      /* e^x - 1, accurate near 0 */
KN_API kn_tensor kn_log(kn_tensor x);        /* natural logarithm */
KN_API kn_tensor kn_log2(kn_tensor x);       /* logarithm to base 2 */
KN_API kn_tensor kn_log10(kn_tensor x);      /* logarithm to base 10 */
KN_API kn_tensor kn_log1p(kn_tensor x);      /* log(1 + x), accurate near 0 */
KN_API kn_tensor kn_sqrt(kn_tensor x);       /* square root */
KN_API kn_tensor kn_rsqrt(kn_tensor x);      /* 1 / sqrt(x) */
KN_API kn_tensor kn_sin(kn_tensor x);        /* sine of radians */
KN_API kn_tensor kn_cos(kn_tensor x);        /* cosine of radians */
KN_API kn_tensor kn_tan(kn_tensor x);        /* tangent of radians */
KN_API kn_tensor kn_sinh(kn_tensor x);       /* hyperbolic sine */
KN_API kn_tensor kn_cosh(kn_tensor x);       /* hyperbolic cosine */
KN_API kn_tensor kn_tanh(kn_tensor x);       /* hyperbolic tangent */
KN_API kn_tensor kn_asin(kn_tensor x);       /* the angle whose sine is x */
KN_API kn_tensor kn_acos(kn_tensor x);       /* the angle whose cosine is x */
KN_API kn_tensor kn_atan(kn_tensor x);       /* the angle whose tangent is x */
KN_API kn_tensor kn_asinh(kn_tensor x);      /* inverse of sinh */
KN_API kn_tensor kn_acosh(kn_tensor x);      /* inverse of cosh */
KN_API kn_tensor kn_atanh(kn_tensor x);      /* inverse of tanh */
KN_API kn_tensor kn_sinc(kn_tensor x);       /* sin(pi x) / (pi x), 1 at 0 */
KN_API kn_tensor kn_deg2rad(kn_tensor x);    /* x pi / 180 */
KN_API kn_tensor kn_rad2deg(kn_tensor x);    /* x 180 / pi */
KN_API kn_tensor kn_erf(kn_tensor x);        /* 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x */
KN_API kn_tensor kn_erfc(kn_tensor x);       /* 1 - erf(x), accurate for large x */
KN_API kn_tensor kn_erfinv(kn_tensor x);     /* inverse of erf */
KN_API kn_tensor kn_lgamma(kn_tensor x);     /* log |gamma(x)| */
KN_API kn_tensor kn_digamma(kn_tensor x);    /* derivative of log(gamma(x)) */
/* Derivative number `order` >= 0 of digamma. NaN for orders above 170, whose factorial is no f64. */
KN_API kn_tensor kn_polygamma(kn_tensor x, int32_t order);
/* log(x / (1 - x)), the inverse of sigmoid. eps >= 0 clamps x to eps and 1 - eps first; a negative one does not. */
KN_API kn_tensor kn_logit(kn_tensor x, double eps);
/* x with NaN, infinity and -infinity replaced; NaN for positive or negative means the dtype's largest or lowest
   number. */
KN_API kn_tensor kn_nan_to_num(kn_tensor x, double nan, double positive, double negative);

/* ---- functions of two tensors */

KN_API kn_tensor kn_xlogy(kn_tensor a, kn_tensor b);      /* a log(b), 0 where a is 0 and b is a number */
KN_API kn_tensor kn_logaddexp(kn_tensor a, kn_tensor b);  /* log(e^a + e^b) without overflow */
KN_API kn_tensor kn_xlog1py(kn_tensor a, kn_tensor b);    /* a log(1 + b), 0 where a is 0 and b is a number */
KN_API kn_tensor kn_logaddexp2(kn_tensor a, kn_tensor b); /* log2(2^a + 2^b) without overflow */
KN_API kn_tensor kn_heaviside(kn_tensor a, kn_tensor b);  /* 0 where a < 0, b where a is 0, 1 where a > 0 */

/* ---- special functions. Integers and bool give f32. */

KN_API kn_tensor kn_i0(kn_tensor x);        /* modified Bessel function of the first kind, order 0 */
KN_API kn_tensor kn_i0e(kn_tensor x);       /* e^-|x| i0(x) */
KN_API kn_tensor kn_i1(kn_tensor x);        /* the same of order 1 */
KN_API kn_tensor kn_i1e(kn_tensor x);       /* e^-|x| i1(x) */
KN_API kn_tensor kn_bessel_j0(kn_tensor x); /* Bessel functions of the first kind, orders 0 and 1 */
KN_API kn_tensor kn_bessel_j1(kn_tensor x);
KN_API kn_tensor kn_bessel_y0(kn_tensor x); /* of the second kind; -inf at 0, NaN below */
KN_API kn_tensor kn_bessel_y1(kn_tensor x);
KN_API kn_tensor kn_bessel_k0(kn_tensor x); /* modified, of the second kind; inf at 0, NaN below */
KN_API kn_tensor kn_bessel_k1(kn_tensor x);
KN_API kn_tensor kn_bessel_k0e(kn_tensor x);          /* e^x bessel_k0(x) */
KN_API kn_tensor kn_bessel_k1e(kn_tensor x);          /* e^x bessel_k1(x) */
KN_API kn_tensor kn_spherical_bessel_j0(kn_tensor x); /* sin(x) / x, 1 at 0 */
/* The lower and upper incomplete gamma functions of a > 0 at x >= 0, divided by gamma(a): their sum is 1. The gradient flows to
   x; asking for that of a is an error. */
KN_API kn_tensor kn_igamma(kn_tensor a, kn_tensor x);
KN_API kn_tensor kn_igammac(kn_tensor a, kn_tensor x);
/* Hurwitz's zeta function, the sum over k >= 0 of (q + k)^-s, s > 1. The gradient flows to q; asking for that of s is an error. */
KN_API kn_tensor kn_zeta(kn_tensor s, kn_tensor q);
/* log of the multivariate gamma function of order p >= 1: p (p - 1) / 4 log(pi) + sum over i < p of lgamma(x - i / 2). */
KN_API kn_tensor kn_mvlgamma(kn_tensor x, int32_t p);
KN_API kn_tensor kn_erfcx(kn_tensor x);    /* e^(x^2) erfc(x) */
KN_API kn_tensor kn_entr(kn_tensor x);     /* -x log(x); 0 at 0, -inf below */
KN_API kn_tensor kn_ndtr(kn_tensor x);     /* the probability that a normal number is below x */
KN_API kn_tensor kn_log_ndtr(kn_tensor x); /* its logarithm, without underflow */
KN_API kn_tensor kn_ndtri(kn_tensor x);    /* the inverse of ndtr */

/* ---- bounds and blends */

/* min(max(x, low), high); NaN stays. Infinite bounds are none, and so are bounds past the range of an integer dtype;
   bounds that exclude all of its values fail. A fractional bound of integers gives f32. No gradient at the bounds. */
KN_API kn_tensor kn_clamp(kn_tensor x, double low, double high);
KN_API kn_tensor kn_clamp_min(kn_tensor x, double low);
KN_API kn_tensor kn_clamp_max(kn_tensor x, double high);
/* The same with tensors as bounds; KN_NONE for none. Where x equals a bound each gets half of the gradient. */
KN_API kn_tensor kn_clamp_tensor(kn_tensor x, kn_tensor low, kn_tensor high);
/* a + w (b - a), exact at w = 0 and w = 1 */
KN_API kn_tensor kn_lerp(kn_tensor a, kn_tensor b, kn_tensor weight);
KN_API kn_tensor kn_lerp_scalar(kn_tensor a, kn_tensor b, double weight);
KN_API kn_tensor kn_mul_add(kn_tensor a, kn_tensor b, kn_tensor c);               /* a b + c */
KN_API kn_tensor kn_addcmul(kn_tensor x, kn_tensor a, kn_tensor b, double value); /* x + value a b */
KN_API kn_tensor kn_addcdiv(kn_tensor x, kn_tensor a, kn_tensor b, double value); /* x + value a / b */

/* ---- bits of integers; on bool the logical ops. Shifts by a negative number or past the width give 0, shifts to
   the right of negative numbers -1. */

KN_API kn_tensor kn_bitwise_and(kn_tensor a, kn_tensor b);
KN_API kn_tensor kn_bitwise_or(kn_tensor a, kn_tensor b);
KN_API kn_tensor kn_bitwise_xor(kn_tensor a, kn_tensor b);
KN_API kn_tensor kn_bitwise_not(kn_tensor x);
KN_API kn_tensor kn_bitwise_left_shift(kn_tensor a, kn_tensor b);
KN_API kn_tensor kn_bitwise_right_shift(kn_tensor a, kn_tensor b);
KN_API kn_tensor kn_bitwise_and_scalar(kn_tensor x, int64_t value);
KN_API kn_tensor kn_bitwise_or_scalar(kn_tensor x, int64_t value);
KN_API kn_tensor kn_bitwise_xor_scalar(kn_tensor x, int64_t value);
KN_API kn_tensor kn_bitwise_left_shift_scalar(kn_tensor x, int64_t value);
KN_API kn_tensor kn_bitwise_right_shift_scalar(kn_tensor x, int64_t value);

/* ---- comparisons: bool results; NaN is unequal to everything */

KN_API kn_tensor kn_equal(kn_tensor a, kn_tensor b);         /* a == b */
KN_API kn_tensor kn_not_equal(kn_tensor a, kn_tensor b);     /* a != b */
KN_API kn_tensor kn_less(kn_tensor a, kn_tensor b);          /* a < b */
KN_API kn_tensor kn_less_equal(kn_tensor a, kn_tensor b);    /* a <= b */
KN_API kn_tensor kn_greater(kn_tensor a, kn_tensor b);       /* a > b */
KN_API kn_tensor kn_greater_equal(kn_tensor a, kn_tensor b); /* a >= b */

/* ---- truths: anything but 0 is true; bool results */

KN_API kn_tensor kn_logical_and(kn_tensor a, kn_tensor b);
KN_API kn_tensor kn_logical_or(kn_tensor a, kn_tensor b);
KN_API kn_tensor kn_logical_xor(kn_tensor a, kn_tensor b);
KN_API kn_tensor kn_logical_not(kn_tensor x);

KN_API kn_tensor kn_is_nan(kn_tensor x);
KN_API kn_tensor kn_is_inf(kn_tensor x);
KN_API kn_tensor kn_is_finite(kn_tensor x);
KN_API kn_tensor kn_is_posinf(kn_tensor x); /* x is +infinity */
KN_API kn_tensor kn_is_neginf(kn_tensor x); /* x is -infinity */
KN_API kn_tensor kn_signbit(kn_tensor x);   /* x < 0, or x is -0 */
/* |a - b| <= atol + rtol |b|, or a == b, or both NaN with equal_nan */
KN_API kn_tensor kn_is_close(kn_tensor a, kn_tensor b, double rtol, double atol, bool equal_nan);
/* Whether all elements are close; borrows its operands and waits for the device. */
KN_API KN_MUST_CHECK kn_status kn_all_close(kn_tensor a, kn_tensor b, double rtol, double atol,
                                            bool equal_nan, bool *result);

/* condition ? a : b, element by element; condition is bool, all three broadcast */
KN_API kn_tensor kn_where(kn_tensor condition, kn_tensor a, kn_tensor b);

/* The same values as another dtype. Integers to narrower ones, and to those of the other sign, keep their lowest bits: 300 is 44 in i8, -1
   is 255 in u8. Floats to integers are truncated to 64 bits, where they saturate and NaN gives 0, and keep the lowest bits of that: 300.7
   is 44 in i8, and 1e30 is -1. To bool: anything but 0 is true. To floats: the nearest, ties to even, and beyond the largest an infinity.
   What lies beyond the largest of a float that is only stored becomes NaN where the type has no infinity, and the largest where it
   has neither. Gradients stop at a dtype that is only stored. */
KN_API kn_tensor kn_cast(kn_tensor x, kn_dtype dtype);
/* The same, but what lies beyond the range becomes the nearest finite value. */
KN_API kn_tensor kn_cast_saturate(kn_tensor x, kn_dtype dtype);

/* The same bits as another dtype of the same width; not for bool. A type of 4 or 2 bits takes the lowest of a byte. */
KN_API kn_tensor kn_bitcast(kn_tensor x, kn_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
