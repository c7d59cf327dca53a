/* The programs: what each is built of, and the same computation at once. */
#define _POSIX_C_SOURCE 200809L
#include "proof_programs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef kn_program_value value;
#define ATTRIBUTES(...) ((kn_builder_attribute[]){__VA_ARGS__, {0}})
#define OP1(b, name, x, a) kn_builder_op(b, name, (value[]){x}, 1, a)
#define OP2(b, name, x, y, a) kn_builder_op(b, name, (value[]){x, y}, 2, a)
#define OP3(b, name, x, y, z, a) kn_builder_op(b, name, (value[]){x, y, z}, 3, a)

const kn_module_type proof_net_type = {
    "proof_net", sizeof(proof_net),
    (const kn_field[]){KN_MODULE(proof_net, first, kn_nn_linear),
                       KN_MODULE(proof_net, second, kn_nn_linear),
                       KN_MODULE(proof_net, conv, kn_nn_conv2d),
                       KN_MODULE(proof_net, norm, kn_nn_batch_norm),
                       KN_MODULE(proof_net, tokens, kn_nn_embedding),
                       KN_MODULE(proof_net, block, kn_nn_transformer_encoder_layer),
                       KN_MODULE(proof_net, lstm, kn_nn_lstm),
                       {0}}};

static value number(kn_builder b, double v) { return kn_builder_constant(b, kn_scalar(v, KN_F32)); }

static value weight(kn_builder b, const char *name, kn_param p)
{
    return kn_builder_param(b, name, kn_value(p));
}

/* An op of x and the weight and bias of a layer of this name. */
static value layer(kn_builder b, const char *op, value x, const char *name, const kn_param params[2],
                   const kn_builder_attribute *a)
{
    char names[2][64];
    snprintf(names[0], sizeof names[0], "%s.weight", name);
    snprintf(names[1], sizeof names[1], "%s.bias", name);
    return OP3(b, op, x, weight(b, names[0], params[0]), weight(b, names[1], params[1]), a);
}

static value linear(kn_builder b, value x, const char *name, const kn_nn_linear *m)
{
    return layer(b, "linear", x, name, (const kn_param[]){m->weight, m->bias}, NULL);
}

static kn_program finish(kn_builder b, const value *outputs, const char *const *names, int n)
{
    kn_program p = kn_builder_finish(b, outputs, names, n);
    kn_builder_free(b);
    if (!p) printf("  %s\n", kn_last_error());
    return p;
}

/* KN_OK where all outputs are good. */
static kn_status given(const kn_tensor *out, int n)
{
    kn_status s = KN_OK;
    for (int i = 0; i < n && !s; i++) s = kn_error_code(out[i]);
    return s;
}

/* ---- an MLP */

static kn_status mlp_init(proof_net *net, kn_dtype dtype)
{
    kn_status s = kn_nn_linear_init(&net->first, 6, 10, &(kn_nn_linear_args){.dtype = dtype});
    return s ? s : kn_nn_linear_init(&net->second, 10, 4, &(kn_nn_linear_args){.dtype = dtype});
}

static kn_program mlp_build(const proof_net *net, kn_dtype dtype)
{
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "batch", 1, 8);
    value x = kn_builder_input(b, "x", dtype, "batch, 6");
    value y = linear(b, OP1(b, "relu", linear(b, x, "first", &net->first), NULL), "second", &net->second);
    value out[2] = {OP1(b, "softmax", y, ATTRIBUTES({"axis", "-1", 0})),
                    OP1(b, "argmax", y, ATTRIBUTES({"axis", "-1", 0}))};
    return finish(b, out, (const char *[]){"probabilities", "class"}, 2);
}

static kn_status mlp_eager(const proof_net *net, const kn_tensor *in, kn_tensor *out)
{
    kn_tensor h = kn_relu(kn_nn_linear_forward(&net->first, in[0]));
    kn_tensor y = kn_keep(kn_nn_linear_forward(&net->second, h));
    out[0] = kn_softmax(y, -1);
    out[1] = kn_argmax(y, -1, false);
    return given(out, 2);
}

/* ---- a CNN with batch norm */

static kn_status cnn_init(proof_net *net, kn_dtype dtype)
{
    kn_nn_conv_args args = {.padding = {1, 1}, .dtype = dtype};
    kn_status s = kn_nn_conv2d_init(&net->conv, 2, 4, KN_INTS(3, 3), &args);
    if (!s) s = kn_nn_batch_norm_init(&net->norm, 4, &(kn_nn_batch_norm_args){.dtype = dtype});
    return s ? s : kn_nn_linear_init(&net->second, 4, 5, &(kn_nn_linear_args){.dtype = dtype});
}

static kn_program cnn_build(const proof_net *net, kn_dtype dtype)
{
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "batch", 1, 3);
    kn_builder_size(b, "width", 6, 13);
    value x = kn_builder_input(b, "x", dtype, "batch, 2, 8, width");
    value c = layer(b, "conv", x, "conv", (const kn_param[]){net->conv.weight, net->conv.bias},
                    ATTRIBUTES({"stride", "1, 1", 0}, {"padding", "1, 1", 0}, {"padding_end", "1, 1", 0},
                               {"dilation", "1, 1", 0}, {"groups", "1", 0}));
    value operands[5] = {c, weight(b, "norm.running_mean", net->norm.running_mean),
                         weight(b, "norm.running_var", net->norm.running_var),
                         weight(b, "norm.weight", net->norm.weight), weight(b, "norm.bias", net->norm.bias)};
    value n = kn_builder_op(b, "batch_norm", operands, 5, ATTRIBUTES({"eps", NULL, 1e-5}));
    value pooled = OP1(b, "max_pool_values", OP1(b, "relu", n, NULL),
                       ATTRIBUTES({"axes", "2", 0}, {"window", "2, 2", 0}, {"stride", "2, 2", 0},
                                  {"padding", "0, 0", 0}, {"dilation", "1, 1", 0}));
    value mean = OP1(b, "mean", pooled, ATTRIBUTES({"axes", "2, 3", 0}, {"keep", "0", 0}));
    value out[2] = {linear(b, mean, "second", &net->second), pooled};
    return finish(b, out, NULL, 2);
}

static kn_status cnn_eager(const proof_net *net, const kn_tensor *in, kn_tensor *out)
{
    kn_tensor n = kn_relu(kn_nn_batch_norm_forward(&net->norm, kn_nn_conv2d_forward(&net->conv, in[0])));
    out[1] = kn_keep(kn_max_pool2d(n, KN_INTS(2, 2), NULL));
    out[0] = kn_nn_linear_forward(&net->second, kn_mean(out[1], KN_INTS(2, 3), false));
    return given(out, 2);
}

/* ---- a transformer block with a symbolic length */

static kn_status transformer_init(proof_net *net, kn_dtype dtype)
{
    kn_nn_transformer_args args = {.norm_first = true, .activation = KN_ACTIVATION_GELU, .dtype = dtype};
    kn_status s = kn_nn_embedding_init(&net->tokens, 11, 8, &(kn_nn_embedding_args){.dtype = dtype});
    return s ? s : kn_nn_transformer_encoder_layer_init(&net->block, 8, 2, 16, &args);
}

static value norm(kn_builder b, value x, const char *name, const kn_nn_layer_norm *m)
{
    return layer(b, "layer_norm", x, name, (const kn_param[]){m->weight, m->bias},
                 ATTRIBUTES({"n_axes", "1", 0}, {"eps", NULL, 1e-5}));
}

static value heads(kn_builder b, value x, const char *name, const kn_nn_linear *m)
{
    value split = OP1(b, "reshape", linear(b, x, name, m), ATTRIBUTES({"shape", "batch, length, 2, 4", 0}));
    return OP1(b, "permute", split, ATTRIBUTES({"axes", "0, 2, 1, 3", 0}));
}

static kn_program transformer_build(const proof_net *net, kn_dtype dtype)
{
    const kn_nn_transformer_encoder_layer *block = &net->block;
    const kn_nn_attention *self = &block->self_attn;
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "batch", 1, 2);
    kn_builder_size(b, "length", 1, 17);
    (void)dtype;
    value ids = kn_builder_input(b, "ids", KN_I64, "batch, length");
    value x = OP2(b, "embedding", weight(b, "tokens", net->tokens.weight), ids, NULL);
    value normed = norm(b, x, "norm1", &block->norm1);
    value parts[3] = {heads(b, normed, "query", &self->query), heads(b, normed, "key", &self->key),
                      heads(b, normed, "value", &self->value)};
    value mixed =
        kn_builder_op(b, "attention", parts, 3,
                      ATTRIBUTES({"scale", NULL, 0.5}, {"softcap", NULL, 0}, {"is_causal", "1", 0}));
    value joined = OP1(b, "reshape", OP1(b, "permute", mixed, ATTRIBUTES({"axes", "0, 2, 1, 3", 0})),
                       ATTRIBUTES({"shape", "batch, length, 8", 0}));
    value h = OP2(b, "add", x, linear(b, joined, "output", &self->output), NULL);
    value wide = linear(b, norm(b, h, "norm2", &block->norm2), "linear1", &block->feed_forward.linear1);
    value y = OP2(b, "add", h, linear(b, OP1(b, "gelu", wide, NULL), "linear2", &block->feed_forward.linear2),
                  NULL);
    return finish(b, &y, NULL, 1);
}

static kn_status transformer_eager(const proof_net *net, const kn_tensor *in, kn_tensor *out)
{
    kn_tensor x = kn_nn_embedding_forward(&net->tokens, in[0]);
    out[0] =
        kn_nn_transformer_encoder_layer_forward(&net->block, x, &(kn_nn_attention_call){.is_causal = true});
    return given(out, 1);
}

/* ---- an LSTM as a loop over its steps */

static kn_status lstm_init(proof_net *net, kn_dtype dtype)
{
    return kn_nn_lstm_init(&net->lstm, 4, 5, &(kn_nn_recurrent_args){.dtype = dtype});
}

static kn_program lstm_build(const proof_net *net, kn_dtype dtype)
{
    const kn_nn_recurrent_cell *cell = &net->lstm.cells[0][0];
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "steps", 1, 7);
    kn_builder_size(b, "batch", 1, 3);
    value x = kn_builder_input(b, "x", dtype, "steps, batch, 4");
    value carried[2] = {kn_builder_input(b, "h", dtype, "batch, 5"),
                        kn_builder_input(b, "c", dtype, "batch, 5")};
    value wx = weight(b, "weight_ih", cell->weight_ih), wh = weight(b, "weight_hh", cell->weight_hh),
          bx = weight(b, "bias_ih", cell->bias_ih), bh = weight(b, "bias_hh", cell->bias_hh), inside[4],
          gates[4], out[3];
    kn_builder_loop(
        b, &(kn_loop_args){.trips = "steps", .carried = carried, .n_carried = 2, .sliced = &x, .n_sliced = 1},
        inside);
    value all = OP2(b, "add", OP3(b, "linear", inside[3], wx, bx, NULL),
                    OP3(b, "linear", inside[1], wh, bh, NULL), NULL);
    for (int i = 0; i < 4; i++) { /* i, f, g, o */
        char start[32], stop[32];
        snprintf(start, sizeof start, "0, %d", 5 * i);
        snprintf(stop, sizeof stop, "batch, %d", 5 * i + 5);
        value gate =
            OP1(b, "slice", all, ATTRIBUTES({"start", start, 0}, {"stop", stop, 0}, {"step", "1, 1", 0}));
        gates[i] = OP1(b, i == 2 ? "tanh" : "sigmoid", gate, NULL);
    }
    value c = OP2(b, "add", OP2(b, "mul", gates[1], inside[2], NULL), OP2(b, "mul", gates[0], gates[2], NULL),
                  NULL);
    value h = OP2(b, "mul", gates[3], OP1(b, "tanh", c, NULL), NULL), results[3] = {h, c, h};
    kn_builder_end(b, results, 3, out, 3);
    return finish(b, out, (const char *[]){"h", "c", "all"}, 3);
}

static kn_status lstm_eager(const proof_net *net, const kn_tensor *in, kn_tensor *out)
{
    kn_nn_lstm_state state = {kn_unsqueeze(in[1], 0), kn_unsqueeze(in[2], 0)};
    out[2] = kn_nn_lstm_forward(&net->lstm, in[0], &state);
    out[0] = kn_squeeze(state.hidden, 0);
    out[1] = kn_squeeze(state.cell, 0);
    return given(out, 3);
}

/* ---- an If, which goes by the sign of the mean */

static kn_program choice_build(const proof_net *net, kn_dtype dtype)
{
    kn_builder b = kn_builder_new();
    (void)net;
    kn_builder_size(b, "n", 2, 9);
    value x = kn_builder_input(b, "x", dtype, "n"), y, outer = OP1(b, "exp", x, NULL);
    value mean = OP1(b, "mean", x, ATTRIBUTES({"axes", "0", 0}, {"keep", "0", 0}));
    kn_builder_if(b, OP2(b, "greater", mean, number(b, 0), NULL));
    value first = OP2(b, "add", outer, x, NULL);
    kn_builder_else(b, &first, 1);
    value second = OP2(b, "mul", x, OP2(b, "mul", outer, mean, NULL), NULL);
    kn_builder_end(b, &second, 1, &y, 1);
    value out[2] = {y, mean};
    return finish(b, out, NULL, 2);
}

static kn_status choice_eager(const proof_net *net, const kn_tensor *in, kn_tensor *out)
{
    (void)net;
    kn_tensor e = kn_keep(kn_exp(in[0]));
    out[1] = kn_keep(kn_mean(in[0], KN_INTS(0), false));
    out[0] = kn_item(out[1]) > 0 ? kn_add(e, in[0]) : kn_mul(in[0], kn_mul(e, out[1]));
    return given(out, 2);
}

/* ---- a function that is called twice, a loop that a condition ends, values that change places, and a join */

static kn_program control_build(const proof_net *net, kn_dtype dtype)
{
    kn_builder b = kn_builder_new();
    (void)net;
    kn_builder_size(b, "n", 1, 5);
    value x = kn_builder_input(b, "x", dtype, "n, 2"), y = kn_builder_input(b, "y", dtype, "n, 2"), argument,
          twice[2];
    kn_builder_function(b, "bend", &x, 1, &argument);
    value bent = OP1(b, "tanh", OP2(b, "add", argument, OP1(b, "cos", argument, NULL), NULL), NULL);
    kn_builder_end(b, &bent, 1, NULL, 0);
    kn_builder_call(b, "bend", &x, 1, &twice[0], 1);
    kn_builder_call(b, "bend", &twice[0], 1, &twice[1], 1);
    value limit = number(b, 40);
    kn_builder_attribute all[] = {{"axes", "0, 1", 0}, {"keep", "0", 0}, {0}};
    value carried[3] = {twice[0], twice[1], OP1(b, "sum", OP1(b, "abs", x, NULL), all)}, inside[4], out[4];
    kn_builder_loop(b,
                    &(kn_loop_args){.condition = OP2(b, "less", carried[2], limit, NULL),
                                    .max_trips = 20,
                                    .carried = carried,
                                    .n_carried = 3},
                    inside);
    value grown = OP2(b, "add", inside[3], inside[3], NULL);
    value next = OP2(b, "add", grown, OP1(b, "cast", inside[0], ATTRIBUTES({"dtype", "2", 0})), NULL);
    value results[4] = {OP2(b, "less", next, limit, NULL), inside[2], OP2(b, "add", inside[1], y, NULL),
                        next};
    kn_builder_end(b, results, 4, out, 3);
    out[3] = OP3(b, "concat", x, out[0], y, ATTRIBUTES({"axis", "0", 0}));
    return finish(b, out, NULL, 4);
}

static kn_tensor bend(kn_tensor x) { return kn_tanh(kn_add(x, kn_cos(x))); }

static kn_status control_eager(const proof_net *net, const kn_tensor *in, kn_tensor *out)
{
    (void)net;
    kn_tensor a = kn_keep(bend(in[0])), b = kn_keep(bend(a)),
              sum = kn_keep(kn_sum(kn_abs(in[0]), KN_AXES_ALL, false));
    for (int trip = 0; kn_item(sum) < 40 && trip < 20; trip++) {
        kn_tensor next = kn_keep(kn_add(a, in[1]));
        sum = kn_keep(kn_add_scalar(kn_add(sum, sum), trip));
        a = b;
        b = next;
    }
    out[0] = a;
    out[1] = b;
    out[2] = sum;
    out[3] = kn_concat((kn_tensor[]){in[0], a, in[1]}, 3, 0);
    return given(out, 4);
}

/* ---- layers that are alike: a weight of each, one that all read, and a mask that the first one makes for all */

static kn_tensor layer_weight(int layer)
{
    return kn_keep(kn_reshape(kn_linspace(-0.1 * (layer + 1), 0.2, 400, KN_F32), KN_SHAPE(20, 20)));
}

static kn_tensor layers_bias(void) { return kn_keep(kn_linspace(-0.5, 1, 20, KN_F32)); }

static kn_program layers_build(const proof_net *net, kn_dtype dtype)
{
    kn_builder b = kn_builder_new();
    (void)net;
    kn_builder_size(b, "n", 1, 5);
    value x = kn_builder_input(b, "x", dtype, "n, 20"), y = kn_builder_input(b, "y", dtype, "n, 20"),
          bias = kn_builder_param(b, "bias", layers_bias()), mask = KN_NO_VALUE;
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "layer.%d.weight", i);
        value weight = kn_builder_param(b, name, layer_weight(i));
        value h = OP1(b, "tanh", OP2(b, "add", OP2(b, "matmul", x, weight, NULL), bias, NULL), NULL);
        if (i == 0) mask = OP1(b, "abs", y, NULL);
        x = OP1(b, "sin", OP2(b, "add", x, OP2(b, "mul", h, mask, NULL), NULL), NULL);
    }
    return finish(b, &x, NULL, 1);
}

static kn_status layers_eager(const proof_net *net, const kn_tensor *in, kn_tensor *out)
{
    (void)net;
    kn_tensor x = kn_keep(in[0]), bias = layers_bias();
    for (int i = 0; i < 3; i++) {
        kn_tensor h = kn_tanh(kn_add(kn_matmul(x, layer_weight(i)), bias));
        x = kn_keep(kn_sin(kn_add(x, kn_mul(h, kn_abs(in[1])))));
    }
    out[0] = x;
    return given(out, 1);
}

/* ---- attention of products whose axes may all have one element, with a padding mask */

static kn_tensor products_weight(void)
{
    return kn_keep(kn_reshape(kn_linspace(-0.3, 0.4, 64, KN_F32), KN_SHAPE(8, 8)));
}

static value in_heads(kn_builder b, value x, const char *axes)
{
    value split = OP1(b, "reshape", x, ATTRIBUTES({"shape", "batch, length, 2, 4", 0}));
    return OP1(b, "permute", split, ATTRIBUTES({"axes", axes, 0}));
}

static kn_program products_build(const proof_net *net, kn_dtype dtype)
{
    kn_builder b = kn_builder_new();
    (void)net;
    kn_builder_size(b, "batch", 1, 5);
    kn_builder_size(b, "length", 1, 9);
    value x = kn_builder_input(b, "x", dtype, "batch, length, 8"),
          mask = kn_builder_input(b, "mask", dtype, "batch, 1, 1, length");
    value mixed = OP2(b, "matmul", x, kn_builder_param(b, "weight", products_weight()), NULL);
    value scores = OP2(b, "matmul", in_heads(b, mixed, "0, 2, 1, 3"), in_heads(b, x, "0, 2, 3, 1"), NULL);
    value weights = OP1(b, "softmax", OP2(b, "add", scores, mask, NULL), ATTRIBUTES({"axis", "-1", 0}));
    value seen = OP2(b, "matmul", weights, in_heads(b, mixed, "0, 2, 1, 3"), NULL);
    value y = OP1(b, "reshape", OP1(b, "permute", seen, ATTRIBUTES({"axes", "0, 2, 1, 3", 0})),
                  ATTRIBUTES({"shape", "batch, length, 8", 0}));
    return finish(b, &y, NULL, 1);
}

static kn_tensor eager_heads(kn_tensor x, kn_ints axes)
{
    return kn_permute(kn_reshape(x, KN_SHAPE(kn_size(x, 0), kn_size(x, 1), 2, 4)), axes);
}

static kn_status products_eager(const proof_net *net, const kn_tensor *in, kn_tensor *out)
{
    (void)net;
    kn_tensor mixed = kn_keep(kn_matmul(in[0], products_weight()));
    kn_tensor scores =
        kn_matmul(eager_heads(mixed, KN_AXES(0, 2, 1, 3)), eager_heads(in[0], KN_AXES(0, 2, 3, 1)));
    kn_tensor seen =
        kn_matmul(kn_softmax(kn_add(scores, in[1]), -1), eager_heads(mixed, KN_AXES(0, 2, 1, 3)));
    out[0] =
        kn_reshape(kn_permute(seen, KN_AXES(0, 2, 1, 3)), KN_SHAPE(kn_size(in[0], 0), kn_size(in[0], 1), 8));
    return given(out, 1);
}

static kn_status no_layers(proof_net *net, kn_dtype dtype)
{
    (void)net;
    (void)dtype;
    return KN_OK;
}

#define MLP(name, dtype)                                                                                     \
    {                                                                                                        \
        name, dtype, mlp_init, mlp_build, mlp_eager, 2, {{{1}, 0}, {{3}, 0}, {{8}, 0}}, 3, true, false       \
    }

static const proof_program programs[] = {
    MLP("mlp", KN_F32),
    {"cnn",
     KN_F32,
     cnn_init,
     cnn_build,
     cnn_eager,
     2,
     {{{1, 6}, 0}, {{2, 9}, 0}, {{3, 13}, 0}},
     3,
     true,
     false},
    {"transformer",
     KN_F32,
     transformer_init,
     transformer_build,
     transformer_eager,
     1,
     {{{1, 1}, 0}, {{2, 6}, 0}, {{1, 17}, 0}},
     3,
     true,
     true},
    {"lstm",
     KN_F32,
     lstm_init,
     lstm_build,
     lstm_eager,
     3,
     {{{1, 1}, 0}, {{4, 3}, 0}, {{7, 2}, 0}},
     3,
     false,
     false},
    {"choice",
     KN_F32,
     no_layers,
     choice_build,
     choice_eager,
     2,
     {{{2}, 2}, {{5}, 2}, {{9}, 2}, {{2}, -2}, {{5}, -2}, {{9}, -2}},
     6,
     false,
     false},
    {"control",
     KN_F32,
     no_layers,
     control_build,
     control_eager,
     4,
     {{{1}, 0}, {{3}, 0}, {{5}, 0}},
     3,
     false,
     false},
    {"layers",
     KN_F32,
     no_layers,
     layers_build,
     layers_eager,
     1,
     {{{1}, 0}, {{3}, 0}, {{5}, 0}},
     3,
     false,
     false},
    {"products",
     KN_F32,
     no_layers,
     products_build,
     products_eager,
     1,
     {{{1, 1}, 0}, {{1, 4}, 0}, {{3, 1}, 0}, {{2, 2}, 0}, {{5, 9}, 0}},
     5,
     false,
     false},
    MLP("mlp_f16", KN_F16),
    MLP("mlp_bf16", KN_BF16),
};

const proof_program *proof_program_at(int number)
{
    return number < (int)(sizeof programs / sizeof *programs) ? &programs[number] : NULL;
}

/* ---- weights and inputs */

static float next_value(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 8388608.0f - 1;
}

static kn_tensor drawn(kn_shape shape, kn_dtype dtype, float size, float shift, uint32_t *state)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    float *v = malloc((size_t)(n ? n : 1) * sizeof *v);
    for (int64_t i = 0; v && i < n; i++) v[i] = size * next_value(state) + shift;
    kn_tensor t = v ? kn_cast(kn_from(v, KN_F32, shape), dtype) : KN_NONE;
    free(v);
    return t;
}

/* Norms begin with ones and zeros, which would show little. */
static kn_status move_weight(void *context, const kn_module_entry *entry)
{
    kn_tensor now = kn_value(*entry->param);
    kn_dtype dtype = kn_dtype_of(now);
    if (!kn_dtype_is_float(dtype)) return KN_OK;
    kn_tensor by = drawn(kn_shape_of_tensor(now), dtype, 0.3f, 0, context);
    return kn_param_set(entry->param, kn_add(now, by));
}

kn_status proof_init(const proof_program *e, proof_net *net)
{
    uint32_t state = 3;
    memset(net, 0, sizeof *net);
    kn_seed(NULL, 5);
    kn_status s = e->init(net, e->dtype);
    if (!s) s = kn_module_visit(KN_MODULE_OF(proof_net, net), move_weight, &state);
    kn_module_train(KN_MODULE_OF(proof_net, net), false);
    return s;
}

/* The sizes of an input with those of the run; names are found in the order of the program. */
static kn_shape shape_of(kn_program p, int input, const int64_t *sizes)
{
    char names[PROOF_SIZES][64] = {{0}};
    int n_names = 0;
    kn_shape s = {0, {0}};
    for (int i = 0; i <= input; i++) {
        kn_program_port port;
        if (kn_program_input(p, i, &port)) return s;
        s.rank = 0;
        for (char *rest, *word = strtok_r(port.shape, ", ", &rest); word;
             word = strtok_r(NULL, ", ", &rest)) {
            int at = 0;
            if (word[0] >= '0' && word[0] <= '9') {
                s.dims[s.rank++] = atoi(word);
                continue;
            }
            while (at < n_names && strcmp(names[at], word)) at++;
            if (at == n_names) snprintf(names[n_names++], sizeof *names, "%s", word);
            s.dims[s.rank++] = sizes[at];
        }
    }
    return s;
}

kn_tensor proof_input(kn_program p, int input, const proof_run *run)
{
    kn_program_port port;
    uint32_t state = (uint32_t)(1 + 7 * input + 31 * run->sizes[0] + 131 * run->sizes[1]);
    if (kn_program_input(p, input, &port)) return KN_NONE;
    kn_shape shape = shape_of(p, input, run->sizes);
    bool real = kn_dtype_is_float(port.dtype);
    return kn_keep(drawn(shape, port.dtype, real ? 1.5f : 5, real ? run->shift : 5, &state));
}
