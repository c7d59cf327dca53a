/* Converters of com.microsoft's fused operators; the table is in fused.c. */
#ifndef KNI_ONNX_FUSED_OPERATORS_H
#define KNI_ONNX_FUSED_OPERATORS_H

#include "onnx/convert/network.h"

kni_convert_function kni_convert_skip_layer_norm, kni_convert_skip_rms_norm, kni_convert_embed_layer_norm,
    kni_convert_fused_group_norm, kni_convert_skip_group_norm, kni_convert_gated_rms_norm,
    kni_convert_branch_rms_norm;
kni_convert_function kni_convert_experts, kni_convert_quantized_experts;
kni_convert_function kni_convert_unfold, kni_convert_word_conv, kni_convert_ngram_block,
    kni_convert_murmur_hash, kni_convert_time_warping;
kni_convert_function kni_convert_fused_conv, kni_convert_nhwc_conv, kni_convert_nhwc_max_pool,
    kni_convert_transpose_dynamic_pads;
kni_convert_function kni_convert_rfft, kni_convert_irfft, kni_convert_complex_mul,
    kni_convert_crop_and_resize;

/* What passes make, of the domain "kiln". */
kni_convert_function kni_convert_own_norm, kni_convert_own_attention, kni_convert_own_rope,
    kni_convert_own_integer_product, kni_convert_own_quantized_linear, kni_convert_own_quantized_unary;

/* [batch, ..., channels] as [batch, channels, ...], and back. */
kni_datum kni_channels_first(kni_conversion *c, kni_datum x);
kni_datum kni_channels_last(kni_conversion *c, kni_datum x);

#endif
