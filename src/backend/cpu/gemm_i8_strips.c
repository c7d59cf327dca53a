/* Packs strips of B: two at once where its rows or columns lie in order and the processor has kernels for that, else by four rows. */
#include "backend/cpu/gemm_i8_product.h"
#include "backend/cpu/gemm_problem.h"
#include <string.h>

/* Where the rows of a strip are: in B itself, filled in, or copied one by one. */
typedef struct strip_rows {
    const kni_gemm_i8_args *g;
    const uint8_t *base, *raw; /* base: of the first column */
    int64_t columns, width;
    bool whole;                                    /* rows lie in B, with as many columns as a strip has */
    uint8_t *buffer, pad[KNI_GEMM_I8_MAX_COLUMNS]; /* pad: what is zero once the bytes are unsigned */
} strip_rows;

static const uint8_t *row_at(const strip_rows *s, int64_t k, int t)
{
    const kni_gemm_i8_args *g = s->g;
    if (k >= g->k) return s->pad;
    if (s->raw) return s->raw + k * s->width * KNI_GEMM_I8_STRIPS;
    const uint8_t *from = s->base + (g->b_offsets ? g->b_offsets[k] : k * g->b_row);
    if (s->whole) return from;
    uint8_t *row = s->buffer + t * s->width;
    for (int64_t j = 0; j < s->columns; j++) row[j] = from[j * g->b_col];
    return row;
}

/* Packs the quads of a strip from q on. raw: bytes it was filled with, or NULL. */
static void pack_strip(const kni_gemm_i8_product *p, int64_t batch, int64_t first, char *strip,
                       const uint8_t *raw, int64_t q)
{
    const int64_t columns = kni_gemm_min(p->kernels->tile_columns, p->g->n - first);
    const kni_gemm_i8_args *g = p->g;
    const kni_gemm_i8_kernels *kernels = p->kernels;
    const uint8_t flip = g->b_unsigned ? 0 : 0x80;
    const int64_t step = kernels->tile_columns * 4 * kernels->width;
    uint8_t buffer[4 * KNI_GEMM_I8_MAX_COLUMNS] = {0};
    strip_rows s = {.g = g, .columns = columns, .width = kernels->tile_columns, .buffer = buffer};
    const bool full = columns == s.width, in_order = g->b && !g->b_offsets && g->b_row == 1 && full;
    memset(s.pad, flip, sizeof s.pad);
    s.whole = g->b_col == 1 && full;
    s.raw = raw;
    if (!raw) s.base = g->b + batch * g->b_batch + first * g->b_col;
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

/* Packs whole quads of both strips at once where that is possible; returns how many. */
static int64_t pack_two(const kni_gemm_i8_product *p, int64_t batch, int64_t first, char *strips,
                        const uint8_t *raw)
{
    const kni_gemm_i8_args *g = p->g;
    const kni_gemm_i8_kernels *kernels = p->kernels;
    const int64_t both = (int64_t)KNI_GEMM_I8_STRIPS * kernels->tile_columns, quads = g->k / 4;
    const uint8_t flip = g->b_unsigned ? 0 : 0x80;
    if (!kernels->pack_two || (!raw && (g->b_col != 1 || first + both > g->n))) return 0;
    const uint8_t *from = raw ? raw : g->b + batch * g->b_batch + first;
    kernels->pack_two(strips, strips + p->strip_bytes, from, raw ? NULL : g->b_offsets, raw ? both : g->b_row,
                      quads, flip);
    return quads;
}

/* The same for one strip whose columns lie in order. */
static int64_t pack_turned(const kni_gemm_i8_product *p, int64_t batch, int64_t first, char *strip)
{
    const kni_gemm_i8_args *g = p->g;
    const kni_gemm_i8_kernels *kernels = p->kernels;
    if (!kernels->pack_turned || !g->b || g->b_offsets || g->b_row != 1 ||
        first + kernels->tile_columns > g->n)
        return 0;
    kernels->pack_turned(strip, g->b + batch * g->b_batch + first * g->b_col, g->b_col, g->k / 4,
                         g->b_unsigned ? 0 : 0x80);
    return g->k / 4;
}

void kni_gemm_i8_pack(const kni_gemm_i8_product *p, int64_t batch, int64_t first, char *strips)
{
    const kni_gemm_i8_args *g = p->g;
    const int64_t width = p->kernels->tile_columns, both = KNI_GEMM_I8_STRIPS * width;
    uint8_t *raw = g->fill_b ? (uint8_t *)strips + KNI_GEMM_I8_STRIPS * p->strip_bytes : NULL;
    if (raw) g->fill_b(g->fill_context, batch, first, kni_gemm_min(both, g->n - first), both, raw);
    const int64_t done = pack_two(p, batch, first, strips, raw);
    for (int s = 0; s < KNI_GEMM_I8_STRIPS && first + s * width < g->n; s++) {
        const int64_t at = first + s * width;
        char *strip = strips + s * p->strip_bytes;
        int64_t quads = done;
        if (!done && !raw) quads = pack_turned(p, batch, at, strip);
        pack_strip(p, batch, at, strip, raw ? raw + s * width : NULL, quads);
    }
}
