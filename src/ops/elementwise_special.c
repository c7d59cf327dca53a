/* Error, gamma and logarithmic functions, and replacing values that are not numbers. */
#include "ops/scalar_row.h"

#define TREATED(name, body, text, policy)                                                                    \
    ELEMENTWISE(name, 1, KNI_RULE_FLOAT, KNI_ALL, body, .doc = text, .tolerance = {4, 0},                    \
                .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE, .autocast = KNI_AUTOCAST_##policy)
#define FUNCTION(name, body, text) TREATED(name, body, text, NONE)
#define WIDENED(name, body, text) TREATED(name, body, text, WIDEN)

FUNCTION(erf, "y = erf(x)", "2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x")
FUNCTION(erfc, "y = erfc(x)", "1 - erf(x), accurate for large x")
WIDENED(erfinv, "y = erfinv(x)", "inverse of erf")
FUNCTION(lgamma, "y = lgamma(x)", "logarithm of |gamma(x)|")
ELEMENTWISE(digamma, 1, KNI_RULE_FLOAT, KNI_ALL, "y = digamma(x)", .doc = "derivative of log(gamma(x))",
            .tolerance = {4, 1}, .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE)

/* Orders above 170, whose factorial is no f64 any more, give NaN. */
static kn_status infer_polygamma(kni_infer *c)
{
    double order = ((const kni_scalar_params *)c->attributes)->p[0];
    if (!(order >= 1 && order <= INT32_MAX) || order != (double)(int32_t)order)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "order %g is no whole number from 1 to %d", order,
                              INT32_MAX);
    return kni_infer_row(c);
}

static const kn_attribute order_schema[] = {KNI_NUMBER("order", 0), {0}};
BODY(polygamma, "y = polygamma(order, x)")
OP(polygamma, .min_in = 1, .max_in = 1, .n_out = 1, .kind = KNI_ELEMENTWISE, .rule = KNI_RULE_FLOAT,
   .dtypes = KNI_ALL, .infer = infer_polygamma, .body = &kni_body_polygamma, .native = &kni_cpu_polygamma,
   .schema = order_schema, .attribute_bytes = sizeof(kni_scalar_params),
   .doc = "derivative number `order` of digamma(x)", .tolerance = {16, 0},
   .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE)
ELEMENTWISE(xlogy, 2, KNI_RULE_FLOAT, KNI_ALL, "p = a * log(b); y = a == 0 && !isnan(b) ? 0 : p",
            .doc = "a log(b), 0 where a is 0 and b is a number", .tolerance = {2, 0},
            .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE)
ELEMENTWISE(
    logaddexp, 2, KNI_RULE_FLOAT, KNI_ALL,
    "top = max(a, b); rest = log1p(exp(-abs(a - b))); y = a == b ? top + 0.69314718055994531 : top + rest",
    .doc = "log(e^a + e^b)", .tolerance = {2, 1}, .flags = KNI_FLAG_COMMUTES | KNI_FLAG_ALIAS | KNI_FLAG_WIDE)
ELEMENTWISE(logaddexp2, 2, KNI_RULE_FLOAT, KNI_ALL,
            "top = max(a, b); rest = log1p(exp2(-abs(a - b))) * 1.4426950408889634; "
            "y = a == b ? top + 1 : top + rest",
            .doc = "log2(2^a + 2^b)", .tolerance = {2, 1},
            .flags = KNI_FLAG_COMMUTES | KNI_FLAG_ALIAS | KNI_FLAG_WIDE)
ELEMENTWISE(xlog1py, 2, KNI_RULE_FLOAT, KNI_ALL, "p = a * log1p(b); y = a == 0 && !isnan(b) ? 0 : p",
            .doc = "a log(1 + b), 0 where a is 0 and b is a number", .tolerance = {2, 0},
            .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE)
ELEMENTWISE(heaviside, 2, KNI_RULE_PROMOTE, KNI_ALL, "y = a == 0 ? b : a > 0 ? 1 : 0",
            .doc = "0 below 0, b at 0, 1 above 0", .flags = KNI_FLAG_ALIAS | KNI_FLAG_ZERO_GRADIENT)

static const kn_attribute eps_schema[] = {KNI_NUMBER("eps", 0), {0}};
ELEMENTWISE_NUMBERS(logit, 1, KNI_RULE_FLOAT, KNI_ALL,
                    "z = eps < 0 ? x : min(max(x, eps), 1 - eps); y = log(z / (1 - z))", eps_schema,
                    .doc = "log(z / (1 - z)) with z = x, or x clamped to eps and 1 - eps where eps >= 0",
                    .tolerance = {4, 1}, .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE)
static const kn_attribute nan_schema[] = {
    KNI_NUMBER("nan", 0), KNI_NUMBER("positive", 1), KNI_NUMBER("negative", 2), {0}};
ELEMENTWISE_NUMBERS(nan_to_num, 1, KNI_RULE_PROMOTE, KNI_FLOATS,
                    "y = isnan(x) ? nan : x == inf ? positive : x == -inf ? negative : x", nan_schema,
                    .doc = "x with NaN and the infinities replaced", .flags = KNI_FLAG_ALIAS)

kn_tensor kn_erf(kn_tensor x) { return kni_unary(&kni_op_erf, x); }
kn_tensor kn_erfc(kn_tensor x) { return kni_unary(&kni_op_erfc, x); }
kn_tensor kn_erfinv(kn_tensor x) { return kni_unary(&kni_op_erfinv, x); }
kn_tensor kn_lgamma(kn_tensor x) { return kni_unary(&kni_op_lgamma, x); }
kn_tensor kn_digamma(kn_tensor x) { return kni_unary(&kni_op_digamma, x); }
kn_tensor kn_xlogy(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_xlogy, a, b); }
kn_tensor kn_logaddexp(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_logaddexp, a, b); }
kn_tensor kn_logaddexp2(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_logaddexp2, a, b); }
kn_tensor kn_xlog1py(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_xlog1py, a, b); }
kn_tensor kn_heaviside(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_heaviside, a, b); }
kn_tensor kn_logit(kn_tensor x, double eps) { return kni_unary_params(&kni_op_logit, x, eps, 0, 0); }

kn_tensor kn_polygamma(kn_tensor x, int32_t order)
{
    kni_call call = kni_call_begin("polygamma");
    if (order < 0) return kni_call_fail(call, KN_ERROR_ARGUMENT, "order %d is negative", (int)order);
    if (order == 0) return kni_call_end(call, kn_digamma(x));
    return kni_call_end(call, kni_unary_params(&kni_op_polygamma, x, order, 0, 0));
}

kn_tensor kn_nan_to_num(kn_tensor x, double nan, double positive, double negative)
{
    const kni_tensor *t = kni_peek(x);
    int dtype = t ? t->type.dtype : KN_F32;
    if (kni_dtypes[dtype].kind != KNI_KIND_FLOAT)
        return kn_cast(x, (kn_dtype)dtype); /* integers are numbers already */
    double max = kn_dtype_limits((kn_dtype)dtype).max;
    return kni_unary_params(&kni_op_nan_to_num, x, nan, positive == positive ? positive : max,
                            negative == negative ? negative : -max);
}

/* ---- gradients */

DERIVED(erf)
DERIVED(erfc)
DERIVED(erfinv)
DERIVED(lgamma)
DERIVED(digamma)
DERIVED(polygamma)
GRADIENT_BODY(xlogy, "da = a == 0 && b <= 0 ? 0 : dy * log(b); db = dy * a / b")
GRADIENT_BODY(xlog1py, "da = a == 0 && b <= -1 ? 0 : dy * log1p(b); db = dy * a / (b + 1)")
/* e^a / (e^a + e^b); infinities that are equal share. */
GRADIENT_BODY(
    logaddexp,
    "share = a == b && abs(a) == inf; da = dy * (share ? 0.5 : sigmoid(a - b)); db = dy * (share ? 0.5 : "
    "sigmoid(b - a))")
GRADIENT_BODY(logaddexp2,
              "share = a == b && abs(a) == inf; da = dy * (share ? 0.5 : sigmoid((a - b) * "
              "0.69314718055994531)); db = dy * (share ? 0.5 : sigmoid((b - a) * 0.69314718055994531))")
/* 1 / (x (1 - x)); outside of the clamp 0, outside of 0 to 1 NaN where there is none. */
GRADIENT_BODY(logit, "low = max(eps, 0); none = eps < 0 ? inf - inf : 0; dx = x < low || x > 1 - low ? none "
                     ": dy / (x * (1 - x))")
GRADIENT_BODY(nan_to_num, "dx = isfinite(x) ? dy : 0")
