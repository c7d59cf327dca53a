/* Expressions of the math texts. A choice becomes a select where both sides are cheap and cannot go wrong, else an if. */
#include "core/error.h"
#include "ir/builder_internal.h"
#include "ir/lex.h"
#include "ir/math_source.h"
#include "ir/prelude_table.h"
#include "ops/body.h"
#include <string.h>

static const kni_mathc_type truth_type = {.dtype = KN_BOOL}, int_type = {.dtype = KN_I32};

static kni_mathc_value of(uint8_t dtype, kni_ir_id id)
{
    return (kni_mathc_value){.type = {.dtype = dtype}, .id = id};
}

/* ---- conversions */

kni_ir_id kni_mathc_truth(kni_mathc_reader *r, kni_mathc_value v)
{
    if (kni_is_bool(v.type.dtype)) return v.id;
    kni_ir_id zero = kni_ir_whole(&r->b, v.type.dtype, 0);
    return kni_ir_word(&r->b, "ne", v.id, zero);
}

static kni_mathc_value promoted(kni_mathc_reader *r, kni_mathc_value v)
{
    return kni_is_bool(v.type.dtype) ? kni_mathc_convert(r, v, int_type) : v;
}

/* Keeps the low bits, with their sign where the type has one. */
static kni_ir_id cut(kni_mathc_reader *r, kni_ir_id x, kni_mathc_type to)
{
    kni_ir_builder *b = &r->b;
    if (to.dtype == KN_U32) return kni_ir_word(b, "and", x, kni_ir_whole(b, KN_U32, (1 << to.bits) - 1));
    kni_ir_id by = kni_ir_whole(b, KN_I32, 32 - to.bits);
    return kni_ir_word(b, "shr", kni_ir_word(b, "shl", x, by), by);
}

kni_mathc_value kni_mathc_convert(kni_mathc_reader *r, kni_mathc_value v, kni_mathc_type to)
{
    if (to.n_fields || v.type.n_fields) {
        if (to.n_fields != v.type.n_fields) kni_mathc_fail(r, "a struct of its type");
        return v;
    }
    if (kni_is_bool(to.dtype)) return of(KN_BOOL, kni_mathc_truth(r, v));
    kni_ir_id id = kni_ir_cast(&r->b, v.id, to.dtype);
    if (to.bits && to.bits != v.type.bits) id = cut(r, id, to);
    return (kni_mathc_value){.type = to, .id = id};
}

static int rank(int dtype)
{
    static const uint8_t order[] = {KN_BOOL, KN_I32, KN_U32, KN_I64, KN_U64, KN_F32, KN_F64};
    int i = 0;
    while (i < (int)sizeof order && order[i] != dtype) i++;
    return i;
}

static kni_mathc_type common(kni_mathc_value a, kni_mathc_value b)
{
    uint8_t dtype = rank(a.type.dtype) > rank(b.type.dtype) ? a.type.dtype : b.type.dtype;
    return (kni_mathc_type){.dtype = kni_is_bool(dtype) ? KN_I32 : dtype};
}

/* ---- numbers */

static double scaled(double m, int exponent)
{
    for (; exponent > 0; exponent--) m *= 2;
    for (; exponent < 0; exponent++) m /= 2;
    return m;
}

static int digit_of(char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; }

static bool is_hexadecimal(char c) { return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'f'); }

/* 0x1.8p52: at most 64 bits of digits. */
static const char *hexadecimal(const char *p, const char *end, uint64_t *whole, double *real, bool *is_real)
{
    int exponent = 0, after = 0, power = 0;
    for (; p < end && (is_hexadecimal(*p) || *p == '.'); p++) {
        if (*p == '.') {
            after = 1;
            continue;
        }
        *whole = *whole << 4 | (uint64_t)digit_of(*p);
        if (after) exponent -= 4;
    }
    *is_real = after || (p < end && *p == 'p');
    if (p < end && *p == 'p') {
        bool down = *++p == '-';
        if (*p == '-' || *p == '+') p++;
        for (; p < end && *p >= '0' && *p <= '9'; p++) power = power * 10 + (*p - '0');
        exponent += down ? -power : power;
    }
    *real = scaled((double)*whole, exponent);
    return p;
}

static const char *decimal(const char *p, const char *end, uint64_t *whole, double *real, bool *is_real)
{
    const char *start = p;
    for (; p < end && ((*p >= '0' && *p <= '9') || strchr(".eE+-", *p)); p++)
        *is_real |= *p < '0' || *p > '9';
    for (const char *q = start; q < p && !*is_real; q++) *whole = *whole * 10 + (uint64_t)(*q - '0');
    *real = (double)*whole;
    if (*is_real) (void)kni_lex_real(start, (size_t)(p - start), real);
    return p;
}

static kni_mathc_value number(kni_mathc_reader *r)
{
    uint64_t whole = 0;
    double real = 0;
    bool is_real = false, hex = r->token[0] == '0' && r->token[1] == 'x', is_unsigned = false;
    const char *p = hex ? hexadecimal(r->token + 2, r->end, &whole, &real, &is_real)
                        : decimal(r->token, r->end, &whole, &real, &is_real);
    bool single = false;
    for (; p < r->end; p++) {
        is_unsigned |= *p == 'u' || *p == 'U';
        single |= *p == 'f';
    }
    kni_mathc_next(r);
    if (is_real) return of(single ? KN_F32 : KN_F64, kni_ir_real(&r->b, single ? KN_F32 : KN_F64, real));
    int dtype = whole <= INT32_MAX && !is_unsigned             ? KN_I32
                : whole <= UINT32_MAX && (is_unsigned || hex)  ? KN_U32
                : whole <= (uint64_t)INT64_MAX && !is_unsigned ? KN_I64
                                                               : KN_U64;
    return of((uint8_t)dtype, kni_ir_whole(&r->b, dtype, (int64_t)whole));
}

double kni_mathc_constant(kni_mathc_reader *r, uint64_t *whole)
{
    bool negative = kni_mathc_accept(r, "-");
    double real = 0;
    *whole = 0;
    bool is_real = false, hex = r->token[0] == '0' && r->token[1] == 'x';
    if (*r->token < '0' || *r->token > '9') kni_mathc_fail(r, "a number");
    (void)(hex ? hexadecimal(r->token + 2, r->end, whole, &real, &is_real)
               : decimal(r->token, r->end, whole, &real, &is_real));
    kni_mathc_next(r);
    if (kni_mathc_accept(r, "/")) {
        uint64_t ignored;
        real /= kni_mathc_constant(r, &ignored);
    }
    if (negative) *whole = 0 - *whole;
    return negative ? -real : real;
}

kni_mathc_value kni_mathc_braces(kni_mathc_reader *r, kni_mathc_type type)
{
    kni_mathc_value v = {.type = type};
    kni_mathc_take(r, "{");
    for (int i = 0; i < type.n_fields; i++) {
        if (i) kni_mathc_take(r, ",");
        v.fields[i] =
            kni_mathc_convert(r, kni_mathc_expression(r), (kni_mathc_type){.dtype = type.fields[i]}).id;
    }
    kni_mathc_take(r, "}");
    return v;
}

/* ---- sides of a choice, in blocks of their own */

static uint32_t side_begin(kni_mathc_reader *r, uint32_t block)
{
    kni_ir_builder *b = &r->b;
    if (b->status) return 0;
    if (!block) block = kni_ir_new_block(b->ir);
    if (!block || b->depth == KNI_IR_MAX_DEPTH) {
        kni_mathc_fail(r, "choices too deep");
        return 0;
    }
    b->stack[b->depth] = block;
    b->owners[b->depth] = b->owners[b->depth - 1];
    b->depth++;
    return block;
}

static void side_end(kni_mathc_reader *r)
{
    if (r->b.status == KN_OK) r->b.depth--;
}

/* Whether it may be computed although it is not wanted. */
static bool is_cheap(const kni_ir *ir, uint32_t block)
{
    int n = 0;
    for (kni_ir_id id = ir->blocks[block].first; id; id = kni_ir_at(ir, id)->next) {
        const kni_ir_node *node = kni_ir_at(ir, id);
        bool fine = (kni_ir_codes[node->code].flags & KNI_IR_MOVES) || node->code == KNI_IR_GET;
        bool word = node->code == KNI_IR_WORD && !kni_is_float(node->type.dtype);
        const char *name = word ? kni_word_at((int)node->index)->name : "";
        if (!fine || ++n > KNI_MATHC_NODES || !strcmp(name, "div") || !strcmp(name, "fmod")) return false;
    }
    return true;
}

static void splice(kni_mathc_reader *r, uint32_t block)
{
    kni_ir *ir = r->b.ir;
    for (kni_ir_id id = ir->blocks[block].first, next; id; id = next) {
        next = kni_ir_at(ir, id)->next;
        kni_ir_at(ir, id)->next = 0;
        kni_ir_append(ir, r->b.stack[r->b.depth - 1], id);
    }
    ir->blocks[block] = (kni_ir_block){0, 0};
}

/* if (condition) result = yes; else result = no; with the sides that were read. `no` 0: result keeps what it has. */
static void branch(kni_mathc_reader *r, kni_ir_id condition, uint32_t yes, uint32_t no)
{
    kni_ir_id id = kni_ir_add3(&r->b, KNI_IR_IF, (kni_ir_type){0, 0}, condition, 0, 0);
    if (!id) return;
    kni_ir_at(r->b.ir, id)->u.blocks[0] = yes;
    kni_ir_at(r->b.ir, id)->u.blocks[1] = no;
}

static kni_mathc_value in_side(kni_mathc_reader *r, uint32_t block, kni_mathc_value v, kni_mathc_type type)
{
    side_begin(r, block);
    v = kni_mathc_convert(r, v, type);
    side_end(r);
    return v;
}

static void set_in(kni_mathc_reader *r, uint32_t block, kni_ir_id variable, kni_ir_id value)
{
    side_begin(r, block);
    kni_ir_set(&r->b, variable, value);
    side_end(r);
}

static kni_mathc_value choose(kni_mathc_reader *r, kni_ir_id condition)
{
    uint32_t yes = side_begin(r, 0);
    kni_mathc_value a = kni_mathc_expression(r);
    side_end(r);
    kni_mathc_take(r, ":");
    uint32_t no = side_begin(r, 0);
    kni_mathc_value b = kni_mathc_expression(r);
    side_end(r);
    bool truths = kni_is_bool(a.type.dtype) && kni_is_bool(b.type.dtype);
    kni_mathc_type type = truths ? truth_type : common(a, b);
    a = in_side(r, yes, a, type);
    b = in_side(r, no, b, type);
    if (r->b.status) return a;
    if (is_cheap(r->b.ir, yes) && is_cheap(r->b.ir, no)) {
        splice(r, yes);
        splice(r, no);
        return (kni_mathc_value){.type = type, .id = kni_ir_select(&r->b, condition, a.id, b.id)};
    }
    kni_ir_id result = kni_ir_variable(&r->b, type.dtype, 1, 0);
    set_in(r, yes, result, a.id);
    set_in(r, no, result, b.id);
    branch(r, condition, yes, no);
    return (kni_mathc_value){.type = type, .id = kni_ir_get(&r->b, result)};
}

static kni_mathc_value binary(kni_mathc_reader *r, int lowest);

static kni_mathc_value both_or_either(kni_mathc_reader *r, bool both, kni_mathc_value left, int level)
{
    kni_ir_id a = kni_mathc_truth(r, left);
    uint32_t side = side_begin(r, 0);
    kni_ir_id b = kni_mathc_truth(r, binary(r, level + 1));
    side_end(r);
    if (r->b.status) return left;
    if (is_cheap(r->b.ir, side)) {
        splice(r, side);
        return of(KN_BOOL, both ? kni_ir_and(&r->b, a, b) : kni_ir_or(&r->b, a, b));
    }
    kni_ir_id result = kni_ir_variable(&r->b, KN_BOOL, 1, a);
    set_in(r, side, result, b);
    branch(r, both ? a : kni_ir_not(&r->b, a), side, 0);
    return of(KN_BOOL, kni_ir_get(&r->b, result));
}

/* ---- calls */

static int read_arguments(kni_mathc_reader *r, kni_mathc_value *arguments)
{
    int n = 0;
    kni_mathc_take(r, "(");
    while (r->b.status == KN_OK && !kni_mathc_is(r, ")")) {
        if (n == KNI_IR_MAX_ARGUMENTS) kni_mathc_fail(r, "too many arguments");
        if (n) kni_mathc_take(r, ",");
        if (r->b.status == KN_OK) arguments[n++] = kni_mathc_expression(r);
    }
    kni_mathc_take(r, ")");
    return n;
}

/* What the dialects have of their own, and words that every target has. */
static bool known_call(kni_mathc_reader *r, const char *name, const kni_mathc_value *x, int n,
                       kni_mathc_value *v)
{
    static const struct {
        const char *name, *word;
        uint8_t dtype, result;
    } known[] = {{"kni_bits_f32", NULL, KN_F32, KN_U32},          {"kni_bits_f64", NULL, KN_F64, KN_U64},
                 {"kni_from_bits_f32", NULL, KN_U32, KN_F32},     {"kni_from_bits_f64", NULL, KN_U64, KN_F64},
                 {"KNI_SQRT_F32", "sqrt", KN_F32, KN_F32},        {"KNI_SQRT_F64", "sqrt", KN_F64, KN_F64},
                 {"kni_abs_f32", "abs", KN_F32, KN_F32},          {"kni_abs_f64", "abs", KN_F64, KN_F64},
                 {"kni_round_even_f32", "round", KN_F32, KN_F32}, {"kni_floor_f32", "floor", KN_F32, KN_F32},
                 {"kni_ceil_f32", "ceil", KN_F32, KN_F32},        {"kni_trunc_f32", "trunc", KN_F32, KN_F32}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].name, name) || n != 1) continue;
        kni_ir_id a = kni_mathc_convert(r, x[0], (kni_mathc_type){.dtype = known[i].dtype}).id;
        *v = of(known[i].result, known[i].word ? kni_ir_word(&r->b, known[i].word, a, 0)
                                               : kni_ir_bitcast(&r->b, a, known[i].result));
        return true;
    }
    return false;
}

static kni_mathc_value call_function(kni_mathc_reader *r, uint32_t number, const char *text,
                                     const kni_mathc_value *x, int n)
{
    const kni_ir_function f = r->b.ir->functions[number];
    kni_ir_id flat[KNI_IR_MAX_ARGUMENTS];
    int at = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < (x[i].type.n_fields ? x[i].type.n_fields : 1); k++) {
            if (at >= f.n_arguments) {
                kni_mathc_fail(r, "fewer arguments");
                return x[0];
            }
            if (x[i].type.n_fields)
                flat[at++] = x[i].fields[k];
            else
                flat[at] = kni_ir_cast(&r->b, x[i].id, f.arguments[at].dtype), at++;
        }
    kni_mathc_reader head = {.at = text};
    kni_mathc_type result = {.dtype = f.result.dtype};
    kni_mathc_next(&head);
    kni_mathc_next(&head);
    (void)kni_mathc_type_here(&head, &result);
    return (kni_mathc_value){.type = result, .id = kni_ir_call(&r->b, number, flat, at)};
}

static kni_mathc_value call(kni_mathc_reader *r, const char *name)
{
    kni_mathc_value x[KNI_IR_MAX_ARGUMENTS] = {{{0}, 0, {0}}}, v = {{0}, 0, {0}};
    int n = read_arguments(r, x);
    if (r->b.status || known_call(r, name, x, n, &v)) return v;
    int item = kni_ir_item_find(name);
    const char *text = item < 0 ? NULL : kni_ir_items[item].text;
    for (uint32_t i = 0; text && i < r->b.ir->n_functions; i++)
        if (!strcmp(r->b.ir->functions[i].name, name)) return call_function(r, i, text, x, n);
    if (text) return kni_mathc_inline(r, text, x, n);
    kni_mathc_fail(r, name);
    return v;
}

/* ---- unary */

static kni_mathc_value named(kni_mathc_reader *r, const char *name)
{
    static const struct {
        const char *name;
        uint8_t dtype;
        double value;
    } constants[] = {{"KNI_INF_F32", KN_F32, __builtin_inf()},
                     {"KNI_INF_F64", KN_F64, __builtin_inf()},
                     {"KNI_NAN_F32", KN_F32, __builtin_nan("")},
                     {"KNI_NAN_F64", KN_F64, __builtin_nan("")}};
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (!strcmp(constants[i].name, name))
            return of(constants[i].dtype, kni_ir_real(&r->b, constants[i].dtype, constants[i].value));
    const kni_mathc_symbol *s = kni_mathc_find(r, name);
    kni_mathc_value v = {{0}, 0, {0}};
    if (!s) {
        kni_mathc_fail(r, "a name that is not known");
        return v;
    }
    v.type = s->type;
    if (!s->type.n_fields) v.id = kni_ir_get(&r->b, s->variables[0]);
    for (int i = 0; i < s->type.n_fields; i++) v.fields[i] = kni_ir_get(&r->b, s->variables[i]);
    return v;
}

static kni_mathc_value element(kni_mathc_reader *r, const char *name)
{
    const kni_mathc_symbol *s = kni_mathc_find(r, name);
    uint32_t binding = s ? s->binding : 0;
    kni_mathc_type type = s ? s->type : int_type;
    for (uint32_t i = 0; !s && r->b.ir && i < r->b.ir->n_bindings; i++)
        if (!strcmp(r->b.ir->bindings[i].name, name)) {
            binding = i;
            type.dtype = r->b.ir->bindings[i].dtype;
        }
    kni_mathc_take(r, "[");
    kni_ir_id at = kni_mathc_convert(r, kni_mathc_expression(r), (kni_mathc_type){.dtype = KN_U32}).id;
    kni_mathc_take(r, "]");
    return (kni_mathc_value){.type = type, .id = kni_ir_load(&r->b, binding, at, type.dtype, 1)};
}

static kni_mathc_value size_of(kni_mathc_reader *r)
{
    kni_mathc_type type = int_type;
    kni_mathc_take(r, "(");
    if (!kni_mathc_type_here(r, &type)) kni_mathc_fail(r, "a type");
    kni_mathc_take(r, ")");
    return of(KN_I32, kni_ir_whole(&r->b, KN_I32, kni_bytes_of(type.dtype)));
}

static kni_mathc_value primary(kni_mathc_reader *r)
{
    char name[KNI_MATHC_NAME], part[KNI_MATHC_NAME];
    if (*r->token >= '0' && *r->token <= '9') return number(r);
    if (kni_mathc_accept(r, "(")) {
        kni_mathc_value v = kni_mathc_expression(r);
        kni_mathc_take(r, ")");
        return v;
    }
    kni_mathc_name(r, name);
    if (!strcmp(name, "sizeof")) return size_of(r);
    if (!strcmp(name, "KNI_MAKE")) {
        kni_mathc_type type = int_type;
        kni_mathc_take(r, "(");
        if (!kni_mathc_type_here(r, &type)) kni_mathc_fail(r, "a struct");
        kni_mathc_take(r, ")");
        return kni_mathc_braces(r, type);
    }
    if (kni_mathc_is(r, "[")) return element(r, name);
    kni_mathc_value v = kni_mathc_is(r, "(") ? call(r, name) : named(r, name);
    if (!v.type.n_fields || !kni_mathc_accept(r, ".")) return v;
    kni_mathc_name(r, part);
    int field = kni_mathc_field(&v.type, part);
    if (field < 0) kni_mathc_fail(r, "a field");
    return field < 0 ? v : of(v.type.fields[field], v.fields[field]);
}

static kni_mathc_value unary(kni_mathc_reader *r)
{
    if (r->b.status) return of(KN_I32, 0);
    if (kni_mathc_accept(r, "!")) return of(KN_BOOL, kni_ir_not(&r->b, kni_mathc_truth(r, unary(r))));
    bool minus = kni_mathc_accept(r, "-");
    if (minus || kni_mathc_accept(r, "~")) {
        kni_mathc_value v = promoted(r, unary(r));
        return of(v.type.dtype, kni_ir_word(&r->b, minus ? "neg" : "not", v.id, 0));
    }
    kni_mathc_reader ahead = *r;
    if (kni_mathc_accept(&ahead, "(") && kni_mathc_is_type(&ahead)) {
        kni_mathc_type type;
        kni_mathc_next(r);
        (void)kni_mathc_type_here(r, &type);
        kni_mathc_take(r, ")");
        return kni_mathc_convert(r, unary(r), type);
    }
    return primary(r);
}

/* ---- binary */

static const struct {
    const char *sign, *word;
    uint8_t level;
} operations[] = {{"||", NULL, 1},  {"&&", NULL, 2},  {"|", "or", 3},   {"^", "xor", 4}, {"&", "and", 5},
                  {"==", "eq", 6},  {"!=", "ne", 6},  {"<", "lt", 7},   {"<=", "le", 7}, {">", "gt", 7},
                  {">=", "ge", 7},  {"<<", "shl", 8}, {">>", "shr", 8}, {"+", "add", 9}, {"-", "sub", 9},
                  {"*", "mul", 10}, {"/", "div", 10}, {"%", "fmod", 10}};

kni_mathc_value kni_mathc_operate(kni_mathc_reader *r, const char *sign, kni_mathc_value a, kni_mathc_value b)
{
    const char *word = NULL;
    int level = 0;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (!strcmp(operations[i].sign, sign)) {
            word = operations[i].word;
            level = operations[i].level;
        }
    if (!word) kni_mathc_fail(r, "an operator");
    if (r->b.status) return a;
    bool truth = level == 6 || level == 7;
    if (level == 6 && kni_is_bool(a.type.dtype) && kni_is_bool(b.type.dtype))
        return of(KN_BOOL, kni_ir_word(&r->b, word, a.id, b.id));
    a = promoted(r, a);
    b = promoted(r, b);
    kni_mathc_type type = {.dtype = level == 8 ? a.type.dtype : common(a, b).dtype};
    a = kni_mathc_convert(r, a, type);
    b = kni_mathc_convert(r, b, type);
    return of(truth ? KN_BOOL : type.dtype, kni_ir_word(&r->b, word, a.id, b.id));
}

static kni_mathc_value binary(kni_mathc_reader *r, int lowest)
{
    kni_mathc_value left = unary(r);
    while (r->b.status == KN_OK) {
        size_t i = 0, n = sizeof operations / sizeof *operations;
        while (i < n && !kni_mathc_is(r, operations[i].sign)) i++;
        if (i == n || operations[i].level < lowest) break;
        kni_mathc_next(r);
        if (operations[i].level < 3) {
            left = both_or_either(r, operations[i].level == 2, left, operations[i].level);
            continue;
        }
        kni_mathc_value right = binary(r, operations[i].level + 1);
        left = kni_mathc_operate(r, operations[i].sign, left, right);
    }
    return left;
}

kni_mathc_value kni_mathc_expression(kni_mathc_reader *r)
{
    kni_mathc_value v = binary(r, 1);
    if (r->b.status || !kni_mathc_accept(r, "?")) return v;
    return choose(r, kni_mathc_truth(r, v));
}
