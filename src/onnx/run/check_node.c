/* What the standard asks of nodes whatever they compute: operands that have one element type, attributes of a kind, results of the element type
   that the file declares. Ops of the table would take more, and a model that contradicts itself would run. */
#include "onnx/run/conversion.h"
#include <string.h>

/* ---- operands that have one element type */

enum { ALL = -1 };

/* Bit i: operand i. */
static const struct {
    const char *op;
    int32_t operands;
} alike[] = {
    {"Add", ALL},         {"Sub", ALL},
    {"Mul", ALL},         {"Div", ALL},
    {"Mod", ALL},         {"Max", ALL},
    {"Min", ALL},         {"Sum", ALL},
    {"Mean", ALL},        {"Concat", ALL},
    {"And", ALL},         {"Or", ALL},
    {"Xor", ALL},         {"Equal", ALL},
    {"Less", ALL},        {"Greater", ALL},
    {"LessOrEqual", ALL}, {"GreaterOrEqual", ALL},
    {"BitwiseAnd", ALL},  {"BitwiseOr", ALL},
    {"BitwiseXor", ALL},  {"MatMul", ALL},
    {"Gemm", ALL},        {"Einsum", ALL},
    {"PRelu", ALL},       {"Clip", ALL},
    {"Range", ALL},       {"Where", 6},
    {"Conv", 7},          {"ConvTranspose", 7},
    {"DeformConv", 31},   {"Pad", 5},
    {"LSTM", 14},         {"GRU", 14},
    {"RNN", 14},          {"InstanceNormalization", ALL},
    {"ScatterND", 5},     {"ScatterElements", 5},
    {"Scatter", 5},
};

static void check_alike(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in)
{
    size_t row = 0, n = sizeof alike / sizeof *alike;
    int32_t first = -1;
    if (*node->domain) return;
    while (row < n && strcmp(alike[row].op, node->op) != 0) row++;
    for (int32_t i = 0; row < n && i < node->n_in && !c->status; i++) {
        if (i < 31 && !(alike[row].operands >> i & 1)) continue;
        if (kni_kind_of(c, in[i]) != KNI_IS_TENSOR) continue;
        if (first >= 0 && kni_dtype_of(c, in[i]) != kni_dtype_of(c, in[first]))
            kni_convert_fail(
                c, KN_ERROR_DTYPE, "operands %d and %d are %s and %s; they must have one element type", first,
                i, kn_dtype_name(kni_dtype_of(c, in[first])), kn_dtype_name(kni_dtype_of(c, in[i])));
        first = first < 0 ? i : first;
    }
}

/* ---- attributes of a kind. Names that mean the same wherever the standard has them. */

static const struct {
    const char *name;
    int32_t kind;
} kinds[] = {
    {"axis", KNI_ONNX_ATTRIBUTE_INT},
    {"group", KNI_ONNX_ATTRIBUTE_INT},
    {"keepdims", KNI_ONNX_ATTRIBUTE_INT},
    {"transA", KNI_ONNX_ATTRIBUTE_INT},
    {"transB", KNI_ONNX_ATTRIBUTE_INT},
    {"hidden_size", KNI_ONNX_ATTRIBUTE_INT},
    {"ceil_mode", KNI_ONNX_ATTRIBUTE_INT},
    {"count_include_pad", KNI_ONNX_ATTRIBUTE_INT},
    {"blocksize", KNI_ONNX_ATTRIBUTE_INT},
    {"largest", KNI_ONNX_ATTRIBUTE_INT},
    {"sorted", KNI_ONNX_ATTRIBUTE_INT},
    {"exclusive", KNI_ONNX_ATTRIBUTE_INT},
    {"reverse", KNI_ONNX_ATTRIBUTE_INT},
    {"allowzero", KNI_ONNX_ATTRIBUTE_INT},
    {"num_outputs", KNI_ONNX_ATTRIBUTE_INT},
    {"batch_dims", KNI_ONNX_ATTRIBUTE_INT},
    {"fmod", KNI_ONNX_ATTRIBUTE_INT},
    {"noop_with_empty_axes", KNI_ONNX_ATTRIBUTE_INT},
    {"select_last_index", KNI_ONNX_ATTRIBUTE_INT},
    {"linear_before_reset", KNI_ONNX_ATTRIBUTE_INT},
    {"perm", KNI_ONNX_ATTRIBUTE_INTS},
    {"kernel_shape", KNI_ONNX_ATTRIBUTE_INTS},
    {"strides", KNI_ONNX_ATTRIBUTE_INTS},
    {"dilations", KNI_ONNX_ATTRIBUTE_INTS},
    {"pads", KNI_ONNX_ATTRIBUTE_INTS},
    {"output_padding", KNI_ONNX_ATTRIBUTE_INTS},
    {"output_shape", KNI_ONNX_ATTRIBUTE_INTS},
    {"axes", KNI_ONNX_ATTRIBUTE_INTS},
    {"epsilon", KNI_ONNX_ATTRIBUTE_FLOAT},
    {"momentum", KNI_ONNX_ATTRIBUTE_FLOAT},
    {"spatial_scale", KNI_ONNX_ATTRIBUTE_FLOAT},
    {"auto_pad", KNI_ONNX_ATTRIBUTE_STRING},
    {"equation", KNI_ONNX_ATTRIBUTE_STRING},
    {"coordinate_transformation_mode", KNI_ONNX_ATTRIBUTE_STRING},
    {"nearest_mode", KNI_ONNX_ATTRIBUTE_STRING},
    {"then_branch", KNI_ONNX_ATTRIBUTE_GRAPH},
    {"else_branch", KNI_ONNX_ATTRIBUTE_GRAPH},
};

static const char *const kind_names[] = {[KNI_ONNX_ATTRIBUTE_FLOAT] = "a float",
                                         [KNI_ONNX_ATTRIBUTE_INT] = "an integer",
                                         [KNI_ONNX_ATTRIBUTE_STRING] = "a string",
                                         [KNI_ONNX_ATTRIBUTE_TENSOR] = "a tensor",
                                         [KNI_ONNX_ATTRIBUTE_GRAPH] = "a graph",
                                         [KNI_ONNX_ATTRIBUTE_FLOATS] = "a list of floats",
                                         [KNI_ONNX_ATTRIBUTE_INTS] = "a list of integers",
                                         [KNI_ONNX_ATTRIBUTE_STRINGS] = "a list of strings",
                                         [KNI_ONNX_ATTRIBUTE_TYPES] = NULL};

static const char *kind_name(int32_t kind)
{
    bool known = kind > 0 && kind < (int32_t)(sizeof kind_names / sizeof *kind_names) && kind_names[kind];
    return known ? kind_names[kind] : "something else";
}

/* A list of one number may be written as a number. */
static bool is_kind(int32_t given, int32_t wanted)
{
    return given == wanted || (wanted == KNI_ONNX_ATTRIBUTE_INTS && given == KNI_ONNX_ATTRIBUTE_INT);
}

static void check_kinds(kni_conversion *c, const kni_onnx_node *node)
{
    if (*node->domain) return;
    for (int32_t i = 0; i < node->n_attributes && !c->status; i++) {
        const kni_onnx_attribute *a = &node->attributes[i];
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (!strcmp(kinds[k].name, a->name) && !is_kind(a->kind, kinds[k].kind))
                kni_convert_fail(c, KN_ERROR_ARGUMENT, "attribute '%s' is %s; it must be %s", a->name,
                                 kind_name(a->kind), kind_name(kinds[k].kind));
    }
}

/* ---- branches */

static const kni_onnx_declared *declared_result(const kni_conversion *c, const kni_onnx_graph *graph,
                                                int32_t k)
{
    int32_t value = graph && k < graph->n_outputs ? graph->outputs[k] : -1;
    return value < 0 ? NULL : c->plan->model->values[value].declared;
}

/* Both branches of an If give the same, by what the file declares. */
static void check_branches(kni_conversion *c, const kni_onnx_node *node)
{
    if (*node->domain || strcmp(node->op, "If") != 0) return;
    const kni_onnx_graph *then = kni_node_graph(node, "then_branch"),
                         *otherwise = kni_node_graph(node, "else_branch");
    for (int32_t k = 0; k < node->n_out && !c->status; k++) {
        const kni_onnx_declared *a = declared_result(c, then, k), *b = declared_result(c, otherwise, k);
        if (!a || !b || a->kind != b->kind || a->kind != KNI_ONNX_TENSOR || !a->type || !b->type ||
            a->type == b->type)
            continue;
        kni_convert_fail(c, KN_ERROR_DTYPE, "its branches give %s and %s as result %d",
                         kni_onnx_type_name(a->type), kni_onnx_type_name(b->type), k);
    }
}

/* Conditions are bool: the operand of If and Loop, and what the body of a Loop gives. */
static void check_conditions(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in)
{
    bool loops = !strcmp(node->op, "Loop");
    int32_t operand = loops ? 1 : 0;
    if (*node->domain || (!loops && strcmp(node->op, "If") != 0) || operand >= node->n_in) return;
    if (kni_kind_of(c, in[operand]) == KNI_IS_TENSOR &&
        kni_dtype_of(c, in[operand]) != kni_onnx_dtype(KNI_ONNX_BOOL))
        kni_convert_fail(c, KN_ERROR_DTYPE, "its condition is %s; it must be bool",
                         kn_dtype_name(kni_dtype_of(c, in[operand])));
    const kni_onnx_declared *made = loops ? declared_result(c, kni_node_graph(node, "body"), 0) : NULL;
    if (made && made->kind == KNI_ONNX_TENSOR && made->type && made->type != KNI_ONNX_BOOL)
        kni_convert_fail(c, KN_ERROR_DTYPE, "its body gives %s as condition; it must be bool",
                         kni_onnx_type_name(made->type));
}

void kni_check_node(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in)
{
    check_kinds(c, node);
    check_alike(c, node, in);
    check_branches(c, node);
    check_conditions(c, node, in);
}

void kni_check_result(kni_conversion *c, int32_t value, kni_datum x)
{
    const kni_onnx_declared *d = c->plan->model->values[value].declared;
    if (!d || d->kind != KNI_ONNX_TENSOR || !d->type || kni_kind_of(c, x) != KNI_IS_TENSOR) return;
    kn_dtype wanted = kni_onnx_dtype(d->type), made = kni_dtype_of(c, x);
    if (wanted && made && wanted != made)
        kni_convert_fail(c, KN_ERROR_DTYPE, "its result '%s' is %s; the file declares %s",
                         c->plan->model->values[value].name, kn_dtype_name(made), kn_dtype_name(wanted));
}
