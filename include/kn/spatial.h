/* Pooling, unfold and fold, interpolation, grids. Images are [batch, channels, spatial axes ...]; one leading
   axis less is taken as a batch of one image where PyTorch does so. */
#ifndef KN_SPATIAL_H
#define KN_SPATIAL_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- pooling. Lists have one entry per spatial axis. A 0 behind the
   first stride or dilation is as the first: .stride = {2} is 2 on every axis, as PyTorch's stride=2. A padding of 0 is none:
   write .padding = {1, 1} for PyTorch's padding=1. */

/* Zero means: stride = window, padding 0, padding_end = padding (KN_ZERO: none), dilation 1. Padding is less than
   the window with its dilation, so that each window holds an element. */
typedef struct kn_pool_args {
    int64_t stride[3], padding[3], padding_end[3], dilation[3];
    bool ceil_mode;       /* windows may start inside and end outside */
    bool exclude_padding; /* kn_avg_pool: the divisor counts real elements only */
    int64_t divisor;      /* kn_avg_pool: replaces the number of elements when > 0 */
} kn_pool_args;
#define KN_POOL_ARGS_DEFAULTS KN_FIELDS({0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, false, false, 0)

/* Values and, for each, its position in the plane it came from (i64). */
typedef struct kn_pooled {
    kn_tensor values, indices;
} kn_pooled;

/* y = max over windows; NaN wins. window: KN_INTS(3), KN_INTS(3, 3), KN_INTS(3, 3, 3). */
KN_API kn_tensor kn_max_pool1d(kn_tensor x, kn_ints window, const kn_pool_args *args);
KN_API kn_tensor kn_max_pool2d(kn_tensor x, kn_ints window, const kn_pool_args *args);
KN_API kn_tensor kn_max_pool3d(kn_tensor x, kn_ints window, const kn_pool_args *args);
KN_API kn_pooled kn_max_pool1d_with_indices(kn_tensor x, kn_ints window, const kn_pool_args *args);
KN_API kn_pooled kn_max_pool2d_with_indices(kn_tensor x, kn_ints window, const kn_pool_args *args);
KN_API kn_pooled kn_max_pool3d_with_indices(kn_tensor x, kn_ints window, const kn_pool_args *args);
/* Puts values back where indices say, zero elsewhere; size: the spatial sizes of the result. Where two values have
   the same index, one of them stays. */
KN_API kn_tensor kn_max_unpool(kn_tensor values, kn_tensor indices, kn_ints size);
/* y = mean over windows. */
KN_API kn_tensor kn_avg_pool1d(kn_tensor x, kn_ints window, const kn_pool_args *args);
KN_API kn_tensor kn_avg_pool2d(kn_tensor x, kn_ints window, const kn_pool_args *args);
KN_API kn_tensor kn_avg_pool3d(kn_tensor x, kn_ints window, const kn_pool_args *args);
/* y = (sum over windows of x^order)^(1/order), as kn_avg_pool of the powers times the elements of a window; order 2 is the root of
   the sum of squares, order infinity the limit, max |x|. The gradient is 0 where y is. An odd order of negative sums, or a fraction of negative x, gives NaN. */
KN_API kn_tensor kn_lp_pool1d(kn_tensor x, double order, kn_ints window, const kn_pool_args *args);
KN_API kn_tensor kn_lp_pool2d(kn_tensor x, double order, kn_ints window, const kn_pool_args *args);
KN_API kn_tensor kn_lp_pool3d(kn_tensor x, double order, kn_ints window, const kn_pool_args *args);

typedef struct kn_fractional_pool_args {
    kn_ints size;    /* the spatial sizes of the result, or one for all of them */
    double ratio[3]; /* without size: result / input of each axis, above 0 and below 1; a 0 is as the first */
    kn_tensor
        samples; /* [batch, channels, axes] in [0, 1), which place the windows; KN_NONE: drawn (kn_seed) */
} kn_fractional_pool_args;
#define KN_FRACTIONAL_POOL_ARGS_DEFAULTS KN_ZEROED
/* y = max over windows at pseudorandom places: window i of an axis begins at floor((i + u) a) - floor(u a), the last at the end,
   with a = (size - window) / (result - 1) and u the sample of the axis. NaN wins. */
KN_API kn_pooled kn_fractional_max_pool2d(kn_tensor x, kn_ints window, const kn_fractional_pool_args *args);
KN_API kn_pooled kn_fractional_max_pool3d(kn_tensor x, kn_ints window, const kn_fractional_pool_args *args);
/* Windows chosen so that the result has these spatial sizes; -1 keeps the input's. */
KN_API kn_tensor kn_adaptive_avg_pool1d(kn_tensor x, kn_ints size);
KN_API kn_tensor kn_adaptive_avg_pool2d(kn_tensor x, kn_ints size);
KN_API kn_tensor kn_adaptive_avg_pool3d(kn_tensor x, kn_ints size);
KN_API kn_pooled kn_adaptive_max_pool1d(kn_tensor x, kn_ints size);
KN_API kn_pooled kn_adaptive_max_pool2d(kn_tensor x, kn_ints size);
KN_API kn_pooled kn_adaptive_max_pool3d(kn_tensor x, kn_ints size);

/* ---- columns of image patches */

typedef struct kn_unfold_args {
    int64_t stride[2], padding[2], dilation[2]; /* 0: stride 1, padding 0, dilation 1; lists as of pooling */
} kn_unfold_args;
#define KN_UNFOLD_ARGS_DEFAULTS KN_FIELDS({1, 1}, {0, 0}, {1, 1})

/* [n, c, h, w] to [n, c * window, patches] (im2col). */
KN_API kn_tensor kn_unfold_patches(kn_tensor x, kn_ints window, const kn_unfold_args *args);
/* [n, c * window, patches] to [n, c, size]: sums what overlaps (col2im). */
KN_API kn_tensor kn_fold_patches(kn_tensor columns, kn_ints size, kn_ints window, const kn_unfold_args *args);
typedef struct kn_im2col_args {
    int64_t stride[3], padding[3], padding_end[3],
        dilation[3]; /* as of pooling, but for the stride, which is 1 */
} kn_im2col_args;
#define KN_IM2COL_ARGS_DEFAULTS KN_FIELDS({1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1})
/* The same over one to three axes, as many as the window has, with any padding: x [n, c, axes] or [c, axes]. */
KN_API kn_tensor kn_im2col(kn_tensor x, kn_ints window, const kn_im2col_args *args);
KN_API kn_tensor kn_col2im(kn_tensor columns, kn_ints size, kn_ints window, const kn_im2col_args *args);
/* [..., c r^2, h, w] to [..., c, h r, w r], and back. */
KN_API kn_tensor kn_pixel_shuffle(kn_tensor x, int64_t factor);
KN_API kn_tensor kn_pixel_unshuffle(kn_tensor x, int64_t factor);

/* [batch, channels, ...]: `groups` groups of channels are dealt out like cards, channel c of group g goes to c groups + g. */
KN_API kn_tensor kn_channel_shuffle(kn_tensor x, int64_t groups);

/* ---- interpolation */

typedef enum kn_interpolate_mode {
    KN_INTERPOLATE_NEAREST,       /* x[floor(o in / out)], in whole numbers */
    KN_INTERPOLATE_NEAREST_EXACT, /* x[floor((o + 1/2) in / out)] */
    KN_INTERPOLATE_LINEAR,        /* between two neighbours on each axis */
    KN_INTERPOLATE_CUBIC,         /* four neighbours, a = -3/4 */
    KN_INTERPOLATE_LANCZOS3,      /* six neighbours, weights divided by their sum */
    KN_INTERPOLATE_AREA,          /* adaptive mean pooling */
    KN_INTERPOLATE_BILINEAR = KN_INTERPOLATE_LINEAR,
    KN_INTERPOLATE_TRILINEAR = KN_INTERPOLATE_LINEAR,
    KN_INTERPOLATE_BICUBIC = KN_INTERPOLATE_CUBIC
} kn_interpolate_mode;

typedef struct kn_interpolate_args {
    kn_interpolate_mode mode;
    bool align_corners; /* the first and last elements of x and y meet; not for nearest and area */
    bool antialias; /* wider filters when y is smaller (cubic then has a = -1/2); not for nearest and area */
} kn_interpolate_args;
#define KN_INTERPOLATE_ARGS_DEFAULTS KN_ZEROED

/* x [batch, channels, 1 to 3 axes] resized to `size`, one entry per spatial axis (or one for all of them); an entry
   of -1 keeps the size. Positions beyond the edge read the edge. */
KN_API kn_tensor kn_interpolate(kn_tensor x, kn_ints size, const kn_interpolate_args *args);

typedef struct kn_interpolate_scale_args {
    double scale[3]; /* y's size is floor(x's size scale), for each spatial axis; a 0 is as the first */
    kn_interpolate_mode mode;
    bool align_corners, antialias;
    bool
        recompute; /* positions follow from the sizes, as in kn_interpolate, not from the scales (recompute_scale_factor) */
} kn_interpolate_scale_args;
#define KN_INTERPOLATE_SCALE_ARGS_DEFAULTS                                                                   \
    KN_FIELDS({1.0, 1.0, 1.0}, KN_INTERPOLATE_NEAREST, false, false, false)
/* kn_interpolate by scale factors: element o of y lies at (o + 1/2) / scale - 1/2 of x. */
KN_API kn_tensor kn_interpolate_scale(kn_tensor x, const kn_interpolate_scale_args *args);

/* ---- resampling along any axes */

typedef enum kn_resample_mode {
    KN_RESAMPLE_NEAREST, /* any dtype */
    KN_RESAMPLE_LINEAR,  /* two neighbours on each axis; integers are rounded */
    KN_RESAMPLE_CUBIC    /* four neighbours */
} kn_resample_mode;

/* Where element o of y lies in x; s is `scale`, or y's size / x's size where that is 0. */
typedef enum kn_resample_transform {
    KN_RESAMPLE_HALF_PIXEL,      /* (o + 1/2) / s - 1/2 */
    KN_RESAMPLE_ALIGN_CORNERS,   /* o (size of x - 1) / (s size of x - 1): the first and last elements meet */
    KN_RESAMPLE_ASYMMETRIC,      /* o / s */
    KN_RESAMPLE_HALF_PIXEL_OR_0, /* as half pixel, but 0 where y has one element */
    KN_RESAMPLE_HALF_PIXEL_MIDDLE, /* as half pixel, with the middles of x and y on each other where s is no quotient of sizes */
    KN_RESAMPLE_HALF_PIXEL_EDGE, /* (o + 1/2) / s */
    KN_RESAMPLE_CROP /* as aligned corners, of x from `begin` to `end`, which are 0 to 1 for all of it */
} kn_resample_transform;

/* Which neighbour is the nearest. */
typedef enum kn_resample_rule {
    KN_RESAMPLE_ROUND_DOWN, /* of two that are equally near the lower */
    KN_RESAMPLE_ROUND_UP,
    KN_RESAMPLE_FLOOR,
    KN_RESAMPLE_CEIL
} kn_resample_rule;

/* Lists have one entry for each size. */
typedef struct kn_resample_args {
    kn_ints axes; /* which axes the sizes are of; none: the last ones */
    kn_resample_mode mode;
    kn_resample_transform transform;
    kn_resample_rule rule;
    bool antialias; /* linear and cubic: wider filters where y is smaller */
    bool
        exclude_outside; /* linear and cubic: neighbours beyond the edge have no weight, and the others share it */
    double scale[8], begin[8], end[8];
    double cubic;   /* the coefficient a of the cubic, 0: -3/4 */
    double outside; /* the value where a crop reads beyond x */
} kn_resample_args;
#define KN_RESAMPLE_ARGS_DEFAULTS KN_ZEROED

/* x of any rank resampled to these sizes along these axes. Positions beyond the edge read the edge. Every Resize and Upsample of
   ONNX is one of these. */
KN_API kn_tensor kn_resample(kn_tensor x, kn_ints size, const kn_resample_args *args);

/* ---- regions of interest */

typedef struct kn_roi_align_args {
    double scale;    /* from the numbers of regions to elements of x; 0: 1 */
    int64_t samples; /* of each element on each axis; 0: as many as elements of x it covers */
    bool most;       /* the largest weighted neighbour instead of the mean of the samples; has no gradient */
    bool half_pixel; /* elements of x lie at their middles; else no region is smaller than an element */
} kn_roi_align_args;
#define KN_ROI_ALIGN_ARGS_DEFAULTS KN_FIELDS(1.0, 0, false, false)

/* y [regions, channels, size]: each region of x [batch, channels, height, width] cut into size (height, width) equal parts, of which
   samples are taken between neighbours. regions [r, 4] are left, top, right, bottom; images [r] says which image each lies in. */
KN_API kn_tensor kn_roi_align(kn_tensor x, kn_tensor regions, kn_tensor images, kn_ints size,
                              const kn_roi_align_args *args);
/* The largest elements of the parts of regions, which are rounded to whole elements; 0 and index -1 of an empty part. regions [r, 5]
   begin with the number of the image. */
KN_API kn_pooled kn_max_roi_pool(kn_tensor x, kn_tensor regions, kn_ints size, double scale);

typedef struct kn_nms_args {
    int64_t limit; /* how many boxes of a class at most; 0: none */
    double share;  /* boxes go that share more than this (0 to 1) of what both cover with one that stays */
    bool bounded;  /* only boxes whose score is above `least` count */
    double least;
    bool middle; /* a box is x and y of its middle, width and height; else two opposite corners */
} kn_nms_args;
#define KN_NMS_ARGS_DEFAULTS KN_ZEROED
typedef struct kn_nms_result {
    kn_tensor
        kept; /* i64 [images classes min(limit, n), 3]: image, class and box, by falling score; zeros from count on */
    kn_tensor count; /* i64 [] */
} kn_nms_result;
/* Non-maximum suppression: boxes [images, n, 4] with scores [images, classes, n]. */
KN_API kn_nms_result kn_nms(kn_tensor boxes, kn_tensor scores, const kn_nms_args *args);

/* ---- grids */

typedef enum kn_sample_mode { KN_SAMPLE_BILINEAR, KN_SAMPLE_NEAREST, KN_SAMPLE_BICUBIC } kn_sample_mode;
typedef enum kn_sample_padding {
    KN_SAMPLE_ZEROS,     /* zero outside */
    KN_SAMPLE_BORDER,    /* the nearest element of the edge */
    KN_SAMPLE_REFLECTION /* mirrored at the edges */
} kn_sample_padding;

typedef struct kn_grid_sample_args {
    kn_sample_mode mode;
    kn_sample_padding padding;
    bool align_corners; /* -1 and 1 are the middles of the corner elements, not their outer edges */
} kn_grid_sample_args;
#define KN_GRID_SAMPLE_ARGS_DEFAULTS KN_ZEROED

/* y[n, c, p] = x[n, c, at grid[n, p]]: x [n, c, h, w] with grid [n, oh, ow, 2] of (x, y) in -1 .. 1, or
   x [n, c, d, h, w] with grid [n, od, oh, ow, 3] of (x, y, z). Differentiable in both, to any order. A NaN in the
   grid gives NaN where weights depend on it; as PyTorch, nearest gives 0 outside and padding takes it as -1. */
KN_API kn_tensor kn_grid_sample(kn_tensor x, kn_tensor grid, const kn_grid_sample_args *args);
/* grid[n, p] = theta[n] (p, 1): theta [n, 2, 3] for size (n, c, h, w), [n, 3, 4] for size (n, c, d, h, w). */
KN_API kn_tensor kn_affine_grid(kn_tensor theta, kn_shape size, bool align_corners);

/* ---- old names */

KN_API kn_tensor kn_unfold4d(kn_tensor x, kn_ints window, const kn_unfold_args *args)
    KN_DEPRECATED("write kn_unfold_patches");
KN_API kn_tensor kn_fold4d(kn_tensor columns, kn_ints size, kn_ints window, const kn_unfold_args *args)
    KN_DEPRECATED("write kn_fold_patches");

#ifdef __cplusplus
}
#endif
#endif
