/* What the rows of the embedding and the CPU kernels behind them share. */
#ifndef KNI_OPS_EMBEDDING_H
#define KNI_OPS_EMBEDDING_H

#include <stdint.h>

struct kni_native;

typedef struct kni_embedding_attributes {
    int64_t padding; /* the row that gets no gradient, -1 for none */
} kni_embedding_attributes;

typedef struct kni_embedding_grad_attributes {
    int64_t padding, rows;
} kni_embedding_grad_attributes;

extern const struct kni_native kni_cpu_embedding, kni_cpu_embedding_grad;

#endif
