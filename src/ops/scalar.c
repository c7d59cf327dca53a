/* Parsing scalar bodies and the interpreter that the reference backend runs them with. */
#include "ops/scalar.h"
#include "ops/scalar_words.h"
#include <string.h>

/* Meanings that are absent read NONE; no expression begins with an N. */
#define WORD1(name, result, f, i) {#name, 1, RESULT_##result, #f[0] != 'N', #i[0] != 'N'},
#define WORD2(name, result, f, i) {#name, 2, RESULT_##result, #f[0] != 'N', #i[0] != 'N'},
#define RESULT_VALUE 0
#define RESULT_TRUTH 1
static const kni_word words[] = {
#include "ops/scalar_words.def"
};
#undef WORD1
#undef WORD2

int kni_word_count(void) { return (int)(sizeof words / sizeof *words); }

const kni_word *kni_word_at(int index) { return &words[index]; }

static const char *const input_names[] = {"x", "y", "z", "w"};
static const char *const param_names[] = {"p0", "p1", "p2", "p3"};
static const struct {
    const char *name;
    kni_scalar_kind kind;
} controls[] = {{"select", KNI_SCALAR_SELECT},
                {"land", KNI_SCALAR_AND},
                {"lor", KNI_SCALAR_OR},
                {"lxor", KNI_SCALAR_XOR},
                {"lnot", KNI_SCALAR_NOT}};

/* Decimal constants of rows are short; this reads them exactly as the compiler would for up to 17 digits
   because the power of ten is applied once. */
static bool parse_number(const char *s, double *value)
{
    double sign = 1;
    if (*s == '-') sign = -1, s++;
    if (!strcmp(s, "inf")) {
        *value = sign * __builtin_inf();
        return true;
    }
    int64_t digits = 0;
    int scale = 0;
    bool point = false, any = false;
    for (; *s && *s != 'e'; s++) {
        if (*s == '.' && !point) {
            point = true;
            continue;
        }
        if (*s < '0' || *s > '9' || digits > INT64_MAX / 10 - 1) return false;
        digits = digits * 10 + (*s - '0');
        scale -= point;
        any = true;
    }
    if (*s == 'e') {
        int e = 0, negative = s[1] == '-';
        for (s += 1 + negative; *s >= '0' && *s <= '9'; s++) e = e * 10 + (*s - '0');
        scale += negative ? -e : e;
    }
    double power = 1;
    for (int i = scale < 0 ? -scale : scale; i > 0; i--) power *= 10;
    *value = sign * (scale < 0 ? (double)digits / power : (double)digits * power);
    return any && *s == 0;
}

static bool parse_step(const char *word, kni_scalar_step *step)
{
    step->index = 0;
    step->value = 0;
    for (int i = 0; i < 4; i++) {
        step->index = (uint8_t)i;
        step->kind = KNI_SCALAR_INPUT;
        if (!strcmp(word, input_names[i])) return true;
        step->kind = KNI_SCALAR_PARAM;
        if (!strcmp(word, param_names[i])) return true;
    }
    bool store = word[0] == '>';
    char local = word[store];
    if (local >= 'a' && local <= 'f' && !word[store + 1]) {
        step->kind = store ? KNI_SCALAR_STORE : KNI_SCALAR_LOCAL;
        step->index = (uint8_t)(local - 'a');
        return true;
    }
    for (size_t i = 0; i < sizeof controls / sizeof *controls; i++) {
        step->kind = (uint8_t)controls[i].kind;
        if (!strcmp(word, controls[i].name)) return true;
    }
    step->kind = KNI_SCALAR_WORD;
    for (int i = 0; i < kni_word_count(); i++) {
        step->index = (uint8_t)i;
        if (!strcmp(word, words[i].name)) return true;
    }
    step->kind = KNI_SCALAR_CONSTANT;
    return parse_number(word, &step->value);
}

static int pops(const kni_scalar_step *s)
{
    static const uint8_t by_kind[] = {
        [KNI_SCALAR_STORE] = 1, [KNI_SCALAR_SELECT] = 3, [KNI_SCALAR_AND] = 2,
        [KNI_SCALAR_OR] = 2,    [KNI_SCALAR_XOR] = 2,    [KNI_SCALAR_NOT] = 1,
    };
    return s->kind == KNI_SCALAR_WORD ? words[s->index].arity
           : s->kind < sizeof by_kind ? by_kind[s->kind]
                                      : 0;
}

bool kni_scalar_parse(const char *text, kni_scalar_body *body)
{
    int depth = 0;
    body->n = 0;
    while (*text) {
        char word[32];
        size_t length = strcspn(text, " ");
        if (length >= sizeof word || body->n == KNI_SCALAR_STEPS) return false;
        memcpy(word, text, length);
        word[length] = 0;
        text += length + (text[length] == ' ');
        kni_scalar_step *step = &body->steps[body->n++];
        if (!parse_step(word, step)) return false;
        depth -= pops(step);
        if (depth < 0) return false;
        depth += step->kind != KNI_SCALAR_STORE;
        if (depth > KNI_SCALAR_STACK) return false;
    }
    return depth == 1;
}
