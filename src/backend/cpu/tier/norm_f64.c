/* The norm kernels of this tier in double precision. */
#define KNI_NORM_F64
#include "backend/cpu/tier/norm_rows.h"

const kni_norm_kernels KNI_TIER_FN(kni_norm_f64) = NORM_KERNELS;
