/* Trains a small net on a device and prints a hash of every loss and param, for comparing runs with and without recordings:
   the bits must be the same. replay_check DEVICE [STEPS]. With `time` in place of STEPS: what a step costs the host and takes
   in all, with and without its uploads. */
#define _POSIX_C_SOURCE 200809L
#include <kn.h>
#include <kn/nn.h>
#include <kn/optim.h>
#include <kn/program.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct Net {
    kn_nn_linear fc1, fc2, fc3;
} Net;
static const kn_module_type Net_type = {"Net", sizeof(Net),
                                        (const kn_field[]){KN_MODULE(Net, fc1, kn_nn_linear),
                                                           KN_MODULE(Net, fc2, kn_nn_linear),
                                                           KN_MODULE(Net, fc3, kn_nn_linear),
                                                           {0}}};

enum { BATCH = 128, PIXELS = 784 };

static uint64_t hash = 14695981039346656037u;
static void mix(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++) hash = (hash ^ p[i]) * 1099511628211u;
}

static kn_status mix_tensor(kn_tensor t)
{
    size_t bytes = (size_t)kn_count(t) * sizeof(float);
    float *values = malloc(bytes ? bytes : 1);
    kn_status s = kn_read(t, values, bytes);
    if (s == KN_OK) mix(values, bytes);
    free(values);
    return s;
}

/* The loss of the net on tensors of the device, and an update. */
static kn_status learn(Net *net, kn_optim optim, kn_tensor x, kn_tensor y, int number, double dropout,
                       bool reads)
{
    kn_tensor h = kn_relu(kn_nn_linear_forward(&net->fc1, x));
    if (dropout > 0) h = kn_dropout(h, dropout, true);
    h = kn_relu(kn_nn_linear_forward(&net->fc2, h));
    kn_tensor loss = kn_cross_entropy(kn_nn_linear_forward(&net->fc3, h), y, NULL);
    if (reads) loss = kn_keep(loss);
    kn_grads grads = NULL;
    kn_status s = kn_backward(loss, &grads);
    if (s == KN_OK) s = kn_optim_step(optim, 1e-3 / (1 + 0.01 * number), (kn_module){net, &Net_type}, grads);
    kn_grads_free(grads);
    return s == KN_OK && reads ? mix_tensor(loss) : s;
}

static kn_status step(Net *net, kn_optim optim, int number, double dropout, bool reads)
{
    static float x[BATCH * PIXELS];
    int64_t y[BATCH];
    uint32_t state = (uint32_t)number * 2654435761u + 7;
    for (int i = 0; i < BATCH * PIXELS; i++)
        x[i] = (float)((state = state * 1664525u + 1013904223u) >> 8) / 16777216.0f;
    for (int i = 0; i < BATCH; i++) y[i] = (i * 7 + number) % 10;
    kn_scope scope = kn_scope_begin();
    kn_status s = learn(net, optim, kn_from(x, KN_F32, KN_SHAPE(BATCH, PIXELS)),
                        kn_from(y, KN_I64, KN_SHAPE(BATCH)), number, dropout, reads);
    kn_scope_end(scope, KN_NONE);
    return s;
}

static kn_status train(kn_device device, int steps, double dropout)
{
    Net net;
    kn_seed(device, 1);
    kn_optim optim = kn_optim_adam(NULL);
    kn_status s = kn_nn_linear_init(&net.fc1, PIXELS, 512, NULL);
    if (s == KN_OK) s = kn_nn_linear_init(&net.fc2, 512, 512, NULL);
    if (s == KN_OK) s = kn_nn_linear_init(&net.fc3, 512, 10, NULL);
    for (int i = 0; i < steps && s == KN_OK; i++) s = step(&net, optim, i, dropout, i % 10 == 9);
    kn_param *params[] = {&net.fc1.weight, &net.fc1.bias,   &net.fc2.weight,
                          &net.fc2.bias,   &net.fc3.weight, &net.fc3.bias};
    for (int i = 0; i < 6 && s == KN_OK; i++) s = mix_tensor(kn_value(*params[i]));
    kn_optim_free(optim);
    kn_module_drop((kn_module){&net, &Net_type});
    return s;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { UPLOADS = 1, LEARNS = 2, BURST = 50, BATCHES = 16 };

/* Bursts that are short enough for the device's queue never wait for it. */
static kn_status measure(kn_device device, Net *net, kn_optim optim, const float *pixels, int what,
                         const char *name)
{
    static int64_t labels[BATCH];
    double host = 1, both = 1;
    kn_status s = KN_OK;
    kn_scope outer = kn_scope_begin();
    kn_tensor x = kn_keep(kn_from(pixels, KN_F32, KN_SHAPE(BATCH, PIXELS)));
    kn_tensor y = kn_keep(kn_from(labels, KN_I64, KN_SHAPE(BATCH)));
    for (int turn = 0; turn < 20 && s == KN_OK; turn++) {
        double begun = seconds();
        for (int i = 0; i < BURST && s == KN_OK; i++) {
            kn_scope scope = kn_scope_begin();
            kn_tensor in = x, to = y;
            if (what & UPLOADS) {
                in =
                    kn_from(pixels + (size_t)(i % BATCHES) * BATCH * PIXELS, KN_F32, KN_SHAPE(BATCH, PIXELS));
                to = kn_from(labels, KN_I64, KN_SHAPE(BATCH));
            }
            if (what & LEARNS) s = learn(net, optim, in, to, i, 0, false);
            kn_scope_end(scope, KN_NONE);
        }
        double given = seconds();
        if (s == KN_OK) s = kn_sync(device);
        double done = seconds();
        if (given - begun < host) host = given - begun;
        if (done - begun < both) both = done - begun;
    }
    kn_scope_end(outer, KN_NONE);
    printf("%s: %.1f microseconds of the host, %.1f in all\n", name, 1e6 * host / BURST, 1e6 * both / BURST);
    return s;
}

static kn_status measure_all(kn_device device)
{
    Net net;
    float *pixels = malloc(sizeof(float) * BATCHES * BATCH * PIXELS);
    for (int i = 0; pixels && i < BATCHES * BATCH * PIXELS; i++) pixels[i] = (float)(i % 251) / 251;
    kn_optim optim = kn_optim_adam(NULL);
    kn_status s = pixels ? KN_OK : KN_ERROR_MEMORY;
    if (s == KN_OK) s = kn_nn_linear_init(&net.fc1, PIXELS, 512, NULL);
    if (s == KN_OK) s = kn_nn_linear_init(&net.fc2, 512, 512, NULL);
    if (s == KN_OK) s = kn_nn_linear_init(&net.fc3, 512, 10, NULL);
    if (s == KN_OK) s = measure(device, &net, optim, pixels, UPLOADS | LEARNS, "steps with uploads");
    if (s == KN_OK) s = measure(device, &net, optim, pixels, LEARNS, "steps without uploads");
    if (s == KN_OK) s = measure(device, &net, optim, pixels, UPLOADS, "uploads");
    kn_optim_free(optim);
    kn_module_drop((kn_module){&net, &Net_type});
    free(pixels);
    return s;
}

int main(int argc, char **argv)
{
    kn_device device = argc > 1 ? kn_device_open(argv[1]) : NULL;
    int steps = argc > 2 ? atoi(argv[2]) : 200;
    char text[400] = "";
    kn_fusion_stats stats = {0};
    if (!device) {
        fprintf(stderr, "%s\n", argc > 1 ? kn_last_error() : "replay_check DEVICE [STEPS]");
        return 1;
    }
    kn_device_use(device);
    if (argc > 2 && !strcmp(argv[2], "time")) {
        kn_status s = measure_all(device);
        if (s) fprintf(stderr, "%s\n", kn_last_error());
        return s != KN_OK;
    }
    for (int i = 0; i < 2; i++) {
        kn_status s = train(device, steps, i ? 0.5 : 0);
        if (s) fprintf(stderr, "%s\n", kn_last_error());
        if (s) return 1;
        printf("%d steps%s: %016llx\n", steps, i ? " with dropout" : "", (unsigned long long)hash);
    }
    (void)kn_fusion_stats_of(device, &stats);
    (void)kn_device_report(device, "report", text, sizeof text);
    fprintf(stderr, "%lld of %lld submissions replayed; %s\n", (long long)stats.plans_replayed,
            (long long)stats.submissions, text);
    (void)kn_device_report(device, "memory", text, sizeof text);
    fprintf(stderr, "%s\n", text);
    kn_device_use(NULL);
    return kn_shutdown() != 0;
}
