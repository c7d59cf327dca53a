/* Generated from src/ops/kernels/indexing.kn by tools/gen/kernels.py; do not edit. */
#include "ops/kernel_prelude.h"
#include "ops/generated/indexing_kernels.h"

#define T double
#define IS_FLOAT 1
#define take(item, ...) take_f64(int64_t *kni_error, item, __VA_ARGS__)
#define gather(item, ...) gather_f64(int64_t *kni_error, item, __VA_ARGS__)
#define gather_nd(item, ...) gather_nd_f64(int64_t *kni_error, item, __VA_ARGS__)
#define select_assign(item, ...) select_assign_f64(int64_t *kni_error, item, __VA_ARGS__)
#define scatter(item, ...) scatter_f64(int64_t *kni_error, item, __VA_ARGS__)
#define scatter_nd(item, ...) scatter_nd_f64(int64_t *kni_error, item, __VA_ARGS__)
#define nonzero(item, ...) nonzero_f64(int64_t *kni_error, item, __VA_ARGS__)
#define position position_f64
#define updated updated_f64
#include "ops/kernels/indexing.kn"
#undef take
#undef gather
#undef gather_nd
#undef select_assign
#undef scatter
#undef scatter_nd
#undef nonzero
#undef position
#undef updated
#undef T
#undef IS_FLOAT

static void run_take_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        take_f64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_gather_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        gather_f64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_gather_nd_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        gather_nd_f64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints + 3);
}

static void run_select_assign_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        select_assign_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4]);
}

static void run_scatter_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        scatter_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4]);
}

static void run_scatter_nd_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        scatter_nd_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints + 4, call->ints[12]);
}

static void run_nonzero_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        nonzero_f64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->ints[0], call->ints[1], call->ints[2], call->ints + 3);
}

#define T int64_t
#define IS_FLOAT 0
#define take(item, ...) take_i64(int64_t *kni_error, item, __VA_ARGS__)
#define gather(item, ...) gather_i64(int64_t *kni_error, item, __VA_ARGS__)
#define gather_nd(item, ...) gather_nd_i64(int64_t *kni_error, item, __VA_ARGS__)
#define select_assign(item, ...) select_assign_i64(int64_t *kni_error, item, __VA_ARGS__)
#define scatter(item, ...) scatter_i64(int64_t *kni_error, item, __VA_ARGS__)
#define scatter_nd(item, ...) scatter_nd_i64(int64_t *kni_error, item, __VA_ARGS__)
#define nonzero(item, ...) nonzero_i64(int64_t *kni_error, item, __VA_ARGS__)
#define position position_i64
#define updated updated_i64
#include "ops/kernels/indexing.kn"
#undef take
#undef gather
#undef gather_nd
#undef select_assign
#undef scatter
#undef scatter_nd
#undef nonzero
#undef position
#undef updated
#undef T
#undef IS_FLOAT

static void run_take_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        take_i64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_gather_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        gather_i64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_gather_nd_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        gather_nd_i64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints + 3);
}

static void run_select_assign_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        select_assign_i64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4]);
}

static void run_scatter_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        scatter_i64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4]);
}

static void run_scatter_nd_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        scatter_nd_i64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints + 4, call->ints[12]);
}

static void run_nonzero_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        nonzero_i64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->ints[0], call->ints[1], call->ints[2], call->ints + 3);
}

#define T uint64_t
#define IS_FLOAT 0
#define take(item, ...) take_u64(int64_t *kni_error, item, __VA_ARGS__)
#define gather(item, ...) gather_u64(int64_t *kni_error, item, __VA_ARGS__)
#define gather_nd(item, ...) gather_nd_u64(int64_t *kni_error, item, __VA_ARGS__)
#define select_assign(item, ...) select_assign_u64(int64_t *kni_error, item, __VA_ARGS__)
#define scatter(item, ...) scatter_u64(int64_t *kni_error, item, __VA_ARGS__)
#define scatter_nd(item, ...) scatter_nd_u64(int64_t *kni_error, item, __VA_ARGS__)
#define nonzero(item, ...) nonzero_u64(int64_t *kni_error, item, __VA_ARGS__)
#define position position_u64
#define updated updated_u64
#include "ops/kernels/indexing.kn"
#undef take
#undef gather
#undef gather_nd
#undef select_assign
#undef scatter
#undef scatter_nd
#undef nonzero
#undef position
#undef updated
#undef T
#undef IS_FLOAT

static void run_take_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        take_u64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_gather_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        gather_u64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_gather_nd_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        gather_nd_u64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints + 3);
}

static void run_select_assign_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        select_assign_u64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4]);
}

static void run_scatter_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        scatter_u64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4]);
}

static void run_scatter_nd_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        scatter_nd_u64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints + 4, call->ints[12]);
}

static void run_nonzero_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        nonzero_u64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->ints[0], call->ints[1], call->ints[2], call->ints + 3);
}

const kni_kernel kni_kernel_take = {"take", "TiT", 2, 1, 0, {run_take_f64, run_take_i64, run_take_u64}};
const kni_kernel kni_kernel_gather = {"gather", "TiT", 2, 1, 0, {run_gather_f64, run_gather_i64, run_gather_u64}};
const kni_kernel kni_kernel_gather_nd = {"gather_nd", "TiT", 2, 1, 0, {run_gather_nd_f64, run_gather_nd_i64, run_gather_nd_u64}};
const kni_kernel kni_kernel_select_assign = {"select_assign", "TiTT", 3, 1, 0, {run_select_assign_f64, run_select_assign_i64, run_select_assign_u64}};
const kni_kernel kni_kernel_scatter = {"scatter", "TiTT", 3, 1, 0, {run_scatter_f64, run_scatter_i64, run_scatter_u64}};
const kni_kernel kni_kernel_scatter_nd = {"scatter_nd", "TiTT", 3, 1, 0, {run_scatter_nd_f64, run_scatter_nd_i64, run_scatter_nd_u64}};
const kni_kernel kni_kernel_nonzero = {"nonzero", "Tii", 1, 2, 0, {run_nonzero_f64, run_nonzero_i64, run_nonzero_u64}};
