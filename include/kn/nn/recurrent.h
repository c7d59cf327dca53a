/* Recurrent layers: kn_nn_rnn, kn_nn_gru, kn_nn_lstm, with several layers, in one direction or both (BiRnn, BiGru and BiLstm
   are these with .bidirectional). Params have PyTorch's names and shapes: weight_ih_l0 [gates hidden, in], weight_hh_l0
   [gates hidden, hidden], bias_ih_l0, bias_hh_l0 [gates hidden], then _l1 ..., with the suffix _reverse for the way back.

   x is [steps, batch, in], with batch_first [batch, steps, in], or [steps, in] for one sequence. The result has the same axes
   with directions * hidden features. States are [layers * directions, batch, hidden] (without batch for one sequence). They
   go in and come out through a pointer: NULL starts with zeros and hands nothing out, a KN_NONE inside starts with zeros.

       kn_nn_lstm_state state = {KN_NONE, KN_NONE};
       kn_tensor y = kn_nn_lstm_forward(&lstm, x, &state);   // and so on with the next part of the sequence

   State tensors are taken like operands and come out as temporaries. */
#ifndef KN_NN_RECURRENT_H
#define KN_NN_RECURRENT_H

#include <kn/nn/activations.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KN_MAX_RECURRENT_LAYERS 16

typedef enum kn_recurrent_kind {
    KN_RECURRENT_NONE = 0,
    KN_RECURRENT_RNN = 1,
    KN_RECURRENT_GRU = 2,
    KN_RECURRENT_LSTM = 3
} kn_recurrent_kind;

/* The params of one layer in one direction; biases may be absent. */
typedef struct kn_nn_recurrent_cell {
    kn_param weight_ih, weight_hh, bias_ih, bias_hh;
} kn_nn_recurrent_cell;

/* What the three layers have in common; use it under their names. */
typedef struct kn_nn_recurrent {
    kn_recurrent_kind kind;
    kn_nn_recurrent_cell cells[KN_MAX_RECURRENT_LAYERS][2]; /* of each layer: onward, and the way back */
    int64_t input_size, hidden_size, num_layers;
    double dropout, clip;
    bool bidirectional, batch_first, reverse, input_forget, reset_before;
    kn_nn_activation gate_activation, cell_activation, hidden_activation;
    bool training;
} kn_nn_recurrent;

typedef struct kn_nn_recurrent_args {
    int64_t num_layers; /* 0 = 1; each reads the results of the one before */
    bool bidirectional;
    bool batch_first; /* x is [batch, steps, in] */
    bool reverse;     /* walks from the last step to the first; results stay in the order of x */
    bool no_bias;
    double dropout;    /* of the results of each layer but the last, while training; 0 is off */
    double clip;       /* above 0: LSTM's cell state, else the hidden state, is kept within +-clip */
    bool input_forget; /* LSTM: the forget gate is 1 - the input gate; its own weights are not used */
    bool reset_before; /* GRU: n = tanh(W x + b + V (r h) + c), not tanh(W x + b + r (V h + c)) */
    /* Kinds without params, copied; NULL: sigmoid for gates, tanh for the others. cell: LSTM's candidate g. */
    const kn_nn_activation *gate_activation, *cell_activation, *hidden_activation;
    kn_initializer weight, bias; /* zeroed: uniform on +-1 / sqrt(hidden) */
    kn_dtype dtype;              /* 0 = f32 */
} kn_nn_recurrent_args;
#define KN_NN_RECURRENT_ARGS_DEFAULTS                                                                        \
    KN_FIELDS(1, false, false, false, false, 0.0, 0.0, false, false, NULL, NULL, NULL,                       \
              KN_INITIALIZER_DEFAULTS, KN_INITIALIZER_DEFAULTS, KN_F32)

/* h' = tanh(W x + b + V h + c) */
typedef kn_nn_recurrent kn_nn_rnn;
extern KN_API const kn_module_type kn_nn_rnn_type;
KN_API kn_status kn_nn_rnn_init(kn_nn_rnn *m, int64_t input_size, int64_t hidden_size,
                                const kn_nn_recurrent_args *args);
KN_API kn_tensor kn_nn_rnn_forward(const kn_nn_rnn *m, kn_tensor x, kn_tensor *hidden);

/* r, z = sigmoid(W x + b + V h + c); n = tanh(W x + b + r (V h + c)); h' = (1 - z) n + z h. Rows of the weights: r, z, n. */
typedef kn_nn_recurrent kn_nn_gru;
extern KN_API const kn_module_type kn_nn_gru_type;
KN_API kn_status kn_nn_gru_init(kn_nn_gru *m, int64_t input_size, int64_t hidden_size,
                                const kn_nn_recurrent_args *args);
KN_API kn_tensor kn_nn_gru_forward(const kn_nn_gru *m, kn_tensor x, kn_tensor *hidden);

/* i, f, o = sigmoid(W x + b + V h + c); g = tanh(the same); c' = f c + i g; h' = o tanh(c'). Rows of the weights: i, f, g, o. */
typedef kn_nn_recurrent kn_nn_lstm;
typedef struct kn_nn_lstm_state {
    kn_tensor hidden, cell;
} kn_nn_lstm_state;
extern KN_API const kn_module_type kn_nn_lstm_type;
KN_API kn_status kn_nn_lstm_init(kn_nn_lstm *m, int64_t input_size, int64_t hidden_size,
                                 const kn_nn_recurrent_args *args);
KN_API kn_tensor kn_nn_lstm_forward(const kn_nn_lstm *m, kn_tensor x, kn_nn_lstm_state *state);

#ifdef __cplusplus
}
#endif
#endif
