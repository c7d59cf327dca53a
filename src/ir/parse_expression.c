/* Expressions of the kernel language: operators bind and convert as in C, with index as its 64-bit integer. */
#include "core/dtype.h"
#include "ir/parse_tree.h"
#include <string.h>

enum { MAX_DEPTH = 400 }; /* of an expression's tree: bounds the recursion of all that walks it */

bool kni_tree_integer(uint8_t type)
{
    return type == KNI_TREE_WHOLE || (type < KN_DTYPE_COUNT && type && !kni_is_float(type));
}

uint8_t kni_tree_settled(const kni_parser *p, uint8_t type)
{
    return type == KNI_TREE_WHOLE ? KN_I64 : type == KNI_TREE_REAL ? (uint8_t)p->real : type;
}

static int rank(uint8_t type)
{
    static const uint8_t order[] = {KN_BOOL, KN_I32, KN_U32, KN_I64, KN_U64, KN_F32, KN_F64};
    for (int i = 0; i < (int)sizeof order; i++)
        if (order[i] == type) return i;
    return -1;
}

/* Whether a literal can be said in the type without becoming another number. */
static bool fits(const kni_tree_expression *e, uint8_t type)
{
    if (e->code != KNI_TREE_LITERAL || e->type != KNI_TREE_WHOLE) return type != KN_I32 && type != KN_U32;
    if (type == KN_I32) return e->whole >= INT32_MIN && e->whole <= INT32_MAX;
    return type != KN_U32 || (e->whole >= INT32_MIN && e->whole <= UINT32_MAX);
}

static uint8_t with_literal(const kni_parser *p, const kni_tree_expression *literal, uint8_t type)
{
    if (literal->type == KNI_TREE_REAL) return kni_tree_integer(type) ? (uint8_t)p->real : type;
    if (kni_is_bool(type) || !fits(literal, type)) return KN_I64;
    return type;
}

uint8_t kni_tree_common(const kni_parser *p, const kni_tree_expression *a, const kni_tree_expression *b)
{
    bool weak_a = a->type >= KNI_TREE_WHOLE, weak_b = b->type >= KNI_TREE_WHOLE;
    if (weak_a && weak_b) return a->type > b->type ? a->type : b->type;
    if (weak_a) return with_literal(p, a, b->type);
    if (weak_b) return with_literal(p, b, a->type);
    uint8_t type = rank(a->type) > rank(b->type) ? a->type : b->type;
    return kni_is_bool(type) ? KN_I64 : type;
}

static bool is_truth_of(const kni_tree_expression *e, bool *truth)
{
    if (e->code != KNI_TREE_LITERAL) return false;
    *truth = e->type == KNI_TREE_WHOLE ? e->whole != 0 : e->real != 0;
    return true;
}

bool kni_tree_constant(const kni_tree_expression *e, bool *truth)
{
    bool left;
    switch (e->code) {
    case KNI_TREE_NOT:
        if (!kni_tree_constant(e->a, truth)) return false;
        *truth = !*truth;
        return true;
    case KNI_TREE_AND:
    case KNI_TREE_OR:
        if (!kni_tree_constant(e->a, &left)) return false;
        if (left == (e->code == KNI_TREE_AND)) return kni_tree_constant(e->b, truth);
        *truth = left;
        return true;
    default:
        return is_truth_of(e, truth);
    }
}

bool kni_tree_unchanged(const kni_tree_expression *e, uint32_t clock)
{
    if (!e) return true;
    if (e->code == KNI_TREE_NAME_VALUE) return e->symbol->changed <= clock;
    if (e->code == KNI_TREE_ELEMENT && e->symbol->kind != KNI_TREE_UNIFORM) return false;
    if (e->code == KNI_TREE_WORD && e->call->kind > KNI_WORD_PHILOX) return false;
    for (int i = 0; i < e->n_arguments; i++)
        if (!kni_tree_unchanged(e->arguments[i], clock)) return false;
    return kni_tree_unchanged(e->a, clock) && kni_tree_unchanged(e->b, clock) &&
           kni_tree_unchanged(e->c, clock);
}

/* ---- nodes */

static kni_tree_expression *node(kni_parser *p, int code, const kni_lex_token *at)
{
    kni_tree_expression *e = kni_tree_new(p, sizeof *e);
    if (!e) return NULL;
    e->code = (uint8_t)code;
    e->depth = 1;
    e->line = at->line;
    e->column = at->column;
    return e;
}

/* Takes over what a parent has from a child; NULL once the tree is too deep. */
static kni_tree_expression *adopt(kni_parser *p, kni_tree_expression *e, const kni_tree_expression *child)
{
    if (!e || !child) return NULL;
    e->guarded |= child->guarded;
    if (child->depth >= e->depth) e->depth = (uint16_t)(child->depth + 1);
    if (e->depth > MAX_DEPTH)
        return kni_parse_fail(p, e->line, e->column, "the expression is too long or too deep");
    return e;
}

static kni_tree_expression *literal(kni_parser *p, const kni_lex_token *at, int type, int64_t whole,
                                    double real)
{
    kni_tree_expression *e = node(p, KNI_TREE_LITERAL, at);
    if (!e) return NULL;
    e->type = (uint8_t)type;
    e->whole = whole;
    e->real = type == KNI_TREE_WHOLE ? (double)whole : real;
    return e;
}

/* A value is wanted: not of something that gives none. */
static kni_tree_expression *value(kni_parser *p, kni_tree_expression *e)
{
    if (e && !e->type) return kni_parse_fail(p, e->line, e->column, "this gives no value");
    return e;
}

/* ---- unary */

static kni_tree_expression *unary(kni_parser *p);

static kni_tree_expression *negated(kni_parser *p, const kni_lex_token *at, kni_tree_expression *a)
{
    if (a->code == KNI_TREE_LITERAL)
        return literal(p, at, a->type, (int64_t)(0 - (uint64_t)a->whole), -a->real);
    kni_tree_expression *e = node(p, KNI_TREE_NEGATE, at);
    if (!e) return NULL;
    e->a = a;
    e->type = kni_is_bool(a->type) ? KN_I64 : kni_tree_settled(p, a->type);
    return adopt(p, e, a);
}

static kni_tree_expression *prefixed(kni_parser *p)
{
    kni_lex_token at = p->token;
    bool minus = kni_parse_accept(p, "-"), complement = !minus && kni_parse_accept(p, "~");
    if (!minus && !complement) kni_parse_take(p, "!");
    kni_tree_expression *a = value(p, unary(p));
    if (!a) return NULL;
    if (minus) return negated(p, &at, a);
    kni_tree_expression *e = node(p, complement ? KNI_TREE_COMPLEMENT : KNI_TREE_NOT, &at);
    if (!e) return NULL;
    e->a = a;
    e->type = !complement ? KN_BOOL : kni_is_bool(a->type) ? KN_I64 : kni_tree_settled(p, a->type);
    if (complement && !kni_tree_integer(e->type))
        return kni_parse_fail(p, at.line, at.column, "~ is of integers");
    return adopt(p, e, a);
}

static kni_tree_expression *cast(kni_parser *p, const kni_lex_token *at, uint8_t type)
{
    kni_tree_expression *a = value(p, unary(p)), *e = node(p, KNI_TREE_CAST, at);
    if (!e || !a) return NULL;
    e->a = a;
    e->type = type;
    return adopt(p, e, a);
}

kni_tree_symbol *kni_parse_place(kni_parser *p, kni_tree_expression **at)
{
    kni_lex_token name = p->token;
    char shown[KNI_LEX_SHOWN];
    *at = NULL;
    kni_tree_symbol *s = kni_parse_find(p, &name);
    if (!s) return NULL;
    bool elements = s->kind == KNI_TREE_BUFFER || s->kind == KNI_TREE_UNIFORM || s->kind == KNI_TREE_ARRAY ||
                    s->kind == KNI_TREE_SHARED;
    kni_parse_advance(p);
    if (s->kind == KNI_TREE_TILE)
        return kni_parse_fail(p, name.line, name.column, "%s is a tile: the tile_ words alone use it",
                              kni_lex_show(&name, shown));
    if (!kni_parse_peek(p, "[")) {
        if (!elements) return s;
        return kni_parse_fail(p, name.line, name.column, "%s is an array: say which element, %s[...]",
                              kni_lex_show(&name, shown), s->name);
    }
    if (!elements)
        return kni_parse_fail(p, name.line, name.column, "%s is a number, no array",
                              kni_lex_show(&name, shown));
    kni_parse_advance(p);
    kni_lex_token first = p->token;
    *at = value(p, kni_parse_expression(p));
    if (*at && !kni_tree_integer((*at)->type))
        return kni_parse_fail(p, first.line, first.column,
                              "an element is chosen by an integer: cast it, (index)(...)");
    return kni_parse_take(p, "]") && *at ? s : NULL;
}

static kni_tree_expression *place_value(kni_parser *p)
{
    kni_lex_token name = p->token;
    kni_tree_expression *at;
    kni_tree_symbol *s = kni_parse_place(p, &at);
    if (!s) return NULL;
    kni_tree_expression *e = node(p, at ? KNI_TREE_ELEMENT : KNI_TREE_NAME_VALUE, &name);
    if (!e) return NULL;
    e->symbol = s;
    if (s->kind == KNI_TREE_BUFFER) s->access |= KNI_IR_READ;
    e->type = s->type;
    e->a = at;
    e->guarded = at != NULL;
    return at ? adopt(p, e, at) : e;
}

static kni_tree_expression *constant(kni_parser *p)
{
    kni_lex_token t = p->token;
    kni_parse_advance(p);
    if (t.kind == KNI_LEX_WHOLE) return literal(p, &t, KNI_TREE_WHOLE, t.whole, 0);
    if (t.kind == KNI_LEX_REAL) return literal(p, &t, KNI_TREE_REAL, 0, t.real);
    if (kni_lex_is(&t, "INF")) return literal(p, &t, KNI_TREE_REAL, 0, __builtin_inf());
    if (kni_lex_is(&t, "NAN_VALUE")) return literal(p, &t, KNI_TREE_REAL, 0, __builtin_nan(""));
    return literal(p, &t, KNI_TREE_WHOLE, kni_is_float(p->element), 0);
}

static kni_tree_expression *unary(kni_parser *p)
{
    kni_tree_expression *e = NULL;
    kni_lex_token at = p->token;
    if (!kni_parse_deeper(p)) return NULL;
    if (kni_parse_peek(p, "-") || kni_parse_peek(p, "!") || kni_parse_peek(p, "~")) {
        e = prefixed(p);
    } else if (kni_parse_accept(p, "(")) {
        kni_tree_type cast_to = kni_parse_type(p, &p->token);
        uint8_t type = cast_to.compute;
        char shown[KNI_LEX_SHOWN];
        if (type != cast_to.memory)
            kni_parse_fail(p, p->token.line, p->token.column,
                           "%s is a type of buffers: nothing is computed in it",
                           kni_lex_show(&p->token, shown));
        if (type)
            kni_parse_advance(p);
        else
            e = value(p, kni_parse_expression(p));
        if (kni_parse_take(p, ")") && type) e = cast(p, &at, type);
    } else if (at.kind == KNI_LEX_WHOLE || at.kind == KNI_LEX_REAL || kni_lex_is(&at, "INF") ||
               kni_lex_is(&at, "NAN_VALUE") || kni_lex_is(&at, "IS_FLOAT")) {
        e = constant(p);
    } else if (at.kind == KNI_LEX_NAME && kni_lex_is(&p->next, "(")) {
        e = kni_parse_call(p);
    } else {
        e = place_value(p);
    }
    p->depth--;
    return p->failed ? NULL : e;
}

/* ---- binary, by precedence */

typedef struct operation {
    const char *sign, *word;
    uint8_t level, code, truth, integers;
} operation;

static const operation operations[] = {
    {"||", NULL, 1, KNI_TREE_OR, 1, 0},      {"&&", NULL, 2, KNI_TREE_AND, 1, 0},
    {"|", "or", 3, KNI_TREE_BINARY, 0, 1},   {"^", "xor", 4, KNI_TREE_BINARY, 0, 1},
    {"&", "and", 5, KNI_TREE_BINARY, 0, 1},  {"==", "eq", 6, KNI_TREE_BINARY, 1, 0},
    {"!=", "ne", 6, KNI_TREE_BINARY, 1, 0},  {"<", "lt", 7, KNI_TREE_BINARY, 1, 0},
    {"<=", "le", 7, KNI_TREE_BINARY, 1, 0},  {">", "gt", 7, KNI_TREE_BINARY, 1, 0},
    {">=", "ge", 7, KNI_TREE_BINARY, 1, 0},  {"<<", "shl", 8, KNI_TREE_SHIFT, 0, 1},
    {">>", "shr", 8, KNI_TREE_SHIFT, 0, 1},  {"+", "add", 9, KNI_TREE_BINARY, 0, 0},
    {"-", "sub", 9, KNI_TREE_BINARY, 0, 0},  {"*", "mul", 10, KNI_TREE_BINARY, 0, 0},
    {"/", "div", 10, KNI_TREE_BINARY, 0, 0}, {"%", "fmod", 10, KNI_TREE_BINARY, 0, 1},
};

static const operation *operator_at(const kni_parser *p)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (kni_parse_peek(p, operations[i].sign)) return &operations[i];
    return NULL;
}

/* Arithmetic of two literals is a literal, so that 1.0 / 3 next to an f32 stays one. NULL where it is no such. */
static kni_tree_expression *folded(kni_parser *p, const operation *o, const kni_lex_token *at,
                                   const kni_tree_expression *a, const kni_tree_expression *b)
{
    if (a->code != KNI_TREE_LITERAL || b->code != KNI_TREE_LITERAL || o->level < 9 || o->integers)
        return NULL;
    bool whole = a->type == KNI_TREE_WHOLE && b->type == KNI_TREE_WHOLE;
    if (*o->sign == '/' && whole) return NULL;
    uint64_t x = (uint64_t)a->whole, y = (uint64_t)b->whole;
    uint64_t w = *o->sign == '+' ? x + y : *o->sign == '-' ? x - y : x * y;
    double r = *o->sign == '+'   ? a->real + b->real
               : *o->sign == '-' ? a->real - b->real
               : *o->sign == '*' ? a->real * b->real
                                 : a->real / b->real;
    return literal(p, at, whole ? KNI_TREE_WHOLE : KNI_TREE_REAL, (int64_t)w, r);
}

static kni_tree_expression *joined(kni_parser *p, const operation *o, const kni_lex_token *at,
                                   kni_tree_expression *a, kni_tree_expression *b)
{
    if (!value(p, a) || !value(p, b)) return NULL;
    kni_tree_expression *e = folded(p, o, at, a, b);
    if (e || !(e = node(p, o->code, at))) return e;
    e->word = o->word;
    e->a = a;
    e->b = b;
    if (o->code == KNI_TREE_SHIFT)
        e->operands = kni_is_bool(a->type) ? KN_I64 : kni_tree_settled(p, a->type);
    else
        e->operands = kni_tree_settled(p, kni_tree_common(p, a, b));
    e->type = o->truth ? KN_BOOL : e->operands;
    if (o->integers && (!kni_tree_integer(a->type) || !kni_tree_integer(b->type)))
        return kni_parse_fail(p, at->line, at->column, "%s is of integers", o->sign);
    return adopt(p, adopt(p, e, a), b);
}

static kni_tree_expression *binary(kni_parser *p, int lowest)
{
    if (!kni_parse_deeper(p)) return NULL;
    kni_tree_expression *left = unary(p);
    const operation *o;
    while (left && (o = operator_at(p)) && o->level >= lowest) {
        kni_lex_token at = p->token;
        kni_parse_advance(p);
        kni_tree_expression *right = binary(p, o->level + 1);
        left = right ? joined(p, o, &at, left, right) : NULL;
    }
    p->depth--;
    return p->failed ? NULL : left;
}

kni_tree_expression *kni_parse_expression(kni_parser *p)
{
    if (!kni_parse_deeper(p)) return NULL;
    kni_tree_expression *c = binary(p, 1), *e = c;
    kni_lex_token at = p->token;
    if (c && kni_parse_accept(p, "?")) {
        kni_tree_expression *yes = value(p, kni_parse_expression(p));
        kni_parse_take(p, ":");
        kni_tree_expression *no = value(p, kni_parse_expression(p));
        e = value(p, c) && yes && no ? node(p, KNI_TREE_CHOOSE, &at) : NULL;
        if (e) {
            e->a = c;
            e->b = yes;
            e->c = no;
            e->type = kni_is_bool(yes->type) && kni_is_bool(no->type) ? KN_BOOL : kni_tree_common(p, yes, no);
            e = adopt(p, adopt(p, adopt(p, e, c), yes), no);
        }
    }
    p->depth--;
    return p->failed ? NULL : e;
}
