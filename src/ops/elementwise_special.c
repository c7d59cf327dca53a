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
    if (!(KNI_FLOATS >> dtype & 1)) return kn_cast(x, (kn_dtype)dtype); /* integers are numbers already */
    double max = kn_dtype_limits((kn_dtype)dtype).max;
    return kni_unary_params(&kni_op_nan_to_num, x, nan, positive == positive ? positive : max,
                            negative == negative ? negative : -max);
}

SLOPE(erf, kn_mul_scalar(kn_exp(kn_neg(kn_square(INPUT))), 1.1283791670955126))
SLOPE(erfc, kn_mul_scalar(kn_exp(kn_neg(kn_square(INPUT))), -1.1283791670955126))
SLOPE(erfinv, kn_mul_scalar(kn_exp(kn_square(OUTPUT)), 0.88622692545275801))
SLOPE(lgamma, kn_digamma(INPUT))
SLOPE(digamma, kn_polygamma(INPUT, 1))
SLOPE(polygamma,
      kni_unary_params(&kni_op_polygamma, INPUT, ((const kni_scalar_params *)v->attributes)->p[0] + 1, 0, 0))

/* d/da = log(b), 0 where a is 0 and b <= 0; d/db = a/b. xlog1py has 1 + b for b. */
static kn_status xlogy_gradient(kni_vjp *v, double lowest, kn_tensor (*logarithm)(kn_tensor))
{
    kn_tensor a = kni_vjp_in(v, 0), b = kni_vjp_in(v, 1);
    if (kni_vjp_needs(v, 0)) {
        kn_tensor flat = kn_logical_and(kn_equal_scalar(a, 0), kn_less_equal_scalar(b, lowest));
        kni_vjp_set(v, 0, kni_zero_where(flat, kn_mul(v->dy[0], logarithm(b))));
    }
    if (kni_vjp_needs(v, 1))
        kni_vjp_set(v, 1, kn_mul(v->dy[0], kn_div(a, lowest < 0 ? kn_sub_scalar(b, lowest) : b)));
    return KN_OK;
}

GRADIENT(xlogy) { return xlogy_gradient(v, 0, kn_log); }
GRADIENT(xlog1py) { return xlogy_gradient(v, -1, kn_log1p); }

/* d/da = e^a / (e^a + e^b), or the same with powers of 2 */
static kn_status logaddexp_gradient(kni_vjp *v, double log_base)
{
    kn_tensor difference = kn_sub(kni_vjp_in(v, 0), kni_vjp_in(v, 1));
    if (log_base != 1) difference = kn_mul_scalar(difference, log_base);
    difference = kn_keep(difference);
    if (kni_vjp_needs(v, 0)) kni_vjp_set(v, 0, kn_mul(v->dy[0], kn_sigmoid(difference)));
    if (kni_vjp_needs(v, 1)) kni_vjp_set(v, 1, kn_mul(v->dy[0], kn_sigmoid(kn_neg(difference))));
    return KN_OK;
}

GRADIENT(logaddexp) { return logaddexp_gradient(v, 1); }
GRADIENT(logaddexp2) { return logaddexp_gradient(v, 0.69314718055994531); }

/* 1 / (x (1 - x)); outside of the clamp 0, outside of 0 to 1 NaN when there is none */
GRADIENT(logit)
{
    double eps = ((const kni_scalar_params *)v->attributes)->p[0], low = eps < 0 ? 0 : eps;
    kn_tensor x = INPUT;
    kn_tensor dx = kn_div(v->dy[0], kn_mul(x, kn_rsub_scalar(x, 1)));
    kn_tensor outside = kn_logical_or(kn_less_scalar(x, low), kn_greater_scalar(x, 1 - low));
    kni_vjp_set(v, 0, kn_where(outside, kni_number(dx, eps < 0 ? __builtin_nan("") : 0), dx));
    return KN_OK;
}

GRADIENT(nan_to_num)
{
    kni_vjp_set(v, 0, kni_where_or_zero(kn_is_finite(INPUT), v->dy[0]));
    return KN_OK;
}
