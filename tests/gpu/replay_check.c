/* Trains a small net on a device and prints a hash of every loss and param, for comparing runs with and without recordings:
   the bits must be the same. replay_check DEVICE [STEPS] */
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

static kn_status step(Net *net, kn_optim optim, int number, double dropout, bool reads)
{
    static float x[BATCH * PIXELS];
    int64_t y[BATCH];
    uint32_t state = (uint32_t)number * 2654435761u + 7;
    for (int i = 0; i < BATCH * PIXELS; i++)
        x[i] = (float)((state = state * 1664525u + 1013904223u) >> 8) / 16777216.0f;
    for (int i = 0; i < BATCH; i++) y[i] = (i * 7 + number) % 10;
    kn_scope scope = kn_scope_begin();
    kn_tensor h = kn_relu(kn_nn_linear_forward(&net->fc1, kn_from(x, KN_F32, KN_SHAPE(BATCH, PIXELS))));
    if (dropout > 0) h = kn_dropout(h, dropout, true);
    h = kn_relu(kn_nn_linear_forward(&net->fc2, h));
    kn_tensor loss = kn_keep(
        kn_cross_entropy(kn_nn_linear_forward(&net->fc3, h), kn_from(y, KN_I64, KN_SHAPE(BATCH)), NULL));
    kn_grads grads = NULL;
    kn_status s = kn_backward(loss, &grads);
    if (s == KN_OK) s = kn_optim_step(optim, 1e-3 / (1 + 0.01 * number), (kn_module){net, &Net_type}, grads);
    kn_grads_free(grads);
    if (s == KN_OK && reads) s = mix_tensor(loss);
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
