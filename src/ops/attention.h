/* The attributes of the attention rows, which the CPU's natives read too. */
#ifndef KNI_OPS_ATTENTION_H
#define KNI_OPS_ATTENTION_H

#include <kn/backend.h>

typedef struct kni_attention_attributes {
    double scale;   /* 0: 1 / sqrt(size) */
    double softcap; /* 0: none */
    int64_t is_causal;
    int64_t wants_bias; /* attention_grad: also the gradient of the bias */
} kni_attention_attributes;

/* What the operands q, k and v of a record say, which all kernels of attention need. */
typedef struct kni_attention_sizes {
    int64_t batch, heads, key_heads, queries, keys, size, value_size;
    double scale;
    bool causal;
} kni_attention_sizes;
kni_attention_sizes kni_attention_sizes_of(const kn_record *r);

/* kn_attention with lengths; in: q, k, v, mask and bias. */
kn_tensor kni_attend_lengths(const kn_tensor in[5], kn_tensor lengths, const kni_attention_attributes *a,
                             double dropout);

/* The scale that is meant for vectors of this size. */
double kni_attention_scale(const kni_attention_attributes *a, int64_t size);

#endif
