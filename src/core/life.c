/* The lists of guards and hooks, and what fork does with them. */
#if !defined(KN_FREESTANDING) && !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#include "core/life.h"
#include <stddef.h>

static kni_mutex lock = KNI_MUTEX_INIT; /* of both lists; the outermost of all */
static kni_life_hook *hooks;            /* the latest first */

#if KNI_THREADS
static kni_guard *guards; /* by level */

static void before_fork(void)
{
    kni_lock(&lock);
    for (kni_guard *g = guards; g; g = g->next) kni_lock(&g->mutex);
}

static void unlock_all(void)
{
    for (kni_guard *g = guards; g; g = g->next) kni_unlock(&g->mutex);
    kni_unlock(&lock);
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
        kni_guard **at = &guards;
        while (*at && (*at)->level <= guard->level) at = &(*at)->next;
        guard->next = *at;
        *at = guard;
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
