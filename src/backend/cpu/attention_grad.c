/* The gradient of attention on the CPU: the weights of a block of queries are computed again, then five products. One
   task has all queries of a key head, whose gradients it sums in order. */
#include "backend/cpu/attention_run.h"
#include "backend/host/host.h"
#include "core/thread_pool.h"
#include "ops/native.h"
#include <string.h>

typedef struct {
    kni_attention_job job;
    kni_heads dy, dq, dk, dv;
    char *memory;
    int64_t bytes, scores; /* of a worker, and of one block of scores in it */
    int workers;
    _Atomic bool failed;
} backward_job;

/* What a task sums dk and dv in: the results themselves, or f32 where those are half types. */
typedef struct {
    char *dk, *dv;
    bool apart;
} sums;

static void apply_slopes(const kni_attention_job *job, char *ds, const char *slopes, int64_t n)
{
    if (job->compute == KN_F64)
        for (int64_t i = 0; i < n; i++) ((double *)ds)[i] *= ((const double *)slopes)[i];
    else
        for (int64_t i = 0; i < n; i++) ((float *)ds)[i] *= ((const float *)slopes)[i];
}

/* The gradients that the queries first .. first + rows - 1 of head h give. */
static bool add_block(const backward_job *w, int64_t b, int64_t h, int64_t first, int64_t rows, char *p,
                      const sums *s)
{
    const kni_attention_job *job = &w->job;
    const int64_t key_head = h / (job->sizes.heads / job->sizes.key_heads),
                  seen = kni_attention_seen(job, first, rows);
    char *ds = p + w->scores, *slopes = job->softcap > 0 ? ds + w->scores : NULL;
    const int64_t row_bytes = seen * kni_attention_element(job);
    const kni_attention_matrix q = kni_attention_matrix_of(&job->q, b, h, first);
    const kni_attention_matrix k = kni_attention_matrix_of(&job->k, b, key_head, 0);
    const kni_attention_matrix v = kni_attention_matrix_of(&job->v, b, key_head, 0);
    const kni_attention_matrix dy = kni_attention_matrix_of(&w->dy, b, h, first);
    const kni_attention_matrix weights = kni_attention_dense(p, job->type, seen);
    const kni_attention_matrix scores = kni_attention_dense(ds, job->type, seen);
    const kni_attention_matrix dq = kni_attention_dense(kni_attention_at(&w->dq, b, h, first),
                                                        kni_gemm_type_of(w->dq.dtype), job->sizes.size);
    const kni_attention_matrix dk = kni_attention_dense(s->dk, job->type, job->sizes.size);
    const kni_attention_matrix dv = kni_attention_dense(s->dv, job->type, job->sizes.value_size);
    if (!kni_attention_weights(job, b, h, first, rows, seen, p, slopes)) return false;
    if (!kni_attention_product(job, rows, seen, job->sizes.value_size, dy, kni_attention_turned(v), scores, 1,
                               0))
        return false;
    if (!kni_attention_product(job, seen, job->sizes.value_size, rows, kni_attention_turned(weights), dy, dv,
                               1, 1))
        return false;
    for (int64_t i = 0; i < rows; i++) job->kernels->backward(ds + i * row_bytes, p + i * row_bytes, seen);
    if (slopes) apply_slopes(job, ds, slopes, rows * seen);
    return kni_attention_product(job, rows, job->sizes.size, seen, scores, k, dq, job->sizes.scale, 0) &&
           kni_attention_product(job, seen, job->sizes.size, rows, kni_attention_turned(scores), q, dk,
                                 job->sizes.scale, 1);
}

static void backward_task(void *argument, int64_t task, int worker)
{
    backward_job *w = argument;
    const kni_attention_job *job = &w->job;
    const int64_t b = task / job->sizes.key_heads, key_head = task % job->sizes.key_heads,
                  shared = job->sizes.heads / job->sizes.key_heads;
    const int64_t n_k = job->sizes.keys * job->sizes.size, n_v = job->sizes.keys * job->sizes.value_size,
                  element = kni_attention_element(job);
    if (worker >= w->workers) {
        w->failed = true;
        return;
    }
    char *p = w->memory + worker * w->bytes;
    sums s = {.apart = job->q.dtype != job->compute};
    s.dk = s.apart ? p + 3 * w->scores : w->dk.data + task * n_k * element;
    s.dv = s.apart ? s.dk + n_k * element : w->dv.data + task * n_v * element;
    memset(s.dk, 0, (size_t)(n_k * element));
    memset(s.dv, 0, (size_t)(n_v * element));
    for (int64_t h = key_head * shared; h < (key_head + 1) * shared; h++)
        for (int64_t first = 0; first < job->sizes.queries; first += job->block) {
            const int64_t rows =
                job->sizes.queries - first < job->block ? job->sizes.queries - first : job->block;
            if (!add_block(w, b, h, first, rows, p, &s)) w->failed = true;
        }
    if (!s.apart) return;
    kni_convert(w->dk.data + task * n_k * w->dk.bytes, w->dk.dtype, 1, s.dk, job->compute, 1, n_k);
    kni_convert(w->dv.data + task * n_v * w->dv.bytes, w->dv.dtype, 1, s.dv, job->compute, 1, n_v);
}

static kn_status allocate_results(const kn_record *r)
{
    kn_status s = KN_OK;
    for (int i = 0; i < 4 && s == KN_OK; i++) {
        kni_tensor *y = kni_out(r, i);
        s = kni_host_allocate(y);
        const int64_t bytes = kn_dtype_bytes((kn_dtype)y->type.dtype, kni_count(&y->type));
        if (s == KN_OK && bytes > 0) memset(y->storage->data, 0, (size_t)bytes);
    }
    return s;
}

static kn_status run_attention_grad(const kn_record *r)
{
    const kni_attention_attributes *a = r->attributes;
    if (a->wants_bias || !kni_gemm_takes(kni_out(r, 0)->type.dtype)) return KN_ERROR_UNSUPPORTED;
    kn_status s = allocate_results(r);
    if (s) return s;
    backward_job w = {.workers = kni_threads()};
    kni_attention_start(&w.job, r, 4);
    const kni_attention_job *job = &w.job;
    if (job->sizes.batch == 0 || job->sizes.key_heads == 0 || job->sizes.keys == 0) return KN_OK;
    w.dy = kni_attention_heads(kni_in(r, 3));
    w.dq = kni_attention_heads(kni_out(r, 0));
    w.dk = kni_attention_heads(kni_out(r, 1));
    w.dv = kni_attention_heads(kni_out(r, 2));
    w.scores = (job->block * job->sizes.keys * kni_attention_element(job) + 63) / 64 * 64;
    w.bytes = 3 * w.scores;
    if (job->q.dtype != job->compute)
        w.bytes += job->sizes.keys * (job->sizes.size + job->sizes.value_size) * kni_attention_element(job);
    w.bytes = (w.bytes + 63) / 64 * 64;
    const size_t bytes = (size_t)(w.bytes * w.workers);
    w.memory = kni_allocate(bytes);
    if (!w.memory) return kni_gemm_no_memory(r->row->name);
    kni_parallel_for(job->sizes.batch * job->sizes.key_heads, backward_task, &w);
    kni_free(w.memory, bytes);
    return w.failed ? kni_gemm_no_memory(r->row->name) : KN_OK;
}

const kni_native kni_cpu_attention_grad = {.run = run_attention_grad};
