/* Generated from src/ops/kernels/update.kn by tools/gen/kernels.py; do not edit. */
#include "ops/kernel_prelude.h"
#include "ops/generated/update_kernels.h"

#define T double
#define IS_FLOAT 1
#define sgd_update(item, ...) sgd_update_f64(int64_t *kni_error, item, __VA_ARGS__)
#define adam_update(item, ...) adam_update_f64(int64_t *kni_error, item, __VA_ARGS__)
#define rmsprop_update(item, ...) rmsprop_update_f64(int64_t *kni_error, item, __VA_ARGS__)
#define adagrad_update(item, ...) adagrad_update_f64(int64_t *kni_error, item, __VA_ARGS__)
#define adan_update(item, ...) adan_update_f64(int64_t *kni_error, item, __VA_ARGS__)
#include "ops/kernels/update.kn"
#undef sgd_update
#undef adam_update
#undef rmsprop_update
#undef adagrad_update
#undef adan_update
#undef T
#undef IS_FLOAT

static void run_sgd_update_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        sgd_update_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->inputs[3], call->outputs[0], call->outputs[1], call->ints[0], call->ints[1], call->reals[0], call->reals[1], call->reals[2], call->reals[3], call->reals[4]);
}

static void run_adam_update_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        adam_update_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->inputs[3], call->inputs[4], call->inputs[5], call->outputs[0], call->outputs[1], call->outputs[2], call->outputs[3], call->ints[0], call->ints[1], call->reals[0], call->reals[1], call->reals[2], call->reals[3], call->reals[4], call->reals[5], call->reals[6], call->reals[7], call->reals[8]);
}

static void run_rmsprop_update_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        rmsprop_update_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->inputs[3], call->inputs[4], call->inputs[5], call->outputs[0], call->outputs[1], call->outputs[2], call->outputs[3], call->ints[0], call->ints[1], call->ints[2], call->reals[0], call->reals[1], call->reals[2], call->reals[3], call->reals[4], call->reals[5]);
}

static void run_adagrad_update_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        adagrad_update_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->inputs[3], call->outputs[0], call->outputs[1], call->ints[0], call->reals[0], call->reals[1], call->reals[2]);
}

static void run_adan_update_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        adan_update_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->inputs[3], call->inputs[4], call->inputs[5], call->inputs[6], call->outputs[0], call->outputs[1], call->outputs[2], call->outputs[3], call->outputs[4], call->ints[0], call->reals[0], call->reals[1], call->reals[2], call->reals[3], call->reals[4], call->reals[5], call->reals[6], call->reals[7], call->reals[8], call->reals[9], call->reals[10], call->reals[11]);
}

const kni_kernel kni_kernel_sgd_update = {"sgd_update", "rrrrrr", 4, 2, 0, {run_sgd_update_f64, run_sgd_update_f64, run_sgd_update_f64}};
const kni_kernel kni_kernel_adam_update = {"adam_update", "rrrrrrrrrr", 6, 4, 0, {run_adam_update_f64, run_adam_update_f64, run_adam_update_f64}};
const kni_kernel kni_kernel_rmsprop_update = {"rmsprop_update", "rrrrrrrrrr", 6, 4, 0, {run_rmsprop_update_f64, run_rmsprop_update_f64, run_rmsprop_update_f64}};
const kni_kernel kni_kernel_adagrad_update = {"adagrad_update", "rrrrrr", 4, 2, 0, {run_adagrad_update_f64, run_adagrad_update_f64, run_adagrad_update_f64}};
const kni_kernel kni_kernel_adan_update = {"adan_update", "rrrrrrrrrrrr", 7, 5, 0, {run_adan_update_f64, run_adan_update_f64, run_adan_update_f64}};
