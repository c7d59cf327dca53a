/* Rewrites a kernel into the narrow form: one walk over its blocks that builds another module. */
#include "core/allocator.h"
#include "core/error.h"
#include "ir/narrow_internal.h"
#include "ops/body.h"
#include <stdarg.h>
#include <string.h>

static void block(kni_narrower *n, uint32_t number);

void kni_narrow_refuse(kni_narrower *n, const char *format, ...)
{
    if (n->b.status) return;
    va_list arguments;
    va_start(arguments, format);
    n->b.status = kni_ir_fail_at(n->from, n->b.line, n->b.column, KN_ERROR_UNSUPPORTED, format, arguments);
    va_end(arguments);
}

kni_parts kni_narrow_value(const kni_narrower *n, kni_ir_id id, uint32_t lane)
{
    return n->parts[n->first[id] + (kni_ir_at(n->from, id)->type.lanes > 1 ? lane : 0)];
}

bool kni_narrow_begin(kni_narrower *n)
{
    const kni_ir *ir = n->from;
    n->first = kni_allocate(ir->n_nodes * sizeof *n->first);
    n->functions = kni_allocate((ir->n_functions + 1) * sizeof *n->functions);
    for (uint32_t i = 0; n->first && i < ir->n_nodes; i++) {
        n->first[i] = n->n_parts;
        n->n_parts += ir->nodes[i].type.lanes ? ir->nodes[i].type.lanes : 1;
    }
    n->parts = kni_allocate(n->n_parts * sizeof *n->parts);
    if (!n->first || !n->functions || !n->parts) return false;
    memset(n->parts, 0, n->n_parts * sizeof *n->parts);
    return true;
}

void kni_narrow_end(kni_narrower *n)
{
    if (n->first) kni_free(n->first, n->from->n_nodes * sizeof *n->first);
    if (n->functions) kni_free(n->functions, (n->from->n_functions + 1) * sizeof *n->functions);
    if (n->parts) kni_free(n->parts, n->n_parts * sizeof *n->parts);
}

/* ---- values */

static kni_parts constant(kni_narrower *n, const kni_ir_node *node)
{
    int dtype = node->type.dtype;
    uint64_t bits = (uint64_t)node->u.whole;
    if (dtype == KN_F32) return (kni_parts){{kni_ir_real(&n->b, KN_F32, node->u.real), 0}};
    if (!kni_narrow_is_pair(dtype)) return (kni_parts){{kni_ir_whole(&n->b, dtype, node->u.whole), 0}};
    if (dtype == KN_F64) memcpy(&bits, &node->u.real, sizeof bits);
    return (kni_parts){{kni_n_u32(n, (uint32_t)bits), kni_n_u32(n, (uint32_t)(bits >> 32))}};
}

static kni_parts builtin(kni_narrower *n, const kni_ir_node *node)
{
    kni_ir_id id;
    if (node->index == KNI_IR_LOCALS)
        id = kni_n_u32(n, n->from->workgroup);
    else if (node->index == KNI_IR_LANES)
        id = kni_n_u32(n, n->caps->subgroup ? n->caps->subgroup : 1);
    else
        id = kni_ir_builtin_value(&n->b, (int)node->index, node->detail, KN_U32);
    return kni_narrow_cast(n, (kni_parts){{id, 0}}, KN_U32, node->type.dtype);
}

/* Arguments come one word after the other. */
static kni_parts argument(kni_narrower *n, const kni_ir_node *node)
{
    const kni_ir_function *f = &n->from->functions[n->function - 1];
    int at = 0;
    kni_parts result = {{0, 0}};
    for (uint32_t i = 0; i < node->index; i++) at += (int)kni_narrow_count(f->arguments[i].dtype);
    for (uint32_t i = 0; i < kni_narrow_count(node->type.dtype); i++)
        result.id[i] = kni_ir_argument(&n->b, at + (int)i);
    return result;
}

static kni_parts word(kni_narrower *n, const kni_ir_node *node, uint32_t lane)
{
    const char *name = kni_word_at((int)node->index)->name;
    int dtype = kni_ir_at(n->from, node->a)->type.dtype;
    kni_parts x = kni_narrow_value(n, node->a, lane), y = {{0, 0}};
    if (node->b) y = kni_narrow_value(n, node->b, lane);
    return kni_is_float(dtype) ? kni_narrow_float_word(n, name, dtype, x, y)
                               : kni_narrow_integer_word(n, name, dtype, x, y);
}

static kni_parts select(kni_narrower *n, const kni_ir_node *node, uint32_t lane)
{
    kni_ir_id c = kni_narrow_value(n, node->a, lane).id[0];
    kni_parts x = kni_narrow_value(n, node->b, lane), y = kni_narrow_value(n, node->c, lane);
    for (uint32_t i = 0; i < kni_narrow_count(node->type.dtype); i++)
        x.id[i] = kni_n_select(n, c, x.id[i], y.id[i]);
    return x;
}

/* By way of what memory of the dtype `detail` would hold. */
static kni_parts cast(kni_narrower *n, const kni_ir_node *node, uint32_t lane)
{
    int from = kni_ir_at(n->from, node->a)->type.dtype, to = node->type.dtype, stored = node->detail;
    kni_parts x = kni_narrow_value(n, node->a, lane);
    if (!stored) return kni_narrow_cast(n, x, from, to);
    x = kni_narrow_stored(n, x, from, stored);
    if (kni_bytes_of(stored) >= 4) return kni_narrow_cast(n, x, stored, to);
    x = kni_narrow_loaded(n, x.id[0], stored, &from);
    return kni_narrow_cast(n, x, from, to);
}

static kni_parts bitcast(kni_narrower *n, const kni_ir_node *node, uint32_t lane)
{
    kni_parts x = kni_narrow_value(n, node->a, lane);
    if (!kni_narrow_is_pair(node->type.dtype)) x.id[0] = kni_n_bits(n, x.id[0], node->type.dtype);
    return x;
}

static kni_parts philox(kni_narrower *n, const kni_ir_node *node)
{
    kni_parts key = kni_narrow_value(n, node->a, 0), counter = kni_narrow_value(n, node->b, 0);
    kni_ir_id arguments[] = {key.id[0], key.id[1], counter.id[0], counter.id[1],
                             kni_narrow_value(n, node->c, 0).id[0]};
    kni_parts result = kni_narrow_call(n, "kni_soft_philox", KN_U32, arguments, 5);
    result.id[1] = kni_n_u32(n, 0);
    return result;
}

static kni_parts call(kni_narrower *n, const kni_ir_node *node)
{
    kni_ir_id flat[2 * KNI_IR_MAX_ARGUMENTS];
    int count = 0;
    for (uint32_t i = 0; i < node->u.list.count; i++) {
        kni_ir_id id = n->from->lists[node->u.list.first + i];
        kni_parts x = kni_narrow_value(n, id, 0);
        for (uint32_t k = 0; k < kni_narrow_count(kni_ir_at(n->from, id)->type.dtype); k++)
            flat[count++] = x.id[k];
    }
    if (n->b.status) return (kni_parts){{0, 0}};
    return kni_narrow_call(n, n->to->functions[n->functions[node->index]].name, node->type.dtype, flat,
                           count);
}

static kni_parts together(kni_narrower *n, const kni_ir_node *node)
{
    kni_parts x = kni_narrow_value(n, node->a, 0);
    kni_ir_id lane =
        kni_narrow_cast(n, kni_narrow_value(n, node->b, 0), kni_ir_at(n->from, node->b)->type.dtype, KN_U32)
            .id[0];
    for (uint32_t i = 0; i < kni_narrow_count(node->type.dtype); i++)
        x.id[i] = kni_ir_shuffle(&n->b, x.id[i], lane);
    return x;
}

static kni_parts logical(kni_narrower *n, const kni_ir_node *node, uint32_t lane)
{
    kni_ir_id x = kni_narrow_value(n, node->a, lane).id[0];
    if (node->code == KNI_IR_NOT) return (kni_parts){{kni_ir_not(&n->b, x), 0}};
    kni_ir_id y = kni_narrow_value(n, node->b, lane).id[0];
    return (kni_parts){{node->code == KNI_IR_AND ? kni_ir_and(&n->b, x, y) : kni_ir_or(&n->b, x, y), 0}};
}

static kni_parts variable(kni_narrower *n, const kni_ir_node *node, uint32_t lane)
{
    kni_parts x = {{0, 0}}, first = {{0, 0}};
    if (node->a) first = kni_narrow_value(n, node->a, lane);
    for (uint32_t i = 0; i < kni_narrow_count(node->type.dtype); i++)
        x.id[i] = kni_ir_variable(&n->b, kni_narrow_part(node->type.dtype), 1, first.id[i]);
    return x;
}

static kni_parts get(kni_narrower *n, const kni_ir_node *node, uint32_t lane)
{
    kni_parts x = kni_narrow_value(n, node->a, lane);
    for (uint32_t i = 0; i < kni_narrow_count(node->type.dtype); i++) x.id[i] = kni_ir_get(&n->b, x.id[i]);
    return x;
}

static kni_parts pack(const kni_narrower *n, const kni_ir_node *node, uint32_t lane)
{
    return kni_narrow_value(n, n->from->lists[node->u.list.first + lane], 0);
}

static kni_parts place_of_number(kni_narrower *n, const kni_ir_node *node)
{
    kni_ir_id at =
        kni_narrow_cast(n, kni_narrow_value(n, node->a, 0), kni_ir_at(n->from, node->a)->type.dtype, KN_U32)
            .id[0];
    return kni_narrow_param(n, node->index, at);
}

static kni_parts value(kni_narrower *n, const kni_ir_node *node, uint32_t lane)
{
    switch (node->code) {
    case KNI_IR_CONSTANT:
        return constant(n, node);
    case KNI_IR_PARAM:
        return kni_narrow_param(n, node->index, 0);
    case KNI_IR_ELEMENT:
        return place_of_number(n, node);
    case KNI_IR_BUILTIN:
        return builtin(n, node);
    case KNI_IR_ARGUMENT:
        return argument(n, node);
    case KNI_IR_WORD:
        return word(n, node, lane);
    case KNI_IR_FMA:
        return kni_narrow_fma(n, node->type.dtype, kni_narrow_value(n, node->a, lane),
                              kni_narrow_value(n, node->b, lane), kni_narrow_value(n, node->c, lane));
    case KNI_IR_AND:
    case KNI_IR_OR:
    case KNI_IR_NOT:
        return logical(n, node, lane);
    case KNI_IR_SELECT:
        return select(n, node, lane);
    case KNI_IR_CAST:
        return cast(n, node, lane);
    case KNI_IR_BITCAST:
        return bitcast(n, node, lane);
    case KNI_IR_VECTOR:
        return kni_narrow_value(n, node->a, 0);
    case KNI_IR_LANE:
        return kni_narrow_value(n, node->a, node->index);
    case KNI_IR_PACK:
        return pack(n, node, lane);
    case KNI_IR_PHILOX:
        return philox(n, node);
    case KNI_IR_CALL:
        return call(n, node);
    case KNI_IR_ATOMIC:
        return kni_narrow_atomic(n, node);
    case KNI_IR_VARIABLE:
        return variable(n, node, lane);
    case KNI_IR_GET:
        return get(n, node, lane);
    case KNI_IR_SHUFFLE:
        return together(n, node);
    default:
        kni_narrow_refuse(n, "node code %d has no narrow form", (int32_t)node->code);
        return (kni_parts){{0, 0}};
    }
}

/* ---- control */

static void set(kni_narrower *n, const kni_ir_node *node)
{
    kni_ir_type type = kni_ir_at(n->from, node->b)->type;
    for (uint32_t lane = 0; lane < type.lanes; lane++) {
        kni_parts to = kni_narrow_value(n, node->a, lane), x = kni_narrow_value(n, node->b, lane);
        for (uint32_t i = 0; i < kni_narrow_count(type.dtype); i++) kni_ir_set(&n->b, to.id[i], x.id[i]);
    }
}

static void if_node(kni_narrower *n, const kni_ir_node *node)
{
    kni_ir_if(&n->b, kni_narrow_value(n, node->a, 0).id[0]);
    block(n, node->u.blocks[0]);
    if (node->u.blocks[1]) {
        kni_ir_else(&n->b);
        block(n, node->u.blocks[1]);
    }
    kni_ir_end(&n->b);
}

static void loop(kni_narrower *n, const kni_ir_node *node)
{
    kni_ir_loop(&n->b);
    block(n, node->u.blocks[0]); /* its TEST opens the body */
    block(n, node->u.blocks[1]);
    if (node->u.blocks[2]) {
        kni_ir_loop_step(&n->b);
        block(n, node->u.blocks[2]);
    }
    kni_ir_end(&n->b);
}

/* A pair counts in variables. */
static void wide_for(kni_narrower *n, kni_ir_id id, const kni_ir_node *node)
{
    kni_ir_builder *b = &n->b;
    kni_parts from = kni_narrow_value(n, node->a, 0), below = kni_narrow_value(n, node->b, 0),
              step = kni_narrow_value(n, node->c, 0), counter = {{0, 0}}, now = {{0, 0}};
    for (int i = 0; i < 2; i++) counter.id[i] = kni_ir_variable(b, KN_U32, 1, from.id[i]);
    kni_ir_loop(b);
    for (int i = 0; i < 2; i++) now.id[i] = kni_ir_get(b, counter.id[i]);
    kni_ir_loop_test(b, kni_narrow_less(n, node->type.dtype, now, below, false));
    for (int i = 0; i < 2; i++) now.id[i] = kni_ir_get(b, counter.id[i]);
    n->parts[n->first[id]] = now;
    block(n, node->u.blocks[0]);
    kni_ir_loop_step(b);
    for (int i = 0; i < 2; i++) now.id[i] = kni_ir_get(b, counter.id[i]);
    now = kni_narrow_integer_word(n, "add", node->type.dtype, now, step);
    for (int i = 0; i < 2; i++) kni_ir_set(b, counter.id[i], now.id[i]);
    kni_ir_end(b);
}

static void for_node(kni_narrower *n, kni_ir_id id, const kni_ir_node *node)
{
    if (kni_narrow_is_pair(node->type.dtype)) {
        wide_for(n, id, node);
        return;
    }
    kni_ir_id counter =
        kni_ir_for(&n->b, kni_narrow_value(n, node->a, 0).id[0], kni_narrow_value(n, node->b, 0).id[0],
                   kni_narrow_value(n, node->c, 0).id[0]);
    n->parts[n->first[id]].id[0] = counter;
    block(n, node->u.blocks[0]);
    kni_ir_end(&n->b);
}

static void return_node(kni_narrower *n, const kni_ir_node *node)
{
    kni_ir_id id = 0;
    if (node->a) {
        kni_parts x = kni_narrow_value(n, node->a, 0);
        id = x.id[1] ? kni_ir_pack(&n->b, x.id, 2) : x.id[0];
    }
    kni_ir_return(&n->b, id);
}

static bool statement(kni_narrower *n, kni_ir_id id, const kni_ir_node *node)
{
    switch (node->code) {
    case KNI_IR_STORE:
        kni_narrow_store(n, node);
        return true;
    case KNI_IR_SET:
        set(n, node);
        return true;
    case KNI_IR_IF:
        if_node(n, node);
        return true;
    case KNI_IR_FOR:
        for_node(n, id, node);
        return true;
    case KNI_IR_LOOP:
        loop(n, node);
        return true;
    case KNI_IR_TEST:
        kni_ir_loop_test(&n->b, kni_narrow_value(n, node->a, 0).id[0]);
        return true;
    case KNI_IR_BREAK:
        kni_ir_break(&n->b);
        return true;
    case KNI_IR_CONTINUE:
        kni_ir_continue(&n->b);
        return true;
    case KNI_IR_RETURN:
        return_node(n, node);
        return true;
    case KNI_IR_REPORT:
        kni_narrow_report(n, kni_narrow_value(n, node->a, 0));
        return true;
    case KNI_IR_BARRIER:
        kni_ir_barrier(&n->b);
        return true;
    default:
        return false;
    }
}

static void block(kni_narrower *n, uint32_t number)
{
    for (kni_ir_id id = number ? n->from->blocks[number].first : 0; id && n->b.status == KN_OK;
         id = kni_ir_at(n->from, id)->next) {
        const kni_ir_node *node = kni_ir_at(n->from, id);
        if (!n->depth) {
            n->b.line = node->line;
            n->b.column = node->column;
        }
        if (statement(n, id, node)) continue;
        kni_parts *parts = &n->parts[n->first[id]];
        if (node->code == KNI_IR_LOAD) {
            kni_narrow_load(n, node, parts);
            continue;
        }
        for (uint32_t lane = 0; lane < (node->type.lanes ? node->type.lanes : 1u); lane++)
            parts[lane] = value(n, node, lane);
    }
}

/* ---- modules */

static int known(const kni_narrower *n, const char *name)
{
    for (uint32_t i = 0; i < n->to->n_functions; i++)
        if (!strcmp(n->to->functions[i].name, name)) return (int)i;
    return -1;
}

static void function(kni_narrower *n, uint32_t number)
{
    const kni_ir_function *f = &n->from->functions[number];
    kni_ir_type flat[2 * KNI_IR_MAX_ARGUMENTS];
    char name[sizeof f->name];
    int count = 0;
    kni_text text = {name, sizeof name, 0};
    kni_text_format(&text, n->depth || strncmp(f->name, "kni_", 4) ? "%s" : "u_%s", f->name);
    int there = known(n, name);
    if (there >= 0) {
        n->functions[number] = (uint32_t)there;
        return;
    }
    for (int i = 0; i < f->n_arguments; i++)
        for (uint32_t k = 0; k < kni_narrow_count(f->arguments[i].dtype); k++)
            flat[count++] = (kni_ir_type){(uint8_t)kni_narrow_part(f->arguments[i].dtype), 1};
    kni_ir_type result = {(uint8_t)kni_narrow_part(f->result.dtype),
                          (uint8_t)kni_narrow_count(f->result.dtype)};
    n->functions[number] = kni_ir_function_begin(&n->b, name, result, flat, count);
    n->function = number + 1;
    block(n, f->body);
    n->function = 0;
    kni_ir_function_end(&n->b);
}

void kni_narrow_functions(kni_narrower *n)
{
    for (uint32_t i = 0; i < n->from->n_functions && n->b.status == KN_OK; i++) function(n, i);
}

/* if (item >= items) return; */
static void guard_items(kni_narrower *n)
{
    kni_ir_builder *b = &n->b;
    for (uint32_t i = 0; i < n->from->n_params; i++) {
        if (strcmp(n->from->params[i].name, "items") || n->from->params[i].count) continue;
        kni_ir_id items = kni_narrow_param(n, i, 0).id[0];
        kni_ir_if(b, kni_n_word(n, "ge", kni_ir_builtin_value(b, KNI_IR_ITEM, 0, KN_U32), items));
        kni_ir_return(b, 0);
        kni_ir_end(b);
        return;
    }
    kni_narrow_refuse(n, "a kernel of items has no number 'items'");
}

/* A vector of two equal words is a PACK like any other. */
static kn_status pack_copies(kni_ir *ir)
{
    for (uint32_t i = 1; i < ir->n_nodes; i++) {
        kni_ir_node *node = kni_ir_at(ir, i);
        if (node->code != KNI_IR_VECTOR) continue;
        kni_ir_id copied = node->a;
        uint32_t first = ir->n_lists;
        for (int k = 0; k < node->type.lanes; k++)
            if (!kni_ir_list_add(ir, copied)) return kni_fail(KN_ERROR_MEMORY, "no memory for a kernel");
        node->code = KNI_IR_PACK;
        node->a = 0;
        node->u.list.first = first;
        node->u.list.count = node->type.lanes;
    }
    return KN_OK;
}

static void note_atomics(kni_ir *ir)
{
    for (uint32_t i = 1; i < ir->n_nodes; i++)
        if (ir->nodes[i].code == KNI_IR_ATOMIC) ir->bindings[ir->nodes[i].index].access |= KNI_IR_ATOMICS;
}

static kn_status rewrite(kni_narrower *n)
{
    kni_ir *to = n->to;
    kni_narrow_bindings(n);
    if (n->from->param_bytes)
        n->words = kni_ir_param_add(&n->b, "words", KN_U32, (n->from->param_bytes + 3) / 4);
    kni_narrow_functions(n);
    if (!n->from->workgroup) guard_items(n);
    block(n, n->from->body);
    kn_status s = n->b.status;
    if (s == KN_OK) s = kni_narrow_order(to);
    if (s == KN_OK) s = kni_ir_simplify(to);
    if (s == KN_OK) s = kni_narrow_order(to);
    if (s == KN_OK) s = pack_copies(to);
    if (s != KN_OK) return s;
    to->narrow = true;
    note_atomics(to);
    s = kni_ir_verify(to);
    return s == KN_OK ? kni_ir_narrow_check(to, n->caps) : s;
}

kn_status kni_ir_narrow(kni_ir *ir, const kni_ir_caps *caps)
{
    kni_narrower *n = kni_allocate(sizeof *n);
    if (!n) return kni_fail(KN_ERROR_MEMORY, "no memory for a kernel");
    memset(n, 0, sizeof *n);
    n->from = ir;
    n->caps = caps;
    n->b = kni_ir_begin(ir->name, ir->workgroup);
    n->to = n->b.ir;
    kn_status s = n->b.status;
    if (s == KN_OK && !kni_narrow_begin(n)) s = kni_fail(KN_ERROR_MEMORY, "no memory for a kernel");
    if (s == KN_OK) {
        memcpy(n->to->file, ir->file, sizeof ir->file);
        s = rewrite(n);
    }
    kni_narrow_end(n);
    if (s == KN_OK) {
        /* The caller's module becomes the new one. */
        kni_ir old = *ir;
        *ir = *n->to;
        *n->to = old;
    }
    kni_ir_free(n->to);
    kni_free(n, sizeof *n);
    return s;
}
