/* Generated from src/ops/kernels/spatial.kn by tools/gen/kernels.py; do not edit. */
#include "ops/kernel_prelude.h"
#include "ops/generated/spatial_kernels.h"

#define T double
#define IS_FLOAT 1
#define interpolate_taps(item, ...) interpolate_taps_f64(int64_t *kni_error, item, __VA_ARGS__)
#define interpolate(item, ...) interpolate_f64(int64_t *kni_error, item, __VA_ARGS__)
#define interpolate_grad(item, ...) interpolate_grad_f64(int64_t *kni_error, item, __VA_ARGS__)
#define grid_sample(item, ...) grid_sample_f64(int64_t *kni_error, item, __VA_ARGS__)
#define grid_sample_grad(item, ...) grid_sample_grad_f64(int64_t *kni_error, item, __VA_ARGS__)
#define grid_sample_taps(item, ...) grid_sample_taps_f64(int64_t *kni_error, item, __VA_ARGS__)
#define step_of step_of_f64
#define filter_reach filter_reach_f64
#define filter_at filter_at_f64
#define source_of source_of_f64
#define smooth_support smooth_support_f64
#define first_tap first_tap_f64
#define tap_count tap_count_f64
#define tap_weight tap_weight_f64
#define tap_total tap_total_f64
#define to_edge to_edge_f64
#define first_reader first_reader_f64
#define end_reader end_reader_f64
#define weight_between weight_between_f64
#define place_of place_of_f64
#define reflect_low reflect_low_f64
#define reflect_span reflect_span_f64
#define reflect reflect_f64
#define clamp_place clamp_place_f64
#define padded_place padded_place_f64
#define padded_slope padded_slope_f64
#define cubic_at cubic_at_f64
#define neighbour_weight neighbour_weight_f64
#define sample_spoiled sample_spoiled_f64
#define sample_place sample_place_f64
#define sample_first sample_first_f64
#define sample_factor sample_factor_f64
#define sample_position sample_position_f64
#include "ops/kernels/spatial.kn"
#undef interpolate_taps
#undef interpolate
#undef interpolate_grad
#undef grid_sample
#undef grid_sample_grad
#undef grid_sample_taps
#undef step_of
#undef filter_reach
#undef filter_at
#undef source_of
#undef smooth_support
#undef first_tap
#undef tap_count
#undef tap_weight
#undef tap_total
#undef to_edge
#undef first_reader
#undef end_reader
#undef weight_between
#undef place_of
#undef reflect_low
#undef reflect_span
#undef reflect
#undef clamp_place
#undef padded_place
#undef padded_slope
#undef cubic_at
#undef neighbour_weight
#undef sample_spoiled
#undef sample_place
#undef sample_first
#undef sample_factor
#undef sample_position
#undef T
#undef IS_FLOAT

static void run_interpolate_taps_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        interpolate_taps_f64(call->error, item, call->outputs[0], call->outputs[1], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4], call->ints[5], call->reals[0]);
}

static void run_interpolate_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        interpolate_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints + 3, call->ints + 6, call->reals[0], call->reals[1], call->reals[2]);
}

static void run_interpolate_grad_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        interpolate_grad_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints + 3, call->ints + 6, call->reals[0], call->reals[1], call->reals[2]);
}

static void run_grid_sample_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        grid_sample_f64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4], call->ints + 5, call->ints + 8, call->ints + 11);
}

static void run_grid_sample_grad_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        grid_sample_grad_f64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4], call->ints + 5, call->ints + 8, call->ints + 11);
}

static void run_grid_sample_taps_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        grid_sample_taps_f64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4], call->ints[5], call->ints + 6, call->ints + 9);
}

const kni_kernel kni_kernel_interpolate_taps = {"interpolate_taps", "ir", 0, 2, 0, {run_interpolate_taps_f64, run_interpolate_taps_f64, run_interpolate_taps_f64}};
const kni_kernel kni_kernel_interpolate = {"interpolate", "TT", 1, 1, 0, {run_interpolate_f64, NULL, NULL}};
const kni_kernel kni_kernel_interpolate_grad = {"interpolate_grad", "TT", 1, 1, 0, {run_interpolate_grad_f64, NULL, NULL}};
const kni_kernel kni_kernel_grid_sample = {"grid_sample", "TrT", 2, 1, 0, {run_grid_sample_f64, NULL, NULL}};
const kni_kernel kni_kernel_grid_sample_grad = {"grid_sample_grad", "TrT", 2, 1, 0, {run_grid_sample_grad_f64, NULL, NULL}};
const kni_kernel kni_kernel_grid_sample_taps = {"grid_sample_taps", "rir", 1, 2, 0, {run_grid_sample_taps_f64, run_grid_sample_taps_f64, run_grid_sample_taps_f64}};
