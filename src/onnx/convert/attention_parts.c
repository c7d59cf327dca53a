/* Attention as the row of this name, or in its parts where a node shows or changes what lies between them. */
#include "onnx/convert/attention_parts.h"
#include "support/scalar_math.h"

/* ---- shapes */

kni_datum kni_split_heads(kni_conversion *c, kni_datum x, int64_t heads)
{
    kni_extent e[KN_MAX_RANK];
    if (kni_extents_of(c, x, e) != 3 || heads < 1) {
        kni_convert_fail(c, KN_ERROR_SHAPE,
                         "an operand of rank %d with %lld heads; [batch, length, heads * size] "
                         "is due",
                         kni_rank_of(c, x), (long long)heads);
        return KNI_ABSENT;
    }
    kni_extent size = kni_extent_div(c, e[2], KNI_EXTENT(heads));
    x = kni_reshape_to(c, x, (kni_extent[]){e[0], e[1], KNI_EXTENT(heads), size}, 4);
    return kni_swap_axes(c, x, 1, 2);
}

kni_datum kni_join_heads(kni_conversion *c, kni_datum x)
{
    kni_extent e[KN_MAX_RANK];
    if (kni_extents_of(c, x, e) != 4) return KNI_ABSENT;
    x = kni_swap_axes(c, x, 1, 2);
    return kni_reshape_to(c, x, (kni_extent[]){e[0], e[2], kni_extent_mul(c, e[1], e[3])}, 3);
}

kni_datum kni_after_past(kni_conversion *c, kni_datum past, kni_datum x)
{
    if (!kni_is_given(past) || kni_extent_is(kni_extent_of(c, past, 2), 0)) return x;
    return kni_concat_of(c, (kni_datum[]){past, x}, 2, 2);
}

kni_datum kni_written_at(kni_conversion *c, kni_datum cache, kni_datum update, kni_datum start, int32_t axis,
                         bool circular)
{
    kni_extent e[KN_MAX_RANK];
    const int32_t rank = kni_extents_of(c, update, e);
    if (axis < 1 || axis >= rank) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "axis %d: the first axis is the batch, and there are %d", axis,
                         rank);
        return KNI_ABSENT;
    }
    kni_extent rows[KN_MAX_RANK];
    for (int32_t i = 0; i < rank; i++) rows[i] = KNI_EXTENT(1);
    rows[0] = kni_extent_of(c, start, 0);
    kni_datum at = kni_reshape_to(c, kni_cast_to(c, start, KN_I64), rows, rank);
    at = kni_emit2(c, "add", at, kni_counting_along(c, 0, e[axis], axis, rank));
    if (circular) at = kni_emit2(c, "remainder", at, kni_extent_value(c, kni_extent_of(c, cache, axis)));
    return kni_emit(c, "scatter", KNI_LIST(cache, kni_expand_to(c, at, e, rank), update),
                    KNI_GIVE(KNI_WHOLE("axis", axis)));
}

/* ---- who sees what */

static kni_datum both(kni_conversion *c, kni_datum a, kni_datum b)
{
    return kni_is_given(a) ? kni_emit2(c, "logical_and", a, b) : b;
}

kni_datum kni_keys_seen(kni_conversion *c, const kni_view_of_keys *v)
{
    kni_datum seen = KNI_ABSENT, key = kni_counting(c, 0, v->keys, KN_I64);
    if (v->causal || v->left >= 0 || v->right >= 0) {
        kni_datum query = kni_unsqueeze_at(c, kni_counting(c, 0, v->queries, KN_I64), 1);
        if (kni_is_given(v->offset)) query = kni_emit2(c, "add", query, v->offset);
        if (v->causal) seen = kni_emit2(c, "less_equal", key, query);
        if (v->left >= 0) {
            kni_datum first = kni_emit2(c, "sub", query, kni_whole_number(c, v->left, KN_I64));
            seen = both(c, seen, kni_emit2(c, "greater_equal", key, first));
        }
        if (v->right >= 0) {
            kni_datum last = kni_emit2(c, "add", query, kni_whole_number(c, v->right, KN_I64));
            seen = both(c, seen, kni_emit2(c, "less_equal", key, last));
        }
    }
    if (kni_is_given(v->lengths)) seen = both(c, seen, kni_emit2(c, "less", key, v->lengths));
    return seen;
}

/* ---- attention in parts */

static double scale_of(kni_conversion *c, const kni_attend *a)
{
    if (a->scale == a->scale) return a->scale; /* not NaN */
    kni_extent size = kni_extent_of(c, a->q, 3);
    return 1 / kni_sqrt((double)kni_extent_number(c, size, "the size of a head"));
}

/* Queries of the heads that share one of keys, behind each other: [batch, key heads, heads / key heads * length, size]. */
static kni_datum grouped(kni_conversion *c, kni_datum x, const kni_attend *a)
{
    kni_extent e[KN_MAX_RANK], heads = kni_extent_of(c, a->k, 1);
    kni_extents_of(c, x, e);
    if (kni_extent_same(e[1], heads)) return x;
    kni_extent rows = kni_extent_mul(c, kni_extent_div(c, e[1], heads), e[2]);
    return kni_reshape_to(c, x, (kni_extent[]){e[0], heads, rows, e[3]}, 4);
}

static kni_datum changed(kni_conversion *c, const kni_onnx_graph *graph, kni_datum x, kn_dtype dtype)
{
    kni_datum y[KNI_ONNX_ROOM] = {{0}};
    if (!graph) return x;
    kni_graph_convert(c, graph, &x, 1, y, 1);
    return kni_cast_to(c, y[0], dtype);
}

static void show(const kni_attend *a, int what, kni_datum x)
{
    if (a->scores && a->shown == what) *a->scores = x;
}

/* The softmax over the keys, 0 in rows that see none, with a score more where there is a sink. */
static kni_datum weights_of(kni_conversion *c, const kni_attend *a, kni_datum scores, bool hides)
{
    const kn_dtype dtype = kni_dtype_of(c, scores);
    const int32_t last = 3;
    if (kni_is_given(a->sink)) {
        kni_extent e[KN_MAX_RANK], keys = kni_extent_of(c, scores, 3);
        kni_extents_of(c, scores, e);
        e[3] = KNI_EXTENT(1);
        kni_datum sink = kni_expand_to(c, kni_cast_to(c, a->sink, dtype), e, 4);
        scores = kni_concat_of(c, (kni_datum[]){scores, sink}, 2, 3);
        scores = kni_emit(c, "softmax", &scores, 1, KNI_GIVE(KNI_WHOLE("axis", 3)));
        return kni_slice_of(c, scores, 3, KNI_EXTENT(0), keys);
    }
    if (!hides) return kni_emit(c, "softmax", &scores, 1, KNI_GIVE(KNI_WHOLE("axis", 3)));
    kni_datum zero = kni_real_number(c, 0, dtype), least = kni_real_number(c, -__builtin_inf(), dtype);
    kni_datum blind = kni_emit2(c, "equal", kni_reduce_over(c, "max", scores, &last, 1, true), least);
    scores = kni_emit3(c, "where", blind, zero, scores);
    scores = kni_emit(c, "softmax", &scores, 1, KNI_GIVE(KNI_WHOLE("axis", 3)));
    return kni_emit3(c, "where", blind, zero, scores);
}

static kni_datum in_parts(kni_conversion *c, const kni_attend *a)
{
    const kn_dtype dtype = kni_dtype_of(c, a->q);
    const kn_dtype wide = a->precision != KN_DTYPE_NONE ? a->precision : kni_wide_dtype(dtype);
    kni_extent q[KN_MAX_RANK], keys = kni_extent_of(c, a->k, 2), value = kni_extent_of(c, a->v, 3);
    kni_datum mask = a->mask;
    kni_extents_of(c, a->q, q);
    kni_datum s = kni_emit2(c, "matmul", grouped(c, kni_cast_to(c, a->q, wide), a),
                            kni_swap_axes(c, kni_cast_to(c, a->k, wide), 2, 3));
    s = kni_reshape_to(c, kni_with_number(c, "mul", s, scale_of(c, a)),
                       (kni_extent[]){q[0], q[1], q[2], keys}, 4);
    show(a, KNI_SCORES_PRODUCTS, s);
    if (a->softcap > 0) {
        s = kni_emit1(c, "tanh", kni_with_number(c, "div", s, a->softcap));
        s = kni_with_number(c, "mul", s, a->softcap);
    }
    show(a, KNI_SCORES_CAPPED, s);
    if (a->causal) {
        const kni_view_of_keys v = {.queries = q[2], .keys = keys, .causal = true, .left = -1, .right = -1};
        mask = both(c, mask, kni_keys_seen(c, &v));
    }
    if (kni_is_given(a->bias)) s = kni_emit2(c, "add", s, kni_cast_to(c, a->bias, wide));
    if (kni_is_given(mask)) s = kni_emit3(c, "where", mask, s, kni_real_number(c, -__builtin_inf(), wide));
    show(a, KNI_SCORES_MASKED, s);
    s = changed(c, a->score_graph, s, wide);
    s = weights_of(c, a, s, kni_is_given(mask) || kni_is_given(a->bias));
    s = changed(c, a->weight_graph, s, wide);
    show(a, KNI_SCORES_WEIGHTS, s);
    if (a->scores) *a->scores = kni_cast_to(c, *a->scores, dtype);
    kni_datum y = kni_emit2(c, "matmul", grouped(c, s, a), kni_cast_to(c, a->v, wide));
    return kni_cast_to(c, kni_reshape_to(c, y, (kni_extent[]){q[0], q[1], q[2], value}, 4), dtype);
}

kni_datum kni_attention_of(kni_conversion *c, const kni_attend *a)
{
    const kn_dtype dtype = kni_dtype_of(c, a->q);
    const bool precise = a->precision == KN_F64 && dtype != KN_F64;
    if (a->scores || a->score_graph || a->weight_graph || kni_is_given(a->sink) || precise)
        return in_parts(c, a);
    kni_datum bias = kni_is_given(a->bias) ? kni_cast_to(c, a->bias, dtype) : KNI_ABSENT;
    return kni_emit(c, "attention", KNI_LIST(a->q, a->k, a->v, a->mask, bias),
                    KNI_GIVE(KNI_REAL("scale", a->scale != a->scale ? 0 : kn_real_given(a->scale)),
                             KNI_REAL("softcap", a->softcap), KNI_WHOLE("is_causal", a->causal)));
}

/* ---- turning of pairs */

kni_datum kni_table_at(kni_conversion *c, kni_datum table, kni_datum positions)
{
    return kni_emit(c, "take", KNI_LIST(table, positions),
                    KNI_GIVE(KNI_WHOLE("axis", 0), KNI_WHOLE("negative", 1)));
}

/* Member `which` of the pairs of the first 2 half elements. */
static kni_datum members(kni_conversion *c, kni_datum x, kni_extent half, bool interleaved, int which)
{
    if (!interleaved) {
        kni_extent start = which ? half : KNI_EXTENT(0);
        return kni_slice_of(c, x, 3, start, kni_extent_add(c, start, half));
    }
    return kni_stepped_slice(c, x, 3, KNI_EXTENT(which), kni_extent_mul(c, half, KNI_EXTENT(2)), 2);
}

/* With a table for each row of the batch. */
static kni_datum rotated_by_rows(kni_conversion *c, kni_datum x, kni_datum cosines, kni_datum sines,
                                 bool interleaved)
{
    kni_extent e[KN_MAX_RANK], half = kni_extent_of(c, cosines, -1),
                               turned = kni_extent_mul(c, half, KNI_EXTENT(2));
    const kn_dtype dtype = kni_dtype_of(c, x);
    kni_extents_of(c, x, e);
    kni_datum cosine = kni_cast_to(c, kni_unsqueeze_at(c, cosines, 1), dtype);
    kni_datum sine = kni_cast_to(c, kni_unsqueeze_at(c, sines, 1), dtype);
    kni_datum a = members(c, x, half, interleaved, 0), b = members(c, x, half, interleaved, 1);
    kni_datum parts[3] = {kni_emit2(c, "sub", kni_emit2(c, "mul", a, cosine), kni_emit2(c, "mul", b, sine)),
                          kni_emit2(c, "add", kni_emit2(c, "mul", a, sine), kni_emit2(c, "mul", b, cosine)),
                          KNI_ABSENT};
    if (interleaved) {
        for (int i = 0; i < 2; i++) parts[i] = kni_unsqueeze_at(c, parts[i], 4);
        kni_datum y = kni_concat_of(c, parts, 2, 4);
        parts[0] = kni_reshape_to(c, y, (kni_extent[]){e[0], e[1], e[2], turned}, 4);
        parts[1] = kni_slice_of(c, x, 3, turned, e[3]);
        return kni_extent_same(turned, e[3]) ? parts[0] : kni_concat_of(c, parts, 2, 3);
    }
    if (kni_extent_same(turned, e[3])) return kni_concat_of(c, parts, 2, 3);
    parts[2] = kni_slice_of(c, x, 3, turned, e[3]);
    return kni_concat_of(c, parts, 3, 3);
}

kni_datum kni_rotated(kni_conversion *c, kni_datum x, kni_datum cosines, kni_datum sines, bool interleaved)
{
    if (kni_rank_of(c, cosines) == 3) {
        if (!kni_extent_is(kni_extent_of(c, cosines, 0), 1))
            return rotated_by_rows(c, x, cosines, sines, interleaved);
        cosines = kni_squeeze_at(c, cosines, 0);
        sines = kni_squeeze_at(c, sines, 0);
    }
    return kni_emit(c, "rope", KNI_LIST(x, cosines, sines), KNI_GIVE(KNI_WHOLE("interleaved", interleaved)));
}
