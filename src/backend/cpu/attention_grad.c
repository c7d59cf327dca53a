/* The gradient of attention on the CPU: the weights of a block of queries are computed again, then five products. One task has all
   queries of a key head, whose gradients it sums in order, and all key heads that share elements of the bias. */
#include "backend/cpu/attention_run.h"
#include "backend/host/host.h"
#include "core/allocator.h"
#include "core/thread_pool.h"
#include "ops/native.h"
#include <string.h>

typedef struct {
    kni_attention_job job;
    kni_heads dy, dq, dk, dv, dbias; /* dbias is summed in the compute type */
    char *memory;
    int64_t bytes, scores;      /* of a worker, and of one block of scores in it */
    int64_t blocks;             /* of scores, of a worker */
    int64_t batches, key_heads; /* of a task */
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

#define ADD_ROW(type)                                                                                        \
    for (int64_t j = 0; j < seen; j++) ((type *)to)[j * step] += ((const type *)from)[j];

/* The gradient by the scores of a block, to where the bias was added. */
static void add_to_bias(const backward_job *w, int64_t b, int64_t h, int64_t first, int64_t rows,
                        int64_t seen, const char *ds)
{
    const int64_t step = w->dbias.steps[3], element = kni_attention_element(&w->job);
    for (int64_t i = 0; i < rows; i++) {
        char *to = kni_attention_at(&w->dbias, b, h, first + i);
        const char *from = ds + i * seen * element;
        if (w->job.compute == KN_F64) {
            ADD_ROW(double)
        } else {
            ADD_ROW(float)
        }
    }
}

/* The gradients that the queries first .. first + rows - 1 of head h give. */
static bool add_block(const backward_job *w, int64_t b, int64_t h, int64_t first, int64_t rows, char *p,
                      const sums *s)
{
    const kni_attention_job *job = &w->job;
    const int64_t key_head = h / (job->sizes.heads / job->sizes.key_heads),
                  seen = kni_attention_seen(job, first, rows);
    char *ds = p + w->scores, *slopes = job->softcap > 0 ? ds + w->scores : NULL,
         *kept = job->drops ? ds + 2 * w->scores : p;
    const int64_t row_bytes = seen * kni_attention_element(job);
    const kni_attention_matrix q = kni_attention_matrix_of(&job->q, b, h, first);
    const kni_attention_matrix k = kni_attention_matrix_of(&job->k, b, key_head, 0);
    const kni_attention_matrix v = kni_attention_matrix_of(&job->v, b, key_head, 0);
    const kni_attention_matrix dy = kni_attention_matrix_of(&w->dy, b, h, first);
    const kni_attention_matrix weights = kni_attention_dense(kept, job->type, seen);
    const kni_attention_matrix scores = kni_attention_dense(ds, job->type, seen);
    const kni_attention_matrix dq = kni_attention_dense(kni_attention_at(&w->dq, b, h, first),
                                                        kni_gemm_type_of(w->dq.dtype), job->sizes.size);
    const kni_attention_matrix dk = kni_attention_dense(s->dk, job->type, job->sizes.size);
    const kni_attention_matrix dv = kni_attention_dense(s->dv, job->type, job->sizes.value_size);
    if (!kni_attention_weights(job, b, h, first, rows, seen, p, slopes)) return false;
    if (!kni_attention_product(job, rows, seen, job->sizes.value_size, dy, kni_attention_turned(v), scores, 1,
                               0))
        return false;
    if (job->drops) kni_attention_drop(job, b, h, first, rows, seen, ds, p, kept);
    for (int64_t i = 0; i < rows; i++) job->kernels->backward(ds + i * row_bytes, p + i * row_bytes, seen);
    if (!kni_attention_product(job, seen, job->sizes.value_size, rows, kni_attention_turned(weights), dy, dv,
                               1, 1))
        return false;
    if (w->dbias.data) add_to_bias(w, b, h, first, rows, seen, ds);
    if (slopes) apply_slopes(job, ds, slopes, rows * seen);
    return kni_attention_product(job, rows, job->sizes.size, seen, scores, k, dq, job->sizes.scale, 0) &&
           kni_attention_product(job, seen, job->sizes.size, rows, kni_attention_turned(scores), q, dk,
                                 job->sizes.scale, 1);
}

static void add_key_head(backward_job *w, int64_t b, int64_t key_head, char *p)
{
    const kni_attention_job *job = &w->job;
    const int64_t shared = job->sizes.heads / job->sizes.key_heads,
                  matrix = b * job->sizes.key_heads + key_head;
    const int64_t n_k = job->sizes.keys * job->sizes.size, n_v = job->sizes.keys * job->sizes.value_size,
                  element = kni_attention_element(job);
    sums s = {.apart = job->q.dtype != job->compute};
    s.dk = s.apart ? p + w->blocks * w->scores : w->dk.data + matrix * n_k * element;
    s.dv = s.apart ? s.dk + n_k * element : w->dv.data + matrix * n_v * element;
    memset(s.dk, 0, (size_t)(n_k * element));
    memset(s.dv, 0, (size_t)(n_v * element));
    for (int64_t h = key_head * shared; h < (key_head + 1) * shared; h++)
        for (int64_t first = 0; first < job->sizes.queries; first += job->block) {
            const int64_t rows =
                job->sizes.queries - first < job->block ? job->sizes.queries - first : job->block;
            if (!add_block(w, b, h, first, rows, p, &s)) w->failed = true;
        }
    if (!s.apart) return;
    kni_convert(w->dk.data + matrix * n_k * w->dk.bytes, w->dk.dtype, 1, s.dk, job->compute, 1, n_k);
    kni_convert(w->dv.data + matrix * n_v * w->dv.bytes, w->dv.dtype, 1, s.dv, job->compute, 1, n_v);
}

static void backward_task(void *argument, int64_t task, int worker)
{
    backward_job *w = argument;
    const int64_t parts = w->job.sizes.key_heads / w->key_heads;
    const int64_t batch = task / parts * w->batches, key_head = task % parts * w->key_heads;
    if (worker >= w->workers) {
        w->failed = true;
        return;
    }
    for (int64_t b = batch; b < batch + w->batches; b++)
        for (int64_t h = key_head; h < key_head + w->key_heads; h++)
            add_key_head(w, b, h, w->memory + worker * w->bytes);
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

/* Where the gradient of the bias is summed: its own memory, or memory in the compute type. False without that. */
static bool start_bias(backward_job *w, kni_tensor *y)
{
    const kni_attention_job *job = &w->job;
    w->dbias = kni_attention_heads(y);
    if (w->dbias.dtype != job->compute) {
        const size_t bytes = (size_t)(kni_count(&y->type) * kni_attention_element(job));
        w->dbias.data = kni_allocate(bytes);
        if (!w->dbias.data) return false;
        memset(w->dbias.data, 0, bytes);
        w->dbias.bytes = (int)kni_attention_element(job);
    }
    if (!w->dbias.steps[0]) w->batches = job->sizes.batch;
    if (!w->dbias.steps[1]) w->key_heads = job->sizes.key_heads;
    return true;
}

static void end_bias(backward_job *w, kni_tensor *y)
{
    const kni_attention_job *job = &w->job;
    const int64_t n = kni_count(&y->type);
    if (w->dbias.dtype == job->compute) return;
    kni_convert(kni_pointer(y), y->type.dtype, 1, w->dbias.data, job->compute, 1, n);
    kni_free(w->dbias.data, (size_t)(n * kni_attention_element(job)));
}

/* All matrices of scores share elements of the bias: the lowering uses more threads. */
static bool in_one_task(const kn_record *r)
{
    const kni_attention_sizes z = kni_attention_sizes_of(r);
    const kni_type *bias = &kni_in(r, 5)->type;
    const bool shared =
        (bias->rank < 4 || bias->dims[0] == 1) && (bias->rank < 3 || bias->dims[bias->rank - 3] == 1);
    return shared && z.batch * z.key_heads > 1;
}

static kn_status run_tasks(backward_job *w, const kn_record *r)
{
    const kni_attention_job *job = &w->job;
    w->scores = (job->block * job->sizes.keys * kni_attention_element(job) + 63) / 64 * 64;
    w->blocks = job->drops ? 4 : 3;
    w->bytes = w->blocks * w->scores;
    if (job->q.dtype != job->compute)
        w->bytes += job->sizes.keys * (job->sizes.size + job->sizes.value_size) * kni_attention_element(job);
    w->bytes = (w->bytes + 63) / 64 * 64;
    const size_t bytes = (size_t)(w->bytes * w->workers);
    w->memory = kni_allocate(bytes);
    if (!w->memory) return kni_gemm_no_memory(r->row->name);
    kni_parallel_for(job->sizes.batch / w->batches * (job->sizes.key_heads / w->key_heads), backward_task, w);
    kni_free(w->memory, bytes);
    return w->failed ? kni_gemm_no_memory(r->row->name) : KN_OK;
}

static kn_status run_attention_grad(const kn_record *r)
{
    const kni_attention_attributes *a = r->attributes;
    if (!kni_gemm_takes(kni_out(r, 0)->type.dtype) || (a->wants_bias && in_one_task(r)))
        return KN_ERROR_UNSUPPORTED;
    kn_status s = allocate_results(r);
    if (s) return s;
    backward_job w = {.workers = kni_threads(), .batches = 1, .key_heads = 1};
    kni_attention_start(&w.job, r, 4);
    const kni_attention_job *job = &w.job;
    if (job->sizes.batch == 0 || job->sizes.key_heads == 0 || job->sizes.keys == 0) return KN_OK;
    w.dy = kni_attention_heads(kni_in(r, 3));
    w.dq = kni_attention_heads(kni_out(r, 0));
    w.dk = kni_attention_heads(kni_out(r, 1));
    w.dv = kni_attention_heads(kni_out(r, 2));
    if (a->wants_bias && !start_bias(&w, kni_out(r, 3))) return kni_gemm_no_memory(r->row->name);
    s = run_tasks(&w, r);
    if (a->wants_bias) end_bias(&w, kni_out(r, 3));
    return s;
}

const kni_native kni_cpu_attention_grad = {.run = run_attention_grad};
const kni_native kni_cpu_dropout_attention_grad = {.run = run_attention_grad};
