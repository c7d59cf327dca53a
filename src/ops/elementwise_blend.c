/* Bounds and blends: clamp, lerp and products that are added. */
#include "core/integer_range.h"
#include "core/math/math.h"
#include "ops/movement_rows.h"
#include "ops/scalar_row.h"

ELEMENTWISE(clamp, 3, KNI_RULE_PROMOTE, KNI_NUMBERS, "y = min(max(x, low), high)", .in = "x low high",
            .doc = "min(max(x, low), high); NaN stays", .flags = KNI_FLAG_ALIAS)
ELEMENTWISE(clamp_min, 2, KNI_RULE_PROMOTE, KNI_NUMBERS, "y = max(x, low)", .in = "x low",
            .doc = "max(x, low); NaN stays", .flags = KNI_FLAG_ALIAS)
ELEMENTWISE(clamp_max, 2, KNI_RULE_PROMOTE, KNI_NUMBERS, "y = min(x, high)", .in = "x high",
            .doc = "min(x, high); NaN stays", .flags = KNI_FLAG_ALIAS)
ELEMENTWISE(lerp, 3, KNI_RULE_PROMOTE, KNI_FLOATS,
            "d = b - a; y = abs(weight) < 0.5 ? a + weight * d : b - d * (1 - weight)", .in = "a b weight",
            .doc = "a + w (b - a), exact at w = 0 and w = 1", .tolerance = {2, 1},
            .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE)
ELEMENTWISE(mul_add, 3, KNI_RULE_PROMOTE, KNI_NUMBERS, "y = a * b + c", .doc = "a b + c, rounded twice",
            .tolerance = {2, 1}, .flags = KNI_FLAG_ALIAS)
ELEMENTWISE(addcmul, 4, KNI_RULE_PROMOTE, KNI_NUMBERS, "y = x + value * a * b", .in = "x a b value",
            .doc = "x + value a b", .tolerance = {2, 1}, .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE)
ELEMENTWISE(addcdiv, 4, KNI_RULE_PROMOTE, KNI_FLOATS, "y = x + value * a / b", .in = "x a b value",
            .doc = "x + value a / b", .tolerance = {2, 1}, .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE)

static kn_tensor clamp_as(const char *name, kn_tensor x, kn_tensor low, kn_tensor high)
{
    kn_tensor in[3] = {x, low.bits ? low : high, high};
    if (low.bits == 0) return kni_apply_as(name, &kni_op_clamp_max, in, 2, NULL);
    if (high.bits == 0) return kni_apply_as(name, &kni_op_clamp_min, in, 2, NULL);
    return kni_apply_as(name, &kni_op_clamp, in, 3, NULL);
}

kn_tensor kn_clamp_tensor(kn_tensor x, kn_tensor low, kn_tensor high)
{
    return clamp_as("clamp_tensor", x, low, high);
}

static bool is_whole(double value) { return value - value != 0 || kni_floor_f64(value) == value; }

/* Bounds of an integer tensor that its dtype cannot hold: one that bounds nothing becomes infinite, one that would
   bound everything fails, as in PyTorch. A fraction makes the result f32, as in PyTorch. */
static bool fit_bounds(const char *name, const kni_tensor *x, double *low, double *high)
{
    int dtype = x ? x->type.dtype : KN_F32;
    if (!kn_dtype_is_integer(dtype) || !is_whole(*low) || !is_whole(*high)) return true;
    double least, end;
    kni_integer_range(dtype, &least, &end);
    if (*low >= end || *high < least) {
        kni_fail_op(KN_ERROR_ARGUMENT, name, "the bounds %g to %g exclude every value of %T", *low, *high,
                    dtype);
        return false;
    }
    if (*low <= least) *low = -__builtin_inf();
    if (*high >= end - 1) *high = __builtin_inf();
    return true;
}

/* An infinite bound is none: it must not turn integers into floats. */
static kn_tensor clamp_numbers(const char *name, kn_tensor x, double low, double high)
{
    const kni_tensor *t = kni_peek(x);
    if (!fit_bounds(name, t, &low, &high)) return kni_poison_latest();
    bool none = low == -__builtin_inf() && high == __builtin_inf();
    if (none && t && kn_dtype_is_integer(t->type.dtype)) return kn_cast(x, (kn_dtype)t->type.dtype);
    kn_tensor above = low == -__builtin_inf() ? KN_NONE : kni_number(x, low);
    kn_tensor below = high == __builtin_inf() && above.bits ? KN_NONE : kni_number(x, high);
    return clamp_as(name, x, above, below);
}

kn_tensor kn_clamp_min(kn_tensor x, double low)
{
    return clamp_numbers("clamp_min", x, low, __builtin_inf());
}
kn_tensor kn_clamp_max(kn_tensor x, double high)
{
    return clamp_numbers("clamp_max", x, -__builtin_inf(), high);
}
kn_tensor kn_clamp(kn_tensor x, double low, double high) { return clamp_numbers("clamp", x, low, high); }

kn_tensor kn_lerp(kn_tensor a, kn_tensor b, kn_tensor weight)
{
    kn_tensor in[3] = {a, b, weight};
    return kni_apply(&kni_op_lerp, in, 3, NULL);
}

kn_tensor kn_lerp_scalar(kn_tensor a, kn_tensor b, double weight)
{
    kn_tensor in[3] = {a, b, kni_number(a, weight)};
    return kni_apply_as("lerp_scalar", &kni_op_lerp, in, 3, NULL);
}

kn_tensor kn_mul_add(kn_tensor a, kn_tensor b, kn_tensor c)
{
    kn_tensor in[3] = {a, b, c};
    return kni_apply(&kni_op_mul_add, in, 3, NULL);
}

kn_tensor kn_addcmul(kn_tensor x, kn_tensor a, kn_tensor b, double value)
{
    kn_tensor in[4] = {x, a, b, kni_number(x, value)};
    return kni_apply(&kni_op_addcmul, in, 4, NULL);
}

kn_tensor kn_addcdiv(kn_tensor x, kn_tensor a, kn_tensor b, double value)
{
    kn_tensor in[4] = {x, a, b, kni_number(x, value)};
    return kni_apply(&kni_op_addcdiv, in, 4, NULL);
}

/* condition ? value : half of it at a tie : 0 */
static kn_tensor whole_or_half(kn_tensor condition, kn_tensor tie, kn_tensor dy)
{
    return kn_where(condition, dy, kni_where_or_zero(tie, kn_mul_scalar(dy, 0.5)));
}

/* Tensors as bounds: to x within them, to a bound where it was used, half to each where they are equal. High wins
   over low; to x alone where all three are equal. */
static void clamp_between_tensors(kni_vjp *v)
{
    kn_tensor x = kni_vjp_in(v, 0), low = kni_vjp_in(v, 1), high = kni_vjp_in(v, 2), dy = v->dy[0];
    kn_tensor apart = kn_keep(kn_less(low, high));
    kn_tensor at_low = kn_keep(kn_logical_and(apart, kn_equal(x, low)));
    kn_tensor at_high = kn_keep(kn_logical_and(apart, kn_equal(x, high)));
    if (kni_vjp_needs(v, 0)) {
        kn_tensor tie = kn_keep(kn_logical_or(at_low, at_high));
        kn_tensor changed = kn_logical_or(kn_less(x, low), kn_greater(x, high));
        kni_vjp_set(v, 0, whole_or_half(kn_logical_not(kn_logical_or(changed, tie)), tie, dy));
    }
    if (kni_vjp_needs(v, 1)) {
        kn_tensor used = kn_logical_and(kn_less_equal(low, high), kn_less(x, low));
        kni_vjp_set(v, 1, whole_or_half(used, at_low, dy));
    }
    if (kni_vjp_needs(v, 2)) {
        kn_tensor used = kn_logical_or(kn_less(high, low), kn_greater(x, high));
        kni_vjp_set(v, 2, whole_or_half(used, at_high, dy));
    }
}

/* Numbers as bounds: to x strictly within them, as in PyTorch. */
GRADIENT(clamp)
{
    if (!v->in_types[1].weak || !v->in_types[2].weak) {
        clamp_between_tensors(v);
        return KN_OK;
    }
    kn_tensor x = kni_vjp_in(v, 0);
    kn_tensor inside = kn_logical_and(kn_greater(x, kni_vjp_in(v, 1)), kn_less(x, kni_vjp_in(v, 2)));
    kni_vjp_set(v, 0, kni_where_or_zero(inside, v->dy[0]));
    return KN_OK;
}

static kn_status clamp_one_side(kni_vjp *v, kn_tensor (*inside)(kn_tensor, kn_tensor),
                                kn_tensor (*loses)(kn_tensor, kn_tensor))
{
    if (v->in_types[1].weak)
        kni_vjp_set(v, 0, kni_where_or_zero(inside(kni_vjp_in(v, 0), kni_vjp_in(v, 1)), v->dy[0]));
    else
        kni_share_extremum(v, loses);
    return KN_OK;
}

GRADIENT(clamp_min) { return clamp_one_side(v, kn_greater, kn_less); }
GRADIENT(clamp_max) { return clamp_one_side(v, kn_less, kn_greater); }

GRADIENT(mul_add)
{
    for (int i = 0; i < 2; i++)
        if (kni_vjp_needs(v, i)) kni_vjp_set(v, i, kn_mul(v->dy[0], kni_vjp_in(v, 1 - i)));
    kni_vjp_set(v, 2, v->dy[0]);
    return KN_OK;
}

GRADIENT_BODY(lerp, "da = dy * (1 - weight); db = dy * weight; dweight = dy * (b - a)")
GRADIENT_BODY(addcmul, "dx = dy; da = dy * b * value; db = dy * a * value; dvalue = dy * (a * b)")
GRADIENT_BODY(addcdiv,
              "dx = dy; da = dy * (value / b); db = -dy * (a * value / b) / b; dvalue = dy * (a / b)")
