/* One tier's GEMM for the type `real`: a block of C by register tiles, a single row, and the passes over a
   finished block (bias, conversion). Included by gemm_f32.c and gemm_f64.c, which name the table. */
#ifndef KNI_BACKEND_CPU_TIER_GEMM_BLOCK_H
#define KNI_BACKEND_CPU_TIER_GEMM_BLOCK_H

#include "backend/cpu/tier/gemm_pack.h"
#include "backend/cpu/tier/gemm_tile.h"

/* All tiles of one strip of columns; job->b and the column part of job->c are set. */
static void multiply_strip(const kni_gemm_block *block, tile_job *job, int64_t first_col)
{
    const int vectors = (job->cols + LANES - 1) / LANES;
    tile_fn *const(*tiles)[TILE_VECTORS] = block->separate ? separate_tiles : fused_tiles;
    real *const c = (real *)block->c + first_col * block->c_col;
    const int64_t panels = panel_count(block->m);
    for (int64_t p = 0; p < panels; p++) {
        const panel_place place = place_panel(block->m, panels, p);
        if (block->a_packed) {
            job->a = (const real *)block->a_packed + p * panel_elements(block->k);
            job->a_row = 1;
            job->a_col = place.rows;
        } else {
            job->a = (const real *)block->a.data + place.first * block->a.row;
        }
        job->c = c + place.first * block->c_row;
        tiles[place.rows - 1][vectors - 1](job);
    }
}

static void multiply_block(const kni_gemm_block *block)
{
    const bool in_place = !block->b_packed && block->b.col == 1 &&
                          block->b.type == (sizeof(real) == 4 ? KNI_GEMM_F32 : KNI_GEMM_F64);
    tile_job job = {.depth = block->k,
                    .a_row = block->a.row,
                    .a_col = block->a.col,
                    .c_row = block->c_row,
                    .c_col = block->c_col,
                    .alpha = (real)block->alpha,
                    .beta = (real)block->beta};
    for (int64_t j = 0; j < block->n; j += TILE_COLUMNS) {
        job.cols = (int)at_most(TILE_COLUMNS, block->n - j);
        job.b_row = TILE_COLUMNS;
        if (block->b_packed) {
            job.b = (const real *)block->b_packed + j * block->k;
        } else if (in_place && job.cols % LANES == 0) {
            job.b = (const real *)block->b.data + j;
            job.b_row = block->b.row;
        } else {
            const kni_gemm_view strip = {element(&block->b, 0, j), block->b.row, block->b.col, block->b.type};
            pack_strip(block->strip, &strip, block->k, job.cols);
            job.b = block->strip;
        }
        multiply_strip(block, &job, j);
    }
}

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

static void add_rows_separate(real *sums, const real *a, int64_t a_step, const real *b, int64_t b_row,
                              int64_t depth, int64_t cols)
{
    add_rows(sums, a, a_step, b, b_row, depth, cols, 1);
}

static void add_rows_fused(real *sums, const real *a, int64_t a_step, const real *b, int64_t b_row,
                           int64_t depth, int64_t cols)
{
    add_rows(sums, a, a_step, b, b_row, depth, cols, 0);
}

/* One row times a matrix. A matrix that runs along k is turned piece by piece in the first-level cache. */
static void multiply_row(const kni_gemm_block *block)
{
    enum { COLUMNS = 4096 / sizeof(real), PIECE = 64 };
    real sums[COLUMNS], piece[TILE_COLUMNS * PIECE];
    const bool in_place =
        block->b.col == 1 && block->b.type == (sizeof(real) == 4 ? KNI_GEMM_F32 : KNI_GEMM_F64);
    const real *a = block->a.data;
    for (int64_t j = 0; j < block->n; j += COLUMNS) {
        const int64_t cols = at_most(COLUMNS, block->n - j);
        memset(sums, 0, (size_t)cols * sizeof(real));
        if (in_place) {
            const real *b = (const real *)block->b.data + j;
            (block->separate ? add_rows_separate : add_rows_fused)(sums, a, block->a.col, b, block->b.row,
                                                                   block->k, cols);
        }
        for (int64_t s = 0; !in_place && s < cols; s += TILE_COLUMNS) {
            const int64_t width = at_most(TILE_COLUMNS, cols - s);
            for (int64_t k = 0; k < block->k; k += PIECE) {
                const int64_t depth = at_most(PIECE, block->k - k);
                const kni_gemm_view part = {element(&block->b, k, j + s), block->b.col, block->b.row,
                                            block->b.type};
                pack_panel(piece, TILE_COLUMNS, &part, width, depth);
                (block->separate ? add_rows_separate : add_rows_fused)(
                    sums + s, a + k * block->a.col, block->a.col, piece, TILE_COLUMNS, depth, width);
            }
        }
        const tile_job job = {.c = (real *)block->c + j * block->c_col,
                              .c_col = block->c_col,
                              .alpha = (real)block->alpha,
                              .beta = (real)block->beta};
        update_tile(&job, sums, 0, 1, cols);
    }
}

/* C = beta C: what is left when there is nothing to add. */
static void scale(void *data, int64_t c_row, int64_t c_col, int64_t rows, int64_t cols, double beta)
{
    for (int64_t i = 0; i < rows; i++) {
        real *c = (real *)data + i * c_row;
        for (int64_t j = 0; j < cols; j++) c[j * c_col] = beta == 0 ? 0 : (real)beta * c[j * c_col];
    }
}

/* Between C in the caller's memory and a tile with contiguous rows in the compute type. */
static void read_c(const kni_gemm_copy *copy)
{
    const kni_gemm_view c = {copy->c, copy->c_row, copy->c_col, copy->type};
    for (int64_t i = 0; i < copy->rows; i++) {
        real *to = (real *)copy->tile + i * copy->tile_row;
#ifndef KNI_GEMM_REAL_F64
        if (copy->type != KNI_GEMM_F32) {
            floats_from(to, element(&c, i, 0), copy->type, copy->c_col, copy->cols);
            continue;
        }
#endif
        const real *from = element(&c, i, 0);
        for (int64_t j = 0; j < copy->cols; j++) to[j] = from[j * copy->c_col];
    }
}

static void write_c(const kni_gemm_copy *copy)
{
    const int64_t size = copy->type == KNI_GEMM_F64 ? 8 : copy->type == KNI_GEMM_F32 ? 4 : 2;
    for (int64_t i = 0; i < copy->rows; i++) {
        const real *from = (const real *)copy->tile + i * copy->tile_row;
        void *to = (char *)copy->c + i * copy->c_row * size;
#ifndef KNI_GEMM_REAL_F64
        if (copy->type != KNI_GEMM_F32) {
            floats_to(to, from, copy->type, copy->c_col, copy->cols);
            continue;
        }
#endif
        for (int64_t j = 0; j < copy->cols; j++) ((real *)to)[j * copy->c_col] = from[j];
    }
}

static real bias_value(const kni_gemm_view *bias, int64_t i, int64_t j)
{
    const void *p = element(bias, i, j);
#ifndef KNI_GEMM_REAL_F64
    if (bias->type == KNI_GEMM_F16) return float_from_f16(*(const uint16_t *)p);
    if (bias->type == KNI_GEMM_BF16) return float_from_bf16(*(const uint16_t *)p);
#endif
    return *(const real *)p;
}

static void add_bias(const kni_gemm_copy *copy, const kni_gemm_view *bias)
{
    const bool plain = bias->type == (sizeof(real) == 4 ? KNI_GEMM_F32 : KNI_GEMM_F64) && bias->col == 1;
    for (int64_t i = 0; i < copy->rows; i++) {
        real *c = (real *)copy->tile + i * copy->tile_row;
        if (plain && copy->tile_col == 1) {
            const real *add = element(bias, i, 0);
            for (int64_t j = 0; j < copy->cols; j++) c[j] += add[j];
        } else if (bias->col == 0) {
            const real add = bias_value(bias, i, 0);
            for (int64_t j = 0; j < copy->cols; j++) c[j * copy->tile_col] += add;
        } else {
            for (int64_t j = 0; j < copy->cols; j++) c[j * copy->tile_col] += bias_value(bias, i, j);
        }
    }
}

#define GEMM_KERNELS                                                                                         \
    {                                                                                                        \
        .tile_rows = TILE_ROWS, .tile_columns = TILE_COLUMNS, .block_rows = TILE_ROWS * BLOCK_PANELS,        \
        .block_columns = TILE_COLUMNS * BLOCK_STRIPS, .size = (int)sizeof(real), .pack_a = pack_a,           \
        .pack_b = pack_b, .block = multiply_block, .row = multiply_row, .scale = scale, .read_c = read_c,    \
        .write_c = write_c, .add_bias = add_bias                                                             \
    }

#endif
