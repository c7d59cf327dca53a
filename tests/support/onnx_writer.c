/* A writer of protobuf's wire format with the field numbers of ONNX. */
#include "support/onnx_writer.h"
#include <stdio.h>
#include <string.h>

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

void onnx_put_varint(onnx_message *m, uint64_t value)
{
    do {
        unsigned char byte = (unsigned char)((value & 127) | (value > 127 ? 128 : 0));
        kni_buffer_append(m, &byte, 1);
        value >>= 7;
    } while (value);
}

static void put_tag(onnx_message *m, uint32_t field, int kind)
{
    onnx_put_varint(m, (uint64_t)field << 3 | (uint64_t)kind);
}

void onnx_put_int(onnx_message *m, uint32_t field, int64_t value)
{
    put_tag(m, field, VARINT);
    onnx_put_varint(m, (uint64_t)value);
}

void onnx_put_float(onnx_message *m, uint32_t field, float value)
{
    put_tag(m, field, FIXED32);
    kni_buffer_append(m, &value, sizeof value);
}

void onnx_put_double(onnx_message *m, uint32_t field, double value)
{
    put_tag(m, field, FIXED64);
    kni_buffer_append(m, &value, sizeof value);
}

void onnx_put_bytes(onnx_message *m, uint32_t field, const void *data, size_t bytes)
{
    put_tag(m, field, BYTES);
    onnx_put_varint(m, bytes);
    if (bytes) kni_buffer_append(m, data, bytes);
}

void onnx_put_text(onnx_message *m, uint32_t field, const char *text)
{
    onnx_put_bytes(m, field, text, strlen(text));
}

void onnx_put_ints(onnx_message *m, uint32_t field, const int64_t *values, int count)
{
    for (int i = 0; i < count; i++) onnx_put_int(m, field, values[i]);
}

void onnx_put_packed(onnx_message *m, uint32_t field, const int64_t *values, int count)
{
    onnx_message packed = {0};
    for (int i = 0; i < count; i++) onnx_put_varint(&packed, (uint64_t)values[i]);
    onnx_put(m, field, packed);
}

void onnx_put(onnx_message *m, uint32_t field, onnx_message part)
{
    onnx_put_bytes(m, field, part.data, part.length);
    kni_buffer_free(&part);
}

void onnx_put_words(onnx_message *m, uint32_t field, const char *words)
{
    for (const char *at = words + strspn(words, " "); *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        onnx_put_bytes(m, field, at, length == 1 && *at == '-' ? 0 : length);
        at += length;
    }
}

/* ---- tensors and types */

onnx_message onnx_tensor_head(const char *name, int32_t type, const int64_t *sizes, int rank)
{
    onnx_message t = {0};
    onnx_put_ints(&t, 1, sizes, rank);
    onnx_put_int(&t, 2, type);
    onnx_put_text(&t, 8, name);
    return t;
}

onnx_message onnx_tensor_raw(const char *name, int32_t type, const int64_t *sizes, int rank, const void *data,
                             size_t bytes)
{
    onnx_message t = onnx_tensor_head(name, type, sizes, rank);
    onnx_put_bytes(&t, 9, data, bytes);
    return t;
}

static size_t elements(const int64_t *sizes, int rank)
{
    size_t count = 1;
    for (int i = 0; i < rank; i++) count *= (size_t)sizes[i];
    return count;
}

onnx_message onnx_floats(const char *name, const int64_t *sizes, int rank, const float *values)
{
    return onnx_tensor_raw(name, 1, sizes, rank, values, elements(sizes, rank) * sizeof *values);
}

onnx_message onnx_ints(const char *name, const int64_t *sizes, int rank, const int64_t *values)
{
    return onnx_tensor_raw(name, 7, sizes, rank, values, elements(sizes, rank) * sizeof *values);
}

static void put_pair(onnx_message *m, uint32_t field, const char *name, const char *text)
{
    onnx_message pair = {0};
    onnx_put_text(&pair, 1, name);
    onnx_put_text(&pair, 2, text);
    onnx_put(m, field, pair);
}

onnx_message onnx_tensor_external(const char *name, int32_t type, const int64_t *sizes, int rank,
                                  const char *location, int64_t offset, int64_t length)
{
    char text[32];
    onnx_message t = onnx_tensor_head(name, type, sizes, rank);
    put_pair(&t, 13, "location", location);
    snprintf(text, sizeof text, "%lld", (long long)offset);
    if (offset >= 0) put_pair(&t, 13, "offset", text);
    snprintf(text, sizeof text, "%lld", (long long)length);
    if (length >= 0) put_pair(&t, 13, "length", text);
    onnx_put_int(&t, 14, 1);
    return t;
}

onnx_message onnx_type(int32_t type, const int64_t *sizes, int rank)
{
    onnx_message shape = {0}, tensor = {0}, whole = {0};
    for (int i = 0; i < rank; i++) {
        onnx_message dim = {0};
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        if (sizes[i] >= 0)
            onnx_put_int(&dim, 1, sizes[i]);
        else
            onnx_put_text(&dim, 2, name);
        onnx_put(&shape, 1, dim);
    }
    onnx_put_int(&tensor, 1, type);
    if (rank >= 0) onnx_put(&tensor, 2, shape);
    onnx_put(&whole, 1, tensor);
    return whole;
}

onnx_message onnx_value(const char *name, onnx_message type)
{
    onnx_message value = {0};
    onnx_put_text(&value, 1, name);
    onnx_put(&value, 2, type);
    return value;
}

onnx_message onnx_float_value(const char *name, const int64_t *sizes, int rank)
{
    return onnx_value(name, onnx_type(1, sizes, rank));
}

/* ---- nodes */

onnx_message onnx_node(const char *op, const char *inputs, const char *outputs)
{
    onnx_message node = {0};
    onnx_put_words(&node, 1, inputs);
    onnx_put_words(&node, 2, outputs);
    onnx_put_text(&node, 4, op);
    return node;
}

static onnx_message attribute_head(const char *name, int32_t kind)
{
    onnx_message a = {0};
    onnx_put_text(&a, 1, name);
    onnx_put_int(&a, 20, kind);
    return a;
}

void onnx_attribute(onnx_message *node, const char *name, int32_t kind, uint32_t field, onnx_message content)
{
    onnx_message a = attribute_head(name, kind);
    onnx_put(&a, field, content);
    onnx_put(node, 5, a);
}

void onnx_attribute_int(onnx_message *node, const char *name, int64_t value)
{
    onnx_message a = attribute_head(name, 2);
    onnx_put_int(&a, 3, value);
    onnx_put(node, 5, a);
}

void onnx_attribute_ints(onnx_message *node, const char *name, const int64_t *values, int count)
{
    onnx_message a = attribute_head(name, 7);
    onnx_put_ints(&a, 8, values, count);
    onnx_put(node, 5, a);
}

void onnx_attribute_floats(onnx_message *node, const char *name, const float *values, int count)
{
    onnx_message a = attribute_head(name, 6);
    for (int i = 0; i < count; i++) onnx_put_float(&a, 7, values[i]);
    onnx_put(node, 5, a);
}

void onnx_attribute_words(onnx_message *node, const char *name, const char *words)
{
    onnx_message a = attribute_head(name, 8);
    onnx_put_words(&a, 9, words);
    onnx_put(node, 5, a);
}

void onnx_attribute_float(onnx_message *node, const char *name, float value)
{
    onnx_message a = attribute_head(name, 1);
    onnx_put_float(&a, 2, value);
    onnx_put(node, 5, a);
}

void onnx_attribute_text(onnx_message *node, const char *name, const char *text)
{
    onnx_message a = attribute_head(name, 3);
    onnx_put_text(&a, 4, text);
    onnx_put(node, 5, a);
}

void onnx_attribute_tensor(onnx_message *node, const char *name, onnx_message tensor)
{
    onnx_attribute(node, name, 4, 5, tensor);
}

void onnx_attribute_graph(onnx_message *node, const char *name, onnx_message graph)
{
    onnx_attribute(node, name, 5, 6, graph);
}

void onnx_attribute_reference(onnx_message *node, const char *name, int32_t kind, const char *reference)
{
    onnx_message a = attribute_head(name, kind);
    onnx_put_text(&a, 21, reference);
    onnx_put(node, 5, a);
}

/* ---- graphs, functions, models */

void onnx_graph_node(onnx_message *graph, onnx_message node) { onnx_put(graph, 1, node); }
void onnx_graph_input(onnx_message *graph, onnx_message value) { onnx_put(graph, 11, value); }
void onnx_graph_output(onnx_message *graph, onnx_message value) { onnx_put(graph, 12, value); }
void onnx_graph_tensor(onnx_message *graph, onnx_message tensor) { onnx_put(graph, 5, tensor); }

onnx_message onnx_function(const char *name, const char *inputs, const char *outputs)
{
    onnx_message f = {0};
    onnx_put_text(&f, 1, name);
    onnx_put_words(&f, 4, inputs);
    onnx_put_words(&f, 5, outputs);
    onnx_put_text(&f, 10, "local");
    return f;
}

void onnx_function_node(onnx_message *function, onnx_message node) { onnx_put(function, 7, node); }

void onnx_opset(onnx_message *model, const char *domain, int64_t version)
{
    onnx_message opset = {0};
    onnx_put_text(&opset, 1, domain);
    onnx_put_int(&opset, 2, version);
    onnx_put(model, 8, opset);
}

onnx_message onnx_model(onnx_message graph)
{
    onnx_message model = {0};
    onnx_put_int(&model, 1, 8);
    onnx_put_text(&model, 2, "Kiln's tests");
    onnx_opset(&model, "", 21);
    onnx_put(&model, 7, graph);
    return model;
}

void onnx_model_function(onnx_message *model, onnx_message function) { onnx_put(model, 25, function); }
