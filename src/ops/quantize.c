/* Numbers as small integers times a scale, and back: the rows, and the functions that spread scales over axes and blocks. */
#include "core/integer_range.h"
#include "ops/native.h"
#include "ops/scalar_row.h"
#include "ops/wide.h"
#include <kn/quantize.h>

static const kn_attribute bounds_schema[] = {KNI_NUMBER("low", 0), KNI_NUMBER("high", 1), {0}};
ELEMENTWISE_NUMBERS(quantize, 3, KNI_RULE_PROMOTE, KNI_FLOATS,
                    "y = min(max(round(x / scale) + zero, low), high)", bounds_schema, .in = "x scale zero",
                    .doc = "min(max(round(x / scale) + zero, low), high), halves to the even number",
                    .tolerance = {2, 0}, .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE | KNI_FLAG_ZERO_GRADIENT)
ELEMENTWISE(dequantize, 3, KNI_RULE_PROMOTE, KNI_FLOATS, "y = (x - zero) * scale", .in = "x scale zero",
            .doc = "(x - zero) scale", .tolerance = {2, 1}, .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE)
DERIVED(dequantize)

/* ---- u8 with the scale and the zero point that hold the least element, the largest and 0 */

extern const kni_native kni_cpu_quantize_dynamic;

static kn_status infer_quantize_dynamic(kni_infer *c)
{
    kn_status s = kni_infer_dtype(c, 0, KNI_BIT(KN_F32));
    if (s) return s;
    *c->out[0] = *c->in[0];
    c->out[0]->weak = 0;
    c->out[0]->dtype = c->out[2]->dtype = KN_U8;
    c->out[1]->dtype = KN_F32;
    c->out[1]->rank = c->out[2]->rank = 0;
    return KN_OK;
}

static kn_status lower_quantize_dynamic(kni_lowering *l)
{
    kn_tensor x = l->in[0], zero = kn_keep(kn_full(KN_SCALAR_SHAPE, 0, KN_F32));
    const bool any = kn_count(x) > 0;
    kn_tensor low = kn_keep(any ? kn_minimum(kn_min(x, KN_AXES_ALL, false), zero) : kn_alias(zero));
    kn_tensor high = kn_keep(any ? kn_maximum(kn_max(x, KN_AXES_ALL, false), zero) : kn_alias(zero));
    kn_tensor range = kn_where(kn_equal(high, low), kn_full(KN_SCALAR_SHAPE, 1, KN_F32), kn_sub(high, low));
    kn_tensor scale = kn_keep(kn_div_scalar(range, 255));
    kn_tensor at = kn_round(kn_clamp(kn_sub(zero, kn_div(low, scale)), 0, 255));
    l->out[2] = kn_keep(kn_cast(at, KN_U8));
    l->out[0] = kn_quantize(x, scale, l->out[2], NULL);
    l->out[1] = scale;
    return KN_OK;
}

OP(quantize_dynamic,
   .doc = "x in u8 with the scale and the zero point that hold 0 and its least and largest elements",
   .min_in = 1, .max_in = 1, .n_out = 3, .kind = KNI_COMPOSITE, .dtypes = KNI_BIT(KN_F32),
   .flags = KNI_FLAG_NO_GRADIENT, .infer = infer_quantize_dynamic, .lower = lower_quantize_dynamic,
   .native = &kni_cpu_quantize_dynamic)

/* ---- the functions */

/* A scale or zero point with axes that broadcast to x: one for each place of an axis, or repeated for the neighbours of a block. */
static kn_tensor spread(kni_call call, kn_tensor given, const kn_shape *x, const kn_quantize_args *a,
                        bool *good)
{
    kn_shape s = kn_shape_of_tensor(given);
    const int32_t axis = a->axis < 0 ? a->axis + x->rank : a->axis;
    *good = true;
    if (kn_count(given) == 1) return kn_reshape(given, KN_SCALAR_SHAPE);
    if (axis < 0 || axis >= x->rank) {
        *good = false;
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "axis %d is outside x of rank %d", (int)a->axis,
                             (int)x->rank);
    }
    if (s.rank == 1 && a->block == 0) {
        kn_shape wide = {.rank = x->rank};
        for (int i = 0; i < x->rank; i++) wide.dims[i] = i == axis ? s.dims[0] : 1;
        return kn_reshape(given, wide);
    }
    if (a->block < 1 || s.rank != x->rank ||
        s.dims[axis] != x->dims[axis] / a->block + (x->dims[axis] % a->block != 0)) {
        *good = false;
        return kni_call_fail(
            call, KN_ERROR_SHAPE,
            "scales and zero points have one element, one for each place of an axis, or one for "
            "each block: rank %d does not fit x of rank %d with blocks of %D",
            (int)s.rank, (int)x->rank, a->block);
    }
    given = kn_repeat_interleave(given, a->block, axis);
    return kn_narrow(given, axis, 0, x->dims[axis]);
}

/* x as a float that the stored dtypes are computed in. */
static kn_tensor as_number(kn_tensor x)
{
    const kni_tensor *t = kni_peek(x);
    return t && kni_dtype_stored(t->type.dtype) ? kn_cast(x, KN_F32) : x;
}

/* The scale and the zero point of x; false with *bad to return. */
static bool prepare(kni_call call, kn_tensor x, kn_tensor *scale, kn_tensor *zero, const kn_quantize_args *a,
                    kn_tensor *bad)
{
    const kn_shape shape = kn_shape_of_tensor(x);
    bool good = true;
    if (!kn_ok(x) || !kn_ok(*scale) || (zero->bits && !kn_ok(*zero))) {
        *bad = kn_alias(!kn_ok(x) ? x : !kn_ok(*scale) ? *scale : *zero);
        return false;
    }
    *bad = *scale = spread(call, as_number(*scale), &shape, a, &good);
    if (good && zero->bits) *bad = *zero = spread(call, as_number(*zero), &shape, a, &good);
    return good;
}

kn_tensor kn_quantize(kn_tensor x, kn_tensor scale, kn_tensor zero, const kn_quantize_args *args)
{
    static const kn_quantize_args defaults = {.dtype = KN_DTYPE_NONE};
    const kn_quantize_args *a = args ? args : &defaults;
    kni_call call = kni_call_begin("quantize");
    kn_tensor bad = KN_NONE;
    kn_dtype dtype = a->dtype;
    if (dtype == KN_DTYPE_NONE) dtype = zero.bits && kn_ok(zero) ? kn_dtype_of(zero) : KN_U8;
    x = kn_keep(x);
    if (!prepare(call, x, &scale, &zero, a, &bad)) return kni_call_end(call, bad);
    if ((unsigned)dtype < KN_DTYPE_COUNT && kni_is_float(dtype)) {
        kn_tensor y = kn_div(x, scale);
        if (zero.bits) y = kn_add(y, zero);
        return kni_call_end(call, a->overflows ? kn_cast(y, dtype) : kn_cast_saturate(y, dtype));
    }
    if (!kni_dtype_is_there(dtype) || kni_is_bool(dtype))
        return kni_call_fail(call, KN_ERROR_DTYPE, "%D is no dtype to quantize to", (int64_t)dtype);
    kni_scalar_params bounds = {{0, 0}};
    kni_integer_range(dtype, &bounds.p[0], &bounds.p[1]);
    bounds.p[1] -= 1;
    kn_tensor in[3] = {x, scale, zero.bits ? zero : kni_number(x, 0)};
    /* Halves do not hold every number of 16 bits. */
    if (kni_dtypes[dtype].bits > 8) in[0] = kni_widen(in[0]);
    return kni_call_end(call, kn_cast(kni_apply(&kni_op_quantize, in, 3, &bounds), dtype));
}

kn_tensor kn_dequantize(kn_tensor x, kn_tensor scale, kn_tensor zero, const kn_quantize_args *args)
{
    static const kn_quantize_args defaults = {.dtype = KN_DTYPE_NONE};
    kni_call call = kni_call_begin("dequantize");
    kn_tensor bad = KN_NONE;
    x = kn_keep(as_number(x));
    const kn_dtype dtype = kn_ok(scale) ? kn_dtype_of(scale) : KN_F32;
    if (!prepare(call, x, &scale, &zero, args ? args : &defaults, &bad)) return kni_call_end(call, bad);
    kn_tensor in[3] = {x, scale, zero.bits ? zero : kni_number(x, 0)};
    return kni_call_end(call, kni_as(kni_apply(&kni_op_dequantize, in, 3, NULL), dtype));
}
