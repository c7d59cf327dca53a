/* Generated from src/ops/kernels/random.kn by tools/gen/kernels.py; do not edit. */
#include "ops/kernel_prelude.h"
#include "ops/generated/random_kernels.h"

#define T double
#define IS_FLOAT 1
#define random_bits(item, ...) random_bits_f64(int64_t *kni_error, item, __VA_ARGS__)
#define random_uniform(item, ...) random_uniform_f64(int64_t *kni_error, item, __VA_ARGS__)
#define random_normal(item, ...) random_normal_f64(int64_t *kni_error, item, __VA_ARGS__)
#define random_bernoulli(item, ...) random_bernoulli_f64(int64_t *kni_error, item, __VA_ARGS__)
#define random_integer(item, ...) random_integer_f64(int64_t *kni_error, item, __VA_ARGS__)
#define categorical(item, ...) categorical_f64(int64_t *kni_error, item, __VA_ARGS__)
#define uniform_24 uniform_24_f64
#define uniform_53 uniform_53_f64
#include "ops/kernels/random.kn"
#undef random_bits
#undef random_uniform
#undef random_normal
#undef random_bernoulli
#undef random_integer
#undef categorical
#undef uniform_24
#undef uniform_53
#undef T
#undef IS_FLOAT

static void run_random_bits_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        random_bits_f64(call->error, item, call->outputs[0], call->ints[0], call->ints[1]);
}

static void run_random_uniform_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        random_uniform_f64(call->error, item, call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->reals[0], call->reals[1], call->reals[2]);
}

static void run_random_normal_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        random_normal_f64(call->error, item, call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->reals[0], call->reals[1]);
}

static void run_random_bernoulli_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        random_bernoulli_f64(call->error, item, call->outputs[0], call->ints[0], call->ints[1], call->reals[0]);
}

static void run_random_integer_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        random_integer_f64(call->error, item, call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_categorical_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        categorical_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

#define T int64_t
#define IS_FLOAT 0
#define random_bits(item, ...) random_bits_i64(int64_t *kni_error, item, __VA_ARGS__)
#define random_uniform(item, ...) random_uniform_i64(int64_t *kni_error, item, __VA_ARGS__)
#define random_normal(item, ...) random_normal_i64(int64_t *kni_error, item, __VA_ARGS__)
#define random_bernoulli(item, ...) random_bernoulli_i64(int64_t *kni_error, item, __VA_ARGS__)
#define random_integer(item, ...) random_integer_i64(int64_t *kni_error, item, __VA_ARGS__)
#define categorical(item, ...) categorical_i64(int64_t *kni_error, item, __VA_ARGS__)
#define uniform_24 uniform_24_i64
#define uniform_53 uniform_53_i64
#include "ops/kernels/random.kn"
#undef random_bits
#undef random_uniform
#undef random_normal
#undef random_bernoulli
#undef random_integer
#undef categorical
#undef uniform_24
#undef uniform_53
#undef T
#undef IS_FLOAT

static void run_random_bits_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        random_bits_i64(call->error, item, call->outputs[0], call->ints[0], call->ints[1]);
}

static void run_random_uniform_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        random_uniform_i64(call->error, item, call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->reals[0], call->reals[1], call->reals[2]);
}

static void run_random_normal_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        random_normal_i64(call->error, item, call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->reals[0], call->reals[1]);
}

static void run_random_bernoulli_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        random_bernoulli_i64(call->error, item, call->outputs[0], call->ints[0], call->ints[1], call->reals[0]);
}

static void run_random_integer_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        random_integer_i64(call->error, item, call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_categorical_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        categorical_i64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

#define T uint64_t
#define IS_FLOAT 0
#define random_bits(item, ...) random_bits_u64(int64_t *kni_error, item, __VA_ARGS__)
#define random_uniform(item, ...) random_uniform_u64(int64_t *kni_error, item, __VA_ARGS__)
#define random_normal(item, ...) random_normal_u64(int64_t *kni_error, item, __VA_ARGS__)
#define random_bernoulli(item, ...) random_bernoulli_u64(int64_t *kni_error, item, __VA_ARGS__)
#define random_integer(item, ...) random_integer_u64(int64_t *kni_error, item, __VA_ARGS__)
#define categorical(item, ...) categorical_u64(int64_t *kni_error, item, __VA_ARGS__)
#define uniform_24 uniform_24_u64
#define uniform_53 uniform_53_u64
#include "ops/kernels/random.kn"
#undef random_bits
#undef random_uniform
#undef random_normal
#undef random_bernoulli
#undef random_integer
#undef categorical
#undef uniform_24
#undef uniform_53
#undef T
#undef IS_FLOAT

static void run_random_bits_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        random_bits_u64(call->error, item, call->outputs[0], call->ints[0], call->ints[1]);
}

static void run_random_uniform_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        random_uniform_u64(call->error, item, call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->reals[0], call->reals[1], call->reals[2]);
}

static void run_random_normal_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        random_normal_u64(call->error, item, call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->reals[0], call->reals[1]);
}

static void run_random_bernoulli_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        random_bernoulli_u64(call->error, item, call->outputs[0], call->ints[0], call->ints[1], call->reals[0]);
}

static void run_random_integer_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        random_integer_u64(call->error, item, call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_categorical_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        categorical_u64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

const kni_kernel kni_kernel_random_bits = {"random_bits", "T", 0, 1, 0, {run_random_bits_f64, run_random_bits_i64, run_random_bits_u64}};
const kni_kernel kni_kernel_random_uniform = {"random_uniform", "T", 0, 1, 0, {run_random_uniform_f64, run_random_uniform_i64, run_random_uniform_u64}};
const kni_kernel kni_kernel_random_normal = {"random_normal", "T", 0, 1, 0, {run_random_normal_f64, run_random_normal_i64, run_random_normal_u64}};
const kni_kernel kni_kernel_random_bernoulli = {"random_bernoulli", "T", 0, 1, 0, {run_random_bernoulli_f64, run_random_bernoulli_i64, run_random_bernoulli_u64}};
const kni_kernel kni_kernel_random_integer = {"random_integer", "T", 0, 1, 0, {run_random_integer_f64, run_random_integer_i64, run_random_integer_u64}};
const kni_kernel kni_kernel_categorical = {"categorical", "Ti", 1, 1, 0, {run_categorical_f64, run_categorical_i64, run_categorical_u64}};
