/* Differences, integrals and derivatives of samples along an axis. */
#include "ops/movement_rows.h"
#include "ops/wide.h"

/* x[lag:] and x[:-lag] along an axis. */
static kn_tensor later(kn_tensor x, int32_t axis) { return kn_slice(x, axis, 1, KN_END, 1); }
static kn_tensor earlier(kn_tensor x, int32_t axis) { return kn_slice(x, axis, 0, -1, 1); }

static kn_tensor difference(kn_tensor x, int32_t axis)
{
    x = kn_keep(x);
    kn_tensor right = later(x, axis), left = earlier(x, axis);
    return kni_is_bool(kn_dtype_of(x)) ? kn_not_equal(right, left) : kn_sub(right, left);
}

kn_tensor kn_diff(kn_tensor x, int32_t order, int32_t axis, kn_tensor prepend, kn_tensor append)
{
    kni_call call = kni_call_begin("diff");
    const kni_type *t = kni_type_of(x);
    if (order < 0)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "order is %d: it must not be negative", (int)order);
    if (!t) return kni_call_end(call, kn_neg(x));
    if (!kni_check_axis("diff", &axis, t->rank)) return kni_call_end(call, kni_poison_latest());
    if (order == 0) return kni_call_end(call, kn_alias(kn_keep(x)));
    kn_tensor parts[3];
    int n = 0;
    if (prepend.bits) parts[n++] = prepend;
    parts[n++] = x;
    if (append.bits) parts[n++] = append;
    kn_tensor y = kn_keep(n > 1 ? kn_concat(parts, n, axis) : kn_alias(kn_keep(x)));
    for (int32_t i = 0; i < order && kn_ok(y) && kn_size(y, axis) > 0; i++) y = difference(y, axis);
    return kni_call_end(call, y);
}

/* Coordinates of samples, in y's dtype and as a tensor that broadcasts with it: x of rank 1 lies along the axis. */
static kn_tensor along(kn_tensor x, kn_tensor y, int32_t axis)
{
    const kni_type *t = kni_type_of(x);
    if (!t || t->rank > 1) return kni_as(x, (int)kn_dtype_of(y));
    kn_shape shape = {kn_rank(y), {1, 1, 1, 1, 1, 1, 1, 1}};
    shape.dims[axis] = -1;
    return kni_as(kn_reshape(x, shape), (int)kn_dtype_of(y));
}

/* (y[i] + y[i + 1]) / 2 times the step between them. y is kept, a float, and axis is not negative. */
static kn_tensor trapezoids(kn_tensor y, kn_tensor x, double step, int32_t axis)
{
    kn_tensor sums = kn_add(later(y, axis), earlier(y, axis));
    if (!x.bits) return kn_mul_scalar(sums, 0.5 * step);
    kn_tensor places = along(x, y, axis);
    const kni_type *t = kni_type_of(places);
    int32_t at = t ? axis - kn_rank(y) + t->rank : 0;
    if (t && (at < 0 || t->dims[at] != kn_size(y, axis)))
        return kni_fail_tensor("trapezoid", KN_ERROR_SHAPE,
                               "x %S does not have the %D elements of axis %d of y", t, kn_size(y, axis),
                               axis);
    return kn_mul_scalar(kn_mul(sums, difference(places, at)), 0.5);
}

static kn_tensor integrate(const char *name, kn_tensor y, kn_tensor x, double step, int32_t axis, bool whole)
{
    kni_call call = kni_call_begin(name);
    const kni_type *t = kni_type_of(y);
    if (!t) return kni_call_end(call, kn_neg(y));
    if (!kni_check_axis(name, &axis, t->rank)) return kni_call_end(call, kni_poison_latest());
    if (!kni_is_float(t->dtype)) y = kn_cast(y, KN_F32);
    int dtype = kni_widen_all(&y, 1);
    kn_tensor parts = trapezoids(kn_keep(y), x, step, axis);
    return kni_call_end_as(call, whole ? kn_sum(parts, KN_AXES(axis), false) : kn_cumsum(parts, axis), dtype);
}

kn_tensor kn_trapezoid(kn_tensor y, kn_tensor x, double step, int32_t axis)
{
    return integrate("trapezoid", y, x, step, axis, true);
}

kn_tensor kn_cumulative_trapezoid(kn_tensor y, kn_tensor x, double step, int32_t axis)
{
    return integrate("cumulative_trapezoid", y, x, step, axis, false);
}

/* The derivative at one of three points, the left, middle or right one, whose neighbours are l and r apart. */
static kn_tensor slope_of_three(kn_tensor y[3], kn_tensor l, kn_tensor r, int at)
{
    kn_tensor both = kn_keep(kn_add(l, r)), far_left = kn_mul(l, both), far_right = kn_mul(r, both);
    kn_tensor middle = kn_mul(l, r), weights[3];
    if (at == 0) {
        weights[0] = kn_neg(kn_add(l, both));
        weights[1] = both;
        weights[2] = kn_neg(l);
    } else if (at == 1) {
        weights[0] = kn_neg(r);
        weights[1] = kn_sub(r, l);
        weights[2] = l;
    } else {
        weights[0] = r;
        weights[1] = kn_neg(both);
        weights[2] = kn_add(r, both);
    }
    kn_tensor sum = kn_mul(y[0], kn_div(weights[0], far_left));
    sum = kn_add(sum, kn_mul(y[1], kn_div(weights[1], middle)));
    return kn_add(sum, kn_mul(y[2], kn_div(weights[2], far_right)));
}

/* The same of the points from `first` on, as many as `count`; gaps are those between neighbours. */
static kn_tensor slopes(kn_tensor y, kn_tensor gaps, int32_t axis, int64_t first, int64_t count, int at)
{
    kn_tensor points[3];
    for (int i = 0; i < 3; i++) points[i] = kn_narrow(y, axis, first + i, count);
    kn_tensor l = kn_keep(kn_narrow(gaps, axis, first, count));
    kn_tensor r = kn_keep(kn_narrow(gaps, axis, first + 1, count));
    return slope_of_three(points, l, r, at);
}

static kn_tensor first_order(kn_tensor y, kn_tensor gaps, int32_t axis, int64_t at)
{
    kn_tensor rise = kn_sub(kn_narrow(y, axis, at + 1, 1), kn_narrow(y, axis, at, 1));
    return kn_div(rise, kn_narrow(gaps, axis, at, 1));
}

kn_tensor kn_gradient_along(kn_tensor y, kn_tensor x, double step, int32_t axis, int32_t edge_order)
{
    kni_call call = kni_call_begin("gradient_along");
    const kni_type *t = kni_type_of(y), *places = x.bits ? kni_type_of(x) : NULL;
    if (!t || (x.bits && !places)) return kni_call_end(call, t ? kn_add(y, x) : kn_neg(y));
    if (!kni_check_axis("gradient_along", &axis, t->rank)) return kni_call_end(call, kni_poison_latest());
    int64_t n = t->dims[axis];
    if (edge_order != 1 && edge_order != 2)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "edge_order is %d: it must be 1 or 2", (int)edge_order);
    if (n <= edge_order)
        return kni_call_fail(call, KN_ERROR_SHAPE,
                             "axis %d of %S has %D samples: %d are needed for edges of order %d", axis, t, n,
                             (int)edge_order + 1, (int)edge_order);
    if (places && (places->rank != 1 || places->dims[0] != n))
        return kni_call_fail(call, KN_ERROR_SHAPE, "x %S where [%D] is due, one for each sample of axis %d",
                             places, n, axis);
    if (!kni_is_float(t->dtype)) y = kn_cast(y, KN_F32);
    int dtype = kni_widen_all(&y, 1);
    y = kn_keep(y);
    kn_tensor gaps;
    if (x.bits) {
        gaps = difference(along(x, y, axis), axis);
    } else {
        kn_shape shape = {kn_rank(y), {1, 1, 1, 1, 1, 1, 1, 1}};
        shape.dims[axis] = n - 1;
        gaps = kn_expand(kn_full(KN_SCALAR_SHAPE, step, kn_dtype_of(y)), shape);
    }
    gaps = kn_keep(gaps);
    kn_tensor parts[3];
    int k = 0;
    bool second = edge_order == 2;
    parts[k++] = second ? slopes(y, gaps, axis, 0, 1, 0) : first_order(y, gaps, axis, 0);
    if (n > 2) parts[k++] = slopes(y, gaps, axis, 0, n - 2, 1);
    parts[k++] = second ? slopes(y, gaps, axis, n - 3, 1, 2) : first_order(y, gaps, axis, n - 2);
    return kni_call_end_as(call, kn_concat(parts, k, axis), dtype);
}
