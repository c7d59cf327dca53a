/* The training step of `kiln bench --device`: 784-512-512-10, batch 128, Adam with a schedule, a new batch each step,
   one wait at the end. */
#define _POSIX_C_SOURCE 200809L
#include "bench_gpu.h"
#include "bench_train_models.h"
#include <kn/optim.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STEPS = 1000, WARM_UP = 20, BATCH = 128, PIXELS = 784, BATCHES = 16 };

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct training {
    kn_device device;
    kn_module net;
    const bench_model *model;
    kn_optim optim;
    float *pixels; /* BATCHES batches on the host */
    int64_t labels[BATCH];
} training;

static bool start(training *t, const char *device)
{
    *t = (training){.model = bench_model_named("mlp")};
    t->device = kn_device_open(device);
    t->pixels = malloc(sizeof(float) * BATCHES * BATCH * PIXELS);
    if (!t->device || !t->pixels || !t->model) return false;
    kn_device_use(t->device);
    kn_seed(t->device, 1);
    t->net = (kn_module){bench_model_make(t->model), t->model->type};
    if (!t->net.self || t->model->init(t->net.self)) return false;
    t->optim = kn_optim_adam(NULL);
    uint32_t state = 7;
    for (int i = 0; i < BATCHES * BATCH * PIXELS; i++)
        t->pixels[i] = (float)((state = state * 1664525u + 1013904223u) >> 8) / 16777216.0f;
    for (int i = 0; i < BATCH; i++) t->labels[i] = i * 7 % 10;
    return t->optim != NULL;
}

static kn_status step(training *t, int number)
{
    kn_scope scope = kn_scope_begin();
    kn_grads grads = NULL;
    double rate = 1e-3 * (1 - (double)number / (2 * STEPS));
    kn_tensor x =
        kn_from(t->pixels + (size_t)(number % BATCHES) * BATCH * PIXELS, KN_F32, KN_SHAPE(BATCH, 1, 28, 28));
    kn_tensor y = kn_from(t->labels, KN_I64, KN_SHAPE(BATCH));
    kn_status s = kn_backward(kn_cross_entropy(t->model->forward(t->net.self, x), y, NULL), &grads);
    if (s == KN_OK) s = kn_optim_step(t->optim, rate, t->net, grads);
    kn_grads_free(grads);
    kn_scope_end(scope, KN_NONE);
    return s;
}

/* How many kernels the device was given so far, -1 where it does not count. */
static int64_t launches(kn_device device)
{
    char text[400] = "";
    if (kn_sync(device) || !kn_device_report(device, "counters", text, sizeof text)) return -1;
    const char *word = strstr(text, " launches");
    while (word && word > text && word[-1] >= '0' && word[-1] <= '9') word--;
    return word ? strtoll(word, NULL, 10) : -1;
}

/* Kernels are counted in the step before the plans may go to the device as one recording. */
double bench_gpu_mlp(const char *device, int64_t *kernels)
{
    enum { COUNTED = 1 };
    training t;
    kn_status s = start(&t, device) ? KN_OK : KN_ERROR_DEVICE;
    double begun = 0;
    int64_t before = 0;
    *kernels = -1;
    for (int i = 0; i < WARM_UP + STEPS && s == KN_OK; i++) {
        if (i == COUNTED) before = launches(t.device);
        if (i == COUNTED + 1 && before >= 0) *kernels = launches(t.device) - before;
        if (i == WARM_UP) {
            s = kn_sync(t.device);
            begun = seconds();
        }
        if (s == KN_OK) s = step(&t, i);
    }
    if (s == KN_OK) s = kn_sync(t.device);
    free(t.pixels);
    return s == KN_OK ? 1e3 * (seconds() - begun) / STEPS : -1;
}
