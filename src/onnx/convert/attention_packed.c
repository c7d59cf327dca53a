/* Attention, QAttention, MultiHeadAttention and DecoderMaskedMultiHeadAttention of com.microsoft: one projection for queries, keys and values, or operands that may be packed. What their
   masks hide is not hidden but lowered by mask_filter_value; only what comes later is hidden. */
#include "core/dtype.h"
#include "onnx/convert/attending.h"
#include "onnx/convert/quantized.h"

/* The columns from `from` of the last axis. */
static kni_datum columns(kni_conversion *c, kni_datum x, kni_extent from, kni_extent count)
{
    return kni_slice_of(c, x, kni_rank_of(c, x) - 1, from, kni_extent_add(c, from, count));
}

/* ---- masks */

/* Keys before the ends, and from the beginnings on where there are twice as many numbers as batches. */
static kni_datum keep_from_ends(kni_conversion *c, kni_datum mask, kni_extent batch, kni_extent keys)
{
    kni_extent n = kni_count_of(c, mask), both = kni_extent_mul(c, KNI_EXTENT(2), batch);
    kni_datum places = kni_key_places(c, keys);
    if (!n.text && !batch.text && n.value != batch.value && n.value != both.value) {
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED,
                         "a mask of %lld numbers for %lld batches; one or two for each are supported",
                         (long long)n.value, (long long)batch.value);
        return KNI_ABSENT;
    }
    kni_datum ends = kni_slice_of(c, mask, 0, KNI_EXTENT(0), batch);
    kni_datum keep = kni_emit2(c, "less", places, kni_for_each_batch(c, ends));
    bool twice = kni_extent_same(n, both) && !kni_extent_same(n, batch);
    if (!twice) return keep;
    kni_datum begins = kni_for_each_batch(c, kni_slice_of(c, mask, 0, batch, n));
    return kni_both(c, keep, kni_emit2(c, "greater_equal", places, begins));
}

/* The mask in one of its forms as what is added to the scores; absent: nothing. */
static kni_datum bias_of_mask(kni_conversion *c, const kni_onnx_node *node, kni_datum mask,
                              const kni_attending *a)
{
    kni_extent e[KN_MAX_RANK], queries = kni_extent_of(c, a->q, 2), keys = kni_extent_of(c, a->k, 2);
    kn_dtype dtype = kni_dtype_of(c, a->q);
    if (!kni_is_given(mask) || kni_convert_failed(c)) return KNI_ABSENT;
    int32_t rank = kni_extents_of(c, mask, e);
    kni_datum keep;
    if (rank == 1) {
        keep = keep_from_ends(c, mask, kni_extent_of(c, a->q, 0), keys);
    } else if (rank >= 2 && rank <= 4) {
        if (rank == 2 && kni_extent_is(e[1], 1) && !kni_extent_is(keys, 1))
            return KNI_ABSENT; /* a stand-in */
        if (rank == 4) {       /* for more tokens than there are: these are the last ones */
            mask = kni_slice_of(c, mask, 2, kni_extent_sub(c, keys, queries), keys);
            mask = kni_slice_of(c, mask, 3, KNI_EXTENT(0), keys);
        }
        if (rank == 2) mask = kni_unsqueeze_at(c, mask, 1);
        if (rank <= 3) mask = kni_unsqueeze_at(c, mask, 1);
        kn_dtype kind = kni_dtype_of(c, mask);
        keep = kni_is_bool(kind) ? mask : kni_emit2(c, "greater", mask, kni_whole_number(c, 0, kind));
    } else {
        kni_convert_fail(c, KN_ERROR_SHAPE, "the mask has %d axes; give it 1 to 4", rank);
        return KNI_ABSENT;
    }
    double fill = kni_node_real(node, "mask_filter_value", -10000);
    return kni_emit3(c, "where", keep, kni_real_number(c, 0, dtype), kni_real_number(c, fill, dtype));
}

/* Later tokens; `past` of the keys were there before. */
static void hide_later(kni_conversion *c, const kni_onnx_node *node, kni_attending *a, kni_datum past)
{
    if (!kni_node_int(node, "unidirectional", 0)) return;
    a->is_causal = !kni_is_given(past);
    if (a->is_causal) return;
    kni_datum place = kni_emit2(c, "add", kni_query_places(c, kni_extent_of(c, a->q, 2)),
                                kni_size_value(c, kni_extent_of(c, past, 2)));
    a->keep = kni_within(c, place, kni_key_places(c, kni_extent_of(c, a->k, 2)), -1, 0);
}

static int64_t heads_of(kni_conversion *c, const kni_onnx_node *node)
{
    int64_t heads = kni_node_int(node, "num_heads", 0);
    if (heads < 1) kni_convert_fail(c, KN_ERROR_ARGUMENT, "the attribute num_heads is missing");
    return heads;
}

static double scale_of(const kni_onnx_node *node) { return kni_node_real(node, "scale", 0); }

/* ---- Attention: input, weights, bias, mask, past, bias of the scores */

/* The three parts of a projection, as heads. */
static void split_projection(kni_conversion *c, const kni_onnx_node *node, kni_datum y, kni_attending *a)
{
    int64_t heads = heads_of(c, node), n;
    const int64_t *sizes = kni_node_ints(node, "qkv_hidden_sizes", &n);
    kni_extent third = kni_extent_div(c, kni_extent_of(c, y, -1), KNI_EXTENT(3)), part[3],
               from = KNI_EXTENT(0);
    if (kni_convert_failed(c)) return;
    if (n && (n != 3 || sizes[0] < 1 || sizes[1] < 1 || sizes[2] < 1)) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "qkv_hidden_sizes must be three sizes of 1 or more");
        return;
    }
    for (int i = 0; i < 3; i++) part[i] = n == 3 ? KNI_EXTENT(sizes[i]) : third;
    kni_datum *whole[3] = {&a->q, &a->k, &a->v};
    for (int i = 0; i < 3; i++) {
        *whole[i] = kni_heads_apart(c, columns(c, y, from, part[i]), heads);
        from = kni_extent_add(c, from, part[i]);
    }
}

/* Keys (0) or values (1) of [2, batch, heads, tokens, size]. */
static kni_datum half_of(kni_conversion *c, kni_datum past, int64_t which)
{
    if (!kni_is_given(past)) return KNI_ABSENT;
    return kni_squeeze_at(c, kni_slice_of(c, past, 0, KNI_EXTENT(which), KNI_EXTENT(which + 1)), 0);
}

/* Attention over a projection [batch, tokens, q + k + v]. */
static void attend_projection(kni_conversion *c, const kni_onnx_node *node, kni_datum y, kni_datum mask,
                              kni_datum past, kni_datum bias, kni_datum *out)
{
    kni_attending a = {.scale = scale_of(node)};
    if (kni_node_int(node, "do_rotary", 0) || kni_node_int(node, "past_present_share_buffer", 0)) {
        kni_convert_fail(
            c, KN_ERROR_UNSUPPORTED,
            "do_rotary and past_present_share_buffer are not supported; export the model without "
            "them");
        return;
    }
    split_projection(c, node, y, &a);
    kni_datum keys = half_of(c, past, 0), values = half_of(c, past, 1);
    a.k = kni_behind_past(c, keys, a.k);
    a.v = kni_behind_past(c, values, a.v);
    a.bias = kni_sum_of(c, bias_of_mask(c, node, mask, &a), bias);
    hide_later(c, node, &a, keys);
    out[0] = kni_heads_together(c, kni_attend(c, &a));
    if (!kni_is_wanted(node, 1)) return;
    kni_datum both[2] = {kni_unsqueeze_at(c, a.k, 0), kni_unsqueeze_at(c, a.v, 0)};
    out[1] = kni_concat_of(c, both, 2, 0);
}

void kni_convert_fused_attention(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                 int32_t n_in, kni_datum *out, int32_t n_out)
{
    kni_datum y = kni_sum_of(c, kni_emit2(c, "matmul", in[0], in[1]), in[2]);
    (void)n_in, (void)n_out;
    attend_projection(c, node, y, in[3], in[4], in[5], out);
}

/* QAttention: input and weights of bytes, bias, their scales, mask, their zero points, past */
void kni_convert_quantized_attention(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                     int32_t n_in, kni_datum *out, int32_t n_out)
{
    const kni_datum both[2] = {in[3], in[4]};
    kni_datum scale[2];
    (void)n_in, (void)n_out;
    for (int i = 0; i < 2; i++)
        scale[i] = kni_is_single(c, both[i]) ? kni_reshape_to(c, both[i], NULL, 0) : both[i];
    const kni_quantized sums = {kni_integer_product(c, in[0], in[1], in[6], in[7]),
                                kni_emit2(c, "mul", scale[0], scale[1]), KNI_ABSENT};
    attend_projection(c, node, kni_sum_of(c, kni_dequantized(c, sums), in[2]), in[5], in[8], KNI_ABSENT, out);
}

/* ---- MultiHeadAttention: query, key, value, bias, mask, bias of the scores, past keys, past values */

/* Member `which` of packed [batch, tokens, heads, members, size], as [batch, tokens, heads * size]. */
static kni_datum unpacked(kni_conversion *c, kni_datum x, int64_t which)
{
    kni_extent e[KN_MAX_RANK];
    if (kni_extents_of(c, x, e) != 5) {
        kni_convert_fail(
            c, KN_ERROR_SHAPE,
            "an operand without the others must be packed: [batch, tokens, heads, 2 or 3, size]");
        return KNI_ABSENT;
    }
    x = kni_slice_of(c, x, 3, KNI_EXTENT(which), KNI_EXTENT(which + 1));
    return kni_reshape_to(c, x, (kni_extent[]){e[0], e[1], kni_extent_mul(c, e[2], e[4])}, 3);
}

/* Heads of an operand, plus its columns of the bias; what has its heads apart already gets none. */
static kni_datum with_bias(kni_conversion *c, kni_datum x, kni_datum bias, kni_extent *from, int64_t heads)
{
    if (kni_rank_of(c, x) == 4) return x;
    kni_extent size = kni_extent_of(c, x, -1);
    if (kni_is_given(bias)) x = kni_emit2(c, "add", x, columns(c, bias, *from, size));
    *from = kni_extent_add(c, *from, size);
    return kni_heads_apart(c, x, heads);
}

void kni_convert_multi_head_attention(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                      int32_t n_in, kni_datum *out, int32_t n_out)
{
    kni_datum q = in[0], k = in[1], v = in[2], mask = in[4];
    int64_t heads = heads_of(c, node);
    kni_extent from = KNI_EXTENT(0);
    (void)n_in, (void)n_out;
    if (!kni_is_given(k)) {
        k = unpacked(c, q, 1), v = unpacked(c, q, 2), q = unpacked(c, q, 0);
    } else if (!kni_is_given(v)) {
        v = unpacked(c, k, 1), k = unpacked(c, k, 0);
    }
    if (kni_is_given(in[8]) || kni_is_given(in[9])) {
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED,
                         "a past that shares its buffer with the present is not supported; export the model "
                         "without past_sequence_length and cache_indirection");
        return;
    }
    kni_attending a = {
        .scale = scale_of(node), .wants_scores = kni_is_wanted(node, 3), .which = KNI_SCORES_SCALED};
    a.q = with_bias(c, q, in[3], &from, heads);
    a.k = kni_behind_past(c, in[6], with_bias(c, k, in[3], &from, heads));
    a.v = kni_behind_past(c, in[7], with_bias(c, v, in[3], &from, heads));
    a.bias = kni_sum_of(c, bias_of_mask(c, node, mask, &a), in[5]);
    hide_later(c, node, &a, in[6]);
    out[0] = kni_heads_together(c, kni_attend(c, &a));
    if (kni_is_wanted(node, 1)) out[1] = a.k;
    if (kni_is_wanted(node, 2)) out[2] = a.v;
    if (a.wants_scores) out[3] = a.scores;
}

/* ---- DecoderMaskedMultiHeadAttention: query of one token, key, value, mask, bias of the scores, past keys, past values, how many tokens
   of them there are, beams, which beam each token of the past comes from, bias */

/* Tokens [rows, heads, tokens, size] of the beams [rows / beams, beams, at least tokens] that they come from. */
static kni_datum of_beams(kni_conversion *c, kni_datum x, kni_datum beams)
{
    kni_extent e[KN_MAX_RANK], b[KN_MAX_RANK];
    if (!kni_is_given(beams)) return x;
    if (kni_extents_of(c, x, e) != 4 || kni_extents_of(c, beams, b) != 3) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "cache_indirection must be [batch, beams, tokens]");
        return KNI_ABSENT;
    }
    const kni_extent apart[] = {b[0], b[1], e[1], e[2], e[3]};
    const kni_extent ones[] = {b[0], b[1], KNI_EXTENT(1), e[2], KNI_EXTENT(1)};
    beams = kni_cast_to(c, kni_slice_of(c, beams, 2, KNI_EXTENT(0), e[2]), KN_I64);
    kni_datum places = kni_expand_to(c, kni_reshape_to(c, beams, ones, 5), apart, 5);
    x = kni_emit(c, "gather", KNI_LIST(kni_reshape_to(c, x, apart, 5), places),
                 KNI_GIVE(KNI_WHOLE("axis", 1)));
    return kni_reshape_to(c, x, e, 4);
}

/* The new token behind the past, which may be the first part of a longer buffer; *present is what is handed out. */
static kni_datum remember(kni_conversion *c, const kni_datum *in, kni_datum past, kni_datum x,
                          kni_datum *present)
{
    int64_t n = 0;
    kni_extent before = KNI_EXTENT(0), batch = kni_extent_of(c, x, 0);
    if (!kni_is_given(in[7])) return *present = kni_behind_past(c, past, x);
    const kni_extent *length = kni_known_extents(c, in[7], "past_sequence_length", &n);
    if (!length || n != 1 || !kni_is_given(past)) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT,
                         "past_sequence_length must be one number, and comes with a past");
        return KNI_ABSENT;
    }
    before = *length;
    kni_datum start = kni_expand_to(c, kni_known_list(c, &before, 1, false), &batch, 1);
    *present = kni_write_cache(c, past, x, start, 2, false);
    kni_datum earlier = of_beams(c, kni_slice_of(c, past, 2, KNI_EXTENT(0), before), in[9]);
    return kni_behind_past(c, earlier, x);
}

void kni_convert_decoder_attention(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                   int32_t n_in, kni_datum *out, int32_t n_out)
{
    int64_t heads = heads_of(c, node);
    kni_datum q = in[0], k = in[1], v = in[2], present[2] = {{0}, {0}};
    kni_extent from = KNI_EXTENT(0);
    (void)n_in, (void)n_out;
    kni_attending a = {
        .scale = scale_of(node), .wants_scores = kni_is_wanted(node, 3), .which = KNI_SCORES_WEIGHTS};
    if (!kni_is_given(k)) { /* one operand with the three parts */
        split_projection(c, node, kni_sum_of(c, q, in[10]), &a);
    } else {
        a.q = with_bias(c, q, in[10], &from, heads);
        a.k = with_bias(c, k, in[10], &from, heads);
        a.v = with_bias(c, v, in[10], &from, heads);
    }
    if (!kni_is_given(k) || kni_rank_of(c, k) == 3) {
        a.k = remember(c, in, in[5], a.k, &present[0]);
        a.v = remember(c, in, in[6], a.v, &present[1]);
    }
    a.bias = kni_sum_of(c, bias_of_mask(c, node, in[3], &a), in[4]);
    out[0] = kni_heads_together(c, kni_attend(c, &a));
    for (int i = 0; i < 2; i++)
        if (kni_is_wanted(node, 1 + i)) out[1 + i] = present[i];
    if (a.wants_scores) out[3] = a.scores;
}
