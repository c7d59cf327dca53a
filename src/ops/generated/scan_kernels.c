/* Generated from src/ops/kernels/scan.kn by tools/gen/kernels.py; do not edit. */
#include "ops/kernel_prelude.h"
#include "ops/generated/scan_kernels.h"

#define T double
#define IS_FLOAT 1
#define scan_sum(item, ...) scan_sum_f64(int64_t *kni_error, item, __VA_ARGS__)
#define scan_prod(item, ...) scan_prod_f64(int64_t *kni_error, item, __VA_ARGS__)
#define scan_max(item, ...) scan_max_f64(int64_t *kni_error, item, __VA_ARGS__)
#define scan_min(item, ...) scan_min_f64(int64_t *kni_error, item, __VA_ARGS__)
#define scan_logsumexp(item, ...) scan_logsumexp_f64(int64_t *kni_error, item, __VA_ARGS__)
#define scan_linear(item, ...) scan_linear_f64(int64_t *kni_error, item, __VA_ARGS__)
#include "ops/kernels/scan.kn"
#undef scan_sum
#undef scan_prod
#undef scan_max
#undef scan_min
#undef scan_logsumexp
#undef scan_linear
#undef T
#undef IS_FLOAT

static void run_scan_sum_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        scan_sum_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_scan_prod_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        scan_prod_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_scan_max_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        scan_max_f64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->ints[0], call->ints[1]);
}

static void run_scan_min_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        scan_min_f64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->ints[0], call->ints[1]);
}

static void run_scan_logsumexp_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        scan_logsumexp_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1]);
}

static void run_scan_linear_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        scan_linear_f64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2]);
}

#define T int64_t
#define IS_FLOAT 0
#define scan_sum(item, ...) scan_sum_i64(int64_t *kni_error, item, __VA_ARGS__)
#define scan_prod(item, ...) scan_prod_i64(int64_t *kni_error, item, __VA_ARGS__)
#define scan_max(item, ...) scan_max_i64(int64_t *kni_error, item, __VA_ARGS__)
#define scan_min(item, ...) scan_min_i64(int64_t *kni_error, item, __VA_ARGS__)
#define scan_logsumexp(item, ...) scan_logsumexp_i64(int64_t *kni_error, item, __VA_ARGS__)
#define scan_linear(item, ...) scan_linear_i64(int64_t *kni_error, item, __VA_ARGS__)
#include "ops/kernels/scan.kn"
#undef scan_sum
#undef scan_prod
#undef scan_max
#undef scan_min
#undef scan_logsumexp
#undef scan_linear
#undef T
#undef IS_FLOAT

static void run_scan_sum_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        scan_sum_i64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_scan_prod_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        scan_prod_i64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_scan_max_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        scan_max_i64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->ints[0], call->ints[1]);
}

static void run_scan_min_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        scan_min_i64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->ints[0], call->ints[1]);
}

#define T uint64_t
#define IS_FLOAT 0
#define scan_sum(item, ...) scan_sum_u64(int64_t *kni_error, item, __VA_ARGS__)
#define scan_prod(item, ...) scan_prod_u64(int64_t *kni_error, item, __VA_ARGS__)
#define scan_max(item, ...) scan_max_u64(int64_t *kni_error, item, __VA_ARGS__)
#define scan_min(item, ...) scan_min_u64(int64_t *kni_error, item, __VA_ARGS__)
#define scan_logsumexp(item, ...) scan_logsumexp_u64(int64_t *kni_error, item, __VA_ARGS__)
#define scan_linear(item, ...) scan_linear_u64(int64_t *kni_error, item, __VA_ARGS__)
#include "ops/kernels/scan.kn"
#undef scan_sum
#undef scan_prod
#undef scan_max
#undef scan_min
#undef scan_logsumexp
#undef scan_linear
#undef T
#undef IS_FLOAT

static void run_scan_sum_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        scan_sum_u64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_scan_prod_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        scan_prod_u64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_scan_max_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        scan_max_u64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->ints[0], call->ints[1]);
}

static void run_scan_min_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        scan_min_u64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->ints[0], call->ints[1]);
}

const kni_kernel kni_kernel_scan_sum = {"scan_sum", "TT", 1, 1, 0, {run_scan_sum_f64, run_scan_sum_i64, run_scan_sum_u64}};
const kni_kernel kni_kernel_scan_prod = {"scan_prod", "TT", 1, 1, 0, {run_scan_prod_f64, run_scan_prod_i64, run_scan_prod_u64}};
const kni_kernel kni_kernel_scan_max = {"scan_max", "TTi", 1, 2, 0, {run_scan_max_f64, run_scan_max_i64, run_scan_max_u64}};
const kni_kernel kni_kernel_scan_min = {"scan_min", "TTi", 1, 2, 0, {run_scan_min_f64, run_scan_min_i64, run_scan_min_u64}};
const kni_kernel kni_kernel_scan_logsumexp = {"scan_logsumexp", "TT", 1, 1, 0, {run_scan_logsumexp_f64, NULL, NULL}};
const kni_kernel kni_kernel_scan_linear = {"scan_linear", "TTT", 2, 1, 0, {run_scan_linear_f64, NULL, NULL}};
