/* The learner as an object: making, freeing, its metrics, renderers and rules. */
#define _POSIX_C_SOURCE 200809L
#include "support/failure.h"
#include "support/file.h"
#include "support/short_text.h"
#include "train/learner_object.h"
#include <kn/tensor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_RUNS = 3 };

static kn_status check_args(const kn_learner_args *a)
{
    const char *wrong = NULL;
    if (!a->model.self || !a->model.type)
        wrong = "there is no model";
    else if (!a->train)
        wrong = "there is no loader of training data";
    else if (!a->train_step && !a->custom_step)
        wrong = "there is no train_step and no custom_step";
    else if (a->train_step && a->custom_step)
        wrong = "there are both a train_step and a custom_step";
    else if (!a->optim && !a->custom_step)
        wrong = "there is no optimiser";
    else if (!a->schedule && !a->custom_step && a->lr == 0)
        wrong = "there is neither lr nor a schedule; KN_ZERO stands for a rate of 0";
    else if (!a->schedule && a->lr != (double)KN_ZERO && !(a->lr >= 0 && a->lr < 1e300))
        wrong = "lr is below 0 or not finite";
    else if (a->valid && !a->valid_step)
        wrong = "there is a loader of validation data but no valid_step";
    else if (a->epochs < 1)
        wrong = "epochs is below 1";
    else if (a->accumulate < 0 || a->valid_every < 0)
        wrong = "accumulate or valid_every is below 0";
    else if (a->custom_step && a->accumulate > 1)
        wrong = "a custom_step accumulates by itself: accumulate must be 0 or 1";
    else if (a->clip && !(a->clip_limit > 0))
        wrong = "clip_limit is not above 0";
    else if (a->nan_policy < KN_NAN_STOP || a->nan_policy > KN_NAN_IGNORE)
        wrong = "there is no such nan_policy";
    return wrong ? kni_failure(KN_ERROR_ARGUMENT, "kn_learner_make: %s", wrong) : KN_OK;
}

/* A copy of text, or of other where there is none. */
static bool copy_text(char **out, const char *text, const char *other)
{
    const char *chosen = text ? text : other;
    char *copy = chosen ? strdup(chosen) : NULL;
    if (chosen && !copy) return false;
    free(*out);
    *out = copy;
    return true;
}

kn_status kni_learner_check_objects(const kn_learner_args *a, const char *function)
{
    const struct {
        const void *handle;
        const kni_object_kind *kind;
    } objects[] = {{a->optim, &kni_kind_optim},
                   {a->schedule, &kni_kind_schedule},
                   {a->train, &kni_kind_loader},
                   {a->valid, &kni_kind_loader},
                   {a->ema, &kni_kind_ema}};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        if (!objects[i].handle) continue;
        kni_object_use use = kni_object_enter(objects[i].handle, objects[i].kind, function);
        if (!use.object) return KN_ERROR_HANDLE;
        kni_object_leave(&use);
    }
    return KN_OK;
}

/* The metric belongs to the learner from here on, also where that fails. */
static kn_status add_metric(kni_learner *l, kn_metric metric, bool train, bool valid, const char *function)
{
    if (!kni_object_adopt(metric, &kni_kind_metric, "kn_learner", function)) return KNI_NO_OBJECT(metric);
    const char *name = kn_metric_name(metric);
    kn_status status = KN_OK;
    if (l->running) status = kni_failure(KN_ERROR_ARGUMENT, "%s: the learner runs", function);
    for (int32_t i = 0; i < l->metric_count && !status; i++)
        if (!strcmp(kn_metric_name(l->metrics[i].metric), name))
            status = kni_failure(KN_ERROR_ARGUMENT, "%s: there is a metric %s already", function, name);
    kni_learner_metric *grown =
        status ? NULL : realloc(l->metrics, (size_t)(l->metric_count + 1) * sizeof *grown);
    if (!status && !grown) status = kni_failure_memory(function);
    if (status) {
        kni_object_free_adopted(metric, &kni_kind_metric, function);
        return status;
    }
    l->metrics = grown;
    grown[l->metric_count++] = (kni_learner_metric){.metric = metric, .on = {train, valid, valid}};
    return KN_OK;
}

static kn_status fill(kni_learner *l, const kn_learner_args *args)
{
    l->args = *args;
    l->args.lr = kn_real_or(l->args.lr, 0);
    if (l->args.accumulate == 0) l->args.accumulate = 1;
    if (l->args.valid_every == 0) l->args.valid_every = 1;
    l->at.best_step = -1;
    l->saved_batches = -1;
    l->ended = KN_RUN_NOT_STARTED;
    l->policy.keep_last = 2;
    l->policy.keep_runs = KEPT_RUNS;
    bool copied = copy_text(&l->name, args->name, "run") && copy_text(&l->folder, args->folder, NULL) &&
                  copy_text(&l->schedule_metric, args->schedule_metric, "loss") &&
                  copy_text(&l->best_metric, NULL, "loss");
    if (copied && l->folder) l->checkpoints = kni_path_join(l->folder, KNI_CHECKPOINTS);
    if (!copied || (l->folder && !l->checkpoints)) return kni_failure_memory("kn_learner_make");
    if (l->args.accumulate > 1 && !(l->accumulator = kn_accumulator_make())) return KN_ERROR_MEMORY;
    kn_status status = add_metric(l, kn_metric_loss(), true, true, "kn_learner_make");
    if (!status && args->grad_norm)
        status = add_metric(l, kn_metric_grad_norm(), true, false, "kn_learner_make");
    return status;
}

static void destroy_learner(void *object)
{
    static const char by[] = "kn_learner_free";
    kni_learner *l = object;
    kni_learner_forget_pending(l);
    for (int32_t i = 0; i < l->metric_count; i++)
        kni_object_free_adopted(l->metrics[i].metric, &kni_kind_metric, by);
    for (int32_t i = 0; i < l->renderer_count; i++)
        kni_object_free_adopted(l->renderer_handles[i], &kni_kind_renderer, by);
    kn_accumulator_free(l->accumulator);
    kni_buffer_free(&l->notes);
    kni_buffer_free(&l->model_text);
    char *texts[] = {l->name, l->folder, l->checkpoints, l->schedule_metric, l->best_metric, l->stop_metric};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) free(texts[i]);
    free(l->metrics);
    free(l->renderers);
    free(l->renderer_handles);
    free(l->metric_names);
    free(l->metric_directions);
    free(l->metric_percents);
    free(l->metric_histories);
    free(l);
}

const kni_object_kind kni_kind_learner = {"kn_learner", "learner", "freed", destroy_learner};

kn_learner kn_learner_make(const kn_learner_args *args)
{
    if (!args) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_learner_make: args is NULL");
        return NULL;
    }
    if (check_args(args) || kni_learner_check_objects(args, __func__)) return NULL;
    kni_learner *l = calloc(1, sizeof *l);
    if (!l) {
        kni_failure_memory("kn_learner_make");
        return NULL;
    }
    atomic_init(&l->stop, 0);
    if (fill(l, args) == KN_OK) return kni_object_make(&kni_kind_learner, l, __func__);
    destroy_learner(l);
    return NULL;
}

void kn_learner_free(kn_learner learner) { kni_object_free(learner, &kni_kind_learner, __func__); }

/* ---- metrics and renderers */

kn_status kn_learner_add_metric(kn_learner learner, kn_metric metric)
{
    KNI_USE(learner, l, learner);
    if (l) return add_metric(l, metric, true, true, __func__);
    kni_object_discard(metric, &kni_kind_metric, __func__);
    return KNI_NO_OBJECT(learner);
}

kn_status kn_learner_add_metric_to(kn_learner learner, kn_metric metric, kn_run_split split)
{
    KNI_USE(learner, l, learner);
    if (l) return add_metric(l, metric, split == KN_SPLIT_TRAIN, split != KN_SPLIT_TRAIN, __func__);
    kni_object_discard(metric, &kni_kind_metric, __func__);
    return KNI_NO_OBJECT(learner);
}

static kn_status add_renderer(kni_learner *l, kn_renderer renderer)
{
    static const char function[] = "kn_learner_add_renderer";
    size_t n = (size_t)l->renderer_count + 1;
    kni_renderer *added = kni_object_adopt(renderer, &kni_kind_renderer, "kn_learner", function);
    if (!added) return KNI_NO_OBJECT(renderer);
    kn_status status = KN_OK;
    if (l->running) status = kni_failure(KN_ERROR_ARGUMENT, "%s: the learner runs", function);
    kni_renderer **renderers = status ? NULL : realloc(l->renderers, n * sizeof *renderers);
    if (renderers) l->renderers = renderers;
    kn_renderer *handles = renderers ? realloc(l->renderer_handles, n * sizeof *handles) : NULL;
    if (handles) l->renderer_handles = handles;
    if (!status && !handles) status = kni_failure_memory(function);
    if (status) {
        kni_object_free_adopted(renderer, &kni_kind_renderer, function);
        return status;
    }
    renderers[l->renderer_count] = added;
    handles[l->renderer_count++] = renderer;
    return KN_OK;
}

kn_status kn_learner_add_renderer(kn_learner learner, kn_renderer renderer)
{
    KNI_USE(learner, l, learner);
    if (l) return add_renderer(l, renderer);
    kni_object_discard(renderer, &kni_kind_renderer, __func__);
    return KNI_NO_OBJECT(learner);
}

/* ---- rules */

kn_status kn_learner_set_checkpoints(kn_learner learner, const kn_checkpoint_policy *policy)
{
    KNI_USE(learner, l, learner);
    if (!l) return KNI_NO_OBJECT(learner);
    if (!policy || policy->keep_last < -1 || policy->keep_runs < -1 || policy->every_steps < 0)
        return kni_failure(KN_ERROR_ARGUMENT,
                           "kn_learner_set_checkpoints: the policy is NULL, keep_last or keep_runs is below "
                           "-1, or every_steps below 0");
    if (!copy_text(&l->best_metric, policy->best_metric, "loss"))
        return kni_failure_memory("kn_learner_set_checkpoints");
    l->policy = *policy;
    l->policy.best_metric = l->best_metric;
    if (l->policy.keep_last == 0) l->policy.keep_last = 2;
    if (l->policy.keep_runs == 0) l->policy.keep_runs = KEPT_RUNS;
    return KN_OK;
}

kn_status kn_learner_set_early_stopping(kn_learner learner, const kn_early_stopping *rule)
{
    KNI_USE(learner, l, learner);
    if (!l) return KNI_NO_OBJECT(learner);
    int64_t patience = rule ? kn_int_or(rule->patience, 5) : 0;
    if (!rule || patience < 0 || rule->warm_up < 0)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_learner_set_early_stopping: the rule is NULL, "
                                              "or patience or warm_up is below 0");
    if (!copy_text(&l->stop_metric, rule->metric, "loss"))
        return kni_failure_memory("kn_learner_set_early_stopping");
    l->stopping = *rule;
    l->stopping.metric = l->stop_metric;
    l->stopping.patience = patience;
    l->stopping.min_delta = kn_real_or(rule->min_delta, 0);
    return KN_OK;
}

/* ---- asking */

kn_run_end kn_learner_ended(kn_learner learner)
{
    KNI_USE(learner, l, learner);
    return l ? l->ended : KN_RUN_FAILED;
}

int64_t kn_learner_step_count(kn_learner learner)
{
    KNI_USE(learner, l, learner);
    return l ? l->at.step : -1;
}

int64_t kn_learner_epoch_count(kn_learner learner)
{
    KNI_USE(learner, l, learner);
    return l ? l->at.epoch : -1;
}

double kn_learner_value(kn_learner learner, kn_run_split split, const char *metric)
{
    KNI_USE(learner, l, learner);
    kni_learner_metric *m = l ? kni_learner_find(l, metric, split) : NULL;
    return m && m->history[split].epochs ? m->history[split].last : (double)__builtin_nan("");
}
