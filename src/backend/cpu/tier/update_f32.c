/* The updates of optimisers of this tier in single precision. */
#define REAL float
#define SQRT kni_sqrt_f32
#include "backend/cpu/tier/update_rows.h"

const kni_update_kernels KNI_TIER_FN(kni_update_f32) = UPDATE_KERNELS;
