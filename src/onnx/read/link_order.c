/* Nodes of a graph whose file has them in another order than they can run in. */
#include "onnx/read/linker.h"
#include <string.h>

typedef struct walk_step {
    int32_t node;
    int32_t input, capture; /* that are looked at next */
} walk_step;

typedef struct walk {
    kni_linker *l;
    kni_graph_builder *b;
    kni_onnx_node *nodes;
    int32_t *first;  /* of each node: its captures, in values */
    int32_t *values; /* captured */
    int32_t *order;  /* nodes, as they will be */
    uint8_t *state;  /* of each node */
    walk_step *steps;
    int32_t n_steps, done;
} walk;

enum { UNSEEN, OPEN, DONE };

static bool take(kni_linker *l, void *list, size_t count, size_t size)
{
    void *items = kni_onnx_arena_take(l->r->scratch, count, size);
    memcpy(list, &items, sizeof items);
    return items != NULL;
}

static kn_status begin(walk *w)
{
    size_t n = (size_t)w->b->nodes.count;
    const kni_link_capture *captures = w->b->captures.items;
    int32_t n_captures = w->b->captures.count;
    if (!take(w->l, &w->first, n + 2, sizeof *w->first) || !take(w->l, &w->order, n, sizeof *w->order) ||
        !take(w->l, &w->values, (size_t)n_captures, sizeof *w->values) ||
        !take(w->l, &w->state, n, sizeof *w->state) || !take(w->l, &w->steps, n, sizeof *w->steps))
        return kni_reader_memory(w->l->r);
    /* first[i + 2] counts, first[i + 1] is filled on the way, first[i] is left. */
    for (int32_t i = 0; i < n_captures; i++) w->first[captures[i].node + 2]++;
    for (size_t i = 2; i < n + 2; i++) w->first[i] += w->first[i - 1];
    for (int32_t i = 0; i < n_captures; i++) w->values[w->first[captures[i].node + 1]++] = captures[i].value;
    return KN_OK;
}

/* The next value that the node reads; -1: there is none left. */
static int32_t next_value(walk *w, walk_step *s)
{
    const kni_onnx_node *n = &w->nodes[s->node];
    while (s->input < n->n_in) {
        int32_t value = n->in[s->input++];
        if (value >= 0) return value;
    }
    return s->capture < w->first[s->node + 1] ? w->values[s->capture++] : -1;
}

static void enter(walk *w, int32_t node)
{
    w->state[node] = OPEN;
    w->steps[w->n_steps++] = (walk_step){node, 0, w->first[node]};
}

static kn_status visit(walk *w, int32_t root)
{
    enter(w, root);
    while (w->n_steps) {
        walk_step *s = &w->steps[w->n_steps - 1];
        int32_t value = next_value(w, s);
        if (value < 0) {
            w->state[s->node] = DONE;
            w->order[w->done++] = s->node;
            w->n_steps--;
            continue;
        }
        const kni_onnx_value *v = kni_link_value(w->l, value);
        if (v->graph != w->b->graph || v->node < 0 || w->state[v->node] == DONE) continue;
        if (w->state[v->node] == OPEN) {
            const kni_onnx_node *n = &w->nodes[s->node];
            return kni_reader_damaged(w->l->r,
                                      "node '%s' (%s) reads '%s', which is made of what it makes itself",
                                      n->name, n->op, v->name);
        }
        enter(w, v->node);
    }
    return KN_OK;
}

kn_status kni_link_order(kni_linker *l, kni_graph_builder *b)
{
    walk w = {l, b, b->nodes.items, NULL, NULL, NULL, NULL, NULL, 0, 0};
    kni_onnx_node *sorted = NULL;
    int32_t n = b->nodes.count;
    kn_status status = begin(&w);
    for (int32_t i = 0; i < n && !status; i++)
        if (w.state[i] == UNSEEN) status = visit(&w, i);
    if (!status && !take(l, &sorted, (size_t)n, sizeof *sorted)) status = kni_reader_memory(l->r);
    for (int32_t i = 0; i < n && !status; i++) {
        sorted[i] = w.nodes[w.order[i]];
        for (int32_t k = 0; k < sorted[i].n_out; k++)
            if (sorted[i].out[k] >= 0) kni_link_value(l, sorted[i].out[k])->node = i;
    }
    b->nodes.items = sorted;
    return status;
}
