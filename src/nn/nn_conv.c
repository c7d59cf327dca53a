/* Convolution layers of one to three axes and deformable ones. */
#include "nn/conv_init.h"
#include "nn/layer.h"
#include "nn/window.h"
#include "support/failure.h"
#include <kn/contraction.h>
#include <kn/nn/convolution.h>
#include <kn/tensor.h>

static const char *const pad_modes[] = {"zeros", "reflect", "edge", "wrap"};

static const kn_field fields[] = {KN_PARAM(kn_nn_conv, weight),
                                  KN_PARAM(kn_nn_conv, bias),
                                  KN_INT(kn_nn_conv, in_channels),
                                  KN_INT(kn_nn_conv, out_channels),
                                  KN_INT_LIST(kn_nn_conv, kernel_size),
                                  KN_INT_LIST(kn_nn_conv, stride),
                                  KN_INT_LIST(kn_nn_conv, padding),
                                  KN_INT_LIST(kn_nn_conv, padding_end),
                                  KN_INT_LIST(kn_nn_conv, dilation),
                                  KN_INT(kn_nn_conv, groups),
                                  KN_FLAG(kn_nn_conv, same),
                                  KN_ENUM(kn_nn_conv, padding_mode, pad_modes),
                                  {0}};

const kn_module_type kn_nn_conv1d_type = {"Conv1d", sizeof(kn_nn_conv), fields};
const kn_module_type kn_nn_conv2d_type = {"Conv2d", sizeof(kn_nn_conv), fields};
const kn_module_type kn_nn_conv3d_type = {"Conv3d", sizeof(kn_nn_conv), fields};
const kn_module_type kn_nn_deform_conv2d_type = {"DeformConv2d", sizeof(kn_nn_conv), fields};

static kn_status check(const char *function, const kn_nn_conv *m, int32_t rank)
{
    kn_status s = kni_layer_positive(function, "in_channels", m->in_channels);
    if (s == KN_OK) s = kni_layer_positive(function, "out_channels", m->out_channels);
    if (s == KN_OK) s = kni_layer_positive(function, "groups", m->groups);
    if (s == KN_OK) s = kni_window_check(function, m->kernel_size, rank);
    for (int i = 0; i < rank && s == KN_OK; i++) {
        s = kni_layer_positive(function, "a stride", m->stride.dims[i]);
        if (s == KN_OK) s = kni_layer_positive(function, "a dilation", m->dilation.dims[i]);
        if (s == KN_OK &&
            (m->padding.dims[i] < 0 || m->padding_end.dims[i] < 0 || m->output_padding.dims[i] < 0))
            s = kni_failure(
                KN_ERROR_ARGUMENT,
                "%s: the paddings are %lld, %lld and %lld (of the output) on axis %d; all must be 0 or "
                "more",
                function, (long long)m->padding.dims[i], (long long)m->padding_end.dims[i],
                (long long)m->output_padding.dims[i], i);
    }
    if (s == KN_OK && (m->in_channels % m->groups || m->out_channels % m->groups))
        s = kni_failure(KN_ERROR_ARGUMENT, "%s: %lld and %lld channels cannot be cut into %lld equal groups",
                        function, (long long)m->in_channels, (long long)m->out_channels,
                        (long long)m->groups);
    if (s == KN_OK && (unsigned)m->padding_mode > KN_PAD_WRAP)
        s = kni_failure(KN_ERROR_ARGUMENT, "%s: there is no padding mode %d", function, (int)m->padding_mode);
    return s;
}

kn_status kni_conv_init(const char *function, const kn_module_type *type, kn_nn_conv *m, kn_nn_conv made,
                        const kn_nn_conv_args *args, int32_t rank, bool transposed)
{
    static const kn_nn_conv_args usual = KN_NN_CONV_ARGS_DEFAULTS;
    if (!args) args = &usual;
    made.groups = kn_int_or(args->groups, usual.groups);
    made.stride = kni_window_steps(args->stride, rank);
    made.dilation = kni_window_steps(args->dilation, rank);
    made.padding = kni_window_paddings(args->padding, rank);
    made.padding_end = kni_window_ends(args->padding_end, made.padding);
    made.output_padding = kni_window_paddings(args->output_padding, rank);
    made.same = args->same;
    made.padding_mode = args->padding_mode;
    kn_status s = check(function, &made, rank);
    if (s == KN_OK) {
        int64_t outer = transposed ? made.in_channels : made.out_channels;
        int64_t inner = (transposed ? made.out_channels : made.in_channels) / made.groups;
        kn_shape shape = {rank + 2, {outer, inner}};
        int64_t fan_in = inner; /* PyTorch counts axis 1 for transposed ones too */
        for (int i = 0; i < rank; i++) {
            shape.dims[2 + i] = made.kernel_size.dims[i];
            fan_in *= made.kernel_size.dims[i];
        }
        s = kni_layer_param(&made.weight, &args->weight, usual.weight, shape, args->dtype, 0);
        if (s == KN_OK && !args->no_bias)
            s = kni_layer_param(&made.bias, &args->bias, usual.bias, KN_SHAPE(made.out_channels), args->dtype,
                                fan_in);
    }
    return kni_layer_finish_as(function, (kn_module){&made, type}, m, s);
}

kn_status kn_nn_conv1d_init(kn_nn_conv1d *m, int64_t in_channels, int64_t out_channels, kn_ints kernel_size,
                            const kn_nn_conv_args *args)
{
    kn_nn_conv made = {.in_channels = in_channels, .out_channels = out_channels, .kernel_size = kernel_size};
    return kni_conv_init("kn_nn_conv1d_init", &kn_nn_conv1d_type, m, made, args, 1, false);
}

kn_status kn_nn_conv2d_init(kn_nn_conv2d *m, int64_t in_channels, int64_t out_channels, kn_ints kernel_size,
                            const kn_nn_conv_args *args)
{
    kn_nn_conv made = {.in_channels = in_channels, .out_channels = out_channels, .kernel_size = kernel_size};
    return kni_conv_init("kn_nn_conv2d_init", &kn_nn_conv2d_type, m, made, args, 2, false);
}

kn_status kn_nn_conv3d_init(kn_nn_conv3d *m, int64_t in_channels, int64_t out_channels, kn_ints kernel_size,
                            const kn_nn_conv_args *args)
{
    kn_nn_conv made = {.in_channels = in_channels, .out_channels = out_channels, .kernel_size = kernel_size};
    return kni_conv_init("kn_nn_conv3d_init", &kn_nn_conv3d_type, m, made, args, 3, false);
}

kn_status kn_nn_deform_conv2d_init(kn_nn_deform_conv2d *m, int64_t in_channels, int64_t out_channels,
                                   kn_ints kernel_size, const kn_nn_conv_args *args)
{
    kn_nn_conv made = {.in_channels = in_channels, .out_channels = out_channels, .kernel_size = kernel_size};
    if (args && args->padding_mode != KN_PAD_CONSTANT)
        return kni_layer_clear(
            m, sizeof *m,
            kni_failure(KN_ERROR_ARGUMENT,
                        "kn_nn_deform_conv2d_init: what lies outside of x counts as zero; the padding "
                        "mode must be KN_PAD_CONSTANT"));
    return kni_conv_init("kn_nn_deform_conv2d_init", &kn_nn_deform_conv2d_type, m, made, args, 2, false);
}

/* ---- forward */

/* x padded beforehand, for modes that the ops do not have. */
static kn_tensor padded(const kn_nn_conv *m, kn_tensor x)
{
    kni_window_padding p = {m->padding, m->padding_end};
    if (m->same) p = kni_window_same(x, m->kernel_size, m->stride, m->dilation);
    return kn_pad(x, &(kn_pad_args){.before = p.before, .after = p.after, .mode = m->padding_mode});
}

/* What the op's args need: the paddings, where a 0 that is meant is KN_ZERO. */
static void fill(const kn_nn_conv *m, int64_t *stride, int64_t *padding, int64_t *padding_end,
                 int64_t *dilation)
{
    bool inside = m->padding_mode == KN_PAD_CONSTANT && !m->same;
    for (int i = 0; i < m->kernel_size.rank; i++) {
        stride[i] = m->stride.dims[i];
        dilation[i] = m->dilation.dims[i];
        padding[i] = inside ? kn_int_given(m->padding.dims[i]) : 0;
        padding_end[i] = inside ? kn_int_given(m->padding_end.dims[i]) : 0;
    }
}

kn_tensor kni_conv_not_made(const char *function)
{
    return kni_poisoned(KN_ERROR_ARGUMENT, "%s: the layer is not initialised, or has another rank", function);
}

kn_tensor kn_nn_conv1d_forward(const kn_nn_conv1d *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_conv1d, m);
    bool outside = m->padding_mode != KN_PAD_CONSTANT;
    kn_conv1d_args args = {.groups = m->groups, .same = m->same && !outside};
    if (m->kernel_size.rank != 1) return kni_conv_not_made("kn_nn_conv1d_forward");
    fill(m, args.stride, args.padding, args.padding_end, args.dilation);
    return kn_conv1d(outside ? padded(m, x) : x, kn_value(m->weight), kn_value(m->bias), &args);
}

kn_tensor kn_nn_conv2d_forward(const kn_nn_conv2d *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_conv2d, m);
    bool outside = m->padding_mode != KN_PAD_CONSTANT;
    kn_conv2d_args args = {.groups = m->groups, .same = m->same && !outside};
    if (m->kernel_size.rank != 2) return kni_conv_not_made("kn_nn_conv2d_forward");
    fill(m, args.stride, args.padding, args.padding_end, args.dilation);
    return kn_conv2d(outside ? padded(m, x) : x, kn_value(m->weight), kn_value(m->bias), &args);
}

kn_tensor kn_nn_conv3d_forward(const kn_nn_conv3d *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_conv3d, m);
    bool outside = m->padding_mode != KN_PAD_CONSTANT;
    kn_conv3d_args args = {.groups = m->groups, .same = m->same && !outside};
    if (m->kernel_size.rank != 3) return kni_conv_not_made("kn_nn_conv3d_forward");
    fill(m, args.stride, args.padding, args.padding_end, args.dilation);
    return kn_conv3d(outside ? padded(m, x) : x, kn_value(m->weight), kn_value(m->bias), &args);
}

/* Zeros around x are what a tap reads outside of it anyway, so uneven padding can be done beforehand. */
kn_tensor kn_nn_deform_conv2d_forward(const kn_nn_deform_conv2d *m, kn_tensor x, kn_tensor offset,
                                      kn_tensor mask)
{
    KNI_NEEDS_INIT(kn_nn_deform_conv2d, m);
    kn_deform_conv2d_args args = {.weight_groups = m->groups};
    if (m->kernel_size.rank != 2) return kni_conv_not_made("kn_nn_deform_conv2d_forward");
    bool even = !m->same;
    for (int i = 0; i < 2; i++) {
        args.stride[i] = m->stride.dims[i];
        args.dilation[i] = m->dilation.dims[i];
        if (m->padding.dims[i] != m->padding_end.dims[i]) even = false;
    }
    for (int i = 0; i < 2 && even; i++) args.padding[i] = m->padding.dims[i];
    return kn_deform_conv2d(even ? x : padded(m, x), offset, kn_value(m->weight), mask, kn_value(m->bias),
                            &args);
}
