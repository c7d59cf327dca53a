/* Packing of operands into the order in which the register kernels read them, with transposition by squares
   where the source runs the other way and conversion where it has 16 bits. */
#ifndef KNI_BACKEND_CPU_TIER_GEMM_PACK_H
#define KNI_BACKEND_CPU_TIER_GEMM_PACK_H

#include "backend/cpu/gemm_kernels.h"
#include "backend/cpu/tier/gemm_half.h"
#include "backend/cpu/tier/gemm_turn.h"

static inline int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }

/* The type of operands that need no conversion. */
static const kni_gemm_type REAL_TYPE = sizeof(real) == 8 ? KNI_GEMM_F64 : KNI_GEMM_F32;

static inline const void *element(const kni_gemm_view *view, int64_t i, int64_t j)
{
    const int64_t size = view->type == KNI_GEMM_F64 ? 8 : view->type == KNI_GEMM_F32 ? 4 : 2;
    return (const char *)view->data + (i * view->row + j * view->col) * size;
}

/* dst[k * width + i] = src[i * src_row + k] for rows x depth: `rows` lines that each run along k. The last
   squares overlap those before them, so that odd sizes cost little. */
static void pack_across(real *dst, int64_t width, const real *src, int64_t src_row, int64_t rows,
                        int64_t depth)
{
    if (rows < SMALL_SQUARE || depth < SQUARE) {
        for (int64_t i = 0; i < rows; i++)
            for (int64_t k = 0; k < depth; k++) dst[k * width + i] = src[i * src_row + k];
        return;
    }
    /* Few lines at a time: rows that lie a power of two apart compete for the same places in the cache. */
    const int64_t side = rows < SQUARE ? SMALL_SQUARE : SQUARE;
    for (int64_t i = 0; i < rows; i += side) {
        const int64_t at_i = at_most(i, rows - side);
        for (int64_t k = 0; k < depth; k += side) {
            const int64_t at_k = at_most(k, depth - side);
            real *to = dst + at_k * width + at_i;
            const real *from = src + at_i * src_row + at_k;
            if (side == SQUARE)
                transpose_square(to, width, from, src_row);
            else
                transpose_small(to, width, from, src_row);
        }
    }
}

/* Copies a line shorter than a vector as two pieces that overlap. */
static inline void copy_short(real *dst, const real *src, int64_t n)
{
    const size_t bytes = (size_t)n * sizeof(real);
    char *to = (char *)dst;
    const char *from = (const char *)src;
    if (bytes >= 32) {
        memcpy(to, from, 32);
        memcpy(to + bytes - 32, from + bytes - 32, 32);
    } else if (bytes >= 16) {
        memcpy(to, from, 16);
        memcpy(to + bytes - 16, from + bytes - 16, 16);
    } else if (bytes >= 8) {
        memcpy(to, from, 8);
        memcpy(to + bytes - 8, from + bytes - 8, 8);
    } else if (bytes) {
        *dst = *src;
    }
}

/* dst[k * width + i] = src[k * src_col + i] for rows x depth: `depth` short lines. */
static void pack_along(real *dst, int64_t width, const real *src, int64_t src_col, int64_t rows,
                       int64_t depth)
{
    const int64_t whole = rows - rows % LANES;
    for (int64_t k = 0; k < depth; k++, dst += width, src += src_col) {
        for (int64_t i = 0; i < whole; i += LANES) vec_store(dst + i, vec_load(src + i));
        copy_short(dst + whole, src + whole, rows - whole);
    }
}

#ifndef KNI_GEMM_REAL_F64
/* The same for 16-bit sources: a piece is converted line by line, then packed like any other. */
static void pack_half(real *dst, int64_t width, const kni_gemm_view *src, int64_t rows, int64_t depth)
{
    enum { PIECE = 32 };
    float piece[(TILE_COLUMNS + TILE_ROWS) * PIECE];
    if (src->row == 1 || src->col != 1) {
        for (int64_t k = 0; k < depth; k++)
            floats_from(dst + k * width, element(src, 0, k), src->type, src->row, rows);
        return;
    }
    for (int64_t k = 0; k < depth; k += PIECE) {
        const int64_t n = at_most(PIECE, depth - k);
        for (int64_t i = 0; i < rows; i++)
            floats_from(piece + i * PIECE, element(src, i, k), src->type, 1, n);
        pack_across(dst + k * width, width, piece, PIECE, rows, n);
    }
}
#endif

/* dst[k * width + i] = src(i, k) for rows x depth, where rows <= width and at most one tile's. */
static void pack_panel(real *dst, int64_t width, const kni_gemm_view *src, int64_t rows, int64_t depth)
{
#ifndef KNI_GEMM_REAL_F64
    if (src->type != REAL_TYPE) {
        pack_half(dst, width, src, rows, depth);
        return;
    }
#endif
    const real *from = src->data;
    if (src->row == 1) {
        pack_along(dst, width, from, src->col, rows, depth);
    } else if (src->col == 1) {
        pack_across(dst, width, from, src->row, rows, depth);
    } else {
        for (int64_t k = 0; k < depth; k++)
            for (int64_t i = 0; i < rows; i++) dst[k * width + i] = from[i * src->row + k * src->col];
    }
}

/* Packs one strip of B, at most a tile wide, and fills its last vector up with zeros. */
static void pack_strip(real *dst, const kni_gemm_view *b, int64_t depth, int64_t cols)
{
    const kni_gemm_view turned = {b->data, b->col, b->row, b->type};
    if (cols % LANES) {
        const int64_t last = cols - cols % LANES;
        for (int64_t k = 0; k < depth; k++) vec_store(dst + k * TILE_COLUMNS + last, vec_all(0));
    }
    pack_panel(dst, TILE_COLUMNS, &turned, cols, depth);
}

/* B in strips of TILE_COLUMNS columns, each depth x TILE_COLUMNS. Lines that run along the columns are read
   whole, through all strips, because that is how memory delivers them. */
static void pack_b(void *dst, const kni_gemm_view *b, int64_t depth, int64_t cols)
{
    real *to = dst;
    int64_t j = 0;
    if (b->col == 1 && b->type == REAL_TYPE) {
        const int64_t whole = cols - cols % TILE_COLUMNS;
        const real *from = b->data;
        for (int64_t k = 0; k < depth; k++, from += b->row)
            for (j = 0; j < whole; j += TILE_COLUMNS)
                for (int v = 0; v < TILE_COLUMNS; v += LANES)
                    vec_store(to + j * depth + k * TILE_COLUMNS + v, vec_load(from + j + v));
        j = whole;
    }
    for (; j < cols; j += TILE_COLUMNS) {
        const kni_gemm_view strip = {element(b, 0, j), b->row, b->col, b->type};
        pack_strip(to + j * depth, &strip, depth, at_most(TILE_COLUMNS, cols - j));
    }
}

/* The rows of a block are shared out evenly over its panels, so that none is much lower than a tile. */
typedef struct {
    int64_t first, rows;
} panel_place;

static inline panel_place place_panel(int64_t rows, int64_t panels, int64_t p)
{
    const int64_t base = rows / panels, higher = rows % panels;
    return (panel_place){p * base + at_most(p, higher), base + (p < higher)};
}

static inline int64_t panel_elements(int64_t depth) { return TILE_ROWS * depth; }
static inline int64_t panel_count(int64_t rows) { return (rows + TILE_ROWS - 1) / TILE_ROWS; }

/* A in panels of at most TILE_ROWS rows, each depth x rows. */
static void pack_a(void *dst, const kni_gemm_view *a, int64_t rows, int64_t depth)
{
    const int64_t panels = panel_count(rows);
    for (int64_t p = 0; p < panels; p++) {
        const panel_place place = place_panel(rows, panels, p);
        const kni_gemm_view panel = {element(a, place.first, 0), a->row, a->col, a->type};
        pack_panel((real *)dst + p * panel_elements(depth), place.rows, &panel, place.rows, depth);
    }
}

#endif
