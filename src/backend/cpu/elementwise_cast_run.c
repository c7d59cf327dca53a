/* Casts: conversion in parallel blocks, whatever the layout of the operand. */
#include "backend/cpu/elementwise_convert.h"
#include "backend/host/host.h"
#include "backend/host/host_copy.h"
#include "core/strided_copy.h"
#include "core/thread_pool.h"
#include "ops/native.h"

enum { BLOCK = 1 << 15 };

typedef struct cast_job {
    char *to;
    const char *from;
    int to_dtype, from_dtype;
    int64_t n;
} cast_job;

static void run_block(void *argument, int64_t task, int worker)
{
    (void)worker;
    const cast_job *j = argument;
    int64_t begin = task * BLOCK, n = j->n - begin < BLOCK ? j->n - begin : BLOCK;
    kni_cpu_convert(j->to + begin * kni_bytes_of(j->to_dtype), j->to_dtype, 1,
                    j->from + begin * kni_bytes_of(j->from_dtype), j->from_dtype, 1, n);
}

/* Into order first, by tiles, then converted; without memory for that element by element. */
static void cast_strided(cast_job *job, const kni_tensor *x, const int64_t *to_strides)
{
    int64_t bytes = kni_bytes_of(job->from_dtype);
    bool same = job->to_dtype == job->from_dtype,
         turned = !same && kni_host_runs_across(x->strides, x->type.rank, x->type.dims);
    kni_storage *ordered = turned ? kni_storage_new((size_t)(job->n * bytes)) : NULL;
    if (same) {
        kni_host_copy(job->to, to_strides, job->from, x->strides, x->type.rank, x->type.dims, (size_t)bytes);
        return;
    }
    if (!ordered) {
        kni_copy_strided(job->to, job->to_dtype, to_strides, job->from, job->from_dtype, x->strides,
                         x->type.rank, x->type.dims);
        return;
    }
    kni_host_copy(ordered->data, to_strides, job->from, x->strides, x->type.rank, x->type.dims,
                  (size_t)bytes);
    job->from = ordered->data;
    kni_parallel_for((job->n + BLOCK - 1) / BLOCK, run_block, job);
    kni_storage_release(ordered);
}

static kn_status run_cast(const kn_record *r)
{
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0);
    kn_status s = kni_host_allocate_or_reuse(r, y, x->type.dtype == y->type.dtype ? 1 : 0);
    if (s) return s;
    cast_job job = {y->storage->data, kni_pointer(x), y->type.dtype, x->type.dtype, kni_count(&y->type)};
    if (job.n == 0 || job.to == job.from) return KN_OK;
    if (kni_contiguous(x))
        kni_parallel_for((job.n + BLOCK - 1) / BLOCK, run_block, &job);
    else
        cast_strided(&job, x, y->strides);
    return KN_OK;
}

extern const kni_native kni_cpu_cast;
const kni_native kni_cpu_cast = {.run = run_cast};
