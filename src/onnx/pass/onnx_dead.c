/* Removes nodes of which nobody reads a result, and says of results that can be left out that nobody reads them. */
#include "onnx/pass/graph_edit.h"
#include "onnx/run/custom_operator.h"
#include <string.h>

/* Operators that make results beside the first only where they are wanted. Those of batch norm are not here: asking for them means to
   train. */
static const char *const optional[] = {"Dropout",
                                       "MaxPool",
                                       "LayerNormalization",
                                       "SimplifiedLayerNormalization",
                                       "SkipLayerNormalization",
                                       "SkipSimplifiedLayerNormalization",
                                       "EmbedLayerNormalization",
                                       "LSTM",
                                       "GRU",
                                       "RNN"};

/* Classifiers, which can do without their first result, the labels. */
static const char *const labelled[] = {"LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier"};

static void leave_out(kni_edit *p, kni_onnx_node *node)
{
    bool known = false, any = false;
    int32_t first = 1;
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++) known |= !strcmp(optional[i], node->op);
    for (size_t i = 0; i < sizeof labelled / sizeof *labelled; i++)
        if (!strcmp(labelled[i], node->op)) known = true, first = 0;
    for (int32_t k = first; k < node->n_out; k++) any |= node->out[k] >= 0 && !p->uses[node->out[k]];
    int32_t *out = known && any ? kni_edit_memory(p, (size_t)node->n_out, sizeof *out) : NULL;
    if (!out) return;
    for (int32_t k = 0; k < node->n_out; k++) {
        bool unread = k >= first && node->out[k] >= 0 && !p->uses[node->out[k]];
        if (unread) p->model->values[node->out[k]].node = -1;
        out[k] = unread ? -1 : node->out[k];
    }
    node->out = out;
    p->changes++;
}

static bool has_graphs(const kni_onnx_node *node)
{
    for (int32_t k = 0; k < node->n_attributes; k++)
        if (node->attributes[k].graphs) return true;
    return false;
}

/* From the last node to the first, so that what only dead nodes read is dead too. What inner graphs of a dead node read is found out in
   the next round. */
static void visit(kni_edit *p, kni_onnx_graph *graph)
{
    for (int32_t i = graph->n_nodes - 1; i >= 0; i--) {
        kni_onnx_node *node = &graph->nodes[i];
        bool read = false;
        for (int32_t k = 0; k < node->n_out; k++) read |= node->out[k] >= 0 && p->uses[node->out[k]];
        if (!*node->op || kni_onnx_custom_of(node)) continue; /* a user's may do more than give results */
        if (read) {
            leave_out(p, node);
            continue;
        }
        for (int32_t k = 0; k < node->n_in; k++)
            if (node->in[k] >= 0) p->uses[node->in[k]]--;
        for (int32_t k = 0; k < node->n_out; k++)
            if (node->out[k] >= 0) p->model->values[node->out[k]].node = -1;
        p->changes++;
        if (has_graphs(node)) node->n_attributes = 0;
        kni_edit_remove(p, node);
    }
}

void kni_edit_dead(kni_edit *p) { kni_edit_each_graph(p, visit); }
