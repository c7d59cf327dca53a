/* Operators of ONNX on numbers, in all their forms: old versions with attributes where later ones have inputs, broadcasting by axis, dtypes,
   negative steps, modes; and strings that move or are numbers. Each row is a model of one node. */
#include "test_onnx_models.h"
#include <ctype.h>
#include <stdlib.h>

enum { MOST = 256, OPERANDS = 8 };

/* operands: "f32[2,2] 1 2 3 4; i64 -1; -" of a dtype, sizes (none: a single number) and elements; "-" is absent.
   attributes: "axis=1 scale=0.5 perm=1,0 mode='reflect'"; a number with a point is real.
   expected: as operands, or "! words of the error". */
typedef struct row {
    const char *op;
    int version;
    const char *attributes, *operands, *expected;
    const char *domain;
} row;

/* ---- reading rows */

static const struct {
    const char *name;
    int type;
} types[] = {{"f32", 1},  {"u8", 2},   {"i8", 3},       {"u16", 4},      {"i16", 5},
             {"i32", 6},  {"i64", 7},  {"bool", 9},     {"f16", 10},     {"f64", 11},
             {"u32", 12}, {"u64", 13}, {"bf16", 16},    {"f8_e4m3", 17}, {"f8_e5m2", 19},
             {"u4", 21},  {"i4", 22},  {"f4_e2m1", 23}, {"e8m0", 24}};

static int type_of(kn_dtype dtype)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, kn_dtype_name(dtype))) return types[i].type;
    return 0;
}

/* One tensor; KN_NONE for "-". *text moves behind it and the ';'. */
static kn_tensor read_tensor(const char **text)
{
    char name[16] = "";
    kn_shape shape = {0, {0}};
    double values[MOST];
    int n = 0;
    while (**text == ' ') (*text)++;
    for (size_t i = 0; i + 1 < sizeof name && (isalnum((unsigned char)**text) || **text == '_'); i++)
        name[i] = *(*text)++;
    if (**text == '[')
        for (++*text; **text && **text != ']';) {
            shape.dims[shape.rank++] = strtoll(*text, (char **)(uintptr_t)text, 10);
            if (**text == ',') ++*text;
        }
    if (**text == ']') ++*text;
    bool absent = !name[0];
    while (**text && **text != ';' && n < MOST) {
        if (**text == ' ' || (absent && **text == '-'))
            ++*text;
        else
            values[n++] = strtod(*text, (char **)(uintptr_t)text);
    }
    if (**text == ';') ++*text;
    if (absent) return KN_NONE;
    kn_dtype dtype = kn_dtype_by_name(name);
    kn_tensor t = kn_from(values, KN_F64, shape);
    CHECK(dtype != KN_DTYPE_NONE && kn_ok(t) && kn_count(t) == n);
    return kn_keep(kn_cast(t, dtype));
}

/* One number, or a list, which has a comma. */
static void put_numbers(onnx_message *node, const char *name, const char *text)
{
    int64_t list[32];
    int n = 0;
    bool real = strchr(text, '.') != NULL;
    if (real) {
        onnx_attribute_float(node, name, (float)strtod(text, NULL));
        return;
    }
    for (char *at = (char *)(uintptr_t)text; *at && n < 32;) {
        list[n++] = strtoll(at, &at, 10);
        if (*at == ',') at++;
    }
    if (strchr(text, ','))
        onnx_attribute_ints(node, name, list,
                            text[0] == ',' ? 0 : n - (text[strlen(text) - 1] == ',' ? 0 : 0));
    else
        onnx_attribute_int(node, name, list[0]);
}

static void put_attributes(onnx_message *node, const char *text)
{
    while (text && *text) {
        char name[40], value[80];
        size_t n = strcspn(text, "=");
        snprintf(name, sizeof name, "%.*s", (int)n, text);
        text += n + 1;
        bool quoted = *text == '\'';
        if (quoted) text++;
        n = strcspn(text, quoted ? "'" : " ");
        snprintf(value, sizeof value, "%.*s", (int)n, text);
        text += n + quoted;
        while (*text == ' ') text++;
        if (quoted)
            onnx_attribute_text(node, name, value);
        else
            put_numbers(node, name, value);
    }
}

/* ---- running them */

static kn_onnx model_of(const row *r, const kn_tensor *in, int n_in, int n_out)
{
    char inputs[64] = "", outputs[64] = "";
    onnx_message g = {0};
    for (int i = 0; i < n_in; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        strcat(strcat(inputs, i ? " " : ""), in[i].bits ? name : "-");
        if (in[i].bits)
            onnx_graph_input(&g, onnx_value(name, onnx_type(type_of(kn_dtype_of(in[i])), NULL, -1)));
    }
    for (int i = 0; i < n_out; i++) {
        char name[16];
        snprintf(name, sizeof name, "y%d", i);
        strcat(strcat(outputs, i ? " " : ""), name);
        onnx_graph_output(&g, onnx_value(name, (onnx_message){0}));
    }
    onnx_message node = onnx_node(r->op, inputs, outputs), model = {0};
    if (r->domain) onnx_put_text(&node, 7, r->domain);
    put_attributes(&node, r->attributes);
    onnx_graph_node(&g, node);
    onnx_put_int(&model, 1, 8);
    onnx_opset(&model, "", r->version);
    if (r->domain) onnx_opset(&model, r->domain, 1);
    onnx_put(&model, 7, g);
    return onnx_open(model);
}

static bool same_shape(kn_tensor a, kn_tensor b)
{
    bool same = kn_dtype_of(a) == kn_dtype_of(b) && kn_rank(a) == kn_rank(b);
    for (int i = 0; same && i < kn_rank(a); i++) same = kn_size(a, i) == kn_size(b, i);
    return same;
}

static void compare(const row *r, int k, kn_tensor got, kn_tensor want)
{
    double values[MOST];
    kn_dtype dtype = kn_dtype_of(want);
    int n = (int)kn_count(want), before = check_failed;
    double tolerance = dtype == KN_F64 ? 1e-12 : dtype == KN_F32 ? 2e-6 : kn_dtype_is_float(dtype) ? 1e-2 : 0;
    if (!CHECK(kn_ok(got) && same_shape(got, want)))
        printf("it is %s of rank %d\n", kn_dtype_name(kn_dtype_of(got)), kn_rank(got));
    else if (n > 0 && kn_read_as(want, KN_F64, values, sizeof *values * (size_t)n) == KN_OK)
        check_values(got, values, n, tolerance, __FILE__, __LINE__);
    if (check_failed > before)
        printf("in result %d of %s %d (%s) of %s\n", k, r->op, r->version, r->attributes, r->operands);
}

static void run_row(const row *r)
{
    kn_tensor in[OPERANDS], given[OPERANDS], want[OPERANDS], out[OPERANDS];
    int n_in = 0, n_given = 0, n_out = 0;
    kn_scope scope = kn_scope_begin();
    for (const char *at = r->operands; *at && n_in < OPERANDS; n_in++) {
        in[n_in] = read_tensor(&at);
        if (in[n_in].bits) given[n_given++] = in[n_in];
    }
    bool fails = r->expected[0] == '!';
    for (const char *at = r->expected; !fails && *at && n_out < OPERANDS; n_out++)
        want[n_out] = read_tensor(&at);
    kn_onnx model = model_of(r, in, n_in, fails ? 1 : n_out);
    if (model) {
        kn_status s = kn_onnx_run(model, given, n_given, out, fails ? 1 : n_out);
        if (fails)
            CHECK_ERROR(s, r->expected + 2);
        else if (!CHECK(s == KN_OK))
            printf("%s %d: %s\n", r->op, r->version, kn_last_error());
        else
            for (int k = 0; k < n_out; k++) compare(r, k, out[k], want[k]);
    }
    kn_onnx_free(model);
    kn_scope_end(scope, KN_NONE);
}

/* ---- elementwise */

static const row elementwise[] = {
    /* the second operand lies along axes of the first, before version 7 */
    {"Add", 1, "broadcast=1 axis=0", "f32[2,2] 1 2 3 4; f32[2] 10 20", "f32[2,2] 11 12 23 24", NULL},
    {"Add", 6, "broadcast=1", "f32[2,2] 1 2 3 4; f32[2] 10 20", "f32[2,2] 11 22 13 24", NULL},
    {"Mul", 6, "broadcast=1 axis=1", "f32[1,2,2] 1 2 3 4; f32[2] 10 20", "f32[1,2,2] 10 20 60 80", NULL},
    {"Sub", 6, "broadcast=1 axis=-2", "f32[2,2] 1 2 3 4; f32[2] 1 2", "f32[2,2] 0 1 1 2", NULL},
    {"Add", 6, "broadcast=1 axis=2", "f32[1,2,2] 1 2 3 4; f32[2,2] 1 2 3 4",
     "! do not fit from axis 2 of 3 on", NULL},
    {"Equal", 1, "broadcast=1 axis=0", "i32[2,1] 1 2; i32[2] 1 3", "bool[2,1] 1 0", NULL},
    {"Div", 14, "", "i32[4] 7 -7 7 -7; i32[4] 2 2 -2 -2", "i32[4] 3 -3 -3 3", NULL},
    {"Div", 14, "", "u8[2] 250 7; u8[2] 3 2", "u8[2] 83 3", NULL},
    {"Mod", 13, "", "i32[4] 7 -7 7 -7; i32[4] 3 3 -3 -3", "i32[4] 1 2 -2 -1", NULL},
    {"Mod", 13, "fmod=1", "i32[4] 7 -7 7 -7; i32[4] 3 3 -3 -3", "i32[4] 1 -1 1 -1", NULL},
    {"Mod", 13, "fmod=1", "f32[2] 7.5 -7.5; f32[2] 2 2", "f32[2] 1.5 -1.5", NULL},
    {"Pow", 15, "", "i32[3] 2 3 -2; f32[3] 3 2 3", "i32[3] 8 9 -8", NULL},
    {"Sum", 13, "", "f16[1] 2048; f16[1] 1; f16[1] 1", "f16[1] 2050", NULL},
    {"Mean", 13, "", "f16[1] 60000; f16[1] 60000", "f16[1] 60000", NULL},
    {"Pow", 15, "", "f16[2] 2 3; i64[2] 3 2", "f16[2] 8 9", NULL},
    {"Max", 13, "", "u64[2] 1 5; u64 3; u64[2] 0 9", "u64[2] 3 9", NULL},
    {"Min", 8, "", "f32[2] 1 5", "f32[2] 1 5", NULL},
    {"Mean", 13, "", "f32[2] 1 5; f32[1] 3; f32[2] 2 4", "f32[2] 2 4", NULL},
    {"Sum", 8, "", "f32[2] 1 5; f32[2,1] 1 2", "f32[2,2] 2 6 3 7", NULL},
    {"Clip", 6, "min=-1.0 max=2.0", "f32[4] -5 0 1.5 9", "f32[4] -1 0 1.5 2", NULL},
    {"Clip", 6, "max=2.0", "f16[3] -5 0 9", "f16[3] -5 0 2", NULL},
    {"Clip", 12, "", "i8[4] -5 0 3 9; -; i8 2", "i8[4] -5 0 2 2", NULL},
    {"Clip", 13, "", "i64[3] -5 1 9; i64[1] 0; i64[1] 4", "i64[3] 0 1 4", NULL},
    {"Erf", 13, "", "i32[3] -3 0 3", "i32[3] 0 0 0", NULL},
    {"IsInf", 10, "detect_negative=0", "f32[3] inf -inf nan", "bool[3] 1 0 0", NULL},
    {"IsInf", 20, "detect_negative=0 detect_positive=0", "f16[3] inf -inf nan", "bool[3] 0 0 0", NULL},
    {"IsInf", 20, "", "f8_e5m2[3] inf 2 nan", "bool[3] 1 0 0", NULL},
    {"IsNaN", 20, "", "f8_e4m3[2] 1 nan", "bool[2] 0 1", NULL},
    {"BitShift", 11, "direction='LEFT'", "u8[2] 255 1; u8[2] 1 3", "u8[2] 254 8", NULL},
    {"BitShift", 11, "direction='UP'", "u8[2] 255 1; u8[2] 1 3", "! the direction is 'UP'", NULL},
    {"BitwiseNot", 18, "", "i8[2] 0 5", "i8[2] -1 -6", NULL},
    {"BitCast", 26, "to=6", "f32[2] 1 -2", "i32[2] 1065353216 -1073741824", NULL},
    {"BitCast", 26, "to=2", "bool[2] 1 0", "u8[2] 1 0", NULL},
    {"BitCast", 26, "to=7", "f32[2] 1 0", "! do not have the same number of bits", NULL},
    {"Where", 16, "", "bool[2,1] 1 0; bf16[2] 1 2; bf16 5", "bf16[2,2] 1 2 5 5", NULL},
    {"Where", 16, "", "bool[2] 1 0; bool[2] 0 0; bool[2] 1 1", "bool[2] 0 1", NULL},
};

static const row casts[] = {
    {"Cast", 1, "to='FLOAT16'", "f32[2] 1.5 -2", "f16[2] 1.5 -2", NULL},
    {"Cast", 6, "to=9", "f32[3] 0 0.5 nan", "bool[3] 0 1 1", NULL},
    {"Cast", 13, "to=7", "f64[2] -1.9 1.9", "i64[2] -1 1", NULL},
    {"Cast", 13, "to=14", "f64[1] 1", "! there are no tensors of type complex64", NULL},
    {"Cast", 13, "to=99", "f64[1] 1", "! which is no type of elements", NULL},
    {"Cast", 19, "to=17", "f32[4] 1 1000 -inf nan", "f8_e4m3[4] 1 448 -448 nan", NULL},
    {"Cast", 19, "to=17 saturate=0", "f32[3] 1 1000 nan", "f8_e4m3[3] 1 nan nan", NULL},
    {"Cast", 19, "to=19", "f16[2] inf -65504", "f8_e5m2[2] 57344 -57344", NULL},
    {"Cast", 21, "to=22", "f32[3] -8 7.9 9", "i4[3] -8 7 -7", NULL},
    {"Cast", 23, "to=23", "f32[3] 0.6 100 -2.4", "f4_e2m1[3] 0.5 6 -2", NULL},
    {"Cast", 24, "to=24", "f32[4] 1 1.1 -3 inf", "e8m0[4] 1 2 4 nan", NULL},
    {"Cast", 24, "to=24 round_mode='down'", "f32[3] 1 1.9 -3", "e8m0[3] 1 1 2", NULL},
    {"Cast", 24, "to=24 round_mode='nearest'", "f32[4] 1.4 1.5 3.4e38 7",
     "e8m0[4] 1 2 1.7014118346046923e38 8", NULL},
    {"Cast", 24, "to=24 round_mode='off'", "f32[1] 1", "! round_mode is 'off'", NULL},
    {"CastLike", 19, "", "f32[2] 1.5 -2; i8 0", "i8[2] 1 -2", NULL},
};

/* ---- reductions, scans, sorting */

static const row reductions[] = {
    {"ReduceSum", 11, "axes=-1, keepdims=0", "i32[2,2] 1 2 3 4", "i32[2] 3 7", NULL},
    {"ReduceSum", 13, "", "f32[2,2] 1 2 3 4; i64[1] 0", "f32[1,2] 4 6", NULL},
    {"ReduceSum", 13, "noop_with_empty_axes=1", "f32[2] 1 2; i64[0]", "f32[2] 1 2", NULL},
    {"ReduceSum", 13, "", "f32[2] 1 2; i64[2] 0 0", "! axis 0 is named twice", NULL},
    {"ReduceMean", 18, "keepdims=0", "i32[3] -1 -2 -5; i64[1] 0", "i32 -2", NULL},
    {"ReduceL1", 18, "noop_with_empty_axes=1", "f32[2] -1 2", "f32[2] 1 2", NULL},
    {"ReduceL2", 18, "", "i32[2] 3 4", "i32[1] 5", NULL},
    {"ReduceL2", 13, "", "f16[2] 300 400", "f16[1] 500", NULL},
    {"ReduceLogSum", 18, "keepdims=0", "f32[2,0]; i64[1] 1", "f32[2] -inf -inf", NULL},
    {"ReduceLogSumExp", 18, "", "f32[2] 1000 1000", "f32[1] 1000.6931471805599", NULL},
    {"ReduceMax", 20, "keepdims=0", "bool[2,2] 0 1 0 0; i64[1] 1", "bool[2] 1 0", NULL},
    {"ReduceMax", 18, "keepdims=0", "i8[2,0]; i64[1] 1", "i8[2] -128 -128", NULL},
    {"ReduceMin", 18, "", "u64[0,1]; i64[1] 0", "u64[1,1] 18446744073709551615", NULL},
    {"ReduceMin", 18, "", "f32[0]", "f32[1] inf", NULL},
    {"ReduceProd", 11, "axes=0, keepdims=0", "i32[2,2] 1 2 3 4", "i32[2] 3 8", NULL},
    {"ReduceSumSquare", 18, "", "i32[2] 100000 1", "i32[1] 1410065409", NULL},
    {"ArgMax", 12, "axis=1 select_last_index=1", "f32[2,3] 1 3 3 2 2 1", "i64[2,1] 2 1", NULL},
    {"ArgMin", 13, "axis=-1 keepdims=0", "u8[2,3] 1 3 0 2 2 2", "i64[2] 2 0", NULL},
    {"CumSum", 14, "exclusive=1 reverse=1", "i32[3] 1 2 3; i32 0", "i32[3] 5 3 0", NULL},
    {"CumProd", 26, "", "f64[3] 1 2 3; i64 -1", "f64[3] 1 2 6", NULL},
    {"TopK", 1, "k=2", "f32[4] 1 9 3 7", "f32[2] 9 7; i64[2] 1 3", NULL},
    {"TopK", 11, "largest=0 axis=0", "i64[3,1] 5 2 9; i64[1] 2", "i64[2,1] 2 5; i64[2,1] 1 0", NULL},
    {"Hardmax", 11, "", "f32[2,1,3] 1 3 3 2 1 0", "f32[2,1,3] 0 1 0 1 0 0", NULL},
    {"Hardmax", 13, "axis=0", "f32[2,2] 1 3 3 2", "f32[2,2] 0 1 1 0", NULL},
    {"NonZero", 13, "", "bool[2,2] 1 0 1 1", "i64[2,3] 0 1 1 0 0 1", NULL},
    {"NonZero", 13, "", "f32 3", "i64[0,1]", NULL},
};

/* ---- shapes and parts */

static const row shapes[] = {
    {"Shape", 15, "start=-2 end=-1", "f32[2,3,4] 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", "i64[1] 3",
     NULL},
    {"Shape", 15, "start=2 end=1", "f32[1,1,1] 0", "i64[0]", NULL},
    {"Size", 13, "", "f32[2,0]", "i64 0", NULL},
    {"Reshape", 1, "shape=0,-1", "f32[2,1,2] 1 2 3 4", "f32[2,2] 1 2 3 4", NULL},
    {"Reshape", 14, "allowzero=1", "i8[2,2] 1 2 3 4; i64[2] -1 0", "! has no value", NULL},
    {"Reshape", 13, "", "i8[2,2] 1 2 3 4; i64[3] 0 1 -1", "i8[2,1,2] 1 2 3 4", NULL},
    {"Reshape", 14, "allowzero=1", "f32[0,3]; i64[2] 3 0", "f32[3,0]", NULL},
    {"Reshape", 13, "", "f32[2] 1 2; i64[2] -1 -1", "! the shape has -1 twice", NULL},
    {"Reshape", 13, "", "f32[3] 1 2 3; i64[2] 2 -1", "! 3 elements cannot be shared out among 2", NULL},
    {"Flatten", 13, "axis=-1", "f32[1,2,2] 1 2 3 4", "f32[2,2] 1 2 3 4", NULL},
    {"Flatten", 9, "axis=0", "f32 5", "f32[1,1] 5", NULL},
    {"Squeeze", 1, "axes=0,", "f32[1,2,1] 1 2", "f32[2,1] 1 2", NULL},
    {"Squeeze", 13, "", "f32[1,2,1] 1 2", "f32[2] 1 2", NULL},
    {"Squeeze", 13, "", "f32[1,2] 1 2; i64[1] 1", "! axis 1 has 2 elements and not one", NULL},
    {"Unsqueeze", 11, "axes=0,-1", "f32[2] 1 2", "f32[1,2,1] 1 2", NULL},
    {"Unsqueeze", 13, "", "f32[2] 1 2; i64[2] 1 1", "! axis 1 is named twice", NULL},
    {"Transpose", 13, "", "i4[1,2] 1 -8", "i4[2,1] 1 -8", NULL},
    {"Transpose", 13, "perm=1,1", "f32[1,2] 1 2", "! perm names an axis twice", NULL},
    {"Concat", 1, "", "f32[1,1] 1; f32[1,2] 2 3", "f32[1,3] 1 2 3", NULL},
    {"Concat", 13, "axis=-2", "bool[1,1] 1; bool[1,1] 0", "bool[2,1] 1 0", NULL},
    {"Expand", 13, "", "f32[2,1] 1 2; i64[3] 2 1 2", "f32[2,2,2] 1 1 2 2 1 1 2 2", NULL},
    {"Tile", 1, "", "f32[1,2] 1 2; i64 2; i64 1", "f32[1,4] 1 2 1 2", NULL},
    {"Tile", 6, "", "i16[1,2] 1 2; i64[2] 2 2", "i16[2,4] 1 2 1 2 1 2 1 2", NULL},
    {"Slice", 1, "starts=1,-1 ends=9,9 axes=1,0", "f32[2,3] 1 2 3 4 5 6", "f32[1,2] 5 6", NULL},
    {"Slice", 10, "", "f32[3] 1 2 3; i64[1] -1; i64[1] -9223372036854775808; i64[1] 0; i64[1] -1",
     "f32[3] 3 2 1", NULL},
    {"Slice", 13, "", "f32[5] 1 2 3 4 5; i32[1] 9; i32[1] 0; i32[1] 0; i32[1] -2", "f32[2] 5 3", NULL},
    {"Slice", 13, "", "f32[3] 1 2 3; i64[1] 0; i64[1] 1; -; i64[1] 0", "! a step is 0", NULL},
    {"Split", 2, "axis=0 split=1,2", "f32[3] 1 2 3", "f32[1] 1; f32[2] 2 3", NULL},
    {"Split", 13, "", "f32[4] 1 2 3 4", "f32[2] 1 2; f32[2] 3 4", NULL},
    {"Split", 13, "", "f32[3] 1 2 3", "f32[3] 1 2 3", NULL},
    {"Split", 18, "num_outputs=2", "f32[3] 1 2 3", "f32[2] 1 2; f32[1] 3", NULL},
    {"Split", 18, "axis=1", "f32[1,3] 1 2 3; i64[2] 3 0", "f32[1,3] 1 2 3; f32[1,0]", NULL},
    {"Pad", 1, "paddings=1,0 value=7.0", "f32[2] 1 2", "f32[3] 7 1 2", NULL},
    {"Pad", 2, "pads=2,1 mode='reflect'", "f32[3] 1 2 3", "f32[6] 3 2 1 2 3 2", NULL},
    {"Pad", 13, "", "i32[3] 1 2 3; i64[2] -1 2; i32 9", "i32[4] 2 3 9 9", NULL},
    {"Pad", 13, "mode='edge'", "i8[2] 1 2; i64[2] 1 1", "i8[4] 1 1 2 2", NULL},
    {"Pad", 18, "", "f32[1,2] 1 2; i64[2] 1 0; -; i64[1] -1", "f32[1,3] 0 1 2", NULL},
    {"Pad", 19, "mode='wrap'", "f32[2] 1 2; i64[2] 3 4", "f32[9] 2 1 2 1 2 1 2 1 2", NULL},
    {"Pad", 19, "mode='reflect'", "f32[3] 1 2 3; i64[2] 5 0", "f32[8] 2 1 2 3 2 1 2 3", NULL},
    {"Pad", 13, "mode='odd'", "f32[3] 1 2 3; i64[2] 5 0", "! the mode is 'odd'", NULL},
    {"Gather", 13, "axis=1", "f32[2,3] 1 2 3 4 5 6; i32[2] -1 0", "f32[2,2] 3 1 6 4", NULL},
    {"Gather", 1, "", "f32[2] 1 2; i64 1", "f32 2", NULL},
    {"GatherElements", 13, "axis=1", "f32[2,3] 1 2 3 4 5 6; i64[1,2] -1 0", "f32[1,2] 3 1", NULL},
    {"Compress", 11, "", "f32[2,2] 1 2 3 4; bool[3] 0 1 1", "f32[2] 2 3", NULL},
    {"Compress", 11, "axis=1", "f32[2,2] 1 2 3 4; bool[2] 0 1", "f32[2,1] 2 4", NULL},
    {"ReverseSequence", 10, "", "f32[3,2] 1 2 3 4 5 6; i64[2] 3 1", "f32[3,2] 5 2 3 4 1 6", NULL},
};

/* ---- new tensors */

static const row made[] = {
    {"ConstantOfShape", 9, "", "i64[2] 1 2", "f32[1,2] 0 0", NULL},
    {"Range", 11, "", "i32 5; i32 0; i32 -2", "i32[3] 5 3 1", NULL},
    {"Range", 11, "", "f32 0; f32 1; f32 0.3", "f32[4] 0 0.3 0.6 0.9", NULL},
    {"Range", 11, "", "i64 1; i64 1; i64 1", "i64[0]", NULL},
    {"Range", 11, "", "i64 1; i64 5; i64 0", "! the step not 0", NULL},
    {"EyeLike", 9, "k=1 dtype=7", "f32[2,3] 0 0 0 0 0 0", "i64[2,3] 0 1 0 0 0 1", NULL},
    {"OneHot", 11, "", "i64[3] 0 -1 7; i64 2; f32[2] 5 6", "f32[3,2] 6 5 5 6 5 5", NULL},
    {"OneHot", 11, "axis=0", "f32[2] 0 1; f32[1] 2; bool[2] 0 1", "bool[2,2] 1 0 0 1", NULL},
    {"Trilu", 14, "", "f32[2,3] 1 2 3 4 5 6; i64 1", "f32[2,3] 0 2 3 0 0 6", NULL},
    {"Trilu", 14, "upper=0", "bool[2,2] 1 1 1 1", "bool[2,2] 1 0 1 1", NULL},
    {"Bernoulli", 15, "", "f32[2] 0 1", "f32[2] 0 1", NULL},
    {"Multinomial", 7, "sample_size=3 dtype=7", "f32[1,2] -1000 5", "i64[1,3] 1 1 1", NULL},
    {"RandomUniform", 1, "shape=1,2 low=1.0 high=1.0", "", "f32[1,2] 1 1", NULL},
    {"RandomNormalLike", 1, "mean=2.0 scale=0.0 dtype=11", "i32[2] 0 0", "f64[2] 2 2", NULL},
};

/* ---- products and transforms */

static const row products[] = {
    {"MatMul", 13, "", "i32[2] 1 2; i32[2] 3 4", "i32 11", NULL},
    {"MatMul", 13, "", "f32[2,1,2] 1 2 3 4; f32[2,1] 1 10", "f32[2,1,1] 21 43", NULL},
    {"Gemm", 6, "broadcast=1 transB=1", "f32[1,2] 1 2; f32[2,2] 1 0 0 1; f32[2] 5 6", "f32[1,2] 6 8", NULL},
    {"Gemm", 13, "transA=1 alpha=2.0 beta=0.5", "f32[2,1] 1 2; f32[2,1] 3 4; f32 8", "f32[1,1] 26", NULL},
    {"Gemm", 13, "", "i64[1,2] 1 2; i64[2,1] 3 4", "i64[1,1] 11", NULL},
    {"Einsum", 12, "equation='ij,jk'", "f32[1,2] 1 2; f32[2,1] 3 4", "f32[1,1] 11", NULL},
    {"Einsum", 12, "equation='ba'", "f32[1,2] 1 2", "f32[2,1] 1 2", NULL},
    {"Einsum", 12, "equation='...ii->...i'", "f32[1,2,2] 1 2 3 4", "f32[1,2] 1 4", NULL},
    {"Einsum", 12, "equation='iii->'", "i32[2,2,2] 1 0 0 0 0 0 0 5", "i32 6", NULL},
    {"Einsum", 12, "equation='bi,bj,b->ij'", "f64[2,1] 1 2; f64[2,2] 1 2 3 4; f64[2] 10 1", "f64[1,2] 16 28",
     NULL},
    {"Einsum", 12, "equation='ij->ik'", "f32[1,2] 1 2", "! a label in the result that no operand has", NULL},
    {"Einsum", 12, "equation='ij,j->i'", "f32[1,2] 1 2", "! as many terms", NULL},
    {"Einsum", 12, "equation='i$->i'", "f32[1] 1", "! an unexpected '$'", NULL},
    {"Det", 11, "", "f32[2,2] 1 2 3 4", "f32 -2", NULL},
    {"Inverse", 17, "", "f32[2,2] 2 0 0 4", "f32[2,2] 0.5 0 0 0.25", "com.microsoft"},
    {"FusedMatMul", 17, "transBatchA=1 alpha=2.0", "f32[2,1,2] 1 2 3 4; f32[1,2,1] 1 10", "f32[1,2,1] 42 86",
     "com.microsoft"},
    {"DFT", 17, "", "f32[1,2,1] 1 2", "f32[1,2,2] 3 0 -1 0", NULL},
    {"DFT", 20, "onesided=1", "f32[1,4,1] 1 2 3 4; -; i64 1", "f32[1,3,2] 10 0 -2 2 -2 0", NULL},
    {"DFT", 20, "onesided=1 inverse=1", "f32[1,3,2] 10 0 -2 2 -2 0", "f32[1,4,1] 1 2 3 4", NULL},
    {"DFT", 20, "inverse=1", "f64[1,2,2] 3 0 -1 0; i64 2", "f64[1,2,2] 1 0 2 0", NULL},
    {"STFT", 17, "", "f32[1,4,1] 1 2 3 4; i64 2; f32[2] 1 1", "f32[1,2,2,2] 3 0 -1 0 7 0 -1 0", NULL},
    {"HannWindow", 17, "periodic=0 output_datatype=11", "i64 3", "f64[3] 0 1 0", NULL},
    {"BlackmanWindow", 17, "", "i32 2", "f32[2] 0 1", NULL},
};

static const char training[] = "ai.onnx.preview.training";
static const row updates[] = {
    {"Momentum", 17, "alpha=0.5 beta=1.0 mode='standard' norm_coefficient=0.0",
     "f32 0.1; i64 1; f32[1] 1; f32[1] 2; f32[1] 4", "f32[1] 0.6; f32[1] 4", training},
    {"Momentum", 17, "alpha=0.5 beta=9.0 mode='nesterov' norm_coefficient=0.0",
     "f64 0.5; i64 0; f64[1] 1; f64[1] 2; f64[1] 4", "f64[1] -1; f64[1] 4", training},
    {"Adagrad", 17, "decay_factor=1.0 epsilon=0.0 norm_coefficient=0.0",
     "f32 1; i64 1; f32[1] 1; f32[1] 3; f32[1] 16", "f32[1] 0.7; f32[1] 25", training},
    {"Adam", 17, "alpha=0.5 beta=0.75 epsilon=0.0 norm_coefficient_post=0.5",
     "f32 1; i64 0; f32[1] 3; f32[1] 4; f32[1] 0; f32[1] 0", "f32[1] 1; f32[1] 2; f32[1] 4", training},
};

static void run_rows(const row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) run_row(&rows[i]);
}
#define RUN(rows) run_rows(rows, sizeof rows / sizeof *rows)

/* ---- strings */

static kn_onnx_value run_strings(const char *op, const char *attributes, const kn_onnx_value *in, int n_in,
                                 int out_type)
{
    onnx_message g = {0}, node = onnx_node(op, n_in > 2 ? "x0 x1 x2" : n_in > 1 ? "x0 x1" : "x0", "y");
    for (int i = 0; i < n_in; i++) {
        const char *names[] = {"x0", "x1", "x2"};
        bool texts = kn_onnx_value_kind(in[i]) == KN_ONNX_STRINGS;
        int type = texts ? STRING : type_of(kn_dtype_of(kn_onnx_value_as_tensor(in[i])));
        onnx_graph_input(&g, onnx_value(names[i], onnx_type(type, NULL, -1)));
    }
    put_attributes(&node, attributes);
    onnx_graph_node(&g, node);
    onnx_graph_output(&g, onnx_value("y", onnx_type(out_type, NULL, -1)));
    kn_onnx model = onnx_open(onnx_model(g));
    kn_onnx_value y = NULL;
    if (model) (void)!kn_onnx_run_values(model, in, n_in, &y, 1);
    kn_onnx_free(model);
    return y;
}

static void check_strings(kn_onnx_value y, int n, const char *const *want)
{
    CHECK(y && kn_onnx_value_kind(y) == KN_ONNX_STRINGS && kn_onnx_value_count(y) == n);
    for (int i = 0; y && i < n; i++) {
        const char *text = "";
        CHECK(kn_onnx_value_string(y, i, &text, NULL) == KN_OK);
        if (!CHECK(!strcmp(text, want[i]))) printf("string %d is '%s', not '%s'\n", i, text, want[i]);
    }
    kn_onnx_value_free(y);
}

#define TEXTS(...)                                                                                           \
    (const char *const[]) { __VA_ARGS__ }

static void test_strings(void)
{
    kn_onnx_value x = kn_onnx_value_strings(TEXTS("a", "b", "c", "d"), NULL, KN_SHAPE(2, 2));
    kn_onnx_value z = kn_onnx_value_strings(TEXTS("b", "z"), NULL, KN_SHAPE(2));
    kn_onnx_value index = kn_onnx_value_tensor(kn_from((int64_t[]){-1, 0}, KN_I64, KN_SHAPE(2)));
    kn_onnx_value truths = kn_onnx_value_tensor(kn_from((uint8_t[]){1, 0}, KN_BOOL, KN_SHAPE(2, 1)));
    check_strings(run_strings("Transpose", "", &x, 1, STRING), 4, TEXTS("a", "c", "b", "d"));
    check_strings(run_strings("Gather", "axis=1", (kn_onnx_value[]){x, index}, 2, STRING), 4,
                  TEXTS("b", "a", "d", "c"));
    check_strings(run_strings("Where", "", (kn_onnx_value[]){truths, x, z}, 3, STRING), 4,
                  TEXTS("a", "b", "b", "z"));
    kn_onnx_value same = run_strings("Equal", "", (kn_onnx_value[]){x, z}, 2, BOOLEAN);
    CHECK_VALUES(kn_onnx_value_as_tensor(same), 0, 0, 0, 0, 0);
    kn_onnx_value_free(same);
    kn_onnx_value_free(x);
    kn_onnx_value_free(z);
    kn_onnx_value_free(index);
    kn_onnx_value_free(truths);
}

static void check_text_of(kn_tensor t, int n, const char *const *want)
{
    kn_onnx_value x = kn_onnx_value_tensor(t);
    check_strings(run_strings("Cast", "to=8", &x, 1, STRING), n, want);
    kn_onnx_value_free(x);
}

static void test_numbers_as_texts(void)
{
    const double inf = __builtin_inf();
    check_text_of(kn_from((double[]){0.1, 1e16, -2.5e-7, 1e-4, -0.0, 123456.75, -inf, __builtin_nan("")},
                          KN_F64, KN_SHAPE(8)),
                  8, TEXTS("0.1", "1e+16", "-2.5e-07", "0.0001", "-0.0", "123456.75", "-inf", "nan"));
    check_text_of(kn_from((float[]){0.1F, 16777216, 3.4028235e38F, 1.17549435e-38F}, KN_F32, KN_SHAPE(4)), 4,
                  TEXTS("0.1", "16777216.0", "3.4028235e+38", "1.1754944e-38"));
    check_text_of(kn_cast(kn_from((float[]){0.1F, 65504}, KN_F32, KN_SHAPE(2)), KN_F16), 2,
                  TEXTS("0.1", "65500.0"));
    check_text_of(kn_from((uint64_t[]){UINT64_MAX, 7}, KN_U64, KN_SHAPE(2)), 2,
                  TEXTS("18446744073709551615", "7"));
    check_text_of(kn_from((uint8_t[]){1, 0}, KN_BOOL, KN_SHAPE(2)), 2, TEXTS("True", "False"));
}

static void test_texts_as_numbers(void)
{
    kn_onnx_value x =
        kn_onnx_value_strings(TEXTS("1.5", "-INF", "1e-3", " 7 ", ".5", "nan"), NULL, KN_SHAPE(6));
    kn_onnx_value y = run_strings("Cast", "to=1", &x, 1, FLOAT);
    CHECK_VALUES(kn_onnx_value_as_tensor(y), 1e-7, 1.5, -__builtin_inf(), 1e-3, 7, 0.5, __builtin_nan(""));
    kn_onnx_value_free(x);
    kn_onnx_value_free(y);
    x = kn_onnx_value_strings(TEXTS("-9223372036854775808", "2.9"), NULL, KN_SHAPE(2));
    y = run_strings("Cast", "to=7", &x, 1, INT64);
    CHECK_VALUES(kn_onnx_value_as_tensor(y), 0, -0x1p63, 2);
    kn_onnx_value_free(x);
    kn_onnx_value_free(y);
    const char *const wrong[] = {"", "1.2.3", "0x10", "1e", "seven", "--1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        x = kn_onnx_value_strings(&wrong[i], NULL, KN_SHAPE(1));
        CHECK(run_strings("Cast", "to=1", &x, 1, FLOAT) == NULL);
        CHECK(strstr(kn_last_error(), "is no number of type f32") != NULL);
        kn_onnx_value_free(x);
    }
}

int main(int argc, char **argv)
{
    kn_device device = kn_device_open(argc > 1 ? argv[1] : "cpu");
    if (!device) {
        check_skip("the device");
        return check_report();
    }
    kn_device_use(device);
    RUN(elementwise);
    onnx_free_kept();
    RUN(casts);
    RUN(reductions);
    onnx_free_kept();
    RUN(shapes);
    onnx_free_kept();
    RUN(made);
    RUN(products);
    RUN(updates);
    onnx_free_kept();
    kn_scope scope = kn_scope_begin();
    test_strings();
    test_numbers_as_texts();
    test_texts_as_numbers();
    kn_scope_end(scope, KN_NONE);
    kn_shutdown();
    onnx_free_kept();
    return check_report();
}
