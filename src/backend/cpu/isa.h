/* Which instruction-set tier the CPU kernels use in this process: what was built, what the processor and the
   operating system support, and what KN_ISA or a test asks for. */
#ifndef KNI_BACKEND_CPU_ISA_H
#define KNI_BACKEND_CPU_ISA_H

#include "backend/cpu/tier.h"

#include <kn/base.h>
#include <stdbool.h>

/* Whether KN_ISA, where set, names a tier that was built and runs here; the failure names those that are. The CPU
   backend asks before its first op. */
kn_status kni_cpu_tier_check(void);

/* The tier in use. The first call detects it and reads KN_ISA=scalar|v2|v3|v4|neon|simd128; a tier that is
   not available gives the best one below it. Safe from any thread. */
kni_tier kni_cpu_tier(void);

/* Uses `tier` from now on, or the best available one below it, and returns what was set. For tests: kernels
   that already run keep theirs. */
kni_tier kni_cpu_set_tier(kni_tier tier);

/* Whether the tier in use may sum four products of bytes with one instruction: AVX-512 VNNI in v4, AVX-VNNI in v3. */
bool kni_cpu_has_dot_products(void);

/* Whether it may look 64 bytes up in a table of 128 with one instruction: AVX-512 VBMI. */
bool kni_cpu_has_byte_permutes(void);

/* Whether `tier` was built and this machine can run it. */
bool kni_cpu_tier_available(kni_tier tier);

/* "scalar", "v2" ...; "unknown" for a number that is no tier. */
const char *kni_cpu_tier_name(kni_tier tier);

#endif
