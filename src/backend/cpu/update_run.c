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
    const char *in[MAX_IN]; /* NULL where a state is absent */
    char *out[MAX_OUT];
    double numbers[1 + KNI_UPDATE_NUMBERS];
} update_job;

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

static void run_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    const update_job *j = argument;
    int64_t begin = task * BLOCK, end = begin + BLOCK < j->n ? begin + BLOCK : j->n;
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

static double read_scale(const kn_record *r, int i)
{
    double scale = 1;
    kni_tensor *x = i < r->n_in ? kni_in(r, i) : NULL;
    if (x) kni_convert(&scale, KN_F64, 1, kni_pointer(x), x->type.dtype, 1, 1);
    return scale;
}

/* Memory for all results comes first: after that nothing can fail. */
static kn_status run_job(const kn_record *r, update_job *j)
{
    for (int k = 0; k < j->n_out; k++) {
        int replaced = k ? k + 1 : 0;
        kn_status s = kni_host_allocate_or_reuse(r, kni_out(r, k), UINT64_C(1) << replaced);
        if (s) return s;
        j->out[k] = replaced < r->n_in && kni_in(r, replaced) ? kni_out(r, k)->storage->data : NULL;
    }
    kni_norm_share(j->n * j->n_in, (j->n + BLOCK - 1) / BLOCK, run_task, j);
    return KN_OK;
}

static kn_status run_update(const kn_record *r, const kni_update_rule *rule, int kind)
{
    kni_tensor *p = kni_in(r, 0);
    kni_borrowed borrowed[MAX_IN] = {{0}};
    update_job j = {.n_in = 2 + rule->states, .n_out = 1 + rule->states, .dtype = p->type.dtype};
    const kni_tier tier = kni_cpu_tier();
    j.strip = (j.dtype == KN_F64 ? f64_table : f32_table)[tier]->strips[kind];
    j.n = kni_count(&p->type);
    j.bytes = kni_dtypes[j.dtype].bits / 8;
    j.numbers[0] = read_scale(r, 2 + rule->states);
    rule->numbers(r->attributes, j.numbers + 1);
    kn_status s = KN_OK;
    for (int i = 0; i < j.n_in && s == KN_OK; i++) {
        kni_tensor *x = i < r->n_in ? kni_in(r, i) : NULL;
        if (!x) continue;
        if (!kni_host_borrow(x, j.dtype, &borrowed[i])) s = KN_ERROR_MEMORY;
        j.in[i] = borrowed[i].data;
    }
    if (s == KN_OK) s = run_job(r, &j);
    for (int i = 0; i < j.n_in; i++) kni_host_unborrow(&borrowed[i]);
    return s;
}

static kn_status run_sgd(const kn_record *r) { return run_update(r, &kni_sgd_rule, KNI_UPDATE_SGD); }
static kn_status run_adam(const kn_record *r) { return run_update(r, &kni_adam_rule, KNI_UPDATE_ADAM); }
static kn_status run_rmsprop(const kn_record *r)
{
    return run_update(r, &kni_rmsprop_rule, KNI_UPDATE_RMSPROP);
}
static kn_status run_adagrad(const kn_record *r)
{
    return run_update(r, &kni_adagrad_rule, KNI_UPDATE_ADAGRAD);
}
static kn_status run_adan(const kn_record *r) { return run_update(r, &kni_adan_rule, KNI_UPDATE_ADAN); }

const kni_native kni_cpu_sgd_update = {.run = run_sgd};
const kni_native kni_cpu_adam_update = {.run = run_adam};
const kni_native kni_cpu_rmsprop_update = {.run = run_rmsprop};
const kni_native kni_cpu_adagrad_update = {.run = run_adagrad};
const kni_native kni_cpu_adan_update = {.run = run_adan};
