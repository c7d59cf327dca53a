/* The parser of bodies: recursive descent that emits steps as it goes, so that the order of the text is the order of the
   computation. */
#include "ops/body_parse.h"
#include "core/text.h"
#include <string.h>

/* What a formula gives: a value or a truth, and what it belongs to. */
typedef struct type {
    bool truth;
    uint8_t level;
} type;
static const type nothing = {false, KNI_LEVEL_ALL};

typedef struct naming {
    const char *text;
    size_t length;
    type type;
    bool used; /* or, of a result, given */
} naming;

typedef struct parser {
    const char *text, *at;
    const kni_body_names *names;
    kni_body_draft *d;
    naming in[KNI_BODY_OPERANDS], out[KNI_BODY_OPERANDS], locals[KNI_BODY_LOCALS];
    int n_locals, depth, nesting, given;
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
    return nothing;
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static void skip_spaces(parser *p)
{
    while (*p->at == ' ') p->at++;
}

/* The ' of a name marks the new value of an operand. */
static size_t name_length(const char *s)
{
    size_t n = 0;
    while (is_letter(s[n]) || (n && is_digit(s[n]))) n++;
    return n + (n && s[n] == '\'');
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
    p->depth += (kind != KNI_STEP_STORE && kind != KNI_STEP_RESULT) - pops;
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

static type emit_word(parser *p, const char *from, const char *name, uint8_t level)
{
    int word = find_word(name, strlen(name));
    emit(p, from, KNI_STEP_WORD, word, kni_word_at(word)->arity);
    return (type){kni_word_at(word)->truth, level};
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
    uint8_t level = left.level | right.level;
    if (left.truth != right.truth)
        return fail_at(p, from, "one side of '%s' is a truth, the other a value", sign);
    if (left.truth && operators[i].logic >= 0) {
        emit(p, from, operators[i].logic, 0, 2);
        return (type){true, level};
    }
    if (left.truth) return fail_at(p, from, "'%s' takes values, and these are truths", sign);
    if (!operators[i].word) return fail_at(p, from, "'%s' takes truths, and these are values", sign);
    return emit_word(p, from, operators[i].word, level);
}

/* ---- what stands between operators */

/* Digits and the power of ten are exact in a long double for up to 19 digits and 10^27, so that the value is rounded as the
   compiler rounds it. */
static double parse_number(parser *p)
{
    const char *s = p->at;
    uint64_t digits = 0;
    int scale = 0, exponent = 0;
    bool point = false;
    for (; is_digit(*s) || (*s == '.' && !point); s++) {
        if (*s == '.') {
            point = true;
            continue;
        }
        if (digits > UINT64_MAX / 10 - 1)
            fail_at(p, p->at, "the number has too many digits");
        else
            digits = digits * 10 + (uint64_t)(*s - '0');
        scale -= point;
    }
    if (*s == 'e') {
        bool negative = s[1] == '-';
        s += 1 + (negative || s[1] == '+');
        if (!is_digit(*s)) fail_at(p, s, "the exponent of the number is missing");
        for (; is_digit(*s) && exponent < 400; s++) exponent = exponent * 10 + (*s - '0');
        scale += negative ? -exponent : exponent;
    }
    if (is_letter(*s) || is_digit(*s)) fail_at(p, s, "this is no part of a number");
    if (scale > 300 || scale < -300) fail_at(p, p->at, "the number is too large or too small");
    p->at = s;
    long double power = 1;
    for (int i = scale < 0 ? -scale : scale; i > 0; i--) power *= 10;
    return (double)(scale < 0 ? (long double)digits / power : (long double)digits * power);
}

/* The arguments of a word: how many there are, and what all of them belong to. */
static int parse_arguments(parser *p, const char *word, uint8_t *level)
{
    int given = 0;
    *level = KNI_LEVEL_ALL;
    expect(p, '(');
    do {
        skip_spaces(p);
        const char *from = p->at;
        type t = p->failed ? nothing : parse_expression(p);
        if (t.truth) fail_at(p, from, "'%s' takes values, and this is a truth", word);
        *level |= t.level;
        given++;
    } while (!p->failed && take(p, ','));
    expect(p, ')');
    return given;
}

/* sum(v) and the others: along the line, or for `down` over all lines. */
static type parse_line_word(parser *p, const char *at, const char *copy, int word)
{
    uint8_t level, over = word == KNI_LINE_DOWN ? KNI_LEVEL_LINE : KNI_LEVEL_PLACE;
    if (!p->names->lines) return fail_at(p, at, "'%s' works along lines, and the row has none", copy);
    int given = parse_arguments(p, copy, &level);
    if (given != 1) fail_at(p, at, "'%s' takes 1, and %d are given", copy, given);
    if (!(level & over) && word == KNI_LINE_DOWN)
        fail_at(p, at, "what '%s' adds up is the same in all lines", copy);
    else if (!(level & over))
        fail_at(p, at, "what '%s' takes is the same all along a line", copy);
    emit(p, at, KNI_STEP_LINE, word, 1);
    return (type){false, (uint8_t)(level & ~over)};
}

static type parse_call(parser *p, const char *at, size_t n)
{
    char copy[32];
    uint8_t level;
    int word = find_word(at, n);
    copy_name(copy, at, n);
    for (int i = 0; i < KNI_LINE_WORDS; i++)
        if (equals(kni_line_word_name(i), at, n)) return parse_line_word(p, at, copy, i);
    for (int i = 0; i < OPERATORS; i++)
        if (operators[i].word && equals(operators[i].word, at, n))
            return fail_at(p, at, "write '%s' for '%s'", operators[i].sign, copy);
    if (equals("neg", at, n) || equals("not", at, n)) return fail_at(p, at, "write the sign for '%s'", copy);
    bool expn = equals("expn", at, n);
    if (word < 0 && !expn) return fail_at(p, at, "there is no word '%s'", copy);
    int arity = expn ? 1 : kni_word_at(word)->arity, given = parse_arguments(p, copy, &level);
    if (given != arity) fail_at(p, at, "'%s' takes %d, and %d are given", copy, arity, given);
    if (p->failed) return nothing;
    if (!expn) return emit_word(p, at, kni_word_at(word)->name, level);
    emit(p, at, KNI_STEP_EXPN, 0, 1);
    return (type){false, level};
}

static naming *find_name(naming *list, int n_list, const char *at, size_t n)
{
    for (int i = 0; i < n_list; i++)
        if (n == list[i].length && !memcmp(list[i].text, at, n)) return &list[i];
    return NULL;
}

static int find_scalar(const parser *p, const char *at, size_t n)
{
    for (int i = 0; i < p->names->n_scalars; i++)
        if (equals(p->names->scalars[i], at, n)) return i;
    return -1;
}

static type parse_name(parser *p)
{
    const char *at = p->at;
    char copy[32];
    size_t n = name_length(at);
    p->at += n;
    skip_spaces(p);
    if (*p->at == '(') return parse_call(p, at, n);
    naming *local = find_name(p->locals, p->n_locals, at, n), *in = find_name(p->in, p->d->n_in, at, n);
    int scalar = find_scalar(p, at, n);
    if (local) {
        local->used = true;
        emit(p, at, KNI_STEP_LOCAL, (int)(local - p->locals), 0);
        return local->type;
    }
    if (in) {
        emit(p, at, KNI_STEP_INPUT, (int)(in - p->in), 0);
        return in->type;
    }
    if (scalar >= 0)
        emit(p, at, KNI_STEP_PARAM, scalar, 0);
    else if (equals("inf", at, n))
        emit_constant(p, at, __builtin_inf());
    else if (equals("n", at, n) && p->names->lines)
        emit(p, at, KNI_STEP_LENGTH, 0, 0);
    else
        fail_at(p, at, "'%s' is no operand, scalar or named value", copy_name(copy, at, n));
    return nothing;
}

static type parse_sign(parser *p)
{
    skip_spaces(p);
    const char *from = p->at;
    if (is_digit(*p->at) || *p->at == '.') {
        double value = parse_number(p);
        emit_constant(p, from, value);
        return nothing;
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
        return nothing;
    }
    char sign = *p->at, shown[2] = {sign, 0};
    if (!sign) return fail_at(p, p->at, "a value is missing at the end");
    if (sign != '-' && sign != '!' && sign != '~')
        return fail_at(p, p->at, "no value begins with '%s'", shown);
    p->at++;
    if (++p->nesting > MAX_NESTING) return fail_at(p, from, "it is nested too deeply: name a part of it");
    type inside = parse_sign(p);
    p->nesting--;
    if (p->failed) return nothing;
    if (inside.truth != (sign == '!'))
        return fail_at(p, from, sign == '!' ? "'!' takes a truth" : "'%s' takes a value", shown);
    if (sign == '!') {
        emit(p, from, KNI_STEP_NOT, 0, 1);
        return inside;
    }
    return emit_word(p, from, sign == '-' ? "neg" : "not", inside.level);
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
        if (!condition.truth) fail_at(p, from, "what is asked before '?' must be a truth, such as a > 0");
        type yes = parse_expression(p);
        expect(p, ':');
        type no = p->failed ? nothing : parse_expression(p);
        if (yes.truth || no.truth) fail_at(p, from, "'?' chooses between values, and these are truths");
        if (!p->failed) emit(p, from, KNI_STEP_SELECT, 0, 3);
        condition = (type){false, condition.level | yes.level | no.level};
    }
    p->nesting--;
    return condition;
}

/* ---- statements */

static bool is_taken(parser *p, const char *at, size_t n)
{
    return find_name(p->locals, p->n_locals, at, n) || find_name(p->in, p->d->n_in, at, n) ||
           find_scalar(p, at, n) >= 0 || equals("inf", at, n) || (equals("n", at, n) && p->names->lines);
}

/* Result k has been computed. The only result stays on the stack; of several each may be read on. */
static void give_result(parser *p, const char *at, int k, type t)
{
    naming *out = &p->out[k];
    if (t.truth != p->names->truth)
        fail_at(p, at, p->names->truth ? "the result must be a truth" : "the result must be a value");
    if (t.level & ~out->type.level) fail_at(p, at, "it differs along what the result has one element for");
    out->used = true;
    p->given++;
    if (p->d->n_out == 1) return;
    if (p->n_locals == KNI_BODY_LOCALS) {
        fail_at(p, at, "more than %d values have names", KNI_BODY_LOCALS);
        return;
    }
    emit(p, at, KNI_STEP_STORE, p->n_locals, 1);
    emit(p, at, KNI_STEP_LOCAL, p->n_locals, 0);
    emit(p, at, KNI_STEP_RESULT, k, 1);
}

/* name = formula; true where all results are there. */
static bool parse_statement(parser *p)
{
    char copy[32];
    skip_spaces(p);
    const char *at = p->at;
    size_t n = name_length(at);
    if (!n) return fail_at(p, at, "expected 'name = formula'"), true;
    p->at += n;
    copy_name(copy, at, n);
    if (is_taken(p, at, n))
        return fail_at(p, at, "'%s' has a meaning already: take another name", copy), true;
    expect(p, '=');
    type t = p->failed ? nothing : parse_expression(p);
    naming *out = find_name(p->out, p->d->n_out, at, n);
    if (p->failed) return true;
    if (out && out->used) return fail_at(p, at, "'%s' has a meaning already: take another name", copy), true;
    if (out) give_result(p, at, (int)(out - p->out), t);
    if (p->failed || p->given == p->d->n_out) return true;
    if (p->n_locals == KNI_BODY_LOCALS)
        return fail_at(p, at, "more than %d values have names", KNI_BODY_LOCALS), true;
    if (!out) emit(p, at, KNI_STEP_STORE, p->n_locals, 1);
    p->locals[p->n_locals++] = (naming){at, n, t, out != NULL};
    expect(p, ';');
    return p->failed;
}

/* ---- the lists of operands and results */

static const struct {
    const char *word;
    uint8_t level;
} levels[] = {{"line", KNI_LEVEL_LINE}, {"place", KNI_LEVEL_PLACE}, {"all", KNI_LEVEL_ALL}};

/* The names of a list, each with its level and what it is where it is absent; -1: it is malformed. */
static int read_list(const char *list, naming *names, uint8_t *bits)
{
    int n = 0;
    for (; *list; list += *list == ' ') {
        size_t length = name_length(list);
        if (!length || n == KNI_BODY_OPERANDS) return -1;
        names[n] = (naming){list, length, {false, KNI_LEVEL_ELEMENT}, false};
        list += length;
        if (*list == '@') {
            size_t found = 0, word = name_length(++list);
            while (found < sizeof levels / sizeof *levels && !equals(levels[found].word, list, word)) found++;
            if (found == sizeof levels / sizeof *levels) return -1;
            names[n].type.level = levels[found].level;
            list += word;
        }
        bits[n] = names[n].type.level;
        if (*list == '?') {
            if (list[1] != '0' && list[1] != '1') return -1;
            bits[n] |= KNI_OPERAND_OPTIONAL | (list[1] == '1' ? KNI_OPERAND_ONE : 0);
            list += 2;
        }
        if (*list && *list != ' ') return -1;
        n++;
    }
    return n;
}

bool kni_body_parse(const char *text, const kni_body_names *names, kni_body_draft *draft)
{
    parser p = {.text = text, .at = text, .names = names, .d = draft};
    char copy[32];
    draft->n = draft->n_constants = 0;
    draft->at = -1;
    draft->error[0] = 0;
    if (strlen(text) > INT16_MAX) return fail_at(&p, text, "the body is too long"), false;
    draft->n_in = read_list(names->in, p.in, draft->operands);
    if (draft->n_in < 0) return fail_at(&p, text, "the list of operands '%s' is malformed", names->in), false;
    draft->n_out = read_list(names->out, p.out, draft->operands + draft->n_in);
    if (draft->n_out < 1)
        return fail_at(&p, text, "the list of results '%s' is malformed", names->out), false;
    for (int i = 0; i < draft->n_in; i++) p.in[i].type.truth = names->truths >> i & 1;
    while (!parse_statement(&p)) {}
    skip_spaces(&p);
    if (!p.failed && *p.at) fail_at(&p, p.at, "something follows the result '%s'", names->out);
    for (int i = 0; i < p.n_locals && !p.failed; i++)
        if (!p.locals[i].used)
            fail_at(&p, p.locals[i].text, "'%s' is never used",
                    copy_name(copy, p.locals[i].text, p.locals[i].length));
    return !p.failed;
}
