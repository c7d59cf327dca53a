/* The CPU tiers that tests run on. One that was built and that this machine cannot run counts as a skip, once in a program. */
#ifndef TIERS_H
#define TIERS_H

#include "backend/cpu/isa.h"
#include "support/check.h"
#include <kn/system.h>

static inline bool tier_runs(kni_tier tier)
{
    static bool told[KNI_ISA_COUNT];
    kn_cpu_tier_info info;
    if (!kn_cpu_tier_at((int32_t)tier, &info) || info.available || !info.built || told[tier])
        return kni_cpu_tier_available(tier);
    char text[60];
    snprintf(text, sizeof text, "no tier %s", info.name);
    check_skip(text);
    told[tier] = true;
    return false;
}

#endif
