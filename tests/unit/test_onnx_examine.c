/* Looking at a model without running it: all nodes that cannot run, in inner graphs too, and multiplications. */
#include "test_onnx_models.h"

/* y = x w in a model of one branch; the other one has an operator that nobody knows. */
static onnx_message branch(const char *op, const char *operands, const char *result)
{
    onnx_message g = {0};
    onnx_graph_node(&g, onnx_node(op, operands, result));
    onnx_graph_output(&g, onnx_float_value(result, ONNX_SIZES(-1, 4)));
    return g;
}

static onnx_message with_problems(void)
{
    const float w[12] = {0};
    onnx_message g = {0}, node = onnx_node("If", "c", "a");
    onnx_attribute_graph(&node, "then_branch", branch("MatMul", "x w", "t"));
    onnx_attribute_graph(&node, "else_branch", branch("Nowhere", "x", "e"));
    onnx_graph_node(&g, node);
    /* Attributes that have no such value. */
    node = onnx_node("Cast", "x", "bad");
    onnx_attribute_int(&node, "to", 99);
    onnx_graph_node(&g, node);
    onnx_graph_node(&g, onnx_node("Relu", "bad", "worse"));
    onnx_graph_node(&g, onnx_node("BitShift", "x x", "shifted"));
    onnx_graph_tensor(&g, onnx_floats("w", ONNX_SIZES(3, 4), w));
    onnx_graph_input(&g, onnx_bool_value("c"));
    onnx_graph_input(&g, onnx_float_value("x", ONNX_SIZES(-1, 3)));
    onnx_graph_output(&g, onnx_float_value("a", ONNX_SIZES(-1, 4)));
    onnx_graph_output(&g, onnx_float_value("worse", ONNX_SIZES(-1, 3)));
    onnx_graph_output(&g, onnx_float_value("shifted", ONNX_SIZES(-1, 3)));
    return onnx_model(g);
}

static void test_problems(void)
{
    kn_onnx model = onnx_open_with(with_problems(), &(kn_onnx_args){.no_simplify = true});
    kn_onnx_examined found;
    kn_onnx_problem p;
    kn_onnx_open_size size;
    CHECK(kn_onnx_examined_problem(model, 0, &p) == KN_ERROR_ARGUMENT); /* nothing was looked at */
    CHECK(kn_onnx_examine(model, &(kn_onnx_size){"n0", 5, 5}, 1, &found) == KN_OK);
    CHECK(found.problems == 3);
    CHECK(found.checked == 2); /* If and MatMul */
    CHECK(found.unchecked == 1);
    CHECK(found.macs == (5 * 3 * 4));
    static const char *const ops[] = {"Nowhere", "Cast", "BitShift"};
    static const char *const reasons[] = {"no such operator", "99", "LEFT or RIGHT"};
    for (int i = 0; i < 3; i++) {
        if (!CHECK(kn_onnx_examined_problem(model, i, &p) == KN_OK)) continue;
        if (!CHECK(!strcmp(p.op, ops[i]) && strstr(p.reason, reasons[i]))) printf("%s: %s\n", p.op, p.reason);
    }
    CHECK(kn_onnx_examined_problem(model, 3, &p) == KN_ERROR_INDEX);
    CHECK(found.sizes == 1);
    CHECK(kn_onnx_examined_size(model, 0, &size) == KN_OK && !strcmp(size.name, "n0") && size.given &&
          size.taken == 5);
    CHECK(kn_onnx_examine(model, &(kn_onnx_size){"m", 5, 5}, 1, &found) == KN_ERROR_ARGUMENT);
    CHECK(strstr(kn_last_error(), "open are: n0") != NULL);
    char text[4096];
    CHECK(kn_onnx_inspect(model, text, sizeof text) < sizeof text);
    CHECK(strstr(text, "60 multiply-accumulates (MACs) with n0 = 5\n") &&
          strstr(text, "3 nodes cannot run:\n"));
    CHECK(kn_onnx_print(model, text, sizeof text) < sizeof text);
    CHECK(strstr(text, "bad = Cast(x) {to = 99}") && strstr(text, "e = Nowhere(x)"));
    kn_onnx_free(model);
}

/* A loop of 7 trips with a product in it, and a node behind that depends on a value. */
static void test_loop(void)
{
    const float w[9] = {0};
    onnx_message body = {0}, g = {0}, node = onnx_node("Loop", "trips - x", "y rows");
    onnx_graph_node(&body, onnx_node("MatMul", "v w", "next"));
    onnx_graph_node(&body, onnx_node("Identity", "go", "more"));
    onnx_graph_input(&body, onnx_int_value("i", NULL, 0));
    onnx_graph_input(&body, onnx_bool_value("go"));
    onnx_graph_input(&body, onnx_float_value("v", ONNX_SIZES(2, 3)));
    onnx_graph_output(&body, onnx_bool_value("more"));
    onnx_graph_output(&body, onnx_float_value("next", ONNX_SIZES(2, 3)));
    onnx_graph_output(&body, onnx_float_value("next", ONNX_SIZES(2, 3)));
    onnx_attribute_graph(&node, "body", body);
    onnx_graph_node(&g, node);
    onnx_graph_node(&g, onnx_node("MatMul", "rows w", "z"));
    onnx_graph_node(&g, onnx_node("NonZero", "z", "places"));
    onnx_graph_node(&g, onnx_node("Neg", "places", "turned"));
    onnx_graph_tensor(&g, onnx_int_constant("trips", 7));
    onnx_graph_tensor(&g, onnx_floats("w", ONNX_SIZES(3, 3), w));
    onnx_graph_input(&g, onnx_float_value("x", ONNX_SIZES(2, 3)));
    onnx_graph_output(&g, onnx_int_value("turned", NULL, -1));
    kn_onnx model = onnx_open_with(onnx_model(g), &(kn_onnx_args){.no_simplify = true});
    kn_onnx_examined found;
    kn_onnx_operator_use use;
    CHECK(kn_onnx_examine(model, NULL, 0, &found) == KN_OK);
    CHECK(found.problems == 0);
    CHECK(found.macs == (7 * 18 + 7 * 18));
    CHECK(found.unchecked == 2); /* how many places there are is not known */
    CHECK(!found.counts_once);
    CHECK(kn_onnx_examined_operator(model, 0, &use) == KN_OK && !strcmp(use.op, "MatMul"));
    CHECK(use.nodes == 2);
    CHECK(use.macs == found.macs);
    kn_onnx_free(model);
}

/* Nobody knows whether an optional input is there. */
static void test_optional(void)
{
    enum { OPTIONAL = 9 };
    onnx_message g = {0}, inner = {0}, type = {0};
    onnx_put(&inner, 1, onnx_type(FLOAT, ONNX_SIZES(3)));
    onnx_put(&type, OPTIONAL, inner);
    onnx_graph_node(&g, onnx_node("OptionalGetElement", "o", "x"));
    onnx_graph_node(&g, onnx_node("Abs", "x", "y"));
    onnx_graph_input(&g, onnx_value("o", type));
    onnx_graph_output(&g, onnx_float_value("y", ONNX_SIZES(3)));
    kn_onnx model = onnx_open(onnx_model(g));
    kn_onnx_examined found;
    CHECK(kn_onnx_examine(model, NULL, 0, &found) == KN_OK && found.problems == 0 && found.unchecked == 2);
    kn_onnx_free(model);
}

/* What follows a failure inside of a converter must not divide by the sizes that are 0 from then on. */
static void test_after_failure(void)
{
    onnx_message g = {0}, node = onnx_node("DepthToSpace", "x", "y");
    onnx_attribute_int(&node, "blocksize", 2);
    onnx_attribute_text(&node, "mode", "ZYX");
    onnx_graph_node(&g, node);
    onnx_graph_input(&g, onnx_float_value("x", ONNX_SIZES(1, 4, 2, 2)));
    onnx_graph_output(&g, onnx_float_value("y", ONNX_SIZES(1, 1, 4, 4)));
    kn_onnx model = onnx_open_with(onnx_model(g), NULL);
    kn_onnx_examined found;
    CHECK(kn_onnx_examine(model, NULL, 0, &found) == KN_OK && found.problems == 1);
    kn_onnx_free(model);
}

/* Every allocation fails once. */
static void test_memory(void)
{
    kn_onnx model = onnx_open_with(with_problems(), &(kn_onnx_args){.no_simplify = true});
    kn_onnx_examined found = {0};
    int64_t n = 1;
    for (kn_status s = KN_ERROR_MEMORY; s && n < 4000; n++) {
        kn_memory_fail_after(n);
        s = kn_onnx_examine(model, NULL, 0, &found);
        kn_memory_fail_after(0);
    }
    CHECK(n > 1 && n < 4000);
    CHECK(found.problems == 3);
    kn_onnx_free(model);
}

static void test_support(void)
{
    kn_onnx_support s, before = {0};
    int32_t n = 0;
    bool sorted = true, conv = false;
    for (; kn_onnx_support_at(n, &s); n++) {
        sorted &= !n || strcmp(before.domain, s.domain) < 0 || strcmp(before.op, s.op) <= 0 ||
                  strcmp(before.domain, s.domain) > 0;
        conv |= !*s.domain && !strcmp(s.op, "Conv") && s.since == 1;
        before = s;
    }
    CHECK(n > 250 && sorted && conv && !kn_onnx_support_at(-1, &s));
}

int main(void)
{
    test_problems();
    test_loop();
    test_optional();
    test_after_failure();
    test_memory();
    test_support();
    onnx_free_kept();
    return check_report();
}
