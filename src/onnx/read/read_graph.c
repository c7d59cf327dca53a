/* GraphProto, NodeProto, FunctionProto and what they list. */
#include "onnx/read/model_reader.h"
#include "onnx/read/name_table.h"
#include <string.h>

kn_status kni_read_list(kni_model_reader *r, kni_onnx_arena *arena, const kni_message_slot *slot, size_t size,
                        kni_piece_reader *read, void *out_list, int32_t *count)
{
    kn_status status = kni_reader_count(r, slot->count, count);
    unsigned char *list = status ? NULL : kni_onnx_arena_take(arena, slot->count, size);
    if (!status && !list) status = kni_reader_memory(r);
    for (size_t i = 0; i < slot->count && !status; i++) status = read(r, slot->pieces[i], list + i * size);
    memcpy(out_list, &list, sizeof list);
    return status;
}

const char *kni_onnx_domain(const char *domain) { return strcmp(domain, "ai.onnx") ? domain : ""; }

/* ---- pairs and operator sets */

static const kni_message pair_message = {
    "a pair of texts", 2, {{1, KNI_WIRE_BYTES, KNI_FIELD_ONE}, {2, KNI_WIRE_BYTES, KNI_FIELD_ONE}}};

static kn_status one_pair(kni_model_reader *r, kni_message_piece piece, void *out)
{
    kni_message_slot s[2];
    kni_onnx_text name, text;
    kn_status status = kni_message_read(r, &pair_message, piece, s);
    if (!status) status = kni_piece_text(r, &s[0].last, &name);
    if (!status) status = kni_piece_text(r, &s[1].last, &text);
    if (status) return status;
    ((const char **)out)[0] = name.data;
    ((const char **)out)[1] = text.data;
    return KN_OK;
}

kn_status kni_read_pairs(kni_model_reader *r, const kni_message_slot *slot, const char *const **pairs,
                         int32_t *count)
{
    return kni_read_list(r, r->keep, slot, 2 * sizeof(char *), one_pair, pairs, count);
}

static const kni_message opset_message = {
    "an operator set", 2, {{1, KNI_WIRE_BYTES, KNI_FIELD_ONE}, {2, KNI_WIRE_VARINT, KNI_FIELD_ONE}}};

static kn_status one_opset(kni_model_reader *r, kni_message_piece piece, void *out)
{
    kni_message_slot s[2];
    kni_onnx_opset *opset = out;
    kn_status status = kni_message_read(r, &opset_message, piece, s);
    if (!status) status = kni_slot_name(r, &s[0], &opset->domain);
    if (status) return status;
    opset->domain = kni_onnx_domain(opset->domain);
    opset->version = kni_slot_int(&s[1]);
    if (opset->version < 0 || opset->version > INT32_MAX)
        return kni_reader_damaged(r, "version %lld of the operators of '%s' is impossible",
                                  (long long)opset->version, opset->domain);
    return KN_OK;
}

kn_status kni_read_opsets(kni_model_reader *r, const kni_message_slot *slot, const kni_onnx_opset **opsets,
                          int32_t *count)
{
    enum { MAX_OPSETS = 4096 }; /* they are searched one by one */
    if (slot->count > MAX_OPSETS) return kni_reader_damaged(r, "it asks for %zu operator sets", slot->count);
    return kni_read_list(r, r->keep, slot, sizeof **opsets, one_opset, opsets, count);
}

/* ---- nodes */

enum { NODE_IN, NODE_OUT, NODE_NAME, NODE_OP, NODE_DOMAIN, NODE_OVERLOAD, NODE_ATTRIBUTES, NODE_SLOTS };
static const kni_message node_message = {"a node",
                                         NODE_SLOTS,
                                         {
                                             [NODE_IN] = {1, KNI_WIRE_BYTES, KNI_FIELD_LIST},
                                             [NODE_OUT] = {2, KNI_WIRE_BYTES, KNI_FIELD_LIST},
                                             [NODE_NAME] = {3, KNI_WIRE_BYTES, KNI_FIELD_ONE},
                                             [NODE_OP] = {4, KNI_WIRE_BYTES, KNI_FIELD_ONE},
                                             [NODE_DOMAIN] = {7, KNI_WIRE_BYTES, KNI_FIELD_ONE},
                                             [NODE_OVERLOAD] = {8, KNI_WIRE_BYTES, KNI_FIELD_ONE},
                                             [NODE_ATTRIBUTES] = {5, KNI_WIRE_BYTES, KNI_FIELD_LIST},
                                         }};

static kn_status one_attribute(kni_model_reader *r, kni_message_piece piece, void *out)
{
    return kni_read_attribute(r, piece, out);
}

static kn_status read_attributes(kni_model_reader *r, const kni_message_slot *slot,
                                 const kni_raw_attribute **attributes, int32_t *count)
{
    kn_status status =
        kni_read_list(r, r->scratch, slot, sizeof **attributes, one_attribute, attributes, count);
    if (status || *count < 2) return status;
    kni_name_table names;
    kni_onnx_arena_mark mark = kni_onnx_arena_now(r->scratch);
    if (!kni_name_table_make(&names, r->scratch, (size_t)*count)) return kni_reader_memory(r);
    for (int32_t i = 0; i < *count; i++) {
        *kni_name_table_put(&names, (*attributes)[i].read.name) = i;
        if (names.count == i)
            return kni_reader_damaged(r, "attribute '%s' comes twice", (*attributes)[i].read.name);
    }
    kni_onnx_arena_back(r->scratch, mark);
    return KN_OK;
}

static kn_status read_node_names(kni_model_reader *r, const kni_message_slot *s, kni_raw_node *n)
{
    kn_status status = kni_slot_name(r, &s[NODE_OP], &n->op);
    if (!status) status = kni_slot_name(r, &s[NODE_NAME], &n->name);
    if (!status) status = kni_slot_name(r, &s[NODE_DOMAIN], &n->domain);
    if (!status) status = kni_slot_name(r, &s[NODE_OVERLOAD], &n->overload);
    if (!status) status = kni_slot_names(r, &s[NODE_IN], &n->in, &n->n_in);
    if (!status) status = kni_slot_names(r, &s[NODE_OUT], &n->out, &n->n_out);
    if (!status) n->domain = kni_onnx_domain(n->domain);
    return status;
}

static kn_status one_node(kni_model_reader *r, kni_message_piece piece, void *out)
{
    kni_message_slot s[NODE_SLOTS];
    kni_raw_node *n = out;
    kn_status status = kni_message_read(r, &node_message, piece, s);
    if (!status) status = read_node_names(r, s, n);
    if (status) return status;
    kni_reader_place place = {r->place, *n->name ? "node" : "a node of operator", *n->name ? n->name : n->op};
    r->place = &place;
    if (!*n->op)
        status = kni_reader_damaged(r, "it has no operator");
    else
        status = read_attributes(r, &s[NODE_ATTRIBUTES], &n->attributes, &n->n_attributes);
    r->place = place.outer;
    return status;
}

static kn_status read_nodes(kni_model_reader *r, const kni_message_slot *slot, const kni_raw_node **nodes,
                            int32_t *count)
{
    kn_status status = kni_read_list(r, r->scratch, slot, sizeof **nodes, one_node, nodes, count);
    for (int32_t i = 0; i < *count && !status; i++) ((kni_raw_node *)(uintptr_t)*nodes)[i].place = i;
    return status;
}

static kn_status one_value(kni_model_reader *r, kni_message_piece piece, void *out)
{
    return kni_read_value(r, piece, out);
}

static kn_status read_values(kni_model_reader *r, const kni_message_slot *slot, const kni_raw_value **values,
                             int32_t *count)
{
    return kni_read_list(r, r->scratch, slot, sizeof **values, one_value, values, count);
}

/* ---- graphs */

enum { GRAPH_NODES, GRAPH_NAME, GRAPH_TENSORS, GRAPH_IN, GRAPH_OUT, GRAPH_VALUES, GRAPH_SPARSE, GRAPH_SLOTS };
static const kni_message graph_message = {"a graph",
                                          GRAPH_SLOTS,
                                          {
                                              [GRAPH_NODES] = {1, KNI_WIRE_BYTES, KNI_FIELD_LIST},
                                              [GRAPH_NAME] = {2, KNI_WIRE_BYTES, KNI_FIELD_ONE},
                                              [GRAPH_TENSORS] = {5, KNI_WIRE_BYTES, KNI_FIELD_LIST},
                                              [GRAPH_IN] = {11, KNI_WIRE_BYTES, KNI_FIELD_LIST},
                                              [GRAPH_OUT] = {12, KNI_WIRE_BYTES, KNI_FIELD_LIST},
                                              [GRAPH_VALUES] = {13, KNI_WIRE_BYTES, KNI_FIELD_LIST},
                                              [GRAPH_SPARSE] = {15, KNI_WIRE_BYTES, KNI_FIELD_LIST},
                                          }};

static kn_status read_initializers(kni_model_reader *r, const kni_message_slot *dense,
                                   const kni_message_slot *sparse, kni_raw_graph *g)
{
    kn_status status = kni_reader_count(r, dense->count + sparse->count, &g->n_initializers);
    if (status) return status;
    kni_onnx_tensor *t = kni_onnx_arena_take(r->keep, (size_t)g->n_initializers, sizeof *t);
    if (!t) return kni_reader_memory(r);
    g->initializers = t;
    for (size_t i = 0; i < dense->count && !status; i++) status = kni_read_tensor(r, dense->pieces[i], t++);
    for (size_t i = 0; i < sparse->count && !status; i++) status = kni_read_sparse(r, sparse->pieces[i], t++);
    return status;
}

static kn_status read_graph_parts(kni_model_reader *r, const kni_message_slot *s, kni_raw_graph *g)
{
    kn_status status = read_nodes(r, &s[GRAPH_NODES], &g->nodes, &g->n_nodes);
    if (!status) status = read_values(r, &s[GRAPH_IN], &g->inputs, &g->n_inputs);
    if (!status) status = read_values(r, &s[GRAPH_OUT], &g->outputs, &g->n_outputs);
    if (!status) status = read_values(r, &s[GRAPH_VALUES], &g->values, &g->n_values);
    if (!status) status = read_initializers(r, &s[GRAPH_TENSORS], &s[GRAPH_SPARSE], g);
    return status;
}

kn_status kni_read_graph(kni_model_reader *r, kni_message_piece piece, kni_raw_graph *g)
{
    kni_message_slot s[GRAPH_SLOTS];
    if (r->graphs == KNI_MAX_GRAPHS)
        return kni_reader_failure(r, KN_ERROR_UNSUPPORTED, "graphs lie in each other more than %d deep",
                                  KNI_MAX_GRAPHS);
    kn_status status = kni_message_read(r, &graph_message, piece, s);
    if (!status) status = kni_slot_name(r, &s[GRAPH_NAME], &g->name);
    if (status) return status;
    r->graphs++;
    status = read_graph_parts(r, s, g);
    r->graphs--;
    return status;
}

/* ---- functions */

enum {
    FUNCTION_NAME,
    FUNCTION_IN,
    FUNCTION_OUT,
    FUNCTION_DEFAULTS,
    FUNCTION_NODES,
    FUNCTION_OPSETS,
    FUNCTION_DOMAIN,
    FUNCTION_OVERLOAD,
    FUNCTION_VALUES,
    FUNCTION_SLOTS
};
static const kni_message function_message = {
    "a function",
    FUNCTION_SLOTS,
    {
        [FUNCTION_NAME] = {1, KNI_WIRE_BYTES, KNI_FIELD_ONE},
        [FUNCTION_IN] = {4, KNI_WIRE_BYTES, KNI_FIELD_LIST},
        [FUNCTION_OUT] = {5, KNI_WIRE_BYTES, KNI_FIELD_LIST},
        [FUNCTION_DEFAULTS] = {11, KNI_WIRE_BYTES, KNI_FIELD_LIST},
        [FUNCTION_NODES] = {7, KNI_WIRE_BYTES, KNI_FIELD_LIST},
        [FUNCTION_OPSETS] = {9, KNI_WIRE_BYTES, KNI_FIELD_LIST},
        [FUNCTION_DOMAIN] = {10, KNI_WIRE_BYTES, KNI_FIELD_ONE},
        [FUNCTION_OVERLOAD] = {13, KNI_WIRE_BYTES, KNI_FIELD_ONE},
        [FUNCTION_VALUES] = {12, KNI_WIRE_BYTES, KNI_FIELD_LIST},
    },
};

static kn_status read_function_parts(kni_model_reader *r, const kni_message_slot *s, kni_raw_function *f)
{
    if (!*f->name) return kni_reader_damaged(r, "it has no name");
    kn_status status = kni_slot_name(r, &s[FUNCTION_DOMAIN], &f->domain);
    if (!status) status = kni_slot_name(r, &s[FUNCTION_OVERLOAD], &f->overload);
    if (!status) status = kni_slot_names(r, &s[FUNCTION_IN], &f->inputs, &f->n_inputs);
    if (!status) status = kni_slot_names(r, &s[FUNCTION_OUT], &f->outputs, &f->n_outputs);
    if (!status) status = read_attributes(r, &s[FUNCTION_DEFAULTS], &f->defaults, &f->n_defaults);
    if (!status) status = kni_read_opsets(r, &s[FUNCTION_OPSETS], &f->opsets, &f->n_opsets);
    if (!status) status = read_nodes(r, &s[FUNCTION_NODES], &f->nodes, &f->n_nodes);
    if (!status) status = read_values(r, &s[FUNCTION_VALUES], &f->values, &f->n_values);
    if (!status) f->domain = kni_onnx_domain(f->domain);
    return status;
}

kn_status kni_read_function(kni_model_reader *r, kni_message_piece piece, kni_raw_function *f)
{
    kni_message_slot s[FUNCTION_SLOTS];
    kn_status status = kni_message_read(r, &function_message, piece, s);
    if (!status) status = kni_slot_name(r, &s[FUNCTION_NAME], &f->name);
    if (status) return status;
    kni_reader_place place = {r->place, "function", f->name};
    r->place = &place;
    status = read_function_parts(r, s, f);
    r->place = place.outer;
    return status;
}
