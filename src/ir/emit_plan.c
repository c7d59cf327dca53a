/* Decides how each node is written before anything is printed: inside the expression that uses it, or under a name of
   its own. A value moves into its only user when both stand in one block and nothing between them changes what it
   reads. */
#include "core/allocator.h"
#include "core/error.h"
#include "ir/emitter.h"
#include "ir/ir_internal.h"
#include <string.h>

enum { LONGEST = 12, LONGEST_VECTOR = 6 };

bool kni_ir_emit_is_leaf(const kni_ir_node *node)
{
    return node->code == KNI_IR_CONSTANT || node->code == KNI_IR_PARAM || node->code == KNI_IR_BUILTIN ||
           node->code == KNI_IR_ARGUMENT;
}

bool kni_ir_emit_is_wide(const kni_ir_emitter *e, const kni_ir_node *node)
{
    int lanes = node->code == KNI_IR_STORE ? e->ir->nodes[node->b].type.lanes : node->type.lanes;
    const kni_ir_binding *k = &e->ir->bindings[node->index];
    return lanes > 1 && e->dialect->wide_memory && k->space != KNI_IR_PRIVATE && k->aligned % lanes == 0;
}

/* The text of these needs the operand under a name, since it says it more than once. */
static bool repeats(const kni_ir_emitter *e, const kni_ir_node *node, int slot, kni_ir_id operand)
{
    int lanes = e->ir->nodes[operand].type.lanes;
    switch (node->code) {
    case KNI_IR_FOR:
        return slot > 0;
    case KNI_IR_VECTOR:
        return true;
    case KNI_IR_LOAD:
        return node->type.lanes > 1 && slot == 0;
    case KNI_IR_STORE:
        return slot == 0 && e->ir->nodes[node->b].type.lanes > 1;
    case KNI_IR_CALL:
        return lanes > 1;
    case KNI_IR_TILE_LOAD:
    case KNI_IR_TILE_STORE:
    case KNI_IR_TILE_FILL:
        return slot > 0;
    default:
        return false;
    }
}

bool kni_ir_emit_operand(const kni_ir_emitter *e, kni_ir_id id, uint32_t at, kni_ir_id *operand,
                         uint32_t *weight)
{
    const kni_ir_node *node = &e->ir->nodes[id];
    if (node->code == KNI_IR_CALL || node->code == KNI_IR_PACK) {
        if (at >= node->u.list.count) return false;
        *operand = e->ir->lists[node->u.list.first + at];
    } else {
        if (at > 2) return false;
        *operand = at == 0 ? node->a : at == 1 ? node->b : node->c;
    }
    if (*operand) *weight = repeats(e, node, (int)at, *operand) ? 2 : 1;
    return true;
}

/* Atomics and counted loops have a value and are statements all the same. */
static bool is_statement(const kni_ir_node *node)
{
    return (kni_ir_codes[node->code].flags & KNI_IR_ACTS) || node->code == KNI_IR_ATOMIC ||
           node->code == KNI_IR_FOR;
}

/* Always under a name of its own. */
static bool is_named(const kni_ir_node *node)
{
    return node->code == KNI_IR_VARIABLE || node->code == KNI_IR_TILE || node->code == KNI_IR_SHUFFLE ||
           node->code == KNI_IR_SUBGROUP || node->code == KNI_IR_WORKGROUP || node->code == KNI_IR_SCAN ||
           (node->type.lanes > 1 && (node->code == KNI_IR_LOAD || node->code == KNI_IR_CALL)) ||
           is_statement(node);
}

static bool reads_state(const kni_ir_node *node)
{
    return node->code == KNI_IR_LOAD || node->code == KNI_IR_GET;
}

/* ---- what is read besides nodes */

static void note_launch(kni_ir_emitter *e, const kni_ir_node *node)
{
    switch (node->code) {
    case KNI_IR_LOAD:
    case KNI_IR_STORE:
        e->array_owner[node->index] = 1 + e->function;
        break;
    case KNI_IR_BUILTIN:
        e->builtins[node->index] |= (uint8_t)(1 << node->detail);
        if (node->index == KNI_IR_GROUPS || (node->index == KNI_IR_GROUP && node->detail))
            e->wants_groups = true;
        break;
    default:
        break;
    }
}

/* ---- the walk */

static void reach(kni_ir_emitter *e, uint32_t block)
{
    uint32_t effects = 0;
    for (kni_ir_id id = e->ir->blocks[block].first; id; id = e->ir->nodes[id].next) {
        const kni_ir_node *node = &e->ir->nodes[id];
        kni_ir_emit_fact *f = &e->facts[id];
        f->block = block;
        f->effects = effects;
        if (!e->grouped || e->function) f->region = 1;
        e->order[e->n_order++] = id;
        kni_ir_id operand = 0;
        uint32_t weight = 0;
        for (uint32_t i = 0; kni_ir_emit_operand(e, id, i, &operand, &weight); i++)
            if (operand) e->facts[operand].uses += weight;
        note_launch(e, node);
        for (int i = 0; i < kni_ir_block_count(node->code); i++)
            if (node->u.blocks[i]) reach(e, node->u.blocks[i]);
        if (is_statement(node)) effects++;
    }
}

/* A value that every member of a workgroup would find the same, out of what the launch gives alone. */
static bool is_uniform(const kni_ir_emitter *e, kni_ir_id id)
{
    const kni_ir_node *node = &e->ir->nodes[id];
    switch (node->code) {
    case KNI_IR_CONSTANT:
    case KNI_IR_PARAM:
        return true;
    case KNI_IR_BUILTIN:
        return node->index != KNI_IR_LOCAL && node->index != KNI_IR_LANE_ID && node->index != KNI_IR_ITEM;
    case KNI_IR_FOR:
        return e->facts[id].splits;
    case KNI_IR_ELEMENT:
    case KNI_IR_WORD:
    case KNI_IR_FMA:
    case KNI_IR_AND:
    case KNI_IR_OR:
    case KNI_IR_NOT:
    case KNI_IR_SELECT:
    case KNI_IR_CAST:
    case KNI_IR_BITCAST:
    case KNI_IR_VECTOR:
    case KNI_IR_LANE:
    case KNI_IR_PACK:
        break;
    default:
        return false;
    }
    kni_ir_id operand = 0;
    uint32_t weight = 0;
    for (uint32_t i = 0; kni_ir_emit_operand(e, id, i, &operand, &weight); i++)
        if (operand && !e->facts[operand].uniform) return false;
    return true;
}

/* Integers that depend on memory. Variables take it from what they are set to, so this runs until nothing changes. */
static void find_data(kni_ir_emitter *e)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < e->n_order; i++) {
            kni_ir_id id = e->order[i], operand = 0;
            const kni_ir_node *node = &e->ir->nodes[id];
            uint32_t weight = 0;
            bool data = node->code == KNI_IR_LOAD || node->code == KNI_IR_ATOMIC ||
                        node->code == KNI_IR_ARGUMENT || node->code == KNI_IR_CALL ||
                        node->code == KNI_IR_PHILOX || node->code == KNI_IR_BITCAST;
            if (node->code != KNI_IR_FOR)
                for (uint32_t k = 0; !data && kni_ir_emit_operand(e, id, k, &operand, &weight); k++)
                    data = operand && e->facts[operand].data;
            kni_ir_id target = node->code == KNI_IR_SET ? node->a : id;
            if (data && !e->facts[target].data) e->facts[target].data = changed = true;
        }
    }
}

/* Whether a value could be printed where `root` stands, by place and by what happens between. */
static bool can_move(const kni_ir_emitter *e, kni_ir_id id, kni_ir_id user, kni_ir_id root)
{
    const kni_ir_emit_fact *f = &e->facts[id], *u = &e->facts[user], *r = &e->facts[root];
    const kni_ir_node *node = &e->ir->nodes[id];
    if (f->block != u->block) return false;
    if (f->uniform) return true;
    if (f->region != r->region || !r->region) return false;
    return !reads_state(node) || f->effects == r->effects;
}

static void decide(kni_ir_emitter *e)
{
    kni_ir_id operand = 0;
    uint32_t weight = 0;
    for (uint32_t i = e->n_order; i-- > 0;) {
        kni_ir_id id = e->order[i];
        const kni_ir_node *node = &e->ir->nodes[id];
        kni_ir_emit_fact *f = &e->facts[id];
        if (kni_ir_emit_is_leaf(node)) continue;
        if (is_named(node)) {
            f->dead = !f->uses && !is_statement(node);
        } else {
            f->dead = !f->uses;
            bool spread = node->code == KNI_IR_VECTOR && !e->grouped;
            f->inlined = !f->dead && (spread || (!f->blocked && (f->uses == 1 || node->code == KNI_IR_GET)));
        }
        if (!f->inlined) f->root = id;
        for (uint32_t k = 0; kni_ir_emit_operand(e, id, k, &operand, &weight); k++) {
            if (!operand) continue;
            kni_ir_emit_fact *o = &e->facts[operand];
            if (f->dead) {
                o->uses -= weight;
            } else {
                o->root = f->root;
                if (node->code == KNI_IR_VECTOR || !can_move(e, operand, id, f->root)) o->blocked = true;
            }
        }
    }
    for (uint32_t i = 0; i < e->n_order; i++) {
        kni_ir_id id = e->order[i];
        kni_ir_emit_fact *f = &e->facts[id];
        const kni_ir_node *node = &e->ir->nodes[id];
        uint32_t size = 1;
        for (uint32_t k = 0; kni_ir_emit_operand(e, id, k, &operand, &weight); k++)
            if (operand && e->facts[operand].inlined) size += e->facts[operand].size;
        f->size = (uint16_t)size;
        if (f->inlined && size > (node->type.lanes > 1 ? LONGEST_VECTOR : LONGEST)) f->inlined = false;
    }
}

/* What is written in one stretch between barriers and read in another is kept for each member of the workgroup. */
static void find_across(kni_ir_emitter *e)
{
    for (uint32_t i = 0; i < e->n_order; i++) {
        kni_ir_id id = e->order[i], operand = 0;
        const kni_ir_node *node = &e->ir->nodes[id];
        const kni_ir_emit_fact *f = &e->facts[id];
        uint32_t weight = 0;
        if (f->dead) continue;
        for (uint32_t k = 0; kni_ir_emit_operand(e, id, k, &operand, &weight); k++) {
            if (!operand || kni_ir_emit_is_leaf(&e->ir->nodes[operand])) continue;
            kni_ir_emit_fact *o = &e->facts[operand];
            if (o->inlined || o->uniform || o->splits) continue;
            if (o->region != f->region) o->across = true;
        }
        if (node->code != KNI_IR_LOAD && node->code != KNI_IR_STORE) continue;
        if (e->ir->bindings[node->index].space != KNI_IR_PRIVATE) continue;
        uint32_t *region = &e->array_region[node->index];
        if (*region && *region != f->region) e->array_across[node->index] = 1;
        *region = f->region;
    }
}

static kn_status no_memory(void) { return kni_fail(KN_ERROR_MEMORY, "no memory for a kernel's text"); }

kn_status kni_ir_emit_plan(kni_ir_emitter *e)
{
    const kni_ir *ir = e->ir;
    e->facts = kni_allocate((size_t)ir->n_nodes * sizeof *e->facts);
    e->order = kni_allocate((size_t)ir->n_nodes * sizeof *e->order);
    if (!e->facts || !e->order) return no_memory();
    memset(e->facts, 0, (size_t)ir->n_nodes * sizeof *e->facts);
    for (uint32_t i = 0; i < ir->n_functions; i++) {
        e->function = i + 1;
        reach(e, ir->functions[i].body);
    }
    e->function = 0;
    if (e->grouped) kni_ir_emit_find_splits(e);
    uint32_t first = e->n_order;
    reach(e, ir->body);
    find_data(e);
    for (uint32_t i = first; e->grouped && i < e->n_order; i++) {
        kni_ir_emit_fact *f = &e->facts[e->order[i]];
        f->uniform = is_uniform(e, e->order[i]);
    }
    decide(e);
    if (e->grouped) find_across(e);
    return KN_OK;
}
