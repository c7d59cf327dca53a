/* Trains an imported ONNX model on. `kiln import digits.onnx -o generated --name net` has written net.h and net.c, a model that knows the
   digits 0 to 4; here it learns 5 to 9 from a few images. The new weights are saved as safetensors, and the C of the import loads them
   again. any_model.sh builds the same program around another model: it needs one input of images and one output of classes. */
#include "common/example.h"
#include "net.h"
#include <kn/data.h>
#include <kn/nn.h>
#include <kn/optim.h>
#include <kn/spatial.h>
#include <kn/state.h>
#include <kn/store.h>
#include <sys/stat.h>

enum { FIRST = 5, DIGITS = 5, TESTED = 500 };

typedef struct Settings {
    const char *weights, *data, *folder;
    int64_t epochs, limit, batch, seed, channels, height, width;
    double lr;
    bool probabilities;
} Settings;

/* Images [n, 1, 28, 28] of bytes and labels [n] of i64, both kept. */
typedef struct Digits {
    kn_tensor images, labels;
    int64_t n;
} Digits;

/* ---- the data: the digits 5 to 9 with labels 0 to 4 */

/* The places of the first n digits that are 5 or more among the first `looked` ones; returns how many there are. */
static int64_t find_high(kn_dataset digits, int64_t *places, int64_t looked, int64_t n)
{
    int64_t found = 0;
    for (int64_t i = 0; i < looked && i < kn_dataset_length(digits) && found < n; i++) {
        kn_sample sample = {0};
        if (kn_dataset_get(digits, i, &sample)) return 0;
        if (kn_item_int(sample.fields[1]) >= FIRST) places[found++] = i;
        kn_sample_drop(&sample);
    }
    return found;
}

static bool read_digits(const char *folder, const char *split, int64_t n, Digits *d)
{
    kn_dataset all = kn_dataset_mnist(folder, split);
    int64_t *places = calloc((size_t)n, sizeof *places);
    kn_sample batch = {0};
    d->n = all && places ? find_high(all, places, 4 * n + 100, n) : 0;
    bool good = d->n > 0 && kn_dataset_get_many(all, places, d->n, NULL, &batch) == KN_OK;
    if (good) {
        d->images = kn_own(kn_alias(batch.fields[0]));
        d->labels = kn_own(kn_sub_scalar(batch.fields[1], FIRST));
    }
    kn_sample_drop(&batch);
    kn_dataset_free(all);
    free(places);
    return good;
}

/* ---- the model */

/* Images as it takes them: 0 to 1, of its size, the grey in all its channels. */
static kn_tensor prepared(const Settings *s, kn_tensor bytes)
{
    kn_tensor x = kn_mul_scalar(kn_cast(bytes, KN_F32), 1.0 / 255);
    if (s->height != 28 || s->width != 28)
        x = kn_interpolate(x, KN_INTS(s->height, s->width),
                           &(kn_interpolate_args){.mode = KN_INTERPOLATE_LINEAR});
    return kn_expand(x, KN_SHAPE(-1, s->channels, -1, -1));
}

static kn_tensor scores_of(const net *m, const Settings *s, kn_tensor bytes)
{
    kn_tensor y = net_forward(m, prepared(s, bytes));
    return s->probabilities ? kn_log(kn_add_scalar(y, 1e-9))
                            : y; /* softmax of logarithms gives the probabilities back */
}

/* How many of the images it gets right, in percent; no tape is recorded meanwhile. */
static double accuracy(const net *m, const Settings *s, const Digits *d, kn_tensor *scores)
{
    kn_no_grad_begin();
    kn_tensor y = kn_keep(scores_of(m, s, d->images));
    kn_tensor wanted = kn_remainder_scalar(d->labels, (double)kn_size(y, 1));
    double right =
        kn_item(kn_mean(kn_cast(kn_equal(kn_argmax(y, 1, false), wanted), KN_F32), KN_AXES_ALL, false));
    if (scores) *scores = y;
    kn_no_grad_end();
    return 100 * right;
}

/* ---- training on */

static kn_status step(net *m, kn_optim optim, const Settings *s, const Digits *d, kn_tensor which,
                      double *loss_value)
{
    kn_scope scope = kn_scope_begin();
    which = kn_keep(which);
    kn_tensor scores = kn_keep(scores_of(m, s, kn_index_select(d->images, 0, which)));
    /* A model with fewer classes tells them apart by what is left after dividing. */
    kn_tensor wanted = kn_remainder_scalar(kn_index_select(d->labels, 0, which), (double)kn_size(scores, 1));
    kn_tensor loss = kn_keep(kn_cross_entropy(scores, wanted, NULL));
    kn_grads grads = NULL;
    *loss_value = kn_item(loss);
    kn_status status = kn_backward(loss, &grads);
    if (status == KN_OK) status = kn_optim_step(optim, s->lr, KN_MODULE_OF(net, m), grads);
    kn_grads_free(grads);
    kn_scope_end(scope, KN_NONE);
    return status;
}

static bool train(net *m, const Settings *s, const Digits *d)
{
    kn_optim optim = kn_optim_adamw(NULL);
    bool good = optim != NULL;
    for (int64_t epoch = 0; epoch < s->epochs && good; epoch++) {
        kn_scope scope = kn_scope_begin();
        kn_tensor order = kn_keep(kn_random_permutation(d->n, KN_I64));
        double loss = 0;
        for (int64_t i = 0; i < d->n && good; i += s->batch) {
            int64_t n = d->n - i < s->batch ? d->n - i : s->batch;
            good = step(m, optim, s, d, kn_narrow(order, 0, i, n), &loss) == KN_OK;
        }
        if (good) printf("epoch %lld: loss of the last batch %.4f\n", (long long)epoch + 1, loss);
        kn_scope_end(scope, KN_NONE);
    }
    kn_optim_free(optim);
    return good;
}

/* ---- back into the C of the import */

static kn_status write_tensor(const char *folder, const char *name, kn_tensor t)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    kn_state state = kn_state_make();
    kn_status status = state ? kn_state_put(state, "", name, t) : KN_ERROR_MEMORY;
    if (status == KN_OK) status = kn_state_write(state, path, KN_STORE_AUTO);
    kn_state_free(state);
    return status;
}

/* Saves the model, loads it as net_load() would anywhere, and compares what both give. Scores go to scores.npy, for check_weights.py. */
static bool save_and_load(const net *m, const Settings *s, const Digits *test, double wanted)
{
    char path[600];
    snprintf(path, sizeof path, "%s/net.safetensors", s->folder);
    mkdir(s->folder, 0777);
    net again = {0};
    kn_tensor before, after;
    if (kn_save(KN_MODULE_OF(net, (net *)m), path, NULL) || net_load(&again, path)) return false;
    kn_scope scope = kn_scope_begin();
    accuracy(m, s, test, &before);
    double right = accuracy(&again, s, test, &after);
    double apart = kn_item(kn_max(kn_abs(kn_sub(before, after)), KN_AXES_ALL, false));
    printf("%s loaded again: accuracy %.1f %%, %g apart\n", path, right, apart);
    bool good = write_tensor(s->folder, "images", prepared(s, test->images)) == KN_OK &&
                write_tensor(s->folder, "scores", after) == KN_OK;
    kn_scope_end(scope, KN_NONE);
    net_free(&again);
    return good && apart == 0 && right == wanted;
}

static bool run(net *m, const Settings *s)
{
    Digits data = {0}, test = {0};
    bool good = read_digits(s->data, "train", s->limit, &data) && read_digits(s->data, "test", TESTED, &test);
    if (good) {
        printf("before: accuracy %.1f %%\n", accuracy(m, s, &test, NULL));
        good = train(m, s, &data);
    }
    double after = good ? accuracy(m, s, &test, NULL) : 0;
    if (good) printf("after: accuracy %.1f %%\n", after);
    good = good && save_and_load(m, s, &test, after);
    kn_tensor kept[] = {data.images, data.labels, test.images, test.labels};
    for (int i = 0; i < 4; i++) kn_drop(kept[i]);
    return good;
}

int main(int argc, char **argv)
{
    Settings s = {.weights = "examples/onnx_finetune/generated/net.safetensors",
                  .data = "data/mnist",
                  .folder = "build/onnx_finetune",
                  .epochs = 6,
                  .limit = 300,
                  .batch = 32,
                  .seed = 1,
                  .channels = 1,
                  .height = 28,
                  .width = 28,
                  .lr = 3e-3};
    const Option options[] = {{"--weights", "of the import", .text = &s.weights},
                              {"--epochs", "passes over the images", .integer = &s.epochs},
                              {"--limit", "images to learn from", .integer = &s.limit},
                              {"--batch", "images in a step", .integer = &s.batch},
                              {"--lr", "learning rate", .real = &s.lr},
                              {"--channels", "of the model's images", .integer = &s.channels},
                              {"--height", "of the model's images", .integer = &s.height},
                              {"--width", "of the model's images", .integer = &s.width},
                              {"--probabilities", "the model ends with a softmax", .flag = &s.probabilities},
                              {"--seed", "of everything random", .integer = &s.seed},
                              {"--data", "folder of MNIST's files", .text = &s.data},
                              {"--folder", "for what the run writes", .text = &s.folder},
                              {0}};
    if (!options_read(argc, argv, options)) return EXIT_FAILURE;
    if (s.limit < 1 || s.batch < 1) return option_usage(argv[0], options), EXIT_FAILURE;
    if (!example_begin("autodiff(cpu)", s.seed)) return EXIT_FAILURE;
    net m = {0};
    bool good = net_load(&m, s.weights) == KN_OK && run(&m, &s);
    net_free(&m);
    return example_end(good);
}
