/* Attention and FlexAttention, and the table of the family. */
#include "core/dtype.h"
#include "onnx/convert/attending.h"

/* ---- Attention: q, k, v, mask, past key, past value, number of keys that count */

/* What is [batch, tokens, heads * size] with its heads apart. */
static kni_datum as_heads(kni_conversion *c, const kni_onnx_node *node, kni_datum x, const char *heads)
{
    if (kni_rank_of(c, x) != 3) return x;
    int64_t n = kni_node_int(node, heads, 0);
    if (n < 1) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "operands of rank 3 need the attribute %s", heads);
        return KNI_ABSENT;
    }
    return kni_heads_apart(c, x, n);
}

/* Masks may end before the last keys, which are hidden then. */
static kni_datum pad_mask(kni_conversion *c, kni_datum mask, kni_extent keys, double hidden)
{
    kni_extent e[KN_MAX_RANK], none[KN_MAX_RANK], after[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, mask, e);
    if (rank < 1 || rank > 4) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "the mask has %d axes; give it 1 to 4", rank);
        return KNI_ABSENT;
    }
    if (kni_extent_same(e[rank - 1], keys)) return mask;
    for (int32_t i = 0; i < rank; i++) none[i] = after[i] = KNI_EXTENT(0);
    after[rank - 1] = kni_extent_max(c, kni_extent_sub(c, keys, e[rank - 1]), KNI_EXTENT(0));
    return kni_pad_with(c, mask, none, after, hidden);
}

static void add_mask(kni_conversion *c, kni_attending *a, kni_datum mask, kni_extent keys)
{
    if (!kni_is_given(mask)) return;
    if (kni_is_bool(kni_dtype_of(c, mask))) {
        a->keep = pad_mask(c, mask, keys, 0);
        return;
    }
    mask = kni_cast_to(c, mask, kni_dtype_of(c, a->q));
    a->bias = pad_mask(c, mask, keys, -__builtin_inf());
}

/* Causality and windows count from the place of the first query among the keys. */
static void hide_by_place(kni_conversion *c, const kni_onnx_node *node, kni_attending *a, kni_datum past,
                          kni_datum counts)
{
    int64_t left = kni_node_int(node, "left_window_size", -1),
            right = kni_node_int(node, "right_window_size", -1);
    bool causal = kni_node_int(node, "is_causal", 0) != 0;
    kni_extent queries = kni_extent_of(c, a->q, 2), keys = kni_extent_of(c, a->k, 2);
    if (causal) right = 0;
    if (left < 0 && right < 0) return;
    if (left < 0 && right == 0 && !kni_is_given(past) && !kni_is_given(counts)) {
        a->is_causal = true;
        return;
    }
    kni_datum place = kni_query_places(c, queries);
    if (kni_is_given(counts)) {
        kni_datum first = kni_emit2(c, "sub", kni_for_each_batch(c, counts), kni_size_value(c, queries));
        place = kni_emit2(c, "add", place, first);
    } else if (kni_is_given(past)) {
        place = kni_emit2(c, "add", place, kni_size_value(c, kni_extent_of(c, past, 2)));
    }
    a->keep = kni_both(c, a->keep, kni_within(c, place, kni_key_places(c, keys), left, right));
}

static kn_dtype softmax_precision(const kni_onnx_node *node)
{
    return kni_onnx_dtype((int32_t)kni_node_int(node, "softmax_precision", 0));
}

static double scale_of(const kni_onnx_node *node)
{
    return kni_node_attribute(node, "scale") ? kn_real_given(kni_node_real(node, "scale", 1)) : 0;
}

static void attention(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                      kni_datum *out, int32_t n_out)
{
    kni_datum counts = in[6];
    int64_t which = kni_node_int(node, "qk_matmul_output_mode", 0);
    bool joined = kni_rank_of(c, in[0]) == 3;
    kni_attending a = {.q = as_heads(c, node, in[0], "q_num_heads"),
                       .scale = scale_of(node),
                       .softcap = kni_node_real(node, "softcap", 0),
                       .precision = softmax_precision(node),
                       .wants_scores = kni_is_wanted(node, 3)};
    (void)n_in, (void)n_out;
    if (which < KNI_SCORES_SCALED || which > KNI_SCORES_WEIGHTS ||
        kni_is_given(in[4]) != kni_is_given(in[5])) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT,
                         "qk_matmul_output_mode must be 0 to 3, and past_key and past_value come together");
        return;
    }
    a.which = (kni_scores_kind)which;
    a.k = kni_behind_past(c, in[4], as_heads(c, node, in[1], "kv_num_heads"));
    a.v = kni_behind_past(c, in[5], as_heads(c, node, in[2], "kv_num_heads"));
    if (kni_is_wanted(node, 1)) out[1] = a.k;
    if (kni_is_wanted(node, 2)) out[2] = a.v;
    kni_extent keys = kni_extent_of(c, a.k, 2);
    add_mask(c, &a, in[3], keys);
    hide_by_place(c, node, &a, in[4], counts);
    if (kni_is_given(counts)) {
        kni_datum counted = kni_emit2(c, "less", kni_key_places(c, keys), kni_for_each_batch(c, counts));
        a.keep = kni_both(c, a.keep, counted);
    }
    out[0] = kni_attend(c, &a);
    if (joined) out[0] = kni_heads_together(c, out[0]);
    if (a.wants_scores) out[3] = a.scores;
}

/* ---- FlexAttention: graphs change the scores and the weights */

static void flex_attention(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                           kni_datum *out, int32_t n_out)
{
    kni_attending a = {.q = in[0],
                       .k = in[1],
                       .v = in[2],
                       .scale = scale_of(node),
                       .precision = softmax_precision(node),
                       .score_graph = kni_node_graph(node, "score_mod"),
                       .weight_graph = kni_node_graph(node, "prob_mod")};
    (void)n_in, (void)n_out;
    out[0] = kni_cast_to(c, kni_attend(c, &a), kni_dtype_of(c, in[2]));
}

/* ---- the table */

#define FUSED(name, convert)                                                                                 \
    {                                                                                                        \
        "com.microsoft", name, 1, 0, convert, 0, "floats"                                                    \
    }

const kni_onnx_converter kni_onnx_attention[] = {
    {"", "Attention", 23, 0, attention, 0, "floats"},
    {"ai.onnx.preview", "FlexAttention", 1, 0, flex_attention, KNI_ONNX_INNER, "floats"},
    {"", "RotaryEmbedding", 23, 0, kni_convert_rotary, 0, "floats"},
    {"", "TensorScatter", 24, 0, kni_convert_tensor_scatter, 0, "floats integers bool strings stored"},
    FUSED("Attention", kni_convert_fused_attention),
    {"com.microsoft", "QAttention", 1, 0, kni_convert_quantized_attention, 0, "u8 i8"},
    FUSED("MultiHeadAttention", kni_convert_multi_head_attention),
    FUSED("DecoderMaskedMultiHeadAttention", kni_convert_decoder_attention),
    FUSED("GroupQueryAttention", kni_convert_grouped_attention),
    FUSED("RotaryEmbedding", kni_convert_fused_rotary),
    FUSED("MRotaryEmbedding", kni_convert_multi_rotary),
    {0},
};
