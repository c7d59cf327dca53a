/* Functions of one operand: signs, powers, exponentials, logarithms and rounding. */
#include "ops/scalar_row.h"

/* Results that are exact, and those of the math functions. */
#define KEEPS(name, body, text)                                                                              \
    ELEMENTWISE(name, 1, KNI_RULE_PROMOTE, KNI_NUMBERS, body, .doc = text, .flags = KNI_FLAG_ALIAS)
#define ROUNDS(name, body, text)                                                                             \
    ELEMENTWISE(name, 1, KNI_RULE_PROMOTE, KNI_NUMBERS, body, .doc = text,                                   \
                .flags = KNI_FLAG_ALIAS | KNI_FLAG_ZERO_GRADIENT)
#define TREATED(name, body, text, policy)                                                                    \
    ELEMENTWISE(name, 1, KNI_RULE_FLOAT, KNI_ALL, body, .doc = text, .tolerance = {2, 0},                    \
                .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE, .autocast = KNI_AUTOCAST_##policy)
#define FUNCTION(name, body, text) TREATED(name, body, text, NONE)
#define WIDENED(name, body, text) TREATED(name, body, text, WIDEN)

KEEPS(neg, "y = -x", "-x")
KEEPS(abs, "y = abs(x)", "|x|")
ELEMENTWISE(square, 1, KNI_RULE_PROMOTE, KNI_NUMBERS, "y = x * x", .doc = "x^2",
            .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE)
ELEMENTWISE(sign, 1, KNI_RULE_PROMOTE, KNI_ALL, "y = sign(x)", .doc = "-1, 0 or 1; NaN gives 0",
            .flags = KNI_FLAG_ALIAS | KNI_FLAG_ZERO_GRADIENT)
ROUNDS(round, "y = round(x)", "the nearest whole number, halves to the even one")
ROUNDS(floor, "y = floor(x)", "the largest whole number that is at most x")
ROUNDS(ceil, "y = ceil(x)", "the smallest whole number that is at least x")
ROUNDS(trunc, "y = trunc(x)", "x without its fraction")
ELEMENTWISE(frac, 1, KNI_RULE_PROMOTE, KNI_FLOATS, "y = x - trunc(x)", .doc = "x - trunc(x)",
            .flags = KNI_FLAG_ALIAS)
WIDENED(reciprocal, "y = 1 / x", "1 / x")
WIDENED(exp, "y = exp(x)", "e^x")
WIDENED(exp2, "y = exp2(x)", "2^x")
WIDENED(expm1, "y = expm1(x)", "e^x - 1, accurate near 0")
WIDENED(log, "y = log(x)", "natural logarithm of x")
WIDENED(log2, "y = log2(x)", "logarithm of x to base 2")
WIDENED(log10, "y = log10(x)", "logarithm of x to base 10")
WIDENED(log1p, "y = log1p(x)", "log(1 + x), accurate near 0")
FUNCTION(sqrt, "y = sqrt(x)", "square root of x")
WIDENED(rsqrt, "y = rsqrt(x)", "1 / sqrt(x)")
FUNCTION(deg2rad, "y = x * 0.017453292519943295", "x pi / 180")
FUNCTION(rad2deg, "y = x * 57.295779513082323", "x 180 / pi")

kn_tensor kn_neg(kn_tensor x) { return kni_unary(&kni_op_neg, x); }
kn_tensor kn_abs(kn_tensor x) { return kni_unary(&kni_op_abs, x); }
kn_tensor kn_sign(kn_tensor x) { return kni_unary(&kni_op_sign, x); }
kn_tensor kn_square(kn_tensor x) { return kni_unary(&kni_op_square, x); }
kn_tensor kn_round(kn_tensor x) { return kni_unary(&kni_op_round, x); }
kn_tensor kn_floor(kn_tensor x) { return kni_unary(&kni_op_floor, x); }
kn_tensor kn_ceil(kn_tensor x) { return kni_unary(&kni_op_ceil, x); }
kn_tensor kn_trunc(kn_tensor x) { return kni_unary(&kni_op_trunc, x); }
kn_tensor kn_frac(kn_tensor x) { return kni_unary(&kni_op_frac, x); }
kn_tensor kn_reciprocal(kn_tensor x) { return kni_unary(&kni_op_reciprocal, x); }
kn_tensor kn_exp(kn_tensor x) { return kni_unary(&kni_op_exp, x); }
kn_tensor kn_exp2(kn_tensor x) { return kni_unary(&kni_op_exp2, x); }
kn_tensor kn_expm1(kn_tensor x) { return kni_unary(&kni_op_expm1, x); }
kn_tensor kn_log(kn_tensor x) { return kni_unary(&kni_op_log, x); }
kn_tensor kn_log2(kn_tensor x) { return kni_unary(&kni_op_log2, x); }
kn_tensor kn_log10(kn_tensor x) { return kni_unary(&kni_op_log10, x); }
kn_tensor kn_log1p(kn_tensor x) { return kni_unary(&kni_op_log1p, x); }
kn_tensor kn_sqrt(kn_tensor x) { return kni_unary(&kni_op_sqrt, x); }
kn_tensor kn_rsqrt(kn_tensor x) { return kni_unary(&kni_op_rsqrt, x); }
kn_tensor kn_deg2rad(kn_tensor x) { return kni_unary(&kni_op_deg2rad, x); }
kn_tensor kn_rad2deg(kn_tensor x) { return kni_unary(&kni_op_rad2deg, x); }

GRADIENT(neg)
{
    kni_vjp_set(v, 0, kn_neg(v->dy[0]));
    return KN_OK;
}

SLOPE(exp, OUTPUT)
SLOPE(deg2rad, kni_number(v->dy[0], 0.017453292519943295))
SLOPE(rad2deg, kni_number(v->dy[0], 57.295779513082323))

/* A division keeps the infinity at 0. */
GRADIENT(log)
{
    kni_vjp_set(v, 0, kn_div(v->dy[0], INPUT));
    return KN_OK;
}

DERIVED(abs)
DERIVED(frac)
/* Not dy (2 x): twice a large x may be infinite where dy is 0. */
GRADIENT_BODY(square, "dx = dy * x * 2")
/* Of y alone, so that the tape keeps one tensor; dy comes first, so that 0 times an overflow is 0. */
GRADIENT_BODY(reciprocal, "dx = -dy * y * y")
GRADIENT_BODY(rsqrt, "dx = dy * -0.5 * y * y * y")
GRADIENT_BODY(exp2, "dx = dy * (y * 0.6931471805599453)")
DERIVED(expm1)
DERIVED(log2)
DERIVED(log10)
DERIVED(log1p)
DERIVED(sqrt)
