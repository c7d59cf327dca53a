/* Choosing the next token from logits: greedy, by temperature, from the k best, from the nucleus. */
#ifndef KN_NN_SAMPLER_H
#define KN_NN_SAMPLER_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kn_sampler_args {
    double temperature; /* logits are divided by it; 0 = 1, KN_ZERO = 0: as greedy */
    int64_t top_k;      /* only the k most likely tokens; 0 is off */
    double top_p; /* only the most likely tokens whose probabilities reach top_p together; 0 and 1 are off */
    /* Logits of tokens in the history are divided by it, negative ones multiplied; 0 = 1, none. */
    double repetition_penalty;
    uint64_t seed;
    bool greedy; /* the best token always; temperature, top_k and top_p do not matter then */
} kn_sampler_args;
#define KN_SAMPLER_ARGS_DEFAULTS KN_FIELDS(1.0, 0, 0.0, 1.0, 0, false)

/* A plain value: a copy goes on from the same place, equal seeds give equal tokens on every device. */
typedef struct kn_sampler {
    kn_sampler_args args;
    uint64_t state;
} kn_sampler;
/* args NULL: temperature 1, seed 0. The sampler keeps the resolved args: a temperature of KN_ZERO becomes greedy. */
KN_API kn_status kn_sampler_init(kn_sampler *sampler, const kn_sampler_args *args);
/* logits [vocabulary] gives an i64 of rank 0, [batch, vocabulary] gives [batch]. history: the tokens so far, an integer
   tensor [n] or [batch, n] for the repetition penalty, or KN_NONE. Waits for the device unless greedy. */
KN_API kn_tensor kn_sampler_next(kn_sampler *sampler, kn_tensor logits, kn_tensor history);

#ifdef __cplusplus
}
#endif
#endif
