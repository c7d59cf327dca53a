/* Comparisons, truths, and choosing by a truth. */
#include "ops/scalar_row.h"

#define COMPARISON(name, word, text)                                                                         \
    ELEMENTWISE(name, 2, KNI_RULE_COMPARE, KNI_ALL, "x y " word, .doc = text, .flags = KNI_FLAG_NO_GRADIENT)
COMPARISON(equal, "eq", "a == b")
COMPARISON(not_equal, "ne", "a != b")
COMPARISON(less, "lt", "a < b")
COMPARISON(less_equal, "le", "a <= b")
COMPARISON(greater, "gt", "a > b")
COMPARISON(greater_equal, "ge", "a >= b")

kn_tensor kn_equal(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_equal, a, b); }
kn_tensor kn_not_equal(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_not_equal, a, b); }
kn_tensor kn_less(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_less, a, b); }
kn_tensor kn_less_equal(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_less_equal, a, b); }
kn_tensor kn_greater(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_greater, a, b); }
kn_tensor kn_greater_equal(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_greater_equal, a, b); }

#define LOGICAL(name, arity, body, text)                                                                     \
    ELEMENTWISE(name, arity, KNI_RULE_COMPARE, KNI_ALL, body, .doc = text, .flags = KNI_FLAG_NO_GRADIENT)
LOGICAL(logical_and, 2, "x 0 ne y 0 ne land", "a != 0 and b != 0")
LOGICAL(logical_or, 2, "x 0 ne y 0 ne lor", "a != 0 or b != 0")
LOGICAL(logical_xor, 2, "x 0 ne y 0 ne lxor", "one of a, b is not 0")
LOGICAL(logical_not, 1, "x 0 eq", "x == 0")

kn_tensor kn_logical_and(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_logical_and, a, b); }
kn_tensor kn_logical_or(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_logical_or, a, b); }
kn_tensor kn_logical_xor(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_logical_xor, a, b); }
kn_tensor kn_logical_not(kn_tensor x) { return kni_unary(&kni_op_logical_not, x); }

ELEMENTWISE(where, 3, KNI_RULE_SELECT, KNI_ALL, "x y z select", .doc = "condition ? a : b",
            .flags = KNI_FLAG_ALIAS)

kn_tensor kn_where(kn_tensor condition, kn_tensor a, kn_tensor b)
{
    kn_tensor in[3] = {condition, a, b};
    return kni_apply(&kni_op_where, in, 3, NULL);
}

kn_tensor kni_where_or_zero(kn_tensor condition, kn_tensor value)
{
    return kn_where(condition, value, kni_number(value, 0));
}

kn_tensor kni_zero_where(kn_tensor condition, kn_tensor value)
{
    return kn_where(condition, kni_number(value, 0), value);
}

GRADIENT(where)
{
    kn_tensor condition = kni_vjp_in(v, 0);
    if (kni_vjp_needs(v, 1)) kni_vjp_set(v, 1, kni_where_or_zero(condition, v->dy[0]));
    if (kni_vjp_needs(v, 2)) kni_vjp_set(v, 2, kni_zero_where(condition, v->dy[0]));
    return KN_OK;
}
