/* What differs between hosted, single-threaded and freestanding builds: locks, thread-local storage. */
#ifndef KNI_PLATFORM_H
#define KNI_PLATFORM_H

#include <stdbool.h>
#include <stdint.h>

#if !defined(KN_FREESTANDING) && !defined(__wasm__)
#define KNI_THREADS 1
#include <pthread.h>
#define KNI_THREAD_LOCAL _Thread_local
typedef pthread_mutex_t kni_mutex;
#define KNI_MUTEX_INIT PTHREAD_MUTEX_INITIALIZER
static inline void kni_lock(kni_mutex *m) { pthread_mutex_lock(m); }
static inline void kni_unlock(kni_mutex *m) { pthread_mutex_unlock(m); }
/* In a forked child: what another thread held is free, as there is no other thread. */
static inline void kni_renew(kni_mutex *m) { *m = (kni_mutex)KNI_MUTEX_INIT; }
#elif defined(__wasm_atomics__)
/* The library is used by one thread, whose team are workers of the page. A thread of a page must not sleep, so it spins: locks are held
   briefly. */
#include <stdatomic.h>
#define KNI_THREADS 0
#define KNI_TEAM 1
#define KNI_THREAD_LOCAL _Thread_local
typedef struct kni_mutex {
    _Atomic bool held;
} kni_mutex;
/* clang-format off */
#define KNI_MUTEX_INIT {false}
/* clang-format on */
static inline void kni_lock(kni_mutex *m)
{
    while (atomic_exchange_explicit(&m->held, true, memory_order_acquire)) {}
}
static inline void kni_unlock(kni_mutex *m) { atomic_store_explicit(&m->held, false, memory_order_release); }
static inline void kni_renew(kni_mutex *m) { kni_unlock(m); }
#else
#define KNI_THREADS 0
#define KNI_THREAD_LOCAL
typedef int kni_mutex;
#define KNI_MUTEX_INIT 0
static inline void kni_lock(kni_mutex *m) { (void)m; }
static inline void kni_unlock(kni_mutex *m) { (void)m; }
static inline void kni_renew(kni_mutex *m) { (void)m; }
#endif

/* Whether kernels may run on a team of threads. */
#ifndef KNI_TEAM
#define KNI_TEAM KNI_THREADS
#endif

#if defined(__GNUC__)
#define KNI_LIKELY(x) __builtin_expect(!!(x), 1)
#define KNI_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define KNI_COLD __attribute__((cold, noinline))
#else
#define KNI_LIKELY(x) (x)
#define KNI_UNLIKELY(x) (x)
#define KNI_COLD
#endif

/* What freestanding programs link only where they call another function of its file. Declared so by its users. */
#ifdef KN_FREESTANDING
#define KNI_OPTIONAL __attribute__((weak))
#define KNI_IS_LINKED(function) ((function) != NULL)
#else
#define KNI_OPTIONAL
#define KNI_IS_LINKED(function) true
#endif

#define KNI_COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* The value of an environment variable, NULL when unset or when there is no environment. */
const char *kni_environment(const char *name);
/* Lets other threads run. */
void kni_yield(void);
/* A clock that never goes back, in nanoseconds; 0 where there is none. */
uint64_t kni_nanoseconds(void);

#endif
