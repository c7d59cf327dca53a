/* Convolutions as products with vectors along output channels: for images whose rows would leave vectors half empty, or whose padding
   would be multiplied. The sums have the order of the others. Internal to conv_*.c. */
#ifndef KNI_BACKEND_CPU_CONV_TURNED_H
#define KNI_BACKEND_CPU_CONV_TURNED_H

#include "backend/cpu/conv_pack.h"

/* Whether this is the better way. It follows from the shapes and the tier. */
bool kni_conv_wants_turned(const kni_conv_plan *plan, const kni_conv_tensor *y);
/* Whether it also pays where a GEMM could read the image in place: packed weights are there already, and positions are few. */
bool kni_conv_turned_pays(const kni_conv_plan *plan, const kni_tensor *w);

/* A part of a section of results of one image and group. */
typedef struct {
    const kni_conv_plan *plan;
    const kni_conv_phase *phase;
    const float *planes, *weights,
        *bias; /* planes: of the first position; weights and bias: of the group; bias may be NULL */
    int64_t size[KNI_CONV_AXES], count[KNI_CONV_AXES];
    float *y; /* of the first position in the group's first output channel */
    int64_t y_channel, y_step[KNI_CONV_AXES];
    kni_finish finish; /* where y_step[2] is 1 */
    bool separate;
} kni_conv_turned_part;
/* Output channels out .. last - 1; `out` begins a panel. */
void kni_conv_turned_run(const kni_conv_turned_part *part, int64_t out, int64_t last);

#endif
