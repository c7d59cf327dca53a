/* Removal of what nobody uses: what has an effect is needed, and what it needs; a variable's sets are when one of its
   gets is. */
#include "core/allocator.h"
#include "ir/simplify_internal.h"
#include <string.h>

typedef struct marker {
    kni_ir *ir;
    uint8_t *live;
    kni_ir_id *work; /* live nodes whose operands were not looked at */
    uint32_t n_work;
    kni_ir_id *sets, *next_set; /* of variables the first, of sets the next */
} marker;

static void need(marker *m, kni_ir_id id)
{
    if (!id || m->live[id]) return;
    m->live[id] = 1;
    m->work[m->n_work++] = id;
}

/* Whether it is there for what it does, not for its value. */
static bool acts(const kni_ir_node *node)
{
    switch (node->code) {
    case KNI_IR_VARIABLE:
    case KNI_IR_SET:
    case KNI_IR_TILE:
    case KNI_IR_SUBGROUP:
    case KNI_IR_WORKGROUP:
    case KNI_IR_SHUFFLE:
    case KNI_IR_SCAN:
        return false;
    default:
        return !(kni_ir_codes[node->code].flags & (KNI_IR_PURE | KNI_IR_READS));
    }
}

static void find_roots(marker *m, uint32_t block)
{
    for (kni_ir_id id = m->ir->blocks[block].first; id; id = kni_ir_at(m->ir, id)->next) {
        kni_ir_node *node = kni_ir_at(m->ir, id);
        if (node->code == KNI_IR_SET) {
            m->next_set[id] = m->sets[node->a];
            m->sets[node->a] = id;
        }
        if (acts(node)) need(m, id);
        for (int i = 0; i < kni_ir_block_count(node->code); i++)
            if (node->u.blocks[i]) find_roots(m, node->u.blocks[i]);
    }
}

static void spread(marker *m)
{
    while (m->n_work) {
        kni_ir_node *node = kni_ir_at(m->ir, m->work[--m->n_work]);
        for (int i = 0; i < 3; i++) need(m, *kni_ir_operand(node, i));
        if (node->code == KNI_IR_CALL || node->code == KNI_IR_PACK)
            for (uint32_t i = 0; i < node->u.list.count; i++) need(m, m->ir->lists[node->u.list.first + i]);
        if (node->code == KNI_IR_GET)
            for (kni_ir_id set = m->sets[node->a]; set; set = m->next_set[set]) need(m, set);
    }
}

static void sweep(marker *m, uint32_t block, bool *changed)
{
    kni_ir_block kept = {0, 0};
    for (kni_ir_id id = m->ir->blocks[block].first, next; id; id = next) {
        kni_ir_node *node = kni_ir_at(m->ir, id);
        next = node->next;
        if (!m->live[id]) {
            *changed = true;
            continue;
        }
        for (int i = 0; i < kni_ir_block_count(node->code); i++)
            if (node->u.blocks[i]) sweep(m, node->u.blocks[i], changed);
        if (kept.last)
            kni_ir_at(m->ir, kept.last)->next = id;
        else
            kept.first = id;
        kept.last = id;
        node->next = 0;
    }
    m->ir->blocks[block] = kept;
}

bool kni_ir_remove_dead(kni_ir *ir, bool *changed)
{
    size_t n = ir->n_nodes, bytes = n * (3 * sizeof(kni_ir_id) + 1);
    kni_ir_id *memory = kni_allocate(bytes);
    if (!memory) return false;
    memset(memory, 0, bytes);
    marker m = {.ir = ir, .work = memory, .sets = memory + n, .next_set = memory + 2 * n};
    m.live = (uint8_t *)(memory + 3 * n);
    for (uint32_t i = 0; i <= ir->n_functions; i++)
        find_roots(&m, i < ir->n_functions ? ir->functions[i].body : ir->body);
    spread(&m);
    for (uint32_t i = 0; i <= ir->n_functions; i++)
        sweep(&m, i < ir->n_functions ? ir->functions[i].body : ir->body, changed);
    kni_free(memory, bytes);
    return true;
}
