/* Resampling of f64 lines. */
#define T double
#define NAME(x) KNI_TIER_FN(x##_f64)
#include "backend/cpu/tier/resample_rows.h"
