/* The renderer that writes the HTML report: at the end, and after epochs in between, so that a killed run leaves one too. */
#include "train/render_report.h"
#include "core/objects.h"
#include "support/failure.h"
#include "support/file.h"
#include "train/log_file.h"
#include "train/render_format.h"
#include "train/render_guard.h"
#include <kn/tensor.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PAGE = 64 << 20 };
static const double page_seconds = 10;

typedef struct report {
    char *path;
    kni_record record;
    double written;  /* 0: not yet */
    bool used;       /* a run of this process is on the page */
    bool evaluating; /* the record is that of the training before */
    bool failed;     /* and told */
} report;

/* running: training is under way. */
static void write_page(report *r, bool running)
{
    kni_buffer page = {0};
    kni_numbers numbers = kni_plain_numbers_begin();
    kni_report_page(&page, &r->record, running);
    kni_plain_numbers_end(numbers);
    kn_status status =
        page.failed ? kni_failure_memory("kn_report_html") : kni_file_write(r->path, page.data, page.length);
    kni_buffer_free(&page);
    r->written = kni_monotonic_clock();
    if (status == KN_OK || r->failed) return;
    r->failed = true;
    kni_buffer text = {0};
    kni_buffer_format(&text, "the report cannot be written: %s; the run goes on without it",
                      kni_failure_taken());
    if (!text.failed) kni_notice(text.data);
    kni_buffer_free(&text);
}

/* The page tells what earlier parts of the run were like. */
static void read_page(report *r, double step)
{
    kni_buffer page = {0};
    if (kni_file_exists(r->path) && kni_file_read(r->path, MOST_PAGE, &page) == KN_OK)
        kni_report_data_read(&r->record, kni_buffer_string(&page), page.length, step, r->path);
    kni_buffer_free(&page);
}

/* The record of the training that is being evaluated stays as it is: that of this process, or what the page tells of it. */
static kn_status start_evaluation(report *r, const kn_run_info *info)
{
    kn_status status = KN_OK;
    if (!r->used) {
        status = kni_record_start(&r->record, info);
        r->record.first_step = 0;
        if (status == KN_OK && info->step > 0) read_page(r, INFINITY);
    }
    snprintf(r->record.evaluated, sizeof r->record.evaluated, "epoch %lld, step %lld",
             (long long)(info->epochs_done ? *info->epochs_done : 0), (long long)info->step);
    r->used = true;
    return status;
}

static kn_status report_start(void *self, const kn_run_info *info)
{
    report *r = self;
    r->written = 0;
    r->evaluating = info->evaluates;
    if (info->evaluates) return start_evaluation(r, info);
    kn_status status = kni_record_start(&r->record, info);
    if (status) return status;
    if (info->step > 0 || r->used) read_page(r, (double)info->step);
    r->record.trained = false;
    r->used = true;
    return KN_OK;
}

static void report_metric(void *self, const kn_metric_event *event)
{
    report *r = self;
    kni_record_metric_event(&r->record, event);
}

static bool is_due(const report *r)
{
    return !r->failed && (r->written == 0 || kni_monotonic_clock() - r->written >= page_seconds);
}

static void report_flush(void *self)
{
    report *r = self;
    if (is_due(r)) write_page(r, !r->evaluating);
}

static void report_progress(void *self, const kn_progress_event *event)
{
    report *r = self;
    if (r->evaluating) return; /* time, steps and speed are those of the training */
    bool next = event->epoch != r->record.progress.epoch && r->record.has_progress;
    if (next && is_due(r)) write_page(r, true);
    kni_record_progress(&r->record, event);
}

static void report_message(void *self, kn_run_split split, const char *text)
{
    report *r = self;
    kni_record_message_line(&r->record, split, text);
}

static void report_finish(void *self, kn_run_end end, const char *summary)
{
    report *r = self;
    (void)summary;
    kni_record *record = &r->record;
    if (r->evaluating) {
        size_t used = strlen(record->evaluated);
        snprintf(record->evaluated + used, sizeof record->evaluated - used, ", %s", kni_run_end_name(end));
    } else {
        record->trained = true;
        record->ended = end;
        record->ended_at = kni_wall_clock();
    }
    /* The learner counts on when the next page is written. */
    record->done = kni_record_epochs_done(record);
    record->epochs_done = &record->done;
    write_page(r, false);
}

static void report_close(void *self)
{
    report *r = self;
    kni_record_free(&r->record);
    free(r->path);
    free(r);
}

static const kn_renderer_type report_type = {.name = "report",
                                             .start = report_start,
                                             .metric = report_metric,
                                             .progress = report_progress,
                                             .message = report_message,
                                             .finish = report_finish,
                                             .close = report_close,
                                             .flush = report_flush};

/* A file that cannot be written is refused now rather than after hours of training. */
static kn_status try_path(const char *path)
{
    if (!path || !*path) return kni_failure(KN_ERROR_ARGUMENT, "kn_report_html: the path is empty");
    kni_log_file probe;
    bool there = kni_file_exists(path);
    kn_status status = kni_log_open(&probe, path, "kn_report_html");
    kni_log_close(&probe);
    if (status == KN_OK && !there) status = kni_path_remove(path);
    return status;
}

kn_renderer kn_report_html(const char *path)
{
    KNI_NAMED;
    if (try_path(path) != KN_OK) return NULL;
    report *r = calloc(1, sizeof *r);
    size_t bytes = strlen(path) + 1;
    char *copy = malloc(bytes);
    if (!r || !copy) {
        free(r);
        free(copy);
        kni_failure_memory("kn_report_html");
        return NULL;
    }
    memcpy(copy, path, bytes);
    r->path = copy;
    return kn_renderer_make(&report_type, r);
}
