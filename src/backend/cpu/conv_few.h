/* Convolutions with few positions, where vectors along these would be mostly empty: products of patches and weights. Internal to
   conv_*.c. */
#ifndef KNI_BACKEND_CPU_CONV_FEW_H
#define KNI_BACKEND_CPU_CONV_FEW_H

#include "backend/cpu/conv_plan.h"

bool kni_conv_is_few(const kni_conv_plan *plan, const kni_conv_tensor *x, const kni_conv_tensor *y);
/* weights: those of w, contiguous and of the compute type; bias may be NULL. The sums have the order of the other ways, so results have the
   same bits. False without memory. */
bool kni_conv_few(const kni_conv_plan *plan, const kni_conv_tensor *x, kni_tensor *w, const char *weights,
                  const char *bias, const kni_conv_tensor *y);

#endif
