/* Pooling of f32 rows. */
#define T float
#define NAME(x) KNI_TIER_FN(x##_f32)
#include "backend/cpu/tier/pool_rows.h"
