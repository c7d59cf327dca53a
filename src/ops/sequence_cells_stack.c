/* lstm, gru and rnn as recurrent_layers, where a library of the device has those: one layer with the usual activations and whole sequences.
   Gates change places, since ONNX has them in another order. */
#include "ops/recurrent_layers.h"
#include "ops/sequence_cells.h"
#include <kn/functional.h>

enum { MOST_GATES = 4, MOST_PIECES = 2 * 4 * MOST_GATES };

/* Where the gates of recurrent_layers are among those of ONNX. */
static const uint8_t places[][MOST_GATES] = {
    [KNI_RECURRENT_RNN] = {0}, [KNI_RECURRENT_GRU] = {1, 0, 2}, [KNI_RECURRENT_LSTM] = {0, 2, 3, 1}};

static bool is_given(const kni_lowering *l, int i) { return i < l->n_in && l->in[i].bits; }

/* Activations are filled in by the shape rule. */
static bool is_usual(const kni_lowering *l, int cell)
{
    const kni_recurrent_attributes *a = l->attributes;
    const int kinds = cell + 1; /* of a direction; the first is that of the gates, but for rnn */
    for (int i = 0; i < a->activations.rank; i++) {
        const bool gate = cell != KNI_RECURRENT_RNN && i % kinds == 0;
        if (a->activations.dims[i] != (gate ? KN_GATE_SIGMOID : KN_GATE_TANH)) return false;
    }
    return !is_given(l, KNI_RECURRENT_LENGTHS) && !is_given(l, KNI_RECURRENT_PEEPHOLES) && a->clip == 0 &&
           !a->input_forget && (cell != KNI_RECURRENT_GRU || a->linear_before_reset);
}

bool kni_recurrent_stacks(const kni_lowering *l, const kni_recurrent_sizes *z)
{
    return is_usual(l, z->cell) && z->steps > 0 && z->batch > 0 && z->ins > 0 && z->hidden > 0 &&
           z->hidden <= KNI_LAYERS_HIDDEN_MOST &&
           kn_recurrent_layers_at_once(l->in[KNI_RECURRENT_X]) == INT32_MAX;
}

/* The gates of rows that begin at `start`, one after the other; how many pieces. */
static int add_gates(const kni_recurrent_sizes *z, kn_tensor rows, int64_t start, int64_t each,
                     kn_tensor *pieces)
{
    for (int i = 0; i < z->gates; i++) {
        const int64_t at = start + places[z->cell][i] * z->hidden;
        pieces[i] = kn_reshape(kn_narrow(rows, 0, at, z->hidden), KN_SHAPE(z->hidden * each));
    }
    return z->gates;
}

static kn_tensor weights_of(const kni_lowering *l, const kni_recurrent_sizes *z)
{
    kn_tensor pieces[MOST_PIECES];
    int n = 0;
    for (int64_t d = 0; d < z->directions; d++) {
        kn_tensor of_x = kn_keep(kn_select(l->in[KNI_RECURRENT_WEIGHT], 0, d));
        kn_tensor of_h = kn_keep(kn_select(l->in[KNI_RECURRENT_WEIGHT_H], 0, d));
        n += add_gates(z, of_x, 0, z->ins, pieces + n);
        n += add_gates(z, of_h, 0, z->hidden, pieces + n);
    }
    for (int64_t d = 0; d < z->directions && is_given(l, KNI_RECURRENT_BIAS); d++) {
        kn_tensor bias = kn_keep(kn_select(l->in[KNI_RECURRENT_BIAS], 0, d));
        n += add_gates(z, bias, 0, 1, pieces + n);
        n += add_gates(z, bias, z->gates * z->hidden, 1, pieces + n);
    }
    return kn_concat(pieces, n, 0);
}

static kn_tensor in_dtype(kn_tensor x, kn_dtype dtype)
{
    return kn_dtype_of(x) == dtype ? x : kn_cast(x, dtype);
}

kn_status kni_recurrent_stack(kni_lowering *l, const kni_recurrent_sizes *z)
{
    const kni_recurrent_attributes *a = l->attributes;
    const bool back = a->direction == 1;
    const kn_dtype dtype = kn_dtype_of(l->in[KNI_RECURRENT_X]);
    const kn_recurrent_layers_args args = {
        .cell = (kn_layers_cell)(z->cell + 1),
        .hidden = z->hidden,
        .bidirectional = z->directions == 2,
        .no_bias = !is_given(l, KNI_RECURRENT_BIAS),
        .h = is_given(l, KNI_RECURRENT_H) ? l->in[KNI_RECURRENT_H] : KN_NONE,
        .c = is_given(l, KNI_RECURRENT_C) ? l->in[KNI_RECURRENT_C] : KN_NONE};
    kn_tensor x = l->in[KNI_RECURRENT_X];
    if (back) x = kn_flip(x, KN_AXES(0));
    kn_recurrent_result r = kn_recurrent_layers(x, weights_of(l, z), &args);
    kn_tensor y = kn_reshape(r.y, KN_SHAPE(z->steps, z->batch, z->directions, z->hidden));
    y = kn_transpose(y, 1, 2);
    l->out[0] = in_dtype(back ? kn_flip(y, KN_AXES(0)) : y, dtype);
    l->out[1] = in_dtype(r.h, dtype);
    if (l->n_out > 2) l->out[2] = in_dtype(r.c, dtype);
    return KN_OK;
}
