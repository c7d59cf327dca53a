/* The public convolutions: arguments with defaults, "same" padding, and inputs without a batch axis, all turned into
   the rows conv and conv_transpose. */
#include "core/axis_entry.h"
#include "ops/conv.h"
#include "ops/matmul_operands.h"

/* What the args structs of every rank hold. */
typedef struct arguments {
    const int64_t *stride, *padding, *padding_end, *dilation, *output_padding;
    int64_t groups;
    bool same;
} arguments;

/* Strides or dilations. */
static kn_ints steps_of(const int64_t *values, int n)
{
    kn_ints list = {.rank = n};
    for (int i = 0; i < n; i++) list.dims[i] = values ? kn_int_or(kni_axis_entry(values, i), 1) : 1;
    return list;
}

static kn_ints paddings_of(const int64_t *values, int n)
{
    kn_ints list = {.rank = n};
    for (int i = 0; i < n; i++) list.dims[i] = values ? kn_int_or(values[i], 0) : 0;
    return list;
}

static kni_conv_attributes attributes_of(const arguments *a, int n)
{
    kni_conv_attributes r = {.stride = steps_of(a->stride, n),
                             .padding = paddings_of(a->padding, n),
                             .dilation = steps_of(a->dilation, n),
                             .groups = a->groups};
    r.padding_end = r.padding;
    for (int i = 0; i < n && a->padding_end; i++)
        r.padding_end.dims[i] = kn_int_or(a->padding_end[i], r.padding.dims[i]);
    return r;
}

/* Pads so that the result has size ceil(x / stride). */
static void pad_same(kni_conv_attributes *a, kn_shape x, kn_shape w)
{
    int n = a->stride.rank;
    for (int i = 0; i < n; i++) {
        int64_t size = x.dims[x.rank - n + i], kernel = w.dims[w.rank - n + i], stride = a->stride.dims[i];
        if (stride < 1 || size < 1 || kernel < 1) continue;
        int64_t span = (size - 1) / stride * stride + a->dilation.dims[i] * (kernel - 1) + 1;
        int64_t missing = span > size ? span - size : 0;
        a->padding.dims[i] = missing / 2;
        a->padding_end.dims[i] = missing - missing / 2;
    }
}

/* The first padding below 0, or 0. */
static int64_t negative_padding(const kni_conv_attributes *a)
{
    for (int i = 0; i < a->padding.rank; i++) {
        if (a->padding.dims[i] < 0) return a->padding.dims[i];
        if (a->padding_end.dims[i] < 0) return a->padding_end.dims[i];
    }
    return 0;
}

static kn_tensor run(const kn_op *row, const char *name, int n, const kn_tensor in[3], const arguments *given)
{
    kni_call call = kni_call_begin(name);
    kn_tensor operands[3] = {in[0], in[1], in[2]};
    kni_conv_attributes a = attributes_of(given, n);
    a.extra = row == &kni_op_conv ? KN_SCALAR_SHAPE : paddings_of(given->output_padding, n);
    if (negative_padding(&a))
        return kni_call_fail(call, KN_ERROR_ARGUMENT,
                             "padding is %D; it must not be negative: crop with kn_narrow()",
                             negative_padding(&a));
    kn_tensor bad;
    if (!kni_operands_ready(in, 2, &bad)) return kni_call_end(call, bad);
    const bool single = kn_rank(in[0]) == n + 1;
    if (!single && kn_rank(in[0]) != n + 2)
        return kni_call_fail(call, KN_ERROR_SHAPE, "x must have rank %d, or %d without a batch axis, not %d",
                             n + 2, n + 1, (int)kn_rank(in[0]));
    if (given->same && kn_rank(in[1]) == n + 2)
        pad_same(&a, kn_shape_of_tensor(in[0]), kn_shape_of_tensor(in[1]));
    if (single) operands[0] = kn_unsqueeze(in[0], 0);
    kn_tensor y = kni_apply(row, operands, 3, &a);
    return kni_call_end(call, single ? kn_squeeze(y, 0) : y);
}

#define CONV(name, n)                                                                                        \
    kn_tensor kn_##name(kn_tensor x, kn_tensor w, kn_tensor bias, const kn_##name##_args *args)              \
    {                                                                                                        \
        static const kn_##name##_args defaults = {.groups = 1};                                              \
        const kn_##name##_args *a = args ? args : &defaults;                                                 \
        arguments given = {a->stride, a->padding, a->padding_end, a->dilation, NULL, a->groups, a->same};    \
        return run(&kni_op_conv, #name, n, (kn_tensor[3]){x, w, bias}, &given);                              \
    }

CONV(conv1d, 1)
CONV(conv2d, 2)
CONV(conv3d, 3)

#define CONV_TRANSPOSE(name, n)                                                                              \
    kn_tensor kn_##name(kn_tensor x, kn_tensor w, kn_tensor bias, const kn_##name##_args *args)              \
    {                                                                                                        \
        static const kn_##name##_args defaults = {.groups = 1};                                              \
        const kn_##name##_args *a = args ? args : &defaults;                                                 \
        arguments given = {a->stride,         a->padding, a->padding_end, a->dilation,                       \
                           a->output_padding, a->groups,  false};                                            \
        return run(&kni_op_conv_transpose, #name, n, (kn_tensor[3]){x, w, bias}, &given);                    \
    }

CONV_TRANSPOSE(conv_transpose1d, 1)
CONV_TRANSPOSE(conv_transpose2d, 2)
CONV_TRANSPOSE(conv_transpose3d, 3)
