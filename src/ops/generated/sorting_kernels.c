/* Generated from src/ops/kernels/sorting.kn by tools/gen/kernels.py; do not edit. */
#include "ops/kernel_prelude.h"
#include "ops/generated/sorting_kernels.h"

#define T double
#define IS_FLOAT 1
#define sort_lines(item, ...) sort_lines_f64(int64_t *kni_error, item, __VA_ARGS__)
#define sort_pick(item, ...) sort_pick_f64(int64_t *kni_error, item, __VA_ARGS__)
#define search_sorted(item, ...) search_sorted_f64(int64_t *kni_error, item, __VA_ARGS__)
#define unique_all(item, ...) unique_all_f64(int64_t *kni_error, item, __VA_ARGS__)
#define count_bins(item, ...) count_bins_f64(int64_t *kni_error, item, __VA_ARGS__)
#define weigh_bins(item, ...) weigh_bins_f64(int64_t *kni_error, item, __VA_ARGS__)
#define distinct(item, ...) distinct_f64(int64_t *kni_error, item, __VA_ARGS__)
#define stands_before stands_before_f64
#include "ops/kernels/sorting.kn"
#undef sort_lines
#undef sort_pick
#undef search_sorted
#undef unique_all
#undef count_bins
#undef weigh_bins
#undef distinct
#undef stands_before
#undef T
#undef IS_FLOAT

static void run_sort_lines_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        sort_lines_f64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->temps[0], call->ints[0], call->ints[1], call->ints[2]);
}

static void run_sort_pick_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        sort_pick_f64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->temps[0], call->temps[1], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4], call->ints[5], call->ints[6]);
}

static void run_search_sorted_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        search_sorted_f64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_unique_all_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        unique_all_f64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->outputs[2], call->outputs[3], call->temps[0], call->temps[1], call->ints[0]);
}

static void run_count_bins_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        count_bins_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1]);
}

static void run_weigh_bins_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        weigh_bins_f64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1]);
}

static void run_distinct_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        distinct_f64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->outputs[2], call->outputs[3], call->outputs[4], call->temps[0], call->temps[1], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

#define T int64_t
#define IS_FLOAT 0
#define sort_lines(item, ...) sort_lines_i64(int64_t *kni_error, item, __VA_ARGS__)
#define sort_pick(item, ...) sort_pick_i64(int64_t *kni_error, item, __VA_ARGS__)
#define search_sorted(item, ...) search_sorted_i64(int64_t *kni_error, item, __VA_ARGS__)
#define unique_all(item, ...) unique_all_i64(int64_t *kni_error, item, __VA_ARGS__)
#define count_bins(item, ...) count_bins_i64(int64_t *kni_error, item, __VA_ARGS__)
#define weigh_bins(item, ...) weigh_bins_i64(int64_t *kni_error, item, __VA_ARGS__)
#define distinct(item, ...) distinct_i64(int64_t *kni_error, item, __VA_ARGS__)
#define stands_before stands_before_i64
#include "ops/kernels/sorting.kn"
#undef sort_lines
#undef sort_pick
#undef search_sorted
#undef unique_all
#undef count_bins
#undef weigh_bins
#undef distinct
#undef stands_before
#undef T
#undef IS_FLOAT

static void run_sort_lines_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        sort_lines_i64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->temps[0], call->ints[0], call->ints[1], call->ints[2]);
}

static void run_sort_pick_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        sort_pick_i64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->temps[0], call->temps[1], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4], call->ints[5], call->ints[6]);
}

static void run_search_sorted_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        search_sorted_i64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_unique_all_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        unique_all_i64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->outputs[2], call->outputs[3], call->temps[0], call->temps[1], call->ints[0]);
}

static void run_distinct_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        distinct_i64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->outputs[2], call->outputs[3], call->outputs[4], call->temps[0], call->temps[1], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

#define T uint64_t
#define IS_FLOAT 0
#define sort_lines(item, ...) sort_lines_u64(int64_t *kni_error, item, __VA_ARGS__)
#define sort_pick(item, ...) sort_pick_u64(int64_t *kni_error, item, __VA_ARGS__)
#define search_sorted(item, ...) search_sorted_u64(int64_t *kni_error, item, __VA_ARGS__)
#define unique_all(item, ...) unique_all_u64(int64_t *kni_error, item, __VA_ARGS__)
#define count_bins(item, ...) count_bins_u64(int64_t *kni_error, item, __VA_ARGS__)
#define weigh_bins(item, ...) weigh_bins_u64(int64_t *kni_error, item, __VA_ARGS__)
#define distinct(item, ...) distinct_u64(int64_t *kni_error, item, __VA_ARGS__)
#define stands_before stands_before_u64
#include "ops/kernels/sorting.kn"
#undef sort_lines
#undef sort_pick
#undef search_sorted
#undef unique_all
#undef count_bins
#undef weigh_bins
#undef distinct
#undef stands_before
#undef T
#undef IS_FLOAT

static void run_sort_lines_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        sort_lines_u64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->temps[0], call->ints[0], call->ints[1], call->ints[2]);
}

static void run_sort_pick_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        sort_pick_u64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->temps[0], call->temps[1], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4], call->ints[5], call->ints[6]);
}

static void run_search_sorted_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        search_sorted_u64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_unique_all_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        unique_all_u64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->outputs[2], call->outputs[3], call->temps[0], call->temps[1], call->ints[0]);
}

static void run_distinct_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        distinct_u64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->outputs[2], call->outputs[3], call->outputs[4], call->temps[0], call->temps[1], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

const kni_kernel kni_kernel_sort_lines = {"sort_lines", "TTii", 1, 2, 1, {run_sort_lines_f64, run_sort_lines_i64, run_sort_lines_u64}};
const kni_kernel kni_kernel_sort_pick = {"sort_pick", "TTiii", 1, 2, 2, {run_sort_pick_f64, run_sort_pick_i64, run_sort_pick_u64}};
const kni_kernel kni_kernel_search_sorted = {"search_sorted", "TTi", 2, 1, 0, {run_search_sorted_f64, run_search_sorted_i64, run_search_sorted_u64}};
const kni_kernel kni_kernel_unique_all = {"unique_all", "TTiiiii", 1, 4, 2, {run_unique_all_f64, run_unique_all_i64, run_unique_all_u64}};
const kni_kernel kni_kernel_count_bins = {"count_bins", "ii", 1, 1, 0, {run_count_bins_f64, run_count_bins_f64, run_count_bins_f64}};
const kni_kernel kni_kernel_weigh_bins = {"weigh_bins", "irr", 2, 1, 0, {run_weigh_bins_f64, run_weigh_bins_f64, run_weigh_bins_f64}};
const kni_kernel kni_kernel_distinct = {"distinct", "TTiiiiii", 1, 5, 2, {run_distinct_f64, run_distinct_i64, run_distinct_u64}};
