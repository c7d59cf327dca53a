/* The CPU entries of the optimisers' updates: one pass over param, gradient and states, in place where the record says
   that an operand dies. Halves go through strips of f32. */
#include "backend/cpu/isa.h"
#include "backend/cpu/norm_drive.h"
#include "backend/cpu/update_table.h"
#include "ops/native.h"
#include "ops/update_rules.h"

enum { STRIP = 512, BLOCK = 1 << 14, MAX_IN = KNI_BODY_OPERANDS, MAX_OUT = KNI_BODY_OPERANDS };

static const kni_update_kernels *const f32_table[KNI_ISA_COUNT] = KNI_TIER_TABLE(&kni_update_f32);
static const kni_update_kernels *const f64_table[KNI_ISA_COUNT] = KNI_TIER_TABLE(&kni_update_f64);

typedef struct update_job {
    kni_update_strip *strip;
    const kni_body *body;
    int n_in, n_out, dtype;
    int64_t n, bytes;
    int64_t first_task;     /* of all tasks of the jobs that run together */
    const char *in[MAX_IN]; /* NULL where a state is absent */
    char *out[MAX_OUT];
    kni_body_number numbers[KNI_BODY_NUMBERS];
    uint32_t choices;
    kni_borrowed borrowed[MAX_IN];
} update_job;

/* Updates of one rule that share the team. */
typedef struct update_jobs {
    update_job *jobs;
    int32_t n;
} update_jobs;

/* Whether operand i is one number, which begins nowhere else for another block. */
static bool is_single(const update_job *j, int i)
{
    return (j->body->operands[i] & KNI_OPERAND_LEVEL) == KNI_LEVEL_ALL;
}

static void run_converted(const update_job *j, int64_t begin, int64_t n)
{
    _Alignas(64) float buffers[MAX_IN][STRIP];
    const void *in[MAX_IN] = {0};
    void *out[MAX_OUT] = {0};
    for (int i = 0; i < j->n_in; i++) {
        in[i] = j->in[i];
        if (!j->in[i] || is_single(j, i)) continue;
        kni_convert(buffers[i], KN_F32, 1, j->in[i] + begin * j->bytes, j->dtype, 1, n);
        in[i] = buffers[i];
    }
    /* A result is written over the operand it replaces: the param, or a state. */
    for (int k = 0; k < j->n_out; k++)
        if (j->out[k]) out[k] = buffers[kni_body_replaces(j->body, k)];
    j->strip(n, out, in, j->numbers, j->choices);
    for (int k = 0; k < j->n_out; k++)
        if (out[k]) kni_convert(j->out[k] + begin * j->bytes, j->dtype, 1, out[k], KN_F32, 1, n);
}

static void run_block(const update_job *j, int64_t begin)
{
    int64_t end = begin + BLOCK < j->n ? begin + BLOCK : j->n;
    if (j->dtype != kni_norm_dtype(j->dtype)) {
        for (int64_t at = begin; at < end; at += STRIP)
            run_converted(j, at, end - at < STRIP ? end - at : STRIP);
        return;
    }
    const void *in[MAX_IN] = {0};
    void *out[MAX_OUT] = {0};
    for (int i = 0; i < j->n_in; i++)
        if (j->in[i]) in[i] = j->in[i] + (is_single(j, i) ? 0 : begin * j->bytes);
    for (int k = 0; k < j->n_out; k++)
        if (j->out[k]) out[k] = j->out[k] + begin * j->bytes;
    j->strip(end - begin, out, in, j->numbers, j->choices);
}

static void run_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    const update_jobs *all = argument;
    int32_t low = 0, high = all->n;
    while (high - low > 1) {
        int32_t middle = low + (high - low) / 2;
        if (all->jobs[middle].first_task <= task)
            low = middle;
        else
            high = middle;
    }
    run_block(&all->jobs[low], (task - all->jobs[low].first_task) * BLOCK);
}

static kn_status borrow_operands(const kn_record *r, update_job *j)
{
    for (int i = 0; i < j->n_in; i++) {
        kni_tensor *x = i < r->n_in ? kni_in(r, i) : NULL;
        if (!x) continue;
        if (!kni_host_borrow(x, is_single(j, i) ? kni_norm_dtype(j->dtype) : j->dtype, &j->borrowed[i]))
            return KN_ERROR_MEMORY;
        j->in[i] = j->borrowed[i].data;
    }
    return KN_OK;
}

static kn_status start_job(const kn_record *r, int kind, update_job *j)
{
    kni_tensor *p = kni_in(r, 0);
    const kni_body *body = r->row->body;
    j->body = body;
    j->n_in = body->n_in;
    j->n_out = body->n_out;
    j->dtype = p->type.dtype;
    for (int i = 0; i < j->n_in; i++) j->in[i] = NULL, j->borrowed[i] = (kni_borrowed){NULL, 0};
    for (int k = 0; k < j->n_out; k++) j->out[k] = NULL;
    j->strip = (j->dtype == KN_F64 ? f64_table : f32_table)[kni_cpu_tier()]->strips[kind];
    j->n = kni_count(&p->type);
    j->bytes = kni_bytes_of(j->dtype);
    j->choices = kni_body_choices(r->row->schema, r->attributes);
    body->numbers(r->row->schema, r->attributes, j->numbers);
    kn_status s = borrow_operands(r, j);
    for (int k = 0; k < j->n_out && s == KN_OK; k++) {
        int replaced = kni_body_replaces(body, k);
        s = kni_host_allocate_or_reuse(r, kni_out(r, k), UINT64_C(1) << replaced);
        if (s == KN_OK && replaced < r->n_in && kni_in(r, replaced)) j->out[k] = kni_out(r, k)->storage->data;
    }
    return s;
}

/* Memory for all results comes first: after that nothing can fail. */
static kn_status run_jobs(const kn_record *const *records, int32_t n, int kind, update_job *jobs)
{
    update_jobs all = {jobs, 0};
    int64_t tasks = 0, work = 0;
    kn_status s = KN_OK;
    while (all.n < n && s == KN_OK) {
        update_job *j = &jobs[all.n];
        s = start_job(records[all.n++], kind, j);
        j->first_task = tasks;
        tasks += (j->n + BLOCK - 1) / BLOCK;
        work += j->n * j->n_in;
    }
    if (s == KN_OK) kni_norm_share(work, tasks, run_task, &all);
    for (int32_t i = 0; i < all.n; i++)
        for (int k = 0; k < jobs[i].n_in; k++) kni_host_unborrow(&jobs[i].borrowed[k]);
    return s;
}

static kn_status run_one(const kn_record *r, int kind)
{
    update_job job;
    return run_jobs(&r, 1, kind, &job);
}

static kn_status run_many(const kn_record *const *records, int32_t n, int kind)
{
    size_t bytes = (size_t)n * sizeof(update_job);
    update_job *jobs = kni_allocate(bytes);
    if (!jobs)
        return kni_fail_op(KN_ERROR_MEMORY, records[0]->row->name, "no memory to run %d updates", (int)n);
    kn_status s = run_jobs(records, n, kind, jobs);
    kni_free(jobs, bytes);
    return s;
}

#define ENTRY(name)                                                                                          \
    static kn_status run_##name(const kn_record *r) { return run_one(r, KNI_UPDATE_##name); }                \
    static kn_status many_##name(const kn_record *const *records, int32_t n)                                 \
    {                                                                                                        \
        return run_many(records, n, KNI_UPDATE_##name);                                                      \
    }                                                                                                        \
    const kni_native kni_cpu_##name = {.run = run_##name, .run_many = many_##name};
#include "backend/cpu/generated/update_entries.inc"
#undef ENTRY
