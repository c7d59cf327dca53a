/* Columns of image patches (unfold4d, fold4d: each is the gradient of the other) and pixel shuffles. */
#include "core/axis_entry.h"
#include "ops/generated/window_kernels.h"
#include "ops/movement_rows.h"
#include "ops/native.h"
#include "ops/pooling.h"
#include <kn/shape.h>
#include <kn/spatial.h>

enum { AXES = 2 };

extern const kni_native kni_cpu_unfold4d, kni_cpu_fold4d;

static const kn_attribute patch_schema[] = {
    KNI_ATTR(kni_patch_attributes, window, KNI_ATTR_INTS, KNI_STATIC),
    KNI_ATTR(kni_patch_attributes, stride, KNI_ATTR_INTS, KNI_STATIC),
    KNI_ATTR(kni_patch_attributes, padding, KNI_ATTR_INTS, KNI_STATIC),
    KNI_ATTR(kni_patch_attributes, dilation, KNI_ATTR_INTS, KNI_STATIC),
    KNI_ATTR(kni_patch_attributes, size, KNI_ATTR_INTS, KNI_STATIC),
    {0}};

static kn_status fill_attributes(const kni_infer *c, kni_patch_attributes *a)
{
    if (a->window.rank == 0) return kni_infer_fail(c, KN_ERROR_ARGUMENT, "the window has no sizes");
    kn_status s = kni_infer_pool_list(c, "window", &a->window, AXES, 1, 1);
    if (s == KN_OK) s = kni_infer_pool_list(c, "stride", &a->stride, AXES, 1, 1);
    if (s == KN_OK) s = kni_infer_pool_list(c, "padding", &a->padding, AXES, 0, 0);
    return s ? s : kni_infer_pool_list(c, "dilation", &a->dilation, AXES, 1, 1);
}

/* The number of patches along each axis of an image of `size`. */
static kn_status count_patches(const kni_infer *c, const kni_patch_attributes *a, const kn_dim *size,
                               kn_dim *patches)
{
    kni_pool_attributes windows = {.window = a->window,
                                   .stride = a->stride,
                                   .padding = a->padding,
                                   .padding_end = a->padding,
                                   .dilation = a->dilation};
    for (int i = 0; i < AXES; i++) {
        patches[i] = kni_pool_windows(size[i], &windows, i);
        if (patches[i] == KNI_DIM_BAD)
            return kni_infer_fail(c, KN_ERROR_SHAPE,
                                  "the window %D with dilation %D does not fit the image's size %D with "
                                  "padding %D on spatial axis %d",
                                  a->window.dims[i], a->dilation.dims[i], size[i], a->padding.dims[i], i);
    }
    return KN_OK;
}

static kn_status infer_unfold4d(kni_infer *c)
{
    kni_patch_attributes *a = c->attributes;
    const kni_type *x = c->in[0];
    kni_type *y = c->out[0];
    kn_dim patches[AXES];
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    if (s == KN_OK) s = kni_infer_rank(c, 0, AXES + 1, AXES + 2);
    if (s == KN_OK) s = fill_attributes(c, a);
    int first = x->rank - AXES;
    if (s == KN_OK) s = count_patches(c, a, x->dims + first, patches);
    if (s) return s;
    *y = *x;
    y->weak = 0;
    y->rank = (uint8_t)(first + 1);
    y->dims[first - 1] = kni_dim_mul(x->dims[first - 1], a->window.dims[0] * a->window.dims[1]);
    y->dims[first] = kni_dim_mul(patches[0], patches[1]);
    return KN_OK;
}

static kn_status infer_fold4d(kni_infer *c)
{
    kni_patch_attributes *a = c->attributes;
    const kni_type *x = c->in[0];
    kni_type *y = c->out[0];
    kn_dim patches[AXES];
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    if (s == KN_OK) s = kni_infer_rank(c, 0, 2, 3);
    if (s == KN_OK) s = fill_attributes(c, a);
    if (s) return s;
    if (a->size.rank != AXES)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "size has %d entries for 2 axes", a->size.rank);
    int first = x->rank - 1;
    int64_t elements = a->window.dims[0] * a->window.dims[1];
    s = count_patches(c, a, a->size.dims, patches);
    if (s) return s;
    if (x->dims[first - 1] >= 0 && x->dims[first - 1] % elements != 0)
        return kni_infer_fail(c, KN_ERROR_SHAPE, "axis %d of columns %S is no multiple of the window's %D",
                              first - 1, x, elements);
    if (!kni_dims_agree(x->dims[first], kni_dim_mul(patches[0], patches[1])))
        return kni_infer_fail(c, KN_ERROR_SHAPE,
                              "columns %S do not hold the %D x %D patches of an image of size %D x %D", x,
                              patches[0], patches[1], a->size.dims[0], a->size.dims[1]);
    *y = *x;
    y->weak = 0;
    y->rank = (uint8_t)(first + AXES);
    y->dims[first - 1] = kni_dim_floor_div(x->dims[first - 1], elements);
    for (int i = 0; i < AXES; i++) y->dims[first + i] = a->size.dims[i];
    return KN_OK;
}

static kn_status launch(kni_launch *l, const kni_kernel *kernel, const kni_type *image)
{
    const kni_patch_attributes *a = l->attributes;
    l->kernel = kernel;
    l->items = kni_count(l->out[0]);
    kni_launch_ints(l, image->dims + image->rank - AXES, AXES);
    for (int i = 0; i < AXES; i++) {
        int64_t span = (a->window.dims[i] - 1) * a->dilation.dims[i] + 1;
        int64_t room = image->dims[image->rank - AXES + i] + 2 * a->padding.dims[i] - span;
        kni_launch_int(l, room / a->stride.dims[i] + 1);
    }
    kni_launch_ints(l, a->window.dims, AXES);
    kni_launch_ints(l, a->stride.dims, AXES);
    kni_launch_ints(l, a->padding.dims, AXES);
    kni_launch_ints(l, a->dilation.dims, AXES);
    return KN_OK;
}

static kn_status launch_unfold4d(kni_launch *l) { return launch(l, &kni_kernel_unfold4d, l->in[0]); }
static kn_status launch_fold4d(kni_launch *l) { return launch(l, &kni_kernel_fold4d, l->out[0]); }

OP(unfold4d, .doc = "columns[n, (c, k), p] = x[n, c, p stride + k dilation - padding], 0 outside",
   .min_in = 1, .max_in = 1, .n_out = 1, .kind = KNI_WINDOW, .dtypes = KNI_NUMBERS, .schema = patch_schema,
   .attribute_bytes = sizeof(kni_patch_attributes), .infer = infer_unfold4d, .launch = launch_unfold4d,
   .native = &kni_cpu_unfold4d)

OP(fold4d, .doc = "y[n, c, p stride + k dilation - padding] += columns[n, (c, k), p]", .min_in = 1,
   .max_in = 1, .n_out = 1, .kind = KNI_WINDOW, .dtypes = KNI_NUMBERS, .tolerance = {4, 1},
   .schema = patch_schema, .attribute_bytes = sizeof(kni_patch_attributes), .infer = infer_fold4d,
   .launch = launch_fold4d, .native = &kni_cpu_fold4d)

GRADIENT(unfold4d)
{
    kni_patch_attributes a = *(const kni_patch_attributes *)v->attributes;
    const kni_type *x = &v->in_types[0];
    a.size.rank = AXES;
    for (int i = 0; i < AXES; i++) a.size.dims[i] = x->dims[x->rank - AXES + i];
    kni_vjp_set(v, 0, kni_apply(&kni_op_fold4d, v->dy, 1, &a));
    return KN_OK;
}

GRADIENT(fold4d)
{
    kni_vjp_set(v, 0, kni_apply(&kni_op_unfold4d, v->dy, 1, v->attributes));
    return KN_OK;
}

static kni_patch_attributes from_args(kn_ints window, const kn_unfold_args *args)
{
    kni_patch_attributes a = {.window = window};
    if (!args) return a;
    a.stride.rank = a.padding.rank = a.dilation.rank = AXES;
    for (int i = 0; i < AXES; i++) {
        a.stride.dims[i] = kn_int_or(kni_axis_entry(args->stride, i), 1);
        a.padding.dims[i] = kn_int_or(args->padding[i], 0);
        a.dilation.dims[i] = kn_int_or(kni_axis_entry(args->dilation, i), 1);
    }
    return a;
}

kn_tensor kn_unfold_patches(kn_tensor x, kn_ints window, const kn_unfold_args *args)
{
    kni_patch_attributes a = from_args(window, args);
    return kni_apply_as("unfold_patches", &kni_op_unfold4d, &x, 1, &a);
}

kn_tensor kn_fold_patches(kn_tensor columns, kn_ints size, kn_ints window, const kn_unfold_args *args)
{
    kni_patch_attributes a = from_args(window, args);
    a.size = size;
    if (size.rank == 1) a.size = KN_INTS(size.dims[0], size.dims[0]);
    return kni_apply_as("fold_patches", &kni_op_fold4d, &columns, 1, &a);
}
