/* The verifier: that all invocations of a workgroup come to each barrier. A value is the same in the whole workgroup,
   in each subgroup, or differs; control that depends on it is so too. Variables and loops are found by going over the
   kernel until nothing changes. */
#include "core/allocator.h"
#include "core/error.h"
#include "ir/verify_internal.h"
#include "ops/body.h"
#include <string.h>

enum { WORKGROUP, SUBGROUP, DIFFERS };
enum { MAX_ROUNDS = 64 };

typedef struct flow {
    const kni_ir *ir;
    uint8_t *level;   /* of values, variables and loops (how far their turns are the same) */
    uint8_t returned; /* how uniform those are who go on where some returned */
    bool changed, final;
    kn_status status;
} flow;

static uint8_t flow_block(flow *f, uint32_t block, uint8_t control, kni_ir_id loop);

static uint8_t larger(uint8_t a, uint8_t b) { return a > b ? a : b; }

static void raise_level(flow *f, kni_ir_id id, uint8_t level)
{
    if (f->level[id] >= level) return;
    f->level[id] = level;
    f->changed = true;
}

static bool is_builtin(const kni_ir *ir, kni_ir_id id, uint32_t builtin)
{
    const kni_ir_node *node = kni_ir_at(ir, id);
    return node->code == KNI_IR_BUILTIN && node->index == builtin;
}

/* LOCAL / LANES is the subgroup's number. */
static bool is_subgroup_number(const kni_ir *ir, const kni_ir_node *node)
{
    if (node->code != KNI_IR_WORD || !node->b) return false;
    const char *word = kni_word_at((int)node->index)->name;
    return (!strcmp(word, "div") || !strcmp(word, "floordiv")) && is_builtin(ir, node->a, KNI_IR_LOCAL) &&
           is_builtin(ir, node->b, KNI_IR_LANES);
}

static uint8_t operands_level(const flow *f, kni_ir_node *node)
{
    uint8_t level = WORKGROUP;
    for (int i = 0; i < 3; i++) {
        kni_ir_id id = *kni_ir_operand(node, i);
        if (id) level = larger(level, f->level[id]);
    }
    if (node->code == KNI_IR_CALL || node->code == KNI_IR_PACK)
        for (uint32_t i = 0; i < node->u.list.count; i++)
            level = larger(level, f->level[f->ir->lists[node->u.list.first + i]]);
    return level;
}

static uint8_t value_level(const flow *f, kni_ir_node *node)
{
    uint8_t level = operands_level(f, node);
    switch (node->code) {
    case KNI_IR_BUILTIN: {
        bool all = node->index == KNI_IR_GROUP || node->index == KNI_IR_GROUPS ||
                   node->index == KNI_IR_LOCALS || node->index == KNI_IR_LANES;
        return all ? WORKGROUP : DIFFERS;
    }
    case KNI_IR_LOAD: {
        const kni_ir_binding *b = &f->ir->bindings[node->index];
        return b->access == KNI_IR_READ ? level : DIFFERS;
    }
    case KNI_IR_ATOMIC:
    case KNI_IR_SHUFFLE:
    case KNI_IR_SCAN:
        return DIFFERS;
    case KNI_IR_SUBGROUP:
        return level < SUBGROUP ? level : SUBGROUP;
    case KNI_IR_WORKGROUP:
        return WORKGROUP;
    case KNI_IR_WORD:
        return is_subgroup_number(f->ir, node) ? SUBGROUP : level;
    default:
        return level;
    }
}

static void need(flow *f, const kni_ir_node *node, uint8_t control)
{
    uint8_t most = DIFFERS;
    switch (node->code) {
    case KNI_IR_BARRIER:
    case KNI_IR_WORKGROUP:
    case KNI_IR_SCAN:
        most = WORKGROUP;
        break;
    case KNI_IR_SUBGROUP:
    case KNI_IR_SHUFFLE:
    case KNI_IR_TILE_FILL:
    case KNI_IR_TILE_LOAD:
    case KNI_IR_TILE_STORE:
    case KNI_IR_TILE_MULTIPLY:
        most = SUBGROUP;
        break;
    default:
        break;
    }
    if (f->final && f->status == KN_OK && control > most)
        f->status =
            kni_ir_refuse(f->ir, node, "not all invocations of a %s come to this %s",
                          most == WORKGROUP ? "workgroup" : "subgroup", kni_ir_codes[node->code].name);
}

/* Loops: their turns are as uniform as their bounds, their test and what leaves them. */
static void flow_loop(flow *f, kni_ir_id id, uint8_t control)
{
    kni_ir_node *node = kni_ir_at(f->ir, id);
    uint8_t returned = f->returned;
    if (node->code == KNI_IR_FOR) raise_level(f, id, operands_level(f, node));
    for (int i = 0; i < kni_ir_block_count(node->code); i++)
        if (node->u.blocks[i]) flow_block(f, node->u.blocks[i], larger(control, f->level[id]), id);
    if (f->returned > returned) raise_level(f, id, f->returned);
}

/* Answers how uniform those are who go on after the node, where some of those who came to it do not. */
static uint8_t flow_node(flow *f, kni_ir_id id, uint8_t control, kni_ir_id loop)
{
    kni_ir_node *node = kni_ir_at(f->ir, id);
    need(f, node, control);
    switch (node->code) {
    case KNI_IR_VARIABLE:
        if (node->a) raise_level(f, id, f->level[node->a]);
        break;
    case KNI_IR_SET:
        raise_level(f, node->a, larger(f->level[node->b], control));
        break;
    case KNI_IR_IF: {
        uint8_t inner = larger(control, f->level[node->a]), after = WORKGROUP;
        for (int i = 0; i < 2; i++)
            if (node->u.blocks[i]) after = larger(after, flow_block(f, node->u.blocks[i], inner, loop));
        return after;
    }
    case KNI_IR_FOR:
    case KNI_IR_LOOP:
        flow_loop(f, id, control);
        break;
    case KNI_IR_TEST:
        raise_level(f, loop, larger(f->level[node->a], control));
        break;
    case KNI_IR_BREAK:
    case KNI_IR_CONTINUE:
        raise_level(f, loop, control);
        return control;
    case KNI_IR_RETURN:
        f->returned = larger(f->returned, control);
        break;
    default:
        if (kni_ir_has_value(node)) raise_level(f, id, value_level(f, node));
        break;
    }
    return WORKGROUP;
}

/* Answers how uniform those are who come to its end, where some left the loop or turn before. */
static uint8_t flow_block(flow *f, uint32_t block, uint8_t control, kni_ir_id loop)
{
    uint8_t left = WORKGROUP;
    for (kni_ir_id id = f->ir->blocks[block].first; id && f->status == KN_OK; id = kni_ir_at(f->ir, id)->next)
        left = larger(left, flow_node(f, id, larger(larger(control, left), f->returned), loop));
    return left;
}

kn_status kni_ir_check_uniform(const kni_ir *ir)
{
    flow f = {.ir = ir, .level = kni_allocate(ir->n_nodes), .changed = true};
    if (!f.level) return kni_fail(KN_ERROR_MEMORY, "no memory to verify a kernel");
    memset(f.level, 0, ir->n_nodes);
    int rounds = 0;
    for (; f.changed && rounds < MAX_ROUNDS; rounds++) {
        f.changed = false;
        f.returned = WORKGROUP;
        flow_block(&f, ir->body, WORKGROUP, 0);
    }
    /* What does not settle soon is taken to differ everywhere. */
    if (f.changed) memset(f.level, DIFFERS, ir->n_nodes);
    f.final = true;
    f.returned = WORKGROUP;
    flow_block(&f, ir->body, f.changed ? DIFFERS : WORKGROUP, 0);
    kni_free(f.level, ir->n_nodes);
    return f.status;
}
