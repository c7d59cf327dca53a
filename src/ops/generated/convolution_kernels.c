/* Generated from src/ops/kernels/convolution.kn by tools/gen/kernels.py; do not edit. */
#include "ops/kernel_prelude.h"
#include "ops/generated/convolution_kernels.h"

#define T double
#define IS_FLOAT 1
#define conv(item, ...) conv_f64(int64_t *kni_error, item, __VA_ARGS__)
#define conv_transpose(item, ...) conv_transpose_f64(int64_t *kni_error, item, __VA_ARGS__)
#define conv_weight_grad(item, ...) conv_weight_grad_f64(int64_t *kni_error, item, __VA_ARGS__)
#define deform_sample(item, ...) deform_sample_f64(int64_t *kni_error, item, __VA_ARGS__)
#define deform_sample_grad(item, ...) deform_sample_grad_f64(int64_t *kni_error, item, __VA_ARGS__)
#define inside inside_f64
#include "ops/kernels/convolution.kn"
#undef conv
#undef conv_transpose
#undef conv_weight_grad
#undef deform_sample
#undef deform_sample_grad
#undef inside
#undef T
#undef IS_FLOAT

static void run_conv_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        conv_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints + 3, call->ints + 6, call->ints + 9, call->ints + 12, call->ints + 15, call->ints + 18, call->ints[21]);
}

static void run_conv_transpose_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        conv_transpose_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints + 3, call->ints + 6, call->ints + 9, call->ints + 12, call->ints + 15, call->ints + 18, call->ints[21]);
}

static void run_conv_weight_grad_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        conv_weight_grad_f64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints + 4, call->ints + 7, call->ints + 10, call->ints + 13, call->ints + 16, call->ints + 19);
}

static void run_deform_sample_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        deform_sample_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints + 2, call->ints + 4, call->ints + 6, call->ints + 8, call->ints + 10, call->ints + 12, call->ints[14]);
}

static void run_deform_sample_grad_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        deform_sample_grad_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->inputs[3], call->outputs[0], call->outputs[1], call->outputs[2], call->ints[0], call->ints[1], call->ints + 2, call->ints + 4, call->ints + 6, call->ints + 8, call->ints + 10, call->ints + 12, call->ints[14]);
}

#define T int64_t
#define IS_FLOAT 0
#define conv(item, ...) conv_i64(int64_t *kni_error, item, __VA_ARGS__)
#define conv_transpose(item, ...) conv_transpose_i64(int64_t *kni_error, item, __VA_ARGS__)
#define conv_weight_grad(item, ...) conv_weight_grad_i64(int64_t *kni_error, item, __VA_ARGS__)
#define deform_sample(item, ...) deform_sample_i64(int64_t *kni_error, item, __VA_ARGS__)
#define deform_sample_grad(item, ...) deform_sample_grad_i64(int64_t *kni_error, item, __VA_ARGS__)
#define inside inside_i64
#include "ops/kernels/convolution.kn"
#undef conv
#undef conv_transpose
#undef conv_weight_grad
#undef deform_sample
#undef deform_sample_grad
#undef inside
#undef T
#undef IS_FLOAT

static void run_conv_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        conv_i64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints + 3, call->ints + 6, call->ints + 9, call->ints + 12, call->ints + 15, call->ints + 18, call->ints[21]);
}

static void run_conv_transpose_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        conv_transpose_i64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints + 3, call->ints + 6, call->ints + 9, call->ints + 12, call->ints + 15, call->ints + 18, call->ints[21]);
}

static void run_conv_weight_grad_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        conv_weight_grad_i64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints + 4, call->ints + 7, call->ints + 10, call->ints + 13, call->ints + 16, call->ints + 19);
}

#define T uint64_t
#define IS_FLOAT 0
#define conv(item, ...) conv_u64(int64_t *kni_error, item, __VA_ARGS__)
#define conv_transpose(item, ...) conv_transpose_u64(int64_t *kni_error, item, __VA_ARGS__)
#define conv_weight_grad(item, ...) conv_weight_grad_u64(int64_t *kni_error, item, __VA_ARGS__)
#define deform_sample(item, ...) deform_sample_u64(int64_t *kni_error, item, __VA_ARGS__)
#define deform_sample_grad(item, ...) deform_sample_grad_u64(int64_t *kni_error, item, __VA_ARGS__)
#define inside inside_u64
#include "ops/kernels/convolution.kn"
#undef conv
#undef conv_transpose
#undef conv_weight_grad
#undef deform_sample
#undef deform_sample_grad
#undef inside
#undef T
#undef IS_FLOAT

static void run_conv_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        conv_u64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints + 3, call->ints + 6, call->ints + 9, call->ints + 12, call->ints + 15, call->ints + 18, call->ints[21]);
}

static void run_conv_transpose_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        conv_transpose_u64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints + 3, call->ints + 6, call->ints + 9, call->ints + 12, call->ints + 15, call->ints + 18, call->ints[21]);
}

static void run_conv_weight_grad_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        conv_weight_grad_u64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints + 4, call->ints + 7, call->ints + 10, call->ints + 13, call->ints + 16, call->ints + 19);
}

const kni_kernel kni_kernel_conv = {"conv", "TTTT", 3, 1, 0, {run_conv_f64, run_conv_i64, run_conv_u64}};
const kni_kernel kni_kernel_conv_transpose = {"conv_transpose", "TTTT", 3, 1, 0, {run_conv_transpose_f64, run_conv_transpose_i64, run_conv_transpose_u64}};
const kni_kernel kni_kernel_conv_weight_grad = {"conv_weight_grad", "TTT", 2, 1, 0, {run_conv_weight_grad_f64, run_conv_weight_grad_i64, run_conv_weight_grad_u64}};
const kni_kernel kni_kernel_deform_sample = {"deform_sample", "rrrr", 3, 1, 0, {run_deform_sample_f64, run_deform_sample_f64, run_deform_sample_f64}};
const kni_kernel kni_kernel_deform_sample_grad = {"deform_sample_grad", "rrrrrrr", 4, 3, 0, {run_deform_sample_grad_f64, run_deform_sample_grad_f64, run_deform_sample_grad_f64}};
