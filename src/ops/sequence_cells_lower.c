/* lstm, gru and rnn as ordinary ops: one product for the inputs of all steps, then a product and a few elementwise ops for each
   step. Gradients come through it, and devices with fast products run it. */
#include "ops/sequence_cells.h"
#include <kn/activation.h>
#include <kn/functional.h>

typedef struct lowering {
    const kni_recurrent_attributes *a;
    kni_recurrent_sizes z;
    kn_tensor weight_h, bias_h, peepholes; /* of one direction; bias_h: what gru adds before the reset gate */
    int64_t direction;
} lowering;

/* Activation `which` of the direction, of what is not a gate. */
static kn_tensor activated_state(const lowering *l, kn_tensor x, int which)
{
    const int i = (int)l->direction * l->z.kinds + which;
    const double alpha = l->a->alpha[i], beta = l->a->beta[i];
    switch (l->a->activations.dims[i]) {
    case KN_GATE_SIGMOID:
        return kn_sigmoid(x);
    case KN_GATE_TANH:
        return kn_tanh(x);
    case KN_GATE_RELU:
        return kn_relu(x);
    case KN_GATE_AFFINE:
        return kn_add_scalar(kn_mul_scalar(x, alpha), beta);
    case KN_GATE_LEAKY_RELU:
        return kn_leaky_relu(x, alpha);
    case KN_GATE_THRESHOLDED_RELU:
        return kn_thresholded_relu(x, alpha);
    case KN_GATE_SCALED_TANH:
        return kn_mul_scalar(kn_tanh(kn_mul_scalar(x, beta)), alpha);
    case KN_GATE_HARD_SIGMOID:
        return kn_hard_sigmoid(x, alpha, beta);
    case KN_GATE_ELU:
        return kn_elu(x, alpha);
    case KN_GATE_SOFTSIGN:
        return kn_softsign(x);
    default:
        return kn_softplus(x, 1, __builtin_inf());
    }
}

static kn_tensor activated(const lowering *l, kn_tensor x, int which)
{
    return activated_state(l, l->a->clip > 0 ? kn_clamp(x, -l->a->clip, l->a->clip) : x, which);
}

/* Gate `which` of [batch, gates hidden]. */
static kn_tensor gate(const lowering *l, kn_tensor gates, int which)
{
    return kn_narrow(gates, -1, which * l->z.hidden, l->z.hidden);
}

/* x plus peephole `which` times c. */
static kn_tensor peeped(const lowering *l, kn_tensor x, int which, kn_tensor c)
{
    if (!l->peepholes.bits) return x;
    return kn_add(x, kn_mul(kn_narrow(l->peepholes, -1, which * l->z.hidden, l->z.hidden), c));
}

/* state: h and c before the step, kept; x: the input's share of the gates, kept. now: the state after it. */
static void lstm_step(const lowering *l, kn_tensor x, const kn_tensor *state, kn_tensor *now)
{
    kn_tensor gates = kn_keep(kn_add(x, kn_linear(state[0], l->weight_h, KN_NONE)));
    kn_tensor input = kn_keep(activated(l, peeped(l, gate(l, gates, 0), 0, state[1]), 0));
    kn_tensor forget = l->a->input_forget ? kn_rsub_scalar(input, 1)
                                          : activated(l, peeped(l, gate(l, gates, 2), 2, state[1]), 0);
    kn_tensor fresh = activated(l, gate(l, gates, 3), 1);
    now[1] = kn_keep(kn_add(kn_mul(forget, state[1]), kn_mul(input, fresh)));
    kn_tensor output = activated(l, peeped(l, gate(l, gates, 1), 1, now[1]), 0);
    now[0] = kn_mul(output, activated_state(l, now[1], 2));
}

static void gru_step(const lowering *l, kn_tensor x, const kn_tensor *state, kn_tensor *now)
{
    const int64_t two = 2 * l->z.hidden;
    kn_tensor fresh;
    kn_tensor of_h = kn_keep(kn_linear(state[0], kn_narrow(l->weight_h, 0, 0, two), KN_NONE));
    kn_tensor gates = kn_keep(activated(l, kn_add(kn_narrow(x, -1, 0, two), of_h), 0));
    kn_tensor weight = kn_narrow(l->weight_h, 0, two, l->z.hidden);
    if (l->a->linear_before_reset)
        fresh = kn_mul(gate(l, gates, 1), kn_linear(state[0], weight, l->bias_h));
    else
        fresh = kn_linear(kn_mul(gate(l, gates, 1), state[0]), weight, KN_NONE);
    fresh = activated(l, kn_add(gate(l, x, 2), fresh), 1);
    kn_tensor update = gate(l, gates, 0);
    now[0] = kn_add(kn_mul(kn_rsub_scalar(update, 1), fresh), kn_mul(gate(l, gates, 0), state[0]));
}

static void rnn_step(const lowering *l, kn_tensor x, const kn_tensor *state, kn_tensor *now)
{
    now[0] = activated(l, kn_add(x, kn_linear(state[0], l->weight_h, KN_NONE)), 0);
}

/* What is added to the products of x: both halves of the bias, but for the hidden gate of gru its first where the second waits for
   the reset gate. */
static kn_tensor bias_of(lowering *l, kn_tensor bias)
{
    const int64_t n = l->z.gates * l->z.hidden;
    if (!bias.bits) return KN_NONE;
    bias = kn_keep(kn_select(bias, 0, l->direction));
    kn_tensor of_x = kn_narrow(bias, 0, 0, n), of_h = kn_keep(kn_narrow(bias, 0, n, n));
    if (l->z.cell != KNI_RECURRENT_GRU || !l->a->linear_before_reset) return kn_add(of_x, of_h);
    const int64_t two = 2 * l->z.hidden;
    l->bias_h = kn_keep(kn_narrow(of_h, 0, two, l->z.hidden));
    kn_tensor both[2] = {kn_narrow(of_h, 0, 0, two), kn_zeros_like(l->bias_h)};
    return kn_add(of_x, kn_concat(both, 2, 0));
}

/* One step with the rows whose sequence has ended left as they are. out: h, c, and what y shows. */
static void run_step(const lowering *l, kn_tensor x, kn_tensor live, const kn_tensor *state, kn_tensor *out)
{
    static void (*const steps[])(const lowering *, kn_tensor, const kn_tensor *, kn_tensor *) = {
        [KNI_RECURRENT_RNN] = rnn_step, [KNI_RECURRENT_GRU] = gru_step, [KNI_RECURRENT_LSTM] = lstm_step};
    const bool has_c = l->z.cell == KNI_RECURRENT_LSTM;
    kn_scope scope = kn_scope_begin();
    kn_tensor now[2] = {KN_NONE, KN_NONE};
    steps[l->z.cell](l, kn_keep(x), state, now);
    out[0] = kn_keep(now[0]);
    out[1] = has_c ? now[1] : KN_NONE;
    out[2] = KN_NONE;
    if (live.bits) {
        out[2] = kn_where(live, out[0], kni_number(out[0], 0));
        out[0] = kn_where(live, out[0], state[0]);
        if (has_c) out[1] = kn_where(live, out[1], state[1]);
    }
    kn_scope_end_many(scope, out, 3);
    for (int i = 0; i < 3; i++)
        if (out[i].bits) out[i] = kn_keep(out[i]);
    if (!live.bits) out[2] = out[0];
}

/* [directions, batch, hidden] of the direction, or zeros. */
static kn_tensor start_of(const lowering *l, kn_tensor given, kn_tensor like)
{
    if (given.bits) return kn_keep(kn_select(given, 0, l->direction));
    return kn_keep(kn_zeros(KN_SHAPE(l->z.batch, l->z.hidden), kn_dtype_of(like)));
}

/* All steps of one direction; shown has room for them. state: h and c after the last. */
static void run_direction(lowering *l, const kni_lowering *given, kn_tensor live, kn_tensor *shown,
                          kn_tensor *state)
{
    const kn_tensor *in = given->in;
    kn_tensor x = in[KNI_RECURRENT_X], weight = kn_select(in[KNI_RECURRENT_WEIGHT], 0, l->direction);
    l->weight_h = kn_keep(kn_select(in[KNI_RECURRENT_WEIGHT_H], 0, l->direction));
    l->peepholes = given->n_in > KNI_RECURRENT_PEEPHOLES ? in[KNI_RECURRENT_PEEPHOLES] : KN_NONE;
    if (l->peepholes.bits) l->peepholes = kn_keep(kn_select(l->peepholes, 0, l->direction));
    kn_tensor bias = bias_of(l, given->n_in > KNI_RECURRENT_BIAS ? in[KNI_RECURRENT_BIAS] : KN_NONE);
    kn_tensor xs = kn_keep(kn_linear(x, weight, bias));
    state[0] = start_of(l, given->n_in > KNI_RECURRENT_H ? in[KNI_RECURRENT_H] : KN_NONE, x);
    state[1] = KN_NONE;
    if (l->z.cell == KNI_RECURRENT_LSTM)
        state[1] = start_of(l, given->n_in > KNI_RECURRENT_C ? in[KNI_RECURRENT_C] : KN_NONE, x);
    const bool back = kni_recurrent_is_back(l->a, l->direction);
    for (int64_t k = 0; k < l->z.steps; k++) {
        const int64_t t = back ? l->z.steps - 1 - k : k;
        kn_tensor out[3];
        run_step(l, kn_select(xs, 0, t), live.bits ? kn_keep(kn_select(live, 0, t)) : KN_NONE, state, out);
        state[0] = out[0];
        state[1] = out[1];
        shown[t] = out[2];
    }
}

/* [steps, batch, 1]: whether the step is within the sequence. */
static kn_tensor live_steps(const kni_recurrent_sizes *z, kn_tensor lengths)
{
    kn_tensor steps = kn_reshape(kn_arange(0, (double)z->steps, 1, KN_I64), KN_SHAPE(z->steps, 1, 1));
    return kn_keep(kn_less(steps, kn_reshape(kn_cast(lengths, KN_I64), KN_SHAPE(1, z->batch, 1))));
}

kn_status kni_recurrent_lower(kni_lowering *given)
{
    const kni_type *types[3];
    for (int i = 0; i < 3; i++) types[i] = kni_peek(given->in[i]) ? &kni_peek(given->in[i])->type : NULL;
    if (!types[0] || !types[1] || !types[2]) return KN_ERROR_HANDLE;
    lowering l = {.a = given->attributes, .z = kni_recurrent_sizes_of(given->row, types)};
    if (kni_recurrent_stacks(given, &l.z)) return kni_recurrent_stack(given, &l.z);
    kn_tensor live = KN_NONE, ys[2], last[2][2];
    if (given->n_in > KNI_RECURRENT_LENGTHS && given->in[KNI_RECURRENT_LENGTHS].bits)
        live = live_steps(&l.z, given->in[KNI_RECURRENT_LENGTHS]);
    const kn_shape shape = KN_SHAPE(l.z.steps, l.z.directions, l.z.batch, l.z.hidden);
    const size_t bytes = ((size_t)l.z.steps + 1) * sizeof(kn_tensor);
    kn_tensor *shown = l.z.steps <= INT32_MAX ? kni_allocate(bytes) : NULL;
    if (!shown) return kni_fail_op(KN_ERROR_MEMORY, given->row->name, "no memory for %D steps", l.z.steps);
    for (int64_t d = 0; d < l.z.directions; d++) {
        l.direction = d;
        l.bias_h = KN_NONE;
        run_direction(&l, given, live, shown, last[d]);
        ys[d] = l.z.steps ? kn_stack(shown, (int32_t)l.z.steps, 0) : KN_NONE;
    }
    kni_free(shown, bytes);
    given->out[0] =
        l.z.steps ? kn_stack(ys, (int32_t)l.z.directions, 1) : kn_zeros(shape, (kn_dtype)types[0]->dtype);
    for (int i = 1; i < given->n_out; i++) {
        kn_tensor states[2] = {last[0][i - 1], l.z.directions > 1 ? last[1][i - 1] : KN_NONE};
        given->out[i] = kn_stack(states, (int32_t)l.z.directions, 0);
    }
    return KN_OK;
}
