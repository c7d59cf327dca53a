/* What several passes ask of a program, and how they run ops. */
#include "core/allocator.h"
#include "core/device_object.h"
#include "core/error.h"
#include "program/passes.h"
#include <kn/tensor.h>
#include <string.h>

bool kni_node_is_opaque(const kni_program_node *n)
{
    const kn_op *row = n->row;
    if (row->flags & KNI_FLAG_RANDOM) return true;
    return kni_op_by_number(row->number) != row && !row->body;
}

int64_t kni_type_bytes(const kni_type *t)
{
    int64_t count = kni_count(t);
    return count < 0 ? -1 : kn_dtype_bytes((kn_dtype)t->dtype, count);
}

void kni_value_set_tensor(kni_program_value *v, kn_tensor tensor)
{
    if (v->tensor.bits && !v->live) kn_drop(v->tensor);
    if (v->placed.bits) kn_drop(v->placed);
    v->tensor = tensor;
    v->placed = KN_NONE;
    v->live = false;
}

/* ---- readers */

kn_status kni_readers_find(const kni_program *p, kni_readers *r)
{
    size_t n = (size_t)(p->n_values ? p->n_values : 1);
    *r = (kni_readers){.n_values = p->n_values};
    r->count = kni_allocate(n * sizeof *r->count);
    r->node = kni_allocate(n * sizeof *r->node);
    if (!r->count || !r->node) {
        kni_readers_free(r);
        return kni_fail(KN_ERROR_MEMORY, "kn_program_simplify: no memory for the readers of %d values",
                        p->n_values);
    }
    memset(r->count, 0, n * sizeof *r->count);
    memset(r->node, -1, n * sizeof *r->node);
    for (int32_t i = 0; i < p->n_regions; i++) {
        const kni_program_region *region = &p->regions[i];
        for (int32_t k = 0; k < region->n_nodes; k++) {
            const kni_program_node *node = &p->nodes[region->nodes[k]];
            for (int32_t o = 0; o < node->n_in; o++) {
                int32_t v = kni_node_in(p, node)[o];
                if (v < 0) continue;
                r->count[v]++;
                r->node[v] = region->nodes[k];
            }
        }
    }
    for (int32_t i = 0; i < p->n_regions; i++)
        for (int32_t k = 0; k < p->regions[i].n_results; k++) {
            r->count[p->regions[i].results[k]]++;
            r->node[p->regions[i].results[k]] = -1;
        }
    return KN_OK;
}

void kni_readers_free(kni_readers *r)
{
    size_t bytes = (size_t)(r->n_values ? r->n_values : 1) * sizeof(int32_t);
    kni_free(r->count, r->count ? bytes : 0);
    kni_free(r->node, r->node ? bytes : 0);
    *r = (kni_readers){0};
}

/* ---- running */

kn_status kni_pass_run_begin(kni_pass_run *run)
{
    kn_device cpu = kni_device_cpu();
    if (!cpu) return KN_ERROR_DEVICE;
    kni_thread *t = kni_thread_self();
    run->scope = kn_scope_begin();
    run->before = kni_context_push(t);
    t->context.current = cpu;
    t->context.capture = NULL;
    t->context.autocast = KN_DTYPE_NONE;
    t->context.no_grad++;
    return KN_OK;
}

void kni_pass_run_end(const kni_pass_run *run)
{
    kni_context_pop(kni_thread_self(), &run->before);
    kn_scope_end(run->scope, KN_NONE);
}

kn_tensor kni_pass_tensor(const kni_program_value *v)
{
    kn_device cpu = kni_device_cpu();
    const kni_tensor *x = kni_peek(v->tensor);
    if (!x || !cpu) return kn_poison(KN_ERROR_HANDLE, "a constant of the program is gone");
    return x->device == cpu ? v->tensor : kn_keep(kn_to(v->tensor, kni_device_handle(cpu)));
}
