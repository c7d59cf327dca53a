/* Layers that are random while training: dropout and noise. They do nothing in evaluation (kn_module_train). */
#ifndef KN_NN_NOISE_H
#define KN_NN_NOISE_H

#include <kn/nn/module.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kn_dropout_kind {
    KN_DROPOUT_ELEMENTS = 0, /* kn_dropout: each element on its own */
    KN_DROPOUT_FEATURES = 1, /* kn_feature_dropout: whole channels */
    KN_DROPOUT_ALPHA = 2     /* kn_alpha_dropout: for SELU */
} kn_dropout_kind;

/* y = x / (1 - p) with probability 1 - p, else 0, while training; x otherwise. */
typedef struct kn_nn_dropout {
    double p;
    kn_dropout_kind kind;
    bool training;
} kn_nn_dropout;
extern KN_API const kn_module_type kn_nn_dropout_type;

typedef struct kn_nn_dropout_args {
    kn_dropout_kind kind;
} kn_nn_dropout_args;
#define KN_NN_DROPOUT_ARGS_DEFAULTS KN_ZEROED
/* p is 0 to 1; PyTorch's default is 0.5. */
KN_API kn_status kn_nn_dropout_init(kn_nn_dropout *m, double p, const kn_nn_dropout_args *args);
KN_API kn_tensor kn_nn_dropout_forward(const kn_nn_dropout *m, kn_tensor x);

/* y = x + n while training, n normal with mean 0 and this deviation; x otherwise. */
typedef struct kn_nn_gaussian_noise {
    double std;
    bool training;
} kn_nn_gaussian_noise;
extern KN_API const kn_module_type kn_nn_gaussian_noise_type;

KN_API kn_status kn_nn_gaussian_noise_init(kn_nn_gaussian_noise *m, double std);
KN_API kn_tensor kn_nn_gaussian_noise_forward(const kn_nn_gaussian_noise *m, kn_tensor x);

/* y = x */
typedef struct kn_nn_identity {
    bool unused;
} kn_nn_identity;
extern KN_API const kn_module_type kn_nn_identity_type;

KN_API kn_status kn_nn_identity_init(kn_nn_identity *m);
KN_API kn_tensor kn_nn_identity_forward(const kn_nn_identity *m, kn_tensor x);

#ifdef __cplusplus
}
#endif
#endif
