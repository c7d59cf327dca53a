/* Training is PyTorch's: from the same weights and batches, 200 steps of four optimisers on an MLP, a CNN with batch norm, an
   LSTM and a transformer follow the losses that tests/train/curves.py recorded. */
#include "../support/check.h"
#include <kn/nn.h>
#include <kn/optim.h>
#include <kn/store.h>
#include <math.h>
#include <stdlib.h>

#define FOLDER "tests/train/curves/"
enum { STEPS = 200, BATCHES = 8, BATCH = 16, CLASSES = 4, LONGEST = 64, TOKENS = 8 };

/* ---- the batches, by the formulas of curves.py */

static uint32_t word(uint32_t seed, uint32_t i)
{
    uint32_t x = i + seed * 1000003u;
    x = (x ^ (x >> 16)) * 0x7FEB352Du;
    x = (x ^ (x >> 15)) * 0x846CA68Bu;
    return x ^ (x >> 16);
}

static double number(uint32_t seed, uint32_t i) { return (double)(word(seed, i) >> 16) / 32768 - 1; }

static kn_tensor labels(uint32_t batch)
{
    int64_t y[BATCH];
    for (uint32_t i = 0; i < BATCH; i++) y[i] = word(batch, i) % CLASSES;
    return kn_from(y, KN_I64, KN_SHAPE(BATCH));
}

/* [batch, size]: noise plus half of the pattern of the label. */
static kn_tensor inputs(uint32_t batch, uint32_t size, kn_dtype dtype)
{
    double x[BATCH * LONGEST];
    for (uint32_t i = 0; i < BATCH * size; i++)
        x[i] = number(200 + batch, i) + 0.5 * number(100, word(batch, i / size) % CLASSES * size + i % size);
    return kn_cast(kn_from(x, KN_F64, KN_SHAPE(BATCH, size)), dtype);
}

/* ---- the models */

typedef struct Mlp {
    kn_nn_linear fc1, fc2, fc3;
} Mlp;
static const kn_module_type Mlp_type = {"Mlp", sizeof(Mlp),
                                        (const kn_field[]){KN_MODULE(Mlp, fc1, kn_nn_linear),
                                                           KN_MODULE(Mlp, fc2, kn_nn_linear),
                                                           KN_MODULE(Mlp, fc3, kn_nn_linear),
                                                           {0}}};

static kn_status mlp_init(void *self, kn_dtype dtype)
{
    Mlp *m = self;
    kn_nn_linear_args args = {.dtype = dtype};
    kn_status s = kn_nn_linear_init(&m->fc1, 20, 32, &args);
    if (s == KN_OK) s = kn_nn_linear_init(&m->fc2, 32, 32, &args);
    return s ? s : kn_nn_linear_init(&m->fc3, 32, CLASSES, &args);
}

static kn_tensor mlp_forward(const void *self, uint32_t batch, kn_dtype dtype)
{
    const Mlp *m = self;
    kn_tensor x = kn_relu(kn_nn_linear_forward(&m->fc1, inputs(batch, 20, dtype)));
    return kn_nn_linear_forward(&m->fc3, kn_relu(kn_nn_linear_forward(&m->fc2, x)));
}

typedef struct Cnn {
    kn_nn_conv2d conv1, conv2;
    kn_nn_batch_norm norm1, norm2;
    kn_nn_linear fc;
} Cnn;
static const kn_module_type Cnn_type = {"Cnn", sizeof(Cnn),
                                        (const kn_field[]){KN_MODULE(Cnn, conv1, kn_nn_conv2d),
                                                           KN_MODULE(Cnn, norm1, kn_nn_batch_norm),
                                                           KN_MODULE(Cnn, conv2, kn_nn_conv2d),
                                                           KN_MODULE(Cnn, norm2, kn_nn_batch_norm),
                                                           KN_MODULE(Cnn, fc, kn_nn_linear),
                                                           {0}}};

static kn_status cnn_init(void *self, kn_dtype dtype)
{
    Cnn *m = self;
    kn_nn_conv_args padded = {.padding = {1, 1}, .dtype = dtype}, valid = {.dtype = dtype};
    kn_nn_batch_norm_args norm = {.dtype = dtype};
    kn_status s = kn_nn_conv2d_init(&m->conv1, 1, 4, KN_INTS(3, 3), &padded);
    if (s == KN_OK) s = kn_nn_conv2d_init(&m->conv2, 4, 8, KN_INTS(3, 3), &valid);
    if (s == KN_OK) s = kn_nn_batch_norm_init(&m->norm1, 4, &norm);
    if (s == KN_OK) s = kn_nn_batch_norm_init(&m->norm2, 8, &norm);
    return s ? s : kn_nn_linear_init(&m->fc, 32, CLASSES, &(kn_nn_linear_args){.dtype = dtype});
}

static kn_tensor cnn_forward(const void *self, uint32_t batch, kn_dtype dtype)
{
    const Cnn *m = self;
    kn_tensor x = kn_reshape(inputs(batch, 64, dtype), KN_SHAPE(BATCH, 1, 8, 8));
    x = kn_relu(kn_nn_batch_norm_forward(&m->norm1, kn_nn_conv2d_forward(&m->conv1, x)));
    x = kn_max_pool2d(x, KN_INTS(2, 2), NULL);
    x = kn_relu(kn_nn_batch_norm_forward(&m->norm2, kn_nn_conv2d_forward(&m->conv2, x)));
    return kn_nn_linear_forward(&m->fc, kn_flatten(x, 1, -1));
}

typedef struct Lstm {
    kn_nn_lstm lstm;
    kn_nn_linear fc;
} Lstm;
static const kn_module_type Lstm_type = {
    "Lstm", sizeof(Lstm),
    (const kn_field[]){KN_MODULE(Lstm, lstm, kn_nn_lstm), KN_MODULE(Lstm, fc, kn_nn_linear), {0}}};

static kn_status lstm_init(void *self, kn_dtype dtype)
{
    Lstm *m = self;
    kn_nn_recurrent_args args = {.num_layers = 2, .batch_first = true, .dtype = dtype};
    kn_status s = kn_nn_lstm_init(&m->lstm, 6, 12, &args);
    return s ? s : kn_nn_linear_init(&m->fc, 12, CLASSES, &(kn_nn_linear_args){.dtype = dtype});
}

static kn_tensor lstm_forward(const void *self, uint32_t batch, kn_dtype dtype)
{
    const Lstm *m = self;
    kn_tensor x = kn_reshape(inputs(batch, 42, dtype), KN_SHAPE(BATCH, 7, 6));
    kn_tensor last = kn_squeeze(kn_narrow(kn_nn_lstm_forward(&m->lstm, x, NULL), 1, 6, 1), 1);
    return kn_nn_linear_forward(&m->fc, last);
}

typedef struct Transformer {
    kn_nn_embedding embedding, position;
    kn_nn_transformer_encoder encoder;
    kn_nn_linear fc;
} Transformer;
static const kn_module_type Transformer_type = {
    "Transformer", sizeof(Transformer),
    (const kn_field[]){KN_MODULE(Transformer, embedding, kn_nn_embedding),
                       KN_MODULE(Transformer, position, kn_nn_embedding),
                       KN_MODULE(Transformer, encoder, kn_nn_transformer_encoder),
                       KN_MODULE(Transformer, fc, kn_nn_linear),
                       {0}}};

static kn_status transformer_init(void *self, kn_dtype dtype)
{
    Transformer *m = self;
    kn_nn_embedding_args table = {.dtype = dtype};
    kn_nn_transformer_args args = {
        .dropout = (double)KN_ZERO, .activation = KN_ACTIVATION_GELU, .dtype = dtype};
    kn_status s = kn_nn_embedding_init(&m->embedding, 12, 16, &table);
    if (s == KN_OK) s = kn_nn_embedding_init(&m->position, TOKENS, 16, &table);
    if (s == KN_OK) s = kn_nn_transformer_encoder_init(&m->encoder, 16, 2, 32, 2, &args);
    return s ? s : kn_nn_linear_init(&m->fc, 16, CLASSES, &(kn_nn_linear_args){.dtype = dtype});
}

static kn_tensor transformer_forward(const void *self, uint32_t batch, kn_dtype dtype)
{
    (void)dtype;
    const Transformer *m = self;
    int64_t tokens[BATCH][TOKENS];
    for (uint32_t i = 0; i < BATCH * TOKENS; i++) {
        int64_t noise = word(200 + batch, i) % 12, label = word(batch, i / TOKENS) % CLASSES;
        tokens[i / TOKENS][i % TOKENS] = i % 2 ? noise : noise / 4 * 4 + label;
    }
    kn_tensor x = kn_nn_embedding_forward(&m->embedding, kn_from(tokens, KN_I64, KN_SHAPE(BATCH, TOKENS)));
    kn_tensor places = kn_nn_embedding_forward(&m->position, kn_arange(0, TOKENS, 1, KN_I64));
    kn_tensor y = kn_nn_transformer_encoder_forward(&m->encoder, kn_add(x, places), NULL, NULL);
    return kn_nn_linear_forward(&m->fc, kn_mean(y, KN_AXES(1), false));
}

typedef union any_model {
    Mlp mlp;
    Cnn cnn;
    Lstm lstm;
    Transformer transformer;
} any_model;

static const struct model {
    const char *name;
    const kn_module_type *type;
    kn_status (*init)(void *self, kn_dtype dtype);
    kn_tensor (*forward)(const void *self, uint32_t batch, kn_dtype dtype);
} models[] = {{"mlp", &Mlp_type, mlp_init, mlp_forward},
              {"cnn", &Cnn_type, cnn_init, cnn_forward},
              {"lstm", &Lstm_type, lstm_init, lstm_forward},
              {"transformer", &Transformer_type, transformer_init, transformer_forward}};
enum { MODELS = sizeof models / sizeof *models };

/* ---- the optimisers */

static kn_optim make_sgd(void) { return kn_optim_sgd(&(kn_sgd_args){.momentum = 0.9}); }
static kn_optim make_adam(void) { return kn_optim_adam(NULL); }
static kn_optim make_adamw(void) { return kn_optim_adamw(&(kn_adam_args){.weight_decay = 0.05}); }
static kn_optim make_rmsprop(void) { return kn_optim_rmsprop(&(kn_rmsprop_args){.momentum = 0.5}); }

static const struct optimiser {
    const char *name;
    kn_optim (*make)(void);
    double lr;
} optimisers[] = {{"sgd", make_sgd, 0.05},
                  {"adam", make_adam, 0.003},
                  {"adamw", make_adamw, 0.003},
                  {"rmsprop", make_rmsprop, 0.002}};
enum { OPTIMISERS = sizeof optimisers / sizeof *optimisers };

/* ---- training and comparing */

static kn_status step(const struct model *model, any_model *net, const struct optimiser *how, kn_optim optim,
                      int index, kn_dtype dtype, double *loss)
{
    kn_scope scope = kn_scope_begin();
    kn_grads grads = NULL;
    uint32_t batch = (uint32_t)(index % BATCHES);
    kn_tensor value = kn_keep(kn_cross_entropy(model->forward(net, batch, dtype), labels(batch), NULL));
    *loss = kn_item(value);
    kn_status s = kn_backward(value, &grads);
    if (s == KN_OK) s = kn_optim_step(optim, how->lr, (kn_module){net, model->type}, grads);
    kn_grads_free(grads);
    kn_scope_end(scope, KN_NONE);
    return s;
}

static bool train(const struct model *model, const struct optimiser *how, kn_dtype dtype, double *losses)
{
    any_model net;
    char path[128];
    memset(&net, 0, sizeof net);
    snprintf(path, sizeof path, FOLDER "%s.pt", model->name);
    kn_module module = {&net, model->type};
    kn_optim optim = how->make();
    kn_status s = model->init(&net, dtype);
    if (s == KN_OK) s = kn_load(module, path, NULL, NULL);
    for (int i = 0; i < STEPS && s == KN_OK; i++) s = step(model, &net, how, optim, i, dtype, &losses[i]);
    if (s) printf("%s with %s: %s\n", model->name, how->name, kn_last_error());
    kn_optim_free(optim);
    kn_module_drop(module);
    return s == KN_OK;
}

static bool recorded(kn_store curves, const struct model *model, const struct optimiser *how,
                     const char *dtype, double *losses)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s.%s", model->name, how->name, dtype);
    kn_tensor t = kn_store_tensor(curves, kn_store_find(curves, name));
    kn_status s = kn_read(t, losses, STEPS * sizeof *losses);
    kn_drop(t);
    if (s) printf("%s: %s\n", name, kn_last_error());
    return s == KN_OK;
}

/* The largest relative distance of two curves. */
static double distance(const double *got, const double *want)
{
    double worst = 0;
    for (int i = 0; i < STEPS; i++) {
        double d = fabs(got[i] - want[i]) / fabs(want[i]);
        if (!(d <= worst)) worst = d;
    }
    return worst;
}

/* How far the final losses are apart: at most, over the last pass through the batches. One step alone may agree by luck. */
static double final_gap(const double *narrow, const double *wide)
{
    double worst = 0;
    for (int i = STEPS - BATCHES; i < STEPS; i++) worst = fmax(worst, fabs(narrow[i] - wide[i]));
    return worst;
}

static void follows(kn_store curves, const struct model *model, const struct optimiser *how)
{
    double wide[STEPS], narrow[STEPS], torch_wide[STEPS], torch_narrow[STEPS];
    if (!CHECK(recorded(curves, model, how, "f64", torch_wide)) ||
        !CHECK(recorded(curves, model, how, "f32", torch_narrow)) ||
        !CHECK(train(model, how, KN_F64, wide)) || !CHECK(train(model, how, KN_F32, narrow)))
        return;
    double apart = distance(wide, torch_wide), apart_narrow = distance(narrow, torch_narrow);
    double gap = final_gap(torch_narrow, torch_wide), own_gap = final_gap(narrow, torch_wide);
    printf("%-12s %-8s f64 %.1e   f32 %.1e   final f32 losses %.1e from f64, PyTorch's %.1e\n", model->name,
           how->name, apart, apart_narrow, own_gap, gap);
    CHECK(apart <= 1e-8);
    if (!strcmp(model->name, "mlp"))
        CHECK(apart_narrow <= 1e-4);
    else
        CHECK(own_gap <= 3 * gap);
}

int main(void)
{
    kn_device device = kn_device_open("autodiff(cpu)");
    kn_device_use(device);
    kn_store curves = kn_store_open(FOLDER "curves.npz", NULL);
    if (CHECK(curves != NULL))
        for (int m = 0; m < MODELS; m++)
            for (int o = 0; o < OPTIMISERS; o++) follows(curves, &models[m], &optimisers[o]);
    kn_store_close(curves);
    kn_device_use(NULL);
    kn_device_close(device);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
