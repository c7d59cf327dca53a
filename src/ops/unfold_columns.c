/* Columns of patches over one to three axes with any padding (im2col, col2im: each is the gradient of the other). */
#include "core/axis_entry.h"
#include "ops/generated/window_kernels.h"
#include "ops/native.h"
#include "ops/pooling.h"
#include <kn/spatial.h>

extern const kni_native kni_cpu_im2col, kni_cpu_col2im;

/* Strides that are left out are 1 here. */
static kn_status fill_attributes(const kni_infer *c, kni_pool_attributes *a)
{
    if (a->stride.rank == 0) a->stride = KN_INTS(1);
    for (int i = 0; i < a->stride.rank; i++)
        if (a->stride.dims[i] == 0) a->stride.dims[i] = 1;
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    return s ? s : kni_fill_pool(c, a);
}

/* The number of patches along each axis of an image of `size`, and their product. */
static kn_status count_patches(const kni_infer *c, const kni_pool_attributes *a, const kn_dim *size,
                               kn_dim *patches)
{
    *patches = 1;
    for (int i = 0; i < a->axes; i++) {
        kn_dim n = kni_pool_windows(size[i], a, i);
        if (n == KNI_DIM_BAD)
            return kni_infer_fail(c, KN_ERROR_SHAPE,
                                  "the window %D with dilation %D does not fit the image's size %D with "
                                  "padding %D and %D on spatial axis %d",
                                  a->window.dims[i], a->dilation.dims[i], size[i], a->padding.dims[i],
                                  a->padding_end.dims[i], i);
        *patches = kni_dim_mul(*patches, n);
    }
    return KN_OK;
}

static int64_t window_elements(const kni_pool_attributes *a)
{
    int64_t n = 1;
    for (int i = 0; i < a->axes; i++)
        if (__builtin_mul_overflow(n, a->window.dims[i], &n)) return -1;
    return n;
}

static kn_status check_window(const kni_infer *c, const kni_pool_attributes *a, int64_t *elements)
{
    *elements = window_elements(a);
    return *elements < 0 || *elements > INT32_MAX
               ? kni_infer_fail(c, KN_ERROR_ARGUMENT, "the window has more than 2^31 - 1 elements")
               : KN_OK;
}

static kn_status infer_im2col(kni_infer *c)
{
    kni_pool_attributes *a = c->attributes;
    const kni_type *x = c->in[0];
    kni_type *y = c->out[0];
    kn_dim patches;
    int64_t elements;
    kn_status s = fill_attributes(c, a);
    if (s == KN_OK) s = check_window(c, a, &elements);
    if (s == KN_OK) s = kni_infer_rank(c, 0, (int)a->axes + 1, (int)a->axes + 2);
    int first = x->rank - (int)a->axes;
    if (s == KN_OK) s = count_patches(c, a, x->dims + first, &patches);
    if (s) return s;
    *y = *x;
    y->weak = 0;
    y->rank = (uint8_t)(first + 1);
    y->dims[first - 1] = kni_dim_mul(x->dims[first - 1], elements);
    y->dims[first] = patches;
    return KN_OK;
}

static kn_status infer_col2im(kni_infer *c)
{
    kni_pool_attributes *a = c->attributes;
    const kni_type *x = c->in[0];
    kni_type *y = c->out[0];
    kn_dim patches;
    int64_t elements;
    kn_status s = fill_attributes(c, a);
    if (s == KN_OK) s = check_window(c, a, &elements);
    if (s == KN_OK) s = kni_infer_rank(c, 0, 2, 3);
    if (s) return s;
    if (a->size.rank != a->axes)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "size has %d entries for %D axes", a->size.rank, a->axes);
    for (int i = 0; i < a->axes; i++)
        if (!kni_dim_is_size(a->size.dims[i]))
            return kni_infer_fail(c, KN_ERROR_ARGUMENT, "size is %D on spatial axis %d", a->size.dims[i], i);
    int first = x->rank - 1;
    s = count_patches(c, a, a->size.dims, &patches);
    if (s) return s;
    if (x->dims[first - 1] >= 0 && x->dims[first - 1] % elements != 0)
        return kni_infer_fail(c, KN_ERROR_SHAPE, "axis %d of columns %S is no multiple of the window's %D",
                              first - 1, x, elements);
    if (!kni_dims_agree(x->dims[first], patches))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "columns %S do not hold the %D patches of the image", x,
                              patches);
    *y = *x;
    y->weak = 0;
    y->rank = (uint8_t)(first + a->axes);
    y->dims[first - 1] = kni_dim_floor_div(x->dims[first - 1], elements);
    for (int i = 0; i < a->axes; i++) y->dims[first + i] = a->size.dims[i];
    return KN_OK;
}

kni_patch_plan kni_plan_patches(const kni_pool_attributes *a, const kni_type *image)
{
    kni_patch_plan p = {
        .sx = {1, 1, 1}, .sy = {1, 1, 1}, .window = {1, 1, 1}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}};
    for (int i = 0; i < a->axes; i++) {
        int to = KNI_POOL_MAX_AXES - (int)a->axes + i;
        p.sx[to] = image->dims[image->rank - a->axes + i];
        p.sy[to] = kni_pool_windows(p.sx[to], a, i);
        p.window[to] = a->window.dims[i];
        p.stride[to] = a->stride.dims[i];
        p.padding[to] = a->padding.dims[i];
        p.dilation[to] = a->dilation.dims[i];
    }
    return p;
}

static kn_status launch(kni_launch *l, const kni_kernel *kernel, const kni_type *image)
{
    kni_patch_plan p = kni_plan_patches(l->attributes, image);
    const int64_t *lists[] = {p.sx, p.sy, p.window, p.stride, p.padding, p.dilation};
    l->kernel = kernel;
    l->items = kni_count(l->out[0]);
    for (int i = 0; i < KNI_COUNT(lists); i++) kni_launch_ints(l, lists[i], KNI_POOL_MAX_AXES);
    return KN_OK;
}

static kn_status launch_im2col(kni_launch *l) { return launch(l, &kni_kernel_im2col, l->in[0]); }
static kn_status launch_col2im(kni_launch *l) { return launch(l, &kni_kernel_col2im, l->out[0]); }

OP(im2col, .doc = "columns[n, (c, k), p] = x[n, c, p stride + k dilation - padding], 0 outside, 1 to 3 axes",
   .min_in = 1, .max_in = 1, .n_out = 1, .kind = KNI_WINDOW, .dtypes = KNI_NUMBERS, .schema = kni_pool_schema,
   .attribute_bytes = sizeof(kni_pool_attributes), .infer = infer_im2col, .launch = launch_im2col,
   .native = &kni_cpu_im2col)

OP(col2im, .doc = "y[n, c, p stride + k dilation - padding] += columns[n, (c, k), p], 1 to 3 axes",
   .min_in = 1, .max_in = 1, .n_out = 1, .kind = KNI_WINDOW, .dtypes = KNI_NUMBERS, .tolerance = {4, 1},
   .schema = kni_pool_schema, .attribute_bytes = sizeof(kni_pool_attributes), .infer = infer_col2im,
   .launch = launch_col2im, .native = &kni_cpu_col2im)

GRADIENT(im2col)
{
    kni_pool_attributes a = *(const kni_pool_attributes *)v->attributes;
    const kni_type *x = &v->in_types[0];
    a.size.rank = (int32_t)a.axes;
    for (int i = 0; i < a.axes; i++) a.size.dims[i] = x->dims[x->rank - a.axes + i];
    kni_vjp_set(v, 0, kni_apply(&kni_op_col2im, v->dy, 1, &a));
    return KN_OK;
}

GRADIENT(col2im)
{
    kni_vjp_set(v, 0, kni_apply(&kni_op_im2col, v->dy, 1, v->attributes));
    return KN_OK;
}

static kni_pool_attributes from_args(kn_ints window, const kn_im2col_args *args)
{
    static const kn_im2col_args defaults = KN_ZEROED;
    int n = window.rank;
    kni_pool_attributes a = {.axes = n, .window = window};
    if (!args) args = &defaults;
    if (n < 1 || n > KNI_POOL_MAX_AXES) return a; /* the rule says what is wrong */
    a.stride.rank = a.padding.rank = a.padding_end.rank = a.dilation.rank = n;
    for (int i = 0; i < n; i++) {
        a.stride.dims[i] = kn_int_or(kni_axis_entry(args->stride, i), 1);
        a.padding.dims[i] = kn_int_or(args->padding[i], 0);
        a.padding_end.dims[i] = kn_int_or(args->padding_end[i], a.padding.dims[i]);
        a.dilation.dims[i] = kn_int_or(kni_axis_entry(args->dilation, i), 1);
    }
    return a;
}

kn_tensor kn_im2col(kn_tensor x, kn_ints window, const kn_im2col_args *args)
{
    kni_pool_attributes a = from_args(window, args);
    return kni_apply(&kni_op_im2col, &x, 1, &a);
}

kn_tensor kn_col2im(kn_tensor columns, kn_ints size, kn_ints window, const kn_im2col_args *args)
{
    kni_pool_attributes a = from_args(window, args);
    a.size = size;
    return kni_apply(&kni_op_col2im, &columns, 1, &a);
}
