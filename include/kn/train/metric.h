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
    /* Adds a step; value and mean of the epoch so far go to *value and *mean. */
    kn_status (*update)(void *self, const kn_step_output *output, const kn_metric_context *context,
                        double *value, double *mean);
    void (*reset)(void *self); /* at the start of each epoch and split */
    /* The text of a value; NULL: four digits. */
    size_t (*format)(void *self, double value, char *buffer, size_t n);
    void (*close)(void *self);
} kn_metric_type;
KN_API kn_metric kn_metric_make(const kn_metric_type *type, void *self);
KN_API void kn_metric_free(kn_metric metric);
KN_API const char *kn_metric_name(kn_metric metric);
KN_API bool kn_metric_higher_is_better(kn_metric metric);
KN_API KN_MUST_CHECK kn_status kn_metric_update(kn_metric metric, const kn_step_output *output,
                                                const kn_metric_context *context, double *value,
                                                double *mean);
KN_API void kn_metric_reset(kn_metric metric);
/* The value of all updates since the reset. */
KN_API double kn_metric_value(kn_metric metric);

/* ---- those that come with Kiln; NULL with kn_last_error() */

KN_API kn_metric kn_metric_loss(void);
/* The part of the samples whose best score is the target. scores [batch, classes], or [batch] with a threshold at 0.5 where
   targets are 0 or 1. ignore: a target that does not count (padding); -1: none. */
KN_API kn_metric kn_metric_accuracy(int64_t ignore);
KN_API kn_metric kn_metric_top_k_accuracy(int32_t k, int64_t ignore);

typedef enum kn_class_reduction { KN_CLASS_MICRO = 0, KN_CLASS_MACRO = 1 } kn_class_reduction;
/* How scores become decisions: the k best classes, or all above a threshold (multi-label). */
typedef struct kn_decision {
    int32_t top_k;    /* 0: by threshold, unless scores have several classes and threshold is 0: then 1 */
    double threshold; /* 0 = 0.5 */
    kn_class_reduction reduction;
} kn_decision;
KN_API kn_metric kn_metric_precision(const kn_decision *decision);
KN_API kn_metric kn_metric_recall(const kn_decision *decision);
KN_API kn_metric kn_metric_f_beta(double beta, const kn_decision *decision);
KN_API kn_metric kn_metric_hamming(double threshold);
KN_API kn_metric kn_metric_auroc(void);
KN_API kn_metric kn_metric_auc_pr(void);
/* exp of the mean loss per token: scores [tokens, classes] or [batch, tokens, classes], ignore as above. */
KN_API kn_metric kn_metric_perplexity(int64_t ignore);
/* scores and targets are token ids [batch, length] padded with pad; edit distance over target length. */
KN_API kn_metric kn_metric_char_error_rate(int64_t pad);
/* Words are runs of ids between separators. */
KN_API kn_metric kn_metric_word_error_rate(int64_t pad, int64_t separator);
KN_API kn_metric kn_metric_bleu(int32_t max_order, int64_t pad, bool smooth);
KN_API kn_metric kn_metric_rouge_l(int64_t pad);
KN_API kn_metric kn_metric_dice(void);
KN_API kn_metric kn_metric_psnr(double max_value);
KN_API kn_metric kn_metric_ssim(double max_value);
KN_API kn_metric kn_metric_ms_ssim(double max_value);
KN_API kn_metric kn_metric_learning_rate(void);
KN_API kn_metric kn_metric_grad_norm(void);
KN_API kn_metric kn_metric_iteration_speed(void);
/* Of the process and the machine; NaN where the system does not tell. */
KN_API kn_metric kn_metric_cpu_use(void);
KN_API kn_metric kn_metric_cpu_memory(void);
KN_API kn_metric kn_metric_cpu_temperature(void);
KN_API kn_metric kn_metric_gpu_use(void);
KN_API kn_metric kn_metric_gpu_memory(void);

#ifdef __cplusplus
}
#endif
#endif
