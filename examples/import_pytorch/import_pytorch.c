/* Brings weights from a PyTorch file into a network of one's own and fine-tunes it: the convolutions learned the digits 0 to 4
   elsewhere, a new head learns 5 to 9 from a few hundred images. At first the convolutions are frozen; then they follow with a
   tenth of the learning rate. */
#include "common/example.h"
#include <kn/nn.h>
#include <kn/store.h>
#include <kn/train.h>

enum { CLASSES = 5 };

typedef struct Settings {
    const char *weights, *data, *folder;
    int64_t epochs, limit, seed;
    double lr;
    bool scratch;
} Settings;

/* ---- the model. PyTorch called its layers features.0, features.3 and classifier; here they have names. */

typedef struct Net {
    kn_nn_conv2d conv1, conv2;
    kn_nn_linear head;
} Net;
static const kn_module_type Net_type = {"Net", sizeof(Net),
                                        (const kn_field[]){KN_MODULE(Net, conv1, kn_nn_conv2d),
                                                           KN_MODULE(Net, conv2, kn_nn_conv2d),
                                                           KN_MODULE(Net, head, kn_nn_linear),
                                                           {0}}};

static kn_status net_init(Net *net)
{
    kn_status s = kn_nn_conv2d_init(&net->conv1, 1, 8, KN_INTS(5, 5), NULL);
    if (s == KN_OK) s = kn_nn_conv2d_init(&net->conv2, 8, 16, KN_INTS(5, 5), NULL);
    if (s == KN_OK) s = kn_nn_linear_init(&net->head, 16 * 4 * 4, CLASSES, NULL);
    return s;
}

static kn_tensor net_forward(const Net *net, kn_tensor images)
{
    kn_ints window = KN_INTS(2, 2);
    kn_tensor x = kn_max_pool2d(kn_relu(kn_nn_conv2d_forward(&net->conv1, images)), window, NULL);
    x = kn_max_pool2d(kn_relu(kn_nn_conv2d_forward(&net->conv2, x)), window, NULL);
    return kn_nn_linear_forward(&net->head, kn_flatten(x, 1, -1));
}

/* ---- the import */

static bool import_weights(Net *net, const char *path)
{
    const kn_rename renames[] = {
        {"^features\\.0\\.(.*)", "conv1.\\1"}, {"^features\\.3\\.(.*)", "conv2.\\1"}, {0}};
    kn_load_args args = {.renames = renames,
                         .allow_missing = true, /* the head is new: the file has none for these digits */
                         .allow_unused = true}; /* and the classifier of the file is not wanted */
    kn_load_report report;
    if (kn_load(KN_MODULE_OF(Net, net), path, &args, &report)) return false;
    printf("%s: %lld params came from the file, %lld keep their start values, %lld tensors are not used\n%s",
           path, (long long)report.applied, (long long)report.missing, (long long)report.unused, report.text);
    kn_load_report_free(&report);
    return true;
}

/* ---- the data: the digits 5 to 9 with labels 0 to 4 */

static kn_status shift_label(void *context, const kn_sample_key *key, kn_sample *sample)
{
    (void)context, (void)key;
    return kn_sample_replace(sample, 1, kn_sub_scalar(sample->fields[1], 10 - CLASSES));
}

/* The places of the first n digits that are 5 or more; returns how many there are. */
static int64_t find_high(kn_dataset digits, int64_t *places, int64_t n)
{
    int64_t found = 0;
    for (int64_t i = 0; i < kn_dataset_length(digits) && found < n; i++) {
        kn_sample sample = {0};
        if (kn_dataset_get(digits, i, &sample)) return 0;
        if (kn_item_int(sample.fields[1]) >= 10 - CLASSES) places[found++] = i;
        kn_sample_drop(&sample);
    }
    return found;
}

static kn_loader make_loader(const char *folder, const char *split, int64_t n, int64_t seed)
{
    kn_dataset digits = kn_dataset_mnist(folder, split);
    int64_t *places = malloc((size_t)n * sizeof *places);
    int64_t found = digits && places ? find_high(digits, places, n) : 0;
    kn_dataset high = kn_dataset_select(digits, places, found);
    kn_dataset labelled = kn_dataset_map(high, shift_label, NULL);
    kn_dataset ready = kn_dataset_normalise(labelled, NULL, NULL, 1); /* as in make_backbone.py: 0 to 1 */
    kn_loader loader =
        kn_loader_make(ready, &(kn_loader_args){.batch_size = 32, .shuffle = true, .seed = (uint64_t)seed});
    free(places);
    kn_dataset_free(digits);
    kn_dataset_free(high);
    kn_dataset_free(labelled);
    kn_dataset_free(ready);
    return loader;
}

/* ---- fine-tuning */

static kn_status step(void *context, const kn_sample *batch, kn_step_output *output)
{
    const Net *net = context;
    output->scores = kn_keep(net_forward(net, batch->fields[0]));
    output->targets = batch->fields[1];
    output->loss = kn_cross_entropy(output->scores, batch->fields[1], NULL);
    return KN_OK;
}

/* Two groups: the convolutions go a tenth of the head's way at each step. */
static kn_optim make_optim(void)
{
    kn_optim optim = kn_optim_adamw(NULL);
    if (optim && kn_optim_add_group(optim, &(kn_optim_group){.pattern = "^conv", .lr_scale = 0.1})) {
        kn_optim_free(optim);
        return NULL;
    }
    return optim;
}

/* Trains what is not frozen, and tells how well it does. */
static bool fit(Net *net, kn_loader train, kn_loader valid, const char *name, const Settings *settings)
{
    char folder[600];
    snprintf(folder, sizeof folder, "%s/%s", settings->folder, name);
    kn_optim optim = make_optim();
    kn_learner learner = kn_learner_make(&(kn_learner_args){.model = KN_MODULE_OF(Net, net),
                                                            .optim = optim,
                                                            .lr = settings->lr,
                                                            .train = train,
                                                            .valid = valid,
                                                            .train_step = step,
                                                            .valid_step = step,
                                                            .context = net,
                                                            .epochs = settings->epochs,
                                                            .seed = (uint64_t)settings->seed,
                                                            .name = name,
                                                            .folder = folder});
    bool good = learner && kn_learner_add_metric(learner, kn_metric_accuracy(-1)) == KN_OK &&
                kn_learner_add_renderer(learner, kn_renderer_auto()) == KN_OK &&
                kn_learner_fit(learner) == KN_OK;
    if (good)
        printf("%s: accuracy %.1f %%, sum of conv1's weights %.6f\n", name,
               100 * kn_learner_value(learner, KN_SPLIT_VALID, "accuracy"),
               kn_item(kn_sum(kn_value(net->conv1.weight), KN_AXES_ALL, false)));
    kn_learner_free(learner);
    kn_optim_free(optim);
    return good;
}

static bool run(Net *net, kn_loader train, kn_loader valid, const Settings *settings)
{
    kn_module module = KN_MODULE_OF(Net, net);
    if (!settings->scratch && !import_weights(net, settings->weights)) return false;
    return kn_module_freeze(module, "^conv", true) == KN_OK && fit(net, train, valid, "head", settings) &&
           kn_module_freeze(module, "^conv", false) == KN_OK && fit(net, train, valid, "all", settings);
}

int main(int argc, char **argv)
{
    Settings settings = {.weights = "examples/import_pytorch/backbone.pt",
                         .data = "data/mnist",
                         .folder = "build/import_pytorch",
                         .epochs = 8,
                         .limit = 400,
                         .seed = 1,
                         .lr = 5e-3};
    const Option options[] = {{"--weights", "PyTorch's file", .text = &settings.weights},
                              {"--epochs", "of each of the two parts", .integer = &settings.epochs},
                              {"--limit", "images to learn from", .integer = &settings.limit},
                              {"--lr", "learning rate of the head", .real = &settings.lr},
                              {"--seed", "of everything random", .integer = &settings.seed},
                              {"--data", "folder of MNIST's files", .text = &settings.data},
                              {"--folder", "for what the run writes", .text = &settings.folder},
                              {"--scratch", "do without the file, to compare", .flag = &settings.scratch},
                              {0}};
    if (!options_read(argc, argv, options)) return EXIT_FAILURE;
    if (settings.limit < 1) return option_usage(argv[0], options), EXIT_FAILURE;
    if (!example_begin("autodiff(cpu)", settings.seed)) return EXIT_FAILURE;
    Net net = {0};
    kn_loader train = make_loader(settings.data, "train", settings.limit, settings.seed);
    kn_loader valid = make_loader(settings.data, "test", 2000, settings.seed);
    bool good = net_init(&net) == KN_OK && train && valid && run(&net, train, valid, &settings);
    kn_loader_free(train);
    kn_loader_free(valid);
    kn_module_drop(KN_MODULE_OF(Net, &net));
    return example_end(good);
}
