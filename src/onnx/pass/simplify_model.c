/* Runs passes: counts readers before each, and removes what it left behind. */
#include "onnx/pass/graph_edit.h"
#include "support/failure.h"
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

/* ---- walking */

/* Graphs lie at most as deep in each other as the reader takes them. */
static void each_graph(kni_edit *p, kni_onnx_graph *graph, void (*visit)(kni_edit *, kni_onnx_graph *))
{
    for (int32_t i = 0; i < graph->n_nodes; i++)
        for (int32_t k = 0; k < graph->nodes[i].n_attributes; k++) {
            const kni_onnx_attribute *a = &graph->nodes[i].attributes[k];
            for (int64_t g = 0; a->graphs && g < a->count; g++) each_graph(p, a->graphs[g], visit);
        }
    visit(p, graph);
}

void kni_edit_each_graph(kni_edit *p, void (*visit)(kni_edit *p, kni_onnx_graph *graph))
{
    each_graph(p, p->model->graph, visit);
}

static void each_node(kni_edit *p, kni_onnx_graph *graph, void (*visit)(kni_edit *, kni_onnx_node *))
{
    for (int32_t i = 0; i < graph->n_nodes && !p->failed; i++) {
        kni_onnx_node *node = &graph->nodes[i];
        for (int32_t k = 0; k < node->n_attributes; k++)
            for (int64_t g = 0; node->attributes[k].graphs && g < node->attributes[k].count; g++)
                each_node(p, node->attributes[k].graphs[g], visit);
        if (*node->op) visit(p, node);
    }
}

void kni_edit_each(kni_edit *p, void (*visit)(kni_edit *p, kni_onnx_node *node))
{
    each_node(p, p->model->graph, visit);
}

/* ---- readers */

static void count_graph(kni_edit *p, kni_onnx_graph *graph)
{
    for (int32_t i = 0; i < graph->n_nodes; i++)
        for (int32_t k = 0; k < graph->nodes[i].n_in; k++)
            if (graph->nodes[i].in[k] >= 0) p->uses[graph->nodes[i].in[k]]++;
    for (int32_t k = 0; k < graph->n_outputs; k++)
        if (graph->outputs[k] >= 0) {
            p->uses[graph->outputs[k]]++;
            p->given[graph->outputs[k]] = true;
        }
}

static void count(kni_edit *p)
{
    memset(p->uses, 0, sizeof *p->uses * (size_t)p->room);
    memset(p->given, 0, sizeof *p->given * (size_t)p->room);
    memset(p->settable, 0, sizeof *p->settable * (size_t)p->room);
    const kni_onnx_graph *graph = p->model->graph;
    for (int32_t i = 0; i < graph->n_defaults; i++) p->settable[graph->inputs[graph->n_inputs + i]] = true;
    for (int32_t v = 0; v < p->room; v++) p->instead[v] = v;
    kni_edit_each_graph(p, count_graph);
}

/* ---- settling */

/* Lists may be shared between nodes, so that a changed one is a copy. */
static const int32_t *settled(kni_edit *p, const int32_t *list, int32_t n)
{
    bool same = true;
    for (int32_t k = 0; k < n; k++) same &= kni_edit_now(p, list[k]) == list[k];
    int32_t *copy = same ? NULL : kni_edit_memory(p, (size_t)n, sizeof *copy);
    for (int32_t k = 0; copy && k < n; k++) copy[k] = kni_edit_now(p, list[k]);
    return copy ? copy : list;
}

static void settle_graph(kni_edit *p, kni_onnx_graph *graph)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        kni_onnx_node *node = &graph->nodes[i];
        if (!*node->op) continue;
        node->in = settled(p, node->in, node->n_in);
        for (int32_t k = 0; k < node->n_out; k++)
            if (node->out[k] >= 0) p->model->values[node->out[k]].node = kept;
        if (kept != i) graph->nodes[kept] = *node;
        kept++;
    }
    graph->n_nodes = kept;
    graph->outputs = settled(p, graph->outputs, graph->n_outputs);
}

/* Places of nodes in their order, those of inner graphs behind the node that has them. */
static void number_graph(kni_onnx_model *model, kni_onnx_graph *graph)
{
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        kni_onnx_node *node = &graph->nodes[i];
        node->place = model->n_nodes++;
        for (int32_t k = 0; k < node->n_attributes; k++)
            for (int64_t g = 0; node->attributes[k].graphs && g < node->attributes[k].count; g++)
                number_graph(model, node->attributes[k].graphs[g]);
    }
}

/* ---- passes */

static void (*const passes[])(kni_edit *) = {
    [KNI_ONNX_PASS_CONSTANTS] = kni_edit_constants, [KNI_ONNX_PASS_IDENTITIES] = kni_edit_identities,
    [KNI_ONNX_PASS_COMMON] = kni_edit_common,       [KNI_ONNX_PASS_AFFINE] = kni_edit_affine,
    [KNI_ONNX_PASS_NORMS] = kni_edit_norms,         [KNI_ONNX_PASS_ACTIVATIONS] = kni_edit_activations,
    [KNI_ONNX_PASS_QUANTIZED] = kni_edit_quantized, [KNI_ONNX_PASS_ROPE] = kni_edit_rope,
    [KNI_ONNX_PASS_ATTENTION] = kni_edit_attention, [KNI_ONNX_PASS_DEAD] = kni_edit_dead,
};

/* Room for the values that there are; new ones have no readers. */
static bool make_room(kni_edit *p)
{
    int32_t wanted = p->model->n_values + 1; /* never an empty list */
    if (wanted <= p->room) return true;
    wanted += wanted / 2 + 16;
    int32_t *uses = realloc(p->uses, sizeof *uses * (size_t)wanted);
    if (uses) p->uses = uses;
    int32_t *instead = realloc(p->instead, sizeof *instead * (size_t)wanted);
    if (instead) p->instead = instead;
    bool *given = realloc(p->given, sizeof *given * (size_t)wanted);
    if (given) p->given = given;
    bool *settable = realloc(p->settable, sizeof *settable * (size_t)wanted);
    if (settable) p->settable = settable;
    if (!uses || !instead || !given || !settable) return false;
    for (int32_t v = p->room; v < wanted; v++) {
        p->uses[v] = 0;
        p->instead[v] = v;
        p->given[v] = p->settable[v] = false;
    }
    p->room = wanted;
    return true;
}

static int32_t new_value(kni_edit *p)
{
    kni_onnx_model *model = p->model;
    if (model->n_values >= INT32_MAX / 4) return -1;
    if (model->n_values >= p->values_room) {
        int32_t room = model->n_values + model->n_values / 2 + 16;
        kni_onnx_value *values = kni_edit_memory(p, (size_t)room, sizeof *values);
        if (!values) return -1;
        if (model->n_values) memcpy(values, model->values, sizeof *values * (size_t)model->n_values);
        model->values = values;
        p->values_room = room;
    }
    model->n_values++;
    return make_room(p) ? model->n_values - 1 : -1;
}

int32_t kni_edit_new_constant(kni_edit *p, const kni_onnx_graph *graph, const char *name, int32_t type,
                              const int64_t *sizes, int32_t rank, void **data)
{
    const size_t bytes = (size_t)kn_dtype_bytes(kni_onnx_dtype(type), 1);
    int64_t count = 1;
    for (int32_t i = 0; i < rank; i++)
        if (__builtin_mul_overflow(count, sizes[i], &count) || count < 0) return -1;
    kni_onnx_tensor *t = kni_edit_memory(p, 1, sizeof *t);
    int64_t *dims = kni_edit_memory(p, (size_t)rank, sizeof *dims);
    *data = kni_edit_memory(p, (size_t)count, bytes);
    int32_t value = *data ? new_value(p) : -1;
    if (value < 0 || p->failed) {
        p->failed = true;
        return -1;
    }
    if (rank) memcpy(dims, sizes, sizeof *dims * (size_t)rank);
    *t = (kni_onnx_tensor){.name = name,
                           .type = type,
                           .rank = rank,
                           .sizes = dims,
                           .count = count,
                           .data = *data,
                           .bytes = (size_t)count * bytes};
    p->model->values[value] = (kni_onnx_value){.name = name, .initializer = t, .graph = graph, .node = -1};
    return value;
}

static int64_t run(kni_edit *p, kni_onnx_pass pass)
{
    p->changes = 0;
    if (!make_room(p)) return -1;
    count(p);
    passes[pass](p);
    kni_edit_each_graph(p, settle_graph);
    p->model->n_nodes = 0;
    number_graph(p->model, p->model->graph);
    return p->failed ? -1 : p->changes;
}

static void end(kni_edit *p)
{
    free(p->uses);
    free(p->instead);
    free(p->given);
    free(p->settable);
}

int64_t kni_onnx_run_pass(kni_onnx_model *model, kni_onnx_pass pass)
{
    kni_edit p = {.model = model};
    int64_t changes = run(&p, pass);
    end(&p);
    return changes;
}

/* Patterns are looked for once what stands in their way is gone; each pass leaves less than it found, so that this ends, and a bound on the
   rounds is there for what that sentence forgets. */
static bool is_left_out(const kni_onnx_passes *which, int pass)
{
    return which && ((which->constants_alone && pass != KNI_ONNX_PASS_CONSTANTS) ||
                     (which->keep_weights && pass == KNI_ONNX_PASS_AFFINE));
}

kn_status kni_onnx_simplify(kni_onnx_model *model, const kni_onnx_passes *which)
{
    kni_edit p = {.model = model,
                  .keep_weights = which && which->keep_weights,
                  .keep_stored = which && which->keep_stored};
    int64_t changes = 1;
    for (int round = 0; round < 16 && changes > 0; round++) {
        changes = 0;
        for (int pass = 0; pass < KNI_ONNX_PASS_COUNT && changes >= 0; pass++) {
            int64_t found = is_left_out(which, pass) ? 0 : run(&p, (kni_onnx_pass)pass);
            changes = found < 0 ? -1 : changes + found;
        }
    }
    end(&p);
    return changes < 0 ? kni_failure_memory("kn_onnx_load") : KN_OK;
}
