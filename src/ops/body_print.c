/* From the tree of a body to a formula, with as few parentheses as the operators allow. */
#include "ops/body_print.h"
#include "ops/word_numbers.h"

enum { CHOICE, OR, AND, EQUAL, ORDER, SUM, PRODUCT, SIGN, WHOLE }; /* how tightly it binds */

static const struct {
    uint8_t word, binds;
    const char *sign;
} operators[] = {
    {KNI_WORD_add, SUM, " + "},     {KNI_WORD_sub, SUM, " - "},   {KNI_WORD_mul, PRODUCT, " * "},
    {KNI_WORD_div, PRODUCT, " / "}, {KNI_WORD_eq, EQUAL, " == "}, {KNI_WORD_ne, EQUAL, " != "},
    {KNI_WORD_lt, ORDER, " < "},    {KNI_WORD_le, ORDER, " <= "}, {KNI_WORD_gt, ORDER, " > "},
    {KNI_WORD_ge, ORDER, " >= "},
};

typedef struct printer {
    const kni_body_tree *tree;
    const char *const *operands, *const *scalars;
    kni_text *text;
} printer;

static void print(const printer *p, int i, int binds);

static void print_between(const printer *p, const kni_body_node *n, const char *sign, int own, int binds)
{
    if (own < binds) kni_text_char(p->text, '(');
    print(p, n->in[0], own);
    kni_text_string(p->text, sign);
    print(p, n->in[1], own + 1);
    if (own < binds) kni_text_char(p->text, ')');
}

static void print_call(const printer *p, const kni_body_node *n, const char *name)
{
    kni_text_format(p->text, "%s(", name);
    for (int k = 0; k < n->n_in; k++) {
        if (k) kni_text_string(p->text, ", ");
        print(p, n->in[k], CHOICE);
    }
    kni_text_char(p->text, ')');
}

static void print_word(const printer *p, const kni_body_node *n, int binds)
{
    for (size_t k = 0; k < sizeof operators / sizeof *operators; k++)
        if (operators[k].word == n->step.index) {
            print_between(p, n, operators[k].sign, operators[k].binds, binds);
            return;
        }
    if (n->step.index != KNI_WORD_neg) {
        print_call(p, n, kni_word_at(n->step.index)->name);
        return;
    }
    if (SIGN < binds) kni_text_char(p->text, '(');
    kni_text_char(p->text, '-');
    print(p, n->in[0], SIGN);
    if (SIGN < binds) kni_text_char(p->text, ')');
}

static void print_choice(const printer *p, const kni_body_node *n, int binds)
{
    if (binds > CHOICE) kni_text_char(p->text, '(');
    print(p, n->in[0], CHOICE + 1);
    kni_text_string(p->text, " ? ");
    print(p, n->in[1], CHOICE + 1);
    kni_text_string(p->text, " : ");
    print(p, n->in[2], CHOICE);
    if (binds > CHOICE) kni_text_char(p->text, ')');
}

static void print_leaf(const printer *p, const kni_step *s)
{
    if (s->kind == KNI_STEP_INPUT)
        kni_text_string(p->text, p->operands[s->index]);
    else if (s->kind == KNI_STEP_PARAM)
        kni_text_string(p->text, p->scalars[s->index]);
    else if (s->kind == KNI_STEP_CONSTANT)
        kni_text_format(p->text, "%g", s->value);
    else
        kni_text_string(p->text, s->kind == KNI_STEP_PLACE ? "k" : "n");
}

static void print(const printer *p, int i, int binds)
{
    const kni_body_node *n = &p->tree->nodes[i];
    switch (n->step.kind) {
    case KNI_STEP_WORD:
        print_word(p, n, binds);
        break;
    case KNI_STEP_SELECT:
        print_choice(p, n, binds);
        break;
    case KNI_STEP_AND:
        print_between(p, n, " && ", AND, binds);
        break;
    case KNI_STEP_OR:
        print_between(p, n, " || ", OR, binds);
        break;
    case KNI_STEP_XOR:
        print_call(p, n, "xor");
        break;
    case KNI_STEP_NOT:
        kni_text_char(p->text, '!');
        print(p, n->in[0], WHOLE);
        break;
    case KNI_STEP_EXPN:
        print_call(p, n, "expn");
        break;
    case KNI_STEP_AT:
        print_call(p, n, "at");
        break;
    case KNI_STEP_REAL:
        print_call(p, n, "real");
        break;
    case KNI_STEP_REQUIRE:
        print_call(p, n, "require");
        break;
    case KNI_STEP_LINE:
        print_call(p, n, kni_line_word_name(n->step.index));
        break;
    default:
        print_leaf(p, &n->step);
        break;
    }
}

void kni_graph_print(const kni_body_graph *g, int root, const char *const *operands,
                     const char *const *scalars, kni_text *text)
{
    const printer p = {&g->tree, operands, scalars, text};
    print(&p, root, CHOICE);
}
