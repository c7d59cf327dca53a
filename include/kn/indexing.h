/* Reading and writing by index, mask and slice. Assignments return the new value; where an index occurs
   twice the updates happen in the order of the indices, on every device: of assigned values the last stays, and the
   others have gradient 0. An index outside its axis poisons the result:
   "index 7 is out of range for axis 1 of size 5". All functions take (x, axis, index, ...). kn_index_take and kn_gather_along count
   negative indices from the end; kn_gather, kn_scatter, kn_index_select and kn_index_assign reject them, as PyTorch does. In these
   four a tensor of rank 0 counts as one element along axis 0. */
#ifndef KN_INDEXING_H
#define KN_INDEXING_H

#include <kn/base.h>
#include <kn/shape.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an assignment does with the old value o and the new value v. */
typedef enum kn_update {
    KN_UPDATE_ASSIGN = 0, /* v */
    KN_UPDATE_ADD = 1,    /* o + v */
    KN_UPDATE_MUL = 2,    /* o * v */
    KN_UPDATE_MIN = 3,    /* min(o, v), NaN wins; gradients are shared evenly among equals */
    KN_UPDATE_MAX = 4     /* max(o, v), likewise */
} kn_update;

/* ---- along an axis */

/* y[..., j..., ...] = x[..., indices[j...], ...]: the axis is replaced by the axes of indices (any rank). */
KN_API kn_tensor kn_index_take(kn_tensor x, int32_t axis, kn_tensor indices);
/* The same for indices of rank 1 that are not negative. */
KN_API kn_tensor kn_index_select(kn_tensor x, int32_t axis, kn_tensor indices);
/* x, with x[..., indices[j...], ...] updated by values[..., j..., ...]. */
KN_API kn_tensor kn_index_assign(kn_tensor x, int32_t axis, kn_tensor indices, kn_tensor values,
                                 kn_update update);
/* y[i, j, k] = x[i, index[i, j, k], k] (axis 1). index has x's rank and no larger sizes off the axis. */
KN_API kn_tensor kn_gather(kn_tensor x, int32_t axis, kn_tensor index);
/* x, with x[i, index[i, j, k], k] updated by values[i, j, k] (axis 1). values may be larger than index or a
   single number. */
KN_API kn_tensor kn_scatter(kn_tensor x, int32_t axis, kn_tensor index, kn_tensor values, kn_update update);
/* kn_gather with broadcasting off the axis and negative indices. */
KN_API kn_tensor kn_gather_along(kn_tensor x, int32_t axis, kn_tensor index);
/* x, with the elements at row-major positions `index` updated. */
KN_API kn_tensor kn_put(kn_tensor x, kn_tensor index, kn_tensor values, kn_update update);

/* The elements of x at row-major positions `index`, in its shape; negative ones count from the end. */
KN_API kn_tensor kn_take_flat(kn_tensor x, kn_tensor index);
/* x, with `value` at the positions `indices` (rank 0 or 1) of an axis. */
KN_API kn_tensor kn_index_fill(kn_tensor x, int32_t axis, kn_tensor indices, double value);
/* What becomes of all values that meet in one element, together with the element itself unless exclude_self. */
typedef enum kn_scatter_reduction {
    KN_SCATTER_SUM = 0,
    KN_SCATTER_PROD = 1,
    KN_SCATTER_MEAN = 2, /* of integers rounded down; not for bool */
    KN_SCATTER_MIN = 3,
    KN_SCATTER_MAX = 4
} kn_scatter_reduction;
typedef struct kn_scatter_reduce_args {
    kn_scatter_reduction reduction;
    bool exclude_self; /* elements that no value meets keep their value all the same */
} kn_scatter_reduce_args;
#define KN_SCATTER_REDUCE_ARGS_DEFAULTS KN_ZEROED
/* x, with x[i, index[i, j, k], k] reduced with all values[i, j, k] that meet there (axis 1). args NULL for a sum with x. */
KN_API kn_tensor kn_scatter_reduce(kn_tensor x, int32_t axis, kn_tensor index, kn_tensor values,
                                   const kn_scatter_reduce_args *args);
/* The same for whole slices: x[..., indices[j], ...] is reduced with values[..., j, ...]. */
KN_API kn_tensor kn_index_reduce(kn_tensor x, int32_t axis, kn_tensor indices, kn_tensor values,
                                 const kn_scatter_reduce_args *args);

/* ---- by several index tensors, as x[i, :, j] in Python */

/* y = x[indices[0], indices[1], ...] for n tensors of integers, which broadcast and count negative indices from the end. KN_NONE
   takes a whole axis. A bool mask of rank r indexes r axes; the call then waits for the device to count its true elements. The axes of
   the indices replace those they index where these are side by side; otherwise they come first. */
KN_API kn_tensor kn_index(kn_tensor x, const kn_tensor *indices, int32_t n);
/* x, with kn_index(x, indices, n) updated by values, which broadcast to it. */
KN_API kn_tensor kn_index_put(kn_tensor x, const kn_tensor *indices, int32_t n, kn_tensor values,
                              kn_update update);
/* The index tuples of row-major positions in a tensor of `shape`: one i64 tensor in the shape of index for each of its axes. */
KN_API kn_status kn_unravel_index(kn_tensor index, kn_shape shape, kn_tensor *out);

/* ---- by tuples of indices in the last axis of `indices` */

/* y[j..., ...] = x[indices[j..., 0], indices[j..., 1], ..., ...]; negative indices count from the end. */
KN_API kn_tensor kn_gather_nd(kn_tensor x, kn_tensor indices);
/* The same for each element of a batch: y[b..., j..., ...] = x[b..., indices[b..., j..., 0], ..., ...] with batch_axes axes b. */
KN_API kn_tensor kn_gather_nd_batch(kn_tensor x, kn_tensor indices, int32_t batch_axes);
/* x, with the parts that kn_gather_nd reads updated by values [j..., ...]. */
KN_API kn_tensor kn_scatter_nd(kn_tensor x, kn_tensor indices, kn_tensor values, kn_update update);

/* ---- by slice */

/* x, with kn_slice_ranges(x, ranges, n) replaced by values, which broadcast to it. */
KN_API kn_tensor kn_slice_assign(kn_tensor x, const kn_range *ranges, int32_t n, kn_tensor values);
/* Parts of an axis at a position that is data, i64 or another integer: of shape [1], or with one for each index of the first axis (axis
   above 0 then). A position is moved to where all of the part lies inside. A plan of fusion(...) is the same wherever it is, so that
   text is generated from one recording: make positions on the device (kn_arange(t, t + 1, 1, KN_I64)).
   y[..., i, ...] = x[..., position + i, ...], size elements of the axis, a copy. */
KN_API kn_tensor kn_slice_at(kn_tensor x, int32_t axis, kn_tensor position, int64_t size);
/* x with x[..., position + i, ...] = values[..., i, ...]; written in place where nobody else needs x. */
KN_API kn_tensor kn_update_at(kn_tensor x, int32_t axis, kn_tensor position, kn_tensor values);
KN_API kn_tensor kn_slice_fill(kn_tensor x, const kn_range *ranges, int32_t n, double value);

/* ---- by mask */

/* values where mask, else x; all broadcast. */
KN_API kn_tensor kn_mask_where(kn_tensor x, kn_tensor mask, kn_tensor values);
/* value where mask, else x. */
KN_API kn_tensor kn_mask_fill(kn_tensor x, kn_tensor mask, double value);
/* x, with its elements where mask is true replaced by those of values, one after the other in row-major order; x and
   the mask broadcast, values have the dtype of x. More places than values are an error. */
KN_API kn_tensor kn_mask_scatter(kn_tensor x, kn_tensor mask, kn_tensor values);
/* The elements of x where mask is true, in row-major order, rank 1; x and mask broadcast. Reads the count. */
KN_API kn_tensor kn_mask_select(kn_tensor x, kn_tensor mask);
typedef struct kn_mask_select_result {
    kn_tensor values; /* [capacity], zeros behind the count */
    kn_tensor count;  /* how many are true, which may be more than fit; i64, rank 0 */
} kn_mask_select_result;
/* The same without reading the count: the first `capacity` of them. */
KN_API kn_mask_select_result kn_mask_select_bounded(kn_tensor x, kn_tensor mask, int64_t capacity);

/* The index tuples of the elements that are not zero, in row-major order: i64 [count, rank]. */
KN_API kn_tensor kn_nonzero(kn_tensor x);
/* kn_nonzero by another name. */
KN_API kn_tensor kn_argwhere(kn_tensor x);
/* The same as one i64 tensor [count] for each axis; out has room for as many as x has axes. */
KN_API kn_status kn_nonzero_axes(kn_tensor x, kn_tensor *out);
typedef struct kn_nonzero_result {
    kn_tensor indices; /* [capacity, rank], zeros behind the count */
    kn_tensor count;   /* how many there are, which may be more than fit; i64, rank 0 */
} kn_nonzero_result;
KN_API kn_nonzero_result kn_nonzero_bounded(kn_tensor x, int64_t capacity);

/* ---- old names */

KN_API kn_tensor kn_take(kn_tensor x, kn_tensor indices, int32_t axis)
    KN_DEPRECATED("write kn_index_take(x, axis, indices)");
KN_API kn_tensor kn_take_along(kn_tensor x, kn_tensor index, int32_t axis)
    KN_DEPRECATED("write kn_gather_along(x, axis, index)");
KN_API kn_tensor kn_select_assign(kn_tensor x, int32_t axis, kn_tensor indices, kn_tensor values,
                                  kn_update update) KN_DEPRECATED("write kn_index_assign");

#ifdef __cplusplus
}
#endif
#endif
