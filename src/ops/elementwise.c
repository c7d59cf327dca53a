/* Arithmetic of two operands: rows, gradients and public functions. */
#include "ops/scalar_row.h"
#include "ops/wide.h"

ELEMENTWISE(add, 2, KNI_RULE_PROMOTE, KNI_ALL, "y = a + b", .doc = "a + b",
            .flags = KNI_FLAG_COMMUTES | KNI_FLAG_ALIAS)

/* A bool next to a number would promote to it; as in PyTorch it is refused all the same. */
static kn_status infer_sub(kni_infer *c)
{
    for (int i = 0; i < c->n_in; i++) {
        kn_status s = c->in[i]->dtype == KN_BOOL ? kni_infer_dtype(c, i, KNI_NUMBERS) : KN_OK;
        if (s) return s;
    }
    return kni_infer_row(c);
}
BODY(sub, "y = a - b")
OP(sub, .min_in = 2, .max_in = 2, .n_out = 1, .kind = KNI_ELEMENTWISE, .rule = KNI_RULE_PROMOTE,
   .dtypes = KNI_NUMBERS, .infer = infer_sub, .body = &kni_body_sub, .native = &kni_cpu_sub, .doc = "a - b",
   .flags = KNI_FLAG_ALIAS)
ELEMENTWISE(mul, 2, KNI_RULE_PROMOTE, KNI_ALL, "y = a * b", .doc = "a * b",
            .flags = KNI_FLAG_COMMUTES | KNI_FLAG_ALIAS)
ELEMENTWISE(div, 2, KNI_RULE_FLOAT, KNI_ALL, "y = a / b", .doc = "a / b; integers give f32",
            .flags = KNI_FLAG_ALIAS)
ELEMENTWISE(floor_div, 2, KNI_RULE_PROMOTE, KNI_NUMBERS, "y = floordiv(a, b)",
            .doc = "floor(a / b); an integer divided by 0 gives 0",
            .flags = KNI_FLAG_ALIAS | KNI_FLAG_ZERO_GRADIENT)
ELEMENTWISE(remainder, 2, KNI_RULE_PROMOTE, KNI_NUMBERS, "y = rem(a, b)",
            .doc = "a - floor(a / b) b, with the sign of b", .flags = KNI_FLAG_ALIAS)
ELEMENTWISE(fmod, 2, KNI_RULE_PROMOTE, KNI_NUMBERS, "y = fmod(a, b)",
            .doc = "a - trunc(a / b) b, with the sign of a", .flags = KNI_FLAG_ALIAS)
ELEMENTWISE(pow, 2, KNI_RULE_PROMOTE, KNI_NUMBERS, "y = pow(a, b)", .doc = "a to the power of b",
            .tolerance = {2, 0}, .autocast = KNI_AUTOCAST_WIDEN, .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE)
ELEMENTWISE(atan2, 2, KNI_RULE_FLOAT, KNI_ALL, "y = atan2(a, b)", .doc = "angle of the point (b, a)",
            .tolerance = {2, 0}, .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE)
ELEMENTWISE(hypot, 2, KNI_RULE_PROMOTE, KNI_FLOATS, "y = hypot(a, b)",
            .doc = "sqrt(a^2 + b^2) without overflow", .tolerance = {2, 0},
            .flags = KNI_FLAG_COMMUTES | KNI_FLAG_ALIAS | KNI_FLAG_WIDE)
ELEMENTWISE(maximum, 2, KNI_RULE_PROMOTE, KNI_ALL, "y = max(a, b)", .doc = "the larger; NaN if either is",
            .flags = KNI_FLAG_COMMUTES | KNI_FLAG_ALIAS)
ELEMENTWISE(minimum, 2, KNI_RULE_PROMOTE, KNI_ALL, "y = min(a, b)", .doc = "the smaller; NaN if either is",
            .flags = KNI_FLAG_COMMUTES | KNI_FLAG_ALIAS)
/* Of two operands that are not NaN the larger; of one that is and one that is not, the other. */
ELEMENTWISE(fmax, 2, KNI_RULE_PROMOTE, KNI_ALL, "y = isnan(a) ? b : isnan(b) ? a : max(a, b)",
            .doc = "the larger; where one is NaN the other", .flags = KNI_FLAG_ALIAS)
ELEMENTWISE(fmin, 2, KNI_RULE_PROMOTE, KNI_ALL, "y = isnan(a) ? b : isnan(b) ? a : min(a, b)",
            .doc = "the smaller; where one is NaN the other", .flags = KNI_FLAG_ALIAS)
ELEMENTWISE(copysign, 2, KNI_RULE_FLOAT, KNI_ALL, "y = copysign(a, b)", .doc = "|a| with the sign of b",
            .flags = KNI_FLAG_ALIAS)

kn_tensor kn_add(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_add, a, b); }
kn_tensor kn_sub(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_sub, a, b); }
kn_tensor kn_mul(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_mul, a, b); }
kn_tensor kn_div(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_div, a, b); }
kn_tensor kn_floor_div(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_floor_div, a, b); }
kn_tensor kn_remainder(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_remainder, a, b); }
kn_tensor kn_fmod(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_fmod, a, b); }
kn_tensor kn_pow(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_pow, a, b); }
kn_tensor kn_atan2(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_atan2, a, b); }
kn_tensor kn_hypot(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_hypot, a, b); }
kn_tensor kn_maximum(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_maximum, a, b); }
kn_tensor kn_minimum(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_minimum, a, b); }
kn_tensor kn_fmax(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_fmax, a, b); }
kn_tensor kn_fmin(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_fmin, a, b); }
kn_tensor kn_copysign(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_copysign, a, b); }

GRADIENT(add)
{
    kni_vjp_set(v, 0, v->dy[0]);
    kni_vjp_set(v, 1, v->dy[0]);
    return KN_OK;
}

GRADIENT(sub)
{
    kni_vjp_set(v, 0, v->dy[0]);
    if (kni_vjp_needs(v, 1)) kni_vjp_set(v, 1, kn_neg(v->dy[0]));
    return KN_OK;
}

GRADIENT(mul)
{
    for (int i = 0; i < 2; i++)
        if (kni_vjp_needs(v, i)) kni_vjp_set(v, i, kn_mul(v->dy[0], kni_vjp_in(v, 1 - i)));
    return KN_OK;
}

/* d/da = 1/b, d/db = -(a/b)/b */
GRADIENT(div)
{
    kn_tensor b = kni_vjp_in(v, 1);
    if (kni_vjp_needs(v, 0)) kni_vjp_set(v, 0, kn_div(v->dy[0], b));
    if (kni_vjp_needs(v, 1)) {
        b = kn_keep(kni_widen(b)); /* the slope may leave f16 where its product with dy does not */
        kn_tensor slope = kn_div(kn_div(kni_widen(kni_vjp_in(v, 0)), b), b);
        kni_vjp_set(v, 1, kn_neg(kn_mul(v->dy[0], slope)));
    }
    return KN_OK;
}

/* d/db = -floor(a/b) */
GRADIENT(remainder)
{
    kni_vjp_set(v, 0, v->dy[0]);
    if (kni_vjp_needs(v, 1)) {
        kn_tensor quotient = kn_floor_div(kni_vjp_in(v, 0), kni_vjp_in(v, 1));
        kni_vjp_set(v, 1, kn_neg(kn_mul(v->dy[0], quotient)));
    }
    return KN_OK;
}

/* d/db = -trunc(a/b), which is flat: the gradient of a/b would be 0/0 where b is 0 */
GRADIENT(fmod)
{
    kni_vjp_set(v, 0, v->dy[0]);
    if (kni_vjp_needs(v, 1)) {
        kn_tensor quotient = kn_detach(kn_trunc(kn_div(kni_vjp_in(v, 0), kni_vjp_in(v, 1))));
        kni_vjp_set(v, 1, kn_neg(kn_mul(v->dy[0], quotient)));
    }
    return KN_OK;
}

/* d/da = b a^(b-1), 0 where b is 0; d/db = a^b log(a), 0 where a is 0 and b >= 0 */
GRADIENT(pow)
{
    kn_tensor a = kni_vjp_in(v, 0), b = kni_vjp_in(v, 1), dy = v->dy[0];
    if (kni_vjp_needs(v, 0)) {
        kn_tensor slope = kn_mul(kn_pow(a, kn_sub_scalar(b, 1)), b);
        kni_vjp_set(v, 0, kni_zero_where(kn_equal_scalar(b, 0), kn_mul(dy, slope)));
    }
    if (kni_vjp_needs(v, 1)) {
        kn_tensor flat = kn_logical_and(kn_equal_scalar(a, 0), kn_greater_equal_scalar(b, 0));
        kn_tensor slope = kn_mul(kni_vjp_out(v, 0), kn_log(a));
        kni_vjp_set(v, 1, kni_zero_where(flat, kn_mul(dy, slope)));
    }
    return KN_OK;
}

/* d/da = b / (a^2 + b^2), d/db = -a / (a^2 + b^2); both 0 where the squares are */
GRADIENT(atan2)
{
    kn_tensor a = kni_vjp_in(v, 0), b = kni_vjp_in(v, 1);
    kn_tensor squares = kn_keep(kn_add(kn_square(a), kn_square(b)));
    kn_tensor none = kn_keep(kn_equal_scalar(squares, 0));
    kn_tensor divisor = kn_where(none, kn_ones_like(squares), squares);
    kn_tensor scaled = kn_keep(kni_zero_where(none, kn_div(v->dy[0], divisor)));
    if (kni_vjp_needs(v, 0)) kni_vjp_set(v, 0, kn_mul(scaled, b));
    if (kni_vjp_needs(v, 1)) kni_vjp_set(v, 1, kn_neg(kn_mul(scaled, a)));
    return KN_OK;
}

/* d/da = a / y */
GRADIENT(hypot)
{
    for (int i = 0; i < 2; i++)
        if (kni_vjp_needs(v, i))
            kni_vjp_set(v, i, kn_mul(v->dy[0], kn_div(kni_vjp_in(v, i), kni_vjp_out(v, 0))));
    return KN_OK;
}

void kni_share_extremum(kni_vjp *v, kn_tensor (*loses)(kn_tensor, kn_tensor))
{
    kn_tensor in[2] = {kni_vjp_in(v, 0), kni_vjp_in(v, 1)};
    kn_tensor half = kn_mul_scalar(v->dy[0], 0.5);
    kn_tensor share = kn_keep(kn_where(kn_equal(in[0], in[1]), half, v->dy[0]));
    for (int i = 0; i < 2; i++)
        if (kni_vjp_needs(v, i)) kni_vjp_set(v, i, kni_zero_where(loses(in[i], in[1 - i]), share));
}

GRADIENT(maximum)
{
    kni_share_extremum(v, kn_less);
    return KN_OK;
}

GRADIENT(minimum)
{
    kni_share_extremum(v, kn_greater);
    return KN_OK;
}

/* All of dy to the operand that was taken, to a where they are equal, as in PyTorch. */
static kn_status one_of_two(kni_vjp *v, kn_tensor (*wins)(kn_tensor, kn_tensor))
{
    kn_tensor a = kni_vjp_in(v, 0), b = kni_vjp_in(v, 1);
    kn_tensor first = kn_keep(kn_logical_or(wins(a, b), kn_is_nan(b)));
    if (kni_vjp_needs(v, 0)) kni_vjp_set(v, 0, kni_where_or_zero(first, v->dy[0]));
    if (kni_vjp_needs(v, 1)) kni_vjp_set(v, 1, kni_zero_where(first, v->dy[0]));
    return KN_OK;
}

GRADIENT(fmax) { return one_of_two(v, kn_greater_equal); }
GRADIENT(fmin) { return one_of_two(v, kn_less_equal); }

/* d/da = y / a, 0 where a is 0; d/db = 0 */
GRADIENT(copysign)
{
    if (kni_vjp_needs(v, 0)) {
        kn_tensor a = kni_vjp_in(v, 0);
        kn_tensor zero = kn_keep(kn_equal_scalar(a, 0));
        kn_tensor divisor = kn_where(zero, kn_ones_like(a), a);
        kn_tensor slope = kni_zero_where(zero, kn_div(kni_vjp_out(v, 0), divisor));
        kni_vjp_set(v, 0, kn_mul(v->dy[0], slope));
    }
    if (kni_vjp_needs(v, 1)) kni_vjp_set(v, 1, kn_mul_scalar(v->dy[0], 0));
    return KN_OK;
}
