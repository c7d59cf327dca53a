/* One row times a matrix: C has a single row, and what counts is to read B once, as it lies. */
#ifndef KNI_BACKEND_CPU_TIER_GEMM_ROW_H
#define KNI_BACKEND_CPU_TIER_GEMM_ROW_H

#include "backend/cpu/tier/gemm_pack.h"
#include "backend/cpu/tier/gemm_tile.h"

/* sums[j] += sum over k of a[k * a_step] b[k * b_row + j], in the order of k. Eight rows of b stream at once. */
static inline __attribute__((always_inline)) void add_rows(real *sums, const real *a, int64_t a_step,
                                                           const real *b, int64_t b_row, int64_t depth,
                                                           int64_t cols, const int separate)
{
    enum { ROWS = 8 };
    int64_t k = 0;
    for (; k + ROWS <= depth; k += ROWS) {
        const real *from = b + k * b_row;
        const real *x = a + k * a_step;
        int64_t j = 0;
        for (; j + LANES <= cols; j += LANES) {
            vec sum = vec_load(sums + j);
            for (int r = 0; r < ROWS; r++)
                sum = vec_multiply_add(vec_all(x[r * a_step]), vec_load(from + r * b_row + j), sum, separate);
            vec_store(sums + j, sum);
        }
        for (; j < cols; j++) {
            /* A vector of one: the same arithmetic as the rest of the row. */
            vec sum = vec_all(sums[j]);
            for (int r = 0; r < ROWS; r++)
                sum = vec_multiply_add(vec_all(x[r * a_step]), vec_all(from[r * b_row + j]), sum, separate);
            memcpy(sums + j, &sum, sizeof(real));
        }
    }
    for (; k < depth; k++) {
        const vec x = vec_all(a[k * a_step]);
        int64_t j = 0;
        for (; j + LANES <= cols; j += LANES)
            vec_store(sums + j,
                      vec_multiply_add(x, vec_load(b + k * b_row + j), vec_load(sums + j), separate));
        for (; j < cols; j++) {
            const vec sum = vec_multiply_add(x, vec_all(b[k * b_row + j]), vec_all(sums[j]), separate);
            memcpy(sums + j, &sum, sizeof(real));
        }
    }
}

/* One column of a matrix that runs along k. */
static inline __attribute__((always_inline)) void add_column(real *sum, const real *a, int64_t a_step,
                                                             const real *b, int64_t depth, const int separate)
{
    vec total = vec_all(*sum);
    for (int64_t k = 0; k < depth; k++)
        total = vec_multiply_add(vec_all(a[k * a_step]), vec_all(b[k]), total, separate);
    memcpy(sum, &total, sizeof(real));
}

#define ADD_TURNED(g)                                                                                        \
    for (int h = 0; h < 2 * SQUARE; h += SQUARE) {                                                           \
        line turned[SQUARE];                                                                                 \
        load_turned(turned, from + (g)*SQUARE * b_col + h, b_col);                                           \
        for (int r = 0; r < SQUARE; r++)                                                                     \
            total##g = line_multiply_add(x[(h + r) * a_step], turned[r], total##g, separate);                \
    }

/* sums[j] += sum over k of a[k * a_step] b[j * b_col + k]: squares are turned in registers, two at a time along
   k, so that each line of the cache is used up at once. */
static inline __attribute__((always_inline)) void add_turned(real *sums, const real *a, int64_t a_step,
                                                             const real *b, int64_t b_col, int64_t depth,
                                                             int64_t cols, const int separate)
{
    const int64_t whole = depth - depth % (2 * SQUARE);
    int64_t j = 0;
    for (; j + 2 * SQUARE <= cols; j += 2 * SQUARE) {
        line total0 = line_load(sums + j), total1 = line_load(sums + j + SQUARE);
        for (int64_t k = 0; k < whole; k += 2 * SQUARE) {
            const real *from = b + j * b_col + k, *x = a + k * a_step;
            ADD_TURNED(0)
            ADD_TURNED(1)
        }
        line_store(sums + j, total0);
        line_store(sums + j + SQUARE, total1);
        for (int64_t c = j; c < j + 2 * SQUARE; c++)
            add_column(sums + c, a + whole * a_step, a_step, b + c * b_col + whole, depth - whole, separate);
    }
    for (; j < cols; j++) add_column(sums + j, a, a_step, b + j * b_col, depth, separate);
}

typedef void add_fn(real *sums, const real *a, int64_t a_step, const real *b, int64_t b_step, int64_t depth,
                    int64_t cols);

#define DEFINE_ADD(name, separate)                                                                           \
    static void name##_##separate(real *sums, const real *a, int64_t a_step, const real *b, int64_t b_step,  \
                                  int64_t depth, int64_t cols)                                               \
    {                                                                                                        \
        name(sums, a, a_step, b, b_step, depth, cols, separate);                                             \
    }
DEFINE_ADD(add_rows, 0)
DEFINE_ADD(add_rows, 1)
DEFINE_ADD(add_turned, 0)
DEFINE_ADD(add_turned, 1)

/* B of 16 bits, or with gaps both ways: strip by strip and piece by piece through a small packed copy. */
static void add_packed(real *sums, const kni_gemm_block *block, int64_t col, int64_t cols)
{
    enum { PIECE = 64 };
    real piece[TILE_COLUMNS * PIECE];
    add_fn *const add = block->separate ? add_rows_1 : add_rows_0;
    const real *a = block->a.data;
    for (int64_t s = 0; s < cols; s += TILE_COLUMNS) {
        const int64_t width = at_most(TILE_COLUMNS, cols - s);
        for (int64_t k = 0; k < block->k; k += PIECE) {
            const int64_t depth = at_most(PIECE, block->k - k);
            const kni_gemm_view part = {element(&block->b, k, col + s), block->b.col, block->b.row,
                                        block->b.type};
            pack_panel(piece, TILE_COLUMNS, &part, width, depth);
            add(sums + s, a + k * block->a.col, block->a.col, piece, TILE_COLUMNS, depth, width);
        }
    }
}

static void multiply_row(const kni_gemm_block *block)
{
    enum { COLUMNS = 64 * LANES };
    real sums[COLUMNS];
    const real *a = block->a.data;
    const bool is_real = block->b.type == REAL_TYPE;
    for (int64_t j = 0; j < block->n; j += COLUMNS) {
        const int64_t cols = at_most(COLUMNS, block->n - j);
        const real *b = element(&block->b, 0, j);
        memset(sums, 0, (size_t)cols * sizeof(real));
        if (is_real && block->b.col == 1)
            (block->separate ? add_rows_1 : add_rows_0)(sums, a, block->a.col, b, block->b.row, block->k,
                                                        cols);
        else if (is_real && block->b.row == 1)
            (block->separate ? add_turned_1 : add_turned_0)(sums, a, block->a.col, b, block->b.col, block->k,
                                                            cols);
        else
            add_packed(sums, block, j, cols);
        const tile_job job = {.c = (real *)block->c + j * block->c_col,
                              .c_col = block->c_col,
                              .alpha = (real)block->alpha,
                              .beta = (real)block->beta};
        update_tile(&job, sums, 0, 1, cols);
    }
}

#endif
