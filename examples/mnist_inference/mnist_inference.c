/* Classifies handwritten digits with a small MLP whose weights come from a safetensors file, and prints some of them. Linked
   statically this is a small program: nothing of it trains, and it opens the CPU without the parser of device strings.
   Usage: mnist_inference [FOLDER OF MNIST [WEIGHTS]], in the root of the repository. */
#include <kn.h>
#include <kn/data/source.h>
#include <kn/nn/linear.h>
#include <kn/store.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 28, PIXELS = SIDE * SIDE, HIDDEN = 32, CLASSES = 10, SHOWN = 5, BATCH = 500 };

typedef struct Net {
    kn_nn_linear hidden, output;
} Net;
static const kn_module_type Net_type = {
    "Net", sizeof(Net),
    (const kn_field[]){KN_MODULE(Net, hidden, kn_nn_linear), KN_MODULE(Net, output, kn_nn_linear), {0}}};

/* The tensor of the file as a param; there is nothing to initialise. */
static bool take(kn_store store, const char *name, kn_param *param)
{
    *param = kn_param_make(kn_store_tensor(store, kn_store_find(store, name)));
    return kn_ok(kn_value(*param));
}

static bool net_load(Net *net, const char *path)
{
    kn_store store = kn_store_open(path, NULL);
    bool good = store && take(store, "hidden.weight", &net->hidden.weight) &&
                take(store, "hidden.bias", &net->hidden.bias) &&
                take(store, "output.weight", &net->output.weight) &&
                take(store, "output.bias", &net->output.bias);
    kn_store_close(store);
    return good;
}

/* Pixels [n, 784] from 0 to 1 to one score for each digit, [n, 10]. */
static kn_tensor forward(const Net *net, kn_tensor x)
{
    x = kn_relu(kn_nn_linear_forward(&net->hidden, x));
    return kn_nn_linear_forward(&net->output, x);
}

static void draw(const uint8_t *image, int64_t digit, int64_t label)
{
    static const char shades[] = " .:-=+*#%@";
    printf("this is a %lld%s\n", (long long)digit, digit == label ? "" : " (it is not)");
    for (int row = 2; row < SIDE - 2; row += 2) {
        for (int column = 0; column < SIDE; column++)
            putchar(shades[(image[row * SIDE + column] + image[(row + 1) * SIDE + column]) / 2 * 10 / 256]);
        putchar('\n');
    }
}

static int best(const float *scores)
{
    int digit = 0;
    for (int i = 1; i < CLASSES; i++)
        if (scores[i] > scores[digit]) digit = i;
    return digit;
}

/* Classifies images[n] and draws the first ones; returns how many were right, or -1. */
static int64_t classify(const Net *net, const uint8_t *images, const uint8_t *labels, int64_t n)
{
    static float x[BATCH * PIXELS], scores[BATCH * CLASSES];
    int64_t right = 0;
    for (int64_t at = 0; at < n; at += BATCH) {
        int64_t count = n - at < BATCH ? n - at : BATCH;
        for (int64_t i = 0; i < count * PIXELS; i++) x[i] = (float)images[at * PIXELS + i] / 255;
        kn_scope scope = kn_scope_begin();
        kn_tensor y = forward(net, kn_from(x, KN_F32, KN_SHAPE(count, PIXELS)));
        kn_status s = kn_read(y, scores, (size_t)(count * CLASSES) * sizeof *scores);
        kn_scope_end(scope, KN_NONE);
        if (s) return -1;
        for (int64_t i = 0; i < count; i++) {
            int digit = best(scores + i * CLASSES);
            right += digit == labels[at + i];
            if (at + i < SHOWN) draw(images + i * PIXELS, digit, labels[i]);
        }
    }
    return right;
}

/* All bytes of an idx file, to be freed; NULL where it is none or has another size. */
static uint8_t *read_bytes(const char *folder, const char *name, int64_t each, int64_t *n)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    kn_tensor t = kn_idx_read(path);
    size_t bytes = kn_ok(t) ? (size_t)kn_count(t) : 0;
    uint8_t *data = bytes ? malloc(bytes) : NULL;
    if (data && kn_read(t, data, bytes)) bytes = 0;
    kn_drop(t);
    *n = (int64_t)bytes / each;
    return data;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "data/mnist";
    const char *weights = argc > 2 ? argv[2] : "examples/mnist_inference/digits.safetensors";
    int64_t n_images = 0, n_labels = 0, right = -1;
    Net net = {0};
    kn_device device = kn_device_cpu();
    kn_device_use(device);
    uint8_t *images = read_bytes(folder, "t10k-images-idx3-ubyte.gz", PIXELS, &n_images);
    uint8_t *labels = read_bytes(folder, "t10k-labels-idx1-ubyte.gz", 1, &n_labels);
    if (images && labels && n_images == n_labels && net_load(&net, weights))
        right = classify(&net, images, labels, n_images);
    if (right < 0)
        fprintf(stderr, "mnist_inference: %s\n", kn_last_error());
    else
        printf("%lld of %lld right\n", (long long)right, (long long)n_images);
    kn_module_drop(KN_MODULE_OF(Net, &net));
    free(images);
    free(labels);
    return right < 0;
}
