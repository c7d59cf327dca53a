/* One step of an optimiser for one param, in one pass over memory: what kn/optim.h runs for each param of a module, for loops
   of your own. The param and the states are replaced; their memory is reused where nothing else refers to it (no tape, no
   view). States are owned tensors of the param's shape and dtype, zeros at first. On failure nothing has changed. */
#ifndef KN_UPDATE_H
#define KN_UPDATE_H

#include <kn/autodiff.h>

#ifdef __cplusplus
extern "C" {
#endif

/* g = scale gradient in all of them; scale is a float tensor of rank 0 (clipping without waiting for a device), KN_NONE = 1.
   Numbers are taken as they are, 0 as 0; _DEFAULTS holds PyTorch's, without lr. step counts from 1. */

/* d = g + weight_decay p; b = momentum b + (1 - dampening) d, d itself at first; p = p - lr (b, with Nesterov d + momentum b).
   buffer NULL: p = p - lr d. */
typedef struct kn_sgd_update_args {
    double lr, momentum, dampening, weight_decay;
    bool nesterov, first;
    kn_tensor scale;
} kn_sgd_update_args;
#define KN_SGD_UPDATE_ARGS_DEFAULTS KN_FIELDS(0.0, 0.0, 0.0, 0.0, false, false, KN_ZEROED)
KN_API KN_MUST_CHECK kn_status kn_sgd_update(kn_param *param, kn_tensor gradient, kn_tensor *buffer,
                                             const kn_sgd_update_args *args);

/* g = g + weight_decay p, or when decoupled p = p - lr weight_decay p (cautious: not where m and p have opposite signs);
   m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2; w = max(w, v);
   p = p - lr m / (1 - beta1^step) / (sqrt(v / (1 - beta2^step)) + eps), with w for v unless it is NULL. */
typedef struct kn_adam_update_args {
    double lr, beta1, beta2, eps, weight_decay;
    int64_t step;
    bool decoupled, cautious;
    kn_tensor scale;
} kn_adam_update_args;
#define KN_ADAM_UPDATE_ARGS_DEFAULTS KN_FIELDS(0.0, 0.9, 0.999, 1e-8, 0.0, 1, false, false, KN_ZEROED)
KN_API KN_MUST_CHECK kn_status kn_adam_update(kn_param *param, kn_tensor gradient, kn_tensor *m, kn_tensor *v,
                                              kn_tensor *w, const kn_adam_update_args *args);

/* g = g + weight_decay p; v = alpha v + (1 - alpha) g^2; m = alpha m + (1 - alpha) g;
   b = momentum b + g / (sqrt(v - m^2) + eps); p = p - lr b. mean NULL: m is 0; buffer NULL: b is the quotient. */
typedef struct kn_rmsprop_update_args {
    double lr, alpha, eps, weight_decay, momentum;
    kn_tensor scale;
} kn_rmsprop_update_args;
#define KN_RMSPROP_UPDATE_ARGS_DEFAULTS KN_FIELDS(0.0, 0.99, 1e-8, 0.0, 0.0, KN_ZEROED)
KN_API KN_MUST_CHECK kn_status kn_rmsprop_update(kn_param *param, kn_tensor gradient, kn_tensor *square,
                                                 kn_tensor *mean, kn_tensor *buffer,
                                                 const kn_rmsprop_update_args *args);

/* g = g + weight_decay p; v = v + g^2; p = p - lr / (1 + (step - 1) lr_decay) g / (sqrt(v) + eps) */
typedef struct kn_adagrad_update_args {
    double lr, lr_decay, eps, weight_decay;
    int64_t step;
    kn_tensor scale;
} kn_adagrad_update_args;
#define KN_ADAGRAD_UPDATE_ARGS_DEFAULTS KN_FIELDS(0.0, 0.0, 1e-10, 0.0, 1, KN_ZEROED)
KN_API KN_MUST_CHECK kn_status kn_adagrad_update(kn_param *param, kn_tensor gradient, kn_tensor *sum,
                                                 const kn_adagrad_update_args *args);

/* c = g - previous g (0 at step 1); m = beta1 m + (1 - beta1) g; d = beta2 d + (1 - beta2) c;
   v = beta3 v + (1 - beta3) (g + beta2 c)^2; u = sqrt(v / (1 - beta3^step)) + eps;
   p = (p - lr m / (1 - beta1^step) / u - lr beta2 d / (1 - beta2^step) / u) / (1 + lr weight_decay);
   no_prox: p is multiplied by 1 - lr weight_decay before instead of divided after. */
typedef struct kn_adan_update_args {
    double lr, beta1, beta2, beta3, eps, weight_decay;
    int64_t step;
    bool no_prox;
    kn_tensor scale;
} kn_adan_update_args;
#define KN_ADAN_UPDATE_ARGS_DEFAULTS KN_FIELDS(0.0, 0.98, 0.92, 0.99, 1e-8, 0.0, 1, false, KN_ZEROED)
KN_API KN_MUST_CHECK kn_status kn_adan_update(kn_param *param, kn_tensor gradient, kn_tensor *m, kn_tensor *d,
                                              kn_tensor *v, kn_tensor *previous,
                                              const kn_adan_update_args *args);

#ifdef __cplusplus
}
#endif
#endif
