/* Pools of one to three axes, adaptive and lp pools, interpolation, grids and patches of drawn sizes, and their gradients: equal to
   `ref` on every tier and in groups. */
#include "support/drawn_sizes.h"
#include <kn/spatial.h>

enum { MOST = 1 << 13 };

static kn_shape image(drawn *d, int32_t axes)
{
    kn_shape s = {2 + axes, {drawn_size(d, 4), drawn_size(d, 70)}};
    int64_t left = drawn_most(d, MOST) / (s.dims[0] * s.dims[1]) + 1;
    for (int32_t i = 0; i < axes; i++) left /= s.dims[2 + i] = drawn_size(d, left < 200 ? left : 200);
    return s;
}

static void pools(drawn *d)
{
    int32_t axes = 1 + (int32_t)below(d, 3);
    kn_shape s = image(d, axes);
    kn_ints window = {axes, {0}};
    kn_pool_args args = {.ceil_mode = below(d, 2), .exclude_padding = below(d, 2)};
    int kind = (int)below(d, 4);
    bool even = below(d, 2);
    for (int32_t i = 0; i < axes; i++) {
        int64_t n = s.dims[2 + i];
        window.dims[i] = i && even ? window.dims[0] : 1 + below(d, 5);
        if (window.dims[i] > n) window.dims[i] = n;
        args.stride[i] = 1 + below(d, 4);
        args.dilation[i] = kind < 2 && below(d, 3) == 0 ? 1 + below(d, 3) : 1;
        if ((window.dims[i] - 1) * args.dilation[i] + 1 > n) args.dilation[i] = 1;
        args.padding[i] = below(d, window.dims[i] / 2 + 1);
        drawn_note(d, "window", window.dims[i]);
        drawn_note(d, "stride", args.stride[i]);
        drawn_note(d, "padding", args.padding[i]);
        drawn_note(d, "dilation", args.dilation[i]);
    }
    drawn_note(d, "kind", kind);
    drawn_note(d, "ceil", args.ceil_mode);
    drawn_note(d, "exclude", args.exclude_padding);
    kn_tensor x = drawn_between(d, s, drawn_float(d), true, kind == 3 ? 0.5 : -2, 2);
#define POOL(op, ...)                                                                                        \
    (axes == 1   ? kn_##op##1d(x, __VA_ARGS__)                                                               \
     : axes == 2 ? kn_##op##2d(x, __VA_ARGS__)                                                               \
                 : kn_##op##3d(x, __VA_ARGS__))
    if (kind == 0) drawn_result(d, drawn_tail(d, POOL(max_pool, window, &args)), true);
    if (kind == 1) {
        kn_pooled p = axes == 1   ? kn_max_pool1d_with_indices(x, window, &args)
                      : axes == 2 ? kn_max_pool2d_with_indices(x, window, &args)
                                  : kn_max_pool3d_with_indices(x, window, &args);
        drawn_result(d, p.values, true);
        drawn_result(d, p.indices, false);
    }
    if (kind == 2) drawn_result(d, drawn_tail(d, POOL(avg_pool, window, &args)), true);
    d->looser = kind == 3 ? 8 : 1;
    if (kind == 3) drawn_result(d, POOL(lp_pool, 1 + (double)below(d, 3), window, &args), true);
}

static void adaptive(drawn *d)
{
    int32_t axes = 1 + (int32_t)below(d, 3);
    kn_shape s = image(d, axes);
    kn_ints size = {axes, {0}};
    for (int32_t i = 0; i < axes; i++) drawn_note(d, "size", size.dims[i] = drawn_size(d, s.dims[2 + i] + 3));
    kn_tensor x = drawn_operand(d, s, drawn_float(d), true);
    if (below(d, 2)) {
        drawn_result(d, POOL(adaptive_avg_pool, size), true);
        return;
    }
    kn_pooled p = axes == 1   ? kn_adaptive_max_pool1d(x, size)
                  : axes == 2 ? kn_adaptive_max_pool2d(x, size)
                              : kn_adaptive_max_pool3d(x, size);
    drawn_result(d, p.values, true);
    drawn_result(d, p.indices, false);
}

static void interpolate(drawn *d)
{
    int32_t axes = 1 + (int32_t)below(d, 3);
    kn_shape s = image(d, axes);
    kn_interpolate_args args = {.mode = (kn_interpolate_mode)below(d, 6)};
    if (args.mode == KN_INTERPOLATE_LANCZOS3 || (args.mode == KN_INTERPOLATE_CUBIC && axes == 3))
        args.mode = KN_INTERPOLATE_LINEAR;
    if (args.mode == KN_INTERPOLATE_LINEAR || args.mode == KN_INTERPOLATE_CUBIC) {
        args.align_corners = below(d, 2);
        args.antialias = axes == 2 && below(d, 3) == 0;
    }
    kn_ints size = {axes, {0}};
    int64_t left = 4 * MOST / (s.dims[0] * s.dims[1]) + 1;
    for (int32_t i = 0; i < axes; i++) {
        int64_t most = 2 * s.dims[2 + i] + 3;
        drawn_note(d, "size",
                   size.dims[i] = below(d, 3) ? drawn_size(d, most < left ? most : left) : s.dims[2 + i]);
        left = left / size.dims[i] + 1;
    }
    drawn_note(d, "mode", args.mode);
    drawn_note(d, "corners", args.align_corners);
    drawn_note(d, "antialias", args.antialias);
    d->looser = 4;
    drawn_result(d, kn_interpolate(drawn_operand(d, s, drawn_float(d), true), size, &args), true);
}

static void grids(drawn *d)
{
    kn_shape s = image(d, 2);
    int64_t h = drawn_size(d, 20), w = drawn_size(d, 20);
    kn_grid_sample_args args = {(kn_sample_mode)below(d, 3), (kn_sample_padding)below(d, 3), below(d, 2)};
    kn_dtype dtype = d->dtype = below(d, 3) ? KN_F32 : KN_F64;
    kn_tensor x = drawn_operand(d, s, dtype, true);
    /* Between elements, where the gradient of the places does not jump. */
    kn_tensor grid = kn_keep(kn_add_scalar(
        kn_mul_scalar(drawn_operand(d, KN_SHAPE(s.dims[0], h, w, 2), dtype, true), 0.61), 0.00717));
    drawn_note(d, "mode", args.mode);
    drawn_note(d, "padding", args.padding);
    d->looser = 20;
    drawn_result(d, kn_grid_sample(x, grid, &args), true);
}

static void patches(drawn *d)
{
    kn_shape s = image(d, 2);
    kn_ints window = KN_INTS(1 + below(d, 4), 1 + below(d, 4));
    kn_unfold_args args = {
        {1 + below(d, 3), 1 + below(d, 3)}, {below(d, 3), below(d, 3)}, {1 + below(d, 2), 1 + below(d, 2)}};
    for (int i = 0; i < 2; i++)
        if (s.dims[2 + i] + 2 * args.padding[i] < (window.dims[i] - 1) * args.dilation[i] + 1)
            window.dims[i] = 1;
    drawn_note(d, "window", window.dims[0] * 10 + window.dims[1]);
    drawn_note(d, "stride", args.stride[0] * 10 + args.stride[1]);
    drawn_note(d, "padding", args.padding[0] * 10 + args.padding[1]);
    d->looser = 4;
    kn_tensor x = drawn_operand(d, s, drawn_float(d), true);
    kn_tensor columns = kn_keep(kn_unfold_patches(x, window, &args));
    drawn_result(d, columns, true);
    drawn_result(d, kn_fold_patches(columns, KN_INTS(s.dims[2], s.dims[3]), window, &args), true);
}

int main(int n, char **words)
{
    static const drawn_row rows[] = {{"pools", pools, 60},
                                     {"adaptive", adaptive, 25},
                                     {"interpolate", interpolate, 40},
                                     {"grids", grids, 15},
                                     {"patches", patches, 20}};
    return drawn_main(rows, (int)(sizeof rows / sizeof *rows), n, words);
}
