/* Generated from src/ops/kernels/reduce.kn by tools/gen/kernels.py; do not edit. */
#include "ops/kernel_prelude.h"
#include "ops/generated/reduce_kernels.h"

#define T double
#define IS_FLOAT 1
#define reduce_sum(item, ...) reduce_sum_f64(int64_t *kni_error, item, __VA_ARGS__)
#include "ops/kernels/reduce.kn"
#undef reduce_sum
#undef T
#undef IS_FLOAT

static void run_reduce_sum_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_sum_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1]);
}

#define T int64_t
#define IS_FLOAT 0
#define reduce_sum(item, ...) reduce_sum_i64(int64_t *kni_error, item, __VA_ARGS__)
#include "ops/kernels/reduce.kn"
#undef reduce_sum
#undef T
#undef IS_FLOAT

static void run_reduce_sum_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_sum_i64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1]);
}

#define T uint64_t
#define IS_FLOAT 0
#define reduce_sum(item, ...) reduce_sum_u64(int64_t *kni_error, item, __VA_ARGS__)
#include "ops/kernels/reduce.kn"
#undef reduce_sum
#undef T
#undef IS_FLOAT

static void run_reduce_sum_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_sum_u64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1]);
}

const kni_kernel kni_kernel_reduce_sum = {"reduce_sum", "TT", 1, 1, 0, {run_reduce_sum_f64, run_reduce_sum_i64, run_reduce_sum_u64}};
