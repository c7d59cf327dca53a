/* Generated from src/ops/kernels/signal.kn by tools/gen/kernels.py; do not edit. */
#include "ops/kernel_prelude.h"
#include "ops/generated/signal_kernels.h"

#define T double
#define IS_FLOAT 1
#define fft(item, ...) fft_f64(int64_t *kni_error, item, __VA_ARGS__)
#define turn_cos turn_cos_f64
#include "ops/kernels/signal.kn"
#undef fft
#undef turn_cos
#undef T
#undef IS_FLOAT

static void run_fft_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        fft_f64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->outputs[1], call->temps[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4], call->ints[5], call->ints[6], call->ints + 7, call->reals[0]);
}

const kni_kernel kni_kernel_fft = {"fft", "TTTTr", 2, 2, 1, {run_fft_f64, NULL, NULL}};
