/* The two networks: their fields, how they start and what they compute. */
#include "mnist_model.h"
#include <kn.h>
#include <string.h>

const kn_module_type Mlp_type = {"Mlp", sizeof(Mlp),
                                 (const kn_field[]){KN_MODULE(Mlp, fc1, kn_nn_linear),
                                                    KN_MODULE(Mlp, dropout, kn_nn_dropout),
                                                    KN_MODULE(Mlp, fc2, kn_nn_linear),
                                                    {0}}};

static kn_status mlp_init(void *self)
{
    Mlp *m = self;
    kn_status s = kn_nn_linear_init(&m->fc1, MNIST_SIDE * MNIST_SIDE, 256, NULL);
    if (s == KN_OK) s = kn_nn_dropout_init(&m->dropout, 0.2, NULL);
    if (s == KN_OK) s = kn_nn_linear_init(&m->fc2, 256, MNIST_CLASSES, NULL);
    return s;
}

static kn_tensor mlp_forward(const void *self, kn_tensor images)
{
    const Mlp *m = self;
    kn_tensor x = kn_flatten(images, 1, -1);
    x = kn_relu(kn_nn_linear_forward(&m->fc1, x));
    return kn_nn_linear_forward(&m->fc2, kn_nn_dropout_forward(&m->dropout, x));
}

const kn_module_type Cnn_type = {"Cnn", sizeof(Cnn),
                                 (const kn_field[]){KN_MODULE(Cnn, conv1, kn_nn_conv2d),
                                                    KN_MODULE(Cnn, conv2, kn_nn_conv2d),
                                                    KN_MODULE(Cnn, fc1, kn_nn_linear),
                                                    KN_MODULE(Cnn, dropout, kn_nn_dropout),
                                                    KN_MODULE(Cnn, fc2, kn_nn_linear),
                                                    {0}}};

static kn_status cnn_init(void *self)
{
    Cnn *m = self;
    kn_status s = kn_nn_conv2d_init(&m->conv1, 1, 16, KN_INTS(5, 5), NULL);
    if (s == KN_OK) s = kn_nn_conv2d_init(&m->conv2, 16, 32, KN_INTS(5, 5), NULL);
    if (s == KN_OK) s = kn_nn_linear_init(&m->fc1, 32 * 4 * 4, 128, NULL);
    if (s == KN_OK) s = kn_nn_dropout_init(&m->dropout, 0.2, NULL);
    if (s == KN_OK) s = kn_nn_linear_init(&m->fc2, 128, MNIST_CLASSES, NULL);
    return s;
}

static kn_tensor cnn_forward(const void *self, kn_tensor images)
{
    const Cnn *m = self;
    kn_ints window = KN_INTS(2, 2);
    kn_tensor x = kn_relu(kn_max_pool2d(kn_nn_conv2d_forward(&m->conv1, images), window, NULL));
    x = kn_relu(kn_max_pool2d(kn_nn_conv2d_forward(&m->conv2, x), window, NULL));
    x = kn_relu(kn_nn_linear_forward(&m->fc1, kn_flatten(x, 1, -1)));
    return kn_nn_linear_forward(&m->fc2, kn_nn_dropout_forward(&m->dropout, x));
}

static const MnistModel models[] = {{"mlp", &Mlp_type, mlp_init, mlp_forward, 3e-3},
                                    {"cnn", &Cnn_type, cnn_init, cnn_forward, 4e-3}};

const MnistModel *mnist_model(const char *name)
{
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        if (strcmp(models[i].name, name) == 0) return &models[i];
    return NULL;
}
