/* Training over the fusion decorator: thousands of steps with dropout, a schedule, Adam and a fresh batch each step give
   the losses of the same device without it, find their plans from the third step on, draw new masks and keep no memory; a
   new batch size compiles nothing.
   Usage: test_fusion_train [steps] [device]   the device without decorators, cpu where none is given */
#include "support/check.h"
#include "support/paper_device.h"
#include <kn/nn.h>
#include <kn/optim.h>
#include <kn/program.h>
#include <stdlib.h>

typedef struct Net {
    kn_nn_linear fc1, fc2;
} Net;
static const kn_module_type Net_type = {
    "Net", sizeof(Net),
    (const kn_field[]){KN_MODULE(Net, fc1, kn_nn_linear), KN_MODULE(Net, fc2, kn_nn_linear), {0}}};

enum { IN = 12, HIDDEN = 24, CLASSES = 5, MOST = 40 };

typedef struct run {
    kn_device device;
    Net net;
    kn_optim optim;
    kn_schedule schedule;
    double loss;
    uint64_t mask; /* of the latest step, as one number */
} run;

static bool start(run *r, const char *spec, int steps)
{
    r->device = kn_device_open(spec);
    kn_device_use(r->device);
    kn_seed(r->device, 7);
    r->optim = kn_optim_adam(NULL);
    r->schedule = kn_schedule_cosine(1e-2, 1e-4, steps, false);
    return r->optim && r->schedule && kn_nn_linear_init(&r->net.fc1, IN, HIDDEN, NULL) == KN_OK &&
           kn_nn_linear_init(&r->net.fc2, HIDDEN, CLASSES, NULL) == KN_OK;
}

static void stop(run *r)
{
    kn_device_use(r->device);
    kn_optim_free(r->optim);
    kn_schedule_free(r->schedule);
    kn_module_drop((kn_module){&r->net, &Net_type});
}

/* One step on a batch that depends on the step alone. */
static void step(run *r, int number, int batch)
{
    float x[MOST * IN], mask[MOST * HIDDEN];
    int64_t y[MOST];
    uint64_t s = (uint64_t)number * 2654435761u + 1;
    for (int i = 0; i < batch * IN; i++) {
        s = s * UINT64_C(6364136223846793005) + 1442695040888963407u;
        x[i] = (float)(s >> 40) / (float)(1 << 24) - 0.5f;
    }
    for (int i = 0; i < batch; i++) y[i] = x[i * IN] > 0 ? 1 + (x[i * IN + 1] > 0) : 0;
    kn_device_use(r->device);
    kn_scope scope = kn_scope_begin();
    kn_tensor h = kn_gelu(kn_nn_linear_forward(&r->net.fc1, kn_from(x, KN_F32, KN_SHAPE(batch, IN))));
    kn_tensor drawn = kn_keep(kn_dropout(kn_ones(KN_SHAPE(batch, HIDDEN), KN_F32), 0.25, true));
    kn_tensor logits = kn_nn_linear_forward(&r->net.fc2, kn_mul(h, drawn));
    kn_tensor loss = kn_keep(kn_cross_entropy(logits, kn_from(y, KN_I64, KN_SHAPE(batch)), NULL));
    kn_grads grads = NULL;
    CHECK(kn_backward(loss, &grads) == KN_OK);
    CHECK(kn_optim_step(r->optim, kn_schedule_next(r->schedule), (kn_module){&r->net, &Net_type}, grads) ==
          KN_OK);
    r->loss = kn_item(loss);
    CHECK(kn_read(drawn, mask, sizeof *mask * (size_t)(batch * HIDDEN)) == KN_OK);
    r->mask = 0;
    for (int i = 0; i < batch * HIDDEN; i++) r->mask = r->mask * 31 + (mask[i] > 0);
    kn_grads_free(grads);
    kn_scope_end(scope, KN_NONE);
}

/* The number before a word of what the device tells, -1 where it tells none. */
static int64_t told(kn_device device, const char *kind, const char *word)
{
    char text[400] = "";
    if (!kn_device_report(device, kind, text, sizeof text)) return -1;
    const char *at = strstr(text, word);
    while (at && at > text && at[-1] >= '0' && at[-1] <= '9') at--;
    return at ? strtoll(at, NULL, 10) : -1;
}
static int64_t compiles(kn_device device) { return told(device, "counters", " kernels made"); }

/* Hits of the plan cache in each step from the third on; fails once with the step, instead of for each of thousands. */
typedef struct watch {
    kn_fusion_stats before;
    int missed; /* the first step that did, -1 for none */
} watch;

static void watch_step(watch *w, kn_device device, int number, int warm_up)
{
    kn_fusion_stats now;
    CHECK(kn_fusion_stats_of(device, &now) == KN_OK);
    bool hit = now.plan_hits - w->before.plan_hits == now.submissions - w->before.submissions &&
               now.plans_made == w->before.plans_made;
    if (number >= warm_up && !hit && w->missed < 0) w->missed = number;
    w->before = now;
}

static void open_both(run *plain, run *fused, const char *leaf, int steps)
{
    char spec[100];
    snprintf(spec, sizeof spec, "autodiff(%s)", leaf);
    CHECK(start(plain, spec, steps));
    snprintf(spec, sizeof spec, "autodiff(fusion(%s))", leaf);
    CHECK(start(fused, spec, steps));
}

/* On the CPU fusion keeps every bit; elsewhere its reductions may sum in another order, and training carries that on. */
static void same_losses(const char *leaf, int steps)
{
    run plain, fused;
    watch hits = {.missed = -1};
    kn_memory memory = {0};
    int64_t device_memory = 0;
    int different = -1, same_masks = 0, other_masks = 0;
    double apart = 0, first = 0, last = 0;
    uint64_t last_mask = 0;
    bool exact = !strcmp(leaf, "cpu");
    open_both(&plain, &fused, leaf, steps);
    for (int i = 0; i < steps; i++) {
        step(&plain, i, 8);
        step(&fused, i, 8);
        watch_step(&hits, fused.device, i, 2);
        double off = plain.loss > fused.loss ? plain.loss - fused.loss : fused.loss - plain.loss;
        if (!(off <= (exact ? 0 : 1e-3 * (plain.loss + 1))) && different < 0) different = i;
        if (off > apart) apart = off;
        same_masks += fused.mask == last_mask;
        other_masks += fused.mask != plain.mask;
        last_mask = fused.mask;
        first += i < 10 ? fused.loss : 0;
        last += i >= steps - 10 ? fused.loss : 0;
        if (i == steps / 2) { /* a device's lists of schedules, which have a bound, are full by then */
            memory = kn_memory_stats();
            device_memory = told(fused.device, "memory", " bytes in use");
        }
    }
    if (different >= 0) printf("the losses differ from step %d on\n", different);
    if (hits.missed >= 0) printf("step %d made a plan\n", hits.missed + 1);
    CHECK(different < 0 && hits.missed < 0 && hits.before.groups_run > 0);
    CHECK(same_masks == 0 && other_masks == 0 && last < first);
    kn_memory now = kn_memory_stats();
    if (!CHECK(now.tensors_now == memory.tensors_now && now.bytes_now <= memory.bytes_now + 4096))
        printf("%lld tensors and %lld bytes in the middle, %lld and %lld after %d steps\n",
               (long long)memory.tensors_now, (long long)memory.bytes_now, (long long)now.tensors_now,
               (long long)now.bytes_now, steps);
    CHECK(told(fused.device, "memory", " bytes in use") == device_memory);
    if (!exact)
        printf("%d steps on %s: losses %.4f to %.4f, %.2g apart at most, device memory %lld bytes, %lld "
               "kernels compiled\n",
               steps, leaf, first / 10, last / 10, apart, (long long)device_memory,
               (long long)compiles(fused.device));
    stop(&plain);
    stop(&fused);
}

/* Steps of a size that was never met before. Kernels are made for facts of sizes: whether they divide by the width of
   vectors, whether they are 1, which of them are equal, and how many pieces of what a team holds an axis fills that is
   summed. With the facts of the sizes before nothing compiles, else only what reduces along the batch, once. */
static int64_t later_sizes(run *fused, const char *leaf, int number)
{
    static const struct {
        int batch;
        bool new_facts;
    } later[] = {{12, false}, {20, false}, {HIDDEN, true}, {7, true}, {40, true}, {33, true}, {1, true}};
    enum { MOST_NEW = 8 };
    int64_t compiled = compiles(fused->device);
    for (int i = 0; i < (int)(sizeof later / sizeof *later); i++) {
        step(fused, number++, later[i].batch);
        int64_t more = compiles(fused->device) - compiled;
        if (more) printf("%s: the new batch size %d compiles %d kernels\n", leaf, later[i].batch, (int)more);
        CHECK(more <= (later[i].new_facts ? MOST_NEW : 0));
        compiled = compiles(fused->device);
        step(fused, number++, later[i].batch);
        CHECK(compiles(fused->device) == compiled);
    }
    return compiled;
}

/* Two sizes by turns: each has its plan after one step, and only the first two steps compile. */
static void sizes_by_turns(const char *leaf, int steps)
{
    run plain, fused;
    watch hits = {.missed = -1};
    int64_t compiled = -1;
    int different = -1;
    bool exact = !strcmp(leaf, "cpu"), values = strcmp(leaf, "paper") != 0;
    open_both(&plain, &fused, leaf, steps);
    for (int i = 0; i < steps; i++) {
        int batch = i & 1 ? 16 : 8;
        if (i == 2) compiled = compiles(fused.device);
        if (values) step(&plain, i, batch);
        step(&fused, i, batch);
        watch_step(&hits, fused.device, i, 3);
        if (i >= 2 && compiles(fused.device) != compiled) {
            printf("%s: step %d with the batch size %d compiles\n", leaf, i + 1, batch);
            CHECK(compiles(fused.device) == compiled);
            compiled = compiles(fused.device);
        }
        if (exact && plain.loss != fused.loss && different < 0) different = i;
    }
    if (hits.missed >= 0) printf("%s: step %d made a plan\n", leaf, hits.missed + 1);
    CHECK(different < 0 && hits.missed < 0);
    compiled = later_sizes(&fused, leaf, steps);
    if (!exact) printf("%s: %lld kernels compiled in all\n", leaf, (long long)compiled);
    stop(&plain);
    stop(&fused);
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 10000;
    const char *leaf = argc > 2 ? argv[2] : "cpu";
    same_losses(leaf, steps);
    sizes_by_turns(leaf, steps < 100 ? steps : steps / 10);
    if (argc < 3) {
        paper_do = (paper_orders){.room = 1 << 24, .records = true, .fault = -1};
        paper_register();
        sizes_by_turns("paper", 20);
    }
    kn_device_use(NULL);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
