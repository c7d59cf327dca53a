/* The whole model: its graph is linked, and what is left to number and to name is done at the end. */
#include "onnx/read/linker.h"
#include <string.h>

/* Graphs come behind the node that has them. The depth is bounded by what linking allowed. */
static kn_status number_nodes(kni_linker *l, kni_onnx_graph *graph)
{
    kn_status status = KN_OK;
    for (int32_t i = 0; i < graph->n_nodes && !status; i++) {
        kni_onnx_node *n = &graph->nodes[i];
        n->place = l->model->n_nodes++;
        if (!*n->name) n->name = kni_onnx_arena_format(l->r->keep, "%s_%d", n->op, (int)n->place);
        if (!n->name) return kni_reader_memory(l->r);
        for (int32_t a = 0; a < n->n_attributes; a++)
            for (int64_t k = 0; n->attributes[a].graphs && k < n->attributes[a].count && !status; k++)
                status = number_nodes(l, n->attributes[a].graphs[k]);
    }
    return status;
}

static kn_status keep_values(kni_linker *l)
{
    kni_onnx_model *m = l->model;
    m->n_values = l->values.count;
    m->values = kni_onnx_arena_take(l->r->keep, (size_t)m->n_values, sizeof *m->values);
    if (!m->values) return kni_reader_memory(l->r);
    if (m->n_values) memcpy(m->values, l->values.items, (size_t)m->n_values * sizeof *m->values);
    return KN_OK;
}

kn_status kni_link_model(kni_model_reader *r, kni_onnx_model *model, const kni_raw_model *raw)
{
    kni_linker l = {r, model, raw, {0}, {0}, 0, 0, 0};
    kni_link_scope top = {NULL, {0}, NULL, model->opsets, model->n_opsets};
    kn_status status = kni_link_functions(&l);
    if (!status) status = kni_link_graph(&l, raw->graph, &top, NULL, &model->graph);
    if (!status) status = keep_values(&l);
    return status ? status : number_nodes(&l, model->graph);
}
