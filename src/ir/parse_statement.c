/* Statements of the kernel language. A `for` that only counts is told apart here, because a loop that is known to end
   and whose counter nothing touches is worth more than one that tests a condition. */
#include "core/dtype.h"
#include "ir/parse_tree.h"
#include <string.h>

static kni_tree_statement *statement(kni_parser *p);

static kni_tree_statement *node(kni_parser *p, int action, const kni_lex_token *at)
{
    kni_tree_statement *s = kni_tree_new(p, sizeof *s);
    if (!s) return NULL;
    s->action = (uint8_t)action;
    s->line = at->line;
    s->column = at->column;
    return s;
}

static kni_tree_expression *value(kni_parser *p)
{
    kni_tree_expression *e = kni_parse_expression(p);
    if (e && !e->type) return kni_parse_fail(p, e->line, e->column, "this gives no value");
    return e;
}

static bool is_type(const kni_parser *p) { return kni_parse_type(p, &p->token).compute != 0; }

/* ---- declarations */

/* A type whose values can be computed with: narrow types exist in memory only. */
static bool computable(kni_parser *p, const kni_lex_token *at, kni_tree_type type)
{
    if (type.compute == type.memory) return true;
    char shown[KNI_LEX_SHOWN];
    kni_parse_fail(p, at->line, at->column, "%s is a type of buffers: compute in %s", kni_lex_show(at, shown),
                   kni_dtypes[type.compute].name);
    return false;
}

static kni_tree_statement *array(kni_parser *p, kni_tree_statement *s, kni_tree_symbol *name, int kind)
{
    name->kind = (uint8_t)kind;
    name->access = KNI_IR_READ | KNI_IR_WRITE;
    name->length = kni_parse_length(p);
    if (!kni_parse_take(p, "]") || !kni_parse_take(p, ";")) return NULL;
    if (p->current->is_kernel) return s;
    return kni_parse_fail(p, s->line, s->column, "arrays belong into kernels, not into functions");
}

static kni_tree_statement *declaration(kni_parser *p)
{
    kni_lex_token at = p->token;
    kni_tree_type type = kni_parse_type(p, &at);
    kni_parse_advance(p);
    kni_tree_statement *first = NULL, **end = &first;
    do {
        kni_tree_statement *s = node(p, KNI_TREE_DECLARE, &p->token);
        kni_lex_token name = p->token;
        if (!s) return NULL;
        if (kni_lex_is(&p->next, "=")) {
            /* The new name is not yet known in its own value. */
            kni_parse_advance(p);
            kni_parse_advance(p);
            s->value = value(p);
            kni_lex_token after = p->token;
            p->token = name;
            s->symbol = kni_parse_declare(p, KNI_TREE_LOCAL, type);
            if (!p->failed) p->token = after;
            if (s->symbol && !computable(p, &at, type)) return NULL;
        } else if ((s->symbol = kni_parse_declare(p, KNI_TREE_LOCAL, type))) {
            kni_parse_advance(p);
            if (end == &first && kni_parse_accept(p, "[")) return array(p, s, s->symbol, KNI_TREE_ARRAY);
            if (!computable(p, &at, type)) return NULL;
        }
        *end = s;
        end = &s->next;
    } while (!p->failed && kni_parse_accept(p, ","));
    return kni_parse_take(p, ";") ? first : NULL;
}

static bool needs_workgroup(kni_parser *p, const kni_lex_token *at, const char *what)
{
    if (p->current->is_kernel && p->current->workgroup) return true;
    kni_parse_fail(p, at->line, at->column, "%s needs a kernel that begins with (workgroup N, ...)", what);
    return false;
}

/* shared f32 name[64]; */
static kni_tree_statement *shared(kni_parser *p)
{
    kni_lex_token at = p->token;
    kni_parse_advance(p);
    kni_tree_type type = kni_parse_type(p, &p->token);
    kni_parse_advance(p);
    kni_tree_statement *s = node(p, KNI_TREE_DECLARE, &p->token);
    if (!s || !needs_workgroup(p, &at, "shared memory")) return NULL;
    if (!(s->symbol = kni_parse_declare(p, KNI_TREE_SHARED, type))) return NULL;
    kni_parse_advance(p);
    return kni_parse_take(p, "[") ? array(p, s, s->symbol, KNI_TREE_SHARED) : NULL;
}

/* tile left f16 name; */
static kni_tree_statement *tile(kni_parser *p)
{
    kni_lex_token at = p->token;
    kni_parse_advance(p);
    int role = kni_parse_accept(p, "left")    ? KNI_IR_TILE_LEFT
               : kni_parse_accept(p, "right") ? KNI_IR_TILE_RIGHT
                                              : KNI_IR_TILE_SUM;
    if (role == KNI_IR_TILE_SUM && !kni_parse_take(p, "sum")) return NULL;
    kni_tree_type type = kni_parse_type(p, &p->token);
    bool half = kni_is_half(type.memory);
    if (role == KNI_IR_TILE_SUM ? type.memory != KN_F32 : !half && type.memory != KN_F32)
        return kni_parse_fail(p, p->token.line, p->token.column,
                              "a tile is f16, bf16 or f32 on the left and right, f32 as the sum");
    kni_parse_advance(p);
    kni_tree_statement *s = node(p, KNI_TREE_DECLARE, &p->token);
    if (!s || !needs_workgroup(p, &at, "a tile")) return NULL;
    if (!(s->symbol = kni_parse_declare(p, KNI_TREE_TILE, type))) return NULL;
    s->symbol->access = (uint8_t)role;
    kni_parse_advance(p);
    return kni_parse_take(p, ";") ? s : NULL;
}

/* ---- changes */

static bool assignable(kni_parser *p, const kni_lex_token *at, kni_tree_symbol *s)
{
    if (s->kind == KNI_TREE_UNIFORM) {
        kni_parse_fail(p, at->line, at->column, "'%s' is uniform: it is only read", s->name);
        return false;
    }
    if (s->kind == KNI_TREE_BUFFER && !(s->access & KNI_IR_WRITE)) {
        kni_parse_fail(p, at->line, at->column, "'%s' is an `in` buffer: it is only read", s->name);
        return false;
    }
    s->assigned = true;
    s->changed = ++p->clock;
    return true;
}

static kni_tree_expression *one(kni_parser *p)
{
    kni_tree_expression *e = kni_tree_new(p, sizeof *e);
    if (!e) return NULL;
    *e = (kni_tree_expression){
        .code = KNI_TREE_LITERAL, .type = KNI_TREE_WHOLE, .depth = 1, .whole = 1, .real = 1};
    e->line = p->token.line;
    e->column = p->token.column;
    return e;
}

static kni_tree_statement *change(kni_parser *p)
{
    static const char *const signs[][2] = {{"+=", "add"},  {"-=", "sub"}, {"*=", "mul"}, {"/=", "div"},
                                           {"%=", "fmod"}, {"++", "add"}, {"--", "sub"}};
    kni_lex_token at = p->token;
    kni_tree_statement *s = node(p, KNI_TREE_ASSIGN, &at);
    kni_tree_symbol *name = kni_parse_place(p, s ? &s->at : &(kni_tree_expression *){0});
    if (!s || !name) return NULL;
    s->symbol = name;
    kni_lex_token sign = p->token;
    for (int i = 0; i < 7; i++)
        if (kni_lex_is(&sign, signs[i][0])) s->word = signs[i][1];
    if (!s->word && !kni_lex_is(&sign, "=")) {
        char shown[KNI_LEX_SHOWN];
        return kni_parse_fail(p, sign.line, sign.column,
                              "expected =, +=, -=, *=, /=, %%=, ++ or --, found %s",
                              kni_lex_show(&sign, shown));
    }
    kni_parse_advance(p);
    bool by_one = kni_lex_is(&sign, "++") || kni_lex_is(&sign, "--");
    s->value = by_one ? one(p) : value(p);
    if (!s->value || !assignable(p, &at, name)) return NULL;
    if (!s->word) return s;
    s->action = KNI_TREE_UPDATE;
    if (name->kind == KNI_TREE_BUFFER) name->access |= KNI_IR_READ;
    kni_tree_expression before = {.code = KNI_TREE_NAME_VALUE, .type = name->type};
    s->operands = kni_tree_settled(p, kni_tree_common(p, &before, s->value));
    if (kni_lex_is(&sign, "%=") && !kni_tree_integer(s->operands))
        return kni_parse_fail(p, sign.line, sign.column, "%%= is of integers");
    return s;
}

/* ---- control */

/* The statement that an if or a loop governs. */
static kni_tree_statement *governed(kni_parser *p)
{
    if (is_type(p))
        return kni_parse_fail(p, p->token.line, p->token.column,
                              "a declaration alone under if, for or while declares nothing that can be used");
    return statement(p);
}

static kni_tree_expression *condition(kni_parser *p)
{
    kni_parse_take(p, "(");
    kni_tree_expression *e = value(p);
    return kni_parse_take(p, ")") ? e : NULL;
}

static kni_tree_statement *if_statement(kni_parser *p, kni_tree_statement *s)
{
    s->condition = condition(p);
    s->body = p->failed ? NULL : governed(p);
    if (!p->failed && kni_parse_accept(p, "else")) s->otherwise = governed(p);
    return s;
}

static void loop_body(kni_parser *p, kni_tree_statement *s)
{
    p->loops++;
    s->body = p->failed ? NULL : governed(p);
    p->loops--;
}

static kni_tree_statement *while_statement(kni_parser *p, kni_tree_statement *s)
{
    s->condition = condition(p);
    loop_body(p, s);
    return s;
}

/* Whether the loop counts upwards by a constant to a bound that stays: it then becomes one that does just this. */
static void recognise_count(kni_tree_statement *s, uint32_t before, uint32_t stepped)
{
    const kni_tree_statement *first = s->first, *step = s->step;
    const kni_tree_expression *c = s->condition;
    if (!first || first->action != KNI_TREE_DECLARE || step->action != KNI_TREE_UPDATE) return;
    kni_tree_symbol *k = first->symbol;
    bool integer = kni_tree_integer(k->type) && !kni_is_bool(k->type);
    if (!integer || step->symbol != k || k->changed != stepped || strcmp(step->word, "add")) return;
    if (step->value->code != KNI_TREE_LITERAL || step->value->type != KNI_TREE_WHOLE) return;
    if (step->value->whole < 1 || step->value->whole > INT32_MAX) return;
    if (c->code != KNI_TREE_BINARY || c->operands != k->type) return;
    bool below = !strcmp(c->word, "lt"), up_to = !strcmp(c->word, "le");
    if (!below && !up_to) return;
    if (c->a->code != KNI_TREE_NAME_VALUE || c->a->symbol != k || !kni_tree_unchanged(c->b, before)) return;
    s->action = KNI_TREE_FOR;
    s->symbol = k;
    s->value = first->value;
    s->bound = c->b;
    s->step_by = step->value->whole;
    s->word = up_to ? "le" : "lt";
    k->assigned = false;
}

static kni_tree_statement *for_statement(kni_parser *p, kni_tree_statement *s)
{
    kni_parse_take(p, "(");
    if (is_type(p)) {
        kni_lex_token at = p->token;
        kni_tree_type type = kni_parse_type(p, &at);
        kni_parse_advance(p);
        if (!(s->first = node(p, KNI_TREE_DECLARE, &p->token))) return NULL;
        if (!(s->first->symbol = kni_parse_declare(p, KNI_TREE_LOCAL, type)) || !computable(p, &at, type))
            return NULL;
        kni_parse_advance(p);
        if (kni_parse_take(p, "=")) s->first->value = value(p);
    } else if (!kni_parse_peek(p, ";")) {
        s->first = change(p);
    }
    if (!kni_parse_take(p, ";")) return NULL;
    uint32_t before = p->clock;
    s->condition = value(p);
    if (!s->condition || !kni_parse_take(p, ";")) return NULL;
    s->step = change(p);
    uint32_t stepped = p->clock;
    kni_parse_take(p, ")");
    loop_body(p, s);
    if (p->failed) return NULL;
    recognise_count(s, before, stepped);
    return s;
}

static kni_tree_statement *jump(kni_parser *p, int action)
{
    kni_lex_token at = p->token;
    kni_tree_statement *s = node(p, action, &at);
    kni_parse_advance(p);
    if (action != KNI_TREE_RETURN && !p->loops)
        return kni_parse_fail(p, at.line, at.column, "break and continue belong into a loop");
    if (s && action == KNI_TREE_RETURN && !p->current->is_kernel) s->value = value(p);
    return kni_parse_take(p, ";") ? s : NULL;
}

static kni_tree_statement *governing(kni_parser *p)
{
    kni_lex_token at = p->token;
    bool is_if = kni_lex_is(&at, "if"), is_for = kni_lex_is(&at, "for");
    kni_tree_statement *s = node(p, is_if ? KNI_TREE_IF : KNI_TREE_LOOP, &at);
    if (!s) return NULL;
    kni_parse_scope_begin(p);
    kni_parse_advance(p);
    s = is_if ? if_statement(p, s) : is_for ? for_statement(p, s) : while_statement(p, s);
    kni_parse_scope_end(p);
    return s;
}

static kni_tree_statement *evaluation(kni_parser *p)
{
    kni_tree_statement *s = node(p, KNI_TREE_EVALUATE, &p->token);
    if (s) s->value = kni_parse_call(p);
    return kni_parse_take(p, ";") ? s : NULL;
}

/* One statement; a declaration of several names gives several. */
static kni_tree_statement *statement(kni_parser *p)
{
    if (!kni_parse_deeper(p)) return NULL;
    kni_tree_statement *s = NULL;
    if (kni_parse_peek(p, "{"))
        s = kni_parse_block(p);
    else if (is_type(p))
        s = declaration(p);
    else if (kni_parse_peek(p, "if") || kni_parse_peek(p, "for") || kni_parse_peek(p, "while"))
        s = governing(p);
    else if (kni_parse_peek(p, "break"))
        s = jump(p, KNI_TREE_BREAK);
    else if (kni_parse_peek(p, "continue"))
        s = jump(p, KNI_TREE_CONTINUE);
    else if (kni_parse_peek(p, "return"))
        s = jump(p, KNI_TREE_RETURN);
    else if (kni_parse_peek(p, "shared") && kni_parse_type(p, &p->next).compute)
        s = shared(p);
    else if (kni_parse_peek(p, "tile") && p->next.kind == KNI_LEX_NAME)
        s = tile(p);
    else if (p->token.kind == KNI_LEX_NAME && kni_lex_is(&p->next, "("))
        s = evaluation(p);
    else if ((s = change(p)) && !kni_parse_take(p, ";"))
        s = NULL;
    p->depth--;
    return p->failed ? NULL : s;
}

kni_tree_statement *kni_parse_block(kni_parser *p)
{
    kni_tree_statement *block = node(p, KNI_TREE_BLOCK, &p->token), **end;
    if (!block || !kni_parse_take(p, "{")) return NULL;
    kni_parse_scope_begin(p);
    for (end = &block->first; !p->failed && !kni_parse_peek(p, "}");) {
        *end = statement(p);
        while (*end) end = &(*end)->next;
    }
    kni_parse_scope_end(p);
    return kni_parse_take(p, "}") ? block : NULL;
}
