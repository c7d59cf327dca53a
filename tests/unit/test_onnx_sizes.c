/* Programs of ONNX models whose sizes stay open: what graphs compute from sizes is an expression over them. */
#include "test_onnx_open_sizes.h"

static const int64_t pairs[2][2] = {{2, 4}, {4, 6}};

static const struct {
    const char *text;
    int version;
    const char *shape;
} rows[] = {
    /* a sum within a product keeps its brackets */
    {"x f32[1,2,-1,-1]; a = i64[8] 0 0 0 0 0 0 1 0; p = Pad(x, a); f = i64[1] -1; y = Reshape(p, f); > y", 13,
     "2 * n2 * n3 + 2 * n3"},
    /* positions from the end that are sizes: x[-n3:] of 64, and of the axis itself */
    {"x f32[1,2,-1,-1]; w = f32[1,64]; s = Shape(x) start=3 end=4; z = i64[1] 0; a = i64[1] 1; e = i64[1] "
     "9999; "
     "n = Neg(s); v = Slice(w, z, s, a); y = Slice(v, n, e, a); > y",
     15, "1, min(64, n3)"},
    {"x f32[1,2,-1,-1]; s = Shape(x) start=3 end=4; n = Neg(s); e = i64[1] 4294967296; a = i64[1] "
     "3; y = Slice(x, "
     "n, e, a); "
     "> y",
     15, "1, 2, n2, n3"},
    /* as much padding as makes a multiple of 4 */
    {"x f32[1,2,-1,-1]; s = Shape(x) start=3 end=4; n = Neg(s); f = i64[1] 4; m = Mod(n, f); z = i64[7] 0 0 "
     "0 0 0 0 0; "
     "p = Concat(z, m) axis=0; q = Pad(x, p); r = i64[5] 0 0 0 -1 4; y = Reshape(q, r); > y",
     15, NULL},
    /* x[:n2 - 3], x[n2 - 3:] and x[n2 - 3::-1] count from the end where n2 is 2 */
    {"x f32[1,2,-1,-1]; h = Shape(x) start=2 end=3; t = i64[1] 3; e = Sub(h, t); z = i64[1] 0; a = i64[1] 2; "
     "v "
     "= Slice(x, z, e, a); s = Shape(v); o = f32[1] 1; w = Expand(o, s); y = ReduceSum(w); > y s",
     15, NULL},
    {"x f32[1,2,-1,-1]; h = Shape(x) start=2 end=3; t = i64[1] 3; b = Sub(h, t); e = i64[1] 9999; a = i64[1] "
     "2; v = Slice(x, b, e, a); s = Shape(v); > s v",
     15, NULL},
    {"x f32[1,2,-1,-1]; h = Shape(x) start=2 end=3; t = i64[1] 5; b = Sub(h, t); e = i64[1] -9999; a = "
     "i64[1] "
     "2; p = i64[1] -1; v = Slice(x, b, e, a, p); s = Shape(v); > s v",
     15, NULL},
    /* whole numbers below 0 as data, as a start, as an index, as a pad that cuts and as a number of trips */
    {"x f32[1,2,-1,-1]; h = Shape(x) start=3 end=4; t = i64[1] 5; d = Sub(h, t); f = Cast(d) to=1; y = "
     "Add(x, "
     "f); > y",
     15, NULL},
    {"x f32[1,2,-1,-1]; h = Shape(x) start=3 end=4; z = i64[0]; n = Reshape(h, z); i = i64[] 1; b = Sub(i, "
     "n); y "
     "= Range(b, n, i); > y",
     15, "2 * n3 - 1"},
    {"x f32[1,2,-1,-1]; h = Shape(x) start=3 end=4; i = Neg(h); y = Gather(x, i) axis=3; > y", 15, NULL},
    {"x f32[1,2,-1,-1]; h = Shape(x) start=3 end=4; t = i64[1] 5; d = Sub(t, h); z = i64[6] 0 0 0 0 0 0; i = "
     "i64[1] 1; p = Concat(z, d, i) axis=0; y = Pad(x, p); s = Shape(y); > y s",
     15, NULL},
    {"x f32[1,2,-1,-1]; h = Shape(x) start=3 end=4; t = i64[1] 5; d = Sub(t, h); e = Sub(h, t); q = Equal(d, "
     "e); y = Concat(d, e) axis=0; > y q",
     15, NULL},
    /* a range of floats up to a size */
    {"x f32[1,2,-1,-1]; s = Shape(x) start=3 end=4; z = i64[0]; n = Reshape(s, z); l = Cast(n) to=1; b = "
     "f32[] 1; "
     "t = f32[] 2; y = Range(b, l, t); > y",
     15, NULL},
};

/* Convolutions without biases, and one weight of two, take in what follows them; each result is a param of its own. */
static void params_have_names(void)
{
    static const char text[] =
        "x f32[1,1,4,4]; w = f32[2,1,3,3] 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9; u = f32[2,2,1,1] 1 2 3 4; "
        "s = f32[1,2,1,1] 2 3; t = f32[1,2,1,1] 3 4; a = Conv(x, w); b = Mul(a, s); c = Conv(b, u); d = "
        "Add(c, t); "
        "e = Conv(x, w); f = Mul(e, t); g = Add(d, f); > g";
    kn_scope scope = kn_scope_begin();
    kn_onnx model = onnx_open(onnx_text_model(text, 13));
    kn_program p = kn_onnx_program(model, NULL);
    kn_tensor x = kn_keep(kn_reshape(kn_arange(0, 16, 1, KN_F32), KN_SHAPE(1, 1, 4, 4))), got, wanted;
    if (!CHECK(p)) printf("  %s\n", kn_last_error());
    CHECK(kn_onnx_run(model, &x, 1, &wanted, 1) == KN_OK);
    bool close = false;
    CHECK(p && kn_program_run(p, &x, 1, &got, 1) == KN_OK &&
          kn_all_close(got, wanted, 1e-5, 1e-5, false, &close) == KN_OK && close);
    kn_program_free(p);
    kn_onnx_free(model);
    kn_scope_end(scope, KN_NONE);
    onnx_free_kept();
}

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        onnx_open_sizes(rows[i].text, rows[i].version, rows[i].shape, pairs);
    params_have_names();
    CHECK(kn_shutdown() == 0);
    return check_report();
}
