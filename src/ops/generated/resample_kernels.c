/* Generated from src/ops/kernels/resample.kn by tools/gen/kernels.py; do not edit. */
#include "ops/kernel_prelude.h"
#include "ops/generated/resample_kernels.h"

#define T double
#define IS_FLOAT 1
#define resample_taps(item, ...) resample_taps_f64(int64_t *kni_error, item, __VA_ARGS__)
#define resample(item, ...) resample_f64(int64_t *kni_error, item, __VA_ARGS__)
#define resample_grad(item, ...) resample_grad_f64(int64_t *kni_error, item, __VA_ARGS__)
#define resample_at resample_at_f64
#define resample_outside resample_outside_f64
#define resample_stretch resample_stretch_f64
#define resample_first resample_first_f64
#define resample_count resample_count_f64
#define resample_weight resample_weight_f64
#define resample_total resample_total_f64
#define resample_edge resample_edge_f64
#define resample_mode resample_mode_f64
#define resample_between resample_between_f64
#define resample_reader resample_reader_f64
#include "ops/kernels/resample.kn"
#undef resample_taps
#undef resample
#undef resample_grad
#undef resample_at
#undef resample_outside
#undef resample_stretch
#undef resample_first
#undef resample_count
#undef resample_weight
#undef resample_total
#undef resample_edge
#undef resample_mode
#undef resample_between
#undef resample_reader
#undef T
#undef IS_FLOAT

static void run_resample_taps_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        resample_taps_f64(call->error, item, call->outputs[0], call->outputs[1], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4], call->ints[5], call->ints[6], call->ints[7], call->reals[0], call->reals[1], call->reals[2], call->reals[3]);
}

static void run_resample_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        resample_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4], call->ints + 5, call->ints + 8, call->ints + 11, call->reals + 0, call->reals + 3, call->reals + 6, call->reals[9], call->reals[10]);
}

static void run_resample_grad_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        resample_grad_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4], call->ints + 5, call->ints + 8, call->ints + 11, call->reals + 0, call->reals + 3, call->reals + 6, call->reals[9]);
}

#define T int64_t
#define IS_FLOAT 0
#define resample_taps(item, ...) resample_taps_i64(int64_t *kni_error, item, __VA_ARGS__)
#define resample(item, ...) resample_i64(int64_t *kni_error, item, __VA_ARGS__)
#define resample_grad(item, ...) resample_grad_i64(int64_t *kni_error, item, __VA_ARGS__)
#define resample_at resample_at_i64
#define resample_outside resample_outside_i64
#define resample_stretch resample_stretch_i64
#define resample_first resample_first_i64
#define resample_count resample_count_i64
#define resample_weight resample_weight_i64
#define resample_total resample_total_i64
#define resample_edge resample_edge_i64
#define resample_mode resample_mode_i64
#define resample_between resample_between_i64
#define resample_reader resample_reader_i64
#include "ops/kernels/resample.kn"
#undef resample_taps
#undef resample
#undef resample_grad
#undef resample_at
#undef resample_outside
#undef resample_stretch
#undef resample_first
#undef resample_count
#undef resample_weight
#undef resample_total
#undef resample_edge
#undef resample_mode
#undef resample_between
#undef resample_reader
#undef T
#undef IS_FLOAT

static void run_resample_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        resample_i64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4], call->ints + 5, call->ints + 8, call->ints + 11, call->reals + 0, call->reals + 3, call->reals + 6, call->reals[9], call->reals[10]);
}

#define T uint64_t
#define IS_FLOAT 0
#define resample_taps(item, ...) resample_taps_u64(int64_t *kni_error, item, __VA_ARGS__)
#define resample(item, ...) resample_u64(int64_t *kni_error, item, __VA_ARGS__)
#define resample_grad(item, ...) resample_grad_u64(int64_t *kni_error, item, __VA_ARGS__)
#define resample_at resample_at_u64
#define resample_outside resample_outside_u64
#define resample_stretch resample_stretch_u64
#define resample_first resample_first_u64
#define resample_count resample_count_u64
#define resample_weight resample_weight_u64
#define resample_total resample_total_u64
#define resample_edge resample_edge_u64
#define resample_mode resample_mode_u64
#define resample_between resample_between_u64
#define resample_reader resample_reader_u64
#include "ops/kernels/resample.kn"
#undef resample_taps
#undef resample
#undef resample_grad
#undef resample_at
#undef resample_outside
#undef resample_stretch
#undef resample_first
#undef resample_count
#undef resample_weight
#undef resample_total
#undef resample_edge
#undef resample_mode
#undef resample_between
#undef resample_reader
#undef T
#undef IS_FLOAT

static void run_resample_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        resample_u64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4], call->ints + 5, call->ints + 8, call->ints + 11, call->reals + 0, call->reals + 3, call->reals + 6, call->reals[9], call->reals[10]);
}

const kni_kernel kni_kernel_resample_taps = {"resample_taps", "ir", 0, 2, 0, {run_resample_taps_f64, run_resample_taps_f64, run_resample_taps_f64}};
const kni_kernel kni_kernel_resample = {"resample", "TT", 1, 1, 0, {run_resample_f64, run_resample_i64, run_resample_u64}};
const kni_kernel kni_kernel_resample_grad = {"resample_grad", "TT", 1, 1, 0, {run_resample_grad_f64, NULL, NULL}};
