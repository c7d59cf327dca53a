/* Functions made of reductions and other ops. */
#include "ops/wide.h"

kn_tensor kn_sum_to(kn_tensor x, kn_shape shape)
{
    kni_call call = kni_call_begin("sum_to");
    const kni_tensor *t = kni_peek(x);
    if (!t) return kni_call_end(call, kn_alias(x));
    kni_type type = t->type;
    int shift = type.rank - shape.rank;
    kn_ints axes = {0, {0}};
    bool fits = shape.rank >= 0 && shift >= 0;
    for (int a = 0; a < type.rank && fits; a++) {
        int64_t want = a < shift ? 1 : shape.dims[a - shift];
        if (a < shift || (want == 1 && type.dims[a] != 1))
            axes.dims[axes.rank++] = a;
        else
            fits = want == type.dims[a];
    }
    if (!fits)
        return kni_call_fail(call, KN_ERROR_SHAPE, "%S is not a broadcast of %N: nothing sums to that shape",
                             &type, &shape);
    if (axes.rank) x = kn_sum(x, axes, true);
    return kni_call_end(call, kn_reshape(x, shape));
}

kn_tensor kn_nansum(kn_tensor x, kn_ints axes, bool keep)
{
    kni_call call = kni_call_begin("nansum");
    x = kn_keep(x);
    kn_tensor numbers = kn_where(kn_equal(x, x), x, kn_zeros_like(x));
    return kni_call_end(call, kn_sum(numbers, axes, keep));
}

kn_tensor kn_nanmean(kn_tensor x, kn_ints axes, bool keep)
{
    kni_call call = kni_call_begin("nanmean");
    x = kn_keep(x);
    kn_dtype dtype = kn_dtype_of(x);
    kn_tensor is_number = kn_keep(kn_equal(x, x));
    /* The halves hold neither large sums nor large counts. */
    kn_dtype wide = (kn_dtype)kni_sum_dtype(dtype);
    kn_tensor numbers = kn_cast(kn_where(is_number, x, kn_zeros_like(x)), wide);
    /* The mean names the dtypes that it takes. */
    if (kn_ok(x) && !kn_dtype_is_float(dtype)) return kni_call_end(call, kn_mean(x, axes, keep));
    kn_tensor count = kn_cast(kn_sum(is_number, axes, keep), wide);
    return kni_call_end(call, kn_cast(kn_div(kn_sum(numbers, axes, keep), count), dtype));
}

kn_tensor kn_max_abs(kn_tensor x, kn_ints axes, bool keep)
{
    kni_call call = kni_call_begin("max_abs");
    return kni_call_end(call, kn_max(kn_abs(x), axes, keep));
}

kn_minmax kn_aminmax(kn_tensor x, kn_ints axes, bool keep)
{
    kni_call call = kni_call_begin("aminmax");
    x = kn_keep(x);
    kn_tensor both[2] = {kn_min(x, axes, keep), kn_max(x, axes, keep)};
    kni_call_end_many(call, both, 2);
    return (kn_minmax){both[0], both[1]};
}

/* Values by position, so that the gradient goes where the position points. */
static kn_indexed at_position(const char *name, kn_tensor x, int32_t axis, bool keep,
                              kn_tensor (*find)(kn_tensor x, int32_t axis, bool keep))
{
    kni_call call = kni_call_begin(name);
    x = kn_keep(x);
    kn_tensor indices = kn_keep(find(x, axis, true));
    kn_tensor values = kn_rank(x) == 0 && kn_ok(indices) ? kn_alias(x) : kn_gather(x, axis, indices);
    if (!keep && kn_rank(x) != 0) {
        values = kn_squeeze(values, axis);
        indices = kn_squeeze(indices, axis);
    }
    kn_tensor both[2] = {values, indices};
    kni_call_end_many(call, both, 2);
    return (kn_indexed){both[0], both[1]};
}

kn_indexed kn_max_with_indices(kn_tensor x, int32_t axis, bool keep)
{
    return at_position("max_with_indices", x, axis, keep, kn_argmax);
}

kn_indexed kn_min_with_indices(kn_tensor x, int32_t axis, bool keep)
{
    return at_position("min_with_indices", x, axis, keep, kn_argmin);
}

kn_tensor kn_count_nonzero(kn_tensor x, kn_ints axes, bool keep)
{
    kni_call call = kni_call_begin("count_nonzero");
    return kni_call_end(call, kn_sum(kn_cast(x, KN_BOOL), axes, keep));
}

kn_tensor kn_contains_nan(kn_tensor x)
{
    kni_call call = kni_call_begin("contains_nan");
    x = kn_keep(x);
    return kni_call_end(call, kn_any(kn_not_equal(x, x), KN_AXES_ALL, false));
}
