/* The page of the report: its style, cards with the best values, plots, the table of metrics and the facts of the run. */
#define _POSIX_C_SOURCE 200809L
#include "train/render_format.h"
#include "train/render_report.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char page_style[] =
    ":root{color-scheme:light "
    "dark;--bg:#f6f5f3;--card:#fff;--ink:#1f1d1a;--soft:#6f6a63;--line:#e6e2dc;--grid:#eeebe6;"
    "--accent:#c2410c;--train:#2563eb;--valid:#ea7a0c;--test:#7c3aed;--good:#15803d;--bad:#b91c1c}"
    "@media(prefers-color-scheme:dark){:root{--bg:#161514;--card:#1f1e1c;--ink:#ece9e4;--soft:#9a948b;--line:"
    "#34312d;"
    "--grid:#2a2825;--accent:#fb923c;--train:#60a5fa;--valid:#fdba4d;--test:#b794f6;--good:#4ade80;--bad:#"
    "f87171}}"
    "*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 "
    "system-ui,-apple-system,"
    "'Segoe UI',Roboto,'Helvetica Neue',sans-serif}main{max-width:1180px;margin:0 auto;padding:40px 24px "
    "64px}"
    "header{display:flex;flex-wrap:wrap;align-items:baseline;gap:6px 14px;margin-bottom:26px}"
    "h1{font-size:30px;line-height:1.2;margin:0;letter-spacing:-.02em}header "
    "p{margin:0;color:var(--soft);flex-basis:100%}"
    ".badge{font-size:13px;font-weight:600;padding:2px 11px;border-radius:99px;border:1px solid currentColor}"
    ".good{color:var(--good)}.bad{color:var(--bad)}.busy{color:var(--accent)}"
    "h2{font-size:17px;margin:34px 0 12px;letter-spacing:-.01em}.card{background:var(--card);border:1px "
    "solid var(--line);"
    "border-radius:12px}.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(190px,1fr));gap:"
    "14px}"
    ".cards .card{padding:14px 18px}.cards "
    "b{display:block;font-size:26px;line-height:1.25;letter-spacing:-.02em;"
    "font-variant-numeric:tabular-nums}.cards span,.cards small{color:var(--soft);font-size:13px}"
    ".plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,500px),1fr));gap:16px}"
    ".plots figure{margin:0;padding:16px 18px 10px}figcaption{display:flex;flex-wrap:wrap;gap:4px "
    "16px;align-items:baseline;"
    "margin-bottom:6px}figcaption b{font-size:16px;margin-right:auto}figcaption "
    "span{font-size:13px;color:var(--soft)}"
    "figcaption "
    "i{display:inline-block;width:14px;height:3px;border-radius:2px;margin-right:6px;vertical-align:middle}"
    "i.train{background:var(--train)}i.valid{background:var(--valid)}i.test{background:var(--test)}"
    "svg{display:block;width:100%;height:auto}svg "
    "text{font-size:11.5px;fill:var(--soft);font-variant-numeric:tabular-nums}"
    ".axis path{stroke:var(--grid);fill:none}.axis "
    "path.base{stroke:var(--line)}path.band{fill:var(--train);opacity:.09}"
    ".raw,.line{fill:none;stroke-linejoin:round;stroke-linecap:round}.raw{stroke-width:1;opacity:.35}.line{"
    "stroke-width:2.2}"
    ".line.train,.raw.train{stroke:var(--train)}.line.valid{stroke:var(--valid)}.line.test{stroke:var(--test)"
    "}"
    ".dot.train{fill:var(--train)}.dot.valid{fill:var(--valid)}.dot.test{fill:var(--test)}.best "
    "circle{fill:none;"
    "stroke:var(--accent);stroke-width:2}.best "
    "text{fill:var(--accent);font-weight:600;paint-order:stroke;stroke:var(--card);stroke-width:4px}.strips "
    "rect{fill:transparent}"
    ".strips "
    "rect:hover{fill:var(--ink);opacity:.07}.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%"
    ";"
    "font-variant-numeric:tabular-nums}th,td{padding:9px 18px;text-align:right;border-bottom:1px solid "
    "var(--line);"
    "white-space:nowrap}th{font-size:13px;font-weight:600;color:var(--soft)}tr:last-child td{border-bottom:0}"
    "th:first-child,td:first-child,th:nth-child(2),td:nth-child(2){text-align:left}td.strong{font-weight:650}"
    ".two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,380px),1fr));gap:16px;align-"
    "items:start}"
    "dl{margin:0;padding:14px 18px;display:grid;grid-template-columns:max-content 1fr;gap:6px "
    "22px}dt{color:var(--soft)}"
    "dd{margin:0;overflow-wrap:anywhere}pre{margin:0;padding:14px 18px;overflow-x:auto;font:13px/1.55 "
    "ui-monospace,"
    "SFMono-Regular,Menlo,Consolas,'DejaVu Sans "
    "Mono',monospace}.none{color:var(--soft)}footer{margin-top:36px;"
    "color:var(--soft);font-size:13px}ol{list-style:none;margin:0;padding:12px "
    "18px;max-height:340px;overflow-y:auto}"
    "li{display:flex;gap:16px;font-size:14px}li span{color:var(--soft);min-width:62px;text-align:right;"
    "font-variant-numeric:tabular-nums}@media print{body{background:#fff}.card{break-inside:avoid}}";

void kni_html_text(kni_buffer *out, const char *text)
{
    for (uint32_t c; (c = kni_utf8_next(&text)) != 0;) {
        const char *escaped = c == '<'    ? "&lt;"
                              : c == '>'  ? "&gt;"
                              : c == '&'  ? "&amp;"
                              : c == '"'  ? "&quot;"
                              : c == '\'' ? "&#39;"
                                          : NULL;
        if (escaped)
            kni_buffer_text(out, escaped);
        else if (c == '\n' || c == '\t' || (c >= 0x20 && (c < 0x7F || c > 0x9F)))
            kni_utf8_append(out, c);
    }
}

static void date_text(char *out, size_t n, double wall)
{
    time_t seconds = (time_t)wall;
    struct tm parts;
    if (!gmtime_r(&seconds, &parts) || strftime(out, n, "%Y-%m-%d %H:%M UTC", &parts) == 0)
        snprintf(out, n, "-");
}

/* How the training stands; an evaluation does not change it. */
static const char *state_name(const kni_record *record, bool running)
{
    return running ? "running" : record->trained ? kni_run_end_name(record->ended) : "evaluated";
}

static void write_header(kni_buffer *out, const kni_record *record, bool running)
{
    char date[48], time[24], count[24];
    date_text(date, sizeof date, record->started);
    kni_format_duration(time, sizeof time, record->before + record->progress.seconds);
    kni_format_count(count, sizeof count, (double)record->params);
    bool bad = record->trained && (record->ended == KN_RUN_FAILED || record->ended == KN_RUN_INTERRUPTED);
    const char *class = running ? "busy" : bad ? "bad" : "good";
    kni_buffer_text(out, "<header><h1>");
    kni_html_text(out, record->name);
    kni_buffer_format(out, "</h1><span class=\"badge %s\">%s</span><p>%s", class, state_name(record, running),
                      date);
    if (*record->device) {
        kni_buffer_text(out, " · ");
        kni_html_text(out, record->device);
    }
    if (record->params) kni_buffer_format(out, " · %s parameters", count);
    kni_buffer_format(out, " · %s</p></header>\n", time);
}

/* What a metric is judged by: validation where there is one. */
static const kni_curve *judged(const kni_record_metric *metric, int *split)
{
    static const int order[KNI_RECORD_SPLITS] = {KN_SPLIT_VALID, KN_SPLIT_TRAIN, KN_SPLIT_TEST};
    for (int i = 0; i < KNI_RECORD_SPLITS; i++) {
        *split = order[i];
        const kni_curve *curve = metric->curves[order[i]];
        if (curve && curve->epoch_count) return curve;
    }
    return NULL;
}

static void write_cards(kni_buffer *out, const kni_record *record)
{
    int shown = 0;
    kni_buffer_text(out, "<section class=\"cards\">");
    for (int32_t i = 0; i < record->metric_count && shown < 8; i++) {
        int split;
        char text[32];
        const kni_curve *curve = judged(&record->metrics[i], &split);
        if (!curve || split != KN_SPLIT_VALID || record->metrics[i].watched) continue;
        kni_record_value(&record->metrics[i], curve->best, text, sizeof text);
        kni_buffer_text(out, "<div class=\"card\"><span>Best ");
        kni_html_text(out, record->metrics[i].name);
        kni_buffer_format(out, "</span><b>%s</b><small>%s, epoch %lld", text, kni_record_split_names[split],
                          (long long)curve->best_epoch);
        kni_record_value(&record->metrics[i], curve->last_epoch, text, sizeof text);
        kni_buffer_format(out, " · last %s</small></div>", text);
        shown++;
    }
    const kn_progress_event *p = &record->progress;
    char speed[24], step[24];
    kni_buffer_format(
        out, "<div class=\"card\"><span>Epochs</span><b>%lld</b><small>of %lld planned</small></div>",
        (long long)kni_record_epochs_done(record), (long long)record->epochs);
    kni_format_count(step, sizeof step, (double)p->step);
    kni_format_count(speed, sizeof speed, kni_record_speed(record));
    kni_buffer_format(out, "<div class=\"card\"><span>Steps</span><b>%s</b><small>", step);
    if (kni_record_speed(record) > 0) kni_buffer_format(out, "%s items/s in training", speed);
    kni_buffer_text(out, "</small></div></section>\n");
}

static void write_plots(kni_buffer *out, const kni_record *record)
{
    kni_buffer_text(out, "<h2>Curves</h2><section class=\"plots\">\n");
    for (int32_t i = 0; i < record->metric_count; i++) {
        const kni_record_metric *metric = &record->metrics[i];
        kni_buffer_text(out, "<figure class=\"card\"><figcaption><b>");
        kni_html_text(out, metric->name);
        kni_buffer_text(out, "</b>");
        for (int s = 0; s < KNI_RECORD_SPLITS; s++)
            if (metric->curves[s])
                kni_buffer_format(out, "<span><i class=\"%s\"></i>%s</span>", kni_record_split_names[s],
                                  kni_record_split_names[s]);
        kni_buffer_text(out, "</figcaption>");
        kni_report_svg(out, metric);
        kni_buffer_text(out, "</figure>\n");
    }
    kni_buffer_text(out, "</section>\n");
}

static void write_table(kni_buffer *out, const kni_record *record)
{
    kni_buffer_text(
        out, "<h2>Metrics</h2><div class=\"card scroll\"><table><tr><th>metric</th><th>split</th><th>first"
             "</th><th>last</th><th>best</th><th>epoch</th></tr>\n");
    for (int32_t i = 0; i < record->metric_count; i++)
        for (int s = 0; s < KNI_RECORD_SPLITS; s++) {
            const kni_curve *c = record->metrics[i].curves[s];
            if (!c) continue;
            const kni_record_metric *m = &record->metrics[i];
            char first[32] = "-", last[32] = "-", best[32] = "-", epoch[24] = "-";
            kni_buffer_text(out, "<tr><td>");
            kni_html_text(out, m->name);
            if (c->epoch_count) {
                kni_record_value(m, c->first_epoch, first, sizeof first);
                kni_record_value(m, c->last_epoch, last, sizeof last);
            }
            if (c->epoch_count && !m->watched) {
                kni_record_value(m, c->best, best, sizeof best);
                snprintf(epoch, sizeof epoch, "%lld", (long long)c->best_epoch);
            }
            kni_buffer_format(
                out, "</td><td>%s</td><td>%s</td><td>%s</td><td class=\"strong\">%s</td><td>%s</td></tr>\n",
                kni_record_split_names[s], first, last, best, epoch);
        }
    kni_buffer_text(out, "</table></div>\n");
}

static void fact(kni_buffer *out, const char *name, const char *value)
{
    if (!*value) return;
    kni_buffer_format(out, "<dt>%s</dt><dd>", name);
    kni_html_text(out, value);
    kni_buffer_text(out, "</dd>");
}

static void write_facts(kni_buffer *out, const kni_record *record, bool running)
{
    char text[64];
    kni_buffer_text(out, "<div class=\"two\"><section><h2>Run</h2><dl class=\"card\">");
    fact(out, "State", state_name(record, running));
    fact(out, "Evaluated", record->evaluated);
    fact(out, "Device", record->device);
    snprintf(text, sizeof text, "%lld", (long long)record->params);
    fact(out, "Parameters", record->params ? text : "");
    date_text(text, sizeof text, record->started);
    fact(out, "Started", text);
    date_text(text, sizeof text, record->trained ? record->ended_at : kni_wall_clock());
    fact(out, record->trained ? "Ended" : "Written", text);
    kni_format_duration(text, sizeof text, record->before + record->progress.seconds);
    fact(out, "Time", text);
    snprintf(text, sizeof text, "%lld", (long long)record->progress.step);
    fact(out, "Steps", text);
    snprintf(text, sizeof text, "%lld", (long long)record->first_step);
    fact(out, "Goes on from step", record->first_step ? text : "");
    fact(out, "Folder", record->folder);
    for (int32_t i = 0; i < record->text_count; i++) {
        kni_buffer_text(out, "<dt>");
        kni_html_text(out, record->texts[i].name);
        kni_buffer_format(out, " (%s)</dt><dd>", kni_record_split_name(record->texts[i].split));
        kni_html_text(out, record->texts[i].text);
        kni_buffer_text(out, "</dd>");
    }
    kni_buffer_text(out, "</dl></section>\n");
    if (*record->model) {
        kni_buffer_text(out, "<section><h2>Model</h2><pre class=\"card\">");
        kni_html_text(out, record->model);
        kni_buffer_text(out, "</pre></section>");
    }
    kni_buffer_text(out, "</div>\n");
}

static void write_messages(kni_buffer *out, const kni_record *record)
{
    int64_t held = record->message_total < KNI_MESSAGES ? record->message_total : KNI_MESSAGES;
    if (held == 0) return;
    kni_buffer_text(out, "<h2>Messages</h2><ol class=\"card\">\n");
    for (int64_t i = record->message_total - held; i < record->message_total; i++) {
        char time[24];
        const kni_record_message *m = &record->messages[i % KNI_MESSAGES];
        kni_format_duration(time, sizeof time, m->seconds);
        kni_buffer_format(out, "<li><span>%s</span>", time);
        kni_html_text(out, m->text);
        kni_buffer_text(out, "</li>\n");
    }
    kni_buffer_text(out, "</ol>\n");
}

void kni_report_page(kni_buffer *out, const kni_record *record, bool running)
{
    kni_buffer_text(
        out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
             "content=\"width=device-width,initial-scale=1\"><title>");
    kni_html_text(out, record->name);
    kni_buffer_text(out, " – Kiln</title>\n<style>");
    kni_buffer_text(out, page_style);
    kni_buffer_text(out, "</style></head>\n<body><main>\n");
    write_header(out, record, running);
    write_cards(out, record);
    write_plots(out, record);
    write_table(out, record);
    write_facts(out, record, running);
    write_messages(out, record);
    kni_buffer_text(out, "<footer>Written by Kiln. Point at a plot to read its values.</footer></main>\n");
    kni_report_data_write(out, record);
    kni_buffer_text(out, "</body></html>\n");
}
