/* The GEMM driver: checks the arguments, chooses the kernels, the orientation and the path for each product,
   and holds what both paths share. */
#include "backend/cpu/gemm.h"

#include "backend/cpu/gemm_problem.h"
#include "backend/cpu/isa.h"
#include "core/thread_pool.h"

/* Below this much work a product is done by one thread: waking others would cost more. */
static const double flops_worth_sharing = 1e6;

static const kni_gemm_kernels *const f32_kernels[KNI_ISA_COUNT] = KNI_TIER_TABLE(&kni_gemm_f32);
#ifdef KN_FREESTANDING
/* Microcontrollers run f64 products by the reference kernel. */
static const kni_gemm_kernels *const f64_kernels[KNI_ISA_COUNT] = {NULL};
#else
static const kni_gemm_kernels *const f64_kernels[KNI_ISA_COUNT] = KNI_TIER_TABLE(&kni_gemm_f64);
#endif

bool kni_gemm_has(kni_gemm_type type) { return kni_gemm_kernels_for(type) != NULL; }

const kni_gemm_kernels *kni_gemm_kernels_for(kni_gemm_type type)
{
    return (type == KNI_GEMM_F64 ? f64_kernels : f32_kernels)[kni_cpu_tier()];
}

int64_t kni_gemm_type_size(kni_gemm_type type)
{
    static const char sizes[] = {
        [KNI_GEMM_F32] = 4, [KNI_GEMM_F64] = 8, [KNI_GEMM_F16] = 2, [KNI_GEMM_BF16] = 2};
    return sizes[type];
}

kni_gemm_view kni_gemm_part(const kni_gemm_view *view, int64_t row, int64_t col)
{
    kni_gemm_view part = *view;
    part.data =
        (const char *)view->data + (row * view->row + col * view->col) * kni_gemm_type_size(view->type);
    return part;
}

kni_gemm_target kni_gemm_in_place(const kni_gemm_problem *p, int64_t row, int64_t col, int64_t rows,
                                  int64_t cols)
{
    char *c = p->c + (row * p->c_row + col * p->c_col) * kni_gemm_type_size(p->type_c);
    return (kni_gemm_target){row, col, rows, cols, c, p->c_row, p->c_col};
}

static kni_gemm_copy copy_of(const kni_gemm_problem *p, const kni_gemm_target *t)
{
    char *c = p->c + (t->row * p->c_row + t->col * p->c_col) * kni_gemm_type_size(p->type_c);
    return (kni_gemm_copy){.tile = t->sums,
                           .tile_row = t->sums_row,
                           .tile_col = t->sums_col,
                           .c = c,
                           .c_row = p->c_row,
                           .c_col = p->c_col,
                           .type = p->type_c,
                           .rows = t->rows,
                           .cols = t->cols};
}

void kni_gemm_begin(const kni_gemm_problem *p, const kni_gemm_target *t)
{
    if (p->via_scratch && p->beta != 0) {
        const kni_gemm_copy copy = copy_of(p, t);
        p->kernels->read_c(&copy);
    }
    if (p->k == 0) p->kernels->scale(t->sums, t->sums_row, t->sums_col, t->rows, t->cols, p->beta);
}

void kni_gemm_finish(const kni_gemm_problem *p, const kni_gemm_target *t)
{
    const kni_finish *finish = &p->args->finish;
    if (!p->via_scratch && !p->bias.data && !p->args->epilogue &&
        kni_finish_kind_of(finish) == KNI_FINISH_NONE)
        return;
    const kni_gemm_copy copy = copy_of(p, t);
    if (p->bias.data || kni_finish_kind_of(finish) != KNI_FINISH_NONE) {
        const kni_gemm_view bias = p->bias.data ? kni_gemm_part(&p->bias, t->row, t->col) : p->bias;
        p->kernels->add_bias(&copy, &bias, finish);
    }
    if (p->args->epilogue)
        p->args->epilogue(p->args->epilogue_ctx, t->sums, p->first_row + t->row, t->col, t->rows, t->cols,
                          t->sums_row);
    if (p->via_scratch) p->kernels->write_c(&copy);
}

void kni_gemm_run(double flops, int64_t tasks, void (*fn)(void *arg, int64_t task, int worker), void *arg)
{
    if (flops >= flops_worth_sharing) {
        kni_parallel_for(tasks, fn, arg);
        return;
    }
    for (int64_t t = 0; t < tasks; t++) fn(arg, t, 0);
}

/* C' = B' A': the same product with rows and columns exchanged. */
static void turn(kni_gemm_problem *p)
{
    const kni_gemm_view a = p->a, b = p->b, bias = p->bias;
    const int64_t m = p->m, c_row = p->c_row;
    p->m = p->n;
    p->n = m;
    p->a = (kni_gemm_view){b.data, b.col, b.row, b.type};
    p->b = (kni_gemm_view){a.data, a.col, a.row, a.type};
    p->c_row = p->c_col;
    p->c_col = c_row;
    p->bias = (kni_gemm_view){bias.data, bias.col, bias.row, bias.type};
}

/* Rows are what the kernels store with one instruction, and a lone column is better treated as a row. */
static bool is_better_turned(const kni_gemm_problem *p)
{
    if (p->b_packed || p->args->epilogue) return false;
    if (p->n == 1) return p->m > 1;
    return p->m > 1 && p->c_row == 1 && p->c_col != 1;
}

/* Packing whole operands pays when each is read many times and lies badly for the kernels. A runs along k in
   place as well as packed, until its rows fall out of the caches. */
static bool is_direct(const kni_gemm_problem *p)
{
    const kni_gemm_kernels *kernels = p->kernels;
    const double volume = (double)p->m * (double)p->n * (double)p->k;
    if (p->k == 0 || p->m <= 2 * kernels->tile_rows || p->n <= kernels->block_columns / 2) return true;
    if (volume <= 128.0 * 128 * 128) return true;
    const bool runs_along_k = p->a.col == 1 && kni_gemm_type_size(p->a.type) == kernels->size;
    return runs_along_k && (p->m <= 256 || volume <= 400.0 * 400 * 400);
}

static bool types_fit(const kni_gemm_args *g)
{
    const bool f64 = g->type_c == KNI_GEMM_F64;
    return (g->type_a == KNI_GEMM_F64) == f64 && (g->b_packed || (g->type_b == KNI_GEMM_F64) == f64);
}

static bool packed_fits(const kni_gemm_args *g)
{
    const kni_gemm_packed *packed = g->b_packed;
    return !packed || (kni_gemm_packed_fits(packed) && packed->k == g->k && packed->n == g->n &&
                       (packed->type == KNI_GEMM_F64) == (g->type_c == KNI_GEMM_F64));
}

static bool multiply_one(const kni_gemm_args *g, int64_t batch)
{
    const bool no_product = g->k == 0 || g->alpha == 0;
    const bool is_half = g->type_c == KNI_GEMM_F16 || g->type_c == KNI_GEMM_BF16;
    const int64_t bias_row = g->bias_kind == KNI_GEMM_BIAS_PER_ROW ? g->bias_stride : 0;
    const int64_t bias_col = g->bias_kind == KNI_GEMM_BIAS_PER_COLUMN ? g->bias_stride : 0;
    kni_gemm_problem p = {
        .kernels = kni_gemm_kernels_for(g->type_c),
        .m = g->m,
        .n = g->n,
        .k = no_product ? 0 : g->k,
        .a = {(const char *)g->a + batch * g->a_batch * kni_gemm_type_size(g->type_a), g->a_row, g->a_col,
              g->type_a},
        .b = {(const char *)g->b + batch * g->b_batch * kni_gemm_type_size(g->type_b), g->b_row, g->b_col,
              g->type_b},
        .b_packed = g->b_packed ? g->b_packed->data : NULL,
        .c = (char *)g->c + batch * g->c_batch * kni_gemm_type_size(g->type_c),
        .c_row = g->c_row,
        .c_col = g->c_col,
        .type_c = g->type_c,
        .via_scratch = is_half || (g->epilogue && g->c_col != 1),
        .separate = g->reproducible,
        .alpha = g->alpha,
        .beta = g->beta,
        .bias = {g->bias_kind == KNI_GEMM_NO_BIAS ? NULL : g->bias, bias_row, bias_col, g->type_c},
        .args = g,
        .first_row = batch * g->m};
    if (is_better_turned(&p)) turn(&p);
    return is_direct(&p) ? kni_gemm_direct(&p) : kni_gemm_blocked(&p);
}

typedef struct {
    const kni_gemm_args *args;
    _Atomic bool failed;
} batch_job;

static void multiply_task(void *arg, int64_t task, int worker)
{
    batch_job *job = arg;
    (void)worker;
    if (!multiply_one(job->args, task)) job->failed = true;
}

bool kni_gemm(const kni_gemm_args *g)
{
    const int64_t batch = g->batch ? g->batch : 1;
    if (g->m < 0 || g->n < 0 || g->k < 0 || batch < 0 || !types_fit(g) || !packed_fits(g)) return false;
    if (g->m == 0 || g->n == 0) return true;
    if (batch == 1) return multiply_one(g, 0);
    /* Many matrices are one task each; a few large ones are shared out one after the other. */
    batch_job job = {g, false};
    const double flops = 2.0 * (double)g->m * (double)g->n * (double)g->k;
    const bool together = batch >= 2 * kni_threads() || flops < flops_worth_sharing;
    if (together) {
        kni_gemm_run(flops * (double)batch, batch, multiply_task, &job);
    } else {
        for (int64_t i = 0; i < batch; i++) multiply_task(&job, i, 0);
    }
    return !job.failed;
}
