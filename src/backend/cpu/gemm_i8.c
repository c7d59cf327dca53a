/* The driver of products of bytes: A is packed in panels of rows, all of it or as much as a few megabytes hold, unless it was packed
   before; then tasks take two strips of B each, packed before or by the task, multiply them with the panels and finish the sums. */
#include "backend/cpu/gemm_i8_product.h"
#include "backend/cpu/gemm_problem.h"
#include "backend/cpu/gemm_workspace.h"
#include "backend/cpu/isa.h"
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

void kni_gemm_i8_pack_rows(const product *p, int64_t matrix, int64_t panel, char *to, int32_t *sums)
{
    const kni_gemm_i8_args *g = p->g;
    const int64_t row = panel * p->height;
    p->kernels->pack_a(to, g->a + matrix * g->a_batch + row * g->a_row, g->a_row, g->a_col,
                       kni_gemm_min(p->height, g->m - row), g->k, g->a_unsigned ? 0x80 : 0, sums);
}

static void pack_task(void *arg, int64_t task, int worker)
{
    const product *p = arg;
    (void)worker;
    kni_gemm_i8_pack_rows(p, task / p->panels, p->first / p->height + task % p->panels,
                          p->room + task * p->panel_bytes, p->sums_room + task * p->kernels->tile_rows);
}

/* The zero points of the rows of the panels at hand, less what makes their bytes signed. */
static void list_row_zeros(const product *p)
{
    const kni_gemm_i8_args *g = p->g;
    const int32_t flip = g->a_unsigned ? 0x80 : 0;
    int32_t *to = p->row_zeros;
    for (int64_t matrix = 0; matrix < g->a_count; matrix++)
        for (int64_t i = 0; i < p->panels; i++, to += p->kernels->tile_rows) {
            const int64_t row = p->first + i * p->height, rows = kni_gemm_min(p->height, g->m - row);
            const int32_t *from = g->a_zero ? g->a_zero + (matrix * g->m + row) * g->a_zero_step : NULL;
            for (int64_t j = 0; j < rows; j++) to[j] = (from ? from[j * g->a_zero_step] : 0) - flip;
        }
}

/* ---- the products */

enum { MAX_TAPS = 64 };

/* A lone row whose columns lie in order, as each channel of a depthwise convolution has it: nothing is packed. */
static bool is_lone(const product *p)
{
    const kni_gemm_i8_args *g = p->g;
    return !p->kernels->few && g->m == 1 && g->b_offsets && g->k <= MAX_TAPS && g->b_zero_step == 0 &&
           g->b_slack >= p->kernels->tile_columns;
}

static void multiply_lone(const product *p, int64_t batch, int64_t first)
{
    const kni_gemm_i8_args *g = p->g;
    const int64_t matrix = batch % g->a_count;
    const uint8_t *a = g->a + matrix * g->a_batch, flip = g->b_unsigned ? 0 : 0x80;
    const int32_t a_zero = g->a_zero ? g->a_zero[matrix * g->a_zero_step] : 0;
    const int32_t b_zero = (g->b_zero ? g->b_zero[batch * g->b_zero_batch] : 0) + flip;
    int32_t w[MAX_TAPS], total = 0, sums[KNI_GEMM_I8_MAX_COLUMNS];
    for (int64_t k = 0; k < g->k; k++) {
        const uint8_t byte = a[k * g->a_col];
        w[k] = (g->a_unsigned ? (int32_t)byte : (int32_t)(int8_t)byte) - a_zero;
        total += w[k];
    }
    for (int64_t end = kni_gemm_min(g->n, first + KNI_GEMM_I8_STRIPS * p->kernels->tile_columns); first < end;
         first += p->kernels->tile_columns) {
        kni_gemm_i8_target t;
        p->kernels->taps(sums, g->b + batch * g->b_batch + first, g->b_offsets, w, g->k, flip,
                         -b_zero * total);
        kni_gemm_i8_start_target(p, batch, first, NULL, &t);
        t.has_zeros = false;
        kni_gemm_i8_write(p, &t, 0, 0, 1, sums);
    }
}

/* Few rows of A with the columns of two strips, as B lies; false: it does not lie so. */
static bool multiply_in_place(const product *p, int64_t batch, int64_t first)
{
    const kni_gemm_i8_args *g = p->g;
    const kni_gemm_i8_kernels *kernels = p->kernels;
    const int64_t width = kernels->tile_columns, matrix = batch % g->a_count;
    const uint8_t *b = g->b + batch * g->b_batch + first * g->b_col, flip = g->b_unsigned ? 0 : 0x80;
    int32_t sums[KNI_GEMM_I8_STRIPS * KNI_GEMM_I8_FEW * KNI_GEMM_I8_MAX_COLUMNS];
    int32_t column_sums[KNI_GEMM_I8_STRIPS * KNI_GEMM_I8_MAX_COLUMNS];
    const int rows = (int)g->m;
    if (p->reads_columns) {
        memset(sums, 0, sizeof sums);
        memset(column_sums, 0, sizeof column_sums);
        for (int64_t s = 0; s < KNI_GEMM_I8_STRIPS; s++)
            for (int64_t i = 0; i < rows; i++) {
                const int64_t columns = kni_gemm_min(width, g->n - first - s * width);
                if (columns > 0)
                    kernels->dot(p->ordered + (matrix * g->m + i) * g->k, b + s * width * g->b_col, g->b_col,
                                 columns, g->k, flip, sums + (s * rows + i) * width, column_sums + s * width);
            }
    } else if (p->reads_rows && first + KNI_GEMM_I8_STRIPS * width <= g->n + g->b_slack) {
        kernels->few(p->packed + matrix * p->panel_bytes, b, g->b_offsets, g->b_row, g->k, rows, flip, sums,
                     column_sums);
    } else {
        return false;
    }
    for (int64_t s = 0; s < KNI_GEMM_I8_STRIPS && first + s * width < g->n; s++) {
        kni_gemm_i8_target t;
        kni_gemm_i8_start_target(p, batch, first + s * width, column_sums + s * width, &t);
        kni_gemm_i8_write(p, &t, 0, matrix * kernels->tile_rows, rows, sums + s * rows * width);
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
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = p->first + i * p->height;
        const int rows = (int)kni_gemm_min(p->height, g->m - row);
        kernels->tile(p->packed + (before + i) * p->panel_bytes, strip, p->quads, rows, sums);
        kni_gemm_i8_write(p, t, row, (before + i) * kernels->tile_rows, rows, sums);
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
    const bool kept = g->kept_b.data != NULL;
    char *room = p->strips + worker * KNI_GEMM_I8_STRIPS * p->strip_bytes;
    const char *strips = kept ? g->kept_b.data + first / width * p->strip_bytes : room;
    if (is_lone(p)) {
        multiply_lone(p, batch, first);
        return;
    }
    if (!kept && multiply_in_place(p, batch, first)) return;
    if (!kept) kni_gemm_i8_pack(p, batch, first, room);
    for (int64_t s = 0; s < KNI_GEMM_I8_STRIPS && first + s * width < g->n; s++) {
        kni_gemm_i8_target t;
        const char *strip = strips + s * p->strip_bytes;
        int32_t column_sums[KNI_GEMM_I8_MAX_COLUMNS];
        if (!kept && p->has_row_zeros) p->kernels->column_sums(strip, p->quads, column_sums);
        kni_gemm_i8_start_target(p, batch, first + s * width,
                                 kept ? g->kept_b.sums + first + s * width : column_sums, &t);
        multiply_strip(p, &t, strip, begin, end);
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

static void run_part(product *p, int64_t panels)
{
    const kni_gemm_i8_args *g = p->g;
    const int64_t rows = kni_gemm_min(panels * p->height, g->m - p->first);
    p->panels = kni_gemm_ceil(rows, p->height);
    cut(p);
    if (!g->kept_a.data)
        kni_gemm_run(8.0 * (double)g->a_count * (double)rows * (double)g->k, g->a_count * p->panels,
                     pack_task, p);
    if (p->has_row_zeros) list_row_zeros(p);
    const double work = (double)g->batch * (double)rows * (double)g->n * (double)g->k / 2;
    kni_gemm_run(work, g->batch * p->tasks_across * p->tasks_down, multiply_task, p);
}

static bool any_zero(const kni_gemm_i8_args *g)
{
    if (g->a_unsigned) return true;
    const int64_t count = g->a_zero_step ? g->m * g->a_count : 1;
    for (int64_t i = 0; g->a_zero && i < count; i++)
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

void kni_gemm_i8_start(product *p, const kni_gemm_i8_args *g)
{
    const kni_gemm_i8_kernels *kernels = kni_gemm_i8_kernels_of(kni_cpu_tier(), kni_cpu_has_dot_products());
    *p = (product){.g = g, .kernels = kernels};
    p->quads = kni_gemm_ceil(g->k, 4);
    p->height = kni_gemm_ceil(g->m, kni_gemm_ceil(g->m, kernels->tile_rows));
    p->panel_bytes = p->quads * kernels->tile_rows * 4 * kernels->width;
    p->strip_bytes = (p->quads * kernels->tile_columns * 4 * kernels->width + 63) / 64 * 64;
    p->tasks_across = kni_gemm_ceil(g->n, KNI_GEMM_I8_STRIPS * kernels->tile_columns);
    p->has_row_zeros = any_zero(g) && !is_lone(p);
    const bool lies = kernels->few && !g->kept_b.data && g->m <= KNI_GEMM_I8_FEW && g->k > 0;
    p->reads_columns = lies && !g->b_offsets && g->b_row == 1 && g->b_col != 1;
    p->reads_rows = lies && g->b_col == 1;
}

bool kni_gemm_i8(const kni_gemm_i8_args *g)
{
    if (g->m <= 0 || g->n <= 0 || g->batch <= 0) return true;
    product p;
    kni_gemm_i8_start(&p, g);
    int64_t panels = kni_gemm_ceil(g->m, p.height), room = PANEL_BYTES / (p.panel_bytes + 1);
    if (room < LEAST_PANELS) room = LEAST_PANELS;
    if (panels > room && !g->kept_a.data) panels = room;
    const size_t all = (size_t)(panels * g->a_count), tile = (size_t)p.kernels->tile_rows * sizeof(int32_t);
    const size_t packed = g->kept_a.data ? 0 : all * (size_t)p.panel_bytes,
                 strips = g->kept_b.data
                              ? 0
                              : (size_t)kni_threads() * (size_t)(KNI_GEMM_I8_STRIPS * p.strip_bytes),
                 ordered = p.reads_columns ? (size_t)(g->a_count * g->m * g->k) : 0;
    char *memory = kni_workspace(KNI_WORKSPACE_SHARED, packed + 2 * all * tile + strips + ordered + 64);
    if (!memory) return false;
    p.strips = memory;
    p.sums_room = (int32_t *)(memory + strips);
    p.row_zeros = (int32_t *)(memory + strips + all * tile);
    p.room = memory + strips + 2 * all * tile;
    p.packed = g->kept_a.data ? g->kept_a.data : p.room;
    p.row_sums = g->kept_a.data ? g->kept_a.sums : p.sums_room;
    p.ordered = (uint8_t *)p.room + packed;
    if (p.reads_columns) order_rows(&p);
    for (p.first = 0; p.first < g->m; p.first += panels * p.height) run_part(&p, panels);
    return true;
}
