/* One program: random calls on one stack, its end, and the comparison of two runs. */
#ifndef FUZZ_PROGRAM_H
#define FUZZ_PROGRAM_H

#include "fuzz_actions.h"

typedef struct plan {
    uint64_t seed; /* of the program */
    int calls;
    uint64_t left_out; /* bit i: call i is not made */
} plan;

static void random_call(world *w)
{
    static const char *const views[] = {"kn_slice",  "kn_transpose", "kn_expand",      "kn_unfold_axis",
                                        "kn_narrow", "kn_select",    "kn_permute",     "kn_alias",
                                        "kn_diag",   "kn_flip",      "kn_slice_ranges"};
    enum { N = sizeof api_calls / sizeof *api_calls };
    if (chance(w, 18)) {
        call_row(w);
        return;
    }
    const char *view = chance(w, 15) ? views[below(w, sizeof views / sizeof *views)] : NULL;
    int64_t at = below(w, N);
    for (int i = 0; view && i < N; i++)
        if (!strcmp(api_calls[i].name, view)) at = i;
    api_calls[at].run(w);
}

static void begin_world(world *w, const plan *p, const char *spec, kn_device device)
{
    *w = (world){.seed = p->seed, .state = mix(p->seed), .spec = spec, .device = device};
    w->side = 1 + below(w, 5);
    w->rank = (int32_t)below(w, 5);
    /* Functions that add an axis must see that there is no room for it. */
    if (chance(w, 8)) w->rank = KN_MAX_RANK - (int32_t)below(w, 3), w->side = 1 + below(w, 2);
    w->dtype = chance(w, 60) ? KN_F32 : all_dtypes[below(w, N_DTYPES)];
    w->strange = chance(w, 60);
}

/* A first param and a leaf, so that gradients have something to flow to. */
static void make_params(world *w)
{
    habit h = {.name = "param"};
    for (int i = 0; i < PARAMS; i++) {
        say(w, "  p%d = ", i);
        w->params[i] = kn_param_make(make_tensor(w, &h));
        say(w, "\n");
    }
}

static void note_end(world *w)
{
    outcome *left = w->left;
    for (int i = 0; i < SLOTS + PARAMS; i++) {
        kn_tensor t = i < SLOTS ? w->slots[i].t : w->params[i - SLOTS].handle;
        if (i < SLOTS) look_again(w, i);
        if (left)
            left->status[i] = t.bits ? read_elements(t, &left->data[i], &left->bytes[i]) : KN_ERROR_HANDLE;
    }
}

static void run_calls(world *w, const plan *p)
{
    kn_device_use(w->device);
    kn_seed(w->device, p->seed);
    kn_scope base = kn_scope_begin();
    make_params(w);
    for (int i = 0; i < p->calls && !atomic_load(&w->out->finding); i++) {
        if (p->left_out >> i & 1) continue;
        w->call = i;
        w->state = mix(p->seed + 1000003u * (uint64_t)(i + 1));
        if (chance(w, 20))
            random_action(w);
        else
            random_call(w);
    }
    say(w, "  end\n");
    note_end(w);
    for (int i = 0; i < SLOTS; i++)
        if (w->slots[i].role == OWNED) kn_drop(w->slots[i].t);
    for (int i = 0; i < PARAMS; i++) kn_param_drop(&w->params[i]);
    kn_scope_end(base, KN_NONE);
    kn_device_use(NULL);
}

/* Runs the plan on a stack; tensors that are left afterwards are a finding. */
static void run_plan(world *w, const plan *p)
{
    int64_t before = kn_memory_stats().tensors_now;
    say(w, "on %s:\n", w->spec);
    run_calls(w, p);
    (void)!kn_sync(w->device);
    int64_t after = kn_memory_stats().tensors_now;
    if (after != before && !w->thread)
        find(w, "%lld tensors more than before are alive at the end of the program",
             (long long)(after - before));
}

/* ---- two runs */

static void free_outcome(outcome *o)
{
    for (int i = 0; i < SLOTS + PARAMS; i++) free(o->data[i]);
    memset(o, 0, sizeof *o);
}

static bool same_shape(const kn_shape *a, const kn_shape *b)
{
    return a->rank == b->rank &&
           !memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)(a->rank > 0 ? a->rank : 0));
}

/* A queue finds out later what depends on values, and draws after that differ: false where nothing can be said. */
static bool compare_results(world *w, const outcome *a, const outcome *b)
{
    for (int i = 0; i < a->n_results && i < b->n_results; i++) {
        const struct noted *x = &a->results[i], *y = &b->results[i];
        if (x->good == y->good && x->dtype == y->dtype && same_shape(&x->shape, &y->shape)) continue;
        if (!x->good && y->good &&
            (x->code == KN_ERROR_INDEX || x->code == KN_ERROR_NUMERIC || x->code == KN_ERROR_MEMORY))
            return false;
        if (x->code == KN_ERROR_MEMORY || y->code == KN_ERROR_MEMORY) return false;
        if (y->code == KN_ERROR_NUMERIC && strstr(w->spec, "check"))
            return false; /* told already, or excused */
        find(w, "call %d: %s gives %s %s, the first stack %s", x->call, w->spec, kn_dtype_name(y->dtype),
             y->good ? "" : kn_status_name(y->code),
             x->good ? "another type or shape" : kn_status_name(x->code));
        return false;
    }
    if (a->n_results != b->n_results)
        find(w, "%s makes %d results, not %d", w->spec, b->n_results, a->n_results);
    return a->n_results == b->n_results;
}

static void compare_outcomes(world *w, const outcome *a, const outcome *b)
{
    if (!compare_results(w, a, b)) return;
    for (int i = 0; i < SLOTS + PARAMS; i++) {
        const char *kind = i < SLOTS ? "t" : "p";
        int at = i < SLOTS ? i : i - SLOTS;
        if (a->status[i] == KN_ERROR_MEMORY || b->status[i] == KN_ERROR_MEMORY) continue;
        if (!a->status[i] != !b->status[i])
            find(w, "%s%d can be read on one stack and not on %s: %s", kind, at, w->spec,
                 kn_status_name(a->status[i] ? a->status[i] : b->status[i]));
        else if (!a->status[i] &&
                 (a->bytes[i] != b->bytes[i] || memcmp(a->data[i], b->data[i], a->bytes[i]) != 0))
            find(w, "%s%d has other elements on %s", kind, at, w->spec);
    }
    atomic_fetch_add(&w->out->compared, 1);
}

#endif
