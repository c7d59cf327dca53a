/* Convolutions of single channels (depthwise) with a square window, straight from the source. Internal to conv_*.c. */
#ifndef KNI_BACKEND_CPU_CONV_WINDOW_H
#define KNI_BACKEND_CPU_CONV_WINDOW_H

#include "backend/cpu/conv_plan.h"

/* False where this convolution is none of these; nothing was done then. Weights and bias (NULL for none) are contiguous. */
bool kni_conv_window_run(const kni_conv_plan *plan, const kni_conv_tensor *x, const void *weights,
                         const void *bias, const kni_conv_tensor *y, const kni_finish *finish);

#endif
