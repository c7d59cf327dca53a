/* What converters often need: casts, shapes, slices, reductions and tensors of numbers, each an op or none where nothing changes. */
#include "onnx/convert.h"
#include <string.h>

enum { GROUP = 32 }; /* of operands of one concat */

kni_datum kni_cast_to(kni_conversion *c, kni_datum x, kn_dtype dtype)
{
    if (kni_dtype_of(c, x) == dtype) return x;
    return kni_emit(c, "cast", &x, 1, KNI_GIVE(KNI_WHOLE("dtype", dtype)));
}

/* ---- shapes */

static bool is_shape(kni_conversion *c, kni_datum x, const kni_extent *extents, int32_t rank)
{
    kni_extent now[KN_MAX_RANK];
    if (kni_rank_of(c, x) != rank) return false;
    kni_extents_of(c, x, now);
    for (int32_t a = 0; a < rank; a++)
        if (!kni_extent_same(now[a], extents[a])) return false;
    return true;
}

static bool fits(kni_conversion *c, int32_t rank)
{
    if (rank >= 0 && rank <= KN_MAX_RANK) return true;
    kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "a result has %d axes; %d are supported", rank, KN_MAX_RANK);
    return false;
}

kni_datum kni_reshape_to(kni_conversion *c, kni_datum x, const kni_extent *extents, int32_t rank)
{
    if (!fits(c, rank) || is_shape(c, x, extents, rank)) return x;
    return kni_emit(c, "reshape", &x, 1, KNI_GIVE(KNI_EXTENTS("shape", extents, rank)));
}

kni_datum kni_unsqueeze_at(kni_conversion *c, kni_datum x, int32_t axis)
{
    kni_extent extents[KN_MAX_RANK + 1];
    int32_t rank = kni_extents_of(c, x, extents);
    if (!fits(c, rank + 1)) return KNI_ABSENT;
    axis = kni_axis_in(c, rank + 1, axis);
    memmove(extents + axis + 1, extents + axis, (size_t)(rank - axis) * sizeof *extents);
    extents[axis] = KNI_EXTENT(1);
    return kni_reshape_to(c, x, extents, rank + 1);
}

kni_datum kni_squeeze_at(kni_conversion *c, kni_datum x, int32_t axis)
{
    kni_extent extents[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, x, extents);
    axis = kni_axis_in(c, rank, axis);
    if (kni_convert_failed(c)) return KNI_ABSENT;
    if (!extents[axis].text && extents[axis].value != 1) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "axis %d has %lld elements and cannot be removed", axis,
                         (long long)extents[axis].value);
        return KNI_ABSENT;
    }
    memmove(extents + axis, extents + axis + 1, (size_t)(rank - axis - 1) * sizeof *extents);
    return kni_reshape_to(c, x, extents, rank - 1);
}

kni_datum kni_flatten_at(kni_conversion *c, kni_datum x, int32_t axis)
{
    kni_extent extents[KN_MAX_RANK], both[2];
    int32_t rank = kni_extents_of(c, x, extents);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis > rank) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "axis %d is outside the %d axes", axis, rank);
        return KNI_ABSENT;
    }
    both[0] = kni_extent_product(c, extents, axis);
    both[1] = kni_extent_product(c, extents + axis, rank - axis);
    return kni_reshape_to(c, x, both, 2);
}

kni_datum kni_permute_to(kni_conversion *c, kni_datum x, const int32_t *axes, int32_t n)
{
    kni_extent list[KN_MAX_RANK];
    bool same = true;
    if (!fits(c, n)) return KNI_ABSENT;
    for (int32_t i = 0; i < n; i++) {
        list[i] = KNI_EXTENT(axes[i]);
        same = same && axes[i] == i;
    }
    if (same && n == kni_rank_of(c, x)) return x;
    return kni_emit(c, "permute", &x, 1, KNI_GIVE(KNI_EXTENTS("axes", list, n)));
}

kni_datum kni_swap_axes(kni_conversion *c, kni_datum x, int32_t a, int32_t b)
{
    int32_t axes[KN_MAX_RANK], rank = kni_rank_of(c, x);
    a = kni_axis_in(c, rank, a);
    b = kni_axis_in(c, rank, b);
    if (kni_convert_failed(c)) return KNI_ABSENT;
    for (int32_t i = 0; i < rank; i++) axes[i] = i == a ? b : i == b ? a : i;
    return kni_permute_to(c, x, axes, rank);
}

kni_datum kni_expand_to(kni_conversion *c, kni_datum x, const kni_extent *extents, int32_t rank)
{
    if (!fits(c, rank) || is_shape(c, x, extents, rank)) return x;
    return kni_emit(c, "expand", &x, 1, KNI_GIVE(KNI_EXTENTS("shape", extents, rank)));
}

kni_datum kni_slice_of(kni_conversion *c, kni_datum x, int32_t axis, kni_extent start, kni_extent stop)
{
    kni_extent from[KN_MAX_RANK], to[KN_MAX_RANK], step[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, x, to);
    axis = kni_axis_in(c, rank, axis);
    if (kni_convert_failed(c)) return KNI_ABSENT;
    if (kni_extent_is(start, 0) && kni_extent_same(stop, to[axis])) return x;
    for (int32_t a = 0; a < rank; a++) {
        from[a] = KNI_EXTENT(0);
        step[a] = KNI_EXTENT(1);
    }
    from[axis] = start;
    to[axis] = stop;
    return kni_emit(c, "slice", &x, 1,
                    KNI_GIVE(KNI_EXTENTS("start", from, rank), KNI_EXTENTS("stop", to, rank),
                             KNI_EXTENTS("step", step, rank)));
}

kni_datum kni_concat_of(kni_conversion *c, const kni_datum *list, int32_t n, int32_t axis)
{
    if (n == 1) return list[0];
    if (n <= 0) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "nothing to concatenate");
        return KNI_ABSENT;
    }
    if (n <= GROUP) return kni_emit(c, "concat", list, n, KNI_GIVE(KNI_WHOLE("axis", axis)));
    int32_t groups = (n - 1) / GROUP + 1;
    kni_datum *joined = kni_convert_memory(c, (size_t)groups, sizeof *joined);
    for (int32_t g = 0; joined && g < groups; g++) {
        int32_t from = g * GROUP, count = n - from < GROUP ? n - from : GROUP;
        joined[g] = kni_concat_of(c, list + from, count, axis);
    }
    return joined ? kni_concat_of(c, joined, groups, axis) : KNI_ABSENT;
}

kni_datum kni_pad_with(kni_conversion *c, kni_datum x, const kni_extent *before, const kni_extent *after,
                       double value)
{
    int32_t rank = kni_rank_of(c, x);
    bool nothing = true;
    for (int32_t a = 0; a < rank; a++)
        nothing = nothing && kni_extent_is(before[a], 0) && kni_extent_is(after[a], 0);
    if (nothing) return x;
    return kni_emit(c, "pad", &x, 1,
                    KNI_GIVE(KNI_EXTENTS("before", before, rank), KNI_EXTENTS("after", after, rank),
                             KNI_REAL("value", value)));
}

kni_datum kni_reduce_over(kni_conversion *c, const char *op, kni_datum x, const int32_t *axes, int32_t n,
                          bool keep)
{
    kni_extent list[KN_MAX_RANK];
    if (!fits(c, n)) return KNI_ABSENT;
    for (int32_t i = 0; i < n; i++) list[i] = KNI_EXTENT(axes[i]);
    return kni_emit(c, op, &x, 1, KNI_GIVE(KNI_EXTENTS("axes", list, n), KNI_WHOLE("keep", keep)));
}

/* ---- tensors of numbers */

/* A real number as a whole one, within the range. */
static int64_t whole_of(double value)
{
    if (value != value) return 0;
    if (value >= 9223372036854775807.0) return INT64_MAX;
    return value <= -9223372036854775808.0 ? INT64_MIN : (int64_t)value;
}

kni_datum kni_filled(kni_conversion *c, double value, kn_dtype dtype, const kni_extent *extents, int32_t rank)
{
    if (!fits(c, rank)) return KNI_ABSENT;
    return kni_emit(c, "full", NULL, 0,
                    KNI_GIVE(KNI_EXTENTS("shape", extents, rank), KNI_WHOLE("dtype", dtype),
                             KNI_REAL("value", value), KNI_WHOLE("whole", whole_of(value))));
}

kni_datum kni_counting(kni_conversion *c, int64_t start, kni_extent length, kn_dtype dtype)
{
    return kni_emit(c, "iota", NULL, 0,
                    KNI_GIVE(KNI_ONE_EXTENT("length", length), KNI_WHOLE("dtype", dtype),
                             KNI_REAL("start", (double)start), KNI_REAL("step", 1.0),
                             KNI_WHOLE("whole_start", start), KNI_WHOLE("whole_step", 1)));
}
