/* Matrix products, einsum, convolutions, attention. */
#ifndef KN_CONTRACTION_H
#define KN_CONTRACTION_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- matrix products. Operands have one dtype, float or integer; f16 and bf16 are summed in f32. Sums of products of
   integers keep their dtype and wrap, as in PyTorch and unlike kn_sum: convert with kn_cast() to i64 for exact ones. */

/* y[..., i, j] = sum over k of a[..., i, k] b[..., k, j]. The leading axes broadcast; an operand of rank 1 is a
   row on the left and a column on the right, and that axis is not in the result. */
KN_API kn_tensor kn_matmul(kn_tensor a, kn_tensor b);
/* y = x W' + b over the last axis. x [..., in], w [out, in], b [out] or KN_NONE. */
KN_API kn_tensor kn_linear(kn_tensor x, kn_tensor w, kn_tensor b);
/* y = sum over i of a[i] b[i]; a and b have rank 1. */
KN_API kn_tensor kn_dot(kn_tensor a, kn_tensor b);
/* y[..., i] = sum over k of a[..., i, k] x[..., k]; the leading axes broadcast. */
KN_API kn_tensor kn_matvec(kn_tensor a, kn_tensor x);
/* y[i, j] = a[i] b[j]; a and b have rank 1. */
KN_API kn_tensor kn_outer(kn_tensor a, kn_tensor b);
/* y[..., i, j, ...] = a[..., i, ...] b[..., j, ...]: the outer product along axis, which becomes two; the others
   broadcast. */
KN_API kn_tensor kn_outer_dim(kn_tensor a, kn_tensor b, int32_t axis);
/* y = beta c + alpha a b, where c broadcasts to the product; with beta 0 c is not read. */
KN_API kn_tensor kn_addmm(kn_tensor c, kn_tensor a, kn_tensor b, double beta, double alpha);
/* y = x[0] x[1] ... x[n - 1] in the cheapest order. Matrices; the first and the last may be vectors. */
KN_API kn_tensor kn_multi_dot(const kn_tensor *x, int32_t n);
/* y[..., o] = sum over i, j of a[..., i] w[o, i, j] b[..., j] + bias[o]; bias may be KN_NONE. */
KN_API kn_tensor kn_bilinear(kn_tensor a, kn_tensor b, kn_tensor w, kn_tensor bias);
/* Sums products over axes_a[i] of a paired with axes_b[i] of b; the remaining axes of a, then those of b, are the
   result's. Empty lists give the outer product. */
KN_API kn_tensor kn_tensordot(kn_tensor a, kn_tensor b, kn_ints axes_a, kn_ints axes_b);
/* The Kronecker product: y[i nb + k, j mb + l] = a[i, j] b[k, l] for b [nb, mb], and so for every axis. */
KN_API kn_tensor kn_kron(kn_tensor a, kn_tensor b);
/* The cross product of vectors of size 3 along axis; the other axes broadcast. */
KN_API kn_tensor kn_cross(kn_tensor a, kn_tensor b, int32_t axis);
/* The sum of products that an equation such as "bij,bjk->bik" names. Letters are axes; a letter twice in one operand
   takes the diagonal, one that is not in the output is summed, "..." stands for leading axes that broadcast.
   Without "->" the output has the letters that occur once, in alphabetical order, after the "..." axes. As in PyTorch,
   integers that are summed alone ("i->") give i64, as by kn_sum; products of two ("i,i->") keep their dtype and wrap, as
   kn_dot and kn_matmul do. */
KN_API kn_tensor kn_einsum(const char *equation, const kn_tensor *operands, int32_t n);

/* ---- convolutions. x [batch, channels, sizes...] (or without batch), w [out, channels / groups, kernel...],
   bias [out] or KN_NONE:
     y[n, o, p] = bias[o] + sum over c, k of x[n, c, p stride + k dilation - padding] w[o, c, k]
   In args 0 means the default and NULL all defaults: stride 1, padding 0, dilation 1, groups 1. Lists have one entry per spatial
   axis. A 0 behind the first stride or dilation is as the first: .stride = {2} is 2 on every axis, as PyTorch's stride=2. A
   padding of 0 is none: write .padding = {1, 1} for PyTorch's padding=1. */

typedef struct kn_conv1d_args {
    int64_t stride[1], padding[1];
    int64_t padding_end[1]; /* 0: as padding; KN_ZERO: none */
    int64_t dilation[1], groups;
    bool same; /* pads so that y has size ceil(x / stride), the odd element at the end */
} kn_conv1d_args;
#define KN_CONV1D_ARGS_DEFAULTS KN_FIELDS({1}, {0}, {0}, {1}, 1, false)

typedef struct kn_conv2d_args {
    int64_t stride[2], padding[2];
    int64_t padding_end[2]; /* 0: as padding; KN_ZERO: none */
    int64_t dilation[2], groups;
    bool same; /* pads so that y has size ceil(x / stride), the odd element at the end */
} kn_conv2d_args;
#define KN_CONV2D_ARGS_DEFAULTS KN_FIELDS({1, 1}, {0, 0}, {0, 0}, {1, 1}, 1, false)

typedef struct kn_conv3d_args {
    int64_t stride[3], padding[3];
    int64_t padding_end[3]; /* 0: as padding; KN_ZERO: none */
    int64_t dilation[3], groups;
    bool same; /* pads so that y has size ceil(x / stride), the odd element at the end */
} kn_conv3d_args;
#define KN_CONV3D_ARGS_DEFAULTS KN_FIELDS({1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, 1, false)

KN_API kn_tensor kn_conv1d(kn_tensor x, kn_tensor w, kn_tensor bias, const kn_conv1d_args *args);
KN_API kn_tensor kn_conv2d(kn_tensor x, kn_tensor w, kn_tensor bias, const kn_conv2d_args *args);
KN_API kn_tensor kn_conv3d(kn_tensor x, kn_tensor w, kn_tensor bias, const kn_conv3d_args *args);

/* Transposed convolutions, the gradient of a convolution by its input: x [batch, channels, sizes...],
   w [channels, out / groups, kernel...], bias [out] or KN_NONE. Every x[n, c, p] adds x w[c, o, k] to
   y[n, o, p stride + k dilation - padding]; y has size
   (x - 1) stride - padding - padding_end + dilation (kernel - 1) + 1 + output_padding. */

typedef struct kn_conv_transpose1d_args {
    int64_t stride[1], padding[1];
    int64_t padding_end[1]; /* 0: as padding; KN_ZERO: none */
    int64_t output_padding[1], dilation[1], groups;
} kn_conv_transpose1d_args;
#define KN_CONV_TRANSPOSE1D_ARGS_DEFAULTS KN_FIELDS({1}, {0}, {0}, {0}, {1}, 1)

typedef struct kn_conv_transpose2d_args {
    int64_t stride[2], padding[2];
    int64_t padding_end[2]; /* 0: as padding; KN_ZERO: none */
    int64_t output_padding[2], dilation[2], groups;
} kn_conv_transpose2d_args;
#define KN_CONV_TRANSPOSE2D_ARGS_DEFAULTS KN_FIELDS({1, 1}, {0, 0}, {0, 0}, {0, 0}, {1, 1}, 1)

typedef struct kn_conv_transpose3d_args {
    int64_t stride[3], padding[3];
    int64_t padding_end[3]; /* 0: as padding; KN_ZERO: none */
    int64_t output_padding[3], dilation[3], groups;
} kn_conv_transpose3d_args;
#define KN_CONV_TRANSPOSE3D_ARGS_DEFAULTS KN_FIELDS({1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, 1)

KN_API kn_tensor kn_conv_transpose1d(kn_tensor x, kn_tensor w, kn_tensor bias,
                                     const kn_conv_transpose1d_args *args);
KN_API kn_tensor kn_conv_transpose2d(kn_tensor x, kn_tensor w, kn_tensor bias,
                                     const kn_conv_transpose2d_args *args);
KN_API kn_tensor kn_conv_transpose3d(kn_tensor x, kn_tensor w, kn_tensor bias,
                                     const kn_conv_transpose3d_args *args);

/* A 2-D convolution whose taps are moved: tap k of position p reads x at p stride + k dilation - padding +
   offset[n, 2 (g K + k) .. + 1, p] (rows, then columns; between elements by bilinear interpolation, zero outside)
   times mask[n, g K + k, p]; K taps, g the offset group of the channel. x [batch, channels, height, width], offset
   [batch, 2 offset_groups K, out height, out width], w [out, channels / weight_groups, kernel height, kernel width],
   mask [batch, offset_groups K, ...] and bias [out] or KN_NONE. The offset groups follow from offset's size. */
typedef struct kn_deform_conv2d_args {
    int64_t stride[2], padding[2], dilation[2], weight_groups;
} kn_deform_conv2d_args;
#define KN_DEFORM_CONV2D_ARGS_DEFAULTS KN_FIELDS({1, 1}, {0, 0}, {1, 1}, 1)
KN_API kn_tensor kn_deform_conv2d(kn_tensor x, kn_tensor offset, kn_tensor w, kn_tensor mask, kn_tensor bias,
                                  const kn_deform_conv2d_args *args);

/* ---- exact products of i8 and u8 in i32, less zero points, of the dtypes of what they belong to; KN_NONE: 0 */

/* y[..., i, j] = sum over k of (a[..., i, k] - a_zero) (b[..., k, j] - b_zero). The leading axes broadcast. a_zero has one element, or
   one for each row: it broadcasts to a with 1 along its last axis, as [rows, 1]; b_zero likewise one for each column, as [columns] or
   [batch, 1, columns]. */
KN_API kn_tensor kn_matmul_integer(kn_tensor a, kn_tensor b, kn_tensor a_zero, kn_tensor b_zero);
/* y[n, o, p] = sum over c, k of (x[n, c, p stride + k dilation - padding] - x_zero) (w[o, c, k] - w_zero): what lies outside x counts
   as x_zero. x_zero has one element, w_zero one or one for each output channel. args as of the convolutions above. */
typedef struct kn_conv_integer_args {
    int64_t stride[3], padding[3];
    int64_t padding_end[3]; /* 0: as padding; KN_ZERO: none */
    int64_t dilation[3], groups;
} kn_conv_integer_args;
#define KN_CONV_INTEGER_ARGS_DEFAULTS KN_FIELDS({1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, 1)
KN_API kn_tensor kn_conv_integer(kn_tensor x, kn_tensor w, kn_tensor x_zero, kn_tensor w_zero,
                                 const kn_conv_integer_args *args);
/* The same, brought back to 8 bits: round((sums + bias) scale) + zero within the range of zero's dtype, u8 where it is KN_NONE. bias, i32
   or KN_NONE, has one element for each column or output channel, scale, f32, one or as many. For products of quantized operands scale
   is a_scale b_scale / y_scale. */
KN_API kn_tensor kn_matmul_requantized(kn_tensor a, kn_tensor b, kn_tensor a_zero, kn_tensor b_zero,
                                       kn_tensor bias, kn_tensor scale, kn_tensor zero);
KN_API kn_tensor kn_conv_requantized(kn_tensor x, kn_tensor w, kn_tensor x_zero, kn_tensor w_zero,
                                     kn_tensor bias, kn_tensor scale, kn_tensor zero,
                                     const kn_conv_integer_args *args);

/* y = x w' + bias over the last axis, with w [out, in] = (weight - zero) scale of i8 or u8: what kn_linear gives of kn_dequantize, without a
   copy of the weight in floats. scale, in f32, and zero, in f32 or the weight's dtype, have one element, one for each output, or one for
   each `block` neighbours of each output, [out, blocks]; zero and bias may be KN_NONE. No gradient flows to the weight and its scaling. */
typedef struct kn_linear_quantized_args {
    int64_t block;
    int64_t
        bits; /* 4 or 2: bytes of u8 hold several weights, the first in the lowest bits; what a row has beyond x is not read. 0: 8 */
} kn_linear_quantized_args;
#define KN_LINEAR_QUANTIZED_ARGS_DEFAULTS KN_ZEROED
KN_API kn_tensor kn_linear_quantized(kn_tensor x, kn_tensor weight, kn_tensor scale, kn_tensor zero,
                                     kn_tensor bias, const kn_linear_quantized_args *args);

/* ---- attention */

typedef struct kn_attention_args {
    /* bool, broadcasts to [batch, heads, queries, keys]: true means that the query sees the key; KN_NONE: it sees all. */
    kn_tensor mask;
    kn_tensor bias; /* added to the scores, broadcasts likewise; KN_NONE: none */
    double scale;   /* 0: 1 / sqrt(size); KN_ZERO: 0 */
    double softcap; /* above 0: scores become softcap tanh(score / softcap) before bias and mask */
    bool is_causal; /* query i sees keys 0 .. i only */
    double
        dropout; /* each weight becomes 0 with this probability (kn_seed), the others are divided by 1 - dropout; 0 is off, also
                       for evaluation. In f64 and above 256 elements of a vector the weights are then held in memory */
    /* Integers [1] or [batch]: only the first lengths[b] keys are there. With is_causal the queries are the last of these: query i sees
       keys 0 .. lengths[b] - queries + i. So a cache may have more room than keys, and no plan depends on how full it is. */
    kn_tensor lengths;
} kn_attention_args;
#define KN_ATTENTION_ARGS_DEFAULTS KN_ZEROED
/* y = softmax(scale q k' + bias) v over the last two axes. q [batch, heads, queries, size], k [batch, key heads, keys,
   size], v [batch, key heads, keys, value size]; heads is a multiple of key heads, and heads / key heads neighbours
   share a key head. A query that sees no key gives zeros. */
KN_API kn_tensor kn_attention(kn_tensor q, kn_tensor k, kn_tensor v, const kn_attention_args *args);

#ifdef __cplusplus
}
#endif
#endif
