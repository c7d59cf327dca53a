/* Results that are larger than the caches are written past them: a store that first fetches what it overwrites takes a
   part of the bandwidth, and throws out of the caches what is still needed. */
#ifndef KNI_BACKEND_CPU_PAST_CACHES_H
#define KNI_BACKEND_CPU_PAST_CACHES_H

#include "backend/cpu/tier.h"
#include <stdint.h>

/* Copies what lies in the first-level cache. Whole lines go in one store each where the tier has vectors for that: lines
   that are gathered from parts may leave half filled. */
KNI_TIER_DECLARE(void, kni_store_past_caches, (void *to, const void *from, int64_t bytes));
/* Before other threads read what was stored so. */
KNI_TIER_DECLARE(void, kni_end_past_caches, (void));

#endif
