/* Functions of one operand: sign, powers, exponentials and logarithms. */
#include "ops/scalar_row.h"

ELEMENTWISE(neg, 1, KNI_RULE_PROMOTE, KNI_NUMBERS, "x neg", .doc = "-x", .flags = KNI_FLAG_ALIAS)
ELEMENTWISE(abs, 1, KNI_RULE_PROMOTE, KNI_NUMBERS, "x abs", .doc = "|x|", .flags = KNI_FLAG_ALIAS)
ELEMENTWISE(exp, 1, KNI_RULE_FLOAT, KNI_ALL, "x exp", .doc = "e to the power of x", .tolerance = {2, 0},
            .flags = KNI_FLAG_ALIAS)
ELEMENTWISE(log, 1, KNI_RULE_FLOAT, KNI_ALL, "x log", .doc = "natural logarithm of x", .tolerance = {2, 0},
            .flags = KNI_FLAG_ALIAS)
ELEMENTWISE(sqrt, 1, KNI_RULE_FLOAT, KNI_ALL, "x sqrt", .doc = "square root of x", .flags = KNI_FLAG_ALIAS)

kn_tensor kn_neg(kn_tensor x) { return kni_unary(&kni_op_neg, x); }
kn_tensor kn_abs(kn_tensor x) { return kni_unary(&kni_op_abs, x); }
kn_tensor kn_exp(kn_tensor x) { return kni_unary(&kni_op_exp, x); }
kn_tensor kn_log(kn_tensor x) { return kni_unary(&kni_op_log, x); }
kn_tensor kn_sqrt(kn_tensor x) { return kni_unary(&kni_op_sqrt, x); }

ELEMENTWISE(square, 1, KNI_RULE_PROMOTE, KNI_NUMBERS, "x x mul", .doc = "x^2", .flags = KNI_FLAG_ALIAS)
ELEMENTWISE(trunc, 1, KNI_RULE_PROMOTE, KNI_NUMBERS, "x trunc", .doc = "x without its fraction",
            .flags = KNI_FLAG_ALIAS | KNI_FLAG_ZERO_GRADIENT)
kn_tensor kn_square(kn_tensor x) { return kni_unary(&kni_op_square, x); }
kn_tensor kn_trunc(kn_tensor x) { return kni_unary(&kni_op_trunc, x); }

GRADIENT(neg)
{
    kni_vjp_set(v, 0, kn_neg(v->dy[0]));
    return KN_OK;
}

/* 0 at 0 */
GRADIENT(abs)
{
    kn_tensor x = kni_vjp_in(v, 0);
    kn_tensor flat_or_up = kni_where_or_zero(kn_greater_scalar(x, 0), v->dy[0]);
    kni_vjp_set(v, 0, kn_where(kn_less_scalar(x, 0), kn_neg(v->dy[0]), flat_or_up));
    return KN_OK;
}

GRADIENT(exp)
{
    kni_vjp_set(v, 0, kn_mul(v->dy[0], kni_vjp_out(v, 0)));
    return KN_OK;
}

GRADIENT(log)
{
    kni_vjp_set(v, 0, kn_div(v->dy[0], kni_vjp_in(v, 0)));
    return KN_OK;
}

GRADIENT(sqrt)
{
    kni_vjp_set(v, 0, kn_div(v->dy[0], kn_mul_scalar(kni_vjp_out(v, 0), 2)));
    return KN_OK;
}

GRADIENT(square)
{
    kni_vjp_set(v, 0, kn_mul(v->dy[0], kn_mul_scalar(kni_vjp_in(v, 0), 2)));
    return KN_OK;
}
