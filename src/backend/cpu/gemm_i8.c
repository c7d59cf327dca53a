/* The driver of products of bytes: A is packed in panels of rows, all of it or as much as a few megabytes hold; then tasks pack a strip of
   B each, multiply it with the panels and take the zero points out of the sums. */
#include "backend/cpu/gemm_i8.h"
#include "backend/cpu/gemm_i8_kernels.h"
#include "backend/cpu/gemm_problem.h"
#include "backend/cpu/isa.h"
#include "core/allocator.h"
#include "core/thread_pool.h"
#include <string.h>

enum { PANEL_BYTES = 8 << 20, LEAST_PANELS = 4 };

static const kni_gemm_i8_kernels *const tiers[KNI_ISA_COUNT] = KNI_TIER_TABLE(&kni_gemm_i8);

const kni_gemm_i8_kernels *kni_gemm_i8_kernels_of(kni_tier tier, bool dot)
{
#ifdef KNI_HAVE_TIER_V4
    if (tier == KNI_ISA_V4 && dot) return &kni_gemm_i8_dot_v4;
#endif
#ifdef KNI_HAVE_TIER_V3
    if (tier == KNI_ISA_V3 && dot) return &kni_gemm_i8_dot_v3;
#endif
    return dot ? NULL : tiers[tier];
}

typedef struct product {
    const kni_gemm_i8_args *g;
    const kni_gemm_i8_kernels *kernels;
    int64_t quads, panel_bytes, strip_bytes, raw_bytes;
    int64_t first, rows, panels;   /* of the part of A that is packed */
    char *packed;                  /* [a_count][panels] */
    int32_t *row_sums, *row_zeros; /* [a_count][panels][tile_rows] */
    char *strips;                  /* one for each thread */
    int64_t strips_across, panels_of_task, tasks_down;
    bool has_zeros, has_row_zeros;
} product;

/* ---- A */

static void pack_task(void *arg, int64_t task, int worker)
{
    product *p = arg;
    const kni_gemm_i8_args *g = p->g;
    const int64_t matrix = task / p->panels, row = p->first + task % p->panels * p->kernels->tile_rows;
    const int64_t rows = kni_gemm_min(p->kernels->tile_rows, g->m - row);
    const uint8_t flip = g->a_unsigned ? 0x80 : 0;
    int32_t *zeros = p->row_zeros + task * p->kernels->tile_rows;
    (void)worker;
    p->kernels->pack_a(p->packed + task * p->panel_bytes, g->a + matrix * g->a_batch + row * g->a_row,
                       g->a_row, g->a_col, rows, g->k, flip, p->row_sums + task * p->kernels->tile_rows);
    for (int64_t i = 0; i < p->kernels->tile_rows; i++)
        zeros[i] = (g->a_zero && i < rows ? g->a_zero[matrix * g->m + row + i] : 0) - flip;
}

/* ---- B */

static const uint8_t *row_of(const kni_gemm_i8_args *g, int64_t batch, int64_t k)
{
    return g->b + batch * g->b_batch + (g->b_offsets ? g->b_offsets[k] : k * g->b_row);
}

/* The four rows from 4 q on of columns first .. first + columns - 1, where they lie or in `buffer`; zeros behind the end. */
static void rows_of_quad(const product *p, int64_t batch, int64_t q, int64_t first, int64_t columns,
                         const uint8_t *raw, uint8_t *buffer, const uint8_t *rows[4])
{
    const kni_gemm_i8_args *g = p->g;
    const int64_t width = p->kernels->tile_columns;
    for (int64_t t = 0; t < 4; t++) {
        const int64_t k = 4 * q + t;
        uint8_t *row = buffer + t * width;
        const uint8_t *from = g->b ? row_of(g, batch, k < g->k ? k : 0) + first * g->b_col : NULL;
        rows[t] = row;
        if (k >= g->k) {
            memset(row, g->b_unsigned ? 0 : 0x80, (size_t)width);
        } else if (raw) {
            rows[t] = raw + k * width;
        } else if (g->b_col == 1 && columns == width) {
            rows[t] = from;
        } else {
            for (int64_t j = 0; j < columns; j++) row[j] = from[j * g->b_col];
        }
    }
}

static void pack_strip(const product *p, int64_t batch, int64_t first, int64_t columns, char *strip,
                       uint8_t *raw)
{
    const kni_gemm_i8_args *g = p->g;
    const kni_gemm_i8_kernels *kernels = p->kernels;
    const uint8_t flip = g->b_unsigned ? 0 : 0x80;
    const int64_t step = kernels->tile_columns * 4 * kernels->width;
    const bool in_order = g->b && !g->b_offsets && g->b_row == 1 && columns == kernels->tile_columns;
    uint8_t buffer[4 * KNI_GEMM_I8_MAX_COLUMNS] = {0};
    if (g->fill_b)
        g->fill_b(g->fill_context, batch, first, columns, kernels->tile_columns, raw);
    else
        raw = NULL;
    for (int64_t q = 0; q < p->quads; q++) {
        const uint8_t *rows[4];
        if (in_order && 4 * q + 4 <= g->k) {
            kernels->gather(strip + q * step, g->b + batch * g->b_batch + 4 * q + first * g->b_col, g->b_col,
                            flip);
            continue;
        }
        rows_of_quad(p, batch, q, first, columns, raw, buffer, rows);
        kernels->interleave(strip + q * step, rows, flip);
    }
}

/* What `finish` takes of the columns. */
static void start_columns(const product *p, int64_t batch, int64_t first, int64_t columns, const char *strip,
                          int32_t *terms, int32_t *zeros)
{
    const kni_gemm_i8_args *g = p->g;
    const int32_t flip = g->b_unsigned ? 0 : 0x80;
    const int32_t *given = g->b_zero ? g->b_zero + batch * g->b_zero_batch : NULL;
    if (p->has_row_zeros) p->kernels->column_sums(strip, p->quads, terms);
    for (int64_t j = 0; j < p->kernels->tile_columns; j++) {
        zeros[j] = (given && j < columns ? given[(first + j) * g->b_zero_step] : 0) + flip;
        terms[j] = p->has_row_zeros ? (int32_t)((uint32_t)terms[j] - (uint32_t)g->k * (uint32_t)zeros[j]) : 0;
    }
}

/* ---- results */

/* Bias and scale of the columns of a strip, for all of it. */
typedef struct column_scaling {
    int32_t bias[KNI_GEMM_I8_MAX_COLUMNS];
    float scale[KNI_GEMM_I8_MAX_COLUMNS];
} column_scaling;

static void start_scaling(const kni_gemm_i8_args *g, int64_t first, int64_t columns, column_scaling *s)
{
    for (int64_t j = 0; j < columns; j++) {
        s->bias[j] = g->bias ? g->bias[first + j] : 0;
        s->scale[j] = g->scaling ? g->scaling->scale[first + j] : 0;
    }
}

/* Columns of a strip that follow each other in C. */
typedef struct segment {
    int at, count;
    int64_t to;
} segment;

/* What a strip gives C: all of its columns, or those of the grid that count. */
static int find_segments(const kni_gemm_i8_args *g, int64_t first, int64_t columns, segment *list)
{
    const kni_gemm_i8_grid *z = g->grid;
    int found = 0;
    if (!z) {
        list[0] = (segment){0, (int)columns, first};
        return 1;
    }
    for (int64_t at = 0; at < columns;) {
        const int64_t place = first + at, c = place % z->size[1], rows = place / z->size[1];
        const int64_t b = rows % z->size[0], a = rows / z->size[0];
        const int64_t left = kni_gemm_min(z->size[1] - c, columns - at);
        if (c < z->out[1] && b < z->out[0])
            list[found++] = (segment){(int)at, (int)kni_gemm_min(left, z->out[1] - c),
                                      (a * z->out[0] + b) * z->out[1] + c};
        at += left;
    }
    return found;
}

/* The sums of a row of a strip, in their place. of_row: which row it is among all of A; `at`: where it begins in C. */
static void write_row(const product *p, int64_t of_row, int64_t at, const int32_t *sums,
                      const column_scaling *s, const segment *segments, int n)
{
    const kni_gemm_i8_args *g = p->g;
    const int32_t none = 0, *bias = !g->of_rows ? s->bias : g->bias ? g->bias + of_row : &none;
    const float *scale = !g->scaling ? NULL : g->of_rows ? g->scaling->scale + of_row : s->scale;
    for (int i = 0; i < n; i++) {
        const segment *z = &segments[i];
        const int64_t to = at + z->to;
        const int own = g->of_rows ? 0 : z->at; /* of biases and scales */
        if (g->scaling) {
            const int32_t bounds[3] = {g->scaling->zero, g->scaling->low, g->scaling->high};
            p->kernels->scale(g->bytes + to, sums + z->at, z->count, bias + own, scale + own, !g->of_rows,
                              bounds);
            continue;
        }
        memcpy(g->c + to, sums + z->at, (size_t)z->count * sizeof *sums);
        for (int j = 0; g->bias && j < z->count; j++)
            g->c[to + j] = (int32_t)((uint32_t)g->c[to + j] + (uint32_t)bias[g->of_rows ? 0 : own + j]);
    }
}

/* ---- the products */

static void multiply_task(void *arg, int64_t task, int worker)
{
    const product *p = arg;
    const kni_gemm_i8_args *g = p->g;
    const kni_gemm_i8_kernels *kernels = p->kernels;
    const int64_t down = task % p->tasks_down, strip_of = task / p->tasks_down;
    const int64_t batch = strip_of / p->strips_across, width = kernels->tile_columns;
    const int64_t first = strip_of % p->strips_across * width, columns = kni_gemm_min(width, g->n - first);
    const int64_t before = batch % g->a_count * p->panels, begin = down * p->panels_of_task;
    const int64_t end = kni_gemm_min(p->panels, begin + p->panels_of_task);
    char *strip = p->strips + worker * (p->strip_bytes + p->raw_bytes);
    int32_t sums[KNI_GEMM_I8_MAX_ROWS * KNI_GEMM_I8_MAX_COLUMNS];
    int32_t terms[KNI_GEMM_I8_MAX_COLUMNS], zeros[KNI_GEMM_I8_MAX_COLUMNS];
    column_scaling scaling;
    segment segments[KNI_GEMM_I8_MAX_COLUMNS];
    const int n_segments = find_segments(g, first, columns, segments);
    pack_strip(p, batch, first, columns, strip, (uint8_t *)strip + p->strip_bytes);
    if (!g->of_rows) start_scaling(g, first, columns, &scaling);
    if (p->has_zeros) start_columns(p, batch, first, columns, strip, terms, zeros);
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = p->first + i * kernels->tile_rows, panel = before + i;
        const int rows = (int)kni_gemm_min(kernels->tile_rows, g->m - row);
        kernels->tile(p->packed + panel * p->panel_bytes, strip, p->quads, rows, sums);
        if (p->has_zeros)
            kernels->finish(sums, rows, p->row_sums + panel * kernels->tile_rows,
                            p->row_zeros + panel * kernels->tile_rows, terms, zeros);
        for (int r = 0; r < rows; r++)
            write_row(p, batch % g->a_count * g->m + row + r, batch * g->c_batch + (row + r) * g->c_row,
                      sums + r * width, &scaling, segments, n_segments);
    }
}

/* Few strips are multiplied with parts of the panels each, so that all threads have work. */
static void cut(product *p)
{
    const int64_t strips = p->g->batch * p->strips_across, wanted = 3 * kni_threads();
    p->panels_of_task = p->panels;
    if (strips < wanted) {
        p->panels_of_task = kni_gemm_ceil(p->panels * strips, wanted);
        if (p->panels_of_task < LEAST_PANELS) p->panels_of_task = LEAST_PANELS;
    }
    p->tasks_down = kni_gemm_ceil(p->panels, p->panels_of_task);
}

static void run_part(product *p)
{
    const kni_gemm_i8_args *g = p->g;
    p->rows = kni_gemm_min(p->rows, g->m - p->first);
    p->panels = kni_gemm_ceil(p->rows, p->kernels->tile_rows);
    cut(p);
    kni_gemm_run(8.0 * (double)g->a_count * (double)p->rows * (double)g->k, g->a_count * p->panels, pack_task,
                 p);
    const double work = (double)g->batch * (double)p->rows * (double)g->n * (double)g->k / 2;
    kni_gemm_run(work, g->batch * p->strips_across * p->tasks_down, multiply_task, p);
}

static bool any_zero(const kni_gemm_i8_args *g)
{
    if (g->a_unsigned) return true;
    for (int64_t i = 0; g->a_zero && i < g->m * g->a_count; i++)
        if (g->a_zero[i]) return true;
    return false;
}

bool kni_gemm_i8(const kni_gemm_i8_args *g)
{
    if (g->m <= 0 || g->n <= 0 || g->batch <= 0) return true;
    product p = {.g = g,
                 .kernels = kni_gemm_i8_kernels_of(kni_cpu_tier(), kni_cpu_has_dot_products()),
                 .quads = kni_gemm_ceil(g->k, 4)};
    p.panel_bytes = p.quads * p.kernels->tile_rows * 4 * p.kernels->width;
    p.strip_bytes = (p.quads * p.kernels->tile_columns * 4 * p.kernels->width + 63) / 64 * 64;
    p.raw_bytes = g->fill_b ? (g->k * p.kernels->tile_columns + 63) / 64 * 64 : 0;
    p.strips_across = kni_gemm_ceil(g->n, p.kernels->tile_columns);
    p.has_row_zeros = any_zero(g);
    p.has_zeros = p.has_row_zeros || !g->b_unsigned || g->b_zero;
    int64_t panels = kni_gemm_ceil(g->m, p.kernels->tile_rows), room = PANEL_BYTES / (p.panel_bytes + 1);
    if (room < LEAST_PANELS) room = LEAST_PANELS;
    if (panels > room) panels = room;
    p.rows = panels * p.kernels->tile_rows;
    const size_t all = (size_t)(panels * g->a_count), tile = (size_t)p.kernels->tile_rows * sizeof(int32_t);
    const size_t packed = all * (size_t)p.panel_bytes,
                 strips = (size_t)kni_threads() * (size_t)(p.strip_bytes + p.raw_bytes);
    const size_t bytes = packed + 2 * all * tile + strips + 64;
    char *memory = kni_allocate(bytes);
    if (!memory) return false;
    p.strips = memory;
    p.row_sums = (int32_t *)(memory + strips);
    p.row_zeros = (int32_t *)(memory + strips + all * tile);
    p.packed = memory + strips + 2 * all * tile;
    for (p.first = 0; p.first < g->m; p.first += panels * p.kernels->tile_rows) {
        p.rows = panels * p.kernels->tile_rows;
        run_part(&p);
    }
    kni_free(memory, bytes);
    return true;
}
