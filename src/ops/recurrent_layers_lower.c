/* recurrent_layers as ordinary ops, for devices without a library: one product for the inputs of all steps, then a product and what
   follows it for each step. */
#include "ops/recurrent_layers_pass.h"
#include <kn/activation.h>
#include <kn/functional.h>

kni_layers kni_layers_of(const kni_lowering *given, int h)
{
    const kn_tensor *in = given->in;
    const kn_shape x = kn_shape_of_tensor(in[KNI_LAYERS_X]);
    const kni_layers_attributes *a = given->attributes;
    return (kni_layers){.a = a,
                        .steps = x.dims[0],
                        .batch = x.dims[1],
                        .ins = x.dims[2],
                        .gates = kni_layers_gates(a->cell),
                        .weights = in[KNI_LAYERS_WEIGHTS],
                        .h = h < given->n_in ? in[h] : KN_NONE,
                        .c = h + 1 < given->n_in ? in[h + 1] : KN_NONE,
                        .dtype = kn_dtype_of(in[KNI_LAYERS_X])};
}

static kn_tensor vector(const kni_layers *l, int64_t start, int64_t n)
{
    return kn_keep(kn_narrow(l->weights, 0, start, n));
}

static kn_tensor matrix(const kni_layers *l, int64_t start, int64_t rows, int64_t columns)
{
    return kn_keep(kn_reshape(kn_narrow(l->weights, 0, start, rows * columns), KN_SHAPE(rows, columns)));
}

/* Matrices of all layers come first, then all biases. */
kni_layers_pass kni_layers_pass_of(const kni_layers *l, int64_t number)
{
    const int64_t directions = l->a->directions, hidden = l->a->hidden, rows = l->gates * hidden;
    const int64_t later = directions * hidden;
    kni_layers_pass p = {.l = l, .number = number, .direction = number % directions};
    int64_t at = 0, matrices = 0;
    for (int64_t i = 0; i < l->a->layers * directions; i++) {
        if (i == number) at = matrices;
        matrices += rows * ((i < directions ? l->ins : later) + hidden);
    }
    p.ins = number < directions ? l->ins : later;
    p.w_ih = matrix(l, at, rows, p.ins);
    p.w_hh = matrix(l, at + rows * p.ins, rows, hidden);
    p.b_ih = p.b_hh = KN_NONE;
    if (!l->a->biased) return p;
    p.b_ih = vector(l, matrices + number * 2 * rows, rows);
    p.b_hh = vector(l, matrices + (number * 2 + 1) * rows, rows);
    return p;
}

kn_tensor kni_layers_cut(const kni_layers *l, kn_tensor gates, int which)
{
    return kn_narrow(gates, -1, which * l->a->hidden, l->a->hidden);
}

kn_tensor kni_layers_state(const kni_layers *l, kn_tensor given, int64_t number)
{
    if (given.bits) return kn_keep(kn_select(given, 0, number));
    return kn_keep(kn_zeros(KN_SHAPE(l->batch, l->a->hidden), l->dtype));
}

kn_tensor kni_layers_shares(const kni_layers_pass *p, kn_tensor x)
{
    const bool both = p->b_ih.bits && p->l->a->cell != KNI_RECURRENT_GRU;
    return kn_keep(kn_linear(x, p->w_ih, both ? kn_add(p->b_ih, p->b_hh) : p->b_ih));
}

/* ---- one step. x is the input's share of the gates, kept; state: h and c, before and after */

static void lstm_step(const kni_layers_pass *p, kn_tensor x, kn_tensor *state)
{
    const kni_layers *l = p->l;
    kn_tensor gates = kn_keep(kn_add(x, kn_linear(state[0], p->w_hh, KN_NONE)));
    kn_tensor fresh = kn_mul(kn_sigmoid(kni_layers_cut(l, gates, 0)), kn_tanh(kni_layers_cut(l, gates, 2)));
    state[1] = kn_keep(kn_mul_add(kn_sigmoid(kni_layers_cut(l, gates, 1)), state[1], fresh));
    state[0] = kn_keep(kn_mul(kn_sigmoid(kni_layers_cut(l, gates, 3)), kn_tanh(state[1])));
}

static void gru_step(const kni_layers_pass *p, kn_tensor x, kn_tensor *state)
{
    const kni_layers *l = p->l;
    kn_tensor of_h = kn_keep(kn_linear(state[0], p->w_hh, p->b_hh)), gates[2];
    for (int i = 0; i < 2; i++)
        gates[i] = kn_sigmoid(kn_add(kni_layers_cut(l, x, i), kni_layers_cut(l, of_h, i)));
    kn_tensor n = kn_mul_add(gates[0], kni_layers_cut(l, of_h, 2), kni_layers_cut(l, x, 2));
    state[0] = kn_keep(kn_lerp(kn_tanh(n), state[0], gates[1]));
}

static void rnn_step(const kni_layers_pass *p, kn_tensor x, kn_tensor *state)
{
    state[0] = kn_keep(kn_tanh(kn_add(x, kn_linear(state[0], p->w_hh, KN_NONE))));
}

static kn_tensor run_pass(const kni_layers_pass *p, kn_tensor x, kn_tensor *shown, kn_tensor *state)
{
    static void (*const ways[])(const kni_layers_pass *, kn_tensor, kn_tensor *) = {
        [KNI_RECURRENT_RNN] = rnn_step, [KNI_RECURRENT_GRU] = gru_step, [KNI_RECURRENT_LSTM] = lstm_step};
    const kni_layers *l = p->l;
    kn_tensor shares = kni_layers_shares(p, x);
    state[0] = kni_layers_state(l, l->h, p->number);
    state[1] = l->a->cell == KNI_RECURRENT_LSTM ? kni_layers_state(l, l->c, p->number) : KN_NONE;
    for (int64_t k = 0; k < l->steps; k++) {
        const int64_t t = kni_layers_place(p, k);
        kn_scope scope = kn_scope_begin();
        kn_tensor now[2] = {state[0], state[1]};
        ways[l->a->cell](p, kn_keep(kn_select(shares, 0, t)), now);
        kn_scope_end_many(scope, now, now[1].bits ? 2 : 1);
        for (int i = 0; i < 2; i++)
            if (now[i].bits) state[i] = kn_keep(now[i]);
        shown[t] = state[0];
    }
    return kn_stack(shown, (int32_t)l->steps, 0);
}

kn_tensor kni_layers_forward(const kni_layers *l, int64_t layer, kn_tensor x, kn_tensor *shown,
                             kn_tensor (*last)[2])
{
    kn_tensor ways[2];
    for (int64_t d = 0; d < l->a->directions; d++) {
        const kni_layers_pass p = kni_layers_pass_of(l, layer * l->a->directions + d);
        ways[d] = run_pass(&p, x, shown, last[d]);
    }
    return kn_keep(l->a->directions == 2 ? kn_concat(ways, 2, -1) : ways[0]);
}

/* ---- the record */

kn_status kni_layers_widen(kni_lowering *l)
{
    kn_tensor in[KNI_LAYERS_GRAD_IN];
    const kn_dtype dtype = kn_dtype_of(l->in[0]);
    for (int i = 0; i < l->n_in; i++) in[i] = l->in[i].bits ? kn_cast(l->in[i], KN_F32) : KN_NONE;
    kni_apply_many(l->row, in, l->n_in, l->attributes, l->out, l->n_out);
    for (int i = 0; i < l->n_out; i++) l->out[i] = kn_cast(l->out[i], dtype);
    return KN_OK;
}

kn_status kni_layers_lower(kni_lowering *given)
{
    if (kni_is_half(kn_dtype_of(given->in[0]))) return kni_layers_widen(given);
    const kni_layers l = kni_layers_of(given, KNI_LAYERS_H);
    kn_tensor last[2 * KNI_LAYERS_MOST][2], h[2 * KNI_LAYERS_MOST], c[2 * KNI_LAYERS_MOST];
    const int32_t all = (int32_t)(l.a->layers * l.a->directions);
    const size_t bytes = (size_t)l.steps * sizeof(kn_tensor);
    kn_tensor x = given->in[KNI_LAYERS_X], *shown = l.steps <= INT32_MAX ? kni_allocate(bytes) : NULL;
    if (!shown) return kni_fail_op(KN_ERROR_MEMORY, given->row->name, "no memory for %D steps", l.steps);
    for (int64_t i = 0; i < l.a->layers; i++)
        x = kni_layers_forward(&l, i, x, shown, last + i * l.a->directions);
    kni_free(shown, bytes);
    for (int32_t i = 0; i < all; i++) h[i] = last[i][0], c[i] = last[i][1];
    given->out[0] = x;
    given->out[1] = kn_stack(h, all, 0);
    given->out[2] = c[0].bits ? kn_stack(c, all, 0) : kn_zeros(KN_SHAPE(0), l.dtype);
    return KN_OK;
}
