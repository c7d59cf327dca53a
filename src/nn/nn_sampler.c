/* Draws tokens from logits. The device sorts and normalises; the draw itself is on the host, from the sampler's own random
   numbers, so that it does not depend on the device. */
#include "nn/layer.h"
#include "support/argument.h"
#include "support/failure.h"
#include "support/mixing.h"
#include <float.h>
#include <kn/autodiff.h>
#include <kn/elementwise.h>
#include <kn/functional.h>
#include <kn/indexing.h>
#include <kn/nn/sampler.h>
#include <kn/reduce.h>
#include <kn/shape.h>
#include <kn/sort.h>
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

/* Puts the usual values in place of those that were left out. */
static kn_status check_args(kn_sampler_args *a, const char *name)
{
    if (a->temperature == (double)KN_ZERO) a->greedy = true;
    if (a->temperature == 0 || a->greedy) a->temperature = 1;
    if (a->repetition_penalty == 0) a->repetition_penalty = 1;
    if (!(a->temperature > 0))
        return kni_failure(KN_ERROR_ARGUMENT,
                           "%s: temperature is %s; it must be above 0; greedy takes the best token always",
                           name, KNI_NUMBER(a->temperature));
    if (a->top_k < 0)
        return kni_failure(KN_ERROR_ARGUMENT, "%s: top_k is %lld; it must be at least 1, or 0 for all", name,
                           (long long)a->top_k);
    if (!(a->top_p >= 0 && a->top_p <= 1))
        return kni_failure(KN_ERROR_ARGUMENT, "%s: top_p is %s; it must be from 0 to 1", name,
                           KNI_NUMBER(a->top_p));
    if (!(a->repetition_penalty > 0))
        return kni_failure(KN_ERROR_ARGUMENT, "%s: repetition_penalty is %s; it must be above 0", name,
                           KNI_NUMBER(a->repetition_penalty));
    return KN_OK;
}

kn_status kn_sampler_init(kn_sampler *sampler, const kn_sampler_args *args)
{
    static const char name[] = "kn_sampler_init";
    kn_sampler made = {.args = KN_SAMPLER_ARGS_DEFAULTS};
    if (args) made.args = *args;
    made.state = made.args.seed;
    kn_status s = check_args(&made.args, name);
    if (s == KN_OK && !sampler) s = kni_failure(KN_ERROR_ARGUMENT, "%s: the sampler is NULL", name);
    if (s != KN_OK) return kni_layer_clear(sampler, sizeof *sampler, s);
    *sampler = made;
    return KN_OK;
}

/* Uniform on [0, 1): a counter with a mixing function. */
static double draw(kn_sampler *s)
{
    uint64_t z = kni_mix(s->state);
    s->state += KNI_MIX_STEP;
    return (double)(z >> 11) * 0x1p-53;
}

/* No init leaves a temperature or a penalty of 0; garbage is seldom a number above 0 in both. */
static bool was_initialised(const kn_sampler *s)
{
    const kn_sampler_args *a = &s->args;
    unsigned char greedy;
    memcpy(&greedy, &a->greedy, sizeof greedy);
    return a->temperature > 0 && a->repetition_penalty > 0 && a->top_k >= 0 && a->top_p >= 0 &&
           a->top_p <= 1 && greedy <= 1;
}

/* The position in n probabilities, most likely first if there is a top_p, that u falls on; -1 where all are NaN. */
static int64_t choose(const float *p, int64_t n, double top_p, double u)
{
    double total = 0, sum = 0;
    int64_t count = 0, last = -1;
    while (count < n && (top_p == 0 || total < top_p)) total += (double)p[count++];
    for (int64_t i = 0; i < count; i++) {
        if (!(p[i] > 0)) continue;
        last = i;
        sum += (double)p[i];
        if (sum > u * total) return i;
    }
    return last;
}

/* logits [batch, vocabulary], kept. */
static kn_tensor penalise(const kn_sampler *s, kn_tensor logits, kn_tensor history)
{
    if (!history.bits || s->args.repetition_penalty == 1) return logits;
    if (kn_rank(history) == 1) history = kn_unsqueeze(history, 0);
    history = kn_keep(kn_cast(history, KN_I64));
    if (!kn_ok(history)) return history;
    if (kn_rank(history) != 2 || kn_size(history, 0) != kn_size(logits, 0))
        return kn_poison(KN_ERROR_SHAPE,
                         "kn_sampler_next: history must be [tokens], or [batch, tokens] with a row for each "
                         "row of the logits");
    if (kn_size(history, 1) == 0) return logits;
    kn_tensor seen = kn_keep(kn_gather(logits, 1, history));
    kn_tensor lowered = kn_where(kn_less_scalar(seen, 0), kn_mul_scalar(seen, s->args.repetition_penalty),
                                 kn_div_scalar(seen, s->args.repetition_penalty));
    return kn_keep(kn_scatter(logits, 1, history, lowered, KN_UPDATE_ASSIGN));
}

/* The probabilities of each row's candidates in f32, and their tokens (KN_NONE: the position is the token). */
static kn_tensor candidates(const kn_sampler *s, kn_tensor logits, kn_tensor *tokens)
{
    int64_t vocabulary = kn_size(logits, 1);
    bool nucleus = s->args.top_p > 0 && s->args.top_p < 1;
    *tokens = KN_NONE;
    logits = kn_cast(logits, KN_F32);
    if (s->args.top_k > 0 || nucleus) {
        int64_t k = s->args.top_k > 0 && s->args.top_k < vocabulary ? s->args.top_k : vocabulary;
        kn_indexed best = k < vocabulary ? kn_topk(logits, k, 1, NULL) : kn_sort(logits, 1, true);
        logits = best.values;
        *tokens = kn_keep(best.indices);
    }
    return kn_keep(kn_softmax(kn_div_scalar(logits, s->args.temperature), 1));
}

static kn_status no_token(int64_t row)
{
    return kni_failure(KN_ERROR_NUMERIC,
                       "kn_sampler_next: the logits of row %lld hold NaN, or no number above -infinity",
                       (long long)row);
}

static kn_status draw_rows(kn_sampler *s, const float *p, const int64_t *tokens, int64_t rows, int64_t n,
                           int64_t *chosen)
{
    double top_p = s->args.top_p < 1 ? s->args.top_p : 0;
    for (int64_t i = 0; i < rows; i++) {
        int64_t at = choose(p + i * n, n, top_p, draw(s));
        if (at < 0) return no_token(i);
        chosen[i] = tokens ? tokens[i * n + at] : at;
    }
    return KN_OK;
}

/* The best token of each row; a row with NaN has none. */
static kn_tensor take_best(kn_tensor logits)
{
    int64_t rows = kn_size(logits, 0);
    kn_tensor best = kn_keep(kn_cast(kn_max(logits, KN_AXES(1), false), KN_F64));
    double *values = malloc(((size_t)rows + 1) * sizeof *values);
    kn_status status = values ? KN_OK : kni_failure_memory("kn_sampler_next");
    if (status == KN_OK) status = kn_read(best, values, (size_t)rows * sizeof *values);
    for (int64_t i = 0; i < rows && status == KN_OK; i++)
        if (!(values[i] >= -DBL_MAX)) status = no_token(i);
    free(values);
    return status == KN_OK ? kn_argmax(logits, 1, false) : kn_poison(status, NULL);
}

static kn_tensor sample(kn_sampler *s, kn_tensor logits)
{
    kn_tensor tokens, p = candidates(s, logits, &tokens);
    if (!kn_ok(p)) return p;
    int64_t rows = kn_size(p, 0), n = kn_size(p, 1);
    size_t count = (size_t)rows * (size_t)n;
    float *values = malloc((count + 1) * sizeof *values);
    int64_t *names = malloc((count + 1) * sizeof *names);
    int64_t *chosen = malloc(((size_t)rows + 1) * sizeof *chosen);
    kn_status status = values && names && chosen ? KN_OK : kni_failure_memory("kn_sampler_next");
    if (status == KN_OK) status = kn_read(p, values, count * sizeof *values);
    if (status == KN_OK && tokens.bits) status = kn_read(tokens, names, count * sizeof *names);
    if (status == KN_OK) status = draw_rows(s, values, tokens.bits ? names : NULL, rows, n, chosen);
    kn_tensor result = status == KN_OK ? kn_from(chosen, KN_I64, KN_SHAPE(rows)) : kn_poison(status, NULL);
    free(values);
    free(names);
    free(chosen);
    return result;
}

kn_tensor kn_sampler_next(kn_sampler *sampler, kn_tensor logits, kn_tensor history)
{
    KNI_NAMED_CALL;
    if (kni_given(sampler, __func__, "sampler") != KN_OK) return kn_poison(KN_ERROR_ARGUMENT, NULL);
    if (!was_initialised(sampler))
        return kn_poison(KN_ERROR_ARGUMENT,
                         "kn_sampler_next: this sampler was never initialised: call kn_sampler_init() first");
    int32_t rank = kn_rank(logits);
    if (kn_ok(logits) && (rank < 1 || rank > 2 || kn_size(logits, -1) < 1))
        return kn_poison(KN_ERROR_SHAPE,
                         "kn_sampler_next: logits must be [vocabulary] or [batch, vocabulary]");
    kn_scope scope = kn_scope_begin();
    kn_no_grad_begin();
    logits = kn_keep(rank == 1 ? kn_unsqueeze(logits, 0) : logits);
    logits = penalise(sampler, logits, history);
    kn_tensor token = logits;
    if (kn_ok(logits)) token = sampler->args.greedy ? take_best(logits) : sample(sampler, logits);
    if (rank == 1) token = kn_squeeze(token, 0);
    kn_no_grad_end();
    return kn_scope_end(scope, token);
}
