/* Gradients that are bodies: each operand's becomes a row with a compact body, and so do the gradients of that row, which are
   derived. Writes src/ops/generated/slopes_*.c. */
#include "gen.h"
#include "gen_body.h"
#include "gen_file.h"
#include "ops/body_derive.h"
#include "ops/body_print.h"
#include "ops/slopes.h"
#include "ops/word_numbers.h"
#include <stdlib.h>
#include <string.h>

/* What this program generates need not exist for it to link. */
#define KN_OP(number, name, ...)                                                                             \
    extern const kni_slopes kni_slopes_##name;                                                               \
    __attribute__((weak)) const kni_slopes kni_slopes_##name = {0};
#include "ops/elementwise.def"
#undef KN_OP

enum { NAME = 48, LIST = 256, PARTS = 2, MAX_ROWS = 256 };

/* A row that was made: kept until the program ends. */
typedef struct made {
    kni_slope slope;
    char name[NAME], formula[512];
    struct made *next[KNI_SLOPE_OPERANDS]; /* gradients of it, by operand */
    uint8_t same;
    bool goes_on; /* else they are left to its lowering */
    int place;    /* among the bodies */
} made;

typedef struct gradients {
    int op; /* among the bodies */
    made *of[KNI_SLOPE_OPERANDS];
    uint8_t same, missing;
} gradients;
static gradients all[MAX_ROWS];
static int n_gradients;

/* ---- names */

/* Word number i of a list of operands. */
static int name_at(const char *list, int i, char *name)
{
    while (i-- > 0) list += strcspn(list, " "), list += *list == ' ';
    size_t n = strcspn(list, " ");
    if (n >= NAME) n = NAME - 1;
    memcpy(name, list, n);
    name[n] = 0;
    return (int)n;
}

static bool is_listed(const char *list, const char *name)
{
    char other[NAME];
    for (int i = 0; name_at(list, i, other) > 0; i++)
        if (!strcmp(other, name)) return true;
    return false;
}

/* ---- bodies */

/* The steps in the compact form; false where there are too many of a kind. */
static bool pack(const kni_step *steps, int n, int n_in, kni_body_draft *draft)
{
    memset(draft, 0, sizeof *draft);
    if (n == 0 || n > KNI_BODY_STEPS) return false;
    for (int i = 0; i < n; i++) {
        int index = steps[i].index;
        if (steps[i].kind == KNI_STEP_CONSTANT) {
            for (index = 0; index < draft->n_constants; index++)
                if (!memcmp(&draft->constants[index], &steps[i].value, sizeof(double))) break;
            if (index == KNI_BODY_CONSTANTS) return false;
            if (index == draft->n_constants) draft->constants[draft->n_constants++] = steps[i].value;
        }
        bool local = steps[i].kind == KNI_STEP_STORE || steps[i].kind == KNI_STEP_LOCAL;
        if (local && index >= KNI_BODY_LOCALS) return false;
        draft->code[i] = (uint8_t)KNI_BODY_CODE(steps[i].kind, index);
    }
    for (int i = 0; i <= n_in; i++) draft->operands[i] = KNI_LEVEL_ELEMENT;
    draft->n = n;
    draft->n_in = n_in;
    draft->n_out = 1;
    return true;
}

/* Whether the gradient is the cotangent itself, of a row with n_in operands. */
static bool is_cotangent(const kni_body_graph *graph, int root, int n_in)
{
    const kni_step *s = &graph->tree.nodes[root].step;
    return s->kind == KNI_STEP_INPUT && s->index == n_in;
}

/* The row that computes `root`; NULL where it takes too many operands or does not fit. */
static made *make(const kn_op *of, const char *name, int number, const kni_body_graph *graph, int root)
{
    uint32_t used = kni_graph_operands(graph, root);
    uint8_t numbers[2 * KNI_BODY_OPERANDS] = {0}, from[KNI_BODY_OPERANDS];
    kni_step steps[KNI_BODY_MAX_STEPS];
    kni_body_draft draft;
    int n_in = 0;
    for (int i = 0; used >> i; i++) {
        if (!(used >> i & 1)) continue;
        if (n_in == KNI_SLOPE_OPERANDS) return NULL;
        from[n_in] = (uint8_t)i;
        numbers[i] = (uint8_t)n_in++;
    }
    int n = kni_graph_steps(graph, root, numbers, steps, KNI_BODY_MAX_STEPS);
    if (!pack(steps, n, n_in, &draft)) return NULL;
    made *m = calloc(1, sizeof *m);
    if (!m) abort();
    snprintf(m->name, sizeof m->name, "%s", name);
    memcpy(m->slope.from, from, sizeof m->slope.from);
    m->slope.row = (kn_op){.number = (uint16_t)number,
                           .name = m->name,
                           .max_in = (int8_t)n_in,
                           .kind = KNI_ELEMENTWISE,
                           .rule = KNI_RULE_PROMOTE,
                           .dtypes = KNI_FLOATS,
                           .schema = of->schema,
                           .attribute_bytes = of->attribute_bytes};
    m->place = gen_add_row(&m->slope.row, "", &draft);
    return m;
}

/* The gradient of a gradient by its operand i; false where it cannot be said. */
static bool go_on_by(made *m, int i)
{
    static kni_body_gradient gradient;
    const kni_body body = kni_body_of_draft(gen_draft(m->place));
    char name[NAME + 8];
    snprintf(name, sizeof name, "%s_%d", m->name, i);
    /* Reading the result may make an operand too many. */
    for (int short_one = 1; short_one >= 0; short_one--) {
        if (!(short_one ? kni_body_derive_short(&body, i, &gradient)
                        : kni_body_derive(&body, i, false, &gradient)))
            return false;
        if (gradient.root < 0) return true; /* zero */
        if (is_cotangent(&gradient.graph, gradient.root, m->slope.row.max_in)) {
            m->same |= (uint8_t)(1u << i);
            return true;
        }
        m->next[i] = make(&m->slope.row, name, m->slope.row.number + 1 + i, &gradient.graph, gradient.root);
        if (m->next[i]) return true;
    }
    return false;
}

/* Loops of these functions are large and slow in any case: such a row runs word by word. */
static bool deserves_strips(const made *m)
{
    static const uint8_t large[] = {KNI_WORD_lgamma,    KNI_WORD_digamma,    KNI_WORD_polygamma,
                                    KNI_WORD_zeta,      KNI_WORD_igamma,     KNI_WORD_igammac,
                                    KNI_WORD_i0,        KNI_WORD_i0e,        KNI_WORD_i1,
                                    KNI_WORD_i1e,       KNI_WORD_bessel_j0,  KNI_WORD_bessel_j1,
                                    KNI_WORD_bessel_y0, KNI_WORD_bessel_y1,  KNI_WORD_bessel_k0,
                                    KNI_WORD_bessel_k1, KNI_WORD_bessel_k0e, KNI_WORD_bessel_k1e,
                                    KNI_WORD_erfcx,     KNI_WORD_erfinv,     KNI_WORD_normal_quantile};
    const kni_body body = kni_body_of_draft(gen_draft(m->place));
    for (int i = 0; i < body.n; i++) {
        kni_step s = kni_body_step(&body, i);
        for (size_t k = 0; k < sizeof large && s.kind == KNI_STEP_WORD; k++)
            if (large[k] == s.index) return false;
    }
    return true;
}

static void go_on(made *m)
{
    m->goes_on = true;
    for (int i = 0; i < m->slope.row.max_in && m->goes_on; i++) m->goes_on = go_on_by(m, i);
}

/* ---- the gradients of a row */

static void print_formula(const char *in, const char *result, const char *const *scalars,
                          const kni_body_graph *graph, int root, char *formula)
{
    char texts[KNI_BODY_OPERANDS][NAME + 1];
    const char *list[KNI_BODY_OPERANDS];
    kni_text text = {formula, sizeof((made *)0)->formula, 0};
    int n = 0;
    while (name_at(in, n, texts[n]) > 0) n++;
    snprintf(texts[n], sizeof texts[n], "d%s", result);
    snprintf(texts[n + 1], sizeof texts[n + 1], "%s", result);
    for (int i = 0; i < n + 2; i++) list[i] = texts[i];
    kni_graph_print(graph, root, list, scalars, &text);
}

static bool add(gradients *g, int operand, const kni_body_graph *graph, int root)
{
    const kn_op *row = gen_row(g->op);
    const kni_body_names names = gen_names_of(row);
    char name[2 * NAME + 8], own[NAME];
    name_at(names.in, operand, own);
    if (root < 0) return true; /* zero */
    if (is_cotangent(graph, root, row->max_in)) {
        g->same |= (uint8_t)(1u << operand);
        return true;
    }
    if (row->max_in == 1)
        snprintf(name, sizeof name, "%s_grad", row->name);
    else
        snprintf(name, sizeof name, "%s_grad_%s", row->name, own);
    made *m = make(row, name, row->number * 32 + operand * 8, graph, root);
    if (!m) {
        gen_complain(g->op, 0, "its gradient takes more than 4 operands, or has too many steps");
        return false;
    }
    if (deserves_strips(m)) m->slope.row.native = (const kni_native *)m;
    print_formula(names.in, names.out, names.scalars, graph, root, m->formula);
    g->of[operand] = m;
    go_on(m);
    return true;
}

static bool derive(gradients *g)
{
    static kni_body_gradient gradient;
    const kni_body body = kni_body_of_draft(gen_draft(g->op));
    const kni_body_names names = gen_names_of(gen_row(g->op));
    const char *only = gen_slope_operands(g->op);
    char name[NAME];
    for (int i = 0; i < gen_row(g->op)->max_in; i++) {
        name_at(names.in, i, name);
        if (only && !is_listed(only, name)) {
            g->missing |= (uint8_t)(1u << i);
            continue;
        }
        if (!kni_body_derive_short(&body, i, &gradient)) {
            gen_complain(g->op, 0, gradient.error);
            return false;
        }
        if (!add(g, i, &gradient.graph, gradient.root)) return false;
    }
    return true;
}

/* Whether the text gives a value for this name. */
static bool gives(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = strstr(text, name); at; at = strstr(at + 1, name))
        if ((at == text || at[-1] == ' ' || at[-1] == ';') && !strncmp(at + n, " = ", 3)) return true;
    return false;
}

static bool read_written(gradients *g)
{
    static kni_body_draft draft;
    static kni_body_graph graph;
    const kn_op *row = gen_row(g->op);
    const char *text = gen_slope_text(g->op);
    kni_body_names names = gen_names_of(row);
    char in[LIST], out[LIST] = "", own[NAME], name[NAME + 1];
    int operands[KNI_SLOPE_OPERANDS], roots[KNI_BODY_OPERANDS], nodes[KNI_BODY_OPERANDS], n = 0;
    snprintf(in, sizeof in, "%s d%s %s", names.in, names.out, names.out);
    for (int i = 0; i < row->max_in; i++) {
        name_at(names.in, i, own);
        snprintf(name, sizeof name, "d%s", own);
        if (!gives(text, name)) {
            g->missing |= (uint8_t)(1u << i);
            continue;
        }
        operands[n++] = i;
        snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s", *out ? " " : "", name);
    }
    names.in = in;
    names.out = out;
    if (!kni_body_parse(text, &names, &draft)) return gen_complain_about(g->op, text, draft.at, draft.error);
    memset(&graph, 0, sizeof graph);
    for (int i = 0; i < draft.n_in; i++) nodes[i] = kni_graph_operand(&graph, i, KNI_LEVEL_ELEMENT);
    const kni_body form = kni_body_of_draft(&draft);
    kni_graph_body(&graph, &form, nodes, roots);
    for (int k = 0; k < n; k++)
        if (!add(g, operands[k], &graph, roots[k])) return false;
    return true;
}

/* ---- the file */

static void print_schema(FILE *f, const kn_op *row)
{
    static const char *const types[] = {"KNI_ATTR_INT", "KNI_ATTR_REAL", "KNI_ATTR_INTS"};
    static const char *const when[] = {"KNI_STATIC", "KNI_DYNAMIC", "KNI_CHOICE"};
    if (!row->schema) return;
    fprintf(f, "static const kn_attribute schema_%s[] = {", row->name);
    for (const kn_attribute *a = row->schema; a->name; a++)
        fprintf(f, "{\"%s\", %s, %s, %d}, ", a->name, types[a->type], when[a->dynamic], a->offset);
    fputs("{0}};\n", f);
}

static void print_slopes(FILE *f, const char *prefix, const char *name, made *const *of, int same,
                         int missing)
{
    fprintf(f, "%s%s = {{", prefix, name);
    for (int i = 0; i < KNI_SLOPE_OPERANDS; i++)
        fprintf(f, "%s%s%s", i ? ", " : "", of[i] ? "&slope_" : "NULL", of[i] ? of[i]->name : "");
    fprintf(f, "}, %d, %d};\n", same, missing);
}

static void print_made(FILE *f, const kn_op *of, const made *m, int order)
{
    if (!m) return;
    const kni_body_draft *d = gen_draft(m->place);
    int n_in = m->slope.row.max_in;
    for (int i = 0; i < n_in && m->goes_on; i++) print_made(f, of, m->next[i], order + 1);
    if (m->goes_on) print_slopes(f, "static const kni_slopes next_", m->name, m->next, m->same, 0);
    if (order == 1) fprintf(f, "/* %s */\n", m->formula);
    if (m->slope.row.native) fprintf(f, "extern const kni_native kni_cpu_%s;\n", m->name);
    fprintf(f, "GRADIENT_ROW(%s, %d, %d, &kni_cpu_%s, ", m->name, m->slope.row.number, n_in,
            m->slope.row.native ? m->name : "defined_points");
    fprintf(f, m->goes_on ? "kni_gradient_by_body, &next_%s, (" : "NULL, NULL, (", m->name);
    gen_print_code(f, d);
    fputs("), (", f);
    gen_print_constants(f, d);
    fputs("), ({", f);
    for (int i = 0; i < n_in; i++) fprintf(f, "%s%d", i ? ", " : "", m->slope.from[i]);
    if (of->schema)
        fprintf(f, "}), schema_%s, %d)\n", of->name, of->attribute_bytes);
    else
        fputs("}), NULL, 0)\n", f);
}

static void print_gradients(FILE *f, const gradients *g)
{
    const kn_op *row = gen_row(g->op);
    const char *text = gen_slope_text(g->op);
    fprintf(f, "\n/* ---- %s: %s */\n", row->name, *text ? text : "derived");
    print_schema(f, row);
    for (int i = 0; i < KNI_SLOPE_OPERANDS; i++) print_made(f, row, g->of[i], 1);
    fprintf(f, "extern const kni_slopes kni_slopes_%s;\n", row->name);
    print_slopes(f, "const kni_slopes kni_slopes_", row->name, g->of, g->same, g->missing);
}

/* The rows go to several files, none of which is long. */
static int write_file(int part)
{
    char path[64];
    snprintf(path, sizeof path, "src/ops/generated/slopes_%d.c", part);
    FILE *f = gen_start_file(path);
    if (!f) return 1;
    fputs("#include \"ops/slopes.h\"\n", f);
    for (int i = part; i < n_gradients; i += PARTS) print_gradients(f, &all[i]);
    return gen_finish_file(f, path);
}

int gen_slopes(void)
{
    int bad = 0;
    for (int i = 0; i < gen_row_count(); i++) {
        if (!gen_slope_text(i)) continue;
        gradients *g = &all[n_gradients++];
        g->op = i;
        bad |= !(*gen_slope_text(i) ? read_written(g) : derive(g));
    }
    for (int part = 0; part < PARTS && !bad; part++) bad = write_file(part);
    return bad;
}
