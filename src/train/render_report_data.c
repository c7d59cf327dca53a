/* The curves inside the report: a block of JSON from which a later part of the same run goes on. */
#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "support/json.h"
#include "train/render_format.h"
#include "train/render_report.h"
#include <stdlib.h>
#include <string.h>

static const char block_start[] = "<script type=\"application/json\" id=\"kiln-run\">";
static const char block_end[] = "</script>";

/* ---- writing */

static void write_history(kni_buffer *out, const kni_trail *h)
{
    kni_buffer_format(out, "{\"merge\":%lld,\"points\":[", (long long)(h->merge ? h->merge : 1));
    for (int64_t i = 0; i < h->count; i++) {
        const kni_point *p = &h->points[i];
        kni_buffer_format(out, "%s[%.0f,%.7g", i ? "," : "", p->x, p->value);
        if (p->low < p->high) kni_buffer_format(out, ",%.7g,%.7g", p->low, p->high);
        kni_buffer_text(out, "]");
    }
    kni_buffer_text(out, "]}");
}

static void write_curve(kni_buffer *out, const kni_curve *c, const char *split)
{
    kni_buffer_format(out, "\"%s\":{\"first\":%.17g,\"best\":%.17g,\"best_epoch\":%lld,", split,
                      c->first_epoch, c->best, (long long)c->best_epoch);
    /* JSON has no word for the value of a run that diverged. */
    if (c->last_epoch - c->last_epoch == 0)
        kni_buffer_format(out, "\"last\":%.17g,", c->last_epoch);
    else
        kni_buffer_text(out, "\"last\":null,");
    kni_buffer_format(out, "\"best_step\":%.0f,\"epochs_done\":%lld,\"steps\":", c->best_step,
                      (long long)c->epoch_count);
    write_history(out, &c->steps);
    kni_buffer_text(out, ",\"epochs\":");
    write_history(out, &c->epochs);
    kni_buffer_text(out, "}");
}

void kni_report_data_write(kni_buffer *out, const kni_record *record)
{
    kni_buffer json = {0};
    kni_buffer_format(&json, "{\"seconds\":%.3f,\"items\":%.17g,\"item_seconds\":%.17g,",
                      record->before + record->progress.seconds, record->trained_items,
                      record->training_seconds);
    kni_buffer_format(&json, "\"step\":%lld,\"epochs_done\":%lld,\"started\":%.3f,\"first_step\":%lld,",
                      (long long)record->progress.step, (long long)kni_record_epochs_done(record),
                      record->started, (long long)record->first_step);
    if (record->trained)
        kni_buffer_format(&json, "\"ended\":%d,\"ended_at\":%.3f,", (int)record->ended, record->ended_at);
    if (*record->evaluated) kni_buffer_format(&json, "\"evaluated\":\"%s\",", record->evaluated);
    kni_buffer_text(&json, "\"metrics\":[");
    for (int32_t i = 0; i < record->metric_count; i++) {
        const kni_record_metric *metric = &record->metrics[i];
        kni_buffer_text(&json, i ? ",{\"name\":" : "{\"name\":");
        kni_json_write_text(&json, metric->name, strlen(metric->name));
        kni_buffer_text(&json, ",\"curves\":{");
        bool any = false;
        for (int s = 0; s < KNI_RECORD_SPLITS; s++) {
            if (!metric->curves[s]) continue;
            if (any) kni_buffer_text(&json, ",");
            any = true;
            write_curve(&json, metric->curves[s], kni_record_split_names[s]);
        }
        kni_buffer_text(&json, "}}");
    }
    kni_buffer_text(&json, "],\"messages\":[");
    int64_t held = record->message_total < KNI_MESSAGES ? record->message_total : KNI_MESSAGES;
    for (int64_t i = 0; i < held; i++) {
        const kni_record_message *m = &record->messages[(record->message_total - held + i) % KNI_MESSAGES];
        kni_buffer_format(&json, "%s[%.3f,", i ? "," : "", m->seconds);
        kni_json_write_text(&json, m->text, strlen(m->text));
        kni_buffer_text(&json, "]");
    }
    kni_buffer_text(&json, "]}");
    kni_buffer_text(out, block_start);
    /* A name must not end the block: '<' has another form in JSON. */
    for (size_t i = 0; i < json.length; i++) {
        if (json.data[i] == '<')
            kni_buffer_text(out, "\\u003c");
        else
            kni_buffer_append(out, json.data + i, 1);
    }
    if (json.failed) out->failed = true;
    kni_buffer_text(out, block_end);
    kni_buffer_text(out, "\n");
    kni_buffer_free(&json);
}

/* ---- reading */

static double number_of(const kni_json *object, const char *key)
{
    const kni_json *value = kni_json_member(object, key);
    return value && value->kind == KNI_JSON_NUMBER ? value->number : 0;
}

static bool read_point(const kni_json *json, kni_point *point)
{
    double *const fields[] = {&point->x, &point->value, &point->low, &point->high};
    const kni_json *v = json->kind == KNI_JSON_ARRAY ? json->first : NULL;
    int count = 0;
    for (; v && count < 4; v = v->next) {
        if (v->kind != KNI_JSON_NUMBER) return false;
        *fields[count++] = v->number;
    }
    if (count == 2) point->low = point->high = point->value;
    return count == 2 || count == 4;
}

/* Points up to the step; those behind it were drawn after the checkpoint and come again. */
static void read_history(kni_trail *h, const kni_json *json, double step)
{
    const kni_json *points = json ? kni_json_member(json, "points") : NULL;
    double merge = json ? number_of(json, "merge") : 0;
    if (!points || points->kind != KNI_JSON_ARRAY || points->count > KNI_TRAIL_POINTS || !(merge >= 1) ||
        merge > 1e15)
        return;
    int64_t capacity = 64;
    while (capacity < points->count) capacity *= 2;
    kni_trail_free(h);
    h->points = malloc((size_t)capacity * sizeof *h->points);
    if (!h->points) return;
    h->capacity = capacity;
    h->merge = (int64_t)merge;
    double last = -1;
    for (const kni_json *p = points->first; p; p = p->next) {
        kni_point point;
        if (!read_point(p, &point) || point.x > step || point.x < last) break;
        last = point.x;
        h->points[h->count++] = point;
    }
}

/* The epoch of a point. Training has a value for each epoch, which validation and tests may not have. */
static int64_t epoch_at(const kni_record *record, const kni_trail *h, int64_t point)
{
    for (int32_t m = 0; m < record->metric_count; m++) {
        const kni_curve *train = record->metrics[m].curves[KN_SPLIT_TRAIN];
        if (!train || train->epochs.merge != 1) continue;
        for (int64_t i = 0; i < train->epochs.count; i++)
            if (train->epochs.points[i].x == h->points[point].x) return i + 1;
    }
    return (point + 1) * h->merge;
}

/* Where the best came after the step, it is found again among what is left. */
static void find_best(const kni_record *record, kni_curve *curve, bool higher)
{
    const kni_trail *h = &curve->epochs;
    curve->epoch_count = h->count * h->merge;
    for (int64_t i = 0; i < h->count; i++) {
        double value = h->points[i].value;
        if (i > 0 && !(higher ? value > curve->best : value < curve->best)) continue;
        curve->best = value;
        curve->best_step = h->points[i].x;
        curve->best_epoch = epoch_at(record, h, i);
    }
    if (h->count) curve->last_epoch = h->points[h->count - 1].value;
}

static void read_curve(kni_record *record, int32_t metric, int split, const kni_json *json, double step)
{
    kni_curve *curve = kni_record_curve(record, metric, (kn_run_split)split);
    if (!curve) return;
    read_history(&curve->steps, kni_json_member(json, "steps"), step);
    read_history(&curve->epochs, kni_json_member(json, "epochs"), step);
    curve->first_epoch = number_of(json, "first");
    const kni_json *last = kni_json_member(json, "last");
    curve->last_epoch = last && last->kind == KNI_JSON_NUMBER ? last->number : (double)__builtin_nan("");
    curve->best = number_of(json, "best");
    curve->best_step = number_of(json, "best_step");
    double best_epoch = number_of(json, "best_epoch"), done = number_of(json, "epochs_done");
    curve->best_epoch = best_epoch > 0 && best_epoch < 1e15 ? (int64_t)best_epoch : 0;
    curve->epoch_count = done > 0 && done < 1e15 ? (int64_t)done : 0;
    const kni_trail *h = &curve->epochs;
    bool cut = h->count * (h->merge ? h->merge : 1) < curve->epoch_count - h->merge;
    if (curve->best_step > step || cut) find_best(record, curve, record->metrics[metric].higher_is_better);
    kni_record_value(&record->metrics[metric], curve->last_epoch, curve->text, sizeof curve->text);
}

static void read_metric(kni_record *record, const kni_json *json, double step)
{
    const kni_json *name = kni_json_member(json, "name"), *curves = kni_json_member(json, "curves");
    if (!name || name->kind != KNI_JSON_TEXT || !curves || curves->kind != KNI_JSON_OBJECT) return;
    for (int32_t i = 0; i < record->metric_count; i++) {
        if (strcmp(record->metrics[i].name, name->text) != 0) continue;
        for (int s = 0; s < KNI_RECORD_SPLITS; s++) {
            const kni_json *curve = kni_json_member(curves, kni_record_split_names[s]);
            if (curve && curve->kind == KNI_JSON_OBJECT) read_curve(record, i, s, curve, step);
        }
    }
}

static void read_messages(kni_record *record, const kni_json *messages)
{
    for (const kni_json *m = messages->first; m; m = m->next) {
        const kni_json *seconds = m->kind == KNI_JSON_ARRAY ? m->first : NULL,
                       *text = seconds ? seconds->next : NULL;
        if (!text || seconds->kind != KNI_JSON_NUMBER || text->kind != KNI_JSON_TEXT) continue;
        int64_t before = record->message_total;
        kni_record_message_line(record, KN_SPLIT_TRAIN, text->text);
        if (record->message_total > before) record->messages[before % KNI_MESSAGES].seconds = seconds->number;
    }
}

static int64_t count_of(const kni_json *object, const char *key)
{
    double value = number_of(object, key);
    return value > 0 && value < 1e15 ? (int64_t)value : 0;
}

/* How the training went, for a page that an evaluation writes anew. */
static void read_training(kni_record *record, const kni_json *root)
{
    const kni_json *ended = kni_json_member(root, "ended");
    double end = number_of(root, "ended");
    record->trained = ended && end >= KN_RUN_FINISHED && end <= KN_RUN_FAILED;
    if (record->trained) record->ended = (kn_run_end)(int)end;
    record->ended_at = number_of(root, "ended_at");
    if (!kni_json_member(root, "step")) return; /* a page of an earlier Kiln */
    record->done = count_of(root, "epochs_done");
    record->epochs_done = &record->done;
    record->progress.step = count_of(root, "step");
    record->started = number_of(root, "started");
    record->first_step = count_of(root, "first_step");
}

static void read_speed(kni_record *record, const kni_json *root)
{
    double items = number_of(root, "items"), seconds = number_of(root, "item_seconds");
    if (!(items > 0 && items < 1e300 && seconds > 0 && seconds < 1e300)) return;
    record->trained_items = items;
    record->training_seconds = seconds;
}

void kni_report_data_read(kni_record *record, const char *page, size_t bytes, double step, const char *name)
{
    const char *start = memmem(page, bytes, block_start, sizeof block_start - 1);
    if (!start) return;
    start += sizeof block_start - 1;
    size_t left = bytes - (size_t)(start - page);
    const char *end = memmem(start, left, block_end, sizeof block_end - 1);
    kni_json_document document = end ? kni_json_parse(start, (size_t)(end - start), name) : NULL;
    if (!document) return;
    const kni_json *root = kni_json_root(document);
    const kni_json *metrics = root && root->kind == KNI_JSON_OBJECT ? kni_json_member(root, "metrics") : NULL;
    if (metrics && metrics->kind == KNI_JSON_ARRAY) {
        double seconds = number_of(root, "seconds");
        if (seconds > 0 && seconds < 1e12) record->before = seconds;
        for (const kni_json *m = metrics->first; m; m = m->next)
            if (m->kind == KNI_JSON_OBJECT) read_metric(record, m, step);
        read_speed(record, root);
        if (record->evaluates) read_training(record, root);
        const kni_json *messages = kni_json_member(root, "messages");
        if (messages && messages->kind == KNI_JSON_ARRAY) read_messages(record, messages);
    }
    kni_json_free(document);
}
