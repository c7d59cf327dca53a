/* What the converters of quantized operators share. A quantized tensor is (x - zero) scale. */
#ifndef KNI_ONNX_QUANTIZED_H
#define KNI_ONNX_QUANTIZED_H

#include "onnx/convert/convert_numbers.h"
#include "onnx/convert/network.h"

/* A tensor of whole numbers with its scale and zero point, which may be absent. */
typedef struct kni_quantized {
    kni_datum x, scale, zero;
} kni_quantized;

/* ---- converters; the table is in quantized.c */

kni_convert_function kni_convert_matmul_integer, kni_convert_conv_integer, kni_convert_qlinear_matmul,
    kni_convert_qlinear_conv, kni_convert_qgemm, kni_convert_dynamic_matmul, kni_convert_matmul_to_float;
kni_convert_function kni_convert_qlinear_binary, kni_convert_qlinear_activation, kni_convert_qlinear_softmax,
    kni_convert_qlinear_global_pool, kni_convert_qlinear_pool, kni_convert_qlinear_concat,
    kni_convert_qlinear_mean, kni_convert_qlinear_where;
kni_convert_function kni_convert_matmul_nbits, kni_convert_gather_blocks, kni_convert_matmul_bnb4,
    kni_convert_quantized_embed_norm;

/* ---- tools */

/* Whether it has one element; false where that is not known. */
bool kni_is_single(kni_conversion *c, kni_datum x);
/* A scale or zero point so that it broadcasts to x: one element, one for each place of `axis`, or with `block` one for so many
   neighbours along it. Stored dtypes become f32. Absent stays absent. */
kni_datum kni_spread_over(kni_conversion *c, kni_datum given, kni_datum x, int64_t axis, int64_t block);
/* x / scale + zero in a dtype, rounded and within its range. Scale and zero broadcast to x; zero may be absent. */
kni_datum kni_quantize_to(kni_conversion *c, kni_datum x, kni_datum scale, kni_datum zero, kn_dtype dtype,
                          bool saturate);
/* The fields of 1, 2 or 4 bits of bytes along the last axis, the lowest first; x itself of 8. */
kni_datum kni_unpacked_bits(kni_conversion *c, kni_datum x, int64_t bits);
/* (x - zero) scale in the dtype of scale. */
kni_datum kni_dequantized(kni_conversion *c, kni_quantized q);
/* The same for operands at, at + 1 and at + 2, whose scale and zero point have one element. */
kni_datum kni_dequantized_at(kni_conversion *c, const kni_datum *in, int32_t at);
/* To the scale and zero point in[at] and in[at + 1], in the dtype of the zero point, else u8. */
kni_datum kni_requantized_at(kni_conversion *c, kni_datum x, const kni_datum *in, int32_t at);
/* x in u8 with the scale and the zero point (both of rank 0) that hold its least and largest elements. */
kni_quantized kni_quantized_dynamically(kni_conversion *c, kni_datum x);
/* The product of bytes less zero points in i32; zero points as MatMulInteger has them. */
kni_datum kni_integer_product(kni_conversion *c, kni_datum a, kni_datum b, kni_datum a_zero,
                              kni_datum b_zero);

#endif
