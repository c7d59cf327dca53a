/* Numbers as operands, and the forms of the ops that take one. */
#include "core/integer_range.h"
#include "core/math/math.h"
#include "ops/movement_rows.h"
#include "ops/scalar_row.h"
#include "ops/wide.h"

/* Whether value is a whole number that an integer of 64 bits holds, and of which dtype it then is. */
static int whole_dtype(double value)
{
    if (value >= -0x1p63 && value < 0x1p63) return (double)(int64_t)value == value ? KN_I64 : KN_F32;
    return value >= 0x1p63 && value < 0x1p64 ? KN_U64 : KN_F32;
}

/* An empty slot beside x for a number of dtype, or NULL with *failed the answer of the function. */
static kni_tensor *number_beside(kn_tensor x, const kni_tensor *beside, uint32_t *id, kn_tensor *failed)
{
    /* Whatever is wrong with x is told by the op that gets it; twice the same is one failure. */
    *failed = x;
    if (KNI_UNLIKELY(!beside)) return NULL;
    *id = kni_tensor_new(kni_thread_self());
    if (KNI_UNLIKELY(*id == KNI_NO_SLOT)) {
        kni_fail_op(KN_ERROR_MEMORY, NULL, "no memory for another tensor");
        *failed = kni_poison_latest();
        return NULL;
    }
    kni_tensor *y = kni_slot(*id);
    y->device = beside->device;
    y->made_by = 0;
    y->flags = KNI_TENSOR_SCALAR;
    y->type.rank = 0;
    y->type.weak = 1;
    return y;
}

kn_tensor kni_number(kn_tensor x, double value)
{
    uint32_t id;
    kn_tensor failed;
    const kni_tensor *beside = kni_peek(x);
    kni_tensor *y = number_beside(x, beside, &id, &failed);
    if (KNI_UNLIKELY(!y)) return failed;
    /* Beside anything but f64 a fraction is computed with in f32, so it is rounded here, once for all backends. */
    int dtype = beside->type.dtype == KN_F64           ? KN_F64
                : KNI_FLOATS >> beside->type.dtype & 1 ? KN_F32
                                                       : whole_dtype(value);
    y->type.dtype = (uint8_t)dtype;
    if (dtype == KN_F64)
        y->inline_value.f64 = value;
    else if (dtype == KN_F32)
        kni_convert(y->inline_value.bytes, KN_F32, 1, &value, KN_F64, 1, 1);
    else
        y->inline_value.i64 = dtype == KN_U64 ? (int64_t)(uint64_t)value : (int64_t)value;
    return kni_handle(id);
}

kn_tensor kni_integer(kn_tensor x, int64_t value)
{
    uint32_t id;
    kn_tensor failed;
    kni_tensor *y = number_beside(x, kni_peek(x), &id, &failed);
    if (KNI_UNLIKELY(!y)) return failed;
    y->type.dtype = KN_I64;
    y->inline_value.i64 = value;
    return kni_handle(id);
}

/* The row under the name of the public function, for what fails now or later. */
static kn_tensor binary_as(const char *name, const kn_op *row, kn_tensor a, kn_tensor b)
{
    kn_tensor in[2] = {a, b};
    return kni_apply_as(name, row, in, 2, NULL);
}

static kn_tensor with_number(const char *name, const kn_op *row, kn_tensor x, double value)
{
    return binary_as(name, row, x, kni_number(x, value));
}

kn_tensor kn_add_scalar(kn_tensor x, double value)
{
    return with_number("add_scalar", &kni_op_add, x, value);
}
kn_tensor kn_sub_scalar(kn_tensor x, double value)
{
    return with_number("sub_scalar", &kni_op_sub, x, value);
}
kn_tensor kn_rsub_scalar(kn_tensor x, double value)
{
    return binary_as("rsub_scalar", &kni_op_sub, kni_number(x, value), x);
}
kn_tensor kn_mul_scalar(kn_tensor x, double value)
{
    return with_number("mul_scalar", &kni_op_mul, x, value);
}
kn_tensor kn_div_scalar(kn_tensor x, double value)
{
    return with_number("div_scalar", &kni_op_div, x, value);
}
kn_tensor kn_rdiv_scalar(kn_tensor x, double value)
{
    return binary_as("rdiv_scalar", &kni_op_div, kni_number(x, value), x);
}

static bool holds_integers(const kni_tensor *t)
{
    return t && !kni_is_float(t->type.dtype) && !kni_is_bool(t->type.dtype);
}

/* Devices compute integers below 64 bits in 32 and would cut a larger number off, which changes more than the bits that the
   result drops: such a number meets x in 64 bits. */
static bool needs_64_bits(const kni_tensor *x, double value)
{
    bool fits = value >= -0x1p31 && value < 0x1p31;
    return !fits && holds_integers(x) && kni_compute_of[x->type.dtype] == KNI_COMPUTE_I32 &&
           whole_dtype(value) != KN_F32;
}

static kn_tensor with_whole_number(const char *name, const kn_op *row, kn_tensor x, double value)
{
    const kni_tensor *t = kni_peek(x);
    if (!needs_64_bits(t, value)) return with_number(name, row, x, value);
    kni_call call = kni_call_begin(name);
    int dtype = t->type.dtype;
    return kni_call_end_as(call, with_number(name, row, kn_cast(x, KN_I64), value), dtype);
}

/* Integers have no result for 0. Elements of a tensor are not looked at, a number is. */
static kn_tensor divide(const char *name, const kn_op *row, kn_tensor x, double value)
{
    const kni_tensor *t = value == 0 ? kni_peek(x) : NULL;
    if (t && !kni_is_float(t->type.dtype)) {
        kni_fail_op(KN_ERROR_ARGUMENT, name, "%S of %T divided by 0", &t->type, (int)t->type.dtype);
        return kni_poison_latest();
    }
    return with_whole_number(name, row, x, value);
}

kn_tensor kn_floor_div_scalar(kn_tensor x, double value)
{
    return divide("floor_div_scalar", &kni_op_floor_div, x, value);
}
kn_tensor kn_remainder_scalar(kn_tensor x, double value)
{
    return divide("remainder_scalar", &kni_op_remainder, x, value);
}
kn_tensor kn_fmod_scalar(kn_tensor x, double value) { return divide("fmod_scalar", &kni_op_fmod, x, value); }

/* As in PyTorch: the result would be a fraction that the dtype cannot hold. */
kn_tensor kn_pow_scalar(kn_tensor x, double exponent)
{
    const kni_tensor *t = kni_peek(x);
    if (KNI_UNLIKELY(t && exponent < 0 && !(KNI_FLOATS >> t->type.dtype & 1) &&
                     whole_dtype(exponent) == KN_I64)) {
        kni_fail_op(KN_ERROR_ARGUMENT, "pow_scalar",
                    "integers have no negative integer powers: convert with kn_cast() to a float dtype");
        return kni_poison_latest();
    }
    return with_whole_number("pow_scalar", &kni_op_pow, x, exponent);
}

kn_tensor kn_rpow_scalar(kn_tensor x, double base)
{
    const kni_tensor *t = kni_peek(x);
    if (!needs_64_bits(t, base)) return binary_as("rpow_scalar", &kni_op_pow, kni_number(x, base), x);
    kni_call call = kni_call_begin("rpow_scalar");
    int dtype = t->type.dtype;
    x = kn_keep(kn_cast(x, KN_I64));
    return kni_call_end_as(call, kni_binary(&kni_op_pow, kni_number(x, base), x), dtype);
}

/* The number, or the end of x's range that lies next to it: an extreme of integers is an integer of their dtype. Infinities and
   fractions make floats of both. */
static kn_tensor number_within(kn_tensor x, double value)
{
    const kni_tensor *t = kni_peek(x);
    if (!holds_integers(t) || value != kni_floor_f64(value) || value - value != 0)
        return kni_number(x, value);
    double least, end;
    kni_integer_range(t->type.dtype, &least, &end);
    if (value >= least && value < end) return kni_number(x, value);
    if (value < least) return kni_number(x, least);
    uint64_t highest = (kni_dtypes[t->type.dtype].kind == KNI_KIND_SIGNED ? UINT64_MAX >> 1 : UINT64_MAX) >>
                       (64 - kni_dtypes[t->type.dtype].bits);
    kn_tensor y = kni_integer(x, (int64_t)highest);
    kni_tensor *slot = highest >> 63 ? kni_peek(y) : NULL;
    if (slot) slot->type.dtype = KN_U64;
    return y;
}

kn_tensor kn_maximum_scalar(kn_tensor x, double value)
{
    return binary_as("maximum_scalar", &kni_op_maximum, x, number_within(x, value));
}
kn_tensor kn_minimum_scalar(kn_tensor x, double value)
{
    return binary_as("minimum_scalar", &kni_op_minimum, x, number_within(x, value));
}

/* An integer is compared with the whole number next to a fraction, since the fraction itself would make both f32, and
   with an infinity in place of what its dtype does not hold. */
static kn_tensor compare(const char *name, const kn_op *row, kn_tensor x, double value,
                         double (*whole)(double))
{
    const kni_tensor *t = kni_peek(x);
    if (holds_integers(t)) {
        double least, end;
        kni_integer_range(t->type.dtype, &least, &end);
        value = whole(value);
        if (value < least) value = -__builtin_inf();
        if (value >= end) value = __builtin_inf();
    }
    return with_number(name, row, x, value);
}

/* Whether x can equal value: an integer equals no fraction and nothing beyond its dtype. */
static bool may_equal(kn_tensor x, double value)
{
    const kni_tensor *t = kni_peek(x);
    double least, end;
    if (!holds_integers(t)) return true;
    kni_integer_range(t->type.dtype, &least, &end);
    return kni_floor_f64(value) == value && value >= least && value < end;
}

static kn_tensor with_itself(const char *name, const kn_op *row, kn_tensor x)
{
    kni_call call = kni_call_begin(name);
    x = kn_keep(x);
    return kni_call_end(call, kni_binary(row, x, x));
}

kn_tensor kn_equal_scalar(kn_tensor x, double value)
{
    return may_equal(x, value) ? with_number("equal_scalar", &kni_op_equal, x, value)
                               : with_itself("equal_scalar", &kni_op_not_equal, x);
}
kn_tensor kn_not_equal_scalar(kn_tensor x, double value)
{
    return may_equal(x, value) ? with_number("not_equal_scalar", &kni_op_not_equal, x, value)
                               : with_itself("not_equal_scalar", &kni_op_equal, x);
}
kn_tensor kn_less_scalar(kn_tensor x, double value)
{
    return compare("less_scalar", &kni_op_less, x, value, kni_ceil_f64);
}
kn_tensor kn_less_equal_scalar(kn_tensor x, double value)
{
    return compare("less_equal_scalar", &kni_op_less_equal, x, value, kni_floor_f64);
}
kn_tensor kn_greater_scalar(kn_tensor x, double value)
{
    return compare("greater_scalar", &kni_op_greater, x, value, kni_floor_f64);
}
kn_tensor kn_greater_equal_scalar(kn_tensor x, double value)
{
    return compare("greater_equal_scalar", &kni_op_greater_equal, x, value, kni_ceil_f64);
}
