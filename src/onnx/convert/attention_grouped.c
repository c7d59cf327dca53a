/* GroupQueryAttention of com.microsoft: query, key, value, past keys, past values, the place of each batch's last token, the most tokens
   of a batch, cosines, sines, places, bias of the scores, sinks. Batches of one call may have pasts of their own lengths, in caches that
   are as long as the longest or longer. */
#include "onnx/convert/attending.h"

enum { MOST_HEADS = 1 << 20 };

typedef struct grouped {
    int64_t heads, key_heads;
    kni_datum ends;     /* tokens of each batch, the new ones too, [batch, 1, 1, 1] */
    kni_datum past;     /* of these, those that were there before */
    kni_extent present; /* tokens that the caches have room for */
} grouped;

/* Attributes that change what is computed and are not here. */
static bool check_supported(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in)
{
    int64_t heads = kni_node_int(node, "num_heads", 0), key_heads = kni_node_int(node, "kv_num_heads", 0);
    if (heads < 1 || heads > MOST_HEADS || key_heads < 1 || heads % key_heads) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT,
                         "num_heads is %lld; it must be a multiple of kv_num_heads, %lld", (long long)heads,
                         (long long)key_heads);
    } else if (kni_is_given(in[12]) || kni_is_given(in[13]) || kni_node_int(node, "kv_cache_bit_width", 0)) {
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED,
                         "quantized caches are not supported; export the model with a float cache");
    } else if (kni_is_wanted(node, 3)) {
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "the output of scores is not supported");
    } else if (!kni_is_given(in[5]) || !kni_is_given(in[6])) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "seqlens_k and total_sequence_length are missing");
    }
    return !kni_convert_failed(c);
}

/* Queries, keys and values, which may be one operand, with their heads apart. */
static void split(kni_conversion *c, const grouped *g, const kni_datum *in, kni_attending *a)
{
    if (kni_is_given(in[1]) && kni_is_given(in[2])) {
        a->q = kni_heads_apart(c, in[0], g->heads);
        a->k = kni_heads_apart(c, in[1], g->key_heads);
        a->v = kni_heads_apart(c, in[2], g->key_heads);
        return;
    }
    kni_datum all = kni_heads_apart(c, in[0], g->heads + 2 * g->key_heads);
    kni_extent q = KNI_EXTENT(g->heads), k = KNI_EXTENT(g->heads + g->key_heads);
    if (kni_convert_failed(c)) return;
    a->q = kni_slice_of(c, all, 1, KNI_EXTENT(0), q);
    a->k = kni_slice_of(c, all, 1, q, k);
    a->v = kni_slice_of(c, all, 1, k, kni_extent_of(c, all, 1));
}

/* Where nothing came before the call, shorter batches end early and all begin at 0. */
static void find_places(kni_conversion *c, const kni_datum *in, const kni_attending *a, grouped *g)
{
    int64_t n = 0;
    kni_extent queries = kni_extent_of(c, a->q, 2);
    const kni_extent *total = kni_known_extents(c, in[6], "total_sequence_length", &n);
    if (!total || n != 1) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "total_sequence_length must be one number");
        return;
    }
    g->ends = kni_emit2(c, "add", kni_for_each_batch(c, in[5]), kni_whole_number(c, 1, KN_I64));
    g->past = kni_emit2(c, "sub", g->ends, kni_size_value(c, queries));
    kni_datum first = kni_emit2(c, "equal", kni_size_value(c, *total), kni_size_value(c, queries));
    g->past = kni_emit3(c, "where", first, kni_whole_number(c, 0, KN_I64), g->past);
    g->present = *total;
    if (kni_is_given(in[3])) g->present = kni_extent_max(c, kni_extent_of(c, in[3], 2), *total);
}

static void turn_both(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, const grouped *g,
                      kni_attending *a)
{
    bool interleaved = kni_node_int(node, "rotary_interleaved", 0) != 0;
    kni_datum places = in[9], tables[2];
    if (!kni_is_given(in[7]) || !kni_is_given(in[8])) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "do_rotary needs the tables cos_cache and sin_cache");
        return;
    }
    if (!kni_is_given(places)) {
        places = kni_emit2(c, "add", g->past, kni_key_places(c, kni_extent_of(c, a->q, 2)));
        places = kni_squeeze_at(c, kni_squeeze_at(c, places, 1), 1);
    }
    for (int i = 0; i < 2; i++)
        tables[i] = kni_emit(c, "take", KNI_LIST(in[7 + i], places), KNI_GIVE(KNI_WHOLE("axis", 0)));
    a->q = kni_turn(c, a->q, tables[0], tables[1], interleaved);
    a->k = kni_turn(c, a->k, tables[0], tables[1], interleaved);
}

/* A cache with room for all tokens, and x behind the past of each batch. */
static kni_datum remember(kni_conversion *c, const grouped *g, kni_datum cache, kni_datum x)
{
    kni_extent e[KN_MAX_RANK], none[4], after[4];
    if (kni_extents_of(c, x, e) != 4) return KNI_ABSENT; /* it failed before */
    if (!kni_is_given(cache)) {
        if (kni_extent_same(e[2], g->present)) return x;
        e[2] = g->present;
        cache = kni_filled(c, 0, kni_dtype_of(c, x), e, 4);
    } else {
        for (int i = 0; i < 4; i++) none[i] = after[i] = KNI_EXTENT(0);
        after[2] = kni_extent_sub(c, g->present, kni_extent_of(c, cache, 2));
        cache = kni_pad_with(c, kni_cast_to(c, cache, kni_dtype_of(c, x)), none, after, 0);
    }
    return kni_write_cache(c, cache, x, g->past, 2, false);
}

/* Keys up to the query's own place, and of these the last ones of a window. */
static kni_datum visible(kni_conversion *c, const kni_onnx_node *node, const kni_attending *a,
                         const grouped *g)
{
    int64_t window = kni_node_int(node, "local_window_size", -1);
    kni_datum place = kni_emit2(c, "add", g->past, kni_query_places(c, kni_extent_of(c, a->q, 2)));
    kni_datum last = kni_emit2(c, "sub", g->ends, kni_whole_number(c, 1, KN_I64));
    place = kni_emit2(c, "minimum", place, last);
    return kni_within(c, place, kni_key_places(c, g->present), window > 0 ? window - 1 : -1, 0);
}

/* The bias has a column for each token, and the caches may have room for more, which nobody sees. */
static kni_datum bias_for_all(kni_conversion *c, kni_datum bias, kni_extent keys)
{
    kni_extent e[KN_MAX_RANK], none[4], after[4];
    if (kni_extents_of(c, bias, e) != 4) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "attention_bias must be [batch, heads, queries, keys]");
        return KNI_ABSENT;
    }
    for (int i = 0; i < 4; i++) none[i] = after[i] = KNI_EXTENT(0);
    after[3] = kni_extent_sub(c, keys, e[3]);
    return kni_pad_with(c, bias, none, after, 0);
}

void kni_convert_grouped_attention(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                   int32_t n_in, kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    if (!check_supported(c, node, in)) return;
    grouped g = {.heads = kni_node_int(node, "num_heads", 0),
                 .key_heads = kni_node_int(node, "kv_num_heads", 0)};
    kni_attending a = {.scale = kni_node_real(node, "scale", 0),
                       .softcap = kni_node_real(node, "softcap", 0)};
    split(c, &g, in, &a);
    find_places(c, in, &a, &g);
    if (kni_convert_failed(c)) return;
    if (kni_node_int(node, "do_rotary", 0)) turn_both(c, node, in, &g, &a);
    a.k = remember(c, &g, in[3], a.k);
    a.v = remember(c, &g, in[4], a.v);
    a.keep = visible(c, node, &a, &g);
    if (kni_convert_failed(c)) return;
    if (kni_is_given(in[10])) a.bias = bias_for_all(c, in[10], g.present);
    if (kni_is_given(in[11])) {
        kni_extent heads[] = {KNI_EXTENT(1), KNI_EXTENT(g.heads), KNI_EXTENT(1), KNI_EXTENT(1)};
        a.sink = kni_reshape_to(c, in[11], heads, 4);
    } else if (kni_node_int(node, "smooth_softmax", 0)) {
        const kni_extent ones[] = {KNI_EXTENT(1), KNI_EXTENT(1), KNI_EXTENT(1), KNI_EXTENT(1)};
        a.sink = kni_filled(c, 0, kni_dtype_of(c, a.q), ones, 4);
    }
    out[0] = kni_heads_together(c, kni_attend(c, &a));
    if (kni_is_wanted(node, 1)) out[1] = a.k;
    if (kni_is_wanted(node, 2)) out[2] = a.v;
}
