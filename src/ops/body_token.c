/* What the parser of bodies reads letter by letter: names, signs, numbers; and the steps it emits. */
#include "core/platform.h"
#include "core/text.h"
#include "ops/body_parser.h"
#include <string.h>

/* ---- failures and tokens */

kni_parsed kni_parser_fail(kni_parser *p, const char *where, const char *format, ...)
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
    return kni_parsed_nothing;
}

bool kni_parser_is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool kni_parser_is_digit(char c) { return c >= '0' && c <= '9'; }

void kni_parser_skip(kni_parser *p)
{
    while (*p->at == ' ') p->at++;
}

/* The ' of a name marks the new value of an operand. */
size_t kni_parser_name_length(const char *s)
{
    size_t n = 0;
    while (kni_parser_is_letter(s[n]) || (n && kni_parser_is_digit(s[n]))) n++;
    return n + (n && s[n] == '\'');
}

bool kni_parser_equals(const char *name, const char *s, size_t n)
{
    return strlen(name) == n && !memcmp(name, s, n);
}

bool kni_parser_take(kni_parser *p, char c)
{
    kni_parser_skip(p);
    if (*p->at != c) return false;
    p->at++;
    return true;
}

void kni_parser_expect(kni_parser *p, char c)
{
    char wanted[2] = {c, 0}, found[2] = {0, 0};
    if (kni_parser_take(p, c)) return;
    found[0] = *p->at;
    if (*p->at)
        kni_parser_fail(p, p->at, "expected '%s', found '%s'", wanted, found);
    else
        kni_parser_fail(p, p->at, "expected '%s', and the body ends", wanted);
}

/* A name of an operand or a result for a message. */
const char *kni_parser_copy(char *to, const char *s, size_t n)
{
    n = n < 31 ? n : 31;
    memcpy(to, s, n);
    to[n] = 0;
    return to;
}

kni_naming *kni_parser_find(kni_naming *list, int n_list, const char *at, size_t n)
{
    for (int i = 0; i < n_list; i++)
        if (n == list[i].length && !memcmp(list[i].text, at, n)) return &list[i];
    return NULL;
}

int kni_parser_find_scalar(const kni_parser *p, const char *at, size_t n)
{
    for (int i = 0; i < p->names->n_scalars; i++)
        if (kni_parser_equals(p->names->scalars[i], at, n)) return i;
    return -1;
}

int kni_parser_find_value(const kni_parser *p, const char *at, size_t n)
{
    const kni_body_draft *host = p->names->host;
    for (int i = 0; host && i < host->n_out; i++)
        if (n == host->values[i].length && !memcmp(host->values[i].text, at, n)) return i;
    return -1;
}

/* Digits and the power of ten are exact in a long double for up to 19 digits and 10^27, so that the value is rounded as the
   compiler rounds it. */
double kni_parser_number(kni_parser *p)
{
    const char *s = p->at;
    uint64_t digits = 0;
    int scale = 0, exponent = 0;
    bool point = false;
    for (; kni_parser_is_digit(*s) || (*s == '.' && !point); s++) {
        if (*s == '.') {
            point = true;
            continue;
        }
        if (digits > UINT64_MAX / 10 - 1)
            kni_parser_fail(p, p->at, "the number has too many digits");
        else
            digits = digits * 10 + (uint64_t)(*s - '0');
        scale -= point;
    }
    if (*s == 'e') {
        bool negative = s[1] == '-';
        s += 1 + (negative || s[1] == '+');
        if (!kni_parser_is_digit(*s)) kni_parser_fail(p, s, "the exponent of the number is missing");
        for (; kni_parser_is_digit(*s) && exponent < 400; s++) exponent = exponent * 10 + (*s - '0');
        scale += negative ? -exponent : exponent;
    }
    if (kni_parser_is_letter(*s) || kni_parser_is_digit(*s))
        kni_parser_fail(p, s, "this is no part of a number");
    if (scale > 300 || scale < -300) kni_parser_fail(p, p->at, "the number is too large or too small");
    p->at = s;
    long double power = 1;
    for (int i = scale < 0 ? -scale : scale; i > 0; i--) power *= 10;
    return (double)(scale < 0 ? (long double)digits / power : (long double)digits * power);
}

/* ---- emitting */

void kni_parser_emit(kni_parser *p, const char *from, int kind, int index, int pops)
{
    kni_body_draft *d = p->d;
    if (d->n == KNI_BODY_STEPS) {
        kni_parser_fail(p, from, "the body has more than %d steps", KNI_BODY_STEPS);
        return;
    }
    d->from[d->n] = (int16_t)(from - p->text);
    d->code[d->n++] = (uint8_t)KNI_BODY_CODE(kind, index);
    p->depth += (kind != KNI_STEP_STORE && kind != KNI_STEP_RESULT) - pops;
    if (p->depth > KNI_BODY_STACK) kni_parser_fail(p, from, "it is nested too deeply: name a part of it");
}

void kni_parser_constant(kni_parser *p, const char *from, double value)
{
    kni_body_draft *d = p->d;
    int i = 0;
    while (i < d->n_constants && memcmp(&d->constants[i], &value, sizeof value) != 0) i++;
    if (i == KNI_BODY_CONSTANTS) {
        kni_parser_fail(p, from, "the body has more than %d constants", KNI_BODY_CONSTANTS);
        return;
    }
    d->constants[i] = value;
    if (i == d->n_constants) d->n_constants++;
    kni_parser_emit(p, from, KNI_STEP_CONSTANT, i, 0);
}

/* Where the row has a `.host`, the record's numbers are those that the body names, in that order; else its attributes. */
static int number_of(kni_parser *p, const char *from, int scalar)
{
    kni_body_draft *d = p->d;
    if (!p->names->host) return scalar;
    for (int i = 0; i < d->n_numbers; i++)
        if (d->numbers[i] == scalar) return i;
    if (d->n_numbers == KNI_BODY_NUMBERS) {
        kni_parser_fail(p, from, "the body has more than %d scalars", KNI_BODY_NUMBERS);
        return 0;
    }
    d->numbers[d->n_numbers] = (uint8_t)scalar;
    return d->n_numbers++;
}

kni_parsed kni_parser_scalar(kni_parser *p, const char *from, int scalar)
{
    bool host = scalar >= KNI_NUMBER_HOST;
    if (!host && p->names->choices >> scalar & 1) {
        kni_parser_emit(p, from, KNI_STEP_CHOICE, scalar, 0);
        return (kni_parsed){true, KNI_LEVEL_ALL, false, false};
    }
    kni_parser_emit(p, from, KNI_STEP_PARAM, number_of(p, from, scalar), 0);
    if (!host) return p->names->whole >> scalar & 1 ? kni_parsed_number : kni_parsed_nothing;
    if (!p->names->host->values[scalar - KNI_NUMBER_HOST].truth) return kni_parsed_nothing;
    kni_parser_constant(p, from, 0);
    return kni_parser_word(p, from, "ne", KNI_LEVEL_ALL);
}

int kni_parser_find_word(const char *s, size_t n)
{
    for (int i = 0; i < kni_word_count(); i++)
        if (kni_parser_equals(kni_word_at(i)->name, s, n)) return i;
    return -1;
}

/* How many letters must be changed, added or taken away. */
static int distance(const char *a, const char *b)
{
    int row[40], n = (int)strlen(b);
    if (n >= KNI_COUNT(row)) return n;
    for (int k = 0; k <= n; k++) row[k] = k;
    for (int i = 1; *a; a++, i++) {
        int before = row[0];
        row[0] = i;
        for (int k = 1; k <= n; k++) {
            int change = before + (*a != b[k - 1]), other = 1 + (row[k] < row[k - 1] ? row[k] : row[k - 1]);
            before = row[k];
            row[k] = change < other ? change : other;
        }
    }
    return row[n];
}

/* What ops are called that are no words, and how they are written. */
static const char *const written[][2] = {
    {"relu", "max(x, 0)"},
    {"clamp", "min(max(x, low), high)"},
    {"square", "x * x"},
    {"softplus", "log1p(exp(x))"},
    {"silu", "x * sigmoid(x)"},
    {"gelu", "x * normal_cdf(x)"},
    {"where", "a ? b : c"},
    {"select", "a ? b : c"},
    {"avg", "mean(x)"},
    {"reciprocal", "1 / x"},
    {"softmax", "e = exp(x - highest(x)); e / sum(e)"},
    {"maximum", "max(a, b)"},
    {"minimum", "min(a, b)"},
    {"fabs", "abs(x)"},
    {"ln", "log(x)"},
    {"mod", "a % b, or rem(a, b)"},
    {"var", "mean(d * d) of d = x - mean(x)"},
};

kni_parsed kni_parser_no_word(kni_parser *p, const char *at, const char *word)
{
    const char *nearest = NULL;
    int best = strlen(word) < 4 ? 2 : 3; /* further away than this is another word */
    for (int i = 0; i < KNI_COUNT(written); i++)
        if (!strcmp(written[i][0], word))
            return kni_parser_fail(p, at, "there is no word '%s': write %s", word, written[i][1]);
    for (int i = 0; i < kni_word_count() + KNI_LINE_WORDS; i++) {
        const char *name =
            i < kni_word_count() ? kni_word_at(i)->name : kni_line_word_name(i - kni_word_count());
        int d = distance(name, word);
        if (d < best) best = d, nearest = name;
    }
    if (nearest) return kni_parser_fail(p, at, "there is no word '%s': is '%s' meant?", word, nearest);
    return kni_parser_fail(p, at, "there is no word '%s': docs/defining-ops.md lists them", word);
}

kni_parsed kni_parser_word(kni_parser *p, const char *from, const char *name, uint8_t level)
{
    int word = kni_parser_find_word(name, strlen(name));
    kni_parser_emit(p, from, KNI_STEP_WORD, word, kni_word_at(word)->arity);
    return (kni_parsed){.truth = kni_word_at(word)->truth, .level = level};
}
