/* kn_lstm, kn_gru and kn_rnn: the CPU's kernel in f32 against the steps in f64, for sizes past its blocks, the same bits for all numbers of
   threads; a cell computed by hand, defaults, and misuse. */
#include "core/thread_pool.h"
#include "support/check.h"
#include <math.h>

typedef kn_recurrent_result cell_function(kn_tensor x, kn_tensor weight, kn_tensor weight_h,
                                          const kn_recurrent_args *args);
static cell_function *const cells[] = {kn_lstm, kn_gru, kn_rnn};
static const int64_t gates[] = {4, 3, 1};

typedef struct sizes {
    int64_t steps, batch, ins, hidden;
    kn_direction direction;
    bool has_lengths, has_peepholes;
} sizes;

static kn_tensor random_values(kn_shape shape, double high)
{
    return kn_keep(kn_random_uniform(shape, -high, high, KN_F32));
}

static kn_tensor in_dtype(kn_tensor x, kn_dtype dtype) { return x.bits ? kn_keep(kn_cast(x, dtype)) : x; }

typedef struct operands {
    kn_tensor x, weight, weight_h;
    kn_recurrent_args args;
} operands;

static operands make(int cell, const sizes *z)
{
    const int64_t d = z->direction == KN_BOTH_WAYS ? 2 : 1, rows = gates[cell] * z->hidden;
    operands o = {random_values(KN_SHAPE(z->steps, z->batch, z->ins), 1),
                  random_values(KN_SHAPE(d, rows, z->ins), 0.3),
                  random_values(KN_SHAPE(d, rows, z->hidden), 0.3),
                  {.direction = z->direction}};
    o.args.bias = random_values(KN_SHAPE(d, 2 * rows), 0.3);
    o.args.h = random_values(KN_SHAPE(d, z->batch, z->hidden), 0.5);
    if (cell == 0) o.args.c = random_values(KN_SHAPE(d, z->batch, z->hidden), 0.5);
    if (cell == 0 && z->has_peepholes) o.args.peepholes = random_values(KN_SHAPE(d, 3 * z->hidden), 0.3);
    if (z->has_lengths) o.args.lengths = kn_keep(kn_random_int(KN_SHAPE(z->batch), 0, z->steps + 1, KN_I32));
    return o;
}

static operands as_dtype(operands o, kn_dtype dtype)
{
    o.x = in_dtype(o.x, dtype);
    o.weight = in_dtype(o.weight, dtype);
    o.weight_h = in_dtype(o.weight_h, dtype);
    o.args.bias = in_dtype(o.args.bias, dtype);
    o.args.h = in_dtype(o.args.h, dtype);
    o.args.c = in_dtype(o.args.c, dtype);
    o.args.peepholes = in_dtype(o.args.peepholes, dtype);
    return o;
}

static double farthest(kn_tensor a, kn_tensor b)
{
    if (kn_count(b) == 0) return 0;
    return kn_item(kn_max(kn_abs(kn_sub(kn_cast(a, KN_F64), b)), KN_AXES_ALL, false));
}

static bool same_bits(kn_tensor a, kn_tensor b)
{
    return kn_item_int(kn_all(kn_equal(a, b), KN_AXES_ALL, false)) == 1;
}

static void compare(int cell, const sizes *z, bool linear)
{
    kn_scope scope = kn_scope_begin();
    operands o = make(cell, z);
    o.args.linear_before_reset = linear;
    operands w = as_dtype(o, KN_F64);
    kn_recurrent_result want = cells[cell](w.x, w.weight, w.weight_h, &w.args),
                        first = {KN_NONE, KN_NONE, KN_NONE};
    for (int threads = 1; threads < 5; threads++) {
        kni_set_threads(threads);
        kn_recurrent_result y = cells[cell](o.x, o.weight, o.weight_h, &o.args);
        y.y = kn_keep(y.y);
        y.h = kn_keep(y.h);
        if (threads > 1) {
            CHECK(same_bits(y.y, first.y) && same_bits(y.h, first.h));
            continue;
        }
        first = y;
        CHECK(farthest(y.y, want.y) < 1e-5 && farthest(y.h, want.h) < 1e-5);
        CHECK(cell != 0 || farthest(y.c, want.c) < 1e-5);
        CHECK(cell == 0 || !y.c.bits);
    }
    kn_scope_end(scope, KN_NONE);
}

static void test_sizes(void)
{
    static const sizes cases[] = {
        {3, 2, 4, 5, KN_ONWARD, false, false},      {300, 3, 8, 40, KN_BOTH_WAYS, true, false},
        {9, 70, 5, 33, KN_BACK, true, true},        {40, 300, 3, 17, KN_ONWARD, false, false},
        {5, 1, 20, 400, KN_BOTH_WAYS, false, true}, {700, 1, 3, 20, KN_BACK, false, false}};
    for (int cell = 0; cell < 3; cell++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) compare(cell, &cases[i], i % 2 == 1);
}

/* One element of state, two steps. */
static void test_by_hand(void)
{
    kn_scope scope = kn_scope_begin();
    const double weights[] = {0.5, -0.3, 0.8, 0.4}, recurrent[] = {0.1, 0.2, -0.6, 0.7}, xs[] = {0.9, -0.4};
    kn_tensor w = kn_cast(kn_from(weights, KN_F64, KN_SHAPE(1, 4, 1)), KN_F32);
    kn_tensor r = kn_cast(kn_from(recurrent, KN_F64, KN_SHAPE(1, 4, 1)), KN_F32);
    kn_tensor x = kn_cast(kn_from(xs, KN_F64, KN_SHAPE(2, 1, 1)), KN_F32);
    double h = 0, c = 0;
    for (int t = 0; t < 2; t++) {
        double g[4];
        for (int k = 0; k < 4; k++) g[k] = weights[k] * xs[t] + recurrent[k] * h;
        const double i = 1 / (1 + exp(-g[0])), o = 1 / (1 + exp(-g[1])), f = 1 / (1 + exp(-g[2]));
        c = f * c + i * tanh(g[3]);
        h = o * tanh(c);
    }
    kn_recurrent_result y = kn_lstm(x, w, r, NULL);
    CHECK_VALUES(y.h, 1e-6, h);
    CHECK_VALUES(y.c, 1e-6, c);
    kn_scope_end(scope, KN_NONE);
}

static void test_activations(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_full(KN_SHAPE(1, 1, 1), 2, KN_F32)),
              one = kn_keep(kn_full(KN_SHAPE(1, 1, 1), 1, KN_F32));
    kn_recurrent_args args = {.activations = {{KN_GATE_AFFINE, 0, KN_ZERO}}};
    CHECK_VALUES(kn_rnn(x, one, one, &args).h, 1e-6, 2);
    args.activations[0] = (kn_gate){KN_GATE_AFFINE, 3, 1};
    CHECK_VALUES(kn_rnn(x, one, one, &args).h, 1e-6, 7);
    args.activations[0] = (kn_gate){KN_GATE_HARD_SIGMOID, 0, 0};
    CHECK_VALUES(kn_rnn(x, one, one, &args).h, 1e-6, 0.9);
    args.clip = 1;
    CHECK_VALUES(kn_rnn(x, one, one, &args).h, 1e-6, 0.7);
    args.activations[1] = (kn_gate){KN_GATE_TANH, 0, 0};
    CHECK_POISON(kn_rnn(x, one, one, &args).y, "2 activations given");
    CHECK_POISON(kn_lstm(x, one, one, NULL).y, "the weight must be [1, 4, 1]");
    args = (kn_recurrent_args){.lengths = x};
    CHECK_POISON(kn_rnn(x, one, one, &args).h, "the lengths must be [1]");
    kn_scope_end(scope, KN_NONE);
}

int main(void)
{
    test_sizes();
    test_by_hand();
    test_activations();
    return check_report();
}
