/* The CPU's kernels of rows that make values of scalars: a loop over elements for each type that the row computes in. What is
   known before the loop is a constant of an inlined function, so that no loop has branches. */
#include "gen_made.h"
#include "backend/cpu/made_table.h"
#include "gen.h"
#include "gen_body.h"
#include "gen_file.h"
#include "ops/native.h"
#include <string.h>

/* The entries that this program generates need not exist for it to link. */
#define KN_OP(number, name, ...)                                                                             \
    extern const kni_native kni_cpu_##name;                                                                  \
    __attribute__((weak)) const kni_native kni_cpu_##name = {0};
#include "ops/creation.def"
KN_OP(0, dropout)
#undef KN_OP

#define FOLDER "src/backend/cpu/generated/"

/* The function that is printed: `name`_`suffix` writes node `root` as `form` to an array of `type`. */
typedef struct made {
    int row;
    char name[64];
    const char *type, *arguments, *given;
    bool places;
    kni_body_tree tree, settled; /* whole, and of the function's dtypes */
    gen_made text;
} made;

static bool is_made(int i) { return gen_row(i)->kind == KNI_CREATE || gen_row(i)->kind == KNI_RANDOM; }

static void start(made *f, int i)
{
    const kni_body body = kni_body_of_draft(gen_draft(i));
    f->row = i;
    kni_body_tree_of(&body, &f->tree);
}

static bool is_single(const kni_body_tree *tree)
{
    return tree->nodes[tree->results[0]].level == KNI_LEVEL_ALL;
}

/* The type of the results in a strip: indices and truths are what they are in every dtype. */
static int dtype_of_result(const kni_body_tree *tree, int compute)
{
    int i = tree->results[0];
    if (tree->nodes[i].gives == KNI_GIVES_TRUTH) return KN_BOOL;
    if (tree->nodes[i].gives == KNI_GIVES_INDEX) return gen_made_is_narrow(tree, i) ? KN_U32 : KN_I64;
    return kni_compute_dtype[compute];
}

/* The dtypes of the row that a strip of the compute type serves. */
static uint32_t dtypes_of(int i, const kni_body_tree *tree, int compute)
{
    const kn_op *row = gen_row(i);
    uint8_t gives = tree->nodes[tree->results[0]].gives;
    bool fixed = gives == KNI_GIVES_TRUTH || gives == KNI_GIVES_INDEX;
    uint32_t dtypes = 0;
    for (int d = KN_F64; d <= KN_BOOL; d++)
        if ((fixed ? KNI_COMPUTE_I64 : kni_made_compute(row, is_single(tree), d)) == compute)
            dtypes |= row->dtypes & 1u << d;
    return dtypes;
}

/* Makes the choices that are the same for all of these dtypes. */
static void settle(made *m, uint32_t dtypes)
{
    uint32_t some = 0, all = UINT32_MAX;
    for (int d = KN_F64; d <= KN_BOOL; d++)
        if (dtypes >> d & 1) some |= kni_body_dtype_choices(d), all &= kni_body_dtype_choices(d);
    m->settled = m->tree;
    kni_body_settle(&m->settled, 1, (1u << KNI_CHOICE_DOUBLES | 1u << KNI_CHOICE_FLOATS) & ~(some & ~all),
                    all);
}

static void print_loop(FILE *f, made *m, int root, gen_form form)
{
    gen_made *t = &m->text;
    char name[16];
    gen_made_node(t, root, form);
    fprintf(f, "\nstatic inline __attribute__((always_inline)) void %s_loop(%s", m->name, m->arguments);
    for (int i = 0; i < t->n_known; i++) {
        gen_made_condition(t, t->known[i], name, sizeof name);
        fprintf(f, ", const bool %s", name);
    }
    fprintf(f, ")\n{\n    %s *to = y;\n", m->type);
    for (int i = 0; i < KNI_BODY_OPERANDS; i++)
        if (t->asked[i]) fprintf(f, "    const %s *x%d = in[%d];\n", m->type, i, i);
    fprintf(f,
            "    UNUSED_%s\n%s    EACH_ALONE\n    for (int k = 0; k < n; k++) {\n%s        to[k] = %s;\n    "
            "}\n}\n",
            m->arguments, t->before, t->statements, t->result);
}

/* Whether the root is the element's own index where these conditions hold. */
static bool is_own(const gen_made *t, int root, int bits)
{
    const kni_body_node *n = &t->tree->nodes[root];
    for (int i = 0; i < t->n_known && n->step.kind == KNI_STEP_SELECT; i++)
        if (t->known[i] == n->in[0]) return is_own(t, n->in[bits >> i & 1 ? 1 : 2], bits);
    return n->step.kind == KNI_STEP_ELEMENT;
}

/* Calls the loop with the constants that are true now. */
static void print_entry(FILE *f, made *m, int root)
{
    static gen_made conditions;
    char names[GEN_MADE_KNOWN][16];
    const gen_made *t = &m->text;
    int n = t->n_known;
    conditions = (gen_made){.row = t->row, .tree = t->tree, .compute = t->compute};
    for (int i = 0; i < n; i++) {
        gen_made_node(&conditions, t->known[i], GEN_TRUTH);
        snprintf(names[i], sizeof names[i], "%.15s", conditions.result);
    }
    fprintf(f, "static %s %s(%s)\n{\n%s", m->places ? "bool" : "void", m->name, m->arguments,
            conditions.before);
    for (int bits = 0; bits < 1 << n; bits++) {
        fputs(bits ? "    else " : "    ", f);
        if (bits + 1 < 1 << n) {
            fputs("if (", f);
            for (int i = 0; i < n; i++)
                fprintf(f, "%s%s%s", i ? " && " : "", bits >> i & 1 ? "" : "!", names[i]);
            fputs(")\n        ", f);
        }
        if (m->places && is_own(t, root, bits)) {
            fputs("return false;\n", f);
            continue;
        }
        fprintf(f, "%s_loop(%s", m->name, m->given);
        for (int i = 0; i < n; i++) fputs(bits >> i & 1 ? ", true" : ", false", f);
        fputs(");\n", f);
    }
    fputs(m->places ? "    return true;\n}\n" : "}\n", f);
}

static bool print_function(FILE *f, made *m, int compute, int root, gen_form form)
{
    m->text = (gen_made){.row = gen_row(m->row), .tree = &m->settled, .compute = compute};
    print_loop(f, m, root, form);
    print_entry(f, m, root);
    if (m->text.failed)
        gen_complain(m->row, 0, "no C can be made of it: name parts of it, or use other words");
    return !m->text.failed;
}

static bool print_strips(FILE *f, int i)
{
    static made m;
    const char *name = gen_row(i)->name;
    bool good = true;
    start(&m, i);
    m.places = false;
    m.arguments = "MADE_ARGUMENTS";
    m.given = "n, first, y, in, words, numbers, choices";
    int root = m.tree.results[0], place = gen_made_place(&m.tree);
    uint8_t gives = m.tree.nodes[root].gives;
    if (place == -2) {
        gen_complain(i, 0, "it draws at different indices");
        return false;
    }
    bool own = place < 0 || m.tree.nodes[place].step.kind == KNI_STEP_ELEMENT;
    for (int c = 0; c < KNI_COMPUTE_COUNT && good; c++) {
        static const char *const types[KN_DTYPE_COUNT] = {[KN_F64] = "double",
                                                          [KN_F32] = "float",
                                                          [KN_I64] = "int64_t",
                                                          [KN_U32] = "uint32_t",
                                                          [KN_BOOL] = "uint8_t"};
        uint32_t dtypes = dtypes_of(i, &m.tree, c);
        if (!dtypes) continue;
        settle(&m, dtypes);
        snprintf(m.name, sizeof m.name, "%.40s_%s", name, gen_types[c].suffix);
        m.type = types[dtype_of_result(&m.tree, c)];
        good = print_function(f, &m, c, m.settled.results[0],
                              gives == KNI_GIVES_TRUTH   ? GEN_TRUTH
                              : gives == KNI_GIVES_INDEX ? GEN_WHOLE
                                                         : GEN_VALUE);
    }
    snprintf(m.name, sizeof m.name, "%.40s_places", name);
    m.type = "int64_t";
    m.places = true;
    m.arguments = "PLACES_ARGUMENTS";
    m.given = "n, first, y, numbers, choices";
    settle(&m, gen_row(i)->dtypes);
    if (!own && good) good = print_function(f, &m, KNI_COMPUTE_I64, place, GEN_WHOLE);
    fprintf(f, "const kni_made_strips KNI_TIER_FN(kni_made_%s) = {.strips = {", name);
    for (int c = 0, n = 0; c < KNI_COMPUTE_COUNT; c++)
        if (dtypes_of(i, &m.tree, c))
            fprintf(f, "%s[%d] = %s_%s", n++ ? ", " : "", c, name, gen_types[c].suffix);
    if (own)
        fputs("}};\n", f);
    else
        fprintf(f, "}, .places = %s_places};\n", name);
    return good;
}

static int write_strips(void)
{
    const char *path = FOLDER "made_strips.inc";
    FILE *f = gen_start_file(path);
    if (!f) return 1;
    bool good = true;
    for (int i = 0; i < gen_row_count() && good; i++)
        if (is_made(i)) good = print_strips(f, i);
    return gen_finish_file(f, path) || !good;
}

/* ENTRY(name, single, dtype, key, counter): whether one value is made for all elements; the dtype of strips that do not depend
   on the result's, or -1; the scalars that are the state of the generator, or -1. */
static int write_entries(void)
{
    const char *path = FOLDER "made_entries.inc";
    FILE *f = gen_start_file(path);
    static made m;
    if (!f) return 1;
    for (int i = 0; i < gen_row_count(); i++) {
        if (!is_made(i)) continue;
        int key = -1, counter = -1;
        start(&m, i);
        uint8_t gives = m.tree.nodes[m.tree.results[0]].gives;
        bool fixed = gives == KNI_GIVES_TRUTH || gives == KNI_GIVES_INDEX;
        for (int k = 0; k < m.tree.n; k++) {
            const kni_body_node *n = &m.tree.nodes[k];
            if (n->step.kind != KNI_STEP_DRAW) continue;
            key = m.tree.nodes[n->in[0]].step.index;
            counter = m.tree.nodes[n->in[1]].step.index;
        }
        fprintf(f, "ENTRY(%s, %d, %d, %d, %d)\n", gen_row(i)->name, is_single(&m.tree),
                fixed ? dtype_of_result(&m.tree, KNI_COMPUTE_I64) : -1, key, counter);
    }
    return gen_finish_file(f, path);
}

int gen_made_rows(void) { return write_strips() | write_entries(); }
