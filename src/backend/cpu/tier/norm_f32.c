/* The norm kernels of this tier in single precision. */
#include "backend/cpu/tier/norm_rows.h"

const kni_norm_kernels KNI_TIER_FN(kni_norm_f32) = NORM_KERNELS;
