/* Operators of ai.onnx.ml: every comparison of trees with NaN, forests that are none, labels, and probabilities of support vectors. */
#include "test_onnx_models.h"
#include <kn/program.h>
#include <string.h>

static kn_onnx open_node(onnx_message node, int features, const char *output, int32_t type)
{
    onnx_message g = {0};
    onnx_put_text(&node, 7, "ai.onnx.ml");
    onnx_graph_node(&g, node);
    onnx_graph_input(&g, onnx_float_value("x", ONNX_SIZES(-1, features)));
    onnx_graph_output(&g, onnx_value(output, onnx_type(type, NULL, -1)));
    onnx_message m = onnx_model(g);
    onnx_opset(&m, "ai.onnx.ml", 3);
    return onnx_open(m);
}

static kn_tensor column(const float *list, int64_t rows, int64_t width)
{
    return kn_keep(kn_from(list, KN_F32, KN_SHAPE(rows, width)));
}

/* ---- trees */

/* One comparison with 1, whose true branch gives 10 and whose false one gives 20. */
static onnx_message stump(const char *mode, int64_t nan_true)
{
    onnx_message n = onnx_node("TreeEnsembleRegressor", "x", "y");
    char modes[64];
    snprintf(modes, sizeof modes, "%s LEAF LEAF", mode);
    onnx_attribute_ints(&n, "nodes_treeids", (const int64_t[]){7, 7, 7}, 3);
    onnx_attribute_ints(&n, "nodes_nodeids", (const int64_t[]){3, 5, 4}, 3);
    onnx_attribute_ints(&n, "nodes_featureids", (const int64_t[]){0, 0, 0}, 3);
    onnx_attribute_words(&n, "nodes_modes", modes);
    onnx_attribute_floats(&n, "nodes_values", (const float[]){1, 0, 0}, 3);
    onnx_attribute_ints(&n, "nodes_truenodeids", (const int64_t[]){4, 0, 0}, 3);
    onnx_attribute_ints(&n, "nodes_falsenodeids", (const int64_t[]){5, 0, 0}, 3);
    onnx_attribute_ints(&n, "nodes_missing_value_tracks_true", (const int64_t[]){nan_true, 0, 0}, 3);
    onnx_attribute_ints(&n, "target_treeids", (const int64_t[]){7, 7}, 2);
    onnx_attribute_ints(&n, "target_nodeids", (const int64_t[]){4, 5}, 2);
    onnx_attribute_ints(&n, "target_ids", (const int64_t[]){0, 0}, 2);
    onnx_attribute_floats(&n, "target_weights", (const float[]){10, 20}, 2);
    onnx_attribute_int(&n, "n_targets", 1);
    return n;
}

static void test_comparisons(void)
{
    static const struct {
        const char *mode;
        double below, equal, above, nan; /* what a NaN gives that is not sent to the true branch */
    } rows[] = {
        {"BRANCH_LEQ", 10, 10, 20, 20}, {"BRANCH_LT", 10, 20, 20, 20}, {"BRANCH_GTE", 20, 10, 10, 20},
        {"BRANCH_GT", 20, 20, 10, 20},  {"BRANCH_EQ", 20, 10, 20, 20}, {"BRANCH_NEQ", 10, 20, 10, 10},
    };
    const float list[] = {0.5f, 1, 1.5f, __builtin_nanf("")};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int nan_true = 0; nan_true < 2; nan_true++) {
            kn_onnx model = open_node(stump(rows[i].mode, nan_true), 1, "y", FLOAT);
            kn_tensor x = column(list, 4, 1);
            CHECK_VALUES(onnx_give(model, &x, 1), 0, rows[i].below, rows[i].equal, rows[i].above,
                         nan_true ? 10 : rows[i].nan);
            kn_onnx_free(model);
        }
}

static void test_wrong_trees(void)
{
    static const struct {
        const char *mode, *words;
        int64_t yes, target;
    } rows[] = {
        {"BRANCH_LEQ", "go in circles", 3, 0},
        {"BRANCH_LEQ", "a child that is none", 9, 0},
        {"BRANCH_LEQ", "counts for 1 of 1 targets", 4, 1},
        {"BRANCH_UP", "no node mode 'BRANCH_UP'", 4, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        onnx_message n = onnx_node("TreeEnsembleRegressor", "x", "y");
        char modes[64];
        snprintf(modes, sizeof modes, "%s LEAF", rows[i].mode);
        onnx_attribute_ints(&n, "nodes_treeids", (const int64_t[]){0, 0}, 2);
        onnx_attribute_ints(&n, "nodes_nodeids", (const int64_t[]){3, 4}, 2);
        onnx_attribute_ints(&n, "nodes_featureids", (const int64_t[]){0, 0}, 2);
        onnx_attribute_words(&n, "nodes_modes", modes);
        onnx_attribute_floats(&n, "nodes_values", (const float[]){1, 0}, 2);
        onnx_attribute_ints(&n, "nodes_truenodeids", (const int64_t[]){rows[i].yes, 0}, 2);
        onnx_attribute_ints(&n, "nodes_falsenodeids", (const int64_t[]){4, 0}, 2);
        onnx_attribute_ints(&n, "target_treeids", (const int64_t[]){0}, 1);
        onnx_attribute_ints(&n, "target_nodeids", (const int64_t[]){4}, 1);
        onnx_attribute_ints(&n, "target_ids", &rows[i].target, 1);
        onnx_attribute_floats(&n, "target_weights", (const float[]){1}, 1);
        kn_onnx model = open_node(n, 1, "y", FLOAT);
        kn_tensor x = column((const float[]){1}, 1, 1), y;
        CHECK_ERROR(kn_onnx_run(model, &x, 1, &y, 1), rows[i].words);
        kn_onnx_free(model);
    }
}

/* ---- labels */

/* Of two equal keys the last counts, what is not found becomes the default, and NaN is a key like others. */
static void test_labels(void)
{
    onnx_message n = onnx_node("LabelEncoder", "x", "y"), g = {0};
    onnx_put_text(&n, 7, "ai.onnx.ml");
    onnx_attribute_floats(&n, "keys_floats", (const float[]){2, __builtin_nanf(""), 2, -1}, 4);
    onnx_attribute_ints(&n, "values_int64s", (const int64_t[]){5, 6, 7, 8}, 4);
    onnx_attribute_int(&n, "default_int64", -9);
    onnx_graph_node(&g, n);
    onnx_graph_input(&g, onnx_float_value("x", ONNX_SIZES(-1)));
    onnx_graph_output(&g, onnx_int_value("y", ONNX_SIZES(-1)));
    onnx_message m = onnx_model(g);
    onnx_opset(&m, "ai.onnx.ml", 4);
    kn_onnx model = onnx_open(m);
    kn_tensor x = kn_keep(kn_from((const float[]){2, 3, __builtin_nanf(""), -1, -5}, KN_F32, KN_SHAPE(5)));
    CHECK_VALUES(onnx_give(model, &x, 1), 0, 7, -9, 6, 8, -9);
    kn_onnx_free(model);
}

/* ---- what a program makes of classifiers */

/* Two classes with strings as labels, and maps of these to scores, as skl2onnx writes them. */
static onnx_message classifier(void)
{
    onnx_message g = {0}, linear = onnx_node("LinearClassifier", "x", "label scores"),
                 zip = onnx_node("ZipMap", "scores", "maps");
    onnx_attribute_floats(&linear, "coefficients", (const float[]){1, 2}, 2);
    onnx_attribute_floats(&linear, "intercepts", (const float[]){0, 1}, 2);
    onnx_attribute_words(&linear, "classlabels_strings", "red blue");
    onnx_attribute_words(&zip, "classlabels_strings", "red blue");
    onnx_put_text(&linear, 7, "ai.onnx.ml");
    onnx_put_text(&zip, 7, "ai.onnx.ml");
    onnx_graph_node(&g, linear);
    onnx_graph_node(&g, zip);
    onnx_graph_input(&g, onnx_float_value("x", ONNX_SIZES(-1, 1)));
    onnx_graph_output(&g, onnx_value("label", onnx_type(STRING, NULL, -1)));
    onnx_graph_output(&g, onnx_value("maps", (onnx_message){0}));
    onnx_message m = onnx_model(g);
    onnx_opset(&m, "ai.onnx.ml", 1);
    return m;
}

/* Without the labels, which a program cannot give, it is a program, and ZipMap in it gives the scores themselves. */
static void test_chosen_output(void)
{
    const char *maps = "maps", *none = "none";
    kn_onnx model = onnx_open_with(classifier(), &(kn_onnx_args){.outputs = &maps, .n_outputs = 1});
    CHECK(kn_onnx_outputs(model) == 1);
    kn_tensor x = column((const float[]){3, -1}, 2, 1), y = KN_NONE;
    kn_program p = kn_onnx_program(model, NULL);
    if (CHECK(p != NULL) && CHECK(kn_program_run(p, &x, 1, &y, 1) == KN_OK)) {
        CHECK(kn_size(y, 0) == 2 && kn_size(y, 1) == 2);
        CHECK_VALUES(y, 0, 3, 7, -1, -1);
    }
    kn_program_free(p);
    kn_onnx_free(model);
    model = onnx_open_with(classifier(), NULL);
    CHECK(kn_onnx_outputs(model) == 2 && !kn_onnx_program(model, NULL));
    CHECK(strstr(kn_last_error(), "whose labels are strings") != NULL);
    kn_onnx_free(model);
    onnx_message m = classifier();
    CHECK(!kn_onnx_load_memory(m.data, m.length, &(kn_onnx_args){.outputs = &none, .n_outputs = 1}));
    CHECK(strstr(kn_last_error(), "no output called 'none'; it has label, maps") != NULL);
    kni_buffer_free(&m);
}

/* ---- support vectors */

/* Three classes, whose pairs are almost sure. */
static onnx_message machine(bool sure)
{
    onnx_message n = onnx_node("SVMClassifier", "x", sure ? "label y" : "label");
    onnx_attribute_text(&n, "kernel_type", "LINEAR");
    onnx_attribute_floats(&n, "kernel_params", (const float[]){0, 0, 0}, 3);
    onnx_attribute_floats(&n, "support_vectors", (const float[]){1, 0, -1}, 3);
    onnx_attribute_ints(&n, "vectors_per_class", (const int64_t[]){1, 1, 1}, 3);
    onnx_attribute_floats(&n, "coefficients", (const float[]){1, 0, -1, 1, 1, -1}, 6);
    onnx_attribute_floats(&n, "rho", (const float[]){-1, 0, 1}, 3);
    onnx_attribute_ints(&n, "classlabels_ints", (const int64_t[]){30, 20, 10}, 3);
    if (sure) onnx_attribute_floats(&n, "prob_a", (const float[]){-20, -20, -20}, 3);
    if (sure) onnx_attribute_floats(&n, "prob_b", (const float[]){0, 0, 0}, 3);
    return n;
}

static void test_machine(void)
{
    kn_tensor x = column((const float[]){3, 0, -3}, 3, 1);
    kn_onnx model = open_node(machine(false), 1, "label", INT64);
    CHECK_VALUES(onnx_give(model, &x, 1), 0, 30, 20, 10);
    kn_onnx_free(model);
    model = open_node(machine(true), 1, "y", FLOAT);
    CHECK_VALUES(onnx_give(model, &x, 1), 0.01, 1, 0, 0, 0, 1, 0, 0, 0, 1);
    kn_onnx_free(model);
}

/* The leaf of the false branch has three weights for the only target, of which the first counts. */
static void test_repeated_weights(void)
{
    onnx_message n = onnx_node("TreeEnsembleRegressor", "x", "y");
    onnx_attribute_ints(&n, "nodes_treeids", (const int64_t[]){0, 0, 0}, 3);
    onnx_attribute_ints(&n, "nodes_nodeids", (const int64_t[]){0, 1, 2}, 3);
    onnx_attribute_ints(&n, "nodes_featureids", (const int64_t[]){0, 0, 0}, 3);
    onnx_attribute_words(&n, "nodes_modes", "BRANCH_LEQ LEAF LEAF");
    onnx_attribute_floats(&n, "nodes_values", (const float[]){1, 0, 0}, 3);
    onnx_attribute_ints(&n, "nodes_truenodeids", (const int64_t[]){1, 0, 0}, 3);
    onnx_attribute_ints(&n, "nodes_falsenodeids", (const int64_t[]){2, 0, 0}, 3);
    onnx_attribute_ints(&n, "target_treeids", (const int64_t[]){0, 0, 0, 0}, 4);
    onnx_attribute_ints(&n, "target_nodeids", (const int64_t[]){1, 2, 2, 2}, 4);
    onnx_attribute_ints(&n, "target_ids", (const int64_t[]){0, 0, 0, 0}, 4);
    onnx_attribute_floats(&n, "target_weights", (const float[]){7, 2, 2, 5}, 4);
    onnx_attribute_int(&n, "n_targets", 1);
    kn_onnx model = open_node(n, 1, "y", FLOAT);
    kn_tensor x = column((const float[]){0, 2}, 2, 1);
    CHECK_VALUES(onnx_give(model, &x, 1), 0, 7, 2);
    kn_onnx_free(model);
}

int main(void)
{
    test_comparisons();
    test_repeated_weights();
    test_wrong_trees();
    test_labels();
    test_chosen_output();
    test_machine();
    kn_shutdown();
    onnx_free_kept();
    return check_report();
}
