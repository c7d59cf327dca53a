/* GroupQueryAttention of com.microsoft: heads that share keys, a cache that grows or is written in place, turned pairs, windows. */
#include "onnx/convert/attention_parts.h"
#include "onnx/convert/quantized.h"

typedef struct grouped {
    kni_attend a;
    int64_t heads, key_heads;
    kni_datum last;  /* [batch]: places that are taken when the step is done, less 1 */
    kni_datum start; /* [batch], i64: the place of the first new token */
    kni_extent batch, queries;
} grouped;

/* q, k, v apart, or q alone with all three behind each other. */
static void split_operands(kni_conversion *c, const kni_datum *in, grouped *g)
{
    if (kni_is_given(in[1])) {
        g->a.q = kni_split_heads(c, in[0], g->heads);
        g->a.k = kni_split_heads(c, in[1], g->key_heads);
        g->a.v = kni_split_heads(c, in[2], g->key_heads);
        return;
    }
    kni_extent size = kni_extent_div(c, kni_extent_of(c, in[0], 2), KNI_EXTENT(g->heads + 2 * g->key_heads));
    const int64_t heads[3] = {g->heads, g->key_heads, g->key_heads};
    kni_datum *const parts[3] = {&g->a.q, &g->a.k, &g->a.v};
    kni_extent from = KNI_EXTENT(0);
    for (int i = 0; i < 3; i++) {
        kni_extent to = kni_extent_add(c, from, kni_extent_mul(c, size, KNI_EXTENT(heads[i])));
        *parts[i] = kni_split_heads(c, kni_slice_of(c, in[0], 2, from, to), heads[i]);
        from = to;
    }
}

/* The places of the new tokens, [batch, queries]. */
static kni_datum positions_of(kni_conversion *c, const grouped *g)
{
    return kni_emit2(c, "add", kni_unsqueeze_at(c, g->start, 1), kni_counting(c, 0, g->queries, KN_I64));
}

/* How long the cache is after the step: what total_sequence_length says where that is known, else past and new tokens. */
static kni_extent cache_length(kni_conversion *c, kni_datum total, kni_extent past, kni_extent queries)
{
    kni_extent grown = kni_extent_add(c, past, queries);
    int64_t n;
    if (!kni_is_given(total) || !kni_is_known(c, total)) return grown;
    const kni_extent *known = kni_known_extents(c, total, "total_sequence_length", &n);
    if (!known || n != 1) return grown;
    return known->text || past.text ? grown : kni_extent_max(c, past, *known);
}

/* The cache with the new tokens in their places. */
static kni_datum cached(kni_conversion *c, const grouped *g, kni_datum past, kni_datum x, kni_extent length)
{
    if (!kni_is_given(past) || kni_extent_is(kni_extent_of(c, past, 2), 0)) return x;
    kni_extent old = kni_extent_of(c, past, 2);
    const bool grows = kni_extent_same(length, kni_extent_add(c, old, g->queries));
    if (grows && kni_extent_is(g->batch, 1)) return kni_concat_of(c, (kni_datum[]){past, x}, 2, 2);
    kni_extent none[4] = {{0, NULL}}, more[4] = {{0, NULL}};
    more[2] = kni_extent_sub(c, length, old);
    if (!kni_extent_is(more[2], 0)) past = kni_pad_with(c, past, none, more, 0);
    return kni_written_at(c, past, x, g->start, 2, false);
}

static void find_places(kni_conversion *c, grouped *g)
{
    kni_datum taken = kni_reshape_to(c, kni_cast_to(c, g->last, KN_I64), &g->batch, 1);
    taken = kni_emit2(c, "add", taken, kni_whole_number(c, 1, KN_I64));
    g->start = kni_emit2(c, "sub", taken, kni_extent_value(c, g->queries));
    /* Rows of a first step may be shorter than the longest. */
    g->start = kni_emit2(c, "maximum", g->start, kni_whole_number(c, 0, KN_I64));
}

static void turn(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, grouped *g)
{
    const bool interleaved = kni_node_int(node, "rotary_interleaved", 0) != 0;
    kni_datum positions = kni_is_given(in[9]) ? kni_cast_to(c, in[9], KN_I64) : positions_of(c, g);
    kni_datum cosines = kni_table_at(c, in[7], positions), sines = kni_table_at(c, in[8], positions);
    g->a.q = kni_rotated(c, g->a.q, cosines, sines, interleaved);
    g->a.k = kni_rotated(c, g->a.k, cosines, sines, interleaved);
}

/* A score of 0, or of each head's own, that weights lose to. */
static kni_datum sink_of(kni_conversion *c, const kni_onnx_node *node, kni_datum given, const grouped *g)
{
    const kni_extent one = KNI_EXTENT(1), shape[4] = {one, KNI_EXTENT(g->heads), one, one};
    if (kni_is_given(given)) return kni_reshape_to(c, given, shape, 4);
    if (!kni_node_int(node, "smooth_softmax", 0)) return KNI_ABSENT;
    return kni_filled(c, 0, kni_dtype_of(c, g->a.q), shape, 4);
}

/* q, k, v, past keys and values, last places of the rows, length of the cache, cosines, sines, positions, bias of the scores, sinks */
void kni_convert_grouped_query(KNI_CONVERTS)
{
    const double scale = kni_node_real(node, "scale", 0);
    const int64_t window = kni_node_int(node, "local_window_size", -1);
    grouped g = {.heads = kni_node_int(node, "num_heads", 0),
                 .key_heads = kni_node_int(node, "kv_num_heads", 0),
                 .last = in[5],
                 .a = {.scale = scale != 0 ? scale : __builtin_nan(""),
                       .softcap = kni_node_real(node, "softcap", 0),
                       .bias = in[10]}};
    (void)n_in;
    if (g.heads < 1 || g.key_heads < 1 || !kni_is_given(in[5])) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "num_heads, kv_num_heads and seqlens_k are due");
        return;
    }
    split_operands(c, in, &g);
    g.batch = kni_extent_of(c, g.a.q, 0);
    g.queries = kni_extent_of(c, g.a.q, 2);
    find_places(c, &g);
    if (kni_node_int(node, "do_rotary", 0)) turn(c, node, in, &g);
    kni_extent past = kni_is_given(in[3]) ? kni_extent_of(c, in[3], 2) : KNI_EXTENT(0);
    kni_extent length = cache_length(c, in[6], past, g.queries);
    g.a.k = cached(c, &g, in[3], g.a.k, length);
    g.a.v = cached(c, &g, in[4], g.a.v, length);
    const kni_extent one = KNI_EXTENT(1), rows[4] = {g.batch, one, one, one};
    const kni_view_of_keys view = {.queries = g.queries,
                                   .keys = kni_extent_of(c, g.a.k, 2),
                                   .offset = kni_reshape_to(c, g.start, rows, 4),
                                   .causal = true,
                                   .left = window > 0 ? window - 1 : -1, /* the own place counts */
                                   .right = -1};
    g.a.mask = kni_keys_seen(c, &view);
    g.a.sink = sink_of(c, node, in[11], &g);
    if (kni_node_int(node, "qk_output", 0) && n_out > 3 && kni_is_wanted(node, 3)) {
        g.a.scores = &out[3];
        g.a.shown = kni_node_int(node, "qk_output", 0) == 2 ? KNI_SCORES_WEIGHTS : KNI_SCORES_MASKED;
    }
    out[0] = kni_join_heads(c, kni_attention_of(c, &g.a));
    if (n_out > 1) out[1] = g.a.k;
    if (n_out > 2) out[2] = g.a.v;
}
