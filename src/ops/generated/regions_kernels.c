/* Generated from src/ops/kernels/regions.kn by tools/gen/kernels.py; do not edit. */
#include "ops/kernel_prelude.h"
#include "ops/generated/regions_kernels.h"

#define T double
#define IS_FLOAT 1
#define roi_align(item, ...) roi_align_f64(int64_t *kni_error, item, __VA_ARGS__)
#define roi_align_grad(item, ...) roi_align_grad_f64(int64_t *kni_error, item, __VA_ARGS__)
#define roi_align_taps(item, ...) roi_align_taps_f64(int64_t *kni_error, item, __VA_ARGS__)
#define max_roi_pool(item, ...) max_roi_pool_f64(int64_t *kni_error, item, __VA_ARGS__)
#define nms(item, ...) nms_f64(int64_t *kni_error, item, __VA_ARGS__)
#define region_samples region_samples_f64
#define region_begin region_begin_f64
#define region_length region_length_f64
#define region_place region_place_f64
#define place_low place_low_f64
#define place_part place_part_f64
#define region_round region_round_f64
#define box_low box_low_f64
#define box_high box_high_f64
#define overlap overlap_f64
#include "ops/kernels/regions.kn"
#undef roi_align
#undef roi_align_grad
#undef roi_align_taps
#undef max_roi_pool
#undef nms
#undef region_samples
#undef region_begin
#undef region_length
#undef region_place
#undef place_low
#undef place_part
#undef region_round
#undef box_low
#undef box_high
#undef overlap
#undef T
#undef IS_FLOAT

static void run_roi_align_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        roi_align_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints + 2, call->ints + 4, call->ints[6], call->ints[7], call->ints[8], call->reals[0]);
}

static void run_roi_align_grad_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        roi_align_grad_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints + 2, call->ints + 4, call->ints[6], call->ints[7], call->reals[0], call->ints[8]);
}

static void run_roi_align_taps_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        roi_align_taps_f64(call->error, item, call->outputs[0], call->outputs[1], call->ints[0], call->ints[1], call->ints[2], call->reals[0], call->reals[1]);
}

static void run_max_roi_pool_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        max_roi_pool_f64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->outputs[1], call->ints[0], call->ints[1], call->ints + 2, call->ints + 4, call->reals[0]);
}

static void run_nms_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        nms_f64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->temps[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4], call->reals[0], call->reals[1]);
}

const kni_kernel kni_kernel_roi_align = {"roi_align", "TriT", 3, 1, 0, {run_roi_align_f64, NULL, NULL}};
const kni_kernel kni_kernel_roi_align_grad = {"roi_align_grad", "TriT", 3, 1, 0, {run_roi_align_grad_f64, NULL, NULL}};
const kni_kernel kni_kernel_roi_align_taps = {"roi_align_taps", "ir", 0, 2, 0, {run_roi_align_taps_f64, run_roi_align_taps_f64, run_roi_align_taps_f64}};
const kni_kernel kni_kernel_max_roi_pool = {"max_roi_pool", "TrTi", 2, 2, 0, {run_max_roi_pool_f64, NULL, NULL}};
const kni_kernel kni_kernel_nms = {"nms", "TTii", 2, 1, 1, {run_nms_f64, NULL, NULL}};
