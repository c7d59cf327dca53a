/* kn_recurrent_layers: the values and gradients of the layers of kn/nn.h, which go step by step, for each cell, both ways, several
   layers, with and without biases and states; its gradient in halves; misuse. */
#include "ops/sequence_cells.h"
#include "support/check.h"
#include <kn/nn.h>

typedef struct layer_case {
    kn_layers_cell cell;
    int64_t layers;
    bool bidirectional, no_bias, states;
} layer_case;

enum { STEPS = 3, BATCH = 2, INS = 3, HIDDEN = 4, WEIGHTS = 16, CHECKED = 3 };

static kn_status make(const layer_case *c, kn_nn_recurrent *m)
{
    const kn_nn_recurrent_args args = {
        .num_layers = c->layers, .bidirectional = c->bidirectional, .no_bias = c->no_bias, .dtype = KN_F64};
    if (c->cell == KN_LAYERS_RNN) return kn_nn_rnn_init(m, INS, HIDDEN, &args);
    return c->cell == KN_LAYERS_GRU ? kn_nn_gru_init(m, INS, HIDDEN, &args)
                                    : kn_nn_lstm_init(m, INS, HIDDEN, &args);
}

static kn_tensor steps_of(const layer_case *c, const kn_nn_recurrent *m, kn_tensor x, kn_nn_lstm_state *s)
{
    if (c->cell == KN_LAYERS_RNN) return kn_nn_rnn_forward(m, x, &s->hidden);
    return c->cell == KN_LAYERS_GRU ? kn_nn_gru_forward(m, x, &s->hidden) : kn_nn_lstm_forward(m, x, s);
}

/* The params in the order of kn_recurrent_layers. */
static int list_params(const layer_case *c, kn_nn_recurrent *m, kn_param **list)
{
    const int directions = c->bidirectional ? 2 : 1, all = (int)c->layers * directions;
    for (int i = 0; i < all; i++) {
        kn_nn_recurrent_cell *cell = &m->cells[i / directions][i % directions];
        list[2 * i] = &cell->weight_ih, list[2 * i + 1] = &cell->weight_hh;
        list[2 * (all + i)] = &cell->bias_ih, list[2 * (all + i) + 1] = &cell->bias_hh;
    }
    return c->no_bias ? 2 * all : 4 * all;
}

static kn_tensor draw(kn_shape shape) { return kn_keep(kn_random_uniform(shape, -1, 1, KN_F64)); }

/* A number that depends on all results, on each in its own way. */
static kn_tensor loss_of(const kn_recurrent_result *r)
{
    kn_tensor sum = kn_sum(kn_mul(kn_sin(r->y), kn_add_scalar(r->y, 2)), KN_AXES_ALL, false);
    sum = kn_add(sum, kn_sum(kn_exp(r->h), KN_AXES_ALL, false));
    return kn_keep(r->c.bits ? kn_add(sum, kn_sum(kn_mul(r->c, r->c), KN_AXES_ALL, false)) : sum);
}

static bool near(kn_tensor a, kn_tensor b)
{
    return kn_count(a) == kn_count(b) &&
           kn_item(kn_max(kn_abs(kn_sub(kn_reshape(a, kn_shape_of_tensor(b)), b)), KN_AXES_ALL, false)) <
               1e-9;
}

static void keep(kn_recurrent_result *r)
{
    r->y = kn_keep(r->y), r->h = kn_keep(r->h);
    if (r->c.bits) r->c = kn_keep(r->c);
}

static void compare(const layer_case *c)
{
    kn_scope scope = kn_scope_begin();
    kn_nn_recurrent m;
    if (!CHECK(make(c, &m) == KN_OK)) return;
    const bool lstm = c->cell == KN_LAYERS_LSTM;
    const kn_shape state = KN_SHAPE(c->layers * (c->bidirectional ? 2 : 1), BATCH, HIDDEN);
    kn_tensor given[CHECKED] = {kn_require_grad(draw(KN_SHAPE(STEPS, BATCH, INS))), KN_NONE, KN_NONE};
    for (int i = 1; i < (c->states ? lstm ? 3 : 2 : 1); i++) given[i] = kn_require_grad(draw(state));
    kn_nn_lstm_state s = {given[1], given[2]};
    kn_recurrent_result want = {steps_of(c, &m, given[0], &s), s.hidden, s.cell}, got;
    if (!lstm) want.c = KN_NONE;
    kn_param *params[4 * WEIGHTS];
    kn_tensor flat[4 * WEIGHTS];
    const int n = list_params(c, &m, params);
    for (int i = 0; i < n; i++)
        flat[i] = kn_reshape(kn_value(*params[i]), KN_SHAPE(kn_count(kn_value(*params[i]))));
    const kn_recurrent_layers_args args = {.cell = c->cell,
                                           .layers = c->layers,
                                           .hidden = HIDDEN,
                                           .bidirectional = c->bidirectional,
                                           .no_bias = c->no_bias,
                                           .h = given[1],
                                           .c = given[2]};
    got = kn_recurrent_layers(given[0], kn_concat(flat, n, 0), &args);
    keep(&want), keep(&got);
    CHECK(near(got.y, want.y) && near(got.h, want.h) && (!lstm || near(got.c, want.c)));
    kn_grads wanted = NULL, grads = NULL;
    CHECK(kn_backward(loss_of(&want), &wanted) == KN_OK && kn_backward(loss_of(&got), &grads) == KN_OK);
    for (int i = 0; i < CHECKED; i++)
        CHECK(!given[i].bits || near(kn_grads_get(grads, given[i]), kn_grads_get(wanted, given[i])));
    for (int i = 0; i < n; i++)
        CHECK(near(kn_grads_get(grads, kn_value(*params[i])), kn_grads_get(wanted, kn_value(*params[i]))));
    kn_grads_free(wanted), kn_grads_free(grads);
    kn_module_drop(c->cell == KN_LAYERS_RNN   ? KN_MODULE_OF(kn_nn_rnn, &m)
                   : c->cell == KN_LAYERS_GRU ? KN_MODULE_OF(kn_nn_gru, &m)
                                              : KN_MODULE_OF(kn_nn_lstm, &m));
    kn_scope_end(scope, KN_NONE);
}

static void test_cells(void)
{
    for (int i = 0; i < 24; i++) {
        const layer_case c = {(kn_layers_cell)(1 + i / 8), i % 2 ? 3 : 1, (i & 2) != 0, i % 3 == 0,
                              (i & 4) != 0};
        compare(&c);
    }
}

/* Halves are computed in f32 and rounded once. */
static void test_halves(void)
{
    kn_scope scope = kn_scope_begin();
    const int64_t weights = 4 * HIDDEN * (INS + HIDDEN + 2);
    const kn_recurrent_layers_args args = {.cell = KN_LAYERS_LSTM, .hidden = HIDDEN};
    kn_tensor x = kn_keep(kn_cast(draw(KN_SHAPE(STEPS, BATCH, INS)), KN_F16));
    kn_tensor w = kn_keep(kn_cast(draw(KN_SHAPE(weights)), KN_F16));
    kn_recurrent_result r = kn_recurrent_layers(x, w, &args),
                        wide = kn_recurrent_layers(kn_cast(x, KN_F32), kn_cast(w, KN_F32), &args);
    CHECK(kn_dtype_of(r.y) == KN_F16);
    CHECK(kn_item_int(kn_all(kn_equal(r.y, kn_cast(wide.y, KN_F16)), KN_AXES_ALL, false)) == 1);
    kn_scope_end(scope, KN_NONE);
}

/* lstm, gru and rnn of ONNX as stacked layers have the values that they have as steps. */
static void test_stacks(void)
{
    static const struct {
        const kn_op *row;
        int cell, gates;
    } cells[] = {{&kni_op_rnn, KNI_RECURRENT_RNN, 1},
                 {&kni_op_gru, KNI_RECURRENT_GRU, 3},
                 {&kni_op_lstm, KNI_RECURRENT_LSTM, 4}};
    for (int i = 0; i < 9; i++) {
        kn_scope scope = kn_scope_begin();
        const int which = i % 3, direction = i / 3, n = direction == 2 ? 2 : 1,
                  rows = cells[which].gates * HIDDEN;
        const bool lstm = which == KNI_RECURRENT_LSTM;
        kn_tensor in[KNI_RECURRENT_OPERANDS] = {draw(KN_SHAPE(STEPS, BATCH, INS)),
                                                draw(KN_SHAPE(n, rows, INS)),
                                                draw(KN_SHAPE(n, rows, HIDDEN)),
                                                draw(KN_SHAPE(n, 2 * rows)),
                                                KN_NONE,
                                                draw(KN_SHAPE(n, BATCH, HIDDEN))};
        if (lstm) in[KNI_RECURRENT_C] = draw(KN_SHAPE(n, BATCH, HIDDEN));
        kni_recurrent_attributes a = {.direction = direction, .linear_before_reset = 1};
        const kni_recurrent_sizes z = {
            cells[which].cell, cells[which].gates, which + 1, STEPS, BATCH, INS, HIDDEN, n};
        kn_tensor want[3] = {KN_NONE}, got[3] = {KN_NONE};
        kn_recurrent_args args = {
            .bias = in[KNI_RECURRENT_BIAS], .h = in[KNI_RECURRENT_H], .c = in[KNI_RECURRENT_C]};
        args.direction = (kn_direction)direction, args.linear_before_reset = true;
        kn_recurrent_result r = (which == 0   ? kn_rnn
                                 : which == 1 ? kn_gru
                                              : kn_lstm)(in[0], in[1], in[2], &args);
        want[0] = kn_keep(r.y), want[1] = kn_keep(r.h), want[2] = lstm ? kn_keep(r.c) : KN_NONE;
        kni_lowering l = {cells[which].row, &a, in, lstm ? 8 : 6, got, lstm ? 3 : 2};
        CHECK(kni_recurrent_stack(&l, &z) == KN_OK);
        for (int k = 0; k < l.n_out; k++) CHECK(near(kn_keep(got[k]), want[k]));
        CHECK(!kni_recurrent_stacks(&l, &z)); /* the CPU has no library for them */
        kn_scope_end(scope, KN_NONE);
    }
}

static void test_misuse(void)
{
    kn_scope scope = kn_scope_begin();
    kn_recurrent_layers_args args = {.cell = KN_LAYERS_GRU, .hidden = HIDDEN};
    kn_tensor x = draw(KN_SHAPE(STEPS, BATCH, INS)), w = draw(KN_SHAPE(3 * HIDDEN * (INS + HIDDEN + 2)));
    kn_tensor state = draw(KN_SHAPE(1, BATCH, HIDDEN));
    CHECK(kn_ok(kn_recurrent_layers(x, w, &args).y) && !kn_recurrent_layers(x, w, &args).c.bits);
    CHECK_POISON(kn_recurrent_layers(x, x, &args).y, "the weights must be [108]");
    CHECK_POISON(kn_recurrent_layers(kn_cast(x, KN_BF16), w, &args).y, "kn_cast");
    CHECK(kn_ok(kn_recurrent_layers(kn_cast(x, KN_BF16), kn_cast(w, KN_BF16), &args).y));
    args.c = state;
    CHECK_POISON(kn_recurrent_layers(x, w, &args).y, "only lstm has a state c");
    args.c = KN_NONE, args.h = w;
    CHECK_POISON(kn_recurrent_layers(x, w, &args).h, "the initial h must be [1, 2, 4]");
    args.h = KN_NONE, args.hidden = 0;
    CHECK_POISON(kn_recurrent_layers(x, w, &args).y, "the hidden size is 0");
    args.hidden = HIDDEN, args.layers = 65;
    CHECK_POISON(kn_recurrent_layers(x, w, &args).y, "there are 65 layers");
    CHECK_POISON(kn_recurrent_layers(x, w, NULL).y, "cell is -1, none of KN_LAYERS_RNN");
    CHECK(kn_recurrent_layers_at_once(x) == 0); /* the CPU goes step by step */
    kn_scope_end(scope, KN_NONE);
}

int main(void)
{
    kn_device_use(kn_device_open("autodiff(cpu)"));
    test_cells();
    test_halves();
    test_stacks();
    test_misuse();
    return check_report();
}
