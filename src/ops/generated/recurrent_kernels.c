/* Generated from src/ops/kernels/recurrent.kn by tools/gen/kernels.py; do not edit. */
#include "ops/kernel_prelude.h"
#include "ops/generated/recurrent_kernels.h"

#define T double
#define IS_FLOAT 1
#define lstm(item, ...) lstm_f64(int64_t *kni_error, item, __VA_ARGS__)
#define gru(item, ...) gru_f64(int64_t *kni_error, item, __VA_ARGS__)
#define rnn(item, ...) rnn_f64(int64_t *kni_error, item, __VA_ARGS__)
#define activated activated_f64
#include "ops/kernels/recurrent.kn"
#undef lstm
#undef gru
#undef rnn
#undef activated
#undef T
#undef IS_FLOAT

static void run_lstm_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        lstm_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->inputs[3], call->inputs[4], call->inputs[5], call->inputs[6], call->inputs[7], call->outputs[0], call->outputs[1], call->outputs[2], call->temps[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4], call->ints[5], call->ints[6], call->ints[7], call->ints[8], call->ints[9], call->ints[10], call->ints[11], call->ints + 12, call->reals + 0, call->reals + 6, call->reals[12]);
}

static void run_gru_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        gru_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->inputs[3], call->inputs[4], call->inputs[5], call->outputs[0], call->outputs[1], call->temps[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4], call->ints[5], call->ints[6], call->ints[7], call->ints[8], call->ints[9], call->ints + 10, call->reals + 0, call->reals + 6, call->reals[12]);
}

static void run_rnn_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        rnn_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->inputs[3], call->inputs[4], call->inputs[5], call->outputs[0], call->outputs[1], call->temps[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4], call->ints[5], call->ints[6], call->ints[7], call->ints[8], call->ints + 9, call->reals + 0, call->reals + 6, call->reals[12]);
}

const kni_kernel kni_kernel_lstm = {"lstm", "TTTTiTTTTTTT", 8, 3, 1, {run_lstm_f64, NULL, NULL}};
const kni_kernel kni_kernel_gru = {"gru", "TTTTiTTTT", 6, 2, 1, {run_gru_f64, NULL, NULL}};
const kni_kernel kni_kernel_rnn = {"rnn", "TTTTiTTTT", 6, 2, 1, {run_rnn_f64, NULL, NULL}};
