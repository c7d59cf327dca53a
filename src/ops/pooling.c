/* The rows of mean pooling over windows of one to three axes, and their gradients. */
#include "ops/pooling.h"
#include "ops/generated/window_kernels.h"
#include "ops/native.h"

static kn_status infer_avg_pool(kni_infer *c)
{
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    return s ? s : kni_infer_pool(c, c->in[0], c->attributes, c->out[0]);
}

static kn_status infer_avg_pool_grad(kni_infer *c)
{
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    return s ? s : kni_infer_pool_grad(c);
}

static kn_status launch_avg(kni_launch *l, const kni_type *x, const kni_type *y, const kni_type *items)
{
    const kni_pool_attributes *a = l->attributes;
    kni_launch_pool(l, a, x, y, items);
    kni_launch_pool_list(l, &a->padding_end, 0);
    kni_launch_int(l, !a->exclude_padding);
    kni_launch_int(l, a->divisor);
    if (a->divisor > INT32_MAX) l->small = false;
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

extern const kni_native kni_cpu_avg_pool;

OP(avg_pool, .doc = "mean over windows of the last axes", .min_in = 1, .max_in = 1, .n_out = 1,
   .kind = KNI_WINDOW, .layout = KNI_LAYOUT_WANTS, .dtypes = KNI_FLOATS, .tolerance = {4, 1},
   .schema = kni_pool_schema, .attribute_bytes = sizeof(kni_pool_attributes), .infer = infer_avg_pool,
   .launch = launch_avg_pool, .native = &kni_cpu_avg_pool)

OP(avg_pool_grad, .doc = "shares dy out over the windows of avg_pool", .min_in = 1, .max_in = 1, .n_out = 1,
   .kind = KNI_WINDOW, .layout = KNI_LAYOUT_WANTS, .dtypes = KNI_FLOATS, .tolerance = {4, 1},
   .schema = kni_pool_schema, .attribute_bytes = sizeof(kni_pool_attributes), .infer = infer_avg_pool_grad,
   .launch = launch_avg_pool_grad)

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
