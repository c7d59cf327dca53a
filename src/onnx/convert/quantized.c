/* QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear, and the table of all converters of quantized operators. */
#include "onnx/convert/quantized.h"
#include <kn/tensor.h>
#include <string.h>

bool kni_is_single(kni_conversion *c, kni_datum x) { return kni_extent_is(kni_count_of(c, x), 1); }

/* ---- scales and zero points along axes and blocks */

/* Each element `block` times along the axis, as many as x has. */
static kni_datum repeated(kni_conversion *c, kni_datum given, kni_datum x, int32_t axis, int64_t block)
{
    kni_extent sizes[KN_MAX_RANK], wide[KN_MAX_RANK + 1];
    const int32_t rank = kni_extents_of(c, given, sizes);
    if (rank >= KN_MAX_RANK) {
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "blocks along an axis of a tensor of rank %d", rank);
        return KNI_ABSENT;
    }
    for (int32_t i = 0; i < rank; i++) wide[i + (i > axis)] = sizes[i];
    wide[axis] = sizes[axis];
    wide[axis + 1] = KNI_EXTENT(block);
    given = kni_expand_to(c, kni_unsqueeze_at(c, given, axis + 1), wide, rank + 1);
    sizes[axis] = kni_extent_mul(c, sizes[axis], KNI_EXTENT(block));
    given = kni_reshape_to(c, given, sizes, rank);
    return kni_slice_of(c, given, axis, KNI_EXTENT(0), kni_extent_of(c, x, axis));
}

/* Dtypes that are only stored as f32. */
static kni_datum as_number(kni_conversion *c, kni_datum x)
{
    return kn_dtype_is_stored(kni_dtype_of(c, x)) ? kni_cast_to(c, x, KN_F32) : x;
}

kni_datum kni_spread_over(kni_conversion *c, kni_datum given, kni_datum x, int64_t axis, int64_t block)
{
    if (!kni_is_given(given)) return KNI_ABSENT;
    given = as_number(c, given);
    if (kni_is_single(c, given)) return kni_reshape_to(c, given, NULL, 0);
    const int32_t rank = kni_rank_of(c, x), own = kni_rank_of(c, given), at = kni_axis_of(c, x, axis);
    if (kni_convert_failed(c)) return KNI_ABSENT;
    if (own == 1 && block == 0) {
        kni_extent wide[KN_MAX_RANK];
        for (int32_t i = 0; i < rank; i++) wide[i] = KNI_EXTENT(1);
        wide[at] = kni_extent_of(c, given, 0);
        return kni_reshape_to(c, given, wide, rank);
    }
    if (own != rank || block < 1) {
        kni_convert_fail(
            c, KN_ERROR_SHAPE,
            "scales and zero points of rank %d do not fit an operand of rank %d with blocks of %lld", own,
            rank, (long long)block);
        return KNI_ABSENT;
    }
    return repeated(c, given, x, at, block);
}

/* ---- there and back */

/* Whether one scale and one zero point of bytes belong to all of x, and ops run now. */
static bool is_plain(kni_conversion *c, kni_datum x, kni_datum scale, kni_datum zero)
{
    return kni_is_given(x) && kni_is_given(zero) && kni_converts_now(c) && kni_dtype_of(c, scale) == KN_F32 &&
           kni_dtypes[kni_dtype_of(c, zero)].bits == 8 && kni_is_whole(kni_dtype_of(c, zero)) &&
           kni_rank_of(c, scale) == 0 && kni_rank_of(c, zero) == 0;
}

kni_datum kni_quantize_to(kni_conversion *c, kni_datum x, kni_datum scale, kni_datum zero, kn_dtype dtype,
                          bool saturate)
{
    if (kni_is_whole(kni_dtype_of(c, x)) && kni_is_whole(kni_dtype_of(c, scale)))
        x = kni_cast_to(c, x, KN_F32);
    if (!kni_is_whole(dtype)) {
        x = kni_emit2(c, "div", x, scale);
        if (kni_dtypes[dtype].bits < 8 && kni_is_given(zero)) x = kni_emit2(c, "add", x, zero);
        return saturate || kni_dtypes[dtype].bits < 8 ? kni_saturated_cast(c, x, dtype)
                                                      : kni_cast_to(c, x, dtype);
    }
    /* Halves do not hold every number of 16 bits. */
    if (kni_dtypes[dtype].bits > 8) x = kni_widened(c, x);
    const int bits = kni_dtypes[dtype].bits;
    const double half = (double)(UINT64_C(1) << (bits - 1));
    const bool is_signed = kni_dtypes[dtype].kind == KNI_KIND_SIGNED;
    if (!kni_is_given(zero)) zero = kni_real_number(c, 0, kni_dtype_of(c, scale));
    if (is_plain(c, x, scale, zero) && kni_dtype_of(c, x) == KN_F32 && kni_dtype_of(c, zero) == dtype)
        return kni_emit3(c, "quantize_bytes", x, scale, zero);
    x = kni_emit(c, "quantize", KNI_LIST(x, scale, zero),
                 KNI_GIVE(KNI_REAL("low", is_signed ? -half : 0),
                          KNI_REAL("high", (is_signed ? half : 2 * half) - 1)));
    return kni_cast_to(c, x, dtype);
}

kni_datum kni_dequantized(kni_conversion *c, kni_quantized q)
{
    const kn_dtype dtype = kni_dtype_of(c, q.scale);
    if (is_plain(c, q.x, q.scale, q.zero) && kni_dtype_of(c, q.x) == kni_dtype_of(c, q.zero))
        return kni_emit3(c, "dequantize_bytes", q.x, q.scale, q.zero);
    if (!kni_is_given(q.zero)) q.zero = kni_real_number(c, 0, dtype);
    return kni_cast_to(c, kni_emit3(c, "dequantize", as_number(c, q.x), q.scale, as_number(c, q.zero)),
                       dtype);
}

/* One element as a number. */
static kni_datum single(kni_conversion *c, kni_datum x)
{
    return kni_is_given(x) && kni_rank_of(c, x) > 0 ? kni_reshape_to(c, x, NULL, 0) : x;
}

kni_datum kni_dequantized_at(kni_conversion *c, const kni_datum *in, int32_t at)
{
    return kni_dequantized(c, (kni_quantized){in[at], single(c, in[at + 1]), single(c, in[at + 2])});
}

kni_datum kni_requantized_at(kni_conversion *c, kni_datum x, const kni_datum *in, int32_t at)
{
    const kn_dtype dtype = kni_is_given(in[at + 1]) ? kni_dtype_of(c, in[at + 1]) : KN_U8;
    return kni_quantize_to(c, x, single(c, in[at]), single(c, in[at + 1]), dtype, true);
}

kni_quantized kni_quantized_dynamically(kni_conversion *c, kni_datum x)
{
    const kn_dtype dtype = kni_dtype_of(c, x);
    kni_quantized q;
    if (kni_converts_now(c) && dtype == KN_F32) {
        kni_datum all[3];
        kni_emit_many(c, "quantize_dynamic", &x, 1, NULL, all, 3);
        return (kni_quantized){all[0], all[1], all[2]};
    }
    kni_datum low = kni_with_number(c, "minimum", kni_reduce_over(c, "min", x, NULL, 0, false), 0);
    kni_datum high = kni_with_number(c, "maximum", kni_reduce_over(c, "max", x, NULL, 0, false), 0);
    kni_datum range = kni_emit2(c, "sub", high, low);
    range = kni_emit3(c, "where", kni_emit2(c, "equal", high, low), kni_real_number(c, 1, dtype), range);
    q.scale = kni_with_number(c, "div", range, 255);
    kni_datum zero = kni_emit2(c, "sub", kni_real_number(c, 0, dtype), kni_emit2(c, "div", low, q.scale));
    zero = kni_emit3(c, "clamp", zero, kni_real_number(c, 0, dtype), kni_real_number(c, 255, dtype));
    q.zero = kni_cast_to(c, kni_emit1(c, "round", zero), KN_U8);
    q.x = kni_quantize_to(c, x, q.scale, q.zero, KN_U8, true);
    return q;
}

/* ---- the operators */

static void quantize_linear(KNI_CONVERTS)
{
    const int64_t axis = kni_node_int(node, "axis", 1), block = kni_node_int(node, "block_size", 0);
    const kn_dtype precision = kni_node_dtype(c, node, "precision", KN_DTYPE_NONE);
    const kn_dtype own = kni_is_given(in[2]) ? kni_dtype_of(c, in[2]) : KN_U8;
    const kn_dtype dtype = kni_node_dtype(c, node, "output_dtype", own);
    kni_datum x = in[0], scale = kni_spread_over(c, in[1], in[0], axis, block);
    KNI_UNUSED_COUNTS;
    if (precision != KN_DTYPE_NONE) {
        x = kni_cast_to(c, x, precision);
        scale = kni_cast_to(c, scale, precision);
    }
    out[0] = kni_quantize_to(c, x, scale, kni_spread_over(c, in[2], in[0], axis, block), dtype,
                             kni_node_int(node, "saturate", 1) != 0);
}

static void dequantize_linear(KNI_CONVERTS)
{
    const int64_t axis = kni_node_int(node, "axis", 1), block = kni_node_int(node, "block_size", 0);
    const kn_dtype dtype = kni_node_dtype(c, node, "output_dtype", kni_dtype_of(c, in[1]));
    const kni_quantized q = {in[0], kni_spread_over(c, in[1], in[0], axis, block),
                             kni_spread_over(c, in[2], in[0], axis, block)};
    KNI_UNUSED_COUNTS;
    out[0] = kni_cast_to(c, kni_dequantized(c, q), dtype);
}

static void dynamic_quantize_linear(KNI_CONVERTS)
{
    const kni_quantized q = kni_quantized_dynamically(c, in[0]);
    (void)node, (void)n_in;
    const kni_datum all[3] = {q.x, q.scale, q.zero};
    for (int32_t i = 0; i < n_out && i < 3; i++) out[i] = all[i];
}

#define STANDARD(op, since, convert, types)                                                                  \
    {                                                                                                        \
        "", op, since, 0, convert, 0, types                                                                  \
    }
#define MICROSOFT(op, convert, types)                                                                        \
    {                                                                                                        \
        "com.microsoft", op, 1, 0, convert, 0, types                                                         \
    }

const kni_onnx_converter kni_onnx_quantized[] = {
    STANDARD("QuantizeLinear", 10, quantize_linear, "floats i32"),
    STANDARD("DequantizeLinear", 10, dequantize_linear, "integers f8 f4 i4 u4 i2 u2"),
    STANDARD("DynamicQuantizeLinear", 11, dynamic_quantize_linear, "f32"),
    STANDARD("MatMulInteger", 10, kni_convert_matmul_integer, "u8 i8"),
    STANDARD("ConvInteger", 10, kni_convert_conv_integer, "u8 i8"),
    STANDARD("QLinearMatMul", 10, kni_convert_qlinear_matmul, "u8 i8"),
    STANDARD("QLinearConv", 10, kni_convert_qlinear_conv, "u8 i8"),
    MICROSOFT("QuantizeLinear", quantize_linear, "floats i32"),
    MICROSOFT("DequantizeLinear", dequantize_linear, "integers"),
    MICROSOFT("QLinearConv", kni_convert_qlinear_conv, "u8 i8"),
    MICROSOFT("QGemm", kni_convert_qgemm, "u8 i8"),
    MICROSOFT("DynamicQuantizeMatMul", kni_convert_dynamic_matmul, "f32"),
    MICROSOFT("MatMulIntegerToFloat", kni_convert_matmul_to_float, "u8 i8"),
    MICROSOFT("MatMulInteger16", kni_convert_matmul_integer, "i16"),
    MICROSOFT("QLinearAdd", kni_convert_qlinear_binary, "u8 i8"),
    MICROSOFT("QLinearMul", kni_convert_qlinear_binary, "u8 i8"),
    MICROSOFT("QLinearSigmoid", kni_convert_qlinear_activation, "u8 i8"),
    MICROSOFT("QLinearLeakyRelu", kni_convert_qlinear_activation, "u8 i8"),
    MICROSOFT("QLinearSoftmax", kni_convert_qlinear_softmax, "u8 i8"),
    MICROSOFT("QLinearGlobalAveragePool", kni_convert_qlinear_global_pool, "u8 i8"),
    MICROSOFT("QLinearAveragePool", kni_convert_qlinear_pool, "u8 i8"),
    MICROSOFT("QLinearConcat", kni_convert_qlinear_concat, "u8 i8"),
    MICROSOFT("QLinearReduceMean", kni_convert_qlinear_mean, "u8 i8"),
    MICROSOFT("QLinearWhere", kni_convert_qlinear_where, "u8 i8"),
    MICROSOFT("MatMulNBits", kni_convert_matmul_nbits, "floats"),
    MICROSOFT("MatMulBnb4", kni_convert_matmul_bnb4, "floats"),
    MICROSOFT("QEmbedLayerNormalization", kni_convert_quantized_embed_norm, "u8 i8"),
    MICROSOFT("GatherBlockQuantized", kni_convert_gather_blocks, "u4 i4 u8"),
    {NULL, NULL, 0, 0, NULL, 0, NULL}};
