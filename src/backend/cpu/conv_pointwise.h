/* Convolutions with one tap, stride 1 and no padding are matrix products of weights and images. Internal to
   conv_*.c. */
#ifndef KNI_BACKEND_CPU_CONV_POINTWISE_H
#define KNI_BACKEND_CPU_CONV_POINTWISE_H

#include "backend/cpu/conv_plan.h"

/* Whether the plan is such a product, x lies so that the GEMM can read it, and it is large enough to pay. */
bool kni_conv_is_pointwise(const kni_conv_plan *plan, const kni_conv_tensor *x);
/* y = w x + bias for conv and conv_transpose; bias may be NULL. False without memory. */
bool kni_conv_pointwise(const kni_conv_plan *plan, const kni_conv_tensor *x, kni_tensor *w, kni_tensor *bias,
                        const kni_conv_tensor *y, const kni_finish *finish);
/* w = the sum over images of dy x', where all have the compute type. */
bool kni_conv_pointwise_weight(const kni_conv_plan *plan, const kni_conv_tensor *x, const kni_conv_tensor *dy,
                               void *w);

#endif
