/* Pooling, patches, interpolation and grids: ties, NaN, odd arguments, errors, symbolic sizes, equal bits. */
#include "core/dim.h"
#include "core/thread_pool.h"
#include "ops/pooling.h"
#include "support/check.h"
#include "support/tiers.h"
#include <math.h>

static kn_tensor image(int64_t h, int64_t w)
{
    return kn_reshape(kn_arange(0, (double)(h * w), 1, KN_F32), KN_SHAPE(1, 1, h, w));
}

static void ties_and_nan(void)
{
    float tied[] = {1, 1, 1, 1}, odd[] = {0, NAN, 3, NAN};
    kn_pooled p = kn_max_pool2d_with_indices(kn_from(tied, KN_F32, KN_SHAPE(1, 2, 2)), KN_INTS(2, 2), NULL);
    CHECK_VALUES(p.values, 0, 1);
    CHECK_VALUES(p.indices, 0, 0); /* of equals the first */
    p = kn_max_pool1d_with_indices(kn_from(odd, KN_F32, KN_SHAPE(1, 4)), KN_INTS(4), NULL);
    CHECK_VALUES(p.values, 0, NAN);
    CHECK_VALUES(p.indices, 0, 3); /* of NaN the last, as in PyTorch */
    CHECK_VALUES(kn_max_pool1d(kn_from(odd, KN_F32, KN_SHAPE(1, 4)), KN_INTS(2), NULL), 0, NAN, NAN);
    kn_tensor low = kn_full(KN_SHAPE(1, 1, 3, 3), -INFINITY, KN_F32);
    p = kn_max_pool2d_with_indices(low, KN_INTS(3, 3), &(kn_pool_args){.stride = {3, 3}, .padding = {1, 1}});
    CHECK_VALUES(p.values, 0, -INFINITY);
    CHECK_VALUES(p.indices, 0, 0);
    int8_t small[] = {-128, -128, -127, -128};
    CHECK_VALUES(kn_max_pool1d(kn_from(small, KN_I8, KN_SHAPE(1, 4)), KN_INTS(2), NULL), 0, -128, -127);
}

static void padding_rules(void)
{
    kn_tensor x = kn_keep(image(4, 4));
    kn_pool_args before = {.stride = {2, 2}, .padding = {1, 1}, .padding_end = {KN_ZERO, KN_ZERO}};
    CHECK_VALUES(kn_max_pool2d(x, KN_INTS(2, 2), &before), 0, 0, 2, 8, 10);
    kn_pool_args behind = {.stride = {2, 2}, .padding_end = {1, 1}};
    CHECK_VALUES(kn_max_pool2d(x, KN_INTS(3, 3), &behind), 0, 10, 11, 14, 15);
    CHECK_VALUES(kn_avg_pool2d(x, KN_INTS(3, 3), &behind), 1e-6, 5, 39. / 9, 66. / 9, 50. / 9);
    behind.exclude_padding = true;
    CHECK_VALUES(kn_avg_pool2d(x, KN_INTS(3, 3), &behind), 1e-6, 5, 6.5, 11, 12.5);
    behind.divisor = 2;
    CHECK_VALUES(kn_avg_pool2d(x, KN_INTS(3, 3), &behind), 1e-6, 22.5, 19.5, 33, 25);
    kn_pool_args up = {.stride = {3, 3}, .ceil_mode = true};
    CHECK_VALUES(kn_max_pool2d(x, KN_INTS(2, 2), &up), 0, 5, 7, 13, 15);
    CHECK_VALUES(kn_avg_pool2d(x, KN_INTS(2, 2), &up), 1e-6, 2.5, 5, 12.5, 15);
}

/* Steps that kn_call gives and that do not go with the sizes are refused, in every mode: some elements of y would lie beyond x. */
static void steps_beyond_x(const char *device)
{
    kn_scope scope = kn_scope_begin();
    kn_device_use(kn_device_open(device));
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(1, 1, 3, 3), KN_F32)), y;
    for (int mode = 0; mode < 5; mode++)
        for (int smooth = 0; smooth <= (mode > 1); smooth++) {
            const kn_attribute_value values[] = {{.name = "size", .list = KN_INTS(3, 3)},
                                                 {.name = "mode", .integer = mode},
                                                 {.name = "antialias", .integer = smooth},
                                                 {.name = "step0", .real = 3},
                                                 {0}};
            CHECK(kn_call("interpolate", &x, 1, values, &y, 1) != KN_OK);
            CHECK(strstr(kn_last_error(), "3 steps of 3 on spatial axis 0 lead beyond x") != NULL);
        }
    kn_device_use(NULL);
    kn_scope_end(scope, KN_NONE);
}

/* Bytes are pooled as they are, and give what floats of the same values give. */
static void pools_of_bytes(void)
{
    static const struct {
        int64_t size[2], window[2];
        kn_pool_args args;
    } of[] = {{{45, 50}, {3, 3}, {.stride = {2, 2}, .padding = {1, 1}}},
              {{9, 130}, {2, 5}, {.stride = {1, 1}, .padding = {1, 2}}},
              {{20, 33}, {3, 2}, {.stride = {3, 4}, .dilation = {2, 3}}},
              {{7, 7}, {7, 7}, {.stride = {1, 1}}},
              {{11, 12}, {2, 2}, {.stride = {2, 2}, .ceil_mode = true}}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        for (int is_signed = 0; is_signed < 2; is_signed++) {
            const kn_dtype dtype = is_signed ? KN_I8 : KN_U8;
            kn_scope s = kn_scope_begin();
            const int64_t low = is_signed ? -128 : 0;
            kn_tensor x =
                kn_keep(kn_random_int(KN_SHAPE(2, 3, of[i].size[0], of[i].size[1]), low, low + 256, dtype));
            const kn_ints window = KN_INTS(of[i].window[0], of[i].window[1]);
            kn_tensor want = kn_max_pool2d(kn_cast(x, KN_F32), window, &of[i].args);
            kn_tensor y = kn_cast(kn_max_pool2d(x, window, &of[i].args), KN_F32);
            CHECK(kn_item_int(kn_all(kn_equal(y, want), KN_AXES_ALL, false)) == 1);
            kn_scope_end(s, KN_NONE);
        }
}

static void errors(void)
{
    kn_tensor x = kn_keep(image(4, 4)), bad = kn_keep(kn_max_pool2d(x, KN_INTS(9, 9), NULL));
    CHECK_POISON(bad, "the window is larger than the padded input on spatial axis 0");
    CHECK_POISON(kn_max_pool2d(x, KN_INTS(2, 2), &(kn_pool_args){.padding = {2}}),
                 "padding 2 leaves a window of 2 without any element");
    CHECK_POISON(kn_max_pool2d(x, KN_INTS(2, 2), &(kn_pool_args){.padding = {-1}}), "padding is -1");
    CHECK_POISON(kn_max_pool2d(x, KN_INTS(2, 2), &(kn_pool_args){.stride = {-1}}), "stride is -1");
    CHECK_POISON(kn_max_pool2d(x, KN_INTS(2, 2), &(kn_pool_args){.padding = {1}, .dilation = {5}}),
                 "leaves a window without any element");
    CHECK_POISON(kn_max_pool2d(x, KN_INTS(INT64_MAX, 2), NULL), "window is");
    CHECK_POISON(kn_max_pool3d(kn_reshape(x, KN_SHAPE(4, 4)), KN_INTS(2), NULL), "3 spatial axes");
    CHECK_POISON(kn_avg_pool2d(x, KN_INTS(2, 2), &(kn_pool_args){.divisor = -1}), "divisor");
    CHECK_POISON(kn_avg_pool2d(x, KN_INTS(2, 2), &(kn_pool_args){.dilation = {4}}), "larger than the padded");
    CHECK_POISON(kn_adaptive_avg_pool2d(x, KN_INTS(1, 2, 3)), "size has 3 entries for 2 axes");
    CHECK_POISON(kn_max_unpool(x, x, KN_INTS(-1, 4)), "size is -1");
    CHECK_POISON(kn_max_unpool(x, kn_ones(KN_SHAPE(2), KN_I64), KN_INTS(4, 4)), "differ in shape");
    kn_tensor both =
        kn_reshape(kn_arange(0, 4, 1, KN_I64), KN_SHAPE(1, 1, 2, 2)); /* a temporary, given twice */
    CHECK_VALUES(kn_max_unpool(both, both, KN_INTS(2, 2)), 0, 0, 1, 2, 3);
    CHECK_POISON(kn_interpolate(x, KN_INTS(2, 2), &(kn_interpolate_args){.antialias = true}), "antialias");
    CHECK_POISON(kn_interpolate(x, KN_INTS(2, 2), &(kn_interpolate_args){.mode = (kn_interpolate_mode)77}),
                 "no mode 77");
    CHECK_POISON(kn_grid_sample(x, x, NULL), "coordinates");
    CHECK_POISON(kn_affine_grid(x, KN_SHAPE(1, 1, 2, 2), false), "theta must be [1, 2, 3]");
    CHECK_POISON(kn_affine_grid(kn_ones(KN_SHAPE(1, 2, 3), KN_F32), KN_SHAPE(1, 1, 0, 2), false), "positive");
    CHECK_POISON(kn_pixel_shuffle(x, 0), "kn_pixel_shuffle");
    CHECK_POISON(kn_pixel_shuffle(x, 3), "multiple");
    CHECK_POISON(kn_pixel_unshuffle(x, 3), "multiples");
    /* Poison passes through with its first message. */
    CHECK_POISON(kn_pixel_shuffle(bad, 1), "larger");
    CHECK_POISON(kn_pixel_unshuffle(bad, 1), "larger");
    CHECK_POISON(kn_affine_grid(bad, KN_SHAPE(1, 1, 2, 2), false), "larger");
    CHECK_POISON(kn_max_unpool(bad, x, KN_INTS(4, 4)), "larger");
    CHECK_POISON(kn_interpolate(bad, KN_INTS(2, 2), &(kn_interpolate_args){.mode = KN_INTERPOLATE_AREA}),
                 "larger");
    CHECK(!kn_ok(kn_pixel_shuffle(KN_NONE, 2)) &&
          !kn_ok(kn_affine_grid(KN_NONE, KN_SHAPE(1, 1, 2, 2), true)));
}

static void unpool_and_patches(void)
{
    kn_tensor x = kn_keep(image(4, 4));
    kn_pooled p = kn_max_pool2d_with_indices(x, KN_INTS(2, 2), NULL);
    CHECK_VALUES(kn_max_unpool(p.values, p.indices, KN_INTS(4, 4)), 0, 0, 0, 0, 0, 0, 5, 0, 7, 0, 0, 0, 0, 0,
                 13, 0, 15);
    /* fold of unfold counts how often each element was taken. */
    kn_tensor ones = kn_ones(KN_SHAPE(1, 1, 3, 3), KN_F32);
    CHECK_VALUES(kn_fold_patches(kn_unfold_patches(ones, KN_INTS(2), NULL), KN_INTS(3), KN_INTS(2), NULL), 0,
                 1, 2, 1, 2, 4, 2, 1, 2, 1);
    CHECK_VALUES(kn_pixel_unshuffle(kn_pixel_shuffle(kn_reshape(x, KN_SHAPE(4, 2, 2)), 2), 2), 0, 0, 1, 2, 3,
                 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    /* The five parts of the last three axes just fit behind three others. */
    kn_tensor deep = kn_pixel_shuffle(kn_reshape(x, KN_SHAPE(1, 1, 1, 4, 2, 2)), 2);
    CHECK(kn_rank(deep) == 6 && kn_size(deep, 3) == 1 && kn_size(deep, 4) == 4);
    CHECK_POISON(kn_pixel_shuffle(kn_reshape(x, KN_SHAPE(1, 1, 1, 1, 4, 2, 2)), 2), "channels, height");
    kn_tensor far = kn_from((float[]){INFINITY, 0, -1e30f, 0}, KN_F32, KN_SHAPE(1, 1, 2, 2));
    CHECK_VALUES(kn_grid_sample(x, far, NULL), 0, 0, 0);
    kn_tensor nowhere = kn_from((float[]){NAN, 0}, KN_F32, KN_SHAPE(1, 1, 1, 2));
    CHECK(isnan(kn_item(kn_grid_sample(x, nowhere, NULL))));
    kn_tensor theta = kn_from((float[]){1, 0, 0, 0, 1, 0}, KN_F32, KN_SHAPE(1, 2, 3));
    CHECK_VALUES(kn_grid_sample(x, kn_affine_grid(theta, KN_SHAPE(1, 1, 4, 4), false), NULL), 1e-5, 0, 1, 2,
                 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

static int64_t plain_windows(int64_t size, int64_t window, int64_t stride, int64_t padding, int64_t dilation)
{
    int64_t room = size + 2 * padding - dilation * (window - 1) - 1, n = (room + stride - 1) / stride + 1;
    return (n - 1) * stride >= size + padding ? n - 1 : n;
}

/* One rule for constants and unknowns, against PyTorch's formula. */
static void symbolic_sizes(void)
{
    kni_dims *dims = kni_dims_new(), *before = kni_dims_enter(dims);
    kn_dim unknown = kni_dim_symbol("pooled_size", 8, 100);
    int64_t wrong = 0;
    for (int64_t window = 1; window <= 4; window++)
        for (int64_t stride = 1; stride <= 5; stride++)
            for (int64_t padding = 0; 2 * padding <= window; padding++)
                for (int64_t dilation = 1; dilation <= 2; dilation++) {
                    kn_ints w = KN_INTS(window), p = KN_INTS(padding);
                    kni_pool_attributes a = {.axes = 1,
                                             .window = w,
                                             .stride = KN_INTS(stride),
                                             .padding = p,
                                             .padding_end = p,
                                             .dilation = KN_INTS(dilation),
                                             .ceil_mode = 1};
                    kn_dim n = kni_pool_windows(unknown, &a, 0);
                    for (int64_t size = 8; size < 20; size++) {
                        int64_t want = plain_windows(size, window, stride, padding, dilation);
                        wrong += kni_pool_windows(size, &a, 0) != want;
                        wrong += kni_dim_evaluate(n, &unknown, &size, 1) != want;
                    }
                }
    CHECK(wrong == 0);
    kni_dims_enter(before);
    kni_dims_free(dims);
}

static kn_tensor run_case(int which, kn_tensor x)
{
    kn_pool_args wide = {.stride = {2, 2}, .padding = {1, 1}, .ceil_mode = true};
    kn_interpolate_args resize = {KN_INTERPOLATE_CUBIC, false, which == 3};
    switch (which) {
    case 0:
        return kn_max_pool2d(x, KN_INTS(3, 3), &wide);
    case 1:
        return kn_avg_pool2d(x, KN_INTS(3, 3), &wide);
    case 2:
        return kn_interpolate(x, KN_INTS(40, 61), &resize);
    default:
        return kn_interpolate(x, KN_INTS(17, 9), &resize);
    }
}

/* The same bits on every tier and number of threads. */
static void equal_bits(void)
{
    static float first[4 * 40 * 61], other[4 * 40 * 61];
    kn_tensor x = kn_keep(kn_random_uniform(KN_SHAPE(1, 4, 37, 45), -1, 1, KN_F32));
    kni_tier best = kni_cpu_tier();
    for (int which = 0; which < 4; which++) {
        size_t bytes = 0;
        for (int tier = 0; tier < KNI_ISA_COUNT; tier++) {
            if (!tier_runs((kni_tier)tier)) continue;
            kni_cpu_set_tier((kni_tier)tier);
            for (int threads = 1; threads <= 3; threads++) {
                kni_set_threads(threads);
                kn_tensor y = kn_keep(run_case(which, x));
                size_t size = (size_t)kn_count(y) * sizeof(float);
                CHECK(size <= sizeof other && kn_read_as(y, KN_F32, other, size) == KN_OK);
                if (!bytes) memcpy(first, other, size);
                CHECK(!memcmp(first, other, size));
                bytes = size;
                kn_drop(y);
            }
        }
    }
    kni_cpu_set_tier(best);
    kni_set_threads(0);
}

static kn_tensor sampled(void *context, const kn_tensor *in, int32_t n)
{
    (void)n;
    return kn_sum(kn_square(kn_grid_sample(in[0], in[1], context)), KN_AXES_ALL, false);
}

/* Gradients of gradients in x and grid, for a filter that is smooth enough to have them. */
static void second_order(void)
{
    kn_device device = kn_device_open("autodiff(cpu)");
    kn_device_use(device);
    kn_scope s = kn_scope_begin();
    kn_grid_sample_args cubic = {KN_SAMPLE_BICUBIC, KN_SAMPLE_BORDER, false};
    kn_tensor in[2] = {
        kn_random_uniform(KN_SHAPE(1, 2, 4, 3), -1, 1, KN_F64),
        kn_from((double[]){-0.71, 0.13, 0.42, -0.33, 0.97, 0.61, -0.2, -1.15}, KN_F64, KN_SHAPE(1, 2, 2, 2))};
    in[0] = kn_require_grad(in[0]);
    in[1] = kn_require_grad(in[1]);
    kn_tensor y = sampled(&cubic, in, 2), g[2], gg[2], total;
    CHECK(kn_grad(&y, NULL, 1, in, 2, KN_GRAD_CREATE_GRAPH, g) == KN_OK);
    total = kn_add(kn_sum(kn_square(g[0]), KN_AXES_ALL, false), kn_sum(kn_square(g[1]), KN_AXES_ALL, false));
    CHECK(kn_grad(&total, NULL, 1, in, 2, 0, gg) == KN_OK);
    CHECK(kn_ok(gg[0]) && kn_ok(gg[1]) && kn_count(gg[1]) == 8);
    kn_scope_end(s, KN_NONE);
    kn_device_use(NULL);
}

/* A window whose elements lie further apart than the strip that is worked on at once. */
static void far_windows(void)
{
    enum { N = 5000, APART = 3000 };
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_keep(kn_sin(kn_arange(0, N, 1, KN_F32)));
    kn_tensor want = kn_keep(kn_maximum(kn_narrow(x, 0, 0, N - APART), kn_narrow(x, 0, APART, N - APART)));
    kn_tensor y = kn_max_pool1d(kn_reshape(x, KN_SHAPE(1, N)), KN_INTS(2),
                                &(kn_pool_args){.stride = {1}, .dilation = {APART}});
    y = kn_reshape(y, KN_SHAPE(-1));
    CHECK(kn_item_int(kn_count_nonzero(kn_not_equal(y, want), KN_AXES_ALL, false)) == 0);
    kn_scope_end(s, KN_NONE);
}

/* Two planes of a volume that do not lie one behind the other: every second one of four. */
static void convolves_planes_apart(void)
{
    kn_tensor volume = kn_sin(kn_reshape(kn_arange(0, 4 * 12 * 12, 1, KN_F32), KN_SHAPE(1, 1, 4, 12, 12)));
    kn_tensor x = kn_keep(kn_slice(volume, 2, 0, 4, 2)), whole = kn_keep(kn_add_scalar(x, 0));
    kn_tensor w = kn_keep(kn_reshape(kn_arange(1, 9, 1, KN_F32), KN_SHAPE(1, 1, 2, 2, 2)));
    kn_tensor y = kn_conv3d(x, w, KN_NONE, NULL), want = kn_conv3d(whole, w, KN_NONE, NULL);
    CHECK(kn_size(y, 2) == 1 && kn_size(y, 4) == 11);
    CHECK(kn_item_int(kn_count_nonzero(kn_not_equal(y, want), KN_AXES_ALL, false)) == 0);
}

/* Each element of dx collects what its taps gave to y: rows of several columns, several rows. */
static void resize_gradient(void)
{
    kn_device taped = kn_device_open("autodiff(cpu)");
    kn_device_use(taped);
    kn_scope s = kn_scope_begin();
    kn_interpolate_args linear = {.mode = KN_INTERPOLATE_LINEAR};
    kn_tensor x = kn_require_grad(image(2, 2)), dy = kn_keep(kn_add_scalar(image(4, 4), 1)), dx;
    kn_tensor y = kn_keep(kn_interpolate(x, KN_INTS(4, 4), &linear));
    CHECK(kn_grad(&y, &dy, 1, &x, 1, 0, &dx) == KN_OK);
    CHECK_VALUES(dx, 1e-5, 16.5, 23.5, 44.5, 51.5);
    kn_scope_end(s, KN_NONE);
    kn_device_use(NULL);
    kn_device_close(taped);
}

int main(void)
{
    kn_scope s = kn_scope_begin();
    convolves_planes_apart();
    ties_and_nan();
    padding_rules();
    steps_beyond_x("cpu");
    steps_beyond_x("ref");
    far_windows();
    pools_of_bytes();
    errors();
    unpool_and_patches();
    symbolic_sizes();
    equal_bits();
    second_order();
    resize_gradient();
    kn_scope_end(s, KN_NONE);
    kn_shutdown();
    return check_report();
}
