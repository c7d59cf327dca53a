/* The learner: one training run, from a model and a loader to a trained model, its checkpoints and its logs.

       kn_learner l = kn_learner_make(&(kn_learner_args){ .model = KN_MODULE_OF(Net, &net), .optim = optim, .lr = 1e-3,
           .train = train_loader, .valid = valid_loader, .epochs = 5, .folder = "run",
           .train_step = step, .valid_step = step });
       kn_learner_add_metric(l, kn_metric_accuracy(-1));
       kn_status s = kn_learner_fit(l);
*/
#ifndef KN_TRAIN_LEARNER_H
#define KN_TRAIN_LEARNER_H

#include <kn/data.h>
#include <kn/optim.h>
#include <kn/train/metric.h>
#include <kn/train/renderer.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kn_learner_object *kn_learner;

/* Runs the model on a batch. context is kn_learner_args.context. The loss must be on the tape in training; in validation the
   learner has put the model into eval mode and nothing is recorded. */
typedef kn_status (*kn_step_fn)(void *context, const kn_sample *batch, kn_step_output *output);
/* A whole step of your own instead of forward, backward and update (GANs, several optimisers). */
typedef kn_status (*kn_custom_step_fn)(void *context, const kn_sample *batch, double lr,
                                       kn_step_output *output);

typedef enum kn_nan_policy {
    KN_NAN_STOP = 0,  /* end the run with an error that names the step; on the processor before its update */
    KN_NAN_SKIP = 1,  /* leave this update out and say so */
    KN_NAN_LOG = 2,   /* update all the same and say so */
    KN_NAN_IGNORE = 3 /* do not look */
} kn_nan_policy;

/* What a step of your own needs besides the model to go on later (a second optimiser ...), to and from a checkpoint. */
typedef kn_status (*kn_extra_fn)(void *context, kn_state state, const char *prefix);

typedef struct kn_learner_args {
    kn_module model;
    kn_optim optim;              /* borrowed, as are all objects here; NULL only with custom_step */
    double lr;                   /* where there is no schedule, which is then an error to lack; KN_ZERO = 0 */
    kn_schedule schedule;        /* advanced at each optimiser step */
    bool schedule_by_epoch;      /* advanced at each epoch instead */
    const char *schedule_metric; /* reported to the schedule (plateau); NULL = "loss" */
    /* valid may be NULL. Early stopping, the best checkpoint and the schedule then watch the metrics of training. */
    kn_loader train, valid;
    kn_step_fn train_step, valid_step;
    kn_custom_step_fn custom_step; /* instead of train_step */
    void *context;
    kn_extra_fn save_extra, load_extra; /* NULL for none */
    int64_t epochs;
    int32_t accumulate; /* batches for each optimiser step, 0 = 1; their gradients are averaged */
    kn_clip_kind clip;
    double clip_limit;
    bool grad_norm;           /* compute the gradient norm for metrics and events */
    kn_nan_policy nan_policy; /* of the loss and the gradient norm */
    kn_ema ema;               /* updated after each step, used in validation; NULL for none */
    /* Of the device's random numbers: each batch has its own, from the seed and the batch's number. Loaders have theirs. */
    uint64_t seed;
    const char *name;   /* "mnist" */
    const char *folder; /* of checkpoints, logs and the report; NULL: nothing is written */
    bool
        catch_interrupts; /* Ctrl-C or SIGTERM once: finish the step, save, leave; twice: what they did before */
    int32_t valid_every;         /* epochs, 0 = 1 */
    bool valid_on_tape;          /* record in validation, for steps that differentiate */
    bool valid_in_training_mode; /* leave dropout and batch norm as in training */
} kn_learner_args;
#define KN_LEARNER_ARGS_DEFAULTS KN_ZEROED

/* NULL with kn_last_error(). Texts are copied. The metrics loss and, where asked for, the gradient norm are there from the start. */
KN_API kn_learner kn_learner_make(const kn_learner_args *args);
KN_API void kn_learner_free(kn_learner learner);
/* The learner takes these over, also on failure. A metric is computed for both splits (and in kn_learner_evaluate), or one of
   them (KN_SPLIT_VALID: that and kn_learner_evaluate). Names are unique. */
KN_API kn_status kn_learner_add_metric(kn_learner learner, kn_metric metric);
KN_API kn_status kn_learner_add_metric_to(kn_learner learner, kn_metric metric, kn_run_split split);
KN_API kn_status kn_learner_add_renderer(kn_learner learner, kn_renderer renderer);

/* ---- checkpoints: folder/checkpoint/step-00000123.safetensors

   One file with all that a bit-exact resume needs: model/, optim/, schedule/, ema/, loader/, learner/ and extra/. It appears
   whole or not at all, and older ones are removed only when it is there. Checkpoints of a run that was not resumed are moved to
   folder/checkpoint.1 (.2, .3 ...: the newest has the largest number) when a new one begins, and the oldest of these are removed;
   checkpoints beyond the step that a run went back to are removed. */

typedef struct kn_checkpoint_policy {
    int32_t keep_last; /* newest kept, 0 = 2, -1 = all */
    const char *
        best_metric; /* the best by this metric of validation (without it: of training) is kept too; NULL = "loss", "" = none */
    int64_t every_steps; /* optimiser steps; also in mid-epoch. 0: at the end of each epoch only */
    bool off;
    int32_t keep_runs; /* earlier runs whose checkpoints are kept, 0 = 3, -1 = all */
} kn_checkpoint_policy;
#define KN_CHECKPOINT_POLICY_DEFAULTS KN_FIELDS(2, NULL, 0, false, 3)
KN_API kn_status kn_learner_set_checkpoints(kn_learner learner, const kn_checkpoint_policy *policy);
/* Goes on from the newest complete checkpoint in the folder; *resumed (may be NULL) is false where there is none. Call it when
   all metrics are added. A file that is damaged (a wrong checksum, an end that is missing) is renamed to step-N.safetensors.damaged
   and the one before is taken, with a message in the run's log. Any other failure (no permission, no memory, a disk that does not
   answer) is returned and touches no file: the newest checkpoint may be readable the next time. */
KN_API KN_MUST_CHECK kn_status kn_learner_resume(kn_learner learner, bool *resumed);
/* The same from one file. */
KN_API KN_MUST_CHECK kn_status kn_learner_load(kn_learner learner, const char *path);
/* The model (and the average, where there is an ema) of the best checkpoint becomes the model; KN_ERROR_ARGUMENT where none is kept. */
KN_API KN_MUST_CHECK kn_status kn_learner_load_best(kn_learner learner);
/* Saves now, between runs: in a run this happens as the policy says. KN_ERROR_NUMERIC after a run that ended with a bad update in
   the weights (KN_NAN_STOP where the device is not the processor or the step is your own): resume from a checkpoint then. */
KN_API KN_MUST_CHECK kn_status kn_learner_save(kn_learner learner);

/* ---- stopping */

/* Ends the run when a metric of validation has not become better for a while. Where the learner has no valid loader the metric
   is that of training, whose loss seldom stops falling: give a valid loader to stop before a model overfits. A metric that is
   not computed for the split is an error of kn_learner_fit. With valid_every above 1 only epochs with a validation count. */
typedef struct kn_early_stopping {
    const char *metric; /* NULL = "loss" */
    int64_t
        patience; /* epochs in a row without a better value, 0 = 5, KN_ZERO = 0: the first one ends the run, as with 1 */
    int64_t warm_up;  /* epochs that do not count */
    double min_delta; /* a value must be better by more than this; 0 is off */
} kn_early_stopping;
#define KN_EARLY_STOPPING_DEFAULTS KN_FIELDS(NULL, 5, 0, 0.0)
KN_API kn_status kn_learner_set_early_stopping(kn_learner learner, const kn_early_stopping *rule);
/* From any thread or signal handler: finish the step, save, leave. */
KN_API void kn_learner_interrupt(kn_learner learner);

/* ---- running */

/* Trains to the last epoch. KN_OK also when stopped early or interrupted: kn_learner_ended says which. */
KN_API KN_MUST_CHECK kn_status kn_learner_fit(kn_learner learner);
/* How the latest kn_learner_fit ended; KN_RUN_NOT_STARTED before the first one and after kn_learner_resume or kn_learner_load,
   which put the learner elsewhere. An evaluation does not change it. */
KN_API kn_run_end kn_learner_ended(kn_learner learner);
/* Runs valid_step over a loader in eval mode and leaves the model in the modes that it had and the sums of an interrupted epoch
   as they were (where a metric of your own can be saved and loaded), with its own start and finish for renderers; kn_learner_value(KN_SPLIT_TEST, ...) has the results. They belong to the epoch
   that the weights are of: after kn_learner_load_best that of the best checkpoint, 0 before training. KN_OK also when it was
   interrupted; there are no results then. */
KN_API KN_MUST_CHECK kn_status kn_learner_evaluate(kn_learner learner, kn_loader loader);
/* The latest value of a metric over a whole epoch, NaN where there is none. */
KN_API double kn_learner_value(kn_learner learner, kn_run_split split, const char *metric);
KN_API int64_t kn_learner_step_count(kn_learner learner);
KN_API int64_t kn_learner_epoch_count(kn_learner learner); /* whole epochs done */
/* A table of metrics: first, last, best with the epoch of it; returns the length of the whole text. */
KN_API size_t kn_learner_summary(kn_learner learner, char *buffer, size_t n);

#ifdef __cplusplus
}
#endif

#ifndef KN_NO_SITES
#include <kn/sites/learner_sites.h>
#endif

#endif
