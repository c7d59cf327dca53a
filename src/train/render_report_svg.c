/* Plots of the report: curves of train (with the range of the steps behind them), valid and test, axes, a grid, a mark at the best
   value, and strips that tell their values under the mouse without any script. */
#include "support/scalar_math.h"
#include "train/render_format.h"
#include "train/render_report.h"
#include <stdio.h>

enum {
    WIDTH = 640,
    HEIGHT = 320,
    LEFT = 58,
    RIGHT = 14,
    TOP = 14,
    BOTTOM = 34,
    MOST_POINTS = 480,
    STRIPS = 64
};

typedef struct axes {
    double x_low, x_high, y_low, y_high;
} axes;

static double at_x(const axes *a, double x)
{
    return LEFT + (x - a->x_low) / (a->x_high - a->x_low) * (WIDTH - LEFT - RIGHT);
}

static double at_y(const axes *a, double y)
{
    double part = (a->y_high - y) / (a->y_high - a->y_low);
    return TOP + (part < 0 ? 0 : part > 1 ? 1 : part) * (HEIGHT - TOP - BOTTOM);
}

/* The curve with at most MOST_POINTS points. */
static int64_t thinned(const kni_trail *h, kni_point *out)
{
    int64_t count = h->count < MOST_POINTS ? h->count : MOST_POINTS;
    for (int64_t i = 0; i < count; i++) {
        int64_t from = h->count * i / count, to = h->count * (i + 1) / count;
        kni_point p = h->points[from];
        double sum = 0;
        for (int64_t k = from; k < to; k++) {
            sum += h->points[k].value;
            if (h->points[k].low < p.low) p.low = h->points[k].low;
            if (h->points[k].high > p.high) p.high = h->points[k].high;
        }
        p.x = h->points[to - 1].x;
        p.value = sum / (double)(to - from);
        out[i] = p;
    }
    return count;
}

static void take(axes *a, bool *any, double x, double y)
{
    if (!*any || x < a->x_low) a->x_low = x;
    if (!*any || x > a->x_high) a->x_high = x;
    if (!*any || y < a->y_low) a->y_low = y;
    if (!*any || y > a->y_high) a->y_high = y;
    *any = true;
}

static bool find_axes(axes *a, const kni_record_metric *metric)
{
    bool any = false;
    for (int s = 0; s < KNI_RECORD_SPLITS; s++) {
        const kni_curve *curve = metric->curves[s];
        for (int64_t i = 0; curve && i < curve->steps.count; i++)
            take(a, &any, curve->steps.points[i].x, curve->steps.points[i].value);
        for (int64_t i = 0; curve && i < curve->epochs.count; i++)
            take(a, &any, curve->epochs.points[i].x, curve->epochs.points[i].value);
    }
    if (a->x_low > 0 && a->x_low < a->x_high * 0.05) a->x_low = 0;
    if (!(a->x_high > a->x_low)) a->x_high = a->x_low + 1;
    double pad = (a->y_high - a->y_low) * 0.05, size = a->y_high < 0 ? -a->y_high : a->y_high;
    if (!(pad > 0)) pad = size > 0 ? size * 0.1 : 0.5;
    /* A loss has no room below 0 to show. */
    a->y_low = a->y_low >= 0 && a->y_low < pad * 4 ? 0 : a->y_low - pad;
    a->y_high += pad;
    return any && a->y_high - a->y_low < 1e300;
}

static void draw_grid(kni_buffer *out, const axes *a)
{
    char text[32];
    kni_ticks ticks = kni_ticks_of(a->y_low, a->y_high, 5);
    kni_buffer_text(out, "<g class=\"axis\">");
    for (int i = 0; i < ticks.count; i++) {
        double value = ticks.first + i * ticks.step, y = at_y(a, value);
        kni_format_tick(text, sizeof text, &ticks, value);
        kni_buffer_format(out,
                          "<path d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>",
                          LEFT, y, WIDTH - RIGHT, LEFT - 8, y + 3.5, text);
    }
    ticks = kni_ticks_of(a->x_low, a->x_high, 7);
    for (int i = 0; i < ticks.count; i++) {
        double value = ticks.first + i * ticks.step, x = at_x(a, value);
        kni_format_tick(text, sizeof text, &ticks, value);
        kni_buffer_format(
            out, "<path d=\"M%.1f %dv4\"/><text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>", x,
            HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 18, text);
    }
    kni_buffer_format(out, "<path class=\"base\" d=\"M%d %dH%d\"/></g>", LEFT, HEIGHT - BOTTOM,
                      WIDTH - RIGHT);
}

static void draw_line(kni_buffer *out, const axes *a, const kni_point *points, int64_t count,
                      const char *class)
{
    kni_buffer_format(out, "<path class=\"%s\" d=\"M", class);
    for (int64_t i = 0; i < count; i++)
        kni_buffer_format(out, "%s%.1f %.1f", i ? "L" : "", at_x(a, points[i].x), at_y(a, points[i].value));
    kni_buffer_text(out, "\"/>");
}

/* Between the least and the greatest value of each point. */
static void draw_band(kni_buffer *out, const axes *a, const kni_point *points, int64_t count)
{
    kni_buffer_text(out, "<path class=\"band\" d=\"M");
    for (int64_t i = 0; i < count; i++)
        kni_buffer_format(out, "%s%.1f %.1f", i ? "L" : "", at_x(a, points[i].x), at_y(a, points[i].high));
    for (int64_t i = count - 1; i >= 0; i--)
        kni_buffer_format(out, "L%.1f %.1f", at_x(a, points[i].x), at_y(a, points[i].low));
    kni_buffer_text(out, "Z\"/>");
}

static void draw_epochs(kni_buffer *out, const axes *a, const kni_curve *curve, int split)
{
    kni_point points[MOST_POINTS];
    char class[24];
    int64_t count = thinned(&curve->epochs, points);
    snprintf(class, sizeof class, "line %s", kni_record_split_names[split]);
    draw_line(out, a, points, count, class);
    for (int64_t i = 0; i < count && count <= 60; i++)
        kni_buffer_format(out, "<circle class=\"dot %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"/>",
                          kni_record_split_names[split], at_x(a, points[i].x), at_y(a, points[i].value),
                          count > 25 ? "2" : "3");
}

static void draw_best(kni_buffer *out, const axes *a, const kni_record_metric *metric)
{
    const kni_curve *curve = metric->curves[KN_SPLIT_VALID];
    if (metric->watched || !curve || curve->epoch_count < 2) return;
    char text[32];
    kni_record_value(metric, curve->best, text, sizeof text);
    double x = at_x(a, curve->best_step), y = at_y(a, curve->best);
    bool left = x > WIDTH - 120;
    kni_buffer_format(out, "<g class=\"best\"><circle cx=\"%.1f\" cy=\"%.1f\" r=\"6\"/>", x, y);
    kni_buffer_format(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">best %s</text></g>",
                      left ? x - 4 : x + 4, y > TOP + 24 ? y - 11 : y + 20, left ? "end" : "start", text);
}

/* The value of a curve at a step: that of its last point not behind it. */
static void strip_value(kni_buffer *out, const kni_record_metric *metric, int split, double step)
{
    const kni_curve *curve = metric->curves[split];
    if (!curve) return;
    const kni_trail *h = split == KN_SPLIT_TRAIN && curve->steps.count ? &curve->steps : &curve->epochs;
    int64_t low = 0, high = h->count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (h->points[middle].x <= step)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0) return;
    char text[32];
    kni_record_value(metric, h->points[low - 1].value, text, sizeof text);
    kni_buffer_format(out, "\n%s %s", kni_record_split_names[split], text);
}

static void draw_strips(kni_buffer *out, const axes *a, const kni_record_metric *metric)
{
    double width = (double)(WIDTH - LEFT - RIGHT) / STRIPS;
    kni_buffer_text(out, "<g class=\"strips\">");
    for (int i = 0; i < STRIPS; i++) {
        double step = kni_floor(a->x_low + (a->x_high - a->x_low) * (i + 1) / STRIPS);
        kni_buffer_format(out, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"><title>step %.0f",
                          LEFT + i * width, TOP, width, HEIGHT - TOP - BOTTOM, step);
        for (int s = 0; s < KNI_RECORD_SPLITS; s++) strip_value(out, metric, s, step);
        kni_buffer_text(out, "</title></rect>");
    }
    kni_buffer_text(out, "</g>");
}

void kni_report_svg(kni_buffer *out, const kni_record_metric *metric)
{
    axes a = {0};
    if (!find_axes(&a, metric)) {
        kni_buffer_text(out, "<p class=\"none\">no values</p>");
        return;
    }
    kni_buffer_format(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH, HEIGHT);
    kni_html_text(out, metric->name);
    kni_buffer_text(out, "\">");
    draw_grid(out, &a);
    kni_point points[MOST_POINTS], smoothed[MOST_POINTS];
    const kni_curve *train = metric->curves[KN_SPLIT_TRAIN];
    int64_t count = train ? thinned(&train->steps, points) : 0;
    if (count > 1) {
        draw_band(out, &a, points, count);
        draw_line(out, &a, points, count, "raw train");
        kni_points_smooth(points, smoothed, count);
        draw_line(out, &a, smoothed, count, "line train");
    }
    for (int s = 0; s < KNI_RECORD_SPLITS; s++)
        if (metric->curves[s] && metric->curves[s]->epochs.count && !(s == KN_SPLIT_TRAIN && count > 1))
            draw_epochs(out, &a, metric->curves[s], s);
    draw_best(out, &a, metric);
    draw_strips(out, &a, metric);
    kni_buffer_format(out, "<text class=\"unit\" x=\"%d\" y=\"%d\" text-anchor=\"end\">step</text></svg>\n",
                      WIDTH - RIGHT, HEIGHT - 2);
}
