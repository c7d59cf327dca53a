/* Activations as modules. kn_nn_activation is any of the 27 by its kind, for layers whose activation is a setting; those with
   no params are the functions of kn/activation.h. */
#ifndef KN_NN_ACTIVATIONS_H
#define KN_NN_ACTIVATIONS_H

#include <kn/nn/linear.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The formulas are in kn/activation.h. a and b are the args below, with their defaults. */
typedef enum kn_activation_kind {
    KN_ACTIVATION_IDENTITY = 0, /* x */
    KN_ACTIVATION_CELU = 1,     /* a: alpha = 1 */
    KN_ACTIVATION_ELU = 2,      /* a: alpha = 1 */
    KN_ACTIVATION_GELU = 3,     /* exact */
    KN_ACTIVATION_GELU_APPROXIMATE = 4,
    KN_ACTIVATION_GLU = 5,          /* a sigmoid(b) of the halves of an axis: args->axis, 0 = last */
    KN_ACTIVATION_HARD_SHRINK = 6,  /* a: lambda = 0.5 */
    KN_ACTIVATION_HARD_SIGMOID = 7, /* a: alpha = 1 / 6, b: beta = 0.5 */
    KN_ACTIVATION_HARD_SWISH = 8,
    KN_ACTIVATION_HARDTANH = 9,    /* a: low = -1, b: high = 1 */
    KN_ACTIVATION_LEAKY_RELU = 10, /* a: slope = 0.01 */
    KN_ACTIVATION_LOG_SIGMOID = 11,
    KN_ACTIVATION_MISH = 12,
    KN_ACTIVATION_PRELU = 13, /* a param `weight` of args->num_parameters, each a = 0.25 at first */
    KN_ACTIVATION_RELU = 14,
    KN_ACTIVATION_RELU6 = 15,
    KN_ACTIVATION_RRELU =
        16, /* slope of negative x: uniform on [a, b) = [1 / 8, 1 / 3), their mean in evaluation */
    KN_ACTIVATION_SELU = 17,
    KN_ACTIVATION_SHRINK = 18, /* a: lambda = 0.5, b: bias = 0.5 */
    KN_ACTIVATION_SIGMOID = 19,
    KN_ACTIVATION_SILU = 20,
    KN_ACTIVATION_SOFT_SHRINK = 21, /* a: lambda = 0.5 */
    KN_ACTIVATION_SOFTPLUS = 22,    /* a: beta = 1, b: threshold = 20 */
    KN_ACTIVATION_SOFTSIGN = 23,
    KN_ACTIVATION_SWIGLU = 24, /* kn_nn_swiglu with args->in_features and args->out_features */
    KN_ACTIVATION_TANH = 25,
    KN_ACTIVATION_TANHSHRINK = 26,
    KN_ACTIVATION_THRESHOLD = 27,        /* x > a ? x : b; a: threshold, b: value, both 0 */
    KN_ACTIVATION_THRESHOLDED_RELU = 28, /* a: alpha = 1 */
    KN_ACTIVATION_COUNT = 29
} kn_activation_kind;

/* "relu", "gelu_approximate" ...; NULL for a number that is none. */
KN_API const char *kn_activation_name(kn_activation_kind kind);

typedef struct kn_nn_activation {
    kn_activation_kind kind;
    double a, b;
    int64_t axis;
    kn_param weight;      /* of PRELU */
    kn_nn_swiglu *swiglu; /* of SWIGLU */
    bool training;
} kn_nn_activation;
extern KN_API const kn_module_type kn_nn_activation_type;

typedef struct kn_nn_activation_args {
    double a, b;                       /* 0 = the kind's default, KN_ZERO = 0 */
    int64_t axis;                      /* of GLU; 0 = last, KN_ZERO = 0 */
    int64_t num_parameters;            /* of PRELU; 0 = 1, or the size of axis 1 */
    int64_t in_features, out_features; /* of SWIGLU */
    bool bias;                         /* of SWIGLU */
    kn_dtype dtype;                    /* of params; 0 = f32 */
} kn_nn_activation_args;
#define KN_NN_ACTIVATION_ARGS_DEFAULTS KN_FIELDS(0.0, 0.0, 0, 0, 0, 0, false, KN_DTYPE_NONE)
KN_API kn_status kn_nn_activation_init(kn_nn_activation *m, kn_activation_kind kind,
                                       const kn_nn_activation_args *args);
KN_API kn_tensor kn_nn_activation_forward(const kn_nn_activation *m, kn_tensor x);

/* Any kind without params, with its defaults, as in evaluation. */
KN_API kn_tensor kn_activate(kn_activation_kind kind, kn_tensor x);

#ifdef __cplusplus
}
#endif
#endif
