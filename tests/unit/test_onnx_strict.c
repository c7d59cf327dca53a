/* Models that contradict themselves or the standard, which ops of the table alone would take: each fails with the node's name, at run time
   and when it is looked at. */
#include "test_onnx_models.h"

typedef struct wrong {
    const char *reason;
    onnx_message node;
    int types[3];       /* of x, y and z; 0: FLOAT, -1: the input is not there */
    onnx_message extra; /* a tensor called w, or nothing */
} wrong;

static onnx_message with_int(onnx_message node, const char *name, int64_t value)
{
    onnx_attribute_int(&node, name, value);
    return node;
}

static onnx_message with_ints(onnx_message node, const char *name, const int64_t *values, int count)
{
    onnx_attribute_ints(&node, name, values, count);
    return node;
}

static onnx_message with_float(onnx_message node, const char *name, float value)
{
    onnx_attribute_float(&node, name, value);
    return node;
}

static onnx_message typed(const char *name, int type)
{
    return onnx_value(name, onnx_type(type ? type : FLOAT, ONNX_SIZES(2, 4)));
}

static void check_wrong(wrong *w)
{
    onnx_message g = {0};
    onnx_graph_node(&g, w->node);
    onnx_graph_input(&g, typed("x", w->types[0]));
    if (w->types[1] >= 0) onnx_graph_input(&g, typed("y", w->types[1]));
    if (w->extra.length) onnx_graph_tensor(&g, w->extra);
    onnx_graph_output(&g, onnx_value("z", onnx_type(w->types[2] ? w->types[2] : FLOAT, NULL, -1)));
    kn_onnx model = onnx_open_with(onnx_model(g), &(kn_onnx_args){.no_simplify = true});
    kn_onnx_examined found = {0};
    kn_onnx_problem p = {0};
    bool seen = model && kn_onnx_examine(model, NULL, 0, &found) == KN_OK && found.problems == 1 &&
                kn_onnx_examined_problem(model, 0, &p) == KN_OK && strstr(p.reason, w->reason);
    if (!CHECK(seen)) printf("  %s: %s\n", w->reason, model && p.reason ? p.reason : kn_last_error());
    kn_dtype x_type = w->types[0] == INT64 ? KN_I64 : KN_F32, y_type = w->types[1] == INT64 ? KN_I64 : KN_F32;
    kn_tensor in[2] = {kn_keep(kn_ones(KN_SHAPE(2, 4), x_type)), kn_keep(kn_ones(KN_SHAPE(2, 4), y_type))},
              out = KN_NONE;
    bool failed = model && kn_onnx_run(model, in, w->types[1] >= 0 ? 2 : 1, &out, 1) != KN_OK &&
                  strstr(kn_last_error(), w->reason) && strstr(kn_last_error(), "node '");
    if (!CHECK(failed)) printf("  %s: %s\n", w->reason, kn_last_error());
    kn_onnx_free(model);
}

static void test_operands(void)
{
    static const char *const ops[] = {"Add", "Mul", "Max", "Equal", "Concat", "MatMul", "Mod", "Sum"};
    for (int i = 0; i < (int)(sizeof ops / sizeof *ops); i++) {
        onnx_message node = onnx_node(ops[i], "x y", "z");
        if (!strcmp(ops[i], "Concat")) onnx_attribute_int(&node, "axis", 0);
        check_wrong(&(wrong){"operands 0 and 1 are f32 and i64", node, {FLOAT, INT64, 0}, {0}});
    }
    check_wrong(&(wrong){"operands 1 and 2 are f32 and i64",
                         onnx_node("Where", "c x y", "z"),
                         {FLOAT, INT64, 0},
                         onnx_truth("c", true)});
}

static void test_attributes(void)
{
    const int64_t pair[2] = {0, 1};
    check_wrong(&(wrong){"attribute 'axis' is a float; it must be an integer",
                         with_float(onnx_node("Softmax", "x", "z"), "axis", 1),
                         {0, -1, 0},
                         {0}});
    check_wrong(&(wrong){"attribute 'axis' is a list of integers",
                         with_ints(onnx_node("Softmax", "x", "z"), "axis", pair, 2),
                         {0, -1, 0},
                         {0}});
    check_wrong(&(wrong){"attribute 'epsilon' is an integer; it must be a float",
                         with_int(onnx_node("LayerNormalization", "x x", "z"), "epsilon", 1),
                         {0, -1, 0},
                         {0}});
}

static void test_results(void)
{
    check_wrong(&(wrong){
        "its result 'z' is f32; the file declares i64", onnx_node("Neg", "x", "z"), {0, -1, INT64}, {0}});
}

static void test_parts(void)
{
    const int64_t negative[2] = {-1, 5}, few[2] = {1, 2}, many[2] = {3, 2};
    const struct {
        const int64_t *parts;
        const char *reason;
    } cases[] = {{negative, "part 0 has -1 elements"},
                 {few, "have 3 elements together"},
                 {many, "have 5 elements together"}};
    for (int i = 0; i < 3; i++)
        check_wrong(&(wrong){cases[i].reason,
                             with_int(onnx_node("Split", "x w", "z rest"), "axis", 1),
                             {0, -1, 0},
                             onnx_ints("w", ONNX_SIZES(2), cases[i].parts)});
}

/* x [2, 4] as an image: [1, 2, 2, 2] by a node before. */
static void check_conv(const char *reason, const char *operands, void (*change)(onnx_message *node))
{
    static const float weight[2 * 2 * 1 * 1] = {0};
    const int64_t shape[4] = {1, 2, 2, 2};
    onnx_message g = {0}, node = onnx_node("Conv", operands, "z");
    if (change) change(&node);
    onnx_graph_node(&g, onnx_node("Reshape", "x shape", "image"));
    onnx_graph_node(&g, node);
    onnx_graph_tensor(&g, onnx_ints("shape", ONNX_SIZES(4), shape));
    onnx_graph_tensor(&g, onnx_floats("w", ONNX_SIZES(2, 2, 1, 1), weight));
    onnx_graph_input(&g, typed("x", FLOAT));
    onnx_graph_output(&g, onnx_value("z", onnx_type(FLOAT, NULL, -1)));
    kn_onnx model = onnx_open(onnx_model(g));
    kn_tensor x = kn_ones(KN_SHAPE(2, 4), KN_F32), out = KN_NONE;
    bool failed = kn_onnx_run(model, &x, 1, &out, 1) != KN_OK && strstr(kn_last_error(), reason);
    if (!CHECK(failed)) printf("  %s: %s\n", reason, kn_last_error());
    kn_onnx_free(model);
}

static void no_groups(onnx_message *node) { onnx_attribute_int(node, "group", 0); }

static void other_kernel(onnx_message *node)
{
    onnx_attribute_ints(node, "kernel_shape", (const int64_t[]){3, 3}, 2);
}

static void one_stride(onnx_message *node) { onnx_attribute_ints(node, "strides", (const int64_t[]){1}, 1); }

static void test_windows(void)
{
    check_conv("group is 0; it must be at least 1", "image w", no_groups);
    check_conv("kernel_shape has 3 on spatial axis 0, and the weight has 1", "image w", other_kernel);
    check_conv("strides has 1 numbers; this operand needs 2", "image w", one_stride);
    check_conv("it has no weight", "image -", NULL);
}

/* What a large model is looked at without: memory for its constants. */
static void test_large_constants(void)
{
    const int64_t shape[1] = {(int64_t)1 << 33};
    onnx_message g = {0};
    onnx_graph_node(&g, onnx_node("ConstantOfShape", "shape", "c"));
    onnx_graph_node(&g, onnx_node("Neg", "c", "z"));
    onnx_graph_tensor(&g, onnx_ints("shape", ONNX_SIZES(1), shape));
    onnx_graph_output(&g, onnx_value("z", onnx_type(FLOAT, NULL, -1)));
    kn_onnx model = onnx_open_with(onnx_model(g), &(kn_onnx_args){.no_simplify = true});
    kn_onnx_examined found = {0};
    if (!CHECK(model && kn_onnx_examine(model, NULL, 0, &found) == KN_OK && found.problems == 0 &&
               found.checked == 2))
        printf("  %s\n", kn_last_error());
    kn_onnx_free(model);
}

int main(void)
{
    kn_scope scope = kn_scope_begin();
    test_operands();
    test_attributes();
    test_results();
    test_parts();
    test_windows();
    test_large_constants();
    kn_scope_end(scope, KN_NONE);
    onnx_free_kept();
    return check_report();
}
