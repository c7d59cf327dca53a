/* What docs/adding-a-device.md promises printers of the narrow form, node by node. */
#include "core/error.h"
#include "ir/ir_internal.h"
#include "ir/narrow.h"
#include "ops/body.h"
#include <stdarg.h>
#include <string.h>

static kn_status refuse(const kni_ir *ir, const kni_ir_node *node, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    kn_status s = kni_ir_fail_at(ir, node ? node->line : 0, node ? node->column : 0, KN_ERROR_UNSUPPORTED,
                                 format, arguments);
    va_end(arguments);
    return s;
}

enum { FLOATS = 1, INTEGERS = 2 };
static const struct {
    const char *word;
    int on;
} words[] = {{"add", 3}, {"sub", 3},   {"mul", 3},  {"neg", 3},   {"div", 3},   {"fmod", 2},
             {"abs", 1}, {"floor", 1}, {"ceil", 1}, {"round", 1}, {"trunc", 1}, {"sqrt", 1},
             {"and", 2}, {"or", 2},    {"xor", 2},  {"not", 2},   {"shl", 2},   {"shr", 2},
             {"lt", 3},  {"le", 3},    {"gt", 3},   {"ge", 3},    {"eq", 3},    {"ne", 3}};

static bool is_word(const kni_ir *ir, const kni_ir_node *node)
{
    const char *name = kni_word_at((int)node->index)->name;
    int on = kni_is_float(ir->nodes[node->a].type.dtype) ? FLOATS : INTEGERS;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i].word, name)) return (words[i].on & on) && !node->detail;
    return false;
}

static bool is_narrow(int dtype)
{
    return dtype == KN_F32 || dtype == KN_I32 || dtype == KN_U32 || kni_is_bool(dtype);
}

/* Whether the type may stand at the node. */
static bool type_fits(const kni_ir_node *node)
{
    bool pair = node->type.dtype == KN_U32 && node->type.lanes == 2;
    if (node->type.dtype == KN_DTYPE_NONE) return true;
    if (pair) return node->code == KNI_IR_CALL || node->code == KNI_IR_PACK;
    return node->type.lanes == 1 && is_narrow(node->type.dtype);
}

static const char *wrong_with(const kni_ir *ir, const kni_ir_caps *caps, const kni_ir_node *node)
{
    if (!type_fits(node)) return "a value is not of 32 bits";
    switch (node->code) {
    case KNI_IR_PARAM:
    case KNI_IR_VECTOR:
    case KNI_IR_PHILOX:
    case KNI_IR_REPORT:
    case KNI_IR_SUBGROUP:
    case KNI_IR_WORKGROUP:
    case KNI_IR_SCAN:
    case KNI_IR_TILE:
    case KNI_IR_TILE_FILL:
    case KNI_IR_TILE_LOAD:
    case KNI_IR_TILE_STORE:
    case KNI_IR_TILE_MULTIPLY:
        return "a node is left that was to be expanded";
    case KNI_IR_SHUFFLE:
        return caps->subgroups ? NULL : "a shuffle is left where there are no subgroups";
    case KNI_IR_BUILTIN:
        return node->type.dtype == KN_U32 ? NULL : "a number of the launch is not u32";
    case KNI_IR_LOAD:
        return node->b || node->c ? "a load has a condition" : NULL;
    case KNI_IR_STORE:
        return node->c ? "a store has a condition" : NULL;
    case KNI_IR_ATOMIC:
        return !caps->atomics                   ? "this device has no atomics"
               : kni_is_float(node->type.dtype) ? "an atomic of floats is left"
                                                : NULL;
    case KNI_IR_CAST:
        return node->detail || node->type.dtype != KN_F32 || kni_is_bool(ir->nodes[node->a].type.dtype)
                   ? "a conversion is left"
                   : NULL;
    case KNI_IR_WORD:
        return is_word(ir, node) ? NULL : "a word is left";
    default:
        return NULL;
    }
}

static kn_status check_block(const kni_ir *ir, const kni_ir_caps *caps, uint32_t block)
{
    kn_status s = KN_OK;
    for (kni_ir_id id = block ? ir->blocks[block].first : 0; id && s == KN_OK; id = kni_ir_at(ir, id)->next) {
        const kni_ir_node *node = kni_ir_at(ir, id);
        const char *wrong = wrong_with(ir, caps, node);
        if (wrong)
            return refuse(ir, node, "%s (%s%s%s)", wrong, kni_ir_codes[node->code].name,
                          node->code == KNI_IR_WORD ? " " : "",
                          node->code == KNI_IR_WORD ? kni_word_at((int)node->index)->name : "");
        for (int i = 0; i < kni_ir_block_count(node->code) && s == KN_OK; i++)
            s = check_block(ir, caps, node->u.blocks[i]);
    }
    return s;
}

static kn_status check_sizes(const kni_ir *ir, const kni_ir_caps *caps)
{
    uint64_t shared = 0;
    for (uint32_t i = 0; i < ir->n_bindings; i++) {
        const kni_ir_binding *b = &ir->bindings[i];
        bool small = b->space == KNI_IR_GLOBAL &&
                     ((b->dtype == KN_U8 && !caps->no_bytes) || (b->dtype == KN_U16 && caps->half_storage));
        if (!is_narrow(b->dtype) && !small) return refuse(ir, NULL, "'%s' is of %T", b->name, (int)b->dtype);
        if (b->space == KNI_IR_SHARED) shared += (uint64_t)b->length * 4;
    }
    if (caps->max_buffers && ir->n_buffers > caps->max_buffers)
        return refuse(ir, NULL, "it takes %u buffers and the device has %u for a kernel", ir->n_buffers,
                      caps->max_buffers);
    if (caps->param_bytes && ir->param_bytes > caps->param_bytes)
        return refuse(ir, NULL, "it takes %u bytes of numbers and the device has %u", ir->param_bytes,
                      caps->param_bytes);
    if (caps->shared_bytes && shared > caps->shared_bytes)
        return refuse(ir, NULL, "it shares %D bytes in a workgroup and the device has %u", (int64_t)shared,
                      caps->shared_bytes);
    if (caps->max_workgroup && ir->workgroup > caps->max_workgroup)
        return refuse(ir, NULL, "its workgroup of %u is larger than the device's largest, %u", ir->workgroup,
                      caps->max_workgroup);
    return KN_OK;
}

kn_status kni_ir_narrow_check(const kni_ir *ir, const kni_ir_caps *caps)
{
    kn_status s = ir->narrow ? check_sizes(ir, caps) : refuse(ir, NULL, "it is not in the narrow form");
    for (uint32_t i = 0; i < ir->n_functions && s == KN_OK; i++)
        s = check_block(ir, caps, ir->functions[i].body);
    return s == KN_OK ? check_block(ir, caps, ir->body) : s;
}
