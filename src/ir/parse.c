/* The parser of kernel texts: tokens, types, names, kernels and functions. Recursion is bounded and the first mistake
   turns the rest of the text into its end, so hostile text ends in an error. */
#include "core/allocator.h"
#include "core/error.h"
#include "core/text.h"
#include "ir/parse_tree.h"
#include <string.h>

enum {
    MAX_BYTES = 1 << 20,
    MAX_DEPTH = 240,
    MAX_PARAMETERS = KNI_IR_MAX_SIGNATURE,
    MAX_ARGUMENTS = 16, /* of a function: in the narrow form it takes up to two words for each */
    CHUNK = 16384,
    MAX_WORKGROUP = 1024
};

/* ---- memory of the tree: freed all at once */

struct kni_tree_chunk {
    kni_tree_chunk *before;
    size_t used, bytes;
};

void *kni_tree_new(kni_parser *p, size_t bytes)
{
    if (p->failed) return NULL;
    bytes = (bytes + 15) & ~(size_t)15;
    if (!p->memory || p->memory->bytes - p->memory->used < bytes) {
        size_t room = bytes > CHUNK / 4 ? bytes + 64 : CHUNK;
        kni_tree_chunk *chunk = kni_allocate(room);
        if (!chunk) {
            kni_fail(KN_ERROR_MEMORY, "%s: no memory to parse the kernel", p->file);
            p->failed = true;
            return NULL;
        }
        *chunk = (kni_tree_chunk){p->memory, 64, room};
        p->memory = chunk;
    }
    void *block = (char *)p->memory + p->memory->used;
    p->memory->used += bytes;
    return memset(block, 0, bytes);
}

static void free_tree(kni_parser *p)
{
    while (p->memory) {
        kni_tree_chunk *before = p->memory->before;
        kni_free(p->memory, p->memory->bytes);
        p->memory = before;
    }
}

/* ---- tokens */

/* What to write instead of the token where it is a word of another language that the text did not declare. */
static const char *better(const kni_parser *p, const kni_lex_token *token)
{
    const char *here = token->kind == KNI_LEX_NAME ? kni_tree_foreign(token) : NULL;
    for (const kni_tree_symbol *s = p->names; s && here; s = s->outer)
        if (kni_lex_is(token, s->name)) return NULL;
    for (const kni_tree_function *f = p->functions; f && here; f = f->next)
        if (kni_lex_is(token, f->name)) return NULL;
    return here;
}

void *kni_parse_fail(kni_parser *p, uint32_t line, uint32_t column, const char *format, ...)
{
    if (p->failed) return NULL;
    char message[256];
    kni_text text = {message, sizeof message, 0};
    va_list arguments;
    va_start(arguments, format);
    kni_text_format_list(&text, format, arguments);
    va_end(arguments);
    /* The mistake is at this token, or at the sign behind it that no text may hold (threadIdx.x). */
    kni_lex_token at = p->token;
    char shown[KNI_LEX_SHOWN];
    bool here = at.line == line && (at.column == column || at.column + at.length == column);
    const char *instead = here ? better(p, &at) : NULL;
    if (instead)
        kni_fail(KN_ERROR_ARGUMENT, "%s:%u:%u: %s is no word of this language: write %s", p->file, at.line,
                 at.column, kni_lex_show(&at, shown), instead);
    else
        kni_fail(KN_ERROR_ARGUMENT, "%s:%u:%u: %s", p->file, line, column, message);
    p->failed = true;
    p->token.kind = p->next.kind = KNI_LEX_END;
    return NULL;
}

void kni_parse_advance(kni_parser *p)
{
    const char *why;
    if (p->failed) return;
    p->token = p->next;
    if (p->token.kind != KNI_LEX_END && !kni_lex_next(&p->lexer, &p->next, &why))
        kni_parse_fail(p, p->next.line, p->next.column, "%s", why);
}

bool kni_parse_peek(const kni_parser *p, const char *word) { return kni_lex_is(&p->token, word); }

bool kni_parse_accept(kni_parser *p, const char *word)
{
    if (!kni_parse_peek(p, word)) return false;
    kni_parse_advance(p);
    return !p->failed;
}

bool kni_parse_take(kni_parser *p, const char *word)
{
    char shown[KNI_LEX_SHOWN];
    if (p->failed || kni_parse_accept(p, word)) return !p->failed;
    kni_parse_fail(p, p->token.line, p->token.column, "expected '%s', found %s", word,
                   kni_lex_show(&p->token, shown));
    return false;
}

bool kni_parse_deeper(kni_parser *p)
{
    if (p->failed) return false;
    if (++p->depth <= MAX_DEPTH) return true;
    kni_parse_fail(p, p->token.line, p->token.column, "this is nested too deeply");
    return false;
}

/* ---- types and names */

kni_tree_type kni_parse_type(const kni_parser *p, const kni_lex_token *token)
{
    static const struct {
        const char *name;
        uint8_t compute, memory;
    } types[] = {{"f16", KN_F32, KN_F16},   {"bf16", KN_F32, KN_BF16}, {"f32", KN_F32, KN_F32},
                 {"f64", KN_F64, KN_F64},   {"i8", KN_I32, KN_I8},     {"i16", KN_I32, KN_I16},
                 {"i32", KN_I32, KN_I32},   {"i64", KN_I64, KN_I64},   {"u8", KN_I32, KN_U8},
                 {"u16", KN_I32, KN_U16},   {"u32", KN_U32, KN_U32},   {"u64", KN_U64, KN_U64},
                 {"bool", KN_BOOL, KN_BOOL}};
    uint8_t element = (uint8_t)p->element, real = (uint8_t)p->real;
    if (token->kind != KNI_LEX_NAME) return (kni_tree_type){0, 0, 0};
    if (kni_lex_is(token, "T")) return (kni_tree_type){element, element, 'T'};
    if (kni_lex_is(token, "index")) return (kni_tree_type){p->index, p->index, 'i'};
    if (kni_lex_is(token, "real")) return (kni_tree_type){real, real, 'r'};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (kni_lex_is(token, types[i].name)) return (kni_tree_type){types[i].compute, types[i].memory, '.'};
    return (kni_tree_type){0, 0, 0};
}

static bool reserved(const kni_parser *p, const kni_lex_token *name)
{
    static const char *const words[] = {"kernel", "function", "uniform",   "if",      "else", "for",
                                        "while",  "break",    "continue",  "return",  "in",   "out",
                                        "temp",   "INF",      "NAN_VALUE", "IS_FLOAT"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (kni_lex_is(name, words[i])) return true;
    return kni_parse_type(p, name).compute != 0;
}

/* A new name stands at the token: one that is free for it. */
static bool new_name(kni_parser *p, char name[KNI_TREE_NAME])
{
    kni_lex_token t = p->token;
    char shown[KNI_LEX_SHOWN];
    const kni_tree_word *word = kni_tree_word_find(&t);
    const char *why = t.kind != KNI_LEX_NAME || reserved(p, &t) ? "expected a name, found %s"
                      : word && word->core                      ? "%s is a word of the language"
                      : t.length >= KNI_TREE_NAME               ? "the name %s is longer than 31 characters"
                                                                : NULL;
    for (kni_tree_function *f = p->functions; f && !why; f = f->next)
        if (kni_lex_is(&t, f->name)) why = "%s is a function or kernel already";
    if (why) {
        kni_parse_fail(p, t.line, t.column, why, kni_lex_show(&t, shown));
        return false;
    }
    memcpy(name, t.text, t.length);
    name[t.length] = 0;
    return !p->failed;
}

kni_tree_symbol *kni_parse_declare(kni_parser *p, int kind, kni_tree_type type)
{
    kni_tree_symbol *s = kni_tree_new(p, sizeof *s);
    char shown[KNI_LEX_SHOWN];
    if (!s || !new_name(p, s->name)) return NULL;
    for (kni_tree_symbol *o = p->names; o && o->scope == p->scope; o = o->outer)
        if (!strcmp(o->name, s->name))
            return kni_parse_fail(p, p->token.line, p->token.column, "%s is declared twice",
                                  kni_lex_show(&p->token, shown));
    s->kind = (uint8_t)kind;
    s->type = type.compute;
    s->letter = type.letter;
    s->memory = type.memory;
    s->scope = p->scope;
    s->outer = p->names;
    p->names = s;
    return s;
}

kni_tree_symbol *kni_parse_find(kni_parser *p, const kni_lex_token *name)
{
    char shown[KNI_LEX_SHOWN];
    bool plain = name->kind == KNI_LEX_NAME && !reserved(p, name);
    for (kni_tree_symbol *s = p->names; s && plain; s = s->outer)
        if (kni_lex_is(name, s->name)) return s;
    return kni_parse_fail(p, name->line, name->column,
                          plain ? "%s is not declared" : "expected a value, found %s",
                          kni_lex_show(name, shown));
}

void kni_parse_scope_begin(kni_parser *p) { p->scope++; }

void kni_parse_scope_end(kni_parser *p)
{
    while (p->names && p->names->scope == p->scope) p->names = p->names->outer;
    p->scope--;
}

int64_t kni_parse_length(kni_parser *p)
{
    kni_lex_token t = p->token;
    if (t.kind != KNI_LEX_WHOLE || t.whole < 1 || t.whole > 65536) {
        kni_parse_fail(p, t.line, t.column, "the length of an array is a whole number from 1 to 65536");
        return 0;
    }
    kni_parse_advance(p);
    return t.whole;
}

/* ---- kernels and functions */

static kni_tree_function *new_function(kni_parser *p, bool is_kernel)
{
    kni_tree_function *f = kni_tree_new(p, sizeof *f);
    if (!f) return NULL;
    f->is_kernel = is_kernel;
    f->line = p->token.line;
    f->column = p->token.column;
    f->parameters = kni_tree_new(p, MAX_PARAMETERS * sizeof *f->parameters);
    p->current = f;
    p->names = NULL;
    p->scope = 0;
    p->loops = 0;
    return f->parameters && new_name(p, f->name) ? f : NULL;
}

static bool add_parameter(kni_parser *p, kni_tree_function *f, kni_tree_symbol *s)
{
    if (!s) return false;
    if (f->n_parameters == (f->is_kernel ? (int)MAX_PARAMETERS : (int)MAX_ARGUMENTS)) {
        kni_parse_fail(p, p->token.line, p->token.column, "'%s' has too many parameters", f->name);
        return false;
    }
    s->number = (uint32_t)f->n_parameters;
    f->parameters[f->n_parameters++] = s;
    kni_parse_advance(p);
    return !p->failed;
}

/* Where roles stand in the order of parameters; numbers, uniform arrays among them, come last. That an `out` buffer is
   read too is noted where it happens. */
static const struct {
    const char *name;
    int access;
} roles[] = {{"in", KNI_IR_READ},
             {"inout", KNI_IR_READ | KNI_IR_WRITE},
             {"out", KNI_IR_WRITE},
             {"temp", KNI_IR_READ | KNI_IR_WRITE},
             {"uniform", 0}};
enum { NUMBERS = 4 };

/* Its place in the order, -1 after a failure. */
static int parameter(kni_parser *p, kni_tree_function *f)
{
    int role = 0;
    while (role <= NUMBERS && !kni_parse_accept(p, roles[role].name)) role++;
    kni_lex_token at = p->token;
    kni_tree_type type = kni_parse_type(p, &at);
    char shown[KNI_LEX_SHOWN];
    const char *why = !type.compute ? "expected a type, found %s"
                      : kni_lex_is(&p->next, "*")
                          ? "there are no pointers: a buffer is in, inout, out or temp, and written %s x[]"
                      : role >= NUMBERS && kni_lex_is(&at, "T")
                          ? "a number is index, real or a type by its name, not %s"
                      : role >= NUMBERS && type.compute != type.memory ? "a number cannot be %s"
                                                                       : NULL;
    if (why) kni_parse_fail(p, at.line, at.column, why, kni_lex_show(&at, shown));
    kni_parse_advance(p);
    kni_tree_symbol *s = kni_parse_declare(p,
                                           role > NUMBERS    ? KNI_TREE_NUMBER
                                           : role == NUMBERS ? KNI_TREE_UNIFORM
                                                             : KNI_TREE_BUFFER,
                                           type);
    if (!add_parameter(p, f, s)) return -1;
    if (role > NUMBERS) return NUMBERS;
    s->access = (uint8_t)roles[role].access;
    s->role = (uint8_t)role;
    if (!kni_parse_take(p, "[")) return -1;
    if (role == NUMBERS) s->length = kni_parse_length(p);
    return kni_parse_take(p, "]") ? role : -1;
}

/* `index item`, or `workgroup 256`. */
static bool leading(kni_parser *p, kni_tree_function *f)
{
    if (kni_parse_accept(p, "workgroup")) {
        kni_lex_token t = p->token;
        if (t.kind != KNI_LEX_WHOLE || t.whole < 1 || t.whole > MAX_WORKGROUP)
            kni_parse_fail(p, t.line, t.column, "a workgroup has 1 to %d invocations",
                           (int32_t)MAX_WORKGROUP);
        f->workgroup = (uint32_t)t.whole;
        kni_parse_advance(p);
        return !p->failed;
    }
    if (!kni_parse_take(p, "index") || !kni_parse_peek(p, "item")) return kni_parse_take(p, "item");
    f->item = kni_parse_declare(p, KNI_TREE_ITEM, (kni_tree_type){p->index, p->index, 'i'});
    kni_parse_advance(p);
    return !p->failed;
}

static bool kernel(kni_parser *p, kni_tree_function *f)
{
    kni_parse_advance(p);
    if (!kni_parse_take(p, "(") || !leading(p, f)) return false;
    for (int last = 0; kni_parse_accept(p, ",");) {
        kni_lex_token at = p->token;
        int role = parameter(p, f);
        if (role >= 0 && role < last)
            kni_parse_fail(p, at.line, at.column, "buffers come first: in, inout, out, temp; then numbers");
        last = role;
    }
    return kni_parse_take(p, ")") && (f->body = kni_parse_block(p));
}

static bool function(kni_parser *p, kni_tree_function *f, kni_tree_type result)
{
    kni_parse_advance(p);
    f->result = result.compute;
    if (!kni_parse_take(p, "(")) return false;
    do {
        kni_lex_token at = p->token;
        kni_tree_type type = kni_parse_type(p, &at);
        char shown[KNI_LEX_SHOWN];
        if (!type.compute || type.compute != type.memory)
            kni_parse_fail(p, at.line, at.column, "expected a type to compute in, found %s",
                           kni_lex_show(&at, shown));
        kni_parse_advance(p);
        if (!add_parameter(p, f, kni_parse_declare(p, KNI_TREE_ARGUMENT, type))) return false;
    } while (kni_parse_accept(p, ","));
    return kni_parse_take(p, ")") && (f->body = kni_parse_block(p));
}

static bool one_of_file(kni_parser *p)
{
    char shown[KNI_LEX_SHOWN];
    kni_lex_token at = p->token;
    bool is_kernel = kni_parse_accept(p, "kernel");
    if (!is_kernel && !kni_parse_accept(p, "function")) {
        kni_parse_fail(p, at.line, at.column, "expected 'kernel' or 'function', found %s",
                       kni_lex_show(&at, shown));
        return false;
    }
    kni_tree_type result = {0, 0, 0};
    if (!is_kernel) {
        at = p->token;
        result = kni_parse_type(p, &at);
        if (!result.compute || result.compute != result.memory)
            kni_parse_fail(p, at.line, at.column, "expected the type of the result, found %s",
                           kni_lex_show(&at, shown));
        kni_parse_advance(p);
    }
    kni_tree_function *f = new_function(p, is_kernel);
    if (!f || !(is_kernel ? kernel(p, f) : function(p, f, result))) return false;
    *p->functions_end = f;
    p->functions_end = &f->next;
    return !p->failed;
}

static kni_tree_function *chosen(kni_parser *p, const char *name)
{
    kni_tree_function *found = NULL;
    for (kni_tree_function *f = p->functions; f; f = f->next) {
        if (!f->is_kernel || (name && strcmp(name, f->name))) continue;
        if (found) {
            kni_fail(KN_ERROR_ARGUMENT, "%s: the text holds several kernels ('%s', '%s'): name one", p->file,
                     found->name, f->name);
            return NULL;
        }
        found = f;
    }
    if (!found && name) kni_fail(KN_ERROR_ARGUMENT, "%s: the text holds no kernel '%s'", p->file, name);
    if (!found && !name) kni_fail(KN_ERROR_ARGUMENT, "%s: the text holds no kernel", p->file);
    return found;
}

/* The kernel that the options name, from a text that is wholly parsed; NULL after a failure. */
static kni_tree_function *parse_file(kni_parser *p, const char *text, size_t bytes,
                                     const kni_ir_parse_options *o)
{
    static const kni_ir_parse_options none;
    if (!o) o = &none;
    *p = (kni_parser){.lexer = kni_lex_begin(text, bytes),
                      .file = o->file ? o->file : "kernel",
                      .element = o->element ? o->element : KN_F32,
                      .real = o->real ? o->real : KN_F64,
                      .index = (uint8_t)(o->index ? o->index : KN_I64),
                      .storage = o->storage};
    p->functions_end = &p->functions;
    if (!text || bytes > MAX_BYTES) {
        kni_fail(KN_ERROR_ARGUMENT, "%s: a kernel text has at most %d bytes", p->file, (int32_t)MAX_BYTES);
        return NULL;
    }
    p->next.kind = KNI_LEX_SIGN;
    kni_parse_advance(p);
    kni_parse_advance(p);
    while (!p->failed && p->token.kind != KNI_LEX_END && one_of_file(p)) continue;
    return p->failed ? NULL : chosen(p, o->kernel);
}

kni_ir *kni_ir_parse(const char *text, size_t bytes, const kni_ir_parse_options *options)
{
    kni_parser p;
    kni_tree_function *f = parse_file(&p, text, bytes, options);
    kni_ir *ir = f ? kni_tree_lower(&p, f) : NULL;
    free_tree(&p);
    return ir;
}

static void describe(const kni_tree_function *f, kni_ir_signature *s)
{
    memset(s, 0, sizeof *s);
    memcpy(s->name, f->name, sizeof f->name);
    s->workgroup = f->workgroup;
    for (int i = 0; i < f->n_parameters; i++) {
        const kni_tree_symbol *p = f->parameters[i];
        if (p->kind == KNI_TREE_BUFFER) {
            int n = s->n_buffers++;
            memcpy(s->buffers[n].name, p->name, sizeof p->name);
            s->buffers[n].role = p->role;
            s->buffers[n].letter = p->letter;
            s->buffers[n].dtype = p->letter == '.' ? p->memory : 0;
            s->by_role[p->role]++;
        } else {
            int n = s->n_numbers++;
            memcpy(s->numbers[n].name, p->name, sizeof p->name);
            s->numbers[n].dtype = kni_is_bool(p->type) ? KN_I64 : p->type;
            s->numbers[n].count = p->kind == KNI_TREE_UNIFORM ? (uint32_t)p->length : 0;
        }
    }
}

bool kni_ir_parse_signature(const char *text, size_t bytes, const kni_ir_parse_options *options,
                            kni_ir_signature *signature)
{
    kni_parser p;
    const kni_tree_function *f = parse_file(&p, text, bytes, options);
    if (f) describe(f, signature);
    free_tree(&p);
    return f != NULL;
}
