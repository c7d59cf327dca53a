/* Gradients of the cumulative ops. Products and logarithms of sums go back through a linear recurrence, which
   divides by nothing and stays bounded. */
#include "ops/scan_attributes.h"

/* y[k] = x[k + 1] in the direction of a scan, 0 at its end; backward: y[k] = x[k - 1], 0 at its start. */
static kn_tensor shifted(kn_tensor x, const kni_type *type, int64_t axis, bool reverse, bool backward)
{
    if (type->rank == 0) return kn_zeros(KN_SCALAR_SHAPE, (kn_dtype)type->dtype);
    int64_t n = type->dims[axis];
    kn_shape edge = kni_shape_from_type(type);
    edge.dims[axis] = n > 0 ? 1 : 0;
    kn_tensor zeros = kn_zeros(edge, (kn_dtype)type->dtype);
    if (n <= 1) return zeros;
    bool from_next = reverse == backward;
    kn_tensor rest = kn_narrow(x, (int32_t)axis, from_next ? 1 : 0, n - 1);
    kn_tensor parts[2] = {from_next ? rest : zeros, from_next ? zeros : rest};
    return kn_concat(parts, 2, (int32_t)axis);
}

/* The sum of dy from each element on. */
GRADIENT(cumsum)
{
    const kni_scan_attributes *a = v->attributes;
    kn_scan_args args = {.reverse = !a->reverse, .exclusive = a->exclusive != 0};
    kni_vjp_set(v, 0, kn_cumsum_with(v->dy[0], (int32_t)a->axis, &args));
    return KN_OK;
}

/* dx[i] = (product before i) * s[i], where s[i] = dy[i] + x[i+1] s[i+1] collects the later results. */
GRADIENT(cumprod)
{
    const kni_scan_attributes *a = v->attributes;
    const kni_type *type = &v->in_types[0];
    bool reverse = a->reverse != 0;
    kn_tensor x = kni_vjp_in(v, 0);
    kn_scan_args args = {.reverse = reverse, .exclusive = true};
    kn_tensor before = kn_cumprod_with(x, (int32_t)a->axis, &args);
    kn_tensor dy = a->exclusive ? shifted(v->dy[0], type, a->axis, reverse, false) : v->dy[0];
    kn_tensor later =
        kn_scan_linear(shifted(x, type, a->axis, reverse, false), dy, (int32_t)a->axis, !reverse);
    kni_vjp_set(v, 0, kn_mul(before, later));
    return KN_OK;
}

/* h[k] = a[k] h[k-1] + b[k]: with g[k] = dy[k] + a[k+1] g[k+1], db = g and da[k] = g[k] h[k-1]. */
GRADIENT(scan_linear)
{
    const kni_scan_attributes *a = v->attributes;
    const kni_type *type = &v->in_types[0];
    bool reverse = a->reverse != 0;
    kn_tensor later = shifted(kni_vjp_in(v, 0), type, a->axis, reverse, false);
    kn_tensor g = kn_keep(kn_scan_linear(later, v->dy[0], (int32_t)a->axis, !reverse));
    kni_vjp_set(v, 1, kn_alias(g));
    if (kni_vjp_needs(v, 0))
        kni_vjp_set(v, 0, kn_mul(g, shifted(kni_vjp_out(v, 0), type, a->axis, reverse, true)));
    return KN_OK;
}

/* y[k] = x[k + 1], and the last element again. */
static kn_tensor next_of(kn_tensor x, const kni_type *type, int32_t axis)
{
    int64_t n = type->rank ? type->dims[axis] : 0;
    if (n <= 1) return kn_alias(x);
    kn_tensor parts[2] = {kn_narrow(x, axis, 1, n - 1), kn_narrow(x, axis, n - 1, 1)};
    return kn_concat(parts, 2, axis);
}

/* dx[i] = exp(x[i] - y[i]) g[i] with g[i] = dy[i] + exp(y[i] - y[i+1]) g[i+1]; y never falls, so no factor
   passes 1. Where y is still -inf nothing depends on x. */
GRADIENT(cumlogsumexp)
{
    const kni_scan_attributes *a = v->attributes;
    int32_t axis = (int32_t)a->axis;
    kn_tensor y = kni_vjp_out(v, 0);
    kn_tensor zeros = kn_keep(kn_zeros(kni_vjp_shape(v, 0), (kn_dtype)v->in_types[0].dtype));
    kn_tensor begun = kn_keep(kn_not_equal_scalar(y, -(double)__builtin_inf()));
    kn_tensor safe = kn_keep(kn_where(begun, y, zeros));
    kn_tensor factor = kn_where(begun, kn_exp(kn_sub(safe, next_of(safe, &v->in_types[0], axis))), zeros);
    kn_tensor g = kn_scan_linear(factor, v->dy[0], axis, true);
    kn_tensor share = kn_where(begun, kn_exp(kn_sub(kni_vjp_in(v, 0), safe)), zeros);
    kni_vjp_set(v, 0, kn_mul(share, g));
    return KN_OK;
}

/* To the position that holds the extreme. */
static kn_status to_positions(kni_vjp *v)
{
    const kni_scan_attributes *a = v->attributes;
    if (!v->dy[0].bits) return KN_OK;
    if (v->in_types[0].rank == 0) {
        kni_vjp_set(v, 0, kn_alias(v->dy[0]));
        return KN_OK;
    }
    kn_tensor zeros = kn_zeros(kni_vjp_shape(v, 0), (kn_dtype)v->in_types[0].dtype);
    kni_vjp_set(v, 0, kn_scatter(zeros, (int32_t)a->axis, kni_vjp_out(v, 1), v->dy[0], KN_UPDATE_ADD));
    return KN_OK;
}

GRADIENT(cummax) { return to_positions(v); }
GRADIENT(cummin) { return to_positions(v); }
