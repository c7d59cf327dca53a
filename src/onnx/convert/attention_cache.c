/* Caches of keys and values: TensorScatter, and what attention appends to its past. */
#include "onnx/convert/attending.h"
#include <string.h>

kni_datum kni_behind_past(kni_conversion *c, kni_datum past, kni_datum x)
{
    if (!kni_is_given(past)) return x;
    if (kni_rank_of(c, past) != 4 || kni_rank_of(c, x) != 4) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "the past has rank %d; it must be [batch, heads, tokens, size]",
                         kni_rank_of(c, past));
        return KNI_ABSENT;
    }
    kni_datum both[2] = {kni_cast_to(c, past, kni_dtype_of(c, x)), x};
    return kni_concat_of(c, both, 2, 2);
}

/* 0, 1 ... along one axis of `rank` axes. */
static kni_datum places_along(kni_conversion *c, int32_t axis, kni_extent size, int32_t rank)
{
    kni_extent e[KN_MAX_RANK];
    for (int32_t i = 0; i < rank; i++) e[i] = KNI_EXTENT(1);
    e[axis] = size;
    return kni_reshape_to(c, kni_counting(c, 0, size, KN_I64), e, rank);
}

/* Where update's elements go: tuples of the indices of all axes up to `axis`, [update's axes up to axis, axis + 1]. */
static kni_datum places_in_cache(kni_conversion *c, kni_datum cache, kni_datum update, kni_datum start,
                                 int32_t axis, bool circular)
{
    kni_extent e[KN_MAX_RANK], ones[KN_MAX_RANK];
    kni_datum list[KN_MAX_RANK];
    kni_extents_of(c, update, e);
    for (int32_t i = 0; i <= axis; i++) ones[i] = KNI_EXTENT(1);
    ones[0] = kni_count_of(c, start);
    for (int32_t i = 0; i <= axis; i++) list[i] = places_along(c, i, e[i], axis + 1);
    start = kni_reshape_to(c, kni_cast_to(c, start, KN_I64), ones, axis + 1);
    list[axis] = kni_emit2(c, "add", list[axis], start);
    if (circular) {
        kni_datum size = kni_size_value(c, kni_extent_of(c, cache, axis));
        list[axis] = kni_emit2(c, "remainder", list[axis], size);
    }
    for (int32_t i = 0; i <= axis; i++)
        list[i] = kni_unsqueeze_at(c, kni_expand_to(c, list[i], e, axis + 1), axis + 1);
    return kni_concat_of(c, list, axis + 1, axis + 1);
}

kni_datum kni_write_cache(kni_conversion *c, kni_datum cache, kni_datum update, kni_datum start, int32_t axis,
                          bool circular)
{
    int32_t rank = kni_rank_of(c, cache);
    if (kni_convert_failed(c)) return KNI_ABSENT;
    if (rank != kni_rank_of(c, update) || axis < 1 || axis >= rank || axis + 1 >= KN_MAX_RANK) {
        kni_convert_fail(
            c, KN_ERROR_SHAPE,
            "a cache of rank %d and an update of rank %d along axis %d do not fit: the ranks are "
            "equal, and axis 0 is the batch",
            rank, kni_rank_of(c, update), axis);
        return KNI_ABSENT;
    }
    kni_datum places = places_in_cache(c, cache, update, start, axis, circular);
    return kni_emit3(c, "scatter_nd", cache, places, kni_cast_to(c, update, kni_dtype_of(c, cache)));
}

/* TensorScatter: cache, update, where each batch begins */
void kni_convert_tensor_scatter(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                int32_t n_in, kni_datum *out, int32_t n_out)
{
    const char *mode = kni_node_text(node, "mode", "linear");
    bool circular = strcmp(mode, "circular") == 0;
    (void)n_in, (void)n_out;
    if (!circular && strcmp(mode, "linear") != 0) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "mode is '%.40s'; it must be linear or circular", mode);
        return;
    }
    int32_t axis = kni_axis_of(c, in[0], kni_node_int(node, "axis", -2));
    kni_extent batch = kni_extent_of(c, in[0], 0);
    kni_datum start = kni_is_given(in[2]) ? in[2] : kni_filled(c, 0, KN_I64, &batch, 1);
    out[0] = kni_write_cache(c, in[0], in[1], start, axis, circular);
}
