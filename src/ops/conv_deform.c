/* Deformable convolution: the rows that sample at moved places, and the public function, which is sampling followed by
   a matrix product. */
#include "ops/conv_deform.h"
#include "core/axis_entry.h"
#include "ops/conv.h"
#include "ops/generated/convolution_kernels.h"
#include "ops/infer.h"
#include "ops/matmul_operands.h"
#include "ops/native.h"

extern const kni_native kni_cpu_deform_sample_grad;

static const kn_attribute deform_schema[] = {
    KNI_ATTR(kni_deform_attributes, stride, KNI_ATTR_INTS, KNI_STATIC),
    KNI_ATTR(kni_deform_attributes, padding, KNI_ATTR_INTS, KNI_STATIC),
    KNI_ATTR(kni_deform_attributes, dilation, KNI_ATTR_INTS, KNI_STATIC),
    KNI_ATTR(kni_deform_attributes, kernel, KNI_ATTR_INTS, KNI_STATIC),
    {0}};

/* ---- shape rules */

static kn_status check_pair(const kni_infer *c, kn_ints *list, int64_t fill, int64_t lowest, const char *what)
{
    if (list->rank == 0) *list = KN_INTS(fill, fill);
    if (list->rank != 2)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%s has %d numbers, not 2", what, list->rank);
    for (int i = 0; i < 2; i++)
        if (list->dims[i] < lowest || list->dims[i] > INT32_MAX)
            return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%s is %D; it must be %D or more", what,
                                  list->dims[i], lowest);
    return KN_OK;
}

/* Checks x, offset and the optional mask, and gives the sizes of the positions. */
static kn_status check_sample(const kni_infer *c, const kni_type *mask, kn_dim size[2])
{
    kni_deform_attributes *a = c->attributes;
    const kni_type *x = c->in[0], *offset = c->in[1];
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    if (s == KN_OK) s = kni_infer_rank(c, 0, 4, 4);
    if (s == KN_OK) s = kni_infer_rank(c, 1, 4, 4);
    if (s == KN_OK) s = check_pair(c, &a->stride, 1, 1, "stride");
    if (s == KN_OK) s = check_pair(c, &a->padding, 0, 0, "padding");
    if (s == KN_OK) s = check_pair(c, &a->dilation, 1, 1, "dilation");
    if (s == KN_OK) s = check_pair(c, &a->kernel, 1, 1, "kernel");
    if (s) return s;
    for (int i = 1; i < c->n_in; i++)
        if (c->in[i] && c->in[i]->dtype != x->dtype)
            return kni_infer_fail(c, KN_ERROR_DTYPE, "operands are %T and %T: convert one with kn_cast()",
                                  (int)x->dtype, (int)c->in[i]->dtype);
    for (int i = 0; i < 2; i++) {
        int64_t span = a->dilation.dims[i] * (a->kernel.dims[i] - 1) + 1;
        kn_dim free = kni_dim_sub(kni_dim_add(x->dims[2 + i], 2 * a->padding.dims[i]), span);
        if (free == KNI_DIM_BAD)
            return kni_infer_fail(c, KN_ERROR_SHAPE, "the kernel is larger than the padded input %S", x);
        size[i] = kni_dim_add(kni_dim_floor_div(free, a->stride.dims[i]), 1);
    }
    const int64_t taps = a->kernel.dims[0] * a->kernel.dims[1];
    if (!kni_dims_agree(offset->dims[0], x->dims[0]) || !kni_dims_agree(offset->dims[2], size[0]) ||
        !kni_dims_agree(offset->dims[3], size[1]))
        return kni_infer_fail(c, KN_ERROR_SHAPE,
                              "offset %S must have batch %D and the result's sizes %D x %D", offset,
                              x->dims[0], size[0], size[1]);
    if (offset->dims[1] <= 0 || offset->dims[1] % (2 * taps) != 0 ||
        x->dims[1] % (offset->dims[1] / (2 * taps)) != 0)
        return kni_infer_fail(c, KN_ERROR_SHAPE,
                              "offset %S must have 2 x groups x %D channels, with groups that divide x's %D",
                              offset, taps, x->dims[1]);
    if (mask && (mask->rank != 4 || !kni_dims_agree(mask->dims[0], x->dims[0]) ||
                 !kni_dims_agree(mask->dims[1], offset->dims[1] / 2) ||
                 !kni_dims_agree(mask->dims[2], size[0]) || !kni_dims_agree(mask->dims[3], size[1])))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "mask %S must have half of the channels of offset %S", mask,
                              offset);
    return KN_OK;
}

static kn_status infer_deform_sample(kni_infer *c)
{
    const kni_deform_attributes *a = c->attributes;
    kn_dim size[2];
    kn_status s = check_sample(c, c->n_in > 2 ? c->in[2] : NULL, size);
    if (s) return s;
    const kni_type *x = c->in[0];
    kn_dim rows = kni_dim_mul(x->dims[1], a->kernel.dims[0] * a->kernel.dims[1]);
    *c->out[0] =
        (kni_type){.dtype = x->dtype, .rank = 3, .dims = {x->dims[0], rows, kni_dim_mul(size[0], size[1])}};
    return KN_OK;
}

static kn_status infer_deform_sample_grad(kni_infer *c)
{
    kni_deform_attributes *a = c->attributes;
    const kni_type *x = c->in[0], *dy = c->in[2], *mask = c->n_in > 3 ? c->in[3] : NULL;
    kn_dim size[2];
    kn_status s = check_sample(c, mask, size);
    if (s) return s;
    if (dy->rank != 3 || !kni_dims_agree(dy->dims[0], x->dims[0]) ||
        !kni_dims_agree(dy->dims[1], kni_dim_mul(x->dims[1], a->kernel.dims[0] * a->kernel.dims[1])) ||
        !kni_dims_agree(dy->dims[2], kni_dim_mul(size[0], size[1])))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "the cotangent %S does not fit x %S", dy, x);
    *c->out[0] = *x;
    *c->out[1] = *c->in[1];
    *c->out[2] = mask ? *mask : (kni_type){.dtype = x->dtype, .rank = 1, .dims = {0}};
    for (int i = 0; i < 3; i++) c->out[i]->weak = 0;
    return KN_OK;
}

/* ---- reference kernels */

static void push_geometry(kni_launch *l, const kni_type *offset, const kni_type *mask)
{
    const kni_deform_attributes *a = l->attributes;
    const kni_type *x = l->in[0];
    kni_launch_int(l, x->dims[1]);
    kni_launch_int(l, offset->dims[1] / (2 * a->kernel.dims[0] * a->kernel.dims[1]));
    kni_launch_ints(l, x->dims + 2, 2);
    kni_launch_ints(l, a->kernel.dims, 2);
    kni_launch_ints(l, offset->dims + 2, 2);
    kni_launch_ints(l, a->stride.dims, 2);
    kni_launch_ints(l, a->padding.dims, 2);
    kni_launch_ints(l, a->dilation.dims, 2);
    kni_launch_int(l, mask != NULL);
}

static kn_status launch_deform_sample(kni_launch *l)
{
    l->kernel = &kni_kernel_deform_sample;
    l->items = kni_count(l->out[0]);
    push_geometry(l, l->in[1], l->n_in > 2 ? l->in[2] : NULL);
    return KN_OK;
}

static kn_status launch_deform_sample_grad(kni_launch *l)
{
    const kni_deform_attributes *a = l->attributes;
    l->kernel = &kni_kernel_deform_sample_grad;
    l->items = l->in[0]->dims[0] * l->in[1]->dims[1] / (2 * a->kernel.dims[0] * a->kernel.dims[1]);
    push_geometry(l, l->in[1], l->n_in > 3 ? l->in[3] : NULL);
    return KN_OK;
}

OP(deform_sample,
   .doc = "y[n, c k, p] = mask[n, g k, p] x[n, c, p stride + k dilation - padding + offset[n, g k, p]]",
   .min_in = 2, .max_in = 3, .n_out = 1, .kind = KNI_CONTRACTION, .dtypes = KNI_FLOATS, .tolerance = {16, 1},
   .schema = deform_schema, .attribute_bytes = sizeof(kni_deform_attributes), .infer = infer_deform_sample,
   .launch = launch_deform_sample)

OP(deform_sample_grad, .doc = "the gradients of deform_sample by x, offset and mask", .min_in = 3,
   .max_in = 4, .n_out = 3, .kind = KNI_CONTRACTION, .dtypes = KNI_FLOATS, .tolerance = {16, 1},
   .schema = deform_schema, .attribute_bytes = sizeof(kni_deform_attributes),
   .infer = infer_deform_sample_grad, .launch = launch_deform_sample_grad,
   .lower = kni_lower_deform_sample_grad, .native = &kni_cpu_deform_sample_grad)

GRADIENT(deform_sample)
{
    kn_tensor in[4] = {kni_vjp_in(v, 0), kni_vjp_in(v, 1), v->dy[0], KN_NONE}, out[3];
    if (v->n_in > 2) in[3] = kni_vjp_in(v, 2);
    kni_apply_many(&kni_op_deform_sample_grad, in, 4, v->attributes, out, 3);
    for (int i = 0; i < v->n_in; i++) kni_vjp_set(v, i, out[i]);
    return KN_OK;
}

/* ---- the public function */

kn_tensor kn_deform_conv2d(kn_tensor x, kn_tensor offset, kn_tensor w, kn_tensor mask, kn_tensor bias,
                           const kn_deform_conv2d_args *args)
{
    static const kn_deform_conv2d_args defaults = {.weight_groups = 1};
    const kn_deform_conv2d_args *g = args ? args : &defaults;
    kni_call call = kni_call_begin("deform_conv2d");
    const kn_tensor given[3] = {x, offset, w};
    kn_tensor bad;
    if (!kni_operands_ready(given, 3, &bad)) return kni_call_end(call, bad);
    w = kn_keep(w);
    kn_shape sx = kn_shape_of_tensor(x), sw = kn_shape_of_tensor(w);
    int64_t groups = kn_int_or(g->weight_groups, 1);
    if (sx.rank != 4 || sw.rank != 4)
        return kni_call_fail(call, KN_ERROR_SHAPE, "x and weight must have rank 4: %N and %N", &sx, &sw);
    if (groups < 1 || sw.dims[0] % groups != 0 || sw.dims[1] * groups != sx.dims[1])
        return kni_call_fail(call, KN_ERROR_SHAPE, "channels differ: x %N, weight %N, %D weight groups", &sx,
                             &sw, groups);
    kni_deform_attributes a = {.kernel = KN_INTS(sw.dims[2], sw.dims[3])};
    a.stride.rank = a.padding.rank = a.dilation.rank = 2;
    for (int i = 0; i < 2; i++) {
        a.stride.dims[i] = kn_int_or(kni_axis_entry(g->stride, i), 1);
        a.padding.dims[i] = kn_int_or(g->padding[i], 0);
        a.dilation.dims[i] = kn_int_or(kni_axis_entry(g->dilation, i), 1);
    }
    kn_shape so = kn_shape_of_tensor(offset);
    kn_tensor columns = kni_apply(&kni_op_deform_sample, (kn_tensor[3]){x, offset, mask}, 3, &a);
    int64_t depth = sw.dims[1] * sw.dims[2] * sw.dims[3], height = so.dims[2], width = so.dims[3];
    columns = kn_reshape(columns, KN_SHAPE(sx.dims[0], groups, depth, height * width));
    kn_tensor y = kn_matmul(kn_reshape(w, KN_SHAPE(groups, sw.dims[0] / groups, depth)), columns);
    y = kn_reshape(y, KN_SHAPE(sx.dims[0], sw.dims[0], height, width));
    if (bias.bits) y = kn_add(y, kn_reshape(bias, KN_SHAPE(sw.dims[0], 1, 1)));
    return kni_call_end(call, y);
}
