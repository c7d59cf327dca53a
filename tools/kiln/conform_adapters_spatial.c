/* Conformance adapters of pooling, patches, interpolation and grids. */
#include "conform_adapter.h"

static void copy(int64_t *to, kn_ints list)
{
    for (int i = 0; i < list.rank && i < 3; i++) to[i] = list.dims[i];
}

static kn_pool_args pool_args(const kiln_attributes *a)
{
    kn_pool_args p = {.ceil_mode = kiln_int(a, "ceil_mode", 0) != 0,
                      .exclude_padding = kiln_int(a, "exclude_padding", 0) != 0,
                      .divisor = kiln_int(a, "divisor", 0)};
    copy(p.stride, kiln_ints(a, "stride"));
    kn_ints padding = kiln_ints(a, "padding"); /* of every axis, so that a 0 is meant */
    for (int i = 0; i < padding.rank; i++) padding.dims[i] = kn_int_given(padding.dims[i]);
    copy(p.padding, padding);
    copy(p.padding_end, kiln_ints(a, "padding_end"));
    copy(p.dilation, kiln_ints(a, "dilation"));
    return p;
}

#define POOL(name)                                                                                           \
    static int run_##name(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)    \
    {                                                                                                        \
        kn_pool_args p = pool_args(a);                                                                       \
        (void)n, (void)room;                                                                                 \
        out[0] = kn_##name(in[0], kiln_ints(a, "window"), &p);                                               \
        return 1;                                                                                            \
    }
POOL(max_pool1d)
POOL(max_pool2d)
POOL(max_pool3d)
POOL(avg_pool1d)
POOL(avg_pool2d)
POOL(avg_pool3d)

static int two(kn_pooled p, kn_tensor *out)
{
    out[0] = p.values;
    out[1] = p.indices;
    return 2;
}

#define POOL_INDICES(name)                                                                                   \
    static int run_##name(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)    \
    {                                                                                                        \
        kn_pool_args p = pool_args(a);                                                                       \
        (void)n, (void)room;                                                                                 \
        return two(kn_##name(in[0], kiln_ints(a, "window"), &p), out);                                       \
    }
POOL_INDICES(max_pool1d_with_indices)
POOL_INDICES(max_pool2d_with_indices)
POOL_INDICES(max_pool3d_with_indices)

#define ADAPTIVE_AVG(name)                                                                                   \
    static int run_##name(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)    \
    {                                                                                                        \
        (void)n, (void)room;                                                                                 \
        out[0] = kn_##name(in[0], kiln_ints(a, "size"));                                                     \
        return 1;                                                                                            \
    }
ADAPTIVE_AVG(adaptive_avg_pool1d)
ADAPTIVE_AVG(adaptive_avg_pool2d)
ADAPTIVE_AVG(adaptive_avg_pool3d)

#define ADAPTIVE_MAX(name)                                                                                   \
    static int run_##name(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)    \
    {                                                                                                        \
        (void)n, (void)room;                                                                                 \
        return two(kn_##name(in[0], kiln_ints(a, "size")), out);                                             \
    }
ADAPTIVE_MAX(adaptive_max_pool1d)
ADAPTIVE_MAX(adaptive_max_pool2d)
ADAPTIVE_MAX(adaptive_max_pool3d)

static kn_tensor max_unpool(const kn_tensor *in, const kiln_attributes *a)
{
    return kn_max_unpool(in[0], in[1], kiln_ints(a, "size"));
}

static kn_unfold_args unfold_args(const kiln_attributes *a)
{
    kn_unfold_args u = {{0}, {0}, {0}};
    kn_ints stride = kiln_ints(a, "stride"), padding = kiln_ints(a, "padding"),
            dilation = kiln_ints(a, "dilation");
    for (int i = 0; i < 2; i++) {
        u.stride[i] = stride.rank == 2 ? stride.dims[i] : 0;
        u.padding[i] = padding.rank == 2 ? kn_int_given(padding.dims[i]) : 0;
        u.dilation[i] = dilation.rank == 2 ? dilation.dims[i] : 0;
    }
    return u;
}

static kn_tensor unfold4d(const kn_tensor *in, const kiln_attributes *a)
{
    kn_unfold_args u = unfold_args(a);
    return kn_unfold_patches(in[0], kiln_ints(a, "window"), &u);
}

static kn_tensor fold4d(const kn_tensor *in, const kiln_attributes *a)
{
    kn_unfold_args u = unfold_args(a);
    return kn_fold_patches(in[0], kiln_ints(a, "size"), kiln_ints(a, "window"), &u);
}

static kn_tensor pixel_shuffle(const kn_tensor *in, const kiln_attributes *a)
{
    return kn_pixel_shuffle(in[0], kiln_int(a, "factor", 1));
}

static kn_tensor pixel_unshuffle(const kn_tensor *in, const kiln_attributes *a)
{
    return kn_pixel_unshuffle(in[0], kiln_int(a, "factor", 1));
}

static kn_tensor resize(const kn_tensor *in, const kiln_attributes *a)
{
    kn_interpolate_args i = {(kn_interpolate_mode)kiln_int(a, "mode", 0),
                             kiln_int(a, "align_corners", 0) != 0, kiln_int(a, "antialias", 0) != 0};
    return kn_interpolate(in[0], kiln_ints(a, "size"), &i);
}

static kn_tensor sample_grid(const kn_tensor *in, const kiln_attributes *a)
{
    kn_grid_sample_args g = {(kn_sample_mode)kiln_int(a, "mode", 0),
                             (kn_sample_padding)kiln_int(a, "padding", 0),
                             kiln_int(a, "align_corners", 0) != 0};
    return kn_grid_sample(in[0], in[1], &g);
}

static kn_tensor affine_grid(const kn_tensor *in, const kiln_attributes *a)
{
    return kn_affine_grid(in[0], kiln_ints(a, "size"), kiln_int(a, "align_corners", 0) != 0);
}

#define SIMPLE(name)                                                                                         \
    static int run_##name(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)    \
    {                                                                                                        \
        (void)n, (void)room;                                                                                 \
        out[0] = name(in, a);                                                                                \
        return 1;                                                                                            \
    }
SIMPLE(max_unpool)
SIMPLE(unfold4d)
SIMPLE(fold4d)
SIMPLE(pixel_shuffle)
SIMPLE(pixel_unshuffle)
SIMPLE(resize)
SIMPLE(sample_grid)
SIMPLE(affine_grid)

#define ENTRY(name)                                                                                          \
    {                                                                                                        \
#name, run_##name                                                                                    \
    }
const kiln_adapter kiln_adapters_spatial[] = {ENTRY(max_pool1d),
                                              ENTRY(max_pool2d),
                                              ENTRY(max_pool3d),
                                              ENTRY(avg_pool1d),
                                              ENTRY(avg_pool2d),
                                              ENTRY(avg_pool3d),
                                              ENTRY(max_pool1d_with_indices),
                                              ENTRY(max_pool2d_with_indices),
                                              ENTRY(max_pool3d_with_indices),
                                              ENTRY(adaptive_avg_pool1d),
                                              ENTRY(adaptive_avg_pool2d),
                                              ENTRY(adaptive_avg_pool3d),
                                              ENTRY(adaptive_max_pool1d),
                                              ENTRY(adaptive_max_pool2d),
                                              ENTRY(adaptive_max_pool3d),
                                              ENTRY(max_unpool),
                                              ENTRY(unfold4d),
                                              ENTRY(fold4d),
                                              ENTRY(pixel_shuffle),
                                              ENTRY(pixel_unshuffle),
                                              ENTRY(resize),
                                              ENTRY(sample_grid),
                                              ENTRY(affine_grid),
                                              {NULL, NULL}};
