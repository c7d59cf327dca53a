/* The reduction kernels for one element type. The including file defines `element`, ELEMENT_BYTES, the
   integer `lane_int` of the same width, LOWEST, HIGHEST, REDUCE_TABLE and, for floats, ELEMENT_IS_FLOAT. */
#include "backend/cpu/reduce_tables.h"
#include <stdbool.h>
#include <string.h>

#ifndef WIDEN_F16
#define WIDEN_F16 NULL
#define WIDEN_BF16 NULL
#endif

#ifdef KN_FREESTANDING
#include "backend/cpu/tier/reduce_small.h"
#else
#include "backend/cpu/tier/reduce_vectors.h"
#endif

#define FOLD(name, op, neutral)                                                                              \
    static void name##_block(const void *x, int64_t n, void *lanes)                                          \
    {                                                                                                        \
        block_with(op, neutral, x, n, lanes);                                                                \
    }                                                                                                        \
    static void name##_merge(void *a, const void *b, int64_t n) { merge_with(op, a, b, n); }                 \
    static void name##_rows(const void *x, int64_t rows, int64_t n, int64_t stride, void *y)                 \
    {                                                                                                        \
        rows_with(op, neutral, x, rows, n, stride, y);                                                       \
    }                                                                                                        \
    static void name##_columns(const void *x, int64_t rows, int64_t stride, int64_t n, void *y)              \
    {                                                                                                        \
        columns_with(op, neutral, x, rows, stride, n, y);                                                    \
    }
FOLD(sum, add, 0)
FOLD(prod, multiply, 1)
FOLD(max, larger, LOWEST)
FOLD(min, smaller, HIGHEST)

static void largest_rows(const void *x, int64_t first, int64_t rows, int64_t stride, int64_t n, void *best,
                         void *at)
{
    best_rows_with(0, x, first, rows, stride, n, best, at);
}

static void smallest_rows(const void *x, int64_t first, int64_t rows, int64_t stride, int64_t n, void *best,
                          void *at)
{
    best_rows_with(1, x, first, rows, stride, n, best, at);
}

const kni_reduce_kernels KNI_TIER_FN(REDUCE_TABLE) = {{{sum_block, sum_merge, sum_rows, sum_columns},
                                                       {prod_block, prod_merge, prod_rows, prod_columns},
                                                       {max_block, max_merge, max_rows, max_columns},
                                                       {min_block, min_merge, min_rows, min_columns}},
                                                      find,
                                                      {largest_rows, smallest_rows},
                                                      {WIDEN_F16, WIDEN_BF16}};
