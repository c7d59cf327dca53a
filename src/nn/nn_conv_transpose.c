/* Transposed convolution layers of one to three axes. */
#include "nn/conv_init.h"
#include "nn/layer.h"
#include "support/failure.h"
#include <kn/contraction.h>
#include <kn/nn/convolution.h>
#include <kn/tensor.h>

static const kn_field fields[] = {KN_PARAM(kn_nn_conv, weight),
                                  KN_PARAM(kn_nn_conv, bias),
                                  KN_INT(kn_nn_conv, in_channels),
                                  KN_INT(kn_nn_conv, out_channels),
                                  KN_INT_LIST(kn_nn_conv, kernel_size),
                                  KN_INT_LIST(kn_nn_conv, stride),
                                  KN_INT_LIST(kn_nn_conv, padding),
                                  KN_INT_LIST(kn_nn_conv, padding_end),
                                  KN_INT_LIST(kn_nn_conv, output_padding),
                                  KN_INT_LIST(kn_nn_conv, dilation),
                                  KN_INT(kn_nn_conv, groups),
                                  {0}};

const kn_module_type kn_nn_conv_transpose1d_type = {"ConvTranspose1d", sizeof(kn_nn_conv), fields};
const kn_module_type kn_nn_conv_transpose2d_type = {"ConvTranspose2d", sizeof(kn_nn_conv), fields};
const kn_module_type kn_nn_conv_transpose3d_type = {"ConvTranspose3d", sizeof(kn_nn_conv), fields};

static kn_status init(const char *function, const kn_module_type *type, kn_nn_conv *m, kn_nn_conv made,
                      const kn_nn_conv_args *args, int32_t rank)
{
    if (args && (args->same || args->padding_mode != KN_PAD_CONSTANT))
        return kni_layer_clear(m, sizeof *m,
                               kni_failure(KN_ERROR_ARGUMENT,
                                           "%s: transposed convolutions have neither same nor padding modes",
                                           function));
    return kni_conv_init(function, type, m, made, args, rank, true);
}

kn_status kn_nn_conv_transpose1d_init(kn_nn_conv_transpose1d *m, int64_t in_channels, int64_t out_channels,
                                      kn_ints kernel_size, const kn_nn_conv_args *args)
{
    kn_nn_conv made = {.in_channels = in_channels, .out_channels = out_channels, .kernel_size = kernel_size};
    return init("kn_nn_conv_transpose1d_init", &kn_nn_conv_transpose1d_type, m, made, args, 1);
}

kn_status kn_nn_conv_transpose2d_init(kn_nn_conv_transpose2d *m, int64_t in_channels, int64_t out_channels,
                                      kn_ints kernel_size, const kn_nn_conv_args *args)
{
    kn_nn_conv made = {.in_channels = in_channels, .out_channels = out_channels, .kernel_size = kernel_size};
    return init("kn_nn_conv_transpose2d_init", &kn_nn_conv_transpose2d_type, m, made, args, 2);
}

kn_status kn_nn_conv_transpose3d_init(kn_nn_conv_transpose3d *m, int64_t in_channels, int64_t out_channels,
                                      kn_ints kernel_size, const kn_nn_conv_args *args)
{
    kn_nn_conv made = {.in_channels = in_channels, .out_channels = out_channels, .kernel_size = kernel_size};
    return init("kn_nn_conv_transpose3d_init", &kn_nn_conv_transpose3d_type, m, made, args, 3);
}

/* ---- forward */

typedef struct lists {
    int64_t *stride, *padding, *padding_end, *output_padding, *dilation;
} lists;

static void fill(const kn_nn_conv *m, lists to)
{
    for (int i = 0; i < m->kernel_size.rank; i++) {
        to.stride[i] = m->stride.dims[i];
        to.padding[i] = kn_int_given(m->padding.dims[i]);
        to.padding_end[i] = kn_int_given(m->padding_end.dims[i]);
        to.output_padding[i] = kn_int_given(m->output_padding.dims[i]);
        to.dilation[i] = m->dilation.dims[i];
    }
}

kn_tensor kn_nn_conv_transpose1d_forward(const kn_nn_conv_transpose1d *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_conv_transpose1d, m);
    kn_conv_transpose1d_args a = {.groups = m->groups};
    if (m->kernel_size.rank != 1) return kni_conv_not_made("kn_nn_conv_transpose1d_forward");
    fill(m, (lists){a.stride, a.padding, a.padding_end, a.output_padding, a.dilation});
    return kn_conv_transpose1d(x, kn_value(m->weight), kn_value(m->bias), &a);
}

kn_tensor kn_nn_conv_transpose2d_forward(const kn_nn_conv_transpose2d *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_conv_transpose2d, m);
    kn_conv_transpose2d_args a = {.groups = m->groups};
    if (m->kernel_size.rank != 2) return kni_conv_not_made("kn_nn_conv_transpose2d_forward");
    fill(m, (lists){a.stride, a.padding, a.padding_end, a.output_padding, a.dilation});
    return kn_conv_transpose2d(x, kn_value(m->weight), kn_value(m->bias), &a);
}

kn_tensor kn_nn_conv_transpose3d_forward(const kn_nn_conv_transpose3d *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_conv_transpose3d, m);
    kn_conv_transpose3d_args a = {.groups = m->groups};
    if (m->kernel_size.rank != 3) return kni_conv_not_made("kn_nn_conv_transpose3d_forward");
    fill(m, (lists){a.stride, a.padding, a.padding_end, a.output_padding, a.dilation});
    return kn_conv_transpose3d(x, kn_value(m->weight), kn_value(m->bias), &a);
}
