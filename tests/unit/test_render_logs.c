/* Logs of a run: the exact text of CSV and JSON lines, the bytes of TensorBoard's records, what happens on resume and with paths
   that cannot be written, and the HTML report. */
#define _GNU_SOURCE
#include "support/buffer.h"
#include "support/check.h"
#include "support/file.h"
#include "train/render_play.h"
#include <kn/train/renderer.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[256];

static const char *path_in(const char *name)
{
    static char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* The file's text; the numbers of time are cut out so that it can be compared. */
static char *text_of(const char *name, const char *before_time)
{
    static char out[1 << 16];
    kni_buffer file = {0};
    out[0] = 0;
    if (!CHECK(kni_file_read(path_in(name), sizeof out - 1, &file) == KN_OK)) return out;
    const char *p = kni_buffer_string(&file);
    size_t n = 0, skip = strlen(before_time);
    bool line_start = true;
    while (*p) {
        bool here = skip ? strncmp(p, before_time, skip) == 0 : line_start && *p >= '0' && *p <= '9';
        for (size_t i = 0; here && i < skip; i++) out[n++] = *p++;
        while (here && ((*p >= '0' && *p <= '9') || *p == '.')) p++;
        if (here) out[n++] = 'T';
        line_start = *p == '\n';
        if (*p) out[n++] = *p++;
    }
    out[n] = 0;
    kni_buffer_free(&file);
    return out;
}

static const char *const names[] = {"loss", "a,\"b\"", NULL};

static void begin(kn_renderer r, int64_t step)
{
    kn_run_info info = {
        .name = "tiny", .device = "cpu", .epochs = 2, .params = 10, .step = step, .metrics = names};
    CHECK(play_inside(r)->type->start(play_inside(r)->self, &info) == KN_OK);
}

static void tell(kn_renderer r, int index, kn_run_split split, bool end, int64_t step, int64_t epoch,
                 double value)
{
    kn_metric_event e = {
        index < 0 ? "note" : names[index], index, split, end, step, epoch, value, value / 2, "text"};
    play_inside(r)->type->metric(play_inside(r)->self, &e);
}

static void end(kn_renderer r)
{
    play_inside(r)->type->finish(play_inside(r)->self, KN_RUN_FINISHED, "");
    kn_renderer_free(r);
}

static void csv(void)
{
    static const char want[] = "time,step,epoch,split,metric,value,mean,kind\n"
                               "T,1,1,train,loss,0.5,0.25,step\n"
                               "T,1,1,train,\"a,\"\"b\"\"\",nan,nan,step\n"
                               "T,1,1,valid,loss,1.25e-05,6.25e-06,epoch\n"
                               "T,2,1,test,loss,-inf,-inf,epoch\n";
    kn_renderer r = kn_logger_csv(path_in("made/here/m.csv"));
    if (!CHECK(r != NULL)) return;
    begin(r, 0);
    tell(r, 0, KN_SPLIT_TRAIN, false, 1, 1, 0.5);
    tell(r, 1, KN_SPLIT_TRAIN, false, 1, 1, NAN);
    tell(r, -1, KN_SPLIT_TRAIN, false, 1, 1, 0); /* a text is no row */
    tell(r, 0, KN_SPLIT_VALID, true, 1, 1, 1.25e-5);
    tell(r, 0, KN_SPLIT_TEST, true, 2, 1, -INFINITY);
    CHECK(strcmp(text_of("made/here/m.csv", ""), want) == 0); /* the end of an epoch is on disk at once */
    end(r);
    r = kn_logger_csv(path_in("made/here/m.csv"));
    begin(r, 7);
    tell(r, 0, KN_SPLIT_TRAIN, false, 8, 2, 4);
    end(r);
    char more[1024];
    snprintf(more, sizeof more, "%sT,8,2,train,loss,4,2,step\n", want);
    CHECK(strcmp(text_of("made/here/m.csv", ""), more) ==
          0); /* a run that goes on appends, without a second head */
    r = kn_logger_csv(path_in("made/here/m.csv"));
    begin(r, 0);
    begin(r, 0); /* the same logger again, as an evaluation after a fit does */
    end(r);
    CHECK(strcmp(text_of("made/here/m.csv", ""), "time,step,epoch,split,metric,value,mean,kind\n") == 0);
    CHECK(strcmp(text_of("made/here/m.csv.old", ""), more) == 0); /* a new run moves the old file aside */
}

static void json_lines(void)
{
    static const char want[] =
        "{\"event\":\"start\",\"time\":T,\"name\":\"tiny\",\"device\":\"cpu\",\"epochs\":2,\"params\":10,"
        "\"step\":0,"
        "\"metrics\":[\"loss\",\"a,\\\"b\\\"\"]}\n"
        "{\"event\":\"metric\",\"time\":T,\"step\":3,\"epoch\":1,\"split\":\"train\",\"metric\":\"loss\","
        "\"value\":0.75,"
        "\"mean\":0.375,\"kind\":\"step\"}\n"
        "{\"event\":\"metric\",\"time\":T,\"step\":3,\"epoch\":1,\"split\":\"valid\",\"metric\":\"a,"
        "\\\"b\\\"\",\"value\":null,"
        "\"mean\":null,\"kind\":\"epoch\"}\n"
        "{\"event\":\"metric\",\"time\":T,\"step\":3,\"epoch\":1,\"split\":\"train\",\"metric\":\"note\","
        "\"text\":\"text\","
        "\"kind\":\"step\"}\n"
        "{\"event\":\"message\",\"time\":T,\"split\":\"train\",\"text\":\"saved \\\"x\\\"\"}\n"
        "{\"event\":\"finish\",\"time\":T,\"end\":\"finished\"}\n";
    kn_renderer r = kn_logger_json_lines(path_in("m.jsonl"));
    if (!CHECK(r != NULL)) return;
    begin(r, 0);
    tell(r, 0, KN_SPLIT_TRAIN, false, 3, 1, 0.75);
    tell(r, 1, KN_SPLIT_VALID, true, 3, 1, NAN);
    tell(r, -1, KN_SPLIT_TRAIN, false, 3, 1, 0);
    play_inside(r)->type->message(play_inside(r)->self, KN_SPLIT_TRAIN, "saved \"x\"");
    end(r);
    if (!CHECK(strcmp(text_of("m.jsonl", "\"time\":"), want) == 0)) puts(text_of("m.jsonl", "\"time\":"));
}

/* ---- TensorBoard: the records are read back byte by byte */

static uint32_t slow_crc32c(const unsigned char *p, size_t n)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < n; i++)
        for (int bit = 0; bit < 8; bit++) {
            uint32_t in = (p[i] >> bit ^ crc) & 1;
            crc = crc >> 1 ^ (in ? 0x82F63B78u : 0);
        }
    return ~crc;
}

static uint64_t little(const unsigned char *p, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static bool check_matches(const unsigned char *data, size_t n, const unsigned char *check)
{
    uint32_t crc = slow_crc32c(data, n);
    return (uint32_t)little(check, 4) == (uint32_t)((crc >> 15 | crc << 17) + 0xA282EAD8u);
}

/* The event without its wall time (field 1: key 0x09 and eight bytes) equals the bytes. */
static bool event_is(const unsigned char **p, const unsigned char *file_end, const char *bytes, size_t n)
{
    const unsigned char *record = *p;
    if (file_end - record < 12) return false;
    size_t length = (size_t)little(record, 8);
    if (!check_matches(record, 8, record + 8) || length < 9 || length > (size_t)(file_end - record) - 16)
        return false;
    const unsigned char *event = record + 12;
    *p = event + length + 4;
    return check_matches(event, length, event + length) && event[0] == 0x09 && length - 9 == n &&
           memcmp(event + 9, bytes, n) == 0;
}
#define EVENT(bytes) CHECK(event_is(&p, file_end, bytes, sizeof bytes - 1))

static void tensorboard(void)
{
    CHECK(slow_crc32c((const unsigned char *)"123456789", 9) ==
          0xE3069283u); /* the published check of CRC-32C */
    kn_renderer r = kn_logger_tensorboard(path_in("events"));
    if (!CHECK(r != NULL)) return;
    begin(r, 300);
    tell(r, 0, KN_SPLIT_TRAIN, false, 301, 1, 0.5);
    tell(r, 0, KN_SPLIT_VALID, false, 301, 1, 9); /* running values of validation are not drawn */
    tell(r, 0, KN_SPLIT_TRAIN, true, 301, 1, 1);
    tell(r, 0, KN_SPLIT_VALID, true, 301, 1, -2);
    end(r);
    kni_folder list = {0};
    CHECK(kni_folder_read(&list, path_in("events")) == KN_OK && list.count == 1);
    CHECK(strncmp(list.names[0], "events.out.tfevents.", 20) == 0);
    char name[256];
    kni_buffer file = {0};
    snprintf(name, sizeof name, "events/%.200s", list.names[0]);
    CHECK(kni_file_read(path_in(name), 0, &file) == KN_OK);
    const unsigned char *p = (const unsigned char *)file.data, *file_end = p + file.length;
    EVENT("\x1a\x0d"
          "brain.Event:2");
    EVENT("\x10\xad\x02\x3a\x02\x08\x01"); /* step 301: a session starts, later points of an old one go */
    EVENT("\x10\xad\x02\x2a\x13\x0a\x11\x0a\x0a"
          "loss/train\x15\x00\x00\x00\x3f");
    EVENT("\x10\xad\x02\x2a\x19\x0a\x17\x0a\x10"
          "loss/train_epoch\x15\x00\x00\x80\x3f");
    EVENT("\x10\xad\x02\x2a\x13\x0a\x11\x0a\x0a"
          "loss/valid\x15\x00\x00\x00\xc0");
    CHECK(p == file_end);
    kni_buffer_free(&file);
    kni_folder_free(&list);
}

/* ---- the report */

static int count_of(const char *text, const char *word)
{
    int count = 0;
    for (; (text = strstr(text, word)) != NULL; text++) count++;
    return count;
}

static void report(void)
{
    kni_buffer page = {0};
    kn_renderer r = kn_report_html(path_in("r/report.html"));
    if (!CHECK(r != NULL)) return;
    CHECK(!kni_file_exists(path_in("r/report.html")));
    play p = {.epochs = 4, .batches = 50, .batch = 8, .first_epoch = 1};
    CHECK(play_run(&r, 1, &p) == KN_RUN_FINISHED);
    kn_renderer_free(r);
    CHECK(kni_file_read(path_in("r/report.html"), 0, &page) == KN_OK);
    const char *text = kni_buffer_string(&page);
    CHECK(strncmp(text, "<!DOCTYPE html>", 15) == 0 && strstr(text, "</html>\n"));
    CHECK(count_of(text, "<svg ") == 4 && count_of(text, "</svg>") == 4); /* a plot for each metric */
    CHECK(count_of(text, "class=\"line valid\"") == 2 && count_of(text, "class=\"best\"") == 2);
    CHECK(strstr(text, "gradient norm") && strstr(text, "conv2d 6 -&gt; 16") && strstr(text, ">finished<"));
    CHECK(strstr(text, "prefers-color-scheme:dark") && strstr(text, "epoch-4.safetensors"));
    /* Nothing comes from elsewhere and nothing runs. */
    CHECK(!strstr(text, "http") && !strstr(text, "src=") && !strstr(text, "<link") &&
          count_of(text, "<script") == 1);
    kni_buffer_free(&page);
    /* The same run goes on in another process: the report has the curves of both. */
    r = kn_report_html(path_in("r/report.html"));
    p.first_epoch = 3;
    CHECK(play_run(&r, 1, &p) == KN_RUN_FINISHED);
    kn_renderer_free(r);
    CHECK(kni_file_read(path_in("r/report.html"), 0, &page) == KN_OK);
    text = kni_buffer_string(&page);
    CHECK(strstr(text, "\"epochs_done\":4") && strstr(text, "\"points\":[[1,") && strstr(text, "[200,"));
    CHECK(count_of(strstr(text, "kiln-run"), "[150,") ==
          4 + 2 + 4); /* steps, epochs of valid and of train: once each */
    /* Messages of both parts; those of epochs 3 and 4 came twice. */
    CHECK(count_of(text, "epoch-1.safetensors") == 2 && count_of(text, "epoch-4.safetensors") == 4);
    kni_buffer_free(&page);
}

static void report_escapes(void)
{
    static const char *const hostile[] = {"</script><b>&\"'\033[31m", NULL};
    kn_renderer r = kn_report_html(path_in("hostile.html"));
    kn_run_info info = {
        .name = "<img src=x onerror=y>", .model = "a<b", .device = "&", .epochs = 1, .metrics = hostile};
    if (!CHECK(r && play_inside(r)->type->start(play_inside(r)->self, &info) == KN_OK)) return;
    kn_metric_event e = {hostile[0], 0, KN_SPLIT_TRAIN, true, 1, 1, 1, 1, "<i>"};
    play_inside(r)->type->metric(play_inside(r)->self, &e);
    play_inside(r)->type->message(play_inside(r)->self, KN_SPLIT_TRAIN, "<script>alert(1)</script>");
    end(r);
    kni_buffer page = {0};
    CHECK(kni_file_read(path_in("hostile.html"), 0, &page) == KN_OK);
    const char *text = kni_buffer_string(&page);
    CHECK(!strstr(text, "<img") && !strstr(text, "<script>") && !strstr(text, "a<b") &&
          !strchr(text, '\033'));
    CHECK(count_of(text, "</script>") == 1 && strstr(text, "&lt;script&gt;alert(1)"));
    kni_buffer_free(&page);
    /* A damaged page changes nothing and stops nothing. */
    static const char broken[] =
        "<script type=\"application/json\" id=\"kiln-run\">{\"metrics\":[{\"name\":\"loss\",\"curves\":"
        "{\"train\":{\"steps\":{\"merge\":1e99,\"points\":[[1,2],[0,\"x\"],7]}}}}]}</script>";
    CHECK(kni_file_write(path_in("broken.html"), broken, sizeof broken - 1) == KN_OK);
    r = kn_report_html(path_in("broken.html"));
    begin(r, 5);
    end(r);
    CHECK(kni_file_read(path_in("broken.html"), 0, &page) == KN_OK && strstr(page.data, "<h1>tiny</h1>"));
    kni_buffer_free(&page);
}

/* A run that goes on keeps the points of the old page, also those that stand for several with their least and greatest. */
static void report_keeps_merged_points(void)
{
    static const char old[] =
        "<script type=\"application/json\" id=\"kiln-run\">{\"metrics\":[{\"name\":\"loss\",\"curves\":"
        "{\"train\":{\"steps\":{\"merge\":2,\"points\":[[1,2,1,3],[3,5,4,6]]}}}}]}</script>";
    kni_buffer page = {0};
    CHECK(kni_file_write(path_in("merged.html"), old, sizeof old - 1) == KN_OK);
    kn_renderer r = kn_report_html(path_in("merged.html"));
    begin(r, 5);
    end(r);
    CHECK(kni_file_read(path_in("merged.html"), 0, &page) == KN_OK &&
          strstr(kni_buffer_string(&page), "[[1,2,1,3],[3,5,4,6]]"));
    kni_buffer_free(&page);
}

/* A program without a standard input gets descriptor 0 for its log. */
static void descriptor_zero(void)
{
    int saved = dup(0);
    if (saved < 0) return;
    close(0);
    kn_renderer r = kn_logger_csv(path_in("zero.csv"));
    if (CHECK(r != NULL)) {
        begin(r, 0);
        tell(r, 0, KN_SPLIT_TRAIN, true, 1, 1, 0.5);
        end(r);
        CHECK(strstr(text_of("zero.csv", ""), "T,1,1,train,loss,0.5,0.25,epoch\n") != NULL);
    }
    dup2(saved, 0);
    close(saved);
}

/* Points in numbers do not depend on the program's locale; where no other locale is installed there is nothing to show. */
/* A killed run leaves what was told before its latest checkpoint, and a page from the first epoch on. */
static void flushes(void)
{
    kn_renderer log = kn_logger_csv(path_in("killed.csv")), page = kn_report_html(path_in("killed.html"));
    begin(log, 0);
    begin(page, 0);
    tell(log, 0, KN_SPLIT_TRAIN, false, 1, 1, 0.5);
    CHECK(!strstr(text_of("killed.csv", ""), "T,1,1,train"));
    play_inside(log)->type->flush(play_inside(log)->self);
    CHECK(strstr(text_of("killed.csv", ""), "T,1,1,train") != NULL);
    for (int64_t epoch = 1; epoch <= 2; epoch++) {
        CHECK(!kni_file_exists(path_in("killed.html")));
        play_inside(page)->type->progress(play_inside(page)->self,
                                          &(kn_progress_event){.epoch = epoch, .epochs = 2, .step = epoch});
    }
    CHECK(kni_file_exists(path_in("killed.html")));
    end(log);
    end(page);
    page = kn_report_html(path_in("saved.html"));
    begin(page, 0);
    play_inside(page)->type->flush(play_inside(page)->self);
    CHECK(kni_file_exists(path_in("saved.html")));
    end(page);
}

static void locales(void)
{
    const char *const tries[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", NULL};
    int i = 0;
    while (tries[i] && !setlocale(LC_ALL, tries[i])) i++;
    if (!tries[i]) check_skip("no locale with a decimal comma");
    kn_renderer r = kn_logger_csv(path_in("locale.csv"));
    begin(r, 0);
    tell(r, 0, KN_SPLIT_TRAIN, true, 1, 1, 0.5);
    end(r);
    setlocale(LC_ALL, "C");
    CHECK(strstr(text_of("locale.csv", ""), "T,1,1,train,loss,0.5,0.25,epoch\n") != NULL);
}

static void misuse(void)
{
    CHECK(kn_logger_csv(NULL) == NULL && strstr(kn_last_error(), "kn_logger_csv: the path is empty"));
    CHECK(kn_logger_json_lines("") == NULL &&
          strstr(kn_last_error(), "kn_logger_json_lines: the path is empty"));
    CHECK(kn_logger_tensorboard(NULL) == NULL &&
          strstr(kn_last_error(), "kn_logger_tensorboard: the folder is empty"));
    CHECK(kn_report_html("") == NULL && strstr(kn_last_error(), "kn_report_html: the path is empty"));
    /* A file where a folder has to be. */
    CHECK(kni_file_write(path_in("file"), "x", 1) == KN_OK);
    CHECK(kn_logger_csv(path_in("file/m.csv")) == NULL && strstr(kn_last_error(), "/file"));
    CHECK(kn_report_html(path_in("file/r.html")) == NULL && strstr(kn_last_error(), "/file"));
    CHECK(kn_logger_tensorboard(path_in("file")) == NULL && strstr(kn_last_error(), "/file"));
    CHECK(kn_logger_csv(folder) == NULL && strstr(kn_last_error(), "cannot write the log") &&
          strstr(kn_last_error(), "directory"));
}

/* A disk that is full is told once on standard error, and the run goes on. */
static void full_disk(void)
{
    if (access("/dev/full", W_OK) != 0) {
        check_skip("no /dev/full");
        return;
    }
    kn_renderer r = kn_logger_csv("/dev/full");
    if (!CHECK(r != NULL)) return;
    int saved = dup(STDERR_FILENO);
    FILE *caught = tmpfile();
    dup2(fileno(caught), STDERR_FILENO);
    begin(r, 1);
    for (int i = 0; i < 3; i++) tell(r, 0, KN_SPLIT_TRAIN, true, i, 1, 1);
    end(r);
    dup2(saved, STDERR_FILENO);
    close(saved);
    char text[512];
    rewind(caught);
    size_t n = fread(text, 1, sizeof text - 1, caught);
    text[n] = 0;
    fclose(caught);
    CHECK(count_of(text, "the log '/dev/full' cannot be written: No space left on device; the run goes on") ==
          1);
}

int main(void)
{
    snprintf(folder, sizeof folder, "%s/kiln-logs-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : P_tmpdir);
    if (!CHECK(mkdtemp(folder) != NULL)) return check_report();
    csv();
    json_lines();
    tensorboard();
    report();
    report_escapes();
    report_keeps_merged_points();
    descriptor_zero();
    flushes();
    locales();
    misuse();
    full_disk();
    CHECK(kni_path_remove(folder) == KN_OK);
    return check_report();
}
