/* What the rows of grid sampling and their CPU entries share. */
#ifndef KNI_GRID_SAMPLE_H
#define KNI_GRID_SAMPLE_H

#include "ops/infer.h"

typedef struct kni_sample_attributes {
    int64_t mode; /* 0 nearest, 1 linear, 2 cubic */
    int64_t padding, align_corners;
    kn_ints derivative; /* of the weights, by spatial axis of x; empty: none */
    kn_ints size;       /* of x's spatial axes, in the transpose */
} kni_sample_attributes;

#endif
