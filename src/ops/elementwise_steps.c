/* Elementwise functions of several steps: rounded divisions, rounding to decimals, powers in f64, and the parts of a float.
   Each step rounds to the dtype, so that every backend cuts the same quotient. */
#include "core/math/math.h"
#include "ops/movement_rows.h"
#include "ops/scalar_row.h"
#include "ops/wide.h"

ELEMENTWISE(trunc_div, 2, KNI_RULE_PROMOTE, KNI_INTS, "y = a / b",
            .doc = "trunc(a / b) of integers; a division by 0 gives 0",
            .flags = KNI_FLAG_ALIAS | KNI_FLAG_ZERO_GRADIENT)

static bool is_float_tensor(kn_tensor x)
{
    const kni_tensor *t = kni_peek(x);
    return t && kni_is_float(t->type.dtype);
}

/* trunc(a / b) of floats; halves are divided in f32. */
static kn_tensor divide_floats(kn_tensor a, kn_tensor b)
{
    kni_call call = kni_call_begin("trunc_div");
    kn_tensor in[2] = {a, b};
    int dtype = kni_widen_all(in, 2);
    return kni_call_end_as(call, kn_trunc(kn_div(in[0], in[1])), dtype);
}

kn_tensor kn_trunc_div(kn_tensor a, kn_tensor b)
{
    if (is_float_tensor(a) || is_float_tensor(b)) return divide_floats(a, b);
    return kni_binary(&kni_op_trunc_div, a, b);
}

kn_tensor kn_trunc_div_scalar(kn_tensor x, double value)
{
    const kni_tensor *t = kni_peek(x);
    bool whole = value - value == 0 && kni_floor_f64(value) == value;
    kni_call call = kni_call_begin("trunc_div_scalar");
    if (t && kni_is_float(t->type.dtype)) {
        int own = kni_widen_all(&x, 1);
        return kni_call_end_as(call, kn_trunc(kn_div_scalar(x, value)), own);
    }
    if (t && value == 0)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "%S of %T divided by 0", &t->type, (int)t->type.dtype);
    if (!whole) return kni_call_end(call, kn_trunc(kn_div_scalar(x, value)));
    int dtype = t ? t->type.dtype : 0;
    if (t && !kni_is_bool(dtype) && kni_compute_of[dtype] == KNI_COMPUTE_I32)
        x = kn_cast(x, KN_I64); /* 32 bits would cut a larger number off */
    x = kn_keep(x);
    kn_tensor y = kni_binary(&kni_op_trunc_div, x, kni_number(x, value));
    return kni_call_end_as(call, y, kni_is_bool(dtype) ? 0 : dtype);
}

/* 10^n for 0 <= n <= 308, as the double next to it. */
static double power_of_ten(int n) { return kni_pow_f64(10.0, (double)n); }

kn_tensor kn_round_decimals(kn_tensor x, int32_t decimals)
{
    kni_call call = kni_call_begin("round_decimals");
    const kni_tensor *t = kni_peek(x);
    if (!t) return kni_call_end(call, kn_round(x));
    if (!kni_is_float(t->type.dtype)) {
        if (decimals >= 0) return kni_call_end(call, kn_round(x)); /* integers have no decimals */
        return kni_call_fail(call, KN_ERROR_DTYPE,
                             "does not round %T to %d decimals: convert with kn_cast() to a float dtype",
                             (int)t->type.dtype, (int)decimals);
    }
    int dtype = kni_widen_all(&x, 1);
    /* More digits than a double has change nothing; below its range nothing is left. */
    if (decimals > 308) decimals = 308;
    if (decimals < -308) decimals = -308;
    double scale = power_of_ten(decimals < 0 ? -decimals : decimals);
    if (dtype != KN_F64 && scale > 3e38) scale = 3e38;
    x = kn_keep(x);
    if (decimals < 0)
        return kni_call_end_as(call, kn_mul_scalar(kn_round(kn_div_scalar(x, scale)), scale), dtype);
    kn_tensor scaled = kn_keep(kn_mul_scalar(x, scale));
    /* From here on numbers are whole, so that nothing is to be rounded; scaling there and back would only lose bits. */
    kn_tensor fraction = kn_less_scalar(kn_abs(scaled), dtype == KN_F64 ? 0x1p52 : 0x1p23);
    kn_tensor y = kn_where(fraction, kn_div_scalar(kn_round(scaled), scale), kn_detach(x));
    return kni_call_end_as(call, y, dtype);
}

kn_tensor kn_float_power(kn_tensor a, kn_tensor b)
{
    kni_call call = kni_call_begin("float_power");
    return kni_call_end(call, kn_pow(kn_cast(a, KN_F64), kn_cast(b, KN_F64)));
}

kn_tensor kn_float_power_scalar(kn_tensor x, double exponent)
{
    kni_call call = kni_call_begin("float_power_scalar");
    return kni_call_end(call, kn_pow_scalar(kn_cast(x, KN_F64), exponent));
}

/* ---- the parts of a float, through its bits */

/* How many bits the significand has without the leading one, and what is added to exponents. */
typedef struct layout {
    int dtype, integer, digits, bias;
} layout;
static const layout layouts[] = {{KN_F16, KN_I16, 10, 15},
                                 {KN_BF16, KN_I16, 7, 127},
                                 {KN_F32, KN_I32, 23, 127},
                                 {KN_F64, KN_I64, 52, 1023}};

static const layout *layout_of(kn_tensor x)
{
    const kni_tensor *t = kni_peek(x);
    for (unsigned i = 0; t && i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].dtype == t->type.dtype) return &layouts[i];
    return NULL;
}

/* One step up or down in the order of the bits, which is the order of the magnitudes. The step is a constant: what is subtracted at
   the end is 0 and has the gradient of -a where a moves. */
kn_tensor kn_nextafter(kn_tensor a, kn_tensor b)
{
    kni_call call = kni_call_begin("nextafter");
    a = kn_keep(a);
    b = kn_keep(b);
    const layout *l = layout_of(a);
    const kni_tensor *ta = kni_peek(a), *tb = kni_peek(b);
    if (ta && tb && (!l || ta->type.dtype != tb->type.dtype))
        return kni_call_fail(call, KN_ERROR_DTYPE,
                             "a is %T and b is %T: both must be the same float dtype, convert with kn_cast()",
                             (int)ta->type.dtype, (int)tb->type.dtype);
    if (!l || !tb) return kni_call_end(call, kn_add(a, b));
    kn_tensor taped = a;
    a = kn_keep(kn_detach(a));
    b = kn_keep(kn_detach(b));
    kn_dtype integer = (kn_dtype)l->integer;
    kn_tensor bits = kn_keep(kn_bitcast(a, integer));
    kn_tensor one = kn_keep(kn_full_int(KN_SCALAR_SHAPE, 1, integer));
    kn_tensor outwards = kn_equal(kn_less(a, b), kn_greater_scalar(a, 0));
    kn_tensor step = kn_where(outwards, one, kn_full_int(KN_SCALAR_SHAPE, -1, integer));
    kn_tensor moved = kn_bitcast(kn_add(bits, step), (kn_dtype)l->dtype);
    kn_tensor tiny = kn_copysign(kn_bitcast(one, (kn_dtype)l->dtype), b);
    kn_tensor y = kn_where(kn_equal_scalar(a, 0), tiny, moved);
    kn_tensor stays = kn_keep(kn_logical_or(kn_equal(a, b), kn_is_nan(b)));
    y = kn_where(kn_is_nan(a), a, kn_where(stays, b, y));
    kn_tensor moves = kn_logical_and(kn_logical_not(stays), kn_is_finite(a));
    kn_tensor zero = kn_where(moves, kn_sub(a, taped), kni_number(a, 0));
    return kni_call_end(call, kn_sub(y, zero)); /* and not y + 0, which loses the sign of -0 */
}

/* 2^k as dtype for whole k of i32 that it holds without becoming subnormal. */
static kn_tensor power_of_two(kn_tensor k, const layout *l)
{
    kn_tensor biased = kn_cast(kn_add_scalar(k, l->bias), (kn_dtype)l->integer);
    return kn_bitcast(kn_bitwise_left_shift_scalar(biased, l->digits), (kn_dtype)l->dtype);
}

/* Zero, infinities and NaN are their own mantissas and have exponent 0. Subnormal numbers are moved up by 2^digits first. The
   mantissa is x divided by a power of two in two steps, so that its gradient is dy divided by it. */
kn_mantissa_exponent kn_frexp(kn_tensor x)
{
    kni_call call = kni_call_begin("frexp");
    x = kn_keep(x);
    kn_tensor both[2];
    const kni_tensor *t = kni_peek(x);
    if (t && !kni_is_float(t->type.dtype)) {
        both[0] = both[1] =
            kni_call_fail(call, KN_ERROR_DTYPE, "does not take %T; it takes floats: convert with kn_cast()",
                          (int)t->type.dtype);
        return (kn_mantissa_exponent){both[0], both[1]};
    }
    int dtype = kni_widen_all(&x, 1);
    x = kn_keep(x);
    const layout *l = layout_of(x);
    if (!l) {
        both[0] = both[1] = kn_neg(x);
        kni_call_end_many(call, both, 2);
        return (kn_mantissa_exponent){both[0], both[1]};
    }
    double lift = l->dtype == KN_F64 ? 0x1p52 : 0x1p23;
    kn_tensor value = kn_keep(kn_detach(x));
    kn_tensor least = kni_number(value, l->dtype == KN_F64 ? 0x1p-1022 : 0x1p-126);
    kn_tensor small = kn_keep(kn_less(kn_abs(value), least));
    kn_tensor lifted = kn_where(small, kn_mul_scalar(value, lift), value);
    kn_tensor bits = kn_bitwise_right_shift_scalar(kn_bitcast(lifted, (kn_dtype)l->integer), l->digits);
    kn_tensor field = kn_cast(kn_bitwise_and_scalar(bits, 2 * l->bias + 1), KN_I32);
    kn_tensor exponent = kn_sub_scalar(field, l->bias - 1);
    exponent = kn_keep(kn_sub(exponent, kn_mul_scalar(kn_cast(small, KN_I32), l->digits)));
    kn_tensor plain = kn_logical_or(kn_equal_scalar(value, 0), kn_logical_not(kn_is_finite(value)));
    exponent = kn_keep(kn_where(plain, kn_zeros(KN_SCALAR_SHAPE, KN_I32), exponent));
    kn_tensor half = kn_keep(kn_neg(kn_bitwise_right_shift_scalar(exponent, 1)));
    kn_tensor rest = kn_sub(kn_neg(exponent), half);
    both[0] = kni_as(kn_mul(kn_mul(x, power_of_two(half, l)), power_of_two(rest, l)), dtype);
    both[1] = exponent;
    kni_call_end_many(call, both, 2);
    return (kn_mantissa_exponent){both[0], both[1]};
}

/* In three steps, so that 2^exponent need not be finite where the result is. An exponent beyond the limit gives what the limit gives:
   0 or an infinity. */
kn_tensor kn_ldexp(kn_tensor x, kn_tensor exponent)
{
    kni_call call = kni_call_begin("ldexp");
    const kni_tensor *t = kni_peek(x), *e = kni_peek(exponent);
    if (!t || !e) return kni_call_end(call, kn_mul(x, exponent));
    bool whole = !kni_is_float(e->type.dtype);
    kn_dtype wide = t->type.dtype == KN_F64 || e->type.dtype == KN_F64 ? KN_F64 : KN_F32;
    kn_tensor both[2] = {x, exponent};
    int dtype = kni_widen_all(both, 2);
    double limit = wide == KN_F64 ? 2200 : 300;
    exponent = kn_keep(kn_clamp(whole ? kn_cast(both[1], wide) : both[1], -limit, limit));
    kn_tensor third = kn_keep(kn_floor(kn_mul_scalar(exponent, 1.0 / 3)));
    kn_tensor power = kn_keep(kn_exp2(third));
    kn_tensor rest = kn_exp2(kn_sub(exponent, kn_mul_scalar(third, 2)));
    return kni_call_end_as(call, kn_mul(kn_mul(kn_mul(both[0], power), power), rest), dtype);
}
