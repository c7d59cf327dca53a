/* Recurrent layers of kn/nn.h on a device whose library has them, over a driver of paper: one call forward and one for the gradient in each
   training step, replayed with the same bits; what is not for the library goes step by step. */
#include "core/reproducible.h"
#include "support/check.h"
#include "support/paper_device.h"
#include <kn/autocast.h>
#include <kn/nn.h>
#include <kn/optim.h>

enum { IN = 8, HIDDEN = 12, BATCH = 4, TOKENS = 6 };

typedef struct Net {
    kn_nn_lstm lstm;
    kn_nn_gru gru;
    kn_nn_linear fc;
} Net;
static const kn_module_type Net_type = {"Net", sizeof(Net),
                                        (const kn_field[]){KN_MODULE(Net, lstm, kn_nn_lstm),
                                                           KN_MODULE(Net, gru, kn_nn_gru),
                                                           KN_MODULE(Net, fc, kn_nn_linear),
                                                           {0}}};

typedef struct run {
    kn_device device;
    Net net;
    kn_optim optim;
} run;

static bool open_run(run *r, bool records)
{
    *r = (run){0};
    paper_do = (paper_orders){.room = 1 << 24, .records = records, .fault = -1, .layers = true};
    paper_register();
    r->device = kn_device_open("autodiff(fusion(paper))");
    kn_device_use(r->device);
    kn_seed(r->device, 7);
    r->optim = kn_optim_adam(NULL);
    const kn_nn_recurrent_args args = {.num_layers = 2, .batch_first = true},
                               both = {.num_layers = 2, .batch_first = true, .bidirectional = true};
    return r->device && r->optim && kn_nn_lstm_init(&r->net.lstm, IN, HIDDEN, &args) == KN_OK &&
           kn_nn_gru_init(&r->net.gru, HIDDEN, HIDDEN, &both) == KN_OK &&
           kn_nn_linear_init(&r->net.fc, 2 * HIDDEN, 3, NULL) == KN_OK;
}

static void close_run(run *r)
{
    kn_optim_free(r->optim);
    kn_module_drop((kn_module){&r->net, &Net_type});
    kn_device_use(NULL);
    CHECK(kn_shutdown() == 0);
    CHECK(paper_now.used == 0 && paper_now.blocks == 0 && paper_now.alive == 0);
}

static kn_tensor forward(run *r, int number)
{
    float x[BATCH * TOKENS * IN];
    for (int i = 0; i < BATCH * TOKENS * IN; i++) x[i] = (float)(number * 100 + i);
    kn_tensor y = kn_nn_lstm_forward(&r->net.lstm, kn_from(x, KN_F32, KN_SHAPE(BATCH, TOKENS, IN)), NULL);
    return kn_nn_linear_forward(&r->net.fc, kn_nn_gru_forward(&r->net.gru, y, NULL));
}

static kn_status step(run *r, int number)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor y = kn_keep(forward(r, number));
    kn_grads grads = NULL;
    kn_status s = kn_backward(kn_mean(kn_mul(y, y), KN_AXES_ALL, false), &grads);
    if (s == KN_OK) s = kn_optim_step(r->optim, 1e-3 / (1 + number), (kn_module){&r->net, &Net_type}, grads);
    kn_grads_free(grads);
    kn_scope_end(scope, KN_NONE);
    return s;
}

static uint32_t bits_of(kn_tensor t)
{
    static float values[8 * HIDDEN * HIDDEN];
    uint32_t bits = 0;
    if (!CHECK(kn_read(t, values, sizeof(float) * (size_t)kn_count(t)) == KN_OK)) return 0;
    memcpy(&bits, values, sizeof bits);
    return bits;
}

/* Neither the library nor our own kernels are called once for each step of a sequence: see the counts. */
static uint32_t train(bool records, int steps)
{
    run r;
    CHECK(open_run(&r, records));
    const paper_counts before = paper_now;
    for (int i = 0; i < steps; i++) CHECK(step(&r, i) == KN_OK);
    CHECK(kn_sync(r.device) == KN_OK);
    const uint32_t bits = bits_of(kn_value(r.net.lstm.cells[1][0].weight_hh)) * 31 +
                          bits_of(kn_value(r.net.gru.cells[0][1].weight_ih));
    const int64_t forwards = paper_now.layers[1] - before.layers[1],
                  gradients = paper_now.layers[2] - before.layers[2];
    CHECK(paper_now.layers[0] == before.layers[0] && forwards == gradients);
    if (records)
        CHECK(paper_now.replays - before.replays > steps - 10 && forwards < 2 * 10);
    else
        CHECK(forwards == 2 * steps);
    const int64_t launches = (paper_now.launches - before.launches) / steps;
    if (!CHECK(launches <= 30)) printf("  %d launches a step\n", (int)launches);
    close_run(&r);
    return bits;
}

static void test_training(void)
{
    const uint32_t plain = train(false, 40), recorded = train(true, 40);
    CHECK(plain == recorded && plain != 0);
}

/* Without a gradient nothing is kept for one; a second gradient of the same pass has what was kept. */
static void test_modes(void)
{
    run r;
    CHECK(open_run(&r, false));
    paper_counts before = paper_now;
    kn_scope scope = kn_scope_begin();
    kn_no_grad_begin();
    CHECK(bits_of(forward(&r, 1)) != 0);
    kn_no_grad_end();
    CHECK(paper_now.layers[0] == before.layers[0] + 2 && paper_now.layers[1] == before.layers[1]);
    /* In the way of the tape the layers of the library are one record. */
    before = paper_now;
    kn_set_reproducible(true);
    CHECK(bits_of(forward(&r, 1)) != 0 && !memcmp(before.layers, paper_now.layers, sizeof before.layers));
    kn_set_reproducible(false);
    paper_do.no_layers = true;
    CHECK(bits_of(forward(&r, 1)) != 0 && !memcmp(before.layers, paper_now.layers, sizeof before.layers));
    paper_do.no_layers = false;
    r.net.gru.clip = 1, r.net.lstm.clip = 1;
    CHECK(bits_of(forward(&r, 1)) != 0 && !memcmp(before.layers, paper_now.layers, sizeof before.layers));
    r.net.gru.clip = 0;
    CHECK(bits_of(forward(&r, 1)) != 0 && paper_now.layers[1] == before.layers[1] + 1);
    /* Dropout between layers makes a call of each. */
    r.net.lstm.clip = 0, r.net.lstm.dropout = 0.5;
    CHECK(bits_of(forward(&r, 1)) != 0 && paper_now.layers[1] == before.layers[1] + 1 + 3);
    kn_scope_end(scope, KN_NONE);
    close_run(&r);
}

/* Without the library a queue groups the ops of each step, though it got one record: a product and what follows it. */
static void test_early(void)
{
    paper_do = (paper_orders){.room = 1 << 24, .fault = -1};
    paper_register();
    kn_device device = kn_device_open("fusion(paper)");
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_zeros(KN_SHAPE(TOKENS, BATCH, IN), KN_F32));
    kn_tensor w = kn_keep(kn_zeros(KN_SHAPE(1, 4 * HIDDEN, IN), KN_F32));
    kn_tensor r = kn_keep(kn_zeros(KN_SHAPE(1, 4 * HIDDEN, HIDDEN), KN_F32));
    CHECK(kn_sync(device) == KN_OK);
    const int64_t before = paper_now.launches;
    CHECK(kn_ok(kn_lstm(x, w, r, NULL).y) && kn_sync(device) == KN_OK);
    const int64_t launches = paper_now.launches - before;
    if (!CHECK(launches <= 2 * TOKENS + 8)) printf("  %d launches\n", (int)launches);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
    CHECK(kn_shutdown() == 0);
}

/* Without the library training takes five launches for each step of a layer and direction, and some for each layer. */
static void test_ops(void)
{
    run r;
    CHECK(open_run(&r, false));
    paper_do.no_layers = true;
    CHECK(step(&r, 0) == KN_OK && step(&r, 1) == KN_OK && kn_sync(r.device) == KN_OK);
    const int64_t before = paper_now.launches;
    CHECK(step(&r, 2) == KN_OK && kn_sync(r.device) == KN_OK);
    const int64_t launches = paper_now.launches - before;
    if (!CHECK(launches <= 5 * 6 * TOKENS + 120)) printf("  %d launches\n", (int)launches);
    close_run(&r);
}

/* Under autocast the library computes in 16 bits. */
static void test_autocast(void)
{
    run r;
    CHECK(open_run(&r, false));
    const paper_counts before = paper_now;
    kn_scope scope = kn_scope_begin();
    const kn_dtype was = kn_autocast_begin(KN_BF16);
    kn_tensor x = kn_keep(kn_zeros(KN_SHAPE(BATCH, TOKENS, IN), KN_F32));
    CHECK(kn_dtype_of(kn_nn_lstm_forward(&r.net.lstm, x, NULL)) == KN_BF16);
    kn_autocast_end(was);
    CHECK(kn_sync(r.device) == KN_OK && paper_now.layers[1] == before.layers[1] + 1);
    kn_scope_end(scope, KN_NONE);
    close_run(&r);
}

int main(void)
{
    test_training();
    test_modes();
    test_autocast();
    test_early();
    test_ops();
    return check_report();
}
