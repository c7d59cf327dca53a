/* Remembering schedules: the facts are all that a schedule is made from, taken from records and slots and compared byte by
   byte. A group with a number that changes from run to run, such as an optimiser's, is laid out each time. */
#include "backend/gpu/group_memo.h"
#include <string.h>

typedef struct writer {
    unsigned char *bytes;
    uint32_t n;
    bool full;
} writer;

static void put(writer *w, const void *bytes, size_t n)
{
    if (w->full || KNI_GPU_MEMO_BYTES - w->n < n) {
        w->full = true;
        return;
    }
    memcpy(w->bytes + w->n, bytes, n);
    w->n += (uint32_t)n;
}

static void put_operand(writer *w, uint32_t id, bool result)
{
    put(w, &id, sizeof id);
    if (id == KNI_NO_SLOT) return;
    const kni_tensor *x = kni_slot(id);
    size_t axes = x->type.rank * sizeof(int64_t);
    const unsigned char head[4] = {x->type.dtype, x->type.rank, x->type.weak, x->storage != NULL};
    put(w, head, result ? 3 : 4);
    put(w, x->type.dims, axes);
    if (result) return;
    put(w, x->strides, axes);
    put(w, &x->offset, sizeof x->offset);
    if (!x->storage) put(w, &x->inline_value, sizeof x->inline_value);
}

/* Whether the tensor is a result of a record of the group, whose layout is still to be. */
static bool is_inside(const kni_group *group, int before, uint32_t id)
{
    for (int i = 0; i < before; i++)
        for (int k = 0; k < group->records[i]->n_out; k++)
            if (group->records[i]->ids[k] == id) return true;
    return false;
}

static void put_group(writer *w, const kni_group *group)
{
    put(w, &group->kind, sizeof group->kind);
    put(w, group->outputs, (size_t)group->n_outputs * sizeof *group->outputs);
    for (int i = 0; i < group->n_records && !w->full; i++) {
        const kn_record *r = group->records[i];
        const uint16_t head[3] = {r->op, r->n_out, r->n_in};
        put(w, head, sizeof head);
        put(w, &r->row, sizeof r->row);
        put(w, r->attributes, r->attribute_bytes);
        for (int k = 0; k < r->n_out; k++) put_operand(w, r->ids[k], true);
        for (int k = r->n_out; k < r->n_out + r->n_in; k++)
            put_operand(w, r->ids[k], r->ids[k] != KNI_NO_SLOT && is_inside(group, i, r->ids[k]));
    }
}

static void forget(void *memo) { kni_free(memo, sizeof(kni_gpu_memo)); }

kni_gpu_memo *kni_gpu_memo_of(const kni_group *group)
{
    unsigned char facts[KNI_GPU_MEMO_BYTES];
    writer w = {facts, 0, false};
    if (!group->cache || !group->release) return NULL;
    put_group(&w, group);
    if (w.full) return NULL;
    kni_gpu_memo *memo = *group->cache;
    if (!memo) {
        memo = kni_allocate(sizeof *memo);
        if (!memo) return NULL;
        memo->ready = false;
        *group->cache = memo;
        *group->release = forget;
    }
    if (memo->ready && memo->bytes == w.n && !memcmp(memo->facts, facts, w.n)) return memo;
    memo->ready = false;
    memset(memo->kernels, 0, sizeof memo->kernels);
    memo->bytes = w.n;
    memcpy(memo->facts, facts, w.n);
    return memo;
}
