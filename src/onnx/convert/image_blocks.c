/* Images from blocks of their elements and back, grids to sample at, and what is cut out of their middle. */
#include "onnx/convert/image_parts.h"

static int64_t list_entry(const int64_t *list, int64_t n, int64_t i, int64_t otherwise)
{
    return list && i < n ? list[i] : otherwise;
}

/* ---- Col2Im */

void kni_convert_col2im(KNI_CONVERTS)
{
    enum { MOST = 3 };
    int64_t axes = 0, n_block = 0, n[3] = {0, 0, 0};
    KNI_UNUSED_COUNTS;
    const kni_extent *image = kni_known_extents(c, in[1], "the list of the image's sizes", &axes);
    const int64_t *block = kni_known_ints(c, in[2], "the list of the block's sizes", &n_block);
    const int64_t *dilations = kni_node_ints(node, "dilations", &n[0]),
                  *pads = kni_node_ints(node, "pads", &n[1]),
                  *strides = kni_node_ints(node, "strides", &n[2]);
    kni_extent lists[5][MOST];
    if (!image || !block) return;
    if (axes < 1 || axes > MOST || n_block != axes || (dilations && n[0] != axes) ||
        (pads && n[1] != 2 * axes) || (strides && n[2] != axes)) {
        kni_convert_fail(c, axes > MOST ? KN_ERROR_UNSUPPORTED : KN_ERROR_SHAPE,
                         "images of %lld axes with blocks of %lld: 1 to %d axes are supported, with as many "
                         "entries in each list",
                         (long long)axes, (long long)n_block, MOST);
        return;
    }
    for (int64_t i = 0; i < axes; i++) {
        lists[0][i] = KNI_EXTENT(block[i]);
        lists[1][i] = KNI_EXTENT(list_entry(strides, n[2], i, 1));
        lists[2][i] = KNI_EXTENT(list_entry(pads, n[1], i, 0));
        lists[3][i] = KNI_EXTENT(list_entry(pads, n[1], axes + i, 0));
        lists[4][i] = KNI_EXTENT(list_entry(dilations, n[0], i, 1));
    }
    int32_t count = (int32_t)axes;
    out[0] = kni_emit(c, "col2im", in, 1,
                      KNI_GIVE(KNI_WHOLE("axes", axes), KNI_EXTENTS("size", image, count),
                               KNI_EXTENTS("window", lists[0], count), KNI_EXTENTS("stride", lists[1], count),
                               KNI_EXTENTS("padding", lists[2], count),
                               KNI_EXTENTS("padding_end", lists[3], count),
                               KNI_EXTENTS("dilation", lists[4], count)));
}

/* ---- DepthToSpace, SpaceToDepth */

static bool block_of(kni_conversion *c, const kni_onnx_node *node, kni_datum x, kni_extent *sizes,
                     kni_extent *block)
{
    int64_t size = kni_node_int(node, "blocksize", 0);
    int32_t rank = kni_rank_of(c, x);
    if (!kni_convert_failed(c) && rank != 4)
        kni_convert_fail(c, KN_ERROR_SHAPE, "x has %d axes; batch, channels, height and width are needed",
                         rank);
    if (!kni_convert_failed(c) && (size < 1 || size > 1 << 20))
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "the blocksize is %lld; it must be positive", (long long)size);
    if (kni_convert_failed(c)) return false;
    kni_extents_of(c, x, sizes);
    *block = KNI_EXTENT(size);
    return true;
}

/* A size in equal parts of `by`. */
static kni_extent part_of(kni_conversion *c, kni_extent size, kni_extent by, const char *what)
{
    if (kni_convert_failed(c)) return KNI_EXTENT(0); /* sizes after a failure are 0 */
    if (!size.text && size.value % by.value != 0)
        kni_convert_fail(c, KN_ERROR_SHAPE, "%lld %s are no multiple of %lld", (long long)size.value, what,
                         (long long)by.value);
    return kni_extent_div(c, size, by);
}

static kni_datum rearrange(kni_conversion *c, kni_datum x, const kni_extent *split, const int32_t *order,
                           const kni_extent *joined)
{
    if (kni_convert_failed(c)) return KNI_ABSENT;
    return kni_reshape_to(c, kni_permute_to(c, kni_reshape_to(c, x, split, 6), order, 6), joined, 4);
}

void kni_convert_depth_to_space(KNI_CONVERTS)
{
    static const char *const modes[] = {"DCR", "CRD", NULL};
    static const int32_t orders[2][6] = {{0, 3, 4, 1, 5, 2}, {0, 1, 4, 2, 5, 3}};
    kni_extent e[KN_MAX_RANK], b;
    KNI_UNUSED_COUNTS;
    if (!block_of(c, node, in[0], e, &b)) return;
    int32_t mode = kni_node_choice(c, node, "mode", "DCR", modes);
    kni_extent depth = part_of(c, e[1], kni_extent_mul(c, b, b), "channels");
    kni_extent columns_last[] = {e[0], b, b, depth, e[2], e[3]},
               rows_first[] = {e[0], depth, b, b, e[2], e[3]};
    kni_extent joined[] = {e[0], depth, kni_extent_mul(c, e[2], b), kni_extent_mul(c, e[3], b)};
    out[0] = rearrange(c, in[0], mode ? rows_first : columns_last, orders[mode], joined);
}

void kni_convert_space_to_depth(KNI_CONVERTS)
{
    static const int32_t order[] = {0, 3, 5, 1, 2, 4};
    kni_extent e[KN_MAX_RANK], b;
    KNI_UNUSED_COUNTS;
    if (!block_of(c, node, in[0], e, &b)) return;
    kni_extent height = part_of(c, e[2], b, "rows"), width = part_of(c, e[3], b, "columns");
    kni_extent split[] = {e[0], e[1], height, b, width, b};
    kni_extent joined[] = {e[0], kni_extent_mul(c, e[1], kni_extent_mul(c, b, b)), height, width};
    out[0] = rearrange(c, in[0], split, order, joined);
}

/* ---- CenterCropPad */

void kni_convert_center_crop_pad(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    int32_t axes[KN_MAX_RANK], rank = kni_rank_of(c, in[0]);
    int32_t n_axes = kni_axes_given(c, node, KNI_ABSENT, rank, axes);
    int64_t n = 0;
    const kni_extent *shape = kni_known_extents(c, in[1], "the shape", &n), two = KNI_EXTENT(2);
    kni_extent before[KN_MAX_RANK], after[KN_MAX_RANK];
    for (int32_t i = 0; n_axes < 0 && i < rank; i++) axes[i] = i;
    if (n_axes < 0) n_axes = rank;
    if (shape && n != n_axes)
        kni_convert_fail(c, KN_ERROR_SHAPE, "the shape has %lld sizes for %d axes", (long long)n, n_axes);
    if (kni_convert_failed(c)) return;
    for (int32_t i = 0; i < rank; i++) before[i] = after[i] = KNI_EXTENT(0);
    kni_datum x = in[0];
    bool pads = false;
    for (int32_t i = 0; i < n_axes; i++) {
        kni_extent size = kni_extent_of(c, in[0], axes[i]), kept = kni_extent_min(c, size, shape[i]);
        kni_extent cut = kni_extent_div(c, kni_extent_sub(c, size, kept), two);
        kni_extent more = kni_extent_sub(c, shape[i], kept);
        if (!kni_extent_same(kept, size)) x = kni_slice_of(c, x, axes[i], cut, kni_extent_add(c, cut, kept));
        before[axes[i]] = kni_extent_div(c, more, two);
        after[axes[i]] = kni_extent_sub(c, more, before[axes[i]]);
        pads = pads || !kni_extent_is(more, 0);
    }
    if (pads) x = kni_pad_with(c, x, before, after, 0);
    /* Of open sizes the sums above are long, and what comes out is known. */
    kni_extent sizes[KN_MAX_RANK];
    kni_extents_of(c, in[0], sizes);
    for (int32_t i = 0; i < n_axes; i++) sizes[axes[i]] = shape[i];
    out[0] = kni_reshape_to(c, x, sizes, rank);
}

/* ---- MaxUnpool */

/* The sizes that pooling had before it: what windows at their strides cover, without their padding. */
static bool unpooled(kni_conversion *c, const kni_onnx_node *node, kni_datum x, kni_extent *sizes)
{
    int64_t n[3] = {0, 0, 0};
    int32_t rank = kni_extents_of(c, x, sizes), axes = rank - 2;
    const int64_t *kernel = kni_node_ints(node, "kernel_shape", &n[0]),
                  *pads = kni_node_ints(node, "pads", &n[1]),
                  *strides = kni_node_ints(node, "strides", &n[2]);
    if (!kni_convert_failed(c) &&
        (axes < 1 || n[0] != axes || (pads && n[1] != 2 * axes) || (strides && n[2] != axes)))
        kni_convert_fail(c, KN_ERROR_SHAPE, "kernel_shape has %lld entries for %d spatial axes",
                         (long long)n[0], axes);
    if (kni_convert_failed(c)) return false;
    for (int32_t i = 0; i < axes; i++) {
        kni_extent *size = &sizes[2 + i], stride = KNI_EXTENT(list_entry(strides, n[2], i, 1));
        int64_t padding = list_entry(pads, n[1], i, 0) + list_entry(pads, n[1], axes + i, 0);
        *size = kni_extent_mul(c, kni_extent_sub(c, *size, KNI_EXTENT(1)), stride);
        *size = kni_extent_add(c, *size, KNI_EXTENT(kernel[i] - padding));
    }
    return !kni_convert_failed(c);
}

/* Positions count from the beginning of the tensor that was pooled. A larger output has zeros behind it. */
void kni_convert_max_unpool(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    kni_extent sizes[KN_MAX_RANK], before[KN_MAX_RANK], after[KN_MAX_RANK];
    int32_t rank = kni_rank_of(c, in[0]);
    int64_t n = 0;
    if (!unpooled(c, node, in[0], sizes)) return;
    kni_extent all = kni_extent_product(c, sizes, rank), count = kni_count_of(c, in[0]);
    kni_datum zeros = kni_filled(c, 0, kni_dtype_of(c, in[0]), &all, 1);
    kni_datum at = kni_reshape_to(c, in[1], &count, 1), values = kni_reshape_to(c, in[0], &count, 1);
    kni_datum y = kni_reshape_to(c, kni_emit(c, "scatter", KNI_LIST(zeros, at, values), NULL), sizes, rank);
    const kni_extent *wanted =
        kni_is_given(in[2]) ? kni_known_extents(c, in[2], "the list of the output's sizes", &n) : NULL;
    if (wanted && n != rank)
        kni_convert_fail(c, KN_ERROR_SHAPE, "the output has %lld sizes, x %d", (long long)n, rank);
    bool same = true;
    for (int32_t i = 0; wanted && i < rank && !kni_convert_failed(c); i++) {
        before[i] = KNI_EXTENT(0);
        after[i] = kni_extent_sub(c, wanted[i], sizes[i]);
        same = same && kni_extent_same(wanted[i], sizes[i]);
    }
    out[0] = !wanted || same ? y : kni_pad_with(c, y, before, after, 0);
}

/* ---- grids */

void kni_convert_grid_sample(KNI_CONVERTS)
{
    /* The second row is that of later versions. */
    static const char *const modes[] = {"nearest", "bilinear", "bicubic", "nearest", "linear", "cubic", NULL};
    static const char *const paddings[] = {"zeros", "border", "reflection", NULL};
    KNI_UNUSED_COUNTS;
    int32_t mode = kni_node_choice(c, node, "mode", "bilinear", modes) % 3;
    int32_t padding = kni_node_choice(c, node, "padding_mode", "zeros", paddings);
    kni_datum grid = kni_cast_to(c, in[1], kni_dtype_of(c, in[0]));
    out[0] = kni_emit(c, "grid_sample", KNI_LIST(in[0], grid),
                      KNI_GIVE(KNI_WHOLE("mode", mode), KNI_WHOLE("padding", padding),
                               KNI_WHOLE("align_corners", kni_node_int(node, "align_corners", 0) != 0)));
}

/* [points, axes + 1]: the coordinates of each point in -1 .. 1, that of the last axis first, then 1. */
static kni_datum base_grid(kni_conversion *c, const int64_t *sizes, int32_t axes, bool align)
{
    int64_t points = 1, shape[2] = {0, axes + 1};
    for (int32_t i = 0; i < axes; i++)
        if (sizes[i] < 1 || __builtin_mul_overflow(points, sizes[i], &points) || points > INT32_MAX) {
            kni_convert_fail(c, KN_ERROR_ARGUMENT, "a grid with %lld points along an axis",
                             (long long)sizes[i]);
            return KNI_ABSENT;
        }
    double *grid = kni_convert_memory(c, (size_t)points * (size_t)(axes + 1), sizeof *grid);
    for (int64_t p = 0; grid && p < points; p++) {
        int64_t rest = p;
        for (int32_t k = 0; k < axes; k++) {
            int64_t n = sizes[axes - 1 - k], at = rest % n;
            rest /= n;
            double whole = align ? 2.0 * (double)at - (double)(n - 1) : (double)(2 * at + 1 - n);
            grid[p * (axes + 1) + k] = whole == 0 ? 0 : whole / (double)(align ? n - 1 : n);
        }
        grid[p * (axes + 1) + axes] = 1;
    }
    shape[0] = points;
    return grid ? kni_constant(c, grid, KN_F64, shape, 2) : KNI_ABSENT;
}

void kni_convert_affine_grid(KNI_CONVERTS)
{
    int64_t n = 0;
    KNI_UNUSED_COUNTS;
    const int64_t *size = kni_known_ints(c, in[1], "the list of sizes", &n);
    if (!size) return;
    if (n != 4 && n != 5) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "there are %lld sizes; 4 or 5 are needed", (long long)n);
        return;
    }
    int32_t axes = (int32_t)n - 2;
    kn_dtype dtype = kni_dtype_of(c, in[0]);
    kni_datum theta = kni_widened(c, in[0]);
    kni_datum base = base_grid(c, size + 2, axes, kni_node_int(node, "align_corners", 0) != 0);
    base = kni_cast_to(c, base, kni_dtype_of(c, theta));
    kni_datum grid = kni_emit2(c, "matmul", base, kni_swap_axes(c, theta, 1, 2));
    kni_extent shape[KN_MAX_RANK] = {kni_extent_of(c, in[0], 0)};
    for (int32_t i = 0; i < axes; i++) shape[1 + i] = KNI_EXTENT(size[2 + i]);
    shape[axes + 1] = KNI_EXTENT(axes);
    out[0] = kni_cast_to(c, kni_reshape_to(c, grid, shape, axes + 2), dtype);
}
