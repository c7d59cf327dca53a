/* A workgroup on a host: its members run in a loop, one stretch between barriers after the other. What control flow
   surrounds a barrier is taken by the workgroup as a whole, by what its first member says; what lives longer than a
   stretch is an array over the members. */
#include "ir/emitter.h"
#include "ir/ir_internal.h"

/* ---- where the stretches end */

/* Whether a node of the code is in the block or in one inside it. */
static bool contains(const kni_ir_emitter *e, uint32_t block, int code)
{
    for (kni_ir_id id = e->ir->blocks[block].first; id; id = e->ir->nodes[id].next) {
        const kni_ir_node *node = &e->ir->nodes[id];
        if (node->code == code) return true;
        for (int i = 0; i < kni_ir_block_count(node->code); i++)
            if (node->u.blocks[i] && contains(e, node->u.blocks[i], code)) return true;
    }
    return false;
}

/* The same of one statement. */
static bool holds(const kni_ir_emitter *e, const kni_ir_node *node, int code)
{
    bool found = node->code == code;
    for (int i = 0; i < kni_ir_block_count(node->code) && !found; i++)
        found = node->u.blocks[i] && contains(e, node->u.blocks[i], code);
    return found;
}

/* Marks statements that the workgroup takes together: those around barriers, and what leaves them. later: a barrier
   may follow, so that a return is the whole group's. Answers whether the block has such a statement. */
static bool mark(kni_ir_emitter *e, uint32_t block, bool loop_splits, bool later)
{
    const kni_ir *ir = e->ir;
    kni_ir_id last = 0;
    for (kni_ir_id id = ir->blocks[block].first; id; id = ir->nodes[id].next)
        if (holds(e, &ir->nodes[id], KNI_IR_BARRIER)) last = id;
    bool any = false, follows = later || last;
    for (kni_ir_id id = ir->blocks[block].first; id; id = ir->nodes[id].next) {
        const kni_ir_node *node = &ir->nodes[id];
        if (id == last) follows = later;
        bool leaves =
            node->code == KNI_IR_BREAK || node->code == KNI_IR_CONTINUE || node->code == KNI_IR_TEST;
        bool splits = node->code == KNI_IR_BARRIER || (leaves && loop_splits) ||
                      (node->code == KNI_IR_RETURN && follows);
        bool loop = node->code == KNI_IR_FOR || node->code == KNI_IR_LOOP;
        bool barrier = loop && holds(e, node, KNI_IR_BARRIER);
        bool together = barrier || (loop && follows && holds(e, node, KNI_IR_RETURN));
        for (int i = 0; i < kni_ir_block_count(node->code); i++)
            if (node->u.blocks[i])
                splits |= mark(e, node->u.blocks[i], loop ? together : loop_splits, follows || barrier);
        e->facts[id].splits = splits;
        any |= splits;
    }
    return any;
}

static void give_region(kni_ir_emitter *e, kni_ir_id id, uint32_t region)
{
    const kni_ir_node *node = &e->ir->nodes[id];
    e->facts[id].region = region;
    for (int i = 0; i < kni_ir_block_count(node->code); i++)
        for (kni_ir_id inner = node->u.blocks[i] ? e->ir->blocks[node->u.blocks[i]].first : 0; inner;
             inner = e->ir->nodes[inner].next)
            give_region(e, inner, region);
}

static void number_regions(kni_ir_emitter *e, uint32_t block)
{
    uint32_t region = ++e->region;
    for (kni_ir_id id = e->ir->blocks[block].first; id; id = e->ir->nodes[id].next) {
        const kni_ir_node *node = &e->ir->nodes[id];
        if (!e->facts[id].splits) {
            give_region(e, id, region);
            continue;
        }
        for (int i = 0; i < kni_ir_block_count(node->code); i++)
            if (node->u.blocks[i]) number_regions(e, node->u.blocks[i]);
        region = ++e->region;
    }
}

void kni_ir_emit_find_splits(kni_ir_emitter *e)
{
    mark(e, e->ir->body, false, false);
    number_regions(e, e->ir->body);
}

/* ---- printing */

static bool prints(const kni_ir_emitter *e, kni_ir_id id)
{
    const kni_ir_emit_fact *f = &e->facts[id];
    return !kni_ir_emit_is_leaf(&e->ir->nodes[id]) && !f->inlined && !f->dead;
}

/* Prints the nodes from `first` up to one that splits, which it answers: first what the whole group shares and the
   arrays, then the loop over the members. */
static kni_ir_id stretch(kni_ir_emitter *e, kni_ir_id first)
{
    bool members = false;
    kni_ir_id end = first;
    for (; end && !e->facts[end].splits; end = e->ir->nodes[end].next) {
        const kni_ir_node *node = &e->ir->nodes[end];
        kni_ir_emit_fact *f = &e->facts[end];
        if (!prints(e, end)) continue;
        if (f->uniform) {
            e->group_level = true;
            kni_ir_emit_statement(e, end);
            e->group_level = false;
            continue;
        }
        members = true;
        if (!f->across) continue;
        kni_ir_emit_line(e);
        kni_ir_emit_type(e, node->type);
        f->number = node->code == KNI_IR_VARIABLE ? ++e->variables : ++e->values;
        kni_ir_text_add(e->text, node->code == KNI_IR_VARIABLE ? " v%u[%u];\n" : " t%u[%u];\n", f->number,
                        e->ir->workgroup);
    }
    if (!members) return end;
    bool in_loop = e->in_loop, left = e->item_left;
    uint32_t label = e->continue_label;
    kni_ir_emit_line(e);
    kni_ir_text_add(e->text, "for (int32_t member = 0; member < %u; member++) {\n", e->ir->workgroup);
    e->indent++;
    e->in_loop = e->item_left = false;
    e->continue_label = 0;
    for (kni_ir_id id = first; id != end; id = e->ir->nodes[id].next)
        if (!e->facts[id].uniform) kni_ir_emit_statement(e, id);
    e->indent--;
    if (e->item_left) kni_ir_text_add(e->text, "next_item:;\n");
    kni_ir_emit_line(e);
    kni_ir_emit_add(e, "}\n");
    e->in_loop = in_loop;
    e->item_left = left;
    e->continue_label = label;
    return end;
}

static void group_loop(kni_ir_emitter *e, const kni_ir_node *node)
{
    const kni_ir *ir = e->ir;
    uint32_t outer = e->continue_label, label = ++e->labels;
    kni_ir_emit_line(e);
    kni_ir_emit_add(e, "for (;;) {\n");
    e->indent++;
    kni_ir_emit_group_block(e, node->u.blocks[0]);
    kni_ir_emit_line(e);
    kni_ir_emit_add(e, "if (!");
    e->group_level = true;
    kni_ir_emit_value(e, ir->nodes[ir->blocks[node->u.blocks[0]].last].a, 0, KNI_LEVEL_PRIMARY);
    e->group_level = false;
    kni_ir_emit_add(e, ") break;\n");
    kni_ir_emit_line(e);
    kni_ir_emit_add(e, "{\n");
    e->indent++;
    e->continue_label = label;
    bool used = e->continue_used;
    e->continue_used = false;
    kni_ir_emit_group_block(e, node->u.blocks[1]);
    e->indent--;
    kni_ir_emit_line(e);
    kni_ir_emit_add(e, "}\n");
    if (e->continue_used) kni_ir_text_add(e->text, "next%u:;\n", label);
    e->continue_label = outer;
    e->continue_used = used;
    if (node->u.blocks[2]) kni_ir_emit_group_block(e, node->u.blocks[2]);
    e->indent--;
    kni_ir_emit_line(e);
    kni_ir_emit_add(e, "}\n");
}

static void group_statement(kni_ir_emitter *e, kni_ir_id id)
{
    const kni_ir_node *node = &e->ir->nodes[id];
    uint32_t outer = e->continue_label;
    switch (node->code) {
    case KNI_IR_IF:
        kni_ir_emit_line(e);
        kni_ir_emit_add(e, "if (");
        e->group_level = true;
        kni_ir_emit_value(e, node->a, 0, KNI_LEVEL_ANY);
        e->group_level = false;
        kni_ir_emit_add(e, ") {\n");
        e->indent++;
        if (node->u.blocks[0]) kni_ir_emit_group_block(e, node->u.blocks[0]);
        e->indent--;
        kni_ir_emit_line(e);
        if (node->u.blocks[1]) {
            kni_ir_emit_add(e, "} else {\n");
            e->indent++;
            kni_ir_emit_group_block(e, node->u.blocks[1]);
            e->indent--;
            kni_ir_emit_line(e);
        }
        kni_ir_emit_add(e, "}\n");
        break;
    case KNI_IR_FOR:
        e->group_level = true;
        kni_ir_emit_for_head(e, id);
        e->group_level = false;
        kni_ir_emit_add(e, " {\n");
        e->indent++;
        e->continue_label = 0;
        kni_ir_emit_group_block(e, node->u.blocks[0]);
        e->continue_label = outer;
        e->indent--;
        kni_ir_emit_line(e);
        kni_ir_emit_add(e, "}\n");
        break;
    case KNI_IR_LOOP:
        group_loop(e, node);
        break;
    case KNI_IR_BARRIER:
    case KNI_IR_TEST:
        break;
    default:
        if (node->code == KNI_IR_CONTINUE && e->continue_label) e->continue_used = true;
        e->group_level = true;
        kni_ir_emit_statement(e, id);
        e->group_level = false;
    }
}

void kni_ir_emit_group_block(kni_ir_emitter *e, uint32_t block)
{
    for (kni_ir_id id = e->ir->blocks[block].first; id;) {
        if (!e->facts[id].splits) {
            id = stretch(e, id);
            continue;
        }
        group_statement(e, id);
        id = e->ir->nodes[id].next;
    }
}
