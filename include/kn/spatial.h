/* Pooling, unfold and fold, interpolation, grids. Images are [batch, channels, spatial axes ...]; one leading
   axis less is taken as a batch of one image where PyTorch does so. */
#ifndef KN_SPATIAL_H
#define KN_SPATIAL_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- pooling. Lists have one entry per spatial axis; an unused entry is 0. */

/* Zero means: stride = window, padding 0, padding_end = padding, dilation 1. */
typedef struct kn_pool_args {
    int64_t stride[3], padding[3], padding_end[3], dilation[3];
    bool ceil_mode;       /* windows may start inside and end outside */
    bool exclude_padding; /* kn_avg_pool: the divisor counts real elements only */
    int64_t divisor;      /* kn_avg_pool: replaces the number of elements when > 0 */
} kn_pool_args;

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
/* Puts values back where indices say, zero elsewhere; size: the spatial sizes of the result. */
KN_API kn_tensor kn_max_unpool(kn_tensor values, kn_tensor indices, kn_ints size);
/* y = mean over windows. */
KN_API kn_tensor kn_avg_pool1d(kn_tensor x, kn_ints window, const kn_pool_args *args);
KN_API kn_tensor kn_avg_pool2d(kn_tensor x, kn_ints window, const kn_pool_args *args);
KN_API kn_tensor kn_avg_pool3d(kn_tensor x, kn_ints window, const kn_pool_args *args);
/* Windows chosen so that the result has these spatial sizes; -1 keeps the input's. */
KN_API kn_tensor kn_adaptive_avg_pool1d(kn_tensor x, kn_ints size);
KN_API kn_tensor kn_adaptive_avg_pool2d(kn_tensor x, kn_ints size);
KN_API kn_tensor kn_adaptive_avg_pool3d(kn_tensor x, kn_ints size);
KN_API kn_pooled kn_adaptive_max_pool1d(kn_tensor x, kn_ints size);
KN_API kn_pooled kn_adaptive_max_pool2d(kn_tensor x, kn_ints size);
KN_API kn_pooled kn_adaptive_max_pool3d(kn_tensor x, kn_ints size);

/* ---- columns of image patches */

typedef struct kn_unfold_args {
    int64_t stride[2], padding[2], dilation[2]; /* 0: stride 1, padding 0, dilation 1 */
} kn_unfold_args;

/* [n, c, h, w] to [n, c * window, patches] (im2col). */
KN_API kn_tensor kn_unfold4d(kn_tensor x, kn_ints window, const kn_unfold_args *args);
/* [n, c * window, patches] to [n, c, size]: sums what overlaps (col2im). */
KN_API kn_tensor kn_fold4d(kn_tensor columns, kn_ints size, kn_ints window, const kn_unfold_args *args);
/* [n, c r^2, h, w] to [n, c, h r, w r], and back. */
KN_API kn_tensor kn_pixel_shuffle(kn_tensor x, int64_t factor);
KN_API kn_tensor kn_pixel_unshuffle(kn_tensor x, int64_t factor);

#ifdef __cplusplus
}
#endif
#endif
