/* The environment and the clock, which freestanding targets do not have. */
#if !defined(KN_FREESTANDING) && !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#include "core/platform.h"

#ifdef KN_FREESTANDING
const char *kni_environment(const char *name)
{
    (void)name;
    return 0;
}

uint64_t kni_nanoseconds(void) { return 0; }
void kni_yield(void) {}
#else
#include <stdlib.h>
#if KNI_THREADS
#include <sched.h>
#endif
#include <time.h>
const char *kni_environment(const char *name) { return getenv(name); }

#if KNI_TEAM && !KNI_THREADS
/* The thread of a page may not sleep: JavaScript says whether this one may. */
static bool may_sleep;
__attribute__((export_name("kni_allow_sleep"))) void kni_allow_sleep(void);
void kni_allow_sleep(void) { may_sleep = true; }

void kni_yield(void)
{
    enum { NANOSECONDS = 20000 };
    static int32_t nobody_wakes;
    if (may_sleep) (void)__builtin_wasm_memory_atomic_wait32(&nobody_wakes, 0, NANOSECONDS);
}
#else
void kni_yield(void)
{
#if KNI_THREADS
    (void)sched_yield();
#endif
}
#endif

uint64_t kni_nanoseconds(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_MONOTONIC, &t) ? 0 : (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
#endif
