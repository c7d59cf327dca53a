/* Pooling of f64 rows. */
#define T double
#define NAME(x) KNI_TIER_FN(x##_f64)
#include "backend/cpu/tier/pool_rows.h"
