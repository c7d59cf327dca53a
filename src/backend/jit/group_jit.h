/* Programs of strips as C that the system's compiler made (KN_JIT=cc): the same bits, from the memory once instead of from
   the first-level cache several times. Programs with equal texts share what was compiled. */
#ifndef KNI_GROUP_JIT_H
#define KNI_GROUP_JIT_H

#include "backend/cpu/group_strips.h"

typedef struct kni_group_jit kni_group_jit;

#if defined(__wasm__) || defined(KN_FREESTANDING)
static inline kni_group_jit *kni_group_jit_new(const kni_group *g, const kni_strip_program *p)
{
    return (void)g, (void)p, NULL;
}
static inline void kni_group_jit_free(kni_group_jit *jit) { (void)jit; }
static inline bool kni_group_jit_run(kni_group_jit *jit, const kni_strip_memory *m)
{
    return (void)jit, (void)m, false;
}
#else
/* NULL where KN_JIT does not ask for it, where it does not pay, and without memory. */
kni_group_jit *kni_group_jit_new(const kni_group *g, const kni_strip_program *p);
void kni_group_jit_free(kni_group_jit *jit);
/* Runs the whole program on the team; false: it is not compiled yet or never will be, and nothing was done. The compiler is
   started by the second run (KN_JIT=cc), or waited for by the first (cc:wait). Any thread. */
bool kni_group_jit_run(kni_group_jit *jit, const kni_strip_memory *m);
/* How many runs went through compiled code so far, for tests. */
int64_t kni_group_jit_runs(void);
#endif

#endif
