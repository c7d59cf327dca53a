/* Where the library's life ends and begins anew: kn_shutdown, and fork, whose child has none of its parent's threads. */
#ifndef KNI_LIFE_H
#define KNI_LIFE_H

#include "core/platform.h"
#include <stdatomic.h>

/* A lock that fork() waits for, so that a child never finds it held by a thread that does not exist there, nor what it protects
   half written. For locks that are held briefly, around nothing but locks of a higher level. */
typedef struct kni_guard {
    kni_mutex mutex;
    int level; /* taken in rising order */
    _Atomic bool listed;
    _Atomic uintptr_t owner; /* the thread that holds one of the first two levels, 0: none */
    struct kni_guard *next;
} kni_guard;
/* Those of the first two are held while devices are opened and libraries loaded: foreign code, which may fork on its own. */
enum { KNI_GUARD_OPENING, KNI_GUARD_LOADING, KNI_GUARD_OUTER, KNI_GUARD_INNER, KNI_GUARD_LEVELS };
#define KNI_GUARD_INIT(level)                                                                                \
    {                                                                                                        \
        KNI_MUTEX_INIT, (level), false, 0, NULL                                                              \
    }

void kni_guard_list(kni_guard *guard);

#if KNI_THREADS
#define KNI_THREAD_SELF ((uintptr_t)pthread_self())
#endif

static inline void kni_guard_lock(kni_guard *g)
{
#if KNI_THREADS
    if (KNI_UNLIKELY(!atomic_load_explicit(&g->listed, memory_order_acquire))) kni_guard_list(g);
    kni_lock(&g->mutex);
    if (g->level < KNI_GUARD_OUTER) atomic_store_explicit(&g->owner, KNI_THREAD_SELF, memory_order_relaxed);
#else
    kni_lock(&g->mutex);
#endif
}

static inline void kni_guard_unlock(kni_guard *g)
{
#if KNI_THREADS
    if (g->level < KNI_GUARD_OUTER) atomic_store_explicit(&g->owner, 0, memory_order_relaxed);
    kni_unlock(&g->mutex);
#else
    kni_unlock(&g->mutex);
#endif
}

/* A part of the library with something to do when a life ends. Static; listed by kni_life_watch as often as one likes. */
typedef struct kni_life_hook {
    void (*shutdown)(void); /* kn_shutdown, while devices and tensors still exist; NULL: nothing */
    void (*forked)(void);   /* in the child: forget what the parent had, renew locks; NULL: nothing */
    _Atomic bool listed;
    struct kni_life_hook *next;
} kni_life_hook;

/* A hook's function for the child. Where there are no threads there is no fork, and the function is not linked. */
#define KNI_IN_CHILD(function) (KNI_THREADS ? (function) : NULL)

void kni_life_list(kni_life_hook *hook);

static inline void kni_life_watch(kni_life_hook *hook)
{
    if (KNI_UNLIKELY(!atomic_load_explicit(&hook->listed, memory_order_acquire))) kni_life_list(hook);
}

/* For hooks that have nothing to do but in a child. */
static inline void kni_fork_watch(kni_life_hook *hook)
{
    if (KNI_THREADS) kni_life_watch(hook);
}

/* The shutdown functions, latest first. */
void kni_life_shutdown(void);

#endif
