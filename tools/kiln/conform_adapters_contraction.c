/* What `kiln conform` calls of the products and convolutions that are no rows. */
#include "conform_adapter_words.h"

#define UNUSED (void)n, (void)room, (void)a

SIMPLE(dot, kn_dot(in[0], in[1]))
SIMPLE(matvec, kn_matvec(in[0], in[1]))
SIMPLE(outer, kn_outer(in[0], in[1]))
SIMPLE(outer_dim, kn_outer_dim(in[0], in[1], (int32_t)kiln_int(a, "axis", 0)))
SIMPLE(addmm, kn_addmm(in[0], in[1], in[2], kiln_real(a, "beta", 1), kiln_real(a, "alpha", 1)))
SIMPLE(multi_dot, kn_multi_dot(in, n))
SIMPLE(bilinear, kn_bilinear(in[0], in[1], in[2], in[3]))
SIMPLE(tensordot, kn_tensordot(in[0], in[1], kiln_ints(a, "axes_a"), kiln_ints(a, "axes_b")))
SIMPLE(kron, kn_kron(in[0], in[1]))
SIMPLE(cross, kn_cross(in[0], in[1], (int32_t)kiln_int(a, "axis", -1)))
SIMPLE(einsum, kn_einsum(kiln_text(a, "equation", NULL), in, n))

static void fill(const kiln_attributes *a, const char *name, int64_t *to, int n)
{
    kn_ints list = kiln_ints(a, name);
    for (int i = 0; i < n && i < list.rank; i++) to[i] = list.dims[i];
}

/* A case says the padding of every axis, so that a 0 is meant. */
static void fill_given(const kiln_attributes *a, const char *name, int64_t *to, int n)
{
    fill(a, name, to, n);
    for (int i = 0; i < n && i < kiln_ints(a, name).rank; i++) to[i] = kn_int_given(to[i]);
}

#define CONV(name, n_axes)                                                                                   \
    ADAPTER(name)                                                                                            \
    {                                                                                                        \
        UNUSED;                                                                                              \
        kn_##name##_args g = {.groups = kiln_int(a, "groups", 0), .same = kiln_int(a, "same", 0) != 0};      \
        fill(a, "stride", g.stride, n_axes);                                                                 \
        fill_given(a, "padding", g.padding, n_axes);                                                         \
        fill(a, "padding_end", g.padding_end, n_axes);                                                       \
        fill(a, "dilation", g.dilation, n_axes);                                                             \
        out[0] = kn_##name(in[0], in[1], in[2], a->n ? &g : NULL);                                           \
        return 1;                                                                                            \
    }

CONV(conv1d, 1)
CONV(conv2d, 2)
CONV(conv3d, 3)

#define CONV_TRANSPOSE(name, n_axes)                                                                         \
    ADAPTER(name)                                                                                            \
    {                                                                                                        \
        UNUSED;                                                                                              \
        kn_##name##_args g = {.groups = kiln_int(a, "groups", 0)};                                           \
        fill(a, "stride", g.stride, n_axes);                                                                 \
        fill_given(a, "padding", g.padding, n_axes);                                                         \
        fill(a, "padding_end", g.padding_end, n_axes);                                                       \
        fill_given(a, "output_padding", g.output_padding, n_axes);                                           \
        fill(a, "dilation", g.dilation, n_axes);                                                             \
        out[0] = kn_##name(in[0], in[1], in[2], a->n ? &g : NULL);                                           \
        return 1;                                                                                            \
    }

CONV_TRANSPOSE(conv_transpose1d, 1)
CONV_TRANSPOSE(conv_transpose2d, 2)
CONV_TRANSPOSE(conv_transpose3d, 3)

ADAPTER(deform_conv2d)
{
    UNUSED;
    kn_deform_conv2d_args g = {.weight_groups = kiln_int(a, "weight_groups", 0)};
    fill(a, "stride", g.stride, 2);
    fill_given(a, "padding", g.padding, 2);
    fill(a, "dilation", g.dilation, 2);
    out[0] = kn_deform_conv2d(in[0], in[1], in[2], in[3], in[4], a->n ? &g : NULL);
    return 1;
}

const kiln_adapter kiln_adapters_contraction[] = {ENTRY(dot),
                                                  ENTRY(matvec),
                                                  ENTRY(outer),
                                                  ENTRY(outer_dim),
                                                  ENTRY(addmm),
                                                  ENTRY(multi_dot),
                                                  ENTRY(bilinear),
                                                  ENTRY(tensordot),
                                                  ENTRY(kron),
                                                  ENTRY(cross),
                                                  ENTRY(einsum),
                                                  ENTRY(conv1d),
                                                  ENTRY(conv2d),
                                                  ENTRY(conv3d),
                                                  ENTRY(conv_transpose1d),
                                                  ENTRY(conv_transpose2d),
                                                  ENTRY(conv_transpose3d),
                                                  ENTRY(deform_conv2d),
                                                  {NULL, NULL}};
