/* Activation functions that every network uses, with gradient rows of their own. */
#include "ops/defined.h"
#include "ops/scalar_row.h"
#include "ops/wide.h"

/* roots is 1 where terms cancel: the error is then relative to the operand. */
#define ACTIVATION(name, roots, body, text)                                                                  \
    ELEMENTWISE(name, 1, KNI_RULE_FLOAT, KNI_ALL, body, .doc = text, .tolerance = {4, roots},                \
                .flags = KNI_FLAG_ALIAS)
/* Operands dy and what the doc names. */
#define ACTIVATION_GRAD(name, body, text, more, ...)                                                         \
    ELEMENTWISE(name, 2, KNI_RULE_PROMOTE, KNI_FLOATS, body, .in = "dy x", .out = "dx", .doc = text,         \
                .tolerance = {4, 1}, .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE | (more), .wide = &kni_wide,    \
                __VA_ARGS__)

ELEMENTWISE(relu, 1, KNI_RULE_PROMOTE, KNI_NUMBERS, "y = max(x, 0)", .doc = "max(x, 0)",
            .flags = KNI_FLAG_ALIAS)
ELEMENTWISE(relu_grad, 2, KNI_RULE_PROMOTE, KNI_FLOATS, "dx = y <= 0 ? 0 : dy", .in = "dy y", .out = "dx",
            .doc = "y <= 0 ? 0 : dy, of operands dy, y", .flags = KNI_FLAG_ALIAS)
ACTIVATION(sigmoid, 0, "y = sigmoid(x)", "1 / (1 + exp(-x))")
ELEMENTWISE(sigmoid_grad, 2, KNI_RULE_PROMOTE, KNI_FLOATS, "dx = dy * (1 - y) * y", .in = "dy y", .out = "dx",
            .doc = "dy (1 - y) y, of operands dy, y", .tolerance = {2, 0}, .flags = KNI_FLAG_ALIAS)
ACTIVATION(tanh, 0, "y = tanh(x)", "hyperbolic tangent of x")
/* dy comes first: 0 times the square of a large y would be NaN. */
ELEMENTWISE(tanh_grad, 2, KNI_RULE_PROMOTE, KNI_FLOATS, "dx = dy * (1 - y) * (1 + y)", .in = "dy y",
            .out = "dx", .doc = "dy (1 - y) (1 + y), of operands dy, y", .tolerance = {2, 0},
            .flags = KNI_FLAG_ALIAS)

kn_tensor kn_relu(kn_tensor x) { return kni_unary(&kni_op_relu, x); }
kn_tensor kn_sigmoid(kn_tensor x) { return kni_unary(&kni_op_sigmoid, x); }
kn_tensor kn_tanh(kn_tensor x) { return kni_unary(&kni_op_tanh, x); }

static kn_status use_gradient_row(kni_vjp *v, const kn_op *row, kn_tensor saved)
{
    kni_vjp_set(v, 0, kni_binary(row, v->dy[0], saved));
    return KN_OK;
}

GRADIENT(relu) { return use_gradient_row(v, &kni_op_relu_grad, OUTPUT); }
GRADIENT(sigmoid) { return use_gradient_row(v, &kni_op_sigmoid_grad, OUTPUT); }
GRADIENT(tanh) { return use_gradient_row(v, &kni_op_tanh_grad, OUTPUT); }

/* Nothing flows to y, whose derivative jumps at 0 and is flat elsewhere. */
GRADIENT(relu_grad)
{
    kn_tensor y = kni_vjp_in(v, 1);
    if (kni_vjp_needs(v, 0)) kni_vjp_set(v, 0, kni_binary(&kni_op_relu_grad, v->dy[0], y));
    if (kni_vjp_needs(v, 1)) kni_vjp_set(v, 1, kn_zeros_like(y));
    return KN_OK;
}

/* of dy (1 - y) y: to y dy (1 - 2 y) */
GRADIENT(sigmoid_grad)
{
    kn_tensor y = kni_vjp_in(v, 1);
    if (kni_vjp_needs(v, 0)) kni_vjp_set(v, 0, kni_binary(&kni_op_sigmoid_grad, v->dy[0], y));
    if (kni_vjp_needs(v, 1)) {
        kn_tensor slope = kn_rsub_scalar(kn_mul_scalar(y, 2), 1);
        kni_vjp_set(v, 1, kn_mul(kn_mul(v->dy[0], kni_vjp_in(v, 0)), slope));
    }
    return KN_OK;
}

/* of dy (1 - y^2): to y -2 dy y */
GRADIENT(tanh_grad)
{
    kn_tensor y = kni_vjp_in(v, 1);
    if (kni_vjp_needs(v, 0)) kni_vjp_set(v, 0, kni_binary(&kni_op_tanh_grad, v->dy[0], y));
    if (kni_vjp_needs(v, 1))
        kni_vjp_set(v, 1, kn_mul_scalar(kn_mul(kn_mul(v->dy[0], kni_vjp_in(v, 0)), y), -2));
    return KN_OK;
}

/* ---- gelu, exact: x P(x) with P the normal distribution and p its density, P' = p, p' = -x p. P is
   a word, because (1 + erf(x / sqrt(2))) / 2 loses its digits far below zero. */

ELEMENTWISE(gelu, 1, KNI_RULE_FLOAT, KNI_ALL, "y = x * normal_cdf(x)", .doc = "x (1 + erf(x / sqrt(2))) / 2",
            .tolerance = {8, 0}, .flags = KNI_FLAG_ALIAS | KNI_FLAG_SHORT_HALF)

ACTIVATION_GRAD(gelu_grad, "dx = (exp(x * x * -0.5) * 0.3989422804014327 * x + normal_cdf(x)) * dy",
                "dy (P(x) + x p(x)), of operands dy, x", KNI_FLAG_SHORT_HALF, .lower = kni_defined_lower)

kn_tensor kn_gelu(kn_tensor x) { return kni_unary(&kni_op_gelu, x); }
GRADIENT(gelu) { return use_gradient_row(v, &kni_op_gelu_grad, INPUT); }

/* ---- gelu by tanh: (1 + tanh(u/2)) / 2 is sigmoid(u), with u = sqrt(8/pi) (x + 0.044715 x^3) */

ELEMENTWISE(gelu_approximate, 1, KNI_RULE_FLOAT, KNI_ALL,
            "y = sigmoid((x * x * 0.044715 + 1) * x * 1.5957691216057308) * x",
            .doc = "x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2", .tolerance = {4, 1},
            .known = KNI_KNOWN_GELU_TANH,
            .flags = KNI_FLAG_ALIAS | KNI_FLAG_SHORT_HALF | KNI_FLAG_SHORT_SINGLE)

/* 1 - s leaves too few digits of an f32 for a short sigmoid. Beyond 100 the sigmoid is 0 or 1 in all digits: the bound changes nothing there, and keeps x^3 from overflowing. */
ACTIVATION_GRAD(gelu_approximate_grad,
                "v = max(min(x, 100), -100); square = v * v; "
                "s = sigmoid((square * 0.071354816272600242 + 1.5957691216057308) * v); dx = "
                "((square * 0.21406444881780073 + 1.5957691216057308) * v * (1 - s) + 1) * s * dy",
                "dy (s + x s (1 - s) u'), s = sigmoid(u), of operands dy, x", KNI_FLAG_SHORT_HALF,
                .known = KNI_KNOWN_GELU_TANH_GRAD, .lower = kni_defined_lower)

kn_tensor kn_gelu_approximate(kn_tensor x) { return kni_unary(&kni_op_gelu_approximate, x); }
GRADIENT(gelu_approximate) { return use_gradient_row(v, &kni_op_gelu_approximate_grad, INPUT); }

/* ---- silu */

ELEMENTWISE(silu, 1, KNI_RULE_FLOAT, KNI_ALL, "y = x * sigmoid(x)", .doc = "x sigmoid(x)",
            .tolerance = {4, 0}, .flags = KNI_FLAG_ALIAS | KNI_FLAG_SHORT_HALF)

ACTIVATION_GRAD(silu_grad, "s = sigmoid(x); dx = ((1 - s) * x + 1) * s * dy",
                "dy s (1 + x (1 - s)), s = sigmoid(x), of operands dy, x", KNI_FLAG_SHORT_HALF,
                .lower = kni_defined_lower)

kn_tensor kn_silu(kn_tensor x) { return kni_unary(&kni_op_silu, x); }
GRADIENT(silu) { return use_gradient_row(v, &kni_op_silu_grad, INPUT); }

/* ---- mish: tanh(log(1 + e)) is n / (n + 2) with n = e (e + 2), e = exp(x); past 20 it is 1 in every dtype */

ACTIVATION(mish, 0, "e = exp(min(x, 20)); n = e * (e + 2); y = n / (n + 2) * x", "x tanh(log(1 + exp(x)))")

ACTIVATION_GRAD(mish_grad,
                "e = exp(min(x, 20)); n = e * (e + 2); t = n / (n + 2); dx = ((1 - t) * (1 + t) * x * "
                "sigmoid(x) + t) * dy",
                "dy (t + x sigmoid(x) (1 - t^2)), t = tanh(log(1 + exp(x))), of operands dy, x", 0,
                .lower = kni_defined_lower)

kn_tensor kn_mish(kn_tensor x) { return kni_unary(&kni_op_mish, x); }
GRADIENT(mish) { return use_gradient_row(v, &kni_op_mish_grad, INPUT); }
