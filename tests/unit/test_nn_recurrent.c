/* Rnn, Gru and Lstm: PyTorch's values and gradients, the options that PyTorch has not, states, names and misuse. */
#include "test_nn_sequence.h"

typedef struct layer_case {
    const char *name;
    kn_recurrent_kind kind;
    kn_shape x, state; /* state of rank 0: none given */
    kn_nn_recurrent_args args;
} layer_case;

static kn_status init(const layer_case *c, kn_nn_recurrent *m)
{
    kn_nn_recurrent_args args = c->args;
    args.dtype = KN_F64;
    if (c->kind == KN_RECURRENT_RNN) return kn_nn_rnn_init(m, 3, 4, &args);
    if (c->kind == KN_RECURRENT_GRU) return kn_nn_gru_init(m, 3, 4, &args);
    return kn_nn_lstm_init(m, 3, 4, &args);
}

static kn_module module_of(const layer_case *c, kn_nn_recurrent *m)
{
    return c->kind == KN_RECURRENT_RNN   ? KN_MODULE_OF(kn_nn_rnn, m)
           : c->kind == KN_RECURRENT_GRU ? KN_MODULE_OF(kn_nn_gru, m)
                                         : KN_MODULE_OF(kn_nn_lstm, m);
}

static kn_tensor forward(const kn_nn_recurrent *m, kn_tensor x, kn_nn_lstm_state *state)
{
    if (m->kind == KN_RECURRENT_RNN) return kn_nn_rnn_forward(m, x, &state->hidden);
    if (m->kind == KN_RECURRENT_GRU) return kn_nn_gru_forward(m, x, &state->hidden);
    return kn_nn_lstm_forward(m, x, state);
}

static void compare(const layer_case *c)
{
    kn_nn_recurrent m;
    if (!CHECK(init(c, &m) == KN_OK)) {
        printf("%s: %s\n", c->name, kn_last_error());
        return;
    }
    kn_module module = module_of(c, &m);
    fill_params(module);
    CHECK(kn_module_check(module) == KN_OK);
    bool lstm = c->kind == KN_RECURRENT_LSTM, given = c->state.rank > 0;
    kn_tensor x = kn_require_grad(numbers(1, c->x)), first[2] = {KN_NONE, KN_NONE};
    for (int i = 0; given && i < (lstm ? 2 : 1); i++) first[i] = kn_require_grad(numbers(2 + i, c->state));
    kn_nn_lstm_state state = {first[0], first[1]};
    kn_tensor y = kn_keep(forward(&m, x, &state)), hidden = kn_keep(state.hidden);
    kn_tensor loss = kn_add(weighted(y, 99), weighted(hidden, 98));
    expect(c->name, "y", y);
    expect(c->name, "last0", hidden);
    if (lstm) {
        kn_tensor cell = kn_keep(state.cell);
        expect(c->name, "last1", cell);
        loss = kn_add(loss, weighted(cell, 97));
    }
    kn_grads grads = NULL;
    loss = kn_keep(loss);
    if (CHECK(kn_backward(loss, &grads) == KN_OK)) {
        expect(c->name, "dx", kn_grads_get(grads, x));
        if (given) expect(c->name, "dstate0", kn_grads_get(grads, first[0]));
        if (given && lstm) expect(c->name, "dstate1", kn_grads_get(grads, first[1]));
        expect_gradients(c->name, module, grads);
        kn_grads_free(grads);
    }
    kn_module_drop(module);
}

static void follows_torch(void)
{
    kn_nn_activation relu, softsign, hard;
    CHECK(kn_nn_activation_init(&relu, KN_ACTIVATION_RELU, NULL) == KN_OK);
    CHECK(kn_nn_activation_init(&softsign, KN_ACTIVATION_SOFTSIGN, NULL) == KN_OK);
    CHECK(kn_nn_activation_init(&hard, KN_ACTIVATION_HARD_SIGMOID,
                                &(kn_nn_activation_args){.a = 0.2, .b = 0.5}) == KN_OK);
    const kn_nn_recurrent_args deep = {.num_layers = 2, .bidirectional = true};
    const kn_shape none = KN_SCALAR_SHAPE, x = KN_SHAPE(5, 2, 3), states = KN_SHAPE(4, 2, 4);
    const layer_case cases[] = {
        {"rnn", KN_RECURRENT_RNN, x, states, deep},
        {"rnn_relu",
         KN_RECURRENT_RNN,
         KN_SHAPE(2, 5, 3),
         none,
         {.batch_first = true, .no_bias = true, .hidden_activation = &relu}},
        {"gru", KN_RECURRENT_GRU, x, states, deep},
        {"gru_single", KN_RECURRENT_GRU, KN_SHAPE(6, 3), KN_SHAPE(1, 4), {.dropout = 0}},
        {"lstm", KN_RECURRENT_LSTM, x, states, deep},
        {"lstm_long", KN_RECURRENT_LSTM, KN_SHAPE(1, 19, 3), none, {.batch_first = true}},
        {"gru_reset_before", KN_RECURRENT_GRU, x, none, {.reset_before = true}},
        {"lstm_variant",
         KN_RECURRENT_LSTM,
         x,
         none,
         {.input_forget = true,
          .clip = 0.3,
          .gate_activation = &hard,
          .cell_activation = &softsign,
          .hidden_activation = &relu}},
        {"rnn_reverse_clip", KN_RECURRENT_RNN, x, none, {.reverse = true, .clip = 0.5}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) compare(&cases[i]);
}

/* A sequence in two parts, with the state handed over, is the whole sequence. */
static void states_go_on(void)
{
    const kn_recurrent_kind kinds[] = {KN_RECURRENT_RNN, KN_RECURRENT_GRU, KN_RECURRENT_LSTM};
    for (int i = 0; i < 3; i++) {
        layer_case c = {"parts", kinds[i], KN_SCALAR_SHAPE, KN_SCALAR_SHAPE, {.num_layers = 3}};
        kn_nn_recurrent m;
        CHECK(init(&c, &m) == KN_OK);
        kn_tensor x = kn_keep(numbers(1, KN_SHAPE(7, 2, 3)));
        kn_nn_lstm_state whole = {KN_NONE, KN_NONE}, parts = {KN_NONE, KN_NONE};
        kn_tensor y = kn_keep(forward(&m, x, &whole));
        kn_tensor a = forward(&m, kn_narrow(x, 0, 0, 3), &parts),
                  b = forward(&m, kn_narrow(x, 0, 3, 4), &parts);
        kn_tensor joined = kn_keep(kn_concat((const kn_tensor[]){a, b}, 2, 0));
        CHECK(largest_gap(y, joined) == 0);
        CHECK(largest_gap(kn_keep(whole.hidden), kn_keep(parts.hidden)) == 0);
        kn_module_drop(module_of(&c, &m));
    }
}

/* The gradient of early steps only: later steps have none. */
static void partial_gradient(void)
{
    layer_case c = {"partial", KN_RECURRENT_LSTM, KN_SCALAR_SHAPE, KN_SCALAR_SHAPE, {0}};
    kn_nn_recurrent m;
    CHECK(init(&c, &m) == KN_OK);
    kn_tensor x = kn_require_grad(numbers(1, KN_SHAPE(20, 2, 3)));
    kn_tensor y = kn_narrow(kn_nn_lstm_forward(&m, x, NULL), 0, 2, 1), dx;
    kn_tensor loss = kn_keep(kn_sum(y, KN_AXES_ALL, false));
    CHECK(kn_grad(&loss, NULL, 1, &x, 1, 0, &dx) == KN_OK);
    dx = kn_keep(dx);
    CHECK(kn_item(kn_max_abs(kn_narrow(dx, 0, 3, 17), KN_AXES_ALL, false)) == 0);
    CHECK(kn_item(kn_min(kn_max_abs(kn_narrow(dx, 0, 0, 3), KN_AXES(1, 2), false), KN_AXES_ALL, false)) > 0);
    kn_module_drop(module_of(&c, &m));
}

static kn_tensor checked(void *context, const kn_tensor *inputs, int32_t n)
{
    (void)n;
    kn_nn_lstm_state state = {inputs[1], inputs[2]};
    kn_tensor y = kn_keep(forward(context, inputs[0], &state));
    return kn_add(weighted(y, 99), weighted(kn_keep(state.hidden), 98));
}

static void gradients_by_differences(void)
{
    const kn_recurrent_kind kinds[] = {KN_RECURRENT_RNN, KN_RECURRENT_GRU, KN_RECURRENT_LSTM};
    for (int i = 0; i < 3; i++) {
        layer_case c = {"differences", kinds[i], KN_SCALAR_SHAPE, KN_SCALAR_SHAPE, {.bidirectional = true}};
        kn_nn_recurrent m;
        CHECK(init(&c, &m) == KN_OK);
        kn_tensor in[] = {kn_keep(numbers(1, KN_SHAPE(3, 1, 3))), kn_keep(numbers(2, KN_SHAPE(2, 1, 4))),
                          kn_keep(numbers(3, KN_SHAPE(2, 1, 4)))};
        CHECK(kn_gradcheck(checked, &m, in, c.kind == KN_RECURRENT_LSTM ? 3 : 2, 0) == KN_OK);
        kn_module_drop(module_of(&c, &m));
    }
}

/* Dropout is between layers, while training only; the results of the last layer are whole. */
static void dropout_between(void)
{
    layer_case c = {
        "dropout", KN_RECURRENT_GRU, KN_SCALAR_SHAPE, KN_SCALAR_SHAPE, {.num_layers = 2, .dropout = 1}};
    kn_nn_recurrent m;
    CHECK(init(&c, &m) == KN_OK);
    kn_module module = module_of(&c, &m);
    kn_tensor x = kn_keep(numbers(1, KN_SHAPE(4, 1, 3)));
    kn_tensor other = kn_keep(numbers(2, KN_SHAPE(4, 1, 3)));
    kn_tensor a = kn_keep(kn_nn_gru_forward(&m, x, NULL)), b = kn_keep(kn_nn_gru_forward(&m, other, NULL));
    CHECK(largest_gap(a, b) == 0); /* nothing of x passes a dropout of 1 */
    CHECK(kn_item(kn_max_abs(a, KN_AXES_ALL, false)) > 0);
    kn_module_train(module, false);
    CHECK(largest_gap(kn_keep(kn_nn_gru_forward(&m, x, NULL)), kn_keep(kn_nn_gru_forward(&m, other, NULL))) >
          0);
    kn_module_drop(module);
}

static void names_and_start(void)
{
    kn_nn_lstm m;
    CHECK(kn_nn_lstm_init(&m, 3, 16, &(kn_nn_recurrent_args){.num_layers = 2, .bidirectional = true}) ==
          KN_OK);
    kn_module module = KN_MODULE_OF(kn_nn_lstm, &m);
    kn_param *p = kn_module_find(module, "weight_ih_l1_reverse");
    CHECK(p && kn_size(kn_value(*p), 0) == 64 && kn_size(kn_value(*p), 1) == 32);
    p = kn_module_find(module, "bias_hh_l0");
    CHECK(p && kn_size(kn_value(*p), 0) == 64);
    CHECK(kn_module_find(module, "weight_ih_l2") == NULL);
    CHECK(kn_module_count(module, false) == 2 * (64 * 3 + 64 * 16 + 128) + 2 * (64 * 32 + 64 * 16 + 128));
    double largest = kn_item(kn_max_abs(kn_alias(kn_value(m.cells[0][0].weight_hh)), KN_AXES_ALL, false));
    CHECK(largest <= 0.25 && largest > 0.2); /* 1 / sqrt(16) */
    CHECK(kn_dtype_of(kn_value(m.cells[0][0].weight_hh)) == KN_F32);
    kn_module_drop(module);
}

/* bf16 params run. */
static void half_precision(void)
{
    kn_nn_gru m;
    CHECK(kn_nn_gru_init(&m, 3, 4, &(kn_nn_recurrent_args){.dtype = KN_BF16}) == KN_OK);
    kn_tensor y = kn_nn_gru_forward(&m, kn_cast(numbers(1, KN_SHAPE(3, 1, 3)), KN_BF16), NULL);
    CHECK(kn_ok(y) && kn_dtype_of(y) == KN_BF16);
    kn_module_drop(KN_MODULE_OF(kn_nn_gru, &m));
}

static void misuse(void)
{
    kn_nn_recurrent m;
    CHECK_ERROR(kn_nn_rnn_init(&m, 0, 4, NULL), "input_size is 0");
    CHECK_ERROR(kn_nn_gru_init(&m, 3, 4, &(kn_nn_recurrent_args){.num_layers = 17}), "at most 16 layers");
    CHECK_ERROR(kn_nn_gru_init(&m, 3, 4, &(kn_nn_recurrent_args){.input_forget = true}), "option of LSTM");
    CHECK_ERROR(kn_nn_lstm_init(&m, 3, 4, &(kn_nn_recurrent_args){.reset_before = true}), "option of GRU");
    CHECK_ERROR(kn_nn_lstm_init(&m, 3, 4, &(kn_nn_recurrent_args){.reverse = true, .bidirectional = true}),
                "both directions");
    CHECK_ERROR(kn_nn_lstm_init(&m, 3, 4, &(kn_nn_recurrent_args){.dropout = 1.5}),
                "dropout is 1.5; it must be 0 to 1");
    CHECK_ERROR(kn_nn_lstm_init(&m, 3, 4, &(kn_nn_recurrent_args){.clip = -1}), "clip");
    memset(&m, 0, sizeof m);
    CHECK_POISON(kn_nn_rnn_forward(&m, kn_ones(KN_SHAPE(2, 1, 3), KN_F32), NULL), "was never initialised");
    CHECK(kn_nn_lstm_init(&m, 3, 4, NULL) == KN_OK);
    CHECK_POISON(kn_nn_rnn_forward(&m, kn_ones(KN_SHAPE(2, 1, 3), KN_F32), NULL), "another kind");
    CHECK_POISON(kn_nn_lstm_forward(&m, kn_ones(KN_SHAPE(2, 1, 5), KN_F32), NULL),
                 "5 features, the layer was made for 3");
    CHECK_POISON(kn_nn_lstm_forward(&m, kn_ones(KN_SHAPE(3), KN_F32), NULL), "rank 1");
    CHECK_POISON(kn_nn_lstm_forward(&m, kn_ones(KN_SHAPE(0, 1, 3), KN_F32), NULL), "0 steps");
    kn_nn_lstm_state state = {kn_ones(KN_SHAPE(1, 2, 4), KN_F32), KN_NONE};
    CHECK_POISON(kn_nn_lstm_forward(&m, kn_ones(KN_SHAPE(2, 1, 3), KN_F32), &state), "a state is [layers");
    CHECK(!kn_ok(state.hidden) && !kn_ok(state.cell));
    CHECK_POISON(kn_nn_lstm_forward(&m, kn_ones(KN_SHAPE(2, 1, 3), KN_F64), NULL), "f64");
    kn_module_drop(KN_MODULE_OF(kn_nn_lstm, &m));
}

/* A failed allocation anywhere gives an error and leaves nothing behind. */
static void no_memory(void)
{
    for (int64_t n = 1; n < 120; n += 3) {
        kn_nn_lstm m;
        kn_memory_fail_after(n);
        kn_status s = kn_nn_lstm_init(&m, 3, 4, &(kn_nn_recurrent_args){.bidirectional = true});
        kn_tensor y = KN_NONE;
        if (s == KN_OK) y = kn_nn_lstm_forward(&m, kn_ones(KN_SHAPE(9, 2, 3), KN_F32), NULL);
        kn_memory_fail_after(0);
        CHECK(s == KN_OK ? kn_ok(y) || kn_error_code(y) == KN_ERROR_MEMORY : s == KN_ERROR_MEMORY);
        if (s == KN_OK) kn_module_drop(KN_MODULE_OF(kn_nn_lstm, &m));
    }
}

int main(void)
{
    void (*const tests[])(void) = {
        follows_torch,   states_go_on,    partial_gradient, gradients_by_differences,
        dropout_between, names_and_start, half_precision,   misuse,
        no_memory};
    int failed = run_tests(tests, sizeof tests / sizeof *tests);
    /* The ops that layers registered work on after kn_shutdown. */
    void (*const again[])(void) = {half_precision};
    kn_shutdown();
    return run_tests(again, 1) || failed;
}
