/* Parts of an axis at a position that is data: replacing them, and copying them out. What such a step does does not depend on where it
   is, so that its plan is the same each time. */
#include "ops/generated/movement_kernels.h"
#include "ops/infer.h"
#include "ops/movement_rows.h"
#include "ops/native.h"

extern const kni_native kni_cpu_update_at;

static const kn_attribute update_schema[] = {KNI_ATTR(kni_at_attributes, axis, KNI_ATTR_INT, KNI_STATIC),
                                             {0}};
static const kn_attribute slice_schema[] = {KNI_ATTR(kni_at_attributes, axis, KNI_ATTR_INT, KNI_STATIC),
                                            KNI_ATTR(kni_at_attributes, size, KNI_ATTR_INT, KNI_STATIC),
                                            {0}};

kni_at_view kni_view_at(const kni_type *x, const kni_type *position, int64_t axis, int64_t size)
{
    kni_at_view v = {.outer = 1, .length = x->dims[axis], .size = size, .inner = 1};
    for (int i = 0; i < x->rank; i++)
        if (i != axis) *(i < axis ? &v.outer : &v.inner) *= x->dims[i];
    int64_t positions = position->rank ? position->dims[0] : 1;
    v.per = positions > 1 ? v.outer / positions : v.outer;
    if (v.per < 1) v.per = 1;
    return v;
}

/* Operand `at` is one position, or one for each index of the first axis. */
static kn_status check_position(const kni_infer *c, int at, kni_at_attributes *a)
{
    const kni_type *x = c->in[0], *p = c->in[at];
    kn_status s = kni_infer_axis(c, &a->axis, x->rank);
    if (s == KN_OK) s = kni_infer_integer(c, at);
    if (s) return s;
    bool one = p->rank == 0 || (p->rank == 1 && kni_dims_agree(p->dims[0], 1));
    bool each = p->rank == 1 && a->axis > 0 && kni_dims_agree(p->dims[0], x->dims[0]);
    if (one || each) return KN_OK;
    return kni_infer_fail(
        c, KN_ERROR_SHAPE,
        "the position %S is neither one number nor one for each index of the first axis of %S", p, x);
}

static void put_view(kni_launch *l, const kni_at_view *v)
{
    kni_launch_int(l, v->length);
    kni_launch_int(l, v->size);
    kni_launch_int(l, v->inner);
    kni_launch_int(l, v->per);
}

/* ---- slice_at: y[..., i, ...] = x[..., p + i, ...] */

static kn_status infer_slice_at(kni_infer *c)
{
    kni_at_attributes *a = c->attributes;
    kn_status s = check_position(c, 1, a);
    if (s) return s;
    const kni_type *x = c->in[0];
    if (a->size < 0 || a->size > kni_dim_high(x->dims[a->axis]))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "%D elements of axis %D of %S", a->size, a->axis, x);
    *c->out[0] = *x;
    c->out[0]->weak = 0;
    c->out[0]->dims[a->axis] = a->size;
    return KN_OK;
}

static kn_status launch_slice_at(kni_launch *l)
{
    const kni_at_attributes *a = l->attributes;
    kni_at_view v = kni_view_at(l->in[0], l->in[1], a->axis, a->size);
    l->kernel = &kni_kernel_slice_at;
    l->items = kni_count(l->out[0]);
    put_view(l, &v);
    return KN_OK;
}

OP(slice_at,
   .doc = "y[..., i, ...] = x[..., position + i, ...], the position moved to where all of it lies inside",
   .min_in = 2, .max_in = 2, .n_out = 1, .kind = KNI_MOVEMENT, .dtypes = KNI_ALL, .flags = KNI_FLAG_MOVES,
   .schema = slice_schema, .attribute_bytes = sizeof(kni_at_attributes), .infer = infer_slice_at,
   .launch = launch_slice_at)

static kn_tensor slice_at(kn_tensor x, kn_tensor position, int64_t axis, int64_t size)
{
    kni_at_attributes a = {axis, size};
    kn_tensor in[2] = {x, position};
    return kni_apply(&kni_op_slice_at, in, 2, &a);
}

static kn_tensor update_at(kn_tensor x, kn_tensor values, kn_tensor position, int64_t axis)
{
    kni_at_attributes a = {axis, 0};
    kn_tensor in[3] = {x, values, position};
    return kni_apply(&kni_op_update_at, in, 3, &a);
}

GRADIENT(slice_at)
{
    const kni_at_attributes *a = v->attributes;
    if (!kni_vjp_needs(v, 0)) return KN_OK;
    kn_tensor zeros = kn_zeros(kni_vjp_shape(v, 0), (kn_dtype)v->in_types[0].dtype);
    kni_vjp_set(v, 0, update_at(zeros, v->dy[0], kni_vjp_in(v, 1), a->axis));
    return KN_OK;
}

/* ---- update_at: x with x[..., p + i, ...] = values[..., i, ...] */

static kn_status infer_update_at(kni_infer *c)
{
    kni_at_attributes *a = c->attributes;
    kn_status s = check_position(c, 2, a);
    if (s) return s;
    const kni_type *x = c->in[0], *values = c->in[1];
    bool fits = values->rank == x->rank;
    for (int i = 0; fits && i < x->rank; i++)
        fits = i == a->axis ? kni_dim_low(values->dims[i]) <= kni_dim_high(x->dims[i])
                            : kni_dims_agree(values->dims[i], x->dims[i]);
    if (!fits)
        return kni_infer_fail(c, KN_ERROR_SHAPE, "values of %S do not fit into axis %D of %S", values,
                              a->axis, x);
    if (values->dtype != x->dtype)
        return kni_infer_fail(c, KN_ERROR_DTYPE, "values are %T, the tensor is %T: convert with kn_cast()",
                              (int)values->dtype, (int)x->dtype);
    return kni_infer_same(c);
}

static kn_status launch_update_at(kni_launch *l)
{
    const kni_at_attributes *a = l->attributes;
    kni_at_view v = kni_view_at(l->in[0], l->in[2], a->axis, l->in[1]->dims[a->axis]);
    l->kernel = &kni_kernel_update_at;
    l->items = kni_count(l->out[0]);
    put_view(l, &v);
    return KN_OK;
}

OP(update_at,
   .doc = "x with x[..., position + i, ...] = values[..., i, ...], the position moved to where all of them "
          "lie inside",
   .min_in = 3, .max_in = 3, .n_out = 1, .kind = KNI_MOVEMENT, .dtypes = KNI_ALL,
   .flags = KNI_FLAG_ALIAS | KNI_FLAG_MOVES, .schema = update_schema,
   .attribute_bytes = sizeof(kni_at_attributes), .infer = infer_update_at, .launch = launch_update_at,
   .native = &kni_cpu_update_at)

GRADIENT(update_at)
{
    const kni_at_attributes *a = v->attributes;
    kn_tensor position = kni_vjp_in(v, 2);
    if (kni_vjp_needs(v, 0)) {
        kn_tensor zeros = kn_zeros(kni_vjp_shape(v, 1), (kn_dtype)v->in_types[1].dtype);
        kni_vjp_set(v, 0, update_at(v->dy[0], zeros, position, a->axis));
    }
    if (kni_vjp_needs(v, 1))
        kni_vjp_set(v, 1, slice_at(v->dy[0], position, a->axis, v->in_types[1].dims[a->axis]));
    return KN_OK;
}

/* ---- the public functions */

kn_tensor kn_slice_at(kn_tensor x, int32_t axis, kn_tensor position, int64_t size)
{
    return slice_at(x, position, axis, size);
}

kn_tensor kn_update_at(kn_tensor x, int32_t axis, kn_tensor position, kn_tensor values)
{
    return update_at(x, values, position, axis);
}
