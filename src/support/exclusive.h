/* What one thread does at a time, and what is done once: pthreads, or nothing where one thread alone uses the library (wasm, whose
   other threads run kernels only). */
#ifndef KNI_SUPPORT_EXCLUSIVE_H
#define KNI_SUPPORT_EXCLUSIVE_H

#include <stdbool.h>

#ifndef __wasm__
#include <pthread.h>
typedef pthread_mutex_t kni_exclusive;
typedef pthread_once_t kni_once;
#define KNI_EXCLUSIVE_INIT PTHREAD_MUTEX_INITIALIZER
#define KNI_ONCE_INIT PTHREAD_ONCE_INIT
static inline void kni_exclusive_init(kni_exclusive *e) { pthread_mutex_init(e, 0); }
static inline void kni_exclusive_destroy(kni_exclusive *e) { pthread_mutex_destroy(e); }
static inline void kni_exclusive_enter(kni_exclusive *e) { pthread_mutex_lock(e); }
static inline void kni_exclusive_leave(kni_exclusive *e) { pthread_mutex_unlock(e); }
static inline void kni_do_once(kni_once *once, void (*function)(void)) { pthread_once(once, function); }
#else
typedef bool kni_exclusive, kni_once;
#define KNI_EXCLUSIVE_INIT false
#define KNI_ONCE_INIT false
static inline void kni_exclusive_init(kni_exclusive *e) { *e = false; }
static inline void kni_exclusive_destroy(kni_exclusive *e) { (void)e; }
static inline void kni_exclusive_enter(kni_exclusive *e) { (void)e; }
static inline void kni_exclusive_leave(kni_exclusive *e) { (void)e; }
static inline void kni_do_once(kni_once *once, void (*function)(void))
{
    if (!*once) function();
    *once = true;
}
#endif

#endif
