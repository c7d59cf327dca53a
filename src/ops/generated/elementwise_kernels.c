/* Generated from src/ops/kernels/elementwise.kn by tools/gen/kernels.py; do not edit. */
#include "ops/kernel_prelude.h"
#include "ops/generated/elementwise_kernels.h"

#define T double
#define IS_FLOAT 1
#define elementwise_copy(item, ...) elementwise_copy_f64(int64_t *kni_error, item, __VA_ARGS__)
#include "ops/kernels/elementwise.kn"
#undef elementwise_copy
#undef T
#undef IS_FLOAT

static void run_elementwise_copy_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        elementwise_copy_f64(call->error, item, call->inputs[0], call->outputs[0]);
}

#define T int64_t
#define IS_FLOAT 0
#define elementwise_copy(item, ...) elementwise_copy_i64(int64_t *kni_error, item, __VA_ARGS__)
#include "ops/kernels/elementwise.kn"
#undef elementwise_copy
#undef T
#undef IS_FLOAT

static void run_elementwise_copy_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        elementwise_copy_i64(call->error, item, call->inputs[0], call->outputs[0]);
}

#define T uint64_t
#define IS_FLOAT 0
#define elementwise_copy(item, ...) elementwise_copy_u64(int64_t *kni_error, item, __VA_ARGS__)
#include "ops/kernels/elementwise.kn"
#undef elementwise_copy
#undef T
#undef IS_FLOAT

static void run_elementwise_copy_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        elementwise_copy_u64(call->error, item, call->inputs[0], call->outputs[0]);
}

const kni_kernel kni_kernel_elementwise_copy = {"elementwise_copy", "TT", 1, 1, 0, {run_elementwise_copy_f64, run_elementwise_copy_i64, run_elementwise_copy_u64}};
