/* The CPU entries of the embedding: rows are copied as bytes; their gradient gives each task a range of the table's
   rows, so every sum has one owner and goes in the order of the indices. */
#include "backend/cpu/elementwise_convert.h"
#include "backend/cpu/norm_drive.h"
#include "backend/cpu/norm_kernels.h"
#include "ops/embedding.h"
#include "ops/native.h"
#include <stdatomic.h>
#include <string.h>

enum { TASK = 1 << 14, GRAD_TASKS = 16 };

typedef struct embedding_job {
    const int64_t *indices;
    const char *from; /* weight, or dy */
    char *to;         /* y, or dweight */
    int64_t count, rows, size, row_bytes, padding, block;
    int dtype;
    const kni_norm_kernels *kernels;
    _Atomic bool bad;
    _Atomic int64_t bad_index;
    _Atomic bool failed;
} embedding_job;

static bool in_range(embedding_job *j, int64_t row)
{
    if (row >= 0 && row < j->rows) return true;
    atomic_store(&j->bad_index, row);
    atomic_store(&j->bad, true);
    return false;
}

static void copy_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    embedding_job *j = argument;
    int64_t begin = task * j->block, end = begin + j->block < j->count ? begin + j->block : j->count;
    for (int64_t i = begin; i < end; i++) {
        int64_t row = j->indices[i];
        if (in_range(j, row))
            memcpy(j->to + i * j->row_bytes, j->from + row * j->row_bytes, (size_t)j->row_bytes);
    }
}

/* Adds the rows of dy whose index lies in this task's range; half types are summed in f32. */
static void add_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    embedding_job *j = argument;
    int64_t begin = task * j->block, end = begin + j->block < j->rows ? begin + j->block : j->rows;
    bool converts = j->dtype != kni_norm_dtype(j->dtype);
    int64_t sum_bytes = j->size * kni_bytes_of(kni_norm_dtype(j->dtype));
    size_t scratch_bytes = (size_t)((end - begin + 1) * sum_bytes);
    char *scratch = converts ? kni_allocate(scratch_bytes) : NULL;
    if (converts && !scratch) {
        atomic_store(&j->failed, true);
        return;
    }
    char *sums = converts ? scratch + sum_bytes : j->to + begin * sum_bytes;
    memset(sums, 0, (size_t)((end - begin) * sum_bytes));
    for (int64_t i = 0; i < j->count; i++) {
        int64_t row = j->indices[i];
        if (row < begin || row >= end || row == j->padding) continue;
        const void *dy = j->from + i * j->row_bytes;
        if (converts) {
            kni_cpu_convert(scratch, KN_F32, 1, dy, j->dtype, 1, j->size);
            dy = scratch;
        }
        j->kernels->add(sums + (row - begin) * sum_bytes, dy, j->size);
    }
    if (!converts) return;
    kni_cpu_convert(j->to + begin * j->row_bytes, j->dtype, 1, sums, KN_F32, 1, (end - begin) * j->size);
    kni_free(scratch, scratch_bytes);
}

static kn_status finish(const kn_record *r, embedding_job *j)
{
    if (atomic_load(&j->failed))
        return kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for the intermediate values");
    if (atomic_load(&j->bad))
        return kni_fail_op(KN_ERROR_INDEX, r->row->name, "index %D is out of range for a table of %D rows",
                           atomic_load(&j->bad_index), j->rows);
    return KN_OK;
}

static kn_status run(const kn_record *r, bool gradient)
{
    kni_tensor *from = kni_in(r, 0), *at = kni_in(r, 1), *to = kni_out(r, 0);
    const kni_type *table = gradient ? &to->type : &from->type;
    kni_borrowed values, indices = {0};
    if (!kni_host_borrow(from, from->type.dtype, &values)) return KN_ERROR_MEMORY;
    kn_status s = kni_host_borrow(at, KN_I64, &indices) ? KN_OK : KN_ERROR_MEMORY;
    if (s == KN_OK) s = kni_host_allocate(to);
    if (s == KN_OK) {
        embedding_job j = {
            .indices = indices.data, .from = values.data, .to = to->storage->data, .padding = -1};
        j.rows = table->dims[0];
        j.size = table->dims[1];
        j.count = j.size ? kni_count(&at->type) : 0; /* of rows without elements nothing is read */
        j.dtype = from->type.dtype;
        j.row_bytes = j.size * (int64_t)kni_element_bytes(from);
        if (gradient) {
            j.padding = ((const kni_embedding_grad_attributes *)r->attributes)->padding;
            j.kernels = kni_norm_kernels_for(j.dtype);
            for (int64_t i = 0; i < j.count; i++) in_range(&j, j.indices[i]);
            j.block = (j.rows + GRAD_TASKS - 1) / GRAD_TASKS;
            if (j.rows > 0 && !j.bad)
                kni_norm_share(j.count * j.size, (j.rows + j.block - 1) / j.block, add_task, &j);
        } else {
            j.block = j.size < TASK ? TASK / (j.size ? j.size : 1) : 1;
            kni_norm_share(j.count * j.size, (j.count + j.block - 1) / j.block, copy_task, &j);
        }
        s = finish(r, &j);
    }
    kni_host_unborrow(&indices);
    kni_host_unborrow(&values);
    return s;
}

static kn_status run_embedding(const kn_record *r) { return run(r, false); }
static kn_status run_embedding_grad(const kn_record *r) { return run(r, true); }

const kni_native kni_cpu_embedding = {.run = run_embedding};
const kni_native kni_cpu_embedding_grad = {.run = run_embedding_grad};
