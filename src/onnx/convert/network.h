/* What the converters of layers of networks share: windows over spatial axes, norms, activations by name. */
#ifndef KNI_ONNX_NETWORK_H
#define KNI_ONNX_NETWORK_H

#include "onnx/convert.h"
#include <kn/tensor.h>

/* ---- converters; the table is in network.c */

kni_convert_function kni_convert_conv, kni_convert_conv_transpose, kni_convert_deform_conv;
kni_convert_function kni_convert_causal_conv, kni_convert_linear_attention;
kni_convert_function kni_convert_average_pool, kni_convert_max_pool, kni_convert_lp_pool,
    kni_convert_global_average_pool, kni_convert_global_max_pool, kni_convert_global_lp_pool;
kni_convert_function kni_convert_batch_norm, kni_convert_instance_norm, kni_convert_layer_norm,
    kni_convert_group_norm, kni_convert_rms_norm, kni_convert_simplified_layer_norm, kni_convert_lp_norm,
    kni_convert_mean_variance_norm, kni_convert_local_response_norm;
kni_convert_function kni_convert_activation, kni_convert_selu, kni_convert_gelu, kni_convert_swish,
    kni_convert_prelu, kni_convert_softplus, kni_convert_shrink, kni_convert_softmax, kni_convert_log_softmax,
    kni_convert_dropout, kni_convert_scaled_tanh, kni_convert_parametric_softplus, kni_convert_affine,
    kni_convert_scale, kni_convert_image_scaler;
kni_convert_function kni_convert_likelihood_loss, kni_convert_entropy_loss;

/* ---- windows */

enum { KNI_SPATIAL = KN_MAX_RANK - 2 };

/* Windows over the last n axes of an operand. Padding is an expression where it follows from a size that is one (SAME_UPPER and
   SAME_LOWER with a stride). */
typedef struct kni_window {
    int32_t n;
    kni_extent size[KNI_SPATIAL];                                               /* of the operand's axes */
    kni_extent kernel[KNI_SPATIAL], stride[KNI_SPATIAL], dilation[KNI_SPATIAL]; /* numbers */
    kni_extent before[KNI_SPATIAL], after[KNI_SPATIAL];
    bool same_upper, same_lower;
} kni_window;

/* A list of n whole numbers of a node, at least `lowest`, or `otherwise` n times where the node has none; false: the node failed. */
bool kni_window_list(kni_conversion *c, const kni_onnx_node *node, const char *name, int32_t n,
                     int64_t otherwise, int64_t lowest, kni_extent *list);
/* The window of a node over x. weight: has the sizes of the kernel behind its first two axes where the node names none; absent for
   pools. False: the node failed. */
bool kni_window_of(kni_conversion *c, const kni_onnx_node *node, kni_datum x, kni_datum weight,
                   kni_window *window);
/* Fails where there is none. */
bool kni_weight_is_given(kni_conversion *c, kni_datum weight);
/* The attribute `group`. */
int64_t kni_groups_of(kni_conversion *c, const kni_onnx_node *node);
/* Elements that a window spans on axis i, (kernel - 1) dilation + 1. */
int64_t kni_window_span(const kni_window *window, int32_t i);
bool kni_window_has_numbers(const kni_window *window);
/* x with its padding, which the window then has no longer; size is that of the result. */
kni_datum kni_window_pad(kni_conversion *c, kni_window *window, kni_datum x, double value);
/* A convolution over channels-first x, with ranks of 3 to 5. */
kni_datum kni_window_conv(kni_conversion *c, const kni_window *window, kni_datum x, kni_datum weight,
                          kni_datum bias, int64_t groups);

/* ---- floats */

bool kni_is_half_dtype(kn_dtype dtype);
/* f32 for the halves, else the dtype: for steps whose parts would overflow or round too early in them. */
kn_dtype kni_wide_dtype(kn_dtype dtype);
/* x op number, the number in x's dtype. */
kni_datum kni_with_number(kni_conversion *c, const char *op, kni_datum x, double number);
/* A vector with an element for each channel, so that it broadcasts to [batch, channels, ...] of this rank. */
kni_datum kni_along_axis_one(kni_conversion *c, kni_datum vector, int32_t rank);

/* ---- norms and activations, for fused operators too */

/* Layer norm over the axes from `axis`; scale and bias broadcast to x and may be absent. mean and inverse (may be NULL): statistics of
   dtype `stash`, with axes of one element. */
kni_datum kni_layer_norm_of(kni_conversion *c, kni_datum x, kni_datum scale, kni_datum bias, int32_t axis,
                            double eps, kn_dtype stash, kni_datum *mean, kni_datum *inverse);
kni_datum kni_rms_norm_of(kni_conversion *c, kni_datum x, kni_datum scale, int32_t axis, double eps);
/* x [batch, channels, ...] normalised in groups of channels, without scale and bias. */
kni_datum kni_group_norm_of(kni_conversion *c, kni_datum x, int64_t groups, double eps);
/* An activation by the name of its operator ("Relu", "LeakyRelu", "HardSigmoid" ...), "" or "Linear" for none; alpha and beta: NaN for
   their defaults. Fails the node where there is no such activation. */
kni_datum kni_activation_of(kni_conversion *c, const char *name, kni_datum x, double alpha, double beta);
/* x sigmoid(alpha x) */
kni_datum kni_swish_of(kni_conversion *c, kni_datum x, double alpha);
/* The operands of a node converted as another operator: op of ai.onnx in the given version. */
void kni_convert_as(kni_conversion *c, const kni_onnx_node *node, const char *op, int32_t version,
                    const kni_datum *in, int32_t n_in, kni_datum *out, int32_t n_out);

#endif
