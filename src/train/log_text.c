/* Logs that are text: comma-separated values and JSON lines. */
#include "core/objects.h"
#include "support/failure.h"
#include "support/json.h"
#include "train/log_file.h"
#include "train/render_format.h"
#include "train/render_record.h"
#include <stdlib.h>
#include <string.h>

/* Nine digits give back any f32, and cost a tenth of the search for the shortest text of a double. */
static void log_number(kni_buffer *out, double value) { kni_buffer_format(out, "%.9g", value); }

static kn_renderer make_logger(const kn_renderer_type *type, const char *path, const char *function)
{
    kni_log_file *log = malloc(sizeof *log);
    if (!log) {
        kni_failure_memory(function);
        return NULL;
    }
    if (kni_log_open(log, path, function) == KN_OK) return kn_renderer_make(type, log);
    kni_log_close(log);
    free(log);
    return NULL;
}

static void logger_flush(void *self) { kni_log_flush(self, true); }

static void logger_finish(void *self, kn_run_end end, const char *summary)
{
    (void)end;
    (void)summary;
    kni_log_flush(self, true);
}

static void logger_close(void *self)
{
    kni_log_close(self);
    free(self);
}

/* ---- comma-separated values */

/* A field, quoted where it must be. */
static void csv_text(kni_buffer *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        kni_buffer_text(out, text);
        return;
    }
    kni_buffer_text(out, "\"");
    for (; *text; text++) {
        if (*text == '"') kni_buffer_text(out, "\"");
        kni_buffer_append(out, text, 1);
    }
    kni_buffer_text(out, "\"");
}

/* nan, inf and -inf as other programs read them. */
static void csv_number(kni_buffer *out, double value)
{
    if (value - value == 0)
        log_number(out, value);
    else
        kni_buffer_text(out, value != value ? "nan" : value > 0 ? "inf" : "-inf");
}

static kn_status csv_start(void *self, const kn_run_info *info)
{
    kni_log_file *log = self;
    bool empty;
    kn_status status = kni_log_start(log, info, &empty);
    if (status == KN_OK && empty) {
        kni_buffer_text(&log->text, "time,step,epoch,split,metric,value,mean,kind\n");
        kni_log_flush(log, true);
    }
    return status;
}

static void csv_metric(void *self, const kn_metric_event *event)
{
    kni_log_file *log = self;
    if (event->index < 0) return; /* a text is no number */
    kni_numbers numbers = kni_plain_numbers_begin();
    kni_buffer_format(&log->text, "%.3f,%lld,%lld,%s,", kni_wall_clock(), (long long)event->step,
                      (long long)event->epoch, kni_record_split_name(event->split));
    csv_text(&log->text, event->metric ? event->metric : "");
    kni_buffer_text(&log->text, ",");
    csv_number(&log->text, event->value);
    kni_buffer_text(&log->text, ",");
    csv_number(&log->text, event->mean);
    kni_buffer_text(&log->text, event->epoch_end ? ",epoch\n" : ",step\n");
    kni_plain_numbers_end(numbers);
    kni_log_flush(log, event->epoch_end);
}

static const kn_renderer_type csv_type = {.name = "csv",
                                          .start = csv_start,
                                          .metric = csv_metric,
                                          .finish = logger_finish,
                                          .close = logger_close,
                                          .flush = logger_flush};

kn_renderer kn_logger_csv(const char *path) { return make_logger(&csv_type, path, "kn_logger_csv"); }

/* ---- JSON lines */

static void json_text(kni_buffer *out, const char *name, const char *text)
{
    kni_buffer_format(out, ",\"%s\":", name);
    if (text)
        kni_json_write_text(out, text, strlen(text));
    else
        kni_buffer_text(out, "null");
}

static void json_number(kni_buffer *out, const char *name, double value)
{
    kni_buffer_format(out, ",\"%s\":", name);
    if (value - value == 0)
        log_number(out, value);
    else
        kni_buffer_text(out, "null");
}

static void json_count(kni_buffer *out, const char *name, int64_t value)
{
    kni_buffer_format(out, ",\"%s\":%lld", name, (long long)value);
}

static void json_begin(kni_buffer *out, const char *event)
{
    kni_buffer_format(out, "{\"event\":\"%s\",\"time\":%.3f", event, kni_wall_clock());
}

static kn_status json_start(void *self, const kn_run_info *info)
{
    kni_log_file *log = self;
    bool empty;
    kn_status status = kni_log_start(log, info, &empty);
    if (status) return status;
    kni_numbers numbers = kni_plain_numbers_begin();
    json_begin(&log->text, "start");
    json_text(&log->text, "name", info->name);
    json_text(&log->text, "device", info->device);
    json_count(&log->text, "epochs", info->epochs);
    json_count(&log->text, "params", info->params);
    json_count(&log->text, "step", info->step);
    if (info->evaluates) kni_buffer_text(&log->text, ",\"evaluates\":true");
    kni_buffer_text(&log->text, ",\"metrics\":[");
    for (int32_t i = 0; info->metrics && info->metrics[i]; i++) {
        if (i) kni_buffer_text(&log->text, ",");
        kni_json_write_text(&log->text, info->metrics[i], strlen(info->metrics[i]));
    }
    kni_buffer_text(&log->text, "]}\n");
    kni_plain_numbers_end(numbers);
    kni_log_flush(log, true);
    return KN_OK;
}

static void json_metric(void *self, const kn_metric_event *event)
{
    kni_log_file *log = self;
    kni_numbers numbers = kni_plain_numbers_begin();
    json_begin(&log->text, "metric");
    json_count(&log->text, "step", event->step);
    json_count(&log->text, "epoch", event->epoch);
    json_text(&log->text, "split", kni_record_split_name(event->split));
    json_text(&log->text, "metric", event->metric ? event->metric : "");
    if (event->index < 0)
        json_text(&log->text, "text", event->text);
    else {
        json_number(&log->text, "value", event->value);
        json_number(&log->text, "mean", event->mean);
    }
    kni_buffer_format(&log->text, ",\"kind\":\"%s\"}\n", event->epoch_end ? "epoch" : "step");
    kni_plain_numbers_end(numbers);
    kni_log_flush(log, event->epoch_end);
}

static void json_message(void *self, kn_run_split split, const char *text)
{
    kni_log_file *log = self;
    kni_numbers numbers = kni_plain_numbers_begin();
    json_begin(&log->text, "message");
    json_text(&log->text, "split", kni_record_split_name(split));
    json_text(&log->text, "text", text);
    kni_buffer_text(&log->text, "}\n");
    kni_plain_numbers_end(numbers);
    kni_log_flush(log, false);
}

static void json_finish(void *self, kn_run_end end, const char *summary)
{
    kni_log_file *log = self;
    (void)summary;
    kni_numbers numbers = kni_plain_numbers_begin();
    json_begin(&log->text, "finish");
    json_text(&log->text, "end", kni_run_end_name(end));
    kni_buffer_text(&log->text, "}\n");
    kni_plain_numbers_end(numbers);
    kni_log_flush(log, true);
}

static const kn_renderer_type json_type = {.name = "json lines",
                                           .start = json_start,
                                           .metric = json_metric,
                                           .message = json_message,
                                           .finish = json_finish,
                                           .close = logger_close,
                                           .flush = logger_flush};

kn_renderer kn_logger_json_lines(const char *path)
{
    KNI_NAMED;
    return make_logger(&json_type, path, "kn_logger_json_lines");
}
