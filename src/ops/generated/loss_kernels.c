/* Generated from src/ops/kernels/loss.kn by tools/gen/kernels.py; do not edit. */
#include "ops/kernel_prelude.h"
#include "ops/generated/loss_kernels.h"

#define T double
#define IS_FLOAT 1
#define ctc_loss(item, ...) ctc_loss_f64(int64_t *kni_error, item, __VA_ARGS__)
#define ctc_loss_grad(item, ...) ctc_loss_grad_f64(int64_t *kni_error, item, __VA_ARGS__)
#define log_add log_add_f64
#include "ops/kernels/loss.kn"
#undef ctc_loss
#undef ctc_loss_grad
#undef log_add
#undef T
#undef IS_FLOAT

static void run_ctc_loss_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        ctc_loss_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->inputs[3], call->outputs[0], call->outputs[1], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4], call->ints[5], call->ints[6], call->ints[7]);
}

static void run_ctc_loss_grad_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        ctc_loss_grad_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->inputs[3], call->inputs[4], call->inputs[5], call->inputs[6], call->outputs[0], call->temps[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4], call->ints[5], call->ints[6], call->ints[7], call->ints[8]);
}

const kni_kernel kni_kernel_ctc_loss = {"ctc_loss", "riiirr", 4, 2, 0, {run_ctc_loss_f64, run_ctc_loss_f64, run_ctc_loss_f64}};
const kni_kernel kni_kernel_ctc_loss_grad = {"ctc_loss_grad", "rriiirrrr", 7, 1, 1, {run_ctc_loss_grad_f64, run_ctc_loss_grad_f64, run_ctc_loss_grad_f64}};
