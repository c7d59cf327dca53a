/* Values as expressions of WGSL. Its compilers compute what is constant and refuse what overflows there, infinities and NaN included, so an
   expression of constants alone gets one that only the launch knows. */
#include "core/platform.h"
#include "ir/wgsl/wgsl.h"
#include "ops/body.h"
#include <string.h>

static const kni_ir_node *at(const kni_ir_emitter *e, kni_ir_id id) { return &e->ir->nodes[id]; }
static bool is_constant(const kni_ir_emitter *e, kni_ir_id id) { return at(e, id)->code == KNI_IR_CONSTANT; }

/* ---- constants */

static uint32_t bits_of(const kni_ir_node *node)
{
    uint32_t bits = (uint32_t)(uint64_t)node->u.whole;
    if (kni_is_float(node->type.dtype)) {
        float value = (float)node->u.real;
        memcpy(&bits, &value, sizeof bits);
    }
    return bits;
}

/* A value by its bits; hidden: as one that no compiler knows. */
static void put_bits(kni_ir_emitter *e, int dtype, uint32_t bits, bool hidden)
{
    enum { EXPONENT = 0x7f800000 };
    bool special = kni_is_float(dtype) && (bits & EXPONENT) == EXPONENT;
    if (hidden || special) {
        if (kni_is_bool(dtype))
            kni_ir_text_add(e->text, "(numbers[0].w %s 0u)", bits ? "==" : "!=");
        else if (dtype == KN_U32)
            kni_ir_text_add(e->text, "(%uu ^ numbers[0].w)", bits);
        else
            kni_ir_text_add(e->text, "bitcast<%s>(%uu ^ numbers[0].w)", dtype == KN_F32 ? "f32" : "i32",
                            bits);
    } else if (kni_is_bool(dtype)) {
        kni_ir_emit_add(e, bits ? "true" : "false");
    } else if (dtype == KN_U32) {
        kni_ir_text_add(e->text, "%uu", bits);
    } else if (dtype == KN_I32) {
        int32_t value;
        memcpy(&value, &bits, sizeof value);
        if (value == INT32_MIN)
            kni_ir_emit_add(e, "bitcast<i32>(2147483648u)");
        else
            kni_ir_text_add(e->text, value < 0 ? "(%di)" : "%di", value);
    } else {
        float value;
        memcpy(&value, &bits, sizeof value);
        kni_ir_text_add(e->text, bits >> 31 ? "(%rf)" : "%rf", (double)value);
    }
}

/* ---- words: the operator or the function by what the operands are */
enum { NOTHING, INFIX, PREFIX, FUNCTION };
typedef struct word_row {
    const char *name;
    uint8_t kind;
    const char *number, *truth; /* of numbers and of truths; NULL: none */
} word_row;
static const word_row words[] = {
    {"add", INFIX, "+", NULL},          {"sub", INFIX, "-", NULL},
    {"mul", INFIX, "*", NULL},          {"div", INFIX, "/", NULL},
    {"fmod", INFIX, "%", NULL},         {"neg", PREFIX, "-", NULL},
    {"abs", FUNCTION, "abs", NULL},     {"floor", FUNCTION, "floor", NULL},
    {"ceil", FUNCTION, "ceil", NULL},   {"round", FUNCTION, "round", NULL},
    {"trunc", FUNCTION, "trunc", NULL}, {"sqrt", FUNCTION, "sqrt", NULL},
    {"and", INFIX, "&", "&"},           {"or", INFIX, "|", "|"},
    {"xor", INFIX, "^", "!="},          {"not", PREFIX, "~", "!"},
    {"shl", INFIX, "<<", NULL},         {"shr", INFIX, ">>", NULL},
    {"lt", INFIX, "<", NULL},           {"le", INFIX, "<=", NULL},
    {"gt", INFIX, ">", NULL},           {"ge", INFIX, ">=", NULL},
    {"eq", INFIX, "==", "=="},          {"ne", INFIX, "!=", "!="},
};

static const word_row *row_of(const kni_ir_node *node)
{
    const char *name = kni_word_at((int)node->index)->name;
    for (int i = 0; i < KNI_COUNT(words); i++)
        if (!strcmp(words[i].name, name)) return &words[i];
    return NULL;
}

static bool is_word(const kni_ir_node *node, const char *name)
{
    return node->code == KNI_IR_WORD && !strcmp(kni_word_at((int)node->index)->name, name);
}

/* Adding it rounds to a whole number. */
static bool is_rounding(const kni_ir_emitter *e, kni_ir_id id)
{
    const double least = 1 << 22;
    const kni_ir_node *node = at(e, id);
    return node->code == KNI_IR_CONSTANT && (node->u.real >= least || node->u.real <= -least);
}

/* WGSL lets compilers join and reorder sums and products of floats, which takes apart what is meant to round: (x + large) - large. So
   functions have their results kept from it, and kernels their sums, but for those of products, which may be joined. */
static bool is_kept(const kni_ir_emitter *e, const kni_ir_node *node)
{
    if (node->type.dtype != KN_F32) return false;
    if (node->code == KNI_IR_FMA) return e->function || is_rounding(e, node->c);
    bool sum = is_word(node, "add") || is_word(node, "sub");
    if (e->function) return sum || is_word(node, "mul") || is_word(node, "div");
    if (!sum) return false;
    return is_rounding(e, node->a) || is_rounding(e, node->b) ||
           !(is_word(at(e, node->a), "mul") || is_word(at(e, node->b), "mul"));
}

/* The first operand, hidden where all are constants; alone: nothing but a comma stands next to it. */
static void first_operand(kni_ir_emitter *e, const kni_ir_node *node, bool alone)
{
    bool all = is_constant(e, node->a) && (!node->b || is_constant(e, node->b)) &&
               (!node->c || is_constant(e, node->c));
    if (all)
        put_bits(e, at(e, node->a)->type.dtype, bits_of(at(e, node->a)), true);
    else
        (alone ? kni_wgsl_inside : kni_wgsl_value)(e, node->a);
}

static void put_shift(kni_ir_emitter *e, const kni_ir_node *node, const char *sign)
{
    const kni_ir_node *by = at(e, node->b);
    first_operand(e, node, false);
    kni_ir_text_add(e->text, " %s ", sign);
    if (by->code == KNI_IR_CONSTANT) {
        put_bits(e, KN_U32, bits_of(by), false);
    } else if (by->type.dtype == KN_U32) {
        kni_wgsl_value(e, node->b);
    } else {
        kni_ir_emit_add(e, "bitcast<u32>(");
        kni_wgsl_inside(e, node->b);
        kni_ir_emit_add(e, ")");
    }
}

static void put_infix(kni_ir_emitter *e, const kni_ir_node *node, const char *sign)
{
    bool divides = (*sign == '/' || *sign == '%') && !kni_is_float(node->type.dtype);
    if (!strcmp(sign, "<<") || !strcmp(sign, ">>")) {
        put_shift(e, node, sign);
        return;
    }
    first_operand(e, node, false);
    kni_ir_text_add(e->text, " %s ", sign);
    /* A branch that nobody takes may still hold a division by 0. */
    if (divides && is_constant(e, node->b) && !bits_of(at(e, node->b)))
        put_bits(e, at(e, node->b)->type.dtype, 0, true);
    else
        kni_wgsl_value(e, node->b);
}

static void put_word(kni_ir_emitter *e, const kni_ir_node *node)
{
    const word_row *row = row_of(node);
    bool truth = kni_is_bool(at(e, node->a)->type.dtype);
    const char *text = !row ? NULL : truth ? row->truth : row->number;
    if (text && is_word(node, "ne") && kni_is_float(at(e, node->a)->type.dtype)) {
        /* True with a NaN, which `!=` is not in all compilers. */
        kni_ir_emit_add(e, "!(");
        put_infix(e, node, "==");
        kni_ir_emit_add(e, ")");
        return;
    }
    if (!text) {
        kni_ir_emit_fail(e, node, "a word is left that WGSL does not have");
    } else if (row->kind == INFIX) {
        put_infix(e, node, text);
    } else if (row->kind == FUNCTION) {
        kni_ir_text_add(e->text, "%s(", text);
        first_operand(e, node, true);
        kni_ir_emit_add(e, ")");
    } else {
        /* Unsigned numbers have no sign to change. */
        bool wraps = *text == '-' && node->type.dtype == KN_U32;
        kni_ir_emit_add(e, wraps ? "0u - " : text);
        first_operand(e, node, false);
    }
}

/* ---- the rest */

static void put_list(kni_ir_emitter *e, const kni_ir_node *node)
{
    for (uint32_t i = 0; i < node->u.list.count; i++) {
        if (i) kni_ir_emit_add(e, ", ");
        kni_wgsl_inside(e, e->ir->lists[node->u.list.first + i]);
    }
    kni_ir_emit_add(e, ")");
}

static void put_element(kni_ir_emitter *e, const kni_ir_node *node)
{
    const kni_ir_node *index = at(e, node->a);
    if (index->code == KNI_IR_CONSTANT) {
        kni_wgsl_number(e, WGSL_FIRST_WORD + bits_of(index));
        return;
    }
    kni_ir_text_add(e->text, "numbers[%uu + (", WGSL_FIRST_WORD / 4);
    kni_wgsl_value(e, node->a);
    kni_ir_emit_add(e, " >> 2u)][");
    kni_wgsl_value(e, node->a);
    kni_ir_emit_add(e, " & 3u]");
}

static void put_bitcast(kni_ir_emitter *e, const kni_ir_node *node)
{
    if (is_constant(e, node->a)) {
        put_bits(e, node->type.dtype, bits_of(at(e, node->a)), false);
        return;
    }
    kni_ir_text_add(e->text, "bitcast<%s>(", kni_wgsl_type(node->type));
    kni_wgsl_inside(e, node->a);
    kni_ir_emit_add(e, ")");
}

static void put_call(kni_ir_emitter *e, const kni_ir_node *node, const char *name)
{
    kni_ir_text_add(e->text, "%s(", name);
    first_operand(e, node, true);
    for (int i = 1; i < 3; i++) {
        kni_ir_id operand = i == 1 ? node->b : node->c;
        if (!operand) continue;
        kni_ir_emit_add(e, ", ");
        kni_wgsl_inside(e, operand);
    }
    kni_ir_emit_add(e, ")");
}

static void put_select(kni_ir_emitter *e, const kni_ir_node *node)
{
    kni_ir_emit_add(e, "select(");
    kni_wgsl_inside(e, node->c);
    kni_ir_emit_add(e, ", ");
    kni_wgsl_inside(e, node->b);
    kni_ir_emit_add(e, ", ");
    first_operand(e, node, true);
    kni_ir_emit_add(e, ")");
}

static void put_truths(kni_ir_emitter *e, const kni_ir_node *node, const char *sign)
{
    first_operand(e, node, false);
    kni_ir_text_add(e->text, " %s ", sign);
    kni_wgsl_value(e, node->b);
}

static void put_plain(kni_ir_emitter *e, kni_ir_id id)
{
    const kni_ir_node *node = at(e, id);
    switch (node->code) {
    case KNI_IR_CONSTANT:
        put_bits(e, node->type.dtype, bits_of(node), false);
        break;
    case KNI_IR_ELEMENT:
        put_element(e, node);
        break;
    case KNI_IR_WORD:
        put_word(e, node);
        break;
    case KNI_IR_FMA:
        put_call(e, node, "fma");
        break;
    case KNI_IR_AND:
        put_truths(e, node, "&&");
        break;
    case KNI_IR_OR:
        put_truths(e, node, "||");
        break;
    case KNI_IR_NOT:
        kni_ir_emit_add(e, "!");
        first_operand(e, node, false);
        break;
    case KNI_IR_SELECT:
        put_select(e, node);
        break;
    case KNI_IR_CAST:
        put_call(e, node, kni_wgsl_type(node->type));
        break;
    case KNI_IR_BITCAST:
        put_bitcast(e, node);
        break;
    case KNI_IR_LANE:
        kni_wgsl_value(e, node->a);
        kni_ir_emit_add(e, node->index ? ".y" : ".x");
        break;
    case KNI_IR_PACK:
        kni_ir_emit_add(e, "vec2<u32>(");
        put_list(e, node);
        break;
    case KNI_IR_CALL:
        kni_ir_text_add(e->text, "user_%s(", e->ir->functions[node->index].name);
        put_list(e, node);
        break;
    case KNI_IR_LOAD:
        kni_wgsl_load(e, node);
        break;
    case KNI_IR_GET:
        kni_wgsl_name(e, node->a);
        break;
    case KNI_IR_SHUFFLE:
        put_call(e, node, "subgroupShuffleXor");
        break;
    default:
        kni_ir_emit_fail(e, node, "a node is left that was to be expanded");
    }
}

void kni_wgsl_definition(kni_ir_emitter *e, kni_ir_id id)
{
    bool kept = is_kept(e, at(e, id));
    if (kept) kni_ir_emit_uses(e, "keep");
    if (kept) kni_ir_emit_add(e, "keep(");
    put_plain(e, id);
    if (kept) kni_ir_emit_add(e, ")");
}

static void put_builtin(kni_ir_emitter *e, const kni_ir_node *node)
{
    static const char *const names[KNI_IR_BUILTINS] = {[KNI_IR_ITEM] = "item",
                                                       [KNI_IR_GROUP] = "group",
                                                       [KNI_IR_GROUPS] = "groups",
                                                       [KNI_IR_LOCAL] = "member",
                                                       [KNI_IR_LANE_ID] = "lane"};
    if (node->index >= KNI_IR_BUILTINS || !names[node->index]) {
        kni_ir_emit_fail(e, node, "a number of the launch that WGSL has no name for");
        return;
    }
    kni_ir_emit_add(e, names[node->index]);
    if (node->detail) kni_ir_text_add(e->text, "%u", (unsigned)node->detail);
}

/* Whether the definition needs parentheses inside another: all that is no name and no call. */
static bool is_open(const kni_ir_emitter *e, const kni_ir_node *node)
{
    if (node->code == KNI_IR_WORD) return row_of(node) && row_of(node)->kind != FUNCTION && !is_kept(e, node);
    return node->code == KNI_IR_AND || node->code == KNI_IR_OR || node->code == KNI_IR_NOT;
}

static void put_bare(kni_ir_emitter *e, kni_ir_id id)
{
    const kni_ir_node *node = at(e, id);
    if (node->code == KNI_IR_BUILTIN)
        put_builtin(e, node);
    else if (node->code == KNI_IR_ARGUMENT)
        kni_ir_text_add(e->text, "a%u", node->index + 1);
    else if (node->code != KNI_IR_CONSTANT && !e->facts[id].inlined)
        kni_wgsl_name(e, id);
    else
        kni_wgsl_definition(e, id);
}

static void put_value(kni_ir_emitter *e, kni_ir_id id, bool open)
{
    if (open) kni_ir_emit_add(e, "(");
    put_bare(e, id);
    if (open) kni_ir_emit_add(e, ")");
}

void kni_wgsl_value(kni_ir_emitter *e, kni_ir_id id)
{
    put_value(e, id, e->facts[id].inlined && is_open(e, at(e, id)));
}

/* In a list, `a < b, c > d` would be read as what is between angle brackets. */
void kni_wgsl_inside(kni_ir_emitter *e, kni_ir_id id)
{
    put_value(e, id, e->facts[id].inlined && is_word(at(e, id), "lt"));
}
