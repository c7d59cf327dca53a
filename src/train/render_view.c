/* Lays the dashboard out: bar and tabs on top, the plot, a side panel where there is room, messages, progress, keys. Small
   terminals lose the parts that matter least, from the side panel down to the plot. */
#include "train/render_view.h"
#include "support/short_text.h"
#include "train/render_format.h"
#include "train/render_panels.h"
#include "train/render_plot.h"
#include <stdio.h>

static const kni_style split_styles[KNI_RECORD_SPLITS] = {KNI_STYLE_TRAIN, KNI_STYLE_VALID, KNI_STYLE_TEST};

/* ---- the bar on top */

static void draw_title(kni_canvas *canvas, const kni_record *record, const kni_view *view)
{
    const kn_progress_event *p = &record->progress;
    kni_canvas_fill(canvas, (kni_rect){0, 0, canvas->width, 1}, KNI_STYLE_TITLE, ' ');
    char right[96] = "", time[24];
    kni_format_duration(time, sizeof time, p->seconds);
    if (view->finished)
        snprintf(right, sizeof right, "%s · %s", kni_run_end_name(view->end), time);
    else if (view->stopping)
        snprintf(right, sizeof right, "stopping after this step …");
    else if (record->has_progress)
        snprintf(right, sizeof right, "%s · epoch %lld/%lld · %s", kni_record_split_name(p->split),
                 (long long)p->epoch, (long long)p->epochs, time);
    int columns = kni_text_columns(right), start = canvas->width - columns - 1;
    int room = (start > 8 ? start : canvas->width) - 2;
    int used = kni_canvas_format(canvas, 1, 0, room, KNI_STYLE_TITLE, "kiln  %s", record->name);
    if (start > used + 2) kni_canvas_text(canvas, start, 0, columns, KNI_STYLE_TITLE, right);
}

/* ---- tabs */

static void tab_text(char *out, size_t n, const kni_record *record, int32_t metric)
{
    const kni_record_metric *m = &record->metrics[metric];
    const kni_curve *curve = NULL;
    for (int s = 0; s < KNI_RECORD_SPLITS && !curve; s++) curve = m->curves[s];
    char name[28];
    kni_short_text(name, sizeof name, m->name);
    snprintf(out, n, " %s%s%s ", name, curve ? " " : "", curve ? curve->text : "");
}

static void draw_tabs(kni_canvas *canvas, int y, const kni_record *record, int32_t chosen)
{
    char text[80];
    int room = canvas->width - 4, first = chosen, columns = 0;
    /* As many to the left of the chosen one as leave room for it. */
    for (int32_t i = chosen; i >= 0; i--) {
        tab_text(text, sizeof text, record, i);
        columns += kni_text_columns(text) + 1;
        if (columns > room && i < chosen) break;
        first = i;
    }
    if (first > 0) kni_canvas_text(canvas, 0, y, 1, KNI_STYLE_DIM, "◂");
    int x = 1;
    for (int32_t i = first; i < record->metric_count; i++) {
        tab_text(text, sizeof text, record, i);
        int width = kni_text_columns(text);
        if (i > chosen && x + width > canvas->width - 2) {
            kni_canvas_text(canvas, canvas->width - 1, y, 1, KNI_STYLE_DIM, "▸");
            break;
        }
        x += kni_canvas_text(canvas, x, y, canvas->width - 1 - x, i == chosen ? KNI_STYLE_TAB : KNI_STYLE_DIM,
                             text);
        if (i + 1 < record->metric_count && x < canvas->width - 2)
            x += kni_canvas_text(canvas, x, y, 1, KNI_STYLE_FRAME, "│");
    }
}

/* ---- the plot */

/* One split of the legend: its latest value and, where wanted, its best. */
static void legend_text(char *out, size_t n, const kni_record_metric *metric, int split, bool best)
{
    const kni_curve *curve = metric->curves[split];
    char value[32];
    snprintf(out, n, " %s", curve->text);
    if (!best || curve->epoch_count == 0 || metric->watched) return;
    kni_record_value(metric, curve->best, value, sizeof value);
    snprintf(out, n, " %s  best %s in epoch %lld", curve->text, value, (long long)curve->best_epoch);
}

/* " min 0.05  max 2.4 ·" of all values so far, "" before the first. */
static void extremes_text(char *out, size_t n, const kni_record_metric *metric)
{
    bool any = false;
    double low = 0, high = 0;
    for (int s = 0; s < KNI_RECORD_SPLITS; s++) {
        const kni_curve *curve = metric->curves[s];
        const kni_trail *trail = !curve ? NULL : curve->steps.count ? &curve->steps : &curve->epochs;
        for (int64_t i = 0; trail && i < trail->count; i++) {
            if (!any || trail->points[i].low < low) low = trail->points[i].low;
            if (!any || trail->points[i].high > high) high = trail->points[i].high;
            any = true;
        }
    }
    char least[32], most[32];
    kni_record_value(metric, low, least, sizeof least);
    kni_record_value(metric, high, most, sizeof most);
    snprintf(out, n, any ? "min %s  max %s · " : "%.0s%.0s", least, most);
}

/* Every split comes before the best of any: all have it, or none where that would be too long. */
static void draw_legend(kni_canvas *canvas, kni_rect rect, const kni_record_metric *metric,
                        const kni_view *view)
{
    char notes[160], text[128] = "";
    if (rect.width >= 90) extremes_text(text, sizeof text, metric);
    snprintf(notes, sizeof notes, "%s%s%s%s", text, view->recent ? "recent" : "full history",
             view->logarithmic ? " · log" : "", view->smooth ? " · smooth" : "");
    int x = rect.x + 1, end = rect.x + rect.width - kni_text_columns(notes) - 2, wanted = 0;
    for (int s = 0; s < KNI_RECORD_SPLITS; s++) {
        if (!metric->curves[s]) continue;
        legend_text(text, sizeof text, metric, s, true);
        wanted += kni_text_columns(text) + kni_text_columns(kni_record_split_names[s]) + 5;
    }
    bool best = x + wanted - 3 <= end;
    for (int s = 0; s < KNI_RECORD_SPLITS; s++) {
        if (!metric->curves[s]) continue;
        legend_text(text, sizeof text, metric, s, best);
        if (x + 2 + kni_text_columns(kni_record_split_names[s]) + kni_text_columns(text) > end) break;
        x +=
            kni_canvas_format(canvas, x, rect.y, end - x, split_styles[s], "● %s", kni_record_split_names[s]);
        x += kni_canvas_text(canvas, x, rect.y, end - x, KNI_STYLE_NORMAL, text) + 3;
    }
    if (end > rect.x)
        kni_canvas_text(canvas, end + 1, rect.y, rect.x + rect.width - end - 1, KNI_STYLE_DIM, notes);
}

static void draw_plot(kni_canvas *canvas, kni_rect rect, const kni_record *record, kni_view *view,
                      bool framed)
{
    if (record->metric_count == 0) return;
    const kni_record_metric *metric = &record->metrics[view->metric];
    kni_rect area = framed ? kni_canvas_box(canvas, rect, metric->name) : rect;
    if (area.height > 5) {
        draw_legend(canvas, area, metric, view);
        area.y++;
        area.height--;
    }
    kni_point *train = view->points;
    kni_plot plot = {.logarithmic = view->logarithmic};
    int64_t count = 0;
    const kni_curve *curve = metric->curves[KN_SPLIT_TRAIN];
    if (curve && view->recent)
        count = kni_curve_recent(curve, train);
    else if (curve && curve->steps.count) {
        count = curve->steps.count;
        for (int64_t i = 0; i < count; i++) train[i] = curve->steps.points[i];
        if (curve->steps.pending_count) train[count++] = curve->steps.pending;
    }
    if (view->recent && count > 1) {
        plot.x_low = train[0].x;
        plot.x_high = train[count - 1].x;
    }
    if (view->smooth) {
        kni_points_smooth(train, view->smoothed, count);
        train = view->smoothed;
    }
    if (count) plot.series[plot.count++] = (kni_series){train, count, KNI_STYLE_TRAIN, false};
    for (int s = 0; s < KNI_RECORD_SPLITS; s++) {
        const kni_curve *c = metric->curves[s];
        /* Where a metric has no values of steps (some have only whole epochs), those of epochs are the curve. */
        if (!c || c->epochs.count == 0 || (s == KN_SPLIT_TRAIN && count)) continue;
        plot.series[plot.count++] = (kni_series){c->epochs.points, c->epochs.count, split_styles[s], true};
    }
    kni_plot_draw(canvas, area, &plot);
}

/* ---- all of it */

typedef struct layout {
    kni_rect plot, side, text;
    int tabs, progress, progress_rows, status, keys; /* rows, -1 where there is none */
} layout;

static layout lay_out(int width, int height)
{
    layout l = {.tabs = -1, .status = -1, .keys = -1, .progress = -1};
    int top = 1, bottom = height;
    if (height >= 14) l.keys = --bottom;
    if (height >= 12) l.status = --bottom;
    l.progress_rows = height >= 9 ? 2 : height >= 3 ? 1 : 0;
    bottom -= l.progress_rows;
    if (l.progress_rows) l.progress = bottom;
    if (height >= 4) l.tabs = top++;
    int left = width, side = width >= 110 && height >= 20 ? (width >= 160 ? 52 : 42) : 0;
    left -= side;
    int text = height >= 22 ? (bottom - top) / 4 : 0;
    if (text > 14) text = 14;
    l.text = (kni_rect){0, bottom - text, left, text};
    l.side = (kni_rect){left, top, side, bottom - top};
    l.plot = (kni_rect){0, top, left, bottom - text - top};
    return l;
}

void kni_view_draw(kni_canvas *canvas, const kni_record *record, kni_view *view)
{
    if (canvas->width <= 0 || canvas->height <= 0) return;
    layout l = lay_out(canvas->width, canvas->height);
    if (view->metric >= record->metric_count) view->metric = 0;
    draw_title(canvas, record, view);
    if (l.tabs >= 0 && record->metric_count) draw_tabs(canvas, l.tabs, record, view->metric);
    draw_plot(canvas, l.plot, record, view, l.plot.height >= 8 && l.plot.width >= 30);
    if (l.side.width) kni_panel_side(canvas, l.side, record, view->metric);
    if (l.text.height) kni_panel_messages(canvas, l.text, record, &view->scroll);
    if (l.progress >= 0) kni_panel_progress(canvas, l.progress, l.progress_rows, record);
    if (l.status >= 0) kni_panel_status(canvas, l.status, record);
    if (l.keys >= 0) kni_panel_keys(canvas, l.keys, view);
    kni_view_popup(canvas, view->popup);
}
