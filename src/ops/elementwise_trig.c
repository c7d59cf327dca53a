/* Trigonometric and hyperbolic functions, and their inverses. */
#include "ops/scalar_row.h"

#define TREATED(name, body, text, policy)                                                                    \
    ELEMENTWISE(name, 1, KNI_RULE_FLOAT, KNI_ALL, body, .doc = text, .tolerance = {2, 0},                    \
                .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE, .autocast = KNI_AUTOCAST_##policy)
#define FUNCTION(name, body, text) TREATED(name, body, text, NONE)
#define WIDENED(name, body, text) TREATED(name, body, text, WIDEN)

FUNCTION(sin, "y = sin(x)", "sine of x in radians")
FUNCTION(cos, "y = cos(x)", "cosine of x in radians")
WIDENED(tan, "y = tan(x)", "tangent of x in radians")
WIDENED(sinh, "y = sinh(x)", "hyperbolic sine of x")
WIDENED(cosh, "y = cosh(x)", "hyperbolic cosine of x")
WIDENED(asin, "y = asin(x)", "the angle whose sine is x")
WIDENED(acos, "y = acos(x)", "the angle whose cosine is x")
FUNCTION(atan, "y = atan(x)", "the angle whose tangent is x")
FUNCTION(asinh, "y = asinh(x)", "inverse of sinh")
FUNCTION(acosh, "y = acosh(x)", "inverse of cosh")
FUNCTION(atanh, "y = atanh(x)", "inverse of tanh")
/* sin(pi x) = +-sin(pi (x - n)) with n the nearest whole number, by its parity: exactly 0 at whole numbers. */
ELEMENTWISE(sinc, 1, KNI_RULE_FLOAT, KNI_ALL,
            "nearest = round(x); s = sin((x - nearest) * 3.1415926535897931); half = nearest * 0.5; d = "
            "(half - floor(half) > 0 ? -s : s) / (x * 3.1415926535897931); y = x == 0 ? 1 : d",
            .doc = "sin(pi x) / (pi x), 1 at 0", .tolerance = {4, 1}, .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE)

kn_tensor kn_sin(kn_tensor x) { return kni_unary(&kni_op_sin, x); }
kn_tensor kn_cos(kn_tensor x) { return kni_unary(&kni_op_cos, x); }
kn_tensor kn_tan(kn_tensor x) { return kni_unary(&kni_op_tan, x); }
kn_tensor kn_sinh(kn_tensor x) { return kni_unary(&kni_op_sinh, x); }
kn_tensor kn_cosh(kn_tensor x) { return kni_unary(&kni_op_cosh, x); }
kn_tensor kn_asin(kn_tensor x) { return kni_unary(&kni_op_asin, x); }
kn_tensor kn_acos(kn_tensor x) { return kni_unary(&kni_op_acos, x); }
kn_tensor kn_atan(kn_tensor x) { return kni_unary(&kni_op_atan, x); }
kn_tensor kn_asinh(kn_tensor x) { return kni_unary(&kni_op_asinh, x); }
kn_tensor kn_acosh(kn_tensor x) { return kni_unary(&kni_op_acosh, x); }
kn_tensor kn_atanh(kn_tensor x) { return kni_unary(&kni_op_atanh, x); }
kn_tensor kn_sinc(kn_tensor x) { return kni_unary(&kni_op_sinc, x); }

DERIVED(sin)
DERIVED(cos)
DERIVED(tan)
DERIVED(sinh)
DERIVED(cosh)
DERIVED(asin)
DERIVED(acos)
DERIVED(atan)
DERIVED(asinh)
DERIVED(acosh)
DERIVED(atanh)
/* (cos(pi x) - sinc(x)) / x, the cosine by the distance to the nearest whole number as above; near 0 the series, which keeps the digits of
   the slope and of its own. */
GRADIENT_BODY(sinc,
              "q = x * x; series = ((q * -1.144510944732505 + 3.246969701133414) * q - 3.2898681336964528) * "
              "x; nearest = round(x); c = cos((x - nearest) * 3.1415926535897931); half = nearest * 0.5; far "
              "= ((half - floor(half) > 0 ? -c : c) - y) / x; dx = dy * (q < 0.0004 ? series : far)")
