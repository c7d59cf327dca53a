/* The models of bench/models: each is a plain struct of layers with a forward function, over the public API alone, and has a twin in
   PyTorch (torch_*.py) whose params have the same names. A new model is a file with a bench_model, a line in the table of
   bench_models_table.c, and a class in the Python file of its family. */
#ifndef BENCH_MODELS_H
#define BENCH_MODELS_H

#include <kn.h>
#include <kn/nn.h>

enum { BENCH_INPUTS = 5, BENCH_AXES = 5 };

/* How an input is filled; both sides draw the same numbers (bench_inputs.c, torch_models.py). */
typedef enum bench_fill {
    BENCH_NO_INPUT,
    BENCH_REALS,   /* f32 on [-1, 1) */
    BENCH_INDICES, /* i64 from 0 to below - 1 */
    BENCH_TRUTHS,  /* f32, 0 or 1 */
    BENCH_PADDING  /* bool [batch, tokens]: true for the first tokens of each row, at least half of them */
} bench_fill;

/* sizes: -1 is the batch, 0 ends the list. */
typedef struct bench_input {
    bench_fill fill;
    int64_t below;
    int64_t sizes[BENCH_AXES];
} bench_input;

typedef struct bench_model {
    const char *name, *family, *text;
    int64_t batch;   /* of a training step */
    int64_t answers; /* the batch of inference: 1 or 64 */
    bool adam;       /* AdamW with a rate of 3e-4, else SGD with a rate of 0.001 and a momentum of 0.9 */
    int32_t n_given; /* that many inputs are given to forward, the others are what the loss compares with */
    bench_input inputs[BENCH_INPUTS];
    const kn_module_type *type;
    kn_status (*init)(void *self);
    /* x: the inputs, which are kept tensors. dropout is the probability where the model has dropout. */
    kn_tensor (*forward)(const void *self, const kn_tensor *x, double dropout);
    /* The loss of a phase of the step; NULL: cross entropy of forward's result [..., classes] with the first input that is not given. */
    kn_tensor (*loss)(const void *self, const kn_tensor *x, double dropout, int phase);
    /* The params that a phase trains; NULL: there is one phase, which trains all. */
    kn_module (*part)(void *self, int phase);
    int phases; /* 0 is 1 */
} bench_model;

/* NULL: there is none. */
const bench_model *bench_model_at(int i);
const bench_model *bench_model_named(const char *name);

/* A kept tensor on the current device, poison after a failure; i numbers the input among those of the model. */
kn_tensor bench_input_make(const bench_input *input, int64_t batch, int i);

/* ---- making layers: the first failure stays in *status, and later calls do nothing */

typedef struct bench_conv {
    int64_t in, out, kernel, stride, groups; /* 0: 1 */
    int64_t padding;                         /* 0: half of the kernel, -1: none */
    int64_t dilation;
    bool bias;
} bench_conv;

void bench_conv1d(kn_status *status, kn_nn_conv1d *m, const bench_conv *c);
void bench_conv2d(kn_status *status, kn_nn_conv2d *m, const bench_conv *c);
void bench_conv3d(kn_status *status, kn_nn_conv3d *m, const bench_conv *c);
/* Doubles height and width by a kernel of twice the factor's size (padding half of it), or of the factor itself without padding. */
void bench_conv_transpose2d(kn_status *status, kn_nn_conv_transpose2d *m, const bench_conv *c);
void bench_batch_norm(kn_status *status, kn_nn_batch_norm *m, int64_t channels);
void bench_layer_norm(kn_status *status, kn_nn_layer_norm *m, int64_t width);
void bench_rms_norm(kn_status *status, kn_nn_rms_norm *m, int64_t width);
void bench_linear(kn_status *status, kn_nn_linear *m, int64_t in, int64_t out, bool bias);
void bench_embedding(kn_status *status, kn_nn_embedding *m, int64_t rows, int64_t width);
/* Modules for a LIST; NULL where the status is no longer KN_OK. */
void *bench_list(kn_status *status, const kn_module_type *type, int32_t n);

/* ---- what several models do */

/* [batch, tokens, heads size] to [batch, heads, tokens, size], and back. */
kn_tensor bench_split_heads(kn_tensor x, int64_t heads);
kn_tensor bench_join_heads(kn_tensor x);
/* The mean of [batch, channels, ...] over all behind the channels: [batch, channels]. */
kn_tensor bench_global_mean(kn_tensor x);
/* Cross entropy over the last axis of y. */
kn_tensor bench_token_loss(kn_tensor y, kn_tensor target);

#endif
