/* Attention, MultiHeadAttention and QAttention of com.microsoft: attention behind its projections, with masks of several forms. */
#include "onnx/convert/attention_parts.h"
#include "onnx/convert/quantized.h"
#include <kn/tensor.h>

/* ---- masks: what is hidden gets a low score, -10000 where the node says nothing, as a bias */

static double filter_of(const kni_onnx_node *node)
{
    return kni_node_real(node, "mask_filter_value", -10000);
}

/* bool [batch, 1, 1 or queries, keys] of a mask that is not 0 where keys are seen: [batch, keys], [batch, queries, keys] or
   [batch, 1, longest, longest], of which the last rows and first columns count. */
static kni_datum seen_of_mask(kni_conversion *c, kni_datum mask, kni_extent queries, kni_extent keys)
{
    const int32_t rank = kni_rank_of(c, mask);
    if (rank == 2) mask = kni_unsqueeze_at(c, kni_unsqueeze_at(c, mask, 1), 1);
    if (rank == 3) mask = kni_unsqueeze_at(c, mask, 1);
    if (rank == 4) {
        kni_extent past = kni_extent_sub(c, keys, queries);
        mask = kni_slice_of(c, kni_slice_of(c, mask, 2, past, keys), 3, KNI_EXTENT(0), keys);
    }
    return kni_emit2(c, "not_equal", mask, kni_whole_number(c, 0, kni_dtype_of(c, mask)));
}

/* Of a vector: the ends of the rows of the batch, or their ends and then their beginnings. */
static kni_datum seen_of_ends(kni_conversion *c, kni_datum ends, kni_extent batch, kni_extent keys)
{
    const kni_extent one = KNI_EXTENT(1), rows[4] = {batch, one, one, one}, n = kni_extent_of(c, ends, 0);
    kni_datum key = kni_counting(c, 0, keys, KN_I64);
    ends = kni_cast_to(c, ends, KN_I64);
    kni_datum end = kni_reshape_to(c, kni_slice_of(c, ends, 0, KNI_EXTENT(0), batch), rows, 4);
    kni_datum seen = kni_emit2(c, "less", key, end);
    if (kni_extent_same(n, batch)) return seen;
    if (!kni_extent_same(n, kni_extent_mul(c, batch, KNI_EXTENT(2))))
        return seen; /* 3 batch + 2: lengths come first */
    kni_datum start = kni_reshape_to(c, kni_slice_of(c, ends, 0, batch, n), rows, 4);
    return kni_emit2(c, "logical_and", seen, kni_emit2(c, "greater_equal", key, start));
}

static kni_datum bias_of_mask(kni_conversion *c, const kni_onnx_node *node, kni_datum mask,
                              const kni_attend *a, kni_datum bias)
{
    const kn_dtype dtype = kni_dtype_of(c, a->q);
    kni_extent batch = kni_extent_of(c, a->q, 0), queries = kni_extent_of(c, a->q, 2),
               keys = kni_extent_of(c, a->k, 2);
    if (!kni_is_given(mask)) return bias;
    kni_datum seen =
        kni_rank_of(c, mask) == 1 ? seen_of_ends(c, mask, batch, keys) : seen_of_mask(c, mask, queries, keys);
    const double hidden = filter_of(node), least = -kn_dtype_limits(dtype).max;
    mask = kni_emit3(c, "where", seen, kni_real_number(c, 0, dtype),
                     kni_real_number(c, hidden < least ? least : hidden, dtype));
    return kni_is_given(bias) ? kni_emit2(c, "add", bias, mask) : mask;
}

/* Query i of those behind the past sees keys up to its own. */
static void make_causal(kni_conversion *c, kni_attend *a, kni_extent past)
{
    kni_extent queries = kni_extent_of(c, a->q, 2);
    const kni_view_of_keys v = {.queries = queries,
                                .keys = kni_extent_of(c, a->k, 2),
                                .offset = kni_extent_value(c, past),
                                .causal = true,
                                .left = -1,
                                .right = -1};
    if (kni_extent_is(past, 0))
        a->causal = true;
    else if (!kni_extent_is(queries, 1))
        a->mask = kni_keys_seen(c, &v);
}

static kni_attend start(const kni_onnx_node *node)
{
    const double scale = kni_node_real(node, "scale", 0);
    return (kni_attend){.scale = scale != 0 ? scale : __builtin_nan("")};
}

/* ---- Attention: behind the projection [batch, length, q + k + v] with its bias */

typedef struct projected {
    kni_datum qkv, mask, past, bias; /* past: [2, batch, heads, length, size] */
} projected;

/* Columns from .. to of the projection as heads. */
static kni_datum part_of(kni_conversion *c, kni_datum x, kni_extent from, kni_extent to, int64_t heads)
{
    return kni_split_heads(c, kni_slice_of(c, x, 2, from, to), heads);
}

static kni_datum past_part(kni_conversion *c, kni_datum past, int64_t which)
{
    if (!kni_is_given(past)) return KNI_ABSENT;
    return kni_squeeze_at(c, kni_slice_of(c, past, 0, KNI_EXTENT(which), KNI_EXTENT(which + 1)), 0);
}

static void attend_projected(kni_conversion *c, const kni_onnx_node *node, const projected *p, kni_datum *out,
                             int32_t n_out)
{
    const int64_t heads = kni_node_int(node, "num_heads", 0);
    int64_t n;
    const int64_t *sizes = kni_node_ints(node, "qkv_hidden_sizes", &n);
    kni_extent whole = kni_extent_of(c, p->qkv, 2), third = kni_extent_div(c, whole, KNI_EXTENT(3));
    kni_extent at[4] = {KNI_EXTENT(0), third, kni_extent_mul(c, third, KNI_EXTENT(2)), whole};
    kni_attend a = start(node);
    if (n == 3) {
        at[1] = KNI_EXTENT(sizes[0]);
        at[2] = kni_extent_add(c, at[1], KNI_EXTENT(sizes[1]));
    }
    if (kni_node_int(node, "do_rotary", 0)) {
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED,
                         "do_rotary is not supported here; use RotaryEmbedding before it");
        return;
    }
    a.q = part_of(c, p->qkv, at[0], at[1], heads);
    a.k = kni_after_past(c, past_part(c, p->past, 0), part_of(c, p->qkv, at[1], at[2], heads));
    a.v = kni_after_past(c, past_part(c, p->past, 1), part_of(c, p->qkv, at[2], at[3], heads));
    a.bias = bias_of_mask(c, node, p->mask, &a, p->bias);
    kni_extent past = kni_is_given(p->past) ? kni_extent_of(c, p->past, 3) : KNI_EXTENT(0);
    if (kni_node_int(node, "unidirectional", 0)) make_causal(c, &a, past);
    out[0] = kni_join_heads(c, kni_attention_of(c, &a));
    if (n_out > 1 && kni_is_wanted(node, 1)) {
        kni_datum both[2] = {kni_unsqueeze_at(c, a.k, 0), kni_unsqueeze_at(c, a.v, 0)};
        out[1] = kni_concat_of(c, both, 2, 0);
    }
}

/* x, weight, bias, mask, past, bias of the scores */
void kni_convert_fused_attention(KNI_CONVERTS)
{
    projected p = {.mask = in[3], .past = in[4], .bias = in[5]};
    (void)n_in;
    p.qkv = kni_emit2(c, "matmul", in[0], in[1]);
    if (kni_is_given(in[2])) p.qkv = kni_emit2(c, "add", p.qkv, in[2]);
    attend_projected(c, node, &p, out, n_out);
}

/* x, weight, bias in f32, scales of x and the weight, mask, zero points, past */
void kni_convert_quantized_attention(KNI_CONVERTS)
{
    projected p = {.mask = in[5], .past = in[8]};
    (void)n_in;
    kni_datum x_scale = kni_reshape_to(c, in[3], NULL, 0), w_scale = in[4];
    if (kni_is_single(c, w_scale)) w_scale = kni_reshape_to(c, w_scale, NULL, 0);
    kni_datum sums = kni_integer_product(c, in[0], in[1], in[6], in[7]);
    p.qkv = kni_emit3(c, "dequantize", sums, kni_emit2(c, "mul", x_scale, w_scale),
                      kni_real_number(c, 0, kni_dtype_of(c, in[3])));
    p.qkv = kni_emit2(c, "add", p.qkv, in[2]);
    attend_projected(c, node, &p, out, n_out);
}

/* ---- MultiHeadAttention: q, k, v, bias, mask, bias of the scores, past keys and values */

/* x [batch, length, heads * size] plus its part of the bias, as heads; x of rank 4 has been split already. */
static kni_datum with_bias(kni_conversion *c, kni_datum x, kni_datum bias, kni_extent from, int64_t heads,
                           kni_extent *end)
{
    if (kni_rank_of(c, x) == 4) return x;
    kni_extent width = kni_extent_of(c, x, 2);
    *end = kni_extent_add(c, from, width);
    if (kni_is_given(bias)) x = kni_emit2(c, "add", x, kni_slice_of(c, bias, 0, from, *end));
    return kni_split_heads(c, x, heads);
}

/* Part `which` of [batch, length, heads, parts, size], as [batch, heads, length, size]. */
static kni_datum packed_part(kni_conversion *c, kni_datum x, int64_t which)
{
    x = kni_squeeze_at(c, kni_slice_of(c, x, 3, KNI_EXTENT(which), KNI_EXTENT(which + 1)), 3);
    return kni_swap_axes(c, x, 1, 2);
}

/* A bias [parts * heads * size] for packed operands, as [1, heads, 1, size] of a part. */
static kni_datum packed_bias(kni_conversion *c, kni_datum x, kni_datum bias, int64_t part)
{
    kni_extent heads = kni_extent_of(c, x, 1), size = kni_extent_of(c, x, 3),
               width = kni_extent_mul(c, heads, size);
    if (!kni_is_given(bias)) return x;
    kni_extent from = kni_extent_mul(c, width, KNI_EXTENT(part));
    bias = kni_slice_of(c, bias, 0, from, kni_extent_add(c, from, width));
    const kni_extent one = KNI_EXTENT(1);
    return kni_emit2(c, "add", x, kni_reshape_to(c, bias, (kni_extent[]){one, heads, one, size}, 4));
}

static void split_operands(kni_conversion *c, const kni_datum *in, int64_t heads, kni_attend *a)
{
    kni_extent end = KNI_EXTENT(0);
    if (kni_rank_of(c, in[0]) == 5) {
        kni_datum *const parts[3] = {&a->q, &a->k, &a->v};
        for (int64_t i = 0; i < 3; i++) *parts[i] = packed_bias(c, packed_part(c, in[0], i), in[3], i);
        return;
    }
    a->q = with_bias(c, in[0], in[3], end, heads, &end);
    if (kni_rank_of(c, in[1]) == 5) {
        a->k = packed_part(c, in[1], 0);
        a->v = packed_part(c, in[1], 1);
        return;
    }
    a->k = with_bias(c, in[1], in[3], end, heads, &end);
    a->v = with_bias(c, in[2], in[3], end, heads, &end);
}

void kni_convert_multi_head(KNI_CONVERTS)
{
    kni_attend a = start(node);
    (void)n_in;
    split_operands(c, in, kni_node_int(node, "num_heads", 0), &a);
    a.k = kni_after_past(c, in[6], a.k);
    a.v = kni_after_past(c, in[7], a.v);
    a.bias = bias_of_mask(c, node, in[4], &a, in[5]);
    kni_extent past = kni_is_given(in[6]) ? kni_extent_of(c, in[6], 2) : KNI_EXTENT(0);
    if (kni_node_int(node, "unidirectional", 0)) make_causal(c, &a, past);
    if (n_out > 3 && kni_is_wanted(node, 3)) a.scores = &out[3];
    out[0] = kni_join_heads(c, kni_attention_of(c, &a));
    if (n_out > 1) out[1] = a.k;
    if (n_out > 2) out[2] = a.v;
}
