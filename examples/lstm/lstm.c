/* The adding problem: a sequence of numbers, two of which are marked; an LSTM reads it step by step and says the sum of the two.
   It shows a data set of one's own, a recurrent layer, the learner with clipping and early stopping, and a loss that means
   something. */
#include "common/example.h"
#include <kn/nn.h>
#include <kn/train.h>

typedef struct Settings {
    int64_t epochs, samples, length, hidden, seed;
    double lr;
    const char *folder;
} Settings;

/* ---- the data: made when it is asked for, and kept nowhere */

enum { VALUE, MARK, FEATURES, LONGEST = 200 };

typedef struct Sums {
    int64_t samples, length;
} Sums;

static int64_t sums_count(void *self) { return ((const Sums *)self)->samples; }

/* One sequence [length, 2] and the sum [1]. All that is random comes from the key, which holds the seed, the epoch and the index:
   each epoch brings new sequences, and each run the same ones. */
static kn_status sums_get(void *self, int64_t index, const kn_sample_key *key, kn_sample *sample)
{
    (void)index;
    const Sums *sums = self;
    float steps[LONGEST][FEATURES] = {{0}}, sum = 0;
    for (int64_t i = 0; i < sums->length; i++) steps[i][VALUE] = (float)kn_key_uniform(key, (uint64_t)i);
    int64_t half = sums->length / 2; /* one mark in the first half, one in the second */
    int64_t marked[] = {kn_key_below(key, LONGEST, half), half + kn_key_below(key, LONGEST + 1, half)};
    for (int m = 0; m < 2; m++) {
        steps[marked[m]][MARK] = 1;
        sum += steps[marked[m]][VALUE];
    }
    kn_status s = kn_sample_add(sample, kn_from(steps, KN_F32, KN_SHAPE(sums->length, FEATURES)));
    return s ? s : kn_sample_add(sample, kn_from(&sum, KN_F32, KN_SHAPE(1)));
}

static const kn_dataset_type sums_type = {.name = "sums", .length = sums_count, .get = sums_get};

static kn_loader make_loader(Sums *sums, int64_t seed)
{
    kn_dataset data = kn_dataset_make(&sums_type, sums);
    kn_loader loader = kn_loader_make(data, &(kn_loader_args){.batch_size = 64, .seed = (uint64_t)seed});
    kn_dataset_free(data);
    return loader;
}

/* ---- the model */

typedef struct Net {
    kn_nn_lstm lstm;
    kn_nn_linear head;
} Net;
static const kn_module_type Net_type = {
    "Net", sizeof(Net),
    (const kn_field[]){KN_MODULE(Net, lstm, kn_nn_lstm), KN_MODULE(Net, head, kn_nn_linear), {0}}};

static kn_status net_init(Net *net, int64_t hidden)
{
    kn_status s = kn_nn_lstm_init(&net->lstm, FEATURES, hidden, &(kn_nn_recurrent_args){.batch_first = true});
    return s ? s : kn_nn_linear_init(&net->head, hidden, 1, NULL);
}

/* steps [batch, length, 2] -> [batch, 1]: what the LSTM knows after the last step is all the head sees. */
static kn_tensor net_forward(const Net *net, kn_tensor steps)
{
    kn_tensor outputs = kn_nn_lstm_forward(&net->lstm, steps, NULL);
    return kn_nn_linear_forward(&net->head, kn_select(outputs, 1, -1));
}

static kn_status step(void *context, const kn_sample *batch, kn_step_output *output)
{
    const Net *net = context;
    output->scores = kn_keep(net_forward(net, batch->fields[0]));
    output->targets = batch->fields[1];
    output->loss = kn_mse_loss(output->scores, batch->fields[1], KN_REDUCTION_MEAN);
    return KN_OK;
}

/* ---- the run */

static kn_learner make_learner(Net *net, kn_optim optim, kn_loader train, kn_loader valid,
                               const Settings *settings)
{
    kn_learner learner =
        kn_learner_make(&(kn_learner_args){.model = KN_MODULE_OF(Net, net),
                                           .optim = optim,
                                           .lr = settings->lr,
                                           .train = train,
                                           .valid = valid,
                                           .train_step = step,
                                           .valid_step = step,
                                           .context = net,
                                           .epochs = settings->epochs,
                                           .clip = KN_CLIP_GLOBAL_NORM, /* long sequences need it */
                                           .clip_limit = 1,
                                           .grad_norm = true,
                                           .seed = (uint64_t)settings->seed,
                                           .name = "lstm",
                                           .folder = settings->folder,
                                           .catch_interrupts = true});
    kn_early_stopping patience = {.patience = 10};
    if (learner && (kn_learner_set_early_stopping(learner, &patience) ||
                    kn_learner_add_renderer(learner, kn_renderer_auto()))) {
        kn_learner_free(learner);
        return NULL;
    }
    return learner;
}

/* Some sequences of the validation data with the network's answers. */
static bool show(Net *net, kn_loader valid)
{
    enum { SHOWN = 5 };
    kn_sample batch = {0};
    float answers[64], sums[64];
    if (kn_loader_epoch(valid, 0) || kn_loader_next(valid, &batch)) return false;
    size_t bytes = (size_t)kn_size(batch.fields[1], 0) * sizeof(float);
    kn_module_train(KN_MODULE_OF(Net, net), false);
    kn_no_grad_begin();
    kn_tensor y = kn_keep(net_forward(net, batch.fields[0]));
    bool good = kn_read(y, answers, bytes) == KN_OK && kn_read(batch.fields[1], sums, bytes) == KN_OK;
    kn_no_grad_end();
    kn_drop(y);
    kn_sample_drop(&batch);
    for (size_t i = 0; i < SHOWN && i < bytes / sizeof(float) && good; i++)
        printf("sum %.3f   answer %.3f\n", (double)sums[i], (double)answers[i]);
    return good;
}

int main(int argc, char **argv)
{
    Settings settings = {.epochs = 15,
                         .samples = 3200,
                         .length = 30,
                         .hidden = 32,
                         .seed = 1,
                         .lr = 0.02,
                         .folder = "build/lstm"};
    const Option options[] = {{"--epochs", "passes over the data", .integer = &settings.epochs},
                              {"--limit", "sequences of an epoch", .integer = &settings.samples},
                              {"--length", "steps of a sequence, 2 to 200", .integer = &settings.length},
                              {"--hidden", "size of the LSTM's state", .integer = &settings.hidden},
                              {"--lr", "learning rate", .real = &settings.lr},
                              {"--seed", "of everything random", .integer = &settings.seed},
                              {"--folder", "for what the run writes", .text = &settings.folder},
                              {0}};
    if (!options_read(argc, argv, options)) return EXIT_FAILURE;
    if (settings.length < 2 || settings.length > LONGEST || settings.samples < 1)
        return option_usage(argv[0], options), EXIT_FAILURE;
    if (!example_begin("autodiff(cpu)", settings.seed)) return EXIT_FAILURE;

    Sums many = {settings.samples, settings.length}, few = {320, settings.length};
    Net net = {0};
    kn_loader train = make_loader(&many, settings.seed), valid = make_loader(&few, settings.seed + 1);
    kn_optim optim = kn_optim_adam(NULL);
    bool good = net_init(&net, settings.hidden) == KN_OK;
    kn_learner learner = good ? make_learner(&net, optim, train, valid, &settings) : NULL;
    good = learner && kn_learner_fit(learner) == KN_OK && show(&net, valid);
    if (good)
        printf("mean square error %.5f; always answering 1 would give 0.167\n",
               kn_learner_value(learner, KN_SPLIT_VALID, "loss"));

    kn_learner_free(learner);
    kn_optim_free(optim);
    kn_loader_free(train);
    kn_loader_free(valid);
    kn_module_drop(KN_MODULE_OF(Net, &net));
    return example_end(good);
}
