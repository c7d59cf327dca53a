/* Layers without params for images and vectors: patches, pixel shuffles, resizing, similarity and distance. */
#ifndef KN_NN_IMAGE_H
#define KN_NN_IMAGE_H

#include <kn/nn/module.h>
#include <kn/spatial.h>

#ifdef __cplusplus
extern "C" {
#endif

/* [n, c, h, w] to [n, c window, patches], see kn_unfold_patches. */
typedef struct kn_nn_unfold4d {
    kn_ints kernel_size, stride, padding, dilation;
} kn_nn_unfold4d;
extern KN_API const kn_module_type kn_nn_unfold4d_type;
KN_API kn_status kn_nn_unfold4d_init(kn_nn_unfold4d *m, kn_ints kernel_size, const kn_unfold_args *args);
KN_API kn_tensor kn_nn_unfold4d_forward(const kn_nn_unfold4d *m, kn_tensor x);

/* [n, c window, patches] to [n, c, output_size]: sums what overlaps, see kn_fold_patches. */
typedef struct kn_nn_fold4d {
    kn_ints output_size, kernel_size, stride, padding, dilation;
} kn_nn_fold4d;
extern KN_API const kn_module_type kn_nn_fold4d_type;
KN_API kn_status kn_nn_fold4d_init(kn_nn_fold4d *m, kn_ints output_size, kn_ints kernel_size,
                                   const kn_unfold_args *args);
KN_API kn_tensor kn_nn_fold4d_forward(const kn_nn_fold4d *m, kn_tensor columns);

/* [..., c r^2, h, w] to [..., c, h r, w r]. */
typedef struct kn_nn_pixel_shuffle {
    int64_t upscale_factor;
} kn_nn_pixel_shuffle;
extern KN_API const kn_module_type kn_nn_pixel_shuffle_type;
KN_API kn_status kn_nn_pixel_shuffle_init(kn_nn_pixel_shuffle *m, int64_t upscale_factor);
KN_API kn_tensor kn_nn_pixel_shuffle_forward(const kn_nn_pixel_shuffle *m, kn_tensor x);

/* [..., c, h r, w r] to [..., c r^2, h, w]. */
typedef struct kn_nn_pixel_unshuffle {
    int64_t downscale_factor;
} kn_nn_pixel_unshuffle;
extern KN_API const kn_module_type kn_nn_pixel_unshuffle_type;
KN_API kn_status kn_nn_pixel_unshuffle_init(kn_nn_pixel_unshuffle *m, int64_t downscale_factor);
KN_API kn_tensor kn_nn_pixel_unshuffle_forward(const kn_nn_pixel_unshuffle *m, kn_tensor x);

/* Deals the channels of x [batch, channels, ...] out over `groups` groups, see kn_channel_shuffle. */
typedef struct kn_nn_channel_shuffle {
    int64_t groups;
} kn_nn_channel_shuffle;
extern KN_API const kn_module_type kn_nn_channel_shuffle_type;
KN_API kn_status kn_nn_channel_shuffle_init(kn_nn_channel_shuffle *m, int64_t groups);
KN_API kn_tensor kn_nn_channel_shuffle_forward(const kn_nn_channel_shuffle *m, kn_tensor x);

/* x [batch, channels, length] or [batch, channels, height, width] resized to output_size, or to floor(size scale) where that
   is empty. Positions follow from the two sizes, also where a scale was given. */
typedef struct kn_nn_interpolate {
    kn_ints output_size;
    double scale_first, scale_second;
    kn_interpolate_mode mode;
    bool align_corners;
} kn_nn_interpolate;
typedef kn_nn_interpolate kn_nn_interpolate1d, kn_nn_interpolate2d;
extern KN_API const kn_module_type kn_nn_interpolate1d_type, kn_nn_interpolate2d_type;
typedef struct kn_nn_interpolate_args {
    kn_ints output_size; /* empty: by scale */
    double scale[2];     /* 0 in the second: as the first */
    kn_interpolate_mode mode;
    bool align_corners;
} kn_nn_interpolate_args;
#define KN_NN_INTERPOLATE_ARGS_DEFAULTS KN_ZEROED
KN_API kn_status kn_nn_interpolate1d_init(kn_nn_interpolate1d *m, const kn_nn_interpolate_args *args);
KN_API kn_status kn_nn_interpolate2d_init(kn_nn_interpolate2d *m, const kn_nn_interpolate_args *args);
KN_API kn_tensor kn_nn_interpolate1d_forward(const kn_nn_interpolate1d *m, kn_tensor x);
KN_API kn_tensor kn_nn_interpolate2d_forward(const kn_nn_interpolate2d *m, kn_tensor x);

/* sum(a b) / (max(|a|, eps) max(|b|, eps)) along an axis. */
typedef struct kn_nn_cosine_similarity {
    int64_t axis;
    double eps;
} kn_nn_cosine_similarity;
extern KN_API const kn_module_type kn_nn_cosine_similarity_type;
typedef struct kn_nn_cosine_similarity_args {
    int64_t axis; /* 0 = 1, KN_ZERO = 0 */
    double eps;   /* 0 = 1e-8, KN_ZERO = 0 */
} kn_nn_cosine_similarity_args;
#define KN_NN_COSINE_SIMILARITY_ARGS_DEFAULTS KN_FIELDS(1, 1e-8)
KN_API kn_status kn_nn_cosine_similarity_init(kn_nn_cosine_similarity *m,
                                              const kn_nn_cosine_similarity_args *args);
KN_API kn_tensor kn_nn_cosine_similarity_forward(const kn_nn_cosine_similarity *m, kn_tensor a, kn_tensor b);

/* The p-norm of a - b + eps along the last axis. */
typedef struct kn_nn_pairwise_distance {
    double p, eps;
    bool keep;
} kn_nn_pairwise_distance;
extern KN_API const kn_module_type kn_nn_pairwise_distance_type;
typedef struct kn_nn_pairwise_distance_args {
    double p;   /* 0 = 2, KN_ZERO = 0 */
    double eps; /* 0 = 1e-6, KN_ZERO = 0 */
    bool keep;  /* the last axis stays with size 1 */
} kn_nn_pairwise_distance_args;
#define KN_NN_PAIRWISE_DISTANCE_ARGS_DEFAULTS KN_FIELDS(2.0, 1e-6, false)
KN_API kn_status kn_nn_pairwise_distance_init(kn_nn_pairwise_distance *m,
                                              const kn_nn_pairwise_distance_args *args);
KN_API kn_tensor kn_nn_pairwise_distance_forward(const kn_nn_pairwise_distance *m, kn_tensor a, kn_tensor b);

#ifdef __cplusplus
}
#endif
#endif
