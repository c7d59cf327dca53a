/* Norms by schedule: mean and variance in one walk of the input, in every form that rows take, where the mean is large
   beside the distances from it and nothing but merged moments keeps their digits. Runs in the IR interpreter. */
#include "../support/check.h"
#include "ops/norm.h"
#include "test_sched_leaf.h"
#include <math.h>

enum { MOST = 1 << 18 };
static kn_device leaf;
static double values[MOST], read_back[MOST];

/* A tensor [outer, channels, inner], of values around `mean` that lie about 1 from it; `last`: channels are innermost in memory.
   What its elements came to in the dtype is in `values`, in the order of the tensor. */
static kn_tensor input(int64_t outer, int64_t channels, int64_t inner, double mean, kn_dtype dtype, bool last)
{
    int64_t n = outer * channels * inner;
    for (int64_t i = 0; i < n; i++) values[i] = mean + sin(0.7 * (double)i) + cos(1.3 * (double)(i % 1013));
    kn_shape shape = last ? KN_SHAPE(outer, inner, channels) : KN_SHAPE(outer, channels, inner);
    kn_tensor x = kn_cast(kn_from(values, KN_F64, shape), dtype);
    kn_tensor there = kn_to(kn_keep(x), leaf);
    if (last) x = kn_transpose(x, 1, 2);
    CHECK(kn_read_as(x, KN_F64, values, (size_t)n * 8) == KN_OK);
    return kn_keep(last ? kn_transpose(there, 1, 2) : there);
}

static void moments_of(int64_t outer, int64_t channels, int64_t inner, int64_t c, double *mean,
                       double *variance)
{
    double sum = 0, squares = 0;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) sum += values[(o * channels + c) * inner + i];
    *mean = sum / (double)(outer * inner);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            double d = values[(o * channels + c) * inner + i] - *mean;
            squares += d * d;
        }
    *variance = squares / (double)(outer * inner);
}

static bool near(double got, double want, double tolerance)
{
    return fabs(got - want) <= tolerance * fmax(1, fabs(want));
}

typedef struct shape_case {
    const char *what;
    int64_t outer, channels, inner;
    bool last;
    uint32_t processors;
    int launches; /* of the op in training */
} shape_case;

static const shape_case cases[] = {
    {"a row in registers", 4, 5, 40, false, 2, 1},
    {"a walk along a row", 3, 8, 3001, false, 2, 1},
    {"a walk along parts", 2, 3, 30000, false, 16, 2},
    {"parts of which the last is short", 1, 2, 70001, false, 16, 2},
    {"down the rows", 2, 40, 3, true, 2, 1},
    {"down rows that are not worth parts", 2, 24, 900, true, 16, 1},
    {"down parts of the rows", 2, 8, 9000, true, 16, 2},
    {"down few rows in lanes", 1, 7, 30001, true, 16, 2},
};

static void trains(const shape_case *s, double mean, kn_dtype dtype)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = input(s->outer, s->channels, s->inner, mean, dtype, s->last);
    leaf_target.processors = s->processors;
    leaf_launched = 0;
    leaf_holds = s->last; /* without its result of x's shape, which would lie along the rows */
    kn_batch_norm_result r = kn_batch_norm_train(x, KN_NONE, KN_NONE, 1e-5);
    kn_tensor statistics[2] = {kn_keep(r.mean), kn_keep(r.variance)};
    if (s->last) CHECK(leaf_release(KNI_GROUP_ROWS, statistics, 2) == KN_OK);
    bool good = CHECK(leaf_launched == s->launches);
    double means[64], variances[64];
    double digits = dtype == KN_F64 ? 1e-12 : 3e-6, half = dtype == KN_BF16 ? 1e-2 : 0;
    int64_t n = s->outer * s->channels * s->inner;
    CHECK(kn_read_as(statistics[0], KN_F64, means, (size_t)s->channels * 8) == KN_OK);
    CHECK(kn_read_as(statistics[1], KN_F64, variances, (size_t)s->channels * 8) == KN_OK);
    if (!s->last) CHECK(kn_read_as(r.y, KN_F64, read_back, (size_t)n * 8) == KN_OK);
    for (int64_t c = 0; c < s->channels && good; c++) {
        double m, v;
        moments_of(s->outer, s->channels, s->inner, c, &m, &v);
        good = CHECK(near(means[c], m, digits)) && CHECK(near(variances[c], v, 20 * digits));
        /* The mean has an f32's digits, and an element is as far from right as it is. */
        double far = half + 1e-5 + (dtype == KN_F64 ? 0 : fabs(mean) * 3e-7);
        for (int64_t i = 0; i < s->outer * s->inner && good && !s->last; i++) {
            int64_t at = (i / s->inner * s->channels + c) * s->inner + i % s->inner;
            good = near(read_back[at], (values[at] - m) / sqrt(v + 1e-5), far);
            if (!good) good = CHECK(false);
        }
        if (!good) printf("mean %.9g of %.9g, variance %.9g of %.9g\n", means[c], m, variances[c], v);
    }
    if (!good) printf("%s, %lld launches\n", s->what, (long long)leaf_launched);
    kn_scope_end(scope, KN_NONE);
}

/* Variances as an op of their own, and a norm over the last axes of rows that no team can hold. */
static void along_last_axes(int64_t rows, int64_t width, uint32_t processors, int launches)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = input(1, rows, width, 1e4, KN_F32, false);
    leaf_target.processors = processors;
    leaf_launched = 0;
    kn_tensor y = kn_keep(kn_layer_norm(x, KN_NONE, KN_NONE, 1, 1e-5));
    CHECK(leaf_launched == launches);
    leaf_launched = 0;
    kn_moments m = kn_var_mean(x, KN_AXES(2), false, NULL);
    CHECK(leaf_launched == launches);
    CHECK(kn_read_as(y, KN_F64, read_back, (size_t)(rows * width) * 8) == KN_OK);
    double variances[16], mean, variance, n = (double)width;
    CHECK(kn_read_as(m.var, KN_F64, variances, (size_t)rows * 8) == KN_OK);
    for (int64_t r = 0; r < rows; r++) {
        moments_of(1, rows, width, r, &mean, &variance);
        if (!CHECK(near(variances[r], variance * n / (n - 1), 1e-5)))
            printf("variance %.9g of %.9g\n", variances[r], variance * n / (n - 1));
        CHECK(near(read_back[r * width + 7], (values[r * width + 7] - mean) / sqrt(variance + 1e-5), 5e-3));
    }
    kn_scope_end(scope, KN_NONE);
}

/* What is infinite or NaN stays so, and a channel without it is not touched. */
static void keeps_specials(void)
{
    enum { WIDTH = 9000 };
    static float x[3 * WIDTH];
    float mean[3], variance[3];
    for (int i = 0; i < 3 * WIDTH; i++) x[i] = (float)(i % 5);
    x[10] = NAN;
    x[WIDTH + 20] = INFINITY;
    kn_scope scope = kn_scope_begin();
    leaf_target.processors = 16;
    kn_tensor t = kn_to(kn_from(x, KN_F32, KN_SHAPE(1, 3, WIDTH)), leaf);
    kn_batch_norm_result r = kn_batch_norm_train(t, KN_NONE, KN_NONE, 1e-5);
    CHECK(kn_read(r.mean, mean, sizeof mean) == KN_OK);
    CHECK(kn_read(r.variance, variance, sizeof variance) == KN_OK);
    CHECK(isnan(mean[0]) && isinf(mean[1]) && isnan(variance[0]) && isnan(variance[1]));
    CHECK(near(mean[2], 2, 1e-6) && near(variance[2], 2, 1e-6));
    kn_scope_end(scope, KN_NONE);
}

/* What comes before and after a norm is part of its kernels: the statistics are of the sum, and the result is bounded. */
static void joined(int64_t outer, int64_t channels, int64_t inner, int launches)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = input(outer, channels, inner, 100, KN_F32, false), result[4], y[2];
    int64_t n = outer * channels * inner;
    leaf_target.processors = 16;
    kn_tensor w = kn_keep(kn_to(kn_arange(1, (double)channels + 1, 1, KN_F32), leaf));
    for (int held = 0; held < 2; held++) {
        leaf_holds = held;
        leaf_launched = 0;
        kn_tensor before = kn_keep(kn_mul_scalar(x, 0.5));
        kn_batch_norm_result r = kn_batch_norm_train(before, w, w, 1e-5);
        y[held] = result[0] = kn_keep(kn_relu(kn_add(r.y, x)));
        result[1] = kn_keep(r.mean);
        result[2] = kn_keep(r.variance);
        if (held) CHECK(leaf_release(KNI_GROUP_ROWS, result, 3) == KN_OK && leaf_launched == launches);
    }
    CHECK(kn_read_as(y[0], KN_F64, values, (size_t)n * 8) == KN_OK);
    CHECK(kn_read_as(y[1], KN_F64, read_back, (size_t)n * 8) == KN_OK);
    bool good = true;
    for (int64_t i = 0; i < n && good; i++) good = CHECK(near(read_back[i], values[i], 1e-5));
    kn_scope_end(scope, KN_NONE);
}

/* A block of a residual network: the norm, what is added to it and the bound are one group forward, and so are the bound's
   gradient and the norm's. What moves the running average is a kernel of its own, which writes it where it lies. */
static void block_under_fusion(int64_t outer, int64_t channels, int64_t inner, int forward, int backward)
{
    kn_device devices[2] = {kn_device_open("autodiff(cpu)"), kn_device_open("autodiff(fusion(leaf))")};
    static double want[4][64], got[4][64];
    leaf_target.processors = 16;
    for (int side = 0; side < 2; side++) {
        kn_scope scope = kn_scope_begin();
        kn_device_use(devices[side]);
        kn_shape shape = KN_SHAPE(outer, channels, inner);
        kn_tensor place = kn_reshape(kn_arange(0, (double)(outer * channels * inner), 1, KN_F32), shape);
        kn_tensor x = kn_require_grad(kn_keep(kn_sin(place))), r = kn_require_grad(kn_keep(kn_cos(x)));
        kn_tensor w = kn_require_grad(kn_arange(1, (double)channels + 1, 1, KN_F32));
        kn_tensor running = kn_keep(kn_zeros(KN_SHAPE(channels), KN_F32));
        CHECK(kn_sync(NULL) == KN_OK);
        leaf_groups = leaf_refused = leaf_launched = 0;
        kn_batch_norm_result b = kn_batch_norm_train(x, w, KN_NONE, 1e-5);
        kn_tensor y = kn_keep(kn_relu(kn_add(b.y, r)));
        running = kn_keep(kn_lerp(running, kn_detach(b.mean), kn_scalar(0.25, KN_F32)));
        CHECK(kn_sync(NULL) == KN_OK);
        if (side && !(CHECK(leaf_groups == 1 && leaf_refused == 0) && CHECK(leaf_launched == forward)))
            printf("%d groups, %d launches forward\n", leaf_groups, leaf_launched);
        kn_tensor dy = kn_keep(kn_cos(kn_mul_scalar(y, 3))), wrt[3] = {x, r, w}, grads[3];
        CHECK(kn_sync(NULL) == KN_OK);
        leaf_groups = leaf_refused = leaf_launched = 0;
        CHECK(kn_grad(&y, &dy, 1, wrt, 3, 0, grads) == KN_OK);
        CHECK(kn_sync(NULL) == KN_OK);
        if (side && !(CHECK(leaf_groups == 1 && leaf_refused == 0) && CHECK(leaf_launched == backward)))
            printf("%d groups, %d launches backward\n", leaf_groups, leaf_launched);
        kn_tensor results[4] = {running, grads[0], grads[1], grads[2]};
        for (int i = 0; i < 4; i++) {
            kn_tensor few = i == 0 || i == 3 ? results[i] : kn_sum(results[i], KN_AXES(2), false);
            few = kn_keep(kn_flatten(few, 0, -1));
            int64_t n = kn_count(few);
            double(*into)[64] = side ? got : want;
            CHECK(n <= 64 && kn_read_as(few, KN_F64, into[i], (size_t)n * 8) == KN_OK);
            for (int64_t k = 0; side && k < n; k++)
                if (!CHECK(fabs(got[i][k] - want[i][k]) <= 2e-4 * fmax(1, fabs(want[i][k]))))
                    printf("result %d: %g, not %g\n", i, got[i][k], want[i][k]);
        }
        kn_scope_end(scope, KN_NONE);
    }
    kn_device_use(NULL);
}

/* In evaluation a norm is a map of channels: it joins elementwise records. */
static void evaluation_under_fusion(void)
{
    kn_device devices[2] = {kn_device_open("cpu"), kn_device_open("fusion(leaf)")};
    static double want[2 * 6 * 50], got[2 * 6 * 50];
    for (int side = 0; side < 2; side++) {
        kn_scope scope = kn_scope_begin();
        kn_device_use(devices[side]);
        kn_tensor x = kn_keep(kn_reshape(kn_arange(0, 600, 1, KN_F32), KN_SHAPE(2, 6, 5, 10)));
        kn_tensor c = kn_keep(kn_arange(1, 7, 1, KN_F32)), mean = kn_keep(kn_sin(c)),
                  bias = kn_keep(kn_neg(c));
        CHECK(kn_sync(NULL) == KN_OK);
        leaf_groups = leaf_refused = leaf_launched = 0;
        kn_tensor y = kn_batch_norm(kn_sin(x), mean, c, c, bias, 1e-5);
        y = kn_keep(kn_relu(kn_add(y, kn_cos(x))));
        CHECK(kn_read_as(y, KN_F64, side ? got : want, sizeof want) == KN_OK);
        if (side && !CHECK(leaf_launched == 1)) printf("%d launches in evaluation\n", leaf_launched);
        kn_scope_end(scope, KN_NONE);
    }
    for (int i = 0; i < 600; i++)
        if (!CHECK(near(got[i], want[i], 1e-5))) break;
    kn_device_use(NULL);
}

int main(void)
{
    kn_backend_register("leaf", leaf_open);
    leaf = kn_device_open("leaf");
    CHECK(leaf != NULL);
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        trains(&cases[i], 1e4, KN_F32);
        trains(&cases[i], -3, KN_F32);
        trains(&cases[i], 1e6, KN_F64);
        trains(&cases[i], 2, KN_BF16);
    }
    along_last_axes(6, 9001, 2, 1);
    along_last_axes(2, 70000, 16, 2);
    keeps_specials();
    joined(4, 5, 40, 1);
    joined(2, 3, 30000, 2);
    block_under_fusion(4, 5, 40, 2, 1);
    block_under_fusion(2, 3, 30000, 3, 2);
    evaluation_under_fusion();
    return check_report();
}
