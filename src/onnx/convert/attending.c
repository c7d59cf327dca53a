/* Attention as the op or in parts, and what hides keys. */
#include "onnx/convert/attending.h"

/* ---- heads */

kni_datum kni_heads_apart(kni_conversion *c, kni_datum x, int64_t heads)
{
    kni_extent e[KN_MAX_RANK];
    if (kni_extents_of(c, x, e) != 3 || heads < 1) {
        kni_convert_fail(c, KN_ERROR_SHAPE,
                         "an operand must be [batch, tokens, heads * size]; it has rank %d, and there are "
                         "%lld heads",
                         kni_rank_of(c, x), (long long)heads);
        return KNI_ABSENT;
    }
    if (!e[2].text && e[2].value % heads) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "%lld elements of a token are no multiple of %lld heads",
                         (long long)e[2].value, (long long)heads);
        return KNI_ABSENT;
    }
    kni_extent size = kni_extent_div(c, e[2], KNI_EXTENT(heads));
    x = kni_reshape_to(c, x, (kni_extent[]){e[0], e[1], KNI_EXTENT(heads), size}, 4);
    return kni_swap_axes(c, x, 1, 2);
}

kni_datum kni_heads_together(kni_conversion *c, kni_datum x)
{
    kni_extent e[KN_MAX_RANK];
    if (kni_extents_of(c, x, e) != 4) return x;
    x = kni_swap_axes(c, x, 1, 2);
    return kni_reshape_to(c, x, (kni_extent[]){e[0], e[2], kni_extent_mul(c, e[1], e[3])}, 3);
}

/* ---- what is seen */

kni_datum kni_for_each_batch(kni_conversion *c, kni_datum list)
{
    kni_extent n = kni_count_of(c, list);
    list = kni_cast_to(c, list, KN_I64);
    return kni_reshape_to(c, list, (kni_extent[]){n, KNI_EXTENT(1), KNI_EXTENT(1), KNI_EXTENT(1)}, 4);
}

kni_datum kni_size_value(kni_conversion *c, kni_extent size) { return kni_known_list(c, &size, 1, true); }

kni_datum kni_key_places(kni_conversion *c, kni_extent keys) { return kni_counting(c, 0, keys, KN_I64); }

kni_datum kni_query_places(kni_conversion *c, kni_extent queries)
{
    return kni_unsqueeze_at(c, kni_counting(c, 0, queries, KN_I64), 1);
}

kni_datum kni_both(kni_conversion *c, kni_datum a, kni_datum b)
{
    if (!kni_is_given(a)) return b;
    return kni_is_given(b) ? kni_emit2(c, "logical_and", a, b) : a;
}

kni_datum kni_sum_of(kni_conversion *c, kni_datum a, kni_datum b)
{
    if (!kni_is_given(a)) return b;
    return kni_is_given(b) ? kni_emit2(c, "add", a, b) : a;
}

kni_datum kni_within(kni_conversion *c, kni_datum place, kni_datum keys, int64_t left, int64_t right)
{
    kni_datum keep = KNI_ABSENT;
    if (right >= 0) {
        kni_datum last = kni_emit2(c, "add", place, kni_whole_number(c, right, KN_I64));
        keep = kni_emit2(c, "less_equal", keys, last);
    }
    if (left >= 0) {
        kni_datum first = kni_emit2(c, "sub", place, kni_whole_number(c, left, KN_I64));
        keep = kni_both(c, keep, kni_emit2(c, "greater_equal", keys, first));
    }
    return keep;
}

/* ---- attention */

/* scale q k' with the heads that share a key head as rows behind each other. */
static kni_datum scaled_scores(kni_conversion *c, const kni_attending *a, kn_dtype dtype)
{
    kni_extent q[KN_MAX_RANK], k[KN_MAX_RANK];
    kni_extents_of(c, a->q, q);
    kni_extents_of(c, a->k, k);
    kni_datum x = kni_cast_to(c, a->q, dtype), y = kni_cast_to(c, a->k, dtype);
    if (a->scale != 0) {
        x = kni_with_number(c, "mul", x, kn_real_or(a->scale, 1));
    } else {
        kni_datum size = kni_cast_to(c, kni_size_value(c, q[3]), dtype);
        x = kni_emit2(c, "mul", x, kni_emit1(c, "rsqrt", size));
    }
    kni_extent rows = kni_extent_mul(c, kni_extent_div(c, q[1], k[1]), q[2]);
    x = kni_reshape_to(c, x, (kni_extent[]){q[0], k[1], rows, q[3]}, 4);
    y = kni_emit2(c, "matmul", x, kni_swap_axes(c, y, 2, 3));
    return kni_reshape_to(c, y, (kni_extent[]){q[0], q[1], q[2], k[2]}, 4);
}

/* The softmax over keys, with one more key where there is a sink. A query that sees no key has weights of 0. */
static kni_datum weights_of(kni_conversion *c, const kni_attending *a, kni_datum s)
{
    kn_dtype dtype = kni_dtype_of(c, s);
    if (kni_is_given(a->sink)) {
        kni_extent e[KN_MAX_RANK], keys;
        kni_extents_of(c, s, e);
        keys = e[3], e[3] = KNI_EXTENT(1);
        kni_datum both[2] = {s, kni_expand_to(c, kni_cast_to(c, a->sink, dtype), e, 4)};
        s = kni_concat_of(c, both, 2, 3);
        s = kni_emit(c, "softmax", &s, 1, KNI_GIVE(KNI_WHOLE("axis", -1)));
        return kni_slice_of(c, s, 3, KNI_EXTENT(0), keys);
    }
    if (!kni_is_given(a->keep) && !kni_is_given(a->bias))
        return kni_emit(c, "softmax", &s, 1, KNI_GIVE(KNI_WHOLE("axis", -1)));
    kni_datum top = kni_reduce_over(c, "max", s, (int32_t[]){3}, 1, true),
              zero = kni_real_number(c, 0, dtype);
    kni_datum blind = kni_emit2(c, "equal", top, kni_real_number(c, -__builtin_inf(), dtype));
    s = kni_emit3(c, "where", blind, zero, s);
    s = kni_emit(c, "softmax", &s, 1, KNI_GIVE(KNI_WHOLE("axis", -1)));
    return kni_emit3(c, "where", blind, zero, s);
}

/* One result of an inner graph over x, in x's dtype. */
static kni_datum changed_by(kni_conversion *c, const kni_onnx_graph *graph, kni_datum x)
{
    kni_datum y = KNI_ABSENT;
    if (!graph) return x;
    kni_graph_convert(c, graph, &x, 1, &y, 1);
    return kni_convert_failed(c) ? KNI_ABSENT : kni_cast_to(c, y, kni_dtype_of(c, x));
}

static void hand_out(kni_conversion *c, kni_attending *a, kni_scores_kind which, kni_datum s)
{
    if (a->wants_scores && a->which == which) a->scores = kni_cast_to(c, s, kni_dtype_of(c, a->q));
}

static kni_datum attend_in_parts(kni_conversion *c, kni_attending *a)
{
    kn_dtype given = kni_dtype_of(c, a->q), dtype = kni_wide_dtype(given);
    if (a->precision == KN_F64) dtype = KN_F64;
    kni_extent q[KN_MAX_RANK], v[KN_MAX_RANK];
    kni_extents_of(c, a->q, q);
    kni_extents_of(c, a->v, v);
    kni_datum s = scaled_scores(c, a, dtype);
    hand_out(c, a, KNI_SCORES_SCALED, s);
    if (a->softcap > 0) {
        s = kni_emit1(c, "tanh", kni_with_number(c, "div", s, a->softcap));
        s = kni_with_number(c, "mul", s, a->softcap);
    }
    hand_out(c, a, KNI_SCORES_CAPPED, s);
    if (a->is_causal) {
        kni_datum keep = kni_within(c, kni_query_places(c, q[2]), kni_key_places(c, v[2]), -1, 0);
        a->keep = kni_both(c, a->keep, keep);
    }
    if (kni_is_given(a->bias)) s = kni_emit2(c, "add", s, kni_cast_to(c, a->bias, dtype));
    if (kni_is_given(a->keep))
        s = kni_emit3(c, "where", a->keep, s, kni_real_number(c, -__builtin_inf(), dtype));
    hand_out(c, a, KNI_SCORES_MASKED, s);
    s = weights_of(c, a, changed_by(c, a->score_graph, s));
    s = changed_by(c, a->weight_graph, s);
    hand_out(c, a, KNI_SCORES_WEIGHTS, s);
    if (kni_convert_failed(c)) return KNI_ABSENT;
    kni_extent rows = kni_extent_mul(c, kni_extent_div(c, q[1], v[1]), q[2]);
    s = kni_reshape_to(c, s, (kni_extent[]){q[0], v[1], rows, v[2]}, 4);
    s = kni_cast_to(c, kni_emit2(c, "matmul", s, kni_cast_to(c, a->v, dtype)), given);
    return kni_reshape_to(c, s, (kni_extent[]){q[0], q[1], q[2], v[3]}, 4);
}

static bool check_operands(kni_conversion *c, const kni_attending *a)
{
    if (kni_convert_failed(c)) return false;
    if (kni_rank_of(c, a->q) != 4 || kni_rank_of(c, a->k) != 4 || kni_rank_of(c, a->v) != 4) {
        kni_convert_fail(c, KN_ERROR_SHAPE,
                         "queries, keys and values have ranks %d, %d and %d; give all three 3 or 4 axes",
                         kni_rank_of(c, a->q), kni_rank_of(c, a->k), kni_rank_of(c, a->v));
        return false;
    }
    kni_extent q = kni_extent_of(c, a->q, 1), k = kni_extent_of(c, a->k, 1);
    if (q.text || k.text || (k.value > 0 && q.value % k.value == 0)) return true;
    kni_convert_fail(c, KN_ERROR_SHAPE, "%lld heads of queries are no multiple of %lld heads of keys",
                     (long long)q.value, (long long)k.value);
    return false;
}

kni_datum kni_attend(kni_conversion *c, kni_attending *a)
{
    if (!check_operands(c, a)) return KNI_ABSENT;
    kn_dtype dtype = kni_dtype_of(c, a->q);
    a->k = kni_cast_to(c, a->k, dtype);
    a->v = kni_cast_to(c, a->v, dtype);
    bool precise = a->precision != KN_F64 || dtype == KN_F64;
    if (a->wants_scores || a->score_graph || a->weight_graph || kni_is_given(a->sink) || !precise)
        return attend_in_parts(c, a);
    if (kni_is_given(a->bias)) a->bias = kni_cast_to(c, a->bias, dtype);
    return kni_emit(c, "attention", KNI_LIST(a->q, a->k, a->v, a->keep, a->bias),
                    KNI_GIVE(KNI_REAL("scale", a->scale), KNI_REAL("softcap", a->softcap),
                             KNI_WHOLE("is_causal", a->is_causal)));
}
