/* The updates of optimisers of this tier in double precision, made from the rows' bodies. */
#include "backend/cpu/tier/norm_loops.h"
#include "backend/cpu/update_table.h"
#include "ops/scalar_words.h"

#include "backend/cpu/generated/update_strips_f64.inc"

const kni_update_kernels KNI_TIER_FN(kni_update_f64) = {{
#define ENTRY(name) name##_strip,
#include "backend/cpu/generated/update_entries.inc"
#undef ENTRY
}};
