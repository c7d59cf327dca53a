/* Attention of ai.onnx, FlexAttention of its preview, TensorScatter and RotaryEmbedding, and the table of all converters of attention. */
#include "onnx/convert/attention_parts.h"
#include <string.h>

/* ---- Attention: q, k, v, mask, past keys and values, lengths of the keys */

/* A mask that is shorter than the keys hides the others. */
static kni_datum full_mask(kni_conversion *c, kni_datum mask, kni_extent keys)
{
    kni_extent e[KN_MAX_RANK], before[KN_MAX_RANK] = {{0, NULL}}, after[KN_MAX_RANK] = {{0, NULL}};
    const int32_t rank = kni_extents_of(c, mask, e);
    if (rank < 1 || kni_extent_same(e[rank - 1], keys)) return mask;
    if (e[rank - 1].text || keys.text || e[rank - 1].value == 1)
        return mask; /* broadcasts, or is as long when it runs */
    after[rank - 1] = kni_extent_sub(c, keys, e[rank - 1]);
    return kni_pad_with(c, mask, before, after, kni_is_bool(kni_dtype_of(c, mask)) ? 0 : -__builtin_inf());
}

static void convert_attention(KNI_CONVERTS)
{
    const bool flat = kni_rank_of(c, in[0]) == 3;
    const int64_t heads = kni_node_int(node, "q_num_heads", 0),
                  key_heads = kni_node_int(node, "kv_num_heads", 0);
    kni_attend a = {.q = in[0],
                    .k = in[1],
                    .v = in[2],
                    .scale = kni_node_real(node, "scale", __builtin_nan("")),
                    .softcap = kni_node_real(node, "softcap", 0),
                    .precision = kni_node_dtype(c, node, "softmax_precision", KN_DTYPE_NONE),
                    .shown = (int)kni_node_int(node, "qk_matmul_output_mode", 0)};
    (void)n_in;
    if (flat) {
        a.q = kni_split_heads(c, a.q, heads);
        a.k = kni_split_heads(c, a.k, key_heads);
        a.v = kni_split_heads(c, a.v, key_heads);
    }
    kni_view_of_keys view = {.causal = kni_node_int(node, "is_causal", 0) != 0,
                             .left = kni_node_int(node, "left_window_size", -1),
                             .right = kni_node_int(node, "right_window_size", -1),
                             .queries = kni_extent_of(c, a.q, 2)};
    const bool has_past = kni_is_given(in[4]);
    if (has_past) view.offset = kni_extent_value(c, kni_extent_of(c, in[4], 2));
    a.k = kni_after_past(c, in[4], a.k);
    a.v = kni_after_past(c, in[5], a.v);
    view.keys = kni_extent_of(c, a.k, 2);
    if (kni_is_given(in[6])) {
        kni_extent batch = kni_extent_of(c, a.q, 0), one = KNI_EXTENT(1);
        view.lengths =
            kni_reshape_to(c, kni_cast_to(c, in[6], KN_I64), (kni_extent[]){batch, one, one, one}, 4);
        if (!has_past) view.offset = kni_emit2(c, "sub", view.lengths, kni_extent_value(c, view.queries));
    }
    /* A lower triangle is the row's own. */
    a.causal = view.causal && !kni_is_given(view.offset) && view.left < 0 && view.right < 0;
    if (a.causal) view.causal = false;
    a.mask = kni_keys_seen(c, &view);
    if (kni_is_given(in[3])) {
        kni_datum mask = full_mask(c, in[3], view.keys);
        if (!kni_is_bool(kni_dtype_of(c, mask)))
            a.bias = mask;
        else
            a.mask = kni_is_given(a.mask) ? kni_emit2(c, "logical_and", a.mask, mask) : mask;
    }
    if (n_out > 3 && kni_is_wanted(node, 3)) a.scores = &out[3];
    out[0] = kni_attention_of(c, &a);
    if (flat) out[0] = kni_join_heads(c, out[0]);
    if (n_out > 1) out[1] = a.k;
    if (n_out > 2) out[2] = a.v;
}

/* ---- FlexAttention: q, k, v; graphs change scores and weights */

void kni_convert_flex_attention(KNI_CONVERTS)
{
    kni_attend a = {.q = in[0],
                    .k = in[1],
                    .v = in[2],
                    .scale = kni_node_real(node, "scale", __builtin_nan("")),
                    .precision = kni_node_dtype(c, node, "softmax_precision", KN_DTYPE_NONE),
                    .score_graph = kni_node_graph(node, "score_mod"),
                    .weight_graph = kni_node_graph(node, "prob_mod")};
    KNI_UNUSED_COUNTS;
    out[0] = kni_cast_to(c, kni_attention_of(c, &a), kni_dtype_of(c, in[2]));
}

/* ---- TensorScatter: cache, update, the place of each row of the batch */

void kni_convert_tensor_scatter(KNI_CONVERTS)
{
    const char *mode = kni_node_text(node, "mode", "linear");
    const int32_t axis = kni_axis_of(c, in[0], kni_node_int(node, "axis", -2));
    kni_datum start = in[2];
    KNI_UNUSED_COUNTS;
    if (strcmp(mode, "linear") != 0 && strcmp(mode, "circular") != 0) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "mode is '%.40s'; it must be linear or circular", mode);
        return;
    }
    if (!kni_is_given(start)) {
        kni_extent batch = kni_extent_of(c, in[0], 0);
        start = kni_filled(c, 0, KN_I64, &batch, 1);
    }
    out[0] = kni_written_at(c, in[0], in[1], start, axis, !strcmp(mode, "circular"));
}

/* ---- RotaryEmbedding */

/* x of rank 3 or 4 as [batch, heads, length, size]; *flat says which. */
static kni_datum heads_of(kni_conversion *c, const kni_onnx_node *node, kni_datum x, kni_extent size,
                          bool *flat)
{
    const int64_t heads = kni_node_int(node, "num_heads", 0);
    *flat = kni_rank_of(c, x) == 3;
    if (!*flat) return x;
    if (heads > 0) return kni_split_heads(c, x, heads);
    kni_extent e[KN_MAX_RANK];
    kni_extents_of(c, x, e);
    x = kni_reshape_to(c, x, (kni_extent[]){e[0], e[1], kni_extent_div(c, e[2], size), size}, 4);
    return kni_swap_axes(c, x, 1, 2);
}

/* x, cosines, sines, positions or none: then the tables have a row for each place. */
void kni_convert_rotary(KNI_CONVERTS)
{
    bool flat;
    kni_datum cosines = in[1], sines = in[2];
    KNI_UNUSED_COUNTS;
    if (kni_is_given(in[3])) {
        cosines = kni_table_at(c, cosines, in[3]);
        sines = kni_table_at(c, sines, in[3]);
    }
    kni_extent size = kni_extent_mul(c, kni_extent_of(c, cosines, -1), KNI_EXTENT(2));
    kni_datum x = heads_of(c, node, in[0], size, &flat);
    x = kni_rotated(c, x, cosines, sines, kni_node_int(node, "interleaved", 0) != 0);
    out[0] = flat ? kni_join_heads(c, x) : x;
}

/* x, positions (one: of the first token), cosines, sines */
void kni_convert_fused_rotary(KNI_CONVERTS)
{
    bool flat;
    kni_extent size = kni_extent_mul(c, kni_extent_of(c, in[2], 1), KNI_EXTENT(2));
    kni_datum x = heads_of(c, node, in[0], size, &flat), positions = kni_cast_to(c, in[1], KN_I64);
    KNI_UNUSED_COUNTS;
    if (kni_rank_of(c, positions) < 2)
        positions = kni_emit2(c, "add", kni_reshape_to(c, positions, NULL, 0),
                              kni_counting(c, 0, kni_extent_of(c, x, 2), KN_I64));
    x = kni_rotated(c, x, kni_table_at(c, in[2], positions), kni_table_at(c, in[3], positions),
                    kni_node_int(node, "interleaved", 0) != 0);
    out[0] = flat ? kni_join_heads(c, x) : x;
}

#define MICROSOFT(op, convert, types)                                                                        \
    {                                                                                                        \
        "com.microsoft", op, 1, 0, convert, 0, types                                                         \
    }

const kni_onnx_converter kni_onnx_attention[] = {
    {"", "Attention", 23, 0, convert_attention, 0, "floats"},
    {"", "RotaryEmbedding", 23, 0, kni_convert_rotary, 0, "floats"},
    {"", "TensorScatter", 24, 0, kni_convert_tensor_scatter, 0, "floats integers bool"},
    {"ai.onnx.preview", "FlexAttention", 1, 0, kni_convert_flex_attention, KNI_ONNX_INNER, "floats"},
    MICROSOFT("RotaryEmbedding", kni_convert_fused_rotary, "floats"),
    MICROSOFT("Attention", kni_convert_fused_attention, "floats"),
    MICROSOFT("MultiHeadAttention", kni_convert_multi_head, "floats"),
    MICROSOFT("GroupQueryAttention", kni_convert_grouped_query, "floats"),
    MICROSOFT("QAttention", kni_convert_quantized_attention, "u8 i8"),
    {NULL, NULL, 0, 0, NULL, 0, NULL}};
