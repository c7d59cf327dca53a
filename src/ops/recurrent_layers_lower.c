/* recurrent_layers and its gradient as ordinary ops, for devices without a library: a product and elementwise ops for each step; the
   gradient runs the layers again and then back, with the products of all steps by the weights at the end. */
#include "ops/recurrent_layers.h"
#include <kn/activation.h>
#include <kn/functional.h>
#include <string.h>

enum { SAVED = 6, PARTS = 4 };

/* What a step leaves for its gradient: lstm i f g o, c before, tanh(c); gru r z n, the share of h in n, h before; rnn h. */
typedef struct step {
    kn_tensor saved[SAVED];
    kn_tensor before; /* h before the step */
} step;

typedef struct layers {
    const kni_layers_attributes *a;
    int64_t steps, batch, ins, gates;
    kn_tensor weights, h, c; /* h and c: KN_NONE where they are zeros */
    kn_dtype dtype;
} layers;

/* One layer in one direction. */
typedef struct pass {
    const layers *l;
    int64_t number, direction, ins; /* number: layer * directions + direction */
    kn_tensor w_ih, w_hh, b_ih, b_hh;
    step *steps;
} pass;

static int64_t ins_of(const layers *l, int64_t layer)
{
    return layer ? l->a->directions * l->a->hidden : l->ins;
}

static kn_tensor part(const layers *l, int64_t start, int64_t rows, int64_t columns)
{
    kn_tensor flat = kn_narrow(l->weights, 0, start, rows * columns);
    return kn_keep(columns == 1 ? flat : kn_reshape(flat, KN_SHAPE(rows, columns)));
}

/* Matrices of all layers come first, then all biases. */
static pass pass_of(const layers *l, int64_t number, step *steps)
{
    const int64_t directions = l->a->directions, hidden = l->a->hidden, rows = l->gates * hidden;
    int64_t at = 0, matrices = 0;
    for (int64_t i = 0; i < l->a->layers * directions; i++) {
        if (i == number) at = matrices;
        matrices += rows * (ins_of(l, i / directions) + hidden);
    }
    pass p = {.l = l, .number = number, .direction = number % directions, .steps = steps};
    p.ins = ins_of(l, number / directions);
    p.w_ih = kn_keep(kn_reshape(kn_narrow(l->weights, 0, at, rows * p.ins), KN_SHAPE(rows, p.ins)));
    p.w_hh = kn_keep(
        kn_reshape(kn_narrow(l->weights, 0, at + rows * p.ins, rows * hidden), KN_SHAPE(rows, hidden)));
    p.b_ih = p.b_hh = KN_NONE;
    if (!l->a->biased) return p;
    p.b_ih = part(l, matrices + number * 2 * rows, rows, 1);
    p.b_hh = part(l, matrices + (number * 2 + 1) * rows, rows, 1);
    return p;
}

static int64_t place_of(const pass *p, int64_t k) { return p->direction ? p->l->steps - 1 - k : k; }

static kn_tensor cut(const pass *p, kn_tensor gates, int which)
{
    return kn_narrow(gates, -1, which * p->l->a->hidden, p->l->a->hidden);
}

/* ---- forward: x is the input's share of the gates; state: h and c, kept, before and after */

static void lstm_step(const pass *p, kn_tensor x, kn_tensor *state, kn_tensor *saved)
{
    kn_tensor gates = kn_keep(kn_add(x, kn_linear(state[0], p->w_hh, KN_NONE)));
    for (int i = 0; i < 4; i++) {
        kn_tensor gate = cut(p, gates, i);
        saved[i] = kn_keep(i == 2 ? kn_tanh(gate) : kn_sigmoid(gate));
    }
    saved[4] = state[1];
    state[1] = kn_keep(kn_mul_add(saved[1], state[1], kn_mul(saved[0], saved[2])));
    saved[5] = kn_keep(kn_tanh(state[1]));
    state[0] = kn_keep(kn_mul(saved[3], saved[5]));
}

static void gru_step(const pass *p, kn_tensor x, kn_tensor *state, kn_tensor *saved)
{
    kn_tensor of_x = kn_keep(x), of_h = kn_keep(kn_linear(state[0], p->w_hh, p->b_hh));
    for (int i = 0; i < 2; i++) saved[i] = kn_keep(kn_sigmoid(kn_add(cut(p, of_x, i), cut(p, of_h, i))));
    saved[3] = kn_keep(cut(p, of_h, 2));
    saved[2] = kn_keep(kn_tanh(kn_mul_add(saved[0], saved[3], cut(p, of_x, 2))));
    saved[4] = state[0];
    state[0] = kn_keep(kn_lerp(saved[2], state[0], saved[1]));
}

static void rnn_step(const pass *p, kn_tensor x, kn_tensor *state, kn_tensor *saved)
{
    saved[0] = state[0] = kn_keep(kn_tanh(kn_add(x, kn_linear(state[0], p->w_hh, KN_NONE))));
}

static kn_tensor start_of(const layers *l, kn_tensor given, int64_t number)
{
    if (given.bits) return kn_keep(kn_select(given, 0, number));
    return kn_keep(kn_zeros(KN_SHAPE(l->batch, l->a->hidden), l->dtype));
}

/* x [steps, batch, ins] is kept; shown has room for all steps. */
static kn_tensor run_pass(const pass *p, kn_tensor x, kn_tensor *shown, kn_tensor *state)
{
    static void (*const ways[])(const pass *, kn_tensor, kn_tensor *, kn_tensor *) = {
        [KNI_RECURRENT_RNN] = rnn_step, [KNI_RECURRENT_GRU] = gru_step, [KNI_RECURRENT_LSTM] = lstm_step};
    const layers *l = p->l;
    const bool both = p->b_ih.bits && l->a->cell != KNI_RECURRENT_GRU;
    kn_tensor bias = both ? kn_add(p->b_ih, p->b_hh) : p->b_ih;
    kn_tensor shares = kn_keep(kn_linear(x, p->w_ih, bias));
    state[0] = start_of(l, l->h, p->number);
    state[1] = l->a->cell == KNI_RECURRENT_LSTM ? start_of(l, l->c, p->number) : KN_NONE;
    for (int64_t k = 0; k < l->steps; k++) {
        const int64_t t = place_of(p, k);
        p->steps[t].before = state[0];
        ways[l->a->cell](p, kn_select(shares, 0, t), state, p->steps[t].saved);
        shown[t] = state[0];
    }
    return kn_stack(shown, (int32_t)l->steps, 0);
}

/* All layers; xs[i] receives what layer i reads, xs[layers] the result; state, by pass, h and c after the last step. */
static void run_all(const layers *l, pass *passes, step *steps, kn_tensor *shown, kn_tensor x, kn_tensor *xs,
                    kn_tensor *last_h, kn_tensor *last_c)
{
    const int64_t directions = l->a->directions;
    xs[0] = x;
    for (int64_t i = 0; i < l->a->layers; i++) {
        kn_tensor ways[2];
        for (int64_t d = 0; d < directions; d++) {
            const int64_t n = i * directions + d;
            kn_tensor state[2];
            passes[n] = pass_of(l, n, steps + n * l->steps);
            ways[d] = run_pass(&passes[n], xs[i], shown, state);
            last_h[n] = state[0];
            last_c[n] = state[1];
        }
        xs[i + 1] = kn_keep(directions == 2 ? kn_concat(ways, 2, -1) : ways[0]);
    }
}

/* ---- what both need */

enum { MOST_PASSES = 2 * KNI_LAYERS_MOST };

typedef struct room {
    layers l;
    size_t bytes;
    step *steps;
    kn_tensor *shown; /* for two values of each step */
    pass passes[MOST_PASSES];
    kn_tensor xs[KNI_LAYERS_MOST + 1], last_h[MOST_PASSES], last_c[MOST_PASSES], pieces[4 * MOST_PASSES];
} room;

/* h: the operand; that of c follows it. */
static room *make_room(const kni_lowering *given, int h)
{
    const kni_layers_attributes *a = given->attributes;
    const kn_shape x = kn_shape_of_tensor(given->in[KNI_LAYERS_X]);
    const int64_t each = (int64_t)sizeof(step) * a->layers * a->directions + 2 * (int64_t)sizeof(kn_tensor);
    const bool fits = x.dims[0] <= INT32_MAX && x.dims[0] <= (INT64_MAX >> 2) / each;
    const size_t bytes = sizeof(room) + (fits ? (size_t)x.dims[0] * (size_t)each : 0);
    room *r = fits ? kni_allocate(bytes) : NULL;
    if (!r) {
        kni_fail_op(KN_ERROR_MEMORY, given->row->name, "no memory for %D steps", x.dims[0]);
        return NULL;
    }
    memset(r, 0, sizeof *r);
    r->bytes = bytes;
    r->shown = (kn_tensor *)(r + 1);
    r->steps = (step *)(r->shown + 2 * x.dims[0]);
    const kn_tensor *in = given->in;
    r->l = (layers){.a = a, .steps = x.dims[0], .batch = x.dims[1], .ins = x.dims[2]};
    r->l.gates = kni_layers_gates(a->cell);
    r->l.weights = in[KNI_LAYERS_WEIGHTS];
    r->l.h = given->n_in > h ? in[h] : KN_NONE;
    r->l.c = given->n_in > h + 1 ? in[h + 1] : KN_NONE;
    r->l.dtype = kn_dtype_of(in[KNI_LAYERS_X]);
    return r;
}

/* The same record in f32, which a device may have where it has no such halves. */
static kn_status widen(kni_lowering *l)
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
    if (kni_is_half(kn_dtype_of(given->in[0]))) return widen(given);
    room *r = make_room(given, KNI_LAYERS_H);
    if (!r) return KN_ERROR_MEMORY;
    const int32_t all = (int32_t)(r->l.a->layers * r->l.a->directions);
    run_all(&r->l, r->passes, r->steps, r->shown, given->in[KNI_LAYERS_X], r->xs, r->last_h, r->last_c);
    given->out[0] = r->xs[r->l.a->layers];
    given->out[1] = kn_stack(r->last_h, all, 0);
    given->out[2] = r->last_c[0].bits ? kn_stack(r->last_c, all, 0) : kn_zeros(KN_SHAPE(0), r->l.dtype);
    kni_free(r, r->bytes);
    return KN_OK;
}

/* ---- back: dh, the gradient by h after the step, kept; dc likewise, and after it that before the step. of_x and of_h receive the
   gradients of the gates' two shares, the same but for gru; the result is added to the gradient by h before the step. */

/* dy s (1 - s), and dy (1 - t t) */
static kn_tensor of_sigmoid(kn_tensor dy, kn_tensor s) { return kn_mul(dy, kn_mul(s, kn_rsub_scalar(s, 1))); }
static kn_tensor of_tanh(kn_tensor dy, kn_tensor t) { return kn_mul(dy, kn_rsub_scalar(kn_mul(t, t), 1)); }

static kn_tensor lstm_back(const kn_tensor *s, kn_tensor dh, kn_tensor *dc, kn_tensor *of_x, kn_tensor *of_h)
{
    kn_tensor all = kn_keep(kn_add(*dc, of_tanh(kn_mul(dh, s[3]), s[5])));
    kn_tensor gates[4] = {of_sigmoid(kn_mul(all, s[2]), s[0]), of_sigmoid(kn_mul(all, s[4]), s[1]),
                          of_tanh(kn_mul(all, s[0]), s[2]), of_sigmoid(kn_mul(dh, s[5]), s[3])};
    *of_x = *of_h = kn_keep(kn_concat(gates, 4, -1));
    *dc = kn_keep(kn_mul(all, s[1]));
    return KN_NONE;
}

static kn_tensor gru_back(const kn_tensor *s, kn_tensor dh, kn_tensor *dc, kn_tensor *of_x, kn_tensor *of_h)
{
    (void)dc;
    kn_tensor dn = kn_keep(of_tanh(kn_mul(dh, kn_rsub_scalar(s[1], 1)), s[2]));
    kn_tensor dz = kn_keep(of_sigmoid(kn_mul(dh, kn_sub(s[4], s[2])), s[1]));
    kn_tensor dr = kn_keep(of_sigmoid(kn_mul(dn, s[3]), s[0]));
    kn_tensor by_x[3] = {dr, dz, dn}, by_h[3] = {dr, dz, kn_mul(dn, s[0])};
    *of_x = kn_keep(kn_concat(by_x, 3, -1));
    *of_h = kn_keep(kn_concat(by_h, 3, -1));
    return kn_mul(dh, s[1]);
}

static kn_tensor rnn_back(const kn_tensor *s, kn_tensor dh, kn_tensor *dc, kn_tensor *of_x, kn_tensor *of_h)
{
    (void)dc;
    *of_x = *of_h = kn_keep(of_tanh(dh, s[0]));
    return KN_NONE;
}

/* The gradients by the weights and biases of a pass, from those by the gates of all steps. */
static void add_pieces(const pass *p, room *r, kn_tensor x, kn_tensor of_x, kn_tensor of_h, kn_tensor before)
{
    const layers *l = p->l;
    const int64_t rows = l->gates * l->a->hidden, lines = l->steps * l->batch,
                  all = l->a->layers * l->a->directions;
    kn_tensor flat_x = kn_keep(kn_reshape(of_x, KN_SHAPE(lines, rows)));
    kn_tensor flat_h = kn_keep(kn_reshape(of_h, KN_SHAPE(lines, rows)));
    kn_tensor w_ih = kn_matmul(kn_transpose(flat_x, 0, 1), kn_reshape(x, KN_SHAPE(lines, p->ins)));
    kn_tensor w_hh = kn_matmul(kn_transpose(flat_h, 0, 1), kn_reshape(before, KN_SHAPE(lines, l->a->hidden)));
    r->pieces[2 * p->number] = kn_keep(kn_reshape(w_ih, KN_SHAPE(rows * p->ins)));
    r->pieces[2 * p->number + 1] = kn_keep(kn_reshape(w_hh, KN_SHAPE(rows * l->a->hidden)));
    if (!l->a->biased) return;
    r->pieces[2 * (all + p->number)] = kn_keep(kn_sum(flat_x, KN_AXES(0), false));
    r->pieces[2 * (all + p->number) + 1] = kn_keep(kn_sum(flat_h, KN_AXES(0), false));
}

/* All steps of a pass back; dy [steps, batch, hidden] is kept. The gradient by what the layer reads. */
static kn_tensor pass_back(const pass *p, room *r, kn_tensor x, kn_tensor dy, kn_tensor *dh, kn_tensor *dc)
{
    static kn_tensor (*const ways[])(const kn_tensor *, kn_tensor, kn_tensor *, kn_tensor *, kn_tensor *) = {
        [KNI_RECURRENT_RNN] = rnn_back, [KNI_RECURRENT_GRU] = gru_back, [KNI_RECURRENT_LSTM] = lstm_back};
    const layers *l = p->l;
    const int32_t n = (int32_t)l->steps;
    kn_tensor *of_x = r->shown, *of_h = r->shown + l->steps;
    for (int64_t k = l->steps - 1; k >= 0; k--) {
        const int64_t t = place_of(p, k);
        kn_tensor whole = kn_keep(kn_add(kn_select(dy, 0, t), *dh));
        kn_tensor rest = ways[l->a->cell](p->steps[t].saved, whole, dc, &of_x[t], &of_h[t]);
        kn_tensor back = kn_matmul(of_h[t], p->w_hh);
        *dh = kn_keep(rest.bits ? kn_add(back, rest) : back);
    }
    kn_tensor by_x = kn_keep(kn_stack(of_x, n, 0)), by_h = by_x;
    if (l->a->cell == KNI_RECURRENT_GRU) by_h = kn_keep(kn_stack(of_h, n, 0));
    for (int64_t t = 0; t < l->steps; t++) r->shown[t] = p->steps[t].before;
    add_pieces(p, r, x, by_x, by_h, kn_stack(r->shown, n, 0));
    return kn_matmul(by_x, p->w_ih);
}

/* The gradient by a state after the last step: what was given, or zeros. */
static kn_tensor end_of(const layers *l, const kni_lowering *given, int operand, int64_t number)
{
    return start_of(l, operand < given->n_in ? given->in[operand] : KN_NONE, number);
}

kn_status kni_layers_lower_grad(kni_lowering *given)
{
    if (kni_is_half(kn_dtype_of(given->in[0]))) return widen(given);
    room *r = make_room(given, KNI_LAYERS_GRAD_H);
    if (!r) return KN_ERROR_MEMORY;
    const layers *l = &r->l;
    const int64_t directions = l->a->directions, hidden = l->a->hidden, all = l->a->layers * directions;
    run_all(l, r->passes, r->steps, r->shown, given->in[KNI_LAYERS_X], r->xs, r->last_h, r->last_c);
    kn_tensor dy = given->in[KNI_LAYERS_GRAD_DY];
    for (int64_t i = l->a->layers - 1; i >= 0; i--) {
        kn_tensor dx = KN_NONE;
        for (int64_t d = 0; d < directions; d++) {
            const int64_t n = i * directions + d;
            kn_tensor dh = end_of(l, given, KNI_LAYERS_GRAD_DH, n), dc = KN_NONE;
            if (l->a->cell == KNI_RECURRENT_LSTM) dc = end_of(l, given, KNI_LAYERS_GRAD_DC, n);
            kn_tensor own = directions == 2 ? kn_keep(kn_narrow(dy, -1, d * hidden, hidden)) : dy;
            kn_tensor back = pass_back(&r->passes[n], r, r->xs[i], own, &dh, &dc);
            dx = dx.bits ? kn_add(dx, back) : back;
            r->last_h[n] = dh;
            r->last_c[n] = dc;
        }
        dy = kn_keep(dx);
    }
    given->out[0] = dy;
    given->out[1] = kn_concat(r->pieces, (int32_t)(all * (l->a->biased ? 4 : 2)), 0);
    given->out[2] = kn_stack(r->last_h, (int32_t)all, 0);
    given->out[3] =
        r->last_c[0].bits ? kn_stack(r->last_c, (int32_t)all, 0) : kn_zeros(KN_SHAPE(0), l->dtype);
    kni_free(r, r->bytes);
    return KN_OK;
}
