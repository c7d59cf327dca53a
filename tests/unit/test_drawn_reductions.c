/* Reductions over every set of axes, scans, sorting and searching of drawn sizes, dtypes and layouts, and their gradients: equal to
   `ref` on every tier and in groups. */
#include "support/drawn_sizes.h"
#include <kn/reduce.h>
#include <kn/sort.h>

enum { MOST = 1 << 13 };

static kn_dtype any_dtype(drawn *d)
{
    static const kn_dtype dtypes[] = {KN_F32, KN_F32, KN_F64, KN_F16, KN_BF16, KN_I8,  KN_U8,
                                      KN_I16, KN_I32, KN_I64, KN_U32, KN_U64,  KN_BOOL};
    return d->dtype = dtypes[below(d, 13)];
}

static kn_tensor operand(drawn *d, kn_shape s, kn_dtype dtype)
{
    bool unsign = dtype == KN_U8 || dtype == KN_U32 || dtype == KN_U64;
    return drawn_between(d, s, dtype, true, unsign || dtype == KN_BOOL ? 0 : -3, dtype == KN_BOOL ? 1 : 3);
}

static kn_ints some_axes(drawn *d, int32_t rank)
{
    kn_ints axes = {0, {0}};
    for (int32_t i = 0; i < rank; i++)
        if (below(d, 2)) axes.dims[axes.rank++] = i;
    if (!axes.rank) axes.dims[axes.rank++] = below(d, rank);
    drawn_note(d, "axes", 0);
    for (int32_t i = 0; i < axes.rank; i++) drawn_note(d, "", axes.dims[i]);
    return axes;
}

static void sums(drawn *d)
{
    kn_shape s = drawn_shape(d, 1 + (int32_t)below(d, 5), MOST);
    kn_dtype dtype = any_dtype(d);
    d->small = below(d, 2);
    kn_tensor x = operand(d, s, dtype);
    kn_ints axes = some_axes(d, s.rank);
    bool keep = below(d, 2);
    int kind = (int)below(d, 9);
    drawn_note(d, "kind", kind);
    d->looser = 4;
    if (kn_dtype_is_float(dtype) && below(d, 4) == 0) x = kn_keep(kn_mul(x, operand(d, s, dtype)));
    kn_tensor y;
    if (kind == 0)
        y = kn_sum(x, axes, keep);
    else if (kind == 1)
        y = kn_dtype_is_float(dtype) ? kn_mean(x, axes, keep) : kn_sum(x, axes, keep);
    else if (kind == 2)
        y = kn_max(x, axes, keep);
    else if (kind == 3)
        y = kn_min(x, axes, keep);
    else if (kind == 4)
        y = kn_any(x, axes, keep);
    else if (kind == 5)
        y = kn_all(x, axes, keep);
    else if (kind == 6)
        y = kn_count_nonzero(x, axes, keep);
    else if (kind == 7)
        y = kn_dtype_is_float(dtype) ? kn_logsumexp(x, axes, keep) : kn_max(x, axes, keep);
    else
        y = dtype == KN_BOOL ? kn_any(x, axes, keep) : kn_max_abs(x, axes, keep);
    drawn_result(d, y, true);
}

/* Products of few numbers that are near 1. */
static void products(drawn *d)
{
    kn_shape s = drawn_shape(d, 1 + (int32_t)below(d, 4), MOST / 8);
    kn_dtype dtype = any_dtype(d);
    kn_tensor x =
        kn_dtype_is_float(dtype) ? drawn_between(d, s, dtype, true, 0.9375, 1.0625) : operand(d, s, dtype);
    d->looser = 50;
    drawn_result(d, kn_prod(x, some_axes(d, s.rank), below(d, 2)), true);
}

static void moments(drawn *d)
{
    kn_shape s = drawn_shape(d, 1 + (int32_t)below(d, 5), MOST);
    kn_tensor x = drawn_operand(d, s, drawn_float(d), true);
    kn_ints axes = some_axes(d, s.rank);
    kn_var_args args = {.biased = true};
    int kind = (int)below(d, 3);
    drawn_note(d, "kind", kind);
    d->looser = 4;
    if (kind == 0) drawn_result(d, kn_var(x, axes, below(d, 2), &args), true);
    if (kind == 1) drawn_result(d, kn_sqrt(kn_add_scalar(kn_var(x, axes, below(d, 2), &args), 0.5)), true);
    if (kind == 2) {
        kn_moments m = kn_var_mean(x, axes, below(d, 2), &args);
        drawn_result(d, m.var, true);
        drawn_result(d, m.mean, true);
    }
}

static void positions(drawn *d)
{
    kn_shape s = drawn_shape(d, 1 + (int32_t)below(d, 4), MOST);
    kn_dtype dtype = any_dtype(d);
    kn_tensor x = operand(d, s, dtype == KN_BOOL ? KN_I8 : dtype);
    int32_t axis = (int32_t)below(d, s.rank);
    int kind = (int)below(d, 4);
    drawn_note(d, "axis", axis);
    drawn_note(d, "kind", kind);
    if (kind == 0) drawn_result(d, kn_argmax(x, axis, below(d, 2)), false);
    if (kind == 1) drawn_result(d, kn_argmin(x, axis, below(d, 2)), false);
    if (kind > 1) {
        kn_indexed r = kind == 2 ? kn_max_with_indices(x, axis, true) : kn_min_with_indices(x, axis, true);
        drawn_result(d, r.values, true);
        drawn_result(d, r.indices, false);
    }
}

static void scans(drawn *d)
{
    kn_shape s = drawn_shape(d, 1 + (int32_t)below(d, 4), MOST);
    kn_dtype dtype = below(d, 2) ? drawn_float(d) : any_dtype(d);
    if (dtype == KN_BOOL) dtype = d->dtype = KN_I8;
    int32_t axis = (int32_t)below(d, s.rank);
    int kind = (int)below(d, 6);
    drawn_note(d, "axis", axis);
    drawn_note(d, "kind", kind);
    d->looser = 20;
    bool real = kn_dtype_is_float(dtype);
    kn_scan_args args = {.reverse = below(d, 2), .exclusive = below(d, 2)};
    drawn_note(d, "reverse", args.reverse);
    if (kind == 1 && real) {
        kn_tensor a = drawn_between(d, s, dtype, true, 0.9375, 1.0625);
        drawn_result(d, kn_cumprod_with(a, axis, &args), true);
    } else if (kind == 2 && real) {
        kn_tensor a = drawn_between(d, s, dtype, true, -0.75, 0.75), b = operand(d, s, dtype);
        drawn_result(d, kn_scan_linear(a, b, axis, args.reverse), true);
    } else if (kind == 3 && real)
        drawn_result(d, kn_cumlogsumexp(operand(d, s, dtype), axis), true);
    else if (kind > 3) {
        kn_tensor x = operand(d, s, dtype);
        kn_indexed r = kind == 4 ? kn_cummax(x, axis) : kn_cummin(x, axis);
        drawn_result(d, r.values, true);
        drawn_result(d, r.indices, false);
    } else
        drawn_result(d, kn_cumsum_with(operand(d, s, dtype), axis, &args), true);
}

static void sorting(drawn *d)
{
    kn_shape s = drawn_shape(d, 1 + (int32_t)below(d, 3), MOST / 2);
    kn_dtype dtype = any_dtype(d);
    kn_tensor x = operand(d, s, dtype == KN_BOOL ? KN_I8 : dtype);
    if (dtype == KN_I64 || dtype == KN_I32) x = kn_keep(kn_mul_scalar(x, 1000003));
    int32_t axis = (int32_t)below(d, s.rank);
    int64_t n = s.dims[axis];
    int kind = (int)below(d, 6);
    bool down = below(d, 2);
    drawn_note(d, "axis", axis);
    drawn_note(d, "kind", kind);
    kn_topk_args args = {.smallest = below(d, 2), .unsorted = below(d, 2)};
    kn_indexed r = {KN_NONE, KN_NONE};
    if (kind == 0) r = kn_sort(x, axis, down);
    if (kind == 1) r = kn_topk(x, drawn_size(d, n), axis, &args);
    if (kind == 2) r = kn_kthvalue(x, drawn_size(d, n), axis, down);
    if (kind == 3) r = kn_median(x, axis, down);
    if (kind == 4) {
        kn_unique_result u = kn_unique(x);
        drawn_result(d, u.values, false);
        drawn_result(d, u.inverse, false);
        drawn_result(d, u.counts, false);
    }
    if (kind == 5) {
        kn_tensor sorted = kn_sort(kn_reshape(x, KN_SHAPE(-1)), 0, false).values;
        drawn_result(
            d, kn_searchsorted(sorted, operand(d, drawn_shape(d, 2, MOST / 4), kn_dtype_of(x)), down), false);
    }
    if (kind > 3) return;
    drawn_result(d, r.values, true);
    drawn_result(d, r.indices, false);
}

int main(int n, char **words)
{
    static const drawn_row rows[] = {{"sums", sums, 60},       {"products", products, 20},
                                     {"moments", moments, 25}, {"positions", positions, 30},
                                     {"scans", scans, 30},     {"sorting", sorting, 30}};
    return drawn_main(rows, (int)(sizeof rows / sizeof *rows), n, words);
}
