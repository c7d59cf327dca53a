/* The run that the tests of the learner share: a small network with dropout, data with augmentation, two workers, a cosine
   schedule, an average of weights and accumulation. */
#ifndef TEST_TRAIN_RUN_H
#define TEST_TRAIN_RUN_H

#include "support/check.h"
#include <kn/nn.h>
#include <kn/store.h>
#include <kn/train.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { RUN_SAMPLES = 92, RUN_INPUTS = 6, RUN_CLASSES = 3, RUN_BATCH = 4 }; /* 23 batches, 12 steps by two */

typedef struct Net {
    kn_nn_linear in, out;
    kn_nn_dropout dropout;
} Net;
static const kn_module_type Net_type = {"Net", sizeof(Net),
                                        (const kn_field[]){KN_MODULE(Net, in, kn_nn_linear),
                                                           KN_MODULE(Net, dropout, kn_nn_dropout),
                                                           KN_MODULE(Net, out, kn_nn_linear),
                                                           {0}}};

typedef struct Run {
    Net net;
    kn_optim optim;
    kn_schedule schedule;
    kn_ema ema;
    kn_loader train, valid;
    kn_learner learner;
    /* What the steps of a test look at and do. */
    int64_t calls, poison_call; /* calls of train_step; the one whose loss is not a number, 0: none */
    int64_t interrupt_call;     /* the call that interrupts the run, 0: none */
    int64_t valid_calls, interrupt_valid_call;
    bool taped, training; /* as the latest valid step saw it */
} Run;

static inline kn_tensor run_loss(Run *run, const kn_sample *batch, kn_step_output *output)
{
    kn_tensor h = kn_relu(kn_nn_linear_forward(&run->net.in, batch->fields[0]));
    h = kn_nn_dropout_forward(&run->net.dropout, h);
    output->scores = kn_keep(kn_nn_linear_forward(&run->net.out, h));
    output->targets = batch->fields[1];
    output->loss = kn_cross_entropy(output->scores, batch->fields[1], NULL);
    return output->loss;
}

static inline kn_status run_train_step(void *context, const kn_sample *batch, kn_step_output *output)
{
    Run *run = context;
    run_loss(run, batch, output);
    run->calls++;
    if (run->calls == run->poison_call) output->loss = kn_mul_scalar(output->loss, NAN);
    if (run->calls == run->interrupt_call) kn_learner_interrupt(run->learner);
    return KN_OK;
}

static inline kn_status run_valid_step(void *context, const kn_sample *batch, kn_step_output *output)
{
    Run *run = context;
    run->taped = kn_is_require_grad(kn_keep(run_loss(run, batch, output))) || kn_grad_enabled();
    output->loss = kn_cross_entropy(output->scores, batch->fields[1], NULL);
    run->training = run->net.dropout.training;
    if (++run->valid_calls == run->interrupt_valid_call) kn_learner_interrupt(run->learner);
    return KN_OK;
}

/* Noise that depends on the key alone. */
static inline kn_status run_augment(void *context, const kn_sample_key *key, kn_sample *sample)
{
    (void)context;
    return kn_sample_replace(sample, 0, kn_add_scalar(sample->fields[0], 0.3 * kn_key_uniform(key, 0)));
}

static inline kn_dataset run_data(int64_t n, double phase)
{
    float x[RUN_SAMPLES * RUN_INPUTS];
    int64_t y[RUN_SAMPLES];
    for (int64_t i = 0; i < n; i++) {
        y[i] = (i * 7) % RUN_CLASSES;
        for (int64_t j = 0; j < RUN_INPUTS; j++)
            x[i * RUN_INPUTS + j] =
                (float)(sin(phase + (double)(i * RUN_INPUTS + j) * 1.7) + (j % RUN_CLASSES == y[i]));
    }
    kn_tensor fields[] = {kn_from(x, KN_F32, KN_SHAPE(n, RUN_INPUTS)), kn_from(y, KN_I64, KN_SHAPE(n))};
    return kn_dataset_tensors(fields, 2);
}

/* folder may be NULL. The learner has no metrics but the loss yet. change may alter the arguments. */
static inline bool run_make(Run *run, const char *folder, int64_t epochs, void (*change)(kn_learner_args *))
{
    memset(run, 0, sizeof *run);
    kn_device device = kn_device_current();
    kn_seed(device, 11);
    bool good = kn_nn_linear_init(&run->net.in, RUN_INPUTS, 16, NULL) == KN_OK &&
                kn_nn_linear_init(&run->net.out, 16, RUN_CLASSES, NULL) == KN_OK &&
                kn_nn_dropout_init(&run->net.dropout, 0.2, NULL) == KN_OK;
    kn_dataset plain = run_data(RUN_SAMPLES, 0), held = run_data(20, 5);
    kn_dataset data = kn_dataset_map(plain, run_augment, NULL);
    run->train = kn_loader_make(
        data, &(kn_loader_args){.batch_size = RUN_BATCH, .workers = 2, .shuffle = true, .seed = 3});
    run->valid = kn_loader_make(held, &(kn_loader_args){.batch_size = 8});
    kn_dataset_free(plain);
    kn_dataset_free(held);
    kn_dataset_free(data);
    run->optim = kn_optim_adamw(NULL);
    run->schedule = kn_schedule_cosine(0.02, 0.001, 120, false);
    run->ema = kn_ema_make(KN_MODULE_OF(Net, &run->net), 0.9, true);
    kn_learner_args args = {.model = KN_MODULE_OF(Net, &run->net),
                            .optim = run->optim,
                            .schedule = run->schedule,
                            .train = run->train,
                            .valid = run->valid,
                            .train_step = run_train_step,
                            .valid_step = run_valid_step,
                            .context = run,
                            .epochs = epochs,
                            .accumulate = 2,
                            .ema = run->ema,
                            .seed = 99,
                            .name = "test",
                            .folder = folder};
    if (change) change(&args);
    if (args.schedule && args.schedule != run->schedule) { /* a test's own */
        kn_schedule_free(run->schedule);
        run->schedule = args.schedule;
    }
    run->learner = kn_learner_make(&args);
    good = good && run->train && run->valid && run->optim && run->schedule && run->ema && run->learner;
    if (!good) printf("%s\n", kn_last_error());
    return CHECK(good);
}

static inline void run_free(Run *run)
{
    kn_learner_free(run->learner);
    kn_loader_free(run->train);
    kn_loader_free(run->valid);
    kn_optim_free(run->optim);
    kn_schedule_free(run->schedule);
    kn_ema_free(run->ema);
    kn_module_drop(KN_MODULE_OF(Net, &run->net));
}

#define CHECK_OK(call) check_ok((call), #call, __FILE__, __LINE__)
static inline bool check_ok(kn_status status, const char *text, const char *file, int line)
{
    if (status) printf("%s\n", kn_last_error());
    return check_that(status == KN_OK, text, file, line);
}

/* The weights, and the average's, in one list. */
enum { RUN_PARAMS = RUN_INPUTS * 16 + 16 + 16 * RUN_CLASSES + RUN_CLASSES };
typedef struct Weights {
    float at[2 * RUN_PARAMS];
} Weights;

static inline Weights run_weights(Run *run)
{
    Weights w = {{0}};
    float *at = w.at;
    for (int turn = 0; turn < 2; turn++) {
        const kn_param p[] = {run->net.in.weight, run->net.in.bias, run->net.out.weight, run->net.out.bias};
        for (int i = 0; i < 4; i++) {
            int64_t n = kn_count(kn_value(p[i]));
            CHECK(kn_read(kn_value(p[i]), at, (size_t)n * sizeof *at) == KN_OK);
            at += n;
        }
        CHECK(kn_ema_swap(run->ema, KN_MODULE_OF(Net, &run->net)) == KN_OK);
    }
    return w;
}

static inline bool weights_equal(const Weights *a, const Weights *b) { return !memcmp(a, b, sizeof *a); }

/* ---- folders */

static inline void remove_folder(const char *folder)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    CHECK(system(command) == 0);
}

static inline const char *fresh_folder(void)
{
    static char folder[256];
    snprintf(folder, sizeof folder, "%s/kiln-train-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : P_tmpdir);
    return CHECK(mkdtemp(folder) != NULL) ? folder : NULL;
}

#endif
