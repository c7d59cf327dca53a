/* The updates of optimisers of this tier in double precision. */
#define REAL double
#define SQRT kni_sqrt_f64
#include "backend/cpu/tier/update_rows.h"

const kni_update_kernels KNI_TIER_FN(kni_update_f64) = UPDATE_KERNELS;
