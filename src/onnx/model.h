/* An ONNX model as it was read: graphs of nodes, with values numbered and names resolved. Numbers, texts and lists live in the model's
   arena; tensors point into the file (or into files beside it), which stays mapped until the model is freed. */
#ifndef KNI_ONNX_MODEL_H
#define KNI_ONNX_MODEL_H

#include "onnx/arena.h"
#include <kn/base.h>

/* ---- element types and attribute types, with the numbers of the format */

typedef enum kni_onnx_type {
    KNI_ONNX_UNDEFINED = 0,
    KNI_ONNX_FLOAT = 1,
    KNI_ONNX_UINT8 = 2,
    KNI_ONNX_INT8 = 3,
    KNI_ONNX_UINT16 = 4,
    KNI_ONNX_INT16 = 5,
    KNI_ONNX_INT32 = 6,
    KNI_ONNX_INT64 = 7,
    KNI_ONNX_STRING = 8,
    KNI_ONNX_BOOL = 9,
    KNI_ONNX_FLOAT16 = 10,
    KNI_ONNX_DOUBLE = 11,
    KNI_ONNX_UINT32 = 12,
    KNI_ONNX_UINT64 = 13,
    KNI_ONNX_COMPLEX64 = 14,
    KNI_ONNX_COMPLEX128 = 15,
    KNI_ONNX_BFLOAT16 = 16,
    KNI_ONNX_FLOAT8E4M3FN = 17,
    KNI_ONNX_FLOAT8E4M3FNUZ = 18,
    KNI_ONNX_FLOAT8E5M2 = 19,
    KNI_ONNX_FLOAT8E5M2FNUZ = 20,
    KNI_ONNX_UINT4 = 21,
    KNI_ONNX_INT4 = 22,
    KNI_ONNX_FLOAT4E2M1 = 23,
    KNI_ONNX_FLOAT8E8M0 = 24,
    KNI_ONNX_UINT2 = 25,
    KNI_ONNX_INT2 = 26,
    KNI_ONNX_TYPE_COUNT = 27
} kni_onnx_type;

/* KN_DTYPE_NONE: Kiln has no tensors of it (strings, complex numbers). KNI_ONNX_UNDEFINED: the format has no such type. */
kn_dtype kni_onnx_dtype(int32_t type);
kni_onnx_type kni_onnx_type_of(kn_dtype dtype);
/* "float", "int64" ... as the format names them; "type 99" for others. */
const char *kni_onnx_type_name(int32_t type);

/* ---- what a model holds */

/* Bytes that are a text, or not: strings of tensors may hold anything. A 0 follows them all the same. */
typedef struct kni_onnx_text {
    const char *data;
    size_t bytes;
} kni_onnx_text;

/* A tensor of the file, whole and checked: `bytes` is what its type and sizes ask for. */
typedef struct kni_onnx_tensor {
    const char *name; /* "" where it has none */
    int32_t type;     /* kni_onnx_type */
    int32_t rank;
    const int64_t *sizes;
    int64_t count; /* elements */
    const void *
        data; /* little-endian; elements of 4 and 2 bits packed, the first in the lowest bits; may be unaligned */
    size_t bytes;                 /* of data */
    const kni_onnx_text *strings; /* where type is KNI_ONNX_STRING */
} kni_onnx_tensor;

/* One of the sizes of a declared type. */
typedef struct kni_onnx_dim {
    int64_t value;    /* -1: not a number */
    const char *name; /* of a size that is known when the model runs; NULL: none */
} kni_onnx_dim;

typedef enum kni_onnx_kind {
    KNI_ONNX_UNKNOWN,
    KNI_ONNX_TENSOR,
    KNI_ONNX_SEQUENCE,
    KNI_ONNX_OPTIONAL,
    KNI_ONNX_MAP,
    KNI_ONNX_SPARSE
} kni_onnx_kind;

/* A declared type: of an input, an output or a value in between. */
typedef struct kni_onnx_declared {
    kni_onnx_kind kind;
    int32_t type; /* of the elements; of a map: of its keys */
    int32_t rank; /* -1: no shape is declared */
    const kni_onnx_dim *dims;
    const struct kni_onnx_declared *inner; /* of what a sequence, an optional or a map holds */
} kni_onnx_declared;

typedef enum kni_onnx_attribute_kind { /* numbers of the format */
                                       KNI_ONNX_ATTRIBUTE_FLOAT = 1,
                                       KNI_ONNX_ATTRIBUTE_INT = 2,
                                       KNI_ONNX_ATTRIBUTE_STRING = 3,
                                       KNI_ONNX_ATTRIBUTE_TENSOR = 4,
                                       KNI_ONNX_ATTRIBUTE_GRAPH = 5,
                                       KNI_ONNX_ATTRIBUTE_FLOATS = 6,
                                       KNI_ONNX_ATTRIBUTE_INTS = 7,
                                       KNI_ONNX_ATTRIBUTE_STRINGS = 8,
                                       KNI_ONNX_ATTRIBUTE_TENSORS = 9,
                                       KNI_ONNX_ATTRIBUTE_GRAPHS = 10,
                                       KNI_ONNX_ATTRIBUTE_SPARSE = 11,
                                       KNI_ONNX_ATTRIBUTE_SPARSES = 12,
                                       KNI_ONNX_ATTRIBUTE_TYPE = 13,
                                       KNI_ONNX_ATTRIBUTE_TYPES = 14
} kni_onnx_attribute_kind;

typedef struct kni_onnx_graph kni_onnx_graph;

/* FLOAT, INT and STRING are lists of one. A sparse tensor is read as the dense one it stands for (TENSOR). */
typedef struct kni_onnx_attribute {
    const char *name;
    int32_t kind;  /* kni_onnx_attribute_kind */
    int64_t count; /* of the list that the kind means */
    const float *floats;
    const int64_t *ints;
    const kni_onnx_text *strings;
    const kni_onnx_tensor *tensors;
    kni_onnx_graph *const *graphs;
    const kni_onnx_declared *types;
} kni_onnx_attribute;

/* Functions of the model are put in place of their calls when it is read, so nodes are operators alone. */
typedef struct kni_onnx_node {
    const char *op;          /* "Conv" */
    const char *domain;      /* "" is ai.onnx, whatever the file writes */
    const char *name;        /* as the file has it, or made up: "Conv_12"; never empty */
    int32_t version;         /* of the domain's operators that the model (or the function) asks for */
    const int32_t *in, *out; /* values; -1: absent */
    int32_t n_in, n_out;
    const kni_onnx_attribute *attributes;
    int32_t n_attributes;
    int32_t place; /* in the order of all nodes of the model, for messages and profiles */
} kni_onnx_node;

/* Values have one numbering for the whole model: those of inner graphs too, and of each call of a function its own. An inner graph reads
   values of the graphs around it by their numbers. */
typedef struct kni_onnx_value {
    const char *name;                   /* as in the file; names of inner graphs may come again */
    const kni_onnx_declared *declared;  /* NULL: nothing is declared */
    const kni_onnx_tensor *initializer; /* NULL: there is none */
    const kni_onnx_graph *graph;        /* that it belongs to */
    int32_t node; /* place of the node that makes it in its graph; -1: an input or initializer */
    bool literal; /* the initializer was a Constant node */
} kni_onnx_value;

struct kni_onnx_graph {
    const char *name;
    const kni_onnx_graph *parent; /* the graph around it; NULL: the model's own */
    const int32_t *inputs,
        *outputs; /* values; without `parent`, inputs that are initializers too stand behind the n_inputs others */
    int32_t n_inputs, n_outputs;
    int32_t n_defaults; /* inputs that are initializers too */
    const int32_t *initializers;
    int32_t n_initializers;
    kni_onnx_node *nodes; /* in an order in which values are made before they are read */
    int32_t n_nodes;
};

typedef struct kni_onnx_opset {
    const char *domain;
    int64_t version;
} kni_onnx_opset;

typedef struct kni_onnx_model {
    kni_onnx_arena *arena;
    int64_t ir_version;
    const char *producer, *producer_version, *domain, *description;
    int64_t version;
    const kni_onnx_opset *opsets;
    int32_t n_opsets;
    const char *const *metadata; /* name, text, name, text ... */
    int32_t n_metadata;          /* pairs */
    kni_onnx_graph *graph;
    kni_onnx_value *values;
    int32_t n_values;
    int32_t n_nodes; /* of all graphs */
    void *files;     /* what is mapped: the reader's own */
} kni_onnx_model;

/* Reads a model of a file (external data lies beside it) or of bytes in memory, which must outlive it; `folder` (may be NULL: then
   external data is an error) is where external files are looked for, and never left. NULL with kn_last_error(), which names the file
   and the node or tensor. */
kni_onnx_model *kni_onnx_model_read(const char *path);
kni_onnx_model *kni_onnx_model_read_memory(const void *data, size_t bytes, const char *folder);
void kni_onnx_model_free(kni_onnx_model *model);

/* A TensorProto, SequenceProto, OptionalProto or MapProto by itself, as ONNX's own test data has them (input_0.pb). Everything is in the arena,
   but elements stay in `data`. */
typedef struct kni_onnx_item {
    kni_onnx_kind kind; /* TENSOR, SEQUENCE, OPTIONAL, MAP */
    kni_onnx_tensor tensor;
    const struct kni_onnx_item
        *items; /* of a sequence; of an optional: one or none; of a map: its keys and its values */
    int64_t count;
} kni_onnx_item;
kn_status kni_onnx_item_read(kni_onnx_arena *arena, const void *data, size_t bytes,
                             const kni_onnx_declared *declared, const char *file, kni_onnx_item *item);

/* ---- attributes of a node by name; where the node has none, or one of another kind, the value given */

const kni_onnx_attribute *kni_node_attribute(const kni_onnx_node *node, const char *name); /* NULL */
int64_t kni_node_int(const kni_onnx_node *node, const char *name, int64_t otherwise);
double kni_node_real(const kni_onnx_node *node, const char *name, double otherwise);
const char *kni_node_text(const kni_onnx_node *node, const char *name, const char *otherwise);
/* NULL with *count 0 where there is none. */
const int64_t *kni_node_ints(const kni_onnx_node *node, const char *name, int64_t *count);
const float *kni_node_reals(const kni_onnx_node *node, const char *name, int64_t *count);
const kni_onnx_text *kni_node_texts(const kni_onnx_node *node, const char *name, int64_t *count);
const kni_onnx_tensor *kni_node_tensor(const kni_onnx_node *node, const char *name);
kni_onnx_graph *kni_node_graph(const kni_onnx_node *node, const char *name);

#endif
