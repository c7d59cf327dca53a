/* Norms that com.microsoft fuses with what stands around them: sums with what skips a layer, embeddings, gates. */
#include "onnx/convert/fused_operators.h"

/* input + skip (+ bias), which is the fourth output; before it stand mean and 1 / deviation. */
static kni_datum with_skip(kni_conversion *c, const kni_onnx_node *node, kni_datum x, kni_datum skip,
                           kni_datum bias, kni_datum *out, int32_t n_out)
{
    x = kni_emit2(c, "add", x, skip);
    if (kni_is_given(bias)) x = kni_emit2(c, "add", x, bias);
    if (n_out > 3 && kni_is_wanted(node, 3)) out[3] = x;
    return x;
}

void kni_convert_skip_layer_norm(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                 int32_t n_in, kni_datum *out, int32_t n_out)
{
    kni_datum x = with_skip(c, node, in[0], in[1], in[4], out, n_out);
    int32_t axis = kni_axis_of(c, x, -1);
    (void)n_in;
    out[0] = kni_layer_norm_of(c, x, in[2], in[3], axis, kni_node_real(node, "epsilon", 1e-12), KN_F32,
                               n_out > 1 && kni_is_wanted(node, 1) ? &out[1] : NULL,
                               n_out > 2 && kni_is_wanted(node, 2) ? &out[2] : NULL);
}

void kni_convert_skip_rms_norm(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                               int32_t n_in, kni_datum *out, int32_t n_out)
{
    kni_datum x = with_skip(c, node, in[0], in[1], in[3], out, n_out);
    int32_t axis = kni_axis_of(c, x, -1);
    double eps = kni_node_real(node, "epsilon", 1e-12);
    (void)n_in;
    out[0] = kni_rms_norm_of(c, x, in[2], axis, eps);
    if (n_out <= 2 || !kni_is_wanted(node, 2)) return;
    kni_datum squares = kni_emit1(c, "square", kni_cast_to(c, x, KN_F32));
    squares = kni_reduce_over(c, "mean", squares, &axis, 1, true);
    out[2] = kni_emit1(c, "rsqrt", kni_with_number(c, "add", squares, eps));
}

static kni_datum look_up(kni_conversion *c, kni_datum table, kni_datum ids)
{
    return kni_emit(c, "take", KNI_LIST(table, ids), KNI_GIVE(KNI_WHOLE("axis", 0)));
}

/* Operands: ids, segments or none, tables of words, positions and segments or none, scale, bias, mask or none, positions or none. */
void kni_convert_embed_layer_norm(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                  int32_t n_in, kni_datum *out, int32_t n_out)
{
    kni_extent e[KN_MAX_RANK];
    (void)n_in;
    if (kni_extents_of(c, in[0], e) != 2) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "input_ids must be [batch, length]");
        return;
    }
    kni_datum position =
        kni_is_given(in[8]) ? look_up(c, in[3], in[8]) : kni_slice_of(c, in[3], 0, KNI_EXTENT(0), e[1]);
    kni_datum x = kni_emit2(c, "add", look_up(c, in[2], in[0]), position);
    if (kni_is_given(in[4]) && kni_is_given(in[1])) x = kni_emit2(c, "add", x, look_up(c, in[4], in[1]));
    out[0] =
        kni_layer_norm_of(c, x, in[5], in[6], 2, kni_node_real(node, "epsilon", 1e-12), KN_F32, NULL, NULL);
    if (n_out > 1 && kni_is_wanted(node, 1)) { /* how many tokens of each row the mask leaves */
        out[1] = kni_is_given(in[7])
                     ? kni_cast_to(c, kni_reduce_over(c, "sum", in[7], (int32_t[]){1}, 1, false), KN_I32)
                     : kni_filled(c, 0, KN_I32, e, 1);
    }
    if (n_out > 2 && kni_is_wanted(node, 2)) out[2] = x;
}

/* A norm for each branch, [.., branches, size]; num_branches tells them where they lie in one axis. The scale has elements for all branches
   or for one. */
void kni_convert_branch_rms_norm(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                 int32_t n_in, kni_datum *out, int32_t n_out)
{
    kni_extent shape[KN_MAX_RANK], apart[KN_MAX_RANK], scales[KN_MAX_RANK];
    int64_t branches = kni_node_int(node, "num_branches", 0);
    int32_t rank = kni_extents_of(c, in[0], shape), wide = branches > 0 ? rank + 1 : rank;
    (void)n_in, (void)n_out;
    if (!kni_convert_failed(c) && (wide < 2 || wide > KN_MAX_RANK || branches < 0))
        kni_convert_fail(c, KN_ERROR_SHAPE,
                         "takes [.., branches, size], or [.., branches * size] with num_branches");
    if (kni_convert_failed(c)) return;
    for (int32_t i = 0; i < rank; i++) apart[i] = shape[i];
    if (branches > 0) {
        apart[wide - 1] = kni_extent_div(c, shape[rank - 1], KNI_EXTENT(branches));
        apart[wide - 2] = KNI_EXTENT(branches);
    }
    kni_datum x = kni_cast_to(c, kni_reshape_to(c, in[0], apart, wide), KN_F32);
    x = kni_rms_norm_of(c, x, KNI_ABSENT, wide - 1, kni_node_real(node, "epsilon", 1e-5));
    if (kni_is_given(in[1])) {
        kni_datum scale = kni_cast_to(c, in[1], KN_F32);
        bool all = kni_rank_of(c, scale) == 1 &&
                   !kni_extent_same(kni_extents_of(c, scale, scales) ? scales[0] : apart[0], apart[wide - 1]);
        if (all) scale = kni_reshape_to(c, scale, apart + wide - 2, 2);
        x = kni_emit2(c, "mul", x, scale);
    }
    out[0] = kni_reshape_to(c, kni_cast_to(c, x, kni_dtype_of(c, in[0])), shape, rank);
}

kni_datum kni_channels_first(kni_conversion *c, kni_datum x)
{
    int32_t rank = kni_rank_of(c, x), axes[KN_MAX_RANK] = {0, rank - 1};
    for (int32_t i = 2; i < rank; i++) axes[i] = i - 1;
    return rank < 3 ? x : kni_permute_to(c, x, axes, rank);
}

kni_datum kni_channels_last(kni_conversion *c, kni_datum x)
{
    int32_t rank = kni_rank_of(c, x), axes[KN_MAX_RANK] = {0};
    for (int32_t i = 1; i < rank - 1; i++) axes[i] = i + 1;
    if (rank > 1) axes[rank - 1] = 1;
    return rank < 3 ? x : kni_permute_to(c, x, axes, rank);
}

static kni_datum group_norm(kni_conversion *c, const kni_onnx_node *node, kni_datum x, kni_datum scale,
                            kni_datum bias)
{
    bool last = kni_node_int(node, "channels_last", 1) != 0;
    kn_dtype dtype = kni_dtype_of(c, x);
    x = kni_cast_to(c, last ? kni_channels_first(c, x) : x, kni_wide_dtype(dtype));
    x = kni_group_norm_of(c, x, kni_node_int(node, "groups", 0), kni_node_real(node, "epsilon", 1e-5));
    kn_dtype wide = kni_dtype_of(c, x);
    int32_t rank = kni_rank_of(c, x);
    x = kni_emit2(c, "mul", x, kni_along_axis_one(c, kni_cast_to(c, scale, wide), rank));
    x = kni_emit2(c, "add", x, kni_along_axis_one(c, kni_cast_to(c, bias, wide), rank));
    if (kni_node_int(node, "activation", 0)) x = kni_emit1(c, "silu", x);
    x = kni_cast_to(c, x, dtype);
    return last ? kni_channels_last(c, x) : x;
}

void kni_convert_fused_group_norm(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                  int32_t n_in, kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    out[0] = group_norm(c, node, in[0], in[1], in[2]);
}

/* What skips may be [batch, channels] for all places. */
void kni_convert_skip_group_norm(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                 int32_t n_in, kni_datum *out, int32_t n_out)
{
    kni_datum x = in[0], skip = in[3];
    int32_t rank = kni_rank_of(c, x);
    bool last = kni_node_int(node, "channels_last", 1) != 0;
    (void)n_in;
    for (int32_t r = kni_rank_of(c, skip); r < rank && !kni_convert_failed(c); r++)
        skip = kni_unsqueeze_at(c, skip, last ? 1 : r);
    x = kni_emit2(c, "add", x, skip);
    if (kni_is_given(in[4])) x = kni_emit2(c, "add", x, last ? in[4] : kni_along_axis_one(c, in[4], rank));
    out[0] = group_norm(c, node, x, in[1], in[2]);
    if (n_out > 1) out[1] = x;
}

/* RMS norm over groups of as many elements as the scale has, times silu(gate). */
void kni_convert_gated_rms_norm(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                int32_t n_in, kni_datum *out, int32_t n_out)
{
    kni_extent shape[KN_MAX_RANK], inner = kni_extent_of(c, in[1], 0);
    kn_dtype dtype = kni_dtype_of(c, in[0]);
    kni_datum x = kni_cast_to(c, in[0], KN_F32);
    int32_t rank = kni_extents_of(c, x, shape);
    (void)n_in, (void)n_out;
    if (kni_convert_failed(c) || rank < 1) return;
    kni_extent rows = kni_extent_div(c, kni_extent_product(c, shape, rank), inner);
    x = kni_reshape_to(c, x, (kni_extent[]){rows, inner}, 2);
    x = kni_rms_norm_of(c, x, kni_cast_to(c, in[1], KN_F32), 1, kni_node_real(node, "epsilon", 1e-5));
    x = kni_reshape_to(c, x, shape, rank);
    x = kni_emit2(c, "mul", x, kni_emit1(c, "silu", kni_cast_to(c, in[2], KN_F32)));
    out[0] = kni_cast_to(c, x, dtype);
}
