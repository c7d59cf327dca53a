/* A Wasserstein GAN with gradient penalty on MNIST: two networks with an optimiser each, trained by a step of one's own inside
   the learner, with checkpoints that hold both. The digits it makes go to a picture and to the terminal. */
#include "common/example.h"
#include "gan.h"
#include <kn/train.h>

enum { CRITIC_STEPS = 4, ACROSS = 10, DOWN = 6 };

typedef struct Settings {
    const char *data, *folder;
    int64_t epochs, batch, seed, limit;
    double lr;
    bool resume;
} Settings;

typedef struct Run {
    Gan gan;
    kn_optim generator_optim, critic_optim;
    int64_t steps;
} Run;

/* ---- the step: the critic at every batch, the generator at every fourth */

static kn_status critic_step(Run *run, kn_tensor real, double lr, kn_step_output *output)
{
    kn_grads grads = NULL;
    kn_no_grad_begin();
    kn_tensor made = kn_keep(generate(&run->gan.generator, kn_size(real, 0)));
    kn_no_grad_end();
    kn_tensor distance = kn_keep(critic_distance(&run->gan.critic, real, made));
    kn_tensor penalty = kn_mul_scalar(gradient_penalty(&run->gan.critic, real, made), 10);
    kn_status s = kn_backward(kn_sub(penalty, distance), &grads); /* the critic wants a large distance */
    if (s == KN_OK) s = kn_optim_step(run->critic_optim, lr, KN_MODULE_OF(Critic, &run->gan.critic), grads);
    kn_grads_free(grads);
    output->loss = kn_detach(distance);
    return s;
}

static kn_status generator_step(Run *run, kn_tensor real, double lr)
{
    kn_grads grads = NULL;
    kn_tensor made = generate(&run->gan.generator, kn_size(real, 0));
    kn_status s = kn_backward(critic_distance(&run->gan.critic, real, made), &grads); /* and it a small one */
    if (s == KN_OK)
        s = kn_optim_step(run->generator_optim, lr, KN_MODULE_OF(Generator, &run->gan.generator), grads);
    kn_grads_free(grads);
    return s;
}

static kn_status step(void *context, const kn_sample *batch, double lr, kn_step_output *output)
{
    Run *run = context;
    kn_tensor real = kn_keep(kn_flatten(batch->fields[0], 1, -1));
    kn_status s = critic_step(run, real, lr, output);
    output->items = kn_size(real, 0);
    if (s == KN_OK && ++run->steps % CRITIC_STEPS == 0) s = generator_step(run, real, lr);
    return s;
}

/* ---- checkpoints: the learner saves the model; the optimisers and the count of steps are ours to add */

typedef kn_status (*optim_io)(kn_optim optim, kn_module module, kn_state state, const char *prefix);

static kn_status optims(Run *run, kn_state state, const char *prefix, optim_io io)
{
    char critic[64], generator[64];
    snprintf(critic, sizeof critic, "%scritic/", prefix);
    snprintf(generator, sizeof generator, "%sgenerator/", prefix);
    kn_status s = io(run->critic_optim, KN_MODULE_OF(Critic, &run->gan.critic), state, critic);
    return s ? s : io(run->generator_optim, KN_MODULE_OF(Generator, &run->gan.generator), state, generator);
}

static kn_status save_extra(void *context, kn_state state, const char *prefix)
{
    Run *run = context;
    kn_status s = kn_state_put_int(state, prefix, "steps", run->steps);
    return s ? s : optims(run, state, prefix, kn_optim_save);
}

static kn_status load_extra(void *context, kn_state state, const char *prefix)
{
    Run *run = context;
    kn_state_get_int(state, prefix, "steps", &run->steps);
    return optims(run, state, prefix, kn_optim_load);
}

/* ---- pictures */

/* A grid of digits as a PGM file, which most viewers and converters know. */
static bool write_picture(const char *path, float digits[ACROSS * DOWN][SIDE][SIDE])
{
    FILE *file = fopen(path, "wb");
    if (!file) return fprintf(stderr, "%s cannot be written\n", path), false;
    fprintf(file, "P5\n%d %d\n255\n", ACROSS * SIDE, DOWN * SIDE);
    for (int y = 0; y < DOWN * SIDE; y++)
        for (int x = 0; x < ACROSS * SIDE; x++)
            fputc((int)(digits[y / SIDE * ACROSS + x / SIDE][y % SIDE][x % SIDE] * 255 + 0.5f), file);
    return fclose(file) == 0;
}

/* Four digits side by side, each character two pixels high. */
static void draw(float digits[ACROSS * DOWN][SIDE][SIDE])
{
    static const char shades[] = " .:-=+*#%@";
    for (int y = 0; y < SIDE; y += 2) {
        for (int x = 0; x < 4 * SIDE; x++) {
            float(*digit)[SIDE] = digits[x / SIDE];
            putchar(shades[(int)((digit[y][x % SIDE] + digit[y + 1][x % SIDE]) / 2 * 9.5f)]);
        }
        putchar('\n');
    }
}

static bool show(Gan *gan, const char *path, int64_t seed)
{
    static float digits[ACROSS * DOWN][SIDE][SIDE];
    kn_module_train(KN_MODULE_OF(Gan, gan), false);
    kn_seed(kn_device_current(), (uint64_t)seed); /* a model makes the same digits, however it was trained */
    kn_no_grad_begin();
    kn_tensor made = kn_keep(generate(&gan->generator, ACROSS * DOWN));
    bool good = kn_read(made, digits, sizeof digits) == KN_OK && write_picture(path, digits);
    if (good) draw(digits);
    if (good) printf("mean brightness %.3f; MNIST's is 0.131\n", kn_item(kn_mean(made, KN_AXES_ALL, false)));
    kn_no_grad_end();
    kn_drop(made);
    return good;
}

/* ---- the run */

static kn_loader make_loader(const Settings *settings)
{
    kn_dataset all = kn_dataset_mnist(settings->data, "train");
    kn_dataset part = kn_dataset_slice(all, 0, settings->limit > 0 ? settings->limit : INT64_MAX);
    kn_dataset ready = kn_dataset_normalise(part, NULL, NULL, 1); /* bytes to 0 .. 1 */
    kn_loader loader = kn_loader_make(ready, &(kn_loader_args){.batch_size = settings->batch,
                                                               .shuffle = true,
                                                               .drop_last = true,
                                                               .workers = 1,
                                                               .seed = (uint64_t)settings->seed});
    kn_dataset_free(all);
    kn_dataset_free(part);
    kn_dataset_free(ready);
    return loader;
}

static bool train(Run *run, kn_loader loader, const Settings *settings)
{
    int64_t steps = settings->epochs * kn_loader_length(loader);
    kn_schedule schedule = kn_schedule_linear(settings->lr, settings->lr / 10, steps);
    kn_learner learner = kn_learner_make(&(kn_learner_args){.model = KN_MODULE_OF(Gan, &run->gan),
                                                            .schedule = schedule,
                                                            .train = loader,
                                                            .custom_step = step,
                                                            .save_extra = save_extra,
                                                            .load_extra = load_extra,
                                                            .context = run,
                                                            .epochs = settings->epochs,
                                                            .seed = (uint64_t)settings->seed,
                                                            .name = "wgan",
                                                            .folder = settings->folder,
                                                            .catch_interrupts = true});
    bool good = learner && kn_learner_add_renderer(learner, kn_renderer_auto()) == KN_OK;
    if (good && settings->resume) good = kn_learner_resume(learner, NULL) == KN_OK;
    good = good && kn_learner_fit(learner) == KN_OK;
    if (good) printf("distance %.3f\n", kn_learner_value(learner, KN_SPLIT_TRAIN, "loss"));
    kn_learner_free(learner);
    kn_schedule_free(schedule);
    return good;
}

int main(int argc, char **argv)
{
    Settings settings = {
        .data = "data/mnist", .folder = "build/wgan", .epochs = 8, .batch = 64, .seed = 1, .lr = 4e-4};
    const Option options[] = {{"--epochs", "passes over the data", .integer = &settings.epochs},
                              {"--batch", "images of a step", .integer = &settings.batch},
                              {"--lr", "first learning rate of both networks", .real = &settings.lr},
                              {"--limit", "use only so many images, 0: all", .integer = &settings.limit},
                              {"--seed", "of everything random", .integer = &settings.seed},
                              {"--data", "folder of MNIST's files", .text = &settings.data},
                              {"--folder", "for what the run writes", .text = &settings.folder},
                              {"--resume", "go on from the last checkpoint", .flag = &settings.resume},
                              {0}};
    if (!options_read(argc, argv, options) || !example_begin("autodiff(cpu)", settings.seed))
        return EXIT_FAILURE;
    char path[600];
    snprintf(path, sizeof path, "%s/digits.pgm", settings.folder);
    kn_adam_args betas = {.beta1 = 0.5, .beta2 = 0.9}; /* those of the paper on gradient penalties, nearly */
    Run run = {.generator_optim = kn_optim_adam(&betas), .critic_optim = kn_optim_adam(&betas)};
    kn_loader loader = make_loader(&settings);
    bool good = gan_init(&run.gan) == KN_OK && loader && train(&run, loader, &settings) &&
                show(&run.gan, path, settings.seed);
    if (good) printf("wrote %s\n", path);
    kn_loader_free(loader);
    kn_optim_free(run.generator_optim);
    kn_optim_free(run.critic_optim);
    kn_module_drop(KN_MODULE_OF(Gan, &run.gan));
    return example_end(good);
}
