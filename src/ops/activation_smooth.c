/* Activation functions with exponentials: softplus, the elu family, gated ones. */
#include "ops/defined.h"
#include "ops/scalar_row.h"
#include "ops/wide.h"

static const kn_attribute softplus_schema[] = {KNI_NUMBER("beta", 0), KNI_NUMBER("threshold", 1), {0}};
static const kn_attribute alpha_schema[] = {KNI_NUMBER("alpha", 0), {0}};

#define ACTIVATION(name, body, text)                                                                         \
    ELEMENTWISE(name, 1, KNI_RULE_FLOAT, KNI_ALL, body, .doc = text, .tolerance = {4, 0},                    \
                .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE)
#define ACTIVATION_NUMBERS(name, schema, body, text)                                                         \
    ELEMENTWISE_NUMBERS(name, 1, KNI_RULE_FLOAT, KNI_ALL, body, schema, .doc = text, .tolerance = {4, 0},    \
                        .flags = KNI_FLAG_ALIAS)

/* ---- softplus: max(b x, 0) + log(1 + exp(-|b x|)) does not overflow */

ELEMENTWISE_NUMBERS(softplus, 1, KNI_RULE_FLOAT, KNI_ALL,
                    "b = x * beta; y = b > threshold ? x : (max(b, 0) + log1p(exp(-abs(b)))) / beta",
                    softplus_schema, .doc = "log(1 + exp(beta x)) / beta; x where beta x > threshold",
                    .tolerance = {4, 0}, .flags = KNI_FLAG_ALIAS, .autocast = KNI_AUTOCAST_WIDEN)

ELEMENTWISE_NUMBERS(softplus_grad, 2, KNI_RULE_PROMOTE, KNI_FLOATS,
                    "b = x * beta; dx = b > threshold ? dy : sigmoid(b) * dy", softplus_schema, .in = "dy x",
                    .out = "dx", .doc = "dy sigmoid(beta x), dy where beta x > threshold, of operands dy, x",
                    .lower = kni_defined_lower, .tolerance = {4, 0}, .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE,
                    .wide = &kni_wide)

kn_tensor kn_softplus(kn_tensor x, double beta, double threshold)
{
    return kni_unary_params(&kni_op_softplus, x, beta, threshold, 0);
}

GRADIENT(softplus)
{
    kn_tensor in[2] = {v->dy[0], INPUT};
    kni_vjp_set(v, 0, kni_apply(&kni_op_softplus_grad, in, 2, v->attributes));
    return KN_OK;
}

ACTIVATION(log_sigmoid, "y = min(x, 0) - log1p(exp(-abs(x)))", "log(sigmoid(x))")
kn_tensor kn_log_sigmoid(kn_tensor x) { return kni_unary(&kni_op_log_sigmoid, x); }

/* ---- elu, celu and selu share the gradient row: x > 0 ? dy right : dy left exp(x inside) */

ACTIVATION_NUMBERS(elu, alpha_schema, "y = x > 0 ? x : expm1(x) * alpha", "x > 0 ? x : alpha (exp(x) - 1)")
ACTIVATION_NUMBERS(celu, alpha_schema, "y = x > 0 ? x : expm1(x / alpha) * alpha",
                   "x > 0 ? x : alpha (exp(x / alpha) - 1)")
ACTIVATION(selu, "y = x > 0 ? x * 1.0507009873554805 : expm1(x) * 1.7580993408473766",
           "1.0507 (x > 0 ? x : 1.6733 (exp(x) - 1))")

static const kn_attribute elu_grad_schema[] = {
    KNI_NUMBER("left", 0), KNI_NUMBER("right", 1), KNI_NUMBER("inside", 2), {0}};
static kn_status lower_elu_grad(kni_lowering *l)
{
    const double *p = ((const kni_scalar_params *)l->attributes)->p;
    kn_tensor dy = l->in[0], x = l->in[1];
    /* The side that is not chosen must stay finite: its gradient is 0 times its slope. */
    kn_tensor below = kn_keep(kn_less_equal_scalar(x, 0));
    kn_tensor bend = kn_exp(kn_mul_scalar(kni_where_or_zero(below, x), p[2]));
    l->out[0] = kn_where(below, kn_mul(kn_mul_scalar(dy, p[0]), bend), kn_mul_scalar(dy, p[1]));
    return KN_OK;
}
ELEMENTWISE_NUMBERS(elu_grad, 2, KNI_RULE_PROMOTE, KNI_FLOATS,
                    "dx = x <= 0 ? exp(x * inside) * left * dy : dy * right", elu_grad_schema, .in = "dy x",
                    .out = "dx", .doc = "x <= 0 ? dy left exp(x inside) : dy right, of operands dy, x",
                    .lower = lower_elu_grad, .tolerance = {4, 0}, .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE,
                    .wide = &kni_wide)

kn_tensor kn_elu(kn_tensor x, double alpha) { return kni_unary_params(&kni_op_elu, x, alpha, 0, 0); }
kn_tensor kn_selu(kn_tensor x) { return kni_unary(&kni_op_selu, x); }

kn_tensor kn_celu(kn_tensor x, double alpha) { return kni_unary_params(&kni_op_celu, x, alpha, 0, 0); }

static kn_status elu_gradient(kni_vjp *v, double left, double right, double inside)
{
    kn_tensor in[2] = {v->dy[0], INPUT};
    kni_vjp_set(v, 0, kni_with_numbers(&kni_op_elu_grad, in, 2, left, right, inside));
    return KN_OK;
}

static double alpha_of(const kni_vjp *v) { return ((const kni_scalar_params *)v->attributes)->p[0]; }

GRADIENT(elu) { return elu_gradient(v, alpha_of(v), 1, 1); }
GRADIENT(celu) { return elu_gradient(v, 1, 1, 1 / alpha_of(v)); }
GRADIENT(selu) { return elu_gradient(v, 1.7580993408473766, 1.0507009873554805, 1); }

/* ---- others */

/* Below 1 the difference would cancel: tanh(x) = x / (1 + t) with Lambert's fraction t = x^2 / (3 + x^2 / (5 + ..)),
   so x - tanh(x) = x t / (1 + t). */
ELEMENTWISE(tanhshrink, 1, KNI_RULE_FLOAT, KNI_ALL,
            "q = x * x; t = q / (q / (q / (q / (q / (q / (q / (q / (q / 19 + 17) + 15) + 13) + 11) + 9) + 7) "
            "+ 5) + 3); y = abs(x) < 1 ? x * t / (t + 1) : x - tanh(x)",
            .doc = "x - tanh(x)", .tolerance = {8, 1}, .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE)
ACTIVATION(softsign, "y = x / (abs(x) + 1)", "x / (1 + |x|)")
kn_tensor kn_tanhshrink(kn_tensor x) { return kni_unary(&kni_op_tanhshrink, x); }
kn_tensor kn_softsign(kn_tensor x) { return kni_unary(&kni_op_softsign, x); }

kn_tensor kn_glu(kn_tensor x, int32_t axis)
{
    kni_call call = kni_call_begin("glu");
    x = kn_keep(x);
    if (!kn_ok(x)) return kni_call_end(call, x);
    int64_t size = kn_size(x, axis);
    if (size < 0)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "axis %d is outside a tensor of rank %d", (int)axis,
                             (int)kn_rank(x));
    if (size % 2)
        return kni_call_fail(call, KN_ERROR_SHAPE,
                             "axis %d has the odd size %D; halving it needs an even one", (int)axis, size);
    kn_tensor gate = kn_sigmoid(kni_widen(kn_narrow(x, axis, size / 2, size / 2)));
    kn_tensor y = kn_mul(kni_widen(kn_narrow(x, axis, 0, size / 2)), gate);
    return kni_call_end_as(call, y, kn_dtype_is_float(kn_dtype_of(x)) ? (int)kn_dtype_of(x) : 0);
}

GRADIENT_BODY(log_sigmoid, "dx = dy * sigmoid(-x)")
GRADIENT_BODY(tanhshrink, "t = tanh(x); dx = dy * (t * t)")
GRADIENT_BODY(softsign, "s = abs(x) + 1; dx = dy / (s * s)")
