/* Trees of bodies, made node by node. */
#include "ops/body_graph.h"
#include "ops/word_numbers.h"
#include <string.h>

/* ---- nodes */

static bool is_same(const kni_body_node *a, const kni_body_node *b)
{
    return a->step.kind == b->step.kind && a->step.index == b->step.index && a->n_in == b->n_in &&
           !memcmp(&a->step.value, &b->step.value, sizeof a->step.value) && !memcmp(a->in, b->in, a->n_in);
}

static int add(kni_body_graph *g, const kni_body_node *node)
{
    kni_body_tree *t = &g->tree;
    for (int i = 0; i < t->n; i++)
        if (is_same(&t->nodes[i], node)) return i;
    if (t->n == KNI_BODY_MAX_STEPS) g->full = true;
    if (g->full) return 0;
    t->nodes[t->n] = *node;
    return t->n++;
}

int kni_graph_node(kni_body_graph *g, kni_step step, const int *in, int n_in)
{
    kni_body_node node = {.step = step, .n_in = (uint8_t)n_in};
    for (int i = 0; i < n_in; i++) node.in[i] = (uint8_t)in[i];
    node.level = kni_body_level(&g->tree, &node);
    return add(g, &node);
}

int kni_graph_operand(kni_body_graph *g, int index, int level)
{
    return add(
        g, &(kni_body_node){.step = {KNI_STEP_INPUT, (uint8_t)index, 0}, .n_in = 0, .level = (uint8_t)level});
}

int kni_graph_constant(kni_body_graph *g, double value)
{
    return kni_graph_node(g, (kni_step){KNI_STEP_CONSTANT, 0, value}, NULL, 0);
}

static bool is_constant(const kni_body_graph *g, int i, double value)
{
    const kni_step *s = &g->tree.nodes[i].step;
    return s->kind == KNI_STEP_CONSTANT && s->value == value;
}

int kni_graph_word(kni_body_graph *g, int word, int a, int b)
{
    if (word == KNI_WORD_mul && is_constant(g, a, 1)) return b;
    if ((word == KNI_WORD_mul || word == KNI_WORD_div) && is_constant(g, b, 1)) return a;
    int in[2] = {a, b};
    return kni_graph_node(g, (kni_step){KNI_STEP_WORD, (uint8_t)word, 0}, in, kni_word_at(word)->arity);
}

int kni_graph_line(kni_body_graph *g, int line_word, int a)
{
    return kni_graph_node(g, (kni_step){KNI_STEP_LINE, (uint8_t)line_word, 0}, &a, 1);
}

int kni_graph_select(kni_body_graph *g, int truth, int yes, int no)
{
    int in[3] = {truth, yes, no};
    return kni_graph_node(g, (kni_step){KNI_STEP_SELECT, 0, 0}, in, 3);
}

void kni_graph_body(kni_body_graph *g, const kni_body *body, const int *in, int *results)
{
    kni_body_tree tree;
    int nodes[KNI_BODY_MAX_STEPS];
    kni_body_tree_of(body, &tree);
    for (int i = 0; i < tree.n; i++) {
        const kni_body_node *n = &tree.nodes[i];
        int from[3] = {0, 0, 0};
        for (int k = 0; k < n->n_in; k++) from[k] = nodes[n->in[k]];
        if (n->step.kind == KNI_STEP_INPUT)
            nodes[i] = in[n->step.index];
        else if (n->step.kind == KNI_STEP_CONSTANT)
            nodes[i] = kni_graph_constant(g, n->step.value);
        else if (n->step.kind == KNI_STEP_WORD)
            nodes[i] = kni_graph_word(g, n->step.index, from[0], from[1]);
        else
            nodes[i] = kni_graph_node(g, n->step, from, n->n_in);
    }
    for (int k = 0; k < body->n_out; k++) results[k] = nodes[tree.results[k]];
}

/* ---- steps */

typedef struct writer {
    const kni_body_tree *tree;
    const uint8_t *numbers;
    kni_step *steps;
    int n, max, n_locals, depth;
    uint8_t uses[KNI_BODY_MAX_STEPS]; /* of nodes below the root */
    int16_t local[KNI_BODY_MAX_STEPS];
    bool failed;
} writer;

static bool is_leaf(const kni_body_node *n) { return n->n_in == 0; }

static void put(writer *w, kni_step step, int change)
{
    if (w->n == w->max) w->failed = true;
    if (!w->failed) w->steps[w->n++] = step;
    w->depth += change;
    if (w->depth > KNI_BODY_STACK) w->failed = true;
}

static void put_node(writer *w, int i);

/* The value on the stack: what is used again is read from its local. */
static void put_value(writer *w, int i)
{
    if (w->local[i] >= 0)
        put(w, (kni_step){KNI_STEP_LOCAL, (uint8_t)w->local[i], 0}, 1);
    else
        put_node(w, i);
}

static void put_node(writer *w, int i)
{
    const kni_body_node *n = &w->tree->nodes[i];
    kni_step step = n->step;
    if (step.kind == KNI_STEP_INPUT) step.index = w->numbers[step.index];
    for (int k = 0; k < n->n_in && !w->failed; k++) put_value(w, n->in[k]);
    put(w, step, 1 - n->n_in);
}

static void count_uses(writer *w, int root)
{
    w->uses[root] = 1;
    for (int i = root; i >= 0; i--) {
        if (!w->uses[i]) continue;
        const kni_body_node *n = &w->tree->nodes[i];
        for (int k = 0; k < n->n_in; k++)
            if (w->uses[n->in[k]] < 255) w->uses[n->in[k]]++;
    }
}

/* How much of the stack a node takes when nothing below it has a local. */
static int need_of(const writer *w, const int *needs, int i)
{
    const kni_body_node *n = &w->tree->nodes[i];
    int need = 1;
    for (int k = 0; k < n->n_in; k++) {
        int below = w->local[n->in[k]] >= 0 ? 1 : needs[n->in[k]];
        if (k + below > need) need = k + below;
    }
    return need;
}

int kni_graph_steps(const kni_body_graph *g, int root, const uint8_t *numbers, kni_step *steps, int max)
{
    enum { DEEP = KNI_BODY_STACK / 2 };
    writer w = {.tree = &g->tree, .numbers = numbers, .steps = steps, .max = max};
    int needs[KNI_BODY_MAX_STEPS];
    count_uses(&w, root);
    /* A node comes behind what it takes, so that locals are stored before they are read. */
    for (int i = 0; i <= root && !w.failed; i++) {
        w.local[i] = -1;
        if (!w.uses[i]) continue;
        needs[i] = need_of(&w, needs, i);
        if (i == root || is_leaf(&g->tree.nodes[i]) || (w.uses[i] == 1 && needs[i] < DEEP)) continue;
        put_node(&w, i);
        if (w.n_locals == KNI_BODY_MAX_LOCALS) w.failed = true;
        w.local[i] = (int16_t)w.n_locals;
        put(&w, (kni_step){KNI_STEP_STORE, (uint8_t)w.n_locals++, 0}, -1);
    }
    if (!w.failed) put_value(&w, root);
    return w.failed ? 0 : w.n;
}

/* Which nodes the value of `root` depends on. */
static void find_needed(const kni_body_graph *g, int root, bool *needed)
{
    memset(needed, 0, KNI_BODY_MAX_STEPS * sizeof *needed);
    needed[root] = true;
    for (int i = root; i >= 0; i--) {
        const kni_body_node *n = &g->tree.nodes[i];
        for (int k = 0; k < n->n_in && needed[i]; k++) needed[n->in[k]] = true;
    }
}

uint32_t kni_graph_operands(const kni_body_graph *g, int root)
{
    bool needed[KNI_BODY_MAX_STEPS];
    uint32_t operands = 0;
    find_needed(g, root, needed);
    for (int i = root; i >= 0; i--) {
        const kni_step *s = &g->tree.nodes[i].step;
        if (needed[i] && s->kind == KNI_STEP_INPUT) operands |= 1u << s->index;
    }
    return operands;
}

int kni_graph_words(const kni_body_graph *g, int root)
{
    bool needed[KNI_BODY_MAX_STEPS];
    int n = 0;
    find_needed(g, root, needed);
    for (int i = root; i >= 0; i--) n += needed[i] && g->tree.nodes[i].n_in > 0;
    return n;
}
