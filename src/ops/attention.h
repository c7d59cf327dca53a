/* The attributes of the attention rows, which the CPU's natives read too. */
#ifndef KNI_OPS_ATTENTION_H
#define KNI_OPS_ATTENTION_H

#include <kn/base.h>

typedef struct kni_attention_attributes {
    double scale;   /* 0: 1 / sqrt(size) */
    double softcap; /* 0: none */
    int64_t is_causal;
    int64_t wants_bias; /* attention_grad: also the gradient of the bias */
} kni_attention_attributes;

/* The scale that is meant for vectors of this size. */
double kni_attention_scale(const kni_attention_attributes *a, int64_t size);

#endif
