/* What the rows of regions of interest and their CPU entries share. */
#ifndef KNI_REGIONS_H
#define KNI_REGIONS_H

#include "ops/infer.h"

/* Of roi_align, its gradient and max_roi_pool. */
typedef struct kni_region_attributes {
    kn_ints size;  /* of the result, 2 axes */
    kn_ints input; /* images, height and width of x, in a gradient */
    int64_t samples, most, half;
    double scale;
} kni_region_attributes;

typedef struct kni_nms_attributes {
    int64_t limit;   /* boxes of a class */
    int64_t middle;  /* boxes are given by middle and size, not by corners */
    int64_t bounded; /* scores that are not above `least` do not count */
    double share, least;
} kni_nms_attributes;

#endif
