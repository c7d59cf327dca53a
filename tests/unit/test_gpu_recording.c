/* Recordings of plans over a device of paper: a repeated plan is replayed with the bits that it has without recordings,
   whatever numbers, addresses, held results, faults and failures come in between, and keeps no memory. */
#define _POSIX_C_SOURCE 200809L
#include "core/error.h"
#include "support/check.h"
#include "support/paper_device.h"
#include <kn/custom_op.h>
#include <kn/nn.h>
#include <kn/optim.h>
#include <kn/program.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

typedef struct Net {
    kn_nn_linear fc1, fc2;
} Net;
static const kn_module_type Net_type = {
    "Net", sizeof(Net),
    (const kn_field[]){KN_MODULE(Net, fc1, kn_nn_linear), KN_MODULE(Net, fc2, kn_nn_linear), {0}}};

enum { IN = 12, HIDDEN = 24, CLASSES = 5, BATCH = 8, HELD = 6 };

typedef struct run {
    kn_device device;
    Net net;
    kn_optim optim;
    kn_tensor held[HELD]; /* losses of the latest steps */
    int n_held;           /* how many of them are kept: the rest is dropped */
    double dropout;
} run;

static int64_t room = 1 << 22;
static bool attends;   /* with dropout, between the layers */
static bool addresses; /* as devices with and without them are told of faults */

static bool open_run(run *r, bool records)
{
    *r = (run){.n_held = 0};
    paper_do = (paper_orders){.room = room, .records = records, .fault = -1, .addresses = addresses};
    paper_register();
    r->device = kn_device_open("autodiff(fusion(paper))");
    kn_device_use(r->device);
    kn_seed(r->device, 7);
    r->optim = kn_optim_adam(NULL);
    return r->device && r->optim && kn_nn_linear_init(&r->net.fc1, IN, HIDDEN, NULL) == KN_OK &&
           kn_nn_linear_init(&r->net.fc2, HIDDEN, CLASSES, NULL) == KN_OK;
}

/* Everything of the device is given back, also what recordings had. */
static void close_run(run *r)
{
    for (int i = 0; i < HELD; i++) kn_drop(r->held[i]);
    kn_optim_free(r->optim);
    kn_module_drop((kn_module){&r->net, &Net_type});
    kn_device_use(NULL);
    CHECK(kn_shutdown() == 0);
    CHECK(paper_now.used == 0 && paper_now.blocks == 0 && paper_now.alive == 0);
}

static kn_status step(run *r, int number)
{
    float x[BATCH * IN];
    int64_t y[BATCH] = {0};
    for (int i = 0; i < BATCH * IN; i++) x[i] = (float)(number * 100 + i);
    kn_scope scope = kn_scope_begin();
    kn_tensor h = kn_relu(kn_nn_linear_forward(&r->net.fc1, kn_from(x, KN_F32, KN_SHAPE(BATCH, IN))));
    if (r->dropout > 0) h = kn_dropout(h, r->dropout, true);
    if (attends) {
        h = kn_keep(kn_reshape(h, KN_SHAPE(1, 2, BATCH, HIDDEN / 2)));
        h = kn_reshape(kn_attention(h, h, h, &(kn_attention_args){.dropout = 0.5}), KN_SHAPE(BATCH, HIDDEN));
    }
    kn_tensor logits = kn_nn_linear_forward(&r->net.fc2, h);
    kn_tensor loss = kn_keep(kn_cross_entropy(logits, kn_from(y, KN_I64, KN_SHAPE(BATCH)), NULL));
    kn_grads grads = NULL;
    kn_status s = kn_backward(loss, &grads);
    double rate = 1e-3 / (1 + number);
    if (s == KN_OK) s = kn_optim_step(r->optim, rate, (kn_module){&r->net, &Net_type}, grads);
    kn_grads_free(grads);
    if (r->n_held) {
        kn_drop(r->held[number % r->n_held]);
        r->held[number % r->n_held] = kn_own(loss);
    }
    kn_scope_end(scope, KN_NONE);
    return s;
}

/* The bits that stand for all that a tensor was made from. */
static uint32_t bits_of(kn_tensor t)
{
    static float values[HIDDEN * HIDDEN];
    uint32_t bits = 0;
    if (kn_read(t, values, sizeof(float) * (size_t)kn_count(t)) != KN_OK) return 0;
    memcpy(&bits, values, sizeof bits);
    return bits;
}

static uint32_t bits_of_run(run *r)
{
    uint32_t bits = bits_of(kn_value(r->net.fc1.weight)) ^ 3 * bits_of(kn_value(r->net.fc2.bias));
    for (int i = 0; i < r->n_held; i++) bits = bits * 31 + bits_of(r->held[i]);
    return bits;
}

static int64_t replays(const run *r)
{
    kn_fusion_stats stats = {0};
    CHECK(kn_fusion_stats_of(r->device, &stats) == KN_OK);
    return stats.plans_replayed;
}

/* ---- the same bits */

typedef struct outcome {
    uint32_t bits;
    int64_t launches, replays, renumbered, used, begun;
} outcome;

static outcome train(bool records, int steps, int held, double dropout)
{
    run r;
    outcome o = {0};
    paper_counts before = paper_now;
    CHECK(open_run(&r, records));
    r.n_held = held;
    r.dropout = dropout;
    for (int i = 0; i < steps; i++) {
        CHECK(step(&r, i) == KN_OK);
        if (i == steps / 2) o.used = paper_now.used;
    }
    o.used = paper_now.used - o.used;
    o.bits = bits_of_run(&r);
    o.replays = replays(&r);
    o.launches = paper_now.launches - before.launches;
    o.renumbered = paper_now.renumbered - before.renumbered;
    o.begun = paper_now.begun - before.begun;
    close_run(&r);
    return o;
}

static void same(int steps, int held, double dropout, int64_t least)
{
    outcome plain = train(false, steps, held, dropout), recorded = train(true, steps, held, dropout);
    CHECK(plain.bits == recorded.bits && plain.bits != 0);
    CHECK(plain.replays == 0 && plain.begun == 0);
    CHECK(plain.launches == recorded.launches);
    CHECK(recorded.used == 0); /* flat from the middle on */
    if (!CHECK(recorded.replays >= least))
        printf("%lld replays of %d steps, %lld recordings\n", (long long)recorded.replays, steps,
               (long long)recorded.begun);
    CHECK(recorded.renumbered >= recorded.replays); /* each step has another rate */
}

static void replays_with_the_same_bits(void)
{
    same(400, 0, 0, 390);
    same(60, 0, 0.5, 50);
    same(60, 1, 0, 50); /* the loss of one step is held until the next one is there: its value moves */
    same(60, HELD, 0.25, 50);
    attends = true; /* its kernels get other random numbers, which no schedule laid out */
    same(60, 0, 0, 50);
    attends = false;
}

/* Results that are too large to be moved: as many recordings as are held at once, up to a number. */
static void holds_large_results(int held, int64_t least, int64_t most)
{
    enum { N = 300000, TURNS = 60 };
    static float values[N];
    uint32_t bits[2];
    for (int records = 0; records < 2; records++) {
        run r;
        room = 1 << 27;
        CHECK(open_run(&r, records));
        paper_counts before = paper_now;
        kn_tensor x = kn_own(kn_ones(KN_SHAPE(N), KN_F32)), kept[8] = {{0}};
        bits[records] = 0;
        for (int i = 0; i < TURNS; i++) {
            kn_scope scope = kn_scope_begin();
            kn_tensor y = kn_own(kn_exp(kn_mul_scalar(x, i)));
            CHECK(kn_submit(r.device) == KN_OK);
            kn_tensor *oldest = &kept[i % held];
            if (oldest->bits) {
                CHECK(kn_read(*oldest, values, sizeof values) == KN_OK);
                uint32_t first;
                memcpy(&first, values, sizeof first);
                bits[records] = bits[records] * 31 + first;
                kn_drop(*oldest);
            }
            *oldest = y;
            kn_scope_end(scope, KN_NONE);
        }
        for (int i = 0; i < held; i++) kn_drop(kept[i]);
        kn_drop(x);
        int64_t replayed = replays(&r), begun = paper_now.begun - before.begun;
        if (records && !CHECK(replayed >= least && begun <= most))
            printf("%lld replayed, %lld recordings\n", (long long)replayed, (long long)begun);
        room = 1 << 22;
        close_run(&r);
    }
    CHECK(bits[0] == bits[1]);
}

/* ---- what keeps a recording from being replayed */

static void leaves_what_is_held(void)
{
    run r;
    CHECK(open_run(&r, true));
    for (int i = 0; i < 10; i++) CHECK(step(&r, i) == KN_OK);
    int64_t before = replays(&r);
    CHECK(before > 3);
    /* Another name of the param's value: it must not be written over. */
    kn_tensor old = kn_own(kn_reshape(kn_value(r.net.fc1.weight), KN_SHAPE(HIDDEN * IN)));
    uint32_t bits = bits_of(old);
    CHECK(step(&r, 10) == KN_OK && replays(&r) == before);
    CHECK(bits_of(old) == bits && bits_of(kn_value(r.net.fc1.weight)) != bits);
    kn_drop(old);
    for (int i = 11; i < 40; i++) CHECK(step(&r, i) == KN_OK);
    CHECK(replays(&r) > before + 15);
    close_run(&r);
}

/* Large inputs that are always somewhere else: it is tried a few times, and no more. */
static void stops_where_nothing_repeats(void)
{
    enum { N = 60, LARGE = 300000 };
    static float values[LARGE];
    run r;
    kn_tensor kept[N];
    room = 1 << 28;
    CHECK(open_run(&r, true));
    room = 1 << 22;
    paper_counts before = paper_now;
    for (int i = 0; i < N; i++) {
        kn_scope scope = kn_scope_begin();
        values[0] = (float)i;
        kept[i] = kn_own(kn_from(values, KN_F32, KN_SHAPE(LARGE)));
        kn_tensor y = kn_sum(kn_exp(kept[i]), KN_AXES_ALL, false);
        CHECK(kn_ok(kn_keep(y)) && kn_submit(r.device) == KN_OK);
        kn_scope_end(scope, KN_NONE);
    }
    CHECK(paper_now.begun - before.begun <= 8 && paper_now.begun > before.begun);
    CHECK(replays(&r) == 0);
    for (int i = 0; i < N; i++) kn_drop(kept[i]);
    close_run(&r);
}

/* Small ones are copied to where the recording reads them: one recording, however long it goes on, and the bits of runs without. */
static void copies_what_moves(void)
{
    enum { N = 60 };
    uint32_t bits[2] = {0, 0};
    for (int records = 0; records < 2; records++) {
        run r;
        kn_tensor kept[N];
        CHECK(open_run(&r, records));
        paper_counts before = paper_now;
        for (int i = 0; i < N; i++) {
            kn_scope scope = kn_scope_begin();
            float values[64] = {(float)i};
            kept[i] = kn_own(kn_from(values, KN_F32, KN_SHAPE(64)));
            kn_tensor y = kn_keep(kn_sum(kn_exp(kept[i]), KN_AXES_ALL, false));
            CHECK(kn_submit(r.device) == KN_OK);
            bits[records] = bits[records] * 31 + bits_of(y);
            kn_scope_end(scope, KN_NONE);
        }
        if (records) CHECK(replays(&r) >= N - 5 && paper_now.begun - before.begun == 1);
        for (int i = 0; i < N; i++) kn_drop(kept[i]);
        close_run(&r);
    }
    CHECK(bits[0] == bits[1] && bits[0] != 0);
}

/* A state that each run makes from the last one moves from block to block and comes back. */
static void follows_a_state(void)
{
    uint32_t bits[2];
    for (int records = 0; records < 2; records++) {
        run r;
        CHECK(open_run(&r, records));
        kn_tensor state = kn_own(kn_ones(KN_SHAPE(64), KN_F32));
        for (int i = 0; i < 100; i++) {
            kn_scope scope = kn_scope_begin();
            kn_tensor next =
                kn_own(kn_tanh(kn_mul_scalar(kn_matmul(kn_ones(KN_SHAPE(64, 64), KN_F32), state), 1.0 + i)));
            CHECK(kn_submit(r.device) == KN_OK);
            kn_drop(state);
            state = next;
            kn_scope_end(scope, KN_NONE);
        }
        bits[records] = bits_of(state);
        kn_drop(state);
        if (records) CHECK(replays(&r) > 60);
        close_run(&r);
    }
    CHECK(bits[0] == bits[1]);
}

/* What attention leaves beside its result is found by its gradient, which is another plan; and is no more there where
   the result's memory has gone to somebody else. */
static void finds_what_lies_beside(void)
{
    uint32_t bits[2];
    for (int records = 0; records < 2; records++) {
        run r;
        uint16_t values[2 * 16 * 8] = {0};
        CHECK(open_run(&r, records));
        kn_scope scope = kn_scope_begin();
        kn_tensor x = kn_keep(kn_require_grad(kn_from(values, KN_BF16, KN_SHAPE(1, 2, 16, 8))));
        bits[records] = 0;
        for (int i = 0; i < 40; i++) {
            kn_scope inner = kn_scope_begin();
            kn_tensor y = kn_keep(kn_attention(x, x, x, NULL)), dx = KN_NONE;
            CHECK(kn_ok(y) && kn_submit(r.device) == KN_OK);
            if (i % 3 == 1) (void)kn_keep(kn_exp(kn_from(values, KN_BF16, KN_SHAPE(1, 2, 16, 8))));
            kn_tensor dy = kn_ones_like(y);
            CHECK(kn_grad(&y, &dy, 1, &x, 1, 0, &dx) == KN_OK && kn_submit(r.device) == KN_OK);
            CHECK(kn_read(dx, values, sizeof values) == KN_OK);
            bits[records] = bits[records] * 31 + values[0] + 65536u * values[1];
            values[0] = values[1] = 0;
            kn_scope_end(inner, KN_NONE);
        }
        kn_scope_end(scope, KN_NONE);
        if (records) CHECK(replays(&r) > 40);
        close_run(&r);
    }
    CHECK(bits[0] == bits[1] && bits[0] != 0);
}

/* ---- what cannot be recorded */

static kn_status same_type(void *context, const kn_type *in, kn_type *out)
{
    (void)context;
    *out = *in;
    return KN_OK;
}

static kn_status on_the_host(void *context, const kn_span *in, const kn_span *out)
{
    (void)context;
    memcpy(out->data, in->data, 64 * sizeof(float));
    return KN_OK;
}

/* It computes something else each time, which no key and no number tells. */
static kn_status by_other_ops(void *context, const kn_tensor *in, kn_tensor *out)
{
    out[0] = kn_mul_scalar(kn_exp(in[0]), ++*(int *)context);
    return kn_ok(out[0]) ? KN_OK : kn_error_code(out[0]);
}

static kn_op_handle custom(bool host)
{
    static int count;
    static kn_op_handle handles[2];
    kn_custom_op op = {.name = host ? "paper_host" : "paper_lowered",
                       .n_in = 1,
                       .n_out = 1,
                       .infer = same_type,
                       .forward = host ? on_the_host : NULL,
                       .lower = host ? NULL : by_other_ops,
                       .context = &count};
    count = 0;
    if (!handles[host]) handles[host] = kn_custom_register(&op);
    return handles[host];
}

static void runs_what_cannot_be_recorded(bool host)
{
    uint32_t bits[2];
    for (int records = 0; records < 2; records++) {
        run r;
        CHECK(open_run(&r, records));
        paper_counts before = paper_now;
        kn_op_handle op = custom(host);
        kn_scope scope = kn_scope_begin();
        kn_tensor x = kn_keep(kn_ones(KN_SHAPE(64), KN_F32));
        bits[records] = 0;
        for (int i = 0; i < 20; i++) {
            kn_scope inner = kn_scope_begin();
            kn_tensor in = kn_sin(x), y = KN_NONE;
            CHECK(kn_custom_call(op, &in, &y) == KN_OK);
            y = kn_keep(kn_cos(y));
            CHECK(kn_submit(r.device) == KN_OK);
            bits[records] = bits[records] * 31 + bits_of(y);
            kn_scope_end(inner, KN_NONE);
        }
        CHECK(replays(&r) == 0 && paper_now.begun - before.begun <= 2 && paper_now.alive == 0);
        kn_scope_end(scope, KN_NONE);
        close_run(&r);
    }
    CHECK(bits[0] == bits[1] && bits[0] != 0);
}

/* ---- faults */

static kn_tensor looked_up(kn_tensor table, int64_t at)
{
    int64_t index[2] = {at, 0};
    kn_tensor y = kn_own(kn_exp(kn_index_take(table, 0, kn_from(index, KN_I64, KN_SHAPE(2)))));
    CHECK(kn_submit(NULL) == KN_OK);
    return y;
}

static void tells_faults_of_replays(void)
{
    run r;
    float value[2];
    CHECK(open_run(&r, true));
    kn_scope scope = kn_scope_begin();
    kn_tensor table = kn_keep(kn_ones(KN_SHAPE(8), KN_F32));
    for (int i = 0; i < 6; i++) {
        kn_tensor y = looked_up(table, 1);
        CHECK(kn_read(y, value, sizeof value) == KN_OK);
        kn_drop(y);
    }
    int64_t before = replays(&r);
    CHECK(before > 0);
    paper_do.fault = 17;
    kn_tensor bad = looked_up(table, 1);
    CHECK(replays(&r) == before + 1 && paper_do.fault == -1);
    kn_tensor after = kn_keep(kn_neg(bad));
    CHECK_ERROR(kn_read(after, value, sizeof value), "index 17 is out of range");
    CHECK_ERROR(kn_read(bad, value, sizeof value), "index 17");
    kn_drop(bad);
    kn_tensor good = looked_up(table, 1);
    CHECK(kn_read(good, value, sizeof value) == KN_OK);
    kn_drop(good);
    /* Many at once, more than there are cells, then one look at all of them. */
    for (int i = 0; i < 200; i++) kn_drop(looked_up(table, 1));
    CHECK(kn_sync(r.device) == KN_OK);
    CHECK(replays(&r) > before + 150);
    kn_scope_end(scope, KN_NONE);
    close_run(&r);
}

/* A fault names the op that had it and the line that called it, with others around it in its group, in runs and in replays. */
static void blames_the_right_line(void)
{
    run r;
    CHECK(open_run(&r, true));
    for (int i = 0; i < 8; i++) {
        kn_scope scope = kn_scope_begin();
        int64_t classes[BATCH] = {0};
        float values[BATCH * CLASSES] = {0}, value[1];
        char place[40];
        kn_tensor logits = kn_mul_scalar(kn_from(values, KN_F32, KN_SHAPE(BATCH, CLASSES)), 2);
        kn_tensor y = kn_from(classes, KN_I64, KN_SHAPE(BATCH));
        snprintf(place, sizeof place, "recording.c:%d", __LINE__ + 1);
        kn_tensor loss = kn_cross_entropy(logits, y, NULL);
        loss = kn_keep(kn_neg(kn_exp(loss)));
        CHECK(kn_submit(r.device) == KN_OK);
        (void)kn_abs(kn_ones(KN_SHAPE(3), KN_F32)); /* a later call */
        CHECK(kn_submit(r.device) == KN_OK);
        if (i == 1 || i == 6) {
            kn_drop(loss);
            paper_do.fault = 9;
            logits = kn_mul_scalar(kn_from(values, KN_F32, KN_SHAPE(BATCH, CLASSES)), 2);
            y = kn_from(classes, KN_I64, KN_SHAPE(BATCH));
            snprintf(place, sizeof place, "recording.c:%d", __LINE__ + 1);
            loss = kn_cross_entropy(logits, y, NULL);
            loss = kn_keep(kn_neg(kn_exp(loss)));
            CHECK(kn_submit(r.device) == KN_OK);
            (void)kn_abs(kn_ones(KN_SHAPE(3), KN_F32));
            CHECK_ERROR(kn_read(loss, value, sizeof value), place);
            CHECK(strstr(kn_last_error(), "kn_cross_entropy") && strstr(kn_last_error(), "9"));
        } else {
            CHECK(kn_read(loss, value, sizeof value) == KN_OK);
        }
        kn_scope_end(scope, KN_NONE);
    }
    CHECK(replays(&r) > 3);
    (void)kn_sync(r.device);
    close_run(&r);
}

/* Recordings have at most half of the cells; the others run as before. */
static void leaves_cells_to_others(void)
{
    enum { PLANS = 40 };
    run r;
    CHECK(open_run(&r, true));
    kn_scope scope = kn_scope_begin();
    kn_tensor table = kn_keep(kn_ones(KN_SHAPE(8), KN_F32));
    int64_t zeros[PLANS + 1] = {0};
    kn_tensor index[PLANS + 1];
    for (int n = 1; n <= PLANS; n++) index[n] = kn_keep(kn_from(zeros, KN_I64, KN_SHAPE(n)));
    for (int turn = 0; turn < 8; turn++)
        for (int n = 1; n <= PLANS; n++) {
            kn_scope inner = kn_scope_begin();
            kn_tensor y = kn_index_take(table, 0, index[n]);
            CHECK(kn_ok(kn_keep(y)) && kn_submit(r.device) == KN_OK);
            kn_scope_end(inner, KN_NONE);
        }
    CHECK(paper_now.alive == 32 && replays(&r) >= 4 * 32);
    CHECK(kn_sync(r.device) == KN_OK);
    paper_do.fault = 5;
    kn_tensor y = looked_up(table, 0);
    CHECK_ERROR(kn_sync(r.device), "index 5");
    kn_drop(y);
    kn_scope_end(scope, KN_NONE);
    close_run(&r);
}

/* ---- failures of the device */

/* Each of these ends well: the step is done or tells that it is not, and all is as before with the next ones. */
static void survives(bool *order, bool may_fail)
{
    run r;
    CHECK(open_run(&r, true));
    for (int i = 0; i < 2; i++) CHECK(step(&r, i) == KN_OK);
    *order = true; /* in the first recording */
    kn_status s = step(&r, 2);
    uint32_t bits = bits_of_run(&r);
    CHECK(may_fail || (s == KN_OK && bits));
    for (int i = 3; i < 12 && !may_fail; i++) CHECK(step(&r, i) == KN_OK);
    *order = true; /* in a replay, or never */
    for (int i = 12; i < 30 && !may_fail; i++) CHECK(step(&r, i) == KN_OK);
    *order = false;
    uint32_t recorded = bits_of_run(&r);
    close_run(&r);
    if (may_fail) return;
    CHECK(open_run(&r, false));
    for (int i = 0; i < 30; i++) CHECK(step(&r, i) == KN_OK);
    CHECK(bits_of_run(&r) == recorded);
    close_run(&r);
}

/* What was captured was never run: all that the plan made carries the failure, and the device goes on. */
static void poisons_what_never_ran(void)
{
    run r;
    float value[64];
    CHECK(open_run(&r, true));
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(64), KN_F32));
    for (int i = 0; i < 6; i++) {
        paper_do.no_end = i == 3;
        kn_tensor y = kn_keep(kn_exp(kn_sin(x)));
        (void)kn_submit(r.device);
        if (i == 3)
            CHECK_ERROR(kn_read(y, value, sizeof value), "paper: no end");
        else
            CHECK(kn_read(y, value, sizeof value) == KN_OK);
    }
    (void)kn_sync(r.device);
    kn_scope_end(scope, KN_NONE);
    close_run(&r);
}

static void survives_failures(void)
{
    survives(&paper_do.no_begin, false);
    survives(&paper_do.no_params, false);
    survives(&paper_do.short_end, false);
    survives(&paper_do.short_replay, false);
    survives(&paper_do.no_end, true);
    survives(&paper_do.no_replay, true);
    poisons_what_never_ran();
}

static void survives_without_host_memory(void)
{
    run r;
    int failed = 0;
    CHECK(open_run(&r, true));
    for (int i = 0; i < 2; i++) CHECK(step(&r, i) == KN_OK);
    for (int n = 1; n < 400; n++) {
        /* In the recording of a plan, in replays of it, and in runs without. */
        if (n % 20 == 0) kn_memory_trim();
        kn_memory_fail_after(n % 60 + 1);
        kn_status s = step(&r, 2 + n);
        kn_memory_fail_after(0);
        failed += s != KN_OK;
        (void)kn_sync(r.device);
    }
    CHECK(failed > 10);
    close_run(&r);
}

/* A replay of which only the names of the results are missing is a run like any other. */
static void replays_without_host_memory(void)
{
    uint32_t bits[2];
    for (int records = 0; records < 2; records++) {
        run r;
        CHECK(open_run(&r, records));
        kn_scope scope = kn_scope_begin();
        kn_tensor x = kn_keep(kn_ones(KN_SHAPE(64), KN_F32)), y = KN_NONE;
        bits[records] = 0;
        for (int i = 0; i < 60; i++) {
            kn_scope inner = kn_scope_begin();
            y = kn_keep(kn_exp(kn_mul_scalar(kn_sin(x), i)));
            if (records && i > 5) kn_memory_fail_after(i % 7 + 1);
            (void)kn_submit(r.device);
            kn_memory_fail_after(0);
            uint32_t now = bits_of(y);
            bits[records] = bits[records] * 31 + now;
            CHECK(now != 0);
            kn_scope_end(inner, KN_NONE);
        }
        kn_scope_end(scope, KN_NONE);
        close_run(&r);
    }
    CHECK(bits[0] == bits[1]);
}

/* ---- memory */

static void gives_memory_back(void)
{
    run r;
    CHECK(open_run(&r, true));
    for (int i = 0; i < 10; i++) CHECK(step(&r, i) == KN_OK);
    CHECK(paper_now.alive == 1);
    int64_t used = paper_now.used;
    kn_memory_trim();
    CHECK(paper_now.alive == 0 && paper_now.used < used);
    for (int i = 10; i < 20; i++) CHECK(step(&r, i) == KN_OK);
    CHECK(paper_now.alive >= 1);
    /* Without memory recordings go, before anything fails. */
    paper_do.room = paper_now.used + (1 << 16);
    kn_scope scope = kn_scope_begin();
    kn_tensor more = KN_NONE;
    float values[256] = {0};
    int taken = 0;
    while (paper_now.alive && taken++ < 1000) {
        more = kn_keep(kn_from(values, KN_F32, KN_SHAPE(256)));
        CHECK(kn_ok(more));
    }
    CHECK(paper_now.alive == 0 && taken > 1 && taken < 1000);
    kn_scope_end(scope, KN_NONE);
    for (int i = 20; i < 30; i++) CHECK(step(&r, i) == KN_OK);
    close_run(&r);
}

static char warning[200];
static void note_warning(void *context, kn_log_level level, const char *text)
{
    (void)context;
    if (level == KN_LOG_WARNING) snprintf(warning, sizeof warning, "%s", text);
}

/* KN_DEVICE_MEMORY bounds all that there is of the device, and says so where it is no size. */
static void keeps_to_its_bound(void)
{
    static const char *const wrong[] = {"abc", "12Q", "-5", "1GB", "0"};
    run r;
    kn_log_set(note_warning, NULL);
    for (int i = 0; i < 5; i++) {
        warning[0] = 0;
        setenv("KN_DEVICE_MEMORY", wrong[i], 1);
        CHECK(open_run(&r, true) && strstr(warning, "KN_DEVICE_MEMORY") && strstr(warning, wrong[i]));
        close_run(&r);
    }
    kn_log_set(NULL, NULL);
    setenv("KN_DEVICE_MEMORY", "64K", 1);
    CHECK(open_run(&r, true));
    for (int i = 0; i < 30; i++) {
        CHECK(step(&r, i) == KN_OK);
        CHECK(paper_now.used <= 65536 + 1024); /* cells are beside it */
    }
    CHECK(replays(&r) > 10);
    kn_scope scope = kn_scope_begin();
    static float values[16384];
    kn_tensor large = kn_from(values, KN_F32, KN_SHAPE(16384));
    CHECK_POISON(large, "KN_DEVICE_MEMORY");
    CHECK(kn_ok(kn_keep(kn_from(values, KN_F32, KN_SHAPE(8000)))) && paper_now.used <= 65536 + 1024);
    kn_scope_end(scope, KN_NONE);
    close_run(&r);
    unsetenv("KN_DEVICE_MEMORY");
}

/* More plans than are kept, each recorded. */
static void forgets_with_plans(void)
{
    run r;
    CHECK(open_run(&r, true));
    for (int n = 1; n < 600; n++) {
        for (int i = 0; i < 4; i++) {
            kn_scope scope = kn_scope_begin();
            CHECK(kn_ok(kn_keep(kn_exp(kn_ones(KN_SHAPE(n), KN_F32)))));
            CHECK(kn_submit(r.device) == KN_OK);
            kn_scope_end(scope, KN_NONE);
        }
        CHECK(paper_now.alive <= 257);
    }
    CHECK(paper_now.alive > 100);
    close_run(&r);
}

/* ---- others */

static void *other_thread(void *device)
{
    kn_device_use(device);
    for (int i = 0; i < 300; i++) {
        kn_scope scope = kn_scope_begin();
        float value[16];
        kn_tensor y = kn_keep(kn_exp(kn_ones(KN_SHAPE(16), KN_F32)));
        if (kn_read(y, value, sizeof value) != KN_OK) return device;
        kn_scope_end(scope, KN_NONE);
    }
    return NULL;
}

/* Another thread uses the leaf without fusion while plans are recorded and replayed. */
static void shares_the_device(void)
{
    run r;
    CHECK(open_run(&r, true));
    kn_device leaf = kn_device_open("paper");
    pthread_t thread;
    void *failed = NULL;
    CHECK(pthread_create(&thread, NULL, other_thread, leaf) == 0);
    for (int i = 0; i < 300; i++) {
        if (i % 20 == 10) kn_memory_trim(); /* so that it records again */
        CHECK(step(&r, i) == KN_OK);
    }
    CHECK(pthread_join(thread, &failed) == 0 && !failed);
    uint32_t bits = bits_of_run(&r);
    close_run(&r);
    CHECK(open_run(&r, false));
    for (int i = 0; i < 300; i++) CHECK(step(&r, i) == KN_OK);
    CHECK(bits_of_run(&r) == bits);
    close_run(&r);
}

static void is_lost(void)
{
    run r;
    CHECK(open_run(&r, true));
    for (int i = 0; i < 6; i++) CHECK(step(&r, i) == KN_OK);
    paper_do.lost = true;
    CHECK(step(&r, 6) != KN_OK || kn_sync(r.device) != KN_OK);
    CHECK(kn_sync(r.device) != KN_OK);
    CHECK_ERROR(kn_sync(r.device), "lost");
    close_run(&r);
    /* And in the middle of a recording. */
    CHECK(open_run(&r, true));
    for (int i = 0; i < 2; i++) CHECK(step(&r, i) == KN_OK);
    paper_do.lost = true;
    (void)step(&r, 2);
    CHECK(kn_sync(r.device) != KN_OK);
    close_run(&r);
}

/* ---- the cost of a step on the host: 784-512-512-10, batch 128, Adam, over a device that does nothing */

typedef struct Mlp {
    kn_nn_linear fc1, fc2, fc3;
} Mlp;
static const kn_module_type Mlp_type = {"Mlp", sizeof(Mlp),
                                        (const kn_field[]){KN_MODULE(Mlp, fc1, kn_nn_linear),
                                                           KN_MODULE(Mlp, fc2, kn_nn_linear),
                                                           KN_MODULE(Mlp, fc3, kn_nn_linear),
                                                           {0}}};

static kn_status mlp_step(Mlp *net, kn_optim optim, const float *pixels, const int64_t *labels, int number)
{
    kn_scope scope = kn_scope_begin();
    kn_grads grads = NULL;
    kn_tensor h = kn_flatten(kn_from(pixels, KN_F32, KN_SHAPE(128, 1, 28, 28)), 1, -1);
    h = kn_relu(kn_nn_linear_forward(&net->fc1, h));
    h = kn_nn_linear_forward(&net->fc3, kn_relu(kn_nn_linear_forward(&net->fc2, h)));
    kn_status s = kn_backward(kn_cross_entropy(h, kn_from(labels, KN_I64, KN_SHAPE(128)), NULL), &grads);
    if (s == KN_OK) s = kn_optim_step(optim, 1e-3 / (1 + number), (kn_module){net, &Mlp_type}, grads);
    kn_grads_free(grads);
    kn_scope_end(scope, KN_NONE);
    return s;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void measures(int steps, bool records)
{
    static float pixels[128 * 784];
    static int64_t labels[128];
    Mlp net;
    paper_do = (paper_orders){.room = 1 << 28, .records = records, .fault = -1, .quick = true};
    paper_register();
    kn_device device = kn_device_open("autodiff(fusion(paper))");
    kn_device_use(device);
    kn_optim optim = kn_optim_adam(NULL);
    CHECK(kn_nn_linear_init(&net.fc1, 784, 512, NULL) == KN_OK);
    CHECK(kn_nn_linear_init(&net.fc2, 512, 512, NULL) == KN_OK);
    CHECK(kn_nn_linear_init(&net.fc3, 512, 10, NULL) == KN_OK);
    for (int i = 0; i < 20; i++) CHECK(mlp_step(&net, optim, pixels, labels, i) == KN_OK);
    double best = 1;
    for (int turn = 0; turn < 10; turn++) {
        double begun = seconds();
        for (int i = 0; i < steps; i++) CHECK(mlp_step(&net, optim, pixels, labels, i) == KN_OK);
        double one = (seconds() - begun) / steps;
        if (one < best) best = one;
    }
    printf("%s recordings: %.1f microseconds of the host for a step\n", records ? "with" : "without",
           1e6 * best);
    kn_optim_free(optim);
    kn_module_drop((kn_module){&net, &Mlp_type});
    kn_device_use(NULL);
    CHECK(kn_shutdown() == 0);
}

int main(int argc, char **argv)
{
    unsetenv("KN_FALLBACK"); /* a user's op has a function for the host alone */
    if (argc > 1) {
        if (argc == 2) measures(atoi(argv[1]), false);
        measures(atoi(argv[1]), true);
        return check_report();
    }
    replays_with_the_same_bits();
    holds_large_results(1, 50, 3);
    holds_large_results(3, 40, 5);
    holds_large_results(8, 0, 12);
    leaves_what_is_held();
    stops_where_nothing_repeats();
    copies_what_moves();
    follows_a_state();
    finds_what_lies_beside();
    runs_what_cannot_be_recorded(false);
    runs_what_cannot_be_recorded(true);
    for (int i = 0; i < 2; i++) {
        addresses = i;
        tells_faults_of_replays();
        leaves_cells_to_others();
        blames_the_right_line();
    }
    survives_failures();
    survives_without_host_memory();
    replays_without_host_memory();
    gives_memory_back();
    keeps_to_its_bound();
    forgets_with_plans();
    shares_the_device();
    is_lost();
    return check_report();
}
