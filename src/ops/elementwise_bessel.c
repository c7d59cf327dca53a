/* Bessel functions, incomplete gamma functions, Hurwitz's zeta function, and functions of the normal distribution. */
#include "ops/scalar_row.h"

#define FUNCTION(name, body, text)                                                                           \
    ELEMENTWISE(name, 1, KNI_RULE_FLOAT, KNI_ALL, body, .doc = text, .tolerance = {16, 0},                   \
                .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE)
/* Beside its zeros the error is one of the envelope, not of the value. */
#define WAVE(name, body, text)                                                                               \
    ELEMENTWISE(name, 1, KNI_RULE_FLOAT, KNI_ALL, body, .doc = text, .tolerance = {8, 4},                    \
                .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE)
#define PAIR(name, body, text)                                                                               \
    ELEMENTWISE(name, 2, KNI_RULE_FLOAT, KNI_ALL, body, .doc = text, .tolerance = {16, 0},                   \
                .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE)

FUNCTION(i0, "y = i0(x)", "modified Bessel function of the first kind, order 0")
FUNCTION(i0e, "y = i0e(x)", "e^-|x| i0(x)")
FUNCTION(i1, "y = i1(x)", "modified Bessel function of the first kind, order 1")
FUNCTION(i1e, "y = i1e(x)", "e^-|x| i1(x)")
FUNCTION(bessel_k0, "y = bessel_k0(x)", "modified Bessel function of the second kind, order 0")
FUNCTION(bessel_k1, "y = bessel_k1(x)", "modified Bessel function of the second kind, order 1")
FUNCTION(bessel_k0e, "y = bessel_k0e(x)", "e^x bessel_k0(x)")
FUNCTION(bessel_k1e, "y = bessel_k1e(x)", "e^x bessel_k1(x)")
WAVE(bessel_j0, "y = bessel_j0(x)", "Bessel function of the first kind, order 0")
WAVE(bessel_j1, "y = bessel_j1(x)", "Bessel function of the first kind, order 1")
WAVE(bessel_y0, "y = bessel_y0(x)", "Bessel function of the second kind, order 0")
WAVE(bessel_y1, "y = bessel_y1(x)", "Bessel function of the second kind, order 1")
WAVE(spherical_bessel_j0, "y = x == 0 ? 1 : abs(x) == inf ? 0 : sin(x) / x", "sin(x) / x, 1 at 0")
PAIR(igamma, "y = igamma(a, b)", "lower incomplete gamma function of a at b, divided by gamma(a)")
PAIR(igammac, "y = igammac(a, b)", "upper incomplete gamma function of a at b, divided by gamma(a)")
PAIR(zeta, "y = zeta(a, b)", "sum over k >= 0 of (b + k)^-a")
FUNCTION(erfcx, "y = erfcx(x)", "e^(x^2) erfc(x)")
FUNCTION(entr, "p = -x * log(x); y = x == 0 ? 0 : x < 0 ? -inf : p", "-x log(x); 0 at 0, -inf below")
FUNCTION(ndtr, "y = normal_cdf(x)", "probability that a normal number is below x")
FUNCTION(log_ndtr,
         "far = log(0.5 * erfcx(x * -0.70710678118654752)) - 0.5 * x * x;"
         "y = x < -5 ? far : x < -1 ? log(normal_cdf(x)) : log1p(-normal_cdf(-x))",
         "log(ndtr(x))")
FUNCTION(ndtri, "y = normal_quantile(x)", "inverse of ndtr")

kn_tensor kn_i0(kn_tensor x) { return kni_unary(&kni_op_i0, x); }
kn_tensor kn_i0e(kn_tensor x) { return kni_unary(&kni_op_i0e, x); }
kn_tensor kn_i1(kn_tensor x) { return kni_unary(&kni_op_i1, x); }
kn_tensor kn_i1e(kn_tensor x) { return kni_unary(&kni_op_i1e, x); }
kn_tensor kn_bessel_j0(kn_tensor x) { return kni_unary(&kni_op_bessel_j0, x); }
kn_tensor kn_bessel_j1(kn_tensor x) { return kni_unary(&kni_op_bessel_j1, x); }
kn_tensor kn_bessel_y0(kn_tensor x) { return kni_unary(&kni_op_bessel_y0, x); }
kn_tensor kn_bessel_y1(kn_tensor x) { return kni_unary(&kni_op_bessel_y1, x); }
kn_tensor kn_bessel_k0(kn_tensor x) { return kni_unary(&kni_op_bessel_k0, x); }
kn_tensor kn_bessel_k1(kn_tensor x) { return kni_unary(&kni_op_bessel_k1, x); }
kn_tensor kn_bessel_k0e(kn_tensor x) { return kni_unary(&kni_op_bessel_k0e, x); }
kn_tensor kn_bessel_k1e(kn_tensor x) { return kni_unary(&kni_op_bessel_k1e, x); }
kn_tensor kn_spherical_bessel_j0(kn_tensor x) { return kni_unary(&kni_op_spherical_bessel_j0, x); }
kn_tensor kn_igamma(kn_tensor a, kn_tensor x) { return kni_binary(&kni_op_igamma, a, x); }
kn_tensor kn_igammac(kn_tensor a, kn_tensor x) { return kni_binary(&kni_op_igammac, a, x); }
kn_tensor kn_zeta(kn_tensor s, kn_tensor q) { return kni_binary(&kni_op_zeta, s, q); }
kn_tensor kn_erfcx(kn_tensor x) { return kni_unary(&kni_op_erfcx, x); }
kn_tensor kn_entr(kn_tensor x) { return kni_unary(&kni_op_entr, x); }
kn_tensor kn_ndtr(kn_tensor x) { return kni_unary(&kni_op_ndtr, x); }
kn_tensor kn_log_ndtr(kn_tensor x) { return kni_unary(&kni_op_log_ndtr, x); }
kn_tensor kn_ndtri(kn_tensor x) { return kni_unary(&kni_op_ndtri, x); }

kn_tensor kn_mvlgamma(kn_tensor x, int32_t p)
{
    kni_call call = kni_call_begin("mvlgamma");
    if (p < 1) return kni_call_fail(call, KN_ERROR_ARGUMENT, "p is %d: it must be at least 1", (int)p);
    if (p > 1000) return kni_call_fail(call, KN_ERROR_ARGUMENT, "p is %d: it must be at most 1000", (int)p);
    x = kn_keep(x);
    kn_tensor sum = kn_lgamma(x);
    for (int i = 1; i < p; i++) sum = kn_add(sum, kn_lgamma(kn_sub_scalar(x, 0.5 * i)));
    return kni_call_end(call, kn_add_scalar(sum, 0.25 * p * (p - 1) * 1.1447298858494002));
}

/* ---- gradients */

DERIVED(i0)
DERIVED(i0e)
DERIVED(i1)
DERIVED(i1e)
DERIVED(bessel_j0)
DERIVED(bessel_j1)
DERIVED(bessel_y0)
DERIVED(bessel_y1)
DERIVED(bessel_k0)
DERIVED(bessel_k1)
DERIVED(bessel_k0e)
DERIVED(bessel_k1e)
/* Far out the two terms cancel: 2 / sqrt(pi) times the sum over n >= 1 of (-1)^n (2n - 1)!! / (2 x^2)^n. */
GRADIENT_BODY(
    erfcx,
    "r = 0.5 / (x * x); far = (((((((r * 2027025 - 135135) * r + 10395) * r - 945) * r + 105) * r - 15) * r "
    "+ 3) * r - 1) * r * 1.1283791670955126; dx = dy * (x > 12 ? far : 2 * x * y - 1.1283791670955126)")
GRADIENT_BODY(entr, "dx = -dy * (log(x) + 1)")
DERIVED(ndtr)
GRADIENT_BODY(log_ndtr, "dx = dy * (0.7978845608028654 / erfcx(x * -0.70710678118654752))")
DERIVED(ndtri)
/* (cos(x) - y) / x; by its series where the two cancel: the sum over k >= 0 of (-1)^(k+1) 2 (k + 1) / (2k + 3)! z^k. */
GRADIENT_BODY(spherical_bessel_j0,
              "z = x * x; series = (((((((4.498331606952833e-14 * z - 1.0706029224547743e-11) * z + "
              "1.9270852604185937e-09) * z - 2.5052108385441718e-07) * z + 2.2045855379188714e-05) * z - "
              "0.0011904761904761906) * z + 0.033333333333333333) * z - 0.33333333333333331) * x; dx = dy * "
              "(z < 1 ? series : (cos(x) - y) / x)")
/* As in PyTorch there is none for the first operand. */
DERIVED_FOR(igamma, "b")
DERIVED_FOR(igammac, "b")
DERIVED_FOR(zeta, "b")
