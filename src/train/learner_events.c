/* What renderers hear of a run, and the values of metrics over epochs. */
#define _POSIX_C_SOURCE 200809L
#include "support/failure.h"
#include "support/short_text.h"
#include "train/learner_object.h"
#include "train/render_record.h"
#include "train/renderer_object.h"
#include <kn/device.h>
#include <kn/tensor.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 64, MESSAGE = 700 };

/* ---- start and end */

/* Whether the metric writes its values as percentages. */
static bool is_percent(kn_metric metric)
{
    char text[TEXT];
    size_t length = kn_metric_format(metric, 0.5, text, sizeof text);
    return length < sizeof text && kni_text_is_percent(text);
}

static kn_status describe(kni_learner *l)
{
    size_t length = kn_module_format(l->args.model, NULL, 0);
    kni_buffer_clear(&l->model_text);
    if (!kni_buffer_reserve(&l->model_text, length + 1)) return kni_failure_memory("kn_learner_fit");
    kn_module_format(l->args.model, l->model_text.data, length + 1);
    l->model_text.length = length;
    size_t n = (size_t)l->metric_count;
    free(l->metric_names);
    free(l->metric_directions);
    free(l->metric_percents);
    free(l->metric_histories);
    l->metric_names = calloc(n + 1, sizeof *l->metric_names);
    l->metric_directions = calloc(n + 1, sizeof *l->metric_directions);
    l->metric_percents = calloc(n + 1, sizeof *l->metric_percents);
    l->metric_histories = calloc(n * KNI_SPLITS + 1, sizeof *l->metric_histories);
    if (!l->metric_names || !l->metric_directions || !l->metric_percents || !l->metric_histories)
        return kni_failure_memory("kn_learner_fit");
    for (size_t i = 0; i < n; i++) {
        l->metric_names[i] = kn_metric_name(l->metrics[i].metric);
        l->metric_directions[i] = kn_metric_higher_is_better(l->metrics[i].metric);
        l->metric_percents[i] = is_percent(l->metrics[i].metric);
        memcpy(l->metric_histories + i * KNI_SPLITS, l->metrics[i].history, sizeof l->metrics[i].history);
    }
    return KN_OK;
}

static void tell(kni_learner *l, kn_run_split split, const char *text)
{
    for (int32_t i = 0; i < l->renderer_count; i++) {
        kni_renderer *r = l->renderers[i];
        if (r->type->message) r->type->message(r->self, split, text);
    }
}

static void tell_notes(kni_learner *l)
{
    char *line = l->notes.data;
    while (line && *line) {
        char *end = strchr(line, '\n');
        if (end) *end = 0;
        tell(l, KN_SPLIT_TRAIN, line);
        line = end ? end + 1 : NULL;
    }
    kni_buffer_clear(&l->notes);
}

kn_status kni_learner_start(kni_learner *l)
{
    kn_status status = describe(l);
    if (status) return status;
    bool other = l->evaluates && l->other_weights;
    kn_run_info info = {.name = l->name,
                        .folder = l->folder,
                        .device = kn_device_name(l->device),
                        .model = kni_buffer_string(&l->model_text),
                        .epochs = l->args.epochs,
                        .params = kn_module_count(l->args.model, false),
                        .step = l->evaluates ? kni_learner_weights_step(l) : l->at.step,
                        .metrics = l->metric_names,
                        .higher_is_better = l->metric_directions,
                        .catch_interrupts = l->args.catch_interrupts,
                        .evaluates = l->evaluates,
                        .epochs_done = other ? &l->weights_epoch : &l->at.epoch,
                        .history = l->metric_histories,
                        .in_percent = l->metric_percents};
    for (int32_t i = 0; i < l->renderer_count; i++) {
        kni_renderer *r = l->renderers[i];
        kni_failure_mark before = kni_failure_mark_now();
        status = r->type->start ? r->type->start(r->self, &info) : KN_OK;
        status = kni_failure_since(before, status, "the start of a renderer");
        if (status == KN_OK) continue;
        /* Those that have started must hear of the end: a terminal comes back. */
        for (int32_t j = 0; j < i; j++)
            if (l->renderers[j]->type->finish)
                l->renderers[j]->type->finish(l->renderers[j]->self, KN_RUN_FAILED, "");
        return status;
    }
    tell_notes(l);
    return KN_OK;
}

void kni_learner_finish(kni_learner *l, kn_run_end end)
{
    size_t length = kni_learner_summary(l, NULL, 0);
    char *summary = malloc(length + 1);
    if (summary) kni_learner_summary(l, summary, length + 1);
    for (int32_t i = 0; i < l->renderer_count; i++) {
        kni_renderer *r = l->renderers[i];
        if (r->type->finish) r->type->finish(r->self, end, summary ? summary : "");
    }
    free(summary);
}

void kni_learner_flush_renderers(kni_learner *l)
{
    for (int32_t i = 0; i < l->renderer_count && l->running; i++) {
        kni_renderer *r = l->renderers[i];
        if (r->type->flush) r->type->flush(r->self);
    }
}

void kni_learner_message(kni_learner *l, kn_run_split split, const char *format, ...)
{
    char text[MESSAGE];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0) return;
    kni_short_end(text, sizeof text, (size_t)length);
    if (l->running)
        tell(l, split, text);
    else
        kni_buffer_format(&l->notes, "%s\n", text);
}

void kni_learner_progress(kni_learner *l, const kn_progress_event *event)
{
    for (int32_t i = 0; i < l->renderer_count; i++) {
        kni_renderer *r = l->renderers[i];
        if (r->type->progress) r->type->progress(r->self, event);
        kn_renderer_answer answer = r->type->poll ? r->type->poll(r->self) : KN_RENDERER_GO_ON;
        if (answer == KN_RENDERER_STOP) kni_learner_interrupt(l);
        if (answer == KN_RENDERER_KILL) atomic_store(&l->stop, KNI_STOP_NOW);
    }
}

/* ---- metrics */

static void tell_metric(kni_learner *l, kni_learner_metric *m, kn_metric_event event)
{
    char text[TEXT];
    kn_metric_format(m->metric, event.epoch_end ? event.value : event.mean, text, sizeof text);
    event.metric = kn_metric_name(m->metric);
    event.index = (int32_t)(m - l->metrics);
    event.text = text;
    for (int32_t i = 0; i < l->renderer_count; i++) {
        kni_renderer *r = l->renderers[i];
        if (r->type->metric) r->type->metric(r->self, &event);
    }
}

kn_status kni_learner_measure(kni_learner *l, kn_run_split split, const kn_step_output *output,
                              const kn_metric_context *context)
{
    for (int32_t i = 0; i < l->metric_count; i++) {
        kni_learner_metric *m = &l->metrics[i];
        kn_metric_event event = {.split = split, .step = context->step, .epoch = context->epoch};
        if (!m->on[split]) continue;
        kn_status status = kn_metric_update(m->metric, output, context, &event.value, &event.mean);
        if (status) return status;
        tell_metric(l, m, event);
    }
    return KN_OK;
}

void kni_learner_reset_metrics(kni_learner *l, kn_run_split split)
{
    for (int32_t i = 0; i < l->metric_count; i++)
        if (l->metrics[i].on[split]) kn_metric_reset(l->metrics[i].metric);
}

bool kni_learner_better(const kni_learner_metric *m, double a, double b, double delta)
{
    return kn_metric_higher_is_better(m->metric) ? a > b + delta : a < b - delta;
}

int64_t kni_learner_epoch(kni_learner *l, kn_run_split split)
{
    if (split != KN_SPLIT_TEST) return l->at.epoch + 1;
    return l->other_weights ? l->weights_epoch : l->at.epoch;
}

int64_t kni_learner_weights_step(kni_learner *l) { return l->other_weights ? l->weights_step : l->at.step; }

void kni_learner_end_epoch(kni_learner *l, kn_run_split split)
{
    for (int32_t i = 0; i < l->metric_count; i++) {
        kni_learner_metric *m = &l->metrics[i];
        if (!m->on[split]) continue;
        kn_metric_event event = {.split = split,
                                 .epoch_end = true,
                                 .step = split == KN_SPLIT_TEST ? kni_learner_weights_step(l) : l->at.step,
                                 .epoch = kni_learner_epoch(l, split)};
        kn_metric_history *h = &m->history[split];
        event.value = event.mean = h->last = kn_metric_value(m->metric);
        bool first = h->epochs++ == 0;
        if (first) h->first = h->last;
        if (first || h->best != h->best || kni_learner_better(m, h->last, h->best, 0)) {
            h->best = h->last;
            h->best_epoch = event.epoch;
        }
        tell_metric(l, m, event);
    }
}

kni_learner_metric *kni_learner_find(kni_learner *l, const char *name, kn_run_split split)
{
    for (int32_t i = 0; name && i < l->metric_count; i++)
        if (l->metrics[i].on[split] && !strcmp(kn_metric_name(l->metrics[i].metric), name))
            return &l->metrics[i];
    return NULL;
}

/* ---- the summary */

/* Columns of the first column of the table: names of metrics are never cut. */
static int widest_name(kni_learner *l)
{
    size_t widest = 20;
    for (int32_t i = 0; i < l->metric_count; i++) {
        size_t columns = strlen(kn_metric_name(l->metrics[i].metric));
        if (columns > widest) widest = columns;
    }
    return (int)widest;
}

static void summary_row(kni_buffer *out, const kni_learner_metric *m, int32_t split, int name)
{
    const kn_metric_history *h = &m->history[split];
    char first[TEXT], last[TEXT], best[TEXT], epoch[24];
    if (!h->epochs) return;
    kn_metric_format(m->metric, h->first, first, sizeof first);
    kn_metric_format(m->metric, h->last, last, sizeof last);
    kn_metric_format(m->metric, h->best, best, sizeof best);
    snprintf(epoch, sizeof epoch, "%lld", (long long)h->best_epoch);
    bool judged = h->best == h->best && !kni_metric_is_watched(kn_metric_name(m->metric));
    kni_buffer_format(out, "%-*s %-6s %14s %14s %14s %6s\n", name, kn_metric_name(m->metric),
                      kni_record_split_names[split], first, last, judged ? best : "-", judged ? epoch : "-");
}

size_t kni_learner_summary(kni_learner *l, char *buffer, size_t n)
{
    kni_buffer out = {0};
    int name = widest_name(l);
    kni_buffer_format(&out, "%s: %s %s epoch %lld, step %lld\n", l->name, kni_run_end_name(l->ended),
                      l->ended == KN_RUN_NOT_STARTED ? "at" : "after", (long long)l->at.epoch,
                      (long long)l->at.step);
    kni_buffer_format(&out, "%-*s %-6s %14s %14s %14s %6s\n", name, "metric", "split", "first", "last",
                      "best", "epoch");
    for (int32_t i = 0; i < l->metric_count; i++)
        for (int32_t s = 0; s < KNI_SPLITS; s++) summary_row(&out, &l->metrics[i], s, name);
    size_t length = kni_buffer_copy(&out, buffer, n);
    kni_buffer_free(&out);
    return length;
}

size_t kn_learner_summary(kn_learner learner, char *buffer, size_t n)
{
    if (buffer && n) buffer[0] = 0;
    KNI_USE(learner, l, learner);
    return l ? kni_learner_summary(l, buffer, n) : 0;
}
