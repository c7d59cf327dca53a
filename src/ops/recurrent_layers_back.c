/* The gradient of recurrent_layers as ordinary ops. What a step hands back is the gradient by its h times numbers that follow from x, y and the
   weights, so these are made for all steps at once; each step is left with a product and one or two kernels, and the products
   that make the gradients by weights and x take all steps again. */
#include "ops/recurrent_layers_pass.h"
#include <kn/activation.h>
#include <kn/functional.h>
#include <kn/reduce.h>

/* By step, [steps, batch, ...], KN_NONE: none. The gradients by the gates' share of h are dh by_h + dc by_c, those by the share of x dh by_x,
   where gru has others; h before the step gets dh of_h besides, and c before it dc c_of_c + dh c_of_h. */
typedef struct factors {
    kn_tensor by_h, by_c, by_x, of_h, c_of_c, c_of_h;
} factors;

/* s (1 - s), and 1 - t t */
static kn_tensor slope_of_sigmoid(kn_tensor s) { return kn_mul(s, kn_rsub_scalar(s, 1)); }
static kn_tensor slope_of_tanh(kn_tensor t) { return kn_rsub_scalar(kn_mul(t, t), 1); }

/* The states before each step: `first` before the pass's first one, then those after the others; all [steps, batch, hidden]. */
static kn_tensor before_all(const kni_layers_pass *p, kn_tensor after, kn_tensor first)
{
    const int64_t others = p->l->steps - 1;
    kn_tensor begin = kn_unsqueeze(first, 0);
    if (!others) return kn_keep(begin);
    kn_tensor rest = kn_narrow(after, 0, p->direction ? 1 : 0, others);
    kn_tensor parts[2] = {p->direction ? rest : begin, p->direction ? begin : rest};
    return kn_keep(kn_concat(parts, 2, 0));
}

/* [steps, batch, gates, hidden] of those of each gate. */
static kn_tensor joined(const kn_tensor *gates, int n) { return kn_keep(kn_stack(gates, n, 2)); }

/* c before and after each step, from f and i g of all steps and c before the first: a recurrence of its own. */
static void find_cells(const kni_layers_pass *p, kn_tensor f, kn_tensor fresh, kn_tensor first,
                       kn_tensor *before, kn_tensor *after)
{
    const int64_t steps = p->l->steps, back = p->direction;
    kn_tensor begin = kn_keep(kn_unsqueeze(first, 0)), none = kn_keep(kn_zeros_like(begin));
    kn_tensor a[2] = {back ? f : none, back ? none : f}, b[2] = {back ? fresh : begin, back ? begin : fresh};
    kn_tensor all = kn_keep(kn_scan_linear(kn_concat(a, 2, 0), kn_concat(b, 2, 0), 0, back != 0));
    *before = kn_keep(kn_narrow(all, 0, back ? 1 : 0, steps));
    *after = kn_keep(kn_narrow(all, 0, back ? 0 : 1, steps));
}

static factors of_lstm(const kni_layers_pass *p, kn_tensor x, kn_tensor before)
{
    const kni_layers *l = p->l;
    kn_tensor gates = kn_keep(kn_add(kni_layers_shares(p, x), kn_linear(before, p->w_hh, KN_NONE))), s[4], c,
              t;
    for (int i = 0; i < 4; i++) {
        kn_tensor gate = kni_layers_cut(l, gates, i);
        s[i] = kn_keep(i == 2 ? kn_tanh(gate) : kn_sigmoid(gate));
    }
    find_cells(p, s[1], kn_mul(s[0], s[2]), kni_layers_state(l, l->c, p->number), &c, &t);
    t = kn_keep(kn_tanh(t));
    kn_tensor through = kn_keep(kn_mul(s[3], slope_of_tanh(t))); /* from h to c */
    kn_tensor by_c[4] = {kn_keep(kn_mul(s[2], slope_of_sigmoid(s[0]))),
                         kn_keep(kn_mul(c, slope_of_sigmoid(s[1]))),
                         kn_keep(kn_mul(s[0], slope_of_tanh(s[2]))), kn_keep(kn_zeros_like(c))};
    kn_tensor by_h[4] = {kn_mul(through, by_c[0]), kn_mul(through, by_c[1]), kn_mul(through, by_c[2]),
                         kn_mul(t, slope_of_sigmoid(s[3]))};
    return (factors){.by_h = joined(by_h, 4),
                     .by_c = joined(by_c, 4),
                     .c_of_c = s[1],
                     .c_of_h = kn_keep(kn_mul(through, s[1]))};
}

static factors of_gru(const kni_layers_pass *p, kn_tensor x, kn_tensor before)
{
    const kni_layers *l = p->l;
    kn_tensor of_x = kni_layers_shares(p, x), of_h = kn_keep(kn_linear(before, p->w_hh, p->b_hh)), s[2];
    for (int i = 0; i < 2; i++)
        s[i] = kn_keep(kn_sigmoid(kn_add(kni_layers_cut(l, of_x, i), kni_layers_cut(l, of_h, i))));
    kn_tensor hidden = kn_keep(kni_layers_cut(l, of_h, 2));
    kn_tensor n = kn_keep(kn_tanh(kn_mul_add(s[0], hidden, kni_layers_cut(l, of_x, 2))));
    kn_tensor by_n = kn_keep(kn_mul(kn_rsub_scalar(s[1], 1), slope_of_tanh(n)));
    kn_tensor by_r = kn_keep(kn_mul(kn_mul(by_n, hidden), slope_of_sigmoid(s[0])));
    kn_tensor by_z = kn_keep(kn_mul(kn_sub(before, n), slope_of_sigmoid(s[1])));
    kn_tensor by_x[3] = {by_r, by_z, by_n}, by_h[3] = {by_r, by_z, kn_mul(by_n, s[0])};
    return (factors){.by_h = joined(by_h, 3), .by_x = joined(by_x, 3), .of_h = s[1]};
}

/* f times v, which is the same for all gates; [..., gates, hidden] and [..., hidden]. */
static kn_tensor times(kn_tensor f, kn_tensor v) { return kn_mul(f, kn_unsqueeze(v, -2)); }

static kn_tensor by_gates(const factors *f, kn_tensor by_h, kn_tensor by_c, kn_tensor dh, kn_tensor dc)
{
    kn_tensor y = times(by_h, dh);
    return f->by_c.bits ? kn_add(y, times(by_c, dc)) : y;
}

static kn_tensor at(kn_tensor x, int64_t t) { return x.bits ? kn_keep(kn_select(x, 0, t)) : x; }

/* All steps back. dy [steps, batch, hidden] is kept; dh and dc: after the last step, kept, and then before the first. dhs and dcs receive those of
   each step. */
static void walk_back(const kni_layers_pass *p, const factors *f, kn_tensor dy, kn_tensor *dh, kn_tensor *dc,
                      kn_tensor *dhs, kn_tensor *dcs)
{
    const kni_layers *l = p->l;
    const kn_shape rows = KN_SHAPE(l->batch, l->gates * l->a->hidden);
    for (int64_t k = l->steps - 1; k >= 0; k--) {
        const int64_t t = kni_layers_place(p, k);
        kn_tensor whole = dhs[t] = kn_keep(kn_add(kn_select(dy, 0, t), *dh));
        dcs[t] = *dc;
        kn_tensor gates = by_gates(f, at(f->by_h, t), at(f->by_c, t), whole, *dc);
        kn_tensor before = kn_matmul(kn_reshape(gates, rows), p->w_hh);
        if (f->of_h.bits) before = kn_add(before, kn_mul(whole, kn_select(f->of_h, 0, t)));
        *dh = kn_keep(before);
        if (f->by_c.bits)
            *dc = kn_keep(
                kn_add(kn_mul(*dc, kn_select(f->c_of_c, 0, t)), kn_mul(whole, kn_select(f->c_of_h, 0, t))));
    }
}

typedef struct room {
    kn_tensor *steps; /* for two values of each step */
    kn_tensor pieces[8 * KNI_LAYERS_MOST], last_h[2 * KNI_LAYERS_MOST], last_c[2 * KNI_LAYERS_MOST];
} room;

/* The gradients by the weights and biases of a pass, from those by the gates of all steps. */
static void add_pieces(const kni_layers_pass *p, room *r, kn_tensor x, kn_tensor by_x, kn_tensor by_h,
                       kn_tensor before)
{
    const kni_layers *l = p->l;
    const int64_t rows = l->gates * l->a->hidden, lines = l->steps * l->batch;
    kn_tensor *matrices = r->pieces + 2 * p->number;
    kn_tensor *biases = r->pieces + 2 * (l->a->layers * l->a->directions + p->number);
    kn_tensor w_ih = kn_matmul(kn_transpose(by_x, 0, 1), kn_reshape(x, KN_SHAPE(lines, p->ins)));
    kn_tensor w_hh = kn_matmul(kn_transpose(by_h, 0, 1), kn_reshape(before, KN_SHAPE(lines, l->a->hidden)));
    matrices[0] = kn_keep(kn_reshape(w_ih, KN_SHAPE(rows * p->ins)));
    matrices[1] = kn_keep(kn_reshape(w_hh, KN_SHAPE(rows * l->a->hidden)));
    if (!l->a->biased) return;
    biases[0] = kn_keep(kn_sum(by_x, KN_AXES(0), false));
    biases[1] = l->a->cell == KNI_RECURRENT_GRU ? kn_keep(kn_sum(by_h, KN_AXES(0), false)) : biases[0];
}

/* A pass back: y and dy [steps, batch, hidden] are its own parts, kept. The gradient by what the layer reads. */
static kn_tensor pass_back(const kni_layers_pass *p, room *r, kn_tensor x, kn_tensor y, kn_tensor dy,
                           kn_tensor *dh, kn_tensor *dc)
{
    const kni_layers *l = p->l;
    const int32_t n = (int32_t)l->steps;
    const kn_shape lines = KN_SHAPE(l->steps * l->batch, l->gates * l->a->hidden);
    kn_tensor before = before_all(p, y, kni_layers_state(l, l->h, p->number)), *dhs = r->steps,
              *dcs = dhs + l->steps;
    factors f = {.by_h = KN_NONE};
    if (l->a->cell == KNI_RECURRENT_LSTM)
        f = of_lstm(p, x, before);
    else if (l->a->cell == KNI_RECURRENT_GRU)
        f = of_gru(p, x, before);
    else
        f.by_h = kn_keep(kn_unsqueeze(slope_of_tanh(y), 2));
    walk_back(p, &f, dy, dh, dc, dhs, dcs);
    kn_tensor all_h = kn_keep(kn_stack(dhs, n, 0)),
              all_c = f.by_c.bits ? kn_keep(kn_stack(dcs, n, 0)) : KN_NONE;
    kn_tensor by_h = kn_keep(kn_reshape(by_gates(&f, f.by_h, f.by_c, all_h, all_c), lines)), by_x = by_h;
    if (f.by_x.bits) by_x = kn_keep(kn_reshape(times(f.by_x, all_h), lines));
    add_pieces(p, r, x, by_x, by_h, before);
    return kn_reshape(kn_matmul(by_x, p->w_ih), KN_SHAPE(l->steps, l->batch, p->ins));
}

/* A layer back, both ways; y is what it gave. */
static kn_tensor layer_back(const kni_layers *l, const kni_lowering *given, int64_t layer, room *r,
                            kn_tensor x, kn_tensor y, kn_tensor dy)
{
    const int64_t directions = l->a->directions, hidden = l->a->hidden;
    const kn_tensor *in = given->in;
    kn_tensor dx = KN_NONE;
    for (int64_t d = 0; d < directions; d++) {
        const kni_layers_pass p = kni_layers_pass_of(l, layer * directions + d);
        const int64_t n = p.number;
        kn_tensor *dh = &r->last_h[n], *dc = &r->last_c[n];
        *dh = kni_layers_state(l, KNI_LAYERS_GRAD_DH < given->n_in ? in[KNI_LAYERS_GRAD_DH] : KN_NONE, n);
        *dc = KN_NONE;
        if (l->a->cell == KNI_RECURRENT_LSTM)
            *dc = kni_layers_state(l, KNI_LAYERS_GRAD_DC < given->n_in ? in[KNI_LAYERS_GRAD_DC] : KN_NONE, n);
        kn_tensor own_y = y, own_dy = dy;
        if (directions == 2) {
            own_y = kn_keep(kn_narrow(y, -1, d * hidden, hidden));
            own_dy = kn_keep(kn_narrow(dy, -1, d * hidden, hidden));
        }
        kn_tensor back = pass_back(&p, r, x, own_y, own_dy, dh, dc);
        dx = dx.bits ? kn_add(dx, back) : back;
    }
    return kn_keep(dx);
}

kn_status kni_layers_lower_grad(kni_lowering *given)
{
    if (kni_is_half(kn_dtype_of(given->in[0]))) return kni_layers_widen(given);
    const kni_layers l = kni_layers_of(given, KNI_LAYERS_GRAD_H);
    const int64_t all = l.a->layers * l.a->directions;
    const size_t bytes = sizeof(room) + 2 * (size_t)l.steps * sizeof(kn_tensor);
    room *r = l.steps <= INT32_MAX ? kni_allocate(bytes) : NULL;
    if (!r) return kni_fail_op(KN_ERROR_MEMORY, given->row->name, "no memory for %D steps", l.steps);
    r->steps = (kn_tensor *)(r + 1);
    kn_tensor ys[KNI_LAYERS_MOST + 1], last[2][2], dy = given->in[KNI_LAYERS_GRAD_DY];
    /* The last layer's results are given; those below it are made again. */
    ys[0] = given->in[KNI_LAYERS_X];
    for (int64_t i = 0; i < l.a->layers - 1; i++)
        ys[i + 1] = kni_layers_forward(&l, i, ys[i], r->steps, last);
    ys[l.a->layers] = given->in[KNI_LAYERS_GRAD_Y];
    for (int64_t i = l.a->layers - 1; i >= 0; i--) dy = layer_back(&l, given, i, r, ys[i], ys[i + 1], dy);
    given->out[0] = dy;
    given->out[1] = kn_concat(r->pieces, (int32_t)(all * (l.a->biased ? 4 : 2)), 0);
    given->out[2] = kn_stack(r->last_h, (int32_t)all, 0);
    const bool has_c = l.a->cell == KNI_RECURRENT_LSTM;
    given->out[3] = has_c ? kn_stack(r->last_c, (int32_t)all, 0) : kn_zeros(KN_SHAPE(0), l.dtype);
    kni_free(r, bytes);
    return KN_OK;
}
