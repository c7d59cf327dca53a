/* Arithmetic of two operands: rows, gradients and public functions. */
#include "ops/scalar_row.h"
#include "ops/wide.h"

ELEMENTWISE(add, 2, KNI_RULE_PROMOTE, KNI_ALL, "y = a + b", .doc = "a + b",
            .flags = KNI_FLAG_COMMUTES | KNI_FLAG_ALIAS)

/* A bool next to a number would promote to it; as in PyTorch it is refused all the same. */
static kn_status infer_sub(kni_infer *c)
{
    for (int i = 0; i < c->n_in; i++) {
        kn_status s = kni_is_bool(c->in[i]->dtype) ? kni_infer_dtype(c, i, KNI_NUMBERS) : KN_OK;
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

void kni_share_extremum(kni_vjp *v, kn_tensor (*loses)(kn_tensor, kn_tensor))
{
    kn_tensor in[2] = {kni_vjp_in(v, 0), kni_vjp_in(v, 1)};
    kn_tensor half = kn_mul_scalar(v->dy[0], 0.5);
    kn_tensor share = kn_keep(kn_where(kn_equal(in[0], in[1]), half, v->dy[0]));
    for (int i = 0; i < 2; i++)
        if (kni_vjp_needs(v, i)) kni_vjp_set(v, i, kni_zero_where(loses(in[i], in[1 - i]), share));
}

GRADIENT_BODY(div, "da = dy / b; db = -dy * (a / b) / b")
DERIVED(remainder)
DERIVED(fmod)
DERIVED(pow)
DERIVED(atan2)
DERIVED(hypot)
DERIVED(maximum)
DERIVED(minimum)
DERIVED(copysign)
/* All of dy to the operand that was taken, to a where they are equal, as in PyTorch. */
GRADIENT_BODY(fmax, "first = a >= b || isnan(b); da = first ? dy : 0; db = first ? 0 : dy")
GRADIENT_BODY(fmin, "first = a <= b || isnan(b); da = first ? dy : 0; db = first ? 0 : dy")
