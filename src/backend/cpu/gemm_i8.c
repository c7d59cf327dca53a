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
    if (s->raw) return s->raw + k * s->width;
    const uint8_t *from = s->base + (g->b_offsets ? g->b_offsets[k] : k * g->b_row);
    if (s->whole) return from;
    uint8_t *row = s->buffer + t * s->width;
    for (int64_t j = 0; j < s->columns; j++) row[j] = from[j * g->b_col];
    return row;
}

static void pack_strip(const product *p, int64_t batch, int64_t first, int64_t columns, char *strip,
                       uint8_t *raw)
{
    const kni_gemm_i8_args *g = p->g;
    const kni_gemm_i8_kernels *kernels = p->kernels;
    const uint8_t flip = g->b_unsigned ? 0 : 0x80;
    const int64_t step = kernels->tile_columns * 4 * kernels->width;
    uint8_t buffer[4 * KNI_GEMM_I8_MAX_COLUMNS] = {0};
    strip_rows s = {.g = g, .columns = columns, .width = kernels->tile_columns, .buffer = buffer};
    const bool full = columns == s.width, in_order = g->b && !g->b_offsets && g->b_row == 1 && full;
    memset(s.pad, flip, sizeof s.pad);
    s.whole = g->b_col == 1 && full;
    if (g->fill_b) {
        g->fill_b(g->fill_context, batch, first, columns, s.width, raw);
        s.raw = raw;
    } else {
        s.base = g->b + batch * g->b_batch + first * g->b_col;
    }
    for (int64_t q = 0; q < p->quads; q++, strip += step) {
        if (in_order && 4 * q + 4 <= g->k) {
            kernels->gather(strip, s.base + 4 * q, g->b_col, flip);
            continue;
        }
        const uint8_t *rows[4];
        for (int t = 0; t < 4; t++) rows[t] = row_at(&s, 4 * q + t, t);
        kernels->interleave(strip, rows, flip);
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
    if (g->scaling) {
        const int32_t bounds[3] = {g->scaling->zero, g->scaling->low, g->scaling->high};
        uint8_t bytes[KNI_GEMM_I8_MAX_COLUMNS];
        p->kernels->scale(bytes, sums, bias, g->of_rows ? g->scaling->scale + of_row : s->scale, !g->of_rows,
                          bounds);
        for (int i = 0; i < n; i++)
            memcpy(g->bytes + at + segments[i].to, bytes + segments[i].at, (size_t)segments[i].count);
        return;
    }
    for (int i = 0; i < n; i++) {
        const segment *z = &segments[i];
        int32_t *to = g->c + at + z->to;
        memcpy(to, sums + z->at, (size_t)z->count * sizeof *sums);
        for (int j = 0; g->bias && j < z->count; j++)
            to[j] = (int32_t)((uint32_t)to[j] + (uint32_t)bias[g->of_rows ? 0 : z->at + j]);
    }
}

/* ---- the products */

enum { MAX_TAPS = 64 };

/* A lone row whose columns lie in order, as each channel of a depthwise convolution has it: nothing is packed. */
static bool is_lone(const kni_gemm_i8_args *g) { return g->m == 1 && g->b_offsets && g->k <= MAX_TAPS; }

static void multiply_lone(const product *p, int64_t batch, int64_t first, int32_t *sums)
{
    const kni_gemm_i8_args *g = p->g;
    const int64_t matrix = batch % g->a_count;
    const uint8_t *a = g->a + matrix * g->a_batch, flip = g->b_unsigned ? 0 : 0x80;
    const int32_t a_zero = g->a_zero ? g->a_zero[matrix] : 0;
    const int32_t b_zero = (g->b_zero ? g->b_zero[batch * g->b_zero_batch] : 0) + flip;
    int32_t w[MAX_TAPS], total = 0;
    for (int64_t k = 0; k < g->k; k++) {
        const uint8_t byte = a[k * g->a_col];
        w[k] = (g->a_unsigned ? (int32_t)byte : (int32_t)(int8_t)byte) - a_zero;
        total += w[k];
    }
    p->kernels->taps(sums, g->b + batch * g->b_batch + first, g->b_offsets, w, g->k, flip, -b_zero * total);
}

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
    column_scaling scaling = {{0}, {0}}; /* behind the last column too */
    segment segments[KNI_GEMM_I8_MAX_COLUMNS];
    const int n_segments = find_segments(g, first, columns, segments);
    if (is_lone(g) && columns == width && g->b_zero_step == 0) {
        multiply_lone(p, batch, first, sums);
        if (!g->of_rows) start_scaling(g, first, columns, &scaling);
        write_row(p, batch % g->a_count, batch * g->c_batch, sums, &scaling, segments, n_segments);
        return;
    }
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
