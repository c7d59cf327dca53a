/* Fractional max pooling: the largest elements of windows at pseudorandom places, gathered by index. */
#include "core/math/math.h"
#include "ops/linalg_rows.h"
#include "ops/movement_rows.h"
#include "ops/pooling.h"
#include "ops/wide.h"
#include <kn/spatial.h>

/* x [planes..., sizes] with what was asked for; lists have one entry for each spatial axis. */
typedef struct geometry {
    int axes, first; /* first: the first spatial axis */
    int64_t sizes[KNI_POOL_MAX_AXES], window[KNI_POOL_MAX_AXES], out[KNI_POOL_MAX_AXES];
} geometry;

/* KN_OK, or the status of the failure. */
static kn_status fill_geometry(geometry *g, const kni_type *t, kn_ints window,
                               const kn_fractional_pool_args *args)
{
    int axes = g->axes;
    g->first = t->rank - axes;
    if (t->rank < axes + 1 || t->rank > axes + 2)
        return kni_fail_op(KN_ERROR_SHAPE, NULL,
                           "x must be [channels, %d axes] or [batch, channels, %d axes]; got %S", axes, axes,
                           t);
    if (!kn_dtype_is_float((kn_dtype)t->dtype))
        return kni_fail_op(KN_ERROR_DTYPE, NULL, "does not take %T: convert with kn_cast()", (int)t->dtype);
    if ((window.rank != 1 && window.rank != axes) || (args->size.rank > 1 && args->size.rank != axes))
        return kni_fail_op(KN_ERROR_ARGUMENT, NULL, "the window has %d entries and size %d for %d axes",
                           window.rank, args->size.rank, axes);
    for (int i = 0; i < axes; i++) {
        double ratio = args->ratio[i] != 0 ? args->ratio[i] : args->ratio[0];
        int64_t size = t->dims[g->first + i];
        g->sizes[i] = size;
        g->window[i] = window.dims[window.rank == 1 ? 0 : i];
        if (args->size.rank) {
            g->out[i] = args->size.dims[args->size.rank == 1 ? 0 : i];
        } else {
            if (!(ratio > 0 && ratio < 1))
                return kni_fail_op(
                    KN_ERROR_ARGUMENT, NULL,
                    "the ratio of spatial axis %d is %g: give size, or a ratio above 0 and below 1", i,
                    ratio);
            g->out[i] = (int64_t)kni_floor_f64((double)size * ratio);
        }
        if (g->window[i] < 1 || g->out[i] < 1 || g->window[i] > size || g->out[i] > size - g->window[i] + 1)
            return kni_fail_op(
                KN_ERROR_SHAPE, NULL,
                "%D windows of %D do not fit into the size %D of spatial axis %d: at most size - window + 1",
                g->out[i], g->window[i], size, i);
    }
    return KN_OK;
}

/* The elements of each window along spatial axis i: positions [planes, out, window], i64, times the step of the axis. u is
   [planes]. */
static kn_tensor positions(const geometry *g, int i, kn_tensor u, int64_t step)
{
    int64_t out = g->out[i], last = g->sizes[i] - g->window[i];
    double alpha = out > 1 ? (double)last / (double)(out - 1) : 0;
    kn_tensor k = kn_keep(kn_arange(0, (double)out, 1, kn_dtype_of(u)));
    u = kn_keep(kn_unsqueeze(u, -1));
    kn_tensor begin = kn_cast(
        kn_sub(kn_floor(kn_mul_scalar(kn_add(u, k), alpha)), kn_floor(kn_mul_scalar(u, alpha))), KN_I64);
    /* The last window ends with the axis. */
    kn_tensor at_end = kn_equal_scalar(k, (double)(out - 1));
    begin = kn_where(at_end, kn_scalar_int(last, KN_I64), begin);
    kn_tensor inside = kn_arange(0, (double)g->window[i], 1, KN_I64);
    return kn_mul_scalar(kn_add(kn_unsqueeze(begin, -1), inside), (double)step);
}

/* Puts [planes, out, window] where axis i of [planes, out of all axes, window of all axes] is. */
static kn_tensor placed(const geometry *g, int i, kn_tensor x, int64_t planes)
{
    kn_shape shape = {.rank = 1 + 2 * g->axes, .dims = {planes}};
    for (int k = 0; k < g->axes; k++) {
        shape.dims[1 + k] = k == i ? g->out[k] : 1;
        shape.dims[1 + g->axes + k] = k == i ? g->window[k] : 1;
    }
    return kn_reshape(x, shape);
}

static kn_tensor window_index(const geometry *g, kn_tensor samples, int64_t planes)
{
    kn_tensor index = KN_NONE;
    int64_t step = 1;
    for (int i = g->axes - 1; i >= 0; i--) {
        /* As in PyTorch: samples are of width and height, but of depth, height and width. */
        kn_tensor u = kn_select(samples, 1, g->axes == 2 ? 1 - i : i);
        kn_tensor part = placed(g, i, positions(g, i, u, step), planes);
        index = index.bits ? kn_add(index, part) : part;
        step *= g->sizes[i];
    }
    return index;
}

/* Samples of shape [planes, axes]: those given, or random ones. Poisoned where the given ones have another shape. */
static kn_tensor samples_of(const geometry *g, const kni_type *t, kn_tensor given, int64_t planes)
{
    kn_dtype dtype = t->dtype == KN_F64 ? KN_F64 : KN_F32;
    if (!given.bits) return kn_random_uniform(KN_SHAPE(planes, g->axes), 0, 1, dtype);
    const kni_type *s = kni_type_of(given);
    int64_t batch = g->first == 2 ? t->dims[0] : 1, channels = t->dims[g->first - 1];
    if (s && (s->rank != 3 || s->dims[0] != batch || s->dims[1] != channels || s->dims[2] != g->axes ||
              !kn_dtype_is_float((kn_dtype)s->dtype))) {
        kni_fail_op(KN_ERROR_SHAPE, NULL, "samples must be floats [%D, %D, %d], not %T %S", batch, channels,
                    g->axes, (int)s->dtype, s);
        return kni_poison_latest();
    }
    return kn_reshape(kn_cast(given, dtype), KN_SHAPE(planes, g->axes));
}

static kn_pooled pooled(kni_call call, geometry *g, kn_tensor x, kn_ints window,
                        const kn_fractional_pool_args *args)
{
    const kni_type *t = kni_type_of(x);
    kn_tensor out[2];
    if (!t || fill_geometry(g, t, window, args)) {
        out[0] = out[1] = t ? kni_poison_latest() : kn_keep(kn_neg(x));
        kni_call_end_many(call, out, 2);
        return (kn_pooled){out[0], out[1]};
    }
    kni_type type = *t;
    kn_shape result = kni_shape_from_type(&type);
    int64_t planes = kni_count_dims(g->first, type.dims), plane = kni_count_dims(g->axes, g->sizes);
    int64_t outs = kni_count_dims(g->axes, g->out), inside = kni_count_dims(g->axes, g->window);
    for (int i = 0; i < g->axes; i++) result.dims[g->first + i] = g->out[i];
    x = kn_keep(x);
    kni_context before = kni_stand_by(x);
    kn_tensor samples = kn_keep(samples_of(g, &type, args->samples, planes));
    kn_tensor index = samples;
    if (kn_ok(samples))
        index = kn_keep(kn_reshape(window_index(g, samples, planes), KN_SHAPE(planes, outs * inside)));
    kni_stand_back(before);
    kn_tensor elements = kn_gather(kn_reshape(x, KN_SHAPE(planes, plane)), 1, index);
    kn_shape windows = KN_SHAPE(planes, outs, inside);
    kn_indexed best = kn_max_with_indices(kn_reshape(elements, windows), -1, true);
    kn_tensor where = kn_gather(kn_reshape(index, windows), -1, best.indices);
    out[0] = kn_reshape(best.values, result);
    out[1] = kn_reshape(where, result);
    kni_call_end_many(call, out, 2);
    return (kn_pooled){out[0], out[1]};
}

static kn_pooled fractional(const char *name, int axes, kn_tensor x, kn_ints window,
                            const kn_fractional_pool_args *args)
{
    static const kn_fractional_pool_args usual;
    geometry g = {.axes = axes};
    kni_call call = kni_call_begin(name);
    return pooled(call, &g, x, window, args ? args : &usual);
}

kn_pooled kn_fractional_max_pool2d(kn_tensor x, kn_ints window, const kn_fractional_pool_args *args)
{
    return fractional("fractional_max_pool2d", 2, x, window, args);
}
kn_pooled kn_fractional_max_pool3d(kn_tensor x, kn_ints window, const kn_fractional_pool_args *args)
{
    return fractional("fractional_max_pool3d", 3, x, window, args);
}
