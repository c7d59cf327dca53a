/* The lists of guards and hooks, and what fork does with them. */
#if !defined(KN_FREESTANDING) && !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#include "core/life.h"
#include <stddef.h>
#include <string.h>

/* Of the lists; the innermost of all, because a guard may be listed by who holds an outer one. */
static kni_mutex lock = KNI_MUTEX_INIT;
static kni_life_hook *hooks; /* the latest first */

#if KNI_THREADS
static kni_guard *guards[KNI_GUARD_LEVELS]; /* the latest first; nothing is ever taken out */

/* Whether the thread that forks holds it already: foreign code that runs under it forks. */
static bool is_own(kni_guard *g)
{
    return atomic_load_explicit(&g->owner, memory_order_relaxed) == KNI_THREAD_SELF;
}

static void unlock_guards(kni_guard *const *lists)
{
    for (int level = 0; level < KNI_GUARD_LEVELS; level++)
        for (kni_guard *g = lists[level]; g; g = g->next)
            if (!is_own(g)) kni_unlock(&g->mutex);
}

/* Takes all guards that are listed, then the lock of the list; anew where another thread has listed one meanwhile. */
static void before_fork(void)
{
    for (;;) {
        kni_guard *seen[KNI_GUARD_LEVELS];
        kni_lock(&lock);
        memcpy(seen, guards, sizeof seen);
        kni_unlock(&lock);
        for (int level = 0; level < KNI_GUARD_LEVELS; level++)
            for (kni_guard *g = seen[level]; g; g = g->next)
                if (!is_own(g)) kni_lock(&g->mutex);
        kni_lock(&lock);
        if (!memcmp(seen, guards, sizeof seen)) return;
        kni_unlock(&lock);
        unlock_guards(seen);
    }
}

static void unlock_all(void)
{
    kni_guard *held[KNI_GUARD_LEVELS];
    memcpy(held, guards, sizeof held);
    kni_unlock(&lock);
    unlock_guards(held);
}

/* Hooks of the child run in the order in which they were listed: what others stand on came first. */
static void run_forked(kni_life_hook *hook)
{
    if (!hook) return;
    run_forked(hook->next);
    if (hook->forked) hook->forked();
}

static void in_child(void)
{
    unlock_all();
    run_forked(hooks);
}

static void watch(void) { (void)pthread_atfork(before_fork, unlock_all, in_child); }

static void watch_forks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch);
}

void kni_guard_list(kni_guard *guard)
{
    watch_forks();
    kni_lock(&lock);
    if (!atomic_load(&guard->listed)) {
        guard->next = guards[guard->level];
        guards[guard->level] = guard;
        atomic_store_explicit(&guard->listed, true, memory_order_release);
    }
    kni_unlock(&lock);
}
#else
static void watch_forks(void) {}
#endif

void kni_life_list(kni_life_hook *hook)
{
    watch_forks();
    kni_lock(&lock);
    if (!atomic_load(&hook->listed)) {
        hook->next = hooks;
        hooks = hook;
        atomic_store_explicit(&hook->listed, true, memory_order_release);
    }
    kni_unlock(&lock);
}

void kni_life_shutdown(void)
{
    kni_lock(&lock);
    kni_life_hook *hook = hooks;
    kni_unlock(&lock);
    for (; hook; hook = hook->next)
        if (hook->shutdown) hook->shutdown();
}
