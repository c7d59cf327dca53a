/* The dashboard: events go into a record, at most ten times a second the record goes onto the screen, and keys change what is
   shown. At the end the terminal is given back and the summary stays on it. */
#include "core/objects.h"
#include "support/failure.h"
#include "train/render_format.h"
#include "train/render_guard.h"
#include "train/render_screen.h"
#include "train/render_summary.h"
#include "train/render_view.h"
#include <stdlib.h>
#include <string.h>

static const double frame_seconds = 0.1;

typedef struct dashboard {
    kn_dashboard_args args;
    kni_screen *screen; /* NULL outside a run */
    kni_canvas canvas;
    kni_record record;
    kni_view view;
    double drawn; /* when, on the monotonic clock */
    kn_renderer_answer answer;
} dashboard;

static void draw(dashboard *d)
{
    int width, height;
    if (!d->screen) return;
    kni_screen_size(d->screen, &width, &height);
    if (!kni_canvas_reset(&d->canvas, width, height, kni_screen_utf8(d->screen))) return;
    kni_view_draw(&d->canvas, &d->record, &d->view);
    kni_screen_paint(d->screen, &d->canvas);
    d->drawn = kni_monotonic_clock();
}

static void draw_in_time(dashboard *d)
{
    if (kni_monotonic_clock() - d->drawn >= frame_seconds) draw(d);
}

/* ---- keys */

static void key_in_quit(dashboard *d, int key)
{
    if (key == 'y' || key == 'Y' || key == '\r' || key == '\n') {
        d->answer = KN_RENDERER_STOP;
        d->view.stopping = true;
    } else if (key == 'k' || key == 'K')
        d->answer = KN_RENDERER_KILL;
    else if (key != 'n' && key != 'N' && key != 'q' && key != 27)
        return;
    d->view.popup = KNI_POPUP_NONE;
}

static void turn_metric(dashboard *d, int32_t by)
{
    int32_t count = d->record.metric_count;
    if (count) d->view.metric = (d->view.metric + by + count) % count;
}

static void key_in_view(dashboard *d, int key)
{
    kni_view *v = &d->view;
    switch (key) {
    case KNI_KEY_LEFT:
        turn_metric(d, -1);
        break;
    case KNI_KEY_RIGHT:
        turn_metric(d, 1);
        break;
    case KNI_KEY_UP:
        v->scroll++;
        break;
    case KNI_KEY_DOWN:
        v->scroll--;
        break;
    case KNI_KEY_PAGE_UP:
        v->scroll += 10;
        break;
    case KNI_KEY_PAGE_DOWN:
        v->scroll -= 10;
        break;
    case '\t':
        v->recent = !v->recent;
        break;
    case 'f':
        v->recent = false;
        break;
    case 'r':
        v->recent = true;
        break;
    case 'l':
        v->logarithmic = !v->logarithmic;
        break;
    case 's':
        v->smooth = !v->smooth;
        break;
    case 'h':
    case '?':
        v->popup = KNI_POPUP_HELP;
        break;
    case 'q':
        v->popup = KNI_POPUP_QUIT;
        break;
    default:
        break;
    }
}

/* Handles one key; false where there was none. */
static bool next_key(dashboard *d, int milliseconds)
{
    int key = kni_screen_key(d->screen, milliseconds);
    if (key == KNI_KEY_NONE) return false;
    if (key == KNI_KEY_RESIZE || key == '\f') /* only the picture is renewed */
        return true;
    if (d->view.popup == KNI_POPUP_QUIT)
        key_in_quit(d, key);
    else if (d->view.popup == KNI_POPUP_HELP)
        d->view.popup = KNI_POPUP_NONE;
    else
        key_in_view(d, key);
    return true;
}

/* ---- the renderer */

static void show_notice(void *self, const char *text)
{
    dashboard *d = self;
    kni_record_message_line(&d->record, KN_SPLIT_TRAIN, text);
}

static void leave(dashboard *d)
{
    if (!d->screen) return;
    kni_notice_to(NULL, NULL);
    kni_screen_close(d->screen);
    d->screen = NULL;
}

static kn_status dashboard_start(void *self, const kn_run_info *info)
{
    dashboard *d = self;
    leave(d);
    kn_status status = kni_record_start(&d->record, info);
    if (status) return status;
    memset(&d->view, 0, sizeof d->view);
    d->answer = KN_RENDERER_GO_ON;
    d->screen = kni_screen_open(d->args.catch_signals || info->catch_interrupts);
    if (!d->screen) return KN_ERROR_UNSUPPORTED;
    kni_notice_to(show_notice, d);
    draw(d);
    return KN_OK;
}

static void dashboard_metric(void *self, const kn_metric_event *event)
{
    dashboard *d = self;
    kni_record_metric_event(&d->record, event);
}

static void dashboard_progress(void *self, const kn_progress_event *event)
{
    dashboard *d = self;
    kni_record_progress(&d->record, event);
    draw_in_time(d);
}

static void dashboard_message(void *self, kn_run_split split, const char *text)
{
    dashboard *d = self;
    kni_record_message_line(&d->record, split, text);
    if (d->view.scroll > 0) d->view.scroll++; /* what is being read stays where it is */
    draw_in_time(d);
}

static kn_renderer_answer dashboard_poll(void *self)
{
    dashboard *d = self;
    bool any = false;
    if (!d->screen) return KN_RENDERER_GO_ON;
    while (next_key(d, 0)) any = true;
    if (any)
        draw(d);
    else
        draw_in_time(d);
    kn_renderer_answer answer = d->answer;
    d->answer = KN_RENDERER_GO_ON;
    return answer;
}

static void dashboard_finish(void *self, kn_run_end end, const char *text)
{
    dashboard *d = self;
    (void)text; /* the table with curves says the same and more */
    if (!d->screen) return;
    d->view.finished = true;
    d->view.end = end;
    draw(d);
    while (d->args.stay && end != KN_RUN_INTERRUPTED && d->view.popup != KNI_POPUP_QUIT)
        if (next_key(d, 200)) draw(d);
    leave(d);
    int descriptor = kni_terminal_descriptor();
    kni_buffer summary = {0};
    kni_summary_write(&summary, &d->record, end, kni_summary_style_of(descriptor));
    kni_write_all(descriptor, kni_buffer_string(&summary), summary.length);
    kni_buffer_free(&summary);
}

static void dashboard_close(void *self)
{
    dashboard *d = self;
    leave(d);
    kni_record_free(&d->record);
    kni_canvas_free(&d->canvas);
    free(d);
}

static const kn_renderer_type dashboard_type = {.name = "dashboard",
                                                .start = dashboard_start,
                                                .metric = dashboard_metric,
                                                .progress = dashboard_progress,
                                                .message = dashboard_message,
                                                .poll = dashboard_poll,
                                                .finish = dashboard_finish,
                                                .close = dashboard_close};

kn_renderer kn_renderer_dashboard(const kn_dashboard_args *args)
{
    KNI_NAMED;
    if (kni_screen_possible() != KN_OK) return NULL;
    dashboard *d = calloc(1, sizeof *d);
    if (!d) {
        kni_failure_memory("kn_renderer_dashboard");
        return NULL;
    }
    if (args) d->args = *args;
    return kn_renderer_make(&dashboard_type, d);
}
