/* The loop of a run: epochs of training and validation, checkpoints, the reasons to leave. */
#include "core/objects.h"
#include "support/failure.h"
#include "support/file.h"
#include "support/short_text.h"
#include "train/learner_object.h"
#include "train/render_record.h"
#include <kn/device.h>
#include <kn/tensor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kn_run_split watched(kni_learner *l) { return l->args.valid ? KN_SPLIT_VALID : KN_SPLIT_TRAIN; }

/* ---- one epoch */

/* A step that failed in the middle leaves gradients behind. */
static kn_status forget_gradients(kni_learner *l)
{
    kn_grads grads = NULL;
    if (!l->accumulator || kn_accumulator_count(l->accumulator) == 0) return KN_OK;
    kn_status status = kn_accumulator_take(l->accumulator, &grads);
    kn_grads_free(grads);
    return status;
}

static kn_status train_epoch(kni_learner *l)
{
    const kn_learner_args *a = &l->args;
    kn_status status = kn_loader_seek(a->train, l->at.epoch, l->at.batch);
    if (!status) status = forget_gradients(l);
    if (!status && l->at.batch == 0) {
        kni_learner_reset_metrics(l, KN_SPLIT_TRAIN);
        l->at.items = 0;
        if (a->schedule && a->schedule_by_epoch) l->at.lr = kn_schedule_peek(a->schedule);
    }
    bool ended = false;
    while (!status && !atomic_load(&l->stop)) {
        status = kni_learner_step(l, &ended);
        if (status || ended) break;
        bool due = l->policy.every_steps > 0 && l->at.step % l->policy.every_steps == 0;
        if (due && kni_learner_saves(l)) status = kni_learner_write(l);
    }
    if (!status) status = kni_learner_flush(l);
    if (!status && ended) {
        kni_learner_end_epoch(l, KN_SPLIT_TRAIN);
        l->at.trained = 1;
    }
    return status;
}

static bool valid_is_due(kni_learner *l)
{
    int64_t epoch = l->at.epoch + 1;
    return l->args.valid && (epoch % l->args.valid_every == 0 || epoch == l->args.epochs);
}

/* Notes whether the epoch is the best so far; the checkpoint that follows is then kept. */
static void judge_best(kni_learner *l)
{
    kni_learner_metric *m = kni_learner_find(l, l->best_metric, watched(l));
    if (!m) return;
    double value = m->history[watched(l)].last;
    if (value != value) return;
    if (l->at.best_step >= 0 && !kni_learner_better(m, value, l->at.best_value, 0)) return;
    l->at.best_value = value;
    l->at.best_step = l->at.step;
}

static void judge_stopping(kni_learner *l)
{
    kni_learner_metric *m = l->stopping.metric ? kni_learner_find(l, l->stopping.metric, watched(l)) : NULL;
    if (!m || l->at.epoch + 1 <= l->stopping.warm_up) return;
    double value = m->history[watched(l)].last;
    if (value == value &&
        (!l->at.stop_counting || kni_learner_better(m, value, l->at.stop_best, l->stopping.min_delta))) {
        l->at.stop_counting = 1;
        l->at.stop_best = value;
        l->at.stop_waited = 0;
    } else
        l->at.stop_waited++;
}

static bool stopped_early(kni_learner *l)
{
    return l->stopping.metric && l->at.stop_waited > 0 && l->at.stop_waited >= l->stopping.patience;
}

/* What an epoch with a fresh value of the watched split leads to. */
static void judge(kni_learner *l)
{
    judge_best(l);
    judge_stopping(l);
    kni_learner_metric *m = kni_learner_find(l, l->schedule_metric, watched(l));
    if (m && l->args.schedule) kn_schedule_report(l->args.schedule, m->history[watched(l)].last);
}

static kn_status run_epoch(kni_learner *l)
{
    kn_status status = l->at.trained ? KN_OK : train_epoch(l);
    if (status || !l->at.trained) return status;
    bool whole = true, due = valid_is_due(l);
    if (due) status = kni_learner_run_valid(l, l->args.valid, KN_SPLIT_VALID, &whole);
    if (status || !whole) return status;
    if (due || !l->args.valid) judge(l);
    l->at.epoch++;
    l->at.batch = l->at.trained = l->at.items = 0;
    return kni_learner_saves(l) ? kni_learner_write(l) : KN_OK;
}

/* ---- the run */

/* Nothing is left to train, so the weights stay what they are. */
static bool ends_at_once(kni_learner *l) { return l->at.epoch >= l->args.epochs || stopped_early(l); }

static kn_status run_epochs(kni_learner *l)
{
    kn_status status = KN_OK;
    l->ended = KN_RUN_FINISHED;
    while (!status && l->at.epoch < l->args.epochs) {
        if (stopped_early(l)) {
            l->ended = KN_RUN_STOPPED_EARLY;
            kni_learner_message(l, watched(l), "stopped early: %s of %s has not improved for %lld %s",
                                l->stop_metric, kni_record_split_name(watched(l)),
                                (long long)l->at.stop_waited,
                                l->args.valid && l->args.valid_every > 1 ? "validations" : "epochs");
            break;
        }
        int stop = atomic_load(&l->stop);
        if (stop) {
            l->ended = KN_RUN_INTERRUPTED;
            if (stop == KNI_STOP_AFTER_STEP && kni_learner_saves(l)) status = kni_learner_write(l);
            break;
        }
        status = run_epoch(l);
    }
    if (status) l->ended = KN_RUN_FAILED;
    return status;
}

static kn_status check_watched(kni_learner *l)
{
    const struct {
        const char *name, *what;
    } wanted[] = {{l->stopping.metric, "early stopping"}, {l->best_metric, "the best checkpoint"}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (wanted[i].name && wanted[i].name[0] && !kni_learner_find(l, wanted[i].name, watched(l)))
            return kni_failure(
                KN_ERROR_ARGUMENT,
                "kn_learner_fit: %s watches the metric %s, which is not computed for the %s split",
                wanted[i].what, wanted[i].name, l->args.valid ? "valid" : "train");
    return KN_OK;
}

/* A pass over nothing would look like a run that went well. */
static kn_status check_filled(kn_loader loader, const char *function, const char *what)
{
    if (kn_loader_length(loader) > 0) return KN_OK;
    return kni_failure(KN_ERROR_ARGUMENT,
                       "%s: the loader of %s data has no batch in an epoch: its data set is empty, or "
                       "drop_last drops all of it",
                       function, what);
}

static kn_status first_device(void *context, const kn_module_entry *entry)
{
    kn_device *found = context;
    if (!*found) *found = kn_device_of(kn_value(*entry->param));
    return KN_OK;
}

/* What fit and evaluate begin with. */
static kn_status begin(kni_learner *l, bool evaluates, const char *function)
{
    if (l->running) return kni_failure(KN_ERROR_ARGUMENT, "%s: the learner runs already", function);
    l->evaluates = evaluates;
    l->device = NULL;
    kn_module_visit(l->args.model, first_device, &l->device);
    if (!l->device) l->device = kn_device_current();
    if (!l->device || !kni_device_is_open(l->device, function)) return KN_ERROR_DEVICE;
    l->started = kni_monotonic_clock();
    l->batches = 0;
    if (l->folder) {
        kn_status status = kni_folder_make(l->folder);
        if (status) return status;
    }
    kn_status status = kni_learner_start(l);
    l->running = status == KN_OK;
    return status;
}

/* Renderers may fail on their own at the end; the run's error is what the caller hears. */
static kn_status end(kni_learner *l, kn_status status, kn_run_end ended)
{
    char text[600];
    if (status) {
        kni_short_text(text, sizeof text, kni_failure_taken());
        kni_learner_message(l, l->evaluates ? KN_SPLIT_TEST : KN_SPLIT_TRAIN, "%s", text);
    }
    kni_learner_forget_pending(l);
    kni_learner_finish(l, ended);
    l->running = false;
    atomic_store(&l->stop, 0);
    return status ? kni_failure(status, "%s", text) : KN_OK;
}

static kn_status write_summary(kni_learner *l)
{
    size_t length = kni_learner_summary(l, NULL, 0);
    char *path = kni_path_join(l->folder, "summary.txt"), *text = malloc(length + 1);
    kn_status status = path && text ? KN_OK : kni_failure_memory("kn_learner_fit");
    if (!status) {
        kni_learner_summary(l, text, length + 1);
        status = kni_file_write(path, text, length);
    }
    free(path);
    free(text);
    return status;
}

kn_status kn_learner_fit(kn_learner learner)
{
    KNI_USE(learner, l, learner);
    if (!l) return KNI_NO_OBJECT(learner);
    /* The run that is on keeps its checkpoints and its end. */
    if (l->running) return kni_failure(KN_ERROR_ARGUMENT, "kn_learner_fit: the learner runs already");
    kn_status status = kni_learner_check_objects(&l->args, __func__);
    if (!status) status = check_watched(l);
    if (!status) status = check_filled(l->args.train, "kn_learner_fit", "training");
    if (!status && l->args.valid) status = check_filled(l->args.valid, "kn_learner_fit", "validation");
    if (!status && kni_learner_saves(l)) status = kni_learner_prepare_folder(l);
    if (!status) status = begin(l, false, "kn_learner_fit");
    if (status) {
        l->ended = KN_RUN_FAILED;
        return status;
    }
    /* After the renderers' start: what they do on a signal (giving the terminal back) is what a second one leads to. */
    if (l->args.catch_interrupts) status = kni_interrupts_catch(l);
    if (!status) {
        kn_module_train(l->args.model, true);
        if (l->other_weights && !ends_at_once(l))
            kni_learner_message(l, KN_SPLIT_TRAIN,
                                "training goes on at step %lld with the weights of step %lld, which "
                                "kn_learner_load_best loaded: optimiser, schedule and data are those of step "
                                "%lld; to train the newest weights call kn_learner_resume before",
                                (long long)l->at.step, (long long)l->weights_step, (long long)l->at.step);
        l->other_weights = l->other_weights && ends_at_once(l);
        status = run_epochs(l);
    } else
        l->ended = KN_RUN_FAILED;
    if (l->args.catch_interrupts) kni_interrupts_release(l);
    if (!status && l->folder) status = write_summary(l);
    if (status) l->ended = KN_RUN_FAILED;
    return end(l, status, l->ended);
}

kn_status kn_learner_evaluate(kn_learner learner, kn_loader loader)
{
    KNI_USE(learner, l, learner);
    if (!l) return KNI_NO_OBJECT(learner);
    KNI_USE_OTHER(loader, there, loader);
    if (!there) return KNI_NO_OBJECT(loader);
    if (!l->args.valid_step)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_learner_evaluate: there is no valid_step");
    bool whole = false;
    kn_status status = check_filled(loader, "kn_learner_evaluate", "test");
    if (!status) status = begin(l, true, "kn_learner_evaluate");
    if (status) return status;
    int64_t items = l->at.valid_items;
    status = kni_learner_run_valid(l, loader, KN_SPLIT_TEST, &whole);
    l->at.valid_items = items;
    return end(l, status, status ? KN_RUN_FAILED : whole ? KN_RUN_FINISHED : KN_RUN_INTERRUPTED);
}
