/* The functions of a learner in orders that a user tries: what it says of its run (state, events, summary, report, logs) stays
   true after evaluations, after the best weights were loaded, after a resume and after failures. */
#define _GNU_SOURCE
#include "support/file.h"
#include "support/short_text.h"
#include "test_train_run.h"
#include "train/render_canvas.h"
#include "train/render_play.h"
#include "train/render_summary.h"
#include <dirent.h>
#include <pty.h>

/* ---- a renderer that keeps what it heard and makes the terminal's summary */

typedef struct Heard {
    kni_record record;
    kn_run_end end;
    int64_t info_step, info_epochs, test_epoch, test_step;
    int tests;
    char summary[4000], message[400];
} Heard;

static kn_status heard_start(void *self, const kn_run_info *info)
{
    Heard *h = self;
    h->info_step = info->step;
    h->info_epochs = *info->epochs_done;
    return kni_record_start(&h->record, info);
}
static void heard_metric(void *self, const kn_metric_event *e)
{
    Heard *h = self;
    kni_record_metric_event(&h->record, e);
    if (e->split != KN_SPLIT_TEST || !e->epoch_end) return;
    h->tests++;
    h->test_epoch = e->epoch;
    h->test_step = e->step;
}
static void heard_progress(void *self, const kn_progress_event *e)
{
    Heard *h = self;
    kni_record_progress(&h->record, e);
}
static void heard_finish(void *self, kn_run_end end, const char *summary)
{
    Heard *h = self;
    (void)summary;
    kni_buffer out = {0};
    kni_summary_write(&out, &h->record, end, (kni_summary_style){.columns = 100});
    kni_short_text(h->summary, sizeof h->summary, kni_buffer_string(&out));
    kni_buffer_free(&out);
    h->end = end;
}
static void heard_message(void *self, kn_run_split split, const char *text)
{
    Heard *h = self;
    (void)split;
    kni_short_text(h->message, sizeof h->message, text);
}
static void heard_close(void *self)
{
    Heard *h = self;
    kni_record_free(&h->record);
}
static const kn_renderer_type heard_type = {.name = "heard",
                                            .start = heard_start,
                                            .metric = heard_metric,
                                            .progress = heard_progress,
                                            .message = heard_message,
                                            .finish = heard_finish,
                                            .close = heard_close};

/* ---- a run with all its files */

static char *path_in(const char *folder, const char *name)
{
    static char paths[8][300];
    static int next;
    char *path = paths[next++ % 8];
    kni_buffer text = {0};
    kni_buffer_format(&text, "%s/%s", folder, name);
    kni_short_text(path, sizeof paths[0], kni_buffer_string(&text));
    kni_buffer_free(&text);
    return path;
}

static char folder_now[256]; /* of the test that runs; "": none */

static const char *new_folder(void)
{
    kni_short_text(folder_now, sizeof folder_now, fresh_folder());
    return folder_now;
}

static const char *content(const char *path)
{
    static kni_buffer text;
    kni_buffer_clear(&text);
    CHECK(kni_file_read(path, 1 << 26, &text) == KN_OK);
    return kni_buffer_string(&text);
}

static int count_of(const char *text, const char *words)
{
    int n = 0;
    for (; (text = strstr(text, words)) != NULL; text++) n++;
    return n;
}

static void no_schedule(kn_learner_args *a)
{
    a->schedule = NULL;
    a->lr = 0.02;
    a->ema = NULL;
}
static void still(kn_learner_args *a)
{
    no_schedule(a);
    a->lr = (double)KN_ZERO;
}
static void without_validation(kn_learner_args *a)
{
    still(a);
    a->valid = NULL;
}

static bool open_run(Run *run, Heard *heard, const char *folder, int64_t epochs,
                     void (*change)(kn_learner_args *))
{
    memset(heard, 0, sizeof *heard);
    if (!run_make(run, folder, epochs, change)) return false;
    return CHECK_OK(kn_learner_add_renderer(run->learner, kn_renderer_make(&heard_type, heard))) &&
           CHECK_OK(kn_learner_add_renderer(run->learner, kn_report_html(path_in(folder, "report.html")))) &&
           CHECK_OK(kn_learner_add_renderer(run->learner, kn_logger_csv(path_in(folder, "log.csv")))) &&
           CHECK_OK(
               kn_learner_add_renderer(run->learner, kn_logger_json_lines(path_in(folder, "log.jsonl")))) &&
           CHECK_OK(kn_learner_add_renderer(run->learner, kn_logger_tensorboard(path_in(folder, "tb"))));
}

static const char *summary_of(const Run *run)
{
    static char text[4000];
    kn_learner_summary(run->learner, text, sizeof text);
    return text;
}

/* The starts of sessions in TensorBoard's files: each makes it forget what comes later. */
static int sessions(const char *folder)
{
    int n = 0;
    char tb[280];
    snprintf(tb, sizeof tb, "%.250s/tb", folder);
    DIR *d = opendir(tb);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        kni_buffer text = {0};
        CHECK(kni_file_read(path_in(tb, e->d_name), 1 << 26, &text) == KN_OK);
        n += memmem(text.data, text.length, "\x3a\x02\x08\x01", 4) != NULL;
        kni_buffer_free(&text);
    }
    if (d) closedir(d);
    return n;
}

/* ---- evaluations */

static void evaluating_a_run_that_stopped_early(void)
{
    Run run;
    Heard heard;
    const char *folder = new_folder();
    if (!open_run(&run, &heard, folder, 50, still)) return;
    CHECK_OK(kn_learner_set_early_stopping(run.learner, &(kn_early_stopping){.patience = 3}));
    CHECK_OK(kn_learner_fit(run.learner));
    CHECK(heard.end == KN_RUN_STOPPED_EARLY);
    CHECK(!strstr(content(path_in(folder, "report.html")), "Evaluated"));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(kn_learner_evaluate(run.learner, run.valid));
        CHECK(kn_learner_ended(run.learner) == KN_RUN_STOPPED_EARLY && heard.end == KN_RUN_FINISHED);
        const char *page = content(path_in(folder, "report.html"));
        CHECK(strstr(page, "<span class=\"badge good\">stopped early</span>"));
        CHECK(strstr(page, "<dt>State</dt><dd>stopped early</dd>") && !strstr(page, "Goes on from step"));
        CHECK(strstr(page, " items/s in training") && !strstr(page, ">0 items/s"));
        CHECK(strstr(page, "<dt>Evaluated</dt><dd>epoch 4, step 48, finished</dd>"));
        CHECK(strstr(page, "<b>4</b><small>of 50 planned") && strstr(page, "<dt>Steps</dt><dd>48</dd>"));
        CHECK(strstr(page, "<td>train</td>") && strstr(page, "<td>valid</td>") &&
              strstr(page, "<td>test</td>"));
        CHECK(strstr(summary_of(&run), "test: stopped early after epoch 4, step 48"));
        CHECK(strstr(heard.summary, "evaluation finished, epoch 4, step 48"));
    }
    CHECK(heard.test_epoch == 4 && heard.test_step == 48 && heard.tests == 2);
    CHECK(sessions(folder) == 1); /* of the fit */
    CHECK(count_of(content(path_in(folder, "log.jsonl")), "\"evaluates\":true") == 2);
    CHECK_OK(kn_learner_fit(run.learner));
    CHECK(kn_learner_ended(run.learner) == KN_RUN_STOPPED_EARLY);
    CHECK(strstr(content(path_in(folder, "report.html")), "<td>test</td>"));
    run_free(&run);
}

static void evaluating_before_training(void)
{
    Run run;
    Heard heard;
    const char *folder = new_folder();
    if (!open_run(&run, &heard, folder, 2, no_schedule)) return;
    CHECK(kn_learner_ended(run.learner) == KN_RUN_NOT_STARTED);
    CHECK(strstr(summary_of(&run), "test: not started at epoch 0, step 0"));
    CHECK_OK(kn_learner_evaluate(run.learner, run.valid));
    CHECK(kn_learner_ended(run.learner) == KN_RUN_NOT_STARTED);
    CHECK(heard.test_epoch == 0 && heard.test_step == 0 && heard.tests == 1);
    CHECK(strstr(heard.summary, "evaluation finished, epoch 0, step 0"));
    const char *page = content(path_in(folder, "report.html"));
    CHECK(strstr(page, ">evaluated</span>") && !strstr(page, "items/s") && strstr(page, "<td>test</td>"));
    CHECK_OK(kn_learner_fit(run.learner));
    page = content(path_in(folder, "report.html"));
    CHECK(strstr(page, ">finished</span>") && strstr(page, "<td>test</td>") &&
          strstr(page, "<td>valid</td>"));
    CHECK(count_of(content(path_in(folder, "log.csv")), ",test,loss,") > 0);
    CHECK(strstr(summary_of(&run), "test: finished after epoch 2, step 24"));
    run_free(&run);
}

static void an_interrupted_evaluation(void)
{
    Run run;
    Heard heard;
    const char *folder = new_folder();
    if (!open_run(&run, &heard, folder, 1, no_schedule)) return;
    CHECK_OK(kn_learner_fit(run.learner));
    run.interrupt_valid_call = run.valid_calls + 1;
    CHECK_OK(kn_learner_evaluate(run.learner, run.valid));
    CHECK(heard.end == KN_RUN_INTERRUPTED && kn_learner_ended(run.learner) == KN_RUN_FINISHED);
    CHECK(isnan(kn_learner_value(run.learner, KN_SPLIT_TEST, "loss")) && heard.tests == 0);
    CHECK(strstr(content(path_in(folder, "report.html")), ">finished</span>"));
    CHECK(strstr(content(path_in(folder, "report.html")), "epoch 1, step 12, interrupted"));
    CHECK_OK(kn_learner_evaluate(run.learner, run.valid)); /* the interruption is over */
    CHECK(heard.tests == 1);
    run_free(&run);
}

/* ---- the best weights */

static void tests_of_the_best_weights(void)
{
    Run run;
    Heard heard;
    const char *folder = new_folder();
    if (!open_run(&run, &heard, folder, 4, still)) return;
    CHECK_OK(kn_learner_fit(run.learner)); /* at a rate of 0 the first epoch is the best */
    CHECK_OK(kn_learner_load_best(run.learner));
    CHECK_OK(kn_learner_evaluate(run.learner, run.valid));
    CHECK(heard.test_epoch == 1 && heard.test_step == 12);
    CHECK(heard.info_step == 12 && heard.info_epochs == 1);
    CHECK(strstr(heard.summary, "evaluation finished, epoch 1, step 12"));
    CHECK(kn_learner_epoch_count(run.learner) == 4 && kn_learner_step_count(run.learner) == 48);
    CHECK(strstr(summary_of(&run), "finished after epoch 4, step 48"));
    const char *row = strstr(summary_of(&run), " test ");
    CHECK(row && strcspn(row, "\n") > 3 && row[strcspn(row, "\n") - 1] == '1');
    const char *page = content(path_in(folder, "report.html"));
    CHECK(strstr(page, "epoch 1, step 12, finished") && strstr(page, "<b>4</b><small>of 4 planned"));
    CHECK(strstr(content(path_in(folder, "log.csv")), ",12,1,test,loss,"));
    CHECK(sessions(folder) == 1);
    /* What is saved now remembers whose weights it has. */
    CHECK_OK(kn_learner_save(run.learner));
    run_free(&run);
    if (!open_run(&run, &heard, folder, 4, still)) return;
    bool resumed;
    CHECK_OK(kn_learner_resume(run.learner, &resumed));
    CHECK_OK(kn_learner_evaluate(run.learner, run.valid));
    CHECK(resumed && heard.test_epoch == 1 && heard.test_step == 12);
    run_free(&run);
}

/* A process that does nothing but look at the best model leaves the report of the training as it was. */
static void evaluating_in_another_process(void)
{
    Run run;
    Heard heard;
    const char *folder = new_folder();
    for (int part = 0; part < 2; part++) {
        if (!open_run(&run, &heard, folder, 50, still)) return;
        CHECK_OK(kn_learner_set_early_stopping(run.learner, &(kn_early_stopping){.patience = 3}));
        if (part == 0)
            CHECK_OK(kn_learner_fit(run.learner));
        else {
            CHECK_OK(kn_learner_load_best(run.learner));
            CHECK_OK(kn_learner_evaluate(run.learner, run.valid));
            CHECK(heard.test_epoch == 1 && kn_learner_ended(run.learner) == KN_RUN_NOT_STARTED);
        }
        run_free(&run);
    }
    const char *page = content(path_in(folder, "report.html"));
    CHECK(strstr(page, ">stopped early</span>") && strstr(page, " items/s in training"));
    CHECK(strstr(page, "<b>4</b><small>of 50 planned") && strstr(page, "<dt>Steps</dt><dd>48</dd>"));
    CHECK(strstr(page, "<td>valid</td>") && strstr(page, "<td>test</td>") && !strstr(page, "Goes on from"));
    CHECK(count_of(content(path_in(folder, "log.csv")), ",train,loss,") > 40); /* nothing was moved aside */
}

/* ---- resumed runs */

/* The weights of an earlier run are loaded and tested in its folder, then a new run begins: each log has one run. */
static void a_new_run_after_testing_an_old_one(void)
{
    Run run;
    Heard heard;
    const char *folder = new_folder();
    if (!open_run(&run, &heard, folder, 2, no_schedule)) return;
    CHECK_OK(kn_learner_fit(run.learner));
    run_free(&run);
    const char *const logs[] = {"log.csv", "log.jsonl"}, *const first[] = {",1,train,loss,", "\"epoch\":1,"};
    int rows[2];
    for (int i = 0; i < 2; i++) rows[i] = count_of(content(path_in(folder, logs[i])), first[i]);
    CHECK(rows[0] > 0 && rows[1] > 0);
    if (!open_run(&run, &heard, folder, 2, no_schedule)) return;
    CHECK_OK(kn_learner_load_best(run.learner));
    CHECK_OK(kn_learner_evaluate(run.learner, run.valid));
    CHECK_OK(kn_learner_fit(run.learner));
    CHECK(count_of(content(path_in(folder, "log.csv")), ",test,loss,") == 0);
    CHECK(count_of(content(path_in(folder, "log.csv.old")), ",test,loss,") > 0);
    CHECK(count_of(content(path_in(folder, "log.jsonl.old")), "\"evaluates\":true") == 1);
    for (int i = 0; i < 2; i++) CHECK(count_of(content(path_in(folder, logs[i])), first[i]) == rows[i]);
    run_free(&run);
}

/* The learner says so when it trains on with weights of another step than its optimiser. */
static void training_on_from_the_best_weights(void)
{
    Run run;
    Heard heard;
    const char *folder = new_folder();
    if (!open_run(&run, &heard, folder, 2, no_schedule)) return;
    CHECK_OK(kn_learner_fit(run.learner));
    run_free(&run);
    if (!open_run(&run, &heard, folder, 3, no_schedule)) return;
    CHECK_OK(kn_learner_resume(run.learner, NULL));
    CHECK_OK(kn_learner_load_best(run.learner));
    CHECK_OK(kn_learner_fit(run.learner));
    CHECK(strstr(heard.message, "training goes on at step 24 with the weights of step ") &&
          strstr(heard.message, "kn_learner_load_best"));
    run_free(&run);
    if (!open_run(&run, &heard, folder, 4, no_schedule)) return;
    CHECK_OK(kn_learner_resume(run.learner, NULL));
    CHECK_OK(kn_learner_fit(run.learner));
    CHECK(!strstr(heard.message, "with the weights of"));
    run_free(&run);
}

/* A metric in percent is one also where the run has nothing left to do. */
static void percentages_stay_percentages(void)
{
    Run run;
    Heard heard;
    const char *folder = new_folder();
    if (!open_run(&run, &heard, folder, 1, no_schedule)) return;
    CHECK_OK(kn_learner_add_metric(run.learner, kn_metric_accuracy(-1)));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(kn_learner_fit(run.learner));
        const char *row = strstr(heard.summary, "accuracy");
        CHECK(row && strstr(row, " %"));
        row = strstr(content(path_in(folder, "report.html")), "<td>accuracy</td>");
        CHECK(row && memmem(row, 200, " %", 2));
    }
    run_free(&run);
}

static void a_resumed_run_knows_its_history(void)
{
    Run run;
    Heard heard;
    const char *folder = new_folder();
    if (!open_run(&run, &heard, folder, 2, no_schedule)) return;
    CHECK_OK(kn_learner_fit(run.learner));
    double first = heard.record.metrics[0].curves[KN_SPLIT_VALID]->first_epoch;
    run_free(&run);
    if (!open_run(&run, &heard, folder, 3, no_schedule)) return;
    bool resumed;
    CHECK_OK(kn_learner_resume(run.learner, &resumed));
    CHECK(resumed && kn_learner_ended(run.learner) == KN_RUN_NOT_STARTED);
    CHECK(strstr(summary_of(&run), "test: not started at epoch 2, step 24"));
    CHECK_OK(kn_learner_fit(run.learner));
    const kni_curve *curve = heard.record.metrics[0].curves[KN_SPLIT_VALID];
    CHECK(curve->first_epoch == first && curve->epoch_count == 3);
    CHECK(strstr(heard.summary, "finished after epoch 3 of 3, step 36") &&
          strstr(heard.summary, "since step 24"));
    const char *page = content(path_in(folder, "report.html"));
    CHECK(strstr(page, "<dt>Goes on from step</dt><dd>24</dd>"));
    /* A run that has nothing left to do keeps its figures. */
    double last = curve->last_epoch;
    CHECK_OK(kn_learner_fit(run.learner));
    curve = heard.record.metrics[0].curves[KN_SPLIT_VALID];
    CHECK(curve->last_epoch == last && curve->last == last && curve->mean == last);
    CHECK(kn_learner_ended(run.learner) == KN_RUN_FINISHED);
    CHECK(strstr(content(path_in(folder, "report.html")), " items/s in training"));
    CHECK(strstr(heard.summary, "finished after epoch 3 of 3, step 36") && strstr(heard.summary, "valid"));
    /* Back to an earlier checkpoint: nothing has ended there. */
    CHECK_OK(kn_learner_load(run.learner, path_in(folder, "checkpoint/step-00000024.safetensors")));
    CHECK(strstr(summary_of(&run), "test: not started at epoch 2, step 24"));
    CHECK_OK(kn_learner_evaluate(run.learner, run.valid));
    CHECK(heard.test_epoch == 2 && heard.test_step == 24);
    run_free(&run);
}

/* ---- failures */

static void evaluating_after_a_failure(void)
{
    Run run;
    Heard heard;
    const char *folder = new_folder();
    if (!open_run(&run, &heard, folder, 2, no_schedule)) return;
    run.poison_call = 5;
    CHECK(kn_learner_fit(run.learner) == KN_ERROR_NUMERIC);
    CHECK(kn_learner_ended(run.learner) == KN_RUN_FAILED);
    CHECK_OK(kn_learner_evaluate(run.learner, run.valid));
    CHECK(kn_learner_ended(run.learner) == KN_RUN_FAILED && heard.test_epoch == 0);
    CHECK(strstr(content(path_in(folder, "report.html")), "<span class=\"badge bad\">failed</span>"));
    CHECK(strstr(summary_of(&run), "test: failed after epoch 0"));
    run_free(&run);
}

static Run *nested;
static int refused;
static kn_status nesting_step(void *context, const kn_sample *batch, kn_step_output *output)
{
    refused += kn_learner_fit(nested->learner) == KN_ERROR_ARGUMENT;
    refused += kn_learner_evaluate(nested->learner, nested->valid) == KN_ERROR_ARGUMENT;
    return run_train_step(context, batch, output);
}
static void nest(kn_learner_args *a)
{
    no_schedule(a);
    a->train_step = nesting_step;
}

/* A fit inside a fit is refused and changes nothing: neither the end of the outer one nor its checkpoints. */
static void a_fit_inside_a_fit(void)
{
    Run run;
    Heard heard;
    const char *folder = new_folder();
    nested = &run;
    if (!open_run(&run, &heard, folder, 2, nest)) return;
    CHECK_OK(kn_learner_fit(run.learner));
    CHECK(refused == 2 * run.calls && kn_learner_ended(run.learner) == KN_RUN_FINISHED);
    CHECK(kni_file_is_folder(path_in(folder, "checkpoint")) &&
          !kni_file_is_folder(path_in(folder, "checkpoint.1")));
    run_free(&run);
}

/* Early stopping watches training where there is no validation. */
static void stopping_without_validation(void)
{
    Run run;
    Heard heard;
    const char *folder = new_folder();
    if (!open_run(&run, &heard, folder, 50, without_validation)) return;
    CHECK_OK(kn_learner_set_early_stopping(run.learner, &(kn_early_stopping){.patience = KN_ZERO}));
    CHECK_OK(kn_learner_fit(run.learner));
    CHECK(kn_learner_ended(run.learner) == KN_RUN_STOPPED_EARLY);
    CHECK(strstr(content(path_in(folder, "log.jsonl")), "stopped early: loss of train has not improved"));
    CHECK_OK(kn_learner_set_early_stopping(run.learner, &(kn_early_stopping){.metric = "accuracy"}));
    CHECK_ERROR(kn_learner_fit(run.learner), "not computed for the train split");
    run_free(&run);
}

/* ---- any order */

/* What must be true of a learner, kept beside it. */
typedef struct Expected {
    kn_run_end end;
    const char *page;        /* the state on the report; NULL: there is none yet */
    int64_t best, weights;   /* epochs; best 0: none yet */
    int64_t saved_weights;   /* epoch of the newest checkpoint's weights, -1: there is none */
    bool other, saved_other; /* the weights are not those of the learner's position */
} Expected;

static void step_fit(Run *run, const Heard *heard, Expected *e, int64_t after)
{
    bool trains = kn_learner_epoch_count(run->learner) < 4;
    run->interrupt_call = trains && after ? run->calls + after : 0;
    CHECK_OK(kn_learner_fit(run->learner));
    e->end = kn_learner_ended(run->learner);
    CHECK(e->end == (kn_learner_epoch_count(run->learner) < 4 ? KN_RUN_INTERRUPTED : KN_RUN_FINISHED));
    CHECK(heard->end == e->end);
    e->page = e->end == KN_RUN_FINISHED ? "finished" : "interrupted";
    const kni_curve *valid = heard->record.metrics[0].curves[KN_SPLIT_VALID];
    e->best = valid ? valid->best_epoch : 0;
    if (!trains) return;
    e->other = e->saved_other = false;
    e->saved_weights = e->weights = kn_learner_epoch_count(run->learner);
}

static void step_evaluate(Run *run, const Heard *heard, const Expected *e, const char *folder)
{
    char state[64];
    CHECK_OK(kn_learner_evaluate(run->learner, run->valid));
    CHECK(heard->end == KN_RUN_FINISHED && heard->test_epoch == e->weights);
    CHECK(e->other || heard->test_step == kn_learner_step_count(run->learner));
    snprintf(state, sizeof state, "\">%s</span>", e->page ? e->page : "evaluated");
    const char *page = content(path_in(folder, "report.html"));
    CHECK(strstr(page, state) && strstr(page, "<td>test</td>") && !strstr(page, ">0 items/s"));
    CHECK(!e->page || strstr(page, "items/s in training"));
}

static void step_checkpoint(Run *run, Expected *e, int which)
{
    bool resumed;
    if (which == 0) {
        kn_status status = kn_learner_load_best(run->learner);
        CHECK((status == KN_OK) == (e->best > 0));
        if (status) return;
        e->other = true;
        e->weights = e->best;
    } else if (which == 1) {
        CHECK_OK(kn_learner_resume(run->learner, &resumed));
        CHECK(resumed == (e->saved_weights >= 0));
        if (!resumed) return;
        e->end = KN_RUN_NOT_STARTED;
        e->weights = e->saved_weights;
        e->other = e->saved_other;
    } else {
        CHECK_OK(kn_learner_save(run->learner));
        e->saved_weights = e->weights;
        e->saved_other = e->other;
    }
}

static unsigned next_number(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

/* Whatever is called after whatever, in sequences by seed: the end, the weights' epoch and the report fit what was done. */
static void any_order(void)
{
    for (unsigned sequence = 1; sequence <= 15; sequence++) {
        Run run;
        Heard heard;
        Expected e = {.end = KN_RUN_NOT_STARTED, .saved_weights = -1};
        unsigned seed = sequence;
        char done[32] = "";
        int failed = check_failed;
        const char *folder = new_folder();
        if (!open_run(&run, &heard, folder, 4, no_schedule)) return;
        for (int i = 0; i < 8 && failed == check_failed; i++) {
            unsigned action = next_number(&seed) % 7;
            done[i] = "feefbrs"[action];
            if (action == 0 || action == 3)
                step_fit(&run, &heard, &e, action ? 0 : 1 + (int64_t)next_number(&seed) % 40);
            else if (action < 3)
                step_evaluate(&run, &heard, &e, folder);
            else
                step_checkpoint(&run, &e, (int)action - 4);
            CHECK(kn_learner_ended(run.learner) == e.end);
        }
        if (failed != check_failed) printf("after %s of sequence %u: %s\n", done, sequence, kn_last_error());
        run_free(&run);
        remove_folder(folder);
        *folder_now = 0;
    }
}

/* ---- texts */

static void texts_end_after_words(void)
{
    const struct {
        const char *text, *want;
        size_t n;
    } cases[] = {{"short", "short", 6},
                 {"the quick brown fox", "the quick ...", 17},
                 {"abcdefghijklmnop", "abcdefg...", 12},
                 {"ääääääää", "äää...", 12},
                 {"x", "", 1},
                 {"abcdef", "", 4}, /* no room for a character and the dots */
                 {"abcdef", "...", 5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[32];
        kni_short_text(out, cases[i].n, cases[i].text);
        if (!CHECK(!strcmp(out, cases[i].want))) printf("'%s'\n", out);
    }
    /* Messages of the library likewise, from any part of it. */
    kni_buffer path = {0};
    for (int i = 0; i < 100; i++) kni_buffer_format(&path, "a folder named %d/", i);
    kn_store store = kn_store_open(kni_buffer_string(&path), NULL);
    const char *message = kn_last_error();
    const char *dots = strstr(message, " ...");
    CHECK(!store && dots && strlen(message) > 200);
    const char *word = dots;
    while (word > message && word[-1] != ' ') word--;
    CHECK(!strncmp(word, "folder ", 7) || !strncmp(word, "named ", 6) || strchr(word, '/'));
    kni_buffer_free(&path);
    kni_canvas canvas = {0};
    kni_buffer row = {0};
    CHECK(kni_canvas_reset(&canvas, 14, 1, true));
    kni_canvas_text(&canvas, 0, 0, 14, KNI_STYLE_NORMAL, "the quick brown fox");
    kni_canvas_row(&canvas, 0, &row);
    CHECK(!strcmp(kni_buffer_string(&row), "the quick…"));
    kni_buffer_free(&row);
    kni_canvas_free(&canvas);
}

static int logged;
static void count_logs(void *context, kn_log_level level, const char *text)
{
    (void)context;
    (void)level;
    (void)text;
    logged++;
}

/* What kn_renderer_auto chooses where standard input, and the outputs too, are a terminal of this kind; "" for none. */
static const char *chosen(const char *term, bool output_too)
{
    int terminal[2], before[3];
    if (!CHECK(openpty(&terminal[0], &terminal[1], NULL, NULL, NULL) == 0)) return "";
    fflush(stdout);
    for (int i = 0; i < 3; i++) before[i] = dup(i);
    for (int i = 0; i < (output_too ? 3 : 1); i++) dup2(terminal[1], i);
    setenv("TERM", term, 1);
    kn_renderer renderer = kn_renderer_auto();
    for (int i = 0; i < 3; i++) {
        dup2(before[i], i);
        close(before[i]);
    }
    close(terminal[0]);
    close(terminal[1]);
    const char *name = renderer ? play_inside(renderer)->type->name : "";
    kn_renderer_free(renderer);
    return name;
}

/* Asking whether a dashboard is possible is no failure. Without a terminal on standard input nobody asks. */
static void falling_back_is_silent(void)
{
    char before[600];
    unsetenv("KN_RENDERER");
    kn_log_set(count_logs, NULL);
    kni_short_text(before, sizeof before, kn_last_error());
    CHECK(!strcmp(chosen("dumb", true), "plain") && logged == 0 && !strcmp(before, kn_last_error()));
    CHECK(!strcmp(chosen("xterm", false), "plain") && logged == 0 && !strcmp(before, kn_last_error()));
    if (UNDER_MEMORY_SANITIZER) {
        check_skip("MemorySanitizer: ncurses");
    } else {
        CHECK(!strcmp(chosen("no-such-terminal-at-all", true), "plain") && logged == 0 &&
              !strcmp(before, kn_last_error()));
        /* Asked for by name it is one. */
        setenv("KN_RENDERER", "dashboard", 1);
        CHECK(!strcmp(chosen("dumb", true), "") && logged > 0 && strcmp(before, kn_last_error()));
        unsetenv("KN_RENDERER");
    }
    kn_log_set(NULL, NULL);
}

int main(void)
{
    kn_device device = kn_device_open("autodiff(cpu)");
    if (!CHECK(device != NULL)) return check_report();
    kn_device_use(device);
    void (*const tests[])(void) = {evaluating_a_run_that_stopped_early,
                                   evaluating_before_training,
                                   an_interrupted_evaluation,
                                   tests_of_the_best_weights,
                                   evaluating_in_another_process,
                                   a_new_run_after_testing_an_old_one,
                                   training_on_from_the_best_weights,
                                   percentages_stay_percentages,
                                   a_resumed_run_knows_its_history,
                                   evaluating_after_a_failure,
                                   a_fit_inside_a_fit,
                                   stopping_without_validation,
                                   any_order,
                                   texts_end_after_words,
                                   falling_back_is_silent};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        kn_scope scope = kn_scope_begin();
        tests[i]();
        kn_scope_end(scope, KN_NONE);
        if (*folder_now) remove_folder(folder_now);
        *folder_now = 0;
    }
    return check_report();
}
