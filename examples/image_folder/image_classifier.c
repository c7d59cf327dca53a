/* Classifies the images of a folder of yours: FOLDER/class/file.png or .jpg. Augmentation makes much of little data, early
   stopping ends the run in time, and the best checkpoint becomes the model. */
#include "common/example.h"
#include <kn/data.h>
#include <kn/nn.h>
#include <kn/store.h>
#include <kn/train.h>

enum { SIDE = 32 };

/* A convolution, its normalisation, and a max pool that halves the sides. */
typedef struct Block {
    kn_nn_conv2d conv;
    kn_nn_batch_norm norm;
} Block;
static const kn_module_type Block_type = {
    "Block", sizeof(Block),
    (const kn_field[]){KN_MODULE(Block, conv, kn_nn_conv2d), KN_MODULE(Block, norm, kn_nn_batch_norm), {0}}};

typedef struct Net {
    Block blocks[3];
    kn_nn_linear head;
} Net;
static const kn_module_type Net_type = {
    "Net", sizeof(Net),
    (const kn_field[]){KN_ARRAY(Net, blocks, Block), KN_MODULE(Net, head, kn_nn_linear), {0}}};

static kn_status net_init(Net *net, int64_t classes)
{
    static const int64_t channels[] = {3, 16, 32, 64};
    kn_nn_conv_args same = {.same = true, .no_bias = true};
    kn_status s = KN_OK;
    for (int i = 0; i < 3 && s == KN_OK; i++) {
        s = kn_nn_conv2d_init(&net->blocks[i].conv, channels[i], channels[i + 1], KN_INTS(3, 3), &same);
        if (s == KN_OK) s = kn_nn_batch_norm_init(&net->blocks[i].norm, channels[i + 1], NULL);
    }
    if (s == KN_OK) s = kn_nn_linear_init(&net->head, channels[3] * (SIDE / 8) * (SIDE / 8), classes, NULL);
    return s;
}

/* Images [batch, 3, 32, 32] -> scores [batch, classes]. */
static kn_tensor net_forward(const Net *net, kn_tensor x)
{
    for (int i = 0; i < 3; i++) {
        x = kn_nn_batch_norm_forward(&net->blocks[i].norm, kn_nn_conv2d_forward(&net->blocks[i].conv, x));
        x = kn_max_pool2d(kn_relu(x), KN_INTS(2, 2), NULL);
    }
    return kn_nn_linear_forward(&net->head, kn_flatten(x, 1, -1));
}

static kn_status step(void *context, const kn_sample *batch, kn_step_output *output)
{
    output->scores = kn_keep(net_forward(context, batch->fields[0]));
    output->targets = batch->fields[1];
    output->loss = kn_cross_entropy(output->scores, batch->fields[1], NULL);
    return KN_OK;
}

/* Decoded once and kept in memory; those for training are mirrored at random, anew in each epoch. */
static kn_loader make_loader(kn_dataset images, bool training, int64_t seed)
{
    const double mean = 0.45, std = 0.25;
    kn_augment_args changes = {.flip_vertical = 0.5, .flip_horizontal = 0.5};
    kn_dataset kept = kn_dataset_cache(images);
    kn_dataset changed = training ? kn_dataset_augment(kept, &changes) : kn_dataset_retain(kept);
    kn_dataset ready = kn_dataset_normalise(changed, &mean, &std, 1);
    kn_loader loader = kn_loader_make(
        ready,
        &(kn_loader_args){.batch_size = 16, .shuffle = training, .seed = (uint64_t)seed, .workers = 1});
    kn_dataset_free(kept);
    kn_dataset_free(changed);
    kn_dataset_free(ready);
    return loader;
}

/* What the network sees in one image file. */
static bool classify(Net *net, kn_dataset classes, const char *path)
{
    kn_module_train(KN_MODULE_OF(Net, net), false);
    kn_scope scope = kn_scope_begin();
    kn_no_grad_begin();
    kn_tensor x = kn_cast(kn_image_read(path, &(kn_image_args){.height = SIDE, .width = SIDE}), KN_F32);
    x = kn_div_scalar(kn_sub_scalar(kn_div_scalar(x, 255), 0.45), 0.25);
    kn_tensor chances = kn_keep(kn_softmax(net_forward(net, kn_unsqueeze(x, 0)), 1));
    int64_t best = kn_item_int(kn_argmax(chances, 1, false));
    bool good = kn_ok(chances);
    if (good)
        printf("%s: %s (%.1f %%)\n", path, kn_dataset_name_at(classes, best),
               100 * kn_item(kn_max(chances, KN_AXES_ALL, false)));
    kn_no_grad_end();
    kn_scope_end(scope, KN_NONE);
    return good;
}

static bool train(Net *net, kn_loader train_images, kn_loader valid_images, int64_t epochs,
                  const char *folder)
{
    kn_optim optim = kn_optim_adamw(NULL);
    kn_learner learner = kn_learner_make(&(kn_learner_args){.model = KN_MODULE_OF(Net, net),
                                                            .optim = optim,
                                                            .lr = 3e-3,
                                                            .train = train_images,
                                                            .valid = valid_images,
                                                            .train_step = step,
                                                            .valid_step = step,
                                                            .context = net,
                                                            .epochs = epochs,
                                                            .name = "image folder",
                                                            .folder = folder,
                                                            .catch_interrupts = true});
    bool good = learner && kn_learner_add_metric(learner, kn_metric_accuracy(-1)) == KN_OK &&
                kn_learner_add_renderer(learner, kn_renderer_auto()) == KN_OK &&
                kn_learner_set_early_stopping(learner, &(kn_early_stopping){.patience = 8}) == KN_OK &&
                kn_learner_fit(learner) == KN_OK && kn_learner_load_best(learner) == KN_OK &&
                kn_learner_evaluate(learner, valid_images) == KN_OK;
    if (good)
        printf("best model: accuracy %.1f %% of %lld images it was not trained on\n",
               100 * kn_learner_value(learner, KN_SPLIT_TEST, "accuracy"),
               (long long)kn_loader_samples(valid_images));
    kn_learner_free(learner);
    kn_optim_free(optim);
    return good;
}

int main(int argc, char **argv)
{
    const char *images = "examples/image_folder/images", *folder = "build/image_folder", *file = NULL;
    int64_t epochs = 30, seed = 1, classes = 0;
    const Option options[] = {{"--images", "folder with a folder for each class", .text = &images},
                              {"--classify", "an image to classify at the end", .text = &file},
                              {"--folder", "for what the run writes", .text = &folder},
                              {"--epochs", "passes over the data at most", .integer = &epochs},
                              {"--seed", "of everything random", .integer = &seed},
                              {0}};
    if (!options_read(argc, argv, options) || !example_begin("autodiff(cpu)", seed)) return EXIT_FAILURE;

    Net net = {0};
    kn_dataset all = kn_dataset_image_folder(images, &(kn_image_args){.height = SIDE, .width = SIDE});
    kn_dataset mixed = kn_dataset_shuffle(all, 1), parts[2] = {NULL, NULL};
    while (all && kn_dataset_name_at(all, classes)) classes++;
    bool good = mixed && kn_dataset_split(mixed, (const double[]){0.75, 0.25}, 2, parts) == KN_OK &&
                net_init(&net, classes) == KN_OK;
    kn_loader train_images = good ? make_loader(parts[0], true, seed) : NULL;
    kn_loader valid_images = good ? make_loader(parts[1], false, seed) : NULL;
    good = train_images && valid_images && train(&net, train_images, valid_images, epochs, folder);
    if (good) {
        char path[600];
        snprintf(path, sizeof path, "%s/model.safetensors", folder);
        good = kn_save(KN_MODULE_OF(Net, &net), path, NULL) == KN_OK;
        if (!file) file = "examples/image_folder/images/triangle/00.png";
        good = good && classify(&net, all, file);
    }
    kn_loader_free(train_images);
    kn_loader_free(valid_images);
    kn_dataset owned[] = {all, mixed, parts[0], parts[1]};
    for (int i = 0; i < 4; i++) kn_dataset_free(owned[i]);
    kn_module_drop(KN_MODULE_OF(Net, &net));
    return example_end(good);
}
