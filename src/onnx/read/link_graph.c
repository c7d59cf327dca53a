/* Graphs are made of what was read: values numbered, nodes with the attributes and graphs that they have, in order. */
#include "onnx/read/linker.h"
#include <string.h>

int32_t kni_link_version(const kni_link_scope *scope, const char *domain)
{
    for (int32_t i = 0; i < scope->n_opsets; i++)
        if (!strcmp(scope->opsets[i].domain, domain)) return (int32_t)scope->opsets[i].version;
    return 1; /* the oldest files name none */
}

/* ---- nodes */

static kn_status link_attribute(kni_linker *l, const kni_link_attribute *from, kni_graph_builder *b,
                                kni_onnx_attribute *to)
{
    kn_status status = KN_OK;
    *to = from->raw->read;
    to->name = from->name;
    if (!from->raw->graphs) return KN_OK;
    kni_onnx_graph **graphs = kni_onnx_arena_take(l->r->keep, (size_t)to->count, sizeof *graphs);
    if (!graphs) return kni_reader_memory(l->r);
    to->graphs = graphs;
    for (int64_t i = 0; i < to->count && !status; i++)
        status = kni_link_graph(l, from->raw->graphs[i], from->scope, b, &graphs[i]);
    return status;
}

static kn_status attributes_of(kni_linker *l, const kni_link_scope *scope, kni_graph_builder *b,
                               const kni_raw_node *raw, kni_onnx_node *node)
{
    kni_link_attribute *from;
    kn_status status = kni_link_attributes(l, scope, raw, &from, &node->n_attributes);
    if (status) return status;
    kni_onnx_attribute *to = kni_onnx_arena_take(l->r->keep, (size_t)node->n_attributes, sizeof *to);
    if (!to) return kni_reader_memory(l->r);
    node->attributes = to;
    for (int32_t i = 0; i < node->n_attributes && !status; i++)
        status = link_attribute(l, &from[i], b, &to[i]);
    return status;
}

static kn_status inputs_of(kni_linker *l, const kni_link_scope *scope, kni_graph_builder *b,
                           const kni_raw_node *raw, kni_onnx_node *node)
{
    int32_t *in = kni_onnx_arena_take(l->r->keep, (size_t)raw->n_in, sizeof *in);
    kn_status status = in ? KN_OK : kni_reader_memory(l->r);
    for (int32_t i = 0; i < raw->n_in && !status; i++)
        status = kni_link_read(l, scope, b, raw->in[i], &in[i]);
    node->in = in;
    node->n_in = raw->n_in;
    return status;
}

/* The names were defined before, so each is there. */
static kn_status outputs_of(kni_linker *l, const kni_link_scope *scope, const kni_raw_node *raw,
                            kni_onnx_node *node, int32_t place)
{
    int32_t *out = kni_onnx_arena_take(l->r->keep, (size_t)raw->n_out, sizeof *out);
    if (!out) return kni_reader_memory(l->r);
    for (int32_t i = 0; i < raw->n_out; i++) {
        out[i] = *raw->out[i] ? kni_name_table_find(&scope->names, raw->out[i]) : -1;
        if (out[i] >= 0) kni_link_value(l, out[i])->node = place;
    }
    node->out = out;
    node->n_out = raw->n_out;
    return KN_OK;
}

kn_status kni_link_add_node(kni_linker *l, kni_graph_builder *b, const kni_onnx_node *node)
{
    kni_onnx_node *place = kni_link_add(l, &b->nodes, sizeof *place);
    if (!place) return KN_ERROR_MEMORY;
    *place = *node;
    return KN_OK;
}

/* "call/node" inside of functions; what has no name gets one at the end. */
static kn_status name_of(kni_linker *l, const kni_link_scope *scope, const kni_raw_node *raw,
                         const char **name)
{
    const char *call = scope->call ? scope->call->name : "";
    *name = raw->name;
    if (!*call) return KN_OK;
    *name = *raw->name ? kni_onnx_arena_format(l->r->keep, "%s/%s", call, raw->name) : call;
    return *name ? KN_OK : kni_reader_memory(l->r);
}

static kn_status link_node(kni_linker *l, const kni_link_scope *scope, kni_graph_builder *b,
                           const kni_raw_node *raw)
{
    kni_onnx_node node = {
        raw->op, raw->domain, raw->name, kni_link_version(scope, raw->domain), NULL, NULL, 0, 0, NULL, 0, 0};
    int32_t current = b->current, place = b->nodes.count;
    b->current = place;
    kn_status status = kni_link_add_node(l, b, &node);
    if (!status) status = kni_link_charge(l, 1 + (int64_t)raw->n_in + raw->n_out + raw->n_attributes);
    if (!status) status = name_of(l, scope, raw, &node.name);
    if (!status) status = inputs_of(l, scope, b, raw, &node);
    if (!status) status = attributes_of(l, scope, b, raw, &node);
    if (!status) status = outputs_of(l, scope, raw, &node, place);
    if (!status) ((kni_onnx_node *)b->nodes.items)[place] = node;
    b->current = current;
    return status;
}

kn_status kni_link_nodes(kni_linker *l, const kni_link_scope *scope, kni_graph_builder *b,
                         const kni_raw_node *nodes, int32_t count)
{
    kn_status status = KN_OK;
    for (int32_t i = 0; i < count && !status; i++) {
        const kni_raw_node *n = &nodes[i];
        kni_reader_place place = {l->r->place, *n->name ? "node" : "a node of operator",
                                  *n->name ? n->name : n->op};
        const kni_raw_function *function;
        l->r->place = &place;
        status = kni_link_function(l, n, &function);
        if (!status)
            status = function ? kni_link_inline(l, scope, b, n, function) : link_node(l, scope, b, n);
        l->r->place = place.outer;
    }
    return status;
}

/* ---- graphs */

static kn_status define_inputs(kni_linker *l, kni_link_scope *scope, const kni_raw_graph *raw,
                               kni_onnx_graph *g)
{
    kn_status status = KN_OK;
    int32_t *inputs = kni_onnx_arena_take(l->r->keep, (size_t)raw->n_inputs, sizeof *inputs);
    if (!inputs) return kni_reader_memory(l->r);
    g->inputs = inputs;
    for (int32_t i = 0; i < raw->n_inputs && !status; i++) {
        if (!*raw->inputs[i].name) return kni_reader_damaged(l->r, "input %d has no name", (int)i);
        inputs[i] = kni_link_new_value(l, g, raw->inputs[i].name, -1);
        if (inputs[i] < 0) return KN_ERROR_MEMORY;
        status = kni_link_define(l, scope, raw->inputs[i].name, inputs[i]);
    }
    g->n_inputs = raw->n_inputs;
    return status;
}

/* An initializer of the same name as an input is its default. What an inner graph is run with overrides it. */
static kn_status define_initializer(kni_linker *l, kni_link_scope *scope, kni_onnx_graph *g,
                                    const kni_onnx_tensor *tensor, int32_t *list)
{
    int32_t number = kni_name_table_find(&scope->names, tensor->name);
    if (!*tensor->name) return kni_reader_damaged(l->r, "an initializer has no name");
    if (number >= 0 && kni_link_value(l, number)->initializer)
        return kni_reader_damaged(l->r, "initializer '%s' is defined a second time", tensor->name);
    if (number < 0) {
        number = kni_link_new_value(l, g, tensor->name, -1);
        kn_status status = number < 0 ? KN_ERROR_MEMORY : kni_link_define(l, scope, tensor->name, number);
        if (status) return status;
    } else if (g->parent) {
        return KN_OK;
    }
    kni_link_value(l, number)->initializer = tensor;
    list[g->n_initializers++] = number;
    return KN_OK;
}

/* Inputs with a default go behind those without, both in their order. */
static kn_status part_inputs(kni_linker *l, kni_onnx_graph *g)
{
    int32_t n = g->n_inputs, kept = 0, *inputs = kni_onnx_arena_take(l->r->keep, (size_t)n, sizeof *inputs);
    if (!inputs) return kni_reader_memory(l->r);
    for (int defaults = 0; defaults < 2; defaults++) {
        if (defaults) g->n_inputs = kept;
        for (int32_t i = 0; i < n; i++)
            if ((kni_link_value(l, g->inputs[i])->initializer != NULL) == defaults)
                inputs[kept++] = g->inputs[i];
    }
    g->n_defaults = n - g->n_inputs;
    g->inputs = inputs;
    return KN_OK;
}

static kn_status define_initializers(kni_linker *l, kni_link_scope *scope, const kni_raw_graph *raw,
                                     kni_onnx_graph *g)
{
    kn_status status = KN_OK;
    int32_t *list = kni_onnx_arena_take(l->r->keep, (size_t)raw->n_initializers, sizeof *list);
    if (!list) return kni_reader_memory(l->r);
    g->initializers = list;
    for (int32_t i = 0; i < raw->n_initializers && !status; i++)
        status = define_initializer(l, scope, g, &raw->initializers[i], list);
    if (!status) status = part_inputs(l, g);
    return status;
}

static kn_status read_outputs(kni_linker *l, const kni_link_scope *scope, kni_graph_builder *b,
                              const kni_raw_graph *raw)
{
    kn_status status = KN_OK;
    int32_t *outputs = kni_onnx_arena_take(l->r->keep, (size_t)raw->n_outputs, sizeof *outputs);
    if (!outputs) return kni_reader_memory(l->r);
    for (int32_t i = 0; i < raw->n_outputs && !status; i++) {
        status = kni_link_read(l, scope, b, raw->outputs[i].name, &outputs[i]);
        if (!status && outputs[i] < 0) status = kni_reader_damaged(l->r, "output %d has no value", (int)i);
    }
    b->graph->outputs = outputs;
    b->graph->n_outputs = raw->n_outputs;
    return status;
}

static kn_status define_all(kni_linker *l, kni_link_scope *scope, const kni_raw_graph *raw, kni_onnx_graph *g)
{
    size_t names =
        (size_t)raw->n_inputs + (size_t)raw->n_initializers + kni_link_outputs(raw->nodes, raw->n_nodes);
    kn_status status = kni_link_charge(l, (int64_t)names + raw->n_values + raw->n_outputs);
    if (!status && !kni_name_table_make(&scope->names, l->r->scratch, names))
        status = kni_reader_memory(l->r);
    if (!status) status = define_inputs(l, scope, raw, g);
    if (!status) status = define_initializers(l, scope, raw, g);
    if (!status) status = kni_link_define_outputs(l, scope, g, raw->nodes, raw->n_nodes, NULL);
    if (status) return status;
    kni_link_declare(l, scope, raw->inputs, raw->n_inputs);
    kni_link_declare(l, scope, raw->outputs, raw->n_outputs);
    kni_link_declare(l, scope, raw->values, raw->n_values);
    return KN_OK;
}

static kn_status keep_nodes(kni_linker *l, kni_graph_builder *b)
{
    kni_onnx_graph *g = b->graph;
    g->n_nodes = b->nodes.count;
    g->nodes = kni_onnx_arena_take(l->r->keep, (size_t)g->n_nodes, sizeof *g->nodes);
    if (!g->nodes) return kni_reader_memory(l->r);
    if (g->n_nodes) memcpy(g->nodes, b->nodes.items, (size_t)g->n_nodes * sizeof *g->nodes);
    return KN_OK;
}

kn_status kni_link_graph(kni_linker *l, const kni_raw_graph *raw, const kni_link_scope *outer_scope,
                         kni_graph_builder *outer, kni_onnx_graph **graph)
{
    kni_link_scope scope = {
        outer ? outer_scope : NULL, {0}, outer_scope->call, outer_scope->opsets, outer_scope->n_opsets};
    kni_onnx_graph *g = kni_onnx_arena_take(l->r->keep, 1, sizeof *g);
    kni_graph_builder b = {outer, g, {0}, {0}, 0, false};
    if (!g) return kni_reader_memory(l->r);
    kn_status status = kni_link_enter(l);
    if (status) return status;
    *graph = g;
    g->name = raw->name;
    g->parent = outer ? outer->graph : NULL;
    status = define_all(l, &scope, raw, g);
    if (!status) status = kni_link_nodes(l, &scope, &b, raw->nodes, raw->n_nodes);
    if (!status) status = read_outputs(l, &scope, &b, raw);
    if (!status && b.unordered) status = kni_link_order(l, &b);
    if (!status) status = keep_nodes(l, &b);
    l->depth--;
    return status;
}
