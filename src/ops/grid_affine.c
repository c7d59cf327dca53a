/* Grids of affine maps, for grid_sample. */
#include "ops/movement_rows.h"
#include "ops/wide.h"
#include <kn/contraction.h>
#include <kn/creation.h>
#include <kn/elementwise.h>
#include <kn/shape.h>
#include <kn/spatial.h>

/* The normalised coordinates of an axis: -1 .. 1 from corner to corner, or the middles of `size` equal parts. */
static kn_tensor coordinates(int64_t size, bool align_corners)
{
    double step = align_corners ? (size > 1 ? 2.0 / (double)(size - 1) : 0) : 2.0 / (double)size;
    double first = align_corners ? (size > 1 ? -1.0 : 0) : -1.0 + 1.0 / (double)size;
    return kn_add_scalar(kn_mul_scalar(kn_arange(0, (double)size, 1, KN_F64), step), first);
}

/* [points, axes + 1]: the coordinates of each point from the last axis to the first, then 1. */
static kn_tensor base_grid(const int64_t *sizes, int axes, bool align_corners, kn_dtype dtype)
{
    kn_tensor columns[4];
    kn_shape all = {axes, {0}};
    for (int i = 0; i < axes; i++) all.dims[i] = sizes[i];
    for (int k = 0; k < axes; k++) {
        kn_shape along = {axes, {1, 1, 1}};
        int axis = axes - 1 - k;
        along.dims[axis] = sizes[axis];
        columns[k] = kn_expand(kn_reshape(coordinates(sizes[axis], align_corners), along), all);
    }
    columns[axes] = kn_ones(all, KN_F64);
    kn_tensor grid = kn_cast(kn_stack(columns, axes + 1, -1), dtype);
    return kn_reshape(grid, KN_SHAPE(kni_count_dims(axes, sizes), axes + 1));
}

kn_tensor kn_affine_grid(kn_tensor theta, kn_shape size, bool align_corners)
{
    kni_call call = kni_call_begin("affine_grid");
    theta = kn_keep(theta);
    const kni_type *t = kni_type_of(theta);
    int axes = size.rank - 2;
    if (!t) return kni_call_end(call, kn_transpose(theta, -1, -2));
    if (axes < 2 || axes > 3)
        return kni_call_fail(call, KN_ERROR_ARGUMENT,
                             "size must be (n, c, h, w) or (n, c, d, h, w), not %d sizes", size.rank);
    if (!kn_dtype_is_float((kn_dtype)t->dtype))
        return kni_call_fail(call, KN_ERROR_DTYPE, "theta must be a float, not %T", (int)t->dtype);
    if (t->rank != 3 || t->dims[0] != size.dims[0] || t->dims[1] != axes || t->dims[2] != axes + 1)
        return kni_call_fail(call, KN_ERROR_SHAPE, "theta must be [%D, %d, %d]; got %S", size.dims[0], axes,
                             axes + 1, t);
    for (int i = 0; i < size.rank; i++)
        if (size.dims[i] < 1)
            return kni_call_fail(call, KN_ERROR_ARGUMENT, "size %d is %D; it must be positive", i,
                                 size.dims[i]);
    if (kni_count_dims(size.rank, size.dims) < 0)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "the sizes have too many elements");
    kn_shape result = {axes + 2, {size.dims[0]}};
    for (int i = 0; i < axes; i++) result.dims[1 + i] = size.dims[2 + i];
    result.dims[axes + 1] = axes;
    int dtype = kni_widen_all(&theta, 1);
    kn_tensor turned = kn_transpose(theta, 1, 2);
    kn_tensor base = base_grid(size.dims + 2, axes, align_corners, (kn_dtype)kni_sum_dtype(dtype));
    return kni_call_end_as(call, kn_reshape(kn_matmul(base, turned), result), dtype);
}
