/* Metrics: numbers that tell how well a model does, updated from what a step returns. */
#ifndef KN_TRAIN_METRIC_H
#define KN_TRAIN_METRIC_H

#include <kn/base.h>
#include <kn/state.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a train or valid step hands back; all tensors are temporaries or kept, and KN_NONE where the step has none. */
typedef struct kn_step_output {
    kn_tensor loss;    /* a mean over the batch, one element */
    kn_tensor scores;  /* predictions: class scores [batch, classes], values ... */
    kn_tensor targets; /* what they should be */
    int64_t items;     /* samples in the batch; 0: size of axis 0 of scores, or the loader's batch */
} kn_step_output;

/* What else a metric may look at. */
typedef struct kn_metric_context {
    double lr;
    double seconds; /* of this step */
    int64_t step, epoch, items;
    double grad_norm; /* NaN where it was not computed */
} kn_metric_context;

typedef struct kn_metric_object *kn_metric;

/* A metric of your own. */
typedef struct kn_metric_type {
    const char *name;
    bool higher_is_better;
    /* Adds a step; value and mean of the epoch so far go to *value and *mean. The output's tensors are kept: use them as often
       as you like. Nothing is recorded on a tape meanwhile. */
    kn_status (*update)(void *self, const kn_step_output *output, const kn_metric_context *context,
                        double *value, double *mean);
    void (*reset)(void *self); /* at the start of each epoch and split */
    /* The text of a value; NULL: four digits. */
    size_t (*format)(void *self, double value, char *buffer, size_t n);
    void (*close)(void *self);
    /* The sums so far to and from a state, for a resume in mid-epoch; NULL: they begin anew there. */
    kn_status (*save)(void *self, kn_state state, const char *prefix);
    kn_status (*load)(void *self, kn_state state, const char *prefix);
    /* The value of all updates; NULL: the mean of the latest update. For those whose exact value is dear. */
    double (*total)(void *self);
} kn_metric_type;
/* NULL with kn_last_error(); self is closed then, too. The type must outlive the metric. */
KN_API kn_metric kn_metric_make(const kn_metric_type *type, void *self);
KN_API void kn_metric_free(kn_metric metric);
KN_API const char *kn_metric_name(kn_metric metric);
KN_API bool kn_metric_higher_is_better(kn_metric metric);
/* Borrows the output's tensors. */
KN_API KN_MUST_CHECK kn_status kn_metric_update(kn_metric metric, const kn_step_output *output,
                                                const kn_metric_context *context, double *value,
                                                double *mean);
KN_API void kn_metric_reset(kn_metric metric);
/* The value of all updates since the reset. */
KN_API double kn_metric_value(kn_metric metric);
/* A value as a person reads it: "87.5 %"; returns the length of the whole text. */
KN_API size_t kn_metric_format(kn_metric metric, double value, char *buffer, size_t n);
KN_API KN_MUST_CHECK kn_status kn_metric_save(kn_metric metric, kn_state state, const char *prefix);
KN_API KN_MUST_CHECK kn_status kn_metric_load(kn_metric metric, kn_state state, const char *prefix);

/* ---- those that come with Kiln; NULL with kn_last_error(). Parts of a whole are 0 to 1 and printed as percentages. Scores have
   their classes on the last axis where the other axes are those of the targets, else on axis 1. */

/* "loss": the mean over items. */
KN_API kn_metric kn_metric_loss(void);
/* "accuracy": the part of the targets whose best score is theirs. scores [batch, classes], targets [batch]; or both [batch], one
   score against 0.5 where targets are 0 or 1. ignore: a target that does not count, -100 as in kn_cross_entropy, or that of padding; -1: none. */
KN_API kn_metric kn_metric_accuracy(int64_t ignore);
/* "top_5_accuracy": the target is among the k best. */
KN_API kn_metric kn_metric_top_k_accuracy(int32_t k, int64_t ignore);

typedef enum kn_class_reduction { KN_CLASS_MICRO = 0, KN_CLASS_MACRO = 1 } kn_class_reduction;
/* How scores become decisions: the k best classes, or all above a threshold (multi-label). */
typedef struct kn_decision {
    int32_t
        top_k; /* 0: by threshold where targets have the shape of scores (0 or 1 for each class), else 1 */
    double threshold; /* 0 = 0.5, KN_ZERO = 0 */
    kn_class_reduction
        reduction; /* MACRO: the mean over classes that occur in targets or decisions; 0 / 0 counts as 0 */
} kn_decision;
#define KN_DECISION_DEFAULTS KN_FIELDS(0, 0.5, KN_CLASS_MICRO)
/* "precision": tp / (tp + fp). NULL for the defaults; "precision_macro", "precision_top_3" by the decision. */
KN_API kn_metric kn_metric_precision(const kn_decision *decision);
/* "recall": tp / (tp + fn). */
KN_API kn_metric kn_metric_recall(const kn_decision *decision);
/* "f1" for beta 1: (1 + beta^2) tp / ((1 + beta^2) tp + beta^2 fn + fp). The default reduction is MICRO, over all classes
   together: where each sample has one class and one decision, precision, recall and every F are then the accuracy. MACRO is the
   mean over classes, "f1_macro"; for the F1 of one positive class give scores [batch] against targets 0 or 1. */
KN_API kn_metric kn_metric_f_beta(double beta, const kn_decision *decision);
/* "hamming": the part of all labels that scores above the threshold (0 = 0.5, KN_ZERO = 0) get right. */
KN_API kn_metric kn_metric_hamming(double threshold);
/* "auroc": the chance that a positive scores above a negative, ties count half. scores [batch] or [batch, 2] and targets 0 or 1;
   more classes, or labels of scores' shape: the mean over columns that have both. */
KN_API kn_metric kn_metric_auroc(void);
/* "auc_pr": average precision, sum of (R_n - R_n-1) P_n over falling thresholds. */
KN_API kn_metric kn_metric_auc_pr(void);
/* "perplexity": exp of the mean -log softmax(scores)[target] over tokens. ignore as above. */
KN_API kn_metric kn_metric_perplexity(int64_t ignore);
/* "char_error_rate": edit distance over target length, both summed. scores and targets are token ids [batch, length] padded
   with pad; scores with one axis more are class scores of tokens, of which the best counts. */
KN_API kn_metric kn_metric_char_error_rate(int64_t pad);
/* "word_error_rate": words are runs of ids between separators. */
KN_API kn_metric kn_metric_word_error_rate(int64_t pad, int64_t separator);
/* "bleu": of the whole corpus, orders 1 to max_order (0 = 4). smooth adds 1 to matches and totals of orders above 1. */
KN_API kn_metric kn_metric_bleu(int32_t max_order, int64_t pad, bool smooth);
/* "rouge_l": mean over samples of the F1 of the longest common subsequence. */
KN_API kn_metric kn_metric_rouge_l(int64_t pad);
/* "dice": 2 |A and B| / (|A| + |B|) over all elements; scores above 0.5 against targets 0 or 1 of the same shape. */
KN_API kn_metric kn_metric_dice(void);
/* Of images [batch, channels, height, width] with values 0 to max_value (0 = 1), scores against targets; means over images.
   "psnr": 10 log10(max_value^2 / mean square error), 100 at most. */
KN_API kn_metric kn_metric_psnr(double max_value);
/* "ssim": a Gaussian window of 11 with sigma 1.5, K 0.01 and 0.03, without padding. */
KN_API kn_metric kn_metric_ssim(double max_value);
/* "ms_ssim": over five scales; sides of at least 161. */
KN_API kn_metric kn_metric_ms_ssim(double max_value);
/* "learning_rate" and "grad_norm" of the step; "iteration_speed" in steps per second. */
KN_API kn_metric kn_metric_learning_rate(void);
KN_API kn_metric kn_metric_grad_norm(void);
KN_API kn_metric kn_metric_iteration_speed(void);
/* NaN where the system does not tell. Use is of the whole machine; memory in GiB is of the process (CPU) and of the device (GPU);
   temperature is that of the hottest zone in degrees Celsius. The GPU is the first one that NVIDIA's driver names. */
KN_API kn_metric kn_metric_cpu_use(void);
KN_API kn_metric kn_metric_cpu_memory(void);
KN_API kn_metric kn_metric_cpu_temperature(void);
KN_API kn_metric kn_metric_gpu_use(void);
KN_API kn_metric kn_metric_gpu_memory(void);

#ifdef __cplusplus
}
#endif

#ifndef KN_NO_SITES
#include <kn/sites/metric_sites.h>
#endif

#endif
