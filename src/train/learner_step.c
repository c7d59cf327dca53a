/* One optimiser step: forward and backward of its batches, the update, and the metrics of the batch before, which are read when
   the device already has work again. */
#include "core/objects.h"
#include "support/failure.h"
#include "support/mixing.h"
#include "train/learner_object.h"
#include <kn/autodiff.h>
#include <kn/device.h>
#include <kn/elementwise.h>
#include <kn/tensor.h>

static const double unknown = __builtin_nan("");

/* ---- random numbers */

void kni_learner_seed(kni_learner *l, uint64_t stream, int64_t batch)
{
    /* Mixed twice before the batch, because recorded runs were: the numbers of a seed stay what they are. */
    uint64_t key = kni_mix(kni_mix(kni_mix(l->args.seed) ^ stream));
    kn_seed(l->device, kni_mix(key ^ (uint64_t)batch));
}

int64_t kni_learner_items(const kn_step_output *output, const kn_sample *batch)
{
    if (output->items > 0) return output->items;
    if (output->scores.bits && kn_rank(output->scores) > 0) return kn_size(output->scores, 0);
    return batch->n && kn_rank(batch->fields[0]) > 0 ? kn_size(batch->fields[0], 0) : 1;
}

/* ---- metrics one batch late */

static bool finite(double x) { return x - x == 0; }

static kn_status stop_at(int64_t step, double loss, double norm)
{
    return kni_failure(KN_ERROR_NUMERIC,
                       "kn_learner_fit: step %lld: the loss is %s and the gradient norm %s; lower the "
                       "learning rate, clip gradients, or set nan_policy",
                       (long long)step, KNI_NUMBER(loss), KNI_NUMBER(norm));
}

/* On the processor a look at the loss costs nothing, so that KN_NAN_STOP looks before the update; elsewhere it would wait for
   the device at each step, and a look one batch later has to do. */
static bool stops_before_update(kni_learner *l)
{
    return l->args.nan_policy == KN_NAN_STOP && kni_device_on_host(l->device);
}

/* Acts on a loss or a norm that is not finite. A skipped update was reported when it was left out. */
static kn_status look_for_nan(kni_learner *l, double loss, double norm, bool has_norm)
{
    kn_nan_policy policy = l->args.nan_policy;
    bool good_loss = finite(loss), good_norm = !has_norm || finite(norm);
    if (policy == KN_NAN_IGNORE || policy == KN_NAN_SKIP || (good_loss && good_norm)) return KN_OK;
    long long step = (long long)l->pending.context.step;
    if (policy == KN_NAN_STOP) {
        l->spoiled = true; /* its update, and perhaps the next one, is done */
        return stop_at(step, loss, norm);
    }
    kni_learner_message(l, KN_SPLIT_TRAIN, "step %lld: the loss is %s and the gradient norm %s", step,
                        KNI_NUMBER(loss), KNI_NUMBER(norm));
    return KN_OK;
}

kn_status kni_learner_flush(kni_learner *l)
{
    kni_pending *p = &l->pending;
    if (!p->full) return KN_OK;
    bool has_norm = p->grad_norm.bits != 0;
    p->context.grad_norm = has_norm ? kn_item(p->grad_norm) : unknown;
    double loss = p->output.loss.bits ? kn_item(p->output.loss) : 0;
    kn_status status = look_for_nan(l, loss, p->context.grad_norm, has_norm);
    if (!status) status = kni_learner_measure(l, KN_SPLIT_TRAIN, &p->output, &p->context);
    kni_learner_forget_pending(l);
    return status;
}

void kni_learner_forget_pending(kni_learner *l)
{
    kni_pending *p = &l->pending;
    kn_tensor held[] = {p->output.loss, p->output.scores, p->output.targets, p->grad_norm};
    for (int i = 0; i < 4; i++) kn_drop(held[i]);
    *p = (kni_pending){0};
}

/* An owned tensor of the same value outside of the tape; KN_NONE stays. */
static kn_status hold(kn_tensor *t)
{
    if (!t->bits) return KN_OK;
    kn_tensor held = kn_own(kn_detach(*t));
    *t = KN_NONE;
    kn_status status = kni_failure_dropped(held);
    if (!status) *t = held;
    return status;
}

/* ---- one batch */

typedef struct step {
    double lr, began;
    int64_t size; /* batches of this step */
    bool bad;     /* a loss is not finite (KN_NAN_SKIP) */
    bool updated; /* the model has made the step */
    double loss;  /* of the latest batch, where stops_before_update */
    kn_grads grads;
} step;

static kn_status check_loss(kn_tensor loss)
{
    if (!loss.bits) return kni_failure(KN_ERROR_ARGUMENT, "kn_learner_fit: train_step returned no loss");
    kn_status status = kni_failure_of(loss);
    if (status || kn_count(loss) == 1) return status;
    return kni_failure(KN_ERROR_SHAPE, "kn_learner_fit: the loss has %lld elements instead of one",
                       (long long)kn_count(loss));
}

/* Forward and backward; gradients go to the step or to the accumulator. */
static kn_status differentiate(kni_learner *l, step *s, const kn_sample *batch, kn_step_output *output)
{
    kni_failure_mark before = kni_failure_mark_now();
    kn_status status = l->args.train_step(l->args.context, batch, output);
    status = kni_failure_since(before, status, "kn_learner_fit: train_step");
    if (!status) status = check_loss(output->loss);
    if (status) return status;
    output->loss = kn_keep(output->loss);
    if (output->scores.bits) output->scores = kn_keep(output->scores);
    if (stops_before_update(l)) {
        s->loss = kn_item(output->loss);
        if (!finite(s->loss)) return stop_at(l->at.step + 1, s->loss, unknown);
    }
    kn_grads grads = NULL;
    status = kn_backward(output->loss, &grads);
    if (status) return status;
    if (l->args.nan_policy == KN_NAN_SKIP) s->bad = s->bad || !finite(kn_item(output->loss));
    if (s->size == 1) {
        s->grads = grads;
        return KN_OK;
    }
    status = kn_accumulator_add(l->accumulator, l->args.model, grads, 1.0 / (double)s->size);
    kn_grads_free(grads);
    return status;
}

static kn_status run_batch(kni_learner *l, step *s, const kn_sample *batch, kni_pending *fresh)
{
    kn_step_output *output = &fresh->output;
    kni_learner_seed(l, 0, l->at.batches);
    kni_failure_mark before = kni_failure_mark_now();
    kn_status status = l->args.custom_step ? l->args.custom_step(l->args.context, batch, s->lr, output)
                                           : differentiate(l, s, batch, output);
    if (l->args.custom_step) status = kni_failure_since(before, status, "kn_learner_fit: custom_step");
    if (status) *output = (kn_step_output){0};
    if (!status) {
        int64_t items = kni_learner_items(output, batch);
        fresh->context = (kn_metric_context){.lr = s->lr, .epoch = l->at.epoch + 1, .items = items};
        kn_tensor *held[] = {&output->loss, &output->scores, &output->targets};
        for (int i = 0; i < 3; i++) {
            if (!status)
                status = hold(held[i]);
            else
                *held[i] = KN_NONE;
        }
    }
    return status;
}

/* ---- the update */

static bool wants_norm(kni_learner *l) { return l->args.grad_norm || l->args.nan_policy != KN_NAN_IGNORE; }

static kn_status update(kni_learner *l, step *s, kn_tensor *norm)
{
    const kn_learner_args *a = &l->args;
    kn_status status = KN_OK;
    if (s->size > 1) status = kn_accumulator_take(l->accumulator, &s->grads);
    if (!status && wants_norm(l)) {
        *norm = kn_grads_norm(s->grads, a->model);
        status = hold(norm);
    }
    if (!status && a->nan_policy == KN_NAN_SKIP && (s->bad || !finite(kn_item(*norm)))) {
        kni_learner_message(l, KN_SPLIT_TRAIN, "step %lld: the %s is not finite; the update is left out",
                            (long long)l->at.step + 1, s->bad ? "loss" : "gradient norm");
        return KN_OK;
    }
    if (!status && stops_before_update(l)) {
        double value = kn_item(*norm);
        if (!finite(value)) status = stop_at(l->at.step + 1, s->loss, value);
    }
    if (!status && a->clip) status = kn_grads_clip(s->grads, a->model, a->clip, a->clip_limit, NULL);
    if (status) return status;
    status = kn_optim_step(a->optim, s->lr, a->model, s->grads);
    if (status) l->spoiled = true; /* some params may have made the step */
    return status;
}

static void tell_progress(kni_learner *l, step *s, int64_t items)
{
    double seconds = kni_monotonic_clock() - l->started, took = kni_monotonic_clock() - s->began;
    int64_t length = kn_loader_length(l->args.train);
    int64_t left = (l->args.epochs - l->at.epoch) * length - l->at.batch;
    kn_progress_event event = {.split = KN_SPLIT_TRAIN,
                               .epoch = l->at.epoch + 1,
                               .epochs = l->args.epochs,
                               .items = l->at.items,
                               .items_total = kn_loader_samples(l->args.train),
                               .batches = l->at.batch,
                               .batches_total = length,
                               .step = l->at.step,
                               .seconds = seconds,
                               .seconds_left = seconds / (double)l->batches * (double)left,
                               .items_per_second = took > 0 ? (double)items / took : 0,
                               .lr = s->lr};
    kni_learner_progress(l, &event);
}

/* One batch in a scope of its own. last: the update comes with it. */
static kn_status step_batch(kni_learner *l, step *s, bool last, bool *ended)
{
    kn_sample batch = {0};
    kni_pending fresh = {.full = true};
    s->began = kni_monotonic_clock();
    kn_status status = kn_loader_next(l->args.train, &batch);
    *ended = !status && batch.n == 0;
    if (status || *ended) return status;
    kn_scope scope = kn_scope_begin();
    status = run_batch(l, s, &batch, &fresh);
    if (!status && last && !l->args.custom_step) status = update(l, s, &fresh.grad_norm);
    if (!status && last && l->args.ema) {
        status = kn_ema_update(l->args.ema, l->args.model);
        if (status) l->spoiled = true;
    }
    kn_sample_drop(&batch);
    kn_scope_end(scope, KN_NONE);
    if (!status) {
        l->at.batches++;
        l->at.batch++;
        l->at.items += fresh.context.items;
        l->at.step += last;
        s->updated = last;
        l->batches++;
        fresh.context.step = l->at.step;
        fresh.context.seconds = kni_monotonic_clock() - s->began;
        status = kni_learner_flush(l);
    }
    int64_t items = fresh.context.items;
    if (l->pending.full) kni_learner_forget_pending(l);
    l->pending = fresh;
    if (status)
        kni_learner_forget_pending(l);
    else
        tell_progress(l, s, items);
    return status;
}

kn_status kni_learner_step(kni_learner *l, bool *ended)
{
    const kn_learner_args *a = &l->args;
    int64_t left = kn_loader_length(a->train) - l->at.batch;
    step s = {.lr = a->lr, .size = left < a->accumulate ? left : a->accumulate};
    *ended = left <= 0;
    if (*ended) return KN_OK;
    if (a->schedule) s.lr = a->schedule_by_epoch ? l->at.lr : kn_schedule_peek(a->schedule);
    kni_position before = l->at;
    kn_status status = KN_OK;
    for (int64_t i = 0; i < s.size && !status && !*ended; i++)
        status = step_batch(l, &s, i + 1 == s.size, ended);
    kn_grads_free(s.grads);
    /* A later run does the step again, unless only the metrics failed after it. A schedule by epochs goes on with the first
       step of one, so that an epoch that begins anew has the same rate. */
    if (status && !s.updated) l->at = before;
    if (s.updated && a->schedule && (!a->schedule_by_epoch || before.batch == 0))
        kn_schedule_next(a->schedule);
    return status;
}
