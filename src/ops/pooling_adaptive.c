/* Adaptive pooling: windows cut so that the result has given sizes. Rows, gradients and public functions. */
#include "ops/generated/window_kernels.h"
#include "ops/movement_rows.h"
#include "ops/native.h"
#include "ops/pooling.h"
#include <kn/spatial.h>

extern const kni_native kni_cpu_adaptive_avg_pool, kni_cpu_adaptive_max_pool_grad;

static const kn_attribute adaptive_schema[] = {
    KNI_ATTR(kni_adaptive_attributes, size, KNI_ATTR_INTS, KNI_STATIC),
    KNI_ATTR(kni_adaptive_attributes, input, KNI_ATTR_INTS, KNI_STATIC),
    {0}};

/* Entries of -1 become the sizes of x. */
static kn_status infer_adaptive(kni_infer *c, const kni_type *x, kni_type *y)
{
    kni_adaptive_attributes *a = c->attributes;
    int n = a->size.rank;
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    if (s) return s;
    if (n < 1 || n > KNI_POOL_MAX_AXES)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "size has %d entries; pools over 1 to 3 axes", n);
    s = kni_infer_pool_input(c, x, n);
    if (s) return s;
    *y = *x;
    y->weak = 0;
    for (int i = 0; i < n; i++) {
        if (a->size.dims[i] != -1 && !kni_dim_is_size(a->size.dims[i]))
            return kni_infer_fail(c, KN_ERROR_ARGUMENT, "size is %D on spatial axis %d; 0 or more, or -1",
                                  a->size.dims[i], i);
        if (a->size.dims[i] != -1) y->dims[x->rank - n + i] = a->size.dims[i];
    }
    return KN_OK;
}

static kn_status infer_adaptive_avg_pool(kni_infer *c) { return infer_adaptive(c, c->in[0], c->out[0]); }

static kn_status infer_adaptive_max_pool(kni_infer *c)
{
    kn_status s = infer_adaptive(c, c->in[0], c->out[0]);
    *c->out[1] = *c->out[0];
    c->out[1]->dtype = KN_I64;
    return s;
}

static kn_status infer_adaptive_grad(kni_infer *c)
{
    const kni_adaptive_attributes *a = c->attributes;
    const kni_type *dy = c->in[0];
    int n = a->input.rank;
    kni_type pooled;
    if (n < 1 || n != a->size.rank || n > dy->rank)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "input has %d entries, size has %d, dy is %S", n,
                              a->size.rank, dy);
    *c->out[0] = *dy;
    for (int i = 0; i < n; i++) c->out[0]->dims[dy->rank - n + i] = a->input.dims[i];
    kn_status s = infer_adaptive(c, c->out[0], &pooled);
    for (int i = 0; i < dy->rank && s == KN_OK; i++)
        if (!kni_dims_agree(pooled.dims[i], dy->dims[i]))
            return kni_infer_fail(c, KN_ERROR_SHAPE, "dy %S is not a pooled %S", dy, c->out[0]);
    return s;
}

static kn_status infer_adaptive_max_pool_grad(kni_infer *c)
{
    kn_status s = kni_infer_places(c, 1, c->in[0]);
    return s ? s : infer_adaptive_grad(c);
}

/* Whether all that the kernels compute is below 2^31. */
static bool is_small(const kni_type *x, const kni_type *y, int axes)
{
    const int64_t most = INT32_MAX / 2;
    for (int i = 0; i < axes; i++) {
        int64_t in = x->dims[x->rank - axes + i], out = y->dims[y->rank - axes + i];
        if (in > most / 4 || out > most / 4 || (in + 1) * (out + 1) > most / 2) return false;
    }
    return kni_count(x) <= most && kni_count(y) <= most;
}

static kn_status launch(kni_launch *l, const kni_kernel *kernel, const kni_type *x, const kni_type *y)
{
    const kni_adaptive_attributes *a = l->attributes;
    int64_t sizes[3];
    l->kernel = kernel;
    l->items = kni_count(l->out[0]);
    kni_pool_sizes(x, a->size.rank, sizes);
    kni_launch_ints(l, sizes, 3);
    kni_pool_sizes(y, a->size.rank, sizes);
    kni_launch_ints(l, sizes, 3);
    l->small = is_small(x, y, a->size.rank);
    return KN_OK;
}

static kn_status launch_adaptive_avg_pool(kni_launch *l)
{
    return launch(l, &kni_kernel_adaptive_avg_pool, l->in[0], l->out[0]);
}
static kn_status launch_adaptive_avg_pool_grad(kni_launch *l)
{
    return launch(l, &kni_kernel_adaptive_avg_pool_grad, l->out[0], l->in[0]);
}
static kn_status launch_adaptive_max_pool(kni_launch *l)
{
    return launch(l, &kni_kernel_adaptive_max_pool, l->in[0], l->out[0]);
}
static kn_status launch_adaptive_max_pool_grad(kni_launch *l)
{
    return launch(l, &kni_kernel_adaptive_max_pool_grad, l->out[0], l->in[0]);
}

OP(adaptive_avg_pool, .doc = "y[o] = mean of x[floor(o in / out) .. ceil((o + 1) in / out) - 1]", .min_in = 1,
   .max_in = 1, .n_out = 1, .kind = KNI_WINDOW, .layout = KNI_LAYOUT_WANTS, .dtypes = KNI_FLOATS,
   .tolerance = {4, 1}, .schema = adaptive_schema, .attribute_bytes = sizeof(kni_adaptive_attributes),
   .infer = infer_adaptive_avg_pool, .launch = launch_adaptive_avg_pool, .native = &kni_cpu_adaptive_avg_pool)

OP(adaptive_avg_pool_grad, .doc = "shares dy out over the windows of adaptive_avg_pool", .min_in = 1,
   .max_in = 1, .n_out = 1, .kind = KNI_WINDOW, .layout = KNI_LAYOUT_WANTS, .dtypes = KNI_FLOATS,
   .tolerance = {4, 1}, .schema = adaptive_schema, .attribute_bytes = sizeof(kni_adaptive_attributes),
   .infer = infer_adaptive_grad, .launch = launch_adaptive_avg_pool_grad)

OP(adaptive_max_pool, .doc = "y[o] = max of x[floor(o in / out) .. ceil((o + 1) in / out) - 1], and where",
   .min_in = 1, .max_in = 1, .n_out = 2, .kind = KNI_WINDOW, .layout = KNI_LAYOUT_WANTS,
   .dtypes = KNI_NUMBERS, .schema = adaptive_schema, .attribute_bytes = sizeof(kni_adaptive_attributes),
   .infer = infer_adaptive_max_pool, .launch = launch_adaptive_max_pool)

OP(adaptive_max_pool_grad,
   .doc = "dx[p] = sum of dy over the windows of adaptive_max_pool whose largest element is at p",
   .min_in = 2, .max_in = 2, .n_out = 1, .kind = KNI_WINDOW, .layout = KNI_LAYOUT_WANTS, .dtypes = KNI_FLOATS,
   .tolerance = {4, 1}, .schema = adaptive_schema, .attribute_bytes = sizeof(kni_adaptive_attributes),
   .infer = infer_adaptive_max_pool_grad, .launch = launch_adaptive_max_pool_grad,
   .native = &kni_cpu_adaptive_max_pool_grad)

/* The attributes with the sizes of x. */
static kni_adaptive_attributes with_input(const kni_vjp *v)
{
    kni_adaptive_attributes a = *(const kni_adaptive_attributes *)v->attributes;
    const kni_type *x = &v->in_types[0];
    a.input.rank = a.size.rank;
    for (int i = 0; i < a.size.rank; i++) a.input.dims[i] = x->dims[x->rank - a.size.rank + i];
    return a;
}

GRADIENT(adaptive_avg_pool)
{
    kni_adaptive_attributes a = with_input(v);
    kni_vjp_set(v, 0, kni_apply(&kni_op_adaptive_avg_pool_grad, v->dy, 1, &a));
    return KN_OK;
}

/* Linear, so its gradient is the pooling itself. */
GRADIENT(adaptive_avg_pool_grad)
{
    kni_vjp_set(v, 0, kni_apply(&kni_op_adaptive_avg_pool, v->dy, 1, v->attributes));
    return KN_OK;
}

GRADIENT(adaptive_max_pool)
{
    if (!v->dy[0].bits) return KN_OK;
    kni_adaptive_attributes a = with_input(v);
    kn_tensor in[2] = {v->dy[0], kni_vjp_out(v, 1)};
    kni_vjp_set(v, 0, kni_apply(&kni_op_adaptive_max_pool_grad, in, 2, &a));
    return KN_OK;
}

/* Linear in dy: each window reads where it was read from. */
GRADIENT(adaptive_max_pool_grad)
{
    int axes = ((const kni_adaptive_attributes *)v->attributes)->size.rank;
    if (kni_vjp_needs(v, 0)) kni_vjp_set(v, 0, kni_pool_take(v->dy[0], kni_vjp_in(v, 1), axes));
    return KN_OK;
}

/* One size counts for all axes; false after a failure when there is another number of them. */
static bool with_size(const char *name, int axes, kn_ints size, kni_adaptive_attributes *a)
{
    *a = (kni_adaptive_attributes){.size = size};
    if (size.rank == axes) return true;
    if (size.rank != 1) {
        kni_fail_op(KN_ERROR_ARGUMENT, name, "size has %d entries for %d axes", size.rank, axes);
        return false;
    }
    for (a->size.rank = axes; --axes > 0;) a->size.dims[axes] = size.dims[0];
    return true;
}

static kn_tensor average(const char *name, kn_tensor x, int axes, kn_ints size)
{
    kni_adaptive_attributes a;
    if (!with_size(name, axes, size, &a)) return kni_poison_latest();
    return kni_apply_as(name, &kni_op_adaptive_avg_pool, &x, 1, &a);
}

static kn_pooled largest(const char *name, kn_tensor x, int axes, kn_ints size)
{
    kni_adaptive_attributes a;
    kn_tensor out[2];
    if (!with_size(name, axes, size, &a)) return (kn_pooled){kni_poison_latest(), kni_poison_latest()};
    kni_apply_many_as(name, &kni_op_adaptive_max_pool, &x, 1, &a, out, 2);
    return (kn_pooled){out[0], out[1]};
}

kn_tensor kn_adaptive_avg_pool1d(kn_tensor x, kn_ints size)
{
    return average("adaptive_avg_pool1d", x, 1, size);
}
kn_tensor kn_adaptive_avg_pool2d(kn_tensor x, kn_ints size)
{
    return average("adaptive_avg_pool2d", x, 2, size);
}
kn_tensor kn_adaptive_avg_pool3d(kn_tensor x, kn_ints size)
{
    return average("adaptive_avg_pool3d", x, 3, size);
}
kn_pooled kn_adaptive_max_pool1d(kn_tensor x, kn_ints size)
{
    return largest("adaptive_max_pool1d", x, 1, size);
}
kn_pooled kn_adaptive_max_pool2d(kn_tensor x, kn_ints size)
{
    return largest("adaptive_max_pool2d", x, 2, size);
}
kn_pooled kn_adaptive_max_pool3d(kn_tensor x, kn_ints size)
{
    return largest("adaptive_max_pool3d", x, 3, size);
}
