/* Draws curves with dots: values are mapped to a grid of dots, neighbours are joined by lines. */
#include "train/render_plot.h"
#include "support/scalar_math.h"
#include "train/render_format.h"
#include <stdio.h>

enum { BRAILLE = 0x2800, MARK = 0x25CF };

/* Where values go. The x axis is linear, the y axis may be logarithmic. */
typedef struct frame {
    kni_canvas *canvas;
    kni_rect area; /* of the curves, without axes */
    double x_low, x_high, y_low, y_high;
    bool logarithmic;
    int dots_x, dots_y; /* in a cell */
} frame;

static double scaled(const frame *f, double value)
{
    return f->logarithmic ? kni_ln(value) / kni_ln(10) : value;
}

static bool inside(const kni_plot *plot, const kni_point *p)
{
    return plot->x_high <= plot->x_low || (p->x >= plot->x_low && p->x <= plot->x_high);
}

static bool find_ranges(frame *f, const kni_plot *plot)
{
    bool any = false, positive = true;
    double x_low = 0, x_high = 0, low = 0, high = 0;
    for (int s = 0; s < plot->count; s++)
        for (int64_t i = 0; i < plot->series[s].count; i++) {
            const kni_point *p = &plot->series[s].points[i];
            if (!inside(plot, p)) continue;
            if (!any || p->x < x_low) x_low = p->x;
            if (!any || p->x > x_high) x_high = p->x;
            if (!any || p->value < low) low = p->value;
            if (!any || p->value > high) high = p->value;
            positive = positive && p->value > 0;
            any = true;
        }
    if (x_low > 0 && x_low < x_high * 0.05) x_low = 0;
    if (plot->x_high > plot->x_low) {
        x_low = plot->x_low;
        x_high = plot->x_high;
    }
    f->logarithmic = plot->logarithmic && positive;
    f->x_low = x_low;
    f->x_high = x_high > x_low ? x_high : x_low + 1;
    f->y_low = scaled(f, low);
    f->y_high = scaled(f, high);
    double pad = (f->y_high - f->y_low) * 0.04, size = f->y_high < 0 ? -f->y_high : f->y_high;
    if (!(pad > 0)) pad = size > 0 ? size * 0.1 : 0.5;
    f->y_low -= pad;
    f->y_high += pad;
    return any && f->y_high - f->y_low < 1e300;
}

/* ---- dots */

static void set_dot(const frame *f, int x, int y, kni_style style)
{
    static const uint8_t braille[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (x < 0 || y < 0 || x >= f->area.width * f->dots_x || y >= f->area.height * f->dots_y) return;
    kni_canvas *canvas = f->canvas;
    int column = f->area.x + x / f->dots_x, row = f->area.y + y / f->dots_y;
    if (column >= canvas->width || row >= canvas->height) return;
    kni_cell *cell = &canvas->cells[(int64_t)row * canvas->width + column];
    /* A curve that crosses another one takes the cell over, so that both stay thin. */
    bool mine = cell->style == style;
    if (canvas->utf8) {
        bool braille_cell = cell->character >= BRAILLE && cell->character < BRAILLE + 256;
        cell->character = (mine && braille_cell ? cell->character : BRAILLE) | braille[y % 4][x % 2];
    } else if (style != KNI_STYLE_TRAIN)
        cell->character = '*';
    else {
        uint32_t dot = y % 2 ? '.' : '\'', other = y % 2 ? '\'' : '.';
        cell->character = mine && (cell->character == other || cell->character == ':') ? ':' : dot;
    }
    cell->style = (uint8_t)style;
}

static void line(const frame *f, int x0, int y0, int x1, int y1, kni_style style)
{
    int dx = x1 > x0 ? x1 - x0 : x0 - x1, dy = y1 > y0 ? y0 - y1 : y1 - y0;
    int step_x = x0 < x1 ? 1 : -1, step_y = y0 < y1 ? 1 : -1, error = dx + dy;
    for (;;) {
        set_dot(f, x0, y0, style);
        if (x0 == x1 && y0 == y1) return;
        int twice = 2 * error;
        if (twice >= dy) {
            error += dy;
            x0 += step_x;
        }
        if (twice <= dx) {
            error += dx;
            y0 += step_y;
        }
    }
}

static int dot_x(const frame *f, double x)
{
    double part = (x - f->x_low) / (f->x_high - f->x_low);
    return (int)kni_round(part * (f->area.width * f->dots_x - 1));
}

static int dot_y(const frame *f, double value)
{
    double part = (f->y_high - scaled(f, value)) / (f->y_high - f->y_low);
    return (int)kni_round(part * (f->area.height * f->dots_y - 1));
}

static void draw_series(const frame *f, const kni_plot *plot, const kni_series *series)
{
    bool before = false;
    int last_x = 0, last_y = 0;
    for (int64_t i = 0; i < series->count; i++) {
        const kni_point *p = &series->points[i];
        if (!inside(plot, p)) continue;
        int x = dot_x(f, p->x), y = dot_y(f, p->value);
        line(f, before ? last_x : x, before ? last_y : y, x, y, series->style);
        before = true;
        last_x = x;
        last_y = y;
    }
    if (!series->marked || series->count > f->area.width / 3) return;
    for (int64_t i = 0; i < series->count; i++) {
        const kni_point *p = &series->points[i];
        if (!inside(plot, p)) continue;
        kni_canvas_put(f->canvas, f->area.x + dot_x(f, p->x) / f->dots_x,
                       f->area.y + dot_y(f, p->value) / f->dots_y, series->style, MARK);
    }
}

/* ---- axes */

static void tick_text(char *out, size_t n, const frame *f, const kni_ticks *ticks, double at)
{
    if (f->logarithmic)
        snprintf(out, n, "%.2g", kni_pow(10, at));
    else
        kni_format_tick(out, n, ticks, at);
}

static int label_width(const frame *f, const kni_ticks *ticks)
{
    int width = 1;
    for (int i = 0; i < ticks->count; i++) {
        char text[32];
        tick_text(text, sizeof text, f, ticks, ticks->first + i * ticks->step);
        int columns = kni_text_columns(text);
        if (columns > width) width = columns;
    }
    return width;
}

static void draw_y_axis(const frame *f, kni_rect rect, const kni_ticks *ticks)
{
    int axis = f->area.x - 1;
    for (int y = f->area.y; y < f->area.y + f->area.height; y++)
        kni_canvas_put(f->canvas, axis, y, KNI_STYLE_FRAME, 0x2502);
    for (int i = 0; i < ticks->count; i++) {
        double at = ticks->first + i * ticks->step;
        int dot =
            (int)kni_round((f->y_high - at) / (f->y_high - f->y_low) * (f->area.height * f->dots_y - 1));
        int y = f->area.y + dot / f->dots_y;
        char text[32];
        tick_text(text, sizeof text, f, ticks, at);
        int columns = kni_text_columns(text);
        kni_canvas_text(f->canvas, axis - columns, y, columns, KNI_STYLE_DIM, text);
        kni_canvas_put(f->canvas, axis, y, KNI_STYLE_FRAME, 0x2524);
        for (int x = f->area.x; x < f->area.x + f->area.width; x++)
            if (f->canvas->utf8 || x % 2)
                kni_canvas_put(f->canvas, x, y, KNI_STYLE_GRID, f->canvas->utf8 ? 0x2508 : '.');
    }
    (void)rect;
}

static void draw_x_axis(const frame *f, kni_rect rect)
{
    int y = f->area.y + f->area.height, right = rect.x + rect.width;
    kni_canvas_put(f->canvas, f->area.x - 1, y, KNI_STYLE_FRAME, 0x2570);
    for (int x = f->area.x; x < f->area.x + f->area.width; x++)
        kni_canvas_put(f->canvas, x, y, KNI_STYLE_FRAME, 0x2500);
    kni_ticks ticks = kni_ticks_of(f->x_low, f->x_high, f->area.width / 12 > 0 ? f->area.width / 12 : 1);
    int free_from = f->area.x - 1;
    for (int i = 0; i < ticks.count; i++) {
        double at = ticks.first + i * ticks.step;
        int x = f->area.x + dot_x(f, at) / f->dots_x;
        char text[32];
        kni_format_tick(text, sizeof text, &ticks, at);
        int columns = kni_text_columns(text), start = x - columns / 2;
        if (start < rect.x) start = rect.x;
        if (start + columns > right) start = right - columns;
        if (start < free_from) continue;
        kni_canvas_put(f->canvas, x, y, KNI_STYLE_FRAME, 0x252C);
        kni_canvas_text(f->canvas, start, y + 1, columns, KNI_STYLE_DIM, text);
        free_from = start + columns + 1;
    }
}

void kni_plot_draw(kni_canvas *canvas, kni_rect rect, const kni_plot *plot)
{
    frame f = {.canvas = canvas, .dots_x = canvas->utf8 ? 2 : 1, .dots_y = canvas->utf8 ? 4 : 2};
    if (rect.width < 4 || rect.height < 2) return;
    if (!find_ranges(&f, plot)) {
        static const char waiting[] = "waiting for the first values";
        int columns = kni_text_columns(waiting), x = rect.x + (rect.width - columns) / 2;
        kni_canvas_text(canvas, x < rect.x ? rect.x : x, rect.y + rect.height / 2, rect.width, KNI_STYLE_DIM,
                        waiting);
        return;
    }
    bool axes = rect.width >= 24 && rect.height >= 6;
    f.area = rect;
    if (axes) {
        f.area.height -= 2;
        int wanted = f.area.height / 3;
        kni_ticks ticks = kni_ticks_of(f.y_low, f.y_high, wanted < 2 ? 2 : wanted > 8 ? 8 : wanted);
        int labels = label_width(&f, &ticks);
        f.area.x += labels + 1;
        f.area.width -= labels + 2;
        draw_y_axis(&f, rect, &ticks);
        draw_x_axis(&f, rect);
    }
    for (int s = 0; s < plot->count; s++) draw_series(&f, plot, &plot->series[s]);
}

void kni_sparkline(kni_buffer *out, const kni_point *points, int64_t count, int columns, bool utf8)
{
    double low = 0, high = 0;
    for (int64_t i = 0; i < count; i++) {
        if (i == 0 || points[i].value < low) low = points[i].value;
        if (i == 0 || points[i].value > high) high = points[i].value;
    }
    if (count < columns) columns = (int)count;
    for (int c = 0; c < columns; c++) {
        int64_t from = count * c / columns, to = count * (c + 1) / columns;
        double sum = 0;
        for (int64_t i = from; i < to; i++) sum += points[i].value;
        double part = high > low ? (sum / (double)(to - from) - low) / (high - low) : 0.5;
        uint32_t block = 0x2581 + (uint32_t)(part * 7.999 > 0 ? part * 7.999 : 0);
        kni_utf8_append(out, utf8 ? block : (uint32_t)(unsigned char)kni_ascii_of(block));
    }
}
