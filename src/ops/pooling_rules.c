/* The rules of pooling: defaults and limits of the attributes, sizes of the results. */
#include "ops/pooling.h"

const kn_attribute kni_pool_schema[] = {KNI_POOL_ATTRIBUTES, {0}};

void kni_pool_sizes(const kni_type *t, int axes, int64_t *sizes)
{
    for (int i = 0; i < 3; i++) sizes[i] = i < 3 - axes ? 1 : t->dims[t->rank - 3 + i];
}

void kni_launch_pool_list(kni_launch *l, const kn_ints *list, int64_t absent)
{
    for (int i = 0; i < 3; i++)
        kni_launch_int(l, i < 3 - list->rank ? absent : list->dims[i - (3 - list->rank)]);
}

/* Whether all that the kernels compute from sizes and steps is below 2^31. */
static bool is_small(const kni_pool_attributes *a, const kni_type *x, const kni_type *y)
{
    const int64_t most = INT32_MAX / 2;
    int64_t taps = 1;
    for (int i = 0; i < a->axes; i++) {
        int64_t in = x->dims[x->rank - a->axes + i], out = y->dims[y->rank - a->axes + i], reach, last;
        if (__builtin_mul_overflow(a->window.dims[i], a->dilation.dims[i], &reach) ||
            __builtin_mul_overflow(out, a->stride.dims[i], &last) || reach > most / 4 || last > most / 4 ||
            a->padding.dims[i] > most / 8 || a->padding_end.dims[i] > most / 8 || in > most / 4 ||
            __builtin_mul_overflow(taps, a->window.dims[i], &taps) || taps > most)
            return false;
    }
    return kni_count(x) <= most && kni_count(y) <= most;
}

void kni_launch_pool(kni_launch *l, const kni_pool_attributes *a, const kni_type *x, const kni_type *y,
                     const kni_type *items)
{
    int64_t sizes[3];
    l->items = kni_count(items);
    kni_pool_sizes(x, (int)a->axes, sizes);
    kni_launch_ints(l, sizes, 3);
    kni_pool_sizes(y, (int)a->axes, sizes);
    kni_launch_ints(l, sizes, 3);
    /* Models have many sizes of images and few windows. */
    l->fixed = l->n_ints;
    l->small = is_small(a, x, y);
    kni_launch_pool_list(l, &a->window, 1);
    kni_launch_pool_list(l, &a->stride, 1);
    kni_launch_pool_list(l, &a->padding, 0);
    kni_launch_pool_list(l, &a->dilation, 1);
}

kn_status kni_infer_pool_list(const kni_infer *c, const char *name, kn_ints *list, int axes, int64_t absent,
                              int64_t lowest)
{
    if (list->rank != 0 && list->rank != 1 && list->rank != axes)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%s has %d entries for %d axes", name, list->rank, axes);
    if (list->rank == 0) list->dims[0] = absent;
    if (list->rank < axes)
        for (int i = 1; i < axes; i++) list->dims[i] = list->dims[0];
    list->rank = axes;
    for (int i = 0; i < axes; i++)
        if (kni_dim_high(list->dims[i]) < lowest || kni_dim_low(list->dims[i]) > INT32_MAX)
            return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%s is %D on spatial axis %d; it must be %D to %D",
                                  name, list->dims[i], i, lowest, (int64_t)INT32_MAX);
    return KN_OK;
}

kn_status kni_infer_pool_input(const kni_infer *c, const kni_type *x, int axes)
{
    if (x->rank != axes + 1 && x->rank != axes + 2)
        return kni_infer_fail(
            c, KN_ERROR_SHAPE,
            "x must be [batch, channels, %d spatial axes], or the same without a batch; got %S", axes, x);
    for (int i = x->rank - axes; i < x->rank; i++)
        if (x->dims[i] == 0)
            return kni_infer_fail(c, KN_ERROR_SHAPE, "axis %d of x %S is empty: there is nothing to pool", i,
                                  x);
    return KN_OK;
}

/* Entries of 0 mean the default too, which public functions and kn_call rely on. */
static void replace_zeros(kn_ints *list, const kn_ints *defaults)
{
    if (list->rank == 0) *list = *defaults;
    for (int i = 0; i < list->rank; i++)
        if (list->dims[i] == 0) list->dims[i] = defaults->dims[i];
}

kn_status kni_fill_pool(const kni_infer *c, kni_pool_attributes *a)
{
    static const kn_ints ones = {1, {1, 1, 1, 1, 1, 1, 1, 1}};
    int n = (int)a->axes;
    if (a->axes < 1 || a->axes > KNI_POOL_MAX_AXES)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "pools over 1 to 3 axes, not %D", a->axes);
    if (a->window.rank == 0) return kni_infer_fail(c, KN_ERROR_ARGUMENT, "the window has no sizes");
    if (a->divisor < 0)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "the divisor is %D; it must be positive", a->divisor);
    kn_status s = kni_infer_pool_list(c, "window", &a->window, n, 1, 1);
    if (s) return s;
    replace_zeros(&a->stride, &a->window);
    replace_zeros(&a->dilation, &ones);
    s = kni_infer_pool_list(c, "stride", &a->stride, n, 1, 1);
    if (s == KN_OK) s = kni_infer_pool_list(c, "padding", &a->padding, n, 0, 0);
    if (a->padding_end.rank == 0) a->padding_end = a->padding;
    if (s == KN_OK) s = kni_infer_pool_list(c, "padding_end", &a->padding_end, n, 0, 0);
    return s ? s : kni_infer_pool_list(c, "dilation", &a->dilation, n, 1, 1);
}

kn_dim kni_pool_windows(kn_dim size, const kni_pool_attributes *a, int i)
{
    int64_t span = (a->window.dims[i] - 1) * a->dilation.dims[i] + 1, stride = a->stride.dims[i];
    int64_t before = a->padding.dims[i];
    kn_dim padded = kni_dim_add(size, before + a->padding_end.dims[i]);
    if (padded == KNI_DIM_BAD || kni_dim_high(padded) < span) return KNI_DIM_BAD;
    kn_dim room = kni_dim_sub(padded, span);
    if (room == KNI_DIM_BAD || !a->ceil_mode)
        return room == KNI_DIM_BAD ? room : kni_dim_add(kni_dim_floor_div(room, stride), 1);
    kn_dim rounded_up = kni_dim_floor_div(kni_dim_add(room, stride - 1), stride);
    /* The last window starts inside the input or the padding before it, never in the padding behind. */
    kn_dim last_start = kni_dim_floor_div(kni_dim_sub(kni_dim_add(size, before), 1), stride);
    return kni_dim_add(kni_dim_min(rounded_up, last_start), 1);
}

static kn_status check_axis(const kni_infer *c, const kni_type *x, const kni_pool_attributes *a, int i)
{
    int64_t window = a->window.dims[i], before = a->padding.dims[i], end = a->padding_end.dims[i];
    kn_dim size = x->dims[x->rank - a->axes + i];
    int64_t span = (window - 1) * a->dilation.dims[i] + 1;
    if (before >= span || end >= span)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT,
                              "padding %D leaves a window of %D without any element of x %S on spatial axis "
                              "%d: it must be less than the window",
                              before > end ? before : end, span, x, i);
    /* Only then can all elements of a window lie in the padding. */
    if (before > 0 && size >= 0 && a->dilation.dims[i] > size)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT,
                              "dilation %D leaves a window without any element of x %S on spatial axis %d",
                              a->dilation.dims[i], x, i);
    return KN_OK;
}

kn_status kni_infer_pool(kni_infer *c, const kni_type *x, kni_pool_attributes *a, kni_type *y)
{
    kn_status s = kni_fill_pool(c, a);
    int n = (int)a->axes, first = x->rank - n;
    if (s == KN_OK) s = kni_infer_pool_input(c, x, n);
    if (s) return s;
    *y = *x;
    y->weak = 0;
    for (int i = 0; i < n && s == KN_OK; i++) {
        y->dims[first + i] = kni_pool_windows(x->dims[first + i], a, i);
        if (y->dims[first + i] == KNI_DIM_BAD)
            return kni_infer_fail(
                c, KN_ERROR_SHAPE,
                "the window is larger than the padded input on spatial axis %d: x %S, window %D, "
                "dilation %D, padding %D and %D",
                i, x, a->window.dims[i], a->dilation.dims[i], a->padding.dims[i], a->padding_end.dims[i]);
        s = check_axis(c, x, a, i);
    }
    return s;
}

kn_status kni_infer_pool_grad(kni_infer *c)
{
    kni_pool_attributes *a = c->attributes;
    const kni_type *dy = c->in[0];
    kni_type pooled;
    if (a->axes < 1 || a->axes > KNI_POOL_MAX_AXES || a->size.rank != a->axes || dy->rank < a->axes)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "size has %d entries for %D axes of dy %S", a->size.rank,
                              a->axes, dy);
    *c->out[0] = *dy;
    for (int i = 0; i < a->axes; i++) c->out[0]->dims[dy->rank - a->axes + i] = a->size.dims[i];
    kn_status s = kni_infer_pool(c, c->out[0], a, &pooled);
    for (int i = 0; i < dy->rank && s == KN_OK; i++)
        if (!kni_dims_agree(pooled.dims[i], dy->dims[i]))
            return kni_infer_fail(c, KN_ERROR_SHAPE, "dy %S is not a pooled %S", dy, c->out[0]);
    return s;
}

kn_status kni_infer_places(const kni_infer *c, int i, const kni_type *y)
{
    const kni_type *at = c->in[i];
    if (!(KNI_INTS & KNI_BIT(at->dtype)))
        return kni_infer_fail(c, KN_ERROR_DTYPE, "positions are integers, not %T", (int)at->dtype);
    bool same = at->rank == y->rank;
    for (int k = 0; same && k < y->rank; k++) same = kni_dims_agree(at->dims[k], y->dims[k]);
    return same ? KN_OK
                : kni_infer_fail(c, KN_ERROR_SHAPE, "positions %S are not those of dy %S: one for each", at,
                                 y);
}
