/* Products and convolutions of quantized operands: exact in i32, then scaled. */
#include "onnx/convert/fused_operators.h"
#include "onnx/convert/quantized.h"

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

/* What becomes of the sums: bias, scale of the columns or channels and zero point of the result, as the rows take them; or nothing. */
typedef struct finish {
    kni_datum bias, scale, zero;
} finish;

/* op: matmul_integer, or matmul_dequantized, which has a scale and no zero point of the result. */
static kni_datum product_by(kni_conversion *c, const char *op, kni_datum a, kni_datum b, kni_datum a_zero,
                            kni_datum b_zero, const finish *f)
{
    const bool row = kni_rank_of(c, a) == 1, column = kni_rank_of(c, b) == 1;
    if (row) a = kni_unsqueeze_at(c, a, 0);
    if (column) b = kni_unsqueeze_at(c, b, 1);
    kni_datum y = kni_emit(
        c, op,
        KNI_LIST(a, b, zero_of(c, a_zero, true), zero_of(c, b_zero, false), f->bias, f->scale, f->zero),
        NULL);
    if (column) y = kni_squeeze_at(c, y, -1);
    return row ? kni_squeeze_at(c, y, column ? -1 : -2) : y;
}

static kni_datum product(kni_conversion *c, kni_datum a, kni_datum b, kni_datum a_zero, kni_datum b_zero,
                         const finish *f)
{
    if (kni_dtypes[kni_dtype_of(c, a)].bits > 8) return wide_product(c, a, b);
    return product_by(c, "matmul_integer", a, b, a_zero, b_zero, f);
}

kni_datum kni_integer_product(kni_conversion *c, kni_datum a, kni_datum b, kni_datum a_zero, kni_datum b_zero)
{
    const finish none = {KNI_ABSENT, KNI_ABSENT, KNI_ABSENT};
    return product(c, a, b, a_zero, b_zero, &none);
}

void kni_convert_matmul_integer(KNI_CONVERTS)
{
    (void)node;
    KNI_UNUSED_COUNTS;
    out[0] = kni_integer_product(c, in[0], in[1], in[2], in[3]);
}

/* ---- convolutions */

static kni_datum convolve(kni_conversion *c, const kni_onnx_node *node, kni_datum x, kni_datum w,
                          kni_datum x_zero, kni_datum w_zero, const finish *f)
{
    kni_window window;
    const int64_t groups = kni_groups_of(c, node);
    if (!kni_weight_is_given(c, w) || !kni_window_of(c, node, x, w, &window)) return KNI_ABSENT;
    if (!kni_window_has_numbers(&window))
        x = kni_window_pad(c, &window, x, kni_known_real(c, x_zero, "the zero point", 0));
    if (kni_is_given(x_zero)) x_zero = kni_reshape_to(c, x_zero, NULL, 0);
    return kni_emit(c, "conv_integer", KNI_LIST(x, w, x_zero, w_zero, f->bias, f->scale, f->zero),
                    KNI_GIVE(KNI_EXTENTS("stride", window.stride, window.n),
                             KNI_EXTENTS("padding", window.before, window.n),
                             KNI_EXTENTS("padding_end", window.after, window.n),
                             KNI_EXTENTS("dilation", window.dilation, window.n),
                             KNI_WHOLE("groups", groups)));
}

void kni_convert_conv_integer(KNI_CONVERTS)
{
    const finish none = {KNI_ABSENT, KNI_ABSENT, KNI_ABSENT};
    KNI_UNUSED_COUNTS;
    out[0] = convolve(c, node, in[0], in[1], in[2], in[3], &none);
}

/* ---- with scales. The integer sums are x_scale w_scale times the result, so result / y_scale is the sums times a ratio of scales. */

static kni_datum as_scalar(kni_conversion *c, kni_datum x)
{
    return kni_is_given(x) && kni_is_single(c, x) ? kni_reshape_to(c, x, NULL, 0) : x;
}

/* a_scale b_scale / y_scale */
static kni_datum ratio_of(kni_conversion *c, kni_datum a_scale, kni_datum b_scale, kni_datum y_scale)
{
    kni_datum both = kni_emit2(c, "mul", kni_cast_to(c, a_scale, KN_F32), kni_cast_to(c, b_scale, KN_F32));
    return kni_emit2(c, "div", both, kni_cast_to(c, y_scale, KN_F32));
}

/* Whether scales are those of the whole result or of its columns or channels, and the zero point is one. */
static bool rows_take(kni_conversion *c, kni_datum ratio, kni_datum zero)
{
    return kni_rank_of(c, ratio) < 2 && (!kni_is_given(zero) || kni_is_single(c, zero));
}

static kni_datum rescaled(kni_conversion *c, kni_datum sums, kni_datum ratio, kni_datum y_zero)
{
    const kn_dtype dtype = kni_is_given(y_zero) ? kni_dtype_of(c, y_zero) : KN_U8;
    return kni_quantize_to(c, kni_emit2(c, "mul", kni_cast_to(c, sums, KN_F32), ratio),
                           kni_real_number(c, 1, KN_F32), y_zero, dtype, true);
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
    kni_datum ratio = ratio_of(c, scale_of_rows(c, in[1]), as_scalar(c, in[4]), scale_of_rows(c, in[6]));
    if (kni_dtypes[kni_dtype_of(c, in[0])].bits == 8 && rows_take(c, ratio, in[7])) {
        const finish f = {KNI_ABSENT, ratio, as_scalar(c, in[7])};
        out[0] = product(c, in[0], in[3], in[2], in[5], &f);
        return;
    }
    kni_datum sums = kni_integer_product(c, in[0], in[3], in[2], in[5]);
    out[0] = rescaled(c, sums, ratio, kni_is_given(in[7]) ? scale_of_rows(c, in[7]) : in[7]);
}

/* x, its scale and zero point, w, its scale and zero point, those of the result, bias in i32. */
void kni_convert_qlinear_conv(KNI_CONVERTS)
{
    const bool last = kni_node_int(node, "channels_last", 0) != 0;
    kni_datum x = last ? kni_channels_first(c, in[0]) : in[0];
    KNI_UNUSED_COUNTS;
    const finish f = {in[8], ratio_of(c, as_scalar(c, in[1]), as_scalar(c, in[4]), as_scalar(c, in[6])),
                      as_scalar(c, in[7])};
    kni_datum w_zero = kni_is_given(in[5]) ? as_scalar(c, in[5]) : in[5];
    kni_datum y = convolve(c, node, x, in[3], in[2], w_zero, &f);
    out[0] = last ? kni_channels_last(c, y) : y;
}

/* a, its scale and zero point, b, its scale and zero point, bias in i32, scale and zero point of the result, or none: f32. */
void kni_convert_qgemm(KNI_CONVERTS)
{
    kni_datum a = in[0], b = in[3], bias = in[6], one = kni_real_number(c, 1, KN_F32);
    KNI_UNUSED_COUNTS;
    if (kni_node_int(node, "transA", 0)) a = kni_swap_axes(c, a, 0, 1);
    if (kni_node_int(node, "transB", 0)) b = kni_swap_axes(c, b, 0, 1);
    kni_datum scale = kni_is_given(in[7]) ? as_scalar(c, in[7]) : one;
    kni_datum ratio = ratio_of(c, as_scalar(c, in[1]), as_scalar(c, in[4]), scale);
    ratio = kni_with_number(c, "mul", ratio, kni_node_real(node, "alpha", 1));
    const bool in_rows = !kni_is_given(bias) || kni_rank_of(c, bias) == 1;
    if (kni_is_given(in[7]) && in_rows && rows_take(c, ratio, in[8])) {
        const finish f = {bias, ratio, as_scalar(c, in[8])};
        out[0] = product(c, a, b, in[2], in[5], &f);
        return;
    }
    kni_datum sums = kni_integer_product(c, a, b, in[2], in[5]);
    if (kni_is_given(bias)) sums = kni_emit2(c, "add", sums, bias);
    out[0] = kni_is_given(in[7]) ? rescaled(c, sums, ratio, as_scalar(c, in[8]))
                                 : kni_emit2(c, "mul", kni_cast_to(c, sums, KN_F32), ratio);
}

/* Whether x is one number, or one for each column of b. */
static bool is_of_columns(kni_conversion *c, kni_datum x, kni_datum b)
{
    const int32_t rank = kni_rank_of(c, x);
    if (rank == 0) return true;
    return rank == 1 && kni_extent_same(kni_extent_of(c, x, 0), kni_extent_of(c, b, -1));
}

/* The product in f32: sums times `factor`, plus the bias. */
static kni_datum in_floats(kni_conversion *c, kni_datum a, kni_datum b, kni_datum a_zero, kni_datum b_zero,
                           kni_datum factor, kni_datum bias)
{
    factor = as_scalar(c, factor);
    const bool byte = kni_dtypes[kni_dtype_of(c, a)].bits == 8, f32 = kni_dtype_of(c, factor) == KN_F32;
    const bool ready = byte && f32 && kni_converts_now(c) && kni_rank_of(c, b) > 1;
    if (ready && is_of_columns(c, factor, b)) {
        const bool takes = kni_is_given(bias) && kni_rank_of(c, bias) == 1 &&
                           kni_dtype_of(c, bias) == KN_F32 && is_of_columns(c, bias, b);
        const finish f = {takes ? bias : KNI_ABSENT, factor, KNI_ABSENT};
        kni_datum y = product_by(c, "matmul_dequantized", a, b, a_zero, b_zero, &f);
        return kni_is_given(bias) && !takes ? kni_emit2(c, "add", y, bias) : y;
    }
    kni_datum sums = kni_cast_to(c, kni_integer_product(c, a, b, a_zero, b_zero), kni_dtype_of(c, factor));
    kni_datum y = kni_emit2(c, "mul", sums, factor);
    return kni_is_given(bias) ? kni_emit2(c, "add", y, bias) : y;
}

/* a in f32, which is quantized as it comes, b with its scale and zero point, bias. */
void kni_convert_dynamic_matmul(KNI_CONVERTS)
{
    (void)node;
    KNI_UNUSED_COUNTS;
    const kni_quantized a = kni_quantized_dynamically(c, in[0]);
    out[0] =
        in_floats(c, a.x, in[1], a.zero, in[3], kni_emit2(c, "mul", a.scale, as_scalar(c, in[2])), in[4]);
}

/* a, b, their scales, their zero points, bias. */
void kni_convert_matmul_to_float(KNI_CONVERTS)
{
    (void)node;
    KNI_UNUSED_COUNTS;
    kni_datum factor = kni_emit2(c, "mul", scale_of_rows(c, in[2]), as_scalar(c, in[3]));
    out[0] = in_floats(c, in[0], in[1], in[4], in[5], factor, in[6]);
}

/* ---- what the pass makes of quantized models */

/* a, b, their zero points, the scale of the sums, bias. */
void kni_convert_own_integer_product(KNI_CONVERTS)
{
    (void)node;
    KNI_UNUSED_COUNTS;
    out[0] = in_floats(c, in[0], in[1], in[2], in[3], in[4], in[5]);
}

/* The weight [out, in] of bytes, or of bytes that hold several numbers; scales and zero points [out, blocks] where it has blocks. */
typedef struct weight {
    kni_datum w, scale, zero;
    int64_t block, bits;
} weight;

/* Packed zero points fill whole bytes in each row; without any of them they are the middle. */
static void unpack_scaling(kni_conversion *c, weight *q, int64_t outs, kni_extent ins)
{
    const kni_extent blocks =
        kni_extent_div(c, kni_extent_add(c, ins, KNI_EXTENT(q->block - 1)), KNI_EXTENT(q->block));
    const kni_extent each[2] = {KNI_EXTENT(outs), blocks};
    q->scale = kni_reshape_to(c, q->scale, each, 2);
    if (!kni_is_given(q->zero)) {
        q->zero = kni_whole_number(c, INT64_C(1) << (q->bits - 1), KN_U8);
        return;
    }
    const kni_extent bytes = kni_extent_div(c, kni_count_of(c, q->zero), KNI_EXTENT(outs));
    const kni_extent packed[2] = {KNI_EXTENT(outs), bytes};
    q->zero = kni_unpacked_bits(c, kni_reshape_to(c, q->zero, packed, 2), q->bits);
    q->zero = kni_slice_of(c, q->zero, 1, KNI_EXTENT(0), blocks);
}

static weight weight_of(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in)
{
    weight q = {in[1], as_scalar(c, in[2]), as_scalar(c, in[3]), kni_node_int(node, "block", 0),
                kni_node_int(node, "bits", 0)};
    if (kni_node_int(node, "turn", 0)) q.w = kni_swap_axes(c, q.w, 0, 1);
    if (!q.bits) return q;
    const kni_extent outs = kni_extent_of(c, q.w, 0);
    const kni_extent flat[2] = {outs, kni_extent_div(c, kni_count_of(c, q.w), outs)};
    q.w = kni_reshape_to(c, q.w, flat, 2);
    unpack_scaling(c, &q, outs.value, kni_extent_of(c, in[0], -1));
    return q;
}

/* The same as floats. */
static kni_datum real_weight(kni_conversion *c, weight q, kni_extent ins)
{
    if (q.bits) q.w = kni_slice_of(c, kni_unpacked_bits(c, q.w, q.bits), 1, KNI_EXTENT(0), ins);
    return kni_dequantized(c, (kni_quantized){q.w, kni_spread_over(c, q.scale, q.w, q.block > 0, q.block),
                                              kni_spread_over(c, q.zero, q.w, q.block > 0, q.block)});
}

/* x, weight [out, in], its scale and zero point, bias; block: how many neighbours of a row have one scale; turn: the weight is [in, out];
   bits: the weight is that of MatMulNBits, and so are its scales and zero points. */
void kni_convert_own_quantized_linear(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    const weight q = weight_of(c, node, in);
    kni_datum bias = in[4];
    bool takes = !kni_is_given(bias);
    if (kni_convert_failed(c)) return;
    if (!takes && kni_rank_of(c, bias) == 1)
        takes = kni_extent_same(kni_extent_of(c, bias, 0), kni_extent_of(c, q.w, 0));
    kni_datum y;
    if (kni_dtype_of(c, in[0]) == KN_F32)
        y = kni_emit(c, "linear_quantized", KNI_LIST(in[0], q.w, q.scale, q.zero, takes ? bias : KNI_ABSENT),
                     KNI_GIVE(KNI_WHOLE("block", q.block), KNI_WHOLE("bits", q.bits == 8 ? 0 : q.bits)));
    else
        y = kni_emit3(c, "linear", in[0], real_weight(c, q, kni_extent_of(c, in[0], -1)),
                      takes ? bias : KNI_ABSENT);
    out[0] = takes ? y : kni_emit2(c, "add", y, bias);
}
