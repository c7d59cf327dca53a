/* The CPU entries of the optimisers' updates: one pass over param, gradient and states, in place where the record says
   that an operand dies. Halves go through strips of f32. */
#include "backend/cpu/isa.h"
#include "backend/cpu/norm_drive.h"
#include "backend/cpu/update_table.h"
#include "ops/native.h"
#include "ops/update_rules.h"

enum { STRIP = 512, BLOCK = 1 << 14, MAX_IN = 2 + KNI_UPDATE_STATES, MAX_OUT = 1 + KNI_UPDATE_STATES };

static const kni_update_kernels *const f32_table[KNI_ISA_COUNT] = KNI_TIER_TABLE(&kni_update_f32);
static const kni_update_kernels *const f64_table[KNI_ISA_COUNT] = KNI_TIER_TABLE(&kni_update_f64);

typedef struct update_job {
    kni_update_strip *strip;
    int n_in, n_out, dtype;
    int64_t n, bytes;
    int64_t first_task;     /* of all tasks of the jobs that run together */
    const char *in[MAX_IN]; /* NULL where a state is absent */
    char *out[MAX_OUT];
    double numbers[1 + KNI_UPDATE_NUMBERS];
    kni_borrowed borrowed[MAX_IN];
} update_job;

/* Updates of one rule that share the team. */
typedef struct update_jobs {
    update_job *jobs;
    int32_t n;
} update_jobs;

static void run_converted(const update_job *j, int64_t begin, int64_t n)
{
    _Alignas(64) float buffers[MAX_IN][STRIP];
    const void *in[MAX_IN] = {0};
    void *out[MAX_OUT] = {0};
    for (int i = 0; i < j->n_in; i++) {
        if (!j->in[i]) continue;
        kni_convert(buffers[i], KN_F32, 1, j->in[i] + begin * j->bytes, j->dtype, 1, n);
        in[i] = buffers[i];
    }
    /* A result is written over the operand it replaces: the param, or a state. */
    for (int k = 0; k < j->n_out; k++)
        if (j->out[k]) out[k] = buffers[k ? k + 1 : 0];
    j->strip(n, out, in, j->numbers);
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
        if (j->in[i]) in[i] = j->in[i] + begin * j->bytes;
    for (int k = 0; k < j->n_out; k++)
        if (j->out[k]) out[k] = j->out[k] + begin * j->bytes;
    j->strip(end - begin, out, in, j->numbers);
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

static double read_scale(const kn_record *r, int i)
{
    double scale = 1;
    kni_tensor *x = i < r->n_in ? kni_in(r, i) : NULL;
    if (x) kni_convert(&scale, KN_F64, 1, kni_pointer(x), x->type.dtype, 1, 1);
    return scale;
}

static kn_status borrow_operands(const kn_record *r, update_job *j)
{
    for (int i = 0; i < j->n_in; i++) {
        kni_tensor *x = i < r->n_in ? kni_in(r, i) : NULL;
        if (!x) continue;
        if (!kni_host_borrow(x, j->dtype, &j->borrowed[i])) return KN_ERROR_MEMORY;
        j->in[i] = j->borrowed[i].data;
    }
    return KN_OK;
}

static kn_status start_job(const kn_record *r, const kni_update_rule *rule, int kind, update_job *j)
{
    kni_tensor *p = kni_in(r, 0);
    *j = (update_job){.n_in = 2 + rule->states, .n_out = 1 + rule->states, .dtype = p->type.dtype};
    j->strip = (j->dtype == KN_F64 ? f64_table : f32_table)[kni_cpu_tier()]->strips[kind];
    j->n = kni_count(&p->type);
    j->bytes = kni_dtypes[j->dtype].bits / 8;
    j->numbers[0] = read_scale(r, 2 + rule->states);
    rule->numbers(r->attributes, j->numbers + 1);
    kn_status s = borrow_operands(r, j);
    for (int k = 0; k < j->n_out && s == KN_OK; k++) {
        int replaced = k ? k + 1 : 0;
        s = kni_host_allocate_or_reuse(r, kni_out(r, k), UINT64_C(1) << replaced);
        if (s == KN_OK && replaced < r->n_in && kni_in(r, replaced)) j->out[k] = kni_out(r, k)->storage->data;
    }
    return s;
}

/* Memory for all results comes first: after that nothing can fail. */
static kn_status run_jobs(const kn_record *const *records, int32_t n, const kni_update_rule *rule, int kind,
                          update_job *jobs)
{
    update_jobs all = {jobs, 0};
    int64_t tasks = 0, work = 0;
    kn_status s = KN_OK;
    while (all.n < n && s == KN_OK) {
        update_job *j = &jobs[all.n];
        s = start_job(records[all.n++], rule, kind, j);
        j->first_task = tasks;
        tasks += (j->n + BLOCK - 1) / BLOCK;
        work += j->n * j->n_in;
    }
    if (s == KN_OK) kni_norm_share(work, tasks, run_task, &all);
    for (int32_t i = 0; i < all.n; i++)
        for (int k = 0; k < MAX_IN; k++) kni_host_unborrow(&jobs[i].borrowed[k]);
    return s;
}

static kn_status run_one(const kn_record *r, const kni_update_rule *rule, int kind)
{
    update_job job;
    return run_jobs(&r, 1, rule, kind, &job);
}

static kn_status run_many(const kn_record *const *records, int32_t n, const kni_update_rule *rule, int kind)
{
    size_t bytes = (size_t)n * sizeof(update_job);
    update_job *jobs = kni_allocate(bytes);
    if (!jobs)
        return kni_fail_op(KN_ERROR_MEMORY, records[0]->row->name, "no memory to run %d updates", (int)n);
    kn_status s = run_jobs(records, n, rule, kind, jobs);
    kni_free(jobs, bytes);
    return s;
}

#define ENTRY(name, kind)                                                                                    \
    static kn_status run_##name(const kn_record *r) { return run_one(r, &kni_##name##_rule, kind); }         \
    static kn_status many_##name(const kn_record *const *records, int32_t n)                                 \
    {                                                                                                        \
        return run_many(records, n, &kni_##name##_rule, kind);                                               \
    }                                                                                                        \
    const kni_native kni_cpu_##name##_update = {.run = run_##name, .run_many = many_##name};

ENTRY(sgd, KNI_UPDATE_SGD)
ENTRY(adam, KNI_UPDATE_ADAM)
ENTRY(rmsprop, KNI_UPDATE_RMSPROP)
ENTRY(adagrad, KNI_UPDATE_ADAGRAD)
ENTRY(adan, KNI_UPDATE_ADAN)
