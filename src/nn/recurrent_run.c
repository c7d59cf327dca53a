/* Walks recurrent layers over time: one product for the input of all steps, then one per step for the state. */
#include "nn/recurrent_run.h"
#include "nn/custom_run.h"
#include "support/failure.h"
#include <kn/autocast.h>
#include <kn/contraction.h>
#include <kn/creation.h>
#include <kn/elementwise.h>
#include <kn/functional.h>
#include <kn/shape.h>
#include <kn/tensor.h>
#include <stdlib.h>

/* One layer in one direction. */
typedef struct pass {
    const kn_nn_recurrent *m;
    const kn_nn_recurrent_cell *cell;
    kn_tensor reset_weight[2],
        reset_bias[2]; /* GRU with reset_before: rows r z, and n, of the recurrent params */
    bool backward;
} pass;

static kn_tensor limit(const kn_nn_recurrent *m, kn_tensor x)
{
    return m->clip > 0 ? kn_clamp(x, -m->clip, m->clip) : x;
}

/* ---- one step: x is this step's share of the input product; h and *c are kept; results are temporaries */

static kn_tensor rnn_step(const pass *p, kn_tensor x, kn_tensor h, kn_tensor *c)
{
    (void)c;
    kn_tensor sum = kn_add(x, kn_linear(h, kn_value(p->cell->weight_hh), KN_NONE));
    return limit(p->m, kn_nn_activation_forward(&p->m->hidden_activation, sum));
}

static kn_tensor gru_step(const pass *p, kn_tensor x, kn_tensor h, kn_tensor *c)
{
    (void)c;
    const kn_nn_activation *gate = &p->m->gate_activation;
    kn_tensor from_x[3], from_h[3], z, n;
    kni_split_last(x, 3, from_x);
    if (p->m->reset_before) {
        kni_split_last(kn_linear(h, p->reset_weight[0], p->reset_bias[0]), 2, from_h);
        z = kn_nn_activation_forward(gate, kn_add(from_x[1], from_h[1]));
        kn_tensor r = kn_nn_activation_forward(gate, kn_add(from_x[0], from_h[0]));
        n = kn_add(from_x[2], kn_linear(kn_mul(r, h), p->reset_weight[1], p->reset_bias[1]));
    } else {
        kni_split_last(kn_linear(h, kn_value(p->cell->weight_hh), kn_value(p->cell->bias_hh)), 3, from_h);
        z = kn_nn_activation_forward(gate, kn_add(from_x[1], from_h[1]));
        kn_tensor r = kn_nn_activation_forward(gate, kn_add(from_x[0], from_h[0]));
        n = kn_mul_add(r, from_h[2], from_x[2]);
    }
    return limit(p->m, kn_lerp(kn_nn_activation_forward(&p->m->hidden_activation, n), h, z));
}

static kn_tensor lstm_step(const pass *p, kn_tensor x, kn_tensor h, kn_tensor *c)
{
    const kn_nn_recurrent *m = p->m;
    kn_tensor gates[4];
    kni_split_last(kn_add(x, kn_linear(h, kn_value(p->cell->weight_hh), KN_NONE)), 4, gates);
    kn_tensor in = kn_keep(kn_nn_activation_forward(&m->gate_activation, gates[0]));
    kn_tensor forget =
        m->input_forget ? kn_rsub_scalar(in, 1) : kn_nn_activation_forward(&m->gate_activation, gates[1]);
    kn_tensor fresh = kn_mul(in, kn_nn_activation_forward(&m->cell_activation, gates[2]));
    kn_tensor next = kn_keep(limit(m, kn_mul_add(forget, *c, fresh)));
    kn_drop(in);
    kn_drop(*c);
    *c = next;
    return kn_mul(kn_nn_activation_forward(&m->gate_activation, gates[3]),
                  kn_nn_activation_forward(&m->hidden_activation, next));
}

typedef kn_tensor (*step_fn)(const pass *p, kn_tensor x, kn_tensor h, kn_tensor *c);
static const step_fn steps_of[] = {
    [KN_RECURRENT_RNN] = rnn_step, [KN_RECURRENT_GRU] = gru_step, [KN_RECURRENT_LSTM] = lstm_step};

/* ---- one direction */

/* Whether both biases can be added to the input product; those of GRU meet its reset gate in between. */
static kn_tensor input_bias(const pass *p)
{
    kn_tensor ih = kn_value(p->cell->bias_ih), hh = kn_value(p->cell->bias_hh);
    return p->m->kind == KN_RECURRENT_GRU || !ih.bits || !hh.bits ? ih : kn_add(ih, hh);
}

static void cut_reset_weights(pass *p)
{
    int64_t starts[] = {0, 2 * p->m->hidden_size, 3 * p->m->hidden_size};
    for (int i = 0; i < 2; i++) {
        int64_t rows = starts[i + 1] - starts[i];
        kn_tensor bias = kn_value(p->cell->bias_hh);
        p->reset_weight[i] = kn_keep(kn_narrow(kn_value(p->cell->weight_hh), 0, starts[i], rows));
        p->reset_bias[i] = bias.bits ? kn_keep(kn_narrow(bias, 0, starts[i], rows)) : KN_NONE;
    }
}

/* x [steps, batch, features] is kept; *h and *c are the first states (KN_NONE: zeros) and become the last ones. parts and
   outputs have room for each step. The result is [steps, batch, hidden]. */
static kn_tensor run_direction(pass *p, kn_tensor x, int64_t steps, kn_tensor *h, kn_tensor *c,
                               kn_tensor *parts, kn_tensor *outputs)
{
    const kn_nn_recurrent *m = p->m;
    kn_scope scope = kn_scope_begin();
    kn_tensor shares = kn_keep(kn_linear(x, kn_value(p->cell->weight_ih), input_bias(p)));
    kn_tensor zeros = kn_keep(kn_zeros_like(kn_narrow(kn_select(shares, 0, 0), -1, 0, m->hidden_size)));
    kn_tensor hidden = h->bits ? kn_keep(*h) : zeros, cell = KN_NONE;
    if (m->kind == KN_RECURRENT_LSTM) cell = c->bits ? kn_keep(*c) : kn_keep(kn_alias(zeros));
    if (m->reset_before) cut_reset_weights(p);
    kn_status s = kni_unstack(shares, steps, parts);
    kn_drop(shares);
    for (int64_t i = 0; i < steps && s == KN_OK; i++) {
        int64_t t = p->backward ? steps - 1 - i : i;
        hidden = outputs[t] = kn_keep(steps_of[m->kind](p, parts[t], hidden, &cell));
        s = kn_error_code(hidden);
    }
    kn_tensor results[] = {s == KN_OK ? kn_stack(outputs, (int32_t)steps, 0) : kn_poison(s, NULL), hidden,
                           cell};
    if (!kn_ok(hidden)) results[0] = hidden;
    kn_scope_end_many(scope, results, cell.bits ? 3 : 2);
    *h = results[1];
    *c = results[2];
    return results[0];
}

/* ---- whole sequences in one call, of all layers where a library of the device has them, else of one */

enum { WEIGHTS_MOST = KN_MAX_RECURRENT_LAYERS * 2 * 4 };

static bool drops(const kn_nn_recurrent *m) { return m->dropout > 0 && m->training && m->num_layers > 1; }

/* Whether the formulas are those of kn_recurrent_layers. */
static bool is_usual(const kn_nn_recurrent *m)
{
    const bool gates = m->kind == KN_RECURRENT_RNN || m->gate_activation.kind == KN_ACTIVATION_SIGMOID;
    const bool cell = m->kind != KN_RECURRENT_LSTM || m->cell_activation.kind == KN_ACTIVATION_TANH;
    return gates && cell && m->hidden_activation.kind == KN_ACTIVATION_TANH && m->clip == 0 &&
           !m->input_forget && !m->reset_before;
}

/* The params of layers `first` on in the order of kn_recurrent_layers; how many, 0 where a bias or a common dtype is missing. */
static int32_t list_weights(const kn_nn_recurrent *m, int64_t first, int64_t layers, kn_tensor *list)
{
    const int directions = m->bidirectional ? 2 : 1;
    const int32_t all = (int32_t)layers * directions;
    const bool biased = m->cells[0][0].bias_ih.handle.bits != 0;
    for (int32_t i = 0; i < all; i++) {
        const kn_nn_recurrent_cell *cell = &m->cells[first + i / directions][i % directions];
        list[2 * i] = kn_value(cell->weight_ih);
        list[2 * i + 1] = kn_value(cell->weight_hh);
        list[2 * (all + i)] = kn_value(cell->bias_ih);
        list[2 * (all + i) + 1] = kn_value(cell->bias_hh);
        for (int k = 0; k < 2; k++)
            if ((list[2 * (all + i) + k].bits != 0) != biased) return 0;
    }
    const int32_t n = biased ? 4 * all : 2 * all;
    for (int32_t i = 0; i < n; i++)
        if (!kn_ok(list[i]) || kn_dtype_of(list[i]) != kn_dtype_of(list[0])) return 0;
    return n;
}

/* How many layers a call takes; 0: they go step by step. */
static int64_t layers_at_once(const kn_nn_recurrent *m, kn_tensor x)
{
    kn_tensor list[WEIGHTS_MOST];
    const int64_t most = is_usual(m) ? kn_recurrent_layers_at_once(x) : 0;
    if (!most || !list_weights(m, 0, m->num_layers, list)) return 0;
    if (kn_dtype_of(x) != kn_dtype_of(list[0]) && !kn_autocast_dtype()) return 0;
    return drops(m) || most < m->num_layers ? 1 : m->num_layers;
}

/* Some layers, with the states of all; last receives their own. x is kept. */
static kn_tensor run_call(const kn_nn_recurrent *m, int64_t first, int64_t layers, kn_tensor x,
                          kn_tensor hidden, kn_tensor cell, kn_recurrent_result *last)
{
    kn_tensor list[WEIGHTS_MOST];
    const int64_t directions = m->bidirectional ? 2 : 1;
    const int32_t n = list_weights(m, first, layers, list);
    for (int32_t i = 0; i < n; i++) list[i] = kn_reshape(list[i], KN_SHAPE(kn_count(list[i])));
    const kn_recurrent_layers_args args = {
        .cell = (kn_layers_cell)m->kind,
        .layers = layers,
        .hidden = m->hidden_size,
        .bidirectional = m->bidirectional,
        .no_bias = !m->cells[0][0].bias_ih.handle.bits,
        .h = hidden.bits ? kn_narrow(hidden, 0, first * directions, layers * directions) : KN_NONE,
        .c = cell.bits ? kn_narrow(cell, 0, first * directions, layers * directions) : KN_NONE};
    *last = kn_recurrent_layers(x, kn_concat(list, n, 0), &args);
    return last->y;
}

/* As run_layers below. */
static kn_tensor run_calls(const kn_nn_recurrent *m, int64_t layers, kn_tensor x, kn_tensor *hidden,
                           kn_tensor *cell)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor h[KN_MAX_RECURRENT_LAYERS], c[KN_MAX_RECURRENT_LAYERS];
    int32_t n = 0;
    if (m->reverse) x = kn_keep(kn_flip(x, KN_AXES(0)));
    for (int64_t first = 0; first < m->num_layers; first += layers, n++) {
        kn_recurrent_result last;
        if (first && drops(m)) x = kn_keep(kn_dropout(x, m->dropout, true));
        x = kn_keep(run_call(m, first, layers, x, *hidden, *cell, &last));
        h[n] = last.h;
        c[n] = last.c;
    }
    kn_tensor results[] = {m->reverse ? kn_flip(x, KN_AXES(0)) : x, n == 1 ? h[0] : kn_concat(h, n, 0),
                           KN_NONE};
    if (m->kind == KN_RECURRENT_LSTM) results[2] = n == 1 ? c[0] : kn_concat(c, n, 0);
    kn_scope_end_many(scope, results, results[2].bits ? 3 : 2);
    *hidden = results[1];
    *cell = results[2];
    return results[0];
}

/* ---- all layers */

/* x is kept; states come as [layers * directions, batch, hidden] or KN_NONE and go out so. */
static kn_tensor run_layers(const kn_nn_recurrent *m, kn_tensor x, int64_t steps, kn_tensor *hidden,
                            kn_tensor *cell, kn_tensor *room)
{
    int directions = m->bidirectional ? 2 : 1, n = 0;
    const int64_t at_once = layers_at_once(m, x);
    if (at_once) return run_calls(m, at_once, x, hidden, cell);
    kn_tensor last_h[2 * KN_MAX_RECURRENT_LAYERS], last_c[2 * KN_MAX_RECURRENT_LAYERS];
    for (int64_t layer = 0; layer < m->num_layers; layer++) {
        kn_tensor ways[2];
        if (layer && m->dropout > 0 && m->training) x = kn_keep(kn_dropout(x, m->dropout, true));
        for (int d = 0; d < directions; d++, n++) {
            pass p = {.m = m, .cell = &m->cells[layer][d], .backward = d == 1 || m->reverse};
            last_h[n] = hidden->bits ? kn_select(*hidden, 0, n) : KN_NONE;
            last_c[n] = cell->bits ? kn_select(*cell, 0, n) : KN_NONE;
            ways[d] = run_direction(&p, x, steps, &last_h[n], &last_c[n], room, room + steps);
        }
        x = kn_keep(directions == 2 ? kn_concat(ways, 2, -1) : ways[0]);
    }
    *hidden = kn_stack(last_h, n, 0);
    *cell = m->kind == KN_RECURRENT_LSTM ? kn_stack(last_c, n, 0) : KN_NONE;
    return x;
}

static kn_status check_state(const kn_nn_recurrent *m, const char *function, kn_tensor state, int32_t rank,
                             int64_t batch)
{
    if (!state.bits) return KN_OK;
    if (!kn_ok(state)) return kni_failure_of(state);
    int64_t rows = m->num_layers * (m->bidirectional ? 2 : 1);
    if (kn_rank(state) == rank && kn_size(state, 0) == rows && kn_size(state, -1) == m->hidden_size &&
        (rank == 2 || kn_size(state, 1) == batch))
        return KN_OK;
    return kni_failure(
        KN_ERROR_SHAPE,
        "%s: a state is [layers * directions %lld, batch %lld, hidden %lld], without batch for "
        "one sequence; this one has rank %d and %lld elements",
        function, (long long)rows, (long long)batch, (long long)m->hidden_size, (int)kn_rank(state),
        (long long)kn_count(state));
}

static kn_status check_input(const kn_nn_recurrent *m, const char *function, kn_tensor x)
{
    if (!kn_ok(x)) return kni_failure_of(x);
    int32_t rank = kn_rank(x);
    if (rank != 2 && rank != 3)
        return kni_failure(KN_ERROR_SHAPE,
                           "%s: x has rank %d; it is [%s, in], or [steps, in] for one sequence", function,
                           (int)rank, m->batch_first ? "batch, steps" : "steps, batch");
    if (kn_size(x, -1) != m->input_size)
        return kni_failure(KN_ERROR_SHAPE, "%s: x has %lld features, the layer was made for %lld", function,
                           (long long)kn_size(x, -1), (long long)m->input_size);
    int64_t steps = kn_size(x, rank == 3 && m->batch_first ? 1 : 0);
    if (steps >= 1 && steps <= INT32_MAX) return KN_OK;
    return kni_failure(KN_ERROR_SHAPE, "%s: x has %lld steps; at least one is needed", function,
                       (long long)steps);
}

static kn_tensor fail(kn_status s, kn_tensor *hidden, kn_tensor *cell)
{
    kn_tensor y = kn_poison(s, NULL);
    if (hidden) *hidden = y;
    if (cell) *cell = y;
    return y;
}

kn_tensor kni_recurrent_run(const kn_nn_recurrent *m, const char *function, kn_tensor x, kn_tensor *hidden,
                            kn_tensor *cell)
{
    kn_tensor h = hidden ? *hidden : KN_NONE, c = cell ? *cell : KN_NONE;
    int32_t rank = kn_rank(x);
    bool single = rank == 2, swap = !single && m->batch_first;
    kn_status s = check_input(m, function, x);
    int64_t batch = s == KN_OK && !single ? kn_size(x, swap ? 0 : 1) : 1;
    if (s == KN_OK) s = check_state(m, function, h, rank, batch);
    if (s == KN_OK) s = check_state(m, function, c, rank, batch);
    if (s != KN_OK) return fail(s, hidden, cell);
    int64_t steps = kn_size(x, swap ? 1 : 0);
    kn_tensor *room = malloc((size_t)steps * 2 * sizeof *room);
    if (!room) return fail(kni_failure_memory(function), hidden, cell);
    kn_scope scope = kn_scope_begin();
    x = kn_keep(single ? kn_unsqueeze(x, 1) : swap ? kn_transpose(x, 0, 1) : x);
    if (h.bits) h = kn_keep(single ? kn_unsqueeze(h, 1) : h);
    if (c.bits) c = kn_keep(single ? kn_unsqueeze(c, 1) : c);
    kn_tensor y = run_layers(m, x, steps, &h, &c, room);
    free(room);
    kn_tensor results[] = {single ? kn_squeeze(y, 1)
                           : swap ? kn_transpose(y, 0, 1)
                                  : y,
                           single ? kn_squeeze(h, 1) : h, single && c.bits ? kn_squeeze(c, 1) : c};
    kn_scope_end_many(scope, results, c.bits ? 3 : 2);
    if (hidden)
        *hidden = results[1];
    else
        kn_drop(results[1]);
    if (cell)
        *cell = results[2];
    else if (results[2].bits)
        kn_drop(results[2]);
    return results[0];
}
