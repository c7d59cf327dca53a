/* Normalisation layers. */
#ifndef KN_NN_NORMALIZATION_H
#define KN_NN_NORMALIZATION_H

#include <kn/nn/module.h>

#ifdef __cplusplus
extern "C" {
#endif

/* y = (x - mean) / sqrt(variance + eps) weight + bias for each channel of x [batch, channels, ...]. While training the mean
   and (biased) variance are those of the batch, and the running averages move: r = (1 - momentum) r + momentum batch, with
   the unbiased variance. In evaluation the running averages are used and do not change. */
typedef struct kn_nn_batch_norm {
    kn_param weight, bias;                                   /* [channels], or absent */
    kn_param running_mean, running_var, num_batches_tracked; /* buffers, or absent */
    int64_t num_features;
    double eps, momentum;
    bool cumulative;
    bool training;
} kn_nn_batch_norm;
extern KN_API const kn_module_type kn_nn_batch_norm_type;

typedef struct kn_nn_batch_norm_args {
    double eps;       /* 0 = 1e-5, KN_ZERO = 0 */
    double momentum;  /* 0 = 0.1, KN_ZERO = 0 */
    bool cumulative;  /* the running averages are plain means over all batches (PyTorch's momentum=None) */
    bool no_affine;   /* neither weight nor bias */
    bool no_tracking; /* no running averages: always the statistics of the batch */
    kn_dtype dtype;   /* 0 = f32 */
} kn_nn_batch_norm_args;
#define KN_NN_BATCH_NORM_ARGS_DEFAULTS KN_FIELDS(1e-5, 0.1, false, false, false, KN_F32)
KN_API kn_status kn_nn_batch_norm_init(kn_nn_batch_norm *m, int64_t num_features,
                                       const kn_nn_batch_norm_args *args);
/* Inside kn_recompute the averages would move twice. */
KN_API kn_tensor kn_nn_batch_norm_forward(const kn_nn_batch_norm *m, kn_tensor x);

/* Each of `groups` equal groups of the channels of x [batch, channels, ...] is normalised; see kn_group_norm. */
typedef struct kn_nn_group_norm {
    kn_param weight, bias; /* [channels], or absent */
    int64_t num_groups, num_channels;
    double eps;
} kn_nn_group_norm;
extern KN_API const kn_module_type kn_nn_group_norm_type;

typedef struct kn_nn_group_norm_args {
    double eps; /* 0 = 1e-5, KN_ZERO = 0 */
    bool no_affine;
    kn_dtype dtype;
} kn_nn_group_norm_args;
#define KN_NN_GROUP_NORM_ARGS_DEFAULTS KN_FIELDS(1e-5, false, KN_F32)
KN_API kn_status kn_nn_group_norm_init(kn_nn_group_norm *m, int64_t num_groups, int64_t num_channels,
                                       const kn_nn_group_norm_args *args);
KN_API kn_tensor kn_nn_group_norm_forward(const kn_nn_group_norm *m, kn_tensor x);

/* Each channel of each sample of x [batch, channels, ...] is normalised; see kn_instance_norm. As in PyTorch there is no
   weight and bias unless asked for, and no running averages: with tracking they move while training, by the means over the batch, and
   are used in evaluation. */
typedef struct kn_nn_instance_norm {
    kn_param weight, bias;                                   /* [channels], or absent */
    kn_param running_mean, running_var, num_batches_tracked; /* buffers, or absent */
    int64_t num_features;
    double eps, momentum;
    bool training;
} kn_nn_instance_norm;
extern KN_API const kn_module_type kn_nn_instance_norm_type;

typedef struct kn_nn_instance_norm_args {
    double eps; /* 0 = 1e-5, KN_ZERO = 0 */
    bool affine;
    kn_dtype dtype;
    bool tracking;   /* running averages (PyTorch's track_running_stats) */
    double momentum; /* of the running averages; 0 = 0.1, KN_ZERO = 0 */
} kn_nn_instance_norm_args;
#define KN_NN_INSTANCE_NORM_ARGS_DEFAULTS KN_FIELDS(1e-5, false, KN_F32, false, 0.1)
KN_API kn_status kn_nn_instance_norm_init(kn_nn_instance_norm *m, int64_t num_features,
                                          const kn_nn_instance_norm_args *args);
/* Inside kn_recompute the averages would move twice. */
KN_API kn_tensor kn_nn_instance_norm_forward(const kn_nn_instance_norm *m, kn_tensor x);

/* y = (x - mean) / sqrt(variance + eps) weight + bias over the last axes, which have the shape of the weight. */
typedef struct kn_nn_layer_norm {
    kn_param weight, bias; /* or absent */
    kn_ints normalized_shape;
    double eps;
} kn_nn_layer_norm;
extern KN_API const kn_module_type kn_nn_layer_norm_type;

typedef struct kn_nn_layer_norm_args {
    double eps; /* 0 = 1e-5, KN_ZERO = 0 */
    bool no_affine, no_bias;
    kn_dtype dtype;
} kn_nn_layer_norm_args;
#define KN_NN_LAYER_NORM_ARGS_DEFAULTS KN_FIELDS(1e-5, false, false, KN_F32)
/* normalized_shape: KN_SHAPE(512) for the last axis of that size. */
KN_API kn_status kn_nn_layer_norm_init(kn_nn_layer_norm *m, kn_shape normalized_shape,
                                       const kn_nn_layer_norm_args *args);
KN_API kn_tensor kn_nn_layer_norm_forward(const kn_nn_layer_norm *m, kn_tensor x);

/* y = x / sqrt(mean(x^2) + eps) weight over the last axes. */
typedef struct kn_nn_rms_norm {
    kn_param weight; /* or absent */
    kn_ints normalized_shape;
    double eps; /* 0: that of x's dtype, KN_ZERO: 0 */
} kn_nn_rms_norm;
extern KN_API const kn_module_type kn_nn_rms_norm_type;

typedef struct kn_nn_rms_norm_args {
    /* 0 = the eps of x's dtype, as in PyTorch; KN_ZERO = 0; language models give 1e-5 or 1e-6 */
    double eps;
    bool no_affine;
    kn_dtype dtype;
} kn_nn_rms_norm_args;
#define KN_NN_RMS_NORM_ARGS_DEFAULTS KN_FIELDS(0.0, false, KN_F32)
KN_API kn_status kn_nn_rms_norm_init(kn_nn_rms_norm *m, kn_shape normalized_shape,
                                     const kn_nn_rms_norm_args *args);
KN_API kn_tensor kn_nn_rms_norm_forward(const kn_nn_rms_norm *m, kn_tensor x);

/* See kn_local_response_norm. */
typedef struct kn_nn_local_response_norm {
    int64_t size;
    double alpha, beta, k;
} kn_nn_local_response_norm;
extern KN_API const kn_module_type kn_nn_local_response_norm_type;

typedef struct kn_nn_local_response_norm_args {
    double alpha; /* 0 = 1e-4, KN_ZERO = 0 */
    double beta;  /* 0 = 0.75, KN_ZERO = 0 */
    double k;     /* 0 = 1, KN_ZERO = 0 */
} kn_nn_local_response_norm_args;
#define KN_NN_LOCAL_RESPONSE_NORM_ARGS_DEFAULTS KN_FIELDS(1e-4, 0.75, 1.0)
KN_API kn_status kn_nn_local_response_norm_init(kn_nn_local_response_norm *m, int64_t size,
                                                const kn_nn_local_response_norm_args *args);
KN_API kn_tensor kn_nn_local_response_norm_forward(const kn_nn_local_response_norm *m, kn_tensor x);

/* ---- any of them, for networks whose normalisation is a setting */

typedef enum kn_normalization_kind {
    KN_NORMALIZATION_NONE = 0,
    KN_NORMALIZATION_BATCH = 1,
    KN_NORMALIZATION_GROUP = 2,
    KN_NORMALIZATION_INSTANCE = 3,
    KN_NORMALIZATION_LAYER = 4, /* over the last axis */
    KN_NORMALIZATION_RMS = 5    /* over the last axis */
} kn_normalization_kind;

/* The fields are those of the layers above, under the same names. */
typedef struct kn_nn_normalization {
    kn_normalization_kind kind;
    kn_param weight, bias, running_mean, running_var, num_batches_tracked;
    int64_t num_features, num_groups;
    double eps, momentum;
    bool training;
} kn_nn_normalization;
extern KN_API const kn_module_type kn_nn_normalization_type;

typedef struct kn_nn_normalization_args {
    int64_t num_groups; /* GROUP: 0 = 1 */
    double eps;         /* 0 = the layer's default, KN_ZERO = 0 */
    double momentum;    /* BATCH: 0 = 0.1, KN_ZERO = 0 */
    bool no_affine;
    kn_dtype dtype;
} kn_nn_normalization_args;
#define KN_NN_NORMALIZATION_ARGS_DEFAULTS KN_FIELDS(1, 0.0, 0.1, false, KN_F32)
KN_API kn_status kn_nn_normalization_init(kn_nn_normalization *m, kn_normalization_kind kind,
                                          int64_t num_features, const kn_nn_normalization_args *args);
KN_API kn_tensor kn_nn_normalization_forward(const kn_nn_normalization *m, kn_tensor x);

#ifdef __cplusplus
}
#endif
#endif
