/* Passes over ONNX models: each alone on what it is for and on what it must leave, and all of them. A row says which operators are left; what
   the model gives is compared with and without passes. */
#include "onnx/pass/pass.h"
#include "support/onnx_sound.h"
#include "support/onnx_text.h"
#include "test_onnx_models.h"

enum { ALL = KNI_ONNX_PASS_COUNT, MOST_VALUES = 512 };

typedef struct row {
    int pass, version;
    const char *text, *left; /* left: operators in order, after the pass and the removal of what is dead */
} row;

/* ---- one row */

static void operators_of(const kni_onnx_graph *graph, char *text, size_t bytes)
{
    size_t n = 0;
    text[0] = 0;
    for (int32_t i = 0; i < graph->n_nodes && n < bytes; i++)
        n += (size_t)snprintf(text + n, bytes - n, "%s%s", i ? " " : "", graph->nodes[i].op);
}

static void check_left(const row *r, const onnx_message *bytes)
{
    char left[1024];
    kni_onnx_model *model = kni_onnx_model_read_memory(bytes->data, bytes->length, NULL);
    if (!CHECK(model != NULL)) {
        printf("%s: %s\n", r->text, kn_last_error());
        return;
    }
    if (r->pass == ALL) {
        CHECK(kni_onnx_simplify(model, NULL) == KN_OK);
    } else {
        CHECK(kni_onnx_run_pass(model, KNI_ONNX_PASS_CONSTANTS) >= 0);
        CHECK(kni_onnx_run_pass(model, (kni_onnx_pass)r->pass) >= 0);
        while (kni_onnx_run_pass(model, KNI_ONNX_PASS_DEAD) > 0) {}
    }
    const char *fault = onnx_sound_fault(model);
    if (!CHECK(!fault)) printf("%s\n  %s\n", r->text, fault);
    operators_of(model->graph, left, sizeof left);
    if (!CHECK(!strcmp(left, r->left))) printf("%s\n  leaves %s\n", r->text, left);
    kni_onnx_model_free(model);
}

static kn_tensor random_input(const kn_onnx_port *port)
{
    kn_shape shape = {port->rank, {0}};
    for (int i = 0; i < port->rank; i++) shape.dims[i] = port->sizes[i];
    if (port->dtype == KN_BOOL) return kn_keep(kn_random_bernoulli(shape, 0.7, KN_BOOL));
    if (!kn_dtype_is_float(port->dtype)) return kn_keep(kn_random_int(shape, 0, 2, port->dtype));
    return kn_keep(kn_random_uniform(shape, -2, 2, port->dtype));
}

static void check_same(const row *r, kn_tensor a, kn_tensor b)
{
    static double x[MOST_VALUES], y[MOST_VALUES];
    int64_t n = kn_count(a);
    bool same = kn_ok(a) && kn_ok(b) && kn_dtype_of(a) == kn_dtype_of(b) && kn_rank(a) == kn_rank(b) &&
                n <= MOST_VALUES;
    for (int i = 0; same && i < kn_rank(a); i++) same = kn_size(a, i) == kn_size(b, i);
    same = same && kn_read_as(a, KN_F64, x, sizeof *x * (size_t)n) == KN_OK &&
           kn_read_as(b, KN_F64, y, sizeof *y * (size_t)n) == KN_OK;
    double most = 0, tolerance = kn_dtype_of(a) == KN_F16 ? 1e-2 : 2e-5;
    for (int64_t i = 0; same && i < n; i++) {
        double gap = x[i] > y[i] ? x[i] - y[i] : y[i] - x[i], size = y[i] > 1 ? y[i] : y[i] < -1 ? -y[i] : 1;
        if (gap / size > most) most = gap / size;
        if (x[i] != x[i]) most = 1; /* no row gives NaN */
    }
    if (!CHECK(same && most <= tolerance))
        printf("%s\n  results are %g apart; %s\n", r->text, most, kn_last_error());
}

static void check_results(const row *r, onnx_message bytes)
{
    kn_onnx_args plain = {.no_simplify = true};
    kn_onnx a = onnx_open_with(bytes, NULL), b = kn_onnx_load_memory(bytes.data, bytes.length, &plain);
    int32_t n = kn_onnx_inputs(a), m = kn_onnx_outputs(a);
    kn_tensor in[8], first[8], second[8];
    kn_onnx_port port;
    kn_scope scope = kn_scope_begin();
    if (CHECK(a && b && n >= 0 && n <= 8 && m > 0 && m <= 8)) {
        for (int32_t i = 0; i < n; i++)
            in[i] = CHECK(kn_onnx_input(a, i, &port) == KN_OK) && !port.has_default ? random_input(&port)
                                                                                    : KN_NONE;
        if (!CHECK(kn_onnx_run(a, in, n, first, m) == KN_OK)) printf("%s: %s\n", r->text, kn_last_error());
        if (!CHECK(kn_onnx_run(b, in, n, second, m) == KN_OK)) printf("%s: %s\n", r->text, kn_last_error());
        for (int32_t k = 0; k < m; k++) check_same(r, first[k], second[k]);
    }
    kn_scope_end(scope, KN_NONE);
    kn_onnx_free(a);
    kn_onnx_free(b);
}

static void run_rows(const row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        onnx_message bytes = onnx_text_model(rows[i].text, rows[i].version);
        check_left(&rows[i], &bytes);
        check_results(&rows[i], bytes);
        onnx_free_kept();
    }
}
#define RUN(rows) run_rows(rows, sizeof(rows) / sizeof *(rows))

/* ---- rows */

#define CONSTANTS KNI_ONNX_PASS_CONSTANTS, 17
static const row constants[] = {
    {CONSTANTS, "x f32[2]; c = Constant() value_float=2.5; y = Mul(x, c); > y", "Mul"},
    {CONSTANTS, "x f32[2,3]; c = Constant() value_ints=3,2; y = Reshape(x, c); > y", "Reshape"},
    {CONSTANTS, "x f32[2]; c = Constant() value_int=2; y = Relu(x); > y c", "Constant Relu"},
};

#define IDENTITIES KNI_ONNX_PASS_IDENTITIES, 17
static const row identities[] = {
    {IDENTITIES, "x f32[2]; a = Identity(x); b = Identity(a); y = Relu(b); > y", "Relu"},
    {IDENTITIES, "x f32[2]; a = Relu(x); y = Identity(a); > y", "Relu"},
    {IDENTITIES, "x f32[2]; a = Relu(x); y = Identity(a); b = Neg(a); > y b", "Relu Neg"},
    {IDENTITIES, "x f32[2]; y = Identity(x); > y", "Identity"},
    {IDENTITIES, "x f32[2]; a = Relu(x); y = Identity(a); z = Identity(a); > y z", "Relu Identity"},
    {IDENTITIES, "x f32[2]; a = Cast(x) to=1; y = Relu(a); > y", "Relu"},
    {IDENTITIES, "x f32[2]; a = Cast(x) to=7; b = Cast(a) to=7; y = Cast(b) to=1; > y", "Cast Cast"},
    {IDENTITIES, "x f32[2]; a = Dropout(x); y = Relu(a); > y", "Relu"},
    {IDENTITIES, "x f32[2]; a, m = Dropout(x); y = Relu(a); > y m", "Dropout Relu"},
    {IDENTITIES, "x f32[2,3,4]; a = Transpose(x) perm=1,2,0; y = Transpose(a) perm=0,2,1; > y", "Transpose"},
    {IDENTITIES, "x f32[2,3]; a = Transpose(x); y = Transpose(a); > y", "Transpose Transpose"},
    {ALL, 17, "x f32[2,3,4]; a = Transpose(x) perm=1,2,0; b = Transpose(a) perm=2,0,1; y = Relu(b); > y",
     "Relu"},
    {IDENTITIES, "x f32[2,3]; s = i64[1] 6; t = i64[2] 3 -1; a = Reshape(x, s); y = Reshape(a, t); > y",
     "Reshape"},
    {IDENTITIES, "x f32[2,3]; s = i64[2] 3 2; t = i64[2] 0 -1; a = Reshape(x, s); y = Reshape(a, t); > y",
     "Reshape Reshape"},
    {IDENTITIES, "x f32[2,3]; s = i64[1] 1; a = Unsqueeze(x, s); b = Squeeze(a, s); y = Relu(b); > y",
     "Relu"},
    {IDENTITIES,
     "x f32[2,1]; s = i64[1] 1; t = i64[1] 2; a = Unsqueeze(x, s); b = Squeeze(a, t); y = Relu(b); > y",
     "Unsqueeze Squeeze Relu"},
    {IDENTITIES, "x f32[2]; a = Neg(x); b = Neg(a); y = Relu(b); > y", "Relu"},
    {IDENTITIES, "x bool[4]; a = Not(x); b = Not(a); y = Cast(b) to=1; > y", "Cast"},
    {IDENTITIES, "x f32[4]; a = Relu(x); b = Relu(a); y = Neg(b); > y", "Relu Neg"},
    {IDENTITIES, "x f32[4]; one = f32 1; a = Mul(x, one); b = Mul(one, a); c = Div(b, one); y = Neg(c); > y",
     "Neg"},
    {IDENTITIES, "x f32[4]; one = f32[1,1] 1; y = Mul(x, one); > y", "Mul"},
    {IDENTITIES, "x f32[4]; one = f32 1; a = Div(one, x); y = Neg(a); > y", "Div Neg"},
    {IDENTITIES, "x f32[4]; none = i64[2] 0 0; a = Pad(x, none); y = Neg(a); > y", "Neg"},
    {IDENTITIES, "x f32[4]; some = i64[2] 0 1; a = Pad(x, some); y = Neg(a); > y", "Pad Neg"},
    {IDENTITIES, "x f32[4]; a = Concat(x) axis=0; b = Sum(a); y = Neg(b); > y", "Neg"},
};

#define COMMON KNI_ONNX_PASS_COMMON, 17
static const row common[] = {
    {COMMON, "x f32[2]; a = Neg(x); b = Neg(x); c = Exp(a); d = Exp(b); y = Add(c, d); > y", "Neg Exp Add"},
    {COMMON, "x f32[2,2]; a = Softmax(x) axis=0; b = Softmax(x) axis=1; y = Add(a, b); > y",
     "Softmax Softmax Add"},
    {COMMON, "x f32[2,2]; a = Softmax(x) axis=1; b = Softmax(x) axis=1; y = Add(a, b); > y", "Softmax Add"},
    {COMMON, "x i64[2]; c = i64[2] 1 2; d = i64[2] 1 2; a = Mul(x, c); b = Mul(x, d); y = Add(a, b); > y",
     "Mul Add"},
    {COMMON, "x i64[2]; c = i64[2] 1 2; d = i64[2] 1 3; a = Mul(x, c); b = Mul(x, d); y = Add(a, b); > y",
     "Mul Mul Add"},
    /* Weights that are equal today. */
    {COMMON, "x f32[2]; c = f32[2] 1 1; d = f32[2] 1 1; a = Mul(x, c); b = Mul(x, d); y = Add(a, b); > y",
     "Mul Mul Add"},
    {COMMON, "x i64[2]; c = i64[2] 1 2; d! = i64[2] 1 2; a = Mul(x, c); b = Mul(x, d); y = Add(a, b); > y",
     "Mul Mul Add"},
    {COMMON, "x f32[2]; y = Neg(x); z = Neg(x); > y z", "Neg Neg"},
    {COMMON,
     "x f32[2]; s = f32 0; a = RandomUniformLike(x); b = RandomUniformLike(x); c = Add(a, b); d = Mul(c, s); "
     "y = Add(x, d); > y",
     "RandomUniformLike RandomUniformLike Add Mul Add"},
    {COMMON, "x f32[4]; a, b = Split(x); c, d = Split(x); e = Sub(a, d); y = Sub(e, b); > y",
     "Split Sub Sub"},
};

#define AFFINE ALL, 17
#define NORM "s = f32[4] ~; b = f32[4] ~-; m = f32[4] ~-; v = f32[4] ~; "
static const row affine[] = {
    {AFFINE,
     "x f32[1,2,5,5]; w = f32[4,2,3,3] ~-; c = f32[4] ~; " NORM
     "a = Conv(x, w, c); y = BatchNormalization(a, s, b, m, v); > y",
     "Conv"},
    {AFFINE,
     "x f32[1,4,5]; w = f32[4,2,3] ~-; " NORM
     "a = Conv(x, w) group=2; n = BatchNormalization(a, s, b, m, v); y = Relu(n); > y",
     "Conv Relu"},
    {AFFINE,
     "x f32[1,4,4,4]; w = f32[4,2,3,3] ~-; " NORM
     "a = ConvTranspose(x, w) group=2; y = BatchNormalization(a, s, b, m, v); > y",
     "ConvTranspose"},
    {AFFINE,
     "x f32[1,2,5,5]; w = f32[4,2,3,3] ~-; k = f32[4,1,1] ~; t = f32[1,4,1,1] ~-; h = f32 0.5; "
     "a = Conv(x, w); d = Mul(k, a); e = Sub(t, d); f = Div(e, k); g = Sub(f, h); y = Add(g, t); > y",
     "Conv"},
    {AFFINE, "x f32[1,2,5,5]; w = f32[4,2,3,3] ~-; k = f32[3] ~; a = Conv(x, w); y = Mul(a, k); > y",
     "Conv Mul"},
    {AFFINE, "x f32[1,2,5,5]; w = f32[4,2,3,3] ~-; h = f32 0.5; a = Conv(x, w); y = Div(h, a); > y",
     "Conv Div"},
    {AFFINE, "x f32[1,2,5,5]; w = f32[4,2,3,3] ~-; h = f32 0.5; a = Conv(x, w); y = Mul(a, h); > y a",
     "Conv Mul"},
    {AFFINE, "x f32[1,2,5,5]; h f32[4,1,1]; w = f32[4,2,3,3] ~-; a = Conv(x, w); y = Mul(a, h); > y",
     "Conv Mul"},
    {AFFINE,
     "x f32[1,2,5,5]; w = f32[4,2,3,3] ~-; s! = f32[4] ~; b = f32[4] ~-; m = f32[4] ~-; v = f32[4] ~; "
     "a = Conv(x, w); y = BatchNormalization(a, s, b, m, v); > y",
     "Conv BatchNormalization"},
    {AFFINE,
     "x f32[1,2,5,5]; w = f32[4,2,3,3] ~-; " NORM
     "a = Conv(x, w); y, p, q = BatchNormalization(a, s, b, m, v) training_mode=1; > y p q",
     "Conv BatchNormalization"},
};

#define NORMS KNI_ONNX_PASS_NORMS, 13
static const row norms[] = {
    {NORMS,
     "x f32[2,3,4]; e = f32 1e-5; two = f32 2; w = f32[4] ~; b = f32[4] ~-; m = ReduceMean(x) axes=-1,; "
     "d = Sub(x, m); p = Pow(d, two); v = ReduceMean(p) axes=-1,; q = Add(v, e); s = Sqrt(q); n = Div(d, s); "
     "o = Mul(n, w); y = Add(o, b); > y",
     "Norm"},
    {NORMS,
     "x f32[2,3,4]; e = f32 1e-5; m = ReduceMean(x) axes=1,2; d = Sub(x, m); p = Mul(d, d); "
     "v = ReduceMean(p) axes=1,2; q = Add(e, v); s = Sqrt(q); r = Reciprocal(s); y = Mul(r, d); > y",
     "Norm"},
    {NORMS,
     "x f32[2,3,4]; e = f32 1e-5; w = f32[3,1] ~; m = ReduceMean(x) axes=1,; d = Sub(x, m); p = Mul(d, d); "
     "v = ReduceMean(p) axes=1,; q = Add(e, v); s = Sqrt(q); n = Div(d, s); y = Mul(w, n); > y",
     "Norm"},
    {NORMS,
     "x f32[2,3,4]; e = f32 1e-5; m = ReduceMean(x) axes=1,; d = Sub(x, m); p = Mul(d, d); "
     "v = ReduceMean(p) axes=2,; q = Add(e, v); s = Sqrt(q); y = Div(d, s); > y",
     "ReduceMean Sub Norm"},
    {NORMS,
     "x f32[2,3,4]; e = f32 1e-6; two = f32 2; one = f32 1; w = f32[4] ~; p = Pow(x, two); "
     "v = ReduceMean(p) axes=-1,; q = Add(v, e); s = Sqrt(q); r = Div(one, s); n = Mul(x, r); y = Mul(w, n); "
     "> y",
     "Norm"},
    {NORMS,
     "x f32[2,3,4]; e = f32 1e-6; h = f32 -0.5; b = f32[4] ~; p = Mul(x, x); v = ReduceMean(p) axes=-1,; "
     "q = Add(v, e); r = Pow(q, h); n = Mul(x, r); y = Add(n, b); > y",
     "Norm"},
    {NORMS,
     "x f32[2,3]; z f32[2,3]; e = f32 1e-6; p = Mul(z, z); v = ReduceMean(p) axes=-1,; q = Add(v, e); "
     "s = Sqrt(q); y = Div(x, s); > y",
     "Mul ReduceMean Add Sqrt Div"},
    {NORMS,
     "x f32[2,3]; e = f32 1e-6; p = Mul(x, x); v = ReduceMean(p) axes=-1, keepdims=0; q = Add(v, e); "
     "s = Sqrt(q); t = Unsqueeze(s, u); u = i64[1] 1; y = Div(x, t); > y",
     "Mul ReduceMean Add Sqrt Unsqueeze Div"},
    {KNI_ONNX_PASS_NORMS, 18,
     "x f32[2,3,4]; e = f32 1e-6; l = i64[1] -1; p = Mul(x, x); v = ReduceMean(p, l); q = Add(v, e); s = "
     "Sqrt(q); "
     "y = Div(x, s); > y",
     "Norm"},
};

#define ACTIVATIONS KNI_ONNX_PASS_ACTIVATIONS, 17
#define NUMBERS                                                                                              \
    "h = f32 0.5; one = f32 1; r = f32 1.4142135; k = f32 0.7978846; c = f32 0.044715; three = f32 3; "
static const row activations[] = {
    {ACTIVATIONS,
     "x f32[9]; " NUMBERS "a = Div(x, r); b = Erf(a); d = Add(b, one); e = Mul(x, d); y = Mul(e, h); > y",
     "Gelu"},
    {ACTIVATIONS,
     "x f32[9]; " NUMBERS "i = f32 0.70710678; a = Mul(i, x); b = Erf(a); d = Add(one, b); "
     "e = Mul(d, h); y = Mul(e, x); > y",
     "Gelu"},
    {ACTIVATIONS,
     "x f32[9]; " NUMBERS "a = Div(x, r); b = Erf(a); d = Add(b, one); e = Mul(h, x); y = Mul(e, d); > y",
     "Gelu"},
    {ACTIVATIONS,
     "x f32[9]; z f32[9]; " NUMBERS
     "a = Div(z, r); b = Erf(a); d = Add(b, one); e = Mul(x, d); y = Mul(e, h); > y",
     "Div Erf Add Mul Mul"},
    {ACTIVATIONS,
     "x f32[9]; " NUMBERS "a = Div(x, three); b = Erf(a); d = Add(b, one); e = Mul(x, d); "
     "y = Mul(e, h); > y",
     "Div Erf Add Mul Mul"},
    {ACTIVATIONS,
     "x f32[9]; " NUMBERS "a = Div(x, r); b = Erf(a); d = Add(b, one); e = Mul(x, d); y = Mul(e, h); > y e",
     "Div Erf Add Mul Mul"},
    {ACTIVATIONS,
     "x f32[9]; " NUMBERS "p = Pow(x, three); q = Mul(c, p); s = Add(x, q); t = Mul(k, s); u = Tanh(t); "
     "d = Add(one, u); e = Mul(h, x); y = Mul(e, d); > y",
     "FastGelu"},
    {ACTIVATIONS,
     "x f32[9]; " NUMBERS "p = Mul(x, x); o = Mul(p, x); q = Mul(c, o); s = Add(x, q); t = Mul(s, k); "
     "u = Tanh(t); d = Add(u, one); e = Mul(x, d); y = Mul(h, e); > y",
     "FastGelu"},
    {ACTIVATIONS,
     "x f32[9]; " NUMBERS "o = Mul(c, x); p = Mul(o, x); q = Add(p, one); s = Mul(k, x); t = Mul(s, q); "
     "u = Tanh(t); d = Add(u, one); e = Mul(x, d); y = Mul(h, e); > y",
     "FastGelu"},
    {ACTIVATIONS, "x f32[9]; a = Sigmoid(x); y = Mul(a, x); > y", "Swish"},
    {ACTIVATIONS, "x f32[9]; z f32[9]; a = Sigmoid(z); y = Mul(a, x); > y", "Sigmoid Mul"},
    {ACTIVATIONS, "x f32[9]; a = Softplus(x); b = Tanh(a); y = Mul(x, b); > y", "Mish"},
    {ACTIVATIONS, "x f32[9]; a = HardSigmoid(x) alpha=0.16666667 beta=0.5; y = Mul(x, a); > y", "HardSwish"},
    {ACTIVATIONS, "x f32[9]; a = HardSigmoid(x); y = Mul(x, a); > y", "HardSigmoid Mul"},
};

#define QUANTIZED KNI_ONNX_PASS_QUANTIZED, 17
/* Scales are powers of two, so that f32 is exact, too. */
#define BYTES                                                                                                \
    "s = f32 0.0625; z = u8 10; t = f32 0.25; none = u8 0; q = QuantizeLinear(x, s, z); "                    \
    "b = DequantizeLinear(q, s, z); "
#define OF_CHANNELS                                                                                          \
    "v = i8[3,2,1,1] 1 -2 3 127 -128 5; vs = f32[3] 0.5 0.25 1; vz = i8[3] 0 0 0; "                          \
    "w = DequantizeLinear(v, vs, vz) axis=0; "
#define SUMS(scale)                                                                                          \
    "c = i32[3] 4 -5 600; cs = f32[3] " scale "; cz = i32[3] 0 0 0; d = DequantizeLinear(c, cs, cz) "        \
    "axis=0; "
#define OF_COLUMNS                                                                                           \
    "v = i8[4,3] 1 -2 3 127 -128 5 6 7 8 -9 10 11; vs = f32[3] 0.5 0.25 1; vz = i8[3] 0 0 0; "               \
    "w = DequantizeLinear(v, vs, vz) axis=1; "
#define BACK(zero) "f = QuantizeLinear(e, t, " zero "); y = DequantizeLinear(f, t, " zero "); > y"
static const row quantized[] = {
    {QUANTIZED,
     "x f32[1,2,5,5]; " BYTES OF_CHANNELS SUMS("0.03125 0.015625 0.0625") "e = Conv(b, w, d); " BACK("z"),
     "QuantizeLinear QLinearConv DequantizeLinear"},
    {QUANTIZED, "x f32[1,2,5,5]; " BYTES OF_CHANNELS "a = Conv(b, w); e = Relu(a); " BACK("none"),
     "QuantizeLinear QLinearConv DequantizeLinear"},
    {QUANTIZED, "x f32[1,2,5,5]; " BYTES OF_CHANNELS "a = Conv(b, w); e = Relu(a); " BACK("z"),
     "QuantizeLinear DequantizeLinear DequantizeLinear Conv Relu QuantizeLinear DequantizeLinear"},
    {QUANTIZED,
     "x f32[1,2,5,5]; " BYTES OF_CHANNELS
     "l = f32 0; h = f32 80; a = Conv(b, w); e = Clip(a, l, h); " BACK("none"),
     "QuantizeLinear QLinearConv DequantizeLinear"},
    {QUANTIZED,
     "x f32[1,2,5,5]; " BYTES OF_CHANNELS
     "l = f32 0; h = f32 6; a = Conv(b, w); e = Clip(a, l, h); " BACK("none"),
     "QuantizeLinear DequantizeLinear DequantizeLinear Conv Clip QuantizeLinear DequantizeLinear"},
    {QUANTIZED, /* a bias at another scale than the sums */
     "x f32[1,2,5,5]; " BYTES OF_CHANNELS SUMS("0.5 0.5 0.5") "e = Conv(b, w, d); " BACK("z"),
     "QuantizeLinear DequantizeLinear DequantizeLinear DequantizeLinear Conv QuantizeLinear "
     "DequantizeLinear"},
    {QUANTIZED,
     "x f32[1,2,5,5]; " BYTES OF_CHANNELS "e = Conv(b, w); f = QuantizeLinear(e, t, z); "
     "y = DequantizeLinear(f, t, z); > y e",
     "QuantizeLinear DequantizeLinear DequantizeLinear Conv QuantizeLinear DequantizeLinear"},
    {QUANTIZED, /* the scale of a run, not of the model */
     "x f32[1,2,5,5]; t! = f32 0.25; s = f32 0.0625; z = u8 10; q = QuantizeLinear(x, s, z); "
     "b = DequantizeLinear(q, s, z); " OF_CHANNELS "e = Conv(b, w); " BACK("z"),
     "QuantizeLinear DequantizeLinear DequantizeLinear Conv QuantizeLinear DequantizeLinear"},
    {QUANTIZED, "x f32[2,4]; " BYTES OF_COLUMNS "e = MatMul(b, w); " BACK("z"),
     "QuantizeLinear QLinearMatMul DequantizeLinear"},
    {QUANTIZED,
     "x f32[2,3,4]; p f32[2,4,2]; " BYTES "o = QuantizeLinear(p, t, none); "
     "r = DequantizeLinear(o, t, none); e = MatMul(b, r); " BACK("z"),
     "QuantizeLinear QuantizeLinear QLinearMatMul DequantizeLinear"},
    {QUANTIZED,
     "x f32[2,4]; " BYTES OF_COLUMNS SUMS("0.03125 0.015625 0.0625") "e = Gemm(b, w, d); " BACK("z"),
     "QuantizeLinear QGemm DequantizeLinear"},
    {QUANTIZED,
     "x f32[2,2]; " BYTES "v = i8[3,2] 1 -2 3 127 -128 5; vs = f32 0.5; vz = i8 3; "
     "w = DequantizeLinear(v, vs, vz); e = Gemm(b, w) transB=1; " BACK("z"),
     "QuantizeLinear QGemm DequantizeLinear"},
    {QUANTIZED,
     "x f32[1,2,4,4]; " BYTES "e = MaxPool(b) kernel_shape=2,2; f = QuantizeLinear(e, s, z); "
     "y = DequantizeLinear(f, s, z); > y",
     "QuantizeLinear MaxPool DequantizeLinear"},
    {QUANTIZED,
     "x f32[2,3]; " BYTES "e = Transpose(b); f = QuantizeLinear(e, s, z); "
     "y = DequantizeLinear(f, s, z); > y",
     "QuantizeLinear Transpose DequantizeLinear"},
    {QUANTIZED, "x f32[2,3]; " BYTES "e = Transpose(b); " BACK("z"),
     "QuantizeLinear DequantizeLinear Transpose QuantizeLinear DequantizeLinear"},
    {QUANTIZED, "x f32[4]; " BYTES "f = QuantizeLinear(b, s, z); y = DequantizeLinear(f, s, z); > y",
     "QuantizeLinear DequantizeLinear"},
    {QUANTIZED,
     "x f32[2,3]; p f32[3]; " BYTES "o = QuantizeLinear(p, t, none); "
     "r = DequantizeLinear(o, t, none); e = Add(b, r); " BACK("z"),
     "QuantizeLinear QuantizeLinear QLinearAdd DequantizeLinear"},
    {QUANTIZED,
     "x f32[2,1]; p f32[3]; " BYTES "o = QuantizeLinear(p, t, none); "
     "r = DequantizeLinear(o, t, none); e = Mul(b, r); " BACK("none"),
     "QuantizeLinear QuantizeLinear QLinearMul DequantizeLinear"},
    {QUANTIZED, "x f32[9]; " BYTES "e = LeakyRelu(b) alpha=0.25; " BACK("z"),
     "QuantizeLinear QuantizedUnary DequantizeLinear"},
    {QUANTIZED,
     "x f32[2,2]; p f32[2,3]; " BYTES "o = QuantizeLinear(p, t, none); "
     "r = DequantizeLinear(o, t, none); e = Concat(b, r) axis=1; " BACK("none"),
     "QuantizeLinear QuantizeLinear QLinearConcat DequantizeLinear"},
    {QUANTIZED,
     "x f32[2,2]; " BYTES "e = Concat(b, b) axis=1; f = QuantizeLinear(e, s, z); "
     "y = DequantizeLinear(f, s, z); > y",
     "QuantizeLinear Concat DequantizeLinear"},
    {QUANTIZED, "x f32[2,4]; " OF_COLUMNS "k = f32[3] 1 2 3; m = MatMul(x, w); y = Add(m, k); > y",
     "QuantizedLinear Add"},
    {QUANTIZED, "x f32[2,4]; " OF_COLUMNS "k = f32[3] 1 2 3; y = Gemm(x, w, k); > y", "QuantizedLinear"},
    {QUANTIZED,
     "x f32[9,2]; v = u8[3,2] 1 2 3 127 255 5; vs = f32 0.5; vz = u8 100; "
     "w = DequantizeLinear(v, vs, vz); y = Gemm(x, w) transB=1; > y",
     "QuantizedLinear"},
    {QUANTIZED,
     "x f32[2,2]; v = u8[3,2] 1 2 3 127 255 5; vs = f32 0.5; u = Transpose(v); "
     "w = DequantizeLinear(u, vs, vz); vz = u8 100; y = MatMul(x, w); > y",
     "QuantizedLinear"},
    {QUANTIZED, "x f32[2,4]; " BYTES OF_COLUMNS "y = MatMul(b, w); > y",
     "QuantizeLinear MatMulIntegerToFloat"},
    {QUANTIZED,
     "x f32[2,4]; v = i8[4,3] 1 -2 3 127 -128 5 6 7 8 -9 10 11; vs = f32 0.5; k = f32[3] 1 2 3; "
     "q, s, z = DynamicQuantizeLinear(x); m = MatMulInteger(q, v, z); c = Cast(m) to=1; "
     "r = Mul(s, vs); e = Mul(c, r); y = Add(k, e); > y",
     "DynamicQuantizeLinear Mul IntegerProduct"},
    {QUANTIZED,
     "x f32[2,4]; v = i8[4,3] 1 -2 3 127 -128 5 6 7 8 -9 10 11; vs = f32 0.5; "
     "q, s, z = DynamicQuantizeLinear(x); m = MatMulInteger(q, v, z); c = Cast(m) to=1; "
     "r = Mul(s, vs); y = Mul(c, r); > y c",
     "DynamicQuantizeLinear MatMulInteger Cast Mul Mul"},
    {QUANTIZED,
     "x f32[2,5]; v = u8[2,2,2] 33 67 105 240 5 129 200 18; vs = f32[2,2] 0.5 0.25 1 2; "
     "y = MatMulNBits@com.microsoft(x, v, vs) K=5 N=2 bits=4 block_size=4; > y",
     "QuantizedLinear"},
    {QUANTIZED,
     "x f32[9,5]; v = u8[2,2,2] 33 67 105 240 5 129 200 18; vs = f32[4] 0.5 0.25 1 2; "
     "vz = u8[2] 33 122; y = MatMulNBits@com.microsoft(x, v, vs, vz) K=5 N=2 bits=4 block_size=4; > y",
     "QuantizedLinear"},
    {QUANTIZED,
     "x f32[2,5]; v u8[2,2,2]; vs = f32[2,2] 0.5 0.25 1 2; "
     "y = MatMulNBits@com.microsoft(x, v, vs) K=5 N=2 bits=4 block_size=4; > y",
     "MatMulNBits"},
};

#define ROPE KNI_ONNX_PASS_ROPE, 17
#define CUTS "zero = i64[1] 0; half = i64[1] 2; end = i64[1] 2147483647; last = i64[1] -1; "
#define TURN                                                                                                 \
    "f = Slice(x, zero, half, last); g = Slice(x, half, end, last); n = Neg(g); t = Concat(n, f) axis=-1; "
static const row rope[] = {
    {ROPE,
     "x f32[1,2,3,4]; cosine = f32[3,4] 1 2 1 2 3 4 3 4 5 6 5 6; sine = f32[1,1,3,4] 6 5 6 5 4 3 4 3 2 1 2 "
     "1; " CUTS TURN "a = Mul(x, cosine); b = Mul(t, sine); y = Add(a, b); > y",
     "Rope"},
    {ROPE,
     "x f32[1,2,3,4]; cosine = f32[3,4] ~; sine = f32[3,4] ~-; " CUTS TURN
     "a = Mul(cosine, x); b = Mul(sine, t); y = Add(b, a); > y",
     "Rope"},
    {ROPE,
     "x f32[1,2,3,4]; p f32[2,1,3,2]; " CUTS "q = Concat(p, p) axis=-1; cosine = Cos(q); sine = Sin(q); " TURN
     "a = Mul(x, cosine); b = Mul(t, sine); y = Add(a, b); > y",
     "Concat Cos Sin Rope"},
    {ROPE,
     "x f32[2,6]; cosine = f32[2,6] ~; sine = f32[2,6] ~-; f, g = Split(x) axis=-1; n = Neg(g); "
     "t = Concat(n, f) axis=-1; a = Mul(x, cosine); b = Mul(t, sine); y = Add(a, b); > y",
     "Rope"},
    {ROPE,
     "x f32[4,3]; cosine = f32[4,3] ~; sine = f32[4,3] ~-; first = i64[1] 0; " CUTS
     "f = Slice(x, zero, half, first); g = Slice(x, half, end, first); n = Neg(g); t = Concat(n, f) axis=0; "
     "a = Mul(x, cosine); b = Mul(t, sine); y = Add(a, b); > y",
     "Rope"},
    {ROPE,
     "x f32[3,4]; z f32[3,4]; cosine = f32[3,4] ~; sine = f32[3,4] ~-; " CUTS TURN
     "a = Mul(z, cosine); b = Mul(t, sine); y = Add(a, b); > y",
     "Slice Slice Neg Concat Mul Mul Add"},
    {ROPE,
     "x f32[3,4]; cosine = f32[3,4] ~; sine = f32[3,4] ~-; " CUTS
     "f = Slice(x, zero, half, last); g = Slice(x, half, end, last); n = Neg(f); t = Concat(n, g) axis=-1; "
     "a = Mul(x, cosine); b = Mul(t, sine); y = Add(a, b); > y",
     "Slice Slice Neg Concat Mul Mul Add"},
};

#define ATTENTION KNI_ONNX_PASS_ATTENTION, 17
#define QKV "q f32[2,4,3,5]; k f32[2,4,6,5]; v f32[2,4,6,7]; "
#define TURNED "u = Transpose(k) perm=0,1,3,2; "
static const row attention[] = {
    {ATTENTION, QKV TURNED "s = MatMul(q, u); p = Softmax(s); y = MatMul(p, v); > y", "Attention"},
    {ATTENTION,
     QKV TURNED "c = f32 0.3; d = f32[1] 2; m f32[2,1,3,6]; s = MatMul(q, u); e = Mul(s, c); f = Div(e, d); "
                "g = Add(m, f); p = Softmax(g) axis=-1; y = MatMul(p, v); > y",
     "Attention"},
    {ATTENTION,
     QKV "c = f32 0.7; a = Mul(q, c); b = Mul(c, k); u = Transpose(b) perm=0,1,3,2; s = MatMul(a, u); "
         "p = Softmax(s); y = MatMul(p, v); > y",
     "Attention"},
    {ATTENTION,
     QKV TURNED
     "keep bool[2,1,3,6]; zero = f32 0; low = f32 -inf; m = Where(keep, zero, low); s = MatMul(q, u); "
     "g = Add(s, m); p = Softmax(g); n = IsNaN(p); h = Where(n, zero, p); y = MatMul(h, v); > y",
     "Attention"},
    {ATTENTION,
     QKV TURNED
     "keep bool[3,6]; low = f32 -10000; s = MatMul(q, u); g = Where(keep, s, low); p = Softmax(g); "
     "y = MatMul(p, v); > y",
     "Attention"},
    {ATTENTION,
     QKV TURNED
     "hide bool[3,6]; low = f32 -3.4e38; s = MatMul(q, u); g = Where(hide, low, s); p = Softmax(g); "
     "y = MatMul(p, v); > y",
     "Attention"},
    {ATTENTION,
     "q f32[4,3,5]; k f32[4,6,5]; v f32[4,6,2]; m f32[4,3,6]; u = Transpose(k) perm=0,2,1; s = MatMul(q, u); "
     "g = Add(s, m); p = Softmax(g) axis=2; y = MatMul(p, v); > y",
     "Attention"},
    {ATTENTION, "q f32[3,5]; u f32[5,6]; v f32[6,2]; s = MatMul(q, u); p = Softmax(s); y = MatMul(p, v); > y",
     "Attention"},
    {ATTENTION,
     "q f32[2,4,3,5]; a f32[2,2,6,5]; b f32[2,2,6,7]; two = i64[1] 2; w = i64[5] 2 2 2 6 5; z = i64[5] 2 2 2 "
     "6 7; "
     "r = i64[4] 2 4 6 5; t = i64[4] 2 4 6 7; c = Unsqueeze(a, two); d = Expand(c, w); k = Reshape(d, r); "
     "e = Unsqueeze(b, two); f = Expand(e, z); v = Reshape(f, t); " TURNED
     "s = MatMul(q, u); p = Softmax(s); y = MatMul(p, v); > y",
     "Attention"},
    {ATTENTION,
     "q f32[1,4,3,5]; k f32[2,4,6,5]; v f32[2,4,6,7]; " TURNED /* the batch of q repeats */
     "s = MatMul(q, u); p = Softmax(s); y = MatMul(p, v); > y",
     "Attention"},
    {ATTENTION, QKV TURNED "s = MatMul(q, u); p = Softmax(s) axis=2; y = MatMul(p, v); > y",
     "Transpose MatMul Softmax MatMul"},
    {ATTENTION, QKV TURNED "s = MatMul(q, u); p = Softmax(s); y = MatMul(p, v); > y p",
     "Transpose MatMul Softmax MatMul"},
    {ATTENTION,
     QKV TURNED "c = f32[6] ~; s = MatMul(q, u); e = Mul(s, c); p = Softmax(e); y = MatMul(p, v); > y",
     "Transpose MatMul Mul Softmax MatMul"},
    {KNI_ONNX_PASS_ATTENTION, 11,
     "q f32[2,3,5]; u f32[2,5,6]; v f32[2,6,2]; s = MatMul(q, u); p = Softmax(s) axis=1; y = MatMul(p, v); > "
     "y",
     "MatMul Softmax MatMul"},
};

#define DEAD KNI_ONNX_PASS_DEAD, 17
static const row dead[] = {
    {DEAD, "x f32[2]; a = Neg(x); b = Exp(a); y = Relu(x); > y", "Relu"},
    {DEAD, "x f32[1,1,4]; y, i = MaxPool(x) kernel_shape=2,; > y", "MaxPool"},
    {DEAD, "x f32[4]; a, b = Split(x); y = Neg(b); > y", "Split Neg"},
    {KNI_ONNX_PASS_DEAD, 9, "x f32[2,4,3]; " NORM "y, p, q, r, t = BatchNormalization(x, s, b, m, v); > y",
     "BatchNormalization"},
    {ALL, 17, "x f32[2]; a = Neg(x); b = Identity(a); c = Exp(b); y = Relu(x); > y", "Relu"},
};

/* ---- what rows cannot say */

/* Nobody reads the second result any more, and says so. */
static void test_left_out(void)
{
    onnx_message bytes = onnx_text_model(dead[1].text, 17);
    kni_onnx_model *model = kni_onnx_model_read_memory(bytes.data, bytes.length, NULL);
    if (CHECK(model && kni_onnx_run_pass(model, KNI_ONNX_PASS_DEAD) > 0))
        CHECK(model->graph->nodes[0].out[1] == -1);
    kni_onnx_model_free(model);
    kni_buffer_free(&bytes);
}

/* The number of one branch: an identity of a value outside, computed twice. */
static onnx_message branch(const char *op)
{
    onnx_message g = {0};
    onnx_graph_node(&g, onnx_node("Identity", "a", "b"));
    onnx_graph_node(&g, onnx_node(op, "b", "c"));
    onnx_graph_node(&g, onnx_node(op, "b", "d"));
    onnx_graph_node(&g, onnx_node("Add", "c d", "z"));
    onnx_graph_output(&g, onnx_value("z", (onnx_message){0}));
    return g;
}

static void test_inner_graphs(void)
{
    onnx_message g = {0}, choice = onnx_node("If", "which", "y");
    onnx_attribute_graph(&choice, "then_branch", branch("Neg"));
    onnx_attribute_graph(&choice, "else_branch", branch("Exp"));
    onnx_graph_node(&g, onnx_node("Identity", "x", "a"));
    onnx_graph_node(&g, choice);
    onnx_graph_input(&g, onnx_bool_value("which"));
    onnx_graph_input(&g, onnx_float_value("x", ONNX_SIZES(2)));
    onnx_graph_output(&g, onnx_float_value("y", ONNX_SIZES(2)));
    onnx_message bytes = onnx_model(g);
    kni_onnx_model *model = kni_onnx_model_read_memory(bytes.data, bytes.length, NULL);
    if (CHECK(model && kni_onnx_simplify(model, NULL) == KN_OK)) {
        const kni_onnx_node *node = &model->graph->nodes[0];
        CHECK(model->graph->n_nodes == 1 && node->n_attributes == 2);
        for (int i = 0; i < 2; i++) CHECK(node->attributes[i].graphs[0]->n_nodes == 2);
    }
    kni_onnx_model_free(model);
    kn_onnx session = onnx_open(bytes);
    for (int which = 0; which < 2; which++) {
        kn_tensor in[] = {kn_scalar_int(which, KN_BOOL), kn_from((float[]){0, 1}, KN_F32, KN_SHAPE(2))};
        kn_tensor y = onnx_give(session, in, 2);
        if (which)
            CHECK_VALUES(y, 0, 0, -2);
        else
            CHECK_VALUES(y, 1e-6, 2, 2 * 2.718281828459045);
    }
    kn_onnx_free(session);
}

/* A constant that a run replaces is not folded into anything. */
static void test_settable(void)
{
    kn_onnx model = onnx_open(onnx_text_model(
        "x f32[1,1,1]; w = f32[1,1,1] 2; s! = f32 3; a = Conv(x, w); y = Mul(a, s); > y", 17));
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(1, 1, 1), KN_F32));
    CHECK_VALUES(onnx_give(model, &x, 1), 0, 6);
    CHECK_VALUES(onnx_give(model, (kn_tensor[]){x, kn_scalar(5, KN_F32)}, 2), 0, 10);
    kn_onnx_free(model);
}

int main(int argc, char **argv)
{
    kn_device device = kn_device_open(argc > 1 ? argv[1] : "cpu");
    if (!device) {
        check_skip("the device");
        return check_report();
    }
    kn_device_use(device);
    kn_seed(device, 7);
    RUN(constants);
    RUN(identities);
    RUN(common);
    RUN(affine);
    RUN(norms);
    RUN(activations);
    RUN(quantized);
    RUN(rope);
    RUN(attention);
    RUN(dead);
    test_left_out();
    test_inner_graphs();
    test_settable();
    onnx_free_kept();
    return check_report();
}
