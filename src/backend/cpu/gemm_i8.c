/* The driver of products of bytes: A is packed in panels of rows, all of it or as much as a few megabytes hold; then tasks pack a strip of
   B each, multiply it with the panels and take the zero points out of the sums. */
#include "backend/cpu/gemm_i8_product.h"
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

typedef kni_gemm_i8_product product;

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

/* ---- the products */

/* Takes the zero points out of the sums of some columns. */
typedef struct zero_terms {
    int32_t terms[KNI_GEMM_I8_MAX_COLUMNS], zeros[KNI_GEMM_I8_MAX_COLUMNS];
} zero_terms;

/* What `finish` takes of the columns, whose sums are in z->terms. */
static void start_columns(const product *p, const kni_gemm_i8_target *t, zero_terms *z)
{
    const kni_gemm_i8_args *g = p->g;
    const int32_t flip = g->b_unsigned ? 0 : 0x80;
    const int32_t *given = g->b_zero ? g->b_zero + t->batch * g->b_zero_batch : NULL;
    for (int64_t j = 0; j < p->kernels->tile_columns; j++) {
        z->zeros[j] = (given && j < t->columns ? given[(t->first + j) * g->b_zero_step] : 0) + flip;
        z->terms[j] =
            p->has_row_zeros ? (int32_t)((uint32_t)z->terms[j] - (uint32_t)g->k * (uint32_t)z->zeros[j]) : 0;
    }
}

/* The sums of rows of a panel, without zero points and where they belong. */
static void finish_rows(const product *p, const kni_gemm_i8_target *t, const zero_terms *z, int64_t panel,
                        int64_t row, int rows, int32_t *sums)
{
    const kni_gemm_i8_kernels *kernels = p->kernels;
    if (p->has_zeros)
        kernels->finish(sums, rows, p->row_sums + panel * kernels->tile_rows,
                        p->row_zeros + panel * kernels->tile_rows, z->terms, z->zeros);
    for (int r = 0; r < rows; r++) kni_gemm_i8_write(p, t, row + r, sums + r * kernels->tile_columns);
}

enum { MAX_TAPS = 64 };

/* A lone row whose columns lie in order, as each channel of a depthwise convolution has it: nothing is packed. */
static bool is_lone(const kni_gemm_i8_args *g)
{
    return g->m == 1 && g->b_offsets && g->k <= MAX_TAPS && g->b_zero_step == 0;
}

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

/* Few rows of A with the columns of two strips, as B lies; false: it does not lie so. */
static bool multiply_in_place(const product *p, int64_t batch, int64_t first)
{
    const kni_gemm_i8_args *g = p->g;
    const kni_gemm_i8_kernels *kernels = p->kernels;
    const int64_t width = kernels->tile_columns, matrix = batch % g->a_count;
    const uint8_t *b = g->b + batch * g->b_batch + first * g->b_col, flip = g->b_unsigned ? 0 : 0x80;
    int32_t sums[KNI_GEMM_I8_STRIPS * KNI_GEMM_I8_FEW * KNI_GEMM_I8_MAX_COLUMNS] = {0};
    int32_t column_sums[KNI_GEMM_I8_STRIPS * KNI_GEMM_I8_MAX_COLUMNS] = {0};
    const int rows = (int)g->m;
    if (p->reads_columns) {
        for (int64_t s = 0; s < KNI_GEMM_I8_STRIPS; s++)
            for (int64_t i = 0; i < rows; i++) {
                const int64_t columns = kni_gemm_min(width, g->n - first - s * width);
                if (columns > 0)
                    kernels->dot(p->ordered + (matrix * g->m + i) * g->k, b + s * width * g->b_col, g->b_col,
                                 columns, g->k, flip, sums + (s * rows + i) * width, column_sums + s * width);
            }
    } else if (p->reads_rows && first + KNI_GEMM_I8_STRIPS * width <= g->n) {
        kernels->few(p->packed + matrix * p->panel_bytes, b, g->b_row, p->quads, rows, flip, sums,
                     column_sums);
    } else {
        return false;
    }
    for (int64_t s = 0; s < KNI_GEMM_I8_STRIPS && first + s * width < g->n; s++) {
        kni_gemm_i8_target t;
        zero_terms z;
        kni_gemm_i8_start_target(p, batch, first + s * width, &t);
        memcpy(z.terms, column_sums + s * width, sizeof *column_sums * (size_t)width);
        start_columns(p, &t, &z);
        finish_rows(p, &t, &z, matrix, 0, rows, sums + s * rows * width);
    }
    return true;
}

/* Panels begin .. end with a strip, which is packed. */
static void multiply_strip(const product *p, const kni_gemm_i8_target *t, const char *strip, int64_t begin,
                           int64_t end)
{
    const kni_gemm_i8_args *g = p->g;
    const kni_gemm_i8_kernels *kernels = p->kernels;
    const int64_t before = t->batch % g->a_count * p->panels;
    int32_t sums[KNI_GEMM_I8_MAX_ROWS * KNI_GEMM_I8_MAX_COLUMNS];
    zero_terms z;
    if (p->has_row_zeros) kernels->column_sums(strip, p->quads, z.terms);
    if (p->has_zeros) start_columns(p, t, &z);
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = p->first + i * kernels->tile_rows;
        const int rows = (int)kni_gemm_min(kernels->tile_rows, g->m - row);
        kernels->tile(p->packed + (before + i) * p->panel_bytes, strip, p->quads, rows, sums);
        finish_rows(p, t, &z, before + i, row, rows, sums);
    }
}

static void multiply_task(void *arg, int64_t task, int worker)
{
    const product *p = arg;
    const kni_gemm_i8_args *g = p->g;
    const int64_t down = task % p->tasks_down, across = task / p->tasks_down,
                  width = p->kernels->tile_columns;
    const int64_t batch = across / p->tasks_across, begin = down * p->panels_of_task;
    const int64_t first = across % p->tasks_across * KNI_GEMM_I8_STRIPS * width;
    const int64_t end = kni_gemm_min(p->panels, begin + p->panels_of_task);
    char *strips = p->strips + worker * (KNI_GEMM_I8_STRIPS * p->strip_bytes + p->raw_bytes);
    bool packed = false;
    if (multiply_in_place(p, batch, first)) return;
    for (int64_t s = 0; s < KNI_GEMM_I8_STRIPS && first + s * width < g->n; s++) {
        kni_gemm_i8_target t;
        kni_gemm_i8_start_target(p, batch, first + s * width, &t);
        if (is_lone(g) && t.columns == width) {
            int32_t sums[KNI_GEMM_I8_MAX_COLUMNS];
            multiply_lone(p, batch, t.first, sums);
            kni_gemm_i8_write(p, &t, 0, sums);
            continue;
        }
        if (!packed) kni_gemm_i8_pack(p, batch, first, strips);
        packed = true;
        multiply_strip(p, &t, strips + s * p->strip_bytes, begin, end);
    }
}

/* Few strips are multiplied with parts of the panels each, so that all threads have work. */
static void cut(product *p)
{
    const int64_t across = p->g->batch * p->tasks_across, wanted = 3 * kni_threads();
    p->panels_of_task = p->panels;
    if (across < wanted) {
        p->panels_of_task = kni_gemm_ceil(p->panels * across, wanted);
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
    kni_gemm_run(work, g->batch * p->tasks_across * p->tasks_down, multiply_task, p);
}

static bool any_zero(const kni_gemm_i8_args *g)
{
    if (g->a_unsigned) return true;
    for (int64_t i = 0; g->a_zero && i < g->m * g->a_count; i++)
        if (g->a_zero[i]) return true;
    return false;
}

/* Rows of A as signed bytes one after the other. */
static void order_rows(const product *p)
{
    const kni_gemm_i8_args *g = p->g;
    const uint8_t flip = g->a_unsigned ? 0x80 : 0;
    uint8_t *to = p->ordered;
    for (int64_t matrix = 0; matrix < g->a_count; matrix++)
        for (int64_t i = 0; i < g->m; i++)
            for (int64_t k = 0; k < g->k; k++)
                *to++ = g->a[matrix * g->a_batch + i * g->a_row + k * g->a_col] ^ flip;
}

static void start(product *p)
{
    const kni_gemm_i8_args *g = p->g;
    const kni_gemm_i8_kernels *kernels = p->kernels;
    p->quads = kni_gemm_ceil(g->k, 4);
    p->panel_bytes = p->quads * kernels->tile_rows * 4 * kernels->width;
    p->strip_bytes = (p->quads * kernels->tile_columns * 4 * kernels->width + 63) / 64 * 64;
    p->raw_bytes = g->fill_b ? (g->k * KNI_GEMM_I8_STRIPS * kernels->tile_columns + 63) / 64 * 64 : 0;
    p->tasks_across = kni_gemm_ceil(g->n, KNI_GEMM_I8_STRIPS * kernels->tile_columns);
    p->has_row_zeros = any_zero(g);
    p->has_zeros = p->has_row_zeros || !g->b_unsigned || g->b_zero;
    const bool lies = kernels->few && g->b && !g->b_offsets && g->m <= KNI_GEMM_I8_FEW && g->k > 0;
    p->reads_columns = lies && g->b_row == 1 && g->b_col != 1;
    p->reads_rows = lies && g->b_col == 1 && g->k % 4 == 0;
}

bool kni_gemm_i8(const kni_gemm_i8_args *g)
{
    if (g->m <= 0 || g->n <= 0 || g->batch <= 0) return true;
    product p = {.g = g, .kernels = kni_gemm_i8_kernels_of(kni_cpu_tier(), kni_cpu_has_dot_products())};
    start(&p);
    int64_t panels = kni_gemm_ceil(g->m, p.kernels->tile_rows), room = PANEL_BYTES / (p.panel_bytes + 1);
    if (room < LEAST_PANELS) room = LEAST_PANELS;
    if (panels > room) panels = room;
    const size_t all = (size_t)(panels * g->a_count), tile = (size_t)p.kernels->tile_rows * sizeof(int32_t);
    const size_t packed = all * (size_t)p.panel_bytes,
                 strips = (size_t)kni_threads() * (size_t)(KNI_GEMM_I8_STRIPS * p.strip_bytes + p.raw_bytes),
                 ordered = p.reads_columns ? (size_t)(g->a_count * g->m * g->k) : 0;
    const size_t bytes = packed + 2 * all * tile + strips + ordered + 64;
    char *memory = kni_allocate(bytes);
    if (!memory) return false;
    p.strips = memory;
    p.row_sums = (int32_t *)(memory + strips);
    p.row_zeros = (int32_t *)(memory + strips + all * tile);
    p.packed = memory + strips + 2 * all * tile;
    p.ordered = (uint8_t *)p.packed + packed;
    if (p.reads_columns) order_rows(&p);
    for (p.first = 0; p.first < g->m; p.first += panels * p.kernels->tile_rows) {
        p.rows = panels * p.kernels->tile_rows;
        run_part(&p);
    }
    kni_free(memory, bytes);
    return true;
}
