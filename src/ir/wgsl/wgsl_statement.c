/* Statements and blocks of WGSL. */
#include "ir/wgsl/wgsl.h"

void kni_wgsl_line(kni_ir_emitter *e)
{
    for (int i = 0; i < e->indent; i++) kni_ir_emit_add(e, "    ");
}

/* The first who asks gives the name. */
void kni_wgsl_name(kni_ir_emitter *e, kni_ir_id id)
{
    const kni_ir_node *node = kni_ir_at(e->ir, id);
    kni_ir_emit_fact *f = &e->facts[id];
    bool variable = node->code == KNI_IR_VARIABLE, counter = node->code == KNI_IR_FOR;
    if (!f->number) f->number = ++*(variable ? &e->variables : counter ? &e->counters : &e->values);
    kni_ir_text_add(e->text, "%c%u", variable ? 'v' : counter ? 'i' : 't', f->number);
}

static void close_block(kni_ir_emitter *e)
{
    e->indent--;
    kni_wgsl_line(e);
    kni_ir_emit_add(e, "}");
}

static bool print_if(kni_ir_emitter *e, const kni_ir_node *node)
{
    kni_wgsl_line(e);
    kni_ir_emit_add(e, "if (");
    kni_wgsl_inside(e, node->a);
    kni_ir_emit_add(e, ") {\n");
    e->indent++;
    bool goes_on = kni_wgsl_block(e, node->u.blocks[0]);
    close_block(e);
    if (!node->u.blocks[1]) {
        kni_ir_emit_add(e, "\n");
        return true;
    }
    kni_ir_emit_add(e, " else {\n");
    e->indent++;
    goes_on = kni_wgsl_block(e, node->u.blocks[1]) || goes_on;
    close_block(e);
    kni_ir_emit_add(e, "\n");
    return goes_on;
}

static void print_for(kni_ir_emitter *e, kni_ir_id id)
{
    const kni_ir_node *node = kni_ir_at(e->ir, id);
    kni_wgsl_line(e);
    kni_ir_emit_add(e, "for (var ");
    kni_wgsl_name(e, id);
    kni_ir_emit_add(e, " = ");
    kni_wgsl_inside(e, node->a);
    kni_ir_emit_add(e, "; ");
    kni_wgsl_name(e, id);
    kni_ir_emit_add(e, " < ");
    kni_wgsl_value(e, node->b);
    kni_ir_emit_add(e, "; ");
    kni_wgsl_name(e, id);
    kni_ir_emit_add(e, " += ");
    kni_wgsl_inside(e, node->c);
    kni_ir_emit_add(e, ") {\n");
    e->indent++;
    (void)kni_wgsl_block(e, node->u.blocks[0]);
    close_block(e);
    kni_ir_emit_add(e, "\n");
}

static void print_loop(kni_ir_emitter *e, const kni_ir_node *node)
{
    kni_wgsl_line(e);
    kni_ir_emit_add(e, "loop {\n");
    e->indent++;
    if (kni_wgsl_block(e, node->u.blocks[0])) (void)kni_wgsl_block(e, node->u.blocks[1]);
    if (node->u.blocks[2] && e->ir->blocks[node->u.blocks[2]].first) {
        kni_wgsl_line(e);
        kni_ir_emit_add(e, "continuing {\n");
        e->indent++;
        (void)kni_wgsl_block(e, node->u.blocks[2]);
        close_block(e);
        kni_ir_emit_add(e, "\n");
    }
    close_block(e);
    kni_ir_emit_add(e, "\n");
}

static void print_test(kni_ir_emitter *e, const kni_ir_node *node)
{
    const kni_ir_node *condition = kni_ir_at(e->ir, node->a);
    if (condition->code == KNI_IR_CONSTANT && condition->u.whole) return;
    kni_wgsl_line(e);
    kni_ir_emit_add(e, "if (!");
    kni_wgsl_value(e, node->a);
    kni_ir_emit_add(e, ") { break; }\n");
}

static void print_variable(kni_ir_emitter *e, kni_ir_id id)
{
    const kni_ir_node *node = kni_ir_at(e->ir, id);
    kni_wgsl_line(e);
    kni_ir_emit_add(e, "var ");
    kni_wgsl_name(e, id);
    kni_ir_text_add(e->text, ": %s", kni_wgsl_type(node->type));
    if (node->a) {
        kni_ir_emit_add(e, " = ");
        kni_wgsl_inside(e, node->a);
    }
    kni_ir_emit_add(e, ";\n");
}

static void print_set(kni_ir_emitter *e, const kni_ir_node *node)
{
    kni_wgsl_line(e);
    kni_wgsl_name(e, node->a);
    kni_ir_emit_add(e, " = ");
    kni_wgsl_inside(e, node->b);
    kni_ir_emit_add(e, ";\n");
}

static void print_return(kni_ir_emitter *e, const kni_ir_node *node)
{
    kni_wgsl_line(e);
    kni_ir_emit_add(e, "return");
    if (node->a) kni_ir_emit_add(e, " ");
    if (node->a) kni_wgsl_inside(e, node->a);
    kni_ir_emit_add(e, ";\n");
}

static void print_word(kni_ir_emitter *e, const char *text)
{
    kni_wgsl_line(e);
    kni_ir_emit_add(e, text);
}

/* What was written to shared memory and to buffers is seen behind it. */
static void print_barrier(kni_ir_emitter *e)
{
    bool writes = false;
    for (uint32_t i = 0; i < e->ir->n_buffers; i++) writes |= (e->ir->bindings[i].access & KNI_IR_WRITE) != 0;
    print_word(e, "workgroupBarrier();\n");
    if (writes) print_word(e, "storageBarrier();\n");
}

static void print_value(kni_ir_emitter *e, kni_ir_id id)
{
    const kni_ir_node *node = kni_ir_at(e->ir, id);
    if (kni_ir_emit_is_leaf(node) || e->facts[id].inlined || e->facts[id].dead) return;
    kni_wgsl_line(e);
    kni_ir_emit_add(e, "let ");
    kni_wgsl_name(e, id);
    kni_ir_emit_add(e, " = ");
    kni_wgsl_definition(e, id);
    kni_ir_emit_add(e, ";\n");
}

/* Answers whether what stands behind it is reached. */
static bool statement(kni_ir_emitter *e, kni_ir_id id)
{
    const kni_ir_node *node = kni_ir_at(e->ir, id);
    switch (node->code) {
    case KNI_IR_VARIABLE:
        print_variable(e, id);
        return true;
    case KNI_IR_SET:
        print_set(e, node);
        return true;
    case KNI_IR_STORE:
        kni_wgsl_store(e, node);
        return true;
    case KNI_IR_ATOMIC:
        kni_wgsl_atomic(e, id);
        return true;
    case KNI_IR_IF:
        return print_if(e, node);
    case KNI_IR_FOR:
        print_for(e, id);
        return true;
    case KNI_IR_LOOP:
        print_loop(e, node);
        return true;
    case KNI_IR_TEST:
        print_test(e, node);
        return true;
    case KNI_IR_BREAK:
        print_word(e, "break;\n");
        return false;
    case KNI_IR_CONTINUE:
        print_word(e, "continue;\n");
        return false;
    case KNI_IR_RETURN:
        print_return(e, node);
        return false;
    case KNI_IR_BARRIER:
        print_barrier(e);
        return true;
    default:
        print_value(e, id);
        return true;
    }
}

bool kni_wgsl_block(kni_ir_emitter *e, uint32_t block)
{
    bool goes_on = true;
    kni_ir_id id = block ? e->ir->blocks[block].first : 0;
    for (; id && goes_on && e->status == KN_OK; id = kni_ir_at(e->ir, id)->next) goes_on = statement(e, id);
    return goes_on;
}
