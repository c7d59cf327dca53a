/* What a learner is inside, and what its files offer each other. */
#ifndef KNI_TRAIN_LEARNER_OBJECT_H
#define KNI_TRAIN_LEARNER_OBJECT_H

#include "core/objects.h"
#include "support/buffer.h"
#include "support/clock.h"
#include "train/renderer_object.h"
#include <kn/train/learner.h>
#include <stdatomic.h>

enum { KNI_SPLITS = 3, KNI_STOP_AFTER_STEP = 1, KNI_STOP_NOW = 2 };

/* The folder of checkpoints in the learner's. */
#define KNI_CHECKPOINTS "checkpoint"

typedef struct kni_learner_metric {
    kn_metric metric;
    bool on[KNI_SPLITS];
    kn_metric_history history[KNI_SPLITS];
} kni_learner_metric;

/* A batch whose metrics are not read yet: that happens one batch later, when the device has the next one to work on. */
typedef struct kni_pending {
    bool full;
    kn_step_output output;
    kn_tensor grad_norm; /* KN_NONE where it was not computed */
    kn_metric_context context;
} kni_pending;

/* All that a checkpoint holds under learner/. */
typedef struct kni_position {
    int64_t step;          /* optimiser steps done */
    int64_t batches;       /* training batches done since the start */
    int64_t epoch, batch;  /* epochs done, batches done in the present one */
    int64_t trained;       /* 1: all batches of the present epoch are done, its validation is not */
    int64_t items;         /* of the present epoch */
    int64_t valid_items;   /* since the start */
    int64_t best_step;     /* of the best checkpoint, -1: none */
    int64_t stop_waited;   /* epochs without a better value */
    int64_t stop_counting; /* 1: stop_best is a value */
    double best_value, stop_best;
    double lr; /* of the present epoch, where the schedule goes by epochs */
} kni_position;

typedef struct kni_learner {
    kn_learner_args args;
    char *name, *folder, *checkpoints, *schedule_metric;
    kn_checkpoint_policy policy;
    char *best_metric;
    kn_early_stopping stopping; /* metric NULL: off */
    char *stop_metric;
    kni_learner_metric *metrics;
    int32_t metric_count, renderer_count;
    kni_renderer **renderers;
    kn_renderer *renderer_handles; /* the renderers belong to the learner, as do the metrics */
    kn_accumulator accumulator;
    kn_device device;

    kni_position at;
    kni_pending pending;
    /* What the weights have seen, where kn_learner_load_best has put those of another place into the model. */
    bool other_weights;
    int64_t weights_step, weights_epoch;
    bool spoiled; /* a bad update went into the weights: no checkpoint until one is loaded */
    bool resumed; /* the position came from a checkpoint */
    /* Where the latest checkpoint was written, to save nothing twice; batches is -1 before the first. */
    int64_t saved_batches, saved_epoch, saved_trained;
    atomic_int stop;
    kn_run_end ended; /* the latest fit */
    bool running;
    bool evaluates; /* kn_learner_evaluate, not a fit */

    double started;   /* of this run, on the monotonic clock */
    int64_t batches;  /* of this run */
    kni_buffer notes; /* messages that wait for the start of a run, each with a final newline */
    kni_buffer model_text;
    const char **metric_names;
    bool *metric_directions;
    bool *metric_percents;
    kn_metric_history *metric_histories; /* of the run's start */
} kni_learner;

/* learner.c: the objects of the arguments must be alive. */
kn_status kni_learner_check_objects(const kn_learner_args *a, const char *function);

/* learner_events.c: what renderers hear, metrics and their histories. */
kn_status kni_learner_start(kni_learner *l);
void kni_learner_finish(kni_learner *l, kn_run_end end);
size_t kni_learner_summary(kni_learner *l, char *buffer, size_t n);
/* Before a checkpoint: what renderers heard must survive as long as it does. */
void kni_learner_flush_renderers(kni_learner *l);
/* A line for all renderers, formatted as printf does. */
void kni_learner_message(kni_learner *l, kn_run_split split, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Updates the metrics of a split and tells the renderers. */
kn_status kni_learner_measure(kni_learner *l, kn_run_split split, const kn_step_output *output,
                              const kn_metric_context *context);
void kni_learner_reset_metrics(kni_learner *l, kn_run_split split);
/* The values of the whole epoch go to the histories and to the renderers. */
void kni_learner_end_epoch(kni_learner *l, kn_run_split split);
/* The number, from 1, of the epoch under way; a test belongs to the latest whole epoch that the weights have seen. */
int64_t kni_learner_epoch(kni_learner *l, kn_run_split split);
/* The step that the weights are of. */
int64_t kni_learner_weights_step(kni_learner *l);
void kni_learner_progress(kni_learner *l, const kn_progress_event *event);
/* The metric called name where it is computed for the split, or NULL. */
kni_learner_metric *kni_learner_find(kni_learner *l, const char *name, kn_run_split split);
/* Whether a is better than b by more than delta; NaN never is. */
bool kni_learner_better(const kni_learner_metric *m, double a, double b, double delta);

/* learner_step.c: one optimiser step. */
/* Runs the batches of one step. *ended: the epoch has no more. */
kn_status kni_learner_step(kni_learner *l, bool *ended);
/* Reads what is still to be read. */
kn_status kni_learner_flush(kni_learner *l);
void kni_learner_forget_pending(kni_learner *l);
/* Sets the device's random numbers for a batch. stream: 0 training, 1 validation. */
void kni_learner_seed(kni_learner *l, uint64_t stream, int64_t batch);
/* Samples in a batch. */
int64_t kni_learner_items(const kn_step_output *output, const kn_sample *batch);

/* learner_valid.c: a pass over a loader without training. *whole: it was not interrupted. */
kn_status kni_learner_run_valid(kni_learner *l, kn_loader loader, kn_run_split split, bool *whole);

/* learner_checkpoint.c, learner_files.c */
bool kni_learner_saves(kni_learner *l);
/* Writes a checkpoint of the present position and removes what the policy does not keep. */
kn_status kni_learner_write(kni_learner *l);
/* Moves checkpoints of an earlier run aside, and removes leftovers and what is left of the oldest runs. */
kn_status kni_learner_prepare_folder(kni_learner *l);
typedef struct kni_step_list {
    int64_t *steps; /* rising */
    int64_t count;
} kni_step_list;
/* The steps of the checkpoints in the folder; none where there is no folder. Free steps. */
kn_status kni_learner_list(kni_learner *l, kni_step_list *list);
/* The path of the checkpoint of a step; free it. NULL without memory. */
char *kni_learner_path(kni_learner *l, int64_t step);
void kni_learner_remove_leftovers(kni_learner *l);
/* Renames a checkpoint that is proven to be damaged, so that nothing looks at it again. */
kn_status kni_learner_set_aside(kni_learner *l, const char *path);
/* Removes what the policy does not keep. */
void kni_learner_prune(kni_learner *l);

/* learner_interrupt.c */
void kni_learner_interrupt(kni_learner *l);
/* Catches SIGINT and SIGTERM for the learner until released. */
kn_status kni_interrupts_catch(kni_learner *l);
void kni_interrupts_release(kni_learner *l);

#endif
