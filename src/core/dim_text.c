/* Sizes as text, both ways: "2 * batch * length + 1". */
#include "core/dim_set.h"
#include "core/dim_symbols.h"
#include "core/text.h"

#ifndef KN_FREESTANDING

/* ---- printing */

static void print_term(kni_text *t, const kni_dim_term *term, bool first)
{
    int64_t c = term->coefficient;
    if (!first || c < 0) kni_text_string(t, first ? "-" : c < 0 ? " - " : " + ");
    if (c < 0) c = -c;
    bool alone = term->n_factors == 0;
    if (alone || c != 1) kni_text_int(t, c);
    for (int k = 0; k < term->n_factors; k++) {
        if (k || c != 1) kni_text_string(t, " * ");
        kni_dim_print(t, term->factors[k]);
    }
}

/* Sums and negative numbers stand in brackets beside a division. */
static void print_part(kni_text *t, kn_dim d)
{
    bool brackets = kni_dim_kind_of(d) == KNI_DIM_SUM || (kni_dim_kind_of(d) == KNI_DIM_CONSTANT && d < 0);
    if (brackets) kni_text_char(t, '(');
    kni_dim_print(t, d);
    if (brackets) kni_text_char(t, ')');
}

void kni_symbolic_print(struct kni_text *t, kn_dim d)
{
    kni_dim_term terms[KNI_DIM_TERMS];
    kni_dim_kind kind = kni_dim_kind_of(d);
    kn_dim a, b;
    kni_dim_operands(d, &a, &b);
    switch (kind) {
    case KNI_DIM_SYMBOL:
        kni_text_string(t, kni_dim_name(d));
        return;
    case KNI_DIM_SUM:
        for (int i = 0, n = kni_dim_terms(d, terms); i < n; i++) print_term(t, &terms[i], i == 0);
        return;
    case KNI_DIM_QUOTIENT:
        kni_text_char(t, '(');
        print_part(t, a);
        kni_text_string(t, " / ");
        print_part(t, b);
        kni_text_char(t, ')');
        return;
    case KNI_DIM_MAXIMUM:
    case KNI_DIM_MINIMUM:
        kni_text_string(t, kind == KNI_DIM_MAXIMUM ? "max(" : "min(");
        kni_dim_print(t, a);
        kni_text_string(t, ", ");
        kni_dim_print(t, b);
        kni_text_char(t, ')');
        return;
    default:
        kni_text_int(t, d);
    }
}

/* ---- parsing */

typedef struct reader {
    const char *at;
    int depth;
} reader;

static kn_dim read_sum(reader *r);

static void skip(reader *r)
{
    while (*r->at == ' ') r->at++;
}

static bool accept(reader *r, char c)
{
    skip(r);
    if (*r->at != c) return false;
    r->at++;
    return true;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool kni_dim_is_name(const char *text)
{
    int n = 0;
    if (!is_letter(*text)) return false;
    while (is_letter(text[n]) || is_digit(text[n]) || text[n] == '.') n++;
    return !text[n] && n < KNI_DIM_NAME;
}

static kn_dim read_number(reader *r)
{
    int64_t value = 0;
    for (; is_digit(*r->at); r->at++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *r->at - '0', &value))
            return KNI_DIM_BAD;
    return value;
}

/* A symbol, or max(a, b) and min(a, b). */
static kn_dim read_name(reader *r)
{
    char name[KNI_DIM_NAME];
    int n = 0;
    for (; is_letter(*r->at) || is_digit(*r->at) || *r->at == '.'; r->at++) {
        if (n == KNI_DIM_NAME - 1) return KNI_DIM_BAD;
        name[n++] = *r->at;
    }
    name[n] = 0;
    bool extreme = n == 3 && name[0] == 'm' &&
                   ((name[1] == 'a' && name[2] == 'x') || (name[1] == 'i' && name[2] == 'n'));
    if (!extreme || !accept(r, '(')) return kni_dim_symbol(name, 1, INT64_MAX);
    kn_dim a = read_sum(r);
    if (!accept(r, ',')) return KNI_DIM_BAD;
    kn_dim b = read_sum(r);
    if (!accept(r, ')') || a == KNI_DIM_BAD || b == KNI_DIM_BAD) return KNI_DIM_BAD;
    return kni_dim_compute(name[1] == 'a' ? KNI_DIM_MAX : KNI_DIM_MIN, a, b);
}

static kn_dim read_part(reader *r)
{
    kn_dim d;
    bool minus = false;
    while (accept(r, '-')) minus = !minus;
    if (minus) return kni_dim_compute(KNI_DIM_SUB, 0, read_part(r));
    if (is_digit(*r->at)) return read_number(r);
    if (is_letter(*r->at)) return read_name(r);
    if (!accept(r, '(')) return KNI_DIM_BAD;
    d = read_sum(r);
    return accept(r, ')') ? d : KNI_DIM_BAD;
}

static kn_dim read_product(reader *r)
{
    kn_dim d = read_part(r);
    for (;;) {
        if (accept(r, '*'))
            d = kni_dim_compute(KNI_DIM_MUL, d, read_part(r));
        else if (accept(r, '/'))
            d = kni_dim_compute(KNI_DIM_DIV, d, read_part(r));
        else
            return d;
        if (d == KNI_DIM_BAD) return d;
    }
}

static kn_dim read_sum(reader *r)
{
    if (++r->depth > KNI_DIM_DEPTH) return KNI_DIM_BAD;
    kn_dim d = read_product(r);
    while (d != KNI_DIM_BAD) {
        if (accept(r, '+'))
            d = kni_dim_compute(KNI_DIM_ADD, d, read_product(r));
        else if (accept(r, '-'))
            d = kni_dim_compute(KNI_DIM_SUB, d, read_product(r));
        else
            break;
    }
    r->depth--;
    return d;
}

kn_dim kni_dim_parse_whole(const char **text)
{
    reader r = {*text, 0};
    kn_dim d = read_sum(&r);
    skip(&r);
    *text = r.at;
    return *r.at && *r.at != ',' ? KNI_DIM_BAD : d;
}

kn_dim kni_dim_parse(const char **text)
{
    kn_dim d = kni_dim_parse_whole(text);
    return kni_dim_is_size(d) ? d : KNI_DIM_BAD;
}

#endif
