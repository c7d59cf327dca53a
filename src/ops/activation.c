/* Activation functions: the rows that every network uses, with gradient rows of their own. */
#include "ops/scalar_row.h"

ELEMENTWISE(relu, 1, KNI_RULE_PROMOTE, KNI_NUMBERS, "x 0 max", .doc = "max(x, 0)", .flags = KNI_FLAG_ALIAS)
ELEMENTWISE(relu_grad, 2, KNI_RULE_PROMOTE, KNI_FLOATS, "y 0 le 0 x select",
            .doc = "dy where y > 0, else 0; operands dy, y", .flags = KNI_FLAG_ALIAS)
ELEMENTWISE(sigmoid, 1, KNI_RULE_FLOAT, KNI_ALL, "x sigmoid", .doc = "1 / (1 + exp(-x))", .tolerance = {2, 0},
            .flags = KNI_FLAG_ALIAS)
ELEMENTWISE(sigmoid_grad, 2, KNI_RULE_PROMOTE, KNI_FLOATS, "x 1 y sub mul y mul",
            .doc = "dy (1 - y) y; operands dy, y", .tolerance = {2, 0}, .flags = KNI_FLAG_ALIAS)
ELEMENTWISE(tanh, 1, KNI_RULE_FLOAT, KNI_ALL, "x tanh", .doc = "hyperbolic tangent of x", .tolerance = {2, 0},
            .flags = KNI_FLAG_ALIAS)
ELEMENTWISE(tanh_grad, 2, KNI_RULE_PROMOTE, KNI_FLOATS, "x 1 y y mul sub mul",
            .doc = "dy (1 - y^2); operands dy, y", .tolerance = {2, 0}, .flags = KNI_FLAG_ALIAS)

kn_tensor kn_relu(kn_tensor x) { return kni_unary(&kni_op_relu, x); }
kn_tensor kn_sigmoid(kn_tensor x) { return kni_unary(&kni_op_sigmoid, x); }
kn_tensor kn_tanh(kn_tensor x) { return kni_unary(&kni_op_tanh, x); }

GRADIENT(relu)
{
    kni_vjp_set(v, 0, kni_binary(&kni_op_relu_grad, v->dy[0], kni_vjp_out(v, 0)));
    return KN_OK;
}

GRADIENT(relu_grad)
{
    kn_tensor y = kni_vjp_in(v, 1);
    if (kni_vjp_needs(v, 0)) kni_vjp_set(v, 0, kni_binary(&kni_op_relu_grad, v->dy[0], y));
    if (kni_vjp_needs(v, 1)) kni_vjp_set(v, 1, kn_mul_scalar(y, 0));
    return KN_OK;
}

GRADIENT(sigmoid)
{
    kni_vjp_set(v, 0, kni_binary(&kni_op_sigmoid_grad, v->dy[0], kni_vjp_out(v, 0)));
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

GRADIENT(tanh)
{
    kni_vjp_set(v, 0, kni_binary(&kni_op_tanh_grad, v->dy[0], kni_vjp_out(v, 0)));
    return KN_OK;
}

/* of dy (1 - y^2): to y -2 dy y */
GRADIENT(tanh_grad)
{
    kn_tensor y = kni_vjp_in(v, 1);
    if (kni_vjp_needs(v, 0)) kni_vjp_set(v, 0, kni_binary(&kni_op_tanh_grad, v->dy[0], y));
    if (kni_vjp_needs(v, 1))
        kni_vjp_set(v, 1, kn_mul(kn_mul(v->dy[0], kni_vjp_in(v, 0)), kn_mul_scalar(y, -2)));
    return KN_OK;
}
