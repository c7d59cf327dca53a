/* One tier's GEMM for the type `real`: a block of C by register tiles, and the passes over a finished
   block (bias, conversion). Included by gemm_f32.c and gemm_f64.c, which name the table. */
#ifndef KNI_BACKEND_CPU_TIER_GEMM_BLOCK_H
#define KNI_BACKEND_CPU_TIER_GEMM_BLOCK_H

#include "backend/cpu/tier/finish.h"
#include "backend/cpu/tier/gemm_row.h"

/* ROW_STRIPS: with so many strips at a time a single row is multiplied. Freestanding programs pack nothing that stays. */
#ifdef KN_FREESTANDING
enum { ROW_STRIPS = 1, HAS_PACKED_ROWS = 0 };
#else
enum { ROW_STRIPS = 4, HAS_PACKED_ROWS = 1 };
#endif

/* All tiles of one strip of columns; job->b and the column part of job->c are set. */
static void multiply_strip(const kni_gemm_block *block, tile_job *job, int64_t first_col)
{
    const int vectors = (job->cols + LANES - 1) / LANES;
    tile_fn *const *tiles = block->separate ? separate_tiles : fused_tiles;
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
        tiles[tile_index(place.rows, vectors)](job);
    }
}

/* Whether B is read where it lies: it is read few times, or its rows are close enough together to stay in the
   caches. */
static bool is_read_in_place(const kni_gemm_block *block)
{
    enum { NEAR = 2048 };
    if (block->b_packed || block->b.col != 1 || block->b.type != REAL_TYPE) return false;
    return block->m <= 2 * TILE_ROWS || (size_t)block->b.row * sizeof(real) <= NEAR;
}

/* One row times strips that lie behind each other: `strips` and `separate` are constants. */
static inline __attribute__((always_inline)) void row_of_strips(real *sums, const real *a, int64_t a_step,
                                                                const real *b, int64_t depth,
                                                                const int strips, const int separate)
{
    vec sum[ROW_STRIPS][TILE_VECTORS];
    for (int s = 0; s < strips; s++)
        for (int v = 0; v < TILE_VECTORS; v++) sum[s][v] = vec_all(0);
    for (int64_t k = 0; k < depth; k++, b += TILE_COLUMNS) {
        const vec av = vec_all(a[k * a_step]);
        for (int s = 0; s < strips; s++)
            for (int v = 0; v < TILE_VECTORS; v++)
                sum[s][v] = vec_multiply_add(av, vec_load(b + s * TILE_COLUMNS * depth + v * LANES),
                                             sum[s][v], separate);
    }
    for (int s = 0; s < strips; s++)
        for (int v = 0; v < TILE_VECTORS; v++) vec_store(sums + s * TILE_COLUMNS + v * LANES, sum[s][v]);
}

/* A single row and packed columns: several strips at a time, whose sums do not wait for each other. */
static void multiply_packed_row(const kni_gemm_block *block)
{
    const real *a = block->a_packed ? block->a_packed : block->a.data, *b = block->b_packed;
    const int64_t a_step = block->a_packed ? 1 : block->a.col;
    real sums[ROW_STRIPS * TILE_COLUMNS];
    for (int64_t j = 0; j < block->n;) {
        const bool many = block->n - j > (ROW_STRIPS - 1) * TILE_COLUMNS;
        const int64_t cols = at_most(many ? ROW_STRIPS * TILE_COLUMNS : TILE_COLUMNS, block->n - j);
        if (many && block->separate)
            row_of_strips(sums, a, a_step, b + j * block->k, block->k, ROW_STRIPS, 1);
        else if (many)
            row_of_strips(sums, a, a_step, b + j * block->k, block->k, ROW_STRIPS, 0);
        else if (block->separate)
            row_of_strips(sums, a, a_step, b + j * block->k, block->k, 1, 1);
        else
            row_of_strips(sums, a, a_step, b + j * block->k, block->k, 1, 0);
        const tile_job job = {.c = (real *)block->c + j * block->c_col,
                              .c_col = block->c_col,
                              .alpha = (real)block->alpha,
                              .beta = (real)block->beta};
        update_tile(&job, sums, 0, 1, cols);
        j += cols;
    }
}

static void multiply_block(const kni_gemm_block *block)
{
    if (HAS_PACKED_ROWS && block->m == 1 && block->b_packed) {
        multiply_packed_row(block);
        return;
    }
    const bool in_place = is_read_in_place(block);
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
        if (copy->type != REAL_TYPE) {
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
        if (copy->type != REAL_TYPE) {
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
    if (bias->type == KNI_GEMM_F16) return kni_f16_to_f32(*(const uint16_t *)p);
    if (bias->type == KNI_GEMM_BF16) return kni_bf16_to_f32(*(const uint16_t *)p);
#endif
    return *(const real *)p;
}

/* c[j] = finish(c[j] + bias[j * bias_step]) for a row of the block, bias_step being 0 or 1; `kind` is a constant in every instance. */
static inline __attribute__((always_inline)) void finish_row(real *c, const real *bias, int64_t bias_step,
                                                             int64_t n, const kni_finish *f,
                                                             const kni_finish_kind kind)
{
    const vec same = vec_all(bias && bias_step == 0 ? *bias : 0);
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        vec sum = vec_load(c + j);
        if (bias) sum += bias_step ? vec_load(bias + j) : same;
        vec_store(c + j, finish_vector(sum, f, kind));
    }
    for (; j < n; j++) c[j] = finish_real(bias ? c[j] + bias[j * bias_step] : c[j], f, kind);
}

static void add_bias(const kni_gemm_copy *copy, const kni_gemm_view *bias, const kni_finish *finish)
{
    const bool plain = copy->tile_col == 1 &&
                       (!bias->data || (bias->type == REAL_TYPE && (bias->col == 1 || bias->col == 0)));
    for (int64_t i = 0; i < copy->rows; i++) {
        real *c = (real *)copy->tile + i * copy->tile_row;
        const real *add = bias->data ? element(bias, i, 0) : NULL;
        if (plain && kni_finish_kind_of(finish) == KNI_FINISH_NONE)
            finish_row(c, add, bias->col, copy->cols, finish, KNI_FINISH_NONE);
        else if (plain && kni_finish_kind_of(finish) == KNI_FINISH_LOW)
            finish_row(c, add, bias->col, copy->cols, finish, KNI_FINISH_LOW);
        else if (plain)
            finish_row(c, add, bias->col, copy->cols, finish, KNI_FINISH_BOTH);
        else
            for (int64_t j = 0; j < copy->cols; j++) {
                real *to = c + j * copy->tile_col;
                *to = finish_real(bias->data ? *to + bias_value(bias, i, j) : *to, finish,
                                  kni_finish_kind_of(finish));
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
