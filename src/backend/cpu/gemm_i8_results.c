/* Where the sums of integer products go: all columns or those of a grid, as they are, as 8 bits or as reals. */
#include "backend/cpu/gemm_i8_product.h"
#include "backend/cpu/gemm_problem.h"
#include <string.h>

static void start_scaling(const kni_gemm_i8_args *g, int64_t first, int64_t columns, kni_gemm_i8_columns *s)
{
    *s = (kni_gemm_i8_columns){{0}, {0}, {0}}; /* behind the last column too */
    for (int64_t j = 0; !g->of_rows && j < columns; j++) {
        s->bias[j] = g->bias ? g->bias[first + j] : 0;
        s->scale[j] = g->scaling ? g->scaling->scale[first + j] : 0;
        s->shift[j] = g->scaling && g->scaling->shift ? g->scaling->shift[first + j] : 0;
    }
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

void kni_gemm_i8_start_target(const kni_gemm_i8_product *p, int64_t batch, int64_t first,
                              kni_gemm_i8_target *t)
{
    t->batch = batch;
    t->first = first;
    t->columns = kni_gemm_min(p->kernels->tile_columns, p->g->n - first);
    t->n_segments = find_segments(p->g, first, t->columns, t->segments);
    start_scaling(p->g, first, t->columns, &t->scaling);
}

/* Bias, scale and shift of a row, or those of the columns. */
typedef struct factors {
    const int32_t *bias;
    const float *scale, *shift;
} factors;

static const int32_t no_bias = 0;
static const float no_shift = 0;

static factors factors_of(const kni_gemm_i8_args *g, const kni_gemm_i8_target *t, int64_t of_row)
{
    if (!g->of_rows) return (factors){t->scaling.bias, t->scaling.scale, t->scaling.shift};
    return (factors){g->bias ? g->bias + of_row : &no_bias,
                     g->scaling ? g->scaling->scale + of_row : &no_shift,
                     g->scaling && g->scaling->shift ? g->scaling->shift + of_row : &no_shift};
}

static void write_sums(const kni_gemm_i8_args *g, const kni_gemm_i8_target *t, int64_t at,
                       const int32_t *bias, const int32_t *sums)
{
    for (int i = 0; i < t->n_segments; i++) {
        const kni_gemm_i8_segment *z = &t->segments[i];
        int32_t *to = g->c + at + z->to;
        memcpy(to, sums + z->at, (size_t)z->count * sizeof *sums);
        for (int j = 0; g->bias && j < z->count; j++)
            to[j] = (int32_t)((uint32_t)to[j] + (uint32_t)bias[g->of_rows ? 0 : z->at + j]);
    }
}

void kni_gemm_i8_write(const kni_gemm_i8_product *p, const kni_gemm_i8_target *t, int64_t row,
                       const int32_t *sums)
{
    const kni_gemm_i8_args *g = p->g;
    const int64_t at = t->batch * g->c_batch + row * g->c_row;
    const factors f = factors_of(g, t, t->batch % g->a_count * g->m + row);
    if (!g->scaling) {
        write_sums(g, t, at, f.bias, sums);
        return;
    }
    uint8_t bytes[KNI_GEMM_I8_MAX_COLUMNS];
    float reals[KNI_GEMM_I8_MAX_COLUMNS];
    if (g->reals)
        p->kernels->to_reals(reals, sums, f.bias, f.scale, f.shift, !g->of_rows);
    else
        p->kernels->scale(bytes, sums, f.bias, f.scale, !g->of_rows,
                          (const int32_t[]){g->scaling->zero, g->scaling->low, g->scaling->high});
    for (int i = 0; i < t->n_segments; i++) {
        const kni_gemm_i8_segment *z = &t->segments[i];
        if (g->reals)
            memcpy(g->reals + at + z->to, reals + z->at, (size_t)z->count * sizeof *reals);
        else
            memcpy(g->bytes + at + z->to, bytes + z->at, (size_t)z->count);
    }
}
