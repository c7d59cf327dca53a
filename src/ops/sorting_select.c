/* Modes and quantiles: picks from a sorted axis. */
#include "ops/wide.h"

/* x with an axis, and its length; a single number becomes [1]. */
static kn_tensor with_axis(kn_tensor x, int32_t axis, int64_t *n)
{
    int32_t rank = kn_rank(x);
    if (rank == 0) x = kn_keep(kn_reshape(x, KN_SHAPE(1)));
    *n = rank > 0 && (axis < -rank || axis >= rank) ? 0 : kn_size(x, axis);
    return x;
}

/* 0, 1, ... along axis, shaped to stand beside x. */
static kn_tensor positions_along(kn_tensor x, int32_t axis, int64_t n)
{
    kn_shape shape = {kn_rank(x), {0}};
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = 1;
    shape.dims[axis < 0 ? axis + shape.rank : axis] = n;
    return kn_reshape(kn_arange(0, (double)n, 1, KN_I64), shape);
}

static kn_tensor drop_axis(kn_tensor y, int32_t axis, bool keep, bool was_number)
{
    if (was_number) return kn_reshape(y, KN_SCALAR_SHAPE);
    return keep ? y : kn_squeeze(y, axis);
}

/* The end of the longest run of equal elements in sorted order. */
kn_indexed kn_mode(kn_tensor x, int32_t axis, bool keep)
{
    kni_call call = kni_call_begin("mode");
    x = kn_keep(x);
    bool number = kn_rank(x) == 0;
    int64_t n = 0;
    kn_tensor lines = with_axis(x, axis, &n);
    if (!kn_ok(lines) || n <= 0) {
        kn_indexed bad = kn_max_with_indices(lines, axis, keep); /* names what is wrong */
        kni_call_end_many(call, (kn_tensor *)&bad, 2);
        return bad;
    }
    kn_indexed sorted = kn_sort(lines, axis, false);
    kn_tensor values = kn_keep(sorted.values), indices = kn_keep(sorted.indices);
    kn_tensor at = kn_keep(positions_along(lines, axis, n)), starts = kn_zeros_like(indices);
    if (n > 1) {
        kn_tensor differs =
            kn_not_equal(kn_narrow(values, axis, 1, n - 1), kn_narrow(values, axis, 0, n - 1));
        kn_tensor first = kn_narrow(starts, axis, 0, 1), later = kn_narrow(at, axis, 1, n - 1);
        kn_tensor parts[2] = {first, kn_where(differs, later, kn_zeros(KN_SCALAR_SHAPE, KN_I64))};
        starts = kn_cummax(kn_concat(parts, 2, axis), axis).values;
    }
    kn_tensor end = kn_keep(kn_argmax(kn_sub(at, starts), axis, true));
    kn_tensor both[2] = {drop_axis(kn_gather(values, axis, end), axis, keep, number),
                         drop_axis(kn_gather(indices, axis, end), axis, keep, number)};
    kni_call_end_many(call, both, 2);
    return (kn_indexed){both[0], both[1]};
}

kn_tensor kn_quantile(kn_tensor x, double q, int32_t axis, bool keep)
{
    kni_call call = kni_call_begin("quantile");
    x = kn_keep(x);
    bool number = kn_rank(x) == 0;
    int64_t n = 0;
    kn_tensor lines = with_axis(x, axis, &n);
    if (!(q >= 0.0 && q <= 1.0))
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "q is %g: it must be 0 to 1", q);
    if (!kn_ok(lines) || n <= 0) return kni_call_end(call, kn_max_with_indices(lines, axis, keep).values);
    if (!kn_dtype_is_float(kn_dtype_of(x)))
        return kni_call_fail(call, KN_ERROR_DTYPE,
                             "does not take %T; it takes floats: convert with kn_cast()",
                             (int)kn_dtype_of(x));
    kn_dtype dtype = kn_dtype_of(x);
    kn_tensor sorted = kn_keep(kni_widen(kn_sort(lines, axis, false).values));
    double place = q * (double)(n - 1);
    int64_t low = (int64_t)place;
    if (low > n - 1) low = n - 1;
    /* Rounded as the elements are, so that every backend multiplies by the same number. */
    double fraction = dtype == KN_F64 ? place - (double)low : (double)(float)(place - (double)low);
    kn_tensor below = kn_keep(kn_narrow(sorted, axis, low, 1)), y = below;
    if (fraction > 0.0) {
        kn_tensor above = kn_keep(kn_narrow(sorted, axis, low + 1, 1)), gap = kn_sub(above, below);
        /* From the nearer neighbour. */
        y = fraction < 0.5 ? kn_add(below, kn_mul_scalar(gap, fraction))
                           : kn_sub(above, kn_mul_scalar(gap, 1.0 - fraction));
    }
    /* NaN stands last. */
    kn_tensor last = kn_keep(kn_narrow(sorted, axis, n - 1, 1));
    y = kn_where(kn_equal(last, last), y, last);
    return kni_call_end_as(call, drop_axis(y, axis, keep, number), (int)dtype);
}
