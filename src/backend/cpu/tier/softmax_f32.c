/* The softmax kernels of this tier in single precision. */
#include "backend/cpu/tier/softmax_rows.h"

const kni_softmax_kernels KNI_TIER_FN(kni_softmax_f32) = SOFTMAX_KERNELS;
const kni_softmax_grad_kernels KNI_TIER_FN(kni_softmax_grad_f32) = SOFTMAX_GRAD_KERNELS;
