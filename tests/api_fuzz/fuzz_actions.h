/* What takes more than one call, or operands that cannot be drawn by type: ownership, scopes, params, gradients, programs,
   DLPack, states, devices, updates, reads. */
#ifndef FUZZ_ACTIONS_H
#define FUZZ_ACTIONS_H

#include "fuzz_calls.h"
#include <kn/dlpack.h>
#include <kn/update.h>

static void random_call(world *w); /* of the list in api_fuzz.c */

static int pick(world *w) { return (int)below(w, SLOTS); }

static void name_action(world *w, const char *name)
{
    begin_call(w, name);
    go(w);
}

/* ---- ownership and scopes */

static void act_own(world *w)
{
    int i = pick(w);
    slot *s = &w->slots[i];
    begin_call(w, "own, keep, alias or drop");
    say(w, "t%d", i);
    go(w);
    int how = (int)below(w, 4);
    if (how == 3) {
        kn_drop(s->t);
        *s = (slot){0};
    } else if (how == 2) {
        take_result(w, kn_alias(s->t));
    } else if (kn_ok(s->t) && s->role == TEMPORARY) {
        kn_tensor t = how ? kn_own(s->t) : kn_keep(s->t);
        *s = (slot){0};
        put_slot(w, i, t, how ? OWNED : KEPT);
    }
    ended(w);
}

static void act_assign(world *w)
{
    int i = pick(w);
    begin_call(w, "kn_assign");
    say(w, "&t%d, ", i);
    kn_tensor value = draw_tensor(w, "value");
    slot *s = &w->slots[i];
    bool good = s->role == OWNED && kn_ok(s->t);
    go(w);
    if (good) {
        s->watched = false;
        take_status(w, kn_assign(&s->t, value));
        for (int k = 0; k < SLOTS; k++)
            if (k != i && w->slots[k].t.bits == s->t.bits) w->slots[k] = (slot){0};
    } else
        ended(w);
}

static void act_scope_begin(world *w)
{
    name_action(w, "kn_scope_begin");
    if (w->depth < MAX_DEPTH) w->scopes[w->depth++] = kn_scope_begin();
    ended(w);
}

/* An outer scope may end before inner ones; what was made inside is gone but for what is owned. */
static void act_scope_end(world *w)
{
    if (!w->depth) return;
    int at = (int)below(w, w->depth), i = pick(w);
    begin_call(w, "kn_scope_end");
    say(w, "%d, t%d", at, i);
    go(w);
    kn_tensor result = w->slots[i].role == OWNED ? KN_NONE : w->slots[i].t;
    for (int k = 0; k < SLOTS; k++) {
        slot *s = &w->slots[k];
        if (s->role == OWNED || s->depth <= at) continue;
        s->watched = false;
        if (s->role == KEPT) s->role = TEMPORARY;
        if (k == i || chance(w, 70)) s->t = KN_NONE;
    }
    if (w->slots[i].role != OWNED) w->slots[i] = (slot){0};
    kn_tensor t = kn_scope_end(w->scopes[at], result);
    w->depth = at;
    if (kn_ok(t))
        take_result(w, t);
    else
        ended(w);
}

/* ---- params and gradients */

static void act_param(world *w)
{
    int p = (int)below(w, PARAMS);
    begin_call(w, "param");
    say(w, "p%d, ", p);
    kn_tensor value = draw_tensor(w, "value");
    int how = (int)below(w, 10);
    if (how > 6 && kn_ok(w->params[p].handle)) {
        say(w, ", set to one of its own shape");
        value = kn_random_like(kn_value(w->params[p]), (kn_distribution){0});
    }
    go(w);
    if (how < 3) {
        kn_param_drop(&w->params[p]);
        w->params[p] = kn_param_make(value);
        ended(w);
    } else if (how < 4) {
        kn_param_freeze(&w->params[p], chance(w, 50));
        ended(w);
    } else
        take_status(w, kn_param_set(&w->params[p], value));
}

static void act_grad(world *w)
{
    kn_tensor outputs[3], wrt[3], grads[3] = {{0}};
    begin_call(w, "kn_grad");
    int n_out = 1 + (int)below(w, 2), n_wrt = 1 + (int)below(w, 3);
    for (int i = 0; i < n_out; i++) outputs[i] = draw_slot(w), say(w, ", ");
    bool sum = chance(w, 70);
    for (int i = 0; i < n_wrt; i++) {
        int p = (int)below(w, PARAMS + 1);
        say(w, "%s%d", p < PARAMS ? ", p" : ", slot ", p);
        wrt[i] = p < PARAMS ? kn_value(w->params[p]) : draw_slot(w);
    }
    uint32_t flags = (uint32_t)below(w, 8);
    say(w, ", flags %u%s", flags, sum ? ", of sums" : "");
    for (int i = 0; i < n_out && sum; i++) outputs[i] = kn_sum(kn_alias(outputs[i]), KN_AXES_ALL, false);
    go(w);
    take_status(w, kn_grad(outputs, NULL, n_out, wrt, n_wrt, flags, grads));
    for (int i = 0; i < n_wrt; i++)
        if (grads[i].bits) take_result(w, grads[i]);
}

static void act_backward(world *w)
{
    kn_grads grads = NULL;
    begin_call(w, "kn_backward");
    kn_tensor loss = kn_mean(kn_alias(draw_slot(w)), KN_AXES_ALL, false);
    go(w);
    kn_status status = kn_backward(loss, &grads);
    take_status(w, status);
    if (status) return;
    for (int p = 0; p < PARAMS; p++) {
        kn_tensor v = kn_value(w->params[p]), g = kn_grads_get(grads, v);
        if (!g.bits) continue;
        if (chance(w, 40))
            take_result(w, kn_grads_take(grads, v));
        else if (chance(w, 50))
            take_status(w, kn_grads_replace(grads, v, kn_mul_scalar(g, 2)));
    }
    (void)kn_grads_count(grads);
    kn_grads_free(grads);
    ended(w);
}

static kn_tensor segment(void *context, const kn_tensor *in, int32_t n)
{
    int kind = *(int *)context;
    kn_tensor a = in[0], b = in[n - 1];
    if (kind == 0) return kn_mul(kn_tanh(a), b);
    if (kind == 1) return kn_matmul(a, b);
    if (kind == 2) return kn_dropout(kn_add(a, b), 0.5, true);
    return kn_softmax(kn_sub(a, b), -1);
}

static void act_recompute(world *w)
{
    static int kinds[] = {0, 1, 2, 3}; /* backward runs the segment again */
    begin_call(w, "kn_recompute");
    int kind = (int)below(w, 4);
    kn_tensor in[2] = {draw_tensor(w, "a"), draw_tensor(w, "b")};
    say(w, ", segment %d", kind);
    go(w);
    take_result(w, kn_recompute(segment, &kinds[kind], in, 1 + (int)below(w, 2)));
}

static void act_update(world *w)
{
    int p = (int)below(w, PARAMS);
    kn_param *param = &w->params[p];
    begin_call(w, "update");
    say(w, "p%d, ", p);
    kn_tensor g =
        chance(w, 70) ? kn_random_like(kn_value(*param), (kn_distribution){0}) : draw_tensor(w, "g");
    kn_tensor m = kn_own(kn_zeros_like(kn_value(*param))), v = kn_own(kn_zeros_like(kn_value(*param)));
    int how = (int)below(w, 3);
    kn_tensor *shared = w->strange && chance(w, 10) ? &m : &v;
    go(w);
    kn_status status;
    if (how == 0)
        status = kn_sgd_update(param, g, chance(w, 50) ? &m : NULL,
                               &(kn_sgd_update_args){.lr = 0.1, .momentum = 0.9, .first = true});
    else if (how == 1)
        status = kn_adam_update(
            param, g, &m, shared, NULL,
            &(kn_adam_update_args){.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .step = 1});
    else
        status =
            kn_adagrad_update(param, g, shared, &(kn_adagrad_update_args){.lr = 0.1, .eps = 1e-8, .step = 1});
    take_status(w, status);
    kn_drop(m);
    kn_drop(v);
}

/* ---- programs */

static void act_program(world *w)
{
    name_action(w, "kn_program_begin");
    kn_status status = kn_program_begin(w->device);
    take_status(w, status);
    if (status) return;
    int n = 1 + (int)below(w, 4);
    for (int i = 0; i < n; i++) random_call(w);
    kn_tensor in[2], out[2], again[2], got[2] = {{0}};
    begin_call(w, "kn_program_end");
    int n_in = (int)below(w, 3), n_out = 1 + (int)below(w, 2);
    for (int i = 0; i < n_in; i++) in[i] = draw_slot(w), say(w, " ");
    for (int i = 0; i < n_out; i++) out[i] = draw_slot(w), say(w, " ");
    go(w);
    kn_program program = kn_program_end(in, n_in, out, n_out);
    ended(w);
    for (int k = 0; program && k < 2; k++) {
        begin_call(w, "kn_program_run");
        for (int i = 0; i < n_in; i++) again[i] = draw_tensor(w, "x");
        go(w);
        take_status(w, kn_program_run(program, again, n_in, got, n_out));
        for (int i = 0; i < n_out; i++) take_result(w, got[i]);
    }
    char text[300];
    if (program) kn_program_print(program, text, sizeof text);
    if (program) kn_program_free(program);
}

/* ---- other ways in and out */

static void act_dlpack(world *w)
{
    begin_call(w, "DLPack");
    kn_tensor t = draw_tensor(w, "x");
    go(w);
    struct DLManagedTensor *managed = kn_to_dlpack(t);
    if (managed && chance(w, 30)) {
        managed->deleter(managed);
        managed = NULL;
    }
    if (managed)
        take_result(w, kn_from_dlpack(managed));
    else
        ended(w);
}

static void act_state(world *w)
{
    char name[8] = "n0";
    name_action(w, "kn_state");
    kn_state state = kn_state_make();
    for (int i = 0; state && i < 5; i++) {
        name[1] = (char)('0' + below(w, 4));
        begin_call(w, "kn_state_put");
        kn_tensor t = draw_tensor(w, "x");
        go(w);
        take_status(w, kn_state_put(state, chance(w, 50) ? "a/" : "", name, t));
        if (chance(w, 30)) (void)!kn_state_put_int(state, "", name, strange_int(w));
        if (chance(w, 30)) (void)!kn_state_put_text(state, name, "text");
        kn_tensor got = kn_state_get(state, "", name);
        if (kn_ok(got)) take_result(w, kn_alias(got));
    }
    ended(w);
    for (int64_t i = -1; state && i <= kn_state_count(state); i++) {
        kn_tensor value;
        (void)kn_state_name(state, i, &value);
    }
    kn_state_free(state);
}

static const char *const stacks[] = {"cpu",
                                     "ref",
                                     "null",
                                     "autodiff(cpu)",
                                     "fusion(cpu)",
                                     "autodiff(fusion(cpu))",
                                     "check(cpu,ref)",
                                     "nan(cpu)",
                                     "trace(cpu)",
                                     "profile(cpu)",
                                     "autodiff(ref)",
                                     "autodiff(null)",
                                     "nonsense(",
                                     "autodiff(autodiff(cpu))",
                                     "fusion(fusion(cpu))"};

static void act_devices(world *w)
{
    const char *spec = stacks[below(w, sizeof stacks / sizeof *stacks)];
    begin_call(w, "on another device");
    say(w, "%s", spec);
    go(w);
    kn_device other = kn_device_open(spec);
    kn_memory_fail_after(0);
    if (!other) {
        look_at_text(w, KN_ERROR_DEVICE, kn_last_error());
        return;
    }
    kn_device_use(other);
    int n = 1 + (int)below(w, 3);
    bool open = true;
    for (int i = 0; i < n; i++) {
        random_call(w);
        if (open && chance(w, 15)) kn_device_close(other), open = false;
    }
    int p = (int)below(w, PARAMS);
    if (open && chance(w, 50) && kn_ok(w->params[p].handle)) {
        kn_tensor value = kn_mul_scalar(kn_random_like(kn_value(w->params[p]), (kn_distribution){0}), 2);
        begin_call(w, "kn_param_set from there");
        say(w, "p%d", p);
        go(w);
        take_status(w, kn_param_set(&w->params[p], kn_to(value, other)));
    }
    kn_device_use(w->device);
    if (open) kn_device_close(other);
    w->unspecified = true; /* results of a device that rounds differently may be in slots */
    ended(w);
}

static void act_modes(world *w)
{
    bool casts = chance(w, 50);
    kn_dtype dtype = chance(w, 50) ? KN_BF16 : KN_F16, before = KN_DTYPE_NONE;
    name_action(w, casts ? "autocast" : "no_grad");
    if (casts)
        before = kn_autocast_begin(dtype);
    else
        kn_no_grad_begin();
    ended(w);
    for (int i = 0, n = 1 + (int)below(w, 3); i < n; i++) random_call(w);
    if (casts)
        kn_autocast_end(before);
    else
        kn_no_grad_end();
}

/* ---- lists of results, reads */

static void act_parts(world *w)
{
    kn_tensor out[LONGEST_LIST] = {{0}}, in[LONGEST_LIST];
    int32_t n = chance(w, 80) ? 16 : (int32_t)below(w, 3), count = 0;
    int how = (int)below(w, 5);
    static const char *const names[] = {"kn_split", "kn_chunk", "kn_nonzero_axes", "kn_meshgrid",
                                        "kn_split_with_sizes"};
    begin_call(w, names[how]);
    kn_tensor x = how == 3 ? KN_NONE : draw_tensor(w, "x");
    if (how == 3) count = draw_tensors(w, "bias", in);
    int64_t size = draw_int64(w, "size"), sizes[4] = {size, draw_int64(w, "size"), 1, 0};
    int32_t axis = draw_int32(w, "axis");
    int rank = how == 2 ? kn_rank(x) : 0;
    go(w);
    kn_status status = how == 0   ? kn_split(x, size, axis, out, &n)
                       : how == 1 ? kn_chunk(x, size > n ? n : size, axis, out, &n)
                       : how == 2 ? kn_nonzero_axes(x, out)
                       : how == 3 ? kn_meshgrid(in, count, NULL, out)
                                  : kn_split_with_sizes(x, sizes, n = 1 + (int32_t)below(w, 4), axis, out);
    take_status(w, status);
    /* A failed call makes no results, so its code is noted in their place. */
    if (status) note(w, (struct noted){false, status, KN_DTYPE_NONE, KN_SCALAR_SHAPE, w->call});
    if (how == 2) n = rank;
    if (how == 3) n = count;
    for (int32_t i = 0; i < n && i < 6 && status == KN_OK; i++) take_result(w, out[i]);
}

static void act_read(world *w)
{
    char text[400];
    int64_t strides[KN_MAX_RANK];
    begin_call(w, "reads");
    kn_tensor t = draw_tensor(w, "x"), other = draw_tensor(w, "y");
    double wide[64];
    kn_print_options options = {.precision = draw_int32(w, "precision"),
                                .edge_items = draw_int32(w, "edge"),
                                .threshold = draw_int64(w, "threshold"),
                                .line_width = draw_int32(w, "width")};
    go(w);
    (void)kn_format(t, text, (size_t)below(w, (int64_t)sizeof text), chance(w, 60) ? &options : NULL);
    if (kn_rank(t) >= 0 && kn_rank(t) <= KN_MAX_RANK) (void)!kn_strides(t, strides);
    (void)kn_device_name(kn_device_of(t));
    (void)!kn_read_as(t, KN_F64, wide, (size_t)below(w, 65) * 8);
    int64_t n = kn_count(t);
    if (n >= 0 && n <= 64) (void)!kn_read_as(t, KN_F64, wide, (size_t)n * 8);
    bool close = false;
    (void)!kn_all_close(t, other, 1e-3, 1e-3, true, &close);
    kn_device_report(w->device, chance(w, 50) ? NULL : "chrome-trace", text, sizeof text);
    kn_fusion_stats stats;
    (void)!kn_fusion_stats_of(w->device, &stats);
    if (chance(w, 10)) kn_memory_trim();
    ended(w);
}

static void act_scope_many(world *w)
{
    name_action(w, "kn_scope_end_many");
    kn_tensor out[2];
    kn_scope scope = kn_scope_begin();
    for (int i = 0; i < 2; i++) out[i] = chance(w, 30) ? KN_NONE : kn_alias(w->slots[pick(w)].t);
    kn_scope_end_many(scope, out, 2);
    for (int i = 0; i < 2; i++)
        if (out[i].bits) take_result(w, out[i]);
    ended(w);
}

typedef struct action {
    void (*run)(world *w);
    int weight;
} action;

static const action actions[] = {
    {act_own, 8},    {act_assign, 2},    {act_scope_begin, 3}, {act_scope_end, 3}, {act_param, 6},
    {act_grad, 5},   {act_backward, 5},  {act_recompute, 3},   {act_update, 4},    {act_program, 3},
    {act_dlpack, 4}, {act_state, 1},     {act_devices, 2},     {act_modes, 2},     {act_parts, 4},
    {act_read, 4},   {act_scope_many, 1}};

static void random_action(world *w)
{
    int total = 0;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) total += actions[i].weight;
    int64_t at = below(w, total);
    size_t i = 0;
    while (at >= actions[i].weight) at -= actions[i++].weight;
    actions[i].run(w);
}

#endif
