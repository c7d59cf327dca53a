/* What the comparisons of `kiln conform` must notice where no stored value says it: a wrong scale of attention in 16 bits,
   and values far out that are finite and wrong. */
#include "../../tools/kiln/conform_adapters_activation.c"
#include "../../tools/kiln/conform_compare.c"
#include "../../tools/kiln/conform_magnitudes.c"
#include "../../tools/kiln/conform_values.c"
#include "support/check.h"

enum { ELEMENTS = 4096 };

/* Elements that are small beside the terms that make them, off by a part of an eps of these as rounding inside makes
   them, and scaled. */
static void make_sums(kiln_array *got, const kiln_array *want, double size, double scale)
{
    double eps = kn_dtype_limits(got->dtype).eps;
    for (int64_t i = 0; i < want->count; i++) {
        double noise = (double)(kiln_mix((uint64_t)i) >> 11) * 0x1p-52 - 1;
        got->real[i] = kiln_round(scale * want->real[i] + 0.2 * eps * size * noise, got->dtype);
    }
}

static void a_wrong_scale(kn_dtype dtype)
{
    static double sizes[ELEMENTS];
    kiln_array got = kiln_array_new(dtype, KN_SHAPE(ELEMENTS)),
               want = kiln_array_new(dtype, KN_SHAPE(ELEMENTS));
    kiln_array_make(&want, 5, -0.125, 0.125, 0);
    for (int i = 0; i < ELEMENTS; i++) sizes[i] = 0.5;
    kiln_tolerance t = {.ulps = 1, .length = 1, .steps = 1, .terms = sizes};
    kiln_case c = {.op = "attention", .dtype = dtype};
    make_sums(&got, &want, sizes[0], 1);
    t.drift = kiln_drift(&c);
    CHECK(t.drift > 0 && !compare_values(&got, &want, &t));
    make_sums(&got, &want, sizes[0], 1.01);
    CHECK(compare_values(&got, &want, &t) != NULL);
    make_sums(&got, &want, sizes[0], 0.99);
    CHECK(compare_values(&got, &want, &t) != NULL);
    /* In bf16 no element alone shows it. */
    t.drift = 0;
    if (dtype == KN_BF16) CHECK(!compare_values(&got, &want, &t));
    /* More than half an eps of the terms is too much for one element. */
    make_sums(&got, &want, sizes[0], 1);
    got.real[7] = want.real[7] + kn_dtype_limits(dtype).eps * sizes[7];
    CHECK(compare_values(&got, &want, &t) != NULL);
    kiln_array_free(&got);
    kiln_array_free(&want);
}

static void who_rounds_weights(void)
{
    kiln_case attention = {.op = "attention_grad", .dtype = KN_F32},
              matmul = {.op = "matmul", .dtype = KN_BF16};
    CHECK(kiln_drift(&attention) == 0 && kiln_drift(&matmul) == 0);
    attention.dtype = KN_F16;
    CHECK(kiln_drift(&attention) > 0);
    CHECK(rounds_weights(&(kiln_run){.spec = "fusion(cuda:0)"}));
    CHECK(!rounds_weights(&(kiln_run){.spec = "autodiff(fusion(cpu))"}) &&
          !rounds_weights(&(kiln_run){.spec = "ref"}));
}

static bool fits(const char *row, double x, double y) { return plausible(far_row_named(row), x, y, KN_F32); }

static void far_out(void)
{
    CHECK(fits("sigmoid", 40, 1) && fits("sigmoid", -104, 0) && fits("sigmoid", -104, 1e-45));
    CHECK(fits("sigmoid", 4, 0.98201379) && fits("sigmoid", -4, 0.01798621));
    CHECK(!fits("sigmoid", 40, 0.5) && !fits("sigmoid", 40, 0) && !fits("sigmoid", -40, 1));
    CHECK(!fits("sigmoid", 5, 1.0000001) && !fits("sigmoid", -5, -1e-9) && !fits("sigmoid", 5, NAN));
    CHECK(fits("log_sigmoid", -88, -88) && fits("log_sigmoid", 88, 0) && !fits("log_sigmoid", -88, 0));
    CHECK(!fits("log_sigmoid", 10, 4e-5) && !fits("log_sigmoid", -60000, -INFINITY));
    CHECK(fits("silu", 90, 90) && fits("silu", -90, 0) && !fits("silu", -90, -90) &&
          !fits("silu", -6, 0.0148));
    CHECK(fits("mish", -10, -4.54e-4) && fits("mish", 100, 100) && !fits("mish", 100, 0));
    CHECK(fits("gelu", -5, -1.43e-6) && !fits("gelu", -5, 1.43e-6) && !fits("gelu_approximate", 5, 0));
    CHECK(fits("tanh", -9, -1) && !fits("tanh", -9, 1) && !fits("tanh", 9, 1.0000001));
    CHECK(fits("hard_swish", -100, 0) && fits("hard_swish", 4, 4) && !fits("hard_swish", -4, -0.1));
    CHECK(fits("softsign", 10000, 0.99990001) && fits("softsign", -4, -0.8) && !fits("softsign", -4, -0.7));
    CHECK(fits("selu", -88, -1.7580993) && fits("selu", 100, 105.0701) && !fits("selu", 100, 100));
    CHECK(fits("tanhshrink", 100, 99) && fits("tanhshrink", -100, -99) && !fits("tanhshrink", 100, 100));
    CHECK(fits("gelu_grad", 13, 1) && fits("gelu_grad", -13, 0) && !fits("gelu_grad", -13, 1));
    CHECK(fits("silu_grad", -4, -0.0526646) && !fits("silu_grad", -4, 0.0526646) &&
          !fits("mish_grad", 95, 0));
}

int main(void)
{
    a_wrong_scale(KN_BF16);
    a_wrong_scale(KN_F16);
    who_rounds_weights();
    far_out();
    return check_report();
}
