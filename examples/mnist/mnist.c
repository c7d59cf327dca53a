/* Trains a network on MNIST with the learner, evaluates it on the test images, saves it, loads it again and shows what it
   sees in some digits. */
#include "common/example.h"
#include "mnist_digits.h"
#include "mnist_program.h"
#include <kn/store.h>
#include <kn/train.h>
#include <time.h>

typedef struct Settings {
    const char *model, *device, *data, *folder;
    int64_t epochs, batch, seed, limit;
    double lr;
    bool resume, program;
} Settings;

/* All that lives as long as the run. */
typedef struct Run {
    const MnistModel *model;
    MnistNet net;
    kn_loader train, valid, test;
    kn_optim optim;
    kn_schedule schedule;
    kn_learner learner;
} Run;

/* ---- data */

/* Images as f32 around 0; those of training are moved by up to two pixels, anew in each epoch. */
static kn_loader make_loader(kn_dataset data, bool training, const Settings *settings)
{
    const double mean = 0.1307, std = 0.3081;
    kn_augment_args shift = {.shift_rows = 2, .shift_columns = 2};
    kn_dataset moved = training ? kn_dataset_augment(data, &shift) : kn_dataset_retain(data);
    kn_dataset ready = kn_dataset_normalise(moved, &mean, &std, 1);
    kn_loader loader = kn_loader_make(ready, &(kn_loader_args){.batch_size = training ? settings->batch : 500,
                                                               .shuffle = training,
                                                               .seed = (uint64_t)settings->seed,
                                                               .workers = 1});
    kn_dataset_free(moved);
    kn_dataset_free(ready);
    return loader;
}

/* The last twentieth of the training images is for validation; the test images are looked at once, at the very end. */
static bool make_loaders(Run *run, const Settings *settings)
{
    kn_dataset all = kn_dataset_mnist(settings->data, "train"),
               test = kn_dataset_mnist(settings->data, "test");
    int64_t n = kn_dataset_length(all), limit = settings->limit;
    if (limit > 0 && limit < n) n = limit;
    kn_dataset train = kn_dataset_slice(all, 0, n - n / 20);
    kn_dataset valid = kn_dataset_slice(all, n - n / 20, n);
    kn_dataset tested = kn_dataset_slice(test, 0, limit > 0 ? limit : INT64_MAX);
    run->train = make_loader(train, true, settings);
    run->valid = make_loader(valid, false, settings);
    run->test = make_loader(tested, false, settings);
    kn_dataset parts[] = {all, test, train, valid, tested};
    for (int i = 0; i < 5; i++) kn_dataset_free(parts[i]);
    return run->train && run->valid && run->test;
}

/* ---- training */

static kn_status step(void *context, const kn_sample *batch, kn_step_output *output)
{
    const Run *run = context;
    kn_tensor images = batch->fields[0], labels = batch->fields[1];
    output->scores = kn_keep(run->model->forward(&run->net, images)); /* the loss and the metrics use them */
    output->targets = labels;
    output->loss = kn_cross_entropy(output->scores, labels, NULL);
    return KN_OK;
}

static bool make_learner(Run *run, const Settings *settings)
{
    kn_one_cycle_args cycle = {.max_lr = settings->lr > 0 ? settings->lr : run->model->max_lr,
                               .steps = settings->epochs * kn_loader_length(run->train)};
    run->optim = kn_optim_adamw(NULL);
    run->schedule = kn_schedule_one_cycle(&cycle);
    run->learner = kn_learner_make(&(kn_learner_args){.model = {&run->net, run->model->type},
                                                      .optim = run->optim,
                                                      .schedule = run->schedule,
                                                      .train = run->train,
                                                      .valid = run->valid,
                                                      .train_step = step,
                                                      .valid_step = step,
                                                      .context = run,
                                                      .epochs = settings->epochs,
                                                      .seed = (uint64_t)settings->seed,
                                                      .name = "mnist",
                                                      .folder = settings->folder,
                                                      .catch_interrupts = true});
    if (!run->learner) return false;
    char report[600];
    snprintf(report, sizeof report, "%s/report.html", settings->folder);
    return kn_learner_add_metric(run->learner, kn_metric_accuracy(-1)) == KN_OK &&
           kn_learner_add_metric_to(run->learner, kn_metric_learning_rate(), KN_SPLIT_TRAIN) == KN_OK &&
           kn_learner_add_renderer(run->learner, kn_renderer_auto()) == KN_OK &&
           kn_learner_add_renderer(run->learner, kn_report_html(report)) == KN_OK;
}

/* Trains, tells how good the model is, and saves it. */
static bool train(Run *run, const Settings *settings)
{
    if (settings->resume && kn_learner_resume(run->learner, NULL)) return false;
    time_t begin = time(NULL);
    if (kn_learner_fit(run->learner)) return false;
    double seconds = difftime(time(NULL), begin);
    if (kn_learner_ended(run->learner) == KN_RUN_INTERRUPTED) {
        printf("interrupted; --resume --folder '%s' goes on from here\n", settings->folder);
        return true;
    }
    if (kn_learner_evaluate(run->learner, run->test)) return false;
    char path[600];
    snprintf(path, sizeof path, "%s/model.safetensors", settings->folder);
    if (kn_save((kn_module){&run->net, run->model->type}, path, NULL)) return false;
    if (!show_digits(path, run->model, settings->data)) return false;
    if (settings->program && !save_program(run->model, &run->net, run->test, settings->folder)) return false;
    printf("test accuracy %.2f %% of %lld images after %.0f s of training\n",
           100 * kn_learner_value(run->learner, KN_SPLIT_TEST, "accuracy"),
           (long long)kn_loader_samples(run->test), seconds);
    printf("saved %s and %s/report.html\n", path, settings->folder);
    return true;
}

static void drop_run(Run *run)
{
    kn_learner_free(run->learner);
    kn_schedule_free(run->schedule);
    kn_optim_free(run->optim);
    kn_loader_free(run->train);
    kn_loader_free(run->valid);
    kn_loader_free(run->test);
    kn_module_drop((kn_module){&run->net, run->model->type});
}

int main(int argc, char **argv)
{
    Settings settings = {.model = "cnn",
                         .device = "autodiff(cpu)",
                         .data = "data/mnist",
                         .folder = "build/mnist",
                         .epochs = 3,
                         .batch = 64,
                         .seed = 1};
    const Option options[] = {{"--model", "mlp or cnn", .text = &settings.model},
                              {"--epochs", "passes over the data", .integer = &settings.epochs},
                              {"--batch", "images of a step", .integer = &settings.batch},
                              {"--lr", "highest learning rate, 0: the model's own", .real = &settings.lr},
                              {"--seed", "of everything random", .integer = &settings.seed},
                              {"--data", "folder of MNIST's files", .text = &settings.data},
                              {"--folder", "for what the run writes", .text = &settings.folder},
                              {"--device", "to train on", .text = &settings.device},
                              {"--limit", "use only so many images, 0: all", .integer = &settings.limit},
                              {"--program", "save a program too, for 'kiln run'", .flag = &settings.program},
                              {"--resume", "go on from the last checkpoint", .flag = &settings.resume},
                              {0}};
    if (!options_read(argc, argv, options)) return EXIT_FAILURE;
    Run run = {.model = mnist_model(settings.model)};
    if (!run.model) return fprintf(stderr, "--model is mlp or cnn, not %s\n", settings.model), EXIT_FAILURE;
    if (!example_begin(settings.device, settings.seed)) return EXIT_FAILURE;
    bool good = run.model->init(&run.net) == KN_OK && make_loaders(&run, &settings) &&
                make_learner(&run, &settings) && train(&run, &settings);
    drop_run(&run);
    return example_end(good);
}
