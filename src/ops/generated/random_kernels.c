/* Generated from src/ops/kernels/random.kn by tools/gen/kernels.py; do not edit. */
#include "ops/kernel_prelude.h"
#include "ops/generated/random_kernels.h"

#define T double
#define IS_FLOAT 1
#define categorical(item, ...) categorical_f64(int64_t *kni_error, item, __VA_ARGS__)
#define uniform_53 uniform_53_f64
#include "ops/kernels/random.kn"
#undef categorical
#undef uniform_53
#undef T
#undef IS_FLOAT

static void run_categorical_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        categorical_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

#define T int64_t
#define IS_FLOAT 0
#define categorical(item, ...) categorical_i64(int64_t *kni_error, item, __VA_ARGS__)
#define uniform_53 uniform_53_i64
#include "ops/kernels/random.kn"
#undef categorical
#undef uniform_53
#undef T
#undef IS_FLOAT

static void run_categorical_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        categorical_i64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

#define T uint64_t
#define IS_FLOAT 0
#define categorical(item, ...) categorical_u64(int64_t *kni_error, item, __VA_ARGS__)
#define uniform_53 uniform_53_u64
#include "ops/kernels/random.kn"
#undef categorical
#undef uniform_53
#undef T
#undef IS_FLOAT

static void run_categorical_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        categorical_u64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

const kni_kernel kni_kernel_categorical = {"categorical", "Ti", 1, 1, 0, {run_categorical_f64, run_categorical_i64, run_categorical_u64}};
