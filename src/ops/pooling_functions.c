/* The public functions of pooling. */
#include "core/axis_entry.h"
#include "ops/movement_rows.h"
#include "ops/pooling.h"
#include <kn/creation.h>
#include <kn/elementwise.h>
#include <kn/indexing.h>
#include <kn/shape.h>
#include <kn/spatial.h>

/* Entries of 0 stay: the shape rule knows what they stand for. */
static kni_pool_attributes from_args(int axes, kn_ints window, const kn_pool_args *args)
{
    static const kn_pool_args defaults = {{0}, {0}, {0}, {0}, false, false, 0};
    if (!args) args = &defaults;
    kni_pool_attributes a = {.axes = axes,
                             .window = window,
                             .stride = {axes, {0}},
                             .padding = {axes, {0}},
                             .padding_end = {axes, {0}},
                             .dilation = {axes, {0}},
                             .ceil_mode = args->ceil_mode,
                             .exclude_padding = args->exclude_padding,
                             .divisor = args->divisor};
    for (int i = 0; i < axes; i++) {
        a.stride.dims[i] = kni_axis_entry(args->stride, i);
        a.padding.dims[i] = kn_int_or(args->padding[i], 0);
        a.padding_end.dims[i] = kn_int_or(args->padding_end[i], a.padding.dims[i]);
        a.dilation.dims[i] = kni_axis_entry(args->dilation, i);
    }
    return a;
}

static kn_pooled max_pool(const char *name, kn_tensor x, int axes, kn_ints window, const kn_pool_args *args)
{
    kni_pool_attributes a = from_args(axes, window, args);
    kn_tensor out[2];
    kni_apply_many_as(name, &kni_op_max_pool, &x, 1, &a, out, 2);
    return (kn_pooled){out[0], out[1]};
}

static kn_tensor values_only(const char *name, kn_tensor x, int axes, kn_ints window,
                             const kn_pool_args *args)
{
    kni_pool_attributes a = from_args(axes, window, args);
    return kni_apply_as(name, &kni_op_max_pool_values, &x, 1, &a);
}

static kn_tensor avg_pool(const char *name, kn_tensor x, int axes, kn_ints window, const kn_pool_args *args)
{
    kni_pool_attributes a = from_args(axes, window, args);
    return kni_apply_as(name, &kni_op_avg_pool, &x, 1, &a);
}

kn_tensor kn_max_pool1d(kn_tensor x, kn_ints w, const kn_pool_args *args)
{
    return values_only("max_pool1d", x, 1, w, args);
}
kn_tensor kn_max_pool2d(kn_tensor x, kn_ints w, const kn_pool_args *args)
{
    return values_only("max_pool2d", x, 2, w, args);
}
kn_tensor kn_max_pool3d(kn_tensor x, kn_ints w, const kn_pool_args *args)
{
    return values_only("max_pool3d", x, 3, w, args);
}
kn_pooled kn_max_pool1d_with_indices(kn_tensor x, kn_ints w, const kn_pool_args *args)
{
    return max_pool("max_pool1d_with_indices", x, 1, w, args);
}
kn_pooled kn_max_pool2d_with_indices(kn_tensor x, kn_ints w, const kn_pool_args *args)
{
    return max_pool("max_pool2d_with_indices", x, 2, w, args);
}
kn_pooled kn_max_pool3d_with_indices(kn_tensor x, kn_ints w, const kn_pool_args *args)
{
    return max_pool("max_pool3d_with_indices", x, 3, w, args);
}
kn_tensor kn_avg_pool1d(kn_tensor x, kn_ints w, const kn_pool_args *args)
{
    return avg_pool("avg_pool1d", x, 1, w, args);
}
kn_tensor kn_avg_pool2d(kn_tensor x, kn_ints w, const kn_pool_args *args)
{
    return avg_pool("avg_pool2d", x, 2, w, args);
}
kn_tensor kn_avg_pool3d(kn_tensor x, kn_ints w, const kn_pool_args *args)
{
    return avg_pool("avg_pool3d", x, 3, w, args);
}

kn_tensor kn_max_unpool(kn_tensor values, kn_tensor indices, kn_ints size)
{
    kni_call call = kni_call_begin("max_unpool");
    values = kn_keep(values), indices = kn_keep(indices);
    const kni_type *y = kni_type_of(values), *at = kni_type_of(indices);
    if (!y || !at) return kni_call_end(call, kn_add(values, indices));
    int first = y->rank - size.rank;
    if (size.rank < 1 || size.rank > KNI_POOL_MAX_AXES || first < 1 || first > 2)
        return kni_call_fail(call, KN_ERROR_SHAPE, "%d sizes do not fit values %S", size.rank, y);
    if (!kni_same_dims(y, at))
        return kni_call_fail(call, KN_ERROR_SHAPE, "values %S and indices %S differ in shape", y, at);
    kn_shape planes = {first + 1, {0}}, flat = planes, result = kni_shape_from_type(y);
    for (int i = 0; i < first; i++) planes.dims[i] = flat.dims[i] = y->dims[i];
    for (int i = 0; i < size.rank; i++) {
        result.dims[first + i] = size.dims[i];
        if (size.dims[i] < 0)
            return kni_call_fail(call, KN_ERROR_ARGUMENT, "size is %D on spatial axis %d", size.dims[i], i);
    }
    planes.dims[first] = kni_count_dims(size.rank, size.dims);
    flat.dims[first] = kni_count_dims(size.rank, y->dims + first);
    if (planes.dims[first] < 0)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "the sizes have too many elements");
    kn_dtype dtype = (kn_dtype)y->dtype;
    values = kn_reshape(values, flat);
    indices = kn_reshape(indices, flat);
    kn_tensor filled = kn_scatter(kn_zeros(planes, dtype), first, indices, values, KN_UPDATE_ASSIGN);
    return kni_call_end(call, kn_reshape(filled, result));
}
