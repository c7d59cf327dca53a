/* Expressions: one scalar at a time, a lane of a vector by its number, with as few brackets as C needs. */
#include "core/text.h"
#include "ir/emitter.h"
#include "ir/prelude.h"
#include "ops/body.h"
#include <string.h>

/* Calls a function of the prelude: prints its name and remembers it. */
static void call(kni_ir_emitter *e, const char *name, const char *suffix)
{
    kni_ir_emit_uses(e, "%s%s", name, suffix);
    kni_ir_text_add(e->text, "%s%s(", name, suffix);
}

/* ---- constants */

/* The shortest decimal of at most seven digits that a compiler reads as this float. */
static bool short_float(kni_ir_emitter *e, float v)
{
    float scale = 1;
    for (int k = 0; k <= 7; k++, scale *= 10) {
        float m = v * scale;
        if (!(m < 10000000.0f)) return false;
        uint32_t whole = (uint32_t)(m + 0.5f);
        if ((float)whole / scale != v) continue;
        uint32_t divisor = (uint32_t)scale;
        kni_ir_text_add(e->text, "%u.", whole / divisor);
        uint32_t rest = whole % divisor;
        for (divisor /= 10; divisor; divisor /= 10) kni_ir_text_add(e->text, "%u", rest / divisor % 10);
        kni_ir_emit_add(e, k ? "f" : "0f");
        return true;
    }
    return false;
}

static void real_constant(kni_ir_emitter *e, int dtype, double v, int level)
{
    bool single = dtype == KN_F32;
    if (v != v) {
        kni_ir_emit_add(e, single ? "KNI_NAN_F32" : "KNI_NAN_F64");
        return;
    }
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    bool negative = bits >> 63 != 0, brackets = negative && level > KNI_LEVEL_UNARY - 1;
    if (negative) v = -v;
    kni_ir_emit_add(e, brackets ? "(-" : negative ? "-" : "");
    if (v > 1.7976931348623157e308)
        kni_ir_emit_add(e, single ? "KNI_INF_F32" : "KNI_INF_F64");
    else if (!single || !short_float(e, (float)v))
        kni_ir_text_add(e->text, single ? "%rf" : "%r", v);
    if (brackets) kni_ir_emit_add(e, ")");
}

static void constant(kni_ir_emitter *e, const kni_ir_node *node, int level)
{
    int dtype = node->type.dtype;
    int64_t v = node->u.whole;
    if (kni_is_float(dtype)) {
        real_constant(e, dtype, node->u.real, level);
    } else if (kni_is_bool(dtype)) {
        kni_ir_emit_add(e, v ? "1" : "0");
    } else if (dtype == KN_U32) {
        kni_ir_text_add(e->text, "%uu", (uint32_t)v);
    } else if (dtype == KN_U64) {
        kni_ir_text_add(e->text, "%llu%s", (unsigned long long)v, e->dialect->suffix[1]);
    } else if (v == (dtype == KN_I32 ? INT32_MIN : INT64_MIN)) {
        kni_ir_text_add(e->text, "(-%lld%s - 1)", (long long)-(v + 1),
                        dtype == KN_I32 ? "" : e->dialect->suffix[0]);
    } else {
        bool brackets = v < 0 && level > KNI_LEVEL_UNARY - 1;
        bool large = dtype == KN_I64 && (v > 0xffff || v < -0xffff);
        kni_ir_text_add(e->text, brackets ? "(%lld%s)" : "%lld%s", (long long)v,
                        large ? e->dialect->suffix[0] : "");
    }
}

/* ---- casts */

int kni_ir_emit_cast_begin(kni_ir_emitter *e, int to, int from, int level, bool *closes)
{
    *closes = false;
    if (to == from) return level;
    bool half = kni_is_half(to) || kni_is_half(from);
    bool truncates = kni_is_float(from) && !kni_is_float(to);
    if (half || truncates) {
        char suffix[24];
        kni_text text = {suffix, sizeof suffix, 0};
        kni_text_format(&text, "%s_%s", kni_dtypes[to].name, kni_dtypes[from].name);
        call(e, "kni_cast_", suffix);
        *closes = true;
        return KNI_LEVEL_ANY;
    }
    if (level > KNI_LEVEL_UNARY) {
        kni_ir_emit_add(e, "(");
        *closes = true;
    }
    kni_ir_text_add(e->text, "(%s)", kni_dialect_storage_type(to));
    return KNI_LEVEL_UNARY;
}

/* x as a truth; truths that memory holds and numbers alike. */
static void truth_of(kni_ir_emitter *e, kni_ir_id id, int lane, int level)
{
    if (level > KNI_LEVEL_EQUAL) kni_ir_emit_add(e, "(");
    kni_ir_emit_value(e, id, lane, KNI_LEVEL_EQUAL + 1);
    kni_ir_emit_add(e, " != 0");
    if (level > KNI_LEVEL_EQUAL) kni_ir_emit_add(e, ")");
}

static void cast(kni_ir_emitter *e, const kni_ir_node *node, int lane, int level)
{
    int to = node->type.dtype, from = e->ir->nodes[node->a].type.dtype;
    bool outer = false, inner = false;
    if (node->detail) {
        /* Rounds to what memory of that dtype could hold. */
        int inside = kni_ir_emit_cast_begin(e, to, node->detail, level, &outer);
        if (kni_is_bool(node->detail))
            truth_of(e, node->a, lane, inside);
        else
            kni_ir_emit_value(e, node->a, lane,
                              kni_ir_emit_cast_begin(e, node->detail, from, inside, &inner));
        if (inner) kni_ir_emit_add(e, ")");
        if (outer) kni_ir_emit_add(e, ")");
    } else if (kni_is_bool(to) && !kni_is_bool(from)) {
        truth_of(e, node->a, lane, level);
    } else {
        kni_ir_emit_value(e, node->a, lane, kni_ir_emit_cast_begin(e, to, from, level, &outer));
        if (outer) kni_ir_emit_add(e, ")");
    }
}

static void bitcast(kni_ir_emitter *e, const kni_ir_node *node, int lane, int level)
{
    int to = node->type.dtype, from = e->ir->nodes[node->a].type.dtype;
    bool wide = kni_dtypes[to].bits == 64;
    if (kni_is_float(to) == kni_is_float(from)) {
        bool closes;
        kni_ir_emit_value(e, node->a, lane, kni_ir_emit_cast_begin(e, to, from, level, &closes));
        if (closes) kni_ir_emit_add(e, ")");
        return;
    }
    int bits = wide ? KN_U64 : KN_U32;
    bool closes = false;
    if (kni_is_float(to)) {
        call(e, "kni_from_bits_", wide ? "f64" : "f32");
        kni_ir_emit_value(e, node->a, lane, kni_ir_emit_cast_begin(e, bits, from, KNI_LEVEL_ANY, &closes));
    } else {
        kni_ir_emit_cast_begin(e, to, bits, level, &closes);
        call(e, "kni_bits_", wide ? "f64" : "f32");
        kni_ir_emit_value(e, node->a, lane, KNI_LEVEL_ANY);
    }
    kni_ir_emit_add(e, closes ? "))" : ")");
}

/* ---- words */

typedef struct infix {
    const char *word, *text;
    uint8_t level;
    bool wraps;         /* may overflow where integers have a sign */
    bool floats, whole; /* where the operator means the word */
} infix;

static const infix infixes[] = {
    {"add", " + ", KNI_LEVEL_SUM, true, true, true},
    {"sub", " - ", KNI_LEVEL_SUM, true, true, true},
    {"mul", " * ", KNI_LEVEL_PRODUCT, true, true, true},
    {"div", " / ", KNI_LEVEL_PRODUCT, false, true, false},
    {"and", " & ", KNI_LEVEL_BIT_AND, false, false, true},
    {"or", " | ", KNI_LEVEL_BIT_OR, false, false, true},
    {"xor", " ^ ", KNI_LEVEL_BIT_XOR, false, false, true},
    {"lt", " < ", KNI_LEVEL_LESS, false, true, true},
    {"le", " <= ", KNI_LEVEL_LESS, false, true, true},
    {"gt", " > ", KNI_LEVEL_LESS, false, true, true},
    {"ge", " >= ", KNI_LEVEL_LESS, false, true, true},
    {"eq", " == ", KNI_LEVEL_EQUAL, false, true, true},
    {"ne", " != ", KNI_LEVEL_EQUAL, false, true, true},
    {"neg", "-", KNI_LEVEL_UNARY, true, true, true},
    {"not", "~", KNI_LEVEL_UNARY, false, false, true},
};

static void operation(kni_ir_emitter *e, const kni_ir_node *node, int lane, int level, const infix *op)
{
    bool unary = op->level == KNI_LEVEL_UNARY;
    if (level > op->level) kni_ir_emit_add(e, "(");
    if (!unary) kni_ir_emit_value(e, node->a, lane, op->level);
    kni_ir_emit_add(e, op->text);
    /* One level tighter: subtraction and rounding go from the left. */
    kni_ir_emit_value(e, unary ? node->a : node->b, lane, op->level + 1);
    if (level > op->level) kni_ir_emit_add(e, ")");
}

/* Arithmetic on data that may overflow, by way of unsigned integers. */
static void wrapping(kni_ir_emitter *e, const kni_ir_node *node, int lane, int level, const infix *op)
{
    int dtype = node->type.dtype, bits = dtype == KN_I32 ? KN_U32 : KN_U64;
    const char *as = kni_dialect_storage_type(bits);
    if (level > KNI_LEVEL_UNARY) kni_ir_emit_add(e, "(");
    kni_ir_text_add(e->text, "(%s)(", kni_dialect_storage_type(dtype));
    if (op->level == KNI_LEVEL_UNARY) {
        kni_ir_text_add(e->text, "0 - (%s)", as);
        kni_ir_emit_value(e, node->a, lane, KNI_LEVEL_UNARY);
    } else {
        kni_ir_text_add(e->text, "(%s)", as);
        kni_ir_emit_value(e, node->a, lane, KNI_LEVEL_UNARY);
        kni_ir_text_add(e->text, "%s(%s)", op->text, as);
        kni_ir_emit_value(e, node->b, lane, KNI_LEVEL_UNARY);
    }
    kni_ir_emit_add(e, level > KNI_LEVEL_UNARY ? "))" : ")");
}

/* Words that guard against operands which a constant is not: a / 4, a % 4, a >> 2. */
static const infix guarded[] = {
    {"div", " / ", KNI_LEVEL_PRODUCT, false, false, true},
    {"fmod", " % ", KNI_LEVEL_PRODUCT, false, false, true},
    {"shr", " >> ", KNI_LEVEL_SHIFT, false, false, true},
    {"shl", " << ", KNI_LEVEL_SHIFT, false, false, true}, /* of narrow kernels alone */
};
enum { SHL = 3 };

static const infix *unguarded(const kni_ir_emitter *e, const kni_ir_node *node, const char *name)
{
    const kni_ir_node *by = &e->ir->nodes[node->b];
    size_t n = sizeof guarded / sizeof *guarded, last = e->ir->narrow ? n : SHL;
    for (size_t i = 0; e->ir->narrow && i < n; i++)
        if (!strcmp(guarded[i].word, name)) return &guarded[i];
    if (by->code == KNI_IR_VECTOR) by = &e->ir->nodes[by->a];
    bool size = by->code == KNI_IR_BUILTIN && (by->index == KNI_IR_LOCALS || by->index == KNI_IR_LANES);
    if (!node->b || !(size || by->code == KNI_IR_CONSTANT) || kni_is_float(by->type.dtype)) return NULL;
    int64_t most = name[0] == 's' ? kni_dtypes[by->type.dtype].bits - 1 : INT64_MAX;
    if (!size && (by->u.whole < (name[0] != 's') || by->u.whole > most)) return NULL;
    for (size_t i = 0; i < last; i++)
        if (!strcmp(guarded[i].word, name)) return &guarded[i];
    return NULL;
}

static void operands(kni_ir_emitter *e, const kni_ir_node *node, int lane)
{
    kni_ir_emit_value(e, node->a, lane, KNI_LEVEL_ANY);
    if (node->b) {
        kni_ir_emit_add(e, ", ");
        kni_ir_emit_value(e, node->b, lane, KNI_LEVEL_ANY);
    }
    kni_ir_emit_add(e, ")");
}

/* By the dialect's own instruction; false: it has none, the word itself is near enough. */
static bool near_word(kni_ir_emitter *e, const kni_ir_node *node, const char *name, int lane)
{
    char function[40];
    kni_text text = {function, sizeof function, 0};
    kni_text_format(&text, "kni_near_%s_f32", name);
    if (!kni_ir_prelude_near(function, e->caps->dialect)) return false;
    call(e, function, "");
    operands(e, node, lane);
    return true;
}

static void word(kni_ir_emitter *e, kni_ir_id id, int lane, int level)
{
    const kni_ir_node *node = &e->ir->nodes[id];
    const kni_word *w = kni_word_at((int)node->index);
    int dtype = e->ir->nodes[node->a].type.dtype;
    bool is_float = kni_is_float(dtype);
    if (node->detail && near_word(e, node, w->name, lane)) return;
    for (size_t i = 0; i < sizeof infixes / sizeof *infixes; i++) {
        const infix *op = &infixes[i];
        if (strcmp(op->word, w->name)) continue;
        if (!(is_float ? op->floats : op->whole)) break;
        if (op->wraps && !e->dialect->wraps && e->facts[id].data && (dtype == KN_I32 || dtype == KN_I64))
            wrapping(e, node, lane, level, op);
        else
            operation(e, node, lane, level, op);
        return;
    }
    const infix *plain = is_float ? NULL : unguarded(e, node, w->name);
    if (plain) {
        operation(e, node, lane, level, plain);
        return;
    }
    char suffix[40];
    kni_text text = {suffix, sizeof suffix, 0};
    kni_text_format(&text, "%s_%s", w->name, kni_is_bool(dtype) ? "i32" : kni_dtypes[dtype].name);
    call(e, "kni_word_", suffix);
    operands(e, node, lane);
}

/* ---- the rest */

static void arguments(kni_ir_emitter *e, const kni_ir_node *node)
{
    for (uint32_t i = 0; i < node->u.list.count; i++) {
        if (i) kni_ir_emit_add(e, ", ");
        kni_ir_emit_whole(e, e->ir->lists[node->u.list.first + i]);
    }
}

static void builtin(kni_ir_emitter *e, const kni_ir_node *node, int level)
{
    static const char *const names[] = {[KNI_IR_ITEM] = "item",
                                        [KNI_IR_GROUP] = "group",
                                        [KNI_IR_GROUPS] = "groups",
                                        [KNI_IR_LOCAL] = "member",
                                        [KNI_IR_LANE_ID] = "lane"};
    if (node->index == KNI_IR_LOCALS || node->index == KNI_IR_LANES) {
        kni_ir_node number = *node;
        number.u.whole = node->index == KNI_IR_LOCALS ? e->ir->workgroup
                         : e->caps->subgroup          ? e->caps->subgroup
                                                      : 1;
        constant(e, &number, level);
        return;
    }
    int natural = e->ir->narrow                                                  ? KN_U32
                  : node->index == KNI_IR_LOCAL || node->index == KNI_IR_LANE_ID ? KN_I32
                                                                                 : KN_I64;
    bool closes;
    kni_ir_emit_cast_begin(e, node->type.dtype, natural, level, &closes);
    kni_ir_emit_add(e, names[node->index]);
    if (node->detail) kni_ir_text_add(e->text, "%u", (unsigned)node->detail);
    if (closes) kni_ir_emit_add(e, ")");
}

static void joined(kni_ir_emitter *e, const kni_ir_node *node, int lane, int level, const char *text, int own)
{
    if (level > own) kni_ir_emit_add(e, "(");
    kni_ir_emit_value(e, node->a, lane, own);
    kni_ir_emit_add(e, text);
    kni_ir_emit_value(e, node->b, lane, own + 1);
    if (level > own) kni_ir_emit_add(e, ")");
}

static void choice(kni_ir_emitter *e, const kni_ir_node *node, int lane, int level)
{
    if (level > KNI_LEVEL_CHOICE) kni_ir_emit_add(e, "(");
    kni_ir_emit_value(e, node->a, lane, KNI_LEVEL_CHOICE + 1);
    kni_ir_emit_add(e, " ? ");
    kni_ir_emit_value(e, node->b, lane, KNI_LEVEL_CHOICE + 1);
    kni_ir_emit_add(e, " : ");
    kni_ir_emit_value(e, node->c, lane, KNI_LEVEL_CHOICE);
    if (level > KNI_LEVEL_CHOICE) kni_ir_emit_add(e, ")");
}

static void member(kni_ir_emitter *e, const kni_ir_node *node)
{
    kni_ir_emit_add(e, e->dialect->params);
    kni_ir_emit_user_name(e, e->ir->params[node->index].name);
    if (node->code == KNI_IR_PARAM) return;
    kni_ir_emit_add(e, "[");
    kni_ir_emit_value(e, node->a, 0, KNI_LEVEL_ANY);
    kni_ir_emit_add(e, "]");
}

static void three(kni_ir_emitter *e, const kni_ir_node *node, int lane)
{
    kni_ir_emit_value(e, node->a, lane, KNI_LEVEL_ANY);
    kni_ir_emit_add(e, ", ");
    kni_ir_emit_value(e, node->b, lane, KNI_LEVEL_ANY);
    kni_ir_emit_add(e, ", ");
    kni_ir_emit_value(e, node->c, lane, KNI_LEVEL_ANY);
    kni_ir_emit_add(e, ")");
}

static void expression(kni_ir_emitter *e, kni_ir_id id, int lane, int level)
{
    const kni_ir_node *node = &e->ir->nodes[id];
    switch (node->code) {
    case KNI_IR_CONSTANT:
        constant(e, node, level);
        break;
    case KNI_IR_PARAM:
    case KNI_IR_ELEMENT:
        member(e, node);
        break;
    case KNI_IR_BUILTIN:
        builtin(e, node, level);
        break;
    case KNI_IR_ARGUMENT:
        kni_ir_text_add(e->text, "a%u", node->index + 1);
        if (node->type.lanes > 1) kni_ir_text_add(e->text, ".s%c", kni_ir_lane_letters[lane]);
        break;
    case KNI_IR_WORD:
        word(e, id, lane, level);
        break;
    case KNI_IR_FMA:
        call(e, "kni_fma_", kni_dtypes[node->type.dtype].name);
        three(e, node, lane);
        break;
    case KNI_IR_AND:
        joined(e, node, lane, level, " && ", KNI_LEVEL_AND);
        break;
    case KNI_IR_OR:
        joined(e, node, lane, level, " || ", KNI_LEVEL_OR);
        break;
    case KNI_IR_NOT:
        kni_ir_emit_add(e, "!");
        kni_ir_emit_value(e, node->a, lane, KNI_LEVEL_UNARY + 1);
        break;
    case KNI_IR_SELECT:
        choice(e, node, lane, level);
        break;
    case KNI_IR_CAST:
        cast(e, node, lane, level);
        break;
    case KNI_IR_BITCAST:
        bitcast(e, node, lane, level);
        break;
    case KNI_IR_VECTOR:
        kni_ir_emit_value(e, node->a, 0, level);
        break;
    case KNI_IR_LANE:
        kni_ir_emit_value(e, node->a, (int)node->index, level);
        break;
    case KNI_IR_PACK:
        kni_ir_emit_value(e, e->ir->lists[node->u.list.first + (uint32_t)lane], 0, level);
        break;
    case KNI_IR_PHILOX:
        call(e, "kni_philox_word", "");
        three(e, node, lane);
        break;
    case KNI_IR_CALL:
        kni_ir_text_add(e->text, "user_%s(", e->ir->functions[node->index].name);
        arguments(e, node);
        kni_ir_emit_add(e, ")");
        break;
    case KNI_IR_LOAD:
        kni_ir_emit_load_scalar(e, node, level);
        break;
    case KNI_IR_ATOMIC:
        kni_ir_emit_atomic(e, node);
        break;
    case KNI_IR_SHUFFLE:
        kni_ir_emit_add(e, e->dialect->shuffle[0]);
        kni_ir_emit_value(e, node->a, lane, KNI_LEVEL_ANY);
        kni_ir_emit_add(e, e->dialect->shuffle[1]);
        kni_ir_emit_value(e, node->b, 0, KNI_LEVEL_UNARY);
        kni_ir_emit_add(e, ")");
        break;
    default:
        kni_ir_emit_fail(e, node, "the %s text has no form for node %u (code %d)", e->dialect->name,
                         (uint32_t)id, (int32_t)node->code);
    }
}

void kni_ir_emit_definition(kni_ir_emitter *e, kni_ir_id id, int lane)
{
    expression(e, id, lane, KNI_LEVEL_ANY);
}

void kni_ir_emit_value(kni_ir_emitter *e, kni_ir_id id, int lane, int level)
{
    const kni_ir_node *node = &e->ir->nodes[id];
    const kni_ir_emit_fact *f = &e->facts[id];
    if (node->code == KNI_IR_GET && f->inlined) {
        kni_ir_emit_name(e, node->a);
    } else if (kni_ir_emit_is_leaf(node) || f->inlined || !f->number) {
        if (node->code != KNI_IR_FOR) {
            expression(e, id, lane, level);
            return;
        }
        kni_ir_emit_name(e, id);
    } else {
        kni_ir_emit_name(e, id);
    }
    if (node->type.lanes > 1) kni_ir_text_add(e->text, ".s%c", kni_ir_lane_letters[lane]);
}

void kni_ir_emit_whole(kni_ir_emitter *e, kni_ir_id id)
{
    const kni_ir_node *node = &e->ir->nodes[id];
    const kni_ir_emit_fact *f = &e->facts[id];
    if (node->type.lanes == 1) {
        kni_ir_emit_value(e, id, 0, KNI_LEVEL_ANY);
    } else if (node->code == KNI_IR_ARGUMENT) {
        kni_ir_text_add(e->text, "a%u", node->index + 1);
    } else if (node->code == KNI_IR_GET && f->inlined) {
        kni_ir_emit_name(e, node->a);
    } else if (f->number && !f->inlined) {
        kni_ir_emit_name(e, id);
    } else {
        kni_ir_emit_add(e, e->dialect->native_vectors ? "(" : "KNI_MAKE(");
        kni_ir_emit_type(e, node->type);
        kni_ir_emit_add(e, e->dialect->native_vectors ? ")(" : "){");
        for (int i = 0; i < node->type.lanes; i++) {
            if (i) kni_ir_emit_add(e, ", ");
            kni_ir_emit_value(e, id, i, KNI_LEVEL_ANY);
        }
        kni_ir_emit_add(e, e->dialect->native_vectors ? ")" : "}");
    }
}
