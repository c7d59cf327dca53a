/* Groups of records, and single ones, by schedule: kernels are found by their signature or made, results and
   temporaries get memory, the launches are queued. */
#include "backend/gpu/gpu_ahead.h"
#include "backend/gpu/gpu_recording.h"
#include "backend/gpu/group_memo.h"
#include "backend/gpu/product.h"
#include <string.h>

/* What one group holds while it is launched. */
typedef struct run {
    kni_gpu *gpu;
    const kni_group *group;
    const kni_sched *sched;
    kni_gpu_kernel **kernels; /* of the schedule, NULL where not yet looked up */
    kni_gpu_block *temps[KNI_SCHED_MAX_TEMPS];
    kni_gpu_block *made[KNI_GPU_OPERANDS]; /* numbers of slots that a kernel wants in memory */
    int n_made, cell;
} run;

uint32_t kni_gpu_schedule_key(const kni_sched_kernel *k, unsigned char *key)
{
    key[0] = 's';
    memcpy(key + 1, k->signature, k->signature_bytes);
    return k->signature_bytes + 1;
}

static kni_gpu_kernel *kernel_of(run *a, const kni_sched_target *target, int n)
{
    unsigned char key[KNI_SCHED_SIGNATURE + 1];
    if (a->kernels[n]) return a->kernels[n];
    uint32_t bytes = kni_gpu_schedule_key(&a->sched->kernels[n], key);
    a->kernels[n] = kni_gpu_find(a->gpu, key, bytes);
    if (!a->kernels[n])
        a->kernels[n] = kni_gpu_add(a->gpu, key, bytes, kni_sched_build(a->group, target, a->sched, n));
    return a->kernels[n];
}

static kn_status blocks_of(run *a, const kni_sched_kernel *k, kni_gpu_block **blocks)
{
    for (uint32_t i = 0; i < k->n_buffers; i++) {
        uint32_t id = k->buffers[i];
        if (id & KNI_SCHED_TEMP) {
            blocks[i] = a->temps[id & ~KNI_SCHED_TEMP];
            continue;
        }
        kni_gpu_block *made;
        kn_status s = kni_gpu_operand(a->gpu, kni_slot(id), &blocks[i], &made);
        if (made && a->n_made < KNI_GPU_OPERANDS) a->made[a->n_made++] = made;
        if (s) return s;
    }
    return KN_OK;
}

static kn_status run_kernel(run *a, const kni_sched_target *target, int n)
{
    const kni_sched_kernel *k = &a->sched->kernels[n];
    kni_gpu_block *blocks[KNI_SCHED_MAX_BUFFERS];
    kni_gpu_kernel *kernel = kernel_of(a, target, n);
    if (!kernel) return kni_latest_code();
    if (kernel->reports && a->cell < 0) {
        a->cell = kni_gpu_take_cell(a->gpu, a->group->records[k->reporter]);
        if (a->cell < 0) return kni_latest_code();
    }
    kn_status s = blocks_of(a, k, blocks);
    if (s) return s;
    s = kni_gpu_launch(a->gpu, kernel, &k->shape, blocks, k->n_buffers, a->cell, k->params);
    if (s == KN_OK && a->gpu->recording) kni_gpu_recording_sources(a->gpu, k);
    return s;
}

static bool reuse_in(const run *a, const kni_sched_kernel *k, uint32_t id)
{
    kni_tensor *y = kni_slot(id);
    for (uint32_t i = 0; i < k->n_buffers; i++) {
        if (k->buffers[i] != id || !k->in_place[i] || k->in_place[i] > k->n_buffers) continue;
        uint32_t from = k->buffers[k->in_place[i] - 1];
        kni_tensor *x = from & KNI_SCHED_TEMP ? NULL : kni_slot(from);
        if (!x || !kni_group_may_overwrite(a->group, from, y) || !kni_gpu_may_overwrite(a->gpu, x->storage))
            return false;
        y->storage = kni_storage_retain(x->storage);
        y->offset = 0;
        kni_promised_strides(y);
        return true;
    }
    return false;
}

/* The memory of an operand that dies, where the schedule allows the result to be written over it. Of several kernels only those of
   independent records know that no later one reads it. */
static bool reuse(const run *a, uint32_t id)
{
    const int n = a->sched->n_kernels;
    if ((n != 1 && a->group->kind != KNI_GROUP_MANY) || a->gpu->driver->caps.no_aliases) return false;
    for (int i = 0; i < n; i++)
        if (reuse_in(a, &a->sched->kernels[i], id)) return true;
    return false;
}

static kn_status take_memory(run *a)
{
    const kni_group *group = a->group;
    kn_status s = KN_OK;
    for (int i = 0; i < group->n_outputs && s == KN_OK; i++)
        if (!reuse(a, group->outputs[i])) s = kni_gpu_allocate_promised(a->gpu, kni_slot(group->outputs[i]));
    for (int i = 0; i < a->sched->n_temps && s == KN_OK; i++) {
        a->temps[i] = kni_gpu_take(a->gpu, a->sched->temp_bytes[i]);
        if (!a->temps[i]) s = kni_latest_code();
    }
    return s;
}

/* Blocks given back here may still be read by what is queued: whoever takes them next is queued behind it. */
static void give_memory(run *a, kn_status s)
{
    for (int i = 0; i < a->sched->n_temps; i++)
        if (a->temps[i]) kni_gpu_give(a->temps[i]);
    for (int i = 0; i < a->n_made; i++) kni_gpu_give(a->made[i]);
    for (int i = 0; i < a->group->n_outputs && s; i++) {
        kni_tensor *y = kni_slot(a->group->outputs[i]);
        if (y->storage) kni_storage_release(y->storage);
        y->storage = NULL;
    }
}

static kn_status faults_of_inputs(kni_gpu *g, const kni_group *group, uint64_t *all)
{
    *all = 0;
    for (int i = 0; i < group->n_inputs; i++) {
        uint64_t some;
        kn_status s = kni_gpu_faults_of(g, kni_slot(group->inputs[i]), &some);
        if (s) return s;
        *all |= some;
    }
    return KN_OK;
}

static kn_status run_prepared(kni_gpu *g, const kni_group *group, const kni_sched *sched,
                              kni_gpu_kernel **kernels, const kni_sched_target *target)
{
    run a = {.gpu = g, .group = group, .sched = sched, .kernels = kernels, .cell = -1};
    uint64_t epoch, faults;
    kn_status s = faults_of_inputs(g, group, &faults);
    if (s) return s;
    if (g->driver->profiling) kni_gpu_label(g, group->records, group->n_records);
    epoch = g->epoch;
    s = take_memory(&a);
    for (int i = 0; i < sched->n_kernels && s == KN_OK; i++) s = run_kernel(&a, target, i);
    /* Taking a cell may have looked at all of them: what the inputs depend on is then known. */
    if (s == KN_OK && g->epoch != epoch) s = faults_of_inputs(g, group, &faults);
    if (s == KN_OK && a.cell >= 0) faults |= UINT64_C(1) << a.cell;
    for (int i = 0; i < group->n_outputs && s == KN_OK; i++)
        kni_gpu_note_faults(g, kni_slot(group->outputs[i]), faults);
    give_memory(&a, s);
    return s;
}

static kn_status run_group(kni_gpu *g, const kni_group *group, kni_gpu_memo *memo, const kn_record *single)
{
    kni_sched_target target = {&g->driver->caps, g->driver->processors};
    if (memo && memo->ready) {
        if (single) kni_gpu_memo_rebind(memo, single);
        return run_prepared(g, group, memo->sched, memo->kernels, &target);
    }
    kni_sched own;
    kni_gpu_kernel *kernels[KNI_SCHED_MAX_KERNELS] = {NULL};
    kn_status s = kni_sched_prepare(group, &target, &own);
    if (s) return s;
    bool kept = memo && kni_gpu_memo_keep(memo, &own, single);
    s = run_prepared(g, group, kept ? memo->sched : &own, kept ? memo->kernels : kernels, &target);
    if (memo) memo->ready = kept && s == KN_OK;
    return s;
}

bool kni_gpu_group_lacks(const kni_gpu *g, const kni_group *group)
{
    for (int i = 0; i < group->n_records && !g->driver->caps.f64; i++)
        for (int k = 0; k < group->records[i]->n_in + group->records[i]->n_out; k++)
            if (group->records[i]->ids[k] != KNI_NO_SLOT &&
                kni_slot(group->records[i]->ids[k])->type.dtype == KN_F64)
                return true;
    return false;
}

kn_status kni_gpu_group(kni_gpu *g, const kni_group *group)
{
    /* f64 inside a single record is said in integers; a group of such records is better taken apart. */
    if (kni_gpu_group_lacks(g, group)) return KN_ERROR_UNSUPPORTED;
    if (group->kind == KNI_GROUP_PRODUCT) return kni_gpu_product_group(g, group);
    return run_group(g, group, kni_gpu_memo_of(group), NULL);
}

bool kni_gpu_group_of(const kn_record *const *r, uint32_t *inputs, kni_group *group)
{
    const kn_record *record = *r;
    if (record->n_in > KNI_GPU_OPERANDS) return false;
    *group = (kni_group){.kind = KNI_GROUP_SINGLE,
                         .n_records = 1,
                         .records = r,
                         .inputs = inputs,
                         .outputs = record->ids,
                         .n_outputs = record->n_out};
    for (int i = 0; i < record->n_in; i++) {
        uint32_t id = record->ids[record->n_out + i];
        bool known = id == KNI_NO_SLOT;
        for (int k = 0; k < group->n_inputs && !known; k++) known = inputs[k] == id;
        if (!known) inputs[group->n_inputs++] = id;
    }
    return true;
}

kn_status kni_gpu_scheduled(kni_gpu *g, const kn_record *r)
{
    uint32_t inputs[KNI_GPU_OPERANDS];
    kni_group group;
    if (!kni_gpu_group_of(&r, inputs, &group)) return KN_ERROR_UNSUPPORTED;
    return run_group(g, &group, kni_gpu_memo_of_record(g, r), r);
}

const kni_sched *kni_gpu_schedule(kni_gpu *g, const kni_group *group, const kn_record *single)
{
    kni_sched_target target = {&g->driver->caps, g->driver->processors};
    uint32_t inputs[KNI_GPU_OPERANDS];
    kni_group alone;
    if (!single && group->kind == KNI_GROUP_PRODUCT) return NULL; /* it keeps something else */
    if (single && !kni_gpu_group_of(&single, inputs, &alone)) return NULL;
    kni_gpu_memo *memo = single ? kni_gpu_memo_of_record(g, single) : kni_gpu_memo_of(group);
    if (!memo) return NULL;
    kni_sched own;
    if (!memo->ready &&
        (kni_sched_prepare(single ? &alone : group, &target, &own) || !kni_gpu_memo_keep(memo, &own, single)))
        return NULL;
    return memo->sched;
}
