/* What linking shares between its files: scopes of names, graphs as they grow, calls of functions. */
#ifndef KNI_ONNX_LINKER_H
#define KNI_ONNX_LINKER_H

#include "onnx/read/model_reader.h"
#include "onnx/read/name_table.h"

/* kni_onnx_value.node of a value that a node will make, until it has. */
enum { KNI_NODE_PENDING = -2 };

typedef struct kni_link_list { /* grows in the scratch memory */
    void *items;
    int32_t count, capacity;
} kni_link_list;

/* A node with the graphs in it reads a value of the graph that it lies in. */
typedef struct kni_link_capture {
    int32_t node, value;
} kni_link_capture;

/* A graph that nodes are added to. */
typedef struct kni_graph_builder {
    struct kni_graph_builder *outer;
    kni_onnx_graph *graph;
    kni_link_list nodes;    /* kni_onnx_node */
    kni_link_list captures; /* kni_link_capture */
    int32_t current;        /* the node whose graphs are being linked */
    bool unordered;         /* some node reads what a later one makes */
} kni_graph_builder;

struct kni_link_call;

/* Where names are looked up: in a graph and those around it, or in a function. */
typedef struct kni_link_scope {
    const struct kni_link_scope *outer;
    kni_name_table names;
    const struct kni_link_call *call; /* of the function that it lies in; NULL: none */
    const kni_onnx_opset *opsets;
    int32_t n_opsets;
} kni_link_scope;

/* An attribute as a node has it once references are followed, with the scope that names in its graphs are looked up in. */
typedef struct kni_link_attribute {
    const char *name;
    const kni_raw_attribute *raw;
    const kni_link_scope *scope;
} kni_link_attribute;

typedef struct kni_link_call {
    const struct kni_link_call *outer;
    const kni_raw_function *function;
    const char *name; /* of the node */
    const kni_link_attribute *attributes;
    int32_t n_attributes;
} kni_link_call;

typedef struct kni_linker {
    kni_model_reader *r;
    kni_onnx_model *model;
    const kni_raw_model *raw;
    kni_name_table functions; /* by operator, domain and overload */
    kni_link_list values;     /* kni_onnx_value */
    int32_t depth, calls;     /* graphs and calls that are being linked; calls of them */
    int64_t made_by_calls;    /* nodes, values and attributes */
} kni_linker;

/* NULL without memory, with the failure told. */
void *kni_link_add(kni_linker *l, kni_link_list *list, size_t size);
/* Fails where functions make more of the model than any model needs. */
kn_status kni_link_charge(kni_linker *l, int64_t things);
kn_status kni_link_enter(kni_linker *l);

/* A number for a value; -1 with the failure told. */
int32_t kni_link_new_value(kni_linker *l, const kni_onnx_graph *graph, const char *name, int32_t node);
static inline kni_onnx_value *kni_link_value(kni_linker *l, int32_t number)
{
    return (kni_onnx_value *)l->values.items + number;
}
/* Gives a name of the scope a number, which must be its first. */
kn_status kni_link_define(kni_linker *l, kni_link_scope *scope, const char *name, int32_t number);
/* Values for what nodes make; `given` (NULL: none) has the numbers of some. */
kn_status kni_link_define_outputs(kni_linker *l, kni_link_scope *scope, const kni_onnx_graph *graph,
                                  const kni_raw_node *nodes, int32_t count, const kni_name_table *given);
size_t kni_link_outputs(const kni_raw_node *nodes, int32_t count);
/* The value of a name as the graph reads it: -1 for an empty one, and for an argument that a call leaves out. */
kn_status kni_link_read(kni_linker *l, const kni_link_scope *scope, kni_graph_builder *b, const char *name,
                        int32_t *number);
void kni_link_declare(kni_linker *l, const kni_link_scope *scope, const kni_raw_value *values, int32_t count);

kn_status kni_link_nodes(kni_linker *l, const kni_link_scope *scope, kni_graph_builder *b,
                         const kni_raw_node *nodes, int32_t count);
/* A new node at the end of the graph, whose place is `b->nodes.count` before. */
kn_status kni_link_add_node(kni_linker *l, kni_graph_builder *b, const kni_onnx_node *node);
kn_status kni_link_graph(kni_linker *l, const kni_raw_graph *raw, const kni_link_scope *scope,
                         kni_graph_builder *outer, kni_onnx_graph **graph);
int32_t kni_link_version(const kni_link_scope *scope, const char *domain);

/* ---- functions */

/* NULL where the node is no call of a function of the model. */
kn_status kni_link_function(kni_linker *l, const kni_raw_node *node, const kni_raw_function **function);
kn_status kni_link_functions(kni_linker *l);
/* Puts the function's nodes in place of the call. */
kn_status kni_link_inline(kni_linker *l, const kni_link_scope *scope, kni_graph_builder *b,
                          const kni_raw_node *node, const kni_raw_function *function);
/* The attributes of a node with references followed; those that lead nowhere are left out. */
kn_status kni_link_attributes(kni_linker *l, const kni_link_scope *scope, const kni_raw_node *node,
                              kni_link_attribute **attributes, int32_t *count);

/* ---- order */

/* Puts the nodes into an order in which values are made before they are read. */
kn_status kni_link_order(kni_linker *l, kni_graph_builder *b);

#endif
