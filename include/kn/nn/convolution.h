/* Convolution layers. Lists have one entry per spatial axis. A 0 behind the
   first stride or dilation is as the first: .stride = {2} is 2 on every axis, as PyTorch's stride=2. A padding of 0 is none:
   write .padding = {1, 1} for PyTorch's padding=1. */
#ifndef KN_NN_CONVOLUTION_H
#define KN_NN_CONVOLUTION_H

#include <kn/nn/init.h>
#include <kn/nn/module.h>
#include <kn/shape.h>

#ifdef __cplusplus
extern "C" {
#endif

/* y = conv(x, W) + b, see kn_conv1d, kn_conv2d and kn_conv3d. x [batch, in, sizes...] or without batch. One struct serves all
   ranks; kernel_size tells which. */
typedef struct kn_nn_conv {
    kn_param weight; /* [out, in / groups, kernel...] */
    kn_param bias;   /* [out], or absent */
    int64_t in_channels, out_channels, groups;
    kn_ints kernel_size, stride, padding, padding_end, output_padding, dilation;
    bool same;
    kn_pad_mode padding_mode;
} kn_nn_conv;
typedef kn_nn_conv kn_nn_conv1d, kn_nn_conv2d, kn_nn_conv3d;
extern KN_API const kn_module_type kn_nn_conv1d_type, kn_nn_conv2d_type, kn_nn_conv3d_type;

/* No padding ("valid") unless the args say so. */
typedef struct kn_nn_conv_args {
    int64_t stride[3];         /* 0 = 1 */
    int64_t padding[3];        /* at both ends, or at the start where padding_end is given */
    int64_t padding_end[3];    /* 0 = as padding, KN_ZERO = none */
    int64_t output_padding[3]; /* of transposed convolutions: more elements at the end of y */
    int64_t dilation[3];       /* 0 = 1 */
    int64_t groups;            /* 0 = 1 */
    bool same;                 /* y has size ceil(x / stride), the odd element of the padding is at the end */
    kn_pad_mode
        padding_mode; /* 0 = zeros, or KN_PAD_REFLECT, KN_PAD_EDGE (replicate), KN_PAD_WRAP (circular) */
    bool no_bias;
    kn_initializer weight, bias; /* zeroed: uniform on +-1 / sqrt(in / groups kernel), for both */
    kn_dtype dtype;              /* 0 = f32 */
} kn_nn_conv_args;
#define KN_NN_CONV_ARGS_DEFAULTS                                                                             \
    KN_FIELDS({1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, 1, false, KN_PAD_CONSTANT, false,       \
              KN_INITIALIZER_DEFAULTS, KN_INITIALIZER_DEFAULTS, KN_F32)
/* kernel_size has one entry per spatial axis: KN_INTS(3, 3). */
KN_API kn_status kn_nn_conv1d_init(kn_nn_conv1d *m, int64_t in_channels, int64_t out_channels,
                                   kn_ints kernel_size, const kn_nn_conv_args *args);
KN_API kn_status kn_nn_conv2d_init(kn_nn_conv2d *m, int64_t in_channels, int64_t out_channels,
                                   kn_ints kernel_size, const kn_nn_conv_args *args);
KN_API kn_status kn_nn_conv3d_init(kn_nn_conv3d *m, int64_t in_channels, int64_t out_channels,
                                   kn_ints kernel_size, const kn_nn_conv_args *args);
KN_API kn_tensor kn_nn_conv1d_forward(const kn_nn_conv1d *m, kn_tensor x);
KN_API kn_tensor kn_nn_conv2d_forward(const kn_nn_conv2d *m, kn_tensor x);
KN_API kn_tensor kn_nn_conv3d_forward(const kn_nn_conv3d *m, kn_tensor x);

/* Transposed convolutions, see kn_conv_transpose2d. The weight is [in, out / groups, kernel...]; args->output_padding counts,
   same and padding_mode must be left 0. */
typedef kn_nn_conv kn_nn_conv_transpose1d, kn_nn_conv_transpose2d, kn_nn_conv_transpose3d;
extern KN_API const kn_module_type kn_nn_conv_transpose1d_type, kn_nn_conv_transpose2d_type,
    kn_nn_conv_transpose3d_type;

KN_API kn_status kn_nn_conv_transpose1d_init(kn_nn_conv_transpose1d *m, int64_t in_channels,
                                             int64_t out_channels, kn_ints kernel_size,
                                             const kn_nn_conv_args *args);
KN_API kn_status kn_nn_conv_transpose2d_init(kn_nn_conv_transpose2d *m, int64_t in_channels,
                                             int64_t out_channels, kn_ints kernel_size,
                                             const kn_nn_conv_args *args);
KN_API kn_status kn_nn_conv_transpose3d_init(kn_nn_conv_transpose3d *m, int64_t in_channels,
                                             int64_t out_channels, kn_ints kernel_size,
                                             const kn_nn_conv_args *args);
KN_API kn_tensor kn_nn_conv_transpose1d_forward(const kn_nn_conv_transpose1d *m, kn_tensor x);
KN_API kn_tensor kn_nn_conv_transpose2d_forward(const kn_nn_conv_transpose2d *m, kn_tensor x);
KN_API kn_tensor kn_nn_conv_transpose3d_forward(const kn_nn_conv_transpose3d *m, kn_tensor x);

/* A 2-D convolution whose taps are moved by offsets and scaled by a mask, both computed by other layers; see
   kn_deform_conv2d. args->groups are the groups of the weight, padding_mode must be zeros. */
typedef kn_nn_conv kn_nn_deform_conv2d;
extern KN_API const kn_module_type kn_nn_deform_conv2d_type;
KN_API kn_status kn_nn_deform_conv2d_init(kn_nn_deform_conv2d *m, int64_t in_channels, int64_t out_channels,
                                          kn_ints kernel_size, const kn_nn_conv_args *args);
/* mask may be KN_NONE. */
KN_API kn_tensor kn_nn_deform_conv2d_forward(const kn_nn_deform_conv2d *m, kn_tensor x, kn_tensor offset,
                                             kn_tensor mask);

#ifdef __cplusplus
}
#endif
#endif
