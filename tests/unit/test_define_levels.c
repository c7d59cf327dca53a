/* What belongs to lines and to places, above all sums over all lines: bodies and their gradients give on every device what they give
   on ref, and every element is written. */
#include "support/check.h"
#include <kn/custom_op.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct formula {
    const char *in, *out, *body, *gradient;
    bool differentiable;
} formula;

static const formula formulas[] = {
    {"x", "y", "y = down(x)", NULL, true},
    {"x", "y", "y = x - down(x)", NULL, true},
    {"x", "y@place", "y = down(x) * 2", NULL, true},
    {"x", "y@line", "y = sum(x * down(x))", NULL, true},
    {"x", "y", "m = down(x) / 2; y = (x - m) / sqrt(down((x - m) * (x - m)) + 1)", NULL, true},
    {"x", "y@place", "y = down(down(x) * x)", NULL, true},
    {"x", "y@place", "y = down(x) * down(x)", NULL, true},
    {"x", "y@place", "y = down(x - mean(x)) * down(x)", NULL, true},
    {"x w@place", "y", "y = down(x * w) + w", NULL, true},
    {"x w@place", "y@place", "y = down(x * w) + w", NULL, true},
    {"x w@place", "y@place", "y = down(x) - sum(w)", NULL, true},
    {"x w@place", "y@place", "y = w * real(argmax(w)) + at(w, 2) - lowest(w) * prod(w)", NULL, false},
    {"x w@place", "y", "y = x * at(w, argmax(x)) + down(x * at(x, 1)) + at(w, argmin(w))", NULL, true},
    {"x w@place", "y", "y = w * 2", NULL, true},
    {"x w@place", "y@place", "y = w * 2", NULL, true},
    {"x s@line", "y", "y = s + 1", NULL, true},
    {"x s@line", "y@line", "y = s * 2", NULL, true},
    {"x s@line", "y@place", "y = down(s * x)", NULL, true},
    {"x t@all", "y@place", "y = t + 1", NULL, false},
    {"x t@all", "y", "y = x * t - sum(x) * t", NULL, true},
    {"x", "y", "y = n", NULL, true},
    {"x", "y", "y = real(k)", NULL, true},
    {"x", "y z@line", "z = sum(x); y = x * z", NULL, true},
    {"x", "y z@place", "z = down(x); y = x * z", NULL, true},
    {"x", "y z@place", "z = down(x * x); y = x * 2", NULL, true},
    {"x", "y z@line w@place", "z = highest(x); w = down(x - z); y = x * w", NULL, true},
    {"x v", "y", "y = x * v", "dx = dy * v; dv = down(dy * x)", true},
    {"x", "y z@line", "z = sum(x); y = x * z", "dx = dy * z + sum(dy * x) + dz", true},
    {"x s@line", "y", "y = x * s", "dx = dy * s; ds = 0", true},
    {"x", "y", "y = x - mean(x)", "dx = 3", true},
};
enum { FORMULAS = sizeof formulas / sizeof *formulas, ROWS = 5, WIDTH = 7, MAX_OUT = 3, MAX_IN = 2 };

static kn_op_handle ops[FORMULAS];

static int count_words(const char *list)
{
    int n = 1;
    for (; *list; list++) n += *list == ' ';
    return n;
}

static kn_tensor operand(const char *list, int k)
{
    float v[ROWS * WIDTH];
    for (int i = 0; i < ROWS * WIDTH; i++) v[i] = (float)(sin(i * 2.3 + k * 1.7) * 0.9 + 0.03);
    for (int i = 0; i < k; i++) list = strchr(list, ' ') + 1;
    const char *end = strchr(list, ' '), *level = strchr(list, '@');
    kn_shape shape = KN_SHAPE(ROWS, WIDTH);
    if (level && (!end || level < end))
        shape = level[1] == 'p' ? KN_SHAPE(WIDTH) : level[1] == 'l' ? KN_SHAPE(ROWS, 1) : (kn_shape){0};
    return kn_keep(kn_from(v, KN_F32, shape));
}

/* What is free on the device holds something that no result is. */
static void soil_memory(void)
{
    kn_tensor x[4];
    for (int i = 0; i < 4; i++) {
        x[i] = kn_keep(kn_full(KN_SHAPE(ROWS, WIDTH), 7777, KN_F32));
        float v[ROWS * WIDTH];
        CHECK(kn_read(x[i], v, sizeof v) == KN_OK);
    }
    for (int i = 0; i < 4; i++) kn_drop(x[i]);
}

typedef struct values {
    int n;
    float at[(MAX_OUT + MAX_IN) * ROWS * WIDTH];
} values;

static bool append(kn_tensor x, values *to)
{
    int64_t n = kn_count(x);
    kn_status s = kn_read(x, to->at + to->n, sizeof(float) * (size_t)n);
    to->n += (int)n;
    return s == KN_OK;
}

/* The results of formula i, and behind them the gradients of its operands. */
static values run(const char *device, int i, bool gradients)
{
    const formula *f = &formulas[i];
    values got = {0};
    int n_in = count_words(f->in), n_out = count_words(f->out);
    kn_scope s = kn_scope_begin();
    kn_tensor in[MAX_IN], y[MAX_OUT], dy[MAX_OUT], g[MAX_IN];
    soil_memory();
    for (int k = 0; k < n_in; k++) in[k] = operand(f->in, k);
    for (int k = 0; k < n_in && gradients; k++) in[k] = kn_require_grad(in[k]);
    bool good = kn_custom_call(ops[i], in, y) == KN_OK;
    for (int k = 0; k < n_out && good; k++) good = append(y[k] = kn_keep(y[k]), &got);
    for (int k = 0; k < n_out && good && gradients; k++) dy[k] = kn_keep(kn_add_scalar(kn_sin(y[k]), 0.5));
    if (good && gradients) good = kn_grad(y, dy, n_out, in, n_in, 0, g) == KN_OK;
    for (int k = 0; k < n_in && good && gradients; k++) good = append(g[k], &got);
    if (!CHECK(good)) printf("%s: %s: %s\n", device, f->body, kn_last_error());
    kn_scope_end(s, KN_NONE);
    return got;
}

/* `few`: gradients of few formulas, since compilers of GPUs take their time. */
static void compare(const char *leaf, const char *wrapped, bool gradients, bool few)
{
    kn_device one = kn_device_open(gradients ? "autodiff(ref)" : "ref"), other = kn_device_open(wrapped);
    if (!other) {
        check_skip(leaf);
        return;
    }
    for (int i = 0; i < FORMULAS; i++) {
        if (gradients && !formulas[i].differentiable) continue;
        if (few && gradients && i != 1 && i != 6 && i != FORMULAS - 3) continue;
        if (few && !gradients && i > 11) continue;
        kn_device_use(one);
        values want = run("ref", i, gradients);
        kn_device_use(other);
        values got = run(wrapped, i, gradients);
        int at = 0;
        while (at < want.n && fabsf(got.at[at] - want.at[at]) <= 2e-5f * (1 + fabsf(want.at[at]))) at++;
        if (!CHECK(got.n == want.n && at == want.n))
            printf("%s: '%s': element %d is %g, on ref %g\n", wrapped, formulas[i].body, at, got.at[at],
                   want.at[at]);
    }
    kn_device_use(NULL);
    kn_device_close(one);
    kn_device_close(other);
}

/* Facts that no device is asked for. */
static void known_results(const char *name)
{
    kn_device device = kn_device_open(name);
    if (!device) return;
    kn_device_use(device);
    kn_scope s = kn_scope_begin();
    soil_memory();
    kn_tensor x = kn_keep(kn_from((float[]){1, 2, 3, 4, 5, 7}, KN_F32, KN_SHAPE(2, 3))), y[3];
    CHECK(kn_custom_call(ops[0], &x, y) == KN_OK);
    CHECK_VALUES(y[0], 0, 5, 7, 10, 5, 7, 10);
    CHECK(kn_custom_call(ops[1], &x, y) == KN_OK);
    CHECK_VALUES(y[0], 0, -4, -5, -7, -1, -2, -3);
    CHECK(kn_custom_call(ops[3], &x, y) == KN_OK);
    CHECK_VALUES(y[0], 0, 49, 125);
    CHECK(kn_custom_call(ops[5], &x, y) == KN_OK);
    CHECK_VALUES(y[0], 0, 25, 49, 100);
    kn_scope_end(s, KN_NONE);
    kn_device_use(NULL);
    kn_device_close(device);
}

/* Of places that are none at() is 0. Lines without elements: sums are those of nothing, and what needs an element is refused, as
   by kn_max, unless no result is made of it. */
static void outside_and_empty(const char *name)
{
    static const struct {
        const char *out, *body;
        bool refused;
        double value; /* of a line without elements */
    } cases[] = {
        {"y@line", "y = sum(x)", false, 0},
        {"y@line", "y = prod(x) + n", false, 1},
        {"y@line", "y = all(x > 0) && !any(x > 0) ? 3 : 4", false, 3},
        {"y@line", "y = at(x, 0) + 2", false, 2},
        {"y@line", "y = at(x * 2, n + 5)", false, 0},
        {"y@line", "y = highest(x)", true, 0},
        {"y@line", "y = lowest(x) + 1", true, 0},
        {"y@line", "t = top(x); y = sum(x - t) + t", true, 0},
        {"y@line", "y = real(argmax(x) + argmin(x))", true, 0},
        {"y", "e = exp(x - highest(x)); y = e / sum(e)", false, 0},
        {"y@line z", "z = x - highest(x); y = sum(x) + 5", false, 5},
    };
    static int turn;
    kn_device device = kn_device_open(name);
    if (!device) return;
    kn_device_use(device);
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        char op[32];
        kn_scope s = kn_scope_begin();
        soil_memory();
        snprintf(op, sizeof op, "empty_%d", turn++);
        kn_op_handle h = kn_op_define(
            op, &(kn_body_args){.out = cases[i].out, .line = KN_BODY_LAST_AXES, .body = cases[i].body});
        kn_tensor x = kn_keep(kn_zeros(KN_SHAPE(2, 0), KN_F32)), y[2];
        kn_status status = h ? kn_custom_call(h, &x, y) : KN_ERROR_ARGUMENT;
        if (!CHECK((status != KN_OK) == cases[i].refused)) printf("%s: %s\n", name, kn_last_error());
        if (cases[i].refused) CHECK_ERROR(status, "along a line without elements has no value");
        if (status == KN_OK && cases[i].out[1]) CHECK_VALUES(y[0], 0, cases[i].value, cases[i].value);
        if (status == KN_OK && !cases[i].out[1]) CHECK(kn_count(y[0]) == 0 && kn_ok(y[0]));
        /* There are no lines at all. */
        x = kn_keep(kn_zeros(KN_SHAPE(0, 3), KN_F32));
        CHECK(kn_custom_call(h, &x, y) == KN_OK && kn_count(y[0]) == 0);
        kn_scope_end(s, KN_NONE);
    }
    kn_scope s = kn_scope_begin();
    char op[32];
    snprintf(op, sizeof op, "empty_%d", turn++);
    kn_op_handle h =
        kn_op_define(op, &(kn_body_args){.out = "y@line",
                                         .line = KN_BODY_LAST_AXES,
                                         .body = "y = at(x, n) + at(x * 2, -1) + at(x, 1) * 10"});
    kn_tensor x = kn_keep(kn_from((float[]){1, 2, 3, 4, 5, 6}, KN_F32, KN_SHAPE(2, 3))), y;
    if (CHECK(h && kn_custom_call(h, &x, &y) == KN_OK)) CHECK_VALUES(y, 0, 20, 50);
    kn_scope_end(s, KN_NONE);
    kn_device_use(NULL);
    kn_device_close(device);
}

/* A written gradient that names no cotangent is a number for each element of the result, added up where an operand was broadcast. */
static void constant_gradients(const char *name)
{
    static const struct {
        const char *gradient;
        double da[3], db[3];
    } cases[] = {{"da = 0; db = dy * a", {0, 0, 0}, {1, 2, 3}},
                 {"da = dy * b; db = 0", {4, 5, 6}, {0, 0, 0}},
                 {"da = 5; db = b", {5, 5, 5}, {4, 5, 6}}};
    kn_device device = kn_device_open(name);
    if (!device) return;
    kn_device_use(device);
    for (int i = 0; i < 3; i++) {
        static int turn;
        char op[32];
        kn_scope s = kn_scope_begin();
        kn_tensor x[2], y, g[2];
        snprintf(op, sizeof op, "constant_gradient_%d", turn++);
        kn_op_handle h = kn_op_define(
            op, &(kn_body_args){.in = "a b", .body = "y = a * b", .gradient = cases[i].gradient});
        if (!CHECK(h != NULL)) continue;
        x[0] = kn_require_grad(kn_keep(kn_from((float[]){1, 2, 3}, KN_F32, KN_SHAPE(3))));
        x[1] = kn_require_grad(kn_keep(kn_from((float[]){4, 5, 6}, KN_F32, KN_SHAPE(3))));
        CHECK(kn_custom_call(h, x, &y) == KN_OK);
        kn_tensor dy = kn_keep(kn_ones(KN_SHAPE(3), KN_F32));
        CHECK(kn_grad(&y, &dy, 1, x, 2, 0, g) == KN_OK);
        CHECK_VALUES(g[0], 0, cases[i].da[0], cases[i].da[1], cases[i].da[2]);
        CHECK_VALUES(g[1], 0, cases[i].db[0], cases[i].db[1], cases[i].db[2]);
        x[1] = kn_require_grad(kn_keep(kn_from((float[]){4}, KN_F32, KN_SHAPE(1))));
        CHECK(kn_custom_call(h, x, &y) == KN_OK && kn_grad(&y, &dy, 1, x, 2, 0, g) == KN_OK);
        CHECK_VALUES(g[1], 0, i == 0 ? 6 : i == 1 ? 0 : 12);
        kn_scope_end(s, KN_NONE);
    }
    kn_device_use(NULL);
    kn_device_close(device);
}

int main(int argc, char **argv)
{
    const char *gpu = argc > 1 ? argv[1] : "opencl:0";
    const char *leaves[] = {"cpu", "fusion(cpu)", gpu};
    for (int i = 0; i < FORMULAS; i++) {
        char name[32];
        snprintf(name, sizeof name, "level_%d", i);
        ops[i] = kn_op_define(name, &(kn_body_args){.in = formulas[i].in,
                                                    .out = formulas[i].out,
                                                    .line = KN_BODY_LAST_AXES,
                                                    .body = formulas[i].body,
                                                    .gradient = formulas[i].gradient});
        if (!CHECK(ops[i] != NULL)) printf("%s\n", kn_last_error());
        if (!ops[i]) return check_report();
    }
    for (int i = 0; i < 3; i++) {
        char wrapped[80];
        snprintf(wrapped, sizeof wrapped, "autodiff(%s)", leaves[i]);
        constant_gradients(wrapped);
        known_results(leaves[i]);
        outside_and_empty(leaves[i]);
        compare(leaves[i], leaves[i], false, i == 2 && argc < 2);
        compare(leaves[i], wrapped, true, i == 2 && argc < 2);
    }
    constant_gradients("autodiff(ref)");
    known_results("ref");
    outside_and_empty("ref");
    return check_report();
}
