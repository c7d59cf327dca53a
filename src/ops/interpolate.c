/* Interpolation over one to three axes: the row, its transpose, and the public function. */
#include "ops/interpolate.h"
#include "core/math/math.h"
#include "ops/generated/spatial_kernels.h"
#include "ops/movement_rows.h"
#include "ops/native.h"
#include "ops/pooling.h"
#include <kn/spatial.h>

extern const kni_native kni_cpu_interpolate, kni_cpu_interpolate_grad;

static const kn_attribute schema[] = {
    KNI_ATTR(kni_interpolate_attributes, size, KNI_ATTR_INTS, KNI_STATIC),
    KNI_ATTR(kni_interpolate_attributes, input, KNI_ATTR_INTS, KNI_STATIC),
    KNI_ATTR(kni_interpolate_attributes, mode, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_interpolate_attributes, align_corners, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_interpolate_attributes, antialias, KNI_ATTR_INT, KNI_STATIC),
    {"step0", KNI_ATTR_REAL, KNI_STATIC, offsetof(kni_interpolate_attributes, step[0])},
    {"step1", KNI_ATTR_REAL, KNI_STATIC, offsetof(kni_interpolate_attributes, step[1])},
    {"step2", KNI_ATTR_REAL, KNI_STATIC, offsetof(kni_interpolate_attributes, step[2])},
    {0}};

void kni_interpolate_steps(const kni_interpolate_attributes *a, int axes, double *steps)
{
    for (int i = 0; i < 3; i++) steps[i] = i < 3 - axes ? 0 : a->step[i - (3 - axes)];
}

int64_t kni_interpolate_width(const kni_interpolate_attributes *a, int64_t in_size, int64_t out_size,
                              double step)
{
    if (a->mode < KN_INTERPOLATE_LINEAR || (in_size == 1 && out_size == 1)) return 1;
    int64_t reach = a->mode - 1, shrink = in_size > out_size ? (in_size + out_size - 1) / out_size : 1;
    if (step > 0) shrink = step < (double)in_size ? (int64_t)step + 1 : in_size;
    /* With aligned corners a step may be larger than in / out, but never than in - 1. */
    if (a->align_corners && out_size > 1) shrink = (in_size - 1 + out_size - 2) / (out_size - 1);
    if (!a->antialias) return 2 * reach;
    int64_t width = 2 * reach * (shrink > 1 ? shrink : 1) + 2;
    return width < in_size ? width : in_size;
}

static kn_status check_mode(const kni_infer *c, const kni_interpolate_attributes *a)
{
    if (a->mode < 0 || a->mode > KN_INTERPOLATE_LANCZOS3)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "there is no mode %D", a->mode);
    if (a->mode < KN_INTERPOLATE_LINEAR && (a->align_corners || a->antialias))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%s is for linear, cubic and lanczos3, not for nearest",
                              a->align_corners ? "align_corners" : "antialias");
    for (int i = 0; i < 3; i++)
        if (!(a->step[i] >= 0 && a->step[i] <= 1e9) || (a->step[i] > 0 && a->align_corners))
            return kni_infer_fail(c, KN_ERROR_ARGUMENT,
                                  a->align_corners
                                      ? "the step %g of spatial axis %d does not go with align_corners"
                                      : "the step %g of spatial axis %d is not between 0 and 1e9",
                                  a->step[i], i);
    return KN_OK;
}

static kn_status infer_sizes(kni_infer *c, const kni_type *x, kni_type *y)
{
    kni_interpolate_attributes *a = c->attributes;
    int n = x->rank - 2;
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    if (s == KN_OK) s = check_mode(c, a);
    if (s) return s;
    if (n < 1 || n > KNI_POOL_MAX_AXES)
        return kni_infer_fail(c, KN_ERROR_SHAPE, "x must be [batch, channels, 1 to 3 axes]; got %S", x);
    s = kni_infer_pool_list(c, "size", &a->size, n, -1, -1);
    if (s) return s;
    *y = *x;
    y->weak = 0;
    for (int i = 0; i < n; i++) {
        if (a->size.dims[i] == 0 || x->dims[2 + i] == 0)
            return kni_infer_fail(c, KN_ERROR_SHAPE,
                                  "sizes must be positive: x is %S, the size of spatial axis %d is %D", x, i,
                                  a->size.dims[i]);
        if (a->size.dims[i] != -1) y->dims[2 + i] = a->size.dims[i];
        /* Beyond x there is no tap to take, and no whole number that holds every place. */
        int64_t most = kni_dim_high(x->dims[2 + i]), last = kni_dim_low(y->dims[2 + i]);
        if (a->step[i] > 0 && a->step[i] * ((double)last - 0.5) > (double)most)
            return kni_infer_fail(
                c, KN_ERROR_ARGUMENT,
                "%D steps of %g on spatial axis %d lead beyond x %S; ask for a smaller size", last,
                a->step[i], i, x);
    }
    return KN_OK;
}

static kn_status infer_interpolate(kni_infer *c) { return infer_sizes(c, c->in[0], c->out[0]); }

static kn_status infer_interpolate_grad(kni_infer *c)
{
    const kni_interpolate_attributes *a = c->attributes;
    const kni_type *dy = c->in[0];
    kni_type resized;
    if (a->input.rank != dy->rank - 2)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "input has %d entries for dy %S", a->input.rank, dy);
    *c->out[0] = *dy;
    for (int i = 0; i < a->input.rank; i++) c->out[0]->dims[2 + i] = a->input.dims[i];
    kn_status s = infer_sizes(c, c->out[0], &resized);
    for (int i = 0; i < dy->rank && s == KN_OK; i++)
        if (!kni_dims_agree(resized.dims[i], dy->dims[i]))
            return kni_infer_fail(c, KN_ERROR_SHAPE, "dy %S is not a resized %S", dy, c->out[0]);
    return s;
}

static kn_status launch(kni_launch *l, const kni_kernel *kernel, const kni_type *x, const kni_type *y)
{
    const kni_interpolate_attributes *a = l->attributes;
    int64_t sizes[3];
    l->kernel = kernel;
    l->items = kni_count(l->out[0]);
    kni_launch_int(l, a->mode);
    kni_launch_int(l, a->align_corners != 0);
    kni_launch_int(l, a->antialias != 0);
    kni_pool_sizes(x, x->rank - 2, sizes);
    kni_launch_ints(l, sizes, 3);
    kni_pool_sizes(y, y->rank - 2, sizes);
    kni_launch_ints(l, sizes, 3);
    double steps[3];
    kni_interpolate_steps(a, x->rank - 2, steps);
    for (int i = 0; i < 3; i++) kni_launch_real(l, steps[i]);
    return KN_OK;
}

static kn_status launch_interpolate(kni_launch *l)
{
    return launch(l, &kni_kernel_interpolate, l->in[0], l->out[0]);
}
static kn_status launch_interpolate_grad(kni_launch *l)
{
    return launch(l, &kni_kernel_interpolate_grad, l->out[0], l->in[0]);
}

OP(interpolate, .doc = "y[o] = sum over neighbours i of filter(at(o) - i) x[i], on each spatial axis",
   .min_in = 1, .max_in = 1, .n_out = 1, .kind = KNI_WINDOW, .layout = KNI_LAYOUT_KEEPS, .follows = 1,
   .dtypes = KNI_FLOATS, .tolerance = {16, 1}, .schema = schema,
   .attribute_bytes = sizeof(kni_interpolate_attributes), .infer = infer_interpolate,
   .launch = launch_interpolate, .native = &kni_cpu_interpolate)

OP(interpolate_grad, .doc = "dx[i] = sum over o of filter(at(o) - i) dy[o]: the transpose of interpolate",
   .min_in = 1, .max_in = 1, .n_out = 1, .kind = KNI_WINDOW, .layout = KNI_LAYOUT_KEEPS, .follows = 1,
   .dtypes = KNI_FLOATS, .tolerance = {16, 1}, .schema = schema,
   .attribute_bytes = sizeof(kni_interpolate_attributes), .infer = infer_interpolate_grad,
   .launch = launch_interpolate_grad, .native = &kni_cpu_interpolate_grad)

GRADIENT(interpolate)
{
    kni_interpolate_attributes a = *(const kni_interpolate_attributes *)v->attributes;
    const kni_type *x = &v->in_types[0];
    a.input.rank = x->rank - 2;
    for (int i = 0; i < a.input.rank; i++) a.input.dims[i] = x->dims[2 + i];
    kni_vjp_set(v, 0, kni_apply(&kni_op_interpolate_grad, v->dy, 1, &a));
    return KN_OK;
}

/* Linear, so its gradient is the interpolation itself. */
GRADIENT(interpolate_grad)
{
    kni_vjp_set(v, 0, kni_apply(&kni_op_interpolate, v->dy, 1, v->attributes));
    return KN_OK;
}

/* The mean over the elements of x that fall to one of y is adaptive pooling. */
static kn_tensor by_area(kn_tensor x, kn_ints size, const kn_interpolate_args *args)
{
    static kn_tensor (*const pools[])(kn_tensor, kn_ints) = {kn_adaptive_avg_pool1d, kn_adaptive_avg_pool2d,
                                                             kn_adaptive_avg_pool3d};
    const kni_type *t = kni_type_of(x);
    kni_interpolate_attributes none = {.size = size};
    if (!t) return kni_apply(&kni_op_interpolate, &x, 1, &none); /* which tells what is wrong with x */
    if (t->rank < 3 || t->rank > 5)
        return kni_fail_tensor("interpolate", KN_ERROR_SHAPE,
                               "x must be [batch, channels, 1 to 3 axes]; got %S", t);
    if (args->align_corners || args->antialias)
        return kni_fail_tensor("interpolate", KN_ERROR_ARGUMENT,
                               "%s is for linear, cubic and lanczos3, not for area",
                               args->align_corners ? "align_corners" : "antialias");
    kni_call call = kni_call_begin("interpolate");
    return kni_call_end(call, pools[t->rank - 3](x, size));
}

kn_tensor kn_interpolate(kn_tensor x, kn_ints size, const kn_interpolate_args *args)
{
    static const kn_interpolate_args defaults = {KN_INTERPOLATE_NEAREST, false, false};
    if (!args) args = &defaults;
    if (args->mode == KN_INTERPOLATE_AREA) return by_area(x, size, args);
    kni_interpolate_attributes a = {
        .size = size, .mode = args->mode, .align_corners = args->align_corners, .antialias = args->antialias};
    return kni_apply(&kni_op_interpolate, &x, 1, &a);
}

/* floor(size scale) for each spatial axis; false after a failure. */
static bool scaled_sizes(const kni_type *t, const kn_interpolate_scale_args *args, kn_ints *size,
                         double *scales)
{
    size->rank = t->rank - 2;
    for (int i = 0; i < size->rank; i++) {
        scales[i] = args->scale[i] != 0 ? args->scale[i] : args->scale[0];
        double wanted = kni_floor_f64((double)t->dims[2 + i] * scales[i]);
        if (!(scales[i] > 0 && wanted >= 1 && wanted <= 2147483647.0)) {
            kni_fail_op(KN_ERROR_ARGUMENT, NULL,
                        "the scale %g of spatial axis %d gives no size of at least 1: x is %S", scales[i], i,
                        t);
            return false;
        }
        size->dims[i] = (int64_t)wanted;
    }
    return true;
}

kn_tensor kn_interpolate_scale(kn_tensor x, const kn_interpolate_scale_args *args)
{
    kni_call call = kni_call_begin("interpolate_scale");
    const kni_type *t = kni_type_of(x);
    if (!t) return kni_call_end(call, kn_neg(x));
    if (t->rank < 3 || t->rank > 5)
        return kni_call_fail(call, KN_ERROR_SHAPE, "x must be [batch, channels, 1 to 3 axes]; got %S", t);
    if (!args) return kni_call_fail(call, KN_ERROR_ARGUMENT, "needs args with a scale");
    double scales[3];
    kn_ints size;
    if (!scaled_sizes(t, args, &size, scales)) return kni_call_end(call, kni_poison_latest());
    kn_interpolate_args plain = {args->mode, args->align_corners, args->antialias};
    if (args->mode == KN_INTERPOLATE_AREA || args->align_corners || args->recompute)
        return kni_call_end(call, kn_interpolate(x, size, &plain));
    kni_interpolate_attributes a = {.size = size, .mode = args->mode, .antialias = args->antialias};
    for (int i = 0; i < size.rank; i++) a.step[i] = 1 / scales[i];
    return kni_call_end(call, kni_apply(&kni_op_interpolate, &x, 1, &a));
}
