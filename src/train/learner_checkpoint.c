/* Checkpoints: the whole state of a run in one file, and back. */
#include "core/objects.h"
#include "support/buffer.h"
#include "support/failure.h"
#include "support/file.h"
#include "support/short_text.h"
#include "train/learner_object.h"
#include <kn/store.h>
#include <kn/tensor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT_NAME "learner/format"
#define FORMAT "1"

/* ---- the position as named numbers */

static const struct {
    const char *name;
    size_t offset;
} whole_numbers[] = {{"step", offsetof(kni_position, step)},
                     {"batches", offsetof(kni_position, batches)},
                     {"epoch", offsetof(kni_position, epoch)},
                     {"batch", offsetof(kni_position, batch)},
                     {"trained", offsetof(kni_position, trained)},
                     {"items", offsetof(kni_position, items)},
                     {"valid_items", offsetof(kni_position, valid_items)},
                     {"best_step", offsetof(kni_position, best_step)},
                     {"stop_waited", offsetof(kni_position, stop_waited)},
                     {"stop_counting", offsetof(kni_position, stop_counting)}},
  real_numbers[] = {{"best_value", offsetof(kni_position, best_value)},
                    {"stop_best", offsetof(kni_position, stop_best)},
                    {"lr", offsetof(kni_position, lr)}};
enum {
    WHOLE = sizeof whole_numbers / sizeof *whole_numbers,
    REAL = sizeof real_numbers / sizeof *real_numbers,
    HISTORY = 5
};

static kn_status put_position(kni_learner *l, kn_state state)
{
    const char *at = (const char *)&l->at;
    kn_status status = kn_state_put_text(state, FORMAT_NAME, FORMAT);
    for (int i = 0; i < WHOLE && !status; i++) {
        int64_t value;
        memcpy(&value, at + whole_numbers[i].offset, sizeof value);
        status = kn_state_put_int(state, "learner/", whole_numbers[i].name, value);
    }
    for (int i = 0; i < REAL && !status; i++) {
        double value;
        memcpy(&value, at + real_numbers[i].offset, sizeof value);
        status = kn_state_put_real(state, "learner/", real_numbers[i].name, value);
    }
    if (l->other_weights && !status)
        status = kn_state_put_int(state, "learner/", "weights_step", l->weights_step);
    if (l->other_weights && !status)
        status = kn_state_put_int(state, "learner/", "weights_epoch", l->weights_epoch);
    return status;
}

static kn_status get_position(kn_state state, kni_position *position)
{
    const char *format = kn_state_get_text(state, FORMAT_NAME);
    if (!format) return kni_failure(KN_ERROR_IO, "the file is no checkpoint of a learner");
    if (strcmp(format, FORMAT) != 0)
        return kni_failure(KN_ERROR_UNSUPPORTED, "the checkpoint has format %.20s, this Kiln reads %s",
                           format, FORMAT);
    char *at = (char *)position;
    for (int i = 0; i < WHOLE; i++) {
        int64_t value;
        if (!kn_state_get_int(state, "learner/", whole_numbers[i].name, &value))
            return kni_failure(KN_ERROR_IO, "the checkpoint has no learner/%s", whole_numbers[i].name);
        memcpy(at + whole_numbers[i].offset, &value, sizeof value);
    }
    for (int i = 0; i < REAL; i++) {
        double value;
        if (!kn_state_get_real(state, "learner/", real_numbers[i].name, &value))
            return kni_failure(KN_ERROR_IO, "the checkpoint has no learner/%s", real_numbers[i].name);
        memcpy(at + real_numbers[i].offset, &value, sizeof value);
    }
    bool sound = position->step >= 0 && position->batches >= 0 && position->epoch >= 0 &&
                 position->batch >= 0 && position->items >= 0;
    return sound ? KN_OK : kni_failure(KN_ERROR_IO, "the checkpoint's position is negative");
}

/* ---- metrics: their sums in the middle of an epoch, their histories always */

static bool in_epoch(const kni_position *at) { return at->batch > 0 && !at->trained; }

static const char *metric_prefix(kni_buffer *text, const kni_learner_metric *m)
{
    kni_buffer_clear(text);
    kni_buffer_format(text, "learner/metric/%s/", kn_metric_name(m->metric));
    return text->failed ? NULL : kni_buffer_string(text);
}

static kn_status put_metric(kni_learner_metric *m, bool sums, kn_state state, const char *prefix)
{
    double history[KNI_SPLITS][HISTORY];
    for (int s = 0; s < KNI_SPLITS; s++) {
        const kn_metric_history *h = &m->history[s];
        const double row[HISTORY] = {h->first, h->last, h->best, (double)h->epochs, (double)h->best_epoch};
        memcpy(history[s], row, sizeof row);
    }
    kn_status status =
        kn_state_put(state, prefix, "history", kn_from(history, KN_F64, KN_SHAPE(KNI_SPLITS, HISTORY)));
    if (!status && sums && m->on[KN_SPLIT_TRAIN]) status = kn_metric_save(m->metric, state, prefix);
    return status;
}

/* A metric that the checkpoint does not know begins here. */
static kn_status get_metric(kni_learner_metric *m, bool sums, kn_state state, const char *prefix)
{
    double history[KNI_SPLITS][HISTORY];
    kn_tensor t = kn_state_get(state, prefix, "history");
    kn_metric_reset(m->metric);
    memset(m->history, 0, sizeof m->history);
    if (!t.bits) return KN_OK;
    kn_status status = kn_count(t) == KNI_SPLITS * HISTORY
                           ? kn_read_as(t, KN_F64, history, sizeof history)
                           : kni_failure(KN_ERROR_IO, "%shistory has a wrong size", prefix);
    for (int s = 0; s < KNI_SPLITS && !status; s++) {
        const double *h = history[s];
        m->history[s] = (kn_metric_history){h[0], h[1], h[2], (int64_t)h[3], (int64_t)h[4]};
    }
    double mean;
    bool saved = kn_state_get_real(state, prefix, "mean", &mean);
    if (!status && sums && saved && m->on[KN_SPLIT_TRAIN]) status = kn_metric_load(m->metric, state, prefix);
    return status;
}

static kn_status each_metric(kni_learner *l, kn_state state,
                             kn_status (*fn)(kni_learner_metric *, bool, kn_state, const char *))
{
    kni_buffer text = {0};
    kn_status status = KN_OK;
    for (int32_t i = 0; i < l->metric_count && !status; i++) {
        const char *prefix = metric_prefix(&text, &l->metrics[i]);
        status =
            prefix ? fn(&l->metrics[i], in_epoch(&l->at), state, prefix) : kni_failure_memory("a checkpoint");
    }
    kni_buffer_free(&text);
    return status;
}

/* ---- writing */

bool kni_learner_saves(kni_learner *l) { return l->folder && !l->policy.off; }

static kn_status fill(kni_learner *l, kn_state state)
{
    const kn_learner_args *a = &l->args;
    kn_status status = kn_module_save(a->model, state, "model/");
    if (!status && a->optim) status = kn_optim_save(a->optim, a->model, state, "optim/");
    if (!status && a->schedule) status = kn_schedule_save(a->schedule, state, "schedule/");
    if (!status && a->ema) status = kn_ema_save(a->ema, a->model, state, "ema/");
    if (!status) status = kn_loader_save(a->train, state, "loader/");
    if (!status) status = put_position(l, state);
    if (!status) status = each_metric(l, state, put_metric);
    kni_failure_mark before = kni_failure_mark_now();
    if (!status && a->save_extra)
        status = kni_failure_since(before, a->save_extra(a->context, state, "extra/"), "save_extra");
    return status;
}

kn_status kni_learner_write(kni_learner *l)
{
    kn_status status = kni_learner_flush(l);
    if (status) return status;
    if (l->spoiled)
        return kni_failure(KN_ERROR_NUMERIC,
                           "nothing is saved: the weights are not those of step %lld, a bad update went into "
                           "them: resume from the last checkpoint",
                           (long long)l->at.step);
    if (l->saved_batches == l->at.batches && l->saved_epoch == l->at.epoch &&
        l->saved_trained == l->at.trained)
        return KN_OK;
    kni_learner_flush_renderers(l);
    kn_state state = kn_state_make();
    char *path = kni_learner_path(l, l->at.step);
    if (!state || !path) status = kni_failure_memory("writing a checkpoint");
    kn_scope scope = kn_scope_begin();
    if (!status) status = kni_folder_make(l->checkpoints);
    if (!status) status = fill(l, state);
    if (!status) status = kn_state_write(state, path, KN_STORE_SAFETENSORS);
    kn_scope_end(scope, KN_NONE);
    kn_state_free(state);
    free(path);
    if (status) {
        char text[500];
        kni_short_text(text, sizeof text, kni_failure_taken());
        return kni_failure(status, "the checkpoint of step %lld was not written, older ones are whole: %s",
                           (long long)l->at.step, text);
    }
    l->saved_batches = l->at.batches;
    l->saved_epoch = l->at.epoch;
    l->saved_trained = l->at.trained;
    kni_learner_prune(l);
    return KN_OK;
}

kn_status kn_learner_save(kn_learner learner)
{
    KNI_USE(learner, l, learner);
    if (!l) return KNI_NO_OBJECT(learner);
    if (l->running || !l->folder)
        return kni_failure(KN_ERROR_ARGUMENT,
                           "kn_learner_save: the learner has no folder, or runs and saves by itself");
    l->saved_batches = -1; /* the weights may have changed since then by other hands */
    return kni_learner_write(l);
}

/* ---- reading */

/* The state is whole; what does not fit the learner is an error. */
static kn_status apply(kni_learner *l, kn_state state)
{
    const kn_learner_args *a = &l->args;
    kni_position position;
    kn_status status = get_position(state, &position);
    if (!status) status = kn_loader_load(a->train, state, "loader/");
    if (!status) status = kn_module_load(a->model, state, "model/");
    if (!status && a->optim) status = kn_optim_load(a->optim, a->model, state, "optim/");
    if (!status && a->schedule) status = kn_schedule_load(a->schedule, state, "schedule/");
    if (!status && a->ema) status = kn_ema_load(a->ema, a->model, state, "ema/");
    if (!status) {
        l->at = position;
        l->other_weights = kn_state_get_int(state, "learner/", "weights_step", &l->weights_step) &&
                           kn_state_get_int(state, "learner/", "weights_epoch", &l->weights_epoch);
        status = each_metric(l, state, get_metric);
    }
    kni_failure_mark before = kni_failure_mark_now();
    if (!status && a->load_extra)
        status = kni_failure_since(before, a->load_extra(a->context, state, "extra/"), "load_extra");
    l->resumed = !status;
    if (!status) l->ended = KN_RUN_NOT_STARTED; /* an earlier fit did not end here */
    if (!status) l->spoiled = false;
    l->saved_batches = -1;
    return status;
}

/* Reads a file into a new state; *state is NULL on failure. */
static kn_status read_state(const char *path, kn_state *state)
{
    *state = kn_state_make();
    if (!*state) return KN_ERROR_MEMORY;
    kn_scope scope = kn_scope_begin();
    kn_status status = kn_state_read(*state, path);
    kn_scope_end(scope, KN_NONE);
    if (!status) return KN_OK;
    kn_state_free(*state);
    *state = NULL;
    return status;
}

static kn_status apply_named(kni_learner *l, kn_state state, const char *path)
{
    char text[400];
    kn_scope scope = kn_scope_begin();
    kn_status status = apply(l, state);
    kn_scope_end(scope, KN_NONE);
    if (!status) return KN_OK;
    kni_short_text(text, sizeof text, kni_failure_taken());
    return kni_failure(status, "%.150s: %s", path, text);
}

/* Reads one checkpoint. A damaged one is no failure, but *state is NULL; with aside it is renamed. */
static kn_status read_sound(kni_learner *l, const char *path, bool aside, kn_state *state)
{
    uint64_t damages = kni_damage_count();
    kn_status status = read_state(path, state);
    /* Everything but proof of damage may be better the next time, so the run must not go on from an older file. */
    if (!status || kni_damage_count() == damages) return status;
    kni_learner_message(l, KN_SPLIT_TRAIN, "the checkpoint %s is passed over: %s", path, kni_failure_taken());
    return aside ? kni_learner_set_aside(l, path) : KN_OK;
}

/* The newest checkpoint that is not damaged; *state is NULL where there is none. */
static kn_status read_newest(kni_learner *l, bool aside, kn_state *state, char **path)
{
    kni_step_list list;
    kn_status status = kni_learner_list(l, &list);
    *state = NULL;
    *path = NULL;
    for (int64_t i = list.count - 1; i >= 0 && !status && !*state; i--) {
        free(*path);
        *path = kni_learner_path(l, list.steps[i]);
        status = *path ? read_sound(l, *path, aside, state) : kni_failure_memory("kn_learner_resume");
    }
    free(list.steps);
    return status;
}

static kn_status check_idle(kni_learner *l, const char *function)
{
    return l->running ? kni_failure(KN_ERROR_ARGUMENT, "%s: the learner runs", function) : KN_OK;
}

kn_status kn_learner_resume(kn_learner learner, bool *resumed)
{
    if (resumed) *resumed = false;
    KNI_USE(learner, l, learner);
    if (!l) return KNI_NO_OBJECT(learner);
    kn_status status = check_idle(l, "kn_learner_resume");
    if (status) return status;
    if (!l->folder) return kni_failure(KN_ERROR_ARGUMENT, "kn_learner_resume: the learner has no folder");
    kni_learner_remove_leftovers(l);
    kn_state state;
    char *path;
    status = read_newest(l, true, &state, &path);
    if (!status && state) {
        status = apply_named(l, state, path);
        if (!status) kni_learner_message(l, KN_SPLIT_TRAIN, "resumed from %s", path);
        if (!status && resumed) *resumed = true;
    }
    kn_state_free(state);
    free(path);
    return status;
}

kn_status kn_learner_load(kn_learner learner, const char *path)
{
    KNI_USE(learner, l, learner);
    if (!l) return KNI_NO_OBJECT(learner);
    kn_status status = check_idle(l, "kn_learner_load");
    if (status) return status;
    if (!path) return kni_failure(KN_ERROR_ARGUMENT, "kn_learner_load: the path is NULL");
    kn_state state;
    status = read_state(path, &state);
    if (!status) status = apply_named(l, state, path);
    kn_state_free(state);
    return status;
}

/* The step of the best checkpoint: of this run, else as the newest checkpoint has it; -1 where there is none. */
static kn_status best_step(kni_learner *l, int64_t *step)
{
    kn_state state = NULL;
    char *path = NULL;
    *step = l->at.best_step;
    if (*step >= 0 || !l->folder) return KN_OK;
    kn_status status = read_newest(l, false, &state, &path);
    if (!status && state) kn_state_get_int(state, "learner/", "best_step", step);
    kn_state_free(state);
    free(path);
    return status;
}

/* Results of a test belong to the place that the weights come from. */
static void note_weights(kni_learner *l, kn_state state)
{
    l->other_weights = kn_state_get_int(state, "learner/", "step", &l->weights_step) &&
                       kn_state_get_int(state, "learner/", "epoch", &l->weights_epoch);
}

kn_status kn_learner_load_best(kn_learner learner)
{
    KNI_USE(learner, l, learner);
    if (!l) return KNI_NO_OBJECT(learner);
    int64_t step = -1;
    kn_status status = check_idle(l, "kn_learner_load_best");
    if (!status) status = best_step(l, &step);
    if (status) return status;
    if (step < 0 || !l->folder)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_learner_load_best: no best checkpoint is kept");
    char *path = kni_learner_path(l, step);
    if (!path) return kni_failure_memory("kn_learner_load_best");
    kn_state state = NULL;
    if (!kni_file_exists(path))
        status = kni_failure(KN_ERROR_ARGUMENT, "kn_learner_load_best: %s is gone", path);
    else
        status = read_state(path, &state);
    kn_scope scope = kn_scope_begin();
    if (!status) status = kn_module_load(l->args.model, state, "model/");
    if (!status && l->args.ema) status = kn_ema_load(l->args.ema, l->args.model, state, "ema/");
    kn_scope_end(scope, KN_NONE);
    if (!status) note_weights(l, state);
    kn_state_free(state);
    free(path);
    return status;
}
