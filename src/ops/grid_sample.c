/* Sampling of images at grid points. The row and its transpose take the order of derivative of the weights along
   each axis, so that gradients of any order are made of the same two rows. */
#include "ops/grid_sample.h"
#include "ops/generated/spatial_kernels.h"
#include "ops/movement_rows.h"
#include "ops/native.h"
#include "ops/pooling.h"
#include <kn/creation.h>
#include <kn/elementwise.h>
#include <kn/reduce.h>
#include <kn/shape.h>
#include <kn/spatial.h>

enum { NEAREST, LINEAR, CUBIC, HIGHEST_ORDER = 64 };

extern const kni_native kni_cpu_grid_sample, kni_cpu_grid_sample_grad;

static const kn_attribute schema[] = {
    KNI_ATTR(kni_sample_attributes, mode, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_sample_attributes, padding, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_sample_attributes, align_corners, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_sample_attributes, derivative, KNI_ATTR_INTS, KNI_STATIC),
    KNI_ATTR(kni_sample_attributes, size, KNI_ATTR_INTS, KNI_STATIC),
    {0}};

/* The rules of both rows; values is x, or dy in the transpose. */
static kn_status check_operands(kni_infer *c)
{
    kni_sample_attributes *a = c->attributes;
    const kni_type *values = c->in[0], *grid = c->in[1];
    int axes = values->rank - 2;
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    if (s) return s;
    if (grid->dtype != values->dtype)
        return kni_infer_fail(c, KN_ERROR_DTYPE, "x is %T and the grid %T: convert one with kn_cast()",
                              (int)values->dtype, (int)grid->dtype);
    if (axes < 2 || axes > 3 || grid->rank != values->rank)
        return kni_infer_fail(c, KN_ERROR_SHAPE,
                              "x must be [n, c, h, w] with grid [n, oh, ow, 2], or [n, c, d, h, w] with "
                              "[n, od, oh, ow, 3]; got %S and %S",
                              values, grid);
    if (!kni_dims_agree(grid->dims[0], values->dims[0]) || !kni_dims_agree(grid->dims[axes + 1], axes))
        return kni_infer_fail(c, KN_ERROR_SHAPE,
                              "the grid %S must have the batch of x %S and %d coordinates for each point",
                              grid, values, axes);
    if (a->mode < 0 || a->mode > CUBIC || a->padding < 0 || a->padding > KN_SAMPLE_REFLECTION)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "there is no mode %D with padding %D", a->mode,
                              a->padding);
    s = kni_infer_pool_list(c, "derivative", &a->derivative, axes, 0, 0);
    for (int i = 0; i < axes && s == KN_OK; i++)
        if (a->derivative.dims[i] > HIGHEST_ORDER)
            return kni_infer_fail(c, KN_ERROR_ARGUMENT, "a derivative of order %D", a->derivative.dims[i]);
    return s;
}

static kn_status check_size(const kni_infer *c, const kni_type *x)
{
    for (int i = 2; i < x->rank; i++)
        if (x->dims[i] == 0)
            return kni_infer_fail(c, KN_ERROR_SHAPE, "axis %d of x %S is empty: there is nothing to sample",
                                  i, x);
    return KN_OK;
}

static kn_status infer_grid_sample(kni_infer *c)
{
    kn_status s = check_operands(c);
    if (s == KN_OK) s = check_size(c, c->in[0]);
    if (s) return s;
    *c->out[0] = *c->in[0];
    c->out[0]->weak = 0;
    for (int i = 2; i < c->in[0]->rank; i++) c->out[0]->dims[i] = c->in[1]->dims[i - 1];
    return KN_OK;
}

static kn_status infer_grid_sample_grad(kni_infer *c)
{
    const kni_sample_attributes *a = c->attributes;
    const kni_type *dy = c->in[0];
    kn_status s = check_operands(c);
    if (s) return s;
    if (a->size.rank != dy->rank - 2)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "size has %d entries for dy %S", a->size.rank, dy);
    *c->out[0] = *dy;
    c->out[0]->weak = 0;
    for (int i = 2; i < dy->rank; i++) {
        c->out[0]->dims[i] = a->size.dims[i - 2];
        if (!kni_dims_agree(dy->dims[i], c->in[1]->dims[i - 1]))
            return kni_infer_fail(c, KN_ERROR_SHAPE, "dy %S does not fit the grid %S", dy, c->in[1]);
    }
    return check_size(c, c->out[0]);
}

static kn_status launch(kni_launch *l, const kni_kernel *kernel, const kni_type *x, const kni_type *y)
{
    const kni_sample_attributes *a = l->attributes;
    int axes = x->rank - 2;
    int64_t sizes[3];
    l->kernel = kernel;
    kni_launch_int(l, a->mode);
    kni_launch_int(l, a->padding);
    kni_launch_int(l, a->align_corners != 0);
    kni_launch_int(l, axes);
    kni_launch_int(l, x->dims[1]);
    kni_pool_sizes(x, axes, sizes);
    kni_launch_ints(l, sizes, 3);
    kni_pool_sizes(y, axes, sizes);
    kni_launch_ints(l, sizes, 3);
    kni_launch_pool_list(l, &a->derivative, 0);
    return KN_OK;
}

static kn_status launch_grid_sample(kni_launch *l)
{
    l->items = kni_count(l->out[0]);
    return launch(l, &kni_kernel_grid_sample, l->in[0], l->out[0]);
}

static kn_status launch_grid_sample_grad(kni_launch *l)
{
    l->items = kni_count_dims(2, l->out[0]->dims);
    return launch(l, &kni_kernel_grid_sample_grad, l->out[0], l->in[0]);
}

OP(grid_sample, .doc = "y[n, c, p] = sum over the neighbours i of grid[n, p] of weight(i) x[n, c, i]",
   .min_in = 2, .max_in = 2, .n_out = 1, .kind = KNI_WINDOW, .layout = KNI_LAYOUT_KEEPS, .follows = 1,
   .dtypes = KNI_FLOATS, .tolerance = {16, 1}, .schema = schema,
   .attribute_bytes = sizeof(kni_sample_attributes), .infer = infer_grid_sample, .launch = launch_grid_sample,
   .native = &kni_cpu_grid_sample)

OP(grid_sample_grad, .doc = "dx[n, c, i] += weight(i) dy[n, c, p]: the transpose of grid_sample", .min_in = 2,
   .max_in = 2, .n_out = 1, .kind = KNI_WINDOW, .layout = KNI_LAYOUT_KEEPS, .follows = 1,
   .dtypes = KNI_FLOATS, .tolerance = {16, 1}, .schema = schema,
   .attribute_bytes = sizeof(kni_sample_attributes), .infer = infer_grid_sample_grad,
   .launch = launch_grid_sample_grad, .native = &kni_cpu_grid_sample_grad)

static kn_tensor sample(kn_tensor x, kn_tensor grid, const kni_sample_attributes *a)
{
    kn_tensor in[2] = {x, grid};
    return kni_apply(&kni_op_grid_sample, in, 2, a);
}

/* The gradient for the grid of the sum of values times the sampled image: coordinate k belongs to the spatial axis
   axes - 1 - k and is the sum over channels of values times the image sampled with one derivative more there. */
static kn_tensor grid_gradient(kn_tensor image, kn_tensor values, kn_tensor grid, const kni_type *grid_type,
                               kni_sample_attributes a)
{
    int axes = grid_type->rank - 2;
    if (a.mode == NEAREST) return kn_zeros(kni_shape_from_type(grid_type), (kn_dtype)grid_type->dtype);
    kn_tensor parts[3];
    for (int k = 0; k < axes; k++) {
        kni_sample_attributes along = a;
        along.derivative.dims[axes - 1 - k]++;
        parts[k] = kn_sum(kn_mul(values, sample(image, grid, &along)), KN_AXES(1), false);
    }
    return kn_stack(parts, axes, -1);
}

GRADIENT(grid_sample)
{
    kni_sample_attributes a = *(const kni_sample_attributes *)v->attributes;
    const kni_type *x = &v->in_types[0];
    kn_tensor grid = kni_vjp_in(v, 1);
    if (kni_vjp_needs(v, 1))
        kni_vjp_set(v, 1, grid_gradient(kni_vjp_in(v, 0), v->dy[0], grid, &v->in_types[1], a));
    if (!kni_vjp_needs(v, 0)) return KN_OK;
    kn_tensor in[2] = {v->dy[0], grid};
    a.size.rank = x->rank - 2;
    for (int i = 0; i < a.size.rank; i++) a.size.dims[i] = x->dims[2 + i];
    kni_vjp_set(v, 0, kni_apply(&kni_op_grid_sample_grad, in, 2, &a));
    return KN_OK;
}

GRADIENT(grid_sample_grad)
{
    const kni_sample_attributes *a = v->attributes;
    kn_tensor grid = kni_vjp_in(v, 1);
    if (kni_vjp_needs(v, 0)) kni_vjp_set(v, 0, sample(v->dy[0], grid, a));
    if (kni_vjp_needs(v, 1))
        kni_vjp_set(v, 1, grid_gradient(v->dy[0], kni_vjp_in(v, 0), grid, &v->in_types[1], *a));
    return KN_OK;
}

kn_tensor kn_grid_sample(kn_tensor x, kn_tensor grid, const kn_grid_sample_args *args)
{
    static const kn_grid_sample_args defaults = {KN_SAMPLE_BILINEAR, KN_SAMPLE_ZEROS, false};
    static const int64_t modes[] = {
        [KN_SAMPLE_BILINEAR] = LINEAR, [KN_SAMPLE_NEAREST] = NEAREST, [KN_SAMPLE_BICUBIC] = CUBIC};
    if (!args) args = &defaults;
    if ((unsigned)args->mode >= (unsigned)KNI_COUNT(modes))
        return kni_fail_tensor("grid_sample", KN_ERROR_ARGUMENT, "there is no mode %d", (int)args->mode);
    kni_sample_attributes a = {
        .mode = modes[args->mode], .padding = args->padding, .align_corners = args->align_corners};
    return sample(x, grid, &a);
}
