/* ONNX models as C against the library: which weights keep their names and are trained, what names of a model do to the text, and loops
   whose end is known when they have run. */
#define _DEFAULT_SOURCE
#include "support/onnx_text.h"
#include "support/written_source.h"
#include "test_onnx_models.h"
#include <kn/program.h>
#include <kn/state.h>
#include <kn/store.h>
#include <stdlib.h>

enum { TEXT = 200000 };

static char folder[100], build[PATH];
static bool compiles; /* there is a library to compile against */

static const char *read_text(const char *ending)
{
    static char text[TEXT];
    char path[200];
    snprintf(path, sizeof path, "%s/net%s", folder, ending);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = 0;
    return text;
}

/* The program of the model, which is written; NULL with a failed check. */
static kn_program written(kn_onnx model, const char *what)
{
    kn_program p = kn_onnx_program(model, NULL);
    bool good = p && kn_program_to_source(p, folder, &(kn_program_to_source_args){.name = "net"}) == KN_OK;
    if (!CHECK(good)) printf("  %s: %s\n", what, kn_last_error());
    return p;
}

/* ---- weights */

typedef struct weights_case {
    const char *model;
    const char *params, *buffers; /* names, each with a space behind it */
    int version;
} weights_case;

static const weights_case weight_cases[] = {
    {"x f32[2,3]; w = f32[3,4] ~-; b = f32[4] ~; y = Gemm(x, w, b); > y", "w b ", "", 17},
    {"x f32[2,3]; w = f32[4,3] ~-; b = f32[4] ~; y = Gemm(x, w, b) transB=1; > y", "w b ", "", 17},
    {"x f32[2,3]; w = f32[3,4] ~-; b = f32[4] ~; y = Gemm(x, w, b) alpha=0.5 beta=2.0; > y", "w b ", "", 17},
    {"x f32[3,2]; w = f32[3,4] ~-; b = f32[1,4] ~; y = Gemm(x, w, b) transA=1; > y", "w b ", "", 17},
    {"x f32[2,3]; w = f32[3,2] ~-; y = MatMul(x, w); > y", "w ", "", 17},
    {"x f32[2,3]; w = f32[2,3] ~-; t = Transpose(w) perm=1,0; y = MatMul(x, t); > y", "w ", "", 17},
    {"x f32[2,3]; w = f16[3,2] ~-; t = Cast(w) to=1; y = MatMul(x, t); > y", "w ", "", 17},
    {"x f32[2,3]; w = f32[6] ~-; s = i64[2] 3 2; t = Reshape(w, s); y = MatMul(x, t); > y", "w ", "", 17},
    {"x f32[2,3]; w = f32[3,2] ~-; v = f32[3,3] ~; t = Concat(w, v) axis=1; y = MatMul(x, t); > y", "w v ",
     "", 17},
    {"x f32[2,3]; w = f32[5,2] ~-; a = i64[1] 1; b = i64[1] 4; z = i64[1] 0; t = Slice(w, a, b, z); y = "
     "MatMul(x, t); > "
     "y",
     "w ", "", 17},
    {"x f32[2,3]; w = f32[3] ~-; z = i64[1] 1; t = Unsqueeze(w, z); y = MatMul(x, t); > y", "w ", "", 17},
    {"x f32[2,5,4]; w = f32[4,2,3] ~-; y = Einsum(x, w) equation='bsd,dhk->bhsk'; > y", "w ", "", 17},
    {"x f32[2,3,4]; g = f32[3] ~; b = f32[3] ~-; y = InstanceNormalization(x, g, b); > y", "g b ", "", 17},
    {"x f32[2,4,4]; g = f32[2] ~; b = f32[2] ~-; y = GroupNormalization(x, g, b) num_groups=2; > y", "g b ",
     "", 18},
    {"x f32[2,4,4]; g = f32[4] ~; b = f32[4] ~-; y = GroupNormalization(x, g, b) num_groups=2; > y", "g b ",
     "", 21},
    {"x f32[2,4]; g = f32[4] ~; b = f32[4] ~-; y = LayerNormalization(x, g, b); > y", "g b ", "", 17},
    {"x f32[2,4]; g = f32[4] ~; y = RMSNormalization(x, g); > y", "g ", "", 23},
    {"x f32[2,3,4]; a = f32[3,1] ~; y = PRelu(x, a); > y", "a ", "", 17},
    {"x f32[2,3,4]; g = f32[3] ~; b = f32[3] ~; m = f32[3] ~-; v = f32[3] ~; y = BatchNormalization(x, g, b, "
     "m, v); "
     "> y",
     "g b ", "m v ", 17},
    {"x f32[2,2,4]; w = f32[3,2,3] ~-; c = Conv(x, w); g = f32[3] ~; b = f32[3] ~; m = f32[3] ~-; v = f32[3] "
     "~; y = "
     "BatchNormalization(c, g, b, m, v); > y",
     "w g b ", "m v ", 17},
    {"x f32[2,2,4]; w = f32[3,2,3] ~-; b = f32[3] ~; s = f32[1,3,1] ~; c = Conv(x, w, b); y = Mul(c, s); > y",
     "w b s ", "", 17},
    {"x f32[2,3,4]; w = f32[3,2,3] ~-; b = f32[2] ~; y = ConvTranspose(x, w, b); > y", "w b ", "", 17},
    {"x f32[2,1,3]; w = f32[1,8,3] ~-; r = f32[1,8,2] ~-; b = f32[1,16] ~-; y = LSTM(x, w, r, b) "
     "hidden_size=2; > y",
     "w r b ", "", 17},
    {"x f32[2,1,3]; w = f32[1,6,3] ~-; r = f32[1,6,2] ~-; b = f32[1,12] ~-; y = GRU(x, w, r, b) "
     "hidden_size=2; > y",
     "w r b ", "", 17},
    {"x f32[2,1,3]; w = f32[1,2,3] ~-; r = f32[1,2,2] ~-; b = f32[1,4] ~-; y = RNN(x, w, r, b) "
     "hidden_size=2; > y",
     "w r b ", "", 17},
    {"i i64[2]; w = f32[5,3] ~-; y = Gather(w, i); > y", "w ", "", 17},
    {"x f32[2,3]; b = f32[3] ~; e = f32[1] 0.5; c = f32[] 2; a = Add(x, b); d = Mul(a, e); y = Mul(d, c); > "
     "y",
     "b e ", "", 17},
    /* A weight that the model itself quantizes, as training with quantization leaves it. */
    {"x f32[2,3]; w = f32[3,2] ~-; s = f32[1] 0.05; z = i8[1] 0; q = QuantizeLinear(w, s, z); d = "
     "DequantizeLinear(q, s, z); y = "
     "MatMul(x, d); > y",
     "w ", "", 17},
    /* What is no weight: a mask, sizes, whole numbers with their scales. */
    {"x f32[2,3]; m = f32[3] 0 -10000 0; y = Add(x, m); > y", "", "m ", 17},
    {"x f32[1,1,2,2]; s = f32[4] 1 1 2 2; y = Resize(x, -, s) mode='nearest'; > y", "", "", 17},
    /* Quantised weights and what belongs to them. */
    {"x f32[2,3]; q = i8[3,8] 1 -2 3 -4 5 -6 7 -8; s = f32[8] ~; w = DequantizeLinear(q, s) axis=1; y = "
     "MatMul(x, w); > y",
     "", "q s ", 17},
    {"x f32[2,3]; q = i8[8,3] 1 -2 3 -4 5 -6 7 -8; s = f32[8] ~; z = i8[8] 1 2 3; b = f32[8] ~; w = "
     "DequantizeLinear(q, s, z) axis=0; y = Gemm(x, w, b) transB=1; > y",
     "b ", "q s z ", 17},
    {"x f32[2,3]; q = u8[8,3] 1 2 3 4 255; s = f32[] 0.5; z = u8[] 7; w = DequantizeLinear(q, s, z); t = "
     "Transpose(w) perm=1,0; y = MatMul(x, t); > y",
     "", "q ", 17},
    {"x f32[1,2,4]; q = i8[3,2,3] 1 -2 3 -4 5 -6 7 -8; s = f32[3] ~; w = DequantizeLinear(q, s) axis=0; y = "
     "Conv(x, w); > y",
     "", "q s ", 17},
    {"x f32[2,3]; q = u8[3,4] 1 2 3 4 255; z = u8[4] 1 2 3 4; s = f32[4] ~; a, c, d = "
     "DynamicQuantizeLinear(x); m = MatMulInteger(a, q, d, z); f = Cast(m) to=1; e = Mul(c, s); y = Mul(f, "
     "e); > y",
     "s ", "q z ", 17},
    {"x f32[2,20]; q = u8[3,2,8] 18 52 86 120 154 188 222 240; s = f32[6] ~; z = u8[3] 137 88 103; y = "
     "MatMulNBits@com.microsoft(x, q, s, z) K=20 N=3 bits=4 block_size=16; > y",
     "", "q s z ", 17},
    {"x f32[2,20]; q = u8[3,2,4] 18 52 86 120 154 188 222 240; s = f32[6] ~; y = "
     "MatMulNBits@com.microsoft(x, q, s) K=20 N=3 bits=2 block_size=16; > y",
     "", "q s ", 17},
    {"x f16[2,20]; q = u8[3,2,16] 18 52 86 120 154 188 222 240; s = f16[6] ~; y = "
     "MatMulNBits@com.microsoft(x, q, s) K=20 N=3 bits=8 block_size=16; > y",
     "", "q s ", 17},
    {"i i64[2]; q = u8[5,4] 1 2 3 4 255; s = f32[1] 0.5; g = Gather(q, i); y = DequantizeLinear(g, s); > y",
     "", "q ", 17},
    {"x f32[2,3]; c = f32[] 0.1; o = u8[] 3; a = QuantizeLinear(x, c, o); d = DequantizeLinear(a, c, o); q = "
     "i8[3,4] 1 -2 3 -4 5; s = f32[] 0.5; e = i8[] 0; w = DequantizeLinear(q, s, e); m = MatMul(d, w); f = "
     "QuantizeLinear(m, c, o); y = DequantizeLinear(f, c, o); > y",
     "", "q ", 17},
};

static bool has_field(const char *text, const char *kind, const char *name, size_t n)
{
    char field[100];
    snprintf(field, sizeof field, "{KN_FIELD_%s, \"%.*s\", ", kind, (int)n, name);
    return strstr(text, field) != NULL;
}

static void check_fields(const weights_case *w, const char *kind, const char *names)
{
    const char *text = read_text(".c");
    for (size_t n; *names; names += n + 1) {
        n = strcspn(names, " ");
        if (!CHECK(has_field(text, kind, names, n)))
            printf("  %s: no %s %.*s\n", w->model, kind, (int)n, names);
    }
}

/* The file has the weights of the model as they are there: dtype, shape and bytes. `names` has those of its integers and their scales. */
static void check_stored(const weights_case *w, const char *names)
{
    char path[200], name[16];
    snprintf(path, sizeof path, "%s/net.safetensors", folder);
    kn_state state = kn_state_make();
    CHECK(kn_state_read(state, path) == KN_OK);
    for (size_t n; *names; names += n + 1) {
        n = strcspn(names, " ");
        snprintf(name, sizeof name, "%.*s", (int)n, names);
        kn_tensor got = kn_state_get(state, "", name);
        char want[40], key[24];
        snprintf(key, sizeof key, "%s = ", name);
        const char *text = strstr(w->model, key);
        int at = snprintf(want, sizeof want, "%s[", kn_dtype_name(kn_dtype_of(got)));
        for (int a = 0; a < kn_rank(got); a++)
            at += snprintf(want + at, sizeof want - (size_t)at, a ? ",%d" : "%d", (int)kn_size(got, a));
        snprintf(want + at, sizeof want - (size_t)at, "] ");
        bool same = text && !strncmp(text + strlen(key), want, strlen(want));
        if (!CHECK(same)) printf("  %s: %s is %s in the file\n", w->model, name, want);
    }
    kn_state_free(state);
}

/* A program in a file still knows what is trained. */
static void check_saved(kn_program p, const weights_case *w)
{
    void *data = NULL;
    size_t bytes = 0;
    CHECK(kn_program_save_memory(p, &data, &bytes, NULL) == KN_OK);
    kn_program again = kn_program_load_memory(data, bytes, NULL);
    CHECK(again && kn_program_to_source(again, folder, &(kn_program_to_source_args){.name = "net"}) == KN_OK);
    check_fields(w, "PARAM", w->params);
    check_fields(w, "BUFFER", w->buffers);
    kn_program_free(again);
    free(data);
}

static kn_tensor input_of(kn_onnx model, int32_t i)
{
    kn_onnx_port port;
    kn_shape shape = {0, {0}};
    if (kn_onnx_input(model, i, &port)) return KN_NONE;
    shape.rank = port.rank;
    int64_t n = 1;
    for (int32_t a = 0; a < port.rank; a++) n *= shape.dims[a] = port.sizes[a] > 0 ? port.sizes[a] : 3;
    kn_tensor x =
        kn_mul(kn_sub(kn_arange(0, (double)n, 1, KN_F32), kn_scalar(2, KN_F32)), kn_scalar(0.3, KN_F32));
    if (port.dtype == KN_F16) x = kn_cast(x, KN_F16);
    if (port.dtype == KN_I64) x = kn_arange(0, (double)n, 1, KN_I64);
    return kn_keep(kn_reshape(x, shape));
}

static void check_same(const char *what, kn_tensor got, kn_tensor want)
{
    double values[512];
    int64_t n = kn_count(want);
    bool same = kn_rank(got) == kn_rank(want);
    for (int a = 0; same && a < kn_rank(got); a++) same = kn_size(got, a) == kn_size(want, a);
    if (!CHECK(same)) printf("  %s: other sizes\n", what);
    if (CHECK(n <= 512 && kn_read_as(want, KN_F64, values, (size_t)n * sizeof *values) == KN_OK &&
              kn_count(got) == n))
        check_values(got, values, (int)n, 1e-5, __FILE__, __LINE__);
    else
        printf("  %s\n", what);
}

/* Weights are params under their names, and the program means the same as the model with everything computed that can be. */
static void test_weights(void)
{
    for (size_t i = 0; i < sizeof weight_cases / sizeof *weight_cases; i++) {
        const weights_case *w = &weight_cases[i];
        kn_scope scope = kn_scope_begin();
        kn_onnx plain = onnx_open(onnx_text_model(w->model, w->version));
        for (int simple = 0; simple < 2; simple++) {
            kn_onnx model = onnx_open_with(onnx_text_model(w->model, w->version),
                                           &(kn_onnx_args){.keep_weights = true, .no_simplify = !simple});
            kn_program p = written(model, w->model);
            check_fields(w, "PARAM", w->params);
            check_fields(w, "BUFFER", w->buffers);
            check_stored(w, w->params);
            check_stored(w, w->buffers);
            if (!CHECK(!strstr(read_text(".c"), "float[]")))
                printf("  %s: a weight is a literal\n", w->model);
            check_saved(p, w);
            kn_tensor x = input_of(plain, 0), y = KN_NONE, z = KN_NONE;
            if (CHECK(p && kn_program_run(p, &x, 1, &y, 1) == KN_OK &&
                      kn_onnx_run(plain, &x, 1, &z, 1) == KN_OK))
                check_same(w->model, kn_keep(y), kn_keep(z));
            kn_program_free(p);
            kn_onnx_free(model);
        }
        kn_onnx_free(plain);
        kn_scope_end(scope, KN_NONE);
        onnx_free_kept();
    }
}

/* A Constant node is a weight where a layer takes it, else a number of a formula, but in models that have all weights there. */
static void test_constant_nodes(void)
{
    static const struct {
        bool weight; /* there is an initializer */
        const char *field;
    } cases[] = {{true, "BUFFER"}, {false, "PARAM"}};
    for (int i = 0; i < 2; i++) {
        onnx_message g = {0};
        const char *names[] = {"b", "w"};
        for (int k = 0; k < (cases[i].weight ? 1 : 2); k++) {
            onnx_message node = onnx_node("Constant", "", names[k]);
            onnx_attribute_tensor(&node, "value",
                                  k ? onnx_floats("", ONNX_SIZES(2, 2), (const float[]){1, 2, 3, 4})
                                    : onnx_floats("", ONNX_SIZES(2), (const float[]){5, 6}));
            onnx_graph_node(&g, node);
        }
        if (cases[i].weight)
            onnx_graph_tensor(&g, onnx_floats("w", ONNX_SIZES(2, 2), (const float[]){1, 2, 3, 4}));
        onnx_graph_node(&g, onnx_node("MatMul", "x w", "h"));
        onnx_graph_node(&g, onnx_node("Relu", "h", "r"));
        onnx_graph_node(&g, onnx_node("Add", "r b", "y"));
        onnx_graph_input(&g, onnx_float_value("x", ONNX_SIZES(-1, 2)));
        onnx_graph_output(&g, onnx_float_value("y", ONNX_SIZES(-1, 2)));
        kn_onnx model = onnx_open_with(onnx_model(g), &(kn_onnx_args){.keep_weights = true});
        kn_program_free(written(model, "Constant nodes"));
        CHECK(has_field(read_text(".c"), "PARAM", "w", 1));
        bool literal = strstr(read_text(".c"), "float[]") != NULL;
        CHECK(cases[i].weight ? literal : has_field(read_text(".c"), cases[i].field, "b", 1));
        kn_onnx_free(model);
        onnx_free_kept();
    }
}

/* Blocks that repeat are numbered, and the file says what their weights are called in the model. */
static void test_names_of_blocks(void)
{
    kn_onnx model = onnx_open_with(
        onnx_text_model("x f32[2,3]; u = f32[3,3] ~; v = f32[3,3] ~-; w = f32[3,3] ~; z = f32[3,3] ~-; a = "
                        "MatMul(x, u); b = "
                        "Tanh(a); b2 = Add(b, x); c = MatMul(b2, v); d = Tanh(c); d2 = Add(d, b2); e = "
                        "MatMul(d2, w); f = "
                        "Tanh(e); f2 = Add(f, d2); g = MatMul(f2, z); h = Tanh(g); y = Add(h, f2); > y",
                        17),
        &(kn_onnx_args){.keep_weights = true});
    kn_program_free(written(model, "blocks"));
    CHECK(strstr(read_text(".c"), "KN_FIELD_ARRAY") != NULL);
    char path[200];
    snprintf(path, sizeof path, "%s/net.safetensors", folder);
    kn_store file = kn_store_open(path, NULL);
    const char *const names[] = {"u", "v", "w", "z"};
    for (int i = 0; i < 4; i++) {
        const char *name, *text;
        bool told = false;
        for (int64_t k = 0; !told && kn_store_text(file, k, &name, &text); k++)
            told = !strcmp(text, names[i]) && kn_store_find(file, name) >= 0;
        CHECK(told || kn_store_find(file, names[i]) >= 0);
    }
    kn_store_close(file);
    kn_onnx_free(model);
    onnx_free_kept();
}

/* C without a library keeps integers and short floats as the model has them, and gives the same. */
static void test_stored_in_arrays(void)
{
    static const struct {
        const char *model, *array;
    } cases[] = {
        {"x f32[2,30]; q = i8[30,24] 1 -2 3 -4 5 -6 7 -8; s = f32[24] ~; w = DequantizeLinear(q, s) axis=1; "
         "y = "
         "MatMul(x, w); > y",
         "const int8_t w"},
        {"x f32[2,30]; q = i8[24,30] 1 -2 3 -4; s = f32[24] ~; b = f32[24] ~; w = DequantizeLinear(q, s) "
         "axis=0; y "
         "= Gemm(x, w, b) transB=1; > y",
         "const int8_t w"},
        {"x f32[2,64]; q = u8[3,2,16] 18 52 86 120 154 188 222 240; s = f32[6] ~; y = "
         "MatMulNBits@com.microsoft(x, q, s) K=64 N=3 bits=4 block_size=32; > y",
         "const uint8_t w"},
        {"x f32[1,8,9]; q = i8[16,8,3] 1 -2 3; s = f32[] 0.5; w = DequantizeLinear(q, s); y = Conv(x, w); > "
         "y",
         "const int8_t w"},
        {"x f32[2,30]; h = f16[30,24] ~-; w = Cast(h) to=1; y = MatMul(x, w); > y", "const uint16_t w"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kn_onnx plain = onnx_open(onnx_text_model(cases[i].model, 17)),
                model =
                    onnx_open_with(onnx_text_model(cases[i].model, 17), &(kn_onnx_args){.keep_stored = true});
        kn_program p = kn_onnx_program(model, NULL);
        char path[200];
        snprintf(path, sizeof path, "%s/net.c", folder);
        if (CHECK(p && kn_program_to_c(p, path, &(kn_program_to_c_args){.name = "net"}) == KN_OK)) {
            CHECK(strstr(read_text(".c"), cases[i].array) != NULL);
            kn_tensor x = input_of(plain, 0), y = KN_NONE, z = KN_NONE;
            if (CHECK(kn_program_run(p, &x, 1, &y, 1) == KN_OK && kn_onnx_run(plain, &x, 1, &z, 1) == KN_OK))
                check_same(cases[i].model, kn_keep(y), kn_keep(z));
        } else {
            printf("  %s: %s\n", cases[i].model, kn_last_error());
        }
        kn_program_free(p);
        kn_onnx_free(model);
        kn_onnx_free(plain);
        onnx_free_kept();
    }
}

/* Of other ways what depends on weights alone is computed once. */
static void test_folding(void)
{
    kn_onnx model = onnx_open(
        onnx_text_model("x f32[2,3]; w = f32[2,3] ~-; t = Transpose(w) perm=1,0; y = MatMul(x, t); > y", 17));
    kn_program p = written(model, "folding");
    CHECK(!strstr(read_text(".c"), "kn_permute") && has_field(read_text(".c"), "PARAM", "t", 1));
    kn_program_free(p);
    kn_onnx_free(model);
    onnx_free_kept();
}

/* ---- names */

/* Whether the compiler has nothing to say of what was written. */
static bool is_clean(bool alone)
{
    char source[200], include[200];
    snprintf(source, sizeof source, alone ? "%s/alone.c" : "%s/net.c", folder);
    snprintf(include, sizeof include, "-I%s", folder);
    char *arguments[] = {"cc",
                         alone ? "-std=c99" : "-std=c11",
                         "-fsyntax-only",
                         "-Wall",
                         "-Wextra",
                         "-Werror",
                         "-Wshadow",
                         "-pedantic",
                         "-Iinclude",
                         include,
                         source,
                         NULL};
    return source_command(arguments) == 0;
}

/* Both forms of C, and weights keep the names they have. */
static void test_names(void)
{
    static const char *const hostile[] = {
        "*/int/**/injected=42;/*",
        "a\\",
        "a\\\nint injected=42;",
        "\"};int injected=42;//",
        "\?\?/",
        "\?\?/\nx",
        "%s%n%d",
        "'",
        "a\nint injected=42;\n",
        "//",
        "/*",
        "\xe2\x80\xae\xc3\xa9",
        "*\\\n/int injected;/*",
        "kn_tensor",
        "return",
        "\"\?\?/\"",
    };
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        onnx_message g = {0};
        char name[4][80], text[200];
        for (int k = 0; k < 4; k++) snprintf(name[k], sizeof name[k], k ? "%s.%d" : "%s", hostile[i], k);
        for (int k = 0; k < 4; k++)
            for (char *c = name[k]; *c; c++) *c = *c == ' ' ? '\t' : *c; /* a list of names has spaces */
        snprintf(text, sizeof text, "%s %s", name[0], name[1]);
        onnx_graph_node(&g, onnx_node("Add", text, name[2]));
        onnx_graph_node(&g, onnx_node("Relu", name[2], name[3]));
        onnx_graph_input(&g, onnx_float_value(name[0], ONNX_SIZES(-1, 40)));
        float weight[40] = {0};
        onnx_graph_tensor(&g, onnx_floats(name[1], ONNX_SIZES(40), weight));
        onnx_graph_output(&g, onnx_float_value(name[3], ONNX_SIZES(-1, 40)));
        kn_onnx model = onnx_open_with(onnx_model(g), &(kn_onnx_args){.keep_weights = true});
        kn_onnx_size bound = {NULL, 1, 4};
        char size[90], path[200];
        snprintf(size, sizeof size, "%s.0", name[0]);
        bound.name = size;
        kn_program p =
            model ? kn_onnx_program(model, &(kn_onnx_program_args){.sizes = &bound, .n_sizes = 1}) : NULL;
        snprintf(path, sizeof path, "%s/alone.c", folder);
        bool good = p &&
                    kn_program_to_source(p, folder, &(kn_program_to_source_args){.name = "net"}) == KN_OK &&
                    kn_program_to_c(p, path, &(kn_program_to_c_args){.name = "alone"}) == KN_OK;
        if (!CHECK(good)) printf("  '%s': %s\n", hostile[i], kn_last_error());
        kn_state state = kn_state_make();
        snprintf(path, sizeof path, "%s/net.safetensors", folder);
        CHECK(kn_state_read(state, path) == KN_OK && kn_state_get(state, "", name[1]).bits);
        kn_state_free(state);
        if (good && !CHECK(is_clean(false) && is_clean(true))) printf("  '%s'\n", hostile[i]);
        CHECK(!strstr(read_text(".c"), "\nint injected") && !strstr(read_text(".h"), "\nint injected"));
        kn_program_free(p);
        kn_onnx_free(model);
        onnx_free_kept();
    }
}

static void test_inputs_that_nobody_reads(void)
{
    kn_onnx model = onnx_open(onnx_text_model("x f32[2,-1]; u f32[3]; v f32[-1]; y = Relu(x); > y", 17));
    kn_program_free(written(model, "inputs that nobody reads"));
    CHECK(is_clean(false));
    kn_onnx_free(model);
    onnx_free_kept();
}

/* ---- loops */

/* x doubles until its largest element is at least 100, or for as many trips as there may be; each trip gives what it has. */
static kn_onnx doubling(bool counted, bool begins)
{
    onnx_message g = {0}, body = {0}, node;
    onnx_graph_node(&body, onnx_node("Mul", "a two", "a2"));
    node = onnx_node("ReduceMax", "a2", "m");
    onnx_attribute_int(&node, "keepdims", 0);
    onnx_graph_node(&body, node);
    onnx_graph_node(&body, onnx_node("Less", "m limit", "goes"));
    onnx_graph_node(&body, onnx_node("Identity", "a2", "row"));
    onnx_graph_input(&body, onnx_int_value("i", ONNX_SCALAR));
    onnx_graph_input(&body, onnx_bool_value("c"));
    onnx_graph_input(&body, onnx_float_value("a", ONNX_SIZES(-1)));
    onnx_graph_output(&body, onnx_bool_value("goes"));
    onnx_graph_output(&body, onnx_float_value("a2", ONNX_SIZES(-1)));
    onnx_graph_output(&body, onnx_float_value("row", ONNX_SIZES(-1)));
    node = onnx_node("Loop", counted ? "trips go x" : "- go x", "last rows");
    onnx_attribute_graph(&node, "body", body);
    onnx_graph_node(&g, node);
    onnx_graph_node(&g, onnx_node("Neg", "rows", "y"));
    onnx_graph_tensor(&g, onnx_int_constant("trips", 40));
    onnx_graph_tensor(&g, onnx_floats("two", ONNX_SCALAR, (const float[]){2}));
    onnx_graph_tensor(&g, onnx_floats("limit", ONNX_SCALAR, (const float[]){100}));
    if (begins)
        onnx_graph_tensor(&g, onnx_truth("go", true));
    else
        onnx_graph_input(&g, onnx_bool_value("go"));
    onnx_graph_input(&g, onnx_float_value("x", ONNX_SIZES(-1)));
    onnx_graph_output(&g, onnx_float_value("last", ONNX_SIZES(-1)));
    onnx_graph_output(&g, onnx_float_value("y", ONNX_SIZES(-1, -1)));
    return onnx_open(onnx_model(g));
}

static void compare_compiled(const char *weights, const kn_tensor *in, int n_in, const kn_tensor *want,
                             int n_out)
{
    char inputs[PATH], outputs[PATH], program[PATH], path[PATH], name[32];
    kn_state given = kn_state_make(), got = kn_state_make();
    for (int i = 0; i < n_in; i++) {
        snprintf(name, sizeof name, "x0_%d", i);
        CHECK(kn_state_put(given, "", name, in[i]) == KN_OK);
    }
    snprintf(inputs, sizeof inputs, "%s/in.safetensors", folder);
    snprintf(outputs, sizeof outputs, "%s/out.safetensors", folder);
    snprintf(program, sizeof program, "%s/net", folder);
    snprintf(path, sizeof path, "%s/main.c", folder);
    char weights_path[PATH];
    snprintf(weights_path, sizeof weights_path, "%s/%s", folder, weights);
    char *arguments[] = {program, weights_path, inputs, outputs, NULL};
    CHECK(kn_state_write(given, inputs, KN_STORE_SAFETENSORS) == KN_OK);
    if (CHECK(source_main(path, n_in, n_out, "cpu") && source_compile(folder, build)) &&
        CHECK(source_command(arguments) == 0) && CHECK(kn_state_read(got, outputs) == KN_OK))
        for (int i = 0; i < n_out; i++) {
            snprintf(name, sizeof name, "y0_%d", i);
            check_same("compiled", kn_state_get(got, "", name), want[i]);
        }
    kn_state_free(given);
    kn_state_free(got);
}

static void test_loops(void)
{
    kn_tensor x = kn_keep(kn_from((float[]){3, 5}, KN_F32, KN_SHAPE(2))),
              go[2] = {kn_keep(kn_scalar_int(0, KN_BOOL)), kn_keep(kn_scalar_int(1, KN_BOOL))};
    for (int counted = 0; counted < 2; counted++)
        for (int begins = 0; begins < 2; begins++) {
            kn_onnx model = doubling(counted, begins);
            kn_program p = written(model, "a loop that ends early");
            for (int holds = begins; holds < 2; holds++) {
                kn_tensor in[2] = {begins ? x : go[holds], x}, want[2], out[2];
                if (!CHECK(kn_onnx_run(model, in, 2 - begins, want, 2) == KN_OK)) continue;
                for (int i = 0; i < 2; i++) want[i] = kn_keep(want[i]);
                CHECK(kn_size(want[1], 0) == (holds ? 5 : 0));
                if (CHECK(p && kn_program_run(p, in, 2 - begins, out, 2) == KN_OK))
                    for (int i = 0; i < 2; i++) check_same("program", kn_keep(out[i]), want[i]);
                if (compiles) compare_compiled("net.safetensors", in, 2 - begins, want, 2);
            }
            char path[200];
            snprintf(path, sizeof path, "%s/alone.c", folder);
            kn_onnx_size bound = {"x.0", 1, 4};
            kn_program bounded =
                kn_onnx_program(model, &(kn_onnx_program_args){.sizes = &bound, .n_sizes = 1});
            CHECK_ERROR(kn_program_to_c(bounded, path, NULL), "may end the loop that makes value 'rows'");
            kn_program_free(bounded);
            kn_program_free(p);
            kn_onnx_free(model);
            onnx_free_kept();
        }
}

int main(void)
{
    char command[120];
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/kiln_written_XXXXXX", base && strlen(base) < 60 ? base : "/tmp");
    if (!CHECK(mkdtemp(folder) != NULL)) return check_report();
    compiles = !UNDER_SANITIZER && source_library(build, sizeof build);
    kn_scope scope = kn_scope_begin();
    test_weights();
    test_constant_nodes();
    test_folding();
    test_stored_in_arrays();
    test_names_of_blocks();
    test_names();
    test_inputs_that_nobody_reads();
    test_loops();
    kn_scope_end(scope, KN_NONE);
    onnx_free_kept();
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
