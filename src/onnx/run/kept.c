/* What converters keep from run to run: tensors that they make of a node's attributes alone, such as the tables of a forest. */
#include "core/lasting.h"
#include "onnx/run/conversion.h"
#include <stdlib.h>

static kni_planned_node *planned_of(const kni_conversion *c)
{
    return c->node && c->target->now ? &c->plan->nodes[c->node->place] : NULL;
}

static kni_exclusive *lock_of(const kni_conversion *c) { return (kni_exclusive *)&c->plan->lock; }

kni_datum kni_kept(kni_conversion *c, int32_t number)
{
    const kni_planned_node *planned = planned_of(c);
    if (c->status || !planned || number < 0 || number >= KNI_KEPT) return KNI_ABSENT;
    kni_exclusive_enter(lock_of(c));
    kni_stored *stored = planned->kept ? planned->kept[number] : NULL;
    kni_exclusive_leave(lock_of(c));
    return stored ? kni_entry_constant(c, stored) : KNI_ABSENT;
}

bool kni_is_constant(const kni_conversion *c, kni_datum x)
{
    const kni_entry *e = kni_entry_of(c, x);
    return !e || e->constant;
}

/* The one that another thread has kept in the meantime stays. */
static void keep(kni_conversion *c, kni_planned_node *planned, int32_t number, kni_stored *stored)
{
    kni_exclusive_enter(lock_of(c));
    if (!planned->kept) planned->kept = calloc(KNI_KEPT, sizeof *planned->kept);
    bool ours = planned->kept && !planned->kept[number];
    if (ours) planned->kept[number] = stored;
    kni_exclusive_leave(lock_of(c));
    if (!ours) kni_stored_free(stored);
}

kni_datum kni_keep(kni_conversion *c, int32_t number, kni_datum x)
{
    kni_planned_node *planned = planned_of(c);
    const kni_entry *e = kni_entry_of(c, x);
    if (c->status || !planned || !e || !e->host.bits || e->constant || number < 0 || number >= KNI_KEPT)
        return x;
    kni_stored *stored = calloc(1, sizeof *stored);
    if (!stored) return x;
    stored->tensor = kn_own(kn_alias(e->host));
    if (!kn_ok(stored->tensor)) {
        free(stored);
        return x;
    }
    kni_lasting(stored->tensor);
    keep(c, planned, number, stored);
    kni_datum kept = kni_kept(c, number);
    return kni_is_given(kept) ? kept : x;
}

void kni_kept_free(kni_onnx_plan *plan)
{
    for (int32_t i = 0; plan->nodes && i < plan->model->n_nodes; i++) {
        for (int32_t k = 0; plan->nodes[i].kept && k < KNI_KEPT; k++) kni_stored_free(plan->nodes[i].kept[k]);
        free(plan->nodes[i].kept);
    }
}
