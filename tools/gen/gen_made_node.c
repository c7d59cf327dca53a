/* The nodes of a body that makes values of scalars, each as a constant of C with a name of its own: v1 a value, t1 an integer,
   c1 a truth, s1 a scalar in f64. What is the same for all elements stands before the loop. */
#include "gen_made.h"
#include "ops/word_numbers.h"
#include <stdio.h>
#include <string.h>

/* ---- what is known of the tree */

/* A bound of index i, which is 0 or more, UINT64_MAX where nothing is known. */
static uint64_t bound_of(const kni_body_tree *tree, int i)
{
    const kni_body_node *n = &tree->nodes[i];
    if (n->step.kind == KNI_STEP_DRAW) return UINT32_MAX;
    if (n->step.kind == KNI_STEP_CONSTANT && n->step.value >= 0 && n->step.value <= UINT32_MAX)
        return (uint64_t)n->step.value;
    if (n->step.kind != KNI_STEP_WORD || n->n_in != 2) return UINT64_MAX;
    uint64_t a = bound_of(tree, n->in[0]), b = bound_of(tree, n->in[1]), bits = a | b;
    bool constant = tree->nodes[n->in[1]].step.kind == KNI_STEP_CONSTANT && b < 32;
    if (a > UINT32_MAX || b > UINT32_MAX) return UINT64_MAX;
    for (int k = 1; k < 64; k *= 2) bits |= bits >> k;
    switch (n->step.index) {
    case KNI_WORD_add:
        return a + b;
    case KNI_WORD_and:
        return a < b ? a : b;
    case KNI_WORD_or:
    case KNI_WORD_xor:
        return bits;
    case KNI_WORD_shr:
        return constant ? a >> b : UINT64_MAX;
    case KNI_WORD_shl:
        return constant ? a << b : UINT64_MAX;
    default:
        return UINT64_MAX;
    }
}

bool gen_made_is_narrow(const kni_body_tree *tree, int i)
{
    const kni_body_node *n = &tree->nodes[i];
    bool narrow = bound_of(tree, i) <= UINT32_MAX;
    for (int k = 0; k < n->n_in && n->step.kind == KNI_STEP_WORD; k++)
        narrow &= gen_made_is_narrow(tree, n->in[k]);
    return narrow;
}

int gen_made_words(const kni_body_tree *tree, uint32_t choices)
{
    static kni_body_tree settled;
    uint8_t highest[KNI_BODY_MAX_STEPS]; /* by node: 1 + the highest word that is drawn for it */
    settled = *tree;
    kni_body_settle(&settled, 1, UINT32_MAX, choices);
    for (int i = 0; i < settled.n; i++) {
        const kni_body_node *n = &settled.nodes[i];
        highest[i] = n->step.kind == KNI_STEP_DRAW ? n->step.index + 1 : 0;
        for (int k = 0; k < n->n_in; k++)
            if (highest[n->in[k]] > highest[i]) highest[i] = highest[n->in[k]];
    }
    int words = highest[settled.results[0]];
    return words == 3 ? 4 : words;
}

int gen_made_place(const kni_body_tree *tree)
{
    int place = -1;
    for (int i = 0; i < tree->n; i++) {
        const kni_body_node *n = &tree->nodes[i];
        if (n->step.kind != KNI_STEP_DRAW) continue;
        bool both = place >= 0 && tree->nodes[place].step.kind == KNI_STEP_ELEMENT &&
                    tree->nodes[n->in[2]].step.kind == KNI_STEP_ELEMENT;
        if (place >= 0 && place != n->in[2] && !both) return -2;
        place = n->in[2];
    }
    return place;
}

/* ---- printing */

static const kni_body_node *node_of(const gen_made *m, int i) { return &m->tree->nodes[i]; }
static bool is_single(const gen_made *m, int i) { return node_of(m, i)->level == KNI_LEVEL_ALL; }
static bool is_number(const gen_made *m, int i) { return node_of(m, i)->gives == KNI_GIVES_NUMBER; }
static bool is_whole(const gen_made *m, int i)
{
    return !is_number(m, i) || kni_body_is_whole(m->tree, m->row->schema, i);
}

static const char *suffix_of(const gen_made *m, gen_form form, int i)
{
    if (form == GEN_WHOLE) return gen_made_is_narrow(m->tree, i) ? "u32" : "i64";
    return form == GEN_SCALAR ? "f64" : gen_types[m->compute].suffix;
}

static const char *type_of(const gen_made *m, gen_form form, int i)
{
    if (form == GEN_WHOLE) return gen_made_is_narrow(m->tree, i) ? "uint32_t" : "int64_t";
    return form == GEN_TRUTH ? "int" : form == GEN_SCALAR ? "double" : gen_types[m->compute].name;
}

static void define(gen_made *m, int i, gen_form form, const char *text)
{
    char line[GEN_TEXT];
    char *to = is_single(m, i) ? m->before : m->statements;
    snprintf(m->result, sizeof m->result, "%c%d", "vtcs"[form], i);
    int n = snprintf(line, sizeof line, "%s    const %s %s = %s;\n", is_single(m, i) ? "" : "    ",
                     type_of(m, form, i), m->result, text);
    if (n < 0 || (size_t)n + strlen(to) >= GEN_TEXT)
        m->failed = true;
    else
        strcat(to, line);
    m->done[i][form] = true;
}

/* A call of a word or of select, on operands in one form. */
static void print_call(gen_made *m, int i, gen_form form, const char *name, gen_form of)
{
    const kni_body_node *n = node_of(m, i);
    char text[256], *at = text;
    const char *suffix = suffix_of(m, of, of == GEN_WHOLE && form == GEN_TRUTH ? n->in[0] : i);
    if (form == GEN_TRUTH && of == GEN_WHOLE && !gen_made_is_narrow(m->tree, n->in[1])) suffix = "i64";
    bool select = n->step.kind == KNI_STEP_SELECT;
    at += snprintf(at, 100, "%s_%s(", name, suffix);
    for (int k = 0; k < n->n_in; k++) {
        if (select && k == 0 && is_single(m, n->in[0]) && !is_single(m, i))
            gen_made_condition(m, n->in[0], m->result, sizeof m->result);
        else
            gen_made_node(m, n->in[k], select && k == 0 ? GEN_TRUTH : of);
        at += snprintf(at, 64, "%s%s", k ? ", " : "", m->result);
    }
    snprintf(at, 8, ")");
    define(m, i, form, text);
}

/* A choice between values of an element that is known before the loop. */
static void note_condition(gen_made *m, int i)
{
    char name[16], other[16];
    gen_made_condition(m, i, name, sizeof name);
    for (int k = 0; k < m->n_known; k++) {
        gen_made_condition(m, m->known[k], other, sizeof other);
        if (!strcmp(name, other)) return;
    }
    if (m->n_known == GEN_MADE_KNOWN)
        m->failed = true;
    else
        m->known[m->n_known++] = (uint8_t)i;
}

void gen_made_condition(const gen_made *m, int i, char *name, size_t n)
{
    const kni_step *s = &node_of(m, i)->step;
    /* A choice has several nodes. */
    if (s->kind == KNI_STEP_CHOICE)
        snprintf(name, n, "h%d", s->index);
    else
        snprintf(name, n, "k%d", i);
}

static void print_select(gen_made *m, int i, gen_form form)
{
    int condition = node_of(m, i)->in[0];
    if (is_single(m, condition) && !is_single(m, i)) note_condition(m, condition);
    print_call(m, i, form, "kni_select", form);
}

/* A truth of two integers, of two values or of scalars. */
static void print_comparison(gen_made *m, int i, const char *name)
{
    const kni_body_node *n = node_of(m, i);
    bool index = false, numbers = true, whole = true;
    char text[160], left[64];
    for (int k = 0; k < n->n_in; k++) {
        index |= node_of(m, n->in[k])->gives == KNI_GIVES_INDEX;
        numbers &= is_number(m, n->in[k]);
        whole &= is_whole(m, n->in[k]);
    }
    gen_form of = index || (numbers && whole)  ? GEN_WHOLE
                  : numbers && is_single(m, i) ? GEN_SCALAR
                                               : GEN_VALUE;
    bool below = n->step.index == KNI_WORD_lt || n->step.index == KNI_WORD_ge;
    if (!below || of != GEN_WHOLE || is_single(m, i) || !gen_made_is_narrow(m->tree, n->in[0]) ||
        !is_single(m, n->in[1])) {
        print_call(m, i, GEN_TRUTH, name, of);
        return;
    }
    /* A word beside a limit stays one of 32 bits. */
    gen_made_node(m, n->in[0], GEN_WHOLE);
    snprintf(left, sizeof left, "%s", m->result);
    gen_made_node(m, n->in[1], GEN_WHOLE);
    snprintf(text, sizeof text, "%sis_below(%s, %s)", n->step.index == KNI_WORD_ge ? "!" : "", left,
             m->result);
    define(m, i, GEN_TRUTH, text);
}

/* A node in one form by way of another. */
static void print_cast(gen_made *m, int i, gen_form form, gen_form of)
{
    char text[96];
    gen_made_node(m, i, of);
    snprintf(text, sizeof text, "(%s)%s", type_of(m, form, i), m->result);
    define(m, i, form, text);
}

/* Scalars are made in f64 before the loop, and what is whole in integers. */
static void print_number(gen_made *m, int i, gen_form form, const char *name)
{
    bool integers = true; /* that it is made of */
    for (int k = 0; k < node_of(m, i)->n_in; k++) integers &= is_whole(m, node_of(m, i)->in[k]);
    bool whole = is_whole(m, i) && integers, real = m->compute <= KNI_COMPUTE_F64;
    if (form == GEN_SCALAR)
        print_call(m, i, form, name, form);
    else if (form == GEN_WHOLE && (whole || (integers && !is_single(m, i))))
        print_call(m, i, form, name, form);
    else if (form == GEN_WHOLE)
        print_cast(m, i, form, is_single(m, i) ? GEN_SCALAR : GEN_VALUE);
    else if (is_single(m, i))
        print_cast(m, i, form, is_whole(m, i) && !real ? GEN_WHOLE : GEN_SCALAR);
    else if (whole)
        print_cast(m, i, form, GEN_WHOLE);
    else
        print_call(m, i, form, name, form);
}

static void print_word(gen_made *m, int i, gen_form form)
{
    const kni_word *word = kni_word_at(node_of(m, i)->step.index);
    char name[48];
    bool quotient = form == GEN_WHOLE && !is_single(m, i) && node_of(m, i)->step.index == KNI_WORD_div;
    snprintf(name, sizeof name, quotient ? "quotient" : "kni_word_%s", word->name);
    if (word->truth)
        print_comparison(m, i, name);
    else if (is_number(m, i))
        print_number(m, i, form, name);
    else
        print_call(m, i, form, name, form);
}

static void print_logic(gen_made *m, int i, const char *sign)
{
    char text[160], left[64];
    gen_made_node(m, node_of(m, i)->in[0], GEN_TRUTH);
    snprintf(left, sizeof left, "%s", m->result);
    if (node_of(m, i)->n_in > 1) gen_made_node(m, node_of(m, i)->in[1], GEN_TRUTH);
    if (node_of(m, i)->n_in > 1)
        snprintf(text, sizeof text, "%s %s %s", left, sign, m->result);
    else
        snprintf(text, sizeof text, "!%s", left);
    define(m, i, GEN_TRUTH, text);
}

/* What no other node is asked for. */
static void print_leaf(gen_made *m, int i, gen_form form)
{
    const kni_step *s = &node_of(m, i)->step;
    const char *type = type_of(m, form, i);
    bool integers = form == GEN_WHOLE || (form == GEN_VALUE && m->compute > KNI_COMPUTE_F64);
    char text[96];
    switch (s->kind) {
    case KNI_STEP_INPUT:
        m->asked[s->index] = true;
        snprintf(text, sizeof text, "x%d[k]", s->index);
        break;
    case KNI_STEP_CONSTANT:
        if (integers)
            snprintf(text, sizeof text, "%.0f", s->value);
        else
            snprintf(text, sizeof text, "(%s)%.17g", type, s->value);
        break;
    case KNI_STEP_PARAM:
        snprintf(text, sizeof text, "(%s)numbers[%d].%s", type, s->index, integers ? "whole" : "real");
        break;
    case KNI_STEP_ELEMENT:
        snprintf(text, sizeof text, integers ? "first + k" : "(%s)((double)first + (double)k)", type);
        break;
    case KNI_STEP_CHOICE:
        snprintf(text, sizeof text, "(int)(choices >> %d & 1)", s->index);
        break;
    case KNI_STEP_DRAW:
        snprintf(text, sizeof text, "words[%d * KNI_MADE_STRIP + k]", s->index);
        break;
    default:
        m->failed = true;
        return;
    }
    define(m, i, form, text);
}

/* Integers of 31 bits become reals faster than those of 64. */
static void print_real(gen_made *m, int i)
{
    char text[128];
    int of = node_of(m, i)->in[0];
    gen_made_node(m, of, GEN_WHOLE);
    snprintf(text, sizeof text, "(%s)(%s)%s", gen_types[m->compute].name,
             bound_of(m->tree, of) <= INT32_MAX ? "int32_t" : "int64_t", m->result);
    define(m, i, GEN_VALUE, text);
}

void gen_made_node(gen_made *m, int i, gen_form form)
{
    if (m->done[i][form]) {
        snprintf(m->result, sizeof m->result, "%c%d", "vtcs"[form], i);
        return;
    }
    switch (node_of(m, i)->step.kind) {
    case KNI_STEP_SELECT:
        print_select(m, i, form);
        return;
    case KNI_STEP_AND:
        print_logic(m, i, "&");
        return;
    case KNI_STEP_OR:
        print_logic(m, i, "|");
        return;
    case KNI_STEP_XOR:
        print_logic(m, i, "^");
        return;
    case KNI_STEP_NOT:
        print_logic(m, i, "!");
        return;
    case KNI_STEP_REAL:
        print_real(m, i);
        return;
    case KNI_STEP_WORD:
        print_word(m, i, form);
        return;
    default:
        print_leaf(m, i, form);
    }
}
