/* The models that `kiln bench` trains: an MLP, the CNN of PyTorch's MNIST example, and a small one with large windows. */
#include "bench_train_models.h"
#include <stdlib.h>
#include <string.h>

typedef struct Mlp {
    kn_nn_linear fc1, fc2, fc3;
} Mlp;
static const kn_module_type Mlp_type = {"Mlp", sizeof(Mlp),
                                        (const kn_field[]){KN_MODULE(Mlp, fc1, kn_nn_linear),
                                                           KN_MODULE(Mlp, fc2, kn_nn_linear),
                                                           KN_MODULE(Mlp, fc3, kn_nn_linear),
                                                           {0}}};

static kn_status mlp_init(void *self)
{
    Mlp *m = self;
    kn_status s = kn_nn_linear_init(&m->fc1, 784, 512, NULL);
    if (s == KN_OK) s = kn_nn_linear_init(&m->fc2, 512, 512, NULL);
    return s ? s : kn_nn_linear_init(&m->fc3, 512, 10, NULL);
}

static kn_tensor mlp_forward(const void *self, kn_tensor x)
{
    const Mlp *m = self;
    x = kn_relu(kn_nn_linear_forward(&m->fc1, kn_flatten(x, 1, -1)));
    return kn_nn_linear_forward(&m->fc3, kn_relu(kn_nn_linear_forward(&m->fc2, x)));
}

/* Two convolutions, and one or two linear layers. */
typedef struct Cnn {
    kn_nn_conv2d conv1, conv2;
    kn_nn_linear fc1, fc2;
} Cnn;
static const kn_module_type Cnn_type = {"Cnn", sizeof(Cnn),
                                        (const kn_field[]){KN_MODULE(Cnn, conv1, kn_nn_conv2d),
                                                           KN_MODULE(Cnn, conv2, kn_nn_conv2d),
                                                           KN_MODULE(Cnn, fc1, kn_nn_linear),
                                                           KN_MODULE(Cnn, fc2, kn_nn_linear),
                                                           {0}}};

static kn_status cnn_init(void *self)
{
    Cnn *m = self;
    kn_status s = kn_nn_conv2d_init(&m->conv1, 1, 32, KN_INTS(3, 3), NULL);
    if (s == KN_OK) s = kn_nn_conv2d_init(&m->conv2, 32, 64, KN_INTS(3, 3), NULL);
    if (s == KN_OK) s = kn_nn_linear_init(&m->fc1, 9216, 128, NULL);
    return s ? s : kn_nn_linear_init(&m->fc2, 128, 10, NULL);
}

static kn_tensor cnn_forward(const void *self, kn_tensor x)
{
    const Cnn *m = self;
    x = kn_relu(kn_nn_conv2d_forward(&m->conv1, x));
    x = kn_relu(kn_nn_conv2d_forward(&m->conv2, x));
    x = kn_dropout(kn_max_pool2d(x, KN_INTS(2, 2), NULL), 0.25, true);
    x = kn_relu(kn_nn_linear_forward(&m->fc1, kn_flatten(x, 1, -1)));
    return kn_nn_linear_forward(&m->fc2, kn_dropout(x, 0.5, true));
}

static kn_status lenet_init(void *self)
{
    Cnn *m = self;
    kn_status s = kn_nn_conv2d_init(&m->conv1, 1, 16, KN_INTS(5, 5), NULL);
    if (s == KN_OK) s = kn_nn_conv2d_init(&m->conv2, 16, 32, KN_INTS(5, 5), NULL);
    return s ? s : kn_nn_linear_init(&m->fc1, 512, 10, NULL);
}

static kn_tensor lenet_forward(const void *self, kn_tensor x)
{
    const Cnn *m = self;
    x = kn_max_pool2d(kn_relu(kn_nn_conv2d_forward(&m->conv1, x)), KN_INTS(2, 2), NULL);
    x = kn_max_pool2d(kn_relu(kn_nn_conv2d_forward(&m->conv2, x)), KN_INTS(2, 2), NULL);
    return kn_nn_linear_forward(&m->fc1, kn_flatten(x, 1, -1));
}

static const bench_model models[] = {
    {"mlp", "784-512-512-10, relu", 128, &Mlp_type, mlp_init, mlp_forward},
    {"cnn", "conv 32 and 64 of 3x3, pool, dropout, 9216-128-10", 64, &Cnn_type, cnn_init, cnn_forward},
    {"lenet", "conv 16 and 32 of 5x5, each with a pool, 512-10", 64, &Cnn_type, lenet_init, lenet_forward}};

const bench_model *bench_model_named(const char *name)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (!strcmp(models[i].name, name)) return &models[i];
    return NULL;
}

void *bench_model_make(const bench_model *model) { return calloc(1, model->type->size); }
