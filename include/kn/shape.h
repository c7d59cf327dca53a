/* Shape and layout: reshape, permute, slice, join, pad. Views where the memory allows it.
   Axes may be negative (counted from the end). All functions take temporaries and poison on shapes that do
   not fit. */
#ifndef KN_SHAPE_H
#define KN_SHAPE_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the same elements under another shape */

/* y has x's elements in row-major order under `shape`. One size may be -1: it is inferred. 0 is a size. */
KN_API kn_tensor kn_reshape(kn_tensor x, kn_shape shape);
/* Axes first to last become one: kn_flatten(x, 0, -1) gives rank 1. */
KN_API kn_tensor kn_flatten(kn_tensor x, int32_t first, int32_t last);
/* Splits one axis into sizes, of which one may be -1. */
KN_API kn_tensor kn_unflatten(kn_tensor x, int32_t axis, kn_shape sizes);
/* Removes an axis of size 1; any other size leaves x as it is. */
KN_API kn_tensor kn_squeeze(kn_tensor x, int32_t axis);
/* The same for several axes; KN_AXES_ALL removes every axis of size 1. */
KN_API kn_tensor kn_squeeze_dims(kn_tensor x, kn_ints axes);
/* A new axis of size 1 at `axis` of the result (-1: last). */
KN_API kn_tensor kn_unsqueeze(kn_tensor x, int32_t axis);
/* The same for several axes, which count in the result. */
KN_API kn_tensor kn_unsqueeze_dims(kn_tensor x, kn_ints axes);
/* Axes of size 1 in front until the rank is at least `rank`. */
KN_API kn_tensor kn_atleast(kn_tensor x, int32_t rank);
/* Axes of size 1 (and missing leading axes) are repeated without a copy; -1 keeps a size. */
KN_API kn_tensor kn_expand(kn_tensor x, kn_shape shape);
/* kn_expand by another name; -1 keeps a size. */
KN_API kn_tensor kn_broadcast_to(kn_tensor x, kn_shape shape);

/* ---- order of axes and elements */

KN_API kn_tensor kn_transpose(kn_tensor x, int32_t a, int32_t b); /* swaps two axes */
KN_API kn_tensor kn_swap_dims(kn_tensor x, int32_t a, int32_t b); /* kn_transpose by another name */
KN_API kn_tensor kn_t(kn_tensor x);                               /* swaps the last two axes */
/* Axis i of the result is axis axes[i] of x. */
KN_API kn_tensor kn_permute(kn_tensor x, kn_ints axes);
/* Moves axes source[i] to destination[i]; the others keep their order. */
KN_API kn_tensor kn_movedim(kn_tensor x, kn_ints source, kn_ints destination);
/* Reverses the elements along axes (none named: all of them). */
KN_API kn_tensor kn_flip(kn_tensor x, kn_ints axes);
/* Turns by k quarter turns from axis a towards axis b. */
KN_API kn_tensor kn_rot90(kn_tensor x, int32_t k, int32_t a, int32_t b);
/* y[(i + shift) mod n] = x[i] along each axis; without axes, over the flattened elements. */
KN_API kn_tensor kn_roll(kn_tensor x, kn_ints shifts, kn_ints axes);
KN_API kn_tensor kn_roll_dim(kn_tensor x, int64_t shift, int32_t axis);

/* ---- parts */

/* As the end of a range: all the rest, in the direction of the step. */
#define KN_END INT64_MAX

/* start:stop:step as in Python: negative positions count from the end, what lies outside is cut; a negative step
   walks backwards. In a kn_range a step of 0, a field left out, means 1, so {0, KN_END} is a whole axis; kn_slice
   refuses it. */
typedef struct kn_range {
    int64_t start, stop, step;
} kn_range;

KN_API kn_tensor kn_slice(kn_tensor x, int32_t axis, int64_t start, int64_t stop, int64_t step);
/* One range for each of the first n axes. */
KN_API kn_tensor kn_slice_ranges(kn_tensor x, const kn_range *ranges, int32_t n);
/* length elements of an axis from start (which may be negative); outside is an error. */
KN_API kn_tensor kn_narrow(kn_tensor x, int32_t axis, int64_t start, int64_t length);
/* x[..., index, ...]: one position of an axis, which disappears. */
KN_API kn_tensor kn_select(kn_tensor x, int32_t axis, int64_t index);
/* Windows of `size` every `step` positions of an axis: y[..., w, ..., i] = x[..., w * step + i, ...]. */
KN_API kn_tensor kn_unfold_axis(kn_tensor x, int32_t axis, int64_t size, int64_t step);

/* Parts of `size` along an axis, the last one may be shorter. out has room for *n; *n becomes their number. */
KN_API kn_status kn_split(kn_tensor x, int64_t size, int32_t axis, kn_tensor *out, int32_t *n);
/* At most `chunks` parts of equal size, the last one may be shorter. out has room for *n >= chunks. */
KN_API kn_status kn_chunk(kn_tensor x, int64_t chunks, int32_t axis, kn_tensor *out, int32_t *n);
/* Parts of the given sizes, which must add up to the axis. */
KN_API kn_status kn_split_with_sizes(kn_tensor x, const int64_t *sizes, int32_t n, int32_t axis,
                                     kn_tensor *out);
/* `sections` parts along an axis, of which the first may be longer by one. out has room for *n; *n becomes `sections`. */
KN_API kn_status kn_tensor_split(kn_tensor x, int64_t sections, int32_t axis, kn_tensor *out, int32_t *n);
/* n + 1 parts along an axis, cut before each of n positions, which count as in kn_slice: x[:p0], x[p0:p1], ..., x[pn-1:]. */
KN_API kn_status kn_tensor_split_at(kn_tensor x, const int64_t *positions, int32_t n, int32_t axis,
                                    kn_tensor *out);
/* x[..., i, ...] for each position i of an axis, which disappears. out has room for *n; *n becomes their number. */
KN_API kn_status kn_unbind(kn_tensor x, int32_t axis, kn_tensor *out, int32_t *n);

/* ---- joining and repeating */

/* Joins n tensors along an axis that exists; dtypes promote, the other sizes must agree. */
KN_API kn_tensor kn_concat(const kn_tensor *tensors, int32_t n, int32_t axis);
/* Joins n tensors of one shape along a new axis. */
KN_API kn_tensor kn_stack(const kn_tensor *tensors, int32_t n, int32_t axis);
/* The whole tensor repeats[i] times along axis i; more repeats than axes add axes in front. */
KN_API kn_tensor kn_repeat(kn_tensor x, kn_ints repeats);
/* The same; fewer repeats than axes belong to the last axes. */
KN_API kn_tensor kn_tile(kn_tensor x, kn_ints repeats);
KN_API kn_tensor kn_repeat_dim(kn_tensor x, int32_t axis, int64_t times);
/* Each element `times` times in a row along an axis. PyTorch's order: times, then axis; kn_repeat_dim has the axis first. */
KN_API kn_tensor kn_repeat_interleave(kn_tensor x, int64_t times, int32_t axis);
/* Element i along an axis repeats[i] times in a row; repeats are integers, [size of the axis] or a single number. The result has
   `total` elements along the axis, the sum of repeats; -1 reads the sum. More than the sum is an error, of fewer the first are made. */
KN_API kn_tensor kn_repeat_interleave_tensor(kn_tensor x, kn_tensor repeats, int32_t axis, int64_t total);
/* n matrices along the diagonal of one, zeros elsewhere; dtypes promote, a tensor of rank 1 is a row, a number [1, 1]. */
KN_API kn_tensor kn_block_diag(const kn_tensor *tensors, int32_t n);
/* Joins n tensors along axis 1 (axis 0 where all have rank 0 or 1), along axis 0 as rows, along axis 2, and along axis 1 with
   tensors of rank 1 as columns. */
KN_API kn_tensor kn_hstack(const kn_tensor *tensors, int32_t n);
KN_API kn_tensor kn_vstack(const kn_tensor *tensors, int32_t n);
KN_API kn_tensor kn_dstack(const kn_tensor *tensors, int32_t n);
KN_API kn_tensor kn_column_stack(const kn_tensor *tensors, int32_t n);

/* ---- padding */

typedef enum kn_pad_mode {
    KN_PAD_CONSTANT = 0,
    KN_PAD_REFLECT = 1, /* mirrored without the edge: c b | a b c | b a */
    KN_PAD_EDGE = 2,    /* the edge again:            a a | a b c | c c */
    KN_PAD_WRAP = 3,    /* from the other end:        b c | a b c | a b */
    KN_PAD_ZEROS = 4    /* zeros, also where a mode of 0 means another default (kn_stft) */
} kn_pad_mode;

typedef struct kn_pad_args {
    kn_ints before, after; /* of the last axes, in their order; negative numbers cut (constant mode) */
    kn_pad_mode mode;
    double value; /* of KN_PAD_CONSTANT */
} kn_pad_args;
#define KN_PAD_ARGS_DEFAULTS KN_ZEROED
KN_API kn_tensor kn_pad(kn_tensor x, const kn_pad_args *args);

/* ---- grids */

typedef struct kn_meshgrid_args {
    bool cartesian; /* the first two axes of the results are swapped ("xy" indexing) */
    bool sparse;    /* sizes 1 where a tensor does not vary */
} kn_meshgrid_args;
#define KN_MESHGRID_ARGS_DEFAULTS KN_ZEROED
/* out[i][j0, j1, ...] = tensors[i][ji] for n tensors of rank 1. */
KN_API kn_status kn_meshgrid(const kn_tensor *tensors, int32_t n, const kn_meshgrid_args *args,
                             kn_tensor *out);
/* The grids of kn_meshgrid stacked along a new axis: 0 first, -1 last. */
KN_API kn_tensor kn_meshgrid_stack(const kn_tensor *tensors, int32_t n, const kn_meshgrid_args *args,
                                   int32_t axis);
/* All tuples with one element of each of 1 to 8 tensors of rank 1, in the order of their indices: [count, n]; of one tensor that
   tensor. */
KN_API kn_tensor kn_cartesian_prod(const kn_tensor *tensors, int32_t n);
/* All choices of `r` elements of x [n] in the order of their indices, [count, r]; each element at most once, or any number of times
   with_replacement. */
KN_API kn_tensor kn_combinations(kn_tensor x, int32_t r, bool with_replacement);

/* ---- old names */

KN_API kn_tensor kn_unfold(kn_tensor x, int32_t axis, int64_t size, int64_t step)
    KN_DEPRECATED("write kn_unfold_axis; patches of images are kn_unfold_patches");

#ifdef __cplusplus
}
#endif
#endif
