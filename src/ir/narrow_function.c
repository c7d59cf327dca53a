/* Functions of the narrow form: those of the math library come in when the first caller needs them, in the middle of
   another one; at the end they are put in order. */
#include "core/allocator.h"
#include "core/error.h"
#include "core/objects.h"
#include "ir/math_source.h"
#include "ir/narrow_internal.h"
#include <string.h>

enum { DEEPEST = 24 };

static int find(const kni_ir *ir, const char *name)
{
    for (uint32_t i = 0; i < ir->n_functions; i++)
        if (!strcmp(ir->functions[i].name, name)) return (int)i;
    return -1;
}

/* The item and all that it calls, rewritten into functions of `to`. */
static void bring(kni_narrower *n, const char *item)
{
    if (n->depth == DEEPEST) kni_narrow_refuse(n, "the math library calls itself at '%s'", item);
    kni_ir *module = n->b.status ? NULL : kni_ir_math_module(item);
    kni_narrower *inner = module ? kni_allocate(sizeof *inner) : NULL;
    if (module && inner) {
        memset(inner, 0, sizeof *inner);
        inner->from = module;
        inner->to = n->to;
        inner->caps = n->caps;
        inner->depth = n->depth + 1;
        inner->b = (kni_ir_builder){.ir = n->to};
        inner->b.line = n->b.line;
        inner->b.column = n->b.column;
        if (!kni_narrow_begin(inner)) inner->b.status = kni_fail(KN_ERROR_MEMORY, "no memory for a kernel");
        if (inner->b.status == KN_OK) kni_narrow_bindings(inner);
        kni_narrow_functions(inner);
        n->b.status = inner->b.status;
        kni_narrow_end(inner);
    }
    if (n->b.status == KN_OK && !module) n->b.status = kni_latest_code();
    if (n->b.status == KN_OK && !inner) n->b.status = kni_fail(KN_ERROR_MEMORY, "no memory for a kernel");
    if (inner) kni_free(inner, sizeof *inner);
    kni_ir_free(module);
}

kni_parts kni_narrow_call(kni_narrower *n, const char *item, int result, const kni_ir_id *arguments,
                          int count)
{
    kni_parts parts = {{0, 0}};
    if (n->b.status) return parts;
    if (find(n->to, item) < 0) bring(n, item);
    int number = n->b.status ? -1 : find(n->to, item);
    if (number < 0) {
        kni_narrow_refuse(n, "the math library has no '%s'", item);
        return parts;
    }
    kni_ir_type type = n->to->functions[number].result;
    kni_ir_id id = kni_ir_add_list(&n->b, KNI_IR_CALL, type, arguments, count);
    if (!id) return parts;
    kni_ir_at(n->to, id)->index = (uint32_t)number;
    if (type.lanes == 1) {
        parts.id[0] = kni_is_bool(result) ? id : kni_n_bits(n, id, kni_narrow_part(result));
        return parts;
    }
    for (int i = 0; i < 2; i++) parts.id[i] = kni_ir_lane(&n->b, id, i);
    return parts;
}

/* ---- order */

typedef struct order {
    kni_ir *ir;
    uint32_t *numbers; /* 1 + the new number; 0: not yet */
    uint32_t *old;     /* by new number */
    uint32_t n;
} order;

static void visit_block(order *o, uint32_t block);

static void visit(order *o, uint32_t function)
{
    if (o->numbers[function]) return;
    visit_block(o, o->ir->functions[function].body);
    o->old[o->n] = function;
    o->numbers[function] = ++o->n;
}

static void visit_block(order *o, uint32_t block)
{
    for (kni_ir_id id = block ? o->ir->blocks[block].first : 0; id; id = kni_ir_at(o->ir, id)->next) {
        const kni_ir_node *node = kni_ir_at(o->ir, id);
        if (node->code == KNI_IR_CALL) visit(o, node->index);
        for (int i = 0; i < kni_ir_block_count(node->code); i++) visit_block(o, node->u.blocks[i]);
    }
}

kn_status kni_narrow_order(kni_ir *ir)
{
    uint32_t count = ir->n_functions;
    if (!count) return KN_OK;
    size_t bytes = count * (2 * sizeof(uint32_t) + sizeof(kni_ir_function));
    kni_ir_function *kept = kni_allocate(bytes);
    if (!kept) return kni_fail(KN_ERROR_MEMORY, "no memory for a kernel");
    memcpy(kept, ir->functions, count * sizeof *kept);
    order o = {ir, (uint32_t *)(kept + count), NULL, 0};
    o.old = o.numbers + count;
    memset(o.numbers, 0, 2 * count * sizeof *o.numbers);
    visit_block(&o, ir->body);
    for (uint32_t i = 0; i < o.n; i++) ir->functions[i] = kept[o.old[i]];
    ir->n_functions = o.n;
    for (uint32_t i = 1; i < ir->n_nodes; i++)
        if (ir->nodes[i].code == KNI_IR_CALL && o.numbers[ir->nodes[i].index])
            ir->nodes[i].index = o.numbers[ir->nodes[i].index] - 1;
    kni_free(kept, bytes);
    return KN_OK;
}
