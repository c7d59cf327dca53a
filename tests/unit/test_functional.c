/* What is special about softmax, norms, embedding, dropout, rope and losses: edge values, errors and their texts,
   empty tensors, masks that come again, results that do not depend on tier or threads. */
#include "core/backends.h"
#include "core/device_object.h"
#include "support/check.h"
#include "support/tiers.h"
#include <math.h>
#include <stdlib.h>

static kn_tensor floats(const float *values, kn_shape shape)
{
    return kn_keep(kn_from(values, KN_F32, shape));
}
static kn_tensor integers(const int64_t *values, kn_shape shape)
{
    return kn_keep(kn_from(values, KN_I64, shape));
}
#define FLOATS(shape, ...) floats((const float[]){__VA_ARGS__}, shape)
#define INTEGERS(shape, ...) integers((const int64_t[]){__VA_ARGS__}, shape)

/* Numbers from a fixed generator, -1 to 1. */
static kn_tensor noise(kn_shape shape, kn_dtype dtype, uint32_t seed)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    float *values = malloc((size_t)(n ? n : 1) * sizeof *values);
    if (!values) return KN_NONE;
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(int32_t)seed * 0x1p-31f;
    }
    kn_tensor t = kn_from(values, KN_F32, shape);
    free(values);
    return kn_keep(dtype == KN_F32 ? t : kn_cast(t, dtype));
}

static void softmax_edges(void)
{
    /* A window far wider than the channels ends where they do: 2 / (1 + (4 + 9) / size) of 2 and 3. */
    kn_local_response_norm_args wide = {
        .size = INT64_C(1) << 40, .alpha = (double)(INT64_C(1) << 40), .beta = 1};
    kn_tensor pair = kn_from((const double[]){2, 3}, KN_F64, KN_SHAPE(1, 2, 1));
    CHECK_VALUES(kn_local_response_norm(pair, &wide), 1e-12, 2.0 / 14, 3.0 / 14);
    kn_tensor x = FLOATS(KN_SHAPE(4, 3), -INFINITY, -INFINITY, -INFINITY, 1, -INFINITY, 1, INFINITY, 0, 0,
                         1000, 1000, -1000);
    CHECK_VALUES(kn_softmax(x, 1), 1e-6, NAN, NAN, NAN, 0.5, 0, 0.5, NAN, NAN, NAN, 0.5, 0.5, 0);
    CHECK_VALUES(kn_quiet_softmax(FLOATS(KN_SHAPE(3), -INFINITY, -2000, -1500), 0), 1e-6, 0, 0, 0);
    CHECK_VALUES(kn_quiet_softmax(FLOATS(KN_SHAPE(1), 0), 0), 1e-6, 0.5);
    CHECK_VALUES(kn_softmax(kn_scalar(3, KN_F32), -1), 0, 1);
    CHECK(kn_count(kn_softmax(kn_zeros(KN_SHAPE(3, 0), KN_F32), 1)) == 0);
    CHECK(kn_count(kn_log_softmax(kn_zeros(KN_SHAPE(0, 3), KN_F32), 0)) == 0);
    CHECK_POISON(kn_softmax(x, 2), "axis 2");
    CHECK_POISON(kn_softmax(INTEGERS(KN_SHAPE(2), 1, 2), 0), "i64");
    CHECK_POISON(kn_softmin(kn_poison(KN_ERROR_SHAPE, "mine"), 0), "mine");
    CHECK_POISON(kn_softmax(KN_NONE, 0), "softmax");
}

static void norm_errors(void)
{
    kn_tensor x = noise(KN_SHAPE(2, 6, 3), KN_F32, 1), w = noise(KN_SHAPE(4), KN_F32, 2);
    CHECK_POISON(kn_layer_norm(x, w, KN_NONE, 1, 1e-5),
                 "[4] does not have the shape of the last 1 axes of [2, 6, 3]");
    CHECK_POISON(kn_layer_norm(x, KN_NONE, KN_NONE, 4, 1e-5), "cannot normalise the last 4 axes");
    CHECK_POISON(kn_rms_norm(kn_scalar(1, KN_F32), KN_NONE, 1, 1e-5), "rms_norm");
    CHECK_POISON(kn_group_norm(x, KN_NONE, KN_NONE, 4, 1e-5), "6 channels cannot be cut into 4 equal groups");
    CHECK_POISON(kn_group_norm(x, w, KN_NONE, 2, 1e-5),
                 "weight must have one element for each of 6 channels");
    CHECK_POISON(kn_instance_norm(noise(KN_SHAPE(2, 3), KN_F32, 1), KN_NONE, KN_NONE, 1e-5), "rank 3");
    CHECK_POISON(kn_batch_norm(x, w, w, KN_NONE, KN_NONE, 1e-5), "needs one element a channel");
    CHECK_POISON(kn_batch_norm_train(noise(KN_SHAPE(3), KN_F32, 1), KN_NONE, KN_NONE, 1e-5).y,
                 "[batch, channels, ...]");
    CHECK_POISON(kn_local_response_norm(x, &(kn_local_response_norm_args){.size = -1}),
                 "size must be at least 1");
}

static void norm_values(void)
{
    kn_tensor x = FLOATS(KN_SHAPE(2, 2), 1, 3, 5, 5);
    CHECK_VALUES(kn_layer_norm(x, KN_NONE, KN_NONE, 1, 0), 1e-6, -1, 1, NAN, NAN);
    CHECK_VALUES(kn_layer_norm(x, KN_NONE, FLOATS(KN_SHAPE(2), 1, 2), 1, 1), 1e-6, 1 - sqrt(0.5),
                 2 + sqrt(0.5), 1, 2);
    kn_batch_norm_result b = kn_batch_norm_train(x, KN_NONE, KN_NONE, 0);
    CHECK_VALUES(b.mean, 0, 3, 4);
    CHECK_VALUES(b.variance, 0, 4, 1);
    CHECK_VALUES(b.y, 1e-6, -1, -1, 1, 1);
    /* Statistics of half types are f32. */
    b = kn_batch_norm_train(kn_cast(noise(KN_SHAPE(5, 3), KN_F32, 4), KN_F16), KN_NONE, KN_NONE, 1e-5);
    CHECK(kn_dtype_of(b.y) == KN_F16 && kn_dtype_of(b.mean) == KN_F32 && kn_dtype_of(b.variance) == KN_F32);
    /* A constant channel has variance 0, not the square of a rounding error. */
    kn_tensor constant = kn_keep(kn_full(KN_SHAPE(7, 2, 1000), 0.1, KN_F32));
    CHECK_VALUES(kn_batch_norm_train(constant, KN_NONE, KN_NONE, 1e-5).variance, 0, 0, 0);
    CHECK(kn_count(kn_batch_norm_train(kn_zeros(KN_SHAPE(0, 2), KN_F32), KN_NONE, KN_NONE, 1e-5).y) == 0);
}

static void embedding_rows(void)
{
    kn_tensor w = FLOATS(KN_SHAPE(3, 2), 0, 1, 10, 11, 20, 21);
    CHECK_VALUES(kn_embedding(w, INTEGERS(KN_SHAPE(3), 2, 0, 2), NULL), 0, 20, 21, 0, 1, 20, 21);
    CHECK_POISON(kn_embedding(w, INTEGERS(KN_SHAPE(1), 3), NULL), "index 3 is out of range");
    CHECK_POISON(kn_embedding(w, INTEGERS(KN_SHAPE(1), -1), NULL), "index -1 is out of range");
    CHECK_POISON(kn_embedding(w, w, NULL), "must be an integer");
    CHECK_POISON(kn_embedding(w, INTEGERS(KN_SHAPE(1), 0), &(kn_embedding_args){.padding_index = 3}),
                 "padding_index");
    CHECK_POISON(kn_embedding(w, INTEGERS(KN_SHAPE(1), 0), &(kn_embedding_args){.padding_index = -4}),
                 "padding_index");
}

static void dropout_masks(kn_device device)
{
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(1000), KN_F32)),
              scaled = kn_keep(kn_ones(KN_SHAPE(4, 6, 5), KN_F32));
    kn_seed(device, 11);
    kn_tensor a = kn_keep(kn_dropout(x, 0.25, true)), b = kn_keep(kn_dropout(x, 0.25, true));
    kn_seed(device, 11);
    kn_tensor again = kn_keep(kn_dropout(x, 0.25, true));
    CHECK(kn_item(kn_sum(kn_cast(kn_not_equal(a, again), KN_F32), KN_AXES_ALL, false)) == 0);
    CHECK(kn_item(kn_sum(kn_cast(kn_not_equal(a, b), KN_F32), KN_AXES_ALL, false)) > 100);
    double kept = kn_item(kn_mean(a, KN_AXES_ALL, false));
    CHECK(kept > 0.9 && kept < 1.1);
    CHECK(fabs(kn_item(kn_max(a, KN_AXES_ALL, false)) - 4.0 / 3) < 1e-6);
    /* A channel is kept or dropped as a whole. */
    kn_tensor f = kn_keep(kn_feature_dropout(scaled, 0.5, true));
    kn_tensor spread = kn_sub(kn_max(f, KN_AXES(2), false), kn_min(f, KN_AXES(2), false));
    CHECK(kn_item(kn_max(spread, KN_AXES_ALL, false)) == 0);
    /* Dropping never multiplies by zero. */
    CHECK_VALUES(kn_dropout(FLOATS(KN_SHAPE(2), INFINITY, NAN), 1, true), 0, 0, 0);
    CHECK_VALUES(kn_dropout(FLOATS(KN_SHAPE(2), 1, 2), 0.5, false), 0, 1, 2);
    CHECK_POISON(kn_dropout(x, -0.1, true), "probability must be 0 to 1");
    CHECK_POISON(kn_dropout(x, NAN, true), "probability must be 0 to 1");
    CHECK_POISON(kn_feature_dropout(x, 0.5, true), "[batch, channels, ...]");
    kn_tensor normal = kn_keep(kn_alpha_dropout(noise(KN_SHAPE(10000), KN_F32, 9), 0.3, true));
    double lowest = kn_item(kn_min(normal, KN_AXES_ALL, false));
    CHECK(lowest < -0.9 && lowest > -1.3);
}

static void cross_entropy_edges(void)
{
    kn_tensor x = FLOATS(KN_SHAPE(2, 3), 1, 2, 3, 0, 0, 0);
    kn_tensor t = INTEGERS(KN_SHAPE(2), 2, -100);
    CHECK_VALUES(kn_cross_entropy(x, t, NULL), 1e-6, 0.40760596444437999);
    CHECK_VALUES(kn_cross_entropy(x, t, &(kn_cross_entropy_args){.reduction = KN_REDUCTION_NONE}), 1e-6,
                 0.40760596444437999, 0);
    /* Nothing counts: 0 / 0, as PyTorch. */
    CHECK_VALUES(kn_cross_entropy(x, INTEGERS(KN_SHAPE(2), -100, -100), NULL), 0, NAN);
    CHECK_VALUES(
        kn_cross_entropy(x, INTEGERS(KN_SHAPE(2), 0, 1), &(kn_cross_entropy_args){.ignore_index = KN_ZERO}),
        1e-6, log(3));
    CHECK_POISON(kn_cross_entropy(x, INTEGERS(KN_SHAPE(2), 0, 3), NULL), "3 is out of range");
    CHECK_POISON(kn_cross_entropy(x, INTEGERS(KN_SHAPE(2), 0, -1), NULL), "-1 is out of range");
    CHECK_POISON(kn_cross_entropy(x, INTEGERS(KN_SHAPE(3), 0, 1, 2), NULL), "does not fit logits [2, 3]");
    CHECK_POISON(kn_cross_entropy(x, FLOATS(KN_SHAPE(2), 0, 1), NULL), "must have the shape of the logits");
    CHECK_POISON(kn_cross_entropy(x, t, &(kn_cross_entropy_args){.label_smoothing = 1.5}), "label_smoothing");
    CHECK_POISON(kn_cross_entropy(x, t, &(kn_cross_entropy_args){.weight = FLOATS(KN_SHAPE(2), 1, 1)}),
                 "weight [2]");
    CHECK_POISON(kn_cross_entropy(kn_poison(KN_ERROR_IO, "lost"), t, NULL), "lost");
    CHECK_POISON(kn_nll_loss(x, INTEGERS(KN_SHAPE(2), 0, 3), NULL), "3");
    /* More positions than f16 can count, and a sum that it cannot hold. */
    kn_tensor many = kn_cast(kn_zeros(KN_SHAPE(70000, 4), KN_F32), KN_F16);
    CHECK_VALUES(kn_cross_entropy(many, kn_zeros(KN_SHAPE(70000), KN_I64), NULL), 1e-3, log(4));
}

static void loss_errors(void)
{
    kn_tensor a = noise(KN_SHAPE(3), KN_F32, 1), b = noise(KN_SHAPE(4), KN_F32, 2);
    CHECK_POISON(kn_mse_loss(a, b, KN_REDUCTION_MEAN), "kn_mse_loss");
    CHECK_POISON(kn_huber_loss(a, a, 0, KN_REDUCTION_MEAN), "delta is 0: it must be above 0");
    CHECK_POISON(kn_smooth_l1_loss(a, a, -1, KN_REDUCTION_MEAN), "beta is -1: it must be 0 or more");
    CHECK_POISON(kn_l1_loss(INTEGERS(KN_SHAPE(1), 1), INTEGERS(KN_SHAPE(1), 1), KN_REDUCTION_SUM), "i64");
    CHECK_POISON(kn_mse_loss(KN_NONE, a, KN_REDUCTION_SUM), "mse_loss");
    CHECK_VALUES(kn_binary_cross_entropy(FLOATS(KN_SHAPE(2), 0, 1), FLOATS(KN_SHAPE(2), 1, 1), NULL), 1e-6,
                 50);
}

static void ctc_edges(void)
{
    kn_tensor p = kn_keep(kn_log_softmax(noise(KN_SHAPE(4, 2, 3), KN_F32, 5), -1));
    kn_tensor t = INTEGERS(KN_SHAPE(2, 2), 1, 2, 1, 1), steps = INTEGERS(KN_SHAPE(2), 4, 2);
    kn_tensor labels = INTEGERS(KN_SHAPE(2), 2, 2);
    kn_tensor loss =
        kn_keep(kn_ctc_loss(p, t, steps, labels, &(kn_ctc_args){.reduction = KN_REDUCTION_NONE}));
    double values[2];
    CHECK(kn_read_as(loss, KN_F64, values, sizeof values) == KN_OK && values[0] > 0 && isinf(values[1]));
    kn_ctc_args zero = {.reduction = KN_REDUCTION_NONE, .zero_infinity = true};
    CHECK(kn_read_as(kn_ctc_loss(p, t, steps, labels, &zero), KN_F64, values, sizeof values) == KN_OK &&
          values[1] == 0);
    CHECK_POISON(kn_ctc_loss(p, INTEGERS(KN_SHAPE(2, 2), 1, 3, 1, 1), steps, labels, NULL), "3");
    CHECK_POISON(kn_ctc_loss(p, t, INTEGERS(KN_SHAPE(2), 5, 2), labels, NULL), "5");
    CHECK_POISON(kn_ctc_loss(p, t, steps, INTEGERS(KN_SHAPE(2), 3, 2), NULL), "3");
    CHECK_POISON(kn_ctc_loss(p, INTEGERS(KN_SHAPE(3), 1, 2, 1), steps, labels, NULL), "2");
    CHECK_POISON(kn_ctc_loss(p, t, steps, labels, &(kn_ctc_args){.blank = 3}), "blank is class 3");
}

static void rope_turns(void)
{
    kn_tensor x = noise(KN_SHAPE(2, 5, 6), KN_F64, 3);
    /* A rotation keeps lengths, and its angle is the distance of the tokens. */
    kn_tensor y = kn_keep(kn_rope(x, KN_NONE, KN_NONE, NULL));
    kn_tensor gap = kn_sub(kn_sum(kn_square(x), KN_AXES(2), false), kn_sum(kn_square(y), KN_AXES(2), false));
    CHECK(kn_item(kn_max(kn_abs(gap), KN_AXES_ALL, false)) < 1e-12);
    CHECK_VALUES(kn_rope(FLOATS(KN_SHAPE(1, 2), 1, 0), KN_NONE, KN_NONE, &(kn_rope_args){.offset = 3}), 1e-6,
                 cos(3), sin(3));
    CHECK_POISON(kn_rope(noise(KN_SHAPE(2, 5), KN_F32, 3), KN_NONE, KN_NONE, NULL), "even");
    CHECK_POISON(kn_rope(x, KN_NONE, noise(KN_SHAPE(5, 3), KN_F64, 1), NULL), "rope");
    CHECK_POISON(kn_rope_tables(3, 0, KN_F32, NULL).sines, "even and positive");
}

/* ---- gradients of gradients, and bits */

static kn_tensor norm_and_loss(void *context, const kn_tensor *in, int32_t n)
{
    (void)n;
    kn_tensor h = kn_layer_norm(in[0], in[1], KN_NONE, 1, 1e-3);
    return kn_cross_entropy(h, *(const kn_tensor *)context, &(kn_cross_entropy_args){.label_smoothing = 0.1});
}

static void gradients(kn_device inner)
{
    kn_device device = kn_device_autodiff(inner);
    kn_device_use(device);
    kn_tensor in[2] = {noise(KN_SHAPE(4, 5), KN_F64, 1), noise(KN_SHAPE(5), KN_F64, 2)};
    kn_tensor target = INTEGERS(KN_SHAPE(4), 0, 4, 2, 2);
    CHECK(kn_gradcheck(norm_and_loss, &target, in, 2, 0) == KN_OK);
    /* With given statistics: dx = dy weight / sqrt(variance + eps), here 4 / 2 and 2 / 4. */
    kn_tensor points = kn_require_grad(noise(KN_SHAPE(1, 2), KN_F64, 5)), dpoints;
    kn_tensor pair = kn_keep(kn_from((double[]){4, 2}, KN_F64, KN_SHAPE(2)));
    kn_tensor spread = kn_keep(kn_from((double[]){3, 15}, KN_F64, KN_SHAPE(2)));
    kn_tensor normed = kn_keep(kn_batch_norm(points, pair, spread, pair, pair, 1));
    kn_tensor unit = kn_keep(kn_ones(KN_SHAPE(1, 2), KN_F64));
    CHECK(kn_grad(&normed, &unit, 1, &points, 1, 0, &dpoints) == KN_OK);
    CHECK_VALUES(dpoints, 1e-12, 2, 0.5);
    /* The mask of the gradient is the mask of the result. */
    kn_tensor x = kn_require_grad(noise(KN_SHAPE(513), KN_F32, 3)), y = kn_keep(kn_dropout(x, 0.4, true)), dx;
    kn_tensor ones = kn_keep(kn_ones(KN_SHAPE(513), KN_F32));
    CHECK(kn_grad(&y, &ones, 1, &x, 1, 0, &dx) == KN_OK);
    kn_tensor differs = kn_not_equal(kn_equal_scalar(y, 0), kn_equal_scalar(dx, 0));
    CHECK(kn_item(kn_sum(kn_cast(differs, KN_F32), KN_AXES_ALL, false)) == 0);
    /* The padding row of an embedding gets nothing. */
    kn_tensor w = kn_require_grad(noise(KN_SHAPE(3, 2), KN_F32, 4)), dw;
    kn_tensor rows = kn_keep(kn_embedding(w, INTEGERS(KN_SHAPE(3), 1, 0, 1), &(kn_embedding_args){KN_ZERO}));
    kn_tensor dy = kn_keep(kn_ones(KN_SHAPE(3, 2), KN_F32));
    CHECK(kn_grad(&rows, &dy, 1, &w, 1, 0, &dw) == KN_OK);
    CHECK_VALUES(dw, 0, 0, 0, 2, 2, 0, 0);
    kn_device_use(NULL);
}

/* A checksum of results that use every native kernel, for one dtype. */
static uint64_t checksum(kn_dtype dtype)
{
    uint64_t sum = 1469598103934665603u;
    kn_tensor x = noise(KN_SHAPE(37, 50, 41), dtype, 1), w = noise(KN_SHAPE(41), dtype, 2);
    kn_tensor c = noise(KN_SHAPE(50), dtype, 3), t = kn_keep(kn_zeros(KN_SHAPE(37, 41), KN_I64));
    kn_tensor results[8] = {
        kn_softmax(x, 2),
        kn_softmax(x, 1),
        kn_log_softmax(x, 0),
        kn_layer_norm(x, w, w, 1, 1e-5),
        kn_rms_norm(x, w, 1, 1e-5),
        kn_batch_norm_train(x, c, c, 1e-5).y,
        kn_batch_norm_train(kn_reshape(x, KN_SHAPE(1850, 41)), w, w, 1e-5).y,
        kn_cross_entropy(x, t, &(kn_cross_entropy_args){.weight = c, .label_smoothing = 0.1})};
    for (int i = 0; i < 8; i++) {
        size_t bytes = (size_t)kn_dtype_bytes(dtype, kn_count(results[i]));
        unsigned char *data = malloc(bytes);
        if (!data || kn_read(results[i], data, bytes) != KN_OK) sum = 0;
        for (size_t k = 0; data && k < bytes; k++) sum = (sum ^ data[k]) * 1099511628211u;
        free(data);
    }
    return sum;
}

static void same_bits(void)
{
    static const kn_dtype dtypes[] = {KN_F32, KN_F64, KN_F16, KN_BF16};
    kni_tier best = kni_cpu_tier();
    for (int d = 0; d < 4; d++) {
        kni_cpu_set_tier(KNI_ISA_SCALAR);
        kn_set_threads(1);
        uint64_t want = checksum(dtypes[d]);
        CHECK(want != 0);
        for (kni_tier tier = KNI_ISA_SCALAR; tier < KNI_ISA_COUNT; tier = (kni_tier)(tier + 1)) {
            if (!tier_runs(tier)) continue;
            kni_cpu_set_tier(tier);
            kn_set_threads(3);
            CHECK(checksum(dtypes[d]) == want);
        }
    }
    kni_cpu_set_tier(best);
    kn_set_threads(0);
}

static void run_all(kn_device device)
{
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    softmax_edges();
    norm_errors();
    norm_values();
    embedding_rows();
    dropout_masks(device);
    cross_entropy_edges();
    loss_errors();
    ctc_edges();
    rope_turns();
    gradients(device);
    kn_scope_end(scope, KN_NONE);
}

int main(void)
{
    run_all(kn_device_cpu());
    run_all(kni_device_make(kni_ref_backend(), "ref"));
    kn_device_use(kn_device_cpu());
    kn_scope scope = kn_scope_begin();
    same_bits();
    kn_scope_end(scope, KN_NONE);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
