/* The networks of this example: plain structs with a descriptor each, and a table of them by name. */
#ifndef MNIST_MODEL_H
#define MNIST_MODEL_H

#include <kn/nn.h>

enum { MNIST_CLASSES = 10, MNIST_SIDE = 28 };

/* Two layers on all pixels. */
typedef struct Mlp {
    kn_nn_linear fc1, fc2;
    kn_nn_dropout dropout;
} Mlp;
extern const kn_module_type Mlp_type;

/* Two convolutions, each halved by a max pool, then two linear layers. */
typedef struct Cnn {
    kn_nn_conv2d conv1, conv2;
    kn_nn_linear fc1, fc2;
    kn_nn_dropout dropout;
} Cnn;
extern const kn_module_type Cnn_type;

/* One kind of network. `self` of the functions points to a struct of that type. */
typedef struct MnistModel {
    const char *name;
    const kn_module_type *type;
    kn_status (*init)(void *self);
    kn_tensor (*forward)(const void *self, kn_tensor images); /* [batch, 1, 28, 28] -> scores [batch, 10] */
    double max_lr;                                            /* a good peak of the learning rate */
} MnistModel;
/* "mlp" or "cnn"; NULL for any other name. */
const MnistModel *mnist_model(const char *name);

/* Room for a network of any kind; all zero is an empty one. */
typedef union MnistNet {
    Mlp mlp;
    Cnn cnn;
} MnistNet;

#endif
