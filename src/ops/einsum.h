/* Tensors with named axes, for einsum and tensordot: the parser of equations and the contraction of two terms. */
#ifndef KNI_OPS_EINSUM_H
#define KNI_OPS_EINSUM_H

#include "ops/op.h"

enum {
    KNI_EINSUM_OPERANDS = 32, /* at most */
    KNI_EINSUM_LETTERS = 52, /* labels 0 .. 51 are A-Z and a-z, those above the axes of "..." from the last */
    KNI_EINSUM_LABELS = KNI_EINSUM_LETTERS + KN_MAX_RANK
};

typedef struct kni_labels {
    int rank;
    uint8_t labels[KN_MAX_RANK];
} kni_labels;

typedef struct kni_equation {
    kni_labels in[KNI_EINSUM_OPERANDS], out;
    int64_t sizes[KNI_EINSUM_LABELS]; /* of each label that occurs */
} kni_equation;

/* Reads an equation for n operands of these shapes; on failure tells it and answers the code. */
kn_status kni_einsum_parse(const char *text, const kn_shape *shapes, int n, kni_equation *e);

/* A tensor whose axes have labels, none twice. */
typedef struct kni_term {
    kn_tensor tensor;
    kni_labels axes;
} kni_term;

static inline uint64_t kni_label_bits(const kni_labels *l)
{
    uint64_t bits = 0;
    for (int i = 0; i < l->rank; i++) bits |= UINT64_C(1) << l->labels[i];
    return bits;
}

/* Sums over the axes of t that are not in `kept`. */
kni_term kni_term_sum(kni_term t, uint64_t kept);
/* The axes of t in the order of `order`, which has the same labels. */
kn_tensor kni_term_permute(kni_term t, const kni_labels *order);
/* The product of a and b summed over what both have and `kept` has not; the result has the labels that both have,
   then a's, then b's. A result of more than KN_MAX_RANK axes is a failure, and poisoned. */
kni_term kni_term_contract(kni_term a, kni_term b, uint64_t kept);

#endif
