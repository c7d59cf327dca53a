/* The conversions of core, compiled once more for this tier. */
#include "backend/cpu/tier.h"

#define kni_convert KNI_TIER_FN(kni_convert)
#include "core/convert.c"
