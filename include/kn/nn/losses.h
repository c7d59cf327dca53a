/* Losses. All of them are functions; most are ops of kn/functional.h, the rest is here:

       BinaryCrossEntropy  kn_binary_cross_entropy_loss (here: smoothing), kn_binary_cross_entropy(_with_logits)
       CosineEmbedding     kn_cosine_embedding_loss          MarginRanking   kn_margin_ranking_loss
       CrossEntropy        kn_cross_entropy_tokens (here: pad tokens, probabilities), kn_cross_entropy, kn_nll_loss
       CTC                 kn_ctc_loss                       Mse             kn_mse_loss
       GaussianNLL         kn_gaussian_nll_loss              MultiMargin     kn_multi_margin_loss (here)
       GramMatrix          kn_gram_matrix_loss (here)        PoissonNLL      kn_poisson_nll_loss
       HingeEmbedding      kn_hinge_embedding_loss           RNN-T           kn/nn/transducer.h
       Huber               kn_huber_loss                     SmoothL1        kn_smooth_l1_loss
       KLDiv               kn_kl_div_loss                    SoftMargin      kn_soft_margin_loss (here)
       Lp                  kn_lp_loss (here), kn_l1_loss     TripletMargin   kn_triplet_margin_loss

   The losses here take KN_REDUCTION_BATCH_MEAN too; for an op of kn/functional.h ask for KN_REDUCTION_NONE and pass the
   result to kn_reduce_loss. */
#ifndef KN_NN_LOSSES_H
#define KN_NN_LOSSES_H

#include <kn/functional.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The sum divided by the size of axis 0. */
#define KN_REDUCTION_BATCH_MEAN ((kn_reduction)3)
KN_API kn_tensor kn_reduce_loss(kn_tensor losses, kn_reduction reduction);

/* |x - t|^p */
KN_API kn_tensor kn_lp_loss(kn_tensor x, kn_tensor target, double p, kn_reduction reduction);
/* log(1 + exp(-t x)), t is 1 or -1. */
KN_API kn_tensor kn_soft_margin_loss(kn_tensor x, kn_tensor target, kn_reduction reduction);

/* sum over j != t of weight[t] max(0, margin - x[t] + x[j])^p / classes; x [batch, classes] or [classes], target [batch] or a
   single class. */
typedef struct kn_multi_margin_args {
    double margin;    /* 0 = 1, KN_ZERO = 0 */
    int32_t p;        /* 0 = 1, or 2 */
    kn_tensor weight; /* [classes], or KN_NONE */
    kn_reduction reduction;
} kn_multi_margin_args;
#define KN_MULTI_MARGIN_ARGS_DEFAULTS KN_FIELDS(1.0, 1, KN_ZEROED, KN_REDUCTION_MEAN)
KN_API kn_tensor kn_multi_margin_loss(kn_tensor x, kn_tensor target, const kn_multi_margin_args *args);

/* -log softmax(x)[target] as kn_cross_entropy, for class indices, with more settings. */
typedef struct kn_cross_entropy_tokens_args {
    kn_tensor weight;          /* [classes], or KN_NONE */
    double smoothing;          /* this part of the target is spread over all classes; 0 is off */
    const int64_t *pad_tokens; /* positions whose target is one of these do not count */
    int32_t n_pad_tokens;
    bool probabilities; /* x are probabilities, not logits */
    kn_reduction reduction;
} kn_cross_entropy_tokens_args;
#define KN_CROSS_ENTROPY_TOKENS_ARGS_DEFAULTS KN_ZEROED
KN_API kn_tensor kn_cross_entropy_tokens(kn_tensor x, kn_tensor target,
                                         const kn_cross_entropy_tokens_args *args);

/* -(t log s + (1 - t) log(1 - s)) weight with s = x, or sigmoid(x) with logits. Smoothing moves t to t (1 - a) + a / 2. */
typedef struct kn_binary_cross_entropy_loss_args {
    kn_tensor weight;     /* broadcasts to x ([classes] weighs the last axis), or KN_NONE */
    kn_tensor pos_weight; /* factor of the positive part, with logits only; or KN_NONE */
    double smoothing;     /* 0 is off */
    bool logits;
    kn_reduction reduction;
} kn_binary_cross_entropy_loss_args;
#define KN_BINARY_CROSS_ENTROPY_LOSS_ARGS_DEFAULTS KN_ZEROED
/* target: any dtype, of x's shape. */
KN_API kn_tensor kn_binary_cross_entropy_loss(kn_tensor x, kn_tensor target,
                                              const kn_binary_cross_entropy_loss_args *args);

/* G = F F' / (channels height width) for F = x [..., channels, height width]: [..., channels, channels]. */
KN_API kn_tensor kn_gram_matrix(kn_tensor x);
/* (G(x) - G(target))^2: how far the styles of two feature maps [..., channels, height, width] are apart. */
KN_API kn_tensor kn_gram_matrix_loss(kn_tensor x, kn_tensor target, kn_reduction reduction);

/* ---- old names */

typedef kn_cross_entropy_tokens_args kn_cross_entropy_loss_args;
#define KN_CROSS_ENTROPY_LOSS_ARGS_DEFAULTS KN_CROSS_ENTROPY_TOKENS_ARGS_DEFAULTS
KN_API kn_tensor kn_cross_entropy_loss(kn_tensor x, kn_tensor target,
                                       const kn_cross_entropy_tokens_args *args)
    KN_DEPRECATED("write kn_cross_entropy_tokens");

#ifdef __cplusplus
}
#endif
#endif
