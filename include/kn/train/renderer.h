/* Renderers and loggers hear of a training run as a stream of events. A renderer of your own is a kn_renderer_type. */
#ifndef KN_TRAIN_RENDERER_H
#define KN_TRAIN_RENDERER_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kn_run_split { KN_SPLIT_TRAIN = 0, KN_SPLIT_VALID = 1, KN_SPLIT_TEST = 2 } kn_run_split;

/* What the epochs of one split have given so far for a metric. */
typedef struct kn_metric_history {
    double first, last, best;
    int64_t epochs;     /* values so far, 0: none yet */
    int64_t best_epoch; /* from 1 */
} kn_metric_history;

/* The run as a whole, known at its start. Texts live as long as the run. */
typedef struct kn_run_info {
    const char *name;   /* of the run, for titles */
    const char *folder; /* of its files, or NULL */
    const char *device;
    const char *model; /* kn_module_format of the model */
    int64_t epochs;    /* planned */
    int64_t params;
    /* Optimiser steps done before: above 0 where the run goes on from a checkpoint. In an evaluation: the step that the weights
       are of. */
    int64_t step;
    const char *const *metrics; /* names of the numeric metrics, in the order of events; the last one NULL */
    const bool *higher_is_better; /* of each metric */
    bool catch_interrupts;        /* the learner was told to catch signals: renderers may do so too */
    bool evaluates;               /* kn_learner_evaluate: one pass over other data, no training */
    /* Whole epochs, counted on until finish, in an evaluation those that the weights have seen; NULL: not known. */
    const int64_t *epochs_done;
    /* Three for each metric, by split: what earlier parts of the run gave. NULL: not known. */
    const kn_metric_history *history;
    const bool
        *in_percent; /* of each metric: its texts are percentages, as 87.78 % of 0.8778; NULL: none is */
} kn_run_info;

/* One number of one metric. */
typedef struct kn_metric_event {
    const char *metric; /* "loss" */
    int32_t index;      /* in kn_run_info.metrics; -1 for a text metric */
    kn_run_split split;
    bool epoch_end;   /* the value of the whole epoch, else the running one */
    int64_t step;     /* optimiser steps since the start of the run, in all splits */
    int64_t epoch;    /* from 1; a test belongs to the epoch that its weights are of, 0: before training */
    double value;     /* of this step, or of the epoch */
    double mean;      /* running mean of the epoch */
    const char *text; /* "87.5 %": as a person reads it */
} kn_metric_event;

typedef struct kn_progress_event {
    kn_run_split split;
    int64_t epoch, epochs;      /* epoch from 1 */
    int64_t items, items_total; /* of this epoch's split; total -1: unknown */
    int64_t batches, batches_total;
    int64_t step;        /* optimiser steps since the start of the run */
    double seconds;      /* since the start of this process' run */
    double seconds_left; /* of the run, -1: unknown */
    double items_per_second;
    double lr;
} kn_progress_event;

typedef enum kn_run_end {
    KN_RUN_FINISHED = 0,
    KN_RUN_STOPPED_EARLY = 1,
    KN_RUN_INTERRUPTED = 2,
    KN_RUN_FAILED = 3,
    KN_RUN_NOT_STARTED = 4 /* kn_learner_ended before the first kn_learner_fit and after a resume */
} kn_run_end;

typedef enum kn_renderer_answer {
    KN_RENDERER_GO_ON = 0,
    KN_RENDERER_STOP = 1,
    KN_RENDERER_KILL = 2
} kn_renderer_answer;

/* Any entry may be NULL. All are called on the learner's thread, in order. start and finish come again for each
   kn_learner_fit and kn_learner_evaluate. */
typedef struct kn_renderer_type {
    const char *name;
    kn_status (*start)(void *self, const kn_run_info *info);
    void (*metric)(void *self, const kn_metric_event *event);
    void (*progress)(void *self, const kn_progress_event *event); /* after each batch */
    void (*message)(void *self, kn_run_split split,
                    const char *text);      /* a line for the text panel and the logs */
    kn_renderer_answer (*poll)(void *self); /* keys of the user; after each batch */
    void (*finish)(void *self, kn_run_end end, const char *summary);
    void (*close)(void *self); /* frees self */
    /* A checkpoint comes next: what was told so far goes to where a killed process leaves it. */
    void (*flush)(void *self);
} kn_renderer_type;

typedef struct kn_renderer_object *kn_renderer;
KN_API kn_renderer kn_renderer_make(const kn_renderer_type *type, void *self);
KN_API void kn_renderer_free(kn_renderer renderer);

/* ---- those that come with Kiln; NULL with kn_last_error() */

typedef struct kn_dashboard_args {
    bool stay; /* wait for a key at the end instead of leaving at once */
    /* Give the screen back also when a signal ends the process, as is done where the learner's catch_interrupts is on. */
    bool catch_signals;
} kn_dashboard_args;
#define KN_DASHBOARD_ARGS_DEFAULTS KN_ZEROED
/* Live curves of train and valid in the terminal, with progress, messages and keys (h shows them). The screen is given back
   when the run ends and at exit, and a summary stays on it. Signals are left alone unless catch_signals or the learner's
   catch_interrupts asks: then those that end a process and have no handler get one for the time of the run, which gives the
   screen back and lets the signal do what it would have done. A handler of the program is never replaced. KN_ERROR_UNSUPPORTED where there is no terminal or no ncurses. */
KN_API kn_renderer kn_renderer_dashboard(const kn_dashboard_args *args);
/* Progress lines on standard error, one in place on a terminal, one per epoch elsewhere. */
KN_API kn_renderer kn_renderer_plain(void);
/* The dashboard on a terminal that can show it, else plain lines, which is no error and logs none. KN_RENDERER=dashboard, plain or none overrides. */
KN_API kn_renderer kn_renderer_auto(void);

/* ---- files of a run. Folders are made. A run that goes on (kn_run_info.step above 0) appends; a new one moves an earlier file
   aside to PATH.old. A failed write is told once on the screen and does not end the run. Logs are written at the end of each
   epoch, before each checkpoint and every 2 seconds, so that they have all that a checkpoint covers. */

/* One row for each number: time,step,epoch,split,metric,value,mean,kind (kind: step or epoch). */
KN_API kn_renderer kn_logger_csv(const char *path);
/* One object in each line: start, metric, message and finish. */
KN_API kn_renderer kn_logger_json_lines(const char *path);
/* TensorBoard's event files: scalars loss/train for each step, loss/train_epoch, loss/valid and loss/test for each epoch. */
KN_API kn_renderer kn_logger_tensorboard(const char *folder);
/* One HTML page without scripts: plots of all metrics, a table, the model and the facts of the run. It is there from the end of
   the first epoch or the first checkpoint on, is written anew with later ones when it is 10 seconds old, and at the end; it goes
   on with the curves of an earlier part of the same run. An evaluation adds its results and leaves what the page says of the
   training as it was. */
KN_API kn_renderer kn_report_html(const char *path);

#ifdef __cplusplus
}
#endif

#ifndef KN_NO_SITES
#include <kn/sites/renderer_sites.h>
#endif

#endif
