/* Pooling layers. */
#include "nn/layer.h"
#include "nn/window.h"
#include "support/failure.h"
#include <kn/nn/pool.h>
#include <kn/tensor.h>

static const kn_field max_fields[] = {
    KN_INT_LIST(kn_nn_pool, kernel_size), KN_INT_LIST(kn_nn_pool, stride),
    KN_INT_LIST(kn_nn_pool, padding),     KN_INT_LIST(kn_nn_pool, padding_end),
    KN_INT_LIST(kn_nn_pool, dilation),    KN_FLAG(kn_nn_pool, same),
    KN_FLAG(kn_nn_pool, ceil_mode),       {0}};
static const kn_field avg_fields[] = {
    KN_INT_LIST(kn_nn_pool, kernel_size), KN_INT_LIST(kn_nn_pool, stride), KN_INT_LIST(kn_nn_pool, padding),
    KN_INT_LIST(kn_nn_pool, padding_end), KN_FLAG(kn_nn_pool, same),       KN_FLAG(kn_nn_pool, ceil_mode),
    KN_FLAG(kn_nn_pool, exclude_padding), KN_INT(kn_nn_pool, divisor),     {0}};
static const kn_field adaptive_fields[] = {KN_INT_LIST(kn_nn_adaptive_pool, output_size), {0}};

const kn_module_type kn_nn_max_pool1d_type = {"MaxPool1d", sizeof(kn_nn_pool), max_fields};
const kn_module_type kn_nn_max_pool2d_type = {"MaxPool2d", sizeof(kn_nn_pool), max_fields};
const kn_module_type kn_nn_max_pool3d_type = {"MaxPool3d", sizeof(kn_nn_pool), max_fields};
const kn_module_type kn_nn_avg_pool1d_type = {"AvgPool1d", sizeof(kn_nn_pool), avg_fields};
const kn_module_type kn_nn_avg_pool2d_type = {"AvgPool2d", sizeof(kn_nn_pool), avg_fields};
const kn_module_type kn_nn_avg_pool3d_type = {"AvgPool3d", sizeof(kn_nn_pool), avg_fields};
const kn_module_type kn_nn_adaptive_max_pool1d_type = {"AdaptiveMaxPool1d", sizeof(kn_nn_adaptive_pool),
                                                       adaptive_fields};
const kn_module_type kn_nn_adaptive_max_pool2d_type = {"AdaptiveMaxPool2d", sizeof(kn_nn_adaptive_pool),
                                                       adaptive_fields};
const kn_module_type kn_nn_adaptive_max_pool3d_type = {"AdaptiveMaxPool3d", sizeof(kn_nn_adaptive_pool),
                                                       adaptive_fields};
const kn_module_type kn_nn_adaptive_avg_pool1d_type = {"AdaptiveAvgPool1d", sizeof(kn_nn_adaptive_pool),
                                                       adaptive_fields};
const kn_module_type kn_nn_adaptive_avg_pool2d_type = {"AdaptiveAvgPool2d", sizeof(kn_nn_adaptive_pool),
                                                       adaptive_fields};
const kn_module_type kn_nn_adaptive_avg_pool3d_type = {"AdaptiveAvgPool3d", sizeof(kn_nn_adaptive_pool),
                                                       adaptive_fields};

static kn_status init(const char *function, const kn_module_type *type, kn_nn_pool *m, kn_ints window,
                      const kn_nn_pool_args *args, int32_t rank)
{
    static const kn_nn_pool_args usual = KN_NN_POOL_ARGS_DEFAULTS;
    if (!args) args = &usual;
    kn_status s = kni_window_check(function, window, rank);
    if (s == KN_OK && args->divisor < 0)
        s = kni_failure(KN_ERROR_ARGUMENT, "%s: the divisor is %lld; it must be positive, or 0 for none",
                        function, (long long)args->divisor);
    kn_nn_pool made = {.kernel_size = window, .same = args->same, .ceil_mode = args->ceil_mode};
    made.exclude_padding = args->exclude_padding;
    made.divisor = args->divisor;
    if (s == KN_OK) {
        made.stride = kni_window_strides(args->stride, window);
        made.dilation = kni_window_steps(args->dilation, rank);
        made.padding = kni_window_paddings(args->padding, rank);
        made.padding_end = kni_window_ends(args->padding_end, made.padding);
    }
    for (int i = 0; i < rank && s == KN_OK; i++) {
        s = kni_layer_positive(function, "a stride", made.stride.dims[i]);
        if (s == KN_OK) s = kni_layer_positive(function, "a dilation", made.dilation.dims[i]);
        if (s == KN_OK && (made.padding.dims[i] < 0 || 2 * made.padding.dims[i] > window.dims[i]))
            s = kni_failure(KN_ERROR_ARGUMENT,
                            "%s: the padding %lld is negative or more than half of the window %lld", function,
                            (long long)made.padding.dims[i], (long long)window.dims[i]);
    }
    return kni_layer_finish((kn_module){&made, type}, m, s);
}

static kn_pool_args args_of(const kn_nn_pool *m, kn_tensor x)
{
    kn_pool_args a = {
        .ceil_mode = m->ceil_mode, .exclude_padding = m->exclude_padding, .divisor = m->divisor};
    kni_window_padding p = {m->padding, m->padding_end};
    if (m->same) p = kni_window_same(x, m->kernel_size, m->stride, m->dilation);
    for (int i = 0; i < m->kernel_size.rank && i < 3; i++) {
        a.stride[i] = m->stride.dims[i];
        a.dilation[i] = m->dilation.dims[i];
        a.padding[i] = kn_int_given(p.before.dims[i]);
        a.padding_end[i] = kn_int_given(p.after.dims[i]);
    }
    return a;
}

typedef kn_tensor (*pool_fn)(kn_tensor x, kn_ints window, const kn_pool_args *args);

static kn_tensor forward(const char *function, const kn_nn_pool *m, kn_tensor x, int32_t rank, pool_fn pool)
{
    if (m->kernel_size.rank != rank)
        return kni_poisoned(KN_ERROR_ARGUMENT, "%s: the layer is not initialised, or has another rank",
                            function);
    kn_pool_args args = args_of(m, x);
    return pool(x, m->kernel_size, &args);
}

kn_status kn_nn_max_pool1d_init(kn_nn_max_pool1d *m, kn_ints kernel_size, const kn_nn_pool_args *args)
{
    return init("kn_nn_max_pool1d_init", &kn_nn_max_pool1d_type, m, kernel_size, args, 1);
}

kn_tensor kn_nn_max_pool1d_forward(const kn_nn_max_pool1d *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_max_pool1d, m);
    return forward("kn_nn_max_pool1d_forward", m, x, 1, kn_max_pool1d);
}

kn_status kn_nn_max_pool2d_init(kn_nn_max_pool2d *m, kn_ints kernel_size, const kn_nn_pool_args *args)
{
    return init("kn_nn_max_pool2d_init", &kn_nn_max_pool2d_type, m, kernel_size, args, 2);
}

kn_tensor kn_nn_max_pool2d_forward(const kn_nn_max_pool2d *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_max_pool2d, m);
    return forward("kn_nn_max_pool2d_forward", m, x, 2, kn_max_pool2d);
}

kn_status kn_nn_max_pool3d_init(kn_nn_max_pool3d *m, kn_ints kernel_size, const kn_nn_pool_args *args)
{
    return init("kn_nn_max_pool3d_init", &kn_nn_max_pool3d_type, m, kernel_size, args, 3);
}

kn_tensor kn_nn_max_pool3d_forward(const kn_nn_max_pool3d *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_max_pool3d, m);
    return forward("kn_nn_max_pool3d_forward", m, x, 3, kn_max_pool3d);
}

kn_status kn_nn_avg_pool1d_init(kn_nn_avg_pool1d *m, kn_ints kernel_size, const kn_nn_pool_args *args)
{
    return init("kn_nn_avg_pool1d_init", &kn_nn_avg_pool1d_type, m, kernel_size, args, 1);
}

kn_tensor kn_nn_avg_pool1d_forward(const kn_nn_avg_pool1d *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_avg_pool1d, m);
    return forward("kn_nn_avg_pool1d_forward", m, x, 1, kn_avg_pool1d);
}

kn_status kn_nn_avg_pool2d_init(kn_nn_avg_pool2d *m, kn_ints kernel_size, const kn_nn_pool_args *args)
{
    return init("kn_nn_avg_pool2d_init", &kn_nn_avg_pool2d_type, m, kernel_size, args, 2);
}

kn_tensor kn_nn_avg_pool2d_forward(const kn_nn_avg_pool2d *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_avg_pool2d, m);
    return forward("kn_nn_avg_pool2d_forward", m, x, 2, kn_avg_pool2d);
}

kn_status kn_nn_avg_pool3d_init(kn_nn_avg_pool3d *m, kn_ints kernel_size, const kn_nn_pool_args *args)
{
    return init("kn_nn_avg_pool3d_init", &kn_nn_avg_pool3d_type, m, kernel_size, args, 3);
}

kn_tensor kn_nn_avg_pool3d_forward(const kn_nn_avg_pool3d *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_avg_pool3d, m);
    return forward("kn_nn_avg_pool3d_forward", m, x, 3, kn_avg_pool3d);
}

/* ---- adaptive */

static kn_status init_adaptive(const char *function, kn_nn_adaptive_pool *m, kn_ints size, int32_t rank)
{
    kn_status s = KN_OK;
    if (!m || size.rank != rank)
        s = kni_failure(KN_ERROR_ARGUMENT,
                        "%s: the module is NULL or output_size has %d entries; it needs %d", function,
                        (int)size.rank, (int)rank);
    for (int i = 0; i < rank && s == KN_OK; i++)
        if (size.dims[i] < 1 && size.dims[i] != -1)
            s = kni_failure(KN_ERROR_ARGUMENT, "%s: the size %lld is neither positive nor -1", function,
                            (long long)size.dims[i]);
    if (s != KN_OK) return kni_layer_clear(m, sizeof *m, s);
    *m = (kn_nn_adaptive_pool){size};
    return KN_OK;
}

/* The values alone; the positions are dropped at once. */
static kn_tensor values_of(kn_pooled p)
{
    kn_drop(p.indices);
    return p.values;
}

kn_status kn_nn_adaptive_avg_pool1d_init(kn_nn_adaptive_avg_pool1d *m, kn_ints output_size)
{
    return init_adaptive("kn_nn_adaptive_avg_pool1d_init", m, output_size, 1);
}

kn_tensor kn_nn_adaptive_avg_pool1d_forward(const kn_nn_adaptive_avg_pool1d *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_adaptive_avg_pool1d, m);
    return kn_adaptive_avg_pool1d(x, m->output_size);
}

kn_status kn_nn_adaptive_avg_pool2d_init(kn_nn_adaptive_avg_pool2d *m, kn_ints output_size)
{
    return init_adaptive("kn_nn_adaptive_avg_pool2d_init", m, output_size, 2);
}

kn_tensor kn_nn_adaptive_avg_pool2d_forward(const kn_nn_adaptive_avg_pool2d *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_adaptive_avg_pool2d, m);
    return kn_adaptive_avg_pool2d(x, m->output_size);
}

kn_status kn_nn_adaptive_avg_pool3d_init(kn_nn_adaptive_avg_pool3d *m, kn_ints output_size)
{
    return init_adaptive("kn_nn_adaptive_avg_pool3d_init", m, output_size, 3);
}

kn_tensor kn_nn_adaptive_avg_pool3d_forward(const kn_nn_adaptive_avg_pool3d *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_adaptive_avg_pool3d, m);
    return kn_adaptive_avg_pool3d(x, m->output_size);
}

kn_status kn_nn_adaptive_max_pool1d_init(kn_nn_adaptive_max_pool1d *m, kn_ints output_size)
{
    return init_adaptive("kn_nn_adaptive_max_pool1d_init", m, output_size, 1);
}

kn_tensor kn_nn_adaptive_max_pool1d_forward(const kn_nn_adaptive_max_pool1d *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_adaptive_max_pool1d, m);
    return values_of(kn_adaptive_max_pool1d(x, m->output_size));
}

kn_status kn_nn_adaptive_max_pool2d_init(kn_nn_adaptive_max_pool2d *m, kn_ints output_size)
{
    return init_adaptive("kn_nn_adaptive_max_pool2d_init", m, output_size, 2);
}

kn_tensor kn_nn_adaptive_max_pool2d_forward(const kn_nn_adaptive_max_pool2d *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_adaptive_max_pool2d, m);
    return values_of(kn_adaptive_max_pool2d(x, m->output_size));
}

kn_status kn_nn_adaptive_max_pool3d_init(kn_nn_adaptive_max_pool3d *m, kn_ints output_size)
{
    return init_adaptive("kn_nn_adaptive_max_pool3d_init", m, output_size, 3);
}

kn_tensor kn_nn_adaptive_max_pool3d_forward(const kn_nn_adaptive_max_pool3d *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_adaptive_max_pool3d, m);
    return values_of(kn_adaptive_max_pool3d(x, m->output_size));
}
