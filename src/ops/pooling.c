/* The rows of max and mean pooling over windows of one to three axes, and their gradients. */
#include "ops/pooling.h"
#include "ops/generated/window_kernels.h"
#include "ops/native.h"

static kn_status infer_max_pool(kni_infer *c)
{
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    if (s == KN_OK) s = kni_infer_pool(c, c->in[0], c->attributes, c->out[0]);
    *c->out[1] = *c->out[0];
    c->out[1]->dtype = KN_I64;
    return s;
}

static kn_status infer_max_pool_values(kni_infer *c)
{
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    return s ? s : kni_infer_pool(c, c->in[0], c->attributes, c->out[0]);
}

static kn_status infer_avg_pool(kni_infer *c)
{
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    return s ? s : kni_infer_pool(c, c->in[0], c->attributes, c->out[0]);
}

/* The result has the sizes that were pooled; pooling them again must give the operand's. */
static kn_status infer_avg_pool_grad(kni_infer *c)
{
    kni_pool_attributes *a = c->attributes;
    const kni_type *dy = c->in[0];
    kni_type pooled;
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    if (s) return s;
    if (a->axes < 1 || a->axes > KNI_POOL_MAX_AXES || a->size.rank != a->axes || dy->rank < a->axes)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "size has %d entries for %D axes of dy %S", a->size.rank,
                              a->axes, dy);
    *c->out[0] = *dy;
    for (int i = 0; i < a->axes; i++) c->out[0]->dims[dy->rank - a->axes + i] = a->size.dims[i];
    s = kni_infer_pool(c, c->out[0], a, &pooled);
    for (int i = 0; i < dy->rank && s == KN_OK; i++)
        if (!kni_dims_agree(pooled.dims[i], dy->dims[i]))
            return kni_infer_fail(c, KN_ERROR_SHAPE, "dy %S is not a pooled %S", dy, c->out[0]);
    return s;
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
    kni_launch_pool_list(l, &a->dilation, 1);
}

static kn_status launch_max_pool(kni_launch *l)
{
    l->kernel = &kni_kernel_max_pool;
    launch_sizes(l, l->in[0], l->out[0], l->out[0]);
    return KN_OK;
}

static kn_status launch_max_pool_values(kni_launch *l)
{
    l->kernel = &kni_kernel_max_pool_values;
    launch_sizes(l, l->in[0], l->out[0], l->out[0]);
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

extern const kni_native kni_cpu_max_pool, kni_cpu_max_pool_values, kni_cpu_avg_pool;

OP(max_pool, .doc = "max over windows of the last axes, and where it was", .min_in = 1, .max_in = 1,
   .n_out = 2, .kind = KNI_WINDOW, .layout = KNI_LAYOUT_KEEPS, .follows = 1, .dtypes = KNI_NUMBERS,
   .schema = kni_pool_schema, .attribute_bytes = sizeof(kni_pool_attributes), .infer = infer_max_pool,
   .launch = launch_max_pool, .native = &kni_cpu_max_pool)

OP(max_pool_values, .doc = "max over windows of the last axes", .min_in = 1, .max_in = 1, .n_out = 1,
   .kind = KNI_WINDOW, .layout = KNI_LAYOUT_KEEPS, .follows = 1, .dtypes = KNI_NUMBERS,
   .schema = kni_pool_schema, .attribute_bytes = sizeof(kni_pool_attributes), .infer = infer_max_pool_values,
   .launch = launch_max_pool_values, .native = &kni_cpu_max_pool_values)

OP(avg_pool, .doc = "mean over windows of the last axes", .min_in = 1, .max_in = 1, .n_out = 1,
   .kind = KNI_WINDOW, .layout = KNI_LAYOUT_KEEPS, .follows = 1, .dtypes = KNI_FLOATS, .tolerance = {4, 1},
   .schema = kni_pool_schema, .attribute_bytes = sizeof(kni_pool_attributes), .infer = infer_avg_pool,
   .launch = launch_avg_pool, .native = &kni_cpu_avg_pool)

OP(avg_pool_grad, .doc = "shares dy out over the windows of avg_pool", .min_in = 1, .max_in = 1, .n_out = 1,
   .kind = KNI_WINDOW, .layout = KNI_LAYOUT_KEEPS, .follows = 1, .dtypes = KNI_FLOATS, .tolerance = {4, 1},
   .schema = kni_pool_schema, .attribute_bytes = sizeof(kni_pool_attributes), .infer = infer_avg_pool_grad,
   .launch = launch_avg_pool_grad)

/* Each window's gradient goes to the element that won, whose position is in `at`. */
static void set_max_gradient(kni_vjp *v, int axes, kn_tensor at)
{
    const kni_type *x = &v->in_types[0], *y = &v->out_types[0];
    int first = x->rank - axes;
    kn_shape planes = {first + 1, {0}}, flat = {first + 1, {0}};
    for (int i = 0; i < first; i++) planes.dims[i] = flat.dims[i] = x->dims[i];
    planes.dims[first] = kni_infer_product(x, first, x->rank);
    flat.dims[first] = kni_infer_product(y, first, y->rank);
    kn_tensor zeros = kn_zeros(planes, (kn_dtype)x->dtype);
    kn_tensor dx = kn_scatter(zeros, first, kn_reshape(at, flat), kn_reshape(v->dy[0], flat), KN_UPDATE_ADD);
    kni_vjp_set(v, 0, kn_reshape(dx, kni_vjp_shape(v, 0)));
}

void kni_pool_set_max_gradient(kni_vjp *v, int axes)
{
    if (v->dy[0].bits) set_max_gradient(v, axes, kni_vjp_out(v, 1));
}

GRADIENT(max_pool)
{
    kni_pool_set_max_gradient(v, (int)((const kni_pool_attributes *)v->attributes)->axes);
    return KN_OK;
}

/* Positions are looked for when they are needed, so that forward passes neither make nor keep them. */
GRADIENT(max_pool_values)
{
    kn_tensor x = kni_vjp_in(v, 0), out[2];
    kni_apply_many(&kni_op_max_pool, &x, 1, v->attributes, out, 2);
    set_max_gradient(v, (int)((const kni_pool_attributes *)v->attributes)->axes, out[1]);
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
