/* Gradients of the reductions. */
#include "ops/reduce_axes.h"

static const kn_ints *axes_of(const kni_vjp *v)
{
    return &((const kni_reduce_attributes *)v->attributes)->axes;
}

/* The number of elements behind each result, as far as it is known. */
static double reduced_count(const kni_vjp *v, const kn_ints *axes)
{
    double n = 1;
    for (int i = 0; i < axes->rank; i++) n *= (double)v->in_types[0].dims[axes->dims[i]];
    return n;
}

/* d sum / dx = 1 */
GRADIENT(sum)
{
    kni_vjp_set(v, 0, kni_reduce_spread(v, v->dy[0], axes_of(v)));
    return KN_OK;
}

/* d mean / dx = 1 / n */
GRADIENT(mean)
{
    kn_tensor dy = kn_div_scalar(v->dy[0], reduced_count(v, axes_of(v)));
    kni_vjp_set(v, 0, kni_reduce_spread(v, dy, axes_of(v)));
    return KN_OK;
}

/* x with the kept axes first and all reduced axes as one last axis; order receives the permutation. */
static kn_tensor reduced_last(kn_tensor x, const kni_type *type, const kn_ints *axes, kn_ints *order,
                              int64_t n)
{
    uint32_t mask = kni_reduce_mask(axes);
    kn_shape shape = {0, {0}};
    order->rank = 0;
    for (int a = 0; a < type->rank; a++) {
        if (mask >> a & 1) continue;
        shape.dims[shape.rank++] = type->dims[a];
        order->dims[order->rank++] = a;
    }
    for (int i = 0; i < axes->rank; i++) order->dims[order->rank++] = axes->dims[i];
    shape.dims[shape.rank++] = n;
    return kn_reshape(order->rank ? kn_permute(x, *order) : x, shape);
}

/* The way back from reduced_last. */
static kn_tensor reduced_back(kn_tensor x, const kni_type *type, const kn_ints *order)
{
    kn_shape shape = {type->rank, {0}};
    kn_ints inverse = {type->rank, {0}};
    for (int i = 0; i < type->rank; i++) {
        shape.dims[i] = type->dims[order->dims[i]];
        inverse.dims[order->dims[i]] = i;
    }
    x = kn_reshape(x, shape);
    return type->rank ? kn_permute(x, inverse) : x;
}

/* d prod / dx[i] = product of the others: those before times those after, so that zeros do no harm. */
GRADIENT(prod)
{
    const kn_ints *axes = axes_of(v);
    const kni_type *type = &v->in_types[0];
    int64_t n = 1;
    for (int i = 0; i < axes->rank; i++) n *= type->dims[axes->dims[i]];
    kn_ints order;
    kn_tensor x = kn_keep(reduced_last(kni_vjp_in(v, 0), type, axes, &order, n));
    kn_tensor before = kn_cumprod_with(x, -1, &(kn_scan_args){.exclusive = true});
    kn_tensor after = kn_cumprod_with(x, -1, &(kn_scan_args){.exclusive = true, .reverse = true});
    kn_tensor others = reduced_back(kn_mul(before, after), type, &order);
    kni_vjp_set(v, 0, kn_mul(others, kni_reduce_spread(v, v->dy[0], axes)));
    return KN_OK;
}

/* Evenly among the elements that equal the extreme. A row whose extreme is NaN gets 0 / 0. */
static kn_status share_evenly(kni_vjp *v)
{
    const kn_ints *axes = axes_of(v);
    kn_tensor y = kni_reduce_spread(v, kni_vjp_out(v, 0), axes);
    kn_tensor equal = kn_keep(kn_equal(kni_vjp_in(v, 0), y));
    kn_tensor count = kn_cast(kn_sum(equal, *axes, true), (kn_dtype)v->in_types[0].dtype);
    kn_tensor dy = kni_reduce_spread(v, v->dy[0], axes);
    kn_tensor zeros = kn_zeros(kni_vjp_shape(v, 0), (kn_dtype)v->in_types[0].dtype);
    kni_vjp_set(v, 0, kn_div(kn_where(equal, dy, zeros), count));
    return KN_OK;
}

GRADIENT(max) { return share_evenly(v); }
GRADIENT(min) { return share_evenly(v); }

/* d var / dx = 2 (x - mean) / (n - correction), d mean / dx = 1 / n */
GRADIENT(var_mean)
{
    const kni_var_attributes *a = v->attributes;
    double n = reduced_count(v, &a->axes), divisor = n - a->correction;
    if (v->dy[0].bits) {
        kn_tensor centred = kn_sub(kni_vjp_in(v, 0), kni_reduce_spread(v, kni_vjp_out(v, 1), &a->axes));
        kn_tensor dy = kn_mul_scalar(v->dy[0], 2.0 / (divisor > 0 ? divisor : 0.0));
        kni_vjp_set(v, 0, kn_mul(centred, kni_reduce_spread(v, dy, &a->axes)));
    }
    if (v->dy[1].bits) kni_vjp_set(v, 0, kni_reduce_spread(v, kn_div_scalar(v->dy[1], n), &a->axes));
    return KN_OK;
}

/* d logsumexp / dx = exp(x - y); where y is infinite below, nothing depends on x. */
GRADIENT(logsumexp)
{
    const kn_ints *axes = axes_of(v);
    kn_tensor y = kn_keep(kni_reduce_spread(v, kni_vjp_out(v, 0), axes));
    kn_tensor none = kn_keep(kn_equal_scalar(y, -(double)__builtin_inf()));
    kn_tensor zeros = kn_keep(kn_zeros(kni_vjp_shape(v, 0), (kn_dtype)v->in_types[0].dtype));
    kn_tensor share = kn_exp(kn_sub(kni_vjp_in(v, 0), kn_where(none, zeros, y)));
    kni_vjp_set(v, 0, kn_mul(share, kni_reduce_spread(v, v->dy[0], axes)));
    return KN_OK;
}
