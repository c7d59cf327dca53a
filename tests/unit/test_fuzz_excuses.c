/* What the API fuzzer takes for no fault in the texts of check(a, b), and that it takes nothing else. */
#include "api_fuzz/fuzz_excuses.h"
#include "support/check.h"

static bool differs(const char *function, const char *a, const char *b, const char *dtype, const char *op)
{
    char text[300];
    snprintf(text, sizeof text,
             "%s: check: cpu gives %s, ref gives %s at element 3 of a result [2, 2] of %s by op %s   a.c:1",
             function, a, b, dtype, op);
    return !excused("check(cpu,ref)", text);
}

/* Differences as the fuzzer met them. */
static void roundings_are_excused(void)
{
    CHECK(!differs("kn_logit", "11.5115585", "11.5129156", "f32", "logit"));
    CHECK(!differs("kn_div_scalar", "3.40625", "3.390625", "bf16", "div"));
    CHECK(!differs("kn_floor_div", "3423034620", "3423034370", "f32", "floor_div"));
    CHECK(!differs("kn_group_norm", "-0.687219262", "-0.772820413", "f32", "layer_norm"));
    CHECK(!differs("kn_leaky_relu_grad", "9.99999956e24", "1.00000007e25", "f32", "leaky_relu_grad"));
    CHECK(!differs("kn_exp", "1.2e-39", "1.3e-39", "f32", "exp"));
}

static void a_large_gap_is_a_fault(void)
{
    CHECK(differs("kn_logit", "11.5", "12", "f32", "logit"));
    CHECK(differs("kn_logit", "nan", "11.5", "f32", "logit"));
    CHECK(differs("kn_div_scalar", "3.4", "3.5", "bf16", "div"));
    CHECK(differs("kn_layer_norm", "-0.7", "0.7", "f32", "layer_norm"));
    CHECK(differs("kn_layer_norm", "1", "10", "f32", "layer_norm"));
    CHECK(!differs("kn_layer_norm", "0", "-1.7", "f32", "layer_norm")); /* the squares overflow */
    CHECK(differs("kn_layer_norm", "0", "-1.7", "f64", "layer_norm"));
    CHECK(!differs("kn_group_norm", "0", "-1.04630991e-21", "f64", "layer_norm"));
    CHECK(differs("kn_group_norm", "0", "-1e-11", "f64", "layer_norm"));
    CHECK(differs("kn_softmax", "0", "0.7", "f32", "softmax"));
    CHECK(differs("kn_gelu", "nan", "1", "f32", "gelu_approximate_grad"));
    CHECK(!differs("kn_gelu_approximate", "-1.33645683e-28", "-1.3364596e-28", "f32", "gelu_approximate"));
    CHECK(!differs("kn_gelu_grad", "-557.137573", "-557.135742", "f32", "gelu_grad"));
    CHECK(differs("kn_gelu_grad", "-557", "-558", "f32", "gelu_grad"));
    CHECK(differs("kn_gelu_grad", "-557.137573", "-557.135742", "f64", "gelu_grad"));
    CHECK(!differs("kn_gelu_approximate_grad", "2.29015602e16", "2.29018823e16", "f32",
                   "gelu_approximate_grad"));
    CHECK(differs("kn_gelu_approximate", "-1.336e-28", "-1.337e-28", "f32", "gelu_approximate"));
    CHECK(differs("kn_leaky_relu", "1", "1.001", "f32", "leaky_relu"));
    CHECK(differs("kn_addcmul", "1", "1.1", "f32", "addcmul"));
    CHECK(differs("kn_exp", "1.2e-300", "1.3e-300", "f64", "exp"));
}

/* A number that the half does not hold is an operand: the result is rounded in f32 and then to the half. */
static void halves_are_one_step_off(void)
{
    CHECK(!differs("kn_mul_scalar", "0.0000101327896", "0.0000101923943", "f16", "mul")); /* subnormal */
    CHECK(!differs("kn_mul_scalar", "0.0931396484", "0.0930786133", "f16", "mul"));
    CHECK(differs("kn_mul_scalar", "0.0000101327896", "0.000010251999", "f16", "mul")); /* two steps */
    CHECK(differs("kn_mul_scalar", "0.0932006836", "0.0930786133", "f16", "mul"));
    CHECK(differs("kn_mul_scalar", "0.0931396484", "0.0930786133", "f32", "mul"));
    CHECK(differs("kn_take", "0.0931396484", "0.0930786133", "f16", "take"));
    CHECK(!differs("kn_add_scalar", "-3.390625", "-3.40625", "bf16", "add"));
    CHECK(differs("kn_add_scalar", "-3.375", "-3.40625", "bf16", "add"));
}

/* By the size of what is rounded before the terms cancel, or before an exponential magnifies it. */
static void gradients_are_bounded_by_their_terms(void)
{
    CHECK(!differs("kn_rms_norm_grad", "0.0389113016", "0.0389178507", "f32", "rms_norm_grad"));
    CHECK(differs("kn_rms_norm_grad", "0.389113016", "0.3895", "f32", "rms_norm_grad"));
    CHECK(differs("kn_rms_norm_grad", "0", "0.0001", "f32", "rms_norm_grad"));
    CHECK(differs("kn_rms_norm_grad", "0.0389113016", "0.0389178507", "f64", "rms_norm_grad"));
    CHECK(!differs("kn_elu_grad", "-3.28178863e-13", "-3.2817946e-13", "f32", "elu_grad"));
    CHECK(differs("kn_elu_grad", "-3.2817e-13", "-3.2818e-13", "f32", "elu_grad"));
    CHECK(differs("kn_elu", "-0.999999", "-1", "f32", "elu"));
}

/* Where the squares of a line overflow in f32 it adds nothing to the gradient of the weight. */
static void lines_that_overflow_are_lost(void)
{
    const char *op = "layer_norm_affine_grad";
    CHECK(!differs("kn_layer_norm_affine_grad", "0", "1.21899322e30", "f32", op));
    CHECK(!differs("kn_layer_norm_affine_grad", "1.5", "-1.21899322e30", "f32", op));
    CHECK(differs("kn_layer_norm_affine_grad", "0", "1.21899322e30", "f64", op));
    CHECK(differs("kn_layer_norm_affine_grad", "1.21899322e30", "0", "f32", op)); /* ref loses none */
    CHECK(differs("kn_layer_norm_affine_grad", "0", "1.2", "f32", op));
    CHECK(differs("kn_layer_norm_affine_grad", "3e29", "1.21899322e30", "f32", op));
    CHECK(differs("kn_sum", "0", "1.21899322e30", "f32", "sum"));
}

/* An excuse is for an op, not for every text that has its name in it. */
static void names_are_whole(void)
{
    CHECK(differs("kn_norm", "1", "1.00001", "f32", "sum"));
    CHECK(differs("kn_rms_norm", "1", "1.01", "f32", "rms_norm"));
    CHECK(differs("kn_log_softplus", "1", "2", "f32", "log"));
    CHECK(differs("kn_tanhshrink", "1", "2", "f32", "tanhshrink"));
    CHECK(differs("kn_leaky_relu", "1", "1.0000001", "f64", "leaky_relu"));
}

static void only_sums_overflow(void)
{
    CHECK(!differs("kn_rfft", "0", "nan", "f32", "fft"));
    CHECK(!differs("kn_matmul", "nan", "-inf", "f32", "matmul"));
    CHECK(differs("kn_gather", "nan", "1", "f32", "gather"));
    CHECK(differs("kn_sort", "inf", "1", "f32", "sort"));
    CHECK(differs("kn_max", "nan", "1", "f32", "max"));
    CHECK(differs("kn_sum", "nan", "1", "f32", "sum"));
    CHECK(differs("kn_reshape", "nan", "1", "f32", "reshape"));
    CHECK(!differs("kn_hard_sigmoid", "nan", "0", "f32", "hard_sigmoid"));
    CHECK(differs("kn_hard_sigmoid", "0.5", "0", "f32", "hard_sigmoid"));
    CHECK(!differs("kn_silu_grad", "nan", "-inf", "f32", "silu_grad")); /* infinity times what is 0 in f32 */
    CHECK(differs("kn_silu_grad", "1", "-1", "f32", "silu_grad"));
    CHECK(!differs("kn_hard_swish", "0", "5.96046448e-8", "f16", "hard_swish")); /* a tie that f32 made */
    CHECK(differs("kn_hard_swish", "0", "1.8e-7", "f16", "hard_swish"));
    CHECK(!differs("kn_index_put", "nan", "0", "f32", "scatter_nd")); /* a product of many */
    CHECK(differs("kn_index_put", "0", "nan", "f32", "scatter_nd"));
    CHECK(differs("kn_index_put", "nan", "0", "f64", "scatter_nd"));
    CHECK(differs("kn_index_put", "1", "0", "f32", "scatter_nd"));
    CHECK(!differs("kn_softmax_grad", "nan", "0", "f32", "softmax_grad"));
    CHECK(!differs("kn_log_softmax_grad", "nan", "1", "f32", "log_softmax_grad"));
    CHECK(differs("kn_softmax", "nan", "0", "f32", "softmax"));
    CHECK(differs("kn_softmax_grad", "0.1", "0", "f32", "softmax_grad"));
}

static void only_sums_of_f64_differ_behind_nine_digits(void)
{
    CHECK(!differs("kn_sum", "-2.82981819", "-2.82981819", "f64", "sum"));
    CHECK(differs("kn_add", "-2.82981819", "-2.82981819", "f64", "add"));
    CHECK(differs("kn_gather", "-2.82981819", "-2.82981819", "f64", "gather"));
    CHECK(differs("kn_sum", "-2.82981819", "-2.82981819", "f32", "sum"));
}

static void a_queue_fails_later(void)
{
    const char *stack = "check(fusion(cpu),ref)";
    const char *index = "kn_index_take: check: op take of fusion succeeds where ref fails: kn_index_take: "
                        "index 9 is out of range";
    const char *shape = "kn_add: check: op add of fusion succeeds where ref fails: kn_add: shapes differ";
    CHECK(excused(stack, index) && !excused("check(cpu,ref)", index));
    CHECK(!excused(stack, shape));
    CHECK(!excused(stack,
                   "kn_mul: check: op mul of fusion succeeds where ref fails: ref has no kernel for it"));
    CHECK(excused("check(cpu,ref)",
                  "kn_zeros: check: op full of cpu succeeds where ref fails: no memory for it"));
    CHECK(!excused("check(cpu,ref)", "kn_add: check: a text that says something else"));
}

int main(void)
{
    roundings_are_excused();
    a_large_gap_is_a_fault();
    halves_are_one_step_off();
    gradients_are_bounded_by_their_terms();
    lines_that_overflow_are_lost();
    names_are_whole();
    only_sums_overflow();
    only_sums_of_f64_differ_behind_nine_digits();
    a_queue_fails_later();
    return check_report();
}
