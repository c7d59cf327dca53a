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
    struct kni_guard *next;
} kni_guard;
enum { KNI_GUARD_OUTER = 1, KNI_GUARD_INNER = 2 };
#define KNI_GUARD_INIT(level)                                                                                \
    {                                                                                                        \
        KNI_MUTEX_INIT, (level), false, NULL                                                                 \
    }

void kni_guard_list(kni_guard *guard);

static inline void kni_guard_lock(kni_guard *g)
{
#if KNI_THREADS
    if (KNI_UNLIKELY(!atomic_load_explicit(&g->listed, memory_order_acquire))) kni_guard_list(g);
#endif
    kni_lock(&g->mutex);
}

static inline void kni_guard_unlock(kni_guard *g) { kni_unlock(&g->mutex); }

/* A part of the library with something to do when a life ends. Static; listed by kni_life_watch as often as one likes. */
typedef struct kni_life_hook {
    void (*shutdown)(void); /* kn_shutdown, while devices and tensors still exist; NULL: nothing */
    void (*forked)(void);   /* in the child: forget what the parent had, renew locks; NULL: nothing */
    _Atomic bool listed;
    struct kni_life_hook *next;
} kni_life_hook;

void kni_life_list(kni_life_hook *hook);

static inline void kni_life_watch(kni_life_hook *hook)
{
    if (KNI_UNLIKELY(!atomic_load_explicit(&hook->listed, memory_order_acquire))) kni_life_list(hook);
}

/* The shutdown functions, latest first. */
void kni_life_shutdown(void);

#endif
