/* Layers over functions of several ops: instance norm with running averages, bags of embeddings, pooling by powers and at random
   places, shuffled channels. Reference values from PyTorch. */
#include "support/check.h"
#include <kn/nn.h>

static kn_tensor wave(kn_shape shape)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    return kn_sin(kn_mul_scalar(kn_reshape(kn_arange(0, (double)n, 1, KN_F64), shape), 1.7));
}

static void running_averages_of_instances(void)
{
    kn_scope scope = kn_scope_begin();
    kn_nn_instance_norm m;
    kn_tensor x = kn_keep(wave(KN_SHAPE(2, 3, 4)));
    kn_nn_instance_norm_args args = {.affine = true, .tracking = true, .dtype = KN_F64};
    CHECK(kn_nn_instance_norm_init(&m, 3, &args) == KN_OK);
    kn_tensor y = kn_keep(kn_nn_instance_norm_forward(&m, x));
    CHECK_VALUES(kn_select(kn_select(y, 0, 1), 0, 2), 1e-10, 0.617039408876, -1.34923283726, -0.508747500728,
                 1.24094092911);
    CHECK(kn_ok(kn_nn_instance_norm_forward(&m, kn_add_scalar(kn_mul_scalar(x, 2), 1))));
    CHECK_VALUES(kn_value(m.running_mean), 1e-10, 0.103216289917, 0.111353192141, 0.116524583593);
    CHECK_VALUES(kn_value(m.running_var), 1e-10, 1.13357652149, 1.13417264662, 1.13489758278);
    kn_module_train(KN_MODULE_OF(kn_nn_instance_norm, &m), false);
    kn_tensor z = kn_keep(kn_nn_instance_norm_forward(&m, x));
    CHECK_VALUES(kn_select(kn_select(z, 0, 0), 0, 0), 1e-10, -0.0969439938697, 0.834458863009, -0.33695625403,
                 -0.966498334179);
    /* Evaluation moves nothing. */
    CHECK_VALUES(kn_value(m.running_mean), 1e-10, 0.103216289917, 0.111353192141, 0.116524583593);
    CHECK_POISON(kn_nn_instance_norm_forward(&m, kn_zeros(KN_SHAPE(2, 4, 3), KN_F64)), "3 channels");
    kn_module_train(KN_MODULE_OF(kn_nn_instance_norm, &m), true);
    CHECK_POISON(kn_nn_instance_norm_forward(&m, kn_zeros(KN_SHAPE(2, 3, 1), KN_F64)), "more than one value");
    CHECK_POISON(kn_nn_instance_norm_forward(&m, kn_zeros(KN_SHAPE(0, 3, 4), KN_F64)), "more than one value");
    CHECK(kn_item_int(kn_value(m.num_batches_tracked)) == 2);
    kn_module_drop(KN_MODULE_OF(kn_nn_instance_norm, &m));
    kn_scope_end(scope, KN_NONE);
}

/* Without tracking the statistics of the samples count in evaluation too. */
static void instances_without_averages(void)
{
    kn_scope scope = kn_scope_begin();
    kn_nn_instance_norm m;
    kn_tensor x = kn_keep(wave(KN_SHAPE(2, 3, 4)));
    CHECK(kn_nn_instance_norm_init(&m, 3, NULL) == KN_OK);
    kn_tensor y = kn_keep(kn_nn_instance_norm_forward(&m, x));
    kn_module_train(KN_MODULE_OF(kn_nn_instance_norm, &m), false);
    kn_tensor again = kn_nn_instance_norm_forward(&m, x);
    CHECK(kn_item(kn_max_abs(kn_sub(y, again), KN_AXES_ALL, false)) == 0);
    CHECK(m.running_mean.handle.bits == 0);
    kn_scope_end(scope, KN_NONE);
}

static void bags(void)
{
    kn_scope scope = kn_scope_begin();
    kn_nn_embedding_bag m;
    kn_nn_embedding_bag_args args = {.mode = KN_BAG_SUM, .padding_index = KN_ZERO, .dtype = KN_F64};
    CHECK(kn_nn_embedding_bag_init(&m, 4, 2, &args) == KN_OK);
    CHECK_VALUES(kn_select(kn_value(m.weight), 0, 0), 0, 0, 0);
    double table[] = {9, 9, 1, 2, 3, 4, 5, 6};
    CHECK(kn_param_set(&m.weight, kn_from(table, KN_F64, KN_SHAPE(4, 2))) == KN_OK);
    int64_t flat[] = {1, 0, 2, 3}, starts[] = {0, 2, 2};
    kn_tensor indices = kn_from(flat, KN_I64, KN_SHAPE(4)), offsets = kn_from(starts, KN_I64, KN_SHAPE(3));
    CHECK_VALUES(kn_nn_embedding_bag_forward(&m, indices, offsets, KN_NONE), 0, 1, 2, 0, 0, 8, 10);
    double factors[] = {2, 7, -1, 1};
    kn_tensor scaled = kn_nn_embedding_bag_forward(&m, kn_from(flat, KN_I64, KN_SHAPE(2, 2)), KN_NONE,
                                                   kn_from(factors, KN_F64, KN_SHAPE(2, 2)));
    CHECK_VALUES(scaled, 0, 2, 4, 2, 2);
    kn_module_drop(KN_MODULE_OF(kn_nn_embedding_bag, &m));
    kn_scope_end(scope, KN_NONE);
}

/* The row that is left out, and rows of no bag, get no gradient. */
static void bags_and_gradients(void)
{
    kn_device_use(kn_device_open("autodiff(cpu)"));
    kn_scope scope = kn_scope_begin();
    double table[] = {1, 2, 3, 4, 5, 6, 7, 8};
    int64_t flat[] = {1, 0, 1, 3};
    kn_tensor w = kn_keep(kn_require_grad(kn_from(table, KN_F64, KN_SHAPE(4, 2)))), dw;
    kn_tensor y = kn_embedding_bag(w, kn_from(flat, KN_I64, KN_SHAPE(2, 2)),
                                   &(kn_embedding_bag_args){.mode = KN_BAG_MEAN, .padding_index = KN_ZERO});
    kn_tensor loss = kn_keep(kn_sum(y, KN_AXES_ALL, false));
    CHECK(kn_grad(&loss, NULL, 1, &w, 1, 0, &dw) == KN_OK);
    CHECK_VALUES(dw, 1e-15, 0, 0, 1.5, 1.5, 0, 0, 0.5, 0.5);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(kn_device_cpu());
}

static kn_tensor bags_from(int64_t first, int64_t second, int64_t third, bool with_end)
{
    int64_t flat[] = {1, 0, 1, 3}, starts[] = {first, second, third};
    kn_tensor offsets = kn_from(starts, KN_I64, KN_SHAPE(3));
    return kn_embedding_bag(
        kn_ones(KN_SHAPE(4, 2), KN_F32), kn_from(flat, KN_I64, KN_SHAPE(4)),
        &(kn_embedding_bag_args){.mode = KN_BAG_SUM, .offsets = offsets, .include_last_offset = with_end});
}

/* Offsets ascend from 0 and do not pass the indices. */
static void wrong_offsets(void)
{
    kn_scope scope = kn_scope_begin();
    CHECK_VALUES(bags_from(0, 2, 4, false), 0, 2, 2, 2, 2, 0, 0);
    CHECK_VALUES(bags_from(0, 2, 4, true), 0, 2, 2, 2, 2);
    CHECK_VALUES(bags_from(0, 0, 0, false), 0, 0, 0, 0, 0, 4, 4);
    static const int64_t wrong[][3] = {{0, 3, 2}, {0, 2, 5}, {1, 2, 3}, {-1, 2, 3}, {0, -1, 3}};
    for (int i = 0; i < 5; i++)
        for (int end = 0; end < 2; end++) {
            kn_tensor y = kn_keep(bags_from(wrong[i][0], wrong[i][1], wrong[i][2], end));
            float values[6];
            bool read = kn_ok(y) && kn_read(y, values, sizeof *values * (size_t)kn_count(y)) == KN_OK;
            CHECK(!read && strstr(kn_last_error(), "out of range"));
            kn_drop(y);
        }
    kn_scope_end(scope, KN_NONE);
}

/* No digit that is rounded away has a slope, and none that is kept. */
static void rounding_has_no_slope(void)
{
    kn_device_use(kn_device_open("autodiff(cpu)"));
    kn_scope scope = kn_scope_begin();
    for (int decimals = 2; decimals <= 40; decimals += 38) {
        kn_tensor x = kn_keep(kn_require_grad(kn_full(KN_SHAPE(1), 0.375, KN_F32))), dx;
        kn_tensor loss = kn_keep(kn_sum(kn_round_decimals(x, decimals), KN_AXES_ALL, false));
        if (CHECK(kn_grad(&loss, NULL, 1, &x, 1, 0, &dx) == KN_OK)) CHECK_VALUES(dx, 0, 0);
    }
    kn_scope_end(scope, KN_NONE);
    kn_device_use(kn_device_cpu());
}

static void pools(void)
{
    kn_scope scope = kn_scope_begin();
    kn_nn_lp_pool1d lp;
    kn_nn_fractional_max_pool2d fractional;
    kn_nn_channel_shuffle shuffle;
    kn_tensor x = kn_keep(wave(KN_SHAPE(2, 3, 4)));
    CHECK(kn_nn_lp_pool1d_init(&lp, 2, KN_INTS(2), NULL) == KN_OK);
    kn_tensor y = kn_keep(kn_nn_lp_pool1d_forward(&lp, x));
    CHECK_VALUES(kn_select(kn_select(y, 0, 0), 0, 0), 1e-10, 0.991664810452, 0.960434318857);
    CHECK_POISON(kn_nn_lp_pool1d_forward(&lp, kn_zeros(KN_SHAPE(2, 2, 3, 3), KN_F32)),
                 "kn_nn_lp_pool1d_forward");
    /* The limit of large orders is the largest absolute value. */
    float line[] = {1, -3, 2, 0.5f};
    kn_tensor row = kn_keep(kn_from(line, KN_F32, KN_SHAPE(1, 1, 4)));
    CHECK_VALUES(kn_lp_pool1d(row, __builtin_inf(), KN_INTS(2), NULL), 0, 3, 2);
    CHECK_POISON(kn_lp_pool1d(row, -__builtin_inf(), KN_INTS(2), NULL), "the order is -inf");
    CHECK(kn_nn_lp_pool1d_init(&lp, __builtin_inf(), KN_INTS(2), NULL) == KN_OK);
    CHECK_VALUES(kn_nn_lp_pool1d_forward(&lp, row), 0, 3, 2);
    kn_nn_fractional_max_pool_args size = {.output_size = KN_INTS(2, 3)};
    CHECK(kn_nn_fractional_max_pool2d_init(&fractional, KN_INTS(2, 2), &size) == KN_OK);
    kn_tensor z = kn_nn_fractional_max_pool2d_forward(&fractional, wave(KN_SHAPE(1, 2, 6, 7)));
    CHECK(kn_size(z, 2) == 2 && kn_size(z, 3) == 3);
    CHECK(kn_nn_channel_shuffle_init(&shuffle, 2) == KN_OK);
    kn_tensor dealt =
        kn_nn_channel_shuffle_forward(&shuffle, kn_reshape(kn_arange(0, 4, 1, KN_F32), KN_SHAPE(1, 4, 1)));
    CHECK_VALUES(dealt, 0, 0, 2, 1, 3);
    kn_scope_end(scope, KN_NONE);
}

int main(void)
{
    running_averages_of_instances();
    instances_without_averages();
    bags();
    bags_and_gradients();
    wrong_offsets();
    rounding_has_no_slope();
    pools();
    CHECK(kn_shutdown() == 0);
    return check_report();
}
