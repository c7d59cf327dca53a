/* Recurrent layers as modules: their fields, params and public functions. recurrent_run.c computes them. */
#include "nn/layer.h"
#include "nn/recurrent_run.h"
#include "support/failure.h"
#include "support/scalar_math.h"
#include <kn/tensor.h>

static const char *const kind_names[] = {"none", "rnn", "gru", "lstm"};

#define CELL_PARAM(part, layer, direction, suffix)                                                           \
    {                                                                                                        \
        KN_FIELD_PARAM, #part "_l" #layer suffix, offsetof(kn_nn_recurrent, cells[layer][direction].part),   \
            NULL, 0, NULL                                                                                    \
    }
#define CELL(layer, direction, suffix)                                                                       \
    CELL_PARAM(weight_ih, layer, direction, suffix), CELL_PARAM(weight_hh, layer, direction, suffix),        \
        CELL_PARAM(bias_ih, layer, direction, suffix), CELL_PARAM(bias_hh, layer, direction, suffix)
#define LAYER(layer) CELL(layer, 0, ""), CELL(layer, 1, "_reverse")
#define COMMON_FIELDS                                                                                        \
    LAYER(0), LAYER(1), LAYER(2), LAYER(3), LAYER(4), LAYER(5), LAYER(6), LAYER(7), LAYER(8), LAYER(9),      \
        LAYER(10), LAYER(11), LAYER(12), LAYER(13), LAYER(14), LAYER(15),                                    \
        KN_ENUM(kn_nn_recurrent, kind, kind_names), KN_INT(kn_nn_recurrent, input_size),                     \
        KN_INT(kn_nn_recurrent, hidden_size), KN_INT(kn_nn_recurrent, num_layers),                           \
        KN_REAL(kn_nn_recurrent, dropout), KN_REAL(kn_nn_recurrent, clip),                                   \
        KN_FLAG(kn_nn_recurrent, bidirectional), KN_FLAG(kn_nn_recurrent, batch_first),                      \
        KN_FLAG(kn_nn_recurrent, reverse), KN_MODULE(kn_nn_recurrent, hidden_activation, kn_nn_activation),  \
        KN_MODE(kn_nn_recurrent, training)

_Static_assert(KN_MAX_RECURRENT_LAYERS == 16, "COMMON_FIELDS lists each layer");

const kn_module_type kn_nn_rnn_type = {"Rnn", sizeof(kn_nn_rnn), (const kn_field[]){COMMON_FIELDS, {0}}};
const kn_module_type kn_nn_gru_type = {
    "Gru", sizeof(kn_nn_gru),
    (const kn_field[]){COMMON_FIELDS,
                       KN_FLAG(kn_nn_recurrent, reset_before),
                       KN_MODULE(kn_nn_recurrent, gate_activation, kn_nn_activation),
                       {0}}};
const kn_module_type kn_nn_lstm_type = {
    "Lstm", sizeof(kn_nn_lstm),
    (const kn_field[]){COMMON_FIELDS,
                       KN_FLAG(kn_nn_recurrent, input_forget),
                       KN_MODULE(kn_nn_recurrent, gate_activation, kn_nn_activation),
                       KN_MODULE(kn_nn_recurrent, cell_activation, kn_nn_activation),
                       {0}}};

typedef struct kind_row {
    const kn_module_type *type;
    const char *init, *forward;
    int64_t gates; /* rows of the weights, in hidden sizes */
} kind_row;

static const kind_row kinds[] = {
    [KN_RECURRENT_RNN] = {&kn_nn_rnn_type, "kn_nn_rnn_init", "kn_nn_rnn_forward", 1},
    [KN_RECURRENT_GRU] = {&kn_nn_gru_type, "kn_nn_gru_init", "kn_nn_gru_forward", 3},
    [KN_RECURRENT_LSTM] = {&kn_nn_lstm_type, "kn_nn_lstm_init", "kn_nn_lstm_forward", 4},
};

/* ---- making */

static kn_status check_args(const kind_row *row, kn_recurrent_kind kind, const kn_nn_recurrent *m,
                            const kn_nn_recurrent_args *args)
{
    const char *fault = NULL;
    kn_status s = kni_layer_positive(row->init, "input_size", m->input_size);
    if (s == KN_OK) s = kni_layer_positive(row->init, "hidden_size", m->hidden_size);
    if (s == KN_OK) s = kni_layer_positive(row->init, "num_layers", m->num_layers);
    if (s == KN_OK) s = kni_layer_range(row->init, "dropout", m->dropout, 0, 1);
    if (s == KN_OK) s = kni_layer_range(row->init, "clip", m->clip, 0, KNI_ANY);
    if (s != KN_OK) return s;
    if (m->num_layers > KN_MAX_RECURRENT_LAYERS)
        fault = "there can be at most 16 layers (KN_MAX_RECURRENT_LAYERS); use several modules";
    else if (m->hidden_size > INT64_MAX / 4)
        fault = "hidden_size is too large";
    else if (args->reverse && args->bidirectional)
        fault = "a layer of both directions cannot be reversed";
    else if (args->input_forget && kind != KN_RECURRENT_LSTM)
        fault = "input_forget is an option of LSTM";
    else if (args->reset_before && kind != KN_RECURRENT_GRU)
        fault = "reset_before is an option of GRU";
    else if (args->gate_activation && kind == KN_RECURRENT_RNN)
        fault = "this layer has no gates: give hidden_activation";
    else if (args->cell_activation && kind != KN_RECURRENT_LSTM)
        fault = "cell_activation is an option of LSTM; give hidden_activation";
    return fault ? kni_failure(KN_ERROR_ARGUMENT, "%s: %s", row->init, fault) : KN_OK;
}

static kn_status set_activation(const char *function, kn_nn_activation *place, const kn_nn_activation *given,
                                kn_activation_kind usual)
{
    if (!given) return kn_nn_activation_init(place, usual, NULL);
    if (given->weight.handle.bits || given->swiglu || given->kind == KN_ACTIVATION_GLU)
        return kni_failure(KN_ERROR_ARGUMENT,
                           "%s: an activation of a recurrent layer has no params and keeps the shape",
                           function);
    *place = *given;
    return KN_OK;
}

static kn_status make_cell(kn_nn_recurrent_cell *cell, int64_t in, int64_t hidden, int64_t rows,
                           const kn_nn_recurrent_args *args)
{
    double bound = 1 / kni_sqrt((double)hidden);
    kn_initializer even = {KN_INIT_UNIFORM, -bound, bound, 0, false};
    kn_dtype dtype = args->dtype;
    kn_status s = kni_layer_param(&cell->weight_ih, &args->weight, even, KN_SHAPE(rows, in), dtype, 0);
    if (s == KN_OK)
        s = kni_layer_param(&cell->weight_hh, &args->weight, even, KN_SHAPE(rows, hidden), dtype, 0);
    if (args->no_bias) return s;
    if (s == KN_OK) s = kni_layer_param(&cell->bias_ih, &args->bias, even, KN_SHAPE(rows), dtype, in);
    if (s == KN_OK) s = kni_layer_param(&cell->bias_hh, &args->bias, even, KN_SHAPE(rows), dtype, hidden);
    return s;
}

static kn_status make(kn_recurrent_kind kind, kn_nn_recurrent *m, int64_t input_size, int64_t hidden_size,
                      const kn_nn_recurrent_args *args)
{
    static const kn_nn_recurrent_args usual = KN_NN_RECURRENT_ARGS_DEFAULTS;
    if (!args) args = &usual;
    const kind_row *row = &kinds[kind];
    kn_nn_recurrent made = {.kind = kind,
                            .input_size = input_size,
                            .hidden_size = hidden_size,
                            .num_layers = kn_int_or(args->num_layers, usual.num_layers),
                            .dropout = kn_real_or(args->dropout, 0),
                            .clip = kn_real_or(args->clip, 0),
                            .bidirectional = args->bidirectional,
                            .batch_first = args->batch_first,
                            .reverse = args->reverse,
                            .input_forget = args->input_forget,
                            .reset_before = args->reset_before,
                            .training = true};
    int directions = args->bidirectional ? 2 : 1;
    kn_status s = check_args(row, kind, &made, args);
    if (s == KN_OK)
        s = set_activation(row->init, &made.gate_activation, args->gate_activation, KN_ACTIVATION_SIGMOID);
    if (s == KN_OK)
        s = set_activation(row->init, &made.cell_activation, args->cell_activation, KN_ACTIVATION_TANH);
    if (s == KN_OK)
        s = set_activation(row->init, &made.hidden_activation, args->hidden_activation, KN_ACTIVATION_TANH);
    for (int64_t layer = 0; s == KN_OK && layer < made.num_layers; layer++)
        for (int d = 0; s == KN_OK && d < directions; d++)
            s = make_cell(&made.cells[layer][d], layer ? hidden_size * directions : input_size, hidden_size,
                          row->gates * hidden_size, args);
    return kni_layer_finish_as(row->init, (kn_module){&made, row->type}, m, s);
}

kn_status kn_nn_rnn_init(kn_nn_rnn *m, int64_t input_size, int64_t hidden_size,
                         const kn_nn_recurrent_args *args)
{
    return make(KN_RECURRENT_RNN, m, input_size, hidden_size, args);
}

kn_status kn_nn_gru_init(kn_nn_gru *m, int64_t input_size, int64_t hidden_size,
                         const kn_nn_recurrent_args *args)
{
    return make(KN_RECURRENT_GRU, m, input_size, hidden_size, args);
}

kn_status kn_nn_lstm_init(kn_nn_lstm *m, int64_t input_size, int64_t hidden_size,
                          const kn_nn_recurrent_args *args)
{
    return make(KN_RECURRENT_LSTM, m, input_size, hidden_size, args);
}

/* ---- running */

static kn_tensor run(kn_recurrent_kind kind, const kn_nn_recurrent *m, kn_tensor x, kn_tensor *hidden,
                     kn_tensor *cell)
{
    if (m->kind != kind)
        return kni_poisoned(KN_ERROR_ARGUMENT, "%s: the layer %s", kinds[kind].forward,
                            m->kind == KN_RECURRENT_NONE ? "is not initialised" : "was made as another kind");
    return kni_recurrent_run(m, kinds[kind].forward, x, hidden, cell);
}

kn_tensor kn_nn_rnn_forward(const kn_nn_rnn *m, kn_tensor x, kn_tensor *hidden)
{
    KNI_NEEDS_INIT(kn_nn_rnn, m);
    return run(KN_RECURRENT_RNN, m, x, hidden, NULL);
}

kn_tensor kn_nn_gru_forward(const kn_nn_gru *m, kn_tensor x, kn_tensor *hidden)
{
    KNI_NEEDS_INIT(kn_nn_gru, m);
    return run(KN_RECURRENT_GRU, m, x, hidden, NULL);
}

kn_tensor kn_nn_lstm_forward(const kn_nn_lstm *m, kn_tensor x, kn_nn_lstm_state *state)
{
    KNI_NEEDS_INIT(kn_nn_lstm, m);
    return run(KN_RECURRENT_LSTM, m, x, state ? &state->hidden : NULL, state ? &state->cell : NULL);
}
