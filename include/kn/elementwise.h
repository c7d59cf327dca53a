/* Elementwise ops: arithmetic, comparison, math functions, activations. All broadcast and promote as PyTorch
   does, take temporaries and poison on shapes or dtypes that do not fit. */
#ifndef KN_ELEMENTWISE_H
#define KN_ELEMENTWISE_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- arithmetic. Bool operands count as 0 and 1 in add and mul (or, and); the others refuse them. */

KN_API kn_tensor kn_add(kn_tensor a, kn_tensor b);       /* a + b */
KN_API kn_tensor kn_sub(kn_tensor a, kn_tensor b);       /* a - b */
KN_API kn_tensor kn_mul(kn_tensor a, kn_tensor b);       /* a * b */
KN_API kn_tensor kn_div(kn_tensor a, kn_tensor b);       /* a / b; integers give f32 */
KN_API kn_tensor kn_floor_div(kn_tensor a, kn_tensor b); /* floor(a / b); an integer divided by 0 gives 0 */
KN_API kn_tensor kn_remainder(kn_tensor a, kn_tensor b); /* a - floor(a / b) b, with the sign of b */
KN_API kn_tensor kn_fmod(kn_tensor a, kn_tensor b);      /* a - trunc(a / b) b, with the sign of a */
KN_API kn_tensor kn_pow(kn_tensor a, kn_tensor b);       /* a to the power of b */
KN_API kn_tensor kn_atan2(kn_tensor a, kn_tensor b);     /* the angle of the point (b, a), -pi to pi */
KN_API kn_tensor kn_hypot(kn_tensor a, kn_tensor b);     /* sqrt(a^2 + b^2) without overflow */
KN_API kn_tensor kn_maximum(kn_tensor a, kn_tensor b);   /* the larger; NaN if either is */
KN_API kn_tensor kn_minimum(kn_tensor a, kn_tensor b);   /* the smaller; NaN if either is */
KN_API kn_tensor kn_copysign(kn_tensor a, kn_tensor b);  /* |a| with the sign of b */

/* ---- with a number. A whole number keeps an integer tensor's dtype, a fraction (and NaN, infinity) gives
   f32; a float tensor keeps its dtype. */

KN_API kn_tensor kn_add_scalar(kn_tensor x, double value);
KN_API kn_tensor kn_sub_scalar(kn_tensor x, double value);
KN_API kn_tensor kn_rsub_scalar(kn_tensor x, double value); /* value - x */
KN_API kn_tensor kn_mul_scalar(kn_tensor x, double value);
KN_API kn_tensor kn_div_scalar(kn_tensor x, double value);
KN_API kn_tensor kn_rdiv_scalar(kn_tensor x, double value); /* value / x */
KN_API kn_tensor kn_floor_div_scalar(kn_tensor x, double value);
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

/* ---- functions of one tensor. Integers give f32 unless the comment says otherwise. */

KN_API kn_tensor kn_neg(kn_tensor x);    /* -x; keeps the dtype */
KN_API kn_tensor kn_abs(kn_tensor x);    /* |x|; keeps the dtype */
KN_API kn_tensor kn_square(kn_tensor x); /* x^2; keeps the dtype */
KN_API kn_tensor kn_trunc(kn_tensor x);  /* the whole part; keeps the dtype */
KN_API kn_tensor kn_exp(kn_tensor x);    /* e^x */
KN_API kn_tensor kn_log(kn_tensor x);    /* natural logarithm */
KN_API kn_tensor kn_sqrt(kn_tensor x);   /* square root */
KN_API kn_tensor kn_tanh(kn_tensor x);   /* hyperbolic tangent */

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

/* condition ? a : b, element by element; condition is bool, all three broadcast */
KN_API kn_tensor kn_where(kn_tensor condition, kn_tensor a, kn_tensor b);

/* The same values as another dtype. Floats to integers truncate and saturate, NaN gives 0; integers wrap;
   anything but 0 is true. */
KN_API kn_tensor kn_cast(kn_tensor x, kn_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
