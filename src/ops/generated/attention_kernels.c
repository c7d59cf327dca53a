/* Generated from src/ops/kernels/attention.kn by tools/gen/kernels.py; do not edit. */
#include "ops/kernel_prelude.h"
#include "ops/generated/attention_kernels.h"

#define T double
#define IS_FLOAT 1
#define attention(item, ...) attention_f64(int64_t *kni_error, item, __VA_ARGS__)
#define attention_at(item, ...) attention_at_f64(int64_t *kni_error, item, __VA_ARGS__)
#define score_of score_of_f64
#include "ops/kernels/attention.kn"
#undef attention
#undef attention_at
#undef score_of
#undef T
#undef IS_FLOAT

static void run_attention_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        attention_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->inputs[3], call->inputs[4], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4], call->ints[5], call->ints[6], call->ints[7], call->ints[8], call->ints + 9, call->ints + 13, call->reals[0], call->reals[1]);
}

static void run_attention_at_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        attention_at_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->inputs[3], call->inputs[4], call->inputs[5], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4], call->ints[5], call->ints[6], call->ints[7], call->ints[8], call->ints[9], call->ints + 10, call->ints + 14, call->reals[0], call->reals[1]);
}

const kni_kernel kni_kernel_attention = {"attention", "rrrirr", 5, 1, 0, {run_attention_f64, run_attention_f64, run_attention_f64}};
const kni_kernel kni_kernel_attention_at = {"attention_at", "rrriirr", 6, 1, 0, {run_attention_at_f64, run_attention_at_f64, run_attention_at_f64}};
