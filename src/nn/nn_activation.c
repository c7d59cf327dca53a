/* Activations by kind: one table of functions and defaults. */
#include "nn/layer.h"
#include "support/failure.h"
#include <kn/activation.h>
#include <kn/elementwise.h>
#include <kn/nn/activations.h>
#include <kn/tensor.h>

typedef struct row {
    kn_tensor (*plain)(kn_tensor x);
    kn_tensor (*one)(kn_tensor x, double a);
    kn_tensor (*two)(kn_tensor x, double a, double b);
    double a, b; /* defaults */
} row;

/* Kinds without a function here are handled by name below. */
static const row rows[KN_ACTIVATION_COUNT] = {
    [KN_ACTIVATION_CELU] = {.one = kn_celu, .a = 1},
    [KN_ACTIVATION_ELU] = {.one = kn_elu, .a = 1},
    [KN_ACTIVATION_GELU] = {.plain = kn_gelu},
    [KN_ACTIVATION_GELU_APPROXIMATE] = {.plain = kn_gelu_approximate},
    [KN_ACTIVATION_HARD_SHRINK] = {.one = kn_hard_shrink, .a = 0.5},
    [KN_ACTIVATION_HARD_SIGMOID] = {.two = kn_hard_sigmoid, .a = 1.0 / 6, .b = 0.5},
    [KN_ACTIVATION_HARD_SWISH] = {.plain = kn_hard_swish},
    [KN_ACTIVATION_HARDTANH] = {.two = kn_hardtanh, .a = -1, .b = 1},
    [KN_ACTIVATION_LEAKY_RELU] = {.one = kn_leaky_relu, .a = 0.01},
    [KN_ACTIVATION_LOG_SIGMOID] = {.plain = kn_log_sigmoid},
    [KN_ACTIVATION_MISH] = {.plain = kn_mish},
    [KN_ACTIVATION_PRELU] = {.a = 0.25},
    [KN_ACTIVATION_RELU] = {.plain = kn_relu},
    [KN_ACTIVATION_RELU6] = {.plain = kn_relu6},
    [KN_ACTIVATION_RRELU] = {.a = 1.0 / 8, .b = 1.0 / 3},
    [KN_ACTIVATION_SELU] = {.plain = kn_selu},
    [KN_ACTIVATION_SHRINK] = {.two = kn_shrink, .a = 0.5, .b = 0.5},
    [KN_ACTIVATION_SIGMOID] = {.plain = kn_sigmoid},
    [KN_ACTIVATION_SILU] = {.plain = kn_silu},
    [KN_ACTIVATION_SOFT_SHRINK] = {.one = kn_soft_shrink, .a = 0.5},
    [KN_ACTIVATION_SOFTPLUS] = {.two = kn_softplus, .a = 1, .b = 20},
    [KN_ACTIVATION_SOFTSIGN] = {.plain = kn_softsign},
    [KN_ACTIVATION_TANH] = {.plain = kn_tanh},
    [KN_ACTIVATION_TANHSHRINK] = {.plain = kn_tanhshrink},
    [KN_ACTIVATION_THRESHOLD] = {.two = kn_threshold},
    [KN_ACTIVATION_THRESHOLDED_RELU] = {.one = kn_thresholded_relu, .a = 1},
};

static const char *const names[KN_ACTIVATION_COUNT] = {"identity",
                                                       "celu",
                                                       "elu",
                                                       "gelu",
                                                       "gelu_approximate",
                                                       "glu",
                                                       "hard_shrink",
                                                       "hard_sigmoid",
                                                       "hard_swish",
                                                       "hardtanh",
                                                       "leaky_relu",
                                                       "log_sigmoid",
                                                       "mish",
                                                       "prelu",
                                                       "relu",
                                                       "relu6",
                                                       "rrelu",
                                                       "selu",
                                                       "shrink",
                                                       "sigmoid",
                                                       "silu",
                                                       "soft_shrink",
                                                       "softplus",
                                                       "softsign",
                                                       "swiglu",
                                                       "tanh",
                                                       "tanhshrink",
                                                       "threshold",
                                                       "thresholded_relu"};

const kn_module_type kn_nn_activation_type = {
    "Activation", sizeof(kn_nn_activation),
    (const kn_field[]){KN_ENUM(kn_nn_activation, kind, names),
                       KN_REAL(kn_nn_activation, a),
                       KN_REAL(kn_nn_activation, b),
                       KN_INT(kn_nn_activation, axis),
                       KN_PARAM(kn_nn_activation, weight),
                       KN_OPTIONAL(kn_nn_activation, swiglu, kn_nn_swiglu),
                       KN_MODE(kn_nn_activation, training),
                       {0}}};

const char *kn_activation_name(kn_activation_kind kind)
{
    return (unsigned)kind < KN_ACTIVATION_COUNT ? names[kind] : NULL;
}

static kn_status make_swiglu(kn_nn_activation *made, const kn_nn_activation_args *args)
{
    kn_nn_swiglu *swiglu = kn_module_list(&kn_nn_swiglu_type, 1);
    if (!swiglu) return KN_ERROR_MEMORY;
    made->swiglu = swiglu;
    return kn_nn_swiglu_init(swiglu, args->in_features, args->out_features,
                             &(kn_nn_swiglu_args){.bias = args->bias, .dtype = args->dtype});
}

kn_status kn_nn_activation_init(kn_nn_activation *m, kn_activation_kind kind,
                                const kn_nn_activation_args *args)
{
    static const kn_nn_activation_args usual = KN_NN_ACTIVATION_ARGS_DEFAULTS;
    if (!args) args = &usual;
    if ((unsigned)kind >= KN_ACTIVATION_COUNT)
        return kni_layer_clear(
            m, sizeof *m,
            kni_failure(KN_ERROR_ARGUMENT, "kn_nn_activation_init: there is no kind %d", (int)kind));
    kn_nn_activation made = {.kind = kind, .training = true};
    made.a = kn_real_or(args->a, rows[kind].a);
    made.b = kn_real_or(args->b, rows[kind].b);
    made.axis = kn_int_or(args->axis, -1);
    kn_status s = KN_OK;
    if (kind == KN_ACTIVATION_PRELU) {
        int64_t n = kn_int_or(args->num_parameters, 1);
        s = kni_layer_positive("kn_nn_activation_init", "num_parameters", n);
        if (s == KN_OK)
            s = kni_layer_param(&made.weight, NULL, (kn_initializer){KN_INIT_CONSTANT, made.a, 0, 0, false},
                                KN_SHAPE(n), args->dtype, 0);
    }
    if (kind == KN_ACTIVATION_SWIGLU) s = make_swiglu(&made, args);
    return kni_layer_finish(KN_MODULE_OF(kn_nn_activation, &made), m, s);
}

kn_tensor kn_nn_activation_forward(const kn_nn_activation *m, kn_tensor x)
{
    KNI_NEEDS_SENSE(kn_nn_activation, m);
    const row *r = &rows[m->kind];
    if (r->plain) return r->plain(x);
    if (r->one) return r->one(x, m->a);
    if (r->two) return r->two(x, m->a, m->b);
    kn_status s = m->kind == KN_ACTIVATION_GLU ? kni_layer_axis("kn_nn_activation_forward", m->axis) : KN_OK;
    if (s != KN_OK) return kn_poison(s, NULL);
    switch (m->kind) {
    case KN_ACTIVATION_GLU:
        return kn_glu(x, (int32_t)m->axis);
    case KN_ACTIVATION_PRELU:
        return kn_prelu(x, kn_value(m->weight));
    case KN_ACTIVATION_RRELU:
        return kn_rrelu(x, m->a, m->b, m->training);
    case KN_ACTIVATION_SWIGLU:
        if (!m->swiglu)
            return kn_poison(KN_ERROR_ARGUMENT, "kn_nn_activation_forward: this swiglu is not initialised");
        return kn_nn_swiglu_forward(m->swiglu, x);
    default:
        return x;
    }
}

kn_tensor kn_activate(kn_activation_kind kind, kn_tensor x)
{
    KNI_NAMED_CALL;
    if (kind == KN_ACTIVATION_PRELU || kind == KN_ACTIVATION_SWIGLU)
        return kn_poison(KN_ERROR_ARGUMENT, "kn_activate: this kind has params; use kn_nn_activation");
    kn_nn_activation m = {.kind = kind, .axis = -1};
    if ((unsigned)kind < KN_ACTIVATION_COUNT) {
        m.a = rows[kind].a;
        m.b = rows[kind].b;
    }
    return kn_nn_activation_forward(&m, x);
}
