/* The GEMM path for large products, after Goto and van de Geijn: for each block of depth A and B are packed,
   then tasks multiply rectangles of C from the packed panels, which they share. */
#include "backend/cpu/gemm_problem.h"
#include "backend/cpu/gemm_workspace.h"

/* C is worked through in areas, which bounds the packed operands whatever the size of the matrices; smaller
   ones where the area is summed in scratch memory. */
enum { AREA = 4096, SCRATCH_AREA = 1024 };

typedef struct {
    const kni_gemm_problem *problem;
    int64_t row, col, rows, cols; /* the area */
    int64_t first, depth;         /* the block of depth */
    int64_t blocks_down, blocks_across;
    char *a, *b, *sums;
    int64_t a_block; /* bytes from one packed block of rows to the next */
} blocked_job;

typedef struct {
    int64_t first, count;
} span;

/* The rows of the area are shared out evenly over its blocks. */
static span block_rows(const blocked_job *job, int64_t i)
{
    const int64_t base = job->rows / job->blocks_down, higher = job->rows % job->blocks_down;
    return (span){i * base + kni_gemm_min(i, higher), base + (i < higher)};
}

static span block_cols(const blocked_job *job, int64_t j)
{
    const int64_t width = job->problem->kernels->block_columns;
    return (span){j * width, kni_gemm_min(width, job->cols - j * width)};
}

static const char *packed_b(const blocked_job *job, int64_t col)
{
    const kni_gemm_problem *p = job->problem;
    if (!p->b_packed) return job->b + col * job->depth * p->kernels->size;
    const int64_t before = job->first * kni_gemm_padded_columns(p->kernels, p->n);
    return p->b_packed + (before + (job->col + col) * job->depth) * p->kernels->size;
}

static void pack_task(void *arg, int64_t task, int worker)
{
    const blocked_job *job = arg;
    const kni_gemm_problem *p = job->problem;
    (void)worker;
    if (task < job->blocks_down) {
        const span rows = block_rows(job, task);
        const kni_gemm_view a = kni_gemm_part(&p->a, job->row + rows.first, job->first);
        p->kernels->pack_a(job->a + task * job->a_block, &a, rows.count, job->depth);
    } else {
        const span cols = block_cols(job, task - job->blocks_down);
        const kni_gemm_view b = kni_gemm_part(&p->b, job->first, job->col + cols.first);
        p->kernels->pack_b(job->b + cols.first * job->depth * p->kernels->size, &b, job->depth, cols.count);
    }
}

static void multiply_task(void *arg, int64_t task, int worker)
{
    const blocked_job *job = arg;
    const kni_gemm_problem *p = job->problem;
    const span rows = block_rows(job, task / job->blocks_across);
    const span cols = block_cols(job, task % job->blocks_across);
    kni_gemm_target t =
        kni_gemm_in_place(p, job->row + rows.first, job->col + cols.first, rows.count, cols.count);
    (void)worker;
    if (p->via_scratch) {
        t.sums = job->sums + (rows.first * job->cols + cols.first) * p->kernels->size;
        t.sums_row = job->cols;
        t.sums_col = 1;
    }
    if (job->first == 0) kni_gemm_begin(p, &t);
    const kni_gemm_block block = {.m = rows.count,
                                  .n = cols.count,
                                  .k = job->depth,
                                  .a_packed = job->a + task / job->blocks_across * job->a_block,
                                  .b_packed = packed_b(job, cols.first),
                                  .c = t.sums,
                                  .c_row = t.sums_row,
                                  .c_col = t.sums_col,
                                  .alpha = p->alpha,
                                  .beta = job->first ? 1 : p->beta,
                                  .separate = p->separate};
    p->kernels->block(&block);
    if (job->first + job->depth == p->k) kni_gemm_finish(p, &t);
}

static void multiply_area(blocked_job *job)
{
    const kni_gemm_problem *p = job->problem;
    const int64_t b_tasks = p->b_packed ? 0 : job->blocks_across;
    for (job->first = 0; job->first < p->k; job->first += job->depth) {
        job->depth = kni_gemm_min(KNI_GEMM_DEPTH, p->k - job->first);
        const double flops = 2.0 * (double)job->rows * (double)job->cols * (double)job->depth;
        kni_gemm_run(flops, job->blocks_down + b_tasks, pack_task, job);
        kni_gemm_run(flops, job->blocks_down * job->blocks_across, multiply_task, job);
    }
}

bool kni_gemm_blocked(const kni_gemm_problem *p)
{
    const kni_gemm_kernels *kernels = p->kernels;
    const int64_t area = p->via_scratch ? SCRATCH_AREA : AREA;
    const int64_t most_rows = kni_gemm_min(p->m, area), most_cols = kni_gemm_min(p->n, area);
    const int64_t most_depth = kni_gemm_min(p->k, KNI_GEMM_DEPTH);
    const int64_t most_down = kni_gemm_ceil(most_rows, kernels->block_rows);
    const int64_t a_block = kni_gemm_packed_a(kernels, kernels->block_rows, most_depth) * kernels->size;
    const int64_t b_bytes =
        p->b_packed ? 0 : kni_gemm_padded_columns(kernels, most_cols) * most_depth * kernels->size;
    const int64_t c_bytes = p->via_scratch ? most_rows * most_cols * kernels->size : 0;
    char *memory = kni_workspace(KNI_WORKSPACE_SHARED, (size_t)(most_down * a_block + b_bytes + c_bytes));
    if (!memory) return false;

    blocked_job job = {.problem = p, .b = memory, .a = memory + b_bytes, .a_block = a_block};
    job.sums = job.a + most_down * a_block;
    for (job.row = 0; job.row < p->m; job.row += area)
        for (job.col = 0; job.col < p->n; job.col += area) {
            job.rows = kni_gemm_min(area, p->m - job.row);
            job.cols = kni_gemm_min(area, p->n - job.col);
            job.blocks_down = kni_gemm_ceil(job.rows, kernels->block_rows);
            job.blocks_across = kni_gemm_ceil(job.cols, kernels->block_columns);
            multiply_area(&job);
        }
    return true;
}
