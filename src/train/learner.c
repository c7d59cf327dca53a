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

static kn_status fill(kn_learner l, const kn_learner_args *args)
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
    kn_status status = kn_learner_add_metric(l, kn_metric_loss());
    if (!status && args->grad_norm)
        status = kn_learner_add_metric_to(l, kn_metric_grad_norm(), KN_SPLIT_TRAIN);
    return status;
}

kn_learner kn_learner_make(const kn_learner_args *args)
{
    if (!args) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_learner_make: args is NULL");
        return NULL;
    }
    if (check_args(args)) return NULL;
    kn_learner l = calloc(1, sizeof *l);
    if (!l) {
        kni_failure_memory("kn_learner_make");
        return NULL;
    }
    atomic_init(&l->stop, 0);
    if (fill(l, args) == KN_OK) return l;
    kn_learner_free(l);
    return NULL;
}

void kn_learner_free(kn_learner learner)
{
    kn_learner l = learner;
    if (!l) return;
    kni_learner_forget_pending(l);
    for (int32_t i = 0; i < l->metric_count; i++) kn_metric_free(l->metrics[i].metric);
    for (int32_t i = 0; i < l->renderer_count; i++) kn_renderer_free(l->renderers[i]);
    kn_accumulator_free(l->accumulator);
    kni_buffer_free(&l->notes);
    kni_buffer_free(&l->model_text);
    char *texts[] = {l->name, l->folder, l->checkpoints, l->schedule_metric, l->best_metric, l->stop_metric};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) free(texts[i]);
    free(l->metrics);
    free(l->renderers);
    free(l->metric_names);
    free(l->metric_directions);
    free(l->metric_histories);
    free(l);
}

/* ---- metrics and renderers */

/* A NULL is mostly what a constructor that failed has returned; its reason must not be lost. */
static kn_status is_null(const char *function, const char *what)
{
    char latest[400];
    kni_short_text(latest, sizeof latest, kn_last_error());
    return kni_failure(KN_ERROR_ARGUMENT, "%s: the %s is NULL%s%s", function, what,
                       *latest ? "; the latest error: " : "", latest);
}

static kn_status add_metric(kn_learner l, kn_metric metric, bool train, bool valid)
{
    if (!l || !metric) {
        kn_metric_free(metric);
        if (!l) return is_null("kn_learner_add_metric", "learner");
        return is_null("kn_learner_add_metric", "metric");
    }
    const char *name = kn_metric_name(metric);
    kn_status status = KN_OK;
    if (l->running) status = kni_failure(KN_ERROR_ARGUMENT, "kn_learner_add_metric: the learner runs");
    for (int32_t i = 0; i < l->metric_count && !status; i++)
        if (!strcmp(kn_metric_name(l->metrics[i].metric), name))
            status =
                kni_failure(KN_ERROR_ARGUMENT, "kn_learner_add_metric: there is a metric %s already", name);
    kni_learner_metric *grown =
        status ? NULL : realloc(l->metrics, (size_t)(l->metric_count + 1) * sizeof *grown);
    if (!status && !grown) status = kni_failure_memory("kn_learner_add_metric");
    if (status) {
        kn_metric_free(metric);
        return status;
    }
    l->metrics = grown;
    grown[l->metric_count++] = (kni_learner_metric){.metric = metric, .on = {train, valid, valid}};
    return KN_OK;
}

kn_status kn_learner_add_metric(kn_learner learner, kn_metric metric)
{
    return add_metric(learner, metric, true, true);
}

kn_status kn_learner_add_metric_to(kn_learner learner, kn_metric metric, kn_run_split split)
{
    return add_metric(learner, metric, split == KN_SPLIT_TRAIN, split != KN_SPLIT_TRAIN);
}

kn_status kn_learner_add_renderer(kn_learner learner, kn_renderer renderer)
{
    kn_learner l = learner;
    kn_renderer *grown = NULL;
    if (l && renderer) grown = realloc(l->renderers, (size_t)(l->renderer_count + 1) * sizeof *grown);
    if (grown) {
        l->renderers = grown;
        grown[l->renderer_count++] = renderer;
        return KN_OK;
    }
    kn_renderer_free(renderer);
    if (l && renderer) return kni_failure_memory("kn_learner_add_renderer");
    return is_null("kn_learner_add_renderer", l ? "renderer" : "learner");
}

/* ---- rules */

kn_status kn_learner_set_checkpoints(kn_learner learner, const kn_checkpoint_policy *policy)
{
    kn_learner l = learner;
    if (!l || !policy || policy->keep_last < -1 || policy->keep_runs < -1 || policy->every_steps < 0)
        return kni_failure(
            KN_ERROR_ARGUMENT,
            "kn_learner_set_checkpoints: the learner or the policy is NULL, keep_last or keep_runs is below "
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
    kn_learner l = learner;
    int64_t patience = rule ? kn_int_or(rule->patience, 5) : 0;
    if (!l || !rule || patience < 0 || rule->warm_up < 0)
        return kni_failure(KN_ERROR_ARGUMENT,
                           "kn_learner_set_early_stopping: the learner or the rule is NULL, "
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

kn_run_end kn_learner_ended(kn_learner learner) { return learner->ended; }
int64_t kn_learner_step_count(kn_learner learner) { return learner->at.step; }
int64_t kn_learner_epoch_count(kn_learner learner) { return learner->at.epoch; }

double kn_learner_value(kn_learner learner, kn_run_split split, const char *metric)
{
    kni_learner_metric *m = kni_learner_find(learner, metric, split);
    return m && m->history[split].epochs ? m->history[split].last : (double)__builtin_nan("");
}
