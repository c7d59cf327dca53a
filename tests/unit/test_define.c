/* Ops that are given as bodies: what follows from a body, against ops that exist and against differences. */
#include "ops/body.h"
#include "ops/body_derive.h"
#include "support/check.h"
#include <kn/custom_op.h>
#include <math.h>
#include <string.h>

enum { MAX_VALUES = 256 };

static kn_op_handle define(const char *name, const kn_body_args *args)
{
    kn_op_handle h = kn_op_define(name, args);
    if (!CHECK(h != NULL)) printf("%s: %s\n", name, kn_last_error());
    return h;
}

static kn_tensor run(kn_op_handle h, const kn_tensor *in)
{
    kn_tensor y = KN_NONE;
    if (!CHECK(kn_custom_call(h, in, &y) == KN_OK)) printf("%s\n", kn_last_error());
    return kn_keep(y);
}

static int64_t count_of(kn_tensor x)
{
    kn_shape s = kn_shape_of_tensor(x);
    int64_t n = 1;
    for (int i = 0; i < s.rank; i++) n *= s.dims[i];
    return n;
}

static bool read_values(kn_tensor x, double *values)
{
    int64_t n = count_of(x);
    return n <= MAX_VALUES && kn_read(kn_cast(x, KN_F64), values, sizeof(double) * (size_t)n) == KN_OK;
}

static double worst(kn_tensor a, kn_tensor b)
{
    double x[MAX_VALUES], y[MAX_VALUES], most = 0;
    a = kn_keep(a), b = kn_keep(b);
    if (!CHECK(count_of(a) == count_of(b)) || !CHECK(read_values(a, x)) || !CHECK(read_values(b, y)))
        return 1e9;
    for (int64_t i = 0; i < count_of(a); i++) {
        double d = fabs(x[i] - y[i]) / (1 + fabs(y[i]));
        if (!(d <= most)) most = d;
    }
    return most;
}

/* Values that no slope in the tests is singular at. */
static kn_tensor values(int seed, kn_shape shape)
{
    double v[MAX_VALUES];
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    for (int64_t i = 0; i < n; i++) v[i] = sin(seed * 1.7 + (double)i * 2.3) * 0.9 + 0.03;
    return kn_keep(kn_from(v, KN_F64, shape));
}

static double weighted(kn_op_handle h, const kn_tensor *in)
{
    kn_tensor y = run(h, in);
    double v[MAX_VALUES], total = 0;
    if (!CHECK(read_values(y, v))) return 0;
    for (int64_t i = 0; i < count_of(y); i++) total += v[i] * cos((double)i + 0.5);
    return total;
}

static kn_tensor weights_of(kn_tensor y)
{
    double v[MAX_VALUES];
    for (int64_t i = 0; i < count_of(y); i++) v[i] = cos((double)i + 0.5);
    return kn_keep(kn_from(v, KN_F64, kn_shape_of_tensor(y)));
}

/* The derived or written gradients of all operands against differences, on autodiff(`leaf`). */
static void gradients(const char *name, kn_op_handle h, kn_tensor *in, int n)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x[8], g[8];
    for (int i = 0; i < n; i++) x[i] = kn_require_grad(in[i]);
    kn_tensor y = run(h, x), dy = weights_of(y);
    if (!CHECK(kn_grad(&y, &dy, 1, x, n, 0, g) == KN_OK)) printf("%s: %s\n", name, kn_last_error());
    for (int i = 0; i < n; i++) {
        double v[MAX_VALUES], got[MAX_VALUES];
        if (!CHECK(read_values(in[i], v)) || !CHECK(read_values(g[i], got))) continue;
        for (int64_t k = 0; k < count_of(in[i]); k++) {
            double at = v[k], e = 1e-6, high, low;
            kn_tensor moved[8];
            memcpy(moved, in, sizeof *in * (size_t)n);
            v[k] = at + e;
            moved[i] = kn_keep(kn_from(v, KN_F64, kn_shape_of_tensor(in[i])));
            high = weighted(h, moved);
            v[k] = at - e;
            moved[i] = kn_keep(kn_from(v, KN_F64, kn_shape_of_tensor(in[i])));
            low = weighted(h, moved);
            v[k] = at;
            double want = (high - low) / (2 * e);
            if (!CHECK(fabs(got[k] - want) <= 1e-6 * (1 + fabs(want))))
                printf("%s: operand %d, element %d: %g, not %g\n", name, i, (int)k, got[k], want);
        }
    }
    kn_scope_end(s, KN_NONE);
}

static void elementwise(void)
{
    kn_op_handle swish =
        define("t_swish", &(kn_body_args){.scalars = {{"beta", 2}}, .body = "y = x * sigmoid(beta * x)"});
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_keep(kn_from((float[]){-1, 0, 2}, KN_F32, KN_SHAPE(3))), y = run(swish, &x), z;
    CHECK_VALUES(y, 1e-6, -0.1192029, 0, 1.9640275);
    CHECK(kn_call("t_swish", &x, 1, (kn_attribute_value[]){{"beta", 0, 1, {0}}, {0}}, &z, 1) == KN_OK);
    CHECK_VALUES(z, 1e-6, -0.26894143, 0, 1.7615942);
    kn_tensor whole = kn_keep(kn_from((int32_t[]){-1, 0, 2}, KN_I32, KN_SHAPE(3)));
    y = run(swish, &whole);
    CHECK(kn_dtype_of(y) == KN_F32);
    CHECK_VALUES(y, 1e-6, -0.1192029, 0, 1.9640275);
    kn_op_handle mix = define(
        "t_mix", &(kn_body_args){.in = "a b c", .body = "m = max(a, b);\n y = m > c ? m * c : a - b\t/ 2"});
    kn_tensor in[3] = {kn_keep(kn_from((float[]){1, 2}, KN_F32, KN_SHAPE(2, 1))),
                       kn_keep(kn_from((float[]){3, 0, 5}, KN_F32, KN_SHAPE(3))),
                       kn_keep(kn_from((float[]){2}, KN_F32, KN_SHAPE(1)))};
    CHECK_VALUES(run(mix, in), 0, 6, 1, 10, 6, 2, 10);
    kn_op_handle bits =
        define("t_bits", &(kn_body_args){.in = "a b", .takes = KN_BODY_INTEGERS, .body = "y = a & ~b"});
    kn_tensor ints[2] = {whole, whole};
    CHECK_VALUES(run(bits, ints), 0, 0, 0, 0);
    kn_op_handle near = define(
        "t_near", &(kn_body_args){.in = "a b", .takes = KN_BODY_TRUTHS, .body = "y = abs(a - b) < 0.5"});
    kn_tensor pair[2] = {x, kn_keep(kn_from((float[]){-1.2f, 3, 2}, KN_F32, KN_SHAPE(3)))};
    y = run(near, pair);
    CHECK(kn_dtype_of(y) == KN_BOOL);
    CHECK_VALUES(y, 0, 1, 0, 1);
    kn_scope_end(s, KN_NONE);
}

static void along_lines(void)
{
    kn_op_handle soft = define(
        "t_softmax",
        &(kn_body_args){.line = KN_BODY_AXIS, .axis = -1, .body = "e = expn(x - top(x)); y = e / sum(e)"});
    kn_op_handle norm =
        define("t_norm", &(kn_body_args){.in = "x weight@place?1 bias@place?0",
                                         .line = KN_BODY_LAST_AXES,
                                         .scalars = {{"eps", 1e-5}},
                                         .body = "d = x - mean(x); s = 1 / sqrt(mean(d * d) + eps);"
                                                 "y = d * s * weight + bias"});
    kn_op_handle two =
        define("t_two", &(kn_body_args){.out = "y high@line total@place",
                                        .line = KN_BODY_AXIS,
                                        .axis = 1,
                                        .body = "high = highest(x); y = x - high; total = down(x * n)"});
    kn_scope s = kn_scope_begin();
    kn_tensor x = values(1, KN_SHAPE(2, 3, 5)), w = values(2, KN_SHAPE(5)), b = values(3, KN_SHAPE(5));
    CHECK(worst(run(soft, &x), kn_softmax(x, -1)) < 1e-12);
    kn_tensor y, all[3], in[3] = {x, w, b};
    CHECK(kn_call("t_softmax", &x, 1, (kn_attribute_value[]){{"axis", 1, 0, {0}}, {0}}, &y, 1) == KN_OK);
    CHECK(worst(y, kn_softmax(x, 1)) < 1e-12);
    CHECK(worst(run(norm, in), kn_layer_norm(x, w, b, 1, 1e-5)) < 1e-12);
    in[1] = in[2] = KN_NONE;
    CHECK(worst(run(norm, in), kn_layer_norm(x, KN_NONE, KN_NONE, 1, 1e-5)) < 1e-12);
    CHECK(kn_custom_call(two, &x, all) == KN_OK);
    CHECK(worst(all[0], kn_sub(x, kn_max(x, KN_AXES(1), true))) < 1e-12);
    CHECK(worst(all[1], kn_max(x, KN_AXES(1), true)) < 1e-12);
    CHECK(worst(all[2], kn_mul_scalar(kn_sum(x, KN_AXES(0, 2), false), 3)) < 1e-12);
    CHECK(kn_rank(all[1]) == 3 && kn_rank(all[2]) == 2);
    kn_scope_end(s, KN_NONE);
}

/* Places along a line. */
static void indices(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_keep(kn_from((float[]){3, 9, 1, 4, 5, 2}, KN_F32, KN_SHAPE(2, 3)));
    kn_op_handle h =
        define("t_first_two", &(kn_body_args){.line = KN_BODY_AXIS, .axis = -1, .body = "y = k < 2 ? x : 0"});
    CHECK_VALUES(run(h, &x), 0, 3, 9, 0, 4, 5, 0);
    h = define("t_from_last", &(kn_body_args){.line = KN_BODY_LAST_AXES,
                                              .axis = 2,
                                              .body = "y = n - 1 - k >= 2 ? x - at(x, n - 1) : -1"});
    CHECK_VALUES(run(h, &x), 0, 1, 7, -1, 2, -1, -1);
    h = define("t_at_highest", &(kn_body_args){.out = "y@line",
                                               .line = KN_BODY_AXIS,
                                               .axis = 0,
                                               .body = "y = at(x * 2, argmax(x)) + at(x, argmin(x) / 2)"});
    CHECK_VALUES(run(h, &x), 0, 11, 27, 5);
    h = define(
        "t_ramp",
        &(kn_body_args){.line = KN_BODY_AXIS, .axis = -1, .body = "y = x * real(k) / n + real(argmax(x))"});
    CHECK_VALUES(run(h, &x), 1e-6, 1, 4, 1 + 2 / 3.0, 1, 1 + 5 / 3.0, 1 + 4 / 3.0);
    kn_scope_end(s, KN_NONE);
}

/* ---- gradients */

/* Zeros in a product: nothing flows where two are, and only to the one where one is. */
static void product_with_zeros(void)
{
    kn_scope s = kn_scope_begin();
    kn_op_handle h = define(
        "t_prod", &(kn_body_args){.out = "y@line", .line = KN_BODY_AXIS, .axis = 1, .body = "y = prod(x)"});
    kn_tensor x = kn_require_grad(kn_from((double[]){2, 3, 4, 0, 3, 4, 0, 3, 0}, KN_F64, KN_SHAPE(3, 3))), g;
    kn_tensor y = run(h, &x), dy = kn_keep(kn_ones_like(y));
    CHECK(kn_grad(&y, &dy, 1, &x, 1, 0, &g) == KN_OK);
    CHECK_VALUES(g, 0, 12, 8, 6, 12, 0, 0, 0, 0, 0);
    kn_scope_end(s, KN_NONE);
}

/* Every word's slope against differences: a word that is added without one fails here. */
static void word_gradients(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor in[2] = {values(1, KN_SHAPE(5)), values(2, KN_SHAPE(5))};
    for (int i = 0; i < kni_word_count(); i++) {
        const kni_word *w = kni_word_at(i);
        char name[64], body[128];
        if (!strcmp(w->name, "stop"))
            continue; /* the value flows and the gradient does not: see stopped_gradients */
        if (!strcmp(w->name, "cos_turn"))
            continue; /* no defined op can write it: it is for what makes values of scalars */
        const char *form = w->arity == 2 ? "y = %s(a + 2, b + 1.5)" : "y = %s(a * 0.7 + 0.02)";
        /* Of these the first operand has none, which asking for it says. */
        bool one_sided = !strncmp(w->name, "igamma", 6) || !strcmp(w->name, "zeta");
        if (!CHECK((kni_body_slope(i, 0) || one_sided) && (w->arity == 1 || kni_body_slope(i, 1))))
            printf("no slope: %s\n", w->name);
        if (w->truth || !w->floats) continue;
        if (!strncmp(w->name, "log", 3) || strstr(w->name, "sqrt") || strstr(w->name, "gamma") ||
            strstr(w->name, "bessel"))
            form = "y = %s(a + 1.5)";
        if (!strcmp(w->name, "acosh")) form = "y = %s(a + 2.5)";
        if (!strcmp(w->name, "polygamma")) form = "y = %s(1, a + 1.5) * b";
        if (!strcmp(w->name, "normal_quantile")) form = "y = %s(a * 0.2 + 0.5)";
        if (one_sided) form = "y = %s(2.5, a + 1.5) * b";
        snprintf(name, sizeof name, "t_word_%s", w->name);
        snprintf(body, sizeof body, form, w->name);
        static const char *const signs[][2] = {{"add(", "+"}, {"sub(", "-"}, {"mul(", "*"}, {"div(", "/"}};
        for (int k = 0; k < 4; k++)
            if (strstr(body, signs[k][0]) == body + 4)
                snprintf(body, sizeof body, "y = (a + 2) %s (b + 1.5)", signs[k][1]);
        if (!strcmp(w->name, "neg")) snprintf(body, sizeof body, "y = -a");
        kn_op_handle h = define(
            name, &(kn_body_args){.in = "a b", .body = strchr(body, 'b') ? body : strcat(body, " + 0 * b")});
        if (h) gradients(w->name, h, in, 2);
    }
    kn_scope_end(s, KN_NONE);
}

/* stop(v) is v, and no gradient flows through it: elementwise, of integers, and along lines. */
static void stopped_gradients(int turn)
{
    char names[3][32];
    const char *forms[3] = {"t_straight_%d", "t_half_%d", "t_centred_%d"};
    for (int i = 0; i < 3; i++) snprintf(names[i], sizeof names[i], forms[i], turn);
    kn_op_handle straight = define(names[0], &(kn_body_args){.body = "y = x + stop(round(x) - x)"});
    kn_op_handle half = define(names[1], &(kn_body_args){.body = "y = x * stop(x) + stop(3)"});
    kn_op_handle centred =
        define(names[2], &(kn_body_args){.line = KN_BODY_AXIS, .body = "y = x * stop(mean(x))"});
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_require_grad(kn_from((double[]){-1.25, 0.75, 2.5}, KN_F64, KN_SHAPE(3))), g;
    kn_tensor y = run(straight, &x), dy = kn_keep(kn_from((double[]){1, 2, 3}, KN_F64, KN_SHAPE(3)));
    CHECK_VALUES(y, 1e-12, -1, 1, 2);
    CHECK(kn_grad(&y, &dy, 1, &x, 1, 0, &g) == KN_OK);
    CHECK_VALUES(g, 0, 1, 2, 3);
    y = run(half, &x);
    CHECK_VALUES(y, 1e-12, 4.5625, 3.5625, 9.25);
    CHECK(kn_grad(&y, &dy, 1, &x, 1, 0, &g) == KN_OK);
    CHECK_VALUES(g, 0, -1.25, 1.5, 7.5);
    y = run(centred, &x);
    CHECK_VALUES(y, 1e-12, -1.25 * 2 / 3, 0.75 * 2 / 3, 2.5 * 2 / 3);
    CHECK(kn_grad(&y, &dy, 1, &x, 1, 0, &g) == KN_OK);
    CHECK_VALUES(g, 1e-12, 2.0 / 3, 4.0 / 3, 2);
    kn_scope_end(s, KN_NONE);
}

static void line_gradients(int turn)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x = values(1, KN_SHAPE(2, 3, 4));
    static const struct {
        const char *in, *out, *body;
        int line, axis;
    } cases[] = {
        {"x", "y", "e = expn(x - top(x)); y = e / sum(e)", KN_BODY_AXIS, -1},
        {"x", "y", "e = expn(x - top(x)); y = e / sum(e)", KN_BODY_AXIS, 1},
        {"x", "y", "y = x - top(x) - log(sum(exp(x - top(x))))", KN_BODY_LAST_AXES, 2},
        {"x w@place l@line a@all v", "y",
         "d = x - mean(x); y = d * w / sqrt(mean(d * d) + 0.1) + l * a + v * x", KN_BODY_LAST_AXES, 1},
        {"x w@place l@line a@all", "y@line", "y = sum(x * w) * l * a + highest(x) - lowest(x) * a",
         KN_BODY_LAST_AXES, 1},
        {"x w@place l@line", "y@place", "y = down(x * l + w * x * x) * w", KN_BODY_LAST_AXES, 1},
        {"x m@place", "y", "y = x * m - mean(x * m) * n", KN_BODY_AXIS, 1},
        {"x w@place?1 b@place?0", "y", "s = 1 / sqrt(mean(x * x) + 0.01); y = x * s * w + b",
         KN_BODY_LAST_AXES, 1},
        {"x w@place", "y", "y = prod(x + w) * x", KN_BODY_LAST_AXES, 1},
        {"x", "y@line", "y = prod(x)", KN_BODY_LAST_AXES, 2},
        {"x", "y", "y = x * at(x, argmax(x)) - at(x, argmin(x))", KN_BODY_LAST_AXES, 2},
        {"x w@place", "y", "y = k == 1 ? x * w : x * at(w, n - 1) - at(x, 0)", KN_BODY_LAST_AXES, 1},
        {"x", "y", "y = x - at(x * x, rem(argmax(x) + 1, n)) * real(argmax(x) + k)", KN_BODY_AXIS, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[32];
        snprintf(name, sizeof name, "t_line_%d_%d", turn, (int)i);
        kn_op_handle h = define(name, &(kn_body_args){.in = cases[i].in,
                                                      .out = cases[i].out,
                                                      .body = cases[i].body,
                                                      .line = (kn_body_line)cases[i].line,
                                                      .axis = cases[i].axis});
        kn_tensor in[5] = {x};
        int n = 1;
        for (const char *at = strchr(cases[i].in, ' '); at; at = strchr(at + 1, ' '), n++) {
            const char *level = at + 2;
            in[n] = values(n + 1, !strncmp(level, "@line", 5)     ? KN_SHAPE(2, 3, 1)
                                  : !strncmp(level, "@all", 4)    ? KN_SHAPE(1)
                                  : strncmp(level, "@place", 6)   ? KN_SHAPE(1, 3, 4)
                                  : cases[i].line == KN_BODY_AXIS ? KN_SHAPE(3, 1)
                                                                  : KN_SHAPE(4));
        }
        if (h) gradients(name, h, in, n);
    }
    kn_scope_end(s, KN_NONE);
}

/* The gradient of a gradient, by differences of the first one. */
static void second_gradient(const char *name)
{
    kn_scope s = kn_scope_begin();
    kn_op_handle h = define(
        name,
        &(kn_body_args){.line = KN_BODY_AXIS, .axis = -1, .body = "e = expn(x - top(x)); y = e / sum(e)"});
    double v[4] = {0.3, -0.2, 0.5, 0.1}, got[4], g1[4], g2[4];
    kn_tensor x = kn_require_grad(kn_keep(kn_from(v, KN_F64, KN_SHAPE(4)))), g, gg,
              dy = values(7, KN_SHAPE(4));
    kn_tensor y = run(h, &x), w = values(8, KN_SHAPE(4));
    CHECK(kn_grad(&y, &dy, 1, &x, 1, KN_GRAD_CREATE_GRAPH, &g) == KN_OK);
    if (!CHECK(kn_grad(&g, &w, 1, &x, 1, 0, &gg) == KN_OK)) printf("%s\n", kn_last_error());
    CHECK(read_values(gg, got));
    for (int k = 0; k < 4; k++) {
        double e = 1e-6, at = v[k], want = 0, weight[4];
        CHECK(read_values(w, weight));
        for (int side = 0; side < 2; side++) {
            v[k] = side ? at - e : at + e;
            kn_tensor z = kn_require_grad(kn_keep(kn_from(v, KN_F64, KN_SHAPE(4)))), dz, out = run(h, &z);
            CHECK(kn_grad(&out, &dy, 1, &z, 1, 0, &dz) == KN_OK);
            CHECK(read_values(dz, side ? g2 : g1));
        }
        v[k] = at;
        for (int i = 0; i < 4; i++) want += weight[i] * (g1[i] - g2[i]) / (2 * e);
        CHECK(fabs(want - got[k]) < 1e-6);
    }
    kn_scope_end(s, KN_NONE);
}

static void written_gradient(void)
{
    kn_scope s = kn_scope_begin();
    kn_op_handle h =
        define("t_written",
               &(kn_body_args){.in = "x w@place",
                               .line = KN_BODY_LAST_AXES,
                               .body = "y = w * (x - mean(x))",
                               .gradient = "g = dy * w; dx = g - mean(g); dw = down(dy * (x - mean(x)))"});
    kn_tensor in[2] = {values(1, KN_SHAPE(3, 4)), values(2, KN_SHAPE(4))};
    gradients("t_written", h, in, 2);
    /* It may name the result. */
    h = define("t_named", &(kn_body_args){.body = "y = exp(sin(x))", .gradient = "dx = dy * y * cos(x);"});
    gradients("t_named", h, in, 1);
    /* What is written is what runs. */
    h = define("t_wrong", &(kn_body_args){.body = "y = x * x", .gradient = "dx = dy * 7"});
    kn_tensor x = kn_require_grad(in[1]), y = run(h, &x), g, dy = kn_keep(kn_ones_like(y));
    CHECK(kn_grad(&y, &dy, 1, &x, 1, 0, &g) == KN_OK);
    CHECK_VALUES(g, 0, 7, 7, 7, 7);
    kn_scope_end(s, KN_NONE);
}

/* ---- words */

/* docs/defining-ops.md lists the words, each between back quotes. */
static void words_are_documented(void)
{
    static char text[1 << 16];
    FILE *f = fopen("docs/defining-ops.md", "rb");
    if (!CHECK(f != NULL)) return;
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    int n = kni_word_count();
    for (int i = 0; i < n + KNI_LINE_WORDS; i++) {
        static const char *const signs[] = {"add", "sub", "mul", "div", "neg", "and",
                                            "or",  "xor", "not", "shl", "shr", "lt",
                                            "le",  "gt",  "ge",  "eq",  "ne",  "cos_turn"};
        const char *name = i < n ? kni_word_at(i)->name : kni_line_word_name(i - n);
        char alone[40], called[40];
        bool is_sign = false;
        for (int k = 0; k < (int)(sizeof signs / sizeof *signs); k++) is_sign |= !strcmp(name, signs[k]);
        snprintf(alone, sizeof alone, "`%s`", name);
        snprintf(called, sizeof called, "`%s(", name);
        if (!CHECK(is_sign || strstr(text, alone) || strstr(text, called)))
            printf("docs/defining-ops.md does not list the word '%s'\n", name);
    }
}

/* ---- mistakes */

static void refused(const char *name, kn_body_args args, const char *text)
{
    CHECK(!kn_op_define(name, &args));
    if (!CHECK(strstr(kn_last_error(), text))) printf("%s\nnot: %s\n", kn_last_error(), text);
}

/* Of lists, of gradients, and words that do not exist. */
static void more_mistakes(void)
{
    char longer[4000] = "a0 = x";
    refused("t_m", (kn_body_args){.in = "x w@plaice", .line = KN_BODY_AXIS, .body = "y = x * w"},
            "t_m: .in, line 1, column 5: the list of operands is malformed: behind '@'");
    refused("t_m", (kn_body_args){.in = "x,w", .body = "y = x * w"}, ".in, line 1, column 2");
    refused("t_m", (kn_body_args){.out = "", .body = "y = x"}, ".out, line 1, column 1");
    refused("t_m", (kn_body_args){.body = "y = relu(x)"}, "there is no word 'relu': write max(x, 0)");
    refused("t_m", (kn_body_args){.body = "y = sigmoyd(x)"}, "is 'sigmoid' meant?");
    refused("t_m", (kn_body_args){.body = "y = frobnicate(x)"}, "docs/defining-ops.md lists them");
    refused("t_m", (kn_body_args){.body = "y = x", .takes = KN_BODY_INTEGERS, .gradient = "garbage ]["},
            "no gradient: leave .gradient away");
    refused("t_m", (kn_body_args){.body = "y = x > 0", .takes = KN_BODY_TRUTHS, .gradient = "dx = dy"},
            "no gradient: leave .gradient away");
    refused("t_m", (kn_body_args){.body = "y = x", .gradient = "dx = dy & 3"},
            "gradient, line 1, column 9: no meaning for floats");
    refused("t_m", (kn_body_args){.in = "x dy", .body = "y = x * dy", .gradient = "dx = dy; ddy = dy * x"},
            "'dy' is also what the gradient calls");
    refused("t_m", (kn_body_args){.in = "x dx", .body = "y = x * dx", .gradient = "dx = dy; ddx = dy * x"},
            "'dx' is also what the gradient calls");
    refused("t_m", (kn_body_args){.in = "a b", .body = "y = a * b", .gradient = "da = dy * b"},
            "expected ';' and the result 'db', and the text ends");
    for (int i = 1; i < 17; i++) snprintf(longer + strlen(longer), 40, "; a%d = sin(a%d)", i, i - 1);
    strcat(longer, "; y = a16");
    refused("t_m", (kn_body_args){.body = longer}, "more than 16 values have names");
    /* What is called at each place: fmod of floats, the remainder of C of integers. */
    kn_scope s = kn_scope_begin();
    kn_op_handle h =
        define("t_rest", &(kn_body_args){.in = "a b", .takes = KN_BODY_NUMBERS, .body = "y = a % b + 1;"});
    kn_tensor in[2] = {kn_keep(kn_from((int32_t[]){7, -7, 5}, KN_I32, KN_SHAPE(3))),
                       kn_keep(kn_from((int32_t[]){3, 3, 0}, KN_I32, KN_SHAPE(3)))};
    CHECK_VALUES(run(h, in), 0, 2, 0, 1);
    in[0] = kn_keep(kn_from((float[]){7.5f, -7.5f}, KN_F32, KN_SHAPE(2)));
    in[1] = kn_keep(kn_from((float[]){2, 2}, KN_F32, KN_SHAPE(2)));
    CHECK_VALUES(run(h, in), 0, 2.5, -0.5);
    kn_scope_end(s, KN_NONE);
}

static void mistakes(void)
{
    words_are_documented();
    more_mistakes();
    refused("t_m", (kn_body_args){.body = "y = foo(x)"},
            "t_m: body, line 1, column 5: there is no word 'foo'");
    refused("t_m", (kn_body_args){.body = "a = x + 1;\n  y = a * z"}, "line 2, column 11: 'z' is no operand");
    refused("t_m", (kn_body_args){.body = "y = x +"}, "line 1, column 8: a value is missing at the end");
    refused("t_m", (kn_body_args){.body = "y = sum(x)"}, "'sum' works along lines");
    refused("t_m", (kn_body_args){.in = "x w@place", .body = "y = x * w"},
            "'w' has a level or may be absent");
    refused("t_m",
            (kn_body_args){.in = "x w@place", .line = KN_BODY_AXIS, .out = "y@line", .body = "y = x * w"},
            "it differs along what the result has one element for");
    refused("t_m", (kn_body_args){.in = "x w@place", .line = KN_BODY_AXIS, .body = "y = x * sum(sum(w))"},
            "is the same all along a line");
    refused("t_m", (kn_body_args){.in = "x w@corner", .line = KN_BODY_AXIS, .body = "y = x * w"},
            "malformed");
    refused("t_m", (kn_body_args){.takes = KN_BODY_NUMBERS, .body = "y = x * 0.5"}, "column 9: a fraction");
    refused("t_m", (kn_body_args){.takes = KN_BODY_NUMBERS, .body = "y = 0.5 * x"}, "column 5: a fraction");
    refused("t_m", (kn_body_args){.takes = KN_BODY_NUMBERS, .body = "y = 9007199254740992 + x"},
            "column 5: a number from 2^53 on loses digits");
    refused("t_m", (kn_body_args){.takes = KN_BODY_NUMBERS, .body = "y = exp(x)"}, "no meaning for integers");
    refused("t_m", (kn_body_args){.body = "y = x & 1"}, "no meaning for floats");
    refused("t_m", (kn_body_args){.takes = KN_BODY_TRUTHS, .body = "y = x"}, "the result must be a truth");
    refused("t_m", (kn_body_args){.in = "x x", .body = "y = x"}, "'x' is the name of two");
    refused("t_m", (kn_body_args){.scalars = {{"x", 1}}, .body = "y = x"}, "'x' is a scalar and an operand");
    refused("t_m", (kn_body_args){.scalars = {{"a b", 1}}, .body = "y = x"}, "cannot be called 'a b'");
    refused("t_m", (kn_body_args){.in = "a b c d e f g h", .body = "y = a + b + c + d + e + f + g + h"},
            "more than 7");
    refused("t_m", (kn_body_args){.out = "y z", .body = "y = x; z = x"}, "one result");
    refused("t_m", (kn_body_args){.line = KN_BODY_AXIS, .takes = KN_BODY_NUMBERS, .body = "y = x"},
            "takes floats");
    refused("t_m", (kn_body_args){.body = "y = x", .gradient = "dx = dy * z"},
            "gradient, line 1, column 11: 'z'");
    refused("t_m",
            (kn_body_args){
                .line = KN_BODY_AXIS, .out = "y", .body = "t = argmax(x); y = at(x, require(t < 2, t))"},
            "'require' is for built-in ops alone");
    refused("t_m", (kn_body_args){.in = "x k@line:index", .line = KN_BODY_AXIS, .body = "y = at(x, k)"},
            "'k' must be a value");
    refused("t_m", (kn_body_args){.line = KN_BODY_AXIS, .body = "y = x * sum(x, x)"},
            "'sum' takes 1, and 2 are given");
    refused("t_m", (kn_body_args){.body = NULL}, "a .body is needed");
    refused("softmax", (kn_body_args){.body = "y = x"}, "built-in");
    refused("t_swish", (kn_body_args){.body = "y = x"}, "taken");
    refused("", (kn_body_args){.body = "y = x"}, "a name of 1 to 47 characters");
    refused(NULL, (kn_body_args){.body = "y = x"}, "a name of 1 to 47 characters");
    CHECK(!kn_op_define("t_m", NULL) && strstr(kn_last_error(), ".body"));
    static char text[9000];
    memset(text, ' ', sizeof text - 1);
    refused("t_m", (kn_body_args){.body = text}, "too long");
    memcpy(text, "y = x", 5);
    for (int i = 0; i < 300; i++) memcpy(text + 5 + 4 * i, " + x", 4);
    text[1205] = 0;
    refused("t_m", (kn_body_args){.body = text}, "the body has more than");
}

/* Every allocation fails once: nothing is registered, and the next try works. */
static void without_memory(void)
{
    kn_body_args args = {.in = "x w@place",
                         .line = KN_BODY_LAST_AXES,
                         .body = "y = w * (x - mean(x))",
                         .gradient = "g = dy * w; dx = g - mean(g); dw = down(dy * (x - mean(x)))"};
    kn_op_handle h = NULL;
    int failures = 0;
    for (int n = 1; n < 20 && !h; n++) {
        kn_memory_fail_after(n);
        h = kn_op_define("t_memory", &args);
        kn_memory_fail_after(0);
        if (!h) failures++, CHECK(strstr(kn_last_error(), "no memory"));
    }
    CHECK(h && failures >= 3);
    args.gradient = NULL;
    h = define("t_memory2", &args);
    kn_status status = KN_ERROR_MEMORY;
    for (int n = 1; n < 200 && status != KN_OK; n++) {
        kn_scope s = kn_scope_begin();
        kn_tensor in[2] = {kn_require_grad(values(1, KN_SHAPE(3, 4))),
                           kn_require_grad(values(2, KN_SHAPE(4)))};
        kn_tensor y, g[2], dy = values(3, KN_SHAPE(3, 4));
        kn_memory_fail_after(n);
        status = kn_custom_call(h, in, &y);
        if (status == KN_OK) status = kn_grad(&y, &dy, 1, in, 2, 0, g);
        double sum[12];
        if (status == KN_OK) status = kn_read(g[0], sum, sizeof sum);
        kn_memory_fail_after(0);
        if (!CHECK(status == KN_OK || status == KN_ERROR_MEMORY)) printf("%d: %s\n", n, kn_last_error());
        kn_scope_end(s, KN_NONE);
    }
    CHECK(status == KN_OK);
}

int main(void)
{
    elementwise();
    along_lines();
    indices();
    mistakes();
    kn_device_use(kn_device_open("autodiff(cpu)"));
    word_gradients();
    stopped_gradients(1);
    line_gradients(1);
    second_gradient("t_twice");
    written_gradient();
    product_with_zeros();
    without_memory();
    kn_device_use(kn_device_open("autodiff(ref)"));
    stopped_gradients(2);
    line_gradients(2);
    second_gradient("t_twice_ref");
    kn_device_use(kn_device_open("autodiff(fusion(cpu))"));
    stopped_gradients(3);
    line_gradients(3);
    second_gradient("t_twice_fused");
    kn_device_use(NULL);
    return check_report();
}
