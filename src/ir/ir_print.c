/* The IR as text, for people and golden tests. Values are numbered in the order of the text, so that two modules that
   say the same print the same. */
#include "core/allocator.h"
#include "core/error.h"
#include "ir/ir_internal.h"
#include "ops/body.h"
#include <string.h>

typedef struct printer {
    const kni_ir *ir;
    kni_ir_text *text;
    uint32_t *numbers; /* of nodes, in the order of printing */
    uint32_t next;
    int depth;
} printer;

static void print_block(printer *p, uint32_t block);

static void print_type(printer *p, kni_ir_type t)
{
    kni_ir_text_add(p->text, "%s", kni_dtypes[t.dtype].name);
    if (t.lanes > 1) kni_ir_text_add(p->text, "x%u", (unsigned)t.lanes);
}

static void print_value(printer *p, kni_ir_id id) { kni_ir_text_add(p->text, "%%%u", p->numbers[id]); }

static void print_list(printer *p, const kni_ir_node *node)
{
    kni_ir_text_add(p->text, "(");
    for (uint32_t i = 0; i < node->u.list.count; i++) {
        if (i) kni_ir_text_add(p->text, ", ");
        print_value(p, p->ir->lists[node->u.list.first + i]);
    }
    kni_ir_text_add(p->text, ")");
}

static void print_constant(printer *p, const kni_ir_node *node)
{
    if (kni_is_float(node->type.dtype))
        kni_ir_text_add(p->text, " %r", node->u.real);
    else if (kni_is_bool(node->type.dtype))
        kni_ir_text_add(p->text, node->u.whole ? " true" : " false");
    else if (node->type.dtype == KN_U64)
        kni_ir_text_add(p->text, " %llu", (unsigned long long)node->u.whole);
    else
        kni_ir_text_add(p->text, " %lld", (long long)node->u.whole);
}

/* What follows the name of the code: everything that no operand letter says. */
static void print_subject(printer *p, const kni_ir_node *node)
{
    const kni_ir *ir = p->ir;
    switch (node->code) {
    case KNI_IR_CONSTANT:
        print_constant(p, node);
        break;
    case KNI_IR_PARAM:
    case KNI_IR_ELEMENT:
        kni_ir_text_add(p->text, " %s", ir->params[node->index].name);
        break;
    case KNI_IR_ARGUMENT:
    case KNI_IR_LANE:
        kni_ir_text_add(p->text, " %u", node->index);
        break;
    case KNI_IR_BUILTIN:
        kni_ir_text_add(p->text, " %s", kni_ir_builtin_name(node->index));
        if (node->detail) kni_ir_text_add(p->text, ".%u", (unsigned)node->detail);
        break;
    case KNI_IR_WORD:
        kni_ir_text_add(p->text, node->detail ? " near %s" : " %s", kni_word_at((int)node->index)->name);
        break;
    case KNI_IR_CALL:
        kni_ir_text_add(p->text, " %s", ir->functions[node->index].name);
        break;
    case KNI_IR_CAST:
        if (node->detail) kni_ir_text_add(p->text, " by %s", kni_dtypes[node->detail].name);
        break;
    case KNI_IR_LOAD:
    case KNI_IR_STORE:
    case KNI_IR_TILE_LOAD:
    case KNI_IR_TILE_STORE:
        kni_ir_text_add(p->text, " %s", ir->bindings[node->index].name);
        break;
    case KNI_IR_ATOMIC:
        kni_ir_text_add(p->text, " %s %s", kni_ir_combine_name(node->detail), ir->bindings[node->index].name);
        break;
    case KNI_IR_SUBGROUP:
    case KNI_IR_WORKGROUP:
    case KNI_IR_SCAN:
        kni_ir_text_add(p->text, " %s", kni_ir_combine_name(node->detail));
        break;
    case KNI_IR_TILE:
        kni_ir_text_add(p->text, " %s", kni_ir_role_name(node->detail));
        break;
    case KNI_IR_FOR:
        if (node->detail) kni_ir_text_add(p->text, " apart");
        break;
    default:
        break;
    }
}

static void indent(printer *p)
{
    for (int i = 0; i < p->depth; i++) kni_ir_text_add(p->text, "  ");
}

static void print_inner(printer *p, const kni_ir_node *node)
{
    static const char *const names[3] = {"", "body ", "step "};
    for (int i = 0; i < kni_ir_block_count(node->code); i++) {
        if (!node->u.blocks[i]) continue;
        if (i) {
            indent(p);
            kni_ir_text_add(p->text, "%s", node->code == KNI_IR_IF ? "} else " : "} ");
            if (node->code == KNI_IR_LOOP) kni_ir_text_add(p->text, "%s", names[i]);
        } else {
            kni_ir_text_add(p->text, " ");
        }
        kni_ir_text_add(p->text, "{\n");
        p->depth++;
        print_block(p, node->u.blocks[i]);
        p->depth--;
    }
    indent(p);
    kni_ir_text_add(p->text, "}");
}

static void print_node(printer *p, kni_ir_id id)
{
    kni_ir_node *node = kni_ir_at(p->ir, id);
    indent(p);
    if (node->type.dtype != KN_DTYPE_NONE) {
        p->numbers[id] = ++p->next;
        kni_ir_text_add(p->text, "%%%u: ", p->next);
        print_type(p, node->type);
        kni_ir_text_add(p->text, " = ");
    }
    kni_ir_text_add(p->text, "%s", kni_ir_codes[node->code].name);
    print_subject(p, node);
    bool comma = false;
    for (int i = 0; i < 3; i++) {
        kni_ir_id operand = *kni_ir_operand(node, i);
        if (kni_ir_codes[node->code].operands[i] == '.' || !operand) continue;
        kni_ir_text_add(p->text, comma ? ", " : " ");
        print_value(p, operand);
        comma = true;
    }
    if (node->code == KNI_IR_CALL || node->code == KNI_IR_PACK) print_list(p, node);
    if (kni_ir_block_count(node->code)) print_inner(p, node);
    kni_ir_text_add(p->text, "\n");
}

static void print_block(printer *p, uint32_t block)
{
    for (kni_ir_id id = p->ir->blocks[block].first; id; id = kni_ir_at(p->ir, id)->next) print_node(p, id);
}

static void print_head(printer *p)
{
    static const char *const spaces[] = {"buffer", "shared", "private", "table"};
    const kni_ir *ir = p->ir;
    kni_ir_text_add(p->text, "kernel %s", ir->name);
    if (ir->workgroup) kni_ir_text_add(p->text, " workgroup %u", ir->workgroup);
    if (ir->vector) kni_ir_text_add(p->text, " vector %u", ir->vector);
    kni_ir_text_add(p->text, "\n");
    for (uint32_t i = 0; i < ir->n_bindings; i++) {
        const kni_ir_binding *b = &ir->bindings[i];
        kni_ir_text_add(p->text, "  %s %s: %s", spaces[b->space], b->name, kni_dtypes[b->dtype].name);
        if (b->space != KNI_IR_GLOBAL) {
            kni_ir_text_add(p->text, "[%lld]", (long long)b->length);
        } else {
            if (b->access & KNI_IR_READ) kni_ir_text_add(p->text, " read");
            if (b->access & KNI_IR_WRITE) kni_ir_text_add(p->text, " write");
            if (b->access & KNI_IR_ALIASES) kni_ir_text_add(p->text, " aliases");
            if (b->aligned > 1) kni_ir_text_add(p->text, " aligned %u", (unsigned)b->aligned);
        }
        kni_ir_text_add(p->text, "\n");
    }
    for (uint32_t i = 0; i < ir->n_params; i++) {
        const kni_ir_param *q = &ir->params[i];
        kni_ir_text_add(p->text, "  param %s: %s", q->name, kni_dtypes[q->dtype].name);
        if (q->count) kni_ir_text_add(p->text, "[%u]", q->count);
        kni_ir_text_add(p->text, " at %u\n", q->offset);
    }
}

static void print_functions(printer *p)
{
    for (uint32_t i = 0; i < p->ir->n_functions; i++) {
        const kni_ir_function *f = &p->ir->functions[i];
        kni_ir_text_add(p->text, "function %s(", f->name);
        for (int k = 0; k < f->n_arguments; k++) {
            if (k) kni_ir_text_add(p->text, ", ");
            print_type(p, f->arguments[k]);
        }
        kni_ir_text_add(p->text, "): ");
        print_type(p, f->result);
        kni_ir_text_add(p->text, "\n");
        p->next = 0;
        print_block(p, f->body);
    }
}

kn_status kni_ir_print(const kni_ir *ir, kni_ir_text *text)
{
    size_t bytes = ir->n_nodes * sizeof(uint32_t);
    printer p = {ir, text, kni_allocate(bytes), 0, 1};
    if (!p.numbers) return kni_fail(KN_ERROR_MEMORY, "no memory to print a kernel");
    memset(p.numbers, 0, bytes);
    print_head(&p);
    print_functions(&p);
    p.next = 0;
    kni_ir_text_add(text, "body\n");
    print_block(&p, ir->body);
    kni_free(p.numbers, bytes);
    return text->failed ? kni_fail(KN_ERROR_MEMORY, "no memory to print a kernel") : KN_OK;
}
