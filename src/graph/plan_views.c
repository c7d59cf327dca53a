/* Views inside groups: the queue makes views at once, so a group that reads one of its own results through a view gets a
   record for it, by which the device finds the elements. */
#include "graph/plan.h"
#include <string.h>

typedef struct view_attributes {
    int64_t offset, strides[KN_MAX_RANK];
} view_attributes;

/* The operand lies contiguous. */
static bool show(kni_view *v)
{
    const view_attributes *a = v->attributes;
    v->offset = a->offset;
    for (int i = 0; i < v->out->rank; i++) v->strides[i] = a->strides[i];
    return true;
}

static const kn_op view_row = {.name = "view",
                               .doc = "elements of the operand by offset and strides",
                               .min_in = 1,
                               .max_in = 1,
                               .n_out = 1,
                               .kind = KNI_MOVEMENT,
                               .attribute_bytes = sizeof(view_attributes),
                               .view = show};

kn_record *kni_plan_view(const kni_queue *q, kni_bump *memory, int32_t operand)
{
    size_t head = (offsetof(kn_record, ids) + 2 * sizeof(uint32_t) + 7) & ~(size_t)7;
    size_t bytes = head + sizeof(view_attributes);
    char *block = kni_bump_take(memory, bytes);
    if (!block) return NULL;
    memset(block, 0, bytes);
    kn_record *r = (kn_record *)block;
    view_attributes *a = (view_attributes *)(block + head);
    const kni_tensor *x = kni_queue_slot(q, operand);
    a->offset = x->offset;
    memcpy(a->strides, x->strides, x->type.rank * sizeof *a->strides);
    r->bytes = (uint32_t)bytes;
    r->n_out = r->n_in = 1;
    r->attribute_bytes = sizeof(view_attributes);
    r->row = &view_row;
    r->attributes = a;
    uint32_t ids[2] = {q->slots[operand], q->slots[q->values[q->operands[operand].value].whole]};
    memcpy(block + offsetof(kn_record, ids), ids, sizeof ids);
    return r;
}
