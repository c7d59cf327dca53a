/* Convolutions multiply zeros where a tap lies outside of x, and zero times a weight that is NaN or infinite is NaN.
   By definition such taps are left out: what they spoiled is summed again without them. Internal to conv_*.c. */
#ifndef KNI_BACKEND_CPU_CONV_PADDING_H
#define KNI_BACKEND_CPU_CONV_PADDING_H

#include "backend/cpu/conv_plan.h"

/* Mends the results y of a convolution or a transposed one. Weights and bias (NULL for none) are contiguous and of
   the compute type; y is contiguous. */
void kni_conv_padding_mend(const kni_conv_plan *plan, const kni_conv_tensor *x, const void *weights,
                           const void *bias, const kni_conv_tensor *y);
/* Whether it may find something to mend: some result multiplies padding by a weight that is NaN or infinite. `weights` are those of w,
   and what is found of a lasting tensor is kept. */
bool kni_conv_padding_may_leak(const kni_conv_plan *plan, const kni_tensor *w, const void *weights);
/* Mends a weight gradient w, contiguous and of x's dtype. */
void kni_conv_padding_mend_weight(const kni_conv_plan *plan, const kni_conv_tensor *x,
                                  const kni_conv_tensor *dy, void *w);

#endif
