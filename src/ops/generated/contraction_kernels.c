/* Generated from src/ops/kernels/contraction.kn by tools/gen/kernels.py; do not edit. */
#include "ops/kernel_prelude.h"
#include "ops/generated/contraction_kernels.h"

#define T double
#define IS_FLOAT 1
#define matmul(item, ...) matmul_f64(int64_t *kni_error, item, __VA_ARGS__)
#define linear(item, ...) linear_f64(int64_t *kni_error, item, __VA_ARGS__)
#include "ops/kernels/contraction.kn"
#undef matmul
#undef linear
#undef T
#undef IS_FLOAT

static void run_matmul_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        matmul_f64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints + 4, call->ints + 12, call->ints + 20);
}

static void run_linear_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        linear_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints[2]);
}

#define T int64_t
#define IS_FLOAT 0
#define matmul(item, ...) matmul_i64(int64_t *kni_error, item, __VA_ARGS__)
#define linear(item, ...) linear_i64(int64_t *kni_error, item, __VA_ARGS__)
#include "ops/kernels/contraction.kn"
#undef matmul
#undef linear
#undef T
#undef IS_FLOAT

static void run_matmul_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        matmul_i64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints + 4, call->ints + 12, call->ints + 20);
}

static void run_linear_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        linear_i64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints[2]);
}

#define T uint64_t
#define IS_FLOAT 0
#define matmul(item, ...) matmul_u64(int64_t *kni_error, item, __VA_ARGS__)
#define linear(item, ...) linear_u64(int64_t *kni_error, item, __VA_ARGS__)
#include "ops/kernels/contraction.kn"
#undef matmul
#undef linear
#undef T
#undef IS_FLOAT

static void run_matmul_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        matmul_u64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints + 4, call->ints + 12, call->ints + 20);
}

static void run_linear_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        linear_u64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints[2]);
}

const kni_kernel kni_kernel_matmul = {"matmul", "TTT", 2, 1, 0, {run_matmul_f64, run_matmul_i64, run_matmul_u64}};
const kni_kernel kni_kernel_linear = {"linear", "TTTT", 3, 1, 0, {run_linear_f64, run_linear_i64, run_linear_u64}};
