/* Generated from src/ops/kernels/reduce.kn by tools/gen/kernels.py; do not edit. */
#include "ops/kernel_prelude.h"
#include "ops/generated/reduce_kernels.h"

#define T double
#define IS_FLOAT 1
#define reduce_sum(item, ...) reduce_sum_f64(int64_t *kni_error, item, __VA_ARGS__)
#define reduce_prod(item, ...) reduce_prod_f64(int64_t *kni_error, item, __VA_ARGS__)
#define reduce_mean(item, ...) reduce_mean_f64(int64_t *kni_error, item, __VA_ARGS__)
#define reduce_max(item, ...) reduce_max_f64(int64_t *kni_error, item, __VA_ARGS__)
#define reduce_min(item, ...) reduce_min_f64(int64_t *kni_error, item, __VA_ARGS__)
#define reduce_any(item, ...) reduce_any_f64(int64_t *kni_error, item, __VA_ARGS__)
#define reduce_all(item, ...) reduce_all_f64(int64_t *kni_error, item, __VA_ARGS__)
#define reduce_argmax(item, ...) reduce_argmax_f64(int64_t *kni_error, item, __VA_ARGS__)
#define reduce_argmin(item, ...) reduce_argmin_f64(int64_t *kni_error, item, __VA_ARGS__)
#define group_offset group_offset_f64
#include "ops/kernels/reduce.kn"
#undef reduce_sum
#undef reduce_prod
#undef reduce_mean
#undef reduce_max
#undef reduce_min
#undef reduce_any
#undef reduce_all
#undef reduce_argmax
#undef reduce_argmin
#undef group_offset
#undef T
#undef IS_FLOAT

static void run_reduce_sum_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_sum_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 8);
}

static void run_reduce_prod_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_prod_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 8);
}

static void run_reduce_mean_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_mean_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 8);
}

static void run_reduce_max_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_max_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 8);
}

static void run_reduce_min_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_min_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 8);
}

static void run_reduce_any_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_any_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 8);
}

static void run_reduce_all_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_all_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 8);
}

static void run_reduce_argmax_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_argmax_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1]);
}

static void run_reduce_argmin_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_argmin_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1]);
}

#define T int64_t
#define IS_FLOAT 0
#define reduce_sum(item, ...) reduce_sum_i64(int64_t *kni_error, item, __VA_ARGS__)
#define reduce_prod(item, ...) reduce_prod_i64(int64_t *kni_error, item, __VA_ARGS__)
#define reduce_mean(item, ...) reduce_mean_i64(int64_t *kni_error, item, __VA_ARGS__)
#define reduce_max(item, ...) reduce_max_i64(int64_t *kni_error, item, __VA_ARGS__)
#define reduce_min(item, ...) reduce_min_i64(int64_t *kni_error, item, __VA_ARGS__)
#define reduce_any(item, ...) reduce_any_i64(int64_t *kni_error, item, __VA_ARGS__)
#define reduce_all(item, ...) reduce_all_i64(int64_t *kni_error, item, __VA_ARGS__)
#define reduce_argmax(item, ...) reduce_argmax_i64(int64_t *kni_error, item, __VA_ARGS__)
#define reduce_argmin(item, ...) reduce_argmin_i64(int64_t *kni_error, item, __VA_ARGS__)
#define group_offset group_offset_i64
#include "ops/kernels/reduce.kn"
#undef reduce_sum
#undef reduce_prod
#undef reduce_mean
#undef reduce_max
#undef reduce_min
#undef reduce_any
#undef reduce_all
#undef reduce_argmax
#undef reduce_argmin
#undef group_offset
#undef T
#undef IS_FLOAT

static void run_reduce_sum_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_sum_i64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 8);
}

static void run_reduce_prod_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_prod_i64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 8);
}

static void run_reduce_max_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_max_i64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 8);
}

static void run_reduce_min_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_min_i64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 8);
}

static void run_reduce_any_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_any_i64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 8);
}

static void run_reduce_all_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_all_i64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 8);
}

static void run_reduce_argmax_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_argmax_i64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1]);
}

static void run_reduce_argmin_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_argmin_i64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1]);
}

#define T uint64_t
#define IS_FLOAT 0
#define reduce_sum(item, ...) reduce_sum_u64(int64_t *kni_error, item, __VA_ARGS__)
#define reduce_prod(item, ...) reduce_prod_u64(int64_t *kni_error, item, __VA_ARGS__)
#define reduce_mean(item, ...) reduce_mean_u64(int64_t *kni_error, item, __VA_ARGS__)
#define reduce_max(item, ...) reduce_max_u64(int64_t *kni_error, item, __VA_ARGS__)
#define reduce_min(item, ...) reduce_min_u64(int64_t *kni_error, item, __VA_ARGS__)
#define reduce_any(item, ...) reduce_any_u64(int64_t *kni_error, item, __VA_ARGS__)
#define reduce_all(item, ...) reduce_all_u64(int64_t *kni_error, item, __VA_ARGS__)
#define reduce_argmax(item, ...) reduce_argmax_u64(int64_t *kni_error, item, __VA_ARGS__)
#define reduce_argmin(item, ...) reduce_argmin_u64(int64_t *kni_error, item, __VA_ARGS__)
#define group_offset group_offset_u64
#include "ops/kernels/reduce.kn"
#undef reduce_sum
#undef reduce_prod
#undef reduce_mean
#undef reduce_max
#undef reduce_min
#undef reduce_any
#undef reduce_all
#undef reduce_argmax
#undef reduce_argmin
#undef group_offset
#undef T
#undef IS_FLOAT

static void run_reduce_sum_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_sum_u64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 8);
}

static void run_reduce_prod_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_prod_u64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 8);
}

static void run_reduce_max_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_max_u64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 8);
}

static void run_reduce_min_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_min_u64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 8);
}

static void run_reduce_any_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_any_u64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 8);
}

static void run_reduce_all_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_all_u64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 8);
}

static void run_reduce_argmax_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_argmax_u64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1]);
}

static void run_reduce_argmin_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        reduce_argmin_u64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1]);
}

const kni_kernel kni_kernel_reduce_sum = {"reduce_sum", "TT", 1, 1, 0, {run_reduce_sum_f64, run_reduce_sum_i64, run_reduce_sum_u64}};
const kni_kernel kni_kernel_reduce_prod = {"reduce_prod", "TT", 1, 1, 0, {run_reduce_prod_f64, run_reduce_prod_i64, run_reduce_prod_u64}};
const kni_kernel kni_kernel_reduce_mean = {"reduce_mean", "TT", 1, 1, 0, {run_reduce_mean_f64, NULL, NULL}};
const kni_kernel kni_kernel_reduce_max = {"reduce_max", "TT", 1, 1, 0, {run_reduce_max_f64, run_reduce_max_i64, run_reduce_max_u64}};
const kni_kernel kni_kernel_reduce_min = {"reduce_min", "TT", 1, 1, 0, {run_reduce_min_f64, run_reduce_min_i64, run_reduce_min_u64}};
const kni_kernel kni_kernel_reduce_any = {"reduce_any", "TT", 1, 1, 0, {run_reduce_any_f64, run_reduce_any_i64, run_reduce_any_u64}};
const kni_kernel kni_kernel_reduce_all = {"reduce_all", "TT", 1, 1, 0, {run_reduce_all_f64, run_reduce_all_i64, run_reduce_all_u64}};
const kni_kernel kni_kernel_reduce_argmax = {"reduce_argmax", "Ti", 1, 1, 0, {run_reduce_argmax_f64, run_reduce_argmax_i64, run_reduce_argmax_u64}};
const kni_kernel kni_kernel_reduce_argmin = {"reduce_argmin", "Ti", 1, 1, 0, {run_reduce_argmin_f64, run_reduce_argmin_i64, run_reduce_argmin_u64}};
