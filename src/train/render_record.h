/* What renderers remember of a run: the curves of each metric in bounded memory, the latest progress, texts and messages.
   The dashboard, the plain lines, the summary and the report are views of it. */
#ifndef KNI_TRAIN_RENDER_RECORD_H
#define KNI_TRAIN_RENDER_RECORD_H

#include <kn/train/renderer.h>

enum {
    KNI_RECORD_SPLITS = 3,
    KNI_TRAIL_POINTS = 4096, /* of a curve; where they are full, neighbours merge */
    KNI_RECENT_POINTS = 512,
    KNI_MESSAGES = 256,
    KNI_TEXT_METRICS = 32
};

/* A value at a step; where several steps were merged, their mean with the least and the greatest of them. */
typedef struct kni_point {
    double x, value, low, high;
} kni_point;

typedef struct kni_trail {
    kni_point *points; /* capacity grows to KNI_TRAIL_POINTS */
    int64_t count, capacity;
    int64_t merge; /* values in each point */
    kni_point pending;
    int64_t pending_count;
} kni_trail;

/* One metric in one split. */
typedef struct kni_curve {
    kni_trail steps, epochs;
    kni_point recent[KNI_RECENT_POINTS]; /* a ring of the newest steps */
    int64_t recent_total;                /* ever put into the ring */
    double last, mean;
    double last_epoch;        /* also where it is not finite: a run that diverged must not look well */
    double first_epoch, best; /* of the epoch_count epochs with finite values */
    int64_t best_epoch, epoch_count, not_finite;
    double best_step;
    char text[32]; /* the latest value as a person reads it */
} kni_curve;

typedef struct kni_record_metric {
    char *name;
    bool higher_is_better;
    bool watched; /* no value is better than another: a learning rate, the machine's load */
    bool percent; /* its texts are percentages */
    kni_curve *curves[KNI_RECORD_SPLITS]; /* NULL until the first value */
} kni_record_metric;

typedef struct kni_record_text {
    char name[48], text[160];
    kn_run_split split;
} kni_record_text;

typedef struct kni_record_message {
    char *text;
    kn_run_split split;
    double seconds;
} kni_record_message;

typedef struct kni_record {
    char *name, *folder, *device, *model; /* "" where unknown */
    int64_t epochs, params, first_step;
    kni_record_metric *metrics;
    int32_t metric_count;
    kn_progress_event progress;
    bool has_progress;
    const int64_t *epochs_done; /* of kn_run_info */
    bool evaluates;             /* a pass over test data, no training */
    bool trained;               /* the report: ended says how the training did */
    kn_run_end ended;
    double ended_at;                        /* wall clock */
    int64_t done;                           /* what epochs_done points to when the run has ended */
    char evaluated[96];                     /* the report: the latest evaluation, "" before */
    double trained_items, training_seconds; /* batches of training alone */
    double started;                         /* wall clock */
    double clock;                           /* monotonic, at the start */
    double before;                          /* seconds of earlier processes of the same run */
    kni_record_text texts[KNI_TEXT_METRICS];
    int32_t text_count;
    kni_record_message messages[KNI_MESSAGES]; /* a ring */
    int64_t message_total;
} kni_record;

/* Copies what the run is; forgets an earlier one. */
kn_status kni_record_start(kni_record *record, const kn_run_info *info);
void kni_record_metric_event(kni_record *record, const kn_metric_event *event);
void kni_record_progress(kni_record *record, const kn_progress_event *event);
void kni_record_message_line(kni_record *record, kn_run_split split, const char *text);
void kni_record_free(kni_record *record);

/* Puts a value into a history; without memory it is left out. */
void kni_trail_add(kni_trail *history, double x, double value);
void kni_trail_free(kni_trail *history);
/* A moving mean around each point, without lag. from and to are of `count` points and do not overlap. */
void kni_points_smooth(const kni_point *from, kni_point *to, int64_t count);
/* The curve of a metric, made where it is missing; NULL without memory. */
kni_curve *kni_record_curve(kni_record *record, int32_t metric, kn_run_split split);
/* Kiln's own metrics that are looked at, not judged. */
bool kni_metric_is_watched(const char *name);
/* A value of the metric as its own texts show it, "-" for NaN. */
void kni_record_value(const kni_record_metric *metric, double value, char *out, size_t n);
/* Whether a metric's text ends with a percent sign. */
bool kni_text_is_percent(const char *text);
/* Whole epochs that are done, with their validation. */
int64_t kni_record_epochs_done(const kni_record *record);
/* Items a second over all training of this process, 0 before the first batch. */
double kni_record_speed(const kni_record *record);
/* The value of a whole epoch: first, last and best are kept besides the history. */
void kni_curve_add_epoch(kni_curve *curve, bool higher_is_better, double step, int64_t epoch, double value);
/* The newest steps in order of time; returns their number, at most KNI_RECENT_POINTS. */
int64_t kni_curve_recent(const kni_curve *curve, kni_point *out);

/* 0 to 1: how much of this epoch's split and of the run is done; -1 where that is unknown. */
double kni_record_epoch_part(const kni_record *record);
double kni_record_run_part(const kni_record *record);
/* Seconds left of this epoch's split, -1 where unknown. */
double kni_record_epoch_left(const kni_record *record);

extern const char *const kni_record_split_names[KNI_RECORD_SPLITS];
const char *kni_record_split_name(kn_run_split split);
const char *kni_run_end_name(kn_run_end end); /* "finished" */

#endif
