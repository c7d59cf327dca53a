/* Plain progress on standard error: on a terminal one line that is written over, elsewhere one line for each epoch. Also the
   choice between this and the dashboard. */
#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "core/objects.h"
#include "support/failure.h"
#include "train/render_canvas.h"
#include "train/render_format.h"
#include "train/render_guard.h"
#include "train/render_screen.h"
#include "train/render_summary.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double line_seconds = 0.1;

typedef struct plain {
    kni_record record;
    bool terminal, smart, utf8;
    bool line_open;     /* a line in place is on the terminal */
    int64_t epoch;      /* whose line is still to be written, 0: none */
    bool valid_seen;    /* of that epoch */
    double epoch_start; /* seconds of the run */
    double drawn;
    kni_buffer text;
} plain;

static void write_text(plain *p)
{
    kni_write_all(STDERR_FILENO, kni_buffer_string(&p->text), p->text.length);
    kni_buffer_clear(&p->text);
}

/* Takes the line in place off the terminal. */
static void close_line(plain *p)
{
    if (!p->line_open) return;
    if (p->smart)
        kni_buffer_text(&p->text, "\r\033[K");
    else
        kni_buffer_format(&p->text, "\r%*s\r", kni_terminal_columns(STDERR_FILENO) - 1, "");
    p->line_open = false;
}

/* ---- the line in place */

static void draw_line(plain *p)
{
    const kni_record *record = &p->record;
    const kn_progress_event *now = &record->progress;
    int columns = kni_terminal_columns(STDERR_FILENO) - 1;
    kni_canvas canvas = {0};
    char text[64];
    if (columns < 1 || !kni_canvas_reset(&canvas, columns, 1, p->utf8)) return;
    int x =
        kni_canvas_format(&canvas, 0, 0, columns, KNI_STYLE_NORMAL, "epoch %lld/%lld %s ",
                          (long long)now->epoch, (long long)now->epochs, kni_record_split_name(now->split));
    double part = kni_record_epoch_part(record);
    if (part >= 0 && columns >= 40) {
        int width = columns >= 100 ? 24 : columns / 6;
        kni_canvas_bar(&canvas, x, 0, width, part);
        x += width;
        x += kni_canvas_format(&canvas, x, 0, 7, KNI_STYLE_NORMAL, "%4.0f%%  ", part * 100);
    }
    char tail[96], speed[24];
    kni_format_count(speed, sizeof speed, now->items_per_second);
    kni_format_duration(text, sizeof text, now->seconds_left);
    snprintf(tail, sizeof tail, "%s/s  ETA %s", speed, text);
    int end = columns - kni_text_columns(tail) - 2;
    for (int32_t i = 0; i < record->metric_count; i++) {
        const kni_curve *curve =
            (unsigned)now->split < KNI_RECORD_SPLITS ? record->metrics[i].curves[now->split] : NULL;
        if (!curve) continue;
        int wanted = kni_text_columns(record->metrics[i].name) + 1 + kni_text_columns(curve->text);
        if (x + wanted > end) break;
        x += kni_canvas_format(&canvas, x, 0, wanted, KNI_STYLE_NORMAL, "%s %s", record->metrics[i].name,
                               curve->text);
        x += 2;
    }
    if (x <= end + 1) kni_canvas_text(&canvas, x, 0, columns - x, KNI_STYLE_NORMAL, tail);
    kni_buffer_text(&p->text, "\r");
    size_t before = p->text.length;
    kni_canvas_row(&canvas, 0, &p->text);
    int used = p->text.failed ? 0 : kni_text_columns(kni_buffer_string(&p->text) + before);
    if (p->smart)
        kni_buffer_text(&p->text, "\033[K");
    else
        kni_buffer_format(&p->text, "%*s", columns - used, "");
    kni_canvas_free(&canvas);
    p->line_open = true;
    p->drawn = kni_monotonic_clock();
    write_text(p);
}

/* ---- the line of an epoch */

static void append_split(plain *p, int split, const char *before)
{
    bool any = false;
    for (int32_t i = 0; i < p->record.metric_count; i++) {
        const kni_record_metric *metric = &p->record.metrics[i];
        const kni_curve *curve = metric->curves[split];
        if (!curve) continue;
        if (!any) kni_buffer_format(&p->text, "%s%s", before, kni_record_split_names[split]);
        any = true;
        kni_buffer_text(&p->text, " ");
        kni_summary_text(&p->text, metric->name, p->utf8);
        kni_buffer_text(&p->text, " ");
        kni_summary_text(&p->text, curve->text, p->utf8);
    }
}

static void epoch_line(plain *p)
{
    if (p->epoch == 0) return;
    close_line(p);
    char time[24];
    kni_format_duration(time, sizeof time, p->record.progress.seconds - p->epoch_start);
    kni_buffer_format(&p->text, "epoch %lld/%lld", (long long)p->epoch, (long long)p->record.progress.epochs);
    append_split(p, KN_SPLIT_TRAIN, "  ");
    if (p->valid_seen) append_split(p, KN_SPLIT_VALID, " | ");
    kni_buffer_format(&p->text, "  %s\n", time);
    p->epoch = 0;
    p->valid_seen = false;
    p->epoch_start = p->record.progress.seconds;
    write_text(p);
}

/* ---- the renderer */

static kn_status plain_start(void *self, const kn_run_info *info)
{
    plain *p = self;
    kn_status status = kni_record_start(&p->record, info);
    if (status) return status;
    p->terminal = isatty(STDERR_FILENO);
    p->smart = p->terminal && kni_terminal_is_smart();
    p->utf8 = kni_terminal_utf8();
    p->epoch = 0;
    p->line_open = p->valid_seen = false;
    p->epoch_start = 0;
    char params[24];
    kni_format_count(params, sizeof params, (double)info->params);
    kni_summary_text(&p->text, p->record.name, p->utf8);
    if (info->evaluates)
        kni_buffer_format(&p->text, ": evaluation, %s params", params);
    else
        kni_buffer_format(&p->text, ": %lld epochs, %s params", (long long)info->epochs, params);
    if (*p->record.device) {
        kni_buffer_text(&p->text, ", ");
        kni_summary_text(&p->text, p->record.device, p->utf8);
    }
    if (info->step > 0 && !info->evaluates)
        kni_buffer_format(&p->text, ", goes on from step %lld", (long long)info->step);
    kni_buffer_text(&p->text, "\n");
    write_text(p);
    return KN_OK;
}

static void plain_metric(void *self, const kn_metric_event *event)
{
    plain *p = self;
    kni_record_metric_event(&p->record, event);
    if (!event->epoch_end || event->index < 0 || event->split == KN_SPLIT_TEST) return;
    if (p->epoch && event->epoch != p->epoch) epoch_line(p);
    p->epoch = event->epoch;
    if (event->split == KN_SPLIT_VALID) p->valid_seen = true;
}

static void plain_progress(void *self, const kn_progress_event *event)
{
    plain *p = self;
    if (p->epoch && event->epoch != p->epoch) epoch_line(p);
    kni_record_progress(&p->record, event);
    if (p->terminal && kni_monotonic_clock() - p->drawn >= line_seconds) draw_line(p);
}

static void plain_message(void *self, kn_run_split split, const char *text)
{
    plain *p = self;
    (void)split;
    if (p->valid_seen) epoch_line(p);
    close_line(p);
    kni_summary_text(&p->text, text, p->utf8);
    kni_buffer_text(&p->text, "\n");
    write_text(p);
}

static void plain_finish(void *self, kn_run_end end, const char *summary)
{
    plain *p = self;
    (void)summary;
    epoch_line(p);
    close_line(p);
    kni_summary_write(&p->text, &p->record, end, kni_summary_style_of(STDERR_FILENO));
    write_text(p);
}

static void plain_close(void *self)
{
    plain *p = self;
    if (p->line_open) kni_write_all(STDERR_FILENO, "\n", 1);
    kni_record_free(&p->record);
    kni_buffer_free(&p->text);
    free(p);
}

static const kn_renderer_type plain_type = {.name = "plain",
                                            .start = plain_start,
                                            .metric = plain_metric,
                                            .progress = plain_progress,
                                            .message = plain_message,
                                            .finish = plain_finish,
                                            .close = plain_close};

kn_renderer kn_renderer_plain(void)
{
    KNI_NAMED;
    plain *p = calloc(1, sizeof *p);
    if (!p) {
        kni_failure_memory("kn_renderer_plain");
        return NULL;
    }
    return kn_renderer_make(&plain_type, p);
}

kn_renderer kn_renderer_auto(void)
{
    KNI_NAMED;
    static const kn_renderer_type none_type = {.name = "none"};
    const char *wanted = getenv("KN_RENDERER");
    if (wanted && strcmp(wanted, "none") == 0) return kn_renderer_make(&none_type, NULL);
    if (wanted && strcmp(wanted, "plain") == 0) return kn_renderer_plain();
    if (wanted && strcmp(wanted, "dashboard") == 0) return kn_renderer_dashboard(NULL);
    if (wanted && *wanted && strcmp(wanted, "auto") != 0) {
        kni_failure(KN_ERROR_ARGUMENT,
                    "kn_renderer_auto: KN_RENDERER is '%s'; it may be auto, dashboard, plain or none",
                    wanted);
        return NULL;
    }
    return isatty(STDIN_FILENO) && kni_screen_is_possible() ? kn_renderer_dashboard(NULL)
                                                            : kn_renderer_plain();
}
