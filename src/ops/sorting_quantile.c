/* Quantiles by a tensor, in all modes, and medians and quantiles that pass over NaN. */
#include "ops/movement_rows.h"
#include "ops/wide.h"

/* The lines of x along `axis` as the last axis; a single number is one line. Poisoned, with the reason, for what has no quantile. */
static kn_tensor lines_of(const char *name, kn_tensor x, int32_t *axis)
{
    const kni_type *t = kni_type_of(x);
    if (!t) return kn_neg(x);
    if (!kni_check_axis_or_scalar(name, axis, t->rank)) return kni_poison_latest();
    if (t->rank == 0) return kn_reshape(x, KN_SHAPE(1));
    if (t->dims[*axis] == 0)
        return kni_fail_tensor(name, KN_ERROR_SHAPE, "axis %d of %S is empty and has no quantile", *axis, t);
    return kn_movedim(x, KN_AXES(*axis), KN_AXES(-1));
}

/* How many elements of each line are not NaN, less one, at least 0, in dtype: [..., 1]. */
static kn_tensor last_number(kn_tensor lines, kn_dtype dtype)
{
    kn_tensor count = kn_sum(kn_logical_not(kn_is_nan(lines)), KN_AXES(-1), true);
    return kn_cast(kn_maximum_scalar(kn_sub_scalar(count, 1), 0), dtype);
}

/* The elements of sorted lines at positions that may lie between two of them. */
static kn_tensor read_places(kn_tensor sorted, kn_tensor place, kn_quantile_mode mode)
{
    if (mode == KN_QUANTILE_LOWER) place = kn_floor(place);
    if (mode == KN_QUANTILE_HIGHER) place = kn_ceil(place);
    if (mode == KN_QUANTILE_NEAREST) place = kn_round(place);
    place = kn_keep(kn_detach(place));
    kn_tensor low = kn_keep(kn_floor(place));
    kn_tensor below = kn_keep(kn_gather(sorted, -1, kn_cast(low, KN_I64)));
    if (mode != KN_QUANTILE_LINEAR && mode != KN_QUANTILE_MIDPOINT) return below;
    kn_tensor above = kn_keep(kn_gather(sorted, -1, kn_cast(kn_ceil(place), KN_I64)));
    kn_tensor weight = mode == KN_QUANTILE_MIDPOINT ? kn_full_like(place, 0.5) : kn_sub(place, low);
    /* Equal infinities have no line between them. */
    return kn_where(kn_equal(place, low), below, kn_lerp(below, above, weight));
}

/* y [..., m]: the axis of the quantiles moves to the front or disappears, and the axis of x comes back where it is kept. */
static kn_tensor arrange(kn_tensor y, int32_t axis, bool keep, bool was_number, bool many)
{
    y = kn_movedim(y, KN_AXES(-1), KN_AXES(0));
    if (keep && !was_number) y = kn_unsqueeze(y, axis + 1);
    return many ? y : kn_squeeze(y, 0);
}

static kn_tensor quantiles(const char *name, kn_tensor x, kn_tensor q, int32_t axis, bool keep,
                           kn_quantile_mode mode, bool skip_nan)
{
    kni_call call = kni_call_begin(name);
    const kni_type *t = kni_type_of(x), *at = kni_type_of(q);
    if (!t || !at) return kni_call_end(call, kn_add(x, q));
    if ((unsigned)mode > KN_QUANTILE_NEAREST)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "mode %d is none of kn_quantile_mode", (int)mode);
    if (!kni_is_float(t->dtype) || !kni_is_float(at->dtype))
        return kni_call_fail(call, KN_ERROR_DTYPE,
                             "does not take %T at %T; it takes floats: convert with kn_cast()", (int)t->dtype,
                             (int)at->dtype);
    if (at->rank > 1)
        return kni_call_fail(call, KN_ERROR_SHAPE, "q must have rank 0 or 1, not %S: use kn_flatten()", at);
    int dtype = t->dtype;
    bool was_number = t->rank == 0, many = at->rank == 1;
    kn_dtype wide = (kn_dtype)kni_sum_dtype(dtype);
    kn_tensor lines = kn_keep(lines_of(name, x, &axis));
    if (!kn_ok(lines)) return kni_call_end(call, lines);
    kn_tensor sorted = kn_keep(kni_widen(kn_sort(lines, -1, false).values));
    int64_t n = kn_size(sorted, -1);
    q = kn_keep(kn_reshape(kni_as(q, (int)wide), KN_SHAPE(-1)));
    kn_tensor inside = kn_logical_and(kn_greater_equal_scalar(q, 0), kn_less_equal_scalar(q, 1));
    inside = kn_keep(inside);
    kn_tensor good = kn_keep(kn_where(inside, q, kn_zeros_like(q)));
    kn_tensor place =
        skip_nan ? kn_mul(last_number(lines, wide), good) : kn_mul_scalar(good, (double)(n - 1));
    kn_shape shape = {kn_rank(sorted), {0}};
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = kn_size(i == shape.rank - 1 ? q : sorted, i == shape.rank - 1 ? 0 : i);
    kn_tensor y = read_places(sorted, kn_expand(place, shape), mode);
    kn_tensor none = kn_full(KN_SCALAR_SHAPE, __builtin_nan(""), wide);
    if (!skip_nan) { /* NaN stands last */
        kn_tensor last = kn_is_nan(kn_narrow(sorted, -1, n - 1, 1));
        inside = kn_logical_and(inside, kn_logical_not(last));
    }
    y = kn_where(inside, y, none);
    return kni_call_end_as(call, arrange(y, axis, keep, was_number, many), dtype);
}

kn_tensor kn_quantile_with(kn_tensor x, kn_tensor q, int32_t axis, bool keep, kn_quantile_mode mode)
{
    return quantiles("quantile_with", x, q, axis, keep, mode, false);
}

kn_tensor kn_nanquantile_with(kn_tensor x, kn_tensor q, int32_t axis, bool keep, kn_quantile_mode mode)
{
    return quantiles("nanquantile_with", x, q, axis, keep, mode, true);
}

kn_tensor kn_nanquantile(kn_tensor x, double q, int32_t axis, bool keep)
{
    kni_call call = kni_call_begin("nanquantile");
    const kni_type *t = kni_type_of(x = kn_keep(x));
    if (!(q >= 0.0 && q <= 1.0))
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "q is %g: it must be 0 to 1", q);
    kn_tensor at = kn_scalar(q, t && t->dtype == KN_F64 ? KN_F64 : KN_F32);
    return kni_call_end(call, quantiles("nanquantile", x, at, axis, keep, KN_QUANTILE_LINEAR, true));
}

kn_indexed kn_nanmedian(kn_tensor x, int32_t axis, bool keep)
{
    kni_call call = kni_call_begin("nanmedian");
    const kni_type *t = kni_type_of(x);
    bool was_number = t && t->rank == 0;
    kn_tensor both[2];
    kn_tensor lines = kn_keep(lines_of("nanmedian", x, &axis));
    if (!kn_ok(lines)) {
        both[0] = both[1] = lines;
    } else {
        kn_indexed sorted = kn_sort(lines, -1, false);
        kn_tensor middle = kn_keep(kn_floor_div_scalar(last_number(lines, KN_I64), 2));
        both[0] = arrange(kn_gather(sorted.values, -1, middle), axis, keep, was_number, false);
        both[1] = arrange(kn_gather(sorted.indices, -1, middle), axis, keep, was_number, false);
    }
    kni_call_end_many(call, both, 2);
    return (kn_indexed){both[0], both[1]};
}
