/* Generated from src/ops/kernels/creation.kn by tools/gen/kernels.py; do not edit. */
#include "ops/kernel_prelude.h"
#include "ops/generated/creation_kernels.h"

#define T double
#define IS_FLOAT 1
#define full(item, ...) full_f64(int64_t *kni_error, item, __VA_ARGS__)
#define iota(item, ...) iota_f64(int64_t *kni_error, item, __VA_ARGS__)
#define linspace(item, ...) linspace_f64(int64_t *kni_error, item, __VA_ARGS__)
#include "ops/kernels/creation.kn"
#undef full
#undef iota
#undef linspace
#undef T
#undef IS_FLOAT

static void run_full_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        full_f64(call->error, item, call->outputs[0], call->reals[0], call->ints[0]);
}

static void run_iota_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        iota_f64(call->error, item, call->outputs[0], call->reals[0], call->reals[1], call->ints[0], call->ints[1]);
}

static void run_linspace_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        linspace_f64(call->error, item, call->outputs[0], call->ints[0], call->reals[0], call->reals[1], call->reals[2]);
}

#define T int64_t
#define IS_FLOAT 0
#define full(item, ...) full_i64(int64_t *kni_error, item, __VA_ARGS__)
#define iota(item, ...) iota_i64(int64_t *kni_error, item, __VA_ARGS__)
#define linspace(item, ...) linspace_i64(int64_t *kni_error, item, __VA_ARGS__)
#include "ops/kernels/creation.kn"
#undef full
#undef iota
#undef linspace
#undef T
#undef IS_FLOAT

static void run_full_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        full_i64(call->error, item, call->outputs[0], call->reals[0], call->ints[0]);
}

static void run_iota_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        iota_i64(call->error, item, call->outputs[0], call->reals[0], call->reals[1], call->ints[0], call->ints[1]);
}

static void run_linspace_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        linspace_i64(call->error, item, call->outputs[0], call->ints[0], call->reals[0], call->reals[1], call->reals[2]);
}

#define T uint64_t
#define IS_FLOAT 0
#define full(item, ...) full_u64(int64_t *kni_error, item, __VA_ARGS__)
#define iota(item, ...) iota_u64(int64_t *kni_error, item, __VA_ARGS__)
#define linspace(item, ...) linspace_u64(int64_t *kni_error, item, __VA_ARGS__)
#include "ops/kernels/creation.kn"
#undef full
#undef iota
#undef linspace
#undef T
#undef IS_FLOAT

static void run_full_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        full_u64(call->error, item, call->outputs[0], call->reals[0], call->ints[0]);
}

static void run_iota_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        iota_u64(call->error, item, call->outputs[0], call->reals[0], call->reals[1], call->ints[0], call->ints[1]);
}

static void run_linspace_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        linspace_u64(call->error, item, call->outputs[0], call->ints[0], call->reals[0], call->reals[1], call->reals[2]);
}

const kni_kernel kni_kernel_full = {"full", "T", 0, 1, 0, {run_full_f64, run_full_i64, run_full_u64}};
const kni_kernel kni_kernel_iota = {"iota", "T", 0, 1, 0, {run_iota_f64, run_iota_i64, run_iota_u64}};
const kni_kernel kni_kernel_linspace = {"linspace", "T", 0, 1, 0, {run_linspace_f64, run_linspace_i64, run_linspace_u64}};
