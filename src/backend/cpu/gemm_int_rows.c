/* The driver of integer matrix products: blocks of rows over the team. */
#include "backend/cpu/gemm_int_kernels.h"
#include "backend/cpu/gemm_problem.h"
#include "backend/cpu/isa.h"

enum { BLOCK_ROWS = 64 };

static kni_gemm_int_fn *const i32_rows[KNI_ISA_COUNT] = KNI_TIER_TABLE(kni_gemm_rows_i32);
static kni_gemm_int_fn *const i64_rows[KNI_ISA_COUNT] = KNI_TIER_TABLE(kni_gemm_rows_i64);

typedef struct {
    const kni_gemm_int_args *args;
    kni_gemm_int_fn *fn;
    int64_t size;
} int_job;

static void rows_task(void *arg, int64_t task, int worker)
{
    const int_job *job = arg;
    kni_gemm_int_args part = *job->args;
    const int64_t row = task * BLOCK_ROWS;
    (void)worker;
    part.a = (const char *)part.a + row * part.a_row * job->size;
    part.c = (char *)part.c + row * part.c_row * job->size;
    part.m = kni_gemm_min(BLOCK_ROWS, part.m - row);
    job->fn(&part);
}

static void run_rows(const kni_gemm_int_args *g, kni_gemm_int_fn *fn, int64_t size)
{
    int_job job = {g, fn, size};
    const double work = 2.0 * (double)g->m * (double)g->n * (double)g->k;
    kni_gemm_run(work, kni_gemm_ceil(g->m, BLOCK_ROWS), rows_task, &job);
}

void kni_gemm_i32(const kni_gemm_int_args *args) { run_rows(args, i32_rows[kni_cpu_tier()], 4); }
void kni_gemm_i64(const kni_gemm_int_args *args) { run_rows(args, i64_rows[kni_cpu_tier()], 8); }
