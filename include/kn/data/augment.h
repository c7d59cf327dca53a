/* Random changes of images, for kn_dataset_map: field 0 is an image [channels, height, width] (or [height, width]) of u8 or f32;
   the other fields stay as they are. What happens to a sample depends on its key alone. */
#ifndef KN_DATA_AUGMENT_H
#define KN_DATA_AUGMENT_H

#include <kn/data/transform.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The steps are done in the order of the members; those left zero do nothing. */
typedef struct kn_augment_args {
    double rotate; /* degrees: turned about the centre by an angle on [-rotate, rotate), bilinear */
    double zoom;   /* scaled by a factor on [1 - zoom, 1 + zoom), bilinear; below 1 */
    int64_t shift_rows, shift_columns; /* moved by -shift .. shift whole pixels */
    double flip_rows, flip_columns;    /* old: flip_vertical and flip_horizontal */
    int64_t crop_height, crop_width;   /* a random part of this size (after the above); both or none */
    double fill;                       /* what comes in from outside */
    double flip_vertical;              /* probability of turning it upside down; done before the crop */
    double flip_horizontal;            /* probability of mirroring left and right; done before the crop */
} kn_augment_args;
#define KN_AUGMENT_ARGS_DEFAULTS KN_ZEROED
/* A data set whose images are changed so. args are copied. */
KN_API kn_dataset kn_dataset_augment(kn_dataset dataset, const kn_augment_args *args);

/* y = (x / 255 - mean[c]) / std[c] as f32, for u8 images [channels, height, width] in field 0; f32 ones are not divided by
   255. n channels, or 1 for all. std NULL: ones; mean NULL: zeros. */
KN_API kn_dataset kn_dataset_normalise(kn_dataset dataset, const double *mean, const double *std, int32_t n);

#ifdef __cplusplus
}
#endif

#ifndef KN_NO_SITES
#include <kn/sites/augment_sites.h>
#endif

#endif
