/* What a tier exports to the entries of the optimisers' updates. Internal to update_run.c and tier/update_*. */
#ifndef KNI_BACKEND_CPU_UPDATE_TABLE_H
#define KNI_BACKEND_CPU_UPDATE_TABLE_H

#include "backend/cpu/tier.h"
#include <stdint.h>

/* n elements: in holds the param, the gradient and the states, out the param and the states, NULL where a state is absent;
   an output may be the operand it replaces. numbers: the gradient's scale, then those of the rule (ops/update_rules.h). */
typedef void kni_update_strip(int64_t n, void *const *out, const void *const *in, const double *numbers);

enum {
    KNI_UPDATE_SGD,
    KNI_UPDATE_ADAM,
    KNI_UPDATE_RMSPROP,
    KNI_UPDATE_ADAGRAD,
    KNI_UPDATE_ADAN,
    KNI_UPDATE_RULES
};

typedef struct kni_update_kernels {
    kni_update_strip *strips[KNI_UPDATE_RULES];
} kni_update_kernels;

KNI_TIER_DECLARE(extern const kni_update_kernels, kni_update_f32, );
KNI_TIER_DECLARE(extern const kni_update_kernels, kni_update_f64, );

#endif
