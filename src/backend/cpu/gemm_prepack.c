/* A whole B packed ahead of time, for params that are multiplied again and again: blocks of depth one after
   the other, each in strips of columns. */
#include "backend/cpu/gemm_problem.h"
#include "core/allocator.h"
#include "core/thread_pool.h"

bool kni_gemm_packed_fits(const kni_gemm_packed *packed)
{
    return packed->data && packed->strip == kni_gemm_kernels_for(packed->type)->tile_columns;
}

typedef struct {
    const kni_gemm_packed *packed;
    const kni_gemm_kernels *kernels;
    kni_gemm_view b;
    int64_t blocks_across;
} prepack_job;

static void prepack_task(void *arg, int64_t task, int worker)
{
    const prepack_job *job = arg;
    const kni_gemm_packed *packed = job->packed;
    const int64_t first = task / job->blocks_across * KNI_GEMM_DEPTH;
    const int64_t col = task % job->blocks_across * job->kernels->block_columns;
    const int64_t depth = kni_gemm_min(KNI_GEMM_DEPTH, packed->k - first);
    const int64_t before = first * kni_gemm_padded_columns(job->kernels, packed->n) + col * depth;
    const kni_gemm_view part = kni_gemm_part(&job->b, first, col);
    (void)worker;
    job->kernels->pack_b((char *)packed->data + before * job->kernels->size, &part, depth,
                         kni_gemm_min(job->kernels->block_columns, packed->n - col));
}

bool kni_gemm_repack_b(const kni_gemm_packed *packed, const void *b, kni_gemm_type type, int64_t b_row,
                       int64_t b_col)
{
    if (!kni_gemm_packed_fits(packed) || (type == KNI_GEMM_F64) != (packed->type == KNI_GEMM_F64))
        return false;
    prepack_job job = {packed, kni_gemm_kernels_for(packed->type), {b, b_row, b_col, type}, 0};
    job.blocks_across = kni_gemm_ceil(packed->n, job.kernels->block_columns);
    const double work = 16.0 * (double)packed->k * (double)packed->n;
    kni_gemm_run(work, kni_gemm_ceil(packed->k, KNI_GEMM_DEPTH) * job.blocks_across, prepack_task, &job);
    return true;
}

bool kni_gemm_pack_b(kni_gemm_packed *packed, const void *b, kni_gemm_type type, int64_t k, int64_t n,
                     int64_t b_row, int64_t b_col)
{
    const kni_gemm_type compute = type == KNI_GEMM_F64 ? KNI_GEMM_F64 : KNI_GEMM_F32;
    const kni_gemm_kernels *kernels = kni_gemm_kernels_for(compute);
    const int64_t width = kni_gemm_padded_columns(kernels, n);
    *packed = (kni_gemm_packed){.k = k, .n = n, .type = compute, .strip = kernels->tile_columns};
    if (k > 0 && width > INT64_MAX / kernels->size / k) return false;
    packed->bytes = k > 0 && n > 0 ? (size_t)(k * width * kernels->size) : 1;
    packed->data = kni_allocate(packed->bytes);
    if (!packed->data) return false;
    return kni_gemm_repack_b(packed, b, type, b_row, b_col);
}

void kni_gemm_packed_free(kni_gemm_packed *packed)
{
    if (packed->data) kni_free(packed->data, packed->bytes);
    packed->data = NULL;
}
