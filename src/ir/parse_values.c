/* Expressions of a parsed text become IR. */
#include "core/dtype.h"
#include "ir/parse_lower.h"
#include <string.h>

static void at(kni_tree_lowering *l, const kni_tree_expression *e)
{
    l->b.line = e->line;
    l->b.column = e->column;
}

kni_ir_id kni_tree_number(kni_tree_lowering *l, uint8_t type, int64_t value)
{
    if (kni_is_float(type)) return kni_ir_real(&l->b, type, (double)value);
    return kni_ir_whole(&l->b, type, kni_is_bool(type) ? value != 0 : value);
}

static uint8_t settled(const kni_tree_lowering *l, uint8_t type)
{
    return type == KNI_TREE_WHOLE ? KN_I64 : type == KNI_TREE_REAL ? (uint8_t)l->real : type;
}

static kni_ir_id literal(kni_tree_lowering *l, const kni_tree_expression *e, uint8_t wanted)
{
    uint8_t type = wanted ? wanted : settled(l, e->type);
    if (e->type == KNI_TREE_WHOLE) return kni_tree_number(l, type, e->whole);
    if (kni_is_float(type)) return kni_ir_real(&l->b, type, e->real);
    return kni_ir_cast(&l->b, kni_ir_real(&l->b, l->real, e->real), type);
}

kni_ir_id kni_tree_given(kni_tree_lowering *l, const kni_tree_symbol *s)
{
    if (s->kind == KNI_TREE_ITEM) return kni_ir_builtin_value(&l->b, KNI_IR_ITEM, 0, s->type);
    if (s->kind == KNI_TREE_ARGUMENT) return kni_ir_argument(&l->b, (int)s->number);
    return kni_ir_cast(&l->b, kni_ir_param_value(&l->b, s->number), s->type);
}

static kni_ir_id named(kni_tree_lowering *l, const kni_tree_symbol *s)
{
    if (s->kind != KNI_TREE_LOCAL) return kni_tree_given(l, s);
    if (!s->value || l->b.status || kni_ir_at(l->b.ir, s->value)->code != KNI_IR_VARIABLE) return s->value;
    return kni_ir_get(&l->b, s->value);
}

static kni_ir_id element(kni_tree_lowering *l, const kni_tree_expression *e)
{
    kni_ir_id number = kni_tree_value(l, e->a, KN_I64);
    at(l, e);
    if (e->symbol->kind == KNI_TREE_UNIFORM)
        return kni_ir_cast(&l->b, kni_ir_element(&l->b, e->symbol->number, number), e->type);
    return kni_ir_load(&l->b, e->symbol->number, number, e->type, 1);
}

kni_ir_id kni_tree_truth(kni_tree_lowering *l, const kni_tree_expression *e)
{
    bool truth;
    if (kni_tree_constant(e, &truth)) return kni_ir_whole(&l->b, KN_BOOL, truth);
    return kni_tree_value(l, e, KN_BOOL);
}

/* && and ||: the right side is computed only where C does when it could fail or cost. */
static kni_ir_id both_or_either(kni_tree_lowering *l, const kni_tree_expression *e)
{
    bool both = e->code == KNI_TREE_AND, left;
    if (kni_tree_constant(e->a, &left)) {
        if (left == both) return kni_tree_truth(l, e->b);
        return kni_ir_whole(&l->b, KN_BOOL, left);
    }
    kni_ir_id a = kni_tree_truth(l, e->a);
    if (!e->b->guarded) {
        kni_ir_id b = kni_tree_truth(l, e->b);
        at(l, e);
        return both ? kni_ir_and(&l->b, a, b) : kni_ir_or(&l->b, a, b);
    }
    at(l, e);
    kni_ir_id result = kni_ir_variable(&l->b, KN_BOOL, 1, a);
    kni_ir_if(&l->b, both ? a : kni_ir_not(&l->b, a));
    kni_ir_set(&l->b, result, kni_tree_truth(l, e->b));
    kni_ir_end(&l->b);
    return kni_ir_get(&l->b, result);
}

static kni_ir_id choose(kni_tree_lowering *l, const kni_tree_expression *e, uint8_t type)
{
    bool truth;
    if (kni_tree_constant(e->a, &truth)) return kni_tree_value(l, truth ? e->b : e->c, type);
    kni_ir_id condition = kni_tree_truth(l, e->a);
    if (!e->b->guarded && !e->c->guarded) {
        kni_ir_id yes = kni_tree_value(l, e->b, type), no = kni_tree_value(l, e->c, type);
        at(l, e);
        return kni_ir_select(&l->b, condition, yes, no);
    }
    at(l, e);
    kni_ir_id result = kni_ir_variable(&l->b, type, 1, kni_tree_number(l, type, 0));
    kni_ir_if(&l->b, condition);
    kni_ir_set(&l->b, result, kni_tree_value(l, e->b, type));
    kni_ir_else(&l->b);
    kni_ir_set(&l->b, result, kni_tree_value(l, e->c, type));
    kni_ir_end(&l->b);
    return kni_ir_get(&l->b, result);
}

static kni_ir_id call(kni_tree_lowering *l, const kni_tree_expression *e)
{
    kni_ir_id arguments[KNI_IR_MAX_ARGUMENTS];
    for (int i = 0; i < e->n_arguments; i++)
        arguments[i] = kni_tree_value(l, e->arguments[i], e->function->parameters[i]->type);
    at(l, e);
    return kni_ir_call(&l->b, e->function->number, arguments, e->n_arguments);
}

/* cos(2 pi u) for u in [0, 1] is sin(2 pi (|u - 1/2| - 1/4)), whose argument is formed without error. */
static kni_ir_id cos_turn(kni_tree_lowering *l, kni_ir_id u, uint8_t type)
{
    kni_ir_builder *b = &l->b;
    kni_ir_id from = kni_ir_word(b, "abs", kni_ir_word(b, "sub", u, kni_ir_real(b, type, 0.5)), 0);
    kni_ir_id turn = kni_ir_word(b, "sub", from, kni_ir_real(b, type, 0.25));
    return kni_ir_word(b, "sin", kni_ir_word(b, "mul", turn, kni_ir_real(b, type, 6.283185307179586)), 0);
}

static void tile_word(kni_tree_lowering *l, const kni_tree_expression *e)
{
    kni_ir_builder *b = &l->b;
    kni_ir_id tile = e->symbol->value, first, stride;
    switch (e->call->kind) {
    case KNI_WORD_TILE_FILL:
        first = kni_tree_value(l, e->arguments[0], KN_F32);
        kni_ir_tile_fill(b, tile, first);
        return;
    case KNI_WORD_TILE_MULTIPLY:
        kni_ir_tile_multiply(b, tile, e->other->value, e->third->value);
        return;
    default:
        break;
    }
    first = kni_tree_value(l, e->arguments[0], KN_I64);
    stride = kni_tree_value(l, e->arguments[1], KN_I64);
    at(l, e);
    if (e->call->kind == KNI_WORD_TILE_LOAD)
        kni_ir_tile_load(b, tile, e->other->number, first, stride);
    else
        kni_ir_tile_store(b, tile, e->other->number, first, stride);
}

/* is_nan and its like of integers are known. */
static kni_ir_id truth_word(kni_tree_lowering *l, const kni_tree_expression *e, kni_ir_id x)
{
    if (kni_is_float(e->operands)) return kni_ir_word(&l->b, e->call->word, x, 0);
    return kni_ir_whole(&l->b, KN_BOOL, !strcmp(e->call->word, "isfinite"));
}

static kni_ir_id word(kni_tree_lowering *l, const kni_tree_expression *e)
{
    kni_ir_builder *b = &l->b;
    const kni_tree_word *w = e->call;
    kni_ir_id x[3] = {0, 0, 0};
    if (w->kind >= KNI_WORD_TILE_FILL) {
        tile_word(l, e);
        return 0;
    }
    if (w->kind == KNI_WORD_ATOMIC) {
        x[0] = kni_tree_value(l, e->arguments[0], KN_I64);
        x[1] = kni_tree_value(l, e->arguments[1], e->type);
        at(l, e);
        return kni_ir_atomic(b, e->symbol->number, x[0], x[1], w->detail);
    }
    for (int i = 0; i < e->n_arguments; i++)
        x[i] =
            kni_tree_value(l, e->arguments[i], w->kind == KNI_WORD_SHUFFLE && i == 1 ? KN_I64 : e->operands);
    at(l, e);
    switch (w->kind) {
    case KNI_WORD_TRUTH:
        return truth_word(l, e, x[0]);
    case KNI_WORD_COS_TURN:
        return cos_turn(l, x[0], e->type);
    case KNI_WORD_FMA:
        return kni_ir_fma(b, x[0], x[1], x[2]);
    case KNI_WORD_PHILOX:
        return kni_ir_philox(b, x[0], x[1], x[2]);
    case KNI_WORD_REPORT:
        kni_ir_report(b, x[0]);
        return 0;
    case KNI_WORD_BUILTIN:
        return kni_ir_builtin_value(b, w->detail, 0, KN_I64);
    case KNI_WORD_BARRIER:
        kni_ir_barrier(b);
        return 0;
    case KNI_WORD_SUBGROUP:
        return kni_ir_subgroup(b, w->detail, x[0]);
    case KNI_WORD_WORKGROUP:
        return kni_ir_workgroup(b, w->detail, x[0]);
    case KNI_WORD_SCAN:
        return kni_ir_scan(b, w->detail, x[0]);
    case KNI_WORD_SHUFFLE:
        return kni_ir_shuffle(b, x[0], x[1]);
    default:
        return kni_ir_word(b, w->word, x[0], x[1]);
    }
}

static kni_ir_id two(kni_tree_lowering *l, const kni_tree_expression *e)
{
    kni_ir_id a = kni_tree_value(l, e->a, e->operands), b = kni_tree_value(l, e->b, e->operands);
    at(l, e);
    return kni_ir_word(&l->b, e->word, a, b);
}

static kni_ir_id one(kni_tree_lowering *l, const kni_tree_expression *e, const char *name)
{
    kni_ir_id a = kni_tree_value(l, e->a, e->type);
    at(l, e);
    return kni_ir_word(&l->b, name, a, 0);
}

kni_ir_id kni_tree_value(kni_tree_lowering *l, const kni_tree_expression *e, uint8_t wanted)
{
    kni_ir_id id = 0;
    uint8_t type = e->type;
    if (l->b.status) return 0;
    at(l, e);
    switch (e->code) {
    case KNI_TREE_LITERAL:
        return literal(l, e, wanted);
    case KNI_TREE_NAME_VALUE:
        id = named(l, e->symbol);
        break;
    case KNI_TREE_ELEMENT:
        id = element(l, e);
        break;
    case KNI_TREE_NEGATE:
        id = one(l, e, "neg");
        break;
    case KNI_TREE_COMPLEMENT:
        id = one(l, e, "not");
        break;
    case KNI_TREE_NOT:
        id = kni_tree_truth(l, e->a);
        at(l, e);
        id = kni_ir_not(&l->b, id);
        break;
    case KNI_TREE_BINARY:
    case KNI_TREE_SHIFT:
        id = two(l, e);
        break;
    case KNI_TREE_AND:
    case KNI_TREE_OR:
        id = both_or_either(l, e);
        break;
    case KNI_TREE_CHOOSE:
        /* Between two literals the one that meets it says what they are. */
        if (type >= KNI_TREE_WHOLE)
            type = type == KNI_TREE_REAL && wanted && !kni_is_float(wanted) ? 0 : wanted;
        type = settled(l, type ? type : e->type);
        id = choose(l, e, type);
        break;
    case KNI_TREE_CAST:
        id = kni_tree_value(l, e->a, type);
        break;
    case KNI_TREE_CALL:
        id = call(l, e);
        break;
    default:
        id = word(l, e);
        break;
    }
    at(l, e);
    return wanted && id ? kni_ir_cast(&l->b, id, wanted) : id;
}
