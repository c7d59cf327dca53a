/* Plans a model: the converter of each node, and after which node nobody reads a value any more. */
#include "onnx/run/model_plan.h"
#include "support/failure.h"
#include <stdlib.h>
#include <string.h>

/* A graph being walked, and the node that it is in. */
typedef struct place {
    const kni_onnx_graph *graph;
    const kni_onnx_node *node;
    const struct place *outer;
} place;

typedef struct walk {
    kni_onnx_plan *plan;
    int32_t *last;   /* by value: the place of the last node of its own graph that reads it; -1: none */
    bool *is_output; /* by value: a result of its graph, which is left when the graph ends */
} walk;

/* A value is read: by this node, or by the node of its own graph that has this one inside. */
static void note_read(const walk *w, int32_t value, const place *at)
{
    if (value < 0) return;
    const kni_onnx_graph *owner = w->plan->model->values[value].graph;
    for (; at; at = at->outer)
        if (at->graph == owner) {
            if (at->node) w->last[value] = at->node->place;
            return;
        }
}

static void walk_graph(const walk *w, const kni_onnx_graph *graph, const place *outer)
{
    place here = {graph, NULL, outer};
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const kni_onnx_node *node = &graph->nodes[i];
        kni_planned_node *planned = &w->plan->nodes[node->place];
        here.node = node;
        planned->converter = kni_onnx_converter_of(node, &planned->reason);
        for (int32_t k = 0; k < node->n_in; k++) note_read(w, node->in[k], &here);
        /* What nobody reads ends where it is made. */
        for (int32_t k = 0; k < node->n_out; k++) note_read(w, node->out[k], &here);
        for (int32_t k = 0; k < node->n_attributes; k++)
            for (int64_t g = 0; node->attributes[k].graphs && g < node->attributes[k].count; g++)
                walk_graph(w, node->attributes[k].graphs[g], &here);
    }
    here.node = NULL;
    for (int32_t k = 0; k < graph->n_outputs; k++) {
        if (graph->outputs[k] < 0) continue;
        note_read(w, graph->outputs[k], &here);
        if (w->plan->model->values[graph->outputs[k]].graph == graph) w->is_output[graph->outputs[k]] = true;
    }
}

static bool ends(const walk *w, int32_t value)
{
    const kni_onnx_model *model = w->plan->model;
    return w->last[value] >= 0 && !w->is_output[value] && !model->values[value].initializer;
}

/* The lists of values, one after the other in the model's memory. */
static kn_status list_ends(const walk *w)
{
    const kni_onnx_model *model = w->plan->model;
    int32_t *list = kni_onnx_arena_take(model->arena, (size_t)model->n_values + 1, sizeof *list);
    if (!list) return kni_failure_memory("kn_onnx_load");
    for (int32_t v = 0; v < model->n_values; v++)
        if (ends(w, v)) w->plan->nodes[w->last[v]].n_ends++;
    for (int32_t i = 0; i < model->n_nodes; i++) {
        kni_planned_node *node = &w->plan->nodes[i];
        node->ends = list;
        list += node->n_ends;
        node->n_ends = 0;
    }
    for (int32_t v = 0; v < model->n_values; v++) {
        if (!ends(w, v)) continue;
        kni_planned_node *node = &w->plan->nodes[w->last[v]];
        ((int32_t *)(uintptr_t)node->ends)[node->n_ends++] = v;
    }
    return KN_OK;
}

kn_status kni_onnx_plan_make(kni_onnx_plan *plan)
{
    kni_onnx_model *model = plan->model;
    size_t n = (size_t)model->n_values + 1;
    walk w = {plan, malloc(n * sizeof *w.last), calloc(n, sizeof *w.is_output)};
    plan->nodes = kni_onnx_arena_take(model->arena, (size_t)model->n_nodes + 1, sizeof *plan->nodes);
    plan->constants = kni_onnx_arena_take(model->arena, n, sizeof(kni_stored *));
    kn_status s =
        w.last && w.is_output && plan->nodes && plan->constants ? KN_OK : kni_failure_memory("kn_onnx_load");
    if (s == KN_OK) {
        memset(w.last, 0xff, n * sizeof *w.last);
        walk_graph(&w, model->graph, NULL);
        s = list_ends(&w);
    }
    free(w.last);
    free(w.is_output);
    return s;
}
