/* The loss kernels of this tier in single precision. */
#include "backend/cpu/tier/loss_rows.h"

const kni_loss_kernels KNI_TIER_FN(kni_loss_f32) = LOSS_KERNELS;
