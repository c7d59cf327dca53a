/* Generated from src/ops/kernels/window.kn by tools/gen/kernels.py; do not edit. */
#include "ops/kernel_prelude.h"
#include "ops/generated/window_kernels.h"

#define T double
#define IS_FLOAT 1
#define max_pool(item, ...) max_pool_f64(int64_t *kni_error, item, __VA_ARGS__)
#define max_pool_values(item, ...) max_pool_values_f64(int64_t *kni_error, item, __VA_ARGS__)
#define max_pool_grad(item, ...) max_pool_grad_f64(int64_t *kni_error, item, __VA_ARGS__)
#define avg_pool(item, ...) avg_pool_f64(int64_t *kni_error, item, __VA_ARGS__)
#define avg_pool_grad(item, ...) avg_pool_grad_f64(int64_t *kni_error, item, __VA_ARGS__)
#define adaptive_avg_pool(item, ...) adaptive_avg_pool_f64(int64_t *kni_error, item, __VA_ARGS__)
#define adaptive_avg_pool_grad(item, ...) adaptive_avg_pool_grad_f64(int64_t *kni_error, item, __VA_ARGS__)
#define adaptive_max_pool(item, ...) adaptive_max_pool_f64(int64_t *kni_error, item, __VA_ARGS__)
#define adaptive_max_pool_grad(item, ...) adaptive_max_pool_grad_f64(int64_t *kni_error, item, __VA_ARGS__)
#define unfold4d(item, ...) unfold4d_f64(int64_t *kni_error, item, __VA_ARGS__)
#define fold4d(item, ...) fold4d_f64(int64_t *kni_error, item, __VA_ARGS__)
#define im2col(item, ...) im2col_f64(int64_t *kni_error, item, __VA_ARGS__)
#define col2im(item, ...) col2im_f64(int64_t *kni_error, item, __VA_ARGS__)
#define adaptive_begin adaptive_begin_f64
#define adaptive_end adaptive_end_f64
#define taps_below taps_below_f64
#define taps_outside taps_outside_f64
#define taps_counted taps_counted_f64
#define first_window first_window_f64
#define last_window last_window_f64
#define block_of block_of_f64
#include "ops/kernels/window.kn"
#undef max_pool
#undef max_pool_values
#undef max_pool_grad
#undef avg_pool
#undef avg_pool_grad
#undef adaptive_avg_pool
#undef adaptive_avg_pool_grad
#undef adaptive_max_pool
#undef adaptive_max_pool_grad
#undef unfold4d
#undef fold4d
#undef im2col
#undef col2im
#undef adaptive_begin
#undef adaptive_end
#undef taps_below
#undef taps_outside
#undef taps_counted
#undef first_window
#undef last_window
#undef block_of
#undef T
#undef IS_FLOAT

static void run_max_pool_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        max_pool_f64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->ints + 0, call->ints + 3, call->ints + 6, call->ints + 9, call->ints + 12, call->ints + 15);
}

static void run_max_pool_values_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        max_pool_values_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints + 0, call->ints + 3, call->ints + 6, call->ints + 9, call->ints + 12, call->ints + 15);
}

static void run_max_pool_grad_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        max_pool_grad_f64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints + 0, call->ints + 3, call->ints + 6, call->ints + 9, call->ints + 12, call->ints + 15);
}

static void run_avg_pool_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        avg_pool_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints + 0, call->ints + 3, call->ints + 6, call->ints + 9, call->ints + 12, call->ints + 15, call->ints + 18, call->ints[21], call->ints[22]);
}

static void run_avg_pool_grad_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        avg_pool_grad_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints + 0, call->ints + 3, call->ints + 6, call->ints + 9, call->ints + 12, call->ints + 15, call->ints + 18, call->ints[21], call->ints[22]);
}

static void run_adaptive_avg_pool_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        adaptive_avg_pool_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints + 0, call->ints + 3);
}

static void run_adaptive_avg_pool_grad_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        adaptive_avg_pool_grad_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints + 0, call->ints + 3);
}

static void run_adaptive_max_pool_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        adaptive_max_pool_f64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->ints + 0, call->ints + 3);
}

static void run_adaptive_max_pool_grad_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        adaptive_max_pool_grad_f64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints + 0, call->ints + 3);
}

static void run_unfold4d_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        unfold4d_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints + 0, call->ints + 2, call->ints + 4, call->ints + 6, call->ints + 8, call->ints + 10);
}

static void run_fold4d_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        fold4d_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints + 0, call->ints + 2, call->ints + 4, call->ints + 6, call->ints + 8, call->ints + 10);
}

static void run_im2col_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        im2col_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints + 0, call->ints + 3, call->ints + 6, call->ints + 9, call->ints + 12, call->ints + 15);
}

static void run_col2im_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        col2im_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints + 0, call->ints + 3, call->ints + 6, call->ints + 9, call->ints + 12, call->ints + 15);
}

#define T int64_t
#define IS_FLOAT 0
#define max_pool(item, ...) max_pool_i64(int64_t *kni_error, item, __VA_ARGS__)
#define max_pool_values(item, ...) max_pool_values_i64(int64_t *kni_error, item, __VA_ARGS__)
#define max_pool_grad(item, ...) max_pool_grad_i64(int64_t *kni_error, item, __VA_ARGS__)
#define avg_pool(item, ...) avg_pool_i64(int64_t *kni_error, item, __VA_ARGS__)
#define avg_pool_grad(item, ...) avg_pool_grad_i64(int64_t *kni_error, item, __VA_ARGS__)
#define adaptive_avg_pool(item, ...) adaptive_avg_pool_i64(int64_t *kni_error, item, __VA_ARGS__)
#define adaptive_avg_pool_grad(item, ...) adaptive_avg_pool_grad_i64(int64_t *kni_error, item, __VA_ARGS__)
#define adaptive_max_pool(item, ...) adaptive_max_pool_i64(int64_t *kni_error, item, __VA_ARGS__)
#define adaptive_max_pool_grad(item, ...) adaptive_max_pool_grad_i64(int64_t *kni_error, item, __VA_ARGS__)
#define unfold4d(item, ...) unfold4d_i64(int64_t *kni_error, item, __VA_ARGS__)
#define fold4d(item, ...) fold4d_i64(int64_t *kni_error, item, __VA_ARGS__)
#define im2col(item, ...) im2col_i64(int64_t *kni_error, item, __VA_ARGS__)
#define col2im(item, ...) col2im_i64(int64_t *kni_error, item, __VA_ARGS__)
#define adaptive_begin adaptive_begin_i64
#define adaptive_end adaptive_end_i64
#define taps_below taps_below_i64
#define taps_outside taps_outside_i64
#define taps_counted taps_counted_i64
#define first_window first_window_i64
#define last_window last_window_i64
#define block_of block_of_i64
#include "ops/kernels/window.kn"
#undef max_pool
#undef max_pool_values
#undef max_pool_grad
#undef avg_pool
#undef avg_pool_grad
#undef adaptive_avg_pool
#undef adaptive_avg_pool_grad
#undef adaptive_max_pool
#undef adaptive_max_pool_grad
#undef unfold4d
#undef fold4d
#undef im2col
#undef col2im
#undef adaptive_begin
#undef adaptive_end
#undef taps_below
#undef taps_outside
#undef taps_counted
#undef first_window
#undef last_window
#undef block_of
#undef T
#undef IS_FLOAT

static void run_max_pool_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        max_pool_i64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->ints + 0, call->ints + 3, call->ints + 6, call->ints + 9, call->ints + 12, call->ints + 15);
}

static void run_max_pool_values_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        max_pool_values_i64(call->error, item, call->inputs[0], call->outputs[0], call->ints + 0, call->ints + 3, call->ints + 6, call->ints + 9, call->ints + 12, call->ints + 15);
}

static void run_adaptive_max_pool_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        adaptive_max_pool_i64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->ints + 0, call->ints + 3);
}

static void run_unfold4d_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        unfold4d_i64(call->error, item, call->inputs[0], call->outputs[0], call->ints + 0, call->ints + 2, call->ints + 4, call->ints + 6, call->ints + 8, call->ints + 10);
}

static void run_fold4d_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        fold4d_i64(call->error, item, call->inputs[0], call->outputs[0], call->ints + 0, call->ints + 2, call->ints + 4, call->ints + 6, call->ints + 8, call->ints + 10);
}

static void run_im2col_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        im2col_i64(call->error, item, call->inputs[0], call->outputs[0], call->ints + 0, call->ints + 3, call->ints + 6, call->ints + 9, call->ints + 12, call->ints + 15);
}

static void run_col2im_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        col2im_i64(call->error, item, call->inputs[0], call->outputs[0], call->ints + 0, call->ints + 3, call->ints + 6, call->ints + 9, call->ints + 12, call->ints + 15);
}

#define T uint64_t
#define IS_FLOAT 0
#define max_pool(item, ...) max_pool_u64(int64_t *kni_error, item, __VA_ARGS__)
#define max_pool_values(item, ...) max_pool_values_u64(int64_t *kni_error, item, __VA_ARGS__)
#define max_pool_grad(item, ...) max_pool_grad_u64(int64_t *kni_error, item, __VA_ARGS__)
#define avg_pool(item, ...) avg_pool_u64(int64_t *kni_error, item, __VA_ARGS__)
#define avg_pool_grad(item, ...) avg_pool_grad_u64(int64_t *kni_error, item, __VA_ARGS__)
#define adaptive_avg_pool(item, ...) adaptive_avg_pool_u64(int64_t *kni_error, item, __VA_ARGS__)
#define adaptive_avg_pool_grad(item, ...) adaptive_avg_pool_grad_u64(int64_t *kni_error, item, __VA_ARGS__)
#define adaptive_max_pool(item, ...) adaptive_max_pool_u64(int64_t *kni_error, item, __VA_ARGS__)
#define adaptive_max_pool_grad(item, ...) adaptive_max_pool_grad_u64(int64_t *kni_error, item, __VA_ARGS__)
#define unfold4d(item, ...) unfold4d_u64(int64_t *kni_error, item, __VA_ARGS__)
#define fold4d(item, ...) fold4d_u64(int64_t *kni_error, item, __VA_ARGS__)
#define im2col(item, ...) im2col_u64(int64_t *kni_error, item, __VA_ARGS__)
#define col2im(item, ...) col2im_u64(int64_t *kni_error, item, __VA_ARGS__)
#define adaptive_begin adaptive_begin_u64
#define adaptive_end adaptive_end_u64
#define taps_below taps_below_u64
#define taps_outside taps_outside_u64
#define taps_counted taps_counted_u64
#define first_window first_window_u64
#define last_window last_window_u64
#define block_of block_of_u64
#include "ops/kernels/window.kn"
#undef max_pool
#undef max_pool_values
#undef max_pool_grad
#undef avg_pool
#undef avg_pool_grad
#undef adaptive_avg_pool
#undef adaptive_avg_pool_grad
#undef adaptive_max_pool
#undef adaptive_max_pool_grad
#undef unfold4d
#undef fold4d
#undef im2col
#undef col2im
#undef adaptive_begin
#undef adaptive_end
#undef taps_below
#undef taps_outside
#undef taps_counted
#undef first_window
#undef last_window
#undef block_of
#undef T
#undef IS_FLOAT

static void run_max_pool_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        max_pool_u64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->ints + 0, call->ints + 3, call->ints + 6, call->ints + 9, call->ints + 12, call->ints + 15);
}

static void run_max_pool_values_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        max_pool_values_u64(call->error, item, call->inputs[0], call->outputs[0], call->ints + 0, call->ints + 3, call->ints + 6, call->ints + 9, call->ints + 12, call->ints + 15);
}

static void run_adaptive_max_pool_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        adaptive_max_pool_u64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->ints + 0, call->ints + 3);
}

static void run_unfold4d_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        unfold4d_u64(call->error, item, call->inputs[0], call->outputs[0], call->ints + 0, call->ints + 2, call->ints + 4, call->ints + 6, call->ints + 8, call->ints + 10);
}

static void run_fold4d_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        fold4d_u64(call->error, item, call->inputs[0], call->outputs[0], call->ints + 0, call->ints + 2, call->ints + 4, call->ints + 6, call->ints + 8, call->ints + 10);
}

static void run_im2col_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        im2col_u64(call->error, item, call->inputs[0], call->outputs[0], call->ints + 0, call->ints + 3, call->ints + 6, call->ints + 9, call->ints + 12, call->ints + 15);
}

static void run_col2im_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        col2im_u64(call->error, item, call->inputs[0], call->outputs[0], call->ints + 0, call->ints + 3, call->ints + 6, call->ints + 9, call->ints + 12, call->ints + 15);
}

const kni_kernel kni_kernel_max_pool = {"max_pool", "TTi", 1, 2, 0, {run_max_pool_f64, run_max_pool_i64, run_max_pool_u64}};
const kni_kernel kni_kernel_max_pool_values = {"max_pool_values", "TT", 1, 1, 0, {run_max_pool_values_f64, run_max_pool_values_i64, run_max_pool_values_u64}};
const kni_kernel kni_kernel_max_pool_grad = {"max_pool_grad", "TiT", 2, 1, 0, {run_max_pool_grad_f64, NULL, NULL}};
const kni_kernel kni_kernel_avg_pool = {"avg_pool", "TT", 1, 1, 0, {run_avg_pool_f64, NULL, NULL}};
const kni_kernel kni_kernel_avg_pool_grad = {"avg_pool_grad", "TT", 1, 1, 0, {run_avg_pool_grad_f64, NULL, NULL}};
const kni_kernel kni_kernel_adaptive_avg_pool = {"adaptive_avg_pool", "TT", 1, 1, 0, {run_adaptive_avg_pool_f64, NULL, NULL}};
const kni_kernel kni_kernel_adaptive_avg_pool_grad = {"adaptive_avg_pool_grad", "TT", 1, 1, 0, {run_adaptive_avg_pool_grad_f64, NULL, NULL}};
const kni_kernel kni_kernel_adaptive_max_pool = {"adaptive_max_pool", "TTi", 1, 2, 0, {run_adaptive_max_pool_f64, run_adaptive_max_pool_i64, run_adaptive_max_pool_u64}};
const kni_kernel kni_kernel_adaptive_max_pool_grad = {"adaptive_max_pool_grad", "TiT", 2, 1, 0, {run_adaptive_max_pool_grad_f64, NULL, NULL}};
const kni_kernel kni_kernel_unfold4d = {"unfold4d", "TT", 1, 1, 0, {run_unfold4d_f64, run_unfold4d_i64, run_unfold4d_u64}};
const kni_kernel kni_kernel_fold4d = {"fold4d", "TT", 1, 1, 0, {run_fold4d_f64, run_fold4d_i64, run_fold4d_u64}};
const kni_kernel kni_kernel_im2col = {"im2col", "TT", 1, 1, 0, {run_im2col_f64, run_im2col_i64, run_im2col_u64}};
const kni_kernel kni_kernel_col2im = {"col2im", "TT", 1, 1, 0, {run_col2im_f64, run_col2im_i64, run_col2im_u64}};
