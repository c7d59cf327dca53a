/* Where the sums of integer products go: all columns or those of a grid, as they are, as 8 bits or as reals. */
#include "backend/cpu/gemm_i8_product.h"
#include "backend/cpu/gemm_problem.h"
#include <string.h>

/* What belongs to the columns of a strip; what is behind the last column is 0. */
static void start_scaling(const kni_gemm_i8_args *g, kni_gemm_i8_target *t)
{
    const kni_gemm_i8_scaling *s = g->scaling;
    const size_t columns = (size_t)t->columns;
    if (g->of_rows) return;
    memset(t->bias, 0, sizeof t->bias);
    memset(t->scale, 0, sizeof t->scale);
    memset(t->shift, 0, sizeof t->shift);
    if (g->bias) memcpy(t->bias, g->bias + t->first, columns * sizeof *t->bias);
    if (!s) return;
    if (s->one_scale)
        for (int j = 0; j < KNI_GEMM_I8_MAX_COLUMNS; j++) t->scale[j] = *s->scale;
    else
        memcpy(t->scale, s->scale + t->first, columns * sizeof *t->scale);
    if (s->shift) memcpy(t->shift, s->shift + t->first, columns * sizeof *t->shift);
}

/* What a strip gives C: all of its columns, or those of the grid that count. */
static int find_segments(const kni_gemm_i8_args *g, int64_t first, int64_t columns, kni_gemm_i8_segment *list)
{
    const kni_gemm_i8_grid *z = g->grid;
    int found = 0;
    if (!z) {
        list[0] = (kni_gemm_i8_segment){0, (int)columns, first};
        return 1;
    }
    for (int64_t at = 0; at < columns;) {
        const int64_t place = first + at, c = place % z->size[1], rows = place / z->size[1];
        const int64_t b = rows % z->size[0], a = rows / z->size[0];
        const int64_t left = kni_gemm_min(z->size[1] - c, columns - at);
        if (c < z->out[1] && b < z->out[0])
            list[found++] = (kni_gemm_i8_segment){(int)at, (int)kni_gemm_min(left, z->out[1] - c),
                                                  (a * z->out[0] + b) * z->out[1] + c};
        at += left;
    }
    return found;
}

/* Zero points of the columns, with what makes their bytes unsigned, and what these and the sums of the columns give each row. */
static void start_zeros(const kni_gemm_i8_product *p, const int32_t *column_sums, kni_gemm_i8_target *t)
{
    const kni_gemm_i8_args *g = p->g;
    const int32_t flip = g->b_unsigned ? 0 : 0x80;
    const int64_t width = p->kernels->tile_columns;
    const int32_t *given = g->b_zero ? g->b_zero + t->batch * g->b_zero_batch : NULL;
    for (int64_t j = 0; j < width; j++) t->zeros[j] = flip;
    if (given && g->b_zero_step)
        for (int64_t j = 0; j < t->columns; j++) t->zeros[j] += given[(t->first + j) * g->b_zero_step];
    else if (given)
        for (int64_t j = 0; j < width; j++) t->zeros[j] += *given;
    t->has_zeros = flip || given;
    const uint32_t depth = (uint32_t)g->k;
    for (int64_t j = 0; p->has_row_zeros && j < width; j++)
        t->terms[j] = (int32_t)((uint32_t)column_sums[j] - depth * (uint32_t)t->zeros[j]);
}

void kni_gemm_i8_start_target(const kni_gemm_i8_product *p, int64_t batch, int64_t first,
                              const int32_t *column_sums, kni_gemm_i8_target *t)
{
    t->batch = batch;
    t->first = first;
    t->columns = kni_gemm_min(p->kernels->tile_columns, p->g->n - first);
    t->n_segments = find_segments(p->g, first, t->columns, t->segments);
    start_scaling(p->g, t);
    start_zeros(p, column_sums, t);
}

void kni_gemm_i8_write(const kni_gemm_i8_product *p, const kni_gemm_i8_target *t, int64_t row, int64_t at,
                       int rows, const int32_t *sums)
{
    static const int32_t no_bias[KNI_GEMM_I8_MAX_ROWS];
    static const float no_shift[KNI_GEMM_I8_MAX_ROWS];
    const kni_gemm_i8_args *g = p->g;
    const kni_gemm_i8_scaling *s = g->scaling;
    const int64_t to = t->batch * g->c_batch + row * g->c_row, of_row = t->batch % g->a_count * g->m + row;
    kni_gemm_i8_end e = {.step = g->c_row,
                         .segments = t->segments,
                         .n_segments = t->n_segments,
                         .row_sums = t->has_zeros ? p->row_sums + at : NULL,
                         .row_zeros = p->has_row_zeros ? p->row_zeros + at : NULL,
                         .column_zeros = t->zeros,
                         .one_zero = !g->b_zero || !g->b_zero_step,
                         .column_terms = t->terms,
                         .of_rows = g->of_rows,
                         .bias = t->bias,
                         .scale = t->scale,
                         .shift = t->shift};
    if (g->of_rows) {
        e.bias = g->bias ? g->bias + of_row : no_bias;
        e.scale = s ? s->scale + of_row : no_shift;
        e.shift = s && s->shift ? s->shift + of_row : no_shift;
    }
    if (s) e.zero = s->zero, e.low = s->low, e.high = s->high;
    if (s && g->reals)
        e.result = KNI_GEMM_I8_REALS, e.to = (char *)(g->reals + to);
    else if (s)
        e.result = KNI_GEMM_I8_BYTES, e.to = (char *)(g->bytes + to);
    else
        e.result = KNI_GEMM_I8_SUMS, e.to = (char *)(g->c + to);
    p->kernels->end(&e, sums, rows);
}
