/* L-BFGS: a step of several evaluations with a memory of past steps, as PyTorch's. */
#include "core/objects.h"
#include "optim/lbfgs_problem.h"
#include "optim/optim_object.h"
#include "support/buffer.h"
#include "support/failure.h"
#include "support/module_ready.h"
#include <kn/elementwise.h>
#include <kn/linalg.h>
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

struct kni_lbfgs {
    int64_t iterations;
    kn_tensor direction, previous; /* the last direction and gradient, owned */
    double t, scale;               /* the last step along it; the first guess of the inverse Hessian */
    kn_tensor *changes, *steps;    /* of gradient and of position, the oldest first, owned */
    double *ro, *alpha;            /* 1 / (change . step); of the recursion */
    int32_t n;
};

static unsigned no_states(kni_optim *optim)
{
    (void)optim;
    return 0;
}

const kni_optim_rule kni_rule_lbfgs = {"lbfgs", {NULL}, no_states, NULL, NULL};

kn_optim kn_optim_lbfgs(const kn_lbfgs_args *args)
{
    const char *function = "kn_optim_lbfgs";
    static const kn_lbfgs_args usual = KN_LBFGS_ARGS_DEFAULTS;
    kn_lbfgs_args a = args ? *args : usual;
    a.max_iterations = a.max_iterations ? a.max_iterations : usual.max_iterations;
    a.history = a.history ? a.history : usual.history;
    a.tolerance_grad = kn_real_or(a.tolerance_grad, usual.tolerance_grad);
    a.tolerance_change = kn_real_or(a.tolerance_change, usual.tolerance_change);
    const kni_optim_field fields[] = {{"max_iterations", a.max_iterations},
                                      {"history", a.history},
                                      {"tolerance_grad", a.tolerance_grad},
                                      {"tolerance_change", a.tolerance_change}};
    if (kni_optim_check_fields(fields, 4, function)) return NULL;
    kni_optim *optim = kni_optim_new(&kni_rule_lbfgs, &a, sizeof a, function);
    kni_lbfgs *m = optim ? calloc(1, sizeof *m) : NULL;
    if (m) {
        optim->lbfgs = m;
        m->changes = calloc((size_t)a.history, sizeof *m->changes);
        m->steps = calloc((size_t)a.history, sizeof *m->steps);
        m->ro = calloc((size_t)a.history, sizeof *m->ro);
        m->alpha = calloc((size_t)a.history, sizeof *m->alpha);
        m->scale = 1;
        if (m->changes && m->steps && m->ro && m->alpha)
            return kni_object_make(&kni_kind_optim, optim, function);
    }
    kni_failure_memory(function);
    if (optim) kni_optim_destroy(optim);
    return NULL;
}

static void forget(kni_lbfgs *m)
{
    for (int32_t i = 0; i < m->n; i++) {
        kn_drop(m->changes[i]);
        kn_drop(m->steps[i]);
    }
    kn_drop(m->direction);
    kn_drop(m->previous);
    m->direction = m->previous = KN_NONE;
    m->n = 0;
    m->iterations = 0;
    m->scale = 1;
}

void kni_lbfgs_free(kni_lbfgs *m)
{
    if (!m) return;
    if (m->changes && m->steps) forget(m);
    free(m->changes);
    free(m->steps);
    free(m->ro);
    free(m->alpha);
    free(m);
}

/* Remembers the last step where the loss curves upwards along it. */
static void remember(kni_lbfgs_problem *p, kni_lbfgs *m, kn_tensor gradient, int32_t history)
{
    kn_tensor change = KN_NONE, step = KN_NONE;
    kni_lbfgs_set(p, &change, kn_sub(gradient, m->previous));
    kni_lbfgs_set(p, &step, kn_mul_scalar(m->direction, m->t));
    double curved = kni_lbfgs_dot(p, change, step);
    double square = kni_lbfgs_dot(p, change, change);
    if (p->status || !(curved > 1e-10)) {
        kn_drop(change);
        kn_drop(step);
        return;
    }
    if (m->n == history) {
        size_t rest = (size_t)(m->n - 1);
        kn_drop(m->changes[0]);
        kn_drop(m->steps[0]);
        memmove(m->changes, m->changes + 1, rest * sizeof *m->changes);
        memmove(m->steps, m->steps + 1, rest * sizeof *m->steps);
        memmove(m->ro, m->ro + 1, rest * sizeof *m->ro);
        m->n--;
    }
    m->changes[m->n] = change;
    m->steps[m->n] = step;
    m->ro[m->n++] = 1 / curved;
    m->scale = curved / square;
}

/* q = q + factor x for an owned q */
static void add_to(kni_lbfgs_problem *p, kn_tensor *q, kn_tensor x, double factor)
{
    if (p->status == KN_OK) kni_lbfgs_set(p, q, kn_add(*q, kn_mul_scalar(x, factor)));
}

/* The direction: minus the gradient times the approximate inverse Hessian. */
static void find_direction(kni_lbfgs_problem *p, kni_lbfgs *m, kn_tensor gradient, int32_t history)
{
    if (m->iterations > 1) remember(p, m, gradient, history);
    kn_tensor q = KN_NONE;
    kni_lbfgs_set(p, &q, kn_neg(gradient));
    for (int32_t i = m->n - 1; i >= 0; i--) {
        m->alpha[i] = kni_lbfgs_dot(p, m->steps[i], q) * m->ro[i];
        add_to(p, &q, m->changes[i], -m->alpha[i]);
    }
    if (m->n > 0 && p->status == KN_OK) kni_lbfgs_set(p, &q, kn_mul_scalar(q, m->scale));
    for (int32_t i = 0; i < m->n; i++)
        add_to(p, &q, m->steps[i], m->alpha[i] - kni_lbfgs_dot(p, m->changes[i], q) * m->ro[i]);
    kni_lbfgs_set(p, &m->direction, kn_alias(q));
    kni_lbfgs_set(p, &m->previous, kn_alias(gradient));
    kn_drop(q);
}

static double first_guess(kni_lbfgs_problem *p, const kni_lbfgs *m, kn_tensor gradient, double lr)
{
    if (m->iterations > 1 || p->status) return lr;
    kn_tensor total = kn_vector_norm(gradient, 1, KN_AXES_ALL, false);
    p->status = kni_failure_of(total);
    double sum = p->status == KN_OK ? kn_item(total) : 1;
    kn_drop(total);
    return (sum > 1 ? 1 / sum : 1) * lr;
}

/* Iterates from `now`; the params end at the last point. */
static void iterate(kni_optim *optim, kni_lbfgs_problem *p, kni_lbfgs_point *now, double lr)
{
    const kn_lbfgs_args *a = &optim->args.lbfgs;
    kni_lbfgs *m = optim->lbfgs;
    int most = (int)((int64_t)a->max_iterations * 5 / 4), evaluations = 1;
    for (int i = 1; i <= a->max_iterations && p->status == KN_OK; i++) {
        kn_scope scope = kn_scope_begin();
        m->iterations++;
        find_direction(p, m, now->gradient, a->history);
        double before = now->loss;
        m->t = first_guess(p, m, now->gradient, lr);
        now->slope = kni_lbfgs_dot(p, now->gradient, m->direction);
        now->t = 0;
        bool ends = p->status || now->slope > -a->tolerance_change;
        if (!ends) {
            kni_lbfgs_begin(p);
            if (a->strong_wolfe) {
                evaluations += kni_lbfgs_search(p, now, m->t, m->direction, most - evaluations);
                m->t = now->t;
            }
            kni_lbfgs_move(p, m->t, m->direction);
            bool fresh = a->strong_wolfe || i < a->max_iterations;
            if (!a->strong_wolfe && fresh) {
                now->loss = kni_lbfgs_evaluate(p, &now->gradient);
                evaluations++;
            }
            double change = now->loss - before, moved = m->t * kni_lbfgs_largest(p, m->direction);
            ends = evaluations >= most || (moved < 0 ? -moved : moved) <= a->tolerance_change ||
                   (change < 0 ? -change : change) < a->tolerance_change ||
                   (fresh && kni_lbfgs_largest(p, now->gradient) <= a->tolerance_grad);
        }
        kn_scope_end(scope, KN_NONE);
        if (ends) break;
    }
}

/* ---- the step */

static kn_status add_param(void *context, const kn_module_entry *entry)
{
    kni_lbfgs_problem *p = context;
    kn_tensor value = kn_value(*entry->param);
    if (entry->buffer || entry->tied || !kn_is_require_grad(value)) return KN_OK;
    if (p->n && kn_dtype_of(value) != p->dtype)
        return kni_failure(KN_ERROR_DTYPE,
                           "kn_optim_step_closure: L-BFGS needs params of one dtype; %s is %s, not %s",
                           entry->path, kn_dtype_name(kn_dtype_of(value)), kn_dtype_name(p->dtype));
    p->dtype = kn_dtype_of(value);
    if (p->n == p->room) {
        int64_t room = p->room ? p->room * 2 : 16;
        kn_param **params = realloc(p->params, (size_t)room * sizeof *params);
        if (params) p->params = params;
        kn_tensor *start = params ? realloc(p->start, (size_t)room * sizeof *start) : NULL;
        if (!start) return kni_failure_memory("kn_optim_step_closure");
        p->start = start;
        p->room = room;
    }
    p->start[p->n] = KN_NONE;
    p->params[p->n++] = entry->param;
    return KN_OK;
}

/* After a failure the params go back to where the last line began. */
static void restore(kni_lbfgs_problem *p)
{
    for (int64_t i = 0; i < p->n; i++)
        if (p->status && p->start[i].bits) (void)kn_param_set(p->params[i], kn_alias(p->start[i]));
    for (int64_t i = 0; i < p->n; i++) kn_drop(p->start[i]);
    free(p->params);
    free(p->start);
}

kn_status kni_lbfgs_step(kni_optim *optim, double lr, kn_module module, kn_closure_fn closure, void *context,
                         double *loss)
{
    kni_lbfgs_problem p = {.closure = closure, .context = context};
    kni_lbfgs_point now = {0};
    p.status = kni_optim_check_rate("the learning rate", lr, "kn_optim_step_closure");
    if (p.status == KN_OK) p.status = kni_module_filled(module, "kn_optim_step_closure");
    if (p.status == KN_OK) p.status = kn_module_visit(module, add_param, &p);
    if (p.status == KN_OK && p.n == 0)
        p.status = kni_failure(KN_ERROR_ARGUMENT, "kn_optim_step_closure: the module has no param to train");
    if (p.status == KN_OK && optim->clip != KN_CLIP_NONE)
        p.status = kni_failure(KN_ERROR_ARGUMENT, "kn_optim_step_closure: L-BFGS does not clip gradients");
    now.loss = kni_lbfgs_evaluate(&p, &now.gradient);
    double first = now.loss;
    if (p.status == KN_OK && optim->lbfgs->previous.bits &&
        kn_count(optim->lbfgs->previous) != kn_count(now.gradient))
        p.status =
            kni_failure(KN_ERROR_SHAPE, "kn_optim_step_closure: the params changed since the last step");
    if (kni_lbfgs_largest(&p, now.gradient) > optim->args.lbfgs.tolerance_grad) iterate(optim, &p, &now, lr);
    kn_drop(now.gradient);
    char text[KNI_FAILURE_TEXT];
    strncpy(text, p.status ? kni_failure_taken() : "", sizeof text - 1);
    text[sizeof text - 1] = 0;
    restore(&p);
    if (p.status) return kni_failure(p.status, "%s", text);
    if (loss) *loss = first;
    return KN_OK;
}

/* ---- state */

kn_status kni_lbfgs_save(kni_optim *optim, kn_state state, const char *prefix)
{
    const kni_lbfgs *m = optim->lbfgs;
    kn_status s = kn_state_put_int(state, prefix, "iterations", m->iterations);
    if (s || m->iterations == 0) return s;
    s = kn_state_put_int(state, prefix, "history", m->n);
    if (s == KN_OK) s = kn_state_put_real(state, prefix, "t", m->t);
    if (s == KN_OK) s = kn_state_put_real(state, prefix, "scale", m->scale);
    if (s == KN_OK) s = kn_state_put(state, prefix, "direction", kn_alias(m->direction));
    if (s == KN_OK) s = kn_state_put(state, prefix, "previous", kn_alias(m->previous));
    for (int32_t i = 0; i < m->n && s == KN_OK; i++) {
        kni_buffer name = {0};
        kni_buffer_format(&name, "%shistory.%d.", prefix, i);
        const char *text = kni_buffer_string(&name);
        if (name.failed) s = kni_failure_memory("kn_optim_save");
        if (s == KN_OK) s = kn_state_put(state, text, "change", kn_alias(m->changes[i]));
        if (s == KN_OK) s = kn_state_put(state, text, "step", kn_alias(m->steps[i]));
        if (s == KN_OK) s = kn_state_put_real(state, text, "ro", m->ro[i]);
        kni_buffer_free(&name);
    }
    return s;
}

/* One pair of the history into position i; the count is kept so that forget() finds what was loaded. */
static kn_status load_pair(kni_lbfgs *m, kn_state state, const char *prefix, int32_t i)
{
    kni_buffer name = {0};
    kni_buffer_format(&name, "%shistory.%d.", prefix, i);
    const char *text = kni_buffer_string(&name);
    kn_tensor change = name.failed ? KN_NONE : kn_state_get(state, text, "change");
    kn_tensor step = name.failed ? KN_NONE : kn_state_get(state, text, "step");
    bool found = change.bits && step.bits && kn_state_get_real(state, text, "ro", &m->ro[i]);
    kni_buffer_free(&name);
    if (!found || kn_count(change) != kn_count(m->previous) || kn_count(step) != kn_count(m->previous))
        return kni_failure(KN_ERROR_ARGUMENT,
                           "kn_optim_load: pair %d of the history is missing or does not fit", i);
    m->changes[i] = kn_own(kn_alias(change));
    m->steps[i] = kn_own(kn_alias(step));
    m->n = i + 1;
    return KN_OK;
}

kn_status kni_lbfgs_load(kni_optim *optim, kn_state state, const char *prefix)
{
    kni_lbfgs *m = optim->lbfgs;
    int64_t iterations = 0, n = 0;
    double t = 0, scale = 1;
    kn_tensor direction = kn_state_get(state, prefix, "direction");
    kn_tensor previous = kn_state_get(state, prefix, "previous");
    bool found = kn_state_get_int(state, prefix, "iterations", &iterations) && iterations >= 0;
    if (found && iterations > 0)
        found = kn_state_get_int(state, prefix, "history", &n) && kn_state_get_real(state, prefix, "t", &t) &&
                kn_state_get_real(state, prefix, "scale", &scale) && direction.bits && previous.bits &&
                kn_count(direction) == kn_count(previous);
    if (!found || n < 0 || n > optim->args.lbfgs.history)
        return kni_failure(KN_ERROR_ARGUMENT,
                           "kn_optim_load: the state of L-BFGS is not whole, or its history of "
                           "%lld is longer than %d",
                           (long long)n, optim->args.lbfgs.history);
    forget(m);
    if (iterations == 0) return KN_OK;
    m->iterations = iterations;
    m->t = t;
    m->scale = scale;
    m->direction = kn_own(kn_alias(direction));
    m->previous = kn_own(kn_alias(previous));
    kn_status s = KN_OK;
    for (int32_t i = 0; i < n && s == KN_OK; i++) s = load_pair(m, state, prefix, i);
    if (s) forget(m);
    return s;
}
