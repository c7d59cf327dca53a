/* What the parts of the reader share. Reading has two steps: the messages of the file become the structs below, which name values by
   texts (in memory that is given back afterwards), and linking makes the graphs of model.h of them. */
#ifndef KNI_ONNX_MODEL_READER_H
#define KNI_ONNX_MODEL_READER_H

#include "onnx/model.h"
#include "onnx/read/wire.h"
#include <kn/base.h>

/* Graphs in graphs; functions in functions and graphs together; types in types. */
enum { KNI_MAX_GRAPHS = 32, KNI_MAX_LINKED = 96, KNI_MAX_TYPES = 16 };

/* What is being read, for messages: a list from the inside out. */
typedef struct kni_reader_place {
    const struct kni_reader_place *outer;
    const char *kind, *name;
} kni_reader_place;

typedef struct kni_model_reader {
    kni_onnx_arena *keep;    /* lives as long as the model */
    kni_onnx_arena *scratch; /* ends with the reading */
    const char *file;        /* for messages */
    const char *folder;      /* NULL: no files beside it */
    struct kni_onnx_files *files;
    const kni_reader_place *place;
    int32_t graphs, types; /* how deep it is in them */
} kni_model_reader;

/* "FILE: node 'x': tensor 'w': what is wrong", of KN_ERROR_IO unless the first takes another. kni_reader_damaged says that the content
   cannot be what was written. */
kn_status kni_reader_failure(kni_model_reader *r, kn_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
kn_status kni_reader_damaged(kni_model_reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
kn_status kni_reader_memory(kni_model_reader *r);

/* ---- messages */

/* One occurrence of a field: bytes, or a number where `data` is NULL. */
typedef struct kni_message_piece {
    const unsigned char *data;
    uint64_t value; /* or how many bytes */
} kni_message_piece;

/* All of a field: the last occurrence, and each where the rule says that it is a list. */
typedef struct kni_message_slot {
    kni_message_piece last;
    const kni_message_piece *pieces;
    size_t count; /* of occurrences */
} kni_message_slot;

typedef enum kni_message_rule_kind {
    KNI_FIELD_ONE,     /* the last occurrence counts */
    KNI_FIELD_MESSAGE, /* may come once */
    KNI_FIELD_LIST     /* numbers also packed */
} kni_message_rule_kind;

typedef struct kni_message_rule {
    uint32_t number;
    kni_wire_kind wire;
    kni_message_rule_kind kind;
} kni_message_rule;

enum { KNI_MESSAGE_RULES = 16 };
typedef struct kni_message {
    const char *name;
    int32_t n;
    kni_message_rule rules[KNI_MESSAGE_RULES];
} kni_message;

/* Fills a slot for each rule; fields without one are skipped. */
kn_status kni_message_read(kni_model_reader *r, const kni_message *message, kni_message_piece piece,
                           kni_message_slot *slots);
static inline int64_t kni_slot_int(const kni_message_slot *slot) { return (int64_t)slot->last.value; }
/* A name, "" where there is none; one with a zero byte inside is refused. */
kn_status kni_slot_name(kni_model_reader *r, const kni_message_slot *slot, const char **name);
kn_status kni_piece_name(kni_model_reader *r, const kni_message_piece *piece, const char **name);
kn_status kni_slot_names(kni_model_reader *r, const kni_message_slot *slot, const char *const **names,
                         int32_t *count);
kn_status kni_piece_text(kni_model_reader *r, const kni_message_piece *piece, kni_onnx_text *text);
/* The numbers of a list: how many there are, and all of them as 64, 32 or fewer bits each. */
size_t kni_slot_numbers(const kni_message_slot *slot, kni_wire_kind kind);
kn_status kni_slot_copy(kni_model_reader *r, const kni_message_slot *slot, kni_wire_kind kind, int32_t width,
                        void *out);
/* The list as 64-bit numbers in the kept memory. */
kn_status kni_slot_ints(kni_model_reader *r, const kni_message_slot *slot, const int64_t **ints,
                        int64_t *count);
/* A count that must fit. */
kn_status kni_reader_count(kni_model_reader *r, size_t count, int32_t *out);

/* ---- what is read */

typedef struct kni_raw_graph kni_raw_graph;

typedef struct kni_raw_attribute {
    kni_onnx_attribute read;            /* without graphs */
    const char *reference;              /* to an attribute of the function around; "" is none */
    const kni_raw_graph *const *graphs; /* read.count of them */
} kni_raw_attribute;

typedef struct kni_raw_node {
    const char *op, *domain, *name, *overload;
    const char *const *in, *const *out;
    int32_t n_in, n_out;
    const kni_raw_attribute *attributes;
    int32_t n_attributes;
    int32_t place; /* in its list */
} kni_raw_node;

typedef struct kni_raw_value {
    const char *name;
    const kni_onnx_declared *declared; /* NULL: none */
} kni_raw_value;

struct kni_raw_graph {
    const char *name;
    const kni_raw_node *nodes;
    const kni_raw_value *inputs, *outputs, *values;
    const kni_onnx_tensor *initializers;
    int32_t n_nodes, n_inputs, n_outputs, n_values, n_initializers;
};

typedef struct kni_raw_function {
    const char *name, *domain, *overload;
    const char *const *inputs, *const *outputs;
    int32_t n_inputs, n_outputs;
    const kni_raw_attribute *defaults;
    int32_t n_defaults;
    const kni_raw_node *nodes;
    const kni_raw_value *values;
    int32_t n_nodes, n_values;
    const kni_onnx_opset *opsets;
    int32_t n_opsets;
} kni_raw_function;

typedef struct kni_raw_model {
    const kni_raw_graph *graph;
    const kni_raw_function *functions;
    int32_t n_functions;
} kni_raw_model;

/* "" for "ai.onnx". */
const char *kni_onnx_domain(const char *domain);
kn_status kni_read_type(kni_model_reader *r, kni_message_piece piece, kni_onnx_declared *declared);
kn_status kni_read_value(kni_model_reader *r, kni_message_piece piece, kni_raw_value *value);
/* An attribute that lists `pieces` of some message: reads each into an element of `size` bytes. */
typedef kn_status kni_piece_reader(kni_model_reader *r, kni_message_piece piece, void *out);
kn_status kni_read_list(kni_model_reader *r, kni_onnx_arena *arena, const kni_message_slot *slot, size_t size,
                        kni_piece_reader *read, void *out_list, int32_t *count);
kn_status kni_read_tensor(kni_model_reader *r, kni_message_piece piece, kni_onnx_tensor *tensor);
/* As the dense tensor that it stands for. */
kn_status kni_read_sparse(kni_model_reader *r, kni_message_piece piece, kni_onnx_tensor *tensor);
/* As two tensors of rank 1 and the same length. */
kn_status kni_read_map(kni_model_reader *r, kni_message_piece piece, kni_onnx_tensor *keys,
                       kni_onnx_tensor *values);
kn_status kni_read_attribute(kni_model_reader *r, kni_message_piece piece, kni_raw_attribute *attribute);
kn_status kni_read_graph(kni_model_reader *r, kni_message_piece piece, kni_raw_graph *graph);
kn_status kni_read_function(kni_model_reader *r, kni_message_piece piece, kni_raw_function *function);
kn_status kni_read_opsets(kni_model_reader *r, const kni_message_slot *slot, const kni_onnx_opset **opsets,
                          int32_t *count);
/* Names with texts: pairs of strings. */
kn_status kni_read_pairs(kni_model_reader *r, const kni_message_slot *slot, const char *const **pairs,
                         int32_t *count);

/* Bits of an element, 0 for strings and unknown types; and elements, sizes and bytes checked against each other. */
int32_t kni_onnx_type_bits(int32_t type);
kn_status kni_tensor_measure(kni_model_reader *r, kni_onnx_tensor *tensor);

/* ---- external data */

/* The bytes of a tensor that lie in another file of the folder, which is named by key and text. */
kn_status kni_external_data(kni_model_reader *r, const kni_message_slot *entries, kni_onnx_tensor *tensor);

/* ---- linking */

/* Makes model->graph and model->values. */
kn_status kni_link_model(kni_model_reader *r, kni_onnx_model *model, const kni_raw_model *raw);

#endif
