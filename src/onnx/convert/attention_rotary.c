/* RotaryEmbedding of ai.onnx and of com.microsoft. */
#include "onnx/convert/attending.h"

/* Member `which` of each pair of x [..., 2 half]. */
static kni_datum members(kni_conversion *c, kni_datum x, kni_extent half, bool interleaved, int which)
{
    int32_t rank = kni_rank_of(c, x);
    if (!interleaved) {
        kni_extent from = which ? half : KNI_EXTENT(0);
        return kni_slice_of(c, x, rank - 1, from, kni_extent_add(c, from, half));
    }
    kni_extent e[KN_MAX_RANK];
    kni_extents_of(c, x, e);
    e[rank - 1] = half, e[rank] = KNI_EXTENT(2);
    x = kni_slice_of(c, kni_reshape_to(c, x, e, rank + 1), rank, KNI_EXTENT(which), KNI_EXTENT(which + 1));
    return kni_reshape_to(c, x, e, rank);
}

kni_datum kni_turn(kni_conversion *c, kni_datum x, kni_datum cosines, kni_datum sines, bool interleaved)
{
    kni_extent e[KN_MAX_RANK], t[KN_MAX_RANK];
    kn_dtype dtype = kni_dtype_of(c, x);
    if (kni_convert_failed(c)) return KNI_ABSENT;
    if (kni_extents_of(c, x, e) != 4 || kni_extents_of(c, cosines, t) != 3 || kni_rank_of(c, sines) != 3) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "cosines and sines must be [batch, tokens, half]");
        return KNI_ABSENT;
    }
    cosines = kni_cast_to(c, cosines, dtype);
    sines = kni_cast_to(c, sines, dtype);
    if (kni_extent_is(t[0], 1))
        return kni_emit(c, "rope",
                        KNI_LIST(x, kni_reshape_to(c, cosines, t + 1, 2), kni_reshape_to(c, sines, t + 1, 2)),
                        KNI_GIVE(KNI_WHOLE("interleaved", interleaved)));
    kni_extent half = t[2], size = kni_extent_mul(c, KNI_EXTENT(2), half), whole = e[3];
    kni_datum turned = kni_slice_of(c, x, 3, KNI_EXTENT(0), size);
    kni_datum a = members(c, turned, half, interleaved, 0), b = members(c, turned, half, interleaved, 1);
    cosines = kni_unsqueeze_at(c, cosines, 1);
    sines = kni_unsqueeze_at(c, sines, 1);
    kni_datum parts[2] = {
        kni_emit2(c, "sub", kni_emit2(c, "mul", a, cosines), kni_emit2(c, "mul", b, sines)),
        kni_emit2(c, "add", kni_emit2(c, "mul", a, sines), kni_emit2(c, "mul", b, cosines))};
    if (interleaved) {
        for (int i = 0; i < 2; i++) parts[i] = kni_unsqueeze_at(c, parts[i], 4);
        e[3] = size;
        parts[0] = kni_reshape_to(c, kni_concat_of(c, parts, 2, 4), e, 4);
    } else {
        parts[0] = kni_concat_of(c, parts, 2, 3);
    }
    if (kni_extent_same(size, whole)) return parts[0];
    parts[1] = kni_slice_of(c, x, 3, size, whole);
    return kni_concat_of(c, parts, 2, 3);
}

/* x [batch, heads, tokens, size] or with its heads joined; places [batch, tokens], or absent with tables for each batch. */
static kni_datum turn_any(kni_conversion *c, const kni_onnx_node *node, kni_datum x, kni_datum places,
                          kni_datum cosines, kni_datum sines, int64_t heads)
{
    bool joined = kni_rank_of(c, x) == 3;
    if (joined) x = kni_heads_apart(c, x, heads);
    if (kni_is_given(places)) {
        cosines = kni_emit(c, "take", KNI_LIST(cosines, places), KNI_GIVE(KNI_WHOLE("axis", 0)));
        sines = kni_emit(c, "take", KNI_LIST(sines, places), KNI_GIVE(KNI_WHOLE("axis", 0)));
    }
    kni_extent half = kni_extent_of(c, cosines, -1);
    int64_t size = kni_node_int(node, "rotary_embedding_dim", 0);
    if (size && !half.text && half.value != size / 2) {
        kni_convert_fail(c, KN_ERROR_SHAPE,
                         "the tables have %lld columns; rotary_embedding_dim asks for %lld",
                         (long long)half.value, (long long)(size / 2));
        return KNI_ABSENT;
    }
    x = kni_turn(c, x, cosines, sines, kni_node_int(node, "interleaved", 0) != 0);
    return joined ? kni_heads_together(c, x) : x;
}

/* x, cosines, sines, places */
void kni_convert_rotary(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                        kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    out[0] = turn_any(c, node, in[0], in[3], in[1], in[2], kni_node_int(node, "num_heads", 0));
}

/* x, places, cosines, sines. One place is that of the first token of all batches; without num_heads the tables tell the size of a
   head. */
void kni_convert_fused_rotary(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                              kni_datum *out, int32_t n_out)
{
    kni_datum x = in[0], places = in[1];
    int64_t heads = kni_node_int(node, "num_heads", 0);
    int32_t rank = kni_rank_of(c, x);
    (void)n_in, (void)n_out;
    if (rank == 3 && heads == 0) {
        kni_extent size = kni_extent_mul(c, KNI_EXTENT(2), kni_extent_of(c, in[2], -1));
        heads = kni_extent_number(c, kni_extent_div(c, kni_extent_of(c, x, 2), size), "the number of heads");
    }
    if (kni_rank_of(c, places) < 2) {
        kni_extent tokens = kni_extent_of(c, x, rank == 3 ? 1 : 2);
        places = kni_reshape_to(c, kni_cast_to(c, places, KN_I64), (kni_extent[]){KNI_EXTENT(1)}, 1);
        places = kni_unsqueeze_at(c, kni_emit2(c, "add", places, kni_key_places(c, tokens)), 0);
    }
    out[0] = turn_any(c, node, x, places, in[2], in[3], heads);
}

/* Which of the three places (0 of time, 1 of height, 2 of width) turns each column of the tables. */
static bool sections_of(kni_conversion *c, const kni_onnx_node *node, int64_t half, int64_t *which)
{
    int64_t n = 0, at = 0;
    const int64_t *section = kni_node_ints(node, "mrope_section", &n);
    bool mixed = kni_node_int(node, "mrope_layout", 0) == 1;
    if (n != 3 || section[0] < 0 || section[1] < 0 || section[2] < 0 || section[0] > half ||
        section[1] > half || section[2] > half || section[0] + section[1] + section[2] != half) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "mrope_section must be three numbers whose sum is %lld",
                         (long long)half);
        return false;
    }
    for (int64_t s = 0; s < 3 && !mixed; s++)
        for (int64_t i = 0; i < section[s]; i++) which[at++] = s;
    for (int64_t s = 1; s < 3 && mixed; s++)
        for (int64_t i = s; i < 3 * section[s] && i < half; i += 3) which[i] = s;
    return true;
}

/* A table [places, half] for tokens at `places` [3, batch, tokens], each column by the place that turns it: [batch, tokens, half]. */
static kni_datum table_of_three(kni_conversion *c, kni_datum table, kni_datum places, const int64_t *which,
                                int64_t half)
{
    const int64_t sizes[] = {half};
    kni_datum rows = kni_emit(c, "take", KNI_LIST(table, places), KNI_GIVE(KNI_WHOLE("axis", 0)));
    kni_datum y = KNI_ABSENT, choice = kni_constant(c, which, KN_I64, sizes, 1);
    for (int64_t s = 0; s < 3; s++) {
        kni_datum one = kni_squeeze_at(c, kni_slice_of(c, rows, 0, KNI_EXTENT(s), KNI_EXTENT(s + 1)), 0);
        kni_datum is = kni_emit2(c, "equal", choice, kni_whole_number(c, s, KN_I64));
        y = s ? kni_emit3(c, "where", is, one, y) : one;
    }
    return y;
}

/* x, places [3, batch, tokens], cosines, sines */
void kni_convert_multi_rotary(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                              kni_datum *out, int32_t n_out)
{
    int64_t heads = kni_node_int(node, "num_heads", 0);
    (void)n_in, (void)n_out;
    int64_t half = kni_extent_number(c, kni_extent_of(c, in[2], -1), "the columns of the tables");
    int64_t *which = kni_convert_failed(c) ? NULL : kni_convert_memory(c, (size_t)half, sizeof *which);
    if (!which || !sections_of(c, node, half, which)) return;
    if (kni_rank_of(c, in[1]) != 3) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "position_ids must be [3, batch, tokens]");
        return;
    }
    if (kni_rank_of(c, in[0]) == 3 && heads == 0)
        heads = kni_extent_number(c, kni_extent_div(c, kni_extent_of(c, in[0], 2), KNI_EXTENT(2 * half)),
                                  "the number of heads");
    kni_datum cosines = table_of_three(c, in[2], in[1], which, half);
    kni_datum sines = table_of_three(c, in[3], in[1], which, half);
    out[0] = turn_any(c, node, in[0], KNI_ABSENT, cosines, sines, heads);
}
