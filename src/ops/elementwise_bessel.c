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

/* slope, or `value` where x is 0. */
static kn_tensor at_zero(kn_tensor x, kn_tensor slope, double value)
{
    slope = kn_keep(slope);
    return kn_where(kn_equal_scalar(x, 0), kn_full_like(slope, value), slope);
}

/* x without zeros, for what is divided by it and not used there: gradients of gradients must not meet 0 / 0. */
static kn_tensor away(kn_tensor x) { return kn_where(kn_equal_scalar(x, 0), kn_ones_like(x), x); }

SLOPE(i0, kn_i1(INPUT))
SLOPE(i0e, kn_sub(kn_i1e(INPUT), kn_mul(kn_sign(INPUT), OUTPUT)))
SLOPE(i1, at_zero(INPUT, kn_sub(kn_i0(INPUT), kn_div(OUTPUT, away(INPUT))), 0.5))
SLOPE(i1e,
      at_zero(INPUT,
              kn_sub(kn_i0e(INPUT), kn_mul(OUTPUT, kn_add(kn_sign(INPUT), kn_reciprocal(away(INPUT))))), 0.5))
SLOPE(bessel_j0, kn_neg(kn_bessel_j1(INPUT)))
SLOPE(bessel_j1, at_zero(INPUT, kn_sub(kn_bessel_j0(INPUT), kn_div(OUTPUT, away(INPUT))), 0.5))
SLOPE(bessel_y0, kn_neg(kn_bessel_y1(INPUT)))
SLOPE(bessel_y1, kn_sub(kn_bessel_y0(INPUT), kn_div(OUTPUT, INPUT)))
SLOPE(bessel_k0, kn_neg(kn_bessel_k1(INPUT)))
SLOPE(bessel_k1, kn_neg(kn_add(kn_bessel_k0(INPUT), kn_div(OUTPUT, INPUT))))
SLOPE(bessel_k0e, kn_sub(OUTPUT, kn_bessel_k1e(INPUT)))
SLOPE(bessel_k1e, kn_sub(kn_sub(OUTPUT, kn_bessel_k0e(INPUT)), kn_div(OUTPUT, INPUT)))
SLOPE(erfcx, kn_sub_scalar(kn_mul_scalar(kn_mul(INPUT, OUTPUT), 2), 1.1283791670955126))
SLOPE(entr, kn_neg(kn_add_scalar(kn_log(INPUT), 1)))
SLOPE(ndtr, kn_mul_scalar(kn_exp(kn_mul_scalar(kn_square(INPUT), -0.5)), 0.3989422804014327))
SLOPE(log_ndtr, kn_rdiv_scalar(kn_erfcx(kn_mul_scalar(INPUT, -0.70710678118654752)), 0.7978845608028654))
SLOPE(ndtri, kn_mul_scalar(kn_exp(kn_mul_scalar(kn_square(OUTPUT), 0.5)), 2.5066282746310002))

/* (cos(x) - y) / x; by its series where the two cancel. */
GRADIENT(spherical_bessel_j0)
{
    kn_tensor x = INPUT, z = kn_keep(kn_square(x));
    /* The sum over k >= 0 of (-1)^(k+1) 2 (k + 1) / (2k + 3)! z^k, up to z^7. */
    double factorial = 1307674368000.0 * 16 * 17; /* 17! */
    kn_tensor series = kn_full_like(z, 2.0 * 8 / factorial);
    for (int k = 6; k >= 0; k--) {
        factorial /= (2.0 * k + 5) * (2.0 * k + 4);
        series = kn_add_scalar(kn_mul(series, z), (k & 1 ? 2.0 : -2.0) * (k + 1) / factorial);
    }
    kn_tensor small = kn_keep(kn_less_scalar(z, 1));
    kn_tensor divisor = kn_where(small, kn_ones_like(x), x);
    kn_tensor far = kn_div(kn_sub(kn_cos(x), OUTPUT), divisor);
    kni_vjp_set(v, 0, kn_mul(v->dy[0], kn_where(small, kn_mul(series, x), far)));
    return KN_OK;
}

static kn_status no_gradient(const char *name, const char *operand)
{
    return kni_fail_op(KN_ERROR_GRADIENT, name, "has no gradient for %s: cut its tape with kn_detach()",
                       operand);
}

/* d/db = -+ b^(a - 1) e^-b / gamma(a) */
static kn_status incomplete_gamma(kni_vjp *v, const char *name, double sign)
{
    if (kni_vjp_needs(v, 0)) return no_gradient(name, "its first operand");
    kn_tensor a = kni_vjp_in(v, 0), b = kni_vjp_in(v, 1);
    kn_tensor exponent = kn_sub(kn_sub(kn_xlogy(kn_sub_scalar(a, 1), b), b), kn_lgamma(a));
    kni_vjp_set(v, 1, kn_mul(v->dy[0], kn_mul_scalar(kn_exp(exponent), sign)));
    return KN_OK;
}

GRADIENT(igamma) { return incomplete_gamma(v, "igamma", 1); }
GRADIENT(igammac) { return incomplete_gamma(v, "igammac", -1); }

/* d/dq = -s zeta(s + 1, q) */
GRADIENT(zeta)
{
    if (kni_vjp_needs(v, 0)) return no_gradient("zeta", "its first operand");
    kn_tensor s = kni_vjp_in(v, 0);
    kn_tensor slope = kn_neg(kn_mul(s, kn_zeta(kn_add_scalar(s, 1), kni_vjp_in(v, 1))));
    kni_vjp_set(v, 1, kn_mul(v->dy[0], slope));
    return KN_OK;
}
