/* Regions of interest of images, sampled (roi_align) or taken by whole elements (max_roi_pool): rows, gradients and functions. */
#include "ops/regions.h"
#include "ops/generated/regions_kernels.h"
#include "ops/native.h"
#include <kn/creation.h>
#include <kn/elementwise.h>
#include <kn/indexing.h>
#include <kn/shape.h>
#include <kn/spatial.h>

extern const kni_native kni_cpu_roi_align;

static const kn_attribute schema[] = {KNI_ATTR(kni_region_attributes, size, KNI_ATTR_INTS, KNI_STATIC),
                                      KNI_ATTR(kni_region_attributes, input, KNI_ATTR_INTS, KNI_STATIC),
                                      KNI_ATTR(kni_region_attributes, samples, KNI_ATTR_INT, KNI_STATIC),
                                      KNI_ATTR(kni_region_attributes, most, KNI_ATTR_INT, KNI_STATIC),
                                      KNI_ATTR(kni_region_attributes, half, KNI_ATTR_INT, KNI_STATIC),
                                      KNI_ATTR(kni_region_attributes, scale, KNI_ATTR_REAL, KNI_STATIC),
                                      {0}};

/* ---- rules */

static kn_status check_attributes(const kni_infer *c)
{
    const kni_region_attributes *a = c->attributes;
    if (a->size.rank != 2)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "size has %d entries; it is height and width",
                              a->size.rank);
    for (int i = 0; i < 2; i++)
        if (a->size.dims[i] < 1 || a->size.dims[i] > INT32_MAX)
            return kni_infer_fail(c, KN_ERROR_ARGUMENT, "size is %D; it must be 1 to 2^31 - 1",
                                  a->size.dims[i]);
    if (a->samples < 0 || a->samples > 1024)
        return kni_infer_fail(
            c, KN_ERROR_ARGUMENT,
            "%D samples on an axis: they are 1 to 1024, or 0 for as many as a region covers", a->samples);
    return a->scale > 0 && a->scale <= 1e9
               ? KN_OK
               : kni_infer_fail(c, KN_ERROR_ARGUMENT, "the scale %g is not between 0 and 1e9", a->scale);
}

/* Regions [r, width] of floats, with the images [r] of integers that they lie in where a row has these. */
static kn_status check_regions(const kni_infer *c, int64_t width)
{
    const kni_type *regions = c->in[1], *images = c->n_in > 2 ? c->in[2] : NULL;
    kn_status s = check_attributes(c);
    if (s == KN_OK) s = kni_infer_dtype(c, 0, c->row->dtypes);
    if (s == KN_OK) s = kni_infer_dtype(c, 1, KNI_FLOATS);
    if (s == KN_OK && images) s = kni_infer_integer(c, 2);
    if (s == KN_OK) s = kni_infer_rank(c, 0, 4, 4);
    if (s) return s;
    if (regions->rank != 2 || !kni_dims_agree(regions->dims[1], width))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "regions must be [regions, %D]; got %S", width, regions);
    if (images && (images->rank != 1 || !kni_dims_agree(images->dims[0], regions->dims[0])))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "images %S must have one number for each of regions %S",
                              images, regions);
    return KN_OK;
}

static kn_status infer_pooled(kni_infer *c, int64_t width)
{
    const kni_region_attributes *a = c->attributes;
    const kni_type *x = c->in[0];
    kn_status s = check_regions(c, width);
    if (s) return s;
    if (x->dims[2] == 0 || x->dims[3] == 0)
        return kni_infer_fail(c, KN_ERROR_SHAPE, "the images of x %S are empty", x);
    *c->out[0] = *x;
    c->out[0]->weak = 0;
    c->out[0]->dims[0] = c->in[1]->dims[0];
    for (int i = 0; i < 2; i++) c->out[0]->dims[2 + i] = a->size.dims[i];
    return KN_OK;
}

static kn_status infer_roi_align(kni_infer *c) { return infer_pooled(c, 4); }

static kn_status infer_max_roi_pool(kni_infer *c)
{
    kn_status s = infer_pooled(c, 5);
    *c->out[1] = *c->out[0];
    c->out[1]->dtype = KN_I64;
    return s;
}

static kn_status infer_roi_align_grad(kni_infer *c)
{
    const kni_region_attributes *a = c->attributes;
    const kni_type *dy = c->in[0];
    kn_status s = check_regions(c, 4);
    if (s) return s;
    if (a->input.rank != 3)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "input has %d entries; it is images, height and width",
                              a->input.rank);
    if (!kni_dims_agree(dy->dims[0], c->in[1]->dims[0]) || !kni_dims_agree(dy->dims[2], a->size.dims[0]) ||
        !kni_dims_agree(dy->dims[3], a->size.dims[1]))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "dy %S is not of regions %S and size %D x %D", dy, c->in[1],
                              a->size.dims[0], a->size.dims[1]);
    *c->out[0] = *dy;
    c->out[0]->weak = 0;
    c->out[0]->dims[0] = a->input.dims[0];
    for (int i = 0; i < 2; i++) c->out[0]->dims[2 + i] = a->input.dims[1 + i];
    return KN_OK;
}

/* ---- kernels */

static void push_sizes(kni_launch *l, const kni_type *x, const kni_type *y)
{
    kni_launch_int(l, x->dims[1]);
    kni_launch_int(l, x->dims[0]);
    kni_launch_ints(l, x->dims + 2, 2);
    kni_launch_ints(l, y->dims + 2, 2);
}

static kn_status launch_roi_align(kni_launch *l)
{
    const kni_region_attributes *a = l->attributes;
    l->kernel = &kni_kernel_roi_align;
    l->items = kni_count(l->out[0]);
    push_sizes(l, l->in[0], l->out[0]);
    kni_launch_int(l, a->samples);
    kni_launch_int(l, a->most != 0);
    kni_launch_int(l, a->half != 0);
    kni_launch_real(l, a->scale);
    return KN_OK;
}

static kn_status launch_roi_align_grad(kni_launch *l)
{
    const kni_region_attributes *a = l->attributes;
    l->kernel = &kni_kernel_roi_align_grad;
    l->items = kni_count_dims(2, l->out[0]->dims);
    push_sizes(l, l->out[0], l->in[0]);
    kni_launch_int(l, a->samples);
    kni_launch_int(l, a->half != 0);
    kni_launch_real(l, a->scale);
    kni_launch_int(l, l->in[1]->dims[0]);
    return KN_OK;
}

static kn_status launch_max_roi_pool(kni_launch *l)
{
    l->kernel = &kni_kernel_max_roi_pool;
    l->items = kni_count(l->out[0]);
    push_sizes(l, l->in[0], l->out[0]);
    kni_launch_real(l, ((const kni_region_attributes *)l->attributes)->scale);
    return KN_OK;
}

OP(roi_align, .doc = "y[r, c, o] = mean (or largest) of samples of x[images[r], c] in part o of regions[r]",
   .min_in = 3, .max_in = 3, .n_out = 1, .kind = KNI_WINDOW, .dtypes = KNI_FLOATS, .tolerance = {16, 1},
   .schema = schema, .attribute_bytes = sizeof(kni_region_attributes), .infer = infer_roi_align,
   .launch = launch_roi_align, .native = &kni_cpu_roi_align)

OP(roi_align_grad, .doc = "dx[images[r], c, i] += weight(i) dy[r, c, o]: the transpose of roi_align",
   .min_in = 3, .max_in = 3, .n_out = 1, .kind = KNI_WINDOW, .dtypes = KNI_FLOATS, .tolerance = {16, 1},
   .schema = schema, .attribute_bytes = sizeof(kni_region_attributes), .infer = infer_roi_align_grad,
   .launch = launch_roi_align_grad)

OP(max_roi_pool, .doc = "max of x[regions[r, 0], c] over part o of regions[r, 1..4], and where in its plane",
   .min_in = 2, .max_in = 2, .n_out = 2, .kind = KNI_WINDOW, .dtypes = KNI_FLOATS, .schema = schema,
   .attribute_bytes = sizeof(kni_region_attributes), .infer = infer_max_roi_pool,
   .launch = launch_max_roi_pool)

/* ---- gradients: of x alone; places have none */

GRADIENT(roi_align)
{
    kni_region_attributes a = *(const kni_region_attributes *)v->attributes;
    const kni_type *x = &v->in_types[0];
    if (a.most)
        return kni_fail_op(KN_ERROR_GRADIENT, "roi_align",
                           "the largest of weighted neighbours has no gradient here: take the mean");
    if (!kni_vjp_needs(v, 0)) return KN_OK;
    a.input = KN_INTS(x->dims[0], x->dims[2], x->dims[3]);
    kn_tensor in[3] = {v->dy[0], kni_vjp_in(v, 1), kni_vjp_in(v, 2)};
    kni_vjp_set(v, 0, kni_apply(&kni_op_roi_align_grad, in, 3, &a));
    return KN_OK;
}

GRADIENT(roi_align_grad)
{
    if (!kni_vjp_needs(v, 0)) return KN_OK;
    kn_tensor in[3] = {v->dy[0], kni_vjp_in(v, 1), kni_vjp_in(v, 2)};
    kni_vjp_set(v, 0, kni_apply(&kni_op_roi_align, in, 3, v->attributes));
    return KN_OK;
}

/* Each dy goes to the element that won, whose position in its plane is known; those of empty parts go nowhere. */
GRADIENT(max_roi_pool)
{
    const kni_type *x = &v->in_types[0], *y = &v->out_types[0];
    int64_t regions = y->dims[0], channels = y->dims[1], plane = x->dims[2] * x->dims[3];
    if (!v->dy[0].bits || !kni_vjp_needs(v, 0)) return KN_OK;
    kn_tensor at = kni_vjp_out(v, 1), image = kn_round(kn_select(kni_vjp_in(v, 1), 1, 0));
    image = kn_reshape(kn_cast(image, KN_I64), KN_SHAPE(regions, 1, 1, 1));
    kn_tensor channel = kn_reshape(kn_arange(0, (double)channels, 1, KN_I64), KN_SHAPE(1, channels, 1, 1));
    kn_tensor planes = kn_add(kn_mul_scalar(image, (double)channels), channel);
    kn_tensor place = kn_add(kn_mul_scalar(planes, (double)plane), kn_maximum_scalar(at, 0));
    kn_tensor dy = kn_where(kn_less_scalar(at, 0), kn_zeros(KN_SCALAR_SHAPE, (kn_dtype)x->dtype), v->dy[0]);
    kn_tensor zeros = kn_zeros(kni_vjp_shape(v, 0), (kn_dtype)x->dtype);
    kni_vjp_set(v, 0, kn_put(zeros, place, dy, KN_UPDATE_ADD));
    return KN_OK;
}

/* ---- functions */

kn_tensor kn_roi_align(kn_tensor x, kn_tensor regions, kn_tensor images, kn_ints size,
                       const kn_roi_align_args *args)
{
    static const kn_roi_align_args defaults = KN_ZEROED;
    if (!args) args = &defaults;
    kni_region_attributes a = {.size = size,
                               .samples = args->samples,
                               .most = args->most,
                               .half = args->half_pixel,
                               .scale = kn_real_or(args->scale, 1)};
    kn_tensor in[3] = {x, regions, images};
    return kni_apply(&kni_op_roi_align, in, 3, &a);
}

kn_pooled kn_max_roi_pool(kn_tensor x, kn_tensor regions, kn_ints size, double scale)
{
    kni_region_attributes a = {.size = size, .scale = scale};
    kn_tensor in[2] = {x, regions}, out[2];
    kni_apply_many(&kni_op_max_roi_pool, in, 2, &a, out, 2);
    return (kn_pooled){out[0], out[1]};
}
