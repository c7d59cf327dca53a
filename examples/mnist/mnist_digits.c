/* Loads a network and draws digits with its answers, three in a row, two pixels in each character cell. */
#include "mnist_digits.h"
#include <kn.h>
#include <kn/data.h>
#include <kn/store.h>
#include <stdio.h>

enum { SHOWN = 6, IN_A_ROW = 3, CROP = 3, DRAWN = MNIST_SIDE - 2 * CROP };

typedef struct Digits {
    float pixels[SHOWN][MNIST_SIDE][MNIST_SIDE]; /* 0 to 1 */
    int64_t labels[SHOWN], guesses[SHOWN];
    float chances[SHOWN];
} Digits;

/* Half blocks show two pixels above each other: none, the upper, the lower, both. */
static void draw_cell(bool upper, bool lower)
{
    static const char *const cells[] = {" ", "▀", "▄", "█"};
    fputs(cells[upper + 2 * lower], stdout);
}

static void draw_row(const Digits *digits, int first)
{
    for (int y = CROP; y < CROP + DRAWN; y += 2) {
        for (int i = first; i < first + IN_A_ROW; i++) {
            for (int x = CROP; x < CROP + DRAWN; x++)
                draw_cell(digits->pixels[i][y][x] > 0.4f, digits->pixels[i][y + 1][x] > 0.4f);
            fputs("  ", stdout);
        }
        putchar('\n');
    }
    for (int i = first; i < first + IN_A_ROW; i++) {
        char text[64];
        bool right = digits->guesses[i] == digits->labels[i];
        snprintf(text, sizeof text, "%lld (%.1f %%)%s", (long long)digits->guesses[i],
                 100 * (double)digits->chances[i], right ? "" : " is wrong");
        printf("      %-*s", DRAWN + 2 - 6, text);
    }
    fputs("\n\n", stdout);
}

/* Fills in the guesses of the network. */
static bool classify(const MnistModel *model, const MnistNet *net, Digits *digits)
{
    kn_scope scope = kn_scope_begin();
    kn_no_grad_begin();
    kn_tensor x = kn_from(digits->pixels, KN_F32, KN_SHAPE(SHOWN, 1, MNIST_SIDE, MNIST_SIDE));
    x = kn_div_scalar(kn_sub_scalar(x, 0.1307), 0.3081);
    kn_tensor chances = kn_keep(kn_softmax(model->forward(net, x), 1));
    bool good = kn_read(kn_argmax(chances, 1, false), digits->guesses, sizeof digits->guesses) == KN_OK &&
                kn_read(kn_max(chances, KN_AXES(1), false), digits->chances, sizeof digits->chances) == KN_OK;
    kn_no_grad_end();
    kn_scope_end(scope, KN_NONE);
    return good;
}

static bool read_digits(const char *data, Digits *digits)
{
    kn_dataset test = kn_dataset_mnist(data, "test");
    kn_dataset ready = kn_dataset_normalise(test, NULL, NULL, 1);
    bool good = ready != NULL;
    for (int i = 0; i < SHOWN && good; i++) {
        kn_sample sample = {0};
        good = kn_dataset_get(ready, i, &sample) == KN_OK &&
               kn_read(sample.fields[0], digits->pixels[i], sizeof digits->pixels[i]) == KN_OK &&
               kn_read(sample.fields[1], &digits->labels[i], sizeof digits->labels[i]) == KN_OK;
        kn_sample_drop(&sample);
    }
    kn_dataset_free(test);
    kn_dataset_free(ready);
    return good;
}

bool show_digits(const char *path, const MnistModel *model, const char *data)
{
    static Digits digits;
    MnistNet net = {0};
    kn_module module = {&net, model->type};
    bool good = model->init(&net) == KN_OK && kn_load(module, path, NULL, NULL) == KN_OK &&
                read_digits(data, &digits);
    if (good) {
        kn_module_train(module, false);
        good = classify(model, &net, &digits);
    }
    for (int i = 0; i < SHOWN && good; i += IN_A_ROW) draw_row(&digits, i);
    kn_module_drop(module);
    return good;
}
