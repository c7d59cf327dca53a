/* Operators that ask for shapes and change them. Parts and joins of tensors are in convert_parts.c, new tensors in convert_create.c. */
#include "onnx/convert/convert_numbers.h"

/* ---- shapes as values */

static int64_t within(int64_t at, int64_t rank)
{
    if (at < 0) at += rank;
    return at < 0 ? 0 : at > rank ? rank : at;
}

static void shape(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    kni_extent sizes[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, in[0], sizes);
    int64_t start = within(kni_node_int(node, "start", 0), rank),
            end = within(kni_node_int(node, "end", rank), rank);
    out[0] = kni_known_list(c, sizes + start, end > start ? end - start : 0, false);
}

static void size(KNI_CONVERTS)
{
    (void)node;
    KNI_UNUSED_COUNTS;
    out[0] = kni_extent_value(c, kni_count_of(c, in[0]));
}

/* ---- Reshape */

/* The product of a divided by the product of b: sizes that both have, as expressions of unknown sizes, are left out first. */
static kni_extent quotient(kni_conversion *c, const kni_extent *a, int32_t n_a, const kni_extent *b,
                           int32_t n_b)
{
    kni_extent over[KN_MAX_RANK], under[KN_MAX_RANK];
    bool used[KN_MAX_RANK] = {false};
    int32_t n_over = 0, n_under = 0;
    for (int32_t i = 0; i < n_b; i++) {
        int32_t k = 0;
        while (k < n_a && (used[k] || !kni_extent_same(a[k], b[i]))) k++;
        if (k < n_a)
            used[k] = true;
        else
            under[n_under++] = b[i];
    }
    for (int32_t k = 0; k < n_a; k++)
        if (!used[k]) over[n_over++] = a[k];
    kni_extent top = kni_extent_product(c, over, n_over), bottom = kni_extent_product(c, under, n_under);
    if (kni_extent_is(bottom, 1)) return top;
    if (!top.text && !bottom.text && (bottom.value == 0 || top.value % bottom.value != 0)) {
        kni_convert_fail(c, KN_ERROR_SHAPE,
                         "%lld elements cannot be shared out among %lld: -1 in the shape has no value",
                         (long long)top.value, (long long)bottom.value);
        return KNI_EXTENT(0);
    }
    return kni_extent_div(c, top, bottom);
}

/* 0 keeps a size of x, unless allowzero; -1 is what remains. */
static int32_t target_sizes(kni_conversion *c, kni_datum x, const kni_extent *given, int64_t n,
                            bool allow_zero, kni_extent target[KN_MAX_RANK])
{
    kni_extent own[KN_MAX_RANK], others[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, x, own), open = -1, n_others = 0;
    if (n > KN_MAX_RANK)
        kni_convert_fail(c, KN_ERROR_SHAPE, "the shape has %lld axes; at most %d", (long long)n, KN_MAX_RANK);
    for (int32_t i = 0; i < n && !kni_convert_failed(c); i++) {
        target[i] = given[i];
        if (kni_extent_is(given[i], 0) && !allow_zero) {
            if (i >= rank)
                kni_convert_fail(c, KN_ERROR_SHAPE,
                                 "size %d of the shape is 0, for the size of x, which has %d axes", i, rank);
            else
                target[i] = own[i];
        } else if (!given[i].text && given[i].value < 0) {
            if (open >= 0 || given[i].value != -1)
                kni_convert_fail(c, KN_ERROR_SHAPE, "the shape has %s",
                                 given[i].value != -1 ? "a negative size" : "-1 twice");
            open = i;
            continue;
        }
        others[n_others++] = target[i];
    }
    if (kni_convert_failed(c)) return 0;
    if (open >= 0) target[open] = quotient(c, own, rank, others, n_others);
    return (int32_t)n;
}

static void reshape(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    int64_t n = 0;
    kni_extent target[KN_MAX_RANK];
    const kni_extent *given = NULL;
    if (node->version < 5) {
        const int64_t *list = kni_node_ints(node, "shape", &n);
        kni_extent *copy = kni_convert_memory(c, (size_t)(n + 1), sizeof *copy);
        for (int64_t i = 0; copy && i < n; i++) copy[i] = KNI_EXTENT(list[i]);
        given = copy;
    } else {
        given = kni_known_extents(c, in[1], "the shape", &n);
    }
    if (!given) return;
    int32_t rank = target_sizes(c, in[0], given, n, kni_node_int(node, "allowzero", 0) != 0, target);
    if (!kni_convert_failed(c)) out[0] = kni_reshape_to(c, in[0], target, rank);
}

/* ---- axes that come and go */

static void flatten(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    int32_t rank = kni_rank_of(c, in[0]);
    int64_t axis = kni_node_int(node, "axis", 1);
    out[0] = kni_flatten_at(c, in[0], axis == rank ? rank : kni_axis_of(c, in[0], axis));
}

static void squeeze(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    kni_extent sizes[KN_MAX_RANK], left[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, in[0], sizes), axes[KN_MAX_RANK], rest = 0;
    int32_t n = kni_axes_given(c, node, in[1], rank, axes);
    uint32_t gone = 0;
    for (int32_t i = 0; i < n; i++) gone |= 1U << axes[i];
    for (int32_t i = 0; i < rank; i++) {
        bool goes = n < 0 ? kni_extent_is(sizes[i], 1) : gone >> i & 1;
        if (!goes)
            left[rest++] = sizes[i];
        else if (!sizes[i].text && sizes[i].value != 1)
            kni_convert_fail(c, KN_ERROR_SHAPE, "axis %d has %lld elements and not one", i,
                             (long long)sizes[i].value);
    }
    out[0] = kni_reshape_to(c, in[0], left, rest);
}

static void unsqueeze(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    int64_t n = 0;
    kni_extent sizes[KN_MAX_RANK], wide[KN_MAX_RANK];
    const int64_t *list =
        kni_is_given(in[1]) ? kni_known_ints(c, in[1], "the axes", &n) : kni_node_ints(node, "axes", &n);
    int32_t rank = kni_extents_of(c, in[0], sizes), at = 0;
    if (n > KN_MAX_RANK - rank)
        kni_convert_fail(c, KN_ERROR_SHAPE, "%d axes and %lld more are too many; at most %d", rank,
                         (long long)n, KN_MAX_RANK);
    if (kni_convert_failed(c)) return;
    uint32_t added = 0;
    int32_t total = rank + (int32_t)n;
    for (int64_t i = 0; i < n; i++) {
        int32_t axis = kni_axis_in(c, total, list[i]);
        if (kni_convert_failed(c)) return;
        if (added >> axis & 1) kni_convert_fail(c, KN_ERROR_ARGUMENT, "axis %d is named twice", axis);
        added |= 1U << axis;
    }
    if (kni_convert_failed(c)) return;
    for (int32_t i = 0; i < total; i++) wide[i] = added >> i & 1 ? KNI_EXTENT(1) : sizes[at++];
    out[0] = kni_reshape_to(c, in[0], wide, total);
}

static void transpose(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    int64_t n = 0;
    const int64_t *list = kni_node_ints(node, "perm", &n);
    int32_t rank = kni_rank_of(c, in[0]), axes[KN_MAX_RANK];
    uint32_t seen = 0;
    if (!list || (n == 0 && rank > 0)) {
        for (int32_t i = 0; i < rank; i++) axes[i] = rank - 1 - i;
    } else if (n != rank) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "perm has %lld axes, and the tensor %d", (long long)n, rank);
    } else {
        for (int32_t i = 0; i < rank && !kni_convert_failed(c); i++) {
            axes[i] = kni_axis_of(c, in[0], list[i]);
            seen |= kni_convert_failed(c) ? 0 : 1U << axes[i];
        }
        if (!kni_convert_failed(c) && seen != (1U << rank) - 1)
            kni_convert_fail(c, KN_ERROR_ARGUMENT, "perm names an axis twice");
    }
    if (!kni_convert_failed(c)) out[0] = kni_permute_to(c, in[0], axes, rank);
}

/* ---- joins and repetitions */

static void concat(KNI_CONVERTS)
{
    (void)n_out;
    int32_t axis = kni_axis_of(c, in[0], kni_node_int(node, "axis", node->version < 4 ? 1 : 0));
    out[0] = n_in == 1 ? in[0] : kni_concat_of(c, in, n_in, axis);
}

/* Both ways: sizes of 1 in the shape keep those of x. */
static void expand(KNI_CONVERTS)
{
    (void)node;
    KNI_UNUSED_COUNTS;
    int64_t n = 0;
    kni_extent own[KN_MAX_RANK], sizes[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, in[0], own);
    const kni_extent *shape_given = kni_known_counts(c, in[1], "the shape", &n);
    if (!shape_given) return;
    if (n > KN_MAX_RANK) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "the shape has %lld axes; at most %d", (long long)n, KN_MAX_RANK);
        return;
    }
    rank = kni_broadcast_extents(c, own, rank, shape_given, (int32_t)n, sizes);
    out[0] = kni_expand_to(c, in[0], sizes, rank);
}

/* x `times` times along one axis: as [before, 1, axis and behind], whose middle axis is expanded. */
static kni_datum repeated(kni_conversion *c, kni_datum x, int32_t axis, kni_extent times)
{
    kni_extent sizes[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, x, sizes);
    kni_extent parts[3] = {kni_extent_product(c, sizes, axis), KNI_EXTENT(1),
                           kni_extent_product(c, sizes + axis, rank - axis)};
    kni_datum y = kni_reshape_to(c, x, parts, 3);
    parts[1] = times;
    y = kni_expand_to(c, y, parts, 3);
    sizes[axis] = kni_extent_mul(c, sizes[axis], times);
    return kni_reshape_to(c, y, sizes, rank);
}

static void tile(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    int64_t n = 0;
    int32_t rank = kni_rank_of(c, in[0]);
    const kni_extent *times = kni_known_counts(c, in[1], "the repeats", &n);
    if (!times) return;
    if (node->version < 6) {
        int32_t axis = kni_axis_of(c, in[0], kni_known_int(c, in[2], "the axis", 0));
        if (!kni_convert_failed(c) && n == 1) out[0] = repeated(c, in[0], axis, times[0]);
        return;
    }
    if (n != rank) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "%lld repeats are given for %d axes", (long long)n, rank);
        return;
    }
    kni_datum y = in[0];
    for (int32_t i = rank - 1; i >= 0; i--)
        if (!kni_extent_is(times[i], 1)) y = repeated(c, y, i, times[i]);
    out[0] = y;
}

/* ---- the table */

#define DRAWS(op, since, convert)                                                                            \
    {                                                                                                        \
        "", op, since, 0, convert, KNI_ONNX_RANDOM, "floats"                                                 \
    }
#define ALL "floats integers bool strings stored"

const kni_onnx_converter kni_onnx_shape[] = {
    DRAWS("Bernoulli", 15, kni_convert_bernoulli),
    KNI_ONNX_ROW("Compress", 9, kni_convert_compress, ALL),
    KNI_ONNX_ROW("Concat", 1, concat, ALL),
    KNI_ONNX_ROW("ConstantOfShape", 9, kni_convert_constant_of_shape, "floats integers bool stored"),
    KNI_ONNX_ROW("Crop", 1, kni_convert_crop, "floats integers bool"),
    KNI_ONNX_ROW("DynamicSlice", 1, kni_convert_slice, "floats integers bool"),
    KNI_ONNX_ROW("Expand", 8, expand, ALL),
    KNI_ONNX_ROW("EyeLike", 9, kni_convert_eye_like, "floats integers bool"),
    KNI_ONNX_ROW("Flatten", 1, flatten, ALL),
    KNI_ONNX_ROW("Gather", 1, kni_convert_gather, ALL),
    KNI_ONNX_ROW("GatherElements", 11, kni_convert_gather_elements, ALL),
    DRAWS("Multinomial", 7, kni_convert_multinomial),
    KNI_ONNX_ROW("OneHot", 9, kni_convert_one_hot, "floats integers bool strings"),
    KNI_ONNX_ROW("Pad", 1, kni_convert_pad, ALL),
    DRAWS("RandomNormal", 1, kni_convert_random),
    DRAWS("RandomNormalLike", 1, kni_convert_random),
    DRAWS("RandomUniform", 1, kni_convert_random),
    DRAWS("RandomUniformLike", 1, kni_convert_random),
    KNI_ONNX_ROW("Range", 11, kni_convert_range, "floats integers"),
    KNI_ONNX_ROW("Reshape", 1, reshape, ALL),
    KNI_ONNX_ROW("ReverseSequence", 10, kni_convert_reverse_sequence, ALL),
    KNI_ONNX_ROW("Shape", 1, shape, ALL),
    KNI_ONNX_ROW("Size", 1, size, ALL),
    KNI_ONNX_ROW("Slice", 1, kni_convert_slice, ALL),
    KNI_ONNX_ROW("Split", 1, kni_convert_split, ALL),
    KNI_ONNX_ROW("Squeeze", 1, squeeze, ALL),
    KNI_ONNX_ROW("Tile", 1, tile, ALL),
    KNI_ONNX_ROW("Transpose", 1, transpose, ALL),
    KNI_ONNX_ROW("Trilu", 14, kni_convert_trilu, "floats integers bool stored"),
    KNI_ONNX_ROW("Unsqueeze", 1, unsqueeze, ALL),
    {0},
};
