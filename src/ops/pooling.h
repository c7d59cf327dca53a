/* What the pooling rows share: attributes over up to three spatial axes, their rules and launch parameters. */
#ifndef KNI_POOLING_H
#define KNI_POOLING_H

#include "ops/infer.h"

enum { KNI_POOL_MAX_AXES = 3 };

/* Spatial attributes are lists of `axes` entries; shape rules replace what is absent by its default. */
typedef struct kni_pool_attributes {
    int64_t axes; /* 1 to 3, the last axes of x */
    kn_ints window, stride, padding, padding_end, dilation;
    int64_t ceil_mode, exclude_padding, divisor;
    kn_ints size;   /* of x's spatial axes, in a gradient */
    int64_t places; /* dtype of positions in a plane: u16, i32 or i64; 0: i64 */
} kni_pool_attributes;

/* What all rows over windows have. */
#define KNI_POOL_ATTRIBUTES                                                                                  \
    KNI_ATTR(kni_pool_attributes, axes, KNI_ATTR_INT, KNI_STATIC),                                           \
        KNI_ATTR(kni_pool_attributes, window, KNI_ATTR_INTS, KNI_STATIC),                                    \
        KNI_ATTR(kni_pool_attributes, stride, KNI_ATTR_INTS, KNI_STATIC),                                    \
        KNI_ATTR(kni_pool_attributes, padding, KNI_ATTR_INTS, KNI_STATIC),                                   \
        KNI_ATTR(kni_pool_attributes, padding_end, KNI_ATTR_INTS, KNI_STATIC),                               \
        KNI_ATTR(kni_pool_attributes, dilation, KNI_ATTR_INTS, KNI_STATIC),                                  \
        KNI_ATTR(kni_pool_attributes, ceil_mode, KNI_ATTR_INT, KNI_STATIC),                                  \
        KNI_ATTR(kni_pool_attributes, exclude_padding, KNI_ATTR_INT, KNI_STATIC),                            \
        KNI_ATTR(kni_pool_attributes, divisor, KNI_ATTR_INT, KNI_STATIC),                                    \
        KNI_ATTR(kni_pool_attributes, size, KNI_ATTR_INTS, KNI_STATIC)

/* Adaptive pooling: size is that of y's spatial axes, input that of x's in a gradient. */
typedef struct kni_adaptive_attributes {
    kn_ints size, input;
} kni_adaptive_attributes;

/* Patches of an image, of two axes. */
typedef struct kni_patch_attributes {
    kn_ints window, stride, padding, dilation;
    kn_ints size; /* of the image */
} kni_patch_attributes;

/* Patches over three axes, of which the absent come first; sx: of the image, sy: how many patches. */
typedef struct kni_patch_plan {
    int64_t sx[3], sy[3], window[3], stride[3], padding[3], dilation[3];
} kni_patch_plan;
kni_patch_plan kni_plan_patches(const kni_pool_attributes *a, const kni_type *image);

extern const kn_attribute kni_pool_schema[];

/* The sizes of the last `axes` axes of t as three numbers, absent ones 1. */
void kni_pool_sizes(const kni_type *t, int axes, int64_t *sizes);
/* Pushes three numbers: those of the list for the last axes, `absent` before them. */
void kni_launch_pool_list(kni_launch *l, const kn_ints *list, int64_t absent);
/* A list of one number counts for all axes, none is the default; every entry is between lowest and 2^31 - 1. */
kn_status kni_infer_pool_list(const kni_infer *c, const char *name, kn_ints *list, int axes, int64_t absent,
                              int64_t lowest);
/* x is [channels, axes ...] or [batch, channels, axes ...], and no spatial axis is empty. */
kn_status kni_infer_pool_input(const kni_infer *c, const kni_type *x, int axes);
/* The number of windows on one axis; KNI_DIM_BAD where not even one fits. */
kn_dim kni_pool_windows(kn_dim size, const kni_pool_attributes *a, int i);
/* Checks the attributes and fills in what is left out. */
kn_status kni_fill_pool(const kni_infer *c, kni_pool_attributes *a);
/* Checks x and the attributes and fills the type of the pooled result. */
kn_status kni_infer_pool(kni_infer *c, const kni_type *x, kni_pool_attributes *a, kni_type *y);
/* The rule of a gradient: the result has the sizes that were pooled, and pooling them again must give those of operand 0. */
kn_status kni_infer_pool_grad(kni_infer *c);
/* Operand i holds positions, one for each element of y. */
kn_status kni_infer_places(const kni_infer *c, int i, const kni_type *y);
/* Pushes what the kernels of windows have in common; windows and their steps become a part of the kernel. */
void kni_launch_pool(kni_launch *l, const kni_pool_attributes *a, const kni_type *x, const kni_type *y,
                     const kni_type *items);
/* Elements of x at the positions `at`, each in its plane of the last `axes` axes. */
kn_tensor kni_pool_take(kn_tensor x, kn_tensor at, int axes);

#endif
