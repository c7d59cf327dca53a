/* The losses as public functions. */
#include "conform_adapter_words.h"

#define REDUCTION ((kn_reduction)kiln_int(a, "reduction", 0))

/* Operand i, KN_NONE past the last one. */
static kn_tensor at(const kn_tensor *in, int n, int i) { return i < n ? in[i] : KN_NONE; }

SIMPLE(cross_entropy_loss,
       kn_cross_entropy(in[0], in[1],
                        &(kn_cross_entropy_args){.weight = at(in, n, 2),
                                                 .label_smoothing = REAL("label_smoothing"),
                                                 .ignore_index = kiln_int(a, "ignore_index", 0),
                                                 .reduction = REDUCTION}))
SIMPLE(cross_entropy_with_logits, kn_cross_entropy_probabilities(in[0], in[1]))
SIMPLE(nll_loss, kn_nll_loss(in[0], in[1],
                             &(kn_cross_entropy_args){.weight = at(in, n, 2),
                                                      .ignore_index = kiln_int(a, "ignore_index", 0),
                                                      .reduction = REDUCTION}))
SIMPLE(binary_cross_entropy_loss,
       kn_binary_cross_entropy(in[0], in[1],
                               &(kn_binary_cross_entropy_args){.weight = at(in, n, 2),
                                                               .reduction = REDUCTION}))
SIMPLE(binary_cross_entropy_with_logits,
       kn_binary_cross_entropy_with_logits(in[0], in[1],
                                           &(kn_binary_cross_entropy_args){.weight = at(in, n, 2),
                                                                           .pos_weight = at(in, n, 3),
                                                                           .reduction = REDUCTION}))
SIMPLE(mse_loss, kn_mse_loss(in[0], in[1], REDUCTION))
SIMPLE(l1_loss, kn_l1_loss(in[0], in[1], REDUCTION))
SIMPLE(smooth_l1_loss, kn_smooth_l1_loss(in[0], in[1], REAL("beta"), REDUCTION))
SIMPLE(huber_loss, kn_huber_loss(in[0], in[1], REAL("delta"), REDUCTION))
SIMPLE(kl_div_loss, kn_kl_div_loss(in[0], in[1],
                                   &(kn_kl_div_args){.log_target = FLAG("log_target"),
                                                     .batch_mean = FLAG("batch_mean"),
                                                     .reduction = REDUCTION}))
SIMPLE(poisson_nll_loss, kn_poisson_nll_loss(in[0], in[1],
                                             &(kn_poisson_nll_args){.rates = FLAG("rates"),
                                                                    .full = FLAG("full"),
                                                                    .eps = REAL("eps"),
                                                                    .reduction = REDUCTION}))
SIMPLE(gaussian_nll_loss,
       kn_gaussian_nll_loss(in[0], in[1], in[2],
                            &(kn_gaussian_nll_args){
                                .full = FLAG("full"), .eps = REAL("eps"), .reduction = REDUCTION}))
SIMPLE(hinge_embedding_loss, kn_hinge_embedding_loss(in[0], in[1], kiln_real(a, "margin", 1), REDUCTION))
SIMPLE(cosine_embedding_loss,
       kn_cosine_embedding_loss(in[0], in[1], in[2],
                                &(kn_margin_args){.margin = REAL("margin"), .reduction = REDUCTION}))
SIMPLE(margin_ranking_loss,
       kn_margin_ranking_loss(in[0], in[1], in[2],
                              &(kn_margin_args){.margin = REAL("margin"), .reduction = REDUCTION}))
SIMPLE(triplet_margin_loss, kn_triplet_margin_loss(in[0], in[1], in[2],
                                                   &(kn_triplet_args){.margin = REAL("margin"),
                                                                      .p = REAL("p"),
                                                                      .swap = FLAG("swap"),
                                                                      .reduction = REDUCTION}))
/* Of logits, so that the derivative is that of independent numbers. */
SIMPLE(ctc_loss_function, kn_ctc_loss(kn_log_softmax(in[0], -1), in[1], in[2], in[3],
                                      &(kn_ctc_args){.blank = kiln_int(a, "blank", 0),
                                                     .zero_infinity = FLAG("zero_infinity"),
                                                     .reduction = REDUCTION}))

const kiln_adapter kiln_adapters_loss[] = {ENTRY(cross_entropy_loss),
                                           ENTRY(cross_entropy_with_logits),
                                           ENTRY(nll_loss),
                                           ENTRY(binary_cross_entropy_loss),
                                           ENTRY(binary_cross_entropy_with_logits),
                                           ENTRY(mse_loss),
                                           ENTRY(l1_loss),
                                           ENTRY(smooth_l1_loss),
                                           ENTRY(huber_loss),
                                           ENTRY(kl_div_loss),
                                           ENTRY(poisson_nll_loss),
                                           ENTRY(gaussian_nll_loss),
                                           ENTRY(hinge_embedding_loss),
                                           ENTRY(cosine_embedding_loss),
                                           ENTRY(margin_ranking_loss),
                                           ENTRY(triplet_margin_loss),
                                           ENTRY(ctc_loss_function),
                                           {NULL, NULL}};
