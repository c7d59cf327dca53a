/* Batch normalisation: the statistics of the batch while training, their running averages otherwise. */
#include "core/objects.h"
#include "nn/layer.h"
#include "support/failure.h"
#include <kn/elementwise.h>
#include <kn/functional.h>
#include <kn/nn/normalization.h>
#include <kn/tensor.h>

const kn_module_type kn_nn_batch_norm_type = {
    "BatchNorm", sizeof(kn_nn_batch_norm),
    (const kn_field[]){KN_PARAM(kn_nn_batch_norm, weight),
                       KN_PARAM(kn_nn_batch_norm, bias),
                       KN_BUFFER(kn_nn_batch_norm, running_mean),
                       KN_BUFFER(kn_nn_batch_norm, running_var),
                       KN_BUFFER(kn_nn_batch_norm, num_batches_tracked),
                       KN_INT(kn_nn_batch_norm, num_features),
                       KN_REAL(kn_nn_batch_norm, eps),
                       KN_REAL(kn_nn_batch_norm, momentum),
                       KN_FLAG(kn_nn_batch_norm, cumulative),
                       KN_MODE(kn_nn_batch_norm, training),
                       {0}}};

static kn_status make_params(kn_nn_batch_norm *m, const kn_nn_batch_norm_args *args)
{
    kn_shape shape = KN_SHAPE(m->num_features);
    kn_dtype dtype = kni_dtype_or_f32(args->dtype);
    kn_initializer ones = {KN_INIT_ONES, 0, 0, 0, false}, zeros = {KN_INIT_ZEROS, 0, 0, 0, false};
    kn_status s = KN_OK;
    if (!args->no_affine) s = kni_layer_param(&m->weight, NULL, ones, shape, dtype, 0);
    if (!args->no_affine && s == KN_OK) s = kni_layer_param(&m->bias, NULL, zeros, shape, dtype, 0);
    if (args->no_tracking || s != KN_OK) return s;
    return kni_running_make(&m->running_mean, &m->running_var, &m->num_batches_tracked, m->num_features,
                            dtype);
}

kn_status kn_nn_batch_norm_init(kn_nn_batch_norm *m, int64_t num_features, const kn_nn_batch_norm_args *args)
{
    static const kn_nn_batch_norm_args usual = KN_NN_BATCH_NORM_ARGS_DEFAULTS;
    if (!args) args = &usual;
    kn_nn_batch_norm made = {.num_features = num_features, .cumulative = args->cumulative, .training = true};
    made.eps = kn_real_or(args->eps, usual.eps);
    made.momentum = kn_real_or(args->momentum, usual.momentum);
    kn_status s = kni_layer_positive("kn_nn_batch_norm_init", "num_features", num_features);
    if (s == KN_OK) s = kni_layer_range("kn_nn_batch_norm_init", "eps", made.eps, 0, KNI_ANY);
    if (s == KN_OK) s = kni_layer_range("kn_nn_batch_norm_init", "momentum", made.momentum, 0, 1);
    if (s == KN_OK) s = make_params(&made, args);
    return kni_layer_finish(KN_MODULE_OF(kn_nn_batch_norm, &made), m, s);
}

/* ---- running averages */

kn_status kni_running_make(kn_param *mean, kn_param *variance, kn_param *count, int64_t channels,
                           kn_dtype dtype)
{
    kn_status s = kni_layer_buffer(mean, 0, KN_SHAPE(channels), dtype);
    if (s == KN_OK) s = kni_layer_buffer(variance, 1, KN_SHAPE(channels), dtype);
    if (s == KN_OK) s = kni_layer_buffer(count, 0, KN_SCALAR_SHAPE, KN_I64);
    return s;
}

/* The average moves towards the batch's value, by a step that the count gives or by the momentum, a number that needs no cast. Params
   keep their handle, so the module itself does not change. */
static kn_status move_average(const kni_running *r, kn_param average, kn_tensor batch, kn_tensor step)
{
    kn_tensor old = kn_value(average);
    const kn_dtype dtype = kn_dtype_of(old);
    step = r->cumulative ? kn_cast(step, dtype) : kn_scalar(r->momentum, dtype);
    return kn_param_set(&average, kn_lerp(old, kn_cast(batch, dtype), step));
}

static kn_status track(const kni_running *r, kn_tensor mean, kn_tensor variance, double n)
{
    kn_param count = r->count;
    kn_status s = kn_param_set(&count, kn_add_scalar(kn_value(count), 1));
    if (s != KN_OK) return s;
    kn_tensor step = KN_NONE;
    if (r->cumulative) step = kn_keep(kn_reciprocal(kn_cast(kn_value(count), KN_F64)));
    s = move_average(r, r->mean, kn_detach(mean), step);
    if (s == KN_OK) s = move_average(r, r->variance, kn_mul_scalar(kn_detach(variance), n / (n - 1)), step);
    return s;
}

kn_status kni_running_move(const kni_running *r, kn_tensor mean, kn_tensor variance, double n)
{
    kn_no_grad_begin();
    kn_status s = track(r, mean, variance, n);
    kn_no_grad_end();
    return s;
}

kn_tensor kn_nn_batch_norm_forward(const kn_nn_batch_norm *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_batch_norm, m);
    kn_tensor weight = kn_value(m->weight), bias = kn_value(m->bias);
    bool tracked = m->running_mean.handle.bits != 0;
    if (tracked && !m->training)
        return kn_batch_norm(x, kn_value(m->running_mean), kn_value(m->running_var), weight, bias, m->eps);
    if (kn_ok(x) && (kn_rank(x) < 2 || kn_size(x, 1) != m->num_features))
        return kni_poisoned(KN_ERROR_SHAPE,
                            "kn_nn_batch_norm_forward: x has %lld channels in axis 1, the layer %lld",
                            (long long)(kn_rank(x) > 1 ? kn_size(x, 1) : 0), (long long)m->num_features);
    double n = kn_ok(x) ? (double)kn_count(x) / (double)m->num_features : 0;
    if (n == 1 && m->training)
        return kn_poison(KN_ERROR_SHAPE,
                         "kn_nn_batch_norm_forward: training needs more than one value for each channel");
    kn_scope scope = kn_scope_begin();
    kn_batch_norm_result r = kn_batch_norm_train(x, weight, bias, m->eps);
    if (!tracked || !m->training || !kn_ok(r.y) || n < 2) return kn_scope_end(scope, r.y);
    r.mean = kn_keep(r.mean);
    r.variance = kn_keep(r.variance);
    kni_running running = {m->running_mean, m->running_var, m->num_batches_tracked, m->momentum,
                           m->cumulative};
    kn_status s = kni_running_move(&running, r.mean, r.variance, n);
    return kn_scope_end(scope, s == KN_OK ? r.y : kni_poisoned(s, "%s", kni_failure_taken()));
}
