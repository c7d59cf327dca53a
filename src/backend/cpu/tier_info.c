/* The public view of the instruction-set tiers. */
#include "backend/cpu/isa.h"
#include <kn/system.h>

static const bool built[KNI_ISA_COUNT] = {
#ifdef KNI_HAVE_TIER_SCALAR
    [KNI_ISA_SCALAR] = true,
#endif
#ifdef KNI_HAVE_TIER_V2
    [KNI_ISA_V2] = true,
#endif
#ifdef KNI_HAVE_TIER_V3
    [KNI_ISA_V3] = true,
#endif
#ifdef KNI_HAVE_TIER_V4
    [KNI_ISA_V4] = true,
#endif
#ifdef KNI_HAVE_TIER_NEON
    [KNI_ISA_NEON] = true,
#endif
#ifdef KNI_HAVE_TIER_SIMD128
    [KNI_ISA_SIMD128] = true,
#endif
};

bool kn_cpu_tier_at(int32_t index, kn_cpu_tier_info *info)
{
    if (!info || index < 0 || index >= KNI_ISA_COUNT) return false;
    kni_tier tier = (kni_tier)index;
    *info = (kn_cpu_tier_info){kni_cpu_tier_name(tier), built[tier], kni_cpu_tier_available(tier),
                               kni_cpu_tier() == tier};
    return true;
}
