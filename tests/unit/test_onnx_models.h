/* What the tests of running ONNX models share: small models in memory. */
#ifndef TEST_ONNX_MODELS_H
#define TEST_ONNX_MODELS_H

#include "support/check.h"
#include "support/onnx_writer.h"
#include <kn/onnx.h>

enum { FLOAT = 1, INT64 = 7, STRING = 8, BOOLEAN = 9, KEPT = 64 };

/* Bytes that models lie in; they are freed at the end. */
static kni_buffer kept_bytes[KEPT];
static int kept_count;

static inline void onnx_free_kept(void)
{
    while (kept_count) kni_buffer_free(&kept_bytes[--kept_count]);
}

static inline kn_onnx onnx_open_with(onnx_message message, const kn_onnx_args *args)
{
    if (kept_count == KEPT) return NULL;
    kept_bytes[kept_count++] = message;
    return kn_onnx_load_memory(message.data, message.length, args);
}

/* The message is given away. */
static inline kn_onnx onnx_open(onnx_message message)
{
    kn_onnx model = onnx_open_with(message, NULL);
    if (!model) printf("%s\n", kn_last_error());
    CHECK(model != NULL);
    return model;
}

static inline onnx_message onnx_bool_value(const char *name)
{
    return onnx_value(name, onnx_type(BOOLEAN, NULL, 0));
}

static inline onnx_message onnx_int_value(const char *name, const int64_t *sizes, int rank)
{
    return onnx_value(name, onnx_type(INT64, sizes, rank));
}

static inline onnx_message onnx_int_constant(const char *name, int64_t value)
{
    return onnx_ints(name, ONNX_SCALAR, &value);
}

static inline onnx_message onnx_truth(const char *name, bool value)
{
    unsigned char byte = value;
    return onnx_tensor_raw(name, BOOLEAN, ONNX_SCALAR, &byte, 1);
}

/* One node over floats of shape [n0, 3]: its inputs are x and y, or x alone. */
static inline onnx_message onnx_one_node(const char *op, bool two)
{
    onnx_message g = {0};
    onnx_graph_node(&g, onnx_node(op, two ? "x y" : "x", "z"));
    onnx_graph_input(&g, onnx_float_value("x", ONNX_SIZES(-1, 3)));
    if (two) onnx_graph_input(&g, onnx_float_value("y", ONNX_SIZES(-1, 3)));
    onnx_graph_output(&g, onnx_float_value("z", ONNX_SIZES(-1, 3)));
    return onnx_model(g);
}

/* Runs a model with one output, of which it returns the kept tensor. */
static inline kn_tensor onnx_give(kn_onnx model, const kn_tensor *in, int32_t n)
{
    kn_tensor out = KN_NONE;
    if (kn_onnx_run(model, in, n, &out, 1)) printf("%s\n", kn_last_error());
    return kn_keep(out);
}

#endif
