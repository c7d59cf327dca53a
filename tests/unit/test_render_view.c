/* What renderers remember and how they lay it out: bounded curves, numbers, texts that cannot steer a terminal, the dashboard on
   canvases of many sizes with and without UTF-8, the summary. */
#include "support/check.h"
#include "train/render_format.h"
#include "train/render_play.h"
#include "train/render_plot.h"
#include "train/render_record.h"
#include "train/render_report.h"
#include "train/render_summary.h"
#include "train/render_view.h"
#include <stdlib.h>

/* ---- curves in bounded memory */

static void trails(void)
{
    kni_trail t = {0};
    for (int i = 0; i < 1000000; i++) kni_trail_add(&t, i, i % 2 ? 3 : 1);
    CHECK(t.count <= KNI_TRAIL_POINTS && t.count >= KNI_TRAIL_POINTS / 2);
    CHECK(t.merge == 256 && t.capacity == KNI_TRAIL_POINTS);
    bool good = true;
    for (int64_t i = 0; i < t.count; i++)
        good = good && t.points[i].value == 2 && t.points[i].low == 1 && t.points[i].high == 3 &&
               t.points[i].x == (double)((i + 1) * 256 - 1);
    CHECK(good); /* each point is the mean of 256 steps and ends where they end */
    kni_trail_free(&t);

    kni_point in[101], out[101];
    for (int i = 0; i < 101; i++) in[i] = (kni_point){i, i, i, i};
    kni_points_smooth(in, out, 101);
    good = true;
    for (int i = 0; i < 101; i++) good = good && out[i].value == i && out[i].x == i;
    CHECK(good); /* a moving mean without lag leaves a straight line where it is */
}

static kn_metric_event event_of(int index, kn_run_split split, bool end, int64_t step, int64_t epoch,
                                double value)
{
    return (kn_metric_event){play_metrics[index], index, split, end, step, epoch, value, value, NULL};
}

static void records(void)
{
    kni_record *r = calloc(1, sizeof *r);
    kn_run_info info = {.name = "n", .epochs = 3, .metrics = play_metrics, .higher_is_better = play_higher};
    CHECK(kni_record_start(r, &info) == KN_OK && r->metric_count == 4);
    const double loss[] = {3, 1, 2}, accuracy[] = {0.5, 0.9, 0.7};
    for (int epoch = 1; epoch <= 3; epoch++) {
        for (int s = 1; s <= 300; s++) {
            kn_metric_event e =
                event_of(0, KN_SPLIT_TRAIN, false, (epoch - 1) * 300 + s, epoch, s == 7 ? 0.0 / 0.0 : s);
            kni_record_metric_event(r, &e);
        }
        kn_metric_event e = event_of(0, KN_SPLIT_VALID, true, epoch * 300, epoch, loss[epoch - 1]);
        kni_record_metric_event(r, &e);
        e = event_of(1, KN_SPLIT_VALID, true, epoch * 300, epoch, accuracy[epoch - 1]);
        kni_record_metric_event(r, &e);
    }
    const kni_curve *train = r->metrics[0].curves[0], *valid = r->metrics[0].curves[1];
    CHECK(train->not_finite == 3 && train->steps.count == 897);
    static kni_point recent[KNI_RECENT_POINTS];
    CHECK(kni_curve_recent(train, recent) == KNI_RECENT_POINTS && recent[KNI_RECENT_POINTS - 1].x == 900);
    CHECK(valid->best == 1 && valid->best_epoch == 2 && valid->best_step == 600 && valid->last_epoch == 2);
    CHECK(r->metrics[1].curves[1]->best == 0.9 && r->metrics[1].curves[1]->first_epoch == 0.5);
    for (int i = 0; i < 3 * KNI_MESSAGES; i++) kni_record_message_line(r, KN_SPLIT_TRAIN, "m");
    CHECK(r->message_total ==
          3 * KNI_MESSAGES); /* the ring holds the newest; the sanitizer would see a leak */
    kn_progress_event p = {.split = KN_SPLIT_TRAIN,
                           .epoch = 2,
                           .epochs = 4,
                           .items = 50,
                           .items_total = 100,
                           .items_per_second = 10};
    kni_record_progress(r, &p);
    CHECK(kni_record_epoch_part(r) == 0.5 && kni_record_run_part(r) == 0.375 &&
          kni_record_epoch_left(r) == 5);
    p.items_total = p.batches_total = -1;
    kni_record_progress(r, &p);
    CHECK(kni_record_epoch_part(r) == -1 && kni_record_epoch_left(r) == -1);
    kni_record_free(r);
    free(r);
}

/* ---- texts */

static void check_text(const char *got, const char *want, int line)
{
    if (!check_that(strcmp(got, want) == 0, want, __FILE__, line)) printf("  got '%s'\n", got);
}

static void numbers(void)
{
    static const struct {
        double value;
        const char *number, *count, *duration;
    } rows[] = {{0, "0", "0", "0:00"},
                {0.12345, "0.1235", "0.1235", "0:00"},
                {59.6, "59.6", "59.6", "1:00"},
                {3599, "3599", "3.60k", "59:59"},
                {3723, "3723", "3.72k", "1:02:03"},
                {1.5e-5, "1.50e-05", "1.5e-05", "0:00"},
                {999999, "999999", "1.00M", "11d 13:46"},
                {44426, "44426", "44.4k", "12:20:26"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[40];
        kni_format_number(text, sizeof text, rows[i].value);
        check_text(text, rows[i].number, __LINE__);
        kni_format_count(text, sizeof text, rows[i].value);
        check_text(text, rows[i].count, __LINE__);
        kni_format_duration(text, sizeof text, rows[i].value);
        check_text(text, rows[i].duration, __LINE__);
    }
    char text[40];
    kni_format_duration(text, sizeof text, -1);
    check_text(text, "-:--", __LINE__);
    kni_ticks t = kni_ticks_of(0.03, 0.97, 5);
    CHECK(t.count == 4 && t.step == 0.2 && t.digits == 1);
    kni_format_tick(text, sizeof text, &t, t.first);
    check_text(text, "0.2", __LINE__);
    t = kni_ticks_of(-1e-9, 1e-9, 4);
    CHECK(t.count == 5);
    CHECK(kni_ticks_of(1, 1, 4).count == 0 && kni_ticks_of(-1e308, 1e308, 4).count == 0);
}

static const char *row_of(const kni_canvas *c, int y)
{
    static kni_buffer text;
    kni_buffer_clear(&text);
    kni_canvas_row(c, y, &text);
    return kni_buffer_string(&text);
}

static void canvases(void)
{
    kni_canvas c = {0};
    CHECK(kni_canvas_reset(&c, 12, 3, true));
    kni_canvas_text(&c, 0, 0, 12, KNI_STYLE_NORMAL,
                    "a\033[2Jb\nc\xC2\x9B"
                    "d");
    check_text(row_of(&c, 0), "a[2Jbcd", __LINE__); /* controls of both kinds are gone */
    CHECK(kni_canvas_text(&c, 0, 1, 6, KNI_STYLE_NORMAL, "0123456789") == 6);
    check_text(row_of(&c, 1), "01234…", __LINE__);
    CHECK(kni_canvas_text(&c, 9, 2, 99, KNI_STYLE_NORMAL, "\xE7\xAA\xAF\xE7\xAA\xAF") ==
          3); /* two columns each */
    check_text(row_of(&c, 2), "         \xE7\xAA\xAF…", __LINE__);
    kni_canvas_text(&c, 0, 2, 9, KNI_STYLE_NORMAL, "\xFF\xC3x");
    CHECK(strncmp(row_of(&c, 2), "\xEF\xBF\xBD\xEF\xBF\xBDx", 7) == 0);
    CHECK(kni_canvas_text(&c, -1, 0, 5, KNI_STYLE_NORMAL, "x") == 0 &&
          kni_canvas_text(&c, 0, 9, 5, KNI_STYLE_NORMAL, "x") == 0);
    CHECK(kni_canvas_reset(&c, 8, 3, false));
    kni_canvas_box(&c, (kni_rect){0, 0, 8, 3}, "é");
    check_text(row_of(&c, 0), "+- ? --+", __LINE__);
    check_text(row_of(&c, 1), "|      |", __LINE__);
    kni_canvas_bar(&c, 1, 1, 4, 0.625);
    check_text(row_of(&c, 1), "|##>.  |", __LINE__);
    kni_canvas_free(&c);
    kni_buffer out = {0};
    kni_point line[] = {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 7, 7, 7}};
    kni_sparkline(&out, line, 4, 40, true);
    check_text(kni_buffer_string(&out), "▁▂▃█", __LINE__);
    kni_buffer_free(&out);
}

/* A straight line from corner to corner, dot by dot. */
static void plots(void)
{
    kni_canvas c = {0};
    kni_canvas_reset(&c, 4, 2, true);
    kni_point line[8];
    for (int i = 0; i < 8; i++) line[i] = (kni_point){i, i, i, i};
    kni_plot plot = {.series = {{line, 8, KNI_STYLE_TRAIN, false}}, .count = 1};
    kni_plot_draw(&c, (kni_rect){0, 0, 4, 2}, &plot);
    check_text(row_of(&c, 0), "  ⡠⠊", __LINE__);
    check_text(row_of(&c, 1), "⡠⠊", __LINE__);
    /* With axes: the line below the plot, its ticks under it. */
    kni_canvas_reset(&c, 40, 10, true);
    kni_plot_draw(&c, (kni_rect){0, 0, 40, 10}, &plot);
    check_text(row_of(&c, 7), "0┤⠤⠒⠉⠁┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈", __LINE__);
    check_text(row_of(&c, 8), " ╰┬─────────────────────────┬──────────", __LINE__);
    check_text(row_of(&c, 9), "  0                         5", __LINE__);
    kni_canvas_free(&c);
}

/* ---- the whole dashboard */

typedef struct shown {
    kni_record record;
    kni_view view;
    kni_canvas canvas;
} shown;

static bool has(const kni_canvas *c, const char *word)
{
    for (int y = 0; y < c->height; y++)
        if (strstr(row_of(c, y), word)) return true;
    return false;
}

static int braille_cells(const kni_canvas *c)
{
    int count = 0;
    for (int64_t i = 0; i < (int64_t)c->width * c->height; i++)
        count += c->cells[i].character > 0x2800 && c->cells[i].character < 0x2900;
    return count;
}

static kn_status keep_start(void *self, const kn_run_info *info)
{
    return kni_record_start(&((shown *)self)->record, info);
}
static void keep_metric(void *self, const kn_metric_event *e)
{
    kni_record_metric_event(&((shown *)self)->record, e);
}
static void keep_progress(void *self, const kn_progress_event *e)
{
    kni_record_progress(&((shown *)self)->record, e);
}
static void keep_message(void *self, kn_run_split split, const char *text)
{
    kni_record_message_line(&((shown *)self)->record, split, text);
}

static void draw(shown *s, int width, int height, bool utf8)
{
    kni_canvas_reset(&s->canvas, width, height, utf8);
    kni_view_draw(&s->canvas, &s->record, &s->view);
}

static void dashboards(shown *s)
{
    draw(s, 80, 24, true);
    CHECK(has(&s->canvas, "mnist") && has(&s->canvas, "valid · epoch 6/6") && has(&s->canvas, "loss"));
    CHECK(has(&s->canvas, "● train") && has(&s->canvas, "● valid") && has(&s->canvas, "full history"));
    CHECK(has(&s->canvas, "accuracy 98") && has(&s->canvas, "epoch-6.safetensors") && has(&s->canvas, "ETA"));
    CHECK(has(&s->canvas, "44.4k params · lr") && has(&s->canvas, "step 600") && has(&s->canvas, "h help"));
    CHECK(braille_cells(&s->canvas) > 60);
    draw(s, 140, 40, true);
    CHECK(has(&s->canvas, "min 0.0") && has(&s->canvas, "conv2d 6 -> 16") &&
          has(&s->canvas, "gradient norm") && braille_cells(&s->canvas) > 100);
    CHECK(has(&s->canvas,
              " accuracy     98.50 %  97.51 %  97.51 %")); /* of training, of validation, the best */
    s->view.metric = 1;
    s->view.recent = s->view.smooth = s->view.logarithmic = true;
    draw(s, 140, 40, true);
    CHECK(has(&s->canvas, "╭─ accuracy ─") && has(&s->canvas, "recent · log · smooth"));
    s->view.recent = s->view.smooth = s->view.logarithmic = false;
    s->view.popup = KNI_POPUP_QUIT;
    draw(s, 80, 24, true);
    CHECK(has(&s->canvas, "stop the run?") && has(&s->canvas, "stop after this step: save and leave"));
    s->view.popup = KNI_POPUP_HELP;
    draw(s, 80, 24, true);
    CHECK(has(&s->canvas, "logarithmic axis") && has(&s->canvas, "choose the metric"));
    s->view.popup = KNI_POPUP_NONE;
    s->view.scroll = 1000;
    draw(s, 80, 24, true);
    CHECK(s->view.scroll == 4 &&
          has(&s->canvas, "epoch-1.safetensors")); /* six lines, two of them in sight */
    /* Without UTF-8 every cell is a plain character. */
    s->view.metric = 0;
    draw(s, 100, 30, false);
    bool plain = true;
    for (int64_t i = 0; i < 3000; i++)
        plain = plain && s->canvas.cells[i].character >= ' ' && s->canvas.cells[i].character < 127;
    CHECK(plain && has(&s->canvas, "+- loss -") && has(&s->canvas, "* valid"));
    /* Any size draws without leaving the canvas; the sanitizer watches. */
    for (int width = 0; width <= 210; width += width < 30 ? 1 : 20)
        for (int height = 0; height <= 60; height += height < 26 ? 1 : 9)
            for (int popup = 0; popup <= 2; popup++) {
                s->view.popup = (kni_popup)popup;
                draw(s, width, height, (width + height) % 2);
            }
    CHECK(s->canvas.width == 210 || s->canvas.width > 180);
}

static void summaries(shown *s)
{
    kni_buffer out = {0};
    kni_summary_write(&out, &s->record, KN_RUN_STOPPED_EARLY, (kni_summary_style){true, false, 120});
    const char *text = kni_buffer_string(&out);
    CHECK(strncmp(text, "mnist: stopped early after epoch 6 of 6, step 600, ", 51) == 0);
    CHECK(strstr(text, "  metric         split       first       last       best  epoch\n") != NULL);
    CHECK(strstr(text, "\n  accuracy       valid ") && strstr(text, "█") && !strchr(text, '\033'));
    kni_buffer_clear(&out);
    kni_summary_write(&out, &s->record, KN_RUN_FINISHED, (kni_summary_style){false, false, 40});
    bool ascii = true;
    for (size_t i = 0; i < out.length; i++) ascii = ascii && (unsigned char)out.data[i] < 127;
    CHECK(ascii);
    kni_buffer_free(&out);
}

/* The lines of a table that begin with these words. */
static bool has_line(const char *text, const char *line)
{
    char found[200];
    for (const char *at = text; at; at = strchr(at + 1, '\n')) {
        size_t n = 0;
        /* Columns are compared without the number of spaces between them. */
        for (const char *p = at + (*at == '\n'); *p && *p != '\n' && n < sizeof found - 1; p++)
            if (*p != ' ' || (n && found[n - 1] != ' ')) found[n++] = *p;
        found[n] = 0;
        if (!strncmp(found, line, strlen(line))) return true;
    }
    printf("  no line '%s' in\n%s\n", line, text);
    return false;
}

/* The table at the end of a run that was interrupted in its third epoch after its loss became NaN. */
static void ends(void)
{
    static const char *const metrics[] = {"loss", "accuracy", "learning_rate", NULL};
    static const bool higher[] = {false, true, false};
    int64_t done = 0;
    kni_record *r = calloc(1, sizeof *r);
    kn_run_info info = {
        .name = "n", .epochs = 3, .metrics = metrics, .higher_is_better = higher, .epochs_done = &done};
    CHECK(kni_record_start(r, &info) == KN_OK);
    for (done = 1; done <= 2; done++) {
        double nan = 0.0 / 0.0, values[] = {done == 1 ? 0.5 : nan, 0.25 * (double)done, 0.1};
        for (int m = 0; m < 3; m++) {
            char text[32];
            snprintf(text, sizeof text, m == 1 ? "%.2f %%" : "%.4g", values[m] * (m == 1 ? 100 : 1));
            kn_metric_event e = {metrics[m], m, KN_SPLIT_TRAIN, true, done, done, values[m], values[m], text};
            kni_record_metric_event(r, &e);
        }
        /* 100 items a second in training, 1000 in validation. */
        kn_progress_event p = {
            .split = KN_SPLIT_TRAIN, .epoch = done, .epochs = 3, .items = 50, .batches = 1};
        p.items_per_second = 100;
        kni_record_progress(r, &p);
        p.split = KN_SPLIT_VALID;
        p.items_per_second = 1000;
        kni_record_progress(r, &p);
    }
    done = 2;
    r->progress.epoch = 3;
    CHECK(kni_record_speed(r) == 100);
    kni_buffer out = {0};
    kni_summary_write(&out, r, KN_RUN_INTERRUPTED, (kni_summary_style){false, false, 40});
    CHECK(has_line(out.data, "n: interrupted after epoch 2 of 3, "));
    CHECK(has_line(out.data, "loss train 0.5 - 0.5 1"));
    CHECK(has_line(out.data, "accuracy train 25.00 % 50.00 % 50.00 % 2"));
    CHECK(has_line(out.data, "learning_rate train 0.1 0.1 - -"));
    kni_buffer_clear(&out);
    kni_report_page(&out, r, true);
    CHECK(strstr(out.data, "100 items/s in training") && strstr(out.data, "\"last\":null"));
    CHECK(strstr(out.data, "<td>25.00 %</td><td>50.00 %</td>") != NULL);
    kni_buffer_clear(&out);
    r->evaluates = true;
    kni_summary_write(&out, r, KN_RUN_FINISHED, (kni_summary_style){false, false, 40});
    CHECK(has_line(out.data, "n: evaluation finished, epoch 2, "));
    kni_buffer_free(&out);
    kni_record_free(r);
    free(r);
}

int main(void)
{
    static const kn_renderer_type keep = {.name = "keep",
                                          .start = keep_start,
                                          .metric = keep_metric,
                                          .progress = keep_progress,
                                          .message = keep_message};
    trails();
    records();
    numbers();
    canvases();
    plots();
    ends();
    shown *s = calloc(1, sizeof *s);
    draw(s, 0, 0, true);
    kn_renderer renderer = kn_renderer_make(&keep, s);
    play p = {.epochs = 6, .batches = 100, .batch = 64, .first_epoch = 1};
    CHECK(play_run(&renderer, 1, &p) == KN_RUN_FINISHED);
    dashboards(s);
    kn_renderer_free(renderer);
    summaries(s);
    kni_record_free(&s->record);
    kni_canvas_free(&s->canvas);
    free(s);
    return check_report();
}
