/* Comparisons, truths, and choosing by a truth. */
#include "ops/scalar_row.h"
#include "ops/stored_ops.h"

#define COMPARISON(name, formula, text)                                                                      \
    ELEMENTWISE(name, 2, KNI_RULE_COMPARE, KNI_ALL, formula, .doc = text, .flags = KNI_FLAG_NO_GRADIENT)
COMPARISON(equal, "y = a == b", "a == b")
COMPARISON(not_equal, "y = a != b", "a != b")
COMPARISON(less, "y = a < b", "a < b")
COMPARISON(less_equal, "y = a <= b", "a <= b")
COMPARISON(greater, "y = a > b", "a > b")
COMPARISON(greater_equal, "y = a >= b", "a >= b")

kn_tensor kn_equal(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_equal, a, b); }
kn_tensor kn_not_equal(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_not_equal, a, b); }
kn_tensor kn_less(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_less, a, b); }
kn_tensor kn_less_equal(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_less_equal, a, b); }
kn_tensor kn_greater(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_greater, a, b); }
kn_tensor kn_greater_equal(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_greater_equal, a, b); }

#define LOGICAL(name, arity, body, text)                                                                     \
    ELEMENTWISE(name, arity, KNI_RULE_COMPARE, KNI_ALL, body, .doc = text, .flags = KNI_FLAG_NO_GRADIENT)
LOGICAL(logical_and, 2, "y = a != 0 && b != 0", "a != 0 and b != 0")
LOGICAL(logical_or, 2, "y = a != 0 || b != 0", "a != 0 or b != 0")
LOGICAL(logical_xor, 2, "y = (a != 0) ^ (b != 0)", "one of a, b is not 0")
LOGICAL(logical_not, 1, "y = x == 0", "x == 0")

kn_tensor kn_logical_and(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_logical_and, a, b); }
kn_tensor kn_logical_or(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_logical_or, a, b); }
kn_tensor kn_logical_xor(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_logical_xor, a, b); }
kn_tensor kn_logical_not(kn_tensor x) { return kni_unary(&kni_op_logical_not, x); }

ELEMENTWISE(where, 3, KNI_RULE_SELECT, KNI_ALL, "y = condition ? a : b", .in = "condition a b",
            .doc = "condition ? a : b", .flags = KNI_FLAG_ALIAS | KNI_FLAG_MOVES)

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

#define TEST(name, body, text)                                                                               \
    ELEMENTWISE(name, 1, KNI_RULE_COMPARE, KNI_ALL, body, .doc = text, .flags = KNI_FLAG_NO_GRADIENT)
TEST(is_nan, "y = isnan(x)", "x is not a number")
TEST(is_inf, "y = isinf(x)", "x is infinite")
TEST(is_finite, "y = isfinite(x)", "x is neither infinite nor NaN")
ELEMENTWISE(signbit, 1, KNI_RULE_COMPARE, KNI_FLOATS, "y = copysign(1, x) < 0", .doc = "x < 0 or x is -0",
            .flags = KNI_FLAG_NO_GRADIENT)

kn_tensor kn_is_nan(kn_tensor x) { return kni_unary(&kni_op_is_nan, x); }
kn_tensor kn_is_inf(kn_tensor x) { return kni_unary(&kni_op_is_inf, x); }
kn_tensor kn_is_posinf(kn_tensor x)
{
    kni_call call = kni_call_begin("is_posinf");
    return kni_call_end(call, kn_equal_scalar(x, __builtin_inf()));
}
kn_tensor kn_is_neginf(kn_tensor x)
{
    kni_call call = kni_call_begin("is_neginf");
    return kni_call_end(call, kn_equal_scalar(x, -__builtin_inf()));
}
kn_tensor kn_is_finite(kn_tensor x) { return kni_unary(&kni_op_is_finite, x); }

static bool holds_floats(kn_tensor x)
{
    const kni_tensor *t = kni_peek(x);
    return !t || kni_dtypes[t->type.dtype].kind == KNI_KIND_FLOAT; /* stored ones, too */
}

kn_tensor kn_signbit(kn_tensor x)
{
    return holds_floats(x) ? kni_unary(&kni_op_signbit, x) : kn_less_scalar(x, 0);
}

static const kn_attribute close_schema[] = {
    KNI_NUMBER("rtol", 0), KNI_NUMBER("atol", 1), KNI_NUMBER("equal_nan", 2), {0}};
ELEMENTWISE_NUMBERS(is_close, 2, KNI_RULE_COMPARE, KNI_FLOATS,
                    "y = (abs(a - b) <= rtol * abs(b) + atol && isfinite(b)) || a == b || (isnan(a) && "
                    "isnan(b) && equal_nan != 0)",
                    close_schema, .doc = "|a - b| <= atol + rtol |b|, or a == b",
                    .flags = KNI_FLAG_NO_GRADIENT)

/* Of integers: their gap is taken before it becomes an f64, which holds whole numbers to 2^53; where it passes 2^62, as
   it may between two of i64, that of the f64 will do. */
static kn_tensor integers_close(kn_tensor a, kn_tensor b, double rtol, double atol)
{
    a = kn_keep(a);
    b = kn_keep(b);
    kn_tensor high = kn_keep(kn_maximum(a, b)), low = kn_keep(kn_minimum(a, b));
    kn_tensor rough = kn_keep(kn_sub(kn_cast(high, KN_F64), kn_cast(low, KN_F64)));
    kn_tensor gap = kn_where(kn_greater_scalar(rough, 0x1p62), rough, kn_cast(kn_sub(high, low), KN_F64));
    kn_tensor allowed = kn_add_scalar(kn_mul_scalar(kn_abs(kn_cast(b, KN_F64)), rtol), atol);
    return kn_less_equal(gap, allowed);
}

/* What is only stored is compared by its values. */
static kn_tensor values_of(kn_tensor x)
{
    kn_dtype dtype = kn_dtype_of(x);
    return kni_dtype_stored(dtype) ? kn_cast(x, (kn_dtype)kni_natural_dtype(dtype)) : x;
}

kn_tensor kn_is_close(kn_tensor a, kn_tensor b, double rtol, double atol, bool equal_nan)
{
    kni_call call = kni_call_begin("is_close");
    a = values_of(a);
    b = values_of(b);
    if (!(rtol >= 0) || !(atol >= 0))
        return kni_call_fail(call, KN_ERROR_ARGUMENT,
                             "rtol is %g and atol %g: the tolerances must be 0 or more", rtol, atol);
    kn_tensor in[2] = {a, b};
    if (!holds_floats(a) && !holds_floats(b)) {
        kn_dtype common = kn_dtype_promote(kn_dtype_of(a), kn_dtype_of(b));
        if (kni_is_bool(common)) common = KN_U8;
        return kni_call_end(call, integers_close(kn_cast(a, common), kn_cast(b, common), rtol, atol));
    }
    return kni_call_end(call, kni_with_numbers(&kni_op_is_close, in, 2, rtol, atol, equal_nan));
}

kn_status kn_all_close(kn_tensor a, kn_tensor b, double rtol, double atol, bool equal_nan, bool *result)
{
    if (!result) return kni_fail(KN_ERROR_ARGUMENT, "kn_all_close: the place for the result is NULL");
    kni_call call = kni_call_begin("all_close");
    kn_tensor close = kn_is_close(kn_alias(a), kn_alias(b), rtol, atol, equal_nan);
    close = kn_all(close, KN_AXES_ALL, false);
    uint8_t all = 0;
    kn_status s = kni_is_poisoned(close) ? kni_fail_again(close, "all_close") : kn_read(close, &all, 1);
    kni_call_end_many(call, NULL, 0);
    *result = s == KN_OK && all;
    return s;
}
