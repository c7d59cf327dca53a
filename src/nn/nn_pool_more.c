/* Pooling layers by powers and at random places. */
#include "nn/layer.h"
#include "nn/window.h"
#include "support/failure.h"
#include <kn/nn/pool.h>
#include <kn/tensor.h>

/* ---- powers */

static const kn_field lp_fields[] = {KN_REAL(kn_nn_lp_pool, norm_type),
                                     KN_INT_LIST(kn_nn_lp_pool, kernel_size),
                                     KN_INT_LIST(kn_nn_lp_pool, stride),
                                     KN_FLAG(kn_nn_lp_pool, ceil_mode),
                                     {0}};
const kn_module_type kn_nn_lp_pool1d_type = {"LPPool1d", sizeof(kn_nn_lp_pool), lp_fields};
const kn_module_type kn_nn_lp_pool2d_type = {"LPPool2d", sizeof(kn_nn_lp_pool), lp_fields};
const kn_module_type kn_nn_lp_pool3d_type = {"LPPool3d", sizeof(kn_nn_lp_pool), lp_fields};

static kn_status init_lp(const char *function, const kn_module_type *type, kn_nn_lp_pool *m, double norm_type,
                         kn_ints window, const kn_nn_lp_pool_args *args, int32_t rank)
{
    static const kn_nn_lp_pool_args usual = KN_NN_LP_POOL_ARGS_DEFAULTS;
    if (!args) args = &usual;
    kn_status s = kni_window_check(function, window, rank);
    if (s == KN_OK) s = kni_layer_range(function, "norm_type", norm_type, -KNI_ANY, __builtin_inf());
    if (s == KN_OK && norm_type == 0)
        s = kni_failure(KN_ERROR_ARGUMENT, "%s: norm_type is 0; it must be another number", function);
    kn_nn_lp_pool made = {.norm_type = norm_type, .kernel_size = window, .ceil_mode = args->ceil_mode};
    if (s == KN_OK) made.stride = kni_window_strides(args->stride, window);
    for (int i = 0; i < rank && s == KN_OK; i++)
        s = kni_layer_positive(function, "a stride", made.stride.dims[i]);
    return kni_layer_finish((kn_module){&made, type}, m, s);
}

typedef kn_tensor lp_fn(kn_tensor x, double order, kn_ints window, const kn_pool_args *args);

static kn_tensor forward_lp(const char *function, const kn_nn_lp_pool *m, kn_tensor x, int32_t rank,
                            lp_fn *pool)
{
    if (m->kernel_size.rank != rank)
        return kni_poisoned(KN_ERROR_ARGUMENT, "%s: the layer is not initialised, or has another rank",
                            function);
    kn_pool_args args = {.ceil_mode = m->ceil_mode};
    for (int i = 0; i < rank; i++) args.stride[i] = m->stride.dims[i];
    return pool(x, m->norm_type, m->kernel_size, &args);
}

kn_status kn_nn_lp_pool1d_init(kn_nn_lp_pool1d *m, double norm_type, kn_ints kernel_size,
                               const kn_nn_lp_pool_args *args)
{
    return init_lp("kn_nn_lp_pool1d_init", &kn_nn_lp_pool1d_type, m, norm_type, kernel_size, args, 1);
}

kn_status kn_nn_lp_pool2d_init(kn_nn_lp_pool2d *m, double norm_type, kn_ints kernel_size,
                               const kn_nn_lp_pool_args *args)
{
    return init_lp("kn_nn_lp_pool2d_init", &kn_nn_lp_pool2d_type, m, norm_type, kernel_size, args, 2);
}

kn_status kn_nn_lp_pool3d_init(kn_nn_lp_pool3d *m, double norm_type, kn_ints kernel_size,
                               const kn_nn_lp_pool_args *args)
{
    return init_lp("kn_nn_lp_pool3d_init", &kn_nn_lp_pool3d_type, m, norm_type, kernel_size, args, 3);
}

kn_tensor kn_nn_lp_pool1d_forward(const kn_nn_lp_pool1d *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_lp_pool1d, m);
    return forward_lp("kn_nn_lp_pool1d_forward", m, x, 1, kn_lp_pool1d);
}

kn_tensor kn_nn_lp_pool2d_forward(const kn_nn_lp_pool2d *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_lp_pool2d, m);
    return forward_lp("kn_nn_lp_pool2d_forward", m, x, 2, kn_lp_pool2d);
}

kn_tensor kn_nn_lp_pool3d_forward(const kn_nn_lp_pool3d *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_lp_pool3d, m);
    return forward_lp("kn_nn_lp_pool3d_forward", m, x, 3, kn_lp_pool3d);
}

/* ---- random places */

static const kn_field fractional_fields[] = {
    KN_INT_LIST(kn_nn_fractional_max_pool, kernel_size), KN_INT_LIST(kn_nn_fractional_max_pool, output_size),
    KN_REAL(kn_nn_fractional_max_pool, ratio_first),     KN_REAL(kn_nn_fractional_max_pool, ratio_second),
    KN_REAL(kn_nn_fractional_max_pool, ratio_third),     {0}};
const kn_module_type kn_nn_fractional_max_pool2d_type = {
    "FractionalMaxPool2d", sizeof(kn_nn_fractional_max_pool), fractional_fields};
const kn_module_type kn_nn_fractional_max_pool3d_type = {
    "FractionalMaxPool3d", sizeof(kn_nn_fractional_max_pool), fractional_fields};

static kn_status init_fractional(const char *function, const kn_module_type *type,
                                 kn_nn_fractional_max_pool *m, kn_ints window,
                                 const kn_nn_fractional_max_pool_args *args, int32_t rank)
{
    static const kn_nn_fractional_max_pool_args usual = KN_NN_FRACTIONAL_MAX_POOL_ARGS_DEFAULTS;
    if (!args) args = &usual;
    kn_status s = kni_window_check(function, window, rank);
    double ratios[3] = {0, 0, 0};
    kn_nn_fractional_max_pool made = {.kernel_size = window, .output_size = args->output_size};
    if (s == KN_OK && args->output_size.rank) s = kni_window_check(function, args->output_size, rank);
    for (int i = 0; i < rank && s == KN_OK && !args->output_size.rank; i++) {
        ratios[i] = args->ratio[i] != 0 ? args->ratio[i] : args->ratio[0];
        if (!(ratios[i] > 0 && ratios[i] < 1))
            s = kni_failure(KN_ERROR_ARGUMENT,
                            "%s: give an output_size, or ratios above 0 and below 1, not %g", function,
                            ratios[i]);
    }
    made.ratio_first = ratios[0];
    made.ratio_second = ratios[1];
    made.ratio_third = ratios[2];
    return kni_layer_finish((kn_module){&made, type}, m, s);
}

typedef kn_pooled fractional_fn(kn_tensor x, kn_ints window, const kn_fractional_pool_args *args);

static kn_tensor forward_fractional(const char *function, const kn_nn_fractional_max_pool *m, kn_tensor x,
                                    int32_t rank, fractional_fn *pool)
{
    if (m->kernel_size.rank != rank)
        return kni_poisoned(KN_ERROR_ARGUMENT, "%s: the layer is not initialised, or has another rank",
                            function);
    kn_fractional_pool_args args = {.size = m->output_size,
                                    .ratio = {m->ratio_first, m->ratio_second, m->ratio_third}};
    kn_pooled p = pool(x, m->kernel_size, &args);
    kn_drop(p.indices);
    return p.values;
}

kn_status kn_nn_fractional_max_pool2d_init(kn_nn_fractional_max_pool2d *m, kn_ints kernel_size,
                                           const kn_nn_fractional_max_pool_args *args)
{
    return init_fractional("kn_nn_fractional_max_pool2d_init", &kn_nn_fractional_max_pool2d_type, m,
                           kernel_size, args, 2);
}

kn_status kn_nn_fractional_max_pool3d_init(kn_nn_fractional_max_pool3d *m, kn_ints kernel_size,
                                           const kn_nn_fractional_max_pool_args *args)
{
    return init_fractional("kn_nn_fractional_max_pool3d_init", &kn_nn_fractional_max_pool3d_type, m,
                           kernel_size, args, 3);
}

kn_tensor kn_nn_fractional_max_pool2d_forward(const kn_nn_fractional_max_pool2d *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_fractional_max_pool2d, m);
    return forward_fractional("kn_nn_fractional_max_pool2d_forward", m, x, 2, kn_fractional_max_pool2d);
}

kn_tensor kn_nn_fractional_max_pool3d_forward(const kn_nn_fractional_max_pool3d *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_fractional_max_pool3d, m);
    return forward_fractional("kn_nn_fractional_max_pool3d_forward", m, x, 3, kn_fractional_max_pool3d);
}
