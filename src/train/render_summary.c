/* Writes the summary of a run for people: one line about the run, a table of metrics. */
#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "train/render_summary.h"
#include "train/render_format.h"
#include "train/render_plot.h"
#include "train/render_screen.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

kni_summary_style kni_summary_style_of(int descriptor)
{
    const char *plain = getenv("NO_COLOR");
    bool terminal = isatty(descriptor);
    return (kni_summary_style){.utf8 = kni_terminal_utf8(),
                               .colours = terminal && kni_terminal_is_smart() && !(plain && *plain),
                               .columns = terminal ? kni_terminal_columns(descriptor) : 100};
}

void kni_summary_text(kni_buffer *out, const char *text, bool utf8)
{
    for (uint32_t c; (c = kni_utf8_next(&text)) != 0;)
        if (kni_utf8_columns(c) > 0)
            kni_utf8_append(out, utf8 ? c : (uint32_t)(unsigned char)kni_ascii_of(c));
}

static void padded(kni_buffer *out, const char *text, int columns, bool right, bool utf8)
{
    int spaces = columns - kni_text_columns(text);
    for (int i = 0; right && i < spaces; i++) kni_buffer_text(out, " ");
    kni_summary_text(out, text, utf8);
    for (int i = 0; !right && i < spaces; i++) kni_buffer_text(out, " ");
}

static void coloured(kni_buffer *out, kni_summary_style style, const char *code)
{
    if (style.colours) kni_buffer_format(out, "\033[%sm", code);
}

/* The curve to show: whole epochs where there are enough of them, else steps. */
static const kni_trail *best_history(const kni_curve *curve)
{
    return curve->epochs.count >= 8 || curve->steps.count == 0 ? &curve->epochs : &curve->steps;
}

static void write_row(kni_buffer *out, const kni_record_metric *metric, int split, int name,
                      kni_summary_style style)
{
    static const char *const codes[KNI_RECORD_SPLITS] = {"38;5;75", "38;5;214", "38;5;141"};
    const kni_curve *curve = metric->curves[split];
    char text[32];
    kni_buffer_text(out, "  ");
    padded(out, metric->name, name, false, style.utf8);
    kni_buffer_text(out, "  ");
    coloured(out, style, codes[split]);
    padded(out, kni_record_split_names[split], 6, false, style.utf8);
    coloured(out, style, "0");
    bool judged = curve->epoch_count && !metric->watched;
    const double values[] = {curve->first_epoch, curve->last_epoch, curve->best};
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "-");
        if (i == 2 ? judged : curve->epoch_count > 0) kni_record_value(metric, values[i], text, sizeof text);
        if (!curve->epoch_count && i == 1) kni_record_value(metric, curve->mean, text, sizeof text);
        if (i == 2) coloured(out, style, "1");
        padded(out, text, 11, true, style.utf8);
        if (i == 2) coloured(out, style, "0");
    }
    snprintf(text, sizeof text, "%lld", (long long)curve->best_epoch);
    padded(out, judged ? text : "-", 7, true, style.utf8);
    int room = style.columns - (2 + name + 2 + 6 + 33 + 7 + 2) - 1;
    if (room > 40) room = 40;
    if (room > 3) {
        const kni_trail *history = best_history(curve);
        kni_buffer_text(out, "  ");
        coloured(out, style, codes[split]);
        kni_sparkline(out, history->points, history->count, room, style.utf8);
        coloured(out, style, "0");
    }
    kni_buffer_text(out, "\n");
}

void kni_summary_write(kni_buffer *out, const kni_record *record, kn_run_end end, kni_summary_style style)
{
    const kn_progress_event *p = &record->progress;
    char time[24];
    kni_format_duration(time, sizeof time, p->seconds);
    coloured(out, style, "1");
    kni_summary_text(out, record->name, style.utf8);
    coloured(out, style, "0");
    if (record->evaluates)
        kni_buffer_format(out, ": evaluation %s, epoch %lld, step %lld, %s", kni_run_end_name(end),
                          (long long)kni_record_epochs_done(record), (long long)p->step, time);
    else
        kni_buffer_format(out, ": %s after epoch %lld of %lld, step %lld, %s", kni_run_end_name(end),
                          (long long)kni_record_epochs_done(record),
                          (long long)(p->epochs ? p->epochs : record->epochs), (long long)p->step, time);
    if (record->first_step > 0 && !record->evaluates)
        kni_buffer_format(out, " since step %lld", (long long)record->first_step);
    if (*record->folder) {
        kni_buffer_text(out, ", files in ");
        kni_summary_text(out, record->folder, style.utf8);
    }
    kni_buffer_text(out, "\n");
    int name = 6;
    bool any = false;
    for (int32_t i = 0; i < record->metric_count; i++) {
        int columns = kni_text_columns(record->metrics[i].name);
        if (columns > name) name = columns;
        for (int s = 0; s < KNI_RECORD_SPLITS; s++) any = any || record->metrics[i].curves[s];
    }
    if (!any) return;
    coloured(out, style, "2");
    kni_buffer_format(out, "  %-*s  %-6s%11s%11s%11s%7s\n", name, "metric", "split", "first", "last", "best",
                      "epoch");
    coloured(out, style, "0");
    for (int32_t i = 0; i < record->metric_count; i++)
        for (int s = 0; s < KNI_RECORD_SPLITS; s++)
            if (record->metrics[i].curves[s]) write_row(out, &record->metrics[i], s, name, style);
}
