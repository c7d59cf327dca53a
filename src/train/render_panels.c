/* The panels around the plot: metrics and facts, messages, progress bars, status, keys and the popups. */
#include "train/render_panels.h"
#include "support/short_text.h"
#include "train/render_format.h"
#include <stdio.h>
#include <string.h>

/* ---- the side panel */

static void metric_table(kni_canvas *canvas, kni_rect area, const kni_record *record, int32_t chosen)
{
    static const char *const heads[] = {"train", "valid", "best"};
    static const kni_style styles[] = {KNI_STYLE_TRAIN, KNI_STYLE_VALID, KNI_STYLE_BOLD};
    int column = area.width >= 46 ? 11 : 9, name = area.width - 3 * column - 1;
    for (int i = 0; i < 3; i++)
        kni_canvas_right(canvas, area.x + name + (i + 1) * column, area.y, column - 1, styles[i], heads[i]);
    /* The chosen metric is always among those that fit. */
    int32_t rows = area.height - 1, first = chosen >= rows ? chosen - rows + 1 : 0;
    for (int32_t i = first; i < record->metric_count && i - first < rows; i++) {
        const kni_record_metric *metric = &record->metrics[i];
        int y = area.y + 1 + (i - first);
        kni_canvas_text(canvas, area.x + 1, y, name, i == chosen ? KNI_STYLE_BOLD : KNI_STYLE_NORMAL,
                        metric->name);
        for (int s = 0; s < 2; s++) {
            const kni_curve *curve = metric->curves[s];
            if (curve)
                kni_canvas_right(canvas, area.x + name + (s + 1) * column, y, column - 1, KNI_STYLE_NORMAL,
                                 curve->text);
        }
        const kni_curve *best =
            metric->curves[KN_SPLIT_VALID] ? metric->curves[KN_SPLIT_VALID] : metric->curves[0];
        if (!best || best->epoch_count == 0 || metric->watched) continue;
        char text[32];
        kni_record_value(metric, best->best, text, sizeof text);
        kni_canvas_right(canvas, area.x + name + 3 * column, y, column - 1, KNI_STYLE_BOLD, text);
    }
}

static int fact(kni_canvas *canvas, kni_rect area, int y, const char *name, const char *value)
{
    if (!*value || y >= area.y + area.height) return y;
    kni_canvas_text(canvas, area.x + 1, y, 10, KNI_STYLE_DIM, name);
    kni_canvas_text(canvas, area.x + 11, y, area.width - 12, KNI_STYLE_NORMAL, value);
    return y + 1;
}

/* The lines of the model, as many as fit. */
static void model_lines(kni_canvas *canvas, kni_rect area, int y, const char *text)
{
    for (; *text && y < area.y + area.height; y++) {
        char line[160];
        size_t length = strcspn(text, "\n"), kept = length < sizeof line - 1 ? length : sizeof line - 1;
        memcpy(line, text, kept);
        line[kept] = 0;
        kni_short_end(line, sizeof line, length);
        kni_canvas_text(canvas, area.x + 1, y, area.width - 2, KNI_STYLE_DIM, line);
        text += length + (text[length] == '\n');
    }
}

static void facts(kni_canvas *canvas, kni_rect area, const kni_record *record)
{
    const kn_progress_event *p = &record->progress;
    char text[48];
    int y = area.y;
    y = fact(canvas, area, y, "device", record->device);
    kni_format_count(text, sizeof text, (double)record->params);
    y = fact(canvas, area, y, "params", record->params ? text : "");
    snprintf(text, sizeof text, "%lld", (long long)p->step);
    y = fact(canvas, area, y, "step", text);
    kni_format_number(text, sizeof text, p->lr);
    y = fact(canvas, area, y, "lr", p->lr > 0 ? text : "");
    kni_format_count(text, sizeof text, p->items_per_second);
    y = fact(canvas, area, y, "items/s", p->items_per_second > 0 ? text : "");
    kni_format_duration(text, sizeof text, p->seconds);
    y = fact(canvas, area, y, "time", text);
    y = fact(canvas, area, y, "folder", record->folder);
    model_lines(canvas, area, y + 1, record->model);
}

void kni_panel_side(kni_canvas *canvas, kni_rect rect, const kni_record *record, int32_t chosen)
{
    int32_t most = rect.height / 2, rows = record->metric_count + 3;
    if (rows > most) rows = most;
    kni_rect top = {rect.x, rect.y, rect.width, rows};
    metric_table(canvas, kni_canvas_box(canvas, top, "metrics"), record, chosen);
    kni_rect rest = {rect.x, rect.y + rows, rect.width, rect.height - rows};
    facts(canvas, kni_canvas_box(canvas, rest, "run"), record);
}

/* ---- messages */

void kni_panel_messages(kni_canvas *canvas, kni_rect rect, const kni_record *record, int64_t *scroll)
{
    kni_rect area = kni_canvas_box(canvas, rect, "messages");
    int64_t held = record->message_total < KNI_MESSAGES ? record->message_total : KNI_MESSAGES;
    int64_t lines = held + record->text_count, most = lines > area.height ? lines - area.height : 0;
    if (*scroll > most) *scroll = most;
    if (*scroll < 0) *scroll = 0;
    if (lines == 0) kni_canvas_text(canvas, area.x + 1, area.y, area.width - 2, KNI_STYLE_DIM, "none yet");
    for (int row = 0; row < area.height; row++) {
        int64_t line = most - *scroll + row;
        int y = area.y + row, x = area.x + 1, room = area.width - 2;
        if (line >= lines) break;
        if (line >= held) { /* values of text metrics come last, where they stay in sight */
            const kni_record_text *t = &record->texts[line - held];
            x += kni_canvas_format(canvas, x, y, room, KNI_STYLE_HEADING, "%s %s  ", t->name,
                                   kni_record_split_name(t->split));
            kni_canvas_text(canvas, x, y, area.x + area.width - 1 - x, KNI_STYLE_NORMAL, t->text);
            continue;
        }
        const kni_record_message *m = &record->messages[(record->message_total - held + line) % KNI_MESSAGES];
        char time[24];
        kni_format_duration(time, sizeof time, m->seconds);
        x += kni_canvas_format(canvas, x, y, room, KNI_STYLE_DIM, "%7s  ", time);
        kni_canvas_text(canvas, x, y, area.x + area.width - 1 - x, KNI_STYLE_NORMAL, m->text);
    }
    if (*scroll > 0 && rect.width > 20)
        kni_canvas_format(canvas, rect.x + rect.width - 16, rect.y, 14, KNI_STYLE_KEY, " ↓ %lld more ",
                          (long long)*scroll);
}

/* ---- progress, status, keys */

static void bar_line(kni_canvas *canvas, int y, const char *name, double part, const char *right, int columns)
{
    int start = canvas->width - columns - 1;
    int x = 1 + kni_canvas_format(canvas, 1, y, canvas->width - 2, KNI_STYLE_BOLD, "%-6s", name);
    int width = start - x - 7;
    if (width < 6) { /* no room for both: the bar matters more */
        width = canvas->width - x - 6;
        start = canvas->width;
    }
    if (width < 1) return;
    kni_canvas_bar(canvas, x, y, width, part);
    if (part >= 0) kni_canvas_format(canvas, x + width, y, 5, KNI_STYLE_NORMAL, "%4.0f%%", part * 100);
    if (start < canvas->width) kni_canvas_right(canvas, canvas->width - 1, y, columns, KNI_STYLE_DIM, right);
}

void kni_panel_progress(kni_canvas *canvas, int y, int rows, const kni_record *record)
{
    const kn_progress_event *p = &record->progress;
    char text[2][160] = {"", ""}, speed[24], left[24];
    bool items = p->items_total > 0;
    if (rows > 1) {
        kni_format_count(speed, sizeof speed, p->items_per_second);
        kni_format_duration(left, sizeof left, kni_record_epoch_left(record));
        char count[64];
        if (items || p->batches_total > 0)
            snprintf(count, sizeof count, "%lld/%lld", (long long)(items ? p->items : p->batches),
                     (long long)(items ? p->items_total : p->batches_total));
        else
            snprintf(count, sizeof count, "%lld", (long long)p->items);
        snprintf(text[0], sizeof text[0], "%s  %s/s  ETA %7s", count, speed, left);
    }
    kni_format_duration(left, sizeof left, p->seconds_left);
    snprintf(text[1], sizeof text[1], "epoch %lld/%lld  ETA %7s", (long long)p->epoch, (long long)p->epochs,
             left);
    int first = kni_text_columns(text[0]), second = kni_text_columns(text[1]),
        room = first > second ? first : second;
    if (rows > 1)
        bar_line(canvas, y++, p->split == KN_SPLIT_TRAIN ? "epoch" : kni_record_split_name(p->split),
                 kni_record_epoch_part(record), text[0], room);
    bar_line(canvas, y, "run", kni_record_run_part(record), text[1], room);
}

void kni_panel_status(kni_canvas *canvas, int y, const kni_record *record)
{
    const kn_progress_event *p = &record->progress;
    char text[256], params[24], lr[24], device[64];
    kni_short_text(device, sizeof device, record->device);
    kni_format_count(params, sizeof params, (double)record->params);
    kni_format_number(lr, sizeof lr, p->lr);
    snprintf(text, sizeof text, "%s%s%s params · lr %s · step %lld", device, *device ? " · " : "", params, lr,
             (long long)p->step);
    kni_canvas_text(canvas, 1, y, canvas->width - 2, KNI_STYLE_DIM, text);
}

typedef struct key_hint {
    const char *keys, *meaning, *more;
} key_hint;

static const key_hint key_hints[] = {{"← →", "metric", "choose the metric"},
                                     {"f r", "history", "all steps (f) or the newest (r); Tab switches"},
                                     {"l", "log", "logarithmic axis"},
                                     {"s", "smooth", "moving mean of train"},
                                     {"↑ ↓", "text", "scroll the messages"},
                                     {"h", "help", "show or hide this"},
                                     {"q", "quit", "stop the run"}};
enum { KEY_HINTS = sizeof key_hints / sizeof *key_hints };

void kni_panel_keys(kni_canvas *canvas, int y, const kni_view *view)
{
    int x = 1;
    if (view->finished) {
        kni_canvas_text(canvas, x, y, canvas->width - 2, KNI_STYLE_KEY, "the run has ended: q leaves");
        return;
    }
    for (int i = 0; i < KEY_HINTS; i++) {
        int wanted = kni_text_columns(key_hints[i].keys) + kni_text_columns(key_hints[i].meaning) + 1;
        if (x + wanted > canvas->width - 1) return;
        x += kni_canvas_text(canvas, x, y, 8, KNI_STYLE_KEY, key_hints[i].keys) + 1;
        x += kni_canvas_text(canvas, x, y, canvas->width - x, KNI_STYLE_DIM, key_hints[i].meaning) + 3;
    }
}

/* ---- popups */

static void popup(kni_canvas *canvas, const char *title, const key_hint *lines, int count, bool long_text)
{
    int width = 4;
    for (int i = 0; i < count; i++) {
        int columns = 10 + kni_text_columns(long_text ? lines[i].more : lines[i].meaning) + 2;
        if (columns > width) width = columns;
    }
    width += 2;
    int height = count + 4;
    if (width > canvas->width) width = canvas->width;
    if (height > canvas->height) height = canvas->height;
    kni_rect rect = {(canvas->width - width) / 2, (canvas->height - height) / 2, width, height};
    kni_rect area = kni_canvas_box(canvas, rect, title);
    int top = area.y + (area.height - count > 0 ? (area.height - count) / 2 : 0);
    for (int i = 0; i < count && top + i < area.y + area.height; i++) {
        kni_canvas_text(canvas, area.x + 2, top + i, 6, KNI_STYLE_KEY, lines[i].keys);
        kni_canvas_text(canvas, area.x + 9, top + i, area.width - 10, KNI_STYLE_NORMAL,
                        long_text ? lines[i].more : lines[i].meaning);
    }
}

void kni_view_popup(kni_canvas *canvas, kni_popup which)
{
    static const key_hint quit[] = {{"y", "stop after this step: save and leave", NULL},
                                    {"k", "kill: leave at once, without saving", NULL},
                                    {"n", "go on", NULL}};
    if (which == KNI_POPUP_HELP) popup(canvas, "keys", key_hints, KEY_HINTS, true);
    if (which == KNI_POPUP_QUIT) popup(canvas, "stop the run?", quit, 3, false);
}
