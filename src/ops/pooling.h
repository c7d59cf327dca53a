/* What the pooling rows share: attributes over up to three spatial axes, and their launch parameters. */
#ifndef KNI_POOLING_H
#define KNI_POOLING_H

#include "ops/infer.h"

/* Spatial attributes are lists of `axes` entries; shape rules replace zeros by their defaults. */
typedef struct kni_pool_attributes {
    int64_t axes; /* 1 to 3, the last axes of x */
    kn_ints window, stride, padding, padding_end, dilation;
    int64_t ceil_mode, exclude_padding, divisor;
    kn_ints size; /* of x's spatial axes in a gradient, of y's in adaptive pooling */
} kni_pool_attributes;

/* The sizes of the last `axes` axes of t as three numbers, absent ones 1. */
void kni_pool_sizes(const kni_type *t, int axes, int64_t *sizes);
void kni_launch_pool_list(kni_launch *l, const kn_ints *list, int64_t absent);
/* Checks x and the window's attributes and fills the type of the pooled result. */
kn_status kni_infer_pool(kni_infer *c, const kni_type *x, kni_pool_attributes *a, kni_type *y);
kni_pool_attributes kni_pool_from_args(int axes, kn_ints window, const kn_pool_args *args);

extern const kn_attribute kni_pool_schema[];

#endif
