/* Generated from src/ops/kernels/integer.kn by tools/gen/kernels.py; do not edit. */
#include "ops/kernel_prelude.h"
#include "ops/generated/integer_kernels.h"

#define T double
#define IS_FLOAT 1
#define matmul_integer(item, ...) matmul_integer_f64(int64_t *kni_error, item, __VA_ARGS__)
#define conv_integer(item, ...) conv_integer_f64(int64_t *kni_error, item, __VA_ARGS__)
#define linear_quantized(item, ...) linear_quantized_f64(int64_t *kni_error, item, __VA_ARGS__)
#define requantized requantized_f64
#include "ops/kernels/integer.kn"
#undef matmul_integer
#undef conv_integer
#undef linear_quantized
#undef requantized
#undef T
#undef IS_FLOAT

static void run_matmul_integer_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        matmul_integer_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->inputs[3], call->inputs[4], call->inputs[5], call->inputs[6], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints + 4, call->ints + 12, call->ints + 20, call->ints + 28, call->ints + 36, call->ints[44], call->ints[45], call->ints[46], call->ints[47], call->ints[48], call->ints[49], call->ints[50], call->ints[51], call->ints[52], call->ints[53]);
}

static void run_conv_integer_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        conv_integer_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->inputs[3], call->inputs[4], call->inputs[5], call->inputs[6], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints + 3, call->ints + 6, call->ints + 9, call->ints + 12, call->ints + 15, call->ints + 18, call->ints[21], call->ints[22], call->ints[23], call->ints[24], call->ints[25], call->ints[26], call->ints[27], call->ints[28], call->ints[29]);
}

static void run_linear_quantized_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        linear_quantized_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->inputs[3], call->inputs[4], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4], call->ints[5], call->ints[6], call->ints[7], call->ints[8], call->ints[9], call->ints[10]);
}

#define T int64_t
#define IS_FLOAT 0
#define matmul_integer(item, ...) matmul_integer_i64(int64_t *kni_error, item, __VA_ARGS__)
#define conv_integer(item, ...) conv_integer_i64(int64_t *kni_error, item, __VA_ARGS__)
#define linear_quantized(item, ...) linear_quantized_i64(int64_t *kni_error, item, __VA_ARGS__)
#define requantized requantized_i64
#include "ops/kernels/integer.kn"
#undef matmul_integer
#undef conv_integer
#undef linear_quantized
#undef requantized
#undef T
#undef IS_FLOAT

static void run_linear_quantized_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        linear_quantized_i64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->inputs[3], call->inputs[4], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4], call->ints[5], call->ints[6], call->ints[7], call->ints[8], call->ints[9], call->ints[10]);
}

#define T uint64_t
#define IS_FLOAT 0
#define matmul_integer(item, ...) matmul_integer_u64(int64_t *kni_error, item, __VA_ARGS__)
#define conv_integer(item, ...) conv_integer_u64(int64_t *kni_error, item, __VA_ARGS__)
#define linear_quantized(item, ...) linear_quantized_u64(int64_t *kni_error, item, __VA_ARGS__)
#define requantized requantized_u64
#include "ops/kernels/integer.kn"
#undef matmul_integer
#undef conv_integer
#undef linear_quantized
#undef requantized
#undef T
#undef IS_FLOAT

static void run_linear_quantized_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        linear_quantized_u64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->inputs[3], call->inputs[4], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4], call->ints[5], call->ints[6], call->ints[7], call->ints[8], call->ints[9], call->ints[10]);
}

const kni_kernel kni_kernel_matmul_integer = {"matmul_integer", "iiiiirii", 7, 1, 0, {run_matmul_integer_f64, run_matmul_integer_f64, run_matmul_integer_f64}};
const kni_kernel kni_kernel_conv_integer = {"conv_integer", "iiiiirii", 7, 1, 0, {run_conv_integer_f64, run_conv_integer_f64, run_conv_integer_f64}};
const kni_kernel kni_kernel_linear_quantized = {"linear_quantized", "TiTTTT", 5, 1, 0, {run_linear_quantized_f64, run_linear_quantized_i64, run_linear_quantized_u64}};
