/* The formulas of bodies: recursive descent that emits steps as it goes, so that the order of the text is the order of the
   computation. */
#include "ops/body_parser.h"
#include <string.h>

/* ---- operators, the weakest first */

static const struct {
    const char *sign, *word; /* of values, NULL where it takes truths alone */
    int level, logic;        /* logic: of truths, -1 where it takes values alone */
    bool by_name;            /* the word may be written as well */
} operators[] = {
    {"||", NULL, 1, KNI_STEP_OR, false}, {"&&", NULL, 2, KNI_STEP_AND, false},
    {"|", "or", 3, -1, false},           {"^", "xor", 4, KNI_STEP_XOR, false},
    {"&", "and", 5, -1, false},          {"==", "eq", 6, -1, false},
    {"!=", "ne", 6, -1, false},          {"<=", "le", 7, -1, false},
    {">=", "ge", 7, -1, false},          {"<<", "shl", 8, -1, false},
    {">>", "shr", 8, -1, false},         {"<", "lt", 7, -1, false},
    {">", "gt", 7, -1, false},           {"+", "add", 9, -1, false},
    {"-", "sub", 9, -1, false},          {"*", "mul", 10, -1, false},
    {"/", "div", 10, -1, false},         {"%", "fmod", 10, -1, true},
};
enum { OPERATORS = sizeof operators / sizeof *operators, TIGHTEST = 10, MAX_NESTING = 64 };

static int find_operator(kni_parser *p)
{
    kni_parser_skip(p);
    for (int i = 0; i < OPERATORS; i++)
        if (!strncmp(p->at, operators[i].sign, strlen(operators[i].sign))) return i;
    return -1;
}

/* What two values or indices give together. */
static kni_parsed beside(kni_parser *p, const char *from, const char *word, kni_parsed a, kni_parsed b)
{
    if (a.index != b.index && !a.number && !b.number)
        kni_parser_fail(p, from, "'%s' stands between an index and a value", word);
    return (kni_parsed){false, a.level | b.level, a.index || b.index, a.number && b.number};
}

static kni_parsed emit_word(kni_parser *p, const char *from, const char *name, kni_parsed t)
{
    const kni_word *word = kni_word_at(kni_parser_find_word(name, strlen(name)));
    if (t.index && !word->integers) return kni_parser_fail(p, from, "'%s' has no meaning for indices", name);
    kni_parsed result = kni_parser_word(p, from, name, t.level);
    if (result.truth) return result;
    bool rounds =
        !strcmp(name, "floor") || !strcmp(name, "ceil") || !strcmp(name, "round") || !strcmp(name, "trunc");
    if (rounds && t.level == KNI_LEVEL_ALL) t.number = true;
    return t;
}

static kni_parsed emit_operator(kni_parser *p, const char *from, int i, kni_parsed left, kni_parsed right)
{
    const char *sign = operators[i].sign;
    uint8_t level = left.level | right.level;
    if (left.truth != right.truth)
        return kni_parser_fail(p, from, "one side of '%s' is a truth, the other a value", sign);
    if (left.truth && operators[i].logic >= 0) {
        kni_parser_emit(p, from, operators[i].logic, 0, 2);
        return (kni_parsed){.truth = true, .level = level};
    }
    if (left.truth) return kni_parser_fail(p, from, "'%s' takes values, and these are truths", sign);
    if (!operators[i].word) return kni_parser_fail(p, from, "'%s' takes truths, and these are values", sign);
    kni_parsed both = beside(p, from, sign, left, right);
    return p->failed ? kni_parsed_nothing : emit_word(p, from, operators[i].word, both);
}

/* ---- what stands between operators */

enum { MAX_ARGUMENTS = 2 };
typedef struct argument {
    kni_parsed type;
    const char *from;
} argument;

/* The arguments of a word; how many there must be is the caller's to know. */
static void parse_arguments(kni_parser *p, const char *at, const char *word, int wanted, argument *list)
{
    int given = 0;
    kni_parser_expect(p, '(');
    do {
        kni_parser_skip(p);
        argument a = {kni_parsed_nothing, p->at};
        if (!p->failed) a.type = kni_parser_formula(p);
        if (given < wanted) list[given] = a;
        given++;
    } while (!p->failed && kni_parser_take(p, ','));
    kni_parser_expect(p, ')');
    if (given != wanted) kni_parser_fail(p, at, "'%s' takes %d, and %d are given", word, wanted, given);
}

static void expect_value(kni_parser *p, const char *word, const argument *a)
{
    if (a->type.truth) kni_parser_fail(p, a->from, "'%s' takes values, and this is a truth", word);
}

/* sum(v) and the others: along the line, or for `down` over all lines. */
static kni_parsed parse_line_word(kni_parser *p, const char *at, const char *copy, int word)
{
    bool truths = word == KNI_LINE_ANY || word == KNI_LINE_ALL;
    uint8_t over = word == KNI_LINE_DOWN ? KNI_LEVEL_LINE : KNI_LEVEL_PLACE;
    argument v = {kni_parsed_nothing, at};
    if (!p->names->lines) return kni_parser_fail(p, at, "'%s' works along lines, and the row has none", copy);
    parse_arguments(p, at, copy, 1, &v);
    if (!truths) expect_value(p, copy, &v);
    if (truths && !v.type.truth) kni_parser_fail(p, v.from, "'%s' takes truths, and this is a value", copy);
    if (v.type.index) kni_parser_fail(p, v.from, "'%s' takes values, and this is an index", copy);
    if (!(v.type.level & over) && word == KNI_LINE_DOWN)
        kni_parser_fail(p, at, "what '%s' adds up is the same in all lines", copy);
    else if (!(v.type.level & over))
        kni_parser_fail(p, at, "what '%s' takes is the same all along a line", copy);
    kni_parser_emit(p, at, KNI_STEP_LINE, word, 1);
    return (kni_parsed){truths, (uint8_t)(v.type.level & ~over),
                        word == KNI_LINE_ARGMAX || word == KNI_LINE_ARGMIN, false};
}

/* at(v, t) */
static kni_parsed parse_at(kni_parser *p, const char *at, const char *copy)
{
    argument a[MAX_ARGUMENTS] = {{kni_parsed_nothing, at}, {kni_parsed_nothing, at}};
    if (!p->names->lines) return kni_parser_fail(p, at, "'%s' works along lines, and the row has none", copy);
    parse_arguments(p, at, copy, 2, a);
    expect_value(p, copy, &a[0]);
    if (!(a[0].type.level & KNI_LEVEL_PLACE))
        kni_parser_fail(p, a[0].from, "what '%s' reads is the same all along a line", copy);
    if (!a[1].type.index && !a[1].type.number)
        kni_parser_fail(p, a[1].from, "'%s' reads at an index, and this is none", copy);
    if (a[1].type.level & KNI_LEVEL_PLACE)
        kni_parser_fail(p, a[1].from, "'%s' reads at one place of each line, and this differs along it",
                        copy);
    kni_parser_emit(p, at, KNI_STEP_AT, 0, 2);
    uint8_t level = (uint8_t)((a[0].type.level & ~KNI_LEVEL_PLACE) | a[1].type.level);
    return (kni_parsed){false, level, a[0].type.index, false};
}

/* require(condition, t) */
static kni_parsed parse_require(kni_parser *p, const char *at, const char *copy)
{
    argument a[MAX_ARGUMENTS] = {{kni_parsed_nothing, at}, {kni_parsed_nothing, at}};
    parse_arguments(p, at, copy, 2, a);
    if (!a[0].type.truth) kni_parser_fail(p, a[0].from, "'%s' asks for a truth, such as t < n", copy);
    if (!a[1].type.index)
        kni_parser_fail(p, a[1].from, "what '%s' reports is an index, and this is none", copy);
    if (a[0].type.level & ~a[1].type.level)
        kni_parser_fail(p, a[0].from, "'%s' has several conditions for one index", copy);
    kni_parser_emit(p, at, KNI_STEP_REQUIRE, 0, 2);
    return a[1].type;
}

/* A word of scalar_words.def, or expn(v). */
static kni_parsed parse_word(kni_parser *p, const char *at, const char *copy, int word)
{
    argument a[MAX_ARGUMENTS] = {{kni_parsed_nothing, at}, {kni_parsed_nothing, at}};
    int arity = word < 0 ? 1 : kni_word_at(word)->arity;
    parse_arguments(p, at, copy, arity, a);
    for (int i = 0; i < arity; i++) expect_value(p, copy, &a[i]);
    kni_parsed t = arity == 1 ? a[0].type : beside(p, at, copy, a[0].type, a[1].type);
    if (p->failed) return kni_parsed_nothing;
    if (word >= 0) return emit_word(p, at, copy, t);
    if (t.index) return kni_parser_fail(p, at, "'%s' has no meaning for indices", copy);
    kni_parser_emit(p, at, KNI_STEP_EXPN, 0, 1);
    return (kni_parsed){false, t.level, false, false};
}

/* has(w): whether an optional operand is given. */
static kni_parsed parse_has(kni_parser *p, const char *at)
{
    char copy[32];
    if (!p->names->updates)
        return kni_parser_fail(p, at, "'has' is for rows of the library that update operands");
    kni_parser_expect(p, '(');
    kni_parser_skip(p);
    const char *name = p->at;
    size_t n = kni_parser_name_length(name);
    kni_naming *in = kni_parser_find(p->in, p->d->n_in, name, n);
    if (p->failed) return kni_parsed_nothing;
    if (!in || !(p->d->operands[in - p->in] & KNI_OPERAND_OPTIONAL))
        return kni_parser_fail(p, name, "'%s' is no operand that may be absent",
                               kni_parser_copy(copy, name, n));
    p->at += n;
    kni_parser_expect(p, ')');
    kni_parser_emit(p, at, KNI_STEP_HAS, (int)(in - p->in), 0);
    return (kni_parsed){true, KNI_LEVEL_ALL, false, false};
}

/* An attribute that draws need. */
static void push_state(kni_parser *p, const char *at, const char *name)
{
    int scalar = kni_parser_find_scalar(p, name, strlen(name));
    if (scalar < 0)
        kni_parser_fail(p, at, "'draw' needs the attribute '%s', which the row does not have", name);
    else
        kni_parser_scalar(p, at, scalar);
}

/* draw(j, t): word j of those at index t; draw(j): at the element's own. */
static kni_parsed parse_draw(kni_parser *p, const char *at)
{
    if (!p->names->makes) return kni_parser_fail(p, at, "'draw' is for rows that make values of scalars");
    kni_parser_expect(p, '(');
    kni_parser_skip(p);
    const char *from = p->at;
    int which = *from - '0';
    if (p->failed) return kni_parsed_nothing;
    if (which < 0 || which > 3 || kni_parser_is_digit(from[1]))
        return kni_parser_fail(p, from, "the first of 'draw' says which word, 0 to 3");
    p->at++;
    push_state(p, at, "key");
    push_state(p, at, "counter");
    kni_parsed t = {false, KNI_LEVEL_ELEMENT, false, true};
    if (kni_parser_take(p, ',')) {
        kni_parser_skip(p);
        from = p->at;
        t = p->failed ? kni_parsed_nothing : kni_parser_formula(p);
        if (!p->failed && (t.truth || (!t.index && !t.number)))
            kni_parser_fail(p, from, "'draw' takes an index, and this is none");
    } else {
        kni_parser_emit(p, at, KNI_STEP_ELEMENT, 0, 0);
    }
    kni_parser_expect(p, ')');
    kni_parser_emit(p, at, KNI_STEP_DRAW, which, 3);
    return (kni_parsed){false, t.level, true, false};
}

/* real(t): an index as a value. */
static kni_parsed parse_real(kni_parser *p, const char *at, const char *copy)
{
    argument t = {kni_parsed_nothing, at};
    parse_arguments(p, at, copy, 1, &t);
    if (t.type.truth || !t.type.index)
        kni_parser_fail(p, t.from, "'%s' takes an index, and this is none", copy);
    kni_parser_emit(p, at, KNI_STEP_REAL, 0, 1);
    return (kni_parsed){false, t.type.level, false, false};
}

static kni_parsed parse_call(kni_parser *p, const char *at, size_t n)
{
    char copy[32];
    int word = kni_parser_find_word(at, n);
    kni_parser_copy(copy, at, n);
    if (kni_parser_equals("has", at, n)) return parse_has(p, at);
    if (kni_parser_equals("draw", at, n)) return parse_draw(p, at);
    for (int i = 0; i < KNI_LINE_WORDS; i++)
        if (kni_parser_equals(kni_line_word_name(i), at, n)) return parse_line_word(p, at, copy, i);
    for (int i = 0; i < OPERATORS; i++)
        if (operators[i].word && !operators[i].by_name && kni_parser_equals(operators[i].word, at, n))
            return kni_parser_fail(p, at, "write '%s' for '%s'", operators[i].sign, copy);
    if (kni_parser_equals("neg", at, n) || kni_parser_equals("not", at, n))
        return kni_parser_fail(p, at, "write the sign for '%s'", copy);
    if (kni_parser_equals("at", at, n)) return parse_at(p, at, copy);
    if (kni_parser_equals("require", at, n)) return parse_require(p, at, copy);
    if (kni_parser_equals("real", at, n)) return parse_real(p, at, copy);
    if (kni_parser_equals("cos_turn", at, n) && !p->names->makes)
        return kni_parser_fail(p, at, "'%s' is for rows that make values of scalars: it knows 0 to 1 alone",
                               copy);
    if (word < 0 && !kni_parser_equals("expn", at, n)) return kni_parser_no_word(p, at, copy);
    return parse_word(p, at, copy, word);
}

static kni_parsed parse_name(kni_parser *p)
{
    const char *at = p->at;
    char copy[32];
    size_t n = kni_parser_name_length(at);
    p->at += n;
    kni_parser_skip(p);
    if (*p->at == '(') return parse_call(p, at, n);
    kni_naming *local = kni_parser_find(p->locals, p->n_locals, at, n),
               *in = kni_parser_find(p->in, p->d->n_in, at, n);
    int scalar = kni_parser_find_scalar(p, at, n), made = kni_parser_find_value(p, at, n);
    if (local) {
        local->used = true;
        kni_parser_emit(p, at, KNI_STEP_LOCAL, (int)(local - p->locals), 0);
        return local->type;
    }
    if (in) {
        kni_parser_emit(p, at, KNI_STEP_INPUT, (int)(in - p->in), 0);
        return in->type;
    }
    if (made >= 0) return kni_parser_scalar(p, at, KNI_NUMBER_HOST + made);
    if (scalar >= 0) return kni_parser_scalar(p, at, scalar);
    if (kni_parser_equals("i", at, n) && p->names->makes) {
        kni_parser_emit(p, at, KNI_STEP_ELEMENT, 0, 0);
        return (kni_parsed){false, KNI_LEVEL_ELEMENT, false, true};
    }
    bool floats = kni_parser_equals("floats", at, n);
    if ((floats || kni_parser_equals("doubles", at, n)) && p->names->makes) {
        kni_parser_emit(p, at, KNI_STEP_CHOICE, floats ? KNI_CHOICE_FLOATS : KNI_CHOICE_DOUBLES, 0);
        return (kni_parsed){true, KNI_LEVEL_ALL, false, false};
    }
    if (kni_parser_equals("n", at, n) && p->names->lines) {
        kni_parser_emit(p, at, KNI_STEP_LENGTH, 0, 0);
        return kni_parsed_number;
    }
    if (kni_parser_equals("k", at, n) && p->names->lines) {
        kni_parser_emit(p, at, KNI_STEP_PLACE, 0, 0);
        return (kni_parsed){false, KNI_LEVEL_PLACE, true, false};
    }
    if (kni_parser_equals("inf", at, n))
        kni_parser_constant(p, at, __builtin_inf());
    else
        kni_parser_fail(p, at, "'%s' is no operand, scalar or named value", kni_parser_copy(copy, at, n));
    return kni_parsed_nothing;
}

/* A fraction or infinity cannot stand beside an index. */
static kni_parsed parse_constant(kni_parser *p, const char *from, double value)
{
    bool whole = value > -1e15 && value < 1e15 && value == (double)(int64_t)value;
    kni_parser_constant(p, from, value);
    return whole ? kni_parsed_number : kni_parsed_nothing;
}

static kni_parsed parse_sign(kni_parser *p)
{
    kni_parser_skip(p);
    const char *from = p->at;
    if (kni_parser_is_digit(*p->at) || *p->at == '.') {
        return parse_constant(p, from, kni_parser_number(p));
    }
    if (kni_parser_is_letter(*p->at)) return parse_name(p);
    if (kni_parser_take(p, '(')) {
        kni_parsed inside = kni_parser_formula(p);
        kni_parser_expect(p, ')');
        return inside;
    }
    if (p->at[0] == '-' && (kni_parser_is_digit(p->at[1]) || !strncmp(p->at, "-inf", 4))) {
        p->at++;
        double value = kni_parser_is_digit(*p->at) ? kni_parser_number(p) : (p->at += 3, __builtin_inf());
        return parse_constant(p, from, -value);
    }
    char sign = *p->at, shown[2] = {sign, 0};
    if (!sign) return kni_parser_fail(p, p->at, "a value is missing at the end");
    if (sign != '-' && sign != '!' && sign != '~')
        return kni_parser_fail(p, p->at, "no value begins with '%s'", shown);
    p->at++;
    if (++p->nesting > MAX_NESTING)
        return kni_parser_fail(p, from, "it is nested too deeply: name a part of it");
    kni_parsed inside = parse_sign(p);
    p->nesting--;
    if (p->failed) return kni_parsed_nothing;
    if (inside.truth != (sign == '!'))
        return kni_parser_fail(p, from, sign == '!' ? "'!' takes a truth" : "'%s' takes a value", shown);
    if (sign == '!') {
        kni_parser_emit(p, from, KNI_STEP_NOT, 0, 1);
        return inside;
    }
    return emit_word(p, from, sign == '-' ? "neg" : "not", inside);
}

static kni_parsed parse_binary(kni_parser *p, int level)
{
    kni_parsed left = level > TIGHTEST ? parse_sign(p) : parse_binary(p, level + 1);
    while (level <= TIGHTEST && !p->failed) {
        int i = find_operator(p);
        if (i < 0 || operators[i].level != level) break;
        const char *from = p->at;
        p->at += strlen(operators[i].sign);
        kni_parsed right = parse_binary(p, level + 1);
        if (!p->failed) left = emit_operator(p, from, i, left, right);
    }
    return left;
}

kni_parsed kni_parser_formula(kni_parser *p)
{
    if (++p->nesting > MAX_NESTING)
        return kni_parser_fail(p, p->at, "it is nested too deeply: name a part of it");
    kni_parsed condition = parse_binary(p, 1);
    kni_parser_skip(p);
    const char *from = p->at;
    if (!p->failed && kni_parser_take(p, '?')) {
        if (!condition.truth)
            kni_parser_fail(p, from, "what is asked before '?' must be a truth, such as a > 0");
        kni_parsed yes = kni_parser_formula(p);
        kni_parser_expect(p, ':');
        kni_parsed no = p->failed ? kni_parsed_nothing : kni_parser_formula(p);
        if (yes.truth || no.truth)
            kni_parser_fail(p, from, "'?' chooses between values, and these are truths");
        kni_parsed both = p->failed ? yes : beside(p, from, "?", yes, no);
        if (!p->failed) kni_parser_emit(p, from, KNI_STEP_SELECT, 0, 3);
        both.level |= condition.level;
        condition = both;
    }
    p->nesting--;
    return condition;
}
