/* Removes nodes that give what they get: identities, casts to the type that is there, permutations that undo each other, operators that
   do nothing the second time, products with 1. */
#include "onnx/pass/graph_edit.h"
#include <string.h>

/* ---- element types that are known for sure */

static const char *const keeps_type[] = {"Abs",
                                         "Add",
                                         "Concat",
                                         "Div",
                                         "Dropout",
                                         "Expand",
                                         "Flatten",
                                         "Gather",
                                         "GatherElements",
                                         "GatherND",
                                         "Gemm",
                                         "Identity",
                                         "LayerNormalization",
                                         "MatMul",
                                         "Max",
                                         "Min",
                                         "Mul",
                                         "Neg",
                                         "Pad",
                                         "Pow",
                                         "ReduceMax",
                                         "ReduceMean",
                                         "ReduceMin",
                                         "ReduceSum",
                                         "Relu",
                                         "Reshape",
                                         "Sigmoid",
                                         "Slice",
                                         "Softmax",
                                         "Split",
                                         "Sqrt",
                                         "Squeeze",
                                         "Sub",
                                         "Tanh",
                                         "Tile",
                                         "Transpose",
                                         "Unsqueeze"};
static const struct {
    const char *op;
    int32_t type;
} gives_type[] = {{"Shape", KNI_ONNX_INT64},      {"Size", KNI_ONNX_INT64},
                  {"NonZero", KNI_ONNX_INT64},    {"ArgMax", KNI_ONNX_INT64},
                  {"ArgMin", KNI_ONNX_INT64},     {"Equal", KNI_ONNX_BOOL},
                  {"Less", KNI_ONNX_BOOL},        {"Greater", KNI_ONNX_BOOL},
                  {"LessOrEqual", KNI_ONNX_BOOL}, {"GreaterOrEqual", KNI_ONNX_BOOL},
                  {"And", KNI_ONNX_BOOL},         {"Or", KNI_ONNX_BOOL},
                  {"Not", KNI_ONNX_BOOL},         {"IsNaN", KNI_ONNX_BOOL},
                  {"IsInf", KNI_ONNX_BOOL}};

/* KNI_ONNX_UNDEFINED: not known. What files declare of values between nodes is not looked at; inputs are checked when a model runs. */
static int32_t type_of(const kni_edit *p, int32_t value)
{
    for (int steps = 0; steps < 32 && value >= 0; steps++) {
        const kni_onnx_value *v = &p->model->values[value];
        if (v->initializer) return v->initializer->type;
        const kni_onnx_node *node = kni_edit_maker(p, value);
        if (!node) {
            bool input = v->graph == p->model->graph && v->declared && v->declared->kind == KNI_ONNX_TENSOR;
            return input ? v->declared->type : KNI_ONNX_UNDEFINED;
        }
        if (*node->domain || node->out[0] != value) return KNI_ONNX_UNDEFINED;
        if (!strcmp(node->op, "Cast")) return (int32_t)kni_node_int(node, "to", KNI_ONNX_UNDEFINED);
        for (size_t i = 0; i < sizeof gives_type / sizeof *gives_type; i++)
            if (!strcmp(gives_type[i].op, node->op)) return gives_type[i].type;
        bool keeps = false;
        for (size_t i = 0; i < sizeof keeps_type / sizeof *keeps_type; i++)
            keeps |= !strcmp(keeps_type[i], node->op);
        value = keeps ? kni_edit_input(node, 0) : -1;
    }
    return KNI_ONNX_UNDEFINED;
}

/* ---- rules: whether a node only hands its first operand on */

static bool drops_nothing(kni_edit *p, const kni_onnx_node *node)
{
    int32_t mode = kni_edit_input(node, 2);
    double trains = 0;
    if (node->n_out > 1 && node->out[1] >= 0 && p->uses[node->out[1]]) return false;
    if (node->version < 7) return kni_node_int(node, "is_test", 0) != 0;
    return node->version < 12 || mode < 0 || (kni_edit_real(p, mode, &trains) && trains == 0);
}

static bool casts_to_itself(kni_edit *p, const kni_onnx_node *node)
{
    int64_t to = kni_node_int(node, "to", KNI_ONNX_UNDEFINED);
    return to != KNI_ONNX_UNDEFINED && type_of(p, node->in[0]) == to;
}

static bool permutes_nothing(kni_edit *p, const kni_onnx_node *node)
{
    int64_t n;
    const int64_t *axes = kni_node_ints(node, "perm", &n);
    (void)p;
    for (int64_t i = 0; i < n; i++)
        if (axes[i] != i) return false;
    return n > 0;
}

static bool pads_nothing(kni_edit *p, const kni_onnx_node *node)
{
    int64_t n = 0;
    const int64_t *pads = NULL;
    if (node->version >= 11)
        pads = kni_edit_ints(p, kni_edit_input(node, 1), &n);
    else
        pads = kni_node_ints(node, node->version < 2 ? "paddings" : "pads", &n);
    for (int64_t i = 0; pads && i < n; i++)
        if (pads[i] != 0) return false;
    return pads && n > 0;
}

static bool has_one_operand(kni_edit *p, const kni_onnx_node *node)
{
    (void)p;
    return node->n_in == 1;
}

static bool always(kni_edit *p, const kni_onnx_node *node)
{
    (void)p, (void)node;
    return true;
}

/* A constant of rank 0 changes no shape. */
static bool is_one(kni_edit *p, int32_t value)
{
    const kni_onnx_tensor *t = kni_edit_constant(p, value);
    return t && t->rank == 0 && t->type != KNI_ONNX_STRING && kni_edit_element(t, 0) == 1;
}

static bool divides_by_one(kni_edit *p, const kni_onnx_node *node)
{
    return node->version >= 7 && is_one(p, kni_edit_input(node, 1));
}

/* The same operator before it did all that there is to do. */
static bool repeats(kni_edit *p, const kni_onnx_node *node)
{
    return kni_edit_made_by(p, node->in[0], node->op) != NULL;
}

static const struct {
    const char *op;
    bool (*hands_on)(kni_edit *p, const kni_onnx_node *node);
} rules[] = {
    {"Identity", always},      {"Dropout", drops_nothing},
    {"Cast", casts_to_itself}, {"Transpose", permutes_nothing},
    {"Pad", pads_nothing},     {"Sum", has_one_operand},
    {"Max", has_one_operand},  {"Min", has_one_operand},
    {"Mean", has_one_operand}, {"Concat", has_one_operand},
    {"Div", divides_by_one},   {"Mul", divides_by_one},
    {"Relu", repeats},         {"Abs", repeats},
    {"Ceil", repeats},         {"Floor", repeats},
    {"Round", repeats},        {"Sign", repeats},
};

/* ---- pairs that undo each other, or are one */

/* x of op(op(x)), where the first is read here. */
static int32_t twice(kni_edit *p, const kni_onnx_node *node, const char *op)
{
    const kni_onnx_node *before = kni_edit_is(node, op) ? kni_edit_made_by(p, node->in[0], op) : NULL;
    return before ? kni_edit_input(before, 0) : -1;
}

static void join_permutations(kni_edit *p, kni_onnx_node *node)
{
    const kni_onnx_node *before = kni_edit_made_by(p, node->in[0], "Transpose");
    int64_t n, m, axes[KN_MAX_RANK];
    const int64_t *second = kni_node_ints(node, "perm", &n);
    const int64_t *first = before ? kni_node_ints(before, "perm", &m) : NULL;
    if (!first || !second || n != m || n > KN_MAX_RANK) return;
    for (int64_t i = 0; i < n; i++) {
        if (second[i] < 0 || second[i] >= n) return;
        axes[i] = first[second[i]];
    }
    kni_onnx_attribute perm = kni_edit_list(p, "perm", axes, n);
    kni_edit_become(p, node, "", "Transpose", node->version, before->in, 1, &perm, 1);
}

/* The second shape alone decides, unless it takes sizes from what it gets. */
static void join_shapes(kni_edit *p, kni_onnx_node *node)
{
    const kni_onnx_node *before = kni_edit_made_by(p, node->in[0], "Reshape");
    int64_t n = 0;
    const int64_t *shape = kni_edit_ints(p, kni_edit_input(node, 1), &n);
    if (!before || !shape || node->version < 5) return;
    for (int64_t i = 0; i < n; i++)
        if (shape[i] == 0) return;
    const int32_t in[2] = {before->in[0], node->in[1]};
    kni_edit_become(p, node, "", "Reshape", node->version, in, 2, node->attributes, node->n_attributes);
}

/* Squeeze(Unsqueeze(x)) of the same axes. */
static int32_t undone_axes(kni_edit *p, const kni_onnx_node *node)
{
    const kni_onnx_node *before = kni_edit_made_by(p, node->in[0], "Unsqueeze");
    int64_t n = 0, m = 0;
    if (!before) return -1;
    const int64_t *a = kni_edit_axes(p, node, &n), *b = kni_edit_axes(p, before, &m);
    bool same = a && b && n == m && n > 0;
    for (int64_t i = 0; same && i < n; i++) same = a[i] == b[i];
    return same ? before->in[0] : -1;
}

static void visit(kni_edit *p, kni_onnx_node *node)
{
    if (*node->domain || node->n_in < 1 || node->n_out < 1 || node->in[0] < 0 || node->out[0] < 0) return;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!strcmp(rules[i].op, node->op) && rules[i].hands_on(p, node)) {
            kni_edit_forward(p, node->out[0], node->in[0]);
            return;
        }
    if (kni_edit_is(node, "Mul") && node->version >= 7 && is_one(p, node->in[0]) &&
        kni_edit_input(node, 1) >= 0) {
        kni_edit_forward(p, node->out[0], node->in[1]);
        return;
    }
    int32_t x = twice(p, node, "Neg");
    if (x < 0) x = twice(p, node, "Not");
    if (x < 0 && kni_edit_is(node, "Squeeze")) x = undone_axes(p, node);
    if (x >= 0)
        kni_edit_forward(p, node->out[0], x);
    else if (kni_edit_is(node, "Transpose"))
        join_permutations(p, node);
    else if (kni_edit_is(node, "Reshape"))
        join_shapes(p, node);
}

void kni_edit_identities(kni_edit *p) { kni_edit_each(p, visit); }
