/* Rows by their bodies: a formula over elements, or over lines of them, becomes loops of C that call the words of the prelude. What
   belongs to a line is computed once for it; what belongs to an element is computed in each loop that needs it. */
#include "core/allocator.h"
#include "core/error.h"
#include "core/text.h"
#include "ir/emitter.h"
#include "ops/body_tree.h"
#include "ops/line.h"
#include "program/to_c.h"
#include <string.h>

enum { WHOLE = KNI_GIVES_NUMBER + 1 };

typedef struct printer {
    kni_c *c;
    const kni_program_node *node;
    const kn_op *row;
    const kni_body *body;
    kni_body_tree tree;
    const kni_type *in[KNI_BODY_OPERANDS], *out[KNI_BODY_OPERANDS];
    int n_in, n_out;
    _Alignas(8) char attributes[KNI_C_ATTRIBUTES];
    kni_body_number numbers[KNI_BODY_NUMBERS]; /* of a body that makes its own */
    uint32_t choices, truths;                  /* truths: operands that are read as such */
    int dtype;                                 /* what values are computed in */
    int common;                                /* what operands of an elementwise row are rounded to */
    bool needed[KNI_BODY_MAX_STEPS], whole[KNI_BODY_MAX_STEPS];
    bool spread[KNI_BODY_OPERANDS]; /* operands with places of their own: a0, a1 ... */
    bool reports;
    kni_ir_text text, numbers_text; /* the kernel, and what it is called with */
    int n_numbers, indent;
} printer;

static const char *suffix(const printer *k) { return kni_dtypes[k->dtype].name; }

static const char *type_name(const printer *k, int i)
{
    int gives = k->tree.nodes[i].gives;
    if (gives == KNI_GIVES_NUMBER) return k->whole[i] ? "int64_t" : "double";
    return gives == KNI_GIVES_TRUTH   ? "int"
           : gives == KNI_GIVES_INDEX ? "int64_t"
                                      : kni_dialect_value_type(k->dtype);
}

static void line(printer *k)
{
    for (int i = 0; i < k->indent; i++) kni_ir_text_add(&k->text, "    ");
}

/* A number of the call; the place of it in n[]. */
static int push(printer *k, kn_dim d)
{
    if (k->n_numbers) kni_ir_text_add(&k->numbers_text, ", ");
    kni_c_dim(&k->numbers_text, d);
    return k->n_numbers++;
}

/* The name of a function of the prelude, which the text calls. */
static void function(printer *k, const char *first, const char *second, const char *third)
{
    kni_ir_text name = {0};
    kni_ir_text_add(&name, "%s_%s_%s", first, second, third);
    if (name.data) kni_c_uses(k->c, name.data);
    kni_ir_text_add(&k->text, "%s", name.data ? name.data : "");
    if (name.failed) k->text.failed = true;
    kni_ir_text_free(&name);
}

/* ---- values */

static void real(printer *k, double v)
{
    if (v != v)
        kni_ir_text_add(&k->text, "KNI_NAN_F64");
    else if (v - v != 0)
        kni_ir_text_add(&k->text, v < 0 ? "-KNI_INF_F64" : "KNI_INF_F64");
    else
        kni_ir_text_add(&k->text, "%r", v);
}

static void whole(printer *k, int64_t v)
{
    if (v == INT64_MIN)
        kni_ir_text_add(&k->text, "(-9223372036854775807LL - 1)");
    else
        kni_ir_text_add(&k->text, "%lldLL", (long long)v);
}

/* Node i as `gives`; numbers become what they stand beside. */
static void use(printer *k, int i, int gives)
{
    if (k->tree.nodes[i].gives != KNI_GIVES_NUMBER) {
        kni_ir_text_add(&k->text, "v%d", i);
        return;
    }
    const char *to = gives == KNI_GIVES_VALUE                     ? kni_dialect_value_type(k->dtype)
                     : gives == KNI_GIVES_INDEX || gives == WHOLE ? "int64_t"
                                                                  : "double";
    if (!strcmp(to, k->whole[i] ? "int64_t" : "double"))
        kni_ir_text_add(&k->text, "v%d", i);
    else
        kni_ir_text_add(&k->text, "(%s)v%d", to, i);
}

static void scalar(printer *k, int i)
{
    const kni_step *s = &k->tree.nodes[i].step;
    kni_body_number n = s->kind == KNI_STEP_CONSTANT ? kni_body_real(s->value)
                        : k->body->numbers
                            ? k->numbers[s->index]
                            : kni_body_attribute(&kni_schema_of(k->row)[s->index], k->attributes);
    if (k->whole[i] && s->kind == KNI_STEP_PARAM && kni_dim_is_expression(n.whole))
        kni_c_dim(&k->text, n.whole);
    else if (k->whole[i])
        whole(k, n.whole);
    else
        real(k, n.real);
}

/* An element of an operand, as the body reads it. */
static void load(printer *k, int i)
{
    const kni_body_node *n = &k->tree.nodes[i];
    int x = n->step.index;
    static const char *const places[] = {"0", "line", "k", "at"};
    uint8_t bits = k->body->operands ? k->body->operands[x] : 0;
    if (!k->in[x]) {
        kni_ir_text_add(&k->text, "%d", bits & KNI_OPERAND_ONE ? 1 : 0);
        return;
    }
    char place[16];
    kni_text p = {place, sizeof place, 0};
    if (k->spread[x])
        kni_text_format(&p, "a%d", x);
    else
        kni_text_string(&p, places[n->level]);
    int from = k->in[x]->dtype, to = n->gives == KNI_GIVES_INDEX ? KN_I64 : k->dtype;
    if (n->gives == KNI_GIVES_TRUTH && !kni_is_half(from)) {
        kni_ir_text_add(&k->text, "x%d[%s] != 0", x, place);
        return;
    }
    int via = n->gives == KNI_GIVES_VALUE && k->common ? kni_rounds_to(k->in[x], k->common, to) : 0;
    if (via)
        function(k, "kni_cast", kni_dtypes[to].name, kni_dtypes[via].name), kni_ir_text_add(&k->text, "(");
    if (from != (via ? via : to)) {
        function(k, "kni_cast", kni_dtypes[via ? via : to].name, kni_dtypes[from].name);
        kni_ir_text_add(&k->text, "(x%d[%s])", x, place);
    } else {
        kni_ir_text_add(&k->text, "x%d[%s]", x, place);
    }
    if (via) kni_ir_text_add(&k->text, ")");
    if (n->gives == KNI_GIVES_TRUTH) kni_ir_text_add(&k->text, " != 0");
}

static void word(printer *k, int i)
{
    const kni_body_node *n = &k->tree.nodes[i];
    const kni_word *w = kni_word_at(n->step.index);
    int gives = KNI_GIVES_NUMBER;
    bool integers = true;
    for (int j = 0; j < n->n_in; j++) {
        integers &= k->whole[n->in[j]];
        if (k->tree.nodes[n->in[j]].gives != KNI_GIVES_NUMBER) gives = k->tree.nodes[n->in[j]].gives;
    }
    if (gives == KNI_GIVES_NUMBER && integers && (w->truth || k->whole[i])) gives = WHOLE;
    if (gives == KNI_GIVES_NUMBER && k->whole[i]) kni_ir_text_add(&k->text, "(int64_t)");
    function(k, "kni_word", w->name,
             gives == KNI_GIVES_VALUE    ? suffix(k)
             : gives == KNI_GIVES_NUMBER ? "f64"
                                         : "i64");
    kni_ir_text_add(&k->text, "(");
    for (int j = 0; j < n->n_in; j++) {
        if (j) kni_ir_text_add(&k->text, ", ");
        use(k, n->in[j], gives);
    }
    kni_ir_text_add(&k->text, ")");
}

static void choose(printer *k, int i)
{
    const kni_body_node *n = &k->tree.nodes[i];
    int gives = n->gives == KNI_GIVES_NUMBER && k->whole[i] ? WHOLE : n->gives;
    use(k, n->in[0], KNI_GIVES_TRUTH);
    kni_ir_text_add(&k->text, " ? ");
    use(k, n->in[1], gives);
    kni_ir_text_add(&k->text, " : ");
    use(k, n->in[2], gives);
}

static void combine(printer *k, int i)
{
    const kni_body_node *n = &k->tree.nodes[i];
    const char *between = n->step.kind == KNI_STEP_AND ? " & " : n->step.kind == KNI_STEP_OR ? " | " : " ^ ";
    if (n->step.kind == KNI_STEP_NOT) kni_ir_text_add(&k->text, "!");
    use(k, n->in[0], KNI_GIVES_TRUTH);
    if (n->n_in < 2) return;
    kni_ir_text_add(&k->text, "%s", between);
    use(k, n->in[1], KNI_GIVES_TRUTH);
}

/* What stands behind the name of node i. */
static void value(printer *k, int i)
{
    const kni_body_node *n = &k->tree.nodes[i];
    switch (n->step.kind) {
    case KNI_STEP_INPUT:
        load(k, i);
        break;
    case KNI_STEP_PARAM:
    case KNI_STEP_CONSTANT:
        scalar(k, i);
        break;
    case KNI_STEP_ELEMENT:
        kni_ir_text_add(&k->text, k->whole[i] ? "at" : "(double)at");
        break;
    case KNI_STEP_PLACE:
        kni_ir_text_add(&k->text, "k");
        break;
    case KNI_STEP_LENGTH:
        kni_ir_text_add(&k->text, k->whole[i] ? "width" : "(double)width");
        break;
    case KNI_STEP_HAS:
        kni_ir_text_add(&k->text, "%d", k->in[n->step.index] ? 1 : 0);
        break;
    case KNI_STEP_CHOICE:
        kni_ir_text_add(&k->text, "%d", (int)(k->choices >> n->step.index & 1));
        break;
    case KNI_STEP_REAL:
        kni_ir_text_add(&k->text, "(%s)", kni_dialect_value_type(k->dtype));
        use(k, n->in[0], KNI_GIVES_INDEX);
        break;
    case KNI_STEP_EXPN:
        function(k, "kni_word", "exp", suffix(k));
        kni_ir_text_add(&k->text, "(");
        use(k, n->in[0], KNI_GIVES_VALUE);
        kni_ir_text_add(&k->text, ")");
        break;
    case KNI_STEP_SELECT:
        choose(k, i);
        break;
    case KNI_STEP_AND:
    case KNI_STEP_OR:
    case KNI_STEP_XOR:
    case KNI_STEP_NOT:
        combine(k, i);
        break;
    default:
        word(k, i);
        break;
    }
}

/* ---- statements */

static bool is_in_line(const printer *k, int i) { return !(k->tree.nodes[i].level & KNI_LEVEL_PLACE); }

/* Marks the nodes of an element that node i needs. */
static void mark(const printer *k, int i, bool *marks)
{
    const kni_body_node *n = &k->tree.nodes[i];
    if (is_in_line(k, i) || marks[i]) return;
    marks[i] = true;
    for (int j = n->step.kind == KNI_STEP_AT; j < n->n_in; j++) mark(k, n->in[j], marks);
}

static void statement(printer *k, int i);

static void statements(printer *k, const bool *marks)
{
    for (int i = 0; i < k->tree.n; i++)
        if (marks[i]) statement(k, i);
}

/* The value of node i, at place k of the line, and all it needs there. */
static void element(printer *k, int i)
{
    bool marks[KNI_BODY_MAX_STEPS] = {false};
    line(k);
    kni_ir_text_add(&k->text, "const int64_t at = PLACE;\n");
    line(k);
    kni_ir_text_add(&k->text, "(void)at;\n");
    mark(k, i, marks);
    statements(k, marks);
}

static void open_block(printer *k, const char *text)
{
    line(k);
    kni_ir_text_add(&k->text, "%s{\n", text);
    k->indent++;
}

static void close_block(printer *k)
{
    k->indent--;
    line(k);
    kni_ir_text_add(&k->text, "}\n");
}

static void read_at(printer *k, int i)
{
    const kni_body_node *n = &k->tree.nodes[i];
    line(k);
    kni_ir_text_add(&k->text, "%s v%d = 0;\n", type_name(k, i), i);
    open_block(k, "");
    line(k);
    kni_ir_text_add(&k->text, "const int64_t t = ");
    use(k, n->in[1], KNI_GIVES_INDEX);
    kni_ir_text_add(&k->text, ";\n");
    open_block(k, "if (t >= 0 && t < width) ");
    line(k);
    kni_ir_text_add(&k->text, "const int64_t k = t;\n");
    element(k, n->in[0]);
    line(k);
    kni_ir_text_add(&k->text, "v%d = ", i);
    use(k, n->in[0], n->gives);
    kni_ir_text_add(&k->text, ";\n");
    close_block(k);
    close_block(k);
}

static void require(printer *k, int i)
{
    const kni_body_node *n = &k->tree.nodes[i];
    line(k);
    kni_ir_text_add(&k->text, "const int64_t v%d = ", i);
    use(k, n->in[1], KNI_GIVES_INDEX);
    kni_ir_text_add(&k->text, ";\n");
    line(k);
    kni_ir_text_add(&k->text, "if (!");
    use(k, n->in[0], KNI_GIVES_TRUTH);
    kni_ir_text_add(&k->text, ") kni_report(kiln_fault, v%d);\n", i);
    k->reports = true;
}

/* ---- line words: before the loop, in each turn, behind it. N is the node's name, V the value of the turn, T its type. */

typedef struct reduction {
    const char *before, *turn, *behind;
} reduction;

/* Sums of floats in parts, so that long ones keep their digits. */
static const reduction float_words[KNI_LINE_WORDS] = {
    [KNI_LINE_SUM] = {"T N = 0, N_part = 0;", "N_part += V; if ((k & 31) == 31) N += N_part, N_part = 0;",
                      "N += N_part;"},
    [KNI_LINE_MEAN] = {"T N = 0, N_part = 0;", "N_part += V; if ((k & 31) == 31) N += N_part, N_part = 0;",
                       "N = (N + N_part) / (T)width;"},
    [KNI_LINE_HIGHEST] = {"T N = -INF;", "if (k == 0 || V > N || V != V) N = V;", ""},
    [KNI_LINE_LOWEST] = {"T N = INF;", "if (k == 0 || V < N || V != V) N = V;", ""},
    [KNI_LINE_TOP] = {"T N = -INF;", "if (V > N) N = V;", ""},
    [KNI_LINE_PROD] = {"T N = 1; int N_zero = 0, N_finite = 1;",
                       "N *= V; N_zero |= V == 0; N_finite &= V - V == 0;", "if (N_zero && N_finite) N = 0;"},
    [KNI_LINE_ANY] = {"int N = 0;", "N |= V;", ""},
    [KNI_LINE_ALL] = {"int N = 1;", "N &= V;", ""},
    [KNI_LINE_ARGMAX] = {"int64_t N = 0; T N_best = 0;",
                         "if (k == 0 || V > N_best || (V != V && N_best == N_best)) N = k, N_best = V;", ""},
    [KNI_LINE_ARGMIN] = {"int64_t N = 0; T N_best = 0;",
                         "if (k == 0 || V < N_best || (V != V && N_best == N_best)) N = k, N_best = V;", ""},
};
/* Integers wrap, signed ones as unsigned. */
static const reduction integer_words[KNI_LINE_WORDS] = {
    [KNI_LINE_SUM] = {"T N = 0;", "N = (T)((uint64_t)N + (uint64_t)V);", ""},
    [KNI_LINE_HIGHEST] = {"T N = LOWEST;", "if (k == 0 || V > N) N = V;", ""},
    [KNI_LINE_LOWEST] = {"T N = HIGHEST;", "if (k == 0 || V < N) N = V;", ""},
    [KNI_LINE_TOP] = {"T N = LOWEST;", "if (V > N) N = V;", ""},
    [KNI_LINE_PROD] = {"T N = 1;", "N = (T)((uint64_t)N * (uint64_t)V);", ""},
    [KNI_LINE_ANY] = {"int N = 0;", "N |= V;", ""},
    [KNI_LINE_ALL] = {"int N = 1;", "N &= V;", ""},
    [KNI_LINE_ARGMAX] = {"int64_t N = 0; T N_best = 0;", "if (k == 0 || V > N_best) N = k, N_best = V;", ""},
    [KNI_LINE_ARGMIN] = {"int64_t N = 0; T N_best = 0;", "if (k == 0 || V < N_best) N = k, N_best = V;", ""},
};

static void replace_word(printer *k, const char *name, size_t n, int node, int operand, int gives)
{
    static const char *const ends[][2] = {{"(-9223372036854775807LL - 1)", "9223372036854775807LL"},
                                          {"0ULL", "18446744073709551615ULL"}};
    bool is_unsigned = k->dtype == KN_U64;
    if (n == 1 && *name == 'T')
        kni_ir_text_add(&k->text, "%s", kni_dialect_value_type(k->dtype));
    else if (n == 1 && *name == 'V')
        use(k, operand, gives);
    else if (n == 3 && !memcmp(name, "INF", 3))
        kni_ir_text_add(&k->text, k->dtype == KN_F64 ? "KNI_INF_F64" : "KNI_INF_F32");
    else if (n == 6 && !memcmp(name, "LOWEST", 6))
        kni_ir_text_add(&k->text, "%s", ends[is_unsigned][0]);
    else if (n == 7 && !memcmp(name, "HIGHEST", 7))
        kni_ir_text_add(&k->text, "%s", ends[is_unsigned][1]);
    else if (*name == 'N' && (n == 1 || name[1] == '_')) {
        kni_ir_text_add(&k->text, "v%d", node);
        for (size_t i = 1; i < n; i++) kni_ir_text_add(&k->text, "%c", name[i]);
    } else
        for (size_t i = 0; i < n; i++) kni_ir_text_add(&k->text, "%c", name[i]);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
}

static void template_text(printer *k, const char *text, int node, int operand, int gives)
{
    if (!*text) return;
    line(k);
    while (*text) {
        size_t n = 0;
        while (is_letter(text[n])) n++;
        if (n)
            replace_word(k, text, n, node, operand, gives);
        else
            kni_ir_text_add(&k->text, "%c", *text);
        text += n ? n : 1;
    }
    kni_ir_text_add(&k->text, "\n");
}

static void reduce(printer *k, int i)
{
    const kni_body_node *n = &k->tree.nodes[i];
    const reduction *r = &(kni_is_float(k->dtype) ? float_words : integer_words)[n->step.index];
    int gives = n->gives == KNI_GIVES_TRUTH ? KNI_GIVES_TRUTH : KNI_GIVES_VALUE;
    template_text(k, r->before, i, n->in[0], gives);
    open_block(k, "for (int64_t k = 0; k < width; k++) ");
    element(k, n->in[0]);
    template_text(k, r->turn, i, n->in[0], gives);
    close_block(k);
    template_text(k, r->behind, i, n->in[0], gives);
}

static void statement(printer *k, int i)
{
    int kind = k->tree.nodes[i].step.kind;
    if (kind == KNI_STEP_LINE)
        reduce(k, i);
    else if (kind == KNI_STEP_AT)
        read_at(k, i);
    else if (kind == KNI_STEP_REQUIRE)
        require(k, i);
    else {
        line(k);
        kni_ir_text_add(&k->text, "const %s v%d = ", type_name(k, i), i);
        value(k, i);
        kni_ir_text_add(&k->text, ";\n");
    }
}

/* ---- results */

static int result_level(const printer *k, int result)
{
    return k->body->operands ? k->body->operands[k->body->n_in + result] & KNI_OPERAND_LEVEL
                             : KNI_LEVEL_ELEMENT;
}

/* An update of an operand that is absent is written by nobody. */
static bool is_written(const printer *k, int result)
{
    int replaced = kni_body_replaces(k->body, result);
    return replaced < 0 || (replaced < k->n_in && k->in[replaced]);
}

static void store(printer *k, int result)
{
    static const char *const places[] = {"0", "line", "k", "at"};
    int i = k->tree.results[result], to = k->out[result]->dtype, gives = k->tree.nodes[i].gives;
    int from = gives == KNI_GIVES_TRUTH || gives == KNI_GIVES_INDEX ? KN_I64 : k->dtype;
    line(k);
    kni_ir_text_add(&k->text, "y%d[%s] = ", result, places[result_level(k, result)]);
    if (from != to) {
        /* Reals become integers of 64 bits, and those the dtype's. */
        bool twice = kni_is_float(from) && !kni_is_float(to) && !kni_is_bool(to) && to != KN_I64;
        function(k, "kni_cast", kni_dtypes[to].name, twice ? "i64" : kni_dtypes[from].name);
        kni_ir_text_add(&k->text, "(");
        if (twice) function(k, "kni_cast", "i64", kni_dtypes[from].name), kni_ir_text_add(&k->text, "(");
        use(k, i, from == KN_I64 && gives != KNI_GIVES_NUMBER ? KNI_GIVES_INDEX : KNI_GIVES_VALUE);
        kni_ir_text_add(&k->text, twice ? "))" : ")");
    } else {
        use(k, i, gives == KNI_GIVES_NUMBER ? KNI_GIVES_VALUE : gives);
    }
    kni_ir_text_add(&k->text, ";\n");
}

/* All results of a line: first what it has one of, then what its elements have. */
static void line_results(printer *k)
{
    bool marks[KNI_BODY_MAX_STEPS] = {false}, any = false;
    for (int i = 0; i < k->tree.n; i++)
        if (k->needed[i] && is_in_line(k, i)) statement(k, i);
    for (int r = 0; r < k->n_out; r++) {
        if (!is_written(k, r)) continue;
        if (result_level(k, r) & KNI_LEVEL_PLACE)
            any = true, mark(k, k->tree.results[r], marks);
        else
            store(k, r);
    }
    if (!any) return;
    open_block(k, "for (int64_t k = 0; k < width; k++) ");
    line(k);
    kni_ir_text_add(&k->text, "const int64_t at = PLACE;\n");
    line(k);
    kni_ir_text_add(&k->text, "(void)at;\n");
    statements(k, marks);
    for (int r = 0; r < k->n_out; r++)
        if (is_written(k, r) && result_level(k, r) & KNI_LEVEL_PLACE) store(k, r);
    close_block(k);
}

/* ---- kernels */

static void pointers(printer *k)
{
    for (int i = 0; i < k->n_in; i++) {
        if (!k->in[i]) continue;
        line(k);
        kni_ir_text_add(&k->text, "const %s *x%d = b[%d];\n", kni_dialect_storage_type(k->in[i]->dtype), i,
                        i);
    }
    for (int i = 0; i < k->n_out; i++) {
        if (!is_written(k, i)) continue;
        line(k);
        kni_ir_text_add(&k->text, "%s *y%d = b[%d];\n", kni_dialect_storage_type(k->out[i]->dtype), i,
                        k->n_in + i);
    }
    for (int i = 0; i < k->n_in; i++) {
        if (!k->in[i]) continue;
        line(k);
        kni_ir_text_add(&k->text, "(void)x%d;\n", i);
    }
}

/* Whether the operand is the same shape as the results, one element for all, or repeated along some axes. */
static bool is_spread(const kni_type *x, const kni_type *y)
{
    if (x->rank != y->rank) return true;
    for (int a = 0; a < x->rank; a++)
        if (x->dims[a] != y->dims[a]) return true;
    return false;
}

/* Pushes how far the operand goes on along each axis of the result; 0 where it is repeated. */
static void push_steps(printer *k, const kni_type *x, const kni_type *y)
{
    for (int a = 0; a < y->rank; a++) {
        int own = a - (y->rank - x->rank);
        kn_dim step = own < 0 ? 0 : kni_c_product(x, own + 1, x->rank);
        bool equal = own >= 0 && x->dims[own] == y->dims[a];
        if (own < 0 || (!equal && x->dims[own] == 1) || kni_dim_is_constant(x->dims[own]) || equal) {
            push(k, !equal && own >= 0 && x->dims[own] == 1 ? 0 : step);
            continue;
        }
        /* Whether it is repeated is known when the program runs. */
        if (k->n_numbers++) kni_ir_text_add(&k->numbers_text, ", ");
        kni_ir_text_add(&k->numbers_text, "(");
        kni_c_dim(&k->numbers_text, x->dims[own]);
        kni_ir_text_add(&k->numbers_text, " == 1 ? 0 : ");
        kni_c_dim(&k->numbers_text, step);
        kni_ir_text_add(&k->numbers_text, ")");
    }
}

/* Operands of other shapes: one loop for each axis of the result. */
static void spread_kernel(printer *k)
{
    const kni_type *y = k->out[0];
    int first[KNI_BODY_OPERANDS];
    bool marks[KNI_BODY_MAX_STEPS] = {false};
    for (int a = 0; a < y->rank; a++) push(k, y->dims[a]);
    for (int i = 0; i < k->n_in; i++) {
        first[i] = k->n_numbers;
        if (k->spread[i]) push_steps(k, k->in[i], y);
    }
    line(k);
    kni_ir_text_add(&k->text, "int64_t at = 0;\n");
    for (int i = 0; i < k->tree.n; i++)
        if (k->needed[i] && is_in_line(k, i)) statement(k, i);
    for (int a = 0; a < y->rank; a++) {
        line(k);
        kni_ir_text_add(&k->text, "for (int64_t i%d = 0; i%d < n[%d]; i%d++)\n", a, a, a, a);
    }
    open_block(k, "");
    for (int i = 0; i < k->n_in; i++) {
        if (!k->spread[i]) continue;
        line(k);
        kni_ir_text_add(&k->text, "const int64_t a%d = ", i);
        for (int a = 0; a < y->rank; a++)
            kni_ir_text_add(&k->text, a ? " + i%d * n[%d]" : "i%d * n[%d]", a, first[i] + a);
        kni_ir_text_add(&k->text, y->rank ? ";\n" : "0;\n");
    }
    for (int r = 0; r < k->n_out; r++) mark(k, k->tree.results[r], marks);
    statements(k, marks);
    for (int r = 0; r < k->n_out; r++) store(k, r);
    line(k);
    kni_ir_text_add(&k->text, "at++;\n");
    close_block(k);
}

/* Places of indices over the axes of a group: those of a line, or those that lines are counted along. */
static void places(printer *k, const kni_type *shape, uint32_t axes, bool of_line, const char *index)
{
    bool any = false;
    for (int a = shape->rank; a-- > 0;) {
        int last = a + 1;
        if ((axes >> a & 1) != of_line) continue;
        while (a > 0 && (axes >> (a - 1) & 1) == of_line) a--;
        /* Axes a .. last - 1 are one. */
        bool first = true;
        for (int o = 0; o < a; o++) first &= (axes >> o & 1) != of_line;
        int stride = push(k, kni_c_product(shape, last, shape->rank));
        int size = first ? 0 : push(k, kni_c_product(shape, a, last));
        if (any) kni_ir_text_add(&k->text, " + ");
        if (first)
            kni_ir_text_add(&k->text, "%s * n[%d]", index, stride);
        else
            kni_ir_text_add(&k->text, "%s %% n[%d] * n[%d]", index, size, stride);
        any = true;
        if (first) return;
        /* What is left of the index goes to the axes before. */
        int keep = size;
        kni_ir_text rest = {0};
        kni_ir_text_add(&rest, "(%s / n[%d])", index, keep);
        kni_ir_text_add(&k->text, " + ");
        uint32_t left = of_line ? axes & ((1u << a) - 1) : axes | ~((1u << a) - 1);
        places(k, shape, left, of_line, rest.data ? rest.data : "");
        kni_ir_text_free(&rest);
        return;
    }
    if (!any) kni_ir_text_add(&k->text, "0");
}

static void line_kernel(printer *k, const kni_type *shape, uint32_t axes)
{
    kn_dim lines = 1, width = 1;
    for (int a = 0; a < shape->rank; a++) {
        kn_dim *d = axes >> a & 1 ? &width : &lines;
        *d = kni_dim_mul(*d, shape->dims[a]);
    }
    kni_ir_text_add(&k->text, "    const int64_t lines = n[%d], width = n[%d];\n", push(k, lines),
                    push(k, width));
    line(k);
    kni_ir_text_add(&k->text, "(void)width;\n");
    open_block(k, "for (int64_t line = 0; line < lines; line++) ");
    line(k);
    kni_ir_text_add(&k->text, "const int64_t first = ");
    places(k, shape, axes, false, "line");
    kni_ir_text_add(&k->text, ";\n");
    line(k);
    kni_ir_text_add(&k->text, "(void)first;\n");
    /* The place of element k is said once, and the text names it wherever it is needed. */
    kni_ir_text body = k->text, place = {0};
    k->text = place;
    places(k, shape, axes, true, "k");
    place = k->text;
    k->text = body;
    kni_ir_text_add(&k->text, "#define PLACE (first + %s)\n", place.data ? place.data : "0");
    kni_ir_text_free(&place);
    line_results(k);
    close_block(k);
    kni_ir_text_add(&k->text, "#undef PLACE\n");
}

/* One element after the other. */
static void plain_kernel(printer *k)
{
    kn_dim count = kni_c_product(k->out[0], 0, k->out[0]->rank);
    kni_ir_text_add(&k->text, "    const int64_t width = n[%d];\n#define PLACE k\n", push(k, count));
    line_results(k);
    kni_ir_text_add(&k->text, "#undef PLACE\n");
}

/* ---- what is printed */

static kn_status refuse(const printer *k, const char *why)
{
    return kni_fail_op(KN_ERROR_UNSUPPORTED, k->row->name, "it has no freestanding form: %s", why);
}

static kn_status find_needed(printer *k)
{
    kni_body_settle(&k->tree, k->n_out, UINT32_MAX, k->choices);
    for (int r = 0; r < k->n_out; r++)
        if (is_written(k, r)) k->needed[k->tree.results[r]] = true;
    for (int i = k->tree.n; i-- > 0;) {
        kni_body_node *n = &k->tree.nodes[i];
        k->whole[i] = n->gives == KNI_GIVES_NUMBER &&
                      kni_body_is_whole(&k->tree, k->body->numbers ? NULL : kni_schema_of(k->row), i);
        for (int j = 0; j < n->n_in && k->needed[i]; j++) k->needed[n->in[j]] = true;
        if (!k->needed[i]) continue;
        if (n->step.kind == KNI_STEP_DRAW) return refuse(k, "it draws random numbers");
        if (n->step.kind == KNI_STEP_LINE && n->step.index == KNI_LINE_DOWN)
            return refuse(k, "it sums over all lines");
    }
    return KN_OK;
}

static void set_dtypes(printer *k, const kni_type *shape)
{
    int n = k->n_in > 4 ? 4 : k->n_in;
    if (kni_is_pointwise(k->row)) {
        k->truths = k->row->rule == KNI_RULE_SELECT ? 1 : 0;
        k->common = k->row->rule != KNI_RULE_COMPARE
                        ? k->out[0]->dtype
                        : kni_operand_dtype(k->row, k->in, k->row->rule == KNI_RULE_SELECT, n);
        k->dtype = kni_compute_dtype[kni_compute_of[k->common]];
        return;
    }
    bool wide = k->row->sums == KNI_SUMS_WIDE || k->row->sums == KNI_SUMS_REAL;
    k->dtype = kni_compute_dtype[kni_compute_of[shape->dtype]];
    if (k->row->sums == KNI_SUMS_REAL || (wide && kni_is_float(shape->dtype)))
        k->dtype = KN_F64;
    else if (k->dtype == KN_I32)
        k->dtype = KN_I64;
}

static kn_status print_kernel(printer *k)
{
    const kn_op *row = k->row;
    bool spread = false, lines = row->line.axes && !kni_is_pointwise(row);
    const kni_type *shape = lines ? k->in[row->line.operand] : k->out[0];
    if (!shape) return refuse(k, "the operand that it goes along is absent");
    set_dtypes(k, shape);
    kni_body_tree_of(k->body, &k->tree);
    for (int i = 0; i < k->tree.n; i++)
        if (k->tree.nodes[i].step.kind == KNI_STEP_INPUT && k->truths >> k->tree.nodes[i].step.index & 1)
            k->tree.nodes[i].gives = KNI_GIVES_TRUTH;
    k->choices = kni_body_choices(row->schema, k->attributes) | kni_body_dtype_choices(k->out[0]->dtype);
    if (k->body->numbers) k->body->numbers(row->schema, k->attributes, k->numbers);
    kn_status s = find_needed(k);
    if (s) return s;
    for (int i = 0; i < k->n_in; i++) {
        int level = k->body->operands ? k->body->operands[i] & KNI_OPERAND_LEVEL : KNI_LEVEL_ELEMENT;
        k->spread[i] = k->in[i] && level == KNI_LEVEL_ELEMENT && is_spread(k->in[i], shape);
        spread |= k->spread[i];
    }
    if (spread && lines) return refuse(k, "an operand is repeated along an axis: expand it first");
    kni_ir_text_add(&k->text, "(void *const *b, const int64_t *n)\n{\n");
    k->indent = 1;
    pointers(k);
    if (lines)
        line_kernel(k, shape, kni_line_axes(row, k->attributes, shape->rank));
    else if (spread)
        spread_kernel(k);
    else
        plain_kernel(k);
    kni_ir_text_add(&k->text, "}\n\n");
    return KN_OK;
}

static kn_status print_call(printer *k, int32_t number)
{
    kni_c *c = k->c;
    const int32_t *in = kni_node_in(c->p, k->node), *out = kni_node_out(c->p, k->node);
    kn_status s = KN_OK;
    for (int i = 0; i < k->n_out && s == KN_OK; i++) s = kni_c_make(c, out[i]);
    if (s) return s;
    kni_c_line(c);
    kni_ir_text_add(&c->code, "{\n");
    c->indent++;
    kni_c_line(c);
    kni_ir_text_add(&c->code, "void *b[] = {");
    for (int i = 0; i < k->n_in; i++)
        kni_ir_text_add(&c->code, "%s(void *)%s", i ? ", " : "", in[i] < 0 ? "0" : kni_c_address(c, in[i]));
    for (int i = 0; i < k->n_out; i++)
        kni_ir_text_add(&c->code, "%s%s", i + k->n_in ? ", " : "", kni_c_address(c, out[i]));
    kni_ir_text_add(&c->code, "};\n");
    kni_c_line(c);
    kni_ir_text_add(&c->code, "const int64_t n[] = {%s};\n",
                    k->numbers_text.data ? k->numbers_text.data : "0");
    kni_c_line(c);
    kni_ir_text_add(&c->code, "%s_%d(b, n);\n", k->row->name, number);
    if (k->reports) {
        kni_c_line(c);
        kni_ir_text_add(&c->code, "if (kiln_fault[0]) return %s_BAD_INDEX;\n", c->name);
    }
    c->indent--;
    kni_c_line(c);
    kni_ir_text_add(&c->code, "}\n");
    return KN_OK;
}

static kn_status print(printer *k)
{
    kni_c *c = k->c;
    const kni_program *p = c->p;
    for (int i = 0; i < k->n_in; i++) {
        int32_t v = kni_node_in(p, k->node)[i];
        k->in[i] = v < 0 ? NULL : &p->values[v].type;
    }
    for (int i = 0; i < k->n_out; i++) k->out[i] = &p->values[kni_node_out(p, k->node)[i]].type;
    kn_status s = kni_c_check_node(c, k->node);
    if (s == KN_OK) s = kni_c_attributes(c, k->node, k->attributes);
    if (s == KN_OK) s = print_kernel(k);
    if (s) return s;
    bool is_new;
    kni_ir_text key = {0};
    kni_ir_text_add(&key, "%s %s", k->row->name, k->text.data ? k->text.data : "");
    int32_t number = key.failed || k->text.failed ? -1 : kni_c_kernel_of(c, key.data, &is_new);
    kni_ir_text_free(&key);
    if (number < 0) return kni_c_no_memory();
    if (is_new) kni_ir_text_add(&c->functions, "static void %s_%d%s", k->row->name, number, k->text.data);
    return print_call(k, number);
}

kn_status kni_c_print_body(kni_c *c, const kni_program_node *n)
{
    const kn_op *row = n->row;
    if (n->n_in > KNI_BODY_OPERANDS || n->n_out > KNI_BODY_OPERANDS)
        return kni_fail_op(KN_ERROR_UNSUPPORTED, row->name, "too many operands for a program in C");
    printer *k = kni_allocate(sizeof *k);
    if (!k) return kni_c_no_memory();
    memset(k, 0, sizeof *k);
    k->c = c;
    k->node = n;
    k->row = row;
    k->body = row->body;
    k->n_in = n->n_in;
    k->n_out = n->n_out;
    kn_status s = print(k);
    kni_ir_text_free(&k->text);
    kni_ir_text_free(&k->numbers_text);
    kni_free(k, sizeof *k);
    return s;
}
