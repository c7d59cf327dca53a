/* Sizes as C: the symbols as members of a struct, what is made of them as expressions, and where the struct gets its values from. */
#include "core/dim_symbols.h"
#include "core/error.h"
#include "program/source/source_parts.h"
#include <string.h>

static void print_sum(kni_source *s, kni_buffer *out, kn_dim d)
{
    kni_dim_term terms[KNI_DIM_TERMS];
    int n = kni_dim_terms(d, terms);
    if (n > 1) kni_buffer_text(out, "(");
    for (int i = 0; i < n; i++) {
        int64_t k = terms[i].coefficient;
        if (i || k < 0) kni_buffer_text(out, k < 0 ? (i ? " - " : "-") : " + ");
        uint64_t size = k < 0 ? 0 - (uint64_t)k : (uint64_t)k;
        bool one = size == 1 && terms[i].n_factors;
        if (!one) kni_buffer_decimal(out, (int64_t)size);
        for (int f = 0; f < terms[i].n_factors; f++) {
            if (f || !one) kni_buffer_text(out, " * ");
            kni_source_size(s, out, terms[i].factors[f]);
        }
    }
    if (n > 1) kni_buffer_text(out, ")");
}

/* The name of a size, which may have dots. */
void kni_source_symbol(kni_buffer *out, kn_dim d)
{
    for (const char *c = kni_dim_name(d); *c; c++) kni_buffer_format(out, "%c", *c == '.' ? '_' : *c);
}

/* ---- sizes with a name: a maximum of a minimum and the like is written once, and read as a member of the sizes */

/* Calls one in the other: how many, at most. */
static int depth_of(kn_dim d)
{
    if (!kni_dim_is_expression(d) || kni_dim_kind_of(d) == KNI_DIM_SYMBOL) return 0;
    int deepest = 0;
    if (kni_dim_kind_of(d) == KNI_DIM_SUM) {
        kni_dim_term terms[KNI_DIM_TERMS];
        int n = kni_dim_terms(d, terms);
        for (int i = 0; i < n; i++)
            for (int f = 0; f < terms[i].n_factors; f++) {
                int depth = depth_of(terms[i].factors[f]);
                if (depth > deepest) deepest = depth;
            }
        return deepest;
    }
    kn_dim a, b;
    kni_dim_operands(d, &a, &b);
    int left = depth_of(a), right = depth_of(b);
    return 1 + (left > right ? left : right);
}

/* Whether every divisor in it is above 0 whatever the inputs are: it is computed even where no op needs it. */
static bool can_divide(kn_dim d)
{
    if (!kni_dim_is_expression(d) || kni_dim_kind_of(d) == KNI_DIM_SYMBOL) return true;
    if (kni_dim_kind_of(d) == KNI_DIM_SUM) {
        kni_dim_term terms[KNI_DIM_TERMS];
        int n = kni_dim_terms(d, terms);
        for (int i = 0; i < n; i++)
            for (int f = 0; f < terms[i].n_factors; f++)
                if (!can_divide(terms[i].factors[f])) return false;
        return true;
    }
    kn_dim a, b;
    kni_dim_operands(d, &a, &b);
    return can_divide(a) && can_divide(b) && (kni_dim_kind_of(d) != KNI_DIM_QUOTIENT || kni_dim_low(b) > 0);
}

/* Whether the shapes of the inputs tell it. */
static bool is_known_at_once(const kni_source *s, kn_dim d)
{
    enum { MOST = 64 };
    kn_dim symbols[MOST];
    int32_t n = kni_dim_symbols(d, symbols, 0, MOST);
    if (n >= MOST) return false;
    for (int32_t i = 0; i < n; i++)
        if (kni_program_reads_size(s->p, symbols[i])) return false;
    return true;
}

/* The number of the size's name; -1: it has none. */
static int32_t number_of(kni_source *s, kn_dim d)
{
    for (int32_t i = 0; i < s->n_named; i++)
        if (s->named[i] == d) return i;
    if (depth_of(d) < 2 || kni_dim_kind_of(d) == KNI_DIM_SUM || !can_divide(d) || !is_known_at_once(s, d))
        return -1;
    if (s->n_named == s->room_named) {
        int32_t room = s->room_named ? 2 * s->room_named : 16;
        kn_dim *named = realloc(s->named, (size_t)room * sizeof *named);
        if (!named) return -1;
        s->named = named, s->room_named = room;
    }
    s->named[s->n_named] = d;
    return s->n_named++;
}

static bool is_symbol(const char *name)
{
    uint32_t at = 0;
    kn_dim d;
    while ((d = kni_dim_symbol_next(&at)) != KNI_DIM_BAD) {
        kni_buffer symbol = {0};
        kni_source_symbol(&symbol, d);
        bool same = !strcmp(kni_buffer_string(&symbol), name);
        kni_buffer_free(&symbol);
        if (same) return true;
    }
    return false;
}

/* "size_1", or longer where a symbol is called so. */
static void print_name(kni_buffer *out, int32_t number)
{
    char name[KNI_DIM_NAME + 24];
    size_t n = (size_t)snprintf(name, sizeof name, "size_%d", (int)number + 1);
    for (; n + 1 < sizeof name && is_symbol(name); n++) {
        name[n] = '_';
        name[n + 1] = 0;
    }
    kni_buffer_text(out, name);
}

void kni_source_free_sizes(kni_source *s)
{
    free(s->named);
    s->named = NULL;
}

/* ---- sizes as expressions */

void kni_source_size(kni_source *s, kni_buffer *out, kn_dim d)
{
    static const struct {
        const char *name;
        kni_source_helper helper;
    } calls[] = {[KNI_DIM_QUOTIENT] = {"divided(", KNI_SOURCE_DIVIDED},
                 [KNI_DIM_MAXIMUM] = {"larger(", KNI_SOURCE_LARGER},
                 [KNI_DIM_MINIMUM] = {"smaller(", KNI_SOURCE_SMALLER}};
    if (!kni_dim_is_expression(d)) {
        if (d == INT64_MAX)
            kni_buffer_text(out, "KN_END");
        else
            kni_buffer_decimal(out, d);
        return;
    }
    kni_dim_kind kind = kni_dim_kind_of(d);
    int32_t number = s->spelled_out ? -1 : number_of(s, d);
    if (kind == KNI_DIM_SYMBOL) {
        kni_buffer_format(out, "%s", s->spelled_out ? "sizes." : "n->");
        kni_source_symbol(out, d);
    } else if (kind == KNI_DIM_SUM) {
        print_sum(s, out, d);
    } else if (number >= 0) {
        kni_buffer_text(out, "n->");
        print_name(out, number);
    } else {
        kn_dim a, b;
        kni_dim_operands(d, &a, &b);
        s->helpers[calls[kind].helper] = true;
        kni_buffer_text(out, calls[kind].name);
        kni_source_size(s, out, a);
        kni_buffer_text(out, ", ");
        kni_source_size(s, out, b);
        kni_buffer_text(out, ")");
    }
}

/* ---- their struct */

/* Whether a size is d itself, or a n + b with whole a above 0. */
static bool is_linear(kn_dim size, kn_dim symbol, int64_t *a, int64_t *b)
{
    kni_dim_term terms[KNI_DIM_TERMS];
    *a = 1, *b = 0;
    if (size == symbol) return true;
    if (!kni_dim_is_expression(size) || kni_dim_kind_of(size) != KNI_DIM_SUM) return false;
    int n = kni_dim_terms(size, terms);
    *a = 0;
    for (int i = 0; i < n; i++) {
        if (terms[i].n_factors == 0)
            *b = terms[i].coefficient;
        else if (terms[i].n_factors == 1 && terms[i].factors[0] == symbol && !*a)
            *a = terms[i].coefficient;
        else
            return false;
    }
    return *a > 0;
}

kn_status kni_source_print_sizes_found(kni_source *s, kni_buffer *out)
{
    const kni_program *p = s->p;
    uint32_t at = 0;
    kn_dim d;
    while ((d = kni_dim_symbol_next(&at)) != KNI_DIM_BAD) {
        int64_t a = 0, b = 0;
        int32_t input = -1, axis = 0;
        if (kni_program_reads_size(p, d)) continue;
        for (int pass = 0; pass < 2 && input < 0; pass++)
            for (int32_t i = 0; i < p->n_inputs && input < 0; i++) {
                const kni_type *t = p->inputs[i] < 0 ? NULL : &p->values[p->inputs[i]].type;
                for (axis = 0; t && axis < t->rank; axis++)
                    if (is_linear(t->dims[axis], d, &a, &b) && (pass || (a == 1 && b == 0))) break;
                if (t && axis < t->rank) input = p->inputs[i];
                if (input >= 0) break;
            }
        if (input < 0)
            return kni_fail(KN_ERROR_UNSUPPORTED,
                            "kn_program_to_source: no input tells the size '%s' by itself", kni_dim_name(d));
        kni_buffer_text(out, "    sizes.");
        kni_source_symbol(out, d);
        if (a == 1 && b == 0)
            kni_buffer_format(out, " = kn_size(%s, %d);\n", s->values[input].name, (int)axis);
        else
            kni_buffer_format(out, " = (kn_size(%s, %d) - (%lld)) / %lld;\n", s->values[input].name,
                              (int)axis, (long long)b, (long long)a);
    }
    s->spelled_out = true;
    for (int32_t i = 0; i < s->n_named; i++) {
        kni_buffer_text(out, "    sizes.");
        print_name(out, i);
        kni_buffer_text(out, " = ");
        kni_source_size(s, out, s->named[i]);
        kni_buffer_text(out, ";\n");
    }
    s->spelled_out = false;
    return KN_OK;
}

void kni_source_print_sizes(kni_source *s, kni_buffer *out)
{
    if (!s->n_sizes) return;
    uint32_t at = 0;
    kn_dim d;
    kni_buffer_format(out, "/* Sizes that are known when it runs. */\ntypedef struct %s_sizes {\n", s->name);
    while ((d = kni_dim_symbol_next(&at)) != KNI_DIM_BAD) {
        kni_buffer_text(out, "    int64_t ");
        kni_source_symbol(out, d);
        kni_buffer_text(out, ";\n");
    }
    for (int32_t i = 0; i < s->n_named; i++) {
        kni_buffer_text(out, "    int64_t ");
        print_name(out, i);
        kni_buffer_text(out, ";\n");
    }
    kni_buffer_format(out, "} %s_sizes;\n\n", s->name);
}
