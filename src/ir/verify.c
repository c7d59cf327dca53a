/* The verifier: the shape of a module. Each block and node is used once, operands stand before their use in the same
   block or around it, tests, breaks and returns stand where they may. */
#include "core/allocator.h"
#include "core/error.h"
#include "ir/builder.h"
#include "ir/verify_internal.h"
#include <stdarg.h>
#include <string.h>

enum { UNSEEN, IN_SCOPE, OUT_OF_SCOPE };
enum { MAX_DEPTH = 2 * KNI_IR_MAX_DEPTH };

/* Where a block stands. */
typedef struct place {
    int depth;
    bool in_loop;      /* break and continue are possible */
    bool is_condition; /* the condition block of a loop itself */
} place;

static kn_status check_block(kni_ir_checker *c, uint32_t block, place at);

kn_status kni_ir_refuse(const kni_ir *ir, const kni_ir_node *node, const char *format, ...)
{
    char message[300];
    kni_text text = {message, sizeof message, 0};
    va_list arguments;
    va_start(arguments, format);
    kni_text_format_list(&text, format, arguments);
    va_end(arguments);
    const char *where = ir->file[0] ? ir->file : ir->name;
    if (node->line)
        return kni_fail(KN_ERROR_ARGUMENT, "%s:%u:%u: %s", where, node->line, node->column, message);
    return kni_fail(KN_ERROR_ARGUMENT, "kernel %s, node %u (%s): %s", ir->name, (uint32_t)(node - ir->nodes),
                    node->code < KNI_IR_CODES ? kni_ir_codes[node->code].name : "?", message);
}

/* ---- operands */

static kn_status check_reference(kni_ir_checker *c, const kni_ir_node *node, kni_ir_id id)
{
    if (id >= c->ir->n_nodes) return kni_ir_refuse(c->ir, node, "operand %u does not exist", id);
    if (c->state[id] == UNSEEN)
        return kni_ir_refuse(c->ir, node, "operand %u is used before it is there", id);
    if (c->state[id] == OUT_OF_SCOPE)
        return kni_ir_refuse(c->ir, node, "operand %u is used outside the block it stands in", id);
    return KN_OK;
}

static kn_status check_operand(kni_ir_checker *c, const kni_ir_node *node, kni_ir_id id, char kind)
{
    if (kind == '.') return id ? kni_ir_refuse(c->ir, node, "has an operand too many") : KN_OK;
    if (!id) return kind == 'V' ? KN_OK : kni_ir_refuse(c->ir, node, "lacks an operand");
    kn_status s = check_reference(c, node, id);
    if (s != KN_OK) return s;
    const kni_ir_node *x = kni_ir_at(c->ir, id);
    if (kind == 'd')
        return x->code == KNI_IR_VARIABLE ? KN_OK
                                          : kni_ir_refuse(c->ir, node, "operand %u is no variable", id);
    if (kind == 'x')
        return x->code == KNI_IR_TILE ? KN_OK : kni_ir_refuse(c->ir, node, "operand %u is no tile", id);
    if (!kni_ir_has_value(x)) return kni_ir_refuse(c->ir, node, "operand %u has no value", id);
    if (kind == 't' && (!kni_is_bool(x->type.dtype) || x->type.lanes != 1))
        return kni_ir_refuse(c->ir, node, "the condition is no truth");
    if (kind == 'p' && (!kni_ir_is_integer(x->type.dtype) || x->type.lanes != 1))
        return kni_ir_refuse(c->ir, node, "operand %u is no integer", id);
    return KN_OK;
}

static kn_status check_operands(kni_ir_checker *c, kni_ir_node *node)
{
    const char *kinds = kni_ir_codes[node->code].operands;
    for (int i = 0; i < 3; i++) {
        kn_status s = check_operand(c, node, *kni_ir_operand(node, i), kinds[i]);
        if (s != KN_OK) return s;
    }
    if (node->code != KNI_IR_CALL && node->code != KNI_IR_PACK) return KN_OK;
    uint32_t first = node->u.list.first, count = node->u.list.count;
    if (first > c->ir->n_lists || count > c->ir->n_lists - first)
        return kni_ir_refuse(c->ir, node, "its list does not exist");
    for (uint32_t i = 0; i < count; i++) {
        kn_status s = check_operand(c, node, c->ir->lists[first + i], 'v');
        if (s != KN_OK) return s;
    }
    return KN_OK;
}

/* ---- blocks */

static kn_status check_inner(kni_ir_checker *c, const kni_ir_node *node, place at)
{
    bool loop = node->code == KNI_IR_LOOP;
    at.depth++;
    for (int i = 0; i < kni_ir_block_count(node->code); i++) {
        uint32_t block = node->u.blocks[i];
        if (!block) {
            bool optional = (node->code == KNI_IR_IF && i == 1) || (loop && i == 2);
            if (!optional) return kni_ir_refuse(c->ir, node, "lacks a block");
            continue;
        }
        place inner = at;
        if (node->code == KNI_IR_FOR) inner.in_loop = true;
        if (loop) inner.in_loop = i == 1;
        inner.is_condition = loop && i == 0;
        kn_status s = check_block(c, block, inner);
        if (s != KN_OK) return s;
        kni_ir_id last = c->ir->blocks[block].last;
        if (inner.is_condition && (!last || kni_ir_at(c->ir, last)->code != KNI_IR_TEST))
            return kni_ir_refuse(c->ir, node, "its condition ends without a test");
    }
    return KN_OK;
}

static kn_status check_control(kni_ir_checker *c, const kni_ir_node *node, place at)
{
    switch (node->code) {
    case KNI_IR_TEST:
        return at.is_condition && !node->next ? KN_OK
                                              : kni_ir_refuse(c->ir, node, "a test ends a loop's condition");
    case KNI_IR_BREAK:
    case KNI_IR_CONTINUE:
        return at.in_loop ? KN_OK
                          : kni_ir_refuse(c->ir, node, "%s outside a loop", kni_ir_codes[node->code].name);
    case KNI_IR_RETURN:
        if (!c->function) return node->a ? kni_ir_refuse(c->ir, node, "a kernel returns no value") : KN_OK;
        if (!node->a ||
            !kni_ir_same_type(kni_ir_at(c->ir, node->a)->type, c->ir->functions[c->function - 1].result))
            return kni_ir_refuse(c->ir, node, "a function returns a value of its type");
        return KN_OK;
    default:
        return KN_OK;
    }
}

static kn_status check_one(kni_ir_checker *c, kni_ir_id id, place at)
{
    kni_ir_node *node = kni_ir_at(c->ir, id);
    if (node->code <= KNI_IR_NONE || node->code >= KNI_IR_CODES)
        return kni_ir_refuse(c->ir, node, "has no code");
    if (c->state[id] != UNSEEN) return kni_ir_refuse(c->ir, node, "stands in two places");
    kn_status s = check_operands(c, node);
    if (s == KN_OK) s = check_control(c, node, at);
    if (s == KN_OK) s = kni_ir_check_node(c, node);
    if (s != KN_OK) return s;
    c->state[id] = IN_SCOPE;
    s = check_inner(c, node, at);
    /* A counter lives in its loop only. */
    if (node->code == KNI_IR_FOR) c->state[id] = OUT_OF_SCOPE;
    return s;
}

static kn_status check_block(kni_ir_checker *c, uint32_t block, place at)
{
    const kni_ir *ir = c->ir;
    if (block >= ir->n_blocks || c->block_seen[block])
        return kni_fail(KN_ERROR_ARGUMENT, "kernel %s: block %u is not there or used twice", ir->name, block);
    if (at.depth > MAX_DEPTH)
        return kni_fail(KN_ERROR_ARGUMENT, "kernel %s: blocks are nested too deep", ir->name);
    c->block_seen[block] = 1;
    kni_ir_id last = 0;
    for (kni_ir_id id = ir->blocks[block].first; id; id = kni_ir_at(ir, id)->next) {
        if (id >= ir->n_nodes)
            return kni_fail(KN_ERROR_ARGUMENT, "kernel %s: block %u has a node that does not exist", ir->name,
                            block);
        kn_status s = check_one(c, id, at);
        if (s != KN_OK) return s;
        last = id;
    }
    if (last != ir->blocks[block].last)
        return kni_fail(KN_ERROR_ARGUMENT, "kernel %s: block %u ends with another node than it says",
                        ir->name, block);
    for (kni_ir_id id = ir->blocks[block].first; id; id = kni_ir_at(ir, id)->next)
        c->state[id] = OUT_OF_SCOPE;
    return KN_OK;
}

/* ---- the module */

/* Whether nothing runs past the end of the block: it returns on every path. */
static bool always_returns(const kni_ir *ir, uint32_t block)
{
    for (kni_ir_id id = ir->blocks[block].first; id; id = kni_ir_at(ir, id)->next) {
        const kni_ir_node *node = kni_ir_at(ir, id);
        if (node->code == KNI_IR_RETURN) return true;
        if (node->code == KNI_IR_IF && node->u.blocks[1] && always_returns(ir, node->u.blocks[0]) &&
            always_returns(ir, node->u.blocks[1]))
            return true;
    }
    return false;
}

static kn_status check_names(const kni_ir *ir)
{
    bool good = kni_ir_name_fits(ir->name, sizeof ir->name) && ir->n_bindings <= KNI_IR_MAX_BINDINGS &&
                ir->n_params <= KNI_IR_MAX_PARAMS && ir->n_buffers <= ir->n_bindings;
    for (uint32_t i = 0; good && i < ir->n_bindings; i++) {
        const kni_ir_binding *b = &ir->bindings[i];
        good = kni_ir_name_fits(b->name, sizeof b->name) && kni_dtype_usable(b->dtype) && b->aligned &&
               b->space < KNI_IR_SPACES && (b->space == KNI_IR_GLOBAL) == (i < ir->n_buffers) &&
               (i < ir->n_buffers || (b->length >= 1 && b->length <= KNI_IR_MAX_ARRAY)) &&
               !(b->space == KNI_IR_SHARED && !ir->workgroup) &&
               (b->space != KNI_IR_TABLE ||
                (b->access == KNI_IR_READ && b->first <= ir->n_words &&
                 (uint64_t)b->length * (kni_bytes_of(b->dtype) / 4) <= ir->n_words - b->first));
        if (!good)
            return kni_fail(KN_ERROR_ARGUMENT, "kernel %s: binding %u is not well formed", ir->name, i);
    }
    for (uint32_t i = 0; good && i < ir->n_params; i++) {
        const kni_ir_param *p = &ir->params[i];
        uint64_t size = kni_ir_is_compute(p->dtype) && !kni_is_bool(p->dtype) ? kni_bytes_of(p->dtype) : 0;
        good = kni_ir_name_fits(p->name, sizeof p->name) && size && p->offset % size == 0 &&
               p->offset + size * (p->count ? p->count : 1) <= ir->param_bytes;
        if (!good) return kni_fail(KN_ERROR_ARGUMENT, "kernel %s: param %u is not well formed", ir->name, i);
    }
    return good ? KN_OK : kni_fail(KN_ERROR_ARGUMENT, "a kernel's names or counts are not well formed");
}

static kn_status check_module(kni_ir_checker *c)
{
    const kni_ir *ir = c->ir;
    place outermost = {0, false, false};
    for (uint32_t i = 0; i < ir->n_functions; i++) {
        const kni_ir_function *f = &ir->functions[i];
        bool good = kni_ir_name_fits(f->name, sizeof f->name) && f->n_arguments >= 0 &&
                    f->n_arguments <= KNI_IR_MAX_ARGUMENTS;
        for (int k = -1; good && k < f->n_arguments; k++) {
            kni_ir_type t = k < 0 ? f->result : f->arguments[k];
            good = kni_ir_is_compute(t.dtype) && kni_ir_lanes_fit(t.lanes);
        }
        if (!good)
            return kni_fail(KN_ERROR_ARGUMENT, "kernel %s: function %u is not well formed", ir->name, i);
        c->function = i + 1;
        kn_status s = check_block(c, f->body, outermost);
        if (s != KN_OK) return s;
        if (!always_returns(ir, f->body))
            return kni_fail(KN_ERROR_ARGUMENT, "kernel %s: function '%s' ends without a return", ir->name,
                            f->name);
    }
    c->function = 0;
    return check_block(c, ir->body, outermost);
}

kn_status kni_ir_verify(const kni_ir *ir)
{
    kn_status s = check_names(ir);
    if (s != KN_OK) return s;
    size_t bytes = (size_t)ir->n_nodes + ir->n_blocks;
    kni_ir_checker c = {.ir = ir, .state = kni_allocate(bytes)};
    if (!c.state) return kni_fail(KN_ERROR_MEMORY, "no memory to verify a kernel");
    memset(c.state, 0, bytes);
    c.block_seen = c.state + ir->n_nodes;
    c.block_seen[0] = 1;
    s = check_module(&c);
    kni_free(c.state, bytes);
    return s == KN_OK && c.has_barriers ? kni_ir_check_uniform(ir) : s;
}
