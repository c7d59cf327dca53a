/* The GEMM path for small, low and narrow products, where packing whole operands does not pay: every task
   computes its rectangle of C through all depth blocks, with nothing shared but the operands. */
#include "backend/cpu/gemm_problem.h"
#include "backend/cpu/gemm_workspace.h"

/* What a task needs comes from the stack when it is little; on a small device the stack is little too. */
#ifdef KN_FREESTANDING
enum { ROW_COLUMNS = 1024, SMALL_BYTES = 1024 };
#else
enum { ROW_COLUMNS = 1024, SMALL_BYTES = 8192 };
#endif

typedef struct {
    const kni_gemm_problem *problem;
    int64_t block_rows, block_cols, blocks_across;
    bool pack_rows; /* A has 16 bits or lies badly, so it is not read in place */
    _Atomic bool failed;
} direct_job;

/* The memory of a task: a strip of B, A where it must be packed, and C where it is summed apart. */
typedef struct {
    char *strip, *rows, *sums;
} task_memory;

static size_t memory_size(const direct_job *job, int64_t rows, int64_t cols)
{
    const kni_gemm_problem *p = job->problem;
    const int64_t depth = kni_gemm_min(p->k, KNI_GEMM_DEPTH);
    int64_t elements = depth * p->kernels->tile_columns;
    if (job->pack_rows) elements += kni_gemm_packed_a(p->kernels, rows, depth);
    if (p->via_scratch) elements += rows * cols;
    return (size_t)elements * (size_t)p->kernels->size;
}

static task_memory share_memory(const direct_job *job, char *memory, int64_t rows)
{
    const kni_gemm_problem *p = job->problem;
    const int64_t depth = kni_gemm_min(p->k, KNI_GEMM_DEPTH);
    task_memory shared = {.strip = memory};
    shared.rows = memory + depth * p->kernels->tile_columns * p->kernels->size;
    shared.sums = shared.rows;
    if (job->pack_rows) shared.sums += kni_gemm_packed_a(p->kernels, rows, depth) * p->kernels->size;
    return shared;
}

/* Adds one block of depth to the target. */
static void add_depth(const direct_job *job, const kni_gemm_target *t, const task_memory *memory,
                      int64_t first)
{
    const kni_gemm_problem *p = job->problem;
    const kni_gemm_kernels *kernels = p->kernels;
    kni_gemm_block block = {.m = t->rows,
                            .n = t->cols,
                            .k = kni_gemm_min(p->k - first, KNI_GEMM_DEPTH),
                            .a = kni_gemm_part(&p->a, t->row, first),
                            .c = t->sums,
                            .c_row = t->sums_row,
                            .c_col = t->sums_col,
                            .alpha = p->alpha,
                            .beta = first ? 1 : p->beta,
                            .separate = p->separate,
                            .strip = memory->strip};
    if (p->b_packed) {
        const int64_t before = first * kni_gemm_padded_columns(kernels, p->n) + t->col * block.k;
        block.b_packed = p->b_packed + before * kernels->size;
    } else {
        block.b = kni_gemm_part(&p->b, first, t->col);
    }
    if (job->pack_rows) {
        kernels->pack_a(memory->rows, &block.a, t->rows, block.k);
        block.a_packed = memory->rows;
    }
    const bool is_row = t->rows == 1 && !p->b_packed && !job->pack_rows;
    (is_row ? kernels->row : kernels->block)(&block);
}

static void direct_task(void *arg, int64_t task, int worker)
{
    direct_job *job = arg;
    const kni_gemm_problem *p = job->problem;
    const int64_t row = task / job->blocks_across * job->block_rows;
    const int64_t col = task % job->blocks_across * job->block_cols;
    (void)worker;
    kni_gemm_target t = kni_gemm_in_place(p, row, col, kni_gemm_min(job->block_rows, p->m - row),
                                          kni_gemm_min(job->block_cols, p->n - col));
    _Alignas(64) char small[SMALL_BYTES];
    const size_t bytes = memory_size(job, t.rows, t.cols);
    char *memory = bytes <= SMALL_BYTES ? small : kni_workspace(KNI_WORKSPACE_TASK, bytes);
    if (!memory) {
        job->failed = true;
        return;
    }
    const task_memory shared = share_memory(job, memory, t.rows);
    if (p->via_scratch) {
        t.sums = shared.sums;
        t.sums_row = t.cols;
        t.sums_col = 1;
    }
    kni_gemm_begin(p, &t);
    for (int64_t first = 0; first < p->k; first += KNI_GEMM_DEPTH) add_depth(job, &t, &shared, first);
    kni_gemm_finish(p, &t);
}

/* Whether each task packs its rows of A: they must be converted, or would be read with a long stride many
   times. */
static bool wants_packed_rows(const kni_gemm_problem *p)
{
    if (kni_gemm_type_size(p->a.type) != p->kernels->size) return true;
    return p->a.col != 1 && p->n > p->kernels->tile_columns &&
           p->m * kni_gemm_min(p->k, KNI_GEMM_DEPTH) > 128 * 128;
}

bool kni_gemm_direct(const kni_gemm_problem *p)
{
    const kni_gemm_kernels *kernels = p->kernels;
    direct_job job = {.problem = p, .pack_rows = wants_packed_rows(p)};
    job.block_rows = (job.pack_rows ? 2 : 4) * kernels->block_rows;
    job.block_cols = p->m == 1 ? ROW_COLUMNS : kernels->block_columns / 2;
    job.blocks_across = kni_gemm_ceil(p->n, job.block_cols);
    const double flops = 2.0 * (double)p->m * (double)p->n * (double)p->k;
    kni_gemm_run(flops, kni_gemm_ceil(p->m, job.block_rows) * job.blocks_across, direct_task, &job);
    return !job.failed;
}
