/* Makes a kernel one that the target can run: what it lacks is expressed by what it has, or is an error that says so. */
#include "ir/legalise.h"
#include "core/error.h"
#include "core/text.h"
#include "ir/emitter.h"
#include "ir/ir_internal.h"
#include "ir/narrow.h"
#include "ir/prelude.h"
#include "ops/body.h"
#include <stdarg.h>
#include <string.h>

static const char *target(const kni_ir_caps *caps) { return kni_dialect_of(caps->dialect)->name; }

static kn_status refuse(const kni_ir *ir, const kni_ir_node *node, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    kn_status s = kni_ir_fail_at(ir, node ? node->line : 0, node ? node->column : 0, KN_ERROR_UNSUPPORTED,
                                 format, arguments);
    va_end(arguments);
    return s;
}

/* ---- what cannot be helped */

static kn_status check_dtype(const kni_ir *ir, const kni_ir_caps *caps, const kni_ir_node *node, int dtype,
                             const char *what)
{
    bool lacks = (dtype == KN_F64 && !caps->f64) || ((dtype == KN_I64 || dtype == KN_U64) && !caps->i64) ||
                 (kni_is_half(dtype) && !caps->half_storage && !node);
    if (!lacks) return KN_OK;
    return refuse(ir, node, "%s is of %T, which this %s device does not have", what, dtype, target(caps));
}

static kn_status check_launch(const kni_ir *ir, const kni_ir_caps *caps)
{
    kn_status s = KN_OK;
    uint64_t shared = 0;
    for (uint32_t i = 0; i < ir->n_bindings && s == KN_OK; i++) {
        const kni_ir_binding *k = &ir->bindings[i];
        char what[48];
        kni_text text = {what, sizeof what, 0};
        kni_text_format(&text, "buffer '%s'", k->name);
        s = check_dtype(ir, caps, NULL, k->dtype, what);
        if (k->space == KNI_IR_SHARED) shared += (uint64_t)k->length * kni_bytes_of(k->dtype);
    }
    for (uint32_t i = 0; i < ir->n_params && s == KN_OK; i++)
        s = check_dtype(ir, caps, NULL, ir->params[i].dtype, "a number of the launch");
    if (s == KN_OK && caps->max_buffers && ir->n_buffers + ir->reports > caps->max_buffers)
        s = refuse(ir, NULL, "it takes %u buffers and the device has %u for a kernel",
                   ir->n_buffers + ir->reports, caps->max_buffers);
    if (s == KN_OK && caps->param_bytes && ir->param_bytes > caps->param_bytes)
        s = refuse(ir, NULL, "it takes %u bytes of numbers and the device has %u", ir->param_bytes,
                   caps->param_bytes);
    if (s == KN_OK && caps->max_workgroup && ir->workgroup > caps->max_workgroup)
        s = refuse(ir, NULL, "its workgroup of %u is larger than the device's largest, %u", ir->workgroup,
                   caps->max_workgroup);
    if (s == KN_OK && caps->shared_bytes && shared > caps->shared_bytes)
        s = refuse(ir, NULL, "it shares %D bytes in a workgroup and the device has %u", (int64_t)shared,
                   caps->shared_bytes);
    return s;
}

static kn_status check_node(const kni_ir *ir, const kni_ir_caps *caps, const kni_ir_node *node)
{
    kn_status s = check_dtype(ir, caps, node, node->type.dtype, "a value");
    if (s != KN_OK) return s;
    if (node->code == KNI_IR_ATOMIC && !caps->atomics)
        return refuse(ir, node, "this %s device has no atomics", target(caps));
    return KN_OK;
}

/* ---- the walk */

uint32_t kni_legalise_array(kni_legaliser *l, const char *name, int dtype, int space, int64_t length)
{
    const kni_ir *ir = l->ir;
    char buffer[32];
    bool taken = true;
    for (int32_t n = 0; taken && n <= (int32_t)ir->n_bindings; n++) {
        kni_text text = {buffer, sizeof buffer, 0};
        if (n)
            kni_text_format(&text, "%s_%s_%d", name, kni_dtypes[dtype].name, n);
        else
            kni_text_format(&text, "%s_%s", name, kni_dtypes[dtype].name);
        taken = false;
        for (uint32_t i = 0; i < ir->n_bindings; i++) taken |= !strcmp(ir->bindings[i].name, buffer);
    }
    return kni_ir_array(&l->builder, buffer, dtype, space, length);
}

/* Whether the target's own tiles will do: all factors are halves. */
static bool has_tiles(const kni_ir *ir, const kni_ir_caps *caps)
{
    if (!caps->tiles || caps->dialect != KNI_IR_CUDA || caps->subgroup != 32 || ir->workgroup % 32)
        return false;
    for (uint32_t i = 1; i < ir->n_nodes; i++) {
        const kni_ir_node *node = &ir->nodes[i];
        if (node->code == KNI_IR_TILE && node->detail != KNI_IR_TILE_SUM && node->type.dtype == KN_F32)
            return false;
    }
    return true;
}

/* Whether the node goes; *value is what takes its place. */
static bool expand(kni_legaliser *l, kni_ir_id id, kni_ir_id *value)
{
    const kni_ir_node *node = kni_ir_at(l->ir, id);
    *value = 0;
    switch (node->code) {
    case KNI_IR_SUBGROUP:
        *value = kni_legalise_subgroup(l, id);
        return true;
    case KNI_IR_WORKGROUP:
        *value = kni_legalise_workgroup(l, id);
        return true;
    case KNI_IR_SCAN:
        *value = kni_legalise_scan(l, id);
        return true;
    case KNI_IR_SHUFFLE:
        if (l->caps->subgroups && l->lanes > 1) return false;
        *value = kni_legalise_shuffle(l, id);
        return true;
    case KNI_IR_BUILTIN:
        if (node->index != KNI_IR_LANE_ID || (l->caps->subgroups && l->lanes > 1)) return false;
        *value = kni_ir_cast(&l->builder, kni_legalise_lane(l), kni_ir_at(l->ir, id)->type.dtype);
        return true;
    case KNI_IR_TILE:
    case KNI_IR_TILE_FILL:
    case KNI_IR_TILE_LOAD:
    case KNI_IR_TILE_STORE:
    case KNI_IR_TILE_MULTIPLY:
        if (!l->expand_tiles) return false;
        kni_legalise_tile(l, id);
        return true;
    default:
        return false;
    }
}

/* Puts the builder's block before the node, which becomes a read of the value, or goes where it has none. Answers the
   node that now is last before what followed. */
static kni_ir_id replace(kni_legaliser *l, uint32_t block, kni_ir_id before, kni_ir_id id, kni_ir_id value)
{
    kni_ir *ir = l->ir;
    kni_ir_builder *b = &l->builder;
    if (value) {
        /* Users keep the node's id. */
        kni_ir_type type = kni_ir_at(ir, id)->type;
        kni_ir_id kept = kni_ir_variable(b, type.dtype, type.lanes, value);
        kni_ir_node *node = kni_ir_at(ir, id);
        node->code = KNI_IR_GET;
        node->a = kept;
        node->b = node->c = node->index = node->detail = 0;
        memset(&node->u, 0, sizeof node->u);
    }
    kni_ir_block made = ir->blocks[b->stack[0]];
    ir->blocks[b->stack[0]] = (kni_ir_block){0, 0};
    kni_ir_id next = kni_ir_at(ir, id)->next, last = before;
    if (made.first) {
        if (last)
            kni_ir_at(ir, last)->next = made.first;
        else
            ir->blocks[block].first = made.first;
        last = made.last;
    }
    if (value) {
        if (last)
            kni_ir_at(ir, last)->next = id;
        else
            ir->blocks[block].first = id;
        last = id;
    } else {
        kni_ir_at(ir, id)->next = 0;
    }
    if (last)
        kni_ir_at(ir, last)->next = next;
    else
        ir->blocks[block].first = next;
    if (!next) ir->blocks[block].last = last;
    return last;
}

static kn_status legalise_block(kni_legaliser *l, uint32_t block)
{
    kni_ir_id before = 0;
    for (kni_ir_id id = l->ir->blocks[block].first; id;) {
        kni_ir_node node = *kni_ir_at(l->ir, id);
        kn_status s = l->narrow ? KN_OK : check_node(l->ir, l->caps, &node);
        for (int i = 0; i < kni_ir_block_count(node.code) && s == KN_OK; i++)
            if (node.u.blocks[i]) s = legalise_block(l, node.u.blocks[i]);
        if (s != KN_OK) return s;
        kni_ir_id value = 0, next = node.next;
        l->builder.line = node.line;
        l->builder.column = node.column;
        bool goes = expand(l, id, &value);
        if (l->builder.status != KN_OK) return l->builder.status;
        before = goes ? replace(l, block, before, id, value) : id;
        if (l->builder.status != KN_OK) return l->builder.status;
        id = next;
    }
    return KN_OK;
}

/* Whether a word is one that the target would compute in f64, without having any. */
static bool is_wide_word(const kni_ir *ir, const kni_ir_caps *caps, const kni_ir_node *node)
{
    char name[64];
    if (node->code != KNI_IR_WORD) return false;
    kni_text text = {name, sizeof name, 0};
    kni_text_format(&text, "kni_word_%s_%s", kni_word_at((int)node->index)->name,
                    kni_dtypes[ir->nodes[node->a].type.dtype].name);
    return kni_ir_prelude_uses_f64(name, caps->dialect);
}

/* Whether it is an atomic of 64 bits, and the target has those of 32 alone. */
static bool is_wide_atomic(const kni_ir *ir, const kni_ir_caps *caps, const kni_ir_node *node)
{
    const kni_dialect *d = kni_dialect_of(caps->dialect);
    return node->code == KNI_IR_ATOMIC && d->compare[0] && !d->compare[1] &&
           kni_dtypes[ir->bindings[node->index].dtype].bits == 64;
}

/* Whether the target needs the narrow form: for what it lacks everywhere, or for what this kernel computes in f64
   or does to 64 bits at once. */
static bool needs_narrow(const kni_ir *ir, const kni_ir_caps *caps)
{
    if (kni_ir_wants_narrow(caps)) return true;
    for (uint32_t i = 1; i < ir->n_nodes; i++) {
        const kni_ir_node *node = &ir->nodes[i];
        if (is_wide_atomic(ir, caps, node)) return true;
        if (!caps->f64 && (node->type.dtype == KN_F64 || is_wide_word(ir, caps, node))) return true;
    }
    return false;
}

/* The entry is kn_<name>, as long as it fits: no target has a meaning for that. */
static void name_entry(kni_ir *ir)
{
    char name[sizeof ir->name];
    kni_text text = {name, sizeof name, 0};
    kni_text_format(&text, "kn_%s", ir->name);
    memcpy(ir->name, name, sizeof name);
}

kn_status kni_ir_legalise(kni_ir *ir, const kni_ir_caps *caps)
{
    if (caps->dialect >= KNI_IR_DIALECTS) return refuse(ir, NULL, "no such dialect");
    kni_legaliser l = {.ir = ir, .caps = caps, .builder = {.ir = ir, .depth = 1}};
    l.lanes = caps->subgroup ? caps->subgroup : 1;
    l.narrow = needs_narrow(ir, caps);
    l.expand_tiles = l.narrow || !has_tiles(ir, caps);
    l.builder.stack[0] = kni_ir_new_block(ir);
    if (!l.builder.stack[0]) return kni_fail(KN_ERROR_MEMORY, "no memory for a kernel");
    name_entry(ir);
    kn_status s = KN_OK;
    for (uint32_t i = 0; i < ir->n_functions && s == KN_OK; i++)
        s = legalise_block(&l, ir->functions[i].body);
    if (s == KN_OK) s = legalise_block(&l, ir->body);
    if (s == KN_OK && l.narrow) return kni_ir_narrow(ir, caps);
    if (s == KN_OK) s = check_launch(ir, caps);
    return s == KN_OK ? kni_ir_verify(ir) : s;
}
