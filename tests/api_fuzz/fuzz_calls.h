/* One call: what happens before and after it, results into slots, ops of the table by kn_call. */
#ifndef FUZZ_CALLS_H
#define FUZZ_CALLS_H

#include "fuzz_draw.h"
#include "fuzz_excuses.h"

static void begin_call(world *w, const char *name)
{
    w->n_operands = 0;
    w->name = name;
    say(w, "  %d: %s(", w->call, name);
}

static void go(world *w)
{
    say(w, ")");
    atomic_fetch_add(&w->out->call_now, 1);
    atomic_fetch_add(&w->out->calls, 1);
    if (!w->thread && chance(w, w->fails)) {
        int64_t n = 1 + below(w, 12);
        say(w, "  with allocation %lld failing", (long long)n);
        kn_memory_fail_after(n);
    }
    say(w, "\n");
}

/* Kept and owned operands are as they were; temporaries are gone where the call took them, and some dead handles stay to be
   used again. */
static void ended(world *w)
{
    if (!w->thread) kn_memory_fail_after(0);
    for (int k = 0; k < w->n_operands; k++) {
        slot *s = &w->slots[w->operands[k]];
        if (s->role == TEMPORARY && s->t.bits && !kn_ok(s->t) && chance(w, 80)) s->t = KN_NONE;
        look_again(w, w->operands[k]);
    }
    w->n_operands = 0;
}

static void look_at_text(world *w, kn_status code, const char *text)
{
    if (!text[0]) find(w, "call %d, %s, failed without a text", w->call, w->name);
    /* A handle may name an error that is long forgotten; rows of gradients, which only kn_call reaches, refuse mixed dtypes
       in their lowering; a failing allocation fails one backend of two. */
    bool forgotten = strstr(text, "was used again") || strstr(text, "lowering gave");
    if (code == KN_ERROR_INTERNAL && !forgotten) find(w, "call %d: an internal error: %s", w->call, text);
    if (code == KN_ERROR_NUMERIC && strstr(text, "check: ") && !w->fails && !excused(w->spec, text))
        find(w, "call %d: %s", w->call, text);
    say(w, "     -> %s\n", text);
}

static void note(world *w, struct noted result)
{
    outcome *left = w->left;
    if (left && left->n_results < (int)(sizeof left->results / sizeof *left->results))
        left->results[left->n_results++] = result;
}

static void note_result(world *w, kn_tensor t, bool good)
{
    note(w, (struct noted){good, good ? KN_OK : kn_error_code(t), good ? kn_dtype_of(t) : KN_DTYPE_NONE,
                           good ? kn_shape_of_tensor(t) : KN_SCALAR_SHAPE, w->call});
}

static void take_status(world *w, kn_status status)
{
    ended(w);
    if (status == KN_OK) return;
    atomic_fetch_add(&w->out->failed_calls, 1);
    look_at_text(w, status, kn_last_error());
}

/* A result is a handle of its own, or that of a temporary which the call took. kn_require_grad gives its operand back. */
static bool leave_handle(world *w, kn_tensor t)
{
    bool owned = false;
    for (int i = 0; i < SLOTS; i++) {
        slot *s = &w->slots[i];
        if (s->t.bits != t.bits || !kn_ok(t)) continue;
        if (s->role != TEMPORARY && strcmp(w->name, "kn_require_grad") != 0)
            find(w, "call %d: the result of %s is the handle of t%d, which is %s", w->call, w->name, i,
                 s->role == KEPT ? "kept" : "owned");
        owned = owned || s->role == OWNED;
        *s = (slot){0};
    }
    return owned;
}

/* A view broadcast to more elements is not used again: any op would only take long over it. */
enum { LARGEST_RESULT = 1 << 26 };

static void take_result(world *w, kn_tensor t)
{
    ended(w);
    bool good = kn_ok(t);
    int i = (int)below(w, SLOTS), how = (int)below(w, 10);
    note_result(w, t, good);
    if (!good) {
        char text[500];
        atomic_fetch_add(&w->out->failed_calls, 1);
        kn_error_text(t, text, sizeof text);
        look_at_text(w, kn_error_code(t), text);
        if (how) return;
    }
    if (kn_is_param(t)) return; /* kn_require_grad of a param: its value may be replaced */
    if (leave_handle(w, t)) how = 9;
    if (good && kn_count(t) > LARGEST_RESULT) {
        kn_drop(t);
        return;
    }
    role r = how < 4 ? TEMPORARY : how < 8 ? KEPT : OWNED;
    kn_tensor held = r == KEPT ? kn_keep(t) : r == OWNED ? kn_own(t) : t;
    if (good && !kn_ok(held)) {
        char text[300];
        kn_error_text(held, text, sizeof text);
        find(w, "call %d: a good result of %s cannot be %s: %s", w->call, w->name,
             r == KEPT ? "kept" : "owned", text);
        return;
    }
    static const char *const names[] = {"", "keep ", "own "};
    say(w, "     t%d = %s%s ", i, names[r], good ? kn_dtype_name(kn_dtype_of(held)) : "poison");
    kn_shape s = good ? kn_shape_of_tensor(held) : KN_SCALAR_SHAPE;
    say_shape(w, &s);
    say(w, "\n");
    put_slot(w, i, held, r);
}

/* ---- the table of ops */

static int draw_attributes(world *w, const kn_op_info *op, kn_attribute_value *values)
{
    int n = 0;
    for (int32_t i = 0; i < op->n_attributes && n < 30; i++) {
        kn_attribute_info a;
        if (!kn_op_attribute(op->number, i, &a) || chance(w, 25)) continue;
        kn_attribute_value *v = &values[n++];
        *v = (kn_attribute_value){.name = a.name};
        if (a.type == KN_ATTRIBUTE_INT) v->integer = draw_int64(w, a.name);
        if (a.type == KN_ATTRIBUTE_REAL) v->real = draw_real(w, a.name);
        if (a.type == KN_ATTRIBUTE_LIST) v->list = draw_ints(w, a.name);
    }
    values[n] = (kn_attribute_value){0};
    return n;
}

static void call_row(world *w)
{
    static const char *const names[] = {"x", "index", "b", "weight", "mask", "target"};
    kn_op_info op;
    kn_tensor in[LONGEST_LIST], out[8] = {{0}};
    kn_attribute_value values[31];
    do {
        if (kn_op_at((int32_t)below(w, kn_op_count()), &op) && op.n_out <= 8 && strcmp(op.name, "empty"))
            break;
    } while (true);
    begin_call(w, op.name);
    int most = op.max_in < 0 ? 4 : op.max_in;
    int n = op.min_in + (int)below(w, most - op.min_in + 1);
    if (w->strange && chance(w, 2)) n = (int)below(w, 12);
    for (int i = 0; i < n; i++) in[i] = draw_tensor(w, names[i ? below(w, 6) : 0]);
    draw_attributes(w, &op, values);
    int n_out = w->strange && chance(w, 2) ? (int)below(w, 9) : op.n_out;
    go(w);
    kn_status status = kn_call(op.name, in, n, values, out, n_out);
    take_status(w, status);
    for (int i = 0; i < n_out; i++) take_result(w, out[i]);
}

#endif
