/* Groups of a product and what follows it: by the driver's library with an epilogue, by a kernel of ours that computes it
   where it stores, or as a product and an elementwise kernel. */
#include "backend/gpu/gpu_conv.h"
#include "backend/gpu/group_memo.h"
#include "sched/sched_tail.h"
#include <string.h>

/* ---- our own kernels */

/* Params: the count, offsets of all buffers, the product's numbers, those of the tail. */
static uint32_t put_params(const kni_gpu_product_launch *l, uint8_t *params)
{
    const kni_sched_kernel *k = l->tail ? l->tail->laid_out : NULL;
    int64_t count = 0;
    uint32_t n = 0;
#define PUT(from, bytes) (memcpy(params + n, from, bytes), n += (uint32_t)(bytes))
    PUT(&count, sizeof count);
    PUT(l->offsets, (size_t)l->n_buffers * sizeof *l->offsets);
    uint32_t offsets = k ? k->n_buffers * (uint32_t)sizeof(int64_t) : 0, head = sizeof(int64_t) + offsets;
    if (k) PUT(k->params + sizeof(int64_t), offsets);
    PUT(l->numbers, (size_t)l->n_numbers * sizeof *l->numbers);
    if (k) PUT(k->params + head, k->param_bytes - head);
#undef PUT
    return n;
}

static kni_gpu_kernel *kernel_of(kni_gpu *g, const kni_gpu_product_launch *l)
{
    unsigned char key[64 + KNI_SCHED_SIGNATURE];
    uint32_t n = l->key_bytes;
    const kni_gpu_tail *t = l->tail;
    kni_sched_target target = {&g->driver->caps, g->driver->processors};
    if (t && *t->kernel) return *t->kernel;
    memcpy(key, l->key, n);
    if (t) {
        memcpy(key + n, t->laid_out->signature, t->laid_out->signature_bytes);
        n += t->laid_out->signature_bytes;
    }
    kni_gpu_kernel *k = kni_gpu_find(g, key, n);
    if (!k) k = kni_gpu_add(g, key, n, l->build(l->key, t, &target));
    if (t) *t->kernel = k;
    return k;
}

kn_status kni_gpu_launch_product(kni_gpu *g, const kni_gpu_product_launch *l)
{
    _Alignas(8) uint8_t params[(1 + KNI_GPU_PRODUCT_BUFFERS + KNI_GPU_PRODUCT_NUMBERS) * sizeof(int64_t) +
                               KNI_SCHED_PARAM_BYTES];
    kni_gpu_block *blocks[KNI_GPU_PRODUCT_BUFFERS + KNI_SCHED_MAX_BUFFERS];
    if (l->tiles > INT32_MAX) return KN_ERROR_UNSUPPORTED;
    kni_gpu_kernel *k = kernel_of(g, l);
    if (!k) return kni_latest_code();
    uint32_t n = (uint32_t)l->n_buffers, bytes = put_params(l, params);
    memcpy(blocks, l->blocks, n * sizeof *blocks);
    for (uint32_t i = 0; l->tail && i < l->tail->laid_out->n_buffers; i++) blocks[n++] = l->tail->blocks[i];
    memset(params + bytes, 0, sizeof params - bytes);
    int64_t batches = l->batches > 32768 ? 32768 : l->batches;
    kni_launch_shape shape = {{(uint32_t)l->tiles, (uint32_t)batches, 1}, k->workgroup, 0};
    return kni_gpu_launch(g, k, &shape, blocks, n, -1, params);
}

/* ---- groups */

typedef struct run {
    kni_gpu *gpu;
    const kni_group *group;
    const kn_record *head;
    kni_gpu_product_run multiply;
    kni_gpu_tail tail;
} run;

static void release_result(kni_tensor *y)
{
    if (y->storage) kni_storage_release(y->storage);
    y->storage = NULL;
}

static void release_results(const run *a)
{
    for (int i = 0; i < a->group->n_outputs; i++) release_result(kni_slot(a->group->outputs[i]));
}

static kn_status allocate_results(const run *a)
{
    kn_status s = KN_OK;
    for (int i = 0; i < a->group->n_outputs && s == KN_OK; i++)
        s = kni_gpu_allocate_promised(a->gpu, kni_slot(a->group->outputs[i]));
    return s;
}

static kn_status faults_of_inputs(const run *a, uint64_t *all)
{
    *all = 0;
    for (int i = 0; i < a->group->n_inputs; i++) {
        uint64_t some;
        kn_status s = kni_gpu_faults_of(a->gpu, kni_slot(a->group->inputs[i]), &some);
        if (s) return s;
        *all |= some;
    }
    return KN_OK;
}

static kn_status by_library(run *a)
{
    if (!kni_gpu_find_epilogue(a->group, &a->tail)) return KN_ERROR_UNSUPPORTED;
    kn_status s = allocate_results(a);
    if (s == KN_OK) s = a->multiply(a->gpu, a->head, &(kni_gpu_way){KNI_GPU_BY_LIBRARY, &a->tail});
    return s;
}

/* The memory of the tail's buffers; `made` are numbers that a kernel wants in memory. */
static kn_status find_blocks(run *a, kni_gpu_block **made, int *n_made)
{
    const kni_sched_kernel *k = a->tail.laid_out;
    for (uint32_t i = 0; i < k->n_buffers; i++) {
        kni_gpu_block *one = NULL;
        kn_status s = kni_gpu_operand(a->gpu, kni_slot(k->buffers[i]), &a->tail.blocks[i], &one);
        if (one) made[(*n_made)++] = one;
        if (s) return s;
    }
    return KN_OK;
}

static kn_status by_kernel(run *a)
{
    kni_gpu *g = a->gpu;
    kni_sched_target target = {&g->driver->caps, g->driver->processors};
    kni_gpu_memo *memo = kni_gpu_memo_of(a->group);
    bool ready = memo && memo->ready;
    kni_sched *own = ready ? NULL : kni_allocate(sizeof *own), *sched = ready ? memo->sched : own;
    kni_gpu_kernel *none = NULL;
    kni_gpu_block *made[KNI_SCHED_MAX_BUFFERS];
    int n_made = 0;
    if (!sched) return kni_fail(KN_ERROR_MEMORY, "no memory to lay out a kernel");
    kn_status s =
        ready ? KN_OK : kni_sched_tail(&a->tail.records, a->tail.given, a->tail.lanes, &target, sched);
    if (s == KN_OK && memo && !ready) ready = kni_gpu_memo_keep(memo, sched, NULL);
    if (ready) sched = memo->sched;
    a->tail.laid_out = &sched->kernels[0];
    a->tail.kernel = ready ? &memo->kernels[0] : &none;
    if (s == KN_OK) s = allocate_results(a);
    if (s == KN_OK) s = find_blocks(a, made, &n_made);
    if (s == KN_OK) s = a->multiply(g, a->head, &(kni_gpu_way){KNI_GPU_BY_KERNEL, &a->tail});
    for (int i = 0; i < n_made; i++) kni_gpu_give(made[i]);
    if (own) kni_free(own, sizeof *own);
    return s;
}

static bool is_output(const kni_group *group, uint32_t id)
{
    for (int i = 0; i < group->n_outputs; i++)
        if (group->outputs[i] == id) return true;
    return false;
}

bool kni_gpu_rest_of(const kni_group *group, uint32_t given, uint32_t *inputs, uint32_t *outputs,
                     kni_group *rest)
{
    if (group->n_inputs >= KNI_GPU_OPERANDS || group->n_outputs > KNI_GPU_OPERANDS) return false;
    *rest = *group;
    rest->kind = KNI_GROUP_POINTWISE;
    rest->records++;
    rest->n_records--;
    memcpy(inputs, group->inputs, (size_t)group->n_inputs * sizeof *inputs);
    inputs[group->n_inputs] = given;
    rest->inputs = inputs;
    rest->n_inputs = group->n_inputs + 1;
    rest->outputs = outputs;
    rest->n_outputs = 0;
    for (int i = 0; i < group->n_outputs; i++)
        if (group->outputs[i] != given) outputs[rest->n_outputs++] = group->outputs[i];
    return true;
}

/* The product by itself, then the rest as a group that reads it. */
static kn_status apart(run *a, int by)
{
    const kni_group *group = a->group;
    kni_tensor *y = kni_slot(a->tail.given);
    uint32_t inputs[KNI_GPU_OPERANDS], outputs[KNI_GPU_OPERANDS];
    kni_group rest;
    if (!kni_gpu_rest_of(group, a->tail.given, inputs, outputs, &rest)) return KN_ERROR_UNSUPPORTED;
    kn_status s = a->multiply(a->gpu, a->head, &(kni_gpu_way){(uint8_t)by, NULL});
    if (s == KN_OK && y->order) s = kni_gpu_arrange(a->gpu, a->head);
    if (s == KN_OK) s = kni_gpu_group(a->gpu, &rest);
    if (s != KN_OK || !is_output(group, a->tail.given)) release_result(y);
    return s;
}

/* Our kernel where it is the best; the library, with what it can do of the tail; what is left in the order of speed. */
kn_status kni_gpu_product_group(kni_gpu *g, const kni_group *group)
{
    enum { LIBRARY, LIBRARY_APART, KERNEL, APART, WAYS };
    const kn_record *head = group->records[0];
    const kni_gpu_product_entry *product = kni_gpu_product_of(head->row);
    if (!product || head->n_out != 1) return KN_ERROR_UNSUPPORTED;
    run a = {.gpu = g, .group = group, .head = head, .multiply = product->run};
    a.tail.given = head->ids[0];
    a.tail.lanes = product->sizes ? 1 : kni_gpu_conv_tail_lanes(g, head, product->what);
    a.tail.records = *group;
    a.tail.records.kind = KNI_GROUP_POINTWISE;
    a.tail.records.records++;
    a.tail.records.n_records--;
    uint64_t faults;
    kn_status s = faults_of_inputs(&a, &faults);
    if (s) return s;
    s = KN_ERROR_UNSUPPORTED;
    if (g->driver->profiling) kni_gpu_label(g, group->records, group->n_records);
    for (int way = kni_gpu_kernel_first(g, head) ? KERNEL : LIBRARY; way < WAYS && s == KN_ERROR_UNSUPPORTED;
         way++) {
        s = way == LIBRARY         ? by_library(&a)
            : way == LIBRARY_APART ? apart(&a, KNI_GPU_BY_LIBRARY)
            : way == KERNEL        ? by_kernel(&a)
                                   : apart(&a, KNI_GPU_BY_ANY);
        if (s != KN_OK) release_results(&a);
    }
    for (int i = 0; i < group->n_outputs && s == KN_OK; i++)
        kni_gpu_note_faults(g, kni_slot(group->outputs[i]), faults);
    return s;
}
