/* Public functions that read by index and by mask. */
#include "core/objects.h"
#include "ops/indexing_rows.h"
#include "ops/movement_rows.h"

kn_tensor kni_take(kn_tensor x, kn_tensor indices, int64_t axis, bool negative)
{
    kni_take_attributes a = {axis, negative};
    kn_tensor in[2] = {x, indices};
    return kni_apply(&kni_op_take, in, 2, &a);
}

kn_tensor kn_index_take(kn_tensor x, int32_t axis, kn_tensor indices)
{
    kni_take_attributes a = {axis, true};
    kn_tensor in[2] = {x, indices};
    return kni_apply_as("index_take", &kni_op_take, in, 2, &a);
}

/* A single number has one element to select, number 0. */
static kn_tensor select_from_scalar(kn_tensor x, int32_t axis, kn_tensor indices)
{
    if (!kni_check_axis_or_scalar("index_select", &axis, 0)) return kni_poison_latest();
    if (kn_count(indices) != 1)
        return kni_fail_tensor("index_select", KN_ERROR_SHAPE,
                               "%D indices into a single number, which has one element: give one index, 0",
                               kn_count(indices));
    kn_tensor y = kni_take(kn_reshape(x, KN_SHAPE(1)), kn_reshape(indices, KN_SHAPE(1)), 0, false);
    return kn_reshape(y, KN_SCALAR_SHAPE);
}

kn_tensor kn_index_select(kn_tensor x, int32_t axis, kn_tensor indices)
{
    kni_call call = kni_call_begin("index_select");
    const kni_type *t = kni_type_of(indices), *from = kni_type_of(x);
    if (t && t->rank > 1)
        return kni_call_fail(call, KN_ERROR_SHAPE, "indices must have rank 1, not %S: use kn_index_take()",
                             t);
    if (t && from && from->rank == 0) return kni_call_end(call, select_from_scalar(x, axis, indices));
    if (t && t->rank == 0) indices = kn_reshape(indices, KN_SHAPE(1));
    return kni_call_end(call, kni_take(x, indices, axis, false));
}

/* The part of x whose sizes off the axis are those of the index. Rank 0 counts as one element. */
static kn_tensor fit_to_index(kn_tensor x, int32_t axis, const kni_type *index)
{
    const kni_type *t = kni_type_of(x);
    if (!t || t->rank != index->rank) return x;
    kn_shape have = kni_shape_from_type(t);
    for (int i = 0; i < have.rank; i++)
        if (i != axis && index->dims[i] < have.dims[i]) x = kn_narrow(x, i, 0, index->dims[i]);
    return x;
}

/* x and index of rank 0 or 1: rank 0 counts as one element, as in PyTorch. The result has the shape of the index. */
static kn_tensor gather_flat(kn_tensor x, kn_tensor index, int index_rank)
{
    kni_take_attributes a = {0, false};
    kn_tensor in[2] = {kn_reshape(x, KN_SHAPE(-1)), kn_reshape(index, KN_SHAPE(-1))};
    kn_tensor y = kni_apply(&kni_op_gather, in, 2, &a);
    return index_rank ? y : kn_reshape(y, KN_SCALAR_SHAPE);
}

kn_tensor kn_gather(kn_tensor x, int32_t axis, kn_tensor index)
{
    kni_call call = kni_call_begin("gather");
    const kni_type *t = kni_type_of(x), *at = kni_type_of(index);
    kni_take_attributes a = {axis, false};
    if (t && at) {
        if (!kni_check_axis_or_scalar("gather", &axis, t->rank))
            return kni_call_end(call, kni_poison_latest());
        if (t->rank <= 1 && at->rank <= 1 && t->rank + at->rank < 2)
            return kni_call_end(call, gather_flat(x, index, at->rank));
        x = fit_to_index(x, axis, at);
    }
    kn_tensor in[2] = {x, index};
    return kni_call_end(call, kni_apply(&kni_op_gather, in, 2, &a));
}

kn_tensor kn_gather_along(kn_tensor x, int32_t axis, kn_tensor index)
{
    kni_call call = kni_call_begin("gather_along");
    const kni_type *t = kni_type_of(x), *at = kni_type_of(index);
    kni_take_attributes a = {axis, true};
    if (t && at) {
        if (!kni_check_axis("gather_along", &axis, t->rank)) return kni_call_end(call, kni_poison_latest());
        if (at->rank != t->rank)
            return kni_call_fail(call, KN_ERROR_SHAPE, "an index of %S needs the rank of %S", at, t);
        kn_shape x_shape = kni_shape_from_type(t), index_shape = kni_shape_from_type(at);
        for (int i = 0; i < x_shape.rank; i++) {
            if (i == axis) continue;
            if (x_shape.dims[i] == 1)
                x_shape.dims[i] = index_shape.dims[i];
            else if (index_shape.dims[i] == 1)
                index_shape.dims[i] = x_shape.dims[i];
        }
        x = kn_expand(x, x_shape);
        index = kn_expand(index, index_shape);
    }
    kn_tensor in[2] = {x, index};
    return kni_call_end(call, kni_apply(&kni_op_gather, in, 2, &a));
}

kn_tensor kn_gather_nd(kn_tensor x, kn_tensor indices)
{
    kn_tensor in[2] = {x, indices};
    kni_gather_nd_attributes a = {0};
    return kni_apply(&kni_op_gather_nd, in, 2, &a);
}

kn_tensor kn_gather_nd_batch(kn_tensor x, kn_tensor indices, int32_t batch_axes)
{
    kn_tensor in[2] = {x, indices};
    kni_gather_nd_attributes a = {batch_axes};
    return kni_apply_as("gather_nd_batch", &kni_op_gather_nd, in, 2, &a);
}

/* ---- what is not zero */

static void nonzero(kn_tensor x, int64_t capacity, kn_tensor out[2])
{
    kni_nonzero_attributes a = {capacity};
    kni_apply_many(&kni_op_nonzero, &x, 1, &a, out, 2);
}

kn_nonzero_result kn_nonzero_bounded(kn_tensor x, int64_t capacity)
{
    kn_tensor out[2];
    nonzero(x, capacity, out);
    return (kn_nonzero_result){out[0], out[1]};
}

/* All index tuples: counted first, so that the result has just the room it needs. */
static kn_tensor nonzero_all(kn_tensor x)
{
    kn_tensor out[2], count = kn_count_nonzero(x = kn_keep(x), KN_AXES_ALL, false);
    if (!kn_ok(count)) return count;
    int64_t n = kn_item_int(count);
    kn_drop(count);
    nonzero(x, n, out);
    kn_drop(out[1]);
    return out[0];
}

static kn_tensor nonzero_as(const char *name, kn_tensor x)
{
    kni_call call = kni_call_begin(name);
    return kni_call_end(call, nonzero_all(x));
}

kn_tensor kn_nonzero(kn_tensor x) { return nonzero_as("nonzero", x); }

kn_tensor kn_argwhere(kn_tensor x) { return nonzero_as("argwhere", x); }

kn_status kn_nonzero_axes(kn_tensor x, kn_tensor *out)
{
    if (!out) return kni_fail(KN_ERROR_ARGUMENT, "kn_nonzero_axes: the place for the results is NULL");
    kni_call call = kni_call_begin("nonzero_axes");
    const kni_type *t = kni_type_of(x);
    int rank = t ? t->rank : 0;
    kn_tensor tuples = kn_keep(nonzero_all(x));
    kn_status s = kni_failure_again(tuples);
    for (int i = 0; i < rank; i++) {
        out[i] = kn_select(tuples, 1, i);
        if (s == KN_OK) s = kni_failure_again(out[i]);
    }
    kni_call_end_many(call, out, rank);
    return s;
}

/* ---- by mask */

kn_shape kni_broadcast_pair(const kni_type *a, const kni_type *b)
{
    kn_shape shape = {a->rank > b->rank ? a->rank : b->rank, {0}};
    for (int i = 0; i < shape.rank; i++) {
        int at = i - (shape.rank - a->rank), other = i - (shape.rank - b->rank);
        int64_t n = at < 0 ? 1 : a->dims[at];
        shape.dims[i] = n == 1 && other >= 0 ? b->dims[other] : n;
    }
    return shape;
}

/* Broadcasts x and the mask to each other, flat; false when one is bad, which x then tells. */
static bool flatten_pair(kn_tensor *x, kn_tensor *mask)
{
    const kni_type *t = kni_type_of(*x), *m = kni_type_of(*mask);
    if (!t || !m) {
        *x = kn_where(*mask, *x, kn_alias(*x));
        return false;
    }
    if (!kni_is_bool(m->dtype)) {
        *x = kni_fail_tensor("mask_select", KN_ERROR_DTYPE,
                             "the mask must be bool, not %T: compare or use kn_cast()", (int)m->dtype);
        return false;
    }
    kn_shape shape = kni_broadcast_pair(t, m);
    *x = kn_flatten(kn_expand(*x, shape), 0, -1);
    *mask = kn_flatten(kn_expand(*mask, shape), 0, -1);
    return kn_ok(*x) && kn_ok(*mask);
}

kn_tensor kn_mask_select(kn_tensor x, kn_tensor mask)
{
    kni_call call = kni_call_begin("mask_select");
    if (!flatten_pair(&x, &mask)) return kni_call_end(call, kn_ok(x) ? mask : x);
    kn_tensor at = kn_flatten(nonzero_all(mask), 0, -1);
    return kni_call_end(call, kni_take(x, at, 0, false));
}

/* Behind the count the indices are 0: there the values are replaced, which keeps gradients out too. */
static kn_tensor take_counted(kn_tensor x, kn_tensor at, kn_tensor count, int64_t capacity)
{
    const kni_type *t = kni_type_of(x);
    kn_dtype dtype = t ? (kn_dtype)t->dtype : KN_F32;
    if (t && kni_count(t) == 0) return kn_zeros(KN_SHAPE(capacity), dtype);
    kn_tensor inside = kn_less(kn_arange(0, (double)capacity, 1, KN_I64), count);
    return kn_where(inside, kni_take(x, kn_reshape(at, KN_SHAPE(capacity)), 0, false),
                    kn_zeros(KN_SCALAR_SHAPE, dtype));
}

kn_mask_select_result kn_mask_select_bounded(kn_tensor x, kn_tensor mask, int64_t capacity)
{
    kni_call call = kni_call_begin("mask_select_bounded");
    kn_tensor out[2];
    if (!flatten_pair(&x, &mask)) {
        out[0] = out[1] = kn_ok(x) ? mask : x;
    } else {
        kn_tensor found[2];
        nonzero(mask, capacity, found);
        out[1] = kn_keep(found[1]);
        out[0] = kn_ok(out[1]) ? take_counted(x, found[0], out[1], capacity) : out[1];
    }
    kni_call_end_many(call, out, 2);
    return (kn_mask_select_result){out[0], out[1]};
}
