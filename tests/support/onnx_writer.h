/* Writes ONNX models as tests need them, also wrong ones: messages are buffers, which grow by fields. A message that is put into another
   one is given away with it. */
#ifndef ONNX_WRITER_H
#define ONNX_WRITER_H

#include "support/buffer.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef kni_buffer onnx_message;

/* ---- fields of any message */

void onnx_put_varint(onnx_message *m, uint64_t value); /* without a field */
void onnx_put_int(onnx_message *m, uint32_t field, int64_t value);
void onnx_put_float(onnx_message *m, uint32_t field, float value);
void onnx_put_double(onnx_message *m, uint32_t field, double value);
void onnx_put_bytes(onnx_message *m, uint32_t field, const void *data, size_t bytes);
void onnx_put_text(onnx_message *m, uint32_t field, const char *text);
/* A number in each field, or all in one. */
void onnx_put_ints(onnx_message *m, uint32_t field, const int64_t *values, int count);
void onnx_put_packed(onnx_message *m, uint32_t field, const int64_t *values, int count);
void onnx_put(onnx_message *m, uint32_t field, onnx_message part);
/* Text by text, parted by spaces; "-" is the empty one. */
void onnx_put_words(onnx_message *m, uint32_t field, const char *words);

/* ---- the messages of the format */

#define ONNX_SIZES(...)                                                                                      \
    (const int64_t[]){__VA_ARGS__}, (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
#define ONNX_SCALAR NULL, 0

/* Without elements; with raw ones; with f32 in raw bytes; with i64 in raw bytes. */
onnx_message onnx_tensor_head(const char *name, int32_t type, const int64_t *sizes, int rank);
onnx_message onnx_tensor_raw(const char *name, int32_t type, const int64_t *sizes, int rank, const void *data,
                             size_t bytes);
onnx_message onnx_floats(const char *name, const int64_t *sizes, int rank, const float *values);
onnx_message onnx_ints(const char *name, const int64_t *sizes, int rank, const int64_t *values);
/* Its elements lie in another file; negative numbers are left out. */
onnx_message onnx_tensor_external(const char *name, int32_t type, const int64_t *sizes, int rank,
                                  const char *location, int64_t offset, int64_t length);
/* A tensor type; sizes of -1 are symbols "n0", "n1" ...; rank -1: no shape. */
onnx_message onnx_type(int32_t type, const int64_t *sizes, int rank);
onnx_message onnx_value(const char *name, onnx_message type);
onnx_message onnx_float_value(const char *name, const int64_t *sizes, int rank);
/* "Add", "a b", "c" */
onnx_message onnx_node(const char *op, const char *inputs, const char *outputs);
void onnx_attribute(onnx_message *node, const char *name, int32_t kind, uint32_t field, onnx_message content);
void onnx_attribute_int(onnx_message *node, const char *name, int64_t value);
void onnx_attribute_ints(onnx_message *node, const char *name, const int64_t *values, int count);
void onnx_attribute_float(onnx_message *node, const char *name, float value);
void onnx_attribute_floats(onnx_message *node, const char *name, const float *values, int count);
/* Text by text, as onnx_put_words. */
void onnx_attribute_words(onnx_message *node, const char *name, const char *words);
void onnx_attribute_text(onnx_message *node, const char *name, const char *text);
void onnx_attribute_tensor(onnx_message *node, const char *name, onnx_message tensor);
void onnx_attribute_graph(onnx_message *node, const char *name, onnx_message graph);
/* Of a node in a function: the function's attribute of another name. */
void onnx_attribute_reference(onnx_message *node, const char *name, int32_t kind, const char *reference);

void onnx_graph_node(onnx_message *graph, onnx_message node);
void onnx_graph_input(onnx_message *graph, onnx_message value);
void onnx_graph_output(onnx_message *graph, onnx_message value);
void onnx_graph_tensor(onnx_message *graph, onnx_message tensor);
/* "f" of domain "local", "x y", "z" */
onnx_message onnx_function(const char *name, const char *inputs, const char *outputs);
void onnx_function_node(onnx_message *function, onnx_message node);
void onnx_opset(onnx_message *model, const char *domain, int64_t version);
/* Of a graph: version 8 of the format with operators of version 21. */
onnx_message onnx_model(onnx_message graph);
void onnx_model_function(onnx_message *model, onnx_message function);

#endif
