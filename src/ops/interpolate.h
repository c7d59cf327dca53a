/* What the interpolation rows and their CPU entries share. */
#ifndef KNI_INTERPOLATE_H
#define KNI_INTERPOLATE_H

#include "ops/infer.h"

typedef struct kni_interpolate_attributes {
    kn_ints size;  /* of y's spatial axes */
    kn_ints input; /* of x's, in a gradient */
    int64_t mode, align_corners, antialias;
    double
        step[3]; /* in x for one in y, of each spatial axis; 0: x's size / y's size. Not with align_corners */
} kni_interpolate_attributes;

/* The steps as a kernel of three axes takes them, absent axes 0. */
void kni_interpolate_steps(const kni_interpolate_attributes *a, int axes, double *steps);
/* How many taps an element of y has at most on an axis: the width of the table kni_kernel_interpolate_taps fills. */
int64_t kni_interpolate_width(const kni_interpolate_attributes *a, int64_t in_size, int64_t out_size,
                              double step);

#endif
