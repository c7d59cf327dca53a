/* Calls: of the text's own functions and of the language's words. */
#include "core/dtype.h"
#include "ir/parse_tree.h"
#include <string.h>

static kni_tree_expression *new_call(kni_parser *p, int code, const kni_lex_token *name, int n)
{
    kni_tree_expression *e = kni_tree_new(p, sizeof *e);
    if (!e) return NULL;
    e->code = (uint8_t)code;
    e->line = name->line;
    e->column = name->column;
    e->depth = 1;
    e->n_arguments = (uint16_t)n;
    if (n && !(e->arguments = kni_tree_new(p, (size_t)n * sizeof *e->arguments))) return NULL;
    return e;
}

/* Argument i, with the comma before it; false after a failure. */
static bool argument(kni_parser *p, kni_tree_expression *e, int i, bool comma)
{
    if (kni_parse_peek(p, ")")) {
        int wanted = e->call ? e->call->arguments : e->n_arguments;
        kni_parse_fail(p, p->token.line, p->token.column, "%s takes %d argument%s",
                       e->call ? e->call->name : e->function->name, wanted, wanted == 1 ? "" : "s");
        return false;
    }
    if (comma && !kni_parse_take(p, ",")) return false;
    kni_tree_expression *a = kni_parse_expression(p);
    if (!a) return false;
    if (!a->type) return kni_parse_fail(p, a->line, a->column, "this gives no value") != NULL;
    e->arguments[i] = a;
    e->guarded |= a->guarded;
    if (a->depth >= e->depth) e->depth = (uint16_t)(a->depth + 1);
    return true;
}

static bool close(kni_parser *p, const char *name, int wanted)
{
    if (kni_parse_peek(p, ",") || !kni_parse_peek(p, ")")) {
        if (p->failed) return false;
        kni_parse_fail(p, p->token.line, p->token.column, "%s takes %d argument%s", name, wanted,
                       wanted == 1 ? "" : "s");
        return false;
    }
    return kni_parse_take(p, ")");
}

static kni_tree_function *find_function(kni_parser *p, const kni_lex_token *name)
{
    for (kni_tree_function *f = p->functions; f; f = f->next)
        if (kni_lex_is(name, f->name)) return f;
    return NULL;
}

/* Notes that the function being parsed calls f. */
static void remember(kni_parser *p, kni_tree_function *f)
{
    kni_tree_function *c = p->current;
    for (int i = 0; i < c->n_calls; i++)
        if (c->calls[i] == f) return;
    kni_tree_function **calls = kni_tree_new(p, (size_t)(c->n_calls + 1) * sizeof *calls);
    if (!calls) return;
    if (c->n_calls) memcpy(calls, c->calls, (size_t)c->n_calls * sizeof *calls);
    calls[c->n_calls++] = f;
    c->calls = calls;
}

static kni_tree_expression *function_call(kni_parser *p, const kni_lex_token *name, kni_tree_function *f)
{
    if (f == p->current) return kni_parse_fail(p, name->line, name->column, "'%s' calls itself", f->name);
    if (f->is_kernel)
        return kni_parse_fail(p, name->line, name->column, "a kernel is not called: '%s'", f->name);
    kni_tree_expression *e = new_call(p, KNI_TREE_CALL, name, f->n_parameters);
    if (!e) return NULL;
    e->function = f;
    e->type = f->result;
    for (int i = 0; i < f->n_parameters; i++)
        if (!argument(p, e, i, i > 0)) return NULL;
    e->guarded = true;
    remember(p, f);
    return close(p, f->name, f->n_parameters) ? e : NULL;
}

/* A name that is a buffer or array (tile false), or a tile. */
static kni_tree_symbol *named(kni_parser *p, bool tile)
{
    kni_lex_token name = p->token;
    char shown[KNI_LEX_SHOWN];
    kni_tree_symbol *s = kni_parse_find(p, &name);
    if (!s) return NULL;
    bool memory = s->kind == KNI_TREE_BUFFER || s->kind == KNI_TREE_SHARED;
    if (tile ? s->kind != KNI_TREE_TILE : !memory)
        return kni_parse_fail(p, name.line, name.column, tile ? "%s is no tile" : "%s is no buffer",
                              kni_lex_show(&name, shown));
    kni_parse_advance(p);
    return s;
}

static bool writable(kni_parser *p, const kni_lex_token *at, kni_tree_symbol *s)
{
    if (s->kind == KNI_TREE_SHARED || (s->access & KNI_IR_WRITE)) return true;
    kni_parse_fail(p, at->line, at->column, "'%s' is an `in` buffer: it is only read", s->name);
    return false;
}

static bool index_argument(kni_parser *p, kni_tree_expression *e, int i, bool comma)
{
    if (!argument(p, e, i, comma)) return false;
    if (kni_tree_integer(e->arguments[i]->type)) return true;
    kni_parse_fail(p, e->arguments[i]->line, e->arguments[i]->column, "an integer is needed here");
    return false;
}

/* atomic_add(buffer, index, value) */
static kni_tree_expression *atomic(kni_parser *p, kni_tree_expression *e)
{
    kni_lex_token at = p->token;
    kni_tree_symbol *s = named(p, false);
    if (!s || !writable(p, &at, s)) return NULL;
    e->symbol = s;
    s->access |= KNI_IR_READ;
    bool small = kni_dtypes[s->memory].bits < 32;
    if (small)
        return kni_parse_fail(p, at.line, at.column,
                              "atomics are of elements of 32 or 64 bits, '%s' has others", s->name);
    e->type = s->type;
    e->guarded = true;
    return index_argument(p, e, 0, true) && argument(p, e, 1, true) ? e : NULL;
}

static kni_tree_expression *tile(kni_parser *p, kni_tree_expression *e)
{
    int kind = e->call->kind;
    e->guarded = true;
    if (!(e->symbol = named(p, true))) return NULL;
    if (kind == KNI_WORD_TILE_FILL) return argument(p, e, 0, true) ? e : NULL;
    if (!kni_parse_take(p, ",")) return NULL;
    kni_lex_token at = p->token;
    if (kind == KNI_WORD_TILE_MULTIPLY) {
        e->other = named(p, true);
        if (!e->other || !kni_parse_take(p, ",") || !(e->third = named(p, true))) return NULL;
        if (e->symbol->access != KNI_IR_TILE_SUM || e->other->access != KNI_IR_TILE_LEFT ||
            e->third->access != KNI_IR_TILE_RIGHT)
            return kni_parse_fail(p, at.line, at.column,
                                  "tile_multiply takes a sum, a left and a right tile");
        return e;
    }
    if (!(e->other = named(p, false))) return NULL;
    if (kind == KNI_WORD_TILE_LOAD && e->other->kind == KNI_TREE_BUFFER) e->other->access |= KNI_IR_READ;
    if (kind == KNI_WORD_TILE_STORE && !writable(p, &at, e->other)) return NULL;
    return index_argument(p, e, 0, true) && index_argument(p, e, 1, true) ? e : NULL;
}

/* The type that all n arguments have in common; integers become real where the word is of floats. */
static uint8_t shared_type(const kni_parser *p, const kni_tree_expression *e, bool floats)
{
    kni_tree_expression all = *e->arguments[0];
    for (int i = 1; i < e->n_arguments; i++) {
        all.type = kni_tree_common(p, &all, e->arguments[i]);
        all.code = KNI_TREE_NAME_VALUE;
    }
    uint8_t type = kni_tree_settled(p, all.type);
    if (floats) return kni_tree_integer(type) ? (uint8_t)p->real : type;
    return kni_is_bool(type) ? KN_I64 : type;
}

/* Where a word may stand: what concerns the launch or the workgroup has no meaning in a function. */
static bool allowed_here(kni_parser *p, const kni_lex_token *name, const kni_tree_word *w)
{
    if (w->kind <= KNI_WORD_PHILOX) return true;
    const char *why = !p->current->is_kernel ? "'%s' belongs into a kernel, not into a function"
                      : w->kind == KNI_WORD_REPORT || w->kind == KNI_WORD_ATOMIC || p->current->workgroup
                          ? NULL
                          : "'%s' needs a kernel that begins with (workgroup N, ...)";
    if (why) kni_parse_fail(p, name->line, name->column, why, w->name);
    return !why;
}

static int plain_arguments(const kni_tree_word *w)
{
    switch (w->kind) {
    case KNI_WORD_ATOMIC:
    case KNI_WORD_TILE_LOAD:
    case KNI_WORD_TILE_STORE:
        return 2;
    case KNI_WORD_TILE_FILL:
        return 1;
    case KNI_WORD_TILE_MULTIPLY:
        return 0;
    default:
        return w->arguments;
    }
}

static void give_type(const kni_parser *p, kni_tree_expression *e)
{
    int kind = e->call->kind;
    if (kind == KNI_WORD_TRUTH) {
        e->operands = shared_type(p, e, false);
        e->type = KN_BOOL;
    } else if (kind == KNI_WORD_PHILOX || kind == KNI_WORD_REPORT || kind == KNI_WORD_BUILTIN) {
        e->operands = KN_I64;
        e->type = kind == KNI_WORD_REPORT ? 0 : KN_I64;
    } else if (kind == KNI_WORD_SHUFFLE) {
        e->operands = e->type =
            kni_is_bool(e->arguments[0]->type) ? KN_I64 : kni_tree_settled(p, e->arguments[0]->type);
    } else if (kind != KNI_WORD_BARRIER) {
        bool floats = kind == KNI_WORD_FLOAT || kind == KNI_WORD_FMA || kind == KNI_WORD_COS_TURN;
        e->operands = e->type = shared_type(p, e, floats);
    }
    e->guarded |= kind >= KNI_WORD_PHILOX;
}

static kni_tree_expression *word_call(kni_parser *p, const kni_lex_token *name, const kni_tree_word *w)
{
    if (!allowed_here(p, name, w)) return NULL;
    kni_tree_expression *e = new_call(p, KNI_TREE_WORD, name, plain_arguments(w));
    if (!e) return NULL;
    e->call = w;
    if (w->kind == KNI_WORD_ATOMIC) return atomic(p, e) && close(p, w->name, w->arguments) ? e : NULL;
    if (w->kind >= KNI_WORD_TILE_FILL) return tile(p, e) && close(p, w->name, w->arguments) ? e : NULL;
    for (int i = 0; i < w->arguments; i++)
        if (!argument(p, e, i, i > 0)) return NULL;
    if (!close(p, w->name, w->arguments)) return NULL;
    give_type(p, e);
    return e;
}

kni_tree_expression *kni_parse_call(kni_parser *p)
{
    kni_lex_token name = p->token;
    char shown[KNI_LEX_SHOWN];
    kni_tree_function *f = find_function(p, &name);
    const kni_tree_word *w = f ? NULL : kni_tree_word_find(&name);
    if (!f && !w)
        return kni_parse_fail(p, name.line, name.column, "no function %s above this line",
                              kni_lex_show(&name, shown));
    kni_parse_advance(p);
    kni_parse_take(p, "(");
    return f ? function_call(p, &name, f) : word_call(p, &name, w);
}
