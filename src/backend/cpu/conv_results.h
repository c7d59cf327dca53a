/* How sums of weights and planes become results. Internal to conv_*.c. */
#ifndef KNI_BACKEND_CPU_CONV_RESULTS_H
#define KNI_BACKEND_CPU_CONV_RESULTS_H

#include "backend/cpu/conv_pack.h"

enum { KNI_CONV_TILE = 64 }; /* at least the rows and the columns of the largest register tile */

/* What is the same for all of a convolution. */
typedef struct {
    kni_conv_plan plan;
    kni_conv_tensor y;
    const char *bias;  /* compute type, contiguous; NULL for none */
    bool in_place;     /* x itself is the planes */
    bool separate;     /* no fused multiply-add */
    kni_finish finish; /* by the kernels, where they are turned */
} kni_conv_output;

typedef struct {
    const kni_conv_output *job;
    const kni_conv_phase *phase;
    int64_t size[KNI_CONV_AXES];                        /* of the planes */
    int64_t first[KNI_CONV_AXES], count[KNI_CONV_AXES]; /* the part of the section's grid in this band */
    char *y;                                            /* of the image */
} kni_conv_target;

/* One section of results of an image, group, band and range of output channels. */
void kni_conv_results(const kni_conv_target *t, const char *planes, int64_t group, int64_t out, int64_t last);

#endif
