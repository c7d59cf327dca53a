/* Products and convolutions of quantized operands: exact in i32, then scaled. */
#include "onnx/convert/quantized.h"
#include <string.h>

/* A zero point of rows (summed axis last) or columns as the row matmul_integer takes it. */
static kni_datum zero_of(kni_conversion *c, kni_datum zero, bool rows)
{
    if (!kni_is_given(zero)) return KNI_ABSENT;
    if (kni_is_single(c, zero)) return kni_reshape_to(c, zero, NULL, 0);
    return rows && kni_rank_of(c, zero) == 1 ? kni_unsqueeze_at(c, zero, 1) : zero;
}

/* Of i16: not exact beyond i32. */
static kni_datum wide_product(kni_conversion *c, kni_datum a, kni_datum b)
{
    return kni_emit2(c, "matmul", kni_cast_to(c, a, KN_I32), kni_cast_to(c, b, KN_I32));
}

kni_datum kni_integer_product(kni_conversion *c, kni_datum a, kni_datum b, kni_datum a_zero, kni_datum b_zero)
{
    const bool row = kni_rank_of(c, a) == 1, column = kni_rank_of(c, b) == 1;
    if (kni_dtypes[kni_dtype_of(c, a)].bits > 8) return wide_product(c, a, b);
    if (row) a = kni_unsqueeze_at(c, a, 0);
    if (column) b = kni_unsqueeze_at(c, b, 1);
    kni_datum y = kni_emit(c, "matmul_integer",
                           KNI_LIST(a, b, zero_of(c, a_zero, true), zero_of(c, b_zero, false)), NULL);
    if (column) y = kni_squeeze_at(c, y, -1);
    return row ? kni_squeeze_at(c, y, column ? -1 : -2) : y;
}

void kni_convert_matmul_integer(KNI_CONVERTS)
{
    (void)node;
    KNI_UNUSED_COUNTS;
    out[0] = kni_integer_product(c, in[0], in[1], in[2], in[3]);
}

/* ---- convolutions */

static kni_datum convolve(kni_conversion *c, const kni_onnx_node *node, kni_datum x, kni_datum w,
                          kni_datum x_zero, kni_datum w_zero)
{
    kni_window window;
    const int64_t groups = kni_node_int(node, "group", 1);
    if (!kni_window_of(c, node, x, w, &window)) return KNI_ABSENT;
    if (!kni_window_has_numbers(&window))
        x = kni_window_pad(c, &window, x, kni_known_real(c, x_zero, "the zero point", 0));
    if (kni_is_given(x_zero)) x_zero = kni_reshape_to(c, x_zero, NULL, 0);
    return kni_emit(c, "conv_integer", KNI_LIST(x, w, x_zero, w_zero),
                    KNI_GIVE(KNI_EXTENTS("stride", window.stride, window.n),
                             KNI_EXTENTS("padding", window.before, window.n),
                             KNI_EXTENTS("padding_end", window.after, window.n),
                             KNI_EXTENTS("dilation", window.dilation, window.n),
                             KNI_WHOLE("groups", groups)));
}

void kni_convert_conv_integer(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    out[0] = convolve(c, node, in[0], in[1], in[2], in[3]);
}

/* ---- with scales. The integer sums are x_scale w_scale times the result, so result / y_scale is the sums over a ratio of scales. */

static kni_datum rescaled(kni_conversion *c, kni_datum sums, kni_datum factor, kni_datum y_scale,
                          kni_datum y_zero)
{
    const kn_dtype dtype = kni_is_given(y_zero) ? kni_dtype_of(c, y_zero) : KN_U8;
    kni_datum ratio = kni_emit2(c, "div", kni_cast_to(c, y_scale, KN_F32), kni_cast_to(c, factor, KN_F32));
    return kni_quantize_to(c, sums, ratio, y_zero, dtype, true);
}

static kni_datum as_scalar(kni_conversion *c, kni_datum x)
{
    return kni_is_given(x) && kni_is_single(c, x) ? kni_reshape_to(c, x, NULL, 0) : x;
}

/* A scale of rows, so that it broadcasts to the product. */
static kni_datum scale_of_rows(kni_conversion *c, kni_datum scale)
{
    scale = as_scalar(c, scale);
    return kni_rank_of(c, scale) == 1 ? kni_unsqueeze_at(c, scale, 1) : scale;
}

void kni_convert_qlinear_matmul(KNI_CONVERTS)
{
    (void)node;
    KNI_UNUSED_COUNTS;
    kni_datum sums = kni_integer_product(c, in[0], in[3], in[2], in[5]);
    kni_datum factor = kni_emit2(c, "mul", scale_of_rows(c, in[1]), as_scalar(c, in[4]));
    out[0] = rescaled(c, sums, factor, scale_of_rows(c, in[6]),
                      kni_is_given(in[7]) ? scale_of_rows(c, in[7]) : in[7]);
}

/* x, its scale and zero point, w, its scale and zero point, those of the result, bias in i32. */
void kni_convert_qlinear_conv(KNI_CONVERTS)
{
    const bool last = kni_node_int(node, "channels_last", 0) != 0;
    kni_datum x = in[0];
    KNI_UNUSED_COUNTS;
    int32_t rank = kni_rank_of(c, x), axes[KN_MAX_RANK] = {0, rank - 1}, back[KN_MAX_RANK] = {0};
    for (int32_t i = 2; i < rank; i++) axes[i] = i - 1;
    for (int32_t i = 0; i < rank; i++) back[axes[i]] = i;
    if (last) x = kni_permute_to(c, x, axes, rank);
    kni_datum w_zero = kni_is_given(in[5]) ? as_scalar(c, in[5]) : in[5];
    kni_datum sums = convolve(c, node, x, in[3], in[2], w_zero);
    if (kni_is_given(in[8])) sums = kni_emit2(c, "add", sums, kni_along_axis_one(c, in[8], rank));
    kni_datum w_scale = as_scalar(c, in[4]);
    if (kni_rank_of(c, w_scale) == 1) w_scale = kni_along_axis_one(c, w_scale, rank);
    kni_datum factor = kni_emit2(c, "mul", as_scalar(c, in[1]), w_scale);
    kni_datum y = rescaled(c, sums, factor, as_scalar(c, in[6]), as_scalar(c, in[7]));
    out[0] = last ? kni_permute_to(c, y, back, rank) : y;
}

/* a, its scale and zero point, b, its scale and zero point, bias in i32, scale and zero point of the result, or none: f32. */
void kni_convert_qgemm(KNI_CONVERTS)
{
    kni_datum a = in[0], b = in[3];
    KNI_UNUSED_COUNTS;
    if (kni_node_int(node, "transA", 0)) a = kni_swap_axes(c, a, 0, 1);
    if (kni_node_int(node, "transB", 0)) b = kni_swap_axes(c, b, 0, 1);
    kni_datum sums = kni_integer_product(c, a, b, in[2], in[5]);
    kni_datum factor = kni_emit2(c, "mul", as_scalar(c, in[1]), as_scalar(c, in[4]));
    factor = kni_with_number(c, "mul", factor, kni_node_real(node, "alpha", 1));
    if (kni_is_given(in[6])) sums = kni_emit2(c, "add", sums, in[6]);
    if (kni_is_given(in[7]))
        out[0] = rescaled(c, sums, factor, as_scalar(c, in[7]), as_scalar(c, in[8]));
    else
        out[0] = kni_emit2(c, "mul", kni_cast_to(c, sums, KN_F32), factor);
}

static kni_datum as_floats(kni_conversion *c, kni_datum sums, kni_datum factor, kni_datum bias)
{
    kni_datum y = kni_emit3(c, "dequantize", sums, factor, kni_real_number(c, 0, kni_dtype_of(c, factor)));
    return kni_is_given(bias) ? kni_emit2(c, "add", y, bias) : y;
}

/* a in f32, which is quantized as it comes, b with its scale and zero point, bias. */
void kni_convert_dynamic_matmul(KNI_CONVERTS)
{
    (void)node;
    KNI_UNUSED_COUNTS;
    const kni_quantized a = kni_quantized_dynamically(c, in[0]);
    kni_datum sums = kni_integer_product(c, a.x, in[1], a.zero, in[3]);
    out[0] = as_floats(c, sums, kni_emit2(c, "mul", a.scale, as_scalar(c, in[2])), in[4]);
}

/* a, b, their scales, their zero points, bias. */
void kni_convert_matmul_to_float(KNI_CONVERTS)
{
    (void)node;
    KNI_UNUSED_COUNTS;
    kni_datum sums = kni_integer_product(c, in[0], in[1], in[4], in[5]);
    out[0] = as_floats(c, sums, kni_emit2(c, "mul", as_scalar(c, in[2]), as_scalar(c, in[3])), in[6]);
}
