/* Generated from src/ops/kernels/movement.kn by tools/gen/kernels.py; do not edit. */
#include "ops/kernel_prelude.h"
#include "ops/generated/movement_kernels.h"

#define T double
#define IS_FLOAT 1
#define update_slice(item, ...) update_slice_f64(int64_t *kni_error, item, __VA_ARGS__)
#define slice_at(item, ...) slice_at_f64(int64_t *kni_error, item, __VA_ARGS__)
#define update_at(item, ...) update_at_f64(int64_t *kni_error, item, __VA_ARGS__)
#define window_grad(item, ...) window_grad_f64(int64_t *kni_error, item, __VA_ARGS__)
#define pad(item, ...) pad_f64(int64_t *kni_error, item, __VA_ARGS__)
#define pad_grad(item, ...) pad_grad_f64(int64_t *kni_error, item, __VA_ARGS__)
#define begin_at begin_at_f64
#define pad_source pad_source_f64
#include "ops/kernels/movement.kn"
#undef update_slice
#undef slice_at
#undef update_at
#undef window_grad
#undef pad
#undef pad_grad
#undef begin_at
#undef pad_source
#undef T
#undef IS_FLOAT

static void run_update_slice_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        update_slice_f64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 9, call->ints + 17, call->ints + 25);
}

static void run_slice_at_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        slice_at_f64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_update_at_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        update_at_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_window_grad_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        window_grad_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4]);
}

static void run_pad_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        pad_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 9, call->ints + 17, call->ints[25], call->reals[0], call->ints[26]);
}

static void run_pad_grad_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        pad_grad_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4]);
}

#define T int64_t
#define IS_FLOAT 0
#define update_slice(item, ...) update_slice_i64(int64_t *kni_error, item, __VA_ARGS__)
#define slice_at(item, ...) slice_at_i64(int64_t *kni_error, item, __VA_ARGS__)
#define update_at(item, ...) update_at_i64(int64_t *kni_error, item, __VA_ARGS__)
#define window_grad(item, ...) window_grad_i64(int64_t *kni_error, item, __VA_ARGS__)
#define pad(item, ...) pad_i64(int64_t *kni_error, item, __VA_ARGS__)
#define pad_grad(item, ...) pad_grad_i64(int64_t *kni_error, item, __VA_ARGS__)
#define begin_at begin_at_i64
#define pad_source pad_source_i64
#include "ops/kernels/movement.kn"
#undef update_slice
#undef slice_at
#undef update_at
#undef window_grad
#undef pad
#undef pad_grad
#undef begin_at
#undef pad_source
#undef T
#undef IS_FLOAT

static void run_update_slice_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        update_slice_i64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 9, call->ints + 17, call->ints + 25);
}

static void run_slice_at_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        slice_at_i64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_update_at_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        update_at_i64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_window_grad_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        window_grad_i64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4]);
}

static void run_pad_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        pad_i64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 9, call->ints + 17, call->ints[25], call->reals[0], call->ints[26]);
}

static void run_pad_grad_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        pad_grad_i64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4]);
}

#define T uint64_t
#define IS_FLOAT 0
#define update_slice(item, ...) update_slice_u64(int64_t *kni_error, item, __VA_ARGS__)
#define slice_at(item, ...) slice_at_u64(int64_t *kni_error, item, __VA_ARGS__)
#define update_at(item, ...) update_at_u64(int64_t *kni_error, item, __VA_ARGS__)
#define window_grad(item, ...) window_grad_u64(int64_t *kni_error, item, __VA_ARGS__)
#define pad(item, ...) pad_u64(int64_t *kni_error, item, __VA_ARGS__)
#define pad_grad(item, ...) pad_grad_u64(int64_t *kni_error, item, __VA_ARGS__)
#define begin_at begin_at_u64
#define pad_source pad_source_u64
#include "ops/kernels/movement.kn"
#undef update_slice
#undef slice_at
#undef update_at
#undef window_grad
#undef pad
#undef pad_grad
#undef begin_at
#undef pad_source
#undef T
#undef IS_FLOAT

static void run_update_slice_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        update_slice_u64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 9, call->ints + 17, call->ints + 25);
}

static void run_slice_at_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        slice_at_u64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_update_at_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        update_at_u64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_window_grad_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        window_grad_u64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4]);
}

static void run_pad_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        pad_u64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints + 1, call->ints + 9, call->ints + 17, call->ints[25], call->reals[0], call->ints[26]);
}

static void run_pad_grad_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        pad_grad_u64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4]);
}

const kni_kernel kni_kernel_update_slice = {"update_slice", "TTT", 2, 1, 0, {run_update_slice_f64, run_update_slice_i64, run_update_slice_u64}};
const kni_kernel kni_kernel_slice_at = {"slice_at", "TiT", 2, 1, 0, {run_slice_at_f64, run_slice_at_i64, run_slice_at_u64}};
const kni_kernel kni_kernel_update_at = {"update_at", "TTiT", 3, 1, 0, {run_update_at_f64, run_update_at_i64, run_update_at_u64}};
const kni_kernel kni_kernel_window_grad = {"window_grad", "TT", 1, 1, 0, {run_window_grad_f64, run_window_grad_i64, run_window_grad_u64}};
const kni_kernel kni_kernel_pad = {"pad", "TT", 1, 1, 0, {run_pad_f64, run_pad_i64, run_pad_u64}};
const kni_kernel kni_kernel_pad_grad = {"pad_grad", "TT", 1, 1, 0, {run_pad_grad_f64, run_pad_grad_i64, run_pad_grad_u64}};
