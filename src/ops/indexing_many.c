/* Reading and writing by several index tensors, reductions of what is scattered, and functions made of them. */
#include "core/integer_range.h"
#include "core/objects.h"
#include "ops/creation_rows.h"
#include "ops/indexing_rows.h"
#include "ops/infer.h"
#include "ops/movement_rows.h"
#include "ops/wide.h"

/* ---- several index tensors */

/* What a list of indices says of a tensor x: the axes they take, in order, and one tensor of tuples [shape..., count]. */
typedef struct index_plan {
    kn_ints order, back; /* the axes of x, indexed ones first, and the way back */
    kn_tensor tuples;
    kn_shape result; /* of reading: the broadcast shape of the indices in front of the other axes */
    int n_indexed, n_shape, first;
    bool side_by_side;
} index_plan;

/* The index tensors by axis of x: masks become one for each of their axes. The number of axes, -1 after a failure. */
static int spread_indices(const char *name, const kni_type *t, const kn_tensor *indices, int32_t n,
                          kn_tensor *by_axis)
{
    int axis = 0;
    for (int32_t i = 0; i < n; i++) {
        const kni_type *at = indices[i].bits ? kni_type_of(indices[i]) : NULL;
        if (indices[i].bits && !at) return kni_fail_carried(indices[i], name, "index %d", i), -1;
        int width = at && kni_is_bool(at->dtype) ? at->rank : 1;
        if (axis + width > t->rank || width == 0)
            return kni_fail_op(KN_ERROR_SHAPE, name,
                               "index %d is one too many for %S: give one for each axis at most", (int)i, t),
                   -1;
        if (!at) {
            by_axis[axis++] = KN_NONE;
            continue;
        }
        if (!kni_is_bool(at->dtype)) {
            if (!(KNI_INTS >> at->dtype & 1))
                return kni_fail_op(KN_ERROR_DTYPE, name, "index %d is %T: it must be integers or a bool mask",
                                   (int)i, (int)at->dtype),
                       -1;
            by_axis[axis++] = kn_keep(kn_cast(indices[i], KN_I64));
            continue;
        }
        for (int k = 0; k < width; k++)
            if (at->dims[k] != t->dims[axis + k])
                return kni_fail_op(KN_ERROR_SHAPE, name, "the mask %S does not fit axes %d and on of %S", at,
                                   axis, t),
                       -1;
        if (kn_nonzero_axes(kn_alias(kn_keep(indices[i])), by_axis + axis)) return -1;
        for (int k = 0; k < width; k++) by_axis[axis + k] = kn_keep(by_axis[axis + k]);
        axis += width;
    }
    for (int i = axis; i < t->rank; i++) by_axis[i] = KN_NONE;
    return axis;
}

/* The shape that the indices broadcast to; false after a failure. */
static bool broadcast_indices(const char *name, const kn_tensor *list, int n, kn_shape *shape)
{
    for (int i = 0; i < n; i++) {
        const kni_type *t = kni_type_of(list[i]);
        if (!t) return false;
        for (int k = shape->rank; k < t->rank; k++) { /* more axes: those so far move to the right */
            for (int j = shape->rank; j > 0; j--) shape->dims[j] = shape->dims[j - 1];
            shape->dims[0] = 1;
            shape->rank++;
        }
        for (int k = 0; k < t->rank; k++) {
            int64_t *size = &shape->dims[shape->rank - t->rank + k];
            if (*size == 1)
                *size = t->dims[k];
            else if (t->dims[k] != 1 && t->dims[k] != *size) {
                kni_fail_op(KN_ERROR_SHAPE, name, "the index tensors %S and %S do not broadcast",
                            kni_type_of(list[0]), t);
                return false;
            }
        }
    }
    return true;
}

static bool plan_indices(const char *name, const kni_type *t, const kn_tensor *indices, int32_t n,
                         index_plan *p)
{
    kn_tensor by_axis[KN_MAX_RANK + 1], list[KN_MAX_RANK];
    if (n < 0 || (n > 0 && !indices)) {
        kni_fail_op(KN_ERROR_ARGUMENT, name, "the list of %d index tensors is missing", (int)n);
        return false;
    }
    if (spread_indices(name, t, indices, n, by_axis) < 0) return false;
    *p = (index_plan){{t->rank, {0}}, {t->rank, {0}}, KN_NONE, {0, {0}}, 0, 0, 0, true};
    int last = -1;
    for (int i = 0; i < t->rank; i++) {
        if (!by_axis[i].bits) continue;
        if (p->n_indexed && i != last + 1) p->side_by_side = false;
        if (!p->n_indexed) p->first = i;
        last = i;
        list[p->n_indexed] = by_axis[i];
        p->order.dims[p->n_indexed++] = i;
    }
    if (!broadcast_indices(name, list, p->n_indexed, &p->result)) return false;
    p->n_shape = p->result.rank;
    int at = p->n_indexed;
    if (p->n_shape + t->rank - at > KN_MAX_RANK) {
        kni_fail_op(KN_ERROR_SHAPE, name, "the result would have more than %d axes", KN_MAX_RANK);
        return false;
    }
    for (int i = 0; i < p->n_indexed; i++) list[i] = kn_expand(list[i], p->result);
    if (p->n_indexed) p->tuples = kn_keep(kn_stack(list, p->n_indexed, -1));
    for (int i = 0; i < t->rank; i++) {
        if (by_axis[i].bits) continue;
        p->order.dims[at++] = i;
        p->result.dims[p->result.rank++] = t->dims[i];
    }
    for (int i = 0; i < t->rank; i++) p->back.dims[p->order.dims[i]] = i;
    return true;
}

/* The axes of the indices, in front, go where the first index stood; or back to the front. */
static kn_tensor move_indices(kn_tensor y, const index_plan *p, bool to_front)
{
    if (!p->side_by_side || p->first == 0 || p->n_shape == 0) return y;
    kn_ints front = {p->n_shape, {0}}, inside = {p->n_shape, {0}};
    for (int i = 0; i < p->n_shape; i++) {
        front.dims[i] = i;
        inside.dims[i] = p->first + i;
    }
    return to_front ? kn_movedim(y, inside, front) : kn_movedim(y, front, inside);
}

kn_tensor kn_index(kn_tensor x, const kn_tensor *indices, int32_t n)
{
    kni_call call = kni_call_begin("index");
    const kni_type *t = kni_type_of(x);
    index_plan p;
    if (!t) return kni_call_end(call, kn_neg(x));
    if (!plan_indices("index", t, indices, n, &p)) return kni_call_end(call, kni_poison_latest());
    if (!p.n_indexed) return kni_call_end(call, kn_alias(kn_keep(x)));
    kn_tensor y = kn_gather_nd(kn_permute(x, p.order), p.tuples);
    return kni_call_end(call, move_indices(y, &p, false));
}

kn_tensor kn_index_put(kn_tensor x, const kn_tensor *indices, int32_t n, kn_tensor values, kn_update update)
{
    kni_call call = kni_call_begin("index_put");
    kni_call_share((const kn_tensor[]){x, values}, 2);
    if (indices) kni_call_share(indices, n);
    const kni_type *t = kni_type_of(x), *v = kni_type_of(values);
    index_plan p;
    if (!t || !v) return kni_call_end(call, kn_add(x, values));
    if (!plan_indices("index_put", t, indices, n, &p)) return kni_call_end(call, kni_poison_latest());
    if (!p.n_indexed)
        return kni_call_fail(call, KN_ERROR_ARGUMENT,
                             "no index tensor given: use kn_where() to replace all of %S", t);
    /* Where the values go, in the order that reading would give. */
    kn_shape shape = p.result;
    if (p.side_by_side && p.first > 0) {
        for (int i = 0; i < p.first; i++) shape.dims[i] = p.result.dims[p.n_shape + i];
        for (int i = 0; i < p.n_shape; i++) shape.dims[p.first + i] = p.result.dims[i];
    }
    values = move_indices(kn_expand(values, shape), &p, true);
    kn_tensor y = kn_scatter_nd(kn_permute(x, p.order), p.tuples, values, update);
    return kni_call_end(call, kn_permute(y, p.back));
}

kn_status kn_unravel_index(kn_tensor index, kn_shape shape, kn_tensor *out)
{
    if (!out) return kni_fail(KN_ERROR_ARGUMENT, "kn_unravel_index: the place for the results is NULL");
    if (shape.rank < 0 || shape.rank > KN_MAX_RANK)
        return kni_fail_op(KN_ERROR_ARGUMENT, "unravel_index", "a shape of rank %d; it takes 0 to %d",
                           shape.rank, KN_MAX_RANK);
    kni_call call = kni_call_begin("unravel_index");
    const kni_type *t = kni_type_of(index);
    kn_status s = KN_OK;
    if (t && !(KNI_INTS >> t->dtype & 1))
        s = kni_fail_op(KN_ERROR_DTYPE, "unravel_index", "the index is %T: it must be integers",
                        (int)t->dtype);
    for (int i = 0; i < shape.rank && s == KN_OK; i++)
        if (shape.dims[i] < 1)
            s = kni_fail_op(KN_ERROR_SHAPE, "unravel_index", "%N has no elements to point at", &shape);
    if (s) {
        kn_tensor poison = kni_call_end(call, kni_poison_latest());
        for (int i = 0; i < shape.rank; i++) out[i] = poison;
        return s;
    }
    kn_tensor rest = kn_keep(kn_cast(index, KN_I64));
    for (int i = shape.rank - 1; i >= 0; i--) {
        kn_tensor size = kn_keep(kn_full_int(KN_SCALAR_SHAPE, shape.dims[i], KN_I64));
        out[i] = kn_remainder(rest, size);
        rest = kn_keep(kn_floor_div(rest, size));
    }
    for (int i = 0; i < shape.rank && s == KN_OK; i++) s = kni_failure_again(out[i]);
    kni_call_end_many(call, out, shape.rank);
    return s;
}

/* ---- one position after the other */

kn_tensor kn_take_flat(kn_tensor x, kn_tensor index)
{
    kni_call call = kni_call_begin("take_flat");
    return kni_call_end(call, kn_index_take(kn_reshape(x, KN_SHAPE(-1)), 0, index));
}

kn_tensor kn_index_fill(kn_tensor x, int32_t axis, kn_tensor indices, double value)
{
    kni_call call = kni_call_begin("index_fill");
    x = kn_keep(x);
    const kni_type *at = kni_type_of(indices);
    if (at && at->rank > 1)
        return kni_call_fail(call, KN_ERROR_SHAPE, "indices must have rank 0 or 1, not %S", at);
    if (at && at->rank == 0) indices = kn_reshape(indices, KN_SHAPE(1));
    return kni_call_end(call, kn_index_assign(x, axis, indices, kni_number_like(x, value), KN_UPDATE_ASSIGN));
}

/* The k-th true place takes value k: the running count of the mask says which. A first element that nobody takes stands for
   empty values. */
kn_tensor kn_mask_scatter(kn_tensor x, kn_tensor mask, kn_tensor values)
{
    kni_call call = kni_call_begin("mask_scatter");
    const kni_type *t = kni_type_of(x), *m = kni_type_of(mask), *v = kni_type_of(values);
    if (!t || !m || !v) return kni_call_end(call, kn_where(mask, values, x));
    if (!kni_is_bool(m->dtype))
        return kni_call_fail(call, KN_ERROR_DTYPE, "the mask must be bool, not %T: compare or use kn_cast()",
                             (int)m->dtype);
    if (t->dtype != v->dtype)
        return kni_call_fail(call, KN_ERROR_DTYPE, "values are %T, the tensor is %T: convert with kn_cast()",
                             (int)v->dtype, (int)t->dtype);
    kn_shape shape = kni_broadcast_pair(t, m);
    bool none = kni_count(v) == 0;
    kn_dtype dtype = (kn_dtype)t->dtype;
    x = kn_keep(x);
    kn_tensor flat = none ? kn_zeros(KN_SHAPE(1), dtype) : kn_reshape(values, KN_SHAPE(-1));
    kn_tensor inside = kn_keep(kn_reshape(kn_expand(mask, shape), KN_SHAPE(-1)));
    kn_tensor at = kn_cumsum(kn_cast(inside, KN_I64), 0);
    if (!none) at = kn_sub_scalar(at, 1);
    at = kn_where(inside, at, kn_zeros(KN_SCALAR_SHAPE, KN_I64));
    kn_tensor y =
        kn_where(inside, kn_index_select(flat, 0, at), kn_reshape(kn_expand(x, shape), KN_SHAPE(-1)));
    return kni_call_end(call, kn_reshape(y, shape));
}

/* ---- reductions of what meets in one element */

typedef kn_tensor (*assign_function)(kn_tensor x, int32_t axis, kn_tensor index, kn_tensor values,
                                     kn_update update);

/* The value that a reduction leaves as it is, of rank 0. */
static kn_tensor neutral(int dtype, kn_scatter_reduction reduction)
{
    bool low = reduction == KN_SCATTER_MAX;
    if (reduction == KN_SCATTER_SUM || reduction == KN_SCATTER_MEAN || reduction == KN_SCATTER_PROD)
        return kn_full(KN_SCALAR_SHAPE, reduction == KN_SCATTER_PROD, (kn_dtype)dtype);
    if (kni_is_float(dtype))
        return kn_full(KN_SCALAR_SHAPE, low ? -__builtin_inf() : __builtin_inf(), (kn_dtype)dtype);
    if (kni_is_bool(dtype)) return kn_full(KN_SCALAR_SHAPE, !low, KN_BOOL);
    bool is_signed = kni_dtypes[dtype].kind == KNI_KIND_SIGNED;
    uint64_t highest = (is_signed ? UINT64_MAX >> 1 : UINT64_MAX) >> (64 - kni_dtypes[dtype].bits);
    uint64_t lowest = is_signed ? ~highest : 0;
    return kn_full_int(KN_SCALAR_SHAPE, (int64_t)(low ? lowest : highest), (kn_dtype)dtype);
}

/* sums / counts; elements that nothing met have a count of 0 and stay. */
static kn_tensor mean_of(assign_function assign, kn_tensor sums, int32_t axis, kn_tensor index,
                         bool with_self)
{
    bool is_float = kn_dtype_is_float(kn_dtype_of(sums));
    kn_dtype dtype = is_float ? kn_dtype_of(sums) : KN_I64;
    sums = kn_keep(sums);
    kn_tensor start = kn_cast(with_self ? kn_ones_like(sums) : kn_zeros_like(sums), dtype);
    kn_tensor counts = assign(start, axis, index, kn_ones(KN_SCALAR_SHAPE, dtype), KN_UPDATE_ADD);
    counts = kn_maximum_scalar(counts, 1);
    return is_float ? kn_div(sums, counts) : kn_floor_div(kn_cast(sums, KN_I64), counts);
}

static kn_tensor reduce_as(const char *name, assign_function assign, kn_tensor x, int32_t axis,
                           kn_tensor index, kn_tensor values, const kn_scatter_reduce_args *args)
{
    static const kn_update updates[] = {KN_UPDATE_ADD, KN_UPDATE_MUL, KN_UPDATE_ADD, KN_UPDATE_MIN,
                                        KN_UPDATE_MAX};
    static const kn_scatter_reduce_args plain = {KN_SCATTER_SUM, false};
    kni_call call = kni_call_begin(name);
    const kni_type *t = kni_type_of(x), *v = kni_type_of(values);
    if (!args) args = &plain;
    kn_scatter_reduction reduction = args->reduction;
    if ((unsigned)reduction > KN_SCATTER_MAX)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "reduction %d is none of kn_scatter_reduction",
                             (int)reduction);
    if (!t || !v) return kni_call_end(call, assign(x, axis, index, values, updates[reduction]));
    int dtype = t->dtype;
    bool mean = reduction == KN_SCATTER_MEAN;
    if (v->dtype != dtype)
        return kni_call_fail(call, KN_ERROR_DTYPE, "values are %T, the tensor is %T: convert with kn_cast()",
                             (int)v->dtype, dtype);
    if (mean && kni_is_bool(dtype))
        return kni_call_fail(call, KN_ERROR_DTYPE, "bool has no mean: convert with kn_cast()");
    index = kn_keep(index);
    if (mean) { /* halves are added in f32 and divided there */
        x = kni_widen(x);
        values = kni_widen(values);
    }
    if (args->exclude_self)
        x = assign(x, axis, index, neutral(mean ? kni_sum_dtype(dtype) : dtype, reduction), KN_UPDATE_ASSIGN);
    kn_tensor y = assign(x, axis, index, values, updates[reduction]);
    if (mean) y = mean_of(assign, y, axis, index, !args->exclude_self);
    return kni_call_end_as(call, y, dtype);
}

kn_tensor kn_scatter_reduce(kn_tensor x, int32_t axis, kn_tensor index, kn_tensor values,
                            const kn_scatter_reduce_args *args)
{
    return reduce_as("scatter_reduce", kn_scatter, x, axis, index, values, args);
}

kn_tensor kn_index_reduce(kn_tensor x, int32_t axis, kn_tensor indices, kn_tensor values,
                          const kn_scatter_reduce_args *args)
{
    return reduce_as("index_reduce", kn_index_assign, x, axis, indices, values, args);
}
