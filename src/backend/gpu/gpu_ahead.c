/* Before a plan runs for the first time: the texts of its kernels, as far as they follow from types, orders and promised strides, go to the
   driver, which compiles them all at once while the plan begins. Kernels are found by their texts later, so that a wrong guess costs
   nothing but time. */
#include "backend/gpu/gpu_ahead.h"
#include "backend/gpu/product.h"
#include <string.h>

bool kni_gpu_guess_new(kni_gpu_guesses *a, const void *key, uint32_t bytes)
{
    uint64_t hash = kni_gpu_hash(key, bytes);
    if (kni_gpu_find(a->gpu, key, bytes)) return false;
    for (int i = 0; i < a->n_seen; i++)
        if (a->seen[i] == hash) return false;
    if (a->n_seen < KNI_GPU_SEEN) a->seen[a->n_seen++] = hash;
    return true;
}

void kni_gpu_guess(kni_gpu_guesses *a, kni_ir *ir)
{
    kni_driver *d = a->gpu->driver;
    kni_ir_text text = {NULL, 0, 0, false};
    if (!ir) return;
    if (kni_ir_legalise(ir, &d->caps) == KN_OK && kni_ir_emit(ir, &d->caps, &text) == KN_OK)
        d->compile_ahead(d, text.data, ir->name);
    kni_ir_text_free(&text);
    kni_ir_free(ir);
}

/* False: there is no schedule for it. */
static bool by_schedule(kni_gpu_guesses *a, const kni_group *group)
{
    const kni_sched_target target = {&a->gpu->driver->caps, a->gpu->driver->processors};
    unsigned char key[KNI_SCHED_SIGNATURE + 1];
    kni_sched sched;
    if (kni_gpu_group_lacks(a->gpu, group) || kni_sched_prepare(group, &target, &sched)) return false;
    for (int i = 0; i < sched.n_kernels; i++)
        if (kni_gpu_guess_new(a, key, kni_gpu_schedule_key(&sched.kernels[i], key)))
            kni_gpu_guess(a, kni_sched_build(group, &target, &sched, i));
    return true;
}

static void guess_single(kni_gpu_guesses *a, const kn_record *r)
{
    const kn_op *row = r->row;
    uint32_t inputs[KNI_GPU_OPERANDS];
    kni_group group;
    if (r->flags & KN_RECORD_DROP || row->view || row->kind == KNI_CONTRACTION || (row->host && !row->source))
        return;
    if (kni_gpu_group_of(&r, inputs, &group) && by_schedule(a, &group)) return;
    if (!kni_gpu_has_native(row) && !row->lower) kni_gpu_reference_ahead(a, r);
}

/* What follows a product that a library makes, where that cannot do it too. */
static void guess_rest(kni_gpu_guesses *a, const kni_group *group)
{
    const kn_record *head = group->records[0];
    const kni_gpu_product_entry *product = kni_gpu_product_of(head->row);
    kni_gpu_tail tail = {.given = head->ids[0]};
    uint32_t inputs[KNI_GPU_OPERANDS], outputs[KNI_GPU_OPERANDS];
    kni_group rest;
    if (!product || head->n_out != 1 || kni_gpu_kernel_first(a->gpu, head) ||
        kni_gpu_find_epilogue(group, &tail) || !kni_gpu_rest_of(group, tail.given, inputs, outputs, &rest))
        return;
    (void)by_schedule(a, &rest);
}

void kni_gpu_ahead(kni_gpu *g, const kn_plan_run *run)
{
    if (!g->driver->compile_ahead) return;
    g->driver->forget_ahead(g->driver);
    if (run->runs || kni_gpu_usable(g)) return;
    uint32_t before = kni_this_thread.last_error;
    kni_gpu_guesses a = {.gpu = g};
    for (int32_t i = 0; i < run->n_steps; i++) {
        const kni_group *group = run->steps[i];
        if (group->kind == KNI_GROUP_SINGLE)
            guess_single(&a, group->records[0]);
        else if (group->kind == KNI_GROUP_PRODUCT)
            guess_rest(&a, group);
        else
            (void)by_schedule(&a, group);
    }
    /* A failed guess is silent: the real run fails in the same way and reports it. */
    if (kni_this_thread.last_error != before) kni_error_forget(&kni_this_thread);
}
