/* The record of a run. A curve never holds more than KNI_TRAIL_POINTS points: when it is full, neighbours are merged and
   from then on twice as many values make a point. */
#include "train/render_record.h"
#include "support/failure.h"
#include "support/short_text.h"
#include "train/metric_ratio.h"
#include "train/render_format.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const kni_record_split_names[KNI_RECORD_SPLITS] = {"train", "valid", "test"};

const char *kni_record_split_name(kn_run_split split)
{
    return (unsigned)split < KNI_RECORD_SPLITS ? kni_record_split_names[split] : "other";
}

const char *kni_run_end_name(kn_run_end end)
{
    static const char *const names[] = {"finished", "stopped early", "interrupted", "failed", "not started"};
    return (unsigned)end < sizeof names / sizeof *names ? names[end] : "ended";
}

static bool is_finite(double x) { return x - x == 0; }

/* ---- histories */

static kni_point merged(kni_point a, double weight_a, kni_point b, double weight_b)
{
    return (kni_point){.x = b.x,
                       .value = (a.value * weight_a + b.value * weight_b) / (weight_a + weight_b),
                       .low = a.low < b.low ? a.low : b.low,
                       .high = a.high > b.high ? a.high : b.high};
}

static bool make_room(kni_trail *h)
{
    if (h->count < h->capacity) return true;
    if (h->capacity < KNI_TRAIL_POINTS) {
        int64_t capacity = h->capacity ? h->capacity * 2 : 64;
        kni_point *points = realloc(h->points, (size_t)capacity * sizeof *points);
        if (!points) return false;
        h->points = points;
        h->capacity = capacity;
        return true;
    }
    for (int64_t i = 0; i < h->count / 2; i++)
        h->points[i] = merged(h->points[2 * i], 1, h->points[2 * i + 1], 1);
    h->count /= 2;
    h->merge *= 2;
    return true;
}

void kni_trail_add(kni_trail *h, double x, double value)
{
    kni_point point = {x, value, value, value};
    if (h->merge == 0) h->merge = 1;
    h->pending = h->pending_count ? merged(h->pending, (double)h->pending_count, point, 1) : point;
    if (++h->pending_count < h->merge || !make_room(h)) return;
    /* Making room may have doubled what a point is made of. */
    if (h->pending_count < h->merge) return;
    h->points[h->count++] = h->pending;
    h->pending_count = 0;
}

void kni_trail_free(kni_trail *h)
{
    free(h->points);
    *h = (kni_trail){0};
}

/* The window is a twenty-fifth of the curve, less at its ends, where it stays even on both sides. */
void kni_points_smooth(const kni_point *from, kni_point *to, int64_t count)
{
    int64_t most = count / 50 + 1, first = 0, end = 0; /* the sum is of [first, end) */
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t radius = most;
        if (radius > i) radius = i;
        if (radius > count - 1 - i) radius = count - 1 - i;
        while (end <= i + radius) sum += from[end++].value;
        while (first < i - radius) sum -= from[first++].value;
        while (end > i + radius + 1) sum -= from[--end].value;
        to[i] = from[i];
        to[i].value = sum / (double)(end - first);
    }
}

/* ---- curves */

kni_curve *kni_record_curve(kni_record *record, int32_t metric, kn_run_split split)
{
    if (metric < 0 || metric >= record->metric_count || (unsigned)split >= KNI_RECORD_SPLITS) return NULL;
    kni_curve **curve = &record->metrics[metric].curves[split];
    if (!*curve) *curve = calloc(1, sizeof **curve);
    return *curve;
}

void kni_curve_add_epoch(kni_curve *curve, bool higher_is_better, double step, int64_t epoch, double value)
{
    curve->last_epoch = value;
    if (!is_finite(value)) return;
    kni_trail_add(&curve->epochs, step, value);
    bool first = curve->epoch_count++ == 0;
    if (first) curve->first_epoch = value;
    if (!first && !(higher_is_better ? value > curve->best : value < curve->best)) return;
    curve->best = value;
    curve->best_epoch = epoch;
    curve->best_step = step;
}

static void add_step(kni_curve *curve, double step, double value)
{
    if (!is_finite(value)) {
        curve->not_finite++;
        return;
    }
    kni_trail_add(&curve->steps, step, value);
    curve->recent[curve->recent_total++ % KNI_RECENT_POINTS] = (kni_point){step, value, value, value};
}

int64_t kni_curve_recent(const kni_curve *curve, kni_point *out)
{
    int64_t count = curve->recent_total < KNI_RECENT_POINTS ? curve->recent_total : KNI_RECENT_POINTS;
    for (int64_t i = 0; i < count; i++)
        out[i] = curve->recent[(curve->recent_total - count + i) % KNI_RECENT_POINTS];
    return count;
}

/* ---- events */

static char *copy_of(const char *text)
{
    size_t bytes = text ? strlen(text) + 1 : 1;
    char *copy = malloc(bytes);
    if (copy) memcpy(copy, text ? text : "", bytes);
    return copy;
}

bool kni_metric_is_watched(const char *name)
{
    static const char *const names[] = {"learning_rate", "grad_norm",       "iteration_speed", "cpu_use",
                                        "cpu_memory",    "cpu_temperature", "gpu_use",         "gpu_memory"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

/* What earlier parts of the run gave, so that first and best are those of the whole run. */
static bool take_history(kni_record *record, int32_t metric, const kn_metric_history *history)
{
    for (int s = 0; s < KNI_RECORD_SPLITS; s++) {
        const kn_metric_history *h = &history[s];
        if (!h->epochs) continue;
        kni_curve *curve = kni_record_curve(record, metric, (kn_run_split)s);
        if (!curve) return false;
        curve->first_epoch = h->first;
        curve->last = curve->mean = curve->last_epoch = h->last;
        curve->best = h->best;
        curve->best_epoch = h->best_epoch;
        curve->epoch_count = h->best == h->best ? h->epochs : 0; /* only NaN so far: none counts */
        kni_record_value(&record->metrics[metric], h->last, curve->text, sizeof curve->text);
    }
    return true;
}

static bool copy_metrics(kni_record *record, const kn_run_info *info)
{
    int32_t count = 0;
    while (info->metrics && info->metrics[count]) count++;
    record->metrics = calloc(count ? (size_t)count : 1, sizeof *record->metrics);
    if (!record->metrics) return false;
    record->metric_count = count;
    for (int32_t i = 0; i < count; i++) {
        kni_record_metric *metric = &record->metrics[i];
        metric->name = copy_of(info->metrics[i]);
        metric->higher_is_better = info->higher_is_better && info->higher_is_better[i];
        metric->percent = info->in_percent && info->in_percent[i];
        if (!metric->name) return false;
        metric->watched = kni_metric_is_watched(metric->name);
        /* An evaluation shows its own results. */
        if (info->history && !info->evaluates &&
            !take_history(record, i, info->history + (ptrdiff_t)i * KNI_RECORD_SPLITS))
            return false;
    }
    return true;
}

kn_status kni_record_start(kni_record *record, const kn_run_info *info)
{
    kni_record_free(record);
    record->name = copy_of(info->name && *info->name ? info->name : "training");
    record->folder = copy_of(info->folder);
    record->device = copy_of(info->device);
    record->model = copy_of(info->model);
    record->epochs = info->epochs;
    record->params = info->params;
    record->first_step = info->step;
    record->epochs_done = info->epochs_done;
    record->evaluates = info->evaluates;
    record->progress = (kn_progress_event){.epochs = info->epochs,
                                           .step = info->step,
                                           .items_total = -1,
                                           .batches_total = -1,
                                           .seconds_left = -1};
    record->started = kni_wall_clock();
    record->clock = kni_monotonic_clock();
    if (record->name && record->folder && record->device && record->model && copy_metrics(record, info))
        return KN_OK;
    kni_record_free(record);
    return kni_failure_memory("starting a renderer");
}

/* Where a text metric is kept; a full table forgets nothing but the newcomer. */
static kni_record_text *text_metric(kni_record *record, const char *name, kn_run_split split)
{
    for (int32_t i = 0; i < record->text_count; i++)
        if (record->texts[i].split == split && strcmp(record->texts[i].name, name) == 0)
            return &record->texts[i];
    if (record->text_count == KNI_TEXT_METRICS) return NULL;
    kni_record_text *text = &record->texts[record->text_count++];
    kni_short_text(text->name, sizeof text->name, name);
    text->split = split;
    return text;
}

bool kni_text_is_percent(const char *text)
{
    size_t length = strlen(text);
    return length > 2 && !strcmp(text + length - 2, " %");
}

void kni_record_metric_event(kni_record *record, const kn_metric_event *event)
{
    if (event->index < 0 || event->index >= record->metric_count) {
        kni_record_text *text = text_metric(record, event->metric ? event->metric : "", event->split);
        if (text && event->text)
            kni_short_text(text->text, sizeof text->text, event->text);
        else if (text)
            kni_format_number(text->text, sizeof text->text, event->value);
        return;
    }
    kni_curve *curve = kni_record_curve(record, event->index, event->split);
    if (!curve) return;
    /* Steps of training are the common axis, so that the curves of all splits lie over each other. */
    if (event->split == KN_SPLIT_TRAIN && event->step > record->progress.step)
        record->progress.step = event->step;
    bool own = event->split == KN_SPLIT_TRAIN || (event->split == KN_SPLIT_TEST && event->epoch_end);
    double step = (double)(own ? event->step : record->progress.step);
    bool higher = record->metrics[event->index].higher_is_better;
    if (event->epoch_end)
        kni_curve_add_epoch(curve, higher, step, event->epoch, event->value);
    else if (event->split == KN_SPLIT_TRAIN)
        add_step(curve, step, event->value);
    if (event->text && kni_text_is_percent(event->text)) record->metrics[event->index].percent = true;
    curve->last = event->value;
    curve->mean = event->epoch_end ? event->value : event->mean;
    if (event->text)
        kni_short_text(curve->text, sizeof curve->text, event->text);
    else
        kni_format_number(curve->text, sizeof curve->text, curve->mean);
}

void kni_record_progress(kni_record *record, const kn_progress_event *event)
{
    const kn_progress_event *before = &record->progress;
    if (event->split == KN_SPLIT_TRAIN && event->items_per_second > 0) {
        bool same =
            before->split == KN_SPLIT_TRAIN && before->epoch == event->epoch && event->items > before->items;
        double items = (double)(event->items - (same ? before->items : 0));
        /* Where a run goes on in the middle of an epoch, what came before is not known: one batch of it is. */
        if (!same && event->batches > 0) items /= (double)event->batches;
        record->trained_items += items;
        record->training_seconds += items / event->items_per_second;
    }
    record->progress = *event;
    record->has_progress = true;
}

void kni_record_message_line(kni_record *record, kn_run_split split, const char *text)
{
    char *copy = copy_of(text);
    if (!copy) return;
    kni_record_message *place = &record->messages[record->message_total++ % KNI_MESSAGES];
    free(place->text);
    *place = (kni_record_message){copy, split, record->before + kni_monotonic_clock() - record->clock};
}

void kni_record_free(kni_record *record)
{
    for (int32_t i = 0; i < record->metric_count; i++) {
        kni_record_metric *metric = &record->metrics[i];
        free(metric->name);
        for (int32_t s = 0; s < KNI_RECORD_SPLITS; s++) {
            if (!metric->curves[s]) continue;
            kni_trail_free(&metric->curves[s]->steps);
            kni_trail_free(&metric->curves[s]->epochs);
            free(metric->curves[s]);
        }
    }
    free(record->metrics);
    for (int32_t i = 0; i < KNI_MESSAGES; i++) free(record->messages[i].text);
    free(record->name);
    free(record->folder);
    free(record->device);
    free(record->model);
    memset(record, 0, sizeof *record);
}

/* ---- how far the run is */

int64_t kni_record_epochs_done(const kni_record *record)
{
    return record->epochs_done ? *record->epochs_done : record->progress.epoch;
}

double kni_record_speed(const kni_record *record)
{
    return record->training_seconds > 0 ? record->trained_items / record->training_seconds : 0;
}

void kni_record_value(const kni_record_metric *metric, double value, char *out, size_t n)
{
    if (value != value || metric->percent)
        kni_metric_text(value, KNI_RATIO_PERCENT, NULL, out, n);
    else
        kni_format_number(out, n, value);
}

static double clamped(double part) { return part < 0 ? 0 : part > 1 ? 1 : part; }

double kni_record_epoch_part(const kni_record *record)
{
    const kn_progress_event *p = &record->progress;
    if (p->items_total > 0) return clamped((double)p->items / (double)p->items_total);
    if (p->batches_total > 0) return clamped((double)p->batches / (double)p->batches_total);
    return -1;
}

double kni_record_run_part(const kni_record *record)
{
    const kn_progress_event *p = &record->progress;
    int64_t epochs = p->epochs > 0 ? p->epochs : record->epochs;
    if (epochs <= 0) return -1;
    double part = p->split == KN_SPLIT_TRAIN ? kni_record_epoch_part(record) : 1;
    double done = p->epoch > 0 ? (double)(p->epoch - 1) + (part < 0 ? 0 : part) : 0;
    return clamped(done / (double)epochs);
}

double kni_record_epoch_left(const kni_record *record)
{
    const kn_progress_event *p = &record->progress;
    if (p->items_total <= 0 || !(p->items_per_second > 0)) return -1;
    int64_t left = p->items_total - p->items;
    return left > 0 ? (double)left / p->items_per_second : 0;
}
