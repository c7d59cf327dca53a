/* Gradients that are bodies: values where gradients used to fail, gradients of gradients, halves, operands without a gradient,
   and the same bits with and without fusion. */
#include "ops/slopes.h"
#include "support/check.h"
#include <kn/call.h>
#include <math.h>
#include <stdlib.h>

enum { MAX_VALUES = 2048 };

static kn_tensor value(double v, kn_dtype dtype) { return kn_keep(kn_full(KN_SHAPE(2), v, dtype)); }

/* The gradient of a row by operand `by` at (a, b), where dy flows. */
static double slope(const kn_op *row, int by, double a, double b, double dy, kn_dtype dtype)
{
    double got[2] = {12345, 12345};
    kn_scope s = kn_scope_begin();
    kn_tensor in[2] = {value(a, dtype), value(b, dtype)}, g, flows = value(dy, dtype);
    in[by] = kn_require_grad(in[by]);
    kn_tensor y = kn_keep(kni_apply(row, in, row->max_in, NULL));
    CHECK(kn_grad(&y, &flows, 1, &in[by], 1, 0, &g) == KN_OK);
    CHECK(kn_read_as(g, KN_F64, got, sizeof got) == KN_OK);
    kn_scope_end(s, KN_NONE);
    return got[0];
}

/* ---- points where written gradients failed */

static void mended(void)
{
    static const struct {
        const kn_op *row;
        int by;
        double a, b, dy, want;
    } cases[] = {
        {&kni_op_sinc, 0, 3e38, 0, 1, 0},            /* cos(pi x) was NaN where pi x overflows */
        {&kni_op_sinc, 0, 0.5, 0, 1, -1.2732395447}, /* -4 / pi */
        {&kni_op_sinc, 0, 1, 0, 1, -1},
        {&kni_op_sinc, 0, 2, 0, 1, 0.5},
        {&kni_op_sinc, 0, 1e-3, 0, 1, -3.2898650e-3},
        {&kni_op_tanh, 0, 100, 0, 1, 0},
        {&kni_op_reciprocal, 0, 1e-30, 0, 0, 0}, /* 0 times an infinite slope was NaN */
        {&kni_op_rsqrt, 0, 1e-30, 0, 0, 0},
        {&kni_op_rsqrt, 0, 3e38, 0, 1e30, -9.6225e-29}, /* and y^3 was 0 */
        {&kni_op_div, 1, 1, 1e-30, 0, 0},
        {&kni_op_div, 1, 1e-9, 3e19, 1e30, -1.1111111e-18},
        {&kni_op_pow, 0, 3e38, 2, 0, 0},
        {&kni_op_xlogy, 1, 3e38, 0.25, 0, 0},
        {&kni_op_xlog1py, 1, 3e38, -0.75, 0, 0},
        {&kni_op_atan2, 0, 1e-30, 1e-30, 1, 5e29}, /* squares were 0, and the gradient */
        {&kni_op_atan2, 1, 1e-30, 1e-30, 1, -5e29},
        {&kni_op_atan2, 0, 1e25, 1e25, 1, 5e-26}, /* squares were infinite */
        {&kni_op_atan2, 0, 0, 0, 1, 0},
        {&kni_op_hypot, 0, 0, 0, 1, 0}, /* was 0 / 0 */
        {&kni_op_hypot, 1, 3, 4, 1, 0.8},
        {&kni_op_asinh, 0, 1e30, 0, 1, 1e-30}, /* was 0 */
        {&kni_op_acosh, 0, 1e30, 0, 1, 1e-30},
        {&kni_op_acosh, 0, -2, 0, 1, NAN}, /* there is no such point */
        {&kni_op_asin, 0, 0.9999, 0, 1, 70.7124459},
        {&kni_op_logaddexp, 0, INFINITY, INFINITY, 1, 0.5}, /* was infinity less infinity */
        {&kni_op_logaddexp, 1, -INFINITY, -INFINITY, 1, 0.5},
        {&kni_op_logaddexp2, 1, INFINITY, INFINITY, 1, 0.5},
        {&kni_op_igamma, 1, 1, 0, 1, 1},
        {&kni_op_igamma, 1, 1, -0.25, 1, NAN}, /* the function is NaN there, and its slope was not */
        {&kni_op_igammac, 1, 1, -0.25, 1, NAN},
        {&kni_op_erfcx, 0, 1000, 0, 1, -5.6418874e-7}, /* two terms cancelled, to either sign */
        {&kni_op_erfcx, 0, 13, 0, 1, -3.3091862e-3},
        {&kni_op_erfcx, 0, 2, 0, 1, -0.1067965},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double got = slope(cases[i].row, cases[i].by, cases[i].a, cases[i].b, cases[i].dy, KN_F32);
        double want = cases[i].want, gap = fabs(got - want);
        bool same =
            isnan(want) ? isnan(got) : got == want || gap <= 3e-4 * fabs(want) || (want == 0 && gap < 1e-30);
        if (!CHECK(same))
            printf("%s by operand %d at (%g, %g): %g, not %g\n", cases[i].row->name, cases[i].by, cases[i].a,
                   cases[i].b, got, want);
    }
}

/* ---- gradients of gradients */

/* The first derivatives of the sum of f(x). */
static void derivatives(kn_tensor (*f)(kn_tensor), double x, int orders, double *d)
{
    kn_scope s = kn_scope_begin();
    kn_tensor at = kn_require_grad(value(x, KN_F64)), y = kn_keep(kn_sum(f(at), KN_AXES_ALL, false)), g;
    for (int k = 0; k < orders; k++) {
        double got[2] = {NAN, NAN};
        CHECK(kn_grad(&y, NULL, 1, &at, 1, KN_GRAD_CREATE_GRAPH, &g) == KN_OK);
        g = kn_keep(g);
        CHECK(kn_read(g, got, sizeof got) == KN_OK);
        d[k] = got[0];
        y = kn_keep(kn_sum(g, KN_AXES_ALL, false));
    }
    kn_scope_end(s, KN_NONE);
}

static kn_tensor cube(kn_tensor x) { return kn_pow(x, kn_full_like(x, 3)); }

static void higher_orders(void)
{
    static const struct {
        kn_tensor (*f)(kn_tensor);
        double at;
        int orders;
        double want[3];
    } cases[] = {
        {kn_reciprocal, 2, 3, {-0.25, 0.25, -0.375}},
        {kn_sqrt, 4, 3, {0.25, -0.03125, 0.01171875}},
        {cube, 2, 3, {12, 12, 6}},
        {kn_sin, 0, 3, {1, 0, -1}},
        {kn_atan, 1, 3, {0.5, -0.5, 0.5}},
        {kn_asinh, 0, 3, {1, 0, -1}},
        {kn_softsign, 1, 3, {0.25, -0.25, 0.375}},
        {kn_relu6, 3, 2, {1, 0}},
        {kn_i1,
         0,
         2,
         {0.5, 0}}, /* the choice at 0 has no slope; what divides by 0 beside it must not be seen */
        {kn_bessel_j1, 0, 2, {0.5, 0}},
        {kn_sinc, 0, 2, {0, -3.2898681336964528}},
        {kn_erf, 0, 3, {1.1283791670955126, 0, -2.2567583341910251}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double got[3];
        derivatives(cases[i].f, cases[i].at, cases[i].orders, got);
        for (int k = 0; k < cases[i].orders; k++) {
            double want = cases[i].want[k];
            if (!CHECK(fabs(got[k] - want) <= 1e-12 * (1 + fabs(want))))
                printf("case %d, derivative %d: %.17g, not %.17g\n", (int)i, k + 1, got[k], want);
        }
    }
}

/* The second derivatives at (a, b) of a row of two operands: first by operand i, then by operand k. NaN where the first does not
   depend on it. */
static void second_order(const kn_op *row, double a, double b, double got[2][2])
{
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            double values[2] = {NAN, NAN};
            kn_scope s = kn_scope_begin();
            kn_tensor in[2] = {kn_require_grad(value(a, KN_F64)), kn_require_grad(value(b, KN_F64))}, g;
            kn_tensor y = kn_keep(kn_sum(kni_apply(row, in, 2, NULL), KN_AXES_ALL, false));
            CHECK(kn_grad(&y, NULL, 1, &in[i], 1, KN_GRAD_CREATE_GRAPH, &g) == KN_OK);
            y = kn_keep(kn_sum(g, KN_AXES_ALL, false));
            if (kn_grad(&y, NULL, 1, &in[k], 1, 0, &g) == KN_OK)
                CHECK(kn_read(g, values, sizeof values) == KN_OK);
            got[i][k] = values[0];
            kn_scope_end(s, KN_NONE);
        }
}

static void mixed_orders(void)
{
    static const struct {
        const kn_op *row;
        double a, b, want[2][2];
    } cases[] = {
        {&kni_op_pow, 2, 3, {{12, 12.317766166719343}, {12.317766166719343, 3.8436241113456113}}},
        /* The slope by the base of what is 1 everywhere is 0, whatever the exponent's does. */
        {&kni_op_pow, 2, 0, {{0, 0}, {0.5, 0.48045301391820142}}},
        {&kni_op_div, 3, 2, {{NAN, -0.25}, {-0.25, 0.75}}}, /* by a, 1 / b: a does not occur */
        {&kni_op_atan2, 1, 2, {{-0.16, -0.12}, {-0.12, 0.16}}},
        {&kni_op_hypot, 3, 4, {{0.128, -0.096}, {-0.096, 0.072}}},
        {&kni_op_xlogy, 3, 2, {{0, 0.5}, {0.5, -0.75}}},
        {&kni_op_xlog1py, 3, 1, {{0, 0.5}, {0.5, -0.75}}},
        {&kni_op_logaddexp, 1, 1, {{0.25, -0.25}, {-0.25, 0.25}}}, /* equal, and still a function of both */
        {&kni_op_logaddexp2,
         1,
         1,
         {{0.17328679513998632, -0.17328679513998632}, {-0.17328679513998632, 0.17328679513998632}}},
        {&kni_op_logaddexp,
         1,
         2,
         {{0.19661193324148185, -0.19661193324148185}, {-0.19661193324148185, 0.19661193324148185}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double got[2][2];
        second_order(cases[i].row, cases[i].a, cases[i].b, got);
        for (int k = 0; k < 4; k++) {
            double want = cases[i].want[k / 2][k % 2], is = got[k / 2][k % 2];
            if (!CHECK(isnan(want) ? isnan(is) : fabs(is - want) <= 1e-12 * (1 + fabs(want))))
                printf("%s by operand %d, then %d: %.17g, not %.17g\n", cases[i].row->name, k / 2, k % 2, is,
                       want);
        }
    }
}

/* ---- dtypes and broadcasts */

static void halves(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_keep(kn_full(KN_SHAPE(64, 64), -0.1, KN_F16)), dy = kn_keep(kn_ones_like(x)), g;
    kn_tensor weight = kn_require_grad(kn_full(KN_SHAPE(1), 0.25, KN_F16));
    kn_tensor y = kn_keep(kn_prelu(x, weight));
    CHECK(kn_grad(&y, &dy, 1, &weight, 1, 0, &g) == KN_OK);
    CHECK(kn_dtype_of(g) == KN_F16);
    CHECK_VALUES(g, 0, -409.5); /* 4096 times -0.0999756, rounded once */
    /* Integers beside floats are promoted as the op promotes them; nothing flows to them. */
    kn_tensor a = kn_require_grad(kn_from((float[]){2, 3}, KN_F32, KN_SHAPE(2)));
    kn_tensor b = kn_keep(kn_from((int32_t[]){3, 2}, KN_I32, KN_SHAPE(2))), ones = kn_keep(kn_ones_like(a));
    y = kn_keep(kn_pow(a, b));
    CHECK(kn_grad(&y, &ones, 1, &a, 1, 0, &g) == KN_OK);
    CHECK_VALUES(g, 1e-6, 12, 6);
    kn_tensor row = kn_require_grad(kn_from((double[]){1, 2, 4}, KN_F64, KN_SHAPE(3)));
    y = kn_keep(kn_sum(kn_div(kn_full(KN_SHAPE(2, 3), 8, KN_F64), row), KN_AXES_ALL, false));
    CHECK(kn_grad(&y, NULL, 1, &row, 1, 0, &g) == KN_OK);
    CHECK_VALUES(g, 1e-14, -16, -4, -1);
    kn_scope_end(s, KN_NONE);
}

static void operands_without(void)
{
    const kn_op *const rows[] = {&kni_op_igamma, &kni_op_igammac, &kni_op_zeta};
    for (int i = 0; i < 3; i++) {
        kn_scope s = kn_scope_begin();
        kn_tensor in[2] = {kn_require_grad(value(2.5, KN_F32)), value(1.5, KN_F32)}, g;
        kn_tensor y = kn_keep(kn_sum(kni_apply(rows[i], in, 2, NULL), KN_AXES_ALL, false));
        CHECK_ERROR(kn_grad(&y, NULL, 1, in, 1, 0, &g), "has no gradient for its first operand");
        CHECK(strstr(kn_last_error(), "kn_detach()") != NULL);
        kn_scope_end(s, KN_NONE);
    }
}

/* ---- what stacks did not agree on */

/* f32 holds no 1e30 or 0.1: the scalar is rounded as x is, on ref too. */
static void rounded_scalars(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_keep(kn_from((float[]){1e30f, 0.1f}, KN_F32, KN_SHAPE(2)));
    CHECK_VALUES(kn_thresholded_relu(x, 1e30), 0, 0, 0);
    CHECK_VALUES(kn_threshold(x, 0.1, 7), 0, 1e30f, 7);
    CHECK_VALUES(kn_hard_shrink(x, 0.1), 0, 1e30f, 0);
    CHECK_VALUES(kn_hard_shrink(kn_neg(x), 1e30), 0, 0, 0);
    CHECK_VALUES(kn_soft_shrink(x, 0.1), 0, 1e30f, 0);
    CHECK_VALUES(kn_softplus(x, 1, 0.1), 1e-6, 1e30f, 0.7443967);
    kn_scope_end(s, KN_NONE);
}

static void mixed_cotangents(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_keep(kn_full(KN_SHAPE(3, 2), 0.3, KN_BF16)), y;
    kn_tensor in[5] = {kn_keep(kn_full(KN_SHAPE(3, 2), 0.3, KN_F32)), x, value(0.1, KN_F32), value(2, KN_F32),
                       KN_NONE};
    const kn_attribute_value a[] = {{.name = "n_axes", .integer = 1}, {.name = "eps", .real = 1e-5}, {0}};
    static const char *const names[] = {"layer_norm_grad", "rms_norm_grad", "rms_norm_affine_grad"};
    for (int i = 0; i < 3; i++) {
        kn_call(names[i], in, 2, a, &y, 1);
        CHECK_POISON(y, "is f32 and x is bf16: cast one of them");
    }
    kn_tensor out[3];
    kn_call("layer_norm_affine_grad", in, 2, a, out, 2);
    CHECK_POISON(out[0], "cast one of them");
    kn_call("batch_norm_train_grad", in, 5, a + 1, out, 3);
    CHECK_POISON(out[0], "cast one of them");
    kn_scope_end(s, KN_NONE);
}

/* ---- the same on every stack */

static int gradient_on(const char *stack, const kn_op *row, int by, kn_dtype dtype, double *got)
{
    static const double grid[] = {0, -0.0, 0.25, -0.25, 1,   -1,       2.5,       -3,
                                  6, 40,   -40,  1e-5,  3e4, INFINITY, -INFINITY, NAN};
    enum { GRID = sizeof grid / sizeof *grid };
    double v[3][MAX_VALUES];
    int n = row->max_in == 1 ? GRID : GRID * GRID;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) v[k][i] = k == 2 ? cos(i) : k == 0 ? grid[i % GRID] : grid[i / GRID];
    kn_device device = kn_device_open(stack);
    kn_device_use(device);
    kn_scope s = kn_scope_begin();
    static const kni_scalar_params scalars = {{0.5, 2, 1, 0}};
    kn_tensor in[4], g, dy = kn_keep(kn_cast(kn_from(v[2], KN_F64, KN_SHAPE(n)), dtype));
    for (int i = 0; i < row->max_in; i++)
        in[i] = kn_keep(kn_cast(kn_from(v[i % 3], KN_F64, KN_SHAPE(n)), dtype));
    in[by] = kn_require_grad(in[by]);
    kni_scalar_params numbers = scalars;
    if (row->number == KNI_OP_polygamma) numbers.p[0] = 1;
    kn_tensor y = kn_keep(kni_apply(row, in, row->max_in, row->schema ? &numbers : NULL));
    bool good = kn_grad(&y, &dy, 1, &in[by], 1, 0, &g) == KN_OK &&
                kn_read_as(g, KN_F64, got, sizeof(double) * (size_t)n) == KN_OK;
    if (!CHECK(good)) printf("%s on %s: %s\n", row->name, stack, kn_last_error());
    kn_scope_end(s, KN_NONE);
    kn_device_use(NULL);
    kn_device_close(device);
    return n;
}

static void same_bits(void)
{
    static double plain[MAX_VALUES], fused[MAX_VALUES];
    static const kn_dtype dtypes[] = {KN_F32, KN_F64, KN_F16};
    for (int number = 0; number < kni_op_count(); number++) {
        const kn_op *row = kni_op_by_number(number);
        const kni_slopes *slopes = row ? kni_slopes_of(row) : NULL;
        for (int by = 0; slopes && by < row->max_in; by++)
            for (int d = 0; d < 3 && !(slopes->missing >> by & 1); d++) {
                int n = gradient_on("autodiff(cpu)", row, by, dtypes[d], plain), same = 0;
                gradient_on("autodiff(fusion(cpu))", row, by, dtypes[d], fused);
                for (int i = 0; i < n; i++)
                    same += plain[i] == fused[i] || (isnan(plain[i]) && isnan(fused[i]));
                if (!CHECK(same == n))
                    printf("%s by operand %d: %d of %d are the same fused\n", row->name, by, same, n);
            }
    }
}

int main(void)
{
    static const char *const stacks[] = {"autodiff(cpu)", "autodiff(ref)"};
    for (int i = 0; i < 2; i++) {
        kn_device device = kn_device_open(stacks[i]);
        if (!CHECK(device != NULL)) continue;
        kn_device_use(device);
        mended();
        higher_orders();
        mixed_orders();
        halves();
        operands_without();
        rounded_scalars();
        mixed_cotangents();
        kn_device_use(NULL);
        kn_device_close(device);
    }
    same_bits();
    return check_report();
}
