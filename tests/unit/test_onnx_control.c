/* If, Loop and Scan of ONNX models, and values that are no tensors. */
#include "test_onnx_models.h"

/* ---- If */

static onnx_message constant_branch(const char *name, float value)
{
    onnx_message g = {0}, node = onnx_node("Add", "x k", name);
    onnx_graph_node(&g, node);
    onnx_graph_tensor(&g, onnx_floats("k", ONNX_SIZES(1), &value));
    onnx_graph_output(&g, onnx_float_value(name, ONNX_SIZES(1)));
    return g;
}

static void test_if(void)
{
    onnx_message g = {0}, node = onnx_node("If", "c", "z");
    onnx_attribute_graph(&node, "then_branch", constant_branch("t", 10));
    onnx_attribute_graph(&node, "else_branch", constant_branch("e", 20));
    onnx_graph_node(&g, node);
    onnx_graph_input(&g, onnx_bool_value("c"));
    onnx_graph_input(&g, onnx_float_value("x", ONNX_SIZES(1)));
    onnx_graph_output(&g, onnx_float_value("z", ONNX_SIZES(1)));
    kn_onnx model = onnx_open(onnx_model(g));
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(1), KN_F32));
    for (int i = 0; i < 4; i++)
        CHECK_VALUES(onnx_give(model, (kn_tensor[]){kn_scalar_int(i & 1, KN_BOOL), x}, 2), 0,
                     i & 1 ? 11 : 21);
    kn_onnx_free(model);
}

/* ---- Loop */

/* v' = v + v, s = v + w where w is from outside; goes on while the trip's number is below `below`. */
static onnx_message loop_body(int64_t below)
{
    onnx_message g = {0};
    onnx_graph_node(&g, onnx_node("Less", "i below", "go_on"));
    onnx_graph_node(&g, onnx_node("Add", "v w", "s"));
    onnx_graph_node(&g, onnx_node("Add", "v v", "v_next"));
    onnx_graph_tensor(&g, onnx_int_constant("below", below));
    onnx_graph_input(&g, onnx_int_value("i", NULL, 0));
    onnx_graph_input(&g, onnx_bool_value("go"));
    onnx_graph_input(&g, onnx_float_value("v", ONNX_SIZES(2)));
    onnx_graph_output(&g, onnx_bool_value("go_on"));
    onnx_graph_output(&g, onnx_float_value("v_next", ONNX_SIZES(2)));
    onnx_graph_output(&g, onnx_float_value("s", ONNX_SIZES(2)));
    return g;
}

/* operands: "trips go x", of which "-" are absent. */
static kn_onnx open_loop(const char *operands, int64_t trips, bool go, int64_t below,
                         const kn_onnx_args *args)
{
    onnx_message g = {0}, node = onnx_node("Loop", operands, "v_last stack");
    onnx_attribute_graph(&node, "body", loop_body(below));
    onnx_graph_node(&g, node);
    onnx_graph_tensor(&g, onnx_int_constant("trips", trips));
    onnx_graph_tensor(&g, onnx_truth("go", go));
    onnx_graph_tensor(&g, onnx_floats("w", ONNX_SIZES(2), (const float[]){100, 200}));
    onnx_graph_input(&g, onnx_float_value("x", ONNX_SIZES(2)));
    onnx_graph_output(&g, onnx_float_value("v_last", ONNX_SIZES(2)));
    onnx_graph_output(&g, onnx_float_value("stack", ONNX_SIZES(-1, 2)));
    return onnx_open_with(onnx_model(g), args);
}

/* Fills out with the last value and the stack. */
static kn_status run_loop(kn_onnx model, kn_tensor *out)
{
    kn_tensor x = kn_from((const float[]){1, 2}, KN_F32, KN_SHAPE(2));
    kn_status s = kn_onnx_run(model, &x, 1, out, 2);
    for (int k = 0; k < 2; k++) out[k] = kn_keep(out[k]);
    return s;
}

static void test_loop(void)
{
    kn_tensor out[2];
    kn_onnx model = open_loop("trips go x", 3, true, 1000, NULL);
    CHECK(run_loop(model, out) == KN_OK);
    CHECK_VALUES(out[0], 0, 8, 16);
    CHECK_VALUES(out[1], 0, 101, 202, 102, 204, 104, 208);
    CHECK(kn_size(out[1], 0) == 3);
    kn_onnx_free(model);
    /* The condition ends it: after the trip whose number is no longer below 1. */
    model = open_loop("trips go x", 1000, true, 1, NULL);
    CHECK(run_loop(model, out) == KN_OK);
    CHECK_VALUES(out[0], 0, 4, 8);
    kn_onnx_free(model);
    model = open_loop("- go x", 0, true, 2, NULL);
    CHECK(run_loop(model, out) == KN_OK);
    CHECK_VALUES(out[0], 0, 8, 16);
    kn_onnx_free(model);
    /* The body's condition ends a loop that was given none, too. */
    model = open_loop("trips - x", 1000, true, 1, NULL);
    CHECK(run_loop(model, out) == KN_OK);
    CHECK_VALUES(out[0], 0, 4, 8);
    kn_onnx_free(model);
}

static void test_no_trips(void)
{
    kn_tensor out[2];
    for (int i = 0; i < 2; i++) {
        kn_onnx model = open_loop("trips go x", i ? 5 : 0, i == 0, 1000, NULL);
        CHECK(run_loop(model, out) == KN_OK);
        CHECK_VALUES(out[0], 0, 1, 2);
        CHECK(kn_rank(out[1]) == 2 && kn_size(out[1], 0) == 0 && kn_size(out[1], 1) == 2);
        kn_onnx_free(model);
    }
}

static void test_endless_loop(void)
{
    kn_tensor out[2];
    kn_onnx_args args = {.max_trips = 20};
    kn_onnx model = open_loop("- go x", 0, true, 1000000, &args);
    CHECK_ERROR(run_loop(model, out), "(Loop): its condition still holds after 20 trips");
    CHECK(!kn_ok(out[0]) && !kn_ok(out[1]));
    kn_onnx_free(model);
}

static void test_many_trips(void)
{
    kn_tensor out[2];
    kn_onnx model = open_loop("trips go x", 100, true, 1000, NULL);
    CHECK(run_loop(model, out) == KN_OK && kn_size(out[1], 0) == 100);
    CHECK_VALUES(kn_narrow(kn_select(out[1], 0, 3), 0, 0, 2), 0, 108, 216);
    int64_t before = kn_memory_stats().tensors_now;
    kn_scope scope = kn_scope_begin();
    CHECK(run_loop(model, out) == KN_OK);
    kn_scope_end(scope, KN_NONE);
    CHECK(kn_memory_stats().tensors_now == before);
    kn_onnx_free(model);
}

/* ---- Scan */

/* state' = state + x_t, out = state'. */
static onnx_message scan_body(void)
{
    onnx_message g = {0};
    onnx_graph_node(&g, onnx_node("Add", "state piece", "next"));
    onnx_graph_node(&g, onnx_node("Identity", "next", "piece_out"));
    onnx_graph_input(&g, onnx_float_value("state", ONNX_SIZES(2)));
    onnx_graph_input(&g, onnx_float_value("piece", ONNX_SIZES(2)));
    onnx_graph_output(&g, onnx_float_value("next", ONNX_SIZES(2)));
    onnx_graph_output(&g, onnx_float_value("piece_out", ONNX_SIZES(2)));
    return g;
}

/* attribute: the name of a list with one number, or NULL. */
static kn_onnx open_scan(const char *attribute, int64_t number)
{
    onnx_message g = {0}, node = onnx_node("Scan", "s x", "last all");
    onnx_attribute_int(&node, "num_scan_inputs", 1);
    if (attribute) onnx_attribute_ints(&node, attribute, &number, 1);
    onnx_attribute_graph(&node, "body", scan_body());
    onnx_graph_node(&g, node);
    onnx_graph_input(&g, onnx_float_value("s", ONNX_SIZES(2)));
    onnx_graph_input(&g, onnx_value("x", onnx_type(FLOAT, NULL, -1)));
    onnx_graph_output(&g, onnx_float_value("last", ONNX_SIZES(2)));
    onnx_graph_output(&g, onnx_value("all", onnx_type(FLOAT, NULL, -1)));
    return onnx_open(onnx_model(g));
}

static void run_scan(const char *attribute, int64_t number, bool flip, kn_tensor *out)
{
    kn_onnx model = open_scan(attribute, number);
    kn_tensor x = kn_from((const float[]){1, 2, 3, 4, 5, 6}, KN_F32, KN_SHAPE(3, 2));
    kn_tensor in[] = {kn_zeros(KN_SHAPE(2), KN_F32), flip ? kn_transpose(x, 0, 1) : x};
    CHECK(kn_onnx_run(model, in, 2, out, 2) == KN_OK);
    for (int k = 0; k < 2; k++) out[k] = kn_keep(out[k]);
    kn_onnx_free(model);
}

static void test_scan(void)
{
    kn_tensor out[2];
    run_scan(NULL, 0, false, out);
    CHECK_VALUES(out[0], 0, 9, 12);
    CHECK_VALUES(out[1], 0, 1, 2, 4, 6, 9, 12);
    run_scan("scan_input_axes", -1, true, out);
    CHECK_VALUES(out[1], 0, 1, 2, 4, 6, 9, 12);
    run_scan("scan_input_directions", 1, false, out);
    CHECK_VALUES(out[1], 0, 5, 6, 8, 10, 9, 12);
    run_scan("scan_output_directions", 1, false, out);
    CHECK_VALUES(out[1], 0, 9, 12, 4, 6, 1, 2);
    run_scan("scan_output_axes", 1, false, out);
    CHECK(kn_size(out[1], 0) == 2 && kn_size(out[1], 1) == 3);
    CHECK_VALUES(out[1], 0, 1, 4, 9, 2, 6, 12);
}

/* ---- gradients of a part of the graph */

/* y = x x w, and dy/dx at another x. */
static void test_gradient(void)
{
    onnx_message g = {0}, m, node = onnx_node("Gradient", "at w", "dx dw"), words = {0};
    onnx_graph_node(&g, onnx_node("Mul", "x x", "square"));
    onnx_graph_node(&g, onnx_node("Mul", "square w", "y"));
    onnx_put_text(&node, 7, "ai.onnx.preview.training");
    onnx_put_text(&words, 1, "xs");
    onnx_put_int(&words, 20, 8);
    onnx_put_words(&words, 9, "x w");
    onnx_put(&node, 5, words);
    onnx_attribute_text(&node, "y", "y");
    onnx_graph_node(&g, node);
    static const char *const inputs[] = {"x", "w", "at"}, *const outputs[] = {"y", "dx", "dw"};
    for (int i = 0; i < 3; i++) onnx_graph_input(&g, onnx_float_value(inputs[i], ONNX_SIZES(2)));
    for (int k = 0; k < 3; k++) onnx_graph_output(&g, onnx_float_value(outputs[k], ONNX_SIZES(2)));
    m = onnx_model(g);
    onnx_opset(&m, "ai.onnx.preview.training", 1);
    kn_onnx model = onnx_open(m);
    kn_tensor in[3], out[3];
    for (int i = 0; i < 3; i++)
        in[i] = kn_keep(kn_from((const float[]){(float)i + 1, 2}, KN_F32, KN_SHAPE(2)));
    CHECK(kn_onnx_run(model, in, 3, out, 3) == KN_OK);
    for (int k = 0; k < 3; k++) out[k] = kn_keep(out[k]);
    CHECK_VALUES(out[0], 0, 2, 8);
    CHECK_VALUES(out[1], 0, 12, 8); /* 2 at w */
    CHECK_VALUES(out[2], 0, 9, 4);
    kn_onnx_free(model);
}

/* ---- values that are no tensors */

static kn_onnx_value strings(const char *a, const char *b)
{
    return kn_onnx_value_strings((const char *const[]){a, b}, NULL, KN_SHAPE(2));
}

static void test_values(void)
{
    kn_onnx_value items[2] = {strings("north", "south"),
                              kn_onnx_value_tensor(kn_ones(KN_SHAPE(2, 2), KN_F32))};
    kn_onnx_value list = kn_onnx_value_sequence(items, 2), nothing = kn_onnx_value_optional(NULL),
                  something = kn_onnx_value_optional(list), map = kn_onnx_value_map(items[0], items[0]);
    const char *text = "";
    size_t bytes = 0;
    for (int i = 0; i < 2; i++) kn_onnx_value_free(items[i]);
    CHECK(kn_onnx_value_kind(list) == KN_ONNX_SEQUENCE && kn_onnx_value_count(list) == 2);
    CHECK(kn_onnx_value_kind(nothing) == KN_ONNX_OPTIONAL && kn_onnx_value_count(nothing) == 0);
    CHECK(kn_onnx_value_kind(something) == KN_ONNX_OPTIONAL && kn_onnx_value_count(something) == 1);
    CHECK(kn_onnx_value_kind(map) == KN_ONNX_MAP && kn_onnx_value_count(map) == 2);
    kn_onnx_value_free(list);
    kn_onnx_value inner = kn_onnx_value_item(something, 0), first = kn_onnx_value_item(inner, 0),
                  second = kn_onnx_value_item(inner, 1);
    CHECK(kn_onnx_value_string(first, 1, &text, &bytes) == KN_OK && !strcmp(text, "south") && bytes == 5);
    CHECK(kn_onnx_value_shape(first).rank == 1 && kn_onnx_value_shape(second).rank == 2);
    CHECK_VALUES(kn_onnx_value_as_tensor(second), 0, 1, 1, 1, 1);
    CHECK_POISON(kn_onnx_value_as_tensor(first), "no tensor of numbers");
    CHECK_ERROR(kn_onnx_value_string(first, 2, &text, NULL), "string 2 of 2");
    CHECK_ERROR(kn_onnx_value_string(second, 0, &text, NULL), "holds no strings");
    CHECK(!kn_onnx_value_item(inner, 2) && strstr(kn_last_error(), "item 2 of 2"));
    CHECK(kn_onnx_value_shape(inner).rank == -1);
    kn_onnx_value all[] = {nothing, something, map, inner, first, second};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) kn_onnx_value_free(all[i]);
}

static void test_refused_values(void)
{
    kn_onnx_value keys = strings("a", "b"), three = kn_onnx_value_tensor(kn_ones(KN_SHAPE(3), KN_F32)),
                  list = keys;
    CHECK(!kn_onnx_value_map(keys, three) && strstr(kn_last_error(), "as many values"));
    CHECK(!kn_onnx_value_map(three, three) && strstr(kn_last_error(), "as many values"));
    int depth = 0;
    for (kn_onnx_value next; (next = kn_onnx_value_sequence(&list, 1)) != NULL && depth < 1000; depth++) {
        if (list != keys) kn_onnx_value_free(list);
        list = next;
    }
    CHECK(depth == 64 && strstr(kn_last_error(), "more than 64 lists in lists"));
    kn_onnx_value_free(list);
    kn_onnx_value_free(keys);
    kn_onnx_value_free(three);
}

/* Strings go through a model as they are, also those with zeros inside. */
static void test_strings_through(void)
{
    onnx_message g = {0};
    onnx_graph_node(&g, onnx_node("Identity", "x", "z"));
    onnx_graph_input(&g, onnx_value("x", onnx_type(STRING, ONNX_SIZES(2))));
    onnx_graph_output(&g, onnx_value("z", onnx_type(STRING, ONNX_SIZES(2))));
    kn_onnx model = onnx_open(onnx_model(g));
    kn_onnx_value x = kn_onnx_value_strings((const char *const[]){"a\0b", ""}, (const size_t[]){3, 0},
                                            KN_SHAPE(2)),
                  z;
    const char *text = "";
    size_t bytes = 0;
    CHECK(kn_onnx_run_values(model, &x, 1, &z, 1) == KN_OK);
    kn_onnx_value_free(x);
    CHECK(kn_onnx_value_string(z, 0, &text, &bytes) == KN_OK && bytes == 3 && !memcmp(text, "a\0b", 4));
    kn_onnx_value wrong = kn_onnx_value_tensor(kn_ones(KN_SHAPE(2), KN_F32)), none;
    CHECK_ERROR(kn_onnx_run_values(model, &wrong, 1, &none, 1),
                "input 'x' is f32 [2]; the model takes tensor(string) [2]");
    CHECK(!none);
    kn_tensor t = KN_NONE;
    CHECK_ERROR(kn_onnx_run(model, (kn_tensor[]){kn_ones(KN_SHAPE(2), KN_F32)}, 1, &t, 1),
                "the model takes tensor(string)");
    kn_onnx_value_free(wrong);
    kn_onnx_value_free(z);
    kn_onnx_free(model);
}

static void test_reading_values(void)
{
    onnx_message tensor = onnx_floats("t", ONNX_SIZES(2), (const float[]){3, 4}), list = {0};
    kn_onnx_value value = kn_onnx_value_read_memory(tensor.data, tensor.length, NULL);
    CHECK_VALUES(kn_onnx_value_as_tensor(value), 0, 3, 4);
    kn_onnx_value_free(value);
    onnx_put_text(&list, 1, "list");
    onnx_put_int(&list, 2, 1);
    onnx_put(&list, 3, tensor);
    value = kn_onnx_value_read_memory(list.data, list.length, "seq(tensor(float))");
    CHECK(value && kn_onnx_value_kind(value) == KN_ONNX_SEQUENCE && kn_onnx_value_count(value) == 1);
    kn_onnx_value_free(value);
    CHECK(!kn_onnx_value_read_memory(list.data, list.length, "seq(tensor(flot))"));
    CHECK(strstr(kn_last_error(), "is no type") != NULL);
    CHECK(!kn_onnx_value_read("there/is/no/such.pb", NULL));
    CHECK(strstr(kn_last_error(), "such.pb") != NULL);
    kni_buffer_free(&list);
}

/* A map of one string to one number, by itself and in a sequence; a map with a key too many. */
static void test_reading_maps(void)
{
    onnx_message map = {0}, values = {0}, list = {0};
    onnx_put_int(&map, 2, 8);
    onnx_put_text(&map, 4, "cat");
    onnx_put_int(&values, 1, 1);
    onnx_put(&values, 3, onnx_floats("", NULL, 0, (const float[]){7}));
    onnx_put(&map, 5, values);
    kn_onnx_value value = kn_onnx_value_read_memory(map.data, map.length, "map(string,tensor(float))");
    CHECK(kn_onnx_value_kind(value) == KN_ONNX_MAP && kn_onnx_value_count(value) == 2);
    kn_onnx_value keys = kn_onnx_value_item(value, 0), numbers = kn_onnx_value_item(value, 1);
    const char *text = "";
    CHECK(kn_onnx_value_string(keys, 0, &text, NULL) == KN_OK && !strcmp(text, "cat"));
    CHECK_VALUES(kn_onnx_value_as_tensor(numbers), 0, 7);
    kn_onnx_value_free(keys);
    kn_onnx_value_free(numbers);
    kn_onnx_value_free(value);
    onnx_message longer = {0};
    kni_buffer_append(&longer, map.data, map.length);
    onnx_put_text(&longer, 4, "dog");
    onnx_put_int(&list, 2, 4);
    onnx_put(&list, 6, map);
    value = kn_onnx_value_read_memory(list.data, list.length, "seq(map(string,tensor(float)))");
    CHECK(kn_onnx_value_kind(value) == KN_ONNX_SEQUENCE && kn_onnx_value_count(value) == 1);
    kn_onnx_value_free(value);
    CHECK(!kn_onnx_value_read_memory(longer.data, longer.length, "map(string,tensor(float))"));
    CHECK(strstr(kn_last_error(), "2 keys and 1 values") != NULL);
    kni_buffer_free(&longer);
    kni_buffer_free(&list);
}

int main(void)
{
    test_if();
    test_loop();
    test_no_trips();
    test_endless_loop();
    test_many_trips();
    test_scan();
    test_gradient();
    test_values();
    test_refused_values();
    test_strings_through();
    test_reading_values();
    test_reading_maps();
    kn_shutdown();
    onnx_free_kept();
    return check_report();
}
