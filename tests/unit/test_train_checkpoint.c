/* Checkpoints: a resumed run equals an uninterrupted one bit for bit, wherever it stopped; which files are kept; what happens to
   broken files, full disks and folders of other runs; signals. */
#define _DEFAULT_SOURCE
#include "test_train_run.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { EPOCHS = 9 }; /* of 12 steps each: 108 steps */

/* ---- resume */

static void all_metrics(Run *run)
{
    CHECK_OK(kn_learner_add_metric(run->learner, kn_metric_accuracy(-1)));
    CHECK_OK(kn_learner_add_metric(run->learner,
                                   kn_metric_f_beta(1, &(kn_decision){.reduction = KN_CLASS_MACRO})));
    CHECK_OK(kn_learner_add_metric(run->learner, kn_metric_auroc()));
    CHECK_OK(kn_learner_add_metric(run->learner, kn_metric_perplexity(-1)));
}

typedef struct Result {
    Weights weights;
    double values[5][2];
    int64_t steps;
} Result;

static Result result_of(Run *run)
{
    static const char *const names[] = {"loss", "accuracy", "f1_macro", "auroc", "perplexity"};
    Result r;
    memset(&r, 0, sizeof r);
    r.weights = run_weights(run);
    r.steps = kn_learner_step_count(run->learner);
    for (int i = 0; i < 5; i++)
        for (int s = 0; s < 2; s++)
            r.values[i][s] = kn_learner_value(run->learner, (kn_run_split)s, names[i]);
    return r;
}

static Result uninterrupted(void)
{
    Run run;
    Result r;
    memset(&r, 0, sizeof r);
    if (!run_make(&run, NULL, EPOCHS, NULL)) return r;
    all_metrics(&run);
    CHECK_OK(kn_learner_fit(run.learner));
    r = result_of(&run);
    run_free(&run);
    return r;
}

/* Stops in call `stop` of the train step (or of the valid step) and goes on in a new learner. */
static Result in_two_parts(int64_t stop, bool in_valid, int64_t *stopped_at)
{
    Result r;
    memset(&r, 0, sizeof r);
    const char *folder = fresh_folder();
    Run run;
    for (int part = 0; part < 2; part++) {
        if (!run_make(&run, folder, EPOCHS, NULL)) return r;
        all_metrics(&run);
        bool resumed;
        CHECK_OK(kn_learner_resume(run.learner, &resumed));
        CHECK(resumed == (part == 1));
        if (part == 0 && in_valid)
            run.interrupt_valid_call = stop;
        else if (part == 0)
            run.interrupt_call = stop;
        else
            kn_seed(kn_device_current(), 12345); /* what the device's random numbers were must not matter */
        CHECK_OK(kn_learner_fit(run.learner));
        CHECK(kn_learner_ended(run.learner) == (part ? KN_RUN_FINISHED : KN_RUN_INTERRUPTED));
        if (part == 0) *stopped_at = kn_learner_step_count(run.learner);
        r = result_of(&run);
        run_free(&run);
    }
    remove_folder(folder);
    return r;
}

static void resume_is_bit_exact(void)
{
    Result whole = uninterrupted();
    CHECK(whole.steps == 108);
    /* Two batches make a step, 23 batches an epoch: 96 calls are 50 steps and end inside epoch 5; 92 end epoch 4. */
    static const struct {
        int64_t stop, steps;
        bool in_valid;
    } cases[] = {{96, 50, false}, {1, 1, false},   {23, 12, false},
                 {92, 48, false}, {95, 50, false}, {8, 36, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t at = 0;
        Result parts = in_two_parts(cases[i].stop, cases[i].in_valid, &at);
        if (at != cases[i].steps) printf("case %zu stopped at step %lld\n", i, (long long)at);
        CHECK(at == cases[i].steps);
        CHECK(weights_equal(&whole.weights, &parts.weights));
        CHECK(!memcmp(whole.values, parts.values, sizeof whole.values));
        CHECK(parts.steps == whole.steps);
    }
}

static void standing_still(kn_learner_args *a)
{
    a->schedule = NULL;
    a->lr = (double)KN_ZERO;
    a->ema = NULL;
}

/* Early stopping counts on over a resume, and a run that has stopped stays stopped. */
static void stopping_resumes(void)
{
    const char *folder = fresh_folder();
    static const int64_t epochs[] = {4, 50, 50}, want[] = {4, 5, 5};
    for (int i = 0; i < 3; i++) {
        Run run;
        if (!run_make(&run, folder, epochs[i], standing_still)) return;
        CHECK_OK(kn_learner_set_early_stopping(run.learner, &(kn_early_stopping){.patience = 4}));
        CHECK_OK(kn_learner_resume(run.learner, NULL));
        CHECK_OK(kn_learner_fit(run.learner));
        CHECK(kn_learner_epoch_count(run.learner) == want[i]);
        CHECK(kn_learner_ended(run.learner) == (i ? KN_RUN_STOPPED_EARLY : KN_RUN_FINISHED));
        CHECK(i < 2 || run.calls == 0);
        run_free(&run);
    }
    remove_folder(folder);
}

/* Interrupted while the rule warms up, when it sets its mark and while it waits: the run ends after the same epoch. */
static void stopping_resumes_in_each_phase(void)
{
    static const int64_t calls[] = {10, 23, 33, 60, 69, 80, 100, 130};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const char *folder = fresh_folder();
        for (int part = 0; part < 2; part++) {
            Run run;
            if (!run_make(&run, folder, 50, standing_still)) return;
            CHECK_OK(kn_learner_set_early_stopping(
                run.learner, &(kn_early_stopping){.patience = 3, .warm_up = 2, .min_delta = 1e-9}));
            CHECK_OK(kn_learner_resume(run.learner, NULL));
            if (part == 0) run.interrupt_call = calls[i];
            CHECK_OK(kn_learner_fit(run.learner));
            CHECK(kn_learner_ended(run.learner) == (part ? KN_RUN_STOPPED_EARLY : KN_RUN_INTERRUPTED));
            CHECK(part == 0 || kn_learner_epoch_count(run.learner) == 6);
            run_free(&run);
        }
        remove_folder(folder);
    }
}

/* What a step of one's own needs travels with the checkpoint. */
static int64_t extra_number;
static kn_status save_number(void *context, kn_state state, const char *prefix)
{
    (void)context;
    return kn_state_put_int(state, prefix, "number", extra_number);
}
static kn_status load_number(void *context, kn_state state, const char *prefix)
{
    (void)context;
    return kn_state_get_int(state, prefix, "number", &extra_number) ? KN_OK : KN_ERROR_ARGUMENT;
}
static void with_extra(kn_learner_args *a)
{
    a->save_extra = save_number;
    a->load_extra = load_number;
}

static void extras_travel(void)
{
    const char *folder = fresh_folder();
    Run run;
    for (int i = 0; i < 2; i++) {
        if (!run_make(&run, folder, 1, with_extra)) return;
        extra_number = i ? 0 : 4711;
        CHECK_OK(kn_learner_resume(run.learner, NULL));
        CHECK_OK(kn_learner_fit(run.learner));
        CHECK(extra_number == 4711);
        run_free(&run);
    }
    remove_folder(folder);
}

/* ---- files */

/* The names in folder/checkpoint as "12 24", and the number of other files. */
static const char *kept(const char *folder, int *others)
{
    static char text[400];
    char path[600];
    long long steps[64];
    int n = 0;
    snprintf(path, sizeof path, "%s/checkpoint", folder);
    DIR *d = opendir(path);
    text[0] = 0;
    if (others) *others = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        long long step;
        int end = 0;
        if (sscanf(e->d_name, "step-%lld.safetensors%n", &step, &end) == 1 && end && !e->d_name[end] &&
            n < 64) {
            int at = n++;
            for (; at > 0 && steps[at - 1] > step; at--) steps[at] = steps[at - 1];
            steps[at] = step;
        } else if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && others)
            ++*others;
    }
    if (d) closedir(d);
    for (int i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), i ? " %lld" : "%lld", steps[i]);
    return text;
}

/* A metric of validation that follows a table: the best epoch is the third. */
typedef struct Table {
    int epoch;
} Table;
static kn_status table_update(void *self, const kn_step_output *o, const kn_metric_context *c, double *value,
                              double *mean)
{
    static const double values[] = {0.5, 0.6, 0.9, 0.7, 0.8, 0.1, 0.2, 0.3, 0.4};
    (void)self;
    (void)o;
    *value = *mean = values[c->epoch - 1];
    return KN_OK;
}
static const kn_metric_type table_type = {.name = "table", .higher_is_better = true, .update = table_update};

static void policies_keep_files(void)
{
    static const struct {
        kn_checkpoint_policy policy;
        const char *kept;
    } cases[] = {{{.keep_last = 0, .best_metric = "table"}, "36 60 72"},
                 {{.keep_last = 3, .best_metric = ""}, "48 60 72"},
                 {{.keep_last = -1, .best_metric = ""}, "12 24 36 48 60 72"},
                 {{.keep_last = 1, .best_metric = "table", .every_steps = 50}, "36 72"},
                 {{.keep_last = 3, .best_metric = "", .every_steps = 35}, "60 70 72"},
                 {{.off = true}, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *folder = fresh_folder();
        Run run;
        if (!run_make(&run, folder, 6, NULL)) return;
        CHECK_OK(kn_learner_add_metric_to(run.learner, kn_metric_make(&table_type, NULL), KN_SPLIT_VALID));
        CHECK_OK(kn_learner_set_checkpoints(run.learner, &cases[i].policy));
        CHECK_OK(kn_learner_fit(run.learner));
        int others;
        const char *found = kept(folder, &others);
        if (strcmp(found, cases[i].kept)) printf("kept %s instead of %s\n", found, cases[i].kept);
        CHECK(!strcmp(found, cases[i].kept) && others == 0);
        run_free(&run);
        remove_folder(folder);
    }
}

static void best_model_comes_back(void)
{
    const char *folder = fresh_folder();
    Run run;
    Weights third;
    for (int i = 0; i < 2; i++) {
        if (!run_make(&run, folder, i ? 6 : 3, NULL)) return;
        CHECK_OK(kn_learner_add_metric_to(run.learner, kn_metric_make(&table_type, NULL), KN_SPLIT_VALID));
        CHECK_OK(kn_learner_set_checkpoints(run.learner, &(kn_checkpoint_policy){.best_metric = "table"}));
        CHECK_OK(kn_learner_resume(run.learner, NULL));
        CHECK_OK(kn_learner_fit(run.learner));
        if (i == 0) third = run_weights(&run);
        Weights last = run_weights(&run);
        CHECK_OK(kn_learner_load_best(run.learner));
        Weights best = run_weights(&run);
        CHECK(weights_equal(&best, &third) && weights_equal(&last, &third) == (i == 0));
        run_free(&run);
    }
    if (run_make(&run, folder, 6, NULL)) { /* a learner that has not run finds it, too */
        CHECK_OK(kn_learner_load_best(run.learner));
        Weights best = run_weights(&run);
        CHECK(weights_equal(&best, &third));
        run_free(&run);
    }
    remove_folder(folder);
}

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[600];
    snprintf(path, sizeof path, "%s/checkpoint/%s", folder, name);
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static char last_message[400];
static void note_message(void *self, kn_run_split split, const char *text)
{
    (void)self;
    (void)split;
    if (!strstr(text, "resumed")) snprintf(last_message, sizeof last_message, "%s", text);
}
static const kn_renderer_type listener_type = {.name = "listener", .message = note_message};

static void broken_files_are_passed_over(void)
{
    const char *folder = fresh_folder();
    Run run;
    bool resumed;
    if (!run_make(&run, folder, 2, NULL)) return;
    CHECK_OK(kn_learner_fit(run.learner));
    Weights second = run_weights(&run);
    run_free(&run);
    write_text(folder, "step-00000090.safetensors", "not a checkpoint");
    write_text(folder, ".step-00000091.safetensors.tmp", "half of one");
    write_text(folder, "step-x.safetensors", "a stranger's file");
    if (!run_make(&run, folder, 3, NULL)) return;
    CHECK_OK(kn_learner_add_renderer(run.learner, kn_renderer_make(&listener_type, NULL)));
    CHECK_OK(kn_learner_resume(run.learner, &resumed));
    Weights loaded = run_weights(&run);
    CHECK(resumed && weights_equal(&second, &loaded) && kn_learner_epoch_count(run.learner) == 2);
    CHECK_OK(kn_learner_fit(run.learner));
    CHECK(strstr(last_message, "damaged checkpoint is now ") != NULL);
    int others;
    /* The stranger's file stays, and the damaged one under another name. */
    CHECK(!strcmp(kept(folder, &others), "24 36") && others == 2);
    char path[600];
    snprintf(path, sizeof path, "%s/checkpoint/step-00000090.safetensors.damaged", folder);
    CHECK(access(path, R_OK) == 0);
    run_free(&run);
    remove_folder(folder);
}

/* A name whose number is too large is no checkpoint's, and hides none that comes after it. */
static void numbers_that_are_too_large(void)
{
    const char *folder = fresh_folder();
    Run run;
    bool resumed;
    if (!run_make(&run, folder, 2, NULL)) return;
    CHECK_OK(kn_learner_fit(run.learner));
    run_free(&run);
    write_text(folder, "step-0000000099999999999999999999.safetensors", "a stranger's file");
    if (!run_make(&run, folder, 3, NULL)) return;
    CHECK_OK(kn_learner_resume(run.learner, &resumed));
    CHECK(resumed && kn_learner_epoch_count(run.learner) == 2);
    run_free(&run);
    remove_folder(folder);
}

static void runs_do_not_mix(void)
{
    const char *folder = fresh_folder();
    char path[600];
    Run run;
    for (int i = 0; i < 2; i++) {
        if (!run_make(&run, folder, i ? 1 : 2, NULL)) return;
        CHECK_OK(kn_learner_fit(run.learner)); /* without a resume */
        run_free(&run);
    }
    CHECK(!strcmp(kept(folder, NULL), "12"));
    snprintf(path, sizeof path, "%s/checkpoint.1/step-00000024.safetensors", folder);
    CHECK(access(path, R_OK) == 0);
    /* Going back to an earlier file leaves the later ones behind. */
    if (!run_make(&run, folder, 1, NULL)) return;
    snprintf(path, sizeof path, "%s/checkpoint.1/step-00000012.safetensors", folder);
    CHECK_OK(kn_learner_load(run.learner, path));
    CHECK_ERROR(kn_learner_load(run.learner, "nowhere.safetensors"), "nowhere.safetensors");
    CHECK(kn_learner_epoch_count(run.learner) == 1);
    write_text(folder, "step-00000099.safetensors", "abandoned");
    CHECK_OK(kn_learner_save(run.learner));
    CHECK(!strcmp(kept(folder, NULL), "12"));
    run_free(&run);
    remove_folder(folder);
}

static kn_loader other_loader;
static void smaller_batches(kn_learner_args *a)
{
    kn_dataset data = run_data(RUN_SAMPLES, 0);
    a->train = other_loader = kn_loader_make(data, &(kn_loader_args){.batch_size = 2});
    kn_dataset_free(data);
}

static void wrong_checkpoints(void)
{
    const char *folder = fresh_folder();
    char path[600];
    Run run;
    if (!run_make(&run, folder, 1, NULL)) return;
    CHECK_OK(kn_learner_fit(run.learner));
    run_free(&run);
    if (!run_make(&run, folder, 1, smaller_batches)) return;
    CHECK_ERROR(kn_learner_resume(run.learner, NULL), "in batches of 4");
    run_free(&run);
    kn_loader_free(other_loader);
    if (!run_make(&run, folder, 1, NULL)) return;
    kn_state state = kn_state_make();
    snprintf(path, sizeof path, "%s/weights.safetensors", folder);
    CHECK_OK(kn_module_save(KN_MODULE_OF(Net, &run.net), state, ""));
    CHECK_OK(kn_state_write(state, path, KN_STORE_SAFETENSORS));
    CHECK_ERROR(kn_learner_load(run.learner, path), "no checkpoint of a learner");
    kn_state_free(state);
    run_free(&run);
    remove_folder(folder);
}

/* ---- a disk that is full: files end at 2,000 bytes, a checkpoint needs more */

static void full_disks(void)
{
    const char *folder = fresh_folder();
    Run run;
    bool resumed;
    if (!run_make(&run, folder, 3, NULL)) return;
    run.interrupt_call = 30;
    CHECK_OK(kn_learner_fit(run.learner));
    CHECK(kn_learner_step_count(run.learner) == 16);
    struct rlimit before, small;
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    small = before;
    small.rlim_cur = 2000;
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    kn_status status = kn_learner_fit(run.learner);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK_ERROR(status, "the checkpoint of step 24 was not written, older ones are whole");
    CHECK(kn_learner_ended(run.learner) == KN_RUN_FAILED);
    int others;
    CHECK(!strcmp(kept(folder, &others), "12 16") && others == 0);
    run_free(&run);
    if (!run_make(&run, folder, 3, NULL)) return;
    CHECK_OK(kn_learner_resume(run.learner, &resumed));
    CHECK(resumed && kn_learner_step_count(run.learner) == 16);
    CHECK_OK(kn_learner_fit(run.learner));
    run_free(&run);
    remove_folder(folder);
}

/* ---- signals */

static int signal_calls, signal_number;
static kn_status signalling_step(void *context, const kn_sample *batch, kn_step_output *output)
{
    run_loss(context, batch, output);
    if (++signal_calls == 5)
        for (int i = 0; i < signal_number; i++) kill(getpid(), SIGINT);
    return KN_OK;
}

static void catching(kn_learner_args *a)
{
    a->catch_interrupts = true;
    a->train_step = signalling_step;
}

/* The handler may run on any thread. */
static atomic_int old_calls;
static void old_handler(int number)
{
    (void)number;
    old_calls++;
}

static void signals_once(void)
{
    const char *folder = fresh_folder();
    Run run;
    if (!run_make(&run, folder, 2, catching)) return;
    signal(SIGINT, old_handler);
    signal_calls = 0;
    signal_number = 1;
    CHECK_OK(kn_learner_fit(run.learner));
    CHECK(kn_learner_ended(run.learner) == KN_RUN_INTERRUPTED && kn_learner_step_count(run.learner) == 3);
    CHECK(!strcmp(kept(folder, NULL), "3") && old_calls == 0);
    CHECK(raise(SIGINT) == 0 && old_calls == 1); /* the old handler is back */
    signal_calls = 0;
    signal_number = 2;
    CHECK_OK(kn_learner_fit(run.learner)); /* the second one reaches the old handler, which goes on here */
    CHECK(old_calls == 2 && kn_learner_ended(run.learner) == KN_RUN_INTERRUPTED);
    signal(SIGINT, SIG_DFL);
    run_free(&run);
    remove_folder(folder);
}

static void uncaught(kn_learner_args *a) { a->train_step = signalling_step; }

/* Without being told so the learner installs nothing; twice ends the process by the signal, without saving. */
static void signals_end_a_process(void)
{
    for (int i = 0; i < 2; i++) {
        const char *folder = fresh_folder();
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            Run run;
            kn_device_use(kn_device_open("autodiff(cpu)"));
            signal_calls = 0;
            signal_number = i ? 2 : 1;
            if (!run_make(&run, folder, 2, i ? catching : uncaught)) _exit(3);
            _exit(kn_learner_fit(run.learner) == KN_OK ? 0 : 2);
        }
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
        CHECK(!strcmp(kept(folder, NULL), ""));
        remove_folder(folder);
    }
}

int main(void)
{
    signals_end_a_process(); /* forks, so before there are threads */
    kn_device device = kn_device_open("autodiff(cpu)");
    if (!CHECK(device != NULL)) return check_report();
    kn_device_use(device);
    void (*const tests[])(void) = {resume_is_bit_exact,
                                   stopping_resumes,
                                   stopping_resumes_in_each_phase,
                                   extras_travel,
                                   policies_keep_files,
                                   best_model_comes_back,
                                   broken_files_are_passed_over,
                                   numbers_that_are_too_large,
                                   runs_do_not_mix,
                                   wrong_checkpoints,
                                   full_disks,
                                   signals_once};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        kn_scope scope = kn_scope_begin();
        tests[i]();
        kn_scope_end(scope, KN_NONE);
    }
    CHECK(kn_memory_stats().tensors_now == 0);
    return check_report();
}
