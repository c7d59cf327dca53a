/* Values, memory and atomics as instructions of SPIR-V. */
#include "core/platform.h"
#include "ir/spirv/spirv.h"
#include "ops/body.h"
#include <string.h>

/* ---- words: the instruction by what the operands are. From EXTENDED on the numbers are those of GLSL.std.450. */
enum { NO = 0, EXTENDED = 0x10000 };
typedef struct word_row {
    const char *name;
    uint32_t f32, i32, u32, truth;
} word_row;
static const word_row words[] = {
    {"add", 129, 128, 128, NO},
    {"sub", 131, 130, 130, NO},
    {"mul", 133, 132, 132, NO},
    {"neg", 127, 126, 126, NO},
    {"div", 136, SPIRV_S_DIV, 134, NO},
    {"fmod", NO, NO, 137, NO}, /* of I32 below: the specification leaves negative operands open */
    {"abs", EXTENDED + 4, NO, NO, NO},
    {"round", EXTENDED + 2, NO, NO, NO},
    {"trunc", EXTENDED + 3, NO, NO, NO},
    {"floor", EXTENDED + 8, NO, NO, NO},
    {"ceil", EXTENDED + 9, NO, NO, NO},
    {"sqrt", EXTENDED + 31, NO, NO, NO},
    {"and", NO, 199, 199, SPIRV_LOGICAL_AND},
    {"or", NO, 197, 197, SPIRV_LOGICAL_OR},
    {"xor", NO, 198, 198, SPIRV_LOGICAL_NOT_EQUAL},
    {"not", NO, 200, 200, SPIRV_LOGICAL_NOT},
    {"shl", NO, 196, 196, NO},
    {"shr", NO, 195, 194, NO},
    {"lt", 184, SPIRV_S_LESS, SPIRV_U_LESS, NO},
    {"le", 188, 179, 178, NO},
    {"gt", 186, 173, 172, NO},
    {"ge", 190, 175, 174, NO},
    {"eq", 180, 170, 170, SPIRV_LOGICAL_EQUAL},
    {"ne", 183, 171, 171, SPIRV_LOGICAL_NOT_EQUAL},
};
enum { FMA = EXTENDED + 50, FLOAT_ADD = 129, FLOAT_SUB = 131, FLOAT_MUL = 133 };

static int dtype_of(const kni_spirv *s, kni_ir_id id) { return kni_ir_at(s->ir, id)->type.dtype; }

static uint32_t word_code(const kni_spirv *s, const kni_ir_node *node)
{
    const char *name = kni_word_at((int)node->index)->name;
    int dtype = dtype_of(s, node->a);
    for (int i = 0; i < KNI_COUNT(words); i++)
        if (!strcmp(words[i].name, name))
            return kni_is_bool(dtype)    ? words[i].truth
                   : kni_is_float(dtype) ? words[i].f32
                   : dtype == KN_I32     ? words[i].i32
                                         : words[i].u32;
    return NO;
}

static uint32_t constant_of(kni_spirv *s, const kni_ir_node *node)
{
    uint32_t bits = (uint32_t)(uint64_t)node->u.whole;
    if (kni_is_float(node->type.dtype)) {
        float value = (float)node->u.real;
        memcpy(&bits, &value, sizeof bits);
    }
    return kni_spirv_constant(s, node->type.dtype, bits);
}

uint32_t kni_spirv_value(kni_spirv *s, kni_ir_id id)
{
    const kni_ir_node *node = kni_ir_at(s->ir, id);
    if (node->code == KNI_IR_CONSTANT) return constant_of(s, node);
    if (!s->ids[id]) kni_spirv_fail(s, node, "a value is read that was not made");
    return s->ids[id];
}

/* a - a / b * b: the sign of the dividend. */
static uint32_t remainder_of(kni_spirv *s, uint32_t type, uint32_t a, uint32_t b)
{
    uint32_t quotient = kni_spirv_make(s, SPIRV_S_DIV, type, 2, a, b);
    uint32_t product = kni_spirv_make(s, SPIRV_INT_MUL, type, 2, quotient, b);
    return kni_spirv_make(s, SPIRV_INT_SUB, type, 2, a, product);
}

static uint32_t word_value(kni_spirv *s, const kni_ir_node *node)
{
    uint32_t type = kni_spirv_type(s, node->type), a = kni_spirv_value(s, node->a);
    uint32_t b = node->b ? kni_spirv_value(s, node->b) : 0, code = word_code(s, node), id;
    if (code == NO && dtype_of(s, node->a) == KN_I32 && !strcmp(kni_word_at((int)node->index)->name, "fmod"))
        return remainder_of(s, type, a, b);
    if (code == NO) {
        kni_spirv_fail(s, node, "a word is left that SPIR-V has no instruction for");
        return 0;
    }
    if (code >= EXTENDED)
        id = kni_spirv_make(s, SPIRV_EXTENDED, type, 3, s->library, code - EXTENDED, a);
    else
        id = kni_spirv_make(s, code, type, b ? 2 : 1, a, b);
    /* The bits of the formula as it is written: no driver may join a product and a sum. */
    if (code == FLOAT_ADD || code == FLOAT_SUB || code == FLOAT_MUL)
        kni_spirv_put(s, &s->notes, SPIRV_DECORATE, 2, id, SPIRV_UNCONTRACTED);
    return id;
}

/* ---- memory */

/* Elements of 8 and 16 bits are converted as they come and go. */
static bool is_small(const kni_spirv *s, uint32_t binding)
{
    return s->ir->bindings[binding].space == KNI_IR_GLOBAL &&
           kni_bytes_of(s->ir->bindings[binding].dtype) < 4;
}

static uint32_t load(kni_spirv *s, const kni_ir_node *node)
{
    const kni_ir_binding *b = &s->ir->bindings[node->index];
    uint32_t place = kni_spirv_element(s, node->index, kni_spirv_value(s, node->a));
    uint32_t stored = kni_spirv_scalar(s, b->space == KNI_IR_TABLE ? KN_U32 : b->dtype);
    uint32_t value = kni_spirv_make(s, SPIRV_LOAD, stored, 1, place);
    return is_small(s, node->index)
               ? kni_spirv_make(s, SPIRV_U_CONVERT, kni_spirv_scalar(s, KN_U32), 1, value)
               : value;
}

static void store(kni_spirv *s, const kni_ir_node *node)
{
    uint32_t place = kni_spirv_element(s, node->index, kni_spirv_value(s, node->a));
    uint32_t value = kni_spirv_value(s, node->b);
    if (is_small(s, node->index))
        value = kni_spirv_make(s, SPIRV_U_CONVERT, kni_spirv_scalar(s, s->ir->bindings[node->index].dtype), 1,
                               value);
    kni_spirv_put(s, &s->code, SPIRV_STORE, 2, place, value);
}

/* Atomics order nothing but themselves; barriers do the rest. */
enum { SCOPE_DEVICE = 1, SCOPE_WORKGROUP = 2, SCOPE_SUBGROUP = 3, RELAXED = 0 };

static uint32_t atomic(kni_spirv *s, const kni_ir_node *node)
{
    const kni_ir_binding *b = &s->ir->bindings[node->index];
    bool is_signed = node->type.dtype == KN_I32;
    uint32_t type = kni_spirv_type(s, node->type),
             place = kni_spirv_element(s, node->index, kni_spirv_value(s, node->a));
    uint32_t value = kni_spirv_value(s, node->b), order = kni_spirv_u32(s, RELAXED);
    uint32_t scope = kni_spirv_u32(s, b->space == KNI_IR_SHARED ? SCOPE_WORKGROUP : SCOPE_DEVICE);
    uint32_t code = 0;
    switch (node->detail) {
    case KNI_IR_ADD:
        code = SPIRV_ATOMIC_ADD;
        break;
    case KNI_IR_MIN:
        code = is_signed ? SPIRV_ATOMIC_S_MIN : SPIRV_ATOMIC_U_MIN;
        break;
    case KNI_IR_MAX:
        code = is_signed ? SPIRV_ATOMIC_S_MAX : SPIRV_ATOMIC_U_MAX;
        break;
    case KNI_IR_EXCHANGE:
        code = SPIRV_EXCHANGE;
        break;
    case KNI_IR_COMPARE:
        return kni_spirv_make(s, SPIRV_COMPARE_EXCHANGE, type, 6, place, scope, order, order, value,
                              kni_spirv_value(s, node->c));
    default:
        kni_spirv_fail(s, node, "an atomic that SPIR-V has no instruction for");
        return 0;
    }
    return kni_spirv_make(s, code, type, 4, place, scope, order, value);
}

/* ---- the rest */

static uint32_t with_list(kni_spirv *s, const kni_ir_node *node, uint32_t code, uint32_t callee)
{
    uint32_t first[3] = {kni_spirv_type(s, node->type), kni_spirv_id(s), callee};
    kni_spirv_words list = {NULL, 0, 0};
    for (uint32_t i = 0; i < node->u.list.count; i++)
        kni_spirv_word(s, &list, kni_spirv_value(s, s->ir->lists[node->u.list.first + i]));
    if (s->status == KN_OK)
        kni_spirv_put_list(s, &s->code, code, first, callee ? 3 : 2, list.data, (uint32_t)list.count);
    kni_spirv_words_free(&list);
    return first[1];
}

static uint32_t cast_value(kni_spirv *s, const kni_ir_node *node)
{
    uint32_t code = dtype_of(s, node->a) == KN_I32 ? SPIRV_S_TO_FLOAT : SPIRV_U_TO_FLOAT;
    return kni_spirv_make(s, code, kni_spirv_type(s, node->type), 1, kni_spirv_value(s, node->a));
}

static uint32_t bitcast_value(kni_spirv *s, const kni_ir_node *node)
{
    if (dtype_of(s, node->a) == node->type.dtype) return kni_spirv_value(s, node->a);
    return kni_spirv_make(s, SPIRV_BITCAST, kni_spirv_type(s, node->type), 1, kni_spirv_value(s, node->a));
}

static uint32_t value_of(kni_spirv *s, const kni_ir_node *node)
{
    uint32_t type = kni_spirv_type(s, node->type);
    switch (node->code) {
    case KNI_IR_ELEMENT:
        return kni_spirv_number(s, kni_spirv_value(s, node->a));
    case KNI_IR_BUILTIN:
        return kni_spirv_builtin(s, node);
    case KNI_IR_ARGUMENT:
        return s->arguments[node->index];
    case KNI_IR_WORD:
        return word_value(s, node);
    case KNI_IR_FMA:
        return kni_spirv_make(s, SPIRV_EXTENDED, type, 5, s->library, FMA - EXTENDED,
                              kni_spirv_value(s, node->a), kni_spirv_value(s, node->b),
                              kni_spirv_value(s, node->c));
    case KNI_IR_AND:
        return kni_spirv_make(s, SPIRV_LOGICAL_AND, type, 2, kni_spirv_value(s, node->a),
                              kni_spirv_value(s, node->b));
    case KNI_IR_OR:
        return kni_spirv_make(s, SPIRV_LOGICAL_OR, type, 2, kni_spirv_value(s, node->a),
                              kni_spirv_value(s, node->b));
    case KNI_IR_NOT:
        return kni_spirv_make(s, SPIRV_LOGICAL_NOT, type, 1, kni_spirv_value(s, node->a));
    case KNI_IR_SELECT:
        return kni_spirv_make(s, SPIRV_SELECT, type, 3, kni_spirv_value(s, node->a),
                              kni_spirv_value(s, node->b), kni_spirv_value(s, node->c));
    case KNI_IR_CAST:
        return cast_value(s, node);
    case KNI_IR_BITCAST:
        return bitcast_value(s, node);
    case KNI_IR_LANE:
        return kni_spirv_make(s, SPIRV_EXTRACT, type, 2, kni_spirv_value(s, node->a), node->index);
    case KNI_IR_PACK:
        return with_list(s, node, SPIRV_CONSTRUCT, 0);
    case KNI_IR_CALL:
        return with_list(s, node, SPIRV_CALL, s->functions[node->index]);
    case KNI_IR_LOAD:
        return load(s, node);
    case KNI_IR_ATOMIC:
        return atomic(s, node);
    case KNI_IR_GET:
        return kni_spirv_make(s, SPIRV_LOAD, type, 1, s->slots[node->a]);
    case KNI_IR_SHUFFLE:
        return kni_spirv_make(s, SPIRV_SHUFFLE_XOR, type, 3, kni_spirv_u32(s, SCOPE_SUBGROUP),
                              kni_spirv_value(s, node->a), kni_spirv_value(s, node->b));
    default:
        kni_spirv_fail(s, node, "a node is left that was to be expanded");
        return 0;
    }
}

void kni_spirv_node(kni_spirv *s, kni_ir_id id)
{
    const kni_ir_node *node = kni_ir_at(s->ir, id);
    if (node->code == KNI_IR_STORE)
        store(s, node);
    else if (node->code != KNI_IR_CONSTANT)
        s->ids[id] = value_of(s, node);
}
