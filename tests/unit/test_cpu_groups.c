/* Groups on the CPU give the bits of single records where memory is the limit: operands asked for ahead, results written
   past the caches, tiles of rows; rows that run in pairs; and updates of many params in one run. */
#include "support/check.h"
#include <kn/program.h>
#include <kn/update.h>
#include <stdlib.h>

typedef struct inputs {
    kn_tensor a, b, c, row;
} inputs;

static kn_device plain, fused;

/* ---- many inputs */

enum { STEPS = 40, ROWS = 24, WIDTH = 40 };

/* So many softmaxes, one of the other, and then elementwise steps: these read each softmax, and two tensors from outside in each
   of `steps` further ones. All of it fits one group. */
static void many_inputs(int softmaxes, int steps)
{
    static float values[ROWS * WIDTH], got[2][ROWS * WIDTH];
    static uint8_t truths[ROWS * WIDTH];
    kn_tensor a[STEPS], c[STEPS], r[STEPS];
    for (int side = 0; side < 2; side++) {
        kn_scope scope = kn_scope_begin();
        kn_device_use(side ? fused : plain);
        for (int i = 0; i <= steps; i++) {
            for (int k = 0; k < ROWS * WIDTH; k++) {
                values[k] = (float)((k * 7 + i * 13) % 101) / 50 - 1;
                truths[k] = (k + i) % (i + 5) == 0;
            }
            a[i] = kn_keep(kn_from(values, KN_F32, KN_SHAPE(ROWS, WIDTH)));
            c[i] = kn_keep(kn_from(truths, KN_BOOL, KN_SHAPE(ROWS, WIDTH)));
        }
        for (int i = 0; i < softmaxes; i++) r[i] = kn_keep(kn_softmax(i ? r[i - 1] : a[steps], 1));
        kn_tensor y = kn_exp(r[0]);
        for (int i = 1; i < softmaxes; i++) y = kn_add(y, r[i]);
        for (int i = 0; i < steps; i++) y = kn_where(c[i], a[i], y);
        y = kn_keep(y);
        for (int i = 0; i < softmaxes; i++) kn_drop(r[i]);
        CHECK(kn_read(y, got[side], sizeof got[side]) == KN_OK);
        kn_scope_end(scope, KN_NONE);
    }
    if (!CHECK(!memcmp(got[0], got[1], sizeof got[0])))
        printf("  %d softmaxes, %d steps\n", softmaxes, steps);
}

/* ---- large tensors */

static kn_tensor chain(const inputs *x)
{
    kn_tensor y = kn_relu(kn_add(kn_mul_scalar(x->a, 1.5), x->b));
    return kn_square(kn_sub(kn_mul(y, x->c), x->row));
}

/* A result that is read again inside and one that is not; a condition; another dtype. */
static kn_tensor several(const inputs *x)
{
    kn_tensor s = kn_keep(kn_add(x->a, x->b)), e = kn_keep(kn_exp(s));
    kn_tensor h = kn_keep(kn_cast(kn_mul(e, x->c), KN_F16));
    return kn_add(kn_add(s, e), kn_cast(kn_where(kn_less(x->a, x->b), h, kn_neg(h)), KN_F32));
}

static kn_tensor with_softmax(const inputs *x)
{
    kn_tensor y = kn_softmax(kn_add(kn_mul_scalar(x->a, 0.125), x->b), -1);
    return kn_add(kn_mul(y, x->c), x->a);
}

static kn_tensor with_layer_norm(const inputs *x)
{
    return kn_mul(kn_gelu_approximate(kn_layer_norm(kn_add(x->a, x->b), x->row, x->row, 1, 1e-5)), x->c);
}

static kn_tensor with_rms_norm(const inputs *x)
{
    return kn_sigmoid(kn_rms_norm(kn_mul(x->a, x->b), x->row, 1, 1e-6));
}

static kn_tensor with_log_softmax(const inputs *x) { return kn_mul(kn_log_softmax(kn_tanh(x->a), -1), x->c); }

static kn_tensor written_out(const inputs *x)
{
    kn_tensor z = kn_keep(kn_add(x->a, x->b)), e = kn_keep(kn_exp(kn_sub(z, kn_max(z, KN_AXES(-1), true))));
    return kn_div(e, kn_sum(e, KN_AXES(-1), true));
}

/* The gradients of two norms and what surrounds them. */
static kn_tensor gradients(const inputs *x)
{
    kn_tensor wrt[2] = {kn_keep(kn_require_grad(kn_alias(x->a))), kn_keep(kn_require_grad(kn_alias(x->b)))};
    kn_tensor y = kn_layer_norm(kn_mul(wrt[0], wrt[1]), x->row, x->row, 1, 1e-5), out[2];
    kn_tensor loss = kn_keep(kn_sum(kn_mul(kn_softmax(y, -1), x->c), KN_AXES_ALL, false));
    CHECK(kn_grad(&loss, NULL, 1, wrt, 2, 0, out) == KN_OK);
    return kn_add(out[0], out[1]);
}

static bool run(kn_device device, kn_tensor (*fn)(const inputs *), int64_t rows, int64_t columns, void *to,
                size_t bytes)
{
    kn_device_use(device);
    kn_seed(device, 3);
    kn_scope scope = kn_scope_begin();
    kn_shape shape = KN_SHAPE(rows, columns);
    /* An operand that begins in the middle of a line. */
    kn_tensor long_one = kn_random_uniform(KN_SHAPE(rows * columns + 3), -1, 1, KN_F32);
    inputs x = {kn_keep(kn_random_uniform(shape, -1, 1, KN_F32)),
                kn_keep(kn_reshape(kn_narrow(long_one, 0, 3, rows * columns), shape)),
                kn_keep(kn_random_uniform(shape, -1, 1, KN_F32)),
                kn_keep(kn_random_uniform(KN_SHAPE(columns), -1, 1, KN_F32))};
    bool good = kn_sync(device) == KN_OK;
    kn_tensor y = kn_keep(fn(&x));
    good = good && kn_read(y, to, bytes) == KN_OK;
    if (!good) printf("%s\n", kn_last_error());
    kn_scope_end(scope, KN_NONE);
    return good;
}

static void same_bits(kn_tensor (*fn)(const inputs *), int64_t rows, int64_t columns)
{
    size_t bytes = (size_t)(rows * columns) * sizeof(float);
    char *a = malloc(bytes), *b = malloc(bytes);
    kn_fusion_stats before = {0}, after = {0};
    CHECK(kn_fusion_stats_of(fused, &before) == KN_OK);
    bool ran = a && b && run(plain, fn, rows, columns, a, bytes) && run(fused, fn, rows, columns, b, bytes);
    CHECK(kn_fusion_stats_of(fused, &after) == KN_OK);
    CHECK(ran && memcmp(a, b, bytes) == 0);
    CHECK(after.groups_run > before.groups_run && after.refused == before.refused);
    free(a), free(b);
}

/* Nine million elements are more than the caches hold; sizes that no strip, tile or line divides. */
static void large(void)
{
    kn_set_threads(1);
    same_bits(chain, 8807, 1021);
    same_bits(several, 8807, 1021);
    same_bits(with_softmax, 8807, 1021);
    same_bits(with_layer_norm, 8807, 1021);
    same_bits(with_rms_norm, 4409, 1021);
    same_bits(with_log_softmax, 4409, 1021);
    same_bits(written_out, 8807, 1021);
    kn_set_threads(2);
    same_bits(chain, 3, 3000001);
    same_bits(with_softmax, 3, 3000001);
    same_bits(with_layer_norm, 8807, 1021);
    kn_set_threads(0);
}

/* ---- pairs of rows that run as one loop */

enum { ROWS_THERE = 5, SHAPES = 3 };
static int first_row, second_row, shape_of_pair;

static kn_tensor one_row(int row, kn_tensor x, kn_tensor other)
{
    return row == 0   ? kn_add(x, other)
           : row == 1 ? kn_sub(x, other)
           : row == 2 ? kn_mul(x, other)
           : row == 3 ? kn_relu(x)
                      : kn_square(x);
}

/* Numbers on which rounding, signs of zero and infinities show; the result of the first is handed over, read twice, or the
   second's other operand. */
static kn_tensor pair(const inputs *x)
{
    kn_tensor a = kn_keep(kn_mul_scalar(x->a, 3e19));
    kn_tensor b = kn_keep(kn_mul_scalar(kn_round(kn_mul_scalar(x->b, 2)), 3e19));
    a = kn_keep(kn_where(kn_less(x->c, x->row), a, kn_neg(kn_relu(a))));
    kn_tensor t = one_row(first_row, a, b);
    if (shape_of_pair == 0) return kn_add_scalar(one_row(second_row, t, x->c), 1);
    t = kn_keep(t);
    kn_tensor y = shape_of_pair == 1 ? kn_add(one_row(second_row, t, x->c), t)
                                     : kn_mul(one_row(second_row, x->row, t), a);
    kn_drop(t); /* so that it is no result of the group, and stays in a strip */
    return y;
}

static void pairs(void)
{
    for (first_row = 0; first_row < ROWS_THERE; first_row++)
        for (second_row = 0; second_row < ROWS_THERE; second_row++)
            for (shape_of_pair = 0; shape_of_pair < SHAPES; shape_of_pair++) same_bits(pair, 37, 61);
}

/* ---- updates */

enum { PARAMS = 40 };

/* Steps of an optimiser over params of all sizes, f16 and f32; one of them twice in a step. */
static void step_params(kn_device device, int twice, float *sums)
{
    kn_device_use(device);
    kn_seed(device, 5);
    kn_scope scope = kn_scope_begin();
    kn_param params[PARAMS];
    kn_tensor first[PARAMS], second[PARAMS];
    for (int i = 0; i < PARAMS; i++) {
        kn_dtype dtype = i % 5 == 4 ? KN_F16 : KN_F32;
        kn_shape shape = KN_SHAPE(i == 7 ? 70001 : 1 + i * i);
        params[i] = kn_param_make(kn_cast(kn_random_uniform(shape, -1, 1, KN_F32), dtype));
        first[i] = kn_own(kn_zeros(shape, dtype)), second[i] = kn_own(kn_zeros(shape, dtype));
    }
    for (int s = 1; s <= 3; s++) {
        kn_scope inner = kn_scope_begin();
        kn_adam_update_args args = {.lr = 0.01 * s, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .step = s};
        for (int i = 0; i < PARAMS; i++) {
            kn_tensor g = kn_keep(kn_sin(kn_mul_scalar(kn_value(params[i]), s)));
            for (int k = 0; k < (i == twice ? 2 : 1); k++)
                CHECK(kn_adam_update(&params[i], g, &first[i], &second[i], NULL, &args) == KN_OK);
        }
        CHECK(kn_sync(device) == KN_OK);
        kn_scope_end(inner, KN_NONE);
    }
    for (int i = 0; i < PARAMS; i++) {
        kn_tensor all = kn_add(kn_cast(kn_value(params[i]), KN_F32), kn_cast(second[i], KN_F32));
        CHECK(kn_read_as(kn_sum(all, KN_AXES_ALL, false), KN_F32, &sums[i], sizeof sums[i]) == KN_OK);
        kn_param_drop(&params[i]);
        kn_drop(first[i]), kn_drop(second[i]);
    }
    kn_scope_end(scope, KN_NONE);
}

static void updates(void)
{
    for (int twice = -1; twice < 8; twice += 8) {
        float a[PARAMS] = {0}, b[PARAMS] = {1};
        kn_fusion_stats before = {0}, after = {0};
        kn_set_threads(2);
        step_params(plain, twice, a);
        CHECK(kn_fusion_stats_of(fused, &before) == KN_OK);
        step_params(fused, twice, b);
        CHECK(kn_fusion_stats_of(fused, &after) == KN_OK);
        kn_set_threads(0);
        CHECK(memcmp(a, b, sizeof a) == 0);
        CHECK(after.groups_run > before.groups_run && after.refused == before.refused);
    }
}

int main(void)
{
    plain = kn_device_open("cpu"), fused = kn_device_open("fusion(cpu)");
    for (int softmaxes = 3; softmaxes <= 9; softmaxes++)
        for (int steps = 28; steps < 32; steps++) many_inputs(softmaxes, steps);
    large();
    pairs();
    updates();
    plain = kn_device_open("autodiff(cpu)"), fused = kn_device_open("autodiff(fusion(cpu))");
    same_bits(gradients, 4409, 1021);
    kn_device_use(NULL);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
