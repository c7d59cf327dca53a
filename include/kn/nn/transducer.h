/* The loss of transducers (RNN-T). */
#ifndef KN_NN_TRANSDUCER_H
#define KN_NN_TRANSDUCER_H

#include <kn/functional.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -log of the sum over all ways through the lattice: from (t, u) a blank leads to (t + 1, u), the label target[u] to
   (t, u + 1), and the last blank ends it at (steps, labels). logits [batch, steps, labels + 1, classes], targets
   [batch, labels] of any integer dtype (what is behind a target's length is not looked at), lengths [batch]. The mean is that
   over the batch. f16 and bf16 are computed in f32, the lattice in f64. Second derivatives are not available. */
typedef struct kn_rnnt_args {
    int64_t blank;
    bool log_probs; /* logits are log probabilities already; else log_softmax is applied */
    kn_reduction reduction;
} kn_rnnt_args;
#define KN_RNNT_ARGS_DEFAULTS KN_ZEROED
KN_API kn_tensor kn_rnnt_loss(kn_tensor logits, kn_tensor targets, kn_tensor logit_lengths,
                              kn_tensor target_lengths, const kn_rnnt_args *args);

#ifdef __cplusplus
}
#endif
#endif
