/* Softmax, norms, embedding, dropout, rotary embedding and losses. All of them take f64, f32, f16 and bf16 (half
   types are computed in f32); optional operands are KN_NONE. */
#ifndef KN_FUNCTIONAL_H
#define KN_FUNCTIONAL_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- softmax over one axis (negative axes count from the end) */

/* y_i = exp(x_i) / sum_j exp(x_j). A row of -inf gives NaN. */
KN_API kn_tensor kn_softmax(kn_tensor x, int32_t axis);
/* y_i = x_i - log sum_j exp(x_j) */
KN_API kn_tensor kn_log_softmax(kn_tensor x, int32_t axis);
/* y_i = exp(-x_i) / sum_j exp(-x_j) */
KN_API kn_tensor kn_softmin(kn_tensor x, int32_t axis);
/* y_i = exp(x_i) / (1 + sum_j exp(x_j)): all results may be near zero. */
KN_API kn_tensor kn_quiet_softmax(kn_tensor x, int32_t axis);

/* ---- norms. eps is added to the variance; weight and bias may be KN_NONE. */

/* y = (x - mean) / sqrt(variance + eps) * weight + bias over the last n_axes axes, whose shape weight and bias
   have. */
KN_API kn_tensor kn_layer_norm(kn_tensor x, kn_tensor weight, kn_tensor bias, int32_t n_axes, double eps);
/* y = x / sqrt(mean(x^2) + eps) * weight over the last n_axes axes. */
KN_API kn_tensor kn_rms_norm(kn_tensor x, kn_tensor weight, int32_t n_axes, double eps);
/* x [batch, channels, ...]: each of `groups` equal groups of channels is normalised; weight, bias [channels]. */
KN_API kn_tensor kn_group_norm(kn_tensor x, kn_tensor weight, kn_tensor bias, int64_t groups, double eps);
/* x [batch, channels, ...] with at least one axis more: each channel of each sample is normalised. */
KN_API kn_tensor kn_instance_norm(kn_tensor x, kn_tensor weight, kn_tensor bias, double eps);
/* A normalised tensor and the statistics it was normalised with. */
typedef struct kn_batch_norm_result {
    kn_tensor y, mean, variance;
} kn_batch_norm_result;
/* The same, with the means over the batch of the channels' means and (biased) variances, for running averages: all [channels],
   f32 where x is a half type. In evaluation kn_batch_norm takes the averages. */
KN_API kn_batch_norm_result kn_instance_norm_train(kn_tensor x, kn_tensor weight, kn_tensor bias, double eps);
/* y = (x - mean) / sqrt(variance + eps) * weight + bias with the given statistics, all [channels];
   x [batch, channels, ...]. */
KN_API kn_tensor kn_batch_norm(kn_tensor x, kn_tensor mean, kn_tensor variance, kn_tensor weight,
                               kn_tensor bias, double eps);
/* The same with the statistics of the batch, which come back for the running averages. variance is the mean
   square (biased); n / (n - 1) times it is the unbiased one. They are f32 where x is a half type. */
KN_API kn_batch_norm_result kn_batch_norm_train(kn_tensor x, kn_tensor weight, kn_tensor bias, double eps);
/* y = x / (k + alpha / size * sum of x^2 over `size` neighbouring channels)^beta; x [batch, channels, ...] of
   rank 3 or more. */
typedef struct kn_local_response_norm_args {
    int64_t size; /* 0 = 5 */
    double alpha; /* 0 = 1e-4, KN_ZERO = 0 */
    double beta;  /* 0 = 0.75, KN_ZERO = 0 */
    double k;     /* 0 = 1, KN_ZERO = 0 */
} kn_local_response_norm_args;
#define KN_LOCAL_RESPONSE_NORM_ARGS_DEFAULTS KN_FIELDS(5, 1e-4, 0.75, 1.0)
KN_API kn_tensor kn_local_response_norm(kn_tensor x, const kn_local_response_norm_args *args);

/* ---- embedding, dropout, rotary embedding */

/* y[..., :] = weight[indices[...], :]; weight [rows, size], indices of any integer dtype. */
typedef struct kn_embedding_args {
    int64_t padding_index; /* this row gets no gradient; 0 = none, KN_ZERO = row 0, negative: from the end */
} kn_embedding_args;
#define KN_EMBEDDING_ARGS_DEFAULTS KN_ZEROED
KN_API kn_tensor kn_embedding(kn_tensor weight, kn_tensor indices, const kn_embedding_args *args);

typedef enum kn_bag_mode { KN_BAG_MEAN = 0, KN_BAG_SUM = 1, KN_BAG_MAX = 2 } kn_bag_mode;
typedef struct kn_embedding_bag_args {
    kn_bag_mode mode;
    kn_tensor
        offsets; /* integers [bags], ascending from 0 to at most n: where each bag of indices [n] begins, others fail as an index out of range; KN_NONE for indices [bags, size] */
    kn_tensor per_sample_weights; /* factors of the rows, the shape of indices; KN_BAG_SUM only; or KN_NONE */
    bool include_last_offset;     /* offsets has one element more: where the last bag ends */
    int64_t
        padding_index; /* this row is left out and gets no gradient; 0 = none, KN_ZERO = row 0, negative: from the end */
} kn_embedding_bag_args;
#define KN_EMBEDDING_BAG_ARGS_DEFAULTS KN_ZEROED
/* y[b, :] = the mean, sum or largest of weight[i, :] over the indices i of bag b, 0 for an empty bag; weight [rows, size].
   Differentiable in weight and per_sample_weights. */
KN_API kn_tensor kn_embedding_bag(kn_tensor weight, kn_tensor indices, const kn_embedding_bag_args *args);

/* y = x / (1 - p) with probability 1 - p, else 0; x itself when not training. The mask comes from the device's
   random numbers (kn_seed) and is made again for the gradient. */
KN_API kn_tensor kn_dropout(kn_tensor x, double p, bool training);
/* The same with one draw for each channel of x [batch, channels, ...]. */
KN_API kn_tensor kn_feature_dropout(kn_tensor x, double p, bool training);
/* Keeps mean 0 and variance 1 after SELU: dropped elements become SELU's lower limit, then all are rescaled. */
KN_API kn_tensor kn_alpha_dropout(kn_tensor x, double p, bool training);

/* Turns each pair (a, b) of the last axis by the angle of its token: (a cos - b sin, a sin + b cos).
   x [..., tokens, size]; cosines and sines [tokens, half] with 2 half <= size, the rest of the axis is copied. Both
   KN_NONE: the angle of token t and pair i is (offset + t) theta^(-i / half), half = size / 2. */
typedef struct kn_rope_args {
    double theta;     /* 0 = 10000 */
    int64_t offset;   /* position of the first token */
    bool interleaved; /* pairs are neighbours (2i, 2i + 1); else i and i + half */
} kn_rope_args;
#define KN_ROPE_ARGS_DEFAULTS KN_FIELDS(10000.0, 0, false)
KN_API kn_tensor kn_rope(kn_tensor x, kn_tensor cosines, kn_tensor sines, const kn_rope_args *args);
/* The tables of the formula above, [tokens, size / 2] in dtype. */
typedef struct kn_rope_table {
    kn_tensor cosines, sines;
} kn_rope_table;
KN_API kn_rope_table kn_rope_tables(int64_t tokens, int64_t size, kn_dtype dtype, const kn_rope_args *args);

/* ---- losses */

typedef enum kn_reduction {
    KN_REDUCTION_MEAN = 0, /* of all elements, or what the loss says */
    KN_REDUCTION_SUM = 1,
    KN_REDUCTION_NONE = 2
} kn_reduction;

/* -log softmax(x)[target] with x [batch, classes, ...] (or [classes]) and either class indices [batch, ...] or
   probabilities of x's shape. The mean divides by the weights of the classes met (indices), or by the number of
   positions (probabilities). */
typedef struct kn_cross_entropy_args {
    kn_tensor weight;       /* [classes], or KN_NONE */
    double label_smoothing; /* 0 to 1: this part of the target is spread over all classes; 0 is off */
    int64_t ignore_index;   /* positions with this target do not count; 0 = -100, KN_ZERO = 0 */
    kn_reduction reduction;
} kn_cross_entropy_args;
#define KN_CROSS_ENTROPY_ARGS_DEFAULTS KN_FIELDS(KN_ZEROED, 0.0, -100, KN_REDUCTION_MEAN)
KN_API kn_tensor kn_cross_entropy(kn_tensor logits, kn_tensor target, const kn_cross_entropy_args *args);
/* mean over the batch of -sum_c p_c log_softmax(logits)_c along axis 1. */
KN_API kn_tensor kn_cross_entropy_probabilities(kn_tensor logits, kn_tensor probabilities);
/* -weight[t] x[t]: x [batch, classes, ...] are log probabilities. args as for kn_cross_entropy, without smoothing. */
KN_API kn_tensor kn_nll_loss(kn_tensor x, kn_tensor target, const kn_cross_entropy_args *args);

/* -(t log x + (1 - t) log(1 - x)) weight, logarithms not below -100. x in [0, 1]. */
typedef struct kn_binary_cross_entropy_args {
    kn_tensor weight;     /* broadcasts to x, or KN_NONE */
    kn_tensor pos_weight; /* factor of the positive part, broadcasts to x; logits only */
    kn_reduction reduction;
} kn_binary_cross_entropy_args;
#define KN_BINARY_CROSS_ENTROPY_ARGS_DEFAULTS KN_ZEROED
KN_API kn_tensor kn_binary_cross_entropy(kn_tensor x, kn_tensor target,
                                         const kn_binary_cross_entropy_args *args);
/* The same of sigmoid(x), computed from the logits: (1 - t) x + (1 + (pos_weight - 1) t) softplus(-x). */
KN_API kn_tensor kn_binary_cross_entropy_with_logits(kn_tensor x, kn_tensor target,
                                                     const kn_binary_cross_entropy_args *args);

/* (x - t)^2 */
KN_API kn_tensor kn_mse_loss(kn_tensor x, kn_tensor target, kn_reduction reduction);
/* |x - t| */
KN_API kn_tensor kn_l1_loss(kn_tensor x, kn_tensor target, kn_reduction reduction);
/* d^2 / (2 beta) where d = |x - t| < beta, else d - beta / 2. beta 0 is kn_l1_loss. */
KN_API kn_tensor kn_smooth_l1_loss(kn_tensor x, kn_tensor target, double beta, kn_reduction reduction);
/* d^2 / 2 where d = |x - t| <= delta, else delta (d - delta / 2). */
KN_API kn_tensor kn_huber_loss(kn_tensor x, kn_tensor target, double delta, kn_reduction reduction);

/* t (log t - x), or exp(t) (t - x) where the target is given as its logarithm; x are log probabilities. */
typedef struct kn_kl_div_args {
    bool log_target;
    bool batch_mean; /* divide the sum by the size of axis 0 instead of the number of elements */
    kn_reduction reduction;
} kn_kl_div_args;
#define KN_KL_DIV_ARGS_DEFAULTS KN_ZEROED
KN_API kn_tensor kn_kl_div_loss(kn_tensor x, kn_tensor target, const kn_kl_div_args *args);

/* exp(x) - t x, or x - t log(x + eps) for rates. full adds t log t - t + log(2 pi t) / 2 where t > 1. */
typedef struct kn_poisson_nll_args {
    bool rates; /* x is the rate, not its logarithm */
    bool full;
    double eps; /* 0 = 1e-8, KN_ZERO = 0 */
    kn_reduction reduction;
} kn_poisson_nll_args;
#define KN_POISSON_NLL_ARGS_DEFAULTS KN_FIELDS(false, false, 1e-8, KN_REDUCTION_MEAN)
KN_API kn_tensor kn_poisson_nll_loss(kn_tensor x, kn_tensor target, const kn_poisson_nll_args *args);

/* (log v + (x - t)^2 / v) / 2 with v = max(variance, eps). full adds log(2 pi) / 2. */
typedef struct kn_gaussian_nll_args {
    bool full;
    double eps; /* 0 = 1e-6, KN_ZERO = 0 */
    kn_reduction reduction;
} kn_gaussian_nll_args;
#define KN_GAUSSIAN_NLL_ARGS_DEFAULTS KN_FIELDS(false, 1e-6, KN_REDUCTION_MEAN)
KN_API kn_tensor kn_gaussian_nll_loss(kn_tensor x, kn_tensor target, kn_tensor variance,
                                      const kn_gaussian_nll_args *args);

/* x where t = 1, max(0, margin - x) where t = -1. */
KN_API kn_tensor kn_hinge_embedding_loss(kn_tensor x, kn_tensor target, double margin,
                                         kn_reduction reduction);
/* 1 - cos(a, b) where t = 1, max(0, cos(a, b) - margin) where t = -1; the cosine is of the last axis. */
typedef struct kn_margin_args {
    double margin; /* 0 is 0 */
    kn_reduction reduction;
} kn_margin_args;
#define KN_MARGIN_ARGS_DEFAULTS KN_ZEROED
KN_API kn_tensor kn_cosine_embedding_loss(kn_tensor a, kn_tensor b, kn_tensor target,
                                          const kn_margin_args *args);
/* -(t log sigmoid(x) + (1 - t) log sigmoid(-x)) weight, the mean over the last axis; x and target [..., classes] of one shape, t in
   [0, 1]; weight broadcasts to x, or KN_NONE. */
KN_API kn_tensor kn_multilabel_soft_margin_loss(kn_tensor x, kn_tensor target, kn_tensor weight,
                                                kn_reduction reduction);
/* sum over labels t and over classes c that are no label of max(0, 1 - x[t] + x[c]) / classes; x and target [batch, classes] or
   [classes]. target lists the labels of a sample (integers) up to its first negative element. Needs memory for
   classes^2 elements of each sample. */
KN_API kn_tensor kn_multilabel_margin_loss(kn_tensor x, kn_tensor target, kn_reduction reduction);
/* max(0, -t (a - b) + margin) */
KN_API kn_tensor kn_margin_ranking_loss(kn_tensor a, kn_tensor b, kn_tensor target,
                                        const kn_margin_args *args);
/* max(0, d(anchor, positive) - d(anchor, negative) + margin), d the p-norm of the difference (+ eps) over the last
   axis. swap takes d(positive, negative) for the second where that is smaller. */
typedef struct kn_triplet_args {
    double margin; /* 0 = 1, KN_ZERO = 0 */
    double p;      /* 0 = 2 */
    double eps;    /* 0 = 1e-6, KN_ZERO = 0 */
    bool swap;
    kn_reduction reduction;
} kn_triplet_args;
#define KN_TRIPLET_ARGS_DEFAULTS KN_FIELDS(1.0, 2.0, 1e-6, false, KN_REDUCTION_MEAN)
KN_API kn_tensor kn_triplet_margin_loss(kn_tensor anchor, kn_tensor positive, kn_tensor negative,
                                        const kn_triplet_args *args);

/* Connectionist temporal classification: -log of the sum over all alignments of the target with the steps.
   log_probs [steps, batch, classes] (log_softmax of the last axis); targets [batch, longest], or all labels one
   after the other [sum of lengths]; lengths [batch]. The mean divides each loss by its target's length first. The
   gradient is that of log_probs themselves. Second derivatives are not available. */
typedef struct kn_ctc_args {
    int64_t blank;
    bool zero_infinity; /* sequences that cannot be aligned count as 0 instead of inf */
    kn_reduction reduction;
} kn_ctc_args;
#define KN_CTC_ARGS_DEFAULTS KN_ZEROED
KN_API kn_tensor kn_ctc_loss(kn_tensor log_probs, kn_tensor targets, kn_tensor input_lengths,
                             kn_tensor target_lengths, const kn_ctc_args *args);

/* ---- recurrent cells over whole sequences, with the gates and options of ONNX (kn/nn.h has layers made of single steps) */

typedef enum kn_direction { KN_ONWARD = 0, KN_BACK = 1, KN_BOTH_WAYS = 2 } kn_direction;
typedef enum kn_gate_activation {
    KN_GATE_DEFAULT = 0,          /* those of the formula */
    KN_GATE_SIGMOID = 1,          /* 1 / (1 + exp(-x)) */
    KN_GATE_TANH = 2,             /* tanh(x) */
    KN_GATE_RELU = 3,             /* max(x, 0) */
    KN_GATE_AFFINE = 4,           /* alpha x + beta; 1 and 0 */
    KN_GATE_LEAKY_RELU = 5,       /* x < 0 ? alpha x : x; 0.01 */
    KN_GATE_THRESHOLDED_RELU = 6, /* x > alpha ? x : 0; 1 */
    KN_GATE_SCALED_TANH = 7,      /* alpha tanh(beta x); 1 and 1 */
    KN_GATE_HARD_SIGMOID = 8,     /* min(max(alpha x + beta, 0), 1); 0.2 and 0.5 */
    KN_GATE_ELU = 9,              /* x < 0 ? alpha (exp(x) - 1) : x; 1 */
    KN_GATE_SOFTSIGN = 10,        /* x / (1 + |x|) */
    KN_GATE_SOFTPLUS = 11         /* log(1 + exp(x)) */
} kn_gate_activation;
typedef struct kn_gate {
    kn_gate_activation kind;
    double alpha, beta; /* 0: as above; KN_ZERO: 0 */
} kn_gate;

typedef struct kn_recurrent_args {
    kn_tensor bias;    /* [directions, 2 gates hidden]: that of x, then that of h; KN_NONE: none */
    kn_tensor lengths; /* integers [batch]: how many steps each sequence has, at most all; KN_NONE: all */
    kn_tensor h, c;    /* [directions, batch, hidden]: the state before the first step; KN_NONE: zeros */
    kn_tensor
        peepholes; /* lstm: [directions, 3 hidden], factors of c in the gates i, o and f; KN_NONE: none */
    kn_direction direction;
    kn_gate activations[6];   /* f, g and h of lstm, f and g of gru, f of rnn; then those of the way back */
    double clip;              /* above 0: gates are clamped to -clip .. clip before their activation */
    bool linear_before_reset; /* gru: multiplies by the reset gate after the product with r */
    bool input_forget;        /* lstm: the forget gate is 1 - i */
} kn_recurrent_args;
#define KN_RECURRENT_ARGS_DEFAULTS KN_ZEROED
typedef struct kn_recurrent_result {
    kn_tensor
        y; /* [steps, directions, batch, hidden]: h after each step; zeros after the end of a sequence */
    kn_tensor h,
        c; /* [directions, batch, hidden]: the state after the last step; c is KN_NONE but for lstm */
} kn_recurrent_result;
/* x [steps, batch, in], weight [directions, gates hidden, in], weight_h [directions, gates hidden, hidden]. The way back begins at the
   last step of each sequence. Differentiable in all but the lengths.
     i, o, f = sigmoid(w x + r h + bias + p c), g = tanh(w x + r h + bias), c = f c + i g, h = o tanh(c); gates in the order i, o, f, g */
KN_API kn_recurrent_result kn_lstm(kn_tensor x, kn_tensor weight, kn_tensor weight_h,
                                   const kn_recurrent_args *args);
/* z, s = sigmoid(w x + r h + bias), g = tanh(w x + r (s h) + bias), h = (1 - z) g + z h; gates in the order z, s, g */
KN_API kn_recurrent_result kn_gru(kn_tensor x, kn_tensor weight, kn_tensor weight_h,
                                  const kn_recurrent_args *args);
/* h = tanh(w x + r h + bias) */
KN_API kn_recurrent_result kn_rnn(kn_tensor x, kn_tensor weight, kn_tensor weight_h,
                                  const kn_recurrent_args *args);

typedef enum kn_layers_cell { KN_LAYERS_RNN = 1, KN_LAYERS_GRU = 2, KN_LAYERS_LSTM = 3 } kn_layers_cell;
typedef struct kn_recurrent_layers_args {
    kn_layers_cell cell;
    int64_t layers; /* 0: 1 */
    int64_t hidden;
    bool bidirectional, no_bias;
    kn_tensor h, c; /* [layers directions, batch, hidden]: the states before the first step; KN_NONE: zeros */
} kn_recurrent_layers_args;
#define KN_RECURRENT_LAYERS_ARGS_DEFAULTS KN_ZEROED
/* The layers of kn_nn_rnn, kn_nn_gru or kn_nn_lstm in one call, without dropout between them: x [steps, batch, in], y [steps, batch,
   directions hidden], h and c as in the args. weights: one vector of each layer's and direction's weight_ih, weight_hh, one pair after
   the other, then of all their bias_ih, bias_hh. Under autocast it computes in the short float, or in f32 where the device has no other. */
KN_API kn_recurrent_result kn_recurrent_layers(kn_tensor x, kn_tensor weights,
                                               const kn_recurrent_layers_args *args);
/* How many layers such a call should have on the device of x: INT32_MAX where a library runs it, 1 where it is made of ops, 0 where steps of single
   layers are as good, as on the CPU. x stays. */
KN_API int32_t kn_recurrent_layers_at_once(kn_tensor x);

/* ---- old names */

KN_API kn_tensor kn_cross_entropy_with_logits(kn_tensor logits, kn_tensor probabilities)
    KN_DEPRECATED("write kn_cross_entropy_probabilities: the target is probabilities");

#ifdef __cplusplus
}
#endif
#endif
