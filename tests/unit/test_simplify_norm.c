/* Batch norm into the convolution or linear layer before it: what is taken in, to which accuracy, and what must stay. */
#include "support/programs.h"
#include <kn/autodiff.h>
#include <kn/nn.h>

/* How a program is made of a contraction and what follows it. */
typedef struct layout {
    const char *op, *x; /* the contraction, the shape of its input */
    kn_shape input, weight;
    attribute attributes[4];
    int64_t channels;
    bool bias, affine;
    kn_dtype dtype;
} layout;

static kn_tensor drawn(kn_shape shape, double low, double high, kn_dtype dtype)
{
    return kn_cast(kn_random_uniform(shape, low, high, KN_F32), dtype);
}

static value param(kn_builder b, const char *name, kn_tensor t) { return kn_builder_param(b, name, t); }

static value contraction(kn_builder b, const layout *l)
{
    value in[3] = {kn_builder_input(b, "x", l->dtype, l->x),
                   param(b, "w", drawn(l->weight, -1, 1, l->dtype))};
    if (l->bias) in[2] = param(b, "b", drawn(KN_SHAPE(l->channels), -1, 1, l->dtype));
    return kn_builder_op(b, l->op, in, l->bias ? 3 : 2, l->attributes);
}

static value normed(kn_builder b, const layout *l, value y, double variance, double eps)
{
    kn_shape c = KN_SHAPE(l->channels);
    value in[5] = {y, param(b, "mean", drawn(c, -1, 1, l->dtype)),
                   param(b, "variance", kn_mul_scalar(drawn(c, 0.5, 2, l->dtype), variance))};
    if (l->affine) {
        in[3] = param(b, "gain", drawn(c, -2, 2, l->dtype));
        in[4] = param(b, "shift", drawn(c, -1, 1, l->dtype));
    }
    return kn_builder_op(b, "batch_norm", in, l->affine ? 5 : 3, (attribute[]){{"eps", NULL, eps}, {0}});
}

static kn_program layers(const layout *l)
{
    kn_seed(NULL, 3);
    kn_builder b = kn_builder_new();
    value y = normed(b, l, contraction(b, l), 1, 1e-5), z = op1(b, "relu", y);
    return finished(b, &z, 1);
}

/* Outputs agree to what the weights' rounding may cost: a few eps of the sum of the terms' sizes, taken from the row's tolerance. */
static bool close_outputs(kn_program a, kn_program b, const kn_tensor *in, int32_t n_in, double terms,
                          double eps)
{
    kn_tensor x, y;
    if (kn_program_run(a, in, n_in, &x, 1) != KN_OK || kn_program_run(b, in, n_in, &y, 1) != KN_OK) {
        printf("  %s\n", kn_last_error());
        return false;
    }
    double gap = kn_item(kn_max(kn_abs(kn_sub(kn_cast(x, KN_F64), kn_cast(y, KN_F64))), KN_AXES_ALL, false));
    double bound = (8 + terms) * eps * 4;
    if (gap > bound) printf("  %g apart, %g allowed\n", gap, bound);
    return gap <= bound;
}

static const layout layouts[] = {
    {"conv",
     "batch, 4, high, wide",
     {4, {2, 4, 5, 6}},
     {4, {6, 4, 3, 3}},
     {{"padding", "1, 1", 0}},
     6,
     true,
     true,
     KN_F32},
    {"conv",
     "batch, 4, 5, 6",
     {4, {2, 4, 5, 6}},
     {4, {6, 2, 3, 3}},
     {{"groups", "2", 0}},
     6,
     false,
     true,
     KN_F32},
    {"conv", "batch, 3, n", {3, {2, 3, 9}}, {3, {5, 3, 4}}, {{"stride", "2", 0}}, 5, false, false, KN_F64},
    {"conv", "1, 2, 3, 4, 5", {5, {1, 2, 3, 4, 5}}, {5, {3, 2, 2, 2, 2}}, {{0}}, 3, true, false, KN_F32},
    {"conv", "batch, 4, 5, 6", {4, {2, 4, 5, 6}}, {4, {6, 4, 3, 3}}, {{0}}, 6, true, true, KN_BF16},
    {"conv", "batch, 4, 5, 6", {4, {2, 4, 5, 6}}, {4, {6, 4, 3, 3}}, {{0}}, 6, true, true, KN_F16},
    {"conv_transpose",
     "batch, 4, 5, 6",
     {4, {2, 4, 5, 6}},
     {4, {4, 3, 3, 3}},
     {{"groups", "2", 0}},
     6,
     true,
     true,
     KN_F32},
    {"conv_transpose",
     "batch, 4, n",
     {3, {2, 4, 5}},
     {3, {4, 6, 3}},
     {{"stride", "2", 0}},
     6,
     false,
     true,
     KN_F32},
    {"linear", "batch, 8", {2, {3, 8}}, {2, {5, 8}}, {{0}}, 5, true, true, KN_F32},
    {"linear", "batch, 8", {2, {3, 8}}, {2, {5, 8}}, {{0}}, 5, false, true, KN_F32},
};

static void batch_norm_goes_into_weights(void)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const layout *l = &layouts[i];
        kn_program before = layers(l), after = layers(l);
        if (!before || !after) continue;
        simplify(after, KN_PASS_BATCH_NORM);
        CHECK(count_ops(after, "batch_norm") == 0 && count_ops(after, l->op) == 1 && count_nodes(after) == 2);
        kn_tensor x = kn_keep(drawn(l->input, -1, 1, l->dtype));
        double eps = l->dtype == KN_F64   ? 0x1p-52
                     : l->dtype == KN_F32 ? 0x1p-23
                     : l->dtype == KN_F16 ? 0x1p-10
                                          : 0x1p-7;
        if (!CHECK(close_outputs(before, after, &x, 1, 36, eps))) printf("  layout %d\n", (int)i);
        kn_program_free(before);
        kn_program_free(after);
    }
}

/* conv * a + b, and other ways to write it: op, shape of the constant, whether it stands first. */
static void sums_and_products_go_into_weights(void)
{
    static const struct {
        const char *op;
        kn_shape shape;
        bool first, goes;
    } cases[] = {{"mul", {3, {6, 1, 1}}, false, true},
                 {"mul", {4, {1, 6, 1, 1}}, true, true},
                 {"add", {3, {6, 1, 1}}, true, true},
                 {"sub", {3, {6, 1, 1}}, false, true},
                 {"sub", {3, {6, 1, 1}}, true, true},
                 {"div", {3, {6, 1, 1}}, false, true},
                 {"div", {3, {6, 1, 1}}, true, false},
                 {"mul", {0, {0}}, false, true},
                 {"add", {1, {1}}, false, true},
                 {"mul", {1, {4}}, false, false},
                 {"add", {3, {6, 3, 1}}, false, false},
                 {"mul", {4, {2, 1, 1, 1}}, false, false},
                 {"add", {5, {1, 1, 1, 1, 1}}, true, false},
                 {"maximum", {3, {6, 1, 1}}, false, false}};
    const layout l = {"conv", "batch, 4, 5, 6", {4, {2, 4, 5, 6}}, {4, {6, 4, 3, 3}}, {{0}}, 6, true, true,
                      KN_F32};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kn_program p[2];
        for (int k = 0; k < 2; k++) {
            kn_seed(NULL, 5);
            kn_builder b = kn_builder_new();
            value y = contraction(b, &l), c = kn_builder_constant(b, drawn(cases[i].shape, 0.5, 2, KN_F32));
            y = cases[i].first ? op2(b, cases[i].op, c, y) : op2(b, cases[i].op, y, c);
            p[k] = finished(b, &y, 1);
        }
        if (!p[0] || !p[1]) continue;
        simplify(p[1], KN_PASS_BATCH_NORM);
        if (!CHECK(count_ops(p[1], cases[i].op) == !cases[i].goes)) printf("  case %d\n", (int)i);
        kn_tensor x = kn_keep(drawn(l.input, -1, 1, KN_F32));
        if (!CHECK(close_outputs(p[0], p[1], &x, 1, 36, 0x1p-23))) printf("  case %d\n", (int)i);
        kn_program_free(p[0]);
        kn_program_free(p[1]);
    }
}

/* A chain of maps goes, one after the other. */
static void chains_go_into_weights(void)
{
    const layout l = {"linear", "batch, 8", {2, {3, 8}}, {2, {5, 8}}, {{0}}, 5, false, true, KN_F32};
    kn_program p[2];
    for (int k = 0; k < 2; k++) {
        kn_seed(NULL, 5);
        kn_builder b = kn_builder_new();
        value y = normed(b, &l, contraction(b, &l), 1, 1e-5);
        y = op2(b, "mul", y, kn_builder_constant(b, drawn(KN_SHAPE(5), 0.5, 2, KN_F32)));
        y = op1(b, "neg", op2(b, "add", y, kn_builder_constant(b, drawn(KN_SHAPE(1, 5), -1, 1, KN_F32))));
        p[k] = finished(b, &y, 1);
    }
    simplify(p[1], KN_PASS_BATCH_NORM);
    CHECK(count_nodes(p[0]) == 5 && count_nodes(p[1]) == 1);
    kn_tensor x = kn_keep(drawn(l.input, -1, 1, KN_F32));
    CHECK(close_outputs(p[0], p[1], &x, 1, 8, 0x1p-23));
    kn_program_free(p[0]);
    kn_program_free(p[1]);
}

/* ---- what stays */

static const layout plain = {
    "conv", "batch, 4, 5, 6", {4, {2, 4, 5, 6}}, {4, {6, 4, 3, 3}}, {{0}}, 6, true, true, KN_F32};

static void a_result_that_others_read_stays(void)
{
    kn_builder b = kn_builder_new();
    value y = contraction(b, &plain), out[2] = {normed(b, &plain, y, 1, 1e-5), y};
    kn_program p = finished(b, out, 2);
    simplify(p, KN_PASS_ALL);
    CHECK(count_ops(p, "batch_norm") == 1);
    kn_program_free(p);
    b = kn_builder_new();
    y = contraction(b, &plain);
    value twice[2] = {op2(b, "mul", y, y), normed(b, &plain, y, 1, 1e-5)};
    p = finished(b, twice, 2);
    simplify(p, KN_PASS_ALL);
    CHECK(count_ops(p, "batch_norm") == 1 && count_ops(p, "mul") == 1);
    kn_program_free(p);
}

/* The convolution runs before the If, batch norm only inside one branch of it. */
static void other_regions_stay(void)
{
    kn_builder b = kn_builder_new();
    value y = contraction(b, &plain), c = kn_builder_input(b, "c", KN_BOOL, ""), z;
    kn_builder_if(b, c);
    value n = normed(b, &plain, y, 1, 1e-5);
    kn_builder_else(b, &n, 1);
    value other = kn_builder_op(b, "neg", &n, 1, NULL); /* of a region that it does not see */
    CHECK(other.id == 0);
    kn_builder_free(b);
    b = kn_builder_new();
    y = contraction(b, &plain);
    c = kn_builder_input(b, "c", KN_BOOL, "");
    value loop[2];
    kn_builder_loop(b, &(kn_loop_args){.trips = "2", .carried = &y, .n_carried = 1}, loop);
    n = normed(b, &plain, loop[1], 1, 1e-5);
    kn_builder_end(b, &n, 1, &z, 1);
    kn_program p = finished(b, &z, 1);
    simplify(p, KN_PASS_ALL);
    CHECK(count_ops(p, "batch_norm") == 1 && count_ops(p, "conv") == 1);
    kn_program_free(p);
}

/* Statistics that are inputs differ from run to run; a variance of 0 with no eps has no finite weight. */
static void what_has_no_fixed_finite_weight_stays(void)
{
    kn_builder b = kn_builder_new();
    value in[3] = {contraction(b, &plain), kn_builder_input(b, "mean", KN_F32, "6"),
                   kn_builder_input(b, "variance", KN_F32, "6")};
    value y = kn_builder_op(b, "batch_norm", in, 3, NULL);
    kn_program p = finished(b, &y, 1);
    simplify(p, KN_PASS_ALL);
    CHECK(count_ops(p, "batch_norm") == 1);
    kn_program_free(p);
    b = kn_builder_new();
    y = normed(b, &plain, contraction(b, &plain), 0, 0);
    p = finished(b, &y, 1);
    simplify(p, KN_PASS_ALL);
    CHECK(count_ops(p, "batch_norm") == 1);
    kn_program_free(p);
}

/* [batch, 5, 8] through a linear layer to 5: batch norm's channels are axis 1, the layer's the last one. */
static void other_channels_stay(void)
{
    const layout l = {"linear", "batch, 5, 8", {3, {3, 5, 8}}, {2, {5, 8}}, {{0}}, 5, true, true, KN_F32};
    kn_program p = layers(&l);
    simplify(p, KN_PASS_ALL);
    CHECK(count_ops(p, "batch_norm") == 1);
    kn_program_free(p);
    /* a constant for each place of the last axis, which is as long as there are channels */
    const layout square = {
        "conv", "batch, 4, 5, 6", {4, {2, 4, 5, 6}}, {4, {4, 4, 3, 3}}, {{0}}, 4, true, true, KN_F32};
    kn_builder b = kn_builder_new();
    value y =
        op2(b, "mul", contraction(b, &square), kn_builder_constant(b, drawn(KN_SHAPE(4), 0.5, 2, KN_F32)));
    p = finished(b, &y, 1);
    simplify(p, KN_PASS_ALL);
    CHECK(count_ops(p, "mul") == 1);
    kn_program_free(p);
}

/* A trace also runs with inputs of another rank. Then axis 1, along which batch norm works, is another axis than the layer's last one,
   and a constant of rank 3 makes a result of rank 3. */
static kn_tensor after_linear(kn_tensor x, kn_tensor w, kn_tensor c, bool norm)
{
    kn_tensor y = kn_linear(x, w, KN_NONE);
    return norm ? kn_batch_norm(y, c, c, KN_NONE, KN_NONE, 0) : kn_add(y, c);
}

static void other_ranks_of_a_trace_stay_right(void)
{
    kn_tensor w = kn_keep(drawn(KN_SHAPE(5, 8), -1, 1, KN_F32)), got;
    kn_tensor flat = kn_keep(drawn(KN_SHAPE(3, 8), -1, 1, KN_F32)),
              deep = kn_keep(drawn(KN_SHAPE(2, 5, 8), -1, 1, KN_F32));
    for (int norm = 0; norm < 2; norm++) {
        kn_tensor x = norm ? flat : deep, other = norm ? deep : flat;
        kn_tensor c = kn_keep(drawn(norm ? KN_SHAPE(5) : KN_SHAPE(1, 1, 5), 0.5, 1, KN_F32));
        CHECK(kn_program_begin(NULL) == KN_OK);
        kn_tensor y = kn_keep(after_linear(x, w, c, norm));
        kn_program p = kn_program_end(&x, 1, &y, 1);
        if (!CHECK(p != NULL)) return;
        simplify(p, KN_PASS_ALL);
        CHECK(kn_program_run(p, &other, 1, &got, 1) == KN_OK);
        kn_tensor want = kn_keep(after_linear(other, w, c, norm));
        CHECK(kn_rank(got) == 3 && kn_rank(want) == 3 && same_bits(got, want));
        kn_program_free(p);
    }
}

/* Two convolutions with one weight, of which one is normed: the other keeps the weight. */
static void shared_weights_stay_for_others(void)
{
    kn_program p[2];
    for (int k = 0; k < 2; k++) {
        kn_seed(NULL, 5);
        kn_builder b = kn_builder_new();
        value x = kn_builder_input(b, "x", KN_F32, "batch, 4, 5, 6");
        value w = param(b, "w", drawn(KN_SHAPE(6, 4, 3, 3), -1, 1, KN_F32)), in[2] = {x, w},
              other[2] = {op1(b, "neg", x), w};
        value y = normed(b, &plain, kn_builder_op(b, "conv", in, 2, NULL), 1, 1e-5);
        value z = op2(b, "add", y, kn_builder_op(b, "conv", other, 2, NULL));
        p[k] = finished(b, &z, 1);
    }
    simplify(p[1], KN_PASS_ALL);
    CHECK(count_ops(p[1], "batch_norm") == 0 && count_ops(p[1], "conv") == 2);
    kn_tensor x = kn_keep(drawn(plain.input, -1, 1, KN_F32));
    CHECK(close_outputs(p[0], p[1], &x, 1, 72, 0x1p-23));
    kn_program_free(p[0]);
    kn_program_free(p[1]);
}

/* Layers as they are traced: params are live, so batch norm stays until they are frozen. */
static void layers_of_a_trace(void)
{
    kn_nn_conv2d conv = {0};
    kn_nn_batch_norm norm = {0};
    CHECK(kn_nn_conv2d_init(&conv, 3, 4, KN_INTS(3, 3), NULL) == KN_OK);
    CHECK(kn_nn_batch_norm_init(&norm, 4, NULL) == KN_OK);
    norm.training = false;
    CHECK(kn_param_set(&norm.running_mean, kn_full(KN_SHAPE(4), 0.5, KN_F32)) == KN_OK);
    CHECK(kn_param_set(&norm.running_var, kn_full(KN_SHAPE(4), 4, KN_F32)) == KN_OK);
    kn_tensor x = kn_keep(drawn(KN_SHAPE(2, 3, 6, 6), -1, 1, KN_F32)), y, got;
    CHECK(kn_program_begin(NULL) == KN_OK);
    y = kn_keep(kn_nn_batch_norm_forward(&norm, kn_nn_conv2d_forward(&conv, x)));
    kn_program p = kn_program_end(&x, 1, &y, 1);
    if (!CHECK(p != NULL)) return;
    CHECK(count_ops(p, "batch_norm") == 1);
    simplify(p, KN_PASS_ALL);
    CHECK(count_ops(p, "batch_norm") == 1);
    simplify(p, KN_PASS_ALL | KN_PASS_FREEZE);
    CHECK(count_nodes(p) == 1 && count_ops(p, "conv") == 1);
    CHECK(kn_param_set(&norm.running_mean, kn_full(KN_SHAPE(4), 9, KN_F32)) == KN_OK);
    CHECK(kn_program_run(p, &x, 1, &got, 1) == KN_OK);
    double gap = kn_item(kn_max(kn_abs(kn_sub(got, y)), KN_AXES_ALL, false));
    CHECK(gap < 1e-5);
    kn_program_free(p);
    kn_module_drop(KN_MODULE_OF(kn_nn_conv2d, &conv));
    kn_module_drop(KN_MODULE_OF(kn_nn_batch_norm, &norm));
}

int main(void)
{
    static const char *const devices[] = {"cpu", "ref", "fusion(cpu)", "autodiff(cpu)"};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        kn_device_use(kn_device_open(devices[i]));
        kn_scope scope = kn_scope_begin();
        batch_norm_goes_into_weights();
        sums_and_products_go_into_weights();
        chains_go_into_weights();
        a_result_that_others_read_stays();
        other_regions_stay();
        what_has_no_fixed_finite_weight_stays();
        other_channels_stay();
        other_ranks_of_a_trace_stay_right();
        shared_weights_stay_for_others();
        layers_of_a_trace();
        kn_scope_end(scope, KN_NONE);
        kn_device_use(NULL);
    }
    CHECK(kn_shutdown() == 0);
    return check_report();
}
