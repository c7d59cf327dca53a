/* Resampling of f32 lines. */
#define T float
#define NAME(x) KNI_TIER_FN(x##_f32)
#include "backend/cpu/tier/resample_rows.h"
