/* Max and mean pooling over windows of one to three axes. */
#include "ops/pooling.h"
#include "ops/generated/window_kernels.h"
#include "ops/native.h"

const kn_attribute kni_pool_schema[] = {KNI_ATTR(kni_pool_attributes, axes, KNI_ATTR_INT, KNI_STATIC),
                                        KNI_ATTR(kni_pool_attributes, window, KNI_ATTR_INTS, KNI_STATIC),
                                        KNI_ATTR(kni_pool_attributes, stride, KNI_ATTR_INTS, KNI_STATIC),
                                        KNI_ATTR(kni_pool_attributes, padding, KNI_ATTR_INTS, KNI_STATIC),
                                        KNI_ATTR(kni_pool_attributes, padding_end, KNI_ATTR_INTS, KNI_STATIC),
                                        KNI_ATTR(kni_pool_attributes, dilation, KNI_ATTR_INTS, KNI_STATIC),
                                        KNI_ATTR(kni_pool_attributes, ceil_mode, KNI_ATTR_INT, KNI_STATIC),
                                        KNI_ATTR(kni_pool_attributes, exclude_padding, KNI_ATTR_INT, KNI_STATIC),
                                        KNI_ATTR(kni_pool_attributes, divisor, KNI_ATTR_INT, KNI_STATIC),
                                        KNI_ATTR(kni_pool_attributes, size, KNI_ATTR_INTS, KNI_STATIC),
                                        {0}};

void kni_pool_sizes(const kni_type *t, int axes, int64_t *sizes)
{
    for (int i = 0; i < 3; i++) sizes[i] = i < 3 - axes ? 1 : t->dims[t->rank - 3 + i];
}

/* Lists are given for the last axes; the kernels want three. */
void kni_launch_pool_list(kni_launch *l, const kn_ints *list, int64_t absent)
{
    for (int i = 0; i < 3; i++) kni_launch_int(l, i < 3 - list->rank ? absent : list->dims[i - (3 - list->rank)]);
}

kni_pool_attributes kni_pool_from_args(int axes, kn_ints window, const kn_pool_args *args)
{
    static const kn_pool_args defaults = {{0}, {0}, {0}, {0}, false, false, 0};
    if (!args) args = &defaults;
    kni_pool_attributes a = {.axes = axes,
                             .window = window,
                             .stride = {axes, {0}},
                             .padding = {axes, {0}},
                             .padding_end = {axes, {0}},
                             .dilation = {axes, {0}},
                             .ceil_mode = args->ceil_mode,
                             .exclude_padding = args->exclude_padding,
                             .divisor = args->divisor};
    for (int i = 0; i < axes; i++) {
        a.stride.dims[i] = args->stride[i];
        a.padding.dims[i] = args->padding[i];
        a.padding_end.dims[i] = args->padding_end[i] ? args->padding_end[i] : args->padding[i];
        a.dilation.dims[i] = args->dilation[i];
    }
    return a;
}

/* A list of one number counts for all axes; an absent one is its default. */
static kn_status fill_list(const kni_infer *c, const char *name, kn_ints *list, int axes, int64_t absent, int64_t lowest)
{
    if (list->rank == 0)
        for (int i = 0; i < axes; i++) list->dims[i] = absent;
    else if (list->rank == 1)
        for (int i = 1; i < axes; i++) list->dims[i] = list->dims[0];
    else if (list->rank != axes)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%s has %d entries for %d axes", name, list->rank, axes);
    list->rank = axes;
    for (int i = 0; i < axes; i++)
        if (list->dims[i] < lowest)
            return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%s is %D on axis %d; at least %D", name, list->dims[i], i, lowest);
    return KN_OK;
}

static kn_status fill_attributes(const kni_infer *c, kni_pool_attributes *a)
{
    int n = (int)a->axes;
    if (n < 1 || n > 3) return kni_infer_fail(c, KN_ERROR_ARGUMENT, "pools over 1 to 3 axes, not %d", n);
    if (a->window.rank == 0) return kni_infer_fail(c, KN_ERROR_ARGUMENT, "the window has no sizes");
    kn_status s = fill_list(c, "window", &a->window, n, 1, 1);
    for (int i = 0; i < n && s == KN_OK; i++) {
        if (i < a->stride.rank && a->stride.dims[i] == 0) a->stride.dims[i] = a->window.dims[i];
        if (i < a->dilation.rank && a->dilation.dims[i] == 0) a->dilation.dims[i] = 1;
    }
    if (a->stride.rank == 0) a->stride = a->window;
    if (s == KN_OK) s = fill_list(c, "stride", &a->stride, n, 1, 1);
    if (s == KN_OK) s = fill_list(c, "padding", &a->padding, n, 0, 0);
    if (a->padding_end.rank == 0) a->padding_end = a->padding;
    if (s == KN_OK) s = fill_list(c, "padding_end", &a->padding_end, n, 0, 0);
    return s ? s : fill_list(c, "dilation", &a->dilation, n, 1, 1);
}

/* The number of windows on one axis. */
static kn_dim windows(kn_dim size, const kni_pool_attributes *a, int i)
{
    int64_t span = (a->window.dims[i] - 1) * a->dilation.dims[i] + 1, stride = a->stride.dims[i];
    kn_dim padded = kni_dim_add(size, a->padding.dims[i] + a->padding_end.dims[i]);
    if (kni_dim_high(padded) < span) return KNI_DIM_BAD;
    kn_dim room = kni_dim_sub(padded, span);
    kn_dim n = kni_dim_add(kni_dim_floor_div(kni_dim_add(room, a->ceil_mode ? stride - 1 : 0), stride), 1);
    /* With ceil_mode the last window must start inside the input or the padding before it. */
    if (a->ceil_mode && n >= 0 && size >= 0 && (n - 1) * stride >= size + a->padding.dims[i]) n--;
    return n;
}

kn_status kni_infer_pool(kni_infer *c, const kni_type *x, kni_pool_attributes *a, kni_type *y)
{
    kn_status s = fill_attributes(c, a);
    if (s) return s;
    int n = (int)a->axes, rank = x->rank;
    if (rank < n + 1) return kni_infer_fail(c, KN_ERROR_SHAPE, "needs [batch, channels, %d axes]; got %S", n, x);
    *y = *x;
    y->weak = 0;
    for (int i = 0; i < n; i++) {
        if (2 * a->padding.dims[i] > a->window.dims[i] || 2 * a->padding_end.dims[i] > a->window.dims[i])
            return kni_infer_fail(c, KN_ERROR_ARGUMENT, "padding %D is more than half of the window %D on axis %d",
                                  a->padding.dims[i], a->window.dims[i], i);
        y->dims[rank - n + i] = windows(x->dims[rank - n + i], a, i);
        if (y->dims[rank - n + i] == KNI_DIM_BAD)
            return kni_infer_fail(c, KN_ERROR_SHAPE, "the window %D is larger than the input %S with its padding", a->window.dims[i], x);
    }
    return KN_OK;
}

static kn_status infer_max_pool(kni_infer *c)
{
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    if (s == KN_OK) s = kni_infer_pool(c, c->in[0], c->attributes, c->out[0]);
    *c->out[1] = *c->out[0];
    c->out[1]->dtype = KN_I64;
    return s;
}

static kn_status infer_avg_pool(kni_infer *c)
{
    kni_pool_attributes *a = c->attributes;
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    a->dilation.rank = 0;
    return s ? s : kni_infer_pool(c, c->in[0], a, c->out[0]);
}

/* The gradient's result has the sizes that were pooled. */
static kn_status infer_avg_pool_grad(kni_infer *c)
{
    const kni_pool_attributes *a = c->attributes;
    *c->out[0] = *c->in[0];
    for (int i = 0; i < a->axes; i++) c->out[0]->dims[c->in[0]->rank - a->axes + i] = a->size.dims[i];
    return KN_OK;
}

static void launch_sizes(kni_launch *l, const kni_type *x, const kni_type *y, const kni_type *items)
{
    const kni_pool_attributes *a = l->attributes;
    int64_t sizes[3];
    l->items = kni_count(items);
    kni_pool_sizes(x, (int)a->axes, sizes);
    kni_launch_ints(l, sizes, 3);
    kni_pool_sizes(y, (int)a->axes, sizes);
    kni_launch_ints(l, sizes, 3);
    kni_launch_pool_list(l, &a->window, 1);
    kni_launch_pool_list(l, &a->stride, 1);
    kni_launch_pool_list(l, &a->padding, 0);
}

static kn_status launch_max_pool(kni_launch *l)
{
    const kni_pool_attributes *a = l->attributes;
    l->kernel = &kni_kernel_max_pool;
    launch_sizes(l, l->in[0], l->out[0], l->out[0]);
    kni_launch_pool_list(l, &a->dilation, 1);
    return KN_OK;
}

static kn_status launch_avg(kni_launch *l, const kni_type *x, const kni_type *y, const kni_type *items)
{
    const kni_pool_attributes *a = l->attributes;
    launch_sizes(l, x, y, items);
    kni_launch_pool_list(l, &a->padding_end, 0);
    kni_launch_int(l, !a->exclude_padding);
    kni_launch_int(l, a->divisor);
    return KN_OK;
}

static kn_status launch_avg_pool(kni_launch *l)
{
    l->kernel = &kni_kernel_avg_pool;
    return launch_avg(l, l->in[0], l->out[0], l->out[0]);
}

static kn_status launch_avg_pool_grad(kni_launch *l)
{
    l->kernel = &kni_kernel_avg_pool_grad;
    return launch_avg(l, l->out[0], l->in[0], l->out[0]);
}

extern const kni_native kni_cpu_max_pool, kni_cpu_avg_pool;

OP(max_pool, .doc = "max over windows of the last axes, and where it was", .min_in = 1, .max_in = 1, .n_out = 2,
   .kind = KNI_WINDOW, .layout = KNI_LAYOUT_WANTS, .dtypes = KNI_NUMBERS, .schema = kni_pool_schema,
   .attribute_bytes = sizeof(kni_pool_attributes), .infer = infer_max_pool, .launch = launch_max_pool,
   .native = &kni_cpu_max_pool)

OP(avg_pool, .doc = "mean over windows of the last axes", .min_in = 1, .max_in = 1, .n_out = 1, .kind = KNI_WINDOW,
   .layout = KNI_LAYOUT_WANTS, .dtypes = KNI_FLOATS, .tolerance = {4, 0}, .schema = kni_pool_schema,
   .attribute_bytes = sizeof(kni_pool_attributes), .infer = infer_avg_pool, .launch = launch_avg_pool,
   .native = &kni_cpu_avg_pool)

OP(avg_pool_grad, .doc = "shares dy out over the windows of avg_pool", .min_in = 1, .max_in = 1, .n_out = 1,
   .kind = KNI_WINDOW, .layout = KNI_LAYOUT_WANTS, .dtypes = KNI_FLOATS, .tolerance = {4, 0}, .schema = kni_pool_schema,
   .attribute_bytes = sizeof(kni_pool_attributes), .infer = infer_avg_pool_grad, .launch = launch_avg_pool_grad)

/* Each window's gradient goes to the element that won. */
GRADIENT(max_pool)
{
    const kni_pool_attributes *a = v->attributes;
    const kni_type *x = &v->in_types[0], *y = &v->out_types[0];
    int first = x->rank - (int)a->axes;
    kn_shape planes = {first + 1, {0}}, flat = {first + 1, {0}};
    for (int i = 0; i < first; i++) planes.dims[i] = flat.dims[i] = x->dims[i];
    planes.dims[first] = kni_infer_product(x, first, x->rank);
    flat.dims[first] = kni_infer_product(y, first, y->rank);
    if (!v->dy[0].bits) return KN_OK;
    kn_tensor zeros = kn_zeros(planes, (kn_dtype)x->dtype);
    kn_tensor dx = kn_scatter(zeros, first, kn_reshape(kni_vjp_out(v, 1), flat), kn_reshape(v->dy[0], flat), KN_UPDATE_ADD);
    kni_vjp_set(v, 0, kn_reshape(dx, kni_vjp_shape(v, 0)));
    return KN_OK;
}

GRADIENT(avg_pool)
{
    kni_pool_attributes a = *(const kni_pool_attributes *)v->attributes;
    kn_shape x = kni_vjp_shape(v, 0);
    a.size.rank = (int32_t)a.axes;
    for (int i = 0; i < a.axes; i++) a.size.dims[i] = x.dims[x.rank - a.axes + i];
    kni_vjp_set(v, 0, kni_apply(&kni_op_avg_pool_grad, v->dy, 1, &a));
    return KN_OK;
}

/* Linear, so its gradient is the pooling itself. */
GRADIENT(avg_pool_grad)
{
    kni_vjp_set(v, 0, kni_apply(&kni_op_avg_pool, v->dy, 1, v->attributes));
    return KN_OK;
}

static kn_pooled max_pool(kn_tensor x, int axes, kn_ints window, const kn_pool_args *args)
{
    kni_pool_attributes a = kni_pool_from_args(axes, window, args);
    kn_tensor out[2];
    kni_apply_many(&kni_op_max_pool, &x, 1, &a, out, 2);
    return (kn_pooled){out[0], out[1]};
}

/* The positions are not wanted. */
static kn_tensor values_only(kn_pooled p)
{
    kn_drop(p.indices);
    return p.values;
}

static kn_tensor avg_pool(kn_tensor x, int axes, kn_ints window, const kn_pool_args *args)
{
    kni_pool_attributes a = kni_pool_from_args(axes, window, args);
    return kni_apply(&kni_op_avg_pool, &x, 1, &a);
}

kn_tensor kn_max_pool1d(kn_tensor x, kn_ints w, const kn_pool_args *args) { return values_only(max_pool(x, 1, w, args)); }
kn_tensor kn_max_pool2d(kn_tensor x, kn_ints w, const kn_pool_args *args) { return values_only(max_pool(x, 2, w, args)); }
kn_tensor kn_max_pool3d(kn_tensor x, kn_ints w, const kn_pool_args *args) { return values_only(max_pool(x, 3, w, args)); }
kn_pooled kn_max_pool1d_with_indices(kn_tensor x, kn_ints w, const kn_pool_args *args) { return max_pool(x, 1, w, args); }
kn_pooled kn_max_pool2d_with_indices(kn_tensor x, kn_ints w, const kn_pool_args *args) { return max_pool(x, 2, w, args); }
kn_pooled kn_max_pool3d_with_indices(kn_tensor x, kn_ints w, const kn_pool_args *args) { return max_pool(x, 3, w, args); }
kn_tensor kn_avg_pool1d(kn_tensor x, kn_ints w, const kn_pool_args *args) { return avg_pool(x, 1, w, args); }
kn_tensor kn_avg_pool2d(kn_tensor x, kn_ints w, const kn_pool_args *args) { return avg_pool(x, 2, w, args); }
kn_tensor kn_avg_pool3d(kn_tensor x, kn_ints w, const kn_pool_args *args) { return avg_pool(x, 3, w, args); }

kn_tensor kn_max_unpool(kn_tensor values, kn_tensor indices, kn_ints size)
{
    kni_call call = kni_call_begin("max_unpool");
    values = kn_keep(values), indices = kn_keep(indices);
    const kni_tensor *y = kni_is_poisoned(values) ? NULL : kni_resolve(values, "max_unpool");
    if (!y) return kni_call_end(call, kni_is_poisoned(values) ? values : kni_poison_latest());
    int first = y->type.rank - size.rank;
    if (first < 1 || size.rank < 1 || size.rank > 3)
        return kni_call_fail(call, KN_ERROR_SHAPE, "%d sizes do not fit values %S", size.rank, &y->type);
    kn_shape planes = {first + 1, {0}}, flat = planes, result = kni_shape_from_type(&y->type);
    for (int i = 0; i < first; i++) planes.dims[i] = flat.dims[i] = y->type.dims[i];
    planes.dims[first] = kni_count_dims(size.rank, size.dims);
    flat.dims[first] = kni_count_dims(size.rank, y->type.dims + first);
    for (int i = 0; i < size.rank; i++) result.dims[first + i] = size.dims[i];
    kn_tensor zeros = kn_to(kn_zeros(planes, (kn_dtype)y->type.dtype), y->device);
    kn_tensor filled = kn_scatter(zeros, first, kn_reshape(indices, flat), kn_reshape(values, flat), KN_UPDATE_ASSIGN);
    return kni_call_end(call, kn_reshape(filled, result));
}
