/* The loss kernels of this tier in double precision. */
#define KNI_NORM_F64
#include "backend/cpu/tier/loss_rows.h"

const kni_loss_kernels KNI_TIER_FN(kni_loss_f64) = LOSS_KERNELS;
