/* Statements and blocks: what has a name is declared, control flow is C's own. */
#include "ir/emitter.h"
#include "ir/ir_internal.h"

void kni_ir_emit_line(kni_ir_emitter *e)
{
    for (int i = 0; i < e->indent; i++) kni_ir_emit_add(e, "    ");
}

/* ---- declarations */

static void lanes_of(kni_ir_emitter *e, kni_ir_id id)
{
    const kni_ir_node *node = &e->ir->nodes[id];
    bool native = e->dialect->native_vectors;
    if (node->type.lanes == 1 || node->code == KNI_IR_CALL) {
        kni_ir_emit_definition(e, id, 0);
        return;
    }
    kni_ir_emit_add(e, native ? "(" : "KNI_MAKE(");
    kni_ir_emit_type(e, node->type);
    kni_ir_emit_add(e, native ? ")(" : "){");
    for (int i = 0; i < node->type.lanes; i++) {
        if (i) kni_ir_emit_add(e, ", ");
        kni_ir_emit_definition(e, id, i);
    }
    kni_ir_emit_add(e, native ? ")" : "}");
}

static void declare_value(kni_ir_emitter *e, kni_ir_id id)
{
    const kni_ir_node *node = &e->ir->nodes[id];
    if (node->code == KNI_IR_GET) {
        kni_ir_emit_line(e);
        if (!e->facts[id].across) {
            kni_ir_emit_add(e, "const ");
            kni_ir_emit_type(e, node->type);
            kni_ir_emit_add(e, " ");
        }
        kni_ir_emit_name(e, id);
        kni_ir_emit_add(e, " = ");
        kni_ir_emit_name(e, node->a);
        kni_ir_emit_add(e, ";\n");
        return;
    }
    kni_ir_emit_line(e);
    if (!e->facts[id].across) {
        kni_ir_emit_add(e, "const ");
        kni_ir_emit_type(e, node->type);
        kni_ir_emit_add(e, " ");
    }
    kni_ir_emit_name(e, id);
    kni_ir_emit_add(e, " = ");
    lanes_of(e, id);
    kni_ir_emit_add(e, ";\n");
}

static void declare_variable(kni_ir_emitter *e, kni_ir_id id)
{
    const kni_ir_node *node = &e->ir->nodes[id];
    bool across = e->facts[id].across;
    if (across && !node->a) return;
    kni_ir_emit_line(e);
    if (!across) {
        kni_ir_emit_type(e, node->type);
        kni_ir_emit_add(e, " ");
    }
    kni_ir_emit_name(e, id);
    if (node->a) {
        kni_ir_emit_add(e, " = ");
        kni_ir_emit_whole(e, node->a);
    }
    kni_ir_emit_add(e, ";\n");
}

static void assign(kni_ir_emitter *e, const kni_ir_node *node)
{
    kni_ir_emit_name(e, node->a);
    kni_ir_emit_add(e, " = ");
    kni_ir_emit_whole(e, node->b);
}

/* ---- loops */

static bool contains_continue(const kni_ir_emitter *e, uint32_t block)
{
    for (kni_ir_id id = e->ir->blocks[block].first; id; id = e->ir->nodes[id].next) {
        const kni_ir_node *node = &e->ir->nodes[id];
        if (node->code == KNI_IR_CONTINUE) return true;
        if (node->code != KNI_IR_IF) continue;
        for (int i = 0; i < 2; i++)
            if (node->u.blocks[i] && contains_continue(e, node->u.blocks[i])) return true;
    }
    return false;
}

/* Nothing in the block needs a statement of its own besides `code`. */
static bool is_plain(const kni_ir_emitter *e, uint32_t block, int code)
{
    for (kni_ir_id id = e->ir->blocks[block].first; id; id = e->ir->nodes[id].next) {
        const kni_ir_node *node = &e->ir->nodes[id];
        const kni_ir_emit_fact *f = &e->facts[id];
        if (kni_ir_emit_is_leaf(node) || f->inlined || f->dead) continue;
        if (node->code != code || (code == KNI_IR_SET && e->ir->nodes[node->b].type.lanes > 1)) return false;
    }
    return true;
}

static void open_braces(kni_ir_emitter *e)
{
    kni_ir_emit_add(e, " {\n");
    e->indent++;
}

static void close_braces(kni_ir_emitter *e)
{
    e->indent--;
    kni_ir_emit_line(e);
    kni_ir_emit_add(e, "}\n");
}

static void loop_body(kni_ir_emitter *e, uint32_t block, uint32_t label)
{
    uint32_t outer = e->continue_label;
    bool in_loop = e->in_loop;
    e->continue_label = label;
    e->in_loop = true;
    if (block) kni_ir_emit_block(e, block);
    e->continue_label = outer;
    e->in_loop = in_loop;
}

static void plain_loop(kni_ir_emitter *e, const kni_ir_node *node)
{
    const kni_ir *ir = e->ir;
    uint32_t step = node->u.blocks[2];
    kni_ir_id test = ir->nodes[ir->blocks[node->u.blocks[0]].last].a;
    kni_ir_emit_line(e);
    kni_ir_emit_add(e, step ? "for (; " : "while (");
    kni_ir_emit_value(e, test, 0, KNI_LEVEL_ANY);
    if (step) {
        const char *between = "; ";
        for (kni_ir_id id = ir->blocks[step].first; id; id = ir->nodes[id].next)
            if (ir->nodes[id].code == KNI_IR_SET) {
                kni_ir_emit_add(e, between);
                assign(e, &ir->nodes[id]);
                between = ", ";
            }
    }
    kni_ir_emit_add(e, ")");
    open_braces(e);
    loop_body(e, node->u.blocks[1], 0);
    close_braces(e);
}

/* A loop's condition as statements. */
static void leave_unless(kni_ir_emitter *e, const kni_ir_node *node)
{
    uint32_t condition = node->u.blocks[0];
    kni_ir_emit_block(e, condition);
    kni_ir_emit_line(e);
    kni_ir_emit_add(e, "if (!");
    kni_ir_emit_value(e, e->ir->nodes[e->ir->blocks[condition].last].a, 0, KNI_LEVEL_PRIMARY);
    kni_ir_emit_add(e, ") break;\n");
}

/* Condition and step as statements without a jump: the step comes before the condition of the next turn, so that `continue` finds it. */
static void turning_loop(kni_ir_emitter *e, const kni_ir_node *node)
{
    uint32_t number = ++e->labels;
    kni_ir_emit_line(e);
    kni_ir_text_add(e->text, "for (int first%u = 1;; first%u = 0)", number, number);
    open_braces(e);
    kni_ir_emit_line(e);
    kni_ir_text_add(e->text, "if (!first%u)", number);
    open_braces(e);
    kni_ir_emit_block(e, node->u.blocks[2]);
    close_braces(e);
    leave_unless(e, node);
    loop_body(e, node->u.blocks[1], 0);
    close_braces(e);
}

/* Condition and step as statements. The body has a block of its own, so that a label may follow it. */
static void long_loop(kni_ir_emitter *e, const kni_ir_node *node)
{
    uint32_t step = node->u.blocks[2];
    bool jumps = step && contains_continue(e, node->u.blocks[1]);
    if (jumps && e->dialect->no_goto) {
        turning_loop(e, node);
        return;
    }
    uint32_t label = jumps ? ++e->labels : 0;
    kni_ir_emit_line(e);
    kni_ir_emit_add(e, "for (;;)");
    open_braces(e);
    leave_unless(e, node);
    if (jumps) {
        kni_ir_emit_line(e);
        kni_ir_emit_add(e, "{\n");
        e->indent++;
    }
    loop_body(e, node->u.blocks[1], label);
    if (jumps) {
        close_braces(e);
        kni_ir_text_add(e->text, "next%u:;\n", label);
    }
    if (step) kni_ir_emit_block(e, step);
    close_braces(e);
}

void kni_ir_emit_for_head(kni_ir_emitter *e, kni_ir_id id)
{
    const kni_ir_node *node = &e->ir->nodes[id], *step = &e->ir->nodes[node->c];
    if (node->detail && e->dialect->apart) kni_ir_emit_add(e, e->dialect->apart);
    kni_ir_emit_line(e);
    kni_ir_text_add(e->text, "for (%s ", kni_dialect_value_type(node->type.dtype));
    kni_ir_emit_name(e, id);
    kni_ir_emit_add(e, " = ");
    kni_ir_emit_value(e, node->a, 0, KNI_LEVEL_ANY);
    kni_ir_emit_add(e, "; ");
    kni_ir_emit_name(e, id);
    kni_ir_emit_add(e, " < ");
    kni_ir_emit_value(e, node->b, 0, KNI_LEVEL_LESS + 1);
    kni_ir_emit_add(e, "; ");
    kni_ir_emit_name(e, id);
    if (step->code == KNI_IR_CONSTANT && step->u.whole == 1) {
        kni_ir_emit_add(e, "++");
    } else {
        kni_ir_emit_add(e, " += ");
        kni_ir_emit_value(e, node->c, 0, KNI_LEVEL_ANY);
    }
    kni_ir_emit_add(e, ")");
}

/* ---- statements */

static bool is_empty(const kni_ir_emitter *e, uint32_t block)
{
    return !block || is_plain(e, block, KNI_IR_NONE);
}

static void branch(kni_ir_emitter *e, const kni_ir_node *node)
{
    bool only_else = is_empty(e, node->u.blocks[0]) && !is_empty(e, node->u.blocks[1]);
    kni_ir_emit_line(e);
    kni_ir_emit_add(e, only_else ? "if (!" : "if (");
    kni_ir_emit_value(e, node->a, 0, only_else ? KNI_LEVEL_PRIMARY : KNI_LEVEL_ANY);
    kni_ir_emit_add(e, ")");
    open_braces(e);
    kni_ir_emit_block(e, node->u.blocks[only_else ? 1 : 0]);
    if (!only_else && !is_empty(e, node->u.blocks[1])) {
        e->indent--;
        kni_ir_emit_line(e);
        kni_ir_emit_add(e, "} else");
        open_braces(e);
        kni_ir_emit_block(e, node->u.blocks[1]);
    }
    close_braces(e);
}

/* Leaves a loop or its turn, a function, an item of a serial kernel, or the kernel. */
static void leave(kni_ir_emitter *e, const kni_ir_node *node)
{
    kni_ir_emit_line(e);
    if (node->code == KNI_IR_BREAK) {
        kni_ir_emit_add(e, "break;\n");
    } else if (node->code == KNI_IR_CONTINUE && e->continue_label) {
        kni_ir_text_add(e->text, "goto next%u;\n", e->continue_label);
    } else if (node->code == KNI_IR_CONTINUE) {
        kni_ir_emit_add(e, "continue;\n");
    } else if (e->function) {
        kni_ir_emit_add(e, "return ");
        kni_ir_emit_whole(e, node->a);
        kni_ir_emit_add(e, ";\n");
    } else if (!e->dialect->serial) {
        kni_ir_emit_add(e, "return;\n");
    } else if (e->in_loop || e->group_level) {
        kni_ir_text_add(e->text, "goto %s;\n", e->group_level ? "next_group" : "next_item");
        *(e->group_level ? &e->group_left : &e->item_left) = true;
    } else {
        kni_ir_emit_add(e, "continue;\n");
    }
}

void kni_ir_emit_statement(kni_ir_emitter *e, kni_ir_id id)
{
    const kni_ir_node *node = &e->ir->nodes[id];
    const kni_ir_emit_fact *f = &e->facts[id];
    if (kni_ir_emit_is_leaf(node) || f->inlined || f->dead) return;
    switch (node->code) {
    case KNI_IR_VARIABLE:
        declare_variable(e, id);
        break;
    case KNI_IR_SET:
        kni_ir_emit_line(e);
        assign(e, node);
        kni_ir_emit_add(e, ";\n");
        break;
    case KNI_IR_STORE:
        kni_ir_emit_store(e, id);
        break;
    case KNI_IR_ATOMIC:
        if (f->uses) {
            declare_value(e, id);
        } else {
            kni_ir_emit_line(e);
            kni_ir_emit_atomic(e, node);
            kni_ir_emit_add(e, ";\n");
        }
        break;
    case KNI_IR_LOAD:
        if (node->type.lanes > 1)
            kni_ir_emit_load(e, id);
        else
            declare_value(e, id);
        break;
    case KNI_IR_IF:
        branch(e, node);
        break;
    case KNI_IR_FOR:
        kni_ir_emit_for_head(e, id);
        open_braces(e);
        loop_body(e, node->u.blocks[0], 0);
        close_braces(e);
        break;
    case KNI_IR_LOOP:
        if (is_plain(e, node->u.blocks[0], KNI_IR_TEST) &&
            (!node->u.blocks[2] || is_plain(e, node->u.blocks[2], KNI_IR_SET)))
            plain_loop(e, node);
        else
            long_loop(e, node);
        break;
    case KNI_IR_TEST:
        break;
    case KNI_IR_BREAK:
    case KNI_IR_CONTINUE:
    case KNI_IR_RETURN:
        leave(e, node);
        break;
    case KNI_IR_REPORT:
        kni_ir_emit_line(e);
        kni_ir_emit_add(e, "kni_report(fault, ");
        kni_ir_emit_value(e, node->a, 0, KNI_LEVEL_ANY);
        kni_ir_emit_add(e, ");\n");
        break;
    case KNI_IR_BARRIER:
        if (!e->dialect->serial)
            kni_ir_emit_line(e), kni_ir_emit_add(e, e->dialect->barrier), kni_ir_emit_add(e, "\n");
        break;
    case KNI_IR_TILE:
    case KNI_IR_TILE_FILL:
    case KNI_IR_TILE_LOAD:
    case KNI_IR_TILE_STORE:
    case KNI_IR_TILE_MULTIPLY:
        kni_ir_emit_tile(e, id);
        break;
    default:
        declare_value(e, id);
    }
}

void kni_ir_emit_block(kni_ir_emitter *e, uint32_t block)
{
    for (kni_ir_id id = e->ir->blocks[block].first; id; id = e->ir->nodes[id].next)
        kni_ir_emit_statement(e, id);
}
