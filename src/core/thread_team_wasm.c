/* Workers of a page: each is a thread of JavaScript that has the same module over the same memory, and calls
   kni_team_member, which does not return. */
#include "core/thread_pool.h"
#include "core/thread_team.h"

#if KNI_TEAM && !KNI_THREADS
#include "core/thread_state.h"
#include <stdatomic.h>

static _Atomic int members, sleepers;
static _Atomic int32_t calls; /* to wake */

int kni_team_processors(void) { return 1 + atomic_load(&members); }

int kni_team_start(int n, void (*after_fork)(void))
{
    (void)after_fork;
    return n < kni_team_processors() ? n : kni_team_processors();
}

void kni_team_join(int n) { (void)n; }

void kni_team_sleep(bool (*is_idle)(uint64_t seen), uint64_t seen)
{
    atomic_fetch_add(&sleepers, 1);
    for (;;) {
        int32_t before = atomic_load(&calls);
        if (!is_idle(seen)) break;
        (void)__builtin_wasm_memory_atomic_wait32((int32_t *)&calls, before, -1);
    }
    atomic_fetch_sub(&sleepers, 1);
}

void kni_team_wake(void)
{
    if (atomic_load(&sleepers) == 0) return;
    atomic_fetch_add(&calls, 1);
    (void)__builtin_wasm_memory_atomic_notify((int32_t *)&calls, UINT32_MAX);
}

/* Workers are numbered from 1 in the order in which they come. */
__attribute__((export_name("kni_team_member"))) void kni_team_member(void);
void kni_team_member(void) { kni_team_work(atomic_fetch_add(&members, 1) + 1); }

__attribute__((export_name("kni_team_members"))) int kni_team_members(void);
int kni_team_members(void) { return atomic_load(&members); }
#endif
