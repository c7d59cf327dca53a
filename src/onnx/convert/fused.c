/* Operators of com.microsoft that real files have and that no other family converts: activations with a bias, products with an activation,
   and those that were there before the standard had them. */
#include "onnx/convert/fused_operators.h"
#include <string.h>

/* ---- activations with a bias */

static kni_datum with_bias(kni_conversion *c, kni_datum x, kni_datum bias)
{
    return kni_is_given(bias) ? kni_emit2(c, "add", x, bias) : x;
}

static void fast_gelu(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                      kni_datum *out, int32_t n_out)
{
    (void)node, (void)n_in, (void)n_out;
    out[0] = kni_emit1(c, "gelu_approximate", with_bias(c, in[0], in[1]));
}

static void bias_gelu(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                      kni_datum *out, int32_t n_out)
{
    (void)node, (void)n_in, (void)n_out;
    out[0] = kni_emit1(c, "gelu", with_bias(c, in[0], in[1]));
}

static void quick_gelu(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                       kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    out[0] = kni_swish_of(c, in[0], kni_node_real(node, "alpha", 1.702f));
}

/* Each step is rounded to the dtype. */
static void scaled_silu(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                        kni_datum *out, int32_t n_out)
{
    kn_dtype dtype = kni_dtype_of(c, in[0]);
    double alpha = kni_node_real(node, "alpha", 1);
    (void)n_in, (void)n_out;
    kni_datum x = kni_cast_to(c, in[0], kni_wide_dtype(dtype));
    if (kni_is_given(in[1]))
        x = kni_emit2(c, "mul", x, kni_cast_to(c, in[1], kni_dtype_of(c, x)));
    else
        x = kni_with_number(c, "mul", x, alpha);
    x = kni_cast_to(c, x, dtype);
    out[0] = kni_emit2(c, "mul", x, kni_emit1(c, "sigmoid", x));
}

static void same(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                 kni_datum *out, int32_t n_out)
{
    (void)c, (void)node, (void)n_in, (void)n_out;
    out[0] = in[0];
}

/* Over all operands; the attributes choose what counts as not finite. */
static void all_finite(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                       kni_datum *out, int32_t n_out)
{
    bool infinity = kni_node_int(node, "isinf_only", 0) != 0, nan = kni_node_int(node, "isnan_only", 0) != 0;
    (void)n_out;
    for (int32_t i = 0; i < n_in; i++) {
        kni_datum bad = infinity ? kni_emit1(c, "isinf", in[i])
                        : nan    ? kni_emit1(c, "isnan", in[i])
                                 : kni_emit1(c, "logical_not", kni_emit1(c, "isfinite", in[i]));
        kni_datum good = kni_emit1(c, "logical_not", kni_reduce_over(c, "any", bad, NULL, 0, false));
        out[0] = i ? kni_emit2(c, "logical_and", out[0], good) : good;
    }
}

/* The first half of the last axis times gelu of the second. */
static void bias_split_gelu(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                            kni_datum *out, int32_t n_out)
{
    kni_datum x = with_bias(c, in[0], in[1]);
    int32_t axis = kni_axis_of(c, x, -1);
    kni_extent size = kni_extent_of(c, x, axis), half = kni_extent_div(c, size, KNI_EXTENT(2));
    (void)node, (void)n_in, (void)n_out;
    kni_datum gate = kni_emit1(c, "gelu", kni_slice_of(c, x, axis, half, size));
    out[0] = kni_emit2(c, "mul", kni_slice_of(c, x, axis, KNI_EXTENT(0), half), gate);
}

/* The bias has axes of one element where it repeats. */
static void bias_softmax(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                         kni_datum *out, int32_t n_out)
{
    kni_extent shape[KN_MAX_RANK];
    kni_datum x = with_bias(c, in[0], in[1]);
    int32_t rank = kni_extents_of(c, x, shape), axis = kni_axis_of(c, x, kni_node_int(node, "axis", 1));
    (void)n_in, (void)n_out;
    if (kni_convert_failed(c)) return;
    x = axis == rank - 1 ? x : kni_flatten_at(c, x, axis);
    x = kni_emit(c, "softmax", &x, 1, KNI_GIVE(KNI_WHOLE("axis", -1)));
    out[0] = kni_reshape_to(c, x, shape, rank);
}

static void bias_add(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                     kni_datum *out, int32_t n_out)
{
    (void)node, (void)n_in, (void)n_out;
    out[0] = with_bias(c, with_bias(c, in[0], in[1]), in[2]);
}

static void gated_add(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                      kni_datum *out, int32_t n_out)
{
    (void)node, (void)n_in, (void)n_out;
    out[0] = kni_emit2(c, "add", in[0], kni_emit2(c, "mul", in[1], in[2]));
}

/* Operands: data, bias, residual or none, ratio, training_mode. */
static void bias_dropout(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                         kni_datum *out, int32_t n_out)
{
    kni_datum operands[KNI_ONNX_ROOM] = {{0}};
    (void)n_in;
    operands[0] = with_bias(c, in[0], in[1]), operands[1] = in[3], operands[2] = in[4];
    kni_convert_dropout(c, node, operands, 3, out, n_out);
    out[0] = with_bias(c, out[0], in[2]);
}

/* ---- products */

static double real_or_none(const kni_onnx_node *node, const char *name)
{
    return kni_node_real(node, name, __builtin_nan(""));
}

static kni_datum activated(kni_conversion *c, const kni_onnx_node *node, kni_datum x)
{
    bool selu = !strcmp(kni_node_text(node, "activation", ""), "Selu");
    return kni_activation_of(c, kni_node_text(node, "activation", ""), x,
                             real_or_none(node, "activation_alpha"),
                             real_or_none(node, selu ? "activation_gamma" : "activation_beta"));
}

static void fused_gemm(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                       kni_datum *out, int32_t n_out)
{
    kni_convert_as(c, node, "Gemm", 13, in, n_in, out, n_out);
    out[0] = activated(c, node, out[0]);
}

/* With trans the last two axes change places; with batch the first axis goes behind the others first. */
static kni_datum turned(kni_conversion *c, kni_datum x, bool trans, bool batch)
{
    int32_t rank = kni_rank_of(c, x), axes[KN_MAX_RANK];
    if (rank < 2) return x;
    for (int32_t i = 0; i < rank; i++) axes[i] = i;
    if (batch && rank > 2) { /* [m, batch ..., k] as [batch ..., m, k] */
        for (int32_t i = 0; i < rank - 2; i++) axes[i] = i + 1;
        axes[rank - 2] = 0;
    }
    if (trans) {
        int32_t held = axes[rank - 2];
        axes[rank - 2] = axes[rank - 1], axes[rank - 1] = held;
    }
    return trans || batch ? kni_permute_to(c, x, axes, rank) : x;
}

static void fused_matmul(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                         kni_datum *out, int32_t n_out)
{
    kni_datum pair[2] = {
        turned(c, in[0], kni_node_int(node, "transA", 0) != 0, kni_node_int(node, "transBatchA", 0) != 0),
        turned(c, in[1], kni_node_int(node, "transB", 0) != 0, kni_node_int(node, "transBatchB", 0) != 0)};
    double alpha = kni_node_real(node, "alpha", 1);
    (void)n_in;
    kni_convert_as(c, node, "MatMul", 13, pair, 2, out, n_out);
    if (alpha != 1) out[0] = kni_with_number(c, "mul", out[0], alpha);
    out[0] = activated(c, node, out[0]);
}

static void gemm_fast_gelu(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                           kni_datum *out, int32_t n_out)
{
    (void)n_in;
    kni_convert_as(c, node, "MatMul", 13, in, 2, out, n_out);
    out[0] = kni_emit1(c, "gelu_approximate", with_bias(c, out[0], in[2]));
}

/* The inverse of each matrix: the solution of x y = 1. */
static void inverse(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                    kni_datum *out, int32_t n_out)
{
    kni_extent shape[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, in[0], shape);
    kn_dtype dtype = kni_dtype_of(c, in[0]);
    (void)node, (void)n_in, (void)n_out;
    if (kni_convert_failed(c) || rank < 2) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "needs square matrices, not an operand of rank %d", rank);
        return;
    }
    kni_datum at = kni_counting(c, 0, shape[rank - 1], KN_I64);
    kni_datum one = kni_emit2(c, "equal", kni_unsqueeze_at(c, at, 0), kni_unsqueeze_at(c, at, 1));
    one = kni_cast_to(c, one, kni_wide_dtype(dtype));
    one = kni_expand_to(c, one, shape, rank);
    kni_datum x = kni_cast_to(c, in[0], kni_wide_dtype(dtype));
    out[0] = kni_cast_to(c, kni_emit2(c, "solve", x, one), dtype);
}

/* Distances of all pairs of rows. */
static void distances(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                      kni_datum *out, int32_t n_out)
{
    const char *metric = kni_node_text(node, "metric", "sqeuclidean");
    bool root = !strcmp(metric, "euclidean");
    (void)n_in, (void)n_out;
    if (!root && strcmp(metric, "sqeuclidean") != 0) {
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "metric is '%.40s'; it must be euclidean or sqeuclidean",
                         metric);
        return;
    }
    kni_datum d = kni_emit2(c, "sub", kni_unsqueeze_at(c, in[0], 1), kni_unsqueeze_at(c, in[1], 0));
    d = kni_reduce_over(c, "sum", kni_emit1(c, "square", d), (int32_t[]){2}, 1, false);
    out[0] = root ? kni_emit1(c, "sqrt", d) : d;
}

/* ---- what the standard has, too */

static void as_standard(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                        kni_datum *out, int32_t n_out)
{
    static const struct {
        const char *name;
        int32_t version;
    } same[] = {{"Pad", 13}, {"Trilu", 14}, {"GatherND", 13}, {"GridSample", 16}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (!strcmp(same[i].name, node->op))
            kni_convert_as(c, node, same[i].name, same[i].version, in, n_in, out, n_out);
}

/* The step may be left out. */
static void range(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                  kni_datum *out, int32_t n_out)
{
    kn_dtype dtype = kni_dtype_of(c, in[0]);
    bool whole = dtype == KN_I16 || dtype == KN_I32 || dtype == KN_I64;
    kni_datum step = whole ? kni_whole_number(c, 1, dtype) : kni_real_number(c, 1, dtype);
    kni_datum operands[3] = {in[0], in[1], kni_is_given(in[2]) ? in[2] : step};
    (void)n_in;
    kni_convert_as(c, node, "Range", 11, operands, 3, out, n_out);
}

/* Values in the order in which they come first, where each element stands among them, and how often they come: outputs 0, 2 and 3 of the
   standard's. */
static void unique(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                   kni_datum *out, int32_t n_out)
{
    static const int64_t no = 0;
    const kni_onnx_attribute unsorted = {
        .name = "sorted", .kind = KNI_ONNX_ATTRIBUTE_INT, .count = 1, .ints = &no};
    const int32_t outputs[4] = {0, 0, 0, 0};
    kni_onnx_node other = *node;
    kni_datum all[4] = {{0}};
    other.attributes = &unsorted;
    other.n_attributes = 1;
    other.out = outputs;
    other.n_out = 4;
    kni_convert_as(c, &other, "Unique", 11, in, n_in, all, 4);
    out[0] = all[0];
    if (n_out > 1) out[1] = all[2];
    if (n_out > 2) out[2] = all[3];
}

static void expand_dims(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                        kni_datum *out, int32_t n_out)
{
    int64_t axis = kni_known_int(c, in[1], "the axis", 0);
    (void)node, (void)n_in, (void)n_out;
    out[0] = kni_unsqueeze_at(c, in[0], kni_axis_in(c, kni_rank_of(c, in[0]) + 1, axis));
}

static void embedding(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                      kni_datum *out, int32_t n_out)
{
    (void)node, (void)n_in, (void)n_out;
    out[0] = kni_emit(c, "take", KNI_LIST(in[0], in[1]), KNI_GIVE(KNI_WHOLE("axis", 0)));
}

#define ROW(name, convert, types)                                                                            \
    {                                                                                                        \
        "com.microsoft", name, 1, 0, convert, 0, types                                                       \
    }

const kni_onnx_converter kni_onnx_fused[] = {
    ROW("SkipLayerNormalization", kni_convert_skip_layer_norm, "floats"),
    ROW("SkipSimplifiedLayerNormalization", kni_convert_skip_rms_norm, "floats"),
    ROW("SimplifiedLayerNormalization", kni_convert_simplified_layer_norm, "floats"),
    ROW("LayerNormalization", kni_convert_layer_norm, "floats"),
    ROW("EmbedLayerNormalization", kni_convert_embed_layer_norm, "floats"),
    ROW("GroupNorm", kni_convert_fused_group_norm, "floats"),
    ROW("SkipGroupNorm", kni_convert_skip_group_norm, "floats"),
    ROW("GatedRMSNorm", kni_convert_gated_rms_norm, "floats"),

    ROW("BranchwiseRMSNorm", kni_convert_branch_rms_norm, "floats"),

    ROW("Gelu", bias_gelu, "floats"),
    ROW("BiasGelu", bias_gelu, "floats"),
    ROW("FastGelu", fast_gelu, "floats"),
    ROW("QuickGelu", quick_gelu, "floats"),
    ROW("BiasSplitGelu", bias_split_gelu, "floats"),
    ROW("BiasSoftmax", bias_softmax, "floats"),
    ROW("ScaledSiLU", scaled_silu, "floats"),
    ROW("BiasAdd", bias_add, "floats"),
    ROW("GatedAdd", gated_add, "floats"),
    {"com.microsoft", "BiasDropout", 1, 0, bias_dropout, KNI_ONNX_RANDOM, "floats"},

    ROW("FusedConv", kni_convert_fused_conv, "floats"),
    ROW("NhwcFusedConv", kni_convert_nhwc_conv, "floats"),
    ROW("NhwcConv", kni_convert_nhwc_conv, "floats"),
    ROW("NhwcMaxPool", kni_convert_nhwc_max_pool, "floats integers"),
    ROW("ConvTransposeWithDynamicPads", kni_convert_transpose_dynamic_pads, "floats"),
    ROW("CausalConvWithState", kni_convert_causal_conv, "floats"),
    ROW("LinearAttention", kni_convert_linear_attention, "floats"),

    ROW("MoE", kni_convert_experts, "floats"),
    ROW("QMoE", kni_convert_quantized_experts, "floats"),
    ROW("FusedGemm", fused_gemm, "floats integers"),
    ROW("FusedMatMulActivation", fused_matmul, "floats"),
    ROW("GemmFastGelu", gemm_fast_gelu, "floats"),
    ROW("Inverse", inverse, "floats"),
    ROW("CDist", distances, "floats"),

    ROW("Rfft", kni_convert_rfft, "floats"),
    ROW("Irfft", kni_convert_irfft, "floats"),
    ROW("ComplexMul", kni_convert_complex_mul, "floats"),
    ROW("ComplexMulConj", kni_convert_complex_mul, "floats"),
    ROW("CropAndResize", kni_convert_crop_and_resize, "floats"),

    ROW("Pad", as_standard, "floats integers bool"),
    ROW("Trilu", as_standard, "floats integers bool"),
    ROW("GatherND", as_standard, "floats integers bool strings"),
    ROW("GridSample", as_standard, "floats"),
    ROW("Range", range, "floats integers"),
    ROW("Unique", unique, "floats integers"),
    ROW("ExpandDims", expand_dims, "floats integers bool strings"),
    ROW("TorchEmbedding", embedding, "floats"),
    ROW("UnfoldTensor", kni_convert_unfold, "floats integers bool"),
    ROW("WordConvEmbedding", kni_convert_word_conv, "i32"),
    ROW("NGramRepeatBlock", kni_convert_ngram_block, "integers"),
    ROW("MurmurHash3", kni_convert_murmur_hash, "floats integers strings"),
    ROW("DynamicTimeWarping", kni_convert_time_warping, "floats"),
    ROW("SampleOp", same, "floats integers bool strings"),
    ROW("IsAllFinite", all_finite, "floats"),

    {"kiln", "Norm", 1, 0, kni_convert_own_norm, 0, "floats"},
    {"kiln", "Attention", 1, 0, kni_convert_own_attention, 0, "floats"},
    {"kiln", "Rope", 1, 0, kni_convert_own_rope, 0, "floats"},
    {"kiln", "IntegerProduct", 1, 0, kni_convert_own_integer_product, 0, "u8 i8"},
    {"kiln", "QuantizedUnary", 1, 0, kni_convert_own_quantized_unary, 0, "u8 i8"},
    {"kiln", "QuantizedLinear", 1, 0, kni_convert_own_quantized_linear, 0, "floats"},
    {0},
};
