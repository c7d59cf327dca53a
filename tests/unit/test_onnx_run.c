/* Running ONNX models: inputs are checked, shapes change, devices give the same, threads share a model, what depends on constants is
   computed once; values of all kinds; operators of the user's. */
#include "test_onnx_models.h"
#include <kn/program.h>
#include <pthread.h>
#include <stdlib.h>

static kn_tensor floats(int64_t rows, float first)
{
    float list[64];
    for (int64_t i = 0; i < rows * 3; i++) list[i] = first + (float)i;
    return kn_from(list, KN_F32, KN_SHAPE(rows, 3));
}

/* ---- what is random */

/* z, m = Dropout(x, ratio, mode); the mode is a constant, an input, or left out where `mode` is NULL. */
static bool drops_at_random(const char *mode, bool constant, bool trains)
{
    onnx_message g = {0}, node = onnx_node("Dropout", "x ratio", "z m");
    if (mode) onnx_put_text(&node, 1, mode);
    onnx_graph_node(&g, node);
    onnx_graph_input(&g, onnx_float_value("x", ONNX_SIZES(3)));
    onnx_graph_tensor(&g, onnx_floats("ratio", ONNX_SCALAR, (const float[]){0.5f}));
    if (mode && constant)
        onnx_graph_tensor(&g, onnx_truth("mode", trains));
    else if (mode)
        onnx_graph_input(&g, onnx_bool_value("mode"));
    onnx_graph_output(&g, onnx_float_value("z", ONNX_SIZES(3)));
    onnx_graph_output(&g, onnx_bool_value("m"));
    kn_onnx model = onnx_open(onnx_model(g));
    bool random = kn_onnx_output_is_random(model, 0);
    CHECK(kn_onnx_output_is_random(model, 1) == random && !kn_onnx_output_is_random(model, 2));
    kn_onnx_free(model);
    return random;
}

static void test_random_outputs(void)
{
    CHECK(!drops_at_random(NULL, false, false));
    CHECK(!drops_at_random("mode", true, false));
    CHECK(drops_at_random("mode", true, true));
    CHECK(drops_at_random("mode", false, false));
}

/* ---- inputs */

static void test_shapes_change(void)
{
    kn_onnx model = onnx_open(onnx_one_node("Add", true));
    for (int64_t rows = 0; rows < 4; rows++) {
        kn_tensor in[] = {floats(rows, 1), floats(rows, 10)}, z = onnx_give(model, in, 2);
        CHECK(kn_rank(z) == 2 && kn_size(z, 0) == rows && kn_size(z, 1) == 3);
        if (rows == 1) CHECK_VALUES(z, 0, 11, 13, 15);
    }
    kn_onnx_free(model);
}

static void test_refused_inputs(void)
{
    kn_onnx model = onnx_open(onnx_one_node("Add", true));
    kn_tensor x = kn_keep(floats(2, 0)), z, wide = kn_keep(kn_zeros(KN_SHAPE(2, 4), KN_F32));
    CHECK_ERROR(kn_onnx_run(model, (kn_tensor[]){x, KN_NONE}, 2, &z, 1), "input 'y' is missing");
    CHECK_POISON(z, "input 'y' is missing; the model takes tensor(float) [n0, 3]");
    CHECK_ERROR(kn_onnx_run(model, &x, 1, &z, 1), "1 inputs and 1 outputs are given; the model has 2 and 1");
    CHECK_ERROR(kn_onnx_run(model, (kn_tensor[]){x, kn_zeros(KN_SHAPE(2, 3), KN_I64)}, 2, &z, 1),
                "input 'y' is i64 [2, 3]; the model takes tensor(float)");
    CHECK_ERROR(kn_onnx_run(model, (kn_tensor[]){x, wide}, 2, &z, 1), "input 'y' is f32 [2, 4]");
    CHECK_ERROR(kn_onnx_run(model, (kn_tensor[]){x, kn_zeros(KN_SHAPE(3), KN_F32)}, 2, &z, 1), "f32 [3]");
    CHECK_ERROR(kn_onnx_run(model, (kn_tensor[]){x, floats(3, 0)}, 2, &z, 1),
                "one name is one size in all inputs");
    CHECK_ERROR(kn_onnx_run(model, (kn_tensor[]){x, kn_add(x, wide)}, 2, &z, 1), "kn_add");
    CHECK_VALUES(onnx_give(model, (kn_tensor[]){x, x}, 2), 0, 0, 2, 4, 6, 8, 10);
    kn_onnx_free(model);
}

static void test_unknown_operator(void)
{
    onnx_message g = {0}, node = onnx_node("Frobnicate", "x", "z");
    onnx_put_text(&node, 3, "odd one");
    onnx_graph_node(&g, node);
    onnx_graph_input(&g, onnx_float_value("x", ONNX_SIZES(3)));
    onnx_graph_output(&g, onnx_float_value("z", ONNX_SIZES(3)));
    kn_onnx model = onnx_open(onnx_model(g));
    kn_onnx_info info;
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(3), KN_F32)), z;
    CHECK(kn_onnx_describe(model, &info) == KN_OK && info.unknown == 1 && info.nodes == 1);
    CHECK_ERROR(kn_onnx_run(model, &x, 1, &z, 1), "node 'odd one' (Frobnicate): no such operator is known");
    kn_onnx_free(model);
}

static void test_ports(void)
{
    kn_onnx model = onnx_open(onnx_one_node("Add", true));
    kn_onnx_port port;
    CHECK(kn_onnx_inputs(model) == 2 && kn_onnx_outputs(model) == 1);
    CHECK(kn_onnx_input(model, 1, &port) == KN_OK);
    CHECK(!strcmp(port.name, "y") && port.kind == KN_ONNX_TENSOR && port.dtype == KN_F32 && port.rank == 2);
    CHECK(port.sizes[0] == -1 && !strcmp(port.names[0], "n0") && port.sizes[1] == 3 && !port.names[1]);
    CHECK(!strcmp(port.type, "tensor(float)") && !strcmp(port.shape, "n0, 3") && !port.has_default);
    CHECK_ERROR(kn_onnx_input(model, 2, &port), "number 2 of 2");
    CHECK_ERROR(kn_onnx_output(model, -1, &port), "number -1 of 1");
    kn_onnx_free(model);
}

/* A weight that is an input, too, may be given or left out. */
static void test_defaults(void)
{
    onnx_message g = {0};
    onnx_graph_node(&g, onnx_node("Add", "x w", "z"));
    onnx_graph_input(&g, onnx_float_value("w", ONNX_SIZES(3)));
    onnx_graph_input(&g, onnx_float_value("x", ONNX_SIZES(3)));
    onnx_graph_tensor(&g, onnx_floats("w", ONNX_SIZES(3), (const float[]){1, 2, 3}));
    onnx_graph_output(&g, onnx_float_value("z", ONNX_SIZES(3)));
    kn_onnx model = onnx_open(onnx_model(g));
    kn_onnx_port port;
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(3), KN_F32));
    CHECK(kn_onnx_inputs(model) == 2);
    CHECK(kn_onnx_input(model, 1, &port) == KN_OK && !strcmp(port.name, "w") && port.has_default);
    CHECK_VALUES(onnx_give(model, &x, 1), 0, 2, 3, 4);
    CHECK_VALUES(onnx_give(model, (kn_tensor[]){x, x}, 2), 0, 2, 2, 2);
    CHECK_VALUES(onnx_give(model, (kn_tensor[]){x, KN_NONE}, 2), 0, 2, 3, 4);
    kn_onnx_free(model);
}

/* A program leaves it out, unless it is to be kept. */
static void test_defaults_of_programs(void)
{
    static const char *const kept[] = {"w"}, *const none[] = {"v"};
    onnx_message g = {0};
    onnx_graph_node(&g, onnx_node("Add", "x w", "z"));
    onnx_graph_input(&g, onnx_float_value("w", ONNX_SIZES(3)));
    onnx_graph_input(&g, onnx_float_value("x", ONNX_SIZES(3)));
    onnx_graph_tensor(&g, onnx_floats("w", ONNX_SIZES(3), (const float[]){1, 2, 3}));
    onnx_graph_output(&g, onnx_float_value("z", ONNX_SIZES(3)));
    kn_onnx model = onnx_open(onnx_model(g));
    kn_tensor ones = kn_keep(kn_ones(KN_SHAPE(3), KN_F32)), z = KN_NONE;
    kn_program left = kn_onnx_program(model, NULL),
               all = kn_onnx_program(model, &(kn_onnx_program_args){.kept = kept, .n_kept = 1});
    CHECK(kn_program_inputs(left) == 1 && kn_program_inputs(all) == 2);
    CHECK(kn_program_run(left, &ones, 1, &z, 1) == KN_OK);
    CHECK_VALUES(z, 0, 2, 3, 4);
    CHECK(kn_program_run(all, (kn_tensor[]){ones, ones}, 2, &z, 1) == KN_OK);
    CHECK_VALUES(z, 0, 2, 2, 2);
    CHECK(!kn_onnx_program(model, &(kn_onnx_program_args){.kept = none, .n_kept = 1}));
    CHECK(strstr(kn_last_error(), "no input called 'v'; it has x, w") != NULL);
    kn_program_free(left);
    kn_program_free(all);
    kn_onnx_free(model);
}

/* y = (has x) ? x + x : 0, of an optional tensor. */
static void test_optional_of_programs(void)
{
    enum { OPTIONAL = 9 };
    static const char *const kept[] = {"o"};
    onnx_message g = {0}, inner = {0}, type = {0};
    onnx_put(&inner, 1, onnx_type(FLOAT, ONNX_SIZES(3)));
    onnx_put(&type, OPTIONAL, inner);
    onnx_graph_node(&g, onnx_node("OptionalGetElement", "o", "x"));
    onnx_graph_node(&g, onnx_node("Add", "x x", "y"));
    onnx_graph_input(&g, onnx_value("o", type));
    onnx_graph_output(&g, onnx_float_value("y", ONNX_SIZES(3)));
    kn_onnx model = onnx_open(onnx_model(g));
    kn_tensor ones = kn_keep(kn_ones(KN_SHAPE(3), KN_F32)), y = KN_NONE;
    kn_program p = kn_onnx_program(model, &(kn_onnx_program_args){.kept = kept, .n_kept = 1});
    if (!CHECK(p != NULL)) printf("%s\n", kn_last_error());
    CHECK(kn_program_run(p, &ones, 1, &y, 1) == KN_OK);
    CHECK_VALUES(y, 0, 2, 2, 2);
    kn_program_free(p);
    CHECK(!kn_onnx_program(model, NULL)); /* it cannot be left out */
    kn_onnx_free(model);
}

/* ---- constants */

/* z = x + (w + w): the sum of weights is computed when the model is loaded. */
static onnx_message model_with_weights(void)
{
    onnx_message g = {0};
    onnx_graph_node(&g, onnx_node("Add", "w w", "v"));
    onnx_graph_node(&g, onnx_node("Add", "x v", "z"));
    onnx_graph_input(&g, onnx_float_value("x", ONNX_SIZES(3)));
    onnx_graph_tensor(&g, onnx_floats("w", ONNX_SIZES(3), (const float[]){1, 2, 3}));
    onnx_graph_output(&g, onnx_float_value("z", ONNX_SIZES(3)));
    return onnx_model(g);
}

static void test_folding(void)
{
    kn_onnx_info info;
    kn_onnx_args plain = {.no_simplify = true};
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(3), KN_F32));
    for (int simple = 0; simple < 2; simple++) {
        kn_onnx model = onnx_open_with(model_with_weights(), simple ? NULL : &plain);
        CHECK(kn_onnx_describe(model, &info) == KN_OK);
        CHECK(info.nodes == 2 && info.folded == simple && info.weights == 1 && info.elements == 3);
        CHECK_VALUES(onnx_give(model, &x, 1), 0, 3, 5, 7);
        kn_onnx_free(model);
    }
}

/* A result that is a weight, or lies in one, outlives the model. */
static void test_weight_outlives_model(void)
{
    onnx_message g = {0};
    onnx_graph_node(&g, onnx_node("Identity", "w", "z"));
    onnx_graph_tensor(&g, onnx_floats("w", ONNX_SIZES(3), (const float[]){1, 2, 3}));
    onnx_graph_output(&g, onnx_float_value("z", ONNX_SIZES(3)));
    kn_onnx model = onnx_open(onnx_model(g));
    kn_tensor z = onnx_give(model, NULL, 0);
    kn_onnx_free(model);
    CHECK_VALUES(z, 0, 1, 2, 3);
}

/* ---- devices and threads */

static void test_devices(void)
{
    static const char *const names[] = {"cpu", "fusion(cpu)", "ref", "autodiff(fusion(cpu))",
                                        "check(cpu,ref)"};
    kn_onnx model = onnx_open(model_with_weights());
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        kn_device device = kn_device_open(names[i]);
        kn_device_use(device);
        for (int turn = 0; turn < 2; turn++) {
            kn_tensor x = kn_keep(kn_ones(KN_SHAPE(3), KN_F32)), z = onnx_give(model, &x, 1);
            CHECK(kn_device_of(z) == device);
            CHECK_VALUES(z, 0, 3, 5, 7);
        }
        kn_device_use(NULL);
        kn_tensor host = kn_ones(KN_SHAPE(3), KN_F32); /* an input from elsewhere comes along */
        kn_device_use(device);
        CHECK_VALUES(onnx_give(model, &host, 1), 0, 3, 5, 7);
        kn_device_use(NULL);
        kn_device_close(device);
    }
    kn_onnx_free(model);
}

/* Reshape(x, Concat(Shape(x)[1:], Shape(x)[:1])): the shape is computed beside the queue, which runs once. */
static void test_shapes_beside_queue(void)
{
    onnx_message g = {0};
    onnx_graph_node(&g, onnx_node("Add", "x x", "a"));
    onnx_graph_node(&g, onnx_node("Shape", "a", "s"));
    onnx_graph_node(&g, onnx_node("Slice", "s one two", "last"));
    onnx_graph_node(&g, onnx_node("Slice", "s zero one", "first"));
    onnx_message join = onnx_node("Concat", "last first", "t");
    onnx_attribute_int(&join, "axis", 0);
    onnx_graph_node(&g, join);
    onnx_graph_node(&g, onnx_node("Reshape", "a t", "b"));
    onnx_graph_node(&g, onnx_node("Add", "b b", "z"));
    for (int64_t i = 0; i < 3; i++) {
        static const char *const names[] = {"zero", "one", "two"};
        onnx_graph_tensor(&g, onnx_ints(names[i], ONNX_SIZES(1), &i));
    }
    onnx_graph_input(&g, onnx_float_value("x", ONNX_SIZES(-1, 3)));
    onnx_graph_output(&g, onnx_float_value("z", ONNX_SIZES(3, -1)));
    kn_onnx model = onnx_open(onnx_model(g));
    kn_device device = kn_device_open("fusion(cpu)");
    kn_device_use(device);
    kn_fusion_stats before, after;
    kn_tensor x = kn_keep(floats(2, 0));
    CHECK(kn_sync(device) == KN_OK && kn_fusion_stats_of(device, &before) == KN_OK);
    kn_tensor z = onnx_give(model, &x, 1);
    CHECK_VALUES(z, 0, 0, 4, 8, 12, 16, 20);
    CHECK(kn_size(z, 0) == 3 && kn_size(z, 1) == 2);
    CHECK(kn_fusion_stats_of(device, &after) == KN_OK && after.submissions == before.submissions + 1);
    kn_device_use(NULL);
    kn_device_close(device);
    kn_onnx_free(model);
}

enum { THREADS = 4, TURNS = 50 };
static kn_onnx shared;
static const char *const thread_devices[THREADS] = {"cpu", "fusion(cpu)", "ref", "cpu"};
static bool thread_good[THREADS];

static void *run_thread(void *context)
{
    int number = (int)(intptr_t)context;
    kn_device device = kn_device_open(thread_devices[number]);
    kn_device_use(device);
    thread_good[number] = true;
    for (int i = 0; i < TURNS; i++) {
        float got[3] = {0};
        kn_scope scope = kn_scope_begin();
        kn_tensor x = kn_full(KN_SHAPE(3), i, KN_F32), z = KN_NONE;
        if (kn_onnx_run(shared, &x, 1, &z, 1) || kn_read(z, got, sizeof got)) thread_good[number] = false;
        for (int k = 0; k < 3; k++)
            thread_good[number] = thread_good[number] && got[k] == (float)(i + 2 * (k + 1));
        kn_scope_end(scope, KN_NONE);
    }
    kn_device_use(NULL);
    kn_device_close(device);
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];
    shared = onnx_open(model_with_weights());
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, run_thread, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(thread_good[i]);
    }
    kn_onnx_free(shared);
}

/* ---- profiles */

static void test_profile(void)
{
    char text[600];
    kn_onnx model = onnx_open(model_with_weights());
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(3), KN_F32));
    CHECK(kn_onnx_profile_begin(model) == KN_OK);
    for (int i = 0; i < 3; i++) onnx_give(model, &x, 1);
    CHECK(kn_onnx_profile_end(model) == KN_OK);
    onnx_give(model, &x, 1);
    CHECK(kn_onnx_profile(model, text, sizeof text) < sizeof text);
    CHECK(strstr(text, "3 runs") && strstr(text, "Add  1 nodes") && strstr(text, "Add  Add_1"));
    kn_onnx_free(model);
}

/* ---- operators of the user's */

/* y = x * scale + 1 by ops; and its first input's negative by hand. */
static kn_status run_twice(void *context, kn_onnx_call *call)
{
    ++*(int *)context;
    kn_onnx_operand x = kn_onnx_call_input(call, 0), y, pair[2];
    double scale = kn_onnx_call_real(call, "scale", 2);
    CHECK(kn_onnx_call_inputs(call) == 1 && kn_onnx_call_outputs(call) == 2);
    CHECK(kn_onnx_call_dtype(call, x) == KN_F32 && kn_onnx_call_rank(call, x) == 1);
    CHECK(kn_onnx_call_size(call, x, 0) == 2 && kn_onnx_call_size(call, x, 1) == -1);
    CHECK(!strcmp(kn_onnx_call_text_at(call, "words", 1, NULL), "two") &&
          !kn_onnx_call_text_at(call, "words", 2, NULL));
    CHECK(kn_onnx_call_rank(call, kn_onnx_call_constant(call, "table")) == 2 &&
          !kn_onnx_call_constant(call, "no").id);
    CHECK(!kn_onnx_call_input(call, 1).id && kn_onnx_call_int(call, "missing", 7) == 7);
    pair[0] = x;
    pair[1] = kn_onnx_call_made(call, kn_scalar(scale, KN_F32));
    kn_onnx_call_op(call, "mul", pair, 2, NULL, &y, 1);
    pair[0] = y;
    pair[1] = kn_onnx_call_made(call, kn_scalar(1, KN_F32));
    kn_onnx_call_op(call, "add", pair, 2, NULL, &y, 1);
    kn_onnx_call_output(call, 0, y);
    kn_onnx_call_output(call, 1, kn_onnx_call_made(call, kn_neg(kn_onnx_call_tensor(call, x))));
    return KN_OK;
}

static kn_status run_failing(void *context, kn_onnx_call *call)
{
    (void)context;
    return kn_onnx_call_fail(call, "not today");
}

static onnx_message custom_model(const char *op)
{
    onnx_message g = {0}, node = onnx_node(op, "x", "a b"), m;
    onnx_put_text(&node, 7, "my.own");
    onnx_attribute_float(&node, "scale", 3);
    onnx_attribute_words(&node, "words", "one two");
    onnx_attribute_tensor(&node, "table", onnx_floats("table", ONNX_SIZES(1, 2), (const float[]){1, 2}));
    onnx_graph_node(&g, node);
    onnx_graph_node(&g, onnx_node("Add", "a b", "z"));
    onnx_graph_input(&g, onnx_float_value("x", ONNX_SIZES(2)));
    onnx_graph_output(&g, onnx_float_value("z", ONNX_SIZES(2)));
    m = onnx_model(g);
    onnx_opset(&m, "my.own", 1);
    return m;
}

static void test_custom_operators(void)
{
    static int calls;
    kn_onnx_operator twice = {.domain = "my.own", .name = "Twice", .run = run_twice, .context = &calls};
    kn_onnx_operator failing = {.domain = "my.own", .name = "Failing", .run = run_failing};
    CHECK(kn_onnx_register(&twice) == KN_OK && kn_onnx_register(&failing) == KN_OK);
    CHECK_ERROR(kn_onnx_register(&(kn_onnx_operator){.name = "Nothing"}), "has a name and a function");
    kn_tensor x = kn_keep(kn_from((const float[]){1, 2}, KN_F32, KN_SHAPE(2))), z;
    kn_onnx model = onnx_open(custom_model("Twice"));
    CHECK_VALUES(onnx_give(model, &x, 1), 0, 3, 5);
    CHECK(calls == 1);
    kn_onnx_free(model);
    model = onnx_open(custom_model("Failing"));
    CHECK_ERROR(kn_onnx_run(model, &x, 1, &z, 1), "(my.own.Failing): not today");
    kn_onnx_free(model);
}

/* ---- memory */

static void test_nothing_stays(void)
{
    kn_onnx model = onnx_open(model_with_weights());
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(3), KN_F32));
    onnx_give(model, &x, 1);
    int64_t before = kn_memory_stats().tensors_now;
    for (int i = 0; i < 10; i++) {
        kn_scope scope = kn_scope_begin();
        onnx_give(model, &x, 1);
        kn_scope_end(scope, KN_NONE);
    }
    CHECK(kn_memory_stats().tensors_now == before);
    kn_onnx_free(model);
    CHECK(kn_memory_stats().tensors_now < before);
}

/* Each allocation of tensors fails once: loading or the run says so, or nothing needed it. */
static void test_memory_fails(void)
{
    int failed = 0, good = 0;
    for (int64_t n = 1; n < 40; n++) {
        kn_scope scope = kn_scope_begin();
        kn_tensor x = kn_keep(kn_ones(KN_SHAPE(3), KN_F32)), z = KN_NONE;
        onnx_message message = model_with_weights();
        kn_memory_fail_after(n);
        kn_onnx model = kn_onnx_load_memory(message.data, message.length, NULL);
        kn_status s = model ? kn_onnx_run(model, &x, 1, &z, 1) : KN_ERROR_MEMORY;
        kn_memory_fail_after(0);
        failed += s != KN_OK;
        good += s == KN_OK;
        if (s == KN_OK) CHECK_VALUES(z, 0, 3, 5, 7);
        if (s && model) CHECK(!kn_ok(z) && *kn_last_error());
        kn_onnx_free(model);
        kn_scope_end(scope, KN_NONE);
        kni_buffer_free(&message);
    }
    CHECK(failed && good);
}

int main(void)
{
    test_random_outputs();
    test_shapes_change();
    test_refused_inputs();
    test_unknown_operator();
    test_ports();
    test_defaults();
    test_defaults_of_programs();
    test_optional_of_programs();
    test_folding();
    test_weight_outlives_model();
    test_devices();
    test_shapes_beside_queue();
    test_threads();
    test_profile();
    test_custom_operators();
    test_nothing_stays();
    test_memory_fails();
    kn_shutdown();
    onnx_free_kept();
    return check_report();
}
