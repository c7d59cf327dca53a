/* Training over the fusion decorator: thousands of steps with dropout, a schedule, Adam and a fresh batch each step give
   the losses of the plain CPU, find their plans, draw new masks and keep no memory. */
#include "support/check.h"
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

enum { IN = 12, HIDDEN = 24, CLASSES = 5, MOST = 16 };

typedef struct run {
    kn_device device;
    Net net;
    kn_optim optim;
    kn_schedule schedule;
    double masked; /* of the latest step: how much the mask left */
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

/* One step on a batch that depends on the step alone; the loss, read every so often. */
static double step(run *r, int number, int batch, bool read)
{
    float x[MOST * IN];
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
    kn_tensor mask = kn_keep(kn_dropout(kn_ones(KN_SHAPE(batch, HIDDEN), KN_F32), 0.25, true));
    kn_tensor logits = kn_nn_linear_forward(&r->net.fc2, kn_mul(h, mask));
    kn_tensor loss = kn_keep(kn_cross_entropy(logits, kn_from(y, KN_I64, KN_SHAPE(batch)), NULL));
    kn_grads grads = NULL;
    CHECK(kn_backward(loss, &grads) == KN_OK);
    CHECK(kn_optim_step(r->optim, kn_schedule_next(r->schedule), (kn_module){&r->net, &Net_type}, grads) ==
          KN_OK);
    double value = read ? kn_item(loss) : 0;
    if (read)
        r->masked = kn_item(
            kn_sum(kn_mul(mask, kn_cumsum(kn_ones(KN_SHAPE(HIDDEN), KN_F32), 0)), KN_AXES_ALL, false));
    kn_grads_free(grads);
    kn_scope_end(scope, KN_NONE);
    return value;
}

/* Fails once with the step, instead of for each of thousands. */
static void same_losses(int steps, int first_batch, int second_batch)
{
    run plain, fused;
    CHECK(start(&plain, "autodiff(cpu)", steps) && start(&fused, "autodiff(fusion(cpu))", steps));
    kn_fusion_stats early = {0}, late;
    kn_memory memory = {0};
    int different = -1, same_masks = 0;
    double last_mask = -1;
    for (int i = 0; i < steps; i++) {
        int batch = i & 1 ? second_batch : first_batch;
        bool read = i % 10 < 2; /* plans with and without it are two for each size */
        double a = step(&plain, i, batch, read), b = step(&fused, i, batch, read);
        if (a != b && different < 0) different = i;
        if (read) {
            same_masks += fused.masked == last_mask;
            last_mask = fused.masked;
        }
        if (i == 19) {
            CHECK(kn_fusion_stats_of(fused.device, &early) == KN_OK);
            memory = kn_memory_stats();
        }
    }
    if (different >= 0) printf("the losses differ from step %d on\n", different);
    CHECK(different < 0 && same_masks <= steps / 200); /* two different ones may leave the same sum */
    CHECK(kn_fusion_stats_of(fused.device, &late) == KN_OK);
    CHECK(late.plans_made == early.plans_made);
    CHECK(late.plan_hits - early.plan_hits == late.submissions - early.submissions && late.groups_run > 0);
    kn_memory now = kn_memory_stats();
    CHECK(now.tensors_now == memory.tensors_now && now.bytes_now <= memory.bytes_now + 4096);
    stop(&plain);
    stop(&fused);
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 10000;
    same_losses(steps, 8, 8);
    same_losses(steps / 10, 8, 16);
    kn_device_use(NULL);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
