/* The attributes of the attention rows, which the natives of backends read too. */
#ifndef KNI_OPS_ATTENTION_H
#define KNI_OPS_ATTENTION_H

#include <kn/backend.h>

/* The largest vectors of keys and values that kernels take in pieces. */
enum { KNI_ATTENTION_MOST = 256 };

typedef struct kni_attention_attributes {
    double scale;   /* 0: 1 / sqrt(size) */
    double softcap; /* 0: none */
    int64_t is_causal;
    int64_t wants_bias; /* gradients: also that of the bias */
    /* Of the rows with dropout: the weight of batch b, head h, query i and key j is element e of all weights in this order. It
       draws word e mod 4 of Philox block e / 4 by a key of its own, becomes 0 where that is below dropout 2^32, and else is
       divided by 1 - dropout. The key's two halves are the words 0 and 1 of the generator's block `counter` by `key`. */
    double dropout;
    int64_t key, counter;
} kni_attention_attributes;

/* The key that weights are drawn by, the draws that are dropped, and what the others are multiplied by. */
uint64_t kni_attention_draw_key(const kni_attention_attributes *a);
static inline int64_t kni_attention_threshold(const kni_attention_attributes *a)
{
    return (int64_t)(a->dropout * 4294967296.0);
}
static inline double kni_attention_kept(const kni_attention_attributes *a)
{
    return a->dropout < 1 ? 1 / (1 - a->dropout) : 0;
}

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

/* The steps of a mask or bias, operand i, over the four axes of the weights: 0 where it repeats, or is absent. */
struct kni_launch;
void kni_attention_push_steps(struct kni_launch *l, int i);

#endif
