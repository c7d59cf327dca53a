/* Layers of com.microsoft on quantized tensors, computed in f32 between two scales, and weights that are stored in blocks of few bits. */
#include "onnx/convert/fused_operators.h"
#include "onnx/convert/quantized.h"
#include <string.h>

/* ---- layers */

/* Bytes with a scale and a zero point of one element. */
static bool has_one_scale(kni_conversion *c, const kni_datum *in, int32_t at)
{
    return kni_is_given(in[at + 1]) && kni_is_given(in[at + 2]) && kni_is_single(c, in[at + 1]) &&
           kni_is_single(c, in[at + 2]) && kni_dtypes[kni_dtype_of(c, in[at + 2])].bits == 8;
}

/* The same for a result, in[at] and in[at + 1]. */
static bool gets_one_scale(kni_conversion *c, const kni_datum *in, int32_t at)
{
    return has_one_scale(c, in, at - 1);
}

static kni_datum scalar(kni_conversion *c, kni_datum x) { return kni_reshape_to(c, x, NULL, 0); }

void kni_convert_qlinear_binary(KNI_CONVERTS)
{
    static const char *const ops[] = {"mul", "add"}, *const rows[] = {"quantized_product", "quantized_sum"};
    const bool adds = !strcmp(node->op, "QLinearAdd");
    const char *op = ops[adds];
    KNI_UNUSED_COUNTS;
    if (kni_converts_now(c) && has_one_scale(c, in, 0) && has_one_scale(c, in, 3) &&
        gets_one_scale(c, in, 6)) {
        out[0] = kni_emit(c, rows[adds],
                          KNI_LIST(in[0], scalar(c, in[1]), scalar(c, in[2]), in[3], scalar(c, in[4]),
                                   scalar(c, in[5]), scalar(c, in[6]), scalar(c, in[7])),
                          NULL);
        return;
    }
    kni_datum y = kni_emit2(c, op, kni_dequantized_at(c, in, 0), kni_dequantized_at(c, in, 3));
    out[0] = kni_requantized_at(c, y, in, 6);
}

/* The operand, as floats, by another converter. */
static kni_datum by_standard(kni_conversion *c, const kni_onnx_node *node, const char *op, int32_t version,
                             kni_datum x)
{
    kni_datum y[KNI_ONNX_ROOM] = {{0}};
    kni_convert_as(c, node, op, version, &x, 1, y, 1);
    return y[0];
}

/* ---- functions of one byte, which are tables */

typedef kni_datum byte_function(kni_conversion *c, const kni_onnx_node *node, kni_datum x);

static kni_datum same(kni_conversion *c, const kni_onnx_node *node, kni_datum x)
{
    (void)c, (void)node;
    return x;
}

static kni_datum activation(kni_conversion *c, const kni_onnx_node *node, kni_datum x)
{
    const char *name = !strcmp(node->op, "QLinearSigmoid") ? "Sigmoid" : "LeakyRelu";
    return kni_activation_of(c, name, x, kni_node_real(node, "alpha", 0.01), 0);
}

static kni_datum named(kni_conversion *c, const kni_onnx_node *node, kni_datum x)
{
    return by_standard(c, node, kni_node_text(node, "of", ""), (int32_t)kni_node_int(node, "version", 1), x);
}

/* What the function gives for all bytes, [256]. */
static kni_datum table_of(kni_conversion *c, const kni_onnx_node *node, byte_function *f, const kni_datum *x,
                          const kni_datum *y)
{
    uint8_t bytes[256];
    const kn_dtype dtype = kni_dtype_of(c, x[0]);
    for (int i = 0; i < 256; i++) bytes[i] = (uint8_t)(dtype == KN_I8 ? i - 128 : i);
    const kni_datum all[3] = {kni_constant(c, bytes, dtype, (const int64_t[]){256}, 1), x[1], x[2]};
    return kni_requantized_at(c, f(c, node, kni_dequantized_at(c, all, 0)), y, 0);
}

/* x (x[0] to x[2]) through the function, with scale and zero point y[0] and y[1]. Its table is kept under a number where it is the same
   in every run. */
static kni_datum through(kni_conversion *c, const kni_onnx_node *node, byte_function *f, const kni_datum *x,
                         const kni_datum *y, int32_t number)
{
    const bool fits = kni_converts_now(c) && has_one_scale(c, x, 0) && has_one_scale(c, y, -1) &&
                      kni_dtypes[kni_dtype_of(c, x[0])].bits == 8;
    const bool constant = kni_is_constant(c, x[1]) && kni_is_constant(c, x[2]) && kni_is_constant(c, y[0]) &&
                          kni_is_constant(c, y[1]);
    if (!fits || !constant || number >= KNI_KEPT)
        return kni_requantized_at(c, f(c, node, kni_dequantized_at(c, x, 0)), y, 0);
    kni_datum table = kni_kept(c, number);
    if (!kni_is_given(table)) table = kni_keep(c, number, table_of(c, node, f, x, y));
    return kni_emit2(c, "byte_table", x[0], table);
}

void kni_convert_qlinear_activation(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    out[0] = through(c, node, activation, in, in + 3, 0);
}

/* Any function of one operand: its operator is the attribute `of`. */
void kni_convert_own_quantized_unary(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    out[0] = through(c, node, named, in, in + 3, 0);
}

/* ---- layers that see several elements */

void kni_convert_qlinear_softmax(KNI_CONVERTS)
{
    const int32_t version = (int32_t)kni_node_int(node, "opset", 13);
    KNI_UNUSED_COUNTS;
    out[0] =
        kni_requantized_at(c, by_standard(c, node, "Softmax", version, kni_dequantized_at(c, in, 0)), in, 3);
}

static void pool_as(kni_conversion *c, const kni_onnx_node *node, const char *op, const kni_datum *in,
                    kni_datum *out)
{
    const bool last = kni_node_int(node, "channels_last", 0) != 0;
    kni_datum x = kni_dequantized_at(c, in, 0);
    kni_datum y = by_standard(c, node, op, 19, last ? kni_channels_first(c, x) : x);
    out[0] = kni_requantized_at(c, last ? kni_channels_last(c, y) : y, in, 3);
}

void kni_convert_qlinear_global_pool(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    pool_as(c, node, "GlobalAveragePool", in, out);
}

void kni_convert_qlinear_pool(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    pool_as(c, node, "AveragePool", in, out);
}

/* Scale and zero point of the result, then three operands for each part. */
void kni_convert_qlinear_concat(KNI_CONVERTS)
{
    kni_datum *parts = kni_convert_memory(c, KNI_ONNX_ROOM, sizeof *parts);
    int32_t n = (n_in - 2) / 3;
    (void)n_out;
    if (!parts) return;
    if (n < 1 || n > KNI_ONNX_ROOM) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "%d operands are no scale and zero point and parts of three",
                         n_in);
        return;
    }
    for (int32_t i = 0; i < n; i++) parts[i] = through(c, node, same, in + 2 + 3 * i, in, i);
    const int32_t axis = kni_axis_of(c, parts[0], kni_node_int(node, "axis", 0));
    out[0] = kni_concat_of(c, parts, n, axis);
}

void kni_convert_qlinear_mean(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    out[0] =
        kni_requantized_at(c, by_standard(c, node, "ReduceMean", 13, kni_dequantized_at(c, in, 0)), in, 3);
}

void kni_convert_qlinear_where(KNI_CONVERTS)
{
    (void)node;
    KNI_UNUSED_COUNTS;
    kni_datum y = kni_emit3(c, "where", in[0], kni_dequantized_at(c, in, 1), kni_dequantized_at(c, in, 4));
    out[0] = kni_requantized_at(c, y, in, 7);
}

/* ---- weights in blocks */

kni_datum kni_unpacked_bits(kni_conversion *c, kni_datum x, int64_t bits)
{
    kni_extent sizes[KN_MAX_RANK];
    const int64_t fields = 8 / bits;
    kni_datum parts[8];
    const int32_t rank = kni_extents_of(c, x, sizes);
    if (fields == 1) return x;
    for (int64_t i = 0; i < fields; i++) {
        kni_datum part = x;
        if (i) part = kni_emit2(c, "bitwise_right_shift", part, kni_whole_number(c, i * bits, KN_U8));
        part = kni_emit2(c, "bitwise_and", part, kni_whole_number(c, (1 << bits) - 1, KN_U8));
        parts[i] = kni_unsqueeze_at(c, part, rank);
    }
    x = kni_concat_of(c, parts, (int32_t)fields, rank);
    sizes[rank - 1] = kni_extent_mul(c, sizes[rank - 1], KNI_EXTENT(fields));
    return kni_reshape_to(c, x, sizes, rank);
}

typedef struct blocks {
    int64_t outs, ins, bits, size, across; /* across: blocks of a row */
} blocks;

/* Scales or zero points of all blocks, [outs, across, 1], or along the row by the group of each element, [outs, ins]. */
static kni_datum of_blocks(kni_conversion *c, const blocks *z, kni_datum x, kni_datum groups)
{
    x = kni_reshape_to(c, x, (kni_extent[]){KNI_EXTENT(z->outs), KNI_EXTENT(z->across)}, 2);
    if (!kni_is_given(groups)) return kni_unsqueeze_at(c, x, 2);
    return kni_emit(c, "take", KNI_LIST(x, groups), KNI_GIVE(KNI_WHOLE("axis", 1)));
}

/* Packed zero points fill whole bytes in each row. */
static kni_datum zero_points(kni_conversion *c, const blocks *z, kni_datum given, kni_datum groups,
                             kn_dtype dtype)
{
    if (!kni_is_given(given)) return kni_real_number(c, (double)(1 << (z->bits - 1)), dtype);
    if (kni_is_whole(kni_dtype_of(c, given))) {
        const int64_t bytes = (z->across * z->bits + 7) / 8;
        given = kni_reshape_to(c, given, (kni_extent[]){KNI_EXTENT(z->outs), KNI_EXTENT(bytes)}, 2);
        given =
            kni_slice_of(c, kni_unpacked_bits(c, given, z->bits), 1, KNI_EXTENT(0), KNI_EXTENT(z->across));
    }
    return of_blocks(c, z, given, groups);
}

/* The weight [outs, ins] of bytes [outs, across, size * bits / 8]. */
static kni_datum block_weight(kni_conversion *c, const blocks *z, const kni_datum *in)
{
    const int64_t whole = z->across * z->size;
    const kn_dtype dtype = kni_dtype_of(c, in[2]);
    const bool grouped = kni_is_given(in[4]);
    kni_datum w = kni_unpacked_bits(c,
                                    kni_reshape_to(c, in[1],
                                                   (kni_extent[]){KNI_EXTENT(z->outs), KNI_EXTENT(z->across),
                                                                  KNI_EXTENT(z->size / (8 / z->bits))},
                                                   3),
                                    z->bits);
    const kni_extent flat[2] = {KNI_EXTENT(z->outs), KNI_EXTENT(whole)};
    if (grouped) w = kni_slice_of(c, kni_reshape_to(c, w, flat, 2), 1, KNI_EXTENT(0), KNI_EXTENT(z->ins));
    kni_datum scale = of_blocks(c, z, in[2], in[4]), zero = zero_points(c, z, in[3], in[4], dtype);
    w = kni_emit3(c, "dequantize", w, scale, zero);
    if (grouped) return w;
    return kni_slice_of(c, kni_reshape_to(c, w, flat, 2), 1, KNI_EXTENT(0), KNI_EXTENT(z->ins));
}

/* a, packed weight, scales, zero points, groups of the elements of a row, bias. */
void kni_convert_matmul_nbits(KNI_CONVERTS)
{
    blocks z = {.outs = kni_node_int(node, "N", 0),
                .ins = kni_node_int(node, "K", 0),
                .bits = kni_node_int(node, "bits", 4),
                .size = kni_node_int(node, "block_size", 0)};
    KNI_UNUSED_COUNTS;
    if (z.outs < 1 || z.ins < 1 || z.size < 1 || (z.bits != 2 && z.bits != 4 && z.bits != 8) ||
        z.ins > INT32_MAX || z.outs > INT32_MAX || z.size > INT32_MAX || z.size * z.bits % 8) {
        kni_convert_fail(
            c, KN_ERROR_UNSUPPORTED,
            "a weight of N %lld and K %lld with %lld bits in blocks of %lld; bits are 2, 4 or 8 and "
            "blocks fill bytes",
            (long long)z.outs, (long long)z.ins, (long long)z.bits, (long long)z.size);
        return;
    }
    z.across = (z.ins + z.size - 1) / z.size;
    kni_datum w = block_weight(c, &z, in);
    out[0] = kni_emit(c, "linear", KNI_LIST(in[0], kni_cast_to(c, w, kni_dtype_of(c, in[0])), in[5]), NULL);
}

/* Rows of a table in blocks: data, indices, scales, zero points. Bytes hold two elements along the last axis. */
void kni_convert_gather_blocks(KNI_CONVERTS)
{
    const int64_t bits = kni_node_int(node, "bits", 4), block = kni_node_int(node, "block_size", 128);
    kni_datum data = in[0], zero = in[3];
    const bool packed = kni_dtype_of(c, data) == KN_U8 && bits < 8;
    KNI_UNUSED_COUNTS;
    const int32_t axis = kni_axis_of(c, data, kni_node_int(node, "gather_axis", 0));
    const int32_t along = kni_axis_of(c, data, kni_node_int(node, "quantize_axis", 1));
    if (kni_convert_failed(c)) return;
    if (packed) {
        data = kni_unpacked_bits(c, data, bits);
        if (kni_is_given(zero)) {
            zero = kni_unpacked_bits(c, zero, bits);
            zero = kni_slice_of(c, zero, along, KNI_EXTENT(0), kni_extent_of(c, in[2], along));
        }
    }
    if (!kni_is_given(zero) && kni_dtype_of(c, data) == KN_U8 && bits <= 8)
        zero = kni_real_number(c, (double)(1 << (bits - 1)), kni_dtype_of(c, in[2]));
    const kni_quantized q = {data, kni_spread_over(c, in[2], data, along, block),
                             kni_spread_over(c, zero, data, along, block)};
    out[0] = kni_emit(c, "take", KNI_LIST(kni_dequantized(c, q), in[1]), KNI_GIVE(KNI_WHOLE("axis", axis)));
}

/* Ids, segments or none, bytes of the tables of words, positions and segments or none, of the scale and the bias, a mask or none; then
   the five scales and the five zero points. */
void kni_convert_quantized_embed_norm(KNI_CONVERTS)
{
    kni_datum plain[KNI_ONNX_ROOM] = {in[0],      in[1],      KNI_ABSENT, KNI_ABSENT,
                                      KNI_ABSENT, KNI_ABSENT, KNI_ABSENT, in[7]};
    KNI_UNUSED_COUNTS;
    for (int32_t i = 0; i < 5; i++)
        if (kni_is_given(in[2 + i]))
            plain[2 + i] = kni_dequantized(c, (kni_quantized){in[2 + i], in[8 + i], in[13 + i]});
    kni_convert_embed_layer_norm(c, node, plain, 9, out, n_out);
}
