/* The learner: order of events, validation, accumulation, schedules, policies of NaN, early stopping, memory. */
#define _DEFAULT_SOURCE
#include "test_train_run.h"

/* ---- a renderer that takes notes */

typedef struct Notes {
    int starts, finishes, progress[3], values[3], epoch_ends[3], messages, closes;
    kn_run_end end;
    char message[400];
    double last_mean;
    const int64_t *epochs_done;
    int64_t done_at_end, evaluations;
    int64_t last_step, steps_rising, info_params;
    kn_renderer_answer answer;
    int answer_at;
} Notes;

static kn_status notes_start(void *self, const kn_run_info *info)
{
    Notes *n = self;
    n->starts++;
    n->info_params = info->params;
    n->epochs_done = info->epochs_done;
    n->evaluations += info->evaluates;
    return strcmp(info->metrics[0], "loss") == 0 && !info->higher_is_better[0] && strstr(info->model, "Net")
               ? KN_OK
               : KN_ERROR_ARGUMENT;
}
static void notes_metric(void *self, const kn_metric_event *e)
{
    Notes *n = self;
    if (e->epoch_end)
        n->epoch_ends[e->split]++;
    else
        n->values[e->split]++;
    if (e->split != KN_SPLIT_TRAIN || e->epoch_end || strcmp(e->metric, "loss")) return;
    n->steps_rising += e->step >= n->last_step;
    n->last_step = e->step;
    n->last_mean = e->mean;
}
static void notes_progress(void *self, const kn_progress_event *e) { ((Notes *)self)->progress[e->split]++; }
static void notes_message(void *self, kn_run_split split, const char *text)
{
    (void)split;
    Notes *n = self;
    n->messages++;
    snprintf(n->message, sizeof n->message, "%s", text);
}
static kn_renderer_answer notes_poll(void *self)
{
    Notes *n = self;
    return n->answer_at && n->progress[0] == n->answer_at ? n->answer : KN_RENDERER_GO_ON;
}
static void notes_finish(void *self, kn_run_end end, const char *summary)
{
    Notes *n = self;
    n->finishes += strstr(summary, "loss") != NULL;
    n->end = end;
    n->done_at_end = *n->epochs_done;
}
static void notes_close(void *self) { ((Notes *)self)->closes++; }
static const kn_renderer_type notes_type = {"notes",        notes_start,   notes_metric,
                                            notes_progress, notes_message, notes_poll,
                                            notes_finish,   notes_close,   NULL};

static void events_and_validation(void)
{
    Run run;
    Notes notes = {0};
    if (!run_make(&run, NULL, 3, NULL)) return;
    CHECK(kn_learner_add_renderer(run.learner, kn_renderer_make(&notes_type, &notes)) == KN_OK);
    CHECK(kn_learner_add_metric(run.learner, kn_metric_accuracy(-1)) == KN_OK);
    CHECK_ERROR(kn_learner_add_metric(run.learner, kn_metric_accuracy(-1)), "already");
    CHECK_OK(kn_learner_fit(run.learner));
    CHECK(notes.starts == 1 && notes.finishes == 1 && notes.end == KN_RUN_FINISHED);
    CHECK(notes.info_params == RUN_PARAMS && notes.done_at_end == 3 && notes.evaluations == 0);
    CHECK(notes.progress[0] == 3 * 23 && notes.progress[1] == 3 * 3);
    CHECK(notes.values[0] == 2 * 3 * 23 && notes.values[1] == 2 * 3 * 3);
    CHECK(notes.epoch_ends[0] == 2 * 3 && notes.epoch_ends[1] == 2 * 3);
    CHECK(notes.steps_rising == 3 * 23 && notes.last_step == 36);
    CHECK(kn_learner_step_count(run.learner) == 36 && kn_learner_epoch_count(run.learner) == 3);
    CHECK(run.calls == 69 && run.valid_calls == 9);
    CHECK(!run.taped && !run.training && run.net.dropout.training);
    CHECK(kn_learner_value(run.learner, KN_SPLIT_TRAIN, "loss") == notes.last_mean);
    CHECK(kn_learner_value(run.learner, KN_SPLIT_VALID, "accuracy") > 0.4);
    CHECK(isnan(kn_learner_value(run.learner, KN_SPLIT_TEST, "loss")));
    CHECK_OK(kn_learner_evaluate(run.learner, run.valid));
    CHECK(kn_learner_value(run.learner, KN_SPLIT_TEST, "loss") ==
          kn_learner_value(run.learner, KN_SPLIT_VALID, "loss"));
    CHECK(notes.evaluations == 1 && notes.done_at_end == 3);
    char summary[2000];
    CHECK(kn_learner_summary(run.learner, summary, sizeof summary) < sizeof summary);
    CHECK(strstr(summary, "accuracy             valid") != NULL);
    run_free(&run);
    CHECK(notes.closes == 1);
}

static void with_tape(kn_learner_args *a)
{
    a->valid_on_tape = a->valid_in_training_mode = true;
    a->valid_every = 2;
}

static void validation_by_choice(void)
{
    Run run;
    if (!run_make(&run, NULL, 3, with_tape)) return;
    CHECK_OK(kn_learner_fit(run.learner));
    CHECK(run.taped && run.training && run.valid_calls == 6); /* epoch 2, and the last */
    run_free(&run);
}

/* ---- accumulation: two batches of four are one of eight, and a remainder counts by its own number */

static void plain_sgd(kn_learner_args *a)
{
    a->schedule = NULL;
    a->lr = 0.1;
    a->accumulate = 1;
    a->valid = NULL;
    a->ema = NULL;
}

static kn_status hand_step(Run *run, kn_loader loader, int32_t size, double lr)
{
    kn_accumulator sum = kn_accumulator_make();
    kn_status s = KN_OK;
    for (int32_t i = 0; i < size && !s; i++) {
        kn_sample batch;
        kn_grads grads = NULL;
        kn_step_output out = {0};
        kn_scope scope = kn_scope_begin();
        s = kn_loader_next(loader, &batch);
        if (!s) s = kn_backward(run_loss(run, &batch, &out), &grads);
        if (!s) s = kn_accumulator_add(sum, KN_MODULE_OF(Net, &run->net), grads, 1.0 / size);
        kn_grads_free(grads);
        kn_sample_drop(&batch);
        kn_scope_end(scope, KN_NONE);
    }
    kn_grads grads = NULL;
    if (!s) s = kn_accumulator_take(sum, &grads);
    if (!s) s = kn_optim_step(run->optim, lr, KN_MODULE_OF(Net, &run->net), grads);
    kn_grads_free(grads);
    kn_accumulator_free(sum);
    return s;
}

static void by_five(kn_learner_args *a)
{
    plain_sgd(a);
    a->accumulate = 5;
}

static void accumulation_averages(void)
{
    Run run, hand;
    if (!run_make(&run, NULL, 1, by_five) || !run_make(&hand, NULL, 1, by_five)) return;
    run.net.dropout.p = hand.net.dropout.p = 0;
    CHECK_OK(kn_learner_fit(run.learner));
    CHECK(kn_learner_step_count(run.learner) == 5); /* 5, 5, 5, 5 and 3 batches */
    for (int i = 0; i < 5; i++) CHECK_OK(hand_step(&hand, hand.train, i < 4 ? 5 : 3, 0.1));
    Weights a = run_weights(&run), b = run_weights(&hand);
    CHECK(weights_equal(&a, &b));
    run_free(&run);
    run_free(&hand);
}

/* ---- schedules */

static double rates[8];
static double by_table(void *context, int64_t step)
{
    (void)context;
    rates[step < 8 ? step : 7]++;
    return 0.01 * (double)(step + 1);
}

static void by_epoch(kn_learner_args *a)
{
    a->schedule = kn_schedule_custom(by_table, NULL);
    a->schedule_by_epoch = true;
}

static void schedule_by_epochs(void)
{
    Run run;
    if (!run_make(&run, NULL, 3, by_epoch)) return;
    CHECK_OK(kn_learner_add_metric(run.learner, kn_metric_learning_rate()));
    CHECK_OK(kn_learner_fit(run.learner));
    CHECK(fabs(kn_learner_value(run.learner, KN_SPLIT_TRAIN, "learning_rate") - 0.03) < 1e-12);
    run_free(&run);
}

static void on_plateau(kn_learner_args *a)
{
    a->schedule =
        kn_schedule_plateau(&(kn_plateau_args){.lr = 1e-6, .patience = 1, .factor = 0.5, .threshold = 0.5});
    a->ema = NULL;
}

static void schedule_hears_of_plateau(void)
{
    Run run;
    if (!run_make(&run, NULL, 6, on_plateau)) return;
    CHECK_OK(kn_learner_add_metric(run.learner, kn_metric_learning_rate()));
    CHECK_OK(kn_learner_fit(run.learner));
    /* Bad epochs 2 and 3 halve the rate for epoch 4, 4 and 5 for epoch 6. */
    CHECK(fabs(kn_learner_value(run.learner, KN_SPLIT_TRAIN, "learning_rate") - 0.25e-6) < 1e-18);
    run_free(&run);
}

/* ---- numbers that are none */

static void nan_stop(kn_learner_args *a) { a->grad_norm = true; }
static void nan_skip(kn_learner_args *a) { a->nan_policy = KN_NAN_SKIP; }
static void nan_log(kn_learner_args *a) { a->nan_policy = KN_NAN_LOG; }
static void nan_ignore(kn_learner_args *a) { a->nan_policy = KN_NAN_IGNORE; }

static bool all_finite(const Weights *w)
{
    for (int i = 0; i < 2 * RUN_PARAMS; i++)
        if (!isfinite(w->at[i])) return false;
    return true;
}

static void policies_of_nan(void)
{
    struct {
        void (*change)(kn_learner_args *);
        kn_status status;
        bool finite;
        int messages;
        const char *text;
    } cases[] = {{nan_stop, KN_ERROR_NUMERIC, true, 1, "step 3: the loss is NaN"},
                 {nan_skip, KN_OK, true, 1, "step 3: the loss is not finite; the update is left out"},
                 {nan_log, KN_OK, false, 0, "the loss is NaN"},
                 {nan_ignore, KN_OK, false, 0, NULL}};
    for (int i = 0; i < 4; i++) {
        Run run;
        Notes notes = {0};
        if (!run_make(&run, NULL, 1, cases[i].change)) return;
        run.poison_call = 6;
        CHECK(kn_learner_add_renderer(run.learner, kn_renderer_make(&notes_type, &notes)) == KN_OK);
        kn_status status = kn_learner_fit(run.learner);
        CHECK(status == cases[i].status);
        if (status) CHECK(strstr(kn_last_error(), cases[i].text) && notes.end == KN_RUN_FAILED);
        if (cases[i].messages) CHECK(notes.messages == cases[i].messages);
        CHECK(!cases[i].text ? notes.messages == 0 : strstr(notes.message, cases[i].text) != NULL);
        Weights w = run_weights(&run);
        CHECK(all_finite(&w) == cases[i].finite);
        CHECK(status || kn_learner_step_count(run.learner) == 12);
        run_free(&run);
    }
}

static kn_status own_step(void *context, const kn_sample *batch, double lr, kn_step_output *output);
static kn_status own_nan_step(void *context, const kn_sample *batch, double lr, kn_step_output *output)
{
    Run *run = context;
    kn_status s = own_step(context, batch, lr, output);
    if (run->calls == 3) output->loss = kn_keep(kn_scalar(NAN, KN_F32));
    return s;
}
static void late_custom(kn_learner_args *a)
{
    a->train_step = NULL;
    a->custom_step = own_nan_step;
    a->accumulate = 1;
    a->valid = NULL;
}

/* On the processor the update is not done and the run can be saved; where it was done, nothing is saved until a resume. */
static void nan_and_saving(void)
{
    for (int late = 0; late < 2; late++) {
        Run run;
        const char *folder = fresh_folder();
        if (!run_make(&run, folder, 1, late ? late_custom : nan_stop)) return;
        run.poison_call = 6;
        CHECK(kn_learner_save(run.learner) == KN_OK);
        CHECK(kn_learner_fit(run.learner) == KN_ERROR_NUMERIC);
        kn_status s = kn_learner_save(run.learner);
        if (late) {
            CHECK(s == KN_ERROR_NUMERIC && strstr(kn_last_error(), "resume from the last checkpoint"));
        } else
            CHECK(s == KN_OK && kn_learner_step_count(run.learner) == 2);
        run_free(&run);
        remove_folder(folder);
    }
}

/* ---- what fails and is done again */

typedef struct Failing {
    int updates, fails;
} Failing;
static kn_status failing_update(void *self, const kn_step_output *o, const kn_metric_context *c,
                                double *value, double *mean)
{
    Failing *f = self;
    (void)o;
    (void)c;
    *value = *mean = 0;
    return ++f->updates == f->fails ? KN_ERROR_ARGUMENT : KN_OK;
}
static const kn_metric_type failing_metric = {.name = "failing", .update = failing_update};

static void metrics_fail_without_updates(void)
{
    Run a, b;
    Failing failing = {.fails = 5};
    if (!run_make(&a, NULL, 1, plain_sgd) || !run_make(&b, NULL, 1, plain_sgd)) return;
    CHECK_OK(kn_learner_add_metric(a.learner, kn_metric_make(&failing_metric, &failing)));
    CHECK(kn_learner_fit(a.learner) == KN_ERROR_ARGUMENT);
    CHECK(a.calls == 6 && kn_learner_step_count(a.learner) == 6);
    CHECK_OK(kn_learner_fit(a.learner));
    CHECK_OK(kn_learner_fit(b.learner));
    Weights x = run_weights(&a), y = run_weights(&b);
    CHECK(weights_equal(&x, &y) && a.calls == 23 && kn_learner_step_count(a.learner) == 23);
    run_free(&a);
    run_free(&b);
}

static kn_status failing_first(void *context, const kn_sample *batch, kn_step_output *output)
{
    Run *run = context;
    run_loss(run, batch, output);
    return ++run->calls == 1 ? KN_ERROR_ARGUMENT : KN_OK;
}
static void first_fails_by_epoch(kn_learner_args *a)
{
    by_epoch(a);
    a->train_step = failing_first;
}

static void schedule_waits_for_a_step(void)
{
    Run run;
    if (!run_make(&run, NULL, 1, first_fails_by_epoch)) return;
    CHECK_OK(kn_learner_add_metric(run.learner, kn_metric_learning_rate()));
    CHECK(kn_learner_fit(run.learner) == KN_ERROR_ARGUMENT);
    CHECK_OK(kn_learner_fit(run.learner));
    CHECK(fabs(kn_learner_value(run.learner, KN_SPLIT_TRAIN, "learning_rate") - 0.01) < 1e-12);
    run_free(&run);
}

/* ---- evaluation between two parts of an epoch */

static void evaluation_leaves_no_trace(void)
{
    Run a, b;
    if (!run_make(&a, NULL, 1, NULL) || !run_make(&b, NULL, 1, NULL)) return;
    CHECK_OK(kn_learner_add_metric(a.learner, kn_metric_accuracy(-1)));
    CHECK_OK(kn_learner_add_metric(b.learner, kn_metric_accuracy(-1)));
    a.interrupt_call = b.interrupt_call = 8;
    CHECK_OK(kn_learner_fit(a.learner));
    CHECK_OK(kn_learner_fit(b.learner));
    a.net.dropout.training = false;
    CHECK_OK(kn_learner_evaluate(a.learner, a.valid));
    CHECK(!a.training && !a.net.dropout.training); /* the mode that it had */
    a.net.dropout.training = true;
    CHECK_OK(kn_learner_evaluate(a.learner, a.valid));
    CHECK(!a.training && a.net.dropout.training);
    CHECK_OK(kn_learner_fit(a.learner));
    CHECK_OK(kn_learner_fit(b.learner));
    static const char *const names[] = {"loss", "accuracy"};
    for (int i = 0; i < 2; i++)
        CHECK(kn_learner_value(a.learner, KN_SPLIT_TRAIN, names[i]) ==
              kn_learner_value(b.learner, KN_SPLIT_TRAIN, names[i]));
    run_free(&a);
    run_free(&b);
}

/* A save that is asked for is written, whatever was written at the same step. */
static void saving_writes(void)
{
    Run run;
    const char *folder = fresh_folder();
    char path[600];
    if (!run_make(&run, folder, 1, NULL)) return;
    CHECK_OK(kn_learner_fit(run.learner));
    snprintf(path, sizeof path, "%s/checkpoint/step-00000012.safetensors", folder);
    CHECK(unlink(path) == 0);
    CHECK_OK(kn_learner_save(run.learner));
    CHECK(access(path, R_OK) == 0);
    run_free(&run);
    remove_folder(folder);
}

/* ---- stopping */

static void no_rate(kn_learner_args *a)
{
    a->schedule = NULL;
    a->lr = (double)KN_ZERO;
    a->ema = NULL;
}

static void early_stopping(void)
{
    Run run;
    if (!run_make(&run, NULL, 50, no_rate)) return;
    CHECK_OK(kn_learner_set_early_stopping(
        run.learner, &(kn_early_stopping){.patience = 3, .warm_up = 2, .min_delta = 0}));
    CHECK_OK(kn_learner_fit(run.learner));
    /* Epochs 1 and 2 do not count, 3 sets the mark, 4 to 6 are not better. */
    CHECK(kn_learner_ended(run.learner) == KN_RUN_STOPPED_EARLY && kn_learner_epoch_count(run.learner) == 6);
    CHECK(kn_learner_set_early_stopping(run.learner, &(kn_early_stopping){.metric = "x"}) == KN_OK);
    CHECK_ERROR(kn_learner_fit(run.learner), "watches the metric x");
    run_free(&run);
}

static void renderers_stop_a_run(void)
{
    for (int i = 0; i < 2; i++) {
        Run run;
        Notes notes = {.answer = i ? KN_RENDERER_KILL : KN_RENDERER_STOP, .answer_at = 5};
        const char *folder = fresh_folder();
        if (!run_make(&run, folder, 3, NULL)) return;
        CHECK(kn_learner_add_renderer(run.learner, kn_renderer_make(&notes_type, &notes)) == KN_OK);
        CHECK_OK(kn_learner_fit(run.learner));
        CHECK(kn_learner_ended(run.learner) == KN_RUN_INTERRUPTED && notes.end == KN_RUN_INTERRUPTED);
        CHECK(run.calls == 6); /* the step of two batches is finished */
        bool resumed;
        CHECK_OK(kn_learner_resume(run.learner, &resumed));
        CHECK(resumed == (i == 0));
        run_free(&run);
        remove_folder(folder);
    }
}

/* ---- memory */

static void plain_long(kn_learner_args *a) { a->valid = NULL; }

static void memory_is_flat(void)
{
    Run run;
    if (!run_make(&run, NULL, 20, plain_long)) return;
    CHECK_OK(kn_learner_fit(run.learner));
    kn_memory before = kn_memory_stats();
    run_free(&run);
    if (!run_make(&run, NULL, 10000 / 12 + 1, plain_long)) return;
    CHECK_OK(kn_learner_fit(run.learner));
    CHECK(kn_learner_step_count(run.learner) >= 10000);
    kn_memory after = kn_memory_stats();
    /* Workers may hold a batch more or less at the moment of looking. */
    CHECK(after.tensors_now <= before.tensors_now + 16 && after.bytes_peak <= before.bytes_peak + (1 << 20));
    run_free(&run);
}

/* ---- wrong use */

static kn_status own_step(void *context, const kn_sample *batch, double lr, kn_step_output *output)
{
    Run *run = context;
    kn_grads grads = NULL;
    kn_tensor loss = kn_keep(run_loss(run, batch, output));
    output->loss = loss;
    kn_status s = kn_backward(loss, &grads);
    if (!s) s = kn_optim_step(run->optim, lr, KN_MODULE_OF(Net, &run->net), grads);
    kn_grads_free(grads);
    run->calls++;
    return s;
}

static void custom(kn_learner_args *a)
{
    plain_sgd(a);
    a->train_step = NULL;
    a->custom_step = own_step;
}

static void custom_steps(void)
{
    Run a, b;
    if (!run_make(&a, NULL, 1, custom) || !run_make(&b, NULL, 1, plain_sgd)) return;
    CHECK_OK(kn_learner_fit(a.learner));
    CHECK_OK(kn_learner_fit(b.learner));
    Weights x = run_weights(&a), y = run_weights(&b);
    CHECK(weights_equal(&x, &y) && a.calls == 23);
    run_free(&a);
    run_free(&b);
}

static kn_status failing_step(void *context, const kn_sample *batch, kn_step_output *output)
{
    Run *run = context;
    run_loss(run, batch, output);
    if (++run->calls == 4) output->loss = kn_add(output->loss, kn_zeros(KN_SHAPE(2, 3), KN_F32));
    return KN_OK;
}

static void failing(kn_learner_args *a) { a->train_step = failing_step; }

static kn_status silent_step(void *context, const kn_sample *batch, kn_step_output *output)
{
    run_loss(context, batch, output);
    return KN_ERROR_IO;
}

static void silent(kn_learner_args *a) { a->train_step = silent_step; }

/* Each is told with what is needed to mend it. */
static void reasons(void)
{
    Run run;
    if (!run_make(&run, NULL, 1, silent)) return;
    CHECK_ERROR(kn_learner_fit(run.learner), "train_step returned io and told no reason");
    CHECK_ERROR(kn_learner_add_metric(run.learner, kn_metric_top_k_accuracy(0, -1)),
                "kn_metric_top_k_accuracy");
    CHECK_ERROR(kn_learner_add_renderer(run.learner, kn_logger_csv("")), "kn_logger_csv: the path is empty");
    kn_learner_args args = {.model = KN_MODULE_OF(Net, &run.net),
                            .optim = run.optim,
                            .train = run.train,
                            .train_step = run_train_step,
                            .context = &run,
                            .epochs = 1};
    CHECK(!kn_learner_make(&args) && strstr(kn_last_error(), "neither lr nor a schedule"));
    args.lr = NAN;
    CHECK(!kn_learner_make(&args) && strstr(kn_last_error(), "lr is below 0 or not finite"));
    kn_dataset empty = kn_dataset_tensors((kn_tensor[]){kn_zeros(KN_SHAPE(3, RUN_INPUTS), KN_F32)}, 1);
    kn_loader none = kn_loader_make(empty, &(kn_loader_args){.batch_size = 4, .drop_last = true});
    args.lr = 0.1;
    args.train = none;
    kn_learner l = kn_learner_make(&args);
    CHECK_ERROR(kn_learner_fit(l),
                "the loader of training data has no batch in an epoch: its data set is empty");
    CHECK_ERROR(kn_learner_evaluate(run.learner, none), "the loader of test data has no batch");
    kn_learner_free(l);
    kn_loader_free(none);
    kn_dataset_free(empty);
    run_free(&run);
}

static void misuse(void)
{
    Run run;
    CHECK(kn_learner_make(NULL) == NULL);
    CHECK(kn_learner_make(&(kn_learner_args){0}) == NULL && strstr(kn_last_error(), "no model"));
    CHECK_ERROR(kn_learner_fit(NULL), "NULL");
    if (!run_make(&run, NULL, 1, failing)) return;
    CHECK_ERROR(kn_learner_fit(run.learner), "6 elements instead of one");
    CHECK(kn_learner_ended(run.learner) == KN_RUN_FAILED && kn_learner_step_count(run.learner) == 1);
    CHECK_ERROR(kn_learner_add_metric(run.learner, NULL), "NULL");
    CHECK_ERROR(kn_learner_resume(run.learner, NULL), "no folder");
    CHECK_ERROR(kn_learner_load_best(run.learner), "no best checkpoint");
    CHECK_OK(kn_learner_fit(run.learner)); /* the gradients of the failed step are gone; it goes on */
    CHECK(kn_learner_step_count(run.learner) == 12);
    run_free(&run);
}

int main(void)
{
    kn_device device = kn_device_open("autodiff(cpu)");
    if (!CHECK(device != NULL)) return check_report();
    kn_device_use(device);
    void (*const tests[])(void) = {events_and_validation,
                                   validation_by_choice,
                                   accumulation_averages,
                                   nan_and_saving,
                                   metrics_fail_without_updates,
                                   schedule_waits_for_a_step,
                                   evaluation_leaves_no_trace,
                                   saving_writes,
                                   schedule_by_epochs,
                                   schedule_hears_of_plateau,
                                   policies_of_nan,
                                   early_stopping,
                                   renderers_stop_a_run,
                                   custom_steps,
                                   reasons,
                                   misuse,
                                   memory_is_flat};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        kn_scope scope = kn_scope_begin();
        tests[i]();
        kn_scope_end(scope, KN_NONE);
    }
    CHECK(kn_memory_stats().tensors_now == 0);
    return check_report();
}
