/* What kiln inspect says of an ONNX model: signature, parameters by type, operators by how often they come. */
#include "onnx/describe.h"
#include "support/check.h"
#include "support/onnx_writer.h"

static onnx_message around(uint32_t field, uint32_t inner_field, onnx_message inner)
{
    onnx_message kind = {0}, type = {0};
    onnx_put(&kind, inner_field, inner);
    onnx_put(&type, field, kind);
    return type;
}

static void same_type(onnx_message type, const char *want)
{
    onnx_message graph = {0}, model;
    kni_buffer text = {0};
    onnx_graph_input(&graph, onnx_value("x", type));
    model = onnx_model(graph);
    kni_onnx_model *m = kni_onnx_model_read_memory(model.data, model.length, NULL);
    if (CHECK(m != NULL)) kni_onnx_write_declared(&text, m->values[m->graph->inputs[0]].declared);
    if (!CHECK(!strcmp(kni_buffer_string(&text), want))) printf("%s\n", text.data);
    kni_onnx_model_free(m);
    kni_buffer_free(&text);
    kni_buffer_free(&model);
}

static void types_in_words(void)
{
    enum { SEQUENCE = 4, MAP = 5, OPTIONAL = 9 };
    same_type(onnx_type(1, ONNX_SIZES(-1, 3)), "float [n0, 3]");
    same_type(onnx_type(7, ONNX_SCALAR), "int64 []");
    same_type(onnx_type(7, NULL, -1), "int64 of any shape");
    same_type((onnx_message){0}, "what is not declared");
    same_type(around(OPTIONAL, 1, around(SEQUENCE, 1, onnx_type(1, ONNX_SIZES(2)))),
              "optional sequence of float [2]");
    onnx_message map = {0}, type = {0};
    onnx_put_int(&map, 1, 8);
    onnx_put(&map, 2, onnx_type(1, ONNX_SIZES(1)));
    onnx_put(&type, MAP, map);
    same_type(type, "map from string to float [1]");
    same_type(around(SEQUENCE, 1, (onnx_message){0}), "sequence of what is not declared");
}

static onnx_message model_with_parts(void)
{
    const float values[6] = {0};
    onnx_message g = {0}, inner = {0}, n = onnx_node("If", "x", "t"), model;
    onnx_graph_node(&inner, onnx_node("Neg", "x", "i"));
    onnx_graph_output(&inner, onnx_float_value("i", NULL, -1));
    onnx_attribute_graph(&n, "then_branch", inner);
    onnx_graph_node(&g, n);
    onnx_graph_node(&g, onnx_node("Add", "t w", "u"));
    onnx_graph_node(&g, onnx_node("Add", "u w", "v"));
    n = onnx_node("Odd\x1b", "v", "y");
    onnx_put_text(&n, 7, "com.example");
    onnx_graph_node(&g, n);
    onnx_graph_tensor(&g, onnx_floats("w", ONNX_SIZES(3), values));
    onnx_graph_tensor(&g, onnx_floats("large", ONNX_SIZES(2, 3), values));
    onnx_graph_tensor(&g, onnx_ints("axes", ONNX_SIZES(1), &(int64_t){0}));
    onnx_graph_input(&g, onnx_float_value("x", ONNX_SIZES(-1, 3)));
    onnx_graph_output(&g, onnx_float_value("y", ONNX_SIZES(-1, 3)));
    model = onnx_model(g);
    onnx_opset(&model, "com.example", 2);
    return model;
}

static const char description[] = "made by Kiln's tests, version 8 of the format\n"
                                  "operators of ai.onnx 21, com.example 2\n"
                                  "inputs:\n"
                                  "  x: float [n0, 3]\n"
                                  "outputs:\n"
                                  "  y: float [n0, 3]\n"
                                  "3 parameters with 10 elements in 44 bytes\n"
                                  "  float                     9 elements             36 bytes\n"
                                  "  int64                     1 elements              8 bytes\n"
                                  "largest:\n"
                                  "            24 bytes  float [2, 3]  large\n"
                                  "            12 bytes  float [3]  w\n"
                                  "             8 bytes  int64 [1]  axes\n"
                                  "5 nodes, 1 of them in inner graphs:\n"
                                  "       2  Add\n"
                                  "       1  If\n"
                                  "       1  Neg\n"
                                  "       1  com.example.Odd\\x1b\n";

int main(void)
{
    types_in_words();
    kni_buffer text = {0};
    onnx_message model = model_with_parts();
    kni_onnx_model *m = kni_onnx_model_read_memory(model.data, model.length, NULL);
    CHECK(m && kni_onnx_describe(m, &text) == KN_OK);
    if (!CHECK(!strcmp(kni_buffer_string(&text), description))) printf("%s", kni_buffer_string(&text));
    kni_onnx_model_free(m);
    kni_buffer_free(&text);
    kni_buffer_free(&model);
    return check_report();
}
