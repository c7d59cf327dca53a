/* ONNX models as programs and as C where sizes are not known when the program is made: sums of sizes, sizes that are read from values, and
   branches that differ in sizes; and what the import makes simpler. */
#define _DEFAULT_SOURCE
#include "support/onnx_text.h"
#include "test_onnx_models.h"
#include <kn/program.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[] = "test_onnx_import_XXXXXX";

static kn_program program_of(kn_onnx model)
{
    kn_program p = kn_onnx_program(model, NULL);
    if (!CHECK(p != NULL)) printf("  %s\n", kn_last_error());
    return p;
}

/* Both the program and what a file keeps of it. */
static void run_twice(kn_program p, const kn_tensor *in, int32_t n, const double *expected, int count)
{
    void *data = NULL;
    size_t bytes = 0;
    CHECK(kn_program_save_memory(p, &data, &bytes, NULL) == KN_OK);
    kn_program again = kn_program_load_memory(data, bytes, NULL);
    if (!CHECK(again != NULL)) printf("  %s\n", kn_last_error());
    for (int i = 0; i < 2; i++) {
        kn_tensor out = KN_NONE;
        kn_status s = kn_program_run(i ? again : p, in, n, &out, 1);
        if (!CHECK(s == KN_OK)) printf("  %s\n", kn_last_error());
        if (s == KN_OK && CHECK(kn_count(out) == count))
            check_values(out, expected, count, 0, __FILE__, __LINE__);
    }
    kn_program_free(again);
    free(data);
}

static kn_tensor floats(const float *values, int64_t n)
{
    return kn_keep(kn_from(values, KN_F32, KN_SHAPE(n)));
}

/* (n - 1) / 2 + 1, twice. */
static void test_sums_of_sizes(void)
{
    kn_onnx model = onnx_open(onnx_text_model(
        "x f32[1,1,-1]; k = i64[3] 1 1 2; a = AveragePool(x) kernel_shape=1, strides=2,; y = Tile(a, k); > y",
        17));
    kn_program p = program_of(model);
    kn_tensor x = kn_keep(kn_reshape(kn_arange(0, 5, 1, KN_F32), KN_SHAPE(1, 1, 5)));
    run_twice(p, &x, 1, (double[]){0, 2, 4, 0, 2, 4}, 6);
    kn_program_free(p);
    kn_onnx_free(model);
}

/* A slice from a place in the data to a fixed distance behind it is so long, and has to lie inside. */
static void test_window(void)
{
    kn_onnx model = onnx_open(onnx_text_model(
        "x f32[-1]; i i64[1]; one = i64[1] 1; two = i64[1] 2; s = Sub(i, one); e = Add(two, i); "
        "y = Slice(x, s, e); > y",
        17));
    kn_program p = program_of(model);
    kn_tensor x = floats((const float[]){0, 10, 20, 30, 40}, 5), y = KN_NONE;
    kn_tensor inside = kn_keep(kn_full(KN_SHAPE(1), 2, KN_I64)),
              outside = kn_keep(kn_full(KN_SHAPE(1), 4, KN_I64));
    run_twice(p, (kn_tensor[]){x, inside}, 2, (double[]){10, 20, 30}, 3);
    kn_status s = kn_program_run(p, (kn_tensor[]){x, outside}, 2, &y, 1);
    CHECK(s == KN_ERROR_INDEX);
    kn_program_free(p);
    kn_onnx_free(model);
}

static void test_counts(void)
{
    kn_onnx model = onnx_open(onnx_text_model("x f32[-1]; z = NonZero(x); y = Neg(z); > y", 17));
    kn_program p = program_of(model);
    kn_tensor x = floats((const float[]){0, 3, 0, 5, 1}, 5), none = floats((const float[]){0, 0}, 2);
    run_twice(p, &x, 1, (double[]){-1, -3, -4}, 3);
    run_twice(p, &none, 1, NULL, 0);
    /* A static plan needs to know how many there are. */
    char path[200];
    snprintf(path, sizeof path, "%s/counts.c", folder);
    kn_onnx_size bound = {"x.0", 1, 8};
    kn_program bounded = kn_onnx_program(model, &(kn_onnx_program_args){.sizes = &bound, .n_sizes = 1});
    CHECK(kn_program_to_c(bounded, path, NULL) == KN_ERROR_UNSUPPORTED &&
          strstr(kn_last_error(), "nonzero_count_1"));
    CHECK(kn_program_to_c(p, path, NULL) == KN_ERROR_UNSUPPORTED && strstr(kn_last_error(), "input 'x'"));
    CHECK(kn_program_to_source(p, folder, &(kn_program_to_source_args){.name = "counts"}) == KN_OK);
    kn_program_free(bounded);
    kn_program_free(p);
    kn_onnx_free(model);
}

static onnx_message branch(const char *op, const char *in, const char *name)
{
    onnx_message g = {0}, node = onnx_node(op, in, name);
    if (!strcmp(op, "Concat")) onnx_attribute_int(&node, "axis", 0);
    onnx_graph_node(&g, node);
    onnx_graph_output(&g, onnx_float_value(name, ONNX_SIZES(-1)));
    return g;
}

/* x twice or once, behind which a size is known that no input has. */
static void test_branches(void)
{
    onnx_message g = {0}, node = onnx_node("If", "c", "z");
    onnx_attribute_graph(&node, "then_branch", branch("Concat", "x x", "t"));
    onnx_attribute_graph(&node, "else_branch", branch("Neg", "x", "e"));
    onnx_graph_node(&g, node);
    onnx_graph_node(&g, onnx_node("Shape", "z", "s"));
    onnx_graph_node(&g, onnx_node("Expand", "one s", "y"));
    onnx_graph_tensor(&g, onnx_floats("one", ONNX_SIZES(1), (const float[]){1}));
    onnx_graph_input(&g, onnx_bool_value("c"));
    onnx_graph_input(&g, onnx_float_value("x", ONNX_SIZES(-1)));
    onnx_graph_output(&g, onnx_float_value("y", ONNX_SIZES(-1)));
    kn_onnx model = onnx_open(onnx_model(g));
    kn_program p = program_of(model);
    kn_tensor in[2] = {kn_keep(kn_scalar_int(1, KN_BOOL)), floats((const float[]){7, 8}, 2)};
    run_twice(p, in, 2, (double[]){1, 1, 1, 1}, 4);
    in[0] = kn_keep(kn_scalar_int(0, KN_BOOL));
    run_twice(p, in, 2, (double[]){1, 1}, 2);
    CHECK(kn_program_to_source(p, folder, &(kn_program_to_source_args){.name = "branches"}) == KN_OK);
    CHECK_ERROR(kn_program_to_source(p, folder, &(kn_program_to_source_args){.name = "m"}), "'m' is a word");
    kn_program_free(p);
    kn_onnx_free(model);
}

/* What a trip reads is another number in the next one. */
static void test_sizes_inside(void)
{
    kn_builder b = kn_builder_new();
    kn_program_value inside[1], y, out[1];
    CHECK(kn_builder_loop(b, &(kn_loop_args){.trips = "3"}, inside) == KN_OK);
    CHECK(kn_builder_read_size(b, "k", inside[0], 0, 5) == KN_OK);
    y = kn_builder_op(
        b, "iota", NULL, 0,
        (kn_builder_attribute[]){{"length", "k", 0}, {"dtype", "5", 0}, {"whole_step", "1", 0}, {0}});
    CHECK_ERROR(kn_builder_end(b, &y, 1, out, 1), "k is read inside");
    kn_builder_free(b);
    b = kn_builder_new();
    y = kn_builder_input(b, "n", KN_I64, "");
    CHECK(kn_builder_read_size(b, "k", y, 2, 5) == KN_OK);
    out[0] = kn_builder_op(
        b, "iota", NULL, 0,
        (kn_builder_attribute[]){{"length", "k", 0}, {"dtype", "5", 0}, {"whole_step", "1", 0}, {0}});
    kn_program p = kn_builder_finish(b, out, NULL, 1);
    kn_tensor n = kn_keep(kn_scalar_int(3, KN_I64)), large = kn_keep(kn_scalar_int(6, KN_I64)), got = KN_NONE;
    run_twice(p, &n, 1, (double[]){0, 1, 2}, 3);
    CHECK_ERROR(kn_program_run(p, &large, 1, &got, 1), "k is 6 with these inputs; it may be 2 to 5");
    kn_program_free(p);
    kn_builder_free(b);
    b = kn_builder_new();
    y = kn_builder_input(b, "x", KN_F32, "n");
    CHECK_ERROR(kn_builder_read_size(b, "k", y, 0, 5), "one i64 or i32 of rank 0");
    kn_builder_free(b);
    b = kn_builder_new();
    y = kn_builder_input(b, "x", KN_I64, "");
    (void)kn_builder_input(b, "z", KN_I64, "n");
    CHECK_ERROR(kn_builder_read_size(b, "n", y, 0, 5), "'n' is a size already");
    kn_builder_free(b);
}

static void test_moves(void)
{
    char text[2000];
    kn_onnx model =
        onnx_open_with(onnx_text_model("x f32[2,3,-1]; a = Transpose(x) perm=0,2,1; b = Transpose(a) "
                                       "perm=0,2,1; c = Transpose(b) perm=2,0,1; y = Neg(c); > y",
                                       17),
                       &(kn_onnx_args){.no_simplify = true});
    kn_program p = program_of(model);
    kn_program_print(p, text, sizeof text);
    const char *first = strstr(text, "permute");
    if (!CHECK(first && !strstr(first + 1, "permute"))) printf("%s", text);
    kn_program_free(p);
    kn_onnx_free(model);
}

/* Indices with fewer elements off the axis than x, where one of the two sizes is not known. */
static void test_fewer_indices(void)
{
    static const char *const models[] = {
        "x f32[1,-1]; i = i64[1,2] 0 0; y = GatherElements(x, i) axis=0; > y",
        "i i64[1,-1]; x = f32[1,3] 1 2 3; y = GatherElements(x, i) axis=0; > y",
        "x f32[1,-1]; i = i64[1,2] 0 0; u = f32[1,2] 4 5; z = ScatterElements(x, i, u) axis=0; > z"};
    for (int m = 0; m < 3; m++) {
        kn_onnx model = onnx_open(onnx_text_model(models[m], 17));
        kn_program p = program_of(model);
        kn_tensor x = m == 1 ? kn_keep(kn_from((int64_t[]){0, 0}, KN_I64, KN_SHAPE(1, 2)))
                             : kn_keep(kn_from((float[]){1, 2, 3}, KN_F32, KN_SHAPE(1, 3)));
        run_twice(p, &x, 1, m == 2 ? (double[]){4, 5, 3} : (double[]){1, 2}, m == 2 ? 3 : 2);
        kn_program_free(p);
        kn_onnx_free(model);
    }
}

/* The length of a slice of unknown size is worked out once, and has a name where it is used. */
static void test_sizes_with_names(void)
{
    enum { ROOM = 1 << 14 };
    static char text[ROOM];
    char path[100];
    kn_onnx model = onnx_open(onnx_text_model(
        "x f32[-1]; s = i64[1] 2; e = i64[1] 5; r = i64[2] -1 1; q = i64[2] 1 -1; a = Slice(x, s, e); "
        "b = Reshape(a, r); c = Exp(b); d = Reshape(c, q); y = Exp(d); > y",
        17));
    kn_program p = program_of(model);
    CHECK(kn_program_to_source(p, folder, &(kn_program_to_source_args){.name = "sliced"}) == KN_OK);
    snprintf(path, sizeof path, "%s/sliced.c", folder);
    FILE *file = fopen(path, "r");
    if (CHECK(file != NULL)) {
        text[fread(text, 1, ROOM - 1, file)] = 0;
        fclose(file);
    }
    const char *made = strstr(text, "    sizes.size_1 = ");
    CHECK(made && strchr(made, '(') && !strstr(made + 1, "    sizes.size_"));
    if (!CHECK(strstr(text, "KN_SHAPE(n->size_1, 1)") && strstr(text, "KN_SHAPE(1, n->size_1)")))
        printf("%s", text);
    kn_program_free(p);
    kn_onnx_free(model);
}

/* ---- keys and values of many layers */

enum { RESULTS = 161 }; /* of a decoder of 80 layers */

/* One branch gives x with the sign that op gives it, as often as there are results. */
static onnx_message branch_of_many(const char *op, char letter)
{
    onnx_message g = {0};
    char name[16];
    for (int i = 0; i < RESULTS; i++) {
        snprintf(name, sizeof name, "%c%d", letter, i);
        onnx_graph_node(&g, onnx_node(op, i % 2 ? "x" : "u", name));
        onnx_graph_output(&g, onnx_float_value(name, ONNX_SIZES(2)));
    }
    return g;
}

static onnx_message many_results(void)
{
    onnx_message g = {0}, node;
    char names[RESULTS * 6] = "", name[16];
    for (int i = 0; i < RESULTS; i++) {
        snprintf(name, sizeof name, "y%d", i);
        snprintf(names + strlen(names), sizeof names - strlen(names), i ? " %s" : "%s", name);
        onnx_graph_output(&g, onnx_float_value(name, ONNX_SIZES(2)));
    }
    node = onnx_node("If", "c", names);
    onnx_attribute_graph(&node, "then_branch", branch_of_many("Abs", 't'));
    onnx_attribute_graph(&node, "else_branch", branch_of_many("Neg", 'e'));
    onnx_graph_input(&g, onnx_bool_value("c"));
    onnx_graph_input(&g, onnx_float_value("x", ONNX_SIZES(2)));
    onnx_graph_input(&g, onnx_float_value("u", ONNX_SIZES(2)));
    onnx_graph_node(&g, node);
    return onnx_model(g);
}

static void test_many_results(void)
{
    char path[100];
    void *data = NULL;
    size_t bytes = 0;
    kn_onnx model = onnx_open(many_results());
    kn_program p = program_of(model);
    CHECK(kn_program_save_memory(p, &data, &bytes, NULL) == KN_OK);
    kn_program again = kn_program_load_memory(data, bytes, NULL);
    kn_tensor in[] = {kn_keep(kn_full(KN_SCALAR_SHAPE, 0, KN_BOOL)), floats((float[]){1, 2}, 2),
                      floats((float[]){3, 4}, 2)};
    for (int i = 0; i < 2; i++) {
        kn_tensor out[RESULTS] = {KN_NONE};
        if (!CHECK(kn_program_run(i ? again : p, in, 3, out, RESULTS) == KN_OK))
            printf("  %s\n", kn_last_error());
        CHECK_VALUES(out[RESULTS - 2], 0, -1, -2);
        CHECK_VALUES(out[RESULTS - 1], 0, -3, -4);
    }
    snprintf(path, sizeof path, "%s/many.c", folder);
    CHECK(kn_program_to_source(p, folder, &(kn_program_to_source_args){.name = "many_results"}) == KN_OK);
    CHECK(kn_program_to_c(p, path, &(kn_program_to_c_args){.name = "many_results"}) == KN_OK);
    free(data);
    kn_program_free(again);
    kn_program_free(p);
    kn_onnx_free(model);
}

int main(void)
{
    char command[100];
    if (!CHECK(mkdtemp(folder) != NULL)) return check_report();
    kn_scope scope = kn_scope_begin();
    test_sums_of_sizes();
    test_window();
    test_counts();
    test_branches();
    test_sizes_inside();
    test_moves();
    test_sizes_with_names();
    test_fewer_indices();
    test_many_results();
    kn_scope_end(scope, KN_NONE);
    onnx_free_kept();
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
    return check_report();
}
