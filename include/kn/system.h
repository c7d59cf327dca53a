/* What this build of the library can use of the machine it runs on. */
#ifndef KN_SYSTEM_H
#define KN_SYSTEM_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A tier of instruction sets of the CPU kernels. KN_ISA chooses one by its name; when that is
   none that was built and runs here, ops on the CPU fail and say which there are. */
typedef struct kn_cpu_tier_info {
    const char *name; /* "scalar", "v2", "v3" ... */
    bool built, available, in_use;
} kn_cpu_tier_info;
/* False past the last tier. */
KN_API bool kn_cpu_tier_at(int32_t index, kn_cpu_tier_info *info);

/* A library that is opened at run time where it is there; Kiln needs none of them. */
typedef struct kn_library_info {
    const char *name, *purpose, *package;
    const char *file; /* under which it was found on this machine just now, NULL where it was not */
} kn_library_info;
/* False past the last one. */
KN_API bool kn_library_at(int32_t index, kn_library_info *info);

#ifdef __cplusplus
}
#endif
#endif
