/* Losses, activations by kind and initializers: PyTorch's values, formulas and errors. */
#include "train/nn_value.h"
#include <math.h>

static kn_tensor classes(const int64_t *values) { return kn_from(values, KN_I64, KN_SHAPE(4)); }

static void margins(void)
{
    static const int64_t t[] = {1, 0, 4, 2};
    NN_CHECK(kn_multi_margin_loss(nn_tensor("loss.x"), classes(t), NULL), "loss.margin");
    kn_multi_margin_args args = {.margin = 0.5, .p = 2, .reduction = KN_REDUCTION_NONE};
    args.weight = kn_keep(nn_tensor("loss.weight"));
    NN_CHECK(kn_multi_margin_loss(nn_tensor("loss.x"), classes(t), &args), "loss.margin.square");
    NN_CHECK(kn_soft_margin_loss(nn_tensor("loss.x"), nn_tensor("loss.signs"), KN_REDUCTION_NONE),
             "loss.soft_margin");
    CHECK_VALUES(kn_soft_margin_loss(kn_scalar(-800, KN_F32), kn_scalar(1, KN_F32), KN_REDUCTION_MEAN), 1e-6,
                 800);
    CHECK_POISON(kn_multi_margin_loss(nn_tensor("loss.x"), kn_scalar_int(1, KN_I64), NULL),
                 "their ranks are 2 and 0");
    /* p = 0 is the default 1. */
    NN_CHECK(kn_multi_margin_loss(nn_tensor("loss.x"), classes(t), &(kn_multi_margin_args){.p = 0}),
             "loss.margin");
    CHECK_POISON(kn_multi_margin_loss(nn_tensor("loss.x"), classes(t), &(kn_multi_margin_args){.p = 3}),
                 "1 or 2");
}

static void distances(void)
{
    kn_tensor x = kn_keep(nn_tensor("loss.x")), t = kn_keep(nn_tensor("loss.target"));
    NN_CHECK(kn_lp_loss(x, t, 3, KN_REDUCTION_MEAN), "loss.lp3");
    NN_CHECK(kn_lp_loss(x, t, 1, KN_REDUCTION_BATCH_MEAN), "loss.batch_mean");
    CHECK(kn_item(kn_lp_loss(x, t, 2, KN_REDUCTION_SUM)) == kn_item(kn_mse_loss(x, t, KN_REDUCTION_SUM)));
    CHECK_POISON(kn_lp_loss(x, kn_zeros(KN_SHAPE(5), KN_F32), 1, KN_REDUCTION_MEAN), "they need one shape");
    CHECK_POISON(kn_lp_loss(x, t, 0, KN_REDUCTION_MEAN), "p is 0");
    CHECK_POISON(kn_reduce_loss(x, (kn_reduction)9), "no reduction 9");
    NN_CHECK(kn_gram_matrix_loss(nn_tensor("loss.gram.a"), nn_tensor("loss.gram.b"), KN_REDUCTION_MEAN),
             "loss.gram");
    CHECK_POISON(kn_gram_matrix(kn_zeros(KN_SHAPE(2, 2), KN_F32)), "channels, height, width");
}

/* A temporary may be both x and target, also where a half type is widened first. */
static void of_itself(void)
{
    static const kn_dtype dtypes[] = {KN_F32, KN_F16, KN_BF16};
    for (int i = 0; i < 3; i++) {
        kn_tensor x = kn_full(KN_SHAPE(4), 2, dtypes[i]);
        CHECK_VALUES(kn_lp_loss(x, x, 3, KN_REDUCTION_SUM), 0, 0);
        x = kn_full(KN_SHAPE(4), 0, dtypes[i]);
        CHECK_VALUES(kn_soft_margin_loss(x, x, KN_REDUCTION_MEAN), 4e-3, 0.6931472); /* log 2 */
    }
}

static void entropies(void)
{
    static const int64_t t[] = {1, 0, 4, 2}, pads[] = {0, 4};
    kn_tensor weight = kn_keep(nn_tensor("loss.weight")), x = kn_keep(nn_tensor("loss.x"));
    kn_cross_entropy_tokens_args args = {
        .pad_tokens = pads, .n_pad_tokens = 2, .reduction = KN_REDUCTION_NONE};
    NN_CHECK(kn_cross_entropy_tokens(x, classes(t), &args), "loss.entropy.none");
    args.probabilities = true;
    NN_CHECK(kn_cross_entropy_tokens(kn_softmax(x, 1), classes(t), &args), "loss.entropy.none");
    double sum = kn_item(kn_sum(nn_tensor("loss.entropy.none"), KN_AXES_ALL, false));
    args.reduction = KN_REDUCTION_BATCH_MEAN;
    CHECK_VALUES(kn_cross_entropy_tokens(kn_softmax(x, 1), classes(t), &args), 1e-6, sum / 4);
    kn_cross_entropy_tokens_args smooth = {
        .pad_tokens = pads, .n_pad_tokens = 2, .weight = weight, .smoothing = 0.2};
    NN_CHECK(kn_cross_entropy_tokens(x, classes(t), &smooth), "loss.entropy");
    kn_tensor truth = kn_keep(kn_greater_scalar(nn_tensor("loss.signs"), 0));
    kn_binary_cross_entropy_loss_args logits = {.logits = true, .smoothing = 0.2, .weight = weight};
    logits.pos_weight = kn_keep(kn_mul_scalar(weight, 2));
    NN_CHECK(kn_binary_cross_entropy_loss(x, truth, &logits), "loss.binary");
    kn_binary_cross_entropy_loss_args plain = {.smoothing = 0.2, .reduction = KN_REDUCTION_SUM};
    NN_CHECK(kn_binary_cross_entropy_loss(kn_sigmoid(x), truth, &plain), "loss.binary.plain");
    plain.smoothing = 2;
    CHECK_POISON(kn_binary_cross_entropy_loss(x, truth, &plain), "smoothing 2 is outside");
    CHECK_POISON(kn_binary_cross_entropy_loss(x, weight, NULL), "they need one shape");
}

/* ---- activations */

static void activations(void)
{
    kn_tensor x = kn_keep(nn_tensor("activation.x"));
    char name[64];
    for (int kind = 0; kind < KN_ACTIVATION_COUNT; kind++) {
        if (kind == KN_ACTIVATION_SWIGLU) continue;
        kn_nn_activation m;
        CHECK(kn_nn_activation_init(&m, (kn_activation_kind)kind, NULL) == KN_OK);
        kn_module_train(KN_MODULE_OF(kn_nn_activation, &m), false);
        snprintf(name, sizeof name, "activation.%s", kn_activation_name((kn_activation_kind)kind));
        NN_CHECK(kn_nn_activation_forward(&m, x), name);
        if (kind != KN_ACTIVATION_PRELU) NN_CHECK(kn_activate((kn_activation_kind)kind, x), name);
        kn_module_drop(KN_MODULE_OF(kn_nn_activation, &m));
    }
    CHECK(kn_activation_name(KN_ACTIVATION_COUNT) == NULL);
    CHECK_POISON(kn_activate(KN_ACTIVATION_PRELU, x), "has params");
}

static void activation_settings(void)
{
    kn_nn_activation m;
    kn_tensor x = kn_keep(kn_from((float[]){-2, 2}, KN_F32, KN_SHAPE(2)));
    CHECK(kn_nn_activation_init(&m, KN_ACTIVATION_LEAKY_RELU, &(kn_nn_activation_args){.a = 0.5}) == KN_OK);
    CHECK_VALUES(kn_nn_activation_forward(&m, x), 0, -1, 2);
    kn_nn_activation_args zero = {.a = (double)KN_ZERO};
    CHECK(kn_nn_activation_init(&m, KN_ACTIVATION_HARDTANH, &zero) == KN_OK);
    CHECK_VALUES(kn_nn_activation_forward(&m, x), 0, 0, 1);
    /* While training each negative element gets its own slope. */
    CHECK(kn_nn_activation_init(&m, KN_ACTIVATION_RRELU, NULL) == KN_OK);
    kn_tensor slopes = kn_keep(kn_nn_activation_forward(&m, kn_full(KN_SHAPE(2000), -1, KN_F32)));
    CHECK(kn_item(kn_max(slopes, KN_AXES_ALL, false)) <= -0.125 &&
          kn_item(kn_min(slopes, KN_AXES_ALL, false)) >= -0.334);
    CHECK(kn_item(kn_std(slopes, KN_AXES_ALL, false, NULL)) > 0.05);
    CHECK(kn_nn_activation_init(&m, KN_ACTIVATION_SWIGLU,
                                &(kn_nn_activation_args){.in_features = 2, .out_features = 3}) == KN_OK);
    nn_set(&m.swiglu->linear_inner.weight, "swiglu.inner");
    nn_set(&m.swiglu->linear_outer.weight, "swiglu.outer");
    NN_CHECK(kn_nn_activation_forward(&m, nn_tensor("swiglu.x")), "swiglu.y");
    CHECK(kn_module_find(KN_MODULE_OF(kn_nn_activation, &m), "swiglu.linear_inner.weight") != NULL);
    kn_module_drop(KN_MODULE_OF(kn_nn_activation, &m));
    CHECK_ERROR(kn_nn_activation_init(&m, KN_ACTIVATION_SWIGLU, NULL), "in_features is 0");
    CHECK_ERROR(kn_nn_activation_init(&m, (kn_activation_kind)99, NULL), "no kind 99");
}

/* ---- initializers */

typedef struct spread {
    double low, high, mean, deviation;
} spread;

static spread measure(kn_initializer i, kn_shape shape)
{
    kn_tensor w = kn_keep(kn_initialize(&i, shape, KN_F32, 0, 0));
    return (spread){kn_item(kn_min(w, KN_AXES_ALL, false)), kn_item(kn_max(w, KN_AXES_ALL, false)),
                    kn_item(kn_mean(w, KN_AXES_ALL, false)), kn_item(kn_std(w, KN_AXES_ALL, false, NULL))};
}

static bool near(double a, double b, double part) { return fabs(a - b) <= part * fabs(b); }

/* A weight [40, 30, 5]: fan_in 150, fan_out 200. */
static void initializers(void)
{
    kn_shape shape = KN_SHAPE(40, 30, 5);
    const struct {
        kn_initializer i;
        double bound; /* of a uniform one, 0 for a normal one */
        double deviation;
    } cases[] = {{{KN_INIT_DEFAULT, 0, 0, 0, false}, 1 / sqrt(150), 1 / sqrt(450)},
                 {{KN_INIT_UNIFORM, -2, 2, 0, false}, 2, 2 / sqrt(3)},
                 {{KN_INIT_NORMAL, 0, 3, 0, false}, 0, 3},
                 {{KN_INIT_KAIMING_UNIFORM, 0, 0, sqrt(2), false}, sqrt(6.0 / 150), sqrt(2.0 / 150)},
                 {{KN_INIT_KAIMING_UNIFORM, 0, 0, 0, true}, sqrt(3.0 / 200), sqrt(1.0 / 200)},
                 {{KN_INIT_KAIMING_NORMAL, 0, 0, sqrt(2), false}, 0, sqrt(2.0 / 150)},
                 {{KN_INIT_XAVIER_UNIFORM, 0, 0, 2, false}, 2 * sqrt(6.0 / 350), 2 * sqrt(2.0 / 350)},
                 {{KN_INIT_XAVIER_NORMAL, 0, 0, 0, false}, 0, sqrt(2.0 / 350)}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spread s = measure(cases[c].i, shape);
        double bound = cases[c].bound;
        CHECK(near(s.deviation, cases[c].deviation, 0.04) && fabs(s.mean) < 0.05 * cases[c].deviation);
        CHECK(bound == 0 ||
              (near(s.high, bound, 0.01) && near(s.low, -bound, 0.01) && s.high <= bound * 1.000001));
        CHECK(bound > 0 || s.high > 2.5 * cases[c].deviation);
    }
    CHECK(measure((kn_initializer){KN_INIT_CONSTANT, 0.25, 0, 0, false}, shape).mean == 0.25);
    CHECK(measure((kn_initializer){KN_INIT_ONES, 0, 0, 0, false}, shape).low == 1);
    CHECK(measure((kn_initializer){KN_INIT_ZEROS, 0, 0, 0, false}, shape).high == 0);
}

static void orthogonal(void)
{
    kn_initializer i = {KN_INIT_ORTHOGONAL, 0, 0, 2, false};
    kn_shape shapes[] = {KN_SHAPE(6, 2, 2), KN_SHAPE(3, 2, 4), KN_SHAPE(5, 5)};
    for (int k = 0; k < 3; k++) {
        kn_tensor w = kn_keep(kn_flatten(kn_initialize(&i, shapes[k], KN_F64, 0, 0), 1, -1));
        int64_t rows = kn_size(w, 0), columns = kn_size(w, 1), n = rows < columns ? rows : columns;
        kn_tensor product = rows < columns ? kn_matmul(w, kn_t(w)) : kn_matmul(kn_t(w), w);
        kn_tensor gap = kn_sub(product, kn_mul_scalar(kn_eye(n, n, KN_F64), 4));
        CHECK(kn_item(kn_max_abs(gap, KN_AXES_ALL, false)) < 1e-12);
    }
    CHECK_POISON(kn_initialize(&i, KN_SHAPE(3), KN_F32, 0, 0), "at least two axes");
    CHECK_POISON(kn_initialize(NULL, KN_SHAPE(3), KN_F32, 0, 0), "give fan_in");
    CHECK_POISON(kn_initialize(NULL, KN_SHAPE(3, 3), KN_I32, 0, 0), "float dtype");
    kn_param p = {KN_NONE};
    CHECK_ERROR(kn_param_initialize(&p, &i, KN_SHAPE(3), KN_F32, 0, 0), "at least two axes");
    CHECK(p.handle.bits == 0);
}

int main(void)
{
    int64_t before = kn_memory_stats().tensors_now;
    kn_scope scope = kn_scope_begin();
    margins();
    distances();
    of_itself();
    entropies();
    activations();
    activation_settings();
    initializers();
    orthogonal();
    kn_scope_end(scope, KN_NONE);
    CHECK(kn_memory_stats().tensors_now == before);
    return check_report();
}
