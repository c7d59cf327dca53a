/* What the team of threads needs of the system: threads, sleeping and waking. There are two of them: pthreads
   (thread_team_pthread.c), and the workers of a page that share a wasm module's memory (thread_team_wasm.c). */
#ifndef KNI_CORE_THREAD_TEAM_H
#define KNI_CORE_THREAD_TEAM_H

#include "core/platform.h"
#include <stdint.h>

#if KNI_TEAM
/* Whether workers live as long as the program: those of a page are made by the page, before the library needs them. */
#define KNI_TEAM_LASTS (!KNI_THREADS)

/* How many threads can run at once. */
int kni_team_processors(void);
/* Sees to workers 1 to n-1, which run kni_team_work, and returns how many threads there are then, the caller included.
   after_fork runs in every forked child from the first call on. */
int kni_team_start(int n, void (*after_fork)(void));
/* Waits until workers 1 to n-1 have returned from kni_team_work; nothing where they last. */
void kni_team_join(int n);
/* Sleeps while is_idle(seen) holds; it is asked again whenever the team is woken. */
void kni_team_sleep(bool (*is_idle)(uint64_t seen), uint64_t seen);
/* Wakes those that sleep; what was stored before is seen by their next is_idle. */
void kni_team_wake(void);

/* In thread_pool.c: what a worker does from its beginning to its end. */
void kni_team_work(int worker);
#endif

#endif
