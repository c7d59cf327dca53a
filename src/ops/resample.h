/* What the rows of resampling and their CPU entries share. */
#ifndef KNI_RESAMPLE_H
#define KNI_RESAMPLE_H

#include "ops/infer.h"

enum { KNI_RESAMPLE_AXES = 3 };

/* Lists have one entry for each of `axes`, which ascend. */
typedef struct kni_resample_attributes {
    kn_ints axes, size; /* size: of y along them */
    kn_ints input;      /* that of x, in a gradient */
    int64_t mode, transform, rule, antialias, exclude_outside;
    double scale[KNI_RESAMPLE_AXES];                         /* 0: y's size / x's size */
    double begin[KNI_RESAMPLE_AXES], end[KNI_RESAMPLE_AXES]; /* of a crop, 0 to 1 are all of x */
    double cubic, outside;
} kni_resample_attributes;

/* x or y as [planes, s0, b0, s1, b1, s2, b2]: s along the axes that are resampled, b between. Absent axes come first, with 1. */
typedef struct kni_resample_view {
    int64_t planes, sizes[KNI_RESAMPLE_AXES], between[KNI_RESAMPLE_AXES];
} kni_resample_view;
kni_resample_view kni_view_resampled(const kni_type *t, const kn_ints *axes);

/* Entry i of three, of which the absent come first. */
double kni_resample_entry(const kni_resample_attributes *a, const double *list, int i);
/* How many taps an element of y has at most on axis i of three: the width of the table kni_kernel_resample_taps fills. */
int64_t kni_resample_width(const kni_resample_attributes *a, int i, int64_t in_size, int64_t out_size);

#endif
