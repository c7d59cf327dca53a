/* Choosing the next token from logits: greedy, by temperature, from the k best, from the nucleus. */
#ifndef KN_NN_SAMPLER_H
#define KN_NN_SAMPLER_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kn_sampler_args {
    double
        temperature; /* logits are divided by it; 0 = 1, (double)KN_ZERO = the best token always (greedy) */
    int64_t top_k;   /* above 0: only the k most likely tokens */
    double
        top_p; /* above 0 and below 1: only the most likely tokens whose probabilities reach top_p together */
    double
        repetition_penalty; /* 0 = 1, none. Logits of tokens in the history are divided by it, negative ones
                                  multiplied */
    uint64_t seed;
} kn_sampler_args;

/* A plain value: a copy goes on from the same place, equal seeds give equal tokens on every device. */
typedef struct kn_sampler {
    kn_sampler_args args;
    uint64_t state;
} kn_sampler;
/* args NULL: temperature 1, seed 0. */
KN_API kn_status kn_sampler_init(kn_sampler *sampler, const kn_sampler_args *args);
/* logits [vocabulary] gives an i64 of rank 0, [batch, vocabulary] gives [batch]. history: the tokens so far, an integer
   tensor [n] or [batch, n] for the repetition penalty, or KN_NONE. Waits for the device unless greedy. */
KN_API kn_tensor kn_sampler_next(kn_sampler *sampler, kn_tensor logits, kn_tensor history);

#ifdef __cplusplus
}
#endif
#endif
