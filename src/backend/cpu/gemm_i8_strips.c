/* B of integer products in strips: two at once where its rows lie in order and the processor has kernels for that, one where its columns
   do, else by four rows. */
#include "backend/cpu/gemm_i8_product.h"
#include "backend/cpu/gemm_problem.h"
#include <string.h>

/* Where the rows of a strip are: in B itself, or copied one by one. */
typedef struct strip_rows {
    const kni_gemm_i8_args *g;
    const uint8_t *base; /* of the first column */
    int64_t columns, width;
    bool whole;                                    /* rows lie in B, with as many columns as a strip has */
    uint8_t *buffer, pad[KNI_GEMM_I8_MAX_COLUMNS]; /* pad: what is zero once the bytes are unsigned */
} strip_rows;

static const uint8_t *row_at(const strip_rows *s, int64_t k, int t)
{
    const kni_gemm_i8_args *g = s->g;
    if (k >= g->k) return s->pad;
    const uint8_t *from = s->base + (g->b_offsets ? g->b_offsets[k] : k * g->b_row);
    if (s->whole) return from;
    uint8_t *row = s->buffer + t * s->width;
    for (int64_t j = 0; j < s->columns; j++) row[j] = from[j * g->b_col];
    return row;
}

/* Packs the quads of a strip from q on. */
static void pack_strip(const kni_gemm_i8_product *p, int64_t batch, int64_t first, char *strip, int64_t q)
{
    const kni_gemm_i8_args *g = p->g;
    const kni_gemm_i8_kernels *kernels = p->kernels;
    const uint8_t flip = g->b_unsigned ? 0 : 0x80;
    const int64_t step = kernels->tile_columns * 4 * kernels->width;
    uint8_t buffer[4 * KNI_GEMM_I8_MAX_COLUMNS] = {0};
    strip_rows s = {.g = g,
                    .base = g->b + batch * g->b_batch + first * g->b_col,
                    .columns = kni_gemm_min(kernels->tile_columns, g->n - first),
                    .width = kernels->tile_columns,
                    .buffer = buffer};
    const bool full = s.columns == s.width, in_order = !g->b_offsets && g->b_row == 1 && full;
    memset(s.pad, flip, sizeof s.pad);
    s.whole = g->b_col == 1 && full;
    for (strip += q * step; q < p->quads; q++, strip += step) {
        if (in_order && 4 * q + 4 <= g->k) {
            kernels->gather(strip, s.base + 4 * q, g->b_col, flip);
            continue;
        }
        const uint8_t *rows[4];
        for (int t = 0; t < 4; t++) rows[t] = row_at(&s, 4 * q + t, t);
        kernels->interleave(strip, rows, flip);
    }
}

/* The whole quads of one strip whose columns lie in order, where there is a kernel for that; returns how many. */
static int64_t pack_turned(const kni_gemm_i8_product *p, int64_t batch, int64_t first, char *strip)
{
    const kni_gemm_i8_args *g = p->g;
    const kni_gemm_i8_kernels *kernels = p->kernels;
    if (!kernels->pack_turned || g->b_offsets || g->b_row != 1 || first + kernels->tile_columns > g->n)
        return 0;
    kernels->pack_turned(strip, g->b + batch * g->b_batch + first * g->b_col, g->b_col, g->k / 4,
                         g->b_unsigned ? 0 : 0x80);
    return g->k / 4;
}

void kni_gemm_i8_pack(const kni_gemm_i8_product *p, int64_t batch, int64_t first, char *strips)
{
    const kni_gemm_i8_args *g = p->g;
    const int64_t width = p->kernels->tile_columns, both = KNI_GEMM_I8_STRIPS * width;
    if (p->kernels->pack_two && g->b_col == 1) {
        p->kernels->pack_two(strips, strips + p->strip_bytes, g->b + batch * g->b_batch + first, g->b_offsets,
                             g->b_row, g->k, kni_gemm_min(both, g->n - first + g->b_slack),
                             g->b_unsigned ? 0 : 0x80);
        return;
    }
    for (int s = 0; s < KNI_GEMM_I8_STRIPS && first + s * width < g->n; s++) {
        char *strip = strips + s * p->strip_bytes;
        pack_strip(p, batch, first + s * width, strip, pack_turned(p, batch, first + s * width, strip));
    }
}
