/* Layers made in one line each, and the small functions that several models share. */
#include "bench_models.h"

static int64_t or_one(int64_t n) { return n ? n : 1; }

/* Three entries serve one to three axes: lists of args have the length of the axes that are there. */
static kn_nn_conv_args conv_args(const bench_conv *c)
{
    int64_t dilation = or_one(c->dilation), stride = or_one(c->stride);
    int64_t padding = c->padding < 0 ? 0 : c->padding ? c->padding : c->kernel / 2 * dilation;
    return (kn_nn_conv_args){.stride = {stride, stride, stride},
                             .padding = {padding, padding, padding},
                             .dilation = {dilation, dilation, dilation},
                             .groups = or_one(c->groups),
                             .no_bias = !c->bias};
}

void bench_conv1d(kn_status *status, kn_nn_conv1d *m, const bench_conv *c)
{
    kn_nn_conv_args args = conv_args(c);
    if (*status == KN_OK) *status = kn_nn_conv1d_init(m, c->in, c->out, KN_INTS(c->kernel), &args);
}

void bench_conv2d(kn_status *status, kn_nn_conv2d *m, const bench_conv *c)
{
    kn_nn_conv_args args = conv_args(c);
    if (*status == KN_OK) *status = kn_nn_conv2d_init(m, c->in, c->out, KN_INTS(c->kernel, c->kernel), &args);
}

void bench_conv3d(kn_status *status, kn_nn_conv3d *m, const bench_conv *c)
{
    kn_nn_conv_args args = conv_args(c);
    if (*status == KN_OK)
        *status = kn_nn_conv3d_init(m, c->in, c->out, KN_INTS(c->kernel, c->kernel, c->kernel), &args);
}

void bench_conv_transpose2d(kn_status *status, kn_nn_conv_transpose2d *m, const bench_conv *c)
{
    kn_nn_conv_args args = conv_args(c);
    if (*status == KN_OK)
        *status = kn_nn_conv_transpose2d_init(m, c->in, c->out, KN_INTS(c->kernel, c->kernel), &args);
}

void bench_batch_norm(kn_status *status, kn_nn_batch_norm *m, int64_t channels)
{
    if (*status == KN_OK) *status = kn_nn_batch_norm_init(m, channels, NULL);
}

void bench_layer_norm(kn_status *status, kn_nn_layer_norm *m, int64_t width)
{
    if (*status == KN_OK) *status = kn_nn_layer_norm_init(m, KN_SHAPE(width), NULL);
}

void bench_rms_norm(kn_status *status, kn_nn_rms_norm *m, int64_t width)
{
    if (*status == KN_OK)
        *status = kn_nn_rms_norm_init(m, KN_SHAPE(width), &(kn_nn_rms_norm_args){.eps = 1e-6});
}

void bench_linear(kn_status *status, kn_nn_linear *m, int64_t in, int64_t out, bool bias)
{
    if (*status == KN_OK) *status = kn_nn_linear_init(m, in, out, &(kn_nn_linear_args){.no_bias = !bias});
}

void bench_embedding(kn_status *status, kn_nn_embedding *m, int64_t rows, int64_t width)
{
    kn_nn_embedding_args args = {.weight = {.kind = KN_INIT_NORMAL, .b = 0.02}};
    if (*status == KN_OK) *status = kn_nn_embedding_init(m, rows, width, &args);
}

void *bench_list(kn_status *status, const kn_module_type *type, int32_t n)
{
    void *list = *status == KN_OK ? kn_module_list(type, n) : NULL;
    if (!list && *status == KN_OK) *status = KN_ERROR_MEMORY;
    return list;
}

kn_tensor bench_split_heads(kn_tensor x, int64_t heads)
{
    return kn_permute(kn_unflatten(x, -1, KN_SHAPE(heads, -1)), KN_AXES(0, 2, 1, 3));
}

kn_tensor bench_join_heads(kn_tensor x) { return kn_flatten(kn_permute(x, KN_AXES(0, 2, 1, 3)), 2, 3); }

kn_tensor bench_global_mean(kn_tensor x) { return kn_mean(kn_flatten(x, 2, -1), KN_AXES(2), false); }

kn_tensor bench_token_loss(kn_tensor y, kn_tensor target)
{
    y = kn_keep(y);
    if (kn_rank(y) == 2) return kn_cross_entropy(y, target, NULL);
    return kn_cross_entropy(kn_flatten(y, 0, -2), kn_flatten(target, 0, -1), NULL);
}
