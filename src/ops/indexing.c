/* Rows that read by index: take, gather, gather_nd and nonzero. */
#include "ops/generated/indexing_kernels.h"
#include "ops/indexing_rows.h"
#include "ops/infer.h"
#include "ops/native.h"

extern const kni_native kni_cpu_take, kni_cpu_gather, kni_cpu_gather_nd, kni_cpu_nonzero;

kni_axis_view kni_view_axis(const kni_type *t, int64_t axis)
{
    kni_axis_view v = {1, t->dims[axis], 1};
    for (int i = 0; i < axis; i++) v.outer *= t->dims[i];
    for (int i = (int)axis + 1; i < t->rank; i++) v.inner *= t->dims[i];
    return v;
}

static const kn_attribute take_schema[] = {KNI_ATTR(kni_take_attributes, axis, KNI_ATTR_INT, KNI_STATIC),
                                           KNI_ATTR(kni_take_attributes, negative, KNI_ATTR_INT, KNI_STATIC),
                                           {0}};

/* Operand 0 with zeros in place of its elements: what gradients of reads are added into. */
static kn_tensor zeros_for(const kni_vjp *v)
{
    return kn_zeros(kni_vjp_shape(v, 0), (kn_dtype)v->in_types[0].dtype);
}

/* ---- take: y[..., j..., ...] = x[..., indices[j...], ...] */

static kn_status infer_take(kni_infer *c)
{
    kni_take_attributes *a = c->attributes;
    const kni_type *x = c->in[0], *at = c->in[1];
    kni_type *y = c->out[0];
    kn_status s = kni_infer_integer(c, 1);
    if (s == KN_OK) s = kni_infer_axis(c, &a->axis, x->rank);
    if (s) return s;
    int rank = x->rank - 1 + at->rank;
    if (rank > KN_MAX_RANK)
        return kni_infer_fail(c, KN_ERROR_SHAPE,
                              "%S with indices of %S in place of an axis has rank %d; %d is the highest", x,
                              at, rank, KN_MAX_RANK);
    y->dtype = x->dtype;
    y->rank = 0;
    for (int i = 0; i < a->axis; i++) y->dims[y->rank++] = x->dims[i];
    for (int i = 0; i < at->rank; i++) y->dims[y->rank++] = at->dims[i];
    for (int i = (int)a->axis + 1; i < x->rank; i++) y->dims[y->rank++] = x->dims[i];
    return KN_OK;
}

static kn_status launch_take(kni_launch *l)
{
    const kni_take_attributes *a = l->attributes;
    kni_axis_view x = kni_view_axis(l->in[0], a->axis);
    l->kernel = &kni_kernel_take;
    l->items = kni_count(l->out[0]);
    kni_launch_int(l, x.axis);
    kni_launch_int(l, kni_count(l->in[1]));
    kni_launch_int(l, x.inner);
    kni_launch_int(l, a->negative);
    return KN_OK;
}

OP(take, .doc = "y[..., j, ...] = x[..., indices[j], ...]", .min_in = 2, .max_in = 2, .n_out = 1,
   .kind = KNI_INDEXING, .dtypes = KNI_ALL, .flags = KNI_FLAG_MOVES, .schema = take_schema,
   .attribute_bytes = sizeof(kni_take_attributes), .infer = infer_take, .launch = launch_take,
   .native = &kni_cpu_take)

GRADIENT(take)
{
    const kni_take_attributes *a = v->attributes;
    kni_update_attributes add = {a->axis, a->negative, KN_UPDATE_ADD};
    kni_vjp_set(v, 0, kni_select_assign(zeros_for(v), kni_vjp_in(v, 1), v->dy[0], add));
    return KN_OK;
}

/* ---- gather: y[o, j, i] = x[o, index[o, j, i], i] */

static kn_status infer_gather(kni_infer *c)
{
    kni_take_attributes *a = c->attributes;
    const kni_type *x = c->in[0], *at = c->in[1];
    kn_status s = kni_infer_integer(c, 1);
    if (s == KN_OK) s = kni_infer_axis(c, &a->axis, x->rank);
    if (s) return s;
    bool fits = at->rank == x->rank;
    for (int i = 0; fits && i < x->rank; i++) fits = i == a->axis || kni_dims_agree(at->dims[i], x->dims[i]);
    if (!fits)
        return kni_infer_fail(c, KN_ERROR_SHAPE, "an index of %S does not fit %S: only axis %D may differ",
                              at, x, a->axis);
    *c->out[0] = *at;
    c->out[0]->weak = 0;
    c->out[0]->dtype = x->dtype;
    return KN_OK;
}

static kn_status launch_gather(kni_launch *l)
{
    const kni_take_attributes *a = l->attributes;
    kni_axis_view x = kni_view_axis(l->in[0], a->axis);
    l->kernel = &kni_kernel_gather;
    l->items = kni_count(l->out[0]);
    kni_launch_int(l, x.axis);
    kni_launch_int(l, l->in[1]->dims[a->axis]);
    kni_launch_int(l, x.inner);
    kni_launch_int(l, a->negative);
    return KN_OK;
}

OP(gather, .doc = "y[o, j, i] = x[o, index[o, j, i], i]", .min_in = 2, .max_in = 2, .n_out = 1,
   .kind = KNI_INDEXING, .dtypes = KNI_ALL, .flags = KNI_FLAG_MOVES, .schema = take_schema,
   .attribute_bytes = sizeof(kni_take_attributes), .infer = infer_gather, .launch = launch_gather,
   .native = &kni_cpu_gather)

GRADIENT(gather)
{
    const kni_take_attributes *a = v->attributes;
    kni_update_attributes add = {a->axis, a->negative, KN_UPDATE_ADD};
    kn_tensor in[3] = {zeros_for(v), kni_vjp_in(v, 1), v->dy[0]};
    kni_vjp_set(v, 0, kni_apply(&kni_op_scatter, in, 3, &add));
    return KN_OK;
}

/* ---- gather_nd: y[t..., ...] = x[indices[t..., 0], indices[t..., 1], ..., ...] */

static const kn_attribute gather_nd_schema[] = {
    KNI_ATTR(kni_gather_nd_attributes, batch_axes, KNI_ATTR_INT, KNI_STATIC), {0}};

static kn_status infer_gather_nd(kni_infer *c)
{
    int64_t batch = ((const kni_gather_nd_attributes *)c->attributes)->batch_axes;
    const kni_type *x = c->in[0], *at = c->in[1];
    kni_type *y = c->out[0];
    kn_status s = kni_infer_integer(c, 1);
    if (s == KN_OK) s = kni_infer_rank(c, 1, 1, KN_MAX_RANK);
    if (s) return s;
    int64_t depth = at->dims[at->rank - 1];
    if (batch < 0 || batch >= at->rank || batch > x->rank)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%D axes of a batch: indices are %S, x is %S", batch, at,
                              x);
    if (depth < 0 || depth > x->rank - batch)
        return kni_infer_fail(c, KN_ERROR_SHAPE, "indices of %S name %D axes of %S", at, depth, x);
    for (int i = 0; i < batch; i++)
        if (!kni_dims_agree(at->dims[i], x->dims[i]))
            return kni_infer_fail(c, KN_ERROR_SHAPE,
                                  "axis %d is of the batch: it differs in x %S and indices %S", i, x, at);
    int first = (int)(batch + depth), rank = at->rank - 1 + x->rank - first;
    if (rank > KN_MAX_RANK)
        return kni_infer_fail(c, KN_ERROR_SHAPE, "%S at indices of %S has rank %d; %d is the highest", x, at,
                              rank, KN_MAX_RANK);
    y->dtype = x->dtype;
    y->rank = 0;
    for (int i = 0; i < at->rank - 1; i++) y->dims[y->rank++] = at->dims[i];
    for (int i = first; i < x->rank; i++) y->dims[y->rank++] = x->dims[i];
    return KN_OK;
}

static kn_status launch_gather_nd(kni_launch *l)
{
    const kni_type *x = l->in[0], *at = l->in[1];
    int depth = (int)at->dims[at->rank - 1];
    int batch = (int)((const kni_gather_nd_attributes *)l->attributes)->batch_axes;
    l->kernel = &kni_kernel_gather_nd;
    l->items = kni_count(l->out[0]);
    kni_launch_int(l, depth);
    kni_launch_int(l, kni_infer_product(x, batch + depth, x->rank));
    kni_launch_int(l, kni_infer_product(at, batch, at->rank - 1));
    for (int i = 0; i < KN_MAX_RANK; i++) kni_launch_int(l, batch + i < x->rank ? x->dims[batch + i] : 0);
    return KN_OK;
}

OP(gather_nd, .doc = "y[t, i] = x[indices[t, 0], indices[t, 1], ..., i]", .min_in = 2, .max_in = 2,
   .n_out = 1, .kind = KNI_INDEXING, .dtypes = KNI_ALL, .flags = KNI_FLAG_MOVES, .schema = gather_nd_schema,
   .attribute_bytes = sizeof(kni_gather_nd_attributes), .infer = infer_gather_nd, .launch = launch_gather_nd,
   .native = &kni_cpu_gather_nd)

/* The indices behind those of their batch: scatter_nd has no batch. */
static kn_tensor with_batch(kn_tensor indices, const kni_type *at, int64_t batch)
{
    kn_tensor parts[KN_MAX_RANK + 1];
    kn_shape shape = kni_shape_from_type(at);
    shape.dims[at->rank - 1] = 1;
    if (batch == 0) return indices;
    for (int i = 0; i < batch; i++) {
        kn_shape along = {at->rank, {1, 1, 1, 1, 1, 1, 1, 1}};
        along.dims[i] = at->dims[i];
        parts[i] = kn_expand(kn_reshape(kn_arange(0, (double)at->dims[i], 1, KN_I64), along), shape);
    }
    parts[batch] = kn_cast(indices, KN_I64);
    return kn_concat(parts, (int32_t)batch + 1, -1);
}

GRADIENT(gather_nd)
{
    kni_update_attributes add = {0, 1, KN_UPDATE_ADD};
    int64_t batch = ((const kni_gather_nd_attributes *)v->attributes)->batch_axes;
    kn_tensor in[3] = {zeros_for(v), with_batch(kni_vjp_in(v, 1), &v->in_types[1], batch), v->dy[0]};
    kni_vjp_set(v, 0, kni_apply(&kni_op_scatter_nd, in, 3, &add));
    return KN_OK;
}

/* ---- nonzero: the index tuples of elements that are not zero, padded with zeros, and their number */

static const kn_attribute nonzero_schema[] = {
    KNI_ATTR(kni_nonzero_attributes, capacity, KNI_ATTR_INT, KNI_STATIC), {0}};

static kn_status infer_nonzero(kni_infer *c)
{
    const kni_nonzero_attributes *a = c->attributes;
    if (!kni_dim_is_size(a->capacity))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "the capacity %D is negative", a->capacity);
    *c->out[0] = (kni_type){.dtype = KN_I64, .rank = 2, .dims = {a->capacity, c->in[0]->rank}};
    *c->out[1] = (kni_type){.dtype = KN_I64};
    return KN_OK;
}

static kn_status launch_nonzero(kni_launch *l)
{
    const kni_nonzero_attributes *a = l->attributes;
    const kni_type *x = l->in[0];
    l->kernel = &kni_kernel_nonzero;
    l->items = 1;
    kni_launch_int(l, kni_count(x));
    kni_launch_int(l, a->capacity);
    kni_launch_int(l, x->rank);
    for (int i = 0; i < KN_MAX_RANK; i++) kni_launch_int(l, i < x->rank ? x->dims[i] : 0);
    return KN_OK;
}

OP(nonzero, .doc = "the index tuples of elements that are not zero, and their number", .min_in = 1,
   .max_in = 1, .n_out = 2, .kind = KNI_INDEXING, .dtypes = KNI_ALL, .flags = KNI_FLAG_NO_GRADIENT,
   .schema = nonzero_schema, .attribute_bytes = sizeof(kni_nonzero_attributes), .infer = infer_nonzero,
   .launch = launch_nonzero, .native = &kni_cpu_nonzero)
