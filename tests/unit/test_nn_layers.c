/* Layers against PyTorch: results with given weights, running averages, defaults, and what their errors say. */
#include "train/nn_value.h"

/* Makes y of a convolution called name with the weights and x of that name. */
#define CONVOLVE(kind, name, in, out, kernel, ...)                                                           \
    do {                                                                                                     \
        kn_nn_##kind m;                                                                                      \
        kn_nn_conv_args args = {__VA_ARGS__};                                                                \
        if (!CHECK(kn_nn_##kind##_init(&m, in, out, kernel, &args) == KN_OK)) break;                         \
        nn_set(&m.weight, name ".weight");                                                                   \
        if (!args.no_bias) nn_set(&m.bias, name ".bias");                                                    \
        NN_CHECK(kn_nn_##kind##_forward(&m, nn_tensor(name ".x")), name ".y");                               \
        kn_module_drop(KN_MODULE_OF(kn_nn_##kind, &m));                                                      \
    } while (0)

static void convolutions(void)
{
    CONVOLVE(conv1d, "conv1d", 4, 2, KN_INTS(3), .stride = {2}, .padding = {2}, .dilation = {2}, .groups = 2);
    CONVOLVE(conv2d, "conv2d", 2, 3, KN_INTS(3, 2), .stride = {2, 1}, .padding = {1, 2});
    CONVOLVE(conv2d, "conv2d.same", 1, 2, KN_INTS(4, 3), .same = true, .dilation = {1, 2});
    CONVOLVE(conv2d, "conv2d.reflect", 1, 1, KN_INTS(3, 3), .padding = {2, 1},
             .padding_mode = KN_PAD_REFLECT);
    CONVOLVE(conv2d, "conv2d.edge", 1, 1, KN_INTS(3, 3), .padding = {2, 2}, .padding_mode = KN_PAD_EDGE);
    CONVOLVE(conv2d, "conv2d.wrap", 1, 1, KN_INTS(3, 3), .same = true, .padding_mode = KN_PAD_WRAP);
    CONVOLVE(conv3d, "conv3d", 1, 2, KN_INTS(2, 2, 2), .padding = {1, 1, 1});
    CONVOLVE(conv_transpose1d, "conv_transpose1d", 2, 4, KN_INTS(3), .stride = {2}, .padding = {1},
             .output_padding = {1}, .groups = 2);
    CONVOLVE(conv_transpose2d, "conv_transpose2d", 2, 1, KN_INTS(3, 2), .stride = {2, 2}, .dilation = {1, 2});
    CONVOLVE(conv_transpose3d, "conv_transpose3d", 1, 1, KN_INTS(2, 2, 2), .stride = {1, 2, 1},
             .no_bias = true);
}

/* The spatial sizes of y. */
#define CHECK_SIZES(y, ...) check_sizes(y, KN_INTS(__VA_ARGS__), __FILE__, __LINE__)
static void check_sizes(kn_tensor y, kn_ints want, const char *file, int line)
{
    kn_shape got = kn_shape_of_tensor(y);
    bool good = kn_ok(y) && got.rank == want.rank + 2;
    for (int i = 0; i < want.rank; i++) good = good && got.dims[2 + i] == want.dims[i];
    if (!good) printf("%s:%d: %s\n", file, line, kn_ok(y) ? "other sizes" : kn_last_error());
    check_that(good, "sizes", file, line);
    kn_drop(y);
}

static kn_tensor ones_of(int axes, int64_t size)
{
    kn_shape shape = {axes + 2, {1, 1, size, size, size}};
    return kn_ones(shape, KN_F32);
}

/* A 0 behind the first stride or dilation is as the first, and a padding of 0 is none: in ops and in layers. */
static void short_lists(void)
{
    kn_tensor w2 = kn_keep(kn_ones(KN_SHAPE(1, 1, 3, 3), KN_F32)),
              w3 = kn_keep(kn_ones(KN_SHAPE(1, 1, 3, 3, 3), KN_F32));
    CHECK_SIZES(kn_conv2d(ones_of(2, 9), w2, KN_NONE, &(kn_conv2d_args){.stride = {2}, .padding = {1, 1}}), 5,
                5);
    CHECK_SIZES(kn_conv2d(ones_of(2, 9), w2, KN_NONE, &(kn_conv2d_args){.padding = {1, 0}}), 9, 7);
    CHECK_SIZES(kn_conv2d(ones_of(2, 9), w2, KN_NONE, &(kn_conv2d_args){.padding = {0, 1}}), 7, 9);
    CHECK_SIZES(kn_conv2d(ones_of(2, 9), w2, KN_NONE, &(kn_conv2d_args){.dilation = {2}}), 5, 5);
    CHECK_SIZES(
        kn_conv2d(ones_of(2, 9), w2, KN_NONE, &(kn_conv2d_args){.padding = {2, 2}, .padding_end = {1, 1}}),
        10, 10);
    CHECK_SIZES(kn_conv2d(ones_of(2, 9), w2, KN_NONE,
                          &(kn_conv2d_args){.padding = {1, 1}, .padding_end = {KN_ZERO, KN_ZERO}}),
                8, 8);
    CHECK_SIZES(kn_conv3d(ones_of(3, 9), w3, KN_NONE, &(kn_conv3d_args){.stride = {2}, .padding = {1, 1, 1}}),
                5, 5, 5);
    CHECK_SIZES(kn_conv3d(ones_of(3, 9), w3, KN_NONE, &(kn_conv3d_args){.stride = {2, 3}}), 4, 3, 4);
    CHECK_SIZES(kn_conv_transpose2d(
                    ones_of(2, 5), w2, KN_NONE,
                    &(kn_conv_transpose2d_args){.stride = {2}, .padding = {1, 1}, .output_padding = {1, 1}}),
                10, 10);
    CHECK_SIZES(kn_conv_transpose2d(ones_of(2, 5), w2, KN_NONE,
                                    &(kn_conv_transpose2d_args){.stride = {2}, .output_padding = {1}}),
                12, 11);
    CHECK_SIZES(kn_deform_conv2d(ones_of(2, 9), kn_zeros(KN_SHAPE(1, 18, 5, 5), KN_F32), w2, KN_NONE, KN_NONE,
                                 &(kn_deform_conv2d_args){.stride = {2}, .padding = {1, 1}}),
                5, 5);
    CHECK_SIZES(
        kn_max_pool2d(ones_of(2, 9), KN_INTS(3, 3), &(kn_pool_args){.stride = {2}, .padding = {1, 1}}), 5, 5);
    CHECK_SIZES(
        kn_max_pool2d(ones_of(2, 9), KN_INTS(3, 3), &(kn_pool_args){.stride = {1}, .padding = {1, KN_ZERO}}),
        9, 7);
    CHECK_SIZES(
        kn_avg_pool3d(ones_of(3, 8), KN_INTS(3, 3, 3), &(kn_pool_args){.stride = {1}, .padding = {1, 1, 1}}),
        8, 8, 8);
    CHECK_SIZES(kn_lp_pool2d(ones_of(2, 9), 2, KN_INTS(3, 3), &(kn_pool_args){.stride = {2}}), 4, 4);
    kn_tensor patches =
        kn_unfold_patches(ones_of(2, 9), KN_INTS(3, 3), &(kn_unfold_args){.stride = {2}, .padding = {1, 1}});
    CHECK(kn_ok(patches) && kn_size(patches, 2) == 25);
    kn_drop(patches);
    kn_drop(w2);
    kn_drop(w3);
    kn_nn_conv2d conv;
    CHECK(kn_nn_conv2d_init(&conv, 1, 1, KN_INTS(3, 3),
                            &(kn_nn_conv_args){.stride = {2}, .padding = {1, 1}}) == KN_OK);
    CHECK_SIZES(kn_nn_conv2d_forward(&conv, ones_of(2, 9)), 5, 5);
    kn_module_drop(KN_MODULE_OF(kn_nn_conv2d, &conv));
    CHECK(kn_nn_conv2d_init(&conv, 1, 1, KN_INTS(3, 3), &(kn_nn_conv_args){.padding = {1, 0}}) == KN_OK);
    CHECK_SIZES(kn_nn_conv2d_forward(&conv, ones_of(2, 9)), 9, 7);
    kn_module_drop(KN_MODULE_OF(kn_nn_conv2d, &conv));
    kn_nn_conv_transpose2d up;
    CHECK(kn_nn_conv_transpose2d_init(
              &up, 1, 1, KN_INTS(3, 3),
              &(kn_nn_conv_args){.stride = {2}, .padding = {1}, .output_padding = {1, KN_ZERO}}) == KN_OK);
    CHECK_SIZES(kn_nn_conv_transpose2d_forward(&up, ones_of(2, 5)), 10, 11);
    kn_module_drop(KN_MODULE_OF(kn_nn_conv_transpose2d, &up));
    kn_nn_max_pool2d pool;
    CHECK(kn_nn_max_pool2d_init(&pool, KN_INTS(3, 3), &(kn_nn_pool_args){.stride = {2}, .padding = {1, 1}}) ==
          KN_OK);
    CHECK_SIZES(kn_nn_max_pool2d_forward(&pool, ones_of(2, 9)), 5, 5);
    CHECK(kn_nn_max_pool2d_init(&pool, KN_INTS(3, 3), &(kn_nn_pool_args){.stride = {1}, .padding = {1, 0}}) ==
          KN_OK);
    CHECK_SIZES(kn_nn_max_pool2d_forward(&pool, ones_of(2, 9)), 9, 7);
    kn_nn_lp_pool2d lp;
    CHECK(kn_nn_lp_pool2d_init(&lp, 2, KN_INTS(3, 3), &(kn_nn_lp_pool_args){.stride = {2}}) == KN_OK);
    CHECK_SIZES(kn_nn_lp_pool2d_forward(&lp, ones_of(2, 9)), 4, 4);
    kn_nn_unfold4d unfold;
    CHECK(kn_nn_unfold4d_init(&unfold, KN_INTS(3, 3), &(kn_unfold_args){.stride = {2}, .padding = {1}}) ==
          KN_OK);
    kn_tensor columns = kn_nn_unfold4d_forward(&unfold, ones_of(2, 9));
    CHECK(kn_ok(columns) && kn_size(columns, 2) == 20);
    kn_drop(columns);
}

static void uneven_padding(void)
{
    kn_nn_conv2d m;
    kn_nn_conv_args args = {.padding = {1, KN_ZERO}, .padding_end = {KN_ZERO, 2}, .no_bias = true};
    CHECK(kn_nn_conv2d_init(&m, 1, 2, KN_INTS(2, 2), &args) == KN_OK);
    nn_set(&m.weight, "conv2d.uneven.1.weight");
    NN_CHECK(kn_nn_conv2d_forward(&m, nn_tensor("conv2d.uneven.x")), "conv2d.uneven.y");
    /* A deformable convolution whose offsets are 0 is a plain one. */
    kn_nn_deform_conv2d d;
    CHECK(kn_nn_deform_conv2d_init(&d, 1, 2, KN_INTS(2, 2), &args) == KN_OK);
    nn_set(&d.weight, "conv2d.uneven.1.weight");
    kn_tensor offset = kn_zeros(KN_SHAPE(1, 8, 3, 4), KN_F32);
    NN_CHECK(kn_nn_deform_conv2d_forward(&d, nn_tensor("conv2d.uneven.x"), offset, KN_NONE),
             "conv2d.uneven.y");
    kn_module_drop(KN_MODULE_OF(kn_nn_conv2d, &m));
    kn_module_drop(KN_MODULE_OF(kn_nn_deform_conv2d, &d));
}

static void convolution_errors(void)
{
    kn_nn_conv2d m = {0};
    CHECK_ERROR(kn_nn_conv2d_init(&m, 3, 4, KN_INTS(3), NULL), "the window has 1 sizes; it needs 2");
    CHECK_ERROR(kn_nn_conv2d_init(&m, 3, 4, KN_INTS(3, 3), &(kn_nn_conv_args){.groups = 2}),
                "3 and 4 channels cannot be cut into 2 equal groups");
    CHECK_ERROR(kn_nn_conv2d_init(&m, 0, 4, KN_INTS(3, 3), NULL), "in_channels is 0");
    CHECK_ERROR(kn_nn_conv2d_init(NULL, 1, 4, KN_INTS(3, 3), NULL), "NULL");
    CHECK(m.weight.handle.bits == 0);
    CHECK_POISON(kn_nn_conv2d_forward(&m, kn_zeros(KN_SHAPE(1, 3, 4, 4), KN_F32)),
                 "never initialised: call kn_nn_conv2d_init");
    CHECK(kn_nn_conv2d_init(&m, 3, 4, KN_INTS(3, 3), NULL) == KN_OK);
    CHECK_POISON(kn_nn_conv2d_forward(&m, kn_zeros(KN_SHAPE(1, 2, 4, 4), KN_F32)), "test_nn_layers.c");
    CHECK_POISON(kn_nn_conv1d_forward(&m, kn_zeros(KN_SHAPE(1, 2, 4), KN_F32)), "another rank");
    kn_module_drop(KN_MODULE_OF(kn_nn_conv2d, &m));
    CHECK_ERROR(kn_nn_conv_transpose1d_init(&m, 1, 1, KN_INTS(3), &(kn_nn_conv_args){.same = true}),
                "neither same nor padding modes");
}

static void note(void *context, kn_log_level level, const char *text)
{
    (void)level;
    snprintf(context, 300, "%s", text);
}

/* The log tells the line of a failed init, as it does for ops. */
static void lines(void)
{
    char text[300] = "";
    kn_nn_linear m;
    kn_log_set(note, text);
    CHECK(kn_nn_linear_init(&m, 3, 0, NULL) == KN_ERROR_ARGUMENT);
    kn_log_set(NULL, NULL);
    CHECK(strstr(text, "out_features is 0") && strstr(text, "test_nn_layers.c:"));
}

static void linear(void)
{
    kn_nn_linear m;
    CHECK(kn_nn_linear_init(&m, 3, 4, NULL) == KN_OK);
    nn_set(&m.weight, "linear.weight");
    nn_set(&m.bias, "linear.bias");
    NN_CHECK(kn_nn_linear_forward(&m, nn_tensor("linear.x")), "linear.y");
    CHECK_POISON(kn_nn_linear_forward(&m, kn_zeros(KN_SHAPE(2, 5), KN_F32)), "[2, 5]");
    kn_module_drop(KN_MODULE_OF(kn_nn_linear, &m));
    CHECK_ERROR(kn_nn_linear_init(&m, 3, -1, NULL), "out_features is -1");
    CHECK(kn_nn_linear_init(&m, 4, 2, &(kn_nn_linear_args){.no_bias = true, .dtype = KN_F64}) == KN_OK);
    CHECK(m.bias.handle.bits == 0 && kn_dtype_of(kn_value(m.weight)) == KN_F64);
    kn_module_drop(KN_MODULE_OF(kn_nn_linear, &m));
}

static void embedding(void)
{
    kn_nn_embedding m;
    CHECK(kn_nn_embedding_init(&m, 4, 2, &(kn_nn_embedding_args){.padding_index = -1}) == KN_OK);
    kn_tensor rows = kn_keep(kn_nn_embedding_forward(&m, kn_from((int64_t[]){3, 0}, KN_I64, KN_SHAPE(2))));
    CHECK_VALUES(kn_select(rows, 0, 0), 0, 0, 0);
    CHECK(kn_item(kn_sum(kn_abs(rows), KN_AXES_ALL, false)) > 0);
    CHECK_POISON(kn_nn_embedding_forward(&m, kn_from((int64_t[]){4}, KN_I64, KN_SHAPE(1))), "4");
    kn_module_drop(KN_MODULE_OF(kn_nn_embedding, &m));
    CHECK_ERROR(kn_nn_embedding_init(&m, 4, 2, &(kn_nn_embedding_args){.padding_index = 9}), "padding index");
    static const struct {
        int64_t index;
        const char *shown;
    } shows[] = {{0, "padding_index=none"}, {KN_ZERO, "padding_index=0"}, {3, "padding_index=3"}};
    for (int i = 0; i < 3; i++) {
        char text[600];
        kn_nn_embedding e;
        CHECK(kn_nn_embedding_init(&e, 4, 2, &(kn_nn_embedding_args){.padding_index = shows[i].index}) ==
              KN_OK);
        CHECK(kn_module_format(KN_MODULE_OF(kn_nn_embedding, &e), text, sizeof text) > 0);
        CHECK(strstr(text, shows[i].shown) != NULL);
        kn_module_drop(KN_MODULE_OF(kn_nn_embedding, &e));
    }
}

static void batch_norm(const char *name, bool cumulative)
{
    kn_nn_batch_norm m;
    char key[64];
#define KEY(end) (snprintf(key, sizeof key, "%s." end, name), key)
    CHECK(kn_nn_batch_norm_init(&m, 3, &(kn_nn_batch_norm_args){.cumulative = cumulative}) == KN_OK);
    nn_set(&m.weight, KEY("weight"));
    nn_set(&m.bias, KEY("bias"));
    kn_tensor x = nn_tensor(KEY("x1"));
    NN_CHECK(kn_nn_batch_norm_forward(&m, x), KEY("y1"));
    x = nn_tensor(KEY("x2"));
    NN_CHECK(kn_nn_batch_norm_forward(&m, x), KEY("y2"));
    CHECK(kn_item_int(kn_value(m.num_batches_tracked)) == 2);
    kn_module_train(KN_MODULE_OF(kn_nn_batch_norm, &m), false);
    x = nn_tensor(KEY("x1"));
    NN_CHECK(kn_nn_batch_norm_forward(&m, x), KEY("y3"));
    NN_CHECK(kn_value(m.running_mean), KEY("mean"));
    NN_CHECK(kn_value(m.running_var), KEY("var"));
    CHECK(kn_item_int(kn_value(m.num_batches_tracked)) == 2);
    kn_module_drop(KN_MODULE_OF(kn_nn_batch_norm, &m));
#undef KEY
}

static void batch_norm_errors(void)
{
    kn_nn_batch_norm m;
    CHECK(kn_nn_batch_norm_init(&m, 3, NULL) == KN_OK);
    CHECK_POISON(kn_nn_batch_norm_forward(&m, kn_zeros(KN_SHAPE(2, 4), KN_F32)),
                 "x has 4 channels in axis 1, the layer 3");
    CHECK_POISON(kn_nn_batch_norm_forward(&m, kn_zeros(KN_SHAPE(1, 3), KN_F32)), "more than one value");
    CHECK(kn_item_int(kn_value(m.num_batches_tracked)) == 0);
    kn_module_drop(KN_MODULE_OF(kn_nn_batch_norm, &m));
}

static void norms(void)
{
    kn_nn_group_norm group;
    kn_nn_instance_norm instance;
    kn_nn_layer_norm layer;
    kn_nn_rms_norm rms;
    kn_nn_local_response_norm local;
    CHECK(kn_nn_group_norm_init(&group, 2, 4, NULL) == KN_OK);
    nn_set(&group.weight, "group_norm.weight");
    nn_set(&group.bias, "group_norm.bias");
    NN_CHECK(kn_nn_group_norm_forward(&group, nn_tensor("group_norm.x")), "group_norm.y");
    CHECK(kn_nn_instance_norm_init(&instance, 2, &(kn_nn_instance_norm_args){.affine = true}) == KN_OK);
    nn_set(&instance.weight, "instance_norm.weight");
    nn_set(&instance.bias, "instance_norm.bias");
    NN_CHECK(kn_nn_instance_norm_forward(&instance, nn_tensor("instance_norm.x")), "instance_norm.y");
    CHECK(kn_nn_layer_norm_init(&layer, KN_SHAPE(2, 3), NULL) == KN_OK);
    nn_set(&layer.weight, "layer_norm.weight");
    nn_set(&layer.bias, "layer_norm.bias");
    NN_CHECK(kn_nn_layer_norm_forward(&layer, nn_tensor("layer_norm.x")), "layer_norm.y");
    CHECK(kn_nn_rms_norm_init(&rms, KN_SHAPE(4), NULL) == KN_OK);
    nn_set(&rms.weight, "rms_norm.weight");
    NN_CHECK(kn_nn_rms_norm_forward(&rms, nn_tensor("rms_norm.x")), "rms_norm.y");
    kn_nn_local_response_norm_args args = {.alpha = 0.5, .beta = 0.6, .k = 2};
    CHECK(kn_nn_local_response_norm_init(&local, 3, &args) == KN_OK);
    NN_CHECK(kn_nn_local_response_norm_forward(&local, nn_tensor("local_response_norm.x")),
             "local_response_norm.y");
    kn_module_drop(KN_MODULE_OF(kn_nn_group_norm, &group));
    CHECK_ERROR(kn_nn_group_norm_init(&group, 3, 4, NULL), "4 channels cannot be cut into 3 equal groups");
    kn_module_drop(KN_MODULE_OF(kn_nn_instance_norm, &instance));
    kn_module_drop(KN_MODULE_OF(kn_nn_layer_norm, &layer));
    kn_module_drop(KN_MODULE_OF(kn_nn_rms_norm, &rms));
}

/* The wrapper computes what the layer of its kind does. */
static void any_norm(void)
{
    kn_nn_normalization m;
    kn_tensor x = kn_keep(nn_tensor("group_norm.x"));
    CHECK(kn_nn_normalization_init(&m, KN_NORMALIZATION_GROUP, 4,
                                   &(kn_nn_normalization_args){.num_groups = 2}) == KN_OK);
    nn_set(&m.weight, "group_norm.weight");
    nn_set(&m.bias, "group_norm.bias");
    NN_CHECK(kn_nn_normalization_forward(&m, x), "group_norm.y");
    kn_module_drop(KN_MODULE_OF(kn_nn_normalization, &m));
    CHECK(kn_nn_normalization_init(&m, KN_NORMALIZATION_BATCH, 3, NULL) == KN_OK);
    nn_set(&m.weight, "batch_norm.weight");
    nn_set(&m.bias, "batch_norm.bias");
    NN_CHECK(kn_nn_normalization_forward(&m, nn_tensor("batch_norm.x1")), "batch_norm.y1");
    NN_CHECK(kn_nn_normalization_forward(&m, nn_tensor("batch_norm.x2")), "batch_norm.y2");
    kn_module_train(KN_MODULE_OF(kn_nn_normalization, &m), false);
    NN_CHECK(kn_nn_normalization_forward(&m, nn_tensor("batch_norm.x1")), "batch_norm.y3");
    kn_module_drop(KN_MODULE_OF(kn_nn_normalization, &m));
    CHECK(kn_nn_normalization_init(&m, KN_NORMALIZATION_NONE, 3, NULL) == KN_OK);
    CHECK_VALUES(kn_nn_normalization_forward(&m, kn_scalar(3, KN_F32)), 0, 3);
}

static void pools(void)
{
    kn_nn_max_pool2d max;
    kn_nn_avg_pool1d avg;
    kn_nn_adaptive_avg_pool1d adaptive;
    kn_nn_adaptive_max_pool2d largest;
    kn_tensor row = kn_keep(kn_reshape(kn_arange(0, 5, 1, KN_F32), KN_SHAPE(1, 1, 5)));
    kn_tensor plane = kn_keep(kn_reshape(kn_arange(0, 9, 1, KN_F32), KN_SHAPE(1, 1, 3, 3)));
    CHECK(kn_nn_max_pool2d_init(&max, KN_INTS(2, 2), NULL) == KN_OK);
    CHECK_VALUES(kn_nn_max_pool2d_forward(&max, plane), 0, 4);
    CHECK(kn_nn_max_pool2d_init(&max, KN_INTS(2, 2), &(kn_nn_pool_args){.ceil_mode = true}) == KN_OK);
    CHECK_VALUES(kn_nn_max_pool2d_forward(&max, plane), 0, 4, 5, 7, 8);
    CHECK(kn_nn_max_pool2d_init(&max, KN_INTS(2, 2), &(kn_nn_pool_args){.same = true, .stride = {1, 1}}) ==
          KN_OK);
    CHECK_VALUES(kn_nn_max_pool2d_forward(&max, plane), 0, 4, 5, 5, 7, 8, 8, 7, 8, 8);
    CHECK(kn_nn_avg_pool1d_init(&avg, KN_INTS(2),
                                &(kn_nn_pool_args){.padding = {1}, .padding_end = {KN_ZERO}}) == KN_OK);
    CHECK_VALUES(kn_nn_avg_pool1d_forward(&avg, row), 0, 0, 1.5, 3.5);
    avg.exclude_padding = true;
    CHECK_VALUES(kn_nn_avg_pool1d_forward(&avg, row), 0, 0, 1.5, 3.5);
    CHECK(kn_nn_adaptive_avg_pool1d_init(&adaptive, KN_INTS(2)) == KN_OK);
    CHECK_VALUES(kn_nn_adaptive_avg_pool1d_forward(&adaptive, row), 0, 1, 3);
    CHECK(kn_nn_adaptive_max_pool2d_init(&largest, KN_INTS(1, 3)) == KN_OK);
    CHECK_VALUES(kn_nn_adaptive_max_pool2d_forward(&largest, plane), 0, 6, 7, 8);
    CHECK_ERROR(kn_nn_max_pool2d_init(&max, KN_INTS(2, 2), &(kn_nn_pool_args){.padding = {2, KN_ZERO}}),
                "half of the window");
    CHECK_ERROR(kn_nn_adaptive_max_pool2d_init(&largest, KN_INTS(0, 1)), "neither positive nor -1");
    CHECK_POISON(kn_nn_avg_pool3d_forward(&avg, row), "another rank");
}

static void images(void)
{
    kn_nn_unfold4d unfold;
    kn_nn_fold4d fold;
    kn_nn_pixel_shuffle up;
    kn_nn_pixel_unshuffle down;
    kn_nn_interpolate2d resize;
    kn_tensor x = kn_keep(kn_reshape(kn_arange(0, 16, 1, KN_F32), KN_SHAPE(1, 1, 4, 4)));
    CHECK(kn_nn_unfold4d_init(&unfold, KN_INTS(2, 2), &(kn_unfold_args){.stride = {2, 2}}) == KN_OK);
    CHECK(kn_nn_fold4d_init(&fold, KN_INTS(4, 4), KN_INTS(2, 2), &(kn_unfold_args){.stride = {2, 2}}) ==
          KN_OK);
    kn_tensor back = kn_nn_fold4d_forward(&fold, kn_nn_unfold4d_forward(&unfold, x));
    CHECK(kn_item(kn_max_abs(kn_sub(back, x), KN_AXES_ALL, false)) == 0);
    CHECK(kn_nn_pixel_shuffle_init(&up, 2) == KN_OK && kn_nn_pixel_unshuffle_init(&down, 2) == KN_OK);
    back = kn_nn_pixel_shuffle_forward(&up, kn_nn_pixel_unshuffle_forward(&down, x));
    CHECK(kn_item(kn_max_abs(kn_sub(back, x), KN_AXES_ALL, false)) == 0);
    CHECK(kn_nn_interpolate2d_init(&resize, &(kn_nn_interpolate_args){.scale = {0.5}}) == KN_OK);
    CHECK_VALUES(kn_nn_interpolate2d_forward(&resize, x), 0, 0, 2, 8, 10);
    CHECK(kn_nn_interpolate2d_init(&resize, &(kn_nn_interpolate_args){.output_size = KN_INTS(1, 2),
                                                                      .mode = KN_INTERPOLATE_AREA}) == KN_OK);
    CHECK_VALUES(kn_nn_interpolate2d_forward(&resize, x), 1e-6, 6.5, 8.5);
    CHECK_POISON(kn_nn_interpolate2d_forward(&resize, kn_zeros(KN_SHAPE(2, 2, 2), KN_F32)),
                 "[batch, channels, height, width]");
    CHECK_ERROR(kn_nn_interpolate2d_init(&resize, &(kn_nn_interpolate_args){0}),
                "output_size or a positive scale");
    CHECK_ERROR(kn_nn_pixel_shuffle_init(&up, 0), "upscale_factor is 0");
}

static void similarities(void)
{
    kn_nn_cosine_similarity cosine;
    kn_nn_pairwise_distance distance;
    kn_tensor a = kn_keep(kn_from((float[]){3, 4, 1, 0}, KN_F32, KN_SHAPE(2, 2)));
    kn_tensor b = kn_keep(kn_from((float[]){4, 3, 0, 0}, KN_F32, KN_SHAPE(2, 2)));
    CHECK(kn_nn_cosine_similarity_init(&cosine, NULL) == KN_OK);
    CHECK_VALUES(kn_nn_cosine_similarity_forward(&cosine, a, b), 1e-6, 0.96, 0);
    CHECK(kn_nn_pairwise_distance_init(
              &distance, &(kn_nn_pairwise_distance_args){.p = 1, .eps = (double)KN_ZERO}) == KN_OK);
    CHECK_VALUES(kn_nn_pairwise_distance_forward(&distance, a, b), 1e-6, 2, 1);
}

static void random_layers(void)
{
    kn_nn_dropout drop;
    kn_nn_gaussian_noise noise;
    kn_nn_identity same;
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(4000), KN_F32));
    CHECK(kn_nn_dropout_init(&drop, 0.25, NULL) == KN_OK);
    double kept =
        kn_item(kn_sum(kn_greater_scalar(kn_nn_dropout_forward(&drop, x), 1.3), KN_AXES_ALL, false));
    CHECK(kept > 2850 && kept < 3150);
    kn_module_train(KN_MODULE_OF(kn_nn_dropout, &drop), false);
    CHECK(kn_item(kn_sum(kn_nn_dropout_forward(&drop, x), KN_AXES_ALL, false)) == 4000);
    CHECK(kn_nn_gaussian_noise_init(&noise, 0.5) == KN_OK);
    double deviation = kn_item(kn_std(kn_nn_gaussian_noise_forward(&noise, x), KN_AXES_ALL, false, NULL));
    CHECK(deviation > 0.47 && deviation < 0.53);
    kn_module_train(KN_MODULE_OF(kn_nn_gaussian_noise, &noise), false);
    CHECK(kn_item(kn_sum(kn_nn_gaussian_noise_forward(&noise, x), KN_AXES_ALL, false)) == 4000);
    CHECK(kn_nn_identity_init(&same) == KN_OK);
    CHECK(kn_nn_identity_forward(&same, x).bits == x.bits);
    CHECK_ERROR(kn_nn_dropout_init(&drop, 1.5, NULL), "p is 1.5");
}

int main(void)
{
    int64_t before = kn_memory_stats().tensors_now;
    kn_scope scope = kn_scope_begin();
    convolutions();
    uneven_padding();
    short_lists();
    convolution_errors();
    lines();
    linear();
    embedding();
    batch_norm("batch_norm", false);
    batch_norm("batch_norm.cumulative", true);
    batch_norm_errors();
    norms();
    any_norm();
    pools();
    images();
    similarities();
    random_layers();
    kn_scope_end(scope, KN_NONE);
    CHECK(kn_memory_stats().tensors_now == before);
    return check_report();
}
