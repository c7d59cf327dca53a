/* What passes share: who makes and reads a value, constants, nodes that become others. Places of nodes stay as they are until
   kni_edit_settle, which removes what was removed. */
#ifndef KNI_ONNX_GRAPH_EDIT_H
#define KNI_ONNX_GRAPH_EDIT_H

#include "onnx/pass/pass.h"

typedef struct kni_edit {
    kni_onnx_model *model;
    int32_t *uses;       /* by value: how often nodes read it and graphs give it */
    int32_t *instead;    /* by value: what is read in its place; itself: nothing */
    bool *given;         /* by value: its graph gives it */
    bool *settable;      /* by value: an initializer in whose place a run may give something else */
    int32_t room;        /* of these lists */
    int32_t values_room; /* of the model's list of values, where a pass has made it longer */
    int64_t changes;
    bool keep_weights; /* nothing is computed of weights */
    bool keep_stored;  /* weights of few bits stay packed */
    bool failed;       /* no memory: nothing more is done */
} kni_edit;

/* ---- asking */

/* The node that makes a value, NULL: an input, an initializer, absent. */
kni_onnx_node *kni_edit_maker(const kni_edit *p, int32_t value);
/* The same where the value is the first result of this operator of ai.onnx, whose first operand is there. */
kni_onnx_node *kni_edit_made_by(const kni_edit *p, int32_t value, const char *op);
bool kni_edit_is(const kni_onnx_node *node, const char *op); /* of ai.onnx */
static inline int32_t kni_edit_input(const kni_onnx_node *node, int32_t i)
{
    return i < node->n_in ? node->in[i] : -1;
}
/* The initializer; NULL: the value is none, or a run may replace it. */
const kni_onnx_tensor *kni_edit_constant(const kni_edit *p, int32_t value);
/* The only element of a constant, also one that is cast or shaped on the way. */
bool kni_edit_real(const kni_edit *p, int32_t value, double *number);
/* Whether it is such a constant, about as large as a number. */
bool kni_edit_near(const kni_edit *p, int32_t value, double number);
/* Whole numbers of a constant (or of an attribute of the node, where the value is absent), in the model's memory; NULL: unknown. */
const int64_t *kni_edit_ints(kni_edit *p, int32_t value, int64_t *count);
const int64_t *kni_edit_axes(kni_edit *p, const kni_onnx_node *node,
                             int64_t *count); /* `axes`, operand 1 or attribute */
/* Element i of a constant of any number type. */
double kni_edit_element(const kni_onnx_tensor *tensor, int64_t i);
/* The other operand of a node of two where `value` is one; -1: it is not. */
int32_t kni_edit_other(const kni_onnx_node *node, int32_t value);
/* Whether only one node reads it and no graph gives it. */
bool kni_edit_once(const kni_edit *p, int32_t value);

/* Factors of a product: what Mul nodes, each read once, multiply. Returns how many, 0 where there are more than `room`. */
int32_t kni_edit_factors(const kni_edit *p, const kni_onnx_node *root, int32_t *factors, int32_t room);

/* ---- changing */

/* What is read in place of a value. */
int32_t kni_edit_now(const kni_edit *p, int32_t value);
void *kni_edit_memory(kni_edit *p, size_t count, size_t size);
/* Whoever reads `from` reads `to`, where that is possible; returns whether. The node that makes `from` is left without readers. */
bool kni_edit_forward(kni_edit *p, int32_t from, int32_t to);
/* The node becomes another one, with its first result. Operands and attributes are copied. */
void kni_edit_become(kni_edit *p, kni_onnx_node *node, const char *domain, const char *op, int32_t version,
                     const int32_t *in, int32_t n_in, const kni_onnx_attribute *attributes,
                     int32_t n_attributes);
void kni_edit_remove(kni_edit *p, kni_onnx_node *node);
/* A new initializer of a graph; data is written by the caller. -1 without memory. */
int32_t kni_edit_new_constant(kni_edit *p, const kni_onnx_graph *graph, const char *name, int32_t type,
                              const int64_t *sizes, int32_t rank, void **data);
kni_onnx_attribute kni_edit_int(kni_edit *p, const char *name, int64_t value);
/* The text must outlive the model. */
kni_onnx_attribute kni_edit_text(kni_edit *p, const char *name, const char *text);
kni_onnx_attribute kni_edit_number(kni_edit *p, const char *name, double value);
kni_onnx_attribute kni_edit_list(kni_edit *p, const char *name, const int64_t *values, int64_t count);

/* Calls `visit` for each node of the model, inner graphs before the nodes that have them. */
void kni_edit_each(kni_edit *p, void (*visit)(kni_edit *p, kni_onnx_node *node));
/* Calls `visit` for each graph. */
void kni_edit_each_graph(kni_edit *p, void (*visit)(kni_edit *p, kni_onnx_graph *graph));

/* ---- the passes */

void kni_edit_constants(kni_edit *p);
void kni_edit_identities(kni_edit *p);
void kni_edit_common(kni_edit *p);
void kni_edit_affine(kni_edit *p);
void kni_edit_norms(kni_edit *p);
void kni_edit_activations(kni_edit *p);
void kni_edit_quantized(kni_edit *p);
void kni_edit_rope(kni_edit *p);
void kni_edit_attention(kni_edit *p);
void kni_edit_dead(kni_edit *p);

#endif
