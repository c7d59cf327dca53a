/* Running a program: rounds with other values and other numbers over the same params, each with a backward pass and a step
   of an optimiser, as a loop of training runs them. From the third round on a device that records replays. */
#ifndef PROGRAM_RUN_H
#define PROGRAM_RUN_H

#include "program_bounds.h"
#include <kn/update.h>

typedef struct how {
    bool gradients, keep_all; /* keep_all: no value is taken by the step that reads it last */
    int rounds;
} how;

/* What lives through all rounds. */
typedef struct trained {
    kn_param params[PARAMS];
    kn_tensor first[PARAMS], second[PARAMS]; /* the optimiser's */
} trained;

static void begin_params(const program *p, trained *t)
{
    for (int i = 0; i < p->n_params; i++) {
        t->params[i] = kn_param_make(param_value(p, i));
        t->first[i] = kn_own(kn_zeros(p->param_shapes[i], p->param_dtypes[i]));
        t->second[i] = kn_own(kn_zeros(p->param_shapes[i], p->param_dtypes[i]));
    }
}

static void end_params(const program *p, trained *t)
{
    for (int i = 0; i < p->n_params; i++) {
        kn_param_drop(&t->params[i]);
        kn_drop(t->first[i]);
        kn_drop(t->second[i]);
    }
}

/* The sum of all float outputs that depend on a leaf, as one number to differentiate. */
static kn_tensor total_of(const program *p, const values *v)
{
    kn_tensor total = KN_NONE;
    for (int i = 0; i < p->n_steps; i++) {
        kn_tensor y = v->t[p->n_leaves + i];
        if (!p->steps[i].output || !kn_dtype_is_float(kn_dtype_of(y)) || !kn_is_require_grad(y)) continue;
        kn_tensor part = kn_mean(kn_cast(y, KN_F32), KN_AXES_ALL, false);
        total = total.bits ? kn_add(total, part) : part;
    }
    return total;
}

/* A learning rate that follows a schedule, and all the rest as it is. */
static kn_status update_param(const program *p, trained *t, int i, kn_tensor gradient, int round)
{
    double lr = 0.02 / (1 + round);
    if (p->optimiser == SGD || p->optimiser == SGD_MOMENTUM) {
        kn_sgd_update_args args = {.lr = lr, .momentum = 0.9, .weight_decay = 0.01, .first = round == 0};
        return kn_sgd_update(&t->params[i], gradient, p->optimiser == SGD ? NULL : &t->first[i], &args);
    }
    kn_adam_update_args args = {.lr = lr,
                                .beta1 = 0.9,
                                .beta2 = 0.99,
                                .eps = 1e-4,
                                .weight_decay = 0.01,
                                .step = round + 1,
                                .decoupled = p->optimiser == ADAMW};
    return kn_adam_update(&t->params[i], gradient, &t->first[i], &t->second[i], NULL, &args);
}

/* A value that is read in the middle: what was queued so far has to run. */
static void read_now(kn_tensor y)
{
    size_t bytes = (size_t)kn_dtype_bytes(kn_dtype_of(y), kn_count(y));
    unsigned char *scratch = malloc(bytes + 1);
    if (scratch) (void)!kn_read(y, scratch, bytes);
    free(scratch);
}

static void run_steps(const program *p, const how *h, const trained *t, int round, values *v)
{
    kn_tensor params[PARAMS] = {{0}};
    for (int i = 0; i < p->n_params; i++) params[i] = kn_value(t->params[i]);
    for (int i = 0; i < p->n_leaves; i++) {
        kn_tensor x = kn_keep(leaf(p, i, round));
        v->t[v->n++] = h->gradients && kn_dtype_is_float(p->dtypes[i]) ? kn_require_grad(x) : x;
    }
    for (int i = 0; i < p->n_steps; i++) {
        const step *s = &p->steps[i];
        surroundings at = {p, params, round, i};
        kn_tensor y = run_step(s, &at, v->t[s->in[0]], v->t[s->in[1]], v->t[s->in[2]]);
        if (s->keep || h->keep_all) y = kn_keep(y);
        v->t[v->n++] = y;
        if (s->read && (s->keep || h->keep_all)) read_now(y);
    }
}

static void run_round(const program *p, const how *h, trained *t, int round, result *r)
{
    kn_scope scope = kn_scope_begin();
    values v = {.n = 0};
    run_steps(p, h, t, round, &v);
    kn_tensor total = h->gradients ? total_of(p, &v) : KN_NONE;
    kn_grads grads = NULL;
    if (total.bits) {
        total = kn_keep(total);
        /* Without gradients on either device there would be nothing to compare: all that is drawn has them. */
        if (!CHECK(kn_backward(total, &grads) == KN_OK)) {
            printf("program %llu, round %d on %s: %s\n", (unsigned long long)p->seed, 1 + round,
                   kn_device_name(kn_device_current()), kn_last_error());
            grads = NULL;
        }
    }
    bool updates = grads && p->optimiser != NO_OPTIMISER;
    for (int i = 0; i < p->n_params && updates; i++) {
        kn_tensor g = kn_grads_get(grads, kn_value(t->params[i]));
        if (!g.bits) continue;
        /* Params stay finite: after a NaN the other rounds would tell nothing. */
        g = kn_where(kn_is_finite(g), g, kn_scalar(0, p->param_dtypes[i]));
        if (update_param(p, t, i, g, round) != KN_OK)
            snprintf(r->error, sizeof r->error, "%s", kn_last_error());
    }
    int at = round * PER_ROUND;
    for (int i = 0; i < p->n_steps; i++)
        if (p->steps[i].output) note(r, at + i, v.t[p->n_leaves + i]);
    at += MOST;
    for (int i = 0; i < p->n_leaves && grads; i++) note(r, at + i, kn_grads_get(grads, v.t[i]));
    at += LEAVES;
    for (int i = 0; i < p->n_params && grads; i++) {
        note(r, at + i, kn_grads_get(grads, kn_value(t->params[i])));
        if (!updates) continue;
        note(r, at + PARAMS + i, kn_value(t->params[i]));
        note(r, at + 2 * PARAMS + i, t->first[i]);
        note(r, at + 3 * PARAMS + i, t->second[i]);
    }
    if (grads) kn_grads_free(grads);
    kn_scope_end(scope, KN_NONE);
}

/* All rounds; r is freed by free_result. */
static void run_program(const program *p, kn_device device, how h, result *r)
{
    trained t;
    memset(r, 0, sizeof *r);
    r->n = h.rounds * PER_ROUND;
    kn_device_use(device);
    kn_seed(device, p->seed);
    begin_params(p, &t);
    for (int round = 0; round < h.rounds; round++) run_round(p, &h, &t, round, r);
    end_params(p, &t);
}

#endif
