/* Functions of the math texts: their types, statements and the order in which they are made. */
#include "ir/math_source.h"
#include "core/allocator.h"
#include "core/error.h"
#include "ir/ir_internal.h"
#include "ir/prelude_table.h"
#include <string.h>

bool kni_ir_math_has(const char *item) { return kni_ir_item_find(item) >= 0; }

void kni_mathc_fail(kni_mathc_reader *r, const char *what)
{
    char near[40];
    size_t n = 0;
    while (n < sizeof near - 1 && r->token[n]) n++;
    memcpy(near, r->token, n);
    near[n] = 0;
    if (r->b.status == KN_OK)
        kni_ir_fail(&r->b, "a text of the math library cannot be read: %s at \"%s\"", what, near);
    r->token = r->at = r->end = "";
}

/* ---- tokens */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

/* A number takes the sign of its exponent along. */
static const char *word_end(const char *p)
{
    bool number = (*p >= '0' && *p <= '9') || *p == '.', hexadecimal = number && p[1] == 'x';
    const char *start = p;
    for (; is_word(*p) || (number && p > start && (*p == '+' || *p == '-')); p++) {
        bool sign = *p == '+' || *p == '-';
        char before = p > start ? p[-1] : 0;
        bool exponent = hexadecimal ? before == 'p' : before == 'e' || before == 'E';
        if (sign && !exponent) break;
        if (*p == '.' && !number) break;
    }
    return p;
}

void kni_mathc_next(kni_mathc_reader *r)
{
    static const char signs[][4] = {"<<=", ">>=", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
                                    "++",  "--",  "+=", "-=", "*=", "/=", "|=", "&=", "^="};
    const char *p = r->at;
    while (*p == ' ' || *p == '\n') p++;
    r->token = p;
    if (*p && (is_word(*p) && !(*p == '.' && !(p[1] >= '0' && p[1] <= '9')))) {
        p = word_end(p);
    } else if (*p) {
        size_t n = 1;
        for (size_t i = 0; i < sizeof signs / sizeof *signs && n == 1; i++)
            if (!strncmp(p, signs[i], strlen(signs[i]))) n = strlen(signs[i]);
        p += n;
    }
    r->end = r->at = p;
}

bool kni_mathc_is(const kni_mathc_reader *r, const char *token)
{
    size_t n = (size_t)(r->end - r->token);
    return strlen(token) == n && !memcmp(r->token, token, n);
}

bool kni_mathc_accept(kni_mathc_reader *r, const char *token)
{
    if (!kni_mathc_is(r, token)) return false;
    kni_mathc_next(r);
    return true;
}

void kni_mathc_take(kni_mathc_reader *r, const char *token)
{
    if (!kni_mathc_accept(r, token)) kni_mathc_fail(r, token);
}

void kni_mathc_name(kni_mathc_reader *r, char name[KNI_MATHC_NAME])
{
    size_t n = (size_t)(r->end - r->token);
    name[0] = 0;
    if (!n || n >= KNI_MATHC_NAME) {
        kni_mathc_fail(r, "a name");
        return;
    }
    memcpy(name, r->token, n);
    name[n] = 0;
    kni_mathc_next(r);
}

static void begin_text(kni_mathc_reader *r, const char *text)
{
    r->at = text;
    kni_mathc_next(r);
}

/* ---- types */

static const struct {
    const char *name;
    uint8_t dtype, bits;
} types[] = {{"double", KN_F64, 0},    {"float", KN_F32, 0},    {"int", KN_I32, 0},
             {"int32_t", KN_I32, 0},   {"unsigned", KN_U32, 0}, {"uint32_t", KN_U32, 0},
             {"int64_t", KN_I64, 0},   {"uint64_t", KN_U64, 0}, {"int16_t", KN_I32, 16},
             {"uint16_t", KN_U32, 16}, {"int8_t", KN_I32, 8},   {"uint8_t", KN_U32, 8}};

static bool plain_type(const kni_mathc_reader *r, kni_mathc_type *type)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (kni_mathc_is(r, types[i].name)) {
            *type = (kni_mathc_type){.dtype = types[i].dtype, .bits = types[i].bits};
            return true;
        }
    return false;
}

/* typedef struct { double hi, lo; uint64_t quadrant; } name; */
static bool struct_type(kni_mathc_reader *r, kni_mathc_type *type)
{
    char name[KNI_MATHC_NAME];
    size_t n = (size_t)(r->end - r->token);
    if (n < 4 || n >= KNI_MATHC_NAME || memcmp(r->token, "kni_", 4)) return false;
    memcpy(name, r->token, n);
    name[n] = 0;
    int item = kni_ir_item_find(name);
    if (item < 0 || strncmp(kni_ir_items[item].text, "typedef struct", 14)) return false;
    kni_mathc_reader inner = {.at = strchr(kni_ir_items[item].text, '{') + 1};
    *type = (kni_mathc_type){.names = inner.at};
    kni_mathc_next(&inner);
    for (kni_mathc_type field; !kni_mathc_is(&inner, "}") && plain_type(&inner, &field);) {
        do {
            kni_mathc_next(&inner);
            if (type->n_fields < KNI_MATHC_FIELDS) type->fields[type->n_fields++] = field.dtype;
            kni_mathc_next(&inner);
        } while (kni_mathc_is(&inner, ","));
        kni_mathc_next(&inner);
    }
    return true;
}

bool kni_mathc_is_type(kni_mathc_reader *r)
{
    kni_mathc_type type;
    return kni_mathc_is(r, "const") || plain_type(r, &type) || struct_type(r, &type);
}

bool kni_mathc_type_here(kni_mathc_reader *r, kni_mathc_type *type)
{
    (void)kni_mathc_accept(r, "const");
    if (!plain_type(r, type) && !struct_type(r, type)) return false;
    kni_mathc_next(r);
    return true;
}

int kni_mathc_field(const kni_mathc_type *type, const char *name)
{
    kni_mathc_reader inner = {.at = type->names ? type->names : ""};
    kni_mathc_type skipped;
    int number = 0;
    kni_mathc_next(&inner);
    for (; *inner.token && !kni_mathc_is(&inner, "}"); kni_mathc_next(&inner)) {
        if (kni_mathc_is(&inner, ",") || kni_mathc_is(&inner, ";") || plain_type(&inner, &skipped)) continue;
        if (kni_mathc_is(&inner, name)) return number;
        number++;
    }
    return -1;
}

/* ---- names */

kni_mathc_symbol *kni_mathc_find(kni_mathc_reader *r, const char *name)
{
    for (int i = r->n_symbols; i-- > r->first;)
        if (!strcmp(r->symbols[i].name, name)) return &r->symbols[i];
    return NULL;
}

static kni_mathc_symbol *declare(kni_mathc_reader *r, const char *name, kni_mathc_type type)
{
    if (r->n_symbols == KNI_MATHC_SYMBOLS) {
        kni_mathc_fail(r, "too many names");
        return NULL;
    }
    kni_mathc_symbol *s = &r->symbols[r->n_symbols++];
    *s = (kni_mathc_symbol){.type = type};
    memcpy(s->name, name, strlen(name) + 1);
    return s;
}

static void declare_value(kni_mathc_reader *r, const char *name, kni_mathc_type type,
                          const kni_mathc_value *v)
{
    kni_mathc_symbol *s = declare(r, name, type);
    if (!s) return;
    kni_mathc_value first = {0};
    if (v) first = kni_mathc_convert(r, *v, type);
    if (!type.n_fields) s->variables[0] = kni_ir_variable(&r->b, type.dtype, 1, v ? first.id : 0);
    for (int i = 0; i < type.n_fields; i++)
        s->variables[i] = kni_ir_variable(&r->b, type.fields[i], 1, v ? first.fields[i] : 0);
}

/* ---- statements. Each answers whether what follows is never reached. */

static bool statement(kni_mathc_reader *r);

static void local_array(kni_mathc_reader *r, const char *name, kni_mathc_type type)
{
    uint64_t length = 0;
    char full[KNI_MATHC_NAME];
    (void)kni_mathc_constant(r, &length);
    kni_mathc_take(r, "]");
    kni_mathc_symbol *s = declare(r, name, type);
    kni_text text = {full, sizeof full, 0};
    if (r->b.ir) kni_text_format(&text, "local_%u", r->b.ir->n_bindings);
    if (!s || r->b.status) return;
    s->array = true;
    s->binding = kni_ir_array(&r->b, full, type.dtype, KNI_IR_PRIVATE, (int64_t)length);
}

static void declaration(kni_mathc_reader *r)
{
    kni_mathc_type type;
    char name[KNI_MATHC_NAME];
    if (!kni_mathc_type_here(r, &type)) kni_mathc_fail(r, "a type");
    do {
        kni_mathc_name(r, name);
        if (kni_mathc_accept(r, "[")) {
            local_array(r, name, type);
        } else if (kni_mathc_accept(r, "=")) {
            kni_mathc_value v = kni_mathc_is(r, "{") ? kni_mathc_braces(r, type) : kni_mathc_expression(r);
            declare_value(r, name, type, &v);
        } else {
            declare_value(r, name, type, NULL);
        }
    } while (kni_mathc_accept(r, ","));
}

static void assign(kni_mathc_reader *r, const kni_mathc_symbol *s, int field, kni_ir_id element)
{
    kni_mathc_type type = field < 0 ? s->type : (kni_mathc_type){.dtype = s->type.fields[field]};
    kni_mathc_value old = {.type = type}, v;
    char sign[4] = {0};
    size_t n = (size_t)(r->end - r->token);
    if (n > 3 || !n) {
        kni_mathc_fail(r, "an assignment");
        return;
    }
    memcpy(sign, r->token, n);
    kni_mathc_next(r);
    bool step = !strcmp(sign, "++") || !strcmp(sign, "--");
    if (strcmp(sign, "=")) {
        if (s->array)
            old.id = kni_ir_load(&r->b, s->binding, element, type.dtype, 1);
        else
            old.id = kni_ir_get(&r->b, s->variables[field < 0 ? 0 : field]);
    }
    if (step)
        v = (kni_mathc_value){.type = {.dtype = KN_I32}, .id = kni_ir_whole(&r->b, KN_I32, 1)};
    else
        v = kni_mathc_expression(r);
    if (strcmp(sign, "=")) {
        sign[n - 1] = 0;
        v = kni_mathc_operate(r, sign, old, v);
    }
    v = kni_mathc_convert(r, v, type);
    if (s->array)
        kni_ir_store(&r->b, s->binding, element, v.id);
    else if (!type.n_fields)
        kni_ir_set(&r->b, s->variables[field < 0 ? 0 : field], v.id);
    for (int i = 0; i < type.n_fields; i++) kni_ir_set(&r->b, s->variables[i], v.fields[i]);
}

/* x = ..., x.hi += ..., x[i] = ..., x++ */
static void change(kni_mathc_reader *r)
{
    char name[KNI_MATHC_NAME], part[KNI_MATHC_NAME];
    kni_mathc_name(r, name);
    kni_mathc_symbol *s = kni_mathc_find(r, name);
    int field = -1;
    kni_ir_id element = 0;
    if (!s) {
        kni_mathc_fail(r, "an assignment to a name");
        return;
    }
    kni_mathc_symbol copy = *s;
    if (kni_mathc_accept(r, ".")) {
        kni_mathc_name(r, part);
        field = kni_mathc_field(&copy.type, part);
        if (field < 0) kni_mathc_fail(r, "a field");
    } else if (kni_mathc_accept(r, "[")) {
        element = kni_mathc_convert(r, kni_mathc_expression(r), (kni_mathc_type){.dtype = KN_U32}).id;
        kni_mathc_take(r, "]");
    }
    if (r->b.status == KN_OK) assign(r, &copy, field, element);
}

static void simple(kni_mathc_reader *r)
{
    if (kni_mathc_is_type(r)) {
        declaration(r);
        return;
    }
    do change(r);
    while (kni_mathc_accept(r, ","));
}

static bool if_statement(kni_mathc_reader *r)
{
    kni_mathc_take(r, "(");
    kni_ir_id truth = kni_mathc_truth(r, kni_mathc_expression(r));
    kni_mathc_take(r, ")");
    kni_ir_if(&r->b, truth);
    bool left = statement(r), both = false;
    if (kni_mathc_accept(r, "else")) {
        kni_ir_else(&r->b);
        both = statement(r) && left;
    }
    kni_ir_end(&r->b);
    return both;
}

/* The step of a for stands before the body and is read after it. */
static bool loop_statement(kni_mathc_reader *r, bool counted)
{
    int outer = r->n_symbols;
    kni_mathc_take(r, "(");
    if (counted) {
        if (!kni_mathc_is(r, ";")) simple(r);
        kni_mathc_take(r, ";");
    }
    kni_ir_loop(&r->b);
    bool empty = counted && kni_mathc_is(r, ";");
    kni_ir_id truth = empty ? kni_ir_whole(&r->b, KN_BOOL, 1) : kni_mathc_truth(r, kni_mathc_expression(r));
    kni_ir_loop_test(&r->b, truth);
    kni_mathc_reader step = *r;
    if (counted) {
        kni_mathc_take(r, ";");
        step = *r;
        for (int depth = 0; *r->token && (depth || !kni_mathc_is(r, ")")); kni_mathc_next(r))
            depth += kni_mathc_is(r, "(") - kni_mathc_is(r, ")");
    }
    kni_mathc_take(r, ")");
    statement(r);
    if (counted && !kni_mathc_is(&step, ")")) {
        const char *at = r->at, *token = r->token, *end = r->end;
        kni_ir_loop_step(&r->b);
        r->at = step.at;
        r->token = step.token;
        r->end = step.end;
        simple(r);
        if (r->b.status == KN_OK) {
            r->at = at;
            r->token = token;
            r->end = end;
        }
    }
    kni_ir_end(&r->b);
    r->n_symbols = outer;
    return false;
}

static bool return_statement(kni_mathc_reader *r)
{
    kni_mathc_value v = kni_mathc_convert(r, kni_mathc_expression(r), r->result);
    kni_mathc_take(r, ";");
    if (r->inside)
        r->answer = v;
    else
        kni_ir_return(&r->b, v.id);
    return true;
}

static bool block(kni_mathc_reader *r)
{
    int outer = r->n_symbols;
    bool left = false;
    while (!kni_mathc_is(r, "}") && r->b.status == KN_OK) {
        if (left) kni_mathc_fail(r, "what is never reached");
        left = statement(r);
    }
    kni_mathc_take(r, "}");
    r->n_symbols = outer;
    return left;
}

static bool statement(kni_mathc_reader *r)
{
    if (r->b.status) return true;
    if (kni_mathc_accept(r, "{")) return block(r);
    if (kni_mathc_accept(r, "if")) return if_statement(r);
    if (kni_mathc_accept(r, "for")) return loop_statement(r, true);
    if (kni_mathc_accept(r, "while")) return loop_statement(r, false);
    if (kni_mathc_accept(r, "return")) return return_statement(r);
    if (kni_mathc_accept(r, "break")) {
        kni_ir_break(&r->b);
        kni_mathc_take(r, ";");
        return true;
    }
    simple(r);
    kni_mathc_take(r, ";");
    return false;
}

/* ---- functions */

/* "KNI_INLINE float name(": the parameters' types and names follow. */
static int signature(kni_mathc_reader *r, kni_mathc_type *result, kni_mathc_type *parameters,
                     char (*names)[KNI_MATHC_NAME])
{
    int n = 0;
    char name[KNI_MATHC_NAME];
    kni_mathc_next(r);
    if (!kni_mathc_type_here(r, result)) kni_mathc_fail(r, "a result");
    kni_mathc_name(r, name);
    kni_mathc_take(r, "(");
    do {
        if (n == KNI_IR_MAX_ARGUMENTS || !kni_mathc_type_here(r, &parameters[n]))
            kni_mathc_fail(r, "a parameter");
        if (r->b.status == KN_OK) kni_mathc_name(r, names[n++]);
    } while (kni_mathc_accept(r, ","));
    kni_mathc_take(r, ")");
    return n;
}

kni_mathc_value kni_mathc_inline(kni_mathc_reader *r, const char *text, const kni_mathc_value *arguments,
                                 int n)
{
    kni_mathc_type parameters[KNI_IR_MAX_ARGUMENTS], result, outer_result = r->result;
    char names[KNI_IR_MAX_ARGUMENTS][KNI_MATHC_NAME];
    const char *at = r->at, *token = r->token, *end = r->end;
    int first = r->first, count = r->n_symbols;
    bool inside = r->inside;
    if (++r->depth > 40) kni_mathc_fail(r, "calls without an end");
    if (r->b.status == KN_OK) {
        begin_text(r, text);
        if (signature(r, &result, parameters, names) != n) kni_mathc_fail(r, "another number of arguments");
        r->first = r->n_symbols;
        r->result = result;
        r->inside = true;
        for (int i = 0; i < n; i++) declare_value(r, names[i], parameters[i], &arguments[i]);
        if (!statement(r)) kni_mathc_fail(r, "a struct that is returned in another place than the end");
    }
    r->depth--;
    r->first = first;
    r->n_symbols = count;
    r->result = outer_result;
    r->inside = inside;
    if (r->b.status == KN_OK) {
        r->at = at;
        r->token = token;
        r->end = end;
    }
    return r->answer;
}

static bool gives_struct(const char *text)
{
    kni_mathc_reader r = {.at = text};
    kni_mathc_type type;
    kni_mathc_next(&r);
    kni_mathc_next(&r);
    return !kni_mathc_type_here(&r, &type) || type.n_fields;
}

static void make_function(kni_mathc_reader *r, const kni_ir_item *item)
{
    kni_mathc_type parameters[KNI_IR_MAX_ARGUMENTS];
    kni_ir_type flat[KNI_IR_MAX_ARGUMENTS];
    char names[KNI_IR_MAX_ARGUMENTS][KNI_MATHC_NAME];
    int n_flat = 0;
    begin_text(r, item->text);
    int n = signature(r, &r->result, parameters, names);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < (parameters[i].n_fields ? parameters[i].n_fields : 1); k++) {
            int dtype = parameters[i].n_fields ? parameters[i].fields[k] : parameters[i].dtype;
            if (n_flat < KNI_IR_MAX_ARGUMENTS) flat[n_flat++] = (kni_ir_type){(uint8_t)dtype, 1};
        }
    kni_ir_function_begin(&r->b, item->name, (kni_ir_type){r->result.dtype, 1}, flat, n_flat);
    r->n_symbols = r->first = 0;
    for (int i = 0, at = 0; i < n; i++) {
        kni_mathc_value v = {.type = parameters[i]};
        if (!parameters[i].n_fields) v.id = kni_ir_argument(&r->b, at++);
        for (int k = 0; k < parameters[i].n_fields; k++) v.fields[k] = kni_ir_argument(&r->b, at++);
        declare_value(r, names[i], parameters[i], &v);
    }
    (void)statement(r);
    kni_ir_function_end(&r->b);
}

/* A table becomes an array of constant words. */
static void make_table(kni_mathc_reader *r, const kni_ir_item *item)
{
    kni_mathc_type type;
    char name[KNI_MATHC_NAME];
    uint64_t ignored, whole;
    begin_text(r, item->text);
    kni_mathc_next(r);
    if (!kni_mathc_type_here(r, &type)) kni_mathc_fail(r, "a table's type");
    kni_mathc_name(r, name);
    kni_mathc_take(r, "[");
    if (!kni_mathc_is(r, "]")) (void)kni_mathc_constant(r, &ignored);
    kni_mathc_take(r, "]");
    kni_mathc_take(r, "=");
    kni_mathc_take(r, "{");
    uint32_t table = kni_ir_table(&r->b, name, type.dtype);
    do {
        double real = kni_mathc_constant(r, &whole);
        if (kni_is_float(type.dtype)) {
            float single = (float)real;
            uint32_t word = 0;
            if (type.dtype == KN_F64) memcpy(&whole, &real, sizeof whole);
            if (type.dtype == KN_F32) memcpy(&word, &single, sizeof word), whole = word;
        }
        kni_ir_table_add(&r->b, table, whole);
    } while (kni_mathc_accept(r, ","));
    kni_mathc_take(r, "}");
}

static void make(kni_mathc_reader *r, const kni_ir_item *item)
{
    if (!strncmp(item->text, "KNI_TABLE", 9))
        make_table(r, item);
    else if (strncmp(item->text, "typedef", 7) && !gives_struct(item->text))
        make_function(r, item);
}

kni_ir *kni_ir_math_module(const char *name)
{
    bool wanted[KNI_IR_MAX_ITEMS] = {false};
    int last = kni_ir_item_find(name);
    kni_mathc_reader *r = last < 0 ? NULL : kni_allocate(sizeof *r);
    if (!r) {
        if (last < 0) (void)kni_fail(KN_ERROR_INTERNAL, "the math library has no function %s", name);
        if (last >= 0) (void)kni_fail(KN_ERROR_MEMORY, "no memory for a kernel");
        return NULL;
    }
    memset(r, 0, sizeof *r);
    r->token = r->at = r->end = "";
    r->b = kni_ir_begin("math", 0);
    wanted[last] = true;
    for (int i = last; i >= 0; i--)
        for (int k = 0; wanted[i] && k < kni_ir_items[i].n_needs; k++)
            wanted[kni_ir_item_needs[kni_ir_items[i].first_need + k]] = true;
    for (int i = 0; i <= last && r->b.status == KN_OK; i++)
        if (wanted[i]) make(r, &kni_ir_items[i]);
    kni_ir *ir = kni_ir_finish(&r->b);
    kni_free(r, sizeof *r);
    if (ir && kni_ir_simplify(ir)) {
        kni_ir_free(ir);
        ir = NULL;
    }
    return ir;
}
