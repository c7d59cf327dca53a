/* A pass over a loader without training: validation after an epoch, and evaluation of a finished model. */
#include "support/failure.h"
#include "train/learner_object.h"
#include <kn/autodiff.h>
#include <kn/tensor.h>
#include <stdio.h>
#include <stdlib.h>

static kn_status valid_batch(kni_learner *l, const kn_sample *batch, kn_run_split split, int64_t number,
                             kn_progress_event *progress)
{
    kn_step_output output = {0};
    double began = kni_monotonic_clock();
    kn_scope scope = kn_scope_begin();
    kni_learner_seed(l, 1, number);
    kni_failure_mark before = kni_failure_mark_now();
    kn_status status = l->args.valid_step(l->args.context, batch, &output);
    status = kni_failure_since(before, status, "the learner's valid_step");
    if (!status && output.loss.bits) status = kni_failure_of(output.loss);
    if (!status) {
        int64_t items = kni_learner_items(&output, batch);
        double seconds = kni_monotonic_clock() - began;
        l->at.valid_items += items;
        progress->items += items;
        progress->batches = number + 1;
        progress->seconds = kni_monotonic_clock() - l->started;
        progress->items_per_second = seconds > 0 ? (double)items / seconds : 0;
        kn_metric_context context = {.lr = progress->lr,
                                     .seconds = seconds,
                                     .step = l->at.valid_items,
                                     .epoch = progress->epoch,
                                     .items = items,
                                     .grad_norm = (double)__builtin_nan("")};
        status = kni_learner_measure(l, split, &output, &context);
    }
    kn_scope_end(scope, KN_NONE);
    if (!status) kni_learner_progress(l, progress);
    return status;
}

static kn_status valid_batches(kni_learner *l, kn_loader loader, kn_run_split split, bool *whole)
{
    kn_progress_event progress = {.split = split,
                                  .epoch = kni_learner_epoch(l, split),
                                  .epochs = l->args.epochs,
                                  .items_total = kn_loader_samples(loader),
                                  .batches_total = kn_loader_length(loader),
                                  .step = split == KN_SPLIT_TEST ? kni_learner_weights_step(l) : l->at.step,
                                  .seconds_left = -1,
                                  .lr = l->args.schedule ? kn_schedule_peek(l->args.schedule) : l->args.lr};
    kn_status status = kn_loader_seek(loader, 0, 0);
    *whole = false;
    for (int64_t number = 0; !status && !atomic_load(&l->stop); number++) {
        kn_sample batch = {0};
        status = kn_loader_next(loader, &batch);
        *whole = !status && batch.n == 0;
        if (status || *whole) break;
        status = valid_batch(l, &batch, split, number, &progress);
        kn_sample_drop(&batch);
    }
    return status;
}

/* ---- what a pass leaves as it was */

/* The sums of an epoch of training that is under way: the pass works with the same metrics. */
static kn_status each_sum(kni_learner *l, kn_state state,
                          kn_status (*fn)(kn_metric metric, kn_state state, const char *prefix))
{
    kn_status status = KN_OK;
    kn_scope scope = kn_scope_begin();
    for (int32_t i = 0; i < l->metric_count && !status; i++) {
        char prefix[24];
        snprintf(prefix, sizeof prefix, "%d/", (int)i);
        if (l->metrics[i].on[KN_SPLIT_TRAIN]) status = fn(l->metrics[i].metric, state, prefix);
    }
    kn_scope_end(scope, KN_NONE);
    return status;
}

typedef struct kept {
    kn_state sums; /* NULL outside an epoch of training */
    bool *modes;
    int64_t mode_count;
} kept;

static kn_status keep(kni_learner *l, kept *k)
{
    k->mode_count = kn_module_modes(l->args.model, NULL, 0);
    k->modes = malloc((size_t)k->mode_count + 1);
    if (!k->modes) return kni_failure_memory("kn_learner_evaluate");
    kn_module_modes(l->args.model, k->modes, k->mode_count);
    if (l->at.batch == 0 || l->at.trained) return KN_OK;
    k->sums = kn_state_make();
    return k->sums ? each_sum(l, k->sums, kn_metric_save) : KN_ERROR_MEMORY;
}

static kn_status put_back(kni_learner *l, kept *k)
{
    kn_status status = KN_OK;
    kn_module_set_modes(l->args.model, k->modes, k->mode_count);
    if (k->sums) status = each_sum(l, k->sums, kn_metric_load);
    return status;
}

static void forget(kept *k)
{
    kn_state_free(k->sums);
    free(k->modes);
}

kn_status kni_learner_run_valid(kni_learner *l, kn_loader loader, kn_run_split split, bool *whole)
{
    const kn_learner_args *a = &l->args;
    int64_t items_before = l->at.valid_items;
    kept k = {0};
    kn_status status = keep(l, &k);
    *whole = false;
    if (status) {
        forget(&k);
        return status;
    }
    kni_learner_reset_metrics(l, split);
    if (!a->valid_in_training_mode) kn_module_train(a->model, false);
    if (!a->valid_on_tape) kn_no_grad_begin();
    status = a->ema ? kn_ema_swap(a->ema, a->model) : KN_OK;
    if (!status) {
        status = valid_batches(l, loader, split, whole);
        kn_status back = a->ema ? kn_ema_swap(a->ema, a->model) : KN_OK;
        if (!status) status = back;
    }
    if (!a->valid_on_tape) kn_no_grad_end();
    if (!status && *whole) kni_learner_end_epoch(l, split);
    kn_status back = put_back(l, &k);
    if (!status) status = back;
    forget(&k);
    if (!*whole) l->at.valid_items = items_before; /* it will be run again from its beginning */
    return status;
}
