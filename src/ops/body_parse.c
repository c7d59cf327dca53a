/* The parser of bodies: recursive descent that emits steps as it goes, so that the order of the text is the order of the
   computation. */
#include "ops/body_parse.h"
#include "core/text.h"
#include <string.h>

typedef enum type { VALUE, TRUTH } type;

typedef struct parser {
    const char *text, *at;
    const kni_body_names *names;
    kni_body_draft *d;
    struct {
        const char *name;
        size_t length;
        type type;
        bool used;
    } locals[KNI_BODY_LOCALS];
    int n_locals, depth, nesting;
    bool failed;
} parser;

static type parse_expression(parser *p);

/* ---- failures and tokens */

static type fail_at(parser *p, const char *where, const char *format, ...)
{
    if (!p->failed) {
        kni_text t = {p->d->error, sizeof p->d->error, 0};
        va_list arguments;
        va_start(arguments, format);
        kni_text_format_list(&t, format, arguments);
        va_end(arguments);
        p->d->at = (int)(where - p->text);
        p->failed = true;
    }
    return VALUE;
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static void skip_spaces(parser *p)
{
    while (*p->at == ' ') p->at++;
}

static size_t name_length(const char *s)
{
    size_t n = 0;
    while (is_letter(s[n]) || (n && is_digit(s[n]))) n++;
    return n;
}

static bool equals(const char *name, const char *s, size_t n)
{
    return strlen(name) == n && !memcmp(name, s, n);
}

static bool take(parser *p, char c)
{
    skip_spaces(p);
    if (*p->at != c) return false;
    p->at++;
    return true;
}

static void expect(parser *p, char c)
{
    char wanted[2] = {c, 0}, found[2] = {0, 0};
    if (take(p, c)) return;
    found[0] = *p->at;
    if (*p->at)
        fail_at(p, p->at, "expected '%s', found '%s'", wanted, found);
    else
        fail_at(p, p->at, "expected '%s', and the body ends", wanted);
}

/* A name of an operand or a result for a message. */
static const char *copy_name(char *to, const char *s, size_t n)
{
    n = n < 31 ? n : 31;
    memcpy(to, s, n);
    to[n] = 0;
    return to;
}

/* ---- emitting */

static void emit(parser *p, const char *from, int kind, int index, int pops)
{
    kni_body_draft *d = p->d;
    if (d->n == KNI_BODY_STEPS) {
        fail_at(p, from, "the body has more than %d steps", KNI_BODY_STEPS);
        return;
    }
    d->from[d->n] = (int16_t)(from - p->text);
    d->code[d->n++] = (uint8_t)KNI_BODY_CODE(kind, index);
    p->depth += (kind != KNI_STEP_STORE) - pops;
    if (p->depth > KNI_BODY_STACK) fail_at(p, from, "it is nested too deeply: name a part of it");
}

static void emit_constant(parser *p, const char *from, double value)
{
    kni_body_draft *d = p->d;
    int i = 0;
    while (i < d->n_constants && memcmp(&d->constants[i], &value, sizeof value) != 0) i++;
    if (i == KNI_BODY_CONSTANTS) {
        fail_at(p, from, "the body has more than %d constants", KNI_BODY_CONSTANTS);
        return;
    }
    d->constants[i] = value;
    if (i == d->n_constants) d->n_constants++;
    emit(p, from, KNI_STEP_CONSTANT, i, 0);
}

static int find_word(const char *s, size_t n)
{
    for (int i = 0; i < kni_word_count(); i++)
        if (equals(kni_word_at(i)->name, s, n)) return i;
    return -1;
}

static type emit_word(parser *p, const char *from, const char *name)
{
    int word = find_word(name, strlen(name));
    emit(p, from, KNI_STEP_WORD, word, kni_word_at(word)->arity);
    return kni_word_at(word)->truth ? TRUTH : VALUE;
}

/* ---- operators, the weakest first */

static const struct {
    const char *sign, *word; /* of values, NULL where it takes truths alone */
    int level, logic;        /* logic: of truths, -1 where it takes values alone */
} operators[] = {
    {"||", NULL, 1, KNI_STEP_OR}, {"&&", NULL, 2, KNI_STEP_AND},
    {"|", "or", 3, -1},           {"^", "xor", 4, KNI_STEP_XOR},
    {"&", "and", 5, -1},          {"==", "eq", 6, -1},
    {"!=", "ne", 6, -1},          {"<=", "le", 7, -1},
    {">=", "ge", 7, -1},          {"<<", "shl", 8, -1},
    {">>", "shr", 8, -1},         {"<", "lt", 7, -1},
    {">", "gt", 7, -1},           {"+", "add", 9, -1},
    {"-", "sub", 9, -1},          {"*", "mul", 10, -1},
    {"/", "div", 10, -1},
};
enum { OPERATORS = sizeof operators / sizeof *operators, TIGHTEST = 10, MAX_NESTING = 64 };

static int find_operator(parser *p)
{
    skip_spaces(p);
    for (int i = 0; i < OPERATORS; i++)
        if (!strncmp(p->at, operators[i].sign, strlen(operators[i].sign))) return i;
    return -1;
}

static type emit_operator(parser *p, const char *from, int i, type left, type right)
{
    const char *sign = operators[i].sign;
    if (left != right) return fail_at(p, from, "one side of '%s' is a truth, the other a value", sign);
    if (left == TRUTH && operators[i].logic >= 0) {
        emit(p, from, operators[i].logic, 0, 2);
        return TRUTH;
    }
    if (left == TRUTH) return fail_at(p, from, "'%s' takes values, and these are truths", sign);
    if (!operators[i].word) return fail_at(p, from, "'%s' takes truths, and these are values", sign);
    return emit_word(p, from, operators[i].word);
}

/* ---- what stands between operators */

/* Constants of bodies are short: the power of ten is applied once, so up to 17 digits are read as the compiler would. */
static double parse_number(parser *p)
{
    const char *s = p->at;
    int64_t digits = 0;
    int scale = 0, exponent = 0;
    bool point = false;
    for (; is_digit(*s) || (*s == '.' && !point); s++) {
        if (*s == '.') {
            point = true;
            continue;
        }
        if (digits > INT64_MAX / 10 - 1)
            fail_at(p, p->at, "the number has too many digits");
        else
            digits = digits * 10 + (*s - '0');
        scale -= point;
    }
    if (*s == 'e') {
        bool negative = s[1] == '-';
        for (s += 1 + negative; is_digit(*s) && exponent < 400; s++) exponent = exponent * 10 + (*s - '0');
        scale += negative ? -exponent : exponent;
    }
    if (is_letter(*s) || is_digit(*s)) fail_at(p, s, "this is no part of a number");
    p->at = s;
    double power = 1;
    for (int i = scale < 0 ? -scale : scale; i > 0; i--) power *= 10;
    return scale < 0 ? (double)digits / power : (double)digits * power;
}

static type parse_call(parser *p, const char *name, size_t n)
{
    char copy[32];
    int word = find_word(name, n), given = 0;
    copy_name(copy, name, n);
    for (int i = 0; i < OPERATORS; i++)
        if (operators[i].word && equals(operators[i].word, name, n))
            return fail_at(p, name, "write '%s' for '%s'", operators[i].sign, copy);
    if (equals("neg", name, n) || equals("not", name, n))
        return fail_at(p, name, "write the sign for '%s'", copy);
    if (word < 0) return fail_at(p, name, "there is no word '%s'", copy);
    expect(p, '(');
    do {
        skip_spaces(p);
        const char *from = p->at;
        if (parse_expression(p) == TRUTH) fail_at(p, from, "'%s' takes values, and this is a truth", copy);
        given++;
    } while (!p->failed && take(p, ','));
    expect(p, ')');
    if (given != kni_word_at(word)->arity)
        fail_at(p, name, "'%s' takes %d, and %d are given", copy, (int)kni_word_at(word)->arity, given);
    return p->failed ? VALUE : emit_word(p, name, kni_word_at(word)->name);
}

/* The place of a name in a list of names, -1 where it is not there. */
static int find_in_list(const char *list, const char *name, size_t n)
{
    for (int i = 0; list && *list; i++) {
        size_t length = strcspn(list, " ");
        if (length == n && !memcmp(list, name, n)) return i;
        list += length + (list[length] == ' ');
    }
    return -1;
}

static type parse_name(parser *p)
{
    const char *name = p->at;
    char copy[32];
    size_t n = name_length(name);
    p->at += n;
    skip_spaces(p);
    if (*p->at == '(') return parse_call(p, name, n);
    for (int i = 0; i < p->n_locals; i++)
        if (n == p->locals[i].length && !memcmp(p->locals[i].name, name, n)) {
            p->locals[i].used = true;
            emit(p, name, KNI_STEP_LOCAL, i, 0);
            return p->locals[i].type;
        }
    int operand = find_in_list(p->names->in, name, n);
    if (operand >= 0) {
        emit(p, name, KNI_STEP_INPUT, operand, 0);
        return p->names->truths >> operand & 1 ? TRUTH : VALUE;
    }
    for (int i = 0; i < p->names->n_scalars; i++)
        if (equals(p->names->scalars[i], name, n)) {
            emit(p, name, KNI_STEP_PARAM, i, 0);
            return VALUE;
        }
    if (equals("inf", name, n)) {
        emit_constant(p, name, __builtin_inf());
        return VALUE;
    }
    return fail_at(p, name, "'%s' is no operand, scalar or named value", copy_name(copy, name, n));
}

static type parse_sign(parser *p)
{
    skip_spaces(p);
    const char *from = p->at;
    if (is_digit(*p->at) || *p->at == '.') {
        double value = parse_number(p);
        emit_constant(p, from, value);
        return VALUE;
    }
    if (is_letter(*p->at)) return parse_name(p);
    if (take(p, '(')) {
        type inside = parse_expression(p);
        expect(p, ')');
        return inside;
    }
    if (p->at[0] == '-' && (is_digit(p->at[1]) || !strncmp(p->at, "-inf", 4))) {
        p->at++;
        double value = is_digit(*p->at) ? parse_number(p) : (p->at += 3, __builtin_inf());
        emit_constant(p, from, -value);
        return VALUE;
    }
    char sign = *p->at, shown[2] = {sign, 0};
    if (!sign) return fail_at(p, p->at, "a value is missing at the end");
    if (sign != '-' && sign != '!' && sign != '~')
        return fail_at(p, p->at, "no value begins with '%s'", shown);
    p->at++;
    if (++p->nesting > MAX_NESTING) return fail_at(p, from, "it is nested too deeply: name a part of it");
    type inside = parse_sign(p);
    p->nesting--;
    if (p->failed) return VALUE;
    if (inside != (sign == '!' ? TRUTH : VALUE))
        return fail_at(p, from, sign == '!' ? "'!' takes a truth" : "'%s' takes a value", shown);
    if (sign == '!') {
        emit(p, from, KNI_STEP_NOT, 0, 1);
        return TRUTH;
    }
    return emit_word(p, from, sign == '-' ? "neg" : "not");
}

static type parse_binary(parser *p, int level)
{
    type left = level > TIGHTEST ? parse_sign(p) : parse_binary(p, level + 1);
    while (level <= TIGHTEST && !p->failed) {
        int i = find_operator(p);
        if (i < 0 || operators[i].level != level) break;
        const char *from = p->at;
        p->at += strlen(operators[i].sign);
        type right = parse_binary(p, level + 1);
        if (!p->failed) left = emit_operator(p, from, i, left, right);
    }
    return left;
}

static type parse_expression(parser *p)
{
    if (++p->nesting > MAX_NESTING) return fail_at(p, p->at, "it is nested too deeply: name a part of it");
    type condition = parse_binary(p, 1);
    skip_spaces(p);
    const char *from = p->at;
    if (!p->failed && take(p, '?')) {
        if (condition != TRUTH) fail_at(p, from, "what is asked before '?' must be a truth, such as a > 0");
        type yes = parse_expression(p);
        expect(p, ':');
        type no = p->failed ? VALUE : parse_expression(p);
        if (yes != VALUE || no != VALUE) fail_at(p, from, "'?' chooses between values, and these are truths");
        if (!p->failed) emit(p, from, KNI_STEP_SELECT, 0, 3);
        condition = VALUE;
    }
    p->nesting--;
    return condition;
}

/* ---- statements */

static bool is_taken(const parser *p, const char *name, size_t n)
{
    for (int i = 0; i < p->n_locals; i++)
        if (n == p->locals[i].length && !memcmp(p->locals[i].name, name, n)) return true;
    for (int i = 0; i < p->names->n_scalars; i++)
        if (equals(p->names->scalars[i], name, n)) return true;
    return find_in_list(p->names->in, name, n) >= 0 || equals("inf", name, n);
}

/* name = expression; true where it was the last one, the result. */
static bool parse_statement(parser *p)
{
    char copy[32];
    skip_spaces(p);
    const char *name = p->at;
    size_t n = name_length(name);
    if (!n) return fail_at(p, name, "expected 'name = formula'"), true;
    p->at += n;
    copy_name(copy, name, n);
    if (is_taken(p, name, n))
        return fail_at(p, name, "'%s' has a meaning already: take another name", copy), true;
    expect(p, '=');
    type t = p->failed ? VALUE : parse_expression(p);
    if (p->failed) return true;
    if (equals(p->names->out, name, n)) {
        if (t != (p->names->truth ? TRUTH : VALUE))
            fail_at(p, name, p->names->truth ? "the result must be a truth" : "the result must be a value");
        return true;
    }
    if (p->n_locals == KNI_BODY_LOCALS)
        return fail_at(p, name, "more than %d values have names", KNI_BODY_LOCALS), true;
    emit(p, name, KNI_STEP_STORE, p->n_locals, 1);
    p->locals[p->n_locals].name = name;
    p->locals[p->n_locals].length = n;
    p->locals[p->n_locals].used = false;
    p->locals[p->n_locals++].type = t;
    expect(p, ';');
    return p->failed;
}

bool kni_body_parse(const char *text, const kni_body_names *names, kni_body_draft *draft)
{
    parser p = {.text = text, .at = text, .names = names, .d = draft};
    char copy[32];
    draft->n = draft->n_constants = 0;
    draft->at = -1;
    draft->error[0] = 0;
    if (strlen(text) > INT16_MAX) return fail_at(&p, text, "the body is too long"), false;
    while (!parse_statement(&p)) {}
    skip_spaces(&p);
    if (!p.failed && *p.at) fail_at(&p, p.at, "something follows the result '%s'", names->out);
    for (int i = 0; i < p.n_locals && !p.failed; i++)
        if (!p.locals[i].used)
            fail_at(&p, p.locals[i].name, "'%s' is never used",
                    copy_name(copy, p.locals[i].name, p.locals[i].length));
    return !p.failed;
}
