/* attention on the CPU: the scores of a block of queries against all keys they see, softmax, and the product with the
   values. No more than a block of scores exists for each thread. */
#include "backend/cpu/attention_run.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/made_table.h"
#include "backend/host/host.h"
#include "core/math/philox.h"
#include "core/thread_pool.h"
#include "ops/native.h"

enum { BLOCK_QUERIES = 64, LEAST_QUERIES = 8, BLOCK_SCORES = 1 << 18, STRIP = 256 };

static const kni_attention_kernels *const f32_kernels[KNI_ISA_COUNT] = KNI_TIER_TABLE(&kni_attention_f32);
static const kni_attention_kernels *const f64_kernels[KNI_ISA_COUNT] = KNI_TIER_TABLE(&kni_attention_f64);

kni_heads kni_attention_heads(kni_tensor *x)
{
    kni_heads h = {0};
    if (!x) return h;
    h.data = kni_pointer(x);
    h.dtype = x->type.dtype;
    h.bytes = (int)kni_element_bytes(x);
    for (int i = 0; i < x->type.rank; i++)
        if (x->type.dims[i] != 1) h.steps[4 - x->type.rank + i] = x->strides[i];
    return h;
}

void kni_attention_start(kni_attention_job *job, const kn_record *r, int mask)
{
    const kni_attention_attributes *a = r->attributes;
    *job = (kni_attention_job){.q = kni_attention_heads(kni_in(r, 0)),
                               .k = kni_attention_heads(kni_in(r, 1)),
                               .v = kni_attention_heads(kni_in(r, 2)),
                               .sizes = kni_attention_sizes_of(r),
                               .softcap = a->softcap,
                               .reproducible = kni_reproducible(),
                               .drops = a->dropout > 0};
    if (job->drops) {
        job->draw_key = kni_attention_draw_key(a);
        job->threshold = kni_attention_threshold(a);
        job->kept = kni_attention_kept(a);
    }
    if (mask < r->n_in) job->mask = kni_attention_heads(kni_in(r, mask));
    if (mask + 1 < r->n_in) job->bias = kni_attention_heads(kni_in(r, mask + 1));
    job->compute = kni_in(r, 0)->type.dtype == KN_F64 ? KN_F64 : KN_F32;
    job->type = kni_gemm_type_of(job->compute);
    job->kernels = (job->compute == KN_F64 ? f64_kernels : f32_kernels)[kni_cpu_tier()];
    job->block = BLOCK_SCORES / (job->sizes.keys + 1);
    if (job->block > BLOCK_QUERIES) job->block = BLOCK_QUERIES;
    if (job->block < LEAST_QUERIES) job->block = LEAST_QUERIES;
    job->blocks = (job->sizes.queries + job->block - 1) / job->block;
}

int64_t kni_attention_seen(const kni_attention_job *job, int64_t first, int64_t rows)
{
    return job->sizes.causal && first + rows < job->sizes.keys ? first + rows : job->sizes.keys;
}

bool kni_attention_product(const kni_attention_job *job, int64_t m, int64_t n, int64_t k,
                           kni_attention_matrix a, kni_attention_matrix b, kni_attention_matrix c,
                           double alpha, double beta)
{
    const kni_gemm_args g = {.m = m,
                             .n = n,
                             .k = k,
                             .a = a.data,
                             .b = b.data,
                             .c = c.data,
                             .type_a = a.type,
                             .type_b = b.type,
                             .type_c = c.type,
                             .a_row = a.row,
                             .a_col = a.col,
                             .b_row = b.row,
                             .b_col = b.col,
                             .c_row = c.row,
                             .c_col = c.col,
                             .alpha = alpha,
                             .beta = beta,
                             .reproducible = job->reproducible};
    return kni_gemm(&g);
}

#define ADD_STRIP(type)                                                                                      \
    for (int64_t j = 0; j < n; j++) ((type *)row)[at + j] += ((const type *)strip)[j];

static void add_bias(const kni_attention_job *job, const char *bias, char *row, int64_t seen)
{
    char strip[STRIP * sizeof(double)];
    for (int64_t at = 0; at < seen; at += STRIP) {
        const int64_t n = seen - at < STRIP ? seen - at : STRIP;
        kni_convert(strip, job->compute, 1, bias + at * job->bias.steps[3] * job->bias.bytes, job->bias.dtype,
                    job->bias.steps[3], n);
        if (job->compute == KN_F64) {
            ADD_STRIP(double)
        } else {
            ADD_STRIP(float)
        }
    }
}

/* Scores that the mask hides or that lie after the query become -inf. */
static void hide(const kni_attention_job *job, const unsigned char *mask, char *row, int64_t visible,
                 int64_t seen)
{
    const int64_t step = job->mask.steps[3];
    for (int64_t j = 0; j < seen; j++) {
        if (j < visible && (!mask || mask[j * step])) continue;
        if (job->compute == KN_F64)
            ((double *)row)[j] = -__builtin_inf();
        else
            ((float *)row)[j] = -__builtin_inff();
    }
}

#define SLOPES(type)                                                                                         \
    for (int64_t j = 0; j < n; j++) {                                                                        \
        type *x = (type *)row + j;                                                                           \
        if (slopes) ((type *)slopes)[j] = 1 - *x * *x;                                                       \
        *x *= (type)job->softcap;                                                                            \
    }

static void soften(const kni_attention_job *job, char *row, char *slopes, int64_t n)
{
    job->kernels->soften(row, n, job->softcap);
    if (job->compute == KN_F64) {
        SLOPES(double)
    } else {
        SLOPES(float)
    }
}

bool kni_attention_weights(const kni_attention_job *job, int64_t b, int64_t h, int64_t first, int64_t rows,
                           int64_t seen, char *weights, char *slopes)
{
    const int64_t key_head = h / (job->sizes.heads / job->sizes.key_heads),
                  element = kni_attention_element(job);
    const kni_attention_matrix keys = kni_attention_matrix_of(&job->k, b, key_head, 0);
    if (!kni_attention_product(job, rows, seen, job->sizes.size,
                               kni_attention_matrix_of(&job->q, b, h, first), kni_attention_turned(keys),
                               kni_attention_dense(weights, job->type, seen), job->sizes.scale, 0))
        return false;
    for (int64_t i = 0; i < rows; i++) {
        char *row = weights + i * seen * element;
        const int64_t visible = kni_attention_seen(job, first + i, 1);
        const unsigned char *mask = job->mask.data ? kni_attention_at(&job->mask, b, h, first + i) : NULL;
        if (job->softcap > 0) soften(job, row, slopes ? slopes + i * seen * element : NULL, seen);
        if (job->bias.data) add_bias(job, kni_attention_at(&job->bias, b, h, first + i), row, seen);
        if (mask || visible < seen) hide(job, mask, row, visible, seen);
        job->kernels->softmax(row, seen);
    }
    return true;
}

/* ---- dropout */

#if !defined(KN_FREESTANDING) && !defined(KN_COMPACT)
typedef void words_fn(uint64_t key, uint64_t counter, int n, int draws, uint32_t *words);
static words_fn *const words_table[KNI_ISA_COUNT] = KNI_TIER_TABLE(kni_made_words);
#endif

/* The words of n elements from the first one of a block on. */
static void draw_words(uint64_t key, uint64_t block, int n, uint32_t *words)
{
#if defined(KN_FREESTANDING) || defined(KN_COMPACT)
    for (int i = 0; i < n; i += 4) kni_philox(key, block + (uint64_t)i / 4, words + i);
#else
    words_table[kni_cpu_tier()](key, block, n, 1, words);
#endif
}

#define DROP(type, to, from)                                                                                 \
    for (int j = 0; j < n; j++)                                                                              \
        ((type *)(to))[at + j] =                                                                             \
            words[skipped + j] >= job->threshold ? ((const type *)(from))[at + j] * (type)job->kept : 0;

static void drop_strip(const kni_attention_job *job, int64_t at, int n, const uint32_t *words, int skipped,
                       char *to, const char *from)
{
    if (job->compute == KN_F64) {
        DROP(double, to, from)
    } else {
        DROP(float, to, from)
    }
}

void kni_attention_drop(const kni_attention_job *job, int64_t b, int64_t h, int64_t first, int64_t rows,
                        int64_t seen, char *values, const char *weights, char *dropped)
{
    _Alignas(64) uint32_t words[STRIP];
    const kni_attention_sizes *z = &job->sizes;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t row = i * seen * kni_attention_element(job),
                      line = ((b * z->heads + h) * z->queries + first + i) * z->keys;
        for (int64_t at = 0; at < seen;) {
            const int skipped = (int)((line + at) % 4);
            const int n = (int)(seen - at < STRIP - skipped ? seen - at : STRIP - skipped);
            draw_words(job->draw_key, (uint64_t)(line + at) / 4, (skipped + n + 3) / 4 * 4, words);
            drop_strip(job, at, n, words, skipped, values + row, values + row);
            if (weights) drop_strip(job, at, n, words, skipped, dropped + row, weights + row);
            at += n;
        }
    }
}

/* ---- forward */

typedef struct {
    kni_attention_job job;
    kni_heads y;
    char *memory; /* a block of weights for each thread */
    int64_t bytes;
    int workers;
    _Atomic bool failed;
} forward_job;

/* How many of the first `seen` keys any of the queries sees: masks of lengths and of causality behind a past hide the last ones. */
static int64_t unmasked(const kni_attention_job *job, int64_t b, int64_t h, int64_t first, int64_t rows,
                        int64_t seen)
{
    const int64_t step = job->mask.steps[3], different = job->mask.steps[2] ? rows : 1;
    int64_t most = 0;
    if (!job->mask.data) return seen;
    for (int64_t i = 0; i < different; i++) {
        const unsigned char *mask = kni_attention_at(&job->mask, b, h, first + i);
        int64_t n = seen;
        while (n > most && !mask[(n - 1) * step]) n--;
        most = n > most ? n : most;
    }
    return most;
}

static void forward_task(void *argument, int64_t task, int worker)
{
    forward_job *f = argument;
    const kni_attention_job *job = &f->job;
    const int64_t first = task % job->blocks * job->block, head = task / job->blocks;
    const int64_t b = head / job->sizes.heads, h = head % job->sizes.heads,
                  key_head = h / (job->sizes.heads / job->sizes.key_heads);
    const int64_t rows = job->sizes.queries - first < job->block ? job->sizes.queries - first : job->block;
    const int64_t seen = unmasked(job, b, h, first, rows, kni_attention_seen(job, first, rows));
    if (worker >= f->workers) {
        f->failed = true;
        return;
    }
    char *weights = f->memory + worker * f->bytes;
    const kni_attention_matrix y = kni_attention_dense(kni_attention_at(&f->y, b, h, first),
                                                       kni_gemm_type_of(f->y.dtype), job->sizes.value_size);
    bool good = !seen || kni_attention_weights(job, b, h, first, rows, seen, weights, NULL);
    if (good && job->drops) kni_attention_drop(job, b, h, first, rows, seen, weights, NULL, NULL);
    if (!good || !kni_attention_product(job, rows, job->sizes.value_size, seen,
                                        kni_attention_dense(weights, job->type, seen),
                                        kni_attention_matrix_of(&job->v, b, key_head, 0), y, 1, 0))
        f->failed = true;
}

static kn_status run_attention(const kn_record *r)
{
    kni_tensor *y = kni_out(r, 0);
    if (!kni_gemm_takes(y->type.dtype)) return KN_ERROR_UNSUPPORTED;
    kn_status s = kni_host_allocate(y);
    if (s || kni_count(&y->type) == 0) return s;
    forward_job f = {.workers = kni_threads()};
    kni_attention_start(&f.job, r, 3);
    f.y = kni_attention_heads(y);
    f.bytes = (f.job.block * f.job.sizes.keys * kni_attention_element(&f.job) + 63) / 64 * 64;
    const size_t bytes = (size_t)(f.bytes * f.workers);
    f.memory = kni_allocate(bytes);
    if (!f.memory) return kni_gemm_no_memory(r->row->name);
    kni_parallel_for(f.job.sizes.batch * f.job.sizes.heads * f.job.blocks, forward_task, &f);
    kni_free(f.memory, bytes);
    return f.failed ? kni_gemm_no_memory(r->row->name) : KN_OK;
}

const kni_native kni_cpu_attention = {.run = run_attention};
const kni_native kni_cpu_dropout_attention = {.run = run_attention};
