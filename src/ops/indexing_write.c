/* Public functions that assign by index, slice and mask. */
#include "ops/creation_rows.h"
#include "ops/indexing_rows.h"
#include "ops/movement_rows.h"

kn_tensor kni_select_assign(kn_tensor x, kn_tensor indices, kn_tensor values, kni_update_attributes a)
{
    kn_tensor in[3] = {x, indices, values};
    return kni_apply(&kni_op_select_assign, in, 3, &a);
}

/* A single number in the shape of what is to be replaced. */
static kn_tensor spread(kn_tensor values, kn_shape shape)
{
    const kni_type *v = kni_type_of(values);
    return v && v->rank == 0 && shape.rank > 0 ? kn_expand(values, shape) : values;
}

/* x of rank 0 counts as one element, as in PyTorch. */
static kn_tensor assign_scalar(kn_tensor x, kn_tensor indices, kn_tensor values, kn_update update)
{
    const kni_type *at = kni_type_of(indices), *v = kni_type_of(values);
    if (at && at->rank == 0) indices = kn_reshape(indices, KN_SHAPE(1));
    if (at && v && v->rank == 0) values = kn_expand(values, KN_SHAPE(at->rank ? at->dims[0] : 1));
    kn_tensor y = kni_select_assign(kn_reshape(x, KN_SHAPE(1)), indices, values,
                                    (kni_update_attributes){0, false, update});
    return kn_reshape(y, KN_SCALAR_SHAPE);
}

kn_tensor kn_index_assign(kn_tensor x, int32_t axis, kn_tensor indices, kn_tensor values, kn_update update)
{
    kni_call call = kni_call_begin("index_assign");
    const kni_type *t = kni_type_of(x), *at = kni_type_of(indices);
    if (t && at) {
        if (!kni_check_axis_or_scalar("index_assign", &axis, t->rank))
            return kni_call_end(call, kni_poison_latest());
        if (t->rank == 0) return kni_call_end(call, assign_scalar(x, indices, values, update));
        kn_shape shape = {0, {0}};
        for (int i = 0; i < t->rank; i++) {
            if (i != axis) shape.dims[shape.rank++] = t->dims[i];
            for (int k = 0; i == axis && k < at->rank && t->rank + at->rank - 1 <= KN_MAX_RANK; k++)
                shape.dims[shape.rank++] = at->dims[k];
        }
        values = spread(values, shape);
    }
    return kni_call_end(call,
                        kni_select_assign(x, indices, values, (kni_update_attributes){axis, false, update}));
}

/* The block at the origin of x with the given sizes, whole along `axis` (-1: nowhere). */
static kni_slice_attributes corner(int rank, int axis, const int64_t *sizes)
{
    kni_slice_attributes a = {{rank, {0}}, {rank, {0}}, {rank, {0}}};
    for (int i = 0; i < rank; i++) a.stop.dims[i] = i == axis ? KN_END : sizes[i];
    return a;
}

static bool covers(const kni_type *t, int axis, const int64_t *sizes)
{
    for (int i = 0; i < t->rank; i++)
        if (i != axis && t->dims[i] != sizes[i]) return false;
    return true;
}

/* x or the index is a single number, which counts as one element; the other has rank 0 or 1. */
static kn_tensor scatter_scalar(kn_tensor x, kn_tensor index, kn_tensor values, kn_update update)
{
    kn_shape shape = kni_shape_from_type(kni_type_of(x));
    const kni_type *v = kni_type_of(values);
    int64_t n = kni_count(kni_type_of(index));
    kn_tensor flat = v->rank ? kn_narrow(kn_flatten(values, 0, -1), 0, 0, n) : kn_expand(values, KN_SHAPE(n));
    kn_tensor in[3] = {kn_reshape(x, KN_SHAPE(-1)), kn_reshape(index, KN_SHAPE(n)), flat};
    kni_update_attributes a = {0, false, update};
    return kn_reshape(kni_apply(&kni_op_scatter, in, 3, &a), shape);
}

kn_tensor kn_scatter(kn_tensor x, int32_t axis, kn_tensor index, kn_tensor values, kn_update update)
{
    kni_call call = kni_call_begin("scatter");
    const kni_type *t = kni_type_of(x), *at = kni_type_of(index), *v = kni_type_of(values);
    kni_update_attributes a = {axis, false, update};
    kn_tensor part = x;
    bool whole = true;
    kni_slice_attributes block;
    if (t && at && v) {
        if (!kni_check_axis_or_scalar("scatter", &axis, t->rank))
            return kni_call_end(call, kni_poison_latest());
        if (t->rank <= 1 && at->rank <= 1 && t->rank + at->rank < 2)
            return kni_call_end(call, scatter_scalar(x, index, values, update));
        kn_shape sizes = kni_shape_from_type(at);
        if (v->rank == 0)
            values = spread(values, sizes);
        else if (v->rank == at->rank && !covers(v, -1, sizes.dims)) {
            for (int i = 0; i < v->rank; i++)
                if (v->dims[i] < sizes.dims[i])
                    return kni_call_fail(call, KN_ERROR_SHAPE,
                                         "values of %S are smaller than the index of %S", v, at);
            block = corner(v->rank, -1, sizes.dims);
            values = kni_apply(&kni_op_slice, &values, 1, &block);
        }
        whole = at->rank != t->rank || covers(t, axis, sizes.dims);
        for (int i = 0; !whole && i < t->rank; i++)
            if (i != axis && sizes.dims[i] > t->dims[i])
                return kni_call_fail(call, KN_ERROR_SHAPE, "an index of %S is larger than %S", at, t);
        if (!whole) {
            x = kn_keep(x);
            block = corner(t->rank, axis, sizes.dims);
            part = kni_apply(&kni_op_slice, &x, 1, &block);
        }
    }
    kn_tensor in[3] = {part, index, values};
    kn_tensor y = kni_apply(&kni_op_scatter, in, 3, &a);
    kn_tensor back[2] = {x, y};
    return kni_call_end(call, whole ? y : kni_apply(&kni_op_update_slice, back, 2, &block));
}

kn_tensor kn_put(kn_tensor x, kn_tensor index, kn_tensor values, kn_update update)
{
    kni_call call = kni_call_begin("put");
    kni_call_share((const kn_tensor[]){x, index, values}, 3);
    const kni_type *t = kni_type_of(x), *at = kni_type_of(index);
    if (!t || !at)
        return kni_call_end(call,
                            kni_select_assign(x, index, values, (kni_update_attributes){0, true, update}));
    kn_shape shape = kni_shape_from_type(t), flat = KN_SHAPE(kni_count(at));
    values = spread(values, flat);
    const kni_type *v = kni_type_of(values);
    if (v && v->rank != 1) values = kn_flatten(values, 0, -1);
    kn_tensor y = kni_select_assign(kn_flatten(x, 0, -1), kn_flatten(index, 0, -1), values,
                                    (kni_update_attributes){0, true, update});
    return kni_call_end(call, kn_reshape(y, shape));
}

kn_tensor kn_scatter_nd(kn_tensor x, kn_tensor indices, kn_tensor values, kn_update update)
{
    kni_update_attributes a = {0, true, update};
    kn_tensor in[3] = {x, indices, values};
    return kni_apply(&kni_op_scatter_nd, in, 3, &a);
}

/* ---- by slice */

/* values in x's dtype and in the shape of the part. */
static kn_tensor fit_values(const kni_type *t, const kni_slice_attributes *a, kn_tensor values)
{
    const kni_type *v = kni_type_of(values);
    kn_shape shape = {t->rank, {0}};
    kn_dtype dtype = (kn_dtype)t->dtype;
    for (int i = 0; i < t->rank; i++)
        shape.dims[i] =
            kni_resolve_range(a->start.dims[i], a->stop.dims[i], a->step.dims[i], t->dims[i]).size;
    if (v && v->dtype != dtype) values = kn_cast(values, dtype);
    return kn_expand(values, shape);
}

kn_tensor kn_slice_assign(kn_tensor x, const kn_range *ranges, int32_t n, kn_tensor values)
{
    kni_call call = kni_call_begin("slice_assign");
    kni_call_share((const kn_tensor[]){x, values}, 2);
    const kni_type *t = kni_type_of(x);
    kni_slice_attributes a;
    if (!kni_ranges_to_attributes("slice_assign", x, ranges, n, &a))
        return kni_call_end(call, kni_poison_latest());
    if (t) values = fit_values(t, &a, values);
    kn_tensor in[2] = {x, values};
    return kni_call_end(call, kni_apply(&kni_op_update_slice, in, 2, &a));
}

kn_tensor kn_slice_fill(kn_tensor x, const kn_range *ranges, int32_t n, double value)
{
    kni_call call = kni_call_begin("slice_fill");
    return kni_call_end(call, kn_slice_assign(x, ranges, n, kni_number_like(x, value)));
}

/* ---- by mask */

kn_tensor kn_mask_where(kn_tensor x, kn_tensor mask, kn_tensor values)
{
    kni_call call = kni_call_begin("mask_where");
    return kni_call_end(call, kn_where(mask, values, x));
}

kn_tensor kn_mask_fill(kn_tensor x, kn_tensor mask, double value)
{
    kni_call call = kni_call_begin("mask_fill");
    return kni_call_end(call, kn_where(mask, kni_number_like(x, value), x));
}
