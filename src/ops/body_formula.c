/* The formulas of bodies: recursive descent that emits steps as it goes, so that the order of the text is the order of the
   computation. */
#include "ops/body_parser.h"
#include <string.h>

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

static int find_operator(kni_parser *p)
{
    kni_parser_skip(p);
    for (int i = 0; i < OPERATORS; i++)
        if (!strncmp(p->at, operators[i].sign, strlen(operators[i].sign))) return i;
    return -1;
}

static kni_parsed emit_operator(kni_parser *p, const char *from, int i, kni_parsed left, kni_parsed right)
{
    const char *sign = operators[i].sign;
    uint8_t level = left.level | right.level;
    if (left.truth != right.truth)
        return kni_parser_fail(p, from, "one side of '%s' is a truth, the other a value", sign);
    if (left.truth && operators[i].logic >= 0) {
        kni_parser_emit(p, from, operators[i].logic, 0, 2);
        return (kni_parsed){true, level};
    }
    if (left.truth) return kni_parser_fail(p, from, "'%s' takes values, and these are truths", sign);
    if (!operators[i].word) return kni_parser_fail(p, from, "'%s' takes truths, and these are values", sign);
    return kni_parser_word(p, from, operators[i].word, level);
}

/* ---- what stands between operators */

/* The arguments of a word: how many there are, and what all of them belong to. */
static int parse_arguments(kni_parser *p, const char *word, uint8_t *level)
{
    int given = 0;
    *level = KNI_LEVEL_ALL;
    kni_parser_expect(p, '(');
    do {
        kni_parser_skip(p);
        const char *from = p->at;
        kni_parsed t = p->failed ? kni_parsed_nothing : kni_parser_formula(p);
        if (t.truth) kni_parser_fail(p, from, "'%s' takes values, and this is a truth", word);
        *level |= t.level;
        given++;
    } while (!p->failed && kni_parser_take(p, ','));
    kni_parser_expect(p, ')');
    return given;
}

/* sum(v) and the others: along the line, or for `down` over all lines. */
static kni_parsed parse_line_word(kni_parser *p, const char *at, const char *copy, int word)
{
    uint8_t level, over = word == KNI_LINE_DOWN ? KNI_LEVEL_LINE : KNI_LEVEL_PLACE;
    if (!p->names->lines) return kni_parser_fail(p, at, "'%s' works along lines, and the row has none", copy);
    int given = parse_arguments(p, copy, &level);
    if (given != 1) kni_parser_fail(p, at, "'%s' takes 1, and %d are given", copy, given);
    if (!(level & over) && word == KNI_LINE_DOWN)
        kni_parser_fail(p, at, "what '%s' adds up is the same in all lines", copy);
    else if (!(level & over))
        kni_parser_fail(p, at, "what '%s' takes is the same all along a line", copy);
    kni_parser_emit(p, at, KNI_STEP_LINE, word, 1);
    return (kni_parsed){false, (uint8_t)(level & ~over)};
}

static kni_parsed parse_call(kni_parser *p, const char *at, size_t n)
{
    char copy[32];
    uint8_t level;
    int word = kni_parser_find_word(at, n);
    kni_parser_copy(copy, at, n);
    for (int i = 0; i < KNI_LINE_WORDS; i++)
        if (kni_parser_equals(kni_line_word_name(i), at, n)) return parse_line_word(p, at, copy, i);
    for (int i = 0; i < OPERATORS; i++)
        if (operators[i].word && kni_parser_equals(operators[i].word, at, n))
            return kni_parser_fail(p, at, "write '%s' for '%s'", operators[i].sign, copy);
    if (kni_parser_equals("neg", at, n) || kni_parser_equals("not", at, n))
        return kni_parser_fail(p, at, "write the sign for '%s'", copy);
    bool expn = kni_parser_equals("expn", at, n);
    if (word < 0 && !expn) return kni_parser_fail(p, at, "there is no word '%s'", copy);
    int arity = expn ? 1 : kni_word_at(word)->arity, given = parse_arguments(p, copy, &level);
    if (given != arity) kni_parser_fail(p, at, "'%s' takes %d, and %d are given", copy, arity, given);
    if (p->failed) return kni_parsed_nothing;
    if (!expn) return kni_parser_word(p, at, kni_word_at(word)->name, level);
    kni_parser_emit(p, at, KNI_STEP_EXPN, 0, 1);
    return (kni_parsed){false, level};
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
    int scalar = kni_parser_find_scalar(p, at, n);
    if (local) {
        local->used = true;
        kni_parser_emit(p, at, KNI_STEP_LOCAL, (int)(local - p->locals), 0);
        return local->type;
    }
    if (in) {
        kni_parser_emit(p, at, KNI_STEP_INPUT, (int)(in - p->in), 0);
        return in->type;
    }
    if (scalar >= 0)
        kni_parser_emit(p, at, KNI_STEP_PARAM, scalar, 0);
    else if (kni_parser_equals("inf", at, n))
        kni_parser_constant(p, at, __builtin_inf());
    else if (kni_parser_equals("n", at, n) && p->names->lines)
        kni_parser_emit(p, at, KNI_STEP_LENGTH, 0, 0);
    else
        kni_parser_fail(p, at, "'%s' is no operand, scalar or named value", kni_parser_copy(copy, at, n));
    return kni_parsed_nothing;
}

static kni_parsed parse_sign(kni_parser *p)
{
    kni_parser_skip(p);
    const char *from = p->at;
    if (kni_parser_is_digit(*p->at) || *p->at == '.') {
        double value = kni_parser_number(p);
        kni_parser_constant(p, from, value);
        return kni_parsed_nothing;
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
        kni_parser_constant(p, from, -value);
        return kni_parsed_nothing;
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
    return kni_parser_word(p, from, sign == '-' ? "neg" : "not", inside.level);
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
        if (!p->failed) kni_parser_emit(p, from, KNI_STEP_SELECT, 0, 3);
        condition = (kni_parsed){false, condition.level | yes.level | no.level};
    }
    p->nesting--;
    return condition;
}
