/* The softmax kernels of this tier in double precision. */
#define KNI_NORM_F64
#include "backend/cpu/tier/softmax_rows.h"

const kni_softmax_kernels KNI_TIER_FN(kni_softmax_f64) = SOFTMAX_KERNELS;
const kni_softmax_grad_kernels KNI_TIER_FN(kni_softmax_grad_f64) = SOFTMAX_GRAD_KERNELS;
