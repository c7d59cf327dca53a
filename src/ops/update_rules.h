/* The attributes of the optimisers' updates. All that a step may change are dynamic: a new learning rate is no new plan. */
#ifndef KNI_UPDATE_RULES_H
#define KNI_UPDATE_RULES_H

#include "ops/op.h"

enum { KNI_UPDATE_STATES = 4 };

typedef struct kni_sgd_attributes {
    double lr, momentum, dampening, weight_decay;
    int64_t nesterov, first; /* first: the buffer is empty and becomes the gradient */
} kni_sgd_attributes;

typedef struct kni_adam_attributes {
    double lr, beta1, beta2, eps, weight_decay;
    int64_t step, decoupled, cautious;
} kni_adam_attributes;

typedef struct kni_rmsprop_attributes {
    double lr, alpha, eps, weight_decay, momentum;
} kni_rmsprop_attributes;

typedef struct kni_adagrad_attributes {
    double lr, lr_decay, eps, weight_decay;
    int64_t step;
} kni_adagrad_attributes;

typedef struct kni_adan_attributes {
    double lr, beta1, beta2, beta3, eps, weight_decay;
    int64_t step, no_prox;
} kni_adan_attributes;

extern const struct kni_native kni_cpu_sgd_update, kni_cpu_adam_update, kni_cpu_rmsprop_update,
    kni_cpu_adagrad_update, kni_cpu_adan_update;

#endif
