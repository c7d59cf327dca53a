/* The floating-point mode that the library computes in: round to nearest, subnormal numbers kept, no traps. A program may change
   the mode of its threads at any time; results depend neither on it nor on the thread that computes a piece. */
#ifndef KNI_FLOAT_ENV_H
#define KNI_FLOAT_ENV_H

#include "core/platform.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define KNI_FLOAT_DEFAULT 0x1F80u
#define KNI_FLOAT_MASK 0xFFC0u /* all but the flags of what has happened */
typedef uint32_t kni_float_env;
static inline kni_float_env kni_float_get(void) { return __builtin_ia32_stmxcsr(); }
static inline void kni_float_set(kni_float_env e) { __builtin_ia32_ldmxcsr(e); }
#elif defined(__aarch64__) && defined(__GNUC__)
#define KNI_FLOAT_DEFAULT 0u
#define KNI_FLOAT_MASK UINT64_MAX
typedef uint64_t kni_float_env;
static inline kni_float_env kni_float_get(void)
{
    uint64_t e;
    __asm__ volatile("mrs %0, fpcr" : "=r"(e));
    return e;
}
static inline void kni_float_set(kni_float_env e) { __asm__ volatile("msr fpcr, %0" : : "r"(e)); }
#else
/* Targets whose mode cannot change, or whose programs are their own masters. */
#define KNI_FLOAT_DEFAULT 0u
#define KNI_FLOAT_MASK 0u
typedef uint32_t kni_float_env;
static inline kni_float_env kni_float_get(void) { return 0; }
static inline void kni_float_set(kni_float_env e) { (void)e; }
#endif

static inline bool kni_float_differs(kni_float_env e) { return (e & KNI_FLOAT_MASK) != KNI_FLOAT_DEFAULT; }

/* Begins to compute; gives what kni_float_leave restores. */
static inline kni_float_env kni_float_enter(void)
{
    kni_float_env before = kni_float_get();
    if (KNI_UNLIKELY(kni_float_differs(before))) kni_float_set(KNI_FLOAT_DEFAULT);
    return before;
}

static inline void kni_float_leave(kni_float_env before)
{
    if (KNI_UNLIKELY(kni_float_differs(before))) kni_float_set(before);
}

#endif
