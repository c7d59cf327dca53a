/* Axes, types and index tensors that converters of numbers share. */
#include "onnx/convert/convert_numbers.h"
#include <kn/tensor.h>

kni_datum kni_widened(kni_conversion *c, kni_datum x)
{
    kn_dtype dtype = kni_dtype_of(c, x);
    return kni_is_half(dtype) || kn_dtype_is_stored(dtype) ? kni_cast_to(c, x, KN_F32) : x;
}

kn_dtype kni_node_dtype(kni_conversion *c, const kni_onnx_node *node, const char *attribute,
                        kn_dtype otherwise)
{
    if (!kni_node_attribute(node, attribute)) return otherwise;
    int64_t type = kni_node_int(node, attribute, 0);
    kn_dtype dtype = type > 0 && type < KNI_ONNX_TYPE_COUNT ? kni_onnx_dtype((int32_t)type) : KN_DTYPE_NONE;
    if (dtype == KN_DTYPE_NONE)
        kni_convert_fail(
            c, KN_ERROR_UNSUPPORTED, "there are no tensors of type %s (%lld), which '%s' asks for",
            type > 0 && type < KNI_ONNX_TYPE_COUNT ? kni_onnx_type_name((int32_t)type) : "unknown",
            (long long)type, attribute);
    return dtype;
}

/* ---- axes */

int32_t kni_axes_given(kni_conversion *c, const kni_onnx_node *node, kni_datum input, int32_t rank,
                       int32_t axes[KN_MAX_RANK])
{
    int64_t n = 0;
    const int64_t *list =
        kni_is_given(input) ? kni_known_ints(c, input, "the axes", &n) : kni_node_ints(node, "axes", &n);
    if (!kni_is_given(input) && !kni_node_attribute(node, "axes")) return -1;
    uint32_t seen = 0;
    if (n > KN_MAX_RANK)
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "%lld axes are named; at most %d", (long long)n, KN_MAX_RANK);
    for (int64_t i = 0; i < n && !kni_convert_failed(c); i++) {
        int32_t axis = kni_axis_in(c, rank, list[i]);
        if (kni_convert_failed(c)) break;
        if (seen >> axis & 1)
            kni_convert_fail(c, KN_ERROR_ARGUMENT, "axis %lld is named twice", (long long)list[i]);
        seen |= 1U << axis;
        axes[i] = axis;
    }
    return kni_convert_failed(c) ? 0 : (int32_t)n;
}

kni_datum kni_counting_along(kni_conversion *c, int64_t start, kni_extent length, int32_t axis, int32_t rank)
{
    kni_extent sizes[KN_MAX_RANK];
    for (int32_t i = 0; i < rank && i < KN_MAX_RANK; i++) sizes[i] = i == axis ? length : KNI_EXTENT(1);
    return kni_reshape_to(c, kni_counting(c, start, length, KN_I64), sizes, rank);
}

kni_datum kni_stepped_slice(kni_conversion *c, kni_datum x, int32_t axis, kni_extent start, kni_extent stop,
                            int64_t step)
{
    kni_extent starts[KN_MAX_RANK], stops[KN_MAX_RANK], steps[KN_MAX_RANK];
    int32_t rank = kni_rank_of(c, x);
    for (int32_t i = 0; i < rank; i++) {
        starts[i] = i == axis ? start : KNI_EXTENT(0);
        stops[i] = i == axis ? stop : KNI_EXTENT(INT64_MAX);
        steps[i] = KNI_EXTENT(i == axis ? step : 1);
    }
    return kni_emit(c, "slice", &x, 1,
                    KNI_GIVE(KNI_EXTENTS("start", starts, rank), KNI_EXTENTS("stop", stops, rank),
                             KNI_EXTENTS("step", steps, rank)));
}

kni_datum kni_reversed(kni_conversion *c, kni_datum x, int32_t axis)
{
    return kni_stepped_slice(c, x, axis, KNI_EXTENT(-1), KNI_EXTENT(INT64_MAX), -1);
}

/* Of two sizes that agree, or of which one is 1. An expression against a number other than 1 is that number, or 1. */
static kni_extent joined(kni_conversion *c, kni_extent a, kni_extent b)
{
    if (kni_extent_is(a, 1) || kni_extent_same(a, b)) return b;
    if (kni_extent_is(b, 1)) return a;
    if (!a.text && !b.text)
        kni_convert_fail(c, KN_ERROR_SHAPE, "sizes of %lld and %lld do not broadcast", (long long)a.value,
                         (long long)b.value);
    if (!a.text || !b.text) return a.text ? b : a;
    return kni_extent_max(c, a, b);
}

int32_t kni_broadcast_extents(kni_conversion *c, const kni_extent *a, int32_t rank_a, const kni_extent *b,
                              int32_t rank_b, kni_extent out[KN_MAX_RANK])
{
    int32_t rank = rank_a > rank_b ? rank_a : rank_b;
    for (int32_t i = 0; i < rank; i++) {
        int32_t from_a = i - (rank - rank_a), from_b = i - (rank - rank_b);
        kni_extent x = from_a < 0 ? KNI_EXTENT(1) : a[from_a], y = from_b < 0 ? KNI_EXTENT(1) : b[from_b];
        out[i] = joined(c, x, y);
    }
    return rank;
}
