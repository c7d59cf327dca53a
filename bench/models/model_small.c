/* LeNet, an MLP, and tables of embeddings with a product of pairs as recommenders have them. */
#include "bench_models.h"

#define FIELDS(...) ((const kn_field[]){__VA_ARGS__, {0}})

/* ---- LeNet-5 with relu and max pools, on digits of 28 x 28 */

typedef struct LeNet {
    kn_nn_conv2d conv1, conv2;
    kn_nn_linear fc1, fc2, fc3;
} LeNet;
static const kn_module_type LeNet_type = {
    "LeNet", sizeof(LeNet),
    FIELDS(KN_MODULE(LeNet, conv1, kn_nn_conv2d), KN_MODULE(LeNet, conv2, kn_nn_conv2d),
           KN_MODULE(LeNet, fc1, kn_nn_linear), KN_MODULE(LeNet, fc2, kn_nn_linear),
           KN_MODULE(LeNet, fc3, kn_nn_linear))};

static kn_status lenet_init(void *self)
{
    LeNet *m = self;
    kn_status s = KN_OK;
    bench_conv2d(&s, &m->conv1, &(bench_conv){.in = 1, .out = 6, .kernel = 5, .bias = true});
    bench_conv2d(&s, &m->conv2, &(bench_conv){.in = 6, .out = 16, .kernel = 5, .padding = -1, .bias = true});
    bench_linear(&s, &m->fc1, 400, 120, true);
    bench_linear(&s, &m->fc2, 120, 84, true);
    bench_linear(&s, &m->fc3, 84, 10, true);
    return s;
}

static kn_tensor lenet_forward(const void *self, const kn_tensor *x, double dropout)
{
    const LeNet *m = self;
    (void)dropout;
    kn_tensor y = kn_max_pool2d(kn_relu(kn_nn_conv2d_forward(&m->conv1, x[0])), KN_INTS(2, 2), NULL);
    y = kn_max_pool2d(kn_relu(kn_nn_conv2d_forward(&m->conv2, y)), KN_INTS(2, 2), NULL);
    y = kn_relu(kn_nn_linear_forward(&m->fc1, kn_flatten(y, 1, -1)));
    return kn_nn_linear_forward(&m->fc3, kn_relu(kn_nn_linear_forward(&m->fc2, y)));
}

const bench_model bench_lenet = {
    .name = "lenet",
    .family = "vision",
    .text = "LeNet-5, 28 x 28",
    .batch = 64,
    .answers = 1,
    .n_given = 1,
    .inputs = {{BENCH_REALS, 0, {-1, 1, 28, 28}}, {BENCH_INDICES, 10, {-1}}},
    .type = &LeNet_type,
    .init = lenet_init,
    .forward = lenet_forward,
};

/* ---- an MLP */

enum { MLP_LAYERS = 4 };

typedef struct Mlp {
    kn_nn_linear layers[MLP_LAYERS];
} Mlp;
static const kn_module_type Mlp_type = {"Mlp", sizeof(Mlp), FIELDS(KN_ARRAY(Mlp, layers, kn_nn_linear))};

static kn_status mlp_init(void *self)
{
    static const int64_t widths[MLP_LAYERS + 1] = {784, 1024, 1024, 512, 10};
    Mlp *m = self;
    kn_status s = KN_OK;
    for (int i = 0; i < MLP_LAYERS; i++) bench_linear(&s, &m->layers[i], widths[i], widths[i + 1], true);
    return s;
}

static kn_tensor mlp_forward(const void *self, const kn_tensor *x, double dropout)
{
    const Mlp *m = self;
    (void)dropout;
    kn_tensor y = kn_nn_linear_forward(&m->layers[0], x[0]);
    for (int i = 1; i < MLP_LAYERS; i++) y = kn_nn_linear_forward(&m->layers[i], kn_relu(y));
    return y;
}

const bench_model bench_mlp = {
    .name = "mlp",
    .family = "other",
    .text = "784-1024-1024-512-10, relu",
    .batch = 128,
    .answers = 1,
    .adam = true,
    .n_given = 1,
    .inputs = {{BENCH_REALS, 0, {-1, 784}}, {BENCH_INDICES, 10, {-1}}},
    .type = &Mlp_type,
    .init = mlp_init,
    .forward = mlp_forward,
};

/* ---- embeddings beside dense features; every pair of them is multiplied */

enum { TABLES = 8, ROWS = 100000, WIDTH = 64, PAIRED = TABLES + 1, PAIRS = PAIRED * PAIRED };

typedef struct Recommender {
    kn_nn_embedding tables[TABLES];
    kn_nn_linear bottom[3], top[3];
} Recommender;
static const kn_module_type Recommender_type = {"Recommender", sizeof(Recommender),
                                                FIELDS(KN_ARRAY(Recommender, tables, kn_nn_embedding),
                                                       KN_ARRAY(Recommender, bottom, kn_nn_linear),
                                                       KN_ARRAY(Recommender, top, kn_nn_linear))};

static kn_status recommender_init(void *self)
{
    static const int64_t bottom[] = {13, 512, 256, WIDTH}, top[] = {WIDTH + PAIRS, 512, 256, 1};
    Recommender *m = self;
    kn_status s = KN_OK;
    for (int i = 0; i < TABLES; i++) bench_embedding(&s, &m->tables[i], ROWS, WIDTH);
    for (int i = 0; i < 3; i++) bench_linear(&s, &m->bottom[i], bottom[i], bottom[i + 1], true);
    for (int i = 0; i < 3; i++) bench_linear(&s, &m->top[i], top[i], top[i + 1], true);
    return s;
}

/* x: dense [batch, 13], indices [batch, tables] */
static kn_tensor recommender_forward(const void *self, const kn_tensor *x, double dropout)
{
    const Recommender *m = self;
    kn_tensor features[PAIRED], dense = x[0];
    (void)dropout;
    for (int i = 0; i < 3; i++) dense = kn_relu(kn_nn_linear_forward(&m->bottom[i], dense));
    dense = kn_keep(dense);
    features[0] = dense;
    for (int i = 0; i < TABLES; i++)
        features[i + 1] = kn_nn_embedding_forward(&m->tables[i], kn_select(x[1], 1, i));
    kn_tensor all = kn_keep(kn_stack(features, PAIRED, 1));
    kn_tensor pairs = kn_flatten(kn_matmul(all, kn_transpose(all, 1, 2)), 1, 2);
    kn_tensor y = kn_concat((kn_tensor[]){dense, pairs}, 2, 1);
    for (int i = 0; i < 2; i++) y = kn_relu(kn_nn_linear_forward(&m->top[i], y));
    return kn_squeeze(kn_nn_linear_forward(&m->top[2], y), 1);
}

static kn_tensor recommender_loss(const void *self, const kn_tensor *x, double dropout, int phase)
{
    (void)phase;
    return kn_binary_cross_entropy_with_logits(recommender_forward(self, x, dropout), x[2], NULL);
}

const bench_model bench_dlrm = {
    .name = "dlrm",
    .family = "other",
    .text = "8 tables of 100,000 x 64, dense 13-512-256-64, all pairs, 512-256-1",
    .batch = 2048,
    .answers = 64,
    .n_given = 2,
    .inputs = {{BENCH_REALS, 0, {-1, 13}}, {BENCH_INDICES, ROWS, {-1, TABLES}}, {BENCH_TRUTHS, 0, {-1}}},
    .type = &Recommender_type,
    .init = recommender_init,
    .forward = recommender_forward,
    .loss = recommender_loss,
};
