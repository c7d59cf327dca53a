/* Resampling along any axes: the row and its transpose. The kernel's text says where elements lie and what they weigh. */
#include "ops/resample.h"
#include "ops/generated/resample_kernels.h"
#include "ops/native.h"
#include <kn/spatial.h>

extern const kni_native kni_cpu_resample, kni_cpu_resample_grad;

#define REAL_AT(name, field)                                                                                 \
    {                                                                                                        \
        name, KNI_ATTR_REAL, KNI_STATIC, (uint16_t)offsetof(kni_resample_attributes, field)                  \
    }
static const kn_attribute schema[] = {
    KNI_ATTR(kni_resample_attributes, axes, KNI_ATTR_INTS, KNI_STATIC),
    KNI_ATTR(kni_resample_attributes, size, KNI_ATTR_INTS, KNI_STATIC),
    KNI_ATTR(kni_resample_attributes, input, KNI_ATTR_INTS, KNI_STATIC),
    KNI_ATTR(kni_resample_attributes, mode, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_resample_attributes, transform, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_resample_attributes, rule, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_resample_attributes, antialias, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_resample_attributes, exclude_outside, KNI_ATTR_INT, KNI_STATIC),
    REAL_AT("scale0", scale[0]),
    REAL_AT("scale1", scale[1]),
    REAL_AT("scale2", scale[2]),
    REAL_AT("begin0", begin[0]),
    REAL_AT("begin1", begin[1]),
    REAL_AT("begin2", begin[2]),
    REAL_AT("end0", end[0]),
    REAL_AT("end1", end[1]),
    REAL_AT("end2", end[2]),
    KNI_ATTR(kni_resample_attributes, cubic, KNI_ATTR_REAL, KNI_STATIC),
    KNI_ATTR(kni_resample_attributes, outside, KNI_ATTR_REAL, KNI_STATIC),
    {0}};

kni_resample_view kni_view_resampled(const kni_type *t, const kn_ints *axes)
{
    kni_resample_view v = {1, {1, 1, 1}, {1, 1, 1}};
    int64_t *into = &v.planes;
    for (int i = 0, k = 0; i < t->rank; i++) {
        if (k < axes->rank && axes->dims[k] == i) {
            int place = KNI_RESAMPLE_AXES - axes->rank + k++;
            v.sizes[place] = t->dims[i];
            into = &v.between[place];
        } else {
            *into *= t->dims[i];
        }
    }
    return v;
}

double kni_resample_entry(const kni_resample_attributes *a, const double *list, int i)
{
    int absent = KNI_RESAMPLE_AXES - a->axes.rank;
    return i < absent ? 0 : list[i - absent];
}

int64_t kni_resample_width(const kni_resample_attributes *a, int i, int64_t in_size, int64_t out_size)
{
    double scale = kni_resample_entry(a, a->scale, i);
    if (a->mode == KN_RESAMPLE_NEAREST || (in_size == 1 && out_size == 1)) return 1;
    double stretch = scale > 0 ? 1 / scale : (double)in_size / (double)out_size;
    if (!a->antialias || stretch <= 1) return 2 * a->mode;
    if (stretch > (double)in_size) stretch = (double)in_size;
    return (int64_t)(2 * (double)a->mode * stretch) + 2;
}

/* ---- rules */

static kn_status check_choices(const kni_infer *c, const kni_resample_attributes *a)
{
    const struct {
        const char *name;
        int64_t value, last;
    } choices[] = {{"mode", a->mode, KN_RESAMPLE_CUBIC},
                   {"transform", a->transform, KN_RESAMPLE_CROP},
                   {"rule", a->rule, KN_RESAMPLE_CEIL}};
    for (int i = 0; i < KNI_COUNT(choices); i++)
        if (choices[i].value < 0 || choices[i].value > choices[i].last)
            return kni_infer_fail(c, KN_ERROR_ARGUMENT, "there is no %s %D; they are 0 to %D",
                                  choices[i].name, choices[i].value, choices[i].last);
    if (a->mode == KN_RESAMPLE_NEAREST && (a->antialias || a->exclude_outside))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%s is for linear and cubic, not for nearest",
                              a->antialias ? "antialias" : "exclude_outside");
    for (int i = 0; i < KNI_RESAMPLE_AXES; i++) {
        if (a->scale[i] != 0 && !(a->scale[i] >= 1e-9 && a->scale[i] <= 1e9))
            return kni_infer_fail(c, KN_ERROR_ARGUMENT, "the scale %g is not between 1e-9 and 1e9",
                                  a->scale[i]);
        if (!(a->begin[i] >= -1e9 && a->begin[i] <= 1e9 && a->end[i] >= -1e9 && a->end[i] <= 1e9))
            return kni_infer_fail(c, KN_ERROR_ARGUMENT, "a crop from %g to %g is not within -1e9 and 1e9",
                                  a->begin[i], a->end[i]);
    }
    if (!(a->cubic >= -1e9 && a->cubic <= 1e9))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "the coefficient %g of the cubic is no such number",
                              a->cubic);
    return KN_OK;
}

static kn_status check_axes(const kni_infer *c, kni_resample_attributes *a, const kni_type *x)
{
    kn_status s = KN_OK;
    if (a->axes.rank < 1 || a->axes.rank > KNI_RESAMPLE_AXES || a->size.rank != a->axes.rank)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT,
                              "%d axes with %d sizes: one size is needed for each of 1 to 3 axes",
                              a->axes.rank, a->size.rank);
    for (int i = 0; i < a->axes.rank && s == KN_OK; i++) {
        s = kni_infer_axis(c, &a->axes.dims[i], x->rank);
        if (s == KN_OK && i > 0 && a->axes.dims[i] <= a->axes.dims[i - 1])
            s = kni_infer_fail(c, KN_ERROR_ARGUMENT, "axis %D after axis %D: axes must ascend",
                               a->axes.dims[i], a->axes.dims[i - 1]);
    }
    return s;
}

static kn_status infer_sizes(kni_infer *c, const kni_type *x, kni_type *y)
{
    kni_resample_attributes *a = c->attributes;
    kn_status s = check_choices(c, a);
    uint32_t dtypes = a->mode == KN_RESAMPLE_NEAREST ? c->row->dtypes : (uint32_t)KNI_FLOATS;
    if (s == KN_OK) s = kni_infer_dtype(c, 0, dtypes);
    if (s == KN_OK) s = check_axes(c, a, x);
    if (s) return s;
    *y = *x;
    y->weak = 0;
    for (int i = 0; i < a->axes.rank; i++) {
        kn_dim *size = &y->dims[a->axes.dims[i]];
        if (kni_dim_high(a->size.dims[i]) < 1 || kni_dim_low(a->size.dims[i]) > INT32_MAX || *size == 0)
            return kni_infer_fail(c, KN_ERROR_SHAPE,
                                  "sizes must be positive and below 2^31: axis %D of x %S becomes %D",
                                  a->axes.dims[i], x, a->size.dims[i]);
        *size = a->size.dims[i];
    }
    return KN_OK;
}

static kn_status infer_resample(kni_infer *c) { return infer_sizes(c, c->in[0], c->out[0]); }

static kn_status infer_resample_grad(kni_infer *c)
{
    kni_resample_attributes *a = c->attributes;
    const kni_type *dy = c->in[0];
    kni_type resampled;
    kn_status s = check_axes(c, a, dy);
    if (s) return s;
    if (a->input.rank != a->axes.rank)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "input has %d entries for %d axes", a->input.rank,
                              a->axes.rank);
    *c->out[0] = *dy;
    for (int i = 0; i < a->axes.rank; i++) c->out[0]->dims[a->axes.dims[i]] = a->input.dims[i];
    s = infer_sizes(c, c->out[0], &resampled);
    for (int i = 0; i < dy->rank && s == KN_OK; i++)
        if (!kni_dims_agree(resampled.dims[i], dy->dims[i]))
            return kni_infer_fail(c, KN_ERROR_SHAPE, "dy %S is not a resampled %S", dy, c->out[0]);
    return s;
}

/* ---- kernels */

static void launch(kni_launch *l, const kni_kernel *kernel, const kni_type *x, const kni_type *y)
{
    const kni_resample_attributes *a = l->attributes;
    kni_resample_view in = kni_view_resampled(x, &a->axes), out = kni_view_resampled(y, &a->axes);
    const double *reals[] = {a->scale, a->begin, a->end};
    l->kernel = kernel;
    l->items = kni_count(l->out[0]);
    kni_launch_int(l, a->mode);
    kni_launch_int(l, a->rule);
    kni_launch_int(l, a->transform);
    kni_launch_int(l, a->antialias != 0);
    kni_launch_int(l, a->exclude_outside != 0);
    kni_launch_ints(l, in.sizes, KNI_RESAMPLE_AXES);
    kni_launch_ints(l, out.sizes, KNI_RESAMPLE_AXES);
    kni_launch_ints(l, in.between, KNI_RESAMPLE_AXES);
    for (int k = 0; k < KNI_COUNT(reals); k++)
        for (int i = 0; i < KNI_RESAMPLE_AXES; i++) kni_launch_real(l, kni_resample_entry(a, reals[k], i));
    kni_launch_real(l, a->cubic);
}

static kn_status launch_resample(kni_launch *l)
{
    launch(l, &kni_kernel_resample, l->in[0], l->out[0]);
    kni_launch_real(l, ((const kni_resample_attributes *)l->attributes)->outside);
    return KN_OK;
}

static kn_status launch_resample_grad(kni_launch *l)
{
    launch(l, &kni_kernel_resample_grad, l->out[0], l->in[0]);
    return KN_OK;
}

OP(resample, .doc = "y[o] = sum over neighbours i of filter(at(o) - i) x[i], along each of axes", .min_in = 1,
   .max_in = 1, .n_out = 1, .kind = KNI_WINDOW, .dtypes = KNI_ALL, .tolerance = {16, 1}, .schema = schema,
   .attribute_bytes = sizeof(kni_resample_attributes), .infer = infer_resample, .launch = launch_resample,
   .native = &kni_cpu_resample)

OP(resample_grad, .doc = "dx[i] = sum over o of filter(at(o) - i) dy[o]: the transpose of resample",
   .min_in = 1, .max_in = 1, .n_out = 1, .kind = KNI_WINDOW, .dtypes = KNI_FLOATS, .tolerance = {16, 1},
   .schema = schema, .attribute_bytes = sizeof(kni_resample_attributes), .infer = infer_resample_grad,
   .launch = launch_resample_grad, .native = &kni_cpu_resample_grad)

GRADIENT(resample)
{
    kni_resample_attributes a = *(const kni_resample_attributes *)v->attributes;
    a.input.rank = a.axes.rank;
    for (int i = 0; i < a.axes.rank; i++) a.input.dims[i] = v->in_types[0].dims[a.axes.dims[i]];
    kni_vjp_set(v, 0, kni_apply(&kni_op_resample_grad, v->dy, 1, &a));
    return KN_OK;
}

/* Linear but for what lies outside, which is a constant: its gradient is the resampling itself, with 0 outside. */
GRADIENT(resample_grad)
{
    kni_resample_attributes a = *(const kni_resample_attributes *)v->attributes;
    a.outside = 0;
    kni_vjp_set(v, 0, kni_apply(&kni_op_resample, v->dy, 1, &a));
    return KN_OK;
}
