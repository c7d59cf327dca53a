/* Writes the trained network of examples/mnist as C without a library, for one image at a time (FOLDER/digits.c), and, where asked, the
   test digits that the board shows (board/test_digits.h) and the weights in half precision. */
#include "../mnist/mnist_model.h"
#include "common/example.h"
#include <kn/data.h>
#include <kn/program.h>
#include <kn/store.h>

enum { SHOWN = 10, PER_LINE = 28 };

typedef struct Settings {
    const char *weights, *folder, *data, *digits, *half;
} Settings;

/* The scores of one image, with the weights as constants. */
static kn_program trace(const MnistModel *model, const Cnn *net)
{
    kn_tensor image = kn_keep(kn_zeros(KN_SHAPE(1, 1, MNIST_SIDE, MNIST_SIDE), KN_F32));
    if (kn_program_begin(NULL)) return NULL;
    kn_tensor scores = kn_keep(model->forward(net, image));
    return kn_program_end(&image, 1, &scores, 1);
}

static bool write_program(const MnistModel *model, const Cnn *net, const char *folder)
{
    char path[600];
    snprintf(path, sizeof path, "%s/digits.c", folder);
    kn_scope scope = kn_scope_begin();
    kn_no_grad_begin();
    kn_program p = trace(model, net);
    bool good = p && kn_program_simplify(p, KN_PASS_ALL) == KN_OK &&
                kn_program_to_c(p, path, &(kn_program_to_c_args){.name = "digits"}) == KN_OK;
    kn_program_free(p);
    kn_no_grad_end();
    kn_scope_end(scope, KN_NONE);
    return good;
}

static void write_image(FILE *file, const uint8_t *pixels)
{
    fprintf(file, "    {");
    for (int i = 0; i < MNIST_SIDE * MNIST_SIDE; i++)
        fprintf(file, "%s%d", i == 0 ? "" : i % PER_LINE ? "," : ",\n     ", pixels[i]);
    fprintf(file, "},\n");
}

/* The first test image of each digit, as arrays of C. */
static bool write_digits(const char *data, const char *path)
{
    static uint8_t images[SHOWN][MNIST_SIDE * MNIST_SIDE];
    bool have[SHOWN] = {false};
    kn_dataset test = kn_dataset_mnist(data, "test");
    FILE *file = test ? fopen(path, "w") : NULL;
    bool good = file != NULL;
    for (int64_t i = 0, found = 0; good && found < SHOWN; i++) {
        kn_sample sample = {0};
        int64_t label = -1;
        good = kn_dataset_get(test, i, &sample) == KN_OK &&
               kn_read_as(sample.fields[1], KN_I64, &label, sizeof label) == KN_OK;
        if (good && !have[label]) {
            good = kn_read_as(sample.fields[0], KN_U8, images[label], sizeof images[label]) == KN_OK;
            have[label] = true;
            found++;
        }
        kn_sample_drop(&sample);
    }
    kn_dataset_free(test);
    if (!file) return false;
    fprintf(file,
            "/* The first of MNIST's test images of each digit, in their order. Written by mnist_cortex_m "
            "--digits; do not edit. */\n/* clang-format off */\nstatic const unsigned char "
            "test_digits[%d][%d] = {\n",
            SHOWN, MNIST_SIDE * MNIST_SIDE);
    for (int i = 0; i < SHOWN; i++) write_image(file, images[i]);
    fprintf(file, "};\n");
    return fclose(file) == 0 && good;
}

static bool export(const Settings *settings)
{
    const MnistModel *model = mnist_model("cnn");
    Cnn net = {0};
    kn_module module = {&net, model->type};
    bool good = model->init(&net) == KN_OK && kn_load(module, settings->weights, NULL, NULL) == KN_OK;
    if (good) kn_module_train(module, false);
    good = good && write_program(model, &net, settings->folder);
    if (good && *settings->half)
        good = kn_save(module, settings->half, &(kn_save_args){.cast = KN_F16}) == KN_OK;
    if (good && *settings->digits) good = write_digits(settings->data, settings->digits);
    kn_module_drop(module);
    return good;
}

int main(int argc, char **argv)
{
    Settings settings = {.weights = "examples/mnist/cnn.safetensors",
                         .folder = "build",
                         .data = "data/mnist",
                         .digits = "",
                         .half = ""};
    const Option options[] = {{"--weights", "what examples/mnist has trained", .text = &settings.weights},
                              {"--folder", "where digits.c goes", .text = &settings.folder},
                              {"--data", "folder of MNIST's files", .text = &settings.data},
                              {"--digits", "file for test images as C", .text = &settings.digits},
                              {"--half", "file for the weights in f16", .text = &settings.half},
                              {0}};
    if (!options_read(argc, argv, options)) return EXIT_FAILURE;
    if (!example_begin("autodiff(cpu)", 1)) return EXIT_FAILURE;
    return example_end(export(&settings));
}
