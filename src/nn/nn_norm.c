/* Group, instance, layer, root-mean-square and local response normalisation. */
#include "core/objects.h"
#include "nn/layer.h"
#include "support/failure.h"
#include <kn/functional.h>
#include <kn/nn/normalization.h>
#include <kn/tensor.h>

static const kn_initializer ones = {KN_INIT_ONES, 0, 0, 0, false}, zeros = {KN_INIT_ZEROS, 0, 0, 0, false};

/* weight ones and bias zeros of one shape; a NULL one is left absent. */
static kn_status make_affine(kn_param *weight, kn_param *bias, kn_shape shape, kn_dtype dtype)
{
    kn_status s = weight ? kni_layer_param(weight, NULL, ones, shape, dtype, 0) : KN_OK;
    if (s == KN_OK && bias) s = kni_layer_param(bias, NULL, zeros, shape, dtype, 0);
    return s;
}

static kn_status check_sizes(const char *function, kn_shape shape)
{
    kn_status s = kni_layer_positive(function, "the rank of normalized_shape", shape.rank);
    if (shape.rank > KN_MAX_RANK)
        s = kni_failure(KN_ERROR_ARGUMENT, "%s: the rank of normalized_shape is %d; the highest is %d",
                        function, (int)shape.rank, KN_MAX_RANK);
    for (int i = 0; i < shape.rank && s == KN_OK; i++)
        s = kni_layer_positive(function, "a size", shape.dims[i]);
    return s;
}

/* ---- groups */

const kn_module_type kn_nn_group_norm_type = {"GroupNorm", sizeof(kn_nn_group_norm),
                                              (const kn_field[]){KN_PARAM(kn_nn_group_norm, weight),
                                                                 KN_PARAM(kn_nn_group_norm, bias),
                                                                 KN_INT(kn_nn_group_norm, num_groups),
                                                                 KN_INT(kn_nn_group_norm, num_channels),
                                                                 KN_REAL(kn_nn_group_norm, eps),
                                                                 {0}}};

kn_status kn_nn_group_norm_init(kn_nn_group_norm *m, int64_t num_groups, int64_t num_channels,
                                const kn_nn_group_norm_args *args)
{
    static const kn_nn_group_norm_args usual = KN_NN_GROUP_NORM_ARGS_DEFAULTS;
    if (!args) args = &usual;
    kn_nn_group_norm made = {.num_groups = num_groups, .num_channels = num_channels};
    made.eps = kn_real_or(args->eps, usual.eps);
    kn_status s = kni_layer_positive("kn_nn_group_norm_init", "num_groups", num_groups);
    if (s == KN_OK) s = kni_layer_range("kn_nn_group_norm_init", "eps", made.eps, 0, KNI_ANY);
    if (s == KN_OK) s = kni_layer_positive("kn_nn_group_norm_init", "num_channels", num_channels);
    if (s == KN_OK && num_channels % num_groups)
        s = kni_failure(KN_ERROR_ARGUMENT,
                        "kn_nn_group_norm_init: %lld channels cannot be cut into %lld equal groups",
                        (long long)num_channels, (long long)num_groups);
    if (s == KN_OK && !args->no_affine)
        s = make_affine(&made.weight, &made.bias, KN_SHAPE(num_channels), args->dtype);
    return kni_layer_finish(KN_MODULE_OF(kn_nn_group_norm, &made), m, s);
}

kn_tensor kn_nn_group_norm_forward(const kn_nn_group_norm *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_group_norm, m);
    return kn_group_norm(x, kn_value(m->weight), kn_value(m->bias), m->num_groups, m->eps);
}

/* ---- instances */

const kn_module_type kn_nn_instance_norm_type = {
    "InstanceNorm", sizeof(kn_nn_instance_norm),
    (const kn_field[]){KN_PARAM(kn_nn_instance_norm, weight),
                       KN_PARAM(kn_nn_instance_norm, bias),
                       KN_BUFFER(kn_nn_instance_norm, running_mean),
                       KN_BUFFER(kn_nn_instance_norm, running_var),
                       KN_BUFFER(kn_nn_instance_norm, num_batches_tracked),
                       KN_INT(kn_nn_instance_norm, num_features),
                       KN_REAL(kn_nn_instance_norm, eps),
                       KN_REAL(kn_nn_instance_norm, momentum),
                       KN_MODE(kn_nn_instance_norm, training),
                       {0}}};

kn_status kn_nn_instance_norm_init(kn_nn_instance_norm *m, int64_t num_features,
                                   const kn_nn_instance_norm_args *args)
{
    static const kn_nn_instance_norm_args usual = KN_NN_INSTANCE_NORM_ARGS_DEFAULTS;
    if (!args) args = &usual;
    kn_nn_instance_norm made = {.num_features = num_features, .training = true};
    made.eps = kn_real_or(args->eps, usual.eps);
    made.momentum = kn_real_or(args->momentum, usual.momentum);
    kn_status s = kni_layer_positive("kn_nn_instance_norm_init", "num_features", num_features);
    if (s == KN_OK) s = kni_layer_range("kn_nn_instance_norm_init", "eps", made.eps, 0, KNI_ANY);
    if (s == KN_OK) s = kni_layer_range("kn_nn_instance_norm_init", "momentum", made.momentum, 0, 1);
    if (s == KN_OK && args->affine)
        s = make_affine(&made.weight, &made.bias, KN_SHAPE(num_features), args->dtype);
    if (s == KN_OK && args->tracking)
        s = kni_running_make(&made.running_mean, &made.running_var, &made.num_batches_tracked, num_features,
                             kni_dtype_or_f32(args->dtype));
    return kni_layer_finish(KN_MODULE_OF(kn_nn_instance_norm, &made), m, s);
}

/* Normalises by the statistics of the samples and moves the running averages. */
static kn_tensor normalise_and_track(const kn_nn_instance_norm *m, kn_tensor x, kn_tensor weight,
                                     kn_tensor bias)
{
    double n = (double)kn_count(x) / (double)(kn_size(x, 0) * m->num_features);
    if (!(n >= 2))
        return kn_poison(KN_ERROR_SHAPE, "kn_nn_instance_norm_forward: training with running averages needs "
                                         "a sample and more than one value "
                                         "for each of its channels");
    kn_scope scope = kn_scope_begin();
    kn_batch_norm_result r = kn_instance_norm_train(x, weight, bias, m->eps);
    if (!kn_ok(r.y)) return kn_scope_end(scope, r.y);
    kni_running running = {m->running_mean, m->running_var, m->num_batches_tracked, m->momentum, false};
    kn_status s = kni_running_move(&running, kn_keep(r.mean), kn_keep(r.variance), n);
    return kn_scope_end(scope, s == KN_OK ? r.y : kni_poisoned(s, "%s", kni_failure_taken()));
}

kn_tensor kn_nn_instance_norm_forward(const kn_nn_instance_norm *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_instance_norm, m);
    kn_tensor weight = kn_value(m->weight), bias = kn_value(m->bias);
    if (!m->running_mean.handle.bits || !kn_ok(x)) return kn_instance_norm(x, weight, bias, m->eps);
    if (kn_rank(x) < 3 || kn_size(x, 1) != m->num_features)
        return kni_poisoned(KN_ERROR_SHAPE,
                            "kn_nn_instance_norm_forward: x must be [batch, %lld channels, ...] of rank 3 or "
                            "more; it has rank %d "
                            "and %lld channels",
                            (long long)m->num_features, (int)kn_rank(x),
                            (long long)(kn_rank(x) > 1 ? kn_size(x, 1) : 0));
    if (m->training) return normalise_and_track(m, x, weight, bias);
    return kn_batch_norm(x, kn_value(m->running_mean), kn_value(m->running_var), weight, bias, m->eps);
}

/* ---- layers */

const kn_module_type kn_nn_layer_norm_type = {
    "LayerNorm", sizeof(kn_nn_layer_norm),
    (const kn_field[]){KN_PARAM(kn_nn_layer_norm, weight),
                       KN_PARAM(kn_nn_layer_norm, bias),
                       KN_INT_LIST(kn_nn_layer_norm, normalized_shape),
                       KN_REAL(kn_nn_layer_norm, eps),
                       {0}}};

kn_status kn_nn_layer_norm_init(kn_nn_layer_norm *m, kn_shape normalized_shape,
                                const kn_nn_layer_norm_args *args)
{
    static const kn_nn_layer_norm_args usual = KN_NN_LAYER_NORM_ARGS_DEFAULTS;
    if (!args) args = &usual;
    kn_nn_layer_norm made = {.normalized_shape = normalized_shape, .eps = kn_real_or(args->eps, usual.eps)};
    kn_status s = check_sizes("kn_nn_layer_norm_init", normalized_shape);
    if (s == KN_OK) s = kni_layer_range("kn_nn_layer_norm_init", "eps", made.eps, 0, KNI_ANY);
    if (s == KN_OK && !args->no_affine)
        s = make_affine(&made.weight, args->no_bias ? NULL : &made.bias, normalized_shape, args->dtype);
    return kni_layer_finish(KN_MODULE_OF(kn_nn_layer_norm, &made), m, s);
}

kn_tensor kn_nn_layer_norm_forward(const kn_nn_layer_norm *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_layer_norm, m);
    return kn_layer_norm(x, kn_value(m->weight), kn_value(m->bias), m->normalized_shape.rank, m->eps);
}

/* ---- root mean squares */

const kn_module_type kn_nn_rms_norm_type = {"RmsNorm", sizeof(kn_nn_rms_norm),
                                            (const kn_field[]){KN_PARAM(kn_nn_rms_norm, weight),
                                                               KN_INT_LIST(kn_nn_rms_norm, normalized_shape),
                                                               KN_REAL(kn_nn_rms_norm, eps),
                                                               {0}}};

kn_status kn_nn_rms_norm_init(kn_nn_rms_norm *m, kn_shape normalized_shape, const kn_nn_rms_norm_args *args)
{
    static const kn_nn_rms_norm_args usual = KN_NN_RMS_NORM_ARGS_DEFAULTS;
    if (!args) args = &usual;
    kn_nn_rms_norm made = {.normalized_shape = normalized_shape, .eps = args->eps};
    kn_status s = check_sizes("kn_nn_rms_norm_init", normalized_shape);
    if (s == KN_OK) s = kni_layer_range("kn_nn_rms_norm_init", "eps", kn_real_or(made.eps, 0), 0, KNI_ANY);
    if (s == KN_OK && !args->no_affine) s = make_affine(&made.weight, NULL, normalized_shape, args->dtype);
    return kni_layer_finish(KN_MODULE_OF(kn_nn_rms_norm, &made), m, s);
}

kn_tensor kn_nn_rms_norm_forward(const kn_nn_rms_norm *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_rms_norm, m);
    double eps = kn_real_or(m->eps, kn_ok(x) ? kn_dtype_limits(kn_dtype_of(x)).eps : 0);
    return kn_rms_norm(x, kn_value(m->weight), m->normalized_shape.rank, eps);
}

/* ---- neighbouring channels */

const kn_module_type kn_nn_local_response_norm_type = {
    "LocalResponseNorm", sizeof(kn_nn_local_response_norm),
    (const kn_field[]){KN_INT(kn_nn_local_response_norm, size),
                       KN_REAL(kn_nn_local_response_norm, alpha),
                       KN_REAL(kn_nn_local_response_norm, beta),
                       KN_REAL(kn_nn_local_response_norm, k),
                       {0}}};

kn_status kn_nn_local_response_norm_init(kn_nn_local_response_norm *m, int64_t size,
                                         const kn_nn_local_response_norm_args *args)
{
    static const kn_nn_local_response_norm_args usual = KN_NN_LOCAL_RESPONSE_NORM_ARGS_DEFAULTS;
    if (!args) args = &usual;
    kn_nn_local_response_norm made = {size, kn_real_or(args->alpha, usual.alpha),
                                      kn_real_or(args->beta, usual.beta), kn_real_or(args->k, usual.k)};
    kn_status s = kni_layer_positive("kn_nn_local_response_norm_init", "size", size);
    return kni_layer_finish(KN_MODULE_OF(kn_nn_local_response_norm, &made), m, s);
}

kn_tensor kn_nn_local_response_norm_forward(const kn_nn_local_response_norm *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_local_response_norm, m);
    kn_local_response_norm_args args = {m->size, kn_real_given(m->alpha), kn_real_given(m->beta),
                                        kn_real_given(m->k)};
    return kn_local_response_norm(x, &args);
}

/* ---- any of them */

static const char *const kinds[] = {"none", "batch", "group", "instance", "layer", "rms"};

const kn_module_type kn_nn_normalization_type = {
    "Normalization", sizeof(kn_nn_normalization),
    (const kn_field[]){KN_ENUM(kn_nn_normalization, kind, kinds),
                       KN_PARAM(kn_nn_normalization, weight),
                       KN_PARAM(kn_nn_normalization, bias),
                       KN_BUFFER(kn_nn_normalization, running_mean),
                       KN_BUFFER(kn_nn_normalization, running_var),
                       KN_BUFFER(kn_nn_normalization, num_batches_tracked),
                       KN_INT(kn_nn_normalization, num_features),
                       KN_INT(kn_nn_normalization, num_groups),
                       KN_REAL(kn_nn_normalization, eps),
                       KN_REAL(kn_nn_normalization, momentum),
                       KN_MODE(kn_nn_normalization, training),
                       {0}}};

static kn_status init_batch(kn_nn_normalization *m, const kn_nn_normalization_args *args)
{
    kn_nn_batch_norm b = {0};
    kn_nn_batch_norm_args same = {
        .eps = args->eps, .momentum = args->momentum, .no_affine = args->no_affine, .dtype = args->dtype};
    kn_status s = kn_nn_batch_norm_init(&b, m->num_features, &same);
    m->weight = b.weight;
    m->bias = b.bias;
    m->running_mean = b.running_mean;
    m->running_var = b.running_var;
    m->num_batches_tracked = b.num_batches_tracked;
    m->momentum = b.momentum;
    return s;
}

kn_status kn_nn_normalization_init(kn_nn_normalization *m, kn_normalization_kind kind, int64_t num_features,
                                   const kn_nn_normalization_args *args)
{
    static const kn_nn_normalization_args usual = KN_NN_NORMALIZATION_ARGS_DEFAULTS;
    if (!args) args = &usual;
    kn_nn_normalization made = {.kind = kind, .num_features = num_features, .training = true};
    made.num_groups = kn_int_or(args->num_groups, usual.num_groups);
    made.eps = kind == KN_NORMALIZATION_RMS ? args->eps : kn_real_or(args->eps, 1e-5);
    kn_status s = kni_layer_positive("kn_nn_normalization_init", "num_features", num_features);
    if (s == KN_OK)
        s = kni_layer_range("kn_nn_normalization_init", "eps", kn_real_or(made.eps, 0), 0, KNI_ANY);
    if ((unsigned)kind > KN_NORMALIZATION_RMS)
        s = kni_failure(KN_ERROR_ARGUMENT, "kn_nn_normalization_init: there is no kind %d", (int)kind);
    if (s == KN_OK && kind == KN_NORMALIZATION_GROUP &&
        (made.num_groups < 1 || num_features % made.num_groups))
        s = kni_failure(KN_ERROR_ARGUMENT,
                        "kn_nn_normalization_init: %lld channels cannot be cut into %lld equal groups",
                        (long long)num_features, (long long)made.num_groups);
    bool affine = !args->no_affine && kind != KN_NORMALIZATION_NONE;
    if (s == KN_OK && kind == KN_NORMALIZATION_BATCH)
        s = init_batch(&made, args);
    else if (s == KN_OK && affine)
        s = make_affine(&made.weight, kind == KN_NORMALIZATION_RMS ? NULL : &made.bias,
                        KN_SHAPE(num_features), args->dtype);
    return kni_layer_finish(KN_MODULE_OF(kn_nn_normalization, &made), m, s);
}

/* The batch norm made of the wrapper's fields; its averages are updated through their handles. */
static kn_tensor forward_batch(const kn_nn_normalization *m, kn_tensor x)
{
    kn_nn_batch_norm b = {.weight = m->weight,
                          .bias = m->bias,
                          .running_mean = m->running_mean,
                          .running_var = m->running_var,
                          .num_batches_tracked = m->num_batches_tracked,
                          .num_features = m->num_features,
                          .eps = m->eps,
                          .momentum = m->momentum,
                          .training = m->training};
    return kn_nn_batch_norm_forward(&b, x);
}

kn_tensor kn_nn_normalization_forward(const kn_nn_normalization *m, kn_tensor x)
{
    KNI_NEEDS_SENSE(kn_nn_normalization, m);
    kn_nn_rms_norm rms = {m->weight, KN_SHAPE(m->num_features), m->eps};
    switch (m->kind) {
    case KN_NORMALIZATION_BATCH:
        return forward_batch(m, x);
    case KN_NORMALIZATION_GROUP:
        return kn_group_norm(x, kn_value(m->weight), kn_value(m->bias), m->num_groups, m->eps);
    case KN_NORMALIZATION_INSTANCE:
        return kn_instance_norm(x, kn_value(m->weight), kn_value(m->bias), m->eps);
    case KN_NORMALIZATION_LAYER:
        return kn_layer_norm(x, kn_value(m->weight), kn_value(m->bias), 1, m->eps);
    case KN_NORMALIZATION_RMS:
        return kn_nn_rms_norm_forward(&rms, x);
    default:
        return x;
    }
}
